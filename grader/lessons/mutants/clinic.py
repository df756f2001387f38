"""Variants of lesson 08 that all its functions share: the bugs as handed out, and one fault of manners each.

The functions of the clinic have the same shape: input checks, then a few lines. So a variant is written as those few
lines alone, a body that takes the values which the checks return, and complete() puts the checks in front.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.lessons.build import REGION
from grader.lessons.checks import TASKS
from grader.lessons.mutants import Function, right, wrong
from grader.lessons.tasks import Task

CLINIC = [task for task in TASKS.values() if task.lesson == "08_bug_clinic"]


def complete(identity: str, body: Function) -> Function:
    """Return a solution of a task: the reference's signature and input checks, and this body."""
    task = TASKS[identity]
    arguments = ", ".join(inspect.signature(body).parameters)
    source = REGION.sub(lambda m: f"{m[1]}return _body({arguments})\n", task.reference_source)
    namespace = {**vars(importlib.import_module(task.module)), "_body": body}
    exec(source, namespace)
    function: Function = namespace[task.function]
    function.__name__ = body.__name__
    return function


def wrong_body(identity: str, caught_by: str, misconception: str) -> Callable[[Function], Function]:
    """Register a wrong body; see grader.lessons.mutants.wrong."""
    return lambda body: wrong(identity, caught_by, misconception)(complete(identity, body))


def right_body(identity: str, style: str) -> Callable[[Function], Function]:
    """Register a right body; see grader.lessons.mutants.right."""
    return lambda body: right(identity, style)(complete(identity, body))


# --- Wrong: the bugs as they are handed out ----------------------------------------------------------


for task in CLINIC:
    bug = getattr(importlib.import_module(f"{task.module}_bugs"), task.function)
    wrong_body(task.id, task.properties[0].name, inspect.getdoc(bug) or "")(bug)


# --- Wrong: manners, one fault each, around the reference --------------------------------------------


def around(task: Task, name: str, call: Callable[..., Any]) -> Function:
    """Return a function that hands the reference and its arguments to call."""

    def function(*args: Any, **kwargs: Any) -> Any:
        return call(task.reference, *args, **kwargs)

    function.__name__ = name
    return function


def in_numpy(value: Any) -> Any:
    """Turn plain data into NumPy's, and arrays into lists."""
    if isinstance(value, dict):
        return {key: in_numpy(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if isinstance(value, str) else np.asarray(value)


def numpy_result(reference: Function, *args: Any, **kwargs: Any) -> Any:
    return in_numpy(reference(*args, **kwargs))


def input_changed(reference: Function, *args: Any, **kwargs: Any) -> Any:
    result = reference(*args, **kwargs)
    for arg in args:
        if isinstance(arg, np.ndarray):
            arg.fill(0 if arg.any() else 1)
        elif isinstance(arg, list):
            arg.append(0)
    return result


def bad_input_answered(reference: Function, *args: Any, **kwargs: Any) -> Any:
    try:
        return reference(*args, **kwargs)
    except ValueError:
        return 0


def nameless_error(reference: Function, *args: Any, **kwargs: Any) -> Any:
    try:
        return reference(*args, **kwargs)
    except ValueError:
        raise ValueError("The input is bad.") from None


def lists_only(reference: Function, *args: Any, **kwargs: Any) -> Any:
    if any(isinstance(arg, np.ndarray) for arg in args):
        raise TypeError("A list is needed.")
    return reference(*args, **kwargs)


def first_answer_kept(task: Task) -> Function:
    """Return a function that gives its first answer again and again."""
    answers: list[Any] = []

    def first_answer_kept(*args: Any, **kwargs: Any) -> Any:
        if not answers:
            answers.append(task.reference(*args, **kwargs))
        return answers[0]

    return first_answer_kept


MANNERS = {
    numpy_result: "What NumPy computes with is as good as plain Python data, and a list as good as an array.",
    bad_input_answered: "Bad input never comes, so any answer will do.",
    nameless_error: "Whoever gave bad input will know which argument was meant.",
}
MANNERS_WITH_LISTS = {
    input_changed: "The arguments are no longer needed by anybody.",
    lists_only: "The arguments always come as lists.",
}

for task in CLINIC:
    takes_lists = task.id != "8.13"
    for call, misconception in {**MANNERS, **(MANNERS_WITH_LISTS if takes_lists else {})}.items():
        wrong(task.id, "good_manners", misconception)(around(task, call.__name__, call))
    wrong(task.id, task.properties[0].name, "A function may remember its answer.")(first_answer_kept(task))


# --- Right: the reference, noisy ---------------------------------------------------------------------


def noisy(reference: Function, *args: Any, **kwargs: Any) -> Any:
    print("the arguments are", args)
    print("a note", file=sys.stderr)
    warnings.warn("a warning", stacklevel=1)
    return functools.partial(reference, *args)(**kwargs)


for task in CLINIC:
    right(task.id, "Prints and warns, and calls through a partial function.")(around(task, "noisy", noisy))
