"""Draft trees: several continuations at once, scored by one target forward, with at most one path accepted.

A tree is two lists of equal length, tokens and parents. Node i holds tokens[i] and hangs below node parents[i],
which stands earlier in the list; −1 is the root, the last committed token, which is no node itself. A chain is the
tree with parents −1, 0, 1, …
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import (
    bias_mapping,
    bias_row,
    check_best,
    check_tree_rows,
    logit_rows,
    probability_rows,
    token_id,
    token_ids,
    tree_nodes,
    tree_parents,
    whole_number,
)


def build_conditional_tree(
    block_logits: ArrayLike,
    anchor_token: int,
    markov_bias: Mapping[int, ArrayLike],
    width: int,
    max_nodes: int,
) -> dict[str, list[Any]]:
    """Grow a draft tree best first, each node's children conditioned on the node's own token.

    The children of a node at depth d (the root: d = 0, the anchor) are the `width` best tokens of
    block_logits[d] + B[its token]. Of all children of nodes in the tree, the one with the highest
    cumulative log-probability becomes the next node, until there are max_nodes. Ties: the lower
    token id, then the older parent.

    Args:
        block_logits: (γ, V) base logits U, list or array; −inf marks a token that is not drafted.
        anchor_token: x_0, the last committed token; it may lie outside the block's vocabulary.
        markov_bias: token → (V,) bias B[token]; a token without a row adds nothing, and only the
            rows that the tree meets are looked at.
        width: most children a node may have, at least 1.
        max_nodes: most nodes of the tree, the root not counted, at least 0.

    Returns:
        A dict of four lists, one entry a node, in the order in which nodes entered: tokens;
        parents, −1 for a child of the root; depths, from 1 to at most γ; log_probs, the sum of the
        log-softmax values along the path. Children of probability 0 are left out.

    Raises:
        ValueError: ragged or no block_logits, NaN, +inf or only −inf in one of its rows or in a bias
            row in use, such a row of another length than V, a width below 1, or a negative max_nodes.

    Example:
        U = [[log 6, log 4], [0, 0]], anchor 9, B = {0: [log 3, 0]}, width 2, max_nodes 3
        →  tokens [0, 0, 1], parents [-1, 0, -1], depths [1, 2, 1], log_probs log of [.6, .45, .4]

    Source: DSpark (arXiv 2607.05147), the Markov head; SpecInfer (arXiv 2305.09781), token trees.
    """
    logits = logit_rows("block_logits", block_logits)  # (γ, V)
    anchor = token_id("anchor_token", anchor_token)
    biases = bias_mapping("markov_bias", markov_bias)
    width = min(whole_number("width", width, low=1), logits.shape[1])
    max_nodes = whole_number("max_nodes", max_nodes, low=0)
    tree: dict[str, list[Any]] = {"tokens": [], "parents": [], "depths": [], "log_probs": []}
    frontier: list[tuple[float, int, int, int]] = []  # a heap: (−log-prob, token, parent, depth)

    def corrected(depth: int, token: int) -> NDArray[np.float64]:  # the logits below a node, (V,)
        bias = bias_row("markov_bias", token, biases.get(token), logits.shape[1])
        scores: NDArray[np.float64] = logits[depth] + (np.zeros(1) if bias is None else bias)
        check_best(scores.max(), block_logits=(depth, logits[depth]), markov_bias=(token, bias))
        return scores

    ### BEGIN SOLUTION
    node, token, depth, total = -1, anchor, 0, 0.0  # the root
    while len(tree["tokens"]) < max_nodes:
        if depth < len(logits):
            scores = corrected(depth, token)  # (V,)
            log_probs = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
            least = np.partition(scores, -width)[-width]  # the last that may enter; no full sort
            ids = np.flatnonzero((scores >= least) & (scores > -np.inf))  # in the order of ids
            for child in ids[np.argsort(-scores[ids], kind="stable")][:width].tolist():
                heapq.heappush(frontier, (-(total + log_probs[child]), child, node, depth + 1))
        if not frontier:
            break
        cost, token, parent, depth = heapq.heappop(frontier)
        node, total = len(tree["tokens"]), -float(cost)
        for column, value in zip(tree.values(), (token, parent, depth, total)):
            column.append(value)
    return tree
    ### END SOLUTION


def tree_mask(parents: ArrayLike, context_length: int) -> NDArray[np.bool_]:
    """Build the mask with which one target forward scores every node of a tree.

    A node sees the whole context, its ancestors and itself: nothing that lies on another path.

    Args:
        parents: (n,) for each node an earlier one, or −1 for a child of the root; it may be empty.
        context_length: number of context positions, the root included, at least 0.

    Returns:
        Boolean array (n, context_length + n), True where the row may attend to the column. Columns:
        the context, then the nodes in their order.

    Raises:
        ValueError: a parent that is neither −1 nor an earlier node, or a negative context_length.

    Example:
        parents [-1, 0, -1], context_length 1
        →  [[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]] as booleans

    Source: SpecInfer (arXiv 2305.09781): tree attention.
    """
    above = tree_parents("parents", parents)  # (n,)
    context_length = whole_number("context_length", context_length, low=0)
    ### BEGIN SOLUTION
    own = np.eye(len(above), dtype=bool)  # (n, n)
    for node, parent in enumerate(above):
        if parent >= 0:
            own[node] |= own[parent]
    return np.hstack([np.ones((len(above), context_length), dtype=bool), own])
    ### END SOLUTION


def verify_tree_greedy(
    tokens: ArrayLike,
    parents: ArrayLike,
    target_tokens: ArrayLike,
) -> dict[str, list[int]]:
    """Walk from the root while some child is the token that the target wants, then emit one more.

    Args:
        tokens: (n,) the nodes' tokens; siblings differ; no nodes are legal.
        parents: (n,) for each node an earlier one, or −1 for a child of the root.
        target_tokens: (n + 1,) what the target says: [0] behind the context, [i + 1] behind node i.

    Returns:
        A dict of two lists of plain ints: path, the accepted nodes from the root down; tokens,
        their tokens and the one that the target says behind the last of them.

    Raises:
        ValueError: lists of lengths that do not fit, a token that is no token id, a parent that is
            neither −1 nor an earlier node, or siblings with the same token.

    Example:
        tokens [5, 7, 6], parents [-1, 0, -1], target_tokens [6, 7, 1, 8]
        →  path [2], tokens [6, 8]

    Source: SpecInfer (arXiv 2305.09781): token tree verification, greedy decoding.
    """
    nodes, above = tree_nodes("tokens", tokens, "parents", parents)  # (n,), (n,)
    targets = token_ids("target_tokens", target_tokens)  # (n + 1,)
    if len(targets) != len(nodes) + 1:
        raise ValueError(f"target_tokens has {len(targets)} entries for {len(nodes)} nodes and the root.")
    ### BEGIN SOLUTION
    path, emitted, last = [], [targets[0]], -1
    for node, (token, parent) in enumerate(zip(nodes, above)):  # parents come first
        if parent == last and token == emitted[-1]:
            path.append(node)
            emitted.append(targets[node + 1])
            last = node
    return {"path": path, "tokens": emitted}
    ### END SOLUTION


def verify_tree_sampling(
    tokens: ArrayLike,
    parents: ArrayLike,
    draft_probs: ArrayLike,
    target_probs: ArrayLike,
    rng: np.random.Generator,
) -> dict[str, list[int]]:
    """Accept a path of the tree, and one token more, so that the text follows the target exactly.

    At a node, p and q are the target's and the drafter's row behind it, and its children are tried
    in the order of their indices. A child x is accepted with probability min(1, p(x) / q(x)); the
    walk then goes on at x with the rows behind x. After a rejection p becomes norm(max(p − q, 0)),
    and q loses x and is normalised again. Where no child is left, a token is drawn from p.

    Args:
        tokens: (n,) the nodes' tokens; a node's children were drawn from its row of draft_probs,
            one after the other in the order of their indices, without replacement.
        parents: (n,) for each node an earlier one, or −1 for a child of the root.
        draft_probs: (n + 1, V) the drafter's next-token rows: [0] at the root, [i + 1] at node i.
        target_probs: (n + 1, V) the target's next-token rows, in the same order.
        rng: the only source of chance.

    Returns:
        A dict of two lists of plain ints: path, the accepted nodes from the root down; tokens,
        their tokens and the one that was drawn behind the last of them.

    Raises:
        ValueError: shapes that do not fit, a row that is no distribution, a token outside the
            vocabulary or of draft probability 0, a parent that is neither −1 nor an earlier node,
            or siblings with the same token.

    Example:
        tokens [0, 1], parents [-1, -1], draft_probs 3 × [.5, .5], target_probs [0, 1], 2 × [1, 0]
        →  path [1], tokens [1, 0] for every rng: 0 is rejected, 1 is accepted, row [2] says 0

    Source: SpecInfer (arXiv 2305.09781), Algorithm 2; without replacement: arXiv 2402.14160.
    """
    nodes, above = tree_nodes("tokens", tokens, "parents", parents)  # (n,), (n,)
    drafts = probability_rows("draft_probs", draft_probs)  # (n + 1, V)
    targets = probability_rows("target_probs", target_probs)  # (n + 1, V)
    check_tree_rows(nodes, above, drafts, targets)
    ### BEGIN SOLUTION
    path: list[int] = []
    last, p, q = -1, targets[0], drafts[0].copy()
    for node, (token, parent) in enumerate(zip(nodes, above)):  # parents come first
        if parent == last and rng.random() * q[token] < p[token]:
            path.append(node)
            last, p, q = node, targets[node + 1], drafts[node + 1].copy()
        elif parent == last:
            rest = np.maximum(p - q, 0.0)
            p = rest / rest.sum() if rest.any() else p
            q[token] = 0.0
            q /= q.sum() or 1.0  # the sum is 0 where q was sure of this one token
    final = int(rng.choice(p.size, p=p / p.sum()))
    return {"path": path, "tokens": [*(nodes[i] for i in path), final]}
    ### END SOLUTION
