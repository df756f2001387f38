"""Variants of task 2.5: what learners write for conditional_acceptance, wrong and right."""

from __future__ import annotations

import bisect
import math
import sys
import warnings
from collections import Counter
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.confidence import conditional_acceptance
from dspark_mini.inputs import whole_number, whole_numbers
from grader.lessons.mutants import right, wrong

NAN = math.nan


def _read(accepted_counts: Any, block_size: Any) -> tuple[list[int], int]:
    """Check the arguments as the top of the stub does; the counts become a new list."""
    size = whole_number("block_size", block_size, low=1)
    return whole_numbers("accepted_counts", accepted_counts, low=0, high=size), size


def _reached(counts: list[int], size: int) -> list[int]:
    """Count, for k = 0..γ, the rounds with at least k accepted tokens."""
    return [sum(count >= k for count in counts) for k in range(size + 1)]


def _rate(kept: float, tried: float) -> float:
    return kept / tried if tried else NAN


# --- Wrong: which rounds are counted -----------------------------------------------------------------


@wrong("2.5", "passed_among_reached", "A round that passed position k has more than k accepted tokens.")
def more_than_k(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = [sum(count > k for count in counts) for k in range(size + 1)]
    return [_rate(reached[k], reached[k - 1]) for k in range(1, size + 1)]


@wrong("2.5", "passed_among_reached", "Position k is about the rounds that accepted exactly k tokens.")
def exactly_k(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    return [_rate(counts.count(k), sum(count >= k - 1 for count in counts)) for k in range(1, size + 1)]


@wrong("2.5", "passed_among_reached", "The rounds that tried position k are those that accepted exactly k − 1 tokens.")
def tried_exactly_before(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = _reached(counts, size)
    return [_rate(reached[k], counts.count(k - 1)) for k in range(1, size + 1)]


@wrong("2.5", "passed_among_reached", "The rate of a position is the share of the rounds that fail there.")
def failures_counted(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    return [1.0 - rate for rate in conditional_acceptance(counts, size)]


@wrong("2.5", "passed_among_reached", "The list starts with position 0, which always passes.")
def position_zero_listed(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    return [1.0 if counts else NAN, *conditional_acceptance(counts, size)]


@wrong("2.5", "passed_among_reached", "A range up to block_size includes block_size.")
def last_position_left_out(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = _reached(counts, size)
    return [_rate(reached[k], reached[k - 1]) for k in range(1, size)]


@wrong("2.5", "passed_among_reached", "Position k + 1 depends on position k, so the rates begin with the second.")
def shifted_by_one(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = [*_reached(counts, size), 0]
    return [_rate(reached[k + 1], reached[k]) for k in range(1, size + 1)]


@wrong("2.5", "passed_among_reached", "All positions are alike, so each has the mean share of accepted tokens.")
def mean_for_every_position(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    return [_rate(sum(counts), len(counts) * size)] * size


@wrong("2.5", "passed_among_reached", "The counts include the bonus token, which has to be taken off.")
def bonus_taken_off(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = _reached([max(count - 1, 0) for count in counts], size)
    return [_rate(reached[k], reached[k - 1]) for k in range(1, size + 1)]


@wrong("2.5", "passed_among_reached", "A rate from few rounds has to be smoothed.")
def rates_smoothed(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = _reached(counts, size)
    return [(reached[k] + 1) / (reached[k - 1] + 2) if reached[k - 1] else NAN for k in range(1, size + 1)]


@wrong("2.5", "passed_among_reached", "Two decimals are enough for a rate.")
def rates_rounded(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    return [round(rate, 2) for rate in conditional_acceptance(counts, size)]


@wrong("2.5", "passed_among_reached", "Dividing two counts with // gives their ratio.")
def whole_division(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = _reached(counts, size)
    return [reached[k] // reached[k - 1] if reached[k - 1] else NAN for k in range(1, size + 1)]


@wrong("2.5", "passed_among_reached", "A table of the examples' results is a solution.")
def rates_by_heart(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    known = {(0, 1, 2, 2): [0.75, 2 / 3, 0.0], (0, 0, 0, 2): [0.25, 1.0], (0, 0): [0.0, NAN, NAN], (): [NAN] * size}
    return known.get(tuple(counts), [1.0] * size)


@wrong("2.5", "condition_on_reaching", "Every rate is a share of all the rounds.")
def share_of_all_rounds(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = _reached(counts, size)
    return [_rate(reached[k], reached[0]) if reached[k - 1] else NAN for k in range(1, size + 1)]


@wrong("2.5", "condition_on_reaching", "The rounds that tried a position are those that accepted anything at all.")
def share_of_started_rounds(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = _reached(counts, size)
    return [_rate(reached[k], reached[min(k - 1, 1)]) if reached[k - 1] else NAN for k in range(1, size + 1)]


@wrong("2.5", "condition_on_reaching", "Rates fall along the block, so a later one cannot exceed an earlier one.")
def rates_never_rise(accepted_counts: Any, block_size: int) -> list[float]:
    rates = conditional_acceptance(*_read(accepted_counts, block_size))
    return [rate if math.isnan(rate) else min(rates[: k + 1]) for k, rate in enumerate(rates)]


# --- Wrong: positions that no round reached ----------------------------------------------------------


@wrong("2.5", "unreached_is_nan", "A position that was never reached was never accepted: its rate is 0.")
def unreached_is_zero(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    return [0.0 if math.isnan(rate) else rate for rate in conditional_acceptance(counts, size)]


@wrong("2.5", "unreached_is_nan", "A position that was never reached never failed: its rate is 1.")
def unreached_is_one(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    return [1.0 if math.isnan(rate) else rate for rate in conditional_acceptance(counts, size)]


@wrong("2.5", "unreached_is_nan", "A rate that nobody knows is None.")
def unreached_is_none(accepted_counts: Any, block_size: int) -> list[float | None]:
    counts, size = _read(accepted_counts, block_size)
    return [None if math.isnan(rate) else rate for rate in conditional_acceptance(counts, size)]


@wrong("2.5", "unreached_is_nan", "A denominator of at least 1 keeps the division safe.")
def denominator_at_least_one(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = _reached(counts, size)
    return [reached[k] / max(reached[k - 1], 1) for k in range(1, size + 1)]


@wrong("2.5", "unreached_is_nan", "Some round always comes through, so the denominator is never 0.")
def division_unguarded(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = _reached(counts, size)
    return [reached[k] / reached[k - 1] for k in range(1, size + 1)]


@wrong("2.5", "unreached_is_nan", "The list ends where no round came further.")
def list_ends_when_unreached(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    return [rate for rate in conditional_acceptance(counts, size) if not math.isnan(rate)]


@wrong("2.5", "unreached_is_nan", "The last known rate is carried on to the positions that no round reached.")
def last_rate_carried_on(accepted_counts: Any, block_size: int) -> list[float]:
    rates = conditional_acceptance(*_read(accepted_counts, block_size))
    for k in range(1, len(rates)):
        rates[k] = rates[k - 1] if math.isnan(rates[k]) else rates[k]
    return rates


@wrong("2.5", "unreached_is_nan", "A position that all rounds failed is unknown as well.")
def failed_is_unknown(accepted_counts: Any, block_size: int) -> list[float]:
    rates = conditional_acceptance(*_read(accepted_counts, block_size))
    return [rate or NAN for rate in rates]


@wrong("2.5", "unreached_is_nan", "Without rounds there is nothing to measure, so an empty list comes back.")
def no_rounds_no_rates(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    return conditional_acceptance(counts, size) if counts else []


@wrong("2.5", "unreached_is_nan", "An empty list is always bad input.")
def rounds_required(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    if not counts:
        raise ValueError("accepted_counts is empty.")
    return conditional_acceptance(counts, size)


# --- Wrong: types, forms of the arguments, memory ----------------------------------------------------


@wrong("2.5", "plain_types", "An array passes for a list.")
def rates_in_an_array(accepted_counts: Any, block_size: int) -> NDArray[np.float64]:
    return np.array(conditional_acceptance(*_read(accepted_counts, block_size)))


@wrong("2.5", "plain_types", "Single precision is a float like any other.")
def single_precision(accepted_counts: Any, block_size: int) -> list[Any]:
    return [np.float32(rate) for rate in conditional_acceptance(*_read(accepted_counts, block_size))]


@wrong("2.5", "plain_types", "A tuple passes for a list.")
def rates_in_a_tuple(accepted_counts: Any, block_size: int) -> tuple[float, ...]:
    return tuple(conditional_acceptance(*_read(accepted_counts, block_size)))


@wrong("2.5", "plain_types", "An exact fraction is better than a float.")
def rates_as_fractions(accepted_counts: Any, block_size: int) -> list[Any]:
    counts, size = _read(accepted_counts, block_size)
    reached = _reached(counts, size)
    return [Fraction(reached[k], reached[k - 1]) if reached[k - 1] else NAN for k in range(1, size + 1)]


@wrong("2.5", "plain_types", "A rate that is whole may be a bool, because True is 1.")
def certain_rates_as_bools(accepted_counts: Any, block_size: int) -> list[float]:
    rates = conditional_acceptance(*_read(accepted_counts, block_size))
    return [bool(rate) if rate in (0.0, 1.0) else rate for rate in rates]


@wrong("2.5", "lists_and_arrays", "Counts come as a list, which has a method count.")
def only_lists_count(accepted_counts: Any, block_size: int) -> list[float]:
    _, size = _read(accepted_counts, block_size)
    exact = [accepted_counts.count(k) for k in range(size + 1)]
    return [_rate(sum(exact[k:]), sum(exact[k - 1 :])) for k in range(1, size + 1)]


@wrong("2.5", "lists_and_arrays", "Counts come as an array, which can be compared all at once.")
def only_arrays_compare(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    if not counts:
        return [NAN] * size
    reached = [int((accepted_counts >= k).sum()) for k in range(size + 1)]
    return [_rate(reached[k], reached[k - 1]) for k in range(1, size + 1)]


@wrong("2.5", "lists_and_arrays", "An argument without entries is false, and any other is true.")
def truth_of_counts(accepted_counts: Any, block_size: int) -> list[float]:
    if not accepted_counts:
        return [NAN] * whole_number("block_size", block_size, low=1)
    return conditional_acceptance(*_read(accepted_counts, block_size))


@wrong("2.5", "no_memory", "A counter in the signature is new in every call.")
def rounds_pile_up(accepted_counts: Any, block_size: int, exact: Counter[int] = Counter()) -> list[float]:  # noqa: B006
    counts, size = _read(accepted_counts, block_size)
    exact.update(counts)
    reached = [sum(n for count, n in exact.items() if count >= k) for k in range(size + 1)]
    return [_rate(reached[k], reached[k - 1]) for k in range(1, size + 1)]


@wrong("2.5", "input_unchanged", "np.asarray gives a copy, so its counts may be lowered step by step.")
def counts_lowered_in_place(accepted_counts: Any, block_size: int) -> list[float]:
    _, size = _read(accepted_counts, block_size)
    left = np.asarray(accepted_counts, dtype=int)
    reached = [left.size]
    for _ in range(size):
        reached.append(int((left > 0).sum()))
        left -= 1
    return [_rate(reached[k], reached[k - 1]) for k in range(1, size + 1)]


@wrong("2.5", "input_unchanged", "The order of the rounds does not matter, so the list may be sorted where it stands.")
def best_rounds_first(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    accepted_counts[:] = sorted(counts, reverse=True)
    reached = [next((i for i, count in enumerate(accepted_counts) if count < k), len(counts)) for k in range(size + 1)]
    return [_rate(reached[k], reached[k - 1]) for k in range(1, size + 1)]


# --- Wrong: bad input --------------------------------------------------------------------------------


@wrong("2.5", "bad_input_raises", "A count above block_size means that the whole block was accepted.")
def high_counts_clipped(accepted_counts: Any, block_size: int) -> list[float]:
    return conditional_acceptance([min(int(count), max(block_size, 0)) for count in accepted_counts], block_size)


@wrong("2.5", "bad_input_raises", "A negative count is a round without accepted tokens.")
def negative_counts_clipped(accepted_counts: Any, block_size: int) -> list[float]:
    return conditional_acceptance([max(int(count), 0) for count in accepted_counts], block_size)


@wrong("2.5", "bad_input_raises", "Rounds with an impossible count are left out.")
def impossible_rounds_skipped(accepted_counts: Any, block_size: int) -> list[float]:
    return conditional_acceptance([int(count) for count in accepted_counts if 0 <= count <= block_size], block_size)


@wrong("2.5", "bad_input_raises", "A block without positions has no rates.")
def empty_block_allowed(accepted_counts: Any, block_size: int) -> list[float]:
    return [] if block_size < 1 else conditional_acceptance(*_read(accepted_counts, block_size))


@wrong("2.5", "bad_input_raises", "A count that does not fit the list of bins raises an error of its own.")
def error_of_the_bins(accepted_counts: Any, block_size: int) -> list[float]:
    bins = [0] * (whole_number("block_size", block_size, low=1) + 1)
    for count in accepted_counts:
        bins[count] += 1
    reached = list(accumulate(reversed(bins)))[::-1]
    return [_rate(reached[k], reached[k - 1]) for k in range(1, len(bins))]


@wrong("2.5", "error_names_offender", "It is enough to say that some count is impossible.")
def some_count_impossible(accepted_counts: Any, block_size: int) -> list[float]:
    if any(not 0 <= count <= block_size for count in accepted_counts):
        raise ValueError("accepted_counts and block_size do not fit.")
    return conditional_acceptance(*_read(accepted_counts, block_size))


@wrong("2.5", "error_names_offender", "People count from one, so the message does too.")
def round_counted_from_one(accepted_counts: Any, block_size: int) -> list[float]:
    for position, count in enumerate(accepted_counts, start=1):
        if not 0 <= count <= block_size:
            raise ValueError(f"accepted_counts[{position}] is impossible.")
    return conditional_acceptance(*_read(accepted_counts, block_size))


@wrong("2.5", "error_names_offender", "The position in the sentence says enough without the argument's name.")
def nameless_position(accepted_counts: Any, block_size: int) -> list[float]:
    for position, count in enumerate(accepted_counts):
        if not 0 <= count <= block_size:
            raise ValueError(f"The count at position {position} is impossible.")
    return conditional_acceptance(*_read(accepted_counts, block_size))


# --- Right, in many styles ---------------------------------------------------------------------------


@right("2.5", "Plain loops with two counters a position.")
def two_counters(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    rates = []
    for k in range(1, size + 1):
        tried = kept = 0
        for count in counts:
            if count >= k - 1:
                tried += 1
            if count >= k:
                kept += 1
        rates.append(float("nan") if tried == 0 else kept / tried)
    return rates


@right("2.5", "np.bincount and a cumulative sum from the back; 0 divided by 0 is nan by itself.")
def bins_from_the_back(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = np.bincount(np.array(counts, dtype=int), minlength=size + 1)[::-1].cumsum()[::-1]
    rates: list[float] = (reached[1:] / reached[:-1]).tolist()
    return rates


@right("2.5", "A Counter of the exact counts, accumulated backwards.")
def counter_accumulated(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    exact = Counter(counts)
    reached = [*accumulate(exact[k] for k in range(size, -1, -1))][::-1]
    return [_rate(kept, tried) for tried, kept in pairwise(reached)]


@right("2.5", "The counts are sorted into a new list and each number is found by bisection.")
def found_by_bisection(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    ordered = sorted(counts)
    reached = [len(ordered) - bisect.bisect_left(ordered, k) for k in range(size + 1)]
    return [_rate(reached[k], reached[k - 1]) for k in range(1, size + 1)]


@right("2.5", "np.searchsorted on sorted counts, and np.divide where there is something to divide.")
def divided_where_reached(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    reached = len(counts) - np.searchsorted(np.sort(np.array(counts, dtype=int)), np.arange(size + 1))
    rates = np.full(size, np.nan)
    np.divide(reached[1:], reached[:-1], out=rates, where=reached[:-1] > 0)
    return [float(rate) for rate in rates]


@right("2.5", "The rates are np.float64 in a list, which pass as floats.")
def numpy_floats(accepted_counts: Any, block_size: int) -> list[Any]:
    counts, size = _read(accepted_counts, block_size)
    table = np.greater_equal.outer(np.array(counts, dtype=int), np.arange(size + 1)).sum(axis=0)
    return [np.float64(table[k]) / np.float64(table[k - 1]) for k in range(1, size + 1)]


@right("2.5", "Exact fractions are turned into floats at the end, whole ones into ints.")
def fractions_made_plain(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    rates: list[float] = []
    for k in range(1, size + 1):
        tried = [count for count in counts if count >= k - 1]
        rate = Fraction(sum(count > k - 1 for count in tried), len(tried)) if tried else None
        rates.append(NAN if rate is None else int(rate) if rate.denominator == 1 else float(rate))
    return rates


@right("2.5", "Each position is a recursion on the rounds that survived the one before.")
def survivors_passed_on(accepted_counts: Any, block_size: int) -> list[float]:
    def rates(alive: list[int], left: int) -> list[float]:
        if left == 0:
            return []
        next_alive = [count - 1 for count in alive if count > 0]
        return [_rate(len(next_alive), len(alive)), *rates(next_alive, left - 1)]

    return rates(*_read(accepted_counts, block_size))


@right("2.5", "A rate is the mean of an indicator over the rounds that came so far; np.mean warns where there is none.")
def mean_of_indicator(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    array = np.array(counts, dtype=int)
    return [float(np.mean(array[array >= k] > k)) for k in range(size)]


@right("2.5", "Quotients of neighbouring survival shares, with the division by zero caught.")
def quotients_of_survival(accepted_counts: Any, block_size: int) -> list[float]:
    counts, size = _read(accepted_counts, block_size)
    rates = []
    for k in range(size):
        try:
            rates.append(sum(c > k for c in counts) / sum(c >= k for c in counts))
        except ZeroDivisionError:
            warnings.warn(f"No round reached position {k + 1}.", stacklevel=2)
            rates.append(NAN)
    return rates


@right("2.5", "It checks its arguments in its own words and prints a table to stderr.")
def table_on_stderr(accepted_counts: Any, block_size: int) -> list[float]:
    if block_size < 1:
        raise ValueError(f"A block_size of {block_size} makes no sense.")
    passed, tried = [0] * block_size, [0] * block_size
    for index, count in enumerate(accepted_counts):
        if count < 0 or count > block_size:
            raise ValueError(f"Entry {index} of accepted_counts is {count}, which no round can reach.")
        for k in range(block_size):
            tried[k] += int(k <= count)
            passed[k] += int(k < count)
    print(passed, tried, sep="\n", file=sys.stderr)
    return [p / t if t > 0 else NAN for p, t in zip(passed, tried, strict=True)]
