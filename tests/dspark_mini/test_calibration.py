"""Laws of the label, prefix survival, calibration error and sequential temperatures; their check values."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspark_mini.calibration import (
    acceptance_target,
    expected_calibration_error,
    fit_sequential_temperatures,
    prefix_survival,
)

EIGHTHS = st.integers(0, 8).map(lambda n: n / 8.0)


def emitted_law(q: list[Fraction], p: list[Fraction], gate: list[Fraction]) -> list[Fraction]:
    """Return the law of a token that is drafted from q, verified with chance gate[x], and otherwise drawn from p."""
    accept = [min(Fraction(1), y / x) if x else Fraction(0) for x, y in zip(q, p)]
    missing = [max(y - x, Fraction(0)) for x, y in zip(q, p)]
    law = [Fraction(0)] * len(p)
    for x, token in itertools.product(range(len(p)), repeat=2):
        verified = accept[x] * (x == token) + (1 - accept[x]) * missing[token] / (sum(missing) or 1)
        law[token] += q[x] * (gate[x] * verified + (1 - gate[x]) * p[token])
    return law


def test_label_is_the_share_accepted_and_only_a_gate_that_sees_the_token_bends_the_law() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        q, p = ([Fraction(int(n), 8) for n in row] for row in rng.multinomial(8, [0.25] * 4, size=2))
        label = acceptance_target([list(map(float, q))], [list(map(float, p))])[0]
        assert label == float(sum(x * min(Fraction(1), y / x) for x, y in zip(q, p) if x))
        assert emitted_law(q, p, [Fraction(3, 8)] * 4) == p
        gate = [Fraction(y >= x) for x, y in zip(q, p)]
        held = sum(x for x, sent in zip(q, gate) if not sent)
        assert emitted_law(q, p, gate) == [x * sent + held * y for x, y, sent in zip(q, p, gate)]


def test_check_values() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(40), size=50)
    apart = acceptance_target(np.hstack([rows, 0 * rows]), np.hstack([0 * rows, rows]))
    assert (apart >= 0.0).all() and (acceptance_target(rows, rows) == 1.0).all()  # rounding leaves a label a chance
    assert acceptance_target([[0.2, 0.2, 0.6]], [[0.5, 0.3, 0.2]]) == pytest.approx([0.6], abs=1e-15)
    assert 1.0 + prefix_survival([0.8] * 7).sum() == pytest.approx(4.1611392, abs=1e-12)
    q, p = ([Fraction(n, 10) for n in row] for row in ((2, 2, 6), (5, 3, 2)))
    law = emitted_law(q, p, [Fraction(1), Fraction(1), Fraction(0)])  # the gate of the lesson
    assert sum(abs(x - y) for x, y in zip(law, p)) / 2 == Fraction(8, 100)


def test_survival_is_the_chance_of_every_outcome_that_accepts_the_prefix() -> None:
    confidences, expected = [0.5, 0.875, 1.0, 0.25, 0.0], np.zeros(5)
    for outcome in itertools.product((0, 1), repeat=5):  # 1 where a token would pass
        weight = math.prod(c if passed else 1.0 - c for c, passed in zip(confidences, outcome))
        expected += weight * np.cumprod(outcome)
    assert prefix_survival(confidences) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(EIGHTHS, st.integers(0, 1)), min_size=1, max_size=30))
def test_splitting_bins_hides_nothing_and_the_order_of_samples_does_not_count(samples: list[tuple[float, int]]) -> None:
    predicted, observed = zip(*samples)
    errors = [expected_calibration_error(predicted, observed, n) for n in (1, 2, 4, 8)]
    assert all(coarse <= fine + 1e-12 for coarse, fine in itertools.pairwise(errors)) and errors[-1] <= 1.0
    assert errors[0] == pytest.approx(abs(np.mean(predicted) - np.mean(observed)), abs=1e-12)
    assert errors[2] == pytest.approx(expected_calibration_error(predicted[::-1], observed[::-1], 4), abs=1e-12)
    assert expected_calibration_error(observed, observed) == 0.0


def test_stated_temperatures_are_found_again_and_depend_on_what_comes_before_only() -> None:
    rng, stated, grid = np.random.default_rng(0), np.array([2.0, 0.5, 3.0]), np.arange(1, 33) / 8
    truth = rng.normal(1.0, 1.3, size=(4000, 3))
    accepted = np.cumprod(rng.random(truth.shape) < 1.0 / (1.0 + np.exp(-truth)), axis=1)
    fitted = fit_sequential_temperatures(truth * stated, accepted, grid)
    assert fitted == pytest.approx(stated, rel=0.35)
    assert (fitted[:2] == fit_sequential_temperatures(truth[:, :2] * stated[:2], accepted[:, :2], grid[::-1])).all()
    before, after = (prefix_survival(1.0 / (1.0 + np.exp(-truth * stated / t))) for t in (1.0, fitted))
    for k in range(3):
        assert expected_calibration_error(after[:, k], accepted[:, k]) < 0.025
        assert expected_calibration_error(before[:, k], accepted[:, k]) > 0.025


def test_logits_of_minus_infinity_and_huge_ones_are_taken_as_they_are() -> None:
    logits = [[1000.0, -np.inf], [-1000.0, 0.5], [-np.inf, 0.5]]
    with np.errstate(all="raise", under="ignore"):
        assert fit_sequential_temperatures(logits, [[1, 0], [0, 0], [0, 0]], [0.5, 2.0]).tolist() == [0.5, 0.5]
