"""How checks are written: properties of a graded function, each with its examples, in a few words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dspark_mini.language import N_
from grader.check.comparison import shown
from grader.check.judges import Example, Judge, Law, LawCase, SameSeed, Values, whole_result
from grader.check.manners import PlainTypes, Repeatable, Unchanged
from grader.run.child.calling import Call


@dataclass(frozen=True)
class Property:
    """One thing that must hold, in words for the learner, with its weight in points, a hint and its judge."""

    name: str
    weight: int
    says: str
    hint: str
    judge: Judge
    after_values: bool = False  # counts only where every other property holds

    @property
    def is_empty(self) -> bool:
        """Whether there is no case to try, because the hidden ones were left out of a bundle."""
        return bool(getattr(self.judge, "is_empty", False))


def example(*args: Any, gives: Any, **kwargs: Any) -> Example:
    """Write a visible case as it would be typed: example([[1, 2]], gives=[1])."""
    return Example(Call(args, kwargs), gives)


def values(name: str, weight: int, part: Callable[[Any], Any] = whole_result) -> Callable[..., Property]:
    """A property of the values: values("no_drafts", 1)(says, hint, example(…), …).

    Args:
        name: Of the property.
        weight: In points.
        part: Takes the part that is judged out of a result, and out of an expected one.
    """

    def written(says: str, hint: str, *examples: Example) -> Property:
        return Property(name, weight, says, hint, Values(examples, part=part))

    return written


def law(
    name: str,
    weight: int,
    outcome_of: Callable[[Any], Any],
    samples: int = 2000,
    in_words: Callable[[Any], str] = shown,
) -> Callable[..., Property]:
    """A property of the distribution of a random result: law("bonus", 2, outcome_of)(says, hint, case)."""

    def written(says: str, hint: str, *examples: LawCase) -> Property:
        return Property(name, weight, says, hint, Law(outcome_of, examples, samples=samples, in_words=in_words))

    return written


def same_seed(weight: int, *calls: Call) -> Property:
    """The property that the generator is the only source of chance."""
    says = N_("The same seed gives the same result: all chance comes from rng.")
    hint = N_("Draw with rng.random() or rng.choice(…); np.random and a generator of your own do not repeat.")
    return Property("same_seed_same_result", weight, says, hint, SameSeed(calls))


def manners(returns: str, examples: tuple[Example, ...]) -> tuple[Property, ...]:
    """The properties that every graded function shares; they count where its values are right.

    Args:
        returns: What the result is made of, in words.
        examples: Visible calls.
    """
    return (
        Property(
            "plain_types",
            1,
            f"The result is made of {returns}.",
            N_(
                "Where an array is asked for, return one of this dtype, made by np.array if need be; elsewhere int(x), "
                "float(x) and .tolist() make plain numbers of NumPy's."
            ),
            PlainTypes(examples),
            after_values=True,
        ),
        Property(
            "no_memory",
            1,
            N_("The result depends on the arguments only, not on earlier calls."),
            N_("Create every list and array inside the function; keep nothing in globals or default arguments."),
            Repeatable(examples),
            after_values=True,
        ),
        Property(
            "input_unchanged",
            1,
            N_("The arguments are left as they were."),
            N_(
                "Make a new array (row + bias, row.copy()) and change that; `row += bias` and `row[x] = 0` write into "
                "the caller's."
            ),
            Unchanged(examples),
            after_values=True,
        ),
    )
