"""Lesson 02, parallel drafting: wrong solutions under the property that must catch them, and right ones."""

from grader.lessons.mutants import Patch

LOGITS = "block_logits."  # 2.1
BIAS = "markov_bias[tokens[-1]]"  # 2.2
SUM = f"(row + {BIAS})"
COUNT = (  # 2.3
    "prefix = 0\n    while prefix < len(confidences) and confidences[prefix] >= threshold:\n        prefix += 1"
)
HIGH, REACHES = ">= threshold", "confidences[prefix] >="
RAISED = "max(prefix, min_tokens)"
CLAMP = "min(max(prefix, min_tokens), max_tokens, len(confidences))"
BUDGET = "choose_confident_prefix(confidences, threshold, 1, max_tokens)"  # record
BEFORE, ANCHORS = "< anchor[:, None]", "np.repeat(anchor_positions,"  # 2.4
OWN = "block[:, None] == block"
RATES = "[kept / tried if tried else math.nan for tried, kept in zip(reached, reached[1:])]"  # 2.5

WRONG: dict[str, dict[str, list[Patch]]] = {
    "2.1": {
        "argmax_of_each_row": [
            ("argmax_along_the_block", "axis=1", "axis=0", "The argmax along axis 0 gives one token per position."),
            (
                "argmax_of_whole_matrix",
                "",
                "return [int(block_logits.argmax())] * len(block_logits)",
                "np.argmax without an axis looks at each row, since the matrix has rows.",
            ),
            ("first_row_only", LOGITS, "block_logits[:1].", "The first row drafts the whole block."),
            ("smallest_logit", "argmax", "argmin", "Logits are costs, so the smallest one wins."),
            ("largest_magnitude", LOGITS, "abs(block_logits).", "The size of a logit decides, not its sign."),
            ("ids_from_one", "block_logits.argmax(axis=1)", "(block_logits.argmax(axis=1) + 1)", "Ids count from 1."),
            ("best_value_for_index", "argmax", "max", "The best logit itself is the draft, not its index."),
            ("truncated_to_integers", LOGITS, "np.trunc(block_logits).", "Logits may be rounded first."),
            (
                "logits_summed_along_the_block",
                LOGITS,
                "block_logits.cumsum(axis=0).",
                "Later positions build on the logits of the earlier ones, which are summed up.",
            ),
            (
                "sampled_tokens",
                LOGITS,
                "(block_logits + np.random.default_rng().gumbel(size=block_logits.shape)).",
                "A drafter samples from its distribution.",
            ),
            (
                "surest_position_first",
                "",
                "return block_logits.argmax(axis=1)[block_logits.max(axis=1).argsort()[::-1]].tolist()",
                "The tokens of a block are sorted by how sure the drafter is of them.",
            ),
            (
                "hard_coded_examples",
                "",
                "return {0.125: [1, 2], 0.1: [1, 0, 2], 0.0: [1, 1], 0.5: [0, 1]}.get(block_logits[0, 0], [0])",
                "The answers to the lesson's examples are all that a check can ask for.",
            ),
            ("decided_in_float32", LOGITS, "np.float32(block_logits).", "float32 has digits enough."),
            (
                "close_to_the_maximum",
                "",
                "return [int(np.isclose(row, row.max()).argmax()) for row in block_logits]",
                "Logits that are close to the maximum are equal to it.",
            ),
            (
                "each_token_against_all",
                "",
                """
                tokens = []
                for row in block_logits.tolist():
                    beaten = [sum(other > logit for other in row) for logit in row]
                    tokens.append(beaten.index(0))
                return tokens
                """,
                "Every token may be compared with every other one.",
            ),
            (
                "rest_drafted_twice",
                "",
                """
                def draft(rows):
                    if len(rows) == 0:
                        return []
                    return [int(rows[0].argmax()), *draft(rows[1:])] if len(draft(rows[1:])) < len(rows) else []

                return draft(block_logits)
                """,
                "A recursive call costs nothing, so it can be made twice.",
            ),
        ],
        "positions_are_independent": [
            (
                "no_token_twice",
                "",
                """
                tokens = []
                for row in block_logits:
                    left = [t for t in range(len(row)) if t not in tokens] or list(range(len(row)))
                    tokens.append(max(left, key=row.__getitem__))
                return tokens
                """,
                "A block never repeats a token, so a chosen one is struck out.",
            ),
            (
                "no_token_twice_in_a_row",
                "",
                """
                tokens = []
                for row in block_logits:
                    tokens.append(max((t for t in range(len(row)) if t not in tokens[-1:]), key=row.__getitem__))
                return tokens
                """,
                "Two neighbours never hold the same token.",
            ),
            (
                "softmax_over_the_block",
                LOGITS,
                "(block_logits - np.log(np.exp(block_logits).sum(axis=0))).",
                "The logits become probabilities by a softmax over the block.",
            ),
            (
                "softmax_with_one_maximum_for_all",
                LOGITS,
                "np.exp(block_logits - block_logits.max()).",
                "Subtracting one maximum of the whole block makes every softmax safe.",
            ),
            ("softmax_that_overflows", LOGITS, "np.exp(block_logits).", "exp of a logit can always be compared."),
            (
                "best_not_reset_between_rows",
                "",
                """
                tokens, token, best = [], 0, -math.inf
                for row in block_logits:
                    for v, logit in enumerate(row):
                        if logit > best:
                            token, best = v, logit
                    tokens.append(token)
                return tokens
                """,
                "The best logit so far goes on being the mark to beat in the next row.",
            ),
        ],
        "ties_go_to_lowest_id": [
            (
                "replaced_on_equality",
                "",
                """
                tokens = []
                for row in block_logits:
                    token = 0
                    for v in range(len(row)):
                        if row[v] >= row[token]:
                            token = v
                    tokens.append(token)
                return tokens
                """,
                "Replacing the best on >= is as good as on >.",
            ),
            (
                "maximum_over_pairs",
                "",
                "return [max((logit, token) for token, logit in enumerate(row))[1] for row in block_logits]",
                "The maximum over pairs (logit, token) is the argmax.",
            ),
            (
                "last_of_argsort",
                "argmax(axis=1)",
                'argsort(axis=1, kind="stable")[:, -1]',
                "argsort ends in the argmax.",
            ),
            (
                "argmax_of_reversed_rows",
                "block_logits.argmax(axis=1)",
                "(block_logits.shape[1] - 1 - block_logits[:, ::-1].argmax(axis=1))",
                "An argmax of the reversed row, counted from the end, is the argmax.",
            ),
            (
                "coin_between_equals",
                "",
                "return [int(np.random.choice(np.flatnonzero(row == row.max()))) for row in block_logits]",
                "Between equal logits a coin decides, so that no token is preferred.",
            ),
        ],
        "masked_and_negative_logits": [
            ("search_from_zero", LOGITS, "block_logits.clip(0.0).", "A search for a maximum starts from 0."),
            ("search_from_minus_999", LOGITS, "block_logits.clip(-999.0).", "It may start from −999."),
            (
                "masked_becomes_zero",
                LOGITS,
                "np.nan_to_num(block_logits, neginf=0.0).",
                "0 stands in for a masked logit.",
            ),
            (
                "masked_tokens_removed",
                "",
                "return [int(row[row > -np.inf].argmax()) for row in block_logits]",
                "Masked tokens are not in the vocabulary, so ids count what is left.",
            ),
            (
                "any_infinity_refused",
                "return ",
                "assert np.isfinite(block_logits).all()\n    return ",
                "An infinite logit is always a mistake.",
            ),
            (
                "billion_in_place_of_infinity",
                LOGITS,
                "np.nan_to_num(block_logits, neginf=-1e9).",
                "Minus a billion is as low as a logit gets.",
            ),
        ],
    },
    "2.2": {
        "correct_then_choose": [
            ("bias_subtracted", "row + ", "row - ", "The bias is a penalty and is subtracted."),
            ("bias_multiplied", SUM, f"(row * (1.0 + {BIAS}))", "The bias is a factor."),
            ("larger_of_the_two", SUM, f"np.maximum(row, {BIAS})", "The larger one of logit and bias decides."),
            ("bias_added_as_a_scalar", BIAS, f"{BIAS}[row.argmax()]", "Only the bias of the best base token is added."),
            (
                "bias_breaks_ties_only",
                SUM,
                f"np.where(row == row.max(), {BIAS}, -np.inf)",
                "The bias only breaks ties.",
            ),
            (
                "bias_transposed",
                BIAS,
                "[markov_bias[token][tokens[-1] % row.size] for token in range(row.size)]",
                "The bias stands in columns: entry `previous` of each candidate's own row.",
            ),
            (
                "bias_rows_by_sorted_key",
                "",
                "return [int((row + markov_bias[t]).argmax()) for t, row in zip(sorted(markov_bias), block_logits)]",
                "The k-th bias row, in the order of its keys, belongs to the k-th position.",
            ),
            ("bias_of_position", "tokens[-1]", "len(tokens) - 1", "markov_bias is indexed by the position."),
            ("bias_of_own_token", "tokens[-1]", "int(row.argmax())", "A position's own best token gives its bias."),
            ("chosen_then_corrected", SUM, "row", "A bias row corrects its position only after the token is chosen."),
            ("anchor_in_the_result", "tokens[1:]", "tokens", "The anchor is the first token of the block."),
            ("sums_in_float32", SUM, f"(np.float32(row) + np.float32({BIAS}))", "float32 has digits enough for a sum."),
            ("exponentials_overflow", SUM, f"np.exp(row + {BIAS})", "exp needs no maximum taken off first."),
        ],
        "follows_corrected_choice": [
            ("bias_accumulates", BIAS, "sum(markov_bias[t] for t in tokens)", "The corrections of all steps add up."),
            (
                "best_sum_over_the_block",
                "",
                """
                paths = {anchor_token: (0.0, [])}
                for row in block_logits:
                    scores = {p: paths[p][0] + row + markov_bias[p] for p in paths}
                    best = {t: max(paths, key=lambda p: (scores[p][t], -p)) for t in range(row.size)}
                    paths = {t: (scores[p][t], [*paths[p][1], t]) for t, p in best.items()}
                return max(paths.values(), key=lambda path: path[0])[1]
                """,
                "The best block is the one with the greatest sum over all of its positions.",
            ),
            ("anchor_at_every_position", "tokens[-1]", "anchor_token", "The anchor corrects every position."),
            (
                "predecessor_uncorrected",
                "",
                """
                before = [anchor_token, *block_logits.argmax(axis=1).tolist()]
                return [int((row + markov_bias[p]).argmax()) for p, row in zip(before, block_logits)]
                """,
                "The token before is the argmax of the row before, so all rows go at once.",
            ),
            ("one_token_late", "tokens[-1]", "tokens[-2:][0]", "The token before the one just chosen gives the bias."),
            (
                "chain_from_the_end",
                "",
                """
                tokens = [anchor_token]
                for row in block_logits[::-1]:
                    tokens.append(int((row + markov_bias[tokens[-1]]).argmax()))
                return tokens[:0:-1]
                """,
                "The chain runs from the last position of the block to the first.",
            ),
            (
                "first_position_only",
                BIAS,
                f"({BIAS} if len(tokens) == 1 else 0.0)",
                "Only the first position is corrected.",
            ),
            (
                "two_parallel_rounds",
                "",
                """
                tokens = block_logits.argmax(axis=1).tolist()
                for _ in range(2):
                    pairs = list(zip([anchor_token, *tokens], block_logits))
                    tokens = [int((row + markov_bias[p]).argmax()) for p, row in pairs]
                return tokens
                """,
                "One round of correction with DFlash's tokens, then a second one, is enough.",
            ),
            ("token_zero_is_none", BIAS, f"({BIAS} if tokens[-1] else 0.0)", "Token 0 is no token: `if previous`."),
            (
                "predecessor_asked_twice",
                "",
                """
                def chosen(k):
                    if k < 0:
                        return anchor_token
                    with_bias = chosen(k - 1) in markov_bias
                    return int((block_logits[k] + (markov_bias[chosen(k - 1)] if with_bias else 0.0)).argmax())

                return [chosen(k) for k in range(len(block_logits))]
                """,
                "A recursive question costs nothing, so it can be asked twice.",
            ),
        ],
        "base_logits_count": [
            ("bias_alone", SUM, BIAS, "The bias row of the token before says it all."),
            (
                "softmax_before_bias",
                "row + ",
                "np.exp(row - row.max()) / np.exp(row - row.max()).sum() + ",
                "Base logits become probabilities before the bias is added.",
            ),
            ("first_row_for_all", "row + ", "block_logits[0] + ", "Each position starts from the first row."),
        ],
        "anchor_starts_chain": [
            ("anchor_ignored", BIAS, f"({BIAS} if len(tokens) > 1 else 0.0)", "The first position follows nothing."),
            (
                "anchor_outside_adds_nothing",
                BIAS,
                f"({BIAS} if tokens[-1] < row.size else 0.0)",
                "An outsider has no bias.",
            ),
            (
                "anchor_outside_refused",
                "tokens = [anchor_token]",
                "assert anchor_token < block_logits.shape[1]\n    tokens = [anchor_token]",
                "The anchor must be a token of the block's vocabulary.",
            ),
            (
                "anchor_by_remainder",
                "[anchor_token]",
                "[anchor_token % block_logits.shape[1]]",
                "An anchor outside the vocabulary is brought back into it by the remainder.",
            ),
            (
                "bias_matrix_of_the_vocabulary",
                BIAS,
                "np.array([markov_bias[token] for token in range(row.size)])[tokens[-1]]",
                "The biases fit into a matrix with one row for each token of the vocabulary.",
            ),
            ("keys_as_strings", BIAS, "markov_bias[str(tokens[-1])]", "The keys of markov_bias are strings: JSON."),
            (
                "negative_anchor_from_the_end",
                "[anchor_token]",
                "[anchor_token + block_logits.shape[1] * (anchor_token < 0)]",
                "A negative anchor counts from the end of the vocabulary.",
            ),
        ],
        "missing_row_adds_nothing": [
            (
                "older_bias_kept",
                BIAS,
                "markov_bias[([token for token in tokens if token in markov_bias] or [-9])[-1]]",
                "Where a row is missing, the bias in hand goes on being added.",
            ),
            (
                "missing_row_takes_the_anchors",
                BIAS,
                "markov_bias[tokens[-1] if tokens[-1] in markov_bias else anchor_token]",
                "Where a row is missing, the chain goes back to the anchor's row.",
            ),
            (
                "block_ends_at_missing_row",
                "tokens[1:]",
                "tokens[1 : next((k + 1 for k, t in enumerate(tokens) if k and t not in markov_bias), None)]",
                "A missing row makes its token unfit, so that the block ends there.",
            ),
            (
                "no_correction_after_a_gap",
                BIAS,
                f"({BIAS} if all(token in markov_bias for token in tokens) else 0.0)",
                "Once a row is missing, the chain is broken and the rest is DFlash.",
            ),
            (
                "missing_row_repeats_the_token",
                f"{SUM}.argmax()",
                f"{SUM}.argmax() if tokens[-1] in markov_bias or len(tokens) == 1 else tokens[-1]",
                "A position whose predecessor has no row repeats the predecessor.",
            ),
        ],
        "ties_and_masks": [
            (
                "replaced_on_equality",
                f"{SUM}.argmax()",
                f"max(range(row.size), key=lambda token: ({SUM}[token], token))",
                "Replacing the best on >= is as good as on >.",
            ),
            (
                "maximum_over_pairs",
                f"{SUM}.argmax()",
                f"max(zip({SUM}, range(row.size)))[1]",
                "max over pairs is the argmax.",
            ),
            (
                "ties_by_base_logit",
                SUM,
                f"np.where({SUM} == {SUM}.max(), row, -np.inf)",
                "Of equal sums the better base logit wins.",
            ),
            (
                "ties_repeat_the_predecessor",
                f"{SUM}.argmax()",
                f"tokens[-1] if tokens[-1] in np.flatnonzero({SUM} == {SUM}.max()) else {SUM}.argmax()",
                "Of equal sums the token that repeats the predecessor wins.",
            ),
            (
                "forbidden_becomes_zero",
                BIAS,
                f"np.nan_to_num({BIAS}, neginf=0.0)",
                "A forbidden transition has no bias.",
            ),
            ("masked_becomes_zero", "row + ", "np.nan_to_num(row, neginf=0.0) + ", "A masked logit counts as 0."),
            (
                "forbidden_transition_refused",
                "tokens = [anchor_token]",
                "assert all(np.isfinite(bias).all() for bias in markov_bias.values())\n    tokens = [anchor_token]",
                "A bias of −inf is bad input.",
            ),
            ("search_from_zero", SUM, f"{SUM}.clip(0.0)", "A search for the best sum starts from 0."),
            ("billion_for_infinity", "row + ", "row.clip(-1e9) + ", "Minus a billion is as low as a logit gets."),
        ],
    },
    "2.3": {
        "first_low_value_stops": [
            (
                "all_high_values_counted",
                COUNT,
                "prefix = int((confidences >= threshold).sum())",
                "The verify length is the number of high confidences.",
            ),
            (
                "last_high_value_ends",
                COUNT,
                "prefix = max((k + 1 for k, c in enumerate(confidences) if c >= threshold), default=0)",
                "The last high confidence ends the prefix.",
            ),
            (
                "longest_run_anywhere",
                COUNT,
                'prefix = max(map(len, "".join(" x"[int(c >= threshold)] for c in confidences).split()), default=0)',
                "The longest run of high confidences is what counts.",
            ),
            (
                "binary_search",
                COUNT,
                'prefix = int(np.searchsorted(-confidences, -threshold, side="right"))',
                "Confidences fall, so a binary search finds the stop.",
            ),
            (
                "sorted_first",
                "prefix = 0",
                "prefix, confidences = 0, sorted(confidences, reverse=True)",
                "The confidences are sorted first, the best in front.",
            ),
            ("stop_included", "max(prefix,", "max(prefix + 1,", "The token at the stop is verified too."),
            ("index_for_length", "max(prefix,", "max(prefix - 1,", "The last passing index is the length."),
            (
                "two_low_values_stop",
                REACHES,
                "max(confidences[prefix : prefix + 2]) >=",
                "One low confidence is an outlier.",
            ),
            ("high_values_stop", HIGH, "<= threshold", "A confidence is the risk of a token."),
            ("running_mean", REACHES, "confidences[: prefix + 1].mean() >=", "The mean so far must not be low."),
            (
                "hard_coded_examples",
                "",
                "return {(0.9, 0.8, 0.3, 0.95): 2, (0.1, 0.9): 1}.get(tuple(confidences), max_tokens)",
                "The answers to the lesson's examples are all that a check can ask for.",
            ),
        ],
        "each_value_on_its_own": [
            ("running_product", REACHES, "confidences[: prefix + 1].prod() >=", "The product so far must not be low."),
            (
                "threshold_rises_with_position",
                REACHES,
                "confidences[prefix] ** (prefix + 1) >=",
                "Far tokens need a higher threshold.",
            ),
        ],
        "all_high_keeps_all": [
            (
                "argmax_without_a_stop",
                COUNT,
                "prefix = int(np.argmax(confidences < threshold))",
                "np.argmax of the low flags is the prefix, also where no flag is set.",
            ),
            (
                "index_error_without_a_stop",
                COUNT,
                "prefix = int(np.flatnonzero(confidences < threshold)[0])",
                "Some confidence is low in every block, so there is a first low index.",
            ),
            (
                "rest_counted_twice",
                COUNT,
                """def run(start):
        if start == len(confidences) or confidences[start] < threshold:
            return 0
        return 1 + run(start + 1) if run(start + 1) else 1

    prefix = run(0)""",
                "A recursive call costs nothing, so it can be made twice.",
            ),
        ],
        "equal_passes": [
            ("equal_stops", HIGH, "> threshold", "A confidence must exceed the threshold."),
            ("confidences_rounded", REACHES, "round(confidences[prefix]) >=", "A confidence is yes or no."),
            ("margin_above_threshold", HIGH, ">= threshold + 1e-9", "A margin guards against rounding."),
            ("near_equality_passes", HIGH, ">= threshold - 0.125", "Nearly equal passes too."),
            ("tolerance_below_threshold", HIGH, ">= threshold - 1e-9", "Rounding deserves some tolerance."),
        ],
        "threshold_zero_and_one": [
            ("zero_threshold_is_absent", HIGH, ">= (threshold or 0.5)", "0 means that no threshold was given."),
            ("zero_confidence_stops", REACHES, "0.0 < confidences[prefix] >=", "A confidence of 0 never passes."),
            ("one_lets_nothing_pass", HIGH, ">= threshold < 1.0", "At a threshold of 1 nothing can pass."),
            (
                "threshold_at_the_edge_refused",
                "prefix = 0",
                "assert 0.0 < threshold < 1.0\n    prefix = 0",
                "A threshold must lie strictly between 0 and 1.",
            ),
        ],
        "clamped_in_order": [
            (
                "search_behind_min_tokens",
                "prefix = 0",
                "prefix = min_tokens",
                "The first min_tokens positions need no look, so the search starts after them.",
            ),
            (
                "minimum_last",
                CLAMP,
                "max(min(prefix, max_tokens, len(confidences)), min_tokens)",
                "min_tokens has the last word, even where there are fewer confidences.",
            ),
            (
                "numpy_clip_without_length",
                CLAMP,
                "int(np.clip(prefix, min_tokens, max_tokens))",
                "The prefix is never longer than the block, so two limits are enough.",
            ),
            ("maximum_ignored", "max_tokens, len", "len", "A prefix needs no upper limit but the block itself."),
            ("minimum_ignored", RAISED, "prefix", "A prefix of no tokens is possible."),
            (
                "minimum_for_empty_prefix_only",
                RAISED,
                "prefix or min_tokens",
                "min_tokens is for an empty prefix only.",
            ),
            (
                "maximum_excluded",
                "max_tokens, len",
                "max(max_tokens - 1, min_tokens), len",
                "max_tokens is excluded, as in range.",
            ),
            (
                "minimum_above_length_refused",
                "prefix = 0",
                "assert min_tokens <= len(confidences)\n    prefix = 0",
                "min_tokens above the number of confidences is bad input.",
            ),
            ("minimum_added", RAISED, "max(prefix - 1, 0) + min_tokens", "min_tokens come on top of the prefix."),
            (
                "short_prefix_dropped",
                RAISED,
                "prefix if prefix >= min_tokens else 0",
                "A prefix shorter than min_tokens is not worth a forward, so it is dropped.",
            ),
        ],
        "defaults_and_keywords": [
            ("no_default_maximum", "max_tokens=8", "max_tokens=10**9", "Without a limit the whole block is verified."),
            ("default_of_four", "max_tokens=8", "max_tokens=4", "The lesson's limit of 4 tokens is the default."),
            ("parameters_renamed", "max_tokens", "most", "The names of parameters are the author's own business."),
            ("limits_required", "min_tokens=1, max_tokens=8", "min_tokens, max_tokens", "The limits need no defaults."),
            ("minimum_by_name_ignored", "min_tokens=1,", "min_tokens=1, /,", "min_tokens is never given by name."),
        ],
    },
    "record": {
        "all_five_keys": [
            ("budget_not_trimmed", '_budget": budget', '_budget": len(candidates)', "The budget is the whole length."),
            ("tokens_not_trimmed", "candidates[:budget]", "candidates", "The target gets all tokens, and the budget."),
            (
                "block_trimmed_too",
                'block_tokens": candidates',
                'block_tokens": candidates[:budget]',
                "What is not verified is no draft.",
            ),
            (
                "proposed_counts_verified",
                '"proposed": len(candidates)',
                '"proposed": budget',
                "Only verified tokens are proposed.",
            ),
            (
                "two_names_one_list",
                "return {",
                "del candidates[budget:]\n    return {",
                "A second name for a list is a second list, and deleting from it leaves the first.",
            ),
            ("last_tokens_verified", "candidates[:budget]", "candidates[-budget:]", "The newest tokens are verified."),
            ("keys_named_after_arguments", '"block_tokens"', '"candidates"', "Keys may be called like the arguments."),
            (
                "lengths_left_out",
                '        "proposed": len(candidates),\n        "verify_budget": budget,\n',
                "",
                "Lengths need no keys of their own, because they follow from the lists.",
            ),
            (
                "acceptance_recorded",
                '"mode": mode',
                '"accepted": budget, "mode": mode',
                "A confident token is as good as accepted.",
            ),
        ],
        "budget_is_confident_prefix": [
            (
                "filter_not_prefix",
                "candidates[:budget]",
                "[t for t, c in zip(candidates, confidences) if c >= threshold][:max_tokens] or candidates[:1]",
                "Every token whose confidence reaches the threshold is verified.",
            ),
            (
                "best_tokens_verified",
                "candidates[:budget]",
                '[candidates[k] for k in np.argsort(-confidences, kind="stable")[:budget]]',
                "The budget goes to the most confident tokens, wherever they stand.",
            ),
            (
                "dflash_untrimmed",
                "threshold, 1",
                'threshold * (mode == "dspark"), 1',
                "DFlash has no confidence head, so all is verified.",
            ),
            ("tie_ends_the_budget", "threshold, 1", "min(threshold + 1e-9, 1.0), 1", "It has to exceed the threshold."),
            (
                "budget_of_nothing",
                BUDGET,
                "min(int(np.append(confidences < threshold, True).argmax()), max_tokens)",
                "A first token of low confidence leaves nothing to verify.",
            ),
            ("budget_without_cap", "1, max_tokens)", "1, 64)", "The threshold alone sets the budget."),
            (
                "stopping_token_included",
                BUDGET,
                f"min({BUDGET} + 1, max_tokens, len(candidates))",
                "The token that falls below the threshold still goes to the target.",
            ),
            (
                "survival_compared",
                "(confidences, threshold",
                "(confidences.cumprod(), threshold",
                "The product must reach the threshold.",
            ),
            (
                "examples_by_heart",
                BUDGET,
                "{(4, 5, 6): 2, (7, 7, 8): 1, (3, 1, 2): 2}.get(tuple(candidates), 1)",
                "A function that returns the examples' results is a solution.",
            ),
        ],
        "defaults_and_keywords": [
            ("seven_by_default", "max_tokens=8", "max_tokens=7", "The default budget is the paper's block of seven."),
            ("no_limit_by_default", "max_tokens=8", "max_tokens=10**9", "Without max_tokens there is no limit."),
            ("limit_always_given", "max_tokens=8", "max_tokens", "Every call says how many tokens it allows."),
            ("threshold_renamed", "threshold", "cutoff", "Arguments go by position, so their names are free."),
        ],
    },
    "2.4": {
        "both_directions_in_block": [
            ("causal_in_block", OWN, f"np.tril({OWN})", "A position may look at earlier positions of its block only."),
            ("diagonal_left_out", OWN, f"({OWN}) & ~np.eye(block.size, dtype=bool)", "A position need not see itself."),
            ("only_itself_in_block", OWN, "np.eye(block.size, dtype=bool)", "Each position sees itself alone."),
            ("one_row_a_block", "own_block])", "own_block])[::block_length]", "One row per block is enough."),
            (
                "context_grows_in_block",
                BEFORE,
                "< (anchor + np.arange(anchor.size) % block_length)[:, None]",
                "Each further position of the block sees one more position of the context.",
            ),
        ],
        "context_before_anchor": [
            ("anchor_itself_visible", BEFORE, "<= anchor[:, None]", "The block may look at its anchor's features."),
            (
                "context_fully_visible",
                BEFORE,
                "< 0 * anchor[:, None] + context_length",
                "Every block sees all of the context.",
            ),
            ("one_column_short", BEFORE, "< anchor[:, None] - 1", "The position before the anchor belongs to it."),
            (
                "anchor_counts_from_end",
                "np.arange(context_length) <",
                "np.arange(context_length)[::-1] <",
                "An anchor says how many of the latest positions of the context are seen.",
            ),
            ("only_last_feature", BEFORE, "== anchor[:, None] - 1", "The last feature sums up the others."),
            ("true_means_masked", "return np", "return ~np", "True marks what is masked."),
            (
                "blocks_before_context",
                "[context, own_block]",
                "[own_block, context]",
                "The columns of the block come first, because the mask is about it.",
            ),
            (
                "context_rows_too",
                "return np.hstack([context, own_block])",
                "rows = np.hstack([context, own_block])\n"
                "    return np.vstack([np.tri(context_length, rows.shape[1], dtype=bool), rows])",
                "An attention mask is square, so the context has rows too.",
            ),
            (
                "masks_by_heart",
                "",
                """
                known = {(2,): [[1, 1, 0, 1]], (1,): [[1, 0, 0, 1]]}
                rows = len(anchor_positions) * block_length
                return np.array(known.get(tuple(anchor_positions), np.ones((rows, context_length + rows))), dtype=bool)
                """,
                "A table of the examples' masks is a solution.",
            ),
        ],
        "edges_of_the_context": [
            ("context_required", "anchor = np", "assert context_length\n    anchor = np", "A draft needs a context."),
            (
                "anchor_zero_is_none",
                ANCHORS,
                "np.repeat([anchor or context_length for anchor in anchor_positions],",
                "An anchor of 0 means that no anchor is set, so the whole context is seen.",
            ),
            (
                "slice_from_the_end",
                ANCHORS,
                "np.repeat([len(range(context_length)[: a - context_length]) for a in anchor_positions],",
                "A slice that leaves out the last 0 columns leaves out none.",
            ),
            (
                "last_anchor_refused",
                "anchor = np",
                "assert max(anchor_positions) < max(context_length, 1)\n    anchor = np",
                "The last anchor that makes sense is the last position of the context.",
            ),
        ],
        "blocks_do_not_mix": [
            (
                "blocks_see_each_other",
                OWN,
                "np.ones((block.size, block.size), dtype=bool)",
                "All blocks of a forward see each other.",
            ),
            ("earlier_blocks_visible", OWN, "block[:, None] >= block", "A block sees the earlier blocks."),
            (
                "first_anchor_for_all",
                ANCHORS,
                "np.repeat(anchor_positions[:1] * len(anchor_positions),",
                "The first anchor holds for all blocks.",
            ),
            (
                "largest_anchor_for_all",
                ANCHORS,
                "np.repeat([max(anchor_positions)] * len(anchor_positions),",
                "What one block of the forward may see, the others may see as well.",
            ),
            (
                "anchors_as_offsets",
                ANCHORS,
                "np.repeat(np.cumsum(anchor_positions),",
                "An anchor is an offset from the anchor before it.",
            ),
            ("rows_interleaved", "np.repeat(", "np.tile(", "Packed rows go round the blocks: all first rows first."),
            (
                "anchors_tiled",
                ANCHORS,
                "np.tile(anchor_positions,",
                "The context half goes round the blocks row by row, while the block half does not.",
            ),
        ],
        "blocks_in_given_order": [
            (
                "anchors_sorted",
                ANCHORS,
                "np.repeat(sorted(anchor_positions),",
                "Blocks stand in the order of the text, so the anchors are sorted first.",
            ),
            ("equal_anchors_joined", OWN, "anchor[:, None] == anchor", "Rows with one anchor are one block."),
            (
                "repeated_anchors_dropped",
                "anchor = np",
                "anchor_positions = list(dict.fromkeys(anchor_positions))\n    anchor = np",
                "A repeated anchor is a mistake that is silently removed.",
            ),
        ],
    },
    "2.5": {
        "passed_among_reached": [
            ("more_than_k", "count >= k", "count > k", "Passing k takes more than k tokens."),
            (
                "exactly_k",
                "zip(reached, reached[1:])",
                "zip(reached, map(accepted_counts.count, range(1, block_size + 1)))",
                "Position k is about the rounds that accepted exactly k tokens.",
            ),
            (
                "tried_exactly_before",
                "zip(reached, reached[1:])",
                "zip(map(accepted_counts.count, range(block_size)), reached[1:])",
                "The rounds that tried position k are those that accepted exactly k − 1 tokens.",
            ),
            ("failures_counted", "kept / tried", "1.0 - kept / tried", "A rate is the share of rounds that fail."),
            ("position_zero_listed", RATES, f"[1.0, *{RATES}]", "The list starts with position 0."),
            ("last_position_left_out", "reached[1:])", "reached[1:-1])", "A range includes its end."),
            (
                "shifted_by_one",
                "zip(reached, reached[1:])",
                "zip(reached[1:], [*reached[2:], 0])",
                "Position k + 1 depends on position k, so the rates begin with the second.",
            ),
            (
                "mean_for_every_position",
                "kept / tried",
                "sum(accepted_counts) / len(accepted_counts) / block_size",
                "All positions are alike, so each has the mean share of accepted tokens.",
            ),
            ("bonus_taken_off", "count >= k", "max(count - 1, 0) >= k", "The counts include the bonus token."),
            ("rates_smoothed", "kept / tried", "(kept + 1) / (tried + 2)", "A rate from few rounds is smoothed."),
            ("rates_rounded", "kept / tried", "round(kept / tried, 2)", "Two decimals are enough for a rate."),
            ("whole_division", "kept / tried", "kept // tried", "Dividing two counts with // gives their ratio."),
            (
                "rates_by_heart",
                "",
                """
                known = {(2, 0, 1, 2): [0.75, 2 / 3, 0.0], (0, 0, 0, 2): [0.25, 1.0], (0, 0): [0.0, np.nan, np.nan]}
                return known.get(tuple(accepted_counts), [1.0] * block_size)
                """,
                "A table of the examples' results is a solution.",
            ),
        ],
        "condition_on_reaching": [
            ("share_of_all_rounds", "kept / tried", "kept / reached[0]", "Every rate is a share of all the rounds."),
            (
                "share_of_started_rounds",
                "zip(reached, ",
                "zip(reached[:2] + reached[1:2] * block_size, ",
                "The rounds that tried a position are those that accepted anything at all.",
            ),
            (
                "rates_never_rise",
                RATES,
                f"np.minimum.accumulate({RATES}).tolist()",
                "Rates fall along the block, so a later one cannot exceed an earlier one.",
            ),
        ],
        "unreached_is_nan": [
            ("unreached_is_zero", "math.nan", "0.0", "What was never reached was never accepted."),
            ("unreached_is_one", "math.nan", "1.0", "What was never reached never failed."),
            ("unreached_is_none", "math.nan", "None", "A rate that nobody knows is None."),
            (
                "denominator_at_least_one",
                "kept / tried if tried else math.nan",
                "kept / max(tried, 1)",
                "A denominator of at least 1 keeps the division safe.",
            ),
            (
                "division_unguarded",
                "kept / tried if tried else math.nan",
                "kept / tried",
                "Some round always comes through, so the denominator is never 0.",
            ),
            (
                "list_ends_when_unreached",
                RATES,
                "[kept / tried for tried, kept in zip(reached, reached[1:]) if tried]",
                "The list ends where no round came further.",
            ),
            (
                "last_rate_carried_on",
                RATES,
                "[reached[k + 1] / reached[k] if reached[k] else 0.0 for k in range(block_size)]",
                "The last known rate is carried on to the positions that no round reached.",
            ),
            ("failed_is_unknown", "if tried", "if kept", "A position that all rounds fail is unknown too."),
            ("no_rounds_no_rates", "return [", "return accepted_counts and [", "No rounds, no rates."),
            (
                "rounds_required",
                "reached = [",
                "assert accepted_counts\n    reached = [",
                "An empty list is bad input.",
            ),
        ],
    },
}

RIGHT: dict[str, list[Patch]] = {
    "2.1": [
        (
            "plain_loops",
            "",
            """
            tokens = []
            for row in block_logits:
                token = 0
                for v in range(len(row)):
                    if row[v] > row[token]:
                        token = v
                tokens.append(token)
            return tokens
            """,
            "Nested loops in plain Python.",
        ),
        (
            "max_with_key",
            "",
            "return [max(range(len(row)), key=row.__getitem__) for row in block_logits]",
            "The maximum with a key, over token ids.",
        ),
        (
            "sort_with_key",
            "",
            "return [sorted(range(len(row)), key=lambda token: (-row[token], token))[0] for row in block_logits]",
            "A sort by falling logit, then by rising id.",
        ),
        (
            "fold_over_tokens",
            "",
            """
            from functools import reduce

            return [reduce(lambda a, b: b if row[b] > row[a] else a, range(len(row))) for row in block_logits]
            """,
            "A fold that keeps the better of two tokens, the earlier one on a tie.",
        ),
        (
            "recursive_halves",
            "",
            """
            def best(row, start, stop):
                if stop - start == 1:
                    return start
                left, right = best(row, start, (start + stop) // 2), best(row, (start + stop) // 2, stop)
                return right if row[right] > row[left] else left

            return [best(row, 0, len(row)) for row in block_logits]
            """,
            "A recursive split of each row into halves.",
        ),
        (
            "log_softmax_first",
            "",
            """
            shifted = block_logits - block_logits.max(axis=1, keepdims=True)
            log_probs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
            return [int(np.flatnonzero(row == row.max())[0]) for row in log_probs]
            """,
            "Log-softmax along the vocabulary first, which changes no order.",
        ),
        (
            "transposed_argmax",
            "",
            "return [best.item() for best in np.transpose(block_logits).argmax(0)]",
            "An argmax along the first axis of the transposed matrix, with np.int64 made plain one by one.",
        ),
        (
            "applied_along_axis",
            "",
            "return np.apply_along_axis(np.argmax, 1, block_logits).tolist()",
            "np.apply_along_axis with a function of one row.",
        ),
        (
            "running_maxima",
            "",
            """
            columns = zip(*block_logits)
            best = [(value, 0) for value in next(columns)]
            for token, column in enumerate(columns, start=1):
                best = [(new, token) if new > old[0] else old for old, new in zip(best, column)]
            return [token for _, token in best]
            """,
            "A walk over the transposed columns that keeps running maxima.",
        ),
        (
            "talkative",
            "",
            """
            import sys, warnings

            print("block:", block_logits, file=sys.stderr)
            warnings.warn("A warning is not an error.")
            return [row.argmax().item() for row in block_logits]
            """,
            "Prints and warnings, which are allowed.",
        ),
    ],
    "2.2": [
        (
            "plain_loops",
            "",
            """
            tokens, previous = [], anchor_token
            for row in block_logits:
                bias = markov_bias[previous] if previous in markov_bias else [0.0] * len(row)
                previous = 0
                for v in range(len(row)):
                    if row[v] + bias[v] > row[previous] + bias[previous]:
                        previous = v
                tokens.append(previous)
            return tokens
            """,
            "Nested loops in plain Python, `in` and [] for the look-up.",
        ),
        (
            "accumulated",
            "",
            """
            from itertools import accumulate

            def follow(previous, row):
                return int(np.argmax(row + markov_bias.get(previous, 0.0)))

            return list(accumulate(block_logits, follow, initial=anchor_token))[1:]
            """,
            "The chain is an accumulation over the rows with the anchor as its start; `get` with a default.",
        ),
        (
            "folded",
            "",
            """
            from functools import reduce

            def extend(tokens, row):
                return [*tokens, (row + markov_bias[tokens[-1]]).argmax().item()]

            return reduce(extend, block_logits, [anchor_token])[1:]
            """,
            "The chain is a fold whose state is the list of tokens, the anchor in front.",
        ),
        (
            "recursive",
            "",
            """
            def draft(k, previous):
                if k == len(block_logits):
                    return []
                token = int((block_logits[k] + markov_bias[previous]).argmax())
                return [token, *draft(k + 1, token)]

            return draft(0, anchor_token)
            """,
            "A recursion over the rest of the block.",
        ),
        (
            "recursive_with_memory",
            "",
            """
            from functools import cache

            @cache
            def chosen(k):
                return int((block_logits[k] + markov_bias[chosen(k - 1)]).argmax()) if k >= 0 else anchor_token

            return [chosen(k) for k in range(len(block_logits))]
            """,
            "A recursion from the end, with a memory that lives as long as the call.",
        ),
        (
            "generated",
            "",
            """
            def tokens():
                previous = anchor_token
                for row in block_logits:
                    previous = np.add(row, markov_bias[previous]).argmax().item()
                    yield previous

            return [*tokens()]
            """,
            "A generator that yields each token as it is chosen.",
        ),
        (
            "corrected_copy",
            "",
            """
            block, tokens = block_logits.copy(), [anchor_token]
            for k in range(len(block)):
                block[k] += markov_bias.get(tokens[k])
                tokens.append(sorted(range(block.shape[1]), key=lambda v: -block[k, v])[0])
            del tokens[0]
            return tokens
            """,
            "The block is copied first and corrected in place in the copy, by sorting token ids.",
        ),
        (
            "log_probabilities",
            "row + ",
            "row - np.floor(row.max()) + ",
            "A constant per row is taken off first, which changes no order.",
        ),
    ],
    "2.3": [
        (
            "plain_loops",
            "",
            """
            prefix = 0
            for confidence in confidences:
                if confidence < threshold:
                    break
                prefix = prefix + 1
            if prefix < min_tokens:
                prefix = min_tokens
            if prefix > max_tokens:
                prefix = max_tokens
            return len(confidences) if prefix > len(confidences) else prefix
            """,
            "Plain loops and comparisons.",
        ),
        (
            "taken_while_high",
            COUNT,
            "import itertools\n    prefix = sum(1 for _ in itertools.takewhile(lambda c: c >= threshold, confidences))",
            "itertools.takewhile on the confidences and a sum over ones.",
        ),
        (
            "first_low_index",
            COUNT,
            "prefix = next((k for k, c in enumerate(confidences) if c < threshold), len(confidences))",
            "The first low index, with the length of the block where there is none.",
        ),
        (
            "product_of_booleans",
            "",
            """
            passing = np.cumprod(confidences >= threshold).sum()
            return int(np.clip(passing, min_tokens, max_tokens).clip(None, confidences.size))
            """,
            "A cumulative product of booleans, made a plain int at the end.",
        ),
        (
            "sentinel_behind_block",
            COUNT,
            "prefix = int(np.append(confidences >= threshold, False).argmin())",
            "np.argmin of the booleans with a false one after the block.",
        ),
        (
            "running_minimum",
            COUNT,
            "prefix = int((np.minimum.accumulate(confidences) >= threshold).sum())",
            "A running minimum, which passes exactly as long as every confidence does.",
        ),
        (
            "recursive",
            COUNT,
            "def run(rest):\n"
            "        return 1 + run(rest[1:]) if len(rest) and rest[0] >= threshold else 0\n\n"
            "    prefix = run(confidences)",
            "A recursion over the rest of the block.",
        ),
        (
            "grown_from_minimum",
            "",
            """
            length, limit = min(min_tokens, len(confidences)), min(max_tokens, len(confidences))
            while length < limit and all(c >= threshold for c in confidences[: length + 1]):
                length += 1
            return length
            """,
            "min_tokens are taken unseen, and no more than max_tokens are looked at.",
        ),
    ],
    "record": [
        (
            "record_as_dataclass",
            "",
            """
            from dataclasses import asdict, make_dataclass

            fields = ["mode", "block_tokens", "verify_tokens", "proposed", "verify_budget"]
            budget = choose_confident_prefix(confidences, threshold, max_tokens=max_tokens)
            draft = make_dataclass("Draft", fields)(mode, candidates, candidates[:budget], len(candidates), budget)
            return asdict(draft)
            """,
            "The record is a dataclass, turned into a dict at the end.",
        ),
        (
            "record_in_another_order",
            "",
            """
            verify = candidates[: choose_confident_prefix(confidences, threshold, max_tokens=max_tokens)]
            counts = dict(verify_budget=len(verify), proposed=len(candidates))
            return dict(counts, verify_tokens=verify, block_tokens=list(candidates), mode=mode)
            """,
            "A dict from keywords, its keys in another order.",
        ),
        (
            "record_by_hand",
            BUDGET,
            "1\n"
            "    while budget < min(len(candidates), max_tokens) and min(confidences[: budget + 1]) >= threshold:\n"
            "        budget += 1",
            "The budget is counted by hand, without choose_confident_prefix.",
        ),
        (
            "record_by_running_minimum",
            BUDGET,
            "int(np.clip((np.minimum.accumulate(confidences) >= threshold).sum(), 1, max_tokens))",
            "The budget is the number of running minima that reach the threshold.",
        ),
        (
            "record_key_by_key",
            "",
            """
            record = {}
            record["mode"], record["proposed"] = mode, len(candidates)
            record["verify_budget"] = choose_confident_prefix(confidences, threshold, 1, max_tokens)
            record["block_tokens"] = candidates
            record["verify_tokens"] = [*record["block_tokens"]][slice(record["verify_budget"])]
            return record
            """,
            "It fills an empty dict key by key.",
        ),
    ],
    "2.4": [
        (
            "cell_by_cell",
            "",
            """
            rows = len(anchor_positions) * block_length
            mask = np.full((rows, context_length + rows), False)
            for row in range(rows):
                for column in range(context_length + rows):
                    if column < context_length:
                        mask[row, column] = column < anchor_positions[row // block_length]
                    else:
                        mask[row, column] = (column - context_length) // block_length == row // block_length
            return mask
            """,
            "Two plain loops over rows and columns decide every cell on its own.",
        ),
        (
            "nested_comprehension",
            "",
            """
            count, each = range(len(anchor_positions)), range(block_length)
            rows = [
                [c < anchor_positions[j] for c in range(context_length)] + [i == j for i in count for _ in each]
                for j in count
                for _ in each
            ]
            return np.array(rows, dtype=np.bool_)
            """,
            "A nested comprehension makes lists, and NumPy an array of them.",
        ),
        (
            "kronecker_products",
            "",
            """
            own = np.kron(np.eye(len(anchor_positions), dtype=int), np.ones((block_length, block_length), dtype=int))
            last = np.kron(anchor_positions, np.ones(block_length, dtype=int)).reshape(-1, 1)
            return np.concatenate((np.arange(context_length) < last, own == 1), axis=1)
            """,
            "np.kron blows an identity matrix up to the block half and the anchors up to the context half.",
        ),
        (
            "tiles_put_together",
            "",
            """
            tile, count = np.ones((block_length, block_length), dtype=bool), range(len(anchor_positions))
            seen = [np.tile(np.arange(context_length) < anchor, (block_length, 1)) for anchor in anchor_positions]
            return np.block([[seen[j], *(tile if i == j else ~tile for i in count)] for j in count])
            """,
            "np.block puts one tile per pair of blocks together.",
        ),
        (
            "outer_comparisons",
            "",
            """
            row = np.arange(len(anchor_positions) * block_length) // block_length
            column = np.concatenate([np.full(context_length, -1), row])
            position = np.concatenate([np.arange(context_length), np.full(row.size, context_length + 1)])
            before = np.greater.outer(np.array(anchor_positions)[row], position)
            return np.equal.outer(row, column) | before
            """,
            "Outer comparisons of index vectors, joined by logical or over all columns.",
        ),
        (
            "four_axes",
            "",
            """
            count, length = len(anchor_positions), block_length
            context = np.arange(context_length) < np.array(anchor_positions)[:, None]
            seen = np.broadcast_to(context[:, None, :], (count, length, context_length))
            own = np.broadcast_to(np.eye(count, dtype=bool)[:, None, :, None], (count, length, count, length))
            rows = count * length
            return np.concatenate([seen.reshape(rows, context_length), own.reshape(rows, rows)], axis=-1)
            """,
            "Axes for block and position, reshaped at the end.",
        ),
        (
            "membership_product",
            "",
            """
            member = np.repeat(np.eye(len(anchor_positions)), block_length, axis=0)
            before = np.tri(context_length + 1, context_length, -1)[anchor_positions]
            return np.hstack((member @ before, member @ member.T)) > 0.5
            """,
            "One-hot membership vectors are multiplied, and positive products are True.",
        ),
        (
            "rows_of_bits",
            "",
            """
            full, width = (1 << block_length) - 1, context_length + len(anchor_positions) * block_length
            bits = [
                ((1 << anchor) - 1) | full << (context_length + j * block_length)
                for j, anchor in enumerate(anchor_positions)
            ]
            return np.array([[row >> c & 1 == 1 for c in range(width)] for row in bits for _ in range(block_length)])
            """,
            "Python integers as rows of bits.",
        ),
    ],
    "2.5": [
        (
            "two_counters",
            "",
            """
            rates = []
            for k in range(1, block_size + 1):
                tried = kept = 0
                for count in accepted_counts:
                    if count >= k - 1:
                        tried += 1
                    if count >= k:
                        kept += 1
                rates.append(float("nan") if tried == 0 else kept / tried)
            return rates
            """,
            "Plain loops with two counters per position.",
        ),
        (
            "bins_from_the_back",
            "",
            """
            exact = np.bincount(np.array(accepted_counts, dtype=int), minlength=block_size + 1)
            reached = exact[::-1].cumsum()[::-1]
            return (reached[1:] / reached[:-1]).tolist()
            """,
            "np.bincount and a cumulative sum from the back; 0 divided by 0 is nan by itself.",
        ),
        (
            "found_by_bisection",
            "",
            """
            import bisect

            ordered = sorted(accepted_counts)
            reached = [len(ordered) - bisect.bisect_left(ordered, k) for k in range(block_size + 1)]
            return [reached[k + 1] / reached[k] if reached[k] else math.nan for k in range(block_size)]
            """,
            "The counts are sorted into a new list and each number is found by bisection.",
        ),
        (
            "divided_where_reached",
            "",
            """
            counts = np.sort(np.array(accepted_counts, dtype=int))
            reached = counts.size - np.searchsorted(counts, np.arange(block_size + 1))
            rates = np.full(block_size, np.nan)
            np.divide(reached[1:], reached[:-1], out=rates, where=reached[:-1] > 0)
            return [float(rate) for rate in rates]
            """,
            "np.searchsorted on sorted counts, and np.divide where there is something to divide.",
        ),
        (
            "float64_rates",
            "",
            """
            table = np.greater_equal.outer(np.array(accepted_counts, dtype=int), np.arange(block_size + 1)).sum(axis=0)
            return [np.float64(table[k + 1]) / np.float64(table[k]) for k in range(block_size)]
            """,
            "The rates are np.float64 in a list, which pass as floats.",
        ),
        (
            "survivors_passed_on",
            "",
            """
            def rates(alive, left):
                if left == 0:
                    return []
                passed = [count - 1 for count in alive if count > 0]
                return [len(passed) / len(alive) if alive else math.nan, *rates(passed, left - 1)]

            return rates(accepted_counts, block_size)
            """,
            "Each position is a recursion on the rounds that survived the one before.",
        ),
        (
            "mean_of_indicator",
            "",
            """
            counts = np.array(accepted_counts, dtype=int)
            return [float(np.mean(counts[counts >= k] > k)) for k in range(block_size)]
            """,
            "A rate is the mean of an indicator over the rounds that came so far; np.mean warns where there is none.",
        ),
        (
            "quotients_of_survival",
            "",
            """
            rates = []
            for k in range(block_size):
                try:
                    rates.append(sum(c > k for c in accepted_counts) / sum(c >= k for c in accepted_counts))
                except ZeroDivisionError:
                    rates.append(math.nan)
            return rates
            """,
            "Quotients of neighbouring counts, with the division by zero caught.",
        ),
    ],
}
