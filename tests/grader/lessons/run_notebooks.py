"""Runs notebooks one after the other, each in a fresh IPython shell, and prints what came out as JSON.

A kernel a notebook would show the same, and take several times as long. Cells run on behind one that fails.
"""

import json
import sys
from pathlib import Path
from typing import Any

import nbformat
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


def run(path: Path) -> list[dict[str, Any]]:
    """Return, for every code cell, its id, what it showed (kinds and text), its stderr and its error."""
    shell = InteractiveShell.instance()
    shell.reset()
    shell.InteractiveTB.set_mode("Minimal")  # nobody reads them, and long ones take a second each
    return [outcome(shell, cell) for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def outcome(shell: InteractiveShell, cell: nbformat.NotebookNode) -> dict[str, Any]:
    """Run one cell."""
    shown: list[dict[str, Any]] = []

    def show(value: Any) -> None:
        if value is not None:
            shown.append(shell.display_formatter.format(value)[0])

    shell.display_trap.hook = show  # gets the value of the last expression, as a kernel's does
    with capture_output() as captured:
        result = shell.run_cell(cell.source)
    shown += [output.data for output in captured.outputs]
    error = result.error_before_exec or result.error_in_exec
    return {
        "id": cell.id,
        "kinds": [kind for data in shown for kind in data],
        "text": "\n".join([captured.stdout, *(data.get("text/plain", "") for data in shown)]),
        "stderr": captured.stderr,
        "error": type(error).__name__ if error else None,
        "message": str(error) if error else "",
    }


if __name__ == "__main__":
    print(json.dumps([run(Path(argument)) for argument in sys.argv[1:]]))
