"""Variants that test the checks: wrong solutions that must be caught, right ones that must get full marks.

Every wrong solution says what its author believed and which property has to catch it. Every right one is
written in a style of its own. tests/grader/test_mutants.py proves both.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Function = Callable[..., Any]


@dataclass(frozen=True)
class Variant:
    """One solution of one task; caught_by is empty for a right one."""

    task: str
    function: Function
    about: str
    caught_by: str = ""


VARIANTS: list[Variant] = []


def wrong(task: str, caught_by: str, misconception: str) -> Callable[[Function], Function]:
    """Register a wrong solution: the property that must fail, and the belief behind it, as a sentence."""

    def register(function: Function) -> Function:
        VARIANTS.append(Variant(task, function, misconception, caught_by))
        return function

    return register


def right(task: str, style: str) -> Callable[[Function], Function]:
    """Register a right solution and what is unusual about its style, as a sentence."""

    def register(function: Function) -> Function:
        VARIANTS.append(Variant(task, function, style))
        return function

    return register


def all_variants() -> list[Variant]:
    """Import every file of variants and return what they registered."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return list(VARIANTS)
