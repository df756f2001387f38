"""Variants of task 2.1, dflash_parallel_candidates: each position takes its own best token."""

from __future__ import annotations

import logging
import math
import sys
import warnings
from functools import reduce
from typing import Any

import numpy as np

from dspark_mini.drafting import dflash_parallel_candidates
from grader.lessons.mutants import right, wrong

TASK = "2.1"


def checked_array(block_logits: Any) -> Any:
    """Refuse bad input as the reference does, and return the block as an array, without a copy where it is one."""
    dflash_parallel_candidates(block_logits)
    return np.asarray(block_logits, dtype=float)


def checked(block_logits: Any) -> list[list[float]]:
    """Refuse bad input as the reference does, and return the rows as lists of floats."""
    rows: list[list[float]] = checked_array(block_logits).tolist()
    return rows


def checked_argmax(block_logits: Any) -> list[int]:
    """Refuse bad input, then choose."""
    return [row.index(max(row)) for row in checked(block_logits)]


# --- Wrong: which token is the best -------------------------------------------------------------------


@wrong(TASK, "argmax_of_each_row", "The argmax along axis 0 gives one token for each position.")
def argmax_along_the_block(block_logits: Any) -> list[int]:
    logits = checked_array(block_logits)
    return [int(best) for best in logits.argmax(axis=0)]


@wrong(TASK, "argmax_of_each_row", "np.argmax without an axis looks at each row, since the matrix has rows.")
def argmax_of_whole_matrix(block_logits: Any) -> list[int]:
    logits = checked_array(block_logits)
    return [int(np.argmax(logits))] * len(logits)


@wrong(TASK, "argmax_of_each_row", "The block is drafted by its first row, as an ordinary model drafts one token.")
def first_row_only(block_logits: Any) -> list[int]:
    return [row.index(max(row)) for row in checked(block_logits)[:1]]


@wrong(TASK, "argmax_of_each_row", "Logits are costs, so the smallest one wins.")
def smallest_logit(block_logits: Any) -> list[int]:
    return [row.index(min(row)) for row in checked(block_logits)]


@wrong(TASK, "argmax_of_each_row", "The size of a logit decides, whatever its sign.")
def largest_magnitude(block_logits: Any) -> list[int]:
    rows = [[abs(logit) if logit > -math.inf else -1.0 for logit in row] for row in checked(block_logits)]
    return [row.index(max(row)) for row in rows]


@wrong(TASK, "argmax_of_each_row", "Token ids count from 1.")
def ids_from_one(block_logits: Any) -> list[int]:
    return [1 + row.index(max(row)) for row in checked(block_logits)]


@wrong(TASK, "argmax_of_each_row", "The best logit itself is the draft, not its index.")
def best_value_for_index(block_logits: Any) -> list[float]:
    return [max(row) for row in checked(block_logits)]


@wrong(TASK, "argmax_of_each_row", "Logits may be rounded to whole numbers before they are compared.")
def truncated_to_integers(block_logits: Any) -> list[int]:
    rows = [[int(logit) if logit > -math.inf else logit for logit in row] for row in checked(block_logits)]
    return [row.index(max(row)) for row in rows]


@wrong(TASK, "argmax_of_each_row", "Later positions build on the logits of the earlier ones, which are summed up.")
def logits_summed_along_the_block(block_logits: Any) -> list[int]:
    totals = np.cumsum(checked_array(block_logits), axis=0)
    return [int(best) for best in totals.argmax(axis=1)]


@wrong(TASK, "argmax_of_each_row", "A drafter samples from its distribution.")
def sampled_tokens(block_logits: Any) -> list[int]:
    rng, tokens = np.random.default_rng(), []
    for row in checked_array(block_logits):
        weights = np.exp(row - row.max())
        tokens.append(int(rng.choice(row.size, p=weights / weights.sum())))
    return tokens


@wrong(TASK, "argmax_of_each_row", "The tokens of a block are sorted by how sure the drafter is of them.")
def surest_position_first(block_logits: Any) -> list[int]:
    best = sorted(((max(row), row.index(max(row))) for row in checked(block_logits)), reverse=True)
    return [token for _, token in best]


@wrong(TASK, "argmax_of_each_row", "The answers to the lesson's examples are all that a check can ask for.")
def hard_coded_examples(block_logits: Any) -> list[int]:
    known = {0.1: [1, 0, 2], 0.0: [1, 1], -1.0: [0], 0.5: [0, 1], -math.inf: [2, 0]}
    return known.get(checked(block_logits)[0][0], [0])


# --- Wrong: positions that influence each other -------------------------------------------------------


@wrong(TASK, "positions_are_independent", "A block never repeats a token, so a chosen one is struck out.")
def no_token_twice(block_logits: Any) -> list[int]:
    tokens: list[int] = []
    for row in checked(block_logits):
        left = [token for token in range(len(row)) if token not in tokens] or list(range(len(row)))
        tokens.append(max(left, key=row.__getitem__))
    return tokens


@wrong(TASK, "positions_are_independent", "Two neighbours never hold the same token.")
def no_token_twice_in_a_row(block_logits: Any) -> list[int]:
    tokens: list[int] = []
    for row in checked(block_logits):
        others = [token for token in range(len(row)) if token not in tokens[-1:]] or [0]
        tokens.append(max(others, key=row.__getitem__))
    return tokens


@wrong(TASK, "positions_are_independent", "The logits become probabilities by a softmax over the block.")
def softmax_over_the_block(block_logits: Any) -> list[int]:
    logits = checked_array(block_logits)
    shifted = logits - np.where(np.isinf(logits.max(axis=0)), 0.0, logits.max(axis=0))
    with np.errstate(divide="ignore"):
        log_probs = shifted - np.log(np.exp(shifted).sum(axis=0) + 1e-300)
    return [int(best) for best in log_probs.argmax(axis=1)]


@wrong(TASK, "positions_are_independent", "Subtracting one maximum of the whole block makes every softmax safe.")
def softmax_with_one_maximum_for_all(block_logits: Any) -> list[int]:
    logits = checked_array(block_logits)
    weights = np.exp(logits - logits.max())
    return [int(best) for best in weights.argmax(axis=1)]


@wrong(TASK, "positions_are_independent", "exp of a logit is always a number that can be compared.")
def softmax_that_overflows(block_logits: Any) -> list[int]:
    with np.errstate(all="ignore"):
        weights = np.exp(checked_array(block_logits))
        return [int(best) for best in (weights / weights.sum(axis=1, keepdims=True)).argmax(axis=1)]


@wrong(TASK, "positions_are_independent", "The best logit so far goes on being the mark to beat in the next row.")
def best_not_reset_between_rows(block_logits: Any) -> list[int]:
    tokens, token, best = [], 0, -math.inf
    for row in checked(block_logits):
        for candidate, logit in enumerate(row):
            if logit > best:
                token, best = candidate, logit
        tokens.append(token)
    return tokens


# --- Wrong: ties --------------------------------------------------------------------------------------


@wrong(TASK, "ties_go_to_lowest_id", "Replacing the best on >= is as good as on >.")
def replaced_on_equality(block_logits: Any) -> list[int]:
    tokens = []
    for row in checked(block_logits):
        token = 0
        for candidate in range(1, len(row)):
            if row[candidate] >= row[token]:
                token = candidate
        tokens.append(token)
    return tokens


@wrong(TASK, "ties_go_to_lowest_id", "The maximum over pairs (logit, token) is the argmax.")
def maximum_over_pairs(block_logits: Any) -> list[int]:
    return [max((logit, token) for token, logit in enumerate(row))[1] for row in checked(block_logits)]


@wrong(TASK, "ties_go_to_lowest_id", "The last entry of argsort is the argmax.")
def last_of_argsort(block_logits: Any) -> list[int]:
    order = np.argsort(checked_array(block_logits), axis=1, kind="stable")
    return [int(best) for best in order[:, -1]]


@wrong(TASK, "ties_go_to_lowest_id", "An argmax of the reversed row, counted from the end, is the argmax.")
def argmax_of_reversed_rows(block_logits: Any) -> list[int]:
    logits = checked_array(block_logits)
    return [logits.shape[1] - 1 - int(best) for best in logits[:, ::-1].argmax(axis=1)]


@wrong(TASK, "ties_go_to_lowest_id", "Between equal logits a coin decides, so that no token is preferred.")
def coin_between_equals(block_logits: Any) -> list[int]:
    rng = np.random.default_rng()
    return [int(rng.choice(np.flatnonzero(np.equal(row, max(row))))) for row in checked(block_logits)]


# --- Wrong: masked and negative logits ----------------------------------------------------------------


@wrong(TASK, "masked_and_negative_logits", "A search for a maximum starts from 0.")
def search_from_zero(block_logits: Any) -> list[int]:
    tokens = []
    for row in checked(block_logits):
        token, best = 0, 0.0
        for candidate, logit in enumerate(row):
            if logit > best:
                token, best = candidate, logit
        tokens.append(token)
    return tokens


@wrong(TASK, "masked_and_negative_logits", "A masked logit has no value, so 0 stands in for it.")
def masked_becomes_zero(block_logits: Any) -> list[int]:
    logits = np.nan_to_num(checked_array(block_logits), neginf=0.0)
    return [int(best) for best in logits.argmax(axis=1)]


@wrong(TASK, "masked_and_negative_logits", "Masked tokens are not in the vocabulary, so ids count what is left.")
def masked_tokens_removed(block_logits: Any) -> list[int]:
    rows = [[logit for logit in row if logit > -math.inf] for row in checked(block_logits)]
    return [row.index(max(row)) for row in rows]


@wrong(TASK, "masked_and_negative_logits", "An infinite logit is always a mistake.")
def any_infinity_refused(block_logits: Any) -> list[int]:
    for position, row in enumerate(checked(block_logits)):
        if not all(map(math.isfinite, row)):
            raise ValueError(f"block_logits row {position} holds a number that is not finite.")
    return [row.index(max(row)) for row in checked(block_logits)]


# --- Wrong: forms, types, memory, inputs ----------------------------------------------------------------


@wrong(TASK, "lists_and_arrays", "The block is always an array, with an argmax of its own.")
def arrays_only(block_logits: Any) -> list[int]:
    checked(block_logits)
    return [int(best) for best in block_logits.argmax(axis=1)]


@wrong(TASK, "lists_and_arrays", "A row is always a list, with an index of its own.")
def lists_only(block_logits: Any) -> list[int]:
    checked(block_logits)
    return [row.index(max(row)) for row in block_logits]


@wrong(TASK, "plain_types", "A list of NumPy integers is a list of ints.")
def numpy_integers(block_logits: Any) -> list[Any]:
    return list(checked_array(block_logits).argmax(axis=1))


@wrong(TASK, "plain_types", "An array of token ids is as good as a list.")
def array_for_list(block_logits: Any) -> Any:
    return checked_array(block_logits).argmax(axis=1)


@wrong(TASK, "plain_types", "A tuple of token ids is as good as a list.")
def tuple_for_list(block_logits: Any) -> tuple[int, ...]:
    return tuple(row.index(max(row)) for row in checked(block_logits))


@wrong(TASK, "plain_types", "A token id may be a float, since 1.0 equals 1.")
def float_ids(block_logits: Any) -> list[float]:
    tokens = np.zeros(len(block_logits))
    for position, row in enumerate(checked(block_logits)):
        tokens[position] = row.index(max(row))
    return [float(token) for token in tokens]


@wrong(TASK, "no_memory", "A list as a default argument starts empty in each call.")
def mutable_default(block_logits: Any, tokens: list[int] = []) -> list[int]:  # noqa: B006
    for row in checked(block_logits):
        tokens.append(row.index(max(row)))
    return tokens


drafted: list[int] = []


@wrong(TASK, "no_memory", "A list in the module is the place for results.")
def module_level_list(block_logits: Any) -> list[int]:
    for row in checked(block_logits):
        drafted.append(row.index(max(row)))
    return drafted


best_of_position: dict[int, int] = {}


@wrong(TASK, "no_memory", "The token of a position can be kept for the next call.")
def cache_by_position(block_logits: Any) -> list[int]:
    rows = checked(block_logits)
    return [best_of_position.setdefault(k, row.index(max(row))) for k, row in enumerate(rows)]


@wrong(TASK, "input_unchanged", "A row can be shifted to the maximum 0 where it stands.")
def shifted_in_place(block_logits: Any) -> list[int]:
    logits = checked_array(block_logits)
    logits -= logits.max(axis=1, keepdims=True)
    best: list[int] = logits.argmax(axis=1).tolist()
    return best


@wrong(TASK, "input_unchanged", "Rows may be taken out of the caller's list one by one.")
def rows_popped(block_logits: Any) -> list[int]:
    checked(block_logits)
    rows, tokens = (block_logits if isinstance(block_logits, list) else block_logits.tolist()), []
    while rows:
        row = rows.pop(0)
        tokens.append(int(np.argmax(row)))
    return tokens


@wrong(TASK, "input_unchanged", "Sorting a row to find its maximum does no harm once the answer is known.")
def rows_sorted_in_place(block_logits: Any) -> list[int]:
    tokens = [row.index(max(row)) for row in checked(block_logits)]
    for row in block_logits:
        row.sort()
    return tokens


# --- Wrong: bad input and time --------------------------------------------------------------------------


@wrong(TASK, "bad_input_raises", "NumPy notices bad numbers by itself.")
def no_checks_at_all(block_logits: Any) -> list[int]:
    best: list[int] = np.asarray(block_logits).argmax(axis=1).tolist()
    return best


@wrong(TASK, "bad_input_raises", "NaN can be skipped as if it were masked.")
def nan_skipped(block_logits: Any) -> list[int]:
    logits = np.asarray(block_logits, dtype=float)
    return checked_argmax(np.where(np.isnan(logits), -np.inf, logits))


@wrong(TASK, "bad_input_raises", "A plus infinity is just a very good logit.")
def plus_infinity_wins(block_logits: Any) -> list[int]:
    logits = np.asarray(block_logits, dtype=float)
    return checked_argmax(np.where(np.isposinf(logits), np.finfo(float).max, logits))


@wrong(TASK, "bad_input_raises", "A row that is masked throughout drafts token 0.")
def fully_masked_row_takes_zero(block_logits: Any) -> list[int]:
    rows = [[0.0, *row[1:]] if len(row) and np.all(np.isneginf(row)) else row for row in block_logits]
    return checked_argmax(rows)


@wrong(TASK, "bad_input_raises", "Only the first row needs to be looked at, the others are like it.")
def first_row_checked(block_logits: Any) -> list[int]:
    checked(block_logits[:1])
    return [int(np.argmax(row)) for row in block_logits]


@wrong(TASK, "bad_input_raises", "An empty block has an empty draft.")
def empty_block_accepted(block_logits: Any) -> list[int]:
    return checked_argmax(block_logits) if len(block_logits) else []


@wrong(TASK, "bad_input_raises", "A short row is filled up with masked tokens.")
def short_rows_padded(block_logits: Any) -> list[int]:
    if len(block_logits) and all(isinstance(row, list) for row in block_logits):
        longest = max(len(row) for row in block_logits)
        block_logits = [row + [-math.inf] * (longest - len(row)) for row in block_logits]
    return checked_argmax(block_logits)


@wrong(TASK, "bad_input_raises", "A flat list is meant as a block of one position.")
def flat_list_is_one_row(block_logits: Any) -> list[int]:
    flat = len(block_logits) > 0 and np.ndim(block_logits[0]) == 0
    return checked_argmax([block_logits] if flat else block_logits)


@wrong(TASK, "bad_input_raises", "An assertion is the way to refuse bad input.")
def assertion_for_bad_input(block_logits: Any) -> list[int]:
    try:
        return checked_argmax(block_logits)
    except ValueError as error:
        raise AssertionError(str(error)) from error


@wrong(TASK, "bad_input_raises", "Bad input is reported by a printed line and an empty draft.")
def printed_error(block_logits: Any) -> list[int]:
    try:
        return checked_argmax(block_logits)
    except ValueError as error:
        print(error)
        return []


@wrong(TASK, "error_names_offender", "Rows are counted from 1 in a message for people.")
def rows_counted_from_one(block_logits: Any) -> list[int]:
    for position, row in enumerate(block_logits):
        if np.ndim(row) == 1 and not math.isfinite(np.max(row, initial=-math.inf)):
            raise ValueError(f"block_logits row {position + 1} has no best token.")
    return checked_argmax(block_logits)


@wrong(TASK, "error_names_offender", "It is enough to say that the block is bad.")
def position_left_out(block_logits: Any) -> list[int]:
    try:
        return checked_argmax(block_logits)
    except ValueError as error:
        raise ValueError("block_logits must be a matrix of finite numbers or masked tokens.") from error


@wrong(TASK, "error_names_offender", "The caller knows which argument is meant.")
def argument_left_out(block_logits: Any) -> list[int]:
    try:
        return checked_argmax(block_logits)
    except ValueError as error:
        raise ValueError(str(error).replace("block_logits", "The matrix")) from error


@wrong(TASK, "error_names_offender", "The last bad row is as good to name as the first.")
def last_offender_named(block_logits: Any) -> list[int]:
    bad = [k for k, row in enumerate(block_logits) if np.ndim(row) == 1 and len(row) and np.isnan(row).any()]
    if bad:
        raise ValueError(f"block_logits row {bad[-1]} holds nan.")
    return checked_argmax(block_logits)


@wrong(TASK, "error_names_offender", "The token that is NaN is the place to name, its row is not.")
def column_named_for_row(block_logits: Any) -> list[int]:
    for row in block_logits:
        if np.ndim(row) == 1 and np.isnan(row).any():
            raise ValueError(f"block_logits holds nan at token {int(np.isnan(row).argmax())}.")
    return checked_argmax(block_logits)


@wrong(TASK, "large_block_in_time", "Every token may be compared with every other one.")
def each_token_against_all(block_logits: Any) -> list[int]:
    tokens = []
    for row in checked(block_logits):
        beaten = [sum(other > logit for other in row) for logit in row]
        tokens.append(beaten.index(0))
    return tokens


@wrong(TASK, "large_block_in_time", "A recursive call costs nothing, so it can be made twice.")
def rest_drafted_twice(block_logits: Any) -> list[int]:
    def draft(rows: list[list[float]]) -> list[int]:
        if not rows:
            return []
        return [rows[0].index(max(rows[0])), *draft(rows[1:])] if len(draft(rows[1:])) < len(rows) else []

    return draft(checked(block_logits))


# --- Right ----------------------------------------------------------------------------------------------


@right(TASK, "Nested loops in plain Python, with checks and messages of its own.")
def plain_loops(block_logits: Any) -> list[int]:
    if len(block_logits) == 0:
        raise ValueError("block_logits has no rows.")
    tokens = []
    for k in range(len(block_logits)):
        row = block_logits[k]
        if np.ndim(row) != 1 or len(row) == 0 or len(row) != len(block_logits[0]):
            raise ValueError(f"The entry {k} of block_logits is no row of the right length.")
        token = 0
        for v in range(len(row)):
            if math.isnan(row[v]) or row[v] == math.inf:
                raise ValueError(f"NaN or infinity was found in block_logits[{k}][{v}].")
            if row[v] > row[token]:
                token = v
        if row[token] == -math.inf:
            raise ValueError(f"In block_logits, everything in row {k} is masked.")
        tokens.append(token)
    return tokens


@right(TASK, "The maximum with a key, over token ids.")
def max_with_key(block_logits: Any) -> list[int]:
    return [max(range(len(row)), key=row.__getitem__) for row in checked(block_logits)]


@right(TASK, "A sort by falling logit, then by rising id.")
def sort_with_key(block_logits: Any) -> list[int]:
    rows = checked(block_logits)
    return [sorted(range(len(row)), key=lambda token: (-row[token], token))[0] for row in rows]


@right(TASK, "A fold that keeps the better of two tokens, the earlier one on a tie.")
def fold_over_tokens(block_logits: Any) -> list[int]:
    def better(row: list[float], one: int, other: int) -> int:
        return other if row[other] > row[one] else one

    return [reduce(lambda a, b: better(row, a, b), range(len(row))) for row in checked(block_logits)]


@right(TASK, "A recursive split of each row into halves.")
def recursive_halves(block_logits: Any) -> list[int]:
    def best(row: list[float], start: int, stop: int) -> int:
        if stop - start == 1:
            return start
        left, right_half = best(row, start, (start + stop) // 2), best(row, (start + stop) // 2, stop)
        return right_half if row[right_half] > row[left] else left

    return [best(row, 0, len(row)) for row in checked(block_logits)]


@right(TASK, "Log-softmax along the vocabulary first, which changes no order.")
def log_softmax_first(block_logits: Any) -> list[int]:
    logits = checked_array(block_logits)
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return [int(np.flatnonzero(row == row.max())[0]) for row in log_probs]


@right(TASK, "An argmax along the first axis of the transposed matrix, with np.int64 made plain one by one.")
def transposed_argmax(block_logits: Any) -> list[int]:
    columns = np.transpose(checked_array(block_logits))
    return [best.item() for best in columns.argmax(0)]


@right(TASK, "np.apply_along_axis with a function of one row.")
def applied_along_axis(block_logits: Any) -> list[int]:
    best: list[int] = np.apply_along_axis(np.argmax, 1, checked_array(block_logits)).tolist()
    return best


@right(TASK, "A generator that walks over the transposed columns and keeps running maxima.")
def running_maxima(block_logits: Any) -> list[int]:
    columns = zip(*checked(block_logits), strict=True)
    best = [(value, 0) for value in next(columns)]
    for token, column in enumerate(columns, start=1):
        best = [(new, token) if new > old[0] else old for old, new in zip(best, column, strict=True)]
    return [token for _, token in best]


class Drafter:
    """A block of logits that can be asked for its tokens."""

    def __init__(self, logits: Any) -> None:
        self.rows = [dict(enumerate(row)) for row in checked(logits)]

    def tokens(self) -> list[int]:
        return [max(row, key=lambda token: row[token]) for row in self.rows]


@right(TASK, "A class whose object holds every row as a dict.")
def class_with_dicts(block_logits: Any) -> list[int]:
    return Drafter(block_logits).tokens()


@right(TASK, "Prints, warnings, a log and lines on stderr, all of which are allowed.")
def talkative(block_logits: Any) -> list[int]:
    print("block:", block_logits, "\n" * 50)
    print("to stderr", file=sys.stderr)
    warnings.warn("A warning is no error.", stacklevel=1)
    logging.getLogger(__name__).warning("%d rows", len(block_logits))
    return checked_argmax(block_logits)


@right(TASK, "The error of a helper is caught and told again in other words.")
def own_wording(block_logits: Any) -> list[int]:
    rows: list[Any] = list(block_logits)
    try:
        return checked_argmax(rows)
    except ValueError as error:
        fits = [np.ndim(row) == 1 and len(row) == len(rows[0]) for row in rows]
        fine = [fit and np.isfinite(np.max(row, initial=-np.inf)) for fit, row in zip(fits, rows, strict=True)]
        where = f"at index {fine.index(False)}" if False in fine else "altogether"
        raise ValueError(f"Argument block_logits cannot be drafted from: it is bad {where}!") from error


# --- Wrong: what shows only in numbers that are rare ------------------------------------------------------


@wrong(TASK, "masked_and_negative_logits", "Minus a billion is as low as a logit gets.")
def billion_in_place_of_infinity(block_logits: Any) -> list[int]:
    logits = checked_array(block_logits)
    return [int(best) for best in np.where(np.isneginf(logits), -1e9, logits).argmax(axis=1)]


@wrong(TASK, "masked_and_negative_logits", "A search may start from −999.")
def search_from_minus_999(block_logits: Any) -> list[int]:
    return [max(range(len(row)), key=lambda i: (max(row[i], -999.0), -i)) for row in checked(block_logits)]


@wrong(TASK, "input_unchanged", "Infinities may be cleaned up in the array that came in.")
def infinities_cleaned_in_place(block_logits: Any) -> list[int]:
    logits = checked_array(block_logits)
    np.nan_to_num(logits, copy=False)
    return [int(best) for best in logits.argmax(axis=1)]


@wrong(TASK, "argmax_of_each_row", "Logits need no more digits than float32 has.")
def decided_in_float32(block_logits: Any) -> list[int]:
    return [int(best) for best in checked_array(block_logits).astype(np.float32).argmax(axis=1)]


@wrong(TASK, "argmax_of_each_row", "Logits that are close to the maximum are equal to it.")
def close_to_the_maximum(block_logits: Any) -> list[int]:
    return [int(np.flatnonzero(np.isclose(row, row.max()))[0]) for row in checked_array(block_logits)]


SEEN_FIRST_ROWS: dict[tuple[float, ...], list[int]] = {}


@wrong(TASK, "no_memory", "A block is known by its first row and its length.")
def remembered_by_first_row(block_logits: Any) -> list[int]:
    rows = checked(block_logits)
    return SEEN_FIRST_ROWS.setdefault((*rows[0], float(len(rows))), checked_argmax(block_logits))
