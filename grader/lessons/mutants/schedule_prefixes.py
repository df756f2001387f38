"""Variants of task 5.1: what learners write for schedule_prefixes, wrong and right."""

from __future__ import annotations

import heapq
import logging
import sys
import warnings
from collections.abc import Iterator
from itertools import accumulate, chain
from operator import mul
from typing import Any

import numpy as np

from dspark_mini.inputs import check_speeds, confidence_rows, speed_table
from grader.lessons.mutants import right, wrong

TASK = "5.1"
Tokens = list[tuple[float, int, int]]  # survival, request, position


def read(confidences: Any, steps_per_second: Any) -> tuple[list[list[float]], Any]:
    """Check the arguments as the top of the stub does; the requests become lists of their own lengths."""
    values = confidence_rows("confidences", confidences)
    rows = [row[: len(given)].tolist() for row, given in zip(values, confidences)]
    return rows, speed_table("steps_per_second", steps_per_second, len(rows)) if rows else np.ones(1)


def in_order(rows: list[list[float]]) -> Tokens:
    """Return the tokens with a survival above 0 in the order of admission."""
    tokens = [(a, r, j) for r, row in enumerate(rows) for j, a in enumerate(accumulate(row, mul)) if a > 0]
    return sorted(tokens, key=lambda token: (-token[0], token[1], token[2]))


def admit(tokens: Tokens, speeds: Any, requests: int) -> list[int]:
    """Walk along the tokens as Algorithm 1 does."""
    batch, tau, lengths = requests, float(requests), [0] * requests
    if requests:
        check_speeds("steps_per_second", batch, speeds[batch])
    for survival, request, _ in tokens:
        if batch + 1 >= len(speeds):
            break
        check_speeds("steps_per_second", batch + 1, speeds[batch + 1])
        if (tau + survival) * speeds[batch + 1] <= tau * speeds[batch]:
            break
        batch, tau = batch + 1, tau + survival
        lengths[request] += 1
    return lengths


def algorithm_1(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    return admit(in_order(rows), speeds, len(rows))


# --- Wrong: where it stops ------------------------------------------------------------------------------


@wrong(TASK, "stops_at_first_without_rise", "The best Θ of all is the best decision.")
def global_search(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    tokens, lengths = in_order(rows), [0] * len(rows)
    tau = np.cumsum([len(rows), *(a for a, _, _ in tokens)])
    steps = speeds[len(rows) : len(rows) + tau.size]
    check_speeds("steps_per_second", len(rows), steps)
    for _, request, _ in tokens[: int(np.argmax(tau[: steps.size] * steps))] if rows else ():
        lengths[request] += 1
    return lengths


@wrong(TASK, "stops_at_first_without_rise", "Every token that would raise the Θ of the start is worth it.")
def compared_with_the_start(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    batch, tau, lengths = len(rows), float(len(rows)), [0] * len(rows)
    start = tau * speeds[batch] if rows else 0.0
    for survival, request, _ in in_order(rows):
        if batch + 1 >= len(speeds):
            break
        check_speeds("steps_per_second", batch + 1, speeds[batch + 1])
        if (tau + survival) * speeds[batch + 1] <= start:
            break
        batch, tau = batch + 1, tau + survival
        lengths[request] += 1
    return lengths


@wrong(TASK, "stops_at_first_without_rise", "One fall may be noise; two in a row are an end.")
def patient_search(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    tokens, requests = in_order(rows), len(rows)
    tau = [float(requests), *accumulate((a for a, _, _ in tokens), initial=float(requests))][1:]
    best, count = 0, min(len(tau), len(speeds) - requests) if rows else 0
    for k in range(1, count):
        check_speeds("steps_per_second", requests + k, speeds[requests + k])
        if tau[k] * speeds[requests + k] > tau[best] * speeds[requests + best]:
            best = k
        elif k - best >= 2:
            break
    check_speeds("steps_per_second", requests, speeds[requests]) if rows else None
    lengths = [0] * requests
    for _, request, _ in tokens[:best]:
        lengths[request] += 1
    return lengths


@wrong(TASK, "ties", "A token that costs nothing does no harm, so an equal Θ is admitted.")
def equal_theta_admitted(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    batch, tau, lengths = len(rows), float(len(rows)), [0] * len(rows)
    check_speeds("steps_per_second", batch, speeds[batch]) if rows else None
    for survival, request, _ in in_order(rows):
        if batch + 1 >= len(speeds):
            break
        check_speeds("steps_per_second", batch + 1, speeds[batch + 1])
        if (tau + survival) * speeds[batch + 1] < tau * speeds[batch]:
            break
        batch, tau = batch + 1, tau + survival
        lengths[request] += 1
    return lengths


@wrong(TASK, "admits_while_theta_rises", "The token that no longer raises Θ is still admitted.")
def one_too_many(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    tokens = in_order(rows)
    lengths = admit(tokens, speeds, len(rows))
    admitted = sum(lengths)
    if admitted < len(tokens) and len(rows) + admitted + 1 < len(speeds):
        lengths[tokens[admitted][1]] += 1
    return lengths


@wrong(TASK, "admits_while_theta_rises", "Every token is worth verifying.")
def verifies_everything(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, _ = read(confidences, steps_per_second)
    return [sum(a > 0 for a in accumulate(row, mul)) for row in rows]


# --- Wrong: what Θ is -----------------------------------------------------------------------------------


@wrong(TASK, "admits_while_theta_rises", "The gain is the number of tokens verified, whether they survive or not.")
def survival_left_out(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    return admit([(1.0, r, j) for _, r, j in in_order(rows)], speeds, len(rows))


@wrong(TASK, "every_request_counts_from_the_start", "A round without drafts yields nothing: τ starts at 0.")
def own_tokens_left_out_of_tau(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    batch, tau, lengths = len(rows), 0.0, [0] * len(rows)
    for survival, request, _ in in_order(rows):
        if batch + 1 >= len(speeds):
            break
        check_speeds("steps_per_second", batch, speeds[batch : batch + 2])
        if (tau + survival) * speeds[batch + 1] <= tau * speeds[batch]:
            break
        batch, tau = batch + 1, tau + survival
        lengths[request] += 1
    return lengths


@wrong(TASK, "every_request_counts_from_the_start", "There is one anchor in a batch, so B and τ start at 1.")
def one_anchor_for_all(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    batch, tau, lengths = 1, 1.0, [0] * len(rows)
    check_speeds("steps_per_second", len(rows), speeds[len(rows)]) if rows else None
    for survival, request, _ in in_order(rows):
        if batch + 1 >= len(speeds) or (tau + survival) * speeds[batch + 1] <= tau * speeds[batch]:
            break
        batch, tau = batch + 1, tau + survival
        lengths[request] += 1
    return lengths


@wrong(TASK, "every_request_counts_from_the_start", "B counts draft tokens only, so it starts at 0.")
def batch_of_drafts_only(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    tau, lengths = float(len(rows)), [0] * len(rows)
    theta = tau * speeds[len(rows)] if rows else 0.0
    for batch, (survival, request, _) in enumerate(in_order(rows), start=1):
        if batch >= len(speeds) or (tau + survival) * speeds[batch] <= theta:
            break
        tau += survival
        theta = tau * speeds[batch]
        lengths[request] += 1
    return lengths


@wrong(TASK, "admits_while_theta_rises", "The table holds times, so Θ divides by it.")
def table_of_times(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    check_speeds("steps_per_second", len(rows), speeds[len(rows) :]) if rows else None
    with np.errstate(divide="ignore"):
        return admit(in_order(rows), 1.0 / speeds, len(rows))


@wrong(TASK, "decision_follows_the_table", "The speed is the same for every batch, as it is in the first entry.")
def flat_table(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    return admit(in_order(rows), np.full(len(speeds), speeds[len(rows)] if rows else 1.0), len(rows))


@wrong(TASK, "decision_follows_the_table", "A survival of at least one half is worth a token, whatever it costs.")
def fixed_threshold(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, _ = read(confidences, steps_per_second)
    return [sum(a >= 0.5 for a in accumulate(row, mul)) for row in rows]


# --- Wrong: the order -----------------------------------------------------------------------------------


@wrong(TASK, "highest_survival_first", "The highest confidence is the likeliest token.")
def ordered_by_confidence(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    tokens = [(c, r, j) for r, row in enumerate(rows) for j, c in enumerate(row) if c > 0]
    return admit(sorted(tokens, key=lambda token: (-token[0], token[1], token[2])), speeds, len(rows))


@wrong(TASK, "highest_survival_first", "The requests take turns: all first positions, then all second ones.")
def position_by_position(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    return admit(sorted(in_order(rows), key=lambda token: token[2]), speeds, len(rows))


@wrong(TASK, "highest_survival_first", "One request after the other, each as far as it goes.")
def request_by_request(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    return admit(sorted(in_order(rows), key=lambda token: token[1:]), speeds, len(rows))


@wrong(TASK, "highest_survival_first", "Each request decides for itself, as if it were alone.")
def every_request_alone(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    lengths = []
    for row in rows:
        tau, length = float(len(rows)), 0
        for a in accumulate(row, mul):
            batch = len(rows) + length
            if not a or batch + 1 >= len(speeds):
                break
            check_speeds("steps_per_second", batch, speeds[batch : batch + 2])
            if (tau + a) * speeds[batch + 1] <= tau * speeds[batch]:
                break
            tau, length = tau + a, length + 1
        lengths.append(length)
    return lengths


@wrong(TASK, "highest_survival_first", "The least likely tokens come first, as sorted() does it.")
def ascending(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    return admit(sorted(in_order(rows)), speeds, len(rows))


@wrong(TASK, "ties", "reverse=True turns the whole order around, and that is what is wanted.")
def ties_reversed(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    return admit(sorted(in_order(rows), reverse=True), speeds, len(rows))


@wrong(TASK, "ties", "Of equal survivals the lower position comes first, then the lower request.")
def ties_by_position(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    return admit(sorted(in_order(rows), key=lambda token: (-token[0], token[2], token[1])), speeds, len(rows))


# --- Wrong: the edges -----------------------------------------------------------------------------------


@wrong(TASK, "edges", "A batch beyond the table is as fast as the last entry.")
def last_entry_carried_on(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    return admit(in_order(rows), np.append(speeds, np.full(sum(map(len, rows)), speeds[-1])), len(rows))


@wrong(TASK, "edges", "The table is long enough.")
def end_of_table_unguarded(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    batch, tau, lengths = len(rows), float(len(rows)), [0] * len(rows)
    for survival, request, _ in in_order(rows):
        check_speeds("steps_per_second", batch, [speeds[batch], speeds[batch + 1]])
        if (tau + survival) * speeds[batch + 1] <= tau * speeds[batch]:
            break
        batch, tau = batch + 1, tau + survival
        lengths[request] += 1
    return lengths


@wrong(TASK, "edges", "A token that cannot survive is a token like any other.")
def hopeless_tokens_admitted(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    tokens = [(a, r, j) for r, row in enumerate(rows) for j, a in enumerate(accumulate(row, mul))]
    return admit(sorted(tokens, key=lambda token: (-token[0], token[1], token[2])), speeds, len(rows))


@wrong(TASK, "edges", "The whole table has to be right before it is used.")
def whole_table_checked(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    check_speeds("steps_per_second", 1, speeds[1:])
    return admit(in_order(rows), speeds, len(rows))


@wrong(TASK, "edges", "All requests have drafted equally many tokens.")
def equal_lengths_required(confidences: Any, steps_per_second: Any) -> list[int]:
    if len({len(row) for row in confidences}) > 1:
        raise ValueError("confidences must have rows of one length.")
    return algorithm_1(confidences, steps_per_second)


@wrong(TASK, "edges", "A batch has at least one request.")
def requests_required(confidences: Any, steps_per_second: Any) -> list[int]:
    if len(confidences) == 0:
        raise ValueError("confidences is empty.")
    return algorithm_1(confidences, steps_per_second)


# --- Wrong: types, forms of the arguments, memory, bad input ----------------------------------------------


@wrong(TASK, "plain_types", "A NumPy integer is an int.")
def numpy_integers(confidences: Any, steps_per_second: Any) -> list[Any]:
    return list(np.array(algorithm_1(confidences, steps_per_second), dtype=int))


@wrong(TASK, "plain_types", "An array passes for a list.")
def an_array(confidences: Any, steps_per_second: Any) -> Any:
    return np.array(algorithm_1(confidences, steps_per_second), dtype=int)


@wrong(TASK, "lists_and_arrays", "Lists can be joined with +.")
def lists_joined(confidences: Any, steps_per_second: Any) -> list[int]:
    return algorithm_1(confidences + [], steps_per_second + [])  # noqa: RUF005


@wrong(TASK, "no_memory", "A list in the signature is new in every call.")
def lengths_pile_up(confidences: Any, steps_per_second: Any, before: list[int] = []) -> list[int]:  # noqa: B006
    before.append(len(confidences))
    return algorithm_1(confidences, steps_per_second) + [0] * (len(before) > 1)


@wrong(TASK, "input_unchanged", "Survivals can be put where the confidences were.")
def survivals_in_place(confidences: Any, steps_per_second: Any) -> list[int]:
    lengths = algorithm_1(confidences, steps_per_second)
    for row in confidences:
        for j in range(1, len(row)):
            row[j] *= row[j - 1]
    return lengths


@wrong(TASK, "bad_input_raises", "A speed that is no number stops the search by itself.")
def speeds_unchecked(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    batch, tau, lengths = len(rows), float(len(rows)), [0] * len(rows)
    for survival, request, _ in in_order(rows):
        if batch + 1 >= len(speeds) or not (tau + survival) * speeds[batch + 1] > tau * speeds[batch]:
            break
        batch, tau = batch + 1, tau + survival
        lengths[request] += 1
    return lengths


@wrong(TASK, "bad_input_raises", "Without a profile entry nothing is drafted.")
def missing_entry_is_no_draft(confidences: Any, steps_per_second: Any) -> list[int]:
    if 0 < len(steps_per_second) <= len(confidences):
        return [0] * len(confidences)
    return algorithm_1(confidences, steps_per_second)


@wrong(TASK, "bad_input_raises", "Confidences outside [0, 1] are clipped.")
def confidences_clipped(confidences: Any, steps_per_second: Any) -> list[int]:
    return algorithm_1([np.clip(row, 0.0, 1.0) for row in confidences], steps_per_second)


@wrong(TASK, "error_names_offender", "It is enough to name the request.")
def request_named_only(confidences: Any, steps_per_second: Any) -> list[int]:
    for r, row in enumerate(confidences):
        if np.ndim(row) == 1 and not all(0 <= c <= 1 for c in row):
            raise ValueError(f"confidences[{r}] has a value that is no chance.")
    return algorithm_1(confidences, steps_per_second)


@wrong(TASK, "error_names_offender", "Requests and positions are counted from one.")
def counted_from_one(confidences: Any, steps_per_second: Any) -> list[int]:
    for r, row in enumerate(confidences, start=1):
        for j, c in enumerate(row if np.ndim(row) == 1 else (), start=1):
            if not 0 <= c <= 1:
                raise ValueError(f"confidences of request {r}, position {j}: no chance.")
    return algorithm_1(confidences, steps_per_second)


@wrong(TASK, "many_tokens_in_time", "The next token is looked for anew in every step.")
def searched_anew(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    lengths, tokens = [0] * len(rows), in_order(rows)
    for k in range(len(tokens) + 1):
        total = [0] * len(rows)
        for _, request, _ in in_order(rows)[:k]:
            total[request] += 1
        if admit(tokens[:k], speeds, len(rows)) != total:
            break
        lengths = total
    return lengths


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "Plain loops over lists, one variable a quantity.")
def plain_loops(confidences: Any, steps_per_second: Any) -> list[int]:
    return algorithm_1(confidences, steps_per_second)


@right(TASK, "A heap that holds the next token of each request.")
def heap_of_next_tokens(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    survival = [list(accumulate(row, mul)) for row in rows]
    heap = [(-row[0], r) for r, row in enumerate(survival) if row and row[0] > 0]
    heapq.heapify(heap)
    lengths, batch, tau = [0] * len(rows), len(rows), float(len(rows))
    check_speeds("steps_per_second", batch, speeds[batch]) if rows else None
    while heap and batch + 1 < len(speeds):
        a, r = heapq.heappop(heap)
        check_speeds("steps_per_second", batch + 1, speeds[batch + 1])
        if not (tau - a) * speeds[batch + 1] > tau * speeds[batch]:
            break
        batch, tau = batch + 1, tau - a
        lengths[r] += 1
        if lengths[r] < len(survival[r]) and survival[r][lengths[r]] > 0:
            heapq.heappush(heap, (-survival[r][lengths[r]], r))
    return lengths


@right(TASK, "np.lexsort over three keys, and a count by request.")
def lexsort(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    a = np.array(list(chain.from_iterable(accumulate(row, mul) for row in rows)))
    request = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    position = np.array(list(chain.from_iterable(range(len(row)) for row in rows)))
    order = [int(i) for i in np.lexsort((position, request, -a)) if a[i] > 0] if a.size else []
    return admit([(float(a[i]), int(request[i]), 0) for i in order], speeds, len(rows))


@right(TASK, "The stable argsort of the whole matrix, with the throughputs of all prefixes at once.")
def stable_argsort(confidences: Any, steps_per_second: Any) -> list[int]:
    values = confidence_rows("confidences", confidences)
    if not len(values):
        return []
    requests = len(values)
    speeds = speed_table("steps_per_second", steps_per_second, requests)
    survival = np.cumprod(values, axis=1).ravel()
    order = np.argsort(-survival, kind="stable")
    order = order[survival[order] > 0][: len(speeds) - 1 - requests]
    theta = (requests + np.concatenate([[0.0], survival[order].cumsum()])) * speeds[requests:][: order.size + 1]
    falls = np.flatnonzero(~(np.diff(theta) > 0))
    admitted = int(falls[0]) if falls.size else order.size
    check_speeds("steps_per_second", requests, speeds[requests : requests + min(admitted + 1, order.size) + 1])
    return [int(n) for n in np.bincount(order[:admitted] // max(values.shape[1], 1), minlength=requests)]


@right(TASK, "Skipping a token that does not raise Θ and trying the next ends at the same place.")
def skip_instead_of_stop(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)
    batch, tau, lengths = len(rows), float(len(rows)), [0] * len(rows)
    check_speeds("steps_per_second", batch, speeds[batch]) if rows else None
    for survival, request, _ in in_order(rows):
        if batch + 1 < len(speeds):
            check_speeds("steps_per_second", batch + 1, speeds[batch + 1])
            if (tau + survival) * speeds[batch + 1] > tau * speeds[batch]:
                batch, tau = batch + 1, tau + survival
                lengths[request] += 1
    return lengths


@right(TASK, "A generator of ever longer schedules, of which the last is taken.")
def schedules_one_by_one(confidences: Any, steps_per_second: Any) -> list[int]:
    rows, speeds = read(confidences, steps_per_second)

    def growing() -> Iterator[list[int]]:
        lengths, tau = [0] * len(rows), float(len(rows))
        yield lengths.copy()
        check_speeds("steps_per_second", len(rows), speeds[len(rows)]) if rows else None
        for batch, (a, r, _) in enumerate(in_order(rows)[: len(speeds) - 1 - len(rows)], start=len(rows) + 1):
            check_speeds("steps_per_second", batch, speeds[batch])
            if tau * speeds[batch - 1] >= (tau + a) * speeds[batch]:
                return
            tau += a
            lengths[r] += 1
            yield lengths.copy()

    return list(growing())[-1]


@right(TASK, "Talkative: prints, warnings, a log, and lines on stderr.")
def talkative(confidences: Any, steps_per_second: Any) -> list[int]:
    print("confidences:", len(confidences))
    print("to stderr", file=sys.stderr)
    warnings.warn("A warning is no error.", DeprecationWarning, stacklevel=1)
    logging.getLogger(__name__).warning("%d entries", len(steps_per_second))
    return algorithm_1(confidences, steps_per_second)
