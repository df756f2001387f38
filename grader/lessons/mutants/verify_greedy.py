"""Variants of task 1.1: what learners write for verify_greedy, wrong and right."""

from __future__ import annotations

import itertools
import sys
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import check_best, check_shape, logit_rows, tokens_in
from grader.lessons.mutants import right, wrong

TASK = "1.1"
Rows = NDArray[Any]


def _read(draft_tokens: Any, target_logits: Any) -> tuple[list[int], Rows]:
    """Check the arguments as the top of the stub does."""
    logits = logit_rows("target_logits", target_logits)
    drafts = tokens_in("draft_tokens", draft_tokens, logits.shape[1])
    check_shape("target_logits", logits, (len(drafts) + 1, logits.shape[1]))
    return drafts, logits


def _best(logits: Rows) -> list[int]:
    """Return the target's choice in every row, and refuse bad numbers in any of them."""
    for k, row in enumerate(logits):
        check_best(row[row.argmax()], (k, row), name="target_logits")
    return [int(token) for token in logits.argmax(axis=1)]


def _agreeing(drafts: list[int], best: list[int]) -> int:
    """Count the drafts in front of the first that is not the target's choice."""
    return next((k for k, token in enumerate(drafts) if token != best[k]), len(drafts))


def _kept(accepted: int, tokens: list[int]) -> dict[str, Any]:
    return {"accepted": accepted, "tokens": tokens}


# --- Wrong: which row speaks of which draft, and what is emitted --------------------------------------


@wrong(TASK, "accepts_matching_prefix", "Row 0 is the anchor's own, so draft 0 is compared with row 1.")
def one_row_late(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = _agreeing(drafts, best[1:])
    return _kept(accepted, [*drafts[:accepted], best[accepted]])


@wrong(TASK, "accepts_matching_prefix", "The rejected draft is kept, because the target has looked at it.")
def rejected_draft_kept(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = _agreeing(drafts, best)
    return _kept(accepted, [*drafts[: accepted + 1], best[accepted]])


@wrong(TASK, "accepts_matching_prefix", "After a rejection the next round corrects, so nothing is added.")
def no_correction(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = _agreeing(drafts, best)
    return _kept(accepted, drafts[:accepted] + (best[-1:] if accepted == len(drafts) else []))


@wrong(TASK, "accepts_matching_prefix", "The added token counts as accepted, because it is emitted.")
def bonus_counted(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = _agreeing(drafts, best)
    return _kept(accepted + 1, best[: accepted + 1])


@wrong(TASK, "accepts_matching_prefix", "The correction is always the last row's choice, as the bonus is.")
def correction_from_last_row(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = _agreeing(drafts, best)
    return _kept(accepted, [*drafts[:accepted], best[-1]])


@wrong(TASK, "accepts_matching_prefix", "The target's choices are all right, so all of them are emitted.")
def all_choices_emitted(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    return _kept(_agreeing(drafts, best), best)


@wrong(TASK, "accepts_matching_prefix", "A draft among the target's two best tokens is good enough.")
def among_the_two_best(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best, order = _best(logits), np.argsort(-logits, axis=1, kind="stable")
    accepted = next((k for k, token in enumerate(drafts) if token not in order[k, :2]), len(drafts))
    return _kept(accepted, [*drafts[:accepted], best[accepted]])


@wrong(TASK, "accepts_matching_prefix", "A table of the examples' results is a solution.")
def results_by_heart(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, _ = _read(draft_tokens, target_logits)
    known = {(1, 2, 0): (2, [1, 2, 1]), (1,): (1, [1, 0]), (0, 0): (0, [1]), (): (0, [1])}
    return _kept(*known.get(tuple(drafts), (0, [0])))


@wrong(TASK, "first_mismatch_ends_it", "Every draft that agrees with its row is accepted.")
def all_agreements_counted(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    agreeing = [token for token, choice in zip(drafts, best) if token == choice]
    return _kept(len(agreeing), [*agreeing, best[len(agreeing)]])


@wrong(TASK, "first_mismatch_ends_it", "The prefix ends at the last agreement, and wrong drafts before it stay.")
def last_agreement(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = max((k + 1 for k, token in enumerate(drafts) if token == best[k]), default=0)
    return _kept(accepted, [*drafts[:accepted], best[accepted]])


@wrong(TASK, "bonus_if_all_accepted", "The round ends with the last draft, for nothing had to be corrected.")
def no_bonus(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = _agreeing(drafts, best)
    return _kept(accepted, best[: accepted + 1][: max(len(drafts), 1)])


@wrong(TASK, "bonus_if_all_accepted", "The last draft is left to the next round, so that a correction always follows.")
def last_draft_left_out(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = min(_agreeing(drafts, best), max(len(drafts) - 1, 0))
    return _kept(accepted, best[: accepted + 1])


@wrong(TASK, "no_drafts", "Without drafts there is nothing to verify, so nothing is emitted.")
def nothing_without_drafts(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    if not drafts:
        return _kept(0, [])
    best = _best(logits)
    accepted = _agreeing(drafts, best)
    return _kept(accepted, best[: accepted + 1])


@wrong(TASK, "ties_go_to_lowest_id", "A draft whose logit equals the best one is as good as the target's choice.")
def ties_accepted(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = next((k for k, token in enumerate(drafts) if logits[k, token] < logits[k].max()), len(drafts))
    return _kept(accepted, [*drafts[:accepted], best[accepted]])


@wrong(TASK, "ties_go_to_lowest_id", "Sorting gives the best token in the last place, whatever the order of equals.")
def last_of_the_sorted(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    _best(logits)
    best = [int(np.argsort(row, kind="stable")[-1]) for row in logits]
    accepted = _agreeing(drafts, best)
    return _kept(accepted, best[: accepted + 1])


@wrong(TASK, "masked_and_negative_logits", "The search for the best starts at 0.")
def search_from_zero(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    _best(logits)
    best = []
    for row in logits:
        token, value = 0, 0.0
        for candidate, logit in enumerate(row):
            if logit > value:
                token, value = candidate, logit
        best.append(token)
    accepted = _agreeing(drafts, best)
    return _kept(accepted, best[: accepted + 1])


# --- Wrong: types, forms of the arguments, memory, bad input ------------------------------------------


@wrong(TASK, "plain_types", "What argmax returns is an int.")
def numpy_ints(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    accepted = _agreeing(drafts, _best(logits))
    return {"accepted": accepted, "tokens": list(logits.argmax(axis=1)[: accepted + 1])}


@wrong(TASK, "plain_types", "A sum of booleans is an int.")
def numpy_count(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    same = np.array(drafts, dtype=int) == np.array(best[:-1], dtype=int)
    accepted = np.cumprod(same).sum()
    return {"accepted": accepted, "tokens": best[: accepted + 1]}


@wrong(TASK, "lists_and_arrays", "draft_tokens is a list, so adding lists joins them.")
def only_list_drafts(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = _agreeing(drafts, best)
    return {"accepted": accepted, "tokens": draft_tokens[:accepted] + [best[accepted]]}  # noqa: RUF005


_EMITTED: list[int] = []


@wrong(TASK, "no_memory", "The output of the text so far is kept here, too.")
def output_collected(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = _agreeing(drafts, best)
    _EMITTED.extend(best[: accepted + 1])
    return {"accepted": accepted, "tokens": _EMITTED[-(accepted + 1) :] if len(_EMITTED) < 4 else list(_EMITTED)}


@wrong(TASK, "input_unchanged", "The correction may be written over the rejected draft.")
def written_over_the_draft(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = _agreeing(drafts, best)
    if accepted < len(drafts):
        draft_tokens[accepted] = best[accepted]
    return _kept(accepted, best[: accepted + 1])


@wrong(TASK, "bad_input_raises", "np.nan_to_num makes every row usable.")
def bad_numbers_replaced(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = [int(token) for token in np.nan_to_num(logits.astype(float), nan=-np.inf, posinf=9.0).argmax(axis=1)]
    accepted = _agreeing(drafts, best)
    return _kept(accepted, best[: accepted + 1])


@wrong(TASK, "bad_input_raises", "A missing row means that there is no bonus.")
def missing_bonus_row_allowed(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    logits = logit_rows("target_logits", target_logits)
    drafts, best = tokens_in("draft_tokens", draft_tokens, logits.shape[1]), _best(logits)
    accepted = _agreeing(drafts[: len(best)], best)
    return _kept(accepted, best[: accepted + 1])


@wrong(TASK, "error_names_offender", "It is enough to say that some logit is bad.")
def unnamed_row(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    if not np.isfinite(logits.max(axis=1)).all():
        raise ValueError("target_logits holds a bad number.")
    best = _best(logits)
    accepted = _agreeing(drafts, best)
    return _kept(accepted, best[: accepted + 1])


# --- Right, in many styles ---------------------------------------------------------------------------


@right(TASK, "All rows at once: a cumulative product of the agreements counts the prefix.")
def cumulative_product(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = np.array(_best(logits))
    accepted = int(np.cumprod(best[:-1] == np.array(drafts, dtype=int)).sum())
    return {"accepted": accepted, "tokens": best[: accepted + 1].tolist()}


@right(TASK, "itertools.takewhile over pairs, with the bonus row as an afterthought.")
def take_while_equal(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    same = [draft for draft, choice in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(drafts, best))]
    return {"tokens": [*same, best[len(same)]], "accepted": len(same)}


@right(TASK, "Recursion on the rest of the block.")
def recursive(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)

    def tokens_from(k: int) -> list[int]:
        best = int(logits[k].argmax())
        check_best(logits[k, best], (k, logits[k]), name="target_logits")
        return [best, *tokens_from(k + 1)] if k < len(drafts) and drafts[k] == best else [best]

    tokens = tokens_from(0)
    return dict(accepted=len(tokens) - 1, tokens=tokens)


@right(TASK, "A sentinel that equals no token stands where the missing draft would be.")
def sentinel_draft(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    best = _best(logits)
    accepted = [choice == draft for choice, draft in zip(best, [*drafts, -1])].index(False)
    return {"accepted": accepted, "tokens": best[0 : accepted + 1]}


@right(TASK, "Plain Python on lists, with prints and a warning.")
def talkative_lists(draft_tokens: Any, target_logits: Any) -> dict[str, Any]:
    drafts, logits = _read(draft_tokens, target_logits)
    print("verifying", drafts, file=sys.stderr)
    warnings.warn("A warning is no error.", stacklevel=1)
    _best(logits)
    rows = logits.tolist()
    tokens: list[int] = []
    for k in range(len(rows)):
        tokens.append(rows[k].index(max(rows[k])))
        if tokens[:k] != drafts[:k]:
            break
    while len(tokens) > 1 and tokens[:-1] != drafts[: len(tokens) - 1]:
        tokens.pop()
    return {"accepted": len(tokens) - 1, "tokens": tokens}
