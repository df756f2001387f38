"""Writing the tables of known mistakes: which small calls tell them apart, and what each of them answers."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dspark_mini import clinic_bugs
from dspark_mini.workspace import own_folder
from grader.check.diagnosis import Known, Law, Probe, Table, answers_of, fits, table_to_json
from grader.check.judges import NotStarted, Stopped, Values
from grader.lessons import checks, hidden, mistakes, mutants
from grader.lessons.checks import TASKS
from grader.lessons.mutants import Variant, all_variants
from grader.lessons.tasks import Task
from grader.run.child import calling

LEAST_PROBES, MOST_PROBES = 12, 18  # of a task
MOST_CHARACTERS = 500  # of one call written as JSON
DRAWS, SEED = 600, 12
Function = Callable[..., Any]


def tables_of(lesson: str) -> dict[str, Table]:
    """Make the tables of a lesson's tasks."""
    variants = [v for v in all_variants() if v.caught_by and v.generated is None and TASKS[v.task].lesson == lesson]
    tasks = [task for task in TASKS.values() if task.lesson == lesson]
    return {task.id: table_for(task, [v for v in variants if v.task == task.id]) for task in tasks}


def table_for(task: Task, variants: Sequence[Variant]) -> Table:
    """Choose the probes of a task and ask every known mistake for its answers; one that answers alike is left out."""
    candidates = list(_candidates(task))
    right = _answers(task, task.reference, candidates)
    asked = [(v, _answers(task, v.make(), candidates)) for v in variants]
    steady = [(v, answers) for v, answers in asked if answers and answers == _answers(task, v.make(), candidates)]
    plain = [(f"{says}.", "", answers) for says, answers in _plain_mistakes(task, candidates)]
    everyone = [(v.about, v.caught_by, answers) for v, answers in steady] + plain
    chosen = _telling(candidates, [right, *(answers for _, _, answers in everyone)])
    right_laws = _laws(task, task.reference)
    known = []
    for number, (about, name, answers) in enumerate(everyone):
        laws = _laws(task, steady[number][0].make()) if number < len(steady) else right_laws
        entry = Known(as_if(about), name, tuple(answers[i] for i in chosen), laws)
        if entry.answers != tuple(right[i] for i in chosen) or _differ(laws, right_laws):
            known.append(entry)
    return Table(tuple(candidates[i] for i in chosen), tuple(right[i] for i in chosen), tuple(known))


def as_if(about: str) -> str:
    """Let a sentence follow "as if": its first letter becomes small, unless it is a symbol or an abbreviation."""
    if about.startswith("A "):
        return f"a {about[2:]}"
    is_symbol = about.startswith(("True", "False")) or about[1:2] in " _/′₁₂" or about[:2].isupper()
    return about if is_symbol else about[0].lower() + about[1:]


def _candidates(task: Task) -> Iterator[Probe]:
    """Yield the visible calls, then small ones of the hidden kinds, drawn with a seed that grading does not use."""
    judges = {p.name: p.judge for p in task.core if isinstance(p.judge, Values)}
    for name, judge in judges.items():
        yield from (Probe(name, example.call) for example in judge.examples)
    drawn = []
    for name, judge in judges.items():
        calls = judge.hidden(np.random.default_rng(SEED)) if judge.hidden else ()
        for call in calls:
            probe = Probe(name, call)
            size = len(json.dumps(table_to_json(Table((probe,), (), ()))["probes"]))
            if size <= MOST_CHARACTERS:
                drawn.append((size, probe))
    yield from (probe for _, probe in sorted(drawn, key=lambda entry: entry[0]))


def _answers(task: Task, function: Function, probes: Sequence[Probe]) -> tuple[str, ...]:
    """Ask one function; nothing where it does not come to an end."""
    try:
        outcomes = task.session(function, SEED).outcomes(probe.call for probe in probes)
    except (Stopped, NotStarted):
        return ()
    return answers_of(outcomes, task.parts_of(probes))


def _telling(candidates: Sequence[Probe], answers: Sequence[Sequence[str]]) -> list[int]:
    """Choose whichever call tells most of those apart that still look alike, then a few for unknown mistakes."""
    chosen: list[int] = []

    def groups(extra: int) -> int:
        return len({tuple(row[i] for i in (*chosen, extra)) for row in answers})

    while len(chosen) < MOST_PROBES and candidates:
        best = max(range(len(candidates)), key=groups)
        if chosen and groups(best) == groups(chosen[-1]):
            break
        chosen.append(best)
    others = [i for i in range(len(candidates)) if i not in chosen]
    missing = max(0, LEAST_PROBES - len(chosen))
    return sorted([*chosen, *others[:: max(1, len(others) // max(1, missing))][:missing]])


def _laws(task: Task, function: Function) -> tuple[Law, ...]:
    """Estimate the law of the outcome in every visible case where it is random."""
    try:
        counts: list[Counter[str]] = task.law_counts(task.session(function, SEED), DRAWS)
    except (Stopped, NotStarted):
        return ()
    return tuple({outcome: n / DRAWS for outcome, n in sorted(count.items())} for count in counts)


def _differ(laws: Sequence[Law], right: Sequence[Law]) -> bool:
    """Tell whether a law is farther from the right one than chance would have it."""
    draws = [Counter({outcome: round(DRAWS * share) for outcome, share in law.items()}) for law in laws]
    return not all(map(fits, right, draws))


# --- Mistakes of any task ---------------------------------------------------------------------------------------------


def _plain_mistakes(task: Task, probes: Sequence[Probe]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what can be wrong with any list, matrix or number, where every answer shows it."""
    for says, change in PLAIN_MISTAKES.items():

        def changed(*args: Any, change: Function = change, **kwargs: Any) -> Any:
            return change(task.reference.__wrapped__(*args, **kwargs))  # type: ignore[attr-defined]

        answers = _answers(task, changed, probes)
        if answers and "raises" not in answers:
            yield says, answers


def _matrix(result: Any) -> Any:
    """Return a matrix of more than one row and column; anything else is no case for this mistake."""
    array = np.asarray(result)
    if array.ndim != 2:
        raise ValueError
    return array


def _list(result: Any) -> list[Any]:
    if not isinstance(result, list):
        raise ValueError
    return result


def _numbers(result: Any) -> Any:
    array = np.asarray(result)
    if array.dtype.kind not in "if":
        raise ValueError
    return array


PLAIN_MISTAKES: dict[str, Function] = {
    "rows and columns were exchanged": lambda r: _matrix(r).T,
    "True stood for False and False for True": lambda r: ~_matrix(r),
    "every number were one too high": lambda r: _numbers(r) + 1,
    "every number were one too low": lambda r: _numbers(r) - 1,
    "every number had the opposite sign": lambda r: -_numbers(r),
    "the list were to be read from the end": lambda r: _list(r)[::-1],
    "the first entry were left out": lambda r: _list(r)[1:],
    "the last entry were left out": lambda r: _list(r)[:-1],
    "the list were to be sorted": lambda r: sorted(_list(r)),
}


# --- Files ------------------------------------------------------------------------------------------------------------


def table_file(lesson: str) -> tuple[Path, str]:
    """Return the file of a lesson's tables and what belongs in it; made anew only where a source has changed."""
    path, sources = mistakes.path_of(lesson), _sources(lesson)
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    if kept.startswith(f'{{\n"sources": "{sources}"'):
        return path, kept
    before, calling.CALL_SECONDS = calling.CALL_SECONDS, 1.0  # some never end
    try:
        tables = tables_of(lesson)
    finally:
        calling.CALL_SECONDS = before
    parts = [f'"sources": "{sources}"', *(f'"{task}": {_lines(table)}' for task, table in tables.items())]
    return path, "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(table: Table) -> str:
    """Write a table with one line per known mistake, so that changes of it can be read."""
    data = table_to_json(table)
    known = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in data.pop("known"))
    head = json.dumps(data, ensure_ascii=False)
    return f'{head[:-1]}, "known": [\n{known}]}}'


def _sources(lesson: str) -> str:
    """Hash all that the tables of a lesson are made of."""
    folders = [Path(package.__path__[0]) for package in (checks, hidden, mutants)]
    paths = [path for folder in folders for path in sorted(folder.glob(f"lesson_{lesson[:2]}*"))]
    if own := own_folder(lesson):
        paths = [own / name for name in ("checks.py", "hidden.py", "mutants.diff") if (own / name).is_file()]
    tasks = [task for task in TASKS.values() if task.lesson == lesson]
    parts = [path.read_text(encoding="utf-8") for path in (*paths, Path(__file__))]
    parts += [inspect.getsource(task.reference) for task in tasks]
    parts += [
        inspect.getsource(getattr(clinic_bugs, task.function)) for task in tasks if hasattr(clinic_bugs, task.function)
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
