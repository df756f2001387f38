"""The policy of lesson 10 in the engine: what `replay` takes from a recording, a drafter does live. Greedy only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dspark_mini.drafts import Logits
from dspark_mini.engine import Steps
from dspark_mini.replay import LONGEST, PLAIN, Costs, Plan, checked_plan
from dspark_mini.trace import Trace


class LivePolicy:
    """A policy for one text: it is asked once per round, and its plan is carried out by the steps of the engine.

    Args:
        policy: A function like `plan_round`.
        drafter: The drafter that the engine runs.
        costs: Of the machine, as the policy sees them.
    """

    def __init__(self, policy: Callable[..., Any], drafter: Any, costs: Costs) -> None:
        self.policy, self.drafter, self.costs = policy, drafter, costs
        self.plan: Plan = dict(PLAIN)
        self.drafted, self.verified, self.expected = list[int](), list[int](), list[float]()
        self.accepted = list[int]()

    def steps(self, steps: Steps) -> Steps:
        """Return steps that ask the policy; they need a tree, since both of its shapes are verified as one."""
        assert steps.tree is not None
        self.grow = steps.tree.build
        return replace(steps, block_size=self.block_size, tree=replace(steps.tree, build=self.build))

    def block_size(self, trace: Trace) -> int:
        """Return the levels of the next block; where nothing was ordered, ask for the plan of a plain round."""
        self.accepted = trace.counts["accepted"]
        if self.plan["block_size"]:
            return LONGEST[1]
        self.ask([])
        return 0

    def build(self, base: Logits, anchor: int, bias: Any, width: int, max_nodes: int) -> dict[str, list[int]]:
        """Draft what the last plan ordered, ask for the next one, and return the drafts that it verifies."""
        size, width = min(self.plan["block_size"], max_nodes), self.plan["width"]
        if width == 1:
            tokens, _ = self.drafter.chain(base, anchor, len(base), 0.0, None)
            survivals = np.cumprod(self.drafter.confidences(anchor, tokens, base))
            parents = list(range(-1, len(tokens) - 1))
        else:
            tree = self.grow(base, anchor, bias, width, size)
            tokens, parents, survivals = tree["tokens"], tree["parents"], np.exp(tree["log_probs"])
        length = self.ask(survivals[:size])
        return {"tokens": tokens[:length], "parents": parents[:length]}

    def ask(self, survivals: ArrayLike) -> int:
        """Get the plan of a round, and return its verify length.

        Raises:
            ValueError: The plan is not allowed.
        """
        waiting, history = np.array(survivals, dtype=np.float64), (self.drafted, self.verified, self.accepted)
        times = self.costs.draft_times.copy(), self.costs.verify_times.copy()
        result = self.policy(waiting.copy(), *map(list, history), np.array(self.expected), *times)
        self.plan = checked_plan(result, len(waiting))
        length = self.plan["verify_length"]
        self.drafted.append(len(waiting))
        self.verified.append(length)
        self.expected.append(float(waiting[:length].sum()))
        return length
