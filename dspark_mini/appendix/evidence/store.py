"""The file of the results: an experiment that stands there with the same settings is not run again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dspark_mini.appendix.evidence.settings import Settings
from dspark_mini.files import whole


def read(path: Path) -> dict[str, Any]:
    """Read the results that are there, by experiment.

    Raises:
        ValueError: a file that is no JSON object.
    """
    if not path.is_file():
        return {}
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is no JSON: {error}. Move it away, or write elsewhere.") from error
    if not isinstance(results, dict):
        raise ValueError(f"{path} holds no results of experiments. Move it away, or write elsewhere.")
    return results


def write(path: Path, results: Mapping[str, Any]) -> None:
    """Write all results, whole or not at all; what is no number becomes null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as part:
        part.write_text(json.dumps(plain(results), indent=1, allow_nan=False) + "\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """Return data with None in place of what JSON has no number for."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def circumstances(settings: Settings, experiment: str) -> dict[str, Any]:
    """Return all that an experiment's results depend on: another value of it means another run."""
    out: dict[str, Any] = {
        "prompts_of_a_domain": settings.prompts,
        "max_new_tokens": settings.max_new_tokens,
        "weights": {name: settings.fingerprint(name) for name in ("target", *settings.needs(experiment))},
    }
    if experiment == "table_1":
        out["training_seeds"] = list(settings.seeds)
    if experiment == "figure_7_8":
        out |= {"concurrency": list(settings.concurrency), "served_seconds": settings.served_seconds}
    return out
