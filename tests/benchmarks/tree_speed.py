"""How long a large draft tree takes to grow: `python tests/benchmarks/tree_speed.py`.

512 nodes over a vocabulary of 151,936 tokens. A node has a few children, and what it costs is to find them: the
reference looks for the edge of the width in linear time. The other version differs in one line: it sorts the whole
vocabulary of each node. Both grow the same tree, ties included, which is checked first. What no version can avoid,
the log-softmax over the vocabulary, is timed as well.
"""

from __future__ import annotations

import heapq
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.trees import build_conditional_tree

GAMMA, VOCABULARY, WIDTH, NODES, ROUNDS = 16, 151_936, 8, 512, 3
Rows = NDArray[np.floating[Any]]


def log_softmax(scores: Rows) -> Rows:
    return scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())


def grow_by_sorting(logits: Rows, anchor: int, biases: Mapping[int, Rows], width: int, max_nodes: int) -> Any:
    """Grow the same tree, but sort the vocabulary below each node."""
    tree: dict[str, list[Any]] = {"tokens": [], "parents": [], "depths": [], "log_probs": []}
    frontier: list[tuple[float, int, int, int]] = []
    node, token, depth, total = -1, anchor, 0, 0.0
    while len(tree["tokens"]) < max_nodes:
        if depth < len(logits):
            bias = biases.get(token)
            scores = logits[depth] + (np.zeros(1) if bias is None else bias)
            log_probs = log_softmax(scores)
            for child in np.argsort(-scores, kind="stable")[:width].tolist():
                if scores[child] > -np.inf:
                    heapq.heappush(frontier, (-(total + log_probs[child]), child, node, depth + 1))
        if not frontier:
            break
        cost, token, parent, depth = heapq.heappop(frontier)
        node, total = len(tree["tokens"]), -float(cost)
        for column, value in zip(tree.values(), (token, parent, depth, total)):
            column.append(value)
    return tree


def log_softmax_alone(logits: Rows, tree: Mapping[str, list[Any]]) -> None:
    """Do for every node that was expanded what cannot be avoided."""
    for depth in [0, *tree["depths"][:-1]]:
        if depth < len(logits):
            log_softmax(logits[depth])


def seconds(function: Callable[[], object]) -> float:
    start = time.process_time()  # of this process only: others that share the cores do not count
    function()
    return time.process_time() - start


def main() -> None:
    """Time the versions in turn in each round, and print medians and ratios."""
    rng = np.random.default_rng(0)
    logits = rng.normal(scale=3.0, size=(GAMMA, VOCABULARY))
    logits = np.round(logits * 16.0) / 16.0  # many ties, also at the edge of the width
    # A bias row for some hundred tokens, among them the likeliest of every position; they share eight rows.
    rows = np.round(rng.normal(size=(8, VOCABULARY)) * 16.0) / 16.0
    likeliest = np.argpartition(-logits, 64, axis=1)[:, :64].ravel().tolist()
    biases = {token: rows[token % 8] for token in likeliest}
    arguments = (logits, VOCABULARY, biases, WIDTH, NODES)
    tree = build_conditional_tree(*arguments)
    assert tree == grow_by_sorting(*arguments) and len(tree["tokens"]) == NODES
    timed: dict[str, Callable[[], object]] = {
        "log-softmax alone": lambda: log_softmax_alone(logits, tree),
        "build_conditional_tree": lambda: build_conditional_tree(*arguments),
        "sorting below each node": lambda: grow_by_sorting(*arguments),
    }
    samples: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(ROUNDS):
        for name in rng.permutation(list(timed)):
            samples[name].append(seconds(timed[name]))
    medians = {name: statistics.median(values) for name, values in samples.items()}
    least = medians["log-softmax alone"]
    print(
        f"{NODES} nodes, V = {VOCABULARY:,}, width {WIDTH}, γ = {GAMMA}, deepest node at {max(tree['depths'])}; ",
        end="",
    )
    print(f"medians of {ROUNDS} rounds, all in turn in each round")
    for name, median in medians.items():
        print(f"  {name:24} {median:7.3f} s   {median / least:6.2f} × the log-softmax alone")
    print(f"  sorting takes {medians['sorting below each node'] / medians['build_conditional_tree']:.1f} × as long")


if __name__ == "__main__":
    main()
