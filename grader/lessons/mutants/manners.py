"""Faults of manners, generated around the reference of any task: wrong types, a memory, a changed argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dspark_mini.bias_rows import BiasRows
from grader.check.comparison import same_value, shown, type_fault
from grader.check.manners import PlainTypes, Repeatable, twins
from grader.lessons.tasks import Task
from grader.run.child.calling import copied, live

Function = Callable[..., Any]
Fault = tuple[str, str, str, Function]


def bad_manners(task: Task) -> Iterator[Fault]:
    """Yield (name, property that must catch it, misconception, function) for one task.

    A task without expected results, such as a policy, has manners of its own.
    """
    if not any(p.name == "plain_types" for p in task.properties):
        return
    yield from _wrong_types(task)
    yield from _memories(task)
    yield from _changed_arguments(task)


def _wrong_types(task: Task) -> Iterator[Fault]:
    """Convert one kind of value, wherever it stands in the result, to a type that equals it and was not asked for."""
    judge = next(p.judge for p in task.properties if p.name == "plain_types")
    assert isinstance(judge, PlainTypes)
    for name, convert in CONVERSIONS.items():
        for example in judge.examples:
            spoiled = _mapped(example.expected, convert)
            if type_fault(example.expected, spoiled) and same_value(example.expected, spoiled):
                about = f"A result with {name.replace('_', ' ')} is as good."
                yield name, "plain_types", about, lambda *args, c=convert, **kw: _mapped(task.reference(*args, **kw), c)
                break


def _memories(task: Task) -> Iterator[Fault]:
    """Remember results by less than all arguments, or return the same object again and again."""
    judge = next(p.judge for p in task.properties if p.name == "no_memory")
    assert isinstance(judge, Repeatable)
    session = task.session(task.reference)
    names = list(task.contract.signature.parameters)

    def remember(key: Callable[[tuple[Any, ...]], str]) -> Function:
        seen: dict[str, Any] = {}
        return lambda *args, **kwargs: seen.setdefault(key(args), task.reference(*args, **kwargs))

    yield "first_result_kept", "no_memory", "The first result can be kept.", remember(lambda args: "")
    yield "remembered_by_shapes", "no_memory", "Inputs of the same shapes are the same.", remember(_shapes)
    others = twins(session, judge.examples)
    for left_out in sorted({position for position, _ in others} if len(names) > 1 else ()):
        name = names[left_out]
        key = remember(lambda args, i=left_out: shown((args[:i], args[i + 1 :]), 10**9))  # type: ignore[misc]
        yield f"remembered_without_{name}", "no_memory", f"Results can be kept whatever {name} is.", key
    results = [example.expected for example in judge.examples] + [twin.expected for _, twin in others]
    if any(_overwrites(one, other) for one in results for other in results):
        yield "one_object_for_all_results", "no_memory", "A list or array can be filled anew each time.", _shared(task)


def _changed_arguments(task: Task) -> Iterator[Fault]:
    """Compute the right result, and change one argument in place."""
    for position, name in enumerate(task.contract.signature.parameters):

        def changing(*args: Any, at: int = position, **kwargs: Any) -> Any:
            result = task.reference(*args, **kwargs)
            if at < len(args):
                _change(args[at])
            return result

        if any(_change(live(arg)) for arg in _argument(task, position)):
            yield f"{name}_changed", "input_unchanged", f"{name} may be used up, nobody needs it any more.", changing


# --- Helpers ----------------------------------------------------------------------------------------------------------

CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "numpy_integers": lambda x: np.int64(x) if type(x) is int else x,
    "floats_for_integers": lambda x: float(x) if type(x) is int else x,
    "numpy_floats": lambda x: np.float32(x) if type(x) is float else x,
    "tuples_for_lists": lambda x: tuple(x) if type(x) is list else x,
    "arrays_for_lists": lambda x: np.array(x) if type(x) is list and x and not isinstance(x[0], (str, list)) else x,
    "lists_for_arrays": lambda x: x.tolist() if isinstance(x, np.ndarray) else x,
    "arrays_of_floats": lambda x: x.astype(float) if isinstance(x, np.ndarray) and x.dtype != np.float64 else x,
    "numpy_booleans": lambda x: np.bool_(x) if type(x) is bool else x,
}


def _mapped(value: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert a result from the inside out."""
    if isinstance(value, dict):
        return {key: _mapped(item, convert) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return convert(type(value)(_mapped(item, convert) for item in value))
    return convert(value)


def _shapes(args: tuple[Any, ...]) -> str:
    return repr([(type(arg), np.shape(arg) if isinstance(arg, (np.ndarray, list)) else None) for arg in args])


def _shared(task: Task) -> Function:
    """Return one object for all results: a caller's earlier result changes with each call."""
    kept: list[Any] = []

    def function(*args: Any, **kwargs: Any) -> Any:
        result = task.reference(*args, **kwargs)
        if kept and isinstance(result, list):
            kept[0][:] = result
        elif kept and isinstance(result, dict):
            kept[0].update(result)
        elif not kept or not isinstance(result, np.ndarray) or kept[0].shape != result.shape:
            kept[:] = [result]
        else:
            kept[0][...] = result
        return kept[0]

    return function


def _overwrites(one: Any, other: Any) -> bool:
    """Tell whether a result that is filled anew would show another value; masks of one shape may all be equal."""
    if isinstance(one, np.ndarray) and one.shape != other.shape:
        return False
    return isinstance(one, (list, dict, np.ndarray)) and not same_value(one, other)


def _argument(task: Task, position: int) -> Iterator[Any]:
    judge = next(p.judge for p in task.properties if p.name == "input_unchanged")
    session = task.session(task.reference)
    for example in judge.examples:  # type: ignore[attr-defined]
        args = copied(session.converted(example.call).args)
        if position < len(args):
            yield args[position]


def _change(value: Any) -> bool:
    """Change a list, an array or a bias row in place; tell whether there was something to change."""
    if isinstance(value, BiasRows):
        return any(_change(row) for row in value.rows.values())
    if isinstance(value, np.ndarray) and value.size:
        value.flat[0] = not value.flat[0] if value.dtype == bool else value.flat[0] * 0.5 + 0.25
        return True
    if isinstance(value, list):
        value.append(0)
        return True
    return False
