"""Lesson 03, sequential heads: what its tasks must satisfy."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import Any

import numpy as np

from dspark_mini.heads import draft_inputs, low_rank_bias, rnn_head_step, sample_markov_block
from grader.check.judges import Example
from grader.lessons.checks.chains import Chain, RowsOfTheDraw
from grader.lessons.tasks import Property, Task, example, law, same_seed, values
from grader.run.child.calling import Seed, call

LESSON = "03_sequential_heads"
INF = math.inf
LN2, LN3, LN4, LN16 = math.log(2), math.log(3), math.log(4), math.log(16)
first_of_pair, second_of_pair = itemgetter(0), itemgetter(1)

# --- 3.1 low_rank_bias ------------------------------------------------------------------------------------------------

TASK_3_1 = Task(
    id="3.1",
    lesson=LESSON,
    reference=low_rank_bias,
    todo="look up one row of W1 and multiply it by W2",
    hints=(
        "The table of all biases is the product W1 W2, with V rows and V columns. One row of a product needs one row "
        "of the left matrix only, so the table itself never has to exist.",
        "Take row `token` of w1, which holds r numbers. A row (r,) times a matrix (r, V) is written with @ and has V "
        "entries.",
        "row = row `token` of w1                # (r,)\nreturn the product of row and w2       # (V,)",
    ),
    returns="float64 numbers in an array",
    core=(
        values("row_of_the_product", 3)(
            "The bias is row `token` of W1, times W2.",
            "Use @: each of the r numbers of the row weighs one row of w2, and the weighted rows are added up.",
            example([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], 1,
                    gives=np.array([0.0, 2.0, 0.0])),
            example([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], 2,
                    gives=np.array([1.0, 3.0, 3.0])),
        ),
        values("rows_are_the_tokens_before", 2)(
            "A row of W1 belongs to the token before, a column of W2 to the token that follows.",
            "Row `token` is w1[token], not w1[:, token]; and w2 is not transposed.",
            example([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [10.0, 1.0]], 0, gives=np.array([21.0, 2.0])),
        ),
        values("every_shape", 1)(
            "Any V and any r will do: r = 1, V = 1, r larger than V, the first token, the last.",
            "Let @ do the sum over r; nothing in your lines should depend on V or r.",
            example([[0.5], [-2.0]], [[4.0, 1.0]], 1, gives=np.array([-8.0, -2.0])),
            example([[0.5], [-2.0]], [[4.0, 1.0]], 0, gives=np.array([2.0, 0.5])),
        ),
    ),
)  # fmt: skip

# --- 3.2 sample_markov_block ------------------------------------------------------------------------------------------

DRAWS = 300  # the known wrong rules are far off


def drawn_tokens(result: Any) -> tuple[int, ...]:
    return tuple(int(token) for token in result[0])


CHAIN = Chain(
    call([[0.0, LN4], [0.0, 0.0]], 0, [[LN4], [-LN4]], [[1.0, 0.0]], Seed(0)),
    ({0: [0.5, 0.5]}, {0: [0.8, 0.2], 1: [0.2, 0.8]}),
)
TEMPERED = Chain(
    call([[0.0, 0.0], [0.0, 0.0]], 0, [[LN16], [-LN16]], [[1.0, 0.0]], Seed(0), 2.0),
    ({0: [0.8, 0.2]}, {0: [0.8, 0.2], 1: [0.2, 0.8]}),
)
UNEQUAL = Chain(
    call([[LN3, 0.0], [0.0, LN3]], 1, [[LN3], [0.0]], [[1.0, 0.0]], Seed(0)),
    ({1: [0.75, 0.25]}, {0: [0.5, 0.5], 1: [0.25, 0.75]}),
)
FIRST = Chain(
    call([[LN3, 0.0, 0.0]], 1, [[0.0], [LN2], [0.0]], [[-1.0, 0.0, 1.0]], Seed(0)),
    ({1: [1.5 / 4.5, 1 / 4.5, 2 / 4.5]},),
)


def block(tokens: list[int], rows: list[list[float]], *args: Any) -> Example:
    """Write an example of which no chance is left."""
    return example(*args, gives=(tokens, np.array(rows)))


TASK_3_2 = Task(
    id="3.2",
    lesson=LESSON,
    reference=sample_markov_block,
    todo="draw each token, and keep its row",
    hints=(
        "Two things go from position to position: which token was drawn, and which rows have been used. The row that "
        "you return is the one that you gave to the generator, with the temperature in it.",
        "Per position: add the bias of the token before to the logits, divide by the temperature, take the softmax "
        "(subtract the maximum first, so that exp never overflows), draw with rng.choice(V, p=row). At temperature 0 "
        "the row has a single 1, at the argmax; a draw from it gives just that token.",
        "previous = the anchor\n"
        "for each row of base logits:\n"
        "    corrected = base logits + (row `previous` of w1) @ w2\n"
        "    if temperature is 0: q = zeros with a 1 at the argmax of corrected\n"
        "    else: weights = exp((corrected - its maximum) / temperature); q = weights / their sum\n"
        "    previous = rng.choice(V, p=q), as a plain int\n"
        "    note previous and q\n"
        "return the tokens as a list and the rows as one array",
    ),
    returns="plain ints in a list and float64 numbers in an array",
    core=(
        law("law_of_the_block", 3, outcome_of=drawn_tokens, samples=DRAWS)(
            "The block is drawn along the chain: every block comes as often as the product of its rows says.",
            "Correct the row by the token that was really drawn before it, then draw from the whole row, not its best "
            "token; the anchor is for x_1 only.",
            CHAIN.law(),
        ),
        Property(
            "first_row_is_corrected",
            2,
            "Row 1 is the softmax of the base logits plus the bias of the anchor.",
            "The row is exp of the corrected logits, divided by its sum; the bias is in it from the first position on.",
            RowsOfTheDraw((FIRST,)),
        ),
        Property(
            "rows_are_those_drawn_from",
            3,
            "Row k is the distribution that token k was drawn from, given the token drawn before it.",
            "Keep each row as you draw from it; do not compute it again afterwards, from other tokens.",
            RowsOfTheDraw((CHAIN, UNEQUAL)),
        ),
        law("temperature_divides_the_sum", 2, outcome_of=drawn_tokens, samples=DRAWS)(
            "The sum of logits and bias is divided by the temperature before the softmax.",
            "softmax((U_k + bias) / temperature): the bias is divided too, and the draw sees the temperature.",
            TEMPERED.law(),
        ),
        Property(
            "rows_have_the_temperature",
            2,
            "The rows that come back have the temperature in them, as the draws have.",
            "Return the very row that you gave to the generator, not the softmax at temperature 1.",
            RowsOfTheDraw((TEMPERED,)),
        ),
        values("zero_is_argmax", 2)(
            "At temperature 0 each token is the best of its corrected row, the lowest id of equals, in a one-hot row.",
            "Do not divide by 0: make the row zeros with a 1 at the argmax of the corrected logits.",
            block([0, 0], [[1.0, 0.0], [1.0, 0.0]],
                  [[0.0, 2.0], [0.0, 1.0]], 0, [[1.0], [-1.0]], [[3.0, 0.0]], Seed(0), 0.0),
            block([1, 0], [[0.0, 1.0], [1.0, 0.0]],
                  [[0.0, 2.0], [0.0, 1.0]], 1, [[1.0], [2.0]], [[0.5, 0.0]], Seed(0), 0.0),
            block([0, 1], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                  [[0.5, 0.5, 0.5], [0.25, 0.5, 0.5]], 2, [[0.0], [1.0], [0.0]], [[1.0, 1.0, 1.0]], Seed(0), 0.0),
        ),
        values("huge_logits_stay_finite", 1)(
            "Logits of thousands, positive or negative, give rows without NaN.",
            "exp overflows from 710 on: subtract the row's maximum before exp.",
            block([1], [[0.0, 1.0]], [[0.0, 600.0]], 0, [[1.0], [1.0]], [[1.0, 0.0]], Seed(0), 1.0),
            block([1], [[0.0, 1.0]], [[0.0, 9000.0]], 0, [[1.0], [1.0]], [[1.0, 0.0]], Seed(0), 1.0),
        ),
        values("excluded_tokens_never_come", 1)(
            "A token with the logit −inf is never drawn, not even where the generator returns 0.0.",
            "rng.choice(V, p=row) sees to it. In a search of your own in the cumulated row, the first sum that is "
            "greater than the uniform number marks the token; equal is not enough.",
            block([1, 1], [[0.0, 1.0, 0.0]] * 2,
                  [[-INF, 0.0, -INF]] * 2, 1, [[0.0], [1.0], [0.0]], [[0.0, 1.0, 2.0]], Seed(0, (0.0, 1.0)), 1.0),
        ),
        same_seed(1, CHAIN.call),
    ),
)  # fmt: skip

# --- 3.3 rnn_head_step ------------------------------------------------------------------------------------------------


def step(state: list[float], bias: list[float], *args: Any) -> Example:
    return example(*args, gives=(np.array(state), np.array(bias)))


BY_HAND = step(
    [1.625], [2.0, -1.0], [2.0], [0.0], [1.0], [[0.0] * 3, [0.0] * 3, [LN3, LN3 / 2, LN3 / 2]], [[4.0, -2.0]]
)
EMPTY_STATE = step(
    [0.4], [1.0], [0.0], [1.0], [0.0], [[0.0] * 3, [-LN4, LN3 / 2, LN3 / 2], [0.0] * 3], [[2.0]]
)  # fmt: skip

TASK_3_3 = Task(
    id="3.3",
    lesson=LESSON,
    reference=rnn_head_step,
    todo="split one product, then state and bias",
    hints=(
        "Follow the numbers: 2r + d of them go in as one vector z, one product makes 3r of them, and these are three "
        "vectors of length r. The gate mixes old state and candidate; the output makes the bias and nothing else.",
        "np.concatenate joins the three inputs in the order state, prev_embedding, hidden; np.split(…, 3) cuts the "
        "product into gate, candidate, output. σ(x) = (1 + tanh(x / 2)) / 2 never overflows. The output goes through "
        "tanh before it meets w2.",
        "z = state, prev_embedding and hidden in one vector\n"
        "gate, candidate, output = the thirds of z @ w_joint\n"
        "keep = σ(gate)\n"
        "new state = keep · state + (1 - keep) · tanh(candidate)\n"
        "return the new state, and tanh(output) @ w2",
    ),
    returns="two arrays of float64 numbers",
    core=(
        values("gate_keeps_the_state", 2, part=first_of_pair)(
            "σ(gate) of the old state is kept, entry by entry.",
            "The first r columns of w_joint are the gate's, and the gate weighs the old state, not the candidate.",
            step([1.0, -2.0], [0.0, 0.0, 0.0],
                 [2.0, -4.0], [1.0, 1.0], [1.0], [[0.0] * 6] * 5, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        ),
        values("candidate_fills_the_rest", 3, part=first_of_pair)(
            "The new state is σ(gate) · state + (1 − σ(gate)) · tanh(candidate).",
            "The candidate is the middle third of the product, goes through tanh and gets the weight 1 − σ(gate).",
            BY_HAND,
        ),
        values("output_gives_the_bias", 3, part=second_of_pair)(
            "The bias is tanh(output) W2, with the output taken from the same product as gate and candidate.",
            "z is state, prev_embedding, hidden, in this order, and the state is the old one. The last r columns are "
            "the output's, which goes through tanh before w2.",
            BY_HAND,
            EMPTY_STATE,
        ),
        values("every_size", 1)(
            "Any r, d and V will do: 1, equal ones, d larger or smaller than r.",
            "Take r from the state's length; np.split(…, 3) needs no sizes at all.",
            EMPTY_STATE,
        ),
        values("saturation_stays_finite", 1)(
            "Sums of thousands open or shut the gate; nothing becomes NaN.",
            "exp(x) / (1 + exp(x)) is inf / inf for a large x; (1 + tanh(x / 2)) / 2 is σ without overflow.",
            step([5.0], [3.0], [5.0], [1.0], [1.0], [[0.0] * 3, [4000.0, 1.0, 4000.0], [0.0] * 3], [[3.0]]),
        ),
    ),
)  # fmt: skip

# --- 3.4 draft_inputs -------------------------------------------------------------------------------------------------

DFLASH = example(7, 99, 3, "dflash", gives=([7, 99, 99, 99], [1, 2, 3]))
DSPARK = example(7, 99, 3, "dspark", gives=([7, 99, 99], [0, 1, 2]))

TASK_3_4 = Task(
    id="3.4",
    lesson=LESSON,
    reference=draft_inputs,
    todo="say what goes in, and which rows predict",
    hints=(
        "Count the outputs first: γ predictions are wanted in either layout. In one of them the anchor's position is "
        "one of the γ, in the other it predicts nothing and one more input is needed.",
        "DFlash: 1 + γ inputs, and positions 1 to γ predict. DSpark: γ inputs, and positions 0 to γ − 1 predict. The "
        "first position that predicts, 1 or 0, is also the number of masks beyond γ − 1.",
        "first = 1 for 'dflash', 0 for 'dspark'\n"
        "ids = the anchor, then block_size - 1 + first masks\n"
        "positions = block_size numbers from first on\n"
        "return ids, positions",
    ),
    returns="two lists of plain ints",
    core=(
        values("dflash_inputs", 2, part=first_of_pair)(
            "DFlash: the anchor, then γ masks.",
            "The anchor's position predicts nothing there, so each of the γ predictions needs a mask.",
            DFLASH,
        ),
        values("dflash_positions", 2, part=second_of_pair)(
            "DFlash: the γ mask positions predict, 1 to γ.",
            "Position 0 is the anchor's; x_1 comes out at the first mask.",
            DFLASH,
        ),
        values("dspark_inputs", 2, part=first_of_pair)(
            "DSpark: the anchor, then γ − 1 masks.",
            "The anchor's own position is one of the γ that predict, so one mask fewer is needed.",
            DSPARK,
        ),
        values("dspark_positions", 2, part=second_of_pair)(
            "DSpark: all γ positions predict, from the anchor's on: 0 to γ − 1.",
            "x_1 comes out at the anchor's position, x_2 at the first mask.",
            DSPARK,
        ),
        values("block_of_one", 1)(
            "γ = 1: DFlash needs one mask, DSpark none.",
            "With γ = 1, [mask] * (γ - 1) is the empty list, and that is right for DSpark.",
            example(4, 9, 1, "dspark", gives=([4], [0])),
        ),
        values("any_tokens", 1)(
            "Token 0 is a token like any other, and the anchor may equal the mask token.",
            "Count positions; never look for the mask token among the ids, and never test a token with `if token`.",
            example(0, 0, 2, "dflash", gives=([0, 0, 0], [1, 2])),
        ),
    ),
)

TASKS = (TASK_3_1, TASK_3_2, TASK_3_3, TASK_3_4)
