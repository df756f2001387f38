"""Lesson 03, sequential heads: wrong solutions under the property that must catch them, and right ones."""

from grader.lessons.mutants import Patch

ROWS, CHOICE = "np.array(rows)", "rng.choice(len(row), p=rows[-1])"
SIGMOID = "(1.0 + np.tanh(gate / 2.0)) / 2.0"
NEW_STATE = "keep * state + (1.0 - keep) * np.tanh(candidate)"
POSITIONS = "list(range(first, first + block_size))"

WRONG: dict[str, dict[str, list[Patch]]] = {
    "3.1": {
        "row_of_the_product": [
            (
                "rows_of_w2_summed",
                "w1[token] @ w2",
                "w2.sum(axis=0)",
                "The bias is the sum of the rows of W2, weighed by nothing.",
            ),
            (
                "largest_entry_picks",
                "w1[token] @ w2",
                "w1[token].max() * w2[w1[token].argmax()]",
                "Only the largest number of the row picks its row of W2.",
            ),
            (
                "divided_by_root_of_rank",
                "@ w2",
                "@ w2 / np.sqrt(len(w2))",
                "The product is normalised by the rank, like attention scores.",
            ),
            (
                "bias_as_log_softmax",
                "",
                "bias = w1[token] @ w2\nreturn bias - np.logaddexp.reduce(bias)",
                "A bias is a log-probability, so it is normalised first.",
            ),
            (
                "tanh_between",
                "w1[token]",
                "np.tanh(w1[token])",
                "A sequential head has a non-linearity between its two matrices.",
            ),
            ("next_row", "w1[token]", "w1[(token + 1) % len(w1)]", "The row is that of the token that follows."),
        ],
        "rows_are_the_tokens_before": [
            (
                "column_of_the_table",
                "w1[token] @ w2",
                "w1 @ w2[:, token]",
                "A bias is a column of the table: what leads to the token.",
            ),
            (
                "column_of_w1",
                "w1[token]",
                "(w1.T if w1.shape[0] == w1.shape[1] else w1)[token]",
                "Tokens stand in the columns of W1 if it has enough of them.",
            ),
            (
                "w2_transposed",
                "@ w2",
                "@ (w2.T if w2.shape[0] == w2.shape[1] else w2)",
                "Square or not, W2 can be stored like W1, one row per token.",
            ),
        ],
        "every_shape": [
            (
                "rank_below_vocabulary",
                "",
                "rank = max(1, min(len(w2), len(w1) - 1))\nreturn w1[token, :rank] @ w2[:rank]",
                "r is always smaller than V, so the rest is cut off.",
            ),
            ("squeezed", "w1[token] @ w2", "np.squeeze(w1[token] @ w2)", "np.squeeze does no harm."),
        ],
    },
    "3.2": {
        "law_of_the_block": [
            ("anchor_everywhere", "w1[tokens[-1]]", "w1[anchor_token]", "The anchor corrects every position."),
            ("no_bias_at_all", "row + w1[tokens[-1]] @ w2", "row", "Positions are independent, as in DFlash."),
            (
                "chain_of_argmaxes",
                "w1[tokens[-1]]",
                "w1[rows[-1].argmax() if rows else anchor_token]",
                "The chain follows the best token of each row; only what comes out is drawn.",
            ),
            ("always_argmax", CHOICE, "rows[-1].argmax()", "A draft takes the best token, whatever the temperature."),
            (
                "one_uniform",
                CHOICE,
                "np.random.Generator.choice(__import__('copy').deepcopy(rng), len(row), p=rows[-1])",
                "One uniform number serves the whole block.",
            ),
            (
                "without_replacement",
                "        tokens.append",
                """
        left = np.where(np.isin(np.arange(len(row)), tokens[1:]), 0.0, rows[-1])
        rows[-1] = left / left.sum() if left.any() else rows[-1]
        tokens.append""",
                "A token that was drawn is not drawn again in the same block.",
            ),
            (
                "chain_from_the_end",
                "",
                """
                tokens, rows = [anchor_token], []
                for row in base_logits[::-1]:
                    weights = np.exp((row + w1[tokens[-1]] @ w2) / temperature)
                    rows.append(weights / weights.sum())
                    tokens.append(int(rng.choice(len(row), p=rows[-1])))
                return tokens[:0:-1], np.array(rows[::-1])
                """,
                "The draws run from the last position to the first.",
            ),
        ],
        "first_row_is_corrected": [
            (
                "rows_without_bias",
                f"return tokens[1:], {ROWS}",
                """weights = np.exp((base_logits - base_logits.max(axis=1, keepdims=True)) / temperature)
    return tokens[1:], weights / weights.sum(axis=1, keepdims=True)""",
                "The rows are the softmax of the base logits.",
            ),
            ("log_rows", ROWS, "np.log(rows)", "The verifier wants log-probabilities."),
        ],
        "rows_are_those_drawn_from": [
            (
                "rows_of_own_token",
                f"return tokens[1:], {ROWS}",
                """weights = np.exp((base_logits + w1[tokens[1:]] @ w2) / temperature)
    return tokens[1:], weights / weights.sum(axis=1, keepdims=True)""",
                "The rows are corrected by the token at their own position.",
            ),
            (
                "rows_of_another_chain",
                f"return tokens[1:], {ROWS}",
                """drawn, previous, rows = tokens[1:], anchor_token, []
    for row in base_logits:
        weights = np.exp((row + w1[previous] @ w2) / temperature)
        rows.append(weights / weights.sum())
        previous = rows[-1].argmax()
    return drawn, np.array(rows)""",
                "The rows can be computed again at the end, along the best tokens.",
            ),
            (
                "one_hot_at_any_temperature",
                ROWS,
                "np.eye(len(row))[tokens[1:]]",
                "What was drawn is certain, so its row is one-hot.",
            ),
            (
                "chosen_probabilities",
                ROWS,
                "np.array([row[token] for row, token in zip(rows, tokens[1:])])",
                "The ratio needs the probability of the drawn token only.",
            ),
            (
                "rows_in_half_precision",
                ROWS,
                "np.array(rows, dtype=np.float16).astype(np.float64)",
                "Half precision saves memory and does no harm.",
            ),
        ],
        "temperature_divides_the_sum": [
            ("temperature_ignored", ") / temperature", ")", "Temperature is the target's; the draft is drawn at 1."),
            (
                "bias_not_divided",
                "@ w2",
                "@ w2 * (temperature or 1.0)",
                "Temperature is for the base logits, the bias comes on top.",
            ),
            (
                "temperature_multiplied",
                ") / temperature",
                ") * temperature",
                "A higher temperature makes logits larger.",
            ),
            (
                "drawn_at_temperature_one",
                "p=rows[-1]",
                "p=rows[-1] ** temperature / (rows[-1] ** temperature).sum()",
                "The rows have the temperature, the draw forgets it.",
            ),
        ],
        "rows_have_the_temperature": [
            (
                "rows_at_temperature_one",
                ROWS,
                "np.array([row**temperature / (row**temperature).sum() for row in rows])",
                "The rows are probabilities, so the temperature does not belong in them.",
            ),
        ],
        "zero_is_argmax": [
            (
                "soft_row_at_zero",
                f"return tokens[1:], {ROWS}",
                """soft = np.exp(base_logits + w1[tokens[:-1]] @ w2)
    return tokens[1:], np.array(rows) if temperature else soft / soft.sum(axis=1, keepdims=True)""",
                "At temperature 0 the row is the softmax at 1, and the best token is taken.",
            ),
            (
                "tiny_temperature",
                "tokens, rows = [anchor_token], []",
                "tokens, rows, temperature = [anchor_token], [], temperature or 1e-6",
                "A temperature of 0 is a very small temperature.",
            ),
            (
                "last_of_equals",
                "corrected.argmax()",
                "len(row) - 1 - corrected[::-1].argmax()",
                "Of equals the last one wins.",
            ),
        ],
        "huge_logits_stay_finite": [
            (
                "softmax_without_maximum",
                "corrected - corrected.max()",
                "corrected",
                "The softmax is exp divided by its sum.",
            ),
        ],
        "excluded_tokens_never_come": [
            (
                "zero_takes_the_first_token",
                CHOICE,
                "np.searchsorted(np.cumsum(rows[-1]), rng.random())",
                "The token is the first whose cumulated probability is at least the uniform number.",
            ),
        ],
        "same_seed_same_result": [
            ("own_source_of_chance", "rng.choice", "np.random.choice", "Any source of chance will do."),
        ],
    },
    "3.3": {
        "gate_keeps_the_state": [
            (
                "gate_inverted",
                "gate / 2.0",
                "-gate / 2.0",
                "The gate lets the candidate in, so 1 − gate weighs the old state.",
            ),
            ("gate_without_sigmoid", SIGMOID, "gate", "The gate is a number as it is; no σ is needed."),
            ("gate_by_tanh", SIGMOID, "np.tanh(gate)", "σ and tanh are the same thing up to scale."),
            (
                "one_gate_for_all",
                "gate / 2.0",
                "gate.mean() / 2.0",
                "One gate for the whole state: the mean of the r numbers.",
            ),
            (
                "columns_interleaved",
                "np.split(z @ w_joint, 3)",
                "(z @ w_joint).reshape(-1, 3).T",
                "Each entry has its three numbers side by side in the columns.",
            ),
            (
                "candidate_before_gate",
                "gate, candidate, output = np",
                "candidate, gate, output = np",
                "The candidate comes first in the columns.",
            ),
        ],
        "candidate_fills_the_rest": [
            (
                "candidate_in_full",
                "(1.0 - keep) * np",
                "np",
                "The candidate is added to what the gate keeps, in full.",
            ),
            ("candidate_without_tanh", "np.tanh(candidate)", "candidate", "The candidate is linear."),
            (
                "state_only_decays",
                " + (1.0 - keep) * np.tanh(candidate)",
                "",
                "The state decays; nothing new is stored.",
            ),
            (
                "output_into_the_state",
                "np.tanh(candidate)",
                "np.tanh(output)",
                "The output is what the state takes in.",
            ),
            (
                "hidden_first",
                "[state, prev_embedding, hidden])",
                "[hidden, state, prev_embedding])",
                "The hidden state comes first in z.",
            ),
            (
                "embedding_first",
                "[state, prev_embedding, hidden])",
                "[prev_embedding, state, hidden])",
                "The embedding comes before the state in z.",
            ),
        ],
        "output_gives_the_bias": [
            ("output_without_tanh", "np.tanh(output) @", "output @", "The output is linear."),
            (
                "bias_from_the_state",
                "np.tanh(output) @",
                f"({NEW_STATE}) @",
                "The bias is read off the new state, as in a plain RNN.",
            ),
            (
                "output_as_a_gate",
                "np.tanh(output) @",
                f"(np.tanh({NEW_STATE}) / (1.0 + np.exp(-output))) @",
                "The output gates the new state, as in an LSTM.",
            ),
            (
                "output_after_the_update",
                "np.tanh(output) @",
                f"np.tanh(np.split(np.concatenate([{NEW_STATE}, prev_embedding, hidden]) @ w_joint, 3)[2]) @",
                "The output is computed from the new state.",
            ),
            (
                "markov_bias_instead",
                "np.tanh(output) @",
                "prev_embedding @",
                "W2 turns the embedding of the token before into the bias, as in the Markov head.",
            ),
        ],
        "every_size": [
            (
                "hidden_cut_to_rank",
                "prev_embedding, hidden])",
                "prev_embedding, np.where(np.arange(len(hidden)) < len(state), hidden, 0.0)])",
                "The hidden state has as many entries as the state, so the rest of it is left out.",
            ),
            (
                "single_numbers_squeezed",
                f"{NEW_STATE}, np.tanh(output) @ w2",
                f"np.squeeze({NEW_STATE}), np.squeeze(np.tanh(output) @ w2)",
                "A vector of one number is a number.",
            ),
        ],
        "saturation_stays_finite": [
            ("overflowing_sigmoid", SIGMOID, "np.exp(gate) / (1.0 + np.exp(gate))", "σ(x) is exp(x) / (1 + exp(x))."),
        ],
    },
    "3.4": {
        "dflash_inputs": [
            (
                "gamma_inputs_for_both",
                "(block_size - 1 + first)",
                "(block_size - 1)",
                "A block has γ inputs, whatever the layout.",
            ),
            ("layouts_swapped", 'layout == "dflash"', 'layout != "dflash"', "The two layouts are the other way round."),
            (
                "block_size_with_anchor",
                "    masks =",
                "    block_size = block_size - first or 1\n    masks =",
                "block_size counts the anchor, as in some training code.",
            ),
        ],
        "dflash_positions": [
            ("first_rows_predict", POSITIONS, "list(range(block_size))", "The first γ rows predict in both layouts."),
            (
                "all_rows_predict",
                POSITIONS,
                "list(range(first + block_size))",
                "Every input position of DFlash predicts, the anchor's too.",
            ),
            (
                "positions_from_one",
                POSITIONS,
                "list(range(first + 1, first + 1 + block_size))",
                "Positions count from the anchor, which is position 1.",
            ),
            (
                "last_position_only",
                POSITIONS,
                "[first + block_size - 1]",
                "Only the last position of the block predicts.",
            ),
        ],
        "dspark_inputs": [
            (
                "gamma_masks_for_both",
                "(block_size - 1 + first)",
                "block_size",
                "Both drafters want the anchor and γ masks.",
            ),
            (
                "anchor_last",
                "[anchor_token, *masks]",
                "[*masks, anchor_token]",
                "The anchor comes after the masks, next to what it continues.",
            ),
            (
                "masks_only",
                "[anchor_token, *masks]",
                "[mask_token, *masks]",
                "Masks only: the anchor is in the cache already.",
            ),
        ],
        "dspark_positions": [
            (
                "masks_predict_in_both",
                POSITIONS,
                "list(range(1, first + block_size))",
                "The anchor never predicts, so position 0 is left out.",
            ),
            (
                "one_row_late",
                POSITIONS,
                "list(range(1, 1 + block_size))",
                "The rows are read one late, as many as there are wanted.",
            ),
        ],
        "block_of_one": [
            (
                "at_least_one_mask",
                "(block_size - 1 + first)",
                "max(1, block_size - 1 + first)",
                "There is at least one mask, or there would be nothing to fill in.",
            ),
        ],
        "any_tokens": [
            (
                "positions_of_the_mask",
                POSITIONS,
                "[k for k, t in enumerate([anchor_token, *masks]) if t == mask_token or k + first == 0]",
                "The positions that predict are those where the mask stands.",
            ),
            (
                "token_zero_left_out",
                "[anchor_token, *masks]",
                "[token for token in [anchor_token, *masks] if token]",
                "Token 0 stands for no token.",
            ),
        ],
    },
}

RIGHT: dict[str, list[Patch]] = {
    "3.1": [
        (
            "plain_loops",
            "",
            """
            row, columns = w1[token].tolist(), w2.T.tolist()
            return np.array([sum(a * b for a, b in zip(row, column)) for column in columns])
            """,
            "Plain loops over r and V, with math only.",
        ),
        ("named_axes", "w1[token] @ w2", 'np.einsum("r,rv->v", w1[token], w2)', "einsum names the axes."),
        (
            "whole_table",
            "w1[token] @ w2",
            "(w1 @ w2)[token]",
            "The whole table is made and one row is taken, which is wasteful and right.",
        ),
        (
            "weighted_rows",
            "",
            """
            import sys

            print("rank", w1.shape[1], file=sys.stderr)
            return (w1[token][:, None] * w2).sum(axis=0)
            """,
            "Weighted rows are broadcast and summed, with a line on stderr.",
        ),
        (
            "one_hot_product",
            "w1[token]",
            "np.eye(len(w1))[token] @ w1",
            "Picking a row is a product with a one-hot vector.",
        ),
        ("transposed_product", "w1[token] @ w2", "np.dot(w2.T, w1[token])", "The matrix stands on the left."),
    ],
    "3.2": [
        (
            "plain_python",
            "",
            """
            from bisect import bisect_right
            from itertools import accumulate

            tokens, rows, previous = [], [], anchor_token
            for logits in base_logits.tolist():
                entry = w1[previous].tolist()
                scores = [u + sum(a * b for a, b in zip(entry, column)) for u, column in zip(logits, w2.T.tolist())]
                top = max(scores)
                if temperature == 0:
                    row = [0.0] * len(scores)
                    row[scores.index(top)] = 1.0
                else:
                    weights = [math.exp((score - top) / temperature) for score in scores]
                    row = [weight / math.fsum(weights) for weight in weights]
                last = max(i for i, share in enumerate(row) if share > 0)
                previous = min(bisect_right(list(accumulate(row)), rng.random()), last)
                tokens.append(previous)
                rows.append(row)
            return tokens, np.array(rows)
            """,
            "Draws by bisection in the cumulated row, with plain Python numbers.",
        ),
        (
            "gumbel_draws",
            CHOICE,
            "np.argmax(corrected / temperature + rng.gumbel(size=len(row)) if temperature else corrected)",
            "Gumbel noise picks the token; the rows are computed apart from it.",
        ),
        (
            "multinomial_draws",
            CHOICE,
            "rng.multinomial(1, rows[-1]).argmax()",
            "rng.multinomial draws a one-hot vector.",
        ),
        (
            "uniforms_first",
            "",
            """
            import warnings

            warnings.warn("A block is drawn.", stacklevel=2)
            uniforms = rng.random(len(base_logits) + 1)
            tokens, rows, previous = [], np.zeros_like(base_logits), anchor_token
            for k, scores in enumerate(base_logits):
                scores = scores + w1[previous] @ w2
                scores = scores - scores.max()
                rows[k] = np.exp(scores / temperature) if temperature else np.eye(len(scores))[scores.argmax()]
                rows[k] /= rows[k].sum()
                found = np.searchsorted(np.cumsum(rows[k]), uniforms[k], side="right")
                previous = int(min(found, np.flatnonzero(rows[k])[-1]))
                tokens.append(previous)
            return [tokens, rows]
            """,
            "All uniforms are drawn at the start, one more than needed, with a warning; the pair is a list.",
        ),
        (
            "recursive",
            "",
            """
            def rest(k, previous):
                if k == len(base_logits):
                    return [], []
                scores = base_logits[k] + np.einsum("r,rv->v", w1[previous], w2)
                if temperature == 0:
                    row = (np.arange(len(scores)) == scores.argmax()).astype(float)
                else:
                    row = np.exp(scores / temperature - np.logaddexp.reduce(scores / temperature))
                    row = row / row.sum()
                token = int(np.flatnonzero(np.cumsum(row) > rng.random() * (1 - 1e-15))[0])
                tokens, rows = rest(k + 1, token)
                return [token, *tokens], [row, *rows]

            tokens, rows = rest(0, anchor_token)
            return tokens, np.array(rows)
            """,
            "A recursion over the positions, with log-sum-exp for the rows.",
        ),
    ],
    "3.3": [
        (
            "three_products",
            "",
            """
            z, r = np.hstack((state, prev_embedding, hidden)), len(state)
            gate, candidate, output = (z @ w_joint[:, k * r : (k + 1) * r] for k in range(3))
            keep = 1.0 / (1.0 + np.exp(-gate))
            return keep * state + (1.0 - keep) * np.tanh(candidate), w2.T @ np.tanh(output)
            """,
            "Three separate products, each with its own third of the columns.",
        ),
        (
            "rows_split",
            "",
            """
            r = len(state)
            of_state, of_previous, of_hidden = np.split(w_joint, [r, 2 * r])
            sums = (state @ of_state + prev_embedding @ of_previous + hidden @ of_hidden).reshape(3, r)
            keep, candidate, output = 0.5 + np.tanh(sums[0] / 2) / 2, np.tanh(sums[1]), np.tanh(sums[2])
            return candidate + keep * (state - candidate), np.einsum("r,rv->v", output, w2)
            """,
            "The rows of w_joint are split instead of joining the inputs.",
        ),
        (
            "plain_python",
            "",
            """
            z, r = [*state.tolist(), *prev_embedding.tolist(), *hidden.tolist()], len(state)
            sums = [sum(a * b for a, b in zip(z, column)) for column in w_joint.T.tolist()]
            keep = [0.5 + 0.5 * math.tanh(x / 2) for x in sums[:r]]
            new = [k * s + (1 - k) * math.tanh(c) for k, s, c in zip(keep, state.tolist(), sums[r : 2 * r])]
            out = [math.tanh(x) for x in sums[2 * r :]]
            print("one step")
            return [np.array(new), np.array([sum(a * b for a, b in zip(out, column)) for column in w2.T.tolist()])]
            """,
            "Plain Python with math.tanh, a list for the pair, and a print.",
        ),
        (
            "sigmoid_by_logaddexp",
            "",
            """
            gate, candidate, output = np.split(np.r_[state, prev_embedding, hidden] @ w_joint, 3)
            keep, leave = np.exp(-np.logaddexp(0, -gate)), np.exp(-np.logaddexp(0, gate))
            return keep * state + leave * np.tanh(candidate), np.tanh(output) @ w2
            """,
            "σ by np.logaddexp, both shares on their own.",
        ),
        (
            "thirds_by_reshape",
            "np.split(z @ w_joint, 3)",
            "(z @ w_joint).reshape(3, -1)",
            "The product is reshaped into three rows.",
        ),
    ],
    "3.4": [
        (
            "two_branches",
            "",
            """
            ids = [anchor_token]
            if layout == "dspark":
                for _ in range(block_size - 1):
                    ids.append(mask_token)
                return ids, [k for k in range(block_size)]
            for _ in range(block_size):
                ids.append(mask_token)
            return ids, [k + 1 for k in range(block_size)]
            """,
            "Two branches, everything written out.",
        ),
        (
            "longer_one_cut",
            "",
            """
            ids = [anchor_token, *[mask_token] * block_size][: block_size + (layout == "dflash")]
            return ids, list(range(len(ids)))[-block_size:]
            """,
            "The longer layout is made first and cut.",
        ),
        (
            "numpy_made_plain",
            "",
            """
            ids = np.full(block_size + (layout == "dflash"), mask_token)
            ids[0] = anchor_token
            return [ids.tolist(), (np.arange(block_size) + len(ids) - block_size).tolist()]
            """,
            "NumPy makes both, and tolist makes them plain; the pair is a list.",
        ),
        (
            "table_of_layouts",
            "",
            """
            count = {"dflash": lambda gamma: gamma, "dspark": lambda gamma: gamma - 1}[layout](block_size)
            print("masks:", count)
            return [anchor_token] + count * [mask_token], list(range(count + 1 - block_size, count + 1))
            """,
            "A table of layouts, and a print.",
        ),
        (
            "first_as_a_bool",
            '1 if layout == "dflash" else 0',
            'layout == "dflash"',
            "A comparison counts as 0 or 1.",
        ),
    ],
}
