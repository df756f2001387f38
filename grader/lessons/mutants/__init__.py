"""Variants that test the checks: wrong solutions that must be caught, right ones that must get full marks.

A variant is a patch of the reference: ``(name, old, new, about)`` replaces `old` by `new` wherever it stands in the
source; an empty `old` stands for the whole solution. Wrong ones are listed under the property that must catch them and
say what their author believed; right ones say what is unusual about their style. Faults of manners (a wrong type, a
memory, a changed argument) are the same for every task and are generated, in manners.py.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.lessons.build import REGION
from grader.lessons.checks import TASKS
from grader.lessons.mutants.manners import bad_manners
from grader.lessons.tasks import Task

Function = Callable[..., Any]
Patch = tuple[str, str, str, str]
NAMES = {"math": math, "np": np}  # what a patch may use besides the names of the reference's module


@dataclass(frozen=True)
class Variant:
    """One solution of one task.

    Attributes:
        caught_by: The property that must catch it; empty for a right one.
        source: The patched reference; empty where the function was generated.
    """

    task: str
    name: str
    about: str
    caught_by: str = ""
    source: str = field(repr=False, default="")
    generated: Function | None = field(repr=False, default=None)

    def make(self) -> Function:
        """Return the function."""
        if self.generated is not None:
            return self.generated
        task = TASKS[self.task]
        namespace = {**NAMES, **vars(sys.modules[task.reference.__module__])}
        exec(compile(self.source, f"{self.task} {self.name}", "exec"), namespace)
        function: Function = namespace[task.function]
        return function


def patched(task: Task, patch: Patch) -> str:
    """Apply a patch to the source of a task's reference."""
    name, old, new, _ = patch
    source = inspect.getsource(task.reference)
    body = textwrap.indent(textwrap.dedent(new).strip("\n") + "\n", "    ")
    changed = REGION.sub(lambda _: body, source) if not old else source.replace(old, new)
    if changed == source:
        raise ValueError(f"Patch {name} of task {task.id} changes nothing: its old text is not in the reference.")
    return changed


def all_variants() -> Iterator[Variant]:
    """Yield the wrong and the right variants of every task."""
    for module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
        if not module.startswith("lesson_"):
            continue
        found = importlib.import_module(f"{__name__}.{module}")
        for identity, by_property in found.WRONG.items():
            for caught_by, patches in by_property.items():
                for patch in patches:
                    yield _variant(identity, patch, caught_by)
        for identity, patches in found.RIGHT.items():
            for patch in patches:
                yield _variant(identity, patch)
    for task in TASKS.values():
        for name, caught_by, about, function in bad_manners(task):
            yield Variant(task.id, name, about, caught_by, generated=function)


def _variant(identity: str, patch: Patch, caught_by: str = "") -> Variant:
    return Variant(identity, patch[0], patch[3], caught_by, patched(TASKS[identity], patch))
