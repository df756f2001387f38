"""The lessons: tasks with their checks, hidden cases and mutants, build and bundle."""
