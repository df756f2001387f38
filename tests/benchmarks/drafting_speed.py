"""How long drafting takes next to one pass over its data: `python tests/benchmarks/drafting_speed.py`.

One pass is np.argmax over the same array. For the Markov candidates the bias rows that the chain meets are data
too: one distinct row a position, so the comparison is with one pass over the logits and one over those rows.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from dspark_mini import dflash_parallel_candidates, dspark_markov_candidates

BLOCK_SIZE, VOCABULARY, ROUNDS = 16, 151_936, 21


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"γ = {BLOCK_SIZE}, V = {VOCABULARY:,}, medians of {ROUNDS} rounds, all four in turn in each round")
    for dtype in (np.float64, np.float32):
        logits = rng.normal(size=(BLOCK_SIZE, VOCABULARY)).astype(dtype)
        rows = rng.normal(size=(BLOCK_SIZE, VOCABULARY)).astype(dtype)
        # Follow the chain once, so that each position has a bias row of its own under the token before it.
        bias, previous = {}, VOCABULARY
        for base, row in zip(logits, rows):
            bias[previous] = row
            previous = int((base + row.astype(np.float64)).argmax())
        timed = {
            "one pass over the logits": lambda: np.argmax(logits, axis=1),
            "one pass over the bias rows": lambda: np.argmax(rows, axis=1),
            "dflash_parallel_candidates": lambda: dflash_parallel_candidates(logits),
            "dspark_markov_candidates": lambda: dspark_markov_candidates(logits, VOCABULARY, bias),
        }
        samples = {name: [] for name in timed}
        for _ in range(ROUNDS):
            for name, function in rng.permutation(list(timed.items())):
                samples[name].append(seconds(function))
        one_pass, bias_pass, dflash, dspark = (statistics.median(values) for values in samples.values())
        print(f"\n{np.dtype(dtype).name}: one pass takes {one_pass * 1e3:.2f} ms")
        print(f"  dflash_parallel_candidates  {dflash / one_pass:5.2f} × one pass (at most 3)")
        print(f"  dspark_markov_candidates    {(dspark - bias_pass) / one_pass:5.2f} × one pass, "
              "after taking off one pass over the bias rows (at most 3)")


if __name__ == "__main__":
    main()
