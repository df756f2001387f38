"""Grading on a Dask cluster: two workers, the same results as on this machine, and refusals that say what to do."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import grader.run.cluster as cluster
from grader.read.submissions import Source
from grader.run.batch import grade_batch, jobs_of
from grader.run.journal import Journal
from grader.run.pools import local_pool

distributed = pytest.importorskip("distributed")
Make = Callable[..., Path]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(host="127.0.0.1", protocol="tcp://", **options) as started:
        yield started.scheduler_address


def test_cluster_gives_the_same_results_as_this_machine(address: str, make_notebook: Make, tmp_path: Path) -> None:
    paths = [make_notebook(f"s{number}/lesson.ipynb", solved=number != 1) for number in range(3)]
    (tmp_path / "link.ipynb").symlink_to(paths[0])
    sources = [Source(path.parent.name, path) for path in [*paths, tmp_path / "link.ipynb"]]
    jobs, results = jobs_of(sources, sandbox=False), []
    for number, opened in enumerate((cluster.cluster_pool(address, False), local_pool(2, tmp_path, False))):
        with Journal(tmp_path / f"journal-{number}") as journal, opened as pool:
            results.append(json.dumps(list(grade_batch(jobs, pool, journal))))
    assert results[0] == results[1]
    assert [result["status"] for result in json.loads(results[0])] == ["pass", "missing", "pass", "unreadable"]


def test_worker_with_another_kit_grades_nothing() -> None:
    with pytest.raises(RuntimeError, match="another version"):
        cluster.grade_content("ann", "lesson.ipynb", b"", False, "another kit", "")


def test_address_where_nobody_answers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE_SECONDS", 0.5)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        with pytest.raises(cluster.NoCluster, match="No Dask scheduler answers"), cluster.cluster_pool(address, False):
            pass
