"""Where the jobs of a batch run: in processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from grader.lessons.paths import ROOT
from grader.read.submissions import Source
from grader.run.grading import not_graded
from grader.run.kit import secret_in_use
from grader.run.own_process import ONE_THREAD
from grader.run.process import Sandbox, child_library
from grader.run.worker import GRACE_SECONDS

COMMAND = (
    "import json, sys; sys.path[:0] = json.loads(sys.argv[1]); from grader.run.worker import main; main(*sys.argv[2:])"
)


class Pool(Protocol):
    """Runs jobs, several at a time."""

    @property
    def width(self) -> int:
        """How many jobs it wants to have at a time."""
        ...

    def submit(self, source: Source) -> Future[dict[str, Any]]:
        """Start a job, or queue it; its future holds the result of the submission."""
        ...


class Worker:
    """A process that grades; it is started when needed, and again after it has died."""

    def __init__(self, library: Path, scratch: Path, sandbox: Sandbox) -> None:
        # Not the folder that the command was typed in: a submission there may be called numpy.py.
        paths = [str(ROOT), *(path for path in sys.path if path not in ("", os.getcwd()))]
        options = (str(library), str(scratch), json.dumps(sandbox))
        self._command = [sys.executable, "-I", "-c", COMMAND, json.dumps(paths), *options]
        self._scratch, self._stopped, self._lock = scratch, False, Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def grade(self, source: Source) -> dict[str, Any]:
        """Grade one submission; if the process dies, the result says so."""
        request = {"name": source.name, "path": str(source.path.absolute()), "unreadable": source.unreadable}
        request["secret"] = secret_in_use()
        try:
            process = self._running()
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            result: dict[str, Any] = json.loads(process.stdout.readline())
        except (OSError, ValueError):
            self._end()
            return not_graded(source, "The process that graded it ended without a result.").to_json()
        return result

    def stop(self) -> None:
        """End the process for good."""
        with self._lock:
            self._stopped = True
        self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._stopped:
                raise ProcessLookupError
            if self._process is None:
                self._process = subprocess.Popen(
                    self._command,
                    cwd=self._scratch,
                    env=os.environ | ONE_THREAD,  # many processes share the cores
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    start_new_session=True,  # Ctrl-C is for the one who started it
                )
            return self._process

    def _end(self) -> None:
        """Terminate the process, so that it ends the learner's too; kill it if that fails."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # a request that it never read
                stream.close()  # type: ignore[union-attr]


class LocalPool:
    """Processes of this machine, each with a thread that waits for it."""

    def __init__(self, workers: list[Worker], threads: ThreadPoolExecutor) -> None:
        self.width, self._threads = len(workers), threads
        self._idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        for worker in workers:
            self._idle.put(worker)

    def submit(self, source: Source) -> Future[dict[str, Any]]:
        """Grade a submission in the next idle process."""
        return self._threads.submit(self._grade, source)

    def _grade(self, source: Source) -> dict[str, Any]:
        worker = self._idle.get()
        try:
            return worker.grade(source)
        finally:
            self._idle.put(worker)


@contextlib.contextmanager
def local_pool(jobs: int, scratch: Path, sandbox: Sandbox) -> Iterator[LocalPool]:
    """Open a pool of processes on this machine; whatever still runs at the end is terminated.

    Args:
        jobs: how many submissions at a time.
        scratch: folder for temporary files.
        sandbox: isolate the submissions' code.
    """
    with child_library() as library, ThreadPoolExecutor(jobs) as threads:
        if isinstance(sandbox, str):
            from grader.run.user_sandbox import open_library

            open_library(library)
        workers = [Worker(library, scratch, sandbox) for _ in range(jobs)]
        try:
            yield LocalPool(workers, threads)
        finally:
            for worker in workers:
                worker.stop()
