"""The instructor's side of dspark_mini: checks, grading, nbgrader. A lesson uses one name of it, check."""
