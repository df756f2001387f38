"""What is given is named in every table, so that nobody takes its points for earned."""

from rich.console import Console

from dspark_mini.records import build_draft_record
from grader.account import account_of
from grader.check.text import title
from grader.command import _table
from grader.export.pages import class_page, student_page
from grader.lessons.checks import TASKS


def test_a_given_task_is_called_given_in_every_table() -> None:
    report = TASKS["record"].check(build_draft_record)
    task = report.to_json()
    most = task["max_points"]
    result = {"submission": "ann", "lesson": "02_parallel_drafting", "score": most, "max_score": most}
    result |= {"status": "pass", "tasks": [task]}
    assert task["given"] and "(given)" in title(task)
    assert f"Given, not earned: record, {most} points.\n1 graded." == account_of([result], [])
    for page in (student_page(result), class_page([result], ["a.html"])):
        assert "build_draft_record</code> (given)" in page
    console = Console(width=200)
    with console.capture() as captured:
        console.print(_table([report]))
    assert "build_draft_record (given)" in captured.get()
    assert [task.id for task in TASKS.values() if task.given] == ["record"]
