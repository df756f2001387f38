"""Measure how long a round of the server takes, for the scheduler's table of steps per second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dspark_mini.appendix.evidence.batched import Rows, ragged_forward
from dspark_mini.appendix.evidence.server import Server, now

REPEATS = 15


@dataclass(frozen=True)
class StepTimes:
    """Median seconds of the parts of a round with R requests."""

    draft: float  # one block for every request
    batch: tuple[int, ...]  # B, target rows, rising from R to R · (1 + γ)
    verify: tuple[float, ...]  # a forward over B rows
    rest: float = 0.0  # everything else: acceptance, sampling, commit

    def steps_per_second(self) -> NDArray[np.float64]:
        """Return the scheduler's table: entry B is the number of whole rounds per second.

        The table follows a straight line fitted to the measured times. Medians are noisy, and a bumpy table stops
        Algorithm 1 too early; on a line Θ is unimodal, so that stopping early loses nothing.
        """
        slope, start = np.polyfit(self.batch, self.verify, 1) if len(self.batch) > 1 else (0.0, self.verify[0])
        verify = start + max(slope, 0.0) * np.arange(self.batch[-1] + 1)
        return 1.0 / (self.draft + self.rest + np.maximum(verify, min(self.verify)))

    def round_seconds(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the seconds of a round that verifies so many rows, as measured. (…)"""
        verify = np.maximum.accumulate(self.verify)  # a larger batch never takes less; medians are noisy
        return self.draft + self.rest + np.interp(rows, self.batch, verify)

    def to_json(self) -> dict[str, Any]:
        """Return the times as plain data."""
        return {
            "draft_seconds": self.draft,
            "batch": list(self.batch),
            "verify_seconds": list(self.verify),
            "rest_seconds": self.rest,
        }


def measure_step_times(server: Server, seed: int = 0) -> StepTimes:
    """Time a server's draft, and its verification at nine batches from R rows to R · (1 + γ).

    The timed forwards write after the end of each text, where the next round overwrites them.
    """
    requests, block_size = len(server.starts), server.block_size
    rng = np.random.default_rng(seed)
    batches = sorted({requests + round(requests * block_size * part / 8) for part in range(9)})
    seconds: dict[int, list[float]] = {batch: [] for batch in (0, *batches)}  # 0 is the draft
    for repeat in range(REPEATS + 1):  # in turns, so that a slow moment of the machine hits all of them
        for batch, measured in seconds.items():
            time_taken = timed(_draft(server) if batch == 0 else _verify(server, batch, rng), server.device)
            if repeat:  # the first call of a size is slower
                measured.append(time_taken)
    draft, *verify = (float(np.median(measured)) for measured in seconds.values())
    rounds = [server.serve(lambda confidences: [block_size] * requests).elapsed for _ in range(REPEATS)]
    rest = float(np.median(rounds)) - draft - verify[-1]
    return StepTimes(draft, tuple(batches), tuple(verify), max(0.0, rest))


def random_lengths(drafts: int, requests: int, block_size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Spread drafts over requests at random, at most γ each. (R,)"""
    owners = rng.permutation(np.repeat(np.arange(requests), block_size))[:drafts]
    return np.bincount(owners, minlength=requests).astype(np.int64)


def _draft(server: Server) -> Callable[[], object]:
    return lambda: server.chain(server.block())


def _verify(server: Server, batch: int, rng: np.random.Generator) -> Callable[[], object]:
    requests = len(server.starts)
    lengths = torch.tensor(random_lengths(batch - requests, requests, server.block_size, rng).tolist())
    rows = Rows.after(server.starts, 1 + lengths)
    tokens = server.anchors[rows.owner]
    return lambda: ragged_forward(server.model, server.cache, tokens, rows)


def timed(call: Callable[[], object], device: torch.device) -> float:
    """Return the seconds that a call takes on a device."""
    start = now(device)
    call()
    return now(device) - start
