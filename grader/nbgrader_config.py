"""nbgrader for dspark_mini: run `dspark-mini build`, then nbgrader's own commands in this folder.

dspark-mini build
cd grader
nbgrader generate_assignment 02_parallel_drafting
# hand out build/nbgrader/release, collect into build/nbgrader/submitted/<student>/02_parallel_drafting/
nbgrader autograde 02_parallel_drafting
nbgrader generate_feedback 02_parallel_drafting
"""

from pathlib import Path

c = get_config()  # type: ignore[name-defined]  # noqa: F821

c.CourseDirectory.course_id = "dspark_mini"
c.CourseDirectory.root = str(Path(__file__).resolve().parent.parent / "build" / "nbgrader")
# What learners get (a line that raises, or lines with a bug) stands behind the solution region, so the stub itself is
# a comment.
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE, in place of what follows"}
c.Execute.timeout = 120
c.Execute.error_on_timeout = {"ename": "CellTimeoutError", "evalue": "", "traceback": ["The cell ran too long."]}
