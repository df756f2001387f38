"""Attention masks: who may look at whom. True means: may attend."""

from __future__ import annotations

import numpy as np

from dspark_mini.contracts import integer, integers, takes


@takes(context_length=integer(), anchor_positions=integers("A", high="context_length"), block_length=integer(low=1))
def block_mask(context_length, anchor_positions, block_length):
    """Build the training mask of DFlash for several blocks packed into one forward.

    Args:
        context_length: number of context positions.
        anchor_positions: A anchors, one per block, from 0 to context_length, in any order.
        block_length: γ, positions per block.

    Returns:
        Boolean array (A·γ, context_length + A·γ), True where the row may attend to the column.

    Example:
        context_length 2, anchor_positions [1], block_length 2  →  [[1, 0, 1, 1], [1, 0, 1, 1]] as booleans

    Source: DFlash (arXiv 2602.06036): block-diagonal training mask over packed blocks.
    """
    ### BEGIN SOLUTION
    anchor = np.repeat(anchor_positions, block_length)  # (A·γ,) the anchor of each row's block
    block = np.repeat(np.arange(len(anchor_positions)), block_length)  # (A·γ,) which block a row belongs to
    context = np.arange(context_length) < anchor[:, None]  # (A·γ, context_length)
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
        context_length 1, draft_length 1  →  [[True, False], [True, True]]

    Source: Leviathan et al. (arXiv 2211.17192), Section 2: one forward scores all prefixes.
    """
    ### BEGIN SOLUTION
    position = np.arange(context_length + draft_length)  # (n,)
    return position <= position[:, None]
    ### END SOLUTION
