"""Variants of task 3.1, low_rank_bias: one row of W1 times W2."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from dspark_mini.inputs import lookup_table, table_row, token_in, weight_matrix
from grader.lessons.mutants import right, wrong

TASK = "3.1"


def given(w1: Any, w2: Any, token: Any) -> tuple[Any, Any, int]:
    """Check the arguments as the stub does, and the row in use as well."""
    table = lookup_table("w1", w1)
    matrix = weight_matrix("w2", w2, rows=table.shape[1], columns=table.shape[0])
    token = token_in("token", token, len(table))
    table_row("w1", table, token)
    return table, matrix, token


# --- Wrong: another product ----------------------------------------------------------------------------


@wrong(TASK, "row_of_the_product", "The bias is the sum of the rows of W2, weighed by nothing.")
def rows_of_w2_summed(w1: Any, w2: Any, token: int) -> Any:
    return given(w1, w2, token)[1].sum(axis=0)


@wrong(TASK, "row_of_the_product", "Only the largest number of the row picks its row of W2.")
def largest_entry_picks(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    best = int(table[token].argmax())
    return table[token, best] * matrix[best]


@wrong(TASK, "row_of_the_product", "The product is normalised by the rank, like attention scores.")
def divided_by_root_of_rank(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    return table[token] @ matrix / np.sqrt(table.shape[1])


@wrong(TASK, "row_of_the_product", "A bias is a log-probability, so it is brought to sum 1 first.")
def bias_as_log_softmax(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    bias = table[token] @ matrix
    return bias - bias.max() - np.log(np.exp(bias - bias.max()).sum())


@wrong(TASK, "row_of_the_product", "A sequential head has a non-linearity between its two matrices.")
def tanh_between(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    return np.tanh(table[token]) @ matrix


@wrong(TASK, "row_of_the_product", "The row is that of the token that follows.")
def next_row(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    return np.nan_to_num(table[(token + 1) % len(table)]) @ matrix


@wrong(TASK, "rows_are_the_tokens_before", "A bias is a column of the table: what leads to the token.")
def column_of_the_table(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    return np.where(np.isfinite(table), table, 0.0) @ matrix[:, token]


@wrong(TASK, "rows_are_the_tokens_before", "Tokens stand in the columns of W1 if it has enough of them.")
def column_of_w1(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    return (table[:, token] if token < table.shape[1] == len(table) else table[token]) @ matrix


@wrong(TASK, "rows_are_the_tokens_before", "Square or not, W2 can be stored like W1, a row a token.")
def w2_transposed(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    square = matrix.shape[0] == matrix.shape[1]
    return table[token] @ (matrix.T if square else matrix)


@wrong(TASK, "every_shape", "r is always smaller than V, so the rest is cut off.")
def rank_below_vocabulary(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    rank = max(1, min(table.shape[1], len(table) - 1))
    return table[token, :rank] @ matrix[:rank]


@wrong(TASK, "every_shape", "np.squeeze does no harm.")
def squeezed(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    return np.squeeze(table[token : token + 1] @ matrix)


@wrong(TASK, "other_rows_are_not_read", "All of w1 must be finite, used or not.")
def whole_table_checked(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    return weight_matrix("w1", table)[token] @ matrix


@wrong(TASK, "other_rows_are_not_read", "Picking a row is a product with a one-hot vector.")
def one_hot_product(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    return np.eye(len(table))[token] @ table @ matrix


# --- Wrong: manners ------------------------------------------------------------------------------------


@wrong(TASK, "plain_types", "A list of numbers is as good as an array.")
def bias_in_a_list(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    return (table[token] @ matrix).tolist()


@wrong(TASK, "plain_types", "Single precision is enough for a bias.")
def bias_in_float32(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    return (table[token] @ matrix).astype(np.float32)


@wrong(TASK, "lists_and_arrays", "Weights always come as arrays.")
def arrays_only(w1: Any, w2: Any, token: int) -> Any:
    given(w1, w2, token)
    return w1[token] @ w2


@wrong(TASK, "no_memory", "A bias that was computed once need not be computed again.")
def rows_remembered(w1: Any, w2: Any, token: int, seen: dict[int, Any] = {}) -> Any:  # noqa: B006
    table, matrix, token = given(w1, w2, token)
    return seen.setdefault(token, table[token] @ matrix) if len(table) == 3 else seen.get(token, table[token] @ matrix)


@wrong(TASK, "input_unchanged", "The row may be scaled in place before the product.")
def row_scaled_in_place(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    table[token] *= 2.0
    return table[token] @ matrix / 2.0


@wrong(TASK, "bad_input_raises", "A NaN spreads by itself, so nobody need look for it.")
def row_not_checked(w1: Any, w2: Any, token: int) -> Any:
    table = lookup_table("w1", w1)
    matrix = weight_matrix("w2", w2, rows=table.shape[1], columns=table.shape[0])
    return table[token_in("token", token, len(table))] @ matrix


@wrong(TASK, "bad_input_raises", "A negative token counts from the end, as in NumPy.")
def negative_tokens_wrap(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token % len(w1) if token < 0 else token)
    return table[token] @ matrix


@wrong(TASK, "bad_input_raises", "A token outside the vocabulary has no bias.")
def unknown_tokens_get_zeros(w1: Any, w2: Any, token: int) -> Any:
    if token >= len(w1):
        return np.zeros(len(w1))
    table, matrix, token = given(w1, w2, token)
    return table[token] @ matrix


@wrong(TASK, "error_names_offender", "It is enough to say that something is not finite.")
def some_number_not_finite(w1: Any, w2: Any, token: int) -> Any:
    try:
        table, matrix, token = given(w1, w2, token)
    except ValueError:
        raise ValueError("The arguments do not fit.") from None
    return table[token] @ matrix


# --- Right, in other styles ----------------------------------------------------------------------------


@right(TASK, "Plain loops over r and V, with math only.")
def plain_loops(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    row, columns = table[token].tolist(), matrix.T.tolist()
    return np.array([sum(a * b for a, b in zip(row, column)) for column in columns])


@right(TASK, "einsum names the axes.")
def named_axes(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    return np.einsum("r,rv->v", table[token], matrix)


@right(TASK, "The whole table is made and one row is taken, which is wasteful and right.")
def whole_table(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    return (table @ matrix)[token]


@right(TASK, "Weighted rows are broadcast and summed, with a line on stderr.")
def weighted_rows(w1: Any, w2: Any, token: int) -> Any:
    table, matrix, token = given(w1, w2, token)
    print("rank", table.shape[1], file=sys.stderr)
    return (table[token][:, None] * matrix).sum(axis=0)


@right(TASK, "Its own checks in its own words.")
def own_checks(w1: Any, w2: Any, token: int) -> Any:
    try:
        table, matrix = np.array(w1, dtype=float), np.array(w2, dtype=float)
    except ValueError:
        for name, rows in (("w1", w1), ("w2", w2)):
            for k, row in enumerate(rows):
                if len(row) != len(rows[0]):
                    raise ValueError(f"{name}: row {k} has another length.") from None
        raise
    if table.ndim != 2 or matrix.ndim != 2 or table.shape != matrix.shape[::-1]:
        raise ValueError("w1 and w2 do not fit together.")
    if not 0 <= token < len(table):
        raise ValueError(f"token is {token}, outside the vocabulary.")
    if not np.isfinite(table[token]).all():
        raise ValueError(f"w1 has a bad number in row {token}.")
    for k, row in enumerate(matrix):
        if not np.isfinite(row).all():
            raise ValueError(f"w2 has a bad number in row {k}.")
    return np.dot(matrix.T, table[token])
