"""Variants of task 2.4: what learners write for block_mask, wrong and right."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import whole_number, whole_numbers
from grader.lessons.mutants import right, wrong

Mask = NDArray[np.bool_]
Ints = NDArray[np.int_]


def _read(context_length: Any, anchor_positions: Any, block_length: Any) -> tuple[int, Ints, int]:
    """Check the arguments as the top of the stub does; the anchors become a new array."""
    context = whole_number("context_length", context_length, low=0)
    anchors = np.array(whole_numbers("anchor_positions", anchor_positions, low=0, high=context), dtype=int)
    if anchors.size == 0:
        raise ValueError("anchor_positions is empty.")
    return context, anchors, whole_number("block_length", block_length, low=1)


def _halves(context: int, anchors: Ints, length: int) -> tuple[Mask, Mask]:
    """Return the context half and the block half of the right mask."""
    block = np.repeat(np.arange(anchors.size), length)
    return np.arange(context) < anchors[block][:, None], block[:, None] == block


# --- Wrong: inside a block ---------------------------------------------------------------------------


@wrong("2.4", "both_directions_in_block", "A position may look at earlier positions of its block only.")
def causal_in_block(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    seen, own = _halves(*_read(context_length, anchor_positions, block_length))
    return np.hstack([seen, np.tril(own)])


@wrong("2.4", "both_directions_in_block", "A position does not need to look at itself.")
def diagonal_left_out(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    seen, own = _halves(*_read(context_length, anchor_positions, block_length))
    np.fill_diagonal(own, False)
    return np.hstack([seen, own])


@wrong("2.4", "both_directions_in_block", "The positions of a block are independent, so each sees itself alone.")
def only_itself_in_block(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    seen, own = _halves(*_read(context_length, anchor_positions, block_length))
    return np.hstack([seen, np.eye(len(own), dtype=bool)])


@wrong("2.4", "both_directions_in_block", "All rows of a block are equal, so one row a block is enough.")
def one_row_a_block(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    seen, own = _halves(context, anchors, length)
    return np.hstack([seen, own])[::length]


# --- Wrong: the context ------------------------------------------------------------------------------


@wrong("2.4", "context_before_anchor", "The anchor is known, so its block may look at its features.")
def anchor_itself_visible(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    seen = np.arange(context) <= np.repeat(anchors, length)[:, None]
    return np.hstack([seen, _halves(context, anchors, length)[1]])


@wrong("2.4", "context_before_anchor", "The context is given, so every block sees all of it.")
def context_fully_visible(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    seen, own = _halves(*_read(context_length, anchor_positions, block_length))
    return np.hstack([np.ones_like(seen), own])


@wrong("2.4", "context_before_anchor", "The position just before the anchor belongs to the anchor.")
def one_column_short(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    seen = np.arange(context) < np.repeat(anchors - 1, length)[:, None]
    return np.hstack([seen, _halves(context, anchors, length)[1]])


@wrong("2.4", "both_directions_in_block", "Each further position of the block sees one more position of the context.")
def context_grows_in_block(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    before = (anchors[:, None] + np.arange(length)).ravel()
    return np.hstack([np.arange(context) < before[:, None], _halves(context, anchors, length)[1]])


@wrong("2.4", "context_before_anchor", "An anchor says how many of the latest positions of the context are seen.")
def anchor_counts_from_end(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    seen = np.arange(context) >= context - np.repeat(anchors, length)[:, None]
    return np.hstack([seen, _halves(context, anchors, length)[1]])


@wrong("2.4", "context_before_anchor", "The feature just before the anchor sums up all those before it.")
def only_last_feature(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    seen = np.arange(context) == np.repeat(anchors, length)[:, None] - 1
    return np.hstack([seen, _halves(context, anchors, length)[1]])


@wrong("2.4", "context_before_anchor", "True marks what is masked.")
def true_means_masked(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    return ~np.hstack(_halves(*_read(context_length, anchor_positions, block_length)))


@wrong("2.4", "context_before_anchor", "The columns of the block come first, because the mask is about it.")
def blocks_before_context(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    seen, own = _halves(*_read(context_length, anchor_positions, block_length))
    return np.hstack([own, seen])


@wrong("2.4", "context_before_anchor", "An attention mask is square, so the context has rows too.")
def context_rows_too(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    rows = np.hstack(_halves(context, anchors, length))
    return np.vstack([np.tri(context, rows.shape[1], dtype=bool), rows])


@wrong("2.4", "context_before_anchor", "A table of the examples' masks is a solution.")
def masks_by_heart(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    known = {(2, (1,), 2): [[1, 0, 1, 1], [1, 0, 1, 1]], (3, (2, 0), 1): [[1, 1, 0, 1, 0], [0, 0, 0, 0, 1]]}
    shape = (anchors.size * length, context + anchors.size * length)
    return np.array(known.get((context, tuple(anchors.tolist()), length), np.ones(shape)), dtype=bool)


@wrong("2.4", "edges_of_the_context", "Without context there is nothing to draft from.")
def context_required(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    if context_length == 0:
        raise ValueError("context_length must be at least 1.")
    return np.hstack(_halves(*_read(context_length, anchor_positions, block_length)))


@wrong("2.4", "edges_of_the_context", "An anchor of 0 means that no anchor is set, so the whole context is seen.")
def anchor_zero_is_none(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    before = np.array([anchor or context for anchor in anchors.tolist()])
    seen = np.arange(context) < np.repeat(before, length)[:, None]
    return np.hstack([seen, _halves(context, anchors, length)[1]])


@wrong("2.4", "edges_of_the_context", "A slice that leaves out the last 0 columns leaves out none.")
def slice_from_the_end(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    seen, own = _halves(context, anchors, length)
    seen[:] = False
    for row, anchor in enumerate(np.repeat(anchors, length).tolist()):
        seen[row, : -(context - anchor)] = True
    return np.hstack([seen, own])


@wrong("2.4", "edges_of_the_context", "The last anchor that makes sense is the last position of the context.")
def last_anchor_refused(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    for position, anchor in enumerate(anchors.tolist()):
        if anchor >= max(context, 1):
            raise ValueError(f"anchor_positions[{position}] lies behind the context.")
    return np.hstack(_halves(context, anchors, length))


# --- Wrong: between blocks ---------------------------------------------------------------------------


@wrong("2.4", "blocks_do_not_mix", "Blocks in one forward share a mask, so all of them see each other.")
def blocks_see_each_other(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    seen, own = _halves(*_read(context_length, anchor_positions, block_length))
    return np.hstack([seen, np.ones_like(own)])


@wrong("2.4", "blocks_do_not_mix", "A block continues the block before it, so it sees the earlier blocks.")
def earlier_blocks_visible(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    block = np.repeat(np.arange(anchors.size), length)
    return np.hstack([_halves(context, anchors, length)[0], block[:, None] >= block])


@wrong("2.4", "blocks_do_not_mix", "One anchor, the first, holds for all the blocks of a forward.")
def first_anchor_for_all(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    seen, own = _halves(context, anchors, length)
    return np.hstack([np.zeros_like(seen) | (np.arange(context) < anchors[0]), own])


@wrong("2.4", "blocks_do_not_mix", "What one block of the forward may see, the others may see as well.")
def largest_anchor_for_all(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    seen, own = _halves(*_read(context_length, anchor_positions, block_length))
    return np.hstack([np.zeros_like(seen) | seen.any(axis=0), own])


@wrong("2.4", "blocks_do_not_mix", "An anchor is an offset from the anchor before it.")
def anchors_as_offsets(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    seen = np.arange(context) < np.repeat(np.cumsum(anchors), length)[:, None]
    return np.hstack([seen, _halves(context, anchors, length)[1]])


@wrong("2.4", "blocks_do_not_mix", "Rows of a packed forward go round the blocks: first rows first, then second rows.")
def rows_interleaved(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    block = np.tile(np.arange(anchors.size), length)
    return np.hstack([np.arange(context) < anchors[block][:, None], block[:, None] == block])


@wrong("2.4", "blocks_do_not_mix", "The context half goes round the blocks row by row, while the block half does not.")
def anchors_tiled(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    seen = np.arange(context) < np.tile(anchors, length)[:, None]
    return np.hstack([seen, _halves(context, anchors, length)[1]])


@wrong("2.4", "blocks_in_given_order", "Blocks stand in the order of the text, so the anchors are sorted first.")
def anchors_sorted(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    return np.hstack(_halves(context, np.sort(anchors), length))


@wrong("2.4", "blocks_in_given_order", "Rows with the same anchor belong to the same block.")
def equal_anchors_joined(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    of_row = np.repeat(anchors, length)
    return np.hstack([np.arange(context) < of_row[:, None], of_row[:, None] == of_row])


@wrong("2.4", "blocks_in_given_order", "A repeated anchor is a mistake that is silently removed.")
def repeated_anchors_dropped(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    return np.hstack(_halves(context, np.array(list(dict.fromkeys(anchors.tolist()))), length))


# --- Wrong: types, forms of the arguments, memory ----------------------------------------------------


@wrong("2.4", "plain_types", "A mask is what is added to the scores: 0 where a row may look and −inf elsewhere.")
def additive_mask(context_length: int, anchor_positions: Any, block_length: int) -> NDArray[np.float64]:
    mask = np.hstack(_halves(*_read(context_length, anchor_positions, block_length)))
    return np.where(mask, 0.0, -np.inf)


@wrong("2.4", "plain_types", "1 and 0 are as good as True and False.")
def ones_and_zeros(context_length: int, anchor_positions: Any, block_length: int) -> Ints:
    return np.hstack(_halves(*_read(context_length, anchor_positions, block_length))).astype(int)


@wrong("2.4", "plain_types", "A list of lists passes for an array.")
def mask_as_lists(context_length: int, anchor_positions: Any, block_length: int) -> list[list[bool]]:
    rows: list[list[bool]] = np.hstack(_halves(*_read(context_length, anchor_positions, block_length))).tolist()
    return rows


@wrong("2.4", "plain_types", "What is filled with True and False is an array of booleans.")
def bools_in_a_float_array(context_length: int, anchor_positions: Any, block_length: int) -> NDArray[np.float64]:
    seen, own = _halves(*_read(context_length, anchor_positions, block_length))
    mask = np.zeros((len(own), seen.shape[1] + len(own)))
    mask[:, : seen.shape[1]], mask[:, seen.shape[1] :] = seen, own
    return mask


@wrong("2.4", "lists_and_arrays", "Anchors come as an array that can be indexed with None.")
def only_array_anchors(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    seen = (np.arange(context) < anchor_positions[:, None]).repeat(length, axis=0)
    return np.hstack([seen, _halves(context, anchors, length)[1]])


@wrong("2.4", "lists_and_arrays", "An argument without entries is false, and any other is true.")
def truth_of_anchors(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    if not anchor_positions:
        raise ValueError("anchor_positions is empty.")
    return np.hstack(_halves(*_read(context_length, anchor_positions, block_length)))


_BUFFER = np.zeros((512, 768), dtype=bool)


@wrong("2.4", "no_memory", "One mask that is made once and written again and again saves time.")
def mask_never_cleared(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    mask = _BUFFER[: anchors.size * length, : context + anchors.size * length]
    for j, anchor in enumerate(anchors.tolist()):
        mask[j * length : (j + 1) * length, :anchor] = True
        mask[j * length : (j + 1) * length, context + j * length : context + (j + 1) * length] = True
    return mask


@wrong("2.4", "input_unchanged", "Anchors may be turned into the last visible columns where they stand.")
def anchors_moved_in_place(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    for j in range(len(anchor_positions)):
        anchor_positions[j] -= 1
    seen = np.arange(context) <= np.repeat(np.asarray(anchor_positions), length)[:, None]
    return np.hstack([seen, _halves(context, anchors, length)[1]])


# --- Wrong: bad input --------------------------------------------------------------------------------


@wrong("2.4", "bad_input_raises", "An anchor behind the context means the end of the context.")
def late_anchors_clipped(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    early = [min(int(anchor), context_length) for anchor in anchor_positions]
    return np.hstack(_halves(*_read(context_length, early, block_length)))


@wrong("2.4", "bad_input_raises", "A negative anchor counts from the end, as an index does.")
def negative_anchors_wrap(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    wrapped = [int(anchor) % (context_length + 1) if anchor < 0 else int(anchor) for anchor in anchor_positions]
    return np.hstack(_halves(*_read(context_length, wrapped, block_length)))


@wrong("2.4", "bad_input_raises", "Without anchors the mask has no rows.")
def no_anchors_no_rows(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    if len(anchor_positions) == 0:
        return np.zeros((0, context_length), dtype=bool)
    return np.hstack(_halves(*_read(context_length, anchor_positions, block_length)))


@wrong("2.4", "bad_input_raises", "A block of no length is an empty block.")
def empty_blocks_allowed(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, _ = _read(context_length, anchor_positions, 1)
    return np.hstack(_halves(context, anchors, max(block_length, 0)))


@wrong("2.4", "bad_input_raises", "A position outside the context is an IndexError, as it is for a list.")
def index_error_for_anchors(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    for position, anchor in enumerate(anchor_positions):
        if not 0 <= anchor <= context_length:
            raise IndexError(f"anchor_positions[{position}] lies outside the context.")
    return np.hstack(_halves(*_read(context_length, anchor_positions, block_length)))


@wrong("2.4", "error_names_offender", "It is enough to say that some anchor lies outside the context.")
def some_anchor_outside(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    if len(anchor_positions) and not 0 <= min(anchor_positions) <= max(anchor_positions) <= context_length:
        raise ValueError("anchor_positions must lie inside the context.")
    return np.hstack(_halves(*_read(context_length, anchor_positions, block_length)))


@wrong("2.4", "error_names_offender", "People count from one, so the message does too.")
def anchor_counted_from_one(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    for position, anchor in enumerate(anchor_positions, start=1):
        if not 0 <= anchor <= context_length:
            raise ValueError(f"anchor_positions[{position}] lies outside the context.")
    return np.hstack(_halves(*_read(context_length, anchor_positions, block_length)))


# --- Right, in many styles ---------------------------------------------------------------------------


@right("2.4", "Two plain loops over rows and columns decide every cell on its own.")
def cell_by_cell(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    rows = anchors.size * length
    mask = np.full((rows, context + rows), False)
    for row in range(rows):
        for column in range(context + rows):
            if column < context:
                mask[row, column] = column < anchors[row // length]
            else:
                mask[row, column] = (column - context) // length == row // length
    return mask


@right("2.4", "A nested comprehension makes lists, and NumPy an array of them.")
def nested_comprehension(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    count = range(len(anchors))
    return np.array(
        [
            [c < anchors[j] for c in range(context)] + [i == j for i in count for _ in range(length)]
            for j in count
            for _ in range(length)
        ],
        dtype=np.bool_,
    )


@right("2.4", "np.kron blows an identity matrix up to the block half and the anchors up to the context half.")
def kronecker_products(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    own = np.kron(np.eye(anchors.size, dtype=int), np.ones((length, length), dtype=int))
    last = np.kron(anchors, np.ones(length, dtype=int)).reshape(-1, 1)
    return np.concatenate((np.arange(context) < last, own == 1), axis=1)


@right("2.4", "np.block puts one tile a pair of blocks together.")
def tiles_put_together(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    tile = np.ones((length, length), dtype=bool)
    rows = [
        [np.tile(np.arange(context) < anchor, (length, 1)), *(tile if i == j else ~tile for i in range(anchors.size))]
        for j, anchor in enumerate(anchors)
    ]
    return np.block(rows).astype(bool)


@right("2.4", "The rules are outer comparisons of index vectors, joined by logical or over all columns.")
def outer_comparisons(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    block_of_row = np.arange(anchors.size * length) // length
    block_of_column = np.concatenate([np.full(context, -1), block_of_row])
    position = np.concatenate([np.arange(context), np.full(block_of_row.size, context + 1)])
    mask: Mask = np.equal.outer(block_of_row, block_of_column) | np.greater.outer(anchors[block_of_row], position)
    return mask


@right("2.4", "Slices of a matrix of False are set to True, block by block.")
def slices_set_to_true(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    mask = np.zeros((anchors.size * length, context + anchors.size * length), dtype=bool)
    for j, anchor in enumerate(anchors):
        rows = slice(j * length, (j + 1) * length)
        mask[rows, :anchor] = True
        mask[rows, context:][:, rows] = True
    return mask


@right("2.4", "It is computed with axes for block and position, and reshaped at the end.")
def four_axes(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    count = anchors.size
    seen = np.broadcast_to((np.arange(context) < anchors[:, None])[:, None, :], (count, length, context))
    own = np.broadcast_to(np.eye(count, dtype=bool)[:, None, :, None], (count, length, count, length))
    rows = count * length
    return np.concatenate([seen.reshape(rows, context), own.reshape(rows, rows)], axis=-1)


@right("2.4", "np.searchsorted numbers the blocks of rows and columns by where they start.")
def starts_searched(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    columns = np.arange(context + anchors.size * length)
    starts = context + length * np.arange(anchors.size)
    block = np.searchsorted(starts, columns, side="right") - 1
    own = block[context:, None]
    return np.where(columns < context, columns < anchors[own], block == own)


@right("2.4", "One-hot membership vectors are multiplied, and positive products are True.")
def membership_product(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    member = np.zeros((anchors.size * length, anchors.size))
    member[np.arange(len(member)), np.arange(len(member)) // length] = 1.0
    before = np.tri(context + 1, context, -1)[anchors]
    return np.hstack((member @ before, member @ member.T)) > 0.5


@right("2.4", "The mask grows by recursion over the blocks, and every step is printed to stderr.")
def grown_block_by_block(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, anchors, length = _read(context_length, anchor_positions, block_length)
    print(f"{anchors.size} blocks left", file=sys.stderr)
    seen = np.repeat(np.arange(context)[None] < anchors[-1], length, axis=0)
    if anchors.size == 1:
        return np.hstack([seen, np.ones((length, length), dtype=bool)])
    before = grown_block_by_block(context, anchors[:-1], length)
    gap = np.zeros((len(before), length), dtype=bool)
    return np.block([[before, gap], [seen, gap.T, np.ones((length, length), dtype=bool)]])


@right("2.4", "It checks its arguments in its own words and works on Python integers as rows of bits.")
def rows_of_bits(context_length: int, anchor_positions: Any, block_length: int) -> Mask:
    context, length, anchors = int(context_length), int(block_length), [int(anchor) for anchor in anchor_positions]
    if context < 0 or length < 1 or not anchors:
        raise ValueError(f"Impossible: context_length {context}, block_length {length}, anchor_positions {anchors}")
    for index, anchor in enumerate(anchors):
        if anchor < 0 or anchor > context:
            raise ValueError(f"Anchor number {index} (counted from zero) of anchor_positions is {anchor}.")
    full, width = (1 << length) - 1, context + len(anchors) * length
    bits = [((1 << anchor) - 1) | full << (context + j * length) for j, anchor in enumerate(anchors)]
    return np.array([[row >> c & 1 == 1 for c in range(width)] for row in bits for _ in range(length)])
