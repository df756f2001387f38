"""Lesson 01, verification: what 1.5 and 1.6 must satisfy, on the mask and the end of the output."""

from __future__ import annotations

import numpy as np

from dspark_mini.masks import verification_mask
from dspark_mini.verification import cut_output
from grader.lessons.checks.lesson_01 import LESSON
from grader.lessons.tasks import Task, example, values

TASK_1_5 = Task(
    id="1.5",
    lesson=LESSON,
    reference=verification_mask,
    todo="say for every row which columns it may see",
    hints=(
        "Ask of every row what the target would see at this place in plain decoding, where one token comes after "
        "the other. A draft stands where the token would stand if it is accepted.",
        "A token sees everything up to its own place and itself. That is one comparison of two positions, "
        "and it does not ask whether they belong to the context or to the draft.",
        "position = 0, 1, …, n − 1 with n = context_length + draft_length\n"
        "mask[row, column] = (column ≤ row), by broadcasting position against position[:, None]",
    ),
    returns="booleans in an array",
    core=(
        values("draft_sees_earlier_and_itself", 3)(
            "A draft sees the drafts before it and itself, and no later one.",
            "Row k must predict the token after draft k, so it reads draft k itself: the diagonal is True.",
            example(1, 2, gives=np.tri(3, dtype=bool)),
        ),
        values("context_is_causal", 2)(
            "A context token sees the context up to and including itself, and no draft.",
            "The context is text like any other: its rows are causal too, and drafts come after it.",
            example(2, 1, gives=np.tri(3, dtype=bool)),
        ),
        values("draft_sees_whole_context", 2)(
            "A draft sees all of the context.",
            "No context column is hidden from a draft, not even the anchor's.",
            example(2, 2, gives=np.tri(4, dtype=bool)),
        ),
        values("no_context", 1)(
            "Without context the drafts have only each other.",
            "context_length 0 is legal: the mask then has draft_length rows and columns.",
            example(0, 2, gives=np.tri(2, dtype=bool)),
        ),
    ),
)

TASK_1_6 = Task(
    id="1.6",
    lesson=LESSON,
    reference=cut_output,
    todo="cut after the first stop token, and at the cap",
    hints=(
        "Plain decoding looks at every single token: it stops after a stop token, or when there are max_new_tokens "
        "of them. Emitting several tokens per round changes nothing about that.",
        "Cut to the cap first, then look for the first stop token in what is left, from the left. What lies beyond "
        "the cap was never emitted, so a stop token there means nothing.",
        "kept = the first max_new_tokens tokens\n"
        "for each index i and token of kept:\n"
        "    if the token is a stop token: return kept up to and including index i\n"
        "return kept",
    ),
    returns="plain ints in a list",
    core=(
        values("ends_with_first_stop", 3)(
            "The output ends with the first stop token, which belongs to it.",
            "Look from the left, and keep the stop token itself: index + 1 tokens.",
            example([5, 2, 7, 9], [2], 10, gives=[5, 2]),
        ),
        values("any_stop_token_ends", 2)(
            "Any of several stop tokens ends the output, the one that comes first.",
            "Ask of each token whether it is in stop_tokens, instead of looking for one stop token after the other.",
            example([5, 3, 2, 7], [2, 3], 10, gives=[5, 3]),
        ),
        values("capped", 2)(
            "Without a stop token there are at most max_new_tokens tokens.",
            "A slice does it: tokens[:max_new_tokens].",
            example([5, 6, 7], [2], 2, gives=[5, 6]),
            example([5, 6], [2, 3], 10, gives=[5, 6]),
        ),
        values("cap_and_stop_together", 2)(
            "Whichever comes first ends it; a stop token counts towards the cap.",
            "A stop token beyond the cap is not emitted. Do not add it, and do not count it apart.",
            example([5, 6, 2], [2], 2, gives=[5, 6]),
            example([5, 2, 6], [2], 2, gives=[5, 2]),
        ),
        values("nothing_to_cut", 1)(
            "No tokens, no stop tokens and a cap of 0 are legal; token 0 is a token like any other.",
            "A cap of 0 gives an empty list. Do not treat 0, or an empty list, as absent.",
            example([5, 6], [], 1, gives=[5]),
            example([5, 6], [5], 0, gives=[]),
            example([0, 6], [0], 3, gives=[0]),
        ),
    ),
)

TASKS = (TASK_1_5, TASK_1_6)
