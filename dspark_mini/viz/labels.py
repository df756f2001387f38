"""The text in the pictures: names of tokens and positions, and short numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def subscript(letter: str, number: int) -> str:
    """Return a letter with a small number below it: x₁."""
    return letter + str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def one_line(token: object) -> str:
    """Return the text of a token without line breaks: ↵ for a line break, ⇥ for a tab."""
    return str(token).replace("\n", "↵").replace("\t", "⇥")


def word(token: int, words: Sequence[object] | None) -> str:
    """Return the word of a token, or its number where there are no words."""
    if words is None:
        return str(token)
    if not 0 <= token < len(words):
        raise ValueError(f"words has {len(words)} entries, so token {token} has no word.")
    return one_line(words[token])


def names(argument: str, given: Sequence[object] | None, count: int, what: str) -> list[str]:
    """Return the names that were given for each of `count` things, or their numbers."""
    if given is None:
        return [str(number) for number in range(count)]
    check_count(argument, given, count, what)
    return [one_line(name) for name in given]


def short(value: float) -> str:
    """Return a number with two decimals and without the zero before the point: .07."""
    return f"{value:.2f}".removeprefix("0")


def check_labelled(name: str, value: Mapping[str, Any], content: str) -> None:
    """Raise a ValueError unless an argument is a dict with at least one entry."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"{name} must be a dict from label to {content}, with at least one entry.")


def check_count(name: str, found: Sequence[object], count: int, what: str) -> None:
    """Raise a ValueError unless an argument has one entry for each of `count` things."""
    if len(found) != count:
        raise ValueError(f"{name} has {len(found)} entries for {count} {what}.")
