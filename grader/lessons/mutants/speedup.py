"""Variants of task 0.2: what learners write for speedup, wrong and right."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from dspark_mini.inputs import number
from grader.lessons.mutants import right, wrong

TASK = "0.2"


def read(tau: Any, draft: Any, verify: Any, target: Any, correction: Any) -> tuple[float, float, float, float, float]:
    """Check the arguments as the top of the stub does."""
    checked = (
        number("accepted_length", tau, low=1.0),
        number("draft_time", draft, low=0.0),
        number("verify_time", verify, low=0.0),
        number("target_time", target, low=0.0, above=True),
        number("correction_time", correction, low=0.0),
    )
    if not any((checked[1], checked[2], checked[4])):
        raise ValueError("draft_time, verify_time and correction_time are all 0.")
    return checked


def formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """Put the signature of the task and its checks in front of a formula of five numbers."""

    def speedup(
        accepted_length: Any, draft_time: Any, verify_time: Any, target_time: Any, correction_time: Any = 0.0
    ) -> Any:
        return function(*read(accepted_length, draft_time, verify_time, target_time, correction_time))

    speedup.__name__ = function.__name__
    return speedup


# --- Wrong: the formula -------------------------------------------------------------------------------------


@wrong(TASK, "tokens_of_a_round_over_its_time", "A speed-up is the new time divided by the old one.")
@formula
def upside_down(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return (draft + verify + correction) / (tau * target)


@wrong(TASK, "tokens_of_a_round_over_its_time", "One round replaces one step of the target.")
@formula
def one_token_a_round(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return target / (draft + verify + correction)


@wrong(TASK, "tokens_of_a_round_over_its_time", "Verifying is the work of the target, and only drafting is extra.")
@formula
def verification_is_free(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return tau * target / (draft + correction) if draft + correction else math.inf


@wrong(TASK, "tokens_of_a_round_over_its_time", "The drafter is small, so its time does not matter.")
@formula
def draft_is_free(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return tau * target / (verify + correction) if verify + correction else math.inf


@wrong(TASK, "tokens_of_a_round_over_its_time", "The draft is made once for each accepted token.")
@formula
def draft_for_each_token(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return tau * target / (tau * draft + verify + correction)


@wrong(TASK, "tokens_of_a_round_over_its_time", "The accepted length leaves out the target's own token, so add it.")
@formula
def one_more_token(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return (tau + 1.0) * target / (draft + verify + correction)


@wrong(TASK, "tokens_of_a_round_over_its_time", "Draft and verification run side by side, so the longer one counts.")
@formula
def side_by_side(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return tau * target / (max(draft, verify) + correction)


@wrong(TASK, "tokens_of_a_round_over_its_time", "A speed-up of 1.5 is a gain of 0.5, which is what is asked for.")
@formula
def gain_instead(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return tau * target / (draft + verify + correction) - 1.0


@wrong(TASK, "tokens_of_a_round_over_its_time", "The target has to run as well, so its step is part of the round.")
@formula
def target_step_added(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return tau * target / (draft + verify + target + correction)


# --- Wrong: correction, losses, free parts --------------------------------------------------------------------


@wrong(TASK, "correction_counts", "Rolling a cache back is a pointer that moves: it costs nothing.")
@formula
def correction_left_out(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return tau * target / (draft + verify) if draft + verify else 1.0


@wrong(TASK, "correction_counts", "Correction is needed for each token that was accepted.")
@formula
def correction_for_each_token(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return tau * target / (draft + verify + tau * correction)


@wrong(TASK, "correction_counts", "Plain decoding has to be corrected too, so it stands on both sides.")
@formula
def correction_on_both_sides(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return tau * (target + correction) / (draft + verify + correction)


@wrong(TASK, "correction_counts", "Correcting the cache saves the time of computing it anew.")
@formula
def correction_subtracted(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return tau * target / (abs(draft + verify - correction) or 1.0)


@wrong(TASK, "losses_are_told", "Who is slower can always decode plainly, so it is never below 1.")
@formula
def never_below_one(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return max(1.0, tau * target / (draft + verify + correction))


@wrong(TASK, "losses_are_told", "Nobody needs more than two decimals.")
@formula
def two_decimals(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return round(tau * target / (draft + verify + correction), 2)


@wrong(TASK, "losses_are_told", "A little is added to the denominator, so that it is never 0.")
@formula
def denominator_padded(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return tau * target / (draft + verify + correction + 1e-6)


@wrong(TASK, "free_parts", "Every part of a round takes time, so each must be above 0.")
@formula
def no_free_parts(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    if draft == 0.0 or verify == 0.0:
        raise ValueError("draft_time and verify_time must be above 0.")
    return tau * target / (draft + verify + correction)


@wrong(TASK, "free_parts", "Each part has a speed of its own, target_time divided by its time.")
@formula
def speeds_of_the_parts(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    speeds = [target / draft, target / verify] + ([target / correction] if correction else [])
    return tau / sum(1.0 / speed for speed in speeds)


# --- Wrong: types, forms, memory, bad input -----------------------------------------------------------------


@wrong(TASK, "plain_types", "NumPy numbers of single precision are numbers.")
@formula
def single_precision(tau: float, draft: float, verify: float, target: float, correction: float) -> Any:
    return np.float32(tau * target / (draft + verify + correction))


@wrong(TASK, "plain_types", "An array without a dimension is a number.")
@formula
def array_without_dimension(tau: float, draft: float, verify: float, target: float, correction: float) -> Any:
    return np.array(tau * target / (draft + verify + correction))


@wrong(TASK, "no_memory", "The best speed-up so far is the one to report.")
@formula
def best_so_far(
    tau: float,
    draft: float,
    verify: float,
    target: float,
    correction: float,
    seen: list[float] = [],  # noqa: B006
) -> float:
    seen.append(tau * target / (draft + verify + correction))
    return max(seen)


@wrong(TASK, "bad_input_raises", "A round without time is infinitely fast.")
def infinitely_fast(
    accepted_length: Any, draft_time: Any, verify_time: Any, target_time: Any, correction_time: Any = 0.0
) -> float:
    if not (draft_time or verify_time or correction_time):
        return math.inf
    values = read(accepted_length, draft_time, verify_time, target_time, correction_time)
    return values[0] * values[3] / (values[1] + values[2] + values[4])


@wrong(TASK, "bad_input_raises", "A length below 1 is a bad drafter, no bad input.")
def short_lengths_allowed(
    accepted_length: Any, draft_time: Any, verify_time: Any, target_time: Any, correction_time: Any = 0.0
) -> float:
    values = read(1.0, draft_time, verify_time, target_time, correction_time)
    return float(accepted_length) * values[3] / (values[1] + values[2] + values[4])


@wrong(TASK, "error_names_offender", "A time is a time, whichever it is.")
def times_not_named(
    accepted_length: Any, draft_time: Any, verify_time: Any, target_time: Any, correction_time: Any = 0.0
) -> float:
    try:
        values = read(accepted_length, draft_time, verify_time, target_time, correction_time)
    except ValueError:
        raise ValueError("A length or a time is out of its range.") from None
    return values[0] * values[3] / (values[1] + values[2] + values[4])


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "The formula as it stands in the text.")
@formula
def as_in_the_text(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return tau * target / (draft + verify + correction)


@right(TASK, "Time a token of both ways, and their ratio.")
@formula
def times_a_token(tau: float, draft: float, verify: float, target: float, correction: float) -> float:
    return target / ((draft + verify + correction) / tau)


@right(TASK, "Exact fractions, which become a float at the end.")
@formula
def fractions(*values: float) -> float:
    tau, draft, verify, target, correction = map(Fraction, values)
    return float(tau * target / (draft + verify + correction))


@right(TASK, "NumPy scalars throughout, and everything is said aloud.")
@formula
def numpy_scalars(*values: float) -> Any:
    print("a round", file=sys.stderr)
    warnings.warn("A warning is no error.", UserWarning, stacklevel=1)
    given = np.array(values)
    return given[0] * given[3] / given[[1, 2, 4]].sum()


@right(TASK, "A signature that takes anything, and checks of its own.")
def own_checks(*args: Any, **kwargs: Any) -> float:
    names = ("accepted_length", "draft_time", "verify_time", "target_time", "correction_time")
    given = {"correction_time": 0.0, **dict(zip(names, args)), **kwargs}
    for name, value in given.items():
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{name} is {value}, which cannot be.")
    if given["accepted_length"] < 1:
        raise ValueError("accepted_length is too small.")
    if given["target_time"] == 0:
        raise ValueError("target_time is zero.")
    total = given["draft_time"] + given["verify_time"] + given["correction_time"]
    if total == 0:
        raise ValueError("draft_time and verify_time leave no time for the round.")
    return float(given["accepted_length"] / total * given["target_time"])
