"""Files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from dspark_mini.files import atomic_write


def test_a_file_is_there_once_it_is_written_to_its_end(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with atomic_write(target) as part:
        part.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new" and [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_changes_nothing_and_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(error), whole(target) as part:
        part.write_text("half")
        raise error
    assert target.read_text() == "old" and [path.name for path in tmp_path.iterdir()] == ["a.txt"]
