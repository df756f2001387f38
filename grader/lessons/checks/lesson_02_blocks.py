"""Lesson 02, parallel drafting: what 2.4 to 2.6 must satisfy, on the mask, the acceptance and the attention."""

import math

import numpy as np

from dspark_mini.confidence import conditional_acceptance
from dspark_mini.drafting import block_attention
from dspark_mini.masks import block_mask
from grader.lessons.checks.lesson_02 import LESSON, mask
from grader.lessons.tasks import Task, example, values

NAN = math.nan

TASK_2_4 = Task(
    id="2.4",
    lesson=LESSON,
    reference=block_mask,
    todo="say for every row which context columns and which block columns it may see",
    hints=(
        "Two questions for every cell, and both are about the block that the row belongs to: is this context column "
        "before the anchor of my block, or is this block column one of my block?",
        "Which block does row 5 belong to, and where is its anchor? Answer that for all rows at once, as an array. "
        "Which comparison of two arrays then gives the left half, and which one the right half?",
        "anchor = each anchor, repeated block_length times: one per row\n"
        "block = 0, 0, …, 1, 1, …: the block of each of the A·γ rows\n"
        "context half: column number < anchor of the row                  → (A·γ, context_length)\n"
        "block half: block of the row == block of the column              → (A·γ, A·γ)\n"
        "return the halves side by side",
    ),
    returns="booleans in an array",
    core=(
        values("rows_and_columns", 1, np.shape)(
            "The shape is (A·γ, context_length + A·γ): a row per block position, a column per position it might see.",
            "Context positions have columns and no rows. Are rows and columns exchanged, or is one half missing?",
            example(3, [2], 1, gives=mask("1101")),
            example(1, [0, 1], 2, gives=mask("01100", "01100", "10011", "10011")),
        ),
        values("context_before_anchor", 2)(
            "A row sees the context strictly before its own anchor, and nothing at or after it.",
            "Compare cell by cell, True for what may be seen. The context's columns come first, and the anchor's own "
            "features are not known when its block is drafted.",
            example(3, [2], 1, gives=mask("1101")),
            example(3, [1], 1, gives=mask("1001")),
        ),
        values("both_directions_in_block", 1)(
            "A row sees every position of its own block, before and after itself.",
            "A block is drafted in one go: each of its rows sees all of its columns, and its own among them.",
            example(1, [1], 3, gives=mask("1111", "1111", "1111")),
        ),
        values("blocks_do_not_mix", 2)(
            "Blocks packed into one forward never see each other, and each has its own anchor.",
            "Find the first cell that differs. Which block does its row belong to, and what may that block see: its "
            "own columns, and the context before its own anchor?",
            example(2, [0, 1], 2, gives=mask("001100", "001100", "100011", "100011")),
        ),
        values("blocks_in_given_order", 1)(
            "Blocks stand in the order of anchor_positions; anchors may repeat or go back.",
            "Each entry of anchor_positions is a block of its own, and its rows stand where the entry stands in the "
            "list, whatever the other entries are.",
            example(3, [2, 0], 1, gives=mask("11010", "00001")),
            example(2, [2, 1, 1], 1, gives=mask("11100", "10010", "10001")),
        ),
        values("edges_of_the_context", 1)(
            "An anchor of 0 sees no context, one of context_length all of it; no context is legal.",
            "0 and context_length are anchors like any other, and with context_length 0 the left half has no columns.",
            example(0, [0], 2, gives=mask("11", "11")),
        ),
    ),
)

TASK_2_5 = Task(
    id="2.5",
    lesson=LESSON,
    reference=conditional_acceptance,
    todo="find the share of rounds that passed each position, among those that can tell",
    hints=(
        "A position can only be accepted in a round that accepted everything before it. So the rate of position k "
        "compares two groups of rounds, one within the other.",
        "Which rounds tried position k at all, and which of them passed it? In terms of their counts? What do you know "
        "of a position that no round tried?",
        "reached = for k from 0 to block_size: number of rounds with count ≥ k\n"
        "for k from 1 to block_size: reached[k] / reached[k − 1], or nan where reached[k − 1] is 0",
    ),
    returns="plain floats in a list",
    core=(
        values("passed_among_reached", 3)(
            "Position k: rounds with at least k accepted, among those with at least k − 1.",
            "The list has γ entries. Take one of them: which rounds of the example passed this position, and which "
            "tried it? A count of k means that positions 1 to k passed.",
            example([2, 0, 1, 2], 3, gives=[0.75, 2 / 3, 0.0]),
            example([2, 2], 2, gives=[1.0, 1.0]),
        ),
        values("condition_on_reaching", 2)(
            "The denominator is the rounds that came so far, not all the rounds.",
            "Only rounds that accepted everything before position k have tried it. Rates may rise along the block.",
            example([0, 0, 0, 2], 2, gives=[0.25, 1.0]),
        ),
        values("unreached_is_nan", 2)(
            "Where no round came that far, the rate is nan; without rounds all of them are.",
            "float('nan') says that nobody knows. 0 would say that the position always fails, and that is a rate like "
            "any other.",
            example([0, 0], 3, gives=[0.0, NAN, NAN]),
            example([], 2, gives=[NAN, NAN]),
        ),
    ),
)

TWO, NONE = [[0.0], [0.0]], np.zeros((0, 1))

TASK_2_6 = Task(
    id="2.6",
    lesson=LESSON,
    reference=block_attention,
    todo="let the block's queries read the context before the anchor and the block itself",
    hints=(
        "Attention asks every row that may be seen for its key, and mixes the values by how well the keys match. What "
        "DFlash changes is only the list of rows: some of them come from the target's features.",
        "Which rows may a query see, and in what order do they lie in your arrays? What shape do the scores have, and "
        "along which axis must a query's weights sum to 1? What does np.exp(1000.0) give?",
        "keys = the context's keys before the anchor, then the block's; values likewise\n"
        "scores = queries · keysᵀ / √d                  → (n, rows seen)\n"
        "weights = exp(scores − the greatest score of each query), divided by their sum for each query\n"
        "return weights · values                       → (n, d)",
    ),
    returns="floats in an array",
    core=(
        values("block_reads_itself", 2)(
            "Each position of the block reads all of the block, before and after itself.",
            "With equal scores a query reads the mean of all values. There is one row of the result per query.",
            example(TWO, TWO, [[2.0], [6.0]], NONE, NONE, 0, gives=np.array([[4.0], [4.0]])),
            example(TWO, TWO, [[0.0], [8.0]], NONE, NONE, 0, gives=np.array([[4.0], [4.0]])),
        ),
        values("context_before_anchor", 3)(
            "It also reads the target's features at the positions before the anchor, and none at or after it.",
            "How many rows does a query see? anchor_position of the context and all of the block, in one softmax; the "
            "others have no weight at all, which is not the same as a score of 0.",
            example([[0.0]], [[0.0]], [[4.0]], TWO, [[2.0], [9.0]], 1, gives=np.array([[3.0]])),
            example([[0.0]], [[0.0]], [[4.0]], TWO, [[2.0], [9.0]], 0, gives=np.array([[4.0]])),
            example([[0.0]], [[0.0]], [[4.0]], TWO, [[2.0], [9.0]], 2, gives=np.array([[5.0]])),
            example([[8.0]], [[1.0]], [[4.0]], [[1.0], [2.0]], [[2.0], [9.0]], 1, gives=np.array([[3.0]])),
        ),
        values("scaled_softmax", 2)(
            "The weights of a query are the softmax of its products with the keys, divided by √d.",
            "For one query, by hand: its product with each key, over √d; exp of these; each over their sum. d is the "
            "length of a query, and each query has a sum of its own.",
            example(
                [[math.log(9.0), 0.0, 0.0, 0.0]],
                [[0.0, 0.0, 0.0, 0.0]],
                [[4.0, 0.0, 0.0, 0.0]],
                [[1.0, 0.0, 0.0, 0.0]],
                [[0.0, 8.0, 0.0, 0.0]],
                1,
                gives=np.array([[1.0, 6.0, 0.0, 0.0]]),
            ),
            example(
                [[math.log(3.0)], [0.0]], [[1.0], [0.0]], [[4.0], [0.0]], NONE, NONE, 0, gives=np.array([[3.0], [2.0]])
            ),
        ),
        values("large_scores", 1)(
            "Large scores are no trouble: the greatest gets its weight, and nothing becomes nan.",
            "exp(1000) is inf, and exp(−1000) is 0. What may you subtract from all scores of a query without "
            "changing its weights?",
            example([[30.0], [-30.0]], [[40.0], [0.0]], [[1.0], [2.0]], NONE, NONE, 0, gives=np.array([[1.0], [2.0]])),
        ),
    ),
)

TASKS = (TASK_2_4, TASK_2_5, TASK_2_6)
