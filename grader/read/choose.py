"""Choosing submissions: which files are graded, the name of each, and why the others are not looked at.

A submission is one notebook of one student, or a .py file. In folders and in zips alike, a student is known by

    <student>/<assignment>/<assignment>.ipynb               the student's folder (nbgrader)
    <student>/lesson.ipynb                                  the student's folder
    <student>.ipynb, anything.py                            the file's stem; the whole name of a .py file
    name_12345_67890_lesson.ipynb                           name_12345, with the user's id (Canvas)
    Full Name_12345_assignsubmission_file_/lesson.ipynb     Full Name_12345, with the participant's id (Moodle)

A zip of one student is read like a file of theirs: `<student>.zip`, `name_12345_67890_work.zip`. Where a student has a
notebook, .py files beside it are not graded; of several notebooks that an LMS has from one student, the latest of each
lesson is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from grader.read.archive import Parts
from grader.read.submissions import SUFFIXES, lessons

NOTEBOOK, ZIP = ".ipynb", ".zip"
# Folders that programs make for themselves; any other folder whose name begins with a dot is read.
TOOLS = {"__MACOSX", "__pycache__", ".ipynb_checkpoints", ".git", ".venv", ".vscode", ".idea", ".mypy_cache"}
TOOLS |= {".ruff_cache", ".pytest_cache", ".cache", ".config", ".local", ".jupyter", ".ipython"}
CANVAS = re.compile(r"(?P<student>.+?)(_LATE)?_(?P<id>\d+)_\d+_(?P<name>.+)", re.S)
MOODLE = re.compile(r"(?P<student>.+)_(?P<id>\d+)_assignsubmission_file_?", re.S)
AGAIN = re.compile(r"(-\d+| ?\(\d+\))$")  # what Canvas or a browser adds to the name of a file that it has already
ENDING = re.compile(r"\.(ipynb|py|zip)$", re.I)
NOTHING = "There is no notebook among the files that were handed in."
ZIPPED = " A zip in a student's zip is not opened."
LATEST = "Of the notebooks handed in, {} is graded: the lesson that was saved last."

PassOver = Callable[[str, str], None]  # called with a path and why it is not looked at
Facts = Callable[[Parts], tuple[str, float]]  # a notebook's lesson, empty if unknown, and when it was saved


@dataclass(frozen=True)
class Found:
    """A submission: its name, its file's path, its student's place and, if it cannot be graded, why."""

    name: str
    parts: Parts
    owner: Parts
    unreadable: str = ""
    note: str = ""  # what its student should know


@dataclass(frozen=True)
class Unit:
    """What belongs together: the work of one student, or a single file."""

    student: str
    folder: Parts
    kind: str  # "assignment", "lms", "folder", "zip" or "file"

    @property
    def owner(self) -> Parts:
        """The student's place: the folders above, but for a lesson's, and the student; nothing where all is theirs."""
        if self.kind == "assignment" and len(self.folder) == 1:
            return ()
        above = self.folder[:-2] if self.kind == "assignment" else self.folder[:-1]
        return (*(above[1:] if above[:1] and above[0] in lessons() else above), self.student)


def choose(
    files: Collection[Parts],
    folders: Collection[Parts] = (),
    given: str = "",
    zips: Collection[Parts] = (),
    facts: Facts = lambda file: ("", 0.0),
    pass_over: PassOver = lambda path, why: None,
) -> list[Found]:
    """Pick the submissions out of all that lies in a folder or a zip.

    Args:
        files: the paths of all files, whatever they are.
        folders: the paths of the folders, those with files in them may be left out.
        given: the name of the folder or zip itself, which is the student's where it holds one student's work.
        zips: the zips that were opened; their files are paths below them.
        facts: called for each notebook of a student who has several.
        pass_over: called with the path of everything that is not looked at, and why.
    """
    own = [file for file in files if not is_tools(file)]
    _pass_over_tools(files, pass_over)
    outside = {file: next((file[:d] for d in range(1, len(file)) if file[:d] in zips), file) for file in own}
    outer = list(dict.fromkeys(outside.values()))
    folders = {folder for folder in folders if not is_tools(folder)} | {file[:-1] for file in outer}
    assignments = _assignments(folders, outer)
    found = []
    for unit, handed_in in _units([(file, outside[file]) for file in own], assignments, outer, given).items():
        chosen = _submissions_of(unit, handed_in, facts)
        found += chosen
        taken = {one.parts for one in chosen}
        for file in sorted(set(handed_in) - taken):
            pass_over("/".join(file), _why(file, chosen))
    _pass_over_empty(folders, own, assignments, pass_over)
    return sorted(found, key=lambda one: (one.parts, one.name))


def _assignments(folders: Collection[Parts], files: Collection[Parts]) -> set[Parts]:
    """Find the folders of assignments: those named after a lesson, or after the notebook in them."""
    found = {folder for folder in folders if len(folder) > 1 and folder[-1] in lessons()}
    found |= {file[:-1] for file in files if len(file) > 1 and is_notebook(file[-1]) and stem(file[-1]) == file[-2]}
    return {folder for folder in found if not _is_inside(folder, found)}


def _units(
    files: Collection[tuple[Parts, Parts]], assignments: set[Parts], outer: list[Parts], given: str
) -> dict[Unit, list[Parts]]:
    """Put together what belongs together: files, each with the zip that it is in, or with itself."""
    canvas = _canvas_folders(outer)
    units = defaultdict[Unit, list[Parts]](list)
    for folder in assignments:
        units[_unit((*folder, ""), assignments, canvas, given)] = []
    for file, outside in files:
        units[_unit(outside, assignments, canvas, given)].append(file)
    return units


def _pass_over_tools(files: Collection[Parts], pass_over: PassOver) -> None:
    """Name the folders of programs, each once, and the files that macOS adds."""
    ends = [next((at for at, part in enumerate(file, 1) if part in TOOLS), len(file)) for file in files]
    tops = [file[:end] for file, end in zip(files, ends) if is_tools(file)]
    for top in sorted(set(tops)):
        pass_over("/".join(top), "made by a program for itself")


def _pass_over_empty(
    folders: Collection[Parts], files: Collection[Parts], known: Collection[Parts], pass_over: PassOver
) -> None:
    """Name the folders without files, the uppermost of each."""
    full = {file[:depth] for file in (*files, *known) for depth in range(len(file) + 1)}
    for folder in sorted(folders):
        if folder not in full and (folder[:-1] in full or len(folder) == 1):
            pass_over("/".join(folder), "an empty folder, or a link")


def _why(file: Parts, chosen: list[Found]) -> str:
    """Say why a file is not looked at."""
    names = ", ".join(one.parts[-1] for one in chosen)
    if is_notebook(file[-1]):
        return f"{names} is the lesson, or was saved later"
    if file[-1].lower().endswith(".py"):
        return f"a notebook is graded: {names}"
    return "a zip that cannot be opened" if is_zip(file[-1]) else "neither a notebook nor a .py file"


def _unit(file: Parts, assignments: set[Parts], canvas: set[Parts], given: str) -> Unit:
    """Tell whose a file is. Below an assignment's folder all is one student's, however it is named."""
    at = next((depth for depth in range(len(file) - 1, 0, -1) if file[:depth] in assignments), 0)
    for depth, folder in enumerate(file[: at or -1], start=1):
        if (depth == 1 or depth != at) and (moodle := MOODLE.fullmatch(folder)):
            return Unit(f"{moodle['student']}_{moodle['id']}", file[:depth], "lms")
    if at:
        return Unit(file[at - 2] if at > 1 else given, file[:at], "assignment")
    if file[:-1] in canvas and (match := CANVAS.fullmatch(file[-1])):
        student = f"{match['student']}_{match['id']}"
        return Unit(student, (*file[:-1], student), "lms")
    if len(file) == 1:
        return _single(file)
    if file[0] in lessons() and len(file) == 2:  # one lesson of a whole class
        return _single(file)
    depth = 2 if file[0] in lessons() else 1
    return Unit(file[depth - 1], file[:depth], "folder")


def _single(file: Parts) -> Unit:
    """Return the unit of a file that is all that a student handed in; a .py file goes by its whole name."""
    name = file[-1]
    named = is_notebook(name) or is_zip(name)
    return Unit(stem(name) if named else "/".join(file), file, "zip" if is_zip(name) else "file")


def _is_inside(folder: Parts, assignments: set[Parts]) -> bool:
    """Tell whether a folder lies in another assignment's; `ann/ann.ipynb` makes no assignment of a student's folder."""
    return any(folder[:depth] in assignments for depth in range(1 if folder[0] in lessons() else 2, len(folder)))


def _submissions_of(unit: Unit, files: list[Parts], facts: Facts) -> list[Found]:
    """List what is graded of what belongs together."""
    graded = [file for file in files if is_graded(file[-1])]
    notebooks = [file for file in graded if is_notebook(file[-1])]
    if unit.kind == "assignment":
        named = [file for file in notebooks if file[:-1] == unit.folder and stem(file[-1]) == unit.folder[-1]]
        missing = (*unit.folder, unit.folder[-1] + NOTEBOOK)
        return _named(unit, named or notebooks) or [Found(unit.student, missing, unit.owner, NOTHING)]
    if unit.kind in ("lms", "zip"):
        first = min(files, default=unit.folder)
        kept = _latest(notebooks, facts) if unit.kind == "lms" else notebooks
        why = NOTHING + ZIPPED * any(file[-1].lower().endswith(ZIP) for file in files)
        found = _named(unit, kept or graded) or [Found(unit.student, first, unit.owner, why)]
        return (
            [replace(one, note=LATEST.format(one.parts[-1])) for one in found] if len(kept) < len(notebooks) else found
        )
    if notebooks or unit.kind == "file":
        return _named(unit, notebooks or graded)
    return [Found("/".join(file), file, unit.owner) for file in graded]


def _latest(notebooks: list[Parts], facts: Facts) -> list[Parts]:
    """Of several notebooks of one student, keep the latest of each lesson; two as late as each other are both kept."""
    if len(set(notebooks)) < 2:
        return notebooks
    by_lesson: dict[str, list[tuple[float, Parts]]] = defaultdict(list)
    for file in notebooks:
        lesson, saved = facts(file)
        own = own_stem(file[-1])
        by_lesson[lesson or (own if own in lessons() else "")].append((saved, file))
    others = by_lesson.pop("", [])
    if not by_lesson:
        return [file for _, file in others]
    latest = {lesson: max(saved for saved, _ in same) for lesson, same in by_lesson.items()}
    return [file for lesson, same in by_lesson.items() for saved, file in same if saved == latest[lesson]]


def _named(unit: Unit, files: list[Parts]) -> list[Found]:
    """Name the files by their student, and by their own names too where there are several of one lesson."""
    stems = [own_stem(file[-1]) for file in files]
    clear = len(set(files)) == 1 or (set(stems) <= set(lessons()) and len(set(stems)) == len(stems))
    names = {file: unit.student if clear else f"{unit.student}/{_inner_name(file)}" for file in files}
    return [Found(names[file], file, unit.owner) for file in sorted(files)]


def _inner_name(file: Parts) -> str:
    """Return a notebook's own name, after that of the zip that it lies in."""
    return "/".join(stem(part) for part in (*(p for p in file[:-1] if is_zip(p)), file[-1]))


def _canvas_folders(files: list[Parts]) -> set[Parts]:
    """Find the folders in which every submission is named as Canvas names it."""
    names: dict[Parts, list[str]] = defaultdict(list)
    for file in files:
        if is_graded(file[-1]) or (is_zip(file[-1]) and CANVAS.fullmatch(file[-1])):
            names[file[:-1]].append(file[-1])
    return {folder for folder, inside in names.items() if all(CANVAS.fullmatch(name) for name in inside)}


def is_tools(parts: Parts) -> bool:
    """Tell whether a file was made by a program for itself, or a folder is one's."""
    return any(part in TOOLS for part in parts) or parts[-1].startswith("._") or parts[-1] == ".DS_Store"


def is_graded(name: str) -> bool:
    """Tell whether a file is a notebook or a .py file by its name, in letters of any case."""
    return name.lower().endswith(SUFFIXES)


def is_notebook(name: str) -> bool:
    """Tell whether a file is a notebook by its name."""
    return name.lower().endswith(NOTEBOOK)


def is_zip(name: str) -> bool:
    """Tell whether a file is a zip by its name."""
    return name.lower().endswith(ZIP)


def stem(name: str) -> str:
    """Return a file's name without its ending."""
    return ENDING.sub("", name)


def own_stem(name: str) -> str:
    """Return the stem that a file had before an LMS or a browser added to it."""
    canvas = CANVAS.fullmatch(name)
    return AGAIN.sub("", stem(canvas["name"] if canvas else name))
