"""Lesson 02, parallel drafting: what 2.1 to 2.3 and the record must satisfy."""

import math
from typing import Any

import numpy as np

from dspark_mini.confidence import choose_confident_prefix
from dspark_mini.drafting import dflash_parallel_candidates, dspark_markov_candidates
from dspark_mini.records import build_draft_record
from grader.lessons.tasks import Task, example, values

LESSON = "02_parallel_drafting"
INF = math.inf


def mask(*rows: str) -> Any:
    """Write a boolean array as one text of 0 and 1 per row."""
    return np.array([[cell == "1" for cell in row] for row in rows])


TASK_2_1 = Task(
    id="2.1",
    lesson=LESSON,
    reference=dflash_parallel_candidates,
    todo="let every position choose its own best token",
    hints=(
        "Each row of block_logits is one position of the block, and each column one token. DFlash asks every "
        "position the same question, and no position hears another's answer.",
        "How long is the result, and does it hold row numbers, column numbers or logits? Along which axis do you "
        "compare? Which of two equal logits does your search keep? Is each entry a plain int?",
        "for each row: the first column that holds the row's greatest logit, as a plain int",
    ),
    returns="plain ints in a list",
    core=(
        values("argmax_of_each_row", 3)(
            "Position k gets the token with the highest logit of row k.",
            "The result has one entry per row, and each entry is a column number. If its length is wrong, look at the "
            "axis; if its numbers are, ask what they stand for.",
            example([[0.125, 0.875, 0.0], [0.25, 0.25, 0.5]], gives=[1, 2]),
            example([[0.1, 0.8, 0.1], [0.6, 0.2, 0.2], [0.1, 0.2, 0.7]], gives=[1, 0, 2]),
        ),
        values("positions_are_independent", 1)(
            "No position sees what another one chose or how large its logits are.",
            "What you return for a row may depend on that row alone: on nothing chosen or computed for another.",
            example([[0.0, 2.0], [0.0, 3.0]], gives=[1, 1]),
        ),
        values("ties_go_to_lowest_id", 1)(
            "Of equal logits the lowest token id wins.",
            "np.argmax returns the first maximum. A loop that replaces the best on >= keeps the last; use >.",
            example([[0.5, 0.5], [0.25, 0.75]], gives=[0, 1]),
        ),
        values("masked_and_negative_logits", 1)(
            "−inf is a legal logit, a token that is never drafted; so are negative ones.",
            "Compare the logits as they are. Where does your search start, and what becomes of −inf in it?",
            example([[-INF, -2.0, -1.0], [-7.0, -INF, -INF]], gives=[2, 0]),
        ),
    ),
)

TASK_2_2 = Task(
    id="2.2",
    lesson=LESSON,
    reference=dspark_markov_candidates,
    todo="draft a chain in which each choice corrects the next row",
    hints=(
        "The chain has one link: which token was chosen just before. For the first position that is the anchor, "
        "from then on the token that you chose yourself, after its correction.",
        "Can all rows go at once, or must one wait for another? What is the only thing that a position needs to know "
        "of those before it? Make the sum a new array, so that the caller's logits stay as they are.",
        "previous = the anchor\n"
        "for each row of logits:\n"
        "    corrected = row + bias of previous\n"
        "    previous = argmax of corrected, as a plain int\n"
        "    note previous\n"
        "return what you noted",
    ),
    returns="plain ints in a list",
    core=(
        values("correct_then_choose", 3)(
            "Position k takes the argmax of its logits plus the bias of the token before it.",
            "Do it by hand. Which token stands before the first position, which row of markov_bias belongs to it, and "
            "what is the sum?",
            example([[0.4, 0.6]], 1, {1: [0.4, 0.0]}, gives=[0]),
        ),
        values("base_logits_count", 1)(
            "The base logits stay in the sum: a bias corrects them and does not replace them.",
            "Position k needs its own row of logits, as it is, plus one bias row; look at what you add up.",
            example([[8.0, 0.0], [0.0, 8.0]], 0, {0: [0.0, 1.0], 1: [1.0, 0.0]}, gives=[0, 1]),
        ),
        values("anchor_starts_chain", 1)(
            "The first position is corrected by the anchor, which may lie outside the vocabulary.",
            "The anchor is a key of markov_bias like any token. It needs no column in block_logits: do not compare it "
            "with V, and do not change it.",
            example([[0.0, 1.0]], 9, {9: [2.0, 0.0]}, gives=[0]),
        ),
        values("follows_corrected_choice", 2)(
            "The token before is the one chosen after correction, not the row's own argmax.",
            "Write down, for each position of the example, which bias row went into its sum and whose it was. It is "
            "one row, and it belongs to the token just before in the result.",
            example([[0.4, 0.6], [0.7, 0.3], [0.6, 0.4]], 9, {9: [0.4, 0], 0: [0, 0.6], 1: [0.5, 0]}, gives=[0, 1, 0]),
            example([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]], 0, {0: [8.0, 0.0], 1: [0.0, 0.0]}, gives=[0, 0, 0]),
        ),
        values("missing_row_adds_nothing", 1)(
            "A token without a row in markov_bias adds nothing.",
            "markov_bias[token] is a row of zeros for such a token. The chain goes on, and nothing of an earlier "
            "position comes back.",
            example([[0.0, 1.0], [0.0, 1.0]], 0, {0: [2.0, 0.0]}, gives=[0, 0]),
            example([[1.0, 0.0], [1.0, 0.0]], 5, {5: [0.0, 2.0]}, gives=[1, 0]),
            example([[0.5, 0.0, 0.0]] * 3, 9, {9: [0.0, 3.0, 0.0], 0: [0.0, 0.0, 3.0]}, gives=[1, 0, 2]),
        ),
        values("ties_and_masks", 1)(
            "Of equal sums the lowest id wins; −inf in a row or a bias excludes a token.",
            "Which of two equal sums does your search keep, where does it start, and what becomes of −inf in it?",
            example([[-INF, 1.0, 0.5]], 2, {2: [0.0, -0.5, 0.0]}, gives=[1]),
        ),
    ),
)

TASK_2_3 = Task(
    id="2.3",
    lesson=LESSON,
    reference=choose_confident_prefix,
    todo="find where the confident prefix ends, then keep within the limits",
    hints=(
        "A draft token is worth verifying only if all before it survive, so a low confidence ends the prefix and "
        "nothing after it can bring it back. The limits come afterwards.",
        "What does your code return where every confidence is high? Where one equals the threshold? And where "
        "min_tokens, max_tokens and the number of confidences disagree, which of them must have the last word?",
        "prefix = 0\n"
        "while there is a confidence at index `prefix` and it is ≥ threshold: prefix += 1\n"
        "return the least of: the larger of prefix and min_tokens; max_tokens; the number of confidences",
    ),
    returns="one plain int",
    core=(
        values("first_low_value_stops", 3)(
            "The first confidence below the threshold ends the prefix, whatever comes after it.",
            "Go through the example from the left: which value ends the prefix, how many stand before it, and do "
            "those after it matter?",
            example([0.9, 0.8, 0.3, 0.95], 0.5, 1, 4, gives=2),
        ),
        values("each_value_on_its_own", 1)(
            "Each confidence is compared with the threshold itself; products come in lesson 04.",
            "Which number do you compare with the threshold at position k? It is c_k, which already takes for granted "
            "that the tokens before k were accepted.",
            example([0.75, 0.75, 0.75, 0.25], 0.5, 1, 8, gives=3),
        ),
        values("all_high_keeps_all", 1)(
            "Where no confidence is below the threshold, the prefix is the whole block.",
            "Try your lines on [.75, 1] and a threshold of .5: what ends the search where nothing is below it?",
            example([0.75, 1.0], 0.5, 1, 8, gives=2),
        ),
        values("equal_passes", 2)(
            "A confidence that equals the threshold passes, and one just below it does not.",
            "Below means <. Compare the values as they are, without rounding and without a margin.",
            example([0.75, 0.5, 0.25], 0.5, 1, 8, gives=2),
        ),
        values("threshold_zero_and_one", 1)(
            "At threshold 0 everything passes, at 1 only certainty does.",
            "0 and 1 are thresholds like any other, and 0 is a confidence like any other.",
            example([0.0, 0.25], 0.0, 1, 8, gives=2),
            example([0.25, 0.75], 0.0, 1, 8, gives=2),
            example([1.0, 1.0, 0.875], 1.0, 1, 8, gives=2),
        ),
        values("clamped_in_order", 2)(
            "The prefix is raised to min_tokens, then cut to max_tokens and to what there is.",
            "Where the three limits disagree, the order in which you apply them decides. No limit makes up "
            "confidences that are not there.",
            example([0.1, 0.9], 0.5, 1, 4, gives=1),
            example([0.9] * 10, 0.5, 1, 4, gives=4),
            example([0.75, 0.25, 0.25], 0.5, 4, 6, gives=3),
            example([0.75, 0.25, 0.25], 0.875, 2, 6, gives=2),
        ),
        values("defaults_and_keywords", 1)(
            "Without limits it is 1 to 8 tokens, and the limits can be given by name.",
            "Keep the signature: (confidences, threshold, min_tokens=1, max_tokens=8).",
            example([0.75] * 9, 0.5, gives=8),
            example([0.25, 0.75], threshold=0.5, min_tokens=2, gives=2),
        ),
    ),
)


def record(mode: str, block: list[int], budget: int) -> dict[str, Any]:
    """Write a record down."""
    lengths = {"proposed": len(block), "verify_budget": budget}
    return {"mode": mode, "block_tokens": block, "verify_tokens": block[:budget]} | lengths


GIVEN = (
    "The record is given, and its budget comes from your choose_confident_prefix: while task 2.3 does not pass, this "
    "cannot. If 2.3 passes, the given cell has changed; `dspark-mini reset 02` brings a fresh lesson."
)

TASK_RECORD = Task(
    id="record",
    given=True,
    lesson=LESSON,
    reference=build_draft_record,
    todo="solve 2.3 first: the given record calls your choose_confident_prefix",
    hints=(
        "The record is given in the notebook. It calls your choose_confident_prefix, so it works once task 2.3 does.",
        "block_tokens holds every draft token, verify_tokens only the prefix that the confidence keeps; proposed and "
        "verify_budget are their lengths. If the given cell has changed, `dspark-mini reset` brings the lesson back.",
        "budget = choose_confident_prefix(confidences, threshold, 1, max_tokens)\n"
        "return a dict: mode, block_tokens (all), verify_tokens (the first `budget`), proposed, verify_budget",
    ),
    returns="plain ints, strings and lists in a dict",
    core=(
        values("all_five_keys", 1)(
            "The record holds mode, block_tokens, verify_tokens, proposed and verify_budget.",
            GIVEN,
            example("dspark", [4, 5, 6], [0.9, 0.7, 0.2], 0.5, 3, gives=record("dspark", [4, 5, 6], 2)),
            example("dflash", [7, 7, 8], [0.75, 0.25, 0.75], 0.75, 1, gives=record("dflash", [7, 7, 8], 1)),
        ),
        values("budget_is_confident_prefix", 1)(
            "verify_budget is the confident prefix, from 1 to max_tokens, in either mode.",
            GIVEN,
            example("dflash", [3, 1, 2], [0.5, 0.5, 0.5], 0.5, 2, gives=record("dflash", [3, 1, 2], 2)),
        ),
        values("defaults_and_keywords", 1)(
            "Without max_tokens the budget ends at 8.",
            GIVEN,
            example("dspark", [*range(9)], [0.75] * 9, 0.5, gives=record("dspark", [*range(9)], 8)),
        ),
    ),
)

TASKS = (TASK_2_1, TASK_2_2, TASK_2_3, TASK_RECORD)
