"""Lesson 03, sequential heads: what its tasks must satisfy."""

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

THIN = ([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])

TASK_3_1 = Task(
    id="3.1",
    lesson=LESSON,
    reference=low_rank_bias,
    todo="return one row of the table, without the table",
    hints=(
        "The table of all biases is the product W1 W2, with V rows and V columns. One row of a product needs one row "
        "of the left matrix only, so the table itself never has to exist.",
        "Write the shapes side by side: (V, r) times (r, V). Which numbers of the left matrix play a part in row 1 of "
        "the product, and which of the right one? What shape is left over?",
        "row = row `token` of w1                # (r,)\nreturn the product of row and w2       # (V,)",
    ),
    returns="float64 numbers in an array",
    core=(
        values("row_of_the_product", 3)(
            "The bias is row `token` of W1, times W2.",
            "If a token has [0, 2] in W1, its bias is none of the first row of W2 and twice the second.",
            example(*THIN, 1, gives=np.array([0.0, 2.0, 0.0])),
            example(*THIN, 2, gives=np.array([1.0, 3.0, 3.0])),
        ),
        values("rows_are_the_tokens_before", 2)(
            "A row of W1 belongs to the token before, a column of W2 to the token that follows.",
            "[1, 2] is the row of token 0, and [1, 0], [10, 1] are the rows of W2: 1·[1, 0] + 2·[10, 1] = [21, 2].",
            example([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [10.0, 1.0]], 0, gives=np.array([21.0, 2.0])),
        ),
        values("every_shape", 1)(
            "Any V and any r will do: r = 1, V = 1, r larger than V, the first token, the last.",
            "Nothing in your lines should depend on V or r, and the result has V entries even if V is 1.",
            example([[0.5], [-2.0]], [[4.0, 1.0]], 1, gives=np.array([-8.0, -2.0])),
            example([[0.5], [-2.0]], [[4.0, 1.0]], 0, gives=np.array([2.0, 0.5])),
        ),
    ),
)

# --- 3.2 sample_markov_block ------------------------------------------------------------------------------------------

DRAWS = 300  # the known wrong rules are far off


def drawn_tokens(result: Any) -> tuple[int, ...]:
    """Take the tokens out of a result."""
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
NO_BIAS = Chain(call([[LN16, 0.0]], 0, [[0.0], [0.0]], [[0.0, 0.0]], Seed(0), 2.0), ({0: [0.8, 0.2]},))
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
    todo="draw a block, and return what it was drawn from",
    hints=(
        "Two things go from position to position: which token was drawn, and which rows have been used. The row that "
        "you return is the one that you gave to the generator, with the temperature in it.",
        "What must position k know about position k − 1, and what else about the block? Which operation makes a row of "
        "probabilities from logits, and where does the temperature go? What row, given to the generator, makes a draw "
        "at temperature 0 certain?",
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
            "First the first position: is it drawn from the right row? Then the second: its row depends on the token "
            "that was drawn at the first, which is not always the best one.",
            CHAIN.law(),
        ),
        Property(
            "first_row_is_corrected",
            2,
            "Row 1 is the softmax of the base logits plus the bias of the anchor.",
            "If the sums are ln 3 − ln 2, 0 and ln 2, the weights are 1.5, 1 and 2, divided by their sum.",
            RowsOfTheDraw((FIRST,)),
        ),
        Property(
            "rows_are_those_drawn_from",
            3,
            "Row k is the distribution that token k was drawn from, given the token drawn before it.",
            "Row k belongs to the token just before position k, the one in this very block. Compare the rows with the "
            "tokens returned beside them.",
            RowsOfTheDraw((CHAIN, UNEQUAL)),
        ),
        law("temperature_divides_the_sum", 2, outcome_of=drawn_tokens, samples=DRAWS)(
            "The sum of logits and bias is divided by the temperature before the softmax.",
            "At temperature 2 a bias of ln 16 counts like one of ln 4, and so does a logit. The draws must show it.",
            TEMPERED.law(),
            NO_BIAS.law(),
        ),
        Property(
            "rows_have_the_temperature",
            2,
            "The rows that come back have the temperature in them, as the draws have.",
            "At temperature 2 a bias of ln 16 counts like one of ln 4. The rows must show it, as the draws do.",
            RowsOfTheDraw((TEMPERED,)),
        ),
        values("zero_is_argmax", 2)(
            "At temperature 0 each token is the best of its corrected row, the lowest id of equals, in a one-hot row.",
            "The limit of a small temperature: all probability on the best corrected logit, the first one if several "
            "are equal. There is no division by 0 in it.",
            block([0, 0], [[1.0, 0.0], [1.0, 0.0]],
                  [[0.0, 2.0], [0.0, 1.0]], 0, [[1.0], [-1.0]], [[3.0, 0.0]], Seed(0), 0.0),
            block([1, 0], [[0.0, 1.0], [1.0, 0.0]],
                  [[0.0, 2.0], [0.0, 1.0]], 1, [[1.0], [2.0]], [[0.5, 0.0]], Seed(0), 0.0),
            block([0, 1], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                  [[0.5, 0.5, 0.5], [0.25, 0.5, 0.5]], 2, [[0.0], [1.0], [0.0]], [[1.0, 1.0, 1.0]], Seed(0), 0.0),
        ),
        values("huge_logits_stay_finite", 1)(
            "Logits of thousands, positive or negative, give rows without NaN.",
            "exp overflows from 710 on. A softmax does not change if the same number is taken off all logits.",
            block([1], [[0.0, 1.0]], [[0.0, 600.0]], 0, [[1.0], [1.0]], [[1.0, 0.0]], Seed(0), 1.0),
            block([1], [[0.0, 1.0]], [[0.0, 9000.0]], 0, [[1.0], [1.0]], [[1.0, 0.0]], Seed(0), 1.0),
        ),
        values("excluded_tokens_never_come", 1)(
            "A token with the logit −inf is never drawn, not even where the generator returns 0.0.",
            "Is its probability exactly 0 in your row? Then rng.choice(V, p=row) sees to it. In a search of your own, "
            "try a uniform number of 0.0.",
            block([1, 1], [[0.0, 1.0, 0.0]] * 2,
                  [[-INF, 0.0, -INF]] * 2, 1, [[0.0], [1.0], [0.0]], [[0.0, 1.0, 2.0]], Seed(0, (0.0, 1.0)), 1.0),
        ),
        same_seed(1, CHAIN.call),
    ),
)  # fmt: skip

# --- 3.3 rnn_head_step ------------------------------------------------------------------------------------------------


def step(state: list[float], bias: list[float], *args: Any) -> Example:
    """Write an example of a new state and its bias."""
    return example(*args, gives=(np.array(state), np.array(bias)))


ZEROS = [0.0] * 3
BY_HAND = step([1.625], [2.0, -1.0], [2.0], [0.0], [1.0], [ZEROS, ZEROS, [LN3, LN3 / 2, LN3 / 2]], [[4.0, -2.0]])
EMPTY_STATE = step([0.4], [1.0], [0.0], [1.0], [0.0], [ZEROS, [-LN4, LN3 / 2, LN3 / 2], ZEROS], [[2.0]])
LONG_HIDDEN = step([0.25], [1.0], [0.0], [0.0], [0.0, 1.0], [*[ZEROS] * 3, [0.0, LN3 / 2, LN3 / 2]], [[2.0]])

TASK_3_3 = Task(
    id="3.3",
    lesson=LESSON,
    reference=rnn_head_step,
    todo="compute the new state and the bias",
    hints=(
        "Follow the numbers: 2r + d of them go in as one vector z, one product makes 3r of them, and these are three "
        "vectors of length r. The gate mixes old state and candidate; the output makes the bias and nothing else.",
        "What is the shape of z, and in which order must its parts stand to fit the rows of w_joint? What does the "
        "product look like, and where does it have to be cut? If the gate is wide open, what is the new state?",
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
            "With weights of 0 the product is 0, σ(0) = ½ and tanh(0) = 0: half of the old state is left. Gates of "
            "ln 3 and −ln 3 leave ¾ of the first entry and ¼ of the second.",
            step([1.0, -2.0], [0.0, 0.0, 0.0],
                 [2.0, -4.0], [1.0, 1.0], [1.0], [[0.0] * 6] * 5, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
            step([3.0, 1.0], [0.0],
                 [4.0, 4.0], [0.0, 0.0], [1.0], [*[[0.0] * 6] * 4, [LN3, -LN3, 0.0, 0.0, 0.0, 0.0]], [[1.0], [1.0]]),
        ),
        values("candidate_fills_the_rest", 3, part=first_of_pair)(
            "The new state is σ(gate) · state + (1 − σ(gate)) · tanh(candidate).",
            "The lesson's example has a gate of ¾ and a candidate of ½. Are the parts and thirds of z in their order?",
            BY_HAND,
        ),
        values("output_gives_the_bias", 3, part=second_of_pair)(
            "The bias is tanh(output) W2, with the output taken from the same product as gate and candidate.",
            "In the lesson's example the output is ½ after tanh, so the bias is ½ · [4, −2]. z holds the old state, "
            "the embedding and the hidden state, in this order; the new state plays no part.",
            BY_HAND,
            EMPTY_STATE,
        ),
        values("every_size", 1)(
            "Any r, d and V will do: 1, equal ones, d larger or smaller than r.",
            "Take r from the state's length; np.split(…, 3) needs no sizes at all.",
            EMPTY_STATE,
            LONG_HIDDEN,
        ),
        values("saturation_stays_finite", 1)(
            "Sums of thousands open or shut the gate; nothing becomes NaN.",
            "exp overflows for a large x or a large −x, and inf / inf is NaN. The lesson's text has a form of σ "
            "without exp.",
            step([5.0], [3.0], [5.0], [1.0], [1.0], [ZEROS, [4000.0, 1.0, 4000.0], ZEROS], [[3.0]]),
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
    todo="say what goes in, and where the predictions come out",
    hints=(
        "Count the outputs first: γ predictions are wanted in either layout. In one of them the anchor's position is "
        "one of the γ, in the other it predicts nothing and one more input is needed.",
        "Draw a row of boxes for γ = 3 in either layout, the anchor in the first, and write x_1, x_2, x_3 under the "
        "boxes whose outputs they are. How many masks did you need? What do the two drawings differ by?",
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
            "In DSpark the anchor's position predicts x_1, and that is all there is to predict.",
            example(4, 9, 1, "dspark", gives=([4], [0])),
        ),
        values("any_tokens", 1)(
            "Token 0 is a token like any other, and the anchor may equal the mask token.",
            "Only the count of positions matters, whatever the tokens are: 0 is one like any other.",
            example(0, 0, 2, "dflash", gives=([0, 0, 0], [1, 2])),
        ),
    ),
)

TASKS = (TASK_3_1, TASK_3_2, TASK_3_3, TASK_3_4)
