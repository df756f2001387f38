"""The ways of decoding that are compared: ours plainly and with each drafter, and those of transformers."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
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
    gguf: Path | None = None  # of the model, for llama.cpp
    seed: int = 0


class Methods:
    """The ways of decoding: the faster of our plain ones and the drafters on all prompts, the others on few.

    Args:
        options: What to compare.
        model: The target and its drafters.
        found: What an earlier run has found to be fastest; None to find it.
        prompt: A prompt to find it with.

    Attributes:
        found: Form of our fastest plain decoding, dtype of each way of transformers', and what forwards cost by form.
    """

    def __init__(self, options: Options, model: SmallLM, found: Row | None, prompt: list[int]) -> None:
        self.options, self.model, self.form = options, model, model.target.llama.form
        ours = {form: model if form == self.form else load(options.model, form=form) for form in FORMS}
        by_form = {form: _ours(options, one) for form, one in ours.items()}
        torch.set_num_threads(options.threads[0])
        theirs = _transformers(options, model.tokenizer.end)
        self.found: Row = found or {
            "form": self.form,
            "plain": _fastest(by_form, prompt),
            "transformers": {name: _fastest(by_dtype, prompt) for name, by_dtype in theirs.items()},
            "forms": {form: _form_times(one) for form, one in ours.items()},
        }
        plain, dtypes = self.found["plain"], self.found["transformers"]
        self.always = {PLAIN: by_form[plain], **{name: _ours(options, model, name) for name in model.drafters}}
        self.all = {
            **self.always,
            **{f"{PLAIN} {form}": run for form, run in by_form.items() if form != plain},
            **{f"{name} {dtypes[name]}": by_dtype[dtypes[name]] for name, by_dtype in theirs.items()},
            **_llama_cpp(options, model.tokenizer.end),
        }
        self.costs = dict[tuple[int, float], Row]()  # of rounds, by number of threads and temperature

    def run(self, prompt: list[int], every: bool) -> list[Row]:
        """Decode a prompt with the methods of all prompts, or with every method and number of threads."""
        runs, shared = list[Row](), vars(self.model.drafters["lookup"].costs)
        for threads in self.options.threads[: None if every else 1]:
            torch.set_num_threads(threads)
            for temperature in self.options.temperatures:
                if (threads, temperature) not in self.costs:
                    measure_costs(self.model, temperature)
                    self.costs[threads, temperature] = dict(shared)
                    for run in (self.all if every else self.always).values():
                        run(prompt, temperature, 4)  # warm-up
                shared.update(self.costs[threads, temperature])
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


def _fastest(runs: dict[str, Runner], prompt: list[int]) -> str:
    """Return the name of the fastest run, after one of each to warm up."""
    times = {name: [run(prompt, 0.0, 32)["seconds"] for _ in range(2)][1] for name, run in runs.items()}
    return min(times, key=times.__getitem__)


def _transformers(options: Options, end: int) -> dict[str, dict[str, Runner]]:
    """Return transformers' ways of decoding by name and dtype, where it is installed.

    Assisted generation is not among them: it needs a small model with the same tokenizer, and there is none.
    """
    if importlib.util.find_spec("transformers") is None:
        return {}
    from transformers import AutoModelForCausalLM

    ways: dict[str, dict[str, Any]] = {"transformers": {}, "transformers lookup": {"prompt_lookup_num_tokens": 10}}
    runs = dict[str, dict[str, Runner]]()
    for dtype in ("float32", "bfloat16"):
        theirs = AutoModelForCausalLM.from_pretrained(options.model, dtype=getattr(torch, dtype))
        for name, how in ways.items():
            runs.setdefault(name, {})[dtype] = _theirs(options, theirs, end, **how)
    return runs


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


def _llama_cpp(options: Options, end: int) -> dict[str, Runner]:
    """Return the plain decoding of llama.cpp, where llama-cpp-python is installed and the file is given."""
    if options.gguf is None:
        return {}
    if importlib.util.find_spec("llama_cpp") is None:
        raise ValueError("--gguf needs llama-cpp-python; install it, or leave the option out.")
    from llama_cpp import Llama as LlamaCpp

    models = dict[int, Any]()  # by number of threads

    def run(prompt: list[int], temperature: float, tokens: int) -> Row:
        threads = torch.get_num_threads()
        if threads not in models:
            how = {"n_threads": threads, "n_threads_batch": threads, "n_ctx": 1024, "verbose": False}
            models[threads] = LlamaCpp(str(options.gguf), seed=options.seed, **how)
        sampling = {"temp": temperature, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0}
        models[threads].reset()
        output, times = list[int](), list[float]()
        for token in islice(models[threads].generate(prompt, **sampling), tokens):
            output.append(token)
            times.append(time.perf_counter())
            if token == end:
                break
        return {"output": output, "tokens": len(output) - 1, "seconds": times[-1] - times[0]}

    return {"llama.cpp": run}


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
