"""The sandbox: what code in it can see and do, what it costs others, and what is said where it cannot be had."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.run import process, sandbox
from grader.run.child.calling import Outcome, call
from grader.run.process import Child, Piece, child_library
from tests.grader.run.conftest import HANGS, asked

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox is for Linux")
Start = Callable[..., Child]

# The submission that looks around. What it finds comes back as plain data.
LOOKS = r"""
import ctypes, importlib, os, pathlib, resource, signal, socket, subprocess, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)

def good(x):
    return x + 1

def evaluates(expression):
    return eval(expression)

def starts(how):
    if how == "fork":
        os.fork()
    elif how == "thread":
        threading.Thread(target=print).start()
    elif how == "spawn":
        os.posix_spawn(sys.executable, ["python"], {})
    elif how == "program":
        subprocess.run([sys.executable, "-c", "pass"])

def writes(path):
    with open(path, "w") as file:
        file.write("x")

def changes(path):
    done = []
    for act in (os.remove, lambda p: os.chmod(p, 0o777), lambda p: os.rename(p, p + "x"), lambda p: os.truncate(p, 0)):
        try:
            act(path)
            done.append(str(act))
        except OSError:
            pass
    return done

def fills_the_folder():
    size = 0
    try:
        for number in range(200):
            with open(f"/tmp/{number}", "wb") as file:
                size += file.write(bytes(1 << 19))
    except OSError:
        return size

def opens_many():
    files = []
    while True:
        files.append(open("/dev/null"))

def limits():
    names = ("AS", "CPU", "FSIZE", "NOFILE", "CORE")
    return [resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in names]

def rights():
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, data) == 0
    bounding, no_new_privileges = [libc.prctl(23, n, 0, 0, 0) for n in range(41)], libc.prctl(39, 0, 0, 0, 0)
    return [list(data), bounding, no_new_privileges, os.getuid(), os.getgid()]

def calls_system(name, *arguments):
    return [getattr(libc, name)(*arguments), ctypes.get_errno()]

def sleeps(seconds):
    time.sleep(seconds)
"""


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files for a child, in a folder whose name marks the processes of these tests."""
    with child_library() as folder:
        yield shutil.copytree(folder, tmp_path_factory.mktemp("sandbox") / "kit")


@pytest.fixture(scope="module")
def looks(kit: Path) -> Iterator[Child]:
    os.environ["DSPARK_SECRET"] = "do not tell"
    child = Child(kit, [Piece(LOOKS, "cell")])
    del os.environ["DSPARK_SECRET"]
    assert not child.errors
    yield child
    child.close()


@pytest.fixture
def start(kit: Path) -> Iterator[Start]:
    """A function that starts a child of its own; all of them are closed again."""
    children: list[Child] = []

    def make(*sources: str) -> Child:
        children.append(Child(kit, [Piece(source, f"cell {i}") for i, source in enumerate((LOOKS, *sources))]))
        return children[-1]

    yield make
    for child in children:
        child.close()


def told(child: Child, expression: str) -> Outcome:
    return asked(child, "evaluates", expression)


def in_folder(child: Child, folder: str) -> list[str]:
    names: list[str] = told(child, f"sorted(os.listdir({folder!r}))").value
    return names


def in_space(space: str) -> list[str]:
    """The processes of a process namespace."""
    found = []
    for link in Path("/proc").glob("[0-9]*/ns/pid"):
        try:
            if os.readlink(link) == space:
                found.append(link.parts[2])
        except OSError:
            continue
    return found


def test_the_root_holds_python_numpy_and_the_kit_only(looks: Child) -> None:
    assert set(in_folder(looks, "/")) <= {*("dev", "etc", "kit", "lib", "lib64", "python", "site", "tmp", "usr")}
    assert in_folder(looks, "/kit") == ["dspark_mini", "grader"]
    assert set(in_folder(looks, "/site")) <= {"numpy", "numpy.libs"}
    assert in_folder(looks, "/dev") == ["null", "urandom", "zero"]
    assert set(in_folder(looks, "/etc")) <= {"alternatives", "ld.so.cache"}
    assert set(in_folder(looks, "/usr")) <= {"bin", "lib", "lib64"}
    assert in_folder(looks, "/tmp") == []
    for name in ("numpy", "dspark_mini.inputs", "grader", "sqlite3"):
        assert told(looks, f"importlib.import_module({name!r}).__name__") == Outcome(value=name)
    for name in ("dspark_mini.drafting", "grader.lessons.checks", "grader.run.sandbox", "nbformat", "pip"):
        assert told(looks, f"importlib.import_module({name!r}).__name__").error == "ModuleNotFoundError"


def test_neither_paths_nor_the_environment_tell_anything(looks: Child) -> None:
    assert told(looks, f"os.path.exists({str(process.ROOT)!r})").value is False
    seen = str(told(looks, "[sys.executable, sys.prefix, os.getcwd(), *sys.path, *sys.argv]").value)
    assert str(process.ROOT) not in seen and str(Path.home()) not in seen
    environment = told(looks, "dict(os.environ)").value
    assert set(environment) <= {*sandbox.QUIET, "LD_LIBRARY_PATH", "PWD", "LC_CTYPE"}
    assert "do not tell" not in str(environment) and told(looks, "os.uname().nodename").value == "sandbox"


REFUSED: dict[str, list[int]] = {
    **{"ptrace": [0] * 4, "unshare": [0x10000000], "setns": [0] * 2, "mount": [0] * 5, "umount2": [0] * 2},
    **{"chroot": [0], "personality": [0], "shmget": [0, 4096, 0o1600], "memfd_create": [0] * 2},
    **{"process_vm_readv": [1, *[0] * 5], "name_to_handle_at": [0] * 5},
}


def test_there_are_no_rights_and_nothing_can_be_started_or_called_that_no_exercise_needs(looks: Child) -> None:
    capabilities, bounding, no_new_privileges, user, group = asked(looks, "rights").value
    assert capabilities == [0] * 6 and not any(n == 1 for n in bounding) and no_new_privileges == 1
    assert (user, group) == (65534, 65534)
    for name, arguments in REFUSED.items():
        assert asked(looks, "calls_system", name, *arguments).value == [-1, 1], name
    for how in ("fork", "thread", "spawn", "program"):
        assert asked(looks, "starts", how).error in ("PermissionError", "RuntimeError", "BlockingIOError"), how
        assert asked(looks, "good", 1).value == 2


def test_only_the_work_folder_can_be_written_and_nothing_of_the_kit_changed(looks: Child) -> None:
    for folder in ("", "/kit", "/site", "/site/numpy", "/usr/lib", "/dev", "/etc", "/kit/grader"):
        assert asked(looks, "writes", f"{folder}/x").error == "OSError"
    assert asked(looks, "writes", "/tmp/x").error is None
    for path in ("/kit/grader/__init__.py", "/kit/grader/run/child/wire.py", "/site/numpy/__init__.py", "/kit"):
        assert asked(looks, "changes", path).value == []


def test_the_work_folder_is_small_and_empty_for_the_next_child(start: Start) -> None:
    child = start()
    assert 1 << 20 < asked(child, "fills_the_folder").value <= sandbox.WORK_BYTES
    assert in_folder(child, "/tmp") != []
    child.close()
    assert in_folder(child, "/tmp") == [] == in_folder(start(), "/tmp")


def test_there_are_limits_that_nobody_inside_can_raise(looks: Child) -> None:
    limits = asked(looks, "limits").value
    assert limits == [(n, n) for n in (1 << 30, 600, 1 << 20, 64, 0)]
    for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NOFILE"):
        error = told(looks, f"resource.setrlimit(resource.{name}, (-1, -1))").error
        assert error in ("ValueError", "PermissionError")
    assert asked(looks, "opens_many").error == "OSError"


def test_nothing_is_left_when_a_child_is_closed(start: Start) -> None:
    child = start()
    told(child, "os.setsid()")
    (first,) = Path(f"/proc/{child.process.pid}/task/{child.process.pid}/children").read_text().split()
    space = os.readlink(f"/proc/{first}/ns/pid")
    assert len(in_space(space)) == 2
    child.close()
    assert in_space(space) == [] and not Path(f"/proc/{child.process.pid}").exists()


def test_a_sandbox_ends_with_the_process_that_started_it(
    kit: Path, tmp_path: Path, running: Any, still_running: Any
) -> None:
    folder = shutil.copytree(kit, tmp_path / "kit")
    program = (
        "import os, pathlib, time; from grader.run.process import Child, Piece\n"
        f"child = Child(pathlib.Path({str(folder)!r}), [Piece('', 'cell')]); print('up', flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=process.ROOT, stdout=subprocess.PIPE)
    assert parent.stdout is not None and parent.stdout.readline() == b"up\n" and running(f"{folder}")
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    assert still_running(f"{folder}") == []


def test_a_task_has_a_budget_and_the_next_one_its_own(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "TASK_SECONDS", 0.8)
    child, begin = start("def other(x):\n    return x"), time.monotonic()
    got = child.outcomes("sleeps", [call(0.3)] * 10)
    assert got == [Outcome()] * (len(got) - 1) + [HANGS] and len(got) <= 4
    assert asked(child, "sleeps", 0.0) == HANGS and time.monotonic() - begin < 6
    monkeypatch.setattr(process, "TASK_SECONDS", 60.0)
    assert asked(child, "other", 7).value == 7
    child.clock.left = 0.0  # the submission's own budget
    assert asked(child, "other", 7) == HANGS
