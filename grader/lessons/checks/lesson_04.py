"""Lesson 04, confidence: what its tasks must satisfy."""

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
    todo="return the chance that a draft is accepted, one number per position",
    hints=(
        "A draft is accepted as often as the two distributions overlap. Where q and p are alike everything is "
        "accepted; where they share no token, nothing is. The number of a position comes from its two rows only.",
        "Take one position and one token x: how often is x drawn, and how often is it then accepted? Multiply, for an "
        "x with p(x) above q(x) and for one with p(x) below it. Which simple function of the two numbers is that?",
        "for each position: add up the smaller of q and p over the vocabulary (axis 1)      → (γ,)\n"
        "or, as in the paper: 1 − half of the sum of |q − p|",
    ),
    returns="floats in an array",
    core=(
        values("one_number_per_position", 2)(
            "Every position has a number of its own, from its own two rows.",
            "There are as many numbers as positions, whatever the size of the vocabulary. Which axis has to go?",
            example([[0.25, 0.25, 0.5]], [[0.25, 0.25, 0.5]], gives=np.array([1.0])),
            example([[0.5, 0.25, 0.25], [0.25, 0.75, 0.0]], [[0.5, 0.25, 0.25], [0.25, 0.75, 0.0]], gives=np.ones(2)),
        ),
        values("overlap_of_q_and_p", 3)(
            "A position gets the chance that a token drawn from q is accepted: 1 − ½‖q − p‖₁.",
            "Do one position by hand: how often is each token drawn, and how often is it then accepted? Add these up.",
            example([[0.2, 0.2, 0.6]], [[0.5, 0.3, 0.2]], gives=np.array([0.6])),
            example([[0.2, 0.2, 0.6]], [[0.2, 0.3, 0.5]], gives=np.array([0.9])),
            example([[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [0.75, 0.25]], gives=np.array([1.0, 0.5])),
        ),
        values("zeros_are_legal", 1)(
            "A token that is impossible for the drafter, for the target or for both counts like any other.",
            "What does a token with q = 0 contribute, and one with p = 0? Neither needs a division.",
            example([[0.0, 0.25, 0.75, 0.0]], [[0.5, 0.5, 0.0, 0.0]], gives=np.array([0.25])),
        ),
        values("from_zero_to_one", 1)(
            "Equal rows give 1, rows without a common token give 0.",
            "Where q = p every draft is accepted; where they share no token none is.",
            example([[0.0, 1.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], gives=np.array([1.0, 0.0])),
        ),
    ),
)

TASK_4_2 = Task(
    id="4.2",
    lesson=LESSON,
    reference=prefix_survival,
    todo="return the chance of every prefix of the block",
    hints=(
        "A draft that follows a rejected one is thrown away. So a_j is the chance that all of the first j survive, and "
        "each c_k is already conditional on those before it: the chances multiply.",
        "What is a_1? If you know a_j, what is a_{j+1}? Of several blocks, which axis runs along one?",
        "product = 1\n"
        "for each confidence of the block, from left to right: product = product · confidence; note it\n"
        "NumPy has this running product as a function of one array and one axis: look for `cum…`",
    ),
    returns="floats in an array",
    core=(
        values("running_product", 3)(
            "a_j is the product of the first j confidences.",
            "For [.5, .5], the first token survives with .5, the first two with .5 · .5. Each prefix has an entry, "
            "nothing else has.",
            example([0.5, 0.5, 1.0, 0.5], gives=np.array([0.5, 0.25, 0.25, 0.125])),
            example([0.5, 1.0, 1.0, 0.5], gives=np.array([0.5, 0.5, 0.5, 0.25])),
        ),
        values("along_the_last_axis", 2)(
            "A block runs along the last axis; (γ,) and (…, γ) both work, and blocks do not mix.",
            "Each row is a block of its own: its survivals come from that row alone.",
            example([[0.5, 0.5], [1.0, 0.75]], gives=np.array([[0.5, 0.25], [1.0, 0.75]])),
        ),
        values("zero_ends_it", 1)(
            "After a confidence of 0 nothing survives; one of 1 changes nothing.",
            "A prefix with an impossible token never survives; a certain token leaves the chance as it was.",
            example([1.0, 0.5, 0.0, 1.0], gives=np.array([1.0, 0.5, 0.0, 0.0])),
        ),
        values("empty_is_legal", 1)(
            "No confidences, or no blocks, give an empty array of the same shape.",
            "The result has the shape of the input, also where that holds nothing.",
            example([], gives=np.zeros(0)),
        ),
    ),
)

TASK_4_3 = Task(
    id="4.3",
    lesson=LESSON,
    reference=expected_calibration_error,
    todo="compare what was promised with what happened, bin by bin",
    hints=(
        "Among the samples that were given about the same chance, that share should come true. Compare, bin by bin, "
        "the mean of what was predicted with the mean of what happened, and let a bin count by the samples it has.",
        "With ten bins, which bin has p = .34? And .3? And 1? Once every sample has the number of its bin: what do you "
        "need to know of a bin, and what does an empty one add?",
        "bins = the smaller of ⌊predicted · n_bins⌋ (as ints) and n_bins − 1                  → (N,)\n"
        "for each bin: add up predicted − observed of its samples     (np.bincount with weights does it)\n"
        "return the sum of the absolute values of these sums, divided by the number of samples, as a plain float",
    ),
    returns="one plain float",
    core=(
        values("gap_of_a_bin", 3)(
            "The gap of a bin is the distance between its mean prediction and its share of successes.",
            "By hand, for [.25, .25], [1, 0] and one bin: the mean prediction is .25, the share that came true is .5.",
            example([0.25, 0.25], [1, 0], 1, gives=0.25),
        ),
        values("gaps_do_not_cancel", 1)(
            "A bin that is too low does not make up for one that is too high.",
            "Two bins with one sample each: .25 came true, .75 did not. Both gaps are .75, each of half the samples.",
            example([0.25, 0.75], [1, 0], 2, gives=0.75),
        ),
        values("weighted_by_share", 2)(
            "A bin counts by its share of the samples.",
            "By hand, for .25 and three times .75 in two bins: one sample of four is in the first, three are in the "
            "second.",
            example([0.25, 0.75, 0.75, 0.75], [0, 1, 1, 0], 2, gives=0.125),
            example([0.125, 0.25, 0.375, 0.875], [1, 0, 0, 1], 2, gives=0.09375),
        ),
        values("edges_belong_to_upper_bin", 2)(
            "On the edge of two bins a sample belongs to the upper one; 1 belongs to the last bin.",
            "Two bins: 0 to .5 and .5 to 1. Where do .5 and 1 go, and does every sample go somewhere?",
            example([0.25, 0.25, 0.5, 0.75], [0, 1, 1, 0], 2, gives=0.1875),
            example([0.25, 0.25, 0.75, 1.0], [0, 1, 1, 0], 2, gives=0.3125),
        ),
        values("empty_bins_do_not_count", 1)(
            "A bin without samples adds nothing.",
            "What do your lines do with a bin that holds no sample? It has no mean, and it must not count.",
            example([0.875], [1], 8, gives=0.125),
        ),
        values("ten_bins_by_default", 1)(
            "Without n_bins there are ten; outcomes may be True and False.",
            "Of ten bins .53125 is in the sixth and .46875 in the fifth: each has a gap of .46875.",
            example([0.53125, 0.46875], [True, False], gives=0.46875),
        ),
    ),
)

TASK_4_4 = Task(
    id="4.4",
    lesson=LESSON,
    reference=fit_sequential_temperatures,
    todo="choose a temperature for one position after the other",
    hints=(
        "Go through the positions from left to right. At each of them everything before is settled, so there is one "
        "number to choose: the temperature that makes the survival of the prefix, up to here, best calibrated.",
        "What must you remember of the earlier positions: their temperatures, or is one number per round enough? And "
        "what decides between two temperatures first, what next, what last? Python compares tuples in that order.",
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
            "A logit of ln 9 promises .9 at T = 1 and .75 at T = 2. Which is nearer to 3 accepted rounds of 4?",
            example([[LN9]] * 4, [[1], [1], [1], [0]], [1.0, 2.0], gives=np.array([2.0])),
            example(
                [[LN9], [math.log(13 / 7)], [math.log(9 / 11)]], [[1], [1], [0]], [1.0, 0.5], gives=np.array([0.5])
            ),
        ),
        values("product_of_the_prefix", 2)(
            "At position k the prediction is the product σ(logit_1/T_1) · … · σ(logit_k/T_k), over all rounds.",
            "What does accepted[n, k] speak of: token k alone, or all tokens up to it? And of which rounds?",
            example([[LN9, LN2]] * 4, [[1, 1], [1, 1], [1, 0], [0, 0]], [1.0, 2.0], gives=np.array([2.0, 1.0])),
            example(
                [[LN9, math.log(1.25)]] * 4, [[1, 1], [1, 1], [1, 0], [1, 0]], [1.0, 2.0], gives=np.array([1.0, 1.0])
            ),
        ),
        values("left_to_right", 2)(
            "The temperatures are fitted one after the other, and those before stay as they were fitted.",
            "When position k is fitted, with which temperatures do the positions before it enter the product?",
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
            "A logit of 0 promises ½ at every temperature, so all errors are equal: which entry of the grid do your "
            "lines keep?",
            example([[0.0], [0.0]], [[1], [0]], [1.5, 3.0, 0.5], gives=np.array([0.5])),
            example([[0.0], [0.0]], [[1], [0]], [4.0, 1.25, 0.25], gives=np.array([1.25])),
        ),
        values("grid_in_any_order", 1)(
            "The grid may come in any order, repeat itself, or hold one value only.",
            "Shuffle the grid: would your lines choose the same temperature? The result holds values of the grid.",
            example([[LN9]] * 4, [[1], [1], [1], [0]], [2.0, 4.0, 1.0, 2.0], gives=np.array([2.0])),
        ),
    ),
)

TASKS = (TASK_4_1, TASK_4_2, TASK_4_3, TASK_4_4)
