"""How a result is built: one number, a list of so many, a dict. It is spoken of before any value in it."""

from __future__ import annotations

from typing import Any

import numpy as np

LAZY = ("generator", "map", "zip", "filter", "range", "enumerate", "reversed")


def structure_fault(expected: Any, got: Any) -> str:
    """Say how a result is built otherwise than the expected one; empty where only values differ."""
    if got is None or expected is None:
        return ""
    name = getattr(got, "type_name", type(got).__name__)
    if name in LAZY:
        return f"Your function returns a {name} object, which holds no values yet: make a list of it."
    wanted, found = structure_of(expected), structure_of(got)
    if wanted == found:
        return ""
    if isinstance(expected, dict) and isinstance(got, dict):
        return _key_fault(expected, got)
    if len(_shape(expected)) == 2 and _shape(got) == _shape(expected)[::-1]:
        return f"Your function returns {found} where {wanted} is asked for: rows and columns are exchanged."
    return f"Your function returns {found} where {wanted} is asked for."


def structure_of(value: Any) -> str:
    """Name a value's structure, whatever sequence holds it: "one number", "a list of 3", "a matrix of 2 × 3"."""
    if isinstance(value, dict):
        return "a dict" if not value else "a dict with the keys " + ", ".join(sorted(map(str, value)))
    if isinstance(value, str):
        return "a text"
    if isinstance(value, (int, float, np.generic)) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return "one number"
    shape = _shape(value)
    if len(shape) > 1:
        return ("a matrix of " if len(shape) == 2 else "an array of ") + " × ".join(map(str, shape))
    if len(shape) == 1:
        return f"a list of {shape[0]}"
    return f"an object of type {getattr(value, 'type_name', type(value).__name__)}"


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape of an array or of nested sequences, as deep as they are regular."""
    if isinstance(value, np.ndarray):
        return tuple(value.shape)
    if not isinstance(value, (list, tuple)):
        return ()
    shapes = {_shape(item) for item in value}
    return (len(value), *(shapes.pop() if len(shapes) == 1 else ()))


def _key_fault(expected: dict[Any, Any], got: dict[Any, Any]) -> str:
    lacking = [key for key in expected if key not in got]
    if lacking:
        return f"The dict that your function returns lacks the key {lacking[0]!r}."
    extra = next(key for key in got if key not in expected)
    return f"The dict that your function returns has the key {extra!r}, which is not asked for."
