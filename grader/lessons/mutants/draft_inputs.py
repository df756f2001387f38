"""Variants of task 3.4, draft_inputs: what goes into the drafter, and which positions predict."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np

from dspark_mini.inputs import drafter_mode, whole_number
from grader.lessons.mutants import right, wrong

TASK = "3.4"
Layout = tuple[list[int], list[int]]


def given(anchor_token: Any, mask_token: Any, block_size: Any, layout: Any) -> tuple[int, int, int, int]:
    """Check the arguments as the stub does; return tokens, γ, and the first position that predicts."""
    anchor = whole_number("anchor_token", anchor_token, low=0)
    mask = whole_number("mask_token", mask_token, low=0)
    size = whole_number("block_size", block_size, low=1)
    return anchor, mask, size, int(drafter_mode("layout", layout) == "dflash")


def lay_out(anchor: int, mask: int, size: int, first: int) -> Layout:
    return [anchor] + [mask] * (size - 1 + first), list(range(first, first + size))


# --- Wrong: one layout for both -----------------------------------------------------------------------------


@wrong(TASK, "dspark_inputs", "Both drafters want the anchor and γ masks.")
def gamma_masks_for_both(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    return [anchor] + [mask] * size, list(range(first, first + size))


@wrong(TASK, "dflash_inputs", "A block has γ inputs, whatever the layout.")
def gamma_inputs_for_both(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    return [anchor] + [mask] * (size - 1), list(range(first, first + size))


@wrong(TASK, "dspark_positions", "The anchor never predicts, so position 0 is left out.")
def masks_predict_in_both(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    return [anchor] + [mask] * (size - 1 + first), list(range(1, size + first))


@wrong(TASK, "dspark_positions", "The rows are read one late, as many as there are wanted.")
def one_row_late(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    return [anchor] + [mask] * (size - 1 + first), list(range(1, size + 1))


@wrong(TASK, "dflash_positions", "The first γ rows predict in both layouts.")
def first_rows_predict(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    return [anchor] + [mask] * (size - 1 + first), list(range(size))


@wrong(TASK, "dflash_positions", "Every input position of DFlash predicts, the anchor's too.")
def all_rows_predict(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    ids = [anchor] + [mask] * (size - 1 + first)
    return ids, list(range(len(ids)))


@wrong(TASK, "dflash_inputs", "The two layouts go by each other's name.")
def layouts_swapped(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    return lay_out(anchor, mask, size, 1 - first)


@wrong(TASK, "dflash_inputs", "block_size counts the anchor, as in some training code.")
def block_size_with_anchor(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    return lay_out(anchor, mask, size - first or 1, first)


@wrong(TASK, "dspark_inputs", "The anchor comes behind the masks, next to what it continues.")
def anchor_last(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    ids, positions = lay_out(*given(anchor_token, mask_token, block_size, layout))
    return ids[::-1], positions


@wrong(TASK, "dspark_inputs", "Masks only: the anchor is in the cache already.")
def masks_only(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    _, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    return [mask] * (size + first), list(range(first, first + size))


@wrong(TASK, "dflash_positions", "Positions count from the anchor, which is position 1.")
def positions_from_one(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    ids, positions = lay_out(*given(anchor_token, mask_token, block_size, layout))
    return ids, [position + 1 for position in positions]


@wrong(TASK, "dflash_positions", "Only the last position of the block predicts.")
def last_position_only(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    ids, positions = lay_out(*given(anchor_token, mask_token, block_size, layout))
    return ids, positions[-1:]


# --- Wrong: edges and manners ---------------------------------------------------------------------------------


@wrong(TASK, "block_of_one", "There is at least one mask, or there would be nothing to fill in.")
def at_least_one_mask(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    return [anchor] + [mask] * max(1, size - 1 + first), list(range(first, first + size))


@wrong(TASK, "any_tokens", "The positions that predict are those where the mask stands.")
def positions_of_the_mask(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    ids = [anchor] + [mask] * (size - 1 + first)
    return ids, [k for k, token in enumerate(ids) if token == mask or (first == 0 and k == 0)]


@wrong(TASK, "any_tokens", "Token 0 is no token.")
def token_zero_left_out(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    ids, positions = lay_out(*given(anchor_token, mask_token, block_size, layout))
    return [token for token in ids if token], positions


@wrong(TASK, "plain_types", "A range is a list of ints.")
def positions_in_a_range(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    ids, positions = lay_out(*given(anchor_token, mask_token, block_size, layout))
    return ids, np.array(positions)


@wrong(TASK, "plain_types", "A NumPy integer is an int.")
def numpy_integers(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    ids, positions = lay_out(*given(anchor_token, mask_token, block_size, layout))
    return list(np.array(ids)), list(np.array(positions))


@wrong(TASK, "no_memory", "The list of masks can be kept for the next block.")
def masks_kept(
    anchor_token: int,
    mask_token: int,
    block_size: int,
    layout: str,
    kept: list[int] = [],  # noqa: B006
) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    kept.extend([mask] * (size - 1 + first - len(kept)))
    return [anchor, *kept], list(range(first, first + size))


@wrong(TASK, "bad_input_raises", "Whatever is not 'dflash' is DSpark.")
def any_other_name_is_dspark(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, _ = given(anchor_token, mask_token, block_size, "dspark")
    return lay_out(anchor, mask, size, int(layout == "dflash"))


@wrong(TASK, "bad_input_raises", "Names are the same in small and large letters.")
def names_in_any_case(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    return lay_out(*given(anchor_token, mask_token, block_size, layout.lower()))


@wrong(TASK, "bad_input_raises", "A block without positions needs the anchor only.")
def empty_block_allowed(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    if block_size < 1:
        return [anchor_token], []
    return lay_out(*given(anchor_token, mask_token, block_size, layout))


@wrong(TASK, "error_names_offender", "It is enough to say that the layout is impossible.")
def impossible_block(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    try:
        return lay_out(*given(anchor_token, mask_token, block_size, layout))
    except ValueError:
        raise ValueError("There is no such block.") from None


# --- Right, in other styles --------------------------------------------------------------------------------------


@right(TASK, "Two branches, everything written out.")
def two_branches(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, _ = given(anchor_token, mask_token, block_size, layout)
    if layout == "dspark":
        ids = [anchor]
        for _ in range(size - 1):
            ids.append(mask)
        return ids, [k for k in range(size)]
    ids = [anchor]
    for _ in range(size):
        ids.append(mask)
    return ids, [k + 1 for k in range(size)]


@right(TASK, "The longer layout is made first and cut.")
def longer_one_cut(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    ids = [anchor, *itertools.repeat(mask, size)][: size + first]
    return ids, list(range(len(ids)))[-size:]


@right(TASK, "NumPy makes both, and tolist makes them plain; the pair is a list.")
def numpy_made_plain(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    anchor, mask, size, first = given(anchor_token, mask_token, block_size, layout)
    ids = np.full(size + first, mask)
    ids[0] = anchor
    return [ids.tolist(), (np.arange(size) + first).tolist()]


@right(TASK, "A table of layouts, its own checks, and a print.")
def table_of_layouts(anchor_token: int, mask_token: int, block_size: int, layout: str) -> Any:
    masks = {"dflash": lambda gamma: gamma, "dspark": lambda gamma: gamma - 1}
    if layout not in masks:
        raise ValueError(f"The layout {layout!r} is unknown.")
    if block_size < 1:
        raise ValueError(f"A block_size of {block_size} is too small.")
    count = masks[layout](block_size)
    print("masks:", count, file=sys.stderr)
    return [anchor_token] + count * [mask_token], list(range(count + 1 - block_size, count + 1))
