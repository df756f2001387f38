"""Random generators for calls, made from seeds; a seed may carry the first numbers that are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.run.child.wire import Seed


def generator_of(seed: Seed) -> np.random.Generator:
    """Make the generator that a seed stands for."""
    return ScriptedGenerator(seed) if seed.uniforms else np.random.default_rng(seed.value)


class ScriptedGenerator(np.random.Generator):
    """A generator whose first uniform numbers are chosen; after them, and in all other ways, it draws as usual."""

    def __init__(self, seed: Seed) -> None:
        super().__init__(np.random.PCG64(seed.value))
        self.script = list(seed.uniforms)

    def random(self, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Return the next chosen numbers in place of drawn ones; NumPy's choice with probabilities calls it, too."""
        drawn = np.asarray(super().random(size, *args, **kwargs))
        chosen = self.script[: drawn.size]
        del self.script[: drawn.size]
        below_one = np.nextafter(drawn.dtype.type(1), drawn.dtype.type(0))  # single precision must not round up to 1
        drawn.flat[: len(chosen)] = np.minimum(chosen, below_one)
        return drawn.item() if size is None else drawn

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Draw from [low, high) with the next number."""
        shape = np.broadcast(low, high).shape if size is None else size
        return low + (np.asarray(high) - low) * self.random(shape or None)
