"""Variants of task 6.1: what learners write for build_conditional_tree, wrong and right."""

from __future__ import annotations

import heapq
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from dspark_mini.inputs import bias_mapping, bias_row, check_best, logit_rows, token_id, whole_number
from grader.lessons.mutants import right, wrong

Tree = dict[str, list[Any]]
Scores = Callable[[int, int], Any]
TASK = "6.1"


def _read(block_logits: Any, anchor_token: Any, markov_bias: Any, width: Any, max_nodes: Any) -> tuple[Any, ...]:
    """Check the arguments as the top of the stub does; return γ, the anchor, width, max_nodes and `corrected`."""
    logits = logit_rows("block_logits", block_logits)
    anchor, biases = token_id("anchor_token", anchor_token), bias_mapping("markov_bias", markov_bias)

    def corrected(depth: int, token: int) -> Any:
        bias = bias_row("markov_bias", token, biases.get(token), logits.shape[1])
        scores = logits[depth] + (np.zeros(1) if bias is None else bias)
        check_best(scores.max(), block_logits=(depth, logits[depth]), markov_bias=(token, bias))
        return scores

    nodes = whole_number("max_nodes", max_nodes, low=0)
    return len(logits), anchor, whole_number("width", width, low=1), nodes, corrected


def _log_softmax(scores: Any) -> Any:
    return scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())


def _best_ids(scores: Any, width: int) -> list[int]:
    """Return the ids of the best scores, ties to the lower one, impossible ones left out."""
    return [int(i) for i in np.argsort(-scores, kind="stable")[:width] if scores[i] > -np.inf]


def _grow(
    arguments: tuple[Any, ...],
    step: Callable[[Any], Any] = _log_softmax,
    pick: Callable[[Any, int], list[int]] = _best_ids,
    key: Callable[..., tuple[Any, ...]] = lambda cost, token, parent, depth: (cost, token, parent, depth),
    start: float = 0.0,
    add: Callable[[float, float], float] = lambda total, own: total + own,
) -> Tree:
    """Grow a tree as it should be, apart from what the arguments change."""
    gamma, anchor, width, max_nodes, corrected = _read(*arguments)
    tree: Tree = {"tokens": [], "parents": [], "depths": [], "log_probs": []}
    heap: list[Any] = []
    node, token, depth, total = -1, anchor, 0, start
    while len(tree["tokens"]) < max_nodes:
        if depth < gamma:
            scores = corrected(depth, token)
            own = step(scores)
            for child in pick(scores, width):
                value = add(total, float(own[child]))
                heapq.heappush(heap, (key(-value, child, node, depth + 1), child, node, depth + 1, value))
        if not heap:
            break
        _, token, parent, depth, total = heapq.heappop(heap)
        node = len(tree["tokens"])
        for column, entry in zip(tree.values(), (token, parent, depth, total)):
            column.append(entry)
    return tree


# --- Wrong: the order of growth ----------------------------------------------------------------------


@wrong(TASK, "best_candidate_enters_next", "A tree grows level by level.")
def level_by_level(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    return _grow(arguments, key=lambda cost, token, parent, depth: (depth, parent, cost, token))


@wrong(TASK, "best_candidate_enters_next", "The likeliest path is followed to its end, then the next one.")
def depth_first(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    return _grow(arguments, key=lambda cost, token, parent, depth: (-depth, cost, token, parent))


@wrong(TASK, "best_candidate_enters_next", "Candidates are compared by their own probability, not by their path's.")
def own_probability_decides(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    gamma, anchor, width, max_nodes, corrected = _read(block_logits, anchor_token, markov_bias, width, max_nodes)
    tree: Tree = {"tokens": [], "parents": [], "depths": [], "log_probs": []}
    heap: list[Any] = []
    node, token, depth, total = -1, anchor, 0, 0.0
    while len(tree["tokens"]) < max_nodes:
        if depth < gamma:
            scores = corrected(depth, token)
            own = _log_softmax(scores)
            for child in _best_ids(scores, width):
                heapq.heappush(heap, (-float(own[child]), child, node, depth + 1, total + float(own[child])))
        if not heap:
            break
        _, token, parent, depth, total = heapq.heappop(heap)
        node = len(tree["tokens"])
        for column, entry in zip(tree.values(), (token, parent, depth, total)):
            column.append(entry)
    return tree


@wrong(TASK, "best_candidate_enters_next", "Paths of different length are fair only by their average per token.")
def average_per_token(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    return _grow(arguments, key=lambda cost, token, parent, depth: (cost / depth, token, parent, depth))


@wrong(
    TASK, "best_candidate_enters_next", "All children enter with their parent; best first is the order of expansion."
)
def children_enter_at_once(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    gamma, anchor, width, max_nodes, corrected = _read(block_logits, anchor_token, markov_bias, width, max_nodes)
    tree: Tree = {"tokens": [], "parents": [], "depths": [], "log_probs": []}
    heap: list[Any] = [(0.0, anchor, -1, 0)]
    while heap and len(tree["tokens"]) < max_nodes:
        cost, token, node, depth = heapq.heappop(heap)
        if depth == gamma:
            continue
        scores = corrected(depth, token)
        own = _log_softmax(scores)
        for child in _best_ids(scores, width)[: max_nodes - len(tree["tokens"])]:
            entry = (child, node, depth + 1, -cost + float(own[child]))
            heapq.heappush(heap, (-entry[3], child, len(tree["tokens"]), depth + 1))
            for column, value in zip(tree.values(), entry):
                column.append(value)
    return tree


@wrong(TASK, "best_candidate_enters_next", "The heap gives the largest first, so the log-probability goes in as it is.")
def likeliest_last(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    return _grow(arguments, key=lambda cost, token, parent, depth: (-cost, token, parent, depth))


@wrong(TASK, "best_candidate_enters_next", "A beam of `width` paths a level is a tree of the best nodes.")
def beam_search(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    gamma, anchor, width, max_nodes, corrected = _read(block_logits, anchor_token, markov_bias, width, max_nodes)
    nodes: list[tuple[int, int, int, float]] = []
    beam = [(-1, anchor, 0.0)]
    for depth in range(gamma):
        level = []
        for node, token, total in beam:
            scores = corrected(depth, token)
            own = _log_softmax(scores)
            level += [(-(total + float(own[child])), child, node) for child in _best_ids(scores, width)]
        beam = []
        for cost, token, parent in sorted(level)[:width]:
            if len(nodes) < max_nodes:
                beam.append((len(nodes), token, -cost))
                nodes.append((token, parent, depth + 1, -cost))
    return {name: [n[i] for n in nodes] for i, name in enumerate(("tokens", "parents", "depths", "log_probs"))}


# --- Wrong: whose children they are ------------------------------------------------------------------


def _grow_with(arguments: tuple[Any, ...], rows: Callable[[Scores, int, int, int], Any]) -> Tree:
    """Grow a tree whose scores come from rows(corrected, depth, token, anchor)."""
    gamma, anchor, width, max_nodes, corrected = _read(*arguments)
    tree: Tree = {"tokens": [], "parents": [], "depths": [], "log_probs": []}
    heap: list[Any] = []
    node, token, depth, total = -1, anchor, 0, 0.0
    while len(tree["tokens"]) < max_nodes:
        if depth < gamma:
            scores = rows(corrected, depth, token, anchor)
            own = _log_softmax(scores)
            for child in _best_ids(scores, width):
                heapq.heappush(heap, (-(total + float(own[child])), child, node, depth + 1))
        if not heap:
            break
        cost, token, parent, depth = heapq.heappop(heap)
        node, total = len(tree["tokens"]), -cost
        for column, entry in zip(tree.values(), (token, parent, depth, total)):
            column.append(entry)
    return tree


@wrong(TASK, "children_follow_own_parent", "All nodes of one depth share their children: U says what they are.")
def bias_ignored_below_the_root(
    block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int
) -> Tree:
    _grow((block_logits, anchor_token, markov_bias, width, max_nodes))
    logits = np.asarray(block_logits, dtype=float)
    return _grow_with(
        (block_logits, anchor_token, markov_bias, width, max_nodes),
        lambda corrected, depth, token, anchor: corrected(depth, token) if depth == 0 else logits[depth],
    )


@wrong(TASK, "children_follow_own_parent", "The anchor's bias corrects the whole tree.")
def anchor_at_every_depth(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    _grow(arguments)
    return _grow_with(arguments, lambda corrected, depth, token, anchor: corrected(depth, anchor))


@wrong(TASK, "children_follow_own_parent", "The bias comes from the best token of the depth before, for all its nodes.")
def best_token_of_the_depth(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    _grow(arguments)

    def rows(corrected: Scores, depth: int, token: int, anchor: int) -> Any:
        best = anchor
        for d in range(depth):
            best = int(np.argmax(corrected(d, best)))
        return corrected(depth, best)

    return _grow_with(arguments, rows)


@wrong(TASK, "children_follow_own_parent", "A node's children stand in the row of the node's own position.")
def row_one_too_early(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    _grow(arguments)
    return _grow_with(arguments, lambda corrected, depth, token, anchor: corrected(max(depth - 1, 0), token))


@wrong(TASK, "children_follow_own_parent", "The bias is a penalty and is subtracted.")
def bias_subtracted(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    _grow(arguments)
    logits = np.asarray(block_logits, dtype=float)

    def rows(corrected: Scores, depth: int, token: int, anchor: int) -> Any:
        scores = corrected(depth, token)
        return np.where(np.isinf(scores), scores, np.where(np.isinf(scores), 0.0, 2 * logits[depth]) - scores)

    return _grow_with(arguments, rows)


# --- Wrong: the numbers ------------------------------------------------------------------------------


@wrong(TASK, "log_probs_of_whole_paths", "Logits add up like log-probabilities.")
def logits_added(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    return _grow((block_logits, anchor_token, markov_bias, width, max_nodes), step=lambda scores: scores)


@wrong(TASK, "log_probs_of_whole_paths", "Only the tokens kept count, so the softmax runs over them.")
def softmax_over_the_width(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    def step(scores: Any) -> Any:
        kept = np.full(scores.size, -np.inf)
        ids = _best_ids(scores, width)
        kept[ids] = scores[ids]
        return _log_softmax(kept)

    return _grow((block_logits, anchor_token, markov_bias, width, max_nodes), step=step)


@wrong(TASK, "log_probs_of_whole_paths", "A softmax over a single logit is its probability: log_probs are 0.")
def softmax_of_one_logit(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    tree = _grow((block_logits, anchor_token, markov_bias, width, max_nodes))
    return tree | {"log_probs": [math.log(np.exp(x) / np.exp(x).sum()) for x in tree["log_probs"]]}


@wrong(TASK, "log_probs_of_whole_paths", "exp of the logits fits into a float.")
def softmax_that_overflows(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    return _grow(arguments, step=lambda scores: scores - np.log(np.exp(scores).sum()))


@wrong(TASK, "log_probs_of_whole_paths", "log_probs hold each node's own probability.")
def own_log_probs(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    tree = _grow((block_logits, anchor_token, markov_bias, width, max_nodes))
    above = [0.0, *tree["log_probs"]]
    return tree | {"log_probs": [x - above[p + 1] for x, p in zip(tree["log_probs"], tree["parents"])]}


@wrong(TASK, "log_probs_of_whole_paths", "The tree keeps probabilities, as people read them.")
def probabilities_not_logs(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    tree = _grow((block_logits, anchor_token, markov_bias, width, max_nodes))
    return tree | {"log_probs": [math.exp(x) for x in tree["log_probs"]]}


@wrong(TASK, "log_probs_of_whole_paths", "Single precision is enough.")
def single_precision(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    return _grow(arguments, step=lambda scores: _log_softmax(scores.astype(np.float32)))


# --- Wrong: bounds, ties, impossible tokens, biases --------------------------------------------------


@wrong(TASK, "bounds_hold", "The root counts as one of the nodes.")
def root_counts(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    _read(block_logits, anchor_token, markov_bias, width, max_nodes)
    return _grow((block_logits, anchor_token, markov_bias, width, max(max_nodes - 1, 0)))


@wrong(TASK, "bounds_hold", "A tree has a node at least.")
def at_least_one_node(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    _read(block_logits, anchor_token, markov_bias, width, max_nodes)
    return _grow((block_logits, anchor_token, markov_bias, width, max(max_nodes, 1)))


@wrong(TASK, "bounds_hold", "Behind the last position its row goes on being used.")
def deeper_than_the_block(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    _read(block_logits, anchor_token, markov_bias, width, max_nodes)
    rows = list(block_logits)
    return _grow(([*rows, rows[-1]] if rows else rows, anchor_token, markov_bias, width, max_nodes))


@wrong(TASK, "bounds_hold", "The width bounds a level of the tree, and a node may have one child more.")
def one_child_too_many(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    _read(block_logits, anchor_token, markov_bias, width, max_nodes)
    return _grow((block_logits, anchor_token, markov_bias, width + 1, max_nodes))


@wrong(TASK, "bounds_hold", "A width beyond the vocabulary is bad input.")
def wide_is_refused(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    if width > logit_rows("block_logits", block_logits).shape[1]:
        raise ValueError("width exceeds the vocabulary.")
    return _grow((block_logits, anchor_token, markov_bias, width, max_nodes))


@wrong(TASK, "ties_lower_token_then_older", "np.argsort, read from its end, gives the best first.")
def reversed_argsort(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    def pick(scores: Any, width: int) -> list[int]:
        return [int(i) for i in np.argsort(scores, kind="stable")[::-1][:width] if scores[i] > -np.inf]

    return _grow((block_logits, anchor_token, markov_bias, width, max_nodes), pick=pick)


@wrong(TASK, "ties_lower_token_then_older", "np.argpartition keeps the lower of equal tokens.")
def plain_argpartition(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    def pick(scores: Any, width: int) -> list[int]:
        kept = np.argpartition(scores, -min(width, scores.size))[-min(width, scores.size) :]
        return [int(i) for i in kept if scores[i] > -np.inf]

    return _grow((block_logits, anchor_token, markov_bias, width, max_nodes), pick=pick)


@wrong(TASK, "ties_lower_token_then_older", "Of equal candidates the one that was found first enters first.")
def first_found_first(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    return _grow(arguments, key=lambda cost, token, parent, depth: (cost, parent, token, depth))


@wrong(TASK, "ties_lower_token_then_older", "Of equal candidates the newer branch enters first.")
def younger_parent_first(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    return _grow(arguments, key=lambda cost, token, parent, depth: (cost, token, -parent, depth))


@wrong(TASK, "impossible_children_left_out", "Every node has `width` children, whatever their probability.")
def impossible_children_kept(
    block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int
) -> Tree:
    def pick(scores: Any, width: int) -> list[int]:
        return [int(i) for i in np.argsort(-scores, kind="stable")[:width]]

    return _grow((block_logits, anchor_token, markov_bias, width, max_nodes), pick=pick)


@wrong(TASK, "impossible_children_left_out", "A masked token has the logit 0.")
def masked_becomes_zero(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    _grow(arguments)

    def rows(corrected: Scores, depth: int, token: int, anchor: int) -> Any:
        scores = corrected(depth, token)
        return np.where(np.isinf(scores), 0.0, scores)

    return _grow_with(arguments, rows)


@wrong(TASK, "impossible_children_left_out", "An impossible token is a very unlikely one.")
def masked_becomes_unlikely(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    _grow(arguments)
    return _grow_with(arguments, lambda corrected, depth, token, anchor: np.maximum(corrected(depth, token), -30.0))


@wrong(TASK, "anchor_and_missing_rows", "Nothing stands before the first position.")
def anchor_ignored(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    _grow(arguments)
    logits = np.asarray(block_logits, dtype=float)
    return _grow_with(
        arguments, lambda corrected, depth, token, anchor: corrected(depth, token) if depth else logits[0]
    )


@wrong(TASK, "anchor_and_missing_rows", "Every token has a bias row.")
def missing_row_is_an_error(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    arguments = (block_logits, anchor_token, markov_bias, width, max_nodes)
    tree = _grow(arguments)
    used = [markov_bias[token] for token in (anchor_token, *tree["tokens"])]
    return tree if used else {}


@wrong(TASK, "anchor_and_missing_rows", "All rows of markov_bias are looked at before the first one is used.")
def unused_rows_checked(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    vocabulary = logit_rows("block_logits", block_logits).shape[1]
    for token, row in markov_bias.items():
        bias_row("markov_bias", token, row, vocabulary)
    return _grow((block_logits, anchor_token, markov_bias, width, max_nodes))


# --- Wrong: manners ----------------------------------------------------------------------------------


@wrong(TASK, "lists_and_arrays", "Rows are lists, which know no shape, so a comparison with [] will do.")
def truth_of_an_array(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    if not block_logits:
        raise ValueError("block_logits is empty.")
    return _grow((block_logits, anchor_token, markov_bias, width, max_nodes))


@wrong(TASK, "plain_types", "The ids that NumPy hands out are ints.")
def numpy_ids(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    tree = _grow((block_logits, anchor_token, markov_bias, width, max_nodes))
    return tree | {"tokens": list(np.array(tree["tokens"], dtype=int))}


@wrong(TASK, "plain_types", "Arrays are as good as lists.")
def arrays_for_lists(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Any:
    tree = _grow((block_logits, anchor_token, markov_bias, width, max_nodes))
    return {name: np.array(column, dtype=float if name == "log_probs" else int) for name, column in tree.items()}


@wrong(TASK, "no_memory", "Columns as default arguments start empty in each call.")
def columns_as_defaults(
    block_logits: Any,
    anchor_token: int,
    markov_bias: Any,
    width: int,
    max_nodes: int,
    tokens: list[int] = [],  # noqa: B006
) -> Tree:
    tree = _grow((block_logits, anchor_token, markov_bias, width, max_nodes))
    tokens.extend(tree["tokens"])
    return tree | {"tokens": tokens}


@wrong(TASK, "input_unchanged", "`row += bias` saves a copy.")
def bias_added_in_place(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    tree = _grow((block_logits, anchor_token, markov_bias, width, max_nodes))
    for token in (anchor_token, *tree["tokens"]):
        if token in markov_bias:
            for position in range(len(markov_bias[token])):
                markov_bias[token][position] += 1.0
    return tree


@wrong(TASK, "bad_input_raises", "A row that holds NaN has children that compare with nothing, so it has none.")
def nan_has_no_children(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    rows = [np.where(np.isnan(row), -np.inf, row) for row in logit_rows("block_logits", block_logits)]
    return _grow((rows, anchor_token, markov_bias, width, max_nodes))


@wrong(TASK, "bad_input_raises", "A width of 0 means 1.")
def no_width_is_one(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    return _grow((block_logits, anchor_token, markov_bias, max(width, 1), max_nodes))


@wrong(TASK, "error_names_offender", "A sentence is enough, whichever row it was.")
def unnamed_row(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    try:
        return _grow((block_logits, anchor_token, markov_bias, width, max_nodes))
    except ValueError:
        raise ValueError("Some argument of the tree is not as it should be.") from None


# --- Right, in many styles ---------------------------------------------------------------------------


@right(TASK, "All candidates lie in a plain list, and min finds the next one with a key.")
def list_and_min(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    gamma, anchor, width, max_nodes, corrected = _read(block_logits, anchor_token, markov_bias, width, max_nodes)
    nodes: list[tuple[int, int, int, float]] = []
    candidates: list[tuple[int, int, int, float]] = []
    at: tuple[int, int, int, float] = (anchor, -1, 0, 0.0)
    while len(nodes) < max_nodes:
        if at[2] < gamma:
            own = _log_softmax(corrected(at[2], at[0])).tolist()
            for child in sorted(range(len(own)), key=own.__getitem__, reverse=True)[:width]:
                if own[child] > -math.inf:
                    candidates.append((child, len(nodes) - 1, at[2] + 1, at[3] + own[child]))
        if not candidates:
            break
        at = min(candidates, key=lambda c: (-c[3], c[0], c[1]))
        candidates.remove(at)
        nodes.append(at)
    names = ("tokens", "parents", "depths", "log_probs")
    return {name: [node[i] for node in nodes] for i, name in enumerate(names)}


@right(TASK, "Probabilities are multiplied in plain Python, and their logarithms are taken at the end.")
def plain_python(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    print("growing a tree", file=sys.stderr)
    gamma, anchor, width, max_nodes, corrected = _read(block_logits, anchor_token, markov_bias, width, max_nodes)
    tree: Tree = {"log_probs": [], "depths": [], "parents": [], "tokens": []}
    frontier: list[tuple[float, int, int, int]] = []
    node, token, depth, log_prob = -1, anchor, 0, 0.0
    while len(tree["tokens"]) < max_nodes:
        if depth < gamma:
            scores = corrected(depth, token).tolist()
            top = max(scores)
            weights = [math.exp(s - top) for s in scores]
            norm = top + math.log(math.fsum(weights))
            order = sorted(range(len(scores)), key=lambda t: -scores[t])
            frontier += [
                (log_prob + (scores[t] - norm), t, node, depth + 1) for t in order[:width] if scores[t] > -math.inf
            ]
        if not frontier:
            return tree
        frontier.sort(key=lambda c: (-c[0], c[1], c[2]))
        log_prob, token, parent, depth = frontier.pop(0)
        node = len(tree["tokens"])
        tree["tokens"].append(token)
        tree["parents"].append(parent)
        tree["depths"].append(depth)
        tree["log_probs"].append(np.float64(log_prob))
    return tree


@right(TASK, "Each node holds a cursor into its sorted children, and the node whose next child is best goes on.")
def cursors(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    gamma, anchor, width, max_nodes, corrected = _read(block_logits, anchor_token, markov_bias, width, max_nodes)
    tree: Tree = {"tokens": [], "parents": [], "depths": [], "log_probs": []}
    cursor: dict[int, int] = {}
    children: dict[int, list[tuple[float, int]]] = {}

    def open_node(node: int, token: int, depth: int, total: float) -> None:
        cursor[node], children[node] = 0, []
        if depth < gamma:
            own = _log_softmax(corrected(depth, token))
            order = np.lexsort((np.arange(own.size), -own))[:width]
            children[node] = [(total + float(own[t]), int(t)) for t in order if np.isfinite(own[t])]

    if max_nodes:
        open_node(-1, anchor, 0, 0.0)
    while len(tree["tokens"]) < max_nodes:
        ready = [n for n in cursor if cursor[n] < len(children[n])]
        if not ready:
            break
        parent = min(ready, key=lambda n: (-children[n][cursor[n]][0], children[n][cursor[n]][1], n))
        total, token = children[parent][cursor[parent]]
        cursor[parent] += 1
        depth = 1 if parent < 0 else tree["depths"][parent] + 1
        node = len(tree["tokens"])
        for name, value in (("tokens", token), ("parents", parent), ("depths", depth), ("log_probs", total)):
            tree[name].append(value)
        open_node(node, token, depth, total)
    return tree


@right(TASK, "argpartition finds the width, and what ties at its edge is put right.")
def partition_put_right(block_logits: Any, anchor_token: int, markov_bias: Any, width: int, max_nodes: int) -> Tree:
    def pick(scores: Any, width: int) -> list[int]:
        width = min(width, scores.size)
        edge = scores[np.argpartition(scores, -width)[-width]]
        above = np.flatnonzero(scores > edge)
        level = np.flatnonzero(scores == edge)[: width - above.size]
        return [int(i) for i in (*above, *level) if scores[i] != -np.inf]

    return _grow((block_logits, anchor_token, markov_bias, width, max_nodes), pick=pick)
