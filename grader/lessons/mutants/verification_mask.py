"""Variants of task 1.5: what learners write for verification_mask, wrong and right."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import whole_number
from grader.lessons.mutants import right, wrong

TASK = "1.5"
Mask = NDArray[np.bool_]


def _read(context_length: Any, draft_length: Any) -> tuple[int, int]:
    """Check the arguments as the top of the stub does."""
    return whole_number("context_length", context_length, low=0), whole_number("draft_length", draft_length, low=0)


def _causal(n: int) -> Mask:
    """Return the lower triangle of True."""
    return np.tri(n, dtype=bool)


# --- Wrong: between drafts ---------------------------------------------------------------------------


@wrong(TASK, "draft_sees_earlier_and_itself", "A draft is what is to be judged, so it must not see itself.")
def draft_blind_for_itself(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    drafts = np.arange(context, context + draft)
    mask[drafts, drafts] = False
    return mask


@wrong(TASK, "draft_sees_earlier_and_itself", "A block is drafted at once, so it sees itself in both directions.")
def both_directions_in_draft(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    mask[context:, context:] = True
    return mask


@wrong(TASK, "draft_sees_earlier_and_itself", "Drafts are independent of each other, so each sees itself alone.")
def drafts_do_not_see_each_other(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    mask[context:, context:] = np.eye(draft, dtype=bool)
    return mask


@wrong(TASK, "draft_sees_earlier_and_itself", "A draft depends on the one before it, as a Markov head does.")
def previous_draft_only(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    mask[context:, context:] = np.eye(draft, dtype=bool) | np.eye(draft, k=-1, dtype=bool)
    return mask


@wrong(TASK, "draft_sees_earlier_and_itself", "Drafts are only guesses, so nobody sees them, not even themselves.")
def drafts_unseen(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    mask[:, context:] = False
    return mask


@wrong(TASK, "draft_sees_earlier_and_itself", "np.triu is the causal triangle.")
def upper_triangle(context_length: int, draft_length: int) -> Mask:
    return _causal(sum(_read(context_length, draft_length))).T


@wrong(TASK, "draft_sees_earlier_and_itself", "True marks what is masked.")
def true_means_masked(context_length: int, draft_length: int) -> Mask:
    return ~_causal(sum(_read(context_length, draft_length)))


@wrong(TASK, "draft_sees_earlier_and_itself", "The triangle with k = 1 has the diagonal in it.")
def one_diagonal_too_many(context_length: int, draft_length: int) -> Mask:
    n = sum(_read(context_length, draft_length))
    return np.tri(n, k=1, dtype=bool)


@wrong(TASK, "draft_sees_earlier_and_itself", "Only the drafts have rows, as the context is in the cache.")
def draft_rows_only(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    return _causal(context + draft)[context:]


# --- Wrong: the context ------------------------------------------------------------------------------


@wrong(TASK, "context_is_causal", "The context is known, so it may see itself in both directions.")
def context_in_both_directions(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    mask[:context, :context] = True
    return mask


@wrong(TASK, "context_is_causal", "The anchor looks ahead to the drafts, since it has to predict them.")
def anchor_sees_drafts(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    if context:
        mask[context - 1, context:] = True
    return mask


@wrong(TASK, "context_is_causal", "Rows of the context are not used, so they may stay empty.")
def context_rows_empty(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    mask[:context] = False
    return mask


@wrong(TASK, "context_is_causal", "A context token does not see itself.")
def context_blind_for_itself(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    mask[np.arange(context), np.arange(context)] = False
    return mask


@wrong(TASK, "context_is_causal", "The drafts come first, because the mask is about them.")
def drafts_before_context(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    order = np.concatenate([np.arange(context, context + draft), np.arange(context)])
    mask: Mask = _causal(context + draft)[np.ix_(order, order)]
    return mask


@wrong(TASK, "context_is_causal", "A table of the examples' masks is a solution.")
def masks_by_heart(context_length: int, draft_length: int) -> Mask:
    n = sum(_read(context_length, draft_length))
    return _causal(n) if n <= 3 or (context_length, draft_length) == (2, 2) else np.ones((n, n), dtype=bool)


@wrong(TASK, "draft_sees_whole_context", "A draft sees the context before the anchor, as in training.")
def anchor_hidden(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    mask[context:, max(context - 1, 0) : context] = False
    return mask


@wrong(TASK, "draft_sees_whole_context", "A later draft sees one context token less, for its window moves on.")
def sliding_context(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    for k in range(draft):
        mask[context + k, : min(k, context)] = False
    return mask


@wrong(TASK, "draft_sees_whole_context", "The first draft reads the context; the others read it through the first.")
def context_for_first_draft_only(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    mask[context + 1 :, :context] = False
    return mask


@wrong(TASK, "no_context", "Without context there is nothing to verify against.")
def context_required(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    if context == 0:
        raise ValueError("context_length must be at least 1.")
    return _causal(context + draft)


@wrong(TASK, "no_context", "A slice up to −0 leaves out nothing.")
def slice_from_the_end(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = _causal(context + draft)
    mask[: -draft or None, :] = np.tri(context, context + draft, dtype=bool) if context else True
    return mask if context else np.ones_like(mask)


# --- Wrong: types, memory, bad input -----------------------------------------------------------------


@wrong(TASK, "plain_types", "A mask is what is added to the scores: 0 where a row may look and −inf elsewhere.")
def additive_mask(context_length: int, draft_length: int) -> NDArray[np.float64]:
    return np.where(_causal(sum(_read(context_length, draft_length))), 0.0, -np.inf)


@wrong(TASK, "plain_types", "1.0 and 0.0 are as good as True and False.")
def ones_and_zeros(context_length: int, draft_length: int) -> NDArray[np.float64]:
    return np.tri(sum(_read(context_length, draft_length)))


@wrong(TASK, "plain_types", "A list of lists passes for an array.")
def mask_as_lists(context_length: int, draft_length: int) -> list[list[bool]]:
    rows: list[list[bool]] = _causal(sum(_read(context_length, draft_length))).tolist()
    return rows


_SIZES = [0]


@wrong(TASK, "no_memory", "The context only grows, so its largest length is kept.")
def largest_context_kept(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    _SIZES[0] = max(_SIZES[0], context)
    return _causal(_SIZES[0] + draft)


@wrong(TASK, "bad_input_raises", "A negative length is an empty one.")
def negative_is_empty(context_length: int, draft_length: int) -> Mask:
    return _causal(max(context_length, 0) + max(draft_length, 0))


@wrong(TASK, "error_names_offender", "Whoever reads the error knows which length was wrong.")
def unnamed_error(context_length: int, draft_length: int) -> Mask:
    if min(context_length, draft_length) < 0:
        raise ValueError("A length is negative.")
    return _causal(context_length + draft_length)


# --- Right, in many styles ---------------------------------------------------------------------------


@right(TASK, "np.tri knows this triangle by its name.")
def triangle(context_length: int, draft_length: int) -> Mask:
    return np.tri(sum(_read(context_length, draft_length)), dtype=np.bool_)


@right(TASK, "Two plain loops decide every cell by the three sentences of the task.")
def cell_by_cell(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    mask = np.zeros((context + draft, context + draft), dtype=bool)
    for row in range(context + draft):
        for column in range(context + draft):
            if row < context:
                mask[row, column] = column <= row
            else:
                mask[row, column] = column < context or context <= column <= row
    return mask


@right(TASK, "Four blocks, put together by np.block.")
def four_blocks(context_length: int, draft_length: int) -> Mask:
    context, draft = _read(context_length, draft_length)
    among_context, among_drafts = np.tri(context), np.tri(draft)
    rows = [[among_context, np.zeros((context, draft))], [np.ones((draft, context)), among_drafts]]
    return np.block(rows).astype(bool)


@right(TASK, "Each row is the row before it, and one more: a running or over an identity matrix.")
def accumulated_rows(context_length: int, draft_length: int) -> Mask:
    n = sum(_read(context_length, draft_length))
    rows = list(accumulate(np.eye(n, dtype=bool), np.logical_or))
    return np.array(rows, dtype=bool).reshape(n, n)


@right(TASK, "np.tril of ones, with a print.")
def lower_part_of_ones(context_length: int, draft_length: int) -> Mask:
    print("mask for", context_length, draft_length)
    n = sum(_read(context_length, draft_length))
    return np.tril(np.full((n, n), True))
