"""Variants of task 3.2, sample_markov_block: draw along the chain, and keep the rows that were drawn from."""

from __future__ import annotations

import bisect
import itertools
import math
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dspark_mini.inputs import checked_logits, lookup_table, number, table_row, token_in, weight_matrix
from grader.lessons.mutants import right, wrong

TASK = "3.2"
Block = tuple[list[int], Any]


def given(base_logits: Any, anchor_token: Any, w1: Any, w2: Any, temperature: Any) -> tuple[Any, int, Any, Any, float]:
    """Check the arguments as the stub does."""
    base = checked_logits("base_logits", base_logits)
    w1 = lookup_table("w1", w1, rows=base.shape[1])
    w2 = weight_matrix("w2", w2, rows=w1.shape[1], columns=base.shape[1])
    anchor = token_in("anchor_token", anchor_token, base.shape[1])
    return base, anchor, w1, w2, number("temperature", temperature, low=0.0)


def softmax(scores: Any, temperature: float) -> Any:
    """Return the row that belongs to some scores: one-hot at temperature 0."""
    if temperature == 0:
        return (np.arange(scores.size) == scores.argmax()).astype(float)
    weights = np.exp((scores - scores.max()) / temperature)
    return weights / weights.sum()


def draw(rng: Any, row: Any) -> int:
    return int(rng.choice(row.size, p=row))


def block(
    arguments: tuple[Any, int, Any, Any, float],
    rng: Any,
    row_of: Callable[[Any, Any, float], Any] = lambda logits, bias, t: softmax(logits + bias, t),
    choose: Callable[[Any, Any], int] = draw,
    kept: Callable[[Any, Any, float, Any], Any] = lambda logits, bias, t, row: row,
) -> Block:
    """Walk along the chain: make a row, draw from it, and note what is kept of it."""
    base, previous, w1, w2, temperature = arguments
    tokens, rows = [], []
    for logits in base:
        bias = table_row("w1", w1, previous) @ w2
        row = row_of(logits, bias, temperature)
        previous = choose(rng, row)
        tokens.append(previous)
        rows.append(kept(logits, bias, temperature, row))
    return tokens, np.array(rows)


# --- Wrong: which token came before ----------------------------------------------------------------------


@wrong(TASK, "law_of_the_block", "The anchor corrects every position.")
def anchor_everywhere(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    base, anchor, w1, w2, t = given(base_logits, anchor_token, w1, w2, temperature)
    rows = np.array([softmax(logits + table_row("w1", w1, anchor) @ w2, t) for logits in base])
    return [draw(rng, row) for row in rows], rows


@wrong(TASK, "law_of_the_block", "Positions are independent, as in DFlash.")
def no_bias_at_all(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    return block(
        given(base_logits, anchor_token, w1, w2, temperature), rng, row_of=lambda logits, bias, t: softmax(logits, t)
    )


@wrong(TASK, "law_of_the_block", "The chain follows the best token of each row; only what comes out is drawn.")
def chain_of_argmaxes(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    base, previous, w1, w2, t = given(base_logits, anchor_token, w1, w2, temperature)
    rows = []
    for logits in base:
        rows.append(softmax(logits + table_row("w1", w1, previous) @ w2, t))
        previous = int(rows[-1].argmax())
    return [draw(rng, row) for row in rows], np.array(rows)


@wrong(TASK, "law_of_the_block", "A draft takes the best token, whatever the temperature.")
def always_argmax(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    return block(given(base_logits, anchor_token, w1, w2, temperature), rng, choose=lambda rng, row: int(row.argmax()))


@wrong(TASK, "law_of_the_block", "One uniform number serves the whole block.")
def one_uniform(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    u = float(rng.random())
    return block(
        given(base_logits, anchor_token, w1, w2, temperature),
        rng,
        choose=lambda rng, row: int(np.searchsorted(np.cumsum(row)[:-1], u, side="right")),
    )


@wrong(TASK, "law_of_the_block", "A token that was drawn is not drawn again in the same block.")
def without_replacement(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    drawn: list[int] = []

    def choose(rng: Any, row: Any) -> int:
        left = np.where(np.isin(np.arange(row.size), drawn), 0.0, row)
        drawn.append(draw(rng, left / left.sum() if left.sum() > 0 else row))
        return drawn[-1]

    return block(given(base_logits, anchor_token, w1, w2, temperature), rng, choose=choose)


@wrong(TASK, "law_of_the_block", "The draws run from the last position to the first.")
def chain_from_the_end(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    base, *more = given(base_logits, anchor_token, w1, w2, temperature)
    tokens, rows = block((base[::-1], *more), rng)
    return tokens[::-1], rows[::-1]


# --- Wrong: which rows are returned ------------------------------------------------------------------------


@wrong(TASK, "first_row_is_corrected", "The rows are the softmax of the base logits.")
def rows_without_bias(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    return block(
        given(base_logits, anchor_token, w1, w2, temperature), rng, kept=lambda logits, bias, t, row: softmax(logits, t)
    )


@wrong(TASK, "rows_have_the_temperature", "The rows are probabilities, so the temperature does not belong in them.")
def rows_at_temperature_one(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    return block(
        given(base_logits, anchor_token, w1, w2, temperature),
        rng,
        kept=lambda logits, bias, t, row: softmax(logits + bias, t and 1.0),
    )


@wrong(TASK, "rows_are_those_drawn_from", "The rows are corrected by the token at their own position.")
def rows_of_own_token(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    base, anchor, w1, w2, t = given(base_logits, anchor_token, w1, w2, temperature)
    tokens, _ = block((base, anchor, w1, w2, t), rng)
    return tokens, np.array([softmax(u + np.nan_to_num(w1[x]) @ w2, t) for u, x in zip(base, tokens)])


@wrong(TASK, "rows_are_those_drawn_from", "The rows can be computed again at the end, along the best tokens.")
def rows_of_another_chain(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    arguments = given(base_logits, anchor_token, w1, w2, temperature)
    tokens, _ = block(arguments, rng)
    return tokens, block(arguments, rng, choose=lambda rng, row: int(row.argmax()))[1]


@wrong(TASK, "rows_are_those_drawn_from", "What was drawn is certain, so its row is one-hot.")
def one_hot_at_any_temperature(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    base, *more = given(base_logits, anchor_token, w1, w2, temperature)
    tokens, _ = block((base, *more), rng)
    return tokens, np.eye(base.shape[1])[tokens]


@wrong(TASK, "first_row_is_corrected", "The verifier wants log-probabilities.")
def log_rows(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    tokens, rows = block(given(base_logits, anchor_token, w1, w2, temperature), rng)
    with np.errstate(divide="ignore"):
        return tokens, np.log(rows)


@wrong(TASK, "rows_are_those_drawn_from", "The ratio needs the probability of the drawn token only.")
def chosen_probabilities(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    tokens, rows = block(given(base_logits, anchor_token, w1, w2, temperature), rng)
    return tokens, rows[np.arange(len(tokens)), tokens]


@wrong(TASK, "rows_are_those_drawn_from", "Half precision saves memory and does no harm.")
def rows_in_half_precision(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    tokens, rows = block(given(base_logits, anchor_token, w1, w2, temperature), rng)
    return tokens, rows.astype(np.float16).astype(np.float64)


# --- Wrong: temperature --------------------------------------------------------------------------------------


@wrong(TASK, "temperature_divides_the_sum", "Temperature belongs to the target; the draft is drawn at 1.")
def temperature_ignored(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    return block(
        given(base_logits, anchor_token, w1, w2, temperature),
        rng,
        row_of=lambda logits, bias, t: softmax(logits + bias, t and 1.0),
    )


@wrong(TASK, "temperature_divides_the_sum", "Temperature is for the base logits, the bias comes on top.")
def bias_not_divided(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    return block(
        given(base_logits, anchor_token, w1, w2, temperature),
        rng,
        row_of=lambda logits, bias, t: softmax(logits / t + bias, 1.0) if t else softmax(logits + bias, 0.0),
    )


@wrong(TASK, "temperature_divides_the_sum", "A higher temperature makes logits larger.")
def temperature_multiplied(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    return block(
        given(base_logits, anchor_token, w1, w2, temperature),
        rng,
        row_of=lambda logits, bias, t: softmax(logits + bias, 1.0 / t if t else 0.0),
    )


@wrong(TASK, "temperature_divides_the_sum", "The rows have the temperature, the draw forgets it.")
def drawn_at_temperature_one(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    return block(
        given(base_logits, anchor_token, w1, w2, temperature),
        rng,
        row_of=lambda logits, bias, t: softmax(logits + bias, t and 1.0),
        kept=lambda logits, bias, t, row: softmax(logits + bias, t),
    )


@wrong(TASK, "zero_is_argmax", "At temperature 0 the row is the softmax at 1, and the best token is taken.")
def soft_row_at_zero(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    base, *more, t = given(base_logits, anchor_token, w1, w2, temperature)
    if t:
        return block((base, *more, t), rng)
    return block(
        (base, *more, 0.0),
        rng,
        choose=lambda rng, row: int(row.argmax()),
        kept=lambda logits, bias, t, row: softmax(logits + bias, 1.0),
    )


@wrong(TASK, "zero_is_argmax", "A temperature of 0 is a very small temperature.")
def tiny_temperature(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    base, anchor, w1, w2, t = given(base_logits, anchor_token, w1, w2, temperature)
    return block((base, anchor, w1, w2, t or 1e-6), rng)


@wrong(TASK, "zero_is_argmax", "Of equals the last one wins.")
def last_of_equals(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    def row_of(logits: Any, bias: Any, t: float) -> Any:
        scores = logits + bias
        return softmax(scores, t) if t else np.eye(scores.size)[scores.size - 1 - int(scores[::-1].argmax())]

    return block(given(base_logits, anchor_token, w1, w2, temperature), rng, row_of=row_of)


# --- Wrong: the edges ------------------------------------------------------------------------------------------


@wrong(TASK, "rows_not_met_are_not_read", "The whole table is made once, which is quicker than row by row.")
def whole_table_checked(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    arguments = given(base_logits, anchor_token, w1, w2, temperature)
    weight_matrix("w1", arguments[2])
    return block(arguments, rng)


@wrong(TASK, "huge_logits_stay_finite", "The softmax is exp divided by its sum.")
def softmax_without_maximum(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    def row_of(logits: Any, bias: Any, t: float) -> Any:
        if t == 0:
            return softmax(logits + bias, t)
        weights = np.exp((logits + bias) / t)
        return weights / weights.sum()

    return block(given(base_logits, anchor_token, w1, w2, temperature), rng, row_of=row_of)


@wrong(TASK, "same_seed_same_block", "Any source of chance will do.")
def own_source_of_chance(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    return block(
        given(base_logits, anchor_token, w1, w2, temperature),
        rng,
        choose=lambda rng, row: random.choices(range(row.size), row)[0],
    )


@wrong(TASK, "plain_types", "rng.choice gives the token, so it can go into the list as it is.")
def numpy_tokens(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    tokens, rows = block(given(base_logits, anchor_token, w1, w2, temperature), rng)
    return [np.int64(token) for token in tokens], rows


@wrong(TASK, "plain_types", "The rows may stay a list of lists.")
def rows_in_lists(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    tokens, rows = block(given(base_logits, anchor_token, w1, w2, temperature), rng)
    return tokens, rows.tolist()


@wrong(TASK, "bad_input_raises", "A negative temperature means 0.")
def negative_temperature_clipped(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    return block(given(base_logits, anchor_token, w1, w2, max(temperature, 0.0)), rng)


@wrong(TASK, "bad_input_raises", "An anchor from outside is brought into the vocabulary by the remainder.")
def anchor_by_remainder(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    return block(given(base_logits, anchor_token % max(len(w1), 1), w1, w2, temperature), rng)


@wrong(TASK, "input_unchanged", "The block is a scratch pad for the sums.")
def sums_written_into_the_block(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    base, anchor, w1, w2, t = given(base_logits, anchor_token, w1, w2, temperature)

    def row_of(logits: Any, bias: Any, t: float) -> Any:
        logits += bias
        return softmax(logits, t)

    return block((base, anchor, w1, w2, t), rng, row_of=row_of)


@wrong(TASK, "error_names_offender", "One sentence serves all bad input.")
def one_sentence_for_all(
    base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0
) -> Any:
    try:
        return block(given(base_logits, anchor_token, w1, w2, temperature), rng)
    except ValueError:
        raise ValueError("Bad input.") from None


# --- Right, in other styles --------------------------------------------------------------------------------------


@right(TASK, "Draws by bisection in the cumulated row, with plain Python numbers.")
def plain_python(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    base, previous, w1, w2, t = given(base_logits, anchor_token, w1, w2, temperature)
    columns = w2.T.tolist()
    tokens, rows = [], []
    for logits in base.tolist():
        entry = table_row("w1", w1, previous).tolist()
        scores = [u + sum(a * b for a, b in zip(entry, column)) for u, column in zip(logits, columns)]
        top = max(scores)
        if t == 0:
            row = [0.0] * len(scores)
            row[scores.index(top)] = 1.0
        else:
            weights = [math.exp((score - top) / t) for score in scores]
            row = [weight / math.fsum(weights) for weight in weights]
        ends = list(itertools.accumulate(row))
        last = max(i for i, share in enumerate(row) if share > 0)
        previous = min(bisect.bisect_right(ends, rng.random()), last)
        tokens.append(previous)
        rows.append(row)
    return tokens, np.array(rows)


@right(TASK, "Gumbel noise picks the token; the rows are computed apart from it.")
def gumbel_draws(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    base, previous, w1, w2, t = given(base_logits, anchor_token, w1, w2, temperature)
    tokens, rows = [], np.zeros_like(base)
    for k, logits in enumerate(base):
        scores = logits + np.einsum("r,rv->v", table_row("w1", w1, previous), w2)
        rows[k] = softmax(scores, t)
        previous = int(np.argmax(scores / t + rng.gumbel(size=scores.size) if t else scores))
        tokens.append(previous)
    return tokens, rows


@right(TASK, "rng.multinomial draws a one-hot vector; the pair comes back as a list.")
def multinomial_draws(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    pair = block(
        given(base_logits, anchor_token, w1, w2, temperature),
        rng,
        choose=lambda rng, row: int(rng.multinomial(1, row).argmax()),
    )
    return list(pair)


@right(TASK, "All uniforms are drawn at the start, one more than needed, and a warning is given.")
def uniforms_first(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    warnings.warn("A block is drawn.", stacklevel=2)
    arguments = given(base_logits, anchor_token, w1, w2, temperature)
    uniforms = iter(rng.random(len(arguments[0]) + 1))

    def choose(rng: Any, row: Any) -> int:
        return int(min(np.searchsorted(np.cumsum(row), next(uniforms), side="right"), np.flatnonzero(row)[-1]))

    return block(arguments, rng, choose=choose)


@right(TASK, "A recursion over the positions, with log-sum-exp for the rows.")
def recursive(base_logits: Any, anchor_token: int, w1: Any, w2: Any, rng: Any, temperature: float = 1.0) -> Any:
    base, anchor, w1, w2, t = given(base_logits, anchor_token, w1, w2, temperature)

    def rest(k: int, previous: int) -> tuple[list[int], list[Any]]:
        if k == len(base):
            return [], []
        scores = base[k] + table_row("w1", w1, previous) @ w2
        if t == 0:
            row = (np.arange(scores.size) == scores.argmax()).astype(float)
        else:
            row = np.exp(scores / t - np.logaddexp.reduce(scores / t))
            row = row / row.sum()
        token = int(np.flatnonzero(np.cumsum(row) > rng.random() * (1 - 1e-15))[0])
        tokens, rows = rest(k + 1, token)
        return [token, *tokens], [row, *rows]

    tokens, rows = rest(0, anchor)
    return tokens, np.array(rows)
