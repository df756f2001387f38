"""The language of what people read: English, as it stands in the code, or a translation from `locale/`."""

from __future__ import annotations

import gettext
import json
import locale
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

LOCALE = Path(__file__).parent / "locale"
ENGLISH = "en"
LANGUAGES = (ENGLISH, *sorted(path.name for path in LOCALE.glob("*")))
VARIABLE = "DSPARK_MINI_LANG"  # inherited by kernels and commands; without it the system's language holds

_in_use: ContextVar[str | None] = ContextVar("language", default=None)


def current() -> str:
    """Return the language in use: the one that `speaking` sets, else the variable's, else the system's."""
    named = _in_use.get() or os.environ.get(VARIABLE) or locale.getlocale()[0] or ENGLISH
    code = named.replace("-", "_").split("_")[0].lower()
    return code if code in LANGUAGES else "zh" if code == "chinese" and "zh" in LANGUAGES else ENGLISH


def speak(language: str | None) -> None:
    """Use a language from now on; None leaves the choice as it is."""
    _in_use.set(language or _in_use.get())


@contextmanager
def speaking(language: str | None) -> Iterator[None]:
    """Use a language for what is written inside; None leaves the choice as it is."""
    token = _in_use.set(language or _in_use.get())
    try:
        yield
    finally:
        _in_use.reset(token)


class Translated(str):
    """A translated text, which remembers the English one: texts in several languages are counted together."""

    english: str


def english(text: str) -> str:
    """Return the English text of one that `_` has translated, or else the text itself."""
    return text.english if isinstance(text, Translated) else text


def _(message: str, **values: Any) -> str:
    """Translate a message, and then fill in its {placeholders}.

    Args:
        message: The English text, as it stands in the .po files; the empty text stays empty.
        values: Value of each placeholder.
    """
    translated = _catalogs(current()).gettext(message) if message else ""
    if translated == message:
        return message.format(**values) if values else message
    found = Translated(translated.format(**values) if values else translated)
    found.english = message.format(**{name: english(value) for name, value in values.items()}) if values else message
    return found


def N_(message: str) -> str:
    """Mark a message that is translated where it is shown."""
    return message


@cache
def _catalogs(language: str) -> gettext.NullTranslations:
    """Load the catalogs of a language as one: the program's and one per lesson."""
    every = gettext.NullTranslations()
    for path in sorted((LOCALE / language / "LC_MESSAGES").glob("*.mo")):
        with path.open("rb") as file:
            every.add_fallback(gettext.GNUTranslations(file))
    return every


def language_of(notebook: Path) -> str | None:
    """Return the language that a notebook was handed out in; None if it says nothing, as the English ones."""
    try:
        return language_in(notebook.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def language_in(text: str) -> str | None:
    """Return the language that the JSON of a notebook names, if it is a known one."""
    try:
        named = json.loads(text)["metadata"]["dspark"]["language"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return next((language for language in LANGUAGES if language == named), None)
