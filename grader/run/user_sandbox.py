"""A sandbox for containers that forbid namespaces, as Gradescope's do: a user of its own for the learner's code.

Root grades; the child becomes that user, and gives up system calls, before any learner's code is loaded. The list of
refused calls is that of the bubblewrap sandbox: no other process, no socket. All else is weaker: the code sees what its
user may see of the container, files and the command lines of processes, and can leave files in /tmp or fill its disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from grader.lessons.paths import ROOT
from grader.run.own_process import QUIET
from grader.run.sandbox import TRY_SECONDS, NoSandbox, denied_rules

# No new rights, the end of the parent's thread is the end, the list of refused calls: prctl's 38, 1 and 22.
RESTRICT = """
import ctypes, sys
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
def restrict(rules, number=ctypes.c_ulong):
    program, prctl = Program(len(rules) // 8, rules), ctypes.CDLL(None).prctl
    for call in ((38, 1, 0, 0, 0), (1, 9, 0, 0, 0)):
        if prctl(call[0], *map(number, call[1:])):
            sys.exit("the rights could not be given up")
    if prctl(22, number(2), ctypes.byref(program)):
        sys.exit("the system calls could not be refused")
restrict(bytes.fromhex(sys.argv.pop()))
del Program, restrict
"""
# Prints what the user must not be able to read or to replace, and can.
PROBE = """
import json, os, stat
sys.path[:0] = sys.argv[1:2]
import numpy
def may_replace(path):
    return os.access(path, os.W_OK) and not (os.path.isdir(path) and os.stat(path).st_mode & stat.S_ISVTX)
hidden, *written = sys.argv[2:]
found = [path for path in written if may_replace(path)]
print(json.dumps(([hidden] if os.access(hidden, os.R_OK) else []) + found))
"""


def require_user(name: str, targets: Iterable[Path]) -> None:
    """Refuse a user that is not there, is in use, or could read the hidden cases or replace the kit or the results.

    Args:
        name: The user's name.
        targets: The files of results that will be written.

    Raises:
        NoSandbox: It is refused; the message says why and what to do.
    """
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        raise NoSandbox(f"--sandbox user:{name} is for root in a container: only root can become another user.")
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        raise NoSandbox(
            f"There is no user {name!r}; make one with `useradd --system --no-create-home {name}`."
        ) from None
    if account.pw_uid == 0:
        raise NoSandbox(f"The user {name!r} is root; the learner's code needs a user without rights.")
    if _has_processes(account.pw_uid):
        raise NoSandbox(f"The user {name!r} runs processes, which grading would end; make a user for grading alone.")
    places = {ROOT, *(Path(sys.executable).parents), *ROOT.parents}
    for target in map(Path.absolute, targets):
        places |= {target, *target.parents}
    hidden = ROOT / "grader" / "lessons" / "hidden" / "__init__.py"
    words = [str(Path(np.__file__).parent.parent), str(hidden), *map(str, sorted(places))]
    reached = json.loads(_probe(name, words))
    if reached:
        raise NoSandbox(
            f"The user {name!r} can read or replace {reached[0]}; take its rights away, as with `chmod -R go= {ROOT}`."
        )


def start(name: str, code: str, arguments: list[str], errors: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start Python as the user, without the calls that the sandbox refuses, with pipes for its input and output.

    Args:
        name: The user's name.
        code: What it runs.
        arguments: The code's arguments.
        errors: Where its standard error goes.
    """
    python = os.path.realpath(sys.executable)
    return subprocess.Popen(
        [python, "-I", "-S", "-c", RESTRICT + code, *arguments, denied_rules().hex()],
        cwd="/tmp",
        env=QUIET,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,
        **_identity(name),
    )


def end_user(process: subprocess.Popen[bytes], name: str) -> None:
    """End the process and every other one of the user; when this returns, none of them runs."""
    # As that user, the system lets it reach no other. Where even this cannot start, the submission is not graded.
    subprocess.run(["/bin/sh", "-c", "kill -9 -1"], cwd="/", env=QUIET, stderr=subprocess.DEVNULL, **_identity(name))
    process.kill()
    process.wait()


def open_library(library: Path) -> None:
    """Let the user read the child's library, and of the folder that it is in nothing but the names it knows."""
    for path in (library, *library.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    library.parent.chmod(library.parent.stat().st_mode | 0o011)


def _identity(name: str) -> dict[str, Any]:
    account = pwd.getpwnam(name)
    if 0 in (account.pw_uid, account.pw_gid):
        raise NoSandbox(f"The user {name!r} has root's rights.")
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def _probe(name: str, words: list[str]) -> bytes:
    try:
        process = start(name, PROBE, words, subprocess.PIPE)
        try:
            answer, said = process.communicate(timeout=TRY_SECONDS)
        finally:
            end_user(process, name)
        if process.returncode == 0:
            return answer
        why = " ".join(said.decode(errors="replace").split())[-200:]
    except (OSError, subprocess.TimeoutExpired) as error:
        why = str(error)
    raise NoSandbox(f"The user {name!r} cannot run Python with NumPy here ({why}).")


def _has_processes(uid: int) -> bool:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == uid:
                return True
    return False
