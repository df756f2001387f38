"""How long a round of the server takes: measured, so that the scheduler has a table of steps per second."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dspark_mini.appendix.evidence.batched import Rows, ragged_forward
from dspark_mini.appendix.evidence.server import Server

REPEATS = 15


@dataclass(frozen=True)
class Costs:
    """Medians of the seconds of a round with R requests."""

    requests: int  # R
    draft: float  # a block for each of them
    batch: tuple[int, ...]  # B, rows of the target, rising from R to R · (1 + γ)
    verify: tuple[float, ...]  # a forward over so many rows, spread unevenly over the requests
    rest: float = 0.0  # what a round takes beside draft and forward: judging, drawing, committing

    def steps_per_second(self) -> NDArray[np.float64]:
        """Return the table of the scheduler: entry B is the speed of whole rounds.

        A straight line through the measured times stands for them. Single medians are noisy, and a table with bumps
        stops Algorithm 1 too early; over a line Θ has one maximum, so that stopping early loses nothing.
        """
        slope, start = np.polyfit(self.batch, self.verify, 1) if len(self.batch) > 1 else (0.0, self.verify[0])
        seconds = start + max(slope, 0.0) * np.arange(self.batch[-1] + 1)
        table: NDArray[np.float64] = 1.0 / (self.draft + self.rest + np.maximum(seconds, min(self.verify)))
        return table

    def plain(self) -> dict[str, Any]:
        """Return the numbers as plain data."""
        return {"draft_seconds": self.draft, "batch": list(self.batch), "verify_seconds": list(self.verify)} | {
            "rest_seconds": self.rest
        }


def measure_costs(server: Server, seed: int = 0) -> Costs:
    """Measure a server's draft, and its verification at batches from one row a request to whole blocks.

    The rows that the measured forwards write lie behind each text, where the next round overwrites them.
    """
    requests, most = len(server.rows), server.gamma
    rng = np.random.default_rng(seed)
    batches = sorted({requests + round(requests * most * part / 8) for part in range(9)})
    spans: dict[int, list[float]] = {batch: [] for batch in (0, *batches)}  # 0 stands for the draft
    for turn in range(REPEATS + 1):  # in turns, so that a slow moment of the machine meets all of them
        for batch, found in spans.items():
            span = _seconds(_draft(server) if batch == 0 else _forward(server, batch, rng))
            if turn:  # the first call of a size is slower
                found.append(span)
    draft, *verify = (float(np.median(found)) for found in spans.values())
    rounds = [server.serve(lambda confidences: [most] * requests) for _ in range(REPEATS)]
    rest = float(np.median([sum(one.seconds.values()) for one in rounds])) - draft - verify[-1]
    return Costs(requests, draft, tuple(batches), tuple(verify), max(0.0, rest))


def spread_unevenly(drafts: int, requests: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Give drafts to requests at random, none of them more than most. (R,)"""
    places = rng.permutation(np.repeat(np.arange(requests), most))[:drafts]
    return np.bincount(places, minlength=requests).astype(np.int64)


def _draft(server: Server) -> Callable[[], object]:
    return lambda: server.chain(server.block())


def _forward(server: Server, batch: int, rng: np.random.Generator) -> Callable[[], object]:
    requests = len(server.rows)
    lengths = torch.from_numpy(spread_unevenly(batch - requests, requests, server.gamma, rng))
    rows = Rows.behind(server.rows, 1 + lengths)
    tokens = server.anchors[rows.owner]
    return lambda: ragged_forward(server.model, server.cache, tokens, rows)


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
