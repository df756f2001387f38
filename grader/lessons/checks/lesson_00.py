"""Lesson 00, the economics of speculation: what its tasks must satisfy."""

from typing import Any

from dspark_mini.economics import expected_accepted_length, net_benefit, speedup
from grader.check.judges import Example
from grader.lessons.tasks import Task, example, values

LESSON = "00_why_speculate"

TASK_0_1 = Task(
    id="0.1",
    lesson=LESSON,
    reference=expected_accepted_length,
    todo="add up what a round is expected to yield",
    hints=(
        "The expected number of accepted tokens is a sum of chances, one for each token that is verified: the chance "
        "that this token, and so every token before it, is accepted. One more token comes from the target in any case.",
        "With what chance does token 3 count, if c_3 only says what happens once tokens 1 and 2 are accepted? Write "
        "down that chance for each token of [.8, .5, .5]. What takes you from one to the next? And which tokens does "
        "verify_length leave over?",
        "survival = cumulative products of the first verify_length confidences\n"
        "return 1 + the sum of survival, as a plain float",
    ),
    returns="one plain float",
    core=(
        values("one_plus_the_survivals", 3)(
            "τ is 1 plus the chances that the first, the first two, the first three … tokens are all accepted.",
            "Do [.5, .5] by hand: token 1 counts with .5, token 2 with .25, and the target's own with 1.",
            example([0.5, 0.5], gives=1.75),
        ),
        values("verify_length_cuts", 2)(
            "Only the first verify_length tokens count; None means all of them.",
            "Which tokens does the target see? A verify_length of 0 is not None: then it sees no draft token.",
            example([0.5, 0.5], 1, gives=1.5),
            example([0.75, 0.5, 0.25], 2, gives=2.125),
            example([0.75, 0.5, 0.25], verify_length=0, gives=1.0),
        ),
        values("certain_and_hopeless_tokens", 1)(
            "A confidence of 1 costs nothing, and after one of 0 nothing survives.",
            "[1, 1, 0, 1]: tokens 1 and 2 are sure, token 3 is never accepted, so token 4 is never reached.",
            example([1.0, 1.0, 0.0, 1.0], gives=3.0),
        ),
        values("nothing_verified_is_one", 1)(
            "Without a verified token a round still yields one: the target's own.",
            "With nothing to verify only the target's own token comes: 1.0, and no error.",
            example([], gives=1.0),
        ),
    ),
)

TASK_0_2 = Task(
    id="0.2",
    lesson=LESSON,
    reference=speedup,
    todo="compare the round with plain decoding of the same tokens",
    hints=(
        "Compare two times for the same tokens: what plain decoding needs for accepted_length tokens, and what one "
        "round of speculative decoding needs, all of its parts counted.",
        "How long does plain decoding take for accepted_length tokens? How long does the round take for them? And "
        "which of the two stands on top, if 2.0 is to mean twice as fast?",
        "round_time = draft_time + verify_time + correction_time\nreturn accepted_length · target_time / round_time",
    ),
    returns="one plain float",
    core=(
        values("tokens_of_a_round_over_its_time", 3)(
            "The speed-up is accepted_length · target_time / (draft_time + verify_time).",
            "Three tokens in a round of .5 + 1, with target steps of 1: plain decoding takes 3, the round 1.5, so 2.0.",
            example(3.0, 0.5, 1.0, 1.0, gives=2.0),
            example(3.0, 0.5, 1.0, 2.0, gives=4.0),
        ),
        values("correction_counts", 2)(
            "The time of correction is part of the round, like drafting and verifying.",
            "Once per round, whatever it yields. Plain decoding has nothing to correct.",
            example(3.0, 0.5, 1.25, 1.0, 0.25, gives=1.5),
            example(4.0, 1.5, 0.5, 2.0, 2.0, gives=2.0),
        ),
        values("losses_are_told", 1)(
            "A round that is slower than plain decoding has a speed-up below 1, in any unit of time.",
            "Return the ratio as it is. It has no unit: with all times in other units it stays the same.",
            example(2.0, 6.0, 8.0, 4.0, correction_time=2.0, gives=0.5),
        ),
        values("free_parts", 1)(
            "Some of the times may be 0, as long as the round takes time.",
            "A draft_time of 0 is a drafter that costs nothing. Only their sum must be above 0.",
            example(2.0, 0.0, 1.0, 1.0, gives=2.0),
        ),
    ),
)

GAINS = [0.0, 0.5, 0.4]  # τ is 1, 1.5, 1.75, and a round without correction takes 1, 1, 1.25


def small(current: int, *more: float, gives: tuple[str, int, float, list[float]]) -> Example:
    """Write a case of the round in the notebook: another current length, correction time or least gain."""
    keys = ("decision", "verify_length", "gain", "gains")
    expected: dict[str, Any] = dict(zip(keys, gives))
    return example([0.5, 0.5], current, 0.25, [0.75, 0.75, 1.0], 1.0, *more, gives=expected)


TASK_0_3 = Task(
    id="0.3",
    lesson=LESSON,
    reference=net_benefit,
    todo="compute the gain of every verify length, then accept, tune or reject",
    hints=(
        "First the evidence, then the decision. The evidence is one gain for each ℓ from 0 to γ: the speed-up of a "
        "round that verifies ℓ tokens, minus 1. All of these rounds pay for the draft and for the correction, also "
        "the one with ℓ = 0.",
        "What has ℓ = 0 for its τ, and what does each further token add? You know both from task 0.1. Then decide: "
        "what is asked of the current ℓ, and does any other ℓ matter if the answer is yes? If it is no, which lengths "
        "may take its place, and which one may not?",
        "gains[ℓ] = τ(ℓ) · target_time / (draft_time + verify_times[ℓ] + correction_time) − 1\n"
        "best = the ℓ ≥ 1 with the highest gain, the first of equal ones\n"
        "if verify_length ≥ 1 and gains[verify_length] ≥ min_gain: 'accept', verify_length\n"
        "else if gains[best] ≥ min_gain: 'tune', best\n"
        "else: 'reject', 0, and the gain is 0.0\n"
        "return the dict with decision, verify_length, gain and gains, in plain types",
    ),
    returns="plain strings, ints, floats and a list in a dict",
    core=(
        values("keeps_what_pays", 2)(
            "'accept' while the current length gains at least min_gain, even if another gains more.",
            "Compare the gains first; each is a speed-up minus 1. For [.5, .5], τ is 1, 1.5, 1.75, and the rounds "
            "take 1, 1, 1.25. If they are right, ask whether the current one is enough, not whether it is the most.",
            small(2, gives=("accept", 2, 0.4, GAINS)),
            small(2, 0.0, 0.25, gives=("accept", 2, 0.4, GAINS)),
        ),
        values("tunes_to_the_best_length", 2)(
            "'tune' if the current length does not pay and another does: to the one of the highest gain.",
            "The best of ℓ = 1..γ, be it longer or shorter than the current one, with its own gain.",
            small(2, 0.0, 0.45, gives=("tune", 1, 0.5, GAINS)),
        ),
        values("rejects_what_never_pays", 2)(
            "'reject' if no length pays: ℓ = 0 and a gain of 0.0, because plain decoding drafts nothing.",
            "After 'reject' the engine drafts nothing: ℓ = 0 and a gain of 0.0. The list of gains is returned even so.",
            small(2, 1.0, gives=("reject", 0, 0.0, [-0.5, -0.25, -2.0 / 9.0])),
            small(1, 1.0, 0.25, gives=("reject", 0, 0.0, [-0.5, -0.25, -2.0 / 9.0])),
        ),
        values("draft_and_correction_are_paid", 2)(
            "Every length pays for draft, verification and correction; so does ℓ = 0.",
            "With a correction of .25 the three rounds take 1.25, 1.25 and 1.5; the first of them verifies nothing.",
            small(1, 0.25, gives=("accept", 1, 0.2, [-0.2, 0.2, 1 / 6])),
        ),
        values("nothing_verified_is_never_accepted", 1)(
            "A current length of 0 is not speculation: it is tuned or rejected, whatever its gain.",
            "ℓ = 0 can be neither kept nor chosen, however high its gain; ℓ = 1 can.",
            small(0, gives=("tune", 1, 0.5, GAINS)),
            small(1, gives=("accept", 1, 0.5, GAINS)),
            example(
                [0.5, 0.5],
                0,
                0.25,
                [0.25, 2.25, 2.75],
                1.0,
                gives={"decision": "reject", "verify_length": 0, "gain": 0.0, "gains": [1.0, -0.4, -5 / 12]},
            ),
        ),
        values("equal_is_enough_and_ties_are_small", 1)(
            "A gain that equals min_gain is enough; of equal gains the smaller length wins.",
            "Look at your comparisons where both sides are equal, and at which of two equal gains your search keeps.",
            small(1, 0.0, 0.5, gives=("accept", 1, 0.5, GAINS)),
            example(
                [1.0, 1.0, 1.0],
                0,
                0.5,
                [1.5, 3.5, 11.5, 7.5],
                4.0,
                0.0,
                1.0,
                gives={"decision": "tune", "verify_length": 1, "gain": 1.0, "gains": [1.0, 1.0, 0.0, 1.0]},
            ),
        ),
    ),
)

TASKS = (TASK_0_1, TASK_0_2, TASK_0_3)
