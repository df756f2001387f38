"""The Sphinx extension of the site: formulas as MathML, contracts in the reference, other languages, Chinese search."""

from __future__ import annotations

import inspect
import re
from typing import Any

from babel import Locale
from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.locale import _ as of_sphinx
from sphinx.search import SearchLanguage

from dspark_mini.language import ENGLISH, N_, _
from grader.lessons.hosted import hosts
from grader.site.pages import documents

THEME_SAYS = (
    *(N_("On this page"), N_("Back to top"), N_("Skip to content"), N_("Previous"), N_("Next"), N_("Home")),
    N_("Made with "),
)


class ChineseSearch(SearchLanguage):
    """Search for pairs of characters, since Chinese has no spaces; Sphinx's own needs a dictionary to find words."""

    lang = "zh"
    runs = re.compile(r"[一-鿿]+|(?:(?![一-鿿])\w)+")
    js_splitter_code = r"""
var splitQuery = (query) =>
  (query.match(/[一-鿿]+|(?:(?![一-鿿])[\p{L}\p{N}_])+/gu) ?? []).flatMap((run) =>
    /^[一-鿿]{2}/.test(run) ? [...run.slice(1)].map((next, k) => run[k] + next) : [run]);
"""

    def split(self, text: str) -> list[str]:
        """Return the words of other scripts, and the characters of Chinese, alone and in pairs."""
        found = []
        for run in self.runs.findall(text):
            found += [*run, *map("".join, zip(run, run[1:]))] if "一" <= run[0] <= "鿿" else [run]
        return found

    def stem(self, word: str) -> str:
        """Return a word as the browser looks for it."""
        return word.lower()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register everything with Sphinx."""
    app.add_config_value("dspark_languages", [ENGLISH], "html")
    app.add_config_value("dspark_repository", "", "html")
    app.add_search_language(ChineseSearch)
    app.add_html_math_renderer("mathml", (_inline_formula, None), (_formula, None))
    app.connect("autodoc-process-docstring", _add_contract, priority=400)  # before napoleon
    app.connect("html-page-context", _add_bar)
    app.connect("html-page-context", _translate_theme)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline_formula(translator: Any, node: nodes.math) -> None:
    translator.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _formula(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{_mathml(node, as_block=True)}</div>')
    raise nodes.SkipNode


def _mathml(node: nodes.Node, as_block: bool) -> str:
    """Return a formula as browsers draw it by themselves; docutils does not know \\dots."""
    return str(tex2mathml(node.astext().replace(r"\dots", r"\ldots"), as_block=as_block))


def _add_contract(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Put the line @takes(…) of a function at the top of its description; examples stay as they are written."""
    lines[:] = "\n".join(lines).replace("\nExample:\n", "\nExample::\n\n").split("\n")
    if what == "function" and hasattr(obj, "contract"):
        source = inspect.getsource(obj)
        line = source[source.index("@takes") : re.search(r"^def ", source, re.M).start()]  # type: ignore[union-attr]
        lines[:0] = [".. code-block:: python", "", *(f"   {part}" for part in line.splitlines()), ""]


def _add_bar(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Link a page to itself in the other languages, or else to their front pages, and a lesson to where it runs."""
    own = str(app.config.language).split("_")[0]  # zh of zh_CN
    up = "../" * (page.count("/") + (own != ENGLISH))
    links = []
    for code in app.config.dspark_languages:
        if code != own:
            place = f"{page}.html" if _has_page(page, code) else "index.html"
            folder = "" if code == ENGLISH else f"{code}/"
            links.append(
                f'<a href="{up}{folder}{place}" lang="{code}" hreflang="{code}">{Locale(code).get_display_name()}</a>'
            )
    places = hosts(app.config.dspark_repository, page.split("/")[-1], own) if page.startswith("lessons/") else {}
    links += [f'<a href="{address}">{name}</a>' for name, address in places.items()]
    context["bar"] = f'<p class="bar">{" ".join(links)}</p>' if links else ""


def _translate_theme(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Let the theme speak the language of the page, where Sphinx has no words for it."""
    context["_"] = context["gettext"] = lambda text: _(text) if text in THEME_SAYS else of_sphinx(text)


def _has_page(page: str, language: str) -> bool:
    return (
        language == ENGLISH or page.startswith(("lessons/", "search")) or f"{page}.md" in documents(language).values()
    )
