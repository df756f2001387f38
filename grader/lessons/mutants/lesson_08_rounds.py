"""Lesson 08, the bug clinic: wrong repairs of 8.10 to 8.16 under the property that must catch them, and right ones."""

from grader.lessons.mutants.lesson_08 import with_bugs, with_noise

WRONG = with_bugs(
    {
        "8.10": {
            "first_stop_ends": [
                (
                    "stop_left_out",
                    "",
                    """
                    from itertools import takewhile
                    text = list(takewhile(lambda token: token not in stop_tokens, round_tokens))
                    return {"output": output + text, "finished": len(text) < len(round_tokens)}
                    """,
                    "The stop token does not belong to the text.",
                ),
                (
                    "last_stop_ends",
                    "",
                    """
                    places = [k for k, token in enumerate(round_tokens, start=1) if token in stop_tokens]
                    kept = round_tokens[: max(places, default=len(round_tokens))]
                    return {"output": output + kept, "finished": bool(places)}
                    """,
                    "The last stop token ends the text.",
                ),
                ("one_stop_token", "in stop_tokens", "in stop_tokens[:1]", "There is one stop token."),
                (
                    "flag_from_the_end",
                    '"finished": True',
                    '"finished": round_tokens[-1] in stop_tokens',
                    "The flag looks at the last token of the round, the output at all of them.",
                ),
            ],
            "rounds_without_early_stop": [
                (
                    "finished_if_cut",
                    '"finished": True',
                    '"finished": len(committed) < len(output) + len(round_tokens)',
                    "Only a round that was cut has finished.",
                ),
            ],
        },
        "8.11": {
            "stop_before_cap": [
                (
                    "reason_from_the_cap",
                    '"reason": "stop"',
                    '"reason": "length" if len(tokens) >= max_new_tokens else "stop"',
                    "Whoever reaches the cap has been cut.",
                ),
                (
                    "stop_not_kept",
                    "tokens[:count]",
                    "tokens[: count - 1]",
                    "The stop token does not belong to the text.",
                ),
            ],
            "stop_as_last_allowed": [
                (
                    "cap_wins_at_the_cap",
                    "if token in stop_tokens",
                    "if token in stop_tokens and count < max_new_tokens",
                    "At the cap it is the cap that ends the request.",
                ),
            ],
            "cap_before_stop": [
                ("stop_always_wins", "enumerate(tokens[:max_new_tokens]", "enumerate(tokens", "A stop always wins."),
                ("cap_must_be_exceeded", ">= max", "> max", "A request is cut only when it exceeds the cap."),
            ],
        },
        "8.12": {
            "only_emitted_tokens": [
                ("stop_not_counted", "ends[0] if", "ends[0] - 1 if", "The stop token is not emitted."),
                (
                    "bonus_after_the_stop",
                    "ends[0] if",
                    "min(ends[0] + 1, len(block)) if",
                    "A token of the target follows in every round.",
                ),
                (
                    "stopped_rounds_left_out",
                    "",
                    """
                    fair = [len(block) for block in rounds if set(block).isdisjoint(stop_tokens)]
                    return sum(fair) / max(len(fair), 1)
                    """,
                    "A round that stops is not a fair sample and is left out.",
                ),
                (
                    "median_taken",
                    "",
                    """
                    from statistics import median
                    ends = [next((k for k, t in enumerate(b, 1) if t in stop_tokens), len(b)) for b in rounds]
                    return float(median(ends))
                    """,
                    "The median says more than the mean.",
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
                    "The drafter's cache is trimmed as the target's is: by the rejected drafts.",
                ),
                (
                    "whole_round_dropped",
                    "max(surplus, 0)",
                    "drafted if accepted < drafted else 0",
                    "After a rejection the whole round is drafted anew.",
                ),
            ],
            "all_accepted": [
                ("never_missing", "max(-surplus, 0)", "0", "If everything was accepted, the cache is complete."),
                (
                    "negative_trim",
                    'max(surplus, 0), "missing": max(-surplus, 0)',
                    'surplus, "missing": 0',
                    "A negative trim makes the cache longer.",
                ),
                (
                    "target_token_missing",
                    "max(-surplus, 0)",
                    "max(-2 * surplus, 0)",
                    "The target's token is missing too.",
                ),
            ],
            "single_draft": [
                ("at_least_one_row", "max(surplus, 0)", "max(surplus, int(accepted == 0))", "A rejection costs a row."),
            ],
        },
        "8.14": {
            "target_gets_the_prefix": [
                (
                    "confident_tokens_counted",
                    "    target_input",
                    "    prefix = int((confidences >= threshold).sum())\n    target_input",
                    "The gate counts the confident tokens, wherever they stand.",
                ),
                (
                    "one_draft_at_least",
                    "    target_input",
                    "    prefix = max(prefix, min(1, len(draft_tokens)))\n    target_input",
                    "At least one draft is always verified.",
                ),
                (
                    "anchor_not_fed",
                    "[anchor_token, *draft_tokens[:prefix]]",
                    "draft_tokens[:prefix]",
                    "The anchor is committed, so the target need not see it again.",
                ),
                (
                    "token_after_the_prefix",
                    "target_tokens[accepted]]}",
                    "target_tokens[prefix]]}",
                    "The target's own token is the one after the prefix.",
                ),
                (
                    "gate_accepts",
                    " and draft_tokens[accepted] == target_tokens[accepted]",
                    "",
                    "What passes the gate is accepted.",
                ),
            ],
            "open_gate": [
                (
                    "strictly_above",
                    "confidences[prefix] >=",
                    "confidences[prefix] >",
                    "A confidence must be above the threshold.",
                ),
            ],
        },
        "8.15": {
            "only_profiled_lengths": [
                (
                    "longest_profiled",
                    "    return",
                    "    if len(steps_per_second) < len(tokens):\n        return len(steps_per_second) - 1\n    return",
                    "Everything that was profiled is worth verifying.",
                ),
                (
                    "last_entry_repeated",
                    "    return",
                    """    tried = len(tokens)
    steps_per_second = np.append(steps_per_second, np.full(tried, steps_per_second[-1]))
    return""",
                    "A step without an entry is as fast as the last one that has one.",
                ),
                ("fastest_step", "tokens[:tried] * steps", "steps", "The fastest step is the best one."),
                (
                    "confidences_added",
                    "np.cumprod(confidences)",
                    "confidences",
                    "A token counts with its own confidence.",
                ),
            ],
            "whole_profile": [
                (
                    "first_fall_ends",
                    "    return",
                    """    found = [*(tokens[:tried] * steps_per_second[:tried]), 0.0]
    return next(k for k in range(tried) if found[k + 1] <= found[k])
    return""",
                    "The search ends where a token does not pay.",
                ),
                (
                    "longest_of_ties",
                    "np.argmax(tokens[:tried] * steps_per_second[:tried])",
                    "tried - 1 - np.argmax((tokens[:tried] * steps_per_second[:tried])[::-1])",
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
                    "The target's own token is replayed as well.",
                ),
                ("bonus_saves_nothing", "(accepted + rounds)", "accepted", "Only accepted drafts save time."),
                ("zero_pays", "saved > 0", "saved >= 0", "What costs nothing pays."),
            ],
            "without_replay": [
                ("drafting_is_free", "(draft_time + verify_time)", "verify_time", "A small drafter costs nothing."),
            ],
        },
    }
)

RIGHT = with_noise(
    {
        "8.10": [
            (
                "slice_and_look",
                "",
                """
                size = next((k for k, token in enumerate(round_tokens, 1) if token in stop_tokens), len(round_tokens))
                finished = not set(stop_tokens).isdisjoint(round_tokens[:size])
                return {"output": [*output, *round_tokens[:size]], "finished": finished}
                """,
                "A slice, and a look at its tokens.",
            ),
            (
                "loop_with_else",
                "",
                """
                for size, token in enumerate(round_tokens, start=1):
                    if token in stop_tokens:
                        result = {"finished": True, "output": output + round_tokens[:size]}
                        break
                else:
                    result = {"finished": False, "output": output + round_tokens}
                return result
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
            (
                "mean_of_counts",
                "",
                """
                from statistics import fmean
                stops = [next((k for k, t in enumerate(b, 1) if t in stop_tokens), len(b)) for b in rounds]
                return fmean(stops)
                """,
                "The mean of the statistics module.",
            ),
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
                tokens = draft_tokens[:accepted] + target_tokens[accepted : accepted + 1]
                return {"tokens": tokens, "target_input": [anchor_token, *draft_tokens[:prefix]]}
                """,
                "The gate by NumPy, the acceptance by a comparison of lists.",
            ),
            (
                "read_off",
                "",
                """
                below = [k for k, confidence in enumerate(confidences) if confidence < threshold]
                sent = draft_tokens[: below[0]] if below else draft_tokens
                tokens = []
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
                "    return int(np.argmax(tokens[:tried] * steps_per_second[:tried]))",
                """    rates = np.full(len(tokens), -np.inf)
    rates[:tried] = tokens[:tried] * steps_per_second[:tried]
    return int(rates.argmax())""",
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
