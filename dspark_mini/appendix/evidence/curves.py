"""How the drafters were trained: times and learning curves, from the records that `appendix train` writes."""

from __future__ import annotations

import json
from typing import Any

from dspark_mini.appendix.evidence.recordings import Recorder

SUFFIX = ".training.json"


def training(recorder: Recorder) -> dict[str, Any] | None:
    """Collect seconds by job, and for each drafter the chance of acceptance during its training."""
    files = sorted(recorder.settings.weights.glob(f"*{SUFFIX}"))
    records = {file.name.removesuffix(SUFFIX): json.loads(file.read_text(encoding="utf-8")) for file in files}
    curves = {name: record["overlap"] for name, record in records.items() if record["overlap"]}
    if not curves:
        return None
    seconds = {name: record["cpu_seconds"] for name, record in records.items()}
    times = [record[when] for record in records.values() for when in ("started", "finished") if when in record]
    return {
        "cpu_seconds": seconds | {"all": sum(seconds.values())},
        "seconds_by_the_clock": max(times) - min(times) if times else None,  # pauses included
        "steps_per_point": next(iter(records.values()))["steps_per_point"],
        "overlap": curves,
        "rise_in_the_last_tenth": {name: _rise(curve) for name, curve in curves.items()},
    }


def _rise(curve: list[float]) -> float:
    """Return by how much the mean of the last tenth of a curve exceeds that of the tenth before."""
    tenth = max(1, len(curve) // 10)
    return (sum(curve[-tenth:]) - sum(curve[-2 * tenth : -tenth] or curve[:tenth])) / tenth
