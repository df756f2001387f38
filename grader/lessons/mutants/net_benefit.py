"""Variants of task 0.3: what learners write for net_benefit, wrong and right."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from typing import Any

import numpy as np

from dspark_mini.inputs import number, numbers, unit_numbers, whole_number
from grader.lessons.mutants import right, wrong

TASK = "0.3"
Decision = dict[str, Any]


@dataclass
class Round:
    """The checked arguments of one call."""

    confidences: list[float]
    length: int
    draft: float
    times: list[float]
    target: float
    correction: float
    least: float

    def tau(self, length: int) -> float:
        return 1.0 + float(sum(accumulate(self.confidences[:length], mul)))

    def gain(self, length: int) -> float:
        return self.tau(length) * self.target / (self.draft + self.times[length] + self.correction) - 1.0

    @property
    def gains(self) -> list[float]:
        return [self.gain(length) for length in range(len(self.times))]


def read(confidences: Any, length: Any, draft: Any, times: Any, target: Any, correction: Any, least: Any) -> Round:
    """Check the arguments as the top of the stub does."""
    values = unit_numbers("confidences", confidences)
    current = whole_number("verify_length", length, low=0, high=values.size)
    draft = number("draft_time", draft, low=0.0)
    correction = number("correction_time", correction, low=0.0)
    verify = numbers("verify_times", times, low=0.0, above=draft + correction == 0.0)
    if verify.size != values.size + 1:
        raise ValueError(f"verify_times has {verify.size} entries, but needs {values.size + 1}.")
    target = number("target_time", target, low=0.0, above=True)
    return Round(values.tolist(), current, draft, verify.tolist(), target, correction, number("min_gain", least))


def decision(function: Callable[[Round], Any]) -> Callable[..., Any]:
    """Put the signature of the task and its checks in front of a decision about one round."""

    def net_benefit(
        confidences: Any,
        verify_length: Any,
        draft_time: Any,
        verify_times: Any,
        target_time: Any,
        correction_time: Any = 0.0,
        min_gain: Any = 0.0,
    ) -> Any:
        return function(
            read(confidences, verify_length, draft_time, verify_times, target_time, correction_time, min_gain)
        )

    net_benefit.__name__ = function.__name__
    return net_benefit


def told(word: str, length: int, gain: float, gains: list[float]) -> Decision:
    return {"decision": word, "verify_length": length, "gain": gain, "gains": gains}


def judged(case: Round, gains: list[float]) -> Decision:
    """Decide by some gains as the task says."""
    best = 1 + gains[1:].index(max(gains[1:]))
    if case.length >= 1 and gains[case.length] >= case.least:
        return told("accept", case.length, gains[case.length], gains)
    if gains[best] >= case.least:
        return told("tune", best, gains[best], gains)
    return told("reject", 0, 0.0, gains)


# --- Wrong: the word ----------------------------------------------------------------------------------------


@wrong(TASK, "keeps_what_pays", "The best length is always the one to take.")
@decision
def always_the_best(case: Round) -> Decision:
    gains = case.gains
    best = 1 + gains[1:].index(max(gains[1:]))
    if gains[best] < case.least:
        return told("reject", 0, 0.0, gains)
    return told("accept" if best == case.length else "tune", best, gains[best], gains)


@wrong(TASK, "keeps_what_pays", "Speculation pays when the accepted length exceeds 1, whatever it costs.")
@decision
def by_acceptance_alone(case: Round) -> Decision:
    gains = [case.tau(length) - 1.0 for length in range(len(case.times))]
    return judged(case, gains)


@wrong(TASK, "tunes_to_the_best_length", "Tuning goes to the first length that pays.")
@decision
def first_that_pays(case: Round) -> Decision:
    found = judged(case, case.gains)
    if found["decision"] == "tune":
        length = next(n for n in range(1, len(case.times)) if case.gain(n) >= case.least)
        return told("tune", length, case.gain(length), found["gains"])
    return found


@wrong(TASK, "tunes_to_the_best_length", "Tuning means one token fewer.")
@decision
def one_token_fewer(case: Round) -> Decision:
    found = judged(case, case.gains)
    if found["decision"] == "tune":
        length = max(case.length - 1, 1)
        return told("tune", length, case.gain(length), found["gains"])
    return found


@wrong(TASK, "tunes_to_the_best_length", "There is only yes and no: what does not pay is rejected.")
@decision
def no_tuning(case: Round) -> Decision:
    found = judged(case, case.gains)
    return told("reject", 0, 0.0, found["gains"]) if found["decision"] == "tune" else found


@wrong(TASK, "tunes_to_the_best_length", "The gain to report is that of the current length.")
@decision
def gain_of_the_current_length(case: Round) -> Decision:
    found = judged(case, case.gains)
    return found | {"gain": case.gain(case.length)} if found["decision"] == "tune" else found


@wrong(TASK, "tunes_to_the_best_length", "Only shorter lengths are tried, since the current one was too long.")
@decision
def only_shorter(case: Round) -> Decision:
    gains = case.gains
    if case.length >= 1 and gains[case.length] >= case.least:
        return told("accept", case.length, gains[case.length], gains)
    best = max(range(1, max(case.length, 1) + 1), key=lambda length: gains[length])
    return told("tune", best, gains[best], gains) if gains[best] >= case.least else told("reject", 0, 0.0, gains)


@wrong(TASK, "rejects_what_never_pays", "The least bad length is better than nothing.")
@decision
def never_rejects(case: Round) -> Decision:
    found = judged(case, case.gains)
    if found["decision"] != "reject":
        return found
    best = 1 + found["gains"][1:].index(max(found["gains"][1:]))
    return told("tune", best, found["gains"][best], found["gains"])


@wrong(TASK, "rejects_what_never_pays", "After a rejection the gain is that of verifying nothing.")
@decision
def gain_of_length_zero(case: Round) -> Decision:
    found = judged(case, case.gains)
    return found | {"gain": found["gains"][0]} if found["decision"] == "reject" else found


@wrong(TASK, "rejects_what_never_pays", "A rejection keeps the length for the next time.")
@decision
def length_kept(case: Round) -> Decision:
    found = judged(case, case.gains)
    return found | {"verify_length": case.length or 1} if found["decision"] == "reject" else found


@wrong(TASK, "rejects_what_never_pays", "Where nothing pays there is no evidence to give.")
@decision
def no_evidence_for_rejection(case: Round) -> Decision:
    found = judged(case, case.gains)
    return found | {"gains": []} if found["decision"] == "reject" else found


# --- Wrong: what is paid --------------------------------------------------------------------------------------


@wrong(TASK, "draft_and_correction_are_paid", "The caches take care of themselves.")
@decision
def correction_left_out(case: Round) -> Decision:
    return judged(case, Round(**(vars(case) | {"correction": 0.0})).gains)


@wrong(TASK, "draft_and_correction_are_paid", "With ℓ = 0 nothing is drafted, so its gain is 0.")
@decision
def length_zero_is_free(case: Round) -> Decision:
    return judged(case, [0.0, *case.gains[1:]])


@wrong(TASK, "draft_and_correction_are_paid", "With ℓ = 0 there is nothing to correct.")
@decision
def no_correction_at_zero(case: Round) -> Decision:
    first = case.target / (case.draft + case.times[0] or 1.0) - 1.0
    return judged(case, [first, *case.gains[1:]])


@wrong(TASK, "draft_and_correction_are_paid", "The draft costs one forward a token.")
@decision
def draft_for_each_token(case: Round) -> Decision:
    gains = []
    for length, time in enumerate(case.times):
        round_time = length * case.draft + time + case.correction
        gains.append(case.tau(length) * case.target / (round_time or 1.0) - 1.0)
    return judged(case, gains)


@wrong(TASK, "keeps_what_pays", "One verify time fits all lengths, that of the current one.")
@decision
def one_verify_time(case: Round) -> Decision:
    return judged(case, Round(**(vars(case) | {"times": [case.times[case.length]] * len(case.times)})).gains)


@wrong(TASK, "keeps_what_pays", "The first verify time belongs to one token.")
@decision
def times_shifted(case: Round) -> Decision:
    return judged(case, Round(**(vars(case) | {"times": [case.times[0], *case.times[:-1]]})).gains)


@wrong(TASK, "keeps_what_pays", "Each token adds its own confidence to the expected length.")
@decision
def confidences_added(case: Round) -> Decision:
    sums = [1.0, *accumulate(case.confidences, initial=1.0)][1:]
    costs = [case.draft + time + case.correction for time in case.times]
    return judged(case, [tau * case.target / cost - 1.0 for tau, cost in zip(sums, costs)])


@wrong(TASK, "keeps_what_pays", "The gains are speed-ups.")
@decision
def speedups_as_gains(case: Round) -> Decision:
    return judged(case, [gain + 1.0 for gain in case.gains])


@wrong(TASK, "keeps_what_pays", "The gains begin with ℓ = 1, as there is nothing to gain from none.")
@decision
def gains_from_one(case: Round) -> Decision:
    found = judged(case, case.gains)
    return found | {"gains": found["gains"][1:]}


# --- Wrong: equality, zero ------------------------------------------------------------------------------------


@wrong(TASK, "equal_is_enough_and_ties_are_small", "A gain must exceed min_gain.")
@decision
def strictly_more(case: Round) -> Decision:
    gains = case.gains
    best = 1 + gains[1:].index(max(gains[1:]))
    if case.length >= 1 and gains[case.length] > case.least:
        return told("accept", case.length, gains[case.length], gains)
    return told("tune", best, gains[best], gains) if gains[best] > case.least else told("reject", 0, 0.0, gains)


@wrong(TASK, "equal_is_enough_and_ties_are_small", "Of equal gains the longer one yields more tokens.")
@decision
def longest_of_equal(case: Round) -> Decision:
    found = judged(case, case.gains)
    if found["decision"] == "tune":
        found["verify_length"] = max(n for n in range(1, len(case.times)) if found["gains"][n] == found["gain"])
    return found


@wrong(TASK, "nothing_verified_is_never_accepted", "Zero is a length like any other.")
@decision
def zero_accepted(case: Round) -> Decision:
    gains = case.gains
    if gains[case.length] >= case.least:
        return told("accept", case.length, gains[case.length], gains)
    return judged(case, gains)


@wrong(TASK, "nothing_verified_is_never_accepted", "The search for the best length includes 0.")
@decision
def zero_among_the_best(case: Round) -> Decision:
    gains = case.gains
    if case.length >= 1 and gains[case.length] >= case.least:
        return told("accept", case.length, gains[case.length], gains)
    best = gains.index(max(gains))
    return told("tune", best, gains[best], gains) if gains[best] >= case.least else told("reject", 0, 0.0, gains)


@wrong(TASK, "nothing_verified_is_never_accepted", "Who verifies nothing now has been rejected before and stays so.")
@decision
def zero_stays_rejected(case: Round) -> Decision:
    return judged(case, case.gains) if case.length else told("reject", 0, 0.0, case.gains)


# --- Wrong: types, forms, memory, bad input -------------------------------------------------------------------


@wrong(TASK, "plain_types", "np.argmax returns an int.")
@decision
def numpy_length(case: Round) -> Decision:
    found = judged(case, case.gains)
    return found | {"verify_length": np.int64(found["verify_length"])}


@wrong(TASK, "plain_types", "An array of gains is a list of gains.")
@decision
def gains_in_an_array(case: Round) -> Decision:
    found = judged(case, case.gains)
    return found | {"gains": np.array(found["gains"])}


@wrong(TASK, "lists_and_arrays", "Times are arrays, which can be added to a number.")
def times_must_be_arrays(
    confidences: Any,
    verify_length: Any,
    draft_time: Any,
    verify_times: Any,
    target_time: Any,
    correction_time: Any = 0.0,
    min_gain: Any = 0.0,
) -> Decision:
    case = read(confidences, verify_length, draft_time, verify_times, target_time, correction_time, min_gain)
    costs = draft_time + verify_times + correction_time
    return judged(case, [case.tau(n) * target_time / float(cost) - 1.0 for n, cost in enumerate(costs)])


@wrong(TASK, "no_memory", "The gains of earlier rounds are a part of the evidence.")
@decision
def gains_pile_up(case: Round, seen: list[float] = []) -> Decision:  # noqa: B006
    seen.extend(case.gains)
    return judged(case, case.gains) | {"gains": list(seen)}


@wrong(TASK, "input_unchanged", "The costs can be added to the verify times where they stand.")
def costs_in_place(
    confidences: Any,
    verify_length: Any,
    draft_time: Any,
    verify_times: Any,
    target_time: Any,
    correction_time: Any = 0.0,
    min_gain: Any = 0.0,
) -> Decision:
    case = read(confidences, verify_length, draft_time, verify_times, target_time, correction_time, min_gain)
    for length in range(len(verify_times)):
        verify_times[length] += draft_time + correction_time
    return judged(case, case.gains)


@wrong(TASK, "bad_input_raises", "A missing time is the last one that there is.")
def last_time_repeated(
    confidences: Any,
    verify_length: Any,
    draft_time: Any,
    verify_times: Any,
    target_time: Any,
    correction_time: Any = 0.0,
    min_gain: Any = 0.0,
) -> Decision:
    times = [*verify_times, *[verify_times[-1]] * (1 + len(confidences) - len(verify_times))]
    case = read(confidences, verify_length, draft_time, times, target_time, correction_time, min_gain)
    return judged(case, case.gains)


@wrong(TASK, "bad_input_raises", "A current length beyond the block means the whole block.")
def length_clipped(
    confidences: Any,
    verify_length: Any,
    draft_time: Any,
    verify_times: Any,
    target_time: Any,
    correction_time: Any = 0.0,
    min_gain: Any = 0.0,
) -> Decision:
    length = min(max(verify_length, 0), len(confidences))
    case = read(confidences, length, draft_time, verify_times, target_time, correction_time, min_gain)
    return judged(case, case.gains)


@wrong(TASK, "error_names_offender", "Something is wrong with the round, and that is all there is to say.")
def bad_round(*args: Any, **kwargs: Any) -> Any:
    try:
        return in_words(*args, **kwargs)
    except ValueError:
        raise ValueError("This round makes no sense.") from None


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "The task in plain words, with lists and index(max()).")
@decision
def in_words(case: Round) -> Decision:
    return judged(case, case.gains)


@right(TASK, "NumPy throughout, made plain at the end.")
@decision
def with_numpy(case: Round) -> Decision:
    tau = np.cumprod(np.append(1.0, case.confidences)).cumsum()
    gains = tau * case.target / (np.array(case.times) + case.draft + case.correction) - 1
    best = int(np.argmax(gains[1:])) + 1
    for word, length in (("accept", case.length), ("tune", best)):
        if length and gains[length] >= case.least:
            return told(word, length, float(gains[length]), gains.tolist())
    return told("reject", 0, 0.0, list(gains))


@right(TASK, "The largest of pairs (gain, −length), and np.float64 where floats are wanted.")
@decision
def largest_pair(case: Round) -> Decision:
    gains = [np.float64(gain) for gain in case.gains]
    if case.length > 0 and not gains[case.length] < case.least:
        return told("accept", case.length, gains[case.length], list(gains))
    gain, negative = max((gain, -length) for length, gain in enumerate(gains) if length)
    if gain < case.least:
        return dict(gains=gains, gain=0, verify_length=0, decision="reject")
    return dict(gains=gains, gain=gain, verify_length=-negative, decision="tune")


@right(TASK, "Times a token instead of speed-ups, with output on every channel.")
@decision
def times_a_token(case: Round) -> Decision:
    print("deciding", file=sys.stderr)
    warnings.warn("A warning is no error.", UserWarning, stacklevel=1)
    survival, tau, gains = 1.0, 1.0, []
    for time, c in zip(case.times, [*case.confidences, 0.0]):
        gains.append(case.target * tau / (case.draft + time + case.correction) - 1.0)
        survival *= c
        tau += survival
    return judged(case, gains)
