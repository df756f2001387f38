"""The last lines of a grading: how many were graded, and what became of everything else that was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

STATUSES = {"unreadable": "unreadable", "ungraded": "not graded"}  # without a score of their own

PassedOver = list[tuple[str, str]]  # a path, and why it is not looked at


def account_of(results: Sequence[Mapping[str, Any]], passed_over: PassedOver) -> str:
    """Write how many were graded, unreadable and not looked at, each of the last with its reason, and what was given.

    Args:
        results: objects of the list that `dspark-mini grade --json` writes.
        passed_over: what is not part of a submission.
    """
    counts = Counter(STATUSES.get(result["status"], "graded") for result in results)
    words = [f"{counts['graded']} graded", *(f"{counts[word]} {word}" for word in STATUSES.values() if counts[word])]
    given = {(t["task"], t["max_points"]) for r in results for t in r["tasks"] if t.get("given") and t["points"]}
    lines = [f"Given, not earned: {task}, {points} points." for task, points in sorted(given)]
    if not passed_over:
        return "\n".join([*lines, f"{', '.join(words)}."])
    lines.append(f"{', '.join(words)}, {len(passed_over)} not looked at:")
    return "\n".join([*lines, *(f"  {path}: {why}" for path, why in sorted(passed_over))])


def what_to_repeat(results: Sequence[Mapping[str, Any]], unrecorded: Sequence[str], again: str) -> str:
    """Name those whose grade is missing through no fault of theirs, and the command that makes up for it."""
    ungraded = [result["submission"] for result in results if result["status"] == "ungraded"]
    kinds = {"graded": ungraded, "recorded in the gradebook": unrecorded}
    lines = [f"Not {kind}, through no fault of theirs: {', '.join(names)}." for kind, names in kinds.items() if names]
    return "\n".join([*lines, f"No score was written for them. Type: {again}"]) if lines else ""
