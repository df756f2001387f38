"""Exact laws of random functions: every decision is followed both ways; what cannot be followed is sampled."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini.laws import DRAWS, exact_law, law

COMPARISONS = [
    "u < p", "u <= p", "p > u", "not u >= p", "1 - u > 1 - p", "2 * u < 2 * p", "u / 4 < p / 4", "u - p < 0",
    "3 + u < 3 + p", "-2 * u > -2 * p",
]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.floats(0, 1), st.sampled_from(COMPARISONS))
def test_a_comparison_holds_with_its_probability_in_every_notation(p: float, text: str) -> None:
    for bound in (p, np.float64(p)):
        found = exact_law(lambda rng: bool(eval(text, {"u": rng.random(), "p": bound})))  # noqa: B023
        assert found.get(True, 0.0) == pytest.approx(p, abs=1e-9)
        assert math.fsum(found.values()) == pytest.approx(1.0)


LAWS: list[tuple[Any, dict[Any, float]]] = [
    (lambda rng: rng.random() < 1.0, {True: 1.0}),  # outcomes of probability zero are left out
    (lambda rng: rng.random() < 0.0, {False: 1.0}),
    (lambda rng: rng.random() * 0.0 < 0.0, {False: 1.0}),
    (lambda rng: int(rng.choice(3, p=[0.0, 1.0, 0.0])), {1: 1.0}),
    (lambda rng: int(rng.choice(3, p=[0.5, 0.25, 0.25])), {0: 0.5, 1: 0.25, 2: 0.25}),
    (lambda rng: str(rng.choice(["a", "b"])), {"a": 0.5, "b": 0.5}),
    (lambda rng: rng.integers(4), dict.fromkeys(range(4), 0.25)),
    (lambda rng: rng.integers(2, 4), {2: 0.5, 3: 0.5}),
    (lambda rng: rng.uniform(2, 4) < 2.5, {True: 0.25, False: 0.75}),
]


def test_draws_of_every_kind_have_their_law() -> None:
    for draw, expected in LAWS:
        assert exact_law(draw) == pytest.approx(expected)


def test_decisions_multiply_along_every_branch() -> None:
    def run(rng: Any) -> str:
        if rng.random() < 0.25:
            return "early"
        return f"late {int(rng.choice(2, p=[0.75, 0.25]))}"

    def twice(rng: Any) -> tuple[bool, bool]:
        u = rng.random()
        return u < 0.5, u < 0.25

    assert exact_law(run) == pytest.approx({"early": 0.25, "late 0": 0.5625, "late 1": 0.1875})
    assert exact_law(twice) == pytest.approx({(True, True): 0.25, (True, False): 0.25, (False, False): 0.5})


def test_what_cannot_be_followed_is_sampled() -> None:
    def run(rng: Any) -> int:
        return int(rng.binomial(1, 0.25))

    with pytest.raises(AttributeError):
        exact_law(run)
    assert law(run)[1] == pytest.approx(0.25, abs=6 * math.sqrt(0.25 * 0.75 / DRAWS))
    assert law(lambda rng: rng.random() < 0.25) == pytest.approx({True: 0.25, False: 0.75})


def test_too_many_branches_are_not_followed_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dspark_mini.laws.MOST_CALLS", 100)
    with pytest.raises(TypeError, match="more than 100 branches"):
        exact_law(lambda rng: tuple(rng.random() < 0.5 for _ in range(20)))
