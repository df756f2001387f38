"""Compare ways of decoding on held-out prompts, in one run: transformers' and ours, plainly and with each drafter."""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from dspark_mini.appendix.evidence.statistics import over_prompts
from dspark_mini.appendix.smollm.engine import LONGEST, load, measure_costs
from dspark_mini.appendix.smollm.llama import FORMS
from dspark_mini.appendix.smollm.prompts import held_out
from dspark_mini.appendix.smollm.speed import fastest_form
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
    prompts: int = 210
    few: int = 28  # prompts on which every method runs, with every number of threads
    tokens: int = 64
    threads: tuple[int, ...] = (2, 1)  # the first is that of all prompts
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
    methods = Methods(options, model, lines[0]["plain"] if lines else "", questions[0])
    if not lines:
        machine = hardware(f"torch {torch.__version__}", "cpu", model)
        yield {"settings": settings, "hardware": machine, "form": methods.form, "plain": methods.plain}
    for number, (about, prompt) in enumerate(zip(prompts, questions)):
        if number + 1 >= len(lines):
            yield {**about, "runs": methods.run(prompt, number < options.few)}
            console.print(f"{number + 1} of {len(prompts)}: {about['prompt']}", soft_wrap=True, markup=False)


class Methods:
    """The ways of decoding: the faster of our plain ones and the drafters on all prompts, the others on few.

    Args:
        options: What to compare.
        model: The target and its drafters.
        plain: Form of our fastest plain decoding, "" to find it.
        prompt: A prompt to find it with.
    """

    def __init__(self, options: Options, model: SmallLM, plain: str, prompt: list[int]) -> None:
        self.options, self.model, self.form = options, model, model.target.llama.form
        ours = {form: model if form == self.form else load(options.model, form=form) for form in FORMS}
        by_form = {form: _ours(options, one) for form, one in ours.items()}
        torch.set_num_threads(options.threads[0])
        self.plain = plain or min(FORMS, key=lambda form: by_form[form](prompt, 0.0, 32)["seconds"])
        self.always = {PLAIN: by_form[self.plain], **{name: _ours(options, model, name) for name in model.drafters}}
        others = {f"{PLAIN} {form}": run for form, run in by_form.items() if form != self.plain}
        self.all = self.always | others | _transformers(options, model.tokenizer.end)
        self.costs = dict[int, Row]()  # of rounds, by number of threads

    def run(self, prompt: list[int], every: bool) -> list[Row]:
        """Decode a prompt with the methods of all prompts, or with every method and number of threads."""
        runs, shared = list[Row](), vars(self.model.drafters["lookup"].costs)
        for threads in self.options.threads[: None if every else 1]:
            torch.set_num_threads(threads)
            if threads not in self.costs:
                measure_costs(self.model)
                self.costs[threads] = dict(shared)
                for run in (self.all if every else self.always).values():
                    run(prompt, 0.0, 4)  # warm-up
            shared.update(self.costs[threads])
            for temperature in self.options.temperatures:
                runs += self._run(self.all if every else self.always, prompt, temperature, threads)
        return runs

    def _run(self, methods: dict[str, Runner], prompt: list[int], temperature: float, threads: int) -> list[Row]:
        """Decode a prompt in every way, and note where greedy texts differ from our plain one."""
        runs, plain = list[Row](), list[int]()
        for name, run in methods.items():  # plain decoding is the first
            found = run(prompt, temperature, self.options.tokens)
            text = found.pop("output")
            plain = text if name == PLAIN else plain
            runs.append({"method": name, "threads": threads, "temperature": temperature, "tokens": len(text), **found})
            runs[-1]["differs"] = None if temperature else first_difference(self.model, prompt, plain, text)
        return runs


def _transformers(options: Options, end: int) -> dict[str, Runner]:
    """Return transformers' ways of decoding by name, where it is installed.

    Assisted generation needs a small model with the same tokenizer, and there is none; instead the first third of the
    layers drafts.
    """
    if importlib.util.find_spec("transformers") is None:
        return {}
    from transformers import AutoModelForCausalLM

    out = dict[str, Runner]()
    for dtype in ("float32", "bfloat16"):
        theirs = AutoModelForCausalLM.from_pretrained(options.model, dtype=getattr(torch, dtype))
        out[f"transformers {dtype}"] = _theirs(options, theirs, end)
        out[f"transformers {dtype} lookup"] = _theirs(options, theirs, end, prompt_lookup_num_tokens=10)
    exit_layer = theirs.config.num_hidden_layers // 3
    return out | {"transformers bfloat16 assisted": _theirs(options, theirs, end, assistant_early_exit=exit_layer)}


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
    """Compare the methods with our fastest plain decoding of the same prompts, by threads, temperature and kind.

    Returns:
        For each: prompts, tokens per second, speed-up with its bootstrap interval over prompts, and of ours τ,
        acceptance by position, and seconds of each part of a round.
    """
    runs = [{**run, "kind": row["kind"], "prompt": row["prompt"]} for row in rows for run in row["runs"]]
    groups = list[Row]()
    for about in dict.fromkeys((run["threads"], run["temperature"], run["kind"], run["method"]) for run in runs):
        group = dict(zip(("threads", "temperature", "kind", "method"), about))
        own = [run for run in runs if group.items() <= run.items()]
        base = {run["prompt"]: run for run in runs if {**group, "method": PLAIN}.items() <= run.items()}
        groups.append({**group, **_compared(own, [base[run["prompt"]] for run in own])})
    return groups


def _compared(own: Sequence[Row], base: Sequence[Row]) -> Row:
    """Compare the runs of a method with those of another on the same prompts."""
    mine, others = (np.array([[run["tokens"], run["seconds"]] for run in runs]).T for runs in (own, base))

    def ratio(weights: Any) -> Any:
        return (weights @ mine[0]) / (weights @ mine[1]) / ((weights @ others[0]) / (weights @ others[1]))

    found: Row = {"tokens_per_second": mine[0].sum() / mine[1].sum(), "speedup": over_prompts(ratio, len(own))}
    if "rounds" in own[0]:
        rounds = [
            Round(verified=verified, accepted=accepted, emitted=[0] * emitted)
            for run in own
            for verified, accepted, emitted in run["rounds"]
        ]
        rates = acceptance_by_position(rounds, LONGEST)
        found["tau"] = mine[0].sum() / len(rounds)
        found["acceptance"] = [None if np.isnan(rate) else round(rate, 3) for rate in rates]
        found["parts"] = {part: sum(run["parts"][part] for run in own) for part in own[0]["parts"]}
    return found


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
