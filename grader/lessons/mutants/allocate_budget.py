"""Variants of task 5.2: what learners write for allocate_budget, wrong and right."""

from __future__ import annotations

import heapq
import sys
import warnings
from collections import Counter
from itertools import accumulate, islice
from operator import mul
from typing import Any

import numpy as np

from dspark_mini.inputs import confidence_rows, whole_number
from grader.lessons.mutants import right, wrong

TASK = "5.2"
Tokens = list[tuple[float, int, int]]  # survival, request, position


def read(confidences: Any, budget: Any) -> tuple[list[list[float]], int]:
    """Check the arguments as the top of the stub does; the requests become lists of their own lengths."""
    values = confidence_rows("confidences", confidences)
    return [row[: len(given)].tolist() for row, given in zip(values, confidences)], whole_number(
        "budget", budget, low=0
    )


def all_tokens(rows: list[list[float]]) -> Tokens:
    """Return every token with its survival, in the order of the batch."""
    return [(a, r, j) for r, row in enumerate(rows) for j, a in enumerate(accumulate(row, mul))]


def in_order(rows: list[list[float]]) -> Tokens:
    """Return the tokens with a survival above 0 in the order in which they get the budget."""
    return sorted((token for token in all_tokens(rows) if token[0] > 0), key=lambda t: (-t[0], t[1], t[2]))


def counted(tokens: Tokens, requests: int) -> list[int]:
    """Count tokens by request."""
    counts = Counter(request for _, request, _ in tokens)
    return [counts[request] for request in range(requests)]


def allocated(confidences: Any, budget: Any) -> list[int]:
    rows, budget = read(confidences, budget)
    return counted(in_order(rows)[:budget], len(rows))


# --- Wrong: who gets it -----------------------------------------------------------------------------------


@wrong(TASK, "highest_survivals_get_it", "The budget is shared out evenly, the first requests get the rest.")
def even_shares(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    share, rest = divmod(budget, max(len(rows), 1))
    return [min(share + (r < rest), len(row)) for r, row in enumerate(rows)]


@wrong(TASK, "highest_survivals_get_it", "First come, first served: a request takes all that it can use.")
def first_come_first_served(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    return counted(sorted(in_order(rows), key=lambda t: t[1:])[:budget], len(rows))


@wrong(TASK, "highest_survivals_get_it", "The requests take turns, one position after the other.")
def round_robin(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    return counted(sorted(in_order(rows), key=lambda t: t[2])[:budget], len(rows))


@wrong(TASK, "highest_survivals_get_it", "np.argsort puts the highest first.")
def lowest_first(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    return counted(sorted(in_order(rows))[:budget], len(rows))


@wrong(TASK, "highest_survivals_get_it", "The request with the highest sum of survivals comes first, with all of it.")
def best_request_first(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    lengths = [0] * len(rows)
    for r in sorted(range(len(rows)), key=lambda r: -sum(accumulate(rows[r], mul))):
        lengths[r] = min(budget, sum(a > 0 for a in accumulate(rows[r], mul)))
        budget -= lengths[r]
    return lengths


@wrong(TASK, "highest_survivals_get_it", "Requests get the budget in proportion to their expected accepted length.")
def proportional(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    sums = [sum(accumulate(row, mul)) for row in rows]
    return [min(len(row), int(budget * own / (sum(sums) or 1.0))) for row, own in zip(rows, sums)]


@wrong(TASK, "survival_and_not_confidence", "The confidences say how likely a token is accepted.")
def by_confidence(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    tokens = [(c, r, j) for r, row in enumerate(rows) for j, c in enumerate(row) if c > 0]
    return counted(sorted(tokens, key=lambda t: (-t[0], t[1], t[2]))[:budget], len(rows))


@wrong(TASK, "survival_and_not_confidence", "A chain is as strong as its weakest link: the running minimum decides.")
def weakest_link(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    tokens = [(c, r, j) for r, row in enumerate(rows) for j, c in enumerate(accumulate(row, min)) if c > 0]
    return counted(sorted(tokens, key=lambda t: (-t[0], t[1], t[2]))[:budget], len(rows))


@wrong(TASK, "survival_and_not_confidence", "The survival of token j is the product of the confidences before it.")
def survival_of_the_tokens_before(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    tokens = [(a, r, j) for r, row in enumerate(rows) for j, a in enumerate(accumulate([1.0, *row[:-1]], mul)) if row]
    return counted(sorted(tokens, key=lambda t: (-t[0], t[1], t[2]))[:budget], len(rows))


@wrong(TASK, "survival_and_not_confidence", "The product runs through the whole batch, np.cumprod does it.")
def product_over_the_batch(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    places = [(r, j) for r, row in enumerate(rows) for j in range(len(row))]
    product = np.cumprod([c for row in rows for c in row]).tolist()
    tokens = [(a, r, j) for a, (r, j) in zip(product, places) if a > 0]
    return counted(sorted(tokens, key=lambda t: (-t[0], t[1], t[2]))[:budget], len(rows))


# --- Wrong: how much --------------------------------------------------------------------------------------


@wrong(TASK, "budget_of_the_whole_batch", "The budget is what each request may verify.")
def budget_for_each_request(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    return [min(budget, sum(a > 0 for a in accumulate(row, mul))) for row in rows]


@wrong(TASK, "budget_of_the_whole_batch", "The budget is the batch B, the requests' own tokens included.")
def own_tokens_counted(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    return counted(in_order(rows)[: max(budget - len(rows), 0)], len(rows))


@wrong(TASK, "budget_of_the_whole_batch", "Every request verifies at least one token.")
def one_for_everybody(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    return [max(n, min(1, len(row))) for n, row in zip(counted(in_order(rows)[:budget], len(rows)), rows)]


@wrong(TASK, "budget_of_the_whole_batch", "A slice up to the budget includes the budget.")
def one_more(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    return counted(in_order(rows)[: budget + 1], len(rows))


@wrong(TASK, "budget_of_the_whole_batch", "A budget of 0 means that there is no limit.")
def zero_is_no_limit(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    return counted(in_order(rows)[: budget or None], len(rows))


@wrong(TASK, "ties", "All tokens that are as good as the last one get the budget too.")
def ties_all_in(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    tokens = in_order(rows)
    if budget == 0 or not tokens:
        return [0] * len(rows)
    last = tokens[min(budget, len(tokens)) - 1][0]
    return counted([token for token in tokens if token[0] >= last], len(rows))


@wrong(TASK, "ties", "Of equal survivals the last request goes first, as reverse=True leaves it.")
def ties_reversed(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    return counted(sorted(in_order(rows), reverse=True)[:budget], len(rows))


@wrong(TASK, "ties", "Of equal survivals the lower position goes first, so that all requests get something.")
def ties_by_position(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    return counted(sorted(in_order(rows), key=lambda t: (-t[0], t[2], t[1]))[:budget], len(rows))


@wrong(TASK, "leftovers", "The whole budget has to be spent.")
def hopeless_tokens_too(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    return counted(sorted(all_tokens(rows), key=lambda t: (-t[0], t[1], t[2]))[:budget], len(rows))


@wrong(TASK, "leftovers", "A budget above the number of tokens is an error.")
def large_budget_refused(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    if budget > sum(map(len, rows)):
        raise ValueError("budget is larger than the number of tokens.")
    return counted(in_order(rows)[:budget], len(rows))


@wrong(TASK, "leftovers", "The requests stand in a matrix, so all rows are equally long.")
def matrix_required(confidences: Any, budget: int) -> list[int]:
    np.asarray(confidences, dtype=float)
    return allocated(confidences, budget)


# --- Wrong: types, memory, bad input ------------------------------------------------------------------------


@wrong(TASK, "plain_types", "np.bincount counts, and its integers are ints.")
def numpy_counts(confidences: Any, budget: int) -> list[Any]:
    rows, budget = read(confidences, budget)
    requests = np.array([r for _, r, _ in in_order(rows)[:budget]], dtype=int)
    return list(np.bincount(requests, minlength=len(rows)))


@wrong(TASK, "plain_types", "Sums of booleans are numbers, whatever their type.")
def lengths_as_floats(confidences: Any, budget: int) -> list[float]:
    return [float(n) for n in allocated(confidences, budget)]


@wrong(TASK, "lists_and_arrays", "The confidences are an array, which has a shape.")
def array_with_a_shape(confidences: Any, budget: int) -> list[int]:
    lengths = allocated(confidences, budget)
    return lengths[: confidences.shape[0]] if lengths else []


@wrong(TASK, "no_memory", "A list in the signature is new in every call.")
def tokens_pile_up(confidences: Any, budget: int, tokens: Tokens = []) -> list[int]:  # noqa: B006
    rows, budget = read(confidences, budget)
    tokens.extend(in_order(rows))
    return counted(sorted(tokens, key=lambda t: (-t[0], t[1], t[2]))[:budget], len(rows))


@wrong(TASK, "input_unchanged", "What has been handed out is crossed out in the confidences.")
def crossed_out(confidences: Any, budget: int) -> list[int]:
    lengths = allocated(confidences, budget)
    for row, length in zip(confidences, lengths):
        for j in range(length):
            row[j] = 0.0
    return lengths


@wrong(TASK, "bad_input_raises", "A negative budget hands out nothing.")
def negative_budget_is_nothing(confidences: Any, budget: int) -> list[int]:
    return allocated(confidences, max(budget, 0))


@wrong(TASK, "bad_input_raises", "Where there is no budget nothing has to be looked at.")
def unchecked_without_budget(confidences: Any, budget: int) -> list[int]:
    return [0] * len(confidences) if budget == 0 else allocated(confidences, budget)


@wrong(TASK, "error_names_offender", "The sentence says what is wrong, and the reader finds where.")
def place_left_out(confidences: Any, budget: int) -> list[int]:
    try:
        return allocated(confidences, budget)
    except ValueError:
        raise ValueError("confidences must lie between 0 and 1, and budget must not be negative.") from None


@wrong(TASK, "many_tokens_in_time", "The best token is looked for anew, with new products, for each of the budget.")
def searched_anew(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    taken: list[tuple[float, int, int]] = []
    for _ in range(budget):
        left = [token for token in in_order(rows) if token not in taken]
        if not left:
            break
        taken.append(left[0])
    return counted(taken, len(rows))


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "A sorted list of tuples and a Counter.")
def sorted_tuples(confidences: Any, budget: int) -> list[int]:
    return allocated(confidences, budget)


@right(TASK, "heapq.nsmallest with the key that breaks the ties.")
def n_smallest(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    keys = [(-a, r, j) for a, r, j in all_tokens(rows) if a > 0]
    lengths = [0] * len(rows)
    for _, request, _ in heapq.nsmallest(budget, keys):
        lengths[request] += 1
    return lengths


@right(TASK, "A merge of the falling rows, since each of them is already in order.")
def merged_rows(confidences: Any, budget: int) -> list[int]:
    rows, budget = read(confidences, budget)
    falling = [[(-a, r, j) for j, a in enumerate(accumulate(row, mul)) if a > 0] for r, row in enumerate(rows)]
    lengths = [0] * len(rows)
    for _, request, _ in islice(heapq.merge(*falling), budget):
        lengths[request] += 1
    return lengths


@right(TASK, "The least survival that gets the budget, then the tied tokens in the order of the batch.")
def by_threshold(confidences: Any, budget: int) -> list[int]:
    values = confidence_rows("confidences", confidences)
    budget = whole_number("budget", budget, low=0)
    survival = np.cumprod(values, axis=1)
    ranked = np.sort(survival[survival > 0])[::-1]
    budget = min(budget, ranked.size)
    if budget == 0:
        return [0] * len(values)
    chosen = survival > ranked[budget - 1]
    tied = np.argwhere(survival == ranked[budget - 1])
    for r, j in tied[: budget - int(chosen.sum())]:
        chosen[r, j] = True
    return [int(n) for n in chosen.sum(axis=1)]


@right(TASK, "One token after the other, always to the request whose next token is the likeliest.")
def next_token_of_each(confidences: Any, budget: int) -> list[int]:
    values = confidence_rows("confidences", confidences)
    budget = whole_number("budget", budget, low=0)
    survival = np.hstack([np.cumprod(values, axis=1), np.zeros((len(values), 1))])
    lengths = np.zeros(len(values), dtype=int)
    for _ in range(budget):
        following = survival[np.arange(len(values)), lengths]
        if not following.size or following.max() == 0.0:
            break
        lengths[following.argmax()] += 1
    return list(map(int, lengths))


@right(TASK, "np.lexsort, with output on every channel.")
def talkative_lexsort(confidences: Any, budget: int) -> list[int]:
    print("to stdout")
    print("to stderr", file=sys.stderr)
    warnings.warn("A warning is no error.", UserWarning, stacklevel=1)
    rows, budget = read(confidences, budget)
    tokens = [token for token in all_tokens(rows) if token[0] > 0]
    if not tokens:
        return [0 for _ in rows]
    a, r, j = zip(*tokens)
    order = np.lexsort((j, r, -np.array(a)))[:budget]
    return [sum(r[i] == request for i in order) for request in range(len(rows))]
