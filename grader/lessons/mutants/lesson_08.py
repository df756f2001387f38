"""Lesson 08, the bug clinic: wrong repairs of 8.1 to 8.9 under the property that must catch them, and right ones."""

import inspect

from dspark_mini import clinic_bugs
from grader.lessons.build import buggy_lines
from grader.lessons.checks import TASKS
from grader.lessons.mutants import Patch

Wrong = dict[str, dict[str, list[Patch]]]
Right = dict[str, list[Patch]]

NOISE = 'import sys, warnings\n    print("a note", file=sys.stderr)\n    print(np.pi)\n    warnings.warn("a warning")'


def with_bugs(wrong: Wrong) -> Wrong:
    """Add the bug as handed out to every task, under its first property."""
    for identity, by_property in wrong.items():
        task = TASKS[identity]
        about = inspect.getdoc(getattr(clinic_bugs, task.function)) or ""
        by_property.setdefault(task.core[0].name, []).append(("the_bug", "", buggy_lines(task), about))
    return wrong


def with_noise(right: Right) -> Right:
    """Add the reference, noisy, to every task."""
    noisy = ("noisy", "### BEGIN SOLUTION", NOISE, "Prints and warns.")
    return {identity: [*patches, noisy] for identity, patches in right.items()}


ONE_HOT, BEST = "np.eye(draft_probs.shape[1])[tokens]", "draft_probs.argmax(axis=1)"
RATIO, RESIDUAL = "p[token] / q[token]", "np.maximum(p - q, 0.0)"
REPEATED = "np.repeat({}, block_length)"

WRONG: Wrong = {
    "8.1": {
        "nothing_at_or_after_anchor": [
            ("anchor_included", "() <", "() <=", "The anchor's own features are known when its block is drafted."),
            (
                "block_begins_before",
                "read_at.ravel()",
                REPEATED.format("anchor_positions"),
                "A block that begins before the anchor lies before it.",
            ),
            (
                "block_ends_before",
                "read_at.ravel()",
                REPEATED.format("read_at.max(axis=1)"),
                "A block that reaches the anchor is to be hidden as a whole.",
            ),
        ],
        "blocks_in_any_order": [
            (
                "earlier_blocks_only",
                "return ",
                "return (np.arange(read_at.size) // block_length < np.arange(len(anchors))[:, None]) & ",
                "Only blocks given before can bring earlier positions.",
            ),
            ("anchors_sorted", "np.array(", "np.sort(", "Blocks are best put in order first."),
        ],
    },
    "8.2": {
        "output_of_the_layer": [
            ("counted_from_the_head", "layer + 1", "-1 - layer", "Layers are counted from the head down."),
            ("one_row_per_layer", "np.concatenate", "np.array", "A row per layer is the same as all of them joined."),
        ],
        "layers_in_given_order": [
            ("layers_sorted", "in layer_ids", "in sorted(layer_ids)", "Layers are joined from low to high."),
            ("layers_once", "in layer_ids", "in dict.fromkeys(layer_ids)", "A layer named twice is wanted once."),
            ("layers_averaged", "layer_ids])", "layer_ids]).reshape(len(layer_ids), -1).mean(0)", "The mean is taken."),
        ],
    },
    "8.3": {
        "after_the_newest_row": [
            ("masks_only", "[-1] + 1", "[-1] + 2", "The block begins after the anchor."),
            ("one_position", "anchor + k for", "anchor for", "The inputs of one forward share a position."),
        ],
        "window_keeps_positions": [
            ("rows_counted", "cached_positions[-1] + 1", "len(cached_positions)", "n rows have positions 0 to n − 1."),
        ],
        "empty_cache": [
            ("first_is_one", "else 0", "else 1", "Positions start at 1."),
            ("never_empty", "return [", "return cached_positions and [", "There is always a row in the cache."),
        ],
    },
    "8.4": {
        "every_row_in_dspark": [
            ("layouts_swapped", '"dflash" else', '"dspark" else', "It is 'dspark' that repeats the anchor."),
            (
                "last_row_dropped",
                "[first:]",
                "[first : len(block_logits) - 1 + first]",
                "In 'dspark' the last is idle.",
            ),
            (
                "last_of_ties",
                "block_logits[first:].argmax(axis=1)",
                "(block_logits.shape[1] - 1 - block_logits[first:, ::-1].argmax(axis=1))",
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
                "An offset is added once more to the id that it gave.",
            ),
            (
                "drafted_token_only",
                "row[target_ids] = draft_probs",
                "row[target_ids[token]] = draft_probs[token]",
                "Only the draft token's probability is ever asked for.",
            ),
            ("token_not_translated", "int(target_ids[token])", "token", "A draft token keeps its id."),
            ("row_smoothed", "np.zeros(vocabulary)", "np.full(vocabulary, 1e-3)", "No token is quite impossible."),
        ],
    },
    "8.6": {
        "rows_are_certain": [
            (
                "best_keeps_its_probability",
                "[tokens]}",
                "[tokens] * draft_probs}",
                "The others are dropped, that is all.",
            ),
            ("ones_everywhere", ONE_HOT, "np.ones(draft_probs.shape)", "With q = 1 everywhere the ratio is p."),
            (
                "low_temperature",
                ONE_HOT,
                "draft_probs**8 / (draft_probs**8).sum(axis=1, keepdims=True)",
                "A low temperature is nearly greedy.",
            ),
        ],
        "ties_go_to_lowest_id": [
            (
                "all_of_the_best",
                ONE_HOT,
                "(best := draft_probs == draft_probs.max(1, keepdims=True)) / best.sum(1, keepdims=True)",
                "Every token that equals the maximum is the best.",
            ),
            (
                "last_of_the_best",
                BEST,
                "draft_probs.shape[1] - 1 - draft_probs[:, ::-1].argmax(axis=1)",
                "Of equal probabilities the last one is as good.",
            ),
        ],
    },
    "8.7": {
        "row_is_what_was_drawn_from": [
            ("sum_below_one", '"row": row', '"row": row * draft_probs[kept].sum()', "Zeros for the others are enough."),
            ("kept_alike", "rng.choice(len(row), p=row)", "rng.choice(kept)", "What is kept is equally good."),
            ("best_of_the_kept", "rng.choice(len(row), p=row)", "row.argmax()", "The best kept token is drafted."),
            ("drawn_before_top_k", "p=row", "p=draft_probs", "Top-k is for the verifier, not for the draw."),
        ],
        "all_tokens_kept": [
            (
                "top_k_at_most_v",
                "kept = ",
                "1 / (top_k <= len(draft_probs))\n    kept = ",
                "A top_k above V is a mistake.",
            ),
        ],
        "same_seed_same_result": [
            ("generator_of_its_own", "rng.choice", "np.random.default_rng().choice", "Any generator will do."),
        ],
    },
    "8.8": {
        "ratio_of_target_to_draft": [
            ("ratio_inverted", "p[x] / q[x]", "q[x] / p[x]", "The drafter's probability is divided by the target's."),
            ("q_taken_as_one", "p[x] / q[x]", "p[x]", "A draft passes with the target's probability of it."),
            ("target_best_only", "uniform >= p[x] / q[x]", "x != p.argmax()", "Only the target's best token passes."),
        ],
        "sure_drafter_pays": [
            (
                "likely_enough",
                "p[x] / q[x]:",
                "p[x] / q[x] and p[x] < p.max():",
                "What is likely enough passes anyway.",
            ),
            ("equal_uniform_passes", ">=", ">", "A uniform that equals the ratio passes."),
        ],
        "first_failure_ends": [
            ("all_counted", "break", "continue", "Every draft is judged for itself."),
        ],
    },
    "8.9": {
        "two_independent_decisions": [
            ("replaced_from_the_target", RESIDUAL, "p", "A rejected draft is replaced by a token of the target."),
            ("replaced_by_any", RESIDUAL, "(p > q) * 1.0", "All tokens that the target likes better are as good."),
            (
                "replaced_by_the_best",
                "rng.choice(len(residual), p=",
                "np.argmax(",
                "The residual's best token follows.",
            ),
            (
                "no_chance_to_accept",
                "rng.random() < p",
                "1.0 <= p",
                "A draft passes only if the target likes it as well.",
            ),
            (
                "accepted_with_p",
                RATIO,
                "(p[token] if p[token] < q[token] else 1.0)",
                "A draft passes with the target's probability.",
            ),
        ],
        "nothing_left_to_chance": [
            ("zero_passes_at_zero", "rng.random() <", "rng.random() <=", "Whether < or <= is written does not matter."),
        ],
        "same_seed_same_result": [
            ("generator_not_used", "rng.", "np.random.default_rng().", "Any generator will do."),
        ],
    },
}
with_bugs(WRONG)

RIGHT = with_noise(
    {
        "8.1": [
            (
                "loops_over_positions",
                "read_at.ravel() < anchors",
                "np.array([[a + k < own for a in anchor_positions for k in range(block_length)] for own, in anchors])",
                "Plain loops over blocks, blocks and positions.",
            ),
            (
                "columns_stacked",
                "read_at.ravel() < anchors",
                "np.hstack([np.greater.outer(anchor_positions, read) for read in read_at])",
                "The columns of one block before those of the next, stacked.",
            ),
        ],
        "8.2": [
            ("embedding_cut_off", "", "return hidden_states[1:][layer_ids].ravel()", "Fancy indexing does it all."),
            ("row_by_row", "", "return np.array([x for i in layer_ids for x in hidden_states[i + 1]])", "Flat lists."),
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
                "row[target_ids] = draft_probs",
                "row = draft_probs @ np.eye(vocabulary)[target_ids]",
                "A product with a matrix of zeros and ones.",
            ),
            (
                "by_histogram",
                "row[target_ids] = draft_probs",
                "row = np.bincount(target_ids, weights=draft_probs, minlength=vocabulary)",
                "A histogram of the ids, weighted.",
            ),
        ],
        "8.6": [
            (
                "by_comparison",
                ONE_HOT,
                "(np.arange(draft_probs.shape[1]) == tokens[:, None]).astype(float)",
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
                return {"rows": rows, "tokens": tokens}
                """,
                "Zeros, filled in one row after the other.",
            ),
        ],
        "8.7": [
            (
                "by_cumulative_sum",
                "rng.choice(len(row), p=row)",
                'np.searchsorted(np.cumsum(row) / np.cumsum(row)[-1], rng.random(), side="right")',
                "Inverse of the cumulative sum, one uniform.",
            ),
            (
                "by_gumbel_noise",
                "rng.choice(len(row), p=row)",
                "(np.log(row) + rng.gumbel(size=row.size)).argmax()",
                "Gumbel noise and an argmax.",
            ),
            (
                "ranked_in_python",
                'np.argsort(-draft_probs, kind="stable")',
                "sorted(range(len(draft_probs)), key=lambda token: (-draft_probs[token], token))",
                "Tokens ranked in pure Python.",
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
                rounds = zip(draft_tokens, draft_probs, target_probs, uniforms)
                return len(list(takewhile(lambda r: r[3] < r[2][r[0]] / r[1][r[0]], rounds)))
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
                gains, ratio = np.maximum(p - q, 0.0), min(1.0, p[token] / q[token])
                law = np.eye(len(p))[token] * ratio + (1.0 - ratio) * gains / max(gains.sum(), 1e-9)
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
