"""Grading on a Dask cluster: the jobs of a batch become its tasks, and Dask alone decides where and when they run.

The workers need the repository, in the same version, and what a sandbox needs. They need none of the files: the content
of each submission goes along with its job.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.read.submissions import Source, plain_content
from grader.run.kit import kit_fingerprint, secret_in_use, use_secret
from grader.run.process import Sandbox, child_library
from grader.run.worker import graded

if TYPE_CHECKING:
    from distributed import Client

PATIENCE_SECONDS = 20
SPARE = 2  # jobs per thread beyond the one that runs, so that no thread waits for the next


class NoCluster(Exception):
    """The cluster cannot be used; the message is a sentence that says why."""


class ClusterPool:
    """The workers of a Dask cluster."""

    def __init__(self, client: Client, sandbox: Sandbox) -> None:
        self._client, self._sandbox = client, sandbox
        self._executor, self._had_workers = client.get_executor(pure=False), time.monotonic()

    @property
    def width(self) -> int:
        """How many jobs the cluster should have at a time; it grows with the cluster.

        Raises:
            NoCluster: The scheduler is gone, or has had no worker for a while.
        """
        try:
            threads: dict[str, int] = self._client.nthreads()
        except OSError:
            raise NoCluster("The Dask scheduler is gone; type the same command with --resume to go on.") from None
        now = time.monotonic()
        self._had_workers = now if threads else self._had_workers
        if now - self._had_workers > PATIENCE_SECONDS:
            raise NoCluster("The Dask cluster has lost all workers; type the same command with --resume to go on.")
        return max(1, SPARE * sum(threads.values()))

    def submit(self, source: Source) -> Future[dict[str, Any]]:
        """Send a submission to the cluster; one that cannot be read is answered here."""
        content = plain_content(source)
        if content is None:
            future: Future[dict[str, Any]] = Future()
            future.set_result(graded(source, Path(), self._sandbox))
            return future
        job = (source.name, source.path.name, content, self._sandbox, kit_fingerprint(), secret_in_use())
        sent: Future[dict[str, Any]] = self._executor.submit(grade_content, *job)
        return sent

    def stop(self) -> None:
        """Cancel what has not started."""
        self._executor.shutdown(wait=False)


@contextlib.contextmanager
def cluster_pool(address: str, sandbox: Sandbox) -> Iterator[ClusterPool]:
    """Connect to a Dask cluster.

    Args:
        address: of its scheduler, such as tcp://10.0.0.1:8786.
        sandbox: isolate the submissions' code.

    Raises:
        NoCluster: Dask is not installed here, or the cluster does not answer, has no workers, or has another kit.
    """
    try:
        from distributed import Client
    except ImportError:
        raise NoCluster('Dask is not installed here; `pip install -e ".[grade]"` brings it.') from None
    try:
        client = Client(address, timeout=PATIENCE_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise NoCluster(f"No Dask scheduler answers at {address}.") from error
    with client:
        _check_workers(client, address)
        pool = ClusterPool(client, sandbox)
        try:
            yield pool
        finally:
            pool.stop()


def grade_content(name: str, file: str, content: bytes, sandbox: Sandbox, kit: str, secret: str) -> dict[str, Any]:
    """Grade a submission, on a machine that does not have its file.

    Args:
        name: the submission's name.
        file: the name of its file.
        content: what the file holds.
        sandbox: isolate the submission's code.
        kit: kit_fingerprint() of the one who asks.
        secret: That hidden cases are drawn with.

    Raises:
        RuntimeError: the kit here is another one, whose scores may differ.
    """
    if kit != kit_fingerprint():
        raise RuntimeError("The worker has another version of the kit.")
    use_secret(secret)
    with tempfile.TemporaryDirectory(prefix="dspark-mini-") as folder, child_library() as library:
        path = Path(folder, Path(file).name)
        path.write_bytes(content)
        return graded(Source(name, path), library, sandbox)


def _check_workers(client: Client, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
        kits = client.run(kit_fingerprint)
    except TimeoutError:
        raise NoCluster(f"The Dask cluster at {address} has no workers yet.") from None
    except Exception as error:
        raise NoCluster(
            f"The workers of {address} do not have the kit ({type(error).__name__}); install the repository there."
        ) from error
    others = [worker for worker, kit in kits.items() if kit != kit_fingerprint()]
    if others:
        raise NoCluster(f"The worker {others[0]} has another version of the kit or of own lessons.")
