"""Lesson 08, the bug clinic: what the repairs of 8.1 to 8.5 must satisfy, on features, positions, rows and ids.

Every task has four points or more for its values, one at most for what its bug left intact, and three for manners.
"""

import math
from typing import Any

import numpy as np

from dspark_mini.clinic import (
    block_input_positions,
    draft_in_target_ids,
    read_predictions,
    tapped_features,
    visible_features,
)
from grader.lessons.checks.cases import with_cases
from grader.lessons.checks.lesson_02 import mask
from grader.lessons.tasks import Task, example, values

LESSON = "08_bug_clinic"
STILL_WORKS = "This worked before the repair and must keep working."
INF = math.inf


TASK_8_1 = Task(
    id="8.1",
    lesson=LESSON,
    reference=visible_features,
    todo="compare positions, not numbers of blocks",
    hints=(
        "An earlier block may reach past the anchor of a later one. What it brings from there is the future of the "
        "later block. So whether a feature may be seen is a question about two positions.",
        "Where in the text was each feature read? Which position decides whether a block may know it?",
        "positions = anchors as a column + (0 … γ − 1), flattened          → (A·γ,)\n"
        "return positions < anchors as a column                            → (A, A·γ)",
    ),
    returns="booleans in an array",
    core=(
        values("nothing_at_or_after_anchor", 2)(
            "Where blocks overlap, a block sees no feature at or after its own anchor.",
            "Compare the position where a feature was read with the anchor of the block that looks.",
            example([0, 1], 2, gives=mask("0000", "1000")),
            example([0, 2], 3, gives=mask("000000", "110000")),
        ),
        values("blocks_in_any_order", 1)(
            "Anchors may come in any order and may repeat; a block given later may bring earlier positions.",
            "The number of a block says nothing about its position.",
            example([3, 0], 2, gives=mask("0011", "0000")),
        ),
        values("blocks_apart", 1)(
            "Rising blocks that do not overlap see all of the blocks before them, and no other.",
            f"{STILL_WORKS} Compare with <, position by position.",
            example([0, 2], 2, gives=mask("0000", "1100")),
        ),
    ),
)

STATES = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]

TASK_8_2 = Task(
    id="8.2",
    lesson=LESSON,
    reference=tapped_features,
    todo="take what comes out of a layer, not what goes into it",
    hints=(
        "hidden_states has one entry more than the target has layers. Which entry is the extra one, and where is it?",
        "What comes out of layer 0, and at which place of the list does it stand?",
        "for each layer of layer_ids, in this order:\n    take hidden_states[layer + 1]\nconcatenate what you took",
    ),
    returns="floats in an array",
    core=(
        values("output_of_the_layer", 3)(
            "Layer i gives what comes out of it: hidden_states[i + 1].",
            "hidden_states[0] is the embedding, so every layer's output stands one place further on.",
            example(STATES, [1], gives=np.array([4.0, 5.0])),
            example(STATES, [0], gives=np.array([2.0, 3.0])),
        ),
        values("layers_in_given_order", 1)(
            "Several layers are concatenated in the order in which they are named, repeats included.",
            "Walk over layer_ids as they are: do not sort them and do not drop any.",
            example(STATES, [1, 0, 1], gives=np.array([4.0, 5.0, 2.0, 3.0, 4.0, 5.0])),
        ),
    ),
)

TASK_8_3 = Task(
    id="8.3",
    lesson=LESSON,
    reference=block_input_positions,
    todo="start the block at the anchor's own position",
    hints=(
        "Which token stands in the newest row of the drafter's cache, and which token is the first input of the block?",
        "To which token does the newest row belong? Where in the text does the token after it stand?",
        "anchor = position of the newest row + 1, or 0 where there is no row\n"
        "return anchor, anchor + 1, …: block_size of them",
    ),
    returns="plain ints in a list",
    core=(
        values("after_the_newest_row", 2)(
            "The anchor stands one position after the newest row of the cache, and the masks follow it.",
            "Two inputs with the same position are a sign: the newest row has its position already.",
            example([0, 1, 2], 3, gives=[3, 4, 5]),
            example([0], 2, gives=[1, 2]),
        ),
        values("window_keeps_positions", 1)(
            "Where a window has dropped the oldest rows, the positions go on as if they were there.",
            "The number of rows is not a position; look at the newest row.",
            example([7, 8, 9], 2, gives=[10, 11]),
        ),
        values("empty_cache", 1)(
            "With an empty cache the anchor is the first token of all and stands at 0.",
            f"There is no newest row to look at. {STILL_WORKS}",
            example([], 3, gives=[0, 1, 2]),
        ),
    ),
)

OUTPUTS = [[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.25, 0.5, 1.0]]

TASK_8_4 = Task(
    id="8.4",
    lesson=LESSON,
    reference=read_predictions,
    todo="let the layout say whether the anchor's row predicts",
    hints=(
        "How many rows come out in each layout, and how many of them are predictions?",
        "How many rows does each layout bring for γ predictions? Is there one too many, and which?",
        "first = 1 for 'dflash', 0 for 'dspark'\nread the rows from `first` on, as before",
    ),
    returns="plain ints in a list",
    core=(
        values("every_row_in_dspark", 3)(
            "In the layout 'dspark' every row predicts, the anchor's too: γ rows, γ tokens.",
            "Only the layout 'dflash' has a row that predicts nothing.",
            example(OUTPUTS, "dspark", gives=[1, 0, 2]),
            example([[-INF, 0.5]], "dspark", gives=[1]),
        ),
        values("masks_only_in_dflash", 1)(
            "In the layout 'dflash' the anchor's row is skipped: γ + 1 rows, γ tokens.",
            STILL_WORKS,
            example(OUTPUTS, "dflash", gives=[0, 2]),
        ),
    ),
)


def in_target_ids(token: int, *row: float) -> dict[str, Any]:
    """Write a result of draft_in_target_ids."""
    return {"token": token, "row": np.array(row)}


TASK_8_5 = Task(
    id="8.5",
    lesson=LESSON,
    reference=draft_in_target_ids,
    todo="translate the probabilities by the same table as the token",
    hints=(
        "After the call, which entry of the row belongs to the token? The acceptance ratio will look it up there.",
        "By which table was the token translated, and what would it do with each probability of the row?",
        "row = zeros, one per token of the target\nfor every draft token i: row[i + d2t[i]] = draft_probs[i]",
    ),
    returns="a plain int and an array in a dict",
    core=(
        values("row_in_target_ids", 3)(
            "row[t] is the probability with which the drafter drafts the target's token t, 0 where it cannot.",
            "The row at the translated token must be draft_probs[token]: that is the q of the acceptance ratio.",
            example(1, [0.75, 0.25], [0, 2], 4, gives=in_target_ids(3, 0.75, 0.0, 0.0, 0.25)),
            example(0, [0.5, 0.5], [1, 1], 3, gives=in_target_ids(1, 0.0, 0.5, 0.5)),
        ),
        values("table_without_offsets", 1)(
            "With offsets of 0 the ids are the same, and the row is padded with zeros.",
            "d2t holds offsets, not ids: a 0 means that the id stays.",
            example(1, [0.25, 0.75], [0, 0], 3, gives=in_target_ids(1, 0.25, 0.75, 0.0)),
        ),
    ),
)

TASKS = tuple(with_cases(TASK_8_1, TASK_8_2, TASK_8_3, TASK_8_4, TASK_8_5))
