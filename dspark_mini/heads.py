"""Sequential heads: what is added to the parallel base logits, and which rows of the block predict.

The Markov head is a table of biases kept as two thin matrices; the RNN head also remembers what
came earlier in the block. Sampling returns the tokens and the rows that they were drawn from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import (
    checked_logits,
    drafter_mode,
    lookup_table,
    number,
    table_row,
    token_in,
    weight_matrix,
    weight_vector,
    whole_number,
)


def low_rank_bias(w1: ArrayLike, w2: ArrayLike, token: int) -> NDArray[np.float64]:
    """Look up the transition bias of one token in a table that is kept as two thin matrices.

    Row `token` of the table W1 W2 is row `token` of W1, times W2. No other row of W1 is looked at.

    Args:
        w1: (V, r) one row a token, r numbers each.
        w2: (r, V) what each of the r numbers adds to the logits of the V tokens.
        token: the token just before, 0 to V − 1.

    Returns:
        (V,) bias that is added to the logits of the next position, float64.

    Raises:
        ValueError: matrices whose shapes do not fit, a token outside the vocabulary, or NaN or an
            infinite number in w2 or in the used row of w1.

    Example:
        w1 = [[1, 0], [0, 2], [1, 1]], w2 = [[1, 2, 3], [0, 1, 0]], token 1  →  [0, 2, 0]

    Source: DSpark (arXiv 2607.05147): the Markov head, B(x, ·) = W1[x] W2.
    """
    w1 = lookup_table("w1", w1)  # (V, r)
    w2 = weight_matrix("w2", w2, rows=w1.shape[1], columns=w1.shape[0])  # (r, V)
    token = token_in("token", token, len(w1))
    ### BEGIN SOLUTION
    return table_row("w1", w1, token) @ w2
    ### END SOLUTION


def sample_markov_block(
    base_logits: ArrayLike,
    anchor_token: int,
    w1: ArrayLike,
    w2: ArrayLike,
    rng: np.random.Generator,
    temperature: float = 1.0,
) -> tuple[list[int], NDArray[np.float64]]:
    """Draw a block along the Markov chain, and keep the very rows that its tokens were drawn from.

    Position k draws from q_k = softmax((U_k + W1[previous] W2) / temperature), and the token drawn
    is the next previous. At temperature 0 the best token is taken, the lowest id of equals, and q_k
    is one-hot.

    Args:
        base_logits: (γ, V) base logits U; −inf marks a token that cannot be drafted.
        anchor_token: x_0, the last committed token, 0 to V − 1.
        w1: (V, r) one row a token; only the rows that the chain meets are looked at.
        w2: (r, V).
        rng: the only source of chance.
        temperature: number of at least 0.

    Returns:
        γ tokens, plain ints, and the (γ, V) rows q, float64: token k was drawn from row k.

    Raises:
        ValueError: an empty or ragged block, a row with NaN, +inf or only −inf, matrices whose
            shapes do not fit, NaN or an infinite number in them where it is used, an anchor outside
            the vocabulary, or a temperature that is negative or not finite.

    Example:
        base_logits [[0, 2], [0, 1]], anchor 0, w1 = [[1], [-1]], w2 = [[3, 0]], temperature 0
        →  [0, 0] and [[1, 0], [1, 0]], since both corrected rows, [3, 2] and [3, 1], favour token 0

    Source: DSpark (arXiv 2607.05147): semi-autoregressive generation; Leviathan et al. 2023: q.
    """
    base = checked_logits("base_logits", base_logits)  # (γ, V)
    w1 = lookup_table("w1", w1, rows=base.shape[1])  # (V, r)
    w2 = weight_matrix("w2", w2, rows=w1.shape[1], columns=base.shape[1])  # (r, V)
    previous = token_in("anchor_token", anchor_token, base.shape[1])
    temperature = number("temperature", temperature, low=0.0)
    ### BEGIN SOLUTION
    tokens, rows = [], np.zeros(base.shape)
    for k, logits in enumerate(base):
        corrected = logits + table_row("w1", w1, previous) @ w2  # (V,)
        if temperature == 0:
            rows[k, corrected.argmax()] = 1.0
        else:
            weights = np.exp((corrected - corrected.max()) / temperature)
            rows[k] = weights / weights.sum()
        previous = int(rng.choice(len(logits), p=rows[k]))
        tokens.append(previous)
    return tokens, rows
    ### END SOLUTION


def rnn_head_step(
    state: ArrayLike,
    prev_embedding: ArrayLike,
    hidden: ArrayLike,
    w_joint: ArrayLike,
    w2: ArrayLike,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Take one step of the RNN head: from the old state to a new one and to a bias.

    With z = [state, prev_embedding, hidden], one product z W gives 3·r numbers, split into gate,
    candidate and output. The new state is σ(gate) · state + (1 − σ(gate)) · tanh(candidate), entry
    by entry; the bias of this position is tanh(output) W2.

    Args:
        state: (r,) the state s behind the position before; zeros at the start of a block.
        prev_embedding: (r,) the row of W1 of the token just before.
        hidden: (d,) h_k, what the drafter's last layer says at this position.
        w_joint: (2r+d, 3r) W: rows as in z; columns: r of the gate, r of the candidate, r of the
            output.
        w2: (r, V).

    Returns:
        The new state (r,) and the bias (V,), both float64.

    Raises:
        ValueError: an empty vector, lengths or shapes that do not fit, NaN, or an infinite number.

    Example:
        state [2], prev_embedding [0], hidden [1], w2 = [[4, -2]],
        w_joint = [[0, 0, 0], [0, 0, 0], [ln 3, ln 3 / 2, ln 3 / 2]]
        →  [1.625] and [2, -1], since σ(ln 3) = 3/4 and tanh(ln 3 / 2) = 1/2

    Source: DSpark (arXiv 2607.05147): the RNN head.
    """
    state = weight_vector("state", state)  # (r,)
    rank = state.size
    prev_embedding = weight_vector("prev_embedding", prev_embedding, length=rank)
    hidden = weight_vector("hidden", hidden)  # (d,)
    w_joint = weight_matrix("w_joint", w_joint, rows=2 * rank + hidden.size, columns=3 * rank)
    w2 = weight_matrix("w2", w2, rows=rank)  # (r, V)
    ### BEGIN SOLUTION
    z = np.concatenate([state, prev_embedding, hidden])  # (2r+d,)
    gate, candidate, output = np.split(z @ w_joint, 3)  # (r,) each
    keep = (1.0 + np.tanh(gate / 2.0)) / 2.0  # σ(gate), which never overflows in this form
    return keep * state + (1.0 - keep) * np.tanh(candidate), np.tanh(output) @ w2
    ### END SOLUTION


def draft_inputs(
    anchor_token: int,
    mask_token: int,
    block_size: int,
    layout: str,
) -> tuple[list[int], list[int]]:
    """Lay out the drafter's input for one block, and say at which positions predictions come out.

    DFlash puts the anchor and γ masks in, and the γ masks predict. DSpark puts the anchor and γ − 1
    masks in, and all γ positions predict: the anchor's position already predicts x_1.

    Args:
        anchor_token: x_0, the last committed token.
        mask_token: the token that stands for a position to be predicted.
        block_size: γ, the number of predictions, at least 1.
        layout: 'dflash' or 'dspark'.

    Returns:
        The input ids, and the γ input positions, in order, whose outputs are the base logits
        U_1..U_γ; two lists of plain ints.

    Raises:
        ValueError: another layout, a block_size below 1, or a token that is no token id.

    Example:
        anchor 7, mask 99, block_size 3:
        'dflash'  →  [7, 99, 99, 99] and [1, 2, 3];   'dspark'  →  [7, 99, 99] and [0, 1, 2]

    Source: DFlash (arXiv 2602.06036) and DSpark (arXiv 2607.05147): the input block of the drafter.
    """
    anchor_token = whole_number("anchor_token", anchor_token, low=0)
    mask_token = whole_number("mask_token", mask_token, low=0)
    block_size = whole_number("block_size", block_size, low=1)
    layout = drafter_mode("layout", layout)
    ### BEGIN SOLUTION
    first = 1 if layout == "dflash" else 0  # the first input position that predicts
    masks = [mask_token] * (block_size - 1 + first)
    return [anchor_token, *masks], list(range(first, first + block_size))
    ### END SOLUTION


class LowRankHead(Mapping[int, NDArray[np.floating[Any]]]):
    """The transition biases W1 W2 as a mapping from token to row, computed when it is asked for.

    It stands in for a dict of all V rows, as the markov_bias of dspark_markov_candidates: V·V
    numbers become 2·V·r. A token outside the vocabulary has no row: .get returns None for it.

    Args:
        w1: (V, r) one row a token.
        w2: (r, V). Where both are float32, rows are computed in float32, else in float64.

    Raises:
        ValueError: matrices whose shapes do not fit, or NaN or an infinite number in one of them.

    Source: DSpark (arXiv 2607.05147): the Markov head.
    """

    def __init__(self, w1: ArrayLike, w2: ArrayLike) -> None:
        vocabulary, rank = weight_matrix("w1", w1).shape
        weight_matrix("w2", w2, rows=rank, columns=vocabulary)
        single = all(getattr(matrix, "dtype", None) == np.float32 for matrix in (w1, w2))
        dtype = np.float32 if single else np.float64
        self._w1 = np.asarray(w1, dtype=dtype)  # (V, r)
        self._w2 = np.asarray(w2, dtype=dtype)  # (r, V)

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
