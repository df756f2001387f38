"""Gradescope's autograder in folders laid out as there: the learner's code is another user, who gets at nothing.

It needs root, who makes a user for it and removes that user again.
"""

import contextlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from grader.deploy import write_gradescope_zip
from grader.lessons.checks import TASKS
from grader.lessons.stubs import contract_imports
from grader.run import user_sandbox
from grader.run.sandbox import NoSandbox

USER, TASK = f"dspark-test-{os.getpid()}", TASKS["2.5"]
SITE = str(Path(np.__file__).parent.parent)
RIGHT = contract_imports(TASK.reference_source) + TASK.reference_source
# Each returns something true where it has reached what it must not; ROOT is the autograder's folder.
ATTACKS = {
    "rewrites the results": "return open('ROOT/results/results.json', 'w').write('{\"score\": 92}')",
    "makes the results folder its own": "os.rename('ROOT/results', 'ROOT/old'); os.mkdir('ROOT/results'); return True",
    "reads the hidden cases": "return open('ROOT/source/kit/grader/lessons/hidden/lesson_02.py').read()",
    "lists the kit": "return os.listdir('ROOT/source')",
    "reads the secret": "return open('ROOT/source/secret').read()",
    "reads the submission": "return os.listdir('ROOT/submission')",
    "lists the grading's temporary files": "return os.listdir(os.path.dirname(sys.path[0]))",
    "changes the child's library": "return open(sys.path[0] + '/grader/__init__.py', 'a')",
    "reads the grader's environment": "return open(f'/proc/{os.getppid()}/environ').read()",
    "leaves a process": "return os.fork() or time.sleep(1000)",
    "starts a program": "return subprocess.Popen(['/bin/sleep', '1000'])",
    "kills the grader": "os.kill(os.getppid(), 9); return True",
    "opens a socket": "return socket.socket()",
    "becomes root": "os.setuid(0); return True",
    "keeps groups": "return [group for group in os.getgroups() if group != os.getgid()]",
}


class Autograder:
    """The zip, unpacked in a folder that stands for /autograder, with a program that stands for the installed one."""

    def __init__(self, root: Path, python: str) -> None:
        self.root = root
        for name in ("submission", "results", "source"):
            (root / name).mkdir(0o755)
        write_gradescope_zip(root / "autograder.zip", "the secret", None)
        with zipfile.ZipFile(root / "autograder.zip") as archive:
            archive.extractall(root / "source")
        (root / "autograder.zip").unlink()
        close = (root / "source" / "setup.sh").read_text().splitlines()[-1].replace("/autograder", str(root))
        subprocess.run(["bash", "-c", close], check=True)
        path = f"PYTHONPATH={root}/source/kit:{SITE} PATH=/usr/bin:/bin"
        script = (root / "source" / "run_autograder").read_text().replace("/autograder", str(root))
        script = script.replace("/opt/dspark_mini/bin/dspark-mini", f"env {path} {python} -m dspark_mini")
        self.script = script.replace("student-code", USER)

    def run(self, code: str) -> subprocess.CompletedProcess[str]:
        """Grade what was handed in."""
        (self.root / "results" / "results.json").unlink(missing_ok=True)
        (self.root / "submission" / "mine.py").write_text(code)
        return subprocess.run(["bash", "-c", self.script], capture_output=True, text=True, timeout=300)

    def points(self) -> dict[str, float]:
        """The points by task."""
        results = json.loads((self.root / "results" / "results.json").read_text())
        return {test["name"].split()[1]: test["score"] for test in results["tests"]}


@pytest.fixture(scope="module")
def autograder() -> Iterator[Autograder]:
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("useradd") is None:
        pytest.skip("only root can make a user")
    subprocess.run(["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", USER], check=True)
    root = Path(tempfile.mkdtemp(prefix="dspark-test-"))
    root.chmod(0o755)
    try:
        look = f"import sys; sys.path[:0] = [{SITE!r}]; import numpy"
        for python in (os.path.realpath(sys.executable), "/usr/bin/python3"):
            with contextlib.suppress(OSError, subprocess.CalledProcessError):
                command = [python, "-I", "-S", "-c", look]
                subprocess.run(command, user=USER, extra_groups=[], capture_output=True, cwd="/", check=True)
                yield Autograder(root, python)
                return
        pytest.skip("another user cannot run Python with NumPy here")
    finally:
        subprocess.run(["userdel", USER], check=True, capture_output=True)
        shutil.rmtree(root)


def test_hostile_code_reaches_nothing_and_its_points_are_its_own(autograder: Autograder) -> None:
    looks = "".join(
        f"def look_{n}():\n{textwrap.indent(body.replace('ROOT', str(autograder.root)), '    ')}\n"
        f"try: found += [{name!r}] if look_{n}() else []\nexcept Exception: pass\n"
        for n, (name, body) in enumerate(ATTACKS.items())
    )
    spoil = f"if found:\n    def {TASK.function}(*a): raise ValueError(str(found))\n"
    done = autograder.run(f"import math, os, socket, subprocess, sys, time\nfound = []\n{looks}\n{RIGHT}\n{spoil}")
    assert done.returncode == 0, done.stderr
    assert autograder.points()[TASK.id] == TASK.max_points, done.stdout
    assert sum(autograder.points().values()) == TASK.max_points
    assert not user_sandbox._has_processes(pwd.getpwnam(USER).pw_uid)
    assert sorted(path.name for path in autograder.root.iterdir()) == ["results", "source", "submission"]


def test_ending_one_process_ends_all_of_the_user(autograder: Autograder) -> None:
    uid = pwd.getpwnam(USER).pw_uid
    other, one = (subprocess.Popen(["/bin/sleep", "1000"], user=uid, start_new_session=True, cwd="/") for _ in range(2))
    user_sandbox.end_user(one, USER)
    assert other.wait(10) == -9


def test_what_the_user_could_reach_is_refused_before_anything_runs(autograder: Autograder) -> None:
    for place, mode in {"source": 0o755, "results": 0o777}.items():
        script, autograder.script = autograder.script, autograder.script.replace("chmod 700", ": ")
        (autograder.root / place).chmod(mode)
        subprocess.run(["chmod", "-R", "go+rX", autograder.root / "source" / "kit"], check=True)
        done = autograder.run(RIGHT)
        autograder.script = script
        (autograder.root / place).chmod(0o700)
        assert done.returncode == 2 and f"can read or replace {autograder.root}" in done.stderr
        assert not (autograder.root / "results" / "results.json").exists()


@pytest.mark.parametrize(("user", "why"), [("root", "is root"), ("no-such-user", "There is no user")])
def test_root_and_users_that_are_not_there_are_refused(user: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(NoSandbox, match=why):
        user_sandbox.require_user(user, [])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoSandbox, match="only root can"):
        user_sandbox.require_user(user, [])
