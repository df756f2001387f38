"""Lesson 09, real hardware: what its tasks must satisfy."""

import math

import numpy as np

from dspark_mini.hardware import cache_mask, flatten_requests, speeds_from_times, speedup_with_interval
from grader.lessons.tasks import Task, example, values

LESSON = "09_gpu_appendix"


def seen(*counts: int, slots: int) -> np.ndarray:
    """Rows that see their first so many slots."""
    return np.arange(slots) < np.array(counts)[:, None]


TASK_9_1 = Task(
    id="9.1",
    lesson=LESSON,
    reference=cache_mask,
    todo="mark the slots that each new token may attend to",
    hints=(
        "A slot's number says when its token came: what lies in a lower slot came earlier.",
        "Into which slot is new token i written, and which of all slots may it see then? Can one comparison answer "
        "that for all tokens and slots?",
        "own = rows + [0, 1, …, count − 1], as a column\nreturn [0, 1, …, slots − 1] ≤ own",
    ),
    returns="booleans in a NumPy array",
    core=(
        values("earlier_ones_and_itself", 3)(
            "A new token sees all earlier tokens, the new ones before it and itself, and none after it.",
            "Row i is True in the slots 0 to rows + i, the last one included.",
            example(2, 2, 4, gives=seen(3, 4, slots=4)),
            example(1, 2, 4, gives=seen(2, 3, slots=4)),
        ),
        values("slots_behind_are_unseen", 2)(
            "The mask covers all slots, and no token sees those after the new tokens.",
            "The shape is (count, slots), however full the cache is. From slot rows + count on, all is old or empty.",
            example(2, 2, 6, gives=seen(3, 4, slots=6)),
        ),
        values("empty_cache", 1)(
            "Without earlier tokens the first new one sees only itself.",
            "With rows = 0 the first row has one True, in slot 0.",
            example(0, 3, 5, gives=seen(1, 2, 3, slots=5)),
        ),
        values("single_token", 1)(
            "One new token, as in plain decoding, has a mask of one row.",
            "The result keeps two axes: (1, slots).",
            example(3, 1, 6, gives=seen(4, slots=6)),
        ),
    ),
)


def flat(requests: list[int], positions: list[int], starts: list[int]) -> dict[str, list[int]]:
    """Write a flat batch down."""
    return {"requests": requests, "positions": positions, "starts": starts}


TASK_9_2 = Task(
    id="9.2",
    lesson=LESSON,
    reference=flatten_requests,
    todo="lay the rows of all requests end to end, and say where each request begins",
    hints=(
        "Write down the rows of one request: its anchor, then its drafts. The next request's rows follow directly.",
        "How many rows does a request bring, also with ℓ = 0? What stands in starts before the first request, and what "
        "after the last one?",
        "starts = [0]\n"
        "for each request r with ℓ and cache rows:\n"
        "    requests gets r, 1 + ℓ times\n"
        "    positions gets rows, rows + 1, …, rows + ℓ\n"
        "    starts gets the length of requests",
    ),
    returns="plain ints in the three lists of a dict",
    core=(
        values("anchor_and_drafts", 3)(
            "A request has one row for its anchor and one for each draft, at the positions that follow its cache.",
            "Compare list by list. How many rows has a request, and where in the text does its first one stand, which "
            "is the anchor's? starts has one entry more than there are requests.",
            example([2], [5], gives=flat([0, 0, 0], [5, 6, 7], [0, 3])),
        ),
        values("requests_end_to_end", 3)(
            "Requests of different lengths follow each other without a gap, each with positions of its own.",
            "Nothing is padded to the longest. Positions begin anew with each request; starts goes on counting.",
            example([1, 2], [7, 3], gives=flat([0, 0, 1, 1, 1], [7, 8, 3, 4, 5], [0, 2, 5])),
        ),
        values("plain_requests_have_one_row", 1)(
            "A request without drafts still brings its anchor.",
            "With ℓ = 0 a request has one row, like a step of plain decoding.",
            example([2, 0], [5, 3], gives=flat([0, 0, 0, 1], [5, 6, 7, 3], [0, 3, 4])),
        ),
        values("no_requests_no_rows", 1)(
            "Without requests there are no rows, and starts is [0].",
            "starts has R + 1 entries, also where R is 0.",
            example([], [], gives=flat([], [], [0])),
        ),
    ),
)

TASK_9_3 = Task(
    id="9.3",
    lesson=LESSON,
    reference=speeds_from_times,
    todo="raise the times that fall, draw straight lines between them, and turn times into speeds",
    hints=(
        "Three things happen to the measured times: some are raised, the gaps are filled, and all become speeds.",
        "In which order must the three happen? Try the example in another order. NumPy has a running maximum "
        "(np.maximum.accumulate) and straight lines between points (np.interp).",
        "rising = running maximum of seconds\n"
        "times = interp(1 … largest, batch_sizes, rising)\n"
        "return [0.0] and 1 / t for each t in times",
    ),
    returns="plain floats in a list",
    core=(
        values("straight_lines_in_time", 3)(
            "Between two measured sizes the time lies on a straight line, and the entry is 1 over it.",
            "Halfway between .25 s at size 1 and .75 s at size 3 the time is .5 s, so there are 2 steps per second.",
            example([1, 3], [0.25, 0.75], 3, gives=[0.0, 4.0, 2.0, 4 / 3]),
        ),
        values("table_ends_at_largest", 2)(
            "The table has an entry for 0, which is 0, and one for each size up to largest, no more.",
            "largest + 1 entries; a measurement after largest still bounds the line that leads to it.",
            example([1, 4], [0.25, 1.0], 2, gives=[0.0, 4.0, 2.0]),
        ),
        values("time_never_falls", 3)(
            "A measured time below that of a smaller batch is raised to it before the lines are drawn.",
            "No time on the lines may lie below a measured time of a smaller batch, be it the neighbour or not.",
            example([1, 2, 4], [0.25, 0.125, 0.75], 4, gives=[0.0, 4.0, 4.0, 2.0, 4 / 3]),
            example([1, 2, 3, 5], [0.25, 0.5, 0.125, 0.25], 5, gives=[0.0, 4.0, 2.0, 2.0, 2.0, 2.0]),
        ),
        values("one_size_is_enough", 1)(
            "One measurement, at 1, makes a table for one size.",
            "There is no line to draw, and no difference of sizes to divide by.",
            example([1], [0.5], 1, gives=[0.0, 2.0]),
        ),
    ),
)


def around(speedup: float, error: float) -> dict[str, float]:
    """Write a speed-up down with its 95 % interval, given its standard error."""
    return {"speedup": speedup, "low": speedup - 1.96 * error, "high": speedup + 1.96 * error}


TASK_9_4 = Task(
    id="9.4",
    lesson=LESSON,
    reference=speedup_with_interval,
    todo="divide two speeds, each made of sums, and measure the error by leaving out one prompt at a time",
    hints=(
        "A speed is all tokens over all seconds. How much the speed-up moves when a prompt is missing shows its error.",
        "From which four sums does a speed-up follow, and how does a prompt leave them? Which of the n + 1 speed-ups "
        "make the error, and which one stands in the middle?",
        "speedup(sums) = (tokens / seconds) / (plain_tokens / plain_seconds)\n"
        "s_i = speedup(sums − the four numbers of prompt i)\n"
        "variance = (n − 1) / n · Σ (s_i − mean of s)²\n"
        "low, high = speedup(sums) ∓ 1.96 · √variance",
    ),
    returns="plain floats in a dict",
    core=(
        values("ratio_of_sums", 3)(
            "A speed is the sum of the tokens over the sum of the seconds; the speed-up is the ratio of two speeds.",
            "Add first, divide then. A mean of ratios lets a short prompt count as much as a long one.",
            example([10, 10], [1.0, 4.0], [10, 30], [0.25, 3.0], gives=around(40 / 13, 0.0)),
        ),
        values("one_left_out", 3)(
            "The interval comes from the speed-ups without one prompt each, and lies around that of all prompts.",
            "The variance is (n − 1) / n times the sum of (s − mean)² over the n speed-ups s: check the factor, "
            "np.var divides by n already. It makes up for how alike they are.",
            example(
                *([10, 10, 10], [1.0, 1.0, 1.0], [10, 10, 10], [0.5, 0.25, 0.125]),
                gives=around(24 / 7, math.sqrt(2 / 3 * sum((s - 56 / 15) ** 2 for s in (16 / 3, 16 / 5, 8 / 3)))),
            ),
        ),
        values("two_prompts_are_enough", 1)(
            "Two prompts already have an interval, a wide one, which may reach below 0.",
            "With n = 2 each of the two speed-ups is that of the other prompt; the formula is the same.",
            example([10, 10], [1.0, 1.0], [10, 10], [0.5, 0.25], gives=around(8 / 3, 1.0)),
            example([10, 20], [1.0, 2.0], [10, 30], [0.5, 0.375], gives=around(32 / 7, 3.0)),
        ),
    ),
)

TASKS = (TASK_9_1, TASK_9_2, TASK_9_3, TASK_9_4)
