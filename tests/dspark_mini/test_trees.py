"""Draft trees: growth against exhaustive search, the mask by perturbation, both verifiers by enumeration."""

from __future__ import annotations

import copy
import itertools
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import dspark_markov_candidates
from dspark_mini.laws import exact_law
from dspark_mini.trees import build_conditional_tree, tree_mask, verify_tree_greedy, verify_tree_sampling

NAN, INF = float("nan"), float("inf")
MANY = settings(max_examples=30, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])  # SPEC.md, section 1


# --- Task 6.1: growth --------------------------------------------------------------------------------


def random_drafter(seed: int, rows: int = 3, vocabulary: int = 4) -> tuple[np.ndarray, int, dict[int, np.ndarray]]:
    """Logits without ties, an anchor outside the vocabulary, and a bias row for most tokens."""
    rng = np.random.default_rng(seed)
    tokens = [vocabulary + 1, *(t for t in range(vocabulary) if rng.random() < 0.8)]
    biases = {token: rng.normal(scale=2.0, size=vocabulary) for token in tokens}
    return rng.normal(scale=1.5, size=(rows, vocabulary)), vocabulary + 1, biases


def children_of(block: np.ndarray, bias: dict[int, Any], depth: int, token: int, width: int) -> list[tuple[int, float]]:
    """Find the children of a node by sorting, with math.fsum for the normaliser."""
    scores = [u + b for u, b in zip(block[depth], bias.get(token, [0.0] * block.shape[1]))]
    top = max(scores)
    norm = top + math.log(math.fsum(math.exp(s - top) for s in scores))
    best = sorted(range(len(scores)), key=lambda t: (-scores[t], t))[:width]
    return [(t, scores[t] - norm) for t in best if scores[t] > -INF]


def all_paths(block: np.ndarray, anchor: int, bias: dict[int, Any], width: int) -> dict[tuple[int, ...], float]:
    """Write down every path that the width allows, with its log-probability."""
    paths: dict[tuple[int, ...], float] = {}
    level = {(): 0.0}
    for depth in range(len(block)):
        level = {
            (*path, child): total + own
            for path, total in level.items()
            for child, own in children_of(block, bias, depth, path[-1] if path else anchor, width)
        }
        paths |= level
    return paths


def paths_of(tree: dict[str, list[Any]]) -> list[tuple[int, ...]]:
    """Read the path of each node off its parents."""
    paths: list[tuple[int, ...]] = []
    for token, parent in zip(tree["tokens"], tree["parents"]):
        paths.append((*(paths[parent] if parent >= 0 else ()), token))
    return paths


@MANY
@given(SEEDS, st.integers(1, 5), st.integers(0, 30))
def test_the_tree_holds_the_likeliest_paths_of_an_exhaustive_search_in_their_order(
    seed: int, width: int, max_nodes: int
) -> None:
    drafter = random_drafter(seed)
    tree = build_conditional_tree(*drafter, width, max_nodes)
    everything = all_paths(*drafter, width)
    best = sorted(everything, key=lambda path: -everything[path])[:max_nodes]
    assert paths_of(tree) == best
    assert tree["log_probs"] == pytest.approx([everything[path] for path in best], abs=1e-12)
    assert tree["depths"] == [len(path) for path in best]


def subtrees(paths: list[tuple[int, ...]], size: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Go through all sets of paths that hold, with each path, the path of its parent."""
    for chosen in itertools.combinations(paths, size):
        if all(len(path) == 1 or path[:-1] in chosen for path in chosen):
            yield chosen


@settings(max_examples=10, deadline=None)
@given(SEEDS, st.integers(1, 5))
def test_no_other_tree_of_that_size_has_a_higher_expected_number_of_accepted_tokens(seed: int, size: int) -> None:
    drafter = random_drafter(seed, rows=3, vocabulary=2)
    everything = {path: math.exp(total) for path, total in all_paths(*drafter, 2).items()}
    worth = sum(map(math.exp, build_conditional_tree(*drafter, 2, size)["log_probs"]))
    assert worth == pytest.approx(max(sum(everything[p] for p in tree) for tree in subtrees(list(everything), size)))


@st.composite
def tied_blocks(draw: st.DrawFn) -> np.ndarray:
    """Rows of zeros and −inf: every possible token of a depth ties with every other one, over all branches."""
    rows, vocabulary = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    block = np.array(
        draw(
            st.lists(
                st.lists(st.sampled_from([0.0, -INF]), min_size=vocabulary, max_size=vocabulary),
                min_size=rows,
                max_size=rows,
            )
        )
    )
    block[:, draw(st.integers(0, vocabulary - 1))] = 0.0
    return block


@MANY
@given(tied_blocks(), st.integers(1, 6), st.integers(0, 25))
def test_ties_go_to_the_lower_token_then_to_the_older_parent(block: np.ndarray, width: int, max_nodes: int) -> None:
    possible = [np.flatnonzero(row == 0.0)[:width].tolist() for row in block]
    odds = [int((row == 0.0).sum()) for row in block]  # one path of depth d has probability 1 / Π odds
    nodes: list[tuple[int, int, int]] = []  # token, parent, depth
    candidates = [(1, t, -1) for t in possible[0]]
    while candidates and len(nodes) < max_nodes:
        depth, token, parent = best = min(candidates, key=lambda c: (math.prod(odds[: c[0]]), c[1], c[2]))
        candidates.remove(best)
        nodes.append((token, parent, depth))
        if depth < len(block):
            candidates += [(depth + 1, t, len(nodes) - 1) for t in possible[depth]]
    tree = build_conditional_tree(block, 0, {}, width, max_nodes)
    assert list(zip(tree["tokens"], tree["parents"], tree["depths"])) == nodes


def test_a_sure_child_ties_with_its_uncle_and_the_older_parent_goes_first() -> None:
    tree = build_conditional_tree([[0, 0, -INF], [-INF, 0, -INF]], 9, {}, 3, 9)
    assert (tree["tokens"], tree["parents"]) == ([0, 1, 1, 1], [-1, -1, 0, 1])


@MANY
@given(SEEDS, st.integers(1, 40), st.integers(2, 5))
def test_equal_scores_at_the_edge_of_the_width_go_to_the_lower_ids(seed: int, width: int, levels: int) -> None:
    row = np.random.default_rng(seed).integers(levels, size=60) / 4.0
    tree = build_conditional_tree([row], 0, {}, width, 60)
    assert tree["tokens"] == sorted(range(60), key=lambda t: (-row[t], t))[:width]


def test_growth_has_the_example_of_the_lesson() -> None:
    tree = build_conditional_tree([[math.log(6), math.log(4)], [0, 0]], 9, {0: [math.log(3), 0]}, 2, 3)
    assert tree["log_probs"] == pytest.approx([math.log(0.6), math.log(0.45), math.log(0.4)])
    assert {key: tree[key] for key in ("tokens", "parents", "depths")} == {
        "tokens": [0, 0, 1], "parents": [-1, 0, -1], "depths": [1, 2, 1]
    }  # fmt: skip


@MANY
@given(SEEDS)
def test_a_tree_of_width_one_is_the_markov_chain(seed: int) -> None:
    block, anchor, bias = random_drafter(seed, rows=6)
    tree = build_conditional_tree(block, anchor, bias, 1, 99)
    assert tree["tokens"] == dspark_markov_candidates(block, anchor, bias)
    assert tree["parents"] == list(range(-1, 5)) and tree["depths"] == list(range(1, 7))


@MANY
@given(SEEDS, st.integers(1, 4), st.integers(0, 20))
def test_a_smaller_budget_gives_the_beginning_of_the_same_tree(seed: int, width: int, max_nodes: int) -> None:
    drafter = random_drafter(seed)
    large, small = (build_conditional_tree(*drafter, width, n) for n in (25, max_nodes))
    assert small == {key: column[:max_nodes] for key, column in large.items()}
    assert all(a >= b for a, b in itertools.pairwise(large["log_probs"]))


@MANY
@given(SEEDS, st.floats(-5000, 5000))
def test_a_constant_added_to_a_row_changes_nothing(seed: int, constant: float) -> None:
    block, anchor, _ = random_drafter(seed)
    block = np.round(block * 8) / 8 + np.arange(4) / 64  # coarse enough to stay apart when the row is shifted
    tree, shifted = (build_conditional_tree(b, anchor, {}, 3, 12) for b in (block, block + round(constant)))
    assert shifted["tokens"] == tree["tokens"] and shifted["log_probs"] == pytest.approx(tree["log_probs"], abs=1e-9)


class Recorder:
    """A low-rank head of which only .get works, and which notes the tokens that it was asked for."""

    def __init__(self, w1: np.ndarray, w2: np.ndarray) -> None:
        self.w1, self.w2 = w1, w2
        self.asked: list[int] = []

    def get(self, token: int) -> np.ndarray | None:
        self.asked.append(token)
        return self.w1[token] @ self.w2 if token < len(self.w1) else None


@MANY
@given(SEEDS)
def test_a_head_that_answers_only_get_is_asked_for_expanded_nodes_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    block, head = rng.normal(size=(4, 6)), Recorder(rng.normal(size=(6, 2)), rng.normal(size=(2, 6)))
    tree = build_conditional_tree(block, 6, head, 3, 10)
    inner = [t for t, depth in zip(tree["tokens"][:-1], tree["depths"][:-1]) if depth < 4]
    assert head.asked == [6, *inner]
    assert tree == build_conditional_tree(block, 6, {t: head.w1[t] @ head.w2 for t in range(6)}, 3, 10)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int64, np.uint8, np.longdouble, "object"])
def test_growth_is_equal_for_lists_and_for_arrays_of_each_dtype(dtype: Any) -> None:
    block = [[3, 1, 2], [2, 5, 7], [1, 0, 4]]
    bias = {0: [1, 0, 2], 2: [0, 3, 0]}
    arrays = {token: np.array(row, dtype=dtype) for token, row in bias.items()}
    trees = [build_conditional_tree(b, 9, m, 2, 8) for b, m in ((block, bias), (np.array(block, dtype=dtype), arrays))]
    assert trees[0]["tokens"] == trees[1]["tokens"]
    assert trees[0]["log_probs"] == pytest.approx(trees[1]["log_probs"], abs=1e-12)
    for column in ("tokens", "parents", "depths"):
        assert all(type(entry) is int for tree in trees for entry in tree[column])
    assert all(type(entry) is float for tree in trees for entry in tree["log_probs"])


def test_growth_leaves_its_arguments_as_they_were_and_needs_no_nodes() -> None:
    block, anchor, bias = random_drafter(5)
    before = copy.deepcopy((block, bias))
    block.flags.writeable = False
    build_conditional_tree(block, anchor, bias, 3, 20)
    assert np.array_equal(block, before[0]) and all(np.array_equal(bias[t], before[1][t]) for t in bias)
    empty = build_conditional_tree(block, anchor, bias, 3, 0)
    assert empty == {"tokens": [], "parents": [], "depths": [], "log_probs": []}


@pytest.mark.parametrize(("arguments", "where"), [
    pytest.param(([[0.5, 0.25], [NAN, 0.5]], 0, {}, 2, 4), "block_logits row 1", id="nan"),
    pytest.param(([[0.5, 0.25], [0.5, INF]], 0, {}, 2, 4), "block_logits row 1", id="+inf"),
    pytest.param(([[-INF, -INF]], 0, {0: [1, 1]}, 2, 4), "block_logits row 0", id="only -inf"),
    pytest.param(([[0.5, 0.25], [0.5]], 0, {}, 2, 4), "block_logits row 1", id="ragged"),
    pytest.param(([], 0, {}, 2, 4), "block_logits is empty", id="no rows"),
    pytest.param(([[]], 0, {}, 2, 4), "block_logits is empty", id="no tokens"),
    pytest.param(([0.5], 0, {}, 2, 4), "block_logits must be a matrix", id="no matrix"),
    pytest.param(([[0.5, 0.25]], 0.5, {}, 2, 4), "anchor_token", id="anchor a float"),
    pytest.param(([[0.5, 0.25]], 0, [1], 2, 4), "markov_bias", id="bias no mapping"),
    pytest.param(([[0.5, 0.25]], 7, {7: [0.5]}, 2, 4), "markov_bias of token 7", id="bias too short"),
    pytest.param(([[0.5, 0.25]], 7, {7: [0.5, NAN]}, 2, 4), "markov_bias of token 7", id="bias with nan"),
    pytest.param(([[0.5, 0.25]], 7, {7: [-INF, -INF]}, 2, 4), "markov_bias of token 7", id="bias of only -inf"),
    pytest.param(([[9, 0], [0, 0]], 7, {0: [INF, 0]}, 1, 4), "markov_bias of token 0", id="bias of a node with +inf"),
    pytest.param(([[0, -INF]], 7, {7: [-INF, 0]}, 1, 4), "leave no token", id="nothing left"),
    pytest.param(([[0.5, 0.25]], 0, {}, 0, 4), "width", id="width 0"),
    pytest.param(([[0.5, 0.25]], 0, {}, 2.0, 4), "width", id="width a float"),
    pytest.param(([[0.5, 0.25]], 0, {}, 2, -1), "max_nodes", id="max_nodes negative"),
    pytest.param(([[0.5, 0.25]], 0, {}, 2, None), "max_nodes", id="max_nodes None"),
])  # fmt: skip
def test_bad_input_of_growth_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        build_conditional_tree(*arguments)


# --- Task 6.2: the mask ------------------------------------------------------------------------------


@st.composite
def parent_lists(draw: st.DrawFn, most: int = 8) -> list[int]:
    return [draw(st.integers(-1, node - 1)) for node in range(draw(st.integers(0, most)))]


def ancestors(parents: list[int], node: int) -> list[int]:
    """Climb from a node to the root; the node itself stands last."""
    return [*ancestors(parents, parents[node]), node] if node >= 0 else []


def attend(vectors: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Apply one attention layer: the last rows of vectors look at all of them, as far as the mask lets them."""
    scores = np.where(mask, vectors[len(vectors) - len(mask) :] @ vectors.T, -np.inf)
    weights = np.exp(scores)
    return (weights / weights.sum(axis=1, keepdims=True)) @ vectors


@MANY
@given(parent_lists(), st.integers(0, 5))
def test_a_node_sees_the_context_its_ancestors_and_itself(parents: list[int], context: int) -> None:
    mask = tree_mask(parents, context)
    assert type(mask) is np.ndarray and mask.dtype == np.bool_ and mask.shape == (len(parents), context + len(parents))
    for node, row in enumerate(mask):
        assert np.flatnonzero(row).tolist() == [*range(context), *(context + a for a in ancestors(parents, node))]


@MANY
@given(parent_lists(), st.integers(0, 4), SEEDS)
def test_moving_one_position_moves_the_nodes_that_may_see_it_and_no_others(
    parents: list[int], context: int, seed: int
) -> None:
    vectors = np.random.default_rng(seed).uniform(-1, 1, size=(context + len(parents), 3))
    mask = tree_mask(parents, context)
    before = attend(vectors, mask)
    for column in range(context + len(parents)):
        moved = vectors.copy()
        moved[column] += 1.0
        change = np.abs(attend(moved, mask) - before).max(axis=1, initial=0.0)
        for node in range(len(parents)):
            sees = column < context or column - context in ancestors(parents, node)
            assert change[node] > 1e-9 if sees else change[node] == 0.0


@MANY
@given(parent_lists(), st.integers(0, 4), SEEDS)
def test_one_forward_over_the_tree_gives_what_each_path_gives_alone(
    parents: list[int], context: int, seed: int
) -> None:
    vectors = np.random.default_rng(seed).uniform(-1, 1, size=(context + len(parents), 3))
    together = attend(vectors, tree_mask(parents, context))
    for node in range(len(parents)):
        path = ancestors(parents, node)
        alone = vectors[[*range(context), *(context + i for i in path)]]
        causal = np.tri(len(path), context + len(path), context, dtype=bool)
        assert attend(alone, causal)[-1] == pytest.approx(together[node], abs=1e-12)


def test_the_mask_of_a_chain_is_causal_and_that_of_no_nodes_keeps_its_columns() -> None:
    assert np.array_equal(tree_mask([-1, 0, 1, 2], 3), np.tri(4, 7, 3, dtype=bool))
    assert tree_mask([], 3).shape == (0, 3) and tree_mask(np.array([]), 0).shape == (0, 0)
    assert tree_mask([-1, 0, -1], 1).astype(int).tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]]


def test_the_mask_leaves_the_parents_as_they_were() -> None:
    parents = np.array([-1, 0, -1, 2])
    parents.flags.writeable = False
    assert np.array_equal(tree_mask(parents, 2), tree_mask([-1, 0, -1, 2], 2))


@pytest.mark.parametrize(("arguments", "where"), [
    pytest.param(([-1, 1], 2), "parents[1]", id="its own parent"),
    pytest.param(([0], 2), "parents[0]", id="the first node its own parent"),
    pytest.param(([-1, 0, 7, 9], 2), "parents[2]", id="a later parent, the first of two"),
    pytest.param(([-1, -2], 2), "parents[1]", id="below -1"),
    pytest.param(([-1, 0.0], 2), "parents[1]", id="a float"),
    pytest.param(([-1, None], 2), "parents[1]", id="None"),
    pytest.param((3, 2), "parents must be a sequence", id="a number"),
    pytest.param(([-1], -1), "context_length", id="negative context"),
    pytest.param(([-1], 1.5), "context_length", id="context a float"),
])  # fmt: skip
def test_bad_input_of_the_tree_mask_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        tree_mask(*arguments)


# --- Task 6.3: the greedy walk -----------------------------------------------------------------------


@st.composite
def token_trees(draw: st.DrawFn, vocabulary: int = 3, most: int = 10) -> tuple[list[int], list[int]]:
    """Trees over few tokens whose siblings differ."""
    tokens: list[int] = []
    parents: list[int] = []
    for _ in range(draw(st.integers(0, most))):
        parent = draw(st.integers(-1, len(tokens) - 1))
        free = sorted(set(range(vocabulary)) - {t for t, p in zip(tokens, parents) if p == parent})
        if free:
            tokens.append(draw(st.sampled_from(free)))
            parents.append(parent)
    return tokens, parents


def text_of(tree: tuple[list[int], list[int]], node: int) -> tuple[int, ...]:
    return tuple(tree[0][i] for i in ancestors(tree[1], node))


@MANY
@given(token_trees(), SEEDS)
def test_the_greedy_walk_writes_what_plain_decoding_writes(tree: tuple[list[int], list[int]], seed: int) -> None:
    tokens, parents = tree

    def target(text: tuple[int, ...]) -> int:
        return int(np.random.default_rng([seed, *text]).integers(3))

    walk = verify_tree_greedy(tokens, parents, [target(text_of(tree, i)) for i in range(-1, len(tokens))])
    plain: tuple[int, ...] = ()
    while len(plain) < len(walk["tokens"]):
        plain += (target(plain),)
    assert tuple(walk["tokens"]) == plain and len(walk["tokens"]) == len(walk["path"]) + 1
    assert walk["path"] == ancestors(parents, walk["path"][-1] if walk["path"] else -1)
    # It goes as far as the tree allows: no node holds the whole text.
    assert plain not in [text_of(tree, node) for node in range(len(tokens))]
    assert all(type(entry) is int for column in walk.values() for entry in column)


def test_the_greedy_walk_has_the_examples_of_the_lesson() -> None:
    assert verify_tree_greedy([5, 7, 6], [-1, 0, -1], [6, 7, 1, 8]) == {"path": [2], "tokens": [6, 8]}
    assert verify_tree_greedy([], [], [4]) == {"path": [], "tokens": [4]}
    arrays = (np.array([5, 7, 6]), np.array([-1, 0, -1]), np.array([5, 7, 1, 8]))
    assert verify_tree_greedy(*arrays) == {"path": [0, 1], "tokens": [5, 7, 1]}


@pytest.mark.parametrize(("arguments", "where"), [
    pytest.param(([5, 5], [-1, -1], [1, 2, 3]), "tokens[1]", id="equal siblings"),
    pytest.param(([5, 6, 7, 6], [-1, 0, 0, 0], [1] * 5), "tokens[3]", id="equal siblings further down"),
    pytest.param(([5, 7], [-1, 0], [1, 2]), "target_tokens has 2", id="a target token too few"),
    pytest.param(([5, 7], [-1, 0], [1, 2, 3, 4]), "target_tokens has 4", id="a target token too many"),
    pytest.param(([], [], []), "target_tokens has 0", id="no target token"),
    pytest.param(([5, 7], [-1], [1, 2, 3]), "parents has 1", id="a parent too few"),
    pytest.param(([5, 7], [-1, 2], [1, 2, 3]), "parents[1]", id="a later parent"),
    pytest.param(([5, -7], [-1, 0], [1, 2, 3]), "tokens[1]", id="a negative token"),
    pytest.param(([5, 7], [-1, 0], [1, -2, 3]), "target_tokens[1]", id="a negative target token"),
    pytest.param(([5, 7.0], [-1, 0], [1, 2, 3]), "tokens[1]", id="a float"),
    pytest.param((None, [-1, 0], [1, 2, 3]), "tokens must be a sequence", id="no tokens"),
])  # fmt: skip
def test_bad_input_of_the_greedy_walk_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        verify_tree_greedy(*arguments)


# --- Task 6.4: lossless sampling ---------------------------------------------------------------------


def draws(q: np.ndarray, count: int) -> Iterator[tuple[list[int], float]]:
    """All ordered draws without replacement, with their probabilities; fewer where q has no more tokens."""
    possible = np.flatnonzero(q).tolist()
    for order in itertools.permutations(possible, min(count, len(possible))):
        probability, left = 1.0, 1.0
        for token in order:
            probability, left = probability * q[token] / left, left - q[token]
        yield list(order), probability


def sampled(tokens: list[int], parents: list[int], drafts: Any, targets: Any) -> dict[Any, float]:
    """The exact joint law of path and tokens."""

    def run(rng: Any) -> Any:
        walk = verify_tree_sampling(tokens, parents, drafts, targets, rng)
        return tuple(walk["path"]), tuple(walk["tokens"])

    return exact_law(run)


def distribution(rng: np.random.Generator, vocabulary: int) -> np.ndarray:
    """A random distribution; now and then with zeros, and now and then sure of one token."""
    row = rng.dirichlet(np.full(vocabulary, 0.7)) * (rng.random(vocabulary) < 0.8)
    row[rng.integers(vocabulary)] += 0.1
    return row / row.sum()


@MANY
@given(SEEDS, st.integers(3, 4), st.integers(0, 4))
def test_the_emitted_token_follows_the_target_whatever_the_drafter_draws(
    seed: int, vocabulary: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    p, q = distribution(rng, vocabulary), distribution(rng, vocabulary)
    law, leaf = np.zeros(vocabulary), np.eye(vocabulary)[0]
    for children, weight in draws(q, count):
        n = len(children)
        for (_, tokens), chance in sampled(children, [-1] * n, [q] * (n + 1), [p, *[leaf] * n]).items():
            law[tokens[0]] += weight * chance
    assert law == pytest.approx(p, abs=1e-12)


def drawn_trees(drafter: Any, width: int, depth: int, text: tuple[int, ...] = ()) -> Iterator[tuple[Any, float]]:
    """All trees that a drafter may draw, as nested lists (token, subtree), with their probabilities."""
    if depth == 0:
        yield [], 1.0
        return
    for children, weight in draws(drafter(text), width):
        below = [list(drawn_trees(drafter, width, depth - 1, (*text, child))) for child in children]
        for choice in itertools.product(*below):
            yield [(c, sub) for c, (sub, _) in zip(children, choice)], weight * math.prod(w for _, w in choice)


def flat(tree: Any, parent: int, tokens: list[int], parents: list[int]) -> None:
    """Write a nested tree as two lists, depth first."""
    for token, below in tree:
        tokens.append(token)
        parents.append(parent)
        flat(below, len(tokens) - 1, tokens, parents)


@settings(max_examples=5, deadline=None)
@given(SEEDS)
def test_a_text_of_three_tokens_follows_the_target_through_trees_of_depth_two(seed: int) -> None:
    rows = np.random.default_rng(seed)
    texts = [text for length in range(3) for text in itertools.product(range(3), repeat=length)]
    target = {text: distribution(rows, 3) for text in texts}
    drafter = {text: distribution(rows, 3) for text in texts}
    law: dict[tuple[int, ...], float] = dict.fromkeys(itertools.product(range(3), repeat=3), 0.0)
    for tree, weight in drawn_trees(drafter.__getitem__, 2, 2):
        tokens: list[int] = []
        parents: list[int] = []
        flat(tree, -1, tokens, parents)
        said = [text_of((tokens, parents), node) for node in range(-1, len(tokens))]
        chances = sampled(tokens, parents, [drafter[t] for t in said], [target[t] for t in said])
        for (_, emitted), chance in chances.items():
            for rest in itertools.product(range(3), repeat=3 - len(emitted)):  # the target goes on by itself
                text = (*emitted, *rest)
                tail = math.prod(float(target[text[:i]][text[i]]) for i in range(len(emitted), 3))
                law[text] += weight * chance * tail
    for text, probability in law.items():
        assert probability == pytest.approx(math.prod(float(target[text[:i]][text[i]]) for i in range(3)), abs=1e-12)


def test_one_drawn_child_has_the_check_values_of_a_chain() -> None:
    accepted = {t: sampled([t], [-1], [Q, Q], [P, P]) for t in range(3)}
    rate = sum(Q[t] * v for t, law in accepted.items() for (path, _), v in law.items() if path)
    assert rate == pytest.approx(0.60)
    assert sum(Q[t] * v for t, law in accepted.items() for (_, x), v in law.items() if x[0] == 0) == pytest.approx(0.5)


def test_siblings_are_tried_in_the_order_of_their_indices() -> None:
    q, p, leaf = [0.6, 0.3, 0.1], [0.1, 0.4, 0.5], [0.0, 0.0, 1.0]
    law = sampled([0, 1], [-1, -1], [q] * 3, [p, leaf, leaf])
    assert law == pytest.approx({((0,), (0, 2)): 1 / 6, ((1,), (1, 2)): 2 / 9, ((), (2,)): 11 / 18})
    assert sampled([1, 0], [-1, -1], [q] * 3, [p, leaf, leaf]) == pytest.approx({((0,), (1, 2)): 1.0})


def test_children_that_were_not_drawn_are_not_verified_by_this_rule() -> None:
    law = np.zeros(3)
    for (_, tokens), chance in sampled([2, 0], [-1, -1], [Q] * 3, [P] * 3).items():
        law[tokens[0]] += chance
    assert 0.5 * np.abs(law - P).sum() == pytest.approx(0.3)


@MANY
@given(token_trees(most=4), SEEDS)
def test_a_walk_along_tokens_drawn_from_the_target_is_lossless_for_any_tree(
    tree: tuple[list[int], list[int]], seed: int
) -> None:
    tokens, parents = tree
    rng = np.random.default_rng(seed)
    texts = [text for length in range(5) for text in itertools.product(range(3), repeat=length)]
    target = {text: distribution(rng, 3) for text in texts}

    def run(rng: Any) -> tuple[int, ...]:
        said = [int(rng.choice(3, p=target[text_of(tree, node)])) for node in range(-1, len(tokens))]
        return tuple(verify_tree_greedy(tokens, parents, said)["tokens"])

    for text, chance in exact_law(run).items():
        assert chance == pytest.approx(math.prod(float(target[text[:i]][text[i]]) for i in range(len(text))))


@MANY
@given(token_trees(), SEEDS)
def test_where_target_and_drafter_agree_the_first_child_is_always_accepted(
    tree: tuple[list[int], list[int]], seed: int
) -> None:
    tokens, parents = tree
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(3), size=len(tokens) + 1)
    walk = verify_tree_sampling(tokens, parents, rows, rows, rng)
    at = -1
    for node in walk["path"]:
        assert node == parents.index(at)
        at = node
    assert at not in parents


def test_a_drafter_that_is_sure_of_one_token_leaves_nothing_to_divide_by() -> None:
    with np.errstate(all="raise"):
        law = sampled([1], [-1], [[0, 1, 0]] * 2, [[0.25, 0.5, 0.25], [0, 0, 1]])
    assert law == pytest.approx({((0,), (1, 2)): 0.5, ((), (0,)): 0.25, ((), (2,)): 0.25})


def test_rows_that_sum_to_one_only_nearly_are_used_as_they_are() -> None:
    nearly = [0.5 + 4e-7, 0.5 + 4e-7]
    for seed in range(20):
        walk = verify_tree_sampling([0], [-1], [nearly, nearly], [nearly, [0, 1]], np.random.default_rng(seed))
        assert walk in ({"path": [0], "tokens": [0, 1]}, {"path": [], "tokens": [1]})


def test_sampling_repeats_itself_under_a_seed_and_leaves_its_arguments_as_they_were() -> None:
    tokens, parents = [0, 1, 2, 0], [-1, -1, 0, 1]
    drafts, targets = np.tile(Q, (5, 1)), np.tile(P, (5, 1))
    for rows in (drafts, targets):
        rows.flags.writeable = False
    lists = (list(tokens), list(parents), drafts.tolist(), targets.tolist())
    before = copy.deepcopy(lists)
    for seed in range(20):
        first = verify_tree_sampling(*lists, np.random.default_rng(seed))
        arrays = (np.array(tokens), np.array(parents), drafts, targets)
        assert first == verify_tree_sampling(*arrays, np.random.default_rng(seed))
        assert all(type(entry) is int for column in first.values() for entry in column)
    assert lists == before


HALF = [0.5, 0.5]


@pytest.mark.parametrize(("arguments", "where"), [
    pytest.param(([0, 2], [-1, 0], [HALF] * 3, [HALF] * 3), "tokens[1]", id="a token outside the vocabulary"),
    pytest.param(([1, 1], [-1, -1], [HALF] * 3, [HALF] * 3), "tokens[1]", id="equal siblings"),
    pytest.param(([0, 1], [-1, 1], [HALF] * 3, [HALF] * 3), "parents[1]", id="its own parent"),
    pytest.param(([0, 1], [-1], [HALF] * 3, [HALF] * 3), "parents has 1", id="a parent too few"),
    pytest.param(([0, 1], [-1, 0], [HALF] * 2, [HALF] * 3), "draft_probs has 2 rows", id="a draft row too few"),
    pytest.param(([0, 1], [-1, 0], [HALF] * 3, [HALF] * 4), "target_probs has 4 rows", id="a target row too many"),
    pytest.param(([], [], [], [HALF]), "draft_probs has 0 rows", id="no draft row"),
    pytest.param(([0], [-1], [HALF] * 2, [[1, 0, 0]] * 2), "target_probs has 3 columns", id="other vocabularies"),
    pytest.param(([0], [-1], [HALF, [0.5, 0.25]], [HALF] * 2), "draft_probs row 1", id="a row that sums to less"),
    pytest.param(([0], [-1], [HALF] * 2, [[1.5, -0.5], HALF]), "target_probs row 0", id="a negative number"),
    pytest.param(([0], [-1], [HALF] * 2, [HALF, [NAN, 1]]), "target_probs row 1", id="nan"),
    pytest.param(([0], [-1], [HALF, [1]], [HALF] * 2), "draft_probs row 1", id="ragged rows"),
    pytest.param(([0], [-1], [[0, 1], HALF], [HALF] * 2), "tokens[0] is 0, which draft_probs row 0", id="never drawn"),
])  # fmt: skip
def test_bad_input_of_sampling_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        verify_tree_sampling(*arguments, np.random.default_rng(0))
