"""Fingerprints of a submission's functions, from its syntax alone: the code is parsed and never run.

Every statement becomes a row of tokens without names, comments, docstrings and annotations; k-grams of the row are
hashed and some of the hashes chosen by winnowing (Schleimer, Wilkerson and Aiken 2003, "Winnowing: Local Algorithms for
Document Fingerprinting"). No k-gram crosses a statement, so that their order does not matter; and a function takes its
helpers along, so that splitting it changes little.

Parsing happens in a process of its own, which hostile code may end, by size, depth or time, without stopping anything.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import hashlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.lessons.paths import ROOT
from grader.run.child.loader import parse

GRAM, WINDOW = 5, 2  # tokens; statements are short: a run of 6 tokens that two functions share is always found
SECONDS, ALL_SECONDS = 2, 60  # of processor time for one submission; by the clock for all of them
MEMORY = 1 << 30
MAX_CODE = 200_000  # characters of one submission
MAX_LINES, MAX_WIDTH, MAX_PRINTS = 150, 200, 3_000  # of one function
BUILTINS = frozenset(dir(builtins))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
NESTED = (ast.stmt, ast.excepthandler, ast.match_case)
UNREAD = ("ctx", "annotation", "returns", "decorator_list", "type_comment", "kind")
COMMUTE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.And, ast.Or)
BROKEN = (SyntaxError, ValueError, RecursionError, MemoryError)
Token = tuple[str, int, bool]  # the text, its line, and whether it is a name, of which only repetition counts
Print = tuple[int, int, int]  # the hash, and the first and the last line


@dataclass(frozen=True)
class Code:
    """One function with its helpers: lines to show, and fingerprints with 0-based places in these lines."""

    lines: list[str]
    prints: list[Print]


def fingerprint_all(submissions: Sequence[tuple[list[str], list[str]]]) -> list[dict[str, Code] | None]:
    """Take the fingerprints of submissions, whatever is in them.

    Args:
        submissions: the sources of each one's cells, and the names of the functions that are compared.

    Returns:
        For each submission its functions by name; None where it is too large or could not be parsed in time.
    """
    found: list[dict[str, Code] | None] = [None] * len(submissions)
    queue = [at for at, (cells, _) in enumerate(submissions) if sum(map(len, cells)) <= MAX_CODE]
    end = time.monotonic() + ALL_SECONDS
    while queue and (left := end - time.monotonic()) > 0:
        answers = _answers("\n".join(json.dumps(submissions[at]) for at in queue), left)
        for at, answer in zip(queue, answers):
            found[at] = {name: Code(*code) for name, code in json.loads(answer).items()}
        queue = queue[len(answers) + 1 :]  # the one that follows them has ended the process
    return found


def _answers(rows: str, seconds: float) -> list[str]:
    """Return the complete lines that one process writes before it ends."""
    command = [sys.executable, "-W", "ignore", "-m", __name__]
    try:
        done = subprocess.run(command, input=rows, capture_output=True, text=True, cwd=ROOT, timeout=seconds).stdout
    except subprocess.TimeoutExpired as late:
        done = (late.stdout or b"").decode() if isinstance(late.stdout, bytes) else late.stdout or ""
    return done.split("\n")[:-1]


def fingerprints(cells: Sequence[str], functions: Sequence[str]) -> dict[str, Code]:
    """Take the fingerprints of those functions that the cells define; a cell that cannot be parsed is passed over."""
    definitions: dict[str, tuple[ast.stmt, list[str]]] = {}
    for source in cells:
        try:
            definitions |= {name: (node, source.split("\n")) for name, node in _definitions(parse(source).body)}
        except BROKEN:
            continue
    codes = {}
    for function in (name for name in functions if name in definitions):
        others = set(functions) - {function}
        with contextlib.suppress(RecursionError):
            codes[function] = _code(function, {n: one for n, one in definitions.items() if n not in others})
    return codes


def statement_prints(nodes: Iterable[ast.stmt]) -> Iterator[Print]:
    """Yield the fingerprints of statements, and of those within them."""
    found = list(nodes)
    own = {node.id for one in found for node in ast.walk(one) if isinstance(node, ast.Name) and _is_stored(node)}
    own |= {node.arg for one in found for node in ast.walk(one) if isinstance(node, ast.arg)}
    for statement in _statements(found):
        grams = list(_grams(list(_tokens(statement, statement.lineno, BUILTINS - own))))
        windows = [grams[start : start + WINDOW] for start in range(max(1, len(grams) - WINDOW + 1))] if grams else []
        yield from dict.fromkeys(min(reversed(window)) for window in windows)


def _code(function: str, definitions: dict[str, tuple[ast.stmt, list[str]]]) -> Code:
    """Put a function and the helpers that it reaches together."""
    reached, lines, prints = [function], list[str](), list[Print]()
    for name in reached:
        node, source = definitions[name]
        used = (part.id for part in ast.walk(node) if isinstance(part, ast.Name))
        reached += [helper for helper in dict.fromkeys(used) if helper in definitions and helper not in reached]
        places = {line: len(lines) + at for at, line in enumerate(_shown(node))}
        lines += [source[line - 1][:MAX_WIDTH] for line in places if line <= len(source)]
        bodies = node.body if isinstance(node, FUNCTIONS) else [node]
        prints += [(h, places.get(a, 0), places.get(b, 0)) for h, a, b in statement_prints(bodies)]
    return Code(lines[:MAX_LINES], prints[:MAX_PRINTS])


def _definitions(body: list[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """Yield what a cell defines, under `if`, `try` and `with` too."""
    for node in body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name, node
        elif isinstance(node, ast.Assign):
            yield from ((target.id, node) for target in node.targets if isinstance(target, ast.Name))
        else:
            yield from _definitions([one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)])


def _shown(node: ast.stmt) -> list[int]:
    """The lines of a definition that are shown: all but its docstring and decorators."""
    left_out: set[int] = set()
    if isinstance(node, FUNCTIONS) and ast.get_docstring(node) is not None:
        left_out = set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return [line for line in range(node.lineno, (node.end_lineno or node.lineno) + 1) if line not in left_out]


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """Yield all statements that do something; a definition only holds others, and a plain constant is a comment."""
    for node in body:
        is_comment = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.stmt) and not is_comment and not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node
        yield from _statements(child for child in ast.iter_child_nodes(node) if isinstance(child, NESTED))


def _tokens(node: ast.AST, line: int, known: frozenset[str]) -> Iterator[Token]:
    """Yield the tokens of a node in the order of the text, without the statements in it.

    A call of one's own function with names only counts as a name: that is what splitting a function leaves behind. The
    operands of what commutes are sorted.
    """
    line = getattr(node, "lineno", line)
    if isinstance(node, ast.Name):
        yield node.id, line, node.id not in known
    elif isinstance(node, ast.arg):
        yield node.arg, line, True
    elif isinstance(node, ast.Call) and _forwards(node, known):
        yield ast.unparse(node), line, True
    elif isinstance(node, ast.Constant):
        is_small = not isinstance(node.value, (str, bytes)) and len(text := repr(node.value)) < 6
        yield text if is_small else type(node.value).__name__, line, False
    else:
        name = "Assign" if isinstance(node, ast.AnnAssign) else type(node).__name__
        yield f"{name} {getattr(node, 'attr', None) or getattr(node, 'arg', None) or ''}", line, False
        parts = [list(_tokens(child, line, known)) for child in _children(node)]
        if isinstance(getattr(node, "op", None), COMMUTE):
            parts.sort(key=lambda tokens: [("" if is_name else text) for text, _, is_name in tokens])
        for part in parts:
            yield from part


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, NESTED) and field not in UNREAD:
                yield child


def _forwards(call: ast.Call, known: frozenset[str]) -> bool:
    is_own = isinstance(call.func, ast.Name) and call.func.id not in known
    return is_own and not call.keywords and all(isinstance(one, ast.Name) for one in call.args)


def _grams(tokens: list[Token]) -> Iterator[Print]:
    """Yield the k-grams of a statement; in each, names are numbered as they appear."""
    for start in range(max(1, len(tokens) - GRAM + 1)):
        gram, numbers = tokens[start : start + GRAM], dict[str, int]()
        words = [f"#{numbers.setdefault(text, len(numbers))}" if is_name else text for text, _, is_name in gram]
        digest = hashlib.blake2b("\0".join(words).encode("utf-8", "replace"), digest_size=6).digest()
        lines = [line for _, line, _ in gram]
        yield int.from_bytes(digest, "big"), min(lines), max(lines)


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _main() -> None:
    """Answer each line of the input by one; the system ends the process where a line costs too much."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for row in sys.stdin:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            codes = fingerprints(*json.loads(row))
        except BROKEN:
            sys.exit(1)
        print(json.dumps({name: (code.lines, code.prints) for name, code in codes.items()}), flush=True)


if __name__ == "__main__":
    _main()
