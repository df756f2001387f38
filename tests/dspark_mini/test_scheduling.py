"""The scheduler is proven against brute force, against its stated stop, and by the law of what is emitted."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini.scheduling import allocate_budget, lagged_budget, schedule_prefixes

NAN, INF = float("nan"), float("inf")
MANY = settings(max_examples=60, deadline=None)
FEW = settings(max_examples=15, deadline=None)
STAIRS = [0.0, *(1.0 / (10 + 4 * math.ceil(batch / 4)) for batch in range(1, 9))]
Rows = list[list[float]]

# Confidences with many exact ties, zeros and ones among them, and requests without tokens.
tied_rows = st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.5, 1.0]), max_size=4), min_size=1, max_size=4)
loose_rows = st.lists(st.lists(st.floats(0.05, 0.99), min_size=1, max_size=4), min_size=1, max_size=3)
seeds = st.integers(0, 2**32 - 1)


def size_of(rows: Rows) -> int:
    return len(rows) + sum(map(len, rows))


def survivals(rows: Rows) -> list[list[float]]:
    return [np.cumprod(row).tolist() if row else [] for row in rows]


def theta(rows: Rows, lengths: tuple[int, ...] | list[int], table: list[float]) -> float:
    """The throughput of any choice of verify lengths."""
    tau = len(rows) + sum(sum(row[:length]) for row, length in zip(survivals(rows), lengths))
    return tau * table[len(rows) + sum(lengths)]


def convex_table(rng: np.random.Generator, rows: Rows) -> list[float]:
    """Speeds whose step time is convex in the batch, which makes Θ unimodal in the number of tokens."""
    extra = np.sort(rng.uniform(0.0, rng.choice([0.1, 0.5, 3.0]), size=size_of(rows) - len(rows)))
    times = np.cumsum([1.0, *extra])
    return [*[NAN] * len(rows), *(1.0 / times).tolist()]  # entries below R are never used


def any_table(rng: np.random.Generator, rows: Rows) -> list[float]:
    """Speeds on a coarse grid, so that Θ ties and falls and rises; sometimes the table ends early."""
    batches = size_of(rows) + 1
    table = rng.choice([1.0, 1.5, 2.0, 3.0, 4.0, 8.0], size=batches).tolist()
    return table[: int(rng.integers(len(rows) + 1, batches + 1))]


def algorithm_1(rows: Rows, table: list[float]) -> list[set[int]]:
    """Admit token by token, as the paper states it, and return the admitted positions of every request."""
    order = sorted((-a, r, j) for r, row in enumerate(survivals(rows)) for j, a in enumerate(row) if a > 0)
    batch, tau = len(rows), float(len(rows))
    admitted: list[set[int]] = [set() for _ in rows]
    for negative, r, j in order:
        if batch + 1 == len(table) or not (tau - negative) * table[batch + 1] > tau * table[batch]:
            break
        batch, tau = batch + 1, tau - negative
        admitted[r].add(j)
    return admitted


# --- Algorithm 1 ------------------------------------------------------------------------------------------


def test_the_example_of_the_docstring_is_right() -> None:
    assert schedule_prefixes([[0.5, 0.5], [0.75]], [0, 9, 8, 7, 6, 5]) == [1, 1]


@MANY
@given(loose_rows, seeds)
def test_no_choice_of_lengths_is_faster_where_throughput_has_one_peak(rows: Rows, seed: int) -> None:
    table = convex_table(np.random.default_rng(seed), rows)
    chosen = schedule_prefixes(rows, table)
    choices = product(*(range(len(row) + 1) for row in rows))
    best = max(theta(rows, lengths, table) for lengths in choices)
    assert theta(rows, chosen, table) == pytest.approx(best, rel=1e-12)


@MANY
@given(tied_rows, seeds)
def test_elsewhere_it_stops_where_the_paper_says(rows: Rows, seed: int) -> None:
    table = any_table(np.random.default_rng(seed), rows)
    assert schedule_prefixes(rows, table) == [len(positions) for positions in algorithm_1(rows, table)]


@MANY
@given(tied_rows, seeds)
def test_admitted_tokens_are_prefixes_even_under_ties(rows: Rows, seed: int) -> None:
    table = any_table(np.random.default_rng(seed), rows)
    assert all(positions == set(range(len(positions))) for positions in algorithm_1(rows, table))


def test_a_staircase_ends_the_search_at_3_where_7_is_best() -> None:
    rows = [[0.9] * 7]
    assert schedule_prefixes(rows, STAIRS) == [3]
    best = max(range(8), key=lambda length: theta(rows, [length], STAIRS))
    assert best == 7 == lagged_budget(rows, STAIRS)
    assert theta(rows, [3], STAIRS) / theta(rows, [7], STAIRS) == pytest.approx(0.776, abs=5e-4)


@MANY
@given(loose_rows, seeds)
def test_a_longer_step_for_every_draft_token_never_admits_more(rows: Rows, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cheap, dear = np.sort(rng.uniform(0.0, 2.0, size=2))
    drafts = np.maximum(np.arange(size_of(rows) + 1) - len(rows), 0)
    many, few = (sum(schedule_prefixes(rows, 1.0 / (1.0 + cost * drafts))) for cost in (cheap, dear))
    assert many >= few


def test_a_decision_moves_when_the_table_moves() -> None:
    rows, batches = [[0.9, 0.8, 0.7], [0.6, 0.5]], np.arange(8)
    decisions = [sum(schedule_prefixes(rows, 1.0 / (1.0 + cost * batches))) for cost in (0.0, 0.2, 0.8, 2.0, 50.0)]
    assert decisions == sorted(decisions, reverse=True)
    assert decisions[0] == 5 and decisions[-1] == 0 and len(set(decisions)) >= 4


@MANY
@given(tied_rows, seeds, st.sampled_from([0.25, 2.0, 1024.0]))
def test_the_unit_of_the_speeds_does_not_matter(rows: Rows, seed: int, factor: float) -> None:
    table = any_table(np.random.default_rng(seed), rows)
    scaled = [factor * speed for speed in table]
    assert schedule_prefixes(rows, scaled) == schedule_prefixes(rows, table)
    assert lagged_budget(rows, scaled) == lagged_budget(rows, table)


@MANY
@given(tied_rows, seeds)
def test_entries_that_are_not_tried_are_not_looked_at(rows: Rows, seed: int) -> None:
    table = any_table(np.random.default_rng(seed), rows)
    lengths = schedule_prefixes(rows, table)
    candidates = sum(a > 0 for row in survivals(rows) for a in row)
    tried = min(len(rows) + sum(lengths) + 1, len(rows) + candidates)
    spoilt = [s if len(rows) <= batch <= tried else NAN for batch, s in enumerate(table)] + [-1.0]
    if len(table) > tried:
        assert schedule_prefixes(rows, spoilt) == lengths


@MANY
@given(tied_rows, seeds, st.sampled_from([NAN, INF, 0.0, -1.0]))
def test_a_bad_entry_that_is_tried_is_refused(rows: Rows, seed: int, bad: float) -> None:
    rng = np.random.default_rng(seed)
    table = any_table(rng, rows)
    candidates = sum(a > 0 for row in survivals(rows) for a in row)
    last = min(len(rows) + sum(schedule_prefixes(rows, table)) + 1, len(rows) + candidates, len(table) - 1)
    batch = int(rng.integers(len(rows), last + 1))
    table[batch] = bad
    with pytest.raises(ValueError, match=rf"steps_per_second\[{batch}\]"):
        schedule_prefixes(rows, table)


# --- What early stopping is for: the law of the output ----------------------------------------------------


class Toy:
    """A target and a drafter over two tokens, both with a table for every prefix, and confidences for two drafts."""

    def __init__(self, rng: np.random.Generator) -> None:
        prefixes = [prefix for length in range(3) for prefix in product((0, 1), repeat=length)]
        self.p = {prefix: rng.dirichlet([1.0, 1.0]) for prefix in prefixes}
        self.q = {prefix: rng.dirichlet([1.0, 1.0]) for prefix in prefixes}
        self.first, self.second = rng.uniform(0.2, 1.0), rng.uniform(0.0, 1.0, size=2)

    def confidences(self, draft: tuple[int, ...]) -> list[float]:
        """c_2 depends on the first draft token, as in the paper; no confidence depends on its own token."""
        return [self.first, self.second[draft[0]]]

    def drafts(self) -> list[tuple[tuple[int, ...], float]]:
        return [((a, b), self.q[()][a] * self.q[(a,)][b]) for a, b in product((0, 1), repeat=2)]

    def plain(self) -> np.ndarray:
        """The law of three tokens when the target decodes alone."""
        law = [self.p[()][a] * self.p[(a,)][b] * self.p[(a, b)][c] for a, b, c in product((0, 1), repeat=3)]
        return np.array(law)

    def emitted(self, draft: tuple[int, ...], length: int) -> np.ndarray:
        """The law of three tokens, given a draft whose first tokens are verified, the target decoding on."""
        law = np.zeros(8)
        for index, tokens in enumerate(product((0, 1), repeat=3)):
            law[index] = self._probability(tokens, draft, length, 0)
        return law

    def _probability(self, tokens: tuple[int, ...], draft: tuple[int, ...], length: int, done: int) -> float:
        if done == 3:
            return 1.0
        p, q = self.p[tokens[:done]], self.q.get(tokens[:done])
        if done >= length or tokens[:done] != draft[:done]:  # plain decoding behind the verified part
            return p[tokens[done]] * self._probability(tokens, draft, 0, done + 1)
        accept = min(1.0, p[draft[done]] / q[draft[done]])
        residual = np.maximum(p - q, 0.0)
        residual = residual / residual.sum() if residual.sum() > 0 else p
        kept = accept * (tokens[done] == draft[done]) * self._probability(tokens, draft, length, done + 1)
        return kept + (1 - accept) * residual[tokens[done]] * self._probability(tokens, draft, 0, done + 1)


def joint_law(toys: list[Toy], decide: Callable[[Rows], list[int]]) -> np.ndarray:
    """The exact joint law of what all requests emit when the verify lengths are decided together."""
    law = np.zeros([8] * len(toys))
    for drafts in product(*(toy.drafts() for toy in toys)):
        lengths = decide([toy.confidences(draft) for toy, (draft, _) in zip(toys, drafts)])
        part = np.array(math.prod(probability for _, probability in drafts))
        for toy, (draft, _), length in zip(toys, drafts, lengths):
            part = np.multiply.outer(part, toy.emitted(draft, length))
        law += part
    return law


def plain_law(toys: list[Toy]) -> np.ndarray:
    law = np.array(1.0)
    for toy in toys:
        law = np.multiply.outer(law, toy.plain())
    return law


def distance(law: np.ndarray, other: np.ndarray) -> float:
    return 0.5 * float(np.abs(law - other).sum())


@FEW
@given(seeds, st.integers(1, 2))
def test_with_the_stop_the_output_follows_the_target_exactly(seed: int, requests: int) -> None:
    rng = np.random.default_rng(seed)
    toys = [Toy(rng) for _ in range(requests)]
    table = rng.uniform(0.3, 1.0, size=3 * requests + 1)
    law = joint_law(toys, lambda rows: schedule_prefixes(rows, table))
    assert distance(law, plain_law(toys)) < 1e-12


@FEW
@given(seeds, st.integers(1, 2), st.integers(0, 5))
def test_a_budget_from_older_confidences_follows_the_target_exactly(seed: int, requests: int, budget: int) -> None:
    rng = np.random.default_rng(seed)
    toys = [Toy(rng) for _ in range(requests)]
    law = joint_law(toys, lambda rows: allocate_budget(rows, budget))
    assert distance(law, plain_law(toys)) < 1e-12


def counterexample() -> Toy:
    toy = Toy(np.random.default_rng(0))
    for prefix in toy.p:
        toy.p[prefix], toy.q[prefix] = np.array([0.7, 0.3]), np.array([0.5, 0.5])
    toy.first, toy.second = 0.8, np.array([0.9, 0.0])
    return toy


def first_token(law: np.ndarray) -> list[float]:
    return law.reshape(2, 4).sum(axis=1).tolist()


def test_a_search_that_keeps_admitting_emits_85_to_15_instead_of_70_to_30() -> None:
    toy, table = counterexample(), [0.0, 1.0, 0.5, 0.45]
    kept_on = joint_law([toy], lambda rows: allocate_budget(rows, lagged_budget(rows, table)))
    stopped = joint_law([toy], lambda rows: schedule_prefixes(rows, table))
    assert first_token(kept_on) == pytest.approx([0.85, 0.15], abs=1e-12)
    assert first_token(stopped) == pytest.approx([0.7, 0.3], abs=1e-12)
    assert distance(stopped, toy.plain()) < 1e-12


def test_the_same_search_on_older_confidences_is_exact() -> None:
    toy, table = counterexample(), [0.0, 1.0, 0.5, 0.45]
    for old in ([[0.8, 0.9]], [[0.8, 0.0]]):
        law = joint_law([toy], lambda rows, old=old: allocate_budget(rows, lagged_budget(old, table)))
        assert distance(law, toy.plain()) < 1e-12


# --- A fixed budget, and the budget of two rounds ago -----------------------------------------------------


@MANY
@given(tied_rows, st.integers(0, 18))
def test_no_other_use_of_the_budget_is_expected_to_yield_more(rows: Rows, budget: int) -> None:
    chosen = allocate_budget(rows, budget)
    yields = survivals(rows)
    possible = [
        sum(sum(row[:length]) for row, length in zip(yields, lengths))
        for lengths in product(*(range(len(row) + 1) for row in rows))
        if sum(lengths) <= budget
    ]
    assert sum(sum(row[:length]) for row, length in zip(yields, chosen)) == pytest.approx(max(possible), rel=1e-12)
    assert sum(chosen) == min(budget, sum(a > 0 for row in yields for a in row))


@MANY
@given(tied_rows, st.integers(0, 18))
def test_tied_tokens_get_the_budget_in_the_order_of_the_batch(rows: Rows, budget: int) -> None:
    order = sorted((-a, r, j) for r, row in enumerate(survivals(rows)) for j, a in enumerate(row) if a > 0)
    expected = [sum(r == request for _, r, _ in order[:budget]) for request in range(len(rows))]
    assert allocate_budget(rows, budget) == expected


@MANY
@given(tied_rows, seeds)
def test_the_lagged_budget_is_the_smallest_of_the_best(rows: Rows, seed: int) -> None:
    table = any_table(np.random.default_rng(seed), rows)
    ranked = sorted((a for row in survivals(rows) for a in row if a > 0), reverse=True)
    values = [
        (len(rows) + sum(ranked[:k])) * table[len(rows) + k]
        for k in range(len(ranked) + 1)
        if len(rows) + k < len(table)
    ]
    assert lagged_budget(rows, table) == values.index(max(values))


@MANY
@given(loose_rows, seeds)
def test_the_three_agree_where_throughput_has_one_peak(rows: Rows, seed: int) -> None:
    table = convex_table(np.random.default_rng(seed), rows)
    assert allocate_budget(rows, lagged_budget(rows, table)) == schedule_prefixes(rows, table)


# --- Forms, empty input, bad input ------------------------------------------------------------------------


def test_a_batch_without_requests_or_without_drafts_is_legal() -> None:
    assert schedule_prefixes([], [0.0]) == [] == schedule_prefixes(np.zeros((0, 3)), [])
    assert schedule_prefixes([[], []], [0, 1, 1]) == [0, 0] == schedule_prefixes(np.zeros((2, 0)), [0, 1, 1])
    assert allocate_budget([], 3) == [] and allocate_budget([[], [0.5]], 3) == [0, 1]
    assert lagged_budget([], []) == 0 == lagged_budget([[], []], [0, 1, 1])


@MANY
@given(tied_rows, seeds)
def test_lists_tuples_and_arrays_are_the_same_and_stay_as_they_were(rows: Rows, seed: int) -> None:
    table = any_table(np.random.default_rng(seed), rows)
    arrays, frozen = [np.array(row) for row in rows], np.array(table)
    for array in (*arrays, frozen):
        array.flags.writeable = False
    for function in (schedule_prefixes, lagged_budget):
        assert function(arrays, frozen) == function(rows, table) == function(tuple(map(tuple, rows)), tuple(table))
    assert allocate_budget(arrays, np.int64(3)) == allocate_budget(rows, 3)


def test_results_are_plain_ints_in_every_precision_of_the_input() -> None:
    for dtype in (np.float32, np.float64, np.float16):
        rows = np.array([[0.5, 0.5], [0.75, 0.25]], dtype=dtype)
        lengths = schedule_prefixes(rows, np.array([0, 9, 8, 7, 6, 5, 4], dtype=dtype))
        assert lengths == [1, 1] and all(type(length) is int for length in lengths)
    assert type(lagged_budget(rows, [0, 9, 8, 7, 6, 5])) is int
    assert all(type(length) is int for length in allocate_budget(rows, 2))


BAD_ROWS: list[tuple[Any, str]] = [
    ([[0.5, 1.5]], "[0][1]"),
    ([[0.5], [0.5, 0.5, NAN]], "[1][2]"),
    ([[0.5], [-0.25], [2.0]], "[1][0]"),
    ([[0.5, INF]], "[0][1]"),
    (np.array([[0.5, 0.5], [0.5, -1.0]]), "[1][1]"),
    ([0.5, 0.5], "[0]"),
    ([[0.5], 0.5], "[1]"),
    ([[[0.5]]], "[0]"),
    ([["0.5"]], "[0]"),
    ([[0.5], "0.5"], "[1]"),
    (0.5, ""),
    ("0.5", ""),
    ({0: [0.5]}, ""),
]


@pytest.mark.parametrize(("rows", "place"), BAD_ROWS)
def test_bad_confidences_are_named_with_request_and_position(rows: Any, place: str) -> None:
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: schedule_prefixes(rows, [1.0] * 20), "confidences"),
        (lambda: allocate_budget(rows, 0), "confidences"),
        (lambda: lagged_budget(rows, [1.0] * 20), "old_confidences"),
    ]
    for function, name in calls:
        with pytest.raises(ValueError, match=rf"^{name}{re.escape(place)} "):
            function()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "0 entries"),
        ([0.0, 1.0], "none for a batch of 2"),
        ([[0.0, 1.0], [1.0, 1.0], [1.0, 1.0]], "flat"),
        ([0.0, 1.0, "x"], "position 2"),
        ([0.0, 1.0, NAN], r"steps_per_second\[2\]"),
        ([0.0, 1.0, 0.0, 1.0], r"steps_per_second\[2\]"),
        ([0.0, 1.0, 1.0, -1.0], r"steps_per_second\[3\]"),
        ([0.0, 1.0, 1.0, 1.0, INF], r"steps_per_second\[4\]"),
    ],
)
def test_bad_tables_are_named_with_the_entry(table: Any, message: str) -> None:
    for function in (schedule_prefixes, lagged_budget):
        with pytest.raises(ValueError, match=f"^steps_per_second.*{message}|^{message}"):
            function([[0.5], [0.5]], table)


def test_a_budget_is_a_whole_number_from_0_on() -> None:
    for budget in (-1, 1.5, True, None):
        with pytest.raises(ValueError, match="budget"):
            allocate_budget([[0.5]], budget)  # type: ignore[arg-type]
