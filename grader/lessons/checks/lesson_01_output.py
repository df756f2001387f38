"""Lesson 01, verification: what 1.5 and 1.6 must satisfy, on the mask and the end of the output."""

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
        "Write down the rows of two context tokens and two drafts. Which of them would differ for four context tokens? "
        "What do row and column have in common wherever there is a 1?",
        "position = 0, 1, …, n − 1 with n = context_length + draft_length\n"
        "mask[row, column] = (column ≤ row), by broadcasting position against position[:, None]",
    ),
    returns="booleans in an array",
    core=(
        values("draft_sees_earlier_and_itself", 3)(
            "A draft sees the drafts before it and itself, and no later one.",
            "Row by row, for one context token and two drafts: it sees itself; draft 1 sees it and itself; draft 2 "
            "sees all three.",
            example(1, 2, gives=np.tri(3, dtype=bool)),
        ),
        values("context_is_causal", 2)(
            "A context token sees the context up to and including itself, and no draft.",
            "The context is text like any other: nothing in it looks ahead, with drafts after it or without.",
            example(2, 1, gives=np.tri(3, dtype=bool)),
            example(2, 0, gives=np.tri(2, dtype=bool)),
        ),
        values("draft_sees_whole_context", 2)(
            "A draft sees all of the context.",
            "The first context_length columns are the context. The rows of the drafts see them all, the anchor's too.",
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
        "Which comes first, the cap or a stop token, and does it matter which of them you look for first? Does a stop "
        "token beyond the cap end anything? Which of several stop tokens ends the output?",
        "kept = the first max_new_tokens tokens\n"
        "for each index i and token of kept:\n"
        "    if the token is a stop token: return kept up to and including index i\n"
        "return kept",
    ),
    returns="plain ints in a list",
    core=(
        values("ends_with_first_stop", 3)(
            "The output ends with the first stop token, which belongs to it.",
            "If 2 is a stop token, [5, 2, 7, 9] is cut to [5, 2], however the tokens were split into rounds.",
            example([5, 2, 7, 9], [2], 10, gives=[5, 2]),
        ),
        values("any_stop_token_ends", 2)(
            "Any of several stop tokens ends the output, the one that comes first.",
            "The stop token that comes first in the text ends the output; the order of stop_tokens means nothing.",
            example([5, 3, 2, 7], [2, 3], 10, gives=[5, 3]),
        ),
        values("capped", 2)(
            "Without a stop token there are at most max_new_tokens tokens.",
            "The first max_new_tokens tokens stay; fewer stay as they are.",
            example([5, 6, 7], [2], 2, gives=[5, 6]),
            example([5, 6], [2, 3], 10, gives=[5, 6]),
        ),
        values("cap_and_stop_together", 2)(
            "Whichever comes first ends it; a stop token counts towards the cap.",
            "With a cap of 2, [5, 6, 2] never gets to its stop token, and in [5, 2, 6] it is the second and last.",
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
