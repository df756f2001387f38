"""Lesson 02, parallel drafting: what its tasks must satisfy."""

from __future__ import annotations

import math

from dspark_mini.drafting import dflash_parallel_candidates, dspark_markov_candidates
from grader.lessons.tasks import Task, example, values

LESSON = "02_parallel_drafting"
NAN, INF = math.nan, math.inf

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
        values(
            "argmax_of_each_row",
            3,
            "Position k gets the token with the highest logit of row k.",
            "Take the argmax along the vocabulary (axis 1), not along the block and not over the whole matrix.",
            example([[0.125, 0.875, 0.0], [0.25, 0.25, 0.5]], gives=[1, 2]),
            example([[0.1, 0.8, 0.1], [0.6, 0.2, 0.2], [0.1, 0.2, 0.7]], gives=[1, 0, 2]),
        ),
        values(
            "positions_are_independent",
            1,
            "No position sees what another one chose or how large its logits are.",
            "The same token may win at several positions; do not remove it, and do not normalise over the block.",
            example([[0.0, 2.0], [0.0, 3.0]], gives=[1, 1]),
        ),
        values(
            "ties_go_to_lowest_id",
            1,
            "Of equal logits the lowest token id wins.",
            "np.argmax returns the first maximum. A loop that replaces the best on >= keeps the last; use >.",
            example([[0.5, 0.5], [0.25, 0.75]], gives=[0, 1]),
        ),
        values(
            "masked_and_negative_logits",
            1,
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
        values(
            "correct_then_choose",
            3,
            "Position k takes the argmax of its logits plus the bias of the token before it.",
            "Add the bias to the row first, then take the argmax of the sum.",
            example([[0.4, 0.6]], 1, {1: [0.4, 0.0]}, gives=[0]),
        ),
        values(
            "follows_corrected_choice",
            2,
            "The token before is the one chosen after correction, not the row's own argmax.",
            "Set previous to the token that you have just chosen; the anchor serves the first position only.",
            example(
                [[0.4, 0.6], [0.7, 0.3], [0.6, 0.4]], 9, {9: [0.4, 0.0], 0: [0.0, 0.6], 1: [0.5, 0.0]}, gives=[0, 1, 0]
            ),
            example([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]], 0, {0: [8.0, 0.0], 1: [0.0, 0.0]}, gives=[0, 0, 0]),
        ),
        values(
            "base_logits_count",
            1,
            "The base logits stay in the sum: a bias corrects them and does not replace them.",
            "The corrected row is U_k + B[previous]; a bias alone says nothing about position k.",
            example([[8.0, 0.0], [0.0, 8.0]], 0, {0: [0.0, 1.0], 1: [1.0, 0.0]}, gives=[0, 1]),
        ),
        values(
            "anchor_starts_chain",
            1,
            "The first position is corrected by the anchor, which may lie outside the vocabulary.",
            "Look the anchor up in markov_bias like any token; it needs no column in block_logits.",
            example([[0.0, 1.0]], 9, {9: [2.0, 0.0]}, gives=[0]),
        ),
        values(
            "missing_row_adds_nothing",
            1,
            "A token without a row in markov_bias adds nothing.",
            "markov_bias[token] is zero for a token without a row. A missing row does not bring back an older one.",
            example([[0.0, 1.0], [0.0, 1.0]], 0, {0: [2.0, 0.0]}, gives=[0, 0]),
            example([[1.0, 0.0], [1.0, 0.0]], 5, {5: [0.0, 2.0]}, gives=[1, 0]),
        ),
        values(
            "ties_and_masks",
            1,
            "Of equal sums the lowest id wins; −inf in a row or a bias excludes a token.",
            "np.argmax of the sum does both, as long as −inf is not replaced by a number.",
            example([[-INF, 1.0, 0.5]], 2, {2: [0.0, -0.5, 0.0]}, gives=[1]),
        ),
    ),
)

TASKS = (TASK_2_1, TASK_2_2)
