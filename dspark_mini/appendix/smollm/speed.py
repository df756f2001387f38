"""What a forward of n tokens costs on this machine, and how near plain decoding comes to what memory allows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch

from dspark_mini.appendix.smollm.llama import FORMS, Llama
from dspark_mini.appendix.smollm.products import GROUP, TYPICAL_ROWS

COUNTS = (1, 2, 3, 4, 5, 6, 8, 12, 16)  # tokens per forward
CONTEXT = 128  # tokens already in the cache
LAYERS = 40  # matrices of 1 to 7 MB by form, of which caches hold few
LARGE = 2**27  # float32 numbers, 512 MB: more than any cache holds


def memory_bandwidth(repeats: int = 5, count: int = LARGE) -> float:
    """Measure the fastest reading of a large array, in bytes per second."""
    array = torch.ones(count)
    return count * array.element_size() / least_seconds(array.sum, repeats)


@torch.inference_mode()
def fastest_form() -> str:
    """Return the form in which a verification's rows are multiplied fastest by matrices that no cache holds.

    Without bfloat16 instructions (AVX2) even float32 is faster than bfloat16, although it reads twice as much. One
    thread's processor time, in turns: a busy machine must not decide.
    """
    threads, weight, rows = torch.get_num_threads(), torch.randint(16, (3072, 576)), torch.randn(TYPICAL_ROWS, 576)
    weight[:, ::GROUP], weight[:, 1::GROUP] = 0, 15  # every group has its least and its largest code, as in a file
    torch.set_num_threads(1)
    stacks = {form: [linear(weight.to(dtype)) for _ in range(LAYERS)] for form, (dtype, linear) in FORMS.items()}
    times: dict[str, list[float]] = {form: [] for form in FORMS}
    for _ in range(5):
        for form, linears in stacks.items():
            x, started = rows.to(FORMS[form][0]), time.process_time()
            for linear in linears:
                linear(x)
            times[form].append(time.process_time() - started)
    torch.set_num_threads(threads)
    return min(FORMS, key=lambda form: min(times[form]))


def forward_times(model: Llama, counts: Sequence[int] = COUNTS, repeats: int = 7) -> list[float]:
    """Measure forwards of n tokens, LM head included, after a text of CONTEXT tokens; the fastest of each, in seconds.

    The numbers of tokens take turns, so that a slow moment of the machine does not fall on one of them.
    """
    model.rows = 0
    model.forward(torch.zeros(CONTEXT, dtype=torch.long))

    def run(tokens: torch.Tensor) -> None:
        model.rows = CONTEXT
        model.logits(model.forward(tokens))

    blocks = [torch.zeros(count, dtype=torch.long) for count in counts]
    rounds = [[least_seconds(partial(run, block), 1) for block in blocks] for _ in range(repeats)]
    return [min(times) for times in zip(*rounds)]


def report(folder: Path, say: Callable[[str], object]) -> None:
    """Print T(1)…T(16) of each form, and the bound for plain decoding."""
    bandwidth = memory_bandwidth()
    say(f"Milliseconds of a forward on {torch.get_num_threads()} thread(s), and in one-token forwards:")
    say("tokens      " + "".join(f"{count:>8}" for count in COUNTS))
    for form in FORMS:
        model = Llama(folder, form, CONTEXT + max(COUNTS))
        times = forward_times(model)
        say(f"{form:12}" + "".join(f"{1e3 * value:8.1f}" for value in times))
        say(" " * 12 + "".join(f"{value / times[0]:8.2f}" for value in times))
        bound = model.weight_bytes / bandwidth
        say(
            f"One token reads {model.weight_bytes / 1e6:.0f} MB of weights; at {bandwidth / 1e9:.1f} GB/s that takes "
            f"{1e3 * bound:.1f} ms, {bound / times[0]:.2f} of the time measured."
        )


def least_seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the least wall-clock time of several calls, in seconds."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)
