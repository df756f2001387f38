"""The learner's directory: lessons are copied there and never overwritten."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dspark_mini.language import ENGLISH, LANGUAGES, N_, _, current, language_of

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = ROOT / "notebooks"
WORK = Path("work")  # the learner's directory, where no other is named
LESSONS_VARIABLE = "DSPARK_MINI_LESSONS"  # names the directory with lessons kept outside the kit
HINT_COUNTS, NOTEBOOK_CHECKS = ".hints.json", ".checks.json"


class UserError(Exception):
    """A request cannot be carried out; the message says why, in one sentence for the user."""


def lesson_names() -> list[str]:
    """Return the names of the lessons in course order."""
    own = (path.stem for path in own_files("*.ipynb") if path.stem == path.parent.name)
    names = sorted([*(path.stem for path in NOTEBOOKS.glob("[0-9]*.ipynb")), *own])
    if not names:
        raise UserError(
            _(
                "There are no lessons in {folder}; install dspark_mini from its repository with `pip install -e`.",
                folder=NOTEBOOKS,
            )
        )
    return names


def find_lesson(text: str) -> str:
    """Return the lesson that a user means by '2', '02', its name, or the path of its notebook."""
    wanted = Path(text).name.removesuffix(".ipynb")
    names = lesson_names()
    for name in names:
        if wanted == name or (wanted.isdecimal() and int(wanted) == int(name.split("_")[0])):
            return name
    near = get_close_matches(wanted, names, 1)
    nearest, all_of_them = N_("the nearest is {near}."), N_("the lessons are {first} to {last}.")
    known = _(nearest, near=near[0]) if near else _(all_of_them, first=names[0], last=names[-1])
    raise UserError(_("There is no lesson {text!r}; {known}", text=text, known=known))


def handed_out(lesson: str, language: str = ENGLISH) -> Path:
    """Return the notebook of a lesson as learners get it; in English where it is not translated."""
    translated = NOTEBOOKS / language / f"{lesson}.ipynb"
    return translated if translated.is_file() else (own_folder(lesson) or NOTEBOOKS) / f"{lesson}.ipynb"


def lesson_language(lesson: str, folder: Path) -> str | None:
    """Return the language of a lesson in a learner's directory; None if it is not there."""
    notebook = folder / f"{lesson}.ipynb"
    return language_of(notebook) or ENGLISH if notebook.is_file() else None


def folder_language(folder: Path) -> str | None:
    """Return the language of the first lesson in a learner's directory; None if there is none."""
    return next(filter(None, (lesson_language(name, folder) for name in lesson_names())), None)


def own_folder(lesson: str) -> Path | None:
    """Return the directory of a lesson kept outside the kit; None for one of the kit's."""
    folder = own_lessons() / lesson
    return folder if folder.is_dir() else None


def own_files(pattern: str) -> list[Path]:
    """Find files in the directories of the lessons kept outside the kit."""
    return sorted(own_lessons().glob(f"[0-9]*/{pattern}"))


def own_lessons() -> Path:
    """Return the directory with lessons kept outside the kit: the one in the variable, or lessons/ beside the kit.

    Raises:
        UserError: The variable names no directory.
    """
    named = os.environ.get(LESSONS_VARIABLE)
    if named and not Path(named).is_dir():
        raise UserError(
            _(
                "There is no directory {named}, which --lessons or {variable} names.",
                named=named,
                variable=LESSONS_VARIABLE,
            )
        )
    return Path(named).resolve() if named else ROOT / "lessons"


def take_lessons_option(words: list[str]) -> None:
    """Move `--lessons DIR` from a command into the variable, which kernels and workers inherit.

    Args:
        words: The command; the option may stand anywhere after the first word.
    """
    for at, word in enumerate(words):
        if word == "--lessons" and at + 1 < len(words):
            os.environ[LESSONS_VARIABLE] = words[at + 1]
            del words[at : at + 2]
            break
    if os.environ.get(LESSONS_VARIABLE):
        os.environ[LESSONS_VARIABLE] = os.path.abspath(os.environ[LESSONS_VARIABLE])


def work_folder(folder: Path) -> Path:
    """Return the learner's directory: the one named, or the current one if it holds no work/ but lessons."""
    here = Path()
    inside = folder == WORK and not folder.exists() and here.resolve() != NOTEBOOKS and holds_lessons(here)
    return here if inside else folder


def holds_lessons(folder: Path) -> bool:
    """Tell whether a directory holds the notebook of a lesson."""
    return any((folder / f"{name}.ipynb").is_file() for name in lesson_names())


def copy_lessons(folder: Path, language: str = ENGLISH) -> dict[str, bool]:
    """Copy every lesson that is not in the learner's directory yet.

    Args:
        folder: The learner's directory; it is created if missing.
        language: Language of the copies.

    Returns:
        For each lesson, True if it was copied and False if the learner already had it.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(
            _("{folder} is a file, so no lessons can be copied there; choose a directory with --folder.", folder=folder)
        )
    with _file_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        return {name: _copy_new(handed_out(name, language), folder / f"{name}.ipynb") for name in lesson_names()}


def is_fresh(notebook: Path, lesson: str) -> bool:
    """Tell whether a learner's notebook is as it was handed out."""
    return any(notebook.read_bytes() == handed_out(lesson, language).read_bytes() for language in LANGUAGES)


def reset_lesson(lesson: str, folder: Path) -> Path | None:
    """Replace a lesson by a fresh copy in the same language, after renaming the learner's notebook.

    Args:
        lesson: Name of the lesson.
        folder: The learner's directory.

    Returns:
        The new path of the learner's notebook, or None if there was none.
    """
    notebook, kept = folder / f"{lesson}.ipynb", None
    language = lesson_language(lesson, folder) or current()
    with _file_errors(notebook):
        folder.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(notebook):
            number = next(n for n in range(1, 10_000) if not os.path.lexists(_kept(notebook, n)))
            kept = notebook.rename(_kept(notebook, number))
        _copy_new(handed_out(lesson, language), notebook)
    return kept


def hints_shown(task: str, folder: Path) -> int:
    """Return how many hints for a task have been shown in the learner's directory."""
    count: int = _number(_state(folder / HINT_COUNTS).get(task))
    return count


def count_hint(task: str, folder: Path) -> int:
    """Count one more hint for a task and return the count; counts are kept in the learner's directory."""
    count = hints_shown(task, folder) + 1
    _add_state(folder / HINT_COUNTS, task, count)
    return count


def record_check(task: str, status: str, points: float, folder: Path) -> None:
    """Remember what a check in a notebook found; only in a directory with notebooks."""
    if any(folder.glob("*.ipynb")):
        _add_state(folder / NOTEBOOK_CHECKS, task, [status, points, time.time()])


def recorded_checks(folder: Path) -> dict[str, tuple[str, float, float]]:
    """Return what the latest checks in notebooks found: by task the status, the points and the time."""
    checks = _state(folder / NOTEBOOK_CHECKS)
    return {
        task: (str(check[0]), _number(check[1]), _number(check[2]))
        for task, check in checks.items()
        if isinstance(check, list) and len(check) == 3
    }


def _state(path: Path) -> dict[str, Any]:
    """Read what is remembered in a learner's directory; whatever else stands there counts as nothing."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _add_state(path: Path, key: str, value: Any) -> None:
    """Remember one more thing, unless the folder is missing or cannot be written."""
    with contextlib.suppress(OSError):
        path.write_text(json.dumps(_state(path) | {key: value}), encoding="utf-8")


def _number(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else 0


@contextlib.contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    """Turn an error of the system into a UserError; on Windows, a file that a program has open cannot be renamed."""
    try:
        yield
    except OSError as error:
        advice = _(" Close it in other programs.") if isinstance(error, PermissionError) else ""
        raise UserError(
            _("{path} cannot be written: {why}.{advice}", path=path, why=error.strerror, advice=advice)
        ) from error


def _copy_new(source: Path, target: Path) -> bool:
    """Copy a file unless the target exists, even as a dangling symlink."""
    try:
        with open(source, "rb") as original, open(target, "xb") as copy:
            shutil.copyfileobj(original, copy)
    except FileExistsError:
        return False
    return True


def _kept(notebook: Path, number: int) -> Path:
    return notebook.with_name(f"{notebook.stem}.kept-{number}.ipynb")
