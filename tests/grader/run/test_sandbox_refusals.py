"""What is said where the sandbox cannot start: why, what to do about it, and the way to grade without one."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from grader.read.submissions import Source
from grader.run import sandbox
from grader.run.grading import grade
from grader.run.sandbox import NoSandbox, require_sandbox

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the sandbox is for Linux")


def refusal() -> str:
    """What require_sandbox says, which always names the way out."""
    with pytest.raises(NoSandbox) as caught:
        require_sandbox()
    assert "--unsafe-no-sandbox" in str(caught.value) and str(caught.value).endswith(".")
    return str(caught.value)


def test_the_refusal_says_what_is_missing_and_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        assert "sudo apt install bubblewrap" in refusal()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "darwin")
        assert "needs Linux" in refusal()
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    sandbox.denied_rules.cache_clear()
    assert 'pip install -e ".[grade]"' in refusal()


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bubblewrap that is not allowed to do its work."""
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_where_bubblewrap_fails_the_refusal_repeats_its_words_or_names_the_setting(
    broken: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "FORBIDDING", {})
    assert "setting up uid map: Permission denied" in refusal()
    now = Path("/proc/sys/user/max_user_namespaces").read_text().strip()
    monkeypatch.setattr(sandbox, "FORBIDDING", {"user.max_user_namespaces": (now, "10000")})
    assert "`sudo sysctl user.max_user_namespaces=10000`" in refusal()


def test_a_submission_is_not_graded_at_all_where_the_sandbox_fails(broken: None, quick: Path, tmp_path: Path) -> None:
    file = tmp_path / "right.py"
    file.write_text("def dflash_parallel_candidates(x):\n    return x\n")
    with pytest.raises(NoSandbox):
        grade(Source("right", file), quick)


def test_a_box_that_takes_its_time_to_end_is_ended_all_the_same() -> None:
    process = subprocess.Popen(["sleep", "60"])  # no child inside, as before bubblewrap has started one
    sandbox.end(process)
    assert process.returncode == -signal.SIGKILL
