"""own: the learner's functions of earlier lessons, where they pass, and the kit's where they do not."""

from pathlib import Path

import nbformat
import pytest

from dspark_mini import cut_output
from grader import notebook, own
from grader.lessons.checks import TASKS

RIGHT = """
def cut_output(tokens, stop_tokens, max_new_tokens):
    emitted, stops = token_ids("tokens", tokens), set(token_ids("stop_tokens", stop_tokens))
    kept = emitted[:whole_number("max_new_tokens", max_new_tokens, low=0)]
    return next((kept[: i + 1] for i, token in enumerate(kept) if token in stops), kept)
"""
IMPORTS = "from dspark_mini.inputs import token_ids, whole_number"


def write(folder: Path, source: str) -> None:
    cells = [nbformat.v4.new_code_cell(IMPORTS), nbformat.v4.new_code_cell(source)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "01_verification.ipynb")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_passing_function_of_the_learner_is_used(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(here, RIGHT)
    function = own("1.6")
    assert function is not cut_output and function([5, 2, 7], [2], 9) == [5, 2]
    assert "yours, from 01_verification.ipynb" in capsys.readouterr().out


def test_the_kits_stands_in_for_one_that_does_not_pass(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert own("1.6") is cut_output  # no notebook
    for body in ("    return []", "    raise NotImplementedError", "1 +"):
        write(here, f"def cut_output(*arguments):\n{body}")
        assert own("1.6") is cut_output
        assert "the kit's" in capsys.readouterr().out
    (here / "01_verification.ipynb").write_text("{")
    assert own("1.6") is cut_output


def test_in_a_bundle_the_learner_is_told_what_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(TASKS["1.6"]), "reference_source", "")
    with pytest.raises(notebook.TodoOpen, match=r"TODO 1.6: .* write it in 01_verification.ipynb first"):
        own("1.6")
    with pytest.raises(ValueError, match=r"9\.9"):
        own("9.9")
