"""Comparing a learner's result with the expected one: by value, and by plain type."""

from __future__ import annotations

from typing import Any

import numpy as np

from dspark_mini.bias_rows import BiasRows
from dspark_mini.language import _

TOLERANCE = 1e-9


def same_value(expected: Any, got: Any) -> bool:
    """Tell whether two results agree in shape and in every value, whatever containers hold them.

    NaN agrees with nothing but an expected NaN, and nothing is broadcast. The types are judged apart, by
    type_fault, so that a NumPy integer where a plain one belongs costs one property and not all of them.
    """
    if isinstance(expected, dict):
        return isinstance(got, dict) and set(expected) == set(got) and all(same_value(expected[k], got[k]) for k in got)
    if isinstance(expected, str):
        return isinstance(got, str) and got == expected
    if expected is None or got is None:
        return expected is got
    left, right = _numbers(expected), _numbers(got)
    if left is None and isinstance(expected, (list, tuple)):  # of several kinds or lengths
        same_length = isinstance(got, (list, tuple)) and len(got) == len(expected)
        return same_length and all(map(same_value, expected, got))
    if left is None or right is None or left.shape != right.shape:
        return False
    if left.dtype.kind in "iub" and right.dtype.kind in "iub":
        return bool((left == right).all())
    return bool(np.allclose(right, left, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))


def type_fault(expected: Any, got: Any, where: str = "") -> str | None:
    """Say where a result is not made of the plain types that the task asks for, or None where it is.

    A list passes for a tuple, an int for a float, np.float64 for a float; np.int64 and bool do not pass for an int.
    """
    where = where or _("the result")
    if isinstance(expected, np.ndarray):
        if not isinstance(got, np.ndarray):
            return _("{where} is of type {found}, not an array", where=where, found=_name(got))
        return (
            None
            if got.dtype == expected.dtype
            else _("{where} has dtype {dtype}, not {other}", where=where, dtype=got.dtype, other=expected.dtype)
        )
    if isinstance(expected, dict):
        if type(got) is not dict:
            return _wrong_type(where, got, "dict")
        return _first(type_fault(expected[key], got[key], f"{where}[{key!r}]") for key in expected if key in got)
    if isinstance(expected, (list, tuple)):
        allowed = (list,) if isinstance(expected, list) else (list, tuple)
        if type(got) not in allowed:
            return _wrong_type(where, got, type(expected).__name__)
        return _first(type_fault(e, g, f"{where}[{i}]") for i, (e, g) in enumerate(zip(expected, got)))
    allowed_scalars: tuple[type, ...] = (float, np.float64, int) if isinstance(expected, float) else (type(expected),)
    return None if type(got) in allowed_scalars else _wrong_type(where, got, type(expected).__name__)


def _wrong_type(where: str, got: Any, wanted: str) -> str:
    return _("{where} is of type {found}, not {wanted}", where=where, found=_name(got), wanted=wanted)


def shown(value: Any, width: int = 160, digits: int = 6) -> str:
    """Write a value the short way: arrays as lists, floats without noise, never longer than width."""
    try:
        text = _text(value, digits)
    except Exception:  # a learner's object may do anything here
        text = f"<{type(value).__name__}>"
    return text if len(text) <= width else text[: width - 1] + "…"


def shown_apart(one: Any, other: Any) -> tuple[str, str]:
    """Write two values that differ, with as many digits as it takes to see it."""
    pairs = ((shown(one, digits=digits), shown(other, digits=digits)) for digits in (6, 9, 13, 17))
    return next((pair for pair in pairs if pair[0] != pair[1]), (shown(one), shown(other)))


def _numbers(value: Any) -> np.ndarray[Any, Any] | None:
    """Return an array of real numbers, or None for ragged lists and whatever else is no such array."""
    if _has_text(value):
        return None  # NumPy would make every entry as long as the longest text
    try:
        array = np.asarray(value)
    except Exception:  # a learner's object may do anything here
        return None
    return array if array.dtype.kind in "fiub" else None


def _has_text(value: Any) -> bool:
    is_list = isinstance(value, (list, tuple))
    return any(map(_has_text, value)) if is_list else isinstance(value, (str, bytes))


def _first(faults: Any) -> str | None:
    return next((fault for fault in faults if fault), None)


def _name(value: Any) -> str:
    module = "np." if isinstance(value, (np.generic, np.ndarray)) else ""  # np.bool and bool are two types
    return module + str(getattr(value, "type_name", type(value).__name__))


def _text(value: Any, digits: int) -> str:
    if isinstance(value, np.ndarray):
        return f"array({_text(value.astype(int).tolist() if value.dtype == bool else value.tolist(), digits)})"
    if isinstance(value, BiasRows):
        value = value.rows
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(k, digits)}: {_text(v, digits)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        body = ", ".join(_text(item, digits) for item in value)
        return f"[{body}]" if isinstance(value, list) else f"({body}{',' * (len(value) == 1)})"
    if type(value).__name__ == "Seed":
        drawn = _("a generator that draws {numbers}", numbers=_(", then ").join(map(repr, value.uniforms)))
        return drawn if value.uniforms else f"np.random.default_rng({value.value})"
    if isinstance(value, (np.integer, np.bool_)):
        return f"np.{type(value).__name__}({value})"
    text = f"{value:.{digits}g}" if isinstance(value, float) else repr(value)
    return "".join(letter if letter.isprintable() else "?" for letter in text)
