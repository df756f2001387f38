"""Lesson 08, the bug clinic: oracles and hidden cases of 8.10 to 8.16."""

from collections.abc import Iterator
from functools import partial
from itertools import accumulate, takewhile
from operator import mul
from typing import Any

import numpy as np

from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, call

# --- 8.10 to 8.12: where texts end ------------------------------------------------------------------------------------


def until_stop(tokens: list[int], stops: list[int]) -> list[int]:
    """Return the tokens up to and including the first stop token."""
    before = list(takewhile(lambda token: token not in stops, tokens))
    return tokens[: len(before) + 1]


def commit(output: list[int], round_tokens: list[int], stop_tokens: list[int]) -> dict[str, Any]:
    kept = until_stop(round_tokens, stop_tokens)
    return {"output": output + kept, "finished": any(stop in kept for stop in stop_tokens)}


def first_stop_ends(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        tokens = rng.integers(4, 12, size=int(rng.integers(2, 9)))
        tokens[int(rng.integers(tokens.size - 1))] = rng.choice([1, 2])
        yield call(rng.integers(4, 12, size=3), tokens, [1, 2])
    yield call(list(range(3, 250)), [5] * 60 + [1] + [5] * 3, [1])
    yield call([7], [5, 1, 6, 2, 8], [2, 1])


def rounds_without_early_stop(rng: Rng) -> Iterator[Call]:
    for last in (5, 1) * 6:
        yield call(rng.integers(4, 12, size=2), [*rng.integers(4, 12, size=3).tolist(), last], [1, 2])
    yield call([7], [], [2])


def finish(tokens: list[int], stop_tokens: list[int], max_new_tokens: int) -> dict[str, Any]:
    text: list[int] = []
    for token in tokens:
        if len(text) == max_new_tokens:
            break
        text.append(token)
        if token in stop_tokens:
            return {"tokens": text, "reason": "stop"}
    return {"tokens": text, "reason": "length" if len(text) == max_new_tokens else "running"}


def stop_and_cap(rng: Rng, low: int, high: int) -> Iterator[Call]:
    """A stop token `low` to `high` places before the cap, and tokens beyond the cap."""
    for _ in range(20):
        cap = int(rng.integers(6, 12))
        tokens = rng.integers(4, 12, size=cap + int(rng.integers(1, 6)))
        tokens[cap - int(rng.integers(low, high + 1))] = rng.choice([1, 2])
        yield call(tokens, [1, 2], cap)


def cap_before_stop(rng: Rng) -> Iterator[Call]:
    yield from stop_and_cap(rng, 0, 0)
    for size in range(4):
        yield call([4] * size, [1], 3)
        yield call([1] * size, [1], 5)
    yield call([4, 1], [1], 0)


def mean_length(rounds: list[list[int]], stop_tokens: list[int]) -> float:
    return float(np.mean([len(until_stop(block, stop_tokens)) for block in rounds]))


def some_rounds(rng: Rng, stopped: float) -> Iterator[Call]:
    """Rounds of many requests, this share of which holds a stop token."""
    for _ in range(20):
        rounds = [rng.integers(4, 12, size=rng.integers(1, 8)).tolist() for _ in range(rng.integers(1, 9))]
        for block in rounds:
            if rng.random() < stopped:
                block[int(rng.integers(len(block)))] = int(rng.choice([1, 2]))
        yield call(rounds, [1, 2])


# --- 8.13 to 8.16: caches, gates and clocks ---------------------------------------------------------------------------


def rows_to_drop(drafted: int, accepted: int) -> dict[str, int]:
    fed, wanted = set(range(drafted)), set(range(accepted + 1))  # 0 is the anchor, k is draft k
    return {"drop": len(fed - wanted), "missing": len(wanted - fed)}


def gated(
    anchor_token: int, draft_tokens: list[int], confidences: Array, threshold: float, target_tokens: list[int]
) -> dict[str, list[int]]:
    sent = [draft for k, draft in enumerate(draft_tokens) if (confidences[: k + 1] >= threshold).all()]
    tokens = []
    for draft, token in zip([*sent, -1], target_tokens):
        tokens.append(token)
        if draft != token:
            break
    return {"target_input": [anchor_token, *sent], "tokens": tokens}


def gated_rounds(rng: Rng, lowest: int) -> Iterator[Call]:
    """Confidences of `lowest` eighths and more against a threshold of four; most drafts are right."""
    for _ in range(30):
        gamma = int(rng.integers(1, 8))
        target = rng.integers(0, 9, size=gamma + 1)
        drafts = np.where(rng.random(gamma) < 0.8, target[:gamma], rng.integers(9, 12, size=gamma))
        yield call(int(rng.integers(9)), drafts, rng.integers(lowest, 9, size=gamma) / 8.0, 0.5, target)
    yield call(0, [5] * 64, [0.75] * 40 + [lowest / 8.0] * 24, 0.5, [5] * 65)
    yield call(0, [], [], 0.5, [5])


def rates(confidences: Array, steps_per_second: Array) -> list[float]:
    expected = [1.0, *(1.0 + total for total in accumulate(accumulate(confidences.tolist(), mul)))]
    return [tokens * speed for tokens, speed in zip(expected, steps_per_second.tolist())]


def best_length(confidences: Array, steps_per_second: Array) -> int:
    found = rates(confidences, steps_per_second)
    return found.index(max(found))


def profiles(rng: Rng, gamma: int, entries: int) -> Iterator[Call]:
    """Profiles whose two best lengths are apart by more than rounding."""
    for _ in range(5):
        chances = rng.uniform(0.3, 1.0, size=gamma)
        speeds = np.sort(rng.uniform(5.0, 20.0, size=entries))[::-1]
        best = sorted(rates(chances, speeds))
        if len(best) == 1 or best[-1] - best[-2] > 1e-6:
            yield call(chances, speeds)


def only_profiled_lengths(rng: Rng) -> Iterator[Call]:
    for gamma in range(2, 9):
        yield from profiles(rng, gamma, int(rng.integers(1, gamma + 1)))
    yield from profiles(rng, 64, 20)
    yield call([0.5, 1.0, 1.0], [8.0, 5.0])


def whole_profile(rng: Rng) -> Iterator[Call]:
    for gamma in range(1, 9):
        yield from profiles(rng, gamma, gamma + 1 + int(rng.integers(3)))
    yield call([1.0, 1.0, 1.0], [8.0, 4.0, 2.0, 2.0])
    yield call([1.0, 1.0], [8.0, 3.0, 6.0])


def clock(
    accepted_counts: list[int], target_time: float, draft_time: float, verify_time: float, replay_time: float
) -> dict[str, Any]:
    saved = 0.0
    for accepted in accepted_counts:
        saved += (accepted + 1) * target_time
        saved -= draft_time + verify_time + accepted * replay_time
    return {"saved": saved, "pays": saved > 0.0}


def clocks(rng: Rng, replay: float) -> Iterator[Call]:
    """Times in quarters, so that sums are exact whatever their order."""
    for most in (*range(1, 20), 2000):
        target, draft, verify, replayed = (float(n) / 4.0 for n in rng.integers(8, 60, size=4))
        yield call(rng.integers(1, 6, size=rng.integers(1, most + 1)), target, draft, verify, replay * replayed)


HIDDEN = {
    "8.10": hidden(commit, first_stop_ends, rounds_without_early_stop),
    "8.11": hidden(
        finish,
        cap_before_stop,
        stop_before_cap=partial(stop_and_cap, low=2, high=6),
        stop_as_last_allowed=partial(stop_and_cap, low=1, high=1),
    ),
    "8.12": hidden(
        mean_length,
        only_emitted_tokens=partial(some_rounds, stopped=0.6),
        rounds_without_stop=partial(some_rounds, stopped=0.0),
    ),
    "8.13": hidden(
        rows_to_drop, rejecting_rounds=lambda rng: (call(n, accepted) for n in (2, 3, 7, 64) for accepted in range(n))
    ),
    "8.14": hidden(
        gated, target_gets_the_prefix=partial(gated_rounds, lowest=3), open_gate=partial(gated_rounds, lowest=4)
    ),
    "8.15": hidden(best_length, only_profiled_lengths, whole_profile),
    "8.16": hidden(clock, replay_is_a_cost=partial(clocks, replay=1.0), without_replay=partial(clocks, replay=0.0)),
}
HIDDEN |= {f"{task}.case": hidden(found.oracle) for task, found in HIDDEN.items()}  # judges failing cases
