"""Weight files: safetensors in half precision, with the shape and, for a target, the words in their header."""

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

from dspark_mini.files import whole
from dspark_mini.shapes import DrafterShape, TargetShape, from_json
from dspark_mini.words import Tokenizer

Weights = dict[str, NDArray[np.float32]]
SHIPPED = Path(__file__).parent / "weights"


def save_weights(path: Path, weights: Mapping[str, NDArray[Any]], header: Mapping[str, Any]) -> None:
    """Write weights in half precision, whole or not at all.

    Args:
        path: the file, by custom with the ending .safetensors.
        weights: arrays by name.
        header: plain data that belongs to them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    half = {name: np.asarray(array, np.float16) for name, array in weights.items()}
    with whole(path) as part:
        part.write_bytes(save(half, {"dspark_mini": json.dumps(dict(header))}))


def load_weights(path: Path) -> tuple[Weights, dict[str, Any]]:
    """Read weights, in single precision, and their header.

    Raises:
        ValueError: no such file, or one that is no weight file of this kit.
    """
    if not path.is_file():
        raise ValueError(f"There are no weights at {path}; `dspark-mini appendix train` makes them.")
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {})["dspark_mini"])
            return {name: file.get_tensor(name).astype(np.float32) for name in file.keys()}, header  # noqa: SIM118
    except (SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no weight file of dspark_mini: {error}") from error


def target_header(path: Path, header: Mapping[str, Any]) -> tuple[TargetShape, Tokenizer]:
    """Read the shape of a target and its words from the header of its file.

    Raises:
        ValueError: a header that is no target's, or words that do not fit the vocabulary.
    """
    with told_of(path):
        shape, tokenizer = from_json(TargetShape, header["shape"]), Tokenizer(header["words"])
        if len(tokenizer.words) != shape.vocabulary:
            raise ValueError(f"it names {len(tokenizer.words)} words for a vocabulary of {shape.vocabulary}.")
        return shape, tokenizer


def drafter_header(path: Path, header: Mapping[str, Any]) -> DrafterShape:
    """Read the shape of a drafter from the header of its file.

    Raises:
        ValueError: a header that is no drafter's.
    """
    with told_of(path):
        return from_json(DrafterShape, header["shape"])


@contextmanager
def told_of(path: Path) -> Iterator[None]:
    """Turn whatever is wrong with the content of a weight file into one sentence about the file."""
    try:
        yield
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise ValueError(f"{path} cannot be used: {error}") from error
