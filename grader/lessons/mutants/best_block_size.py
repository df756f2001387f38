"""Variants of task 7.3: what learners write for best_block_size, wrong and right."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import check_same_length, numbers, whole_number, whole_numbers
from grader.lessons.mutants import right, wrong

TASK = "7.3"
Times = NDArray[np.float64]


def read(accepted_counts: Any, verified_counts: Any, round_times: Any) -> tuple[list[int], list[int], Times]:
    """Check the arguments as the top of the stub does."""
    accepted = whole_numbers("accepted_counts", accepted_counts, low=0)
    verified = whole_numbers("verified_counts", verified_counts, low=0)
    check_same_length("accepted_counts", accepted, "verified_counts", verified)
    for i, most in enumerate(verified):
        whole_number(f"accepted_counts[{i}]", accepted[i], low=0, high=most)
    if sum(verified) == 0:
        raise ValueError("verified_counts holds no draft, so there is nothing to learn from.")
    times = numbers("round_times", round_times, low=0.0, above=True)
    if times.size == 0:
        raise ValueError("round_times is empty.")
    return accepted, verified, times


def rate(accepted: list[int], verified: list[int]) -> float:
    """Return α."""
    return sum(accepted) / sum(min(kept + 1, most) for kept, most in zip(accepted, verified))


def fastest(alpha: float, times: Times) -> int:
    """Return the block size of the most tokens per time."""
    return int(np.argmax(np.cumsum(alpha ** np.arange(times.size)) / times))


def chosen(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    """Choose as the task says."""
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    return fastest(rate(accepted, verified), times)


# --- Wrong: the rate --------------------------------------------------------------------------------------


@wrong(TASK, "only_tested_drafts_count", "α is accepted over verified drafts.")
def over_verified(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    return fastest(sum(accepted) / sum(verified), times)


@wrong(TASK, "full_blocks_reject_nothing", "Every round ends with a rejection.")
def one_rejection_a_round(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, _, times = read(accepted_counts, verified_counts, round_times)
    return fastest(sum(accepted) / sum(kept + 1 for kept in accepted), times)


@wrong(TASK, "most_tokens_per_time", "The mean of the rounds' own rates is the rate.")
def mean_of_rates(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    rates = [kept / min(kept + 1, most) for kept, most in zip(accepted, verified) if most]
    return fastest(float(np.mean(rates)), times)


@wrong(TASK, "most_tokens_per_time", "The last round says enough.")
def last_round_only(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    last = next(i for i in reversed(range(len(verified))) if verified[i])
    return fastest(rate(accepted[last : last + 1], verified[last : last + 1]), times)


@wrong(TASK, "only_tested_drafts_count", "What counts is whether the first draft was accepted.")
def first_position_only(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    tried = [kept > 0 for kept, most in zip(accepted, verified) if most]
    longest = times.size - 1 if sum(tried) / len(tried) > 0.5 else 0
    return longest


# --- Wrong: the choice ------------------------------------------------------------------------------------


@wrong(TASK, "most_tokens_per_time", "The longest block yields the most tokens.")
def most_tokens(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    return int(np.argmax(np.cumsum(rate(accepted, verified) ** np.arange(times.size))))


@wrong(TASK, "most_tokens_per_time", "The mean accepted length of the past is the block to draft.")
def mean_accepted_length(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, _, times = read(accepted_counts, verified_counts, round_times)
    return int(min(round(sum(accepted) / len(accepted)) + 1, times.size - 1))


@wrong(TASK, "most_tokens_per_time", "Plain decoding is no block size.")
def never_plain(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    speeds = np.cumsum(rate(accepted, verified) ** np.arange(times.size)) / times
    return int(speeds[1:].argmax()) + 1 if times.size > 1 else 0


@wrong(TASK, "most_tokens_per_time", "The target's own token is left out of the yield.")
def own_token_forgotten(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    return int(np.argmax((np.cumsum(rate(accepted, verified) ** np.arange(times.size)) - 1.0) / times))


@wrong(TASK, "most_tokens_per_time", "Every draft yields α, since the positions are independent.")
def no_products(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    return int(np.argmax((1.0 + rate(accepted, verified) * np.arange(times.size)) / times))


@wrong(TASK, "equal_speeds_take_the_smaller", "Of equal speeds the longer block is the better one.")
def larger_of_equals(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    speeds = np.cumsum(rate(accepted, verified) ** np.arange(times.size)) / times
    return int(times.size - 1 - speeds[::-1].argmax())


@wrong(TASK, "nothing_accepted_nothing_hoped", "Where nothing was accepted, the answer is 0.")
def zero_without_acceptance(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    return fastest(rate(accepted, verified), times) if any(accepted) else 0


@wrong(TASK, "plain_types", "np.argmax returns an int.")
def numpy_integer(accepted_counts: Any, verified_counts: Any, round_times: Any) -> Any:
    return np.int64(chosen(accepted_counts, verified_counts, round_times))


@wrong(TASK, "bad_input_raises", "Without a tested draft, nothing is drafted.")
def no_evidence_no_draft(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    if sum(verified_counts) == 0:
        return 0
    return chosen(accepted_counts, verified_counts, round_times)


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "Two small functions.")
def two_functions(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    return chosen(accepted_counts, verified_counts, round_times)


@right(TASK, "Fractions, and max with a key that prefers the smaller.")
def in_fractions(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    refused = sum(kept < most for kept, most in zip(accepted, verified))
    alpha = Fraction(sum(accepted), sum(accepted) + refused)
    sizes = range(len(times))
    return max(sizes, key=lambda g: (float(sum(alpha**k for k in range(g + 1))) / float(times[g]), -g))


@right(TASK, "A loop that keeps the best so far.")
def best_so_far(accepted_counts: Any, verified_counts: Any, round_times: Any) -> int:
    accepted, verified, times = read(accepted_counts, verified_counts, round_times)
    alpha, tokens, survival = rate(accepted, verified), 0.0, 1.0
    best, speed = 0, 0.0
    for size, seconds in enumerate(times):
        tokens += survival
        survival *= alpha
        if tokens / seconds > speed:
            best, speed = size, tokens / seconds
    return best
