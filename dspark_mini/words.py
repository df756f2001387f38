"""The tokenizer: one token per word, line break or level of indentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dspark_mini.corpus import DOMAINS, END, INDENT, NEWLINE, WRITERS, Words


class Tokenizer:
    """Maps words to ids and back.

    Args:
        words: The vocabulary; a word's id is its index.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self.ids = {word: i for i, word in enumerate(self.words)}
        self.end = self.ids[END]

    def encode(self, text: str | Iterable[str]) -> list[int]:
        """Return the token ids of a text or of a list of words.

        Raises:
            ValueError: A word is not in the vocabulary.
        """
        words = split(text) if isinstance(text, str) else list(text)
        for i, word in enumerate(words):
            if word not in self.ids:
                raise ValueError(f"text[{i}] is {word!r}, which is not one of the model's {len(self.words)} words.")
        return [self.ids[word] for word in words]

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of token ids."""
        return join(self.words[token] for token in tokens)


def split(text: str) -> Words:
    """Split a text into words, line breaks and levels of indentation."""
    words: Words = []
    for number, line in enumerate(text.split(NEWLINE)):
        words += [NEWLINE] * (number > 0)
        words += [INDENT] * ((len(line) - len(line.lstrip(" "))) // len(INDENT))
        words += line.split()
    return words


def join(words: Iterable[str]) -> str:
    """Join words into a text; the inverse of `split`."""
    text = ""
    for word in words:
        needs_no_space = not text or text.endswith((NEWLINE, INDENT)) or word == NEWLINE
        text += word if needs_no_space else f" {word}"
    return text


def collect_words(seed: int = 0, documents: int = 3000) -> Words:
    """List the words of the corpus in alphabetical order, as found in random documents of each domain."""
    rng = np.random.default_rng(seed)
    words = {END}
    for domain in DOMAINS:
        for _ in range(documents):
            prompt, body = WRITERS[domain](rng)
            words.update(prompt, body)
    return sorted(words)
