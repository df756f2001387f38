"""Reports for Gradescope and GitHub: points, what to mend, and learners' text nowhere a command."""

import json
import re
from pathlib import Path

import pytest

from grader.export.github import report_to_ci
from grader.export.lms import _feedback, write_gradescope
from grader.export.pages import student_page
from tests.grader.export.conftest import NASTY, result, task, ungraded, unreadable


def test_gradescope_gets_one_test_per_task_with_points_and_what_to_mend(tmp_path: Path) -> None:
    write_gradescope(
        [result("x", tasks=[task(), task("2.2", 14, "pass")], score=23, max_score=28)], tmp_path / "results.json"
    )
    found = json.loads((tmp_path / "results.json").read_text())
    assert found["score"] == 23 and found["stdout_visibility"] == "hidden" and found["output"] == "23 of 28 points."
    first, second = found["tests"]
    assert first["output"].splitlines()[0] == "1 of 2 properties hold." and "Hint: Use >." in first["output"]
    assert (first["name"], first["score"], first["max_score"], first["status"]) == ("TODO 2.1 f", 9, 14, "failed")
    assert (second["status"], second["visibility"], second["output_format"]) == ("passed", "visible", "text")
    without = {"there are 0": [], "there are 2": [result("a"), result("b")], "UTF-8": [unreadable("a") | {"score": 0}]}
    for says, results in without.items():
        write_gradescope(results, tmp_path / "results.json")
        found = json.loads((tmp_path / "results.json").read_text())
        assert found["score"] == 0 and says in found["output"]


def test_notes_are_in_every_feedback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    noted = result("ada", notes=["It waits for input."])
    for one in (noted, unreadable("ada") | {"score": 0, "notes": noted["notes"]}):
        write_gradescope([one], tmp_path / "to.json")
        report_to_ci([one], (lines := list[str]()).append)
        texts = (json.loads((tmp_path / "to.json").read_text())["output"], _feedback(one), student_page(one))
        assert all("It waits for input." in text for text in (*texts, "".join(lines)))
    assert (tmp_path / "summary.md").read_text().count("It waits for input.") == 2


def commands(lines: list[str]) -> list[tuple[str, dict[str, str], str]]:
    """Read lines as GitHub's runner does: command, properties, data; old commands may stand anywhere in a line."""
    found = []
    for line in re.split(r"[\r\n]", "\n".join(lines)):
        match = re.match(r"\s*::([\w-]+)(?: (.*?))?::(.*)", line)
        if match:
            pairs = dict(pair.split("=", 1) for pair in (match[2] or "").split(",") if pair)
            found.append((match[1], pairs, match[3].replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")))
        else:
            found += [("old", {}, line)] * ("##[" in line)
    return found


def test_a_learners_text_cannot_command_a_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "::set-output name=a,b::c.ipynb").touch()
    lines: list[str] = []
    bad = result("::set-output name=a,b::c.ipynb", tasks=[task(got=NASTY)])
    assert not report_to_ci([bad, unreadable("x\n::add-mask::y") | {"reason": NASTY}], lines.append)
    classroom, found = commands(lines)[:2], commands(lines)[2:]
    assert [about["title"] for _, about, _ in classroom] == ["Autograding complete", "Autograding report"]
    assert [name for name, _, _ in found] == ["error", "error"]
    assert found[0][1]["file"] == "%3A%3Aset-output name=a%2Cb%3A%3Ac.ipynb" and f"Got: {NASTY}." in found[0][2]
    assert found[1][2] == NASTY and "file" not in found[1][1]
    summary = (tmp_path / "summary.md").read_text()
    assert "<script>" not in summary and "\n" not in summary.strip(), "a blank line would begin Markdown again"
    name = "a\udcff\x1b[2J\n"  # not UTF-8, and a command of a terminal
    report_to_ci([odd := result(name, tasks=[task(got=name)])], (odd_lines := list[str]()).append)
    write_gradescope([odd], tmp_path / "results.json")
    assert "a?" in "".join(odd_lines).encode().decode()
    assert json.loads((tmp_path / "results.json").read_text())["score"] == 9


@pytest.mark.parametrize(("least", "holds"), [(0, True), (9, True), (9.5, False), (14, False)])
def test_the_threshold_decides(least: float, holds: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    lines: list[str] = []
    assert report_to_ci([result("a")], lines.append, least) is holds
    assert not report_to_ci([unreadable("a")], [].append) and not report_to_ci([ungraded("a")], [].append)
    assert not report_to_ci([result("a", 14), result("b", 2)], [].append, 9)  # each one must reach it
    assert lines[-1] == "Points 9/14" and any("threshold" in line for line in lines) is not holds


def test_the_summary_is_added_to_what_is_there_and_stays_below_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    report_to_ci([result(f"a{n}", tasks=[task(got="x" * 10_000)]) for n in range(200)], lambda line: None)
    text = summary.read_text()
    assert text.startswith("before\n<table>") and len(text) < 1 << 20 and "too long" in text and "a50" in text
