"""The exact law of a random function: every coin that it tosses is followed both ways.

A function that takes a numpy.random.Generator is called again and again with a stand-in, which hands out
numbers that are not known yet. Only when such a number is compared is it decided, one way now and the other way
in a later call; each outcome gets the product of the probabilities on its way. Nothing is sampled.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

MOST_CALLS, DRAWS = 20_000, 4_000


def law(run: Callable[[Any], Hashable]) -> dict[Any, float]:
    """Return the probability of every outcome of a function of a random generator.

    The law is exact where the function asks its generator for ``random()``, ``uniform()``, ``integers()`` or
    ``choice()``, one number a time, and only compares, shifts and scales the numbers. For any other use it is
    the shares of 4,000 seeded draws.

    Args:
        run: called with a generator; its result must be hashable: a number, a string, or a tuple of such.

    Returns:
        outcome → probability, outcomes of probability 0 left out.
    """
    try:
        return exact_law(run)
    except Exception:  # a use that cannot be followed; an error of the function's own comes again below
        rng, counts = np.random.default_rng(0), defaultdict[Any, float](float)
        for _ in range(DRAWS):
            counts[run(rng)] += 1.0 / DRAWS
        return dict(counts)


def exact_law(run: Callable[[Any], Hashable]) -> dict[Any, float]:
    """Return the law of a function as law does, or raise a TypeError where its chances cannot be followed."""
    total, script = defaultdict[Any, float](float), list[int]()
    for _ in range(MOST_CALLS):
        coins = _Coins(script)
        outcome = run(coins)
        total[outcome] += math.prod(options[chosen] for options, chosen in zip(coins.seen, coins.script))
        # The last coin with a way not yet taken is turned; what comes behind it is open again.
        script = coins.script
        while script and not any(coins.seen[len(script) - 1][script[-1] + 1 :]):
            script = script[:-1]
        if not script:
            return dict(total)
        last = len(script) - 1
        script = [*script[:-1], _first_possible(coins.seen[last], script[-1] + 1)]
    raise TypeError(f"The function has more than {MOST_CALLS} ways to run.")


def _first_possible(options: Sequence[float], start: int = 0) -> int:
    return next(i for i in range(start, len(options)) if options[i] > 0.0)


class _Coins:
    """Stands in for a generator: decides as the script says, then takes the first way that is possible."""

    def __init__(self, script: list[int]) -> None:
        self.script = list(script)
        self.seen: list[tuple[float, ...]] = []  # the probabilities of the ways at each decision

    def decide(self, options: Sequence[float]) -> int:
        """Take one of several ways, whose probabilities sum to 1."""
        self.seen.append(tuple(options))
        if len(self.seen) > len(self.script):
            self.script.append(_first_possible(options))
        return self.script[len(self.seen) - 1]

    def random(self) -> _Number:
        """Hand out a number between 0 and 1 that is not known yet."""
        return _Number(self, [0.0, 1.0], 1.0, 0.0)

    def uniform(self, low: float = 0.0, high: float = 1.0) -> _Number:
        """Hand out a number between two bounds that is not known yet."""
        return _Number(self, [0.0, 1.0], float(high) - float(low), float(low))

    def integers(self, low: int, high: int | None = None) -> int:
        """Decide which of some whole numbers it is; all are equally likely."""
        first, end = (0, low) if high is None else (low, high)
        return int(first) + self.decide([1.0 / (end - first)] * int(end - first))

    def choice(self, a: Any, *, p: Any = None) -> Any:
        """Decide which entry it is, with the probabilities given."""
        values = np.arange(a) if np.ndim(a) == 0 else np.asarray(a)
        weights = np.full(len(values), 1.0 / len(values)) if p is None else np.asarray(p, dtype=float)
        return values[self.decide((weights / weights.sum()).tolist())]


class _Number:
    """A number scale · u + shift, of which is known only in which interval u lies."""

    __array_ufunc__ = None  # NumPy's scalars leave their operations with such a number to it

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
        """Decide whether the number lies below a bound; that it equals it has probability 0."""
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
