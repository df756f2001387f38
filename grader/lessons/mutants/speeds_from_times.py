"""Variants of task 9.3: what learners write for speeds_from_times, wrong and right."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Any

import numpy as np

from dspark_mini.inputs import check_same_length, numbers, whole_number, whole_numbers
from grader.lessons.mutants import right, wrong

TASK = "9.3"


def read(batch_sizes: Any, seconds: Any, largest: Any) -> tuple[list[int], Any, int]:
    """Check the arguments as the top of the stub does."""
    sizes = whole_numbers("batch_sizes", batch_sizes, low=1)
    times = numbers("seconds", seconds, low=0.0, above=True)
    check_same_length("batch_sizes", sizes, "seconds", times)
    if not sizes:
        raise ValueError("batch_sizes is empty.")
    for i, (before, size) in enumerate(zip([0, *sizes], sizes)):
        if size <= before or (i == 0 and size != 1):
            raise ValueError(f"batch_sizes[{i}] does not fit.")
    return sizes, times, whole_number("largest", largest, low=1, high=sizes[-1])


def table(sizes: list[int], times: Any, largest: int) -> list[float]:
    """Draw straight lines between times, and turn them into speeds."""
    return [0.0, *(1.0 / np.interp(np.arange(1, largest + 1), sizes, times)).tolist()]


def done(batch_sizes: Any, seconds: Any, largest: Any) -> list[float]:
    sizes, times, last = read(batch_sizes, seconds, largest)
    return table(sizes, np.maximum.accumulate(times), last)


# --- Wrong ------------------------------------------------------------------------------------------------


@wrong(TASK, "straight_lines_in_time", "Speeds can be interpolated like times.")
def lines_between_speeds(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    speeds = 1.0 / np.maximum.accumulate(times)
    return [0.0, *np.interp(np.arange(1, last + 1), sizes, speeds).tolist()]


@wrong(TASK, "straight_lines_in_time", "A batch is padded to the next measured size.")
def next_measured_size(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    rising = np.maximum.accumulate(times)
    return [0.0, *(1.0 / rising[np.searchsorted(sizes, np.arange(1, last + 1))]).tolist()]


@wrong(TASK, "straight_lines_in_time", "The last measured size stands for those behind it.")
def last_measured_size(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    rising = np.maximum.accumulate(times)
    return [0.0, *(1.0 / rising[np.searchsorted(sizes, np.arange(1, last + 1), side="right") - 1]).tolist()]


@wrong(TASK, "straight_lines_in_time", "One straight line through all measurements is smoother.")
def one_line_for_all(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    if len(sizes) == 1:
        return table(sizes, times, last)
    slope, start = np.polyfit(sizes, np.maximum.accumulate(times), 1)
    return [0.0, *(1.0 / np.abs(start + slope * np.arange(1, last + 1))).tolist()]


@wrong(TASK, "straight_lines_in_time", "The table holds the seconds of a step.")
def seconds_of_a_step(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    return [0.0, *(1.0 / speed for speed in done(batch_sizes, seconds, largest)[1:])]


@wrong(TASK, "straight_lines_in_time", "A batch of B tokens makes B steps.")
def tokens_per_second(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    return [size * speed for size, speed in enumerate(done(batch_sizes, seconds, largest))]


@wrong(TASK, "time_never_falls", "What was measured is true.")
def times_as_measured(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    return table(*read(batch_sizes, seconds, largest))


@wrong(TASK, "time_never_falls", "It is enough to look at the size before.")
def neighbour_only(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    return table(sizes, np.maximum(times, np.concatenate([times[:1], times[:-1]])), last)


@wrong(TASK, "time_never_falls", "The lines are drawn first, and what falls is raised afterwards.")
def raised_after_the_lines(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    between = np.interp(np.arange(1, last + 1), sizes, times)
    return [0.0, *(1.0 / np.maximum.accumulate(between)).tolist()]


@wrong(TASK, "time_never_falls", "The slower time is the noisy one: it is lowered to that of the larger batch.")
def lowered(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    return table(sizes, np.minimum.accumulate(times[::-1])[::-1], last)


@wrong(TASK, "time_never_falls", "Sorted times never fall.")
def sorted_times(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    return table(sizes, np.sort(times), last)


@wrong(TASK, "time_never_falls", "A measurement that falls is thrown away.")
def thrown_away(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    kept = [i for i in range(len(sizes)) if times[i] >= max(times[: i + 1])]
    return table([sizes[i] for i in kept], times[kept], last)


@wrong(TASK, "table_ends_at_largest", "The table holds all that was measured.")
def all_that_was_measured(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, _ = read(batch_sizes, seconds, largest)
    return table(sizes, np.maximum.accumulate(times), sizes[-1])


@wrong(TASK, "table_ends_at_largest", "The first entry belongs to a batch of 1.")
def no_entry_0(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    return done(batch_sizes, seconds, largest)[1:]


@wrong(TASK, "table_ends_at_largest", "largest is the number of entries.")
def one_too_few(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    return done(batch_sizes, seconds, largest)[:-1]


@wrong(TASK, "table_ends_at_largest", "Measurements behind largest are not needed.")
def cut_before_the_lines(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    few = bisect_left(sizes, last + 1)
    return table(sizes[:few], np.maximum.accumulate(times[:few]), last)


@wrong(TASK, "one_size_is_enough", "A line needs two points.")
def two_sizes_needed(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    if len(batch_sizes) == 1:
        raise ValueError("batch_sizes has one entry only.")
    return done(batch_sizes, seconds, largest)


@wrong(TASK, "bad_input_raises", "Beyond the last measurement the time stays as it is.")
def flat_beyond(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, _ = read(batch_sizes, seconds, 1)
    return table(sizes, np.maximum.accumulate(times), whole_number("largest", largest, low=1))


@wrong(TASK, "bad_input_raises", "A table that is asked for too large is as large as it can be.")
def as_large_as_it_can_be(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    return done(batch_sizes, seconds, min(largest, int(np.max(batch_sizes))))


@wrong(TASK, "bad_input_raises", "Measurements may come in any order.")
def any_order(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    check_same_length("batch_sizes", batch_sizes, "seconds", seconds)
    order = np.argsort(batch_sizes, kind="stable")
    return done(np.asarray(batch_sizes)[order], np.asarray(seconds)[order], largest)


@wrong(TASK, "plain_types", "An array passes for a list.")
def an_array(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    return np.array(done(batch_sizes, seconds, largest))


@wrong(TASK, "input_unchanged", "The times may be raised where they are.")
def raised_in_place(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    made = done(batch_sizes, seconds, largest)
    for i in range(1, len(seconds)):
        seconds[i] = max(seconds[i], seconds[i - 1])
    return made


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "A walk from one measured size to the next, by hand.")
def walk(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    rising = list(accumulate(times.tolist(), max))
    made, right_one = [0.0], 0
    for size in range(1, last + 1):
        while sizes[right_one] < size:
            right_one += 1
        if sizes[right_one] == size:
            made.append(1 / rising[right_one])
            continue
        (x0, x1), (t0, t1) = sizes[right_one - 1 : right_one + 1], rising[right_one - 1 : right_one + 1]
        made.append((x1 - x0) / (t0 * (x1 - size) + t1 * (size - x0)))
    return made


@right(TASK, "All lines side by side, each with np.linspace.")
def linspaces(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    rising = [max(times[: i + 1]) for i in range(len(sizes))]
    between = [rising[0]]
    for i in range(1, len(sizes)):
        between += np.linspace(rising[i - 1], rising[i], sizes[i] - sizes[i - 1] + 1)[1:].tolist()
    return [0.0] + [1.0 / float(t) for t in between[:last]]


@right(TASK, "Over a whole table that is cut at the end, with a print on the way.")
def cut_at_the_end(batch_sizes: Any, seconds: Any, largest: Any) -> Any:
    sizes, times, last = read(batch_sizes, seconds, largest)
    speeds = np.zeros(sizes[-1] + 1)
    speeds[1:] = np.reciprocal(np.interp(range(1, sizes[-1] + 1), sizes, np.maximum.accumulate(times)))
    print(speeds)
    return list(map(float, speeds[: last + 1]))
