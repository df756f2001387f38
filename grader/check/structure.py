"""How a result is built: one number, a list of so many, a dict. It is spoken of before any value in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dspark_mini.language import N_, _
from grader.check.comparison import same_value

PARTS = (N_("the first part"), N_("the second part"), N_("the third part"))
NEARLY = 1e-3  # a result as near as this is right but for rounding

LAZY = ("generator", "map", "zip", "filter", "range", "enumerate", "reversed")


def structure_fault(expected: Any, got: Any) -> str:
    """Say how a result is built otherwise than the expected one; empty where only values differ."""
    if got is None or expected is None:
        return ""
    name = getattr(got, "type_name", type(got).__name__)
    if name in LAZY:
        return _("Your function returns a {type} object, which holds no values yet: make a list of it.", type=name)
    wanted, found = structure_of(expected), structure_of(got)
    if wanted == found:
        return ""
    if isinstance(expected, dict) and isinstance(got, dict):
        return _key_fault(expected, got)
    if len(_shape(expected)) == 2 and _shape(got) == _shape(expected)[::-1]:
        return _(
            "Your function returns {found} where {wanted} is asked for: rows and columns are exchanged.",
            found=found,
            wanted=wanted,
        )
    return _("Your function returns {found} where {wanted} is asked for.", found=found, wanted=wanted)


def part_fault(pairs: Sequence[tuple[Any, Any]]) -> str:
    """Say which parts of a dict or tuple are wrong where the others are right, and whether they are off by a constant.

    Args:
        pairs: Expected and actual results of some calls.
    """
    parts = [(dict(_parts(expected)), dict(_parts(got))) for expected, got in pairs]
    names = list(dict.fromkeys(name for expected, _ in parts for name in expected))
    if any(list(expected) != names or set(got) != set(names) for expected, got in parts):
        return ""
    wrong = [name for name in names if any(not same_value(expected[name], got[name]) for expected, got in parts)]
    if not wrong or 2 * len(wrong) > len(names) > 1:
        return ""
    off = _offset([(expected[wrong[0]], got[wrong[0]]) for expected, got in parts]) if len(wrong) == 1 else ""
    if names == [""]:
        return _("Your results are {how}.", how=off) if off else ""
    if off:
        return _("Of what your function returns only {part} is wrong: {how}.", part=wrong[0], how=off)
    return _("Of what your function returns this alone is wrong: {parts}.", parts=", ".join(wrong))


def _offset(pairs: Sequence[tuple[Any, Any]]) -> str:
    """Say how all numbers of some results differ from the expected ones: by a constant, or hardly at all."""
    try:
        expected, got = (np.concatenate([np.ravel(value).astype(float) for value in side]) for side in zip(*pairs))
        off = got - expected
    except (TypeError, ValueError):  # texts, or another size
        return ""
    if np.all(np.abs(off) <= NEARLY * np.abs(expected)):
        return _("almost right, as if something were rounded or a small number added")
    is_constant = len(off) > 1 and np.isfinite(off[0]) and np.all(off == off[0])
    if not is_constant:
        return ""
    size = f"{abs(off[0]):g}"
    return _("always {size} too high", size=size) if off[0] > 0 else _("always {size} too low", size=size)


def _parts(result: Any) -> list[tuple[str, Any]]:
    """Name the parts of a result: the entries of a dict or of a tuple; anything else is one part."""
    if isinstance(result, dict):
        return [(str(key), result[key]) for key in result]
    if isinstance(result, tuple) and len(result) <= len(PARTS):
        return [(_(name), part) for name, part in zip(PARTS, result)]
    return [("", result)]


def structure_of(value: Any) -> str:
    """Name a value's structure, whatever sequence holds it: "one number", "a list of 3", "a matrix of 2 × 3"."""
    if isinstance(value, dict):
        return _("a dict with the keys {keys}", keys=", ".join(sorted(map(str, value)))) if value else _("a dict")
    if isinstance(value, str):
        return _("a text")
    if isinstance(value, (int, float, np.generic)) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return _("one number")
    shape = _shape(value)
    if len(shape) > 1:
        sizes = " × ".join(map(str, shape))
        return _("a matrix of {sizes}", sizes=sizes) if len(shape) == 2 else _("an array of {sizes}", sizes=sizes)
    if len(shape) == 1:
        return _("a list of {size}", size=shape[0])
    return _("an object of type {type}", type=getattr(value, "type_name", type(value).__name__))


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
        return _("The dict that your function returns lacks the key {key}.", key=repr(lacking[0]))
    extra = next(key for key in got if key not in expected)
    return _("The dict that your function returns has the key {key}, which is not asked for.", key=repr(extra))
