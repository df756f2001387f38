"""The engine on toys, for its tests: fresh models for every text, and the exact distance from the target's law."""

import itertools
from collections.abc import Callable
from typing import Any

from dspark_mini.drafts import softmax
from dspark_mini.engine import Steps, Trace, TreeSteps, generate
from dspark_mini.laws import exact_law
from dspark_mini.toy import Cache, ToyAutoregressiveDrafter, ToyDrafter, ToyTarget

TEMPERATURE = 0.8
DRAFTERS: dict[str, Callable[..., Any]] = {
    "dspark": ToyDrafter,
    "dflash": lambda table, noise, seed: ToyDrafter(table, noise, seed, markov=False),
    "autoregressive": ToyAutoregressiveDrafter,
}


def chains(block_size: int, **steps: Any) -> Steps:
    return Steps(block_size=lambda trace: block_size, **steps)


def trees(levels: int, **steps: Any) -> Steps:
    """Steps that draft trees of at most `levels` levels."""
    return Steps(block_size=lambda trace: levels, tree=TreeSteps(**steps))


def run(
    seed: int, steps: Steps | None, drafter: str = "dspark", noise: float = 0.5, slots: int = 999, **how: Any
) -> Trace:
    """Generate with a fresh toy; steps None is plain decoding."""
    target = ToyTarget.random(6, seed)
    target.cache = Cache(slots)
    model = None if steps is None else DRAFTERS[drafter](target.table, noise, seed + 1)
    how = {"prompt": [1, 2], "max_new_tokens": 20, "stop_tokens": [0]} | how
    trace = generate(target, model, steps=steps or Steps(), **how)
    for cache in (target.cache, *([] if model is None else [model.cache])):
        assert cache.tokens == [*how["prompt"], *trace.output][:-1]
    return trace


def distance(steps: Steps, length: int, cap: int, drafter: str = "dspark") -> float:
    """The total variation between the first tokens of the emitted texts and the target's own, exact."""
    table = ToyTarget.random(3, seed=4, sharpness=1.0).table

    def text(rng: Any) -> tuple[int, ...]:
        model = DRAFTERS[drafter](table, 1.0, 5)
        return tuple(generate(ToyTarget(table), model, [1], cap, (), TEMPERATURE, rng, steps).output[:length])

    law, chances = exact_law(text), dict.fromkeys(itertools.product(range(3), repeat=length), 1.0)
    for tokens in chances:
        for before, last, token in zip((0, 1, *tokens), (1, *tokens), tokens):
            chances[tokens] *= softmax(table[before, last] / TEMPERATURE)[token]
    assert set(law) <= set(chances)
    return 0.5 * sum(abs(law.get(tokens, 0.0) - chance) for tokens, chance in chances.items())
