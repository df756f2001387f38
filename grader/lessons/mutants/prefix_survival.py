"""Variants of task 4.2: what learners write for prefix_survival, wrong and right."""

from __future__ import annotations

import itertools
import operator
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import unit_array
from grader.lessons.mutants import right, wrong

TASK = "4.2"
Chances = NDArray[np.float64]


def _read(confidences: Any) -> Chances:
    """Check the argument as the top of the stub does; it becomes a new array."""
    return unit_array("confidences", confidences).copy()


def _by_block(values: Chances, block_survival: Any) -> Chances:
    """Apply a function of one flat block to every block of an array."""
    result = np.zeros(values.shape)
    for index in np.ndindex(values.shape[:-1]):
        result[index] = block_survival(values[index])
    return result


# --- Wrong: what is multiplied ------------------------------------------------------------------------


@wrong(TASK, "running_product", "Survival is the confidence itself.")
def as_it_is(confidences: Any) -> Chances:
    return _read(confidences)


@wrong(TASK, "running_product", "Chances add up.")
def running_sum(confidences: Any) -> Chances:
    return np.asarray(np.minimum(np.cumsum(_read(confidences), axis=-1), 1.0))


@wrong(TASK, "running_product", "A prefix is as sure as its weakest token.")
def weakest_link(confidences: Any) -> Chances:
    return np.asarray(np.minimum.accumulate(_read(confidences), axis=-1))


@wrong(TASK, "running_product", "The survival of the block is one product, the same at every position.")
def product_of_all(confidences: Any) -> Chances:
    values = _read(confidences)
    return np.broadcast_to(values.prod(axis=-1, keepdims=True), values.shape).copy()


@wrong(TASK, "running_product", "a_1 is 1, since the anchor always survives.")
def starts_with_one(confidences: Any) -> Chances:
    values = _read(confidences)
    values[..., 1:] = values[..., :-1]
    values[..., :1] = 1.0
    return np.asarray(np.cumprod(values, axis=-1))


@wrong(TASK, "running_product", "The anchor's 1 stands in front of the list.")
def one_too_many(confidences: Any) -> Chances:
    values = _read(confidences)
    return np.asarray(np.cumprod(np.concatenate([np.ones((*values.shape[:-1], 1)), values], axis=-1), axis=-1))


@wrong(TASK, "running_product", "The product runs from the end of the block.")
def from_the_back(confidences: Any) -> Chances:
    return np.asarray(np.cumprod(_read(confidences)[..., ::-1], axis=-1)[..., ::-1])


@wrong(TASK, "running_product", "All positions are alike: a_k is c_k to the power of k.")
def power_of_its_own(confidences: Any) -> Chances:
    values = _read(confidences)
    return np.asarray(values ** np.arange(1, values.shape[-1] + 1))


@wrong(TASK, "running_product", "Each survival is the product of two neighbours only.")
def two_at_a_time(confidences: Any) -> Chances:
    values = _read(confidences)
    values[..., 1:] *= _read(confidences)[..., :-1]
    return values


@wrong(TASK, "running_product", "The geometric mean keeps long and short prefixes comparable.")
def geometric_mean(confidences: Any) -> Chances:
    values = _read(confidences)
    return np.asarray(np.cumprod(values, axis=-1) ** (1.0 / np.arange(1, values.shape[-1] + 1)))


@wrong(TASK, "running_product", "The most confident token comes first.")
def sorted_first(confidences: Any) -> Chances:
    return np.asarray(np.cumprod(-np.sort(-_read(confidences), axis=-1), axis=-1))


@wrong(TASK, "running_product", "Three decimals are enough.")
def rounded(confidences: Any) -> Chances:
    return np.round(np.cumprod(_read(confidences), axis=-1), 3)


# --- Wrong: axes --------------------------------------------------------------------------------------


@wrong(TASK, "along_the_last_axis", "np.cumprod without an axis runs along the rows.")
def flattened(confidences: Any) -> Chances:
    return np.asarray(np.cumprod(_read(confidences)))


@wrong(TASK, "along_the_last_axis", "The product over everything before, put back into shape.")
def flattened_and_reshaped(confidences: Any) -> Chances:
    values = _read(confidences)
    return np.asarray(np.cumprod(values).reshape(values.shape))


@wrong(TASK, "along_the_last_axis", "Axis 0 is the block.")
def first_axis(confidences: Any) -> Chances:
    return np.asarray(np.cumprod(_read(confidences), axis=0))


@wrong(TASK, "along_the_last_axis", "A matrix has its block along axis 1, so axis 1 it is.")
def second_axis(confidences: Any) -> Chances:
    values = _read(confidences)
    return np.asarray(np.cumprod(values, axis=min(1, values.ndim - 1)))


@wrong(TASK, "along_the_last_axis", "Confidences are flat; anything else is bad input.")
def flat_only(confidences: Any) -> Chances:
    values = _read(confidences)
    if values.ndim != 1:
        raise ValueError("confidences must be flat.")
    return np.asarray(np.cumprod(values))


@wrong(TASK, "along_the_last_axis", "One block is as good as any: the first request stands for all.")
def first_block_for_all(confidences: Any) -> Chances:
    values = _read(confidences)
    first = np.cumprod(values.reshape(-1, values.shape[-1])[:1], axis=-1) if values.size else values
    return np.broadcast_to(first.reshape(-1) if values.size else first, values.shape).copy()


# --- Wrong: zeros, ones, nothing ----------------------------------------------------------------------


@wrong(TASK, "zero_ends_it", "A confidence of 0 says that nothing is known, so it is skipped.")
def zeros_skipped(confidences: Any) -> Chances:
    values = _read(confidences)
    return np.asarray(np.cumprod(np.where(values == 0.0, 1.0, values), axis=-1))


@wrong(TASK, "zero_ends_it", "Logarithms need a small number in place of 0.")
def logarithm_with_floor(confidences: Any) -> Chances:
    values = _read(confidences)
    return np.asarray(np.exp(np.cumsum(np.log(np.maximum(values, 1e-6)), axis=-1)))


@wrong(TASK, "zero_ends_it", "Dividing neighbouring survivals must work later, so nothing is ever 0.")
def never_quite_zero(confidences: Any) -> Chances:
    return np.asarray(np.maximum(np.cumprod(_read(confidences), axis=-1), 1e-3))


@wrong(TASK, "empty_is_legal", "An empty block is bad input.")
def empty_refused(confidences: Any) -> Chances:
    values = _read(confidences)
    if values.size == 0:
        raise ValueError("confidences is empty.")
    return np.asarray(np.cumprod(values, axis=-1))


@wrong(TASK, "empty_is_legal", "The recursion starts with the first confidence, which is always there.")
def first_one_needed(confidences: Any) -> Chances:
    values = _read(confidences)
    columns = [values[..., 0]]
    for k in range(1, values.shape[-1]):
        columns.append(columns[-1] * values[..., k])
    return np.stack(columns, axis=-1)


@wrong(TASK, "empty_is_legal", "Nothing drafted is a survival of 1.")
def empty_is_one(confidences: Any) -> Chances:
    values = _read(confidences)
    return np.asarray(np.cumprod(values, axis=-1)) if values.size else np.ones(1)


# --- Wrong: types, forms of the argument, memory ------------------------------------------------------


@wrong(TASK, "plain_types", "A list passes for an array.")
def listed(confidences: Any) -> Any:
    return np.cumprod(_read(confidences), axis=-1).tolist()


@wrong(TASK, "plain_types", "Half the bytes do as well.")
def single_precision(confidences: Any) -> Any:
    return np.cumprod(_read(confidences), axis=-1).astype(np.float32)


@wrong(TASK, "lists_and_arrays", "An array has a method for this.")
def method_of_arrays(confidences: Any) -> Chances:
    _read(confidences)
    return np.asarray(confidences.cumprod(axis=-1), dtype=np.float64)


@wrong(TASK, "lists_and_arrays", "Whatever has no entries is false.")
def truth_of_confidences(confidences: Any) -> Chances:
    return np.asarray(np.cumprod(_read(confidences), axis=-1)) if confidences else np.zeros(0)


@wrong(TASK, "no_memory", "The survival of the last call goes on in the next one.")
def goes_on(confidences: Any, last: list[float] = [1.0]) -> Chances:  # noqa: B006
    survival = np.asarray(last[0] * np.cumprod(_read(confidences), axis=-1), dtype=np.float64)
    last[0] = float(survival.ravel()[-1]) if survival.size else last[0]
    return survival


_SURVIVAL: dict[tuple[int, ...], Chances] = {}


@wrong(TASK, "no_memory", "Blocks of the same shape can share one array for their survival.")
def one_array_a_shape(confidences: Any) -> Chances:
    values = _read(confidences)
    return np.asarray(np.cumprod(values, axis=-1, out=_SURVIVAL.setdefault(values.shape, np.empty(values.shape))))


@wrong(TASK, "input_unchanged", "The result may be written where the confidences stood.")
def written_over(confidences: Any) -> Chances:
    values = unit_array("confidences", confidences)
    return np.asarray(np.cumprod(values, axis=-1, out=values))


@wrong(TASK, "input_unchanged", "A loop may write into the array that it was given.")
def multiplied_in_place(confidences: Any) -> Chances:
    values = unit_array("confidences", confidences)
    for k in range(1, values.shape[-1]):
        values[..., k] *= values[..., k - 1]
    return values


# --- Wrong: bad input ---------------------------------------------------------------------------------


@wrong(TASK, "bad_input_raises", "What lies outside [0, 1] is clipped.")
def clipped(confidences: Any) -> Chances:
    return np.asarray(np.cumprod(np.clip(np.asarray(confidences, dtype=float), 0.0, 1.0), axis=-1))


@wrong(TASK, "bad_input_raises", "A NaN is a confidence that nobody knows, so it counts as 0.")
def nan_is_zero(confidences: Any) -> Chances:
    return np.asarray(np.cumprod(_read(np.nan_to_num(np.asarray(confidences, dtype=float))), axis=-1))


@wrong(TASK, "bad_input_raises", "Behind a zero nothing is looked at.")
def not_behind_a_zero(confidences: Any) -> Chances:
    values = np.array(confidences, dtype=float)
    dead = np.cumprod(np.nan_to_num(values), axis=-1) == 0.0
    return np.asarray(np.cumprod(_read(np.where(dead, 0.0, values)), axis=-1))


@wrong(TASK, "bad_input_raises", "A single number is a block of one.")
def number_is_a_block(confidences: Any) -> Chances:
    return np.asarray(np.cumprod(_read(np.atleast_1d(np.asarray(confidences, dtype=float))), axis=-1))


@wrong(TASK, "error_names_offender", "It is enough to say that some confidence is bad.")
def somewhere(confidences: Any) -> Chances:
    try:
        return np.asarray(np.cumprod(_read(confidences), axis=-1))
    except ValueError:
        raise ValueError("The confidences must lie between 0 and 1.") from None


@wrong(TASK, "error_names_offender", "The position says enough without the argument's name.")
def nameless(confidences: Any) -> Chances:
    for k, entry in enumerate(confidences if np.ndim(confidences) else []):
        if not all(0.0 <= c <= 1.0 for c in np.ravel(entry)):
            raise ValueError(f"The chance at {k} is bad.")
    return np.asarray(np.cumprod(_read(confidences), axis=-1))


# --- Right, in many styles ----------------------------------------------------------------------------


@right(TASK, "np.multiply.accumulate, which is what cumprod does.")
def accumulate(confidences: Any) -> Chances:
    return np.asarray(np.multiply.accumulate(_read(confidences), axis=-1))


@right(TASK, "A loop over the positions, all blocks at once.")
def column_by_column(confidences: Any) -> Chances:
    values = _read(confidences)
    product = np.ones(values.shape[:-1])
    for k in range(values.shape[-1]):
        product = product * values[..., k]
        values[..., k] = product
    return values


@right(TASK, "itertools.accumulate over the plain floats of every block.")
def accumulated(confidences: Any) -> Chances:
    return _by_block(_read(confidences), lambda block: list(itertools.accumulate(block.tolist(), operator.mul)))


@right(TASK, "Logarithms, where the one of 0 is −inf and warns; its exponential is 0 again.")
def logarithms(confidences: Any) -> Chances:
    return np.asarray(np.exp(np.cumsum(np.log(_read(confidences)), axis=-1)))


@right(TASK, "A recursion on lists of any depth.")
def recursive(confidences: Any) -> Chances:
    def survival(values: Any) -> Any:
        if values.ndim > 1:
            return np.stack([survival(v) for v in values]) if len(values) else values
        return np.array([*itertools.accumulate(values, lambda a, c: a * c)], dtype=np.float64)

    return np.asarray(survival(_read(confidences)))


@right(TASK, "A triangle of ones decides which factors count; np.prod does the rest.")
def triangle(confidences: Any) -> Chances:
    values = _read(confidences)
    counts = np.tril(np.ones((values.shape[-1], values.shape[-1]), dtype=bool))
    products = [np.prod(values, axis=-1, where=row) for row in counts]
    return np.asarray(np.stack(products, axis=-1)) if products else values


@right(TASK, "It checks in its own words, writes to stderr, and returns a transposed view.")
def transposed(confidences: Any) -> Chances:
    ragged = isinstance(confidences, list) and len({np.shape(c) for c in confidences}) > 1
    if ragged:
        sizes = [np.shape(c) for c in confidences]
        raise ValueError(f"confidences: entry {next(k for k, s in enumerate(sizes) if s != sizes[0])} is ragged.")
    values = np.array(confidences, dtype=float)
    if values.ndim == 0:
        raise ValueError("confidences is a single number.")
    for k, entry in enumerate(values):
        if not np.all((entry >= 0) & (entry <= 1)):
            raise ValueError(f"Entry {k} of confidences holds a number that is no chance.")
    print(values.shape, file=sys.stderr)
    return np.asarray(np.cumprod(values.T, axis=0).T)
