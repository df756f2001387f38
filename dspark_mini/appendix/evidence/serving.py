"""Throughput and verify budget against concurrency (Figures 7 and 8): fixed verify lengths against the scheduler.

Everything is executed, and timed on the clock: batched drafting, scheduling, ragged verification. The table of steps
per second, which the scheduler needs, is measured beforehand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dspark_mini.appendix.drafters import BlockDrafter
from dspark_mini.appendix.evidence.recorder import Recorder
from dspark_mini.appendix.evidence.served import Served
from dspark_mini.appendix.evidence.server import Server, Trim
from dspark_mini.appendix.evidence.settings import Settings
from dspark_mini.appendix.evidence.speeds import measure_costs
from dspark_mini.appendix.evidence.statistics import Estimate, over_passes
from dspark_mini.appendix.model import Target
from dspark_mini.appendix.training import load_drafter, load_target
from dspark_mini.backends import hardware
from dspark_mini.corpus import DOMAINS
from dspark_mini.lm import prompts
from dspark_mini.scheduling import allocate_budget, lagged_budget, schedule_prefixes
from dspark_mini.words import Tokenizer

FIXED = (1, 3, 5, 7)
# Whose requests they are, and at which numbers of them: all, or every third. In sums fewer drafts are accepted.
TRAFFIC: dict[str, tuple[tuple[str, ...], int]] = {"all domains": (DOMAINS, 1), "sums alone": (("math",), 3)}
PASSES = 5
ROUNDS = 3  # at least, of a pass

FIGURE_7_8: dict[str, Any] = {
    "per_user_speed_at_matched_throughput": [0.60, 0.85],
    "verify_budget_a_request": {"few requests": [4, 6], "many requests": [1, 2]},
}
HOW = (
    "R requests decode together at temperature 1, each round one batched block draft and one "
    "ragged verification, executed on the clock with one thread; reading prompts is not counted. The ways take turns "
    "in every pass. The scheduler's table of steps per second was measured for each R before."
)


def figure_7_8(recorder: Recorder) -> dict[str, Any]:
    """Serve 1 to 64 requests at a time with fixed verify lengths, with the scheduler, and token by token."""
    settings = recorder.settings
    if not settings.has("dspark"):
        return {"paper": FIGURE_7_8, "ours": None}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        model, tokenizer = load_target(settings.file("target"))
        drafter = load_drafter(settings.file("dspark"), model)
        assert isinstance(drafter, BlockDrafter)
        rows: dict[str, list[dict[str, Any]]] = {traffic: [] for traffic in TRAFFIC}
        for traffic, (domains, every) in TRAFFIC.items():
            for count in settings.concurrency[::every]:
                recorder.progress(f"{count} requests at a time, {traffic}")
                make = _maker(model, drafter, tokenizer, domains, count, settings)
                rows[traffic].append(serve_all_ways(make, count, settings.served_seconds / PASSES))
    finally:
        torch.set_num_threads(threads)
    ours = {"how": HOW, "hardware": hardware("torch", "cpu", model)}
    for traffic, found in rows.items():
        ours[traffic] = {"concurrency": found, "holds": what_holds(found)}
    return {"paper": FIGURE_7_8, "ours": ours}


def _maker(
    model: Target,
    drafter: BlockDrafter,
    tokenizer: Tokenizer,
    domains: Sequence[str],
    requests: int,
    settings: Settings,
) -> Callable[[int], Server]:
    """Return what opens a server by a seed; its prompts come from the domains in turn, the same for every seed."""
    texts, cap = [prompts(tokenizer, domain, settings.prompts) for domain in domains], settings.max_new_tokens
    slots = max(len(text) for group in texts for text in group) + cap + drafter.shape.block_size

    def make(seed: int) -> Server:
        supply: Iterator[list[int]] = cycle([text for group in zip(*texts) for text in group])
        return Server(model, drafter, supply, requests, tokenizer.end, cap, seed, slots)

    return make


def serve_all_ways(make: Callable[[int], Server], requests: int, seconds: float) -> dict[str, Any]:
    """Serve in every way, pass by pass in turns, each from the same state of warm requests.

    Returns:
        The measured costs, and for each way tokens per second and verified drafts a request and round.
    """
    warm = make(0)
    warm.serve(lambda confidences: [FIXED[-1]] * requests, tokens=20 * requests)
    costs = measure_costs(warm)
    ways = ways_to_trim(requests, costs.steps_per_second())
    servers = {name: make(1) for name in ways}
    passes: dict[str, list[Served]] = {name: [] for name in ways}
    for turn in range(PASSES + 1):
        for name, trim in ways.items():
            if turn == 0:  # brings the requests apart from each other
                servers[name].serve(trim, tokens=40 * requests)
            else:
                passes[name].append(servers[name].serve(trim, seconds=seconds, rounds=ROUNDS))
    return {
        "requests": requests,
        "costs": costs.plain(),
        "ways": {name: _summary(runs, requests) for name, runs in passes.items()},
    }


def ways_to_trim(requests: int, table: NDArray[np.float64]) -> dict[str, Trim | None]:
    """Return the ways to choose verify lengths, by name."""
    ways: dict[str, Trim | None] = {f"fixed {length}": _fixed(length) for length in FIXED}
    ways["scheduled"] = lambda confidences: schedule_prefixes(confidences, table)
    ways["lagged budget"] = _lagged(table)
    ways["plain"] = None
    return ways


def _fixed(length: int) -> Trim:
    return lambda confidences: [length] * len(confidences)


def _lagged(table: NDArray[np.float64]) -> Trim:
    """Take the budget from confidences of two rounds ago, at first from the oldest, and hand it out by those of now."""
    seen: deque[NDArray[np.float64]] = deque(maxlen=3)

    def trim(confidences: NDArray[np.float64]) -> list[int]:
        seen.append(confidences)
        return allocate_budget(confidences, lagged_budget(seen[0], table))

    return trim


def _summary(passes: list[Served], requests: int) -> dict[str, Any]:
    rounds, tokens = sum(one.rounds for one in passes), sum(one.tokens for one in passes)
    seconds = {part: sum(one.seconds[part] for one in passes) for part in passes[0].seconds}
    speeds = [one.tokens_per_second for one in passes]
    return {
        "tokens_per_second": over_passes(speeds) | {"passes": speeds},
        "verified_a_request": over_passes([one.verified / (one.rounds * requests) for one in passes]),
        "tokens_a_round_and_request": tokens / (rounds * requests),
        "share": {part: span / sum(seconds.values()) for part, span in seconds.items()},
        "rounds": rounds,
    }


def what_holds(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Say what the measurement shows of the paper's claims; ways are compared pass by pass, as they took turns."""
    ends, best = [], []
    for row in rows:
        speed = {name: way["tokens_per_second"]["mean"] for name, way in row["ways"].items()}
        ends.append(max((f"fixed {length}" for length in (FIXED[0], FIXED[-1])), key=speed.__getitem__))
        best.append(max((f"fixed {length}" for length in FIXED), key=speed.__getitem__))
    return {
        "scheduled over the better of fixed 1 and fixed 7": [_over(row, other) for row, other in zip(rows, ends)],
        "scheduled over the best fixed length": [_over(row, other) for row, other in zip(rows, best)],
        "best fixed length": best,
        "no fixed length is best everywhere": len(set(best)) > 1,
    }


def _over(row: dict[str, Any], other: str) -> Estimate:
    """Estimate how many times as fast as another way the scheduler is."""
    ours, theirs = (row["ways"][name]["tokens_per_second"]["passes"] for name in ("scheduled", other))
    return over_passes([one / two for one, two in zip(ours, theirs)])
