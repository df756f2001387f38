"""Hidden inputs stay hidden: what a report shows of a function's results comes from a process that knows none of them.

A function could keep the inputs of hidden cases and return them in visible ones, where its results are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol, runtime_checkable

from dspark_mini.language import N_, _
from grader.check.judges import Judge, NotStarted, Session, Stopped
from grader.check.report import PropertyResult
from grader.run.child.calling import Caller

# Stands for evidence that a fresh process does not give again.
CHANGED = N_("another result than at first, once other calls had been made")


@runtime_checkable
class Forgetful(Caller, Protocol):
    """A caller whose process can be exchanged for one that knows no hidden input."""

    def saw_hidden(self) -> None:
        """Note that the process may know hidden inputs."""
        ...

    def restart(self) -> bool:
        """Exchange a process that may know some; tell whether it was one."""
        ...


def with_fresh_evidence(
    judges: Iterable[Judge], results: tuple[PropertyResult, ...], caller: Forgetful, new_session: Callable[[], Session]
) -> tuple[PropertyResult, ...]:
    """Take what is shown of visible cases from a process that has seen no hidden ones; no points change.

    Args:
        judges: The judge of each result.
        results: What a check found out.
        caller: The function that was checked.
        new_session: Begins another check of it, of the visible cases only.
    """
    if any(not result.shows_input and not result.skipped for result in results):
        caller.saw_hidden()
    if not any(result.shows_input for result in results) or not caller.restart():
        return results
    return tuple(
        _again(judge, result, caller, new_session()) if result.shows_input else result
        for judge, result in zip(judges, results)
    )


def _again(judge: Judge, result: PropertyResult, caller: Forgetful, session: Session) -> PropertyResult:
    try:
        again = replace(result, evidence=judge(session) or ())
    except (NotStarted, Stopped):
        again = replace(result, evidence=())
    if again.shows_input:
        return again
    caller.saw_hidden()
    caller.restart()
    return replace(result, evidence=(("got", _(CHANGED)),))
