"""How much faster schedule_prefixes is than Algorithm 1 in plain Python: `python tests/benchmarks/scheduling_speed.py`.

Both get the same confidences and the same table. The loop gets them as lists, which suits it; schedule_prefixes gets
arrays, and lists too, whose conversion takes half of the time. Which share of the tokens is admitted depends on the
table. Growth is that of n · log n where the last column stays the same from R = 512 to R = 4,096.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from dspark_mini.scheduling import schedule_prefixes

BLOCK_SIZE, ROUNDS = 16, 9
SIZES = (512, 1024, 2048, 4096)  # requests
SLOPES = {"flat table": 0.0, "rising table": 0.5, "steep table": 2.0}  # how much a token adds to a step's time


def algorithm_1(confidences: list[list[float]], steps_per_second: list[float]) -> list[int]:
    """Admit draft tokens one by one in descending survival, up to the first that does not raise the throughput."""
    candidates = []
    for request, row in enumerate(confidences):
        survival = 1.0
        for position, confidence in enumerate(row):
            survival *= confidence
            if survival > 0.0:
                candidates.append((-survival, request, position))
    candidates.sort()
    batch, tau = len(confidences), float(len(confidences))
    theta, lengths = tau * steps_per_second[batch], [0] * batch
    for negative, request, _ in candidates:
        if batch + 1 >= len(steps_per_second) or (tau - negative) * steps_per_second[batch + 1] <= theta:
            break
        batch, tau = batch + 1, tau - negative
        theta = tau * steps_per_second[batch]
        lengths[request] += 1
    return lengths


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()  # of this process only: others that share the cores do not count
    function()
    return time.process_time() - start


def medians(timed: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Time some functions in turn, round after round, and return the median of each."""
    samples: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(ROUNDS):
        for name, function in timed.items():
            samples[name].append(seconds(function))
    return {name: statistics.median(values) for name, values in samples.items()}


def table(requests: int, slope: float) -> np.ndarray:
    """Return steps per second for every batch: a step's time grows in proportion to the tokens, or hardly."""
    batches = np.arange(requests * (1 + BLOCK_SIZE) + 1)
    return 100.0 / (1.0 - min(slope, 0.9) + slope * batches / requests)


def compare(requests: int, slope: float, rng: np.random.Generator) -> str:
    """Time the loop and the library on one batch, and return a line with the times and their ratios."""
    confidences, speeds = rng.uniform(0.3, 1.0, size=(requests, BLOCK_SIZE)), table(requests, slope)
    lists, speed_list = confidences.tolist(), speeds.tolist()
    lengths = schedule_prefixes(confidences, speeds)
    assert lengths == algorithm_1(lists, speed_list) == schedule_prefixes(lists, speed_list)
    timed: dict[str, Callable[[], object]] = {
        "loop": lambda: algorithm_1(lists, speed_list),
        "array": lambda: schedule_prefixes(confidences, speeds),
        "lists": lambda: schedule_prefixes(lists, speed_list),
    }
    loop, array, listed = medians(timed).values()
    n = confidences.size
    return (
        f"{requests:6,d} {n:8,d} {sum(lengths):9,d} {loop * 1e3:9.1f} ms {array * 1e3:7.2f} ms {loop / array:6.1f}×"
        f" {listed * 1e3:9.2f} ms {loop / listed:6.1f}× {array * 1e9 / (n * np.log2(n)):10.2f}"
    )


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"γ = {BLOCK_SIZE}; processor time, medians of {ROUNDS} rounds, all in turn in each round")
    for label, slope in SLOPES.items():
        print(
            f"\n{label}\n     R      R·γ  admitted         loop  of arrays   ratio   of lists     ratio  ns/(n·log₂n)"
        )
        for requests in SIZES:
            print(compare(requests, slope, rng))


if __name__ == "__main__":
    main()
