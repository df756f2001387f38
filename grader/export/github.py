"""A step of a workflow on GitHub: points, annotations and a summary, in which whatever a learner wrote is data."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Iterator

from grader.check.text import STATUS_WORDS, as_number, function_name, title, to_mend
from grader.export.rosters import ExportError, Result

SUMMARY_BYTES = 900_000  # GitHub refuses a summary of more than a MiB


def report_to_ci(results: list[Result], say: Callable[[str], None], min_score: float = 0) -> bool:
    """Report to a workflow of GitHub: an annotation per open task, a line `Points 12/20`, a summary.

    Nothing else should be printed in that step about a submission: a line that begins with two colons is a command.

    Args:
        results: the results of a repository's submissions, usually one.
        say: called with each line; print does it.
        min_score: the points that each submission must reach.

    Returns:
        Whether every submission could be read and has reached its points.

    Raises:
        ExportError: the file named by GITHUB_STEP_SUMMARY cannot be written.
    """
    scored = [result for result in results if result["score"] is not None]
    score, most = (sum(result[key] for result in scored) for key in ("score", "max_score"))
    points = f"Points {as_number(score)}/{as_number(most)}"
    # What GitHub Classroom takes the points from, as its own reporter prints it; first, since GitHub keeps ten notices.
    say(f"::notice title=Autograding complete::{points}")
    say(f"::notice title=Autograding report::{json.dumps({'totalPoints': score, 'maxPoints': most})}")
    for result in results:
        for line in _annotations(result):
            say(line)
    too_low = [result for result in scored if result["score"] < min_score]
    if too_low:
        who = f"{len(too_low)} of {len(results)} submissions have" if len(results) > 1 else "The submission has"
        say(f"::error title=Below the threshold::{who} fewer than the {as_number(min_score)} points that are needed.")
    say(points)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        try:
            with open(summary, "ab") as file:
                file.write(_summary(results).encode("utf-8", "replace"))
        except OSError as error:
            raise ExportError(f"The summary {summary} cannot be written: {error.strerror}.") from None
    return not too_low and not any(result.get("reason") for result in results)


def _annotations(result: Result) -> Iterator[str]:
    """One command per task that does not pass; line breaks and the signs of commands are escaped as GitHub asks."""
    file = result["submission"]
    where = f"file={_property(file)}," if os.path.isfile(file) else ""
    if result.get("reason"):
        yield f"::error {where}title=Not graded::{_data(result['reason'])}"
    for note in result.get("notes", ()):
        yield f"::warning {where}title=Note::{_data(note)}"
    for task in result["tasks"]:
        if task["status"] != "pass":
            level = "notice" if task["status"] == "missing" else "error"
            yield f"::{level} {where}title={_property(title(task))}::{_data(chr(10).join(to_mend(task)))}"


def _data(text: str) -> str:
    text = text.encode("utf-8", "replace").decode()  # a name of a file may hold what UTF-8 cannot encode
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _summary(results: list[Result]) -> str:
    """A table in HTML on one line, since within it nothing is read as Markdown."""
    head = "".join(f"<th>{text}</th>" for text in ("submission", "task", "points", "status", "fix first"))
    rows, size = [], 0
    for row in (row for result in results for row in _summary_rows(result)):
        size += len(row.encode("utf-8", "replace"))
        if size > SUMMARY_BYTES:
            rows.append("<tr><td>The rest is too long to be shown here.</td></tr>")
            break
        rows.append(row)
    return f"<table><tr>{head}</tr>{''.join(rows)}</table>\n\n"


def _summary_rows(result: Result) -> Iterator[str]:
    said = " ".join(filter(None, (result.get("reason", ""), *result.get("notes", ()))))
    if said or not result["tasks"]:
        yield _row(result["submission"], "", result["score"], result["max_score"], result["status"], said)
    for task in result["tasks"]:
        name = f"TODO {task['task']} {function_name(task)}"
        mend = " ".join(to_mend(task))
        yield _row(result["submission"], name, task["points"], task["max_points"], task["status"], mend)


def _row(submission: str, task: str, score: float | None, most: float, status: str, mend: str) -> str:
    points = f"{as_number(score)}/{as_number(most)}" if score is not None else ""
    texts = (submission, task, points, STATUS_WORDS[status], mend)
    return f"<tr>{''.join(f'<td>{html.escape(chr(32).join(text.split()))}</td>' for text in texts)}</tr>"
