"""Lesson 00, the economics of speculation: what its tasks must satisfy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.check.judges import Bad, Example, Values
from grader.lessons.tasks import Property, Task, manners
from grader.run.child.calling import Call, call

LESSON = "00_why_speculate"
NAN, INF = math.nan, math.inf
Rng = np.random.Generator

# --- Task 0.1: expected_accepted_length --------------------------------------------------------------

LENGTH = (
    Example(call([0.5, 0.5]), 1.75),
    Example(call([0.5, 0.5], 1), 1.5),
    Example(call([0.75, 0.5, 0.25], verify_length=2), 2.125),
)
LENGTH_BAD = (
    Bad(call([0.5, 0.25, 1.5]), "confidences", 2, "1.5 is no chance"),
    Bad(call([0.5, 0.25], 3), "verify_length", None, "there are only two tokens to verify"),
)
LENGTH_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
LENGTH_BAD_HIDDEN = (
    Bad(call([0.5, 0.5, 0.5, NAN]), "confidences", 3, "position 3 is NaN"),
    Bad(call([0.5, 0.5, -0.5, 0.5], 3), "confidences", 2, "−0.5 is no chance"),
    Bad(call([0.5, 0.5, INF]), "confidences", 2, "infinity is no chance"),
    Bad(call([[0.5, 0.5]]), "confidences", None, "it is a matrix"),
    Bad(call([0.5, 0.5], -1), "verify_length", None, "a negative number of tokens"),
    Bad(call([], 1), "verify_length", None, "there is no token to verify"),
)


def whole_blocks(rng: Rng) -> Iterator[Call]:
    for size in range(1, 13):
        yield call(rng.uniform(0.2, 1.0, size=size))
        yield call(rng.uniform(0.5, 1.0, size=size), None)
    yield call([0.8] * 7)


def cut_blocks(rng: Rng) -> Iterator[Call]:
    for size in range(1, 8):
        confidences = rng.uniform(0.2, 1.0, size=size)
        for length in range(size + 1):
            yield call(confidences, length)
    yield call([0.5, 0.75, 0.25], verify_length=0)


def certain_blocks(rng: Rng) -> Iterator[Call]:
    """Only 0 and 1: the expected length is a whole number."""
    for _ in range(30):
        size = int(rng.integers(1, 9))
        yield call(rng.choice([0.0, 1.0], p=[0.25, 0.75], size=size), int(rng.integers(0, size + 1)))
    yield call([1.0, 0.0, 1.0, 1.0])


def nothing_to_verify(rng: Rng) -> Iterator[Call]:
    yield call([])
    yield call([], 0)
    yield call([], None)
    yield call([1.0, 1.0], 0)


def longest_block(rng: Rng) -> Iterator[Call]:
    yield call(rng.uniform(0.9, 1.0, size=64))


### END HIDDEN TESTS


TASK_0_1 = Task(
    id="0.1",
    lesson=LESSON,
    module="dspark_mini.economics",
    function="expected_accepted_length",
    todo="add to the one sure token the chances of the draft tokens to survive",
    hints=(
        "The expected number of accepted tokens is a sum of chances, one for each token that is verified: the chance "
        "that this token, and so every token before it, is accepted. One more token comes from the target in any case.",
        "The chance that token j is reached and accepted is the product of the first j confidences. np.cumprod gives "
        "all of these products at once; cut the confidences to verify_length first.",
        "survival = cumulative products of the first verify_length confidences\n"
        "return 1 + the sum of survival, as a plain float",
    ),
    properties=(
        Property(
            "one_plus_the_survivals",
            "τ is 1 plus the chances that the first, the first two, the first three … tokens are all accepted.",
            3,
            "Add products and not confidences: token 2 counts with c_1 · c_2. The 1 is the target's own token.",
            Values(
                examples=LENGTH[:1],
                ### BEGIN HIDDEN TESTS
                hidden=whole_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "verify_length_cuts",
            "Only the first verify_length tokens count; None means all of them.",
            2,
            "Cut the confidences to [:verify_length]. A verify_length of 0 is not None: then nothing is verified.",
            Values(
                examples=LENGTH[1:],
                ### BEGIN HIDDEN TESTS
                hidden=cut_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "certain_and_hopeless_tokens",
            "A confidence of 1 costs nothing, and behind one of 0 nothing survives.",
            1,
            "Multiply along the block; a 0 stays 0 for all that comes behind it.",
            Values(
                examples=(Example(call([1.0, 1.0, 0.0, 1.0]), 3.0),),
                ### BEGIN HIDDEN TESTS
                hidden=certain_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "nothing_verified_is_one",
            "Without a verified token a round still yields one: the target's own.",
            1,
            "An empty sum is 0, so the answer is 1.0, not an error.",
            Values(
                examples=(Example(call([]), 1.0),),
                ### BEGIN HIDDEN TESTS
                hidden=nothing_to_verify,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("one plain float", LENGTH, LENGTH_BAD, LENGTH_BAD_HIDDEN),
        Property(
            "long_block_in_time",
            "64 confidences take well under 2 s.",
            1,
            "One running product is enough.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=longest_block,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 0.2: speedup -------------------------------------------------------------------------------

SPEEDUP = (
    Example(call(3.0, 0.5, 1.25, 1.0, 0.25), 1.5),
    Example(call(3.0, 0.5, 1.0, 1.0), 2.0),
    Example(call(2.0, 6.0, 8.0, 4.0, correction_time=2.0), 0.5),
)
SPEEDUP_BAD = (
    Bad(call(0.5, 1.0, 1.0, 1.0), "accepted_length", None, "a round yields at least one token"),
    Bad(call(2.0, 1.0, 1.0, 0.0), "target_time", None, "a step of the target takes time"),
)
SPEEDUP_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
SPEEDUP_BAD_HIDDEN = (
    Bad(call(NAN, 1.0, 1.0, 1.0), "accepted_length", None, "the length is NaN"),
    Bad(call(INF, 1.0, 1.0, 1.0), "accepted_length", None, "the length is infinite"),
    Bad(call(2.0, -1.0, 2.0, 1.0), "draft_time", None, "a negative time"),
    Bad(call(2.0, NAN, 2.0, 1.0), "draft_time", None, "a time is NaN"),
    Bad(call(2.0, 2.0, -1.0, 1.0), "verify_time", None, "a negative time"),
    Bad(call(2.0, 1.0, INF, 1.0), "verify_time", None, "an infinite time"),
    Bad(call(2.0, 1.0, 1.0, -1.0), "target_time", None, "a negative time"),
    Bad(call(2.0, 1.0, 1.0, NAN), "target_time", None, "a time is NaN"),
    Bad(call(2.0, 1.0, 1.0, INF), "target_time", None, "an infinite time"),
    Bad(call(2.0, 1.0, 1.0, 1.0, -0.5), "correction_time", None, "a negative time"),
    Bad(call(2.0, 1.0, 1.0, 1.0, NAN), "correction_time", None, "a time is NaN"),
    Bad(
        call(2.0, 0.0, 0.0, 1.0),
        ("draft_time", "verify_time", "correction_time"),
        None,
        "the round takes no time at all",
    ),
)


def rounds(rng: Rng, corrected: bool) -> Iterator[Call]:
    for _ in range(30):
        times = rng.uniform(0.1, 20.0, size=3)
        more = [float(rng.uniform(0.1, 20.0))] if corrected else []
        yield call(float(rng.uniform(1.0, 8.0)), *map(float, times), *more)


def plain_rounds(rng: Rng) -> Iterator[Call]:
    yield from rounds(rng, corrected=False)


def corrected_rounds(rng: Rng) -> Iterator[Call]:
    yield from rounds(rng, corrected=True)
    yield call(accepted_length=2.5, draft_time=1.0, verify_time=4.0, target_time=3.0, correction_time=2.0)


def slow_rounds(rng: Rng) -> Iterator[Call]:
    """Rounds that are slower than plain decoding, in units from microseconds to hours."""
    for unit in (1e-6, 1e-3, 1.0, 3600.0):
        for _ in range(5):
            draft, verify, correct = rng.uniform(2.0, 9.0, size=3) * unit
            yield call(float(rng.uniform(1.0, 2.0)), float(draft), float(verify), unit, float(correct))


def free_parts(rng: Rng) -> Iterator[Call]:
    yield call(2.5, 0.0, 2.0, 1.0)
    yield call(2.5, 2.0, 0.0, 1.0)
    yield call(2.5, 0.0, 0.0, 1.0, 2.0)
    yield call(1.0, 0.0, 4.0, 4.0, 0.0)
    yield call(1, 1, 2, 3, 0)


### END HIDDEN TESTS


TASK_0_2 = Task(
    id="0.2",
    lesson=LESSON,
    module="dspark_mini.economics",
    function="speedup",
    todo="divide the time that plain decoding takes for these tokens by the time of the round",
    hints=(
        "Compare two times for the same tokens: what plain decoding needs for accepted_length tokens, and what one "
        "round of speculative decoding needs, all of its parts counted.",
        "Plain decoding takes accepted_length · target_time. A round drafts, verifies and corrects, one after the "
        "other. The speed-up is the first divided by the second; it may well be below 1.",
        "round_time = draft_time + verify_time + correction_time\nreturn accepted_length · target_time / round_time",
    ),
    properties=(
        Property(
            "tokens_of_a_round_over_its_time",
            "The speed-up is accepted_length · target_time / (draft_time + verify_time).",
            3,
            "The plain time of these tokens, accepted_length · target_time, stands above, the round's time below. "
            "Nothing is added to the tokens, and nothing taken off the ratio.",
            Values(
                examples=SPEEDUP[1:2],
                ### BEGIN HIDDEN TESTS
                hidden=plain_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "correction_counts",
            "The time of correction is part of the round, like drafting and verifying.",
            2,
            "Add correction_time to the denominator; its default is 0.",
            Values(
                examples=SPEEDUP[:1],
                ### BEGIN HIDDEN TESTS
                hidden=corrected_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "losses_are_told",
            "A round that is slower than plain decoding has a speed-up below 1, in any unit of time.",
            1,
            "Multiply the tokens by target_time, and return the ratio as it is: not raised to 1, and not rounded.",
            Values(
                examples=SPEEDUP[2:],
                ### BEGIN HIDDEN TESTS
                hidden=slow_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "free_parts",
            "Some of the times may be 0, as long as the round takes time.",
            1,
            "Divide by the sum only; a draft_time of 0 is a drafter that costs nothing.",
            Values(
                examples=(Example(call(2.0, 0.0, 1.0, 1.0), 2.0),),
                ### BEGIN HIDDEN TESTS
                hidden=free_parts,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("one plain float", SPEEDUP, SPEEDUP_BAD, SPEEDUP_BAD_HIDDEN),
    ),
)

# --- Task 0.3: net_benefit ---------------------------------------------------------------------------

# With these, τ is 1, 1.5, 1.75 and a round without correction takes 1, 1, 1.25.
SMALL = ([0.5, 0.5], 0.25, [0.75, 0.75, 1.0], 1.0)


def small(verify_length: int, **more: float) -> Call:
    """The small case of the notebook with another current length, correction or least gain."""
    confidences, draft, times, target = SMALL
    return call(list(confidences), verify_length, draft, list(times), target, **more)


def decided(decision: str, verify_length: int, gain: float, gains: list[float]) -> dict[str, Any]:
    return {"decision": decision, "verify_length": verify_length, "gain": gain, "gains": gains}


GAINS = [0.0, 0.5, 0.4]
BENEFIT = (
    Example(small(2), decided("accept", 2, 0.4, GAINS)),
    Example(small(2, min_gain=0.45), decided("tune", 1, 0.5, GAINS)),
    Example(small(2, correction_time=1.0), decided("reject", 0, 0.0, [-0.5, -0.25, -2.0 / 9.0])),
)
BENEFIT_BAD = (
    Bad(call([0.5, 0.25, 1.5], 1, 0.25, [1.0] * 4, 1.0), "confidences", 2, "1.5 is no chance"),
    Bad(call([0.5, 0.5], 1, 0.25, [1.0, 1.0], 1.0), "verify_times", None, "there is no time for ℓ = 2"),
)
BENEFIT_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
BENEFIT_BAD_HIDDEN = (
    Bad(call([0.5, 0.5, NAN], 1, 0.25, [1.0] * 4, 1.0), "confidences", 2, "position 2 is NaN"),
    Bad(call([], 0, 0.25, [1.0], 1.0), "confidences", None, "there is no draft"),
    Bad(call([0.5, 0.5], 3, 0.25, [1.0] * 3, 1.0), "verify_length", None, "3 tokens of 2"),
    Bad(call([0.5, 0.5], -1, 0.25, [1.0] * 3, 1.0), "verify_length", None, "a negative number of tokens"),
    Bad(call([0.5, 0.5], 1, -0.25, [1.0] * 3, 1.0), "draft_time", None, "a negative time"),
    Bad(call([0.5, 0.5], 1, NAN, [1.0] * 3, 1.0), "draft_time", None, "a time is NaN"),
    Bad(call([0.5, 0.5], 1, 0.25, [1.0, 1.0, -1.0], 1.0), "verify_times", 2, "a negative time"),
    Bad(call([0.5, 0.5, 0.5], 0, 0.25, [1.0, 1.0, 1.0, INF], 1.0), "verify_times", 3, "an infinite time"),
    Bad(call([0.5, 0.5], 1, 0.25, [], 1.0), "verify_times", None, "there are no times"),
    Bad(call([0.5, 0.5], 1, 0.25, [1.0] * 3, 0.0), "target_time", None, "a step of the target takes time"),
    Bad(call([0.5, 0.5], 1, 0.25, [1.0] * 3, INF), "target_time", None, "an infinite time"),
    Bad(call([0.5, 0.5], 1, 0.25, [1.0] * 3, 1.0, -1.0), "correction_time", None, "a negative time"),
    Bad(call([0.5, 0.5], 1, 0.25, [1.0] * 3, 1.0, 0.0, NAN), "min_gain", None, "the least gain is NaN"),
    Bad(
        call([0.5, 0.5], 1, 0.0, [0.0, 1.0, 1.0], 1.0),
        ("verify_times", "draft_time", "correction_time"),
        None,
        "a round with ℓ = 0 takes no time at all",
    ),
)


def random_round(rng: Rng) -> tuple[Call, str]:
    """A round with a clear decision, and that decision."""
    while True:
        gamma = int(rng.integers(1, 9))
        confidences = rng.uniform(0.2, 0.97, size=gamma)
        draft, correction = rng.uniform(0.02, 1.2), float(rng.choice([0.0, rng.uniform(0.05, 0.8)]))
        times = rng.uniform(0.8, 1.3) + rng.uniform(0.0, 0.4) * np.arange(gamma + 1) + rng.uniform(0, 0.3, gamma + 1)
        unit, least, current = (
            rng.uniform(0.5, 30.0),
            float(rng.choice([0.0, 0.1, 0.35])),
            int(rng.integers(0, gamma + 1)),
        )
        gains = (1 + np.append(0, np.cumsum(np.cumprod(confidences)))) / (draft + times + correction) - 1
        ranked = np.sort(gains[1:])[::-1]
        if (abs(gains - least) < 1e-6).any() or (gamma > 1 and ranked[0] - ranked[1] < 1e-6):
            continue
        kept = current >= 1 and gains[current] >= least
        decision = "accept" if kept else "tune" if ranked[0] >= least else "reject"
        arguments = (confidences, current, float(draft * unit), times * unit, float(unit), correction * unit, least)
        return call(*arguments), decision


def rounds_with(rng: Rng, decision: str, count: int = 20) -> Iterator[Call]:
    while count:
        made, found = random_round(rng)
        if found == decision:
            count -= 1
            yield made


def accepts(rng: Rng) -> Iterator[Call]:
    yield from rounds_with(rng, "accept")


def tunes(rng: Rng) -> Iterator[Call]:
    yield from rounds_with(rng, "tune")


def rejects(rng: Rng) -> Iterator[Call]:
    yield from rounds_with(rng, "reject")


def corrections(rng: Rng) -> Iterator[Call]:
    """The same round with a correction from nothing to much: it goes from a gain to a loss."""
    for _ in range(6):
        made, _ = random_round(rng)
        for correction in (0.0, 0.3, 1.0, 4.0):
            yield call(*made.args[:5], correction * made.args[4], made.args[6])


def equal_gains(rng: Rng) -> Iterator[Call]:
    """Exact fractions: several lengths with the same gain, and gains that equal min_gain."""
    ones = [1.0, 1.0, 1.0]  # τ is 1, 2, 3, 4
    yield call(ones, 0, 0.25, [0.75, 0.75, 2.75, 1.75], 1.0, 0.0, 0.25)  # gains 0, 1, 0, 1
    yield call(ones, 2, 0.25, [0.75, 1.75, 2.75, 1.75], 1.0, 0.0, 0.25)  # gains 0, 0, 0, 1
    yield call(ones, 3, 0.5, [1.5, 3.5, 11.5, 7.5], 4.0, 0.0, 1.5)  # gains 1, 1, 0, 1: none reaches 1.5
    yield call(ones, 0, 0.5, [1.5, 3.5, 11.5, 7.5], 4.0, 0.0, 1.0)
    yield call(ones, 3, 0.5, [1.5, 3.5, 11.5, 7.5], 4.0, 0.0, 1.0)
    for current in range(3):
        for least in (-0.125, 0.0, 0.25, 0.5, 0.75):
            yield call([0.5, 0.5], current, 0.5, [0.5, 0.5, 1.5], 1.0, 0.0, least)  # gains 0, 0.5, −0.125
        yield call([0.5, 1.0], current, 0.0, [1.0, 1.5, 2.0], 1.0)  # 0, 0, 0


def idle_rounds(rng: Rng) -> Iterator[Call]:
    """No token is verified now, and doing so may even be the cheapest: it is never accepted."""
    for _ in range(20):
        made, _ = random_round(rng)
        yield call(made.args[0], 0, *made.args[2:])
    yield call([0.25, 0.25], 0, 0.0, [0.5, 4.0, 8.0], 1.0)
    yield call([0.5, 0.5], 0, 0.0, [0.25, 1.0, 1.0], 1.0, 0.0, -0.5)
    yield call([0.5, 0.5], 0, 0.0, [0.25, 3.0, 3.5], 1.0, 0.0, -0.5)


def longest_rounds(rng: Rng) -> Iterator[Call]:
    yield call(rng.uniform(0.9, 1.0, size=64), 64, 0.5, np.linspace(1.0, 9.0, 65), 1.0, 0.25, 0.1)


### END HIDDEN TESTS


TASK_0_3 = Task(
    id="0.3",
    lesson=LESSON,
    module="dspark_mini.economics",
    function="net_benefit",
    todo="compute the gain of every verify length, then accept, tune or reject",
    hints=(
        "First the evidence, then the word. The evidence is one gain for each ℓ from 0 to γ: the speed-up of a round "
        "that verifies ℓ tokens, minus 1. All of these rounds pay for the draft and for the correction, also the one "
        "with ℓ = 0.",
        "τ(ℓ) for ℓ = 0..γ is 1, 1 + c_1, 1 + c_1 + c_1·c_2, … You may call your functions of tasks 0.1 and 0.2 in a "
        "loop, or use np.cumprod and np.cumsum. Then ask in this order: is the current ℓ at least 1 and its gain "
        "enough? If not, is the highest gain among ℓ = 1..γ enough? If not, reject with ℓ = 0 and a gain of 0.0.",
        "gains[ℓ] = τ(ℓ) · target_time / (draft_time + verify_times[ℓ] + correction_time) − 1\n"
        "best = the ℓ ≥ 1 with the highest gain, the first of equal ones\n"
        "if verify_length ≥ 1 and gains[verify_length] ≥ min_gain: 'accept', verify_length\n"
        "else if gains[best] ≥ min_gain: 'tune', best\n"
        "else: 'reject', 0, and the gain is 0.0\n"
        "return the dict with decision, verify_length, gain and gains, in plain types",
    ),
    properties=(
        Property(
            "keeps_what_pays",
            "'accept' while the current length gains at least min_gain, even if another gains more.",
            2,
            "The decision asks for enough, not for the most: look at the current length first. If the gains differ: "
            "each of them, that of ℓ = 0 too, pays for the draft, for its own verify time and for the correction.",
            Values(
                examples=BENEFIT[:1],
                ### BEGIN HIDDEN TESTS
                hidden=accepts,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "tunes_to_the_best_length",
            "'tune' if the current length does not pay and another does: to the one of the highest gain.",
            2,
            "Search ℓ = 1..γ for the highest gain; the gain returned is that of the new length.",
            Values(
                examples=BENEFIT[1:2],
                ### BEGIN HIDDEN TESTS
                hidden=tunes,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "rejects_what_never_pays",
            "'reject' if no length pays: ℓ = 0 and a gain of 0.0, because plain decoding drafts nothing.",
            2,
            "After 'reject' there is no draft, so the gain is 0.0 and not gains[0]. The gains are returned even so, "
            "and each of them pays for the correction.",
            Values(
                examples=BENEFIT[2:],
                ### BEGIN HIDDEN TESTS
                hidden=rejects,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "draft_and_correction_are_paid",
            "Every length pays for draft, verification and correction; so does ℓ = 0.",
            2,
            "The denominator is draft_time + verify_times[ℓ] + correction_time, for ℓ = 0 too.",
            Values(
                examples=(Example(small(1, correction_time=0.25), decided("accept", 1, 0.2, [-0.2, 0.2, 1 / 6])),),
                ### BEGIN HIDDEN TESTS
                hidden=corrections,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "nothing_verified_is_never_accepted",
            "A current length of 0 is no speculation: it is tuned or rejected, whatever its gain.",
            1,
            "Ask for verify_length >= 1 before you accept, and search the best length from 1 on.",
            Values(
                examples=(Example(small(0), decided("tune", 1, 0.5, GAINS)),),
                ### BEGIN HIDDEN TESTS
                hidden=idle_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "equal_is_enough_and_ties_are_small",
            "A gain that equals min_gain is enough; of equal gains the smaller length wins.",
            1,
            "Compare with >=. np.argmax returns the first of equal maxima.",
            Values(
                examples=(
                    Example(small(1, min_gain=0.5), decided("accept", 1, 0.5, GAINS)),
                    Example(
                        call([1.0, 1.0, 1.0], 0, 0.5, [1.5, 3.5, 11.5, 7.5], 4.0),
                        decided("tune", 1, 1.0, [1.0, 1.0, 0.0, 1.0]),
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=equal_gains,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("plain strings, ints, floats and a list in a dict", BENEFIT, BENEFIT_BAD, BENEFIT_BAD_HIDDEN),
        Property(
            "long_block_in_time",
            "64 confidences take well under 2 s.",
            1,
            "One running sum gives the expected length of every ℓ.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=longest_rounds,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

TASKS = (TASK_0_1, TASK_0_2, TASK_0_3)
