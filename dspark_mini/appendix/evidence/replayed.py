"""How much there is to gain by choosing verify lengths: recorded rounds, replayed at the measured times of a round.

An oracle knows which drafts will be accepted, so that no scheduler can beat it. Nothing is charged for deciding, and a
request's rounds are drawn at random from the recordings, so that every way sees the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dspark_mini.appendix.evidence.recordings import Recording
from dspark_mini.appendix.evidence.statistics import Estimate, over_repeats
from dspark_mini.appendix.evidence.step_times import StepTimes
from dspark_mini.scheduling import schedule_prefixes

REPEATS, STEPS = 10, 40
Integers = NDArray[np.int64]

# Without its contract, which takes three times as long as the function.
schedule: Callable[..., list[int]] = schedule_prefixes.__wrapped__  # type: ignore[attr-defined]


def possible_gains(
    runs: Sequence[Recording], times: StepTimes, requests: int, fixed: Sequence[int], seed: int = 0
) -> dict[str, Estimate]:
    """Estimate the throughput of the scheduler and of the oracle, each over the best fixed verify length.

    Args:
        runs: Recordings of whole blocks; the requests take turns through them.
        times: Measured times of a round.
        requests: R.
        fixed: The fixed verify lengths.
        seed: Seed of the rounds drawn.
    """
    rng, table = np.random.default_rng(seed), times.steps_per_second()
    names = [*(f"fixed {length}" for length in fixed), "scheduled", "oracle"]
    done = np.zeros((REPEATS, 2, len(names)))  # tokens and seconds
    emitted = np.zeros((REPEATS, STEPS), dtype=np.int64)  # tokens of each round if all drafts were verified
    for repeat in range(REPEATS):
        for step in range(STEPS):
            confidences, accepted = _draw(runs, requests, step, rng)
            lengths = [np.full(requests, length) for length in fixed] + [np.array(schedule(confidences, table))]
            done[repeat, 0, :-1] += [np.minimum(chosen, accepted).sum() + requests for chosen in lengths]
            done[repeat, 1, :-1] += times.round_seconds(np.array([chosen.sum() + requests for chosen in lengths]))
            emitted[repeat, step] = accepted.sum() + requests
        done[repeat, :, -1] = _oracle(emitted[repeat], requests, times)
    speeds = done[:, 0] / done[:, 1]  # (REPEATS, ways)
    best = speeds[:, speeds[:, : len(fixed)].mean(axis=0).argmax()]
    replays = speeds[:, len(fixed) :] / best[:, None]
    return {name: over_repeats(row.tolist(), "replays") for name, row in zip(names[len(fixed) :], replays.T)}


def _draw(
    runs: Sequence[Recording], requests: int, step: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], Integers]:
    """Draw a round for every request: confidences (R, γ) and accepted drafts (R,)."""
    drawn = []
    for request in range(requests):
        run = runs[(step + request) % len(runs)]
        whole = np.flatnonzero(run.usable == run.block_size)  # of a text that ends in its last block little is known
        drawn.append((run, int(rng.choice(whole))))
    return np.array([run.confidences[k] for run, k in drawn]), np.array([run.accepted[k] for run, k in drawn])


def _oracle(emitted: Integers, requests: int, times: StepTimes) -> tuple[float, float]:
    """Return tokens and seconds where of the drafts that will be accepted as many are verified as pay. (steps,)

    A row more is worth the time that its token takes at the rate of all rounds, which Dinkelbach's iteration finds.
    """
    rate = 0.0
    while True:
        tokens = seconds = 0.0
        for most in emitted.tolist():
            rows = np.arange(requests, most + 1)
            spent = times.round_seconds(rows)
            best = int((rows - rate * spent).argmax())
            tokens, seconds = tokens + rows[best], seconds + spent[best]
        if tokens <= rate * seconds * (1 + 1e-12):
            return tokens, seconds
        rate = tokens / seconds
