"""Loading a learner's code: cell by cell, so that a broken one costs nothing but what it defines."""

from __future__ import annotations
import __future__

import ast
import re
import sys
import types
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from grader.run.child.calling import line_in, message_of
from grader.run.child.limits import TimeLimit, time_limit

CELL_SECONDS = 5.0
MODULE = "submission"
# Cell magics whose body is still Python; any other one hands its body to something else.
PYTHON_MAGICS = ("capture", "prun", "time", "timeit")
MAGIC_LINE = re.compile(r"^\s*([%!?].*|[\w\s,.\[\]]+=\s*[%!].*|.*\?{1,2}\s*)$")
MAX_MAGICS = 200
IMPORTS = (ast.Import, ast.ImportFrom)
# A statement that waits for its learner, exits or never ends is passed over; whatever else fails ends a cell.
UNFINISHED = {
    "EOFError": "asks for input, which nobody gives here",
    "SystemExit": "exits",
    "KeyboardInterrupt": "interrupts itself",
    "TimeoutError": "runs for too long",
    "ProcessEnded": "ends the process",
}


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


def run_piece(
    source: str,
    label: str,
    namespace: dict[str, Any],
    statements: bool,
    on_part: Callable[[], None] = lambda: None,
    skipped: Collection[int] = (),
) -> CellError | None:
    """Run one piece of code in a namespace, statement by statement.

    Args:
        source: Python code; IPython's magics and shell escapes in it do nothing.
        label: the name that tracebacks give to the code.
        namespace: global names, read and written.
        statements: Go on after a statement that fails, as in a .py file; a cell stops there, unless the statement is an
            import or UNFINISHED.
        on_part: called before each statement, which has CELL_SECONDS of its own.
        skipped: the numbers of statements that are not run.

    Returns:
        The first error, or None.
    """
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return CellError(type(error).__name__, getattr(error, "msg", str(error)), getattr(error, "lineno", None))
    flags = _future_flags(tree, namespace)
    first: CellError | None = None
    for number, node in enumerate(tree.body):
        on_part()
        error_of_part = None if number in skipped else _run(ast.Module([node], []), label, namespace, flags)
        first = first or error_of_part
        if error_of_part and not (statements or isinstance(node, IMPORTS) or error_of_part.error in UNFINISHED):
            break  # as in the notebook; what is not to be had here costs only what needs it
    return first


def parse(source: str) -> ast.Module:
    """Parse code in which IPython's magics and shell escapes do nothing; line numbers stay as they are.

    A line that looks like a magic is blanked only where Python itself stumbles over it, so that a percent sign in
    a string or at the start of a continued line survives.
    """
    lines = without_cell_magic(source).split("\n")
    for _ in range(MAX_MAGICS):
        try:
            return ast.parse("\n".join(lines))
        except SyntaxError as error:
            at = (error.lineno or 0) - 1
            if not 0 <= at < len(lines) or not MAGIC_LINE.match(lines[at]):
                raise
            lines[at] = re.match(r"\s*", lines[at])[0] + "pass"  # type: ignore[index]
    return ast.parse("\n".join(lines))


def without_cell_magic(source: str) -> str:
    """Blank a cell magic; a cell that belongs to another language becomes empty."""
    found = re.match(r"\s*%%(\w*)[^\n]*", source)
    if found is None:
        return source
    return found[0].count("\n") * "\n" + source[found.end() :] if found[1] in PYTHON_MAGICS else ""


def defines(source: str, function: str) -> bool:
    """Tell whether code defines a function, even where a fault elsewhere keeps it from being parsed."""
    name = re.escape(function)
    found = re.search(rf"^[ \t]*(?:async[ \t]+)?def[ \t]+{name}[ \t]*\(|^{name}[ \t]*=[^=]", source, re.M)
    return found is not None


def _run(tree: ast.Module, label: str, namespace: dict[str, Any], flags: int) -> CellError | None:
    try:
        code = compile(tree, label, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return CellError(type(error).__name__, getattr(error, "msg", str(error)), getattr(error, "lineno", None))
    try:
        with time_limit(CELL_SECONDS):
            exec(code, namespace)
    except TimeLimit:
        return CellError("TimeoutError", f"the cell ran for more than {CELL_SECONDS:g} s", None)
    except BaseException as error:
        return CellError(type(error).__name__, message_of(error), line_in(error, label))
    return None


def _future_flags(tree: ast.Module, namespace: dict[str, Any]) -> int:
    """Collect the compiler flags of `from __future__ import …`, here and in earlier cells, as a notebook does."""
    names = [
        alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    ]
    features = [getattr(__future__, name, None) for name in names] + list(namespace.values())
    return sum({feature.compiler_flag for feature in features if isinstance(feature, type(__future__.annotations))})
