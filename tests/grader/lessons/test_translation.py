"""Translations: what the build says of them, and that notebook, report and grade speak the language of the notebook."""

import ast
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from babel.messages.catalog import Catalog

from dspark_mini.language import _, current, speaking
from dspark_mini.workspace import copy_lessons, folder_language, handed_out, reset_lesson
from grader import check
from grader.export.pages import student_page
from grader.lessons import translation
from grader.lessons.paths import SOLUTIONS
from grader.lessons.sources import cells_of
from grader.read.submissions import Source
from grader.run.grading import grade

LESSON = "02_parallel_drafting"


def catalog(text: str, translated: str, *flags: str) -> Catalog:
    found = Catalog(locale="zh", domain="test")
    found.add(text, translated, flags=flags)
    return found


@pytest.mark.parametrize(
    ("text", "translated", "flags", "fault"),
    [
        ("Draft.", "", (), "is not translated"),
        ("Draft.", "起草。", ("fuzzy",), "has changed"),
        ("Of 12 drafts 3 pass.", "12 个草稿通过两个。", (), "does not keep 3"),
        ("Call `f(x)` once.", "调用 `f(y)` 一次。", (), "does not keep `f(x)`"),
        ("$x_k$ is drawn.", "抽取 $x_j$。", (), "does not keep $x_k$"),
        ("{count} rows", "行", (), "does not keep {count}"),
        ("See [it](https://a.b/c).", "见[它](https://a.b/d)。", (), "does not keep ](https://a.b/c)"),
        ("Of 12 drafts `f(\n x)` takes 3.", "`f( x)` 从 12 个草稿中取 3 个。", (), ""),
    ],
)
def test_faults_of_a_translation(text: str, translated: str, flags: tuple[str, ...], fault: str) -> None:
    found = list(translation.faults(catalog(text, translated, *flags)))
    assert len(found) == bool(fault) and fault in "".join(found)


def test_no_message_has_a_fault_and_values_are_filled_in_after_translation() -> None:
    assert translation.all_faults() == []
    with speaking("zh"):
        assert _("TODO {task} is not started.", task="{2.1}") == "TODO {2.1} 还没有开始。"
    assert _("not a message of the kit: {x}") == "not a message of the kit: {x}"


def test_a_message_whose_english_changes_is_kept_for_the_translator_and_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translation, "LOCALE", tmp_path)
    path = translation.po_file("zh", "test")
    path.parent.mkdir(parents=True)
    path.write_bytes(translation._as_po(catalog("The target checks all drafts.", "目标模型检查所有草稿。")))
    updated = translation.updated("zh", "test", iter([("The target checks all drafts at once.", "")]))
    (message,) = [entry for entry in updated if entry.id]
    assert message.fuzzy and message.string == "目标模型检查所有草稿。"
    assert translation.translator(updated)("The target checks all drafts at once.").startswith("The target")


def test_a_translated_notebook_has_the_same_code_and_keeps_its_language(tmp_path: Path) -> None:
    english, chinese = (nbformat.read(handed_out(LESSON, language), as_version=4) for language in ("en", "zh"))
    code = [[(cell.id, cell.source) for cell in book.cells if cell.cell_type == "code"] for book in (english, chinese)]
    assert code[0] == code[1]
    copy_lessons(tmp_path, "zh")
    assert folder_language(tmp_path) == "zh"
    reset_lesson(LESSON, tmp_path)
    assert (tmp_path / f"{LESSON}.ipynb").read_bytes() == handed_out(LESSON, "zh").read_bytes()


def test_a_check_in_a_notebook_speaks_its_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy_lessons(tmp_path, "zh")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="还没有通过") as failed:
        check("2.1", lambda block_logits: [int(row.size - 1 - np.argmax(row[::-1])) for row in block_logits])
    assert "从结果看，你的函数可能是这样：" in str(failed.value) and "ties_go_to_lowest_id" in str(failed.value)
    check("2.1", lambda block_logits: block_logits.argmax(axis=1).tolist())
    assert "TODO 2.1 通过" in capsys.readouterr().out
    assert current() == "en"


def test_a_report_is_in_the_language_of_the_submission(make_notebook: Callable[..., Path], library: Path) -> None:
    results: dict[str, Any] = {}
    for language in ("en", "zh"):
        path = make_notebook(
            f"{language}/{LESSON}.ipynb", edits={"task-2-5": "def conditional_acceptance(*a): return 3"}
        )
        document = nbformat.read(path, as_version=4)
        document.metadata["dspark"] = {"language": language}
        nbformat.write(document, path)
        with speaking("zh"):  # whoever grades may speak another language
            results[language] = grade(Source(language, path), library).to_json()
    assert results["en"]["score"] == results["zh"]["score"] > 0
    assert results["zh"]["language"] == "zh"
    mistakes = [result["tasks"][5].get("mistake") for result in results.values()]
    assert mistakes == [None, results["en"]["tasks"][5]["diagnosis"]]  # so that the class page counts both as one
    for language, says in (("en", "Your function returns one number"), ("zh", "你的函数返回一个数")):
        assert says in student_page(results[language]) and f'lang="{language}"' in student_page(results[language])


def test_no_label_of_a_picture_is_put_together_from_words_which_could_not_be_translated() -> None:
    for path in SOLUTIONS.glob("[0-9]*.py"):
        for cell in cells_of(path.read_text(encoding="utf-8")):
            tree = ast.parse(cell.source if cell.kind == "code" and "viz." in cell.source else "")
            printed = {id(part) for call in ast.walk(tree) if _is_print(call) for part in ast.walk(call)}
            for text in (
                node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) and id(node) not in printed
            ):
                words = "".join(str(part.value) for part in text.values if isinstance(part, ast.Constant))
                assert not re.search("[a-z]{3}[ :]| [a-z]{3}", words), (path.name, words)


def _is_print(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
