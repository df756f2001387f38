"""The exact law of a random function: every random decision is followed both ways.

The function is called again and again with a stand-in for numpy.random.Generator, whose numbers stay undecided until
they are compared. Each comparison is decided one way now and the other way in a later call; an outcome gets the product
of the probabilities along its branch. Nothing is sampled.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

MOST_CALLS, DRAWS = 20_000, 4_000


def law(run: Callable[[Any], Hashable]) -> dict[Any, float]:
    """Return the probability of every outcome of a random function.

    The law is exact if the function asks its generator for ``random()``, ``uniform()``, ``integers()`` or ``choice()``,
    one number at a time, and only compares, shifts and scales the numbers. Otherwise it is the frequencies in 4,000
    seeded draws.

    Args:
        run: Called with a generator; its result must be hashable: a number, a string, or a tuple of these.

    Returns:
        Outcome → probability, without outcomes of probability 0.
    """
    try:
        return exact_law(run)
    except Exception:  # a use that cannot be followed; an error in the function itself is raised again below
        rng, counts = np.random.default_rng(0), defaultdict[Any, float](float)
        for _ in range(DRAWS):
            counts[run(rng)] += 1.0 / DRAWS
        return dict(counts)


def exact_law(run: Callable[[Any], Hashable]) -> dict[Any, float]:
    """Return the exact law of a random function, or raise a TypeError if it has too many branches."""
    total, script = defaultdict[Any, float](float), list[int]()
    for _ in range(MOST_CALLS):
        coins = _Coins(script)
        outcome = run(coins)
        total[outcome] += math.prod(options[chosen] for options, chosen in zip(coins.seen, coins.script))
        # Advance the last decision that has an option left; all decisions after it are open again.
        script = coins.script
        while script and not any(coins.seen[len(script) - 1][script[-1] + 1 :]):
            script = script[:-1]
        if not script:
            return dict(total)
        last = len(script) - 1
        script = [*script[:-1], _first_possible(coins.seen[last], script[-1] + 1)]
    raise TypeError(f"The function has more than {MOST_CALLS} branches.")


def _first_possible(options: Sequence[float], start: int = 0) -> int:
    return next(i for i in range(start, len(options)) if options[i] > 0.0)


class _Coins:
    """A stand-in for a generator: it decides as the script says, and after that takes the first possible option."""

    def __init__(self, script: list[int]) -> None:
        self.script = list(script)
        self.seen: list[tuple[float, ...]] = []  # the probabilities of the options of each decision

    def decide(self, options: Sequence[float]) -> int:
        """Choose one of several options, whose probabilities sum to 1."""
        self.seen.append(tuple(options))
        if len(self.seen) > len(self.script):
            self.script.append(_first_possible(options))
        return self.script[len(self.seen) - 1]

    def random(self) -> _Number:
        """Return an undecided number between 0 and 1."""
        return _Number(self, [0.0, 1.0], 1.0, 0.0)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> _Number:
        """Return an undecided number between two bounds."""
        return _Number(self, [0.0, 1.0], float(high) - float(low), float(low))

    def integers(self, low: int, high: int | None = None) -> int:
        """Choose a whole number uniformly."""
        first, end = (0, low) if high is None else (low, high)
        return int(first) + self.decide([1.0 / (end - first)] * int(end - first))

    def choice(self, a: Any, *, p: Any = None) -> Any:
        """Choose an entry with the given probabilities."""
        values = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        weights = np.full(len(values), 1.0 / len(values)) if p is None else np.asarray(p, dtype=float)
        return values[self.decide((weights / weights.sum()).tolist())]


class _Number:
    """An undecided number scale · u + shift: only an interval that holds u is known."""

    __array_ufunc__ = None  # NumPy scalars leave arithmetic with it to this class

    def __init__(self, coins: _Coins, interval: list[float], scale: float, shift: float) -> None:
        self.coins, self.interval, self.scale, self.shift = coins, interval, scale, shift

    def _linear(self, factor: Any, term: Any) -> _Number:
        factor, term = float(factor), float(term)
        return _Number(self.coins, self.interval, self.scale * factor, self.shift * factor + term)

    def __add__(self, other: Any) -> _Number:
        return self._linear(1.0, other)

    def __sub__(self, other: Any) -> _Number:
        return self._linear(1.0, -other)

    def __rsub__(self, other: Any) -> _Number:
        return self._linear(-1.0, other)

    def __mul__(self, other: Any) -> _Number:
        return self._linear(other, 0.0)

    def __truediv__(self, other: Any) -> _Number:
        return self._linear(1.0 / other, 0.0)

    __radd__, __rmul__ = __add__, __mul__

    def _below(self, bound: Any) -> bool:
        """Decide whether the number is below a bound; equality has probability 0."""
        if self.scale == 0.0:
            return bool(self.shift < bound)
        low, high = self.interval
        cut = min(max((float(bound) - self.shift) / self.scale, low), high)
        under, over = (cut - low) / (high - low), (high - cut) / (high - low)
        is_under = cut > low and (cut >= high or self.coins.decide((under, over)) == 0)
        self.interval[:] = (low, cut) if is_under else (cut, high)
        return is_under if self.scale > 0.0 else not is_under

    def __lt__(self, bound: Any) -> bool:
        return self._below(bound)

    def __gt__(self, bound: Any) -> bool:
        return not self._below(bound)

    __le__, __ge__ = __lt__, __gt__
