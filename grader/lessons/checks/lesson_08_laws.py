"""Lesson 08, the bug clinic: what the repairs of 8.6 to 8.9 must satisfy, on the law of the emitted tokens."""

from typing import Any

import numpy as np

from dspark_mini.clinic import accepted_by_uniforms, emit_one_token, greedy_proposal, top_k_proposal
from grader.check.judges import LawCase
from grader.lessons.checks.cases import with_cases
from grader.lessons.checks.lesson_08 import LESSON, STILL_WORKS
from grader.lessons.tasks import Task, example, law, same_seed, values
from grader.run.child.calling import Seed, call

DRAWS = 400  # in one case or another every known wrong rule leaves an outcome out, or doubles its chance


def proposed(tokens: list[int], *rows: list[float]) -> dict[str, Any]:
    """Write a result of greedy_proposal."""
    return {"tokens": tokens, "rows": np.array(rows)}


TASK_8_6 = Task(
    id="8.6",
    lesson=LESSON,
    reference=greedy_proposal,
    todo="hand over the rows that the tokens were really drawn from",
    hints=(
        "q(x) answers one question: how probable was it that this drafter, drafting in this way, would draft x?",
        "With which probability does an argmax draft its best token, and with which any other?",
        "tokens = argmax of each row\nrows = zeros, with a 1 at the token of each row",
    ),
    returns="plain ints in a list and an array, both in a dict",
    core=(
        values("rows_are_certain", 2)(
            "A greedy draft has q = 1 at its token and 0 everywhere else.",
            "np.eye(V)[tokens] is one such row for each token.",
            example([[0.75, 0.25]], gives=proposed([0], [1.0, 0.0])),
            example([[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]], gives=proposed([2, 0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0])),
        ),
        values("ties_go_to_lowest_id", 1)(
            "Of equal probabilities the lowest id is drafted, and it alone has q = 1.",
            "Make the row from the token, not from a comparison with the maximum.",
            example([[0.25, 0.375, 0.375]], gives=proposed([1], [0.0, 1.0, 0.0])),
        ),
        values("certain_rows_stay", 1)(
            "A drafter that was certain before hands over the same rows as before.",
            STILL_WORKS,
            example([[0.0, 1.0]], gives=proposed([1], [0.0, 1.0])),
        ),
    ),
)


def with_row(result: Any) -> tuple[int, tuple[float, ...]]:
    """Turn a proposal into an outcome: the token together with the row that is said to be its law."""
    row = np.asarray(result["row"], dtype=np.float64)
    return int(result["token"]), tuple(float(p) for p in row.round(9))


LOWEST = Seed(0, uniforms=(0.0,))
TOP_ROW, WHOLE_ROW = (0.625, 0.375, 0.0), (0.125, 0.625, 0.25)

TASK_8_7 = Task(
    id="8.7",
    lesson=LESSON,
    reference=top_k_proposal,
    todo="hand over the row that the token was drawn from",
    hints=(
        "The row is more than a note: it is the q of p(x)/q(x). How probable is a token that top-k has thrown away, "
        "and how probable has every other one become?",
        "With which weights is the token really drawn? Where in the row do they belong, and what stands in all "
        "other places?",
        "row = zeros, one per token\nrow[kept] = the kept probabilities, divided by their sum\n"
        "draw the token from row, and hand over row",
    ),
    returns="a plain int and an array in a dict",
    core=(
        law("row_is_what_was_drawn_from", 2, outcome_of=with_row, samples=DRAWS)(
            "The token is drawn from the top_k tokens, and row holds the very probabilities it was drawn with.",
            "Divide the kept probabilities by their sum, set all others to 0, and draw from that very row.",
            LawCase(call([0.5, 0.3, 0.2], 2, Seed(0)), {(0, TOP_ROW): 0.625, (1, TOP_ROW): 0.375}),
        ),
        law("all_tokens_kept", 1, outcome_of=with_row, samples=DRAWS // 2)(
            "A top_k of V or more keeps the row as it is.",
            STILL_WORKS,
            *(
                LawCase(call(list(WHOLE_ROW), top_k, Seed(0)), {(x, WHOLE_ROW): p for x, p in enumerate(WHOLE_ROW)})
                for top_k in (3, 7)
            ),
        ),
        values("kept_tokens_only", 1)(
            "Nothing but the top_k tokens is drafted or has a probability; of equal ones the lowest ids are kept.",
            'Some sorts keep equal entries in their order (kind="stable"), others do not, and a long row shows it.',
            example([0.25, 0.5, 0.25], 1, LOWEST, gives={"token": 1, "row": np.array([0.0, 1.0, 0.0])}),
            example([0.375, 0.25, 0.375], 1, LOWEST, gives={"token": 0, "row": np.array([1.0, 0.0, 0.0])}),
            example([0.0] * 4 + [0.0625] * 16, 1, LOWEST, gives={"token": 4, "row": np.eye(20)[4]}),
        ),
        same_seed(1, call([0.125] * 8, 8, Seed(0))),
    ),
)

EVEN = [0.5, 0.25, 0.25]

TASK_8_8 = Task(
    id="8.8",
    lesson=LESSON,
    reference=accepted_by_uniforms,
    todo="divide the target's probability of the draft by the drafter's",
    hints=(
        "The acceptance ratio compares two models on one token. Which of the two does the code never ask?",
        "p(x) / max p compares the target with itself. Which number says how probable the draft was where it was "
        "drawn?",
        "for each draft k with its token x:\n    stop, unless uniforms[k] < target_probs[k, x] / draft_probs[k, x]\n"
        "    count it",
    ),
    returns="one plain int",
    core=(
        values("ratio_of_target_to_draft", 2)(
            "Draft k passes if uniforms[k] is below p_k(x_k) / q_k(x_k).",
            "A token that the target likes better than the drafter does always passes, be it the target's best or not.",
            example([0], [[0.25, 0.5, 0.25]], [[0.25, 0.25, 0.5]], [0.75], gives=1),
            example([1, 0], [[0.125, 0.125, 0.75]] * 2, [[0.125, 0.25, 0.625]] * 2, [0.9, 0.9], gives=2),
            example([0, 0], [EVEN] * 2, [[0.25, 0.5, 0.25]] * 2, [0.375, 0.375], gives=2),
        ),
        values("sure_drafter_pays", 1)(
            "A drafter that is surer of its token than the target is rejected in proportion.",
            "q(x) may be above every p: then the divisor is larger than the target's maximum. No uniform is below a "
            "ratio of 0: compare with <.",
            example([0], [[0.75, 0.125, 0.125]], [[0.375, 0.375, 0.25]], [0.75], gives=0),
            example([0], [EVEN], [[0.0, 0.5, 0.5]], [0.0], gives=0),
            example([0], [EVEN], [[0.25, 0.5, 0.25]], [0.5], gives=0),
        ),
        values("first_failure_ends", 1)(
            "The first draft that fails ends the count; later ones are not looked at.",
            STILL_WORKS,
            example([0, 1, 0], [EVEN, [0.25, 0.5, 0.25], EVEN], [EVEN, EVEN, EVEN], [0.9, 0.75, 0.25], gives=1),
            example([0, 0], [EVEN] * 2, [EVEN] * 2, [0.25, 0.9], gives=2),
        ),
    ),
)

TASK_8_9 = Task(
    id="8.9",
    lesson=LESSON,
    reference=emit_one_token,
    todo="draw anew for the token that replaces a rejected draft",
    hints=(
        "What does a rejection say about the uniform that caused it? Which values can it no longer have?",
        "After a rejection the uniform lies above the ratio. Which tokens of the residual can it still reach?",
        "with probability p[token] / q[token]: return token\n"
        "residual = max(p − q, 0), divided by its sum\n"
        "return a token drawn from residual, with a fresh call of rng",
    ),
    returns="one plain int",
    core=(
        law("two_independent_decisions", 4, outcome_of=int, samples=DRAWS)(
            "The draft is kept with probability min(1, p/q); else a token of the residual is drawn, independently.",
            "Ask rng twice: once to accept, and once more for the token of the residual.",
            LawCase(call(0, [0.25, 0.375, 0.375], [0.5, 0.25, 0.25], Seed(0)), {0: 0.5, 1: 0.25, 2: 0.25}),
            LawCase(call(0, [0.125, 0.5, 0.375], [0.625, 0.125, 0.25], Seed(0)), {0: 0.2, 1: 0.6, 2: 0.2}),
        ),
        values("nothing_left_to_chance", 1)(
            "A draft with p ≥ q always passes; one with p = 0 never does, and no token with p = 0 replaces it, even if "
            "rng.random() returns 0.0.",
            "A generator may return 0.0. With <, no uniform is below a ratio of 0, and every one is below 1.",
            example(1, [0.25, 0.75], [0.5, 0.5], Seed(0), gives=1),
            example(0, [1.0, 0.0], [0.5, 0.5], Seed(0), gives=0),
            example(0, [0.0, 1.0], [0.5, 0.5], Seed(0, uniforms=(0.0,)), gives=1),
            example(2, [0.5, 0.5, 0.0], [0.0, 0.5, 0.5], Seed(0), gives=0),
            example(2, [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], Seed(0, uniforms=(0.5, 0.0)), gives=1),
        ),
        same_seed(1, call(8, [0.125] * 8 + [0.0], [0.0] * 8 + [1.0], Seed(0))),
    ),
)

TASKS = tuple(with_cases(TASK_8_6, TASK_8_7, TASK_8_8, TASK_8_9))
