"""A process for one's own work, without a sandbox, on any system.

It has limits of time and memory only: it can do whatever its user can do, and a process that it moves into a session of
its own outlives it. On Windows there is no limit of memory, and what the process starts outlives it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

ONE_THREAD = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
QUIET = ONE_THREAD | {"PATH": os.defpath}
# Without the first, Python does not start on Windows; the others lead to libraries and to a folder for temporary files.
WINDOWS_VARIABLES = ("SYSTEMROOT", "PATH", "TEMP", "TMP")
NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)  # nor Ctrl-C, which is for the one who started it


def start(arguments: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start Python, with pipes for its standard input and output.

    Args:
        arguments: What follows `python -I -S`.
        folder: The process's current directory.
    """
    return subprocess.Popen(
        [sys.executable, "-I", "-S", *arguments],
        cwd=folder,
        env=_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # does nothing on Windows
        creationflags=NO_WINDOW,
    )


def end(process: subprocess.Popen[bytes]) -> None:
    """End the process, and what it has started and left in its session."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _environment() -> dict[str, str]:
    if "SYSTEMROOT" not in os.environ:
        return QUIET
    return QUIET | {name: os.environ[name] for name in WINDOWS_VARIABLES if name in os.environ}
