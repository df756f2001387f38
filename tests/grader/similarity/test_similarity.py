"""Similarity: copies in disguise are found among independent solutions, chance is not, and no file stops it."""

import ast
import inspect
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.export.outputs import write_outputs
from grader.grade_options import GradeOptions
from grader.lessons.mutants import all_variants
from grader.read.submissions import tasks_of
from grader.similarity.chance import LEAST
from grader.similarity.fingerprints import fingerprint_all

LESSON = "02_parallel_drafting"
TASKS = [task for task in tasks_of(LESSON) if task.id != "record"]  # the record is given
VARIANTS = list(all_variants())
EVIL = "<script>alert(1)</script>\u202e"
Class = list[dict[str, str]]


def stored(tree: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def renamed(source: str) -> str:
    tree = ast.parse(source)
    names = {name: f"my_{at}" for at, name in enumerate(sorted(stored(tree)))}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return ast.unparse(tree)


def reordered(source: str) -> str:
    """Swap neighbours that do not need each other, and the operands of sums and products."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult):
            node.left, node.right = node.right, node.left
        body = getattr(node, "body", None)
        for at in range(len(body) - 1 if isinstance(body, list) else 0):
            pair = body[at : at + 2]
            used = [{n.id for n in ast.walk(one) if isinstance(n, ast.Name)} for one in pair]
            if all(isinstance(one, ast.Assign) for one in pair) and not (
                stored(pair[0]) & used[1] or stored(pair[1]) & used[0]
            ):
                body[at : at + 2] = pair[::-1]
    return ast.unparse(tree)


def reformatted(source: str) -> str:
    return ast.unparse(ast.parse(source)).replace("    ", "  ")


def commented(source: str) -> str:
    lines = ast.unparse(ast.parse(source)).splitlines()
    return "\n".join(f"{line}  # note {at}" if line.endswith(")") else line for at, line in enumerate(lines))


def split(source: str) -> str:
    """Move the second half of a function into a helper."""
    tree = ast.parse(source)
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    body = function.body[1 if ast.get_docstring(function) else 0 :]
    kept, moved = body[: len(body) // 2], body[len(body) // 2 :]
    own = stored(function) | {one.arg for one in function.args.args}
    names = sorted({n.id for one in moved for n in ast.walk(one) if isinstance(n, ast.Name)} & own)
    call = f"rest_{function.name}({', '.join(names)})"
    function.body = [*kept, *ast.parse(f"return {call}").body]
    lines = [f"    {line}" for one in moved for line in ast.unparse(one).splitlines()]
    return "\n".join([f"def {call}:", *lines, "", ast.unparse(tree)])


DISGUISES: list[Callable[[str], str]] = [renamed, reordered, reformatted, commented, split]


def independent(count: int, wrong: float, rng: random.Random) -> Class:
    """A class whose members take one variant per task, right or wrong, each by themselves, and no two the same."""
    right = {task.id: [inspect.getsource(task.reference)] for task in TASKS}
    mistaken: dict[str, list[str]] = {task.id: [] for task in TASKS}
    for variant in VARIANTS:
        if variant.task in right and variant.source:
            (mistaken if variant.caught_by else right)[variant.task].append(variant.source)
    members: dict[tuple[str, ...], dict[str, str]] = {}
    while len(members) < count:
        one = {task.id: rng.choice((mistaken if rng.random() < wrong else right)[task.id]) for task in TASKS}
        members[tuple(one.values())] = one
    return list(members.values())


def report(folder: Path, members: Class, **more: str) -> tuple[str, str]:
    """Write the class's notebooks, compare them, and return what is said and the page."""
    files, results = [], []
    for at, cells in enumerate(members):
        files.append(folder / f"s{at:03}.ipynb")
        code = [{"cell_type": "code", "source": source} for source in cells.values()]
        files[-1].write_text(json.dumps({"cells": code}), encoding="utf-8")
    for name, text in more.items():
        files.append(folder / f"{name}.ipynb")
        files[-1].write_text(text, encoding="utf-8")
    tasks = [{"task": task.id, "function": task.function, "points": 1, "max_points": 9} for task in tasks_of(LESSON)]
    for file in files:
        base: dict[str, Any] = {"submission": file.stem, "lesson": LESSON, "score": 1, "max_score": 9}
        results.append(base | {"status": "partial", "tasks": tasks})
    said: list[str] = []
    write_outputs(results, files, GradeOptions(similarity=folder / "alike.html"), said.append, [])
    return said[0], (folder / "alike.html").read_text(encoding="utf-8")


def test_ten_copies_in_five_disguises_are_found_among_100_and_nothing_else(tmp_path: Path) -> None:
    rng = random.Random(1)
    members = independent(100, 0.3, rng)
    at = rng.sample(range(100), 20)
    planted = [sorted(pair) for pair in zip(at[::2], at[1::2])]
    for number, (source, copy) in enumerate(planted):
        disguise = DISGUISES[number % len(DISGUISES)]
        cells = [(task, disguise(text)) for task, text in members[source].items()]
        members[copy] = dict(reversed(cells) if disguise is reordered else cells)
    said, page = report(tmp_path, members)
    assert "10 pairs" in said
    for first, second in planted:
        assert f"<bdi>s{first:03}</bdi><br><bdi>s{second:03}</bdi>" in page


def test_neither_independent_right_solutions_nor_what_everybody_wrote_is_a_pair(tmp_path: Path) -> None:
    said, page = report(tmp_path, independent(100, 0.0, random.Random(0)))
    assert "0 pairs" in said and "that chance would give" in page
    said, _ = report(tmp_path, independent(1, 0.0, random.Random(0)) * 30)
    assert "0 pairs" in said


def test_of_few_submissions_chance_is_said_to_be_unknown(tmp_path: Path) -> None:
    members = independent(LEAST - 2, 0.0, random.Random(0))
    said, page = report(tmp_path, [*members, {task: split(renamed(text)) for task, text in members[0].items()}])
    assert "1 pair " in said and "chance cannot be estimated" in page and "unknown" in page


def test_the_page_shows_pairs_side_by_side_in_a_browser(open_page: Callable[[Path], Any], tmp_path: Path) -> None:
    members = independent(LEAST, 0.3, random.Random(0))
    report(tmp_path, [*members, members[0]])
    page = open_page(tmp_path / "alike.html")
    page.locator("tbody a").first.click()
    assert page.locator(".pair .code").first.is_visible()


def test_hostile_and_broken_files_stop_nothing_and_do_nothing_on_the_page(tmp_path: Path) -> None:
    function = TASKS[0].function
    own = {TASKS[0].id: f"def {function}(x):\n    return open('/{EVIL}').read(), '{EVIL}'", EVIL: "%matplotlib\nx = ("}
    said, page = report(tmp_path, [own] * 2, no_json="[", binary="\x00")
    assert "1 pair " in said and "no_json" in page and "binary" in page and "<script" not in page
    hostile = [
        "-" * 150_000 + "1",
        "(" * 150_000,
        "f(" + "[" * 90 + "]" * 90,
        "x = " + "+".join("1" * 60_000),
        "a" * 10**6,
    ]
    bombs = [f"def {function}(x):\n    return {text}" for text in [*hostile, "\udcff"]]
    *_, last = fingerprint_all([*(([text], [function]) for text in bombs), ([own[TASKS[0].id]], [function])])
    assert last is not None and last[function].prints
