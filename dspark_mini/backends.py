"""Where the small language model runs: on one thread, in NumPy or in torch, and what that machine is."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dspark_mini.appendix.devices import require_torch
from dspark_mini.lm import load
from dspark_mini.weights import SHIPPED
from dspark_mini.workspace import UserError

BACKENDS, DEVICES = ("numpy", "torch"), ("cpu", "cuda", "mps")
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def on_one_thread() -> bool:
    """Tell whether this process was started with one thread for matrix products."""
    return all(os.environ.get(name) == "1" for name in THREADS)


def restart_on_one_thread() -> None:
    """Start this process again with one thread, unless it has been: NumPy reads these variables only as it is loaded.

    A product this small gains nothing from a second thread, and may wait for it very long on a busy machine.
    """
    if on_one_thread():
        return
    environment = os.environ | dict.fromkeys(THREADS, "1")
    command = [sys.executable, *sys.orig_argv[1:]]
    if os.name == "posix":
        sys.stdout.flush()
        os.execve(sys.executable, command, environment)
    sys.exit(subprocess.run(command, env=environment).returncode)


def load_model(backend: str, device: str, drafters: Sequence[str], compiled: bool = False) -> Any:
    """Load the small language model where it is to run.

    Args:
        backend: numpy or torch.
        device: cpu; with torch also cuda or mps.
        drafters: which drafters will be asked for.
        compiled: whether torch makes a graph of the target's forward.

    Returns:
        A SmallLM, or what has the same attributes.

    Raises:
        UserError: no such backend or device here, no torch, or weights that are missing or do not fit.
    """
    for name, value, known in (("backend", backend, BACKENDS), ("device", device, DEVICES)):
        if value not in known:
            raise UserError(f"{name} is {value!r}; it must be one of {', '.join(known)}.")
    if backend == "numpy" and device != "cpu":
        raise UserError(f"The NumPy backend runs on the CPU only; `--backend torch --device {device}` runs elsewhere.")
    with plain_words(device):
        if backend == "numpy":
            return load(drafters=drafters)
        require_torch(device)
        from dspark_mini.appendix import engine

        return engine.load(SHIPPED, device, drafters, compiled)


@contextmanager
def plain_words(device: str) -> Iterator[None]:
    """Turn what a model or its memory may refuse into a sentence for the user."""
    try:
        yield
    except ValueError as error:
        raise UserError(str(error)) from error
    except (MemoryError, RuntimeError) as error:
        if not _out_of_memory(error):
            raise
        raise UserError(f"The device {device!r} ran out of memory.") from error


def _out_of_memory(error: BaseException) -> bool:
    """Tell torch's refusals of memory from its other errors; some have a class of their own, others only a text."""
    text = f"{type(error).__name__} {error}".lower()
    return any(words in text for words in ("memoryerror", "outofmemory", "out of memory", "can't allocate memory"))


def hardware(backend: str, device: str, model: Any) -> dict[str, Any]:
    """Describe what the figures were measured on, in plain data; None is what is not known."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "threads": 1 if on_one_thread() else None,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "backend": backend,
        "device": device,
        "accelerator": getattr(model, "accelerator", None),  # a GPU's name, where the model says one
    }


def _cpu_name() -> str:
    """Return the name of the CPU, which Linux has in a file and others in the platform."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
