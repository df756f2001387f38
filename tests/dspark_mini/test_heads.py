"""Laws of the sequential heads: the chain by enumeration, what the RNN head remembers, the layouts' oracle test."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from dspark_mini import dspark_markov_candidates
from dspark_mini.heads import LowRankHead, draft_inputs, low_rank_bias, rnn_head_step, sample_markov_block


class Steered(np.random.Generator):
    """A generator whose draws are led by given uniform numbers."""

    def __init__(self, uniforms: list[float]) -> None:
        super().__init__(np.random.PCG64(0))
        self.uniforms = list(uniforms)

    def choice(self, a: Any, *rest: Any, p: Any = None, **more: Any) -> Any:
        return np.int64(np.searchsorted(np.cumsum(p), self.uniforms.pop(0), side="right"))


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_law_of_the_block_is_the_product_of_the_chain_by_enumeration(temperature: float) -> None:
    rng = np.random.default_rng(3)
    base, w1, w2 = rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), rng.normal(size=(2, 3))
    total = 0.0
    for wanted in itertools.product(range(3), repeat=3):
        law, uniforms = [], []
        for logits, previous, token in zip(base, (1, *wanted), wanted):
            weights = np.exp((logits + w1[previous] @ w2) / temperature)
            law.append((weights / weights.sum())[token])
            uniforms.append((weights[:token].sum() + weights[token] / 2) / weights.sum())
        tokens, rows = sample_markov_block(base, 1, w1, w2, Steered(uniforms), temperature)
        assert tokens == list(wanted) and np.allclose(rows[range(3), tokens], law, rtol=1e-12)
        total += math.prod(law)
    assert math.isclose(total, 1.0, rel_tol=1e-12)


def test_a_head_drafts_as_the_dict_of_its_rows_and_as_the_chain_at_temperature_zero() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        base, w1, w2 = (rng.integers(-4, 5, size=shape) / 8.0 for shape in ((4, 5), (5, 2), (2, 5)))
        head, rows = LowRankHead(w1, w2), {token: low_rank_bias(w1, w2, token) for token in range(5)}
        assert list(head) == list(rows) and len(head) == 5 and all((head[token] == rows[token]).all() for token in head)
        drafts = dspark_markov_candidates(base, 3, head)
        assert drafts == dspark_markov_candidates(base, 3, rows) == sample_markov_block(base, 3, w1, w2, rng, 0)[0]
        assert dspark_markov_candidates(base, 9, head) == dspark_markov_candidates(base, 9, rows)


def test_a_head_keeps_single_precision_and_has_no_rows_but_its_tokens() -> None:
    w1, w2 = np.ones((3, 2), np.float32), np.ones((2, 3), np.float32)
    head = LowRankHead(w1, w2)
    assert head[1].dtype == np.float32 and np.shares_memory(head._w2, w2)
    assert LowRankHead(w1, w2.tolist())[1].dtype == np.float64
    assert not any(key in head or head.get(key) is not None for key in (3, -1, "1", None))  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=r"^w1\[1\]\[0\] must be a finite number"):
        LowRankHead([[1.0], [np.nan]], [[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"^w2 has shape \(1, 3\)"):
        LowRankHead([[1.0], [2.0]], [[1.0, 2.0, 3.0]])


def test_a_step_keeps_its_state_bounded_and_remembers_more_than_the_token_before() -> None:
    w_joint = np.zeros((3, 3))  # the gate is half open; the candidate is the token before, the output the state
    w_joint[1, 1] = w_joint[0, 2] = 1.0
    states = [rnn_head_step([0.0], [first], [0.0], w_joint, [[1.0]])[0] for first in (1.0, -1.0)]
    later = [rnn_head_step(state, [0.5], [0.0], w_joint, [[1.0]])[1][0] for state in states]
    assert later[0] > 0 > later[1] and np.abs(states).max() <= 1.0


@pytest.mark.parametrize("layout", ["dflash", "dspark"])
@pytest.mark.parametrize("gamma", [1, 7])
def test_an_oracle_drafter_is_accepted_in_full_and_one_row_late_hardly_ever(layout: str, gamma: int) -> None:
    text = np.random.default_rng(gamma).integers(50, size=600)
    first = 1 if layout == "dspark" else 0  # DSpark's anchor predicts x_1, DFlash's repeats x_0
    for late in (0, 1):
        accepted = []
        for start in range(0, 500, gamma + 1):
            inputs, positions = draft_inputs(text[start], 99, gamma, layout)
            said = text[start + first + late : start + first + late + len(inputs)]  # by a perfect drafter, row by row
            accepted.append(np.cumprod(said[positions] == text[start + 1 : start + 1 + gamma]).sum())
        assert np.mean(accepted) == gamma if late == 0 else np.mean(accepted) < 0.1 * gamma
