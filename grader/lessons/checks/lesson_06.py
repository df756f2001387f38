"""Lesson 06, draft trees: what its tasks must satisfy."""

import math
from operator import itemgetter
from typing import Any

import numpy as np

from dspark_mini.trees import build_conditional_tree, tree_mask
from grader.lessons.checks.lesson_02 import mask
from grader.lessons.tasks import Task, example, values

LESSON = "06_draft_trees"
INF = math.inf


# --- Task 6.1: build_conditional_tree ---------------------------------------------------------------------------------


def log_of(*weights: float) -> list[float]:
    """Write a row of logits as the weights that they stand for; a weight of 0 is a masked token."""
    return [math.log(n) if n else -INF for n in weights]


def grown(tokens: list[int], parents: list[int], path_probabilities: list[float]) -> dict[str, Any]:
    """Write a tree down; a node's depth follows from its parent's."""
    depths: list[int] = []
    for parent in parents:
        depths.append(1 if parent < 0 else depths[parent] + 1)
    return {"tokens": tokens, "parents": parents, "depths": depths, "log_probs": log_of(*path_probabilities)}


def nodes_of(tree: dict[str, Any]) -> dict[str, Any]:
    """Leave the log-probabilities out: they have a property of their own."""
    return {name: tree[name] for name in ("tokens", "parents", "depths")}


EVEN = [0.0, 0.0]

TASK_6_1 = Task(
    id="6.1",
    lesson=LESSON,
    reference=build_conditional_tree,
    todo="grow the tree best first",
    hints=(
        "A candidate is a child that is not in the tree yet: it knows its token, its parent, its depth and the "
        "log-probability of its whole path. Only the best of all candidates enters, wherever it hangs; and only then "
        "do its own children become candidates.",
        "Do the lesson's example with pencil and paper, and write down all candidates after each step. What must be "
        "written down with a candidate, so that its children can be made when it enters? In which order would tuples "
        "of these things be sorted just as the ties want it? Can the root be treated like any other candidate?",
        "the first candidate is the root: log-probability 0, the anchor's token, depth 0\n"
        "while there is a candidate and the tree has fewer than max_nodes nodes, the root not counted:\n"
        "    pop (cost, token, parent, depth); write the new node down: its index is the number of nodes before it\n"
        "    if depth < γ:\n"
        "        scores = row of logits at depth + bias of token\n"
        "        log-softmax: scores − max − log(sum(exp(scores − max)))\n"
        "        for each of the `width` best tokens that is not −inf:\n"
        "            push (cost − its log-probability, the token, index of the node, depth + 1)\n"
        "return the nodes without the root, as four lists",
    ),
    returns="plain ints and floats in lists in a dict",
    core=(
        values("children_of_the_root", 1, part=nodes_of)(
            "With one row of logits the tree is the root's children, the likeliest first.",
            "Children of the root have parent −1 and depth 1. The root itself is in none of the lists.",
            example([log_of(1, 3)], 9, {}, 2, 9, gives=grown([1, 0], [-1, -1], [0.75, 0.25])),
        ),
        values("best_candidate_enters_next", 2, part=nodes_of)(
            "Of all candidates the one with the likeliest path enters next, wherever it hangs.",
            "In the lesson's example, after token 0 with .6 has entered, the candidates are token 1 with .4 below the "
            "root, and .6 · 3/4 and .6 · 1/4 below token 0. Is a bias in your numbers, and is the path in them?",
            example(
                [log_of(6, 4), EVEN], 9, {0: log_of(3, 1)}, 2, 3, gives=grown([0, 0, 1], [-1, 0, -1], [0.6, 0.45, 0.4])
            ),
        ),
        values("children_follow_own_parent", 2, part=nodes_of)(
            "The children of a node come from U at its depth plus the bias of the node's own token.",
            "For the node that has just entered: which row of logits do its children come from, the bias of which "
            "token is added, and which index do they have as their parent?",
            example(
                [log_of(3, 2), EVEN], 0, {0: EVEN, 1: log_of(1, 0.125)}, 1, 9, gives=grown([0, 0], [-1, 0], [0.6, 0.3])
            ),
            example(
                [EVEN] * 2,
                9,
                {0: log_of(1, 4), 9: log_of(1, 5)},
                2,
                4,
                gives=grown([1, 0, 1, 0], [-1, 0, 0, -1], [5 / 6, 5 / 12, 5 / 12, 1 / 6]),
            ),
        ),
        values("log_probs_of_whole_paths", 2, part=itemgetter("log_probs"))(
            "log_probs are sums along the path of log-softmax values over the whole vocabulary.",
            "exp of an entry is the node's share of the row, bias included, times its parent's. Can exp overflow?",
            example([log_of(3, 1, 1)], 0, {0: log_of(1, 2, 1)}, 1, 1, gives=grown([0], [-1], [0.5])),
            example([log_of(3, 1, 1), [1000.0, 1000.0, -INF]], 0, {}, 1, 2, gives=grown([0, 0], [-1, 0], [0.6, 0.3])),
        ),
        values("bounds_hold", 1, part=nodes_of)(
            "No node has more than width children or a depth beyond γ, and there are at most max_nodes.",
            "Count the nodes, the children per node and the levels. What ends your tree first, and what should?",
            example([log_of(1, 2, 1), log_of(1, 1, 6)], 0, {}, 1, 5, gives=grown([1, 2], [-1, 0], [0.5, 0.375])),
            example([[0.0, 1.0]], 0, {}, 2, 0, gives=grown([], [], [])),
            example([log_of(1, 3)], 0, {}, 5, 9, gives=grown([1, 0], [-1, -1], [0.75, 0.25])),
        ),
        values("ties_lower_token_then_older", 1, part=nodes_of)(
            "Ties go to the lower token id, then to the older parent, also where the width cuts.",
            "Where candidates are equally likely, by what are they ordered first, by what second?",
            example(
                [[0.0] * 4, log_of(1, 1, 0, 0)],
                0,
                {},
                2,
                6,
                gives=grown([0, 1, 0, 0, 1, 1], [-1, -1, 0, 1, 0, 1], [0.25, 0.25] + [0.125] * 4),
            ),
        ),
        values("impossible_children_left_out", 1, part=nodes_of)(
            "A child of probability 0 (a logit of −inf) never enters the tree.",
            "Which tokens of each row are possible at all? There may be fewer of them than the width.",
            example(
                [[-INF, 0.0, 0.0], [0.0, -INF, -INF]],
                2,
                {1: [0.5, -INF, 0.5]},
                3,
                9,
                gives=grown([1, 0, 2, 0], [-1, 0, -1, 2], [0.5] * 4),
            ),
        ),
        values("anchor_and_missing_rows", 1, part=nodes_of)(
            "The anchor's bias row serves the root alone; a missing row adds nothing, an unused one is not read.",
            "For which nodes does the anchor's bias count, and for which not?",
            example(
                [EVEN, log_of(1, 3)],
                9,
                {9: log_of(6, 1), 7: [math.nan, 0.0]},
                1,
                2,
                gives=grown([0, 1], [-1, 0], [6 / 7, 9 / 14]),
            ),
        ),
    ),
)


# --- Task 6.2: tree_mask ----------------------------------------------------------------------------------------------

TASK_6_2 = Task(
    id="6.2",
    lesson=LESSON,
    reference=tree_mask,
    todo="say who may look at whom",
    hints=(
        "A node's ancestors are its parent and the ancestors of its parent. Parents come before their children, so "
        "the parent's row is finished when you reach its child.",
        "Which nodes does a node see that its parent does not see? If the parent's row were finished, what would be "
        "left to do? In which order are the rows finished, and what is different for a parent of −1?",
        "own = identity matrix of booleans                                  → (n, n)\n"
        "for each node with its parent:\n"
        "    if the parent is not the root: row of the node |= row of the parent\n"
        "return np.ones for the context on the left, own on the right       → (n, context_length + n)",
    ),
    returns="booleans in an array",
    core=(
        values("ancestors_and_itself", 3)(
            "A node sees its parent, its parent's parent and so on, and itself.",
            "Follow `parents` from each node up to the root: these are the nodes that it sees, and itself.",
            example([-1, 0, -1], 1, gives=mask("1100", "1110", "1001")),
            example([-1, 0, 1], 1, gives=mask("1100", "1110", "1111")),
        ),
        values("other_branches_hidden", 2)(
            "A node sees nothing of another branch: no sibling, no uncle, no descendant.",
            "For parents [-1, -1, 0, 1] nodes 0 and 1 begin two branches: node 2 hangs below node 0, node 3 below "
            "node 1.",
            example([-1, -1, 0, 1], 1, gives=mask("11000", "10100", "11010", "10101")),
        ),
        values("whole_context_first", 1)(
            "The first context_length columns are True for every node.",
            "The root is the last position of the context, so all of the context lies before every node.",
            example([-1, -1], 3, gives=mask("11110", "11101")),
        ),
        values("empty_tree_and_no_context", 1)(
            "Without nodes the mask has no rows but all its columns; without context only the nodes are left.",
            "How many rows and columns are there without nodes, and how many without context?",
            example([], 3, gives=np.zeros((0, 3), dtype=bool)),
            example([-1, 0], 0, gives=mask("10", "11")),
        ),
    ),
)

TASKS = (TASK_6_1, TASK_6_2)
