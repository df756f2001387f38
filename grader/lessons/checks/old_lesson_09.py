"""Lesson 09, real hardware: what its tasks must satisfy."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from grader.check.judges import Bad, Example, Values
from grader.lessons.tasks import Property, Task, manners
from grader.run.child.calling import Call, call

LESSON = "09_gpu_appendix"
MODULE = "dspark_mini.hardware"
NAN, INF = math.nan, math.inf
Rng = np.random.Generator

# --- Task 9.1: cache_mask ----------------------------------------------------------------------------


def seen(*counts: int, slots: int) -> np.ndarray:
    """Rows that see their first so many slots."""
    return np.arange(slots) < np.array(counts)[:, None]


MASK = (
    Example(call(2, 2, 4), seen(3, 4, slots=4)),
    Example(call(2, 2, 6), seen(3, 4, slots=6)),
    Example(call(0, 3, 5), seen(1, 2, 3, slots=5)),
    Example(call(3, 1, 6), seen(4, slots=6)),
)
MASK_BAD = (
    Bad(call(5, 2, 6), ("rows", "count", "slots"), None, "two tokens do not fit into one free slot"),
    Bad(call(-1, 2, 6), "rows", None, "a negative number of rows"),
    Bad(call(2, 0, 6), "count", None, "there is no new token"),
)
MASK_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
MASK_BAD_HIDDEN = (
    Bad(call(6, 1, 6), ("rows", "count", "slots"), None, "the cache is full"),
    Bad(call(0, 7, 6), ("rows", "count", "slots"), None, "seven tokens do not fit into six slots"),
    Bad(call(0, 1, 0), "slots", None, "there is no slot"),
    Bad(call(2.5, 1, 6), "rows", None, "half a row"),
    Bad(call(2, NAN, 6), "count", None, "the count is NaN"),
)


def full_caches(rng: Rng) -> Iterator[Call]:
    for rows in range(1, 8):
        for count in range(2, 7):
            yield call(rows, count, rows + count)


def half_empty_caches(rng: Rng) -> Iterator[Call]:
    for _ in range(40):
        rows, count, free = (int(n) for n in rng.integers((1, 2, 1), (30, 10, 40)))
        yield call(rows, count, rows + count + free)


def empty_caches(rng: Rng) -> Iterator[Call]:
    for count in range(1, 8):
        yield call(0, count, count + int(rng.integers(0, 4)))


def single_tokens(rng: Rng) -> Iterator[Call]:
    for rows in range(8):
        yield call(rows, 1, rows + 1 + int(rng.integers(0, 4)))


def large_cache(rng: Rng) -> Iterator[Call]:
    yield call(int(rng.integers(900, 1000)), 64, 2000)


### END HIDDEN TESTS

TASK_9_1 = Task(
    id="9.1",
    lesson=LESSON,
    module=MODULE,
    function="cache_mask",
    todo="mark the slots that each new token may look at",
    hints=(
        "New token i is written into slot rows + i. It sees that slot and every slot in front of it.",
        "Compare the numbers of all slots, a row, with the slot of each new token, a column; one comparison gives the "
        "whole matrix.",
        "own = rows + [0, 1, …, count − 1], as a column\nreturn [0, 1, …, slots − 1] ≤ own",
    ),
    properties=(
        Property(
            "earlier_ones_and_itself",
            "A new token sees all earlier tokens, the new ones in front of it and itself, and none behind it.",
            3,
            "Row i is True in the slots 0 to rows + i, the last one included.",
            Values(
                examples=MASK[:1],
                ### BEGIN HIDDEN TESTS
                hidden=full_caches,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "slots_behind_are_unseen",
            "The mask covers all slots, and what lies behind the new tokens is seen by none of them.",
            2,
            "The shape is (count, slots), whatever is filled. Slots from rows + count on hold old rows or zeros.",
            Values(
                examples=MASK[1:2],
                ### BEGIN HIDDEN TESTS
                hidden=half_empty_caches,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "empty_cache",
            "Without earlier tokens the first new one sees itself alone.",
            1,
            "With rows = 0 the first row has one True, in slot 0.",
            Values(
                examples=MASK[2:3],
                ### BEGIN HIDDEN TESTS
                hidden=empty_caches,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "single_token",
            "One new token, as in plain decoding, has a mask of one row.",
            1,
            "The result keeps two axes: (1, slots).",
            Values(
                examples=MASK[3:],
                ### BEGIN HIDDEN TESTS
                hidden=single_tokens,
                ### END HIDDEN TESTS
            ),
        ),
        *manners(
            "a NumPy array of booleans",
            MASK,
            MASK_BAD,
            MASK_BAD_HIDDEN,
            twins=(Example(call(3, 2, 6), seen(4, 5, slots=6)), Example(call(2, 3, 6), seen(3, 4, 5, slots=6))),
        ),
        Property(
            "large_cache_in_time",
            "64 tokens and 2,000 slots take well under 2 s.",
            1,
            "One comparison of a row with a column gives the whole mask.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_cache,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 9.2: flatten_requests ----------------------------------------------------------------------


def flat(requests: list[int], positions: list[int], starts: list[int]) -> dict[str, list[int]]:
    return {"requests": requests, "positions": positions, "starts": starts}


FLAT = (
    Example(call([2], [5]), flat([0, 0, 0], [5, 6, 7], [0, 3])),
    Example(call([2, 1, 3], [5, 3, 8]), flat([0] * 3 + [1] * 2 + [2] * 4, [5, 6, 7, 3, 4, 8, 9, 10, 11], [0, 3, 5, 9])),
    Example(call([2, 0], [5, 3]), flat([0, 0, 0, 1], [5, 6, 7, 3], [0, 3, 4])),
    Example(call([], []), flat([], [], [0])),
)
FLAT_BAD = (
    Bad(call([2, -1], [5, 3]), "verify_lengths", 1, "a negative verify length"),
    Bad(call([2, 1], [5, -3]), "cache_rows", 1, "a negative number of rows"),
    Bad(call([2, 1], [5]), ("verify_lengths", "cache_rows"), None, "one of them is shorter"),
)
FLAT_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
FLAT_BAD_HIDDEN = (
    Bad(call([-2], [5]), "verify_lengths", 0, "a negative verify length"),
    Bad(call([1.5, 2, 1], [5, 3, 3]), "verify_lengths", 0, "half a draft"),
    Bad(call([2, 1], [NAN, 3]), "cache_rows", 0, "a number of rows is NaN"),
    Bad(call([2], [5, 3]), ("verify_lengths", "cache_rows"), None, "one of them is shorter"),
    Bad(call(2, [5]), "verify_lengths", None, "a number where a list belongs", wrong_nesting=True),
)


def ragged(rng: Rng, least: int, requests: int) -> Call:
    return call(rng.integers(least, 8, size=requests), rng.integers(0, 40, size=requests))


def one_request(rng: Rng) -> Iterator[Call]:
    for length in range(1, 9):
        yield call([length], [int(rng.integers(1, 40))])
    yield call([3], [0])


def many_requests(rng: Rng) -> Iterator[Call]:
    for _ in range(30):
        yield ragged(rng, 1, int(rng.integers(2, 9)))
    yield call([4, 4, 4], [7, 7, 7])


def plain_requests(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        made = ragged(rng, 0, int(rng.integers(2, 9)))
        made.args[0][int(rng.integers(len(made.args[0])))] = 0
        yield made
    yield call([0, 0, 0], [4, 0, 9])
    yield call([0], [6])


def no_requests(rng: Rng) -> Iterator[Call]:
    yield call([], [])


def large_batch(rng: Rng) -> Iterator[Call]:
    yield call(rng.integers(40, 65, size=64), rng.integers(0, 256, size=64))


### END HIDDEN TESTS

TASK_9_2 = Task(
    id="9.2",
    lesson=LESSON,
    module=MODULE,
    function="flatten_requests",
    todo="lay the rows of all requests end to end, and say where each request begins",
    hints=(
        "Write the rows of one request down: the anchor, then its drafts. Put the next request's rows right behind.",
        "Request r brings 1 + ℓ rows. Their positions are cache_rows[r], cache_rows[r] + 1, … The next request starts "
        "where so many flat rows have been laid; the last entry of starts is the number of all.",
        "starts = [0]\nfor each request r with ℓ and rows:\n    requests gets r, 1 + ℓ times\n"
        "    positions gets rows, rows + 1, …, rows + ℓ\n    starts gets the length of requests",
    ),
    properties=(
        Property(
            "anchor_and_drafts",
            "A request brings the row of its anchor and one of each draft, at the positions behind its cache.",
            3,
            "1 + ℓ rows; the anchor's position is cache_rows[r]. starts is [0, 1 + ℓ] for one request.",
            Values(
                examples=FLAT[:1],
                ### BEGIN HIDDEN TESTS
                hidden=one_request,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "requests_end_to_end",
            "Requests of different lengths follow each other without a gap, each with positions of its own.",
            3,
            "Nothing is padded to the longest. Positions begin anew with each request; starts goes on counting.",
            Values(
                examples=FLAT[1:2],
                ### BEGIN HIDDEN TESTS
                hidden=many_requests,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "plain_requests_have_one_row",
            "A request without drafts still brings its anchor.",
            1,
            "With ℓ = 0 a request has one row, like a step of plain decoding.",
            Values(
                examples=FLAT[2:3],
                ### BEGIN HIDDEN TESTS
                hidden=plain_requests,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "no_requests_no_rows",
            "Without requests there are no rows, and starts is [0].",
            1,
            "starts has R + 1 entries, also where R is 0.",
            Values(
                examples=FLAT[3:],
                ### BEGIN HIDDEN TESTS
                hidden=no_requests,
                ### END HIDDEN TESTS
            ),
        ),
        *manners(
            "plain ints in the three lists of a dict",
            FLAT,
            FLAT_BAD,
            FLAT_BAD_HIDDEN,
            twins=(
                Example(call([2, 0], [5, 4]), flat([0, 0, 0, 1], [5, 6, 7, 4], [0, 3, 4])),
                Example(call([0, 2], [5, 3]), flat([0, 1, 1, 1], [5, 3, 4, 5], [0, 1, 4])),
            ),
        ),
        Property(
            "large_batch_in_time",
            "64 requests with up to 64 drafts take well under 2 s.",
            1,
            "One walk over the requests is enough.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_batch,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 9.3: speeds_from_times ---------------------------------------------------------------------

TABLE = (
    Example(call([1, 3], [0.25, 0.75], 3), [0.0, 4.0, 2.0, 4 / 3]),
    Example(call([1, 2, 4], [0.25, 0.125, 0.75], 4), [0.0, 4.0, 4.0, 2.0, 4 / 3]),
    Example(call([1, 2, 3, 5], [0.25, 0.5, 0.125, 0.25], 5), [0.0, 4.0, 2.0, 2.0, 2.0, 2.0]),
    Example(call([1, 4], [0.25, 1.0], 2), [0.0, 4.0, 2.0]),
    Example(call([1], [0.5], 1), [0.0, 2.0]),
)
TABLE_BAD = (
    Bad(call([1, 2, 4], [0.25, 0.5, 0.5], 5), "largest", None, "nothing was measured beyond 4"),
    Bad(call([2, 4], [0.25, 0.5], 4), "batch_sizes", 0, "the sizes do not begin with 1"),
    Bad(call([1, 4, 4], [0.25, 0.5, 0.5], 4), "batch_sizes", 2, "the sizes do not rise"),
    Bad(call([1, 2], [0.25, 0.0], 2), "seconds", 1, "a step takes time"),
)
TABLE_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
TABLE_BAD_HIDDEN = (
    Bad(call([1, 4, 2], [0.25, 0.5, 0.5], 2), "batch_sizes", 2, "the sizes do not rise"),
    Bad(call([0, 1], [0.25, 0.5], 1), "batch_sizes", 0, "there is no batch of 0"),
    Bad(call([1.5, 2], [0.25, 0.5], 2), "batch_sizes", 0, "half a token"),
    Bad(call([1, 2], [0.25, NAN], 1), "seconds", 1, "a time is NaN, behind the table's end"),
    Bad(call([1, 2, 3], [0.25, INF, 1.0], 3), "seconds", 1, "a time is infinite"),
    Bad(call([1, 2, 3], [-0.25, 0.5, 1.0], 3), "seconds", 0, "a negative time"),
    Bad(call([1, 2], [0.25], 1), ("batch_sizes", "seconds"), None, "one of them is shorter"),
    Bad(call([1, 2], [0.25, 0.5], 0), "largest", None, "the table has no entry"),
    Bad(call([], [], 1), "batch_sizes", None, "nothing was measured"),
)


def some_sizes(rng: Rng, most: int = 8) -> np.ndarray:
    """Sizes that begin with 1 and leave gaps."""
    return np.cumsum([1, *rng.integers(1, 9, size=int(rng.integers(1, most)))])


def rising_times(rng: Rng) -> Iterator[Call]:
    for _ in range(40):
        sizes = some_sizes(rng)
        yield call(sizes, np.cumsum(rng.uniform(0.05, 0.5, size=sizes.size)), int(sizes[-1]))


def falling_times(rng: Rng) -> Iterator[Call]:
    """Noisy times, in which a batch often seems faster than a smaller one, and for several sizes in a row."""
    for _ in range(40):
        sizes = some_sizes(rng)
        yield call(sizes, rng.uniform(0.1, 1.0, size=sizes.size), int(sizes[-1]))
    yield call([1, 5, 9, 12], [1.0, 0.25, 0.5, 2.0], 12)


def short_tables(rng: Rng) -> Iterator[Call]:
    for _ in range(30):
        sizes = some_sizes(rng)
        yield call(sizes, np.cumsum(rng.uniform(0.05, 0.5, size=sizes.size)), int(rng.integers(1, sizes[-1])))


def single_size(rng: Rng) -> Iterator[Call]:
    yield call([1], [float(rng.uniform(0.1, 2.0))], 1)


def long_table(rng: Rng) -> Iterator[Call]:
    yield call(np.arange(1, 2001), np.cumsum(rng.uniform(0.001, 0.01, size=2000)), 2000)


### END HIDDEN TESTS

TASK_9_3 = Task(
    id="9.3",
    lesson=LESSON,
    module=MODULE,
    function="speeds_from_times",
    todo="raise the times that fall, draw straight lines between them, and turn times into speeds",
    hints=(
        "Three steps: times that never fall, a time for every size from 1 to largest, steps per second from times.",
        "np.maximum.accumulate gives the running maximum of the measured times. np.interp lays straight lines between "
        "them. A speed is 1 over a time; entry 0 of the table is 0.0.",
        "rising = running maximum of seconds\nbetween = interp(1 … largest, batch_sizes, rising)\n"
        "return [0.0] and 1 / t for each t in between",
    ),
    properties=(
        Property(
            "straight_lines_in_time",
            "Between two measured sizes the time lies on a straight line, and the entry is 1 over it.",
            3,
            "Interpolate the times and divide afterwards: the mean of two speeds is not the speed of the mean time.",
            Values(
                examples=TABLE[:1],
                ### BEGIN HIDDEN TESTS
                hidden=rising_times,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "time_never_falls",
            "A measured time below that of a smaller batch is raised to it, before the lines are drawn.",
            3,
            "Take the running maximum of the measured times first, over all smaller sizes; then interpolate.",
            Values(
                examples=TABLE[1:3],
                ### BEGIN HIDDEN TESTS
                hidden=falling_times,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "table_ends_at_largest",
            "The table has an entry for 0, which is 0, and one for each size up to largest, no more.",
            2,
            "largest + 1 entries; measurements behind largest still bound the line that leads to them.",
            Values(
                examples=TABLE[3:4],
                ### BEGIN HIDDEN TESTS
                hidden=short_tables,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "one_size_is_enough",
            "One measurement, at 1, makes a table of one size.",
            1,
            "There is no line to draw, and nothing to divide by 0.",
            Values(
                examples=TABLE[4:],
                ### BEGIN HIDDEN TESTS
                hidden=single_size,
                ### END HIDDEN TESTS
            ),
        ),
        *manners(
            "plain floats in a list",
            TABLE,
            TABLE_BAD,
            TABLE_BAD_HIDDEN,
            twins=(
                Example(call([1, 2, 4], [0.25, 0.125, 0.75], 2), [0.0, 4.0, 4.0]),
                Example(call([1, 3, 4], [0.25, 0.125, 0.75], 4), [0.0, 4.0, 4.0, 4.0, 4 / 3]),
                Example(call([1, 2, 4], [0.5, 0.125, 1.0], 4), [0.0, 2.0, 2.0, 4 / 3, 1.0]),
            ),
        ),
        Property(
            "long_table_in_time",
            "A table of 2,000 entries takes well under 2 s.",
            1,
            "Interpolate all sizes at once, or look for the right neighbours once a size.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=long_table,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 9.4: speedup_with_interval -----------------------------------------------------------------


def about(speedup: float, error: float) -> dict[str, float]:
    return {"speedup": speedup, "low": speedup - 1.96 * error, "high": speedup + 1.96 * error}


SPEEDUP = (
    Example(call([10, 10], [1.0, 4.0], [10, 30], [0.5, 6.0]), about(20 / 13, 0.0)),
    Example(call([10, 10], [1.0, 1.0], [10, 10], [0.5, 0.25]), about(8 / 3, 1.0)),
    Example(call([10, 20], [1.0, 2.0], [10, 30], [0.5, 0.5]), about(4.0, 2.0)),
    Example(
        call([10, 10, 10], [1.0, 1.0, 1.0], [10, 10, 10], [0.5, 0.25, 0.125]),
        about(24 / 7, math.sqrt(2 / 3 * sum((s - 56 / 15) ** 2 for s in (16 / 3, 16 / 5, 8 / 3)))),
    ),
)
SPEEDUP_BAD = (
    Bad(call([10], [1.0], [10], [0.5]), ("plain_tokens", "tokens"), None, "one prompt tells no error"),
    Bad(call([10, 10], [1.0, 1.0], [10, 10], [0.5, 0.0]), "seconds", 1, "a text takes time"),
    Bad(call([10] * 3, [1.0] * 3, [10] * 2, [0.5] * 2), ("plain_tokens", "tokens"), None, "one text is missing"),
    Bad(call([10, 0], [1.0, 1.0], [10, 10], [0.5, 0.5]), "plain_tokens", 1, "there is no text"),
)
SPEEDUP_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
SPEEDUP_BAD_HIDDEN = (
    Bad(call([], [], [], []), ("plain_tokens", "tokens"), None, "there is no prompt"),
    Bad(call([10, 10], [NAN, 1.0], [10, 10], [0.5, 0.5]), "plain_seconds", 0, "a time is NaN"),
    Bad(call([10, 10], [1.0, INF], [10, 10], [0.5, 0.5]), "plain_seconds", 1, "a time is infinite"),
    Bad(call([10, 10], [1.0, 1.0], [10, -3], [0.5, 0.5]), "tokens", 1, "a negative number of tokens"),
    Bad(call([10, 10], [1.0, 1.0], [10.5, 3], [0.5, 0.5]), "tokens", 0, "half a token"),
    Bad(call([10, 10], [1.0, 1.0], [10, 10], [-0.5, 0.5]), "seconds", 0, "a negative time"),
    Bad(call([10] * 3, [1.0] * 2, [10] * 3, [0.5] * 3), ("plain_tokens", "plain_seconds"), None, "a time is missing"),
    Bad(call([10] * 3, [1.0] * 3, [10] * 3, [0.5] * 2), ("plain_tokens", "seconds"), None, "a time is missing"),
)


def equal_ratios(rng: Rng) -> Iterator[Call]:
    """Two prompts of equal speed-up: the interval has no width, and the speed-up of both is another one."""
    for _ in range(30):
        plain, tokens = rng.integers(5, 60, size=2), rng.integers(5, 60, size=2)
        plain_seconds = plain * rng.uniform(0.02, 0.2, size=2)
        yield call(plain, plain_seconds, tokens, tokens * plain_seconds / plain / rng.uniform(0.5, 4.0))


def some_prompts(rng: Rng, count: int) -> Call:
    plain, tokens = rng.integers(5, 60, size=count), rng.integers(5, 60, size=count)
    return call(plain, plain * rng.uniform(0.02, 0.1, count), tokens, tokens * rng.uniform(0.01, 0.08, count))


def several_prompts(rng: Rng) -> Iterator[Call]:
    for count in range(3, 33):
        yield some_prompts(rng, count)


def two_prompts(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        yield some_prompts(rng, 2)


def many_prompts(rng: Rng) -> Iterator[Call]:
    yield some_prompts(rng, 2000)


### END HIDDEN TESTS

TASK_9_4 = Task(
    id="9.4",
    lesson=LESSON,
    module=MODULE,
    function="speedup_with_interval",
    todo="divide the two speeds, each of sums, and measure the error by leaving one prompt out at a time",
    hints=(
        "A speed is all tokens over all seconds. The error shows in how much the speed-up moves when a prompt is "
        "missing.",
        "Write a small function that computes the speed-up from four sums. Call it with the sums of all prompts, then "
        "n times with the sums without prompt i. Only the spread of those n speed-ups goes into the error.",
        "speedup(sums) = (tokens / seconds) / (plain_tokens / plain_seconds)\n"
        "s_i = speedup(sums − the four numbers of prompt i)\n"
        "variance = (n − 1) / n · Σ (s_i − mean of s)²\n"
        "low, high = speedup(sums) ∓ 1.96 · √variance",
    ),
    properties=(
        Property(
            "ratio_of_sums",
            "A speed is the sum of the tokens over the sum of the seconds; the speed-up is the ratio of two speeds.",
            3,
            "Add first, divide then. A mean of ratios lets a short prompt count as much as a long one.",
            Values(
                examples=SPEEDUP[:1],
                ### BEGIN HIDDEN TESTS
                hidden=equal_ratios,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "one_left_out",
            "The interval comes from the speed-ups without one prompt each, and lies around that of all prompts.",
            3,
            "The variance is (n − 1) / n times the sum of the squares, around the mean of the n speed-ups. The "
            "factor makes up for how alike they are.",
            Values(
                examples=SPEEDUP[3:],
                ### BEGIN HIDDEN TESTS
                hidden=several_prompts,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "two_prompts_are_enough",
            "Two prompts already have an interval, a wide one, that may reach below 0.",
            1,
            "With n = 2 each of the two speed-ups is that of the other prompt; the formula is the same.",
            Values(
                examples=SPEEDUP[1:3],
                ### BEGIN HIDDEN TESTS
                hidden=two_prompts,
                ### END HIDDEN TESTS
            ),
        ),
        *manners(
            "plain floats in a dict",
            SPEEDUP,
            SPEEDUP_BAD,
            SPEEDUP_BAD_HIDDEN,
            twins=(Example(call([10, 10], [2.0, 2.0], [10, 10], [0.5, 0.25]), about(16 / 3, 2.0)),),
        ),
        Property(
            "many_prompts_in_time",
            "2,000 prompts take well under 2 s.",
            1,
            "Take the four numbers of a prompt off the sums; do not add all others up anew.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=many_prompts,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

TASKS = (TASK_9_1, TASK_9_2, TASK_9_3, TASK_9_4)
