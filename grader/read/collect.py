"""Finding submissions: in files, folders and zips, each under a name of its own."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from grader.read.archive import Archive, BadArchive, Member, Parts
from grader.read.choose import MOODLE, NOTEBOOK, Found, PassOver, choose, is_graded, is_tools, is_zip, own_stem, stem
from grader.read.choose import NOTHING as NOTHING
from grader.read.submissions import Source, lesson_in, lessons


class BadRequest(Exception):
    """The request cannot be fulfilled; the message is a sentence that says why."""


@dataclass
class Contents:
    """All that lies in a folder or a zip, the zips in it opened.

    Attributes:
        files: The paths, each as often as there are files of it.
        folders: The folders.
        on_disk: Where the files of a folder are.
        members: The files in zips, each with its zip.
        zips: The zips that were opened.
        unopened: Why the others were not.
    """

    unpacked: Path
    stack: ExitStack
    files: list[Parts] = field(default_factory=list)
    folders: list[Parts] = field(default_factory=list)
    on_disk: dict[Parts, Path] = field(default_factory=dict)
    members: dict[Parts, list[tuple[Archive, Member]]] = field(default_factory=lambda: defaultdict(list))
    zips: dict[Parts, Archive] = field(default_factory=dict)
    unopened: dict[Parts, str] = field(default_factory=dict)

    def add_file(self, parts: Parts, path: Path) -> None:
        """Add a file of a folder, or what is in it where it is a zip."""
        self.on_disk[parts] = path
        if not self._opened(parts, path):
            self.files.append(parts)

    def add_archive(self, archive: Archive, top: Parts, prefix: Parts = ()) -> None:
        """Add what is in a zip, below the one folder that it was packed in."""
        for member in archive.members:
            parts = (*prefix, *member.parts[len(top) :])
            if member.is_folder:
                self.folders += [] if prefix else [parts]
                continue
            if prefix or not is_zip(parts[-1]) or is_tools(parts):
                self._add_member(parts, archive, member)
                continue
            path = self.unpacked / f"inner-{len(self.zips) + len(self.unopened)}.zip"
            reason = archive.extract(member, path, parts[0])
            if reason or not self._opened(parts, path):
                self.unopened.setdefault(parts, reason)
                self._add_member(parts, archive, member)

    def facts(self, parts: Parts) -> tuple[str, float]:
        """Return the lesson of a notebook, empty if unknown, and when it was saved."""
        if parts not in self.members:
            path = self.on_disk[parts]
            return lesson_in(path), path.lstat().st_mtime
        archive, member = self.members[parts][0]
        path = self.unpacked / f"looked-at-{len(list(self.unpacked.iterdir()))}" / f"notebook{NOTEBOOK}"
        return "" if archive.extract(member, path, parts[0]) else lesson_in(path), member.saved

    def source(self, one: Found, folder: Path) -> Source:
        """Return a submission's file; one in a zip is extracted into a folder of its own."""
        reason = self.unopened.get(one.parts) or one.unreadable
        if one.parts not in self.members:
            path = self.on_disk.get(one.parts, folder / one.parts[-1])
            return Source(_text(one.name), path, reason, one.owner, note=_text(one.note))
        # Its name there tells the lesson and nothing else.
        own, suffix = own_stem(one.parts[-1]), ".py" if one.parts[-1].lower().endswith(".py") else NOTEBOOK
        target = folder / ((own if own in lessons() else "submission") + suffix)
        archive, member = self.members[one.parts].pop(0)
        student = "/".join(one.owner) or one.name
        reason = reason or archive.extract(member, target, student)
        return Source(_text(one.name), target, reason, one.owner, "/".join(one.parts), _text(one.note))

    def _add_member(self, parts: Parts, archive: Archive, member: Member) -> None:
        self.files.append(parts)
        self.members[parts].append((archive, member))

    def _opened(self, parts: Parts, path: Path) -> bool:
        if not is_zip(parts[-1]) or is_tools(parts):
            return False
        if not stat.S_ISREG(path.lstat().st_mode):
            self.unopened[parts] = "It is a link or something else that is not a plain file."
            return False
        try:
            archive = self.stack.enter_context(Archive(path))
        except BadArchive as error:
            self.unopened[parts] = f"Its zip cannot be opened. {error}"
            return False
        if not any(not member.is_folder for member in archive.members):
            self.unopened[parts] = "Its zip is empty."
            return False
        archive.handed_in = path.stat().st_mtime
        self.zips[parts] = archive
        self.add_archive(archive, (), parts)
        return True


def find_submissions(
    paths: Iterable[Path], unpacked: Path, pass_over: PassOver = lambda path, why: None
) -> list[Source]:
    """List the submissions in files, folders and zips, in a fixed order.

    Args:
        paths: notebooks, .py files, zips, or folders that are searched through to the bottom.
        unpacked: an empty folder, into which the submissions in zips are extracted.
        pass_over: called with each file or folder that is not part of a submission, and the reason.

    Returns:
        One source per submission, each under its own name; only notebooks of one student that are of different
        lessons share one.

    Raises:
        BadRequest: a path that is not there, another kind of file, or nothing to grade in it.
    """
    return _with_unique_names([source for path in paths for source in _sources_at(path, unpacked, pass_over)])


def _sources_at(path: Path, unpacked: Path, pass_over: PassOver) -> list[Source]:
    if not path.exists() and not path.is_symlink():
        raise BadRequest(f"There is no file or folder {path}.")
    zipped = is_zip(path.name) and not path.is_dir()
    if not path.is_dir() and not zipped:
        if not is_graded(path.name):
            raise BadRequest(f"{path} is neither a notebook (.ipynb), nor a .py file, nor a zip.")
        return [Source(_text(path.name if path.suffix.lower() == ".py" else str(path)), path)]
    base = unpacked / f"given-{len(list(unpacked.iterdir()))}"
    base.mkdir()
    with ExitStack() as stack:
        contents = Contents(base, stack)
        given = _read_zip(path, contents) if zipped else _read_folder(path, contents, pass_over)
        found = choose(contents.files, contents.folders, given, contents.zips, contents.facts, pass_over)
        sources = [contents.source(one, base / str(number)) for number, one in enumerate(found)]
    if not sources:
        raise BadRequest(f"There is no notebook and no .py file in {path}.")
    return sources


def _read_zip(path: Path, contents: Contents) -> str:
    """Read the zip that was given, and return its name."""
    try:
        archive = contents.stack.enter_context(Archive(path))
    except BadArchive as error:
        raise BadRequest(f"{path} cannot be graded. {error}") from None
    contents.add_archive(archive, _wrapper([member.parts for member in archive.members]))
    return path.stem


def _read_folder(folder: Path, contents: Contents, pass_over: PassOver) -> str:
    """List the files and the folders below a folder, without following links, and return the folder's name."""
    given = folder.resolve()
    # submitted/<student>/<assignment> itself, or one lesson of a whole class
    prefix, given = ((given.name,), given.parent) if given.name in lessons() else ((), given)

    def on_error(error: OSError) -> None:
        pass_over(os.path.relpath(error.filename, folder), f"it cannot be read: {error.strerror}")

    for place, names_of_folders, names_of_files in os.walk(folder, onerror=on_error):
        parts = (*prefix, *Path(place).relative_to(folder).parts)
        contents.folders += [(*parts, name) for name in names_of_folders]
        for name in names_of_files:
            contents.add_file((*parts, name), Path(place) / name)
    return given.name


def _wrapper(inside: list[Parts]) -> Parts:
    """Find the one folder that a whole class was packed in, where there is such a folder."""
    graded = [p for p in inside if p and (is_graded(p[-1]) or is_zip(p[-1])) and not is_tools(p)]
    tops, below = {parts[:1] for parts in graded}, {parts[1:2] for parts in graded}
    is_one = len(tops) == 1 and len(below) > 1 and () not in below
    if not is_one or any(stem(name) in lessons() for (name,) in below):
        return ()
    top = tops.pop()
    return () if MOODLE.fullmatch(top[0]) else top


def _text(name: str) -> str:
    """Make a name text in UTF-8 that every output can hold; it is never cut, so that two stay two."""
    return name.encode("utf-8", "backslashreplace").decode()


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
    stems = [own_stem(source.path.name) for source in same]
    return same if set(stems) <= set(lessons()) and len(set(stems)) == len(stems) else same[:1]
