"""What a step of plain decoding costs, against what arithmetic and memory allow: how honest the baseline is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from dspark_mini import lm
from dspark_mini.appendix import engine
from dspark_mini.appendix.evidence.recordings import Recorder
from dspark_mini.corpus import DOMAINS
from dspark_mini.race import forward_times

SIDE, REPEATS = 1024, 15  # of the square matrices whose product shows what the processor can do


def step(recorder: Recorder) -> dict[str, Any]:
    """Time a forward over one token in NumPy and in torch, on one thread, and bound it from below.

    Arithmetic: its multiply-adds at the rate of a large product by the same library. Memory: reading its weights once,
    as fast as the library multiplies an array of their size by itself.
    """
    folder = recorder.settings.weights
    numpy_model, torch_model = lm.load(folder, []), engine.load(folder, drafters=[])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    prompt = lm.prompts(numpy_model.tokenizer, DOMAINS[0], 1)[0]
    square, reals = np.ones((SIDE, SIDE), np.float32), torch.ones(SIDE, SIDE)
    matrices = [weight for weight in torch_model.target.model.parameters() if weight.dim() > 1]
    count = sum(weight.numel() for weight in matrices)
    flat, row = np.ones(count, np.float32), torch.ones(count)
    found: dict[str, Any] = {"multiply_adds": count, "bytes": 4 * count}
    for name, model, product, read in (
        ("numpy", numpy_model, lambda: square @ square, lambda: flat @ flat),
        ("torch", torch_model, lambda: reals @ reals, lambda: row @ row),
    ):
        found[name] = {
            "seconds": forward_times(model, prompt, (1,), 10 * REPEATS, time.process_time)[1],
            "arithmetic_seconds": count * _median_seconds(product) / SIDE**3,
            "memory_seconds": _median_seconds(read),
        }
    torch.set_num_threads(threads)
    return found


def _median_seconds(call: Callable[[], object]) -> float:
    """Return the median processor time of several calls, after one that is not counted."""
    times = []
    for _ in range(REPEATS + 1):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return float(np.median(times[1:]))
