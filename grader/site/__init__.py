"""`dspark-mini site`: README, docs, solved lessons and the library's reference as pages that need no server."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util.console import nocolor
from sphinx.util.docutils import docutils_namespace, patch_docutils

from dspark_mini.language import ENGLISH, _, speaking
from dspark_mini.workspace import UserError
from grader.lessons.hosted import REPOSITORY
from grader.lessons.paths import ROOT, SOLUTIONS
from grader.lessons.sources import cells_of
from grader.site.lessons import executed, lesson_page, translated
from grader.site.pages import document_pages, reference_pages

STATIC, TEMPLATES = (Path(__file__).parent / name for name in ("static", "templates"))
KEPT = ROOT / "build" / "site"  # outputs of executed lessons, and what Sphinx keeps for the next build
SPHINX_LANGUAGE = {"zh": "zh_CN"}


def build_site(
    folder: Path, languages: Sequence[str], lessons: Sequence[str] = (), execute: bool = True, repository: str = ""
) -> None:
    """Write the site.

    Args:
        folder: The directory to write to: English at its root, other languages in directories of their own.
        languages: Languages to build; English first, since only it has every page.
        lessons: Lessons to build; by default all of the kit's.
        execute: Show the outputs of the solved lessons, from executing them where they are not kept.
        repository: Owner and name on GitHub, for links to where the lessons can be opened; "" leaves these out.

    Raises:
        UserError: A lesson fails, or Sphinx warns, of a link that leads nowhere for example.
    """
    repository = repository or REPOSITORY
    names = lessons or sorted(source.stem for source in SOLUTIONS.glob("[0-9]*.py"))
    sources = {name: list(cells_of((SOLUTIONS / f"{name}.py").read_text(encoding="utf-8"))) for name in names}
    wanted = [(language, name) for language in languages for name in names]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outputs = pool.map(lambda job: executed(job[1], sources[job[1]], job[0], KEPT) if execute else [], wanted)
        shown = dict(zip(wanted, outputs))
    for language in languages:
        with speaking(language):
            files = document_pages(language, names, repository)
            files |= reference_pages() if language == ENGLISH else {}
            for name in names:
                page = lesson_page(translated(name, sources[name], language), shown[language, name])
                files[f"lessons/{name}.ipynb"] = page.encode()
            _write(KEPT / language / "source", files)
            html = _run_sphinx(KEPT / language, language, languages, repository)
            shutil.copytree(html, folder if language == ENGLISH else folder / language, dirs_exist_ok=True)


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Bring a directory up to date; files that stay as they are keep their time, by which Sphinx knows them."""
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        if path.relative_to(folder).as_posix() not in files:
            path.unlink()
            shutil.rmtree(folder.parent / "html", ignore_errors=True)  # it has a page of this file
    for name, data in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def _run_sphinx(kept: Path, language: str, languages: Sequence[str], repository: str) -> Path:
    """Return the directory of the pages; myst-nb leaves more beside it, which is not handed on."""
    warnings, html = io.StringIO(), kept / "html"
    settings = _settings(language) | {"dspark_languages": list(languages), "dspark_repository": repository}
    nocolor()
    with patch_docutils(), docutils_namespace():
        places = (kept / "source", None, html, kept / "doctrees")
        app = Sphinx(*places, "html", settings, None, warnings, parallel=os.cpu_count() or 1)
        app.build()
    if found := warnings.getvalue().strip():
        shutil.rmtree(kept / "doctrees", ignore_errors=True)  # else the next build would not repeat the warnings
        raise UserError(f"The site is not written, because Sphinx says: {found}")
    return html


def _settings(language: str) -> dict[str, object]:
    return {
        "project": "dspark_mini",
        "language": SPHINX_LANGUAGE.get(language, language),
        "extensions": [
            "myst_nb",
            "sphinx.ext.autodoc",
            "sphinx.ext.napoleon",
            "sphinx.ext.githubpages",
            "grader.site.extension",
        ],
        "smartquotes_action": "D",  # dashes only
        "napoleon_use_rtype": False,
        "myst_enable_extensions": ["attrs_inline", "dollarmath"],
        "myst_heading_anchors": 4,
        "nb_execution_mode": "off",
        "nb_code_prompt_show": _("Show the solution"),
        "nb_code_prompt_hide": _("Hide the solution"),
        "add_module_names": False,
        "autodoc_member_order": "bysource",
        "python_maximum_signature_line_length": 90,
        "html_theme": "furo",
        "html_title": "dspark_mini",
        "html_math_renderer": "mathml",
        "templates_path": [str(TEMPLATES)],
        "html_static_path": [str(STATIC)],
        "html_css_files": ["site.css"],
        "html_copy_source": False,
        "html_show_search_summary": False,  # it would fetch pages, which a browser refuses to those of a folder
        "html_show_sphinx": False,
        "html_show_copyright": False,
        "html_use_index": language == ENGLISH,
        "html_theme_options": {"top_of_page_buttons": []},
    }
