"""Draft trees: growth against exhaustive search, both verifiers by enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import dspark_markov_candidates
from dspark_mini.laws import exact_law
from dspark_mini.trees import build_conditional_tree, verify_tree_greedy, verify_tree_sampling
from grader.lessons.hidden.lesson_06_verification import law_of

MANY = settings(max_examples=30, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
Tree = tuple[list[int], list[int]]


def ancestors(parents: list[int], node: int) -> list[int]:
    """Climb from a node to the root; the node itself comes last."""
    return [*ancestors(parents, parents[node]), node] if node >= 0 else []


def text_of(tree: Tree, node: int) -> tuple[int, ...]:
    return tuple(tree[0][i] for i in ancestors(tree[1], node))


@st.composite
def trees(draw: st.DrawFn, most: int = 8) -> Tree:
    """Trees over three tokens whose siblings differ."""
    tokens, parents = list[int](), list[int]()
    for _ in range(draw(st.integers(0, most))):
        parent = draw(st.integers(-1, len(tokens) - 1))
        if free := sorted({0, 1, 2} - {t for t, p in zip(tokens, parents) if p == parent}):
            tokens.append(draw(st.sampled_from(free)))
            parents.append(parent)
    return tokens, parents


@MANY
@given(SEEDS, st.integers(1, 4), st.integers(0, 30))
def test_tree_holds_the_likeliest_paths_and_at_width_one_the_chain(seed: int, width: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    block, bias = rng.normal(size=(3, 4)), {token: rng.normal(size=4) for token in (0, 1, 3, 9)}
    paths, level = dict[tuple[int, ...], float](), {(): 0.0}
    for row in block:
        rows = {path: row + bias.get(path[-1] if path else 9, 0.0) for path in level}
        level = {
            (*path, t): level[path] + scores[t] - math.log(np.exp(scores).sum())
            for path, scores in rows.items()
            for t in np.argsort(-scores)[:width].tolist()
        }
        paths |= level
    tree = build_conditional_tree(block, 9, bias, width, most)
    found = [text_of((tree["tokens"], tree["parents"]), node) for node in range(len(tree["tokens"]))]
    assert found == sorted(paths, key=lambda path: -paths[path])[:most]
    assert tree["log_probs"] == pytest.approx([paths[path] for path in found])
    assert tree["depths"] == [len(path) for path in found]
    assert build_conditional_tree(block, 9, bias, 1, 3)["tokens"] == dspark_markov_candidates(block, 9, bias)


def test_node_whose_children_are_all_masked_has_none() -> None:
    with np.errstate(invalid="ignore"):
        tree = build_conditional_tree([[0, -np.inf], [0, -np.inf]], 9, {0: [-np.inf, 0]}, 2, 9)
    assert tree["tokens"] == [0]


@MANY
@given(trees(), SEEDS)
def test_greedy_walk_writes_what_plain_decoding_writes_as_far_as_the_tree_allows(tree: Tree, seed: int) -> None:
    def target(text: tuple[int, ...]) -> int:
        return int(np.random.default_rng([seed, *text]).integers(3))

    walk = verify_tree_greedy(*tree, [target(text_of(tree, i)) for i in range(-1, len(tree[0]))])
    plain: tuple[int, ...] = ()
    while len(plain) <= len(walk["path"]):
        plain += (target(plain),)
    assert tuple(walk["tokens"]) == plain and walk["path"] == ancestors(tree[1], [-1, *walk["path"]][-1])
    assert plain not in [text_of(tree, node) for node in range(len(tree[0]))]


def sampled(tree: Tree, drafts: Any, targets: Any) -> dict[Any, float]:
    """The exact joint law of path and tokens."""
    rows = drafts[: len(tree[0]) + 1], targets[: len(tree[0]) + 1]
    walks = exact_law(lambda rng: tuple(map(tuple, verify_tree_sampling(*tree, *rows, rng).values())))
    return {walk: chance for walk, chance in walks.items() if chance > 1e-12}


def draws(q: np.ndarray, count: int) -> Iterator[tuple[list[int], float]]:
    """All ordered draws without replacement with their probabilities."""
    for order in map(list, itertools.permutations(range(3), count)):
        left = 1.0 - np.cumsum([0.0, *q[order]])[:-1]
        if (q[order] > 0).all():
            yield order, float(np.prod(q[order] / left))


@MANY
@given(SEEDS, st.integers(0, 3))
def test_emitted_token_follows_the_target_whatever_the_drafter_draws(seed: int, count: int) -> None:
    rng, law = np.random.default_rng(seed), np.zeros(3)
    p, q = rng.dirichlet(np.full(3, 0.7), size=2)
    q[rng.integers(3)] *= rng.integers(2)  # now and then a token that is never drafted
    q /= q.sum()
    for children, weight in draws(q, min(count, int((q > 0).sum()))):
        for (_, said), chance in sampled((children, [-1] * len(children)), [q] * 4, [p] * 4).items():
            law[said[0]] += weight * chance
    assert law == pytest.approx(p, abs=1e-12)


@MANY
@given(trees(most=5), SEEDS)
def test_path_and_tokens_have_the_joint_law_of_the_oracle(tree: Tree, seed: int) -> None:
    drafts, targets = np.random.default_rng(seed).dirichlet(np.ones(3), size=(2, 6)).tolist()
    assert sampled(tree, drafts, targets) == pytest.approx(law_of(*tree, drafts, targets), abs=1e-9)


def test_check_values_of_drawn_and_of_best_children() -> None:
    accepted = [sum(v for (path, _), v in sampled(([t], [-1]), [Q] * 2, [P] * 2).items() if path) for t in range(3)]
    assert Q @ accepted == pytest.approx(0.60)
    best = np.zeros(3)
    for (_, said), chance in sampled(([2, 0], [-1, -1]), [Q] * 3, [P] * 3).items():
        best[said[0]] += chance
    assert 0.5 * np.abs(best - P).sum() == pytest.approx(0.3)  # the best children were not drawn


def test_siblings_with_one_token_and_children_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(ValueError, match=r"tokens\[3\] is 6, the same as that of its sibling, node 1\."):
        verify_tree_greedy([5, 6, 7, 6], [-1, 0, 0, 0], [1] * 5)
    with pytest.raises(ValueError, match=r"tokens\[0\] is 0, which draft_probs\[0\] gives probability 0\."):
        verify_tree_sampling([0], [-1], [[0, 1], [1, 0]], [[1, 0], [1, 0]], np.random.default_rng(0))
