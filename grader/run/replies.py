"""The replies of a child, checked field by field: the code that it runs may have forged any of them."""

from __future__ import annotations

import builtins
from typing import Any

from grader.run.channel import ChildDied
from grader.run.child.calling import Outcome
from grader.run.child.loader import CellError
from grader.run.child.wire import printable

FLAGS = ("changed", "timed_out", "changed_results")
MAX_MESSAGE, MAX_NAME, MAX_LINE = 500, 80, 10_000
# A name made up during a call could reveal its arguments, so only these pass.
EXCEPTIONS = {
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
}
KNOWN_ERRORS = EXCEPTIONS | {"LinAlgError", "AxisError"}


def outcome_of(reply: dict[Any, Any], lines: int = MAX_LINE) -> Outcome:
    """Read the outcome of a call from its reply.

    Args:
        reply: The child's reply.
        lines: how many the learner's code has; a line beyond them is made up, and could reveal the arguments.

    Raises:
        ChildDied: A field is missing or of the wrong type.
    """
    name, message, line = reply.get("error"), reply.get("message", ""), reply.get("line")
    flags = {flag: reply.get(flag, False) for flag in FLAGS}
    if not all(type(flag) is bool for flag in flags.values()):
        raise ChildDied
    if name is None:
        return Outcome(reply.get("value"), None, "", None, **flags)
    error = cell_error_of({"error": name, "message": message, "line": line})
    known = error.error if error.error in KNOWN_ERRORS else "Exception"
    shown_line = error.line if error.line is not None and error.line <= lines else None
    return Outcome(None, known, error.message, shown_line, **flags)


def cell_error_of(error: Any) -> CellError:
    """Read the error of a piece of code from a reply.

    Raises:
        ChildDied: A field is missing or of the wrong type.
    """
    if not isinstance(error, dict):
        raise ChildDied
    name, message, line = error.get("error"), error.get("message"), error.get("line")
    if not isinstance(name, str) or not isinstance(message, str) or not (line is None or type(line) is int):
        raise ChildDied
    shown_line = line if line is not None and 0 < line <= MAX_LINE else None
    return CellError(printable(name, MAX_NAME), printable(message, MAX_MESSAGE), shown_line)


def loaded_of(reply: dict[Any, Any], pieces: int) -> tuple[dict[int, CellError], frozenset[str]]:
    """Read how loading the pieces went.

    Returns:
        The errors by the index of their piece, and the names that are defined and can be called.

    Raises:
        ChildDied: A field is missing or of the wrong type.
    """
    errors, defined = reply.get("loaded"), reply.get("defined")
    if not isinstance(errors, dict) or not isinstance(defined, list):
        raise ChildDied
    if not all(type(index) is int and 0 <= index < pieces for index in errors):  # 1.0 and True equal 1, too
        raise ChildDied
    names = frozenset(name for name in defined if isinstance(name, str))
    return {index: cell_error_of(error) for index, error in errors.items()}, names
