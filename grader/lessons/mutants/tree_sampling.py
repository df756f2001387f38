"""Variants of task 6.4: what learners write for verify_tree_sampling, wrong and right."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from dspark_mini.inputs import check_tree_rows, probability_rows, tree_nodes
from grader.lessons.mutants import right, wrong

Walk = dict[str, list[int]]
Floats = np.ndarray[Any, Any]
TASK = "6.4"


def _read(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any) -> tuple[Any, ...]:
    """Check the arguments as the top of the stub does; the rows are copies."""
    nodes, above = tree_nodes("tokens", tokens, "parents", parents)
    drafts, targets = probability_rows("draft_probs", draft_probs), probability_rows("target_probs", target_probs)
    check_tree_rows(nodes, above, drafts, targets)
    return nodes, above, drafts.copy(), targets.copy()


def _residual(p: Floats, q: Floats) -> Floats:
    rest = np.maximum(p - q, 0.0)
    return rest / rest.sum() if rest.any() else p


def _without(q: Floats, token: int) -> Floats:
    left = np.where(np.arange(q.size) == token, 0.0, q)
    return left / (left.sum() or 1.0)


def _draw(rng: Any, p: Floats) -> int:
    return int(rng.choice(p.size, p=p / p.sum()))


def _accept(rng: Any, p: Floats, q: Floats, x: int) -> bool:
    return bool(rng.random() * q[x] < p[x])


def _walk(
    arguments: tuple[Any, ...],
    rng: Any,
    accept: Callable[..., bool] = _accept,
    new_p: Callable[[Floats, Floats, int], Floats] = lambda p, q, x: _residual(p, q),
    new_q: Callable[[Floats, int], Floats] = _without,
    draw: Callable[[Any, Floats], int] = _draw,
) -> Walk:
    """Walk as it should be, apart from what the arguments change."""
    nodes, above, drafts, targets = _read(*arguments)
    path: list[int] = []
    last, p, q = -1, targets[0], drafts[0]
    for node, (x, parent) in enumerate(zip(nodes, above)):
        if parent != last:
            continue
        if accept(rng, p, q, x):
            path.append(node)
            last, p, q = node, targets[node + 1], drafts[node + 1]
        else:
            p, q = new_p(p, q, x), new_q(q, x)
    return {"path": path, "tokens": [*(nodes[i] for i in path), draw(rng, p)]}


# --- Wrong: the first child --------------------------------------------------------------------------


@wrong(TASK, "accepts_with_min_one_p_over_q", "A child is accepted if a token drawn from the target equals it.")
def exact_match(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, above, _, targets = _read(tokens, parents, draft_probs, target_probs)
    path, emitted, last = [], [_draw(rng, targets[0])], -1
    for node, (x, parent) in enumerate(zip(nodes, above)):
        if parent == last and x == emitted[-1]:
            path.append(node)
            emitted.append(_draw(rng, targets[node + 1]))
            last = node
    return {"path": path, "tokens": emitted}


@wrong(TASK, "accepts_with_min_one_p_over_q", "The ratio is q over p.")
def ratio_upside_down(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    arguments = (tokens, parents, draft_probs, target_probs)
    return _walk(arguments, rng, accept=lambda rng, p, q, x: bool(rng.random() * p[x] < q[x]))


@wrong(TASK, "accepts_with_min_one_p_over_q", "The target accepts with its own probability.")
def target_probability_alone(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    arguments = (tokens, parents, draft_probs, target_probs)
    return _walk(arguments, rng, accept=lambda rng, p, q, x: bool(rng.random() < p[x]))


@wrong(TASK, "accepts_with_min_one_p_over_q", "A child is accepted if the target likes it at least as much.")
def accepted_by_comparison(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    arguments = (tokens, parents, draft_probs, target_probs)
    return _walk(arguments, rng, accept=lambda rng, p, q, x: bool(p[x] >= q[x]))


@wrong(
    TASK, "accepts_with_min_one_p_over_q", "A softmax over the child's one logit is its probability: it is always 1."
)
def softmax_of_one_logit(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    def accept(rng: Any, p: Floats, q: Floats, x: int) -> bool:
        logit = np.log(p[x : x + 1] + 1e-30)
        return bool(rng.random() < (np.exp(logit) / np.exp(logit).sum())[0])

    return _walk((tokens, parents, draft_probs, target_probs), rng, accept=accept)


@wrong(TASK, "accepts_with_min_one_p_over_q", "The target's probability is measured by its best token's.")
def divided_by_the_targets_best(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    arguments = (tokens, parents, draft_probs, target_probs)
    return _walk(arguments, rng, accept=lambda rng, p, q, x: bool(rng.random() * p.max() < p[x]))


@wrong(TASK, "accepts_with_min_one_p_over_q", "The rows of node i are those that judge node i.")
def rows_of_the_child(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, above, drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    path: list[int] = []
    last = -1
    for node, (x, parent) in enumerate(zip(nodes, above)):
        if parent == last and _accept(rng, targets[node + 1], drafts[node + 1], x):
            path.append(node)
            last = node
    return {"path": path, "tokens": [*(nodes[i] for i in path), _draw(rng, targets[last + 1])]}


@wrong(TASK, "accepts_with_min_one_p_over_q", "The target's argmax decides at any temperature.")
def greedy_acceptance(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    arguments = (tokens, parents, draft_probs, target_probs)
    return _walk(arguments, rng, accept=lambda rng, p, q, x: bool(p.argmax() == x))


# --- Wrong: after a rejection ------------------------------------------------------------------------


@wrong(TASK, "residual_after_rejection", "A rejected child is corrected by a draw from the target.")
def drawn_from_the_target(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    _nodes, _above, _drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    walk = _walk((tokens, parents, draft_probs, target_probs), rng)
    return walk | {"tokens": [*walk["tokens"][:-1], _draw(rng, targets[(walk["path"] or [-1])[-1] + 1])]}


@wrong(TASK, "residual_after_rejection", "p without the rejected token is what is left of p.")
def target_without_the_token(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    arguments = (tokens, parents, draft_probs, target_probs)
    return _walk(arguments, rng, new_p=lambda p, q, x: _without(p, x))


@wrong(TASK, "residual_after_rejection", "The residual is the distance |p − q|.")
def absolute_difference(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    arguments = (tokens, parents, draft_probs, target_probs)
    return _walk(arguments, rng, new_p=lambda p, q, x: np.abs(p - q) / np.abs(p - q).sum())


@wrong(TASK, "residual_after_rejection", "After a rejection the best token of the residual is emitted.")
def best_of_the_residual(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    arguments = (tokens, parents, draft_probs, target_probs)
    return _walk(arguments, rng, draw=lambda rng, p: int(p.argmax()))


@wrong(TASK, "residual_after_rejection", "The drafter proposes again after a rejection.")
def drawn_from_the_draft(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    _nodes, above, drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    walk = _walk((tokens, parents, draft_probs, target_probs), rng)
    end = (walk["path"] or [-1])[-1]
    row = drafts[end + 1] if end in above else targets[end + 1]
    return walk | {"tokens": [*walk["tokens"][:-1], _draw(rng, row)]}


# --- Wrong: siblings ---------------------------------------------------------------------------------


@wrong(TASK, "siblings_in_turn", "q stays as it was: all children are drawn from it.")
def q_with_replacement(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    return _walk((tokens, parents, draft_probs, target_probs), rng, new_q=lambda q, x: q)


@wrong(TASK, "siblings_in_turn", "The tried token is taken out of q, and the rest stays as it was.")
def q_not_renormalised(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    arguments = (tokens, parents, draft_probs, target_probs)
    return _walk(arguments, rng, new_q=lambda q, x: np.where(np.arange(q.size) == x, 0.0, q))


@wrong(TASK, "siblings_in_turn", "Every sibling is tried against the target's own row; the residual is for the end.")
def p_stays_until_the_end(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, above, drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    path: list[int] = []
    last, p, q, rest = -1, targets[0], drafts[0], targets[0]
    for node, (x, parent) in enumerate(zip(nodes, above)):
        if parent != last:
            continue
        if _accept(rng, p, q, x):
            path.append(node)
            last, p, q, rest = node, targets[node + 1], drafts[node + 1], targets[node + 1]
        else:
            rest, q = _residual(rest, q), _without(q, x)
    return {"path": path, "tokens": [*(nodes[i] for i in path), _draw(rng, rest)]}


@wrong(TASK, "siblings_in_turn", "First q loses the token, then the residual is taken.")
def q_before_p(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    arguments = (tokens, parents, draft_probs, target_probs)
    return _walk(arguments, rng, new_p=lambda p, q, x: _residual(p, _without(q, x)))


@wrong(TASK, "siblings_in_turn", "A rejected node has no other children to try.")
def one_try_a_node(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, above, drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    path: list[int] = []
    last, p, q = -1, targets[0], drafts[0]
    for node, (x, parent) in enumerate(zip(nodes, above)):
        if parent != last:
            continue
        if not _accept(rng, p, q, x):
            p = _residual(p, q)
            break
        path.append(node)
        last, p, q = node, targets[node + 1], drafts[node + 1]
    return {"path": path, "tokens": [*(nodes[i] for i in path), _draw(rng, p)]}


@wrong(TASK, "siblings_in_turn", "The drafter's favourite child is tried first.")
def likeliest_child_first(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, above, drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    path: list[int] = []
    last, p, q = -1, targets[0], drafts[0]
    while True:
        children = [i for i, parent in enumerate(above) if parent == last]
        for node in sorted(children, key=lambda i: -drafts[last + 1][nodes[i]]):
            if _accept(rng, p, q, nodes[node]):
                path.append(node)
                last, p, q = node, targets[node + 1], drafts[node + 1]
                break
            p, q = _residual(p, q), _without(q, nodes[node])
        else:
            return {"path": path, "tokens": [*(nodes[i] for i in path), _draw(rng, p)]}


@wrong(TASK, "siblings_in_turn", "One random number is enough for all the children of a node.")
def one_number_for_all(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    number = rng.random()
    arguments = (tokens, parents, draft_probs, target_probs)
    return _walk(arguments, rng, accept=lambda rng, p, q, x: bool(number * q[x] < p[x]))


@wrong(TASK, "siblings_in_turn", "A rejected child came from a one-hot q, so that p only loses its token.")
def one_hot_siblings(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    arguments = (tokens, parents, draft_probs, target_probs)
    accept = lambda rng, p, q, x: bool(rng.random() < p[x])  # noqa: E731
    return _walk(arguments, rng, accept=accept, new_p=lambda p, q, x: _without(p, x))


@wrong(TASK, "siblings_in_turn", "Path probabilities are averaged over the siblings, and the better half is tried.")
def averaged_siblings(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, above, _drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    path: list[int] = []
    last = -1
    while last in above:
        children = [i for i, parent in enumerate(above) if parent == last]
        p = targets[last + 1]
        mean = sum(p[nodes[i]] for i in children) / len(children)
        good = [i for i in children if p[nodes[i]] >= mean]
        if rng.random() >= mean:
            break
        last = good[0]
        path.append(last)
    return {"path": path, "tokens": [*(nodes[i] for i in path), _draw(rng, targets[last + 1])]}


# --- Wrong: further down -----------------------------------------------------------------------------


def _carrying(arguments: tuple[Any, ...], rng: Any, keep_p: bool, keep_q: bool) -> Walk:
    """Walk, but take over the old p or the old q when a child is accepted."""
    nodes, above, drafts, targets = _read(*arguments)
    path: list[int] = []
    last, p, q = -1, targets[0], drafts[0]
    for node, (x, parent) in enumerate(zip(nodes, above)):
        if parent != last:
            continue
        if _accept(rng, p, q, x):
            path.append(node)
            last = node
            p, q = p if keep_p else targets[node + 1], q if keep_q else drafts[node + 1]
        else:
            p, q = _residual(p, q), _without(q, x)
    return {"path": path, "tokens": [*(nodes[i] for i in path), _draw(rng, p)]}


@wrong(TASK, "fresh_rows_after_acceptance", "The drafter's row serves the whole path.")
def old_draft_row(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    return _carrying((tokens, parents, draft_probs, target_probs), rng, keep_p=False, keep_q=True)


@wrong(TASK, "fresh_rows_after_acceptance", "What has become of p holds until the end of the walk.")
def old_target_row(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    return _carrying((tokens, parents, draft_probs, target_probs), rng, keep_p=True, keep_q=False)


@wrong(TASK, "fresh_rows_after_acceptance", "The bonus token comes from the row that accepted the last child.")
def bonus_from_the_parents_row(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    _nodes, above, _drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    walk = _walk((tokens, parents, draft_probs, target_probs), rng)
    end = (walk["path"] or [-1])[-1]
    if end < 0 or end in above:
        return walk
    return walk | {"tokens": [*walk["tokens"][:-1], _draw(rng, targets[above[end] + 1])]}


@wrong(TASK, "fresh_rows_after_acceptance", "Acceptance goes by whole paths: the product of p over the product of q.")
def product_of_ratios(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, above, drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    path: list[int] = []
    last, p, q, ratio = -1, targets[0], drafts[0], 1.0
    for node, (x, parent) in enumerate(zip(nodes, above)):
        if parent != last:
            continue
        if rng.random() < ratio * p[x] / q[x]:
            ratio *= p[x] / q[x]
            path.append(node)
            last, p, q = node, targets[node + 1], drafts[node + 1]
        else:
            p, q = _residual(p, q), _without(q, x)
    return {"path": path, "tokens": [*(nodes[i] for i in path), _draw(rng, p)]}


@wrong(TASK, "sure_target_is_followed", "A node without a parent in the path may follow too.")
def any_later_node(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, _, drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    path: list[int] = []
    p, q = targets[0], drafts[0]
    for node, x in enumerate(nodes):
        if q[x] and _accept(rng, p, q, x):
            path.append(node)
            p, q = targets[node + 1], drafts[node + 1]
        else:
            p, q = _residual(p, q), _without(q, x)
    return {"path": path, "tokens": [*(nodes[i] for i in path), _draw(rng, p)]}


@wrong(TASK, "sure_target_is_followed", "A random number of 0 must be able to accept every child: <= and not <.")
def impossible_child_accepted(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    def accept(rng: Any, p: Floats, q: Floats, x: int) -> bool:
        return bool(np.floor(rng.random() * 2.0) / 2.0 * q[x] <= p[x])

    return _walk((tokens, parents, draft_probs, target_probs), rng, accept=accept)


@wrong(TASK, "sure_target_is_followed", "target_probs[i] is the row behind node i.")
def rows_one_too_early(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, above, drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    path: list[int] = []
    last, p, q = -1, targets[0], drafts[0]
    for node, (x, parent) in enumerate(zip(nodes, above)):
        if parent != last:
            continue
        if q[x] and _accept(rng, p, q, x):
            path.append(node)
            last, p, q = node, targets[node], drafts[node]
        else:
            p, q = _residual(p, q), _without(q, x)
    return {"path": path, "tokens": [*(nodes[i] for i in path), _draw(rng, p)]}


@wrong(TASK, "one_token_more", "Only accepted tokens are emitted.")
def no_token_more(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    walk = _walk((tokens, parents, draft_probs, target_probs), rng)
    return walk | {"tokens": walk["tokens"][:-1]}


@wrong(TASK, "one_token_more", "At a leaf everything was accepted, so nothing is drawn.")
def no_bonus_at_a_leaf(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    walk = _walk((tokens, parents, draft_probs, target_probs), rng)
    is_leaf = bool(walk["path"]) and walk["path"][-1] not in list(parents)
    return walk | {"tokens": walk["tokens"][:-1]} if is_leaf else walk


# --- Wrong: chance and manners -----------------------------------------------------------------------


@wrong(TASK, "generator_is_only_chance", "NumPy's own random numbers are as random as those of rng.")
def global_numbers(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    accept = lambda rng, p, q, x: bool(random.random() * q[x] < p[x])  # noqa: E731
    return _walk((tokens, parents, draft_probs, target_probs), rng, accept=accept)


@wrong(TASK, "generator_is_only_chance", "A new generator is needed for each draw.")
def fresh_generator(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    return _walk((tokens, parents, draft_probs, target_probs), np.random.default_rng())


@wrong(TASK, "siblings_in_turn", "A fixed seed makes the result the same, as it should be.")
def fixed_seed(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    return _walk((tokens, parents, draft_probs, target_probs), np.random.default_rng(0))


@wrong(TASK, "plain_types", "What choice returns is an int.")
def numpy_integer(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Any:
    walk = _walk((tokens, parents, draft_probs, target_probs), rng)
    return walk | {"tokens": [*walk["tokens"][:-1], np.int64(walk["tokens"][-1])]}


@wrong(TASK, "no_memory", "The tokens of all rounds belong in one list.")
def tokens_as_default(
    tokens: Any,
    parents: Any,
    draft_probs: Any,
    target_probs: Any,
    rng: Any,
    emitted: list[int] = [],  # noqa: B006
) -> Walk:
    walk = _walk((tokens, parents, draft_probs, target_probs), rng)
    emitted.extend(walk["tokens"])
    return walk | {"tokens": emitted}


@wrong(TASK, "input_unchanged", "A rejected token is taken out of the caller's own row.")
def draft_row_written_over(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    walk = _walk((tokens, parents, draft_probs, target_probs), rng)
    for node, parent in enumerate(parents):
        if node not in walk["path"]:
            draft_probs[parent + 1][int(tokens[node])] = 0.0
    return walk


@wrong(TASK, "bad_input_raises", "A row that does not sum to 1 is normalised.")
def rows_normalised(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    drafts, targets = (np.asarray(rows, dtype=float) for rows in (draft_probs, target_probs))
    drafts, targets = (rows / rows.sum(axis=-1, keepdims=True) for rows in (drafts, targets))
    return _walk((tokens, parents, drafts, targets), rng)


@wrong(TASK, "error_names_offender", "A sentence is enough, whatever was wrong.")
def unnamed_fault(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    try:
        return _walk((tokens, parents, draft_probs, target_probs), rng)
    except ValueError:
        raise ValueError("The tree and its rows do not fit together.") from None


# --- Right, in many styles ---------------------------------------------------------------------------


@right(TASK, "The children of a node are listed first, and for … else notices that none was accepted.")
def for_and_else(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, above, drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    path: list[int] = []
    at = -1
    while True:
        p, q = targets[at + 1], drafts[at + 1]
        for child in [i for i in range(len(nodes)) if above[i] == at]:
            x = nodes[child]
            if rng.uniform() <= min(1.0, p[x] / q[x]) and p[x] > 0:
                path.append(child)
                at = child
                break
            p, q = _residual(p, q), _without(q, x)
        else:
            return {"path": path, "tokens": [nodes[i] for i in path] + [_draw(rng, p)]}


@right(TASK, "All random numbers are drawn before the walk, and the last token by the inverse of the cumulative sum.")
def numbers_drawn_first(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, above, drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    print("drawing", file=sys.stderr)
    numbers = rng.random(len(nodes) + 1)
    path: list[int] = []
    last, p, q = -1, targets[0], drafts[0]
    for node, (x, parent) in enumerate(zip(nodes, above)):
        if parent == last and numbers[node] < p[x] / q[x]:
            path.append(node)
            last, p, q = node, targets[node + 1], drafts[node + 1]
        elif parent == last:
            p, q = _residual(p, q), _without(q, x)
    ends = np.cumsum(p)
    token = int(np.searchsorted(ends, numbers[-1] * ends[-1], side="right"))
    return {"path": path, "tokens": [*(nodes[i] for i in path), token]}


@right(TASK, "q is never normalised: the mass that is left of it stands in the formulas instead.")
def mass_kept_apart(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, above, drafts, targets = _read(tokens, parents, draft_probs, target_probs)
    path: list[int] = []
    last, p, q, mass = -1, targets[0], drafts[0], 1.0
    for node, (x, parent) in enumerate(zip(nodes, above)):
        if parent != last:
            continue
        if rng.random() * q[x] < p[x] * mass:
            path.append(node)
            last, p, q, mass = node, targets[node + 1], drafts[node + 1], 1.0
            continue
        rest = np.clip(p * mass - q, 0.0, None)
        p = rest / rest.sum() if rest.sum() > 0 else p
        mass -= q[x]
        q[x] = 0.0
    return {"tokens": [nodes[i] for i in path] + [_draw(rng, p)], "path": path}


@right(TASK, "A recursion walks down in plain Python lists.")
def recursive_lists(tokens: Any, parents: Any, draft_probs: Any, target_probs: Any, rng: Any) -> Walk:
    nodes, above, drafts, targets = _read(tokens, parents, draft_probs, target_probs)

    def below(node: int) -> tuple[list[int], int]:
        p, q = targets[node + 1].tolist(), drafts[node + 1].tolist()
        for child, x in ((i, nodes[i]) for i, parent in enumerate(above) if parent == node):
            if rng.random() < p[x] / q[x]:
                path, end = below(child)
                return [child, *path], end
            rest = [max(a - b, 0.0) for a, b in zip(p, q)]
            p = [r / sum(rest) for r in rest] if sum(rest) > 0 else p
            q[x] = 0.0
            q = [b / sum(q) for b in q] if sum(q) > 0 else q
        return [], _draw(rng, np.array(p))

    path, end = below(-1)
    return {"path": path, "tokens": [*(nodes[i] for i in path), end]}
