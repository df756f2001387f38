"""The engine with draft trees: the text, its law, the rows that stay in the cache, and what the trace holds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini import round_totals, verify_tree_greedy, verify_tree_sampling
from dspark_mini.drafts import corrected, draw_distinct, sample_tree, softmax
from dspark_mini.engine import PLAIN, Steps, Trace, TreeSteps, generate
from dspark_mini.laws import exact_law
from dspark_mini.toy import Cache, ToyAutoregressiveDrafter, ToyDrafter, ToyTarget

FAST = settings(max_examples=40, deadline=None)
SEEDS = st.integers(0, 2**16)
TREE = TreeSteps()


def trees(size: int, **others: Any) -> Steps:
    """Steps that draft trees of at most `size` levels."""
    return Steps(block_size=lambda trace: size, tree=replace(TREE, **others))


def run(seed: int, steps: Steps, noise: float = 0.5, markov: bool = True, **settings: Any) -> Trace:
    target = ToyTarget.random(6, seed)
    settings = {"prompt": [1, 2], "max_new_tokens": 20, "stop_tokens": [0]} | settings
    return generate(target, ToyDrafter(target.table, noise, seed + 1, markov), steps=steps, **settings)


@given(SEEDS, st.integers(0, 5), st.integers(1, 4), st.integers(0, 12), st.floats(0.0, 5.0), st.booleans())
@FAST
def test_the_greedy_text_is_that_of_plain_decoding(
    seed: int, size: int, width: int, max_nodes: int, noise: float, markov: bool
) -> None:
    trace = run(seed, trees(size, width=width, max_nodes=max_nodes), noise, markov)
    assert trace.output == run(seed, PLAIN).output


@given(SEEDS, st.integers(1, 5))
@FAST
def test_a_tree_of_width_one_is_the_chain(seed: int, size: int) -> None:
    chain, tree = run(seed, Steps(block_size=lambda trace: size)), run(seed, trees(size, width=1))
    assert tree.counts == chain.counts
    assert [this.path for this in tree.rounds] == [this.path for this in chain.rounds]
    assert all(this.parents == list(range(-1, size - 1)) for this in tree.rounds)


@given(SEEDS, st.sampled_from([0.0, 0.7, 1.0]), st.sampled_from([(2,), (3, 2), (1, 3, 1), (6, 6)]))
@FAST
def test_the_trace_of_a_tree_adds_up(seed: int, temperature: float, widths: tuple[int, ...]) -> None:
    settings = {"temperature": temperature, "rng": np.random.default_rng(seed)}
    trace = run(seed, trees(3, widths=widths), **settings)
    totals = trace.totals
    assert totals == round_totals(**trace.counts)
    assert totals["emitted"] == len(trace.output) <= 20 and totals["trimmed"] == 0
    assert trace.output[-1] == 0 or len(trace.output) == 20
    for this in trace.rounds:
        assert this.parents is not None and this.verified == len(this.parents) == len(this.drafted)
        assert this.accepted == len(this.path)
        along = [this.drafted[node] for node in this.path]
        assert along[: len(this.emitted)] == this.emitted[: this.accepted]
        assert set(this.seconds) == {"draft", "head", "verify", "commit"}


@given(SEEDS, st.sampled_from([0.0, 0.8]), st.integers(0, 4), st.integers(1, 12), st.booleans())
@FAST
def test_both_caches_hold_exactly_the_committed_tokens_but_the_last(
    seed: int, temperature: float, size: int, cap: int, tree: bool
) -> None:
    target = ToyTarget.random(6, seed)
    drafter = ToyDrafter(target.table, 0.5, seed + 1)
    steps = trees(size) if tree else Steps(block_size=lambda trace: size)
    trace = generate(target, drafter, [1, 2], cap, [0], temperature, np.random.default_rng(seed), steps)
    assert target.cache.tokens == drafter.cache.tokens == [1, 2, *trace.output][:-1]


@given(SEEDS)
@FAST
def test_a_seed_decides_everything(seed: int) -> None:
    once, twice = (run(seed, trees(4), temperature=1.0, rng=np.random.default_rng(seed)) for _ in range(2))
    for this, that in itertools.zip_longest(once.rounds, twice.rounds):
        assert (this.drafted, this.parents, this.path, this.emitted) == (
            that.drafted,
            that.parents,
            that.path,
            that.emitted,
        )


# The law of the text: exact, every coin of the tree's draws and of its verification is followed both ways.

HEAT = 0.8


def law_of_text(length: int, steps: Steps) -> dict[tuple[int, ...], float]:
    def text(rng: Any) -> tuple[int, ...]:
        target = ToyTarget.random(3, seed=4, sharpness=1.0)
        drafter = ToyDrafter(target.table, noise=1.0, seed=5)
        return tuple(generate(target, drafter, [1], length, temperature=HEAT, rng=rng, steps=steps).output)

    return exact_law(text)


def distance(length: int, steps: Steps) -> float:
    """The total variation of the emitted law from the target's own."""
    table, law = ToyTarget.random(3, seed=4, sharpness=1.0).table, law_of_text(length, steps)
    chances = dict.fromkeys(itertools.product(range(3), repeat=length), 1.0)
    for text in chances:
        for before, last, token in zip((0, 1, *text), (1, *text), text):
            chances[text] *= softmax(table[before, last] / HEAT)[token]
    assert set(law) <= set(chances)
    return 0.5 * sum(abs(law.get(text, 0.0) - chance) for text, chance in chances.items())


def first_round(size: int, **others: Any) -> Steps:
    """A tree in the first round, and plain decoding behind it: few enough coins to follow."""
    return replace(trees(size, **others), keep_drafting=lambda trace: not trace.rounds)


@pytest.mark.parametrize(("length", "widths"), [(3, (2, 1)), (3, (1, 2)), (2, (3, 1)), (2, (2,))])
def test_the_emitted_law_at_a_temperature_is_the_targets(length: int, widths: tuple[int, ...]) -> None:
    assert distance(length, first_round(len(widths), widths=widths)) < 1e-12


def test_the_emitted_law_is_the_targets_where_one_tree_follows_another() -> None:
    assert distance(2, trees(1, widths=(2,))) < 1e-12


def drawn_from(row_of: Callable[..., np.ndarray]) -> Callable[..., Any]:
    """A draw step that takes siblings from another row than the one it reports."""

    def wrong(base: Any, anchor: int, bias: Any, widths: Sequence[int], temperature: float, rng: Any) -> Any:
        q = softmax(corrected(base[0], anchor, bias) / temperature)
        tokens = draw_distinct(row_of(q, base, temperature), widths[0], rng)
        return tokens, [-1] * len(tokens), np.vstack([q, np.full((len(tokens), q.size), 1 / q.size)])

    return wrong


def without_normalising(base: Any, anchor: int, bias: Any, widths: Sequence[int], heat: float, rng: Any) -> Any:
    """A draw step whose second child is drawn as if the first child's mass belonged to the last token left."""
    q = softmax(corrected(base[0], anchor, bias) / heat)
    first = int(rng.choice(3, p=q))
    left = [token for token in range(3) if token != first]
    tokens = [first, left[0] if rng.random() < q[left[0]] else left[1]]
    return tokens, [-1, -1], np.vstack([q, np.full((2, 3), 1 / 3)])


def best_first(base: Any, anchor: int, bias: Any, widths: Sequence[int], heat: float, rng: Any) -> Any:
    """A draw step that takes the best tokens instead of drawing."""
    q = softmax(corrected(base[0], anchor, bias) / heat)
    return [*np.argsort(-q)[:2].tolist()], [-1, -1], np.vstack([q, np.full((2, 3), 1 / 3)])


@pytest.mark.parametrize(
    "wrong",
    [
        drawn_from(lambda q, base, heat: softmax(base[0] / heat)),  # without the bias
        drawn_from(lambda q, base, heat: softmax(np.log(q) * heat)),  # at another temperature
        without_normalising,
        best_first,
    ],
    ids=["no bias", "other temperature", "not normalised", "not drawn"],
)
def test_siblings_from_the_wrong_row_change_the_law(wrong: Callable[..., Any]) -> None:
    assert distance(1, first_round(1, widths=(2,))) < 1e-12
    assert distance(1, first_round(1, widths=(2,), draw=wrong)) > 0.005


def test_grandchildren_from_the_row_of_another_node_change_the_law() -> None:
    def uncles_row(base: Any, anchor: int, bias: Any, widths: Any, heat: float, rng: Any) -> Any:
        turned = {token: bias.get((token + 1) % 3) for token in range(3) if token != anchor}
        tokens, parents, q = sample_tree(base, anchor, turned | {anchor: bias.get(anchor)}, widths, heat, rng)
        for node in range(widths[0]):  # the row that is reported is the right one
            q[node + 1] = softmax(corrected(base[1], tokens[node], bias) / heat)
        return tokens, parents, q

    assert distance(2, first_round(2, widths=(1, 1))) < 1e-12
    assert distance(2, first_round(2, widths=(1, 1), draw=uncles_row)) > 0.005


def test_a_verification_that_forgets_the_siblings_before_changes_the_law() -> None:
    def forgetful(tokens: Any, parents: Any, q: Any, p: Any, rng: Any) -> dict[str, Any]:
        for node, token in enumerate(tokens):  # children of the root, each as if it were the first
            if rng.random() * q[0][token] < p[0][token]:
                return {"path": [node], "tokens": [token, int(rng.choice(3, p=p[node + 1]))]}
        return {"path": [], "tokens": [int(rng.choice(3, p=p[0]))]}

    assert distance(1, first_round(1, widths=(2,), verify_sampling=forgetful)) > 0.005


# Stops, caps, caches


@given(SEEDS, st.integers(1, 9), st.integers(0, 5))
@FAST
def test_stop_tokens_and_caps_end_the_text_inside_a_path(seed: int, cap: int, stop: int) -> None:
    """An exact drafter, so that paths are long enough to be cut, and the caches to be checked."""
    settings: dict[str, Any] = {"max_new_tokens": cap, "stop_tokens": [stop], "noise": 0.0}
    trace = run(seed, trees(5, width=2), **settings)
    assert trace.output == run(seed, PLAIN, **settings).output
    assert len(trace.output) <= cap and stop not in trace.output[:-1]
    assert len(trace.output) == cap or trace.output[-1] == stop


def test_rounds_are_cut_by_stop_tokens_and_by_caps() -> None:
    """The test above meets both."""
    cut = [run(seed, trees(5), 0.0, stop_tokens=stops, max_new_tokens=7).totals["cut"] for seed in range(20)
           for stops in ([3], [])]  # fmt: skip
    assert any(cut[::2]) and any(cut[1::2])


class FirstRows(Cache):
    """A cache that keeps as many rows as it should, but the first ones instead of those chosen."""

    def keep_last(self, count: int, chosen: Sequence[int]) -> None:
        super().keep_last(count, range(len(chosen)))


class AllRows(Cache):
    """A cache that keeps the rows of refused drafts."""

    def keep_last(self, count: int, chosen: Sequence[int]) -> None:
        pass


def with_cache(seed: int, cache: Cache) -> list[int]:
    target = ToyTarget.random(6, seed)
    target.cache = cache
    return generate(target, ToyDrafter(target.table, 0.5, seed + 1), [1, 2], 20, steps=trees(4)).output


def test_a_cache_that_keeps_refused_rows_breaks_the_contract() -> None:
    with pytest.raises(AssertionError, match="target's cache has"):
        for seed in range(20):
            with_cache(seed, AllRows())


def test_a_cache_that_keeps_the_wrong_rows_shows_in_the_text() -> None:
    plain = [run(seed, PLAIN, stop_tokens=[]).output for seed in range(20)]
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

    with pytest.raises(AssertionError, match="is no path of the tree"):
        for seed in range(20):
            run(seed, trees(4, verify_greedy=verify))


def test_the_steps_of_a_tree_are_called_in_their_mode_only() -> None:
    called = set[str]()

    def noted(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            called.add(name)
            return step(*arguments)

        return call

    names = {"build": TREE.build, "draw": sample_tree, "verify_greedy": verify_tree_greedy}
    steps = trees(3, **{n: noted(n, f) for n, f in (names | {"verify_sampling": verify_tree_sampling}).items()})
    run(0, steps)
    assert called == {"build", "verify_greedy"}
    called.clear()
    run(0, steps, temperature=1.0, rng=np.random.default_rng(0))
    assert called == {"draw", "verify_sampling"}


def test_trees_need_a_bias() -> None:
    target = ToyTarget.random(4, 0)
    with pytest.raises(ValueError, match=r"steps\.tree needs a drafter whose bias"):
        generate(target, ToyAutoregressiveDrafter(target.table, 0.0, 0), [1], 4, steps=trees(2))


def test_a_tree_accepts_more_than_the_chain_of_its_depth() -> None:
    def tau(steps: Steps) -> float:
        traces = [run(seed, steps, 1.0, stop_tokens=[], max_new_tokens=60, temperature=1.0,
                      rng=np.random.default_rng(seed)) for seed in range(12)]  # fmt: skip
        return sum(trace.totals["tau"] for trace in traces) / len(traces)

    assert tau(trees(3, widths=(3, 2, 2))) > tau(Steps(block_size=lambda trace: 3)) + 0.3


# The parts: one forward over a tree, the drawn tree, the cache


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


def test_a_forward_refuses_parents_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="parents has 2 entries for 2 tokens"):
        ToyTarget.random(3, 0).forward([1, 2], [-1, 0])


def test_a_drawn_tree_has_its_shape_and_the_rows_of_its_draws() -> None:
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


def test_widths_are_whole_numbers_from_one_on() -> None:
    with pytest.raises(ValueError, match=r"widths\[1\]"):
        run(0, trees(2, widths=(2, 0)), temperature=1.0, rng=np.random.default_rng(0))


def test_a_cache_keeps_the_chosen_of_its_last_rows() -> None:
    cache = Cache()
    cache.extend([5, 6, 7, 8, 9])
    cache.keep_last(4, [0, 2])
    assert cache.tokens == [5, 6, 8]
    cache.keep_last(0, [])
    cache.keep_last(2, [])
    assert cache.tokens == [5]


@pytest.mark.parametrize(
    ("count", "chosen", "message"),
    [
        (4, [0], "count is 4"),
        (-1, [], "count is -1"),
        (2, [2], r"chosen\[0\]"),
        (3, [1, 1], r"chosen\[1\] is 1"),
        (3, [2, 0], r"chosen\[1\] is 0"),
    ],
)
def test_a_cache_refuses_rows_that_it_cannot_keep(count: int, chosen: list[int], message: str) -> None:
    cache = Cache()
    cache.extend([1, 2, 3])
    with pytest.raises(ValueError, match=message):
        cache.keep_last(count, chosen)
    assert cache.tokens == [1, 2, 3]
