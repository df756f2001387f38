"""Lesson 01, verification: wrong solutions under the property that must catch them, and right ones."""

from grader.lessons.mutants import Patch

# Lines of the references that are patched more than once.
AGREES = "draft_tokens[accepted] == best[accepted]"
BEST = "target_logits.argmax(axis=1)"
EMITTED = "best[: accepted + 1]}"
RATIO = "p[token] / q[token]"
EXCESS = "np.maximum(p - q, 0.0)"
NORMALISED = "excess / mass if mass > 0.0 else p.copy()"
SAMPLED_RATIO = "p[draft] / q[draft]"
REJECTED = "rng.random() >= p[draft] / q[draft]"
RESIDUAL = "residual_distribution(p, q)"
DRAWN = "int(rng.choice(len(row), p=row))"
BONUS_ROW = "target_probs[-1]"
CAUSAL = "return position <= position[:, None]"
CAPPED = "tokens[:max_new_tokens]"
STOP_FOUND = "return kept[: i + 1]"
IS_STOP = "if emitted in stop_tokens"


def changed_mask(*lines: str) -> str:
    """Patch the causal mask: the lines change it before it is returned."""
    return "\n    ".join(["mask = position <= position[:, None]", *lines, "return mask"])


WRONG: dict[str, dict[str, list[Patch]]] = {
    "1.1": {
        "accepts_matching_prefix": [
            (
                "one_row_late",
                AGREES,
                "draft_tokens[accepted] == best[accepted + 1]",
                "Row 0 is the anchor's own, so draft 0 is compared with row 1.",
            ),
            (
                "rejected_draft_kept",
                EMITTED,
                "[*draft_tokens[: accepted + 1], best[accepted]]}",
                "The rejected draft is kept, because the target has looked at it.",
            ),
            (
                "no_correction",
                EMITTED,
                "best[: accepted + (accepted == len(draft_tokens))]}",
                "After a rejection the next round corrects, so nothing is added.",
            ),
            (
                "bonus_counted",
                '"accepted": accepted,',
                '"accepted": accepted + 1,',
                "The added token counts as accepted, because it is emitted.",
            ),
            (
                "correction_from_last_row",
                EMITTED,
                "[*best[:accepted], best[-1]]}",
                "The correction is always the last row's choice, as the bonus is.",
            ),
            (
                "all_choices_emitted",
                EMITTED,
                "best}",
                "The target's choices are all right, so all of them are emitted.",
            ),
            (
                "among_the_two_best",
                AGREES,
                "draft_tokens[accepted] in target_logits[accepted].argsort()[-2:]",
                "A draft among the target's two best tokens is good enough.",
            ),
            (
                "results_by_heart",
                "",
                """
                known = {(1, 2, 0): (2, [1, 2, 1]), (1,): (1, [1, 0]), (0, 0): (0, [1]), (): (0, [1])}
                return dict(zip(("accepted", "tokens"), known.get(tuple(draft_tokens), (0, [0]))))
                """,
                "A table of the examples' results is a solution.",
            ),
        ],
        "first_mismatch_ends_it": [
            (
                "all_agreements_counted",
                "",
                """
                best = target_logits.argmax(axis=1).tolist()
                agreeing = [draft for draft, choice in zip(draft_tokens, best) if draft == choice]
                return {"accepted": len(agreeing), "tokens": [*agreeing, best[len(agreeing)]]}
                """,
                "Every draft that agrees with its row is accepted.",
            ),
            (
                "last_agreement",
                "",
                """
                best = target_logits.argmax(axis=1).tolist()
                accepted = max((k + 1 for k, draft in enumerate(draft_tokens) if draft == best[k]), default=0)
                return {"accepted": accepted, "tokens": [*draft_tokens[:accepted], best[accepted]]}
                """,
                "The prefix ends at the last agreement, and wrong drafts before it stay.",
            ),
        ],
        "bonus_if_all_accepted": [
            (
                "no_bonus",
                EMITTED,
                "best[: accepted + 1][: len(draft_tokens) or 1]}",
                "The round ends with the last draft, for nothing had to be corrected.",
            ),
            (
                "last_draft_left_out",
                "accepted < len(draft_tokens)",
                "accepted < len(draft_tokens) - 1",
                "The last draft is left to the next round, so that a correction always follows.",
            ),
        ],
        "no_drafts": [
            (
                "nothing_without_drafts",
                EMITTED,
                "best[: accepted + 1] if draft_tokens else []}",
                "Without drafts there is nothing to verify, so nothing is emitted.",
            ),
        ],
        "ties_go_to_lowest_id": [
            (
                "ties_accepted",
                AGREES,
                "target_logits[accepted, draft_tokens[accepted]] == target_logits[accepted].max()",
                "A draft whose logit equals the best one is as good as the target's choice.",
            ),
            (
                "last_of_the_sorted",
                BEST,
                'target_logits.argsort(axis=1, kind="stable")[:, -1]',
                "Sorting puts the best token last, whatever the order of equal ones.",
            ),
        ],
        "masked_and_negative_logits": [
            (
                "search_from_zero",
                BEST,
                "target_logits.clip(0.0).argmax(axis=1)",
                "The search for the best starts at 0.",
            ),
        ],
    },
    "1.2": {
        "ratio_of_target_to_draft": [
            (
                "ratio_inverted",
                RATIO,
                "q[token] / p[token]",
                "The draft comes first, for it is the draft that is judged.",
            ),
            (
                "divided_by_targets_max",
                "q[token]",
                "p.max()",
                "A token is as good as its probability beside the target's best one.",
            ),
            (
                "divided_by_drafts_max",
                "q[token]",
                "q.max()",
                "The draft's largest probability bounds the ratio, as in textbooks on rejection sampling.",
            ),
            ("target_probability", " / q[token]", "", "The target alone decides, so its probability is the answer."),
            (
                "all_or_nothing",
                RATIO,
                "float(p[token] >= q[token])",
                "Accept what the target finds at least as likely as the draft does, and nothing else.",
            ),
            (
                "smaller_probability",
                f"1.0, {RATIO}",
                "p[token], q[token]",
                "The two share the token, so the smaller of their probabilities counts.",
            ),
            (
                "overlap_of_rows",
                RATIO,
                "np.minimum(p, q).sum()",
                "How far the rows agree overall is the chance of every token.",
            ),
            (
                "one_minus_difference",
                RATIO,
                "1.0 - (q[token] - p[token])",
                "What the draft says too much is subtracted from 1.",
            ),
            (
                "share_of_both",
                "q[token]",
                "(p[token] + q[token])",
                "The share of the target in both probabilities is the chance.",
            ),
            (
                "softmax_first",
                RATIO,
                "(np.exp(p)[token] / np.exp(p).sum()) / (np.exp(q)[token] / np.exp(q).sum())",
                "p and q are logits, so a softmax comes first.",
            ),
            ("rounded", RATIO, f"round({RATIO}, 3)", "Three decimals are enough for a probability."),
            ("token_counted_from_one", "[token]", "[token - 1]", "Token ids count from 1."),
            (
                "results_by_heart",
                "",
                "return {0.2: 1 / 3, 0.5: 1.0, 0.25: 0.5}.get(float(p[token]), 1.0)",
                "A table of the examples' results is a solution.",
            ),
        ],
        "never_above_one": [
            ("not_capped", f"min(1.0, {RATIO})", RATIO, "The ratio is the answer."),
            (
                "turned_round",
                f"min(1.0, {RATIO})",
                "min(p[token] / q[token], q[token] / p[token])",
                "A ratio above 1 is inverted, so that it is a probability.",
            ),
        ],
        "edges": [
            (
                "never_quite_zero",
                "p[token] /",
                "(p[token] or 1e-3) /",
                "A token that the target excludes still deserves a small chance.",
            ),
            (
                "sure_draft_accepted",
                f"min(1.0, {RATIO})",
                f"1.0 if q[token] == 1.0 else min(1.0, {RATIO})",
                "A draft that is sure of its token cannot be wrong.",
            ),
        ],
        "small_probabilities_count": [
            (
                "epsilon_below",
                "q[token]",
                "(q[token] + 1e-10)",
                "A small number in the denominator keeps the division safe.",
            ),
            (
                "tiny_is_zero",
                RATIO,
                f"{RATIO} if max(p[token], q[token]) > 1e-6 else 0.0",
                "Probabilities below a millionth are 0.",
            ),
        ],
    },
    "1.3": {
        "surplus_normalised": [
            (
                "target_itself",
                NORMALISED,
                "p.copy()",
                "A rejected draft is replaced by what the target says, which is p.",
            ),
            ("absolute_difference", EXCESS, "np.abs(p - q)", "The sign of the difference does not matter."),
            ("difference_turned_round", EXCESS, "np.maximum(q - p, 0.0)", "What the draft says too much is the rest."),
            (
                "not_normalised",
                "excess / mass",
                "excess",
                "The excess is the answer; whoever draws from it can normalise it.",
            ),
            (
                "cut_after_normalising",
                "excess.sum()",
                "np.abs(p - q).sum()",
                "Normalising comes first, cutting off afterwards.",
            ),
            ("softmax_of_difference", EXCESS, "np.exp(p - q)", "A softmax turns the differences into a distribution."),
            ("overlap_normalised", EXCESS, "np.minimum(p, q)", "What both have in common is left over."),
            (
                "shifted_up",
                EXCESS,
                "p - q - (p - q).min()",
                "Shifting the differences until none is negative keeps their proportions.",
            ),
            (
                "rest_of_target",
                EXCESS,
                "np.where(p > q, p, 0.0)",
                "Tokens that the draft overrates are left out of p, and the rest is normalised.",
            ),
            (
                "results_by_heart",
                "",
                """
                known = {0.2: [0.75, 0.25, 0.0], 0.75: [0.0, 1.0], 0.25: [0.25, 0.5, 0.25]}
                return np.array(known.get(float(p[-1]), p))
                """,
                "A table of the examples' results is a solution.",
            ),
        ],
        "every_surplus_counts": [
            (
                "largest_surplus_alone",
                EXCESS,
                "np.eye(len(p))[(p - q).argmax()] * (p > q)",
                "The token that is missing most is the best replacement.",
            ),
            ("uniform_over_surplus", EXCESS, "(p > q) * 1.0", "All tokens with an excess are equally good."),
            (
                "surplus_weighed_by_target",
                EXCESS,
                "np.maximum(p - q, 0.0) * p",
                "The excess is weighed by p, since the target should say what is likely.",
            ),
        ],
        "equal_rows_return_target": [
            ("division_by_zero", NORMALISED, "excess / mass", "0 divided by 0 sorts itself out."),
            ("zeros_if_equal", "p.copy()", "excess", "If nothing is missing, nothing is returned: a row of zeros."),
            (
                "uniform_if_equal",
                "p.copy()",
                "np.full(len(p), 1.0 / len(p))",
                "If nothing is missing, every token is as good as any other.",
            ),
        ],
        "disjoint_rows": [
            (
                "disjoint_refused",
                "    mass =",
                '    if not np.minimum(p, q).any():\n        raise ValueError("No token in common.")\n    mass =',
                "Rows with nothing in common cannot be compared.",
            ),
            (
                "undrafted_left_out",
                NORMALISED,
                "excess * (q > 0.0) / (excess * (q > 0.0)).sum() if mass > 0.0 else p.copy()",
                "A token that the draft cannot draw is no replacement.",
            ),
        ],
        "tiny_surplus_normalised": [
            (
                "almost_equal_is_equal",
                "mass > 0.0",
                "not np.allclose(p, q)",
                "Rows that np.allclose finds equal are equal.",
            ),
            (
                "epsilon_below",
                "excess / mass",
                "excess / (mass + 1e-12)",
                "A small number in the denominator keeps the division safe.",
            ),
        ],
    },
    "1.4": {
        "sure_rows_decide": [
            (
                "greedy_with_bonus_sampled",
                "",
                """
                best = target_probs.argmax(axis=1).tolist()
                accepted = next((k for k, draft in enumerate(draft_tokens) if draft != best[k]), len(draft_tokens))
                return {"accepted": accepted, "tokens": [*draft_tokens[:accepted], best[-1]]}
                """,
                "Greedy verification does for sampling as well: accept the target's argmax.",
            ),
            (
                "rejected_draft_kept",
                "draft_tokens[:accepted]",
                "draft_tokens[: accepted + 1]",
                "The rejected draft stays, and the replacement follows it.",
            ),
            (
                "bonus_counted",
                '"accepted": accepted,',
                '"accepted": accepted + 1,',
                "The added token counts as accepted, because it is emitted.",
            ),
            (
                "one_row_late",
                "zip(draft_tokens, target_probs,",
                "zip(draft_tokens, target_probs[1:],",
                "Row 0 of the target is the anchor's own, so draft 0 is judged by row 1.",
            ),
        ],
        "nothing_behind_rejection": [
            (
                "goes_on_behind_rejection",
                "",
                """
                tokens, accepted = [], 0
                for draft, p, q in zip(draft_tokens, target_probs, draft_probs):
                    good = rng.random() < p[draft] / q[draft]
                    accepted += int(good)
                    tokens.append(draft if good else int(rng.choice(len(p), p=residual_distribution(p, q))))
                return {"accepted": accepted, "tokens": [*tokens, int(rng.choice(len(p), p=target_probs[-1]))]}
                """,
                "A rejected draft is replaced, and the drafts after it are judged as before.",
            ),
            (
                "suffix_kept",
                "last]}",
                "last, *draft_tokens[accepted + 1 :]]}",
                "The drafts after the replacement are kept; the next round checks them.",
            ),
        ],
        "certain_whatever_is_drawn": [
            (
                "at_or_below",
                REJECTED,
                f"rng.random() > {SAMPLED_RATIO}",
                "The number drawn never equals the ratio, so <= is as good as <.",
            ),
            (
                "uniform_subtracted_from_one",
                "rng.random() >=",
                "1.0 - rng.random() >=",
                "1 − random() is as uniform as random(), so it can take its place.",
            ),
        ],
        "accepts_with_p_over_q": [
            (
                "ratio_inverted",
                SAMPLED_RATIO,
                "q[draft] / p[draft]",
                "The draft comes first in the ratio, for it is the draft that is judged.",
            ),
            (
                "comparison_inverted",
                REJECTED,
                f"rng.random() < {SAMPLED_RATIO}",
                "A draft is accepted if the number drawn is above the ratio.",
            ),
            (
                "divided_by_targets_max",
                "q[draft]",
                "p.max()",
                "A token's chance is its probability beside the target's largest one.",
            ),
            (
                "divided_by_drafts_max",
                "q[draft]",
                "q.max()",
                "The draft's largest probability bounds the ratio, as in textbooks on rejection sampling.",
            ),
            ("accepted_with_p", " / q[draft]", "", "The target alone decides: accept with probability p."),
            (
                "all_or_nothing",
                REJECTED,
                "p[draft] < q[draft]",
                "Accept what the target finds at least as likely as the draft does, and nothing else.",
            ),
            (
                "possible_is_accepted",
                REJECTED,
                "p[draft] == 0.0",
                "Any draft that the target could have said is accepted.",
            ),
            (
                "at_least_as_likely_as_sample",
                "",
                """
                for k, draft in enumerate(draft_tokens):
                    sample = int(rng.choice(len(target_probs[k]), p=target_probs[k]))
                    if target_probs[k, draft] < target_probs[k, sample]:
                        return {"accepted": k, "tokens": [*draft_tokens[:k], sample]}
                bonus = int(rng.choice(len(target_probs[-1]), p=target_probs[-1]))
                return {"accepted": len(draft_tokens), "tokens": [*draft_tokens, bonus]}
                """,
                "Draw a sample; accept the draft if the target finds it at least as likely.",
            ),
            (
                "exact_match",
                "",
                """
                tokens = []
                for k, row in enumerate(target_probs):
                    tokens.append(int(rng.choice(len(row), p=row)))
                    if tokens[k:] != draft_tokens[k : k + 1]:
                        break
                return {"accepted": len(tokens) - 1, "tokens": tokens}
                """,
                "Exact match: lossless over all drafts, but it accepts far less, so it is another rule.",
            ),
            (
                "overlap_of_rows",
                SAMPLED_RATIO,
                "np.minimum(p, q).sum()",
                "The chance of a draft is the overlap of the two rows, whatever the token.",
            ),
            (
                "fixed_seed",
                "    accepted, row = 0",
                "    rng = np.random.default_rng(0)\n    accepted, row = 0",
                "A generator with a fixed seed makes results repeatable.",
            ),
        ],
        "residual_after_rejection": [
            ("resampled_from_target", RESIDUAL, "p", "A rejected draft is replaced by a sample of p."),
            (
                "resampled_without_draft",
                RESIDUAL,
                "np.where(np.arange(len(p)) == draft, 0.0, p) / (1.0 - p[draft])",
                "A rejected draft is replaced by a sample of p without the rejected token.",
            ),
            (
                "absolute_residual",
                RESIDUAL,
                "np.abs(p - q) / np.abs(p - q).sum()",
                "The sign of p − q does not matter.",
            ),
            (
                "argmax_of_residual",
                RESIDUAL,
                "np.eye(len(p))[(p - q).argmax()]",
                "The most missing token is the replacement.",
            ),
            (
                "uniform_used_twice",
                f"{REJECTED}:\n            row = {RESIDUAL}",
                f"(u := {REJECTED.replace(' >=', ') >=')}:\n"
                f"            row = np.eye(len(p))[np.searchsorted({RESIDUAL}.cumsum(), u, side='right')]",
                "One uniform number decides the rejection, and the replacement as well.",
            ),
            ("redrafted", RESIDUAL, "q", "The draft says what comes in place of its own rejected token."),
        ],
        "own_draw_at_every_position": [
            (
                "one_uniform_for_all",
                "rng.random() >=",
                "(u := u if accepted else rng.random()) >=",
                "One uniform number per round is enough.",
            ),
            (
                "first_draft_row_for_all",
                "draft_probs):",
                "[*draft_probs[:1]] * len(draft_tokens)):",
                "The first row of the draft holds for the whole block.",
            ),
            (
                "prefix_ratio_with_fresh_draws",
                f"        if {REJECTED}",
                "        ratio = (ratio if accepted else 1.0) * min(1.0, p[draft] / q[draft])\n"
                "        if rng.random() >= ratio",
                "A draft counts with the chance of the whole prefix, the drafts before it included.",
            ),
        ],
        "bonus_from_last_row": [
            ("no_bonus", "last]}", "last][: len(draft_tokens)]}", "If all are accepted there is nothing to add."),
            (
                "bonus_from_row_before",
                BONUS_ROW,
                "target_probs[len(draft_tokens) - 1]",
                "The bonus comes from the row of the last draft.",
            ),
            (
                "bonus_is_argmax",
                DRAWN,
                f"int(row.argmax()) if accepted == len(draft_tokens) else {DRAWN}",
                "The bonus is the best token of the last row.",
            ),
            (
                "bonus_is_uniform",
                BONUS_ROW,
                "(target_probs[-1] > 0.0) / (target_probs[-1] > 0.0).sum()",
                "Any token that the last row allows is a bonus.",
            ),
        ],
        "same_seed_same_result": [
            (
                "global_chance",
                "    accepted, row = 0",
                "    rng = np.random.default_rng()\n    accepted, row = 0",
                "Chance is chance, so np.random does as well.",
            ),
            (
                "last_token_from_random",
                f"    last = {DRAWN}",
                "    import random\n\n    (last,) = random.choices(range(len(row)), row.tolist())",
                "The module random is good enough for the last token.",
            ),
        ],
    },
    "1.5": {
        "draft_sees_earlier_and_itself": [
            (
                "draft_blind_for_itself",
                CAUSAL,
                changed_mask("mask[position[context_length:], position[context_length:]] = False"),
                "A draft is what is to be judged, so it must not see itself.",
            ),
            (
                "both_directions_in_draft",
                CAUSAL,
                changed_mask("mask[context_length:, context_length:] = True"),
                "A block is drafted at once, so it sees itself in both directions.",
            ),
            (
                "drafts_do_not_see_each_other",
                CAUSAL,
                changed_mask("mask[context_length:, context_length:] = np.eye(draft_length)"),
                "Drafts are independent of each other, so each sees only itself.",
            ),
            (
                "previous_draft_only",
                CAUSAL,
                changed_mask(
                    "mask[context_length:, context_length:] &= position[context_length:] >= "
                    "position[context_length:, None] - 1"
                ),
                "A draft depends on the one before it, as a Markov head does.",
            ),
            (
                "drafts_unseen",
                CAUSAL,
                changed_mask("mask[:, context_length:] = False"),
                "Drafts are only guesses, so nobody sees them, not even themselves.",
            ),
            ("upper_triangle", "<=", ">=", "np.triu is the causal triangle."),
            ("true_means_masked", "<=", ">", "True marks what is masked."),
            (
                "one_diagonal_too_many",
                "position[:, None]",
                "position[:, None] + 1",
                "A row sees the token it predicts.",
            ),
            (
                "draft_rows_only",
                "position[:, None]",
                "position[context_length:, None]",
                "Only the drafts have rows, as the context is in the cache.",
            ),
        ],
        "context_is_causal": [
            (
                "context_in_both_directions",
                CAUSAL,
                changed_mask("mask[:context_length, :context_length] = True"),
                "The context is known, so it may see itself in both directions.",
            ),
            (
                "anchor_sees_drafts",
                CAUSAL,
                changed_mask("mask[context_length - 1, context_length:] = True"),
                "The anchor looks ahead to the drafts, since it has to predict them.",
            ),
            (
                "context_rows_empty",
                CAUSAL,
                changed_mask("mask[:context_length] = False"),
                "Rows of the context are not used, so they may stay empty.",
            ),
            (
                "context_blind_for_itself",
                CAUSAL,
                changed_mask("mask[position[:context_length], position[:context_length]] = False"),
                "A context token does not see itself.",
            ),
            (
                "drafts_before_context",
                "np.arange(context_length + draft_length)",
                "np.roll(np.arange(context_length + draft_length), -context_length)",
                "The drafts come first, because the mask is about them.",
            ),
            (
                "masks_by_heart",
                CAUSAL,
                changed_mask("if len(mask) > 3 and (context_length, draft_length) != (2, 2):", "    mask[:] = True"),
                "A table of the examples' masks is a solution.",
            ),
        ],
        "draft_sees_whole_context": [
            (
                "anchor_hidden",
                CAUSAL,
                changed_mask("mask[context_length:, context_length - 1] = False"),
                "A draft sees the context before the anchor, as in training.",
            ),
            (
                "sliding_context",
                CAUSAL,
                changed_mask(
                    "mask[:, :context_length] &= position[:context_length] >= position[:, None] - context_length"
                ),
                "A later draft sees one context token less, for its window moves on.",
            ),
            (
                "context_for_first_draft_only",
                CAUSAL,
                changed_mask("mask[context_length + 1 :, :context_length] = False"),
                "The first draft reads the context; the others read it through the first.",
            ),
        ],
        "no_context": [
            (
                "context_required",
                CAUSAL,
                changed_mask("if not context_length:", '    raise ValueError("No context.")'),
                "Without context there is nothing to verify against.",
            ),
            (
                "slice_from_the_end",
                CAUSAL,
                changed_mask("mask[:, : -context_length or None] |= context_length == 0"),
                "A slice that ends at −context_length works without context as well, and leaves nothing out.",
            ),
        ],
    },
    "1.6": {
        "ends_with_first_stop": [
            ("stop_left_out", STOP_FOUND, "return kept[:i]", "The stop token is no text, so it is left out."),
            (
                "last_token_only",
                f"        {IS_STOP}:\n            {STOP_FOUND}",
                "        pass",
                "It is enough to look at the last token of what was emitted.",
            ),
            (
                "last_stop_ends",
                "in enumerate(kept)",
                "in reversed(list(enumerate(kept)))",
                "The output ends with the last stop token.",
            ),
            (
                "stops_filtered",
                "",
                "return [token for token in tokens[:max_new_tokens] if token not in stop_tokens]",
                "Stop tokens are removed, wherever they stand.",
            ),
            (
                "one_token_more",
                STOP_FOUND,
                "return kept[: i + 2]",
                "The token after the stop token is still part of the accepted block.",
            ),
            (
                "results_by_heart",
                "",
                """
                known = {(5, 2, 7, 9): [5, 2], (5, 3, 2, 7): [5, 3], (5, 2, 6): [5, 2], (0, 6): [0]}
                return known.get(tuple(tokens), tokens)[:max_new_tokens]
                """,
                "A table of the examples' results is a solution.",
            ),
        ],
        "any_stop_token_ends": [
            (
                "first_stop_token_only",
                "in stop_tokens:",
                "in stop_tokens[:1]:",
                "There is one stop token, the first of stop_tokens.",
            ),
            (
                "in_order_of_stop_tokens",
                "",
                """
                kept = tokens[:max_new_tokens]
                for stop in stop_tokens:
                    if stop in kept:
                        return kept[: kept.index(stop) + 1]
                return kept
                """,
                "Stop tokens are looked for one after the other; the first one found ends it.",
            ),
            (
                "stop_sequence",
                f"{IS_STOP}:\n            {STOP_FOUND}",
                "if stop_tokens and kept[i : i + len(stop_tokens)] == stop_tokens:\n"
                "            return kept[: i + len(stop_tokens)]",
                "stop_tokens is a sequence that must occur as a whole.",
            ),
        ],
        "capped": [
            ("cap_ignored", CAPPED, "tokens[:]", "The drafter already keeps to the cap."),
            (
                "one_above_the_cap",
                CAPPED,
                "tokens[: max_new_tokens + 1]",
                "The cap is reached with the token after it.",
            ),
            (
                "latest_tokens_kept",
                CAPPED,
                "tokens[-max_new_tokens:] if max_new_tokens else []",
                "The cap keeps the latest tokens.",
            ),
            (
                "all_or_nothing",
                CAPPED,
                "tokens if len(tokens) <= max_new_tokens else []",
                "A block that would exceed the cap is dropped as a whole.",
            ),
        ],
        "cap_and_stop_together": [
            (
                "stop_not_counted",
                f"kept = {CAPPED}",
                "cap = max_new_tokens\n    kept = tokens[: cap + (cap < len(tokens) and tokens[cap] in stop_tokens)]",
                "The stop token is no text, so it does not count towards the cap.",
            ),
            (
                "stop_added_at_cap",
                "    return kept\n",
                "    stop = next((token for token in tokens if token in stop_tokens), None)\n"
                "    return kept if stop is None else [*kept, stop]\n",
                "An output must end with a stop token, so one beyond the cap is added.",
            ),
            (
                "stop_before_cap",
                CAPPED,
                "tokens if set(tokens) & set(stop_tokens) else tokens[:max_new_tokens]",
                "Where a stop token occurs at all, the cap has nothing to say.",
            ),
            (
                "cap_hides_stop",
                f"        {IS_STOP}",
                f"        {IS_STOP} and len(kept) < max_new_tokens",
                "At the cap the output is cut off before a stop token is looked for.",
            ),
        ],
        "nothing_to_cut": [
            ("zero_is_no_cap", CAPPED, "tokens[: max_new_tokens or None]", "A cap of 0 means that there is none."),
            ("token_zero_never_stops", IS_STOP, f"{IS_STOP} and emitted", "Token 0 is padding and stops nothing."),
            (
                "stops_required",
                f"kept = {CAPPED}",
                f'if not stop_tokens:\n        raise ValueError("No stop tokens.")\n    kept = {CAPPED}',
                "Without stop tokens the output would never end, so that is refused.",
            ),
            ("one_token_at_least", CAPPED, "tokens[: max(max_new_tokens, 1)]", "At least one token is always emitted."),
        ],
    },
}

RIGHT: dict[str, list[Patch]] = {
    "1.1": [
        (
            "cumulative_product",
            "",
            """
            best = target_logits.argmax(axis=1)
            accepted = int(np.cumprod(best[:-1] == np.array(draft_tokens, dtype=int)).sum())
            return {"accepted": accepted, "tokens": best[: accepted + 1].tolist()}
            """,
            "All rows at once: a cumulative product of the agreements counts the prefix.",
        ),
        (
            "take_while_equal",
            "",
            """
            from itertools import takewhile

            best = [int(row.argmax()) for row in target_logits]
            same = [draft for draft, choice in takewhile(lambda pair: pair[0] == pair[1], zip(draft_tokens, best))]
            return {"tokens": [*same, best[len(same)]], "accepted": len(same)}
            """,
            "itertools.takewhile over pairs, with the bonus row as an afterthought.",
        ),
        (
            "recursive",
            "",
            """
            def tokens_from(k):
                best = int(target_logits[k].argmax())
                return [best, *tokens_from(k + 1)] if draft_tokens[k : k + 1] == [best] else [best]

            tokens = tokens_from(0)
            return dict(accepted=len(tokens) - 1, tokens=tokens)
            """,
            "Recursion on the rest of the block.",
        ),
        (
            "sentinel_draft",
            "",
            """
            best = target_logits.argmax(axis=1).tolist()
            accepted = [choice == draft for choice, draft in zip(best, [*draft_tokens, -1])].index(False)
            return {"accepted": accepted, "tokens": best[0 : accepted + 1]}
            """,
            "A sentinel that equals no token stands where the missing draft would be.",
        ),
        (
            "talkative_lists",
            "",
            """
            import sys
            import warnings

            print("verifying", draft_tokens, file=sys.stderr)
            warnings.warn("A warning is no error.", stacklevel=1)
            tokens = []
            for row in target_logits.tolist():
                if tokens != draft_tokens[: len(tokens)]:
                    break
                tokens.append(row.index(max(row)))
            return {"accepted": len(tokens) - 1, "tokens": tokens}
            """,
            "Plain Python on lists, with prints and a warning.",
        ),
    ],
    "1.2": [
        (
            "in_logarithms",
            "",
            """
            if p[token] == 0.0:
                return 0.0
            return math.exp(min(0.0, math.log(p[token]) - math.log(q[token])))
            """,
            "In logarithms, as engines do it to avoid underflow.",
        ),
        (
            "exact_fractions",
            "",
            """
            from fractions import Fraction

            return float(min(Fraction(1), Fraction(float(p[token])) / Fraction(float(q[token]))))
            """,
            "Exact fractions, turned into a float at the end.",
        ),
        (
            "overlap_by_draft",
            "",
            "return float(np.minimum(p, q)[token] / q[token])",
            "The overlap of both probabilities, divided by the draft's.",
        ),
        (
            "compare_first",
            "",
            "return 1 if p[token] >= q[token] else p[token] / q[token]",
            "A comparison first, and a division only where it is needed; 1 is an int.",
        ),
        (
            "clipped",
            "",
            "return np.clip(p[token] / q[token], 0.0, 1.0)",
            "np.clip on a NumPy scalar, which np.float64 may stay.",
        ),
    ],
    "1.3": [
        (
            "beyond_the_overlap",
            "",
            """
            missing = p - np.minimum(p, q)
            return missing / missing.sum() if missing.any() else np.array(p)
            """,
            "What p keeps beyond the overlap of both.",
        ),
        (
            "number_by_number",
            "",
            """
            missing = [max(float(a) - float(b), 0.0) for a, b in zip(p, q)]
            total = sum(missing)
            return np.array([m / total for m in missing] if total else [float(a) for a in p])
            """,
            "Plain Python, number by number.",
        ),
        (
            "fallback_first",
            "",
            """
            if (p <= q).all():
                return p + 0.0
            excess = np.clip(p - q, 0.0, None)
            return excess / np.linalg.norm(excess, 1)
            """,
            "np.clip, with the fallback first.",
        ),
        (
            "masked_difference",
            "",
            """
            difference = p.astype(np.longdouble) - q.astype(np.longdouble)
            excess = difference * (difference > 0)
            total = np.add.reduce(excess)
            return (excess / total if total > 0 else p.astype(np.longdouble)).astype(np.float64)
            """,
            "The difference times the mask of where it is positive, in long doubles.",
        ),
        (
            "positive_part_in_place",
            "",
            """
            rest = p - q
            rest[rest < 0.0] = 0.0
            if not rest.sum():
                return 1.0 * p
            rest /= rest.sum()
            return rest
            """,
            "A new array, changed in place step by step.",
        ),
    ],
    "1.4": [
        (
            "one_uniform_and_products",
            "",
            """
            ratios = [min(1.0, p[x] / q[x]) for x, p, q in zip(draft_tokens, target_probs, draft_probs)]
            accepted = int((rng.random() < np.cumprod(ratios)).sum())
            row = target_probs[accepted]
            if accepted < len(draft_tokens):
                row = residual_distribution(row, draft_probs[accepted])
            return {"accepted": accepted, "tokens": [*draft_tokens[:accepted], int(rng.choice(len(row), p=row))]}
            """,
            "One uniform number for the round, compared with the running product of the ratios.",
        ),
        (
            "uniform_stretched",
            "",
            """
            from bisect import bisect_right
            from itertools import accumulate

            u, row, accepted = rng.random(), target_probs[-1], len(draft_tokens)
            for k, x in enumerate(draft_tokens):
                ratio = min(1.0, target_probs[k, x] / draft_probs[k, x])
                if u >= ratio:
                    row, accepted = residual_distribution(target_probs[k], draft_probs[k]), k
                    u = (u - ratio) / (1.0 - ratio)
                    break
                u /= ratio
            last = min(bisect_right(list(accumulate(row)), u), int(np.flatnonzero(row)[-1]))
            return {"accepted": accepted, "tokens": [*draft_tokens[:accepted], last]}
            """,
            "The number that rejected a draft is stretched to a fresh one, and used again.",
        ),
        (
            "drawn_ahead",
            "",
            """
            count = len(draft_tokens)
            u, at = rng.random(count + 1), (np.arange(count), np.array(draft_tokens, dtype=int))
            refused = np.append(u[:-1] * draft_probs[at] >= target_probs[:-1][at], True)
            accepted = int(refused.argmax())
            row = np.append(np.maximum(target_probs[:-1] - draft_probs, 0.0), target_probs[-1:], axis=0)[accepted]
            last = int((np.cumsum(row) <= u[-1] * row.sum()).sum())
            return {"accepted": accepted, "tokens": draft_tokens[:accepted] + [last]}
            """,
            "All numbers are drawn ahead, and whole arrays are compared.",
        ),
        (
            "gumbel_race",
            DRAWN,
            "int((np.log(row) + rng.gumbel(size=len(row))).argmax())",
            "A Gumbel race in place of rng.choice: log 0 is −inf and never wins.",
        ),
        (
            "recursive",
            "",
            """
            def tokens_from(k):
                p = target_probs[k]
                if k == len(draft_tokens):
                    return [int(rng.choice(len(p), p=p))]
                x, q = draft_tokens[k], draft_probs[k]
                if rng.uniform() * q[x] < p[x]:
                    return [x, *tokens_from(k + 1)]
                return [int(rng.multinomial(1, residual_distribution(p, q)).argmax())]

            tokens = tokens_from(0)
            return {"accepted": len(tokens) - 1, "tokens": tokens}
            """,
            "Recursion on the rest of the block, with rng.uniform and rng.multinomial.",
        ),
    ],
    "1.5": [
        (
            "triangle",
            "",
            "return np.tri(context_length + draft_length, dtype=np.bool_)",
            "np.tri knows this triangle by its name.",
        ),
        (
            "cell_by_cell",
            "",
            """
            n = context_length + draft_length
            mask = np.zeros((n, n), dtype=bool)
            for row in range(n):
                for column in range(n):
                    mask[row, column] = column <= row
            return mask
            """,
            "Two plain loops decide every cell.",
        ),
        (
            "four_blocks",
            "",
            """
            c, d = context_length, draft_length
            return np.block([[np.tri(c), np.zeros((c, d))], [np.ones((d, c)), np.tri(d)]]).astype(bool)
            """,
            "Four blocks, put together by np.block.",
        ),
        (
            "accumulated_rows",
            "",
            "return np.logical_or.accumulate(np.eye(context_length + draft_length, dtype=bool), axis=1).T.copy()",
            "Each row is the row before it, and one more: a running or over an identity matrix.",
        ),
        (
            "lower_part_of_ones",
            "",
            """
            print("mask for", context_length, draft_length)
            n = context_length + draft_length
            return np.tril(np.full((n, n), True))
            """,
            "np.tril of ones, with a print.",
        ),
    ],
    "1.6": [
        (
            "stop_then_cap",
            "",
            """
            end = next((i + 1 for i, token in enumerate(tokens) if token in stop_tokens), len(tokens))
            return tokens[:end][:max_new_tokens]
            """,
            "The stop first and the cap afterwards: the order does not matter.",
        ),
        (
            "token_by_token",
            "",
            """
            output = []
            while len(output) < min(max_new_tokens, len(tokens)):
                output.append(tokens[len(output)])
                if output[-1] in stop_tokens:
                    break
            return output
            """,
            "Token by token, as plain decoding goes.",
        ),
        (
            "stops_found_at_once",
            "",
            """
            kept = np.array(tokens[:max_new_tokens], dtype=int)
            places = np.flatnonzero(np.isin(kept, stop_tokens))
            return kept[: places[0] + 1].tolist() if places.size else kept.tolist()
            """,
            "np.isin finds all stop tokens at once.",
        ),
        (
            "smallest_end",
            "",
            "return tokens[: min([max_new_tokens, *(tokens.index(s) + 1 for s in stop_tokens if s in tokens)])]",
            "The smallest of several ends: the cap, and the first place of each stop token.",
        ),
        (
            "generator",
            "",
            """
            from itertools import islice

            def until_stop():
                for token in tokens:
                    yield token
                    if token in frozenset(stop_tokens):
                        return

            return [*islice(until_stop(), max_new_tokens)]
            """,
            "A generator that ends itself, sliced by itertools.",
        ),
    ],
}
