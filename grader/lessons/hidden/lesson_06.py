"""Lesson 06, draft trees: oracles and hidden cases."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.check.judges import LawCase
from grader.lessons.tasks import hidden
from grader.run.child.calling import Call, Seed, call

INF = math.inf
Rng = np.random.Generator
Array = np.ndarray[Any, Any]


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


def growing_trees(rng: Rng) -> Iterator[Call]:
    """Width 3 and up, and too few nodes for all that the width allows: the order decides."""
    for _ in range(20):
        yield random_tree(rng, int(rng.integers(2, 6)), int(rng.integers(3, 6)), int(rng.integers(5, 20)), 1.0)
    block = rng.normal(scale=3.0, size=(64, 300))
    yield call(block, 5, {t: rng.normal(scale=2.0, size=300) for t in range(0, 300, 8)}, 40, 40)


def biases_that_decide(rng: Rng) -> Iterator[Call]:
    """The bias of a node's token is far larger than the base logits, so that siblings have other children."""
    for _ in range(20):
        yield random_tree(rng, int(rng.integers(3, 5)), 2, int(rng.integers(6, 14)), 6.0)


def shifted_rows(rng: Rng) -> Iterator[Call]:
    """Rows are shifted by large constants, which a softmax does not see, and most mass lies outside the width."""
    for _ in range(10):
        tree = random_tree(rng, 3, int(rng.integers(1, 3)), 8, 0.5)
        tree.args[0][:] += rng.integers(-3, 4, size=(3, 1)) * 1000.0
        yield tree
    for _ in range(5):
        yield random_tree(rng, 2, 3, 12, 300.0)


def bounded_trees(rng: Rng) -> Iterator[Call]:
    """Chains, few rows, a width beyond the vocabulary, no nodes, and room for more nodes than there are."""
    for rows in (1, 2, 3):
        for width in (1, 2, 20):
            yield random_tree(rng, rows, width, 40)
    for width in (1, 2, 3):
        yield random_tree(rng, 5, width, width - 1)


def tied_trees(rng: Rng) -> Iterator[Call]:
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


def masked_trees(rng: Rng) -> Iterator[Call]:
    """Most tokens are masked, by the block or by a bias, and the width asks for more than is left."""
    for _ in range(15):
        tree = random_tree(rng, 3, int(rng.integers(2, 9)), int(rng.integers(4, 20)))
        block, _, biases, *_ = tree.args
        keep = int(rng.integers(block.shape[1]))
        for row in (*block, *biases.values()):
            row[(rng.random(row.size) < 0.4) & (np.arange(row.size) != keep)] = -INF
        yield tree


def sparse_biases(rng: Rng) -> Iterator[Call]:
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


def deep_trees(rng: Rng) -> Iterator[Call]:
    for _ in range(12):
        yield call(parents_of(rng, int(rng.integers(4, 12)), 0.8), int(rng.integers(1, 6)))
    yield call([-1, 0, 1, 2, 0], 2)
    yield call(parents_of(rng, 64, 0.7), 256)


def bushy_trees(rng: Rng) -> Iterator[Call]:
    for _ in range(12):
        yield call(parents_of(rng, int(rng.integers(4, 12)), 0.0), int(rng.integers(1, 6)))


def long_contexts(rng: Rng) -> Iterator[Call]:
    for context in (0, 1, 7, 20):
        yield call(parents_of(rng, 5, 0.4), context)


def edge_trees(rng: Rng) -> Iterator[Call]:
    yield call([], int(rng.integers(1, 9)))
    yield call([], 0)
    yield call([-1] * 5, 0)


# --- 6.3 verify_tree_greedy -------------------------------------------------------------------------------------------
def walk_down(tokens: list[int], parents: list[int], target_tokens: list[int]) -> dict[str, list[int]]:
    """Look the wanted child up, by its parent and its token."""
    child = {(parent, token): node for node, (parent, token) in enumerate(zip(parents, tokens))}
    path, text, at = list[int](), [target_tokens[0]], -1
    while (at, text[-1]) in child:
        at = child[at, text[-1]]
        path.append(at)
        text.append(target_tokens[at + 1])
    return {"path": path, "tokens": text}


def token_tree(rng: Rng, nodes: int, vocabulary: int, deep: float = 0.4) -> tuple[list[int], list[int]]:
    """A tree whose siblings differ, over few tokens, so that the same token stands in several branches."""
    tokens: list[int] = []
    parents: list[int] = []
    while len(tokens) < nodes:
        i = len(tokens)
        parent = i - 1 if rng.random() < deep else int(rng.integers(-1, i))
        free = set(range(vocabulary)) - {t for t, p in zip(tokens, parents) if p == parent}
        if free:
            tokens.append(int(rng.choice(sorted(free))))
            parents.append(parent)
    return tokens, parents


def path_to(parents: list[int], node: int) -> list[int]:
    return [*path_to(parents, parents[node]), node] if node >= 0 else []


def agreeing_target(rng: Rng, tokens: list[int], parents: list[int], vocabulary: int, length: int) -> list[int]:
    """Target tokens that follow some path of the tree down to a node; elsewhere they are random."""
    targets: list[int] = rng.integers(vocabulary, size=len(tokens) + 1).tolist()
    deepest = max(range(len(tokens)), key=lambda i: (min(len(path_to(parents, i)), length), rng.random()))
    for node in path_to(parents, deepest):
        targets[parents[node] + 1] = tokens[node]
    return targets


def walks(rng: Rng) -> Iterator[Call]:
    """The target follows a path of some length, over trees of every form."""
    for _ in range(40):
        tokens, parents = token_tree(rng, int(rng.integers(4, 14)), 5)
        yield call(tokens, parents, agreeing_target(rng, tokens, parents, 5, int(rng.integers(2, 5))))
    tokens = rng.integers(2000, size=64).tolist()
    yield call(tokens, list(range(-1, 63)), [*tokens, 7])


def ends_of_walks(rng: Rng) -> Iterator[Call]:
    """After the accepted path the target says a token that stands nowhere in the tree."""
    for _ in range(25):
        tokens, parents = token_tree(rng, int(rng.integers(3, 10)), 4, deep=0.7)
        targets = np.array(agreeing_target(rng, tokens, parents, 4, 3))
        targets[rng.random(targets.size) < 0.3] = 50 + int(rng.integers(9))
        yield call(tokens, parents, targets)


def cousins(rng: Rng) -> Iterator[Call]:
    """The token that the target wants stands below another node, or it is a later sibling."""
    for _ in range(25):
        tokens, parents = token_tree(rng, 12, 3, deep=0.0)
        yield call(tokens, parents, rng.integers(3, size=13))


def without_nodes(rng: Rng) -> Iterator[Call]:
    for token in rng.integers(2000, size=4).tolist():
        yield call([], [], [token])


# --- 6.4 verify_tree_sampling -----------------------------------------------------------------------------------------
def law_of(tokens: list[int], parents: list[int], draft_probs: Any, target_probs: Any) -> dict[Any, float]:
    """Write the joint law of path and tokens down, from the tree and its rows alone."""
    law: dict[Any, float] = {}

    def walk(node: int, reach: float, path: tuple[int, ...]) -> None:
        p, q = np.array(target_probs[node + 1], float), np.array(draft_probs[node + 1], float)
        for child in [i for i, parent in enumerate(parents) if parent == node]:
            x = tokens[child]
            accept = min(1.0, p[x] / q[x])
            walk(child, reach * accept, (*path, child))
            reach *= 1.0 - accept
            if reach < 1e-12:
                return
            p = np.maximum(p - q, 0.0) / np.maximum(p - q, 0.0).sum()
            q[x] = 0.0
            q /= max(q.sum(), 1e-300)
        said = tuple(tokens[i] for i in path)
        for token, probability in enumerate(p.tolist()):
            if reach * probability > 1e-12:
                law[path, (*said, token)] = law.get((path, (*said, token)), 0.0) + reach * probability

    walk(-1, 1.0, ())
    return law


def certain_walk(tokens: list[int], parents: list[int], draft_probs: Any, target_probs: Any, rng: Any) -> Any:
    """The only outcome there is, where the target is sure of every token."""
    ((path, said),) = law_of(tokens, parents, draft_probs, target_probs)
    return {"path": list(path), "tokens": list(said)}


def relabelled(rng: Rng, tokens: list[int], parents: list[int], drafts: Any, targets: Any) -> LawCase:
    """Give the tokens other names: the law keeps its form, but no answer can be written down beforehand."""
    drafts, targets = np.array(drafts), np.array(targets)
    new_name = rng.permutation(drafts.shape[1])
    old_name = np.argsort(new_name)
    renamed = [int(new_name[t]) for t in tokens], parents, drafts[:, old_name], targets[:, old_name]
    return LawCase(call(*renamed, Seed(0)), law_of(*renamed))


def one_child(rng: Rng) -> Iterator[LawCase]:
    """A child that is accepted every time, although the target prefers another token."""
    case = relabelled(rng, [1], [-1], [[0.5, 0.2, 0.3]] * 2, [[0.1, 0.25, 0.65], [0.0, 1.0, 0.0]])
    yield LawCase(case.call, {(0,): 1.0})


def residuals(rng: Rng) -> Iterator[LawCase]:
    q, p = [0.1, 0.1, 0.2, 0.6], [0.3, 0.4, 0.1, 0.2]
    yield relabelled(rng, [3], [-1], [q] * 2, [p, [1.0, 0.0, 0.0, 0.0]])


def several_children(rng: Rng) -> Iterator[LawCase]:
    """Three children of a node, and a pair whose order decides everything."""
    q, p, leaf = [0.5, 0.25, 0.15, 0.1], [0.1, 0.29, 0.33, 0.28], [0.0, 0.0, 0.0, 1.0]
    yield relabelled(rng, [0, 1, 2], [-1] * 3, [q] * 4, [p, leaf, leaf, leaf])
    yield relabelled(rng, [1, 0], [-1] * 2, [[0.6, 0.3, 0.1]] * 3, [[0.1, 0.4, 0.5], *[[0.0, 0.0, 1.0]] * 2])


def deeper_trees(rng: Rng) -> Iterator[LawCase]:
    """A child that is accepted after a rejected sibling, with children of its own."""
    q, p = [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2], [0.2, 0.3, 0.5]], [[0.2, 0.5, 0.3], [0.2, 0.7, 0.1], [0.1, 0.5, 0.4]]
    rows = [q[0], q[1], q[2], q[0], q[1]], [p[0], p[1], p[2], p[1], p[1]]
    yield relabelled(rng, [0, 1, 2, 0], [-1, -1, 1, 0], *rows)


def sure_targets(rng: Rng) -> Iterator[Call]:
    """The target is sure of one token everywhere, so that the walk is certain, whatever the drafter's rows.

    The first number drawn is 0.0: it accepts every child, but one that the target never says.
    """
    for nodes in (*rng.integers(2, 10, size=20).tolist(), 64):
        tokens, parents = token_tree(rng, nodes, 4)
        says = agreeing_target(rng, tokens, parents, 4, int(rng.integers(1, 4)))
        drafts = rng.dirichlet(np.full(4, 2.0), size=len(says)) * 0.9 + 0.025
        yield call(tokens, parents, drafts, np.eye(4)[says], Seed(int(rng.integers(2**31)), (0.0,)))


def sure_ends(rng: Rng) -> Iterator[Call]:
    """No nodes, or one that is accepted, and then a token of which the target is sure."""
    for _ in range(6):
        first, last = (int(token) for token in rng.integers(5, size=2))
        yield call([], [], [[0.2] * 5], [np.eye(5)[last].tolist()], Seed(int(rng.integers(2**31))))
        yield call([first], [-1], [[0.2] * 5] * 2, np.eye(5)[[first, last]], Seed(int(rng.integers(2**31))))


HIDDEN = {
    "6.1": hidden(
        grow,
        best_candidate_enters_next=growing_trees,
        children_follow_own_parent=biases_that_decide,
        log_probs_of_whole_paths=shifted_rows,
        bounds_hold=bounded_trees,
        ties_lower_token_then_older=tied_trees,
        impossible_children_left_out=masked_trees,
        anchor_and_missing_rows=sparse_biases,
    ),
    "6.2": hidden(
        climb,
        ancestors_and_itself=deep_trees,
        other_branches_hidden=bushy_trees,
        whole_context_first=long_contexts,
        empty_tree_and_no_context=edge_trees,
    ),
    "6.3": hidden(
        walk_down,
        follows_the_target=walks,
        one_token_more=ends_of_walks,
        only_own_children_count=cousins,
        no_nodes_no_path=without_nodes,
    ),
    "6.4": hidden(
        certain_walk,
        accepts_with_min_one_p_over_q=one_child,
        residual_after_rejection=residuals,
        siblings_in_turn=several_children,
        fresh_rows_after_acceptance=deeper_trees,
        sure_target_is_followed=sure_targets,
        one_token_more=sure_ends,
    ),
}
