"""Variants of tasks 8.10 to 8.16: stops, counts, caches, gates and clocks. See clinic for what a body is."""

from __future__ import annotations

import statistics
from itertools import accumulate, takewhile
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.lessons.mutants.clinic import right_body, wrong_body

Row = NDArray[np.float64]
Committed = dict[str, Any]


def _until_stop(tokens: list[int], stops: list[int]) -> int:
    """Count the tokens up to and with the first stop token."""
    return next((k for k, token in enumerate(tokens, start=1) if token in stops), len(tokens))


# --- Task 8.10: commit_until_stop --------------------------------------------------------------------


@wrong_body("8.10", "first_stop_ends", "The stop token is no part of the text.")
def stop_left_out(committed: list[int], tokens: list[int], stops: list[int]) -> Committed:
    text = list(takewhile(lambda token: token not in stops, tokens))
    return {"output": committed + text, "finished": len(text) < len(tokens)}


@wrong_body("8.10", "first_stop_ends", "The last stop token ends the text.")
def last_stop_ends(committed: list[int], tokens: list[int], stops: list[int]) -> Committed:
    places = [k for k, token in enumerate(tokens, start=1) if token in stops]
    return {"output": committed + tokens[: max(places, default=len(tokens))], "finished": bool(places)}


@wrong_body("8.10", "first_stop_ends", "There is one stop token.")
def one_stop_token(committed: list[int], tokens: list[int], stops: list[int]) -> Committed:
    size = _until_stop(tokens, stops[:1])
    return {"output": committed + tokens[:size], "finished": tokens[size - 1] in stops[:1]}


@wrong_body("8.10", "first_stop_ends", "The flag looks at the last token of the round, the output at all of them.")
def flag_from_the_end(committed: list[int], tokens: list[int], stops: list[int]) -> Committed:
    return {"output": committed + tokens[: _until_stop(tokens, stops)], "finished": tokens[-1] in stops}


@wrong_body("8.10", "rounds_without_early_stop", "Only a round that was cut has finished.")
def finished_if_cut(committed: list[int], tokens: list[int], stops: list[int]) -> Committed:
    size = _until_stop(tokens, stops)
    return {"output": committed + tokens[:size], "finished": size < len(tokens)}


@right_body("8.10", "A slice, and a look at its last token.")
def slice_and_look(committed: list[int], tokens: list[int], stops: list[int]) -> Committed:
    kept = tokens[: _until_stop(tokens, stops)]
    return {"output": [*committed, *kept], "finished": not set(stops).isdisjoint(kept)}


@right_body("8.10", "A loop with an else.")
def loop_with_else(committed: list[int], tokens: list[int], stops: list[int]) -> Committed:
    for size, token in enumerate(tokens, start=1):
        if token in stops:
            result = {"finished": True, "output": committed + tokens[:size]}
            break
    else:
        result = {"finished": False, "output": committed + tokens}
    return result


# --- Task 8.11: finish_request -----------------------------------------------------------------------


@wrong_body("8.11", "stop_before_cap", "Whoever reaches the cap has been cut.")
def reason_from_the_cap(produced: list[int], stops: list[int], cap: int) -> Committed:
    kept = produced[:cap][: _until_stop(produced[:cap], stops)]
    stopped = bool(kept) and kept[-1] in stops
    return {"tokens": kept, "reason": "length" if len(produced) >= cap else "stop" if stopped else "running"}


@wrong_body("8.11", "stop_before_cap", "The stop token is no part of the text.")
def stop_not_kept(produced: list[int], stops: list[int], cap: int) -> Committed:
    kept = list(takewhile(lambda token: token not in stops, produced[:cap]))
    if len(kept) < len(produced[:cap]):
        return {"tokens": kept, "reason": "stop"}
    return {"tokens": kept, "reason": "length" if len(produced) >= cap else "running"}


@wrong_body("8.11", "stop_as_last_allowed", "At the cap it is the cap that ends the request.")
def cap_wins_at_the_cap(produced: list[int], stops: list[int], cap: int) -> Committed:
    size = _until_stop(produced, stops)
    if size < cap and any(token in stops for token in produced):
        return {"tokens": produced[:size], "reason": "stop"}
    return {"tokens": produced[:cap], "reason": "length" if len(produced) >= cap else "running"}


@wrong_body("8.11", "cap_before_stop", "A stop token always wins.")
def stop_always_wins(produced: list[int], stops: list[int], cap: int) -> Committed:
    if any(token in stops for token in produced):
        return {"tokens": produced[: _until_stop(produced, stops)], "reason": "stop"}
    return {"tokens": produced[:cap], "reason": "length" if len(produced) >= cap else "running"}


@wrong_body("8.11", "cap_before_stop", "A request is cut only when it exceeds the cap.")
def cap_must_be_exceeded(produced: list[int], stops: list[int], cap: int) -> Committed:
    kept = produced[:cap][: _until_stop(produced[:cap], stops)]
    if kept and kept[-1] in stops:
        return {"tokens": kept, "reason": "stop"}
    return {"tokens": kept, "reason": "length" if len(produced) > cap else "running"}


@right_body("8.11", "The places of both ends are compared.")
def places_compared(produced: list[int], stops: list[int], cap: int) -> Committed:
    places = [k for k, token in enumerate(produced, start=1) if token in stops]
    stop = places[0] if places else cap + 1
    reason = "stop" if stop <= cap else "length" if len(produced) >= cap else "running"
    return {"tokens": produced[: min(stop, cap)], "reason": reason}


@right_body("8.11", "Token by token, as plain decoding would go.")
def token_by_token(produced: list[int], stops: list[int], cap: int) -> Committed:
    text: list[int] = []
    for token in produced:
        if len(text) == cap:
            break
        text.append(token)
        if token in stops:
            return {"reason": "stop", "tokens": text}
    return {"reason": "length" if len(text) == cap else "running", "tokens": text}


# --- Task 8.12: mean_emitted_length ------------------------------------------------------------------


@wrong_body("8.12", "only_emitted_tokens", "The stop token is not emitted.")
def stop_not_counted(blocks: list[list[int]], stops: list[int]) -> float:
    return statistics.fmean(len(list(takewhile(lambda token: token not in stops, block))) for block in blocks)


@wrong_body("8.12", "only_emitted_tokens", "A token of the target follows in every round.")
def bonus_behind_the_stop(blocks: list[list[int]], stops: list[int]) -> float:
    return statistics.fmean(min(_until_stop(block[:-1], stops) + 1, len(block)) for block in blocks)


@wrong_body("8.12", "only_emitted_tokens", "A round that stops is no fair sample and is left out.")
def stopped_rounds_left_out(blocks: list[list[int]], stops: list[int]) -> float:
    fair = [len(block) for block in blocks if set(block).isdisjoint(stops)]
    return statistics.fmean(fair) if fair else 0.0


@wrong_body("8.12", "only_emitted_tokens", "The median says more than the mean.")
def median_taken(blocks: list[list[int]], stops: list[int]) -> float:
    return float(statistics.median(_until_stop(block, stops) for block in blocks))


@wrong_body("8.12", "rounds_without_stop", "Accepted length means drafts only.")
def bonus_not_counted(blocks: list[list[int]], stops: list[int]) -> float:
    return statistics.fmean(_until_stop(block, stops) - 1 for block in blocks)


@right_body("8.12", "The mean of the statistics module.")
def mean_of_counts(blocks: list[list[int]], stops: list[int]) -> float:
    return statistics.fmean(_until_stop(block, stops) for block in blocks)


@right_body("8.12", "Tokens behind a stop are found by a running or, and taken off.")
def tokens_taken_off(blocks: list[list[int]], stops: list[int]) -> float:
    behind = 0
    for block in blocks:
        ended: list[bool] = list(accumulate((token in stops for token in block), lambda a, b: a or b))
        behind += max(sum(ended) - 1, 0)
    return (sum(map(len, blocks)) - behind) / len(blocks)


# --- Task 8.13: draft_rows_to_drop -------------------------------------------------------------------


@wrong_body("8.13", "rejecting_rounds", "The drafter's cache is trimmed as the target's is: by the rejected drafts.")
def as_the_target(drafted: int, accepted: int) -> dict[str, int]:
    return {"drop": drafted - accepted, "missing": int(accepted == drafted)}


@wrong_body("8.13", "rejecting_rounds", "After a rejection the whole round is drafted anew.")
def whole_round_dropped(drafted: int, accepted: int) -> dict[str, int]:
    return {"drop": drafted if accepted < drafted else 0, "missing": int(accepted == drafted)}


@wrong_body("8.13", "all_accepted", "If everything was accepted, the cache is complete.")
def never_missing(drafted: int, accepted: int) -> dict[str, int]:
    return {"drop": max(drafted - 1 - accepted, 0), "missing": 0}


@wrong_body("8.13", "all_accepted", "A negative trim makes the cache longer.")
def negative_trim(drafted: int, accepted: int) -> dict[str, int]:
    return {"drop": drafted - 1 - accepted, "missing": 0}


@wrong_body("8.13", "all_accepted", "The token of the target is missing as well.")
def target_token_missing(drafted: int, accepted: int) -> dict[str, int]:
    return {"drop": max(drafted - 1 - accepted, 0), "missing": 2 if accepted == drafted else 0}


@wrong_body("8.13", "single_draft", "A rejection always costs a row.")
def at_least_one_row(drafted: int, accepted: int) -> dict[str, int]:
    return {"drop": max(drafted - 1 - accepted, accepted == 0 and 1, 0), "missing": int(accepted == drafted)}


@right_body("8.13", "Sets of what was fed and what is wanted.")
def sets_of_rows(drafted: int, accepted: int) -> dict[str, int]:
    fed, wanted = set(range(drafted)), set(range(accepted + 1))  # 0 is the anchor, k the draft k
    return {"drop": len(fed - wanted), "missing": len(wanted - fed)}


@right_body("8.13", "Two cases, told apart.")
def two_cases(drafted: int, accepted: int) -> dict[str, int]:
    if accepted == drafted:
        return {"missing": 1, "drop": 0}
    return {"missing": 0, "drop": drafted - accepted - 1}


# --- Task 8.14: gated_round --------------------------------------------------------------------------


def _verified(anchor: int, drafts: list[int], prefix: int, target: list[int]) -> dict[str, list[int]]:
    accepted = 0
    while accepted < prefix and drafts[accepted] == target[accepted]:
        accepted += 1
    return {"target_input": [anchor, *drafts[:prefix]], "tokens": [*drafts[:accepted], target[accepted]]}


def _prefix(chances: Row, threshold: float) -> int:
    return len(list(takewhile(lambda chance: chance >= threshold, chances)))


@wrong_body("8.14", "target_gets_the_prefix", "The gate counts the confident tokens, wherever they stand.")
def confident_tokens_counted(
    anchor: int, drafts: list[int], chances: Row, threshold: float, target: list[int]
) -> dict[str, list[int]]:
    return _verified(anchor, drafts, int((chances >= threshold).sum()), target)


@wrong_body("8.14", "target_gets_the_prefix", "At least one draft is always verified.")
def one_draft_at_least(
    anchor: int, drafts: list[int], chances: Row, threshold: float, target: list[int]
) -> dict[str, list[int]]:
    return _verified(anchor, drafts, max(_prefix(chances, threshold), 1), target)


@wrong_body("8.14", "target_gets_the_prefix", "The anchor is committed, so the target need not see it again.")
def anchor_not_fed(
    anchor: int, drafts: list[int], chances: Row, threshold: float, target: list[int]
) -> dict[str, list[int]]:
    result = _verified(anchor, drafts, _prefix(chances, threshold), target)
    return {**result, "target_input": result["target_input"][1:]}


@wrong_body("8.14", "target_gets_the_prefix", "The target's own token is the one behind the prefix.")
def token_behind_the_prefix(
    anchor: int, drafts: list[int], chances: Row, threshold: float, target: list[int]
) -> dict[str, list[int]]:
    prefix = _prefix(chances, threshold)
    result = _verified(anchor, drafts, prefix, target)
    return {**result, "tokens": [*result["tokens"][:-1], target[prefix]]}


@wrong_body("8.14", "target_gets_the_prefix", "What passes the gate is accepted.")
def gate_accepts(
    anchor: int, drafts: list[int], chances: Row, threshold: float, target: list[int]
) -> dict[str, list[int]]:
    prefix = _prefix(chances, threshold)
    return {"target_input": [anchor, *drafts[:prefix]], "tokens": [*drafts[:prefix], target[prefix]]}


@wrong_body("8.14", "open_gate", "A confidence must lie above the threshold.")
def strictly_above(
    anchor: int, drafts: list[int], chances: Row, threshold: float, target: list[int]
) -> dict[str, list[int]]:
    return _verified(anchor, drafts, len(list(takewhile(lambda c: c > threshold, chances))), target)


@right_body("8.14", "The gate by NumPy, the acceptance by a comparison of lists.")
def by_cumulative_and(
    anchor: int, drafts: list[int], chances: Row, threshold: float, target: list[int]
) -> dict[str, list[int]]:
    prefix = int(np.logical_and.accumulate(chances >= threshold).sum())
    accepted = max(k for k in range(prefix + 1) if drafts[:k] == target[:k])
    return {"tokens": drafts[:accepted] + target[accepted : accepted + 1], "target_input": [anchor, *drafts[:prefix]]}


@right_body("8.14", "The target's tokens are read off one by one, as they come.")
def read_off(anchor: int, drafts: list[int], chances: Row, threshold: float, target: list[int]) -> dict[str, list[int]]:
    below = [k for k, chance in enumerate(chances) if chance < threshold]
    sent = drafts[: below[0]] if below else drafts
    tokens = []
    for draft, own in zip([*sent, None], target):
        tokens.append(own)
        if draft != own:
            break
    return {"target_input": [anchor, *sent], "tokens": tokens}


# --- Task 8.15: profiled_verify_length ---------------------------------------------------------------


def _expected(chances: Row) -> Row:
    return 1.0 + np.append(0.0, np.cumprod(chances).cumsum())


@wrong_body("8.15", "only_profiled_lengths", "Everything that was profiled is worth verifying.")
def longest_profiled(chances: Row, profile: Row) -> int:
    if profile.size > chances.size:
        return int(np.argmax(_expected(chances) * profile[: chances.size + 1]))
    return int(profile.size - 1)


@wrong_body("8.15", "only_profiled_lengths", "A step without an entry is as fast as the last one that has one.")
def last_entry_repeated(chances: Row, profile: Row) -> int:
    tokens = _expected(chances)
    speeds = np.append(profile, np.full(tokens.size, profile[-1]))[: tokens.size]
    return int(np.argmax(tokens * speeds))


@wrong_body("8.15", "only_profiled_lengths", "The fastest step is the best one.")
def fastest_step(chances: Row, profile: Row) -> int:
    return int(np.argmax(profile[: chances.size + 1]))


@wrong_body("8.15", "only_profiled_lengths", "A token counts with its own confidence.")
def confidences_added(chances: Row, profile: Row) -> int:
    tokens = 1.0 + np.append(0.0, np.cumsum(chances))
    tried = min(tokens.size, profile.size)
    return int(np.argmax(tokens[:tried] * profile[:tried]))


@wrong_body("8.15", "whole_profile", "The search ends where a token does not pay.")
def first_fall_ends(chances: Row, profile: Row) -> int:
    tokens, best = _expected(chances), 0
    while best + 1 < min(tokens.size, profile.size) and (
        tokens[best + 1] * profile[best + 1] > tokens[best] * profile[best]
    ):
        best += 1
    return best


@wrong_body("8.15", "whole_profile", "Of equal lengths the longest is the best.")
def longest_of_ties(chances: Row, profile: Row) -> int:
    tokens = _expected(chances)
    tried = min(tokens.size, profile.size)
    rates = tokens[:tried] * profile[:tried]
    return int(tried - 1 - np.argmax(rates[::-1]))


@right_body("8.15", "Pure Python, one length after the other.")
def length_by_length(chances: Row, profile: Row) -> int:
    survival = list(accumulate(chances.tolist(), mul))
    rates = [
        (1.0 + sum(survival[:length])) * speed for length, speed in enumerate(profile[: chances.size + 1].tolist())
    ]
    return rates.index(max(rates))


@right_body("8.15", "Lengths without an entry get a rate of −inf.")
def minus_infinity(chances: Row, profile: Row) -> int:
    rates = np.full(chances.size + 1, -np.inf)
    tokens = _expected(chances)
    known = min(rates.size, profile.size)
    rates[:known] = tokens[:known] * profile[:known]
    return int(rates.argmax())


# --- Task 8.16: net_time_saved -----------------------------------------------------------------------


def _told(saved: float) -> dict[str, Any]:
    return {"saved": saved, "pays": saved > 0}


@wrong_body("8.16", "replay_is_a_cost", "A round replays once.")
def replay_once_a_round(
    counts: list[int], target_time: float, draft_time: float, verify_time: float, replay_time: float
) -> dict[str, Any]:
    saved = (sum(counts) + len(counts)) * target_time - len(counts) * (draft_time + verify_time + replay_time)
    return _told(saved)


@wrong_body("8.16", "replay_is_a_cost", "The target's own token is replayed as well.")
def bonus_replayed(
    counts: list[int], target_time: float, draft_time: float, verify_time: float, replay_time: float
) -> dict[str, Any]:
    emitted = sum(counts) + len(counts)
    return _told(emitted * (target_time - replay_time) - len(counts) * (draft_time + verify_time))


@wrong_body("8.16", "replay_is_a_cost", "Only accepted drafts save time.")
def bonus_saves_nothing(
    counts: list[int], target_time: float, draft_time: float, verify_time: float, replay_time: float
) -> dict[str, Any]:
    return _told(sum(counts) * (target_time - replay_time) - len(counts) * (draft_time + verify_time))


@wrong_body("8.16", "replay_is_a_cost", "What costs nothing pays.")
def zero_pays(
    counts: list[int], target_time: float, draft_time: float, verify_time: float, replay_time: float
) -> dict[str, Any]:
    emitted = sum(counts) + len(counts)
    saved = emitted * target_time - len(counts) * (draft_time + verify_time) - sum(counts) * replay_time
    return {"saved": saved, "pays": saved >= 0}


@wrong_body("8.16", "without_replay", "A drafter is so small that it costs nothing.")
def drafting_is_free(
    counts: list[int], target_time: float, draft_time: float, verify_time: float, replay_time: float
) -> dict[str, Any]:
    emitted = sum(counts) + len(counts)
    return _told(emitted * target_time - len(counts) * verify_time - sum(counts) * replay_time)


@right_body("8.16", "Round by round.")
def round_by_round(
    counts: list[int], target_time: float, draft_time: float, verify_time: float, replay_time: float
) -> dict[str, Any]:
    saved = 0.0
    for accepted in counts:
        saved += (accepted + 1) * target_time
        saved -= draft_time + verify_time + accepted * replay_time
    return {"pays": saved > 0, "saved": saved}


@right_body("8.16", "A product of numbers of events and their times.")
def events_by_times(
    counts: list[int], target_time: float, draft_time: float, verify_time: float, replay_time: float
) -> dict[str, Any]:
    drafts, rounds = sum(counts), len(counts)
    saved = float(
        np.dot([drafts + rounds, -rounds, -rounds, -drafts], [target_time, draft_time, verify_time, replay_time])
    )
    return _told(saved)
