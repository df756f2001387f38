"""A folder for all temporary files of a grading or check, which is cleared away even where that is killed.

A small process waits for the end of the one that started it, however that comes, and then deletes the folder.
"""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Other processes of the grading may need a few seconds to end, and write until then.
GUARD = """
import os, shutil, sys, time
sys.stdin.read()
for _ in range(200):
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    if not os.path.lexists(sys.argv[1]):
        break
    time.sleep(0.05)
"""


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a folder, in which this process makes its temporary files and folders until it is deleted at the end."""
    folder = Path(tempfile.gettempdir(), f"dspark-mini-batch-{secrets.token_hex(8)}")
    command = [sys.executable, "-I", "-S", "-c", GUARD, str(folder)]
    guard = subprocess.Popen(command, stdin=subprocess.PIPE, cwd="/", start_new_session=True)
    before = tempfile.tempdir
    try:
        folder.mkdir(0o700)
        tempfile.tempdir = str(folder)
        yield folder
    finally:
        tempfile.tempdir = before
        guard.communicate()
