"""Finding submissions: which files are graded, and the name of each.

A submission is one notebook of one student, or a .py file. In folders and in zips alike, a student is known by

    <student>/<assignment>/<assignment>.ipynb               the student's folder (nbgrader)
    <student>/lesson.ipynb                                  the student's folder
    <student>.ipynb, anything.py                            the file's stem; the whole name of a .py file
    name_12345_67890_lesson.ipynb                           name_12345, with the user's id (Canvas)
    Full Name_12345_assignsubmission_file_/lesson.ipynb     Full Name_12345, with the participant's id (Moodle)

Where a student has a notebook, .py files beside it are not graded.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from grader.read.archive import Archive, BadArchive, Member, Parts
from grader.read.submissions import SUFFIXES, Source, lessons

NOTEBOOK = ".ipynb"
HIDDEN = ("__MACOSX", "__pycache__")
CANVAS = re.compile(r"(?P<student>.+?)(_LATE)?_(?P<id>\d+)_\d+_(?P<name>.+)", re.S)
MOODLE = re.compile(r"(?P<student>.+)_(?P<id>\d+)_assignsubmission_file_?", re.S)
AGAIN = re.compile(r"(-\d+| ?\(\d+\))$")  # what Canvas or a browser adds to the name of a file that it has already
MAX_NAME = 200
NOTHING = "There is no notebook among the files that were handed in."


class BadRequest(Exception):
    """The request cannot be fulfilled; the message is a sentence that says why."""


@dataclass(frozen=True)
class Found:
    """A submission: its name, its file's path, its student's place and, if it cannot be graded, why."""

    name: str
    parts: Parts
    owner: Parts
    unreadable: str = ""


@dataclass(frozen=True)
class Unit:
    """What belongs together: the work of one student, or a single file."""

    student: str
    folder: Parts
    kind: str  # "assignment", "lms", "folder" or "file"

    @property
    def owner(self) -> Parts:
        """The student's place: the folders above, but for a lesson's, and the student; nothing where all is theirs."""
        if self.kind == "assignment" and len(self.folder) == 1:
            return ()
        above = self.folder[:-2] if self.kind == "assignment" else self.folder[:-1]
        return (*(above[1:] if above[:1] and above[0] in lessons() else above), self.student)


def find_submissions(paths: Iterable[Path], unpacked: Path) -> list[Source]:
    """List the submissions in files, folders and zips, in a fixed order.

    Args:
        paths: notebooks, .py files, zips, or folders that are searched through to the bottom.
        unpacked: an empty folder, in which the submissions of zips are laid down.

    Returns:
        One source per submission, each under its own name; only notebooks of one student that are of different
        lessons share one.

    Raises:
        BadRequest: a path that is not there, another kind of file, or nothing to grade in it.
    """
    return _with_unique_names([source for path in paths for source in _sources_at(path, unpacked)])


def choose(files: Collection[Parts], folders: Collection[Parts] = (), given: str = "") -> list[Found]:
    """Pick the submissions out of all that lies in a folder or a zip.

    Args:
        files: the paths of all files, whatever they are.
        folders: the paths of the folders, those with files in them may be left out.
        given: the name of the folder or zip itself, which is the student's where it holds one student's work.
    """
    files = [file for file in files if not _is_hidden(file)]
    folders = {folder for folder in folders if not _is_hidden(folder)} | {file[:-1] for file in files}
    assignments = {f for f in folders if len(f) > 1 and f[-1] in lessons()}
    assignments |= {f[:-1] for f in files if len(f) > 1 and f[-1] == f[-2] + NOTEBOOK}
    assignments = {folder for folder in assignments if not _is_inside(folder, assignments)}
    canvas = _canvas_folders(files)
    units: dict[Unit, list[Parts]] = defaultdict(list)
    for folder in assignments:
        units[_unit((*folder, ""), assignments, canvas, given)] = []
    for file in files:
        units[_unit(file, assignments, canvas, given)].append(file)
    found = [one for unit, handed_in in units.items() for one in _submissions_of(unit, handed_in)]
    return sorted(found, key=lambda one: (one.parts, one.name))


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
        return Unit(_stem(file[0]) if file[0].endswith(NOTEBOOK) else file[0], file, "file")
    if file[0] in lessons() and len(file) == 2:  # one lesson of a whole class
        return Unit(_stem(file[1]) if file[1].endswith(NOTEBOOK) else "/".join(file), file, "file")
    depth = 2 if file[0] in lessons() else 1
    return Unit(file[depth - 1], file[:depth], "folder")


def _is_inside(folder: Parts, assignments: set[Parts]) -> bool:
    """Tell whether a folder lies in another assignment's; `ann/ann.ipynb` makes no assignment of a student's folder."""
    return any(folder[:depth] in assignments for depth in range(1 if folder[0] in lessons() else 2, len(folder)))


def _submissions_of(unit: Unit, files: list[Parts]) -> list[Found]:
    """List what is graded of what belongs together."""
    graded = [file for file in files if file[-1].endswith(SUFFIXES)]
    notebooks = [file for file in graded if file[-1].endswith(NOTEBOOK)]
    if unit.kind == "assignment":
        named = (*unit.folder, unit.folder[-1] + NOTEBOOK)
        chosen = [file for file in notebooks if file == named] or notebooks
        return _named(unit, chosen) or [Found(unit.student, named, unit.owner, NOTHING)]
    if notebooks or unit.kind == "file":
        return _named(unit, notebooks or graded)
    if unit.kind == "lms":
        first = min(files, default=unit.folder)
        return _named(unit, graded) or [Found(unit.student, first, unit.owner, NOTHING)]
    return [Found("/".join(file), file, unit.owner) for file in graded]


def _named(unit: Unit, files: list[Parts]) -> list[Found]:
    """Name the files by their student, and by their own names too where there are several of one lesson."""
    stems = [_own_stem(file[-1]) for file in files]
    clear = len(set(files)) == 1 or (set(stems) <= set(lessons()) and len(set(stems)) == len(stems))
    names = {file: unit.student if clear else f"{unit.student}/{_stem(file[-1])}" for file in files}
    return [Found(names[file], file, unit.owner) for file in sorted(files)]


def _canvas_folders(files: list[Parts]) -> set[Parts]:
    """Find the folders in which every submission is named as Canvas names it."""
    names: dict[Parts, list[str]] = defaultdict(list)
    for file in files:
        if file[-1].endswith(SUFFIXES):
            names[file[:-1]].append(file[-1])
    return {folder for folder, inside in names.items() if all(CANVAS.fullmatch(name) for name in inside)}


def _sources_at(path: Path, unpacked: Path) -> list[Source]:
    if not path.exists() and not path.is_symlink():
        raise BadRequest(f"There is no file or folder {path}.")
    if path.is_dir():
        inside, given = path, path.resolve()
        files, folders = _walk(path)
        if given.name in lessons():  # submitted/<student>/<assignment> itself, or one lesson of a whole class
            inside, files, folders = given.parent, *([(given.name, *p) for p in part] for part in (files, folders))
            given = given.parent
        found = choose(files, folders, given.name)
        sources = [Source(_clean(one.name), inside.joinpath(*one.parts), one.unreadable, one.owner) for one in found]
    elif path.suffix.lower() == ".zip":
        sources = _in_zip(path, unpacked)
    elif path.suffix not in SUFFIXES:
        raise BadRequest(f"{path} is neither a notebook (.ipynb), nor a .py file, nor a zip.")
    else:
        return [Source(_clean(path.name if path.suffix == ".py" else str(path)), path)]
    if not sources:
        raise BadRequest(f"There is no notebook and no .py file in {path}.")
    return sources


def _in_zip(path: Path, unpacked: Path) -> list[Source]:
    """Lay the submissions in a zip down, each in a folder with a number, and list them."""
    base = unpacked / f"zip-{len(list(unpacked.iterdir()))}"
    base.mkdir()
    try:
        with Archive(path) as archive:
            top = _wrapper([member.parts for member in archive.members])
            files: dict[Parts, list[Member]] = defaultdict(list)
            folders = [member.parts[len(top) :] for member in archive.members if member.is_folder]
            for member in archive.members:
                if not member.is_folder:
                    files[member.parts[len(top) :]].append(member)
            found = choose([parts for parts, members in files.items() for _ in members], folders, path.stem)
            return [_laid_down(one, archive, files[one.parts], base / str(number)) for number, one in enumerate(found)]
    except BadArchive as error:
        raise BadRequest(f"{path} cannot be graded. {error}") from None


def _laid_down(one: Found, archive: Archive, members: list[Member], folder: Path) -> Source:
    """Lay the next of the members with one path down, under a name that tells its lesson and nothing else."""
    stem, suffix = _own_stem(one.parts[-1]), ".py" if one.parts[-1].endswith(".py") else NOTEBOOK
    target = folder / ((stem if stem in lessons() else "submission") + suffix)
    reason = one.unreadable or archive.lay_down(members.pop(0), target, one.name.split("/")[0])
    return Source(_clean(one.name), target, reason, one.owner)


def _wrapper(inside: list[Parts]) -> Parts:
    """Find the one folder that a whole class was packed in, where there is such a folder."""
    graded = [parts for parts in inside if parts and parts[-1].endswith(SUFFIXES) and not _is_hidden(parts)]
    tops, below = {parts[:1] for parts in graded}, {parts[1:2] for parts in graded}
    is_one = len(tops) == 1 and len(below) > 1 and () not in below
    if not is_one or any(_stem(name) in lessons() for (name,) in below):
        return ()
    top = tops.pop()
    return () if MOODLE.fullmatch(top[0]) else top


def _walk(folder: Path) -> tuple[list[Parts], list[Parts]]:
    """List the files and the folders below a folder, without following links."""
    files, folders = [], []
    for place, names_of_folders, names_of_files in os.walk(folder):
        parts = Path(place).relative_to(folder).parts
        folders += [(*parts, name) for name in names_of_folders]
        files += [(*parts, name) for name in names_of_files]
    return files, folders


def _is_hidden(parts: Parts) -> bool:
    return any(part.startswith(".") or part in HIDDEN for part in parts)


def _stem(name: str) -> str:
    return name.removesuffix(NOTEBOOK).removesuffix(".py")


def _own_stem(name: str) -> str:
    """Return the stem that a file had before an LMS or a browser added to it."""
    canvas = CANVAS.fullmatch(name)
    return AGAIN.sub("", _stem(canvas["name"] if canvas else name))


def _clean(name: str) -> str:
    """Make a name that every output can hold: not too long, and text in UTF-8."""
    return name[:MAX_NAME].encode("utf-8", "backslashreplace").decode()


def _with_unique_names(sources: list[Source]) -> list[Source]:
    """Number those of the same name, but for the genuine ones."""
    same: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        same[source.name].append(source)
    genuine = {id(source) for found in same.values() for source in _genuine(found)}
    numbers: dict[str, Iterator[int]] = defaultdict(lambda: count(2))
    taken, unique = set(same), []
    for source in sources:
        name = source.name
        if id(source) not in genuine:
            name = next(new for number in numbers[name] if (new := f"{source.name} ({number})") not in taken)
        taken.add(name)
        unique.append(replace(source, name=name))
    return unique


def _genuine(same: list[Source]) -> list[Source]:
    """Of submissions of the same name, list those that keep it: one, or one per lesson, of the student highest up.

    A student can make folders in their own place only, so that one who uses another's name stands below the other.
    Where two places are equally high, nobody can tell, and none keeps the name.
    """
    top = min(len(source.owner) for source in same)
    same = [source for source in same if len(source.owner) == top]
    if len({source.owner for source in same}) > 1:
        return []
    stems = [_own_stem(source.path.name) for source in same]
    return same if set(stems) <= set(lessons()) and len(set(stems)) == len(stems) else same[:1]
