"""Variants of task 9.1: what learners write for cache_mask, wrong and right."""

from __future__ import annotations

from typing import Any

import numpy as np

from dspark_mini.inputs import whole_number
from grader.lessons.mutants import right, wrong

TASK = "9.1"


def read(rows: Any, count: Any, slots: Any) -> tuple[int, int, int]:
    """Check the arguments as the top of the stub does."""
    rows = whole_number("rows", rows, low=0)
    count = whole_number("count", count, low=1)
    slots = whole_number("slots", slots, low=1)
    if rows + count > slots:
        raise ValueError(f"count is {count}, but {rows} of the {slots} slots are filled.")
    return rows, count, slots


def columns(rows: int, count: int, slots: int) -> tuple[Any, Any]:
    """Return the slot of each new token, as a column, and all slots, as a row."""
    return (rows + np.arange(count))[:, None], np.arange(slots)


# --- Wrong ------------------------------------------------------------------------------------------------


@wrong(TASK, "earlier_ones_and_itself", "A token does not look at itself.")
def itself_left_out(rows: Any, count: Any, slots: Any) -> Any:
    own, all_slots = columns(*read(rows, count, slots))
    return all_slots < own


@wrong(TASK, "earlier_ones_and_itself", "New tokens see each other in both directions, like a block that is drafted.")
def both_directions(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    return np.tile(np.arange(slots) < rows + count, (count, 1))


@wrong(TASK, "earlier_ones_and_itself", "Only what is already in the cache can be seen.")
def earlier_ones_only(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    return np.tile(np.arange(slots) < rows, (count, 1))


@wrong(TASK, "earlier_ones_and_itself", "The triangle begins in slot 0.")
def triangle_at_the_start(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    return np.tri(count, slots, dtype=bool)


@wrong(TASK, "earlier_ones_and_itself", "A mask says what is hidden.")
def upside_down(rows: Any, count: Any, slots: Any) -> Any:
    own, all_slots = columns(*read(rows, count, slots))
    return all_slots > own


@wrong(TASK, "earlier_ones_and_itself", "A token sees the earlier ones and itself, but no other new one.")
def new_ones_apart(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    own, all_slots = columns(rows, count, slots)
    return (all_slots < rows) | (all_slots == own)


@wrong(TASK, "slots_behind_are_unseen", "The mask is as wide as what is filled.")
def as_wide_as_filled(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    return np.tri(count, rows + count, k=rows, dtype=bool)


@wrong(TASK, "slots_behind_are_unseen", "The new tokens stand at the end of the cache.")
def at_the_end(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    return np.tri(count, slots, k=slots - count, dtype=bool)


@wrong(TASK, "slots_behind_are_unseen", "Free slots hold zeros, which add nothing to an attention.")
def free_slots_seen(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    own, all_slots = columns(rows, count, slots)
    return (all_slots <= own) | (all_slots >= rows + count)


@wrong(TASK, "empty_cache", "There is always at least one earlier token.")
def never_empty(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    own, all_slots = columns(max(rows, 1), count, slots)
    return all_slots <= own


@wrong(TASK, "single_token", "One token has a flat mask.")
def flat_for_one(rows: Any, count: Any, slots: Any) -> Any:
    own, all_slots = columns(*read(rows, count, slots))
    return (all_slots <= own).squeeze()


@wrong(TASK, "plain_types", "Ones and zeros are as good as booleans.")
def ones_and_zeros(rows: Any, count: Any, slots: Any) -> Any:
    own, all_slots = columns(*read(rows, count, slots))
    return (all_slots <= own).astype(int)


@wrong(TASK, "plain_types", "A list of lists is as good as an array.")
def nested_lists(rows: Any, count: Any, slots: Any) -> Any:
    own, all_slots = columns(*read(rows, count, slots))
    return (all_slots <= own).tolist()


@wrong(TASK, "bad_input_raises", "A full cache drops its oldest rows.")
def oldest_dropped(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = int(rows), int(count), int(slots)
    own, all_slots = columns(min(rows, slots - count), count, slots)
    return all_slots <= own


@wrong(TASK, "error_names_offender", "The error need not say what is wrong.")
def silent_error(rows: Any, count: Any, slots: Any) -> Any:
    try:
        own, all_slots = columns(*read(rows, count, slots))
    except ValueError:
        raise ValueError("it does not fit") from None
    return all_slots <= own


KNOWN: dict[int, Any] = {}


@wrong(TASK, "no_memory", "The mask of a size that was seen before is still right.")
def remembers(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    own, all_slots = columns(rows, count, slots)
    return KNOWN.setdefault(slots, all_slots <= own)


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "Two loops that fill a matrix.")
def two_loops(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    mask = np.zeros((count, slots), dtype=bool)
    for i in range(count):
        for slot in range(rows + i + 1):
            mask[i, slot] = True
    return mask


@right(TASK, "np.tri with an offset.")
def triangle(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    return np.tri(count, slots, k=rows, dtype=bool)


@right(TASK, "What lies behind is cut out of a full matrix, with a print on the way.")
def cut_out(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    mask = np.ones((count, slots), dtype=np.bool_)
    mask[np.triu_indices(count, k=rows + 1, m=slots)] = False
    print("seen", mask.sum())
    return mask


@right(TASK, "A list of lists, made an array at the end.")
def lists_first(rows: Any, count: Any, slots: Any) -> Any:
    rows, count, slots = read(rows, count, slots)
    return np.array([[True] * (rows + i + 1) + [False] * (slots - rows - i - 1) for i in range(count)])
