"""The pytest plugin for notebooks: it runs what was named, and nothing that merely lies there."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.lessons.paths import ROOT
from grader.read.submissions import tasks_of


@pytest.fixture
def submission(tmp_path: Path) -> Path:
    """A notebook in a folder of submissions, which writes a file where it is run."""
    code = f"open({str(tmp_path / 'was run')!r}, 'w').close()\ndef dflash_parallel_candidates(x):\n    return x\n"
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": code}
    path = tmp_path / "submitted" / "eve" / "02_parallel_drafting.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


def pytest_of(path: Path) -> str:
    """Run pytest with the plugin alone, and return what it says."""
    plugins = ("-p", "dspark_mini.pytest_notebooks", "-p", "no:cacheprovider")
    command = [sys.executable, "-m", "pytest", *plugins, str(path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=path.parent, env=environment, capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


def test_notebook_that_lies_in_a_folder_is_not_run(submission: Path, tmp_path: Path) -> None:
    assert "collected 0 items" in pytest_of(tmp_path / "submitted")
    assert not (tmp_path / "was run").exists()


def test_notebook_that_is_named_shows_one_item_a_task(submission: Path, tmp_path: Path) -> None:
    said = pytest_of(submission)
    assert f"collected {len(tasks_of(submission.stem))} items" in said
    assert "TODO 2.2 is not started" in said and "Traceback" not in said
    assert (tmp_path / "was run").exists()
