"""What is looked at around a batch: files, processes, and who calls on the network."""

import contextlib
import hashlib
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from grader.lessons.paths import ROOT

SECRET = "the instructor's own secret"


def snapshot(course: Path) -> dict[str, str]:
    """Every file of the course, but for the results, and of the repository's rooms, with what is in it."""
    rooms = [course, *(ROOT / name for name in ("dspark_mini", "grader", "solutions", "notebooks", "tests"))]
    files = (path for room in rooms for path in room.rglob("*") if "__pycache__" not in path.parts)
    return {str(path): _state(path) for path in files if path.parent != course / "out"}


def _state(path: Path) -> str:
    information = path.lstat()
    plain = path.is_file() and not path.is_symlink() and information.st_size < 1 << 22
    content = hashlib.sha256(path.read_bytes()).hexdigest() if plain else str(information.st_size)
    return f"{information.st_mode} {content}"


def changed(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def own_children() -> Iterator[int]:
    """The processes that have this one as their parent."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "stat").read_text().rpartition(")")[2].split()[1] == str(os.getpid()):
                yield int(folder.name)


def left_running(before: set[int]) -> list[str]:
    """What still runs once all that was killed has had time to go; it is ended then."""
    for _ in range(60):
        found = [pid for pid in own_children() if pid not in before]
        for pid in found:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if not found:
            return []
        time.sleep(0.05)
    lines = []
    for pid in found:
        with contextlib.suppress(OSError):
            lines.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
            os.kill(pid, signal.SIGKILL)
    return lines


@contextlib.contextmanager
def listening(course: Path) -> Iterator[tuple[dict[str, str], list[str]]]:
    """Listen on TCP, UDP and Unix sockets; yield the words that stand for places, and whoever has called."""
    contacts: list[str] = []
    abstract = f"\0{course}"
    kinds = {
        "TCP": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "UDP": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "ABSTRACT": (socket.AF_UNIX, socket.SOCK_STREAM, abstract),
        "UNIX": (socket.AF_UNIX, socket.SOCK_STREAM, str(course / "s")),
    }
    here = {"ROOT": str(ROOT), "COURSE": str(course), "GRADER_SECRET": SECRET, "GRADER": os.getpid()}
    places = {word: repr(place) for word, place in here.items()}
    with contextlib.ExitStack() as stack:
        for name, (family, kind, address) in kinds.items():
            server = stack.enter_context(socket.socket(family, kind))
            server.bind(address)
            if kind == socket.SOCK_STREAM:
                server.listen()
            places[name] = repr(server.getsockname() if family == socket.AF_INET else address)
            threading.Thread(target=_note, args=(server, name, kind, contacts), daemon=True).start()
        yield places, contacts


def _note(server: socket.socket, name: str, kind: int, contacts: list[str]) -> None:
    with contextlib.suppress(OSError):
        while True:
            if kind == socket.SOCK_STREAM:
                server.accept()[0].close()
            else:
                server.recv(100)
            contacts.append(name)
