"""Compare ways of decoding on held-out prompts, in one run: transformers' and ours, plainly and with each drafter."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from dspark_mini.appendix.evidence.statistics import over_prompts
from dspark_mini.appendix.smollm.engine import LONGEST, load, measure_costs
from dspark_mini.appendix.smollm.prompts import held_out
from dspark_mini.appendix.smollm.speed import fastest_dtype
from dspark_mini.backends import hardware
from dspark_mini.engine import Steps, generate
from dspark_mini.files import atomic_write
from dspark_mini.lm import SmallLM
from dspark_mini.race import acceptance_by_position, first_difference
from dspark_mini.terminal import plain_table
from dspark_mini.trace import Round

PLAIN = "plain"
BATCH = 20  # every BATCH-th held-out prompt comes first, so that any number of them has all kinds
Row = dict[str, Any]  # results of one prompt
Runner = Callable[[list[int], float, int], Row]  # prompt, temperature, most tokens → output, seconds, rounds


@dataclass(frozen=True)
class Options:
    """What to compare."""

    model: Path
    drafter: Path | None
    prompts: int = 280
    tokens: int = 128
    threads: tuple[int, ...] = (1, 2)
    temperatures: tuple[float, ...] = (0.0, 1.0)
    seed: int = 0


def chosen_prompts(count: int) -> list[dict[str, str]]:
    """Return the first held-out prompts, in an order in which every 14 have all families and kinds."""
    rows = held_out()
    return [rows[i] for i in sorted(range(len(rows)), key=lambda i: (i % BATCH, i))][:count]


def _settings(options: Options) -> dict[str, Any]:
    """What two runs must share to be continued: all but the number of prompts; of folders the names only."""
    settings: dict[str, Any] = json.loads(json.dumps(asdict(options), default=lambda folder: folder.name))
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
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.is_file() else []
    if lines and lines[0]["settings"] != settings:
        raise ValueError(f"{path} has results of other settings; move it away, or choose another directory.")
    prompts = chosen_prompts(options.prompts)
    if len(lines) <= len(prompts):
        folder.mkdir(parents=True, exist_ok=True)
        for line in _missing(options, settings, prompts, lines, console):
            lines.append(line)
            with atomic_write(path) as part:
                part.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    rows = lines[1 : len(prompts) + 1]
    results = {**lines[0], "prompts": len(rows), "groups": summarise(rows)}
    with atomic_write(folder / "compare.json") as part:
        part.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    console.print(table(results["groups"]))
    for note in notes(rows):
        console.print(note, soft_wrap=True)


def _missing(
    options: Options, settings: Row, prompts: Sequence[dict[str, str]], lines: list[Row], console: Console
) -> Iterator[Row]:
    """Yield the first line where there is none, and those of the prompts that have not run."""
    dtype = getattr(torch, lines[0]["dtype"]) if lines else fastest_dtype()
    model = load(options.model, options.drafter, dtype)
    other = torch.float32 if dtype == torch.bfloat16 else torch.bfloat16
    plain = {_name(dtype): _ours(options, model), _name(other): _ours(options, load(options.model, dtype=other))}
    if not lines:
        question = model.tokenizer.question(prompts[0]["prompt"])
        faster = min(plain, key=lambda name: plain[name](question, 0.0, 32)["seconds"])  # for transformers
        machine = hardware(f"torch {torch.__version__}", "cpu", model)
        yield {"settings": settings, "hardware": machine, "dtype": _name(dtype), "transformers_dtype": faster}
    runners = {PLAIN: plain[_name(dtype)], f"{PLAIN} {_name(other)}": plain[_name(other)]}
    runners |= _transformers(options, getattr(torch, lines[0]["transformers_dtype"]), model.tokenizer.end)
    runners |= {name: _ours(options, model, name) for name in model.drafters}
    shared, costs, first = model.drafters["lookup"].costs, dict[int, Any](), max(0, len(lines) - 1)
    for number, about in enumerate(prompts[first:], start=first + 1):
        prompt, runs = model.tokenizer.question(about["prompt"]), list[Row]()
        for threads in options.threads:
            torch.set_num_threads(threads)
            if threads not in costs:
                measure_costs(model)
                costs[threads] = dict(vars(shared))
                for run in runners.values():
                    run(prompt, 0.0, 4)  # warm-up
            vars(shared).update(costs[threads])
            for temperature in options.temperatures:
                runs += _run_all(model, runners, prompt, temperature, threads, options)
        console.print(f"{number} of {len(prompts)}: {about['prompt']}", soft_wrap=True, markup=False)
        yield {**about, "runs": runs}


def _run_all(
    model: SmallLM, runners: dict[str, Runner], prompt: list[int], temperature: float, threads: int, options: Options
) -> list[Row]:
    """Decode a prompt in every way, and note where greedy texts differ from our plain one."""
    runs, plain = list[Row](), list[int]()
    for name, run in runners.items():  # plain decoding is the first
        found = run(prompt, temperature, options.tokens)
        text = found.pop("output")
        plain = text if name == PLAIN else plain
        runs.append({"method": name, "threads": threads, "temperature": temperature, "tokens": len(text), **found})
        runs[-1]["differs"] = None if temperature else first_difference(model, prompt, plain, text)
    return runs


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _transformers(options: Options, dtype: torch.dtype, end: int) -> dict[str, Runner]:
    """Return transformers' ways of decoding by name, where it is installed."""
    if importlib.util.find_spec("transformers") is None:
        return {}
    from transformers import AutoModelForCausalLM

    theirs = AutoModelForCausalLM.from_pretrained(options.model, dtype=dtype)
    lookup = _theirs(options, theirs, end, prompt_lookup_num_tokens=10)
    return {"transformers": _theirs(options, theirs, end), "transformers lookup": lookup}


def _ours(options: Options, model: SmallLM, drafter: str = "") -> Runner:
    steps = Steps(block_size=lambda trace: LONGEST)

    def run(prompt: list[int], temperature: float, tokens: int) -> Row:
        model.clear()
        rng, end = np.random.default_rng([options.seed, *prompt]), (model.tokenizer.end,)
        start = time.perf_counter()
        trace = generate(model.target, model.drafters.get(drafter), prompt, tokens, end, temperature, rng, steps)
        seconds, rounds = time.perf_counter() - start, trace.rounds
        parts = {part: sum(round_.seconds[part] for round_ in rounds) for part in rounds[0].seconds}
        counts = [[round_.verified, round_.accepted, len(round_.emitted)] for round_ in rounds]
        return {"output": trace.output, "seconds": seconds, "parts": parts, "rounds": counts}

    return run


def _theirs(options: Options, model: Any, end: int, **how: Any) -> Runner:
    def run(prompt: list[int], temperature: float, tokens: int) -> Row:
        torch.manual_seed(options.seed)
        ids = torch.tensor([prompt])
        sampling = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {"do_sample": False}
        start = time.perf_counter()
        text = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, eos_token_id=end, pad_token_id=end,
            **sampling, **how,
        )  # fmt: skip
        return {"output": text[0, len(prompt) :].tolist(), "seconds": time.perf_counter() - start}

    return run


def summarise(rows: Sequence[Row]) -> list[Row]:
    """Compare the methods, by threads, temperature and kind of prompt, each with the faster plain decoding of ours.

    Returns:
        For each: tokens per second, speed-up with its bootstrap interval over prompts, and of ours τ, acceptance by
        position, and seconds of each part of a round.
    """
    keys = dict.fromkeys((run["threads"], run["temperature"]) for row in rows for run in row["runs"])
    groups = list[Row]()
    for threads, temperature in keys:
        for kind in dict.fromkeys(row["kind"] for row in rows):
            by_method: dict[str, list[Row]] = {}
            for run in (run for row in rows if row["kind"] == kind for run in row["runs"]):
                if (run["threads"], run["temperature"]) == (threads, temperature):
                    by_method.setdefault(run["method"], []).append(run)
            about = {"threads": threads, "temperature": temperature, "kind": kind}
            groups += [{**about, **group} for group in _methods(by_method)]
    return groups


def _methods(by_method: dict[str, list[Row]]) -> Iterator[Row]:
    def sums(runs: Iterable[Row]) -> Any:
        return np.array([[run["tokens"], run["seconds"]] for run in runs]).T  # (2, prompts)

    def speed(measured: Any) -> float:
        return float(measured[0].sum() / measured[1].sum())

    base = max((sums(runs) for name, runs in by_method.items() if name.startswith(PLAIN)), key=speed)
    for name, runs in by_method.items():
        own = sums(runs)

        def ratio(weights: Any, own: Any = own) -> Any:
            return (weights @ own[0]) / (weights @ own[1]) / ((weights @ base[0]) / (weights @ base[1]))

        found: Row = {"method": name, "tokens_per_second": speed(own), "speedup": over_prompts(ratio, len(runs))}
        if "rounds" in runs[0]:
            rounds = [
                Round(verified=verified, accepted=accepted, emitted=[0] * emitted)
                for run in runs
                for verified, accepted, emitted in run["rounds"]
            ]
            rates = acceptance_by_position(rounds, LONGEST)
            found["tau"] = own[0].sum() / len(rounds)
            found["acceptance"] = [None if np.isnan(rate) else round(rate, 3) for rate in rates]
            found["parts"] = {part: sum(run["parts"][part] for run in runs) for part in runs[0]["parts"]}
        yield found


def table(groups: Sequence[Row]) -> Table:
    """Return the summary as a table."""
    out = plain_table("threads", "T", "prompts", "method", "tok/s", "speed-up", "τ", "acceptance by position")
    for group in groups:
        speedup = group["speedup"]
        out.add_row(
            *(str(group["threads"]), f"{group['temperature']:g}", f"{speedup['n']} {group['kind']}", group["method"]),
            f"{group['tokens_per_second']:.1f}",
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
