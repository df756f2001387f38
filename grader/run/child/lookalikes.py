"""Types of the standard library that are plain data but for their type: they cross the wire by value, with its name."""

from __future__ import annotations

import sys
from typing import Any

PLAIN: dict[tuple[str, str], type] = {
    ("collections", "Counter"): dict,
    ("collections", "OrderedDict"): dict,
    ("collections", "defaultdict"): dict,
    ("collections", "deque"): list,
    ("builtins", "range"): list,
    ("fractions", "Fraction"): float,
    ("decimal", "Decimal"): float,
}
NAMES = {name for _, name in PLAIN}


class AlikeDict(dict[Any, Any]):
    """Stands for a mapping of another type."""

    type_name = "dict"


class AlikeList(list[Any]):
    """Stands for a sequence of another type."""

    type_name = "list"


class AlikeFloat(float):
    """Stands for a number of another type."""

    type_name = "float"


STANDS_FOR: dict[type, type[Any]] = {dict: AlikeDict, list: AlikeList, float: AlikeFloat}


def plain_type(kind: type) -> type | None:
    """Return what the values of a type cross as; a learner's own class of that name is not the type."""
    plain = PLAIN.get((kind.__module__, kind.__name__))
    return plain if plain and kind is getattr(sys.modules.get(kind.__module__), kind.__name__, None) else None


def lookalike(name: Any, plain: Any) -> Any:
    """Return plain data under the name of the type that it came from.

    Raises:
        ValueError: There is no such type.
    """
    if name not in NAMES or type(plain) not in STANDS_FOR:
        raise ValueError("not a type that is plain data but for its name")
    alike = STANDS_FOR[type(plain)](plain)
    alike.type_name = name
    return alike
