"""Lesson 08, the bug clinic: wrong repairs of 8.6 to 8.9 under the property that must catch them, and right ones."""

from grader.lessons.mutants.lesson_08 import with_bugs, with_noise

ONE_HOT, BEST = "np.eye(draft_probs.shape[1])[tokens]", "draft_probs.argmax(axis=1)"
LAST_BEST = "draft_probs.shape[1] - 1 - draft_probs[:, ::-1].argmax(axis=1)"
PER_ROW = ".sum(axis=1, keepdims=True)"
SHARP = f"draft_probs**8 / (draft_probs**8){PER_ROW}"
SHARED = f"(best := draft_probs == draft_probs.max(axis=1, keepdims=True)) / best{PER_ROW}"
DRAW_ROW, DRAW = "rng.choice(len(row), p=row)", "rng.choice(len(residual), p=residual / residual.sum())"
AT_MOST_V = "[: top_k // (top_k <= len(draft_probs))]"
RATIO, RESIDUAL = "p[token] / q[token]", "np.maximum(p - q, 0.0)"

WRONG = {
    "8.6": {
        "rows_are_certain": [
            (
                "best_keeps_its_probability",
                "[tokens]}",
                "[tokens] * draft_probs}",
                "The best token keeps its probability.",
            ),
            ("ones_everywhere", ONE_HOT, "np.ones(draft_probs.shape)", "With q = 1 everywhere the ratio is p."),
            ("low_temperature", ONE_HOT, SHARP, "A low temperature is nearly greedy."),
        ],
        "ties_go_to_lowest_id": [
            ("all_of_the_best", ONE_HOT, SHARED, "Every token that equals the maximum is the best."),
            ("last_of_the_best", BEST, LAST_BEST, "Of equal probabilities the last one is as good."),
        ],
    },
    "8.7": {
        "row_is_what_was_drawn_from": [
            ("sum_below_one", '"row": row', '"row": row * draft_probs[kept].sum()', "Zeros for the others are enough."),
            ("kept_alike", DRAW_ROW, "rng.choice(kept)", "What is kept is equally good."),
            ("best_of_the_kept", DRAW_ROW, "row.argmax()", "The best of the kept tokens is drafted."),
            ("drawn_before_top_k", "p=row", "p=draft_probs", "Top-k is for the verifier, not for the draw."),
        ],
        "all_tokens_kept": [
            ("top_k_at_most_v", "[:top_k]", AT_MOST_V, "A top_k above V is a mistake."),
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
            ("likely_enough", "q[x]:", "q[x] and p[x] < p.max():", "A draft that the target likes best passes anyway."),
            ("equal_uniform_passes", ">=", ">", "A uniform that equals the ratio passes."),
        ],
        "first_failure_ends": [
            ("all_counted", "break", "continue", "Every draft is judged for itself."),
        ],
    },
    "8.9": {
        "two_independent_decisions": [
            ("replaced_from_the_target", RESIDUAL, "p", "A rejected draft is replaced by a token of the target."),
            ("replaced_by_any", RESIDUAL, "(p > q) * 1.0", "All tokens that the target likes better are equally good."),
            ("replaced_by_the_best", DRAW, "residual.argmax()", "The best token of the residual replaces the draft."),
            ("no_chance_to_accept", "rng.random() < p", "1.0 <= p", "A draft passes if the target likes it as well."),
            ("accepted_with_p", RATIO, "p[token] ** (p[token] < q[token])", "A draft passes with the target's chance."),
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

COMPARED = "(np.arange(draft_probs.shape[1]) == tokens[:, None]).astype(float)"
FILLED_IN = """
rows, tokens = np.zeros_like(draft_probs), []
for row, q in zip(draft_probs.tolist(), rows):
    tokens.append(row.index(max(row)))
    q[tokens[-1]] = 1.0
return {"rows": rows, "tokens": tokens}
"""
INVERSE = 'np.searchsorted(np.cumsum(row) / np.cumsum(row)[-1], rng.random(), side="right")'
GUMBEL = "(np.log(row) + rng.gumbel(size=row.size)).argmax()"
PRODUCT = """
steps = np.arange(len(draft_tokens))
ratios = np.minimum(target_probs[steps, draft_tokens] / draft_probs[steps, draft_tokens], 1.0)
return int(np.cumprod(uniforms < ratios).sum())
"""
WHILE = """
from itertools import takewhile
rounds = zip(draft_tokens, draft_probs, target_probs, uniforms)
return len(list(takewhile(lambda r: r[3] < r[2][r[0]] / r[1][r[0]], rounds)))
"""
DRAWN_FIRST = """
gains = np.clip(p - q, 0.0, None)
other = int(rng.choice(len(p), p=gains / gains.sum())) if gains.any() else token
return token if rng.uniform() < min(1.0, p[token] / q[token]) else other
"""
ONE_DRAW = """
gains, ratio = np.maximum(p - q, 0.0), min(1.0, p[token] / q[token])
law = np.eye(len(p))[token] * ratio + (1.0 - ratio) * gains / max(gains.sum(), 1e-9)
return int(rng.choice(len(p), p=law))
"""
STRETCHED = """
uniform, ratio = rng.random(), p[token] / q[token]
if uniform < ratio:
    return token
gains = np.cumsum(np.maximum(p - q, 0.0))
return int(np.searchsorted(gains[:-1], gains[-1] * (uniform - ratio) / (1 - ratio), side="right"))
"""

RIGHT = with_noise(
    {
        "8.6": [
            ("by_comparison", ONE_HOT, COMPARED, "A comparison of token numbers with the chosen one."),
            ("filled_in", "", FILLED_IN, "Zeros, filled in one row after the other."),
        ],
        "8.7": [
            ("by_cumulative_sum", DRAW_ROW, INVERSE, "Inverse of the cumulative sum, one uniform."),
            ("by_gumbel_noise", DRAW_ROW, GUMBEL, "Gumbel noise and an argmax."),
        ],
        "8.8": [
            ("by_products", "uniform >= p[x] / q[x]", "uniform * q[x] >= p[x]", "Products instead of quotients."),
            ("by_cumulative_product", "", PRODUCT, "Vectorised, with a cumulative product of the passes."),
            ("taken_while", "", WHILE, "An iterator that is taken while drafts pass."),
        ],
        "8.9": [
            ("replacement_drawn_first", "", DRAWN_FIRST, "The replacement is drawn first, needed or not."),
            ("one_draw_from_the_law", "", ONE_DRAW, "One draw from the law of the emitted token."),
            ("uniform_stretched", "", STRETCHED, "One uniform, stretched after the rejection."),
        ],
    }
)
