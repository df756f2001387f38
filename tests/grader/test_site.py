"""The site: links lead somewhere, no network is needed, solutions are folded, outputs kept; and the cell for Colab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import nbformat
import pytest

from dspark_mini.workspace import UserError
from grader.lessons import build
from grader.lessons.hosted import install_cell, with_badges
from grader.lessons.paths import ROOT, SOLUTIONS
from grader.lessons.sources import Cell, cells_of
from grader.read.submissions import Source, tasks_of
from grader.run.grading import grade

bs4 = pytest.importorskip("bs4")
site = pytest.importorskip("grader.site")
lessons = pytest.importorskip("grader.site.lessons")
LESSON = "02_parallel_drafting"
PAGES = ("index", f"lessons/{LESSON}", "reference/graded-functions", "results", "genindex", f"zh/lessons/{LESSON}")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site, "KEPT", tmp_path_factory.mktemp("kept"))
        folder = tmp_path_factory.mktemp("site")
        site.build_site(folder, ["en", "zh"], [LESSON], execute=False, repository="owner/kit")
        yield folder


@pytest.fixture(scope="module")
def pages(built: Path) -> dict[Path, Any]:
    files = built.rglob("*.html")
    return {file: bs4.BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser") for file in files}


def test_every_link_leads_somewhere_and_each_page_to_the_other_language(built: Path, pages: dict[Path, Any]) -> None:
    targets = {file: {tag["id"] for tag in page.select("[id]")} for file, page in pages.items()}
    for file, page in pages.items():
        for tag in page.select("[href], [src]"):
            address, part = urldefrag(tag.get("href") or tag["src"])
            if not address.startswith(("https:", "data:", "mailto:")):
                target = (file.parent / unquote(address.split("?")[0])).resolve() if address else file
                assert target.is_file(), (file, tag)
                assert not part or target not in targets or unquote(part) in targets[target], (file, tag)
        assert page.select_one(".bar a[lang]"), file
    assert {"lessons", "zh", "reference"} <= {path.name for path in built.iterdir()}


def test_a_page_has_the_stub_and_folds_the_solution_away(built: Path, pages: dict[Path, Any]) -> None:
    page, solution = pages[built / "lessons" / f"{LESSON}.html"], "argmax(axis=1).tolist()"
    assert any(solution in fold.text for fold in page.select("details"))
    for fold in page.select("details"):
        fold.decompose()
    assert solution not in page.text and "TODO 2.1 (about 1 line)" in page.text


def test_pages_opened_from_a_folder_fit_are_legible_and_need_no_network(
    built: Path, open_page: Callable[[Path], Any]
) -> None:
    for name in PAGES:
        open_page(built / f"{name}.html")
    for name, words in (("search", "residual"), ("zh/search", "草稿模型")):
        page = open_page(built / f"{name}.html")
        page.goto(f"{page.url}?q={words}")
        page.wait_for_selector("#search-results li")


def test_outputs_are_kept_until_the_code_changes_and_a_failure_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [Cell("markdown", "", "prose"), Cell("code", "", "from dspark_mini.language import current\ncurrent()")]
    first = site.executed("a_lesson", cells, "zh", tmp_path)
    assert first[0][0].data["text/plain"] == "'zh'"
    with pytest.raises(UserError, match=r"a_lesson fails(?s:.*)ZeroDivisionError"):
        site.executed("a_lesson", [Cell("code", "", "1 / 0")], "zh", tmp_path)
    monkeypatch.setattr("grader.site.lessons._execute", pytest.fail)
    assert site.executed("a_lesson", [Cell("markdown", "", "other prose"), cells[1]], "zh", tmp_path) == first
    module = tmp_path / "site" / "grader" / "module.py"  # whatever the directory is called that the kit is in
    module.parent.mkdir(parents=True)
    monkeypatch.setattr("grader.site.lessons.ROOT", tmp_path / "site")
    states = [module.write_text(text) and lessons._kit.__wrapped__() for text in ("a = 1", "a = 2")]
    assert states[0] != states[1]


def test_the_cell_that_installs_the_kit_stays_out_of_nbgraders_notebooks_and_changes_no_grade(
    make_notebook: Callable[..., Path], library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = list(cells_of((SOLUTIONS / f"{LESSON}.py").read_text(encoding="utf-8")))
    monkeypatch.setattr(build, "install_cell", lambda: install_cell("owner/kit"))
    ids = [[cell.id for cell in nbformat.reads(build.notebook(cells, n), as_version=4).cells] for n in (False, True)]
    assert ids[0].pop(1) == "install" and ids[0] == ids[1]
    path = make_notebook()
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1:1] = install_cell("owner/kit")
    nbformat.write(notebook, path)
    result = grade(Source(path.name, path), library)
    assert (result.score, result.notes) == (sum(task.max_points for task in tasks_of(LESSON)), ())


def test_badges_come_and_go_with_the_address_of_the_repository() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = with_badges(readme, "owner/kit")
    assert named.count("owner/kit") == 3 and with_badges(named, "owner/kit") == named
    assert with_badges(named, "") == with_badges(readme, "")
