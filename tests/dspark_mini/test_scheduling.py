"""The scheduler is proven against brute force, and by the law of what is emitted."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini.scheduling import allocate_budget, lagged_budget, schedule_prefixes

MANY, FEW = settings(max_examples=60, deadline=None), settings(max_examples=15, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
ROWS = st.lists(st.lists(st.floats(0.05, 0.99), min_size=1, max_size=4), min_size=1, max_size=3)
TIED_ROWS = st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.5, 1.0]), max_size=4), min_size=1, max_size=4)
Rows = list[list[float]]


def tau(rows: Rows, lengths: Any) -> float:
    return len(rows) + sum(sum(np.cumprod(row)[:length]) for row, length in zip(rows, lengths))


def choices(rows: Rows) -> list[tuple[int, ...]]:
    return list(product(*(range(len(row) + 1) for row in rows)))


@MANY
@given(ROWS, SEEDS)
def test_no_choice_of_lengths_is_faster_where_throughput_has_one_peak(rows: Rows, seed: int) -> None:
    rng = np.random.default_rng(seed)  # step times convex in the batch make Θ unimodal
    slopes = np.sort(rng.uniform(0.0, rng.choice([0.1, 0.5, 3.0]), size=sum(map(len, rows))))
    speeds = np.append(np.ones(len(rows)), 1.0 / np.cumsum([1.0, *slopes]))
    chosen = schedule_prefixes(rows, speeds)
    best = max(tau(rows, lengths) * speeds[len(rows) + sum(lengths)] for lengths in choices(rows))
    assert tau(rows, chosen) * speeds[len(rows) + sum(chosen)] == pytest.approx(best, rel=1e-12)
    assert allocate_budget(rows, lagged_budget(rows, speeds)) == chosen


@MANY
@given(TIED_ROWS, st.integers(0, 18))
def test_no_other_use_of_the_budget_is_expected_to_yield_more(rows: Rows, budget: int) -> None:
    chosen = allocate_budget(rows, budget)
    best = max(tau(rows, lengths) for lengths in choices(rows) if sum(lengths) <= budget)
    assert tau(rows, chosen) == pytest.approx(best, rel=1e-12)
    assert sum(chosen) == min(budget, sum(a > 0 for row in rows for a in np.cumprod(row)))


class Toy:
    """A target and a drafter over two tokens, a row for every text, and confidences for two drafts."""

    def __init__(self, rng: np.random.Generator) -> None:
        texts = [text for length in range(3) for text in product((0, 1), repeat=length)]
        self.p, self.q = ({text: rng.dirichlet([1.0, 1.0]) for text in texts} for _ in range(2))
        self.first, self.second = rng.uniform(0.2, 1.0), rng.uniform(0.0, 1.0, size=2)

    def drafts(self) -> list[tuple[tuple[int, int], float, list[float]]]:
        """Every draft, its probability and its confidences: c_2 depends on the first token, as in the paper."""
        pairs = product((0, 1), repeat=2)
        return [((a, b), self.q[()][a] * self.q[(a,)][b], [self.first, self.second[a]]) for a, b in pairs]

    def law(self, draft: tuple[int, int] = (0, 0), length: int = 0) -> np.ndarray:
        """The law of three tokens when the first tokens of a draft are verified and the target goes on alone."""
        return np.array([self._chance(text, draft, length, 0) for text in product((0, 1), repeat=3)])

    def _chance(self, text: tuple[int, ...], draft: tuple[int, int], length: int, done: int) -> float:
        if done == 3:
            return 1.0
        p, alone = self.p[text[:done]], self._chance(text, draft, 0, done + 1)
        if done >= length:
            return float(p[text[done]] * alone)
        q, x = self.q[text[:done]], draft[done]
        accept, rest = min(1.0, p[x] / q[x]), np.maximum(p - q, 0.0)
        kept = accept * self._chance(text, draft, length, done + 1) if text[done] == x else 0.0
        return float(kept + (1.0 - accept) * rest[text[done]] / max(rest.sum(), 1e-300) * alone)


def distance(toys: list[Toy], decide: Callable[[Rows], list[int]]) -> tuple[float, np.ndarray]:
    """Total variation between what all requests emit, decided together, and the targets alone; and the law."""
    emitted, plain = np.zeros([8] * len(toys)), np.array(1.0)
    for drafts in product(*(toy.drafts() for toy in toys)):
        part = np.array(1.0)
        for toy, (draft, chance, _), length in zip(toys, drafts, decide([row for _, _, row in drafts])):
            part = np.multiply.outer(part, chance * toy.law(draft, length))
        emitted += part
    for toy in toys:
        plain = np.multiply.outer(plain, toy.law())
    return 0.5 * float(np.abs(emitted - plain).sum()), emitted


@FEW
@given(SEEDS, st.integers(1, 2), st.integers(0, 5))
def test_with_the_stop_or_an_older_budget_the_output_follows_the_target(seed: int, requests: int, budget: int) -> None:
    rng = np.random.default_rng(seed)
    toys, speeds = [Toy(rng) for _ in range(requests)], rng.uniform(0.3, 1.0, size=3 * requests + 1)
    assert distance(toys, lambda rows: schedule_prefixes(rows, speeds))[0] < 1e-12
    assert distance(toys, lambda rows: allocate_budget(rows, budget))[0] < 1e-12


def test_search_that_keeps_admitting_emits_85_to_15_instead_of_70_to_30() -> None:
    toy, speeds = Toy(np.random.default_rng(0)), [0.0, 1.0, 0.5, 0.45]
    for text in toy.p:
        toy.p[text], toy.q[text] = np.array([0.7, 0.3]), np.array([0.5, 0.5])
    toy.first, toy.second = 0.8, np.array([0.9, 0.0])
    _, law = distance([toy], lambda rows: allocate_budget(rows, lagged_budget(rows, speeds)))
    assert law.reshape(2, 4).sum(axis=1) == pytest.approx([0.85, 0.15], abs=1e-12)
    assert distance([toy], lambda rows: schedule_prefixes(rows, speeds))[0] < 1e-12
