"""What an instructor uploads elsewhere: a template repository for GitHub Classroom, an autograder for Gradescope."""

from __future__ import annotations

from pathlib import Path

from grader.lessons.bundle import bundle_files

HERE = Path(__file__).parent
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
