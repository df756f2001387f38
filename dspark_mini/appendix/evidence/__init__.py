"""The paper's evidence at this scale: each experiment on the small models, and its picture, beside the paper's shape.

reproduce(folder, Settings(weights)) writes folder/evidence.json and one picture an experiment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from dspark_mini.appendix.evidence import store
from dspark_mini.appendix.evidence.acceptance import figure_2, table_1
from dspark_mini.appendix.evidence.confidence import figure_5, figure_6
from dspark_mini.appendix.evidence.differs import DIFFERS
from dspark_mini.appendix.evidence.recorder import Recorder
from dspark_mini.appendix.evidence.serving import figure_7_8
from dspark_mini.appendix.evidence.settings import EXPERIMENTS, Progress, Settings, silent
from dspark_mini.appendix.evidence.sizes import figure_3, figure_4
from dspark_mini.viz.evidence import draw

__all__ = ["EXPERIMENTS", "Settings", "progress_line", "reproduce"]

RUN: dict[str, Callable[[Recorder], dict[str, Any]]] = {
    "table_1": table_1,
    "figure_2": figure_2,
    "figure_3": figure_3,
    "figure_4": figure_4,
    "figure_5": figure_5,
    "figure_6": figure_6,
    "figure_7_8": figure_7_8,
}


def reproduce(folder: Path, settings: Settings, progress: Progress = silent) -> dict[str, Any]:
    """Run the experiments whose results are not there yet, and write results and pictures into a folder.

    Args:
        folder: gets evidence.json, one svg an experiment, and the recordings that experiments share.
        settings: which experiments, on how many prompts, with which weights.
        progress: is told what runs.

    Returns:
        All results of the file, by experiment.

    Raises:
        ValueError: no target, weights that do not fit, or an evidence.json that cannot be read.
    """
    if not settings.has("target"):
        raise ValueError(f"There is no target at {settings.file('target')}; `dspark-mini appendix train` makes it.")
    path, count = folder / "evidence.json", len(settings.only)
    results = store.read(path)
    for done, name in enumerate(settings.only):
        progress(name, done, count)
        recorder = Recorder(settings, folder / "recordings", partial(_step, progress, name, done, count))
        results[name] = _result(name, recorder, results.get(name, {}))
        store.write(path, {key: results[key] for key in EXPERIMENTS if key in results})
        draw(name, results[name], folder / f"{name}.svg")
    progress("done", count, count)
    return results


def _result(name: str, recorder: Recorder, old: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of an experiment, or run it."""
    settings = recorder.settings
    wanted, missing = store.circumstances(settings, name), [n for n in settings.needs(name) if not settings.has(n)]
    found = old if old.get("settings") == store.plain(wanted) else RUN[name](recorder)
    said = [f"There are no weights {file} in the folder, so its row is null." for file in missing]
    ours = {"paper": found["paper"], "ours": found["ours"], "differs": DIFFERS[name], "missing": said}
    out: dict[str, Any] = store.plain({"settings": wanted} | ours)
    return out


def _step(progress: Progress, name: str, done: int, count: int, what: str) -> None:
    """Show what an experiment is at."""
    progress(f"{name}: {what}", done, count)


@contextmanager
def progress_line() -> Iterator[Progress]:
    """Show one line on the terminal: what runs, how far it is, and for how long."""
    with Bar(
        BarColumn(), TextColumn("{task.completed}/{task.total}"), TimeElapsedColumn(), TextColumn("{task.description}")
    ) as bar:
        line = bar.add_task("", total=None)
        yield lambda what, done, of: bar.update(line, description=what, completed=done, total=of)
