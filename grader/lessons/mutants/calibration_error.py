"""Variants of task 4.3: what learners write for expected_calibration_error, wrong and right."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import check_same_shape, unit_numbers, whole_number
from grader.lessons.mutants import right, wrong

TASK = "4.3"
Samples = NDArray[np.float64]


def _read(predicted: Any, observed: Any, n_bins: Any) -> tuple[Samples, Samples, int]:
    """Check the arguments as the top of the stub does; the samples become new arrays."""
    values, outcomes = unit_numbers("predicted", predicted), unit_numbers("observed", observed)
    check_same_shape("predicted", values, "observed", outcomes)
    return values.copy(), outcomes.copy(), whole_number("n_bins", n_bins, low=1)


def _bins(values: Samples, n_bins: int) -> NDArray[np.int64]:
    return np.minimum((values * n_bins).astype(np.int64), n_bins - 1)


def _error(values: Samples, outcomes: Samples, bins: Any) -> float:
    """Average the gaps of some bins, whatever they are, by their share of samples."""
    sums: dict[int, float] = defaultdict(float)
    for number, value, outcome in zip(np.asarray(bins).tolist(), values.tolist(), outcomes.tolist()):
        sums[number] += value - outcome
    return sum(map(abs, sums.values())) / len(values)


def _groups(values: Samples, outcomes: Samples, n_bins: int) -> list[tuple[Samples, Samples]]:
    """The predictions and outcomes of every bin that has any."""
    bins = _bins(values, n_bins)
    return [(values[bins == b], outcomes[bins == b]) for b in range(n_bins) if (bins == b).any()]


# --- Wrong: the gap -----------------------------------------------------------------------------------


@wrong(TASK, "gap_of_a_bin", "The calibration error is the mean distance of each prediction from its outcome.")
def mean_absolute_error(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, _ = _read(predicted, observed, n_bins)
    return float(np.abs(values - outcomes).mean())


@wrong(TASK, "gap_of_a_bin", "Errors are squared.")
def brier_score(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, _ = _read(predicted, observed, n_bins)
    return float(((values - outcomes) ** 2).mean())


@wrong(TASK, "gap_of_a_bin", "A bin stands for its middle, so that is what was predicted.")
def middle_of_the_bin(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    bins = _bins(values, n)
    return _error((bins + 0.5) / n, outcomes, bins)


@wrong(TASK, "gap_of_a_bin", "A squared gap punishes large ones.")
def squared_gaps(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    groups = _groups(values, outcomes, n)
    return float(sum(len(v) * (v.mean() - o.mean()) ** 2 for v, o in groups) / len(values))


@wrong(TASK, "gap_of_a_bin", "The outcome of a bin is what the majority of its samples shows.")
def majority_of_the_bin(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    groups = _groups(values, outcomes, n)
    return float(sum(len(v) * abs(v.mean() - round(float(o.mean()))) for v, o in groups) / len(values))


@wrong(TASK, "gap_of_a_bin", "A prediction above one half is a hit; accuracy is compared with confidence.")
def accuracy_of_the_bin(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return _error(values, ((values >= 0.5) == outcomes).astype(np.float64), _bins(values, n))


@wrong(TASK, "gap_of_a_bin", "Only a bin that promises too much is in error.")
def overconfidence_only(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    groups = _groups(values, outcomes, n)
    return float(sum(max(v.sum() - o.sum(), 0.0) for v, o in groups) / len(values))


@wrong(TASK, "gap_of_a_bin", "Three decimals are enough.")
def rounded(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return round(_error(values, outcomes, _bins(values, n)), 3)


@wrong(TASK, "gaps_do_not_cancel", "The absolute value is taken once, at the end.")
def absolute_at_the_end(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, _ = _read(predicted, observed, n_bins)
    return abs(float((values - outcomes).mean()))


@wrong(TASK, "gaps_do_not_cancel", "Gaps carry their sign.")
def signed_gaps(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, _ = _read(predicted, observed, n_bins)
    return float((values - outcomes).mean())


# --- Wrong: the weights -------------------------------------------------------------------------------


@wrong(TASK, "weighted_by_share", "Every bin counts alike.")
def mean_over_used_bins(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return float(np.mean([abs(v.mean() - o.mean()) for v, o in _groups(values, outcomes, n)]))


@wrong(TASK, "weighted_by_share", "The gaps are divided by the number of bins, empty ones among them.")
def mean_over_all_bins(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return float(sum(abs(v.mean() - o.mean()) for v, o in _groups(values, outcomes, n)) / n)


@wrong(TASK, "weighted_by_share", "The error is that of the worst bin.")
def worst_bin(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return float(max(abs(v.mean() - o.mean()) for v, o in _groups(values, outcomes, n)))


@wrong(TASK, "weighted_by_share", "The bins are cut so that each holds as many samples.")
def equal_counts(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    bins = np.empty(len(values), dtype=int)
    bins[np.argsort(values, kind="stable")] = np.arange(len(values)) * n // len(values)
    return _error(values, outcomes, bins)


@wrong(TASK, "weighted_by_share", "The sum of the gaps of the bins is not divided by anything.")
def sum_of_gaps(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return float(sum(abs(v.mean() - o.mean()) for v, o in _groups(values, outcomes, n)))


# --- Wrong: the bins ----------------------------------------------------------------------------------


@wrong(TASK, "edges_belong_to_upper_bin", "A bin holds its upper edge, as (lower, upper] says.")
def upper_edge_included(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return _error(values, outcomes, np.maximum(np.ceil(values * n) - 1, 0))


@wrong(TASK, "edges_belong_to_upper_bin", "The nearest bin is found by rounding.")
def rounded_to_nearest(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return _error(values, outcomes, np.minimum(np.rint(values * n), n - 1))


@wrong(TASK, "edges_belong_to_upper_bin", "A chance of 1 falls behind the last bin, into one of its own.")
def one_apart(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return _error(values, outcomes, np.floor(values * n))


@wrong(TASK, "edges_belong_to_upper_bin", "A chance of 1 lies outside of all bins and is left out.")
def one_left_out(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    kept = values < 1.0
    total = np.abs(np.bincount(_bins(values[kept], n), weights=(values - outcomes)[kept], minlength=1)).sum()
    return float(total / len(values))


@wrong(TASK, "edges_belong_to_upper_bin", "A chance of 0 lies in no bin, since each is open below.")
def zero_left_out(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    kept = values > 0.0
    total = np.abs(np.bincount(_bins(values[kept], n), weights=(values - outcomes)[kept], minlength=1)).sum()
    return float(total / len(values))


@wrong(TASK, "edges_belong_to_upper_bin", "The last index is n − 1, so the chance is multiplied by it.")
def scaled_by_last_index(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return _error(values, outcomes, np.floor(values * (n - 1)))


@wrong(TASK, "edges_belong_to_upper_bin", "Bins span the range of the predictions.")
def bins_of_the_range(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    edges = np.histogram_bin_edges(values, bins=n)
    return _error(values, outcomes, np.clip(np.searchsorted(edges, values, side="right") - 1, 0, n - 1))


@wrong(TASK, "empty_bins_do_not_count", "The mean of an empty bin is nan, and so is the error.")
def nan_of_empty_bins(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    bins = _bins(values, n)
    gaps = [abs(values[bins == b].mean() - outcomes[bins == b].mean()) for b in range(n)]
    return float(np.dot(gaps, np.bincount(bins, minlength=n)) / len(values))


@wrong(TASK, "empty_bins_do_not_count", "An empty bin predicted its middle and saw nothing.")
def empty_bins_count(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    empty = set(range(n)) - set(_bins(values, n).tolist())
    return _error(values, outcomes, _bins(values, n)) + sum((b + 0.5) / n for b in empty) / (len(values) * n)


@wrong(TASK, "ten_bins_by_default", "Fifteen bins are the usual number.")
def fifteen_by_default(predicted: Any, observed: Any, n_bins: int = 15) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return _error(values, outcomes, _bins(values, n))


@wrong(TASK, "ten_bins_by_default", "There are always ten bins.")
def always_ten(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, _ = _read(predicted, observed, n_bins)
    return _error(values, outcomes, _bins(values, 10))


@wrong(TASK, "ten_bins_by_default", "The number of bins has to be said.")
def no_default(predicted: Any, observed: Any, n_bins: int) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return _error(values, outcomes, _bins(values, n))


@wrong(TASK, "ten_bins_by_default", "An outcome is the number 1 or 0, and True is neither.")
def counts_ones_only(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, _, n = _read(predicted, observed, n_bins)
    hits = [float(outcome is not True and bool(outcome == 1)) for outcome in np.asarray(observed).tolist()]
    return _error(values, np.array(hits), _bins(values, n))


# --- Wrong: types, forms of the arguments, memory -----------------------------------------------------


@wrong(TASK, "plain_types", "An array without axes is a number.")
def zero_dimensional(predicted: Any, observed: Any, n_bins: int = 10) -> Any:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return np.array(_error(values, outcomes, _bins(values, n)))


@wrong(TASK, "plain_types", "A float is a float, whatever its precision.")
def single_precision(predicted: Any, observed: Any, n_bins: int = 10) -> Any:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return np.float32(_error(values, outcomes, _bins(values, n)))


@wrong(TASK, "lists_and_arrays", "Predictions are an array, which can be multiplied.")
def only_arrays(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    bins = np.minimum((predicted * n_bins).astype(int), n - 1)
    return _error(values, outcomes, bins)


@wrong(TASK, "lists_and_arrays", "An empty list is false.")
def truth_of_predictions(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    if not predicted:
        raise ValueError("predicted is empty.")
    values, outcomes, n = _read(predicted, observed, n_bins)
    return _error(values, outcomes, _bins(values, n))


@wrong(TASK, "no_memory", "The sums of the bins start at 0 by themselves.")
def sums_pile_up(predicted: Any, observed: Any, n_bins: int = 10, sums: Any = defaultdict(float)) -> float:  # noqa: B006
    values, outcomes, n = _read(predicted, observed, n_bins)
    for number, gap in zip(_bins(values, n).tolist(), (values - outcomes).tolist()):
        sums[number] += gap
    return float(sum(map(abs, sums.values())) / len(values))


@wrong(TASK, "input_unchanged", "Predictions may be sorted where they stand, if the outcomes go along.")
def sorted_in_place(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    order = np.argsort(-values)
    predicted[:] = [float(values[i]) for i in order]
    return _error(values, outcomes, _bins(values, n))


# --- Wrong: bad input ---------------------------------------------------------------------------------


@wrong(TASK, "bad_input_raises", "What lies outside [0, 1] belongs to the nearest bin.")
def clipped(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(np.clip(np.asarray(predicted, dtype=float), 0.0, 1.0), observed, n_bins)
    return _error(values, outcomes, _bins(values, n))


@wrong(TASK, "bad_input_raises", "Samples without a partner are left out.")
def shortest_wins(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    size = min(len(predicted), len(observed))
    values, outcomes, n = _read(predicted[:size], observed[:size], n_bins)
    return _error(values, outcomes, _bins(values, n))


@wrong(TASK, "bad_input_raises", "Without samples there is no error.")
def nothing_is_perfect(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    if np.size(predicted) == 0 and np.size(observed) == 0:
        return 0.0
    values, outcomes, n = _read(predicted, observed, n_bins)
    return _error(values, outcomes, _bins(values, n))


@wrong(TASK, "bad_input_raises", "There is always at least one bin.")
def at_least_one_bin(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, max(n_bins, 1))
    return _error(values, outcomes, _bins(values, n))


@wrong(TASK, "error_names_offender", "It is enough to say that the samples are bad.")
def some_sample_is_bad(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    try:
        values, outcomes, n = _read(predicted, observed, n_bins)
    except ValueError:
        raise ValueError("predicted, observed or n_bins is bad.") from None
    return _error(values, outcomes, _bins(values, n))


@wrong(TASK, "error_names_offender", "The wrong one is named, since it comes first.")
def blames_observed(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    try:
        values, outcomes, n = _read(predicted, observed, n_bins)
    except ValueError as error:
        raise ValueError(str(error).replace("predicted", "observed").replace("n_bins", "observed")) from None
    return _error(values, outcomes, _bins(values, n))


# --- Right, in many styles ----------------------------------------------------------------------------


@right(TASK, "A loop over the bins with a mask, as the textbook writes it.")
def masks(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    error = 0.0
    for group, happened in _groups(values, outcomes, n):
        error += len(group) / len(values) * abs(group.mean() - happened.mean())
    return float(error)


@right(TASK, "Plain Python: one list a bin, means by math.fsum.")
def lists_a_bin(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    bins: list[list[tuple[float, float]]] = [[] for _ in range(n)]
    for pair in zip(values.tolist(), outcomes.tolist()):
        bins[min(math.floor(pair[0] * n), n - 1)].append(pair)
    gaps = [abs(math.fsum(p for p, _ in b) - math.fsum(o for _, o in b)) for b in bins if b]
    return math.fsum(gaps) / len(values)


@right(TASK, "Three calls of np.bincount, and a division of 0 by 0 that warns and is replaced.")
def three_counts(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    bins = _bins(values, n)
    count, total, hits = (np.bincount(bins, weights=w, minlength=n) for w in (None, values, outcomes))
    warnings.warn("empty bins", stacklevel=2)
    return float(np.sum(count / len(values) * np.nan_to_num(np.abs(total / count - hits / count))))


@right(TASK, "np.digitize with inner edges; the last bin is closed by itself.")
def inner_edges(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    return _error(values, outcomes, np.digitize(values, np.linspace(0.0, 1.0, n + 1)[1:-1]))


@right(TASK, "np.histogram with weights, whose last bin is closed on both sides.")
def histogram(predicted: Any, observed: Any, n_bins: int = 10) -> Any:
    values, outcomes, n = _read(predicted, observed, n_bins)
    sums, _ = np.histogram(values, bins=n, range=(0.0, 1.0), weights=values - outcomes)
    return np.abs(sums).sum() / len(values)


@right(TASK, "Bisection of the edges k / n, and itertools.groupby over the sorted samples.")
def grouped(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    values, outcomes, n = _read(predicted, observed, n_bins)
    edges = [k / n for k in range(1, n)]
    samples = sorted((bisect.bisect_right(edges, v), v - o) for v, o in zip(values.tolist(), outcomes.tolist()))
    groups = itertools.groupby(samples, key=lambda sample: sample[0])
    return float(sum(abs(sum(gap for _, gap in group)) for _, group in groups) / len(samples))


@right(TASK, "It checks in its own words and prints a table of the bins; a whole error is an int.")
def table_printed(predicted: Any, observed: Any, n_bins: int = 10) -> float:
    for name, given in (("predicted", predicted), ("observed", observed)):
        if np.ndim(given) != 1 or len(given) == 0:
            raise ValueError(f"{name} must be a flat list that is not empty.")
        for k, number in enumerate(given):
            if not 0 <= number <= 1:
                raise ValueError(f"Number {k} of {name} is no chance.")
    if len(predicted) != len(observed):
        raise ValueError("predicted and observed differ in length.")
    if n_bins < 1:
        raise ValueError("n_bins must be 1 or more.")
    table = {b: 0.0 for b in range(n_bins)}
    for p, o in zip(predicted, observed):
        table[min(int(float(p) * n_bins), n_bins - 1)] += float(p) - float(o)
    print(table)
    error = sum(map(abs, table.values())) / len(predicted)
    return int(error) if error == int(error) else error
