"""Files and names that attack: broken and tricky notebooks, what lies beside them, and names that are code elsewhere.

In the table: what the attack must get, and what writes the student's folder.
"""

import csv
import io
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.lessons.checks import TASKS
from grader.lessons.stubs import contract_imports
from grader.read.cells import originals_of

LESSON = "02_parallel_drafting"
FILE = f"{LESSON}.ipynb"
SETUP = next(name for name, original in originals_of(LESSON).items() if original.role == "setup")
RIGHT = contract_imports(TASKS["2.5"].reference_source) + TASKS["2.5"].reference_source
WRONG = "def conditional_acceptance(accepted_counts, block_size):\n    return [0.5] * block_size\n"
CellJson = dict[str, Any]
Write = Callable[[Path], Any]
READ, REFUSED = "full pass", "unreadable"


def cell(source: Any, name: str | None = None, **more: Any) -> CellJson:
    nbgrader = {"grade_id": name, "schema_version": 3} if name else {}
    return {"cell_type": "code", "source": source, "metadata": {"nbgrader": nbgrader}, "outputs": []} | more


def notebook(*cells: CellJson, **more: Any) -> str:
    made = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell("", SETUP), *cells]}
    return json.dumps(made | more)


def holds(content: str | bytes) -> Write:
    """What writes a file with some content."""
    data = content if isinstance(content, bytes) else content.encode()
    return lambda folder: (folder / FILE).write_bytes(data)


def with_files(**files: str) -> Write:
    """What writes a right notebook, and other modules beside it."""

    def write(folder: Path) -> None:
        holds(notebook(cell(RIGHT)))(folder)
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text)

    return write


FORGED_OUTPUT = [{"output_type": "execute_result", "data": {"text/plain": "15.0"}, "execution_count": 1}]
CHECK = cell("check('2.5', conditional_acceptance)", "check-2-5", outputs=FORGED_OUTPUT, execution_count=9)
TASK_CELL = "task-2-5"

PLACES: dict[str, tuple[str, Write]] = {
    "a link to a system file": (REFUSED, lambda folder: (folder / FILE).symlink_to("/etc/passwd")),
    "a link to a neighbour": (REFUSED, lambda folder: (folder / FILE).symlink_to("../honest 000/" + FILE)),
    "a link to an endless device": (REFUSED, lambda folder: (folder / FILE).symlink_to("/dev/zero")),
    "a NumPy of its own": (READ, with_files(numpy="raise ImportError", json="x", grader="", dspark_mini="")),
    "a NumPy that its first cell writes": (
        READ, holds(notebook(cell("open('numpy.py', 'w').write('array = None')\nimport numpy"), cell(RIGHT))),
    ),
    "a sitecustomize beside it": (READ, with_files(sitecustomize="raise SystemExit", conftest="raise SystemExit")),
}  # fmt: skip
BYTES: dict[str, tuple[str, Write]] = {
    "half a notebook": (REFUSED, holds(notebook(cell(RIGHT))[:-9])),
    "a hundred thousand brackets": (REFUSED, holds("[" * 100_000)),
    "deep metadata": (
        REFUSED, holds(notebook(cell(RIGHT)).replace('"metadata": {}', '"metadata": ' + "[" * 9**5 + "]" * 9**5, 1))
    ),
    "megabytes of outputs and attachments": (
        READ,
        holds(notebook(cell(RIGHT, outputs=[{"text": "x" * 5_000_000}], attachments={"a": {"b": "A" * 10**6}}))),
    ),
}  # fmt: skip
FORMATS: dict[str, tuple[str, Write]] = {
    "cells that are no cells": (READ, holds(notebook(None, 7, "x", [], {}, cell(None), cell({}), cell(RIGHT)))),  # type: ignore[arg-type]
    "a kernel that is a command": (
        READ, holds(notebook(cell(RIGHT), metadata={"kernelspec": {"name": "bash", "argv": ["touch", "x"]}}))
    ),
    "magics and shell escapes": (
        READ,
        holds(notebook(
            cell("%matplotlib inline\n!touch x\nfiles = !ls\n%cd /\nnp?\n?np\n%%time"), cell("%%bash\ntouch x"),
            cell("%%writefile numpy.py\nx"), cell("%%time\n!ls\n" + RIGHT + "%timeit 1\n"),
        )),
    ),
    "bytes of zero in a cell": (READ, holds(notebook(cell("x = 1\0"), cell(RIGHT)))),
    "half a character in a cell": (READ, holds(notebook(cell("x = '\ud800'"), cell(RIGHT)))),
    "half a character in an error": (
        "0 error", holds(notebook(cell("def conditional_acceptance(): pass\nraise KeyError('\\ud800\\x1b[2J')\n")))
        # the function is defined by then, and takes no arguments
    ),
    "half a character in an error before the answer": (
        "0 error", holds(notebook(cell(f"raise KeyError('\\ud800\\x1b[2J<b>[red]')\n{RIGHT}", TASK_CELL)))
    ),
}  # fmt: skip
CELLS: dict[str, tuple[str, Write]] = {
    "a copied cell": (READ, holds(notebook(cell(WRONG, TASK_CELL), cell(RIGHT, TASK_CELL), CHECK))),
    "a cell that never ran": (
        "0 missing", holds(notebook(cell("if False:\n    x = 1\n", TASK_CELL, outputs=FORGED_OUTPUT), CHECK))
    ),
    "a cell that stopped before the answer": (
        "0 error", holds(notebook(cell("1 / 0\n" + RIGHT, TASK_CELL, outputs=FORGED_OUTPUT), CHECK))
    ),
    "outputs that say full marks": ("0 fail", holds(notebook(cell(WRONG, TASK_CELL, outputs=FORGED_OUTPUT), CHECK))),
    "a check that is worth a million": (
        "0 fail",
        holds(notebook(cell(WRONG), cell("1e6", metadata={"nbgrader": {"grade_id": "check-2-5", "points": 1e6}}))),
    ),
    "a check of its own": (
        "0 fail", holds(notebook(cell(WRONG), cell("def check(*a): return 15.0\ncheck()\n15.0", "check-2-5"))),
    ),
    "a solution locked and a grade that is none": (
        READ,
        holds(notebook(cell(RIGHT, metadata={"nbgrader": {"grade_id": TASK_CELL, "locked": True, "solution": False,
                                                          "grade": True, "schema_version": 1, "points": -5}}))),
    ),
    "a setup of its own": (READ, holds(notebook(cell("np = math = whole_number = None", SETUP), cell(RIGHT)))),
    "tasks of several lessons": (
        "unreadable | full pass",
        holds(notebook(cell(RIGHT), cell("def schedule_prefixes(*a): pass\ndef block_mask(*a): pass\n"))),
    ),
}  # fmt: skip
FILES = PLACES | BYTES | FORMATS | CELLS

STUDENTS = [
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "two\nlines", "over\rwritten", "tab\tbed", "\x08\x08\x7f", "c1 \x9b31m",
    "[bold red]x[bold]", "[red]", "[link=file:x]y", ":smile:", "\\[x", "=1+1", "=cmd|' C calc'!A0", "+1", "-1",
    "@SUM(1)", "\t=1", "--json", "~root", "$(touch x)", "`touch x`", "%s%n{0}{self}", "&lt;b&gt;",
    "<img src=x onerror=alert(1)>",
    "'; DROP TABLE student; --", 'a "quoted", name', "\u202egnp.exe", "名前 ñ", "e\u0301", "zero\u200bwidth",
    "\udcff\udcfe", "a" * 190, " ", "None", "nan", "1e5", "x.ipynb", "x.py", "new\u2028line",
]  # fmt: skip
READ_ONES = len(STUDENTS) // 5  # as many hand in a right notebook; the others' need not be read to have a name
ATTACKS = FILES | {
    student: (READ, holds(notebook(cell(RIGHT)))) if place < READ_ONES else (REFUSED, holds(""))
    for place, student in enumerate(STUDENTS)
}


def test_an_attack_gets_what_its_answers_are_worth_and_its_neighbours_what_they_always_get(
    batch: Any, attack: str
) -> None:
    batch.assert_fair(attack)


def test_the_world_around_is_as_it_was(batch: Any) -> None:
    batch.assert_left_alone(1)  # some were not graded


def test_what_cannot_be_read_says_why_in_a_sentence(batch: Any) -> None:
    for reason in (batch.of(name)["reason"] for name in FILES if FILES[name][0] == REFUSED):
        assert reason.endswith(".") and "/" not in reason and "Traceback" not in reason


def test_a_terminal_gets_text_and_nothing_else(batch: Any) -> None:
    odd = {c for c in batch.output if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"}
    assert odd == set()


def test_every_student_goes_by_the_name_of_the_folder(batch: Any) -> None:
    for student in STUDENTS:
        assert batch.of(student)["submission"].startswith(student.encode("utf-8", "backslashreplace").decode())


def test_no_spreadsheet_takes_a_name_for_a_formula(batch: Any) -> None:
    rows = list(csv.reader(io.StringIO(batch.rows_text)))
    assert len(rows) == 1 + len(batch.results)
    assert [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == []
