"""The race, measured: the same prompts decoded plainly and with each drafter, and what that says of the methods.

Nothing is shown while a text is generated, so that its wall clock counts decoding and nothing else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dspark_mini.confidence import conditional_acceptance
from dspark_mini.economics import speedup
from dspark_mini.engine import PLAIN, Round, Steps, Trace, TreeSteps, generate
from dspark_mini.inputs import number, whole_number
from dspark_mini.lm import DRAFTERS
from dspark_mini.trace import PARTS

PLAIN_NAME = "plain"
TREE = "dspark-tree"  # DSpark again, with a tree in place of a chain
METHODS = (PLAIN_NAME, *DRAFTERS, TREE)
RACERS = ("autoregressive", "dflash", "dspark")  # who races where nobody was named
BLOCK = 7  # γ: what the drafters were trained for
CHAINS = Steps(block_size=lambda trace: BLOCK)
TREES = replace(CHAINS, tree=TreeSteps(width=2, max_nodes=2 * BLOCK, widths=(2, *[1] * (BLOCK - 1))))
Run = dict[str, Any]


@dataclass(frozen=True)
class Rules:
    """What is the same for all who race.

    Raises:
        ValueError: an unknown method, or a number out of its range.
    """

    methods: tuple[str, ...] = RACERS
    temperature: float = 1.0
    tokens: int = 160  # the cap
    seed: int = 0

    def __post_init__(self) -> None:
        for method in self.methods:
            if method not in METHODS:
                raise ValueError(f"method is {method!r}; it must be one of {', '.join(METHODS)}.")
        number("temperature", self.temperature, low=0.0)
        whole_number("tokens", self.tokens, low=1)

    @property
    def order(self) -> tuple[str, ...]:
        """Who races, one after the other: plain decoding is always there, since all are measured against it."""
        return tuple(name for name in METHODS if name == PLAIN_NAME or name in self.methods)


def drafter_of(method: str) -> str:
    """Return the name of the drafter that a method uses."""
    return "dspark" if method == TREE else method


@dataclass(frozen=True)
class Lap:
    """One text by one method."""

    trace: Trace
    seconds: float  # of the whole text, its prompt included


class _Counter:
    """Stands where a drafter and its cache would: plain decoding pays for neither."""

    bias = None

    def __init__(self) -> None:
        self.rows = 0

    @property
    def cache(self) -> _Counter:
        """Itself: it only counts."""
        return self

    def extend(self, tokens: Sequence[int]) -> None:
        """Count the committed tokens."""
        self.rows += len(tokens)


def run_laps(model: Any, prompt: Sequence[int], rules: Rules, stream: Sequence[int]) -> dict[str, Lap]:
    """Let every method continue a prompt, in turn, and take the time.

    Args:
        model: a SmallLM.
        prompt: at least one token.
        rules: who races, and how.
        stream: numbers that tell this prompt from the others: with the seed they make each method's coins.

    Returns:
        The laps by method.
    """
    laps, stop = {}, (model.tokenizer.end,)
    for method in rules.order:
        model.clear()
        drafter: Any = _Counter() if method == PLAIN_NAME else model.drafters[drafter_of(method)]
        steps = {PLAIN_NAME: PLAIN, TREE: TREES}.get(method, CHAINS)
        rng = np.random.default_rng([rules.seed, *stream, METHODS.index(method)])
        start = time.perf_counter()
        trace = generate(model.target, drafter, prompt, rules.tokens, stop, rules.temperature, rng, steps)
        laps[method] = Lap(trace, time.perf_counter() - start)
    return laps


def acceptance_by_position(rounds: Sequence[Round], block_size: int = BLOCK) -> list[float]:
    """Measure conditional acceptance, and leave out the positions behind a cut.

    Where the end of the text stands among the accepted drafts, those up to it count as accepted, and the round says
    nothing of the positions behind it.

    Args:
        rounds: of one method; those without drafts say nothing.
        block_size: γ, drafts a round, all of them verified; of a tree its most levels.

    Returns:
        γ rates, nan where no round came that far.

    Source: DSpark (arXiv 2607.05147): conditional acceptance by position, Figure 2.
    """
    rates = []
    for k in range(1, block_size + 1):
        telling = [r for r in rounds if r.drafted and (len(r.emitted) > r.accepted or len(r.emitted) >= k)]
        counts = [min(r.accepted, len(r.emitted)) for r in telling]
        rates.append(conditional_acceptance(counts, block_size)[k - 1])
    return rates


def summarise(
    model: Any, domain: str, prompts: Sequence[Sequence[int]], laps: Sequence[Mapping[str, Lap]], rules: Rules
) -> list[Run]:
    """Sum the laps of a domain up, one run a method, plain decoding first.

    Args:
        model: the SmallLM that ran them.
        domain: of the prompts.
        prompts: at least one, in the order of the laps.
        laps: for each prompt the laps by method.
        rules: as they were.

    Returns:
        Plain data, the runs of the JSON; None is what does not apply.
    """
    runs = [_sums(method, domain, [lap[method] for lap in laps], rules) for method in rules.order]
    for run in runs[1:]:
        rounds = [one for lap in laps for one in lap[run["method"]].trace.rounds]
        rates = acceptance_by_position(rounds)
        run["conditional_acceptance"] = [None if math.isnan(rate) else rate for rate in rates]
        run["speedup"] = run["tokens_per_second"] / runs[0]["tokens_per_second"]
        spent = run["round_seconds"]
        step = runs[0]["round_seconds"]["verify"]
        run["expected_speedup"] = speedup(run["tau"], spent["draft"] + spent["head"], spent["verify"], step)
        if rules.temperature == 0.0:
            found = [_mismatch(model, i, prompt, laps[i], run["method"]) for i, prompt in enumerate(prompts)]
            run["mismatches"] = [one for one in found if one]
            run["identical"] = not run["mismatches"]
    return runs


def _sums(method: str, domain: str, laps: Sequence[Lap], rules: Rules) -> Run:
    """Sum the laps of one method up; what is compared with plain decoding is still to come."""
    rounds = [one for lap in laps for one in lap.trace.rounds]
    tokens = sum(len(lap.trace.output) for lap in laps)
    parts = {part: sum(one.seconds.get(part, 0.0) for one in rounds) / len(rounds) for part in PARTS}
    return {
        "method": method,
        "domain": domain,
        "temperature": rules.temperature,
        "tau": tokens / len(rounds),
        "conditional_acceptance": None,
        "tokens_per_second": tokens / sum(lap.seconds for lap in laps),
        "speedup": 1.0,
        "expected_speedup": None,
        "identical": None,
        "mismatches": None,
        "prompts": len(laps),
        "tokens": tokens,
        "round_seconds": parts,
        "shares": {part: seconds / sum(parts.values()) for part, seconds in parts.items()},
    }


def _mismatch(model: Any, number: int, prompt: Sequence[int], laps: Mapping[str, Lap], method: str) -> Run | None:
    """Find where a greedy text leaves plain decoding's, and by how much the target preferred its best token there."""
    plain, other = laps[PLAIN_NAME].trace.output, laps[method].trace.output
    if plain == other:
        return None
    place = next((k for k, (one, two) in enumerate(zip(plain, other)) if one != two), min(len(plain), len(other)))
    model.clear()
    logits = model.target.forward([*prompt, *plain[:place]])[-1]  # (V,)
    second, best = np.partition(logits, -2)[-2:]
    return {"prompt": number, "position": place, "gap": float(best - second)}


def verify_ratio(model: Any, context: Sequence[int], repeats: int = 25) -> float:
    """Measure how much longer the target takes over a whole block than over one token: medians, taken in turn.

    Args:
        model: a SmallLM.
        context: tokens in front, at least one.
        repeats: of each of the two forwards.

    Returns:
        T(verify γ + 1) / T(verify 1).
    """
    model.clear()
    model.target.forward(list(context))
    times: dict[int, list[float]] = {1: [], BLOCK + 1: []}
    for _ in range(repeats):
        for size, taken in times.items():
            start = time.perf_counter()
            model.target.forward([context[0]] * size)
            taken.append(time.perf_counter() - start)
            model.target.cache.drop(size)
    return float(np.median(times[BLOCK + 1]) / np.median(times[1]))
