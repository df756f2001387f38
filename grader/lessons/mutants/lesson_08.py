"""Lesson 08, the bug clinic: wrong repairs of 8.1 to 8.5 under the property that must catch them, and right ones."""

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


FLAT = "read_at.ravel()"
FIRST, LAST = "np.repeat(read_at[:, 0], block_length)", "np.repeat(read_at[:, -1], block_length)"
EARLIER = "(np.arange(read_at.size) // block_length < np.arange(len(anchors))[:, None])"
AVERAGED = "layer_ids]).reshape(len(layer_ids), -1).mean(axis=0)"
ARGMAX = "block_logits[first:].argmax(axis=1)"
LAST_ARGMAX = "(block_logits.shape[1] - 1 - block_logits[first:, ::-1].argmax(axis=1))"
MOVED_TWICE = "row[(target_ids + d2t) % vocabulary]"
SPREAD, SPREAD_ONE = "row[target_ids] = draft_probs", "row[target_ids[token]] = draft_probs[token]"

WRONG = {
    "8.1": {
        "nothing_at_or_after_anchor": [
            ("anchor_included", "() <", "() <=", "The anchor's own features are known when its block is drafted."),
            ("block_begins_before", FLAT, FIRST, "A block that begins before the anchor lies before it."),
            ("block_ends_before", FLAT, LAST, "A block that reaches the anchor is hidden as a whole."),
        ],
        "blocks_in_any_order": [
            ("earlier_blocks_only", "return ", f"return {EARLIER} & ", "Only blocks given before can lie before."),
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
            ("layers_averaged", "layer_ids])", AVERAGED, "Several layers are averaged."),
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
            ("last_row_dropped", "[first:]", "[first : first - 1 or None]", "In 'dspark' the last row is idle."),
            ("last_of_ties", ARGMAX, LAST_ARGMAX, "Of equal logits the last one is as good."),
        ],
        "masks_only_in_dflash": [
            ("every_row_always", "first = 1 if", "first = 0 if", "Every row is a prediction, always."),
        ],
    },
    "8.5": {
        "row_in_target_ids": [
            ("offsets_as_ids", "row[target_ids]", "row[d2t]", "d2t holds the target's ids."),
            ("offset_twice", "row[target_ids]", MOVED_TWICE, "The offset is added once more to the target's id."),
            ("drafted_token_only", SPREAD, SPREAD_ONE, "Only the draft token's probability is ever asked for."),
            ("token_not_translated", "int(target_ids[token])", "token", "A draft token keeps its id."),
            ("row_smoothed", "np.zeros(vocabulary)", "np.full(vocabulary, 1e-3)", "No token is quite impossible."),
        ],
    },
}
with_bugs(WRONG)

STACKED = "np.hstack([row < anchors for row in read_at])"
LOOPS = "[[a + k < own for a in anchor_positions for k in range(block_length)] for own in anchor_positions]"
BY_NUMBER = "return np.array([x for i in layer_ids for x in hidden_states[i + 1]])"
POPPED = """
block = block_logits.tolist()
if layout == "dflash":
    block.pop(0)
return [row.index(max(row)) for row in block]
"""
SLICED = 'return [int(x) for x in block_logits.argmax(axis=1)][{"dflash": 1, "dspark": 0}[layout] :]'
LISTED, RANGE = "[anchor + k for k in range(block_size)]", "(anchor + np.arange(block_size)).tolist()"
COUNTED = """
from itertools import count, islice
return list(islice(count(max(cached_positions, default=-1) + 1), block_size))
"""
PRODUCT = "row = draft_probs @ np.eye(vocabulary)[target_ids]"
HISTOGRAM = "row = np.bincount(target_ids, weights=draft_probs, minlength=vocabulary)"

RIGHT = with_noise(
    {
        "8.1": [
            ("loops_over_positions", "", f"return np.array({LOOPS})", "Plain loops over blocks, blocks and positions."),
            (
                "columns_stacked",
                f"{FLAT} < anchors",
                STACKED,
                "The columns of one block before those of the next, stacked.",
            ),
        ],
        "8.2": [
            ("embedding_cut_off", "", "return hidden_states[1:][layer_ids].ravel()", "Fancy indexing does it all."),
            ("row_by_row", "", BY_NUMBER, "Flat, number by number."),
        ],
        "8.3": [
            ("endless_count", "", COUNTED, "An endless count, cut off."),
            ("numpy_range", LISTED, RANGE, "NumPy."),
        ],
        "8.4": [
            ("argmax_then_slice", "", SLICED, "One argmax for all rows, then a slice."),
            ("row_popped", "", POPPED, "Pure Python, the anchor's row popped off."),
        ],
        "8.5": [
            ("by_matrix", SPREAD, PRODUCT, "A product with a matrix of zeros and ones."),
            ("by_histogram", SPREAD, HISTOGRAM, "A histogram of the ids, weighted."),
        ],
    }
)
