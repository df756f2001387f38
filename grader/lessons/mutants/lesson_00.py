"""Lesson 00, the economics of speculation: wrong solutions under the property that must catch them, and right ones."""

from grader.lessons.mutants import Patch

FIRST, CUT = "confidences[:verify_length]", "[:verify_length]"  # 0.1
TAU = "return float(1.0 + survival.sum())"
RATIO = "accepted_length * target_time / round_time"  # 0.2
PARTS = "draft_time + verify_time +"
BEST = "1 + int(gains[1:].argmax())"  # 0.3
COST = " * target_time / (draft_time + verify_times + correction_time)"

WRONG: dict[str, dict[str, list[Patch]]] = {
    "0.1": {
        "one_plus_the_survivals": [
            ("confidences_added", "np.cumprod(", "(", "Each token adds its own confidence."),
            ("own_token_left_out", "1.0 + ", "", "The target's own token is not an accepted one."),
            (
                "all_or_nothing",
                "survival.sum()",
                "survival[-1:].sum() * survival.size",
                "The expected length is the chance that all tokens survive, times their number.",
            ),
            ("mean_confidence", FIRST, f"0.0 * {FIRST} + {FIRST}.mean()", "The mean stands for each confidence."),
            ("running_minimum", "np.cumprod", "np.minimum.accumulate", "A prefix is as likely as its worst token."),
            ("first_token_sure", FIRST, f"[1.0, *{FIRST}][:-1]", "The first token is always looked at."),
            (
                "geometric_series",
                TAU,
                f"return 1.0 / (1.0 - {FIRST}.mean())",
                "The infinite series 1 / (1 − c) is close enough.",
            ),
        ],
        "certain_and_hopeless_tokens": [
            ("zeros_left_out", FIRST, f"{FIRST}[{FIRST} > 0.0]", "A zero is left out of a product."),
            ("logarithms", FIRST, f"{FIRST} + 1e-4", "A little is added against log 0."),
        ],
        "verify_length_cuts": [
            ("length_ignored", CUT, "", "The whole block counts, since it has been drafted."),
            ("zero_means_all", CUT, "[: verify_length or None]", "A verify_length of 0 is none: all are verified."),
            (
                "own_token_in_the_length",
                CUT,
                "[: verify_length and verify_length - 1]",
                "verify_length counts the target's own token too.",
            ),
            (
                "cut_at_the_wrong_end",
                CUT,
                "[0 if verify_length is None else len(confidences) - verify_length :]",
                "The last tokens are the ones to verify.",
            ),
            (
                "sum_cut_off",
                "",
                """
                total = float(np.cumprod(confidences).sum())
                return 1.0 + (total if verify_length is None else min(total, verify_length))
                """,
                "The sum is cut off at verify_length, since no more can be accepted.",
            ),
        ],
        "nothing_verified_is_one": [
            ("nothing_is_zero", "1.0 + ", "survival.size and 1.0 + ", "Without drafts nothing comes out."),
            ("draft_required", "survival =", "assert len(confidences)\n    survival =", "An empty list is an error."),
        ],
    },
    "0.2": {
        "tokens_of_a_round_over_its_time": [
            (
                "upside_down",
                RATIO,
                "round_time / (accepted_length * target_time)",
                "A speed-up is the new time divided by the old one.",
            ),
            ("one_token_a_round", "accepted_length * ", "", "One round replaces one step of the target."),
            ("verification_is_free", "+ verify_time +", "+", "Only drafting is extra work."),
            ("draft_is_free", "draft_time + verify", "verify", "The drafter is small: its time does not matter."),
            ("draft_for_each_token", PARTS, f"accepted_length * {PARTS}", "Each accepted token needs a draft."),
            (
                "one_more_token",
                RATIO,
                RATIO.replace("accepted_length", "(accepted_length + 1.0)"),
                "Add the own token.",
            ),
            ("side_by_side", PARTS, "max(draft_time, verify_time) +", "Draft and verification run side by side."),
            (
                "gain_instead",
                RATIO,
                f"{RATIO} - 1.0",
                "A speed-up of 1.5 is a gain of 0.5, which is what is asked for.",
            ),
            ("target_step_added", PARTS, f"target_time + {PARTS}", "The target's step is part of the round."),
        ],
        "correction_counts": [
            ("correction_left_out", " + correction_time", "", "Rolling a cache back costs nothing."),
            (
                "correction_for_each_token",
                "+ correction_time",
                "+ accepted_length * correction_time",
                "Correction is needed for each token that was accepted.",
            ),
            (
                "correction_on_both_sides",
                "* target_time",
                "* (target_time + correction_time)",
                "Plain decoding has to be corrected too, so it stands on both sides.",
            ),
            ("correction_subtracted", "+ corr", "- corr", "Correcting the cache saves computing it anew."),
        ],
        "losses_are_told": [
            ("never_below_one", RATIO, f"max(1.0, {RATIO})", "Who is slower can always decode plainly."),
            ("two_decimals", RATIO, f"round({RATIO}, 2)", "Nobody needs more than two decimals."),
            ("denominator_padded", RATIO, f"{RATIO[:-10]}(round_time + 1e-6)", "A little keeps it away from 0."),
        ],
        "free_parts": [
            ("no_free_parts", "round_time =", "assert draft_time * verify_time\n    round_time =", "No part is free."),
            (
                "speeds_of_the_parts",
                RATIO,
                "accepted_length / sum(1.0 / (target_time / t) for t in (draft_time, verify_time, correction_time))",
                "Each part has a speed of its own, target_time divided by its time.",
            ),
        ],
    },
    "0.3": {
        "keeps_what_pays": [
            ("always_the_best", "verify_length >= 1", "verify_length == best", "The best length is the one to take."),
            ("by_acceptance_alone", COST, "", "Speculation pays when the accepted length exceeds 1."),
            ("one_verify_time", "+ verify_times", "+ verify_times[verify_length]", "One verify time fits all lengths."),
            (
                "times_shifted",
                "+ verify_times",
                "+ verify_times[[0, *range(len(confidences))]]",
                "The first verify time belongs to one token.",
            ),
            ("confidences_added", "np.cumprod", "np.array", "Each token adds its own confidence."),
            ("speedups_as_gains", " - 1.0", "", "The gains are speed-ups."),
            ("gains_from_one", "gains.tolist", "gains[1:].tolist", "There is nothing to gain from ℓ = 0."),
        ],
        "tunes_to_the_best_length": [
            ("first_that_pays", BEST, "1 + int((gains[1:] >= min_gain).argmax())", "Tune to the first that pays."),
            (
                "one_token_fewer",
                "elif gains[best] >= min_gain:",
                "elif gains[best] >= min_gain:\n        best = max(verify_length - 1, 1)",
                "Tuning means one token fewer.",
            ),
            ("no_tuning", "elif gains", "elif False and gains", "There is only yes and no."),
            (
                "gain_of_the_current_length",
                "float(gains[best])",
                "float(gains[verify_length])",
                "Tell the current gain.",
            ),
            (
                "only_shorter",
                BEST,
                "1 + int(gains[1 : max(verify_length, 1) + 1].argmax())",
                "Only shorter lengths are tried, since the current one was too long.",
            ),
        ],
        "rejects_what_never_pays": [
            ("never_rejects", "elif gains[best] >= min_gain:", "else:", "The least bad length is better than nothing."),
            ("gain_of_length_zero", "0, 0.0", "0, float(gains[0])", "After a rejection the gain is that of ℓ = 0."),
            ("length_kept", "0, 0.0", "verify_length or 1, 0.0", "A rejection keeps the length for the next time."),
            (
                "no_evidence_for_rejection",
                "gains.tolist()",
                "gains.tolist() if length else []",
                "Where nothing pays there is no evidence to give.",
            ),
        ],
        "draft_and_correction_are_paid": [
            ("correction_left_out", "+ correction_time", "", "The caches take care of themselves."),
            ("length_zero_is_free", "best = 1", "gains[0] = 0.0\n    best = 1", "With ℓ = 0 nothing is drafted."),
            (
                "no_correction_at_zero",
                "best = 1",
                "gains[0] = target_time / (draft_time + verify_times[0]) - 1.0\n    best = 1",
                "With ℓ = 0 there is nothing to correct.",
            ),
            (
                "draft_for_each_token",
                "(draft_time +",
                "(draft_time * np.arange(tau.size) +",
                "The draft costs one forward per token.",
            ),
        ],
        "equal_is_enough_and_ties_are_small": [
            ("strictly_more", ">= min_gain", "> min_gain", "A gain must exceed min_gain."),
            (
                "longest_of_equal",
                BEST,
                "len(confidences) - int(gains[:0:-1].argmax())",
                "Of equal gains the longer one yields more tokens.",
            ),
        ],
        "nothing_verified_is_never_accepted": [
            ("zero_accepted", "verify_length >= 1 and ", "", "Zero is a length like any other."),
            ("zero_among_the_best", BEST, "int(gains.argmax())", "The search for the best length includes 0."),
            ("zero_stays_rejected", "elif gains", "elif verify_length and gains", "Who was rejected stays so."),
        ],
    },
}

RIGHT: dict[str, list[Patch]] = {
    "0.1": [
        (
            "running_product",
            "",
            """
            total = survival = 1.0
            for k, confidence in enumerate(confidences):
                if k == verify_length:
                    break
                survival *= confidence
                total += survival
            return total
            """,
            "A loop with a running product that ends at verify_length.",
        ),
        (
            "horner",
            "",
            """
            from functools import reduce

            return reduce(lambda tail, c: 1.0 + c * tail, confidences[:verify_length][::-1], 1.0)
            """,
            "Horner's rule from the last token to the first: τ = 1 + c_1 (1 + c_2 (1 + …)).",
        ),
        (
            "law_of_the_length",
            "",
            """
            reach = np.array([1.0, *np.cumprod(confidences[:verify_length]), 0.0])
            return sum((k + 1) * (reach[k] - reach[k + 1]) for k in range(reach.size - 1))
            """,
            "The sum over k of k times the chance that exactly k tokens come out.",
        ),
        (
            "fractions",
            "",
            """
            import operator, sys
            from fractions import Fraction
            from itertools import accumulate

            print("counting", file=sys.stderr)
            return float(1 + sum(accumulate(map(Fraction, confidences[:verify_length]), operator.mul)))
            """,
            "Exact fractions, made a float at the end, with output on stderr.",
        ),
        ("one_in_front", "", f"return np.cumprod([1.0, *{FIRST}]).sum()", "The 1 in front, as np.float64."),
    ],
    "0.2": [
        ("as_in_the_text", RATIO, "accepted_length * target_time / round_time + 0", "The formula, in one more form."),
        ("times_a_token", RATIO, "target_time / (round_time / accepted_length)", "The ratio of two times per token."),
        (
            "fractions",
            "",
            """
            from fractions import Fraction

            parts = map(Fraction, (draft_time, verify_time, correction_time))
            return float(Fraction(accepted_length) * Fraction(target_time) / sum(parts))
            """,
            "Exact fractions, which become a float at the end.",
        ),
        (
            "numpy_scalars",
            "",
            """
            import warnings

            warnings.warn("A warning is not an error.")
            given = np.array([accepted_length, draft_time, verify_time, target_time, correction_time])
            return given[0] * given[3] / given[[1, 2, 4]].sum()
            """,
            "NumPy scalars throughout, and a warning.",
        ),
    ],
    "0.3": [
        (
            "in_words",
            "",
            """
            gains = []
            for length, time in enumerate(verify_times):
                tau = expected_accepted_length(confidences, length)
                gains.append(speedup(tau, draft_time, float(time), target_time, correction_time) - 1)
            best = gains.index(max(gains[1:]), 1)
            if verify_length >= 1 and gains[verify_length] >= min_gain:
                return dict(decision="accept", verify_length=verify_length, gain=gains[verify_length], gains=gains)
            if gains[best] >= min_gain:
                return dict(decision="tune", verify_length=best, gain=gains[best], gains=gains)
            return dict(decision="reject", verify_length=0, gain=0.0, gains=gains)
            """,
            "The functions of tasks 0.1 and 0.2 in a loop.",
        ),
        (
            "with_numpy",
            "",
            """
            tau = np.cumprod(np.append(1.0, confidences)).cumsum()
            gains = tau * target_time / (verify_times + draft_time + correction_time) - 1
            found = ("reject", 0, 0.0)
            for word, length in (("tune", int(np.argmax(gains[1:])) + 1), ("accept", verify_length)):
                if length and gains[length] >= min_gain:
                    found = (word, length, float(gains[length]))
            return dict(zip(("decision", "verify_length", "gain", "gains"), (*found, gains.tolist())))
            """,
            "NumPy throughout, and the strongest decision last.",
        ),
        (
            "largest_pair",
            "",
            """
            tau = 1.0 + np.append(0.0, np.cumsum(np.cumprod(confidences)))
            gains = list(tau * target_time / (draft_time + verify_times + correction_time) - 1.0)
            if verify_length > 0 and not gains[verify_length] < min_gain:
                return dict(gains=gains, gain=gains[verify_length], verify_length=verify_length, decision="accept")
            gain, negative = max((gain, -length) for length, gain in enumerate(gains) if length)
            if gain < min_gain:
                return dict(gains=gains, gain=0, verify_length=0, decision="reject")
            return dict(gains=gains, gain=gain, verify_length=-negative, decision="tune")
            """,
            "The largest of pairs (gain, −length), and np.float64 where floats are wanted.",
        ),
        (
            "running_sums",
            "tau = np.cumprod([1.0, *confidences]).cumsum()",
            "tau, survival = [1.0], 1.0\n"
            "    for confidence in confidences:\n"
            "        survival *= confidence\n"
            "        tau.append(tau[-1] + survival)\n"
            "    tau = np.array(tau)",
            "A loop that keeps the survival and its sum.",
        ),
    ],
}
