"""The page of alike submissions: pairs and clusters per lesson, and the code of each pair side by side."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from grader.export.pages import render
from grader.export.rosters import Result, write_whole
from grader.lessons.checks import TASKS
from grader.read.cells import Unreadable, originals_of, read_cells
from grader.read.submissions import plain_text, tasks_of
from grader.run.grading import UNREADABLE
from grader.similarity.chance import EXPECTED, LEAST, Pair, alike_pairs, clusters
from grader.similarity.fingerprints import Code, fingerprint_all, statement_prints

SHOWN = 100  # pairs of a lesson whose code is shown; others stand in the table only
RARE = 0.1  # of the class; what fewer have is marked


@dataclass(frozen=True)
class Member:
    """A submission in the comparison of one lesson: its result, and its code by task."""

    result: Result
    codes: dict[str, Code]


def write_similarity(results: Sequence[Result], files: Sequence[Path], page: Path) -> str:
    """Compare the submissions and write the page.

    Args:
        results: objects of the list that `dspark-mini grade --json` writes.
        files: the submitted files, in the same order.
        page: the page to write.

    Returns:
        A line for the user.

    Raises:
        ExportError: the page cannot be written.
    """
    members, left_out = _members(results, files)
    lessons = [_lesson(name, found) for name, found in sorted(members.items())]
    write_whole(page, render("similarity.html", {"lessons": lessons, "left_out": left_out, "limit": EXPECTED}))
    count = sum(len(lesson["pairs"]) for lesson in lessons)
    return f"{page}: {count} {'pair' if count == 1 else 'pairs'} to look at."


def _members(results: Sequence[Result], files: Sequence[Path]) -> tuple[dict[str, list[Member]], list[str]]:
    """Read the code of all submissions; also name those that cannot be compared."""
    sources = [_sources(result, file) for result, file in zip(results, files, strict=True)]
    functions = [[task["function"] for task in result["tasks"]] for result in results]
    found = fingerprint_all([(cells, names) for cells, names in zip(sources, functions)])
    members: dict[str, list[Member]] = {}
    left_out = []
    for result, codes in zip(results, found):
        by_lesson: dict[str, dict[str, Code]] = {}
        for task in (task for task in result["tasks"] if task["function"] in (codes or {})):
            one = TASKS[task["task"]]
            prints = {hash_ for hash_, _, _ in codes[one.function].prints}  # type: ignore[index]
            if prints - _given(one.lesson):
                by_lesson.setdefault(one.lesson, {})[one.id] = codes[one.function]  # type: ignore[index]
        left_out += [] if by_lesson else [result["submission"]]
        for lesson, own in by_lesson.items():
            members.setdefault(lesson, []).append(Member(result, own))
    return members, left_out


def _sources(result: Result, file: Path) -> list[str]:
    """Return the code of a submission's cells, none where it cannot be read."""
    if result["status"] == UNREADABLE:
        return []
    try:
        text = plain_text(file)
        return [text] if file.suffix == ".py" else [cell.source for cell in read_cells(text)]
    except Unreadable:
        return []


@cache
def _given(lesson: str) -> AbstractSet[int]:
    """The fingerprints of the lesson as it is handed out."""
    sources = [original.source for original in originals_of(lesson).values()]
    return {hash_ for source in sources for hash_, _, _ in statement_prints(ast.parse(source).body)}


def _lesson(name: str, members: list[Member]) -> dict[str, Any]:
    """What the page says of one lesson."""
    prints = [{task: {p[0] for p in code.prints} for task, code in one.codes.items()} for one in members]
    reference = {
        task.id: {p[0] for p in statement_prints(ast.parse(task.reference_source).body)} for task in tasks_of(name)
    }
    pairs, closest = alike_pairs(prints, _given(name), reference)
    holders = {task: Counter(h for one in prints for h in one.get(task, ())) for task in reference}
    names = [one.result["submission"] for one in members]
    groups = [[names[at] for at in group] for group in clusters(pairs) if len(group) > 2]
    return {
        "name": name.replace("_", " "),
        "count": len(members),
        "known": len(members) >= LEAST,
        "closest": closest,
        "pairs": [_pair(pair, members, reference, holders) for pair in pairs],
        "clusters": groups,
        "shown": SHOWN,
    }


def _pair(
    pair: Pair, members: list[Member], reference: dict[str, set[int]], holders: dict[str, Counter[int]]
) -> dict[str, Any]:
    first, second = members[pair.first], members[pair.second]
    tasks = []
    for task, (likeness, others) in pair.tasks.items():
        codes = [one.codes[task] for one in (first, second)]
        shared = {p[0] for p in codes[0].prints} & {p[0] for p in codes[1].prints} - _given(TASKS[task].lesson)
        rare = {h for h in shared - reference[task] if holders[task][h] <= max(2, RARE * len(members))}
        tasks.append(
            {
                "task": task,
                "function": TASKS[task].function,
                "likeness": likeness,
                "others": others,
                "as_reference": not shared - reference[task],
                "sides": [_marked(code, shared, rare) for code in codes],
                "points": [_points(one.result, task) for one in (first, second)],
            }
        )
    names = [one.result["submission"] for one in (first, second)]
    return {"names": names, "likeness": pair.likeness, "expected": pair.expected, "tasks": tasks}


def _marked(code: Code, shared: set[int], rare: set[int]) -> list[tuple[str, str]]:
    """Return the lines of a function, each with its mark: rare, common or none."""
    places = {
        kind: {line for h, first, last in code.prints if h in kept for line in range(first, last + 1)}
        for kind, kept in (("rare", rare), ("common", shared))
    }
    return [(line, next((kind for kind in places if at in places[kind]), "")) for at, line in enumerate(code.lines)]


def _points(result: Result, task: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in result["tasks"] if one["task"] == task)
    return found
