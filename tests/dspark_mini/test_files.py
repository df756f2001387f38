"""Files are written completely or not at all."""

from pathlib import Path

import pytest

from dspark_mini.files import atomic_write


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_a_file_is_replaced_at_the_end_or_stays_as_it_was(tmp_path: Path, error: type[BaseException] | None) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    try:
        with atomic_write(target) as part:
            part.write_text("new")
            assert target.read_text() == "old"
            if error is not None:
                raise error
    except (ValueError, KeyboardInterrupt):
        pass
    assert target.read_text() == ("old" if error else "new")
    assert list(tmp_path.iterdir()) == [target]
