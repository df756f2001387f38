"""Variants of task 0.1: what learners write for expected_accepted_length, wrong and right."""

from __future__ import annotations

import math
import sys
import warnings
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np

from dspark_mini.inputs import unit_numbers, whole_number
from grader.lessons.mutants import right, wrong

TASK = "0.1"


def read(confidences: Any, verify_length: Any) -> list[float]:
    """Check the arguments as the top of the stub does, and return the confidences that are verified."""
    values = unit_numbers("confidences", confidences, may_be_empty=True)
    if verify_length is None:
        return list(map(float, values))
    return list(map(float, values[: whole_number("verify_length", verify_length, low=0, high=values.size)]))


def products(values: list[float]) -> list[float]:
    """Return the product of the first, the first two, the first three … numbers."""
    return list(accumulate(values, mul))


def tau(values: list[float]) -> float:
    return 1.0 + sum(products(values))


# --- Wrong: what is added up ------------------------------------------------------------------------------


@wrong(TASK, "one_plus_the_survivals", "Each token adds its own confidence.")
def confidences_added(confidences: Any, verify_length: int | None = None) -> float:
    return 1.0 + sum(read(confidences, verify_length))


@wrong(TASK, "one_plus_the_survivals", "Only the drafts are accepted tokens, the target's own one is not.")
def own_token_left_out(confidences: Any, verify_length: int | None = None) -> float:
    return tau(read(confidences, verify_length)) - 1.0


@wrong(TASK, "one_plus_the_survivals", "The expected length is the chance that all tokens survive, times their number.")
def all_or_nothing(confidences: Any, verify_length: int | None = None) -> float:
    values = read(confidences, verify_length)
    return 1.0 + len(values) * math.prod(values)


@wrong(TASK, "one_plus_the_survivals", "Tokens are alike, so the mean confidence stands for each of them.")
def mean_confidence(confidences: Any, verify_length: int | None = None) -> float:
    values = read(confidences, verify_length)
    mean = sum(values) / len(values) if values else 0.0
    return tau([mean] * len(values))


@wrong(TASK, "one_plus_the_survivals", "A prefix is as likely as its least likely token.")
def running_minimum(confidences: Any, verify_length: int | None = None) -> float:
    return 1.0 + sum(accumulate(read(confidences, verify_length), min))


@wrong(TASK, "one_plus_the_survivals", "The product starts behind the first token, which is always looked at.")
def first_token_sure(confidences: Any, verify_length: int | None = None) -> float:
    return 1.0 + sum(products([1.0, *read(confidences, verify_length)][:-1]))


@wrong(TASK, "one_plus_the_survivals", "The infinite series 1 / (1 − c) is close enough.")
def geometric_series(confidences: Any, verify_length: int | None = None) -> float:
    values = read(confidences, verify_length)
    mean = sum(values) / len(values) if values else 0.0
    return 1.0 / (1.0 - mean) if mean < 1.0 else 1.0 + len(values)


@wrong(TASK, "certain_and_hopeless_tokens", "The chance that all survive is Π c, and a zero is left out of a product.")
def zeros_left_out(confidences: Any, verify_length: int | None = None) -> float:
    return tau([c for c in read(confidences, verify_length) if c > 0.0])


@wrong(TASK, "certain_and_hopeless_tokens", "Logarithms turn products into sums, and a little is added against log 0.")
def logarithms(confidences: Any, verify_length: int | None = None) -> float:
    logs = [math.log(c + 1e-4) for c in read(confidences, verify_length)]
    return 1.0 + sum(math.exp(total) for total in accumulate(logs))


# --- Wrong: the verify length -----------------------------------------------------------------------------


@wrong(TASK, "verify_length_cuts", "The whole block counts, since it has been drafted.")
def length_ignored(confidences: Any, verify_length: int | None = None) -> float:
    read(confidences, verify_length)
    return tau(read(confidences, None))


@wrong(TASK, "verify_length_cuts", "A verify_length of 0 is none at all, so all are verified.")
def zero_means_all(confidences: Any, verify_length: int | None = None) -> float:
    read(confidences, verify_length)
    return tau(read(confidences, verify_length or None))


@wrong(TASK, "verify_length_cuts", "verify_length counts the target's own token too.")
def own_token_in_the_length(confidences: Any, verify_length: int | None = None) -> float:
    values = read(confidences, verify_length)
    return tau(values if verify_length is None else values[:-1])


@wrong(TASK, "verify_length_cuts", "The last tokens are the ones to verify.")
def cut_at_the_wrong_end(confidences: Any, verify_length: int | None = None) -> float:
    values = read(confidences, None)
    return tau(values if verify_length is None else values[len(values) - len(read(confidences, verify_length)) :])


@wrong(TASK, "verify_length_cuts", "The sum is cut off at verify_length, since no more can be accepted.")
def sum_cut_off(confidences: Any, verify_length: int | None = None) -> float:
    read(confidences, verify_length)
    total = tau(read(confidences, None))
    return total if verify_length is None else min(total, 1.0 + verify_length)


@wrong(TASK, "nothing_verified_is_one", "Without drafts nothing comes out.")
def nothing_is_zero(confidences: Any, verify_length: int | None = None) -> float:
    values = read(confidences, verify_length)
    return tau(values) if values else 0.0


@wrong(TASK, "nothing_verified_is_one", "An empty list is always an error.")
def draft_required(confidences: Any, verify_length: int | None = None) -> float:
    unit_numbers("confidences", confidences)
    return tau(read(confidences, verify_length))


# --- Wrong: types, forms, memory, bad input -----------------------------------------------------------------


@wrong(TASK, "plain_types", "Single precision is a float.")
def single_precision(confidences: Any, verify_length: int | None = None) -> Any:
    return np.float32(tau(read(confidences, verify_length)))


@wrong(TASK, "plain_types", "An array with one number is a number.")
def array_of_one(confidences: Any, verify_length: int | None = None) -> Any:
    return np.array(tau(read(confidences, verify_length)))


@wrong(TASK, "lists_and_arrays", "The confidences are an array with a method cumprod.")
def method_of_arrays(confidences: Any, verify_length: int | None = None) -> float:
    read(confidences, verify_length)
    return float(1.0 + (confidences[:verify_length].cumprod().sum() if len(confidences) else 0.0))


@wrong(TASK, "lists_and_arrays", "Two lists are joined with +.")
def joined_lists(confidences: Any, verify_length: int | None = None) -> float:
    read(confidences, verify_length)
    return sum(products([1.0] + confidences[:verify_length]))  # noqa: RUF005


@wrong(TASK, "no_memory", "The rounds before belong to the expectation.")
def mean_of_rounds(confidences: Any, verify_length: int | None = None, seen: list[float] = []) -> float:  # noqa: B006
    seen.append(tau(read(confidences, verify_length)))
    return sum(seen) / len(seen)


@wrong(TASK, "input_unchanged", "The survivals can stand where the confidences stood.")
def survivals_in_place(confidences: Any, verify_length: int | None = None) -> float:
    result = tau(read(confidences, verify_length))
    for k in range(1, len(confidences)):
        confidences[k] *= confidences[k - 1]
    return result


@wrong(TASK, "bad_input_raises", "More tokens than there are means all of them.")
def length_clipped(confidences: Any, verify_length: int | None = None) -> float:
    values = read(confidences, None)
    return tau(values if verify_length is None else values[: max(verify_length, 0)])


@wrong(TASK, "bad_input_raises", "A confidence above 1 is a certain one.")
def confidences_clipped(confidences: Any, verify_length: int | None = None) -> float:
    return tau(read(np.clip(np.asarray(confidences, dtype=float), 0.0, 1.0), verify_length))


@wrong(TASK, "error_names_offender", "Which confidence it is the reader will find.")
def position_left_out(confidences: Any, verify_length: int | None = None) -> float:
    try:
        return tau(read(confidences, verify_length))
    except ValueError:
        raise ValueError("confidences must lie between zero and one, and verify_length must fit.") from None


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "A loop with a running product.")
def running_product(confidences: Any, verify_length: int | None = None) -> float:
    total = survival = 1.0
    for c in read(confidences, verify_length):
        survival *= c
        total += survival
    return total


@right(TASK, "Horner's rule from the last token to the first: τ = 1 + c_1 (1 + c_2 (1 + …)).")
def horner(confidences: Any, verify_length: int | None = None) -> float:
    return reduce(lambda tail, c: 1.0 + c * tail, reversed(read(confidences, verify_length)), 1.0)


@right(TASK, "The sum over k of k times the chance that exactly k tokens come out.")
def law_of_the_length(confidences: Any, verify_length: int | None = None) -> float:
    values = read(confidences, verify_length)
    reach = [1.0, *products(values), 0.0]
    return sum((k + 1) * (reach[k] - reach[k + 1]) for k in range(len(values) + 1))


@right(TASK, "Exact fractions, made a float at the end, with output on every channel.")
def fractions(confidences: Any, verify_length: int | None = None) -> float:
    print("counting", file=sys.stderr)
    warnings.warn("A warning is no error.", UserWarning, stacklevel=1)
    return float(1 + sum(accumulate(map(Fraction, read(confidences, verify_length)), mul), Fraction(0)))


@right(TASK, "np.cumprod with the 1 in front, as np.float64.")
def one_in_front(confidences: Any, verify_length: int | None = None) -> Any:
    return np.cumprod(np.concatenate([[1.0], read(confidences, verify_length)])).sum()
