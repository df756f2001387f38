"""Loading a learner's code: cell by cell, so that a broken one costs nothing but what it defines."""

from __future__ import annotations
import __future__

import ast
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from grader.child.calling import TimeLimit, line_in, time_limit

CELL_SECONDS = 5.0
MODULE = "submission"
# Cell magics whose body is still Python; any other one hands its body to something else.
PYTHON_MAGICS = ("capture", "prun", "time", "timeit")
SHELL_LINE = re.compile(r"^(\s*)([%!?].*|[\w\s,.\[\]]+=\s*[%!].*|[\w.]+\?{1,2}\s*)$")


@dataclass(frozen=True)
class CellError:
    """Why a piece of code was not run to its end: the exception's type, its message and its line."""

    error: str
    message: str
    line: int | None


def new_namespace() -> dict[str, Any]:
    """Return the global names of an empty module, known to Python so that classes in it work."""
    module = types.ModuleType(MODULE)
    sys.modules[MODULE] = module
    return module.__dict__


def run_piece(source: str, label: str, namespace: dict[str, Any], statements: bool) -> CellError | None:
    """Run one piece of code in a namespace.

    Args:
        source: Python code; IPython's magics and shell escapes in it do nothing.
        label: the name that tracebacks give to the code.
        namespace: global names, read and written.
        statements: run on behind a statement that fails, as for a .py file; a cell stops there.

    Returns:
        The first error, or None.
    """
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return CellError(type(error).__name__, getattr(error, "msg", str(error)), getattr(error, "lineno", None))
    first: CellError | None = None
    for part in _parts(tree, statements):
        error_of_part = _run(part, label, namespace, _future_flags(tree))
        first = first or error_of_part
    return first


def parse(source: str) -> ast.Module:
    """Parse code; where it is no Python, try again without magics and shell escapes."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.parse(without_magics(source))


def without_magics(source: str) -> str:
    """Blank IPython's magics and shell escapes; a cell that belongs to another language becomes empty."""
    lines = source.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is not None and lines[first].startswith("%%"):
        if lines[first][2:].split(" ")[0] not in PYTHON_MAGICS:
            return ""
        lines[first] = ""
    return "\n".join(SHELL_LINE.sub(r"\1pass", line) for line in lines)


def defines(source: str, function: str) -> bool:
    """Tell whether code defines a function, even where a fault elsewhere keeps it from being parsed."""
    return (
        re.search(rf"^\s*(?:async\s+)?def\s+{re.escape(function)}\s*\(|^{re.escape(function)}\s*=[^=]", source, re.M)
        is not None
    )


def _parts(tree: ast.Module, statements: bool) -> Iterator[ast.Module]:
    if not statements:
        yield tree
        return
    for node in tree.body:
        yield ast.Module([node], [])


def _run(tree: ast.Module, label: str, namespace: dict[str, Any], flags: int) -> CellError | None:
    try:
        code = compile(tree, label, "exec", flags, dont_inherit=True)
        with time_limit(CELL_SECONDS):
            exec(code, namespace)
    except TimeLimit:
        return CellError("TimeoutError", f"the cell ran for more than {CELL_SECONDS:g} s", None)
    except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit) as error:
        return CellError(type(error).__name__, str(error), line_in(error, label))
    return None


def _future_flags(tree: ast.Module) -> int:
    """Collect the compiler flags of `from __future__ import …`, which must reach every statement."""
    names = [
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    ]
    return sum({getattr(__future__, name).compiler_flag for name in names if hasattr(__future__, name)})
