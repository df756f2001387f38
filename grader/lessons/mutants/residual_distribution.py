"""Variants of task 1.3: what learners write for residual_distribution, wrong and right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import check_same_length, probability_row
from grader.lessons.mutants import right, wrong

TASK = "1.3"
Row = NDArray[np.float64]


def _read(p: Any, q: Any) -> tuple[Row, Row]:
    """Check the arguments as the top of the stub does."""
    target, draft = probability_row("p", p), probability_row("q", q)
    check_same_length("p", p, "q", q)
    return target, draft


def _normalised(weights: Row, otherwise: Row) -> Row:
    """Divide by the sum, or fall back where it is 0."""
    return weights / weights.sum() if weights.sum() > 0.0 else otherwise.copy()


# --- Wrong: another distribution ---------------------------------------------------------------------


@wrong(TASK, "surplus_normalised", "A rejected draft is replaced by what the target says, which is p.")
def target_itself(p: Any, q: Any) -> Row:
    return _read(p, q)[0].copy()


@wrong(TASK, "surplus_normalised", "The sign of the difference does not matter.")
def absolute_difference(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    return _normalised(np.abs(target - draft), target)


@wrong(TASK, "surplus_normalised", "What the draft says too much is the rest.")
def difference_turned_round(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    return _normalised(np.maximum(draft - target, 0.0), target)


@wrong(TASK, "surplus_normalised", "The excess is the answer; whoever draws from it can normalise it.")
def not_normalised(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    excess = np.maximum(target - draft, 0.0)
    return excess if excess.any() else target.copy()


@wrong(TASK, "surplus_normalised", "Normalising comes first, cutting off afterwards.")
def cut_after_normalising(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    if np.array_equal(target, draft):
        return target.copy()
    difference = target - draft
    row: Row = np.maximum(difference / np.abs(difference).sum(), 0.0)
    return row


@wrong(TASK, "surplus_normalised", "A softmax turns the differences into a distribution.")
def softmax_of_difference(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    if np.array_equal(target, draft):
        return target.copy()
    weights = np.exp(target - draft)
    row: Row = weights / weights.sum()
    return row


@wrong(TASK, "surplus_normalised", "What both have in common is left over.")
def overlap_normalised(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    return _normalised(np.minimum(target, draft), target)


@wrong(TASK, "surplus_normalised", "Shifting the differences until none is negative keeps their proportions.")
def shifted_up(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    difference = target - draft
    return _normalised(difference - difference.min(), target)


@wrong(TASK, "surplus_normalised", "Tokens that the draft overrates are left out of p, and the rest is normalised.")
def rest_of_target(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    return _normalised(np.where(target > draft, target, 0.0), target)


@wrong(TASK, "surplus_normalised", "A table of the examples' results is a solution.")
def results_by_heart(p: Any, q: Any) -> Row:
    target, _ = _read(p, q)
    known = {0.2: [0.75, 0.25, 0.0], 0.75: [0.0, 1.0], 0.25: [0.25, 0.5, 0.25]}
    return np.array(known.get(float(target[-1]), target))


@wrong(TASK, "every_surplus_counts", "The token that is missing most is the best replacement.")
def largest_surplus_alone(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    if np.array_equal(target, draft):
        return target.copy()
    row: Row = np.eye(target.size)[(target - draft).argmax()]
    return row


@wrong(TASK, "every_surplus_counts", "All tokens with an excess are equally good.")
def uniform_over_surplus(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    return _normalised((target > draft).astype(float), target)


@wrong(TASK, "every_surplus_counts", "The excess is weighed by p, since the target should say what is likely.")
def surplus_weighed_by_target(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    return _normalised(np.maximum(target - draft, 0.0) * target, target)


@wrong(TASK, "equal_rows_return_target", "0 divided by 0 sorts itself out.")
def division_by_zero(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    excess = np.maximum(target - draft, 0.0)
    with np.errstate(invalid="ignore"):
        quotient: Row = excess / excess.sum()
    return quotient


@wrong(TASK, "equal_rows_return_target", "If nothing is missing, nothing is returned: a row of zeros.")
def zeros_if_equal(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    excess = np.maximum(target - draft, 0.0)
    row: Row = excess / max(excess.sum(), 1e-300)
    return row


@wrong(TASK, "equal_rows_return_target", "If nothing is missing, every token is as good as any other.")
def uniform_if_equal(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    return _normalised(np.maximum(target - draft, 0.0), np.full(target.size, 1.0 / target.size))


@wrong(TASK, "disjoint_rows", "Rows with nothing in common cannot be compared.")
def disjoint_refused(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    if not np.minimum(target, draft).any():
        raise ValueError("p and q have no token in common.")
    return _normalised(np.maximum(target - draft, 0.0), target)


@wrong(TASK, "disjoint_rows", "A token that the draft cannot draw is no replacement.")
def undrafted_left_out(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    return _normalised(np.where(draft > 0.0, np.maximum(target - draft, 0.0), 0.0), draft)


@wrong(TASK, "tiny_surplus_normalised", "Rows that np.allclose finds equal are equal.")
def almost_equal_is_equal(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    return target.copy() if np.allclose(target, draft) else _normalised(np.maximum(target - draft, 0.0), target)


@wrong(TASK, "tiny_surplus_normalised", "A small number in the denominator keeps the division safe.")
def epsilon_below(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    excess = np.maximum(target - draft, 0.0)
    return excess / (excess.sum() + 1e-12) if excess.any() else target.copy()


# --- Wrong: types, forms of the arguments, memory, bad input ------------------------------------------


@wrong(TASK, "plain_types", "A list of floats passes for an array.")
def residual_as_list(p: Any, q: Any) -> list[float]:
    target, draft = _read(p, q)
    row: list[float] = _normalised(np.maximum(target - draft, 0.0), target).tolist()
    return row


@wrong(TASK, "plain_types", "Half the digits are enough to draw from.")
def single_precision(p: Any, q: Any) -> NDArray[np.float32]:
    target, draft = _read(p, q)
    return _normalised(np.maximum(target - draft, 0.0), target).astype(np.float32)


@wrong(TASK, "lists_and_arrays", "p and q are arrays that can be subtracted.")
def only_arrays(p: Any, q: Any) -> Row:
    target, _ = _read(p, q)
    return _normalised(np.maximum(p - q, 0.0), target)


_EXCESS = np.zeros(4096)


@wrong(TASK, "no_memory", "One array for the excess, made once, saves time.")
def largest_excess_kept(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    excess = _EXCESS[: target.size]
    np.maximum(excess, target - draft, out=excess)
    return _normalised(excess, target)


_RESIDUALS: dict[int, Row] = {}


@wrong(TASK, "no_memory", "Whoever needs a residual uses it before the next one is made, so one array will do.")
def one_array_for_all(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    residual = _RESIDUALS.setdefault(target.size, np.empty(target.size))
    residual[:] = _normalised(np.maximum(target - draft, 0.0), target)
    return residual


@wrong(TASK, "input_unchanged", "q may be taken off p where it stands.")
def subtracted_in_place(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    before = target.copy()
    excess = np.maximum(target - draft, 0.0)
    for token, value in enumerate(excess):
        p[token] = value
    return _normalised(excess, before)


@wrong(TASK, "bad_input_raises", "Rows that do not sum to 1 are normalised.")
def normalised_first(p: Any, q: Any) -> Row:
    target, draft = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    target, draft = _read(target / target.sum(), draft / draft.sum())
    return _normalised(np.maximum(target - draft, 0.0), target)


@wrong(TASK, "bad_input_raises", "Tokens that one of the rows lacks have probability 0 there.")
def shorter_row_padded(p: Any, q: Any) -> Row:
    target, draft = probability_row("p", p), probability_row("q", q)
    size = max(target.size, draft.size)
    target, draft = np.pad(target, (0, size - target.size)), np.pad(draft, (0, size - draft.size))
    return _normalised(np.maximum(target - draft, 0.0), target)


@wrong(TASK, "error_names_offender", "Whoever reads the error knows what was wrong.")
def unnamed_error(p: Any, q: Any) -> Row:
    try:
        target, draft = _read(p, q)
    except ValueError:
        raise ValueError("Wrong input!") from None
    return _normalised(np.maximum(target - draft, 0.0), target)


# --- Right, in many styles ---------------------------------------------------------------------------


@right(TASK, "What p keeps beyond the overlap of both.")
def beyond_the_overlap(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    missing = target - np.minimum(target, draft)
    return missing / missing.sum() if missing.any() else np.array(target)


@right(TASK, "Plain Python, number by number.")
def number_by_number(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    missing = [max(float(a) - float(b), 0.0) for a, b in zip(target, draft)]
    total = sum(missing)
    return np.array([m / total for m in missing] if total else [float(a) for a in target])


@right(TASK, "np.clip, with the fallback first.")
def fallback_first(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    if (target <= draft).all():
        return target + 0.0
    excess = np.clip(target - draft, 0.0, None)
    return excess / np.linalg.norm(excess, 1)


@right(TASK, "The difference times the mask of where it is positive, in long doubles.")
def masked_difference(p: Any, q: Any) -> Row:
    target, draft = _read(p, q)
    difference = target.astype(np.longdouble) - draft.astype(np.longdouble)
    excess = difference * (difference > 0)
    total = np.add.reduce(excess)
    return (excess / total if total > 0 else target.astype(np.longdouble)).astype(np.float64)
