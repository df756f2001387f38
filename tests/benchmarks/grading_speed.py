"""Grading a class, by nbgrader and by dspark-mini: `python tests/benchmarks/grading_speed.py`.

Both get the same folder of submissions of lesson 02 in the same run: right ones, wrong ones and unfinished ones, whose
scores are known from checking their functions in this process. nbgrader gets every tenth of them, and its time is
scaled to all of them; with --full it gets all. Processor time is that of all processes together, and says more than
seconds where others use the machine.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from grading_runs import Measured, dspark, timed

from grader.lessons.build import notebook
from grader.lessons.mutants import Variant, all_variants
from grader.lessons.paths import ROOT, SOLUTIONS
from grader.lessons.sources import cells_of
from grader.lessons.stubs import contract_imports
from grader.lessons.tasks import Task
from grader.read.submissions import tasks_of
from grader.run.kit import grading_seed, secret_from, use_secret

LESSON = "02_parallel_drafting"
TASKS = [task for task in tasks_of(LESSON) if task.id != "record"]  # the record's solution is given
NBGRADER_CONFIG = """
c = get_config()
c.CourseDirectory.course_id = "benchmark"
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE, in place of what follows"}
c.Execute.timeout = 120
"""
SLOW_SECONDS = 3.0


def main() -> None:
    options = parsed()
    use_secret(secret_from(None))  # the one that `grade` uses
    with tempfile.TemporaryDirectory(prefix="dspark-mini-benchmark-") as name:
        course = Path(name)
        expected = make_class(course, options.submissions, random.Random(options.seed))
        print(f"{len(expected)} submissions of {LESSON}, {options.jobs} jobs, seed {options.seed}", flush=True)
        compare(course, expected, options)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=100)
    parser.add_argument("--full", action="store_true", help="let nbgrader grade all of them, not every tenth")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--unsafe-no-sandbox", action="store_true")
    return parser.parse_args()


def make_class(course: Path, number: int, rng: random.Random) -> dict[str, int]:
    """Write the submissions of a class and return the score that each has to get."""
    (course / "nbgrader_config.py").write_text(NBGRADER_CONFIG)
    cells = list(cells_of((SOLUTIONS / f"{LESSON}.py").read_text(encoding="utf-8")))
    write(course / "source" / LESSON / f"{LESSON}.ipynb", notebook(cells, for_nbgrader=True))
    nbgrader(course, "generate_assignment")
    released = (course / "release" / LESSON / f"{LESSON}.ipynb").read_text(encoding="utf-8")
    wrong, right = [usable(caught=caught) for caught in (True, False)]
    rng.shuffle(wrong)
    rng.shuffle(right)
    expected: dict[str, int] = {}
    while len(expected) < number:
        edits = submission(len(expected) % 3, wrong, right, rng)
        student = f"s{len(expected):04d}"
        text = edited(released, edits)
        start = time.monotonic()
        score = known_score(text)
        if time.monotonic() - start < SLOW_SECONDS:  # slow ones are about budgets, which two graders count differently
            write(course / "submitted" / student / LESSON / f"{LESSON}.ipynb", text)
            expected[student] = score
    return expected


def usable(caught: bool) -> list[Variant]:
    """List the wrong or the right variants that are patches of the reference: a generated one calls it."""
    ids = {task.id for task in TASKS}
    return [v for v in all_variants() if v.task in ids and bool(v.caught_by) is caught and v.source]


def submission(kind: int, wrong: list[Variant], right: list[Variant], rng: random.Random) -> dict[str, str]:
    """Return the cells of a submission that is right in another style, wrong in one task, or unfinished."""
    edits = {cell_of(task): source_of(task, task.reference_source) for task in TASKS}
    if kind == 2:
        for task in rng.sample(TASKS, rng.randint(1, len(TASKS))):
            del edits[cell_of(task)]
        return edits
    variants = (right, wrong)[kind]
    variants.append(variant := variants.pop(0))
    task = next(task for task in TASKS if task.id == variant.task)
    return edits | {cell_of(task): source_of(task, variant.source)}


def known_score(text: str) -> int:
    """Run the cells that define functions in this process, which trusts them, and check every function."""
    names: dict[str, Any] = {}
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "code" and cell["id"].startswith(("setup", "task-", "given-")):
            exec("".join(cell["source"]), names)
    return sum(task.check(names[task.function], grading_seed(task.id)).points for task in tasks_of(LESSON))


def cell_of(task: Task) -> str:
    return f"task-{task.id.replace('.', '-')}"


def source_of(task: Task, source: str) -> str:
    """Return a cell with one solution and everything that it needs."""
    return f"import math\n{contract_imports(source)}{source}"


def edited(released: str, edits: dict[str, str]) -> str:
    document = json.loads(released)
    for cell in document["cells"]:
        cell["source"] = edits.get(cell["id"], cell["source"])
    return json.dumps(document)


def write(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def compare(course: Path, expected: dict[str, int], options: argparse.Namespace) -> None:
    """Let both grade the class; print their times, and whether all three scores agree."""
    ours = dspark(course / "submitted", course / "ours.json", options)
    chosen = sorted(expected)[:: 1 if options.full else 10]
    part = course / "part"
    for student in chosen:
        shutil.copytree(course / "submitted" / student, part / "submitted" / student)
    for name in ("nbgrader_config.py", "source"):
        (part / name).symlink_to(course / name)
    theirs = autograde(part)
    print(f"\n{'':14}{'submissions':>12}{'seconds':>10}{'each':>9}{'processor':>11}{'each':>9}")
    for name, run in (("nbgrader", theirs), ("dspark-mini", ours)):
        count = len(run.results)
        print(
            f"{name:14}{count:12}{run.seconds:10.1f}{run.seconds / count:9.3f}"
            f"{run.processor_seconds:11.1f}{run.processor_seconds / count:9.3f}"
        )
    scaled = "" if options.full else f" (nbgrader's time for {len(chosen)}, scaled to {len(expected)})"
    share = len(expected) / len(chosen)
    print(
        f"ratio: {theirs.seconds * share / ours.seconds:.1f} times in seconds, "
        f"{theirs.processor_seconds * share / ours.processor_seconds:.1f} times in processor time{scaled}"
    )
    report_differences("dspark-mini and the known scores", ours.results, expected)
    report_differences("nbgrader and the known scores", theirs.results, {name: expected[name] for name in chosen})


def report_differences(title: str, found: dict[str, float], expected: dict[str, int]) -> None:
    differences = {name: (found.get(name), score) for name, score in expected.items() if found.get(name) != score}
    print(f"{title}: {len(expected) - len(differences)} of {len(expected)} equal {differences or ''}", flush=True)


def autograde(course: Path) -> Measured:
    """Run nbgrader's own autograde and read the scores from its gradebook."""
    from nbgrader.api import Gradebook

    nbgrader(course, "generate_assignment")
    measured = timed(["nbgrader", "autograde", LESSON], course, nbgrader_environment())
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        measured.results = {s.student.id: s.score for s in book.assignment_submissions(LESSON)}
    return measured


def nbgrader(course: Path, command: str) -> None:
    subprocess.run(
        ["nbgrader", command, LESSON], cwd=course, env=nbgrader_environment(), check=True, capture_output=True
    )


def nbgrader_environment() -> dict[str, str]:
    """Let nbgrader find its own commands, and its kernels the kit."""
    tools = str(Path(sys.executable).parent)
    return os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


if __name__ == "__main__":
    main()
