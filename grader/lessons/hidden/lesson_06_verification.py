"""Lesson 06, draft trees: oracles and hidden cases of 6.3 and 6.4."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.check.judges import LawCase
from grader.lessons.tasks import Rng, hidden
from grader.run.child.calling import Call, Seed, call


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


def follows_the_target(rng: Rng) -> Iterator[Call]:
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


def only_own_children_count(rng: Rng) -> Iterator[Call]:
    """The token that the target wants stands below another node, or it is a later sibling."""
    for _ in range(25):
        tokens, parents = token_tree(rng, 12, 3, deep=0.0)
        yield call(tokens, parents, rng.integers(3, size=13))


def no_nodes_no_path(rng: Rng) -> Iterator[Call]:
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


def accepts_with_min_one_p_over_q(rng: Rng) -> Iterator[LawCase]:
    """A child that is accepted every time, although the target prefers another token."""
    case = relabelled(rng, [1], [-1], [[0.5, 0.2, 0.3]] * 2, [[0.1, 0.25, 0.65], [0.0, 1.0, 0.0]])
    yield LawCase(case.call, {(0,): 1.0})


def residual_after_rejection(rng: Rng) -> Iterator[LawCase]:
    q, p = [0.1, 0.1, 0.2, 0.6], [0.3, 0.4, 0.1, 0.2]
    yield relabelled(rng, [3], [-1], [q] * 2, [p, [1.0, 0.0, 0.0, 0.0]])


def siblings_in_turn(rng: Rng) -> Iterator[LawCase]:
    """Three children of a node, and a pair whose order decides everything."""
    q, p, leaf = [0.5, 0.25, 0.15, 0.1], [0.1, 0.29, 0.33, 0.28], [0.0, 0.0, 0.0, 1.0]
    yield relabelled(rng, [0, 1, 2], [-1] * 3, [q] * 4, [p, leaf, leaf, leaf])
    yield relabelled(rng, [1, 0], [-1] * 2, [[0.6, 0.3, 0.1]] * 3, [[0.1, 0.4, 0.5], *[[0.0, 0.0, 1.0]] * 2])


def fresh_rows_after_acceptance(rng: Rng) -> Iterator[LawCase]:
    """A child that is accepted after a rejected sibling, with children of its own."""
    q, p = [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2], [0.2, 0.3, 0.5]], [[0.2, 0.5, 0.3], [0.2, 0.7, 0.1], [0.1, 0.5, 0.4]]
    rows = [q[0], q[1], q[2], q[0], q[1]], [p[0], p[1], p[2], p[1], p[1]]
    yield relabelled(rng, [0, 1, 2, 0], [-1, -1, 1, 0], *rows)


def sure_target_is_followed(rng: Rng) -> Iterator[Call]:
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
    "6.3": hidden(
        walk_down, follows_the_target, only_own_children_count, no_nodes_no_path, one_token_more=ends_of_walks
    ),
    "6.4": hidden(
        certain_walk,
        accepts_with_min_one_p_over_q,
        residual_after_rejection,
        siblings_in_turn,
        fresh_rows_after_acceptance,
        sure_target_is_followed,
        one_token_more=sure_ends,
    ),
}
