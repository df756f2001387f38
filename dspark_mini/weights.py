"""Weight files: safetensors in half precision; the header holds the shape and, for a target, the vocabulary."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from dspark_mini.files import atomic_write
from dspark_mini.shapes import DrafterShape, TargetShape, from_json
from dspark_mini.words import Tokenizer

Weights = dict[str, NDArray[np.float32]]
SHIPPED = Path(__file__).parent / "weights"


def save_weights(path: Path, weights: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
    """Write weights in half precision, atomically.

    Args:
        path: File to write; its directory is created if missing.
        weights: Arrays by name.
        header: JSON data to store with them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    half = {name: np.asarray(array, np.float16) for name, array in weights.items()}
    with atomic_write(path) as part:
        part.write_bytes(save(half, {"dspark_mini": json.dumps(dict(header))}))


def load_weights(path: Path) -> tuple[Weights, dict[str, Any]]:
    """Read weights, in single precision, and their header.

    Raises:
        ValueError: The file is missing or is not a dspark_mini weight file.
    """
    if not path.is_file():
        raise ValueError(f"There are no weights at {path}; `dspark-mini appendix train` makes them.")
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})["dspark_mini"])
            return {name: file.get_tensor(name).astype(np.float32) for name in file.keys()}, header  # noqa: SIM118
    except (SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a dspark_mini weight file: {error}") from error


def target_header(path: Path, header: Mapping[str, Any]) -> tuple[TargetShape, Tokenizer]:
    """Read a target's shape and vocabulary from the header of its file.

    Raises:
        ValueError: The header does not describe a target, or its words do not match the vocabulary size.
    """
    with weight_file_errors(path):
        shape, tokenizer = from_json(TargetShape, header["shape"]), Tokenizer(header["words"])
        if len(tokenizer.words) != shape.vocabulary:
            raise ValueError(f"it lists {len(tokenizer.words)} words for a vocabulary of {shape.vocabulary}.")
        return shape, tokenizer


def drafter_header(path: Path, header: Mapping[str, Any]) -> DrafterShape:
    """Read a drafter's shape from the header of its file.

    Raises:
        ValueError: The header does not describe a drafter.
    """
    with weight_file_errors(path):
        return from_json(DrafterShape, header["shape"])


@contextmanager
def weight_file_errors(path: Path) -> Iterator[None]:
    """Turn any error in the content of a weight file into a ValueError that names the file."""
    try:
        yield
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise ValueError(f"{path} cannot be used: {error}") from error
