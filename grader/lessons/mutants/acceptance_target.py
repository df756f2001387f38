"""Variants of task 4.1: what learners write for acceptance_target, wrong and right."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import check_same_shape, probability_rows
from grader.lessons.mutants import right, wrong

TASK = "4.1"
Chances = NDArray[np.float64]


def _read(q: Any, p: Any) -> tuple[Chances, Chances]:
    """Check the arguments as the top of the stub does; both become new arrays."""
    draft, target = probability_rows("q", q), probability_rows("p", p)
    check_same_shape("q", draft, "p", target)
    if draft.size == 0:
        raise ValueError("q is empty.")
    return draft.copy(), target.copy()


def _overlap(draft: Any, target: Any) -> Chances:
    """Add up the smaller of two numbers along the last axis."""
    return np.asarray(np.minimum(draft, target).sum(axis=-1), dtype=np.float64)


# --- Wrong: what is measured --------------------------------------------------------------------------


@wrong(TASK, "overlap_of_q_and_p", "The chance of acceptance is 1 minus the L1 distance.")
def half_forgotten(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return np.asarray(1.0 - np.abs(draft - target).sum(axis=1))


@wrong(TASK, "overlap_of_q_and_p", "The distance itself is the label.")
def distance_returned(q: Any, p: Any) -> Chances:
    return 1.0 - _overlap(*_read(q, p))


@wrong(TASK, "overlap_of_q_and_p", "A draft is accepted when it equals a token that the target draws.")
def exact_match(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return np.asarray((draft * target).sum(axis=1))


@wrong(TASK, "overlap_of_q_and_p", "Distance means Euclidean distance.")
def euclidean(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return np.asarray(1.0 - 0.5 * np.linalg.norm(draft - target, axis=1))


@wrong(TASK, "overlap_of_q_and_p", "The largest single difference is the total variation.")
def largest_difference(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return np.asarray(1.0 - np.abs(draft - target).max(axis=1))


@wrong(TASK, "overlap_of_q_and_p", "The draft is the likeliest token of q, accepted with min(1, p / q).")
def likeliest_token(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    best = draft.argmax(axis=1)[:, None]
    ratio = np.take_along_axis(target, best, axis=1) / np.take_along_axis(draft, best, axis=1)
    return np.asarray(np.minimum(1.0, ratio)[:, 0])


@wrong(TASK, "overlap_of_q_and_p", "Every token counts alike: the mean of min(1, p / q) over the vocabulary.")
def mean_of_ratios(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    ratio = np.divide(target, draft, out=np.ones_like(target), where=draft > 0)
    return np.asarray(np.minimum(1.0, ratio).mean(axis=1))


@wrong(TASK, "overlap_of_q_and_p", "The tokens are drawn from the target and accepted with min(1, p / q).")
def drawn_from_target(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    ratio = np.divide(target, draft, out=np.ones_like(target), where=draft > 0)
    return np.asarray((target * np.minimum(1.0, ratio)).sum(axis=1))


@wrong(TASK, "overlap_of_q_and_p", "A half for every token: the distance is the mean difference.")
def mean_difference(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return np.asarray(1.0 - np.abs(draft - target).mean(axis=1))


@wrong(TASK, "overlap_of_q_and_p", "The likeness of two vectors is their cosine.")
def cosine(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return np.asarray((draft * target).sum(axis=1) / np.linalg.norm(draft, axis=1) / np.linalg.norm(target, axis=1))


@wrong(TASK, "overlap_of_q_and_p", "The differences may be added up as they are.")
def signs_kept(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return np.asarray(1.0 - 0.5 * (draft - target).sum(axis=1))


@wrong(TASK, "overlap_of_q_and_p", "A chance needs two decimals.")
def rounded(q: Any, p: Any) -> Chances:
    return np.round(_overlap(*_read(q, p)), 2)


# --- Wrong: positions ---------------------------------------------------------------------------------


@wrong(TASK, "one_number_a_position", "The sum over axis 0 is one number a position.")
def summed_over_positions(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return np.asarray(1.0 - 0.5 * np.abs(draft - target).sum(axis=0 if len(draft) > 1 else 1))


@wrong(TASK, "one_number_a_position", "The block has one label, the mean over its positions.")
def mean_over_positions(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return np.full(len(draft), _overlap(draft, target).mean())


@wrong(TASK, "one_number_a_position", "The label is the survival of the prefix, so the chances are multiplied.")
def multiplied_up(q: Any, p: Any) -> Chances:
    return np.asarray(np.cumprod(_overlap(*_read(q, p))))


@wrong(TASK, "one_number_a_position", "The draft of position k is compared with the target's next row.")
def target_one_row_late(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return _overlap(draft, np.roll(target, -1, axis=0))


@wrong(TASK, "one_number_a_position", "A sum without an axis adds up each row.")
def sum_without_axis(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return np.full(len(draft), 1.0 - 0.5 * np.abs(draft - target).sum() / len(draft))


# --- Wrong: zeros and extremes ------------------------------------------------------------------------


@wrong(TASK, "zeros_are_legal", "q · min(1, p / q) needs no care: NumPy divides by zero.")
def unguarded_ratio(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return np.asarray((draft * np.minimum(1.0, target / draft)).sum(axis=1))


@wrong(TASK, "zeros_are_legal", "A zero makes the logarithm fail, so a little is added everywhere.")
def smoothed(q: Any, p: Any) -> Chances:
    draft, target = (rows + 0.01 * (rows == 0.0) for rows in _read(q, p))
    return _overlap(draft, target)


@wrong(TASK, "zeros_are_legal", "A distribution must give every token a chance.")
def zeros_refused(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    if not (draft.all() and target.all()):
        raise ValueError("q and p must be positive.")
    return _overlap(draft, target)


@wrong(TASK, "from_zero_to_one", "A confidence of exactly 0 or 1 is never right, so the ends are clipped.")
def ends_clipped(q: Any, p: Any) -> Chances:
    return np.clip(_overlap(*_read(q, p)), 0.001, 0.999)


# --- Wrong: types, forms of the arguments, memory -----------------------------------------------------


@wrong(TASK, "plain_types", "A list passes for an array.")
def listed(q: Any, p: Any) -> Any:
    return _overlap(*_read(q, p)).tolist()


@wrong(TASK, "plain_types", "Single precision is enough for a chance.")
def single_precision(q: Any, p: Any) -> Any:
    return _overlap(*_read(q, p)).astype(np.float32)


@wrong(TASK, "lists_and_arrays", "q and p are arrays, which can be subtracted.")
def only_arrays(q: Any, p: Any) -> Chances:
    _read(q, p)
    return np.asarray(1.0 - 0.5 * np.abs(q - p).sum(axis=1))


@wrong(TASK, "lists_and_arrays", "An empty argument is false, and any other is true.")
def truth_of_rows(q: Any, p: Any) -> Chances:
    if not q or not p:
        raise ValueError("q or p is empty.")
    return _overlap(*_read(q, p))


@wrong(TASK, "no_memory", "A list in the signature is new in every call.")
def labels_pile_up(q: Any, p: Any, labels: list[float] = []) -> Chances:  # noqa: B006
    labels += _overlap(*_read(q, p)).tolist()
    return np.array(labels)


@wrong(TASK, "input_unchanged", "np.asarray gives a copy, so the difference may be taken where q stands.")
def subtracted_in_place(q: Any, p: Any) -> Chances:
    _read(q, p)
    rows = np.asarray(q, dtype=np.float64)
    rows -= np.asarray(p, dtype=np.float64)
    return np.asarray(1.0 - 0.5 * np.abs(rows).sum(axis=1))


# --- Wrong: bad input ---------------------------------------------------------------------------------


@wrong(TASK, "bad_input_raises", "Rows that do not sum to 1 are normalised.")
def normalised_first(q: Any, p: Any) -> Chances:
    rows = [np.abs(np.asarray(given, dtype=float)) for given in (q, p)]
    return _overlap(*_read(*(given / given.sum(axis=-1, keepdims=True) for given in rows)))


@wrong(TASK, "bad_input_raises", "Without checks NumPy says by itself what does not fit.")
def unchecked(q: Any, p: Any) -> Chances:
    return np.asarray(1.0 - 0.5 * np.abs(np.asarray(q) - np.asarray(p)).sum(axis=-1))


@wrong(TASK, "bad_input_raises", "Positions that only one of the two has are left out.")
def cut_to_the_shorter(q: Any, p: Any) -> Chances:
    size = min(len(q), len(p))
    return _overlap(*_read(q[:size], p[:size]))


@wrong(TASK, "bad_input_raises", "One row may stand for all of them, as NumPy broadcasts it.")
def broadcast(q: Any, p: Any) -> Chances:
    return _overlap(probability_rows("q", q), probability_rows("p", p))


@wrong(TASK, "error_names_offender", "It is enough to say that something is no distribution.")
def some_row_is_bad(q: Any, p: Any) -> Chances:
    try:
        return _overlap(*_read(q, p))
    except ValueError:
        raise ValueError("Some row of q or p is bad.") from None


@wrong(TASK, "error_names_offender", "People count from one, so the message does too.")
def counted_from_one(q: Any, p: Any) -> Chances:
    for name, rows in (("q", q), ("p", p)):
        for number, row in enumerate(rows, start=1):
            if np.ndim(row) == 1 and not abs(sum(row) - 1.0) < 1e-6:
                raise ValueError(f"{name} is bad in row {number}.")
    return _overlap(*_read(q, p))


# --- Right, in many styles ----------------------------------------------------------------------------


@right(TASK, "The overlap: the sum of the smaller of both numbers.")
def overlap(q: Any, p: Any) -> Chances:
    return _overlap(*_read(q, p))


@right(TASK, "Plain loops over positions and tokens.")
def plain_loops(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    labels = []
    for draft_row, target_row in zip(draft.tolist(), target.tolist()):
        total = 0.0
        for x, y in zip(draft_row, target_row):
            total += x if x < y else y
        labels.append(total)
    return np.array(labels)


@right(TASK, "What the target has too much of, as the residual of verification has it.")
def one_minus_residual(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    return np.asarray(1.0 - np.maximum(target - draft, 0.0).sum(axis=1))


@right(TASK, "The expected min(1, p / q) over tokens drawn from q, where q is positive; the division warns.")
def expected_ratio(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    warnings.warn("dividing", stacklevel=2)
    ratio = np.where(draft > 0.0, target / draft, 0.0)
    return np.asarray(np.einsum("kv,kv->k", draft, np.minimum(1.0, ratio)))


@right(TASK, "Exact sums by math.fsum, checks and messages of its own, and a print.")
def exact_sums(q: Any, p: Any) -> Chances:
    for name, rows in (("q", q), ("p", p)):
        if np.ndim(rows[0] if len(rows) else 0) != 1:
            raise ValueError(f"{name} is no matrix.")
        for k, row in enumerate(rows):
            if len(row) != len(rows[0]) or not min(row) >= 0.0 or not abs(math.fsum(row) - 1.0) <= 1e-6:
                raise ValueError(f"Row {k} of {name} is no distribution.")
    if len(q) != len(p) or len(q[0]) != len(p[0]):
        raise ValueError("q and p do not fit together.")
    print("checked")
    return np.array([1.0 - math.fsum(abs(x - y) for x, y in zip(a, b)) / 2 for a, b in zip(q, p)])


@right(TASK, "The larger of both numbers: what the union of the two has beyond 1 is their overlap.")
def two_minus_union(q: Any, p: Any) -> Chances:
    return np.asarray(2.0 - np.maximum(*_read(q, p)).sum(axis=1))


@right(TASK, "Fractions, made plain at the end; only for small vocabularies.")
def fractions(q: Any, p: Any) -> Chances:
    draft, target = _read(q, p)
    if draft.size > 5000:
        return _overlap(draft, target)
    rows = zip(draft.tolist(), target.tolist())
    return np.array([float(sum(min(Fraction(x), Fraction(y)) for x, y in zip(*pair))) for pair in rows])
