"""The instructor's side of dspark_mini: checks, grading, nbgrader. A lesson uses check, hint and own."""

from grader.notebook import check, hint, own, points

__all__ = ["check", "hint", "own", "points"]
