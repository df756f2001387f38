"""Lesson 02, parallel drafting: what its tasks must satisfy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dspark_mini.confidence import choose_confident_prefix, conditional_acceptance
from dspark_mini.drafting import dflash_parallel_candidates, dspark_markov_candidates
from dspark_mini.masks import block_mask
from dspark_mini.records import build_draft_record
from grader.lessons.tasks import Task, example, values

LESSON = "02_parallel_drafting"
NAN, INF = math.nan, math.inf


def mask(*rows: str) -> Any:
    """Write a boolean array as one text of 0 and 1 per row."""
    return np.array([[cell == "1" for cell in row] for row in rows])


TASK_2_1 = Task(
    id="2.1",
    lesson=LESSON,
    reference=dflash_parallel_candidates,
    todo="return each row's own best token, as plain ints",
    hints=(
        "Each row of block_logits is one position of the block, and each column one token. DFlash asks every "
        "position the same question, which of the tokens has the highest logit, and no position hears the others.",
        "argmax returns the first, that is the lowest, of equal maxima. It can do all rows at once, along the axis of "
        "the tokens; its result is an array of NumPy integers, so make it a list of plain ones.",
        "return the argmax of every row, as a list of plain ints",
    ),
    returns="plain ints in a list",
    core=(
        values("argmax_of_each_row", 3)(
            "Position k gets the token with the highest logit of row k.",
            "Take the argmax along the vocabulary (axis 1), not along the block and not over the whole matrix.",
            example([[0.125, 0.875, 0.0], [0.25, 0.25, 0.5]], gives=[1, 2]),
            example([[0.1, 0.8, 0.1], [0.6, 0.2, 0.2], [0.1, 0.2, 0.7]], gives=[1, 0, 2]),
        ),
        values("positions_are_independent", 1)(
            "No position sees what another one chose or how large its logits are.",
            "The same token may win at several positions; do not remove it, and do not normalise over the block.",
            example([[0.0, 2.0], [0.0, 3.0]], gives=[1, 1]),
        ),
        values("ties_go_to_lowest_id", 1)(
            "Of equal logits the lowest token id wins.",
            "np.argmax returns the first maximum. A loop that replaces the best on >= keeps the last; use >.",
            example([[0.5, 0.5], [0.25, 0.75]], gives=[0, 1]),
        ),
        values("masked_and_negative_logits", 1)(
            "−inf is a legal logit, a token that is never drafted; so are negative ones.",
            "Do not start the search at 0, and do not replace −inf by a number: compare the logits as they are.",
            example([[-INF, -2.0, -1.0], [-7.0, -INF, -INF]], gives=[2, 0]),
        ),
    ),
)

TASK_2_2 = Task(
    id="2.2",
    lesson=LESSON,
    reference=dspark_markov_candidates,
    todo="correct each row by the bias of the token chosen just before it, then choose",
    hints=(
        "The chain has one link: which token was chosen just before. For the first position that is the anchor, "
        "from then on the token that you chose yourself, after its correction.",
        "Walk over the rows and remember the token chosen last. markov_bias[token] is the row to add; it is zero "
        "where a token has none. The sum must be a new array, so that the caller's logits stay as they are.",
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
            "Add the bias to the row first, then take the argmax of the sum.",
            example([[0.4, 0.6]], 1, {1: [0.4, 0.0]}, gives=[0]),
        ),
        values("follows_corrected_choice", 2)(
            "The token before is the one chosen after correction, not the row's own argmax.",
            "Set previous to the token that you have just chosen; the anchor serves the first position only.",
            example([[0.4, 0.6], [0.7, 0.3], [0.6, 0.4]], 9, {9: [0.4, 0], 0: [0, 0.6], 1: [0.5, 0]}, gives=[0, 1, 0]),
            example([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]], 0, {0: [8.0, 0.0], 1: [0.0, 0.0]}, gives=[0, 0, 0]),
        ),
        values("base_logits_count", 1)(
            "The base logits stay in the sum: a bias corrects them and does not replace them.",
            "The corrected row is U_k + B[previous]; a bias alone says nothing about position k.",
            example([[8.0, 0.0], [0.0, 8.0]], 0, {0: [0.0, 1.0], 1: [1.0, 0.0]}, gives=[0, 1]),
        ),
        values("anchor_starts_chain", 1)(
            "The first position is corrected by the anchor, which may lie outside the vocabulary.",
            "Look the anchor up in markov_bias like any token; it needs no column in block_logits.",
            example([[0.0, 1.0]], 9, {9: [2.0, 0.0]}, gives=[0]),
        ),
        values("missing_row_adds_nothing", 1)(
            "A token without a row in markov_bias adds nothing.",
            "markov_bias[token] is zero for a token without a row. A missing row does not bring back an older one.",
            example([[0.0, 1.0], [0.0, 1.0]], 0, {0: [2.0, 0.0]}, gives=[0, 0]),
            example([[1.0, 0.0], [1.0, 0.0]], 5, {5: [0.0, 2.0]}, gives=[1, 0]),
        ),
        values("ties_and_masks", 1)(
            "Of equal sums the lowest id wins; −inf in a row or a bias excludes a token.",
            "np.argmax of the sum does both, as long as −inf is not replaced by a number.",
            example([[-INF, 1.0, 0.5]], 2, {2: [0.0, -0.5, 0.0]}, gives=[1]),
        ),
    ),
)

TASK_2_3 = Task(
    id="2.3",
    lesson=LESSON,
    reference=choose_confident_prefix,
    todo="count the confidences up to the first below the threshold, then clamp the count",
    hints=(
        "Two steps. First a count: how many confidences, from the left, are not below the threshold. Then a clamp: "
        "the count is raised to min_tokens, and the result is cut to max_tokens and to the confidences there are.",
        "A draft token is worth verifying only if all before it survive, so the first low confidence ends the prefix "
        "and nothing after it can bring it back. Equal to the threshold is not below it.",
        "prefix = 0\n"
        "while there is a confidence at index `prefix` and it is ≥ threshold: prefix += 1\n"
        "return the least of: the larger of prefix and min_tokens; max_tokens; the number of confidences",
    ),
    returns="one plain int",
    core=(
        values("first_low_value_stops", 3)(
            "The first confidence below the threshold ends the prefix, whatever comes after it.",
            "Stop at the first low value; do not count all high ones, and do not look for the last.",
            example([0.9, 0.8, 0.3, 0.95], 0.5, 1, 4, gives=2),
        ),
        values("each_value_on_its_own", 1)(
            "Each confidence is compared with the threshold itself; products come in lesson 04.",
            "c_k is already conditional on the tokens before k: compare it as it is, without a running product.",
            example([0.75, 0.75, 0.75, 0.25], 0.5, 1, 8, gives=3),
        ),
        values("all_high_keeps_all", 1)(
            "Where no confidence is below the threshold, the prefix is the whole block.",
            "A search for the first low value finds none: np.argmax of all False is 0, an empty result has no entry 0.",
            example([0.75, 1.0], 0.5, 1, 8, gives=2),
        ),
        values("equal_passes", 2)(
            "A confidence that equals the threshold passes.",
            "Below means <. Continue while confidence >= threshold.",
            example([0.75, 0.5, 0.25], 0.5, 1, 8, gives=2),
        ),
        values("threshold_zero_and_one", 1)(
            "At threshold 0 everything passes, at 1 only certainty does.",
            "0 and 1 are ordinary thresholds: do not treat 0 as absent.",
            example([0.0, 0.25], 0.0, 1, 8, gives=2),
            example([1.0, 1.0, 0.875], 1.0, 1, 8, gives=2),
        ),
        values("clamped_in_order", 2)(
            "The prefix is raised to min_tokens, then cut to max_tokens and to what there is.",
            "min(max(prefix, min_tokens), max_tokens, len(confidences)): the number of confidences has the last word.",
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
    lengths = {"proposed": len(block), "verify_budget": budget}
    return {"mode": mode, "block_tokens": block, "verify_tokens": block[:budget]} | lengths


TASK_RECORD = Task(
    id="record",
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
            "block_tokens are all the candidates, verify_tokens the first verify_budget of them.",
            example("dspark", [4, 5, 6], [0.9, 0.7, 0.2], 0.5, 3, gives=record("dspark", [4, 5, 6], 2)),
            example("dflash", [7, 7, 8], [0.75, 0.25, 0.75], 0.75, 1, gives=record("dflash", [7, 7, 8], 1)),
        ),
        values("budget_is_confident_prefix", 1)(
            "verify_budget is the confident prefix, from 1 to max_tokens, in either mode.",
            "Call choose_confident_prefix(confidences, threshold, 1, max_tokens); the mode does not change the budget.",
            example("dflash", [3, 1, 2], [0.5, 0.5, 0.5], 0.5, 2, gives=record("dflash", [3, 1, 2], 2)),
        ),
        values("defaults_and_keywords", 1)(
            "Without max_tokens the budget ends at 8.",
            "Keep the signature: (mode, candidates, confidences, threshold, max_tokens=8).",
            example("dspark", [*range(9)], [0.75] * 9, 0.5, gives=record("dspark", [*range(9)], 8)),
        ),
    ),
)

TASK_2_4 = Task(
    id="2.4",
    lesson=LESSON,
    reference=block_mask,
    todo="say for every row which context columns and which block columns it may see",
    hints=(
        "Two questions for every row, and both are about the block that the row belongs to: is this context column "
        "before the anchor of my block, and does this block column belong to my block?",
        "Number the blocks and repeat each number block_length times: that gives the block of every row, and of every "
        "block column too. Both halves are then one comparison with broadcasting, and np.hstack joins them.",
        "anchor = each anchor, repeated block_length times: one per row\n"
        "block = 0, 0, …, 1, 1, …: the block of each of the A·γ rows\n"
        "context half: column number < anchor of the row                  → (A·γ, context_length)\n"
        "block half: block of the row == block of the column              → (A·γ, A·γ)\n"
        "return the halves side by side",
    ),
    returns="booleans in an array",
    core=(
        values("context_before_anchor", 2)(
            "A row sees the context strictly before its own anchor, and nothing at or after it.",
            "The anchor's own features are not known when its block is drafted: column < anchor, not <=.",
            example(3, [2], 1, gives=mask("1101")),
            example(3, [1], 1, gives=mask("1001")),
        ),
        values("both_directions_in_block", 2)(
            "A row sees every position of its own block, before and after itself.",
            "A block is drafted in one go, so its mask is bidirectional, not causal, and the diagonal is True.",
            example(1, [1], 3, gives=mask("1111", "1111", "1111")),
        ),
        values("blocks_do_not_mix", 2)(
            "Blocks packed into one forward never see each other, and each has its own anchor.",
            "The block half is block-diagonal: True only where row and column belong to the same block.",
            example(2, [0, 1], 2, gives=mask("001100", "001100", "100011", "100011")),
        ),
        values("blocks_in_given_order", 1)(
            "Blocks stand in the order of anchor_positions; anchors may repeat or go back.",
            "Do not sort the anchors and do not merge equal ones: two blocks may share an anchor and stay apart.",
            example(3, [2, 0], 1, gives=mask("11010", "00001")),
            example(2, [2, 1, 1], 1, gives=mask("11100", "10010", "10001")),
        ),
        values("edges_of_the_context", 1)(
            "An anchor of 0 sees no context, one of context_length all of it; no context is legal.",
            "With context_length 0 the left half has no columns; np.arange(0) compares without complaint.",
            example(0, [0], 2, gives=mask("11", "11")),
        ),
    ),
)

TASK_2_5 = Task(
    id="2.5",
    lesson=LESSON,
    reference=conditional_acceptance,
    todo="divide, for each position, the rounds that passed it by the rounds that reached it",
    hints=(
        "A position can only be accepted in a round that accepted everything before it. So the rate of position k "
        "compares two groups of rounds: those with at least k accepted, among those with at least k − 1.",
        "Count first: for k = 0..γ, how many rounds have at least k accepted. Neighbours in that list are denominator "
        "and numerator. A denominator of 0 means that no round came so far: the rate is unknown, nan, and not 0.",
        "reached = for k from 0 to block_size: number of rounds with count ≥ k\n"
        "for k from 1 to block_size: reached[k] / reached[k − 1], or nan where reached[k − 1] is 0",
    ),
    returns="plain floats in a list",
    core=(
        values("passed_among_reached", 3)(
            "Position k: rounds with at least k accepted, among those with at least k − 1.",
            "A count of k means that positions 1..k passed: compare with >=, and shift by one between the two.",
            example([2, 0, 1, 2], 3, gives=[0.75, 2 / 3, 0.0]),
            example([2, 2], 2, gives=[1.0, 1.0]),
        ),
        values("condition_on_reaching", 2)(
            "The denominator is the rounds that came so far, not all the rounds.",
            "Divide by reached[k − 1]; divided by all rounds it would be the survival a_k, which always falls.",
            example([0, 0, 0, 2], 2, gives=[0.25, 1.0]),
        ),
        values("unreached_is_nan", 2)(
            "Where no round came that far, the rate is nan; without rounds all of them are.",
            "0 would say that the position always fails; float('nan') says that nobody knows.",
            example([0, 0], 3, gives=[0.0, NAN, NAN]),
            example([], 2, gives=[NAN, NAN]),
        ),
    ),
)

TASKS = (TASK_2_1, TASK_2_2, TASK_2_3, TASK_RECORD, TASK_2_4, TASK_2_5)
