"""Translations: what there is to translate, the .po files that translators edit, and what the build makes of them.

There is one .po file per lesson (prose, hints, properties, known mistakes), one for the program's messages and one for
README and docs. The build updates them to the English text; a message whose English has changed is marked fuzzy and
not used. The .mo files, read at run time, leave out the prose, which stands in the built notebooks.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from dspark_mini.language import ENGLISH, LANGUAGES, LOCALE
from grader.lessons.checks import TASKS
from grader.lessons.paths import ROOT
from grader.run.child.loader import UNFINISHED

PROSE = "prose"  # the flag, in a comment, of messages that only the build needs
PROGRAM, DOCUMENTS = "program", "documents"
TRANSLATED_DOCUMENTS = ("README.md", "docs/instructors.md")
NO_DATE = datetime(2026, 1, 1, tzinfo=timezone.utc)  # a file must not change when nothing in it does
# What a translation keeps as it is: code, formulas, addresses, placeholders, numbers. Fences come first.
KEPT = re.compile(
    r"```.*?```|`[^`]+`|\$\$.+?\$\$|\$[^$\n]+\$|\]\([^)\s]+\)|https?://[^\s)>\]]+|\{\w+[^{}\n]*\}|(?<![A-Za-z_])\d+(?:[.,]\d+)*",
    re.DOTALL,
)
WORDS = re.compile(r"\\text\{[^{}]*\}")  # in a formula, which may be translated


def languages() -> list[str]:
    """Return the languages that the English text is translated to."""
    return [language for language in LANGUAGES if language != ENGLISH]


def lesson_messages(
    lesson: str, prose: list[str], drawing: list[str], mistakes: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield what there is to translate in a lesson, each with a comment for the translator.

    Args:
        lesson: Name of the lesson.
        prose: Its prose cells.
        drawing: Its code cells that draw a picture.
        mistakes: Its tables of known mistakes, by task.
    """
    yield from ((cell, PROSE) for cell in prose)
    yield from ((label, "label in a picture") for cell in drawing for label in _labels(cell))
    for task in TASKS.values():
        if task.lesson == lesson:
            yield from ((hint, f"hint {n} of {task.id}") for n, hint in enumerate(task.hints, start=1))
            yield task.todo, f"TODO of {task.id}"
            yield from ((f"The result is made of {task.returns}.", f"property of {task.id}"),)
            for found in task.core:
                yield from ((found.says, f"property of {task.id}"), (found.hint, f"hint of a property of {task.id}"))
            yield from ((known["as_if"], f"{task.id}: answers as if …") for known in mistakes[task.id]["known"])


def _labels(code: str) -> Iterator[str]:
    """Yield the texts that code may hand to a picture: keys, parts of tuples and arguments."""
    for node in ast.walk(ast.parse(code)):
        found: list[Any] = []
        if isinstance(node, ast.Dict):
            found = node.keys
        elif isinstance(node, ast.Tuple):
            found = node.elts
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("viz."):
            found = [*node.args, *(argument.value for argument in node.keywords)]
        texts = (text.value for text in found if isinstance(text, ast.Constant) and isinstance(text.value, str))
        yield from (text for text in texts if re.search(r"\b[a-z]{3}|[a-z]{3} ", text))


def program_messages() -> Iterator[tuple[str, str]]:
    """Yield the messages that the code marks with _("…")."""
    kinds = [("**.py", "python"), ("**/templates/*.html", "jinja2")]
    for room in ("dspark_mini", "grader"):
        for name, _, message, *_ in extract_from_dir(str(ROOT / room), kinds, keywords={"_": None, "N_": None}):
            yield str(message), f"{room}/{name}"
    yield from ((why, "grader/run/child/loader.py") for why in UNFINISHED.values())


def document_messages() -> Iterator[tuple[str, str]]:
    """Yield the blocks of README and docs."""
    for name in TRANSLATED_DOCUMENTS:
        blocks = _blocks((ROOT / name).read_text(encoding="utf-8"))
        yield from ((block, name) for block in blocks if _has_words(block))


def _blocks(text: str) -> list[str]:
    """Split Markdown at empty lines, but not inside a fence or a tag; joined by empty lines they are the text again."""
    blocks: list[str] = []
    for part in text.rstrip("\n").split("\n\n"):
        if blocks and blocks[-1].count("```") % 2:
            blocks[-1] += "\n\n" + part
        else:
            blocks.append(part)
    return blocks


def _has_words(block: str) -> bool:
    return re.search("[A-Za-z]{2}", re.sub(r"```.*?```|<[^>]+>", "", block, flags=re.DOTALL)) is not None


def po_file(language: str, name: str) -> Path:
    """Return where the translations of a lesson, of the program or of the documents are kept."""
    return LOCALE / language / "LC_MESSAGES" / f"{name}.po"


def updated(language: str, name: str, messages: Iterator[tuple[str, str]]) -> Catalog:
    """Return a catalog of the messages with the translations that the .po file holds for them."""
    fresh = Catalog(locale=language, domain=name, project="dspark_mini", creation_date=NO_DATE, revision_date=NO_DATE)
    for message, comment in messages:
        if message.strip():
            fresh.add(message, auto_comments=[comment])
    path = po_file(language, name)
    if not path.is_file():
        return fresh
    kept = _read(path, language)
    kept.update(fresh, update_creation_date=False)
    ordered = Catalog(locale=language, domain=name, project="dspark_mini", creation_date=NO_DATE, revision_date=NO_DATE)
    for entry in fresh:
        if entry.id:
            found = kept.get(entry.id) or entry
            ordered.add(entry.id, found.string, flags=found.flags, auto_comments=entry.auto_comments)
    return ordered


def _read(path: Path, language: str) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale=language, domain=path.stem)


def files(catalog: Catalog) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of a catalog: for translators, and to be read at run time."""
    path = po_file(str(catalog.locale), str(catalog.domain))
    yield path, _as_po(catalog)
    yield path.with_suffix(".mo"), _as_mo(catalog)


def document_files() -> Iterator[tuple[Path, bytes]]:
    """Yield the catalogs of the program and of the documents, and the translated documents."""
    for language in languages():
        yield from files(updated(language, PROGRAM, program_messages()))
        catalog = updated(language, DOCUMENTS, document_messages())
        yield from files(catalog)
        for name in TRANSLATED_DOCUMENTS:
            yield ROOT / translated_name(name, language), _translated_document(name, language, translator(catalog))


def _as_po(catalog: Catalog) -> bytes:
    out = BytesIO()
    write_po(out, catalog, width=0, ignore_obsolete=True)
    return out.getvalue()


def _as_mo(catalog: Catalog) -> bytes:
    short = Catalog(locale=catalog.locale, creation_date=NO_DATE, revision_date=NO_DATE)
    for message in catalog:
        if message.id and PROSE not in message.auto_comments and _is_usable(message):
            short.add(message.id, message.string)
    out = BytesIO()
    write_mo(out, short)
    return out.getvalue()


def translator(catalog: Catalog) -> Callable[[str], str]:
    """Return a function from an English message to its translation, or to itself while it has none."""
    usable = {message.id: str(message.string) for message in catalog if message.id and _is_usable(message)}
    return lambda text: usable.get(text, text)


def translated_name(name: str, language: str) -> str:
    """Return where the translation of a document stands, in the repository."""
    return f"docs/{language}/{Path(name).name}"


def _translated_document(name: str, language: str, translate: Callable[[str], str]) -> bytes:
    """Return a document in another language, with relative links that hold from where it stands."""

    def moved(link: re.Match[str]) -> str:
        target, mark, part = link[2].partition("#")
        wanted = os.path.normpath(os.path.join(os.path.dirname(name), target))
        wanted = translated_name(wanted, language) if wanted in TRANSLATED_DOCUMENTS else wanted
        return f"{link[1]}{os.path.relpath(wanted, f'docs/{language}')}{mark}{part}"

    source = (ROOT / name).read_text(encoding="utf-8")
    text = "\n\n".join(_anchor(block, source) + translate(block) for block in _blocks(source)) + "\n"
    return re.sub(r'(\]\(|(?:src|srcset|href)=")(?!https?:|#)([^)"\s]+)', moved, text).encode()


def _anchor(block: str, source: str) -> str:
    """Return the anchor that a heading has in English, where the document links to it."""
    slug = re.sub(r"[^\w-]", "", block.lstrip("# ").lower().replace(" ", "-"))
    return f'<a id="{slug}"></a>\n\n' if block.startswith("#") and f"(#{slug})" in source else ""


def _is_usable(message: Message) -> bool:
    return bool(message.string) and not message.fuzzy


def all_faults() -> list[str]:
    """Name the faults of all .po files."""
    return [
        fault
        for language in languages()
        for path in sorted(po_file(language, "").parent.glob("*.po"))
        for fault in faults(_read(path, language))
    ]


def faults(catalog: Catalog) -> Iterator[str]:
    """Name what a catalog lacks: translations, and in translations whatever must be the same in both languages."""
    for message in catalog:
        if not message.id:
            continue
        start = f"{catalog.locale} {catalog.domain}: {str(message.id)[:60]!r}"
        if not message.string:
            yield f"{start} is not translated."
        elif message.fuzzy:
            yield f"{start} has changed; look at its translation and take its mark `fuzzy` away."
        elif differing := _differing(str(message.id), str(message.string)):
            yield f"{start} does not keep {differing}."


def _differing(text: str, translation: str) -> str:
    """Return the first piece of code, formula, address or number that stands in one of two texts only."""
    ours, theirs = (
        Counter(" ".join(WORDS.sub("", piece).split()) for piece in KEPT.findall(part)) for part in (text, translation)
    )
    return next(iter((ours - theirs) + (theirs - ours)), "")
