"""How long drafting takes next to one pass over its data: `python tests/benchmarks/drafting_speed.py`.

One pass is np.argmax over the same array. For the Markov candidates the bias rows that the chain meets are data
too: one distinct row a position, so the comparison is with one pass over the logits and one over those rows.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from dspark_mini import dflash_parallel_candidates, dspark_markov_candidates

BLOCK_SIZE, VOCABULARY, ROUNDS = 16, 151_936, 21


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()  # of this process only: others that share the cores do not count
    function()
    return time.process_time() - start


def measure(dtype: type[np.floating[Any]]) -> None:
    """Time both drafters and the passes that they are compared with, and print the ratios."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(BLOCK_SIZE, VOCABULARY)).astype(dtype)
    rows = rng.normal(size=(BLOCK_SIZE, VOCABULARY)).astype(dtype)
    # Follow the chain once, so that each position has a bias row of its own under the token before it.
    bias, previous = {}, VOCABULARY
    for base, row in zip(logits, rows):
        bias[previous] = row
        previous = int((base + row.astype(np.float64)).argmax())
    timed: dict[str, Callable[[], object]] = {
        "one pass over the logits": lambda: np.argmax(logits, axis=1),
        "one pass over the bias rows": lambda: np.argmax(rows, axis=1),
        "dflash_parallel_candidates": lambda: dflash_parallel_candidates(logits),
        "dspark_markov_candidates": lambda: dspark_markov_candidates(logits, VOCABULARY, bias),
    }
    samples: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(ROUNDS):
        for name in rng.permutation(list(timed)):
            samples[name].append(seconds(timed[name]))
    one_pass, bias_pass, dflash, dspark = (statistics.median(values) for values in samples.values())
    print(f"\n{np.dtype(dtype).name}: one pass takes {one_pass * 1e3:.2f} ms")
    print(f"  dflash_parallel_candidates  {dflash / one_pass:5.2f} × one pass")
    print(f"  dspark_markov_candidates    {dspark / one_pass:5.2f} × one pass, {bias_pass / one_pass:.2f} of it for "
          "reading the bias rows")  # fmt: skip


if __name__ == "__main__":
    print(
        f"γ = {BLOCK_SIZE}, V = {VOCABULARY:,}, processor time, medians of {ROUNDS} rounds, all in turn in each round"
    )
    measure(np.float64)
    measure(np.float32)
