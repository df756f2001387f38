"""What a score depends on besides the code: the kit's files and the instructor's secret.

Results of two versions, or of two secrets, are never mixed; with the same ones the same code scores alike.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from functools import cache
from pathlib import Path

from dspark_mini.workspace import own_files, own_lessons
from grader.lessons.paths import ROOT

KIT_FILES = (
    "grader/**/*.py",
    "grader/lessons/hidden/*.safetensors",
    "dspark_mini/*.py",
    "dspark_mini/recordings/*",
    "notebooks/*.ipynb",
)


@cache
def kit_fingerprint() -> str:
    """Return a hash of every file of the kit that can affect a score."""
    digest = hashlib.sha256()
    files = [(path, ROOT) for path in sorted({path for pattern in KIT_FILES for path in ROOT.glob(pattern)})]
    files += [(path, own_lessons()) for pattern in ("*.py", "*.ipynb") for path in own_files(pattern)]
    for path, folder in files:
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def grading_seed(task: str) -> int:
    """Return the seed of a task's hidden cases in grading: the same for all submissions, today and tomorrow."""
    return int(hashlib.sha256(f"{kit_fingerprint()} {_secret} {task}".encode()).hexdigest(), 16)


def grading_fingerprint() -> str:
    """Return a hash of all that a score depends on besides the code; it does not give the secret away."""
    return hashlib.sha256(f"{kit_fingerprint()} {grading_seed('')}".encode()).hexdigest()


_secret = ""


def use_secret(secret: str) -> None:
    """Draw hidden cases with this secret from now on, in this process."""
    global _secret
    _secret = secret


def secret_in_use() -> str:
    """Return the secret, for a process that grades on behalf of this one."""
    return _secret


def secret_from(file: Path | None) -> str:
    """Read the instructor's secret from a file, which is made once with a random one.

    Args:
        file: The file; without one it is in the user's own configuration.

    Raises:
        OSError: The file can be neither read nor made.
        ValueError: It is empty, or is not text.
    """
    file = file or Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "dspark-mini" / "secret"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_name(f"{file.name}.{os.getpid()}")
        part.touch(mode=0o600)
        part.write_text(secrets.token_hex(32) + "\n", encoding="ascii")
        with contextlib.suppress(FileExistsError):  # another grading was faster: its secret counts
            os.link(part, file)
        part.unlink()
    secret = file.read_text(encoding="utf-8").strip()
    if not secret:
        raise ValueError(f"The secret file {file} is empty; delete it, and a new secret is made.")
    return secret
