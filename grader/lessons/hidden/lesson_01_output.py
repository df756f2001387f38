"""Lesson 01, verification: oracles and hidden cases of 1.5 and 1.6."""

from collections.abc import Iterator

import numpy as np

from grader.lessons.tasks import Array, Rng, hidden
from grader.run.child.calling import Call, call


# --- 1.5 verification_mask --------------------------------------------------------------------------------------------
def mask(context_length: int, draft_length: int) -> Array:
    """Say for every cell, by the sentences of the task, who sees whom."""
    n = context_length + draft_length
    cells = np.zeros((n, n), dtype=bool)
    for row in range(n):
        for column in range(n):
            among_drafts = row >= context_length and column >= context_length
            cells[row, column] = row - column >= 0 if among_drafts or row < context_length else column < context_length
    return cells


def context_is_causal(rng: Rng) -> Iterator[Call]:
    """One draft or none: everything else is the context."""
    for context in range(2, 12):
        yield call(context, 1)
        yield call(context, 0)


def draft_sees_earlier_and_itself(rng: Rng) -> Iterator[Call]:
    """One context token only: everything else is the draft."""
    for draft in range(2, 12):
        yield call(1, draft)


def draft_sees_whole_context(rng: Rng) -> Iterator[Call]:
    for _ in range(20):
        yield call(int(rng.integers(2, 16)), int(rng.integers(2, 9)))
    yield call(120, 30)


def no_context(rng: Rng) -> Iterator[Call]:
    for draft in range(1, 9):
        yield call(0, draft)


# --- 1.6 cut_output ---------------------------------------------------------------------------------------------------
def cut(tokens: list[int], stop_tokens: list[int], max_new_tokens: int) -> list[int]:
    """The smallest of several ends: of the list, of the cap, and after the first occurrence of each stop token."""
    ends = [tokens.index(stop) + 1 for stop in stop_tokens if stop in tokens]
    return tokens[: min([len(tokens), max_new_tokens, *ends])]


def outputs(rng: Rng, vocabulary: int, cap: int | None = None) -> Iterator[tuple[list[int], list[int], int]]:
    """Tokens, stop tokens and a cap, small enough to meet often."""
    for _ in range(20):
        size = int(rng.integers(1, 12))
        stops = rng.choice(vocabulary, size=int(rng.integers(1, 3)), replace=False).tolist()
        yield rng.integers(vocabulary, size=size).tolist(), stops, cap or int(rng.integers(0, size + 3))


def ends_with_first_stop(rng: Rng) -> Iterator[Call]:
    """Several stop tokens in one output; the cap is out of the way."""
    for tokens, stops, cap in outputs(rng, 4, cap=99):
        yield call(tokens, stops, cap)
    yield call([3, 1, 4, 1, 5], [1], 99)


def any_stop_token_ends(rng: Rng) -> Iterator[Call]:
    """Two stop tokens that both occur, in either order, and not in the order of stop_tokens."""
    for tokens, _, _ in outputs(rng, 6):
        first, second = rng.permutation([6, 7]).tolist()
        mixed = [*tokens, first, *tokens[:2], second, *tokens[:1]]
        yield call(mixed, [6, 7], 99)
        yield call(mixed, [7, 6], 99)


def capped(rng: Rng) -> Iterator[Call]:
    """No stop token occurs: only the cap cuts."""
    for tokens, _, cap in outputs(rng, 5):
        yield call(tokens, [5, 6], cap)
    yield call(rng.integers(1000, size=2000), rng.integers(1000, 2000, size=200), 1999)


def cap_and_stop_together(rng: Rng) -> Iterator[Call]:
    """A stop token at every place, and caps just before it, at it and just after it."""
    for at in range(5):
        tokens = rng.integers(5, size=6).tolist()
        tokens[at] = 9
        for cap in range(max(at - 1, 0), at + 3):
            yield call(tokens, [9], cap)


def nothing_to_cut(rng: Rng) -> Iterator[Call]:
    for tokens, stops, cap in outputs(rng, 4):
        yield call(tokens, [], cap)
        yield call([], stops, cap)
        yield call(tokens, stops, 0)
        yield call(tokens, stops * 2, cap)
    yield call([], [], 0)
    yield call([0, 1, 0], [0], 5)
    yield call([1, 0], [0], 5)


HIDDEN = {
    "1.5": hidden(mask, draft_sees_earlier_and_itself, context_is_causal, draft_sees_whole_context, no_context),
    "1.6": hidden(cut, ends_with_first_stop, any_stop_token_ends, capped, cap_and_stop_together, nothing_to_cut),
}
