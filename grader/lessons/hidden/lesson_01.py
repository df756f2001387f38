"""Lesson 01, verification: oracles and hidden cases."""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from grader.check.judges import LawCase
from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, Seed, call

SEED = Seed(0)


# --- 1.1 verify_greedy ------------------------------------------------------------------------------------------------
def greedy(draft_tokens: list[int], target_logits: Array) -> dict[str, Any]:
    """Decode token by token, as long as the drafts turn out to be what decoding would have said."""
    tokens: list[int] = []
    for k, row in enumerate(target_logits.tolist()):
        if tokens != draft_tokens[:k]:
            break
        tokens.append(row.index(max(row)))
    return {"accepted": len(tokens) - 1, "tokens": tokens}


def rounds(rng: Rng, agreement: float, low: int = 1) -> Iterator[tuple[list[int], Array]]:
    """Drafts and target rows of every small shape; a draft is the target's choice with a given probability."""
    for _ in range(20):
        gamma, vocabulary = int(rng.integers(low, 8)), int(rng.integers(2, 12))
        rows = rng.normal(scale=3.0, size=(gamma + 1, vocabulary))
        best = rows[:-1].argmax(axis=1)
        other = (best + rng.integers(1, vocabulary, size=gamma)) % vocabulary
        yield np.where(rng.random(gamma) < agreement, best, other).tolist(), rows


def accepts_matching_prefix(rng: Rng) -> Iterator[Call]:
    for drafts, rows in rounds(rng, 0.7):
        yield call(drafts, rows)
    yield call([2, 0, 1], [[0.0, 1.0, 2.0], [3.0, 2.0, 1.0], [2.0, 1.0, 0.0], [0.0, 5.0, 0.0]])
    large = rng.normal(size=(65, 2000))
    yield call(large[:-1].argmax(axis=1).tolist(), large)


def first_mismatch_ends_it(rng: Rng) -> Iterator[Call]:
    """One draft is wrong, and all later ones agree with their rows again."""
    for drafts, rows in rounds(rng, 1.0, low=2):
        at = int(rng.integers(len(drafts)))
        drafts[at] = (drafts[at] + 1) % rows.shape[1]
        yield call(drafts, rows)


def bonus_if_all_accepted(rng: Rng) -> Iterator[Call]:
    for drafts, rows in rounds(rng, 1.0):
        yield call(drafts, rows)


def no_drafts(rng: Rng) -> Iterator[Call]:
    for vocabulary in range(1, 9):
        yield call([], rng.normal(size=(1, vocabulary)))


def ties_go_to_lowest_id(rng: Rng) -> Iterator[Call]:
    """Few levels, exact binary fractions: most rows have a tie, and the drafts are among the best."""
    for _, rows in rounds(rng, 1.0):
        tied = np.asarray(rng.integers(0, 2, size=rows.shape)) / 4.0
        yield call([int(rng.choice(np.flatnonzero(row == row.max()))) for row in tied[:-1]], tied)


def masked_and_negative_logits(rng: Rng) -> Iterator[Call]:
    """Most tokens are masked by −inf, and what is left is negative."""
    for _, rows in rounds(rng, 1.0):
        masked = np.where(rng.random(rows.shape) < 0.6, -np.inf, -np.abs(rows) - 1.0)
        masked[np.arange(len(rows)), rng.integers(rows.shape[1], size=len(rows))] = -40.0
        yield call(masked[:-1].argmax(axis=1).tolist(), masked)


# --- 1.2 acceptance_probability ---------------------------------------------------------------------------------------
def acceptance(p: Array, q: Array, token: int) -> float:
    """Of the mass that the draft gives the token, the share that the target has as well; in exact fractions."""
    drafted, wanted = Fraction(float(q[token])), Fraction(float(p[token]))
    return float((drafted - max(drafted - wanted, Fraction(0))) / drafted)


def pairs(rng: Rng) -> Iterator[tuple[Array, Array]]:
    """Two distributions over one vocabulary, positive everywhere."""
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(int(rng.integers(2, 9))), size=2) + 1e-3
        yield p / p.sum(), q / q.sum()


def ratio_of_target_to_draft(rng: Rng) -> Iterator[Call]:
    """The draft gives the token more than the target does: the ratio decides."""
    for p, q in pairs(rng):
        for token in np.flatnonzero(p < q):
            yield call(p, q, int(token))
    p, q = rng.dirichlet(np.ones(2000), size=2)
    yield call(p, q, int((q - p).argmax()))


def never_above_one(rng: Rng) -> Iterator[Call]:
    for p, q in pairs(rng):
        for token in np.flatnonzero(p > q):
            yield call(p, q, int(token))


def edges(rng: Rng) -> Iterator[Call]:
    """Equal rows, a target that excludes the token, a draft that is sure of it."""
    for p, q in pairs(rng):
        token = int(rng.integers(p.size))
        without = np.where(np.arange(p.size) == token, 0.0, p)
        yield call(p, p, token)
        yield call(without / without.sum(), q, token)
        yield call(p, np.eye(p.size)[token], token)


def small_probabilities_count(rng: Rng) -> Iterator[Call]:
    """Both give the token next to nothing; the ratio is an ordinary number."""
    for exponent in (12, 18, 27, 60, 200):
        tiny = 2.0**-exponent
        share = float(rng.integers(1, 8)) / 8.0
        yield call([1.0 - share * tiny, share * tiny], [1.0 - tiny, tiny], 1)


# --- 1.3 residual_distribution ----------------------------------------------------------------------------------------
def residual(p: Array, q: Array) -> Array:
    """Take off each token what has come through already."""
    missing = [wanted - min(wanted, drafted) for wanted, drafted in zip(p.tolist(), q.tolist())]
    mass = math.fsum(missing)
    return np.array([m / mass for m in missing] if mass else p)


def surplus_normalised(rng: Rng) -> Iterator[Call]:
    for p, q in pairs(rng):
        yield call(p, q)
    p, q = rng.dirichlet(np.full(500, 4.0), size=2)
    yield call(p, q)


def every_surplus_counts(rng: Rng) -> Iterator[Call]:
    """The draft overrates a single token, so that the surplus is spread over all the others."""
    for p, _ in pairs(rng):
        token = int(rng.integers(p.size))
        yield call(p, 0.75 * p + 0.25 * np.eye(p.size)[token])
        yield call(p, np.eye(p.size)[token])


def equal_rows_return_target(rng: Rng) -> Iterator[Call]:
    for p, _ in pairs(rng):
        yield call(p, p)
        yield call(np.eye(p.size)[0], np.eye(p.size)[0])


def disjoint_rows(rng: Rng) -> Iterator[Call]:
    """No token has a probability in both rows: the residual is p itself."""
    for p, q in pairs(rng):
        yield call(np.concatenate([p, np.zeros(q.size)]), np.concatenate([np.zeros(p.size), q]))


def tiny_surplus_normalised(rng: Rng) -> Iterator[Call]:
    """A surplus of a few millionths or less, exact in binary: normalised like any other."""
    for exponent in (10, 20, 30, 40):
        tiny = 2.0**-exponent
        yield call([0.25 + tiny, 0.5 - 2 * tiny, 0.25 + tiny], [0.25, 0.5, 0.25])
        yield call([0.5 - tiny, 0.25 + tiny, 0.25], [0.5, 0.25, 0.25])


# --- 1.4 verify_sampling ----------------------------------------------------------------------------------------------
def sampled_if_certain(draft_tokens: list[int], draft_probs: Array, target_probs: Array, rng: Rng) -> dict[str, Any]:
    """Follow a round in which every decision has probability 0 or 1; what is drawn makes no difference."""
    tokens: list[int] = []
    for k, token in enumerate(draft_tokens):
        if target_probs[k, token] < draft_probs[k, token]:
            assert target_probs[k, token] == 0.0
            (sure,) = np.flatnonzero(target_probs[k] > draft_probs[k]).tolist()
            return {"accepted": k, "tokens": [*tokens, sure]}
        tokens.append(token)
    (sure,) = np.flatnonzero(target_probs[-1]).tolist()
    return {"accepted": len(draft_tokens), "tokens": [*tokens, sure]}


def law_case(drafts: list[int], q: Any, p: Any) -> LawCase:
    """Write down the exact law of (accepted, tokens) for one round, by walking along the drafts."""
    target, draft, chances, reach = np.array(p), np.array(q), dict[Any, float](), 1.0
    for k, token in enumerate(drafts):
        accept = min(1.0, float(target[k, token] / draft[k, token]))
        excess = np.maximum(target[k] - draft[k], 0.0)
        for other in np.flatnonzero(excess) if accept < 1.0 else ():
            share = float(excess[other] / excess.sum())
            chances[k, (*drafts[:k], int(other))] = reach * (1.0 - accept) * share
        reach *= accept
    for bonus in np.flatnonzero(target[-1]) if reach > 0.0 else ():
        chances[len(drafts), (*drafts, int(bonus))] = reach * float(target[-1, bonus])
    return LawCase(call(drafts, q, p, SEED), chances)


def relabelled(rng: Rng, drafts: list[int], q: Any, p: Any) -> LawCase:
    """Give the tokens other numbers, so that no law can be learned by heart; the probabilities stay."""
    target, draft = np.array(p), np.array(q)
    order = rng.permutation(target.shape[1])
    place = np.argsort(order)
    return law_case([int(place[token]) for token in drafts], draft[:, order], target[:, order])


def sure_rows_decide(rng: Rng) -> Iterator[Call]:
    """Target rows of 0 and 1: the outcome is that of greedy verification, whatever the draft rows are."""
    for drafts, logits in rounds(rng, 0.7):
        rows = np.eye(logits.shape[1])[logits.argmax(axis=1)]
        q = rng.dirichlet(np.ones(logits.shape[1]), size=len(drafts))
        yield call(drafts, 0.5 * q + 0.5 * rows[:-1], rows, SEED)
    best = rng.integers(2000, size=65)
    yield call(best[:-1].tolist(), np.full((64, 2000), 1.0 / 2000.0), np.eye(2000)[best], SEED)


def nothing_behind_rejection(rng: Rng) -> Iterator[Call]:
    """A draft that is sure to be rejected, in front of drafts that would be accepted."""
    for drafts, logits in rounds(rng, 1.0, low=2):
        vocabulary, at = logits.shape[1], int(rng.integers(len(drafts)))
        rows = np.eye(vocabulary)[logits.argmax(axis=1)]
        drafts[at] = (drafts[at] + 1) % vocabulary
        yield call(drafts, np.full((len(drafts), vocabulary), 1.0 / vocabulary), rows, SEED)


def certain_whatever_is_drawn(rng: Rng) -> Iterator[Call]:
    """Drafts with p = q, then perhaps one with p = 0; the first number drawn is the smallest or the largest."""
    for _ in range(10):
        gamma, vocabulary = int(rng.integers(1, 4)), int(rng.integers(2, 5))
        q = rng.dirichlet(np.ones(vocabulary), size=gamma) * 0.5 + 0.5 / vocabulary
        bonus = np.eye(vocabulary)[rng.integers(vocabulary, size=1)]
        drafts = rng.integers(vocabulary, size=gamma).tolist()
        sure = np.eye(vocabulary)[(drafts[0] + 1) % vocabulary][None]
        for seed in (Seed(0, (0.0, 0.5)), Seed(0, (1.0 - 2.0**-53, 0.5))):
            yield call(drafts, q, np.vstack([q, bonus]), seed)
            yield call(drafts, q, np.vstack([sure, q[1:], bonus]), seed)


def accepts_with_p_over_q(rng: Rng) -> Iterator[LawCase]:
    yield relabelled(rng, [0], [[0.5, 0.25, 0.25]], [[0.125, 0.25, 0.625], [0.0, 1.0, 0.0]])


def residual_after_rejection(rng: Rng) -> Iterator[LawCase]:
    """The residual is (0, 0, 1/4, 3/4), while p without the draft would be (0, 1/2, 1/8, 3/8)."""
    yield relabelled(rng, [0], [[0.5, 0.5, 0.0, 0.0]], [[0.0, 0.5, 0.125, 0.375], [1.0, 0.0, 0.0, 0.0]])


HIDDEN = {
    "1.1": hidden(
        greedy,
        accepts_matching_prefix,
        first_mismatch_ends_it,
        bonus_if_all_accepted,
        no_drafts,
        ties_go_to_lowest_id,
        masked_and_negative_logits,
    ),
    "1.2": hidden(acceptance, ratio_of_target_to_draft, never_above_one, edges, small_probabilities_count),
    "1.3": hidden(
        residual,
        surplus_normalised,
        every_surplus_counts,
        equal_rows_return_target,
        disjoint_rows,
        tiny_surplus_normalised,
    ),
    "1.4": hidden(
        sampled_if_certain,
        sure_rows_decide,
        nothing_behind_rejection,
        certain_whatever_is_drawn,
        accepts_with_p_over_q,
        residual_after_rejection,
    ),
}
