"""Variants of the draft record: what learners write for build_draft_record, wrong and right."""

from __future__ import annotations

import itertools
import operator
import sys
import warnings
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

import numpy as np

from dspark_mini.confidence import choose_confident_prefix
from dspark_mini.inputs import token_ids, unit_number, unit_numbers
from dspark_mini.records import build_draft_record
from grader.lessons.mutants import right, wrong

Record = dict[str, Any]
MODES = ("dflash", "dspark")


def _read(
    mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int
) -> tuple[list[int], list[float]]:
    """Check every argument as the notebook's stub and task 2.3 do; return the tokens and the confidences."""
    good = build_draft_record(mode, candidates, confidences, threshold, max_tokens)
    return good["block_tokens"], unit_numbers("confidences", confidences).tolist()


def _record(mode: str, block: Any, budget: Any) -> Record:
    """Write the five keys down."""
    return {
        "mode": mode,
        "block_tokens": block,
        "verify_tokens": block[:budget],
        "proposed": len(block),
        "verify_budget": budget,
    }


def _run_above(values: list[float], threshold: float) -> int:
    """Count the confidences before the first one below the threshold."""
    return next((k for k, value in enumerate(values) if value < threshold), len(values))


# --- Wrong: what the record holds --------------------------------------------------------------------


@wrong("record", "all_five_keys", "The budget of a block is its whole length, and only the tokens are trimmed.")
def budget_not_trimmed(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    budget = choose_confident_prefix(values, threshold, 1, max_tokens)
    return _record(mode, block, budget) | {"verify_budget": len(block)}


@wrong("record", "all_five_keys", "The target gets all the tokens and reads from the budget how many of them it needs.")
def tokens_not_trimmed(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    budget = choose_confident_prefix(values, threshold, 1, max_tokens)
    return _record(mode, block, budget) | {"verify_tokens": block}


@wrong("record", "all_five_keys", "What is not verified is not part of the block.")
def block_trimmed_too(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    budget = choose_confident_prefix(values, threshold, 1, max_tokens)
    return _record(mode, block, budget) | {"block_tokens": block[:budget]}


@wrong("record", "all_five_keys", "Proposed counts what is proposed to the target, not what was drafted.")
def proposed_counts_verified(
    mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8
) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    budget = choose_confident_prefix(values, threshold, 1, max_tokens)
    return _record(mode, block, budget) | {"proposed": budget}


@wrong("record", "all_five_keys", "A second name for a list is a second list, and deleting from it leaves the first.")
def two_names_one_list(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    budget = choose_confident_prefix(values, threshold, 1, max_tokens)
    record = _record(mode, block, budget)
    record["verify_tokens"] = record["block_tokens"]
    del record["verify_tokens"][budget:]
    return record


@wrong("record", "all_five_keys", "The newest tokens of the block are the ones to verify.")
def last_tokens_verified(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    budget = choose_confident_prefix(values, threshold, 1, max_tokens)
    return _record(mode, block, budget) | {"verify_tokens": block[-budget:]}


@wrong("record", "all_five_keys", "The keys may be called like the arguments they come from.")
def keys_named_after_arguments(
    mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8
) -> Record:
    record = dict(build_draft_record(mode, candidates, confidences, threshold, max_tokens))
    record["candidates"] = record.pop("block_tokens")
    return record


@wrong("record", "all_five_keys", "Lengths need no keys of their own, because they follow from the lists.")
def lengths_left_out(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    budget = choose_confident_prefix(values, threshold, 1, max_tokens)
    return {"mode": mode, "block_tokens": block, "verify_tokens": block[:budget]}


@wrong("record", "all_five_keys", "A confident token is as good as accepted, so the record can say so.")
def acceptance_recorded(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    budget = choose_confident_prefix(values, threshold, 1, max_tokens)
    return _record(mode, block, budget) | {"accepted": budget}


# --- Wrong: how the budget is found ------------------------------------------------------------------


@wrong("record", "budget_is_confident_prefix", "Every token whose confidence reaches the threshold is verified.")
def filter_not_prefix(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    passing = [token for token, value in zip(block, values, strict=True) if value >= threshold][:max_tokens]
    kept = passing or block[:1]
    return _record(mode, block, len(kept)) | {"verify_tokens": kept}


@wrong("record", "budget_is_confident_prefix", "The budget goes to the most confident tokens, wherever they stand.")
def best_tokens_verified(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    budget = choose_confident_prefix(values, threshold, 1, max_tokens)
    ranked = sorted(range(len(block)), key=lambda k: -values[k])
    return _record(mode, block, budget) | {"verify_tokens": [block[k] for k in ranked[:budget]]}


@wrong("record", "budget_is_confident_prefix", "DFlash has no confidence head, so in its mode everything is verified.")
def dflash_untrimmed(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    if mode == "dflash":
        return _record(mode, block, min(len(block), max_tokens))
    return _record(mode, block, choose_confident_prefix(values, threshold, 1, max_tokens))


@wrong("record", "budget_is_confident_prefix", "A confidence has to exceed the threshold.")
def tie_ends_the_budget(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    run = len(list(itertools.takewhile(lambda value: value > threshold, values)))
    return _record(mode, block, min(max(run, 1), max_tokens))


@wrong("record", "budget_is_confident_prefix", "A first token of low confidence leaves nothing to verify.")
def budget_of_nothing(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    return _record(mode, block, min(_run_above(values, threshold), max_tokens))


@wrong("record", "budget_is_confident_prefix", "The threshold alone sets the budget, and max_tokens is a hint.")
def budget_without_cap(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    return _record(mode, block, max(_run_above(values, threshold), 1))


@wrong("record", "budget_is_confident_prefix", "The token that falls below the threshold still goes to the target.")
def stopping_token_included(
    mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8
) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    return _record(mode, block, min(_run_above(values, threshold) + 1, max_tokens, len(block)))


@wrong("record", "budget_is_confident_prefix", "The product of the confidences has to reach the threshold.")
def survival_compared(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    survival = list(itertools.accumulate(values, operator.mul))
    return _record(mode, block, min(max(_run_above(survival, threshold), 1), max_tokens))


@wrong("record", "budget_is_confident_prefix", "A function that returns the examples' results is a solution.")
def examples_by_heart(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, _ = _read(mode, candidates, confidences, threshold, max_tokens)
    known = {(4, 5, 6): 2, (7, 7): 1, (3, 1, 2): 2}
    return _record(mode, block, known.get(tuple(block), min(len(block), max_tokens)))


# --- Wrong: the signature ----------------------------------------------------------------------------


@wrong("record", "defaults_and_keywords", "The default budget is the paper's block of seven.")
def seven_by_default(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 7) -> Record:
    return dict(build_draft_record(mode, candidates, confidences, threshold, max_tokens))


@wrong("record", "defaults_and_keywords", "Without max_tokens there is no limit.")
def no_limit_by_default(
    mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int | None = None
) -> Record:
    limit = max(len(candidates), 1) if max_tokens is None else max_tokens
    return dict(build_draft_record(mode, candidates, confidences, threshold, limit))


@wrong("record", "defaults_and_keywords", "Every call says how many tokens it allows.")
def limit_always_given(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int) -> Record:
    return dict(build_draft_record(mode, candidates, confidences, threshold, max_tokens))


@wrong("record", "defaults_and_keywords", "Arguments go by position, so their names are free.")
def threshold_renamed(mode: str, candidates: Any, confidences: Any, cutoff: float, max_tokens: int = 8) -> Record:
    return dict(build_draft_record(mode, candidates, confidences, cutoff, max_tokens))


# --- Wrong: types, forms of the arguments, memory ----------------------------------------------------


@wrong("record", "plain_types", "Tokens that will not change are best kept in tuples.")
def tuples_of_tokens(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    return _record(mode, tuple(block), choose_confident_prefix(values, threshold, 1, max_tokens))


@wrong("record", "plain_types", "A list made of an array holds plain ints.")
def list_of_numpy_ints(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    return _record(mode, list(np.array(block)), choose_confident_prefix(values, threshold, 1, max_tokens))


@wrong("record", "plain_types", "Lists and arrays are interchangeable in a result too.")
def arrays_of_tokens(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    return _record(mode, np.array(block), choose_confident_prefix(values, threshold, 1, max_tokens))


@wrong("record", "plain_types", "What NumPy counts is an int like any other.")
def budget_counted_by_numpy(
    mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8
) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    run = np.logical_and.accumulate(np.array(values) >= threshold).sum()
    return _record(mode, block, np.clip(run, 1, max_tokens))


@wrong("record", "lists_and_arrays", "An argument without entries is false, and any other is true.")
def truth_of_candidates(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    if not candidates:
        raise ValueError("candidates is empty.")
    return dict(build_draft_record(mode, candidates, confidences, threshold, max_tokens))


@wrong("record", "lists_and_arrays", "Confidences come from NumPy, so they can be compared all at once.")
def only_array_confidences(
    mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8
) -> Record:
    block, _ = _read(mode, candidates, confidences, threshold, max_tokens)
    low = np.flatnonzero(~(confidences >= threshold))
    run = int(low[0]) if low.size else len(block)
    return _record(mode, block, min(max(run, 1), max_tokens))


@wrong("record", "no_memory", "A list in the signature is new in every call.")
def tokens_pile_up(
    mode: str,
    candidates: Any,
    confidences: Any,
    threshold: float,
    max_tokens: int = 8,
    block: list[int] = [],  # noqa: B006
) -> Record:
    tokens, values = _read(mode, candidates, confidences, threshold, max_tokens)
    block.extend(tokens)
    return _record(mode, block, choose_confident_prefix(values, threshold, 1, max_tokens))


@wrong("record", "input_unchanged", "Confidences are not kept, so their running minimum may overwrite them.")
def minimum_written_back(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, _ = _read(mode, candidates, confidences, threshold, max_tokens)
    for k in range(1, len(block)):
        confidences[k] = min(confidences[k], confidences[k - 1])
    run = sum(bool(value >= threshold) for value in confidences)
    return _record(mode, block, min(max(run, 1), max_tokens))


@wrong("record", "input_unchanged", "What is not verified has to be struck out in the drafter's own list.")
def rest_struck_out(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    budget = choose_confident_prefix(values, threshold, 1, max_tokens)
    for k in range(budget, len(block)):
        candidates[k] = -1
    return _record(mode, block, budget)


# --- Wrong: bad input --------------------------------------------------------------------------------


@wrong("record", "bad_input_raises", "The mode is a label, and any label will do.")
def any_mode_passes(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    return dict(build_draft_record("dspark", candidates, confidences, threshold, max_tokens)) | {"mode": mode}


@wrong("record", "bad_input_raises", "A mode in capitals means the same mode.")
def capitals_forgiven(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    return dict(build_draft_record(mode.lower(), candidates, confidences, threshold, max_tokens))


@wrong("record", "bad_input_raises", "An unknown mode is a reason to do nothing.")
def unknown_mode_gives_nothing(
    mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8
) -> Record | None:
    if mode not in MODES:
        return None
    return dict(build_draft_record(mode, candidates, confidences, threshold, max_tokens))


@wrong("record", "bad_input_raises", "Whatever raises an exception on bad input has raised the right one.")
def mode_asserted(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    assert mode in MODES, f"mode is {mode!r}"
    return dict(build_draft_record(mode, candidates, confidences, threshold, max_tokens))


@wrong("record", "bad_input_raises", "Zipping candidates and confidences takes care of their lengths.")
def lengths_cut_by_zip(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    pairs = list(zip(candidates, confidences, strict=False))
    tokens, values = [token for token, _ in pairs], [value for _, value in pairs]
    return dict(build_draft_record(mode, tokens, values, threshold, max_tokens))


@wrong("record", "bad_input_raises", "A negative token id counts from the end of the vocabulary.")
def negative_tokens_pass(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block = [int(token) for token in candidates]
    _, values = _read(mode, [abs(token) for token in block], confidences, threshold, max_tokens)
    return _record(mode, block, choose_confident_prefix(values, threshold, 1, max_tokens))


@wrong("record", "bad_input_raises", "Confidences behind the stop are never used, so they need no check.")
def tail_left_unchecked(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    limit = unit_number("threshold", threshold)
    stop = next((k + 1 for k, value in enumerate(confidences) if value < limit), len(confidences))
    checked = [float(value) for value in confidences[:stop]] + [0.0] * (len(confidences) - stop)
    return dict(build_draft_record(mode, candidates, checked, limit, max_tokens))


@wrong("record", "bad_input_raises", "A confidence that is a little outside [0, 1] is rounding, so it is clipped.")
def record_clips(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    return dict(build_draft_record(mode, candidates, np.clip(confidences, 0.0, 1.0), threshold, max_tokens))


@wrong("record", "error_names_offender", "It is enough to say that some token is negative.")
def negative_token_somewhere(
    mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8
) -> Record:
    if any(token < 0 for token in candidates):
        raise ValueError("candidates must not hold a negative token.")
    return dict(build_draft_record(mode, candidates, confidences, threshold, max_tokens))


@wrong("record", "error_names_offender", "People count from one, so the message does too.")
def token_counted_from_one(
    mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8
) -> Record:
    for position, token in enumerate(candidates, start=1):
        if token < 0:
            raise ValueError(f"candidates[{position}] must not be negative.")
    return dict(build_draft_record(mode, candidates, confidences, threshold, max_tokens))


@wrong("record", "error_names_offender", "The message that Python gives to a failed search explains itself.")
def mode_searched_for(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    known = MODES[MODES.index(mode)]
    return dict(build_draft_record(known, candidates, confidences, threshold, max_tokens))


# --- Right, in many styles ---------------------------------------------------------------------------


class _Typed(TypedDict):
    mode: str
    block_tokens: list[int]
    verify_tokens: list[int]
    proposed: int
    verify_budget: int


@dataclass
class _Draft:
    mode: str
    block_tokens: list[int]
    verify_tokens: list[int]
    proposed: int
    verify_budget: int


@right("record", "The record is a dataclass, turned into a dict at the end.")
def record_as_dataclass(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    budget = choose_confident_prefix(values, threshold, 1, max_tokens)
    return asdict(_Draft(mode, block, block[:budget], len(block), budget))


@right("record", "The record is a TypedDict called like a constructor, its keys in another order.")
def record_as_typed_dict(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> _Typed:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    verify = block[: choose_confident_prefix(values, threshold, max_tokens=max_tokens)]
    return _Typed(verify_budget=len(verify), proposed=len(block), verify_tokens=verify, block_tokens=block, mode=mode)


@right("record", "All by hand: its own checks in its own words, plain loops, no NumPy.")
def record_by_hand(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    if mode != "dflash" and mode != "dspark":
        raise ValueError(f"I do not know the mode {mode}.")
    if len(candidates) != len(confidences) or len(candidates) == 0:
        raise ValueError("There must be as many confidences as candidates, and some of them.")
    for i in range(len(candidates)):
        if candidates[i] < 0:
            raise ValueError(f"Position {i} of candidates is negative: {candidates[i]}")
        if not 0 <= confidences[i] <= 1:
            raise ValueError(f"Position {i} of confidences lies outside the unit interval: {confidences[i]}")
    if not 0 <= threshold <= 1 or max_tokens < 1:
        raise ValueError(f"Impossible threshold {threshold} or max_tokens {max_tokens}")
    verify: list[int] = []
    for i in range(min(len(candidates), max_tokens)):
        if i > 0 and min(confidences[0], confidences[i]) < threshold:
            break
        verify.append(int(candidates[i]))
    return _record(mode, [int(token) for token in candidates], len(verify)) | {"verify_tokens": verify}


@right("record", "The prefix is taken by itertools.takewhile, the dict is zipped from keys and values.")
def record_by_takewhile(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    pairs = itertools.takewhile(lambda pair: pair[1] >= threshold, zip(block, values, strict=True))
    verify = ([token for token, _ in pairs] or block[:1])[:max_tokens]
    keys = ("mode", "block_tokens", "verify_tokens", "proposed", "verify_budget")
    return dict(zip(keys, (mode, block, verify, len(block), len(verify)), strict=True))


@right("record", "The budget is the number of running minima that reach the threshold, counted by NumPy.")
def record_by_running_minimum(
    mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8
) -> Record:
    _, values = _read(mode, candidates, confidences, threshold, max_tokens)
    run = int(np.count_nonzero(np.minimum.accumulate(values) >= threshold))
    return _record(mode, np.asarray(candidates).tolist(), int(np.clip(run, 1, max_tokens)))


@right("record", "The budget is found by recursion, one confidence at a time.")
def record_by_recursion(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)

    def run(k: int) -> int:
        return k if k == min(len(values), max_tokens) or values[k] < threshold else run(k + 1)

    return _record(mode, block, max(run(0), 1))


@right("record", "It prints what it does to stderr and warns of a trimmed block.")
def record_that_talks(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    block, values = _read(mode, candidates, confidences, threshold, max_tokens)
    budget = choose_confident_prefix(values, threshold, 1, max_tokens)
    print(f"{mode}: {budget} of {len(block)} tokens", file=sys.stderr)
    if budget < len(block):
        warnings.warn("The block is trimmed.", stacklevel=2)
    return _record(mode, block, budget)


@right("record", "It is written with a match statement and fills an empty dict key by key.")
def record_key_by_key(mode: str, candidates: Any, confidences: Any, threshold: float, max_tokens: int = 8) -> Record:
    record: Record = {}
    match mode:
        case "dflash" | "dspark":
            record["mode"] = mode
        case _:
            raise ValueError(f"mode: {mode!r} is neither dflash nor dspark.")
    record["block_tokens"], values = token_ids("candidates", candidates), unit_numbers("confidences", confidences)
    record["proposed"] = len(record["block_tokens"])
    if record["proposed"] != len(values):
        raise ValueError(f"candidates and confidences differ in length: {record['proposed']} and {len(values)}.")
    record["verify_budget"] = choose_confident_prefix(values, threshold, 1, max_tokens)
    record["verify_tokens"] = [*record["block_tokens"]][slice(record["verify_budget"])]
    return record
