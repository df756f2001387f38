"""Extracting from an untrusted zip: members are written under names that the grader chooses.

A path in the zip may name a submission; it never decides where anything is written.
"""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from grader.read.submissions import MAX_FILE

MAX_MEMBERS = 20_000
MAX_DIRECTORY = 8 << 20  # bytes of the list of members: zipfile reads it all at once
MAX_PER_STUDENT = 3 * MAX_FILE  # bytes extracted per student
MAX_IN_ALL = 8 << 30
READ_KINDS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unfold a few bytes into a lot of memory at once
NOT_WHOLE = "It cannot be read from the zip: it is damaged, encrypted, or packed in a way that few programs know."

Parts = tuple[str, ...]


class BadArchive(Exception):
    """A zip that cannot be read at all; the message is a sentence that says why."""


@dataclass(frozen=True)
class Member:
    """A file or folder in a zip: its path, and where it is."""

    parts: Parts
    information: zipfile.ZipInfo

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.information.is_dir()

    @property
    def saved(self) -> float:
        """When it was saved, by this machine's clock, since a zip knows no time zones; 0 if unknown."""
        try:
            return datetime(*self.information.date_time).timestamp()
        except (ValueError, OverflowError):
            return 0.0

    @property
    def unreadable(self) -> str:
        """Why it must not be read; empty if it may."""
        mode, name = self.information.external_attr >> 16, self.information.filename
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            return "It is a link or something else that is not a plain file."
        if ".." in re.split(r"[/\\]", name) or name.startswith(("/", "\\")) or name[1:2] == ":":
            return "Its path leads out of the zip."
        if self.information.compress_type not in READ_KINDS or self.information.flag_bits & 1:
            return NOT_WHOLE
        return ""


class Archive:
    """An open zip, with a limit on the bytes extracted per student and in all."""

    def __init__(self, path: Path) -> None:
        """Open a zip.

        Raises:
            BadArchive: It is not a zip, or has too many members.
        """
        self._file = _Bounded(path)
        try:
            self._zip = zipfile.ZipFile(self._file)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            self._file.close()
            raise BadArchive("It is damaged, or not a zip.") from error
        if len(self._zip.infolist()) > MAX_MEMBERS:
            self.__exit__()
            raise BadArchive(f"It holds more than {MAX_MEMBERS:,} files.")
        self.members = [Member(_parts(information.filename), information) for information in self._zip.infolist()]
        self.handed_in: float | None = None  # when, of a zip that was handed in itself: its dates are the student's
        self._extracted: Counter[str] = Counter()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *exception: object) -> None:
        self._zip.close()
        self._file.close()

    def extract(self, member: Member, target: Path, student: str) -> str:
        """Write the content of a member to a file.

        Args:
            member: the member.
            target: a file that is not there yet; it is not made where the member cannot be read.
            student: whose it is.

        Returns:
            Why the member cannot be read, or nothing.
        """
        if member.unreadable:
            return member.unreadable
        try:
            with self._zip.open(member.information) as file:
                content = file.read(MAX_FILE + 1)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, EOFError, ValueError, NotImplementedError):
            return NOT_WHOLE
        if len(content) > MAX_FILE:
            return f"It is larger than {MAX_FILE >> 20} MiB."
        self._extracted[student] += len(content)
        if self._extracted[student] > MAX_PER_STUDENT or self._extracted.total() > MAX_IN_ALL:
            return f"It is one of too many files of {student}."
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        moment = member.saved if self.handed_in is None else self.handed_in
        os.utime(target, (moment, moment))
        return ""


class _Bounded(io.FileIO):
    """A file of which no large part can be read at once, whatever sizes the zip claims."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_DIRECTORY:
            raise zipfile.BadZipFile("The list of members is too long.")
        return super().read(MAX_DIRECTORY if size is None or size < 0 else size) or b""


def _parts(name: str) -> Parts:
    return tuple(part for part in name.replace("\\", "/").split("/") if part not in ("", ".", ".."))
