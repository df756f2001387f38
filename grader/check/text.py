"""Reports as text: the one place where results become sentences. A task here is an object of `grade --json`."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping
from typing import Any

from rich.cells import set_cell_size

from dspark_mini.language import N_, _

Task = Mapping[str, Any]
Property = Mapping[str, Any]

STATUS_WORDS = {
    "pass": N_("passes"),
    "partial": N_("in part"),
    "fail": N_("fails"),
    "error": N_("error"),
    "timeout": N_("too slow"),
    "missing": N_("not started"),
    "unreadable": N_("unreadable"),
    "ungraded": N_("not graded"),
}
# What the lines of a report begin with: labels are English in the data, and translated where they are shown.
LABELS = [
    *(
        N_("mistake"),
        N_("property"),
        N_("input"),
        N_("case"),
        N_("expected"),
        N_("got"),
        N_("measured"),
        N_("hint"),
        N_("note"),
    ),
    *(N_("also open"), N_("not looked at"), N_("found by"), N_("score"), N_("next")),
]


def as_number(value: float) -> str:
    """Write points without a needless fraction."""
    return str(int(value)) if value == int(value) else str(round(value, 2))


def printable(text: str) -> str:
    """Replace what a terminal would obey and not show, line breaks included."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def points_of(score: float, most: float) -> str:
    """Write points as a sentence."""
    return _("{points} of {most} points.", points=as_number(score), most=as_number(most))


def evidence(found: Property) -> list[tuple[str, str]]:
    """The lines that show why a property does not hold."""
    if found["skipped"]:
        return [("not looked at", found["skipped"])]
    return [(label, line) for label, line in found["evidence"]] or [("found by", _("a hidden case"))]


def message(found: Property) -> str:
    """Write a property that does not hold as sentences, with its evidence."""
    lines = (
        _("{label}: {line}.", label=_(label).capitalize(), line=line.rstrip(".。")) for label, line in evidence(found)
    )
    return " ".join([found["says"], *lines])


def failures(task: Task) -> list[Property]:
    """The properties that do not hold, the one to look at first in front: one with an input to follow by hand."""
    failed = [found for found in task["properties"] if not found["passed"] and not found["skipped"]]
    return sorted(failed, key=lambda found: (_rank(found) == 2, found["name"] != task["look_at"], _rank(found)))


def _rank(found: Property) -> int:
    """Rank evidence by what it teaches: a visible example, a new case of one's own notebook, nothing to see."""
    labels = [label for label, _ in found["evidence"]]
    return 2 if "input" not in labels else 1 if "case" in labels else 0


def function_name(task: Task) -> str:
    """Name a task's function, and say so where the notebook gives it: its points are not earned."""
    return _("{function} (given)", function=task["function"]) if task.get("given") else str(task["function"])


def title(task: Task) -> str:
    """One line for a list of tasks: its name and its points."""
    return f"TODO {task['task']} {function_name(task)}: {points_of(task['points'], task['max_points'])}"


def headline(task: Task) -> str:
    """One line for a report: whether the task passes, with how many properties and points."""
    if task["status"] == "missing":
        return _("TODO {task} is not started.", task=task["task"])
    properties = [found for found in task["properties"] if not found["skipped"]]
    held = sum(found["passed"] for found in properties)
    later = len(task["properties"]) - len(properties)
    more = _(" ({later} more are looked at after these)", later=later) if later else ""
    passes = N_("TODO {task} passes: {held} of {all} properties{more}, {points}")
    fails = N_("TODO {task} does not pass yet: {held} of {all} properties{more}, {points}")
    points = points_of(task["points"], task["max_points"])
    says = passes if task["status"] == "pass" else fails
    return _(says, task=task["task"], held=held, all=len(properties), more=more, points=points)


def rows(task: Task) -> list[tuple[str, str]]:
    """The lines below the headline: what to mend first, its evidence and hint, the other properties by name."""
    if task["status"] in ("pass", "missing"):
        return score_lines(task)
    if task["reason"]:
        return [("got", task["reason"])]
    first, *others = failures(task)
    mistake = [("mistake", task["diagnosis"])] if task["diagnosis"] else []
    found = [("property", f"{first['name']}: {first['says']}"), *evidence(first), ("hint", first["hint"])]
    lines = [*score_lines(task), *mistake, *found]
    return [*lines, *([("also open", ", ".join(other["name"] for other in others))] if others else [])]


def score_lines(task: Task) -> list[tuple[str, str]]:
    """The score of a task that has one (0 is plain decoding, 100 the reference), and a note where there is one."""
    note = [("note", task["note"])] if "note" in task else []
    if "score" not in task:
        return note
    by_machine = ", ".join(f"{_(name)} {score:.0f}" for name, score in task["scores"].items())
    score = _("{score:.1f}: {by_machine}; the reference has 100", score=task["score"], by_machine=by_machine)
    return [("score", score), *note]


def of_task(task: Task) -> str:
    """Write the report that a learner reads."""
    return "\n".join([headline(task), *(f"  {set_cell_size(_(label), 9)} {line}" for label, line in rows(task))])


def html_of_task(task: Task, reference: str = "") -> str:
    """Write the same report for a notebook, in the page's own colours, light or dark.

    Args:
        task: The task.
        reference: Source of the reference, to unfold below a task that passes.
    """
    passed, left = task["status"] == "pass", "text-align:left;vertical-align:top"
    cells = "".join(
        f"<tr><th style='{left};opacity:.7;font-weight:normal'>{html.escape(_(label))}</th>"
        f"<td style='{left};white-space:pre-wrap'>{html.escape(line)}</td></tr>"
        for label, line in rows(task)
    )
    folded = f"<pre>{html.escape(reference)}</pre></details>" if reference else ""
    summary = _("The reference, to compare with yours")
    folded = folded and f"<details><summary>{summary}</summary>{folded}"
    return (
        f"<div style='border-left:4px solid {'#2e8b57' if passed else '#d9534f'};padding:.2em .8em'>"
        f"<b>{'✓' if passed else '✗'} {html.escape(headline(task))}</b><table style='margin:0'>{cells}</table>{folded}"
        "</div>"
    )


def fix_first(task: Task) -> str:
    """Name what to fix first: the error that stopped the function, or a property; empty if nothing can be said yet."""
    if task["status"] in ("pass", "missing"):
        return ""
    return str(task["reason"] or failures(task)[0]["name"])


def to_mend(task: Task) -> list[str]:
    """Say in a few lines what to mend in a task that does not pass."""
    if task["status"] == "pass":
        return []
    if task["reason"]:
        return [task["reason"]]
    first, *others = failures(task)
    mistake = [task["diagnosis"]] if task["diagnosis"] else []
    lines = [*mistake, f"{first['name']}: {first['message']}", _("Hint: {hint}", hint=first["hint"])]
    names = ", ".join(other["name"] for other in others)
    return [*lines, *([_("Also open: {names}.", names=names)] if others else [])]


def all_of_task(task: Task, width: int) -> str:
    """Write what a task got and, for each property that does not hold, why and what to try, folded to a width."""
    if task["status"] == "missing":
        missing = N_("TODO {task} is not started: {function} is missing, or still the stub.")
        return _(missing, task=task["task"], function=task["function"])

    def folded(line: str, columns: int) -> str:
        return textwrap.fill(line, width, initial_indent=" " * columns, subsequent_indent=" " * columns)

    lines = [f"TODO {task['task']}, {function_name(task)}: {points_of(task['points'], task['max_points'])}"]
    if held := [found["name"] for found in task["properties"] if found["passed"]]:
        lines.append(folded(_("holds: {names}", names=", ".join(held)), 2))
    if task["diagnosis"]:
        lines.append(folded(task["diagnosis"], 2))
    for found in task["properties"]:
        if not found["passed"]:
            hint = _("Hint: {hint}", hint=found["hint"])
            lines += ["  " + _("fails: {name}", name=found["name"]), folded(found["message"], 4), folded(hint, 4)]
    return "\n".join(lines)
