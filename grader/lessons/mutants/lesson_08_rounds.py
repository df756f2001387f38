"""Lesson 08, the bug clinic: wrong repairs of 8.10 to 8.16 under the property that must catch them, and right ones."""

from grader.lessons.mutants.lesson_08 import with_bugs, with_noise

IS_STOP = "in stop_tokens:"
IS_LAST_STOP = "in stop_tokens and not set(stop_tokens) & set(round_tokens[len(committed) - len(output) :]):"
IS_EARLY_STOP = "in stop_tokens and count < max_new_tokens:"
REASON, CUT_IF_LONG = '"reason": "stop"', '"reason": "length" if len(tokens) >= max_new_tokens else "stop"'
ENDS, MEAN = "ends[0] if", "emitted / len(rounds)"
COUNTS = "[next((k for k, t in enumerate(block, 1) if t in stop_tokens), len(block)) for block in rounds]"
DROP, MISSING = "max(surplus, 0)", "max(-surplus, 0)"
FED = "target_input ="
COUNTED = f"prefix = sum(confidences >= threshold)\n    {FED}"
FORCED = f"prefix = prefix or len(draft_tokens[:1])\n    {FED}"
OWN, AFTER_PREFIX = "target_tokens[accepted]]", "target_tokens[prefix]]"
RATES = "tokens[:tried] * steps_per_second[:tried]"
ALL_PROFILED = "tried - 1 if tried < len(tokens) else int("
BEST, FIRST_FALL = f"np.argmax({RATES})", f"np.argmin(np.diff([*({RATES}), 0.0]) > 0)"
TRIED, PADDED = (
    "tried = min(len(tokens), len(steps_per_second))",
    "tried = len(tokens)\n    steps_per_second = np.pad(steps_per_second, (0, tried), 'edge')",
)

WRONG = {
    "8.10": {
        "first_stop_ends": [
            ("stop_left_out", "committed, ", "committed[:-1], ", "The stop token does not belong to the text."),
            ("last_stop_ends", IS_STOP, IS_LAST_STOP, "The last stop token ends the text."),
            ("one_stop_token", "in stop_tokens", "in stop_tokens[:1]", "There is one stop token."),
            ("flag_from_the_end", "True", "round_tokens[-1] in stop_tokens", "The flag looks at the last token only."),
        ],
        "rounds_without_early_stop": [
            ("finished_if_cut", "True", "committed != output + round_tokens", "Only a cut round has finished."),
        ],
    },
    "8.11": {
        "stop_before_cap": [
            ("reason_from_the_cap", REASON, CUT_IF_LONG, "A request that reaches the cap has been cut."),
            ("stop_not_kept", "tokens[:count]", "tokens[: count - 1]", "The stop token does not belong to the text."),
        ],
        "stop_as_last_allowed": [
            ("cap_wins_at_the_cap", IS_STOP, IS_EARLY_STOP, "At the cap it is the cap that ends the request."),
        ],
        "cap_before_stop": [
            ("stop_always_wins", "tokens[:max_new_tokens], start", "tokens, start", "A stop token always wins."),
            ("cap_must_be_exceeded", ">= max", "> max", "A request is cut only when it exceeds the cap."),
        ],
    },
    "8.12": {
        "only_emitted_tokens": [
            ("stop_not_counted", ENDS, "ends[0] - 1 if", "The stop token is not emitted."),
            ("bonus_after_the_stop", ENDS, "min(ends[0] + 1, len(block)) if", "A target token follows in every round."),
            ("stopped_rounds_left_out", ENDS, "0 if", "The tokens of a round that stops are not counted."),
            ("median_taken", MEAN, f"float(np.median({COUNTS}))", "The median says more than the mean."),
        ],
        "rounds_without_stop": [
            ("bonus_not_counted", MEAN, f"{MEAN} - 1", "Accepted length means drafts only."),
        ],
    },
    "8.13": {
        "rejecting_rounds": [
            ("as_the_target", DROP, "drafted - accepted", "Both caches are trimmed by the rejected drafts."),
            ("whole_round_dropped", DROP, "drafted * (surplus >= 0)", "After a rejection the round is drafted anew."),
        ],
        "all_accepted": [
            ("never_missing", MISSING, "0", "If everything was accepted, the cache is complete."),
            ("negative_trim", f'{DROP}, "missing": max', 'surplus, "missing": min', "A negative trim adds rows."),
            ("target_token_missing", MISSING, "max(-2 * surplus, 0)", "The target's token is missing as well."),
        ],
        "single_draft": [
            ("at_least_one_row", DROP, "max(surplus, int(accepted == 0))", "A rejection always costs a row."),
        ],
    },
    "8.14": {
        "target_gets_the_prefix": [
            ("confident_tokens_counted", FED, COUNTED, "The gate counts the confident tokens, wherever they stand."),
            ("one_draft_at_least", FED, FORCED, "At least one draft is always verified."),
            ("anchor_not_fed", "[anchor_token, *", "[*", "The anchor is committed, the target need not see it again."),
            ("token_after_the_prefix", OWN, AFTER_PREFIX, "The target's own token is the one after the prefix."),
            ("gate_accepts", "accepted = 0", "accepted = prefix", "What passes the gate is accepted."),
        ],
        "open_gate": [
            ("strictly_above", "[prefix] >=", "[prefix] >", "A confidence must be above the threshold."),
        ],
    },
    "8.15": {
        "only_profiled_lengths": [
            ("longest_profiled", "int(", ALL_PROFILED, "Everything that was profiled is worth verifying."),
            ("last_entry_repeated", TRIED, PADDED, "A step without an entry is as fast as the last one that has one."),
            ("fastest_step", "tokens[:tried] * steps", "steps", "The fastest step is the best one."),
            ("confidences_added", "np.cumprod(confidences)", "confidences", "A token counts with its own confidence."),
        ],
        "whole_profile": [
            ("first_fall_ends", BEST, FIRST_FALL, "The search ends where a token does not pay."),
            (
                "longest_of_ties",
                BEST,
                f"tried - 1 - np.argmax(({RATES})[::-1])",
                "Of equal lengths the longest is best.",
            ),
        ],
    },
    "8.16": {
        "replay_is_a_cost": [
            ("replay_once_per_round", "accepted * replay", "rounds * replay", "A round replays once."),
            (
                "bonus_replayed",
                "accepted * replay",
                "(accepted + rounds) * replay",
                "The target's token is replayed too.",
            ),
            ("bonus_saves_nothing", "(accepted + rounds)", "accepted", "Only accepted drafts save time."),
            ("zero_pays", "saved > 0", "saved >= 0", "What costs nothing pays."),
        ],
        "without_replay": [
            ("drafting_is_free", "(draft_time + verify_time)", "verify_time", "A drafter so small costs nothing."),
        ],
    },
}
with_bugs(WRONG)

SLICED = """
size = next((k for k, token in enumerate(round_tokens, 1) if token in stop_tokens), len(round_tokens))
finished = not set(stop_tokens).isdisjoint(round_tokens[:size])
return {"output": [*output, *round_tokens[:size]], "finished": finished}
"""
LOOP_WITH_ELSE = """
for size, token in enumerate(round_tokens, start=1):
    if token in stop_tokens:
        break
else:
    return {"finished": False, "output": output + round_tokens}
return {"finished": True, "output": output + round_tokens[:size]}
"""
PLACES = """
stop = min((k for k, t in enumerate(tokens, start=1) if t in stop_tokens), default=max_new_tokens + 1)
reason = "stop" if stop <= max_new_tokens else "length" if len(tokens) >= max_new_tokens else "running"
return {"tokens": tokens[: min(stop, max_new_tokens)], "reason": reason}
"""
TOKEN_BY_TOKEN = """
text = []
while len(text) < min(len(tokens), max_new_tokens):
    text.append(tokens[len(text)])
    if text[-1] in stop_tokens:
        return {"reason": "stop", "tokens": text}
return {"reason": "length" if len(text) == max_new_tokens else "running", "tokens": text}
"""
TAKEN_OFF = """
from itertools import accumulate
ended = [list(accumulate((token in stop_tokens for token in block), lambda a, b: a or b)) for block in rounds]
return sum(len(after) - max(sum(after) - 1, 0) for after in ended) / len(rounds)
"""
SETS = """
fed, wanted = set(range(drafted)), set(range(accepted + 1))  # 0 is the anchor, k the draft k
return {"drop": len(fed - wanted), "missing": len(wanted - fed)}
"""
TWO_CASES = """
if accepted == drafted:
    return {"missing": 1, "drop": 0}
return {"missing": 0, "drop": drafted - accepted - 1}
"""
CUMULATIVE_AND = """
prefix = int(np.logical_and.accumulate(confidences >= threshold).sum())
accepted = max(k for k in range(prefix + 1) if draft_tokens[:k] == target_tokens[:k])
return {"tokens": target_tokens[: accepted + 1], "target_input": [anchor_token, *draft_tokens[:prefix]]}
"""
READ_OFF = """
below = [k for k, confidence in enumerate(confidences) if confidence < threshold]
sent, tokens = draft_tokens[: below[0]] if below else draft_tokens, []
for draft, own in zip([*sent, None], target_tokens):
    tokens.append(own)
    if draft != own:
        break
return {"target_input": [anchor_token, *sent], "tokens": tokens}
"""
BY_LENGTH = """
survival, expected, rates = 1.0, 1.0, []
for confidence, speed in zip([*confidences, 0.0], steps_per_second):
    rates.append(expected * speed)
    survival *= confidence
    expected += survival
return rates.index(max(rates))
"""
BY_ROUND = """
saved = 0.0
for accepted in accepted_counts:
    saved += (accepted + 1) * target_time
    saved -= draft_time + verify_time + accepted * replay_time
return {"pays": saved > 0, "saved": saved}
"""
EVENTS = """
drafts, rounds = sum(accepted_counts), len(accepted_counts)
events = [drafts + rounds, -rounds, -rounds, -drafts]
saved = float(np.dot(events, [target_time, draft_time, verify_time, replay_time]))
return {"saved": saved, "pays": saved > 0}
"""

RIGHT = with_noise(
    {
        "8.10": [
            ("slice_and_look", "", SLICED, "A slice, and a look at its tokens."),
            ("loop_with_else", "", LOOP_WITH_ELSE, "A loop with an else."),
        ],
        "8.11": [
            ("places_compared", "", PLACES, "The places of both ends are compared."),
            ("token_by_token", "", TOKEN_BY_TOKEN, "Token by token, as plain decoding would go."),
        ],
        "8.12": [
            ("mean_of_counts", MEAN, f"float(np.mean({COUNTS}))", "A mean of counts."),
            ("tokens_taken_off", "", TAKEN_OFF, "Tokens after a stop are found by a running or, and taken off."),
        ],
        "8.13": [
            ("sets_of_rows", "", SETS, "Sets of what was fed and what is wanted."),
            ("two_cases", "", TWO_CASES, "Two cases, told apart."),
        ],
        "8.14": [
            ("by_cumulative_and", "", CUMULATIVE_AND, "The gate by NumPy, the acceptance by a comparison of lists."),
            ("read_off", "", READ_OFF, "The target's tokens are read off one by one, as they come."),
        ],
        "8.15": [
            ("length_by_length", "", BY_LENGTH, "Pure Python, one length after the other."),
            (
                "minus_infinity",
                BEST,
                f"np.argmax([*({RATES}), -np.inf])",
                "A length without an entry gets a rate of −inf.",
            ),
        ],
        "8.16": [
            ("round_by_round", "", BY_ROUND, "Round by round."),
            ("events_by_times", "", EVENTS, "A product of numbers of events and their times."),
        ],
    }
)
