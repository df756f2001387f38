"""Where the parts of the repository are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS, NOTEBOOKS = ROOT / "solutions", ROOT / "notebooks"
NBGRADER_SOURCE = ROOT / "build" / "nbgrader" / "source"
HIDDEN_TEXTS = ROOT / "grader" / "lessons" / "hidden" / "texts.safetensors"  # of lesson 10
