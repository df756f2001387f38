"""Grading a batch: several submissions at a time, each result saved at once, resumable after an interruption.

A job is known by a key: a hash of the submission's name, of its content, of the kit and the secret, and of whether the
sandbox was there. Resuming a batch takes the results with the same keys from the journal and grades the rest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any

from grader.read.submissions import Source, plain_content
from grader.run.grading import not_graded
from grader.run.journal import Journal, Results
from grader.run.kit import grading_fingerprint
from grader.run.pools import Pool
from grader.run.process import Sandbox

WAIT_SECONDS = 0.2  # how long until an interruption is noticed


class Interrupted(Exception):
    """The batch was asked to stop; the results known by then are in the journal."""


@dataclass(frozen=True)
class Job:
    """A submission and the key of its result."""

    source: Source
    key: str


def jobs_of(sources: Iterable[Source], sandbox: Sandbox) -> list[Job]:
    """Make a job of every submission; two have the same key only where all that decides on the result is the same."""
    return [Job(source, _key(source, sandbox)) for source in sources]


def grade_batch(
    jobs: list[Job],
    pool: Pool,
    journal: Journal,
    resume: bool = False,
    on_result: Callable[[int], None] = lambda number: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Results:
    """Grade a batch.

    Args:
        jobs: the submissions.
        pool: where they are graded.
        journal: where each result is saved as soon as it is known.
        resume: take the results that the journal has already; without it, all are graded anew.
        on_result: called with the number of results that have become known.
        stopped: Asked repeatedly whether to stop.

    Returns:
        The results, in the order of the jobs, whatever the order in which they became known.

    Raises:
        Interrupted: Because stopped() returned true; every result known by then is in the journal.
    """
    left = [job for job in jobs if not (resume and job.key in journal and "reason" not in journal[job.key])]
    on_result(len(jobs) - len(left))
    for job, result in _run(left, pool, stopped):
        journal.add(job.key, result)
        on_result(1)
    keys = [job.key for job in jobs]
    journal.keep_only(keys)
    return Results(journal, keys)


def _run(jobs: Iterable[Job], pool: Pool, stopped: Callable[[], bool]) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Run as many jobs at a time as the pool takes, and yield each result as soon as it is known."""
    waiting, running = iter(jobs), dict[Future[dict[str, Any]], Job]()
    while True:
        while len(running) < pool.width and (job := next(waiting, None)) is not None:
            running[pool.submit(job.source)] = job
        if not running:
            return
        done, _ = wait(running, WAIT_SECONDS, FIRST_COMPLETED)
        for future in done:
            job = running.pop(future)
            yield job, _result(future, job)
        if stopped():
            raise Interrupted


def _result(future: Future[dict[str, Any]], job: Job) -> dict[str, Any]:
    try:
        return future.result()
    except Exception as error:
        reason = f"The process that graded it ended without a result ({type(error).__name__})."
        return not_graded(job.source, reason).to_json()


def _key(source: Source, sandbox: Sandbox) -> str:
    content = plain_content(source)
    parts = (source.name, source.path.name, grading_fingerprint(), str(sandbox), source.unreadable)
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass"))
    digest.update(b"\0" if content is None else hashlib.sha256(content).digest())
    return digest.hexdigest()
