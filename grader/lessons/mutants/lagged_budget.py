"""Variants of task 5.3: what learners write for lagged_budget, wrong and right."""

from __future__ import annotations

import math
import sys
import warnings
from fractions import Fraction
from itertools import accumulate, takewhile
from operator import mul
from typing import Any

import numpy as np

from dspark_mini.inputs import check_speeds, confidence_rows, speed_table
from grader.lessons.mutants import right, wrong

TASK = "5.3"


def read(old_confidences: Any, steps_per_second: Any) -> tuple[list[list[float]], Any]:
    """Check the arguments as the top of the stub does; the requests become lists of their own lengths."""
    values = confidence_rows("old_confidences", old_confidences)
    rows = [row[: len(given)].tolist() for row, given in zip(values, old_confidences)]
    return rows, speed_table("steps_per_second", steps_per_second, len(rows)) if rows else np.ones(1)


def survivals(rows: list[list[float]]) -> list[float]:
    """Return all survivals above 0, the highest first."""
    return sorted((a for row in rows for a in accumulate(row, mul) if a > 0), reverse=True)


def throughputs(rows: list[list[float]], ranked: list[float], speeds: Any) -> list[float]:
    """Return Θ for 0, 1, 2, … of the ranked survivals, as far as the table goes."""
    tau = [*accumulate(ranked, initial=float(len(rows)))]
    steps = speeds[len(rows) : len(rows) + len(tau)]
    check_speeds("steps_per_second", len(rows), steps) if rows else None
    return [float(t * s) for t, s in zip(tau, steps)]


def first_best(theta: list[float]) -> int:
    return theta.index(max(theta)) if theta else 0


def global_budget(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    return first_best(throughputs(rows, survivals(rows), speeds)) if rows else 0


# --- Wrong: the search ------------------------------------------------------------------------------------


@wrong(TASK, "later_peak_wins", "It stops like Algorithm 1, at the first token that does not raise Θ.")
def early_stop(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    theta = throughputs(rows, survivals(rows), speeds) if rows else []
    return sum(1 for _ in takewhile(lambda pair: pair[1] > pair[0], zip(theta, theta[1:])))


@wrong(TASK, "later_peak_wins", "The highest peak is a place where Θ falls, so it is not at the end.")
def end_left_out(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    theta = throughputs(rows, survivals(rows), speeds) if rows else []
    return first_best(theta[:-1]) if len(theta) > 1 else 0


@wrong(TASK, "later_peak_wins", "Θ has one peak, so it can be found by halving.")
def found_by_halving(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    theta = throughputs(rows, survivals(rows), speeds) if rows else [0.0]
    low, high = 0, len(theta) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if theta[middle + 1] > theta[middle] else (low, middle)
    return low


@wrong(TASK, "highest_theta", "A round should verify at least one draft token.")
def at_least_one(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    theta = throughputs(rows, survivals(rows), speeds) if rows else []
    return 1 + first_best(theta[1:]) if len(theta) > 1 else 0


@wrong(TASK, "highest_theta", "The answer is the batch size with the highest throughput.")
def batch_and_not_budget(old_confidences: Any, steps_per_second: Any) -> int:
    return len(old_confidences) + global_budget(old_confidences, steps_per_second)


@wrong(TASK, "highest_theta", "The answer is a verify length, so it is the budget of one request.")
def budget_of_one_request(old_confidences: Any, steps_per_second: Any) -> int:
    return global_budget(old_confidences, steps_per_second) // (len(old_confidences) + 1)


@wrong(TASK, "smallest_of_equal_budgets", "Of equal budgets the larger verifies more.")
def largest_of_equal(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    theta = throughputs(rows, survivals(rows), speeds) if rows else []
    return len(theta) - 1 - first_best(theta[::-1]) if theta else 0


@wrong(TASK, "smallest_of_equal_budgets", "max() over pairs finds the highest Θ and its budget.")
def maximum_of_pairs(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    theta = throughputs(rows, survivals(rows), speeds) if rows else [0.0]
    return max((value, k) for k, value in enumerate(theta))[1]


# --- Wrong: what Θ is -------------------------------------------------------------------------------------


@wrong(TASK, "highest_survivals_of_the_batch", "The survivals are taken as they stand, request by request.")
def unsorted(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    ranked = [a for row in rows for a in accumulate(row, mul) if a > 0]
    return first_best(throughputs(rows, ranked, speeds)) if rows else 0


@wrong(TASK, "highest_survivals_of_the_batch", "The confidences are the chances to survive.")
def confidences_added_up(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    ranked = sorted((c for row in rows for a, c in zip(accumulate(row, mul), row) if a > 0), reverse=True)
    return first_best(throughputs(rows, ranked, speeds)) if rows else 0


@wrong(TASK, "highest_survivals_of_the_batch", "The first request stands for all of them.")
def first_request_only(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    global_budget(old_confidences, steps_per_second)
    return len(rows) * first_best(throughputs(rows, survivals(rows[:1]), speeds)) if rows else 0


@wrong(TASK, "every_request_counts_from_the_start", "τ counts accepted drafts only.")
def own_tokens_left_out(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    global_budget(old_confidences, steps_per_second)
    tau = [*accumulate(survivals(rows), initial=0.0)]
    return first_best([t * s for t, s in zip(tau, speeds[len(rows) :])]) if rows else 0


@wrong(TASK, "every_request_counts_from_the_start", "The table begins with the first draft token.")
def table_from_the_front(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    theta = throughputs(rows, survivals(rows), speeds) if rows else []
    tau = [*accumulate(survivals(rows), initial=float(len(rows)))][: len(theta)]
    return first_best([t * s for t, s in zip(tau, [*speeds[1:], *speeds[1:]])]) if rows else 0


@wrong(TASK, "every_request_counts_from_the_start", "There is one anchor in a batch, as with a single request.")
def one_anchor_for_all(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    theta = throughputs(rows, survivals(rows), speeds) if rows else []
    tau = [*accumulate(survivals(rows), initial=1.0)]
    return first_best([t * s for t, s in zip(tau, speeds[len(rows) :][: len(theta)])]) if rows else 0


@wrong(TASK, "decision_follows_the_table", "Speed does not depend on the batch as long as the GPU is not full.")
def flat_table(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    return max(len(throughputs(rows, survivals(rows), speeds)) - 1, 0) if rows else 0


@wrong(TASK, "decision_follows_the_table", "A token with a survival of one half is worth it, whatever it costs.")
def fixed_threshold(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    throughputs(rows, survivals(rows), speeds)
    return sum(a >= 0.5 for a in survivals(rows))


@wrong(TASK, "highest_theta", "The fastest step is the best.")
def fastest_step(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    count = len(throughputs(rows, survivals(rows), speeds)) if rows else 0
    return int(np.argmax(speeds[len(rows) :][:count])) if count else 0


# --- Wrong: the edges, types, memory, bad input -------------------------------------------------------------


@wrong(TASK, "edges", "Tokens that cannot survive count like any other.")
def hopeless_tokens_too(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    ranked = sorted((a for row in rows for a in accumulate(row, mul)), reverse=True)
    return first_best(throughputs(rows, ranked, speeds)) if rows else 0


@wrong(TASK, "edges", "The table is as long as the largest batch.")
def long_table_required(old_confidences: Any, steps_per_second: Any) -> int:
    if len(steps_per_second) <= len(old_confidences) + sum(len(row) for row in old_confidences):
        raise ValueError("steps_per_second is too short.")
    return global_budget(old_confidences, steps_per_second)


@wrong(TASK, "edges", "All entries of a table have to be right.")
def whole_table_checked(old_confidences: Any, steps_per_second: Any) -> int:
    check_speeds("steps_per_second", 1, np.asarray(steps_per_second, dtype=float)[1:])
    return global_budget(old_confidences, steps_per_second)


@wrong(TASK, "edges", "Without requests there is nothing to decide.")
def requests_required(old_confidences: Any, steps_per_second: Any) -> int:
    if len(old_confidences) == 0:
        raise ValueError("old_confidences is empty.")
    return global_budget(old_confidences, steps_per_second)


@wrong(TASK, "plain_types", "np.argmax returns an int.")
def numpy_integer(old_confidences: Any, steps_per_second: Any) -> Any:
    return np.int64(global_budget(old_confidences, steps_per_second))


@wrong(TASK, "plain_types", "A number is a number, 2.0 as well as 2.")
def budget_as_float(old_confidences: Any, steps_per_second: Any) -> float:
    return float(global_budget(old_confidences, steps_per_second))


@wrong(TASK, "lists_and_arrays", "The table can be cut and multiplied, as it is an array.")
def table_multiplied(old_confidences: Any, steps_per_second: Any) -> int:
    rows, _ = read(old_confidences, steps_per_second)
    tau = np.cumsum([len(rows), *survivals(rows)])
    steps = steps_per_second[len(rows) : len(rows) + tau.size]
    check_speeds("steps_per_second", len(rows), steps)
    return int(np.argmax(steps * tau[: steps.size])) if rows else 0


@wrong(TASK, "no_memory", "A list in the signature is new in every call.")
def survivals_pile_up(old_confidences: Any, steps_per_second: Any, seen: list[float] = []) -> int:  # noqa: B006
    rows, speeds = read(old_confidences, steps_per_second)
    seen.extend(survivals(rows))
    return first_best(throughputs(rows, sorted(seen, reverse=True), speeds)) if rows else 0


@wrong(TASK, "input_unchanged", "The confidences can be sorted where they stand.")
def sorted_in_place(old_confidences: Any, steps_per_second: Any) -> int:
    budget = global_budget(old_confidences, steps_per_second)
    for row in old_confidences:
        row[:] = sorted(row)
    return budget


@wrong(TASK, "bad_input_raises", "np.nanargmax leaves bad entries out.")
def bad_entries_left_out(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    if not rows:
        return 0
    tau = np.cumsum([len(rows), *survivals(rows)])
    theta = tau[: speeds.size - len(rows)] * speeds[len(rows) : len(rows) + tau.size]
    return int(np.argmax(np.where(np.isfinite(theta), theta, -1.0)))


@wrong(TASK, "error_names_offender", "The argument has a shorter name in the sentence.")
def other_name(old_confidences: Any, steps_per_second: Any) -> int:
    try:
        return global_budget(old_confidences, steps_per_second)
    except ValueError as error:
        raise ValueError(str(error).replace("old_confidences", "c").replace("steps_per_second", "sps")) from None


@wrong(TASK, "many_tokens_in_time", "For every K all survivals are multiplied, sorted and added up anew.")
def added_up_anew(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    theta, count = [], len(survivals(rows))
    for k in range(min(count + 1, len(speeds) - len(rows))):
        check_speeds("steps_per_second", len(rows) + k, speeds[len(rows) + k])
        products = (math.prod(row[: j + 1]) for row in rows for j in range(len(row)))
        best = sorted(products, reverse=True)[:k]
        theta.append((len(rows) + sum(best)) * float(speeds[len(rows) + k]))
    return first_best(theta) if rows else 0


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "Lists, itertools.accumulate and index(max()).")
def plain_lists(old_confidences: Any, steps_per_second: Any) -> int:
    return global_budget(old_confidences, steps_per_second)


@right(TASK, "One loop that keeps the best so far.")
def best_so_far(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    if not rows:
        return 0
    check_speeds("steps_per_second", len(rows), speeds[len(rows)])
    tau, budget, best = float(len(rows)), 0, len(rows) * speeds[len(rows)]
    for k, survival in enumerate(survivals(rows), start=1):
        if len(rows) + k >= len(speeds):
            break
        check_speeds("steps_per_second", len(rows) + k, speeds[len(rows) + k])
        tau += survival
        if tau * speeds[len(rows) + k] > best:
            budget, best = k, tau * speeds[len(rows) + k]
    return budget


@right(TASK, "Exact fractions throughout, turned into a plain int at the end.")
def exact_fractions(old_confidences: Any, steps_per_second: Any) -> int:
    rows, speeds = read(old_confidences, steps_per_second)
    if sum(map(len, rows)) > 200:  # fractions of long products are slow
        return global_budget(old_confidences, steps_per_second)
    throughputs(rows, survivals(rows), speeds)
    ranked = sorted((a for row in rows for a in accumulate(map(Fraction, row), mul) if a), reverse=True)
    tau = accumulate(ranked, initial=Fraction(len(rows)))
    theta = [t * Fraction(float(s)) for t, s in zip(tau, speeds[len(rows) :])]
    return max(range(len(theta)), key=lambda k: (theta[k], -k)) if rows else 0


@right(TASK, "NumPy on the padded matrix, with −1 for what is not there.")
def padded_matrix(old_confidences: Any, steps_per_second: Any) -> int:
    values = confidence_rows("old_confidences", old_confidences)
    requests = values.shape[0]
    if not requests:
        return 0
    speeds = speed_table("steps_per_second", steps_per_second, requests)
    ranked = np.sort(np.multiply.accumulate(values, axis=1).ravel())[::-1]
    ranked = ranked[ranked > 0][: speeds.size - 1 - requests]
    entries = speeds[requests : requests + ranked.size + 1]
    check_speeds("steps_per_second", requests, entries)
    theta = (requests + np.r_[0.0, np.cumsum(ranked)]) * entries
    return int(np.flatnonzero(theta == theta.max())[0])


@right(TASK, "Step times instead of speeds: the least time a token.")
def least_time_a_token(old_confidences: Any, steps_per_second: Any) -> int:
    print("looking", file=sys.stderr)
    warnings.warn("A warning is no error.", UserWarning, stacklevel=1)
    rows, speeds = read(old_confidences, steps_per_second)
    theta = throughputs(rows, survivals(rows), speeds) if rows else [1.0]
    costs = [1.0 / value for value in theta]
    return min(range(len(costs)), key=lambda k: (costs[k], k))
