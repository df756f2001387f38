"""Measures all that a GPU is needed for, in one run: `dspark-mini appendix bench --device cuda`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dspark_mini.appendix import engine
from dspark_mini.appendix.drafters import BlockDrafter
from dspark_mini.appendix.evidence.batched import RaggedCache, Rows, ragged_forward
from dspark_mini.appendix.evidence.recordings import Recorder
from dspark_mini.appendix.evidence.server import Server
from dspark_mini.appendix.evidence.serving import figure_7_8
from dspark_mini.appendix.evidence.settings import Settings
from dspark_mini.appendix.evidence.step_times import timed
from dspark_mini.appendix.model import Target
from dspark_mini.appendix.training import load_drafter, load_target
from dspark_mini.backends import hardware
from dspark_mini.corpus import DOMAINS
from dspark_mini.files import atomic_write
from dspark_mini.lm import SmallLM, prompts
from dspark_mini.race import BLOCK_SIZE, MOST_PROMPTS, Run, enough, forward_times, summarise, time_methods
from dspark_mini.race_options import RaceOptions
from dspark_mini.trace import Trace
from dspark_mini.viz.curves import lines
from dspark_mini.viz.evidence import PICTURES
from dspark_mini.viz.race import race_picture
from dspark_mini.viz.style import Picture, svg
from dspark_mini.weights import SHIPPED

DRAFTERS = ("dflash", "dspark")
METHODS = (*DRAFTERS, "dspark-tree")
SIZES = (*range(1, 17), 32, 64, 128, 256)  # tokens per forward of one text; lesson 09 draws the powers of two
REQUESTS, ROWS = (4, 16, 64), range(1, 17)  # texts per batched forward, and tokens of each
CONTEXT, REPEATS = 64, 7  # cached tokens of each text; forwards of each size
LAW_TEXTS, SAMPLES = 2000, 100
LOADS = (1, 8, 64)  # requests served together
LONGEST = 160  # tokens of a text that races
RACES = 0.6  # share of the time
PAGES = {"light": "#ffffff", "dark": "#0d1117"}
Say = Callable[[str], object]


def variants(device: str) -> dict[str, tuple[torch.dtype, bool]]:
    """Return the dtypes to run in, and whether to compile, which makes CUDA graphs."""
    plain = {"float32": (torch.float32, False), "bfloat16": (torch.bfloat16, False)}
    graphs = {f"{name}, CUDA graphs": (dtype, True) for name, (dtype, _) in plain.items()}
    return plain | (graphs if device == "cuda" else {})


def measure(out: Path, device: str, minutes: float, say: Say) -> dict[str, Any]:
    """Measure everything, and write bench.json after each part, then the pictures.

    Args:
        out: Directory to write.
        device: cpu, cuda or mps.
        minutes: About how long it may take.
        say: Receives the name of each part.

    Returns:
        The contents of bench.json.
    """
    out.mkdir(parents=True, exist_ok=True)
    machine = hardware("torch", device, engine.load(SHIPPED, device, ()))
    results: dict[str, Any] = {"hardware": machine, "torch": torch.__version__, "cuda": torch.version.cuda}
    ways = variants(device)
    for name, (dtype, compiled) in ways.items():
        say(name)
        model = engine.load(SHIPPED, device, DRAFTERS, compiled, dtype)
        results.setdefault("variants", {})[name] = one_text(model, 60 * minutes * RACES / len(ways))
        _write(out, results)
    settings = Settings(SHIPPED, prompts=10, concurrency=LOADS, served_seconds=0.2 * minutes, device=device)
    parts: dict[str, Callable[[], Any]] = {
        "law": lambda: law(device),
        "batched": lambda: {name: batched_seconds(device, ways[name][0]) for name in ("float32", "bfloat16")},
        "serving": lambda: figure_7_8(Recorder(settings, out / "recordings", say)),
    }
    for name, part in parts.items():
        say(name)
        results[name] = part()
        _write(out, results)
    for name, figure in pictures(results).items():
        for page, color in PAGES.items():
            svg(figure, out / f"{name}-{page}.svg", color)
    return results


def _write(out: Path, results: dict[str, Any]) -> None:
    with atomic_write(out / "bench.json") as part:
        part.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def one_text(model: SmallLM, seconds: float) -> dict[str, Any]:
    """Race at temperature 1, compare greedy texts with plain decoding, and time forwards of n tokens, T(n).

    Args:
        model: With the drafters of METHODS.
        seconds: Time for both races.
    """
    context = prompts(model.tokenizer, "code", 1)[0]
    return {
        "race": race(model, 1.0, seconds / 2),
        "greedy": race(model, 0.0, seconds / 2),
        "forward_seconds": {str(size): span for size, span in forward_times(model, context, SIZES, REPEATS).items()},
    }


def race(model: SmallLM, temperature: float, seconds: float) -> list[Run]:
    """Race on as many prompts of each domain as time allows; see summarise for the runs."""
    runs, options = [], RaceOptions(METHODS, temperature, LONGEST)
    for domain in DOMAINS:
        supply, texts = prompts(model.tokenizer, domain, MOST_PROMPTS), list[dict[str, Trace]]()
        time_methods(model, supply[0], replace(options, max_new_tokens=16), [0])  # to warm up; a graph is compiled
        deadline = time.monotonic() + seconds / len(DOMAINS)
        while not enough(len(texts), options, deadline):
            texts.append(time_methods(model, supply[len(texts)], options, [*domain.encode(), len(texts)]))
        runs += summarise(model, domain, supply[: len(texts)], texts, options)
    return runs


def _models(device: str) -> tuple[Target, BlockDrafter, list[int]]:
    """Return the target, DSpark, and a prompt."""
    model, tokenizer = load_target(SHIPPED / "target.safetensors", device)
    drafter = load_drafter(SHIPPED / "dspark.safetensors", model)
    assert isinstance(drafter, BlockDrafter)
    return model, drafter, prompts(tokenizer, "chat", 1)[0]


def law(device: str) -> dict[str, Any]:
    """Compare the first two tokens of many sampled texts with the target's own law of them.

    Returns:
        Total variation between frequencies and law, and p: how often samples of the law itself are as far from it.
    """
    (model, drafter, prompt), texts = _models(device), LAW_TEXTS
    with torch.device(device), torch.inference_mode():
        slots, no_end = len(prompt) + 3 * (BLOCK_SIZE + 1), model.shape.vocabulary
        server = Server(model, drafter, repeat(prompt), texts, no_end, 100, slots=slots)
        server.serve(lambda confidences: (np.arange(len(confidences)) % (BLOCK_SIZE + 1)).tolist(), rounds=2)
        after = torch.tensor([[*prompt, token] for token in range(model.shape.vocabulary)])
        second = model(after)[0][:, -1].cpu().double().softmax(-1)  # (V, V)
        first = model(torch.tensor([prompt]))[0][0, -1].cpu().double().softmax(-1)  # (V,)
    expected = (first[:, None] * second).flatten().numpy()
    expected /= expected.sum()
    pairs = [model.shape.vocabulary * output[0] + output[1] for output in server.outputs]

    def distance(counts: Any) -> float:
        return float(np.abs(counts / texts - expected).sum() / 2)

    seen = distance(np.bincount(pairs, minlength=expected.size))
    rng = np.random.default_rng(0)
    others = [distance(rng.multinomial(texts, expected)) for _ in range(SAMPLES)]
    return {"texts": texts, "total_variation": seen, "p": (1 + sum(seen <= one for one in others)) / (1 + SAMPLES)}


def batched_seconds(device: str, dtype: torch.dtype) -> dict[str, list[float]]:
    """Measure T(1)…T(16), the median seconds of a forward of n tokens for each of R texts, by R."""
    model = _models(device)[0].to(dtype)
    with torch.device(device):
        return {str(requests): list(_batch_times(model, requests, dtype)) for requests in REQUESTS}


def _batch_times(model: Target, requests: int, dtype: torch.dtype) -> Iterator[float]:
    cache = RaggedCache(model.shape, model.shape.layers, requests, CONTEXT + max(ROWS), dtype)
    for count in ROWS:
        rows = Rows.after(torch.full((requests,), CONTEXT), torch.full((requests,), count))
        forward = partial(ragged_forward, model, cache, torch.zeros_like(rows.owner), rows)
        yield float(np.median([timed(forward, cache.keys.device) for _ in range(REPEATS + 1)][1:]))


def pictures(results: dict[str, Any]) -> dict[str, Picture]:
    """Draw the results; see PAGES."""
    drawn = {f"race-{name.replace(', ', '-').replace(' ', '-')}": found for name, found in results["variants"].items()}
    figures = {name: race_picture(found["race"]) for name, found in drawn.items()}
    powers = [size for size in SIZES if size & (size - 1) == 0]
    forwards = {
        name: [1000 * found["forward_seconds"][str(size)] for size in powers]
        for name, found in results["variants"].items()
    }
    figures["forwards"] = lines(
        {"milliseconds per forward": forwards}, x=powers, x_name="tokens per forward", log_x=True
    )
    batched = {
        f"milliseconds, {dtype}": {f"{requests} texts": 1000 * np.array(times) for requests, times in found.items()}
        for dtype, found in results["batched"].items()
    }
    figures["batched"] = lines(batched, x=list(ROWS), x_name="tokens of each text")
    served = PICTURES["figure_7_8"]({"ours": results["serving"]})
    return figures | ({"serving": served} if served is not None else {})
