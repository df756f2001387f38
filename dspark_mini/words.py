"""The tokenizer: one token a word, a line break, or a step of indentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dspark_mini.corpus import DOMAINS, END, INDENT, NEWLINE, WRITERS, Words


class Tokenizer:
    """Words and their ids.

    Args:
        words: all words; a word's id is its place.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self.ids = {word: i for i, word in enumerate(self.words)}
        self.end = self.ids[END]

    def encode(self, text: str | Iterable[str]) -> list[int]:
        """Return the ids of a text or of its words.

        Raises:
            ValueError: a word that the model does not know.
        """
        words = split(text) if isinstance(text, str) else list(text)
        for place, word in enumerate(words):
            if word not in self.ids:
                raise ValueError(f"text[{place}] is {word!r}, which is none of the {len(self.words)} words known here.")
        return [self.ids[word] for word in words]

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of ids."""
        return join(self.words[token] for token in tokens)


def split(text: str) -> Words:
    """Split a text at blanks, line breaks and steps of indentation."""
    words: Words = []
    for number, line in enumerate(text.split(NEWLINE)):
        words += [NEWLINE] * (number > 0)
        words += [INDENT] * ((len(line) - len(line.lstrip(" "))) // len(INDENT))
        words += line.split()
    return words


def join(words: Iterable[str]) -> str:
    """Write words as a text, which split takes apart again."""
    text = ""
    for word in words:
        glued = not text or text.endswith((NEWLINE, INDENT)) or word == NEWLINE
        text += word if glued else f" {word}"
    return text


def collect_words(seed: int = 0, documents: int = 3000) -> Words:
    """List all words that the corpus uses, in order."""
    import numpy as np

    rng = np.random.default_rng(seed)
    seen = {END}
    for domain in DOMAINS:
        for _ in range(documents):
            prompt, body = WRITERS[domain](rng)
            seen.update(prompt, body)
    return sorted(seen)
