"""Lesson 08, the bug clinic: wrong repairs of 8.1 to 8.9 under the property that must catch them, and right ones."""

import inspect

from dspark_mini import clinic_bugs
from grader.lessons.build import buggy_lines
from grader.lessons.checks import TASKS
from grader.lessons.mutants import Patch

Wrong = dict[str, dict[str, list[Patch]]]
Right = dict[str, list[Patch]]

NOISE = """import sys, warnings
    print("a note", np.pi)
    print("an error", file=sys.stderr)
    warnings.warn("a warning")"""


def with_bugs(wrong: Wrong) -> Wrong:
    """Add the bug as handed out to every task, under its first property."""
    for identity, by_property in wrong.items():
        task = TASKS[identity]
        about = inspect.getdoc(getattr(clinic_bugs, task.function)) or ""
        first = by_property.setdefault(task.core[0].name, [])
        first.insert(0, ("the_bug", "", buggy_lines(task), about))
    return wrong


def with_noise(right: Right) -> Right:
    """Add the reference, noisy, to every task."""
    noisy = ("noisy", "### BEGIN SOLUTION", NOISE, "Prints and warns.")
    return {identity: [*patches, noisy] for identity, patches in right.items()}


WRONG = with_bugs(
    {
        "8.1": {
            "nothing_at_or_after_anchor": [
                ("anchor_included", "() < anchors", "() <= anchors", "The anchor's own features are known already."),
                (
                    "block_begins_before",
                    "read_at.ravel()",
                    "np.repeat(anchor_positions, block_length)",
                    "A block that begins before the anchor lies before it.",
                ),
                (
                    "block_ends_before",
                    "read_at.ravel()",
                    "np.repeat(read_at.max(axis=1), block_length)",
                    "A block that reaches the anchor is to be hidden as a whole.",
                ),
            ],
            "blocks_in_any_order": [
                (
                    "earlier_blocks_only",
                    "return ",
                    "block = np.arange(len(anchors))\n    return (block.repeat(block_length) < block[:, None]) & ",
                    "Only blocks given before can bring earlier positions.",
                ),
                (
                    "anchors_sorted",
                    "np.array(anchor_positions)",
                    "np.sort(anchor_positions)",
                    "Blocks are best put in order first.",
                ),
            ],
        },
        "8.2": {
            "output_of_the_layer": [
                ("counted_from_the_head", "layer + 1", "-1 - layer", "Layers are counted from the head down."),
                (
                    "one_row_per_layer",
                    "np.concatenate",
                    "np.array",
                    "A row per layer is the same as all of them joined.",
                ),
            ],
            "layers_in_given_order": [
                ("layers_sorted", "in layer_ids", "in sorted(layer_ids)", "Layers are joined from low to high."),
                ("layers_once", "in layer_ids", "in dict.fromkeys(layer_ids)", "A layer named twice is wanted once."),
                (
                    "layers_averaged",
                    "",
                    "return np.mean([hidden_states[layer + 1] for layer in layer_ids], axis=0)",
                    "Several layers are averaged.",
                ),
            ],
        },
        "8.3": {
            "after_the_newest_row": [
                ("masks_only", "[-1] + 1", "[-1] + 2", "The block begins after the anchor."),
                ("one_position", "anchor + k for", "anchor for", "The inputs of one forward share a position."),
            ],
            "window_keeps_positions": [
                (
                    "rows_counted",
                    "cached_positions[-1] + 1",
                    "len(cached_positions)",
                    "Rows are numbered from 0 to n − 1.",
                ),
            ],
            "empty_cache": [
                ("first_is_one", "else 0", "else 1", "Positions start at 1."),
                ("never_empty", " if cached_positions else 0", "", "There is always a row in the cache."),
            ],
        },
        "8.4": {
            "every_row_in_dspark": [
                (
                    "layouts_swapped",
                    'layout == "dflash"',
                    'layout == "dspark"',
                    "It is 'dspark' that repeats the anchor.",
                ),
                (
                    "last_row_dropped",
                    "[first:]",
                    "[first : len(block_logits) - 1 + first]",
                    "In 'dspark' it is the last row that predicts nothing.",
                ),
                (
                    "last_of_ties",
                    "",
                    """
                    best = block_logits.shape[1] - 1 - block_logits[:, ::-1].argmax(axis=1)
                    return best[layout == "dflash" :].tolist()
                    """,
                    "Of equal logits the last one is as good.",
                ),
            ],
            "masks_only_in_dflash": [
                ("every_row_always", "first = 1 if", "first = 0 if", "Every row is a prediction, always."),
            ],
        },
        "8.5": {
            "row_in_target_ids": [
                ("offsets_as_ids", "row[target_ids]", "row[d2t]", "d2t holds the target's ids."),
                (
                    "offset_twice",
                    "row[target_ids]",
                    "row[np.minimum(target_ids + d2t, vocabulary - 1)]",
                    "The offset is added to an id that it has moved already.",
                ),
                (
                    "drafted_token_only",
                    "row[target_ids] = draft_probs",
                    "row[target_ids[token]] = draft_probs[token]",
                    "Only the draft token's probability is ever asked for.",
                ),
                ("token_not_translated", "int(target_ids[token])", "token", "A draft token keeps its id."),
                (
                    "row_smoothed",
                    "np.zeros(vocabulary)",
                    "np.full(vocabulary, 1e-3)",
                    "Tokens that the drafter cannot draft share a little probability.",
                ),
            ],
        },
        "8.6": {
            "rows_are_certain": [
                (
                    "best_keeps_its_probability",
                    "[tokens]}",
                    "[tokens] * draft_probs}",
                    "The other tokens are dropped, and the best keeps its probability.",
                ),
                (
                    "ones_everywhere",
                    "np.eye(draft_probs.shape[1])[tokens]",
                    "np.ones(draft_probs.shape)",
                    "With q = 1 everywhere the ratio is p, which is what is wanted.",
                ),
                (
                    "low_temperature",
                    "np.eye(draft_probs.shape[1])[tokens]",
                    "draft_probs**8 / (draft_probs**8).sum(axis=1, keepdims=True)",
                    "A low temperature is nearly greedy.",
                ),
            ],
            "ties_go_to_lowest_id": [
                (
                    "all_of_the_best",
                    "return ",
                    """best = draft_probs == draft_probs.max(axis=1, keepdims=True)
    return {"tokens": tokens.tolist(), "rows": best / best.sum(axis=1, keepdims=True)}
    return """,
                    "Every token that equals the maximum is the best.",
                ),
                (
                    "last_of_the_best",
                    "draft_probs.argmax(axis=1)",
                    "draft_probs.shape[1] - 1 - draft_probs[:, ::-1].argmax(axis=1)",
                    "Of equal probabilities the last one is as good.",
                ),
            ],
        },
        "8.7": {
            "row_is_what_was_drawn_from": [
                ("sum_below_one", " / draft_probs[kept].sum()", "", "Zeros for the tokens that fell out are enough."),
                ("kept_alike", "rng.choice(len(row), p=row)", "rng.choice(kept)", "What is kept is equally good."),
                ("best_of_the_kept", "rng.choice(len(row), p=row)", "row.argmax()", "The best kept token is drafted."),
                ("drawn_before_top_k", "p=row", "p=draft_probs", "The draw needs no top-k, only the verifier does."),
            ],
            "all_tokens_kept": [
                (
                    "top_k_at_most_v",
                    "kept = ",
                    "assert top_k <= len(draft_probs)\n    kept = ",
                    "A top_k above V is a mistake.",
                ),
            ],
            "same_seed_same_result": [
                ("generator_of_its_own", "rng.choice", "np.random.default_rng().choice", "Any generator will do."),
            ],
        },
        "8.8": {
            "ratio_of_target_to_draft": [
                (
                    "ratio_inverted",
                    "p[x] / q[x]",
                    "q[x] / p[x]",
                    "The ratio is the drafter's probability over the target's.",
                ),
                ("q_taken_as_one", "p[x] / q[x]", "p[x]", "A draft passes with the target's probability of it."),
                (
                    "target_best_only",
                    "uniform >= p[x] / q[x]",
                    "x != p.argmax()",
                    "A draft passes if it is the target's best token.",
                ),
            ],
            "sure_drafter_pays": [
                (
                    "likely_enough",
                    "p[x] / q[x]:",
                    "p[x] / q[x] and p[x] < p.max():",
                    "A draft that the target thinks likely enough passes anyway.",
                ),
                ("equal_uniform_passes", ">=", ">", "A uniform that equals the ratio passes."),
            ],
            "first_failure_ends": [
                ("all_counted", "break", "continue", "Every draft is judged for itself."),
            ],
        },
        "8.9": {
            "two_independent_decisions": [
                (
                    "replaced_from_the_target",
                    "np.maximum(p - q, 0.0)",
                    "p",
                    "A rejected draft is replaced by a token of the target.",
                ),
                (
                    "replaced_by_any",
                    "np.maximum(p - q, 0.0)",
                    "(p > q).astype(float)",
                    "All tokens that the target likes better are equally good.",
                ),
                (
                    "replaced_by_the_best",
                    "rng.choice(len(residual), p=residual / residual.sum())",
                    "residual.argmax()",
                    "The best token of the residual replaces the draft.",
                ),
                (
                    "no_chance_to_accept",
                    "rng.random() < p[token] / q[token]",
                    "p[token] >= q[token]",
                    "A draft passes if the target likes it at least as well.",
                ),
                (
                    "accepted_with_p",
                    "p[token] / q[token]",
                    "(p[token] if p[token] < q[token] else 1.0)",
                    "A draft passes with the target's probability.",
                ),
            ],
            "same_seed_same_result": [
                ("generator_not_used", "rng.", "np.random.default_rng().", "Any generator will do."),
            ],
        },
    }
)

RIGHT = with_noise(
    {
        "8.1": [
            (
                "loops_over_positions",
                "",
                """
                read_at = [anchor + k for anchor in anchor_positions for k in range(block_length)]
                return np.array([[position < own for position in read_at] for own in anchor_positions], dtype=bool)
                """,
                "Plain loops over blocks, blocks and positions.",
            ),
            (
                "columns_stacked",
                "",
                "return np.hstack([np.greater.outer(anchor_positions, a + np.arange(block_length))"
                " for a in anchor_positions])",
                "The columns of one block before those of the next, stacked.",
            ),
        ],
        "8.2": [
            ("embedding_cut_off", "", "return hidden_states[1:][layer_ids].ravel()", "Fancy indexing does it all."),
            (
                "number_by_number",
                "",
                """
                from itertools import chain
                return np.fromiter(chain.from_iterable(hidden_states[1 + i].tolist() for i in layer_ids), dtype=float)
                """,
                "Flat, number by number.",
            ),
        ],
        "8.3": [
            (
                "endless_count",
                "",
                """
                from itertools import count, islice
                return list(islice(count(max(cached_positions, default=-1) + 1), block_size))
                """,
                "An endless count, cut off.",
            ),
            (
                "numpy_range",
                "",
                "return ([-1, *cached_positions][-1] + 1 + np.arange(block_size)).tolist()",
                "NumPy, and a sentinel before the first position.",
            ),
        ],
        "8.4": [
            (
                "argmax_then_slice",
                "",
                'return [int(token) for token in block_logits.argmax(axis=1)][{"dflash": 1, "dspark": 0}[layout] :]',
                "One argmax for all rows, then a slice.",
            ),
            (
                "row_popped",
                "",
                """
                block = block_logits.tolist()
                if layout == "dflash":
                    block.pop(0)
                return [row.index(max(row)) for row in block]
                """,
                "Pure Python, the anchor's row popped off.",
            ),
        ],
        "8.5": [
            (
                "by_matrix",
                "",
                """
                target_ids = [i + offset for i, offset in enumerate(d2t)]
                return {"token": target_ids[token], "row": draft_probs @ np.eye(vocabulary)[target_ids]}
                """,
                "A product with a matrix of zeros and ones.",
            ),
            (
                "by_histogram",
                "",
                """
                ids = [i + offset for i, offset in enumerate(d2t)]
                return {"row": np.bincount(ids, weights=draft_probs, minlength=vocabulary), "token": ids[token]}
                """,
                "A histogram of the ids, weighted.",
            ),
        ],
        "8.6": [
            (
                "by_comparison",
                "",
                """
                tokens = [int(np.flatnonzero(row == row.max())[0]) for row in draft_probs]
                rows = (np.arange(draft_probs.shape[1]) == np.array(tokens)[:, None]).astype(float)
                return {"rows": rows, "tokens": tokens}
                """,
                "A comparison of token numbers with the chosen one.",
            ),
            (
                "filled_in",
                "",
                """
                rows, tokens = np.zeros_like(draft_probs), []
                for row, q in zip(draft_probs.tolist(), rows):
                    tokens.append(row.index(max(row)))
                    q[tokens[-1]] = 1.0
                return {"tokens": tokens, "rows": rows}
                """,
                "Zeros, filled in one row after the other.",
            ),
        ],
        "8.7": [
            (
                "by_cumulative_sum",
                "int(rng.choice(len(row), p=row))",
                'int(np.searchsorted(np.cumsum(row) / np.cumsum(row)[-1], rng.random(), side="right"))',
                "Inverse of the cumulative sum, one uniform.",
            ),
            (
                "by_gumbel_noise",
                "",
                """
                ranked = sorted(range(len(draft_probs)), key=lambda token: (-draft_probs[token], token))
                row = np.where(np.isin(np.arange(len(draft_probs)), ranked[:top_k]), draft_probs, 0.0)
                noisy = np.log(row, out=np.full(row.size, -np.inf), where=row > 0) + rng.gumbel(size=row.size)
                return {"row": row / row.sum(), "token": int(noisy.argmax())}
                """,
                "Gumbel noise and an argmax; tokens ranked in pure Python.",
            ),
        ],
        "8.8": [
            ("by_products", "uniform >= p[x] / q[x]", "uniform * q[x] >= p[x]", "Products instead of quotients."),
            (
                "by_cumulative_product",
                "",
                """
                steps = np.arange(len(draft_tokens))
                ratios = np.minimum(target_probs[steps, draft_tokens] / draft_probs[steps, draft_tokens], 1.0)
                return int(np.cumprod(uniforms < ratios).sum())
                """,
                "Vectorised, with a cumulative product of the passes.",
            ),
            (
                "taken_while",
                "",
                """
                from itertools import takewhile
                rows = zip(draft_tokens, draft_probs, target_probs, uniforms)
                return len(list(takewhile(lambda row: row[3] < row[2][row[0]] / row[1][row[0]], rows)))
                """,
                "An iterator that is taken while drafts pass.",
            ),
        ],
        "8.9": [
            (
                "replacement_drawn_first",
                "",
                """
                gains = np.clip(p - q, 0.0, None)
                other = int(rng.choice(len(p), p=gains / gains.sum())) if gains.any() else token
                return token if rng.uniform() < min(1.0, p[token] / q[token]) else other
                """,
                "The replacement is drawn first, whether it is needed or not.",
            ),
            (
                "one_draw_from_the_law",
                "",
                """
                ratio = min(1.0, p[token] / q[token])
                law = np.eye(len(p))[token] * ratio
                if ratio < 1.0:
                    gains = np.maximum(p - q, 0.0)
                    law += (1.0 - ratio) * gains / gains.sum()
                return int(rng.choice(len(p), p=law))
                """,
                "The law of the emitted token is written down, and one draw is made from it.",
            ),
            (
                "uniform_stretched",
                "",
                """
                uniform, ratio = rng.random(), p[token] / q[token]
                if uniform < ratio:
                    return token
                gains = np.cumsum(np.maximum(p - q, 0.0))
                return int(np.searchsorted(gains[:-1], gains[-1] * (uniform - ratio) / (1 - ratio), side="right"))
                """,
                "One uniform, stretched again after the rejection, which makes it independent.",
            ),
        ],
    }
)
