"""Sequential heads: what is added to the parallel base logits, and which rows of the block predict.

The Markov head is a table of biases kept as two thin matrices; the RNN head also remembers what
came earlier in the block. Sampling returns the tokens and the rows that they were drawn from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspark_mini.contracts import generator, integer, logits, numbers, one_of, takes, temperature, token


@takes(w1=numbers("V", "r"), w2=numbers("r", "V"), token=token(below="V"))
def low_rank_bias(w1, w2, token):
    """Look up the transition bias of one token in a table that is kept as two thin matrices.

    Args:
        w1: (V, r), one row per token before.
        w2: (r, V), one column per token that follows.
        token: The token just before, 0 to V − 1.

    Returns:
        The bias (V,) that is added to the logits of the next position.

    Example:
        w1 = [[2], [3]], w2 = [[1, 10]], token 1  →  [3, 30]

    Source: DSpark (arXiv 2607.05147): the Markov head, B(x, ·) = W1[x] W2.
    """
    ### BEGIN SOLUTION
    return w1[token] @ w2
    ### END SOLUTION


@takes(
    base_logits=logits("γ", "V"),
    anchor_token=token(below="V"),
    w1=numbers("V", "r"),
    w2=numbers("r", "V"),
    rng=generator(),
    temperature=temperature(),
)
def sample_markov_block(base_logits, anchor_token, w1, w2, rng, temperature=1.0):
    """Draw a block along the Markov chain, and keep the very rows that its tokens were drawn from.

    Args:
        base_logits: (γ, V) base logits U; −inf marks a token that cannot be drafted.
        anchor_token: x_0, the last committed token, 0 to V − 1.
        w1, w2: (V, r) and (r, V), the low-rank head.
        rng: The only source of chance.
        temperature: At 0 each position takes its best token, the lowest id of equals, and its row is one-hot.

    Returns:
        γ tokens, and the rows q (γ, V): token k was drawn from row k.

    Example:
        base_logits [[0, 2], [0, 1]], anchor 0, w1 = [[1], [-1]], w2 = [[3, 0]], temperature 0
        →  [0, 0] and [[1, 0], [1, 0]]

    Source: DSpark (arXiv 2607.05147): semi-autoregressive generation; Leviathan et al. 2023: q.
    """
    ### BEGIN SOLUTION
    tokens, rows = [anchor_token], []
    for row in base_logits:  # (V,)
        corrected = row + w1[tokens[-1]] @ w2  # (V,)
        if temperature == 0:
            weights = np.arange(len(row)) == corrected.argmax()
        else:
            weights = np.exp((corrected - corrected.max()) / temperature)
        rows.append(weights / weights.sum())
        tokens.append(int(rng.choice(len(row), p=rows[-1])))
    return tokens[1:], np.array(rows)
    ### END SOLUTION


@takes(
    state=numbers("r"),
    prev_embedding=numbers("r"),
    hidden=numbers("d"),
    w_joint=numbers("2r+d", "3r"),
    w2=numbers("r", "V"),
)
def rnn_head_step(state, prev_embedding, hidden, w_joint, w2):
    """Take one step of the RNN head: from the old state to a new one and to a bias.

    Args:
        state: (r,) the state s after the previous position; zeros at the start of a block.
        prev_embedding: (r,) the row of W1 of the token just before.
        hidden: (d,) h_k, the output of the drafter's last layer at this position.
        w_joint: (2r+d, 3r) rows for state, embedding, hidden; columns for gate, candidate, output.
        w2: (r, V), one column per token that follows.

    Returns:
        The new state (r,) and the bias (V,).

    Example:
        state [8], prev_embedding [0], hidden [0], w_joint all zeros, w2 = [[4, -2]]  →  [4] and [0, 0]

    Source: DSpark (arXiv 2607.05147): the RNN head.
    """
    ### BEGIN SOLUTION
    z = np.concatenate([state, prev_embedding, hidden])  # (2r+d,)
    gate, candidate, output = np.split(z @ w_joint, 3)  # (r,) each
    keep = (1.0 + np.tanh(gate / 2.0)) / 2.0  # σ(gate), in a form that never overflows
    return keep * state + (1.0 - keep) * np.tanh(candidate), np.tanh(output) @ w2
    ### END SOLUTION


@takes(anchor_token=integer(), mask_token=integer(), block_size=integer(low=1), layout=one_of("dflash", "dspark"))
def draft_inputs(anchor_token, mask_token, block_size, layout):
    """Lay out the drafter's input for one block, and say at which positions predictions come out.

    Args:
        anchor_token: x_0, the last committed token.
        mask_token: The token that stands for a position to be predicted.
        block_size: γ, the number of predictions.
        layout: 'dflash' or 'dspark'.

    Returns:
        The input ids, and the γ input positions, in order, whose outputs are the base logits U_1..U_γ.

    Example:
        anchor 7, mask 99, block_size 2, 'dflash'  →  [7, 99, 99] and [1, 2]

    Source: DFlash (arXiv 2602.06036) and DSpark (arXiv 2607.05147): the input block of the drafter.
    """
    ### BEGIN SOLUTION
    first = 1 if layout == "dflash" else 0  # the first input position that predicts
    masks = [mask_token] * (block_size - 1 + first)
    return [anchor_token, *masks], list(range(first, first + block_size))
    ### END SOLUTION


class LowRankHead(Mapping[int, NDArray[np.floating[Any]]]):
    """The transition biases W1 W2 as a mapping from token to row, computed when it is asked for.

    It stands in for a dict of all V rows, as the markov_bias of dspark_markov_candidates: V·V numbers become 2·V·r.
    A token outside the vocabulary has no row: .get returns None for it.

    Args:
        w1: (V, r), one row per token before.
        w2: (r, V). Where both are float32, rows are computed in float32, otherwise in float64.

    Source: DSpark (arXiv 2607.05147): the Markov head.
    """

    def __init__(self, w1: ArrayLike, w2: ArrayLike) -> None:
        sizes: dict[str, int] = {}
        matrices = [numbers("V", "r")("w1", w1, sizes), numbers("r", "V")("w2", w2, sizes)]
        if all(getattr(matrix, "dtype", None) == np.float32 for matrix in (w1, w2)):
            matrices = [np.asarray(matrix) for matrix in (w1, w2)]
        self._w1, self._w2 = matrices

    def __getitem__(self, token: int) -> NDArray[np.floating[Any]]:
        if token not in self:
            raise KeyError(token)
        row: NDArray[np.floating[Any]] = self._w1[token] @ self._w2  # (V,)
        return row

    def __contains__(self, token: object) -> bool:
        return isinstance(token, (int, np.integer)) and 0 <= int(token) < len(self._w1)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self._w1)))

    def __len__(self) -> int:
        return len(self._w1)
