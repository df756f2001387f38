"""Lesson 04, confidence: what its tasks must satisfy."""

from __future__ import annotations

import math

import numpy as np

from dspark_mini.calibration import (
    acceptance_target,
    expected_calibration_error,
    fit_sequential_temperatures,
    prefix_survival,
)
from grader.lessons.tasks import Task, example, values

LESSON = "04_confidence"
LN2, LN3, LN9 = math.log(2.0), math.log(3.0), math.log(9.0)

TASK_4_1 = Task(
    id="4.1",
    lesson=LESSON,
    reference=acceptance_target,
    todo="return 1 minus half the absolute difference of the rows, one number per position",
    hints=(
        "A draft is accepted as often as the two distributions overlap. Where q and p are alike everything is "
        "accepted; where they share no token, nothing is. The number of a position comes from its two rows only.",
        "Take the differences of the two matrices, make them positive, and add them up along the vocabulary: that is "
        "‖q − p‖₁ for every position. Half of it is the part of q that p does not cover.",
        "distance = half of the sum, along the vocabulary (axis 1), of |q − p|      → (γ,)\n"
        "return 1 − distance, not below 0",
    ),
    returns="floats in an array",
    core=(
        values("overlap_of_q_and_p", 3)(
            "A position gets 1 − ½‖q − p‖₁, the overlap of its two rows.",
            "Σ|q − p| counts both what is missing and what is too much; only one half of it is rejected.",
            example([[0.2, 0.2, 0.6]], [[0.5, 0.3, 0.2]], gives=np.array([0.6])),
            example([[0.2, 0.2, 0.6]], [[0.2, 0.3, 0.5]], gives=np.array([0.9])),
        ),
        values("one_number_per_position", 2)(
            "Every position has a number of its own, from its own two rows.",
            "Sum along the vocabulary, axis 1: the result has as many entries as there are positions.",
            example([[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [0.75, 0.25]], gives=np.array([1.0, 0.5])),
        ),
        values("zeros_are_legal", 1)(
            "A token that is impossible for the drafter, for the target or for both counts like any other.",
            "No division and no logarithm is needed; |q − p| and min(q, p) do not mind a zero.",
            example([[0.0, 0.25, 0.75, 0.0]], [[0.5, 0.5, 0.0, 0.0]], gives=np.array([0.25])),
        ),
        values("from_zero_to_one", 1)(
            "Equal rows give 1, rows without a common token give 0.",
            "The label is a chance: 1 where q = p, 0 where they have no token in common.",
            example([[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], gives=np.array([1.0, 0.0])),
        ),
    ),
)

TASK_4_2 = Task(
    id="4.2",
    lesson=LESSON,
    reference=prefix_survival,
    todo="multiply the confidences, from the first position on, along the last axis",
    hints=(
        "A draft that follows a rejected one is thrown away. So a_j is the chance that all of the first j survive, and "
        "each c_k is already conditional on those before it: the chances multiply.",
        "a_1 = c_1, and every further one is the one before it times the next confidence. Where there are several "
        "axes, the block runs along the last one, and the others only count blocks.",
        "product = 1\n"
        "for each confidence of the block, from left to right: product = product · confidence; note it\n"
        "NumPy has this running product as a function of one array and one axis: look for `cum…`",
    ),
    returns="floats in an array",
    core=(
        values("running_product", 3)(
            "a_j is the product of the first j confidences.",
            "Multiply, from the first position on, and keep every intermediate result: a_1 = c_1.",
            example([0.5, 0.5, 1.0, 0.5], gives=np.array([0.5, 0.25, 0.25, 0.125])),
            example([0.5, 1.0, 1.0, 0.5], gives=np.array([0.5, 0.5, 0.5, 0.25])),
        ),
        values("along_the_last_axis", 2)(
            "A block runs along the last axis; (γ,) and (…, γ) both work, and blocks do not mix.",
            "Name the axis: axis=-1. Without it NumPy flattens the array, and axis 0 runs over the requests.",
            example([[0.5, 0.5], [1.0, 0.75]], gives=np.array([[0.5, 0.25], [1.0, 0.75]])),
        ),
        values("zero_ends_it", 1)(
            "After a confidence of 0 nothing survives; one of 1 changes nothing.",
            "0 and 1 are ordinary factors: do not leave them out, and do not take their logarithm unguarded.",
            example([1.0, 0.5, 0.0, 1.0], gives=np.array([1.0, 0.5, 0.0, 0.0])),
        ),
        values("empty_is_legal", 1)(
            "No confidences, or no blocks, give an empty array of the same shape.",
            "The result always has the shape of the input; do not look at its first entry before you know it exists.",
            example([], gives=np.zeros(0)),
        ),
    ),
)

TASK_4_3 = Task(
    id="4.3",
    lesson=LESSON,
    reference=expected_calibration_error,
    todo="sort the samples into bins, then average the gaps of the bins by their share of samples",
    hints=(
        "Among the samples that were given about the same chance, that share should come true. Compare, bin by bin, "
        "the mean of what was predicted with the mean of what happened, and let a bin count by the samples it has.",
        "The number of a bin is ⌊p·n⌋, as an int, and n − 1 where p is 1. A loop over the bins with a mask will do, "
        "but skip the empty ones. Or note that share times gap is |Σ predicted − Σ observed| of a bin, divided by N.",
        "bins = the smaller of ⌊predicted · n_bins⌋ (as ints) and n_bins − 1                  → (N,)\n"
        "for each bin: add up predicted − observed of its samples     (np.bincount with weights does it)\n"
        "return the sum of the absolute values of these sums, divided by the number of samples, as a plain float",
    ),
    returns="one plain float",
    core=(
        values("gap_of_a_bin", 3)(
            "The gap of a bin is the distance between its mean prediction and its share of successes.",
            "Use the mean of the predictions in the bin, not its middle; and the distance, not its square.",
            example([0.25, 0.25], [1, 0], 1, gives=0.25),
        ),
        values("gaps_do_not_cancel", 1)(
            "A bin that is too low does not make up for one that is too high.",
            "Take the absolute value of every bin before you add them up.",
            example([0.25, 0.75], [1, 0], 2, gives=0.75),
        ),
        values("weighted_by_share", 2)(
            "A bin counts by its share of the samples.",
            "Multiply each gap by the number of samples in its bin and divide by N; do not average over the bins.",
            example([0.25, 0.75, 0.75, 0.75], [0, 1, 1, 0], 2, gives=0.125),
        ),
        values("edges_belong_to_upper_bin", 2)(
            "A sample p belongs to bin min(⌊p·n⌋, n − 1): on an edge it goes up, and 1 to the last bin.",
            "Round down, do not round to the nearest; and cap at n − 1, or p = 1 gets a bin of its own.",
            example([0.25, 0.25, 0.5, 0.75], [0, 1, 1, 0], 2, gives=0.1875),
            example([0.25, 0.25, 0.75, 1.0], [0, 1, 1, 0], 2, gives=0.3125),
        ),
        values("empty_bins_do_not_count", 1)(
            "A bin without samples adds nothing.",
            "The mean of nothing is nan: skip empty bins, or work with sums instead of means.",
            example([0.875], [1], 8, gives=0.125),
        ),
        values("ten_bins_by_default", 1)(
            "Without n_bins there are ten; outcomes may be True and False.",
            "Keep the signature: (predicted, observed, n_bins=10).",
            example([0.53125, 0.46875], [True, False], gives=0.46875),
        ),
    ),
)

TASK_4_4 = Task(
    id="4.4",
    lesson=LESSON,
    reference=fit_sequential_temperatures,
    todo="for each position try the whole grid, keep the best temperature, and go on from there",
    hints=(
        "Go through the positions from left to right. At each of them everything before is settled, so there is one "
        "number to choose: the temperature that makes the survival of the prefix, up to here, best calibrated.",
        "Keep the survival of the prefix so far, one number per round, 1 at the start. For each temperature multiply "
        "it by σ(column / T) and measure the error against the column of accepted. For the ties, let the key of a "
        "minimum be (error, distance from 1, value).",
        "survival = 1 for every round\n"
        "for each column k of confidence_logits and of accepted:\n"
        "    for each T of the grid: option = survival · σ(column / T), and its error with 10 bins\n"
        "    best = the T with the least (error, |T − 1|, T); note it\n"
        "    survival = the option of that T\n"
        "return what you noted, as an array            (σ(x) = ½ + ½ tanh(x/2) does not overflow)",
    ),
    returns="floats in an array",
    core=(
        values("least_error_wins", 3)(
            "T_1 is the value of the grid whose σ(logit / T) has the least calibration error, with 10 bins.",
            "Divide the logit by T, then apply σ. Measure with expected_calibration_error and its ten bins.",
            example([[LN9]] * 4, [[1], [1], [1], [0]], [1.0, 2.0], gives=np.array([2.0])),
            example(
                [[LN9], [math.log(13 / 7)], [math.log(9 / 11)]], [[1], [1], [0]], [1.0, 0.5], gives=np.array([0.5])
            ),
        ),
        values("product_of_the_prefix", 2)(
            "At position k the prediction is the product σ(logit_1/T_1) · … · σ(logit_k/T_k), over all rounds.",
            "accepted[n, k] says whether the whole prefix survived, so compare it with the product, not with one σ.",
            example([[LN9, LN2]] * 4, [[1, 1], [1, 1], [1, 0], [0, 0]], [1.0, 2.0], gives=np.array([2.0, 1.0])),
            example(
                [[LN9, math.log(1.25)]] * 4, [[1, 1], [1, 1], [1, 0], [1, 0]], [1.0, 2.0], gives=np.array([1.0, 1.0])
            ),
        ),
        values("left_to_right", 2)(
            "The temperatures are fitted one after the other, and those before stay as they were fitted.",
            "Carry the survival with the fitted temperatures on to the next position; look back at nothing else.",
            example(
                [[LN9, LN3, LN2]] * 16,
                [[1, 1, 1]] * 6 + [[1, 1, 0]] * 3 + [[1, 0, 0]] * 3 + [[0, 0, 0]] * 4,
                [1.0, 2.0],
                gives=np.array([2.0, 1.0, 1.0]),
            ),
            example([[LN9, LN2]] * 5, [[1, 1]] * 4 + [[0, 0]], [1.0, 2.0], gives=np.array([2.0, 1.0])),
        ),
        values("ties_closest_to_one", 2)(
            "Of equal errors the temperature closest to 1 wins, then the smaller.",
            "Let the least of (error, |T − 1|, T) win; the order of the grid says nothing.",
            example([[0.0], [0.0]], [[1], [0]], [1.5, 3.0, 0.5], gives=np.array([0.5])),
            example([[0.0], [0.0]], [[1], [0]], [4.0, 1.25, 0.25], gives=np.array([1.25])),
        ),
        values("grid_in_any_order", 1)(
            "The grid may come in any order, repeat itself, or hold one value only.",
            "Do not rely on a sorted grid; the result holds values of the grid, not their indices.",
            example([[LN9]] * 4, [[1], [1], [1], [0]], [2.0, 4.0, 1.0, 2.0], gives=np.array([2.0])),
        ),
    ),
)

TASKS = (TASK_4_1, TASK_4_2, TASK_4_3, TASK_4_4)
