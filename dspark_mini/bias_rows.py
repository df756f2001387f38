"""Transition biases: a mapping from token to row, which is checked when a row is read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dspark_mini.conversion import Array, Size, Sizes, size_of
from dspark_mini.kinds import Kind, logits


class BiasRows(Mapping[int, Array]):
    """A mapping from token to bias row (V,): zeros for a token without one; a row is checked when it is read."""

    def __init__(self, name: str, rows: Any, vocabulary: int) -> None:
        self.name, self.rows, self.vocabulary = name, rows, vocabulary

    def __getitem__(self, token: int) -> Array:
        row = self.rows.get(token)
        if row is None:
            return np.zeros(self.vocabulary)
        is_converted = type(row) is np.ndarray and row.dtype == np.float64 and row.shape == (self.vocabulary,)
        if not is_converted or not math.isfinite(row[row.argmax()]):  # a good row is not converted
            row = logits("V")(f"{self.name}[{token}]", row, {"V": self.vocabulary})
        return row  # type: ignore[no-any-return]

    def get(self, token: int, default: Any = None) -> Any:
        """Return the bias of a token, zeros where it has none."""
        return self[token]

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __contains__(self, token: object) -> bool:
        return token in self.rows


def bias_rows(size: Size) -> Kind:
    """A mapping from token to bias row, such as a dict or a low-rank head that answers `.get(token)`."""

    def convert(name: str, value: Any, sizes: Sizes) -> BiasRows:
        if isinstance(value, BiasRows) and value.vocabulary == size_of(size, sizes):
            return value
        if not callable(getattr(value, "get", None)):
            raise ValueError(f"{name} must be a mapping from token to bias row, not {value!r}.")
        return BiasRows(name, value, size_of(size, sizes))

    return convert
