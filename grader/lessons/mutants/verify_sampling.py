"""Variants of task 1.4: what learners write for verify_sampling, wrong and right."""

from __future__ import annotations

import bisect
import random
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import check_shape, probability_rows, tokens_in
from grader.lessons.mutants import right, wrong

TASK = "1.4"
Rows = NDArray[np.float64]


def _read(draft_tokens: Any, draft_probs: Any, target_probs: Any, zeros: bool = False) -> tuple[list[int], Rows, Rows]:
    """Check the arguments as the top of the stub does; return drafts, q and p."""
    p, q = probability_rows("target_probs", target_probs), probability_rows("draft_probs", draft_probs)
    drafts = tokens_in("draft_tokens", draft_tokens, p.shape[1])
    check_shape("target_probs", p, (len(drafts) + 1, p.shape[1]))
    check_shape("draft_probs", q, (len(drafts), p.shape[1]))
    for k, token in enumerate(drafts):
        if q[k, token] == 0.0 and not zeros:
            raise ValueError(f"draft_probs row {k} gives 0 to token {token}, its own draft.")
    return drafts, q, p


def _drawn(rng: np.random.Generator, row: Rows) -> int:
    return int(rng.choice(row.size, p=row / row.sum()))


def _residual(p: Rows, q: Rows) -> Rows:
    excess = np.maximum(p - q, 0.0)
    return excess / excess.sum() if excess.any() else p


def _accepted(drafts: list[int], q: Rows, p: Rows, rng: np.random.Generator) -> int:
    """Count the drafts in front of the first rejection."""
    for k, token in enumerate(drafts):
        if rng.random() >= p[k, token] / q[k, token]:
            return k
    return len(drafts)


def _finished(accepted: int, drafts: list[int], q: Rows, p: Rows, rng: np.random.Generator) -> dict[str, Any]:
    """Add the token that ends the round."""
    row = p[-1] if accepted == len(drafts) else _residual(p[accepted], q[accepted])
    return {"accepted": accepted, "tokens": [*drafts[:accepted], _drawn(rng, row)]}


# --- Wrong: when a draft is accepted -----------------------------------------------------------------


@wrong(TASK, "accepts_with_p_over_q", "The draft stands above in the ratio, for it is the draft that is judged.")
def ratio_inverted(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = 0
    while accepted < len(drafts):
        x = drafts[accepted]
        if p[accepted, x] == 0.0 or rng.random() >= q[accepted, x] / p[accepted, x]:
            break
        accepted += 1
    return _finished(accepted, drafts, q, p, rng)


@wrong(TASK, "accepts_with_p_over_q", "A draft is accepted if the number drawn is above the ratio.")
def comparison_inverted(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = 0
    while accepted < len(drafts):
        ratio = p[accepted, drafts[accepted]] / q[accepted, drafts[accepted]]
        if ratio < 1.0 and (ratio == 0.0 or rng.random() < ratio):
            break
        accepted += 1
    return _finished(accepted, drafts, q, p, rng)


@wrong(TASK, "accepts_with_p_over_q", "A token's chance is its probability beside the target's largest one.")
def divided_by_targets_max(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    return _finished(_accepted(drafts, np.broadcast_to(p.max(1)[:, None], p.shape), p, rng), drafts, q, p, rng)


@wrong(TASK, "accepts_with_p_over_q", "The draft's largest probability bounds the ratio, as in textbooks.")
def divided_by_drafts_max(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    bound = np.broadcast_to(q.max(1, initial=0.0)[:, None], q.shape)
    return _finished(_accepted(drafts, bound, p, rng), drafts, q, p, rng)


@wrong(TASK, "accepts_with_p_over_q", "The target alone decides: accept with probability p.")
def accepted_with_p(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    return _finished(_accepted(drafts, np.ones_like(p), p, rng), drafts, q, p, rng)


@wrong(TASK, "accepts_with_p_over_q", "Accept what the target finds at least as likely as the draft does, else not.")
def all_or_nothing(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = next((k for k, x in enumerate(drafts) if p[k, x] < q[k, x]), len(drafts))
    return _finished(accepted, drafts, q, p, rng)


@wrong(TASK, "accepts_with_p_over_q", "Any draft that the target could have said is accepted.")
def possible_is_accepted(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = next((k for k, x in enumerate(drafts) if p[k, x] == 0.0), len(drafts))
    return _finished(accepted, drafts, q, p, rng)


@wrong(TASK, "accepts_with_p_over_q", "Draw a sample; accept the draft if the target finds it at least as likely.")
def at_least_as_likely_as_sample(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, _, p = _read(draft_tokens, draft_probs, target_probs)
    for k, x in enumerate(drafts):
        sample = _drawn(rng, p[k])
        if p[k, x] < p[k, sample]:
            return {"accepted": k, "tokens": [*drafts[:k], sample]}
    return {"accepted": len(drafts), "tokens": [*drafts, _drawn(rng, p[-1])]}


@wrong(
    TASK, "accepts_with_p_over_q", "Exact match: lossless over all drafts, but it accepts far less, so another rule."
)
def exact_match(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, _, p = _read(draft_tokens, draft_probs, target_probs)
    tokens = []
    for k in range(len(p)):
        tokens.append(_drawn(rng, p[k]))
        if k == len(drafts) or tokens[k] != drafts[k]:
            break
    return {"accepted": len(tokens) - 1, "tokens": tokens}


@wrong(TASK, "accepts_with_p_over_q", "The chance of a draft is the overlap of the two rows, whatever the token.")
def overlap_of_rows(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = 0
    while accepted < len(drafts) and rng.random() < np.minimum(p[accepted], q[accepted]).sum():
        accepted += 1
    return _finished(accepted, drafts, q, p, rng)


@wrong(TASK, "sure_rows_decide", "Greedy verification does for sampling as well: accept the target's argmax.")
def greedy_with_bonus_sampled(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, _, p = _read(draft_tokens, draft_probs, target_probs)
    best = p.argmax(axis=1).tolist()
    accepted = next((k for k, x in enumerate(drafts) if x != best[k]), len(drafts))
    return {"accepted": accepted, "tokens": [*drafts[:accepted], best[-1]]}


# --- Wrong: what stands in place of a rejected draft --------------------------------------------------


@wrong(TASK, "residual_after_rejection", "A rejected draft is replaced by a sample of p.")
def resampled_from_target(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = _accepted(drafts, q, p, rng)
    return {"accepted": accepted, "tokens": [*drafts[:accepted], _drawn(rng, p[accepted])]}


@wrong(TASK, "residual_after_rejection", "A rejected draft is replaced by a sample of p without the rejected token.")
def resampled_without_draft(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = _accepted(drafts, q, p, rng)
    row = p[accepted].copy()
    if accepted < len(drafts):
        row[drafts[accepted]] = 0.0
    return {"accepted": accepted, "tokens": [*drafts[:accepted], _drawn(rng, row)]}


@wrong(TASK, "residual_after_rejection", "The sign of p − q does not matter.")
def absolute_residual(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = _accepted(drafts, q, p, rng)
    row = p[-1] if accepted == len(drafts) else np.abs(p[accepted] - q[accepted])
    return {"accepted": accepted, "tokens": [*drafts[:accepted], _drawn(rng, row)]}


@wrong(TASK, "residual_after_rejection", "The most missing token is the replacement.")
def argmax_of_residual(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = _accepted(drafts, q, p, rng)
    if accepted < len(drafts):
        return {
            "accepted": accepted,
            "tokens": [*drafts[:accepted], int((p - np.vstack([q, p[-1:]]))[accepted].argmax())],
        }
    return _finished(accepted, drafts, q, p, rng)


@wrong(TASK, "residual_after_rejection", "One uniform number decides the rejection, and the replacement as well.")
def uniform_used_twice(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    for k, x in enumerate(drafts):
        u = rng.random()
        if u >= p[k, x] / q[k, x]:
            row = _residual(p[k], q[k])
            return {"accepted": k, "tokens": [*drafts[:k], int(np.searchsorted(np.cumsum(row), u, side="right"))]}
    return _finished(len(drafts), drafts, q, p, rng)


@wrong(TASK, "residual_after_rejection", "The draft says what comes in place of its own rejected token.")
def redrafted(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = _accepted(drafts, q, p, rng)
    row = p[-1] if accepted == len(drafts) or p[accepted].max() == 1.0 else q[accepted]
    return {"accepted": accepted, "tokens": [*drafts[:accepted], _drawn(rng, row)]}


@wrong(TASK, "nothing_behind_rejection", "A rejected draft is replaced, and the drafts behind it are judged as before.")
def goes_on_behind_rejection(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    tokens, accepted = [], 0
    for k, x in enumerate(drafts):
        good = rng.random() < p[k, x] / q[k, x]
        accepted += good
        tokens.append(x if good else _drawn(rng, _residual(p[k], q[k])))
    return {"accepted": int(accepted), "tokens": [*tokens, _drawn(rng, p[-1])]}


@wrong(TASK, "nothing_behind_rejection", "The drafts behind the replacement are kept; the next round checks them.")
def suffix_kept(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    result = _finished(_accepted(drafts, q, p, rng), drafts, q, p, rng)
    return {"accepted": result["accepted"], "tokens": result["tokens"] + drafts[result["accepted"] + 1 :]}


@wrong(TASK, "sure_rows_decide", "The rejected draft stays, and the replacement follows it.")
def rejected_draft_kept(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    result = _finished(_accepted(drafts, q, p, rng), drafts, q, p, rng)
    accepted = result["accepted"]
    return {"accepted": accepted, "tokens": [*drafts[: accepted + 1], result["tokens"][-1]]}


@wrong(TASK, "sure_rows_decide", "The added token counts as accepted, because it is emitted.")
def bonus_counted(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    result = _finished(_accepted(drafts, q, p, rng), drafts, q, p, rng)
    return {"accepted": len(result["tokens"]), "tokens": result["tokens"]}


# --- Wrong: rows and draws of several positions -------------------------------------------------------


@wrong(TASK, "own_draw_at_every_position", "One uniform number a round is enough.")
def one_uniform_for_all(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    u = rng.random()
    accepted = next((k for k, x in enumerate(drafts) if u >= p[k, x] / q[k, x]), len(drafts))
    return _finished(accepted, drafts, q, p, rng)


@wrong(TASK, "sure_rows_decide", "Row 0 of the target is the anchor's own, so draft 0 is judged by row 1.")
def one_row_late(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = _accepted(drafts, q, p[1:], rng)
    return _finished(accepted, drafts, q, np.vstack([p[1:], p[-1:]]), rng)


@wrong(TASK, "own_draw_at_every_position", "The first row of the draft holds for the whole block.")
def first_draft_row_for_all(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    first = np.broadcast_to(q[:1], q.shape) if all(q[0, x] > 0.0 for x in drafts) else q
    return _finished(_accepted(drafts, first, p, rng), drafts, first, p, rng)


@wrong(
    TASK,
    "own_draw_at_every_position",
    "A draft counts with the chance of the whole prefix, the drafts before included.",
)
def prefix_ratio_with_fresh_draws(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted, ratio = 0, 1.0
    while accepted < len(drafts):
        ratio *= min(1.0, p[accepted, drafts[accepted]] / q[accepted, drafts[accepted]])
        if rng.random() >= ratio:
            break
        accepted += 1
    return _finished(accepted, drafts, q, p, rng)


# --- Wrong: the bonus --------------------------------------------------------------------------------


@wrong(TASK, "bonus_from_last_row", "If all are accepted there is nothing to add.")
def no_bonus(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = _accepted(drafts, q, p, rng)
    if accepted == len(drafts):
        return {"accepted": accepted, "tokens": drafts}
    return _finished(accepted, drafts, q, p, rng)


@wrong(TASK, "bonus_from_last_row", "The bonus comes from the row of the last draft.")
def bonus_from_row_before(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = _accepted(drafts, q, p, rng)
    return _finished(accepted, drafts, q, np.vstack([p[:-1], p[max(len(p) - 2, 0)][None]]), rng)


@wrong(TASK, "bonus_from_last_row", "The bonus is the best token of the last row.")
def bonus_is_argmax(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = _accepted(drafts, q, p, rng)
    if accepted == len(drafts):
        return {"accepted": accepted, "tokens": [*drafts, int(p[-1].argmax())]}
    return _finished(accepted, drafts, q, p, rng)


@wrong(TASK, "bonus_from_last_row", "Any token that the last row allows is a bonus.")
def bonus_is_uniform(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    return _finished(_accepted(drafts, q, p, rng), drafts, q, np.vstack([p[:-1], p[-1:] > 0.0]), rng)


# --- Wrong: sources of chance, types, forms, memory, bad input ----------------------------------------


@wrong(TASK, "rows_within_tolerance", "A row that is a distribution can be handed to rng.choice as it is.")
def choice_without_division(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = _accepted(drafts, q, p, rng)
    row = p[-1] if accepted == len(drafts) else _residual(p[accepted], q[accepted])
    return {"accepted": accepted, "tokens": [*drafts[:accepted], int(rng.choice(row.size, p=row))]}


@wrong(TASK, "same_seed_same_result", "Chance is chance, so np.random does as well.")
def global_chance(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    own = np.random.default_rng()
    return _finished(_accepted(drafts, q, p, own), drafts, q, p, own)


@wrong(TASK, "same_seed_same_result", "The module random is good enough for the last token.")
def last_token_from_random(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = _accepted(drafts, q, p, rng)
    row = p[-1] if accepted == len(drafts) else _residual(p[accepted], q[accepted])
    return {"accepted": accepted, "tokens": [*drafts[:accepted], random.choices(range(row.size), row.tolist())[0]]}


@wrong(TASK, "accepts_with_p_over_q", "A generator with a fixed seed makes results repeatable.")
def fixed_seed(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    own = np.random.default_rng(0)
    return _finished(_accepted(drafts, q, p, own), drafts, q, p, own)


@wrong(TASK, "plain_types", "What rng.choice returns is an int.")
def numpy_token(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    result = _finished(_accepted(drafts, q, p, rng), drafts, q, p, rng)
    return {"accepted": result["accepted"], "tokens": [*result["tokens"][:-1], np.int64(result["tokens"][-1])]}


@wrong(TASK, "lists_and_arrays", "The rows are arrays that can be indexed by a pair.")
def only_arrays(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = 0
    while accepted < len(drafts):
        if rng.random() >= target_probs[accepted, drafts[accepted]] / draft_probs[accepted, drafts[accepted]]:
            break
        accepted += 1
    return _finished(accepted, drafts, q, p, rng)


_TEXT: list[int] = []


@wrong(TASK, "no_memory", "The text so far is kept here and returned with the new tokens.")
def text_collected(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    result = _finished(_accepted(drafts, q, p, rng), drafts, q, p, rng)
    _TEXT.extend(result["tokens"])
    return {"accepted": result["accepted"], "tokens": list(_TEXT)}


@wrong(TASK, "input_unchanged", "The replacement may be written over the rejected draft.")
def written_over_the_draft(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    result = _finished(_accepted(drafts, q, p, rng), drafts, q, p, rng)
    if result["accepted"] < len(drafts):
        draft_tokens[result["accepted"]] = result["tokens"][-1]
    return result


@wrong(TASK, "bad_input_raises", "A draft with q = 0 is noticed when its turn comes.")
def zero_noticed_in_turn(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs, zeros=True)
    accepted = 0
    while accepted < len(drafts):
        x = drafts[accepted]
        if q[accepted, x] == 0.0:
            raise ValueError(f"draft_probs row {accepted} gives 0 to token {x}, its own draft.")
        if rng.random() >= p[accepted, x] / q[accepted, x]:
            break
        accepted += 1
    return _finished(accepted, drafts, q, p, rng)


@wrong(TASK, "bad_input_raises", "A draft with q = 0 is simply rejected.")
def zero_rejected(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs, zeros=True)
    safe = np.where(q == 0.0, np.inf, q)
    return _finished(_accepted(drafts, safe, p, rng), drafts, q, p, rng)


@wrong(TASK, "bad_input_raises", "Without a bonus row there is no bonus.")
def missing_bonus_row_allowed(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    if len(target_probs) == len(draft_tokens) > 0:
        target_probs = [*target_probs, target_probs[-1]]
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    return _finished(_accepted(drafts, q, p, rng), drafts, q, p, rng)


@wrong(TASK, "error_names_offender", "Whoever reads the error knows what was wrong.")
def unnamed_error(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    try:
        drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    except ValueError:
        raise ValueError("Wrong input!") from None
    return _finished(_accepted(drafts, q, p, rng), drafts, q, p, rng)


# --- Right, in many styles ---------------------------------------------------------------------------


@right(TASK, "One uniform number for the round, compared with the running product of the ratios.")
def one_uniform_and_products(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    ratios = [min(1.0, p[k, x] / q[k, x]) for k, x in enumerate(drafts)]
    accepted = int((rng.random() < np.cumprod(ratios)).sum())
    return _finished(accepted, drafts, q, p, rng)


@right(TASK, "The number that rejected a draft is stretched to a fresh one, and used again.")
def uniform_stretched(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    u, row, accepted = rng.random(), p[-1], len(drafts)
    for k, x in enumerate(drafts):
        ratio = min(1.0, p[k, x] / q[k, x])
        if u >= ratio:
            u, row, accepted = (u - ratio) / (1.0 - ratio), _residual(p[k], q[k]), k
            break
        u /= ratio
    last = bisect.bisect_right(list(accumulate(row / row.sum())), u)
    return {"accepted": accepted, "tokens": [*drafts[:accepted], min(last, int(np.flatnonzero(row)[-1]))]}


@right(TASK, "All numbers are drawn ahead, and whole arrays are compared.")
def drawn_ahead(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    u, at = rng.random(len(drafts) + 1), (np.arange(len(drafts)), np.array(drafts, dtype=int))
    refused = np.append(u[:-1] * q[at] >= p[:-1][at], True) if drafts else np.array([True])
    accepted = int(refused.argmax())
    row = np.append(np.maximum(p[:-1] - q, 0.0), p[-1:], axis=0)[accepted] if drafts else p[0]
    last = int((np.cumsum(row) <= u[-1] * row.sum()).sum())
    return {"accepted": accepted, "tokens": drafts[:accepted] + [last]}  # noqa: RUF005


@right(TASK, "Two Gumbel races in place of rng.choice, with geometric care for zeros.")
def gumbel_race(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)
    accepted = _accepted(drafts, q, p, rng)
    row = p[-1] if accepted == len(drafts) else np.maximum(p[accepted] - q[accepted], 0.0)
    with np.errstate(divide="ignore"):
        last = int((np.log(row) + rng.gumbel(size=row.size)).argmax())
    return {"tokens": [*drafts[:accepted], last], "accepted": accepted}


@right(TASK, "Recursion on the rest of the block, with a token as soon as one is rejected.")
def recursive(draft_tokens: Any, draft_probs: Any, target_probs: Any, rng: Any) -> dict[str, Any]:
    drafts, q, p = _read(draft_tokens, draft_probs, target_probs)

    def tokens_from(k: int) -> list[int]:
        if k == len(drafts):
            return [_drawn(rng, p[k])]
        if rng.uniform() * q[k, drafts[k]] < p[k, drafts[k]]:
            return [drafts[k], *tokens_from(k + 1)]
        return [_drawn(rng, _residual(p[k], q[k]))]

    tokens = tokens_from(0)
    return {"accepted": len(tokens) - 1, "tokens": tokens}
