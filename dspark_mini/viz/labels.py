"""The text in the pictures: names of tokens and positions, and short numbers."""

from __future__ import annotations

from collections.abc import Sequence


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


def names(given: Sequence[object] | None, count: int) -> list[str]:
    """Return the names that were given for `count` things, or their numbers."""
    return list(map(str, range(count) if given is None else given))


def short(value: float) -> str:
    """Return a number with two decimals and without the zero before the point: .07."""
    return f"{value:.2f}".removeprefix("0")
