"""The ways of decoding that are compared: ours plainly and with each drafter, and those of transformers."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dspark_mini.appendix.smollm.engine import LONGEST, load, measure_costs
from dspark_mini.appendix.smollm.llama import FORMS
from dspark_mini.appendix.smollm.speed import forward_times, memory_bandwidth
from dspark_mini.engine import Steps, generate
from dspark_mini.lm import SmallLM
from dspark_mini.race import first_difference

PLAIN = "plain"
Row = dict[str, Any]  # results of one text
Runner = Callable[[list[int], float, int], Row]  # prompt, temperature, most tokens → output, tokens, seconds, rounds


@dataclass(frozen=True)
class Options:
    """What to compare."""

    model: Path
    drafter: Path | None
    prompts: int = 210
    few: int = 14  # prompts on which every method runs, with every number of threads
    tokens: int = 48
    threads: tuple[int, ...] = (2, 1)  # the first is that of all prompts
    temperatures: tuple[float, ...] = (0.0, 1.0)
    seed: int = 0


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
        for run in by_form.values():
            run(prompt, 0.0, 4)  # warm-up
        self.plain = plain or min(FORMS, key=lambda form: by_form[form](prompt, 0.0, 32)["seconds"])
        self.always = {PLAIN: by_form[self.plain], **{name: _ours(options, model, name) for name in model.drafters}}
        others = {f"{PLAIN} {form}": run for form, run in by_form.items() if form != self.plain}
        dtype = min(("float32", "bfloat16"), key=lambda form: by_form[form](prompt, 0.0, 32)["seconds"])
        self.all = self.always | others | _transformers(options, model.tokenizer.end, dtype)
        self.forms = {form: _form_times(one) for form, one in ours.items()} if not plain else {}
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
            runs.append({"method": name, "threads": threads, "temperature": temperature, **found})
            runs[-1]["differs"] = None if temperature else first_difference(self.model, prompt, plain, text)
        return runs


def _form_times(model: SmallLM) -> Row:
    """Measure what forwards cost in a form, and what bounds plain decoding."""
    llama, counts = model.target.llama, (1, 2, 3, 4, 5, 8)
    found = {"tokens": counts, "seconds": forward_times(llama, counts), "bytes": llama.weight_bytes}
    return {**found, "bandwidth": memory_bandwidth()}


def _transformers(options: Options, end: int, dtype: str) -> dict[str, Runner]:
    """Return transformers' ways of decoding by name, where it is installed.

    Assisted generation is not among them: it needs a small model with the same tokenizer, and there is none.
    """
    if importlib.util.find_spec("transformers") is None:
        return {}
    from transformers import AutoModelForCausalLM

    theirs = AutoModelForCausalLM.from_pretrained(options.model, dtype=getattr(torch, dtype))
    lookup = _theirs(options, theirs, end, prompt_lookup_num_tokens=10)
    return {f"transformers {dtype}": _theirs(options, theirs, end), "transformers lookup": lookup}


def _ours(options: Options, model: SmallLM, drafter: str = "") -> Runner:
    steps = Steps(block_size=lambda trace: LONGEST)

    def run(prompt: list[int], temperature: float, tokens: int) -> Row:
        model.clear()
        rng, end = np.random.default_rng([options.seed, *prompt]), (model.tokenizer.end,)
        trace = generate(model.target, model.drafters.get(drafter), prompt, tokens, end, temperature, rng, steps)
        parts = {part: sum(round_.seconds[part] for round_ in trace.rounds) for part in trace.rounds[0].seconds}
        counts = [[round_.verified, round_.accepted, len(round_.emitted)] for round_ in trace.rounds]
        timed = {"tokens": len(trace.output), "seconds": sum(parts.values())}
        return {"output": trace.output, **timed, "parts": parts, "rounds": counts}

    return run


class Arrivals:
    """A streamer of transformers that notes when tokens come: the prompt first, then one or several at a time."""

    def __init__(self) -> None:
        self.times, self.counts = list[float](), list[int]()

    def put(self, tokens: Any) -> None:
        """Note the time."""
        self.times.append(time.perf_counter())
        self.counts.append(tokens.numel())

    def end(self) -> None:
        """Do nothing."""


def _theirs(options: Options, model: Any, end: int, **how: Any) -> Runner:
    def run(prompt: list[int], temperature: float, tokens: int) -> Row:
        torch.manual_seed(options.seed)
        ids, arrivals = torch.tensor([prompt]), Arrivals()
        sampling = {"do_sample": True, "temperature": temperature, "top_k": 0} if temperature else {"do_sample": False}
        text = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, eos_token_id=end, pad_token_id=end,
            streamer=arrivals, **sampling, **how,
        )  # fmt: skip
        timed = {"tokens": sum(arrivals.counts[2:]), "seconds": arrivals.times[-1] - arrivals.times[1]}
        return {"output": text[0, len(prompt) :].tolist(), **timed}

    return run
