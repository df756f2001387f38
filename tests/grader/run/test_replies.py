"""What is made of a child's replies, each part of which may be forged."""

from typing import Any

import pytest

from grader.run.channel import ChildDied
from grader.run.child.calling import Outcome
from grader.run.child.loader import CellError
from grader.run.replies import MAX_LINE, MAX_MESSAGE, cell_error_of, loaded_of, outcome_of

ERROR: dict[str, Any] = {"error": "ValueError", "message": "x[2] is bad", "line": 3}


def test_values_errors_and_the_end_of_loading_become_outcomes() -> None:
    assert outcome_of({"number": 1, "value": [1], "error": None}) == Outcome([1])
    assert outcome_of({"number": 1, "value": None, "changed": True, **ERROR}) == Outcome(
        None, "ValueError", "x[2] is bad", 3, changed=True
    )
    assert cell_error_of(ERROR | {"error": "MyOwn"}) == CellError("MyOwn", "x[2] is bad", 3)  # before any call
    errors, defined = loaded_of({"loaded": {1: ERROR}, "defined": ["f", 7, None]}, 2)
    assert errors == {1: CellError("ValueError", "x[2] is bad", 3)} and defined == {"f"}


def test_names_of_known_exceptions_pass_and_one_that_could_tell_what_a_call_was_given_does_not() -> None:
    for name in ("ValueError", "KeyboardInterrupt", "NotImplementedError", "LinAlgError", "TimeoutError"):
        assert outcome_of(ERROR | {"error": name}).error == name
    for name in ("[[0.25, 0.75]]", "Made_up_3_1_4", "", "print", "int", "\ud800"):
        assert outcome_of(ERROR | {"error": name}).error == "Exception"


def test_messages_and_names_are_cut_and_can_be_written_anywhere() -> None:
    error = cell_error_of({"error": "\x1b]0;" * 100, "message": "γ\ud800\0\u202e\n" * 500, "line": None})
    assert len(error.message) <= MAX_MESSAGE and len(error.error) <= 80
    assert set(error.message) == set("γ?\n") and "\x1b" not in error.error
    assert error.message.encode() and error.error.encode()


def test_a_line_that_no_code_has_is_not_shown() -> None:
    assert [outcome_of(ERROR | {"line": line}, lines=7).line for line in (1, 7, 8)] == [1, 7, None]
    for line in (0, -5, MAX_LINE + 1, 2**63):
        assert cell_error_of(ERROR | {"line": line}).line is None


PARTS: list[dict[str, Any]] = [{"error": 7}, {"error": b"E"}, {"message": None}, {"line": "3"}, {"line": True}]
PARTS += [{"changed": 1}, {"timed_out": None}]


ENDS: list[dict[str, Any]] = [{}, {"loaded": {}}, {"loaded": [], "defined": []}, {"loaded": {}, "defined": "f"}]
ENDS += [{"loaded": {index: ERROR}, "defined": []} for index in (2, -1, 1.0, True, "0", float("inf"))]
ENDS += [{"loaded": {0: "an error"}, "defined": []}]


def test_a_part_of_a_wrong_type_and_a_forged_end_of_loading_end_the_child() -> None:
    for part in PARTS:
        with pytest.raises(ChildDied):
            outcome_of(ERROR | part)
    for reply in ENDS:
        with pytest.raises(ChildDied):
            loaded_of(reply, 2)
