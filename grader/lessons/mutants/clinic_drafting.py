"""Variants of tasks 8.1 to 8.5: features, positions, rows and ids. See clinic for what a body is."""

from __future__ import annotations

from itertools import chain, count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import check_best
from grader.lessons.mutants.clinic import right_body, wrong_body

Row = NDArray[np.float64]
Mask = NDArray[np.bool_]

# --- Task 8.1: visible_features ----------------------------------------------------------------------


def _positions(anchors: Row, block_length: int) -> Row:
    return (anchors[:, None] + np.arange(block_length)).ravel()


@wrong_body("8.1", "nothing_at_or_after_anchor", "The anchor's own features are known when its block is drafted.")
def anchor_included(anchors: Row, block_length: int) -> Mask:
    return _positions(anchors, block_length) <= anchors[:, None]


@wrong_body("8.1", "nothing_at_or_after_anchor", "A block that begins before the anchor lies before it.")
def block_begins_before(anchors: Row, block_length: int) -> Mask:
    return np.repeat(anchors, block_length) < anchors[:, None]


@wrong_body("8.1", "nothing_at_or_after_anchor", "A block that reaches the anchor is to be hidden as a whole.")
def block_ends_before(anchors: Row, block_length: int) -> Mask:
    return np.repeat(anchors + block_length, block_length) <= anchors[:, None]


@wrong_body("8.1", "blocks_in_any_order", "Only blocks given before can bring earlier positions.")
def earlier_blocks_only(anchors: Row, block_length: int) -> Mask:
    number = np.arange(anchors.size)
    earlier = np.repeat(number, block_length) < number[:, None]
    return earlier & (_positions(anchors, block_length) < anchors[:, None])


@wrong_body("8.1", "blocks_in_any_order", "Blocks are best put in order first.")
def anchors_sorted(anchors: Row, block_length: int) -> Mask:
    ordered = np.sort(anchors)
    return _positions(ordered, block_length) < ordered[:, None]


@right_body("8.1", "Plain loops over blocks, blocks and positions.")
def loops_over_positions(anchors: Row, block_length: int) -> Mask:
    seen = [[a + k < own for a in anchors for k in range(block_length)] for own in anchors]
    return np.array(seen, dtype=bool)


@right_body("8.1", "The columns of one block before those of the next, stacked.")
def columns_stacked(anchors: Row, block_length: int) -> Mask:
    return np.hstack([np.greater.outer(anchors, a + np.arange(block_length)) for a in anchors])


# --- Task 8.2: tapped_features -----------------------------------------------------------------------


@wrong_body("8.2", "output_of_the_layer", "Layers are counted from the head down.")
def counted_from_the_head(states: list[Row], layers: list[int]) -> Row:
    return np.concatenate([states[-1 - layer] for layer in layers])


@wrong_body("8.2", "output_of_the_layer", "One row a layer is the same as all of them joined.")
def one_row_a_layer(states: list[Row], layers: list[int]) -> Row:
    return np.array([states[layer + 1] for layer in layers])


@wrong_body("8.2", "layers_in_given_order", "Layers are joined from the lowest to the highest.")
def layers_sorted(states: list[Row], layers: list[int]) -> Row:
    return np.concatenate([states[layer + 1] for layer in sorted(layers)])


@wrong_body("8.2", "layers_in_given_order", "A layer that is named twice is wanted once.")
def layers_once(states: list[Row], layers: list[int]) -> Row:
    return np.concatenate([states[layer + 1] for layer in dict.fromkeys(layers)])


@wrong_body("8.2", "layers_in_given_order", "Several layers are averaged.")
def layers_averaged(states: list[Row], layers: list[int]) -> Row:
    total: Row = np.array([states[layer + 1] for layer in layers]).sum(axis=0)
    return total / len(layers)


@right_body("8.2", "The embedding is cut off, and fancy indexing does the rest.")
def embedding_cut_off(states: list[Row], layers: list[int]) -> Row:
    return np.array(states[1:])[layers].ravel()


@right_body("8.2", "Flat, number by number.")
def number_by_number(states: list[Row], layers: list[int]) -> Row:
    return np.fromiter(chain.from_iterable(states[1 + layer].tolist() for layer in layers), dtype=float)


# --- Task 8.3: block_input_positions -----------------------------------------------------------------


@wrong_body("8.3", "window_keeps_positions", "A cache of n rows has the positions 0 to n − 1.")
def rows_counted(cached: list[int], block_size: int) -> list[int]:
    return [len(cached) + k for k in range(block_size)]


@wrong_body("8.3", "behind_the_newest_row", "The block begins behind the anchor.")
def masks_only(cached: list[int], block_size: int) -> list[int]:
    return [cached[-1] + 2 + k if cached else k for k in range(block_size)]


@wrong_body("8.3", "behind_the_newest_row", "The inputs of one forward share a position.")
def one_position(cached: list[int], block_size: int) -> list[int]:
    return [cached[-1] + 1] * block_size if cached else list(range(block_size))


@wrong_body("8.3", "empty_cache", "Positions start at 1.")
def first_is_one(cached: list[int], block_size: int) -> list[int]:
    anchor = cached[-1] + 1 if cached else 1
    return [anchor + k for k in range(block_size)]


@wrong_body("8.3", "empty_cache", "There is always a row in the cache.")
def never_empty(cached: list[int], block_size: int) -> list[int]:
    return [cached[-1] + 1 + k for k in range(block_size)]


@right_body("8.3", "An endless count, cut off.")
def endless_count(cached: list[int], block_size: int) -> list[int]:
    return list(islice(count(max(cached, default=-1) + 1), block_size))


@right_body("8.3", "NumPy, and a sentinel before the first position.")
def numpy_range(cached: list[int], block_size: int) -> list[int]:
    newest = [-1, *cached][-1]
    return (newest + 1 + np.arange(block_size)).tolist()


# --- Task 8.4: read_predictions ----------------------------------------------------------------------


def _read(logits: NDArray[Any], first: int, last: int) -> list[int]:
    tokens = logits[first:last].argmax(axis=1)
    for k, token in enumerate(tokens, start=first):
        check_best(logits[k, token], block_logits=(k, logits[k]))
    return [int(token) for token in tokens]


@wrong_body("8.4", "masks_only_in_dflash", "Every row is a prediction, always.")
def every_row_always(logits: NDArray[Any], layout: str) -> list[int]:
    return _read(logits, 0, len(logits))


@wrong_body("8.4", "every_row_in_dspark", "In 'dspark' it is the last row that predicts nothing.")
def last_row_dropped(logits: NDArray[Any], layout: str) -> list[int]:
    return _read(logits, layout == "dflash", len(logits) - (layout == "dspark"))


@wrong_body("8.4", "every_row_in_dspark", "It is 'dspark' that repeats the anchor.")
def layouts_swapped(logits: NDArray[Any], layout: str) -> list[int]:
    return _read(logits, int(layout == "dspark"), len(logits))


@wrong_body("8.4", "every_row_in_dspark", "Of equal logits the last one is as good.")
def last_of_ties(logits: NDArray[Any], layout: str) -> list[int]:
    _read(logits, int(layout == "dflash"), len(logits))
    best = logits.shape[1] - 1 - logits[:, ::-1].argmax(axis=1)
    return [int(token) for token in best[layout == "dflash" :]]


@right_body("8.4", "One argmax for all rows, then a slice.")
def argmax_then_slice(logits: NDArray[Any], layout: str) -> list[int]:
    return _read(logits, {"dflash": 1, "dspark": 0}[layout], len(logits))


@right_body("8.4", "Pure Python, the anchor's row popped off.")
def row_popped(logits: NDArray[Any], layout: str) -> list[int]:
    block = list(enumerate(logits.tolist()))
    if layout == "dflash":
        block.pop(0)
    tokens = []
    for k, row in block:
        bad = [value for value in row if value != value or value == float("inf")]
        best = bad[0] if bad else max(row)
        check_best(best, block_logits=(k, row))
        tokens.append(row.index(best))
    return tokens


# --- Task 8.5: draft_in_target_ids -------------------------------------------------------------------


@wrong_body("8.5", "row_in_target_ids", "d2t holds the target's ids.")
def offsets_as_ids(token: int, probs: Row, target_ids: list[int], vocabulary: int) -> dict[str, Any]:
    row = np.zeros(vocabulary)
    for i, target in enumerate(target_ids):
        row[target - i] = probs[i]
    return {"token": target_ids[token], "row": row}


@wrong_body("8.5", "row_in_target_ids", "An id and its offset are added once more, to be safe.")
def offset_twice(token: int, probs: Row, target_ids: list[int], vocabulary: int) -> dict[str, Any]:
    row = np.zeros(vocabulary)
    row[[min(2 * target - i, vocabulary - 1) for i, target in enumerate(target_ids)]] = probs
    return {"token": target_ids[token], "row": row}


@wrong_body("8.5", "row_in_target_ids", "Only the drafted token's probability is ever asked for.")
def drafted_token_only(token: int, probs: Row, target_ids: list[int], vocabulary: int) -> dict[str, Any]:
    row = np.zeros(vocabulary)
    row[target_ids[token]] = probs[token]
    return {"token": target_ids[token], "row": row}


@wrong_body("8.5", "row_in_target_ids", "A draft token keeps its id.")
def token_not_carried(token: int, probs: Row, target_ids: list[int], vocabulary: int) -> dict[str, Any]:
    row = np.zeros(vocabulary)
    row[target_ids] = probs
    return {"token": token, "row": row}


@wrong_body("8.5", "row_in_target_ids", "Tokens that the drafter cannot draft share a little probability.")
def row_smoothed(token: int, probs: Row, target_ids: list[int], vocabulary: int) -> dict[str, Any]:
    row = np.full(vocabulary, 1e-3)
    row[target_ids] = probs
    return {"token": target_ids[token], "row": row / row.sum()}


@right_body("8.5", "A product with a matrix of zeros and ones.")
def by_matrix(token: int, probs: Row, target_ids: list[int], vocabulary: int) -> dict[str, Any]:
    return {"token": target_ids[token], "row": probs @ np.eye(vocabulary)[target_ids]}


@right_body("8.5", "A histogram of the ids, weighted.")
def by_histogram(token: int, probs: Row, target_ids: list[int], vocabulary: int) -> dict[str, Any]:
    return {"row": np.bincount(target_ids, weights=probs, minlength=vocabulary), "token": target_ids[token]}
