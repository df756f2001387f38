"""The learner's directory, in which nothing is ever lost, and files that are written completely or not at all."""

from pathlib import Path

import pytest

from dspark_mini.files import atomic_write
from dspark_mini.workspace import UserError, copy_lessons, count_hint, find_lesson, lesson_names, reset_lesson

LESSON = "02_parallel_drafting"


def test_lessons_are_copied_once_and_never_over_the_learners_work(tmp_path: Path) -> None:
    work = tmp_path / "new" / "work"
    assert set(copy_lessons(work).values()) == {True}
    notebook = work / f"{LESSON}.ipynb"
    notebook.write_text("my work")
    assert copy_lessons(work)[LESSON] is False
    assert notebook.read_text() == "my work"


def test_nothing_is_written_through_a_dangling_link_or_over_a_file(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    (work / f"{LESSON}.ipynb").symlink_to(outside)
    assert copy_lessons(work)[LESSON] is False and not outside.exists()
    outside.write_text("my text")
    with pytest.raises(UserError, match="outside is a file"):
        copy_lessons(outside)
    assert outside.read_text() == "my text"


def test_reset_keeps_every_earlier_version(tmp_path: Path) -> None:
    notebook = tmp_path / f"{LESSON}.ipynb"
    assert reset_lesson(LESSON, tmp_path) is None
    fresh, kept = notebook.read_bytes(), []
    for text in ("first", "second", "third"):
        notebook.write_text(text)
        kept.append(reset_lesson(LESSON, tmp_path))
        assert notebook.read_bytes() == fresh
    assert [path.read_text() for path in kept if path] == ["first", "second", "third"]


@pytest.mark.parametrize("text", ["2", "02", LESSON, f"{LESSON}.ipynb", f"work/{LESSON}.ipynb"])
def test_a_lesson_is_found_by_number_name_or_path(text: str) -> None:
    assert find_lesson(text) == LESSON


@pytest.mark.parametrize("text", ["", "77", "-2", "two", "02_parallel", "²", "work"])
def test_an_unknown_lesson_is_refused_with_the_nearest_or_the_first_and_last(text: str) -> None:
    with pytest.raises(UserError) as error:
        find_lesson(text)
    known = [LESSON] if text == "02_parallel" else [lesson_names()[0], lesson_names()[-1]]
    assert [name for name in lesson_names() if name in str(error.value)] == known and repr(text) in str(error.value)


@pytest.mark.parametrize("state", [None, "", "[]", "{}", '{"2.1": "x"}', "\x00"])
def test_hints_are_counted_whatever_the_state_file_holds(tmp_path: Path, state: str | None) -> None:
    if state is not None:
        (tmp_path / ".hints.json").write_text(state)
    assert [count_hint("2.1", tmp_path) for _ in range(3)] == [1, 2, 3]
    assert count_hint("2.2", tmp_path) == 1


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
