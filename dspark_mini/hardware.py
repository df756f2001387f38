"""Real hardware: the mask of a static cache, a flat batch, a measured table of speeds, and an honest speed-up."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import check_same_length, numbers, whole_number, whole_numbers


def cache_mask(rows: int, count: int, slots: int) -> NDArray[np.bool_]:
    """Say which slots of a static cache each new token sees.

    The cache has a fixed number of slots, of which the first `rows` hold earlier tokens. The new
    tokens are written into the next `count` slots. Each sees all earlier tokens, the new ones in
    front of it and itself. What lies behind, left over from refused drafts or never written, is
    not seen.

    Args:
        rows: filled slots, at least 0.
        count: new tokens, at least 1.
        slots: all slots of the cache.

    Returns:
        Boolean array (count, slots), True where a token may look.

    Raises:
        ValueError: a number that is too small, or more tokens than there are free slots.

    Example:
        rows 2, count 2, slots 6
        →  [[True, True, True, False, False, False],
            [True, True, True, True, False, False]]

    Source: static key-value caches, whose shapes never change, as compiled graphs need them.
    """
    rows = whole_number("rows", rows, low=0)
    count = whole_number("count", count, low=1)
    slots = whole_number("slots", slots, low=1)
    if rows + count > slots:
        raise ValueError(f"count is {count}, but {rows} of the {slots} slots are filled.")
    ### BEGIN SOLUTION
    own = rows + np.arange(count)  # (count,) the slot of each new token
    return np.arange(slots) <= own[:, None]
    ### END SOLUTION


def flatten_requests(verify_lengths: ArrayLike, cache_rows: ArrayLike) -> dict[str, list[int]]:
    """Lay the tokens of many requests end to end, so that one forward verifies all without padding.

    A request brings its anchor and then its drafts: 1 + ℓ rows, one behind the other. Its cache
    holds all tokens before the anchor, so the anchor's position in the text is the number of rows
    in the cache.

    Args:
        verify_lengths: (R,) ℓ of each request, at least 0; R = 0 is legal.
        cache_rows: (R,) the rows that each request's cache holds before the forward, at least 0.

    Returns:
        A dict of lists of plain ints: requests, the request of each flat row; positions, the place
        of each flat row in its own text; starts, R + 1 numbers: the first flat row of each request,
        and at the end the number of all flat rows.

    Raises:
        ValueError: a length or a number of rows below 0, or arguments of different length.

    Example:
        verify_lengths [2, 0], cache_rows [5, 3]
        →  {'requests': [0, 0, 0, 1], 'positions': [5, 6, 7, 3], 'starts': [0, 3, 4]}

    Source: batches without padding, where `starts` is known as cu_seqlens (FlashAttention).
    """
    lengths = whole_numbers("verify_lengths", verify_lengths, low=0)  # (R,) a list
    rows = whole_numbers("cache_rows", cache_rows, low=0)  # (R,) a list
    check_same_length("verify_lengths", lengths, "cache_rows", rows)
    ### BEGIN SOLUTION
    requests: list[int] = []
    positions: list[int] = []
    starts = [0]
    for request, (length, before) in enumerate(zip(lengths, rows)):
        requests += [request] * (1 + length)
        positions += range(before, before + 1 + length)
        starts.append(len(requests))
    return {"requests": requests, "positions": positions, "starts": starts}
    ### END SOLUTION


def speeds_from_times(batch_sizes: ArrayLike, seconds: ArrayLike, largest: int) -> list[float]:
    """Turn measured step times into the table of steps per second that the scheduler reads.

    First, no measured time stays below that of a smaller batch: it is raised to it, since a larger
    batch has no less to do and only noise says otherwise. Then, between two measured sizes, the
    time lies on the straight line between theirs. Beyond the largest one nothing is known.

    Args:
        batch_sizes: (n,) the measured sizes, in tokens; they rise, and begin with 1.
        seconds: (n,) the time of a step at each of these sizes, a median of several.
        largest: the last size of the table, at least 1 and at most the last that was measured.

    Returns:
        largest + 1 plain floats: entry B is the number of steps per second at a batch of B tokens,
        entry 0 is 0.0.

    Raises:
        ValueError: sizes that do not begin with 1 or do not rise, a time that is no finite number
            above 0, arguments of different length, or a table beyond all that was measured.

    Example:
        batch_sizes [1, 2, 4], seconds [.25, .125, .75], largest 4
        the times become .25, .25 and .75, and .5 at the size of 3  →  [0, 4, 4, 2, 1.333…]

    Source: DSpark (arXiv 2607.05147), Section 3.2: SPS(B), profiled once into a table.
    """
    sizes = whole_numbers("batch_sizes", batch_sizes, low=1)  # (n,) a list
    times = numbers("seconds", seconds, low=0.0, above=True)  # (n,)
    check_same_length("batch_sizes", sizes, "seconds", times)
    if not sizes:
        raise ValueError("batch_sizes is empty, so nothing was measured.")
    for i, (before, size) in enumerate(zip([0, *sizes], sizes)):
        if size <= before or (i == 0 and size != 1):
            wanted = f"above {before}, the size before it" if i else "1, the smallest batch"
            raise ValueError(f"batch_sizes[{i}] must be {wanted}, not {size}.")
    largest = whole_number("largest", largest, low=1, high=sizes[-1])
    ### BEGIN SOLUTION
    rising = np.maximum.accumulate(times)  # (n,) no batch is faster than a smaller one
    between = np.interp(np.arange(1, largest + 1), sizes, rising)  # (largest,)
    return [0.0, *(1.0 / between).tolist()]
    ### END SOLUTION


def speedup_with_interval(
    plain_tokens: ArrayLike,
    plain_seconds: ArrayLike,
    tokens: ArrayLike,
    seconds: ArrayLike,
) -> dict[str, float]:
    """Compare two ways of decoding the same prompts, and say how sure the answer is.

    The speed of a way is its tokens over its seconds, each summed over all prompts; the speed-up is
    the ratio of the two speeds. The jackknife tells its error: leave one prompt out, of both ways,
    and compute the speed-up of the others; do so for each prompt. With m the mean of these n
    speed-ups s_i, the variance is (n − 1) / n · Σ (s_i − m)², the error is its square root, and the
    interval reaches 1.96 errors to either side of the speed-up of all prompts.

    Args:
        plain_tokens: (n,) tokens that plain decoding made of each prompt, at least 1; n ≥ 2.
        plain_seconds: (n,) the time that it took, above 0.
        tokens: (n,) tokens that the other way made of the same prompts, at least 1.
        seconds: (n,) the time that it took, above 0.

    Returns:
        A dict of plain floats: speedup, low and high, the last two the ends of the interval.

    Raises:
        ValueError: fewer than two prompts, a number of tokens below 1, a time that is no finite
            number above 0, or arguments of different length.

    Example:
        plain_tokens [10, 10], plain_seconds [1, 1], tokens [10, 10], seconds [.5, .25]
        speedup (20 / .75) / (20 / 2) = 2.667; without the first prompt 4, without the second 2
        mean 3, variance 1 / 2 · (1 + 1) = 1, error 1  →  2.667, from 0.707 to 4.627

    Source: Tukey's jackknife, in Efron and Stein, The Jackknife Estimate of Variance (1981).
    """
    plain_counts = whole_numbers("plain_tokens", plain_tokens, low=1)  # (n,) a list
    plain_times = numbers("plain_seconds", plain_seconds, low=0.0, above=True)  # (n,)
    counts = whole_numbers("tokens", tokens, low=1)  # (n,) a list
    times = numbers("seconds", seconds, low=0.0, above=True)  # (n,)
    check_same_length("plain_tokens", plain_counts, "plain_seconds", plain_times)
    check_same_length("plain_tokens", plain_counts, "tokens", counts)
    check_same_length("plain_tokens", plain_counts, "seconds", times)
    if len(counts) < 2:
        raise ValueError(f"plain_tokens has {len(counts)} entries, but it takes two or more.")
    ### BEGIN SOLUTION
    measured = np.array([counts, times, plain_counts, plain_times])  # (4, n)
    total = measured.sum(axis=1)[:, None]  # (4, 1)
    made, took, plain_made, plain_took = np.hstack([total, total - measured])
    ratios = (made / took) / (plain_made / plain_took)  # (1 + n,) of all, and with one left out
    speedup, left_out = float(ratios[0]), ratios[1:]
    reach = 1.96 * float(np.sqrt((left_out.size - 1) * left_out.var()))
    return {"speedup": speedup, "low": speedup - reach, "high": speedup + reach}
    ### END SOLUTION
