"""The bugs of the bug clinic: here every function is WRONG, on purpose.

Each has the name of a function in clinic, and its body is what stood there in place of the repair: it takes the
values that the checks at the top of that function return. The build writes these bodies into the learner's notebook
(see grader/build.py), and grader/mutants proves that the checks catch them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.inputs import check_best

Row = NDArray[np.float64]


def visible_features(anchors: NDArray[np.int_], block_length: int) -> NDArray[np.bool_]:
    """Context by the number of the block."""
    block = np.arange(anchors.size)  # (A,)
    feature_block = np.repeat(block, block_length)  # (A·γ,) which block brought a feature
    return feature_block < block[:, None]  # (A, A·γ)


def tapped_features(states: list[Row], layers: list[int]) -> Row:
    """A layer's number taken for its index among the hidden states."""
    wanted = [states[layer] for layer in layers]  # each (d,)
    return np.concatenate(wanted)


def block_input_positions(cached: list[int], block_size: int) -> list[int]:
    """The block starts at the position of the newest row in the cache."""
    newest = cached[-1] if cached else 0
    return [newest + k for k in range(block_size)]


def read_predictions(logits: NDArray[Any], layout: str) -> list[int]:
    """The anchor's row is skipped in either layout."""
    tokens = []
    for k in range(1, len(logits)):
        best = int(logits[k].argmax())
        check_best(logits[k, best], block_logits=(k, logits[k]))
        tokens.append(best)
    return tokens


def draft_in_target_ids(token: int, probs: Row, target_ids: list[int], vocabulary: int) -> dict[str, Any]:
    """The token is carried over, its probabilities are only filled up."""
    row = np.zeros(vocabulary)
    row[: probs.size] = probs
    return {"token": target_ids[token], "row": row}


def greedy_proposal(probs: NDArray[np.float64]) -> dict[str, Any]:
    """The argmax is drafted, and the softmax handed over as q."""
    tokens = probs.argmax(axis=1)  # (γ,)
    return {"tokens": tokens.tolist(), "rows": probs}


def top_k_proposal(probs: Row, top_k: int, rng: np.random.Generator) -> dict[str, Any]:
    """The token is drawn after top-k, the row is the one before it."""
    kept = np.argsort(-probs, kind="stable")[:top_k]
    weights = probs[kept] / probs[kept].sum()
    return {"token": int(rng.choice(kept, p=weights)), "row": probs}


def accepted_by_uniforms(tokens: list[int], q: Row, p: Row, chances: Row) -> int:
    """The target's best probability stands in for q."""
    accepted = 0
    for k, token in enumerate(tokens):
        if chances[k] >= p[k, token] / p[k].max():
            break
        accepted += 1
    return accepted


def emit_one_token(token: int, target: Row, draft: Row, rng: np.random.Generator) -> int:
    """One uniform decides on the draft and on the token that replaces it."""
    uniform = rng.random()
    if uniform < target[token] / draft[token]:
        return token
    residual = np.maximum(target - draft, 0.0)
    cumulative = np.cumsum(residual / residual.sum())
    return int(np.searchsorted(cumulative[:-1], uniform, side="right"))


def commit_until_stop(committed: list[int], tokens: list[int], stops: list[int]) -> dict[str, Any]:
    """Only the last token of the round is looked at."""
    committed.extend(tokens)
    return {"output": committed, "finished": bool(tokens) and tokens[-1] in stops}


def finish_request(produced: list[int], stops: list[int], cap: int) -> dict[str, Any]:
    """The cap is looked at first."""
    if len(produced) >= cap:
        return {"tokens": produced[:cap], "reason": "length"}
    for count, token in enumerate(produced, start=1):
        if token in stops:
            return {"tokens": produced[:count], "reason": "stop"}
    return {"tokens": produced, "reason": "running"}


def mean_emitted_length(blocks: list[list[int]], stops: list[int]) -> float:
    """Every accepted draft counts, emitted or not."""
    emitted = 0
    for block in blocks:
        accepted = len(block) - 1  # without the target's own token
        emitted += accepted + 1
    return emitted / len(blocks)


def draft_rows_to_drop(drafted: int, accepted: int) -> dict[str, int]:
    """The rejected drafts and the target's token are dropped."""
    rejected = drafted - accepted
    drop = min(rejected + 1, drafted) if rejected > 0 else 0
    return {"drop": drop, "missing": 0}


def gated_round(
    anchor: int, drafts: list[int], chances: Row, threshold: float, target: list[int]
) -> dict[str, list[int]]:
    """The gate is applied to what the target has verified already."""
    target_input = [anchor, *drafts]  # all that the target's forward is given
    accepted = 0
    while accepted < len(drafts) and drafts[accepted] == target[accepted]:
        accepted += 1
    prefix = 0
    while prefix < len(drafts) and chances[prefix] >= threshold:
        prefix += 1
    accepted = min(accepted, prefix)
    return {"target_input": target_input, "tokens": [*drafts[:accepted], target[accepted]]}


def profiled_verify_length(chances: Row, profile: Row) -> int:
    """An incomplete profile is ignored in favour of a flat one."""
    tokens = 1.0 + np.append(0.0, np.cumprod(chances).cumsum())  # (γ + 1,) expected, by length
    speeds = np.ones(tokens.size)
    if profile.size >= tokens.size:
        speeds = profile[: tokens.size]
    return int(np.argmax(tokens * speeds))


def net_time_saved(
    counts: list[int], target_time: float, draft_time: float, verify_time: float, replay_time: float
) -> dict[str, Any]:
    """Replaying costs nothing."""
    emitted = sum(counts) + len(counts)
    costs = len(counts) * (draft_time + verify_time)
    saved = emitted * target_time - costs
    return {"saved": saved, "pays": saved > 0}
