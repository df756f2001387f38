"""The half of the checks that a bundle leaves out, one or two files per lesson: oracles and hidden cases."""

import importlib
import pkgutil

from grader.lessons.tasks import Hidden

HIDDEN: dict[str, Hidden] = {
    task: hidden
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name)
    for task, hidden in importlib.import_module(f"{__name__}.{module.name}").HIDDEN.items()
}
