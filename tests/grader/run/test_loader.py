"""Loading a learner's code: magics, broken cells, failing statements, and what a module needs to work."""

import ast
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.run.child import loader
from grader.run.child.loader import MODULE, CellError, defines, new_namespace, parse, run_piece

MANY = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
Names = dict[str, Any]


@pytest.fixture(autouse=True)
def clean_modules() -> Iterator[None]:
    yield
    sys.modules.pop(MODULE, None)


def ran(*sources: str, statements: bool = False) -> tuple[Names, list[CellError | None]]:
    """The names that some pieces define, run one after the other, and the error of each."""
    namespace = new_namespace()
    errors = [run_piece(source, f"cell {i}", namespace, statements) for i, source in enumerate(sources)]
    return {name: value for name, value in namespace.items() if not name.startswith("__")}, errors


def names_of(*sources: str) -> Names:
    names, errors = ran(*sources)
    assert errors == [None] * len(sources)
    return names


MAGICS = [
    *("%matplotlib inline", "%load_ext autoreload", "%time 1 + 1", "%config InlineBackend.figure_format = 'retina'"),
    *("!pip install numpy", "!!ls", '!echo "it\'s (not" [closed', "files = !ls *.py", "a, b = !echo x"),
    *("timing = %timeit -o 1 + 1", "?print", "print?", "x.append??", "%cd /", "rows[0]?", "f(1)?"),
    *("    ", "# a comment with % and ! and ?"),
]
STATEMENTS = [
    "numbers = [1, 2, 3]",
    "rest = 7 % 4",
    "text = 'a%sb!?' % 'x'",
    "block = '''one\ntwo % 2\nthree!\n'''",
    "table = {\n    'a': 7 % 3,\n    'b': not True != False,\n}",
    "def function(a, b=5 % 3):\n    '''Is it 100 % right? Yes!'''\n    return a % b",
    "if numbers != []:\n    rest += 1\nelse:\n    rest = 0",
    "class Thing:\n    size = 10 % 6",
    "lines = [n for n in range(9)\n         if n % 2 == 0]",
]


@pytest.mark.parametrize("magic", MAGICS)
def test_magics_inside_of_blocks_do_nothing(magic: str) -> None:
    source = f"for n in range(3):\n    {magic}\n    m = n\nif m:\n  {magic}\n  k = 1\ndef f():\n\t{magic}\n\treturn 5\n"
    names = names_of(source)
    assert (names["m"], names["k"], names["f"]()) == (2, 1, 5)


def test_a_magic_runs_nothing_and_keeps_the_line_numbers(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ran("!touch a\n%run b\nx = !touch c\n%sx touch d", "%%bash\ntouch e", "%%writefile f\nx")[1] == [None] * 3
    assert list(tmp_path.iterdir()) == []
    for top in ("%matplotlib inline\n!ls\n", "%%time\n!ls\n"):
        assert ran(f"{top}x = 1\n\n1 / 0\n")[1] == [CellError("ZeroDivisionError", "division by zero", 5)]


def test_cell_magics_leave_python_and_blank_other_languages() -> None:
    python = ("%%time", "%%timeit -n 1 -r 1", "%%timeit\t-n 1", "%%capture\r", "%%capture out --no-stderr", "%%prun -q")
    for magic in python:
        assert names_of(f"{magic}\nx = 1\ndef f():\n    return x")["x"] == 1
        assert names_of(f"\n\n{magic}\n\nx = 1")["x"] == 1
    for magic in ("%%bash", "%%html", "%%javascript", "%%writefile f.py", "%%sh", "%%latex", "%%", "%%sql x"):
        assert names_of(f"{magic}\nx = 1") == {} == names_of(f"\n{magic}\n<p>rm -rf / ) ]")


def test_python_is_never_touched() -> None:
    source = "\n".join(["numbers, rest = [], 0", *STATEMENTS])
    assert ast.dump(parse(source), include_attributes=True) == ast.dump(ast.parse(source), include_attributes=True)


MULTI_LINE = [
    "text = ('%d and %d'\n        % (1, 2))",
    "text = '''\n!ls is not run\n%time is not taken\nwhat?\nx = !ls\n'''",
    "rest = [7\n        % 4,\n        1]",
    "rest = 7 \\\n    % 4",
    "def f():\n    '''Explain.\n\n    %timeit f() is slow.\n    '''\n    return 1\ntext = f.__doc__",
]


def test_percent_signs_survive_beside_a_magic() -> None:
    for source in MULTI_LINE:
        plain: Names = {}
        exec(source, plain)
        for magic in ("%matplotlib inline", "!ls", "print?"):
            for mixed in (f"{magic}\n{source}", f"{source}\n{magic}"):
                names = names_of(mixed)
                assert [names.get(name) for name in ("text", "rest")] == [plain.get(name) for name in ("text", "rest")]


@MANY
@given(st.text(alphabet="%!?()[]{}'\"\\ \n\t=1+-:#.,;@\r\0\x0c", max_size=60), st.booleans())
def test_no_text_whatever_takes_the_loader_down(text: str, statements: bool) -> None:
    names, (error,) = ran(text, "x = 1")[0], ran(text, statements=statements)[1]
    assert names.get("x") == 1 and (error is None or isinstance(error, CellError))


@pytest.mark.parametrize(
    ("source", "error", "line"),
    [
        ("x = (", "SyntaxError", 1),
        ("x = 1\n  y = 2", "IndentationError", 2),
        ("def f(:\n    pass", "SyntaxError", 1),
        ("x = 1\0", "SyntaxError", None),
        ("a = 1\nb = a + c", "NameError", 2),
        ("raise KeyError('x')", "KeyError", 1),
        ("import sys\nsys.exit()", "SystemExit", 2),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", 1),
        ("def f(): return f()\nf()", "RecursionError", 1),
        ("x = " + "(" * 500, "SyntaxError", 1),
        *((source, "SyntaxError", 3) for source in ("\n\nbreak", "x = 1\n\nawait f()", "\n\ndef f(a, a): pass")),
        ("x = " + "-" * 100_000 + "1", "RecursionError", None),
    ],
)
@pytest.mark.parametrize("statements", [False, True])
def test_an_error_costs_only_its_own_piece(source: str, error: str, line: int | None, statements: bool) -> None:
    names, errors = ran("before = 1", source, "after = before + 1", statements=statements)
    assert (names["before"], names["after"]) == (1, 2)
    assert errors[0] is None and errors[2] is None
    assert errors[1] is not None
    allowed = {error, "ValueError"} if "\0" in source else {error, "MemoryError"} if "---" in source else {error}
    assert errors[1].error in allowed and errors[1].line == line and "cell" not in errors[1].message


def test_exit_or_an_error_ends_no_more_than_its_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)  # which exit() closes
    names, errors = ran("x = 1\nexit()\ny = 2", "quit()", "z = x")
    assert names["z"] == 1 and names["y"] == 2
    assert [error and error.error for error in errors] == ["SystemExit", "SystemExit", None]
    names, (error,) = ran("a = 1\nb = 1 / 0\nc = 3\nd = e\nf = 5", statements=True)  # the first error is told
    assert set(names) == {"a", "c", "f"} and error is not None and error.line == 2


def test_an_exception_that_cannot_be_written_down_costs_only_its_statement() -> None:
    source = "class E(Exception):\n    def __str__(self): raise KeyError\nraise E\ny = 1"
    names, (error,) = ran(source, statements=True)
    assert names["y"] == 1 and error == CellError("E", "", 3)
    names, (error,) = ran("class E(BaseException): pass\nraise E('x')\ny = 1", statements=True)
    assert names["y"] == 1 and error == CellError("E", "x", 2)


@pytest.mark.parametrize("statements", [False, True])
def test_a_piece_that_never_ends_is_interrupted(statements: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader, "CELL_SECONDS", 0.15)
    names, errors = ran("x = 1\nwhile True: pass\ny = 2", "z = x", statements=statements)
    assert errors[0] is not None and errors[0].error == "TimeoutError" and errors[0].line is None
    assert errors[1] is None and names["z"] == 1 and names["y"] == 2


@pytest.mark.parametrize("statements", [False, True])
def test_future_annotations_reach_every_later_statement(statements: bool) -> None:
    source = (
        "'''A file.'''\nfrom __future__ import annotations\nimport math\n"
        "def f(x: Unknown, y: list[Nothing] | None = None) -> Missing:\n    return math.floor(x)\n"
        "class C:\n    field: Absent = 1\n"
    )
    names, errors = ran(source, statements=statements)
    assert errors == [None] and names["f"](2.5) == 2 and names["f"].__annotations__["x"] == "Unknown"
    assert ran("from __future__ import annotations", "def f(x: Unknown): return 1")[1] == [None, None]


@pytest.mark.parametrize("statements", [False, True])
def test_dataclasses_enums_named_tuples_and_protocols_work(statements: bool) -> None:
    source = (
        "from __future__ import annotations\nimport enum, pickle, typing\n"
        "from dataclasses import dataclass, field\n"
        "@dataclass(frozen=True)\nclass Draft:\n    tokens: list[int] = field(default_factory=list)\n"
        "    size: int = 3\n"
        "class Mode(enum.Enum):\n    A = 1\n"
        "class Pair(typing.NamedTuple):\n    a: int\n    b: float = 0.5\n"
        "def f():\n    return Draft([1]), Mode.A, Pair(1)\n"
        "hints = typing.get_type_hints(Draft)\nback = pickle.loads(pickle.dumps(f()))\n"
    )
    names, errors = ran(source, statements=statements)
    assert errors == [None] and names["hints"] == {"tokens": list[int], "size": int}
    assert names["back"] == names["f"]() and repr(names["f"]()[0]) == "Draft(tokens=[1], size=3)"


def test_a_later_definition_wins_and_a_failing_one_leaves_the_earlier() -> None:
    names, _ = ran("def f(): return 1", "def f(): return 2", "def f(:", "1 / 0\ndef f(): return 3")
    assert names["f"]() == 2


DEFINITIONS = [
    *("def f(x): pass", "x = 1\n\ndef f (\n    x): pass", "async def f(x): pass", "f = lambda x: x", "f=other"),
    *("class A:\n    def f(self): pass", "def f(:\n", "x = (\ndef f(a):\n    return", "%%time\ndef f(x): pass"),
    *("if True:\n\tdef f(x): pass", "\n" * 50 + "def f(x): pass"),
]


USES = ["f(1)", "x = f(1)", "f == 3", "def g(f): pass", "def ff(): pass", "ff = 1", "# def f():", "x.f = 1", "deff()"]


def test_definitions_are_found_even_in_broken_code_and_uses_are_none() -> None:
    assert [source for source in DEFINITIONS if not defines(source, "f")] == []
    assert [source for source in ["", *USES] if defines(source, "f")] == []


def test_looking_for_definitions_takes_linear_time() -> None:
    start = time.perf_counter()
    assert not defines("\n" * 4000 + "x", "f")
    assert time.perf_counter() - start < 0.2


def test_an_import_that_is_not_to_be_had_costs_only_what_needs_it() -> None:
    namespace = new_namespace()
    cell = "import no_such_module as plt\ndef best(row):\n    return max(row)\n1 / 0\ndef after(row):\n    return row"
    error = run_piece(cell, "cell 1", namespace, statements=False)
    assert error is not None and error.error == "ModuleNotFoundError"
    assert namespace["best"]([1, 3]) == 3 and "after" not in namespace
