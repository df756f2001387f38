"""The sequential head of a block drafter, which turns parallel rows into a chain, and its confidence head."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.drafts import Logits, Probabilities, best_probabilities, sample_chain, sample_markov_chain, spread
from dspark_mini.heads import LowRankHead
from dspark_mini.layers import Floats
from dspark_mini.shapes import DrafterShape
from dspark_mini.weights import Weights

# Maps a position, a state (r,) and the previous token to the next state (r,) and to what W2 turns into the bias, (r,).
Step = Callable[[int, Floats, int], tuple[Floats, Floats]]


def gated_steps(weights: Weights, w1: Floats) -> Callable[[Floats], Step]:
    """Build the gated head: B_k = W2 (σ(gate [h_k; e]) ⊙ e) with e = W1[x_{k−1}].

    Args:
        weights: Arrays by their names in the weight file.
        w1: (V, r).

    Returns:
        A function from the hidden states (γ, d) of a block to its step.

    Source: DeepSpec, markov_head.py.
    """
    of_hidden, of_token = np.split(weights["head.gate.weight"].T, [-w1.shape[1]])
    by_token = w1 @ of_token + weights["head.gate.bias"]  # (V, r)

    def block(hidden: Floats) -> Step:
        by_position = hidden @ of_hidden  # (γ, r)
        return lambda k, state, previous: (state, _sigmoid(by_position[k] + by_token[previous]) * w1[previous])

    return block


def rnn_steps(weights: Weights, w1: Floats) -> Callable[[Floats], Step]:
    """Build the RNN head of rnn_head_step; what depends on the token or on h_k alone is multiplied out beforehand."""
    rank = w1.shape[1]
    of_state, of_token, of_hidden = np.split(weights["head.joint.weight"].T, [rank, 2 * rank])
    of_state, by_token = np.ascontiguousarray(of_state), w1 @ of_token  # (V, 3r)
    offset = weights.get("head.joint.bias", np.zeros(3 * rank, np.float32))  # DeepSpec's has one

    def block(hidden: Floats) -> Step:
        by_position = hidden @ of_hidden + offset  # (γ, 3r)

        def step(k: int, state: Floats, previous: int) -> tuple[Floats, Floats]:
            gate, candidate, output = np.split(state @ of_state + by_token[previous] + by_position[k], 3)
            keep = _sigmoid(gate)
            return keep * state + (1.0 - keep) * np.tanh(candidate), np.tanh(output)

        return step

    return block


def gru_steps(weights: Weights, w1: Floats) -> Callable[[Floats], Step]:
    """Build Domino's head: B_k = W2 silu(reduce [h_k; g_k]), where the GRU g has read the tokens up to x_{k−1}.

    Source: Domino (arXiv 2605.29707); the GRU is torch's, without biases.
    """
    of_state, by_token = weights["head.gru.weight_hh_l0"].T, w1 @ weights["head.gru.weight_ih_l0"].T  # (V, 3r)
    of_hidden, reduce = np.split(weights["head.reduce.weight"].T, [-w1.shape[1]])
    of_state, reduce = np.ascontiguousarray(of_state), np.ascontiguousarray(reduce)

    def block(hidden: Floats) -> Step:
        by_position = hidden @ of_hidden  # (γ, r)

        def step(k: int, state: Floats, previous: int) -> tuple[Floats, Floats]:
            reset, keep, candidate = np.split(by_token[previous], 3)
            own_reset, own_keep, own_candidate = np.split(state @ of_state, 3)
            keep = _sigmoid(keep + own_keep)
            new = keep * state + (1.0 - keep) * np.tanh(candidate + _sigmoid(reset + own_reset) * own_candidate)
            latent = by_position[k] + new @ reduce
            return new, latent * _sigmoid(latent)

        return step

    return block


def _sigmoid(x: Floats) -> Floats:
    out: Floats = np.float32(1.0) / (np.float32(1.0) + np.exp(-x))
    return out


STEPS = {"gated": gated_steps, "rnn": rnn_steps, "gru": gru_steps}


class DraftHead:
    """No head (DFlash), or a sequential head together with a confidence head (DSpark, Domino).

    Args:
        weights: Arrays by their names in the weight file; without a head none are needed.
        shape: Shape of the drafter.
        vocabulary: V of the target.

    Attributes:
        bias: Maps a token to the bias of the row after it; None for a head that reads more than the token before.
        factors: The bias as two matrices W1 (V, r) and W2 (r, V); zeros without a head.

    Raises:
        ValueError: The head's weights do not fit the target.

    Source: DSpark (arXiv 2607.05147): the Markov, gated, RNN and confidence heads.
    """

    def __init__(self, weights: Weights, shape: DrafterShape, vocabulary: int) -> None:
        self.bias: Any = {}
        self.steps: Callable[[Floats], Step] | None = None
        self.w1: Floats | None = None
        self.weight: Floats | None = None  # of the confidence head
        self.factors = np.zeros((vocabulary, 1), np.float32), np.zeros((1, vocabulary), np.float32)
        if shape.head == "none":
            return
        self.w1 = weights["head.previous.weight"]  # (V, r)
        if self.w1.shape != (vocabulary, shape.rank):
            raise ValueError(f"W1 has shape {self.w1.shape}; this target needs {(vocabulary, shape.rank)}.")
        w2 = spread(weights["head.next.weight"].T, shape.draft_vocabulary, vocabulary, missing=0.0)
        self.w2 = w2.astype(np.float32)  # (r, V)
        self.factors = self.w1, self.w2
        if shape.confidence != "none":
            self.weight, self.offset = weights["head.confidence.weight"][0], float(weights["head.confidence.bias"][0])
        if shape.head == "markov":
            self.bias = LowRankHead(self.w1, self.w2)
        else:
            self.bias, self.steps = None, STEPS[shape.head](weights, self.w1)

    def chain(
        self, base: Logits, hidden: Floats, anchor: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Choose the tokens of a block from left to right.

        Args:
            base: (γ, V) base logits.
            hidden: (γ, d) hidden states h_1..h_γ; the Markov head does not read them.
            anchor: The token before the block.
            temperature: Sampling temperature; 0 takes the argmax of each row.
            rng: Source of randomness; not needed at temperature 0.

        Returns:
            γ tokens, and the distributions (γ, V) that they were drawn from.
        """
        if self.steps is None:
            return sample_markov_chain(base, anchor, self.bias, temperature, rng)
        step, state = self.steps(hidden), np.zeros(len(self.w2), np.float32)  # (r,)

        def next_logits(k: int, previous: int) -> Logits:
            nonlocal state
            state, latent = step(k, state, previous)
            logits: Logits = base[k] + latent @ self.w2
            return logits

        return sample_chain(anchor, len(base), next_logits, temperature, rng)

    def confidences(self, hidden: Floats, anchor: int, tokens: Sequence[int], base: Logits) -> list[float]:
        """Return the probability that each draft is accepted if all before it are, (γ,).

        The confidence head reads h_k and the token before position k. Without one, as in DFlash, the highest
        probability of each row of base logits stands in for it.
        """
        if self.weight is None:
            return best_probabilities(base)
        chances: list[float] = (1.0 / (1.0 + np.exp(-self.confidence_logits(hidden, anchor, tokens)))).tolist()
        return chances

    def confidence_logits(self, hidden: Floats, anchor: int, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the logits of the confidence head, (γ,)."""
        assert self.w1 is not None and self.weight is not None
        previous = self.w1[[anchor, *tokens][:-1]]  # (γ, r)
        inputs: Floats = np.concatenate((hidden[: len(tokens)], previous), axis=1)[:, : len(self.weight)]  # (γ, d + r)
        logits: NDArray[np.float64] = (inputs @ self.weight).astype(np.float64) + self.offset
        return logits


class BlockChain:
    """The chain of a block drafter, in NumPy for every backend."""

    draft_head: DraftHead
    hidden: Floats  # (γ, d) h_1..h_γ of the last block

    def chain(
        self, base: Logits, anchor: int, block_size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Draft a block token by token: γ tokens, and the rows q (γ, V) that they were drawn from."""
        return self.draft_head.chain(base, self.hidden, anchor, temperature, rng)

    def confidences(self, anchor: int, tokens: Sequence[int], base: Logits) -> list[float]:
        """Return the probability that each draft is accepted if all before it are, (γ,)."""
        return self.draft_head.confidences(self.hidden, anchor, tokens, base)


class SelfFedChain:
    """The chain of an autoregressive drafter, one forward per token; best probabilities stand in for confidences."""

    bias = factors = None
    cache: Any
    last: Any  # the hidden state of the last forward
    best: list[float]  # the best probability of each row of the last block

    def forward(self, token: int, before: Any) -> Logits:
        """Run one token, given the hidden state before it, and add its row to the cache. (1, V)"""
        raise NotImplementedError

    def chain(
        self, base: Logits, anchor: int, block_size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Draft a block token by token: γ tokens, and the rows q (γ, V) that they were drawn from."""

        def next_logits(k: int, previous: int) -> Logits:
            row: Logits = base[0] if k == 0 else self.forward(previous, self.last)[0]
            return row

        self.cache.take(1)  # the anchor's row, which block_logits has written
        tokens, q = sample_chain(anchor, block_size, next_logits, temperature, rng)
        self.cache.drop(block_size)
        self.best = q.max(axis=1).tolist()
        return tokens, q

    def confidences(self, anchor: int, tokens: Sequence[int], base: Logits) -> list[float]:
        """Return the best probability of each row of the last block, (γ,)."""
        return self.best
