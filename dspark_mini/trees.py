"""Draft trees: several continuations at once, scored by one target forward, of which at most one path is accepted.

A tree is two lists of equal length, tokens and parents. Node i holds tokens[i] and is a child of node parents[i], which
comes earlier in the list; −1 is the root, the last committed token, which is not a node itself. A chain is the tree
with parents −1, 0, 1, …
"""

from __future__ import annotations

import heapq

import numpy as np

from dspark_mini.contracts import (
    bias_rows,
    generator,
    integer,
    logits,
    parent_nodes,
    probabilities,
    takes,
    token,
    tokens,
)
from dspark_mini.rules import children_are_possible, siblings_differ


@takes(
    block_logits=logits("γ", "V"),
    anchor_token=token(),
    markov_bias=bias_rows("V"),
    width=integer(low=1),
    max_nodes=integer(),
)
def build_conditional_tree(block_logits, anchor_token, markov_bias, width, max_nodes):
    """Grow a draft tree best first, the children of each node conditioned on its own token.

    Args:
        block_logits: (γ, V) base logits U; −inf marks a token that cannot be drafted.
        anchor_token: x_0, the root's token; it may lie outside the block's vocabulary.
        markov_bias: markov_bias[token] is the bias B[token] (V,), zeros for a token without one.
        width: most children per node.
        max_nodes: most nodes of the tree; the root does not count.

    Returns:
        A dict of four lists, with the nodes in their order of entry: tokens, parents, depths, and log_probs of
        the paths.

    Example:
        U = [[log 6, log 4], [0, 0]], anchor 9, B = {0: [log 3, 0]}, width 2, max_nodes 3
        →  tokens [0, 0, 1], parents [-1, 0, -1], depths [1, 2, 1], log_probs log of [.6, .45, .4]

    Source: DSpark (arXiv 2607.05147), the Markov head; SpecInfer (arXiv 2305.09781), token trees.
    """
    ### BEGIN SOLUTION
    heap, nodes = [(0.0, anchor_token, -1, 0)], []  # (−log-probability, token, parent, depth), the root first
    while heap and len(nodes) <= max_nodes:
        cost, token, parent, depth = heapq.heappop(heap)
        nodes.append((token, parent, depth, -cost))
        if depth < len(block_logits):
            scores = block_logits[depth] + markov_bias[token]  # (V,)
            log_probs = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
            best = np.partition(scores, max(len(scores) - width, 0))[-width:]  # the scores of the children
            ids = np.flatnonzero((scores > -np.inf) & (scores >= best[0]))
            for child in ids[np.argsort(-scores[ids], kind="stable")][:width].tolist():
                heapq.heappush(heap, (cost - float(log_probs[child]), child, len(nodes) - 2, depth + 1))
    # Column by column, without the root.
    return {name: list(column[1:]) for name, column in zip(("tokens", "parents", "depths", "log_probs"), zip(*nodes))}
    ### END SOLUTION


@takes(parents=parent_nodes("n"), context_length=integer())
def tree_mask(parents, context_length):
    """Build the mask with which one target forward scores every node of a tree.

    Args:
        parents: n earlier nodes, or −1 for a child of the root.
        context_length: number of context positions, the root included.

    Returns:
        Boolean array (n, context_length + n), True where the row may attend to the column; the context comes first.

    Example:
        parents [-1, 0, -1], context_length 1  →  [[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]] as booleans

    Source: SpecInfer (arXiv 2305.09781): tree attention.
    """
    ### BEGIN SOLUTION
    own = np.eye(len(parents), dtype=bool)  # (n, n)
    for node, parent in enumerate(parents):
        if parent >= 0:
            own[node] |= own[parent]
    return np.hstack([np.ones((len(parents), context_length), dtype=bool), own])
    ### END SOLUTION


@takes(siblings_differ, tokens=tokens("n"), parents=parent_nodes("n"), target_tokens=tokens("n+1"))
def verify_tree_greedy(tokens, parents, target_tokens):
    """Walk down from the root while some child is the token that the target wants, then emit one more.

    Args:
        tokens: n token ids, one per node.
        parents: n earlier nodes, or −1 for a child of the root.
        target_tokens: n + 1 token ids: [0] follows the context, [i + 1] follows node i.

    Returns:
        A dict of two lists: path, the accepted nodes from the root down, and tokens, theirs and one more.

    Example:
        tokens [5, 7, 6], parents [-1, 0, -1], target_tokens [6, 7, 1, 8]  →  path [2], tokens [6, 8]

    Source: SpecInfer (arXiv 2305.09781): token tree verification, greedy decoding.
    """
    ### BEGIN SOLUTION
    path, last = [], -1
    for node, (x, parent) in enumerate(zip(tokens, parents)):  # parents come first
        if parent == last and x == target_tokens[last + 1]:
            path.append(node)
            last = node
    return {"path": path, "tokens": [*(tokens[node] for node in path), target_tokens[last + 1]]}
    ### END SOLUTION


@takes(
    siblings_differ,
    children_are_possible,
    draft_probs=probabilities("n+1", "V"),
    target_probs=probabilities("n+1", "V"),
    tokens=tokens("n", below="V"),
    parents=parent_nodes("n"),
    rng=generator(),
)
def verify_tree_sampling(tokens, parents, draft_probs, target_probs, rng):
    """Accept a path of the tree, and one token more, so that the text follows the target exactly.

    Args:
        tokens: n token ids; siblings were drawn from their parent's row, in this order, without replacement.
        parents: n earlier nodes, or −1 for a child of the root.
        draft_probs: (n + 1, V) the drafter's next-token rows q: [0] at the root, [i + 1] at node i.
        target_probs: (n + 1, V) the target's next-token rows p, in the same order.
        rng: the only source of chance.

    Returns:
        A dict of two lists: path, the accepted nodes from the root down, and tokens, theirs and one more.

    Example:
        tokens [0, 1], parents [-1, -1], q = 3 × [.5, .5], p = [0, 1], [1, 0], [1, 0]
        →  path [1], tokens [1, 0] for every rng

    Source: SpecInfer (arXiv 2305.09781), Algorithm 2; drawn without replacement: arXiv 2402.14160.
    """
    ### BEGIN SOLUTION
    path, last, p, q = [], -1, target_probs[0], draft_probs[0].copy()
    for node, (x, parent) in enumerate(zip(tokens, parents)):  # parents come first
        if parent == last and rng.random() * q[x] < p[x]:
            path.append(node)
            last, p, q = node, target_probs[node + 1], draft_probs[node + 1].copy()
        elif parent == last:
            rest = np.maximum(p - q, 0.0)
            p = rest / rest.sum() if rest.any() else p
            q[x] = 0.0
            q /= q.sum() or 1.0  # 0 where q was sure of this token
    final = int(rng.choice(len(p), p=p))
    return {"path": path, "tokens": [*(tokens[node] for node in path), final]}
    ### END SOLUTION
