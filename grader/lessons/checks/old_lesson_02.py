"""Lesson 02, parallel drafting: what its tasks must satisfy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.check.judges import Bad, Example, Values
from grader.lessons.tasks import Property, Task, manners
from grader.run.child.calling import Call, call

LESSON = "02_parallel_drafting"
NAN, INF = math.nan, math.inf
CHECK_WINNER = (
    "Keep the given checks of the shapes, and call check_best with the winner of every row: NaN and +inf win."
)
CHECK_BIAS = "Read every bias through bias_row, which knows how long it must be. " + CHECK_WINNER
Rng = np.random.Generator

# --- Task 2.1: dflash_parallel_candidates ------------------------------------------------------------

PARALLEL = (
    Example(call([[0.1, 0.8, 0.1], [0.6, 0.2, 0.2], [0.1, 0.2, 0.7]]), [1, 0, 2]),
    Example(call([[0.0, 2.0], [0.0, 3.0]]), [1, 1]),
    Example(call([[-INF, -2.0, -1.5]]), [2]),
)
PARALLEL_TWINS = (Example(call([[0.0, 2.0], [4.0, 3.0]]), [1, 0]), Example(call([[0.0, 2.0], [4.0, 5.0]]), [1, 1]))
ROWS_BAD = (
    Bad(call([[0.1, 0.9], [NAN, 0.5]]), "block_logits", 1, "row 1 holds a NaN"),
    Bad(call([]), "block_logits", None, "there is no row at all"),
)
ROWS_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
ROWS_BAD_HIDDEN = (
    Bad(call([[0.5, 0.25], [0.5, 0.25], [0.75, INF]]), "block_logits", 2, "row 2 holds +inf"),
    Bad(call([[0.5, 0.25], [-INF, -INF]]), "block_logits", 1, "row 1 holds nothing but −inf"),
    Bad(call([[0.5, NAN], [0.5, 0.25]]), "block_logits", 0, "row 0 holds a NaN"),
    Bad(
        call([[0.5, 0.25, 0.75], [0.5, -INF, NAN], [NAN, 0.5, 0.5]]), "block_logits", 1, "row 1 is the first with a NaN"
    ),
    Bad(call([[0.5, 0.25], [0.5, 0.75], [0.5, 0.75], [0.5]]), "block_logits", 3, "row 3 is shorter than the others"),
    Bad(call([[], []]), "block_logits", None, "the vocabulary is empty"),
    Bad(call([0.5, 0.25]), "block_logits", None, "it is no matrix", wrong_nesting=True),
    Bad(call([[[0.5, 0.25]]]), "block_logits", None, "it is no matrix", wrong_nesting=True),
)


def random_blocks(rng: Rng, low: int = 1, high: int = 8, vocabulary: int = 12) -> Iterator[np.ndarray[Any, Any]]:
    """Blocks of every small shape, the signs mixed."""
    for _ in range(30):
        yield rng.normal(scale=3.0, size=(rng.integers(low, high + 1), rng.integers(2, vocabulary + 1)))


def plain_blocks(rng: Rng) -> Iterator[Call]:
    for block in random_blocks(rng):
        yield call(block)
    yield call([[3, 7, 5], [7, 3, -5]])
    yield call([[1.0, 1.0 + 1e-12], [1e300, 1.1e300]])


def repeating_blocks(rng: Rng) -> Iterator[Call]:
    """One token is the best of several rows, and one row's scale dwarfs the others'."""
    for block in random_blocks(rng, low=3):
        block[:, rng.integers(block.shape[1])] += 9.0
        block[rng.integers(len(block))] *= 1000.0
        yield call(block)


def tied_blocks(rng: Rng) -> Iterator[Call]:
    """Few levels, exact binary fractions: nearly every row has a tie for the best."""
    for block in random_blocks(rng):
        yield call(rng.integers(-2, 2, size=block.shape) / 4.0)
    yield call(rng.integers(0, 3, size=(4, 400)) / 4.0)


def masked_blocks(rng: Rng) -> Iterator[Call]:
    """Most tokens are masked by −inf, and what is left is negative."""
    for block in random_blocks(rng):
        masked = np.where(rng.random(block.shape) < 0.6, -np.inf, -np.abs(block) - 1.0)
        masked[np.arange(len(block)), rng.integers(block.shape[1], size=len(block))] = -50.0
        yield call(masked)
    yield call([[-INF, -1e12], [-1e200, -INF]])


def large_block(rng: Rng) -> Iterator[Call]:
    yield call(rng.normal(size=(64, 2000)))


### END HIDDEN TESTS


TASK_2_1 = Task(
    id="2.1",
    lesson=LESSON,
    module="dspark_mini.drafting",
    function="dflash_parallel_candidates",
    todo="return each row's own best token, as plain ints",
    hints=(
        "Each row of block_logits is one position of the block, and each column one token. DFlash asks every "
        "position the same question, which of the tokens has the highest logit, and no position hears the others.",
        "Walk over the rows. argmax returns the first, that is the lowest, of equal maxima, but a NumPy integer: make "
        "it a plain int. Then let check_best look at the winner's logit, which shows whether the row was legal.",
        "for each position k and its row of logits:\n"
        "    best = argmax of the row, as a plain int\n"
        "    check_best(row[best], block_logits=(k, row))\n"
        "    note best\n"
        "return what you noted, as a list",
    ),
    properties=(
        Property(
            "argmax_of_each_row",
            "Position k gets the token with the highest logit of row k.",
            3,
            "Take the argmax along the vocabulary (axis 1), not along the block and not over the whole matrix.",
            Values(
                examples=(Example(call([[0.125, 0.875, 0.0], [0.25, 0.25, 0.5]]), [1, 2]), PARALLEL[0]),
                ### BEGIN HIDDEN TESTS
                hidden=plain_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "positions_are_independent",
            "No position sees what another one chose or how large its logits are.",
            1,
            "The same token may win at several positions; do not remove it, and do not normalise over the block.",
            Values(
                examples=PARALLEL[1:2],
                ### BEGIN HIDDEN TESTS
                hidden=repeating_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "ties_go_to_lowest_id",
            "Of equal logits the lowest token id wins.",
            1,
            "np.argmax returns the first maximum. A loop that replaces the best on >= keeps the last; use >.",
            Values(
                examples=(Example(call([[0.5, 0.5], [0.25, 0.75]]), [0, 1]),),
                ### BEGIN HIDDEN TESTS
                hidden=tied_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "masked_and_negative_logits",
            "−inf is a legal logit, a token that is never drafted; so are negative ones.",
            1,
            "Do not start the search at 0, and do not replace −inf by a number: compare the logits as they are.",
            Values(
                examples=(Example(call([[-INF, -2.0, -1.0], [-7.0, -INF, -INF]]), [2, 0]),),
                ### BEGIN HIDDEN TESTS
                hidden=masked_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("plain ints in a list", PARALLEL, ROWS_BAD, ROWS_BAD_HIDDEN, PARALLEL_TWINS, CHECK_WINNER),
        Property(
            "large_block_in_time",
            "A block of 64 positions and 2,000 tokens takes well under 2 s.",
            1,
            "One pass over the numbers is enough.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_block,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 2.2: dspark_markov_candidates --------------------------------------------------------------

MARKOV = (
    Example(call([[0.4, 0.6], [0.7, 0.3], [0.6, 0.4]], 9, {9: [0.4, 0.0], 0: [0.0, 0.6], 1: [0.5, 0.0]}), [0, 1, 0]),
    Example(call([[0.0, 1.0], [1.0, 0.0]], 0, {1: [0.0, 2.0]}), [1, 1]),
    Example(call([[-INF, 1.0, 0.5]], 2, {2: [0.0, -1.0, -0.25]}), [2]),
)
MARKOV_TWINS = (
    Example(call([[0.0, 1.0], [1.0, 0.0]], 0, {0: [0.0, 2.0]}), [1, 0]),
    Example(call([[0.0, 1.0], [1.0, 0.0]], 3, {3: [4.0, 0.0]}), [0, 0]),
    Example(call([[0.0, 1.0], [1.0, 0.0]], 3, {3: [0.0, 0.0], 1: [0.0, 4.0]}), [1, 1]),
)
MARKOV_BAD = (
    Bad(call([[0.1, 0.9], [NAN, 0.5]], 0, {}), "block_logits", 1, "row 1 holds a NaN"),
    Bad(call([[0.1, 0.9]], 9, {9: [1.0]}), "markov_bias", 9, "the bias row of token 9 is shorter than the vocabulary"),
)
MARKOV_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
MARKOV_BAD_HIDDEN = (
    Bad(call([[0.5, 0.25], [0.75, INF]], 0, {}), "block_logits", 1, "row 1 holds +inf"),
    Bad(call([[-INF, -INF], [0.5, 0.25]], 1, {1: [0.5, 0.5]}), "block_logits", 0, "row 0 holds nothing but −inf"),
    Bad(call([[0.5, 0.25], [0.5, 0.75], [0.5]], 0, {}), "block_logits", 2, "row 2 is shorter than the others"),
    Bad(call([], 0, {}), "block_logits", None, "there is no row at all"),
    Bad(call([[], []], 0, {}), "block_logits", None, "the vocabulary is empty"),
    Bad(call([0.5, 0.25], 0, {}), "block_logits", None, "it is no matrix", wrong_nesting=True),
    Bad(call([[0.5, 0.25]], 7, {7: [NAN, 0.5]}), "markov_bias", 7, "the bias row of token 7 holds a NaN"),
    Bad(call([[0.5, 0.25]], 7, {7: [INF, 0.5]}), "markov_bias", 7, "the bias row of token 7 holds +inf"),
    Bad(call([[0.5, 0.25]], 7, {7: [-INF, -INF]}), "markov_bias", 7, "the bias row of token 7 holds only −inf"),
    Bad(
        call([[0.5, 0.75], [0.25, 0.5]], 5, {1: [0.5, 0.5, 8.0]}),
        "markov_bias",
        1,
        "the bias row of token 1 is too long",
    ),
    Bad(call([[0.5, 0.75], [0.25, 0.5]], 5, {1: [0.5, NAN]}), "markov_bias", 1, "the bias row of token 1 holds a NaN"),
    Bad(
        call([[0.5, 0.75]], 7, {7: [[0.5, 0.5]]}),
        "markov_bias",
        7,
        "the bias row of token 7 is a matrix",
        wrong_nesting=True,
    ),
    Bad(
        call([[0.5, 0.75]], 7, {7: 1.0}),
        "markov_bias",
        7,
        "the bias row of token 7 is a single number",
        wrong_nesting=True,
    ),
)


def random_chain(rng: Rng, block: np.ndarray[Any, Any], scale: float = 4.0) -> Call:
    """Give a bias row to most tokens; the anchor has one of its own, inside the vocabulary or outside."""
    vocabulary = block.shape[1]
    anchor = int(rng.integers(0, vocabulary + 3))
    rows = {int(t): rng.normal(scale=scale, size=vocabulary) for t in range(vocabulary) if rng.random() < 0.8}
    rows[anchor] = rng.normal(scale=scale, size=vocabulary)
    return call(block, anchor, rows)


def single_steps(rng: Rng) -> Iterator[Call]:
    """One position, an anchor inside the vocabulary, every row there: nothing but the sum and the choice."""
    for block in random_blocks(rng, high=1):
        vocabulary = block.shape[1]
        rows = {t: rng.normal(scale=4.0, size=vocabulary) for t in range(vocabulary)}
        yield call(block, int(rng.integers(vocabulary)), rows)
    yield call([[4, 3, 3]], 1, {1: [0.25, 1.75, 0.5]})
    yield call([[1.0, 1.0]], 0, {0: [0.0, 1e-12]})
    yield call([[2000.0, 1000.0]], 0, {0: [0.0, 1500.0]})


def biases_that_decide(rng: Rng) -> Iterator[Call]:
    """The bias is far larger than the base logits: the chain follows it from token to token."""
    for block in random_blocks(rng, low=3, vocabulary=6):
        yield random_chain(rng, block / 8.0, scale=20.0)
    for block in random_blocks(rng):
        yield random_chain(rng, block)


def logits_that_decide(rng: Rng) -> Iterator[Call]:
    """The base logits are far larger than the biases, which still must not be dropped where rows are close."""
    for block in random_blocks(rng):
        yield random_chain(rng, block * 4.0, scale=0.5)


def anchors(rng: Rng) -> Iterator[Call]:
    """One position only: everything hangs on the anchor, which may lie outside the vocabulary or be negative."""
    for block in random_blocks(rng, high=1):
        anchor = int(rng.choice([-1, 0, 1, block.shape[1], 1000]))
        rows = {t: rng.normal(scale=9.0, size=block.shape[1]) for t in (-2, -1, 0, 1, 999, 1000)}
        rows[anchor] = rng.normal(scale=9.0, size=block.shape[1])
        yield call(block, anchor, rows)
    yield call([[0.0, 1.0]], -1, {-1: [2.0, 0.0], 1: [0.0, 0.0]})
    yield call([[0.0, 1.0]], -1, {-1: [0.0, 0.0], 1: [2.0, 0.0]})


def missing_rows(rng: Rng) -> Iterator[Call]:
    """Most tokens have no bias row, some a row that no step may look at."""
    for block in random_blocks(rng, low=3):
        vocabulary = block.shape[1]
        rows = {int(t): rng.normal(scale=6.0, size=vocabulary) for t in rng.integers(0, vocabulary, size=2)}
        yield call(block, vocabulary + 5, rows)
    yield call([[0.5, 0.75], [0.25, 0.5]], 0, {5: [NAN], 9: [INF, NAN, 0.5], -1: []})
    yield call([[0.5, 0.75], [0.25, 0.5]], 0, {})
    yield call([[0.0, 1.0]], 9, {1: [5.0]})


def tied_chains(rng: Rng) -> Iterator[Call]:
    """Exact binary fractions with few levels: sums tie."""
    for block in random_blocks(rng):
        vocabulary = block.shape[1]
        rows = {t: rng.integers(-2, 3, size=vocabulary) / 4.0 for t in range(vocabulary)}
        yield call(rng.integers(-2, 2, size=block.shape) / 4.0, int(rng.integers(vocabulary)), rows)


def masked_chains(rng: Rng) -> Iterator[Call]:
    """−inf in the logits and in the biases; token 0 is left to every position."""
    for block in random_blocks(rng):
        vocabulary = block.shape[1]
        logits = np.where(rng.random(block.shape) < 0.5, -np.inf, -np.abs(block) - 1.0)
        rows = {
            t: np.where(rng.random(vocabulary) < 0.4, -np.inf, rng.normal(scale=4.0, size=vocabulary))
            for t in range(vocabulary)
        }
        logits[:, 0] = -30.0
        for row in rows.values():
            row[0] = rng.normal()
        yield call(logits, int(rng.integers(vocabulary)), rows)
    yield call([[-INF, -1e12], [-1e200, -INF]], 0, {0: [0.5, 0.5], 1: [-0.5, 0.0]})


def large_chain(rng: Rng) -> Iterator[Call]:
    """Tokens with a bias row are the likely ones, so that the chain reads one at nearly every step."""
    block = rng.normal(size=(64, 2000))
    block[:, ::8] += 6.0
    yield call(block, 8, {t: rng.normal(scale=2.0, size=2000) for t in range(0, 2000, 8)})


### END HIDDEN TESTS


TASK_2_2 = Task(
    id="2.2",
    lesson=LESSON,
    module="dspark_mini.drafting",
    function="dspark_markov_candidates",
    todo="correct each row by the bias of the token chosen just before it, then choose",
    hints=(
        "The chain has one link: which token was chosen just before. For the first position that is the anchor, "
        "from then on the token that you chose yourself, after its correction.",
        'Walk over the rows with a variable `previous`. bias_row("markov_bias", previous, biases.get(previous), V) is '
        "the row of biases, or None where there is none: then the base logits stand. Put the sum into a new array, so "
        "that the caller's stays as it is.",
        "previous = the anchor\n"
        "for each position k and its row of logits:\n"
        '    bias = bias_row("markov_bias", previous, biases.get(previous), number of tokens)\n'
        "    corrected = row + bias, or the row itself where bias is None\n"
        "    best = argmax of corrected, as a plain int\n"
        "    check_best(corrected[best], block_logits=(k, row), markov_bias=(previous, bias))\n"
        "    note best, and let it be `previous` for the next row",
    ),
    properties=(
        Property(
            "correct_then_choose",
            "Position k takes the argmax of its logits plus the bias of the token before it.",
            3,
            "Add the bias to the row first, then take the argmax of the sum.",
            Values(
                examples=(Example(call([[0.4, 0.6]], 1, {1: [0.4, 0.0]}), [0]),),
                ### BEGIN HIDDEN TESTS
                hidden=single_steps,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "follows_corrected_choice",
            "The token before is the one chosen after correction, not the row's own argmax.",
            2,
            "Set previous to the token that you have just appended; the anchor serves the first position only.",
            Values(
                examples=(
                    MARKOV[0],
                    Example(call([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]], 0, {0: [8.0, 0.0], 1: [0.0, 0.0]}), [0, 0, 0]),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=biases_that_decide,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "base_logits_count",
            "The base logits stay in the sum: a bias corrects them and does not replace them.",
            1,
            "The corrected row is U_k + B[previous]; a bias alone says nothing about position k.",
            Values(
                examples=(Example(call([[8.0, 0.0], [0.0, 8.0]], 0, {0: [0.0, 1.0], 1: [1.0, 0.0]}), [0, 1]),),
                ### BEGIN HIDDEN TESTS
                hidden=logits_that_decide,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "anchor_starts_chain",
            "The first position is corrected by the anchor, which may lie outside the vocabulary.",
            1,
            "Look the anchor up in markov_bias like any token; it needs no column in block_logits.",
            Values(
                examples=(Example(call([[0.0, 1.0]], 9, {9: [2.0, 0.0]}), [0]),),
                ### BEGIN HIDDEN TESTS
                hidden=anchors,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "missing_row_adds_nothing",
            "A token without a row in markov_bias adds nothing, and unused rows are not read.",
            1,
            "markov_bias.get(previous) is None for a missing token. A missing row does not bring back an older one.",
            Values(
                examples=(
                    Example(call([[0.0, 1.0], [0.0, 1.0]], 0, {0: [2.0, 0.0], 7: [NAN]}), [0, 0]),
                    Example(call([[1.0, 0.0], [1.0, 0.0]], 5, {5: [0.0, 2.0]}), [1, 0]),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=missing_rows,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "ties_go_to_lowest_id",
            "Of equal sums the lowest token id wins.",
            1,
            "np.argmax of the sum returns the first maximum; a loop must replace the best on > and not on >=.",
            Values(
                examples=(Example(call([[0.5, 0.0], [0.0, 0.0]], 0, {0: [0.0, 0.5]}), [0, 1]),),
                ### BEGIN HIDDEN TESTS
                hidden=tied_chains,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "masked_and_negative_logits",
            "−inf is legal in logits and in biases: a token that is not to be drafted.",
            1,
            "Add −inf like any number: the sum stays −inf and never wins.",
            Values(
                examples=(Example(call([[-INF, -2.0], [-1.0, -9.0]], 0, {1: [-INF, 0.0]}), [1, 1]),),
                ### BEGIN HIDDEN TESTS
                hidden=masked_chains,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("plain ints in a list", MARKOV, MARKOV_BAD, MARKOV_BAD_HIDDEN, MARKOV_TWINS, CHECK_BIAS),
        Property(
            "large_block_in_time",
            "A block of 64 positions and 2,000 tokens takes well under 2 s.",
            1,
            "The block is walked once; no other chain than the chosen one is looked at.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_chain,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 2.3: choose_confident_prefix ---------------------------------------------------------------

PREFIX = (
    Example(call([0.9, 0.8, 0.3, 0.95], 0.5, 1, 4), 2),
    Example(call([0.1, 0.9], 0.5, 1, 4), 1),
    Example(call([0.9] * 10, 0.5, 1, 4), 4),
)
PREFIX_TWINS = (
    Example(call([0.75, 0.5, 0.25], 0.5, 1, 4), 2),
    Example(call([0.75, 0.5, 0.25], 0.625, 1, 4), 1),
    Example(call([0.75, 0.5, 0.25], 0.5, 3, 4), 3),
    Example(call([0.75, 0.5, 0.25], 0.5, 1, 1), 1),
)
PREFIX_BAD = (
    Bad(call([0.9, 1.5, 0.25], 0.5), "confidences", 1, "1.5 lies outside [0, 1]"),
    Bad(call([], 0.5), "confidences", None, "there is no confidence at all"),
    Bad(call([0.5], 0.5, 3, 2), ("min_tokens", "max_tokens"), None, "min_tokens exceeds max_tokens"),
)
PREFIX_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
PREFIX_BAD_HIDDEN = (
    Bad(call([0.75, NAN], 0.5), "confidences", 1, "position 1 is NaN"),
    Bad(call([0.25, 0.75, -0.5, 0.5], 0.5), "confidences", 2, "−0.5 lies outside [0, 1], behind the stop"),
    Bad(call([0.25, 0.75, 0.5, NAN], 0.5), "confidences", 3, "a NaN, behind the stop"),
    Bad(call([0.75, 0.75, 0.75, 0.75, 7.5], 0.5, 1, 2), "confidences", 4, "7.5 lies outside [0, 1], behind max_tokens"),
    Bad(call([INF, 0.75], 0.5), "confidences", 0, "infinity lies outside [0, 1]"),
    Bad(call([0.5, 0.75, 1.5, NAN, -0.5], 0.5), "confidences", 2, "1.5 is the first outside [0, 1]"),
    Bad(call([[0.5, 0.75]], 0.5), "confidences", None, "it is a matrix", wrong_nesting=True),
    Bad(call([0.5], 1.5), "threshold", None, "the threshold lies outside [0, 1]"),
    Bad(call([0.5], -0.5), "threshold", None, "the threshold lies outside [0, 1]"),
    Bad(call([0.5], NAN), "threshold", None, "the threshold is NaN"),
    Bad(call([0.5], 0.5, 0, 4), "min_tokens", None, "min_tokens is below 1"),
    Bad(call([0.5], 0.5, -1, 4), "min_tokens", None, "min_tokens is below 1"),
    Bad(call([0.5], 0.5, 1, 0), ("max_tokens", "min_tokens"), None, "max_tokens is below min_tokens"),
)


def prefix_calls(rng: Rng, thresholds: tuple[float, ...]) -> Iterator[Call]:
    """Confidences on a grid of eighths, so that equality with the threshold is exact and frequent."""
    for _ in range(30):
        size = int(rng.integers(1, 12))
        values = rng.integers(0, 9, size=size) / 8.0
        low = int(rng.integers(1, 5))
        yield call(values, float(rng.choice(thresholds)), low, low + int(rng.integers(0, 8)))


def stops(rng: Rng) -> Iterator[Call]:
    """High, then one low value, then high again; never an equality; wide limits."""
    for stop in range(1, 8):
        values = rng.uniform(0.6, 1.0, size=9)
        values[stop + 1 :] = rng.uniform(0.55, 1.0, size=8 - stop)
        values[stop] = rng.uniform(0.05, 0.4)
        yield call(values, 0.5, 1, 12)


def long_high_runs(rng: Rng) -> Iterator[Call]:
    """Confidences whose product falls far below the threshold while each of them stays above it."""
    for size in range(2, 12):
        yield call([*rng.uniform(0.72, 0.8, size=size), 0.125], 0.7, 1, 16)


def all_high(rng: Rng) -> Iterator[Call]:
    for size in range(1, 12):
        yield call(rng.uniform(0.5, 1.0, size=size), 0.25, 1, 16)
    yield call([1, 1, 1], 1, 1, 8)


def equalities(rng: Rng) -> Iterator[Call]:
    """The prefix is at least 1 and the limits are wide, so that nothing but the comparison decides."""
    for _ in range(40):
        threshold = float(rng.choice((0.125, 0.25, 0.5, 0.75, 0.875)))
        yield call([1.0, threshold, *(rng.integers(0, 9, size=int(rng.integers(1, 10))) / 8.0)], threshold, 1, 16)
    yield call([0.75, np.nextafter(0.5, 0.0), 0.75], 0.5, 1, 8)
    yield call([0.75, np.nextafter(0.5, 1.0), 0.25], 0.5, 1, 8)


def edges(rng: Rng) -> Iterator[Call]:
    """Thresholds 0 and 1: everything passes, or only certainty does."""
    yield from prefix_calls(rng, (0.0, 1.0))


def clamps(rng: Rng) -> Iterator[Call]:
    """All combinations of a prefix, the two limits and the number of confidences."""
    for size in range(1, 6):
        for prefix in range(size + 1):
            for low in (1, 2, 4, 6):
                for high in (low, low + 2):
                    yield call([0.75] * prefix + [0.25] * (size - prefix), 0.5, low, high)


def defaults(rng: Rng) -> Iterator[Call]:
    for size in (1, 7, 8, 9, 20):
        yield call([0.75] * size, 0.5)
        yield call([0.25] * size, threshold=0.5)
        yield call([0.75] * size, 0.5, max_tokens=3)
        yield call([0.25] * size, 0.5, min_tokens=2)


def longest_prefix(rng: Rng) -> Iterator[Call]:
    yield call(rng.uniform(0.5, 1.0, size=64), 0.5, 1, 64)


### END HIDDEN TESTS


TASK_2_3 = Task(
    id="2.3",
    lesson=LESSON,
    module="dspark_mini.confidence",
    function="choose_confident_prefix",
    todo="count the confidences up to the first below the threshold, then clamp the count",
    hints=(
        "Two steps. First a count: how many confidences, from the left, are not below the threshold. Then a clamp: "
        "the count is raised to min_tokens, and the result is cut to max_tokens and to the confidences there are.",
        "A draft token is worth verifying only if all before it survive, so the first low confidence ends the prefix "
        "and nothing behind it can bring it back. Equal to the threshold is not below it.",
        "prefix = 0\n"
        "while there is a confidence at index `prefix` and it is ≥ threshold: prefix += 1\n"
        "return the least of: the larger of prefix and min_tokens; max_tokens; the number of confidences",
    ),
    properties=(
        Property(
            "first_low_value_stops",
            "The first confidence below the threshold ends the prefix, whatever comes after it.",
            3,
            "Stop at the first low value; do not count all high ones, and do not look for the last.",
            Values(
                examples=PREFIX[:1],
                ### BEGIN HIDDEN TESTS
                hidden=stops,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "all_high_keeps_all",
            "Where no confidence is below the threshold, the prefix is the whole block.",
            1,
            "A search for the first low value finds none here: np.argmax of all False is 0, and nothing has no first.",
            Values(
                examples=(Example(call([0.75, 0.75, 0.75], 0.5, 1, 8), 3),),
                ### BEGIN HIDDEN TESTS
                hidden=all_high,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "each_value_on_its_own",
            "Each confidence is compared with the threshold itself; products come in lesson 04.",
            1,
            "c_k is already conditional on the tokens before k: compare it as it is, without a running product.",
            Values(
                examples=(Example(call([0.75, 0.75, 0.75, 0.25], 0.5, 1, 8), 3),),
                ### BEGIN HIDDEN TESTS
                hidden=long_high_runs,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "equal_passes",
            "A confidence that equals the threshold passes.",
            2,
            "Below means <. Continue while confidence >= threshold.",
            Values(
                examples=(Example(call([0.75, 0.5, 0.25], 0.5, 1, 8), 2),),
                ### BEGIN HIDDEN TESTS
                hidden=equalities,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "threshold_zero_and_one",
            "At threshold 0 everything passes, at 1 only certainty does.",
            1,
            "0 and 1 are ordinary thresholds: do not treat 0 as absent.",
            Values(
                examples=(Example(call([0.0, 0.25], 0.0, 1, 8), 2), Example(call([1.0, 1.0, 0.875], 1.0, 1, 8), 2)),
                ### BEGIN HIDDEN TESTS
                hidden=edges,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "clamped_in_order",
            "The prefix is raised to min_tokens, then cut to max_tokens and to what there is.",
            2,
            "min(max(prefix, min_tokens), max_tokens, len(confidences)): the number of confidences has the last word.",
            Values(
                examples=(*PREFIX[1:], Example(call([0.75, 0.25], 0.5, 4, 6), 2)),
                ### BEGIN HIDDEN TESTS
                hidden=clamps,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "defaults_and_keywords",
            "Without limits it is 1 to 8 tokens, and the limits can be given by name.",
            1,
            "Keep the signature: (confidences, threshold, min_tokens=1, max_tokens=8).",
            Values(
                examples=(
                    Example(call([0.75] * 9, 0.5), 8),
                    Example(call([0.25, 0.75], threshold=0.5, min_tokens=2), 2),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=defaults,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("one plain int", PREFIX, PREFIX_BAD, PREFIX_BAD_HIDDEN, PREFIX_TWINS),
        Property(
            "long_block_in_time",
            "64 confidences take well under 2 s.",
            1,
            "One walk over the confidences is enough.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=longest_prefix,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- The given record: build_draft_record ------------------------------------------------------------

RECORD = (
    Example(
        call("dspark", [4, 5, 6], [0.9, 0.7, 0.2], 0.5, 3),
        {"mode": "dspark", "block_tokens": [4, 5, 6], "verify_tokens": [4, 5], "proposed": 3, "verify_budget": 2},
    ),
    Example(
        call("dflash", [7, 7], [0.25, 0.75], 0.5),
        {"mode": "dflash", "block_tokens": [7, 7], "verify_tokens": [7], "proposed": 2, "verify_budget": 1},
    ),
)
RECORD_TWINS = tuple(
    Example(
        call(mode, [4, 5], [0.75, 0.5], threshold),
        {
            "mode": mode,
            "block_tokens": [4, 5],
            "verify_tokens": [4, 5][:budget],
            "proposed": 2,
            "verify_budget": budget,
        },
    )
    for mode, threshold, budget in (("dspark", 0.5, 2), ("dflash", 0.5, 2), ("dspark", 0.625, 1))
)
RECORD_BAD = (
    Bad(call("eagle", [4], [0.5], 0.5), "mode", None, "'eagle' is no mode"),
    Bad(call("dspark", [4, 5], [0.5], 0.5), ("confidences", "candidates"), None, "one candidate has no confidence"),
)
RECORD_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
RECORD_BAD_HIDDEN = (
    Bad(call("DSPARK", [4], [0.5], 0.5), "mode", None, "modes are written small"),
    Bad(call("dspark", [4], [0.5, 0.5], 0.5), ("confidences", "candidates"), None, "one confidence too many"),
    Bad(call("dspark", [], [], 0.5), ("confidences", "candidates"), None, "there is no candidate"),
    Bad(call("dspark", [4, 5, -6, -7], [0.5] * 4, 0.5), "candidates", 2, "−6 is the first that is no token id"),
    Bad(call("dspark", [4, 5, 6], [0.25, 0.5, NAN], 0.5), "confidences", 2, "a confidence is NaN"),
    Bad(call("dspark", [4, 5, 6, 7], [0.5, 0.5, 0.5, 1.5], 0.5), "confidences", 3, "a confidence lies outside [0, 1]"),
    Bad(call("dspark", [4], [0.5], 1.5), "threshold", None, "the threshold lies outside [0, 1]"),
    Bad(call("dspark", [4], [0.5], 0.5, 0), ("max_tokens", "min_tokens"), None, "max_tokens is below 1"),
)


def records(rng: Rng) -> Iterator[Call]:
    for _ in range(30):
        size = int(rng.integers(1, 12))
        yield call(
            str(rng.choice(["dflash", "dspark"])),
            rng.integers(0, 2000, size=size),
            rng.integers(0, 9, size=size) / 8.0,
            float(rng.integers(0, 9)) / 8.0,
            int(rng.integers(1, 9)),
        )


def default_budgets(rng: Rng) -> Iterator[Call]:
    for size in (7, 8, 9, 20):
        yield call("dspark", list(range(size)), [0.75] * size, 0.5)
        yield call("dflash", list(range(size)), [0.75] * size, threshold=0.5, max_tokens=2)


### END HIDDEN TESTS


TASK_RECORD = Task(
    id="record",
    lesson=LESSON,
    module="dspark_mini.records",
    function="build_draft_record",
    todo="solve 2.3 first: the given record calls your choose_confident_prefix",
    hints=(
        "The record is given in the notebook. It calls your choose_confident_prefix, so it works once task 2.3 does.",
        "block_tokens holds every drafted token, verify_tokens only the prefix that the confidence keeps. "
        "proposed and verify_budget are the two lengths.",
        "budget = choose_confident_prefix(confidences, threshold, 1, max_tokens)\n"
        "return a dict: mode, block_tokens (all), verify_tokens (the first `budget`), proposed, verify_budget",
    ),
    properties=(
        Property(
            "all_five_keys",
            "The record holds mode, block_tokens, verify_tokens, proposed and verify_budget.",
            1,
            "block_tokens are all the candidates, verify_tokens the first verify_budget of them.",
            Values(examples=RECORD),
        ),
        Property(
            "budget_is_confident_prefix",
            "verify_budget is the confident prefix, from 1 to max_tokens, in either mode.",
            1,
            "Call choose_confident_prefix(confidences, threshold, 1, max_tokens); the mode does not change the budget.",
            Values(
                examples=(
                    Example(
                        call("dflash", [3, 1, 2], [0.5, 0.5, 0.5], 0.5, 2),
                        {
                            "mode": "dflash",
                            "block_tokens": [3, 1, 2],
                            "verify_tokens": [3, 1],
                            "proposed": 3,
                            "verify_budget": 2,
                        },
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=records,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "defaults_and_keywords",
            "Without max_tokens the budget ends at 8.",
            1,
            "Keep the signature: (mode, candidates, confidences, threshold, max_tokens=8).",
            Values(
                examples=(
                    Example(
                        call("dspark", list(range(9)), [0.75] * 9, 0.5),
                        {
                            "mode": "dspark",
                            "block_tokens": list(range(9)),
                            "verify_tokens": list(range(8)),
                            "proposed": 9,
                            "verify_budget": 8,
                        },
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=default_budgets,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("plain ints, strings and lists in a dict", RECORD, RECORD_BAD, RECORD_BAD_HIDDEN, RECORD_TWINS),
    ),
)

# --- Task 2.4: block_mask ----------------------------------------------------------------------------

MASK = (
    Example(call(2, [1], 1), np.array([[1, 0, 1]], dtype=bool)),
    Example(call(3, [2, 0], 1), np.array([[1, 1, 0, 1, 0], [0, 0, 0, 0, 1]], dtype=bool)),
)
MASK_TWINS = (
    Example(call(2, [1], 2), np.array([[1, 0, 1, 1], [1, 0, 1, 1]], dtype=bool)),
    Example(call(2, [2], 1), np.array([[1, 1, 1]], dtype=bool)),
    Example(call(3, [1], 1), np.array([[1, 0, 0, 1]], dtype=bool)),
)
MASK_BAD = (
    Bad(call(3, [1, 4], 2), "anchor_positions", 1, "an anchor of 4 lies behind a context of 3"),
    Bad(call(3, [], 2), "anchor_positions", None, "there is no anchor"),
)
MASK_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
MASK_BAD_HIDDEN = (
    Bad(call(3, [1, 2, -5], 2), "anchor_positions", 2, "an anchor is negative"),
    Bad(call(3, [1, 9, -2], 1), "anchor_positions", 1, "9 is the first outside 0..3"),
    Bad(call(-1, [0], 2), "context_length", None, "the context has a negative length"),
    Bad(call(3, [1], 0), "block_length", None, "the block has no positions"),
    Bad(call(3, [1], -2), "block_length", None, "the block has a negative length"),
    Bad(call(0, [0, 3], 1), "anchor_positions", 1, "there is no context to be anchored in"),
)


def packed(rng: Rng, low: int, high: int, gamma_low: int = 1) -> Iterator[Call]:
    for _ in range(12):
        context = int(rng.integers(1, 12))
        anchors = rng.integers(0, context + 1, size=int(rng.integers(low, high + 1)))
        yield call(context, anchors, int(rng.integers(gamma_low, 6)))


def single_blocks(rng: Rng) -> Iterator[Call]:
    for anchor in range(6):
        yield call(5, [anchor], 1)


def packed_blocks(rng: Rng) -> Iterator[Call]:
    yield from packed(rng, 2, 5)


def long_blocks(rng: Rng) -> Iterator[Call]:
    yield from packed(rng, 1, 3, gamma_low=3)


def any_order(rng: Rng) -> Iterator[Call]:
    yield call(6, [5, 2, 4], 2)
    yield call(4, [3, 3, 1, 3], 2)
    yield call(9, list(rng.permutation(10).tolist()), 1)


def edge_anchors(rng: Rng) -> Iterator[Call]:
    yield call(0, [0], 1)
    yield call(0, [0, 0], 3)
    yield call(4, [0, 4], 2)
    yield call(1, [1, 0, 1], 1)


def large_mask(rng: Rng) -> Iterator[Call]:
    yield call(256, rng.permutation(257)[:16], 16)


### END HIDDEN TESTS


TASK_2_4 = Task(
    id="2.4",
    lesson=LESSON,
    module="dspark_mini.masks",
    function="block_mask",
    todo="say for every row which context columns and which block columns it may see",
    hints=(
        "Two questions for every row, and both have the row's block in them: is this context column before the anchor "
        "of my block, and does this block column belong to my block?",
        "Number the blocks and repeat each number block_length times: that gives the block of every row, and of every "
        "block column too. Both halves are then one comparison with broadcasting, and np.hstack joins them.",
        "block = 0, 0, …, 1, 1, …: the block of each of the A·γ rows\n"
        "context half: column number < anchor of the row's block          → (A·γ, context_length)\n"
        "block half: block of the row == block of the column              → (A·γ, A·γ)\n"
        "return the halves side by side",
    ),
    properties=(
        Property(
            "context_before_anchor",
            "A row sees the context strictly before its own anchor, and nothing at or after it.",
            2,
            "The anchor's own features are not known when its block is drafted: column < anchor, not <=.",
            Values(
                examples=MASK[:1],
                ### BEGIN HIDDEN TESTS
                hidden=single_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "both_directions_in_block",
            "A row sees every position of its own block, before and after itself.",
            2,
            "A block is drafted in one go, so its mask is bidirectional, not causal, and the diagonal is True.",
            Values(
                examples=(Example(call(1, [1], 3), np.ones((3, 4), dtype=bool)),),
                ### BEGIN HIDDEN TESTS
                hidden=long_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "blocks_do_not_mix",
            "Blocks packed into one forward never see each other, and each has its own anchor.",
            2,
            "The block half is block-diagonal: True only where row and column belong to the same block.",
            Values(
                examples=MASK[1:],
                ### BEGIN HIDDEN TESTS
                hidden=packed_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "blocks_in_given_order",
            "Blocks stand in the order of anchor_positions; anchors may repeat or go back.",
            1,
            "Do not sort the anchors and do not merge equal ones: two blocks may share an anchor and stay apart.",
            Values(
                examples=(
                    Example(
                        call(2, [2, 1, 1], 1), np.array([[1, 1, 1, 0, 0], [1, 0, 0, 1, 0], [1, 0, 0, 0, 1]], dtype=bool)
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=any_order,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "edges_of_the_context",
            "An anchor of 0 sees no context, one of context_length all of it; no context is legal.",
            1,
            "With context_length 0 the left half has no columns; np.arange(0) compares without complaint.",
            Values(
                examples=(Example(call(0, [0], 2), np.ones((2, 2), dtype=bool)),),
                ### BEGIN HIDDEN TESTS
                hidden=edge_anchors,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("booleans in an array", MASK, MASK_BAD, MASK_BAD_HIDDEN, MASK_TWINS),
        Property(
            "large_mask_in_time",
            "A context of 256 with 16 blocks of 16 takes well under 2 s.",
            1,
            "Compare whole arrays; a loop over every cell is slow, though it may just pass.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_mask,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 2.5: conditional_acceptance ----------------------------------------------------------------

ACCEPTANCE = (
    Example(call([2, 0, 1, 2], 3), [0.75, 2 / 3, 0.0]),
    Example(call([2, 2], 2), [1.0, 1.0]),
)
ACCEPTANCE_TWINS = (
    Example(call([1, 2], 2), [1.0, 0.5]),
    Example(call([1, 2], 3), [1.0, 0.5, 0.0]),
    Example(call([1, 1], 2), [1.0, 0.0]),
)
ACCEPTANCE_BAD = (
    Bad(call([1, 2, 4], 3), "accepted_counts", 2, "a round cannot accept 4 of 3 drafts"),
    Bad(call([0], 0), "block_size", None, "the block has no positions"),
)
ACCEPTANCE_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
ACCEPTANCE_BAD_HIDDEN = (
    Bad(call([2, -3], 3), "accepted_counts", 1, "a count is negative"),
    Bad(call([9, 2], 3), "accepted_counts", 0, "a count exceeds the block"),
    Bad(call([1, 2, 9, -2], 3), "accepted_counts", 2, "9 is the first outside 0..3"),
    Bad(call([1], -2), "block_size", None, "the block has a negative size"),
    Bad(call([], 0), "block_size", None, "the block has no positions"),
)


def all_rounds(rng: Rng) -> Iterator[Call]:
    """Every position is reached by some round: no denominator is 0."""
    for size in range(1, 9):
        yield call(np.concatenate([[size], rng.integers(0, size + 1, size=int(rng.integers(1, 40)))]), size)


def decays(rng: Rng) -> Iterator[Call]:
    """Many rounds stop early: a share of all rounds is far from a share of those that came so far."""
    for size in range(2, 9):
        yield call(np.append(np.minimum(rng.geometric(0.5, size=60) - 1, size), size), size)


def unreached(rng: Rng) -> Iterator[Call]:
    for size in range(2, 9):
        for best in range(size - 1):
            yield call(rng.integers(0, best + 1, size=5), size)
    yield call([], 1)
    yield call([], 4)


def many_rounds(rng: Rng) -> Iterator[Call]:
    yield call(rng.integers(0, 65, size=2000), 64)


### END HIDDEN TESTS


TASK_2_5 = Task(
    id="2.5",
    lesson=LESSON,
    module="dspark_mini.confidence",
    function="conditional_acceptance",
    todo="divide, for each position, the rounds that passed it by the rounds that reached it",
    hints=(
        "A position can only be accepted in a round that accepted everything before it. So the rate of position k "
        "compares two groups of rounds: those with at least k accepted, among those with at least k − 1.",
        "Count first: for k = 0..γ, how many rounds have at least k accepted. Neighbours in that list are numerator "
        "and "
        "denominator. A denominator of 0 means that nobody came so far: the rate is unknown, nan, and not 0.",
        "reached = for k from 0 to block_size: number of rounds with count ≥ k\n"
        "for k from 1 to block_size: reached[k] / reached[k − 1], or nan where reached[k − 1] is 0",
    ),
    properties=(
        Property(
            "passed_among_reached",
            "Position k: rounds with at least k accepted, among those with at least k − 1.",
            3,
            "A count of k means that positions 1..k passed: compare with >=, and shift by one between the two.",
            Values(
                examples=ACCEPTANCE,
                ### BEGIN HIDDEN TESTS
                hidden=all_rounds,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "condition_on_reaching",
            "The denominator is the rounds that came so far, not all the rounds.",
            2,
            "Divide by reached[k − 1]; divided by all rounds it would be the survival a_k, which always falls.",
            Values(
                examples=(Example(call([0, 0, 0, 2], 2), [0.25, 1.0]),),
                ### BEGIN HIDDEN TESTS
                hidden=decays,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "unreached_is_nan",
            "Where no round came that far, the rate is nan; without rounds all of them are.",
            2,
            "0 would say that the position always fails. float('nan') says that nobody knows.",
            Values(
                examples=(Example(call([0, 0], 3), [0.0, NAN, NAN]), Example(call([], 2), [NAN, NAN])),
                ### BEGIN HIDDEN TESTS
                hidden=unreached,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("plain floats in a list", ACCEPTANCE, ACCEPTANCE_BAD, ACCEPTANCE_BAD_HIDDEN, ACCEPTANCE_TWINS),
        Property(
            "many_rounds_in_time",
            "2,000 rounds of 64 positions take well under 2 s.",
            1,
            "One comparison of the whole array a position is enough.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=many_rounds,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

TASKS = (TASK_2_1, TASK_2_2, TASK_2_3, TASK_RECORD, TASK_2_4, TASK_2_5)
