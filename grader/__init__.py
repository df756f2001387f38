"""The instructor's side of dspark_mini: checks, grading, nbgrader. A lesson uses one name of it, check."""

from grader.notebook import check, points

__all__ = ["check", "points"]
