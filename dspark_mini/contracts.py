"""What a function takes: one decorator declares the arguments, converts and validates them.

    @takes(block_logits=logits("γ", "V"), anchor_token=token(), markov_bias=bias_rows("V"))
    def dspark_markov_candidates(block_logits, anchor_token, markov_bias): ...

Letters bind sizes across arguments, in the order in which the decorator lists them: after ``logits("γ", "V")`` both γ
and V are known. An argument that is a whole number is a size of its own name. The function receives float64 arrays,
plain ints and floats, and lists of ints.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from dspark_mini.bias_rows import BiasRows, bias_rows
from dspark_mini.conversion import Sizes
from dspark_mini.kinds import (
    Kind,
    chance,
    chance_rows,
    chances,
    generator,
    integer,
    integers,
    logits,
    number,
    numbers,
    one_of,
    parent_nodes,
    probabilities,
    speeds,
    temperature,
    token,
    token_lists,
    tokens,
)
from dspark_mini.violations import spoiled

__all__ = [
    "BiasRows",
    "Contract",
    "bias_rows",
    "chance",
    "chance_rows",
    "chances",
    "generator",
    "integer",
    "integers",
    "logits",
    "number",
    "numbers",
    "one_of",
    "parent_nodes",
    "probabilities",
    "speeds",
    "takes",
    "temperature",
    "token",
    "token_lists",
    "tokens",
]

Rule = Callable[..., None]
R = TypeVar("R")


def takes(*rules: Rule, **kinds: Kind) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Declare the arguments of a function: they are converted and validated before it runs.

    Args:
        rules: functions of some of the arguments, by name, that raise a ValueError where these do not fit together.
        kinds: the kind of each argument, in the order in which they are checked.
    """

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        contract = Contract(inspect.signature(function), kinds, rules)

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> R:
            args, kwargs = contract.apply(args, kwargs)
            return function(*args, **kwargs)

        checked.contract = contract  # type: ignore[attr-defined]
        return checked

    return decorate


class Contract:
    """The kinds of a function's arguments, and the rules that several of them obey together."""

    def __init__(self, signature: inspect.Signature, kinds: Mapping[str, Kind], rules: tuple[Rule, ...] = ()) -> None:
        if unknown := set(kinds) - set(signature.parameters):
            raise TypeError(f"takes() declares {sorted(unknown)}, but the function has {list(signature.parameters)}.")
        self.signature, self.kinds = signature, kinds
        self.rules = [(rule, tuple(inspect.signature(rule).parameters)) for rule in rules]
        self.defaults = {p.name: p.default for p in signature.parameters.values() if p.default is not p.empty}

    def apply(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a call, converted; a ValueError names the first that breaks the contract."""
        bound = self.signature.bind(*args, **kwargs)
        values, sizes = {**self.defaults, **bound.arguments}, Sizes()
        for name, kind in self.kinds.items():
            if values[name] is None and self.defaults.get(name, ...) is None:
                continue
            values[name] = kind(name, values[name], sizes)
            if type(values[name]) is int:
                sizes[name] = values[name]
        for rule, names in self.rules:
            rule(*(values[name] for name in names))
        by_position = list(self.signature.parameters)[: len(args)]
        return tuple(values[name] for name in by_position), {name: values[name] for name in kwargs}

    def violations(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield bad calls made from a good one, for the tests: the argument at fault, and all arguments."""
        good = self.signature.bind(*args, **kwargs).arguments
        for name in good:
            for bad in spoiled(good[name], getattr(self.kinds[name], "bad", ())):
                yield name, {**good, name: bad}
