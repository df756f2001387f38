"""Lesson 04, confidence: what its tasks must satisfy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.check.judges import Bad, Example, Values
from grader.lessons.tasks import Property, Task, manners
from grader.run.child.calling import Call, call

LESSON = "04_confidence"
NAN, INF = math.nan, math.inf
Rng = np.random.Generator
Array = np.ndarray[Any, Any]

# --- Task 4.1: acceptance_target ---------------------------------------------------------------------

TARGET = (
    Example(call([[0.2, 0.2, 0.6]], [[0.5, 0.3, 0.2]]), np.array([0.6])),
    Example(call([[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [0.75, 0.25]]), np.array([1.0, 0.5])),
)
TARGET_TWINS = (Example(call([[0.2, 0.2, 0.6]], [[0.2, 0.3, 0.5]]), np.array([0.9])),)
TARGET_BAD = (
    Bad(call([[0.5, 0.5], [0.5, 0.25]], [[0.5, 0.5], [0.5, 0.5]]), "q", 1, "row 1 of q sums to 0.75"),
    Bad(call([[0.5, 0.5]], [[0.5, 0.25, 0.25]]), ("p", "q"), None, "p has a larger vocabulary than q"),
)
TARGET_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
TARGET_BAD_HIDDEN = (
    Bad(call([[0.5, 0.5], [0.5, 0.5], [1.5, -0.5]], [[0.5, 0.5]] * 3), "q", 2, "row 2 of q is negative"),
    Bad(call([[0.5, 0.5]] * 3, [[0.5, 0.5], [0.25, 0.5], [0.5, 0.25]]), "p", 1, "row 1 of p sums to 0.75"),
    Bad(call([[0.5, 0.5]] * 2, [[0.5, 0.5], [-0.25, 1.25]]), "p", 1, "row 1 of p is negative"),
    Bad(call([[0.5, NAN], [0.5, 0.5]], [[0.5, 0.5]] * 2), "q", 0, "row 0 of q holds a NaN"),
    Bad(call([[0.5, 0.5]] * 2, [[0.5, 0.5], [NAN, 0.5]]), "p", 1, "row 1 of p holds a NaN"),
    Bad(call([[INF, 0.5]], [[0.5, 0.5]]), "q", 0, "row 0 of q holds infinity"),
    Bad(call([[0.5, 0.5], [1.0]], [[0.5, 0.5]] * 2), "q", 1, "row 1 of q is shorter than the others"),
    Bad(call([[0.5, 0.5]] * 2, [[0.5, 0.5]]), ("p", "q"), None, "p has fewer rows than q"),
    Bad(call([[0.5, 0.5]], [[0.5, 0.5]] * 2), ("p", "q"), None, "p has more rows than q"),
    Bad(call([0.5, 0.5], [0.5, 0.5]), ("p", "q"), None, "they are no matrices"),
    Bad(call([[[0.5, 0.5]]], [[[0.5, 0.5]]]), ("p", "q"), None, "they are no matrices"),
    Bad(call([], []), ("p", "q"), None, "there is no position at all"),
)


def random_rows(rng: Rng, positions: int, vocabulary: int) -> Array:
    """Distributions between nearly even and nearly certain."""
    rows = rng.dirichlet(np.full(vocabulary, rng.choice([0.3, 1.0, 3.0])), size=positions) + 1e-6
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def one_position(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        vocabulary = int(rng.integers(2, 9))
        yield call(random_rows(rng, 1, vocabulary), random_rows(rng, 1, vocabulary))


def several_positions(rng: Rng) -> Iterator[Call]:
    """As many positions as tokens, too: an axis that is mixed up gives a result of the right shape."""
    for positions in range(2, 8):
        for vocabulary in (positions, positions + 2):
            yield call(random_rows(rng, positions, vocabulary), random_rows(rng, positions, vocabulary))


def rows_with_zeros(rng: Rng) -> Iterator[Call]:
    """Exact fractions, most tokens impossible for the drafter, or for the target, or for both."""
    for _ in range(20):
        q, p = np.zeros((2, 3, 6))
        for rows in (q, p):
            for row in rows:
                row[rng.choice(6, size=2, replace=False)] = [0.25, 0.75]
        yield call(q, p)


def alike_and_apart(rng: Rng) -> Iterator[Call]:
    for vocabulary in range(2, 7):
        rows = np.eye(vocabulary)
        yield call(rows, rows)
        yield call(rows, np.roll(rows, 1, axis=0))
        yield call(np.full((2, vocabulary), 1.0 / vocabulary), rows[:2])


def large_rows(rng: Rng) -> Iterator[Call]:
    yield call(random_rows(rng, 64, 2000), random_rows(rng, 64, 2000))


### END HIDDEN TESTS


TASK_4_1 = Task(
    id="4.1",
    lesson=LESSON,
    module="dspark_mini.calibration",
    function="acceptance_target",
    todo="return 1 minus half the absolute difference of the rows, one number a position",
    hints=(
        "A draft is accepted as often as the two distributions overlap. Where q and p are alike everything is "
        "accepted; where they share no token, nothing is. The number for a position comes from its two rows only.",
        "Take the differences of the two matrices, make them positive, and add them up along the vocabulary: that is "
        "‖q − p‖₁ for every position. Half of it is the part of q that p does not cover.",
        "distance = half of the sum, along the vocabulary (axis 1), of |draft − target|      → (γ,)\n"
        "return 1 − distance, held between 0 and 1",
    ),
    properties=(
        Property(
            "overlap_of_q_and_p",
            "A position gets 1 − ½‖q − p‖₁, the overlap of its two rows.",
            3,
            "Σ|q − p| counts what is missing and what is too much; only one half of it is rejected.",
            Values(
                examples=TARGET[:1],
                ### BEGIN HIDDEN TESTS
                hidden=one_position,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "one_number_a_position",
            "Every position has a number of its own, from its own two rows.",
            2,
            "Sum along the vocabulary, axis 1: the result has as many entries as there are positions.",
            Values(
                examples=TARGET[1:],
                ### BEGIN HIDDEN TESTS
                hidden=several_positions,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "zeros_are_legal",
            "A token that is impossible for the drafter, for the target or for both is counted like any other.",
            1,
            "Nothing has to be divided here, and no logarithm taken; |q − p| and min(q, p) do not mind a zero.",
            Values(
                examples=(Example(call([[0.0, 0.25, 0.75, 0.0]], [[0.5, 0.5, 0.0, 0.0]]), np.array([0.25])),),
                ### BEGIN HIDDEN TESTS
                hidden=rows_with_zeros,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "from_zero_to_one",
            "Equal rows give 1, rows without a common token give 0.",
            1,
            "The label is a chance: 1 where q = p, 0 where they have no token in common.",
            Values(
                examples=(Example(call([[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0])),),
                ### BEGIN HIDDEN TESTS
                hidden=alike_and_apart,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("floats in an array", TARGET, TARGET_BAD, TARGET_BAD_HIDDEN, TARGET_TWINS),
        Property(
            "large_block_in_time",
            "64 positions of 2,000 tokens take well under 2 s.",
            1,
            "Subtract whole arrays; no loop over the tokens is needed.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_rows,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 4.2: prefix_survival -----------------------------------------------------------------------

SURVIVAL = (
    Example(call([0.5, 0.5, 1.0, 0.5]), np.array([0.5, 0.25, 0.25, 0.125])),
    Example(call([[0.5, 0.5], [1.0, 0.75]]), np.array([[0.5, 0.25], [1.0, 0.75]])),
)
SURVIVAL_TWINS = (Example(call([0.5, 1.0, 1.0, 0.5]), np.array([0.5, 0.5, 0.5, 0.25])),)
SURVIVAL_BAD = (
    Bad(call([0.5, 1.5, 0.25]), "confidences", 1, "1.5 lies outside [0, 1]"),
    Bad(call([[0.5, 0.5], [0.5, NAN]]), "confidences", 1, "row 1 holds a NaN"),
)
SURVIVAL_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
SURVIVAL_BAD_HIDDEN = (
    Bad(call([0.5, 0.0, -0.5]), "confidences", 2, "−0.5 lies outside [0, 1], behind a zero"),
    Bad(call([NAN, 0.5]), "confidences", 0, "position 0 is NaN"),
    Bad(call([0.5, 0.5, 0.5, INF]), "confidences", 3, "infinity lies outside [0, 1]"),
    Bad(call([[0.5, 0.5], [0.5, 0.5], [7.5, 0.5]]), "confidences", 2, "row 2 holds 7.5"),
    Bad(call([[0.5, 0.5], [0.5]]), "confidences", 1, "row 1 is shorter than the others"),
    Bad(call(0.5), "confidences", None, "a single number is no block"),
)


def flat_blocks(rng: Rng) -> Iterator[Call]:
    for size in (1, 2, 3, 5, 8, 13):
        yield call(rng.uniform(0.3, 1.0, size=size))
        yield call(rng.integers(0, 9, size=size) / 8.0)


def many_axes(rng: Rng) -> Iterator[Call]:
    """Square and longer blocks of two, three and four axes: a product along another axis has the same shape."""
    for shape in ((3, 3), (4, 2), (1, 5), (5, 1), (2, 3, 4), (3, 3, 3), (1, 2, 3, 2)):
        yield call(rng.uniform(0.2, 1.0, size=shape))


def certain_and_impossible(rng: Rng) -> Iterator[Call]:
    for _ in range(12):
        yield call(rng.choice([0.0, 0.5, 1.0, 1.0], size=(3, 6)))
    yield call([1, 0, 1])
    yield call([0, 0])
    yield call(np.ones(9))


def nothing(rng: Rng) -> Iterator[Call]:
    for shape in ((0,), (3, 0), (0, 4), (2, 0, 5), (2, 3, 0)):
        yield call(np.zeros(shape))


def many_blocks(rng: Rng) -> Iterator[Call]:
    yield call(rng.uniform(0.8, 1.0, size=(2000, 64)))


### END HIDDEN TESTS


TASK_4_2 = Task(
    id="4.2",
    lesson=LESSON,
    module="dspark_mini.calibration",
    function="prefix_survival",
    todo="multiply the confidences up, from the first position on, along the last axis",
    hints=(
        "A draft that stands behind a rejected one is thrown away. So a_j is the chance that all of the first j "
        "survive, and each c_k is already conditional on those before it: the chances multiply.",
        "a_1 = c_1, and every further one is the one before it times the next confidence. Where there are several "
        "axes, the block runs along the last one, and the others only count blocks.",
        "product = 1\n"
        "for each confidence of the block, from left to right: product = product · confidence; note it\n"
        "NumPy has this running product as a function of one array and one axis: look for `cum…`",
    ),
    properties=(
        Property(
            "running_product",
            "a_j is the product of the first j confidences.",
            3,
            "Multiply, from the first position on, and keep every intermediate result: a_1 = c_1.",
            Values(
                examples=SURVIVAL[:1],
                ### BEGIN HIDDEN TESTS
                hidden=flat_blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "along_the_last_axis",
            "A block runs along the last axis; (γ,) and (…, γ) both work, and blocks do not mix.",
            2,
            "Name the axis: axis=-1. Without it NumPy flattens the array, and axis 0 runs over the requests.",
            Values(
                examples=SURVIVAL[1:],
                ### BEGIN HIDDEN TESTS
                hidden=many_axes,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "zero_ends_it",
            "Behind a confidence of 0 nothing survives; one of 1 changes nothing.",
            1,
            "0 and 1 are ordinary factors: do not leave them out, and do not take their logarithm unguarded.",
            Values(
                examples=(Example(call([1.0, 0.5, 0.0, 1.0]), np.array([1.0, 0.5, 0.0, 0.0])),),
                ### BEGIN HIDDEN TESTS
                hidden=certain_and_impossible,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "empty_is_legal",
            "No confidences, or no blocks, give an empty array of the same shape.",
            1,
            "The result always has the shape of the input; do not look at its first entry before you know it exists.",
            Values(
                examples=(Example(call([]), np.zeros(0)),),
                ### BEGIN HIDDEN TESTS
                hidden=nothing,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("floats in an array", SURVIVAL, SURVIVAL_BAD, SURVIVAL_BAD_HIDDEN, SURVIVAL_TWINS),
        Property(
            "many_blocks_in_time",
            "2,000 blocks of 64 positions take well under 2 s.",
            1,
            "One call on the whole array is enough; a loop over the positions would do, one over all entries is slow.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=many_blocks,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 4.3: expected_calibration_error ------------------------------------------------------------

ECE = (
    Example(call([0.25, 0.75, 0.75, 0.75], [0, 1, 1, 0], 2), 0.125),
    Example(call([0.25, 0.25], [1, 0], 1), 0.25),
)
ECE_BAD = (
    Bad(call([0.25, 1.5], [0, 1]), "predicted", 1, "1.5 is no chance"),
    Bad(call([0.25, 0.75], [0, 1, 1]), ("observed", "predicted"), None, "one outcome has no prediction"),
    Bad(call([0.25], [0], 0), "n_bins", None, "there is no bin"),
)
ECE_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
ECE_BAD_HIDDEN = (
    Bad(call([0.25, 0.5, NAN], [0, 1, 1]), "predicted", 2, "prediction 2 is NaN"),
    Bad(call([-0.5, 0.5], [0, 1]), "predicted", 0, "−0.5 is no chance"),
    Bad(call([0.25, 0.5, 0.5, INF], [0, 1, 1, 1]), "predicted", 3, "infinity is no chance"),
    Bad(call([0.25, 0.5], [0, NAN]), "observed", 1, "outcome 1 is NaN"),
    Bad(call([0.25, 0.5, 0.5], [0, 1]), ("observed", "predicted"), None, "one prediction has no outcome"),
    Bad(call([[0.25, 0.5]], [[0, 1]]), ("predicted", "observed"), None, "they are matrices"),
    Bad(call([], []), ("predicted", "observed"), None, "there is no sample at all"),
    Bad(call([0.25], [0], -3), "n_bins", None, "n_bins is negative"),
)


def inside_bins(rng: Rng, samples: int, n_bins: int, used: Array | None = None) -> Array:
    """Predictions that keep away from the edges of their bins, so that rounding cannot move them."""
    bins = rng.choice(np.arange(n_bins) if used is None else used, size=samples)
    return np.asarray((bins + rng.uniform(0.05, 0.95, size=samples)) / n_bins)


def outcomes(rng: Rng, chances: Array) -> Array:
    return np.asarray((rng.random(chances.shape) < chances).astype(int))


def single_bins(rng: Rng) -> Iterator[Call]:
    """All samples in one bin, too high or too low."""
    for n_bins in range(1, 9):
        predicted = inside_bins(rng, int(rng.integers(1, 12)), n_bins, rng.integers(n_bins, size=1))
        yield call(predicted, outcomes(rng, np.full(predicted.size, rng.random())), n_bins)


def opposite_gaps(rng: Rng) -> Iterator[Call]:
    """Low predictions that are too low, high ones that are too high: over all samples it evens out."""
    for size in range(2, 12):
        predicted = np.concatenate([inside_bins(rng, size, 4, np.array([0])), inside_bins(rng, size, 4, np.array([3]))])
        observed = np.concatenate([outcomes(rng, np.full(size, 0.7)), outcomes(rng, np.full(size, 0.3))])
        yield call(predicted, observed, 4)


def uneven_bins(rng: Rng) -> Iterator[Call]:
    """One bin holds nearly all the samples."""
    for n_bins in (2, 3, 5, 8, 10, 15):
        many = inside_bins(rng, 30, n_bins, np.array([n_bins - 1]))
        few = inside_bins(rng, 4, n_bins)
        predicted = rng.permutation(np.concatenate([many, few]))
        yield call(predicted, outcomes(rng, predicted**2), n_bins)


def on_the_edges(rng: Rng) -> Iterator[Call]:
    """Exact binary fractions on the edges of 1, 2, 4 and 8 bins, 0 and 1 among them."""
    for n_bins in (1, 2, 4, 8):
        for _ in range(6):
            predicted = rng.integers(0, 9, size=12) / 8.0
            yield call(predicted, outcomes(rng, np.full(12, 0.5)), n_bins)
        yield call(np.array([0.0, 1.0, 1.0]), np.array([1, 0, 1]), n_bins)


def few_samples(rng: Rng) -> Iterator[Call]:
    for n_bins in (10, 20, 50, 100):
        predicted = inside_bins(rng, int(rng.integers(1, 4)), n_bins)
        yield call(predicted, outcomes(rng, predicted), n_bins)


def ten_by_default(rng: Rng) -> Iterator[Call]:
    for _ in range(8):
        predicted = inside_bins(rng, 40, 10)
        yield call(predicted, outcomes(rng, predicted))
        yield call(predicted=predicted, observed=outcomes(rng, predicted) > 0, n_bins=5)


def many_samples(rng: Rng) -> Iterator[Call]:
    predicted = inside_bins(rng, 2000, 10)
    yield call(predicted, outcomes(rng, predicted**2))


### END HIDDEN TESTS


TASK_4_3 = Task(
    id="4.3",
    lesson=LESSON,
    module="dspark_mini.calibration",
    function="expected_calibration_error",
    todo="sort the samples into bins, then average the gaps of the bins by their share of samples",
    hints=(
        "Among the samples that were given about the same chance, that share should come true. Compare, bin by bin, "
        "the mean of what was predicted with the mean of what happened, and let a bin count by the samples it has.",
        "The number of a bin is ⌊p·n⌋, as an int, and n − 1 where p is 1. A loop over the bins with a mask will do, "
        "but skip the empty ones. Or note that share times gap is |Σ predicted − Σ observed| of a bin, divided by N.",
        "bins = the smaller of ⌊values · n_bins⌋ (as ints) and n_bins − 1                  → (N,)\n"
        "for each bin: add up predicted − observed of its samples     (np.bincount with weights does it)\n"
        "return the sum of the absolute values of these sums, divided by the number of samples, as a plain float",
    ),
    properties=(
        Property(
            "gap_of_a_bin",
            "The gap of a bin is the distance between its mean prediction and its share of successes.",
            3,
            "Use the mean of the predictions in the bin, not its middle; and the distance, not its square.",
            Values(
                examples=ECE[1:],
                ### BEGIN HIDDEN TESTS
                hidden=single_bins,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "gaps_do_not_cancel",
            "A bin that is too low does not make up for one that is too high.",
            1,
            "Take the absolute value of every bin before you add them up.",
            Values(
                examples=(Example(call([0.25, 0.75], [1, 0], 2), 0.75),),
                ### BEGIN HIDDEN TESTS
                hidden=opposite_gaps,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "weighted_by_share",
            "A bin counts by its share of the samples.",
            2,
            "Multiply each gap by the number of samples in its bin and divide by N; do not average over the bins.",
            Values(
                examples=ECE[:1],
                ### BEGIN HIDDEN TESTS
                hidden=uneven_bins,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "edges_belong_to_upper_bin",
            "A sample p belongs to bin min(⌊p·n⌋, n − 1): on an edge it goes up, and 1 to the last bin.",
            2,
            "Round down, do not round to the nearest; and cap at n − 1, or p = 1 gets a bin of its own.",
            Values(
                examples=(
                    Example(call([0.25, 0.25, 0.5, 0.75], [0, 1, 1, 0], 2), 0.1875),
                    Example(call([0.25, 0.25, 0.75, 1.0], [0, 1, 1, 0], 2), 0.3125),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=on_the_edges,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "empty_bins_do_not_count",
            "A bin without samples adds nothing.",
            1,
            "The mean of nothing is nan: skip empty bins, or work with sums instead of means.",
            Values(
                examples=(Example(call([0.875], [1], 8), 0.125),),
                ### BEGIN HIDDEN TESTS
                hidden=few_samples,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "ten_bins_by_default",
            "Without n_bins there are ten; outcomes may be True and False.",
            1,
            "Keep the signature: (predicted, observed, n_bins=10).",
            Values(
                examples=(Example(call([0.53125, 0.46875], [True, False]), 0.46875),),
                ### BEGIN HIDDEN TESTS
                hidden=ten_by_default,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("one plain float", ECE, ECE_BAD, ECE_BAD_HIDDEN),
        Property(
            "many_samples_in_time",
            "2,000 samples take well under 2 s.",
            1,
            "One pass over the samples, or one mask a bin, is enough.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=many_samples,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 4.4: fit_sequential_temperatures -----------------------------------------------------------

LN2, LN9 = math.log(2.0), math.log(9.0)
FIT = (
    Example(call([[LN9, LN2]] * 4, [[1, 1], [1, 1], [1, 0], [0, 0]], [1.0, 2.0]), np.array([2.0, 1.0])),
    Example(call([[0.0], [0.0]], [[1], [0]], [4.0, 1.25, 0.25]), np.array([1.25])),
)
FIT_BAD = (
    Bad(call([[0.5], [NAN]], [[1], [0]], [1.0, 2.0]), "confidence_logits", 1, "row 1 holds a NaN"),
    Bad(call([[0.5], [0.25]], [[1], [0]], []), "grid", None, "there is no temperature to try"),
)
FIT_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
FIT_BAD_HIDDEN = (
    Bad(call([[0.5], [0.5], [INF]], [[1], [0], [1]], [1.0]), "confidence_logits", 2, "row 2 holds +inf"),
    Bad(call([[0.5, 0.5], [0.5]], [[1, 0], [0, 0]], [1.0]), "confidence_logits", 1, "row 1 is too short"),
    Bad(call([0.5, 0.5], [1, 0], [1.0]), ("confidence_logits", "accepted"), None, "they are no matrices"),
    Bad(call([], [], [1.0]), ("confidence_logits", "accepted"), None, "there is no round at all"),
    Bad(call([[], []], [[], []], [1.0]), ("confidence_logits", "accepted"), None, "there is no position at all"),
    Bad(call([[0.5], [0.5]], [[1]], [1.0]), ("accepted", "confidence_logits"), None, "a round has no outcome"),
    Bad(call([[0.5]], [[1, 0]], [1.0]), ("accepted", "confidence_logits"), None, "an outcome has no logit"),
    Bad(call([[0.5], [0.5]], [[1], [NAN]], [1.0]), "accepted", 1, "row 1 of accepted holds a NaN"),
    Bad(call([[0.5]], [[1]], [1.0, 2.0, -0.5]), "grid", 2, "a temperature is negative"),
    Bad(call([[0.5]], [[1]], [NAN, 2.0]), "grid", 0, "a temperature is NaN"),
    Bad(call([[0.5]], [[1]], [[1.0, 2.0]]), "grid", None, "the grid is a matrix"),
)


def is_settled(logits: Array, accepted: Array, grid: Array) -> bool:
    """Tell whether rounding can change nothing: no chance near a bin's edge, no two errors nearly alike."""
    survival = np.ones(len(logits))
    for column, outcome in zip(logits.T, accepted.T):
        options = survival / (1.0 + np.exp(-column / grid[:, None]))  # (temperatures, N)
        bins = np.minimum((options * 10).astype(int), 9)
        gaps = [np.abs(np.bincount(b, weights=option - outcome)).sum() for b, option in zip(bins, options)]
        first, second = np.sort(gaps)[:2] / len(logits)
        if second - first < 1e-6 or np.abs(options[..., None] - np.arange(1, 10) / 10).min() < 1e-7:
            return False
        survival = options[np.argmin(gaps)]
    return True


def settled(rng: Rng, low: int, high: int, count: int) -> Iterator[Call]:
    """Rounds whose head is too sure of itself, or not sure enough, by a factor of its own at each position."""
    while count:
        gamma, grid = int(rng.integers(low, high + 1)), np.sort(rng.choice(np.arange(2, 25) / 8, size=9, replace=False))
        truth = rng.normal(rng.uniform(0.8, 2.0), 1.2, size=(80, gamma))
        accepted = np.cumprod(rng.random(truth.shape) < 1.0 / (1.0 + np.exp(-truth)), axis=1)
        logits = truth * rng.uniform(0.5, 2.5, size=gamma)
        if is_settled(logits, accepted, grid):
            count -= 1
            yield call(logits, accepted > 0 if count % 3 == 0 else accepted, grid)


def first_positions(rng: Rng) -> Iterator[Call]:
    yield from settled(rng, 1, 1, 24)


def pairs(rng: Rng) -> Iterator[Call]:
    yield from settled(rng, 2, 2, 16)


def blocks(rng: Rng) -> Iterator[Call]:
    yield from settled(rng, 3, 5, 12)


def exact_ties(rng: Rng) -> Iterator[Call]:
    """Logits of 0 give ½ at every temperature, so all of the grid ties; so do ones that saturate at 1."""
    for _ in range(12):
        grid = rng.permutation(rng.choice(np.array([0.25, 0.5, 0.75, 1.25, 1.5, 1.75, 2.5, 4.0]), 5, replace=False))
        accepted = np.cumprod(rng.random((8, 3)) < 0.6, axis=1)
        yield call(np.zeros((8, 3)), accepted, grid)
        yield call(np.where(rng.random((8, 3)) < 0.5, 0.0, 160.0), accepted, grid)
    yield call(np.zeros((2, 2)), [[1, 0], [0, 0]], [3.0, 1.0, 0.5])
    yield call(np.zeros((2, 1)), [[1], [0]], [0.25, 1.75])


def shuffled_grids(rng: Rng) -> Iterator[Call]:
    for one in settled(rng, 1, 3, 10):
        logits, accepted, grid = one.args
        yield call(logits, accepted, rng.permutation(np.concatenate([grid, grid[:3]])))
    yield call([[0.5, 2.0]] * 3, [[1, 1], [1, 0], [0, 0]], [1.5])


def large_fit(rng: Rng) -> Iterator[Call]:
    logits = rng.normal(4.5, 1.0, size=(2000, 64))
    accepted = np.cumprod(rng.random(logits.shape) < 1.0 / (1.0 + np.exp(-logits / 1.3)), axis=1)
    yield call(logits, accepted, np.linspace(0.5, 3.0, 50))


### END HIDDEN TESTS


TASK_4_4 = Task(
    id="4.4",
    lesson=LESSON,
    module="dspark_mini.calibration",
    function="fit_sequential_temperatures",
    todo="for each position try the whole grid, keep the best temperature, and go on from there",
    hints=(
        "Go through the positions from left to right. At each of them everything before is settled, so there is one "
        "number to choose: the temperature that makes the survival of the prefix, up to here, best calibrated.",
        "Keep the survival of the prefix so far, one number a round, 1 at the start. For each temperature multiply it "
        "by σ(column / T) and measure the error against the column of accepted. For the ties, sort the grid by "
        "(distance from 1, value) first; then the first of equal errors is the right one.",
        "order = the grid, sorted by (|T − 1|, T)\n"
        "survival = ones, one a round\n"
        "for each column k of logits and of labels:\n"
        "    for each T of order: option = survival · σ(column / T), and its error with 10 bins\n"
        "    best = the first T with the least error; note it\n"
        "    survival = the option of that T\n"
        "return what you noted, as an array            (σ(x) = ½ + ½ tanh(x/2) does not overflow)",
    ),
    properties=(
        Property(
            "least_error_wins",
            "T_1 is the value of the grid whose σ(logit / T) has the least calibration error, with 10 bins.",
            3,
            "Divide the logit by T, then apply σ. Measure with expected_calibration_error and its ten bins.",
            Values(
                examples=(
                    Example(call([[LN9]] * 4, [[1], [1], [1], [0]], [1.0, 2.0]), np.array([2.0])),
                    Example(
                        call([[LN9], [math.log(13 / 7)], [math.log(9 / 11)]], [[1], [1], [0]], [1.0, 0.5]),
                        np.array([0.5]),
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=first_positions,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "product_of_the_prefix",
            "At position k the prediction is the product σ(logit_1/T_1) · … · σ(logit_k/T_k), over all rounds.",
            2,
            "accepted[n, k] says whether the whole prefix survived, so compare it with the product, not with one σ.",
            Values(
                examples=(
                    FIT[0],
                    Example(
                        call([[LN9, math.log(1.25)]] * 4, [[1, 1], [1, 1], [1, 0], [1, 0]], [1.0, 2.0]),
                        np.array([1.0, 1.0]),
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=pairs,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "left_to_right",
            "The temperatures are fitted one after the other, and those before stay as they were fitted.",
            2,
            "Carry the survival with the fitted temperatures on to the next position; look back at nothing else.",
            Values(
                examples=(
                    Example(
                        call(
                            [[LN9, math.log(3.0), LN2]] * 16,
                            [[1, 1, 1]] * 6 + [[1, 1, 0]] * 3 + [[1, 0, 0]] * 3 + [[0, 0, 0]] * 4,
                            [1.0, 2.0],
                        ),
                        np.array([2.0, 1.0, 1.0]),
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=blocks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "ties_closest_to_one",
            "Of equal errors the temperature closest to 1 wins, then the smaller.",
            2,
            "Try the grid in the order of (|T − 1|, T) and replace the best only by a smaller error.",
            Values(
                examples=(
                    Example(call([[0.0], [0.0]], [[1], [0]], [1.5, 3.0, 0.5]), np.array([0.5])),
                    FIT[1],
                ),
                ### BEGIN HIDDEN TESTS
                hidden=exact_ties,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "grid_in_any_order",
            "The grid may stand in any order, repeat itself, or hold one value only.",
            1,
            "Do not rely on a sorted grid; the result holds values of the grid, not their indices.",
            Values(
                examples=(Example(call([[LN9]] * 4, [[1], [1], [1], [0]], [2.0, 4.0, 1.0, 2.0]), np.array([2.0])),),
                ### BEGIN HIDDEN TESTS
                hidden=shuffled_grids,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("floats in an array", FIT, FIT_BAD, FIT_BAD_HIDDEN),
        Property(
            "large_fit_in_time",
            "2,000 rounds of 64 positions with 50 temperatures take under 2 s.",
            1,
            "No loop over the rounds: one array operation for each position and temperature, and np.bincount for bins.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_fit,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

TASKS = (TASK_4_1, TASK_4_2, TASK_4_3, TASK_4_4)
