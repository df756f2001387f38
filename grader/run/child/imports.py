"""What a graded function may import, in every check alike: the standard library, NumPy, and the kit's contracts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

IMPORTABLE = frozenset({"numpy", "dspark_mini", "grader"})  # besides the standard library


class OnlyImportable:
    """An import finder that comes first and finds nothing else."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        """Refuse a module that graded code does not get, whether or not it is installed."""
        if not is_importable(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def is_importable(module: str) -> bool:
    """Tell whether graded code may import a module, given by its full name."""
    top = module.partition(".")[0]
    built = top.startswith("_sysconfigdata")  # a part of the standard library whose name depends on the machine
    return top in IMPORTABLE or top in sys.stdlib_module_names or built


def foreign_modules(function: Any) -> set[str]:
    """Name the packages that a function uses and that graded code does not get; an import it does not use is none."""
    found, left, seen = set[str](), [function], set[int]()
    while left:
        function = left.pop()
        if not isinstance(function, FunctionType) or id(function) in seen:
            continue
        seen.add(id(function))
        for loads, name in _names_in(function.__code__):
            value = function.__globals__.get(name) if loads else None
            module = name if not loads else _module_of(value)
            if module == function.__module__:
                left.append(value)  # a helper of the learner's own
            elif module and not is_importable(module):
                found.add(module.partition(".")[0])
    return found


def _names_in(code: CodeType) -> Iterator[tuple[bool, str]]:
    """Yield the global names that code loads (true) and the modules that it imports (false), nested code included."""
    import dis  # here, since a child starts faster without it

    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "IMPORT_NAME"):
            yield instruction.opname != "IMPORT_NAME", str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _module_of(value: Any) -> str:
    return value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", None) or "builtins")
