"""nbgrader for dspark_mini: run `dspark-mini build`, then nbgrader's own commands in this folder.

dspark-mini build
cd grader
nbgrader generate_assignment 02_parallel_drafting
# hand out build/nbgrader/release, collect into build/nbgrader/submitted/<student>/02_parallel_drafting/
nbgrader autograde 02_parallel_drafting
nbgrader generate_feedback 02_parallel_drafting
jupyter lab --ServerApp.root_dir=..  # and there Nbgrader > Formgrader
"""

import os
import sys
from pathlib import Path

c = get_config()  # type: ignore[name-defined]  # noqa: F821

# nbgrader calls alembic by name, and leaves half a database if this environment is not activated.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])

c.CourseDirectory.course_id = "dspark_mini"
c.CourseDirectory.root = str(Path(__file__).resolve().parent.parent / "build" / "nbgrader")
# What learners get (a line that raises, or lines with a bug) follows the solution region, so the stub itself is
# a comment.
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE, in place of what follows"}

# Submissions are repaired and graded in the sandbox. Without the next two settings nbgrader runs them in a kernel,
# with your rights, and gives the same points to honest submissions.
c.Autograde.sanitize_preprocessors = [
    "grader.export.nbgrader_preprocessors.RepairCells",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "grader.export.nbgrader_preprocessors.GradeInSandbox",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Execute.timeout = 120
c.Execute.error_on_timeout = {"ename": "CellTimeoutError", "evalue": "", "traceback": ["The cell ran too long."]}

# Scripts in a student's Markdown stay out of the formgrader and of feedback.
c.HTMLExporter.filters = {"markdown2html": "grader.export.nbgrader_preprocessors.harmless_html"}
