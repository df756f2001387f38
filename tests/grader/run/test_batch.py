"""Grading a batch: each result saved at once, the same whatever the order, kept through crashes and interruptions."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

import grader.run.kit
from grader.lessons.paths import ROOT
from grader.read.submissions import Source
from grader.run.batch import Interrupted, Job, grade_batch, jobs_of
from grader.run.journal import Journal, JournalInUse, Results, locked
from grader.run.pools import local_pool
from tests.commands import command, refused, type_in, typed, variables
from tests.grader.run.conftest import wait_for

LESSON = "02_parallel_drafting"
Make = Callable[..., Path]
Processes = Callable[[str], list[int]]
RIGHT = "def conditional_acceptance(accepted_counts, block_size):\n"
GUESS = RIGHT + "    return [0.5] * block_size\n"


def result_of(name: str, score: int = 1) -> dict[str, Any]:
    return {"submission": name, "lesson": None, "score": score, "max_score": 2, "status": "partial", "tasks": []}


class HandPool:
    """A pool whose jobs are done as they are handed in, and counted."""

    width = 2

    def __init__(self, grade: Callable[[Source], dict[str, Any]] = lambda source: result_of(source.name)) -> None:
        self.grade, self.seen = grade, list[str]()

    def submit(self, source: Source) -> Future[dict[str, Any]]:
        self.seen.append(source.name)
        future: Future[dict[str, Any]] = Future()
        try:
            future.set_result(self.grade(source))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.fixture
def jobs(tmp_path: Path) -> list[Job]:
    for name in "abcde":
        (tmp_path / f"{name}.py").write_text(name)
    return jobs_of([Source(name, tmp_path / f"{name}.py") for name in "abcde"], sandbox=True)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal") as opened:
        yield opened


def test_a_result_is_on_disk_at_once_and_a_line_cut_short_or_of_something_else_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b'nothing\n[1]\n{"key": 3, "result": {}}\n{"key": "a", "result": {"score": 1}}\n\xff\n')
    with Journal(path) as journal:
        assert len(journal) == 1 and journal["a"] == {"score": 1}
    path.unlink()
    with Journal(path) as journal:
        for name in "abc":
            journal.add(name, result_of(name))
            assert json.loads(path.read_bytes().splitlines()[-1]) == {"key": name, "result": journal[name]}
    whole = path.read_bytes()
    for length in random.Random(5).sample(range(len(whole)), 20):
        path.write_bytes(whole[:length])
        with Journal(path) as journal:
            assert len(journal) == whole[:length].count(b"\n")
            journal.add("c", result_of("c", 2))
        with Journal(path) as journal:
            assert journal["c"]["score"] == 2
            assert all(journal[key]["submission"] == key for key in "abc" if key in journal)


def test_a_journal_keeps_only_what_it_is_told_and_belongs_to_one_grading_at_a_time(
    tmp_path: Path, journal: Journal
) -> None:
    for key, score in (("a", 1), ("b", 1), ("a", 2), ("c", 1)):
        journal.add(key, result_of(key, score))
    for keep in (lambda: None, lambda: journal.keep_only(["c", "a"])):
        keep()
        with pytest.raises(JournalInUse):
            Journal(tmp_path / "journal")
    journal.add("d", result_of("d"))
    lines = [json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()]
    assert [(line["key"], line["result"]["score"]) for line in lines] == [("c", 1), ("a", 2), ("d", 1)]
    assert [result["submission"] for result in Results(journal, ["a", "d", "c"])[1:]] == ["d", "c"]


def test_results_come_in_order_and_resume_grades_only_what_is_new_or_changed(
    tmp_path: Path, jobs: list[Job], journal: Journal
) -> None:
    known: list[int] = []
    results = grade_batch(jobs, HandPool(), journal, on_result=known.append)
    assert [result["submission"] for result in results] == list("abcde") and sum(known) == 5
    (tmp_path / "b.py").write_text("changed")
    (tmp_path / "f.py").write_text("late")
    again = jobs_of([Source(name, tmp_path / f"{name}.py") for name in "abcdef"], sandbox=True)
    pool = HandPool(lambda source: result_of(source.name, 2))
    results = grade_batch(again, pool, journal, resume=True)
    assert pool.seen == ["b", "f"] and [result["score"] for result in results] == [1, 2, 1, 1, 1, 2]


def test_changed_checks_another_name_and_a_missing_sandbox_make_another_key(
    tmp_path: Path, jobs: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = jobs[0].source.path
    keys = {jobs[0].key, jobs_of([Source("a", path)], sandbox=False)[0].key, jobs_of([Source("x", path)], True)[0].key}
    monkeypatch.setattr(grader.run.kit, "KIT_FILES", ("README.md",))
    grader.run.kit.kit_fingerprint.cache_clear()
    keys |= {jobs_of([Source("a", path)], sandbox=True)[0].key}
    grader.run.kit.kit_fingerprint.cache_clear()
    assert len(keys) == 4


def test_without_resume_all_is_graded_anew_and_an_interruption_loses_nothing(jobs: list[Job], journal: Journal) -> None:
    grade_batch(jobs, HandPool(), journal)
    pool = HandPool(lambda source: result_of(source.name, 2))
    with pytest.raises(Interrupted):
        grade_batch(jobs, pool, journal, stopped=lambda: len(pool.seen) >= 2)
    assert pool.seen == ["a", "b"]
    assert [journal[job.key]["score"] for job in jobs] == [2, 2, 1, 1, 1]


def test_what_was_not_graded_is_tried_again(jobs: list[Job], journal: Journal) -> None:
    def fails(source: Source) -> dict[str, Any]:
        if source.name == "c":
            raise OSError("the machine went away")
        return result_of(source.name)

    results = grade_batch(jobs, HandPool(fails), journal)
    assert [result["status"] for result in results] == ["partial", "partial", "ungraded", "partial", "partial"]
    assert results[2]["score"] is None and "without a result" in results[2]["reason"]
    pool = HandPool()
    grade_batch(jobs, pool, journal, resume=True)
    assert pool.seen == ["c"]


def test_crash_of_a_worker_costs_only_its_submission(
    tmp_path: Path, make_notebook: Make, running: Processes, still_running: Processes
) -> None:
    started = tmp_path / "started"
    (tmp_path / "sleeps.py").write_text(f"open({str(started)!r}, 'w'); import time; time.sleep(4)")
    sources = [Source("sleeps", tmp_path / "sleeps.py"), Source("solved", make_notebook())]
    with local_pool(1, tmp_path, sandbox=False) as pool:
        futures = [pool.submit(source) for source in sources]
        wait_for(started.exists)
        (worker,) = running(str(tmp_path))
        os.kill(worker, signal.SIGKILL)
        results = [future.result(timeout=120) for future in futures]
    assert [result["status"] for result in results] == ["ungraded", "pass"]
    assert "without a result" in results[0]["reason"] and not still_running(str(tmp_path))


def test_scores_do_not_depend_on_order_or_number_of_jobs(make_notebook: Make, tmp_path: Path) -> None:
    tie = {"task-2-3": lambda source: source.replace(">= threshold", "> threshold")}
    paths = [make_notebook(f"s{i}/a.ipynb", solved=i != 1, edits=tie if i == 2 else None) for i in range(4)]
    sources = [Source(str(path), path) for path in paths]
    scores = []
    for number, (order, width) in enumerate(((sources, 1), (sources[::-1], 3))):
        with Journal(tmp_path / f"journal-{number}") as journal, local_pool(width, tmp_path, sandbox=False) as pool:
            results = grade_batch(jobs_of(order, sandbox=False), pool, journal)
            scores.append({result["submission"]: (result["score"], result["status"]) for result in results})
    assert scores[0] == scores[1] and len(set(scores[0].values())) == 3


def test_csv_has_one_row_per_submission_and_one_column_per_task(make_notebook: Make, tmp_path: Path) -> None:
    make_notebook(f"all/=1+1/{LESSON}/{LESSON}.ipynb")
    make_notebook(f"all/bob/{LESSON}/{LESSON}.ipynb", solved=False)
    (tmp_path / "all" / "cat" / LESSON).mkdir(parents=True)
    files = ("--csv", tmp_path / "out.csv", "--json", tmp_path / "out.json")
    said = typed("grade", tmp_path / "all", "--unsafe-no-sandbox", *files)
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = [result["submission"] for result in json.loads((tmp_path / "out.json").read_text())]
    assert names == ["=1+1", "bob", "cat"] and [row["submission"] for row in rows] == ["'=1+1", "bob", "cat"]
    assert [row["status"] for row in rows] == ["pass", "missing", "unreadable"]
    assert rows[0]["score"] == rows[0]["max_score"] == rows[1]["max_score"] == rows[2]["max_score"]
    assert (rows[1]["score"], rows[2]["score"]) == ("0", "")
    assert sum(int(rows[0][task]) for task in list(rows[0])[5:]) == int(rows[0]["score"])
    assert "1 unreadable" in said


@pytest.fixture
def class_of_six(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "all").mkdir()
    for name in "abcdef":
        (tmp_path / "all" / f"{name}.py").write_text(GUESS)
    return tmp_path


def known(journal: Path) -> list[bytes]:
    return [line for line in journal.read_bytes().splitlines(True) if line.endswith(b"\n")] if journal.exists() else []


def test_interrupted_gradings_lose_double_and_change_nothing(class_of_six: Path, running: Processes) -> None:
    journal, target = class_of_six / "out.json.journal", class_of_six / "out.json"
    words = command("grade", "all", "--jobs", "2", "--unsafe-no-sandbox", "--json", "out.json", "--resume")
    environment = variables(TMPDIR=str(class_of_six / "tmp"))
    rng, before = random.Random(11), list[bytes]()
    for number, how in ((1, signal.SIGINT), (2, signal.SIGKILL), (4, signal.SIGINT)):
        process = subprocess.Popen(words, cwd=class_of_six, env=environment, stdout=subprocess.PIPE, text=True)
        wait_for(lambda number=number: len(known(journal)) >= number)  # type: ignore[misc]
        time.sleep(rng.random() / 20)
        process.send_signal(how)
        said, _ = process.communicate(timeout=60)
        assert (process.returncode == 1 and "--resume" in said) if how == signal.SIGINT else process.returncode == -how
        wait_for(lambda: not running(str(class_of_six / "tmp")), 20)
        assert known(journal)[: len(before)] == before and not target.exists()
        before = known(journal)
    assert type_in(class_of_six, *words[3:]).returncode == 0
    assert set(before) <= set(known(journal))
    results = json.loads(target.read_text())
    assert [result["submission"] for result in results] == [f"{name}.py" for name in "abcdef"]
    assert len({(result["score"], result["max_score"], result["status"]) for result in results}) == 1


def test_what_would_be_written_twice_or_by_two_gradings_is_refused(
    class_of_six: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(class_of_six)
    grade = ("grade", "all", "--unsafe-no-sandbox")
    assert "--json FILE" in refused(*grade, "--resume")
    assert "named twice" in refused(*grade, "--json", "o", "--csv", "./o")
    with Journal(class_of_six / "out.json.journal"):
        assert "Another grading is writing out.json" in refused(*grade, "--json", "out.json")
    for option in ("--csv", "--json"):
        with locked([class_of_six / "out"]):
            assert refused(*grade, "--json", "other.json", option, "out").startswith("Another grading is writing out;")
    assert [path.name for path in class_of_six.iterdir() if path.suffix in (".lock", ".part")] == []


def test_submission_called_numpy_does_not_reach_the_grader(class_of_six: Path, make_notebook: Make) -> None:
    make_notebook("all/solved.ipynb")
    for name in ("numpy.py", "json.py", "grader.py"):
        (class_of_six / "all" / name).write_text(f"open({str(class_of_six / 'reached')!r}, 'w'); raise SystemExit(7)")
    installed = f"import sys; sys.path[:1] = [{str(ROOT)!r}]; from dspark_mini.cli import main; main()"  # as the script
    words = [sys.executable, "-c", installed, "grade", "solved.ipynb", "--unsafe-no-sandbox"]
    done = subprocess.run(words, cwd=class_of_six / "all", capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "1 graded." in done.stdout, done.stderr
    assert not (class_of_six / "reached").exists()
