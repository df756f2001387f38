"""Variants that test the checks: wrong solutions that must be caught, right ones that must get full marks.

A variant is a patch of the reference's source, in a file per lesson that reads like a diff::

    == 2.1 argmax_of_each_row
    argmax_along_the_block: The argmax along axis 0 gives one token per position.
    - axis=1
    + axis=0

A section names a task and the property that must catch what follows, or ``right``. A patch begins with its name and
what its author believed, or what is unusual about its style. It replaces the text after ``-``, whole lines where they
match, by the text after ``+``; without ``-`` it replaces the whole solution. Generated variants follow: the bug that
the clinic hands out, a noisy reference, and faults of manners, which are the same for every task (manners.py).
"""

from __future__ import annotations

import inspect
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dspark_mini import clinic_bugs
from dspark_mini.workspace import own_files
from grader.lessons.checks import TASKS
from grader.lessons.checks.cases import SUFFIX
from grader.lessons.mutants.cases import wrong_cases
from grader.lessons.mutants.manners import bad_manners
from grader.lessons.stubs import REGION, buggy_lines

Function = Callable[..., Any]
NAMES = {"math": math, "np": np}  # what a patch may use besides the names of the reference's module
NOISE = """import sys, warnings
    print("a note", file=sys.stderr)
    print(np.pi)
    warnings.warn("a warning")"""


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


class Patch(NamedTuple):
    """One patch as it stands in a file; caught_by is the property, or "right"."""

    task: str
    caught_by: str
    name: str
    about: str
    old: str
    new: str


def patches(text: str) -> Iterator[Patch]:
    """Read the patches of one lesson."""
    for section in re.split(r"^== ", text, flags=re.M)[1:]:
        heading, _, body = section.partition("\n")
        task, caught_by = heading.split()
        for found in re.finditer(r"^(\w+): (.+)\n((?:-.*\n)*)((?:\+.*\n?)*)", body, flags=re.M):
            old, new = ("\n".join(line[2:] for line in found[group].splitlines()) for group in (3, 4))
            yield Patch(task, caught_by, found[1], found[2], old, new)


def patched(patch: Patch) -> str:
    """Apply a patch to the source of its task's reference."""
    source = inspect.getsource(TASKS[patch.task].reference)
    body = textwrap.indent(patch.new.rstrip() + "\n", "    ")
    if not patch.old:
        changed = REGION.sub(lambda _: body, source)
    else:
        changed = re.sub(rf"^{re.escape(patch.old)}$", lambda _: patch.new, source, flags=re.M)
        if changed == source:
            changed = source.replace(patch.old, patch.new)
    if changed == source:
        raise ValueError(f"Patch {patch.name} of task {patch.task} changes nothing: the reference has no such text.")
    return changed


def _variant(patch: Patch) -> Variant:
    caught_by = "" if patch.caught_by == "right" else patch.caught_by
    return Variant(patch.task, patch.name, patch.about, caught_by, patched(patch))


def all_variants() -> Iterator[Variant]:
    """Yield the wrong and the right variants of every task."""
    for path in (*sorted(Path(__file__).parent.glob("lesson_*.diff")), *own_files("mutants.diff")):
        yield from map(_variant, patches(path.read_text(encoding="utf-8")))
    for task in TASKS.values():
        if bug := getattr(clinic_bugs, task.function, None):
            handed_out = Patch(task.id, task.core[0].name, "the_bug", inspect.getdoc(bug) or "", "", buggy_lines(task))
            yield _variant(handed_out)
        yield _variant(Patch(task.id, "right", "noisy", "Prints and warns.", "### BEGIN SOLUTION", NOISE))
        spoiled = wrong_cases(task) if task.id.endswith(SUFFIX) else bad_manners(task)
        for name, caught_by, about, function in spoiled:
            yield Variant(task.id, name, about, caught_by, generated=function)
