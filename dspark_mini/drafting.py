"""Parallel drafting: how a block of base logits becomes a block of draft tokens.

A drafter such as DFlash or DSpark runs once for γ positions and returns their base logits U_1..U_γ. DFlash
takes each position's own argmax; DSpark adds a transition bias that depends on the token chosen just before.
"""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from dspark_mini.inputs import bias_mapping, bias_row, check_best, logit_rows, token_id


def dflash_parallel_candidates(block_logits: ArrayLike) -> list[int]:
    """Draft a block as DFlash does: every position takes its own best token.

    No position sees what another one chose. Of equal logits the lowest token id wins.

    Args:
        block_logits: (γ, V) base logits, list or array; −inf marks a token that cannot be drafted.

    Returns:
        γ token ids, plain ints.

    Raises:
        ValueError: an empty block or vocabulary, ragged rows, or a row with NaN, +inf or only −inf; the
            message names block_logits and the row.

    Example:
        [[.1, .8, .1], [.6, .2, .2], [.1, .2, .7]]  →  [1, 0, 2]

    Source: DFlash (arXiv 2602.06036): one forward predicts the whole block.
    """
    logits = logit_rows("block_logits", block_logits)  # (γ, V)
    ### BEGIN SOLUTION
    tokens = []
    for k, row in enumerate(logits):  # (V,)
        best = int(row.argmax())
        check_best(row[best], block_logits=(k, row))
        tokens.append(best)
    return tokens
    ### END SOLUTION


def dspark_markov_candidates(
    block_logits: ArrayLike, anchor_token: int, markov_bias: Mapping[int, ArrayLike]
) -> list[int]:
    """Draft a block as DSpark does: correct each position by the token chosen just before it.

    With previous = anchor_token, position k takes the argmax of U_k + B[previous], and that token is the
    next previous. A token without a row in markov_bias adds nothing. Of equal sums the lowest id wins.

    Args:
        block_logits: (γ, V) base logits U, list or array; −inf marks a token that cannot be drafted.
        anchor_token: x_0, the last committed token; it may lie outside the block's vocabulary.
        markov_bias: token → (V,) bias B[token]; only the rows that the chain meets are looked at.

    Returns:
        γ token ids, plain ints.

    Raises:
        ValueError: block_logits as in task 2.1, or a bias row in use that has another length than V or
            holds NaN, +inf or only −inf; the message names markov_bias and the token of that row.

    Example:
        U = [[.4, .6], [.7, .3], [.6, .4]], anchor 9, B = {9: [.4, 0], 0: [0, .6], 1: [.5, 0]}
        →  [0, 1, 0]

    Source: DSpark (arXiv 2607.05147): semi-autoregressive generation, the Markov head.
    """
    logits = logit_rows("block_logits", block_logits)  # (γ, V)
    previous = token_id("anchor_token", anchor_token)
    biases = bias_mapping("markov_bias", markov_bias)
    ### BEGIN SOLUTION
    tokens = []
    for k, row in enumerate(logits):  # (V,)
        bias = bias_row("markov_bias", previous, biases.get(previous), row.size)
        corrected = row if bias is None else row + bias
        best = int(corrected.argmax())
        check_best(corrected[best], block_logits=(k, row), markov_bias=(previous, bias))
        tokens.append(best)
        previous = best
    return tokens
    ### END SOLUTION
