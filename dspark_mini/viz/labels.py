"""The text in the pictures: in the learner's language, names of tokens and positions, and short numbers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from matplotlib.font_manager import findSystemFonts, fontManager, get_font_names

from dspark_mini.language import ENGLISH, current, speaking
from dspark_mini.language import _ as translated
from dspark_mini.workspace import folder_language

FONTS = {  # by language, those of Linux, macOS and Windows that have its letters, where the usual font lacks them
    "zh": (
        *("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Noto Sans CJK JP", "WenQuanYi Micro Hei"),
        *("WenQuanYi Zen Hei", "PingFang SC", "Hiragino Sans GB", "Heiti TC", "Arial Unicode MS"),
        *("Microsoft YaHei", "SimHei"),
    )
}
logging.getLogger("matplotlib.font_manager").addFilter(lambda record: "font weight" not in record.msg)  # no bold one


def _(message: str, **values: Any) -> str:
    """Translate what a picture says; it stays English where no font has the letters."""
    language = _language()
    with speaking(language if language not in FONTS or _font(language) else ENGLISH):
        return translated(message, **values)


def extra_font() -> str | None:
    """Return the font for letters that the usual one lacks, if there is one and the language in use needs it."""
    return _font(_language())


def _language() -> str:
    """Return the language of the notebooks in this directory, else the one in use."""
    return _folder_language(Path.cwd()) or current()


_folder_language = cache(folder_language)  # a notebook keeps its language


@cache
def _font(language: str) -> str | None:
    wanted = FONTS.get(language, ())
    if wanted and set(wanted).isdisjoint(get_font_names()):  # matplotlib lists the fonts of its first run
        for path in set(findSystemFonts()) - {font.fname for font in fontManager.ttflist}:
            with suppress(Exception):  # a font that it cannot read
                fontManager.addfont(path)
    return next((name for name in wanted if name in set(get_font_names())), None)


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
