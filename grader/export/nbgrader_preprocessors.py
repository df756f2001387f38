"""Preprocessors that make nbgrader's own `autograde` fast and safe; grader/nbgrader_config.py installs them.

The first one repairs a submission before nbgrader reads it, so that a copied cell or metadata of an old version
does not stop the batch. The second one replaces nbgrader's run of the notebook in a kernel, which has the instructor's
rights: it grades the submission in the sandbox, and writes reports and points below the cells that check.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import bleach
from nbconvert.filters import markdown2html
from nbformat.v4 import new_notebook
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor

from grader.export.nbgrader_cells import cells_of
from grader.export.nbgrader_notebook import mark, repaired
from grader.read.submissions import Source
from grader.run.grading import UNGRADED, grade
from grader.run.process import NoProcess, child_library
from grader.run.sandbox import require_sandbox

# What Markdown makes, and the HTML that people write into it; everything else is shown as text.
TABLES = {"table", "tbody", "td", "th", "thead", "tr"}
BLOCKS = {"br", "details", "div", "hr", "p", "pre", "summary"} | {f"h{level}" for level in range(1, 7)}
TAGS = bleach.ALLOWED_TAGS | TABLES | BLOCKS | {"del", "img", "kbd", "span", "sub", "sup"}
ATTRIBUTES = {"*": ["class", "title"], "a": ["href"], "img": ["src", "alt", "width", "height"], "ol": ["start"]}

require_once = functools.cache(require_sandbox)


def harmless_html(markdown: str) -> str:
    """Turn Markdown into HTML without scripts: the page that shows it has the rights of an instructor."""
    return str(bleach.clean(markdown2html(markdown), TAGS, ATTRIBUTES))


class RepairCells(NbGraderPreprocessor):  # type: ignore[misc]
    """Gives every cell the metadata that the gradebook knows for it, adds graded cells that are missing."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Return the repaired notebook; of a link, whose target may be anybody's, an empty one."""
        about, file = resources["nbgrader"], resources["metadata"]
        if Path(file["path"], f"{file['name']}.ipynb").is_symlink():
            nb = new_notebook()
        with Gradebook(about["db_url"]) as book:
            return repaired(nb, cells_of(book.find_notebook(about["notebook"], about["assignment"]))), resources


class GradeInSandbox(NbGraderPreprocessor):  # type: ignore[misc]
    """Grades the submitted file in the sandbox instead of running the notebook in a kernel."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Write reports and points below the cells that check, where SaveAutoGrades reads them.

        Raises:
            NoSandbox: this machine has no sandbox; without one nothing goes into a gradebook.
            NoProcess: it could not be graded, through no fault of its own; nbgrader then records nothing.
        """
        require_once()
        about = resources["nbgrader"]
        course = self.parent.parent.coursedir  # the exporter's converter knows where submissions lie
        folder = course.format_path(course.submitted_directory, about["student"], about["assignment"])
        with child_library() as library:
            source = Source(about["student"], Path(folder, f"{about['notebook']}.ipynb"))
            result = grade(source, library)
        if result.status == UNGRADED:
            raise NoProcess(result.reason)
        mark(nb, result.to_json())
        return nb, resources
