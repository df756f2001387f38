"""What a verifier saw of each draft, recorded beside a text: the chances q and p, and the residual of a rejection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dspark_mini.drafts import Probabilities, softmax
from dspark_mini.engine import Steps, TreeSteps

SHOWN = 5  # tokens of a residual, the likeliest first


@dataclass
class RoundOdds:
    """The chances of the drafts of one round; a greedy verifier has no q, and a chance of 0 or 1."""

    q: list[float | None] = field(default_factory=list)  # the drafter's probability of each verified draft
    p: list[float | None] = field(default_factory=list)  # the target's
    chance: list[float] = field(default_factory=list)  # of acceptance, once the draft's turn comes
    residual: list[tuple[int, float]] = field(default_factory=list)  # where a draft of a chain was rejected


def recording(steps: Steps) -> tuple[Steps, list[RoundOdds]]:
    """Return the same steps with verifiers that note down what they see, and the list that they fill, one per round."""
    seen: list[RoundOdds] = []

    def chain_greedy(drafts: Sequence[int], logits: Any) -> Any:
        rows = softmax(np.asarray(logits, dtype=float))  # (1 + ℓ, V)
        wanted = [float(int(row.argmax()) == draft) for draft, row in zip(drafts, rows)]
        seen.append(RoundOdds([None] * len(drafts), _picked(rows, drafts), wanted))
        return steps.verify_greedy(drafts, logits)

    def chain_sampling(drafts: Sequence[int], q: Probabilities, p: Probabilities, rng: Any) -> Any:
        verdict = steps.verify_sampling(drafts, q, p, rng)
        odds = _odds(_picked(q, drafts), _picked(p, drafts))
        if (first := verdict["accepted"]) < len(drafts):
            odds.residual = _likeliest(np.maximum(p[first] - q[first], 0.0))
        seen.append(odds)
        return verdict

    watched = replace(steps, verify_greedy=chain_greedy, verify_sampling=chain_sampling)
    return replace(watched, tree=_recording_tree(steps.tree, seen) if steps.tree else None), seen


def _recording_tree(tree: TreeSteps, seen: list[RoundOdds]) -> TreeSteps:
    def greedy(tokens: Sequence[int], parents: Sequence[int], target_tokens: Any) -> Any:
        wanted = [float(int(target_tokens[parent + 1]) == token) for token, parent in zip(tokens, parents)]
        seen.append(RoundOdds([None] * len(tokens), [None] * len(tokens), wanted))
        return tree.verify_greedy(tokens, parents, target_tokens)

    def sampling(tokens: Sequence[int], parents: Sequence[int], q: Probabilities, p: Probabilities, rng: Any) -> Any:
        rows = [parent + 1 for parent in parents]
        seen.append(_odds(_picked(q[rows], tokens), _picked(p[rows], tokens)))
        return tree.verify_sampling(tokens, parents, q, p, rng)

    return replace(tree, verify_greedy=greedy, verify_sampling=sampling)


def _picked(rows: Probabilities, tokens: Sequence[int]) -> list[float | None]:
    return [float(row[token]) for row, token in zip(rows, tokens)]


def _odds(q: list[float | None], p: list[float | None]) -> RoundOdds:
    """Return q, p and min(1, p / q)."""
    return RoundOdds(q, p, [min(1.0, b / a) if a and b is not None else 0.0 for a, b in zip(q, p)])


def _likeliest(gaps: Any) -> list[tuple[int, float]]:
    if not gaps.sum():
        return []
    shares = gaps / gaps.sum()
    best = np.argsort(-shares, kind="stable")[:SHOWN]
    return [(int(token), float(shares[token])) for token in best if shares[token] > 0]
