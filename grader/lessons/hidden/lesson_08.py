"""Lesson 08, the bug clinic: oracles and hidden cases of 8.1 to 8.9."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from grader.check.judges import LawCase
from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, Seed, call


def rows(rng: Rng, count: int, vocabulary: int) -> Array:
    """Probability rows without a zero."""
    return np.array(rng.dirichlet(np.ones(vocabulary), size=count) * 0.9 + 0.1 / vocabulary)


# --- 8.1 to 8.5: features, positions, rows and ids --------------------------------------------------------------------


def seen_from(anchor_positions: list[int], block_length: int) -> Array:
    read_at = [anchor + k for anchor in anchor_positions for k in range(block_length)]
    return np.array([[position < anchor for position in read_at] for anchor in anchor_positions])


def nothing_at_or_after_anchor(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        gamma = int(rng.integers(2, 7))
        yield call(rng.integers(0, gamma, size=int(rng.integers(2, 7))).cumsum(), gamma)
    yield call(np.sort(rng.integers(0, 256, size=32)), 16)
    yield call([0, 1, 2], 2)


def blocks_in_any_order(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        yield call(rng.integers(0, 12, size=int(rng.integers(2, 7))), int(rng.integers(1, 5)))


def layer_outputs(hidden_states: Array, layer_ids: list[int]) -> Array:
    outputs = hidden_states.tolist()[1:]
    return np.array([number for layer in layer_ids for number in outputs[layer]])


def taps(rng: Rng, most: int) -> Iterator[Call]:
    """Up to so many layers of targets with two to eight."""
    for _ in range(20):
        layers, width = rng.integers(2, 9), rng.integers(1, 6)
        yield call(rng.normal(size=(layers + 1, width)), rng.integers(layers, size=rng.integers(1, most + 1)))
    yield call(rng.normal(size=(65, 500)), [63] * most)


def positions_after(cached_positions: list[int], block_size: int) -> list[int]:
    first = max(cached_positions, default=-1) + 1
    return list(range(first, first + block_size))


def windows(rng: Rng, latest_start: int) -> Iterator[Call]:
    """Caches that begin somewhere from 0 to latest_start."""
    for size in (1, 2, 5, 11, 40, 256, *range(1, 12)):
        start = int(rng.integers(latest_start + 1))
        yield call(np.arange(start, start + size), int(rng.integers(1, 9)))


def predictions(block_logits: Array, layout: str) -> list[int]:
    block = block_logits.tolist()
    if layout == "dflash":
        del block[0]
    return [row.index(max(row)) for row in block]


def outputs(rng: Rng, layout: str) -> Iterator[Call]:
    for _ in range(10):
        yield call(rng.normal(size=(rng.integers(2, 9), rng.integers(2, 9))), layout)
        yield call(rng.integers(0, 3, size=(4, 5)) / 4.0, layout)
    yield call(rng.normal(size=(64, 500)), layout)


def translated(token: int, draft_probs: Array, d2t: list[int], vocabulary: int) -> dict[str, Any]:
    drafted = {i + offset: probability for i, (offset, probability) in enumerate(zip(d2t, draft_probs))}
    return {"token": list(drafted)[token], "row": np.array([drafted.get(t, 0.0) for t in range(vocabulary)])}


def row_in_target_ids(rng: Rng) -> Iterator[Call]:
    """Some of the target's tokens, in rising order."""
    for vocabulary in (*rng.integers(3, 12, size=20).tolist(), 2000):
        size = int(rng.integers(1, vocabulary + 1))
        ids = np.sort(rng.choice(vocabulary, size=size, replace=False))
        yield call(int(rng.integers(size)), rows(rng, 1, size)[0], ids - np.arange(size), vocabulary)
    yield call(1, [0.25, 0.75], [0, 1], 4)


# --- 8.6 to 8.9: the rows q, the ratio and the residual ---------------------------------------------------------------


def certain_proposal(draft_probs: Array) -> dict[str, Any]:
    tokens = [row.index(max(row)) for row in draft_probs.tolist()]
    return {"tokens": tokens, "rows": np.array([[float(v == x) for v in range(draft_probs.shape[1])] for x in tokens])}


def rows_are_certain(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        yield call(rows(rng, int(rng.integers(1, 6)), int(rng.integers(2, 7))))
    yield call(rows(rng, 64, 200))


def ties_go_to_lowest_id(rng: Rng) -> Iterator[Call]:
    for _ in range(10):
        yield call([rng.permutation([0.25, 0.25, 0.25, 0.125, 0.125]) for _ in range(3)])


def top_k_row(draft_probs: list[float], top_k: int) -> list[float]:
    kept = sorted(range(len(draft_probs)), key=lambda token: (-draft_probs[token], token))[:top_k]
    total = sum(draft_probs[token] for token in kept)
    return [p / total if token in kept else 0.0 for token, p in enumerate(draft_probs)]


def top_k_draw(draft_probs: Array, top_k: int, rng: Rng) -> dict[str, Any]:
    row = top_k_row(draft_probs.tolist(), top_k)
    return {"token": int(rng.choice(len(row), p=row)), "row": np.array(row)}


def row_is_what_was_drawn_from(rng: Rng) -> Iterator[LawCase]:
    """Of four tokens that are equally unlikely, top-k keeps two."""
    probs = rng.permutation([0.8, 0.05, 0.05, 0.05, 0.05]).tolist()
    row = tuple(round(p, 9) for p in top_k_row(probs, 3))
    yield LawCase(call(probs, 3, Seed(0)), {(token, row): p for token, p in enumerate(row) if p})


def kept_tokens_only(rng: Rng) -> Iterator[Call]:
    """Of many tokens that are equally likely one is kept; an unstable sort may keep any."""
    for size in (16, 17, 33, 64, 200):
        ties = rng.choice(size, size=size // 2, replace=False)
        probs = np.ones(size)
        probs[ties] = 3.0
        yield call(probs / probs.sum(), 1, Seed(0))


def leading_passes(draft_tokens: list[int], draft_probs: Array, target_probs: Array, uniforms: Array) -> int:
    passes = [u * q[x] < p[x] for x, q, p, u in zip(draft_tokens, draft_probs, target_probs, uniforms)]
    return [*passes, False].index(False)


def ratio_of_target_to_draft(rng: Rng) -> Iterator[Call]:
    """Every uniform is clear of its ratio, so that rounding decides nothing."""
    for vocabulary in (*[4] * 40, 2000):
        gamma = int(rng.integers(1, 7))
        q, p = rows(rng, gamma, vocabulary), rows(rng, gamma, vocabulary)
        tokens, uniforms = rng.integers(vocabulary, size=gamma), rng.random(gamma) * 0.99
        if all(abs(u - p[k, x] / q[k, x]) > 1e-6 for k, (x, u) in enumerate(zip(tokens, uniforms))):
            yield call(tokens, q, p, uniforms)


def sure_drafter_pays(rng: Rng) -> Iterator[Call]:
    """The drafter is surer of its token than the target is of any."""
    for token in range(4):
        q = np.full(4, 0.0625)
        q[token] = 0.8125
        yield call([token], [q], [[0.25] * 4], [float(rng.uniform(0.4, 0.9))])
        yield call([token], [q], [[0.25] * 4], [float(rng.uniform(0.0, 0.25))])


def first_failure_ends(rng: Rng) -> Iterator[Call]:
    """The draft is the target's best token, with the same probability in both rows; then there is one that is not."""
    for _ in range(20):
        gamma = int(rng.integers(2, 7))
        p = rows(rng, gamma, 5)
        tokens, q, stop = p.argmax(axis=1), p.copy(), int(rng.integers(gamma))
        best, tokens[stop] = tokens[stop], p[stop].argmin()
        q[stop] = np.roll(p[stop], tokens[stop] - best)  # q of the token is p's maximum
        yield call(tokens, q, p, np.full(gamma, 0.97))


def emission_law(token: int, p: list[float], q: list[float]) -> list[float]:
    gains = [max(a - b, 0.0) for a, b in zip(p, q)]
    rejected = max(1.0 - p[token] / q[token], 0.0)
    return [rejected * gain / (sum(gains) or 1.0) + (x == token) * (1.0 - rejected) for x, gain in enumerate(gains)]


def emission(token: int, p: Array, q: Array, rng: Rng) -> int:
    return int(rng.choice(len(p), p=emission_law(token, p.tolist(), q.tolist())))


def two_independent_decisions(rng: Rng) -> Iterator[LawCase]:
    """A draft that is mostly rejected, for a token that gains .4, one that gains .05, or never one that gains nothing;
    then a draft that mostly passes, though neither p nor q of it is high."""
    for p, q in (([0.05, 0.5, 0.1, 0.35], [0.5, 0.1, 0.05, 0.35]), ([0.3, 0.4, 0.1, 0.2], [0.4, 0.3, 0.1, 0.2])):
        order = rng.permutation(4)
        p, q = [p[i] for i in order], [q[i] for i in order]
        token = order.tolist().index(0)
        law = emission_law(token, p, q)
        yield LawCase(call(token, p, q, Seed(0)), {x: share for x, share in enumerate(law) if share})


HIDDEN = {
    "8.1": hidden(seen_from, nothing_at_or_after_anchor, blocks_in_any_order),
    "8.2": hidden(
        layer_outputs, output_of_the_layer=partial(taps, most=1), layers_in_given_order=partial(taps, most=5)
    ),
    "8.3": hidden(
        positions_after,
        after_the_newest_row=partial(windows, latest_start=0),
        window_keeps_positions=partial(windows, latest_start=100),
        empty_cache=lambda rng: (call([], size) for size in range(1, 9)),
    ),
    "8.4": hidden(
        predictions,
        every_row_in_dspark=partial(outputs, layout="dspark"),
        masks_only_in_dflash=partial(outputs, layout="dflash"),
    ),
    "8.5": hidden(translated, row_in_target_ids),
    "8.6": hidden(certain_proposal, rows_are_certain, ties_go_to_lowest_id),
    "8.7": hidden(top_k_draw, row_is_what_was_drawn_from, kept_tokens_only),
    "8.8": hidden(leading_passes, ratio_of_target_to_draft, sure_drafter_pays, first_failure_ends),
    "8.9": hidden(emission, two_independent_decisions),
}
HIDDEN |= {f"{task}.case": hidden(found.oracle) for task, found in HIDDEN.items()}  # judges failing cases
