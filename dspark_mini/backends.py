"""Where the small language model runs: NumPy or torch, on one thread, and a description of the machine."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from dspark_mini.appendix.devices import require_torch
from dspark_mini.lm import SmallLM, load
from dspark_mini.weights import SHIPPED
from dspark_mini.workspace import UserError

BACKENDS, DEVICES = ("numpy", "torch"), ("cpu", "cuda", "mps")
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def on_one_thread() -> bool:
    """Tell whether this process was started with a single thread for matrix products."""
    return all(os.environ.get(name) == "1" for name in THREAD_VARIABLES)


def restart_on_one_thread() -> None:
    """Restart this process with a single thread for matrix products, unless it already has one.

    Products this small gain nothing from a second thread and may wait long for it on a busy machine. NumPy reads the
    variables only when it is imported, hence the restart.
    """
    if on_one_thread():
        return
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1")
    command = [sys.executable, *sys.orig_argv[1:]]
    sys.stdout.flush()
    if sys.platform != "win32":
        os.execve(sys.executable, command, environment)
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C reaches both processes; the other one decides
    sys.exit(subprocess.run(command, env=environment).returncode)


def load_model(backend: str, device: str, drafters: Sequence[str], compiled: bool = False) -> SmallLM:
    """Load the small language model on a backend and device.

    Args:
        backend: numpy or torch.
        device: cpu; with torch also cuda or mps.
        drafters: Names of the drafters to load.
        compiled: Compile the target's forward; torch only.

    Raises:
        UserError: The backend or device is unknown or unavailable, or the weights cannot be loaded.
    """
    for name, value, known in (("backend", backend, BACKENDS), ("device", device, DEVICES)):
        if value not in known:
            raise UserError(f"{name} is {value!r}; it must be one of {', '.join(known)}.")
    if backend == "numpy" and device != "cpu":
        raise UserError(f"The NumPy backend runs on the CPU only; use `--backend torch --device {device}`.")
    with model_errors(device):
        if backend == "numpy":
            return load(drafters=drafters)
        require_torch(device)
        from dspark_mini.appendix import engine

        return engine.load(SHIPPED, device, drafters, compiled)


def load_smollm(drafters: Sequence[str], temperature: float) -> SmallLM:
    """Load SmolLM2 and its drafters from the cache directory, and measure what rounds cost here.

    Args:
        drafters: Names of the drafters to run.
        temperature: At which rounds are measured.

    Raises:
        UserError: torch, the model or the drafter is not installed, or cannot be loaded.
    """
    require_torch("cpu")
    from dspark_mini.appendix.smollm import engine, install, speed

    drafter = install.drafter_folder() if any("dspark" in name for name in drafters) else None
    with model_errors("cpu"):
        model = engine.load(install.require_model(None), drafter, speed.fastest_form())
        engine.measure_costs(model, temperature)
    return model


@contextmanager
def model_errors(device: str) -> Iterator[None]:
    """Turn a model's ValueErrors, and running out of memory, into UserErrors."""
    try:
        yield
    except ValueError as error:
        raise UserError(str(error)) from error
    except (MemoryError, RuntimeError) as error:
        if not _out_of_memory(error):
            raise
        raise UserError(f"The device {device!r} ran out of memory.") from error


def _out_of_memory(error: BaseException) -> bool:
    """Recognise an out-of-memory error; on some devices torch tells it only in the message."""
    text = f"{type(error).__name__} {error}".lower()
    return any(words in text for words in ("memoryerror", "outofmemory", "out of memory", "can't allocate memory"))


def hardware(backend: str, device: str, model: Any) -> dict[str, Any]:
    """Describe the machine that figures were measured on, as JSON data; None means unknown."""
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "threads": 1 if on_one_thread() else None,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "backend": backend,
        "device": device,
        "accelerator": getattr(model, "accelerator", None),
    }


def _cpu_name() -> str:
    """Return the name of the CPU: from /proc/cpuinfo on Linux, from `platform` elsewhere."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()
