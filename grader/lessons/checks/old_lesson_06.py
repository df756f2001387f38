"""Lesson 06, draft trees: what its tasks must satisfy."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from grader.check.judges import Bad, Example, Law, LawCase, SameSeed, Values
from grader.lessons.tasks import Property, Task, manners
from grader.run.child.calling import Call, Seed, call

LESSON = "06_draft_trees"
NAN, INF = math.nan, math.inf
Rng = np.random.Generator
Floats = np.ndarray[Any, Any]

# --- Task 6.1: build_conditional_tree ----------------------------------------------------------------


def log_of(*numbers: float) -> list[float]:
    """Write a row of logits down by the weights that they stand for; a weight of 0 is a masked token."""
    return [math.log(n) if n else -INF for n in numbers]


def grown(tokens: list[int], parents: list[int], depths: list[int], probabilities: list[float]) -> dict[str, Any]:
    """Write a tree down by the probabilities of its paths."""
    return {"tokens": tokens, "parents": parents, "depths": depths, "log_probs": log_of(*probabilities)}


TREE = (
    Example(
        call([log_of(6, 4), [0.0, 0.0]], 9, {0: [math.log(3), 0.0]}, 2, 3),
        grown([0, 0, 1], [-1, 0, -1], [1, 2, 1], [0.6, 0.45, 0.4]),
    ),
    Example(
        call([log_of(1, 2, 1), log_of(1, 1, 6)], 0, {}, 1, 5),
        grown([1, 2], [-1, 0], [1, 2], [0.5, 0.375]),
    ),
)
TREE_BAD = (
    Bad(call([[0.5, 0.25], [NAN, 0.5]], 0, {}, 2, 4), "block_logits", 1, "row 1 holds a NaN"),
    Bad(call([[0.5, 0.25]], 9, {9: [1.0]}, 2, 4), "markov_bias", 9, "the bias row of token 9 is too short"),
    Bad(call([[0.5, 0.25]], 0, {}, 0, 4), "width", None, "no node may have a child"),
)
TREE_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
TREE_BAD_HIDDEN = (
    Bad(call([[0.5, 0.25], [0.5, 0.25], [0.75, INF]], 0, {}, 1, 4), "block_logits", 2, "row 2 holds +inf"),
    Bad(call([[-INF, -INF], [0.5, 0.25]], 1, {}, 2, 4), "block_logits", 0, "row 0 holds nothing but −inf"),
    Bad(call([[0.5, 0.25], [-INF, -INF]], 1, {}, 2, 4), "block_logits", 1, "row 1 holds nothing but −inf"),
    Bad(call([[0.5, 0.25], [0.5, 0.75], [0.5]], 0, {}, 2, 4), "block_logits", 2, "row 2 is shorter than the others"),
    Bad(call([], 0, {}, 2, 4), "block_logits", None, "there is no row at all"),
    Bad(call([[], []], 0, {}, 2, 4), "block_logits", None, "the vocabulary is empty"),
    Bad(call([0.5, 0.25], 0, {}, 2, 4), "block_logits", None, "it is no matrix"),
    Bad(call([[0.5, 0.25]], 7, {7: [NAN, 0.5]}, 2, 4), "markov_bias", 7, "the bias row of token 7 holds a NaN"),
    Bad(call([[0.5, 0.25]], 7, {7: [-INF, -INF]}, 2, 4), "markov_bias", 7, "the bias row of token 7 holds only −inf"),
    Bad(
        call([[8.0, 0.25], [0.25, 0.5]], 5, {0: [0.5, INF]}, 1, 4),
        "markov_bias",
        0,
        "the bias row of token 0 holds +inf",
    ),
    Bad(
        call([[0.25, 8.0], [0.25, 0.5]], 5, {1: [0.5, 0.5, 0.5]}, 1, 4),
        "markov_bias",
        1,
        "the bias row of token 1 is too long",
    ),
    Bad(call([[0.5, 0.25]], 0, {}, -3, 4), "width", None, "the width is negative"),
    Bad(call([[0.5, 0.25]], 0, {}, 2, -1), "max_nodes", None, "the number of nodes is negative"),
)


def random_tree(rng: Rng, rows: int = 4, width: int = 4, nodes: int = 16, scale: float = 2.0) -> Call:
    """A block with a bias row for every token and for an anchor outside the vocabulary; no ties."""
    vocabulary = int(rng.integers(3, 9))
    anchor = vocabulary + 2
    biases = {token: rng.normal(scale=scale, size=vocabulary) for token in (*range(vocabulary), anchor)}
    block = rng.normal(scale=1.5, size=(rows, vocabulary))
    return call(block, anchor, biases, width, nodes)


def growing_trees(rng: Rng) -> Iterator[Call]:
    """Width 3 and up, and too few nodes for all that the width allows: the order decides."""
    for _ in range(20):
        yield random_tree(rng, int(rng.integers(2, 6)), int(rng.integers(3, 6)), int(rng.integers(5, 20)), 1.0)


def biases_that_decide(rng: Rng) -> Iterator[Call]:
    """The bias of a node's token is far larger than the base logits, so that siblings have other children."""
    for _ in range(20):
        yield random_tree(rng, int(rng.integers(3, 5)), 2, int(rng.integers(6, 14)), 6.0)


def shifted_rows(rng: Rng) -> Iterator[Call]:
    """Rows are shifted by large constants, which a softmax does not see, and most mass lies outside the width."""
    for _ in range(10):
        tree = random_tree(rng, 3, int(rng.integers(1, 3)), 8, 0.5)
        tree.args[0][:] += rng.integers(-3, 4, size=(3, 1)) * 1000.0
        yield tree
    for _ in range(5):
        yield random_tree(rng, 2, 3, 12, 300.0)


def bounded_trees(rng: Rng) -> Iterator[Call]:
    """Chains, few rows, a width beyond the vocabulary, no nodes, and room for more nodes than there are."""
    for rows in (1, 2, 3):
        for width in (1, 2, 20):
            yield random_tree(rng, rows, width, 40)
    for width in (1, 2, 3):
        yield random_tree(rng, 5, width, width - 1)


def tied_trees(rng: Rng) -> Iterator[Call]:
    """Exact ties only: weights that are equal, one row for a whole depth, so that sums tie over branches too."""
    for _ in range(12):
        vocabulary = int(rng.integers(3, 7))
        rows = int(rng.integers(2, 5))
        block = np.where(rng.random((rows, vocabulary)) < 0.3, -INF, 0.0)
        block[:, rng.integers(vocabulary)] = 0.0
        yield call(block, 0, {}, int(rng.integers(1, vocabulary + 1)), int(rng.integers(4, 20)))
    for _ in range(6):
        block = rng.integers(0, 2, size=(3, 6)) * np.array([[0.5], [1.25], [3.0]])
        yield call(block, 0, {}, int(rng.integers(2, 5)), int(rng.integers(6, 20)))
    # A child of probability 1 ties with an uncle of the same token: the older parent goes first.
    yield call([[0.0, 0.0, -INF], [-INF, 0.0, -INF], [0.0, -INF, 0.0]], 2, {}, 3, 9)


def masked_trees(rng: Rng) -> Iterator[Call]:
    """Most tokens are masked, by the block or by a bias, and the width asks for more than is left."""
    for _ in range(15):
        tree = random_tree(rng, 3, int(rng.integers(2, 9)), int(rng.integers(4, 20)))
        block, _, biases, *_ = tree.args
        keep = int(rng.integers(block.shape[1]))
        for row in (*block, *biases.values()):
            row[(rng.random(row.size) < 0.4) & (np.arange(row.size) != keep)] = -INF
        yield tree


def sparse_biases(rng: Rng) -> Iterator[Call]:
    """Few tokens have a bias row, or the anchor alone has one; some rows are bad and never met."""
    for _ in range(15):
        tree = random_tree(rng, 3, 3, int(rng.integers(5, 14)), 4.0)
        block, anchor, biases, *_ = tree.args
        vocabulary = block.shape[1]
        for token in list(biases):
            if token != anchor and rng.random() < 0.7:
                del biases[token]
        biases[vocabulary + 7], biases[-1] = [NAN], []
        anchor_outside = int(rng.choice([anchor, vocabulary + 9, 0]))
        yield call(block, anchor_outside, biases, 3, tree.args[4])


def large_tree(rng: Rng) -> Iterator[Call]:
    block = rng.normal(scale=3.0, size=(64, 2000))
    yield call(block, 5, {t: rng.normal(scale=2.0, size=2000) for t in range(0, 2000, 8)}, 64, 64)


### END HIDDEN TESTS


TASK_6_1 = Task(
    id="6.1",
    lesson=LESSON,
    module="dspark_mini.trees",
    function="build_conditional_tree",
    todo="keep the candidates in a heap, take the best one into the tree, and add its children",
    hints=(
        "A candidate is a child that is not in the tree yet: it knows its token, its parent, its depth and the "
        "log-probability of its whole path. Only the best of all candidates enters, wherever it hangs; and only then "
        "do its own children become candidates.",
        "heapq keeps the smallest tuple in front, so push (−log-probability, token, parent, depth): its order is the "
        "rule for ties. The children of a node come from corrected(depth, token), where depth is that of the node and "
        "the root has depth 0, through a log-softmax over the whole vocabulary; add the node's own log-probability. "
        "For the `width` best with ties to the lower id, a stable argsort of the negated row will do; drop −inf.",
        "start at the root: node −1, the anchor's token, depth 0, log-probability 0\n"
        "while the tree has fewer than max_nodes nodes:\n"
        "    if depth < γ:\n"
        "        scores = corrected(depth, token); log-softmax: scores − max − log(sum(exp(scores − max)))\n"
        "        for each of the `width` best tokens that is not −inf:\n"
        "            push (−(log-probability of the node + its own), token, node, depth + 1)\n"
        "    if the heap is empty: stop\n"
        "    pop (cost, token, parent, depth); write the new node down: its index is the number of nodes before it\n"
        "return the tree",
    ),
    properties=(
        Property(
            "best_candidate_enters_next",
            "Of all candidates the one with the likeliest path enters next, wherever it hangs.",
            3,
            "If only log_probs differ: they are log-softmax values, summed along the path. If the order differs: do "
            "not grow level by level, and do not finish one path first; a heap over all candidates decides.",
            Values(
                examples=TREE[:1],
                ### BEGIN HIDDEN TESTS
                hidden=growing_trees,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "children_follow_own_parent",
            "The children of a node come from U at its depth plus the bias of the node's own token.",
            2,
            "corrected(depth, token) wants the token of the node that you have just taken in, and its depth; `parents` "
            "holds that node's index in the lists. Of equal scores the lower token id is kept.",
            Values(
                examples=(
                    Example(
                        call([log_of(3, 2), [0.0, 0.0]], 0, {0: [0.0, 0.0], 1: log_of(1, 0.125)}, 1, 9),
                        grown([0, 0], [-1, 0], [1, 2], [0.6, 0.3]),
                    ),
                    Example(
                        call([[0.0, 0.0], [0.0, 0.0]], 9, {0: log_of(1, 4), 9: log_of(1, 3)}, 2, 4),
                        grown([1, 0, 1, 0], [-1, 0, 0, -1], [1, 2, 2, 1], [0.75, 0.375, 0.375, 0.25]),
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=biases_that_decide,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "log_probs_of_whole_paths",
            "log_probs are sums along the path of log-softmax values over the whole vocabulary.",
            2,
            "Subtract the row's maximum before exp, and normalise over all V tokens, not over the width kept.",
            Values(
                examples=(
                    Example(
                        call([log_of(2, 1, 1), [1000.0, 1000.0, -INF]], 0, {}, 1, 2),
                        grown([0, 0], [-1, 0], [1, 2], [0.5, 0.25]),
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=shifted_rows,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "bounds_hold",
            "No node has more than width children or a depth beyond γ, and there are at most max_nodes.",
            1,
            "A node at depth γ has no row of logits below it. If no candidate is left, the tree ends early.",
            Values(
                examples=(
                    TREE[1],
                    Example(call([[0.0, 1.0]], 0, {}, 2, 0), grown([], [], [], [])),
                    Example(call([log_of(1, 3)], 0, {}, 5, 9), grown([1, 0], [-1, -1], [1, 1], [0.75, 0.25])),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=bounded_trees,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "ties_lower_token_then_older",
            "Ties go to the lower token id, then to the older parent, also where the width cuts.",
            1,
            "Let the heap compare (−log-probability, token, parent); among equal scores the lower ids are kept.",
            Values(
                examples=(
                    Example(
                        call([[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, -INF, -INF]], 0, {}, 2, 6),
                        grown([0, 1, 0, 0, 1, 1], [-1, -1, 0, 1, 0, 1], [1, 1, 2, 2, 2, 2], [0.25, 0.25] + [0.125] * 4),
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=tied_trees,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "impossible_children_left_out",
            "A child of probability 0 (a logit of −inf) never enters the tree.",
            1,
            "Of a row with fewer possible tokens than the width, take only the possible ones.",
            Values(
                examples=(
                    Example(
                        call([[-INF, 0.0, 0.0], [0.0, -INF, -INF]], 2, {1: [0.5, -INF, 0.5]}, 3, 9),
                        grown([1, 0, 2, 0], [-1, 0, -1, 2], [1, 2, 1, 2], [0.5] * 4),
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=masked_trees,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "anchor_and_missing_rows",
            "The anchor's bias row serves the root alone; a missing row adds nothing, an unused one is not read.",
            1,
            "corrected(depth, token) looks the row up by .get and adds nothing where there is none.",
            Values(
                examples=(
                    Example(
                        call([log_of(1, 1), log_of(1, 3)], 9, {9: log_of(4, 1), 7: [NAN]}, 1, 2),
                        grown([0, 1], [-1, 0], [1, 2], [0.8, 0.6]),
                    ),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=sparse_biases,
                ### END HIDDEN TESTS
            ),
        ),
        *manners(
            "plain ints and floats in lists in a dict",
            TREE,
            TREE_BAD,
            TREE_BAD_HIDDEN,
            bad_hint="Keep the given checks, and take each row of scores from corrected, which checks what it adds.",
        ),
        Property(
            "large_tree_in_time",
            "A block of 64 positions and 2,000 tokens, width and nodes 64, takes well under 2 s.",
            1,
            "Compute the children of a node once, when it enters, and never those of a candidate.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_tree,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 6.2: tree_mask -----------------------------------------------------------------------------


def cells(*rows: str) -> Floats:
    """Write a mask down: cells("110", "101")."""
    return np.array([[cell == "1" for cell in row] for row in rows], dtype=bool)


MASK = (
    Example(call([-1, 0, -1], 1), cells("1100", "1110", "1001")),
    Example(call([-1, 0, 1], 2), cells("11100", "11110", "11111")),
)
MASK_TWINS = (Example(call([-1, 0, 1], 1), cells("1100", "1110", "1111")),)
MASK_BAD = (
    Bad(call([-1, 1], 2), "parents", 1, "node 1 cannot be its own parent"),
    Bad(call([-1, 0], -1), "context_length", None, "the context has a negative length"),
)
MASK_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
MASK_BAD_HIDDEN = (
    Bad(call([-1, 0, 3, 0], 2), "parents", 2, "a parent of 3 comes after node 2"),
    Bad(call([-1, 0, 1, -2], 0), "parents", 3, "a parent is below −1"),
    Bad(call([0, -1], 1), "parents", 0, "node 0 cannot be its own parent"),
    Bad(call([-1, -1, 5], 1), "parents", 2, "there is no node 5"),
    Bad(call([], -2), "context_length", None, "the context has a negative length"),
)


def parents_of(rng: Rng, nodes: int, deep: float) -> list[int]:
    """Hang every node below the root, or below some earlier node; below the last one with chance `deep`."""
    return [i - 1 if rng.random() < deep else int(rng.integers(-1, i)) for i in range(nodes)]


def deep_trees(rng: Rng) -> Iterator[Call]:
    for _ in range(12):
        yield call(parents_of(rng, int(rng.integers(4, 12)), 0.8), int(rng.integers(1, 6)))


def bushy_trees(rng: Rng) -> Iterator[Call]:
    for _ in range(12):
        yield call(parents_of(rng, int(rng.integers(4, 12)), 0.0), int(rng.integers(1, 6)))


def long_contexts(rng: Rng) -> Iterator[Call]:
    for context in (0, 1, 7, 20):
        yield call(parents_of(rng, 5, 0.4), context)


def edge_trees(rng: Rng) -> Iterator[Call]:
    yield call([], int(rng.integers(1, 9)))
    yield call([], 0)
    yield call([-1] * 5, 0)


def large_tree_mask(rng: Rng) -> Iterator[Call]:
    yield call(parents_of(rng, 64, 0.7), 256)


### END HIDDEN TESTS


TASK_6_2 = Task(
    id="6.2",
    lesson=LESSON,
    module="dspark_mini.trees",
    function="tree_mask",
    todo="let every node see the whole context, what its parent sees, and itself",
    hints=(
        "A node's ancestors are its parent and the ancestors of its parent. Parents stand before their children, so "
        "the parent's row is finished when its child is reached.",
        "Start with an identity matrix of booleans: every node sees itself. Then walk through the nodes in their "
        "order and add the parent's row to the node's own. A parent of −1 adds nothing: it is the root, which belongs "
        "to the context, and not the last row. The context half is all True.",
        "own = identity matrix of booleans                                  → (n, n)\n"
        "for each node with its parent:\n"
        "    if the parent is no root: row of the node |= row of the parent\n"
        "return np.ones for the context on the left, own on the right       → (n, context_length + n)",
    ),
    properties=(
        Property(
            "ancestors_and_itself",
            "A node sees its parent, its parent's parent and so on, and itself.",
            3,
            "Take over the whole row of the parent, not only the parent's column, and set the node's own column: "
            "context_length + its index.",
            Values(
                examples=MASK,
                ### BEGIN HIDDEN TESTS
                hidden=deep_trees,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "other_branches_hidden",
            "A node sees nothing of another branch: no sibling, no uncle, no descendant.",
            2,
            "An earlier node is not an ancestor: a lower triangle is the mask of a chain, not of a tree.",
            Values(
                examples=(Example(call([-1, -1, 0, 1], 1), cells("11000", "10100", "11010", "10101")),),
                ### BEGIN HIDDEN TESTS
                hidden=bushy_trees,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "whole_context_first",
            "The first context_length columns are True for every node.",
            1,
            "The context stands on the left, and its last position is the root: all of it is known.",
            Values(
                examples=(Example(call([-1, -1], 3), cells("11110", "11101")),),
                ### BEGIN HIDDEN TESTS
                hidden=long_contexts,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "empty_tree_and_no_context",
            "Without nodes the mask has no rows but all its columns; without context only the nodes are left.",
            1,
            "np.ones((0, 3), dtype=bool) is an array like any other; np.array([]) has lost its columns.",
            Values(
                examples=(
                    Example(call([], 3), np.zeros((0, 3), dtype=bool)),
                    Example(call([-1, 0], 0), cells("10", "11")),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=edge_trees,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("booleans in an array", MASK, MASK_BAD, MASK_BAD_HIDDEN, MASK_TWINS),
        Property(
            "large_mask_in_time",
            "64 nodes behind a context of 256 take well under 2 s.",
            1,
            "One operation on a whole row a node is enough.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_tree_mask,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 6.3: verify_tree_greedy --------------------------------------------------------------------


def accepted(path: list[int], tokens: list[int]) -> dict[str, Any]:
    return {"path": path, "tokens": tokens}


GREEDY = (
    Example(call([5, 7, 6], [-1, 0, -1], [6, 7, 1, 8]), accepted([2], [6, 8])),
    Example(call([5, 7, 6], [-1, 0, -1], [5, 7, 1, 8]), accepted([0, 1], [5, 7, 1])),
    Example(call([5, 7, 6], [-1, 0, -1], [4, 7, 1, 8]), accepted([], [4])),
)
GREEDY_BAD = (
    Bad(call([5, 5], [-1, -1], [1, 2, 3]), ("tokens", "parents"), 1, "nodes 0 and 1 are siblings with the same token"),
    Bad(call([5, 7], [-1, 0], [1, 2]), ("target_tokens", "tokens"), None, "two nodes need three target tokens"),
)
GREEDY_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
GREEDY_BAD_HIDDEN = (
    Bad(call([5, 6, 7, 6], [-1, 0, 0, 0], [1] * 5), ("tokens", "parents"), 3, "nodes 1 and 3 are equal siblings"),
    Bad(call([5, 7, 6], [-1, 0], [1, 2, 3, 4]), ("tokens", "parents"), None, "a parent is missing"),
    Bad(call([5, 7], [-1, 0, 0], [1, 2, 3]), ("tokens", "parents"), None, "there is a parent too many"),
    Bad(call([5, 7, 6], [-1, 0, 2], [1, 2, 3, 4]), "parents", 2, "node 2 cannot be its own parent"),
    Bad(call([5, 7, 6], [-1, 2, -1], [1, 2, 3, 4]), "parents", 1, "a parent comes after its child"),
    Bad(call([5, 7], [-1, -2], [1, 2, 3]), "parents", 1, "a parent is below −1"),
    Bad(call([5, 7], [-1, 0], [1, 2, 3, 4]), ("target_tokens", "tokens"), None, "there is a target token too many"),
    Bad(call([], [], []), ("target_tokens", "tokens"), None, "even without nodes there is one target token"),
    Bad(call([5, 7, -6], [-1, 0, 1], [1, 2, 3, 4]), "tokens", 2, "a token id is negative"),
)


def token_tree(rng: Rng, nodes: int, vocabulary: int, deep: float = 0.4) -> tuple[list[int], list[int]]:
    """A tree whose siblings differ, over few tokens, so that the same token stands in several branches."""
    tokens: list[int] = []
    parents: list[int] = []
    while len(tokens) < nodes:
        i = len(tokens)
        parent = i - 1 if rng.random() < deep else int(rng.integers(-1, i))
        free = set(range(vocabulary)) - {t for t, p in zip(tokens, parents) if p == parent}
        if free:
            tokens.append(int(rng.choice(sorted(free))))
            parents.append(parent)
    return tokens, parents


def path_to(parents: list[int], node: int) -> list[int]:
    return [*path_to(parents, parents[node]), node] if node >= 0 else []


def agreeing_target(rng: Rng, tokens: list[int], parents: list[int], vocabulary: int, length: int) -> list[int]:
    """Target tokens that follow some path of the tree down to a node; elsewhere they are random."""
    targets: list[int] = rng.integers(vocabulary, size=len(tokens) + 1).tolist()
    deepest = max(range(len(tokens)), key=lambda i: (min(len(path_to(parents, i)), length), rng.random()))
    for node in path_to(parents, deepest):
        targets[parents[node] + 1] = tokens[node]
    return targets


def walks(rng: Rng) -> Iterator[Call]:
    """The target follows a path of some length, over trees of every form."""
    for _ in range(40):
        tokens, parents = token_tree(rng, int(rng.integers(4, 14)), 5)
        yield call(tokens, parents, agreeing_target(rng, tokens, parents, 5, int(rng.integers(2, 5))))


def ends_of_walks(rng: Rng) -> Iterator[Call]:
    """Behind the accepted path the target says a token that stands nowhere in the tree."""
    for _ in range(25):
        tokens, parents = token_tree(rng, int(rng.integers(3, 10)), 4, deep=0.7)
        targets = np.array(agreeing_target(rng, tokens, parents, 4, 3))
        targets[rng.random(targets.size) < 0.3] = 50 + int(rng.integers(9))
        yield call(tokens, parents, targets)


def cousins(rng: Rng) -> Iterator[Call]:
    """The token that the target wants stands below another node, or it is a later sibling."""
    for _ in range(25):
        tokens, parents = token_tree(rng, 12, 3, deep=0.0)
        yield call(tokens, parents, rng.integers(3, size=13))


def without_nodes(rng: Rng) -> Iterator[Call]:
    for token in rng.integers(2000, size=4).tolist():
        yield call([], [], [token])


def large_walk(rng: Rng) -> Iterator[Call]:
    tokens = rng.integers(2000, size=64).tolist()
    yield call(tokens, list(range(-1, 63)), [*tokens, 7])


### END HIDDEN TESTS


TASK_6_3 = Task(
    id="6.3",
    lesson=LESSON,
    module="dspark_mini.trees",
    function="verify_tree_greedy",
    todo="go to the child that the target wants, as long as there is one, then add the target's token",
    hints=(
        "Stand at the root. The target wants target_tokens[0]. Is there a child of the root with that token? Then you "
        "stand there, and the target wants the entry behind that node.",
        "Children stand behind their parents, so one pass over the nodes is enough: a node is taken if its parent is "
        "the node where you stand (−1 at first) and its token is the one wanted. The token wanted last, for which "
        "there is no child, is emitted too: the result is always one token longer than the path.",
        "path = [], emitted = [target_tokens[0]], stand at −1\n"
        "for each node with its token and its parent:\n"
        "    if the parent is where you stand and the token is the last of emitted:\n"
        "        note the node in path, append target_tokens[node + 1] to emitted, stand at node\n"
        "return path and emitted",
    ),
    properties=(
        Property(
            "follows_the_target",
            "The path goes from the root to the child that the target wants, again and again.",
            3,
            "Compare the child's token with what the target says behind the node where you stand: target_tokens[0] at "
            "the root, [i + 1] at node i. The path holds indices; the tokens end with what the target says at its end.",
            Values(
                examples=GREEDY[:2],
                ### BEGIN HIDDEN TESTS
                hidden=walks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "one_token_more",
            "Behind the accepted tokens stands the target's own token: a correction, or the bonus at a leaf.",
            2,
            "tokens has one entry more than path, and the last one comes from target_tokens.",
            Values(
                examples=GREEDY[1:],
                ### BEGIN HIDDEN TESTS
                hidden=ends_of_walks,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "only_own_children_count",
            "Any child of the node may match, whatever its place; a node of another branch never does.",
            2,
            "Look at all the nodes whose parent is the node where you stand, and at no others.",
            Values(
                examples=(
                    Example(call([1, 2, 3, 2], [-1, -1, 0, 1], [2, 3, 2, 0, 9]), accepted([1, 3], [2, 2, 9])),
                    Example(call([1, 2, 3], [-1, -1, 0], [2, 3, 3, 0]), accepted([1], [2, 3])),
                ),
                ### BEGIN HIDDEN TESTS
                hidden=cousins,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "no_nodes_no_path",
            "Without nodes the path is empty and the target's one token is emitted.",
            1,
            "Start from target_tokens[0] before you look at any node.",
            Values(
                examples=(Example(call([], [], [4]), accepted([], [4])),),
                ### BEGIN HIDDEN TESTS
                hidden=without_nodes,
                ### END HIDDEN TESTS
            ),
        ),
        *manners("plain ints in lists in a dict", GREEDY, GREEDY_BAD, GREEDY_BAD_HIDDEN),
        Property(
            "long_path_in_time",
            "A path of 64 nodes takes well under 2 s.",
            1,
            "Look at each node once; do not build all the paths of the tree.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_walk,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

# --- Task 6.4: verify_tree_sampling ------------------------------------------------------------------

HALVES, SURE_0, SURE_1 = [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]
SAMPLING = (
    Example(call([0, 1], [-1, -1], [HALVES, HALVES, HALVES], [SURE_1, SURE_0, SURE_0], Seed(0)), accepted([1], [1, 0])),
    Example(
        call([0, 1, 1], [-1, 0, -1], [HALVES] * 4, [SURE_0, SURE_1, SURE_0, SURE_1], Seed(0)),
        accepted([0, 1], [0, 1, 0]),
    ),
    Example(call([0], [-1], [HALVES, HALVES], [SURE_1, SURE_0], Seed(0)), accepted([], [1])),
)
SAMPLING_BAD = (
    Bad(
        call([0, 1], [-1, 0], [HALVES, [0.5, 0.25], HALVES], [SURE_0] * 3, Seed(0)),
        "draft_probs",
        1,
        "row 1 sums to 0.75",
    ),
    Bad(
        call([1, 1], [-1, -1], [HALVES] * 3, [SURE_0] * 3, Seed(0)),
        ("tokens", "parents"),
        1,
        "nodes 0 and 1 are siblings with the same token",
    ),
)
SAMPLING_BAD_HIDDEN: tuple[Bad, ...] = ()
### BEGIN HIDDEN TESTS
SAMPLING_BAD_HIDDEN = (
    Bad(call([0, 2], [-1, 0], [HALVES] * 3, [SURE_0] * 3, Seed(0)), "tokens", 1, "there is no token 2"),
    Bad(call([0, 1], [-1, 1], [HALVES] * 3, [SURE_0] * 3, Seed(0)), "parents", 1, "node 1 cannot be its own parent"),
    Bad(call([0, 1], [-1], [HALVES] * 3, [SURE_0] * 3, Seed(0)), ("tokens", "parents"), None, "a parent is missing"),
    Bad(call([0, 1], [-1, 0], [HALVES] * 2, [SURE_0] * 3, Seed(0)), ("draft_probs", "tokens"), None, "a row too few"),
    Bad(call([0, 1], [-1, 0], [HALVES] * 3, [SURE_0] * 4, Seed(0)), ("target_probs", "tokens"), None, "a row too many"),
    Bad(
        call([0], [-1], [HALVES] * 2, [[0.5, 0.25, 0.25]] * 2, Seed(0)),
        ("draft_probs", "target_probs"),
        None,
        "the vocabularies differ",
    ),
    Bad(
        call([0, 1], [-1, 0], [HALVES] * 3, [SURE_0, SURE_0, [1.5, -0.5]], Seed(0)),
        "target_probs",
        2,
        "row 2 holds a negative number",
    ),
    Bad(call([0], [-1], [HALVES] * 2, [[0.5, NAN], SURE_0], Seed(0)), "target_probs", 0, "row 0 holds a NaN"),
    Bad(call([0], [-1], [[0.5, 0.75], HALVES], [SURE_0] * 2, Seed(0)), "draft_probs", 0, "row 0 sums to 1.25"),
)
### END HIDDEN TESTS


def outcome(result: dict[str, list[int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Turn a result into a key: the path and the tokens."""
    return tuple(result["path"]), tuple(result["tokens"])


def path_of(result: dict[str, list[int]]) -> tuple[int, ...]:
    """Turn a result into a key: the path alone."""
    return tuple(result["path"])


def tree_call(tokens: list[int], parents: list[int], drafts: list[list[float]], targets: list[list[float]]) -> Call:
    return call(tokens, parents, np.array(drafts), np.array(targets), Seed(0))


SINGLE = tree_call([2], [-1], [[0.2, 0.2, 0.6]] * 2, [[0.4, 0.3, 0.3], [1.0, 0.0, 0.0]])
PAIR = tree_call([0, 1], [-1, -1], [[0.6, 0.3, 0.1]] * 3, [[0.1, 0.4, 0.5], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
DOWN = tree_call([0, 1], [-1, 0], [HALVES, [0.375, 0.625], HALVES], [[0.25, 0.75], HALVES, SURE_0])
### BEGIN HIDDEN TESTS


def exact_law(case: Call) -> dict[Any, float]:
    """Write the joint law of path and tokens down, by the rule, from the tree and its rows alone."""
    tokens, parents, drafts, targets, _ = case.args
    law: dict[Any, float] = {}

    def walk(node: int, reach: float, path: tuple[int, ...]) -> None:
        p, q = np.array(targets[node + 1], float), np.array(drafts[node + 1], float)
        for child in [i for i, parent in enumerate(parents) if parent == node]:
            x = tokens[child]
            accept = min(1.0, p[x] / q[x])
            walk(child, reach * accept, (*path, child))
            reach *= 1.0 - accept
            if reach < 1e-12:
                return
            p = np.maximum(p - q, 0.0) / np.maximum(p - q, 0.0).sum()
            q[x] = 0.0
            q /= max(q.sum(), 1e-300)
        said = tuple(tokens[i] for i in path)
        for token, probability in enumerate(p.tolist()):
            if reach * probability > 1e-12:
                law[path, (*said, token)] = law.get((path, (*said, token)), 0.0) + reach * probability

    walk(-1, 1.0, ())
    return law


def relabelled(rng: Rng, case: Call) -> LawCase:
    """Give the tokens other names: the law keeps its form, but no answer can be written down beforehand."""
    tokens, parents, drafts, targets, _ = case.args
    new_name = rng.permutation(drafts.shape[1])
    old_name = np.argsort(new_name)
    renamed = tree_call([int(new_name[t]) for t in tokens], parents, drafts[:, old_name], targets[:, old_name])
    return LawCase(renamed, exact_law(renamed))


def one_child(rng: Rng) -> Iterator[LawCase]:
    """The law of the path alone: a child that is accepted in half of all rounds."""
    case = relabelled(rng, tree_call([1], [-1], [[0.2, 0.5, 0.3]] * 2, [[0.1, 0.25, 0.65], [0.0, 1.0, 0.0]]))
    paths: dict[Any, float] = {}
    for (path, _), probability in case.law.items():
        paths[path] = paths.get(path, 0.0) + probability
    yield LawCase(case.call, paths)


def residuals(rng: Rng) -> Iterator[LawCase]:
    q, p = [0.1, 0.1, 0.2, 0.6], [0.3, 0.4, 0.1, 0.2]
    yield relabelled(rng, tree_call([3], [-1], [q] * 2, [p, [1.0, 0.0, 0.0, 0.0]]))


def several_children(rng: Rng) -> Iterator[LawCase]:
    """Three children of a node, and a pair whose order decides everything."""
    q, p, leaf = [0.5, 0.25, 0.15, 0.1], [0.1, 0.29, 0.33, 0.28], [0.0, 0.0, 0.0, 1.0]
    yield relabelled(rng, tree_call([0, 1, 2], [-1] * 3, [q] * 4, [p, leaf, leaf, leaf]))
    yield relabelled(rng, tree_call([1, 0], [-1] * 2, [[0.6, 0.3, 0.1]] * 3, [[0.1, 0.4, 0.5], *[[0.0, 0.0, 1.0]] * 2]))


def deeper_trees(rng: Rng) -> Iterator[LawCase]:
    """A child that is accepted behind a rejected sibling, with children of its own."""
    q, p = [[0.5, 0.3, 0.2], [0.6, 0.2, 0.2], [0.2, 0.3, 0.5]], [[0.2, 0.5, 0.3], [0.2, 0.7, 0.1], [0.1, 0.5, 0.4]]
    yield relabelled(
        rng,
        tree_call([0, 1, 2, 0], [-1, -1, 1, 0], [q[0], q[1], q[2], q[0], q[1]], [p[0], p[1], p[2], p[1], p[1]]),
    )


def sure_targets(rng: Rng) -> Iterator[Call]:
    """The target is sure of one token everywhere, so that the walk is certain, whatever the drafter's rows."""
    for _ in range(20):
        tokens, parents = token_tree(rng, int(rng.integers(2, 10)), 4)
        says = agreeing_target(rng, tokens, parents, 4, int(rng.integers(1, 4)))
        drafts = rng.dirichlet(np.full(4, 2.0), size=len(says)) * 0.9 + 0.025
        yield call(tokens, parents, drafts, np.eye(4)[says], Seed(int(rng.integers(2**31))))


def sure_ends(rng: Rng) -> Iterator[Call]:
    """No nodes, or one that is accepted, and then a token of which the target is sure."""
    for _ in range(6):
        first, last = (int(token) for token in rng.integers(5, size=2))
        yield call([], [], [[0.2] * 5], [np.eye(5)[last].tolist()], Seed(int(rng.integers(2**31))))
        yield call([first], [-1], [[0.2] * 5] * 2, np.eye(5)[[first, last]], Seed(int(rng.integers(2**31))))


def large_sampled_tree(rng: Rng) -> Iterator[Call]:
    tokens, parents = token_tree(rng, 64, 2000, deep=0.8)
    says = agreeing_target(rng, tokens, parents, 2000, 64)
    yield call(tokens, parents, np.full((65, 2000), 1 / 2000), np.eye(2000)[says], Seed(0))


### END HIDDEN TESTS


TASK_6_4 = Task(
    id="6.4",
    lesson=LESSON,
    module="dspark_mini.trees",
    function="verify_tree_sampling",
    todo="try the children of the node in turn, each against what p and q have become by then",
    hints=(
        "At every node there are two rows, p of the target and q of the drafter. A child is accepted with probability "
        "min(1, p(x) / q(x)). If it is rejected, both rows change, since the next child was drawn from what was left "
        "of q, and must only make up for what is still missing of p.",
        "One pass over the nodes, as in task 6.3, with p and q as variables. rng.random() < p[x] / q[x] accepts: then "
        "take the rows behind that child, [node + 1], and a copy of the q row. Otherwise, in this order: "
        "p becomes max(p − q, 0) divided by its sum, then q loses x and is divided by its sum. At the end one token is "
        "drawn from p, whatever it has become.",
        "stand at −1; p = target_probs[0]; q = a copy of draft_probs[0]\n"
        "for each node with its token x and its parent, if the parent is where you stand:\n"
        "    if rng.random() * q[x] < p[x]:\n"
        "        note the node and x; stand at node; p = target_probs[node + 1]; q = a copy of draft_probs[node + 1]\n"
        "    otherwise:\n"
        "        p = max(p − q, 0), divided by its sum (if that is 0, p stays)\n"
        "        q[x] = 0; divide q by its sum (if that is 0, no other child can follow)\n"
        "draw one token from p, make it a plain int, and append it",
    ),
    properties=(
        Property(
            "accepts_with_min_one_p_over_q",
            "A first child x is accepted with probability min(1, p(x) / q(x)).",
            2,
            "p and q are the rows behind the parent: [0] at the root. Accept if rng.random() < p[x] / q[x].",
            Law(
                examples=(LawCase(SINGLE, {(0,): 1 / 2, (): 1 / 2}),),
                outcome_of=path_of,
                ### BEGIN HIDDEN TESTS
                hidden=one_child,
                ### END HIDDEN TESTS
                samples=600,
            ),
        ),
        Property(
            "residual_after_rejection",
            "After a rejection the token comes from norm(max(p − q, 0)), and not from p.",
            2,
            "Rejections take away what q proposes too often; only what it proposes too seldom is still missing.",
            Law(
                examples=(LawCase(SINGLE, {((0,), (2, 0)): 1 / 2, ((), (0,)): 1 / 3, ((), (1,)): 1 / 6}),),
                outcome_of=outcome,
                ### BEGIN HIDDEN TESTS
                hidden=residuals,
                ### END HIDDEN TESTS
                samples=600,
            ),
        ),
        Property(
            "siblings_in_turn",
            "The next child is tried with the residual as p, and with q renormalised without the token tried.",
            3,
            "Both rows change after a rejection: first p becomes the residual, then q loses x and is normalised.",
            Law(
                examples=(LawCase(PAIR, {((0,), (0, 2)): 1 / 6, ((1,), (1, 2)): 2 / 9, ((), (2,)): 11 / 18}),),
                outcome_of=outcome,
                ### BEGIN HIDDEN TESTS
                hidden=several_children,
                ### END HIDDEN TESTS
                samples=600,
            ),
        ),
        Property(
            "fresh_rows_after_acceptance",
            "An accepted child brings its own rows, [node + 1]; nothing is left of the rows of its parent.",
            2,
            "Set p and q anew when you accept, and draw the last token from the p of the node where you stand.",
            Law(
                examples=(
                    LawCase(
                        DOWN,
                        {((0, 1), (0, 1, 0)): 0.4, ((0,), (0, 0)): 0.1, ((), (1,)): 0.5},
                    ),
                ),
                outcome_of=outcome,
                ### BEGIN HIDDEN TESTS
                hidden=deeper_trees,
                ### END HIDDEN TESTS
                samples=600,
            ),
        ),
        Property(
            "sure_target_is_followed",
            "Where the target is sure of its tokens, the path is the one that it says.",
            2,
            "A child with p(x) = 0 is never accepted, one with p(x) ≥ q(x) always; try children of the node only.",
            Values(
                examples=SAMPLING[:2],
                ### BEGIN HIDDEN TESTS
                hidden=sure_targets,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "one_token_more",
            "Without nodes, at a leaf and after a rejection, one more token is drawn.",
            1,
            "tokens has one entry more than path; the last comes from the p of the node where the walk ended.",
            Values(
                examples=(SAMPLING[2], Example(call([], [], [HALVES], [SURE_1], Seed(0)), accepted([], [1]))),
                ### BEGIN HIDDEN TESTS
                hidden=sure_ends,
                ### END HIDDEN TESTS
            ),
        ),
        Property(
            "generator_is_only_chance",
            "The same seed gives the same result: rng is the only source of chance.",
            1,
            "Draw with rng.random() and rng.choice(V, p=p), and not with np.random or the random module.",
            SameSeed((SINGLE, PAIR)),
        ),
        *manners(
            "plain ints in lists in a dict",
            SAMPLING,
            SAMPLING_BAD,
            SAMPLING_BAD_HIDDEN,
        ),
        Property(
            "large_tree_in_time",
            "64 nodes over 2,000 tokens take well under 2 s.",
            1,
            "A rejection is a few operations on whole rows.",
            Values(
                ### BEGIN HIDDEN TESTS
                hidden=large_sampled_tree,
                one_form=True,
                ### END HIDDEN TESTS
            ),
        ),
    ),
)

TASKS = (TASK_6_1, TASK_6_2, TASK_6_3, TASK_6_4)
