"""Grading: from notebooks and .py files to points, and the JSON of it."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from grader.lessons.checks import TASKS
from grader.notebook import CheckFailed, check
from grader.read.cells import originals_of
from grader.read.submissions import Source, tasks_of
from grader.run import kit, process
from grader.run.child.imports import foreign_modules
from grader.run.grading import Result, grade

LESSON = "02_parallel_drafting"
MAX = sum(task.max_points for task in tasks_of(LESSON))
MAX_OF_ALL = sum(task.max_points for task in TASKS.values())
STATUSES = {"pass", "partial", "fail", "error", "timeout", "missing", "unreadable", "ungraded"}
KEYS = set(["task", "function", "points", "max_points", "status", "reason", "diagnosis", "look_at", "properties"])
Make = Callable[..., Path]


def graded(path: Path, library: Path) -> Result:
    return grade(Source(path.name, path), library)


def status_of(result: Result) -> dict[str, str]:
    return {report.task: report.status for report in result.reports}


def test_solved_tasks_get_full_marks_a_partial_solution_partial_credit_and_an_untouched_notebook_nothing(
    make_notebook: Make, library: Path
) -> None:
    path = make_notebook(edits={"task-2-3": lambda source: source.replace(">= threshold", "> threshold")})
    result = graded(path, library)
    task, record = [report for report in result.reports if not report.passed]  # the given record calls 2.3
    assert (task.task, task.status, result.status, result.lesson) == ("2.3", "partial", "partial", LESSON)
    assert 0 < task.points < task.max_points and record.task == "record" and result.max_score == MAX
    assert result.score == MAX - sum(report.max_points - report.points for report in (task, record))
    assert not next(p for p in task.properties if p.name == "equal_passes").passed
    result = graded(make_notebook(solved=False), library)
    assert (result.status, result.score, result.max_score) == ("missing", 0, MAX)
    assert set(status_of(result).values()) == {"missing"}


def test_a_bug_is_not_started_exactly_as_long_as_its_cell_is_as_it_was_handed_out(
    make_notebook: Make, library: Path
) -> None:
    edits = {"task-8-1": lambda source: source + "\n# looked at"}
    touched = status_of(graded(make_notebook(solved=False, lesson="08_bug_clinic", edits=edits), library))
    assert touched.pop("8.1") == "partial" and set(touched.values()) == {"missing"}


def test_a_function_under_another_name_is_asked_about(make_notebook: Make, library: Path) -> None:
    rename = {"task-2-4": lambda source: source.replace("def block_mask(", "def packed_mask(")}
    report = next(r for r in graded(make_notebook(edits=rename), library).reports if r.task == "2.4")
    assert report.status == "error" and report.points == 0
    assert "no block_mask" in report.reason and "packed_mask: under another name?" in report.reason


BAD: list[dict[str, tuple[str, str]]] = [  # by task: what stands in its cell for F, and what comes of it
    {
        "2.1": ("def F(:", "error"),
        "2.2": ("1 / 0\ndef F(a, b, c): ...", "error"),
        "2.6": ("import os\nif True:\n    os._exit(0)\n    def F(a, b, c): ...", "error"),
        "2.4": ("if True:\n    while True: pass\n    def F(a, b, c): ...", "timeout"),
        "2.5": ("", "missing"),
    },
    {
        "2.1": ("F = 7", "missing"),
        "2.2": ("@input\ndef F(a, b, c): ...", "error"),
        "2.6": ("def F(*a): raise KeyError('x')", "error"),
        "2.4": ("def F(*a): return 3", "fail"),
        "2.5": ("def F(*a): import os; os._exit(0)", "error"),
    },
]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.usefixtures("short")
def test_bad_cells_cost_only_their_own_tasks(make_notebook: Make, quick: Path, bad: dict[str, tuple[str, str]]) -> None:
    cells = {name: text.replace("F", TASKS[name].function) for name, (text, _) in bad.items()}
    edits = {f"task-{name.replace('.', '-')}": text for name, text in cells.items()}
    result = graded(make_notebook(edits=edits), quick)
    statuses = {task.id: bad[task.id][1] if task.id in bad else "pass" for task in tasks_of(LESSON)}
    assert status_of(result) == statuses
    assert result.score == MAX - sum(TASKS[name].max_points for name in bad)


UNFINISHED = {
    "input('Name? ')": "asks for input, which nobody gives here (line 1)",
    "import sys; sys.exit()": "exits (line 1)",
    "while True: pass": "runs for too long",
    "import os; os._exit(0)": "ends the process",
    "while True:\n  try:\n    while True: pass\n  except BaseException: pass": "runs for too long",
}


@pytest.mark.parametrize("code", UNFINISHED)
@pytest.mark.usefixtures("short")
def test_what_does_not_finish_beside_right_functions_costs_nothing_and_is_named(
    make_notebook: Make, quick: Path, code: str
) -> None:
    path = make_notebook(edits={"task-2-4": lambda source: f"{code}\n{source}\n{code}"})
    result = graded(path, quick)
    at = [cell.id for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"].index("task-2-4") + 1
    assert (result.status, result.score) == ("pass", MAX)
    assert result.to_json()["notes"] == [f"Code cell {at} did not finish: it {UNFINISHED[code]}."]


@pytest.mark.parametrize("code", ["while True: pass", "import os; os._exit(0)"])
@pytest.mark.usefixtures("short")
def test_py_file_that_does_not_finish_is_not_missing(tmp_path: Path, quick: Path, code: str) -> None:
    (tmp_path / "a.py").write_text(f"{code}\ndef conditional_acceptance(*a): return 3\n{code}\n")
    (tmp_path / "b.py").write_text(code)
    first, second = (graded(tmp_path / name, quick) for name in ("a.py", "b.py"))
    assert first.lesson is None and first.submission == "a.py" and first.max_score == MAX_OF_ALL
    assert {status for task, status in status_of(first).items() if task != "2.5"} == {"missing"}
    assert status_of(first)["2.5"] == "fail" and first.notes and "file did not finish" in first.notes[0]
    assert second.status == ("timeout" if "while" in code else "error") and second.score == 0


@pytest.mark.parametrize("setup", ["np = math = None", "import ("])
def test_setup_and_given_cells_are_the_kits_own_and_output_costs_nothing(
    make_notebook: Make, library: Path, setup: str
) -> None:
    name = next(name for name, original in originals_of("02_parallel_drafting").items() if original.role == "setup")
    noise = "import sys, warnings\nprint('x' * 10**6)\nprint('y' * 10**6, file=sys.stderr)\nwarnings.warn('w')\n"
    edits: dict[str, Any] = {name: setup, "given-record": "def build_draft_record(*a, **k): return {}"}
    edits["task-2-1"] = lambda source: noise + source.replace("    ### BEGIN SOLUTION\n", "    print(1)\n")
    assert graded(make_notebook(edits=edits), library).score == MAX


def test_py_file_goes_on_after_a_statement_that_fails(tmp_path: Path, library: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "from __future__ import annotations\nfrom dspark_mini.drafting import dflash_parallel_candidates\n"
        "import numpy as np\nfrom dspark_mini.inputs import logit_rows, check_best\n"
        "def dflash_parallel_candidates(block_logits: Unknown):\n"
        "    rows = logit_rows('block_logits', block_logits)\n"
        "    best = [int(np.argmax(row)) for row in rows]\n"
        "    for k, row in enumerate(rows):\n        check_best(row[best[k]], (k, row))\n"
        "    return best\n"
    )
    assert status_of(graded(path, library))["2.1"] == "pass"


def test_json_is_as_specified(make_notebook: Make, library: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_bytes(bytes(range(256)))
    paths = [make_notebook(edits={"task-2-2": "def dspark_markov_candidates(*a): return [0]"}), broken]
    for path in paths:
        data: dict[str, Any] = json.loads(json.dumps(graded(path, library).to_json()))
        assert {"submission", "lesson", "score", "max_score", "status", "tasks"} <= set(data)
        assert (data["score"] is None) is ("reason" in data) and isinstance(data["max_score"], (int, float))
        assert data["status"] in STATUSES and str(tmp_path) not in str(data)
        for task in data["tasks"]:
            assert set(task) - {"given"} == KEYS and ("given" in task) is (task["task"] == "record")
            assert task["status"] in STATUSES - {"unreadable", "ungraded"}
            assert TASKS[task["task"]].function == task["function"]
            assert task["points"] <= task["max_points"]
            for item in task["properties"]:
                keys = {"name", "passed", "weight", "says", "message", "hint", "evidence", "skipped"}
                assert set(item) == keys and (item["passed"] or (item["message"] and item["hint"]))


SOMETIMES = """
import math
def conditional_acceptance(accepted_counts, block_size):
    counts = [int(count) for count in accepted_counts]
    if sum(counts) % 41 == 1:
        return [0.5] * block_size
    reached = [sum(count >= k for count in counts) for k in range(block_size + 1)]
    return [after / before if before else math.nan for before, after in zip(reached, reached[1:])]
"""


def test_equal_code_gets_equal_points_though_it_fails_in_few_hidden_cases(tmp_path: Path, library: Path) -> None:
    path = tmp_path / "ada.py"
    path.write_text(SOMETIMES)
    first, second = (grade(Source("ada", path), library, sandbox=False).to_json() for _ in range(2))
    assert first == second
    # The points depend on the cases that this version of the kit draws; that the function was called does not.
    (task,) = [task for task in first["tasks"] if task["function"] == "conditional_acceptance"]
    assert task["status"] != "missing"


def test_another_kit_or_secret_has_other_hidden_cases_and_other_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kit.grading_seed("2.5")
    assert before == kit.grading_seed("2.5") != kit.grading_seed("2.4")
    with monkeypatch.context() as patch:
        patch.setattr(kit, "kit_fingerprint", lambda: "another")
        assert kit.grading_seed("2.5") != before

    def seeds(file: Path) -> tuple[int, str]:
        kit.use_secret(kit.secret_from(file))
        return kit.grading_seed("2.5"), kit.grading_fingerprint()

    monkeypatch.setattr(kit, "_secret", "")
    one, other = tmp_path / "new" / "secret", tmp_path / "other"
    first, second = seeds(one), seeds(other)
    assert first[0] != second[0] and first[1] != second[1] and seeds(one) == first
    assert one.stat().st_mode & 0o077 == 0 and kit.secret_in_use() not in first[1]
    other.write_text("\n")
    with pytest.raises(ValueError, match="is empty"):
        kit.secret_from(other)


def test_a_submission_that_takes_all_its_time_to_load_is_too_slow(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "SUBMISSION_SECONDS", 2.5)
    file = tmp_path / "slow.py"
    file.write_text("import time\ntime.sleep(60)\ndef dflash_parallel_candidates(x):\n    return x\n")
    begin, result = time.monotonic(), grade(Source("slow", file), library)
    assert result.score == 0 and time.monotonic() - begin < 10
    (report,) = [r for r in result.reports if r.function == "dflash_parallel_candidates"]
    assert report.status == "timeout"


def test_a_function_that_takes_all_the_time_costs_the_others_nothing(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "SUBMISSION_SECONDS", 4.0)
    file = tmp_path / "slow.py"
    right = "def dflash_parallel_candidates(x):\n    return x.argmax(axis=1).tolist()\n"
    file.write_text(f"import time\n{right}def dspark_markov_candidates(*x):\n    time.sleep(600)\n")
    monkeypatch.setattr(process, "SECONDS_A_TASK", 0.0)
    statuses = {report.function: report.status for report in grade(Source("slow", file), library).reports}
    assert (statuses["dflash_parallel_candidates"], statuses["dspark_markov_candidates"]) == ("pass", "timeout")


@pytest.mark.parametrize(
    ("at_its_cell", "points", "notes"), [("", 9, 0), ("def dflash_parallel_candidates(b): return 3", 0, 1)]
)
def test_a_function_below_its_check_counts_in_place_of_the_stub_and_is_named_otherwise(
    make_notebook: Make, library: Path, at_its_cell: str, points: int, notes: int
) -> None:
    path = make_notebook(solved=False, edits={"task-2-1": at_its_cell} if at_its_cell else {})
    document = nbformat.read(path, as_version=4)
    right = (
        "import numpy.testing, sysconfig\ndef dflash_parallel_candidates(x):\n    sysconfig.get_config_var('prefix')"
    )
    document.cells.append(nbformat.v4.new_code_cell(f"{right}\n    return x.argmax(axis=1).tolist()"))
    nbformat.write(document, path)
    result = graded(path, library)
    assert result.reports[0].points == points
    assert len(result.notes) == notes and all("below its check" in note for note in result.notes)


IMPORTS = """
import math
import matplotlib.pyplot as plt
import numpy as np
from rich.text import Text


def helper(row):
    return Text(str(row)) and int(row.argmax())


def dflash_parallel_candidates(block_logits):
    return [helper(row) for row in block_logits]


def conditional_acceptance(accepted_counts, block_size):
    from matplotlib import cbook
    return []


def verification_mask(context_length, draft_length):
    import json
    return np.tri(1 + draft_length, context_length + 1 + draft_length, context_length, dtype=bool)
"""


@pytest.fixture(scope="module")
def namespace() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(IMPORTS, names)
    return names


def test_packages_that_grading_lacks_are_named_where_they_are_used(namespace: dict[str, Any]) -> None:
    assert foreign_modules(namespace["dflash_parallel_candidates"]) == {"rich"}
    assert foreign_modules(namespace["conditional_acceptance"]) == {"matplotlib"}
    assert foreign_modules(namespace["verification_mask"]) == set()


def test_a_notebook_says_what_grading_will_say(namespace: dict[str, Any]) -> None:
    with pytest.raises(CheckFailed, match="uses rich, which grading does not have"):
        check("2.1", namespace["dflash_parallel_candidates"])


@pytest.mark.parametrize("sandbox", [True, False])
def test_a_check_of_the_file_and_grading_agree(tmp_path: Path, library: Path, sandbox: bool) -> None:
    file = tmp_path / "mine.py"
    file.write_text(IMPORTS)
    reports = {r.task: r.status for r in grade(Source("mine", file), library, sandbox).reports}
    assert (reports["2.1"], reports["2.5"]) == ("error", "error")
