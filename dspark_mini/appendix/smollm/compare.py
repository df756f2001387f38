"""Compare ways of decoding on held-out prompts, in one run: transformers' and ours, plainly and with each drafter."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from dspark_mini.appendix.evidence.statistics import over_prompts
from dspark_mini.appendix.smollm.engine import LONGEST, load
from dspark_mini.appendix.smollm.methods import PLAIN, Methods, Options, Row
from dspark_mini.appendix.smollm.prompts import held_out
from dspark_mini.appendix.smollm.report import OTHER, TRAINED
from dspark_mini.appendix.smollm.speed import fastest_form
from dspark_mini.backends import hardware
from dspark_mini.files import atomic_write
from dspark_mini.race import acceptance_by_position
from dspark_mini.race_options import SMOLLM_DRAFTERS
from dspark_mini.terminal import plain_table
from dspark_mini.trace import Round

BATCH = 20  # every BATCH-th held-out prompt comes first, so that any number of them has all kinds


def chosen_prompts(count: int) -> list[dict[str, str]]:
    """Return the first held-out prompts, in an order in which every 14 have all families and kinds."""
    rows = held_out()
    return [rows[i] for i in sorted(range(len(rows)), key=lambda i: (i % BATCH, i))][:count]


def _settings(options: Options) -> dict[str, Any]:
    """What two runs must share to be continued: all but the number of prompts; of folders the names only."""
    settings: dict[str, Any] = json.loads(json.dumps(asdict(options), default=lambda folder: folder.name))
    for weights in (options.drafter or Path()).glob("*.safetensors"):
        settings["drafter"] += f" {hashlib.sha256(weights.read_bytes()).hexdigest()[:12]}"
    return {name: value for name, value in settings.items() if name != "prompts"}


def compare(options: Options, folder: Path, console: Console) -> None:
    """Run what is missing, prompt by prompt; then write the summary and print it.

    Args:
        options: What to compare.
        folder: Directory of compare.jsonl, which holds the options and the results of each prompt, and compare.json.
        console: Receives a line per prompt, and the table.

    Raises:
        ValueError: A model cannot be loaded, or the folder has results of another comparison.
    """
    path, settings = folder / "compare.jsonl", _settings(options)
    try:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []
        same = not lines or lines[0]["settings"] == settings
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged; move it away, or choose another directory.") from error
    if not same:
        raise ValueError(f"{path} has results of other settings; move it away, or choose another directory.")
    prompts = chosen_prompts(options.prompts)
    if len(lines) <= len(prompts):
        folder.mkdir(parents=True, exist_ok=True)
        for line in _missing(options, settings, prompts, lines, console):
            lines.append(line)
            with atomic_write(path) as part:
                part.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    rows = lines[1 : len(prompts) + 1]
    results = {**lines[0], "prompts": len(rows), "groups": summarise(rows), "notes": [*notes(rows)]}
    with atomic_write(folder / "compare.json") as part:
        part.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    console.print(table(results["groups"]))
    for note in results["notes"]:
        console.print(note, soft_wrap=True)


def _missing(
    options: Options, settings: Row, prompts: Sequence[dict[str, str]], lines: list[Row], console: Console
) -> Iterator[Row]:
    """Yield the first line where there is none, and those of the prompts that have not run."""
    model = load(options.model, options.drafter, lines[0]["form"] if lines else fastest_form())
    questions = [model.tokenizer.question(about["prompt"]) for about in prompts]
    methods = Methods(options, model, lines[0] if lines else None, questions[0])
    if not lines:
        yield {"settings": settings, "hardware": hardware(f"torch {torch.__version__}", "cpu", model), **methods.found}
    for number, (about, prompt) in enumerate(zip(prompts, questions)):
        if number + 1 >= len(lines):
            yield {**about, "runs": methods.run(prompt, number < options.few)}
            console.print(f"{number + 1} of {len(prompts)}: {about['prompt']}", soft_wrap=True, markup=False)


def _labels(row: Row) -> list[str]:
    """Return the groups to which a prompt belongs."""
    return [row["kind"], *([TRAINED, row["family"]] if row["kind"] != OTHER else [])]


def summarise(rows: Sequence[Row]) -> list[Row]:
    """Compare the methods by threads, temperature and group of prompts; of each text, what follows the prompt counts.

    Returns:
        For each method: tokens per second; speed-up over our fastest plain decoding of the same prompts, with its
        bootstrap interval over prompts; of our drafters also that over each other method; τ, acceptance by position,
        and seconds of each part of a round.
    """
    tables: dict[tuple[Any, ...], dict[str, dict[str, Row]]] = {}  # by group, then method, then prompt
    for row in rows:
        for label in _labels(row):
            for run in row["runs"]:
                methods = tables.setdefault((run["threads"], run["temperature"], label), {})
                methods.setdefault(run["method"], {})[row["prompt"]] = run
    groups = list[Row]()
    for about, methods in tables.items():
        for name, own in methods.items():
            group = {**dict(zip(("threads", "temperature", "prompts"), about)), "method": name, **_details(own)}
            others = [other for other in methods if other not in SMOLLM_DRAFTERS]
            over = {other: _speedup(own, methods[other]) for other in others if name in SMOLLM_DRAFTERS}
            groups.append({**group, "speedup": _speedup(own, methods[PLAIN]), "over": over})
    return groups


def _speedup(own: dict[str, Row], base: dict[str, Row]) -> Row:
    """Compare the runs of a method, by prompt, with those of another on the same prompts."""
    both = [prompt for prompt in own if prompt in base]
    mine, others = (np.array([[by[p]["tokens"], by[p]["seconds"]] for p in both]).T for by in (own, base))

    def ratio(weights: Any) -> Any:
        return (weights @ mine[0]) / (weights @ mine[1]) / ((weights @ others[0]) / (weights @ others[1]))

    return over_prompts(ratio, len(both))


def _details(by_prompt: dict[str, Row]) -> Row:
    own = [*by_prompt.values()]
    found: Row = {"tokens_per_second": sum(run["tokens"] for run in own) / sum(run["seconds"] for run in own)}
    if "rounds" in own[0]:
        rounds = [
            Round(verified=verified, accepted=accepted, emitted=[0] * emitted)
            for run in own
            for verified, accepted, emitted in run["rounds"]
        ]
        rates = acceptance_by_position(rounds, LONGEST)
        found["tau"] = sum(run["tokens"] for run in own) / len(rounds)
        found["acceptance"] = [None if np.isnan(rate) else round(rate, 3) for rate in rates]
        found["parts"] = {part: sum(run["parts"][part] for run in own) for part in own[0]["parts"]}
    return found


def table(groups: Sequence[Row]) -> Table:
    """Return the summary as a table, without the single families and kinds."""
    out = plain_table("threads", "T", "prompts", "method", "tok/s", "speed-up", "τ", "acceptance by position")
    for group in (group for group in groups if group["prompts"] in (TRAINED, OTHER)):
        speedup = group["speedup"]
        out.add_row(
            *(str(group["threads"]), f"{group['temperature']:g}", f"{speedup['n']} {group['prompts']}"),
            *(group["method"], f"{group['tokens_per_second']:.1f}"),
            f"{speedup['mean']:.2f} [{speedup['low']:.2f}, {speedup['high']:.2f}]",
            f"{group['tau']:.2f}" if "tau" in group else "",
            " ".join(f"{rate:.2f}" for rate in group.get("acceptance", ()) if rate is not None),
        )
    return out


def notes(rows: Sequence[Row]) -> Iterator[str]:
    """Say how many greedy texts differ from our plain decoding, and how near the best logits are where they part."""
    greedy = [run for row in rows for run in row["runs"] if run["temperature"] == 0]
    for name in dict.fromkeys(run["method"] for run in greedy if run["method"] != PLAIN):
        runs = [run for run in greedy if run["method"] == name]
        gaps = [run["differs"]["gap"] for run in runs if run["differs"]]
        note = f"{name}: {len(gaps)} of {len(runs)} greedy texts differ from plain decoding"
        if gaps:
            note += f"; there the two best logits are {np.median(gaps):.1e} apart (median), at most {max(gaps):.1e}"
        yield f"{note}."
