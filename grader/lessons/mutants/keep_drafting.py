"""Variants of task 7.4: what learners write for keep_drafting, wrong and right."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import numpy as np

from dspark_mini.inputs import check_same_length, number, whole_number, whole_numbers
from grader.lessons.mutants import right, wrong

TASK = "7.4"


Checked = tuple[list[int], list[int], float, int, int]


def read(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> Checked:
    """Check the arguments as the top of the stub does."""
    blocks = whole_numbers("drafted", drafted, low=0)
    yields = whole_numbers("emitted", emitted, low=1)
    check_same_length("drafted", blocks, "emitted", yields)
    for i, size in enumerate(blocks):
        whole_number(f"emitted[{i}]", yields[i], low=1, high=size + 1)
    least, rounds = number("break_even", break_even), whole_number("patience", patience, low=1)
    return blocks, yields, least, rounds, whole_number("retry_after", retry_after, low=1)


def pause(blocks: list[int]) -> int:
    """Return how many of the last rounds were plain."""
    return len(list(takewhile(lambda size: size == 0, reversed(blocks))))


def run(blocks: list[int]) -> int:
    """Return how many of the last rounds drafted."""
    return len(list(takewhile(lambda size: size > 0, reversed(blocks))))


def decided(blocks: list[int], yields: list[int], least: float, patience: int, retry_after: int) -> bool:
    """Decide as the task says."""
    if pause(blocks):
        return pause(blocks) >= retry_after
    return run(blocks) < patience or sum(yields[-patience:]) / patience >= least


# --- Wrong ------------------------------------------------------------------------------------------------


@wrong(TASK, "low_yield_gives_up", "Drafting goes on only above the break-even.")
def equal_gives_up(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    if pause(blocks):
        return pause(blocks) >= rest
    return run(blocks) < n or sum(yields[-n:]) / n > least


@wrong(TASK, "low_yield_gives_up", "It gives up when all of the last rounds were bad, not their mean.")
def all_bad(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    if pause(blocks):
        return pause(blocks) >= rest
    return run(blocks) < n or max(yields[-n:]) >= least


@wrong(TASK, "low_yield_gives_up", "One bad round is enough.")
def one_bad_round(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    if pause(blocks):
        return pause(blocks) >= rest
    return run(blocks) < n or min(yields[-n:]) >= least


@wrong(TASK, "low_yield_gives_up", "What counts is how many drafts were accepted, without the target's token.")
def accepted_only(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    return decided(blocks, [m - 1 for m in yields], least, n, rest)


@wrong(TASK, "low_yield_gives_up", "It gives up when less than half of the drafts are accepted.")
def by_rate(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, _, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    if pause(blocks):
        return pause(blocks) >= rest
    return run(blocks) < n or sum(yields[-n:]) - n >= 0.5 * sum(blocks[-n:])


@wrong(TASK, "only_recent_rounds_count", "The mean over all rounds is the surest.")
def mean_of_all(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    if pause(blocks):
        return pause(blocks) >= rest
    return run(blocks) < n or sum(yields) / len(yields) >= least


@wrong(TASK, "only_recent_rounds_count", "The first rounds of the request are the ones to look at.")
def first_rounds(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    if pause(blocks):
        return pause(blocks) >= rest
    return run(blocks) < n or sum(yields[:n]) / n >= least


@wrong(TASK, "too_early_to_judge", "The rounds that there are can be judged.")
def judged_at_once(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    if pause(blocks):
        return pause(blocks) >= rest
    recent = yields[-n:]
    return not recent or sum(recent) / len(recent) >= least


@wrong(TASK, "pause_lasts_and_ends", "Whoever gave up once stays with plain decoding.")
def never_again(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    return not pause(blocks) and decided(blocks, yields, least, n, rest)


@wrong(TASK, "pause_lasts_and_ends", "The pause ends one round later.")
def one_round_longer(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    return decided(blocks, yields, least, n, rest + 1)


@wrong(TASK, "pause_lasts_and_ends", "All plain rounds so far make up the pause.")
def all_plain_rounds(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    if pause(blocks):
        return pause(blocks) % rest == 0
    return decided(blocks, yields, least, n, rest)


@wrong(TASK, "second_try_is_fair", "The plain rounds of the pause count as bad rounds.")
def pause_counts(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    if pause(blocks):
        return pause(blocks) >= rest
    return len(blocks) < n or sum(yields[-n:]) / n >= least


@wrong(TASK, "second_try_is_fair", "The last rounds that drafted are judged, those before the pause too.")
def judged_across_the_pause(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    if pause(blocks):
        return pause(blocks) >= rest
    drafting = [m for m, size in zip(yields, blocks) if size]
    return len(drafting) < n or sum(drafting[-n:]) / n >= least


@wrong(TASK, "plain_types", "A NumPy bool is a bool.")
def numpy_bool(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> Any:
    return np.bool_(decided(*read(drafted, emitted, break_even, patience, retry_after)))


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "Two counts of rounds from the end.")
def counted(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    return decided(*read(drafted, emitted, break_even, patience, retry_after))


@right(TASK, "The whole request is played again, round by round, as a state machine over the last run.")
def state_machine(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    drafting, since, recent = True, 0, list[int]()
    for size, count in zip(blocks, yields):
        if (size > 0) != drafting:
            drafting, since, recent = size > 0, 0, []
        since += 1
        recent = [*recent, count][-n:]
    if not drafting:
        return since >= rest
    return since < n or sum(recent) >= least * n


@right(TASK, "NumPy slices and means.")
def numpy_slices(drafted: Any, emitted: Any, break_even: Any, patience: Any, retry_after: Any) -> bool:
    blocks, yields, least, n, rest = read(drafted, emitted, break_even, patience, retry_after)
    sizes, counts = np.array(blocks, dtype=int), np.array(yields, dtype=int)
    if sizes.size and sizes[-1] == 0:
        return bool(sizes.size >= rest and (sizes[-rest:] == 0).all())
    early = sizes.size < n or not (sizes[-n:] > 0).all()
    return bool(early or counts[-n:].mean() >= least)
