"""Finding submissions: which files are graded, and by which name each goes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from grader.submissions import SUFFIXES, Source, lessons


class BadRequest(Exception):
    """What was asked for cannot be done; the message says why, as a sentence."""


def find_submissions(paths: Iterable[Path], unpacked: Path) -> list[Source]:
    """List the submissions in files and folders, in a fixed order, each under a name of its own.

    Args:
        paths: notebooks, .py files, or folders that are searched through to the bottom.

    Returns:
        One source a file.

    Raises:
        BadRequest: a path that is not there, another kind of file, or a folder without submissions.
    """
    sources: list[Source] = []
    for path in paths:
        if path.is_dir():
            found = [Source(_name_in(path, file), file) for file in _files_below(path)]
            if not found:
                raise BadRequest(f"There is no notebook and no .py file in the folder {path}.")
            sources += found
        elif not path.exists() and not path.is_symlink():
            raise BadRequest(f"There is no file or folder {path}.")
        elif path.suffix not in SUFFIXES:
            raise BadRequest(f"{path} is neither a notebook (.ipynb) nor a .py file.")
        else:
            sources.append(Source(path.name if path.suffix == ".py" else str(path), path))
    return _with_unique_names(sources)


def _files_below(folder: Path) -> list[Path]:
    """List notebooks and .py files below a folder, links among them, hidden folders and caches left out."""
    return sorted(
        file
        for file in folder.rglob("*")
        if file.suffix in SUFFIXES
        and (file.is_symlink() or file.is_file())
        and not any(part.startswith((".", "__")) for part in file.relative_to(folder).parts)
    )


def _name_in(folder: Path, file: Path) -> str:
    """Name a submission: the student's folder for a notebook in one, else the path below the folder given."""
    parts = file.relative_to(folder).parts
    if file.suffix == ".ipynb" and len(parts) == 2 and parts[0] in lessons():
        return folder.resolve().name  # submitted/<student> was given
    return parts[0] if file.suffix == ".ipynb" and len(parts) > 1 else "/".join(parts)


def _with_unique_names(sources: list[Source]) -> list[Source]:
    """Where two submissions would share a name, both go by their paths."""
    names = [source.name for source in sources]
    return [s if names.count(s.name) == 1 else Source(s.path.as_posix(), s.path) for s in sources]
