"""How long the check of every task takes on its reference: `python tests/benchmarks/check_seconds.py`.

A lesson's checks must take less than 5 s of processor time for a right solution. Wall time is shown beside it, which
is longer where other processes share the cores; both are medians of a few rounds, taken in turn.
"""

import argparse
import statistics
import time
from collections import defaultdict

from grader.lessons.checks import TASKS

LIMIT = 5.0  # seconds of processor time a lesson


def measured(rounds: int) -> dict[str, tuple[float, ...]]:
    """Return the medians of processor time and wall time of every task's check."""
    samples: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for _ in range(rounds):
        for name, task in TASKS.items():
            cpu, wall = time.process_time(), time.perf_counter()
            assert task.check(task.reference).passed, name
            samples[name].append((time.process_time() - cpu, time.perf_counter() - wall))
    return {name: tuple(map(statistics.median, zip(*pairs))) for name, pairs in samples.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    lessons: dict[str, dict[str, tuple[float, ...]]] = defaultdict(dict)
    for name, seconds in measured(rounds).items():
        lessons[TASKS[name].lesson][name] = seconds
    print(f"seconds, medians of {rounds} rounds")
    print("lesson                    processor    wall   the slowest tasks, processor")
    for lesson, tasks in lessons.items():
        cpu, wall = map(sum, zip(*tasks.values()))
        slowest = sorted(tasks, key=lambda name: -tasks[name][0])[:3]
        named = ", ".join(f"{name} {tasks[name][0]:.2f}" for name in slowest)
        print(f"{lesson:24s} {cpu:10.2f} {wall:7.2f}   {named}{'  OVER THE LIMIT' if cpu > LIMIT else ''}")


if __name__ == "__main__":
    main()
