"""Lesson 01, verification: what its tasks must satisfy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dspark_mini.verification import (
    acceptance_probability,
    residual_distribution,
    verify_greedy,
    verify_sampling,
)
from grader.check.judges import LawCase
from grader.lessons.tasks import Task, example, law, same_seed, values
from grader.run.child.calling import Seed, call

LESSON = "01_verification"
INF = math.inf


def kept(accepted: int, *tokens: int) -> dict[str, Any]:
    """Write down the result of a verifier."""
    return {"accepted": accepted, "tokens": list(tokens)}


TASK_1_1 = Task(
    id="1.1",
    lesson=LESSON,
    reference=verify_greedy,
    todo="keep the drafts while the target would have chosen them, then add its own next token",
    hints=(
        "Row k of target_logits is what the target says after the first k drafts. So draft_tokens[k] is right if it "
        "is the best token of row k, and the last row has no draft to be compared with: it is the bonus.",
        "Find the best token of every row. Count the drafts in front of the first that differs from its row's best "
        "token. What is emitted is always the best token of a row, since an accepted draft *is* that token.",
        "best = the argmax of every row, as a list of plain ints\n"
        "accepted = 0\n"
        "while there is a draft number `accepted` and it equals best[accepted]: accepted += 1\n"
        "tokens = best up to and including number `accepted`",
    ),
    returns="plain ints in a dict with a list",
    core=(
        values("accepts_matching_prefix", 3)(
            "Draft k is accepted while it is the argmax of row k, and the argmax of row `accepted` follows.",
            "Compare draft_tokens[k] with the argmax of row k: row 0 speaks about the first draft.",
            example(
                [1, 2, 0], [[0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.1, 0.6, 0.3], [0.5, 0.3, 0.2]], gives=kept(2, 1, 2, 1)
            ),
        ),
        values("first_mismatch_ends_it", 2)(
            "After the first draft that differs nothing counts, even where it agrees again.",
            "The rows after a wrong draft were computed on top of it: stop there, do not count all agreements.",
            example([0, 0], [[-1.0, 3.0], [5.0, 0.0], [5.0, 0.0]], gives=kept(0, 1)),
        ),
        values("bonus_if_all_accepted", 2)(
            "If all γ drafts are accepted, the argmax of the last row follows: γ + 1 tokens.",
            "There are γ + 1 rows; the last one is free, since the same forward has computed it.",
            example([1], [[0.0, 1.0], [2.0, 0.0]], gives=kept(1, 1, 0)),
        ),
        values("no_drafts", 1)(
            "Without drafts the round is one step of plain greedy decoding.",
            "With γ = 0 there is one row: accepted is 0, and tokens holds its argmax.",
            example([], [[0.25, 0.5, 0.125]], gives=kept(0, 1)),
        ),
        values("ties_go_to_lowest_id", 1)(
            "Of equal logits the lowest id is the target's choice; a draft that ties with it is refused.",
            "Plain decoding would have emitted the lowest id. Compare token ids, not logits.",
            example([1, 0], [[0.5, 0.5], [0.5, 0.5], [0.25, 0.25]], gives=kept(0, 0)),
        ),
        values("masked_and_negative_logits", 1)(
            "−inf is a legal logit, and so are negative ones.",
            "Compare the logits as they are; do not start the search for the best at 0.",
            example([2], [[-INF, -2.0, -1.0], [-7.0, -INF, -INF]], gives=kept(1, 2, 0)),
        ),
    ),
)

P, Q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]

TASK_1_2 = Task(
    id="1.2",
    lesson=LESSON,
    reference=acceptance_probability,
    todo="return the chance min(1, p/q) of the drafted token",
    hints=(
        "The draft proposes this token with probability q[token], and the target wants it with probability p[token]. "
        "How many of these proposals must be kept, so that no more than p[token] come through?",
        "Keep the share p[token] / q[token] of them. If the draft proposes the token too seldom, keep them all: a "
        "probability is never larger than 1. No other entry of p or q matters.",
        "ratio = p[token] / q[token]\nreturn the smaller of 1.0 and ratio",
    ),
    returns="one plain float",
    core=(
        values("ratio_of_target_to_draft", 3)(
            "A token that the draft overrates is accepted with probability p[token] / q[token].",
            "Divide the target's probability by the draft's, both of this token: p over q, not q over p.",
            example(P, Q, 2, gives=1 / 3),
            example([0.25, 0.75], [0.5, 0.5], 0, gives=0.5),
        ),
        values("never_above_one", 2)(
            "A token that the draft underrates is always accepted.",
            "min(1, ratio): where p[token] ≥ q[token], the answer is exactly 1.",
            example(P, Q, 0, gives=1.0),
        ),
        values("edges", 1)(
            "Equal rows: 1. A token that the target excludes: 0. A draft that is sure: p[token] itself.",
            "The one formula covers these cases; a greedy draft has q = 1 for its token, so p[token] remains.",
            example([0.0, 1.0], [0.5, 0.5], 0, gives=0.0),
            example([0.25, 0.75], [1.0, 0.0], 0, gives=0.25),
            example(Q, Q, 1, gives=1.0),
        ),
        values("small_probabilities_count", 1)(
            "Of two tiny probabilities the ratio counts, not their size.",
            "Add no 1e-8 to the denominator, and round nothing away: q[token] is never 0.",
            example([1.0 - 2.0**-41, 2.0**-41], [1.0 - 2.0**-40, 2.0**-40], 1, gives=0.5),
        ),
    ),
)

TASK_1_3 = Task(
    id="1.3",
    lesson=LESSON,
    reference=residual_distribution,
    todo="normalise what the target has in excess of the draft",
    hints=(
        "After acceptance every token has come through with min(p, q). What is still missing, token by token, to "
        "make it p? That is what a rejected round has to give, in the right proportions.",
        "The missing part is p − q where p is larger, and 0 elsewhere. Divide it by its sum. If nothing is missing "
        "anywhere, the sum is 0: return p instead, as a copy.",
        "excess = np.maximum(p − q, 0)\n"
        "mass = sum of excess\n"
        "return excess / mass if mass is positive, else a copy of p",
    ),
    returns="floats in an array",
    core=(
        values("surplus_normalised", 3)(
            "The residual is max(p − q, 0), divided by its sum.",
            "Subtract first, cut off what is negative, then divide by what is left.",
            example(P, Q, gives=np.array([0.75, 0.25, 0.0])),
        ),
        values("every_surplus_counts", 2)(
            "All tokens with an excess share the residual, in proportion to their excess and not to p.",
            "Do not take the largest excess alone, and do not weigh it by p: (.3, .1) becomes (.75, .25).",
            example([0.5, 0.25, 0.25], [0.25, 0.125, 0.625], gives=np.array([2 / 3, 1 / 3, 0.0])),
        ),
        values("equal_rows_return_target", 2)(
            "If nothing is in excess, as for p = q, the residual is p, and never NaN.",
            "A sum of 0 cannot be divided by. Such a round is never rejected, but rounding may lead here.",
            example([0.25, 0.5, 0.25], [0.25, 0.5, 0.25], gives=np.array([0.25, 0.5, 0.25])),
        ),
        values("disjoint_rows", 1)(
            "If p and q have no token in common, the residual is p.",
            "The formula covers it: where q is 0, the excess is p.",
            example([0.75, 0.25, 0.0], [0.0, 0.0, 1.0], gives=np.array([0.75, 0.25, 0.0])),
        ),
        values("tiny_surplus_normalised", 1)(
            "An excess of a millionth is normalised like any other.",
            "Compare the sum with 0, not with a tolerance, and add nothing to the denominator.",
            example([0.5 + 2.0**-20, 0.5 - 2.0**-20], [0.5, 0.5], gives=np.array([1.0, 0.0])),
        ),
    ),
)

SEED = Seed(0)
ZERO = Seed(0, uniforms=(0.0, 0.5))  # random() returns 0.0, once in 2⁵³ calls of a real generator
TOP = Seed(0, uniforms=(1.0 - 2.0**-53, 0.5))


def outcome(result: Any) -> tuple[int, tuple[int, ...]]:
    """Turn the result of a verifier into a key of its law: (accepted, tokens)."""
    return result["accepted"], tuple(result["tokens"])


TASK_1_4 = Task(
    id="1.4",
    lesson=LESSON,
    reference=verify_sampling,
    todo="accept drafts by p/q, replace the first rejected one from the residual, or add a bonus token",
    hints=(
        "Three decisions, each with its own row and its own draw. Is draft k accepted? If one is not: what takes "
        "its place? If all are: what follows? The round ends with exactly one token that was not drafted.",
        "Walk along the drafts and leave the loop at the first rejection. Then one row is left to draw from: "
        "residual_distribution of the rejected position, or the last row of target_probs.",
        "accepted = 0, row = the last row of target_probs\n"
        "for each draft, with its row of p and its row of q:\n"
        "    if rng.random() ≥ p[draft] / q[draft]:\n"
        "        row = residual_distribution(p row, q row), and leave the loop\n"
        "    accepted += 1\n"
        "last = int(rng.choice(number of tokens, p=row))\n"
        "return the number, and the accepted drafts followed by last",
    ),
    returns="plain ints in a dict with a list",
    core=(
        values("sure_rows_decide", 2)(
            "Where the target is sure, the outcome is that of greedy verification.",
            "Draft k is judged by row k of both; a rejected one is replaced, and then nothing more comes.",
            example([1], [[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]], SEED, gives=kept(0, 0)),
            example(
                [1, 0], [[0.25, 0.75], [0.5, 0.5]], [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], SEED, gives=kept(2, 1, 0, 1)
            ),
            example([], [], [[0.0, 0.0, 1.0]], SEED, gives=kept(0, 2)),
        ),
        values("nothing_behind_rejection", 1)(
            "The first rejection ends the round: the drafts after it were made for another text.",
            "Leave the loop at the first rejection; tokens holds accepted + 1 entries.",
            example([0, 1], [[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0]] * 3, SEED, gives=kept(0, 1)),
        ),
        values("certain_whatever_is_drawn", 1)(
            "A draft with p = 0 is never accepted, one with p ≥ q always: even if rng.random() returns 0.0.",
            "random() can return 0.0 but never 1.0: accept if it is below p/q (<, not <=), reject otherwise.",
            example([1], [[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]], ZERO, gives=kept(0, 0)),
            example([1], [[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]], ZERO, gives=kept(1, 1, 0)),
            example([1], [[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]], TOP, gives=kept(1, 1, 0)),
        ),
        law("accepts_with_p_over_q", 3, outcome_of=outcome, samples=200)(
            "A draft is accepted with probability min(1, p/q) of its own token.",
            "Accept if rng.random() < p[k, token] / q[k, token]: a uniform number is below r with probability r. If "
            "the rejected token comes back: its replacement must be drawn from the residual.",
            LawCase(
                call([0], [[0.2, 0.8, 0.0]], [[0.15, 0.0, 0.85], [1.0, 0.0, 0.0]], SEED),
                {(1, (0, 0)): 0.75, (0, (2,)): 0.25},
            ),
        ),
        law("residual_after_rejection", 2, outcome_of=outcome, samples=200)(
            "A rejected draft is replaced from norm(max(p − q, 0)), by a draw of its own.",
            "Not from p, which would bring back what was just rejected, and not with the number that rejected it.",
            LawCase(
                call([0], [[0.5, 0.5, 0.0, 0.0]], [[0.25, 0.5, 0.0625, 0.1875], [1.0, 0.0, 0.0, 0.0]], SEED),
                {(1, (0, 0)): 0.5, (0, (2,)): 0.125, (0, (3,)): 0.375},
            ),
        ),
        law("own_draw_at_every_position", 2, outcome_of=outcome, samples=200)(
            "Every draft is judged by its own rows and by a fresh uniform number.",
            "Call rng.random() inside the loop: with one number for all drafts the second is hardly ever rejected.",
            LawCase(
                call(
                    [1, 0, 0],
                    [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]],
                    [[0.75, 0.25], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]],
                    SEED,
                ),
                {(0, (0,)): 0.5, (2, (1, 0, 1)): 0.25, (3, (1, 0, 0, 1)): 0.25},
            ),
        ),
        law("bonus_from_last_row", 2, outcome_of=outcome, samples=200)(
            "If all drafts are accepted, a token is drawn from the last target row.",
            "The last row of target_probs has no draft; draw from it, do not take its argmax.",
            LawCase(
                call([0], [[0.75, 0.25]], [[0.75, 0.25], [0.125, 0.875]], SEED),
                {(1, (0, 0)): 0.125, (1, (0, 1)): 0.875},
            ),
        ),
        same_seed(1, call([0, 1], [[0.125] * 8] * 2, [[0.0625] * 4 + [0.1875] * 4] * 3, SEED)),
    ),
)

TASKS = (TASK_1_1, TASK_1_2, TASK_1_3, TASK_1_4)
