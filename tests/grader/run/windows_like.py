"""Makes a process on Linux lack what Windows lacks, and so every Python that it starts with -c.

What cannot be copied: open files that cannot be replaced or deleted, backslashes in paths, and a real console.
"""

import builtins
import io
import os
import selectors
import signal
import socket
import subprocess
import sys
import sysconfig
from typing import Any

FILE = globals().get("FILE") or __file__
ABSENT_MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
ABSENT_IN_OS = (
    *("fork", "forkpty", "killpg", "getpgid", "getpgrp", "setpgid", "setsid", "wait", "wait3", "wait4", "waitid"),
    *("chown", "nice", "fchmod", "fchown", "getgid", "getuid", "getegid", "geteuid", "getgroups", "getloadavg"),
    *("memfd_create", "mkfifo", "mknod", "pidfd_open", "pipe2", "posix_spawn", "pread", "pwrite", "sched_getaffinity"),
    *("chroot", "set_blocking", "statvfs", "sysconf", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"),
)
PRESENT_IN_SIGNAL = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN"}
ABSENT_IN_SIGNAL = ("alarm", "getitimer", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "siginterrupt")
KILL, ENCODING = 9, "cp1252"

open_file, rename, Popen = io.open, os.rename, subprocess.Popen


def simulate(platform: bool = True) -> None:
    """Take away what Windows does not have.

    Args:
        platform: Also change the name of the platform, which libraries that are imported later may trip over.
    """
    if subprocess.Popen is Process:
        return
    for name in ABSENT_MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    names = {name for name in dir(signal) if name.startswith(("SIG", "ITIMER"))} - PRESENT_IN_SIGNAL
    for module, absent in ((os, ABSENT_IN_OS), (signal, (*names, *ABSENT_IN_SIGNAL))):
        for name in absent:
            vars(module).pop(name, None)
    os.environ["SYSTEMROOT"] = r"C:\Windows"
    os.rename = _rename
    builtins.open = io.open = _open  # type: ignore[assignment]
    io.text_encoding = lambda encoding, stacklevel=2: encoding or "locale"
    io._WindowsConsoleIO = type("_WindowsConsoleIO", (), {})  # type: ignore[attr-defined]
    selectors._BaseSelectorImpl.register = _register  # type: ignore[attr-defined]
    subprocess.Popen = Process  # type: ignore[misc]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding=ENCODING, errors="strict")  # type: ignore[union-attr]
    if platform:
        import numpy  # noqa: F401
        import rich.console  # noqa: F401
        import typer.testing  # noqa: F401

        sysconfig.get_config_vars()

        sys.platform = "win32"


class Process(Popen):  # type: ignore[type-arg]
    """Starts a process as Windows does."""

    def __init__(self, args: list[str], **options: Any) -> None:
        assert not options.get("preexec_fn") and not options.get("pass_fds"), "not on Windows"
        assert "SYSTEMROOT" in (options.get("env") or os.environ), "Python does not start without it"
        options.pop("start_new_session", None)
        if "-c" in args and FILE not in args[args.index("-c") + 1]:
            at = args.index("-c") + 1
            args = [*args[:at], f"{beginning()}; simulate(platform=False); {args[at]}", *args[at + 1 :]]
        super().__init__(args, **options)

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, KILL)

    terminate = kill


def beginning() -> str:
    """Return code that defines simulate() in another Python."""
    return f"FILE = {FILE!r}; exec(open(FILE, encoding='utf-8').read())"


def _open(
    file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None, *rest: Any, **named: Any
) -> Any:
    if "b" not in mode and encoding in (None, "locale"):
        encoding = ENCODING
    return open_file(file, mode, buffering, encoding, *rest, **named)


def _rename(source: Any, target: Any, **named: Any) -> None:
    if os.path.lexists(target):
        raise FileExistsError(17, "Cannot create a file when that file already exists", target)
    rename(source, target, **named)


def _register(self: Any, fileobj: Any, events: int, data: Any = None) -> Any:
    assert isinstance(fileobj, socket.socket), "Windows selects sockets only"
    raise NotImplementedError
