"""Lesson 06, draft trees: oracles and hidden cases."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, call

INF = math.inf


# --- 6.1 build_conditional_tree ---------------------------------------------------------------------------------------
def grow(block_logits: Array, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> dict[str, Any]:
    """Keep all candidates in a list, and look for the best one each time."""
    nodes: list[tuple[int, int, int, float]] = []
    candidates = [(anchor_token, -1, 0, 0.0)]  # token, parent, depth, log-probability
    while candidates and len(nodes) <= max_nodes:
        best = min(candidates, key=lambda c: (-c[3], c[0], c[1]))
        candidates.remove(best)
        nodes.append(best)
        token, _, depth, log_prob = best
        if depth < len(block_logits):
            scores = [u + b for u, b in zip(block_logits[depth].tolist(), markov_bias[token])]
            top = max(scores)
            norm = top + math.log(sum(math.exp(s - top) for s in scores))
            for t in sorted(range(len(scores)), key=lambda t: (-scores[t], t))[:width]:
                if scores[t] > -INF:
                    candidates.append((t, len(nodes) - 2, depth + 1, log_prob + (scores[t] - norm)))
    names = ("tokens", "parents", "depths", "log_probs")
    return {name: [node[i] for node in nodes[1:]] for i, name in enumerate(names)}


def random_tree(rng: Rng, rows: int = 4, width: int = 4, nodes: int = 16, scale: float = 2.0) -> Call:
    """A block with a bias row for every token and for an anchor outside the vocabulary; no ties."""
    vocabulary = int(rng.integers(3, 9))
    anchor = vocabulary + 2
    biases = {token: rng.normal(scale=scale, size=vocabulary) for token in (*range(vocabulary), anchor)}
    block = rng.normal(scale=1.5, size=(rows, vocabulary))
    return call(block, anchor, biases, width, nodes)


def children_of_the_root(rng: Rng) -> Iterator[Call]:
    """Only the root has children; there is room for all of them, or not."""
    for _ in range(8):
        yield random_tree(rng, 1, int(rng.integers(1, 5)), int(rng.integers(1, 9)))


def best_candidate_enters_next(rng: Rng) -> Iterator[Call]:
    """Width 3 and up, and too few nodes for all that the width allows: the order decides."""
    for _ in range(20):
        yield random_tree(rng, int(rng.integers(2, 6)), int(rng.integers(3, 6)), int(rng.integers(5, 20)), 1.0)
    block = rng.normal(scale=3.0, size=(64, 300))
    yield call(block, 5, {t: rng.normal(scale=2.0, size=300) for t in range(0, 300, 8)}, 40, 40)


def children_follow_own_parent(rng: Rng) -> Iterator[Call]:
    """The bias of a node's token is far larger than the base logits, so that siblings have other children."""
    for _ in range(20):
        yield random_tree(rng, int(rng.integers(3, 5)), 2, int(rng.integers(6, 14)), 6.0)


def log_probs_of_whole_paths(rng: Rng) -> Iterator[Call]:
    """Rows are shifted by large constants, which a softmax does not see, and most mass lies outside the width."""
    for _ in range(10):
        tree = random_tree(rng, 3, int(rng.integers(1, 3)), 8, 0.5)
        tree.args[0][:] += rng.integers(-3, 4, size=(3, 1)) * 1000.0
        yield tree
    for _ in range(5):
        yield random_tree(rng, 2, 3, 12, 300.0)


def bounds_hold(rng: Rng) -> Iterator[Call]:
    """Chains, few rows, a width beyond the vocabulary, no nodes, and room for more nodes than there are."""
    for rows in (1, 2, 3):
        for width in (1, 2, 20):
            yield random_tree(rng, rows, width, 40)
    for width in (1, 2, 3):
        yield random_tree(rng, 5, width, width - 1)


def ties_lower_token_then_older(rng: Rng) -> Iterator[Call]:
    """Exact ties only: weights that are equal, one row for a whole depth, so that sums tie over branches too."""
    for _ in range(12):
        vocabulary, rows = int(rng.integers(3, 7)), int(rng.integers(2, 5))
        block = np.where(rng.random((rows, vocabulary)) < 0.3, -INF, 0.0)
        block[:, rng.integers(vocabulary)] = 0.0
        yield call(block, 0, {}, int(rng.integers(1, vocabulary + 1)), int(rng.integers(4, 20)))
    for _ in range(6):
        block = rng.integers(0, 2, size=(3, 6)) * np.array([[0.5], [1.25], [3.0]])
        yield call(block, 0, {}, int(rng.integers(2, 5)), int(rng.integers(6, 20)))
    # A child of probability 1 ties with an uncle of the same token: the older parent goes first.
    yield call([[0.0, 0.0, -INF], [-INF, 0.0, -INF], [0.0, -INF, 0.0]], 2, {}, 3, 9)


def impossible_children_left_out(rng: Rng) -> Iterator[Call]:
    """Most tokens are masked, by the block or by a bias, and the width asks for more than is left."""
    for _ in range(15):
        tree = random_tree(rng, 3, int(rng.integers(2, 9)), int(rng.integers(4, 20)))
        block, _, biases, *_ = tree.args
        keep = int(rng.integers(block.shape[1]))
        for row in (*block, *biases.values()):
            row[(rng.random(row.size) < 0.4) & (np.arange(row.size) != keep)] = -INF
        yield tree


def anchor_and_missing_rows(rng: Rng) -> Iterator[Call]:
    """Few tokens have a bias row, or the anchor alone has one; some rows are bad and never read."""
    for _ in range(15):
        tree = random_tree(rng, 3, 3, int(rng.integers(5, 14)), 4.0)
        block, anchor, biases, *_ = tree.args
        vocabulary = block.shape[1]
        for token in list(biases):
            if token != anchor and rng.random() < 0.7:
                del biases[token]
        biases[vocabulary + 7], biases[-1] = [math.nan], []
        anchor_outside = int(rng.choice([anchor, vocabulary + 9, 0]))
        yield call(block, anchor_outside, biases, 3, tree.args[4])


# --- 6.2 tree_mask ----------------------------------------------------------------------------------------------------
def climb(parents: list[int], context_length: int) -> Array:
    """Climb from each node to the root, and mark what is passed."""
    mask = np.zeros((len(parents), context_length + len(parents)), dtype=bool)
    mask[:, :context_length] = True
    for row in range(len(parents)):
        node = row
        while node >= 0:
            mask[row, context_length + node] = True
            node = parents[node]
    return mask


def parents_of(rng: Rng, nodes: int, deep: float) -> list[int]:
    """Hang every node below the root, or below some earlier node; below the last one with chance `deep`."""
    return [i - 1 if rng.random() < deep else int(rng.integers(-1, i)) for i in range(nodes)]


def ancestors_and_itself(rng: Rng) -> Iterator[Call]:
    for _ in range(12):
        yield call(parents_of(rng, int(rng.integers(4, 12)), 0.8), int(rng.integers(1, 6)))
    yield call([-1, 0, 1, 2, 0], 2)
    yield call(parents_of(rng, 64, 0.7), 256)


def other_branches_hidden(rng: Rng) -> Iterator[Call]:
    for _ in range(12):
        yield call(parents_of(rng, int(rng.integers(4, 12)), 0.0), int(rng.integers(1, 6)))


def whole_context_first(rng: Rng) -> Iterator[Call]:
    for context in (0, 1, 7, 20):
        yield call(parents_of(rng, 5, 0.4), context)


def empty_tree_and_no_context(rng: Rng) -> Iterator[Call]:
    yield call([], int(rng.integers(1, 9)))
    yield call([], 0)
    yield call([-1] * 5, 0)


HIDDEN = {
    "6.1": hidden(
        grow,
        children_of_the_root,
        best_candidate_enters_next,
        children_follow_own_parent,
        log_probs_of_whole_paths,
        bounds_hold,
        ties_lower_token_then_older,
        impossible_children_left_out,
        anchor_and_missing_rows,
    ),
    "6.2": hidden(climb, ancestors_and_itself, other_branches_hidden, whole_context_first, empty_tree_and_no_context),
}
