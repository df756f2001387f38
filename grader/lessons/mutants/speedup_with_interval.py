"""Variants of task 9.4: what learners write for speedup_with_interval, wrong and right."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np

from dspark_mini.inputs import check_same_length, numbers, whole_numbers
from grader.lessons.mutants import right, wrong

TASK = "9.4"


def read(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    """Check the arguments as the top of the stub does; four rows: tokens, seconds, and the same of plain decoding."""
    plain_counts = whole_numbers("plain_tokens", plain_tokens, low=1)
    plain_times = numbers("plain_seconds", plain_seconds, low=0.0, above=True)
    counts = whole_numbers("tokens", tokens, low=1)
    times = numbers("seconds", seconds, low=0.0, above=True)
    check_same_length("plain_tokens", plain_counts, "plain_seconds", plain_times)
    check_same_length("plain_tokens", plain_counts, "tokens", counts)
    check_same_length("plain_tokens", plain_counts, "seconds", times)
    if len(counts) < 2:
        raise ValueError("plain_tokens needs two entries.")
    return np.array([counts, times, plain_counts, plain_times])


def ratio(sums: Any) -> Any:
    """Compute the speed-up from four sums."""
    return sums[0] / sums[1] / (sums[2] / sums[3])


def left_out(rows: Any) -> Any:
    """Compute the speed-up without each prompt. (n,)"""
    return ratio(rows.sum(axis=1)[:, None] - rows)


def result(speedup: Any, error: Any, factor: float = 1.96) -> dict[str, float]:
    middle, reach = float(speedup), factor * float(error)
    return {"speedup": middle, "low": middle - reach, "high": middle + reach}


def jackknife(rows: Any) -> Any:
    """Return the error of the speed-up."""
    return np.sqrt((rows.shape[1] - 1) * np.var(left_out(rows)))


def done(*arguments: Any) -> dict[str, float]:
    rows = read(*arguments)
    return result(ratio(rows.sum(axis=1)), jackknife(rows))


# --- Wrong ------------------------------------------------------------------------------------------------


@wrong(TASK, "ratio_of_sums", "The speed-up is the mean of the prompts' speed-ups.")
def mean_of_ratios(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    return result(ratio(rows).mean(), jackknife(rows))


@wrong(TASK, "ratio_of_sums", "A speed is the mean of the prompts' speeds.")
def ratio_of_mean_speeds(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    return result((rows[0] / rows[1]).mean() / (rows[2] / rows[3]).mean(), jackknife(rows))


@wrong(TASK, "ratio_of_sums", "Ratios have a geometric mean.")
def geometric_mean(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    return result(np.exp(np.log(ratio(rows)).mean()), jackknife(rows))


@wrong(TASK, "ratio_of_sums", "The same prompts, so only the seconds count.")
def seconds_only(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    rows[[0, 2]] = 1.0
    return result(ratio(rows.sum(axis=1)), jackknife(rows))


@wrong(TASK, "ratio_of_sums", "Plain over speculative.")
def upside_down(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(tokens, seconds, plain_tokens, plain_seconds)
    return result(ratio(rows.sum(axis=1)), jackknife(rows))


@wrong(TASK, "one_left_out", "The error is the standard deviation of the speed-ups with one prompt left out.")
def plain_deviation(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    return result(ratio(rows.sum(axis=1)), left_out(rows).std())


@wrong(TASK, "one_left_out", "A standard error is a standard deviation over the root of n.")
def error_of_a_mean(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    return result(ratio(rows.sum(axis=1)), left_out(rows).std(ddof=1) / math.sqrt(rows.shape[1]))


@wrong(TASK, "one_left_out", "The variance is around the speed-up of all prompts.")
def around_the_whole(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    speedup, n = ratio(rows.sum(axis=1)), rows.shape[1]
    return result(speedup, math.sqrt((n - 1) / n * ((left_out(rows) - speedup) ** 2).sum()))


@wrong(TASK, "one_left_out", "The interval lies around the mean of the speed-ups with one prompt left out.")
def around_the_mean(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    return result(left_out(rows).mean(), jackknife(rows)) | {"speedup": float(ratio(rows.sum(axis=1)))}


@wrong(TASK, "one_left_out", "The jackknife corrects the bias as well.")
def bias_corrected(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    n = rows.shape[1]
    return result(n * ratio(rows.sum(axis=1)) - (n - 1) * left_out(rows).mean(), jackknife(rows))


@wrong(TASK, "one_left_out", "Plain decoding is the yardstick and keeps all its prompts.")
def left_out_of_one_way(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    sums = rows.sum(axis=1)[:, None] - rows * np.array([[1], [1], [0], [0]])
    return result(ratio(rows.sum(axis=1)), np.sqrt((rows.shape[1] - 1) * np.var(ratio(sums))))


@wrong(TASK, "one_left_out", "The interval reaches from the least to the greatest of the speed-ups.")
def least_and_greatest(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    low, high = left_out(rows).min(), left_out(rows).max()
    return {"speedup": float(ratio(rows.sum(axis=1))), "low": float(low), "high": float(high)}


@wrong(TASK, "one_left_out", "95 % are two errors.")
def two_errors(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    return result(ratio(rows.sum(axis=1)), jackknife(rows), 2.0)


@wrong(TASK, "one_left_out", "The variance already is the error.")
def root_forgotten(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    return result(ratio(rows.sum(axis=1)), jackknife(rows) ** 2)


@wrong(TASK, "two_prompts_are_enough", "A speed-up is never below 0, so the interval ends there.")
def never_below_0(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    n = rows.shape[1]
    made = result(ratio(rows.sum(axis=1)), jackknife(rows))
    return made if n > 2 else made | {"low": max(made["low"], 1.0)}


@wrong(TASK, "plain_types", "NumPy's arrays of one number are numbers.")
def arrays_of_one(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    return {name: np.array(v) for name, v in done(plain_tokens, plain_seconds, tokens, seconds).items()}


@wrong(TASK, "lists_and_arrays", "A list has a sum of its own.")
def sums_of_lists(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    made = done(plain_tokens, plain_seconds, tokens, seconds)
    speed = tokens.sum() / seconds.sum() / (plain_tokens.sum() / plain_seconds.sum())
    return made | {"speedup": float(speed)}


@wrong(TASK, "bad_input_raises", "One prompt has an interval without width.")
def one_prompt(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    if len(plain_tokens) == len(tokens) == 1:
        return result(ratio(np.array([tokens, seconds, plain_tokens, plain_seconds]).sum(axis=1)), 0.0)
    return done(plain_tokens, plain_seconds, tokens, seconds)


@wrong(TASK, "bad_input_raises", "Prompts without a partner are left out.")
def cut_to_the_shorter(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    n = min(map(len, (plain_tokens, plain_seconds, tokens, seconds)))
    return done(plain_tokens[:n], plain_seconds[:n], tokens[:n], seconds[:n])


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "Plain loops, and one prompt deleted from every list at a time.")
def one_deleted(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    lists = [row.tolist() for row in read(plain_tokens, plain_seconds, tokens, seconds)]
    sums = [sum(values) for values in lists]
    found = [ratio([total - values[i] for total, values in zip(sums, lists)]) for i in range(len(lists[0]))]
    error = math.sqrt((len(found) - 1) / len(found) * sum((s - sum(found) / len(found)) ** 2 for s in found))
    return result(ratio(sums), error)


@right(TASK, "The variance from the statistics module, of pseudo-values.")
def pseudo_values(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    n, whole = rows.shape[1], float(ratio(rows.sum(axis=1)))
    values = [n * whole - (n - 1) * float(s) for s in left_out(rows)]
    return result(whole, math.sqrt(statistics.variance(values) / n))


@right(TASK, "A matrix that leaves one out in each column, with a print on the way.")
def by_a_matrix(plain_tokens: Any, plain_seconds: Any, tokens: Any, seconds: Any) -> Any:
    rows = read(plain_tokens, plain_seconds, tokens, seconds)
    n = rows.shape[1]
    found = ratio(rows @ (np.ones((n, n)) - np.eye(n)))
    print(found)
    return result(ratio(rows @ np.ones(n)), np.linalg.norm(found - found.mean()) * math.sqrt((n - 1) / n))
