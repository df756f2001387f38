"""Sizes and arrays: how arguments are measured and converted, whatever kind they are.

A size is a number, the name of a whole-number argument, or letters: "γ", "γ+1", "2r+d".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Sizes = dict[str, int]
Size = int | str
Array = NDArray[np.float64]


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
    has = f"has {shape[0]} entr{'y' if shape[0] == 1 else 'ies'}" if len(shape) == 1 else f"has shape {shape}"
    free = next((term for term in terms if term[1] and term[1] not in sizes), None)
    if free is None:
        if found != (wanted := size_of(size, sizes)):
            raise ValueError(f"{name} {has}, but axis {axis} must be {size} = {wanted}.")
        return
    known = sum(n * (sizes[letter] if letter else 1) for n, letter in terms if letter != free[1])
    has_constant = any(not letter for _, letter in terms)  # γ+1 rows: γ may be 0
    least = known + (0 if empty or has_constant else free[0])
    if found < least:
        raise ValueError(f"{name} {has}, but axis {axis} ({size}) must be at least {least}.")
    sizes[free[1]] = (found - known) // free[0]


# --- Arrays -----------------------------------------------------------------------------------------------------------


def as_real(name: str, value: Any) -> NDArray[Any]:
    """Return numbers as an array of a real dtype, or name the first entry that is ragged or not a number."""
    array = real_or_none(value)
    if array is not None:
        return array
    rows = [real_or_none(row) for row in value] if is_sequence(value) else []
    for k, row in enumerate(rows):
        if row is None:
            raise ValueError(f"{name}[{k}] must hold real numbers, not {value[k]!r}.")
        if rows[0] is not None and row.shape != rows[0].shape:
            raise ValueError(f"{name}[{k}] has shape {row.shape}, but {name}[0] has {rows[0].shape}.")
    raise ValueError(f"{name} must hold real numbers, not {value!r}.")


def real_or_none(value: Any) -> NDArray[Any] | None:
    """Return numbers as an array of a real dtype, or None for anything else."""
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


def as_floats(name: str, value: Any, dims: tuple[Size, ...], sizes: Sizes, empty: bool = False) -> Array:
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


def refuse(name: str, array: NDArray[Any], bad: NDArray[np.bool_], must: str) -> None:
    """Raise a ValueError that names the first entry where `bad` holds."""
    if bad.any():
        at = tuple(np.argwhere(bad)[0].tolist())
        raise ValueError(f"{name}{''.join(f'[{i}]' for i in at)} must be {must}, not {array[at]}.")
