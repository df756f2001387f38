"""Variants of task 7.1: what learners write for rollback_rows, wrong and right."""

from __future__ import annotations

from typing import Any

import numpy as np

from dspark_mini.inputs import whole_number
from grader.lessons.mutants import right, wrong

TASK = "7.1"


def read(verified_rows: Any, accepted: Any) -> tuple[int, int]:
    """Check the arguments as the top of the stub does."""
    rows = whole_number("verified_rows", verified_rows, low=1)
    return rows, whole_number("accepted", accepted, low=0, high=rows - 1)


# --- Wrong ------------------------------------------------------------------------------------------------


@wrong(TASK, "refused_rows_go", "verified_rows counts the drafts only.")
def anchor_forgotten(verified_rows: Any, accepted: Any) -> int:
    rows, kept = read(verified_rows, accepted)
    return rows - kept


@wrong(TASK, "full_block_drops_nothing", "The bonus token has a row too, which is dropped with the rest.")
def bonus_row(verified_rows: Any, accepted: Any) -> int:
    rows, kept = read(verified_rows, accepted)
    return max(rows - 1 - kept, 1)


@wrong(TASK, "refused_rows_go", "The correction takes the place of the first refused draft, whose row stays.")
def correction_keeps_a_row(verified_rows: Any, accepted: Any) -> int:
    rows, kept = read(verified_rows, accepted)
    return max(rows - 2 - kept, 0)


@wrong(TASK, "refused_rows_go", "The rows to drop are the accepted ones.")
def accepted_dropped(verified_rows: Any, accepted: Any) -> int:
    return read(verified_rows, accepted)[1]


@wrong(TASK, "refused_rows_go", "A round with a refusal is computed anew, so all of its rows go.")
def all_rows_go(verified_rows: Any, accepted: Any) -> int:
    rows, kept = read(verified_rows, accepted)
    return 0 if kept == rows - 1 else rows


@wrong(TASK, "refused_rows_go", "The number of rows to keep is asked for.")
def rows_to_keep(verified_rows: Any, accepted: Any) -> int:
    return 1 + read(verified_rows, accepted)[1]


@wrong(TASK, "refused_rows_go", "The block always has eight drafts.")
def by_block_size(verified_rows: Any, accepted: Any) -> int:
    return max(8 - read(verified_rows, accepted)[1], 0)


@wrong(TASK, "bad_input_raises", "A negative number of rows is cut to 0.")
def clipped(verified_rows: Any, accepted: Any) -> int:
    return max(int(verified_rows) - 1 - int(accepted), 0)


@wrong(TASK, "plain_types", "A NumPy integer is an int.")
def numpy_integer(verified_rows: Any, accepted: Any) -> Any:
    rows, kept = read(verified_rows, accepted)
    return np.int64(rows - 1 - kept)


@wrong(TASK, "error_names_offender", "The error need not say what is wrong.")
def silent_error(verified_rows: Any, accepted: Any) -> int:
    try:
        rows, kept = read(verified_rows, accepted)
    except ValueError:
        raise ValueError("bad input") from None
    return rows - 1 - kept


KNOWN: dict[int, int] = {}


@wrong(TASK, "no_memory", "A block of a size seen before drops what it dropped before.")
def remembers(verified_rows: Any, accepted: Any) -> int:
    rows, kept = read(verified_rows, accepted)
    return KNOWN.setdefault(rows, rows - 1 - kept)


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "The rows are laid out and the refused ones counted.")
def counted(verified_rows: Any, accepted: Any) -> int:
    rows, kept = read(verified_rows, accepted)
    return len(list(range(rows))[1 + kept :])


@right(TASK, "One by one, from the end.")
def one_by_one(verified_rows: Any, accepted: Any) -> int:
    rows, kept = read(verified_rows, accepted)
    dropped = 0
    while rows - dropped > kept + 1:
        dropped += 1
    return dropped


@right(TASK, "Over a mask of the rows, with a print on the way.")
def masked(verified_rows: Any, accepted: Any) -> int:
    rows, kept = read(verified_rows, accepted)
    refused = np.arange(rows) > kept
    print("dropping", refused)
    return int(refused.sum())
