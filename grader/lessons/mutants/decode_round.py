"""Variants of task 7.2: what learners write for decode_round, wrong and right."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import numpy as np

from dspark_mini.inputs import check_same_length, entries, token_ids, unit_number, unit_numbers, whole_number
from grader.lessons.mutants import right, wrong

TASK = "7.2"
Result = dict[str, Any]


def read(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> tuple[list[int], Any, Any, float]:
    """Check the arguments as the top of the stub does."""
    drafts = token_ids("draft_tokens", draft_tokens)
    values = unit_numbers("confidences", confidences, may_be_empty=True)
    check_same_length("draft_tokens", drafts, "confidences", values)
    least = unit_number("threshold", threshold)
    return drafts, values, entries("target_tokens", target_tokens, len(drafts) + 1), least


def trimmed(values: Any, threshold: float) -> int:
    """Return ℓ."""
    return len(list(takewhile(lambda value: value >= threshold, values)))


def target(targets: Any, k: int) -> int:
    return whole_number(f"target_tokens[{k}]", targets[k], low=0)


def matching(drafts: list[int], targets: Any) -> int:
    """Return how many of the drafts the target confirms."""
    for k, draft in enumerate(drafts):
        if target(targets, k) != draft:
            return k
    return len(drafts)


def result(length: int, accepted: int, tokens: list[int]) -> Result:
    return {
        "verified_rows": 1 + length,
        "accepted": accepted,
        "tokens": tokens,
        "dropped_rows": length - accepted,
    }


def played(drafts: list[int], targets: Any, length: int) -> Result:
    """Verify the first drafts as the task says."""
    accepted = matching(drafts[:length], targets)
    return result(length, accepted, [*drafts[:accepted], target(targets, accepted)])


# --- Wrong: trimming --------------------------------------------------------------------------------------


@wrong(TASK, "trimmed_before_the_forward", "The whole block is verified; confidence only says what to commit.")
def gate_behind_the_forward(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    accepted = min(matching(drafts, targets), trimmed(values, least))
    return result(len(drafts), accepted, [*drafts[:accepted], target(targets, accepted)])


@wrong(TASK, "uncomputed_rows_unseen", "The target's whole row list may be compared, and cut afterwards.")
def compared_first(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    row = [target(targets, k) for k in range(len(targets))]
    return played(drafts, row, trimmed(values, least))


@wrong(TASK, "trimmed_before_the_forward", "Only a confidence above the threshold passes.")
def equal_is_too_low(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    return played(drafts, targets, len(list(takewhile(lambda value: value > least, values))))


@wrong(TASK, "trimmed_before_the_forward", "All confident tokens go, wherever they stand.")
def all_confident_ones(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    return played(drafts, targets, int((values >= least).sum()))


@wrong(TASK, "trimmed_before_the_forward", "The survival is compared with the threshold.")
def survival_compared(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    return played(drafts, targets, trimmed(np.cumprod(values), least))


@wrong(TASK, "nothing_verified_is_plain", "At least one draft is verified, as in task 2.3.")
def at_least_one(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    return played(drafts, targets, min(max(trimmed(values, least), 1), len(drafts)))


@wrong(TASK, "nothing_verified_is_plain", "Without a draft there is no forward.")
def no_forward(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    length = trimmed(values, least)
    return played(drafts, targets, length) if length else played(drafts, targets, 0) | {"verified_rows": 0}


# --- Wrong: verification ----------------------------------------------------------------------------------


@wrong(TASK, "target_decides", "Every draft that equals the target's choice is accepted, also behind a refusal.")
def all_matches(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    length = trimmed(values, least)
    kept = [draft for k, draft in enumerate(drafts[:length]) if draft == target(targets, k)]
    return result(length, len(kept), [*kept, target(targets, len(kept))])


@wrong(TASK, "target_decides", "The correction is the target's last token.")
def last_row_corrects(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    length = trimmed(values, least)
    accepted = matching(drafts[:length], targets)
    return result(length, accepted, [*drafts[:accepted], target(targets, length)])


@wrong(TASK, "target_decides", "There is a bonus token only when the whole block was accepted.")
def no_correction(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    made = played(drafts, targets, trimmed(values, least))
    full = made["accepted"] == made["verified_rows"] - 1
    return made if full else made | {"tokens": made["tokens"][:-1]}


@wrong(TASK, "target_decides", "Target token k belongs to draft k − 1.")
def one_row_late(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    return played(drafts, [*targets[1:], targets[-1]], trimmed(values, least))


@wrong(TASK, "target_decides", "The anchor's row is dropped with the refused ones.")
def anchor_row_dropped(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    made = played(drafts, targets, trimmed(values, least))
    return made | {"dropped_rows": made["dropped_rows"] + 1}


@wrong(TASK, "trimmed_before_the_forward", "The rows to drop are counted from all drafts.")
def dropped_by_drafted(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    made = played(drafts, targets, trimmed(values, least))
    return made | {"dropped_rows": len(drafts) - made["accepted"]}


# --- Wrong: manners ---------------------------------------------------------------------------------------


@wrong(TASK, "plain_types", "NumPy integers are ints.")
def numpy_integers(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    made = played(drafts, targets, trimmed(values, least))
    return made | {"tokens": list(np.array(made["tokens"]))}


@wrong(TASK, "bad_input_raises", "Confidences behind the stop need no look.")
def bad_tail_accepted(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    values = list(np.asarray(confidences, dtype=float).tolist())
    stop = next((k for k, value in enumerate(values) if 0.0 <= value < float(threshold)), len(values))
    values[stop:] = [0.0] * (len(values) - stop)
    drafts, checked, targets, least = read(draft_tokens, values, target_tokens, threshold)
    return played(drafts, targets, trimmed(checked, least))


@wrong(TASK, "input_unchanged", "Trimming may cut the caller's list.")
def input_cut(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    length = trimmed(values, least)
    if isinstance(draft_tokens, list):
        del draft_tokens[length:]
    return played(drafts, targets, length)


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "Trim, then compare, in small functions.")
def in_two_steps(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    return played(drafts, targets, trimmed(values, least))


@right(TASK, "NumPy: argmin of two masks, each with a sentinel.")
def by_masks(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    length = int(np.append(values >= least, False).argmin())
    row = np.array([target(targets, k) for k in range(matching(drafts[:length], targets) + 1)])
    accepted = int(np.append(np.array(drafts[: row.size])[: row.size - 1] == row[:-1], False).argmin())
    return result(length, accepted, row.tolist())


@right(TASK, "A recursive walk.")
def recursive(draft_tokens: Any, confidences: Any, target_tokens: Any, threshold: Any) -> Result:
    drafts, values, targets, least = read(draft_tokens, confidences, target_tokens, threshold)
    length = trimmed(values, least)

    def walk(k: int) -> list[int]:
        said = target(targets, k)
        return [said, *walk(k + 1)] if k < length and said == drafts[k] else [said]

    tokens = walk(0)
    return result(length, len(tokens) - 1, tokens)
