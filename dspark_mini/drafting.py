"""Parallel drafting: how a block reads the target's features, and how its base logits become draft tokens.

A drafter such as DFlash or DSpark runs once for γ positions and returns their base logits U_1..U_γ. DFlash
takes each position's own argmax; DSpark adds a transition bias that depends on the token chosen just before.
"""

from __future__ import annotations

import numpy as np

from dspark_mini.contracts import bias_rows, integer, logits, numbers, takes, token


@takes(block_logits=logits("γ", "V"))
def dflash_parallel_candidates(block_logits):
    """Draft a block as DFlash does: every position takes its own best token, the lowest id of equal ones.

    Args:
        block_logits: (γ, V) base logits; −inf marks a token that cannot be drafted.

    Returns:
        γ token ids.

    Example:
        [[.1, .8, .1], [.6, .2, .2], [.1, .2, .7]]  →  [1, 0, 2]

    Source: DFlash (arXiv 2602.06036): one forward predicts the whole block.
    """
    ### BEGIN SOLUTION
    return block_logits.argmax(axis=1).tolist()
    ### END SOLUTION


@takes(block_logits=logits("γ", "V"), anchor_token=token(), markov_bias=bias_rows("V"))
def dspark_markov_candidates(block_logits, anchor_token, markov_bias):
    """Draft a block as DSpark does: parallel logits, each position corrected by the token before it.

    Args:
        block_logits: (γ, V) base logits U; −inf marks a token that cannot be drafted.
        anchor_token: x_0, the last committed token; it may lie outside the block's vocabulary.
        markov_bias: markov_bias[token] is the bias B[token] (V,), zeros for a token without one.

    Returns:
        γ token ids; of equal sums the lowest id wins.

    Example:
        U = [[.4, .6], [.7, .3], [.6, .4]], anchor 9, B = {9: [.4, 0], 0: [0, .6], 1: [.5, 0]}
        →  [0, 1, 0]

    Source: DSpark (arXiv 2607.05147): semi-autoregressive generation, the Markov head.
    """
    ### BEGIN SOLUTION
    tokens = [anchor_token]
    for row in block_logits:  # (V,)
        tokens.append(int((row + markov_bias[tokens[-1]]).argmax()))
    return tokens[1:]
    ### END SOLUTION


@takes(
    queries=numbers("n", "d"),
    block_keys=numbers("n", "d"),
    block_values=numbers("n", "d"),
    context_keys=numbers("C", "d", empty=True),
    context_values=numbers("C", "d", empty=True),
    anchor_position=integer(high="C"),
)
def block_attention(queries, block_keys, block_values, context_keys, context_values, anchor_position):
    """Attend as a DFlash drafter does: a block reads the target's features before its anchor, and itself.

    Args:
        queries: (n, d), one row per position of the block.
        block_keys, block_values: (n, d), of the block's own rows.
        context_keys, context_values: (C, d), of the target's fused features at positions 0..C − 1.
        anchor_position: Position of the anchor in the text, 0 to C; its features are not known yet.

    Returns:
        Array (n, d): one mix of values per query.

    Example:
        queries [[0]], block_keys [[0]], block_values [[4]], context_keys [[0], [0]],
        context_values [[2], [9]], anchor_position 1  →  [[3.0]]

    Source: DFlash (arXiv 2602.06036): KV injection.
    """
    ### BEGIN SOLUTION
    # "...": the small model stacks its attention heads in front of (n, d)
    keys = np.concatenate([context_keys[..., :anchor_position, :], block_keys], axis=-2)  # (anchor_position + n, d)
    values = np.concatenate([context_values[..., :anchor_position, :], block_values], axis=-2)
    scores = queries @ keys.swapaxes(-1, -2) / queries.shape[-1] ** 0.5  # (n, anchor_position + n)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ values
    ### END SOLUTION
