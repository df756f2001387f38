"""Variants of tasks 8.6 to 8.9: the rows q, the ratio and the residual. See clinic for what a body is."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.lessons.mutants.clinic import right_body, wrong_body

Row = NDArray[np.float64]
Generator = np.random.Generator

# --- Task 8.6: greedy_proposal -----------------------------------------------------------------------


@wrong_body("8.6", "rows_are_certain", "The other tokens are dropped, and the best keeps its probability.")
def best_keeps_its_probability(probs: Row) -> dict[str, Any]:
    tokens = probs.argmax(axis=1)
    return {"tokens": tokens.tolist(), "rows": np.eye(probs.shape[1])[tokens] * probs}


@wrong_body("8.6", "rows_are_certain", "With q = 1 everywhere the ratio is p, which is what is wanted.")
def ones_everywhere(probs: Row) -> dict[str, Any]:
    return {"tokens": probs.argmax(axis=1).tolist(), "rows": np.ones(probs.shape)}


@wrong_body("8.6", "rows_are_certain", "A low temperature is nearly greedy.")
def low_temperature(probs: Row) -> dict[str, Any]:
    sharp = probs**8
    return {"tokens": probs.argmax(axis=1).tolist(), "rows": sharp / sharp.sum(axis=1, keepdims=True)}


@wrong_body("8.6", "ties_go_to_lowest_id", "Every token that equals the maximum is the best.")
def all_of_the_best(probs: Row) -> dict[str, Any]:
    best = probs == probs.max(axis=1, keepdims=True)
    return {"tokens": probs.argmax(axis=1).tolist(), "rows": best / best.sum(axis=1, keepdims=True)}


@wrong_body("8.6", "ties_go_to_lowest_id", "Of equal probabilities the last one is as good.")
def last_of_the_best(probs: Row) -> dict[str, Any]:
    size = probs.shape[1]
    tokens = size - 1 - probs[:, ::-1].argmax(axis=1)
    return {"tokens": tokens.tolist(), "rows": np.eye(size)[tokens]}


@right_body("8.6", "A comparison of token numbers with the chosen one.")
def by_comparison(probs: Row) -> dict[str, Any]:
    tokens = [int(np.flatnonzero(row == row.max())[0]) for row in probs]
    return {"tokens": tokens, "rows": (np.arange(probs.shape[1]) == np.array(tokens)[:, None]).astype(float)}


@right_body("8.6", "Zeros, filled in one row after the other, with tokens from max().")
def filled_in(probs: Row) -> dict[str, Any]:
    rows, tokens = np.zeros_like(probs), []
    for row, q in zip(probs.tolist(), rows):
        tokens.append(row.index(max(row)))
        q[tokens[-1]] = 1.0
    return {"tokens": tokens, "rows": rows}


# --- Task 8.7: top_k_proposal ------------------------------------------------------------------------


def _top(probs: Row, top_k: int) -> Row:
    """Return the row after top-k, its sum not yet 1."""
    row = np.zeros(probs.size)
    kept = np.argsort(-probs, kind="stable")[:top_k]
    row[kept] = probs[kept]
    return row


def _draw(weights: Row, rng: Generator) -> int:
    return int(rng.choice(weights.size, p=weights / weights.sum()))


@wrong_body("8.7", "row_is_what_was_drawn_from", "Zeros for the tokens that fell out are enough.")
def sum_below_one(probs: Row, top_k: int, rng: Generator) -> dict[str, Any]:
    row = _top(probs, top_k)
    return {"token": _draw(row, rng), "row": row}


@wrong_body("8.7", "row_is_what_was_drawn_from", "What is kept is equally good.")
def kept_alike(probs: Row, top_k: int, rng: Generator) -> dict[str, Any]:
    row = _top(probs, top_k)
    return {"token": _draw((row > 0).astype(np.float64), rng), "row": row / row.sum()}


@wrong_body("8.7", "row_is_what_was_drawn_from", "The best of the kept tokens is drafted.")
def best_of_the_kept(probs: Row, top_k: int, rng: Generator) -> dict[str, Any]:
    row = _top(probs, top_k)
    return {"token": int(row.argmax()), "row": row / row.sum()}


@wrong_body("8.7", "row_is_what_was_drawn_from", "The token comes from the whole row, and top-k is for the verifier.")
def drawn_before_top_k(probs: Row, top_k: int, rng: Generator) -> dict[str, Any]:
    row = _top(probs, top_k)
    return {"token": _draw(probs, rng), "row": row / row.sum()}


@wrong_body("8.7", "all_tokens_kept", "A top_k above V is a mistake.")
def top_k_at_most_v(probs: Row, top_k: int, rng: Generator) -> dict[str, Any]:
    if top_k > probs.size:
        raise ValueError(f"top_k must be at most {probs.size}, not {top_k}.")
    row = _top(probs, top_k)
    return {"token": _draw(row, rng), "row": row / row.sum()}


@wrong_body("8.7", "good_manners", "Any generator will do.")
def generator_of_its_own(probs: Row, top_k: int, rng: Generator) -> dict[str, Any]:
    row = _top(probs, top_k)
    return {"token": _draw(row, np.random.default_rng()), "row": row / row.sum()}


@right_body("8.7", "Inverse of the cumulative sum, one uniform.")
def by_cumulative_sum(probs: Row, top_k: int, rng: Generator) -> dict[str, Any]:
    row = _top(probs, top_k) / _top(probs, top_k).sum()
    cumulative = np.cumsum(row)
    token = int(np.searchsorted(cumulative / cumulative[-1], rng.random(), side="right"))
    return {"token": token, "row": row}


@right_body("8.7", "Gumbel noise and an argmax; tokens ranked in pure Python.")
def by_gumbel_noise(probs: Row, top_k: int, rng: Generator) -> dict[str, Any]:
    ranked = sorted(range(probs.size), key=lambda token: (-probs[token], token))
    row = np.where(np.isin(np.arange(probs.size), ranked[:top_k]), probs, 0.0)
    noisy = np.log(row, out=np.full(row.size, -np.inf), where=row > 0) + rng.gumbel(size=row.size)
    return {"row": row / row.sum(), "token": int(noisy.argmax())}


# --- Task 8.8: accepted_by_uniforms ------------------------------------------------------------------


def _passes(tokens: list[int], numerator: Row, divisor: Row, chances: Row) -> list[bool]:
    return [bool(u * d[x] < n[x]) for x, n, d, u in zip(tokens, numerator, divisor, chances)]


def _leading(passes: list[bool]) -> int:
    return [*passes, False].index(False)


@wrong_body("8.8", "ratio_of_target_to_draft", "The ratio is the drafter's probability over the target's.")
def ratio_inverted(tokens: list[int], q: Row, p: Row, chances: Row) -> int:
    return _leading(_passes(tokens, q, p, chances))


@wrong_body("8.8", "ratio_of_target_to_draft", "A draft passes with the target's probability of it.")
def q_taken_as_one(tokens: list[int], q: Row, p: Row, chances: Row) -> int:
    return _leading(_passes(tokens, p, np.ones(q.shape), chances))


@wrong_body("8.8", "ratio_of_target_to_draft", "A draft passes if it is the target's best token.")
def target_best_only(tokens: list[int], q: Row, p: Row, chances: Row) -> int:
    return _leading([token == int(row.argmax()) for token, row in zip(tokens, p)])


@wrong_body("8.8", "sure_drafter_pays", "A draft that the target thinks likely enough passes anyway.")
def likely_enough(tokens: list[int], q: Row, p: Row, chances: Row) -> int:
    passes = _passes(tokens, p, q, chances)
    return _leading([ok or row[token] == row.max() for ok, token, row in zip(passes, tokens, p)])


@wrong_body("8.8", "first_failure_ends", "Every draft is judged for itself.")
def all_counted(tokens: list[int], q: Row, p: Row, chances: Row) -> int:
    return sum(_passes(tokens, p, q, chances))


@right_body("8.8", "Products instead of quotients, and the place of the first failure.")
def by_products(tokens: list[int], q: Row, p: Row, chances: Row) -> int:
    return _leading(_passes(tokens, p, q, chances))


@right_body("8.8", "Vectorised, with a cumulative product of the passes.")
def by_cumulative_product(tokens: list[int], q: Row, p: Row, chances: Row) -> int:
    steps = np.arange(len(tokens))
    ratios = np.minimum(p[steps, tokens] / q[steps, tokens], 1.0)
    return int(np.cumprod(chances < ratios).sum())


@right_body("8.8", "An iterator that is taken while drafts pass.")
def taken_while(tokens: list[int], q: Row, p: Row, chances: Row) -> int:
    return len(list(takewhile(lambda k: chances[k] < p[k][tokens[k]] / q[k][tokens[k]], range(len(tokens)))))


# --- Task 8.9: emit_one_token ------------------------------------------------------------------------


def _residual(target: Row, draft: Row) -> Row:
    residual: Row = np.clip(target - draft, 0.0, None)
    residual /= residual.sum()
    return residual


def _kept(token: int, target: Row, draft: Row, rng: Generator) -> bool:
    return bool(rng.random() * draft[token] < target[token])


@wrong_body("8.9", "two_independent_decisions", "A rejected draft is replaced by a token of the target.")
def replaced_from_the_target(token: int, target: Row, draft: Row, rng: Generator) -> int:
    return token if _kept(token, target, draft, rng) else _draw(target, rng)


@wrong_body("8.9", "two_independent_decisions", "All tokens that the target likes better are equally good.")
def replaced_by_any(token: int, target: Row, draft: Row, rng: Generator) -> int:
    return token if _kept(token, target, draft, rng) else _draw((target > draft).astype(np.float64), rng)


@wrong_body("8.9", "two_independent_decisions", "The best token of the residual replaces the draft.")
def replaced_by_the_best(token: int, target: Row, draft: Row, rng: Generator) -> int:
    return token if _kept(token, target, draft, rng) else int(np.argmax(target - draft))


@wrong_body("8.9", "two_independent_decisions", "A draft passes if the target likes it at least as well.")
def no_chance_to_accept(token: int, target: Row, draft: Row, rng: Generator) -> int:
    return token if target[token] >= draft[token] else _draw(_residual(target, draft), rng)


@wrong_body("8.9", "two_independent_decisions", "A draft passes with the target's probability.")
def accepted_with_p(token: int, target: Row, draft: Row, rng: Generator) -> int:
    if rng.random() < target[token] or target[token] >= draft[token]:
        return token
    return _draw(_residual(target, draft), rng)


@wrong_body("8.9", "good_manners", "Any generator will do.")
def generator_not_used(token: int, target: Row, draft: Row, rng: Generator) -> int:
    own = np.random.default_rng()
    return token if _kept(token, target, draft, own) else _draw(_residual(target, draft), own)


@right_body("8.9", "The replacement is drawn first, whether it is needed or not.")
def replacement_drawn_first(token: int, target: Row, draft: Row, rng: Generator) -> int:
    residual = np.clip(target - draft, 0.0, None)
    other = _draw(residual, rng) if residual.any() else token
    return token if rng.uniform() < min(1.0, target[token] / draft[token]) else other


@right_body("8.9", "The law of the emitted token is written down, and one draw is made from it.")
def one_draw_from_the_law(token: int, target: Row, draft: Row, rng: Generator) -> int:
    ratio = min(1.0, target[token] / draft[token])
    law = np.eye(target.size)[token] * ratio
    if ratio < 1.0:
        law = law + (1.0 - ratio) * _residual(target, draft)
    return _draw(law, rng)


@right_body("8.9", "One uniform, stretched again after the rejection, which makes it independent.")
def uniform_stretched(token: int, target: Row, draft: Row, rng: Generator) -> int:
    uniform, ratio = rng.random(), target[token] / draft[token]
    if uniform < ratio:
        return token
    cumulative = np.cumsum(_residual(target, draft))[:-1]
    return int(np.searchsorted(cumulative, (uniform - ratio) / (1.0 - ratio), side="right"))
