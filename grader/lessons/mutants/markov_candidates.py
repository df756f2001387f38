"""Variants of task 2.2, dspark_markov_candidates: each position is corrected by the token chosen before it."""

from __future__ import annotations

import logging
import math
import sys
import warnings
from collections import ChainMap
from collections.abc import Callable, Iterator
from functools import cache, reduce
from itertools import accumulate
from typing import Any

import numpy as np

from dspark_mini.drafting import dspark_markov_candidates
from grader.lessons.mutants import right, wrong

TASK = "2.2"
NAME = "markov_bias"


def checked(block_logits: Any, anchor_token: Any, markov_bias: Any) -> Any:
    """Refuse bad input as the reference does, and return the logits as an array, without a copy where it is one."""
    dspark_markov_candidates(block_logits, anchor_token, markov_bias)
    return np.asarray(block_logits, dtype=float)


def row_of(markov_bias: Any, token: int, vocabulary: int) -> Any:
    """Return the bias row of a token as an array, zeros where it has none."""
    row = markov_bias.get(token)
    return np.zeros(vocabulary) if row is None else np.asarray(row, dtype=float)


def walk(block_logits: Any, anchor_token: Any, markov_bias: Any, step: Callable[[Any, Any], Any]) -> list[int]:
    """Walk along the chain; step makes of a logit row and a bias row the scores whose argmax is taken."""
    previous, tokens = anchor_token, []
    for row in checked(block_logits, anchor_token, markov_bias):
        previous = int(np.argmax(step(row, row_of(markov_bias, previous, row.size))))
        tokens.append(previous)
    return tokens


def chain(block_logits: Any, anchor_token: Any, markov_bias: Any) -> list[int]:
    """Refuse bad input and draft the block as it should be."""
    return walk(block_logits, anchor_token, markov_bias, np.add)


# --- Wrong: how logits and bias come together -------------------------------------------------------------


@wrong(TASK, "correct_then_choose", "The bias is a penalty and is subtracted.")
def bias_subtracted(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return walk(block_logits, anchor_token, markov_bias, lambda row, bias: np.where(np.isinf(row), row, row - bias))


@wrong(TASK, "correct_then_choose", "The bias is a factor.")
def bias_multiplied(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    with np.errstate(invalid="ignore"):
        return walk(block_logits, anchor_token, markov_bias, lambda row, bias: np.nan_to_num(row * (1.0 + bias)))


@wrong(TASK, "correct_then_choose", "The larger one of logit and bias decides.")
def larger_of_the_two(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return walk(block_logits, anchor_token, markov_bias, np.maximum)


@wrong(TASK, "correct_then_choose", "Only the bias of the best base token is added, to all of its row.")
def bias_added_as_a_scalar(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return walk(block_logits, anchor_token, markov_bias, lambda row, bias: row + max(bias[row.argmax()], -1e9))


@wrong(TASK, "correct_then_choose", "The bias comes into play only where base logits tie.")
def bias_breaks_ties_only(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return walk(block_logits, anchor_token, markov_bias, lambda row, bias: np.where(row == row.max(), bias, -np.inf))


@wrong(TASK, "follows_corrected_choice", "The corrections of all steps add up.")
def bias_accumulates(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    previous, tokens, total = anchor_token, [], np.zeros(logits.shape[1])
    for row in logits:
        total = total + row_of(markov_bias, previous, row.size)
        previous = int((row + total).argmax())
        tokens.append(previous)
    return tokens


@wrong(TASK, "correct_then_choose", "The bias stands in columns: entry `previous` of each candidate's own row.")
def bias_transposed(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for row in checked(block_logits, anchor_token, markov_bias):
        row_of(markov_bias, previous, row.size)
        into = [
            float(markov_bias[t][previous]) if t in markov_bias and 0 <= previous < len(markov_bias[t]) else 0.0
            for t in range(row.size)
        ]
        previous = int((row + np.array(into)).argmax())
        tokens.append(previous)
    return tokens


@wrong(TASK, "correct_then_choose", "The k-th bias row, in the order of its keys, belongs to the k-th position.")
def bias_rows_by_sorted_key(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    keys, tokens = sorted(markov_bias), []
    for position, row in enumerate(checked(block_logits, anchor_token, markov_bias)):
        key = keys[position] if position < len(keys) else -1
        tokens.append(int((row + row_of(markov_bias, key, row.size)).argmax()))
    return tokens


@wrong(TASK, "correct_then_choose", "markov_bias is indexed by the position in the block.")
def bias_of_position(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    return [int((row + row_of(markov_bias, k, row.size)).argmax()) for k, row in enumerate(logits)]


@wrong(TASK, "correct_then_choose", "A position is corrected by the bias row of the token it would choose itself.")
def bias_of_own_token(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    return [int((row + row_of(markov_bias, int(row.argmax()), row.size)).argmax()) for row in logits]


@wrong(TASK, "correct_then_choose", "A bias row corrects its own position only after the token is chosen.")
def chosen_then_corrected(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    tokens = [int(row.argmax()) for row in checked(block_logits, anchor_token, markov_bias)]
    row_of(markov_bias, anchor_token, len(block_logits[0]))
    return tokens


@wrong(TASK, "correct_then_choose", "The anchor is the first token of the block.")
def anchor_in_the_result(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return [int(anchor_token), *chain(block_logits, anchor_token, markov_bias)]


@wrong(TASK, "follows_corrected_choice", "The best block is the one with the greatest sum over all of its positions.")
def best_sum_over_the_block(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    paths: dict[int, tuple[float, list[int]]] = {anchor_token: (0.0, [])}
    for row in checked(block_logits, anchor_token, markov_bias):
        scores = {p: paths[p][0] + row + row_of(markov_bias, p, row.size) for p in paths}
        best = {t: max(paths, key=lambda p: (scores[p][t], -p)) for t in range(row.size)}
        paths = {t: (float(scores[p][t]), [*paths[p][1], t]) for t, p in best.items()}
    return max(paths.values(), key=lambda path: path[0])[1]


# --- Wrong: which token came before -----------------------------------------------------------------------


@wrong(TASK, "follows_corrected_choice", "The anchor corrects every position of the block.")
def anchor_at_every_position(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    bias = row_of(markov_bias, anchor_token, logits.shape[1])
    return [int(best) for best in (logits + bias).argmax(axis=1)]


@wrong(TASK, "follows_corrected_choice", "The token before is the argmax of the row before, so all rows go at once.")
def predecessor_uncorrected(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    before = [anchor_token, *(int(row.argmax()) for row in logits[:-1])]
    return [int((row + row_of(markov_bias, p, row.size)).argmax()) for p, row in zip(before, logits, strict=True)]


@wrong(TASK, "follows_corrected_choice", "The token before the one just chosen gives the bias.")
def one_token_late(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    tokens: list[int] = [anchor_token, anchor_token]
    for row in checked(block_logits, anchor_token, markov_bias):
        tokens.append(int((row + row_of(markov_bias, tokens[-2], row.size)).argmax()))
    return tokens[2:]


@wrong(TASK, "follows_corrected_choice", "The chain runs from the last position of the block to the first.")
def chain_from_the_end(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    return chain(logits[::-1], anchor_token, markov_bias)[::-1]


@wrong(TASK, "follows_corrected_choice", "Only the first position is corrected; behind it DFlash goes on.")
def first_position_only(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    first = chain(logits[:1], anchor_token, markov_bias)
    return first + [int(best) for best in logits[1:].argmax(axis=1)]


@wrong(TASK, "follows_corrected_choice", "One round of correction with DFlash's tokens, then a second one, is enough.")
def two_parallel_rounds(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    tokens = [int(best) for best in logits.argmax(axis=1)]
    for _ in range(2):
        pairs = zip([anchor_token, *tokens], logits, strict=False)
        tokens = [int((row + row_of(markov_bias, p, row.size)).argmax()) for p, row in pairs]
    return tokens


@wrong(TASK, "follows_corrected_choice", "Token 0 is no token, as in `if previous`.")
def token_zero_is_none(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for row in checked(block_logits, anchor_token, markov_bias):
        bias = row_of(markov_bias, previous, row.size) if previous else 0.0
        previous = int((row + bias).argmax())
        tokens.append(previous)
    return tokens


# --- Wrong: the base logits -------------------------------------------------------------------------------


@wrong(TASK, "base_logits_count", "The bias row of the token before says it all.")
def bias_alone(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return walk(block_logits, anchor_token, markov_bias, lambda row, bias: bias if bias.any() else row)


@wrong(TASK, "base_logits_count", "Base logits become probabilities before the bias is added.")
def softmax_before_bias(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    def step(row: Any, bias: Any) -> Any:
        weights = np.exp(row - row.max())
        return weights / weights.sum() + bias

    return walk(block_logits, anchor_token, markov_bias, step)


@wrong(TASK, "base_logits_count", "Each position starts from the first row, for the bias brings in what differs.")
def first_row_for_all(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    return chain([logits[0]] * len(logits), anchor_token, markov_bias)


# --- Wrong: the anchor ------------------------------------------------------------------------------------


@wrong(TASK, "anchor_starts_chain", "The first position has no token before it.")
def anchor_ignored(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    first = int(logits[0].argmax())
    return [first, *(chain(logits[1:], first, markov_bias) if len(logits) > 1 else [])]


@wrong(TASK, "anchor_starts_chain", "A token outside the vocabulary has no bias.")
def anchor_outside_adds_nothing(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    vocabulary = checked(block_logits, anchor_token, markov_bias).shape[1]
    inside = {token: row for token, row in markov_bias.items() if token < vocabulary}
    return chain(block_logits, anchor_token, inside)


@wrong(TASK, "anchor_starts_chain", "The anchor must be a token of the block's vocabulary.")
def anchor_outside_refused(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    vocabulary = checked(block_logits, anchor_token, markov_bias).shape[1]
    if anchor_token >= vocabulary:
        raise ValueError(f"anchor_token must lie below {vocabulary}.")
    return chain(block_logits, anchor_token, markov_bias)


@wrong(TASK, "anchor_starts_chain", "An anchor outside the vocabulary is brought back into it by the remainder.")
def anchor_by_remainder(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    vocabulary = checked(block_logits, anchor_token, markov_bias).shape[1]
    return chain(block_logits, anchor_token % vocabulary, markov_bias)


@wrong(TASK, "anchor_starts_chain", "The biases fit into a matrix with one row for each token of the vocabulary.")
def bias_matrix_of_the_vocabulary(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    matrix: list[Any] = [markov_bias.get(token) for token in range(logits.shape[1])]
    previous, tokens = anchor_token, []
    for row in logits:
        used = {} if matrix[previous] is None else {previous: matrix[previous]}
        previous = int((row + row_of(used, previous, row.size)).argmax())
        tokens.append(previous)
    return tokens


@wrong(TASK, "anchor_starts_chain", "The keys of markov_bias are strings, as in JSON.")
def keys_as_strings(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    named = {token: row for token, row in markov_bias.items() if isinstance(token, str)}
    return chain(block_logits, anchor_token, named)


# --- Wrong: missing rows ----------------------------------------------------------------------------------


@wrong(TASK, "missing_row_adds_nothing", "Every token has a row, so [] is as good as get.")
def missing_row_is_an_error(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for row in checked(block_logits, anchor_token, markov_bias):
        previous = int(np.argmax(row + np.asarray(markov_bias[previous])))
        tokens.append(previous)
    return tokens


@wrong(TASK, "missing_row_adds_nothing", "Where a row is missing, the bias in hand goes on being added.")
def older_bias_kept(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens, bias = anchor_token, [], 0.0
    for row in checked(block_logits, anchor_token, markov_bias):
        if previous in markov_bias:
            bias = row_of(markov_bias, previous, row.size)
        previous = int((row + bias).argmax())
        tokens.append(previous)
    return tokens


@wrong(TASK, "missing_row_adds_nothing", "Where a row is missing, the chain goes back to the anchor's row.")
def missing_row_takes_the_anchors(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for row in checked(block_logits, anchor_token, markov_bias):
        known = previous if previous in markov_bias else anchor_token
        previous = int((row + row_of(markov_bias, known, row.size)).argmax())
        tokens.append(previous)
    return tokens


@wrong(TASK, "missing_row_adds_nothing", "A missing row makes its token unfit, so that the block ends there.")
def block_ends_at_missing_row(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    tokens = chain(block_logits, anchor_token, markov_bias)
    missing = [k for k, token in enumerate(tokens, start=1) if token not in markov_bias]
    return tokens[: missing[0]] if missing else tokens


@wrong(TASK, "missing_row_adds_nothing", "Once a row is missing, the chain is broken and the rest is DFlash.")
def no_correction_after_a_gap(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens, broken = anchor_token, [], False
    for row in checked(block_logits, anchor_token, markov_bias):
        broken = broken or previous not in markov_bias
        previous = int((row if broken else row + row_of(markov_bias, previous, row.size)).argmax())
        tokens.append(previous)
    return tokens


@wrong(TASK, "missing_row_adds_nothing", "A position whose predecessor has no row repeats the predecessor.")
def missing_row_repeats_the_token(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for row in checked(block_logits, anchor_token, markov_bias):
        if previous in markov_bias or previous not in range(row.size):
            previous = int((row + row_of(markov_bias, previous, row.size)).argmax())
        tokens.append(previous)
    return tokens


@wrong(TASK, "missing_row_adds_nothing", "All rows of markov_bias are checked before the first one is used.")
def unused_rows_checked(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    vocabulary = checked(block_logits, anchor_token, markov_bias).shape[1]
    for token in markov_bias:
        checked([[0.0] * vocabulary], token, markov_bias)
    return chain(block_logits, anchor_token, markov_bias)


# --- Wrong: ties and masks --------------------------------------------------------------------------------


@wrong(TASK, "ties_go_to_lowest_id", "Replacing the best on >= is as good as on >.")
def replaced_on_equality(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for row in checked(block_logits, anchor_token, markov_bias):
        corrected, previous = row + row_of(markov_bias, previous, row.size), 0
        for token in range(row.size):
            if corrected[token] >= corrected[previous]:
                previous = token
        tokens.append(previous)
    return tokens


@wrong(TASK, "ties_go_to_lowest_id", "The maximum over pairs (sum, token) is the argmax.")
def maximum_over_pairs(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for row in checked(block_logits, anchor_token, markov_bias):
        corrected = row + row_of(markov_bias, previous, row.size)
        previous = max(zip(corrected.tolist(), range(row.size), strict=True))[1]
        tokens.append(previous)
    return tokens


@wrong(TASK, "ties_go_to_lowest_id", "Of equal sums the one with the better base logit wins.")
def ties_by_base_logit(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return walk(
        block_logits,
        anchor_token,
        markov_bias,
        lambda row, bias: np.where(row + bias == (row + bias).max(), row, -np.inf),
    )


@wrong(TASK, "ties_go_to_lowest_id", "Of equal sums the token that repeats the predecessor wins.")
def ties_repeat_the_predecessor(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for row in checked(block_logits, anchor_token, markov_bias):
        corrected = row + row_of(markov_bias, previous, row.size)
        best = np.flatnonzero(corrected == corrected.max()).tolist()
        previous = previous if previous in best else best[0]
        tokens.append(previous)
    return tokens


@wrong(TASK, "masked_and_negative_logits", "A forbidden transition is one without a bias, so −inf becomes 0.")
def forbidden_becomes_zero(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return walk(block_logits, anchor_token, markov_bias, lambda row, bias: row + np.where(np.isinf(bias), 0.0, bias))


@wrong(TASK, "masked_and_negative_logits", "A masked logit is 0 before it is corrected.")
def masked_becomes_zero(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return walk(block_logits, anchor_token, markov_bias, lambda row, bias: np.where(np.isinf(row), 0.0, row) + bias)


@wrong(TASK, "masked_and_negative_logits", "A bias of −inf is bad input.")
def forbidden_transition_refused(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    for token, row in markov_bias.items():
        if np.isneginf(row).any():
            raise ValueError(f"markov_bias of token {token} holds -inf.")
    return chain(block_logits, anchor_token, markov_bias)


@wrong(TASK, "masked_and_negative_logits", "A search for the best sum starts from 0.")
def search_from_zero(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return walk(block_logits, anchor_token, markov_bias, lambda row, bias: np.maximum(row + bias, 0.0))


# --- Wrong: forms, types, memory, inputs ------------------------------------------------------------------


@wrong(TASK, "lists_and_arrays", "A row plus a row adds number by number, also for lists.")
def lists_concatenated(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    vocabulary = checked(block_logits, anchor_token, markov_bias).shape[1]
    previous, tokens = anchor_token, []
    for row in block_logits:
        row_of(markov_bias, previous, vocabulary)
        previous = int(np.argmax(row + markov_bias[previous] if previous in markov_bias else row))
        tokens.append(previous)
    return tokens


@wrong(TASK, "lists_and_arrays", "A missing row is falsy and every other row is true.")
def truth_of_a_row(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for row in checked(block_logits, anchor_token, markov_bias):
        bias = markov_bias.get(previous) or [0.0] * row.size
        previous = int((row + row_of({previous: bias}, previous, row.size)).argmax())
        tokens.append(previous)
    return tokens


@wrong(TASK, "plain_types", "np.argmax returns an int.")
def numpy_integers(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[Any]:
    return list(np.array(chain(block_logits, anchor_token, markov_bias)))


@wrong(TASK, "plain_types", "An array filled from the left is as good as a list.")
def array_for_list(block_logits: Any, anchor_token: int, markov_bias: Any) -> Any:
    return np.array(chain(block_logits, anchor_token, markov_bias))


@wrong(TASK, "plain_types", "A tuple of token ids is as good as a list.")
def tuple_for_list(block_logits: Any, anchor_token: int, markov_bias: Any) -> tuple[int, ...]:
    return tuple(chain(block_logits, anchor_token, markov_bias))


@wrong(TASK, "plain_types", "Token ids may come out of an array of floats.")
def float_ids(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[float]:
    return [float(token) for token in chain(block_logits, anchor_token, markov_bias)]


@wrong(TASK, "no_memory", "A list as a default argument starts empty in each call.")
def mutable_default(
    block_logits: Any,
    anchor_token: int,
    markov_bias: Any,
    tokens: list[int] = [],  # noqa: B006
) -> list[int]:
    tokens.extend(chain(block_logits, anchor_token, markov_bias))
    return tokens


last_token: list[int] = []


@wrong(TASK, "no_memory", "The chain goes on from the last token of the call before.")
def chain_across_calls(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    checked(block_logits, anchor_token, markov_bias)
    tokens = chain(block_logits, last_token[-1] if last_token else anchor_token, markov_bias)
    last_token[:] = tokens[-1:]
    return tokens


drafts: dict[int, list[int]] = {}


@wrong(TASK, "no_memory", "One anchor always leads to one draft, which can be kept.")
def cache_by_anchor(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return drafts.setdefault(anchor_token, chain(block_logits, anchor_token, markov_bias))


@wrong(TASK, "input_unchanged", "`row += bias` saves a copy.")
def block_corrected_in_place(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for row in checked(block_logits, anchor_token, markov_bias):
        row += row_of(markov_bias, previous, row.size)
        previous = int(row.argmax())
        tokens.append(previous)
    return tokens


@wrong(TASK, "input_unchanged", "`bias += row` spares the block.")
def bias_corrected_in_place(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    tokens = chain(block_logits, anchor_token, markov_bias)
    for previous, row in zip([anchor_token, *tokens], block_logits, strict=False):
        for token in range(len(row)):
            if previous in markov_bias:
                markov_bias[previous][token] += row[token]
    return tokens


@wrong(TASK, "input_unchanged", "A missing row is best put into the dict as zeros.")
def missing_rows_filled_in(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    tokens = chain(block_logits, anchor_token, markov_bias)
    for token in [anchor_token, *tokens[:-1]]:
        markov_bias.setdefault(token, [0.0] * len(block_logits[0]))
    return tokens


@wrong(TASK, "input_unchanged", "The rows of the dict can be turned into arrays where they are.")
def rows_made_arrays_in_the_dict(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    tokens = chain(block_logits, anchor_token, markov_bias)
    for token in {anchor_token, *tokens[:-1]} & set(markov_bias):
        markov_bias[token] = np.asarray(markov_bias[token])
    return tokens


# --- Wrong: bad input and time ----------------------------------------------------------------------------


@wrong(TASK, "bad_input_raises", "NumPy refuses whatever does not fit, and a finite block gives a finite sum.")
def bias_values_unchecked(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for row in checked(block_logits, anchor_token, {}):
        bias = row_of(markov_bias, previous, row.size)
        if bias.shape != row.shape:
            raise ValueError(f"markov_bias of token {previous} has the wrong length.")
        previous = int((row + bias).argmax())
        tokens.append(previous)
    return tokens


@wrong(TASK, "bad_input_raises", "A bias of one number is meant for all tokens.")
def short_bias_broadcast(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    spread = {token: [row[0]] * len(block_logits[0]) if len(row) == 1 else row for token, row in markov_bias.items()}
    return chain(block_logits, anchor_token, spread)


@wrong(TASK, "bad_input_raises", "What a bias row has beyond the vocabulary can be cut off.")
def long_bias_cut(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    vocabulary = checked(block_logits, anchor_token, {}).shape[1]
    return chain(block_logits, anchor_token, {token: row[:vocabulary] for token, row in markov_bias.items()})


@wrong(TASK, "bad_input_raises", "A NaN in a bias row adds nothing.")
def nan_bias_is_zero(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    known = {token: np.where(np.isnan(row), 0.0, row) for token, row in markov_bias.items()}
    return chain(block_logits, anchor_token, known)


@wrong(TASK, "bad_input_raises", "A bias of plus infinity forces a token.")
def infinite_bias_forces(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    capped = {token: np.where(np.isposinf(row), 1e9, row) for token, row in markov_bias.items()}
    return chain(block_logits, anchor_token, capped)


@wrong(TASK, "bad_input_raises", "A bias row that forbids everything is as if it were missing.")
def all_forbidden_is_missing(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    kept = {token: row for token, row in markov_bias.items() if not len(row) or not np.isneginf(row).all()}
    return chain(block_logits, anchor_token, kept)


@wrong(TASK, "bad_input_raises", "Only the anchor's bias row has to be checked.")
def only_the_anchors_bias_checked(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, {})
    checked(logits[:1], anchor_token, markov_bias)
    previous, tokens = anchor_token, []
    for row in logits:
        previous = int((row + row_of(markov_bias, previous, row.size)[: row.size]).argmax())
        tokens.append(previous)
    return tokens


@wrong(TASK, "bad_input_raises", "The block comes from a model and is never bad.")
def block_unchecked(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for row in np.asarray(block_logits, dtype=float):
        bias = row_of(markov_bias, previous, len(row))
        checked(np.zeros((1, len(row))), previous, {previous: bias})
        previous = int((row + bias).argmax())
        tokens.append(previous)
    return tokens


@wrong(TASK, "bad_input_raises", "An empty block has an empty draft.")
def empty_block_accepted(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return chain(block_logits, anchor_token, markov_bias) if len(block_logits) else []


@wrong(TASK, "bad_input_raises", "A row of the wrong length is an IndexError, as NumPy has it.")
def index_error_for_length(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    try:
        return chain(block_logits, anchor_token, markov_bias)
    except ValueError as error:
        raise IndexError(str(error)) if "shape" in str(error) else error from None


@wrong(TASK, "error_names_offender", "The step is named at which the bad bias row was met.")
def step_named_for_token(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, {})
    for step in range(len(logits)):
        try:
            tokens = chain(logits[: step + 1], anchor_token, markov_bias)
        except ValueError as error:
            raise ValueError(f"markov_bias is bad at step {step} of the block.") from error
    return tokens


@wrong(TASK, "error_names_offender", "The caller knows which argument is meant.")
def argument_left_out(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    try:
        return chain(block_logits, anchor_token, markov_bias)
    except ValueError as error:
        raise ValueError(str(error).replace("markov_bias", "The bias").replace("block_logits", "The block")) from error


@wrong(TASK, "error_names_offender", "The caller can find the bad row, knowing that there is one.")
def token_left_out(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    chain(block_logits, anchor_token, {})
    try:
        return chain(block_logits, anchor_token, markov_bias)
    except ValueError as error:
        raise ValueError("A row of markov_bias is bad.") from error


@wrong(TASK, "error_names_offender", "Rows are counted from 1 in a message for people.")
def rows_counted_from_one(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    for position, row in enumerate(block_logits, start=1):
        if np.ndim(row) == 1 and len(row) and not math.isfinite(np.max(row)):
            raise ValueError(f"block_logits row {position} has no best token.")
    return chain(block_logits, anchor_token, markov_bias)


@wrong(TASK, "large_block_in_time", "A recursive question costs nothing, so it can be asked twice.")
def predecessor_asked_twice(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)

    def chosen(k: int) -> int:
        if k < 0:
            return anchor_token
        bias = row_of(markov_bias, chosen(k - 1), logits.shape[1])
        return int((logits[k] + bias).argmax()) if chosen(k - 1) in markov_bias else int(logits[k].argmax())

    return [chosen(k) for k in range(len(logits))]


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "Nested loops in plain Python, `in` and [] for the look-up, checks and messages of its own.")
def plain_loops(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    if len(block_logits) == 0:
        raise ValueError("block_logits has no rows.")
    for k, row in enumerate(block_logits):
        if np.ndim(row) != 1 or len(row) == 0 or len(row) != len(block_logits[0]):
            raise ValueError(f"The entry {k} of block_logits is no row of the right length.")
        if any(math.isnan(x) or x == math.inf for x in row) or all(x == -math.inf for x in row):
            raise ValueError(f"block_logits[{k}] has a logit that is not legal, or no token to choose.")
    tokens, previous = [], anchor_token
    for row in block_logits:
        bias = markov_bias[previous] if previous in markov_bias else [0.0] * len(row)
        if len(bias) != len(row):
            raise ValueError(f"markov_bias[{previous}] has the wrong length.")
        if any(math.isnan(b) or b == math.inf for b in bias) or all(b == -math.inf for b in bias):
            raise ValueError(f"markov_bias[{previous}] is no legal bias.")
        best = 0
        for v in range(len(row)):
            if row[v] + bias[v] > row[best] + bias[best]:
                best = v
        tokens.append(best)
        previous = best
    return tokens


@right(TASK, "The chain is an accumulation over the rows with the anchor as its start.")
def accumulated(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    def follow(previous: int, row: Any) -> int:
        return int(np.argmax(row + row_of(markov_bias, previous, row.size)))

    steps = accumulate(checked(block_logits, anchor_token, markov_bias), follow, initial=anchor_token)
    return list(steps)[1:]


@right(TASK, "The chain is a fold whose state is the list of tokens, the anchor in front.")
def folded(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    def extend(tokens: list[int], row: Any) -> list[int]:
        return [*tokens, int((row + row_of(markov_bias, tokens[-1], row.size)).argmax())]

    return reduce(extend, checked(block_logits, anchor_token, markov_bias), [anchor_token])[1:]


@right(TASK, "A recursion over the rest of the block.")
def recursive(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    first = int((logits[0] + row_of(markov_bias, anchor_token, logits.shape[1])).argmax())
    return [first] + (recursive(logits[1:], first, markov_bias) if len(logits) > 1 else [])


@right(TASK, "A recursion from the end, with a memory that lives as long as the call.")
def recursive_with_memory(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)

    @cache
    def chosen(k: int) -> int:
        if k < 0:
            return anchor_token
        return int(np.argmax(logits[k] + row_of(markov_bias, chosen(k - 1), logits.shape[1])))

    return [chosen(k) for k in range(len(logits))]


@right(TASK, "A generator that yields each token as it is chosen.")
def generated(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    def tokens() -> Iterator[int]:
        previous = anchor_token
        for row in checked(block_logits, anchor_token, markov_bias):
            previous = np.add(row, row_of(markov_bias, previous, row.size)).argmax().item()
            yield previous

    return [*tokens()]


@right(TASK, "A KeyError is caught where a token has no row.")
def missing_row_excepted(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    previous, tokens = anchor_token, []
    for logits in checked(block_logits, anchor_token, markov_bias):
        try:
            corrected = np.add(logits, markov_bias[previous])
        except KeyError:
            corrected = logits
        previous = int(np.argmax(corrected))
        tokens.append(previous)
    return tokens


@right(TASK, "The block is copied first and corrected in place in the copy, by sorting token ids.")
def corrected_copy(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    block = np.array(checked(block_logits, anchor_token, markov_bias), dtype=float, copy=True)
    tokens = [anchor_token]
    for k in range(block.shape[0]):
        block[k] += row_of(markov_bias, tokens[k], block.shape[1])
        tokens.append(sorted(range(block.shape[1]), key=lambda v: -block[k, v])[0])
    del tokens[0]
    return tokens


class ZeroRows(dict[int, Any]):
    """A row of zeros for every token that is asked for and has no row of its own."""

    def __missing__(self, token: int) -> float:
        return 0.0


class Chain:
    """The Markov chain of one block."""

    def __init__(self, logits: Any, biases: Any) -> None:
        self.logits, self.biases = logits, ChainMap(biases, ZeroRows())
        self.tokens: list[int] = []

    def step(self, previous: int) -> int:
        row = self.logits[len(self.tokens)]
        self.tokens.append(int(np.add(row, self.biases[previous]).argmax()))
        return self.tokens[-1]


@right(TASK, "A class with a step method and a mapping that has zeros for missing tokens.")
def class_with_steps(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    steps, previous = Chain(checked(block_logits, anchor_token, markov_bias), markov_bias), anchor_token
    while len(steps.tokens) < len(block_logits):
        previous = steps.step(previous)
    return steps.tokens


@right(TASK, "Log-probabilities stand in for the base logits, which changes no order within a row.")
def log_probabilities(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    logits = checked(block_logits, anchor_token, markov_bias)
    return chain(logits - np.floor(logits.max(axis=1, keepdims=True)), anchor_token, markov_bias)


@right(TASK, "Prints, warnings, a log and lines on stderr, all of which are allowed.")
def talkative(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    print("anchor:", anchor_token, "biases:", markov_bias)
    print("to stderr", file=sys.stderr)
    warnings.warn("A warning is no error.", RuntimeWarning, stacklevel=1)
    logging.getLogger(__name__).error("%d bias rows", len(markov_bias))
    return chain(block_logits, anchor_token, markov_bias)


class BadDraft(ValueError):
    """An error of its own kind, which is a ValueError all the same."""


@right(TASK, "A subclass of ValueError, raised from the helpers' own error, with other words around it.")
def own_error_class(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    try:
        return chain(block_logits, anchor_token, markov_bias)
    except ValueError as error:
        raise BadDraft(f"No draft can be made! The reason: {error}") from error


# --- Wrong: what shows only in numbers that are rare ------------------------------------------------------


@wrong(TASK, "masked_and_negative_logits", "Minus a billion is as low as a logit gets.")
def billion_for_infinity(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return walk(block_logits, anchor_token, markov_bias, lambda row, bias: np.maximum(row, -1e9) + bias)


@wrong(TASK, "anchor_starts_chain", "A negative anchor counts from the end of the vocabulary.")
def negative_anchor_from_the_end(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    vocabulary = checked(block_logits, anchor_token, markov_bias).shape[1]
    return chain(block_logits, anchor_token + vocabulary * (anchor_token < 0), markov_bias)


@wrong(TASK, "correct_then_choose", "The bias has the type of the logits.")
def bias_cast_to_logits(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    checked(block_logits, anchor_token, markov_bias)
    kind = np.asarray(block_logits).dtype
    return walk(block_logits, anchor_token, markov_bias, lambda row, bias: row + bias.astype(kind))


@wrong(TASK, "correct_then_choose", "Sums need no more digits than float32 has.")
def sums_in_float32(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    single = np.float32
    return walk(block_logits, anchor_token, markov_bias, lambda row, bias: row.astype(single) + bias.astype(single))


@wrong(TASK, "correct_then_choose", "Probabilities decide, and exp needs no maximum taken off.")
def exponentials_overflow(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return walk(
        block_logits, anchor_token, markov_bias, lambda row, bias: np.nan_to_num(np.exp(row + bias), posinf=9e99)
    )


SEEN_BLOCKS: dict[bytes, list[int]] = {}


@wrong(TASK, "no_memory", "A block is always drafted in the same way, whatever the anchor and the biases.")
def remembered_by_block(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    tokens = chain(block_logits, anchor_token, markov_bias)
    return SEEN_BLOCKS.setdefault(np.asarray(block_logits, dtype=float).tobytes(), tokens)


@wrong(TASK, "bad_input_raises", "A bias row may be wrapped into another list.")
def wrapped_bias_row_accepted(block_logits: Any, anchor_token: int, markov_bias: Any) -> list[int]:
    return chain(block_logits, anchor_token, {token: np.ravel(row) for token, row in markov_bias.items()})
