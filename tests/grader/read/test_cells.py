"""Reading notebooks: which cells are run, which one counts, and that no notebook is too strange to be read."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.read.cells import Unreadable, lesson_of, originals_of, pieces_of, read_cells
from grader.read.submissions import Source, read_submission
from grader.run.child.loader import new_namespace, run_piece

LESSON = "02_parallel_drafting"
ORIGINALS = originals_of(LESSON)
SETUP = next(name for name, original in ORIGINALS.items() if original.role == "setup")
PICTURE = next(name for name, original in ORIGINALS.items() if original.role == "picture")
F = "block_mask"  # the function of task 2.4
CellJson = dict[str, Any]


def cell(source: Any, grade_id: str | None = None, **more: Any) -> CellJson:
    metadata = {"nbgrader": {"grade_id": grade_id}} if grade_id else {}
    return {"cell_type": "code", "source": source, "metadata": metadata, "outputs": [], **more}


def answer(value: Any, name: str = F) -> str:
    return f"def {name}(*a):\n    return {value!r}\n"


def notebook(*cells: CellJson, **more: Any) -> str:
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells), **more})


def sources(*cells: CellJson) -> list[str]:
    """What is run of a notebook with these cells, after the lesson's own setup."""
    setup, *others = pieces_of(read_cells(notebook(*cells)), LESSON)
    assert setup.source == ORIGINALS[SETUP].source
    return [piece.source for piece in others]


def graded(*cells: CellJson) -> Any:
    """What the function that counts returns, once everything has run."""
    namespace = new_namespace()
    for piece in pieces_of(read_cells(notebook(*cells)), LESSON):
        run_piece(piece.source, piece.label, namespace, piece.statements)
    return namespace[F]()


def test_cells_run_in_their_order_a_locked_one_as_it_was_handed_out_and_a_check_not_at_all() -> None:
    cells = [cell("a = 1"), cell("b = 2", "task-2-4"), cell("c = 3", "helper"), cell(["d = 4\n", "e = 5"])]
    assert sources(*cells) == ["a = 1", "b = 2", "c = 3", "d = 4\ne = 5"]
    picture = cell(ORIGINALS[PICTURE].source, id=PICTURE)
    given = cell("raise KeyError", "given-record")
    locked = [cell("np = None", SETUP), cell("raise KeyError", "check-2-4"), picture, given]
    assert sources(*locked) == [ORIGINALS["given-record"].source]


def test_an_answer_in_a_locked_cell_counts_as_after_merging_two_cells_and_most_tasks_name_the_lesson() -> None:
    answers = [cell(answer(1, name)) for name in ("schedule_prefixes", F, "conditional_acceptance")]
    assert lesson_of(read_cells(notebook(*answers))) == LESSON
    for name in ("check-2-3", SETUP, "given-record"):
        assert graded(cell("x = 1\n" + answer(7), name)) == 7


NOT_TEXT: tuple[Any, ...] = (None, 7, {"a": 1}, ["x = 1", 5], True)
METADATA: list[Any] = [
    {"nbgrader": {"grade_id": "task-2-4", "points": 0, "grade": False, "locked": True, "schema_version": 1}},
    {"nbgrader": {"grade_id": ["task-2-4"], "points": float("nan")}},
    {"nbgrader": "task-2-4"},
    {"dspark": {"role": "setup", "task": "2.4"}, "tags": ["remove_cell"], "deletable": False},
    *([1, 2], None),
]


def test_metadata_that_says_anything_else_is_ignored_and_so_are_outputs_and_what_is_no_code() -> None:
    assert sources(cell("x = 1", "task-2-4", id="check-2-4")) == ["x = 1"]  # nbgrader's name goes before the cell's id
    for name, identity in (("check-2-4", "task-2-4"), ("unknown", "check-2-4")):
        assert sources(cell("x = 1", name, id=identity)) == []
    for kind in ("markdown", "raw", "heading", "", None, 7, ["code"]):
        assert sources(cell("x = 1") | {"cell_type": kind}) == []
    for source in NOT_TEXT:
        assert sources(cell(source), cell("y = 2"), "no cell", None) == ["y = 2"]  # type: ignore[arg-type]
    forged = {"output_type": "execute_result", "data": {"text/plain": "16.0"}, "execution_count": 1}
    for metadata in METADATA:
        made = {"cell_type": "code", "source": answer(3), "metadata": metadata, "id": 5, "outputs": [forged] * 9}
        assert sources(made) == [answer(3)] and lesson_of(read_cells(notebook(made))) == LESSON


STUB = f"def {F}(*a):\n    raise NotImplementedError\n"
CHECK = cell(f'check("2.4", {F})', "check-2-4")


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        ((cell(answer(1), "task-2-4"), CHECK), 1),
        ((cell(answer(1)), cell(f"1 / 0\n{answer(2)}"), CHECK, cell(answer(3))), 1),
        ((cell(STUB, "task-2-4"), cell(answer(2)), CHECK), 2),
        ((cell(answer(1), "task-2-4"), CHECK, cell(answer(2))), 1),
        ((cell(answer(1), "task-2-4"), cell(answer(2), "task-2-4"), CHECK), 2),
        ((cell(answer(1), "task-2-4"), CHECK, cell(answer(2), "task-2-4")), 1),
        ((cell(answer(1), "task-2-4"), CHECK, cell(answer(2), "task-2-4"), CHECK, cell(answer(3))), 2),
        ((cell(answer(1), "task-2-4"), cell(answer(2))), 2),
        ((CHECK, cell(answer(1)), cell(answer(2))), 2),
        ((cell(answer(1)), CHECK, cell(f"{F} = lambda: 2")), 1),
        ((cell(answer(1)), CHECK, cell(f"def {F}(:")), 1),
        ((cell(f"{F} = lambda: 1"), CHECK, cell(f"x = 5\n{STUB}"), cell(f"_graded_{F} = None")), None),
    ],
)
def test_the_definition_that_its_check_sees_counts(cells: tuple[CellJson, ...], value: Any) -> None:
    if value is None:  # the name that keeps the function is the learner's own to break
        with pytest.raises(TypeError):
            graded(*cells)
    else:
        assert graded(*cells) == value


def test_every_format_version_gives_the_same_cells() -> None:
    made = cell(answer(1), "task-2-4")
    old = {"cell_type": "code", "input": answer(1), "metadata": made["metadata"], "language": "python"}
    sheets = {"metadata": {}, "nbformat_minor": 0, "worksheets": [{"cells": [old], "metadata": {}}]}
    texts = [notebook(made, nbformat_minor=minor) for minor in (0, 1, 4, 5)]
    for text in (*texts, *(json.dumps(sheets | {"nbformat": major}) for major in (2, 3))):
        (only,) = read_cells(text)
        assert (only.names, only.source, only.defined) == (("task-2-4",), answer(1), {F})


BROKEN = [
    *("", '{"cells": []}', "hello", "null", "7", "[]", "{}", "NaN", '{"cells": 7}', '{"cells": {"a": 1}}'),
    *('{"worksheets": 7}', '{"cells": [', "[" * 100_000, '{"cells": ' * 100_000),
    '{"cells": [' + "[" * 100_000 + "]" * 100_000 + "]}",
]


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_what_is_not_a_notebook_is_unreadable_at_once(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(Unreadable, match="notebook"):
        lesson_of(read_cells(text))
    assert time.process_time() - begin < 2


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["cells", "worksheets", "cell_type", "source", "metadata", "nbgrader", "grade_id", "id"]),
            inner | st.just("code"),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from(["cells", "worksheets", "nbformat"]), json_values | st.lists(json_values)))
def test_no_json_whatever_breaks_the_reader(document: Any) -> None:
    try:
        cells = read_cells(json.dumps(document))
    except Unreadable:
        return
    assert all(isinstance(piece.source, str) for piece in pieces_of(cells, LESSON))


Write = Callable[[str, bytes], Source]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, data: bytes) -> Source:
        (tmp_path / name).write_bytes(data)
        return Source(name, tmp_path / name)

    return written


def test_neither_giant_numbers_nor_long_lines_make_the_reader_slow() -> None:
    lines = [" " * 400_000, "def" + " " * 300_000, "async " * 50_000, "=" * 99_000, "x" * 100_000]
    odd, begin = f'"metadata": {{"a": {"9" * 2_000_000}, "b": NaN, "c": 1e{"9" * 9}}}', time.process_time()
    assert [c.source for c in read_cells(notebook(cell(answer(1))).replace('"metadata": {}', odd))] == [answer(1)]
    for line in lines:
        read_cells(notebook(cell(line)))
    assert time.process_time() - begin < 4


def test_a_cell_that_is_too_long_costs_only_itself_and_too_much_code_the_notebook(write: Write) -> None:
    long = answer(1) + "#" * (2 << 20)
    (first, second) = read_cells(notebook(cell(long), cell(answer(2))))
    assert (first.defined, second.defined) == (frozenset(), {F})
    with pytest.raises(Unreadable, match="1 MiB of code"):
        read_cells(notebook(*[cell("#" * 90_000)] * 12))
    for name, data, why in (("a.ipynb", b" " * ((20 << 20) + 1), "20 MiB"), ("a.py", b"#" * ((1 << 20) + 1), "1 MiB")):
        with pytest.raises(Unreadable, match=why):
            read_submission(write(name, data))
    with pytest.raises(Unreadable, match="No such file"):
        read_submission(Source("a", Path("nowhere.py")))


@pytest.mark.parametrize("kind", ["code", "markdown", "raw"])
def test_more_cells_than_anybody_writes_are_refused_whatever_their_kind(kind: str) -> None:
    made = [cell(answer(1)), *({"cell_type": kind, "metadata": {}, "source": ""} for _ in range(19_999))]
    assert read_cells(notebook(*made))
    for text in (notebook(*made, made[-1]), json.dumps({"worksheets": [{"cells": made}, {"cells": made[-1:]}]})):
        with pytest.raises(Unreadable, match="more than 20,000 cells"):
            read_cells(text)


@pytest.mark.parametrize("name", ["a.py", "a.ipynb"])
def test_encodings_with_a_mark_are_read_and_other_bytes_are_unreadable(write: Write, name: str) -> None:
    code = "γ = '∞'\n" + answer(1)
    text = code if name.endswith("py") else notebook(cell(code))
    for data in (text.encode(), text.encode("utf-8-sig"), text.encode("utf-16"), f"\ufeff{text}".encode("utf-16-le")):
        assert read_submission(write(name, data)).pieces[-1].source == code
    for data in (b"x = '\xff'", b"\xff\xfe\x00", b"\xff\xfe\x00\xd8", "é".encode("latin-1")):
        with pytest.raises(Unreadable, match="UTF-8"):
            read_submission(write(name, data))


@pytest.mark.parametrize("name", ["a.py", "a.ipynb"])
def test_whatever_is_not_a_plain_file_is_never_opened(tmp_path: Path, name: str) -> None:
    target = tmp_path / "target"
    target.write_text(answer(1))
    for number, make in enumerate(
        (
            lambda path: path.symlink_to(target),
            lambda path: path.symlink_to("/dev/zero"),
            lambda path: path.symlink_to(path),
            lambda path: os.mkfifo(path),
            lambda path: path.mkdir(),
        )
    ):
        path = tmp_path / str(number) / name
        path.parent.mkdir()
        make(path)
        with pytest.raises(Unreadable, match="plain file"):
            read_submission(Source(name, path))
