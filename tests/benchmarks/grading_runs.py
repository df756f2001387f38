"""What one run of a grader takes: seconds, processor time and memory."""

import argparse
import json
import os
import re
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
    peak_mib: float = 0.0  # of the process that was started
    workers_mib: float = 0.0  # of the largest of its workers
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
    """Run a command to its end, and watch how much memory it and its workers take."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    peak = workers = 0.0
    while process.poll() is None:
        peak = max(peak, peak_mib(process.pid))
        workers = max([workers, *(peak_mib(pid) for pid in workers_of(process.pid))])
        time.sleep(0.1)
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.stderr is not None
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}: {process.stderr.read()[-2000:]}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(seconds, used, peak, workers)


def peak_mib(pid: int) -> float:
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def workers_of(pid: int) -> list[int]:
    try:
        return [int(c) for path in Path(f"/proc/{pid}/task").glob("*/children") for c in path.read_text().split()]
    except OSError:
        return []
