"""Lesson 06, draft trees: what 6.3 and 6.4 must satisfy, the verification of a tree."""

from typing import Any

from dspark_mini.trees import verify_tree_greedy, verify_tree_sampling
from grader.check.judges import LawCase
from grader.lessons.checks.lesson_06 import LESSON
from grader.lessons.tasks import Task, example, law, same_seed, values
from grader.run.child.calling import Seed, call

# --- Task 6.3: verify_tree_greedy -------------------------------------------------------------------------------------


def accepted(path: list[int], tokens: list[int]) -> dict[str, Any]:
    """Write a result down."""
    return {"path": path, "tokens": tokens}


TREE = ([5, 7, 6], [-1, 0, -1])

TASK_6_3 = Task(
    id="6.3",
    lesson=LESSON,
    reference=verify_tree_greedy,
    todo="follow the target down the tree",
    hints=(
        "Stand at the root. The target wants target_tokens[0]. Is there a child of the root with that token? Then go "
        "there: now the target wants the entry that follows this node.",
        "What must you remember while you walk, besides the path? Where does it say what the target wants there, for "
        "the root and for node i? Children come after their parents: how many passes over the nodes are needed?",
        "path = [], stand at −1\n"
        "for each node with its token and its parent:\n"
        "    if the parent is where you stand and the token is target_tokens[where you stand + 1]:\n"
        "        note the node in path, and stand there\n"
        "return path, and the tokens of its nodes followed by target_tokens[where you stand + 1]",
    ),
    returns="plain ints in lists in a dict",
    core=(
        values("follows_the_target", 3)(
            "The path goes from the root to the child that the target wants, again and again.",
            "In the lesson's example the target says 6 at the root, and the child with token 6 is node 2. After node "
            "2 it says 8, and node 2 has no children. The path holds indices of nodes.",
            example(*TREE, [6, 7, 1, 8], gives=accepted([2], [6, 8])),
            example(*TREE, [5, 7, 1, 8], gives=accepted([0, 1], [5, 7, 1])),
        ),
        values("one_token_more", 2)(
            "The target's own token follows the accepted ones: a correction, or the bonus at a leaf.",
            "Where the walk ends, what does the target say? That is emitted, too, even if the path is empty.",
            example(*TREE, [5, 7, 1, 8], gives=accepted([0, 1], [5, 7, 1])),
            example(*TREE, [4, 7, 1, 8], gives=accepted([], [4])),
        ),
        values("only_own_children_count", 2)(
            "Any child of the node may match, whatever its place; a node of another branch never does.",
            "Which nodes are children of the node where you stand? One of these may match, in any place; no other.",
            example([1, 2, 3, 2], [-1, -1, 0, 1], [2, 3, 2, 0, 9], gives=accepted([1, 3], [2, 2, 9])),
            example([1, 2, 3], [-1, -1, 0], [2, 3, 3, 0], gives=accepted([1], [2, 3])),
        ),
        values("no_nodes_no_path", 1)(
            "Without nodes the path is empty and the target's one token is emitted.",
            "What does the target say at the root? It says that whether the root has children or not.",
            example([], [], [4], gives=accepted([], [4])),
        ),
    ),
)


# --- Task 6.4: verify_tree_sampling -----------------------------------------------------------------------------------

HALVES, SURE_0, SURE_1 = [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]
SINGLE = call([2], [-1], [[0.2, 0.2, 0.6]] * 2, [[0.4, 0.3, 0.3], [1.0, 0.0, 0.0]], Seed(0))
PAIR = call([0, 1], [-1, -1], [[0.6, 0.3, 0.1]] * 3, [[0.1, 0.4, 0.5], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]], Seed(0))
DOWN = call([0, 1], [-1, 0], [HALVES, [0.375, 0.625], HALVES], [[0.25, 0.75], HALVES, SURE_0], Seed(0))


def path_and_tokens(result: dict[str, list[int]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Take the accepted path and the tokens out of a result."""
    return tuple(result["path"]), tuple(result["tokens"])


def path_of(result: dict[str, list[int]]) -> tuple[int, ...]:
    """Take the accepted path out of a result."""
    return tuple(result["path"])


def path_in_words(path: tuple[int, ...]) -> str:
    """Say which nodes a path accepts."""
    nodes = ", ".join(map(str, path))
    return f"accepts node{'s' * (len(path) > 1)} {nodes}" if path else "accepts no node"


def walk_in_words(outcome: tuple[tuple[int, ...], tuple[int, ...]]) -> str:
    """Say which nodes are accepted, and which token is drawn after them."""
    path, tokens = outcome
    return f"{path_in_words(path)}, then draws token {tokens[-1]}"


TASK_6_4 = Task(
    id="6.4",
    lesson=LESSON,
    reference=verify_tree_sampling,
    todo="walk down the tree by accepting and rejecting, then draw one token more",
    hints=(
        "At every node there are two rows, p of the target and q of the drafter. A child is accepted with probability "
        "min(1, p(x) / q(x)). If it is rejected, both rows change, since the next child was drawn from what was left "
        "of q, and must only make up for what is still missing of p.",
        "The walk is that of task 6.3, with p and q as variables. When do they become other rows, and which? After a "
        "rejection, which of the two must change first, because the other one needs its old value? What is drawn from "
        "at the end, after an acceptance and after a rejection?",
        "stand at −1; p = target_probs[0]; q = a copy of draft_probs[0]\n"
        "for each node with its token x and its parent, if the parent is where you stand:\n"
        "    if rng.random() * q[x] < p[x]:\n"
        "        note the node; stand there; p = target_probs[node + 1]; q = a copy of draft_probs[node + 1]\n"
        "    otherwise:\n"
        "        p = max(p − q, 0), divided by its sum (if that is 0, p stays)\n"
        "        q[x] = 0; divide q by its sum (if that is 0, no other child can follow)\n"
        "draw one token from p, make it a plain int, and append it",
    ),
    returns="plain ints in lists in a dict",
    core=(
        law("accepts_with_min_one_p_over_q", 2, outcome_of=path_of, samples=200, in_words=path_in_words)(
            "A first child x is accepted with probability min(1, p(x) / q(x)).",
            "Which rows are p and q at the root? If p(x) = .3 and q(x) = .6, how is a chance of ½ made of rng?",
            LawCase(SINGLE, {(0,): 1 / 2, (): 1 / 2}),
        ),
        law("residual_after_rejection", 2, outcome_of=path_and_tokens, samples=200, in_words=walk_in_words)(
            "After a rejection the token comes from norm(max(p − q, 0)), and not from p.",
            "Where p exceeds q, something is still missing after a rejection: for p = (.4, .3, .3) and q = (.2, .2, "
            ".6), .2 of token 0 and .1 of token 1. What is missing of token 2?",
            LawCase(SINGLE, {((0,), (2, 0)): 1 / 2, ((), (0,)): 1 / 3, ((), (1,)): 1 / 6}),
        ),
        law("siblings_in_turn", 3, outcome_of=path_and_tokens, samples=600, in_words=walk_in_words)(
            "The next child is tried with the residual as p, and with q renormalised without the token tried.",
            "Children are tried in the order of their indices, each with a random number of its own. In the lesson's "
            "example child 0 passes with .1/.6; then p = (0, .2, .8) and q = (0, .75, .25), and child 1 passes with "
            "4/15.",
            LawCase(PAIR, {((0,), (0, 2)): 1 / 6, ((1,), (1, 2)): 2 / 9, ((), (2,)): 11 / 18}),
        ),
        law("fresh_rows_after_acceptance", 2, outcome_of=path_and_tokens, samples=200, in_words=walk_in_words)(
            "An accepted child brings its own rows, [node + 1]; nothing is left of the rows of its parent.",
            "Once node 0 is accepted, which rows judge its child, and from which row does the last token come?",
            LawCase(DOWN, {((0, 1), (0, 1, 0)): 0.4, ((0,), (0, 0)): 0.1, ((), (1,)): 0.5}),
        ),
        values("sure_target_is_followed", 2)(
            "Where the target is sure of its tokens, the path is the one that it says, whatever rng draws.",
            "Where every p is 0 or 1 nothing is left to chance: not even a random number of 0 accepts p = 0.",
            example([0, 1], [-1, -1], [HALVES] * 3, [SURE_1, SURE_0, SURE_0], Seed(0), gives=accepted([1], [1, 0])),
            example([0], [-1], [HALVES] * 2, [SURE_1, SURE_0], Seed(0, (0.0,)), gives=accepted([], [1])),
            example([0], [-1], [HALVES] * 2, [SURE_0, SURE_1], Seed(0, (0.0,)), gives=accepted([0], [0, 1])),
            example(
                [0, 1, 1],
                [-1, 0, -1],
                [HALVES] * 4,
                [SURE_0, SURE_1, SURE_0, SURE_1],
                Seed(0),
                gives=accepted([0, 1], [0, 1, 0]),
            ),
        ),
        values("one_token_more", 1)(
            "Without nodes, at a leaf and after a rejection, one more token is drawn.",
            "Where the walk ends, one token is drawn from what p is there; that holds for an empty path, too.",
            example([0], [-1], [HALVES, HALVES], [SURE_1, SURE_0], Seed(0), gives=accepted([], [1])),
            example([], [], [HALVES], [SURE_1], Seed(0), gives=accepted([], [1])),
        ),
        same_seed(1, SINGLE, PAIR),
    ),
    examples=(
        example([0, 1], [-1, -1], [[0.75, 0.25]] * 3, [SURE_0, SURE_1, SURE_0], Seed(0), gives=accepted([0], [0, 1])),
    ),
)

TASKS = (TASK_6_3, TASK_6_4)
