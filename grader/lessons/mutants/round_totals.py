"""Variants of task 7.5: what learners write for round_totals, wrong and right."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from dspark_mini.inputs import check_same_length, whole_number, whole_numbers
from grader.lessons.mutants import right, wrong

TASK = "7.5"
Totals = dict[str, Any]
Counts = list[int]


def read(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> tuple[Counts, Counts, Counts, Counts]:
    """Check the arguments as the top of the stub does."""
    blocks = whole_numbers("drafted", drafted, low=0)
    seen = whole_numbers("verified", verified, low=0)
    kept = whole_numbers("accepted", accepted, low=0)
    out = whole_numbers("emitted", emitted, low=1)
    for name, counts in (("verified", seen), ("accepted", kept), ("emitted", out)):
        check_same_length("drafted", blocks, name, counts)
    for i in range(len(blocks)):
        whole_number(f"verified[{i}]", seen[i], low=0, high=blocks[i])
        whole_number(f"accepted[{i}]", kept[i], low=0, high=seen[i])
        least = 1 if i == len(blocks) - 1 else kept[i] + 1
        whole_number(f"emitted[{i}]", out[i], low=least, high=kept[i] + 1)
    return blocks, seen, kept, out


def summed(blocks: Counts, seen: Counts, kept: Counts, out: Counts) -> Totals:
    """Sum up as the task says."""
    return {
        "rounds": len(blocks),
        "drafted": sum(blocks),
        "trimmed": sum(blocks) - sum(seen),
        "rejected": sum(seen) - sum(kept),
        "accepted": sum(kept),
        "emitted": sum(out),
        "cut": sum(kept) + len(blocks) - sum(out),
        "tau": sum(out) / len(blocks) if blocks else math.nan,
    }


# --- Wrong ------------------------------------------------------------------------------------------------


@wrong(TASK, "sums_of_whole_rounds", "A round rejects one draft, the first that differs.")
def one_rejection_a_round(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    blocks, seen, kept, out = read(drafted, verified, accepted, emitted)
    return summed(blocks, seen, kept, out) | {"rejected": sum(k < s for k, s in zip(kept, seen))}


@wrong(TASK, "sums_of_whole_rounds", "τ is the number of accepted drafts a round.")
def tau_without_bonus(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    blocks, seen, kept, out = read(drafted, verified, accepted, emitted)
    return summed(blocks, seen, kept, out) | {"tau": sum(kept) / len(blocks) if blocks else math.nan}


@wrong(TASK, "sums_of_whole_rounds", "The target's own tokens are accepted tokens too.")
def bonus_accepted(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    blocks, seen, kept, out = read(drafted, verified, accepted, emitted)
    return summed(blocks, seen, kept, out) | {"accepted": sum(kept) + len(blocks)}


@wrong(TASK, "trimmed_is_not_rejected", "What was not accepted was rejected.")
def trimmed_rejected(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    blocks, seen, kept, out = read(drafted, verified, accepted, emitted)
    return summed(blocks, seen, kept, out) | {"rejected": sum(blocks) - sum(kept)}


@wrong(TASK, "trimmed_is_not_rejected", "Only verified drafts were drafted.")
def drafted_is_verified(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    blocks, seen, kept, out = read(drafted, verified, accepted, emitted)
    return summed(blocks, seen, kept, out) | {"drafted": sum(seen)}


@wrong(TASK, "cut_tokens_are_not_emitted", "τ counts what the rounds made, tokens behind the end too.")
def tau_with_cut_tokens(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    blocks, seen, kept, out = read(drafted, verified, accepted, emitted)
    tau = (sum(kept) + len(blocks)) / len(blocks) if blocks else math.nan
    return summed(blocks, seen, kept, out) | {"tau": tau}


@wrong(TASK, "cut_tokens_are_not_emitted", "Accepted drafts and one token a round are what was emitted.")
def emitted_recounted(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    blocks, seen, kept, out = read(drafted, verified, accepted, emitted)
    return summed(blocks, seen, kept, out) | {"emitted": sum(kept) + len(blocks)}


@wrong(TASK, "cut_tokens_are_not_emitted", "Only accepted drafts can be cut.")
def cut_drafts_only(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    blocks, seen, kept, out = read(drafted, verified, accepted, emitted)
    return summed(blocks, seen, kept, out) | {"cut": max(sum(kept) + len(blocks) - sum(out) - 1, 0)}


@wrong(TASK, "no_rounds_no_rate", "Without rounds τ is 0.")
def zero_tau(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    found = summed(*read(drafted, verified, accepted, emitted))
    return found if found["rounds"] else found | {"tau": 0.0}


@wrong(TASK, "no_rounds_no_rate", "There is always a round.")
def divides_by_zero(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    blocks, seen, kept, out = read(drafted, verified, accepted, emitted)
    return summed(blocks, seen, kept, out) | {"tau": sum(out) / len(blocks)}


@wrong(TASK, "plain_types", "np.sum returns ints.")
def numpy_sums(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    blocks, seen, kept, out = read(drafted, verified, accepted, emitted)
    return summed(blocks, seen, kept, out) | {"drafted": np.sum(blocks, dtype=int)}


@wrong(TASK, "bad_input_raises", "Counts that cannot be are summed up like all others.")
def no_checks(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    return summed(*(np.asarray(counts, dtype=int).tolist() for counts in (drafted, verified, accepted, emitted)))


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "Plain sums.")
def plain_sums(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    return summed(*read(drafted, verified, accepted, emitted))


@right(TASK, "A Counter that is fed round by round.")
def counter(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    names = ("rounds", "drafted", "trimmed", "rejected", "accepted", "emitted", "cut")
    found = Counter(dict.fromkeys(names, 0))
    for blocks, seen, kept, out in zip(*read(drafted, verified, accepted, emitted)):
        found.update(rounds=1, drafted=blocks, trimmed=blocks - seen, rejected=seen - kept)
        found.update(accepted=kept, emitted=out, cut=kept + 1 - out)
    tau = found["emitted"] / found["rounds"] if found["rounds"] else float("nan")
    return {**found, "tau": tau}


@right(TASK, "One matrix, its differences, and .tolist().")
def matrix(drafted: Any, verified: Any, accepted: Any, emitted: Any) -> Totals:
    table = np.array(read(drafted, verified, accepted, emitted), dtype=int).reshape(4, -1)
    blocks, seen, kept, out = table.sum(axis=1).tolist()
    rounds = table.shape[1]
    return {
        "cut": kept + rounds - out,
        "tau": np.divide(out, rounds) if rounds else np.float64("nan"),
        "rounds": rounds,
        "drafted": blocks,
        "trimmed": blocks - seen,
        "rejected": seen - kept,
        "accepted": kept,
        "emitted": out,
    }
