"""Run the paper's experiments on the small models, and keep results and pictures next to what the paper reports."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dspark_mini.appendix.evidence import acceptance, bounds, confidence, curves, serving, tree_search
from dspark_mini.appendix.evidence.recordings import Recorder
from dspark_mini.appendix.evidence.settings import EXPERIMENTS, Settings
from dspark_mini.files import atomic_write
from dspark_mini.paper import PAPER
from dspark_mini.viz.evidence import PICTURES, draw

RUN: dict[str, Callable[[Recorder], dict[str, Any] | None]] = {
    "table_1": acceptance.table_1,
    "figure_2": acceptance.figure_2,
    "figure_3": acceptance.figure_3,
    "figure_4": acceptance.figure_4,
    "figure_5": confidence.figure_5,
    "figure_6": confidence.figure_6,
    "figure_7_8": serving.figure_7_8,
    "trees": tree_search.trees,
    "training": curves.training,
    "step": bounds.step,
}
DIFFERS = acceptance.DIFFERS | confidence.DIFFERS | serving.DIFFERS


def reproduce(folder: Path, settings: Settings, say: Callable[[str], object] = print) -> dict[str, Any]:
    """Run the experiments that have no results for these settings yet, and write results and pictures.

    Args:
        folder: Directory for evidence.json, one SVG per experiment, and the recordings that experiments share.
        settings: Experiments, prompts and weights.
        say: Receives a line for each step.

    Returns:
        The contents of evidence.json: results by experiment.

    Raises:
        ValueError: The target is missing, weights do not fit, or evidence.json cannot be read.
    """
    if not settings.has("target"):
        raise ValueError(f"There is no target at {settings.file('target')}; `dspark-mini appendix train` makes it.")
    path = folder / "evidence.json"
    results = read_results(path)
    recorder = Recorder(settings, folder / "recordings", say)
    for name in settings.only:
        say(name)
        results[name] = _run_or_keep(name, recorder, results.get(name, {}))
        write_results(path, {key: results[key] for key in EXPERIMENTS if key in results})
        if name in PICTURES:
            draw(name, results[name], folder / f"{name}.svg")
    return results


def _run_or_keep(name: str, recorder: Recorder, kept: Mapping[str, Any]) -> dict[str, Any]:
    """Run an experiment, unless results of the same settings are there."""
    settings = recorder.settings
    provenance = json_ready(settings.provenance(name))
    ours = kept["ours"] if kept.get("settings") == provenance else RUN[name](recorder)
    missing = [drafter for drafter in settings.drafters(name) if not settings.has(drafter)]
    out: dict[str, Any] = json_ready(
        {
            "settings": provenance,
            "paper": PAPER.get(name),
            "ours": ours,
            "differs": DIFFERS.get(name),
            "missing": [f"{drafter} has no weights in the folder, so its row is null." for drafter in missing],
        }
    )
    return out


def read_results(path: Path) -> dict[str, Any]:
    """Read evidence.json, or return nothing if it does not exist yet.

    Raises:
        ValueError: The file is not a JSON object.
    """
    if not path.is_file():
        return {}
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not valid JSON ({error}). Move it away, or choose another folder.") from error
    if not isinstance(results, dict):
        raise ValueError(f"{path} does not hold results of experiments. Move it away, or choose another folder.")
    return results


def write_results(path: Path, results: Mapping[str, Any]) -> None:
    """Write all results, or leave the file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        part.write_text(json.dumps(results, indent=1, allow_nan=False, ensure_ascii=False) + "\n", encoding="utf-8")


def json_ready(value: Any) -> Any:
    """Return data as it will read back from JSON: string keys, lists, and None for NaN and infinities."""
    if isinstance(value, Mapping):
        return {str(key): json_ready(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
