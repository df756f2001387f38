"""Variants of task 2.3, choose_confident_prefix: the prefix before the first low confidence, clamped."""

from __future__ import annotations

import bisect
import logging
import math
import sys
import warnings
from collections.abc import Iterator
from functools import reduce
from itertools import accumulate, groupby, takewhile
from typing import Any

import numpy as np

from dspark_mini.confidence import choose_confident_prefix
from grader.lessons.mutants import right, wrong

TASK = "2.3"


def checked(confidences: Any, threshold: Any, min_tokens: Any, max_tokens: Any) -> list[float]:
    """Refuse bad input as the reference does, and return the confidences as a list of floats."""
    choose_confident_prefix(confidences, threshold, min_tokens, max_tokens)
    values: list[float] = np.asarray(confidences, dtype=float).tolist()
    return values


def run_of(passes: Any) -> int:
    """Count the true entries before the first false one."""
    return len(list(takewhile(bool, passes)))


def clamped(prefix: int, values: list[float], min_tokens: int, max_tokens: int) -> int:
    """Raise the prefix to min_tokens, then cut it to max_tokens and to the confidences there are."""
    return int(min(max(prefix, min_tokens), max_tokens, len(values)))


# --- Wrong: where the prefix ends -------------------------------------------------------------------------


@wrong(TASK, "first_low_value_stops", "The verify length is the number of high confidences.")
def all_high_values_counted(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(sum(c >= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "first_low_value_stops", "The last high confidence ends the prefix.")
def last_high_value_ends(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    high = [k + 1 for k, c in enumerate(values) if c >= threshold]
    return clamped(high[-1] if high else 0, values, min_tokens, max_tokens)


@wrong(TASK, "first_low_value_stops", "The longest run of high confidences is what counts.")
def longest_run_anywhere(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    runs = [len(list(run)) for high, run in groupby(values, key=lambda c: c >= threshold) if high]
    return clamped(max(runs, default=0), values, min_tokens, max_tokens)


@wrong(TASK, "first_low_value_stops", "Confidences fall, so a binary search finds the stop.")
def binary_search(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    prefix = bisect.bisect_right(values, -threshold, key=lambda c: -c)
    return clamped(prefix, values, min_tokens, max_tokens)


@wrong(TASK, "first_low_value_stops", "The confidences are sorted first, the best in front.")
def sorted_first(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold for c in sorted(values)[::-1]), values, min_tokens, max_tokens)


@wrong(TASK, "first_low_value_stops", "The token at the stop is verified too, since something has to end the prefix.")
def stop_included(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold for c in values) + 1, values, min_tokens, max_tokens)


@wrong(TASK, "first_low_value_stops", "The index of the last passing confidence is the length.")
def index_for_length(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold for c in values) - 1, values, min_tokens, max_tokens)


@wrong(TASK, "clamped_in_order", "The first min_tokens positions need no look, so the search starts behind them.")
def search_behind_min_tokens(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    behind = run_of(c >= threshold for c in values[min_tokens:])
    return clamped(min_tokens + behind, values, min_tokens, max_tokens)


@wrong(TASK, "first_low_value_stops", "One low confidence is an outlier; two in a row end the prefix.")
def two_low_values_stop(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    passes = [c >= threshold for c in values]
    forgiven = [here or after for here, after in zip(passes, [*passes[1:], False])]
    return clamped(run_of(forgiven), values, min_tokens, max_tokens)


@wrong(TASK, "first_low_value_stops", "A confidence is the risk of a token, so high ones end the prefix.")
def high_values_stop(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c <= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "first_low_value_stops", "The answers to the lesson's examples are all that a check can ask for.")
def hard_coded_examples(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    known = {(0.9, 0.8, 0.3, 0.95): 2, (0.1, 0.9): 1, (0.75, 0.75, 0.75, 0.75): 4, (0.75, 0.5, 0.25): 2}
    return known.get(tuple(values), max_tokens)


# --- Wrong: what is compared ------------------------------------------------------------------------------


@wrong(TASK, "each_value_on_its_own", "The product of the confidences so far is what must not be low.")
def running_product(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    survival = accumulate(values, lambda a, b: a * b)
    return clamped(run_of(c >= threshold for c in survival), values, min_tokens, max_tokens)


@wrong(TASK, "all_high_keeps_all", "np.argmax of the low flags is the prefix, also where no flag is set.")
def argmax_without_a_stop(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(int(np.argmax(np.array(values) < threshold)), values, min_tokens, max_tokens)


@wrong(TASK, "all_high_keeps_all", "Some confidence is low in every block, so there is a first low index.")
def index_error_without_a_stop(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    first_low = int(np.where(np.array(values) < threshold)[0][0])
    return clamped(first_low, values, min_tokens, max_tokens)


@wrong(TASK, "first_low_value_stops", "The mean of the confidences so far is what must not be low.")
def running_mean(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    means = [total / k for k, total in enumerate(accumulate(values), start=1)]
    return clamped(run_of(mean >= threshold for mean in means), values, min_tokens, max_tokens)


@wrong(TASK, "each_value_on_its_own", "The farther a token is from the anchor, the higher its threshold.")
def threshold_rises_with_position(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c ** (k + 1) >= threshold for k, c in enumerate(values)), values, min_tokens, max_tokens)


@wrong(TASK, "equal_passes", "A confidence must exceed the threshold.")
def equal_stops(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c > threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "equal_passes", "A confidence is rounded to yes or no before it is compared.")
def confidences_rounded(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(round(c) >= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "equal_passes", "A margin above the threshold guards against rounding.")
def margin_above_threshold(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold + 1e-9 for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "equal_passes", "Equality passes, and so does everything that is nearly equal.")
def near_equality_passes(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    passes = [c > threshold or math.isclose(c, threshold, abs_tol=0.125) for c in values]
    return clamped(run_of(passes), values, min_tokens, max_tokens)


@wrong(TASK, "threshold_zero_and_one", "A threshold of 0 means that none was given.")
def zero_threshold_is_absent(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    limit = threshold or 0.5
    return clamped(run_of(c >= limit for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "threshold_zero_and_one", "A confidence of 0 never passes.")
def zero_confidence_stops(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c and c >= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "threshold_zero_and_one", "At a threshold of 1 nothing can pass.")
def one_lets_nothing_pass(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold and threshold < 1 for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "threshold_zero_and_one", "A threshold must lie strictly between 0 and 1.")
def threshold_at_the_edge_refused(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    if threshold in (0, 1):
        raise ValueError(f"threshold must lie between 0 and 1, not {threshold}.")
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


# --- Wrong: the clamp and the defaults --------------------------------------------------------------------


@wrong(TASK, "clamped_in_order", "min_tokens has the last word, even where there are fewer confidences.")
def minimum_last(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return max(min(run_of(c >= threshold for c in values), max_tokens, len(values)), min_tokens)


@wrong(TASK, "clamped_in_order", "The prefix is never longer than the block, so two limits are enough.")
def numpy_clip_without_length(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return int(np.clip(run_of(c >= threshold for c in values), min_tokens, max_tokens))


@wrong(TASK, "clamped_in_order", "A prefix needs no upper limit but the block itself.")
def maximum_ignored(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return min(max(run_of(c >= threshold for c in values), min_tokens), len(values))


@wrong(TASK, "clamped_in_order", "A prefix of no tokens is possible, whatever min_tokens says.")
def minimum_ignored(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return min(run_of(c >= threshold for c in values), max_tokens)


@wrong(TASK, "clamped_in_order", "min_tokens stands in for an empty prefix only.")
def minimum_for_empty_prefix_only(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return min(run_of(c >= threshold for c in values) or min_tokens, max_tokens, len(values))


@wrong(TASK, "clamped_in_order", "max_tokens is a limit that is not reached, as in range.")
def maximum_excluded(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max(max_tokens - 1, min_tokens))


@wrong(TASK, "clamped_in_order", "min_tokens above the number of confidences is bad input.")
def minimum_above_length_refused(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    if min_tokens > len(values):
        raise ValueError(f"min_tokens is {min_tokens}, but there are only {len(values)} confidences.")
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "clamped_in_order", "min_tokens are verified on top of the prefix.")
def minimum_added(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    beyond = run_of(c >= threshold for c in values[1:]) if values[0] >= threshold else 0
    return clamped(beyond + min_tokens, values, min_tokens, max_tokens)


@wrong(TASK, "clamped_in_order", "A prefix shorter than min_tokens is not worth a forward, so it is dropped.")
def short_prefix_dropped(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    prefix = run_of(c >= threshold for c in values)
    return min(prefix, max_tokens) if prefix >= min_tokens else 0


@wrong(TASK, "defaults_and_keywords", "Without a limit the whole block may be verified.")
def no_default_maximum(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int | None = None) -> int:
    limit = len(confidences) + min_tokens if max_tokens is None else max_tokens
    values = checked(confidences, threshold, min_tokens, limit)
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, limit)


@wrong(TASK, "defaults_and_keywords", "The lesson's limit of 4 tokens is the default.")
def default_of_four(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 4) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "defaults_and_keywords", "The names of parameters are the author's own business.")
def parameters_renamed(confidences: Any, limit: float, least: int = 1, most: int = 8) -> int:
    values = checked(confidences, limit, least, most)
    return clamped(run_of(c >= limit for c in values), values, least, most)


@wrong(TASK, "defaults_and_keywords", "The limits have to be given, so they need no defaults.")
def limits_required(confidences: Any, threshold: float, min_tokens: int, max_tokens: int) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "defaults_and_keywords", "min_tokens is never given by name.")
def minimum_by_name_ignored(confidences: Any, threshold: float, *limits: int, **named: int) -> int:
    min_tokens, max_tokens = limits if len(limits) == 2 else (1, named.get("max_tokens", 8))
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


# --- Wrong: forms, types, memory, inputs ------------------------------------------------------------------


@wrong(TASK, "lists_and_arrays", "Confidences can be compared with the threshold all at once, as arrays can.")
def arrays_only(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of((confidences >= threshold).tolist()), values, min_tokens, max_tokens)


@wrong(TASK, "lists_and_arrays", "An empty sequence is found by `if not confidences`.")
def lists_only(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    if not confidences:
        raise ValueError("confidences is empty.")
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "plain_types", "A sum over a NumPy array is an int.")
def numpy_integer(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> Any:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    prefix = np.cumprod(np.array(values) >= threshold).sum()
    return np.minimum(np.maximum(prefix, min_tokens), min(max_tokens, len(values)))


@wrong(TASK, "plain_types", "A length may be a float, since 2.0 equals 2.")
def float_length(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> float:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    prefix = np.cumprod(np.array(values) >= threshold, dtype=float).sum()
    return float(np.clip(prefix, min_tokens, min(max_tokens, len(values))))


@wrong(TASK, "plain_types", "An array without axes is a number.")
def array_for_int(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> Any:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return np.array(clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens))


@wrong(TASK, "plain_types", "True is as good as 1.")
def bool_for_one(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    length = clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)
    return length if length > 1 else length == 1


passed: list[float] = []


@wrong(TASK, "no_memory", "A list in the module is the place for the confidences that pass.")
def module_level_list(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    passed.extend(takewhile(lambda c: c >= threshold, values))
    return clamped(len(passed), values, min_tokens, max_tokens)


@wrong(TASK, "no_memory", "A list as a default argument starts empty in each call.")
def mutable_default(
    confidences: Any,
    threshold: float,
    min_tokens: int = 1,
    max_tokens: int = 8,
    kept: list[float] = [],  # noqa: B006
) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    for c in values:
        if c < threshold:
            break
        kept.append(c)
    return clamped(len(kept), values, min_tokens, max_tokens)


lengths: dict[float, int] = {}


@wrong(TASK, "no_memory", "One threshold always leads to one length, which can be kept.")
def cache_by_threshold(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    length = clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)
    return lengths.setdefault(threshold, length)


@wrong(TASK, "input_unchanged", "What is behind the stop can be set to 0, for it does not count.")
def low_tail_zeroed(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    prefix = run_of(c >= threshold for c in values)
    for k in range(prefix, len(values)):
        confidences[k] = 0.0
    return clamped(prefix, values, min_tokens, max_tokens)


@wrong(TASK, "input_unchanged", "The caller's sequence can be sorted once the prefix is known.")
def sorted_in_place(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    confidences.sort()
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "input_unchanged", "Confidences may be taken from the front of the caller's list.")
def values_popped(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    rest, prefix = (confidences if isinstance(confidences, list) else list(confidences)), 0
    while rest and rest.pop(0) >= threshold:
        prefix += 1
    return clamped(prefix, values, min_tokens, max_tokens)


@wrong(TASK, "input_unchanged", "The differences to the threshold can be written over the confidences.")
def threshold_subtracted_in_place(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    for k in range(len(values)):
        confidences[k] -= threshold
    return clamped(run_of(c >= 0 for c in confidences), values, min_tokens, max_tokens)


# --- Wrong: bad input and time ----------------------------------------------------------------------------


@wrong(TASK, "bad_input_raises", "NumPy notices bad numbers by itself.")
def no_checks_at_all(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = np.asarray(confidences, dtype=float).tolist()
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "bad_input_raises", "Only what is looked at needs a check, and behind the stop nothing is.")
def checked_up_to_the_stop(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    prefix = run_of(not c < threshold for c in confidences)
    checked(confidences[: prefix + 1], threshold, min_tokens, max_tokens)
    return clamped(prefix, confidences, min_tokens, max_tokens)


@wrong(TASK, "bad_input_raises", "Only what can be verified needs a check, and behind max_tokens nothing can.")
def checked_up_to_max_tokens(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences[: max(max_tokens, 1)], threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "bad_input_raises", "A NaN is smaller than everything, so it ends the prefix.")
def nan_ends_prefix(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    known = [0.0 if c != c else c for c in confidences]
    return choose_confident_prefix(known, threshold, min_tokens, max_tokens)


@wrong(TASK, "bad_input_raises", "`c < 0 or c > 1` finds every bad confidence.")
def nan_slips_through(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    checked(confidences[:1], threshold, min_tokens, max_tokens)
    for k, c in enumerate(confidences):
        if c < 0 or c > 1:
            raise ValueError(f"confidences[{k}] must lie between 0 and 1, not {c}.")
    return clamped(run_of(c >= threshold for c in confidences), confidences, min_tokens, max_tokens)


@wrong(TASK, "bad_input_raises", "Confidences outside [0, 1] are clipped to it.")
def confidences_clipped(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    known = [c if c != c else min(max(c, 0.0), 1.0) for c in confidences]
    return choose_confident_prefix(known, threshold, min_tokens, max_tokens)


@wrong(TASK, "bad_input_raises", "A threshold can be any number: above 1 nothing passes, below 0 everything.")
def threshold_unchecked(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, 0.5, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "bad_input_raises", "A threshold outside [0, 1] means the nearer end of it.")
def threshold_clipped(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    return choose_confident_prefix(confidences, min(max(threshold, 0.0), 1.0), min_tokens, max_tokens)


@wrong(TASK, "bad_input_raises", "No confidences mean that nothing is verified.")
def empty_block_accepted(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    return choose_confident_prefix(confidences, threshold, min_tokens, max_tokens) if len(confidences) else 0


@wrong(TASK, "bad_input_raises", "min_tokens = 0 asks for no least length.")
def minimum_of_zero_accepted(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens or 1, max_tokens)
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "bad_input_raises", "Limits in the wrong order are meant the other way round.")
def limits_swapped(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    low, high = sorted((min_tokens, max_tokens))
    return choose_confident_prefix(confidences, threshold, low, high)


@wrong(TASK, "bad_input_raises", "An assertion is the way to refuse bad input.")
def assertion_for_bad_input(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    assert 1 <= min_tokens <= max_tokens, "min_tokens must lie between 1 and max_tokens."
    return choose_confident_prefix(confidences, threshold, min_tokens, max_tokens)


@wrong(TASK, "bad_input_raises", "A value of the wrong size is a TypeError.")
def type_error_for_bad_input(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    try:
        return choose_confident_prefix(confidences, threshold, min_tokens, max_tokens)
    except ValueError as error:
        raise TypeError(str(error)) from error


@wrong(TASK, "bad_input_raises", "Bad input is reported by a warning and min_tokens.")
def warning_for_bad_input(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    try:
        return choose_confident_prefix(confidences, threshold, min_tokens, max_tokens)
    except ValueError as error:
        warnings.warn(str(error), stacklevel=2)
        return min_tokens


@wrong(TASK, "error_names_offender", "Positions are counted from 1 in a message for people.")
def position_counted_from_one(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    for position, c in enumerate(confidences, start=1):
        if not 0 <= c <= 1:
            raise ValueError(f"The entry {position} of confidences is {c}, which is no chance.")
    return choose_confident_prefix(confidences, threshold, min_tokens, max_tokens)


@wrong(TASK, "error_names_offender", "The value at fault tells enough.")
def value_for_position(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    for c in confidences:
        if not 0 <= c <= 1:
            raise ValueError(f"confidences must not hold {c}.")
    return choose_confident_prefix(confidences, threshold, min_tokens, max_tokens)


@wrong(TASK, "error_names_offender", "The caller knows which argument is meant.")
def argument_left_out(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    try:
        return choose_confident_prefix(confidences, threshold, min_tokens, max_tokens)
    except ValueError as error:
        raise ValueError(str(error).replace("confidences", "the argument")) from error


@wrong(TASK, "error_names_offender", "One sentence fits every kind of bad input.")
def one_sentence_for_all(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    try:
        return choose_confident_prefix(confidences, threshold, min_tokens, max_tokens)
    except ValueError as error:
        raise ValueError("confidences, threshold, min_tokens or max_tokens is bad.") from error


@wrong(TASK, "error_names_offender", "Limits and thresholds are all parts of the confidences.")
def always_the_confidences(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    checked(confidences, 0.5, 1, 8)
    try:
        return choose_confident_prefix(confidences, threshold, min_tokens, max_tokens)
    except ValueError as error:
        raise ValueError("confidences cannot be cut with these settings.") from error


@wrong(TASK, "long_block_in_time", "A recursive call costs nothing, so it can be made twice.")
def rest_counted_twice(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)

    def prefix(start: int) -> int:
        if start == len(values) or values[start] < threshold:
            return 0
        return 1 + prefix(start + 1) if prefix(start + 1) else 1

    return clamped(prefix(0), values, min_tokens, max_tokens)


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "Plain loops and comparisons, with checks and messages of its own.")
def plain_loops(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    if len(confidences) == 0:
        raise ValueError("There are no confidences.")
    for k in range(len(confidences)):
        if not (confidences[k] >= 0 and confidences[k] <= 1):
            raise ValueError(f"Bad number in confidences at index {k}: {confidences[k]}")
    if math.isnan(threshold) or threshold < 0 or threshold > 1:
        raise ValueError("The threshold has to be a chance.")
    if min_tokens < 1:
        raise ValueError("At least one token is verified, so min_tokens is too small.")
    if max_tokens < min_tokens:
        raise ValueError("Please make max_tokens larger than or equal to min_tokens.")
    prefix = 0
    for k in range(len(confidences)):
        if confidences[k] < threshold:
            break
        prefix = prefix + 1
    if prefix < min_tokens:
        prefix = min_tokens
    if prefix > max_tokens:
        prefix = max_tokens
    return len(confidences) if prefix > len(confidences) else prefix


@right(TASK, "itertools.takewhile on the confidences and a sum over ones.")
def taken_while_high(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    prefix = sum(1 for _ in takewhile(lambda c: c >= threshold, values))
    return min(max(prefix, min_tokens), max_tokens, len(values))


@right(TASK, "The first low index, with the length of the block where there is none.")
def first_low_index(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    prefix = next((k for k, c in enumerate(values) if c < threshold), len(values))
    raised = min_tokens if prefix < min_tokens else prefix
    return sorted([raised, max_tokens, len(values)])[0]


@right(TASK, "A cumulative product of booleans, made a plain int at the end.")
def product_of_booleans(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = np.asarray(checked(confidences, threshold, min_tokens, max_tokens))
    return int(np.clip(np.cumprod(values >= threshold).sum(), min_tokens, min(max_tokens, values.size)))


@right(TASK, "np.argmin of the booleans with a false one behind the block.")
def sentinel_behind_block(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = np.asarray(checked(confidences, threshold, min_tokens, max_tokens))
    prefix = int(np.append(values >= threshold, False).argmin())
    return min(max(prefix, min_tokens), max_tokens, values.size)


@right(TASK, "A running minimum, which passes exactly as long as every confidence does.")
def running_minimum(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    prefix = sum(low >= threshold for low in accumulate(values, min))
    return min(max(prefix, min_tokens), max_tokens, len(values))


@right(TASK, "A recursion over the rest of the block.")
def recursive(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    def prefix(values: list[float]) -> int:
        return 1 + prefix(values[1:]) if values and values[0] >= threshold else 0

    values = checked(confidences, threshold, min_tokens, max_tokens)
    return min(max(prefix(values), min_tokens), max_tokens, len(values))


@right(TASK, "A fold over pairs of a count and a flag that says whether the prefix goes on.")
def folded(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)

    def step(state: tuple[int, bool], c: float) -> tuple[int, bool]:
        goes_on = state[1] and c >= threshold
        return state[0] + goes_on, goes_on

    return min(max(reduce(step, values, (0, True))[0], min_tokens), max_tokens, len(values))


@right(TASK, "A generator that yields lengths until a confidence is low; the last one counts.")
def generated_lengths(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)

    def lengths_reached() -> Iterator[int]:
        yield 0
        for length, c in enumerate(values, start=1):
            if c < threshold:
                return
            yield length

    return min(max([*lengths_reached(), min_tokens]), max_tokens, len(values))


@right(TASK, "The longest of all prefixes whose smallest confidence passes.")
def longest_passing_prefix(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    fitting = [n for n in range(len(values) + 1) if min(values[:n], default=1.0) >= threshold]
    return min(max(fitting[-1], min_tokens), max_tokens, len(values))


@right(TASK, "An inspection that ends early: min_tokens are taken unseen, and no more than max_tokens are looked at.")
def grown_from_minimum(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    length, limit = min(min_tokens, len(values)), min(max_tokens, len(values))
    while length < limit and all(c >= threshold for c in values[: length + 1]):
        length += 1
    return length


class Gate:
    """A gate that counts what passes and shuts for good at the first low value."""

    def __init__(self, threshold: float) -> None:
        self.threshold, self.count, self.open = threshold, 0, True

    def feed(self, value: float) -> Gate:
        self.open &= bool(value >= self.threshold)
        self.count += self.open
        return self


@right(TASK, "A class with a state that lives as long as the call.")
def class_with_a_gate(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values, gate = checked(confidences, threshold, min_tokens, max_tokens), Gate(threshold)
    for c in values:
        gate.feed(c)
    return min(max(gate.count, min_tokens), max_tokens, len(values))


@right(TASK, "A signature that takes anything and sorts it out by name.")
def open_signature(confidences: Any, *args: Any, **kwargs: Any) -> int:
    given = {"min_tokens": 1, "max_tokens": 8, **dict(zip(("threshold", "min_tokens", "max_tokens"), args)), **kwargs}
    values = checked(confidences, **given)
    return clamped(run_of(c >= given["threshold"] for c in values), values, given["min_tokens"], given["max_tokens"])


@right(TASK, "Prints, warnings, a log and lines on stderr, all of which are allowed.")
def talkative(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    print("confidences:", confidences, "threshold:", threshold)
    print("to stderr", file=sys.stderr)
    warnings.warn("A warning is no error.", DeprecationWarning, stacklevel=1)
    logging.getLogger(__name__).warning("from %s to %s tokens", min_tokens, max_tokens)
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


class BadConfidence(ValueError):
    """An error of its own kind, which is a ValueError all the same."""


@right(TASK, "A subclass of ValueError, raised from the reference's own error, with other words around it.")
def own_error_class(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    try:
        values = checked(confidences, threshold, min_tokens, max_tokens)
    except ValueError as error:
        raise BadConfidence(f"No prefix can be chosen! The reason: {error}") from error
    return clamped(run_of(c >= threshold for c in values), values, min_tokens, max_tokens)


# --- Wrong: what shows only in numbers that are rare ------------------------------------------------------


@wrong(TASK, "equal_passes", "Rounding deserves some tolerance below the threshold.")
def tolerance_below_threshold(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    values = checked(confidences, threshold, min_tokens, max_tokens)
    return clamped(run_of(c >= threshold - 1e-9 for c in values), values, min_tokens, max_tokens)


@wrong(TASK, "error_names_offender", "The last bad confidence is the one to name.")
def last_offender_named(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    bad = [i for i, c in enumerate(confidences) if np.ndim(c) == 0 and not 0 <= c <= 1]
    if bad:
        raise ValueError(f"confidences[{bad[-1]}] lies outside [0, 1].")
    return choose_confident_prefix(confidences, threshold, min_tokens, max_tokens)


@wrong(TASK, "bad_input_raises", "A matrix of confidences is a list of confidences.")
def matrix_flattened(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    return choose_confident_prefix(np.ravel(confidences), threshold, min_tokens, max_tokens)


SEEN_CONFIDENCES: dict[tuple[float, ...], int] = {}


@wrong(TASK, "no_memory", "The same confidences have the same prefix, whatever the threshold.")
def remembered_by_confidences(confidences: Any, threshold: float, min_tokens: int = 1, max_tokens: int = 8) -> int:
    prefix = choose_confident_prefix(confidences, threshold, min_tokens, max_tokens)
    return SEEN_CONFIDENCES.setdefault(tuple(np.asarray(confidences, dtype=float).tolist()), prefix)
