"""The journal of a batch: every result is on disk as soon as it is known, one line of JSON each.

A line is added, flushed and synced before the next result is taken, so that an interruption loses none. A line that
was cut short by one is dropped when the journal is opened again; of two lines with the same key the later counts.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from dspark_mini.files import atomic_write

Outcome = dict[str, Any]  # the result of one submission, as `dspark-mini grade --json` writes it


class JournalInUse(Exception):
    """Another grading writes to the same journal."""


class TargetInUse(Exception):
    """Another grading writes to the same file, which the message names."""


@contextlib.contextmanager
def locked(targets: Iterable[Path]) -> Iterator[None]:
    """Keep other gradings from writing to some files; beside each stands a lock file as long as this lasts.

    Raises:
        TargetInUse: another process has locked one of them.
    """
    with contextlib.ExitStack() as stack:
        for target in targets:
            stack.enter_context(_lock(target))
        yield


@contextlib.contextmanager
def _lock(target: Path) -> Iterator[None]:
    path = target.with_name(target.name + ".lock")
    while True:
        with path.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise TargetInUse(str(target)) from None
            if not _is_at(path, file.fileno()):
                continue  # who held it has taken it away in between
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
            return


def _is_at(path: Path, descriptor: int) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    return False


class Journal:
    """Results by key, on disk; only where each of them stands is kept in memory."""

    def __init__(self, path: Path) -> None:
        """Open a journal, or start one.

        Args:
            path: the file; it is made where it is not there.

        Raises:
            JournalInUse: another process has it open.
        """
        self.path = path
        self._file = path.open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise JournalInUse from None
        self._places = self._read()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):  # the end of a line that could not be written, as add() has said already
            self._file.close()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __getitem__(self, key: str) -> Outcome:
        self._file.seek(self._places[key])
        outcome: Outcome = json.loads(self._file.readline())["result"]
        return outcome

    def add(self, key: str, result: Outcome) -> None:
        """Save a result; once this returns, no interruption can lose it."""
        place = self._file.seek(0, os.SEEK_END)
        self._file.write(_line(key, result))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._places[key] = place

    def keep_only(self, keys: Sequence[str]) -> None:
        """Rewrite the journal with the results of these keys, in their order; nothing is lost if that is cut short."""
        with atomic_write(self.path) as part:
            with part.open("wb") as file:
                places = {}
                for key in keys:
                    places[key] = file.tell()
                    file.write(_line(key, self[key]))
                file.flush()
                os.fsync(file.fileno())
            rewritten = part.open("a+b")
            fcntl.flock(rewritten, fcntl.LOCK_EX)
        self._file.close()
        self._file, self._places = rewritten, places

    def _read(self) -> dict[str, int]:
        """Find every whole line, and cut off one that was not written to its end."""
        places: dict[str, int] = {}
        place = self._file.seek(0)
        for line in self._file:
            if not line.endswith(b"\n"):
                self._file.truncate(place)
                break
            key = _key(line)
            if key is not None:
                places[key] = place
            place += len(line)
        return places


class Results(Sequence[Outcome]):
    """The results of a batch in the order of its submissions, read one by one from the journal."""

    def __init__(self, journal: Journal, keys: Sequence[str]) -> None:
        self._journal, self._keys = journal, keys

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[Outcome]:
        return (self._journal[key] for key in self._keys)

    @overload
    def __getitem__(self, index: int) -> Outcome: ...

    @overload
    def __getitem__(self, index: slice) -> Results: ...

    def __getitem__(self, index: int | slice) -> Outcome | Results:
        if isinstance(index, slice):
            return Results(self._journal, self._keys[index])
        return self._journal[self._keys[index]]


def _line(key: str, result: Outcome) -> bytes:
    return json.dumps({"key": key, "result": result}, ensure_ascii=False).encode() + b"\n"


def _key(line: bytes) -> str | None:
    """Return the key of a line, or None if the line is not a result."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("result"), dict):
        return None
    key = entry.get("key")
    return key if isinstance(key, str) else None
