"""Lesson 00, the economics of speculation: oracles and hidden cases."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, call


# --- 0.1 expected_accepted_length -------------------------------------------------------------------------------------
def tau(confidences: Array, verify_length: int | None = None) -> float:
    """Work from the last token to the first: 1 + c_1 (1 + c_2 (1 + …))."""
    length = 1.0
    for confidence in reversed(confidences.tolist()[:verify_length]):
        length = 1.0 + confidence * length
    return length


def one_plus_the_survivals(rng: Rng) -> Iterator[Call]:
    for size in range(1, 13):
        yield call(rng.uniform(0.2, 1.0, size=size))
        yield call(rng.uniform(0.5, 1.0, size=size), None)
    yield call([0.8] * 7)
    yield call(rng.uniform(0.9, 1.0, size=64))


def verify_length_cuts(rng: Rng) -> Iterator[Call]:
    for size in range(1, 8):
        confidences = rng.uniform(0.2, 1.0, size=size)
        for length in range(size + 1):
            yield call(confidences, length)
    yield call([0.5, 0.75, 0.25], verify_length=0)


def certain_and_hopeless_tokens(rng: Rng) -> Iterator[Call]:
    """Only 0 and 1: the expected length is a whole number."""
    for _ in range(20):
        size = int(rng.integers(1, 9))
        yield call(rng.choice([0.0, 1.0], p=[0.25, 0.75], size=size), int(rng.integers(0, size + 1)))
    yield call([1.0, 0.0, 1.0, 1.0])
    yield call([0.0, 1.0], 1)


def nothing_verified_is_one(rng: Rng) -> Iterator[Call]:
    yield call([])
    yield call([], 0)
    yield call([], None)
    yield call([1.0, 1.0], 0)


# --- 0.2 speedup ------------------------------------------------------------------------------------------------------
def ratio(length: float, draft: float, verify: float, target: float, correction_time: float = 0.0) -> float:
    seconds_per_token = math.fsum([draft, verify, correction_time]) / length
    return target / seconds_per_token


def rounds(rng: Rng, corrected: bool) -> Iterator[Call]:
    for _ in range(20):
        times = rng.uniform(0.1, 20.0, size=4 if corrected else 3)
        yield call(float(rng.uniform(1.0, 8.0)), *times.tolist())


def tokens_of_a_round_over_its_time(rng: Rng) -> Iterator[Call]:
    yield from rounds(rng, corrected=False)


def correction_counts(rng: Rng) -> Iterator[Call]:
    yield from rounds(rng, corrected=True)
    yield call(2.5, 1.0, 4.0, 3.0, correction_time=2.0)


def losses_are_told(rng: Rng) -> Iterator[Call]:
    """Rounds that are slower than plain decoding, in units from microseconds to hours."""
    for unit in (1e-6, 1e-3, 1.0, 3600.0):
        for _ in range(5):
            draft, verify, correction = (rng.uniform(2.0, 9.0, size=3) * unit).tolist()
            yield call(float(rng.uniform(1.0, 2.0)), draft, verify, unit, correction)


def free_parts(rng: Rng) -> Iterator[Call]:
    yield call(2.5, 0.0, 2.0, 1.0)
    yield call(2.5, 2.0, 0.0, 1.0)
    yield call(2.5, 0.0, 0.0, 1.0, 2.0)
    yield call(1.0, 0.0, 4.0, 4.0, 0.0)
    yield call(1, 1, 2, 3, 0)


# --- 0.3 net_benefit --------------------------------------------------------------------------------------------------
def benefit(
    confidences: Array,
    verify_length: int,
    draft_time: float,
    verify_times: Array,
    target_time: float,
    correction_time: float = 0.0,
    min_gain: float = 0.0,
) -> dict[str, Any]:
    gains = [
        ratio(tau(confidences, length), draft_time, float(time), target_time, correction_time) - 1.0
        for length, time in enumerate(verify_times)
    ]
    enough = [length for length in range(1, len(gains)) if gains[length] >= min_gain]
    if verify_length in enough:
        decision, length = "accept", verify_length
    else:
        decision, length = "tune" if enough else "reject", max(enough, key=gains.__getitem__, default=0)
    return {"decision": decision, "verify_length": length, "gain": gains[length] if length else 0.0, "gains": gains}


def random_round(rng: Rng) -> Call:
    """A round whose gains are clearly apart from each other and from min_gain."""
    while True:
        gamma = int(rng.integers(1, 9))
        confidences, base = rng.uniform(0.2, 0.97, size=gamma), rng.uniform(0.8, 1.3)
        times = base + rng.uniform(0.0, 0.4) * np.arange(gamma + 1) + rng.uniform(0.0, 0.3, size=gamma + 1)
        draft, correction = float(rng.uniform(0.02, 1.2)), float(rng.choice([0.0, rng.uniform(0.05, 0.8)]))
        unit, least = float(rng.uniform(0.5, 30.0)), float(rng.choice([0.0, 0.1, 0.35]))
        current = int(rng.integers(0, gamma + 1))
        case = call(confidences, current, draft * unit, times * unit, unit, correction * unit, least)
        if min(abs(np.diff(sorted([*benefit(*case.args)["gains"], least])))) > 1e-6:
            return case


def rounds_with(rng: Rng, decision: str, count: int = 15) -> Iterator[Call]:
    while count:
        case = random_round(rng)
        if benefit(*case.args)["decision"] == decision:
            count -= 1
            yield case


def keeps_what_pays(rng: Rng) -> Iterator[Call]:
    yield from rounds_with(rng, "accept")
    yield call(rng.uniform(0.9, 1.0, size=64), 64, 0.5, np.linspace(1.0, 9.0, 65), 1.0, 0.25, 0.1)


def tunes_to_the_best_length(rng: Rng) -> Iterator[Call]:
    yield from rounds_with(rng, "tune")
    yield call([0.9, 0.9, 0.5], 1, 0.5, [1.0, 1.25, 1.0, 1.0], 1.0, 0.0, 0.25)  # ℓ = 3 is best: a longer one
    yield call([0.9, 0.1, 0.1], 3, 0.25, [1.0, 1.0, 1.25, 2.0], 1.0, 0.0, 0.25)  # ℓ = 1: two tokens fewer
    yield call([0.5, 0.9, 0.9], 3, 0.25, [1.0, 1.0, 1.0, 3.0], 1.0, 0.0, 0.125)  # ℓ = 1 pays, ℓ = 2 pays more


def rejects_what_never_pays(rng: Rng) -> Iterator[Call]:
    yield from rounds_with(rng, "reject")


def draft_and_correction_are_paid(rng: Rng) -> Iterator[Call]:
    """The same round with a correction from nothing to much: it goes from a gain to a loss."""
    for _ in range(6):
        case = random_round(rng)
        for correction in (0.0, 0.3, 1.0, 4.0):
            yield call(*case.args[:5], correction * case.args[4], case.args[6])


def equal_is_enough_and_ties_are_small(rng: Rng) -> Iterator[Call]:
    """Exact fractions: several lengths with the same gain, and gains that equal min_gain."""
    ones = [1.0, 1.0, 1.0]  # τ is 1, 2, 3, 4
    yield call(ones, 0, 0.25, [0.75, 0.75, 2.75, 1.75], 1.0, 0.0, 0.25)  # gains 0, 1, 0, 1
    yield call(ones, 2, 0.25, [0.75, 1.75, 2.75, 1.75], 1.0, 0.0, 0.25)  # gains 0, 0, 0, 1
    yield call(ones, 3, 0.5, [1.5, 3.5, 11.5, 7.5], 4.0, 0.0, 1.5)  # gains 1, 1, 0, 1: none reaches 1.5
    yield call(ones, 0, 0.5, [1.5, 3.5, 11.5, 7.5], 4.0, 0.0, 1.0)
    yield call(ones, 3, 0.5, [1.5, 3.5, 11.5, 7.5], 4.0, 0.0, 1.0)
    for current in range(3):
        for least in (-0.125, 0.0, 0.25, 0.5, 0.75):
            yield call([0.5, 0.5], current, 0.5, [0.5, 0.5, 1.5], 1.0, 0.0, least)  # gains 0, 0.5, −0.125
        yield call([0.5, 1.0], current, 0.0, [1.0, 1.5, 2.0], 1.0)  # 0, 0, 0


def nothing_verified_is_never_accepted(rng: Rng) -> Iterator[Call]:
    """No token is verified now, and doing so may even be the cheapest: it is never accepted."""
    for _ in range(15):
        case = random_round(rng)
        yield call(case.args[0], 0, *case.args[2:])
    yield call([0.25, 0.25], 0, 0.0, [0.5, 4.0, 8.0], 1.0)
    yield call([0.5, 0.5], 0, 0.0, [0.25, 1.0, 1.0], 1.0, 0.0, -0.5)
    yield call([0.5, 0.5], 0, 0.0, [0.25, 3.0, 3.5], 1.0, 0.0, -0.5)


HIDDEN = {
    "0.1": hidden(
        tau, one_plus_the_survivals, verify_length_cuts, certain_and_hopeless_tokens, nothing_verified_is_one
    ),
    "0.2": hidden(ratio, tokens_of_a_round_over_its_time, correction_counts, losses_are_told, free_parts),
    "0.3": hidden(
        benefit,
        keeps_what_pays,
        tunes_to_the_best_length,
        rejects_what_never_pays,
        draft_and_correction_are_paid,
        nothing_verified_is_never_accepted,
        equal_is_enough_and_ties_are_small,
    ),
}
