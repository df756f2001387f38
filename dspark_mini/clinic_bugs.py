"""The bug clinic's bugs: what stood in the functions of clinic and clinic_rounds before they were repaired.

Each function is named after the one that it breaks, and its body stands in the learner's notebook in place of the
repair. The docstring says what its author believed; the mutants prove that the checks catch it.
"""

from __future__ import annotations

import numpy as np


def visible_features(anchor_positions, block_length):
    """Whether a block is seen goes by its place in the list, not by positions."""
    block = np.arange(len(anchor_positions))  # (A,)
    feature_block = np.repeat(block, block_length)  # (A·γ,) which block brought a feature
    return feature_block < block[:, None]  # (A, A·γ)


def tapped_features(hidden_states, layer_ids):
    """A layer's number is its index among hidden_states."""
    return np.concatenate([hidden_states[layer] for layer in layer_ids])


def block_input_positions(cached_positions, block_size):
    """The block begins at the position of the newest row in the cache."""
    start = cached_positions[-1] if cached_positions else 0
    return [start + k for k in range(block_size)]


def read_predictions(block_logits, layout):
    """The anchor's row predicts nothing in either layout."""
    return block_logits[1:].argmax(axis=1).tolist()


def draft_in_target_ids(token, draft_probs, d2t, vocabulary):
    """The row keeps the drafter's ids and is only padded."""
    row = np.zeros(vocabulary)
    row[: len(draft_probs)] = draft_probs
    return {"token": token + d2t[token], "row": row}


def greedy_proposal(draft_probs):
    """The softmax row is handed over for an argmax draft."""
    tokens = draft_probs.argmax(axis=1)  # (γ,)
    return {"tokens": tokens.tolist(), "rows": draft_probs}


def top_k_proposal(draft_probs, top_k, rng):
    """The row is the softmax before top-k."""
    kept = np.argsort(-draft_probs, kind="stable")[:top_k]
    weights = draft_probs[kept] / draft_probs[kept].sum()
    return {"token": int(rng.choice(kept, p=weights)), "row": draft_probs}


def accepted_by_uniforms(draft_tokens, draft_probs, target_probs, uniforms):
    """The target's probability is divided by its own maximum."""
    accepted = 0
    for x, p, uniform in zip(draft_tokens, target_probs, uniforms):
        if uniform >= p[x] / p.max():
            break
        accepted += 1
    return accepted


def emit_one_token(token, p, q, rng):
    """One uniform decides on the draft and on the token that replaces it."""
    uniform = rng.random()
    if uniform < p[token] / q[token]:
        return token
    residual = np.maximum(p - q, 0.0)  # (V,)
    cumulative = np.cumsum(residual / residual.sum())
    return int(np.searchsorted(cumulative[:-1], uniform, side="right"))


def commit_until_stop(output, round_tokens, stop_tokens):
    """Only the last token of a round can be a stop token."""
    finished = bool(round_tokens) and round_tokens[-1] in stop_tokens
    return {"output": output + round_tokens, "finished": finished}


def finish_request(tokens, stop_tokens, max_new_tokens):
    """The cap ends a request before a stop token is looked for."""
    if len(tokens) >= max_new_tokens:
        return {"tokens": tokens[:max_new_tokens], "reason": "length"}
    for count, token in enumerate(tokens, start=1):
        if token in stop_tokens:
            return {"tokens": tokens[:count], "reason": "stop"}
    return {"tokens": tokens, "reason": "running"}


def mean_emitted_length(rounds, stop_tokens):
    """Tokens after a stop token are counted."""
    emitted = 0
    for block in rounds:
        accepted = len(block) - 1  # without the target's own token
        emitted += accepted + 1
    return emitted / len(rounds)


def draft_rows_to_drop(drafted, accepted):
    """One row more is dropped than drafts were rejected."""
    rejected = drafted - accepted
    drop = min(rejected + 1, drafted) if rejected > 0 else 0
    return {"drop": drop, "missing": 0}


def gated_round(anchor_token, draft_tokens, confidences, threshold, target_tokens):
    """The target is given the whole block, whatever the confidences say."""
    accepted = 0
    while accepted < len(draft_tokens) and draft_tokens[accepted] == target_tokens[accepted]:
        accepted += 1
    prefix = 0
    while prefix < len(draft_tokens) and confidences[prefix] >= threshold:
        prefix += 1
    accepted = min(accepted, prefix)
    tokens = [*draft_tokens[:accepted], target_tokens[accepted]]
    return {"target_input": [anchor_token, *draft_tokens], "tokens": tokens}


def profiled_verify_length(confidences, steps_per_second):
    """Where the profile is too short, all steps are equally fast."""
    tokens = 1.0 + np.append(0.0, np.cumprod(confidences).cumsum())  # (γ + 1,) expected, by length
    speeds = np.ones(len(tokens))
    if len(steps_per_second) >= len(tokens):
        speeds = steps_per_second[: len(tokens)]
    return int(np.argmax(tokens * speeds))


def net_time_saved(accepted_counts, target_time, draft_time, verify_time, replay_time):
    """Replaying takes no time."""
    rounds, accepted = len(accepted_counts), sum(accepted_counts)
    saved = (accepted + rounds) * target_time
    saved -= rounds * (draft_time + verify_time)
    return {"saved": saved, "pays": saved > 0}
