"""Variants of task 1.2: what learners write for acceptance_probability, wrong and right."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import check_same_length, number, probability_row, token_in
from grader.lessons.mutants import right, wrong

TASK = "1.2"
Row = NDArray[np.float64]


def _read(p: Any, q: Any, token: Any) -> tuple[Row, Row, int]:
    """Check the arguments as the top of the stub does."""
    target, draft = probability_row("p", p), probability_row("q", q)
    check_same_length("p", p, "q", q)
    x = token_in("token", token, target.size)
    if draft[x] == 0.0:
        raise ValueError(f"q[{x}] is 0, so token {x} cannot have been drafted.")
    return target, draft, x


# --- Wrong: another ratio ----------------------------------------------------------------------------


@wrong(TASK, "ratio_of_target_to_draft", "The draft stands above, for it is the draft that is judged.")
def ratio_inverted(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return float(min(1.0, draft[x] / target[x])) if target[x] else 0.0


@wrong(TASK, "ratio_of_target_to_draft", "A token is as good as its probability beside the target's best one.")
def divided_by_targets_max(p: Any, q: Any, token: int) -> float:
    target, _, x = _read(p, q, token)
    return float(target[x] / target.max())


@wrong(TASK, "ratio_of_target_to_draft", "The draft's largest probability bounds the ratio, as in textbooks.")
def divided_by_drafts_max(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return float(min(1.0, target[x] / draft.max()))


@wrong(TASK, "ratio_of_target_to_draft", "The target alone decides, so its probability is the answer.")
def target_probability(p: Any, q: Any, token: int) -> float:
    target, _, x = _read(p, q, token)
    return float(target[x])


@wrong(TASK, "ratio_of_target_to_draft", "Accept what the target finds at least as likely as the draft does, else not.")
def all_or_nothing(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return 1.0 if target[x] >= draft[x] else 0.0


@wrong(TASK, "ratio_of_target_to_draft", "The two share the token, so the smaller of their probabilities counts.")
def smaller_probability(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return float(min(target[x], draft[x]))


@wrong(TASK, "ratio_of_target_to_draft", "How far the rows agree in all is the chance of every token.")
def overlap_of_rows(p: Any, q: Any, token: int) -> float:
    target, draft, _ = _read(p, q, token)
    return float(np.minimum(target, draft).sum())


@wrong(TASK, "ratio_of_target_to_draft", "What the draft says too much is taken off 1.")
def one_minus_difference(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return float(min(1.0, 1.0 - (draft[x] - target[x])))


@wrong(TASK, "ratio_of_target_to_draft", "The share of the target in both probabilities is the chance.")
def share_of_both(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return float(min(1.0, target[x] / (target[x] + draft[x])))


@wrong(TASK, "ratio_of_target_to_draft", "p and q are logits, so a softmax comes first.")
def softmax_first(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    weights, others = np.exp(target), np.exp(draft)
    return float(min(1.0, (weights[x] / weights.sum()) / (others[x] / others.sum())))


@wrong(TASK, "ratio_of_target_to_draft", "Three decimals are enough for a probability.")
def rounded(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return round(float(min(1.0, target[x] / draft[x])), 3)


@wrong(TASK, "ratio_of_target_to_draft", "Token ids count from 1.")
def token_counted_from_one(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return float(min(1.0, target[x - 1] / draft[x - 1])) if draft[x - 1] else 1.0


@wrong(TASK, "ratio_of_target_to_draft", "A table of the examples' results is a solution.")
def results_by_heart(p: Any, q: Any, token: int) -> float:
    target, _, x = _read(p, q, token)
    return {0.2: 1 / 3, 0.5: 1.0, 0.25: 0.5}.get(float(target[x]), 1.0)


@wrong(TASK, "never_above_one", "The ratio is the answer.")
def not_capped(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return float(target[x] / draft[x])


@wrong(TASK, "never_above_one", "A ratio above 1 is turned round, so that it is a probability.")
def turned_round(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    ratio = float(target[x] / draft[x])
    return ratio if ratio <= 1.0 else 1.0 / ratio


@wrong(TASK, "edges", "A token that the target excludes still deserves a small chance.")
def never_quite_zero(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return (
        float(min(1.0, max(target[x], 1e-3) / draft[x])) if target[x] == 0.0 else float(min(1.0, target[x] / draft[x]))
    )


@wrong(TASK, "edges", "A draft that is sure of its token cannot be wrong.")
def sure_draft_accepted(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return 1.0 if draft[x] == 1.0 else float(min(1.0, target[x] / draft[x]))


@wrong(TASK, "small_probabilities_count", "A small number in the denominator keeps the division safe.")
def epsilon_below(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return float(min(1.0, target[x] / (draft[x] + 1e-10)))


@wrong(TASK, "small_probabilities_count", "Probabilities below a millionth are 0.")
def tiny_is_zero(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return float(min(1.0, target[x] / draft[x])) if target[x] > 1e-6 or draft[x] > 1e-6 else 0.0


# --- Wrong: types, forms of the arguments, memory, bad input ------------------------------------------


@wrong(TASK, "plain_types", "An array with one number in it is a number.")
def array_of_one(p: Any, q: Any, token: int) -> NDArray[np.float64]:
    target, draft, x = _read(p, q, token)
    return np.minimum(1.0, target[[x]] / draft[[x]]).reshape(())


@wrong(TASK, "lists_and_arrays", "p and q are arrays that divide entry by entry.")
def only_arrays(p: Any, q: Any, token: int) -> float:
    _read(p, q, token)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.minimum(1.0, (p / q)[token]))


_SEEN: dict[int, float] = {}


@wrong(TASK, "no_memory", "A token's chance need not be computed twice.")
def remembered_by_token(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return _SEEN.setdefault(x, float(min(1.0, target[x] / draft[x])))


@wrong(TASK, "input_unchanged", "The ratio may be written where p stands.")
def written_into_p(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    p[x] = float(min(1.0, target[x] / draft[x]))
    return float(p[x])


@wrong(TASK, "bad_input_raises", "Where q is 0 the target decides: 1 if it wants the token, else 0.")
def zero_draft_allowed(p: Any, q: Any, token: int) -> float:
    target, draft = probability_row("p", p), probability_row("q", q)
    check_same_length("p", p, "q", q)
    x = token_in("token", token, target.size)
    if draft[x] == 0.0:
        return float(target[x] > 0.0)
    return float(min(1.0, target[x] / draft[x]))


@wrong(TASK, "bad_input_raises", "Rows that do not sum to 1 are normalised.")
def normalised_first(p: Any, q: Any, token: int) -> float:
    target, draft = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    target, draft, x = _read(target / target.sum(), draft / draft.sum(), token)
    return float(min(1.0, target[x] / draft[x]))


@wrong(TASK, "bad_input_raises", "A negative token counts from the end, as an index does.")
def negative_token_wraps(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token + len(p) if -len(p) <= token < 0 else token)
    return float(min(1.0, target[x] / draft[x]))


@wrong(TASK, "error_names_offender", "Whoever reads the error knows what was wrong.")
def unnamed_error(p: Any, q: Any, token: int) -> float:
    try:
        target, draft, x = _read(p, q, token)
    except ValueError:
        raise ValueError("Wrong input!") from None
    return float(min(1.0, target[x] / draft[x]))


# --- Right, in many styles ---------------------------------------------------------------------------


@right(TASK, "In logarithms, as engines do it to avoid underflow.")
def in_logarithms(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    if target[x] == 0.0:
        return 0.0
    return math.exp(min(0.0, math.log(target[x]) - math.log(draft[x])))


@right(TASK, "Exact fractions, turned into a float at the end.")
def exact_fractions(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return float(min(Fraction(1), Fraction(float(target[x])) / Fraction(float(draft[x]))))


@right(TASK, "The overlap of both probabilities, divided by the draft's.")
def overlap_by_draft(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return float(np.minimum(target, draft)[x] / draft[x])


@right(TASK, "A comparison first, and a division only where it is needed; 1 is an int.")
def compare_first(p: Any, q: Any, token: int) -> float:
    target, draft, x = _read(p, q, token)
    return 1 if number("p", target[x]) >= draft[x] else target[x] / draft[x]


@right(TASK, "np.clip on a NumPy scalar, which np.float64 may stay.")
def clipped(p: Any, q: Any, token: int) -> Any:
    target, draft, x = _read(p, q, token)
    return np.clip(target[x] / draft[x], 0.0, 1.0)
