"""What an instructor uploads elsewhere: a template repository for GitHub Classroom, an autograder for Gradescope."""

from __future__ import annotations

import shlex
import zipfile
from pathlib import Path

from dspark_mini.files import atomic_write
from grader.lessons.bundle import DATE, bundle_files
from grader.lessons.paths import ROOT

HERE = Path(__file__).parent
# Everything that grades, hidden cases included, and what `pip install` needs.
KIT = ("pyproject.toml", "README.md", "LICENSE", "dspark_mini/**/*", "grader/**/*", "notebooks/*.ipynb")
SCRIPT, PRIVATE = 0o100755, 0o100600  # modes of files in the zip
NOT_COMMITTED = ".venv/\n__pycache__/\n.ipynb_checkpoints/\n"


def write_classroom(folder: Path) -> None:
    """Write a template repository for GitHub Classroom: the learner's bundle, notebooks to edit, and a workflow.

    Args:
        folder: A new or empty directory.

    Raises:
        FileExistsError: There is something in it.
    """
    folder.mkdir(exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty; name a new directory.")
    files = dict(bundle_files())
    files |= {f"work/{Path(name).name}": data for name, data in files.items() if name.startswith("notebooks/")}
    files[".github/workflows/classroom.yml"] = (HERE / "classroom.yml").read_bytes()
    files[".gitignore"] = NOT_COMMITTED.encode()
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def write_gradescope_zip(target: Path, secret: str, lesson: str | None) -> None:
    """Write an autograder for Gradescope: its two scripts, the complete kit, and the instructor's secret.

    Args:
        target: The zip file; it is replaced as a whole.
        secret: That hidden cases are drawn with.
        lesson: The only lesson that is graded; by default whichever is handed in.
    """
    only = f"--lesson {shlex.quote(lesson)}" if lesson else ""
    run = (HERE / "run_autograder").read_text(encoding="utf-8").replace("LESSON", only)
    files = {"setup.sh": (HERE / "setup.sh").read_bytes(), "run_autograder": run.encode()}
    files["secret"] = f"{secret}\n".encode()
    for path in sorted({path for pattern in KIT for path in ROOT.glob(pattern)}):
        if path.is_file() and "__pycache__" not in path.parts:
            files[f"kit/{path.relative_to(ROOT).as_posix()}"] = path.read_bytes()
    with atomic_write(target) as part, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as autograder:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = (SCRIPT if name in ("setup.sh", "run_autograder") else PRIVATE) << 16
            autograder.writestr(entry, data, zipfile.ZIP_DEFLATED)
