"""The library's functions next to the work that nothing can avoid: `python tests/benchmarks/library_speed.py`.

With names, only those: drafting, head, tree, scheduling. Processor time of this process, so that others which share the
cores do not count; medians of a few rounds, in which all versions take turns. The vocabulary has 151,936 tokens.
"""

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from dspark_mini import build_conditional_tree, dflash_parallel_candidates, dspark_markov_candidates, schedule_prefixes
from dspark_mini.heads import LowRankHead
from grader.lessons.hidden.lesson_05 import admit

VOCABULARY, GAMMA = 151_936, 16
Timed = dict[str, Callable[[], object]]


def medians(timed: Timed, rounds: int) -> list[float]:
    """Time some functions in turn, round after round, and return the median of each."""
    samples: dict[str, list[float]] = {name: [] for name in timed}
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        for name in rng.permutation(list(timed)):
            start = time.process_time()
            timed[name]()
            samples[name].append(time.process_time() - start)
    return [statistics.median(values) for values in samples.values()]


def compare(timed: Timed, rounds: int) -> None:
    """Print the time of each function and its ratio to the first one."""
    times = medians(timed, rounds)
    for name, seconds in zip(timed, times):
        print(f"  {name:34} {seconds * 1e3:9.2f} ms {seconds / times[0]:7.2f} × the first")


def drafting() -> None:
    """Compare both drafters with one pass over the logits, and one over the bias rows that the chain meets."""
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        logits, rows = rng.normal(size=(2, GAMMA, VOCABULARY)).astype(dtype)
        bias, previous = {}, VOCABULARY  # each position has a bias row of its own, under the token before it
        for base, row in zip(logits, rows):
            bias[previous] = row
            previous = int((base + row.astype(np.float64)).argmax())
        timed: Timed = {
            f"one pass over the logits, {np.dtype(dtype).name}": lambda logits=logits: np.argmax(logits, axis=1),
            "one pass over the bias rows": lambda rows=rows: np.argmax(rows, axis=1),
            "dflash_parallel_candidates": lambda logits=logits: dflash_parallel_candidates(logits),
            "dspark_markov_candidates": lambda logits=logits, bias=bias: dspark_markov_candidates(
                logits, VOCABULARY, bias
            ),
        }
        compare(timed, 21)


def head() -> None:
    """Compare a chain with a rank-256 head in float32 with the bare products w1[token] @ w2 of the tokens it meets."""
    rng, rank, anchor = np.random.default_rng(0), 256, 7
    w1, w2 = (rng.standard_normal(shape, dtype=np.float32) for shape in ((VOCABULARY, rank), (rank, VOCABULARY)))
    logits = rng.standard_normal((GAMMA, VOCABULARY), dtype=np.float32)
    low_rank = LowRankHead(w1, w2)
    chain = [anchor, *dspark_markov_candidates(logits, anchor, low_rank)[:-1]]
    timed: Timed = {
        "bare products": lambda: [w1[token] @ w2 for token in chain],
        "dspark_markov_candidates": lambda: dspark_markov_candidates(logits, anchor, low_rank),
    }
    compare(timed, 11)


def tree() -> None:
    """Compare growing 512 nodes of width 8 with the log-softmax of each node's row."""
    rng = np.random.default_rng(0)
    logits = np.round(rng.normal(scale=3.0, size=(GAMMA, VOCABULARY)) * 16.0) / 16.0  # many ties
    rows = np.round(rng.normal(size=(8, VOCABULARY)) * 16.0) / 16.0
    likeliest = np.argpartition(-logits, 64, axis=1)[:, :64].ravel().tolist()
    biases = {token: rows[token % 8] for token in likeliest}
    depths = [0, *build_conditional_tree(logits, VOCABULARY, biases, 8, 512)["depths"][:-1]]

    def log_softmax_alone() -> None:
        for row in (logits[depth] for depth in depths if depth < GAMMA):
            row - row.max() - np.log(np.exp(row - row.max()).sum())

    timed: Timed = {
        "log-softmax alone": log_softmax_alone,
        "build_conditional_tree": lambda: build_conditional_tree(logits, VOCABULARY, biases, 8, 512),
    }
    compare(timed, 3)


def scheduling() -> None:
    """Compare schedule_prefixes, on arrays and on lists, with Algorithm 1 as a plain loop, for 4,096 requests."""
    rng, requests = np.random.default_rng(0), 4096
    for slope in (0.0, 0.5, 2.0):  # how much a token adds to a step's time: hardly, some, much
        batches = np.arange(requests * (1 + GAMMA) + 1)
        confidences, speeds = rng.uniform(0.3, 1.0, size=(requests, GAMMA)), 100.0 / (1.0 + slope * batches / requests)
        lists, speed_list = confidences.tolist(), speeds.tolist()
        assert schedule_prefixes(confidences, speeds) == admit(confidences, speed_list)
        timed: Timed = {
            f"Algorithm 1 as a loop, slope {slope:g}": lambda c=confidences, s=speed_list: admit(c, s),
            "schedule_prefixes of arrays": lambda c=confidences, s=speeds: schedule_prefixes(c, s),
            "schedule_prefixes of lists": lambda c=lists, s=speed_list: schedule_prefixes(c, s),
        }
        compare(timed, 9)


if __name__ == "__main__":
    measures = {function.__name__: function for function in (drafting, head, tree, scheduling)}
    for name in sys.argv[1:] or measures:
        print(f"{name}: {measures[name].__doc__}")
        measures[name]()
