"""Faults of the machine, planted while a class is graded: `python tests/benchmarks/planted_faults.py --write`.

A class of 60 is graded once without a fault; these scores are the right ones. Then it is graded once per fault, with an
earlier grade in the lists, and gone on with by --resume once the fault is over. Counted are grades that are wrong, that
were written though nothing was graded, and that are missing in the end. Needs Linux, root and the sandbox; a row that
this machine cannot show is left out. With --write, the table goes into docs/instructors.md.
"""

import argparse
import contextlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from planted_class import EARLIER, MEBIBYTE, Course, clear, make_class

from grader.lessons.paths import ROOT

DOCS, MARKS = (
    ROOT / "docs" / "instructors.md",
    ("<!-- planted_faults.py writes this table -->\n", "<!-- until here -->"),
)


def processes(process: subprocess.Popen[bytes], program: str, word: str) -> Iterator[int]:
    """Find the descendants of a grading that run a program with some word in their command."""
    left = [process.pid]
    while left:
        pid = left.pop()
        with contextlib.suppress(OSError, ValueError):
            for children in Path(f"/proc/{pid}/task").glob("*/children"):
                left += map(int, children.read_text().split())
            is_program = Path(f"/proc/{pid}/comm").read_text().startswith(program)
            if pid != process.pid and is_program and word in Path(f"/proc/{pid}/cmdline").read_text():
                yield pid


def killing(course: Course, program: str, word: str, process: subprocess.Popen[bytes]) -> None:
    """Kill eight such processes one after another, once some results are saved."""
    once_saved(course, 4, lambda: None, process)
    times = 8
    while times and process.poll() is None:
        time.sleep(0.3)
        for pid in list(processes(process, program, word))[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                times -= 1


def once_saved(course: Course, number: int, then: Callable[[], object], process: subprocess.Popen[bytes]) -> None:
    """Wait until so many results are saved, then do something."""
    while len(course.saved()) < number and process.poll() is None:
        time.sleep(0.05)
    then()


def no_namespaces(course: Course) -> int:
    program, starts = course.folder / "bin" / "bwrap", course.folder / "starts"
    program.parent.mkdir()
    script = (
        f'#!/bin/sh\necho >> {starts}\n[ $(wc -l < {starts}) -lt 30 ] || exit 1\nexec {shutil.which("bwrap")} "$@"\n'
    )
    program.write_text(script)
    program.chmod(0o755)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    return course.grade(env=environment)


def full_disk(course: Course) -> int:
    out = course.folder / "out"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", out], check=True)
    (out / "ballast").write_bytes(bytes(8 * MEBIBYTE - 200_000))
    code = course.grade()
    (out / "ballast").unlink()
    return code


def short_of_memory(course: Course) -> int:
    """Let the kernel kill what takes more than 300 MiB: less than a submission may have."""
    group = Path("/sys/fs/cgroup/memory", course.folder.name)
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(str(300 * MEBIBYTE))
    enter = ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")
    try:
        return course.grade(before=enter)
    finally:
        (group / "memory.force_empty").write_text("0")
        time.sleep(1)
        group.rmdir()


def locked_sqlite(course: Course) -> int:
    file = course.folder / "course" / "gradebook.db"
    course.url = f"sqlite:///{file}?timeout=2"
    with contextlib.closing(sqlite3.connect(file, isolation_level=None, timeout=0)) as holder:

        def lock(process: subprocess.Popen[bytes]) -> None:
            while process.poll() is None:
                with contextlib.suppress(sqlite3.OperationalError):
                    if holder.execute("SELECT count(*) FROM submitted_assignment").fetchone()[0] >= 20:
                        holder.execute("BEGIN EXCLUSIVE")
                        return
                time.sleep(0.001)  # between two submissions

        code = course.grade(around=lock)
    return code


def locked_postgresql(course: Course) -> int:
    import sqlalchemy as sa

    course.url = os.environ["DSPARK_TEST_POSTGRESQL"]
    engine = sa.create_engine(course.url)
    with engine.connect() as holder:

        def lock(process: subprocess.Popen[bytes]) -> None:
            while process.poll() is None:
                with contextlib.suppress(sa.exc.ProgrammingError), holder.begin():
                    if holder.scalar(sa.text("SELECT count(*) FROM submitted_assignment")) >= 20:
                        break
                time.sleep(0.05)
            holder.execute(sa.text("LOCK TABLE submitted_assignment IN EXCLUSIVE MODE"))

        return course.grade(around=lock)


def lost_dask_workers(course: Course, lost: int) -> int:
    """Grade on a cluster with two workers, which nobody starts again, and kill one of them or both."""
    from distributed import LocalCluster

    options: dict[str, Any] = {"n_workers": 0, "host": "127.0.0.1", "protocol": "tcp://", "dashboard_address": None}
    with LocalCluster(**options) as cluster:
        address = cluster.scheduler_address
        words = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        workers = [subprocess.Popen(words, env=environment, cwd=course.folder, **quiet) for _ in range(2)]
        end = partial(once_saved, course, 20, lambda: [worker.kill() for worker in workers[:lost]])
        try:
            return course.grade("--dask", address, around=end)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()


def no_terminal(course: Course) -> int:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return course.grade(stdout=writer)
    finally:
        os.close(writer)


def faults(course: Course) -> dict[str, Callable[[], int]]:
    """The faults by name; each grades the class with the fault and returns the exit code."""

    def remove_temporary_folder() -> None:
        for folder in (course.folder / "tmp").glob("dspark-mini-batch-*"):
            shutil.rmtree(folder, ignore_errors=True)

    def kill(process: subprocess.Popen[bytes]) -> None:
        once_saved(course, 20, process.kill, process)

    out = str(course.folder / "out")
    read_only = ("bwrap", "--dev-bind", "/", "/", "--ro-bind", out, out, "--chdir", str(course.folder))
    postgresql = {"the gradebook in PostgreSQL is locked": partial(locked_postgresql, course)}
    return {
        "no more namespaces: bubblewrap fails from the 30th start on": partial(no_namespaces, course),
        "eight grading processes are killed": lambda: course.grade(
            around=partial(killing, course, "python", "run.worker")
        ),
        "bubblewrap is killed eight times": lambda: course.grade(
            around=partial(killing, course, "bwrap", "--unshare-all")
        ),
        "what runs in it is killed eight times": lambda: course.grade(
            around=partial(killing, course, "python", "take_streams")
        ),
        "the kernel kills for want of memory": partial(short_of_memory, course),
        "the disk is full": partial(full_disk, course),
        "the folder of the results is read-only": lambda: course.grade(before=read_only),
        "the folder for temporary files is deleted": lambda: course.grade(
            around=partial(once_saved, course, 20, remove_temporary_folder)
        ),
        "the gradebook in SQLite is locked": partial(locked_sqlite, course),
        **(postgresql if "DSPARK_TEST_POSTGRESQL" in os.environ else {}),
        "one of two Dask workers is lost for good": partial(lost_dask_workers, course, 1),
        "both Dask workers are lost for good": partial(lost_dask_workers, course, 2),
        "`grade` itself is killed": lambda: course.grade(around=kill),
        "the terminal is gone": partial(no_terminal, course),
    }


def planted(course: Course, fault: Callable[[], int]) -> list[str]:
    """Plant one fault and return its cells: exit code, graded, not graded, wrong, unearned, lost."""
    clear(course)
    course.url = ""
    try:
        code, found = fault(), course.written()
        graded = {name: score for name, score in found["journal"].items() if score is not None}
        kept = (None, EARLIER)
        wrong = sum(g not in (*kept, course.expected[name]) for place in found.values() for name, g in place.items())
        lists = [place for where, place in found.items() if where not in ("journal", "json", "csv")]
        unearned = sum(grade not in kept and name not in graded for place in lists for name, grade in place.items())
        again, after = course.grade("--resume"), course.written()
        lost = sum(place.get(name) != score for place in after.values() for name, score in course.expected.items())
        assert again == 0 and len(after) >= 4, f"--resume ended with {again}"
    finally:
        subprocess.run(["umount", course.folder / "out"], stderr=subprocess.DEVNULL)
    return [
        f"{code}" if code >= 0 else "–",
        f"{len(graded)}",
        f"{len(course.expected) - len(graded)}",
        f"{wrong}",
        f"{unearned}",
        f"{lost}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=60)
    parser.add_argument("--only", default="", help="faults with this word in their name")
    parser.add_argument("--write", action="store_true", help="write the table into docs/instructors.md")
    options = parser.parse_args()
    rows = [["fault", "exit code", "graded", "not graded", "wrong", "not earned", "lost after `--resume`"]]
    with tempfile.TemporaryDirectory(prefix="dspark-faults-") as name:
        course = make_class(Path(name), options.submissions)
        for fault, plant in faults(course).items():
            if options.only in fault:
                start = time.monotonic()
                rows.append([fault, *planted(course, plant)])
                print(f"{time.monotonic() - start:6.1f} s  {' | '.join(rows[-1])}", flush=True)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    table = "\n".join([lines[0], "|---" + "|---:" * (len(rows[0]) - 1) + "|", *lines[1:]])
    print(table)
    if options.write:
        start, end = map(re.escape, MARKS)
        text = re.sub(f"(?s)(?<={start}).*(?={end})", lambda _: table + "\n", DOCS.read_text(encoding="utf-8"))
        DOCS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
