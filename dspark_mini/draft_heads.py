"""The sequential head of the small model's block drafters: what makes a chain of parallel rows, and its confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.drafts import Logits, Probabilities, choose, sample_chain
from dspark_mini.heads import LowRankHead
from dspark_mini.layers import Floats
from dspark_mini.weights import Weights


class DraftHead:
    """No head (DFlash), the Markov head, or the RNN head, and with either of them a confidence head.

    Args:
        weights: by the names that the appendix gives them; those of no head may be missing.
        kind: none, markov or rnn.
        w2: (r, V) over the target's vocabulary; None without a head.

    `bias` answers .get(token) where a row hangs on the token before it alone; with the RNN head it is None.
    """

    def __init__(self, weights: Weights, kind: str, w2: Floats | None) -> None:
        self.bias: Any = {}
        self.joint: Floats | None = None
        if w2 is None:
            self.w1 = None
            return
        self.w1, self.w2 = weights["head.previous.weight"], w2  # (V, r), (r, V)
        self.weight, self.offset = weights["head.confidence.weight"][0], float(weights["head.confidence.bias"][0])
        if kind == "rnn":
            self.bias, self.joint = None, np.ascontiguousarray(weights["head.joint.weight"].T)  # (2r + d, 3r)
        else:
            self.bias = LowRankHead(self.w1, w2)

    def chain(
        self, base: Logits, hidden: Floats, anchor: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Choose the tokens of a block one after the other.

        Args:
            base: (γ, V) base logits.
            hidden: (γ, d) h_1..h_γ; only the RNN head looks at them.
            anchor: the token in front of the block.
            temperature: of the draws; at 0 each token is the best of its row.
            rng: the only source of chance.

        Returns:
            γ tokens, and the rows (γ, V) that they were drawn from.
        """
        if self.w1 is None or self.joint is None:
            return sample_chain(base, anchor, self.bias, temperature, rng)
        tokens, rows = list[int](), list[Probabilities]()
        state: Floats = np.zeros(self.w1.shape[1], np.float32)
        for logits, h in zip(base, hidden):
            seen = self.w1[tokens[-1] if tokens else anchor]  # (r,)
            gate, candidate, output = np.split(np.concatenate((state, seen, h)) @ self.joint, 3)
            keep = np.float32(1.0) / (np.float32(1.0) + np.exp(-gate))
            state = keep * state + (1.0 - keep) * np.tanh(candidate)
            token, row = choose(logits + np.tanh(output) @ self.w2, temperature, rng)
            tokens.append(token)
            rows.append(row)
        return tokens, np.array(rows)

    def confidences(self, hidden: Floats, anchor: int, tokens: Sequence[int], q: Probabilities) -> list[float]:
        """Return the chance of each draft to survive, given that those before it do. (γ,)

        The confidence head sees h_k and the token in front of position k. DFlash has none: the best probability
        of the row takes its place.
        """
        if self.w1 is None:
            best: list[float] = q.max(axis=1).tolist()
            return best
        chances: list[float] = (1.0 / (1.0 + np.exp(-self.confidence_logits(hidden, anchor, tokens)))).tolist()
        return chances

    def confidence_logits(self, hidden: Floats, anchor: int, tokens: Sequence[int]) -> NDArray[np.float64]:
        """Return the logits of the confidence head. (γ,)"""
        assert self.w1 is not None
        seen = self.w1[[anchor, *tokens][:-1]]  # (γ, r)
        both: Floats = np.concatenate((hidden[: len(tokens)], seen), axis=1)  # (γ, d + r)
        logits: NDArray[np.float64] = (both @ self.weight).astype(np.float64) + self.offset
        return logits
