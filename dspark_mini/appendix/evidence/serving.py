"""Throughput and verify budget by concurrency (Figures 7 and 8): fixed verify lengths against the scheduler.

Drafting, scheduling and ragged verification really run, and are timed on the clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dspark_mini.appendix.drafters import BlockDrafter
from dspark_mini.appendix.evidence.recordings import Recorder, Recording
from dspark_mini.appendix.evidence.replayed import possible_gains, schedule
from dspark_mini.appendix.evidence.server import Server, ServingTotals, Trim
from dspark_mini.appendix.evidence.settings import Settings
from dspark_mini.appendix.evidence.statistics import Estimate, over_repeats
from dspark_mini.appendix.evidence.step_times import measure_step_times
from dspark_mini.appendix.training import load_drafter, load_target
from dspark_mini.backends import hardware
from dspark_mini.corpus import DOMAINS
from dspark_mini.lm import prompts
from dspark_mini.scheduling import allocate_budget, lagged_budget

FIXED = (1, 3, 5, 7)  # verify lengths
# Domains of the requests, and which of the concurrencies are measured. Fewer drafts are accepted in math.
TRAFFIC: dict[str, tuple[tuple[str, ...], slice]] = {
    "all domains": (DOMAINS, slice(None)),
    "sums alone": (("math",), slice(None, None, 3)),
    "sums and code": (("math", "code"), slice(None, None, 3)),  # hard and easy requests together
}
PASSES = 5
MIN_ROUNDS = 3  # per pass

HOW = (
    "R requests decode together at temperature 1, with one batched block draft and one ragged verification per round, "
    "timed on the clock with one thread; the prefill is not counted. In every pass the ways to choose verify lengths "
    "take turns. The scheduler's table of steps per second was measured for each R beforehand. The lagged budget "
    "(Section 5.2 of the paper) uses confidences two rounds old. `possible` is a replay of recorded rounds at the "
    "measured times of a round: the gain of the scheduler if deciding took no time, and of an oracle that knows which "
    "drafts will be accepted, which no scheduler can beat."
)

DIFFERS = {  # reasons; what differs, and by how much, the results say
    "figure_7_8": (
        "There is no MTP-1 baseline; the best fixed length is a harder one, since it is known only afterwards. Budgets "
        "here count drafts; the paper's count the anchor as well. On this processor another row costs little and most "
        "drafts are accepted, so that trimming has little to save: even the oracle gains only a few per cent, and the "
        "scheduler hardly anything if its decisions took no time. The draft, which is not trimmed, and the commit take "
        "a good part of every round."
    ),
}


def figure_7_8(recorder: Recorder) -> dict[str, Any] | None:
    """Serve 1 to 64 requests at a time with fixed verify lengths, with the scheduler, and by plain decoding."""
    settings = recorder.settings
    if not settings.has("dspark"):
        return None
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ours: dict[str, Any] = {"how": HOW, "hardware": hardware("torch", settings.device, None)}
        for traffic, (domains, chosen) in TRAFFIC.items():
            open_server, rows = _server_factory(settings, domains), []
            runs = [recorder.recording("dspark", domain) for domain in domains]
            for requests in settings.concurrency[chosen]:
                recorder.say(f"  {traffic}, {requests} requests at a time")
                with torch.device(settings.device):
                    rows.append(compare_ways(open_server, requests, settings.served_seconds / PASSES, runs))
            ours[traffic] = {"concurrency": rows, "holds": check_claims(rows)}
    finally:
        torch.set_num_threads(threads)
    return ours


def _server_factory(settings: Settings, domains: Sequence[str]) -> Callable[[int, int], Server]:
    """Return a function of (requests, seed) that opens a server; its prompts take turns through the domains."""
    model, tokenizer = load_target(settings.file("target"), settings.device)
    drafter = load_drafter(settings.file("dspark"), model)
    assert isinstance(drafter, BlockDrafter)
    texts = [prompts(tokenizer, domain, settings.prompts) for domain in domains]
    supply, cap = [text for group in zip(*texts) for text in group], settings.max_new_tokens
    slots = max(map(len, supply)) + cap + drafter.shape.block_size
    return lambda requests, seed: Server(model, drafter, cycle(supply), requests, tokenizer.end, cap, seed, slots)


def compare_ways(
    open_server: Callable[[int, int], Server], requests: int, seconds: float, runs: Sequence[Recording]
) -> dict[str, Any]:
    """Serve with every way to choose verify lengths; in each pass they take turns.

    Returns:
        The measured step times, for each way its throughput and verify budget, and what there is to gain.
    """
    warm = open_server(requests, 0)
    warm.serve(_fixed(FIXED[-1]), tokens=20 * requests)
    times = measure_step_times(warm)
    ways = ways_to_trim(times.steps_per_second())
    servers = {name: open_server(requests, 1) for name in ways}
    passes: dict[str, list[ServingTotals]] = {name: [] for name in ways}
    for name, trim in ways.items():
        servers[name].serve(trim, tokens=40 * requests)  # until the requests are out of step
    for _ in range(PASSES):
        for name, trim in ways.items():
            passes[name].append(servers[name].serve(trim, seconds=seconds, rounds=MIN_ROUNDS))
    return {
        "requests": requests,
        "costs": times.to_json(),
        "ways": {name: _summary(totals, requests) for name, totals in passes.items()},
        "possible": possible_gains(runs, times, requests, FIXED),
    }


def ways_to_trim(table: NDArray[np.float64]) -> dict[str, Trim | None]:
    """Return the ways to choose verify lengths by name; None is plain decoding."""
    ways: dict[str, Trim | None] = {f"fixed {length}": _fixed(length) for length in FIXED}
    ways["scheduled"] = lambda confidences: schedule(confidences, table)
    ways["lagged budget"] = _lagged(table)
    ways["plain"] = None
    return ways


def _fixed(length: int) -> Trim:
    return lambda confidences: [length] * len(confidences)


def _lagged(table: NDArray[np.float64]) -> Trim:
    """Take the budget from confidences two rounds old (at first, the oldest), and allocate it by the current ones."""
    seen: deque[NDArray[np.float64]] = deque(maxlen=3)

    def trim(confidences: NDArray[np.float64]) -> list[int]:
        seen.append(confidences)
        return allocate_budget(confidences, lagged_budget(seen[0], table))

    return trim


def _summary(passes: list[ServingTotals], requests: int) -> dict[str, Any]:
    rounds, tokens = sum(totals.rounds for totals in passes), sum(totals.tokens for totals in passes)
    seconds = {part: sum(totals.seconds[part] for totals in passes) for part in passes[0].seconds}
    speeds = [totals.tokens_per_second for totals in passes]
    budgets = [totals.verified / (totals.rounds * requests) for totals in passes]
    return {
        "tokens_per_second": over_repeats(speeds, "passes") | {"passes": speeds},
        "verified_a_request": over_repeats(budgets, "passes"),
        "tokens_a_round_and_request": tokens / (rounds * requests),
        "share": {part: span / sum(seconds.values()) for part, span in seconds.items()},
        "rounds": rounds,
    }


def check_claims(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Compare the scheduler with fixed lengths, pass by pass, and tell whether one fixed length is best everywhere."""
    extremes = [_fastest(row, (FIXED[0], FIXED[-1])) for row in rows]
    best = [_fastest(row, FIXED) for row in rows]
    return {
        "scheduled over the better of fixed 1 and fixed 7": [_speedup(*pair) for pair in zip(rows, extremes)],
        "scheduled over the best fixed length": [_speedup(*pair) for pair in zip(rows, best)],
        "best fixed length": best,
        "no fixed length is best everywhere": len(set(best)) > 1,
    }


def _fastest(row: dict[str, Any], lengths: Sequence[int]) -> str:
    names = [f"fixed {length}" for length in lengths]
    return max(names, key=lambda name: float(row["ways"][name]["tokens_per_second"]["mean"]))


def _speedup(row: dict[str, Any], other: str) -> Estimate:
    """Estimate the scheduler's throughput relative to another way."""
    ours, theirs = (row["ways"][name]["tokens_per_second"]["passes"] for name in ("scheduled", other))
    return over_repeats([one / two for one, two in zip(ours, theirs)], "passes")
