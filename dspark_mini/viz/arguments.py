"""Kinds of arguments that only pictures take, next to those of dspark_mini.kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.conversion import Sizes, as_real, bind, is_sequence
from dspark_mini.kinds import Kind
from dspark_mini.viz.labels import one_line

Booleans = NDArray[np.bool_]


def labelled(content: str, kind: Kind | None = None, same_sizes: bool = True) -> Kind:
    """A dict with at least one entry, from label to values of one kind, of the same sizes unless said otherwise."""

    def convert(name: str, value: Any, sizes: Sizes) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not value:
            raise ValueError(f"{name} must be a dict from label to {content}, with at least one entry.")
        if kind is None:
            return dict(value)
        return {label: kind(f"{name}[{label!r}]", v, sizes if same_sizes else {**sizes}) for label, v in value.items()}

    return convert


def fields(**kinds: Kind) -> Kind:
    """A dict with values of known kinds by name, others as they are; a missing one is not looked for."""

    def convert(name: str, value: Any, sizes: Sizes) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ValueError(f"{name} must be a dict, not {value!r}.")
        found = {key: kind(f"{name}[{key!r}]", value[key], sizes) for key, kind in kinds.items() if key in value}
        return {**value, **found}

    return convert


def pair(first: Kind, second: Kind) -> Kind:
    """Two values, one of each kind."""

    def convert(name: str, value: Any, sizes: Sizes) -> tuple[Any, Any]:
        if not is_sequence(value) or len(value) != 2:
            raise ValueError(f"{name} must be a pair, not {value!r}.")
        return first(f"{name}[0]", value[0], sizes), second(f"{name}[1]", value[1], sizes)

    return convert


def with_gaps(kind: Kind) -> Kind:
    """Numbers of a kind, where nan stands for one that is missing."""

    def convert(name: str, value: Any, sizes: Sizes) -> Any:
        array = as_real(name, value).astype(np.float64)
        kind(name, np.where(np.isnan(array), 0.0, array), sizes)
        return array

    return convert


def texts(size: str) -> Kind:
    """The names of some things, of any type that can be written down; each is put on one line."""

    def convert(name: str, value: Any, sizes: Sizes) -> list[str]:
        if not is_sequence(value):
            raise ValueError(f"{name} must be a sequence of names, not {value!r}.")
        bind(name, (len(value),), 0, size, sizes)
        return [one_line(item) for item in value]

    return convert


def booleans(rows: str, columns: str) -> Kind:
    """A matrix of True and False, or of 1 and 0."""

    def convert(name: str, value: Any, sizes: Sizes) -> Booleans:
        array = as_real(name, value)
        if array.ndim != 2:
            raise ValueError(f"{name} must be a matrix of booleans, not of shape {array.shape}.")
        for axis, size in enumerate((rows, columns)):
            bind(name, array.shape, axis, size, sizes)
        if not np.isin(array, (0, 1)).all():
            raise ValueError(f"{name} must hold nothing but True and False.")
        return array.astype(np.bool_)

    return convert
