"""The instructor's side of dspark_mini: checks, grading, nbgrader. A lesson uses two names of it, check and own."""

from grader.notebook import check, own, points

__all__ = ["check", "own", "points"]
