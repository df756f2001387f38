"""Kinds of arguments: each is one function, which returns ``(name, value, sizes) -> value``.

What it returns is converted to what functions compute with; where the value is bad, it raises a ValueError that names
the argument, the 0-based position and the value.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dspark_mini.conversion import (
    Array,
    Size,
    Sizes,
    as_floats,
    bind,
    is_sequence,
    real_or_none,
    refuse,
    size_of,
)

Kind = Callable[[str, Any, Sizes], Any]

GREEDY_BELOW = 1e-5  # dividing logits by a lower temperature would overflow; it is greedy


# --- Arrays -----------------------------------------------------------------------------------------------------------


def _with_bad(kind: Kind, *bad: float) -> Kind:
    """Note which numbers a kind excludes, for the tests."""
    kind.bad = bad  # type: ignore[attr-defined]
    return kind


def logits(*dims: Size) -> Kind:
    """Rows of logits: −inf marks a token that is excluded; NaN, +inf and a row of only −inf are bad."""

    def convert(name: str, value: Any, sizes: Sizes) -> Array:
        array = as_floats(name, value, dims, sizes)
        rows = array.reshape(-1, array.shape[-1])
        best = rows[np.arange(len(rows)), rows.argmax(axis=1)]  # NaN and +inf win every argmax
        if not np.isfinite(best).all():
            refuse(name, array, np.isnan(array) | np.isposinf(array), "finite or -inf")
            row = f"[{int(np.isneginf(best).argmax())}]" if len(dims) > 1 else ""
            raise ValueError(f"{name}{row} holds nothing but -inf, which leaves no token to choose.")
        return array

    return _with_bad(convert, np.nan, np.inf)


def numbers(*dims: Size, low: float = -np.inf, above: float = -np.inf, empty: bool = False) -> Kind:
    """Finite numbers, not less than `low` and greater than `above`."""

    def convert(name: str, value: Any, sizes: Sizes) -> Array:
        array = as_floats(name, value, dims, sizes, empty)
        bad = ~np.isfinite(array)
        if max(low, above) > -np.inf:
            bad |= (array < low) | (array <= above)
        refuse(name, array, bad, "a finite number" + _limits(low, above))
        return array

    return _with_bad(convert, np.nan, np.inf, *_outside(low, above))


def speeds(requests: str) -> Kind:
    """Steps per second by batch size: entry 0 is not used, and there is one for a batch of one token per request."""

    def convert(name: str, value: Any, sizes: Sizes) -> Array:
        table = as_floats(name, value, ("B",), sizes, empty=True)
        if len(table) <= sizes[requests]:
            raise ValueError(f"{name} has {len(table)} entries, but needs one for a batch of {sizes[requests]}.")
        bad = ~(np.isfinite(table) & (table > 0.0))
        bad[:1] = False
        refuse(name, table, bad, "a finite number above 0")
        return table

    return convert


def chances(*dims: Size, empty: bool = False) -> Kind:
    """Chances, such as confidences: numbers from 0 to 1."""

    def convert(name: str, value: Any, sizes: Sizes) -> Array:
        array = as_floats(name, value, dims, sizes, empty)
        refuse(name, array, ~((array >= 0.0) & (array <= 1.0)), "a number from 0 to 1")
        return array

    return _with_bad(convert, np.nan, -0.25, 1.25)


def chance_rows(size: str) -> Kind:
    """One sequence of chances per request, whose lengths may differ: a matrix, short rows padded with 0."""
    of_one = chances("length", empty=True)

    def convert(name: str, value: Any, sizes: Sizes) -> Array:
        if not is_sequence(value):
            raise ValueError(f"{name} must hold one sequence of confidences per request, not {value!r}.")
        whole_matrix = real_or_none(value)
        if whole_matrix is not None and whole_matrix.ndim == 2 and whole_matrix.size:  # one conversion for all rows
            return chances(size, "γ")(name, whole_matrix, sizes)  # type: ignore[no-any-return]
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
        array = as_floats(name, value, dims, sizes, empty)
        refuse(name, array, ~((array >= 0.0) & (array < np.inf)), "a probability")
        sums = array.sum(axis=-1, keepdims=True)
        off = np.abs(sums - 1.0)
        if off.max(initial=0.0) > max(1e-6, min(0.02, _spacing(value) * array.shape[-1] ** 0.5)):
            row = int(off.argmax())
            raise ValueError(f"{name}{f'[{row}]' * (array.ndim > 1)} must sum to 1, not to {sums.flat[row]:.9g}.")
        return array / sums if off.max(initial=0.0) > 1e-12 else array

    return _with_bad(convert, np.nan, -0.25, 1.25)


def _spacing(value: Any) -> float:
    """Return the spacing, at 1, of the numbers that an argument is made of."""
    dtype = str(getattr(value, "dtype", "")).rpartition(".")[2]  # of NumPy, torch or ml_dtypes
    return {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23}.get(dtype, 2.0**-52)


# --- Scalars and lists ------------------------------------------------------------------------------------------------


def number(low: float = -np.inf, above: float = -np.inf, high: float = np.inf) -> Kind:
    """One finite number."""

    def convert(name: str, value: Any, sizes: Sizes) -> float:
        found = real_or_none(value)
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
