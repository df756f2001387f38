"""Writes the measured parts of docs/results.md from the results that ship, so that no number is typed by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dspark_mini.appendix.evidence.report import comparison
from dspark_mini.appendix.evidence.settings import FORMAT
from dspark_mini.appendix.smollm.report import pretrained
from dspark_mini.corpus import DOMAINS
from dspark_mini.files import atomic_write
from dspark_mini.race import BLOCK_SIZE
from dspark_mini.race_options import METHODS, PLAIN_NAME

RESULTS = Path(__file__).parent.parent / "results"
Results = Mapping[str, Any]  # of one file
Files = Mapping[str, Results]  # by name
BACKENDS = {"race-numpy": "NumPy", "race-torch": "torch on the CPU"}


def write_report(results: Path, docs: Path) -> None:
    """Rewrite the measured parts of a document.

    Args:
        results: Directory of evidence.json, smollm-*.json, bench*.json, and of the races' JSON files.
        docs: A text with a pair of marks for each of SECTIONS.

    Raises:
        ValueError: A mark is missing.
    """
    text = updated_text(results, docs)
    with atomic_write(docs) as part:
        part.write_text(text, encoding="utf-8")


def updated_text(results: Path, docs: Path) -> str:
    """Return the document with its measured parts as the results have them; see write_report."""
    files = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(results.glob("*.json"))}
    text = docs.read_text(encoding="utf-8")
    for name, write in SECTIONS.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, _, rest = text.partition(begin)
        old, mark, after = rest.partition(end)
        if not mark:
            raise ValueError(f"{docs} needs the lines {begin} and {end}; what was measured is written between them.")
        text = f"{before}{begin}\n{write(files) or old.strip()}\n{end}{after}"
    return text


def _machine(files: Files) -> str:
    """Name the hardware of the races, and of the GPUs."""
    machines = [files[name]["hardware"] for name in BACKENDS if name in files]
    places = sorted({f"{found['cpu']}, {found['cores']} cores, one thread for the small model" for found in machines})
    gpus = [entry["hardware"]["accelerator"] for entry in _gpus(files)]
    cpu = f"from a CPU ({' and '.join(places)})"
    return (
        f"The part about GPUs was measured on {' and '.join(gpus)}, the others are {cpu}."
        if gpus
        else f"**No GPU was measured**: every figure here is {cpu}."
    )


def _race(files: Files) -> str | None:
    """Write τ and the speed-up of every method, by backend and domain."""
    races = {label: files[name] for name, label in BACKENDS.items() if name in files}
    runs = {(label, run["method"], run["domain"]): run for label, race in races.items() for run in race["runs"]}
    if not runs:
        return None
    columns = [(label, domain) for label in races for domain in DOMAINS]
    titles = [f"{label}: {domain}" if domain == DOMAINS[0] else domain for label, domain in columns]
    lines = [f"γ = {BLOCK_SIZE}, temperature 1:", "", f"| | {' | '.join(titles)} |"]
    lines.append("|---" * (len(titles) + 1) + "|")
    for method in METHODS:
        found = [runs.get((label, method, domain)) for label, domain in columns]
        if any(found) and method != PLAIN_NAME:
            cells = [f"{run['tau']:.2f} ({run['speedup']:.2f})" if run else "" for run in found]
            lines.append(f"| {method} | {' | '.join(cells)} |")
    for label, race in races.items():
        shares = [run["speedup"] / run["expected_speedup"] for run in race["runs"] if run["expected_speedup"]]
        lines += [
            "",
            f"{label}, {race['runs'][0]['prompts']} prompts per domain: "
            f"a forward of the target over {BLOCK_SIZE + 1} tokens takes {race['verify_ratio']:.2f} times as "
            f"long as over one. Speed-ups are {min(shares):.2f} to {max(shares):.2f} of τ·T_target / (T_draft + "
            "T_head + T_verify), which leaves out the commit, a larger share of a plain step than of a round.",
        ]
    return "\n".join(lines)


def _greedy(files: Files) -> str | None:
    """Count the prompts whose greedy text is that of plain decoding."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, label in BACKENDS.items():
        runs = files.get(f"{name}-greedy", {"runs": []})["runs"]
        for method in dict.fromkeys(run["method"] for run in runs if run["method"] != PLAIN_NAME):
            equal, prompts = _equal([run for run in runs if run["method"] == method])
            found.setdefault((label, f"{equal} of {prompts}"), []).append(method)
    parts = [f"in {label} {counts} with each of {', '.join(methods)}" for (label, counts), methods in found.items()]
    return f"Prompts that gave exactly the text of plain decoding: {'; '.join(parts)}." if parts else None


def _equal(runs: Sequence[Results]) -> tuple[int, int]:
    """Count the greedy texts that are those of plain decoding, and all."""
    prompts = sum(run["prompts"] for run in runs)
    return prompts - sum(len(run["mismatches"]) for run in runs), prompts


def _evidence(files: Files) -> str | None:
    """Write the comparison with the paper; results of an earlier format stay as they were written."""
    evidence = files.get("evidence", {})
    entries = {name: entry for name, entry in evidence.items() if entry["settings"].get("format") == FORMAT}
    return comparison(entries) if entries else None


def _gpus(files: Files) -> list[Results]:
    return [entry for name, entry in files.items() if name.startswith("bench") and entry["hardware"]["accelerator"]]


def _bench(files: Files) -> str:
    """Write what `appendix bench` measured on GPUs."""
    rows = []
    for entry in _gpus(files):
        rows += [f"{entry['hardware']['accelerator']}, torch {entry['torch']}:", ""]
        rows += [f"| DSpark | {' | '.join(DOMAINS)} | greedy texts equal | T(8) / T(1) |", "|---|---|---|---|---|---|"]
        for name, found in entry["variants"].items():
            own = {run["domain"]: run for run in found["race"] if run["method"] == "dspark"}
            cells = [f"{own[domain]['tau']:.2f} ({own[domain]['speedup']:.2f})" for domain in DOMAINS]
            equal, prompts = _equal([run for run in found["greedy"] if run["method"] != PLAIN_NAME])
            ratio = found["forward_seconds"]["8"] / found["forward_seconds"]["1"]
            rows.append(f"| {name} | {' | '.join(cells)} | {equal} of {prompts} | {ratio:.2f} |")
        law, serving = entry["law"], entry["serving"]["all domains"]
        over = [ratio["mean"] for ratio in serving["holds"]["scheduled over the best fixed length"]]
        loads = [row["requests"] for row in serving["concurrency"]]
        rows += [
            "",
            f"The law of the first two tokens of {law['texts']} sampled texts: p = {law['p']:.2f}. Throughput of the "
            "scheduler over the best fixed length: "
            + ", ".join(f"{ratio:.2f} for {load}" for ratio, load in zip(over, loads))
            + " requests.",
        ]
    return "\n".join(rows) or "Not measured: `dspark-mini appendix bench --device cuda` does it in ten minutes."


SECTIONS: dict[str, Callable[[Files], str | None]] = {
    "machine": _machine,
    "race": _race,
    "greedy": _greedy,
    "evidence": _evidence,
    "bench": _bench,
    "smollm": pretrained,
}
