"""Kinds of arguments: each is one function, which returns ``(name, value, sizes) -> value``.

What it returns is converted to what functions compute with; where the value is bad, it raises a ValueError that names
the argument, the 0-based position and the value. A size is a number, the name of a whole-number argument, or letters:
"γ", "γ+1", "2r+d".
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Sizes = dict[str, int]
Kind = Callable[[str, Any, Sizes], Any]
Size = int | str
Array = NDArray[np.float64]

GREEDY_BELOW = 1e-5  # dividing logits by a lower temperature would overflow; it is greedy


# --- Sizes ------------------------------------------------------------------------------------------------------------


@functools.cache
def _terms(size: Size) -> list[tuple[int, str]]:
    """Read "2r+d" as [(2, "r"), (1, "d")] and "γ+1" as [(1, "γ"), (1, "")]."""
    parts = [re.fullmatch(r"(\d*)(.*)", part) for part in str(size).split("+")]
    return [(int(m[1] or 1), m[2]) for m in parts if m]


def size_of(size: Size, sizes: Sizes) -> int:
    """Return a size whose letters are bound."""
    return size if isinstance(size, int) else sum(n * (sizes[letter] if letter else 1) for n, letter in _terms(size))


def bind(name: str, shape: tuple[int, ...], axis: int, size: Size, sizes: Sizes, empty: bool = False) -> None:
    """Match one axis of an argument with its declared size; a letter that is still free is bound by it."""
    terms, found = _terms(size), shape[axis]
    has = f"has {shape[0]} entries" if len(shape) == 1 else f"has shape {shape}"
    free = next((term for term in terms if term[1] and term[1] not in sizes), None)
    if free is None:
        if found != (wanted := size_of(size, sizes)):
            raise ValueError(f"{name} {has}, but axis {axis} must be {size} = {wanted}.")
        return
    known = sum(n * (sizes[letter] if letter else 1) for n, letter in terms if letter != free[1])
    least = known + (0 if empty or "" in dict(map(reversed, terms)) else free[0])  # type: ignore[call-overload]
    if found < least:
        raise ValueError(f"{name} {has}, but axis {axis} ({size}) must be at least {least}.")
    sizes[free[1]] = (found - known) // free[0]


# --- Arrays -----------------------------------------------------------------------------------------------------------


def as_real(name: str, value: Any) -> NDArray[Any]:
    """Return numbers as an array of a real dtype, or name the first entry that is ragged or not a number."""
    array = _real(value)
    if array is not None:
        return array
    rows = [_real(row) for row in value] if is_sequence(value) else []
    for k, row in enumerate(rows):
        if row is None:
            raise ValueError(f"{name}[{k}] must hold real numbers, not {value[k]!r}.")
        if rows[0] is not None and row.shape != rows[0].shape:
            raise ValueError(f"{name}[{k}] has shape {row.shape}, but {name}[0] has {rows[0].shape}.")
    raise ValueError(f"{name} must hold real numbers, not {value!r}.")


def _real(value: Any) -> NDArray[Any] | None:
    if hasattr(value, "detach"):  # a torch tensor; NumPy has no bfloat16
        value = value.detach().cpu()
        value = value.float() if "bfloat16" in str(value.dtype) else value
    try:
        array = np.asarray(value)
        array = array.astype(np.float64) if array.dtype.kind in "OV" else array  # huge ints; bfloat16 of ml_dtypes
    except (TypeError, ValueError, OverflowError):
        return None
    return array if array.dtype.kind in "fiub" else None


def is_sequence(value: Any) -> bool:
    """Tell whether a value can be walked through and is neither text nor a mapping."""
    return bool(np.iterable(value)) and not isinstance(value, (str, bytes, Mapping))


def _floats(name: str, value: Any, dims: tuple[Size, ...], sizes: Sizes, empty: bool = False) -> Array:
    """Return a float64 array whose axes have the declared sizes; a leading "…" stands for any number of axes."""
    array = as_real(name, value).astype(np.float64, copy=False)
    if dims[0] == "…" and array.ndim:
        return array
    if empty and len(dims) > 1 and array.shape == (0,):
        array = array.reshape(0, *(sizes.get(str(size), 1) for size in dims[1:]))
    if array.ndim != len(dims):
        raise ValueError(f"{name} must have shape ({', '.join(map(str, dims))}), not {array.shape}.")
    for axis, size in enumerate(dims):
        bind(name, array.shape, axis, size, sizes, empty and axis == 0)
    return array


def _refuse(name: str, array: NDArray[Any], bad: NDArray[np.bool_], must: str) -> None:
    """Raise a ValueError that names the first entry where `bad` holds."""
    if bad.any():
        at = tuple(np.argwhere(bad)[0].tolist())
        raise ValueError(f"{name}{''.join(f'[{i}]' for i in at)} must be {must}, not {array[at]}.")


def _with_bad(kind: Kind, *bad: float) -> Kind:
    """Note which numbers a kind excludes, for the tests."""
    kind.bad = bad  # type: ignore[attr-defined]
    return kind


def logits(*dims: Size) -> Kind:
    """Rows of logits: −inf marks a token that is excluded; NaN, +inf and a row of only −inf are bad."""

    def convert(name: str, value: Any, sizes: Sizes) -> Array:
        array = _floats(name, value, dims, sizes)
        rows = array.reshape(-1, array.shape[-1])
        best = rows[np.arange(len(rows)), rows.argmax(axis=1)]  # NaN and +inf win every argmax
        if not np.isfinite(best).all():
            _refuse(name, array, np.isnan(array) | np.isposinf(array), "finite or -inf")
            row = f"[{int(np.isneginf(best).argmax())}]" if len(dims) > 1 else ""
            raise ValueError(f"{name}{row} holds nothing but -inf, which leaves no token to choose.")
        return array

    return _with_bad(convert, np.nan, np.inf)


def numbers(*dims: Size, low: float = -np.inf, above: float = -np.inf, empty: bool = False) -> Kind:
    """Finite numbers, not less than `low` and greater than `above`."""

    def convert(name: str, value: Any, sizes: Sizes) -> Array:
        array = _floats(name, value, dims, sizes, empty)
        bad = ~np.isfinite(array)
        if max(low, above) > -np.inf:
            bad |= (array < low) | (array <= above)
        _refuse(name, array, bad, "a finite number" + _limits(low, above))
        return array

    return _with_bad(convert, np.nan, np.inf, *_outside(low, above))


def speeds(requests: str) -> Kind:
    """Steps per second by batch size: entry 0 is not used, and there is one for a batch of one token per request."""

    def convert(name: str, value: Any, sizes: Sizes) -> Array:
        table = _floats(name, value, ("B",), sizes, empty=True)
        if 0 < len(table) <= sizes[requests] or (len(table) == 0 and sizes[requests]):
            raise ValueError(f"{name} has {len(table)} entries, but needs one for a batch of {sizes[requests]}.")
        bad = ~(np.isfinite(table) & (table > 0.0))
        bad[:1] = False
        _refuse(name, table, bad, "a finite number above 0")
        return table

    return convert


def chances(*dims: Size, empty: bool = False) -> Kind:
    """Chances, such as confidences: numbers from 0 to 1."""

    def convert(name: str, value: Any, sizes: Sizes) -> Array:
        array = _floats(name, value, dims, sizes, empty)
        _refuse(name, array, ~((array >= 0.0) & (array <= 1.0)), "a number from 0 to 1")
        return array

    return _with_bad(convert, np.nan, -0.25, 1.25)


def chance_rows(size: str) -> Kind:
    """One sequence of chances per request, whose lengths may differ: a matrix, short rows padded with 0."""
    of_one = chances("length", empty=True)

    def convert(name: str, value: Any, sizes: Sizes) -> Array:
        if not is_sequence(value):
            raise ValueError(f"{name} must hold one sequence of confidences per request, not {value!r}.")
        rows = [of_one(f"{name}[{i}]", row, {}) for i, row in enumerate(value)]
        sizes[size] = len(rows)
        matrix = np.zeros((len(rows), max(map(len, rows), default=0)))  # (R, γ)
        for padded, row in zip(matrix, rows):
            padded[: len(row)] = row
        return matrix

    return _with_bad(convert, np.nan, -0.25, 1.25)


def probabilities(*dims: Size, empty: bool = False) -> Kind:
    """Distributions, one per row: they sum to 1 within what their dtype can hold; the function sees exact ones."""

    def convert(name: str, value: Any, sizes: Sizes) -> Array:
        array = _floats(name, value, dims, sizes, empty)
        _refuse(name, array, ~((array >= 0.0) & (array < np.inf)), "a probability")
        sums = array.sum(axis=-1, keepdims=True)
        off = np.abs(sums - 1.0)
        if off.max(initial=0.0) > max(1e-6, min(0.02, _spacing(value) * array.shape[-1] ** 0.5)):
            row = int(off.argmax())
            raise ValueError(f"{name}{f'[{row}]' * (array.ndim > 1)} must sum to 1, not to {sums.flat[row]:.9g}.")
        return array / sums if off.max(initial=0.0) > 1e-9 else array

    return _with_bad(convert, np.nan, -0.25, 1.25)


def _spacing(value: Any) -> float:
    """Return the spacing, at 1, of the numbers that an argument is made of."""
    dtype = str(getattr(value, "dtype", "")).rpartition(".")[2]  # of NumPy, torch or ml_dtypes
    return {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23}.get(dtype, 2.0**-52)


# --- Scalars and lists ------------------------------------------------------------------------------------------------


def number(low: float = -np.inf, above: float = -np.inf, high: float = np.inf) -> Kind:
    """One finite number."""

    def convert(name: str, value: Any, sizes: Sizes) -> float:
        found = _real(value)
        if found is None or found.ndim or not (np.isfinite(found) and low <= found <= high and found > above):
            raise ValueError(f"{name} must be a finite number{_limits(low, above, high)}, not {value!r}.")
        return float(found)

    return _with_bad(convert, np.nan, np.inf, *_outside(low, above, high))


def chance() -> Kind:
    """One number from 0 to 1."""
    return number(low=0.0, high=1.0)


def temperature() -> Kind:
    """A temperature; 0 is greedy, and so is everything below 1e-5."""
    convert = number(low=0.0)

    def greedy_if_low(name: str, value: Any, sizes: Sizes) -> float:
        found: float = convert(name, value, sizes)
        return 0.0 if found < GREEDY_BELOW else found

    return _with_bad(greedy_if_low, np.nan, -1.0)


def _limits(low: float, above: float, high: float = np.inf) -> str:
    texts = [f" of at least {low:g}"] * (low > -np.inf) + [f" above {above:g}"] * (above > -np.inf)
    return "".join(texts + [f" up to {high:g}"] * (high < np.inf))


def _outside(low: float, above: float, high: float = np.inf) -> list[float]:
    return [low - 1.0] * (low > -np.inf) + [above] * (above > -np.inf) + [high + 1.0] * (high < np.inf)


def whole(name: str, value: Any, low: int | None = None, high: int | None = None) -> int:
    """Return a plain int within its limits, both included."""
    try:
        found = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        found = None
    if found is None or (low is not None and found < low) or (high is not None and found > high):
        lower = "" if low is None else f" of at least {low}" if high is None else f" from {low}"
        upper = "" if high is None else f" to {high}" if low is not None else f" of at most {high}"
        raise ValueError(f"{name} must be a whole number{lower}{upper}, not {value!r}.")
    return found


def integer(low: Size | None = 0, high: Size | None = None, below: Size | None = None) -> Kind:
    """One whole number from `low` to `high`, and less than `below`; a limit may be an earlier argument."""

    def convert(name: str, value: Any, sizes: Sizes) -> int:
        return whole(name, value, *_range(low, high, below, sizes))

    return _with_bad(convert, 0.5, *([low - 1] if isinstance(low, int) else []))


def integers(
    size: Size, low: Size | None = 0, high: Size | None = None, below: Size | None = None, empty: bool = False
) -> Kind:
    """A list of whole numbers from `low` to `high`, and less than `below`; an iterator is read once."""

    def convert(name: str, value: Any, sizes: Sizes) -> list[int]:
        if not is_sequence(value):
            raise ValueError(f"{name} must be a sequence of whole numbers, not {value!r}.")
        items = list(value)
        bind(name, (len(items),), 0, size, sizes, empty)
        least, most = _range(low, high, below, sizes)
        return [whole(f"{name}[{i}]", item, least, most) for i, item in enumerate(items)]

    return _with_bad(convert, 0.5, *([low - 1] if isinstance(low, int) else []))


def _range(low: Size | None, high: Size | None, below: Size | None, sizes: Sizes) -> tuple[int | None, int | None]:
    least, most = (None if limit is None else size_of(limit, sizes) for limit in (low, high))
    return least, size_of(below, sizes) - 1 if below is not None else most


def token(below: Size | None = None) -> Kind:
    """One token id; without `below` it may lie outside the vocabulary."""
    return integer(None if below is None else 0, below=below)


def tokens(size: Size, below: Size | None = None, empty: bool = True) -> Kind:
    """A list of token ids."""
    return integers(size, 0, below=below, empty=empty)


def token_lists(size: Size) -> Kind:
    """Lists of token ids, such as one per round, whose lengths may differ; at least one list."""
    of_one = tokens("length")

    def convert(name: str, value: Any, sizes: Sizes) -> list[list[int]]:
        if not is_sequence(value):
            raise ValueError(f"{name} must hold lists of token ids, not {value!r}.")
        lists = [of_one(f"{name}[{i}]", item, {}) for i, item in enumerate(value)]
        bind(name, (len(lists),), 0, size, sizes)
        return lists

    return _with_bad(convert, 0.5, -1)


def parent_nodes(size: Size) -> Kind:
    """The parents of a tree's nodes: −1 for a child of the root, otherwise an earlier node."""
    of_list = integers(size, low=-1, empty=True)

    def convert(name: str, value: Any, sizes: Sizes) -> list[int]:
        found: list[int] = of_list(name, value, sizes)
        return [whole(f"{name}[{node}]", parent, -1, node - 1) for node, parent in enumerate(found)]

    return _with_bad(convert, 0.5, -2)


def one_of(*words: str) -> Kind:
    """One of a few words."""

    def convert(name: str, value: Any, sizes: Sizes) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"{name} must be {' or '.join(map(repr, words))}, not {value!r}.")
        return value

    return convert


def generator() -> Kind:
    """A numpy.random.Generator, or a double of one."""

    def convert(name: str, value: Any, sizes: Sizes) -> Any:
        if not callable(getattr(value, "random", None)):
            raise ValueError(f"{name} must be a numpy.random.Generator, not {value!r}.")
        return value

    return convert


# --- Bias rows --------------------------------------------------------------------------------------------------------


class BiasRows(Mapping[int, Array]):
    """A mapping from token to bias row (V,): zeros for a token without one; a row is checked when it is read."""

    def __init__(self, name: str, rows: Any, vocabulary: int) -> None:
        self.name, self.rows, self.vocabulary = name, rows, vocabulary

    def __getitem__(self, token: int) -> Array:
        row = self.rows.get(token)
        if row is None:
            return np.zeros(self.vocabulary)
        is_converted = type(row) is np.ndarray and row.dtype == np.float64 and row.shape == (self.vocabulary,)
        if is_converted and math.isfinite(row[row.argmax()]):
            return row  # the quick way for a row without a fault
        return logits("V")(f"{self.name}[{token}]", row, {"V": self.vocabulary})  # type: ignore[no-any-return]

    def get(self, token: int, default: Any = None) -> Any:
        """Return the bias of a token, zeros where it has none."""
        return self[token]

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, token: object) -> bool:
        return token in self.rows


def bias_rows(size: Size) -> Kind:
    """A mapping from token to bias row, such as a dict or a low-rank head that answers `.get(token)`."""

    def convert(name: str, value: Any, sizes: Sizes) -> BiasRows:
        if isinstance(value, BiasRows) and value.vocabulary == size_of(size, sizes):
            return value
        if not callable(getattr(value, "get", None)):
            raise ValueError(f"{name} must be a mapping from token to bias row, not {value!r}.")
        return BiasRows(name, value, size_of(size, sizes))

    return convert
