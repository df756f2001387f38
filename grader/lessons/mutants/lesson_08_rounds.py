"""Lesson 08, the bug clinic: wrong repairs of 8.10 to 8.16 under the property that must catch them, and right ones."""

from grader.lessons.mutants.lesson_08 import Wrong, with_bugs, with_noise

AT_CAP = '"length" if len(tokens) >= max_new_tokens else'
SIZE = "size = next((k for k, token in enumerate(round_tokens, 1) if token in stop_tokens), len(round_tokens))"
EMITTED = "[next((k for k, t in enumerate(block, 1) if t in stop_tokens), len(block)) for block in rounds]"
RATES = "tokens[:tried] * steps_per_second[:tried]"
PREFIX_FOUND = "    target_input ="

WRONG: Wrong = {
    "8.10": {
        "first_stop_ends": [
            ("stop_left_out", "committed, ", "committed[:-1], ", "The stop token does not belong to the text."),
            (
                "last_stop_ends",
                "in stop_tokens:",
                "in stop_tokens and token == round_tokens[-1]:",
                "The last one ends it.",
            ),
            ("one_stop_token", "in stop_tokens", "in stop_tokens[:1]", "There is one stop token."),
            ("flag_from_the_end", "True", "round_tokens[-1] in stop_tokens", "The flag looks at the last token only."),
        ],
        "rounds_without_early_stop": [
            ("finished_if_cut", "True", "round_tokens[-1] != token", "Only a round that was cut has finished."),
        ],
    },
    "8.11": {
        "stop_before_cap": [
            (
                "reason_from_the_cap",
                '"reason": "stop"',
                f'"reason": {AT_CAP} "stop"',
                "Whoever reaches the cap was cut.",
            ),
            ("stop_not_kept", "tokens[:count]", "tokens[: count - 1]", "The stop token does not belong to the text."),
        ],
        "stop_as_last_allowed": [
            (
                "cap_wins_at_the_cap",
                "[:max_new_tokens], start",
                "[: max_new_tokens - 1], start",
                "At the cap the cap wins.",
            ),
        ],
        "cap_before_stop": [
            ("stop_always_wins", "tokens[:max_new_tokens], start", "tokens, start", "A stop token always wins."),
            ("cap_must_be_exceeded", ">= max", "> max", "A request is cut only when it exceeds the cap."),
        ],
    },
    "8.12": {
        "only_emitted_tokens": [
            ("stop_not_counted", "ends[0] if", "ends[0] - 1 if", "The stop token is not emitted."),
            ("bonus_after_the_stop", "ends[0] if", "min(ends[0] + 1, len(block)) if", "A bonus token follows always."),
            ("stopped_rounds_left_out", "ends[0] if", "emitted / len(rounds) if", "A round that stops is not counted."),
            (
                "median_taken",
                "return emitted / len(rounds)",
                f"return float(np.median({EMITTED}))",
                "The median says more.",
            ),
        ],
        "rounds_without_stop": [
            ("bonus_not_counted", "/ len(rounds)", "/ len(rounds) - 1", "Accepted length means drafts only."),
        ],
    },
    "8.13": {
        "rejecting_rounds": [
            (
                "as_the_target",
                "max(surplus, 0)",
                "drafted - accepted",
                "Both caches are trimmed by the rejected drafts.",
            ),
            ("whole_round_dropped", "max(surplus, 0)", "drafted * (surplus >= 0)", "A rejected round is drafted anew."),
        ],
        "all_accepted": [
            ("never_missing", "max(-surplus, 0)", "0", "If everything was accepted, the cache is complete."),
            (
                "negative_trim",
                'max(surplus, 0), "missing": max(-',
                'surplus, "missing": min(-',
                "A trim can be negative.",
            ),
            ("target_token_missing", "max(-surplus, 0)", "max(-2 * surplus, 0)", "The target's token is missing too."),
        ],
        "single_draft": [
            (
                "at_least_one_row",
                "max(surplus, 0)",
                "max(surplus, int(not accepted))",
                "A rejection costs a row at least.",
            ),
        ],
    },
    "8.14": {
        "target_gets_the_prefix": [
            (
                "confident_tokens_counted",
                PREFIX_FOUND,
                f"    prefix = int((confidences >= threshold).sum())\n{PREFIX_FOUND}",
                "The gate counts the confident tokens, wherever they stand.",
            ),
            (
                "one_draft_at_least",
                PREFIX_FOUND,
                f"    prefix = max(prefix, min(1, len(draft_tokens)))\n{PREFIX_FOUND}",
                "At least one draft is always verified.",
            ),
            ("anchor_not_fed", "[anchor_token, *", "[*", "The anchor is committed, the target need not see it again."),
            (
                "token_after_the_prefix",
                "target_tokens[accepted]]}",
                "target_tokens[prefix]]}",
                "It follows the prefix.",
            ),
            ("gate_accepts", "while accepted < prefix and", "accepted = prefix\n    while 0 and", "The gate accepts."),
        ],
        "open_gate": [
            ("strictly_above", "[prefix] >=", "[prefix] >", "A confidence must be above the threshold."),
        ],
    },
    "8.15": {
        "only_profiled_lengths": [
            (
                "longest_profiled",
                "return ",
                "return tried - 1 if tried < len(tokens) else ",
                "Everything that was profiled is worth verifying.",
            ),
            (
                "last_entry_repeated",
                "tried = min(len(tokens), len(steps_per_second))",
                "tried = len(tokens)\n    steps_per_second = np.pad(steps_per_second, (0, tried), 'edge')",
                "A step without an entry is as fast as the last one that has one.",
            ),
            ("fastest_step", "tokens[:tried] * steps", "steps", "The fastest step is the best one."),
            ("confidences_added", "np.cumprod(confidences)", "confidences", "A token counts with its own confidence."),
        ],
        "whole_profile": [
            (
                "first_fall_ends",
                f"np.argmax({RATES})",
                f"np.argmin(np.diff([*({RATES}), 0.0]) > 0)",
                "The search ends where a token does not pay.",
            ),
            (
                "longest_of_ties",
                f"np.argmax({RATES})",
                f"tried - 1 - np.argmax(({RATES})[::-1])",
                "Of equal lengths the longest is the best.",
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

RIGHT = with_noise(
    {
        "8.10": [
            (
                "slice_and_look",
                "",
                f"""
                {SIZE}
                finished = not set(stop_tokens).isdisjoint(round_tokens[:size])
                return {{"output": [*output, *round_tokens[:size]], "finished": finished}}
                """,
                "A slice, and a look at its tokens.",
            ),
            (
                "loop_with_else",
                "",
                """
                for size, token in enumerate(round_tokens, start=1):
                    if token in stop_tokens:
                        break
                else:
                    return {"finished": False, "output": output + round_tokens}
                return {"finished": True, "output": output + round_tokens[:size]}
                """,
                "A loop with an else.",
            ),
        ],
        "8.11": [
            (
                "places_compared",
                "",
                """
                stop = min((k for k, t in enumerate(tokens, start=1) if t in stop_tokens), default=max_new_tokens + 1)
                reason = "stop" if stop <= max_new_tokens else "length" if len(tokens) >= max_new_tokens else "running"
                return {"tokens": tokens[: min(stop, max_new_tokens)], "reason": reason}
                """,
                "The places of both ends are compared.",
            ),
            (
                "token_by_token",
                "",
                """
                text = []
                for token in tokens:
                    if len(text) == max_new_tokens:
                        break
                    text.append(token)
                    if token in stop_tokens:
                        return {"reason": "stop", "tokens": text}
                return {"reason": "length" if len(text) == max_new_tokens else "running", "tokens": text}
                """,
                "Token by token, as plain decoding would go.",
            ),
        ],
        "8.12": [
            ("mean_of_counts", "", f"return float(np.mean({EMITTED}))", "A mean of counts."),
            (
                "tokens_taken_off",
                "",
                """
                from itertools import accumulate
                late = 0
                for block in rounds:
                    ended = list(accumulate((token in stop_tokens for token in block), lambda a, b: a or b))
                    late += max(sum(ended) - 1, 0)
                return (sum(map(len, rounds)) - late) / len(rounds)
                """,
                "Tokens after a stop are found by a running or, and taken off.",
            ),
        ],
        "8.13": [
            (
                "sets_of_rows",
                "",
                """
                fed, wanted = set(range(drafted)), set(range(accepted + 1))  # 0 is the anchor, k the draft k
                return {"drop": len(fed - wanted), "missing": len(wanted - fed)}
                """,
                "Sets of what was fed and what is wanted.",
            ),
            (
                "two_cases",
                "",
                """
                if accepted == drafted:
                    return {"missing": 1, "drop": 0}
                return {"missing": 0, "drop": drafted - accepted - 1}
                """,
                "Two cases, told apart.",
            ),
        ],
        "8.14": [
            (
                "by_cumulative_and",
                "",
                """
                prefix = int(np.logical_and.accumulate(confidences >= threshold).sum())
                accepted = max(k for k in range(prefix + 1) if draft_tokens[:k] == target_tokens[:k])
                return {"tokens": target_tokens[: accepted + 1], "target_input": [anchor_token, *draft_tokens[:prefix]]}
                """,
                "The gate by NumPy, the acceptance by a comparison of lists.",
            ),
            (
                "read_off",
                "",
                """
                below = [k for k, confidence in enumerate(confidences) if confidence < threshold]
                sent, tokens = draft_tokens[: below[0]] if below else draft_tokens, []
                for draft, own in zip([*sent, None], target_tokens):
                    tokens.append(own)
                    if draft != own:
                        break
                return {"target_input": [anchor_token, *sent], "tokens": tokens}
                """,
                "The target's tokens are read off one by one, as they come.",
            ),
        ],
        "8.15": [
            (
                "length_by_length",
                "",
                """
                survival, expected, rates = 1.0, 1.0, []
                for confidence, speed in zip([*confidences, 0.0], steps_per_second):
                    rates.append(expected * speed)
                    survival *= confidence
                    expected += survival
                return rates.index(max(rates))
                """,
                "Pure Python, one length after the other.",
            ),
            (
                "minus_infinity",
                f"np.argmax({RATES})",
                f"np.argmax([*({RATES}), *[-np.inf] * (len(tokens) - tried)])",
                "Lengths without an entry get a rate of −inf.",
            ),
        ],
        "8.16": [
            (
                "round_by_round",
                "",
                """
                saved = 0.0
                for accepted in accepted_counts:
                    saved += (accepted + 1) * target_time
                    saved -= draft_time + verify_time + accepted * replay_time
                return {"pays": saved > 0, "saved": saved}
                """,
                "Round by round.",
            ),
            (
                "events_by_times",
                "",
                """
                drafts, rounds = sum(accepted_counts), len(accepted_counts)
                events = [drafts + rounds, -rounds, -rounds, -drafts]
                saved = float(np.dot(events, [target_time, draft_time, verify_time, replay_time]))
                return {"saved": saved, "pays": saved > 0}
                """,
                "A product of numbers of events and their times.",
            ),
        ],
    }
)
