"""What graded code may import is the same everywhere, and an import that is not used costs nothing."""

from pathlib import Path
from typing import Any

import pytest

from grader.notebook import CheckFailed, check
from grader.read.submissions import Source
from grader.run.child.imports import foreign_modules
from grader.run.grading import grade

SOURCE = """
import math
import matplotlib.pyplot as plt
import numpy as np
from rich.text import Text


def helper(row):
    return Text(str(row)) and int(row.argmax())


def dflash_parallel_candidates(block_logits):
    return [helper(row) for row in block_logits]


def conditional_acceptance(accepted_counts, block_size):
    from matplotlib import cbook
    return []


def verification_mask(context_length, draft_length):
    import json
    return np.tri(1 + draft_length, context_length + 1 + draft_length, context_length, dtype=bool)
"""


@pytest.fixture(scope="module")
def namespace() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(SOURCE, names)
    return names


def test_packages_that_grading_lacks_are_named_where_they_are_used(namespace: dict[str, Any]) -> None:
    assert foreign_modules(namespace["dflash_parallel_candidates"]) == {"rich"}
    assert foreign_modules(namespace["conditional_acceptance"]) == {"matplotlib"}
    assert foreign_modules(namespace["verification_mask"]) == set()


def test_a_notebook_says_what_grading_will_say(namespace: dict[str, Any]) -> None:
    with pytest.raises(CheckFailed, match="uses rich, which grading does not have"):
        check("2.1", namespace["dflash_parallel_candidates"])


@pytest.mark.parametrize("sandbox", [True, False])
def test_a_check_of_the_file_and_grading_agree(tmp_path: Path, library: Path, sandbox: bool) -> None:
    file = tmp_path / "mine.py"
    file.write_text(SOURCE)
    reports = {r.task: r.status for r in grade(Source("mine", file), library, sandbox).reports}
    assert (reports["2.1"], reports["2.5"]) == ("error", "error")
