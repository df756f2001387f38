"""Proofs, examples and bad inputs of the label, prefix survival, calibration error and sequential temperatures."""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from fractions import Fraction
from typing import Any

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

NAN, INF = float("nan"), float("inf")
MANY = settings(max_examples=40, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
EIGHTHS = st.integers(0, 8).map(lambda n: n / 8.0)


@st.composite
def row_pairs(draw: st.DrawFn, most: int = 4) -> tuple[list[list[float]], list[list[float]]]:
    """Two blocks of distributions in exact sixteenths, zeros among them."""
    positions, vocabulary = draw(st.integers(1, most)), draw(st.integers(1, 5))

    def row() -> list[float]:
        cuts = sorted(draw(st.lists(st.integers(0, 16), min_size=vocabulary - 1, max_size=vocabulary - 1)))
        return [(b - a) / 16.0 for a, b in itertools.pairwise([0, *cuts, 16])]

    return [row() for _ in range(positions)], [row() for _ in range(positions)]


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[float], list[int]]:
    """Predictions in exact eighths, so that many lie on edges, and outcomes."""
    size = draw(st.integers(1, 30))
    predicted = draw(st.lists(EIGHTHS, min_size=size, max_size=size))
    return predicted, draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))


@st.composite
def rounds(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Confidence logits, what was accepted, and a grid in any order, with repeats."""
    rng = np.random.default_rng(draw(SEEDS))
    shape = draw(st.integers(1, 40)), draw(st.integers(1, 5))
    logits = rng.normal(1.0, 1.5, size=shape)
    accepted = np.cumprod(rng.random(shape) < 1.0 / (1.0 + np.exp(-0.6 * logits)), axis=1)
    grid = draw(st.lists(st.integers(1, 24).map(lambda n: n / 8.0), min_size=1, max_size=8))
    return logits, accepted, grid


# --- Task 4.1: the label, by enumeration of verification -----------------------------------------------


def test_the_label_has_the_check_value() -> None:
    assert acceptance_target([[0.2, 0.2, 0.6]], [[0.5, 0.3, 0.2]]) == pytest.approx([0.6], abs=1e-15)


@MANY
@given(row_pairs())
def test_the_label_is_the_share_of_drafts_that_verification_accepts(
    pair: tuple[list[list[float]], list[list[float]]],
) -> None:
    for q, p, label in zip(*pair, acceptance_target(*pair)):
        drawn = [(Fraction(x), Fraction(y)) for x, y in zip(q, p) if x]
        assert label == float(sum(x * min(Fraction(1), y / x) for x, y in drawn))


@MANY
@given(row_pairs())
def test_labels_are_chances_alike_both_ways_and_position_by_position(
    pair: tuple[list[list[float]], list[list[float]]],
) -> None:
    labels = acceptance_target(*pair)
    assert labels.shape == (len(pair[0]),) and labels.dtype == np.float64
    assert ((labels >= 0.0) & (labels <= 1.0)).all()
    assert np.array_equal(labels, acceptance_target(*reversed(pair)))
    assert labels.tolist() == [acceptance_target([q], [p])[0] for q, p in zip(*pair)]
    assert [label == 1.0 for label in labels] == [q == p for q, p in zip(*pair)]


@MANY
@given(SEEDS, st.integers(1, 40))
def test_rounding_leaves_no_label_outside_of_zero_and_one(seed: int, vocabulary: int) -> None:
    rng = np.random.default_rng(seed)
    q, p = np.zeros((2, 8, 2 * vocabulary))
    q[:, :vocabulary], p[:, vocabulary:] = rng.dirichlet(np.ones(vocabulary), size=(2, 8))
    apart, alike = acceptance_target(q, p), acceptance_target(q, q)
    assert apart == pytest.approx(np.zeros(8), abs=1e-12) and (apart >= 0.0).all()
    assert (alike == 1.0).all()
    assert prefix_survival(apart).shape == (8,)  # a label is a legal confidence


# --- Why the gate may not look at the token ------------------------------------------------------------


def emitted_law(q: list[Fraction], p: list[Fraction], gate: list[Fraction]) -> list[Fraction]:
    """Add up, over every draft, what is emitted if the draft is verified with chance gate[x] and else replaced by p."""
    accept = [min(Fraction(1), y / x) if x else Fraction(0) for x, y in zip(q, p)]
    missing = [max(y - x, Fraction(0)) for x, y in zip(q, p)]
    total = sum(missing) or Fraction(1)
    law = [Fraction(0)] * len(p)
    for x, chance in enumerate(q):
        for token in range(len(p)):
            kept = accept[x] if token == x else Fraction(0)
            verified = kept + (1 - accept[x]) * missing[token] / total
            law[token] += chance * (gate[x] * verified + (1 - gate[x]) * p[token])
    return law


@MANY
@given(row_pairs(most=1), EIGHTHS)
def test_a_gate_that_does_not_see_the_token_leaves_the_law_exactly_as_it_is(
    pair: tuple[list[list[float]], list[list[float]]], chance: float
) -> None:
    q, p = ([Fraction(x) for x in rows[0]] for rows in pair)
    assert emitted_law(q, p, [Fraction(chance)] * len(p)) == p


@MANY
@given(row_pairs(most=1))
def test_a_gate_that_holds_doubtful_tokens_back_emits_them_too_rarely(
    pair: tuple[list[list[float]], list[list[float]]],
) -> None:
    q, p = ([Fraction(x) for x in rows[0]] for rows in pair)
    gate = [Fraction(y >= x) for x, y in zip(q, p)]
    held = sum((x for x, sent in zip(q, gate) if not sent), Fraction(0))
    law = emitted_law(q, p, gate)
    # A token that is sent is accepted for sure: the law is q where the gate sends, and p for the rest of the time.
    assert law == [x * sent + held * y for x, y, sent in zip(q, p, gate)]
    assert all(emitted < y for emitted, y, sent in zip(law, p, gate) if not sent and y and held < 1)


def test_the_bias_of_the_lesson_is_eight_hundredths() -> None:
    q, p = ([Fraction(n, 10) for n in row] for row in ((2, 2, 6), (5, 3, 2)))
    law = emitted_law(q, p, [Fraction(1), Fraction(1), Fraction(0)])
    assert law == [Fraction(50, 100), Fraction(38, 100), Fraction(12, 100)]
    assert sum(abs(x - y) for x, y in zip(law, p)) / 2 == Fraction(8, 100)


# --- Task 4.2: prefix survival --------------------------------------------------------------------------


@MANY
@given(st.lists(EIGHTHS, max_size=6))
def test_survival_is_the_chance_of_every_outcome_that_accepts_the_prefix(confidences: list[float]) -> None:
    survival = prefix_survival(confidences)
    assert survival.shape == (len(confidences),) and survival.dtype == np.float64
    expected, count = [0.0] * len(confidences), 0.0
    for outcome in itertools.product((0, 1), repeat=len(confidences)):  # 1 where a token would pass
        weight = math.prod(c if passed else 1.0 - c for c, passed in zip(confidences, outcome))
        accepted = next((k for k, passed in enumerate(outcome) if not passed), len(outcome))
        count += weight * accepted
        for j in range(accepted):
            expected[j] += weight
    assert survival.tolist() == pytest.approx(expected, abs=1e-12)
    assert survival.sum() == pytest.approx(count, abs=1e-12)


def test_expected_accepted_length_follows_from_survival() -> None:
    assert 1.0 + prefix_survival([0.8] * 7).sum() == pytest.approx(4.1611392, abs=1e-12)


@MANY
@given(SEEDS, st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_blocks_run_along_the_last_axis_and_do_not_mix(seed: int, shape: list[int]) -> None:
    values = np.random.default_rng(seed).random(shape)
    survival = prefix_survival(values)
    assert survival.shape == values.shape and survival.dtype == np.float64
    for index in np.ndindex(*shape[:-1]):
        assert np.array_equal(survival[index], prefix_survival(values[index].tolist()))
    assert (np.diff(survival, axis=-1) <= 0.0).all()


@MANY
@given(st.lists(EIGHTHS, max_size=6), st.sampled_from([list, tuple, np.array]))
def test_survival_is_the_same_for_every_form_and_leaves_its_input_alone(confidences: list[float], form: Any) -> None:
    given_values = form(confidences)
    before = list(confidences)
    first = prefix_survival(given_values)
    first[:] = 9.0
    assert list(given_values) == before
    assert prefix_survival(given_values).tolist() == prefix_survival(before).tolist()


def test_whole_numbers_become_floats_and_nothing_stays_nothing() -> None:
    assert prefix_survival([1, 0, 1]).dtype == np.float64
    assert [prefix_survival(np.zeros(shape)).shape for shape in ((0,), (3, 0), (0, 2))] == [(0,), (3, 0), (0, 2)]


# --- Task 4.3: calibration error -----------------------------------------------------------------------


def error_by_hand(predicted: list[float], observed: list[int], n_bins: int) -> Fraction:
    """Follow the definition word by word, exactly."""
    bins: dict[int, list[tuple[Fraction, int]]] = defaultdict(list)
    for p, o in zip(map(Fraction, predicted), observed):
        bins[min(math.floor(p * n_bins), n_bins - 1)].append((p, o))
    total = Fraction(0)
    for members in bins.values():
        mean, share = sum(p for p, _ in members) / len(members), Fraction(sum(o for _, o in members), len(members))
        total += Fraction(len(members), len(predicted)) * abs(mean - share)
    return total


@MANY
@given(samples(), st.sampled_from([1, 2, 4, 8, 16]))
def test_the_error_follows_the_definition_on_every_edge(sample: tuple[list[float], list[int]], n_bins: int) -> None:
    expected = float(error_by_hand(*sample, n_bins))
    assert expected_calibration_error(*sample, n_bins) == pytest.approx(expected, abs=1e-15)


@MANY
@given(SEEDS, st.integers(1, 25))
def test_the_error_follows_the_definition_for_any_number_of_bins(seed: int, n_bins: int) -> None:
    rng = np.random.default_rng(seed)
    predicted, observed = rng.random(50), rng.integers(0, 2, size=50)
    expected = float(error_by_hand(predicted.tolist(), observed.tolist(), n_bins))
    assert expected_calibration_error(predicted, observed, n_bins) == pytest.approx(expected, abs=1e-12)


@MANY
@given(samples(), st.data())
def test_the_order_of_the_samples_does_not_matter_and_the_input_stays(
    sample: tuple[list[float], list[int]], data: st.DataObject
) -> None:
    predicted, observed = np.array(sample[0]), np.array(sample[1]) > 0
    order = data.draw(st.permutations(range(len(predicted))))
    predicted.flags.writeable = observed.flags.writeable = False
    error = expected_calibration_error(predicted, observed)
    assert type(error) is float and 0.0 <= error <= 1.0
    assert error == pytest.approx(expected_calibration_error(predicted[order], observed[order]), abs=1e-12)
    assert error == expected_calibration_error(*sample, n_bins=10)


@MANY
@given(samples())
def test_splitting_bins_never_hides_an_error_and_one_bin_compares_the_means(
    sample: tuple[list[float], list[int]],
) -> None:
    errors = [expected_calibration_error(*sample, n) for n in (1, 2, 4, 8)]
    assert all(coarse <= fine + 1e-12 for coarse, fine in itertools.pairwise(errors))
    assert errors[0] == pytest.approx(abs(np.mean(sample[0]) - np.mean(sample[1])), abs=1e-12)
    assert expected_calibration_error(sample[1], sample[1]) == 0.0


# --- Task 4.4: sequential temperatures ------------------------------------------------------------------


def errors_by_hand(logits: np.ndarray, accepted: np.ndarray, fitted: list[float], grid: list[float]) -> list[float]:
    """The error of every temperature at the position behind the fitted ones, in plain floats."""
    k = len(fitted)
    errors = []
    for t in grid:
        predicted = [
            math.prod(1.0 / (1.0 + math.exp(-x / s)) for x, s in zip(row, [*fitted, t])) for row in logits.tolist()
        ]
        bins: dict[int, float] = defaultdict(float)
        for p, o in zip(predicted, accepted[:, k].tolist()):
            bins[min(int(10.0 * p), 9)] += p - o
        errors.append(sum(map(abs, bins.values())) / len(predicted))
    return errors


@settings(max_examples=60, deadline=None)
@given(rounds())
def test_fitted_temperatures_agree_with_a_direct_search(case: tuple[np.ndarray, np.ndarray, list[float]]) -> None:
    logits, accepted, grid = case
    fitted = fit_sequential_temperatures(*case)
    assert fitted.shape == (logits.shape[1],) and fitted.dtype == np.float64 and set(fitted) <= set(grid)
    for k, chosen in enumerate(fitted.tolist()):
        errors = errors_by_hand(logits, accepted, fitted[:k].tolist(), grid)
        near = {t for t, error in zip(grid, errors) if error < min(errors) + 1e-12}
        assert chosen in near  # where two errors differ by rounding only, either is right


@MANY
@given(rounds(), st.data())
def test_neither_the_order_of_the_grid_nor_of_the_rounds_nor_what_comes_later_counts(
    case: tuple[np.ndarray, np.ndarray, list[float]], data: st.DataObject
) -> None:
    logits, accepted, grid = case
    fitted = fit_sequential_temperatures(*case)
    shuffled = data.draw(st.permutations(grid))
    assert np.array_equal(fitted, fit_sequential_temperatures(logits, accepted, [*shuffled, shuffled[0]]))
    k = data.draw(st.integers(1, logits.shape[1]))
    assert np.array_equal(fitted[:k], fit_sequential_temperatures(logits[:, :k], accepted[:, :k] > 0, grid))


@MANY
@given(st.lists(st.integers(1, 32).map(lambda n: n / 8.0), min_size=1, max_size=8), st.integers(1, 3))
def test_where_everything_ties_the_temperature_closest_to_one_wins_then_the_smaller(
    grid: list[float], gamma: int
) -> None:
    expected = min(grid, key=lambda t: (abs(Fraction(t) - 1), t))
    accepted = np.cumprod(np.arange(4 * gamma).reshape(4, gamma) % 3 > 0, axis=1)
    for logit in (0.0, 400.0):  # one half, or certainty, at every temperature
        fitted = fit_sequential_temperatures(np.full((4, gamma), logit), accepted, grid)
        assert fitted.tolist() == [expected] * gamma


def test_the_worked_example_and_the_trap_beside_it() -> None:
    logits = [[math.log(9.0), math.log(2.0)]] * 4
    accepted = [[1, 1], [1, 1], [1, 0], [0, 0]]
    assert fit_sequential_temperatures(logits, accepted, [1, 2]).tolist() == [2.0, 1.0]
    raw = errors_by_hand(np.array(logits), np.array(accepted), [1.0], [1.0, 2.0])
    assert raw[1] < raw[0]  # with position 1 left raw, the other temperature would win


def test_a_stated_temperature_is_found_again_and_the_error_falls() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(1.0, 1.3, size=(4000, 3))
    accepted = np.cumprod(rng.random(truth.shape) < 1.0 / (1.0 + np.exp(-truth)), axis=1)
    stated = np.array([2.0, 0.5, 3.0])
    fitted = fit_sequential_temperatures(truth * stated, accepted, np.arange(1, 33) / 8)
    assert fitted == pytest.approx(stated, rel=0.35)
    for k in range(3):
        before, after = (
            expected_calibration_error(prefix_survival(1.0 / (1.0 + np.exp(-truth * stated / t)))[:, k], accepted[:, k])
            for t in (1.0, fitted)
        )
        assert after < 0.025 < before


def test_logits_of_minus_infinity_and_huge_ones_are_taken_as_they_are() -> None:
    logits = [[1000.0, -INF], [-1000.0, 0.5], [-INF, 0.5]]
    with np.errstate(all="raise", under="ignore"):
        assert fit_sequential_temperatures(logits, [[1, 0], [0, 0], [0, 0]], [0.5, 2.0]).tolist() == [0.5, 0.5]


@MANY
@given(rounds())
def test_logits_labels_and_grid_are_left_as_they_were(case: tuple[np.ndarray, np.ndarray, list[float]]) -> None:
    arrays = [np.array(argument) for argument in case]
    for array in arrays:
        array.flags.writeable = False
    lists = [array.tolist() for array in arrays]
    assert np.array_equal(fit_sequential_temperatures(*arrays), fit_sequential_temperatures(*lists))
    assert [array.tolist() for array in arrays] == lists


# --- Bad input ------------------------------------------------------------------------------------------

HALF = [0.5, 0.5]


@pytest.mark.parametrize(("arguments", "where"), [
    pytest.param(([HALF, [0.5, 0.25]], [HALF, HALF]), "q row 1 sums to 0.75", id="q sums to less"),
    pytest.param(([HALF, HALF], [[0.75, 0.5], HALF]), "p row 0 sums to 1.25", id="p sums to more"),
    pytest.param(([HALF, [1.5, -0.5]], [HALF, HALF]), "q row 1 holds -0.5", id="negative"),
    pytest.param(([HALF, HALF], [HALF, [NAN, 0.5]]), "p row 1 holds nan", id="nan"),
    pytest.param(([[INF, 0.5]], [HALF]), "q row 0 holds inf", id="infinity"),
    pytest.param(([HALF, [1.0]], [HALF, HALF]), "q row 1 has shape", id="ragged"),
    pytest.param(([HALF], [[0.5, 0.25, 0.25]]), "p has shape (1, 3), but q has shape (1, 2)", id="vocabularies"),
    pytest.param(([HALF, HALF], [HALF]), "p has shape (1, 2), but q has shape (2, 2)", id="lengths"),
    pytest.param((HALF, HALF), "q must be a matrix", id="flat"),
    pytest.param(([[HALF]], [[HALF]]), "q must be a matrix", id="three axes"),
    pytest.param(([], []), "q is empty", id="no positions"),
    pytest.param(([[], []], [[], []]), "q must be a matrix", id="no tokens"),
    pytest.param(([["a", "b"]], [HALF]), "q row 0", id="text"),
    pytest.param((None, [HALF]), "q", id="nothing"),
])  # fmt: skip
def test_bad_input_of_the_label_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        acceptance_target(*arguments)


@pytest.mark.parametrize(("confidences", "where"), [
    pytest.param([0.5, 1.5], "confidences[1] must lie between 0 and 1, not 1.5", id="above 1"),
    pytest.param([-0.25, 1.5], "confidences[0]", id="below 0, the first counts"),
    pytest.param([0.5, 0.0, NAN], "confidences[2]", id="nan behind a zero"),
    pytest.param([0.5, INF], "confidences[1]", id="infinity"),
    pytest.param([HALF, [0.5, NAN]], "confidences row 1", id="a row"),
    pytest.param([[HALF, HALF], [HALF, [2.0, 0.5]]], "confidences row 1", id="three axes"),
    pytest.param([HALF, [0.5]], "confidences row 1 has shape", id="ragged"),
    pytest.param(0.5, "confidences must be a sequence", id="a number"),
    pytest.param(None, "confidences", id="nothing"),
    pytest.param("0.5", "confidences", id="text"),
    pytest.param([0.5, "x"], "confidences", id="text among them"),
])  # fmt: skip
def test_bad_confidences_are_refused(confidences: Any, where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        prefix_survival(confidences)


@pytest.mark.parametrize(("arguments", "where"), [
    pytest.param(([0.5, 1.5], [0, 1]), "predicted[1]", id="above 1"),
    pytest.param(([-0.5, 0.5], [0, 1]), "predicted[0]", id="below 0"),
    pytest.param(([0.5, NAN], [0, 1]), "predicted[1]", id="nan"),
    pytest.param(([0.5, 0.5], [NAN, 1]), "observed[0]", id="an outcome is nan"),
    pytest.param(([0.5, 0.5], [0, 2]), "observed[1]", id="an outcome is 2"),
    pytest.param(([0.5], [0, 1]), "observed has shape (2,), but predicted has shape (1,)", id="more outcomes"),
    pytest.param(([0.5, 0.5], [0]), "observed has shape (1,), but predicted has shape (2,)", id="fewer outcomes"),
    pytest.param(([HALF], [[0, 1]]), "predicted must be a flat sequence", id="matrices"),
    pytest.param(([], []), "predicted is empty", id="no samples"),
    pytest.param(([0.5], [1], 0), "n_bins", id="no bins"),
    pytest.param(([0.5], [1], -1), "n_bins", id="n_bins negative"),
    pytest.param(([0.5], [1], 2.5), "n_bins", id="n_bins a float"),
    pytest.param(([0.5], [1], None), "n_bins", id="n_bins None"),
    pytest.param(([0.5], [1], True), "n_bins", id="n_bins a bool"),
])  # fmt: skip
def test_bad_input_of_the_error_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        expected_calibration_error(*arguments)


@pytest.mark.parametrize(("arguments", "where"), [
    pytest.param(([[0.5], [NAN]], [[1], [0]], [1.0]), "confidence_logits row 1", id="nan"),
    pytest.param(([[INF], [NAN]], [[1], [0]], [1.0]), "confidence_logits row 0", id="infinity, the first counts"),
    pytest.param(([[0.5, 1.0], [-INF, -INF]], [[1, 0], [0, 0]], [1.0]), "confidence_logits row 1", id="only -inf"),
    pytest.param(([[0.5, 0.5], [0.5]], [[1, 0], [0, 0]], [1.0]), "confidence_logits row 1", id="ragged"),
    pytest.param((HALF, [1, 0], [1.0]), "confidence_logits must be a matrix", id="flat"),
    pytest.param(([], [], [1.0]), "confidence_logits is empty", id="no rounds"),
    pytest.param(([[], []], [[], []], [1.0]), "confidence_logits is empty", id="no positions"),
    pytest.param(([[0.5], [0.5]], [[1]], [1.0]), "accepted has shape (1, 1)", id="fewer outcomes"),
    pytest.param(([[0.5]], [[1, 0]], [1.0]), "accepted has shape (1, 2)", id="more outcomes"),
    pytest.param(([[0.5]], [1], [1.0]), "accepted has shape (1,)", id="accepted flat"),
    pytest.param(([[0.5], [0.5]], [[1], [NAN]], [1.0]), "accepted row 1", id="an outcome is nan"),
    pytest.param(([[0.5], [0.5]], [[1], [2]], [1.0]), "accepted row 1", id="an outcome is 2"),
    pytest.param(([[0.5]], [[1]], []), "grid is empty", id="no grid"),
    pytest.param(([[0.5]], [[1]], [1.0, 0.0]), "grid[1]", id="a temperature of 0"),
    pytest.param(([[0.5]], [[1]], [1.0, 2.0, -1.0]), "grid[2]", id="a negative temperature"),
    pytest.param(([[0.5]], [[1]], [NAN]), "grid[0]", id="a temperature is nan"),
    pytest.param(([[0.5]], [[1]], [1.0, INF]), "grid[1]", id="a temperature is infinite"),
    pytest.param(([[0.5]], [[1]], [[1.0]]), "grid must be a flat sequence", id="the grid is a matrix"),
    pytest.param(([[0.5]], [[1]], 1.0), "grid must be a flat sequence", id="the grid is a number"),
])  # fmt: skip
def test_bad_input_of_the_fit_is_refused(arguments: tuple[Any, ...], where: str) -> None:
    with pytest.raises(ValueError, match=re.escape(where)):
        fit_sequential_temperatures(*arguments)
