"""Lesson 07, end to end: wrong solutions under the property that must catch them, and right ones."""

from grader.lessons.mutants import Patch

ROWS = "verified_rows - 1 - accepted"
WHILE_SURE = "confidences[length] >= threshold"
LENGTH = "    accepted = 0\n"  # ℓ is known there
RESULT = '"tokens": emitted, **rows}'
JUDGED = "    if len(drafted) < patience or 0 in drafted[-patience:]:\n        return True  # too early to judge\n"
MEAN = "sum(emitted[-patience:]) >= break_even * patience"
PAUSE = "return len(pause) == retry_after and not any(pause)"

WRONG: dict[str, dict[str, list[Patch]]] = {
    "7.1": {
        "refused_rows_go": [
            ("anchor_forgotten", ROWS, "verified_rows - accepted", "verified_rows counts the drafts only."),
            (
                "correction_keeps_a_row",
                ROWS,
                "max(verified_rows - 2 - accepted, 0)",
                "The correction takes the place of the first rejected draft, whose row stays.",
            ),
            ("accepted_dropped", ROWS, "accepted", "The rows to drop are the accepted ones."),
            (
                "all_rows_go",
                ROWS,
                "0 if accepted == verified_rows - 1 else verified_rows",
                "A round with a rejection is computed anew, so all of its rows go.",
            ),
            ("rows_to_keep", ROWS, "1 + accepted", "The number of rows to keep is asked for."),
            ("by_block_size", ROWS, "max(8 - accepted, 0)", "The block always has eight drafts."),
        ],
        "full_block_drops_nothing": [
            ("bonus_row", ROWS, f"max({ROWS}, 1)", "The bonus token has a row too, which is dropped with the rest."),
        ],
    },
    "7.2": {
        "trimmed_before_the_forward": [
            (
                "gate_after_the_forward",
                '"verified_rows": 1 + length, "dropped_rows": length - accepted',
                '"verified_rows": 1 + len(draft_tokens), "dropped_rows": len(draft_tokens) - accepted',
                "The whole block is verified; confidence only says what to commit.",
            ),
            ("equal_is_too_low", WHILE_SURE, WHILE_SURE.replace(">=", ">"), "Only a higher confidence passes."),
            (
                "all_confident_ones",
                LENGTH,
                f"    length = int((confidences >= threshold).sum())\n{LENGTH}",
                "All confident tokens go, wherever they stand.",
            ),
            (
                "survival_compared",
                WHILE_SURE,
                "confidences[: length + 1].prod() >= threshold",
                "The survival is compared with the threshold.",
            ),
            (
                "dropped_by_drafted",
                '"dropped_rows": length - accepted',
                '"dropped_rows": len(draft_tokens) - accepted',
                "The rows to drop are counted from all drafts.",
            ),
            (
                "compared_past_the_trim",
                "accepted < length and",
                "accepted < len(draft_tokens) and",
                "A draft past the trim is accepted where the target happens to confirm it.",
            ),
        ],
        "nothing_verified_is_plain": [
            (
                "at_least_one",
                LENGTH,
                f"    length = min(max(length, 1), len(draft_tokens))\n{LENGTH}",
                "At least one draft is verified, as in task 2.3.",
            ),
            (
                "no_forward",
                '"verified_rows": 1 + length',
                '"verified_rows": 1 + length if length else 0',
                "Without a draft there is no forward.",
            ),
        ],
        "target_decides": [
            (
                "all_matches",
                "    emitted = [*draft_tokens[:accepted]",
                "    kept = [d for d, t in zip(draft_tokens[:length], target_tokens) if d == t]\n"
                "    accepted = len(kept)\n"
                "    emitted = [*kept",
                "Every draft that equals the target's choice is accepted, also after a rejection.",
            ),
            (
                "last_row_corrects",
                "target_tokens[accepted]]",
                "target_tokens[length]]",
                "The correction is the target's last token.",
            ),
            (
                "no_correction",
                RESULT,
                '"tokens": emitted if accepted == length else emitted[:-1], **rows}',
                "There is a token of the target's only when the whole block was accepted.",
            ),
            (
                "one_row_late",
                "    length = 0\n",
                "    target_tokens = [*target_tokens[1:], target_tokens[-1]]\n    length = 0\n",
                "Target token k belongs to draft k − 1.",
            ),
            (
                "anchor_row_dropped",
                "length - accepted",
                "length - accepted + 1",
                "The anchor's row is dropped with the rejected ones.",
            ),
        ],
    },
    "7.3": {
        "only_tested_drafts_count": [
            (
                "over_verified",
                "min(accepted + 1, verified)",
                "verified",
                "α is accepted over verified drafts.",
            ),
            (
                "first_position_only",
                "    return int(",
                "    tried = [a > 0 for a, v in zip(accepted_counts, verified_counts) if v]\n"
                "    return round_times.size - 1 if sum(tried) / len(tried) > 0.5 else 0\n"
                "    return int(",
                "What counts is whether the first draft was accepted.",
            ),
        ],
        "full_blocks_reject_nothing": [
            (
                "one_rejection_per_round",
                "min(accepted + 1, verified)",
                "accepted + 1",
                "Every round ends with a rejection.",
            ),
        ],
        "most_tokens_per_time": [
            (
                "mean_of_rates",
                "alpha = sum(accepted_counts) / tested",
                "alpha = np.mean([a / min(a + 1, v) for a, v in zip(accepted_counts, verified_counts) if v])",
                "The mean of the rounds' own rates is the rate.",
            ),
            (
                "last_round_only",
                "    tested = ",
                "    last = max(i for i, verified in enumerate(verified_counts) if verified)\n"
                "    accepted_counts, verified_counts = [accepted_counts[last]], [verified_counts[last]]\n"
                "    tested = ",
                "The last round says enough.",
            ),
            ("most_tokens", " / round_times)", ")", "The longest block yields the most tokens."),
            (
                "mean_accepted_length",
                "",
                "return min(round(sum(accepted_counts) / len(accepted_counts)) + 1, round_times.size - 1)",
                "The mean accepted length of the past is the block to draft.",
            ),
            (
                "never_plain",
                "return int(np.argmax(tokens_per_round / round_times))",
                "return int(np.argmax((tokens_per_round / round_times)[1:])) + 1 if round_times.size > 1 else 0",
                "Plain decoding is not a block size.",
            ),
            (
                "own_token_forgotten",
                "tokens_per_round / round_times",
                "(tokens_per_round - 1.0) / round_times",
                "The target's own token is left out of the yield.",
            ),
            (
                "no_products",
                "np.cumsum(alpha ** np.arange(round_times.size))",
                "1.0 + alpha * np.arange(round_times.size)",
                "Every draft yields α, since the positions are independent.",
            ),
        ],
        "equal_speeds_take_the_smaller": [
            (
                "larger_of_equals",
                "int(np.argmax(tokens_per_round / round_times))",
                "int(round_times.size - 1 - np.argmax((tokens_per_round / round_times)[::-1]))",
                "Of equal speeds the longer block is the better one.",
            ),
        ],
        "nothing_accepted_nothing_hoped": [
            (
                "zero_without_acceptance",
                "return int(np.argmax(tokens_per_round / round_times))",
                "return int(np.argmax(tokens_per_round / round_times)) if alpha else 0",
                "Where nothing was accepted, the answer is 0.",
            ),
        ],
    },
    "7.4": {
        "low_yield_gives_up": [
            ("equal_gives_up", MEAN, MEAN.replace(">=", ">"), "Drafting goes on only above the break-even."),
            (
                "all_bad",
                MEAN,
                "max(emitted[-patience:]) >= break_even",
                "It gives up when all of the last rounds were bad, not their mean.",
            ),
            ("one_bad_round", MEAN, "min(emitted[-patience:]) >= break_even", "One bad round is enough."),
            (
                "accepted_only",
                MEAN,
                "sum(emitted[-patience:]) - patience >= break_even * patience",
                "What counts is how many drafts were accepted, without the target's token.",
            ),
            (
                "by_rate",
                MEAN,
                "sum(emitted[-patience:]) - patience >= 0.5 * sum(drafted[-patience:])",
                "It gives up when less than half of the drafts are accepted.",
            ),
        ],
        "only_recent_rounds_count": [
            ("mean_of_all", MEAN, "sum(emitted) >= break_even * len(emitted)", "The mean over all rounds is surest."),
            (
                "first_rounds",
                MEAN,
                "sum(emitted[:patience]) >= break_even * patience",
                "The first rounds of the request are the ones to look at.",
            ),
        ],
        "too_early_to_judge": [
            (
                "judged_at_once",
                JUDGED + f"    return {MEAN}",
                "    recent = emitted[-patience:]\n    return not recent or sum(recent) >= break_even * len(recent)",
                "The rounds that there are can be judged.",
            ),
        ],
        "pause_lasts_and_ends": [
            ("never_again", PAUSE, "return False", "A request that gave up once stays with plain decoding."),
            (
                "one_round_longer",
                "        pause = drafted[-retry_after:]\n",
                "        retry_after += 1\n        pause = drafted[-retry_after:]\n",
                "The pause ends one round later.",
            ),
            (
                "all_plain_rounds",
                PAUSE,
                "run = next((k for k, size in enumerate(drafted[::-1]) if size), len(drafted))\n"
                "        return run % retry_after == 0",
                "After each retry_after plain rounds there is one try, and then the pause begins anew.",
            ),
        ],
        "second_try_is_fair": [
            (
                "pause_counts",
                " or 0 in drafted[-patience:]",
                "",
                "The plain rounds of the pause count as bad rounds.",
            ),
            (
                "judged_across_the_pause",
                JUDGED + f"    return {MEAN}",
                "    tries = [count for count, size in zip(emitted, drafted) if size]\n"
                "    return len(tries) < patience or sum(tries[-patience:]) >= break_even * patience",
                "The last rounds that drafted are judged, those before the pause too.",
            ),
        ],
    },
    "7.5": {
        "sums_of_whole_rounds": [
            (
                "one_rejection_per_round",
                "sum(verified) - sum(accepted)",
                "sum(kept < seen for kept, seen in zip(accepted, verified))",
                "A round rejects one draft, the first that differs.",
            ),
            (
                "tau_without_bonus",
                "sum(emitted) / rounds",
                "sum(accepted) / rounds",
                "τ is the number of accepted drafts per round.",
            ),
            (
                "bonus_accepted",
                '"accepted": sum(accepted)',
                '"accepted": sum(accepted) + rounds',
                "The target's own tokens are accepted tokens too.",
            ),
        ],
        "trimmed_is_not_rejected": [
            (
                "trimmed_rejected",
                "sum(verified) - sum(accepted)",
                "sum(drafted) - sum(accepted)",
                "What was not accepted was rejected.",
            ),
            (
                "drafted_is_verified",
                '"drafted": sum(drafted)',
                '"drafted": sum(verified)',
                "Only verified drafts were drafted.",
            ),
        ],
        "cut_tokens_are_not_emitted": [
            (
                "tau_with_cut_tokens",
                "sum(emitted) / rounds",
                "(sum(accepted) + rounds) / rounds",
                "τ counts what the rounds made, tokens past the end too.",
            ),
            (
                "emitted_recounted",
                '"emitted": sum(emitted)',
                '"emitted": sum(accepted) + rounds',
                "Accepted drafts and one token per round are what was emitted.",
            ),
            (
                "cut_drafts_only",
                "sum(accepted) + rounds - sum(emitted)",
                "max(sum(accepted) + rounds - sum(emitted) - 1, 0)",
                "Only accepted drafts can be cut.",
            ),
        ],
        "no_rounds_no_rate": [
            ("zero_tau", "math.nan", "0.0", "Without rounds τ is 0."),
            (
                "divides_by_zero",
                " if rounds else math.nan",
                "",
                "There is always a round.",
            ),
        ],
    },
}

RIGHT: dict[str, list[Patch]] = {
    "7.1": [
        ("counted", ROWS, "len(list(range(verified_rows))[1 + accepted :])", "The rejected rows laid out and counted."),
        (
            "one_by_one",
            "",
            """
            dropped = 0
            while verified_rows - dropped > accepted + 1:
                dropped += 1
            return dropped
            """,
            "One by one, from the end.",
        ),
        (
            "masked",
            "",
            """
            rejected = np.arange(verified_rows) > accepted
            print("dropping", rejected)
            return int(rejected.sum())
            """,
            "Over a mask of the rows, with a print on the way.",
        ),
    ],
    "7.2": [
        (
            "by_masks",
            "",
            """
            drafts, targets = np.array(draft_tokens, dtype=int), np.array(target_tokens)
            length = int(np.append(confidences >= threshold, False).argmin())
            accepted = int(np.append(drafts[:length] == targets[:length], False).argmin())
            tokens = targets[: accepted + 1].tolist()
            counts = dict(verified_rows=1 + length, accepted=accepted, dropped_rows=length - accepted)
            return counts | {"tokens": tokens}
            """,
            "NumPy: argmin of two masks, each with a sentinel.",
        ),
        (
            "recursive",
            "",
            """
            from itertools import takewhile

            length = len(list(takewhile(lambda c: c >= threshold, confidences)))

            def walk(k):
                said = target_tokens[k]
                return [said, *walk(k + 1)] if k < length and said == draft_tokens[k] else [said]

            tokens = walk(0)
            accepted = len(tokens) - 1
            counts = {"verified_rows": length + 1, "dropped_rows": length - accepted}
            return {"tokens": tokens, "accepted": accepted, **counts}
            """,
            "A recursive walk.",
        ),
        (
            "for_with_break",
            "",
            """
            length = next((k for k, c in enumerate(confidences) if c < threshold), len(draft_tokens))
            tokens = []
            for k in range(length + 1):
                tokens.append(target_tokens[k])
                if k == length or draft_tokens[k] != target_tokens[k]:
                    break
            kept = len(tokens) - 1
            return {"verified_rows": 1 + length, "accepted": kept, "tokens": tokens, "dropped_rows": length - kept}
            """,
            "One loop over the rows of the forward.",
        ),
    ],
    "7.3": [
        (
            "in_fractions",
            "",
            """
            from fractions import Fraction

            rejected = sum(a < v for a, v in zip(accepted_counts, verified_counts))
            alpha = Fraction(sum(accepted_counts), sum(accepted_counts) + rejected)
            sizes = range(len(round_times))
            return max(sizes, key=lambda g: (float(sum(alpha**k for k in range(g + 1))) / round_times[g], -g))
            """,
            "Fractions, and max with a key that prefers the smaller.",
        ),
        (
            "best_so_far",
            "",
            """
            tested = sum(min(a + 1, v) for a, v in zip(accepted_counts, verified_counts))
            alpha, tokens, survival = sum(accepted_counts) / tested, 0.0, 1.0
            best, speed = 0, 0.0
            for size, seconds in enumerate(round_times):
                tokens += survival
                survival *= alpha
                if tokens / seconds > speed:
                    best, speed = size, tokens / seconds
            return best
            """,
            "A loop that keeps the best so far.",
        ),
        (
            "in_arrays",
            "",
            """
            accepted, verified = np.array(accepted_counts), np.array(verified_counts)
            alpha = accepted.sum() / np.minimum(accepted + 1, verified).sum()
            powers = np.tri(round_times.size) @ alpha ** np.arange(round_times.size)
            return (powers / round_times).argmax().item()
            """,
            "A triangular matrix sums the powers.",
        ),
    ],
    "7.4": [
        (
            "state_machine",
            "",
            """
            drafting, since, recent = True, 0, []
            for size, count in zip(drafted, emitted):
                if (size > 0) != drafting:
                    drafting, since, recent = size > 0, 0, []
                since += 1
                recent = [*recent, count][-patience:]
            if not drafting:
                return since >= retry_after
            return since < patience or sum(recent) >= break_even * patience
            """,
            "The whole request is played again, round by round.",
        ),
        (
            "numpy_slices",
            "",
            """
            sizes, counts = np.array(drafted, dtype=int), np.array(emitted, dtype=int)
            if sizes.size and sizes[-1] == 0:
                return bool(sizes.size >= retry_after and (sizes[-retry_after:] == 0).all())
            early = sizes.size < patience or not (sizes[-patience:] > 0).all()
            return bool(early or counts[-patience:].mean() >= break_even)
            """,
            "NumPy slices and means.",
        ),
        (
            "counted",
            "",
            """
            from itertools import takewhile

            pause = len(list(takewhile(lambda size: size == 0, reversed(drafted))))
            run = len(list(takewhile(lambda size: size > 0, reversed(drafted))))
            if pause:
                return pause >= retry_after
            return run < patience or sum(emitted[-patience:]) / patience >= break_even
            """,
            "Two counts of rounds from the end.",
        ),
    ],
    "7.5": [
        (
            "counter",
            "",
            """
            from collections import Counter

            names = ("rounds", "drafted", "trimmed", "rejected", "accepted", "emitted", "cut")
            found = Counter(dict.fromkeys(names, 0))
            for size, seen, kept, count in zip(drafted, verified, accepted, emitted):
                found.update(rounds=1, drafted=size, trimmed=size - seen, rejected=seen - kept)
                found.update(accepted=kept, emitted=count, cut=kept + 1 - count)
            return {**found, "tau": found["emitted"] / found["rounds"] if found["rounds"] else float("nan")}
            """,
            "A Counter that is fed round by round.",
        ),
        (
            "matrix",
            "",
            """
            table = np.array([drafted, verified, accepted, emitted], dtype=int).reshape(4, -1)
            size, seen, kept, count = table.sum(axis=1).tolist()
            rounds = table.shape[1]
            tau = np.divide(count, rounds) if rounds else np.float64("nan")
            found = {"cut": kept + rounds - count, "tau": tau, "rounds": rounds, "drafted": size}
            return found | {"trimmed": size - seen, "rejected": seen - kept, "accepted": kept, "emitted": count}
            """,
            "One matrix, its sums, and .tolist().",
        ),
        (
            "fsum",
            "sum(emitted) / rounds if rounds else math.nan",
            "math.fsum(emitted) / rounds if rounds > 0 else -math.nan",
            "Another sum, and another nan.",
        ),
    ],
}
