"""The sources of the pages that are not lessons, from README.md, docs/ and the table of modules in them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from dspark_mini.language import ENGLISH, _
from grader.lessons.hosted import BADGES, LANGUAGES
from grader.lessons.paths import ROOT
from grader.lessons.translation import TRANSLATED_DOCUMENTS, translated_name

PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img alt="([^"]*)" src="([^"]+)">\s*</picture>')
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s#]+)(#[^)\s]*)?\)")
ANCHOR = re.compile(r'<a id="([\w-]+)"></a>\n\n')
MODULES_ROW = re.compile(r"^\| ([^|`]+) \| (.*`.*) \|$", re.M)


def documents(language: str) -> dict[str, str]:
    """Return the documents that a language has, by their path in the repository: each one's page."""
    pages = {"README.md": "index.md"} | {
        f"docs/{path.name}": path.name for path in sorted((ROOT / "docs").glob("*.md"))
    }
    if language == ENGLISH:
        return pages
    return {translated_name(name, language): page for name, page in pages.items() if name in TRANSLATED_DOCUMENTS}


def document_pages(language: str, lessons: Sequence[str], repository: str) -> dict[str, bytes]:
    """Return the pages of the documents, and the pictures in them.

    Args:
        language: Language of the pages.
        lessons: Names of the lessons that the site has.
        repository: Owner and name on GitHub, for links to what has no page; "" leaves only their text.
    """
    files: dict[str, bytes] = {}
    for name, page in documents(language).items():
        text = ANCHOR.sub(r"(\1)=\n", LANGUAGES.sub("", BADGES.sub("", (ROOT / name).read_text(encoding="utf-8"))))
        text = PICTURE.sub(r"![\2](\3){.only-light}\n![\2](\1){.only-dark}", text)
        text = LINK.sub(lambda link, name=name: _moved(link, name, language, repository, files), text)  # type: ignore[misc]
        files[page] = (_front_page(text, language, lessons) if page == "index.md" else text).encode()
    return files


def _moved(link: re.Match[str], document: str, language: str, repository: str, files: dict[str, bytes]) -> str:
    """Return a link of a document as it holds on the site, and add the picture that it shows to the files."""
    mark, text, target, anchor = link[1], link[2], link[3], link[4] or ""
    path = os.path.normpath(os.path.join(os.path.dirname(document), target))
    if mark:
        files[f"pictures/{Path(path).name}"] = (ROOT / path).read_bytes()
        return f"![{text}](pictures/{Path(path).name})"
    if page := documents(language).get(path):
        return f"[{text}]({page}{anchor})"
    if page := documents(ENGLISH).get(path):
        return f'<a href="../{page.removesuffix(".md")}.html{anchor}">{text}</a>'
    return f"[{text}](https://github.com/{repository}/tree/HEAD/{path})" if repository else text


def _front_page(text: str, language: str, lessons: Sequence[str]) -> str:
    """Link the course table to the lessons, and add the list of all pages, which the sidebar shows."""
    for name in lessons:
        row = name.replace("_", " ", 1)
        text = text.replace(f"\n| {row} |", f"\n| [{row}](lessons/{name}.ipynb) |")
    parts = {
        _("Lessons"): [f"lessons/{name}" for name in lessons],
        _("Documents"): list(documents(language).values())[1:],
    }
    if language == ENGLISH:
        parts["Reference"] = list(reference_pages())
    for caption, pages in parts.items():
        text += f"\n```{{toctree}}\n:hidden:\n:titlesonly:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"
    return text


def reference_pages() -> dict[str, bytes]:
    """Return a page for each row of the table of modules in docs/contributing.md."""
    rows = MODULES_ROW.findall((ROOT / "docs" / "contributing.md").read_text(encoding="utf-8"))
    pages = {}
    for title, cell in rows:
        names = [name.rstrip("/") for name in re.findall("`([^`*]+)`", cell)]
        found = [name for name in names if list((ROOT / "dspark_mini").glob(f"{name}.py")) or name == "viz"]
        if found:
            parts = [f"dspark_mini.{name}\n{'-' * 60}\n\n.. automodule:: dspark_mini.{name}\n" for name in found]
            heading = f"{title.capitalize()}\n{'=' * 60}\n"
            body = "\n".join(f"{part}   :members:\n" for part in parts)
            pages[f"reference/{title.replace(' ', '-')}.rst"] = f"{heading}\n{body}".encode()
    return pages
