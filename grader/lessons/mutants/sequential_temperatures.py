"""Variants of task 4.4: what learners write for fit_sequential_temperatures, wrong and right."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import check_same_shape, checked_logits, numbers, unit_array
from grader.lessons.mutants import right, wrong

TASK = "4.4"
Floats = NDArray[np.float64]
Score = Callable[[Floats, Floats], float]


def _read(confidence_logits: Any, accepted: Any, grid: Any) -> tuple[Floats, Floats, list[float]]:
    """Check the arguments as the top of the stub does; all of them are new."""
    logits, labels = checked_logits("confidence_logits", confidence_logits), unit_array("accepted", accepted)
    check_same_shape("confidence_logits", logits, "accepted", labels)
    temperatures = numbers("grid", grid, low=0.0, above=True).tolist()
    if not temperatures:
        raise ValueError("grid is empty.")
    return logits.copy(), labels.copy(), temperatures


def _sigmoid(x: Any) -> Floats:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * np.asarray(x)))


def _ece(predicted: Floats, observed: Floats, n_bins: int = 10) -> float:
    bins = np.minimum((predicted * n_bins).astype(int), n_bins - 1)
    return float(np.abs(np.bincount(bins, weights=predicted - observed)).sum() / len(predicted))


def _ordered(grid: list[float]) -> list[float]:
    """The grid in the order in which equals win."""
    return sorted(grid, key=lambda t: (abs(t - 1.0), t))


def _fit(logits: Floats, labels: Floats, order: list[float], score: Score = _ece) -> Floats:
    """Fit from left to right; of equal scores the first of the order wins."""
    survival, fitted = np.ones(len(logits)), []
    for column, outcome in zip(logits.T, labels.T):
        scores = [score(survival * _sigmoid(column / t), outcome) for t in order]
        fitted.append(order[int(np.argmin(scores))])
        survival = survival * _sigmoid(column / fitted[-1])
    return np.array(fitted)


# --- Wrong: which error is minimised ------------------------------------------------------------------


@wrong(TASK, "least_error_wins", "The logits are multiplied by the temperature.")
def multiplied(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return np.asarray(1.0 / _fit(logits, labels, [1.0 / t for t in _ordered(temperatures)]))


@wrong(TASK, "least_error_wins", "Calibration is fitted by the log loss, as Guo et al. do.")
def log_loss(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    def score(predicted: Floats, observed: Floats) -> float:
        p = np.clip(predicted, 1e-12, 1.0 - 1e-12)
        return float(-(observed * np.log(p) + (1.0 - observed) * np.log(1.0 - p)).mean())

    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, _ordered(temperatures), score)


@wrong(TASK, "least_error_wins", "The squared error is as good a measure.")
def squared_error(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, _ordered(temperatures), lambda p, o: float(((p - o) ** 2).mean()))


@wrong(TASK, "least_error_wins", "Only the means have to agree; one bin is enough.")
def one_bin(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, _ordered(temperatures), lambda p, o: _ece(p, o, 1))


@wrong(TASK, "least_error_wins", "More bins see more.")
def twenty_bins(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, _ordered(temperatures), lambda p, o: _ece(p, o, 20))


@wrong(TASK, "least_error_wins", "The temperature divides the confidence, not its logit.")
def confidence_divided(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    order, survival, fitted = _ordered(temperatures), np.ones(len(logits)), []
    for column, outcome in zip(logits.T, labels.T):
        options = [survival * np.minimum(_sigmoid(column) / t, 1.0) for t in order]
        best = int(np.argmin([_ece(option, outcome) for option in options]))
        fitted.append(order[best])
        survival = options[best]
    return np.array(fitted)


@wrong(TASK, "least_error_wins", "The best temperature is the one with the largest error.")
def greatest_error(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, _ordered(temperatures), lambda p, o: -_ece(p, o))


@wrong(TASK, "least_error_wins", "The index of the best temperature is the result.")
def index_returned(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    fitted = _fit(logits, labels, _ordered(temperatures))
    return np.array([float(temperatures.index(t)) for t in fitted])


@wrong(TASK, "least_error_wins", "The search may stop at the first temperature that is no better than the one before.")
def stops_early(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    order, survival, fitted = _ordered(temperatures), np.ones(len(logits)), []
    for column, outcome in zip(logits.T, labels.T):
        errors = [_ece(survival * _sigmoid(column / t), outcome) for t in order]
        best = 0
        while best + 1 < len(order) and errors[best + 1] < errors[best]:
            best += 1
        fitted.append(order[best])
        survival = survival * _sigmoid(column / order[best])
    return np.array(fitted)


@wrong(TASK, "least_error_wins", "A temperature between two values of the grid is better than either.")
def between_the_best_two(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    fitted = _fit(logits, labels, _ordered(temperatures))
    above = [min((t for t in temperatures if t > best), default=best) for best in fitted]
    return np.asarray(0.75 * fitted + 0.25 * np.array(above))


# --- Wrong: the prefix --------------------------------------------------------------------------------


@wrong(TASK, "product_of_the_prefix", "Every position is calibrated by itself.")
def each_on_its_own(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    order = _ordered(temperatures)
    return np.array([_fit(logits[:, k : k + 1], labels[:, k : k + 1], order)[0] for k in range(logits.shape[1])])


@wrong(TASK, "product_of_the_prefix", "Position k is judged among the rounds that reached it.")
def among_the_survivors(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    order, fitted, alive = _ordered(temperatures), [], np.ones(len(logits), dtype=bool)
    for column, outcome in zip(logits.T, labels.T):
        if not alive.any():
            alive = np.ones(len(logits), dtype=bool)
        errors = [_ece(_sigmoid(column[alive] / t), outcome[alive]) for t in order]
        fitted.append(order[int(np.argmin(errors))])
        alive = alive & (outcome > 0.0)
    return np.array(fitted)


@wrong(TASK, "product_of_the_prefix", "accepted[n, k] is about the tokens before k, so its columns move up by one.")
def prefix_without_itself(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    labels[:, 1:] = labels[:, :-1]
    return _fit(logits, labels, _ordered(temperatures))


@wrong(TASK, "product_of_the_prefix", "A prefix is as sure as its least sure token.")
def least_of_the_prefix(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    order, survival, fitted = _ordered(temperatures), np.ones(len(logits)), []
    for column, outcome in zip(logits.T, labels.T):
        options = [np.minimum(survival, _sigmoid(column / t)) for t in order]
        best = int(np.argmin([_ece(option, outcome) for option in options]))
        fitted.append(order[best])
        survival = options[best]
    return np.array(fitted)


@wrong(TASK, "product_of_the_prefix", "The new temperature applies to the whole prefix.")
def prefix_shares_the_new_one(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    order, fitted = _ordered(temperatures), []
    for k in range(1, logits.shape[1] + 1):
        errors = [_ece(_sigmoid(logits[:, :k] / t).prod(axis=1), labels[:, k - 1]) for t in order]
        fitted.append(order[int(np.argmin(errors))])
    return np.array(fitted)


@wrong(TASK, "left_to_right", "The positions before are left as the head gave them, at temperature 1.")
def earlier_ones_raw(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    order, survival, fitted = _ordered(temperatures), np.ones(len(logits)), []
    for column, outcome in zip(logits.T, labels.T):
        errors = [_ece(survival * _sigmoid(column / t), outcome) for t in order]
        fitted.append(order[int(np.argmin(errors))])
        survival = survival * _sigmoid(column)
    return np.array(fitted)


@wrong(TASK, "left_to_right", "One temperature serves all positions.")
def one_for_all(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)

    def error(t: float) -> float:
        survival = np.cumprod(_sigmoid(logits / t), axis=1)
        return sum(_ece(predicted, outcome) for predicted, outcome in zip(survival.T, labels.T))

    return np.full(logits.shape[1], min(_ordered(temperatures), key=error))


@wrong(TASK, "left_to_right", "The temperatures are fitted from the last position to the first.")
def right_to_left(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits[:, ::-1], labels[:, ::-1], _ordered(temperatures))[::-1].copy()


@wrong(TASK, "left_to_right", "A second pass over the positions makes it better.")
def second_pass(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    order, fitted = _ordered(temperatures), _fit(logits, labels, _ordered(temperatures))
    for k in range(logits.shape[1]):
        tried = []
        for t in order:
            fitted[k] = t
            survival = np.cumprod(_sigmoid(logits / fitted), axis=1)
            tried.append(sum(_ece(predicted, outcome) for predicted, outcome in zip(survival.T, labels.T)))
        fitted[k] = order[int(np.argmin(tried))]
    return fitted


@wrong(TASK, "left_to_right", "The head gets worse along the block, so no temperature is below the one before it.")
def never_below_the_last(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    fitted: list[float] = []
    survival = np.ones(len(logits))
    for k, (column, outcome) in enumerate(zip(logits.T, labels.T)):
        order = [t for t in _ordered(temperatures) if not k or t >= fitted[-1]]
        errors = [_ece(survival * _sigmoid(column / t), outcome) for t in order]
        fitted.append(order[int(np.argmin(errors))])
        survival = survival * _sigmoid(column / fitted[-1])
    return np.array(fitted)


# --- Wrong: ties and the grid -------------------------------------------------------------------------


@wrong(TASK, "ties_closest_to_one", "Of equal errors the first in the grid wins.")
def first_of_the_grid(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    return _fit(*_read(confidence_logits, accepted, grid))


@wrong(TASK, "ties_closest_to_one", "Of equal errors the smallest temperature wins.")
def smallest_of_equals(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, sorted(temperatures))


@wrong(TASK, "ties_closest_to_one", "Of equally close temperatures the larger is the safer one.")
def larger_of_equally_close(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, sorted(temperatures, key=lambda t: (abs(t - 1.0), -t)))


@wrong(TASK, "ties_closest_to_one", "Close to 1 means a ratio close to 1.")
def closest_by_ratio(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, sorted(temperatures, key=lambda t: (abs(math.log(t)), t)))


@wrong(TASK, "ties_closest_to_one", "A later temperature that is no worse replaces an earlier one.")
def last_of_equals(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, _ordered(temperatures)[::-1])


@wrong(TASK, "ties_closest_to_one", "Where nothing is gained the temperature stays 1.")
def one_where_nothing_is_gained(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, [1.0, *_ordered(temperatures)])


@wrong(TASK, "grid_in_any_order", "The grid rises, so the search may halve it.")
def halving(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    survival, fitted = np.ones(len(logits)), []
    for column, outcome in zip(logits.T, labels.T):
        errors = [_ece(survival * _sigmoid(column / t), outcome) for t in temperatures]
        low, high = 0, len(temperatures) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if errors[middle] <= errors[middle + 1] else (middle + 1, high)
        fitted.append(temperatures[low])
        survival = survival * _sigmoid(column / fitted[-1])
    return np.array(fitted)


@wrong(TASK, "grid_in_any_order", "A grid has even steps, so its ends and its length say everything.")
def ends_say_everything(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    steps = np.linspace(temperatures[0], temperatures[-1], len(temperatures))
    return _fit(logits, labels, _ordered(steps.tolist()))


@wrong(TASK, "grid_in_any_order", "A grid with one value is no grid.")
def two_values_needed(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    if len(temperatures) < 2:
        raise ValueError("grid needs two values.")
    return _fit(logits, labels, _ordered(temperatures))


# --- Wrong: types, forms of the arguments, memory -----------------------------------------------------


@wrong(TASK, "plain_types", "A list passes for an array.")
def listed(confidence_logits: Any, accepted: Any, grid: Any) -> Any:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, _ordered(temperatures)).tolist()


@wrong(TASK, "plain_types", "Temperatures do not need double precision.")
def single_precision(confidence_logits: Any, accepted: Any, grid: Any) -> Any:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, _ordered(temperatures)).astype(np.float32)


@wrong(TASK, "lists_and_arrays", "Logits are an array, which has columns.")
def only_arrays(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    _, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(confidence_logits[:, :], labels, _ordered(temperatures))


@wrong(TASK, "lists_and_arrays", "An empty grid is false.")
def truth_of_the_grid(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    if not grid:
        raise ValueError("grid is empty.")
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, _ordered(temperatures))


@wrong(TASK, "no_memory", "A list in the signature is new in every call.")
def fits_pile_up(confidence_logits: Any, accepted: Any, grid: Any, fitted: list[float] = []) -> Floats:  # noqa: B006
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    fitted += _fit(logits, labels, _ordered(temperatures)).tolist()
    return np.array(fitted)


@wrong(TASK, "input_unchanged", "The grid may be sorted where it stands.")
def grid_sorted_in_place(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    grid[:] = _ordered(temperatures)[::-1]
    return _fit(logits, labels, _ordered(temperatures))


@wrong(TASK, "input_unchanged", "A column that is settled may be divided by its temperature in place.")
def scaled_in_place(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    fitted = _fit(logits, labels, _ordered(temperatures))
    rows: Any = confidence_logits
    for n, row in enumerate((logits / (2.0 * fitted) - 1.0).tolist()):
        rows[n][:] = row
    return fitted


# --- Wrong: bad input ---------------------------------------------------------------------------------


@wrong(TASK, "bad_input_raises", "A NaN is a logit of 0: nobody knows.")
def nan_is_zero(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    try:
        given = np.nan_to_num(np.asarray(confidence_logits, dtype=float))
    except ValueError:
        given = confidence_logits
    logits, labels, temperatures = _read(given, accepted, grid)
    return _fit(logits, labels, _ordered(temperatures))


@wrong(TASK, "bad_input_raises", "A temperature below 0 is meant without its sign.")
def signs_dropped(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, np.abs(np.asarray(grid, dtype=float)))
    return _fit(logits, labels, _ordered(temperatures))


@wrong(TASK, "bad_input_raises", "Without a grid the temperature stays 1.")
def no_grid_no_change(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid if np.size(grid) else [1.0])
    return _fit(logits, labels, _ordered(temperatures))


@wrong(TASK, "bad_input_raises", "Rounds that only one of the two has are left out.")
def shortest_wins(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    size = min(len(confidence_logits), len(accepted))
    logits, labels, temperatures = _read(confidence_logits[:size], accepted[:size], grid)
    return _fit(logits, labels, _ordered(temperatures))


@wrong(TASK, "error_names_offender", "It is enough to say that the data are bad.")
def some_data_are_bad(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    try:
        logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    except ValueError:
        raise ValueError("confidence_logits, accepted or grid is bad.") from None
    return _fit(logits, labels, _ordered(temperatures))


@wrong(TASK, "error_names_offender", "Rounds are counted from one.")
def counted_from_one(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    for number, row in enumerate(confidence_logits, start=1):
        if np.ndim(row) == 1 and not np.isfinite(row).all():
            raise ValueError(f"confidence_logits is bad in round {number}.")
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    return _fit(logits, labels, _ordered(temperatures))


# --- Right, in many styles ----------------------------------------------------------------------------


@right(TASK, "np.lexsort of distance and value; all temperatures of a position in one matrix.")
def all_at_once(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    tried = np.array(temperatures)
    tried = tried[np.lexsort((tried, np.abs(tried - 1.0)))]
    survival, fitted = np.ones(len(logits)), np.empty(logits.shape[1])
    for k in range(logits.shape[1]):
        options = survival * _sigmoid(logits[:, k] / tried[:, None])  # (temperatures, N)
        bins = np.minimum((options * 10).astype(int), 9) + 10 * np.arange(len(tried))[:, None]
        sums = np.bincount(bins.ravel(), (options - labels[:, k]).ravel(), minlength=10 * len(tried))
        best = np.abs(sums.reshape(-1, 10)).sum(axis=1).argmin()
        survival, fitted[k] = options[best], tried[best]
    return fitted


@right(TASK, "The key of a minimum: error, distance from 1, value.")
def one_key(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    fitted: list[float] = []
    for k in range(logits.shape[1]):
        before = np.prod(_sigmoid(logits[:, :k] / np.array(fitted)), axis=1)
        fitted.append(
            min((_ece(before * _sigmoid(logits[:, k] / t), labels[:, k]), abs(t - 1), t) for t in temperatures)[2]
        )
    return np.array(fitted)


@right(TASK, "The grid as it comes, with a comparison that knows the rule of ties; exp may overflow and warn.")
def running_best(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    warnings.warn("exp may overflow", stacklevel=2)
    survival, fitted = np.ones(len(logits)), []
    for column, outcome in zip(logits.T, labels.T):
        best_error, best_t, best_survival = math.inf, math.nan, survival
        for t in temperatures:
            option = survival / (1.0 + np.exp(-column / t))
            error = _ece(option, outcome)
            closer = abs(t - 1.0) < abs(best_t - 1.0) or (abs(t - 1.0) == abs(best_t - 1.0) and t < best_t)
            if error < best_error or (error == best_error and closer):
                best_error, best_t, best_survival = error, t, option
        survival = best_survival
        fitted.append(best_t)
    return np.array(fitted)


@right(TASK, "A recursion on the positions that are left, and masks for the bins.")
def recursive(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    order = _ordered(temperatures)

    def error(predicted: Floats, observed: Floats) -> float:
        bins, gaps = np.minimum((10 * predicted).astype(np.int8), 9), predicted - observed
        return float(sum(abs(gaps[bins == b].sum()) for b in range(10)) / len(gaps))

    def rest(k: int, survival: Floats) -> list[float]:
        if k == logits.shape[1]:
            return []
        options = {t: survival * _sigmoid(logits[:, k] / t) for t in order}
        best = min(order, key=lambda t: error(options[t], labels[:, k]))
        return [best, *rest(k + 1, options[best])]

    return np.array(rest(0, np.ones(len(logits))))


@right(TASK, "Positions as a fold with the pair (temperatures, survival) as its state.")
def folded(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    logits, labels, temperatures = _read(confidence_logits, accepted, grid)
    order = np.array(_ordered(temperatures))

    def step(state: tuple[list[float], Floats], k: int) -> tuple[list[float], Floats]:
        options = state[1] / (1.0 + np.exp(np.multiply.outer(-1.0 / order, logits[:, k])))
        best = int(np.argmin([_ece(option, labels[:, k]) for option in options]))
        return [*state[0], float(order[best])], options[best]

    start: tuple[list[float], Floats] = ([], np.ones(len(logits)))
    return np.array(reduce(step, range(logits.shape[1]), start)[0])


@right(TASK, "It checks in its own words, prints the errors, and returns a column of a matrix.")
def errors_printed(confidence_logits: Any, accepted: Any, grid: Any) -> Floats:
    if np.ndim(grid) != 1 or len(grid) == 0:
        raise ValueError("grid must be a flat list with at least one temperature.")
    for k, t in enumerate(grid):
        if not 0.0 < t < math.inf:
            raise ValueError(f"Temperature {k} of grid must be positive.")
    if len(confidence_logits) == 0 or np.ndim(confidence_logits[0]) != 1 or len(confidence_logits[0]) == 0:
        raise ValueError("confidence_logits must be a matrix with rounds and positions.")
    for n, row in enumerate(confidence_logits):
        if len(row) != len(confidence_logits[0]) or any(math.isnan(x) or x == math.inf for x in row):
            raise ValueError(f"Round {n} of confidence_logits is bad.")
    if np.shape(accepted) != np.shape(confidence_logits):
        raise ValueError("accepted has another shape than confidence_logits.")
    for n, row in enumerate(accepted):
        if not all(0 <= x <= 1 for x in row):
            raise ValueError(f"Round {n} of accepted is bad.")
    logits, labels = np.array(confidence_logits, dtype=float), np.array(accepted, dtype=float)
    table = np.zeros((logits.shape[1], 2))
    survival = np.ones(len(logits))
    for k in range(len(table)):
        errors = {float(t): _ece(survival * _sigmoid(logits[:, k] / t), labels[:, k]) for t in grid}
        print(k, errors)
        least = min(errors.values())
        ties = sorted(t for t, e in errors.items() if e == least)
        table[k] = min(ties, key=lambda t: abs(t - 1.0)), least
        survival *= _sigmoid(logits[:, k] / table[k, 0])
    return table[:, 0]
