"""How tests type commands: in this process, or in one of its own where streams, signals or exit codes matter."""

import os
import subprocess
import sys
from pathlib import Path

from typer.testing import CliRunner

from dspark_mini import cli
from dspark_mini.workspace import ROOT, UserError


def typed(*words: object) -> str:
    """Type a command, and return what it printed or the sentence that refused it."""
    done = CliRunner().invoke(cli.app, list(map(str, words)))
    if isinstance(done.exception, UserError):
        return str(done.exception)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def refused(*words: object) -> str:
    """Return the one sentence with which a command is refused."""
    done = CliRunner().invoke(cli.app, list(map(str, words)))
    assert isinstance(done.exception, UserError) and not done.output.strip(), done.output
    sentence = str(done.exception)
    assert len(sentence.splitlines()) == 1 and sentence.endswith(".")
    return sentence


def command(*words: object) -> list[str]:
    """Return the words of `dspark-mini` in this Python."""
    return [sys.executable, "-m", "dspark_mini", *map(str, words)]


def variables(**more: str) -> dict[str, str]:
    """Return an environment for it."""
    return os.environ | {"COLUMNS": "120", "NO_COLOR": "1", "PYTHONPATH": str(ROOT)} | more


def type_in(folder: Path, *words: object, **more: str) -> subprocess.CompletedProcess[str]:
    """Type a command in a directory, in a process of its own."""
    done = subprocess.run(
        command(*words), cwd=folder, env=variables(**more), capture_output=True, text=True, timeout=300
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done
