"""A bubblewrap sandbox for one child process, with Python, NumPy, the kit and the system's libraries, read-only.

Inside there is no repository, no home, no network, no environment, no /proc, no other process, and nothing that can
be written but a small folder in memory. A deny-list of system calls (libseccomp) refuses what is left: new processes
and threads, sockets, tracing, mounts, namespaces, and the parts of the kernel that exercises never need.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

import numpy as np

from grader.run.denied_calls import DENIED
from grader.run.own_process import QUIET

KIT, SITE, WORK = "/kit", "/site", "/tmp"  # the names of these folders inside
WORK_BYTES = 16 << 20
NOBODY = "65534"
UNKNOWN = -1  # libseccomp's number of an unknown call
TRY_SECONDS = 60.0
KERNEL_COUNTS = Path("/proc/vmstat")
KILLED_SECONDS = 0.2  # how long a process that has closed its pipes may take to be gone
NO_NAMESPACES = re.compile(r"namespace|uid map|Operation not permitted|Permission denied")
ELSE = " To grade code that you trust without a sandbox, add --unsafe-no-sandbox."
# Settings that forbid what bubblewrap needs: the forbidding value, and one that allows it.
FORBIDDING = {
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "user.max_user_namespaces": ("0", "10000"),
}


class NoSandbox(Exception):
    """The sandbox cannot start here; the message says why and what to do, in sentences."""


def require_sandbox() -> None:
    """Start a sandbox with NumPy in it, to see whether this machine allows it.

    Raises:
        NoSandbox: It does not; the message says how to change that.
    """
    with tempfile.TemporaryDirectory(prefix="dspark-mini-") as kit, tempfile.TemporaryFile() as said:
        process = start(Path(kit), ["-c", f"import sys; sys.path[:0] = [{SITE!r}]; import numpy"], said)
        try:
            process.communicate(timeout=TRY_SECONDS)
        except subprocess.TimeoutExpired:
            end(process)
        if process.returncode != 0:
            said.seek(0)
            raise NoSandbox(_why_not(said.read(1 << 16).decode(errors="replace")) + ELSE)


def start(kit: Path, arguments: list[str], errors: IO[bytes] | int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start Python in a sandbox of its own, with pipes for its standard input and output.

    Args:
        kit: Directory that is mounted read-only as KIT.
        arguments: What follows `python -I -S`.
        errors: Where its standard error goes.

    Returns:
        The process of bubblewrap; whatever runs inside ends with it, and it ends with the thread that called this.

    Raises:
        NoSandbox: This is not Linux, or something that the sandbox needs is not installed.
    """
    program, rules = _program(), denied_rules()
    reader, writer = os.pipe()
    with open(reader, "rb") as rules_in:
        with open(writer, "wb") as rules_out:
            rules_out.write(rules)  # far less than a pipe holds
        box = [*_isolation(reader), *_root(), "--ro-bind", str(kit), KIT, "--chdir", WORK, "--remount-ro", "/"]
        return subprocess.Popen(
            [program, *box, "--", f"{_home()}/bin/python3", "-I", "-S", *arguments],
            env=QUIET,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
            pass_fds=(rules_in.fileno(),),
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """End a sandbox; when this returns, nothing that ran in it is left.

    bubblewrap leaves when the first process inside has gone, and with that one the kernel ends all the others.
    """
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        process.wait(1.0)
    process.kill()
    process.wait()


def was_killed(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether a process that has closed its pipes was killed, or bubblewrap says that of what ran inside."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(KILLED_SECONDS) in (-signal.SIGKILL, 128 + signal.SIGKILL)
    return False


def memory_kills() -> int:
    """How many processes the kernel has killed for want of memory, as far as it tells."""
    with contextlib.suppress(OSError):
        found = re.search(r"^oom_kill (\d+)$", KERNEL_COUNTS.read_text(), re.M)
        return int(found[1]) if found else 0
    return 0


def _program() -> str:
    if not sys.platform.startswith("linux"):
        raise NoSandbox("The sandbox needs Linux; on another system, grade in a Linux virtual machine." + ELSE)
    program = shutil.which("bwrap")
    if program is None:
        raise NoSandbox("The sandbox needs bubblewrap: install it with `sudo apt install bubblewrap`." + ELSE)
    return program


@functools.cache
def denied_rules() -> bytes:
    """Compile the deny-list for this machine's processor."""
    try:
        import pyseccomp
    except (ImportError, OSError, RuntimeError):  # the package, or the library that it loads
        raise NoSandbox(
            'The sandbox needs pyseccomp and libseccomp: install them with `pip install -e ".[grade]"` and '
            "`sudo apt install libseccomp2`." + ELSE
        ) from None
    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in DENIED:
        number = pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name)
        if number != UNKNOWN:
            rules.add_rule(pyseccomp.ERRNO(errno.EPERM), number)
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _isolation(rules: int) -> list[str]:
    """Options that take everything away: namespaces, rights, environment, terminal, system calls."""
    environment = QUIET | ({} if _home() == "/usr" else {"LD_LIBRARY_PATH": f"{_home()}/lib"})
    return [
        *("--unshare-all", "--unshare-user", "--uid", NOBODY, "--gid", NOBODY, "--hostname", "sandbox"),
        *("--new-session", "--die-with-parent", "--cap-drop", "ALL", "--seccomp", str(rules), "--clearenv"),
        *(word for name, value in environment.items() for word in ("--setenv", name, value)),
    ]


@functools.cache
def _root() -> tuple[str, ...]:
    """Options that lay out the folders inside, all of them read-only but WORK."""
    options: list[str] = []
    for name in ("/lib", "/lib64"):  # links into /usr, but for old systems
        if os.path.islink(name):
            options += "--symlink", os.readlink(name), name
        elif os.path.isdir(name):
            options += "--ro-bind", name, name
    for source, target in _folders().items():
        if os.path.exists(source):
            options += "--ro-bind", source, target
    for target in _package_folders():
        options += "--tmpfs", target, "--remount-ro", target
    for device in ("/dev/null", "/dev/zero", "/dev/urandom"):
        options += "--dev-bind", device, device
    return (*options, "--size", str(WORK_BYTES), "--tmpfs", WORK)


def _folders() -> dict[str, str]:
    """What of the machine is seen inside, and where: its shared libraries, Python and NumPy."""
    numpy = Path(np.__file__).parent
    libraries = {name: name for name in ("/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/etc/alternatives")}
    python = {f"{sys.base_prefix}/{name}": f"{_home()}/{name}" for name in ("lib", sys.platlibdir)}
    return (
        libraries
        | python
        | {os.path.realpath(sys.executable): f"{_home()}/bin/python3"}
        | {str(numpy): f"{SITE}/numpy", f"{numpy}.libs": f"{SITE}/numpy.libs"}
    )


def _package_folders() -> list[str]:
    """Folders inside that would hold installed packages, among them paths of the repository; they are hidden."""
    return [
        f"{target}/{found.relative_to(source)}"
        for source, target in _folders().items()
        if target.endswith(("lib", sys.platlibdir))
        for found in Path(source).glob("python3*/*-packages")
        if found.is_dir() and not found.is_symlink()
    ]


def _home() -> str:
    """The prefix of Python inside; a system's own has its home in its binary."""
    return "/usr" if sys.base_prefix == "/usr" else "/python"


def _why_not(said: str) -> str:
    """Say in a sentence why bubblewrap did not start, with the command that changes it where that is known."""
    settings = FORBIDDING if NO_NAMESPACES.search(said) else {}
    for setting, (forbids, allows) in settings.items():
        with contextlib.suppress(OSError):
            if Path("/proc/sys", *setting.split(".")).read_text().strip() == forbids:
                return (
                    "The sandbox needs user namespaces, which this system forbids: allow them with "
                    f"`sudo sysctl {setting}={allows}`."
                )
    words = " ".join(said.split())[:300] or "it does not say why"
    return (
        f"The sandbox does not start ({words}). It needs bubblewrap 0.8 or newer and user namespaces, which a "
        "container often forbids: grade outside of it, or start it with `docker run --security-opt seccomp=unconfined "
        "--security-opt apparmor=unconfined`."
    )
