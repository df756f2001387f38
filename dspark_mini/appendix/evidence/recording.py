"""Recordings: every round of many texts, with what the target says about all drafts of the block."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Recording:
    """Rounds, one after the other, in which whole blocks were verified."""

    prompt: NDArray[np.int64]  # (N,) the number of the round's prompt
    confidences: NDArray[np.float64]  # (N, γ) c_k
    chances: NDArray[np.float64]  # (N, γ) 1 − ½‖q_k − p_k‖₁ behind the drafted prefix; greedy: 1 where it agrees, or 0
    accepted: NDArray[np.int64]  # (N,) drafts
    emitted: NDArray[np.int64]  # (N,) tokens of the output; fewer than accepted + 1 where a text ends in the block
    seconds: NDArray[np.float64]  # (N, 4) of PARTS

    @property
    def block_size(self) -> int:
        """The length of the blocks, γ."""
        return int(self.confidences.shape[1])

    @property
    def prompts(self) -> int:
        """How many prompts there are."""
        return int(self.prompt.max()) + 1

    @property
    def usable(self) -> NDArray[np.int64]:
        """How many positions of each block belong to the text: those behind its end do not count. (N,)"""
        return np.where(self.emitted <= self.accepted, self.emitted, self.block_size)

    def by_prompt(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Sum one number a round over the rounds of each prompt. (prompts,)"""
        return np.bincount(self.prompt, values, self.prompts).astype(np.float64)

    @property
    def rounds(self) -> NDArray[np.float64]:
        """How many rounds each prompt took. (prompts,)"""
        return self.by_prompt(np.ones(len(self.prompt)))

    def survived(self) -> NDArray[np.bool_]:
        """Say which drafts were accepted, together with all before them. (N, γ)"""
        out: NDArray[np.bool_] = np.arange(self.block_size) < self.accepted[:, None]
        return out

    def counted(self) -> NDArray[np.bool_]:
        """Say which positions belong to the text. (N, γ)"""
        out: NDArray[np.bool_] = np.arange(self.block_size) < self.usable[:, None]
        return out


def each(runs: Mapping[str, Recording] | None, measure: Callable[[Recording], Any]) -> dict[str, Any] | None:
    """Measure the recording of each domain, where there are any."""
    return None if runs is None else {domain: measure(run) for domain, run in runs.items()}
