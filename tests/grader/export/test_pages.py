"""Pages: what they say, that nothing of a learner acts in them, and that nothing hidden is in them."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dspark_mini.contracts import integers, takes
from grader.check.report import PropertyResult
from grader.export.github import report_to_ci
from grader.export.lms import write_gradescope, write_moodle
from grader.export.pages import class_page, file_names, student_page, write_pages
from grader.export.rosters import ExportError
from grader.lessons.tasks import Hidden, Task, example, values
from grader.run.child.calling import Call, call

LESSON = "02_parallel_drafting"
SECRET = 86428642  # stands in every hidden case
EVIL = "</style></title><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}\u202e\x00\udcff'\"&"
VOID = {"meta", "br", "img", "link", "rect", "path", "line"}


class Page(HTMLParser):
    """A page as a browser would take it: elements with attributes, texts, and whether every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}))
        self.open += [] if tag in VOID else [tag]

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        """The words of the page, without its style."""
        return " ".join(" ".join(text for text in self.texts if "font:" not in text).split())

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.elements if name == tag]


def found(name: str, passed: bool, says: str = "", hint: str = "", *evidence: str, skipped: str = "") -> dict[str, Any]:
    """A property of `grade --json`, with what it says and the texts of its evidence."""
    lines = tuple(zip(("input", "expected", "got")[-len(evidence) :], evidence)) if evidence else ()
    return PropertyResult(name, says, passed, 1, hint, lines, skipped).to_json()


TIES = found("ties", False, "The lowest id wins.", "Use >.", "x = [0.5, 0.5]", "[0]", "[1]")
HIDDEN = found("hidden_one", False, "Something else holds.", "Think.")
SKIPPED = found("unchanged", False, "Arguments stay.", "Copy.", skipped="the values are not right yet")
REASON = "TODO 2.2 is not started: do it."
STOPPED = found("ties", False, "The lowest id wins.", "Use >.", REASON)


def task(name: str, points: float, status: str, *properties: dict[str, Any]) -> dict[str, Any]:
    base = {"task": name, "function": f"f_{name}", "points": points, "max_points": 10, "status": status}
    return base | {"reason": "", "diagnosis": "", "look_at": "", "properties": list(properties)}


PASSED = task("2.1", 10, "pass", found("ties", True), found("hidden_one", True))
PARTIAL = task("2.1", 4, "partial", HIDDEN, TIES, SKIPPED, found("values", True))
NOT_STARTED = task("2.2", 0, "missing", STOPPED, STOPPED | {"name": "values"}) | {"reason": REASON}


def result(submission: str, *tasks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    score, most = (sum(t[key] for t in tasks) for key in ("points", "max_points"))
    base = {"submission": submission, "lesson": LESSON, "score": score, "max_score": most, "status": "partial"}
    return base | {"tasks": list(tasks)} | changes


UNREADABLE = result("Bo", lesson=LESSON, max_score=20, status="unreadable", reason="It is larger than 20 MiB.")
CLASS = [
    result("Ada", PASSED, PASSED | {"task": "2.2", "function": "f_2.2"}, status="pass"),
    result("Jun", PARTIAL, NOT_STARTED),
    UNREADABLE,
]


def links(results: list[dict[str, Any]]) -> list[str]:
    return [f"reports/{name}" for name in file_names(results)]


# --- What they say -----------------------------------------------------------------------------------


def test_a_report_says_score_properties_evidence_and_hints() -> None:
    page = Page(student_page(result("Jun", PARTIAL, NOT_STARTED)))
    assert "4 of 20 points" in page.text and "Next: 2.1 f_2.1 . The lowest id wins." in page.text
    assert "input x = [0.5, 0.5] expected [0] got [1] hint Use >. property ties" in page.text
    assert "Something else holds. found by a hidden case hint Think. property hidden_one" in page.text
    assert "Not looked at yet unchanged" in page.text and "1 of 4 hold values" in page.text
    assert "TODO 2.2 is not started: do it." in page.text and page.text.count("Use >.") == 1


def test_a_right_solution_has_nothing_to_mend_and_an_unreadable_one_a_reason() -> None:
    right = Page(student_page(CLASS[0])).text
    assert "20 of 20 points" in right and "All 2 properties hold." in right and "Next" not in right
    assert "could not be read. It is larger than 20 MiB." in Page(student_page(UNREADABLE)).text


def test_the_next_step_is_a_task_that_was_started() -> None:
    started = PARTIAL | {"task": "2.3", "function": "f_2.3"}
    assert "Next: 2.3 f_2.3" in Page(student_page(result("Jun", NOT_STARTED, started))).text
    assert "Next: 2.2 f_2.2" in Page(student_page(result("Jun", PASSED, NOT_STARTED))).text


def test_the_class_page_counts_scores_tasks_and_failing_properties() -> None:
    page = Page(class_page(CLASS, links(CLASS)))
    assert "submissions 3 mean 40% median 20% full marks 1 unreadable 1" in page.text
    scores = next(a["aria-label"] for a in page.all("svg") if a.get("class") == "histogram")
    assert "0 to 10 percent: 1." in scores and "20 to 30 percent: 1." in scores and "90 to 100 percent: 1." in scores
    assert "2.1 f_2.1 50% 1 1 0 0 2.2 f_2.2 50% 1 0 0 1" in page.text
    assert "The lowest id wins. ties 1 of 2" in page.text and "Arguments stay" not in page.text


def test_what_was_not_graded_is_counted_apart_and_lowers_no_mean() -> None:
    ungraded = result("Cy", lesson=LESSON, score=None, max_score=20, status="ungraded", reason="No sandbox.")
    results = [*CLASS[:2], UNREADABLE | {"score": None}, ungraded]
    text = Page(class_page(results, links(results))).text
    assert "submissions 4 mean 60% median 60% full marks 1 unreadable 1 not graded 1" in text
    assert "Cy – / 20" in text and "points" not in Page(student_page(ungraded)).text
    assert "could not be graded. No sandbox." in Page(student_page(ungraded)).text
    assert "mean 0%" in Page(class_page([ungraded], links([ungraded]))).text


def test_scores_stand_over_the_time_of_submission_where_it_is_known() -> None:
    times = [("2026-11-20T12:00+00:00", 0, 0), ("2026-11-25T12:00+00:00", 2, 10), (None, 0, 10)]
    results = [result("s", score=n, max_score=10, late={"handed_in": t, "days": days}) for t, days, n in times]
    page = Page(class_page(results, links(results)))
    dots = [(dot["class"], dot["cx"], dot["cy"]) for dot in page.all("circle") if dot["r"] == "4.5"]
    assert dots == [("dot", "54.0", "165.0"), ("dot late", "706.0", "25.0")]
    assert "2026-11-20 12:00" in page.text and "s: 100%, late" in page.text


def test_the_property_that_fails_most_often_comes_first_and_what_never_ran_does_not_count() -> None:
    only_hidden = task("2.1", 9, "partial", HIDDEN, found("ties", True))
    crashed = task("2.1", 0, "error", found("ties", False, "", "", "NameError")) | {"reason": "NameError in line 3."}
    results = [result(f"s{n}", t) for n, t in enumerate([PARTIAL, only_hidden, crashed, NOT_STARTED])]
    text = Page(class_page(results, links(results))).text
    assert text.index("Something else holds. hidden_one 2 of 2") < text.index("The lowest id wins. ties 1 of 2")


def test_mistakes_are_named_to_the_student_and_counted_for_the_class() -> None:
    doubled, other = PARTIAL | {"diagnosis": "It counts twice."}, PARTIAL | {"diagnosis": "It counts less."}
    assert "It counts twice. The lowest id wins." in Page(student_page(result("Jun", doubled))).text
    tasks = [other, doubled, doubled, PARTIAL, NOT_STARTED | {"task": "2.1"}]
    results = [result(f"s{n}", t) for n, t in enumerate(tasks)]
    text = Page(class_page(results, links(results))).text
    assert "2.1 It counts twice. 2 of 4 2.1 It counts less. 1 of 4" in text


def test_each_lesson_has_a_part_of_its_own_and_no_results_make_an_empty_page() -> None:
    mixed = [*CLASS, result("Jun", PARTIAL, lesson="03_sequential_heads"), result("x.py", PARTIAL, lesson=None)]
    titles = re.findall(r"<h1>(.*?)</h1>", class_page(mixed, links(mixed)))
    assert titles == ["02 parallel drafting", "03 sequential heads", "all lessons"]
    assert Page(class_page([], [])).all("h1") == []


def test_the_class_page_links_to_every_report_and_nobody_is_named_in_another_ones(tmp_path: Path) -> None:
    index = write_pages(CLASS, tmp_path / "pages")
    targets = [a["href"] for a in Page(index.read_text()).all("a")]
    assert len(set(targets)) == 3 and {f.suffix for f in index.parent.rglob("*") if f.is_file()} == {".html"}
    for name, target in zip(("Ada", "Jun", "Bo"), targets):
        text = (index.parent / target).read_text()
        assert [who for who in ("Ada", "Jun", "Bo") if f"<bdi>{who}</bdi>" in text] == [name]
        assert "index.html" not in text


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "pages").write_text("")
    with pytest.raises(ExportError, match="cannot be made"):
        write_pages(CLASS, tmp_path / "pages")


# --- What cannot happen ------------------------------------------------------------------------------


def evil_pages() -> list[str]:
    bad = found(EVIL, False, EVIL, EVIL, EVIL, EVIL, EVIL)
    bad_task = task("2.1", 4, "partial", bad, bad, SKIPPED) | {"function": EVIL}
    results = [result(EVIL, bad_task), UNREADABLE | {"submission": EVIL, "reason": EVIL, "lesson": EVIL}]
    return [*map(student_page, results), class_page(results, links(results))]


@pytest.mark.parametrize("page", [*range(3)])
def test_a_learners_text_is_text_and_a_policy_allows_the_pages_own_style_alone(page: int) -> None:
    text = evil_pages()[page]
    read = Page(text)
    tags = {tag for tag, _ in read.elements}
    assert not tags & {"script", "img", "iframe", "object", "embed", "link", "base", "form", "a:href"}
    attributes = {name for _, found in read.elements for name in found}
    assert not [name for name in attributes if name.startswith("on")] and not attributes & {"style", "src"}
    assert "alert(1)" in read.text and "{{ 7 * 7 }}" in read.text
    assert "\x00" not in text and "\udcff" not in text
    style = text.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = next(a["content"] for a in read.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style and "@import" not in style and "prefers-color-scheme: dark" in style
    assert not re.search(r"(?:href|src|xlink:href)=\"(?!reports/|#)", text)


def test_pictures_have_words_and_tables_have_headings() -> None:
    for text in (student_page(CLASS[1]), class_page(CLASS, links(CLASS))):
        page = Page(text)
        assert all(svg.get("aria-label") or svg.get("aria-hidden") for svg in page.all("svg"))
        assert all(cell.get("scope") in ("col", "row") for cell in page.all("th")) and page.all("th")
        assert len(page.all("h1")) == 1 and page.all("html") == [{"lang": "en"}] and page.all("title")


NAMES = ["../../etc/passwd", "/abs", "CON", "", ".", "a\x00b", "a\nb", "é" * 300, "\udcff", "<b>", "a\\b", "％２e"]


def test_file_names_are_safe_whatever_a_student_is_called(tmp_path: Path) -> None:
    files = file_names(results := [result(name, PARTIAL) for name in (*NAMES, "x" * 999)])
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]{0,50}\.html", file) for file in files)
    write_pages(results, tmp_path)
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == sorted(["index.html", *files])


def test_file_names_tell_students_apart_and_stay_the_same_from_run_to_run() -> None:
    names = ["Ada", "ada", "ADA", "a-da", "Ada ", "Äda", "Ada", "Ada"]
    files = file_names([result(name) for name in names])
    assert len(set(files)) == len(names) and file_names([result("Ada")]) == files[:1]
    assert file_names([result("Ada", lesson="01_verification")]) != files[:1]


def test_nothing_of_a_hidden_case_is_in_any_page_or_export(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hidden_calls(rng: np.random.Generator) -> list[Call]:
        return [call([SECRET]), call([SECRET, 1])]

    @takes(numbers=integers("N"))
    def doubled(numbers: list[int]) -> list[int]:
        return [2 * n for n in numbers]

    def wrong_where_hidden(numbers: list[int]) -> list[int]:
        if SECRET in numbers:
            raise KeyError(f"{numbers}")
        return [2 * n for n in numbers]

    shown = values("x", 1)("X.", "X.", example([1], gives=[2]))
    hidden = Hidden(doubled, {"values": hidden_calls})
    core = (values("values", 3)("Doubled.", "Twice."), shown)
    built = Task("2.99", LESSON, doubled, "double", ("a", "b", "c"), "ints", core).with_hidden(hidden)
    checked = built.check(wrong_where_hidden, seed=1)
    assert 0 < checked.points < checked.max_points
    results = [result("Ada", checked.to_json())]
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    report_to_ci(results, print)
    write_pages(results, tmp_path)
    write_gradescope(results, tmp_path / "results.json")
    heading = "Identifier,Full name,Grade,Last modified (grade),Feedback comments"
    (tmp_path / "sheet.csv").write_text(f"{heading}\nParticipant 1,Ada,,-,\n")
    write_moodle(results, tmp_path / "sheet.csv", tmp_path / "out.csv")
    written = [file.read_text() for file in tmp_path.rglob("*") if file.is_file()]
    written.append(capsys.readouterr().out)
    assert len(written) == 7 and sum("Twice." in text for text in written) == 5  # all but the sheet and the class page
    assert not [text for text in written if str(SECRET) in text]


def test_the_pages_link_and_unfold_in_a_browser(open_page: Callable[[Path], Any], tmp_path: Path) -> None:
    page = open_page(write_pages(CLASS, tmp_path))
    page.get_by_role("link", name="Jun").click()
    assert page.locator("h1").inner_text() == "Jun"
    closed = page.locator("details:not([open]) > summary").first
    closed.focus()
    page.keyboard.press("Enter")
    assert page.locator("details[open] dl").is_visible()
