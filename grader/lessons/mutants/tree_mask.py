"""Variants of task 6.2: what learners write for tree_mask, wrong and right."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import tree_parents, whole_number
from grader.lessons.mutants import right, wrong

Mask = NDArray[np.bool_]
TASK = "6.2"


def _read(parents: Any, context_length: Any) -> tuple[list[int], int]:
    """Check the arguments as the top of the stub does."""
    return tree_parents("parents", parents), whole_number("context_length", context_length, low=0)


def _own(above: list[int]) -> Mask:
    """Return the right half of the right mask."""
    own = np.eye(len(above), dtype=bool)
    for node, parent in enumerate(above):
        if parent >= 0:
            own[node] |= own[parent]
    return own


def _whole(own: Mask, context: int) -> Mask:
    """Put the context on the left."""
    return np.hstack([np.ones((len(own), context), dtype=bool), own])


# --- Wrong: ancestors --------------------------------------------------------------------------------


@wrong(TASK, "ancestors_and_itself", "A node sees its parent, and that is enough.")
def parent_only(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    own = np.eye(len(above), dtype=bool)
    for node, parent in enumerate(above):
        if parent >= 0:
            own[node, parent] = True
    return _whole(own, context)


@wrong(TASK, "ancestors_and_itself", "A token need not look at itself.")
def diagonal_left_out(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    own = _own(above)
    np.fill_diagonal(own, False)
    return _whole(own, context)


@wrong(TASK, "ancestors_and_itself", "True marks what is masked.")
def true_means_masked(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    return ~_whole(_own(above), context)


@wrong(TASK, "ancestors_and_itself", "Rows are those that are looked at, columns those who look.")
def transposed(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    return _whole(_own(above).T, context)


@wrong(TASK, "ancestors_and_itself", "Parent and grandparent are all the ancestors there are.")
def two_generations(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    own = np.eye(len(above), dtype=bool)
    for node, parent in enumerate(above):
        if parent >= 0:
            own[node, parent] = True
            if above[parent] >= 0:
                own[node, above[parent]] = True
    return _whole(own, context)


@wrong(TASK, "ancestors_and_itself", "−1 is the last node, as it is in NumPy.")
def root_is_the_last_node(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    own = np.eye(len(above), dtype=bool)
    for node, parent in enumerate(above):
        own[node] |= own[parent]
    return _whole(own, context)


@wrong(TASK, "ancestors_and_itself", "Attention runs both ways along a path.")
def both_ways(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    own = _own(above)
    return _whole(own | own.T, context)


# --- Wrong: other branches ---------------------------------------------------------------------------


@wrong(TASK, "other_branches_hidden", "Verification is causal: a node sees every earlier node.")
def causal(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    return _whole(np.tri(len(above), dtype=bool), context)


@wrong(TASK, "other_branches_hidden", "Siblings stand at the same position and see each other.")
def siblings_see_each_other(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    own = _own(above)
    return _whole(own | (np.array(above, dtype=int)[:, None] == np.array(above, dtype=int)), context)


@wrong(TASK, "other_branches_hidden", "A node sees everything that is less deep, whatever the branch.")
def everything_above(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    own = _own(above)
    depth = own.sum(axis=1)
    return _whole(own | (depth[:, None] > depth), context)


@wrong(TASK, "other_branches_hidden", "A node sees the children of all its ancestors.")
def uncles_too(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    own = _own(above)
    uncles = own.copy()
    for node, parent in enumerate(above):
        if parent >= 0:
            uncles[node] |= np.array([p == parent and i < node for i, p in enumerate(above)])
    return _whole(uncles, context)


# --- Wrong: the context and the edges ----------------------------------------------------------------


@wrong(TASK, "whole_context_first", "The nodes come first, because the mask is about them.")
def context_behind(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    return np.hstack([_own(above), np.ones((len(above), context), dtype=bool)])


@wrong(TASK, "whole_context_first", "The context is in the cache, and the mask need not speak of it.")
def context_left_out(parents: Any, context_length: int) -> Mask:
    above, _ = _read(parents, context_length)
    return _own(above)


@wrong(TASK, "whole_context_first", "Only children of the root see the context; deeper nodes see it through them.")
def context_for_the_first_level(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    own = _own(above)
    return np.hstack([np.repeat(np.array(above, dtype=int)[:, None] < 0, context, axis=1), own])


@wrong(
    TASK, "whole_context_first", "The last position of the context is the root, which is a node's parent, not context."
)
def root_hidden(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    mask = _whole(_own(above), context)
    mask[:, max(context - 1, 0) : context] = False
    return mask


@wrong(TASK, "whole_context_first", "An attention mask is square, so the context has rows too.")
def context_rows_too(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    return np.vstack([np.tri(context, context + len(above), dtype=bool), _whole(_own(above), context)])


@wrong(TASK, "empty_tree_and_no_context", "A mask without rows is an empty array.")
def empty_loses_columns(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    return _whole(_own(above), context) if above else np.array([], dtype=bool)


@wrong(TASK, "empty_tree_and_no_context", "A tree has at least one node.")
def empty_is_refused(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    if not above:
        raise ValueError("parents is empty.")
    return _whole(_own(above), context)


@wrong(TASK, "empty_tree_and_no_context", "There is a context always.")
def context_is_at_least_one(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    return _whole(_own(above), max(context, 1))


# --- Wrong: manners ----------------------------------------------------------------------------------


@wrong(TASK, "plain_types", "Zeros and ones are as good as booleans.")
def zeros_and_ones(parents: Any, context_length: int) -> Any:
    above, context = _read(parents, context_length)
    return _whole(_own(above), context).astype(int)


@wrong(TASK, "plain_types", "A list of lists is as good as an array.")
def list_of_lists(parents: Any, context_length: int) -> Any:
    above, context = _read(parents, context_length)
    return _whole(_own(above), context).tolist()


@wrong(TASK, "input_unchanged", "The root is best written as the node's own index.")
def root_written_over(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    for node, parent in enumerate(above):
        if parent < 0:
            parents[node] = node
    return _whole(_own(above), context)


_masks: dict[int, Mask] = {}


@wrong(TASK, "no_memory", "Trees of the same size have the same mask.")
def cached_by_size(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    return _whole(_masks.setdefault(len(above), _own(above)), context)


_written: dict[tuple[int, int], Mask] = {}


@wrong(TASK, "no_memory", "The mask of a round is written over that of the round before.")
def written_over_the_last(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    mask = _whole(_own(above), context)
    kept = _written.setdefault((len(above), context), mask)
    kept[:] = mask
    return kept


@wrong(TASK, "bad_input_raises", "A parent that comes later is found by following the parents upwards.")
def later_parents_allowed(parents: Any, context_length: int) -> Mask:
    above = [int(parent) for parent in parents]
    own = np.eye(len(above), dtype=bool)
    for node in range(len(above)):
        at = node
        for _ in above:
            at = above[at] if 0 <= at < len(above) else -1
            if 0 <= at < len(above):
                own[node, at] = True
    return _whole(own, whole_number("context_length", context_length, low=0))


@wrong(TASK, "error_names_offender", "People count nodes from one.")
def counted_from_one(parents: Any, context_length: int) -> Mask:
    for number, parent in enumerate(parents, start=1):
        if not -1 <= parent < number - 1:
            raise ValueError(f"parents[{number}] is no earlier node.")
    return _whole(_own([int(p) for p in parents]), whole_number("context_length", context_length, low=0))


# --- Right, in many styles ---------------------------------------------------------------------------


@right(TASK, "Every node climbs to the root and marks what it passes.")
def climbing(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    mask = np.full((len(above), context + len(above)), False)
    mask[:, :context] = True
    for node in range(len(above)):
        at = node
        while at != -1:
            mask[node, context + at] = True
            at = above[at]
    return mask


@right(TASK, "Reachability is a power of the matrix of parents, and stderr hears of it.")
def matrix_power(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    print("raising a matrix to a power", file=sys.stderr)
    step = np.eye(len(above), dtype=int)
    for node, parent in enumerate(above):
        if parent >= 0:
            step[node, parent] = 1
    reach = (np.linalg.matrix_power(step.astype(float), max(len(above), 1)) > 0) if above else step.astype(bool)
    return np.concatenate((np.ones((len(above), context), bool), reach), axis=1)


@right(TASK, "Paths are sets, and a cell asks whether its column is in the row's set.")
def sets_of_ancestors(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    paths: list[frozenset[int]] = []
    for node, parent in enumerate(above):
        paths.append((paths[parent] if parent >= 0 else frozenset()) | {node})
    rows = [[True] * context + [column in path for column in range(len(above))] for path in paths]
    return np.array(rows, dtype=bool).reshape(len(above), context + len(above))


@right(TASK, "Rows are integers whose bits are the columns.")
def rows_of_bits(parents: Any, context_length: int) -> Mask:
    above, context = _read(parents, context_length)
    rows: list[int] = []
    for node, parent in enumerate(above):
        rows.append((rows[parent] if parent >= 0 else (1 << context) - 1) | 1 << (context + node))
    width = context + len(above)
    return np.array([[bool(row >> c & 1) for c in range(width)] for row in rows], dtype=np.bool_).reshape(
        len(rows), width
    )
