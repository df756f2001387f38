"""What of a reference's source goes into a task's cell: the imports of its contract, and a short docstring."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from typing import TYPE_CHECKING

from dspark_mini import clinic_bugs, contracts, rules

if TYPE_CHECKING:
    from grader.lessons.tasks import Task

REGION = re.compile(r"^( *)### BEGIN SOLUTION\n(.*?)^ *### END SOLUTION\n?", re.M | re.S)
STUB_SECTIONS = ("Args:", "Returns:", "Example:")  # of a docstring; the lesson's text has the rest


class BuildError(Exception):
    """A lesson that must not be handed out; the message says why, as a sentence."""


def contract_imports(source: str) -> str:
    """Return the imports that a contract needs, so that a task's cell stands on its own."""
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    used = {node.id for line in function.decorator_list for node in ast.walk(line) if isinstance(node, ast.Name)}
    lines = ((module.__name__, sorted(used & set(vars(module)))) for module in (contracts, rules))
    imports = "".join(f"from {name} import {', '.join(names)}\n" for name, names in lines if names)
    return imports and imports + "\n"


def short_docstring(source: str) -> str:
    """Cut a docstring down to what a stub needs: the sentence, shapes and one example; the lesson names the source."""
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    text = ast.get_docstring(function)
    if not text:
        return source
    sentence, *sections = re.split(r"\n\n+", text)
    kept = [re.sub(r"^(Returns|Example):\n +", r"\1: ", s) for s in sections if s.startswith(STUB_SECTIONS)]
    lines = [f'"""{sentence}', *(["", *"\n".join(kept).splitlines()] if kept else []), '"""']
    before, after = function.body[0].lineno - 1, function.body[0].end_lineno
    old = source.splitlines()
    new = [f"    {line}".rstrip() for line in lines] if kept else [f'    """{sentence}"""']
    return "\n".join([*old[:before], *new, *old[after:]]) + "\n"


def buggy_lines(task: Task) -> str:
    """Return the lines that stand in place of the solution of a task with a bug, without indentation."""
    if not hasattr(clinic_bugs, task.function):
        raise BuildError(f"Task {task.id} is to be handed out with a bug, but clinic_bugs has no {task.function}.")
    source = inspect.getsource(getattr(clinic_bugs, task.function))
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    first = function.body[1 if ast.get_docstring(function) else 0]
    return textwrap.dedent("\n".join(source.splitlines()[first.lineno - 1 :])) + "\n"
