"""How long a low-rank head takes next to its bare products: `python tests/benchmarks/head_speed.py`.

dspark_markov_candidates with a LowRankHead needs one product w1[token] @ w2 a position, and each of them reads all of
w2. The bare products are those of the tokens that the chain meets. Both are timed in turn in every round, with w1 and
w2 in float32 (w2 has 156 MB then; in float64 it would have 311 MB, and both sides would take about twice as long).
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from dspark_mini import dspark_markov_candidates
from dspark_mini.heads import LowRankHead

BLOCK_SIZE, VOCABULARY, RANK, ROUNDS, LIMIT = 16, 151_936, 256, 11, 2.0


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()  # of this process only: others that share the cores do not count
    function()
    return time.process_time() - start


def main() -> None:
    """Time both in turn and print the ratio of the medians; the exit code is 1 where it is above the limit."""
    rng = np.random.default_rng(0)
    w1 = rng.standard_normal((VOCABULARY, RANK), dtype=np.float32)
    w2 = rng.standard_normal((RANK, VOCABULARY), dtype=np.float32)
    logits = rng.standard_normal((BLOCK_SIZE, VOCABULARY), dtype=np.float32)
    head, anchor = LowRankHead(w1, w2), 7
    chain = [anchor, *dspark_markov_candidates(logits, anchor, head)[:-1]]
    timed: dict[str, Callable[[], object]] = {
        "bare products": lambda: [w1[token] @ w2 for token in chain],
        "dspark_markov_candidates": lambda: dspark_markov_candidates(logits, anchor, head),
    }
    samples: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(ROUNDS):
        for name in rng.permutation(list(timed)):
            samples[name].append(seconds(timed[name]))
    bare, drafted = (statistics.median(values) for values in samples.values())
    print(f"γ = {BLOCK_SIZE}, V = {VOCABULARY:,}, r = {RANK}, float32, processor time, medians of {ROUNDS} rounds")
    print(f"  bare products             {bare * 1e3:7.1f} ms")
    print(f"  dspark_markov_candidates  {drafted * 1e3:7.1f} ms, {drafted / bare:.2f} × the products; limit {LIMIT:g}")
    sys.exit(drafted / bare > LIMIT)


if __name__ == "__main__":
    main()
