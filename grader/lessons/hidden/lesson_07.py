"""Lesson 07, end to end: oracles and hidden cases."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, call


# --- 7.1 rollback_rows ------------------------------------------------------------------------------------------------
def rows_without_token(verified_rows: int, accepted: int) -> int:
    owners = ["anchor"] + ["committed" if draft < accepted else "rejected" for draft in range(verified_rows - 1)]
    return owners.count("rejected")


def refused_rows_go(rng: Rng) -> Iterator[Call]:
    for rows in range(2, 20):
        for accepted in range(rows - 1):
            yield call(rows, accepted)


def full_block_drops_nothing(rng: Rng) -> Iterator[Call]:
    for rows in range(1, 65):
        yield call(rows, rows - 1)


# --- 7.2 decode_round -------------------------------------------------------------------------------------------------
def round_by_rows(draft_tokens: list[int], confidences: Array, target_tokens: list[int], threshold: float) -> Any:
    low = [k for k, confidence in enumerate(confidences) if confidence < threshold]
    block = draft_tokens[: low[0]] if low else list(draft_tokens)
    emitted: list[int] = []
    for draft, target in zip([*block, None], target_tokens):  # the rows of the forward
        emitted.append(target)
        if draft != target:
            break
    accepted = len(emitted) - 1
    rows = len(block) + 1
    return {"verified_rows": rows, "accepted": accepted, "tokens": emitted, "dropped_rows": rows - 1 - accepted}


def chance_round(rng: Rng, sure: float, right: float, vocabulary: int = 4) -> Call:
    size = int(rng.integers(1, 9))
    drafts = rng.integers(0, vocabulary, size=size)
    other = (drafts + rng.integers(1, vocabulary, size=size)) % vocabulary
    targets = np.append(np.where(rng.random(size) < right, drafts, other), rng.integers(0, vocabulary))
    low, high = rng.uniform(0.0, 0.45, size=size), rng.uniform(0.55, 1.0, size=size)
    return call(drafts, np.where(rng.random(size) < sure, high, low), targets, 0.5)


def target_decides(rng: Rng) -> Iterator[Call]:
    """Nothing is trimmed; the target decides."""
    for _ in range(40):
        yield chance_round(rng, 1.0, 0.75)
    drafts = rng.integers(0, 2000, size=64)
    yield call(drafts, np.ones(64), np.append(drafts, 7), 0.5)


def trimmed_before_the_forward(rng: Rng) -> Iterator[Call]:
    """Half of them with rows past ℓ that the forward never computes."""
    for _ in range(40):
        yield chance_round(rng, 0.7, 0.9)
    yield call([1, 2, 3], [0.75, 0.75, 0.75], [1, 2, 3, 0], 0.75)
    yield call([1, 2, 3], [1.0, 1.0, 0.5], [1, 2, 3, 0], 1.0)
    yield call([1, 2, 3], [0.75, 0.75, 0.75], [1, 2, 3, 0], 0.5)
    for length in range(5):
        drafts = rng.integers(0, 4, size=5)
        confidences = np.where(np.arange(5) == length, 0.25, 0.75)
        yield call(drafts, confidences, [*drafts[: length + 1], *[-1] * (5 - length)], 0.5)


def nothing_verified_is_plain(rng: Rng) -> Iterator[Call]:
    yield call([], [], [6], 0.5)
    for _ in range(10):
        drafts, confidences, targets, _ = chance_round(rng, 0.9, 0.9).args
        yield call(drafts, np.append(0.25, confidences[1:]), targets, 0.5)


# --- 7.3 best_block_size ----------------------------------------------------------------------------------------------
def best_by_search(accepted_counts: list[int], verified_counts: list[int], round_times: Array) -> int:
    hits = misses = 0
    for accepted, verified in zip(accepted_counts, verified_counts):
        hits += accepted
        misses += 1 if accepted < verified else 0
    alpha = hits / (hits + misses)
    best, best_speed = 0, 0.0
    for size, seconds in enumerate(round_times):
        speed = sum(alpha**k for k in range(size + 1)) / seconds
        if speed > best_speed:
            best, best_speed = size, speed
    return best


def is_clear(made: Call) -> bool:
    """Tell whether the best block size is the best by more than rounding."""
    accepted, verified, times = (np.asarray(arg, dtype=float) for arg in made.args)
    alpha = accepted.sum() / np.minimum(accepted + 1, verified).sum()
    speeds = np.sort(np.cumsum(alpha ** np.arange(times.size)) / times)
    return bool(times.size < 2 or speeds[-1] - speeds[-2] > 1e-6 * speeds[-1])


def some_rounds(rng: Rng, alpha: float, size: int, step: float, most: int = 12) -> Call:
    rounds = int(rng.integers(3, 30))
    accepted = np.cumprod(rng.random((rounds, size)) < alpha, axis=1).sum(axis=1)
    return call(accepted, np.full(rounds, size), 1.0 + step * np.arange(most + 1) + rng.uniform(0, 0.01, most + 1))


def clear(calls: Iterator[Call]) -> Iterator[Call]:
    return (made for made in calls if is_clear(made))


def only_tested_drafts_count(rng: Rng) -> Iterator[Call]:
    """Long blocks, in which nearly every round ends with a rejection: what was never tested must not count."""
    alphas, steps = rng.uniform(0.4, 0.8, size=40), rng.uniform(0.05, 0.3, size=40)
    yield from clear(some_rounds(rng, alpha, 12, step) for alpha, step in zip(alphas, steps))


def full_blocks_reject_nothing(rng: Rng) -> Iterator[Call]:
    """Short blocks, which are often accepted whole: such a round has no rejection to count."""
    alphas, steps = rng.uniform(0.6, 0.95, size=40), rng.uniform(0.05, 0.3, size=40)
    yield from clear(some_rounds(rng, alpha, 2, step) for alpha, step in zip(alphas, steps))
    yield call([2, 2, 2], [2, 2, 2], [1.0, 1.25, 1.5, 1.75, 2.0])


def most_tokens_per_time(rng: Rng) -> Iterator[Call]:
    """Trimmed blocks of many lengths, plain rounds among them; at the end a long history."""

    def made() -> Iterator[Call]:
        for _ in range(60):
            verified = rng.integers(0, 8, size=int(rng.integers(4, 30)))
            verified[0] = 4
            accepted = (verified * rng.random(verified.size) ** 0.5).round().astype(int)
            yield call(accepted, verified, 1.0 + rng.uniform(0.02, 0.3) * np.arange(9) ** rng.uniform(0.6, 1.4))
        yield call(rng.integers(0, 8, size=2000), np.full(2000, 7), 1.0 + 0.05 * np.arange(65))

    yield from clear(made())


def equal_speeds_take_the_smaller(rng: Rng) -> Iterator[Call]:
    """Equal speeds in exact binary fractions."""
    yield call([1, 1], [2, 2], [1.0, 1.5, 1.75])
    yield call([1, 1], [2, 2], [1.0, 1.5, 3.5, 3.75])
    yield call([1, 1], [2, 2], [2.0, 1.5, 1.75, 1.875])
    yield call([2], [2], [1.0, 2.0, 3.0, 4.0])


def nothing_accepted_nothing_hoped(rng: Rng) -> Iterator[Call]:
    yield call([0, 0], [3, 3], [1.0, 1.0, 1.0])
    yield call([0, 0], [3, 3], [2.0, 1.0, 1.5])
    yield call([3], [4], [1.0])


# --- 7.4 keep_drafting ------------------------------------------------------------------------------------------------
def replayed(drafted: list[int], emitted: list[int], break_even: float, patience: int, retry_after: int) -> bool:
    """Walk through the request round by round, with the length and the yields of the present run."""
    plain, run = False, list[int]()
    for size, count in zip(drafted, emitted):
        if plain != (size == 0):
            plain, run = size == 0, []
        run.append(count)
    if plain:
        return len(run) >= retry_after
    return len(run) < patience or sum(run[len(run) - patience :]) >= break_even * patience


def history(rng: Rng, size: int, low: int, high: int) -> tuple[Array, Array]:
    drafted = rng.integers(1, 8, size=size)
    return drafted, np.minimum(rng.integers(low, high + 1, size=size), drafted + 1)


def low_yield_gives_up(rng: Rng) -> Iterator[Call]:
    """Every round drafted, and there are enough of them; patience is a power of two, so that means are exact."""
    for _ in range(60):
        patience = int(rng.choice([1, 2, 4]))
        drafted, emitted = history(rng, patience + int(rng.integers(0, 6)), 1, 4)
        break_even = float(rng.choice([1.0, 1.5, 2.0, 2.25, 2.5, 3.0]))
        yield call(drafted, emitted, break_even, patience, int(rng.integers(1, 9)))
    yield call([7, 7], [2, 2], 1.5, 2, 1)
    yield call([4, 4], [1, 3], 1.75, 2, 1)
    yield call([4, 4], [1, 2], 1.75, 2, 1)
    yield call([1, 1], [2, 2], 2.5, 2, 1)
    yield call([4, 4], [2, 2], 2.0, 2, 1)


def only_recent_rounds_count(rng: Rng) -> Iterator[Call]:
    """Long good times before bad ones, and the other way round."""
    for first, then, size in ((4, 1, 4), (1, 4, 4), (3, 1, 2), (1, 3, 2)):
        yield call(np.full(20 + size, 5), np.repeat([first, then], [20, size]), 2.0, size, 8)
    drafted, emitted = history(rng, 2000, 1, 4)
    yield call(drafted, emitted, 2.0, 64, 64)


def too_early_to_judge(rng: Rng) -> Iterator[Call]:
    yield call([], [], 1.5, 1, 1)
    for patience in range(2, 8):
        drafted, emitted = history(rng, patience - 1, 1, 1)
        yield call(drafted, emitted, 2.0, patience, 4)


def pause_lasts_and_ends(rng: Rng) -> Iterator[Call]:
    for retry_after in range(1, 7):
        for pause in range(1, 9):
            drafted, emitted = history(rng, 4, 1, int(rng.integers(1, 4)))
            zeros = np.zeros(pause, dtype=int)
            yield call(np.append(drafted, zeros), np.append(emitted, zeros + 1), 2.0, 2, retry_after)
    yield call([0, 0], [1, 1], 2.0, 2, 2)
    yield call([0], [1], 2.0, 2, 2)


def second_try_is_fair(rng: Rng) -> Iterator[Call]:
    """After a pause, the rounds before it do not count any more."""
    for patience in (1, 2, 4):
        for tries in range(1, 6):
            for level in (1, 3):
                before, low = history(rng, 5, 1, 1)
                drafted = np.concatenate([before, [0, 0, 0], np.full(tries, 4)])
                emitted = np.concatenate([low, [1, 1, 1], np.full(tries, level)])
                yield call(drafted, emitted, 2.0, patience, 3)


# --- 7.5 round_totals -------------------------------------------------------------------------------------------------
def counted(drafted: list[int], verified: list[int], accepted: list[int], emitted: list[int]) -> dict[str, Any]:
    found = dict.fromkeys(("rounds", "drafted", "trimmed", "rejected", "accepted", "emitted", "cut"), 0)
    for size, seen, kept, count in zip(drafted, verified, accepted, emitted):
        found["rounds"] += 1
        found["drafted"] += size
        found["trimmed"] += size - seen
        found["rejected"] += seen - kept
        found["accepted"] += kept
        found["emitted"] += count
        found["cut"] += kept + 1 - count
    return {**found, "tau": found["emitted"] / found["rounds"] if found["rounds"] else math.nan}


def sums_of_whole_rounds(rng: Rng) -> Iterator[Call]:
    """Nothing is cut, and nothing trimmed."""
    for size in [*rng.integers(1, 20, size=20), 2000]:
        drafted = rng.integers(0, 9, size=size)
        accepted = rng.integers(0, drafted + 1)
        yield call(drafted, drafted, accepted, accepted + 1)


def trimmed_is_not_rejected(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        drafted = rng.integers(1, 9, size=int(rng.integers(1, 20)))
        verified = rng.integers(0, drafted + 1)
        accepted = rng.integers(0, verified + 1)
        yield call(drafted, verified, accepted, accepted + 1)


def cut_tokens_are_not_emitted(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        drafted = rng.integers(2, 9, size=int(rng.integers(1, 12)))
        accepted = rng.integers(1, drafted + 1)
        emitted = accepted + 1
        emitted[-1] = rng.integers(1, accepted[-1] + 1)
        yield call(drafted, drafted, accepted, emitted)


HIDDEN = {
    "7.1": hidden(rows_without_token, refused_rows_go, full_block_drops_nothing),
    "7.2": hidden(round_by_rows, target_decides, trimmed_before_the_forward, nothing_verified_is_plain),
    "7.3": hidden(
        best_by_search,
        only_tested_drafts_count,
        full_blocks_reject_nothing,
        most_tokens_per_time,
        equal_speeds_take_the_smaller,
        nothing_accepted_nothing_hoped,
    ),
    "7.4": hidden(
        replayed,
        low_yield_gives_up,
        only_recent_rounds_count,
        too_early_to_judge,
        pause_lasts_and_ends,
        second_try_is_fair,
    ),
    "7.5": hidden(counted, sums_of_whole_rounds, trimmed_is_not_rejected, cut_tokens_are_not_emitted),
}
