"""The learner's folder: lessons are copied into it, set aside, and never lost."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
HINTS_GIVEN = ".hints.json"


class UserError(Exception):
    """Something the user asked for cannot be done; the message is one sentence that says why."""


def lesson_names() -> list[str]:
    """Return the names of the lessons, in their order."""
    names = sorted(path.stem for path in NOTEBOOKS.glob("[0-9]*.ipynb"))
    if not names:
        raise UserError(
            f"There are no lessons in {NOTEBOOKS}; install dspark_mini from its folder with `pip install -e`."
        )
    return names


def find_lesson(text: str) -> str:
    """Return the name of the lesson that was meant: '2', '02', its name, or the path of a notebook of it."""
    wanted = Path(text).name.removesuffix(".ipynb")
    names = lesson_names()
    for name in names:
        if wanted == name or (wanted.isdecimal() and int(wanted) == int(name.split("_")[0])):
            return name
    raise UserError(f"There is no lesson {text!r}; the lessons are {', '.join(names)}.")


def copy_lessons(folder: Path) -> dict[str, bool]:
    """Copy every lesson that the folder does not have yet.

    Args:
        folder: the learner's folder; made if it is missing.

    Returns:
        lesson name → True where it was copied, False where the learner's own was there already.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(
            f"{folder} is a file, so the lessons cannot be copied there; name another folder with --folder."
        )
    folder.mkdir(parents=True, exist_ok=True)
    return {name: _copy_new(NOTEBOOKS / f"{name}.ipynb", folder / f"{name}.ipynb") for name in lesson_names()}


def reset_lesson(lesson: str, folder: Path) -> Path | None:
    """Replace a lesson by a fresh copy, after setting the learner's aside.

    Args:
        lesson: its name.
        folder: the learner's folder.

    Returns:
        Where the old notebook is now, or None where there was none.
    """
    folder.mkdir(parents=True, exist_ok=True)
    notebook, kept = folder / f"{lesson}.ipynb", None
    if os.path.lexists(notebook):
        number = next(n for n in range(1, 10_000) if not os.path.lexists(_kept(notebook, n)))
        kept = notebook.rename(_kept(notebook, number))
    _copy_new(NOTEBOOKS / f"{lesson}.ipynb", notebook)
    return kept


def count_hint(task: str, folder: Path) -> int:
    """Count one more hint for a task and return how many it makes; the count lies in the learner's folder."""
    path = folder / HINTS_GIVEN
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        count = int(given.get(task, 0)) + 1
    except (OSError, ValueError, AttributeError, TypeError):
        given, count = {}, 1
    if folder.is_dir():
        path.write_text(json.dumps(given | {task: count}), encoding="utf-8")
    return count


def _copy_new(source: Path, target: Path) -> bool:
    """Copy a file unless the target exists in any form, a dangling link included."""
    try:
        with open(source, "rb") as original, open(target, "xb") as copy:
            shutil.copyfileobj(original, copy)
    except FileExistsError:
        return False
    return True


def _kept(notebook: Path, number: int) -> Path:
    return notebook.with_name(f"{notebook.stem}.kept-{number}.ipynb")
