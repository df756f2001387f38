"""A low-rank head stands in for the dict of its rows."""

import numpy as np
import pytest

from dspark_mini import dspark_markov_candidates
from dspark_mini.heads import LowRankHead, low_rank_bias, sample_markov_block


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
