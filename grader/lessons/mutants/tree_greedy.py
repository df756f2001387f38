"""Variants of task 6.3: what learners write for verify_tree_greedy, wrong and right."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from dspark_mini.inputs import token_ids, tree_nodes
from grader.lessons.mutants import right, wrong

Walk = dict[str, list[int]]
TASK = "6.3"


def _read(tokens: Any, parents: Any, target_tokens: Any) -> tuple[list[int], list[int], list[int]]:
    """Check the arguments as the top of the stub does."""
    nodes, above = tree_nodes("tokens", tokens, "parents", parents)
    targets = token_ids("target_tokens", target_tokens)
    if len(targets) != len(nodes) + 1:
        raise ValueError(f"target_tokens has {len(targets)} entries for {len(nodes)} nodes.")
    return nodes, above, targets


def _walk(nodes: list[int], above: list[int], targets: list[int]) -> Walk:
    """Walk as it should be."""
    path, emitted, last = [], [targets[0]], -1
    for node, (token, parent) in enumerate(zip(nodes, above)):
        if parent == last and token == emitted[-1]:
            path.append(node)
            emitted.append(targets[node + 1])
            last = node
    return {"path": path, "tokens": emitted}


# --- Wrong: where the target's word stands -----------------------------------------------------------


@wrong(TASK, "follows_the_target", "target_tokens[i] belongs to node i: what the target says in its place.")
def target_in_place_of_the_node(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    path: list[int] = []
    last = -1
    for node, (token, parent) in enumerate(zip(nodes, above)):
        if parent == last and token == targets[node]:
            path.append(node)
            last = node
    return {"path": path, "tokens": [*(nodes[i] for i in path), targets[last + 1]]}


@wrong(TASK, "follows_the_target", "target_tokens follows the depth: the k-th entry is the k-th token of the text.")
def target_by_depth(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    path: list[int] = []
    last = -1
    for node, (token, parent) in enumerate(zip(nodes, above)):
        if parent == last and token == targets[len(path)]:
            path.append(node)
            last = node
    return {"path": path, "tokens": [*(nodes[i] for i in path), targets[len(path)]]}


@wrong(TASK, "follows_the_target", "One token of the tree is enough: the child of the root.")
def first_level_only(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    for node, (token, parent) in enumerate(zip(nodes, above)):
        if parent == -1 and token == targets[0]:
            return {"path": [node], "tokens": [token, targets[node + 1]]}
    return {"path": [], "tokens": targets[:1]}


@wrong(TASK, "follows_the_target", "The walk goes from a leaf up to the root, over nodes that the target agrees with.")
def longest_agreeing_tail(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    best: list[int] = []
    for leaf in range(len(nodes)):
        path: list[int] = []
        at = leaf
        while at >= 0 and targets[above[at] + 1] == nodes[at]:
            path.insert(0, at)
            at = above[at]
        best = path if len(path) > len(best) else best
    return {"path": best, "tokens": [*(nodes[i] for i in best), targets[(best or [-1])[-1] + 1]]}


@wrong(TASK, "follows_the_target", "The accepted path is the one that agrees in most of its nodes.")
def most_agreeing_path(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    best: tuple[float, list[int]] = (0.0, [])
    for leaf in range(len(nodes)):
        path: list[int] = []
        at = leaf
        while at >= 0:
            path.insert(0, at)
            at = above[at]
        share = sum(targets[above[i] + 1] == nodes[i] for i in path)
        best = max(best, (share, path), key=lambda pair: pair[0])
    path = best[1]
    return {"path": path, "tokens": [*(nodes[i] for i in path), targets[(path or [-1])[-1] + 1]]}


# --- Wrong: the token behind the path ----------------------------------------------------------------


@wrong(TASK, "one_token_more", "Only what was accepted is emitted.")
def no_token_more(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    walk = _walk(*_read(tokens, parents, target_tokens))
    return walk | {"tokens": walk["tokens"][:-1]}


@wrong(TASK, "one_token_more", "At a leaf there is nothing to correct, so no token is added.")
def no_bonus_at_a_leaf(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    walk = _walk(nodes, above, targets)
    is_leaf = bool(walk["path"]) and walk["path"][-1] not in above
    return walk | {"tokens": walk["tokens"][:-1]} if is_leaf else walk


@wrong(TASK, "one_token_more", "The correction comes from the root's row.")
def correction_from_the_root(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    walk = _walk(nodes, above, targets)
    return walk | {"tokens": [*walk["tokens"][:-1], targets[0]]}


@wrong(TASK, "one_token_more", "The token behind node i is target_tokens[i].")
def correction_one_too_early(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    walk = _walk(nodes, above, targets)
    return walk | {"tokens": [*walk["tokens"][:-1], targets[(walk["path"] or [0])[-1]]]}


@wrong(TASK, "one_token_more", "After a mismatch the tree's own next token is emitted.")
def draft_token_as_correction(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    walk = _walk(nodes, above, targets)
    children = [nodes[i] for i, p in enumerate(above) if p == (walk["path"] or [-1])[-1]]
    return walk | {"tokens": [*walk["tokens"][:-1], *(children or walk["tokens"][-1:])[:1]]}


# --- Wrong: which nodes count ------------------------------------------------------------------------


@wrong(TASK, "only_own_children_count", "Only the first child of a node is looked at.")
def first_child_only(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    path, emitted, last = [], [targets[0]], -1
    while last in above:
        node = above.index(last)
        if nodes[node] != emitted[-1]:
            break
        path.append(node)
        emitted.append(targets[node + 1])
        last = node
    return {"path": path, "tokens": emitted}


@wrong(TASK, "only_own_children_count", "The next node with the wanted token is the one.")
def any_later_node(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, _, targets = _read(tokens, parents, target_tokens)
    path, emitted = [], [targets[0]]
    for node, token in enumerate(nodes):
        if token == emitted[-1]:
            path.append(node)
            emitted.append(targets[node + 1])
    return {"path": path, "tokens": emitted}


@wrong(TASK, "only_own_children_count", "A node at the right depth with the wanted token is the one.")
def any_node_of_the_depth(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    depths: list[int] = []
    for parent in above:
        depths.append(1 if parent < 0 else depths[parent] + 1)
    path, emitted = list[int](), [targets[0]]
    while True:
        found = [i for i, d in enumerate(depths) if d == len(path) + 1 and nodes[i] == emitted[-1]]
        if not found:
            return {"path": path, "tokens": emitted}
        path.append(found[0])
        emitted.append(targets[found[0] + 1])


@wrong(TASK, "only_own_children_count", "The last child stands for the node.")
def last_child_only(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    path, emitted, last = [], [targets[0]], -1
    while last in above:
        node = max(i for i, parent in enumerate(above) if parent == last)
        if nodes[node] != emitted[-1]:
            break
        path.append(node)
        emitted.append(targets[node + 1])
        last = node
    return {"path": path, "tokens": emitted}


@wrong(TASK, "only_own_children_count", "The first wrong child ends the walk.")
def stops_at_the_first_sibling(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    path, emitted, last = [], [targets[0]], -1
    for node, (token, parent) in enumerate(zip(nodes, above)):
        if parent == last:
            if token != emitted[-1]:
                break
            path.append(node)
            emitted.append(targets[node + 1])
            last = node
    return {"path": path, "tokens": emitted}


@wrong(TASK, "no_nodes_no_path", "Without nodes nothing is emitted.")
def nothing_without_nodes(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    return _walk(nodes, above, targets) if nodes else {"path": [], "tokens": []}


@wrong(TASK, "no_nodes_no_path", "A tree has nodes.")
def empty_is_refused(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    if not nodes:
        raise ValueError("tokens is empty.")
    return _walk(nodes, above, targets)


# --- Wrong: manners ----------------------------------------------------------------------------------


@wrong(TASK, "plain_types", "What comes out of an array is an int.")
def numpy_integers(tokens: Any, parents: Any, target_tokens: Any) -> Any:
    walk = _walk(*_read(tokens, parents, target_tokens))
    return {name: list(np.array(column, dtype=int)) for name, column in walk.items()}


@wrong(TASK, "plain_types", "A tuple is as good as a list.")
def tuples_for_lists(tokens: Any, parents: Any, target_tokens: Any) -> Any:
    return {name: tuple(column) for name, column in _walk(*_read(tokens, parents, target_tokens)).items()}


@wrong(TASK, "no_memory", "The walk goes on where the last one ended.")
def path_as_default(tokens: Any, parents: Any, target_tokens: Any, path: list[int] = []) -> Walk:  # noqa: B006
    walk = _walk(*_read(tokens, parents, target_tokens))
    path.extend(walk["path"])
    return walk | {"path": path}


@wrong(TASK, "lists_and_arrays", "A list has .index, so an array has it too.")
def lists_only(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    if nodes:
        parents.index(-1)
    return _walk(nodes, above, targets)


@wrong(TASK, "input_unchanged", "Nodes of other branches are best crossed out.")
def crossed_out(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    walk = _walk(*_read(tokens, parents, target_tokens))
    for node in range(len(tokens)):
        if node not in walk["path"]:
            tokens[node] = -1
    return walk


@wrong(TASK, "bad_input_raises", "Of equal siblings the first one counts.")
def equal_siblings_allowed(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    tree_nodes("tokens", range(len(tokens)), "parents", parents)
    targets = token_ids("target_tokens", target_tokens)
    if len(targets) != len(tokens) + 1:
        raise ValueError("target_tokens has another length than tokens.")
    return _walk(token_ids("tokens", tokens), [int(p) for p in parents], targets)


@wrong(TASK, "bad_input_raises", "Target tokens beyond the nodes do no harm.")
def surplus_targets_allowed(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    return _walk(*_read(tokens, parents, target_tokens[: len(tokens) + 1]))


@wrong(TASK, "error_names_offender", "The first of two equal siblings is at fault.")
def first_sibling_named(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    pairs = list(zip(list(parents), list(tokens)))
    for node, pair in enumerate(pairs):
        if pairs.count(pair) > 1 and -1 <= pair[0] < node:
            raise ValueError(f"tokens[{node}] has an equal sibling.")
    return _walk(*_read(tokens, parents, target_tokens))


# --- Right, in many styles ---------------------------------------------------------------------------


@right(TASK, "A dict leads from a node and a token to the child.")
def dict_of_children(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    child = {(parent, token): node for node, (parent, token) in enumerate(zip(above, nodes))}
    path: list[int] = []
    said = [targets[0]]
    at = -1
    while (at, said[-1]) in child:
        at = child[at, said[-1]]
        path += [at]
        said += [targets[at + 1]]
    return dict(tokens=said, path=path)


@right(TASK, "A recursion takes one step and asks for the rest, and a line goes to stdout.")
def recursive(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = _read(tokens, parents, target_tokens)
    print("walking", file=sys.stdout)

    def below(node: int) -> list[int]:
        matching = [i for i in range(len(nodes)) if above[i] == node and nodes[i] == targets[node + 1]]
        return [matching[0], *below(matching[0])] if matching else []

    path = below(-1)
    return {"path": path, "tokens": [targets[i + 1] for i in (-1, *path)]}


@right(TASK, "All nodes that agree with the target are marked by arrays first; the path is then read off.")
def marked_by_arrays(tokens: Any, parents: Any, target_tokens: Any) -> Walk:
    nodes, above, targets = (np.array(column, dtype=int) for column in _read(tokens, parents, target_tokens))
    agrees = nodes == targets[above + 1] if nodes.size else np.zeros(0, dtype=bool)
    alive = np.zeros(nodes.size, dtype=bool)
    for node in range(nodes.size):
        alive[node] = agrees[node] and (above[node] < 0 or alive[above[node]])
    path = np.flatnonzero(alive)
    last = int(targets[path[-1] + 1]) if path.size else int(targets[0])
    return {"path": path.tolist(), "tokens": [*nodes[path].tolist(), last]}
