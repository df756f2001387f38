"""Lesson 01, verification: what its tasks must satisfy."""

import math
from typing import Any

import numpy as np

from dspark_mini.verification import acceptance_probability, residual_distribution, verify_greedy, verify_sampling
from grader.check.comparison import shown
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
    todo="keep what greedy decoding would have said, and go one token further",
    hints=(
        "Row k of target_logits is what the target says after the first k drafts. So draft_tokens[k] is right if it "
        "is the best token of row k, and the last row has no draft to be compared with: it is the bonus.",
        "Which row judges draft 0? When does the search end, and what are the two ways to end it? Which row gives the "
        "token after the accepted drafts, if one was rejected, and if none was? Is it the same rule in both cases?",
        "best = the argmax of every row, as a list of plain ints\n"
        "accepted = 0\n"
        "while there is a draft number `accepted` and it equals best[accepted]: accepted += 1\n"
        "tokens = best up to and including number `accepted`",
    ),
    returns="plain ints in a dict with a list",
    core=(
        values("accepts_matching_prefix", 3)(
            "Draft k is accepted while it is the argmax of row k, and the argmax of row `accepted` follows.",
            "For drafts [1, 2, 0], rows 0 and 1 agree with the first two, and row 2 says 1 in place of 0.",
            example(
                [1, 2, 0], [[0.1, 0.8, 0.1], [0.2, 0.1, 0.7], [0.1, 0.6, 0.3], [0.5, 0.3, 0.2]], gives=kept(2, 1, 2, 1)
            ),
        ),
        values("first_mismatch_ends_it", 2)(
            "After the first draft that differs nothing counts, even where it agrees again.",
            "Where a draft differs, the row's own token comes in its place, and that is all: the later rows were "
            "computed on top of a wrong token.",
            example([0, 0], [[-1.0, 3.0], [5.0, 0.0], [5.0, 0.0]], gives=kept(0, 1)),
        ),
        values("bonus_if_all_accepted", 2)(
            "If all γ drafts are accepted, the argmax of the last row follows: γ + 1 tokens.",
            "There are γ + 1 rows. With γ accepted drafts the last row is the next one, and it is free.",
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
            "The best logit may be negative: −1 is more than −2, and −7 is more than −inf.",
            example([2], [[-INF, -2.0, -1.0], [-7.0, -INF, -INF]], gives=kept(1, 2, 0)),
        ),
    ),
)

P, Q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]

TASK_1_2 = Task(
    id="1.2",
    lesson=LESSON,
    reference=acceptance_probability,
    todo="return the chance that this draft is accepted",
    hints=(
        "The draft proposes this token with probability q[token], and the target wants it with probability p[token]. "
        "How many of these proposals must be kept, so that no more than p[token] come through?",
        "If 60 of 100 rounds propose the token and 20 are wanted, which share may come through? What if 20 propose it "
        "and 50 are wanted? And does any other entry of p or q play a part?",
        "ratio = p[token] / q[token]\nreturn the smaller of 1.0 and ratio",
    ),
    returns="one plain float",
    core=(
        values("ratio_of_target_to_draft", 3)(
            "A token that the draft overrates is accepted with probability p[token] / q[token].",
            "If a token is drafted with .6 and wanted with .2, a third of its drafts may come through.",
            example(P, Q, 2, gives=1 / 3),
            example([0.25, 0.75], [0.5, 0.5], 0, gives=0.5),
        ),
        values("never_above_one", 2)(
            "A token that the draft underrates is always accepted.",
            "If a token is wanted with .5 and drafted with .2, every draft is welcome; a probability ends at 1.",
            example(P, Q, 0, gives=1.0),
        ),
        values("edges", 1)(
            "Equal rows: 1. A token that the target excludes: 0. A draft that is sure: p[token] itself.",
            "One formula covers all of them, so none needs an `if`: put p = 0, q = 1 and p = q into yours.",
            example([0.0, 1.0], [0.5, 0.5], 0, gives=0.0),
            example([0.25, 0.75], [1.0, 0.0], 0, gives=0.25),
            example(Q, Q, 1, gives=1.0),
        ),
        values("small_probabilities_count", 1)(
            "Of two tiny probabilities the ratio counts, not their size.",
            "Nothing guards against a q of 0, since q[token] is never 0; and nothing is rounded away.",
            example([1.0 - 2.0**-41, 2.0**-41], [1.0 - 2.0**-40, 2.0**-40], 1, gives=0.5),
        ),
    ),
)

TASK_1_3 = Task(
    id="1.3",
    lesson=LESSON,
    reference=residual_distribution,
    todo="return the distribution of what is missing",
    hints=(
        "After acceptance every token has come through with min(p, q). What is still missing, token by token, to "
        "make it p? That is what a rejected round has to give, in the right proportions.",
        "Where p is smaller than q, is anything missing? What do the missing parts of the picture add up to, and what "
        "should a distribution add up to? And what is left to return if nothing is missing anywhere?",
        "excess = np.maximum(p − q, 0)\nmass = sum of excess\nreturn excess / mass if mass is positive, else p",
    ),
    returns="floats in an array",
    core=(
        values("surplus_normalised", 3)(
            "The residual is max(p − q, 0), divided by its sum.",
            "(.5, .3, .2) and (.2, .2, .6): tokens 0 and 1 lack .3 and .1, token 2 lacks nothing. The sum must be 1.",
            example(P, Q, gives=np.array([0.75, 0.25, 0.0])),
        ),
        values("every_surplus_counts", 2)(
            "All tokens with an excess share the residual, in proportion to their excess and not to p.",
            "Excesses of .25 and .125 are two to one, so 2/3 and 1/3. Nothing but the excess plays a part.",
            example([0.5, 0.25, 0.25], [0.25, 0.125, 0.625], gives=np.array([2 / 3, 1 / 3, 0.0])),
        ),
        values("equal_rows_return_target", 2)(
            "If nothing is in excess, as for p = q, the residual is p, and never NaN.",
            "What does your sum come to where p = q? Such a draft is never rejected, but rounding may lead there.",
            example([0.25, 0.5, 0.25], [0.25, 0.5, 0.25], gives=np.array([0.25, 0.5, 0.25])),
        ),
        values("disjoint_rows", 1)(
            "If p and q have no token in common, the residual is p.",
            "Where q is 0, the excess is p; the token that is drafted in vain has none.",
            example([0.75, 0.25, 0.0], [0.0, 0.0, 1.0], gives=np.array([0.75, 0.25, 0.0])),
        ),
        values("tiny_surplus_normalised", 1)(
            "An excess of a millionth is normalised like any other.",
            "However small the excess, its parts keep their proportions and add up to 1; only 0 is nothing.",
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


def as_result(outcome: tuple[int, tuple[int, ...]]) -> str:
    """Write an outcome as the verifier returns it."""
    return shown({"accepted": outcome[0], "tokens": list(outcome[1])})


TASK_1_4 = Task(
    id="1.4",
    lesson=LESSON,
    reference=verify_sampling,
    todo="judge the drafts one by one, then draw the token that ends the round",
    hints=(
        "Three decisions, each with its own row and its own draw. Is draft k accepted? If one is not: what takes "
        "its place? If all are: what follows? The round ends with exactly one token that was not drafted.",
        "How many numbers does a round draw, at least and at most? Every round ends with one drawn token: from which "
        "row is it drawn if all drafts passed, and from which if draft k did not? What must be remembered for that?",
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
            "Draft k is judged by row k of both. Of the lesson's examples one rejects for certain, one accepts both "
            "drafts, one has none; each round ends with one token of the target's.",
            example([1], [[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]], SEED, gives=kept(0, 0)),
            example([1, 0], [[0.25, 0.5, 0.25]] * 2, np.eye(3)[[1, 0, 2]].tolist(), SEED, gives=kept(2, 1, 0, 2)),
            example([], [], [[0.0, 0.0, 1.0]], SEED, gives=kept(0, 2)),
        ),
        values("nothing_behind_rejection", 1)(
            "The first rejection ends the round: the drafts after it were made for another text.",
            "One token takes the rejected draft's place, and the round is over. A later draft may pass, but it "
            "followed another token.",
            example([0, 1], [[0.5, 0.5], [0.5, 0.5]], [[0.0, 1.0]] * 3, SEED, gives=kept(0, 1)),
        ),
        values("certain_whatever_is_drawn", 1)(
            "What has probability 0 never happens, and what has 1 always does: even if rng.random() returns 0.0.",
            "random() can return 0.0 but never 1.0. Put 0.0 and p/q = 0 into your comparison, then 0.0 and p/q = 1. "
            "Likewise the added token is never one without a probability.",
            example([1], [[0.5, 0.5]], [[1.0, 0.0], [0.0, 1.0]], ZERO, gives=kept(0, 0)),
            example([1], [[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]], ZERO, gives=kept(1, 1, 0)),
            example([1], [[0.5, 0.5]], [[0.5, 0.5], [1.0, 0.0]], TOP, gives=kept(1, 1, 0)),
            example([], [], [[0.0, 1.0]], ZERO, gives=kept(0, 1)),
        ),
        law("accepts_with_p_over_q", 3, outcome_of=outcome, samples=200, in_words=as_result)(
            "A draft is accepted with probability min(1, p/q) of its own token.",
            "For p/q = .15/.2 the draft must pass in three of four rounds; otherwise a token must come that the "
            "target has in excess.",
            LawCase(
                call([0], [[0.2, 0.8, 0.0]], [[0.15, 0.0, 0.85], [1.0, 0.0, 0.0]], SEED),
                {(1, (0, 0)): 0.75, (0, (2,)): 0.25},
            ),
        ),
        law("residual_after_rejection", 2, outcome_of=outcome, samples=200, in_words=as_result)(
            "A rejected draft is replaced from norm(max(p − q, 0)), by a draw of its own.",
            "An excess of 1/16, 3/32 and 3/32 makes a residual of 1/4, 3/8 and 3/8. Which number decides between "
            "these tokens? Not the one that has rejected the draft.",
            LawCase(
                call(
                    [0],
                    [[0.5, 0.5, 0.0, 0.0, 0.0]],
                    [[0.25, 0.5, 0.0625, 0.09375, 0.09375], [1.0, 0.0, 0.0, 0.0, 0.0]],
                    SEED,
                ),
                {(1, (0, 0)): 0.5, (0, (2,)): 0.125, (0, (3,)): 0.1875, (0, (4,)): 0.1875},
            ),
        ),
        law("own_draw_at_every_position", 2, outcome_of=outcome, samples=200, in_words=as_result)(
            "Every draft is judged by its own rows and by a fresh uniform number.",
            "Of three drafts with chances of .25/.5, .5/.5 and .5/1, each judged on its own, half of the rounds go on, "
            "then all of these, then half of these.",
            LawCase(
                call(
                    [1, 0, 0],
                    [[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]],
                    [[0.75, 0.25], [0.5, 0.5], [0.5, 0.5], [0.0, 1.0]],
                    SEED,
                ),
                {(0, (0,)): 0.5, (2, (1, 0, 1)): 0.25, (3, (1, 0, 0, 1)): 0.25},
            ),
            LawCase(
                call([0, 0], [[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]], SEED),
                {(1, (0, 1)): 0.5, (2, (0, 0, 1)): 0.5},
            ),
        ),
        law("bonus_from_last_row", 2, outcome_of=outcome, samples=200, in_words=as_result)(
            "If all drafts are accepted, a token is drawn from the last target row.",
            "The draft always passes here, p = q. What follows is a draw from (.125, .875), the row without a draft.",
            LawCase(
                call([0], [[0.75, 0.25]], [[0.75, 0.25], [0.125, 0.875]], SEED),
                {(1, (0, 0)): 0.125, (1, (0, 1)): 0.875},
            ),
        ),
        same_seed(1, call([0, 1], [[0.125] * 8] * 2, [[0.0625] * 4 + [0.1875] * 4] * 3, SEED)),
    ),
)

TASKS = (TASK_1_1, TASK_1_2, TASK_1_3, TASK_1_4)
