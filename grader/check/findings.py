"""Reading a result: which property to show first, and what its message is made of."""

from __future__ import annotations

import re
from typing import Any

MESSAGE = re.compile(
    r"(?s)(?P<says>.*?)(?: Found by: (?P<found_by>.*?))?"
    r"(?: Input: (?P<input>.*?))?(?: Expected: (?P<expected>.*?))?(?: Got: (?P<got>.*))?"
)
STATUS_WORDS = {
    "pass": "passes",
    "partial": "in part",
    "fail": "fails",
    "error": "error",
    "timeout": "too slow",
    "missing": "not started",
    "unreadable": "unreadable",
}


def message_parts(message: str) -> tuple[str, list[tuple[str, str]]]:
    """Split a message into what the property says and the lines of evidence, such as ("expected", "[0, 1].")."""
    match = MESSAGE.fullmatch(message)
    assert match is not None  # every text matches
    parts = match.groupdict()
    says = parts.pop("says")
    return says, [(label.replace("_", " "), text) for label, text in parts.items() if text is not None]


def was_skipped(found: dict[str, Any]) -> bool:
    """Tell whether a property was not looked at, because something before it did not hold."""
    parts = message_parts(found["message"])[1]
    is_alone = [label for label, _ in parts] == ["got"]
    return not found["passed"] and is_alone and parts[0][1].startswith("not looked at, because ")


def first_open(task: dict[str, Any]) -> dict[str, Any] | None:
    """Return the property to look at next: one with a visible input before others, None where all of them hold."""
    failed = [found for found in task["properties"] if not found["passed"]]
    seen = (found for found in failed if " Input: " in found["message"])
    return next(seen, failed[0] if failed else None)


def as_number(value: float) -> str:
    """Write points without a needless fraction."""
    return str(int(value)) if value == int(value) else str(round(value, 2))


def points_of(score: float, most: float) -> str:
    """Write points as a sentence."""
    return f"{as_number(score)} of {as_number(most)} points."


def headline(task: dict[str, Any]) -> str:
    """Write one line of a task: its name and its points."""
    return f"TODO {task['task']} {task['function']}: {points_of(task['points'], task['max_points'])}"


def reason_not_run(task: dict[str, Any]) -> str:
    """Say why a task's function could not be called at all, such as "TODO 2.5 is not started: …"; else nothing."""
    messages = [message_parts(found["message"])[1] for found in task["properties"]]
    same = bool(messages) and all(lines == messages[0] for lines in messages)
    return messages[0][0][1] if same and [label for label, _ in messages[0]] == ["got"] else ""


def to_mend(task: dict[str, Any]) -> list[str]:
    """The lines to show of a task that does not pass: the property to look at first, its hint, the others by name."""
    found = first_open(task)
    if found is None:
        return []
    reason = reason_not_run(task)
    if reason:
        return [reason]
    others = [other["name"] for other in task["properties"] if not other["passed"] and other is not found]
    lines = [f"{found['name']}: {found['message']}", f"Hint: {found['hint']}"]
    return [*lines, *([f"Also open: {', '.join(others)}."] if others else [])]
