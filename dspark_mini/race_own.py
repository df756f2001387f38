"""The race on a learner's own functions: which method needs which of them, and the engine's steps made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dspark_mini.drafters import BlockDrafter, per_head
from dspark_mini.drafting import block_attention
from dspark_mini.engine import Steps, TreeSteps
from dspark_mini.live_policy import LivePolicy
from dspark_mini.replay import COSTS

Functions = Mapping[str, Callable[..., Any]]  # by name

# Fields of the engine's steps: the function that each takes, at temperature 0 and above.
GREEDY = {"verify_greedy": "verify_greedy", "cut": "cut_output", "rollback": "rollback_rows"}
SAMPLING = {"verify_sampling": "verify_sampling", "cut": "cut_output", "rollback": "rollback_rows"}
DRAFT_GREEDY = {
    "dflash": {"draft_parallel": "dflash_parallel_candidates"},
    "dspark": {"draft_markov": "dspark_markov_candidates"},
}
DRAFT_SAMPLING = {"dspark": {"draft_sampling": "sample_markov_block"}}
TREE_GREEDY = {"build": "build_conditional_tree", "verify_greedy": "verify_tree_greedy"}
TREE_SAMPLING = {"verify_sampling": "verify_tree_sampling"}
TREES, POLICY = ("dspark-tree", "policy"), "policy"


def needs(method: str, greedy: bool) -> list[str]:
    """Return the names of the functions that a method runs on."""
    names = [*(GREEDY if greedy else SAMPLING).values(), *_drafting(method, greedy).values()]
    names += ["block_attention"] if method.startswith(("dflash", "dspark")) or method == POLICY else []
    if method in TREES:
        names += ["tree_mask", *(TREE_GREEDY if greedy else TREE_SAMPLING).values()]
    return [*names, *(["plan_round"] if method == POLICY else [])]


def own_steps(method: str, greedy: bool, functions: Functions, steps: Steps, drafter: Any) -> Steps:
    """Put functions into the steps of a method.

    Args:
        method: Name of the method.
        greedy: Whether it decodes at temperature 0.
        functions: The functions that `needs` names.
        steps: The steps of the method, whose other fields stay.
        drafter: The drafter that will run.
    """
    fields = (GREEDY if greedy else SAMPLING) | _drafting(method, greedy)
    chosen: dict[str, Any] = {field: functions[name] for field, name in fields.items()}
    steps = replace(steps, **chosen)
    if method not in TREES:
        return steps
    fields = TREE_GREEDY if greedy else TREE_SAMPLING
    chosen = {field: functions[name] for field, name in fields.items()}
    steps = replace(steps, tree=replace(steps.tree or TreeSteps(), **chosen))
    return policy_steps(steps, functions["plan_round"], drafter) if method == POLICY else steps


def policy_steps(steps: Steps, policy: Callable[..., Any], drafter: Any) -> Steps:
    """Let a policy decide for one text, as if on a laptop."""
    return LivePolicy(policy, drafter, COSTS["laptop"]).steps(steps)


def lend_to_model(model: Any, functions: Functions) -> None:
    """Let a small model in NumPy run on the functions that it calls itself, where they are not the kit's."""
    model.target.tree_mask = functions.get("tree_mask", model.target.tree_mask)
    attention = functions.get("block_attention", block_attention)
    for drafter in model.drafters.values():
        if isinstance(drafter, BlockDrafter) and attention is not block_attention:
            drafter.attention = per_head(attention)


def _drafting(method: str, greedy: bool) -> dict[str, str]:
    return (DRAFT_GREEDY if greedy else DRAFT_SAMPLING).get(method, {})
