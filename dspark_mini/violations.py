"""Bad input, generated from good input, for the tests of every contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


def spoiled(value: Any, bad: tuple[Any, ...]) -> Iterator[Any]:
    """Spoil one argument in several ways.

    Args:
        value: a good argument.
        bad: numbers that its kind excludes.

    Yields:
        The argument with its first or last number replaced by a bad one, made ragged, or replaced by one of its
        numbers or by a text.
    """
    yield "text"
    if isinstance(value, (Mapping, str)) or not np.iterable(value):
        yield from () if isinstance(value, Mapping) else bad
        return
    entries = list(value)
    if any(np.shape(entry) != np.shape(entries[0]) for entry in entries):  # rows of several lengths
        yield from ([row, *entries[1:]] for row in spoiled(entries[0], bad))
        return
    array = np.array(entries, dtype=np.float64)
    for number in bad if array.size else ():
        for at in (0, -1):
            flat = array.ravel().tolist()
            flat[at] = number
            yield np.array(flat, dtype=object).reshape(array.shape).tolist()
    if array.ndim > 1 and len(array) > 1:
        yield [*array.tolist()[:-1], [*array[-1].tolist(), array[-1, -1]]]
    if array.size:
        yield array.flat[0].item()
