"""Measures the race: decodes the same prompts plainly and with each drafter, and compares the methods.

Nothing is printed while a text is generated, so that its time is that of decoding alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from dspark_mini.confidence import conditional_acceptance
from dspark_mini.economics import speedup
from dspark_mini.engine import Round, Steps, Trace, TreeSteps, generate
from dspark_mini.hardware import speedup_with_interval
from dspark_mini.odds import RoundOdds, recording
from dspark_mini.policy import plan_round
from dspark_mini.race_options import METHODS, PLAIN_NAME, SMOLLM_DRAFTERS, TREE, RaceOptions
from dspark_mini.race_own import POLICY, own_steps, policy_steps
from dspark_mini.trace import PARTS

RACE_SECONDS = 14.0  # for all texts that are not shown in slow motion; the whole race takes about 20 s
FEWEST_PROMPTS, MOST_PROMPTS = 4, 64  # per domain, where no number is asked for
BLOCK_SIZE = 7  # γ, the block size that the drafters were trained for
CHAINS = Steps(block_size=lambda trace: BLOCK_SIZE)
TREES = replace(CHAINS, tree=TreeSteps(width=2, max_nodes=2 * BLOCK_SIZE, widths=(2, *[1] * (BLOCK_SIZE - 1))))
Run = dict[str, Any]  # results of one method in one domain, as the JSON file has them


def drafter_of(method: str) -> str:
    """Return the name of a method's drafter."""
    return "dspark" if method in (TREE, POLICY) else method


def steps_of(method: str, options: RaceOptions, drafter: Any) -> Steps:
    """Return the engine's steps for one text of a method."""
    steps = TREES if method in (TREE, POLICY) else CHAINS
    if options.functions is not None:
        return own_steps(method, options.greedy, options.functions, steps, drafter)
    return policy_steps(steps, plan_round, drafter) if method == POLICY else steps


def time_methods(model: Any, prompt: Sequence[int], options: RaceOptions, stream: Sequence[int]) -> dict[str, Trace]:
    """Continue a prompt with every method, one after the other; the rounds are timed, which begin after the prompt.

    Args:
        model: A SmallLM.
        prompt: At least one token.
        options: Methods, temperature, cap and seed.
        stream: Numbers that identify this prompt; together with the seed they seed each method's generator.

    Returns:
        The texts by method.
    """
    texts = {}
    for method in options.order:
        drafter = _cleared(model, method)
        steps = steps_of(method, options, drafter)
        rng = _generator(options, stream, method)
        texts[method] = _decode(model, drafter, prompt, options, rng, steps)
    return texts


def odds_of_methods(
    model: Any, prompt: Sequence[int], options: RaceOptions, stream: Sequence[int], texts: Mapping[str, Trace]
) -> dict[str, list[RoundOdds]]:
    """Write the texts of `time_methods` once more, untimed, and note the chances of every draft.

    A method whose text comes out differently, as rounding on a GPU may have it, is left out.
    """
    odds = {}
    for method in options.order:
        drafter = _cleared(model, method)
        steps, seen = recording(steps_of(method, options, drafter))
        trace = _decode(model, drafter, prompt, options, _generator(options, stream, method), steps)
        if trace.output == texts[method].output:
            odds[method] = seen
    return odds


def _cleared(model: Any, method: str) -> Any:
    """Empty the caches, and return the method's drafter; None for plain decoding."""
    model.clear()
    return None if method == PLAIN_NAME else model.drafters[drafter_of(method)]


def _generator(options: RaceOptions, stream: Sequence[int], method: str) -> np.random.Generator:
    return np.random.default_rng([options.seed, *stream, (*METHODS, *SMOLLM_DRAFTERS).index(method)])


def _decode(model: Any, drafter: Any, prompt: Sequence[int], options: RaceOptions, rng: Any, steps: Steps) -> Trace:
    stop, most = (model.tokenizer.end,), options.max_new_tokens
    return generate(model.target, drafter, prompt, most, stop, options.temperature, rng, steps)


def acceptance_by_position(rounds: Sequence[Round], block_size: int = BLOCK_SIZE) -> list[float]:
    """Measure conditional acceptance by position, leaving out positions that a round did not decide.

    A round decides a position by accepting or rejecting a draft there. It decides nothing past its own last draft, nor
    past the end of the text.

    Args:
        rounds: Of one method; those without drafts are ignored.
        block_size: γ, the most drafts per round; for trees the most levels.

    Returns:
        γ rates, nan at positions that no round reached.

    Source: DSpark (arXiv 2607.05147): conditional acceptance by position, Figure 2.
    """
    rates = []
    for k in range(1, block_size + 1):
        deciding = [
            r for r in rounds if min(r.accepted, len(r.emitted)) >= k or r.accepted < min(r.depth, len(r.emitted))
        ]
        counts = [min(r.accepted, len(r.emitted)) for r in deciding]
        rates.append(conditional_acceptance(counts, block_size)[k - 1])
    return rates


def enough(count: int, options: RaceOptions, deadline: float) -> bool:
    """Tell whether so many prompts of a domain are as many as were asked for, or as time allows.

    Args:
        count: Prompts that have run.
        options: The options of the race.
        deadline: Of this domain, by time.monotonic().
    """
    if options.prompts is not None:
        return count >= options.prompts
    return count >= MOST_PROMPTS or (count >= FEWEST_PROMPTS and time.monotonic() >= deadline)


def summarise(
    model: Any,
    domain: str,
    prompts: Sequence[Sequence[int]],
    texts: Sequence[Mapping[str, Trace]],
    options: RaceOptions,
) -> list[Run]:
    """Summarise the texts of one domain, one run per method, plain decoding first.

    Args:
        model: The SmallLM that wrote them.
        domain: Name of the domain.
        prompts: At least one prompt.
        texts: For each prompt its texts by method.
        options: The options they were written with.

    Returns:
        JSON data; None means not applicable.
    """
    runs = [_totals(method, domain, [by_method[method] for by_method in texts], options) for method in options.order]
    for run in runs[1:]:
        run["speedup"] = run["tokens_per_second"] / runs[0]["tokens_per_second"]
        spent, step = run["round_seconds"], runs[0]["round_seconds"]["verify"]
        with suppress(NotImplementedError):  # a learner's bundle lacks these figures
            run["expected_speedup"] = speedup(run["tau"], spent["draft"] + spent["head"], spent["verify"], step)
        with suppress(NotImplementedError):
            run["speedup_error"] = _speedup_error(texts, run["method"])
        with suppress(NotImplementedError):
            rates = acceptance_by_position([r for by_method in texts for r in by_method[run["method"]].rounds])
            run["conditional_acceptance"] = [None if math.isnan(rate) else rate for rate in rates]
        if options.greedy:
            pairs = [[by_method[name].output for name in (PLAIN_NAME, run["method"])] for by_method in texts]
            found = [first_difference(model, prompt, *pair) for prompt, pair in zip(prompts, pairs)]
            run["mismatches"] = [{"prompt": i, **mismatch} for i, mismatch in enumerate(found) if mismatch]
            run["identical"] = not run["mismatches"]
    return runs


def _totals(method: str, domain: str, texts: Sequence[Trace], options: RaceOptions) -> Run:
    """Add up the texts of one method; the fields that compare it with plain decoding are still None."""
    rounds = [r for text in texts for r in text.rounds]
    tokens = sum(len(text.output) for text in texts)
    parts = {part: sum(r.seconds.get(part, 0.0) for r in rounds) / len(rounds) for part in PARTS}
    return {
        "method": method,
        "domain": domain,
        "temperature": options.temperature,
        "tau": tokens / len(rounds),
        "conditional_acceptance": None,
        "tokens_per_second": tokens / sum(text.duration for text in texts),
        "speedup": 1.0,
        "speedup_error": None,
        "expected_speedup": None,
        "identical": None,
        "mismatches": None,
        "prompts": len(texts),
        "tokens": tokens,
        "round_seconds": parts,
        "shares": {part: seconds / sum(parts.values()) for part, seconds in parts.items()},
    }


def _speedup_error(texts: Sequence[Mapping[str, Trace]], method: str) -> float | None:
    """Return half the width of the speed-up's 95 % interval; None for a single prompt."""
    if len(texts) < 2:
        return None
    pairs = [[by_method[name] for by_method in texts] for name in (PLAIN_NAME, method)]
    numbers = [values for row in pairs for values in ([len(t.output) for t in row], [t.duration for t in row])]
    found: dict[str, float] = speedup_with_interval(*numbers)
    return found["high"] - found["speedup"]


def first_difference(
    model: Any, prompt: Sequence[int], plain: Sequence[int], other: Sequence[int]
) -> dict[str, Any] | None:
    """Find where a greedy text differs from plain decoding, and the gap between the target's two best logits there."""
    if plain == other:
        return None
    position = next((k for k, (a, b) in enumerate(zip(plain, other)) if a != b), min(len(plain), len(other)))
    model.clear()
    logits = model.target.forward([*prompt, *plain[:position]])[-1]  # (V,)
    second, best = np.partition(logits, -2)[-2:]
    return {"position": position, "gap": float(best - second)}


def verify_ratio(model: Any, context: Sequence[int]) -> float:
    """Measure how much longer the target takes to verify a block than to decode one token; see forward_times."""
    clock = None if getattr(model, "accelerator", None) else time.process_time  # which a busy machine does not disturb
    times = forward_times(model, context, (1, BLOCK_SIZE + 1), clock=clock)
    return times[BLOCK_SIZE + 1] / times[1]


def forward_times(
    model: Any,
    context: Sequence[int],
    sizes: Sequence[int],
    repeats: int = 25,
    clock: Callable[[], float] | None = None,
) -> dict[int, float]:
    """Measure the target's forward, T(n).

    Args:
        model: A SmallLM.
        context: At least one token; the forwards continue it.
        sizes: Numbers of tokens n; they take turns, so that a slow moment of the machine hits all of them.
        repeats: Forwards of each size, after one that is not counted.
        clock: Returns seconds; by default those of the wall.

    Returns:
        Median seconds by n.
    """
    model.clear()
    model.target.forward(list(context))
    times: dict[int, list[float]] = {size: [] for size in sizes}
    now = clock or time.perf_counter
    for _ in range(repeats + 1):
        for size, seconds in times.items():
            start = now()
            model.target.forward([context[0]] * size)
            seconds.append(now() - start)
            model.target.cache.drop(size)
    return {size: float(np.median(seconds[1:])) for size, seconds in times.items()}
