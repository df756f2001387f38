"""A learner's own functions for the race: those that pass their checks, and the kit's where it has them."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from dspark_mini.race_options import PLAIN_NAME, RaceOptions
from dspark_mini.race_own import needs
from dspark_mini.workspace import UserError
from grader.lessons.checks import TASKS
from grader.lessons.tasks import Task
from grader.notebook import functions_in


def on_own_functions(options: RaceOptions, folder: Path) -> tuple[RaceOptions, list[str]]:
    """Let a race run on a learner's functions; what cannot run on them is left out.

    Args:
        options: What to race; the methods that may run.
        folder: Directory with the notebooks.

    Returns:
        The options, and lines that say whose functions run and what the other methods wait for.

    Raises:
        UserError: Not even plain decoding can run, or the backend is not NumPy.
    """
    if options.backend != "numpy":
        raise UserError(f"--mine runs in NumPy, not on the backend {options.backend!r}.")
    wanted = {method: needs(method, options.greedy) for method in options.order}
    tasks = [task for task in TASKS.values() if any(task.function in names for names in wanted.values())]
    own = {task.function: function for task, function in _passing(folder, tasks)}
    lent = {task.function: task.reference for task in tasks if task.function not in own and task.reference_source}
    functions = lent | own
    missing = {
        method: [task.id for task in tasks if task.function in names and task.function not in functions]
        for method, names in wanted.items()
    }
    if loop := missing.pop(PLAIN_NAME):
        more = {method: [id_ for id_ in ids if id_ not in loop] for method, ids in missing.items()}
        raise UserError(
            f"The race waits for your own {_listed(loop)}, in {folder}: this copy of dspark_mini has no solutions to "
            f"lend. {' '.join(_waits(more))}"
        )
    yours = [task.id for task in tasks if task.function in own]
    kits = [task.id for task in tasks if task.function in lent]
    lines = [f"Yours: {_listed(yours)}."] if yours else [f"Nothing of yours passes yet in {folder}."]
    lines += [f"The kit's: {_listed(kits)}."] if kits else []
    lines += _waits(missing)
    methods = tuple(method for method in options.methods if not missing[method])
    return replace(options, methods=methods, functions=functions), lines


def _waits(missing: dict[str, list[str]]) -> list[str]:
    return [f"{method} waits for your {_listed(ids)}." for method, ids in missing.items() if ids]


def _listed(ids: list[str]) -> str:
    return ", ".join(ids)


def _passing(folder: Path, tasks: list[Task]) -> Iterator[tuple[Task, Callable[..., Any]]]:
    """Yield the functions of a learner's notebooks that pass their checks."""
    for lesson in dict.fromkeys(task.lesson for task in tasks):
        notebook = folder / f"{lesson}.ipynb"
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            defined = functions_in(notebook) if notebook.is_file() else {}
        for task in (task for task in tasks if task.lesson == lesson):
            function = defined.get(task.function)
            if function is not None and task.check(function).passed:
                yield task, function
