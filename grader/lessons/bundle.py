"""`dspark-mini bundle`: the learner's zip. It is the repository with the marked regions cut out.

Solution regions become `raise NotImplementedError`; hidden cases, mutants and the tools for instructors are not taken
along.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from dspark_mini.files import atomic_write
from dspark_mini.workspace import lesson_names, own_folder
from grader.lessons.paths import ROOT
from grader.lessons.stubs import REGION

TAKEN = (
    "pyproject.toml",
    "LICENSE",
    "README.md",
    "CHANGELOG.md",
    ".assets/*",
    "docs/**/*.md",
    "notebooks/**/*.ipynb",
    "dspark_mini/**/*",
    "grader/**/*.py",
    "grader/lessons/mistakes/*.json",
)
LEFT_OUT = (
    "grader/deploy/*",
    "grader/nbgrader_config.py",
    "grader/export/comparison.py",
    "grader/export/late.py",
    "grader/export/nbgrader_*.py",
    "grader/export/points.py",
    "grader/export/regrading.py",
    "grader/lessons/build.py",
    "grader/lessons/bundle.py",
    "grader/lessons/fitness.py",
    "grader/lessons/hidden/*",
    "grader/lessons/hosted.py",
    "grader/lessons/mistake_tables.py",
    "grader/lessons/mutants/*",
    "grader/lessons/new_lesson.py",
    "grader/lessons/record_texts.py",
    "grader/lessons/sources.py",
    "grader/lessons/template/*",
    "grader/lessons/translation.py",
    "grader/similarity/*",
    "grader/site/*",
    "dspark_mini/weights/smollm2/*",  # for the race, which a class's copy cannot run: two thirds of the zip
)
OWN_TAKEN = ("checks.py", "reference.py", "mistakes.json")  # of a lesson kept outside the kit
FOLDER = "dspark_mini"
DATE = (2026, 1, 1, 0, 0, 0)  # the same files make the same zip


def write_bundle(target: Path) -> None:
    """Write the learner's zip.

    Args:
        target: the zip file; it is replaced as a whole, once the new one is complete.
    """
    with atomic_write(target) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, data in bundle_files():
            bundle.writestr(zipfile.ZipInfo(f"{FOLDER}/{name}", DATE), data, zipfile.ZIP_DEFLATED)


def bundle_files() -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of every file of the bundle, in a fixed order."""
    paths = {path for pattern in TAKEN for path in ROOT.glob(pattern)}
    for path in sorted(paths):
        name = path.relative_to(ROOT).as_posix()
        if path.is_file() and "__pycache__" not in path.parts and not any(map(path.relative_to(ROOT).match, LEFT_OUT)):
            yield name, _without_solutions(path)
    for folder in filter(None, map(own_folder, lesson_names())):
        for path in (folder / name for name in (*OWN_TAKEN, f"{folder.name}.ipynb")):
            yield f"lessons/{folder.name}/{path.name}", _without_solutions(path)


def _without_solutions(path: Path) -> bytes:
    data = path.read_bytes()
    return without_secrets(path.read_text(encoding="utf-8")).encode() if path.suffix == ".py" else data


def without_secrets(source: str) -> str:
    """Cut the solution regions out of a Python source."""
    stub = r'\1raise NotImplementedError("This is what the lesson asks you to write.")' + "\n"
    return REGION.sub(stub, source)
