"""Attention masks: who may look at whom. True means: may attend."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspark_mini.contracts import integer, takes
from dspark_mini.inputs import whole_number, whole_numbers


def block_mask(context_length: int, anchor_positions: ArrayLike, block_length: int) -> NDArray[np.bool_]:
    """Build the training mask of DFlash for several blocks packed into one forward.

    A row of block j sees the context strictly before its own anchor position, every position of its own
    block in both directions, and no other block. Columns: the context, then the blocks in the order given.

    Args:
        context_length: number of context positions, at least 0.
        anchor_positions: (A,) one anchor a block, from 0 to context_length, any order, repeats allowed.
        block_length: γ, positions a block, at least 1.

    Returns:
        Boolean array (A·γ, context_length + A·γ), True where the row may attend to the column.

    Raises:
        ValueError: no anchors, an anchor outside 0..context_length, a negative context_length, or
            a block_length below 1.

    Example:
        context_length 2, anchor_positions [1], block_length 2  →  [[1, 0, 1, 1], [1, 0, 1, 1]] as booleans

    Source: DFlash (arXiv 2602.06036): block-diagonal training mask over packed blocks.
    """
    context_length = whole_number("context_length", context_length, low=0)
    positions = whole_numbers("anchor_positions", anchor_positions, low=0, high=context_length)
    anchors = np.array(positions, dtype=int)  # (A,)
    if anchors.size == 0:
        raise ValueError("anchor_positions is empty: it needs at least one anchor.")
    block_length = whole_number("block_length", block_length, low=1)
    ### BEGIN SOLUTION
    block = np.repeat(np.arange(anchors.size), block_length)  # (A·γ,) which block a row belongs to
    context = np.arange(context_length) < anchors[block][:, None]  # (A·γ, context_length)
    own_block = block[:, None] == block  # (A·γ, A·γ)
    return np.hstack([context, own_block])
    ### END SOLUTION


@takes(context_length=integer(), draft_length=integer())
def verification_mask(context_length, draft_length):
    """Build the mask of the target's verification forward: every row sees the tokens up to its own, as in decoding.

    Args:
        context_length: number of context tokens, the anchor x_0 the last of them.
        draft_length: γ, the number of drafted tokens.

    Returns:
        Boolean array (n, n), n = context_length + draft_length, the context first; True where the row may attend
        to the column.

    Example:
        context_length 1, draft_length 2  →  [[1, 0, 0], [1, 1, 0], [1, 1, 1]] as booleans

    Source: Leviathan et al. (arXiv 2211.17192), Section 2: one forward scores all prefixes.
    """
    ### BEGIN SOLUTION
    position = np.arange(context_length + draft_length)  # (n,)
    return position <= position[:, None]
    ### END SOLUTION
