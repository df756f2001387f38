"""Lesson 07, end to end: what its tasks must satisfy."""

import math
from typing import Any

from dspark_mini.rounds import best_block_size, decode_round, keep_drafting, rollback_rows, round_totals
from grader.lessons.tasks import Task, example, values

LESSON = "07_end_to_end"

TASK_7_1 = Task(
    id="7.1",
    lesson=LESSON,
    reference=rollback_rows,
    todo="count the rows of the rejected drafts",
    hints=(
        "After the round the cache must hold exactly the committed tokens but the last one, which becomes the anchor.",
        "Which of the rows that the forward wrote belong to committed tokens? Has the last committed token one?",
        "kept = 1 + accepted\nreturn verified_rows − kept",
    ),
    returns="one plain int",
    core=(
        values("refused_rows_go", 3)(
            "The rows of the rejected drafts are dropped, no more and no fewer.",
            "Of verified_rows, 1 + accepted stay: the anchor's and those of the accepted drafts.",
            example(5, 3, gives=1),
            example(8, 0, gives=7),
        ),
        values("full_block_drops_nothing", 1)(
            "Where all drafts are accepted, nothing is dropped: the bonus token has no row yet.",
            "The last emitted token, correction or bonus, was never fed to the target. It owns no row.",
            example(5, 4, gives=0),
        ),
    ),
)


def round_of(rows: int, accepted: int, tokens: list[int]) -> dict[str, Any]:
    """Write a result of decode_round."""
    return {"verified_rows": rows, "accepted": accepted, "tokens": tokens, "dropped_rows": rows - 1 - accepted}


TASK_7_2 = Task(
    id="7.2",
    lesson=LESSON,
    reference=decode_round,
    todo="trim the block, compare what is left with the target, and count the rows",
    hints=(
        "Three decisions in this order: how many drafts go into the forward, how many of those the target confirms, "
        "and what the round emits and drops.",
        "Which of the three decisions takes confidences alone? Which of the target's rows exist after it, and where "
        "does the walk along the drafts stop at the latest?",
        "length = number of confidences before the first one < threshold\n"
        "accepted = number of drafts among the first `length` before the first that differs from the target\n"
        "tokens = accepted drafts, then target_tokens[accepted]\n"
        "verified_rows = 1 + length, dropped_rows = length − accepted",
    ),
    returns="plain ints in a dict and in its list",
    core=(
        values("target_decides", 3)(
            "Drafts are accepted while they equal the target's choice; the target's next token follows.",
            "Compare key by key. tokens: the accepted drafts, then the target's choice after them. verified_rows: the "
            "anchor's and one per verified draft. dropped_rows: those of drafts that were verified and rejected.",
            example([5, 7, 2], [0.9, 0.8, 0.3], [5, 6, 1, -1], 0.5, gives=round_of(3, 1, [5, 6])),
            example([5, 7], [0.75, 0.75], [5, 7, 1], 0.5, gives=round_of(3, 2, [5, 7, 1])),
            example([5, 7], [0.75, 0.75], [3, 7, 1], 0.5, gives=round_of(3, 0, [3])),
        ),
        values("trimmed_before_the_forward", 3)(
            "The first confidence below the threshold ends the block before the forward; an equal one passes.",
            "verified_rows is 1 + ℓ, not 1 + γ, and a draft past ℓ cannot be accepted, however right it is.",
            example([5, 7, 2], [0.9, 0.8, 0.3], [5, 7, 2, 4], 0.5, gives=round_of(3, 2, [5, 7, 2])),
            example([5, 7], [0.5, 0.75], [3, 7, 1], 0.5, gives=round_of(3, 0, [3])),
            example([4, 4, 4], [0.75, 0.25, 0.75], [4, 9, -1, -1], 0.5, gives=round_of(2, 1, [4, 9])),
        ),
        values("nothing_verified_is_plain", 1)(
            "With ℓ = 0, or without drafts, the round is a step of plain decoding: one row, one token.",
            "Do not force a draft through: ℓ may be 0. The anchor's row is still computed.",
            example([5, 7], [0.25, 0.75], [3, -1, -1], 0.5, gives=round_of(1, 0, [3])),
        ),
    ),
)

TASK_7_3 = Task(
    id="7.3",
    lesson=LESSON,
    reference=best_block_size,
    todo="estimate α from the drafts that were tested, and take the γ with the most tokens per time",
    hints=(
        "Two steps: what is the chance α that a tested draft is accepted, and which block size makes the most tokens "
        "per time at that chance?",
        "Which drafts of a round did nobody look at, and how many yes and no does the rest say? Then: for which γ do "
        "you know both the tokens of a round and its time?",
        "alpha = sum(accepted) / sum(min(a + 1, v))\n"
        "tokens = cumulative sum of alpha ** 0, alpha ** 1, …\n"
        "return argmax of tokens / round_times",
    ),
    returns="one plain int",
    core=(
        values("only_tested_drafts_count", 3)(
            "α is accepted over tested drafts; what follows a rejection was never tested.",
            "A round that verified 12 drafts and accepted 3 tested four: three yes, one no.",
            example([1, 2], [2, 2], [4.0, 5.0, 6.0], gives=2),
            example([0, 0, 1], [4, 4, 4], [4.0, 6.0, 8.0, 10.0, 12.0], gives=0),
            example([3, 0], [12, 12], [4.0, 5.0, 6.0, 7.0, 8.0], gives=2),
        ),
        values("full_blocks_reject_nothing", 2)(
            "A round that accepted all its drafts tested just those, and rejected none.",
            "A round that accepted all four of its drafts says four times yes, and never no.",
            example([4, 4], [4, 4], [4.0, 5.0, 6.0, 7.0, 8.0], gives=4),
        ),
        values("most_tokens_per_time", 3)(
            "Over rounds of all lengths, plain ones among them, the γ with the most tokens per time is chosen.",
            "Divide 1 + α + … + α^γ by round_times[γ] for every γ, 0 included, and take the highest.",
            example([1, 1], [1, 2], [1.0, 2.0, 4.0], gives=0),
        ),
        values("equal_speeds_take_the_smaller", 1)(
            "Of equally fast block sizes the smallest is chosen.",
            "np.argmax returns the first maximum. A loop must replace the best on > only.",
            example([1, 1], [2, 2], [1.0, 1.5, 2.0], gives=0),
        ),
        values("nothing_accepted_nothing_hoped", 1)(
            "Where no draft was accepted, every block yields one token; the fastest round wins.",
            "α = 0 is a rate like any other: the sum starts at α ** 0, 0 ** 0 is 1, and the block yields 1 + 0 + 0 ….",
            example([0, 0], [2, 2], [5.0, 4.0, 6.0], gives=1),
        ),
    ),
)

TASK_7_4 = Task(
    id="7.4",
    lesson=LESSON,
    reference=keep_drafting,
    todo="look at the last rounds: pause when they did not pay, and try again after the pause",
    hints=(
        "There are two situations, told apart by the last round: it was plain, or it drafted (or there was none).",
        "What do you have to know of the past in a pause, and what while drafting? When do the last patience rounds "
        "not say anything yet?",
        "if the last round was plain: return whether the last retry_after rounds exist and are all plain\n"
        "if fewer than patience rounds, or one of the last patience was plain: return True\n"
        "return mean of the last patience emitted ≥ break_even",
    ),
    returns="one plain bool",
    core=(
        values("low_yield_gives_up", 3)(
            "It gives up when the last rounds emitted fewer than break_even tokens on average; an equal mean goes on.",
            "Compare the mean of the last patience entries of emitted with break_even, and go on at >=.",
            example([4, 4, 4], [3, 1, 1], 1.5, 2, 8, gives=False),
            example([4, 4], [1, 2], 1.5, 2, 8, gives=True),
        ),
        values("only_recent_rounds_count", 2)(
            "Rounds before the last `patience` ones change nothing.",
            "With a patience of 2 only the last two rounds count: [1, 1, 3] has (1 + 3) / 2 = 2 tokens per round.",
            example([4, 4, 4], [1, 1, 3], 1.5, 2, 8, gives=True),
        ),
        values("too_early_to_judge", 1)(
            "With fewer than `patience` rounds it goes on drafting; without any it begins.",
            "One bad round proves nothing. Return True until there are patience rounds, and before the first one, too.",
            example([4, 4], [1, 1], 1.5, 3, 8, gives=True),
            example([], [], 1.5, 2, 8, gives=True),
        ),
        values("pause_lasts_and_ends", 2)(
            "A pause lasts `retry_after` plain rounds, then drafting is tried again.",
            "Count the plain rounds at the end. Without a way back, one hard sentence turns speculation off for good.",
            example([4, 4, 0, 0], [1, 1, 1, 1], 1.5, 2, 3, gives=False),
            example([4, 4, 0, 0, 0], [1, 1, 1, 1, 1], 1.5, 2, 3, gives=True),
            example([4, 0, 0, 4, 0], [1, 1, 1, 1, 1], 1.5, 1, 2, gives=False),
        ),
        values("second_try_is_fair", 2)(
            "After a pause it is judged anew, by `patience` rounds of its own.",
            "If one of the last patience rounds was plain, it is too early to judge: go on.",
            example([4, 4, 0, 0, 4], [1, 1, 1, 1, 1], 1.5, 2, 2, gives=True),
            example([4, 4, 0, 0, 4, 4], [1, 1, 1, 1, 1, 1], 1.5, 2, 2, gives=False),
        ),
    ),
)


def totals(*counts: int) -> dict[str, Any]:
    """Write a result of round_totals."""
    names = ("rounds", "drafted", "trimmed", "rejected", "accepted", "emitted", "cut")
    found = dict(zip(names, counts, strict=True))
    return {**found, "tau": found["emitted"] / found["rounds"] if found["rounds"] else math.nan}


TASK_7_5 = Task(
    id="7.5",
    lesson=LESSON,
    reference=round_totals,
    todo="sum up the rounds so that every token is counted once",
    hints=(
        "Follow one draft: it is trimmed, or rejected, or accepted. Follow one emitted token: it is an accepted draft, "
        "or the one of the target's that every round adds.",
        "Between which two lists do trimmed drafts get lost, and between which two rejected ones? How many tokens "
        "could the rounds have emitted if nothing had ended the output?",
        "trimmed = Σ drafted − Σ verified\nrejected = Σ verified − Σ accepted\n"
        "cut = Σ accepted + rounds − Σ emitted\ntau = Σ emitted / rounds, nan without rounds",
    ),
    returns="plain ints and one float in a dict",
    core=(
        values("sums_of_whole_rounds", 2)(
            "Rounds, drafts, accepted and rejected drafts, and emitted tokens are counted.",
            "Every verified draft that was not accepted is rejected. A round makes its accepted drafts and one more.",
            example([3, 2], [3, 2], [2, 0], [3, 1], gives=totals(2, 5, 0, 3, 2, 4, 0)),
        ),
        values("trimmed_is_not_rejected", 2)(
            "What was trimmed before the forward is counted apart from what the forward rejected.",
            "trimmed = drafted − verified; rejected = verified − accepted; with accepted they sum to drafted.",
            example([4, 0, 2], [4, 0, 1], [0, 0, 1], [1, 1, 2], gives=totals(3, 6, 1, 4, 1, 4, 0)),
            example([3], [2], [2], [3], gives=totals(1, 3, 1, 0, 2, 3, 0)),
        ),
        values("cut_tokens_are_not_emitted", 2)(
            "τ counts what reached the output; tokens past its end are cut, and reported as such.",
            "τ = Σ emitted / rounds. accepted + rounds is what could have been emitted; the rest of it is cut.",
            example([4, 4], [3, 4], [2, 4], [3, 2], gives=totals(2, 8, 1, 1, 6, 5, 3)),
        ),
        values("no_rounds_no_rate", 1)(
            "Before the first round all counts are 0, and τ is nan.",
            "Return math.nan for tau if there are no rounds; nothing may be divided by 0.",
            example([], [], [], [], gives=totals(0, 0, 0, 0, 0, 0, 0)),
        ),
    ),
)

TASKS = (TASK_7_1, TASK_7_2, TASK_7_3, TASK_7_4, TASK_7_5)
