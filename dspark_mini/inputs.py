"""Input checks shared by the graded functions.

Each function takes the name of an argument and its value and returns the value in the form that the
lessons compute with, or raises a ValueError: a sentence with the argument's name, the 0-based position
of the first offender and the value found there.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "bias_mapping",
    "bias_row",
    "check_best",
    "check_same_length",
    "check_same_shape",
    "check_shape",
    "check_speeds",
    "check_tree_rows",
    "checked_logits",
    "confidence_rows",
    "drafter_mode",
    "entries",
    "logit_rows",
    "lookup_table",
    "number",
    "numbers",
    "probability_row",
    "probability_rows",
    "speed_table",
    "table_row",
    "token_id",
    "token_ids",
    "token_in",
    "tokens_in",
    "tree_nodes",
    "tree_parents",
    "unit_array",
    "unit_number",
    "unit_numbers",
    "weight_matrix",
    "weight_vector",
    "whole_number",
    "whole_numbers",
]

MODES = ("dflash", "dspark")


def logit_rows(name: str, rows: ArrayLike) -> NDArray[Any]:
    """Return a matrix of logits, checked for its shape only.

    Args:
        name: the argument's name, for the message.
        rows: (γ, V) logits; −inf marks a token that cannot be drafted.

    Returns:
        The same numbers as an array (γ, V) of floats; no copy is made of an array of floats. Their values are
        checked by check_best, once the best of each row is known.

    Raises:
        ValueError: no rows, no tokens, ragged rows, or something other than real numbers.
    """
    logits = _real_array(name, rows, "row ")
    if logits.shape == (0,):
        raise ValueError(f"{name} is empty: it needs at least one row of logits.")
    if logits.ndim != 2:
        raise ValueError(f"{name} must be a matrix of shape (γ, V), not an array of shape {logits.shape}.")
    if 0 in logits.shape:
        raise ValueError(f"{name} is empty: its shape is {logits.shape}, and it needs at least one row and one token.")
    return logits if logits.dtype.kind == "f" else logits.astype(np.float64)


def checked_logits(name: str, rows: ArrayLike) -> NDArray[np.float64]:
    """Return a matrix of logits as a float64 array (n, m), every number of it checked.

    Args:
        name: the argument's name, for the message.
        rows: (n, m) logits; −inf is legal, as long as it does not fill a row.

    Raises:
        ValueError: no rows or columns, ragged rows, or a row that holds NaN, +inf or nothing but −inf.
    """
    logits = logit_rows(name, rows).astype(np.float64, copy=False)
    is_sound = np.isfinite(logits.max(axis=1))  # NaN and +inf win, −inf wins where nothing is left
    if not is_sound.all():
        position = int(is_sound.argmin())
        raise ValueError(f"{name} row {position} {_logit_fault(logits[position])}.")
    return logits


def check_best(
    best: float,
    block_logits: tuple[int, ArrayLike],
    markov_bias: tuple[int, ArrayLike | None] | None = None,
    name: str = "block_logits",
) -> None:
    """Raise a ValueError unless the best logit of a row is finite, and say which input is at fault.

    NaN and +inf win every argmax, and −inf wins only where nothing else is left. So the one number at the argmax
    shows whether the whole row was legal, without another pass over it.

    Args:
        best: the logit at the argmax, a bias included.
        block_logits: the position of the row, and the row (V,).
        markov_bias: the token whose bias was added, and the bias (V,) or None.
        name: the name of the argument that holds the row, for the message.

    Raises:
        ValueError: the row or the bias holds NaN, +inf or nothing but −inf, or together they leave no token.
    """
    if isinstance(best, (int, np.integer)) or not isinstance(block_logits, tuple):
        raise TypeError("check_best takes the winning logit, row[best], not its index, and the pair (k, row).")
    if np.isfinite(best):
        return
    position, row = block_logits
    if fault := _logit_fault(row):
        raise ValueError(f"{name} row {position} {fault}.")
    token, bias = markov_bias or (0, None)
    if bias is not None and (fault := _logit_fault(bias)):
        raise ValueError(f"markov_bias of token {token} {fault}.")
    if best == -np.inf:
        raise ValueError(f"{name} row {position} and markov_bias of token {token} leave no token to choose.")


def bias_mapping(name: str, biases: Mapping[int, ArrayLike]) -> Mapping[int, ArrayLike]:
    """Return the transition biases, which must answer ``.get(token)``; no row is looked at."""
    if not callable(getattr(biases, "get", None)):
        raise ValueError(f"{name} must be a mapping from token to bias row, not {type(biases).__name__}.")
    return biases


def bias_row(name: str, token: int, row: ArrayLike | None, vocabulary: int) -> NDArray[np.float64] | None:
    """Return the bias that one token adds to the logits of the next, checked for its length only.

    Args:
        name: the argument's name, for the message.
        token: the token whose row this is.
        row: (V,) biases, where −inf forbids a transition, or None for a token without a row.
        vocabulary: V, the length that the row must have.

    Returns:
        The row as a float64 array (V,), or None. Its values are checked by check_best, once they have been added.

    Raises:
        ValueError: a row of another shape, or one that holds something other than real numbers.
    """
    if row is None:
        return None
    bias = _real_array(f"{name} of token {token}", row, "position ").astype(np.float64, copy=False)
    if bias.shape != (vocabulary,):
        raise ValueError(f"{name} of token {token} has shape {bias.shape}, but the vocabulary needs ({vocabulary},).")
    return bias


def lookup_table(name: str, table: ArrayLike, rows: int | None = None) -> NDArray[np.float64]:
    """Return a table with one row a token as a float64 array (V, r), checked for its shape only.

    Args:
        name: the argument's name, for the message.
        table: (V, r) numbers. A row is looked at by table_row, once it is used.
        rows: V, where it is known.

    Raises:
        ValueError: no rows, no columns, ragged rows, another number of rows, or something other than real numbers.
    """
    return _matrix(name, table, rows, None)


def table_row(name: str, table: NDArray[np.float64], token: int) -> NDArray[np.float64]:
    """Return the row (r,) of one token; a ValueError names the token if a number in it is not finite."""
    row: NDArray[np.float64] = table[token]
    if not np.isfinite(row).all():
        raise ValueError(f"{name} row {token} {_finite_fault(row)}.")
    return row


def weight_matrix(
    name: str, matrix: ArrayLike, rows: int | None = None, columns: int | None = None
) -> NDArray[np.float64]:
    """Return a matrix of finite numbers as a float64 array, checked for the sizes that are given.

    Args:
        name: the argument's name, for the message.
        matrix: the numbers.
        rows: how many rows it must have.
        columns: how many columns it must have.

    Raises:
        ValueError: no rows, no columns, ragged rows, another size than given, or a row that holds NaN or ±inf.
    """
    weights = _matrix(name, matrix, rows, columns)
    finite = np.isfinite(weights).all(axis=1)
    if not finite.all():
        position = int(finite.argmin())
        raise ValueError(f"{name} row {position} {_finite_fault(weights[position])}.")
    return weights


def weight_vector(name: str, vector: ArrayLike, length: int | None = None) -> NDArray[np.float64]:
    """Return a flat sequence of at least one finite number as a float64 array, of the length that is given."""
    weights = numbers(name, vector)
    if weights.size == 0 or weights.size != (length or weights.size):
        wanted = "at least one number" if length is None else f"{length} numbers"
        raise ValueError(f"{name} has {weights.size} entries, but it needs {wanted}.")
    return weights


def drafter_mode(name: str, mode: str) -> str:
    """Return the name of a drafter, 'dflash' or 'dspark', or refuse any other."""
    if not isinstance(mode, str) or mode not in MODES:
        raise ValueError(f"{name} must be 'dflash' or 'dspark', not {mode!r}.")
    return mode


def entries(name: str, values: ArrayLike, length: int) -> list[Any]:
    """Return the entries of a sequence of known length as they are, for a caller who looks at some of them only."""
    found = values.tolist() if isinstance(values, np.ndarray) else _entries(values)
    if not isinstance(found, list) or len(found) != length:
        raise ValueError(f"{name} must have {length} entries, not {values!r}.")
    return found


def check_same_length(name: str, values: ArrayLike, other_name: str, other: ArrayLike) -> None:
    """Raise a ValueError unless two sequences have the same number of entries."""
    entries, other_entries = _entries(values), _entries(other)
    if len(entries) != len(other_entries):
        raise ValueError(f"{other_name} has {len(other_entries)} entries, but {name} has {len(entries)}.")


def check_same_shape(name: str, values: NDArray[Any], other_name: str, other: NDArray[Any]) -> None:
    """Raise a ValueError unless two arrays have the same shape."""
    if values.shape != other.shape:
        raise ValueError(f"{other_name} has shape {other.shape}, but {name} has shape {values.shape}.")


def check_shape(name: str, matrix: NDArray[Any], shape: tuple[int, int]) -> None:
    """Raise a ValueError unless a matrix has this shape; without rows, its number of columns does not matter."""
    rows, columns = shape
    if len(matrix) != rows or (rows > 0 and matrix.shape[1] != columns):
        raise ValueError(f"{name} has shape {matrix.shape}, but the other arguments need {shape}.")


def token_id(name: str, token: int) -> int:
    """Return one token id as a plain int; it may lie outside the vocabulary, but it must be whole."""
    number = _index(token)
    if number is None:
        raise ValueError(f"{name} must be a whole number, not {token!r}.")
    return number


def token_ids(name: str, tokens: ArrayLike) -> list[int]:
    """Return a sequence of token ids as plain ints, none of them negative."""
    return whole_numbers(name, tokens, low=0)


def whole_number(name: str, value: int, low: int, high: int | None = None) -> int:
    """Return a count as a plain int that lies between low and high, both included."""
    number = _index(value)
    if number is None or number < low or (high is not None and number > high):
        raise ValueError(f"{name} must be {_whole_range(low, high)}, not {value!r}.")
    return number


def whole_numbers(name: str, values: ArrayLike, low: int, high: int | None = None) -> list[int]:
    """Return a sequence of counts as plain ints that lie between low and high, both included."""
    if not np.iterable(values) or isinstance(values, (str, bytes, Mapping)):
        raise ValueError(f"{name} must be a sequence of whole numbers, not {values!r}.")
    numbers: list[int] = []
    for position, item in enumerate(_entries(values)):
        number = _index(item)
        if number is None or number < low or (high is not None and number > high):
            raise ValueError(f"{name}[{position}] must be {_whole_range(low, high)}, not {item!r}.")
        numbers.append(number)
    return numbers


def number(name: str, value: float, low: float = -np.inf, above: bool = False) -> float:
    """Return a finite number as a plain float.

    Args:
        name: the argument's name, for the message.
        value: the number.
        low: the least number allowed.
        above: whether low itself is refused.

    Raises:
        ValueError: NaN, an infinite number, one below low, or something that is no number.
    """
    array = _real_array(name, value, "position ")
    if array.ndim != 0 or not np.isfinite(array) or array < low or (above and array == low):
        raise ValueError(f"{name} must be a finite number{_at_least(low, above)}, not {value!r}.")
    return float(array)


def numbers(name: str, values: ArrayLike, low: float = -np.inf, above: bool = False) -> NDArray[np.float64]:
    """Return a flat sequence of finite numbers as a float64 array; see number for the bounds. It may be empty."""
    array = _real_array(name, values, "position ").astype(np.float64, copy=False)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a flat sequence of numbers, not an array of shape {array.shape}.")
    bad = ~np.isfinite(array) | (array < low) | ((array == low) if above else False)
    if bad.any():
        position = int(bad.argmax())
        raise ValueError(f"{name}[{position}] must be a finite number{_at_least(low, above)}, not {array[position]}.")
    return array


def probability_row(name: str, row: ArrayLike) -> NDArray[np.float64]:
    """Return one probability distribution as a float64 array (V,): no entry negative, and a sum of 1 within 1e-6."""
    array = _real_array(name, row, "position ").astype(np.float64, copy=False)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be one row of probabilities, not an array of shape {array.shape}.")
    if fault := _probability_fault(array):
        raise ValueError(f"{name} {fault}.")
    return array


def probability_rows(name: str, rows: ArrayLike) -> NDArray[np.float64]:
    """Return a matrix of probability distributions, one a row, as a float64 array (n, V) with n ≥ 0."""
    array = _real_array(name, rows, "row ").astype(np.float64, copy=False)
    if array.shape == (0,):
        return array.reshape(0, 0)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} must be a matrix of shape (n, V), not an array of shape {array.shape}.")
    if array.min(initial=0.0) >= 0.0 and (np.abs(array.sum(axis=1) - 1.0) <= 1e-6).all():
        return array  # the quick way for rows without a fault
    for position, row in enumerate(array):
        if fault := _probability_fault(row):
            raise ValueError(f"{name} row {position} {fault}.")
    return array


def token_in(name: str, token: int, vocabulary: int) -> int:
    """Return one token id of the vocabulary as a plain int."""
    return whole_number(name, token, low=0, high=vocabulary - 1)


def tokens_in(name: str, tokens: ArrayLike, vocabulary: int) -> list[int]:
    """Return a sequence of token ids of the vocabulary as plain ints."""
    return whole_numbers(name, tokens, low=0, high=vocabulary - 1)


def confidence_rows(name: str, rows: Any) -> NDArray[np.float64]:
    """Return the confidences of a batch as one matrix.

    Args:
        name: the argument's name, for the message.
        rows: R sequences of confidences in [0, 1], one a request; their lengths may differ and may be 0.

    Returns:
        Float64 array (R, γ), where γ is the longest length; short rows are filled up with 0.

    Raises:
        ValueError: something other than one flat sequence a request, or a confidence outside [0, 1]; the message
            names request and position, as in confidences[1][2].
    """
    if not np.iterable(rows) or isinstance(rows, (str, bytes, Mapping)):
        raise ValueError(f"{name} must be a list with one sequence of confidences a request, not {rows!r}.")
    matrix = _as_real(rows) if isinstance(rows, np.ndarray) and rows.ndim == 2 else _filled_up(list(rows))
    if matrix is None:
        raise ValueError(_row_fault(name, rows))
    outside = ~((matrix >= 0.0) & (matrix <= 1.0))  # written so that NaN is outside too
    if outside.any():
        request, position = np.argwhere(outside)[0]
        value = matrix[request, position]
        raise ValueError(f"{name}[{request}][{position}] must lie between 0 and 1, not {value}.")
    return matrix.astype(np.float64, copy=False)


def speed_table(name: str, table: ArrayLike, requests: int) -> NDArray[np.float64]:
    """Return the profiled steps per second by batch size, checked for an entry at a batch without draft tokens.

    Args:
        name: the argument's name, for the message.
        table: entry B holds the steps per second at a batch of B tokens; entry 0 is never used.
        requests: R, the number of requests, which is the size of the batch without draft tokens.

    Returns:
        The same numbers as a float64 array. Their values are checked by check_speeds, once it is known which are used.

    Raises:
        ValueError: a table that is no flat sequence of numbers, or one without an entry for B = R.
    """
    speeds = _real_array(name, table, "position ").astype(np.float64, copy=False)
    if speeds.ndim != 1:
        raise ValueError(f"{name} must be a flat sequence of numbers, not an array of shape {speeds.shape}.")
    if requests >= speeds.size:
        raise ValueError(f"{name} has {speeds.size} entries, and none for a batch of {requests}, one token a request.")
    return speeds


def check_speeds(name: str, first: int, entries: ArrayLike) -> None:
    """Raise a ValueError unless the entries of a table that are used are finite and above 0.

    Args:
        name: the argument's name, for the message.
        first: the position of the first of these entries in the table.
        entries: one entry, or several in a row.
    """
    speeds = np.atleast_1d(np.asarray(entries, dtype=np.float64))
    bad = ~(np.isfinite(speeds) & (speeds > 0.0))
    if bad.any():
        offset = int(bad.argmax())
        raise ValueError(f"{name}[{first + offset}] must be a finite number above 0, not {speeds[offset]}.")


def unit_array(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return an array of numbers between 0 and 1, both included, of one axis or more; it may be empty.

    The position in a message is the index along the first axis: an entry of a flat sequence, a row of a matrix.
    """
    array = _real_array(name, values, "row ").astype(np.float64, copy=False)
    if array.ndim == 0:
        raise ValueError(f"{name} must be a sequence of numbers, not {values!r}.")
    outside = ~((array >= 0.0) & (array <= 1.0))  # written so that NaN is outside too
    if outside.any():
        position = int(np.argwhere(outside)[0, 0])
        where = f"{name}[{position}]" if array.ndim == 1 else f"{name} row {position}"
        raise ValueError(f"{where} must lie between 0 and 1, not {array[outside][0]}.")
    return array


def tree_parents(name: str, parents: ArrayLike) -> list[int]:
    """Return the parents of a tree's nodes as plain ints: −1 for a child of the root, else an earlier node."""
    numbers = whole_numbers(name, parents, low=-1)
    for node, parent in enumerate(numbers):
        if parent >= node:
            raise ValueError(f"{name}[{node}] must be -1 (the root) or an earlier node, not {parent}.")
    return numbers


def tree_nodes(
    tokens_name: str, tokens: ArrayLike, parents_name: str, parents: ArrayLike
) -> tuple[list[int], list[int]]:
    """Return the tokens and the parents of a tree's nodes as plain ints; siblings must differ in their tokens."""
    nodes, above = token_ids(tokens_name, tokens), tree_parents(parents_name, parents)
    check_same_length(tokens_name, nodes, parents_name, above)
    seen: dict[tuple[int, int], int] = {}
    for node, key in enumerate(zip(above, nodes)):
        if key in seen:
            raise ValueError(f"{tokens_name}[{node}] is {key[1]}, the same as that of its sibling, node {seen[key]}.")
        seen[key] = node
    return nodes, above


def check_tree_rows(
    tokens: list[int], parents: list[int], draft_probs: NDArray[np.float64], target_probs: NDArray[np.float64]
) -> None:
    """Raise a ValueError unless two matrices of rows fit a tree: row 0 follows the context, row i + 1 node i.

    Args:
        tokens: (n,) the nodes' tokens.
        parents: (n,) the nodes' parents, −1 for a child of the root.
        draft_probs: (n + 1, V) the rows that children were drawn from.
        target_probs: (n + 1, V) the target's rows.

    Raises:
        ValueError: another number of rows than n + 1, another vocabulary in target_probs than in draft_probs, a
            token outside the vocabulary, or one that its draft row could never have brought forth.
    """
    for name, rows in (("draft_probs", draft_probs), ("target_probs", target_probs)):
        if len(rows) != len(tokens) + 1:
            raise ValueError(f"{name} has {len(rows)} rows, but {len(tokens)} nodes need {len(tokens) + 1}.")
    vocabulary = draft_probs.shape[1]
    if target_probs.shape[1] != vocabulary:
        raise ValueError(f"target_probs has {target_probs.shape[1]} columns, but draft_probs has {vocabulary}.")
    for node, (token, parent) in enumerate(zip(tokens_in("tokens", tokens, vocabulary), parents)):
        if draft_probs[parent + 1, token] == 0.0:
            raise ValueError(f"tokens[{node}] is {token}, which draft_probs row {parent + 1} gives probability 0.")


def unit_number(name: str, value: float) -> float:
    """Return a number between 0 and 1, both included, as a plain float."""
    number = _real_array(name, value, "position ")
    if number.ndim != 0 or not 0.0 <= float(number) <= 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1, not {value!r}.")
    return float(number)


def unit_numbers(name: str, values: ArrayLike, may_be_empty: bool = False) -> NDArray[np.float64]:
    """Return a sequence of numbers between 0 and 1, both included, as a float64 array, by default a non-empty one."""
    numbers = _real_array(name, values, "position ").astype(np.float64, copy=False)
    if numbers.ndim != 1:
        raise ValueError(f"{name} must be a flat sequence of numbers, not an array of shape {numbers.shape}.")
    if numbers.size == 0 and not may_be_empty:
        raise ValueError(f"{name} is empty: it needs at least one number.")
    outside = ~((numbers >= 0.0) & (numbers <= 1.0))  # written so that NaN is outside too
    if outside.any():
        position = int(np.flatnonzero(outside)[0])
        raise ValueError(f"{name}[{position}] must lie between 0 and 1, not {numbers[position]}.")
    return numbers


def _filled_up(rows: list[Any]) -> NDArray[np.float64] | None:
    """Return rows of different lengths as one matrix with 0 behind the short ones; None for anything but such rows."""
    try:
        lengths = np.array([len(row) for row in rows], dtype=int)  # (R,)
        flat = list(chain.from_iterable(rows))
        sum(flat)  # raises for texts, which NumPy would read as numbers
        values = np.array(flat, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if values.shape != (lengths.sum(),):
        return None
    matrix = np.zeros((lengths.size, lengths.max(initial=0)))
    matrix[np.arange(matrix.shape[1]) < lengths[:, None]] = values
    return matrix


def _row_fault(name: str, rows: Any) -> str:
    """Say which of several rows is no flat sequence of numbers, the first of them."""
    for request, row in enumerate(rows):
        values = _real_array(f"{name}[{request}]", row, "position ")
        if values.ndim != 1:
            return f"{name}[{request}] must be a flat sequence of confidences, not an array of shape {values.shape}."
    return f"{name} must hold one flat sequence of confidences a request."


def _matrix(name: str, matrix: ArrayLike, rows: int | None, columns: int | None) -> NDArray[np.float64]:
    """Return a matrix as a float64 array, checked for the sizes that are given."""
    array = _real_array(name, matrix, "row ").astype(np.float64, copy=False)
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"{name} must be a matrix with rows and columns, not an array of shape {array.shape}.")
    for size, wanted, what in zip(array.shape, (rows, columns), ("rows", "columns")):
        if wanted is not None and size != wanted:
            raise ValueError(f"{name} has shape {array.shape}, but it needs {wanted} {what}.")
    return array


def _finite_fault(row: NDArray[np.float64]) -> str:
    """Say which number of a row is not finite."""
    bad = int((~np.isfinite(row)).argmax())
    return f"holds {row[bad]} in column {bad}"


def _real_array(name: str, value: ArrayLike, unit: str) -> NDArray[Any]:
    """Turn numbers into an array of real dtype, or say which entry along the first axis is at fault."""
    array = _as_real(value)
    if array is not None:
        return array
    first_shape: tuple[int, ...] | None = None
    for position, entry in enumerate(_entries(value)):
        row = _as_real(entry)
        if row is None:
            raise ValueError(f"{name} {unit}{position} must hold real numbers only, not {entry!r}.")
        if first_shape is None:
            first_shape = row.shape
        if row.shape != first_shape:
            raise ValueError(f"{name} {unit}{position} has shape {row.shape}, but the first has {first_shape}.")
    raise ValueError(f"{name} must hold real numbers only, not {value!r}.")


def _as_real(value: Any) -> NDArray[Any] | None:
    """Return an array of real dtype, or None for ragged rows and for anything but real numbers."""
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if array.dtype.kind in "fiub" else None


def _entries(values: Any) -> Sequence[Any] | NDArray[Any]:
    """Return the entries of a sequence, or none for anything else; an array is not copied into a list."""
    if isinstance(values, np.ndarray) and values.ndim > 0:
        return values
    return list(values) if np.iterable(values) and not isinstance(values, (str, bytes, Mapping)) else []


def _logit_fault(row: ArrayLike) -> str | None:
    """Say what is wrong with a row of logits or biases, or None where it is legal."""
    numbers = np.asarray(row)
    for is_bad, text in ((np.isnan(numbers), "nan"), (np.isposinf(numbers), "+inf")):
        if is_bad.any():
            return f"holds {text} at token {int(is_bad.argmax())}"
    return "holds nothing but -inf" if np.isneginf(numbers).all() else None


def _probability_fault(row: NDArray[np.float64]) -> str | None:
    """Say why a row is no probability distribution, or None where it is one."""
    if row.min(initial=0.0) >= 0.0 and abs(row.sum() - 1.0) <= 1e-6:
        return None  # the quick way for a row without a fault
    bad = ~(np.isfinite(row) & (row >= 0.0))
    if bad.any():
        return f"holds {row[bad.argmax()]} at token {int(bad.argmax())}, which is no probability"
    return f"sums to {row.sum():.9g} and not to 1"


def _at_least(low: float, above: bool) -> str:
    return "" if low == -np.inf else f" {'above' if above else 'of at least'} {low:g}"


def _index(value: Any) -> int | None:
    """Return a whole number as a plain int, or None for anything else, booleans among it."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _whole_range(low: int, high: int | None) -> str:
    return f"a whole number from {low}" + (" on" if high is None else f" to {high}")
