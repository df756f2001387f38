"""The engine with draft trees: the text, its distribution, the rows that stay in the cache, and the record."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import verify_tree_greedy, verify_tree_sampling
from dspark_mini.drafts import corrected, sample_tree, softmax
from dspark_mini.engine import TreeSteps, fitting_widths, generate
from dspark_mini.toy import Cache, ToyAutoregressiveDrafter, ToyDrafter, ToyTarget
from tests.dspark_mini.toys import chains, distance, run, trees

FAST = settings(max_examples=40, deadline=None)
SEEDS = st.integers(0, 2**16)


@given(SEEDS, st.integers(1, 5))
@FAST
def test_a_tree_of_width_one_is_the_chain(seed: int, levels: int) -> None:
    chain, tree = run(seed, chains(levels)), run(seed, trees(levels, width=1))
    assert tree.counts == chain.counts
    assert [round_.path for round_ in tree.rounds] == [round_.path for round_ in chain.rounds]
    assert all(round_.depth == len(round_.drafted) for round_ in tree.rounds)


@given(st.lists(st.integers(1, 4), max_size=5), st.integers(0, 30))
@FAST
def test_the_shape_of_a_sampled_tree_fits_the_room(widths: list[int], nodes: int) -> None:
    fitting = fitting_widths(widths, nodes)
    assert np.cumprod(fitting).sum() <= nodes
    assert fitting[:-1] == widths[: max(len(fitting) - 1, 0)]  # only the last level is narrower
    if np.cumprod(widths).sum() <= nodes:
        assert fitting == widths


# The law of the text: exact; every coin of the tree's draws and of its verification is followed both ways.


def one_tree(length: int, widths: tuple[int, ...], **steps: Any) -> float:
    """The distance with a tree in the first round and plain decoding after it: few enough coins to follow."""
    first = replace(trees(len(widths), widths=widths, **steps), keep_drafting=lambda trace: not trace.rounds)
    return distance(first, length, len(widths) + 1)


def best_first(base: Any, anchor: int, bias: Any, widths: Sequence[int], temperature: float, rng: Any) -> Any:
    """A sample step that takes the best tokens instead of drawing."""
    q = softmax(corrected(base[0], anchor, bias) / temperature)
    return [*np.argsort(-q)[:2].tolist()], [-1, -1], np.vstack([q, np.full((2, 3), 1 / 3)])


@pytest.mark.parametrize(("length", "widths"), [(3, (2, 1)), (3, (1, 2)), (2, (2,))])
def test_the_emitted_law_is_the_targets(length: int, widths: tuple[int, ...]) -> None:
    assert one_tree(length, widths) < 1e-12
    if length == 2:
        assert distance(trees(1, widths=(2,)), 2, 3) < 1e-12  # one tree follows another
        assert one_tree(1, (2,), sample=best_first) > 0.005  # siblings that were not drawn change the law


# The contract


class FirstRows(Cache):
    """A cache that keeps the right number of rows, but the first ones instead of the chosen."""

    def keep_last(self, count: int, chosen: Sequence[int]) -> None:
        super().keep_last(count, range(len(chosen)))


class AllRows(Cache):
    """A cache that keeps the rows of rejected drafts."""

    def keep_last(self, count: int, chosen: Sequence[int]) -> None:
        pass


def with_cache(seed: int, cache: Cache) -> list[int]:
    target = ToyTarget.random(6, seed)
    target.cache = cache
    return generate(target, ToyDrafter(target.table, 0.5, seed + 1), [1, 2], 20, steps=trees(4)).output


def test_a_cache_that_keeps_rejected_rows_breaks_the_contract_and_wrong_rows_show_in_the_text() -> None:
    with pytest.raises(AssertionError, match="target's cache has"):
        for seed in range(20):
            with_cache(seed, AllRows())
    plain = [run(seed, None, stop_tokens=[]).output for seed in range(20)]
    assert [with_cache(seed, Cache()) for seed in range(20)] == plain
    assert [with_cache(seed, FirstRows()) for seed in range(20)] != plain


@pytest.mark.parametrize(
    "wrong",
    [
        lambda path: path[:-1],
        lambda path: [node + 1 for node in path],
        lambda path: path[::-1],
        lambda path: [*path, path[-1] + 1] if path else path,
    ],
    ids=["too short", "next node", "reversed", "too long"],
)
def test_a_path_that_is_not_what_is_emitted_is_refused_at_once(wrong: Callable[[list[int]], list[int]]) -> None:
    def verify(tokens: Any, parents: Any, target_tokens: Any) -> dict[str, Any]:
        verdict = verify_tree_greedy(tokens, parents, target_tokens)
        return verdict | {"path": [node for node in wrong(verdict["path"]) if node < len(tokens)]}

    with pytest.raises(AssertionError, match="is not a path of the tree"):
        for seed in range(20):
            run(seed, trees(4, verify_greedy=verify))


def test_the_steps_of_a_tree_are_called_in_their_mode_only() -> None:
    called = set[str]()

    def noted(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments: called.add(name) or step(*arguments)

    functions = {"build": TreeSteps.build, "sample": sample_tree, "verify_greedy": verify_tree_greedy}
    functions |= {"verify_sampling": verify_tree_sampling}
    steps = trees(3, **{name: noted(name, function) for name, function in functions.items()})
    run(0, steps)
    assert called == {"build", "verify_greedy"}
    called.clear()
    run(0, steps, temperature=1.0, rng=np.random.default_rng(0))
    assert called == {"sample", "verify_sampling"}


def test_trees_need_a_bias_and_widths_of_at_least_one() -> None:
    target = ToyTarget.random(4, 0)
    with pytest.raises(ValueError, match=r"steps\.tree needs a drafter whose rows"):
        generate(target, ToyAutoregressiveDrafter(target.table, 0.0, 0), [1], 4, steps=trees(2))
    with pytest.raises(ValueError, match=r"widths\[1\]"):
        run(0, trees(2, widths=(2, 0)), temperature=1.0, rng=np.random.default_rng(0))


# The parts: one forward over a tree, and the sampled tree


@given(SEEDS, st.lists(st.integers(0, 5), min_size=1, max_size=8))
@FAST
def test_one_forward_over_a_tree_gives_what_each_path_gives_alone(seed: int, nodes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    parents = [int(rng.integers(-1, node)) for node in range(len(nodes))]
    target = ToyTarget.random(6, seed)
    target.forward([1])
    rows = target.forward([2, *nodes], parents)
    assert target.cache.tokens == [1, 2, *nodes]
    for node in range(-1, len(nodes)):
        path = []
        while node >= 0:
            path.insert(0, node)
            node = parents[node]
        target.cache.drop(target.cache.rows - 1)
        alone = target.forward([2, *(nodes[step] for step in path)])
        assert np.array_equal(rows[[0, *(step + 1 for step in path)]], alone)
    with pytest.raises(ValueError, match="parents has 2 entries for 2 tokens"):
        target.forward([1, 2], [-1, 0])


def test_a_sampled_tree_has_its_shape_and_the_rows_of_its_draws() -> None:
    rng = np.random.default_rng(0)
    base = rng.normal(size=(4, 5))
    base[1, [0, 2]] = -np.inf
    bias = {token: rng.normal(size=5) for token in range(4)}  # token 4 has none
    tokens, parents, q = sample_tree(base, 2, bias, (2, 4, 1), 0.5, rng)
    assert parents == [-1, -1, *[0] * 3, *[1] * 3, *range(2, 8)]  # three of level 2's tokens have a chance
    assert len(set(tokens[:2])) == 2 and set(tokens[2:5]) == set(tokens[5:8]) == {1, 3, 4}
    for node in range(-1, 8):
        token = 2 if node < 0 else tokens[node]
        depth = 0 if node < 0 else 1 if node < 2 else 2
        assert q[node + 1] == pytest.approx(softmax((base[depth] + bias.get(token, np.zeros(5))) / 0.5))
    assert np.array_equal(q[9:], np.full((6, 5), 0.2))
