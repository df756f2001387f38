"""Wrong and right failing cases of the clinic's bugs, generated from the visible examples of their repairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dspark_mini import clinic_bugs
from grader.check.comparison import same_value
from grader.check.judges import Example, Values
from grader.lessons.checks import TASKS
from grader.lessons.checks.cases import SUFFIX
from grader.lessons.mutants.manners import Fault
from grader.lessons.tasks import Task

PROPERTY = "shows_the_bug"


def wrong_cases(task: Task) -> Iterator[Fault]:
    """Yield (name, property that must catch it or nothing, what is thought, function) for one failing case."""
    repair = TASKS[task.id.removesuffix(SUFFIX)]
    arguments, right = task.reference()
    parameters = [*repair.contract.signature.parameters]
    kept = {name: arguments[name] for name in parameters[1:]}
    wrong: dict[str, tuple[str, Any]] = {
        "result_of_the_bug": ("What the function returns is right.", (arguments, _buggy(repair, arguments))),
        "result_of_nothing": ("The call alone is enough.", (arguments, None)),
        "call_alone": ("The result need not be given.", arguments),
        "argument_left_out": ("Some arguments have a default.", (kept, right)),
        "argument_made_up": ("Another argument does no harm.", ({**arguments, "seed": 0}, right)),
        "argument_out_of_bounds": ("Any input will do.", ({**arguments, parameters[0]: -2}, right)),
        "argument_of_any_size": ("A large input shows more.", ({**arguments, parameters[-1]: [[10**9] * 99]}, right)),
        "positions_for_names": ("The order of the arguments names them.", ([*arguments.values()], right)),
    }
    for name, (about, case) in wrong.items():
        yield name, PROPERTY, about, lambda found=case: found
    for number, (example, shows) in enumerate(_examples(repair)):
        about = "An example of the check." if shows else "The bug shows everywhere."
        found = (repair.contract.signature.bind(*example.call.args).arguments, example.expected)
        yield f"example_{number}", "" if shows else PROPERTY, about, lambda case=found: case


def _examples(repair: Task) -> Iterator[tuple[Example, bool]]:
    """Yield the visible examples of a repair, and whether the bug shows on them."""
    for example in (example for p in repair.core if isinstance(p.judge, Values) for example in p.judge.examples):
        arguments = repair.contract.signature.bind(*example.call.args).arguments
        yield example, not same_value(example.expected, _buggy(repair, arguments))


def _buggy(repair: Task, arguments: dict[str, Any]) -> Any:
    _, converted = repair.contract.apply((), arguments)
    return getattr(clinic_bugs, repair.function)(**converted)
