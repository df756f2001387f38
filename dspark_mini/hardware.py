"""Real hardware: static cache masks, batches without padding, measured speed tables, and honest speed-ups."""

from __future__ import annotations

import math

import numpy as np

from dspark_mini.contracts import integer, integers, numbers, takes
from dspark_mini.rules import sizes_rise_from_1, table_is_measured, two_prompts_or_more


@takes(rows=integer(), count=integer(low=1), slots=integer(low="rows+count"))
def cache_mask(rows, count, slots):
    """Mark the slots of a static cache that each new token may attend to.

    Args:
        rows: filled slots; they hold the earlier tokens.
        count: new tokens; they are written into the next slots.
        slots: all slots of the cache.

    Returns:
        Boolean array (count, slots): a token sees the earlier tokens, the new ones before it, and itself.

    Example:
        rows 2, count 2, slots 6
        →  [[True, True, True, False, False, False],
            [True, True, True, True, False, False]]

    Source: static key-value caches, whose shapes never change, as compiled graphs need them.
    """
    ### BEGIN SOLUTION
    own = rows + np.arange(count)[:, None]  # (count, 1) the slot of each new token
    return np.arange(slots) <= own
    ### END SOLUTION


@takes(verify_lengths=integers("R", empty=True), cache_rows=integers("R", empty=True))
def flatten_requests(verify_lengths, cache_rows):
    """Lay the tokens of many requests end to end, so that one forward verifies all of them without padding.

    Args:
        verify_lengths: list (R,), draft tokens ℓ of each request; with its anchor a request has 1 + ℓ rows.
        cache_rows: list (R,), tokens before each request's anchor; they are in its cache.

    Returns:
        A dict of three lists: `requests` and `positions` give the request of each flat row, and its position in that
        request's text; `starts` holds the first flat row of each request, then the number of all rows: R + 1 entries.

    Example:
        verify_lengths [2, 0], cache_rows [5, 3]
        →  {'requests': [0, 0, 0, 1], 'positions': [5, 6, 7, 3], 'starts': [0, 3, 4]}

    Source: batches without padding, where `starts` is known as cu_seqlens (FlashAttention).
    """
    ### BEGIN SOLUTION
    requests, positions, starts = [], [], [0]
    for request, (length, anchor) in enumerate(zip(verify_lengths, cache_rows)):
        requests += [request] * (1 + length)
        positions += [anchor + k for k in range(1 + length)]
        starts.append(len(requests))
    return {"requests": requests, "positions": positions, "starts": starts}
    ### END SOLUTION


@takes(
    sizes_rise_from_1,
    table_is_measured,
    batch_sizes=integers("n", low=1),
    seconds=numbers("n", above=0.0),
    largest=integer(low=1),
)
def speeds_from_times(batch_sizes, seconds, largest):
    """Turn measured step times, with straight lines between them, into the scheduler's table of steps per second.

    Args:
        batch_sizes: list (n,), measured batch sizes in tokens, rising from 1.
        seconds: (n,) median time of a step at each size; one below that of a smaller batch is noise, and raised to it.
        largest: last batch size of the table, at most the last measured one.

    Returns:
        largest + 1 floats: 0.0, then the steps per second for a batch of 1, 2, … tokens.

    Example:
        batch_sizes [1, 2, 4], seconds [.25, .125, .75], largest 4
        the times at 1 to 4 are .25, .25, .5, .75  →  [0, 4, 4, 2, 1.333…]

    Source: DSpark (arXiv 2607.05147), Section 3.2: SPS(B), profiled once into a table.
    """
    ### BEGIN SOLUTION
    rising = np.maximum.accumulate(seconds)  # (n,) no batch is faster than a smaller one
    times = np.interp(np.arange(1, largest + 1), batch_sizes, rising)  # (largest,)
    return [0.0, *(1.0 / times).tolist()]
    ### END SOLUTION


@takes(
    two_prompts_or_more,
    plain_tokens=integers("n", low=1),
    plain_seconds=numbers("n", above=0.0),
    tokens=integers("n", low=1),
    seconds=numbers("n", above=0.0),
)
def speedup_with_interval(plain_tokens, plain_seconds, tokens, seconds):
    """Compare two ways of decoding the same n prompts: a ratio of two speeds, with the jackknife's 95 % interval.

    Args:
        plain_tokens, plain_seconds: (n,) tokens of each prompt under plain decoding, and the time they took.
        tokens, seconds: (n,) the same for the other way.

    Returns:
        A dict of floats: `speedup` of all prompts, `low` and `high`, 1.96 errors below and above it.

    Example:
        10 tokens per prompt; plain_seconds [1, 1], seconds [.5, .25]
        speed-up 2.667; without the first prompt 4, without the second 2: error 1  →  from 0.707 to 4.627

    Source: Tukey's jackknife, in Efron and Stein, The Jackknife Estimate of Variance (1981).
    """
    ### BEGIN SOLUTION
    measured = np.array([tokens, seconds, plain_tokens, plain_seconds])  # (4, n)
    total = measured.sum(axis=1, keepdims=True)  # (4, 1)
    made, took, plain_made, plain_took = np.hstack([total, total - measured])  # (1 + n,): of all, then without one
    speedup, *without_one = ((made / took) / (plain_made / plain_took)).tolist()
    error = math.sqrt((len(without_one) - 1) * np.var(without_one))
    return {"speedup": speedup, "low": speedup - 1.96 * error, "high": speedup + 1.96 * error}
    ### END SOLUTION
