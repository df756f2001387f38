"""What one run of a grader takes: seconds and processor time."""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from grader.lessons.paths import ROOT


@dataclass
class Measured:
    """What one run took."""

    seconds: float
    processor_seconds: float
    results: dict[str, float] = field(default_factory=dict)


def words(folder: Path, target: Path, options: argparse.Namespace, *more: str) -> list[str]:
    command = [sys.executable, "-m", "dspark_mini.cli", "grade", str(folder), "--jobs", str(options.jobs)]
    unsafe = ["--unsafe-no-sandbox"] if options.unsafe_no_sandbox else []
    return [*command, "--json", str(target), *unsafe, *more]


def dspark(folder: Path, target: Path, options: argparse.Namespace) -> Measured:
    measured = timed(words(folder, target, options), ROOT, dict(os.environ))
    measured.results = {result["submission"]: result["score"] for result in json.loads(target.read_text())}
    return measured


def timed(command: list[str], folder: Path, environment: dict[str, str]) -> Measured:
    """Run a command to its end."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(seconds, used)
