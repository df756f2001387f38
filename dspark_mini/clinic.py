"""The bug clinic: small parts of speculative decoding that production engines got wrong, here repaired.

clinic_bugs holds the lines that stood in their place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import (
    check_best,
    check_same_length,
    drafter_mode,
    logit_rows,
    number,
    numbers,
    probability_row,
    probability_rows,
    token_id,
    token_ids,
    token_in,
    tokens_in,
    unit_number,
    unit_numbers,
    whole_number,
    whole_numbers,
)


def visible_features(anchor_positions: ArrayLike, block_length: int) -> NDArray[np.bool_]:
    """Say which of the target's features each training block may see: those before its anchor.

    The features were gathered block by block: block i brings those of the positions anchor_i,
    anchor_i + 1, …, anchor_i + γ − 1. Blocks may overlap.

    Args:
        anchor_positions: (A,) one anchor a block, positions from 0 on, in any order.
        block_length: γ, positions a block, at least 1.

    Returns:
        Boolean array (A, A·γ): row j is True where a feature lies strictly before anchor j.

    Raises:
        ValueError: no anchors, a negative one, or a block_length below 1.

    Example:
        anchors [0, 2], block_length 2  →  [[0, 0, 0, 0], [1, 1, 0, 0]] as booleans

    Source: DFlash (arXiv 2602.06036): a block never sees features at or after its own anchor.
    """
    anchors = np.array(whole_numbers("anchor_positions", anchor_positions, low=0), dtype=int)
    if anchors.size == 0:
        raise ValueError("anchor_positions is empty: it needs at least one anchor.")
    block_length = whole_number("block_length", block_length, low=1)
    ### BEGIN SOLUTION
    positions = anchors[:, None] + np.arange(block_length)  # (A, γ) where each feature was read
    return positions.ravel() < anchors[:, None]  # (A, A·γ)
    ### END SOLUTION


def tapped_features(hidden_states: list[ArrayLike], layer_ids: ArrayLike) -> NDArray[np.float64]:
    """Concatenate what some layers of the target put out: the features that the drafter reads.

    As in most engines, hidden_states[0] is the embedding, which goes into layer 0, and what
    comes out of layer i is hidden_states[i + 1].

    Args:
        hidden_states: (L + 1, d) states of one position, for a target of L ≥ 1 layers.
        layer_ids: the layers whose outputs are wanted, each from 0 to L − 1, in this order.

    Returns:
        Array (len(layer_ids) · d,).

    Raises:
        ValueError: no layer, a layer that the target does not have, or a state that is not finite.

    Example:
        hidden_states [[0, 1], [2, 3], [4, 5]], layer_ids [1]  →  [4, 5]

    Source: DFlash (arXiv 2602.06036): features of chosen target layers, H^(l1) to H^(lm).
    """
    states = [numbers(f"hidden_states[{i}]", state) for i, state in enumerate(hidden_states)]
    layers = whole_numbers("layer_ids", layer_ids, low=0, high=len(states) - 2)
    if not layers:
        raise ValueError("layer_ids is empty: it needs at least one layer.")
    ### BEGIN SOLUTION
    wanted = [states[layer + 1] for layer in layers]  # each (d,)
    return np.concatenate(wanted)
    ### END SOLUTION


def block_input_positions(cached_positions: ArrayLike, block_size: int) -> list[int]:
    """Number the inputs of a draft block: the anchor first, then the masks.

    The drafter's cache ends with the committed token before the anchor, for the anchor itself
    has not been through the target yet. A window may have dropped the oldest rows.

    Args:
        cached_positions: positions of the rows in the drafter's cache, rising; none at the start.
        block_size: number of inputs, the anchor included, at least 1.

    Returns:
        block_size positions, plain ints.

    Raises:
        ValueError: a position that is no whole number from 0 on, or a block_size below 1.

    Example:
        cached_positions [0, 1, 2], block_size 3  →  [3, 4, 5]

    Source: DSpark (arXiv 2607.05147): the block starts with the anchor, the last committed token.
    """
    cached = whole_numbers("cached_positions", cached_positions, low=0)
    block_size = whole_number("block_size", block_size, low=1)
    ### BEGIN SOLUTION
    anchor = cached[-1] + 1 if cached else 0
    return [anchor + k for k in range(block_size)]
    ### END SOLUTION


def read_predictions(block_logits: ArrayLike, layout: str) -> list[int]:
    """Read the drafted tokens off the output rows of one block, in the drafter's own layout.

    'dflash' feeds the anchor and γ masks, and the masks predict. 'dspark' feeds the anchor and
    γ − 1 masks, and every position predicts, the anchor too. Ties go to the lowest id.

    Args:
        block_logits: (rows, V) output logits, the anchor's row first.
        layout: 'dflash' or 'dspark'.

    Returns:
        γ token ids, plain ints: rows − 1 of them for 'dflash', rows for 'dspark'.

    Raises:
        ValueError: another layout, no rows, or a row in use with NaN, +inf or only −inf.

    Example:
        [[0, 1], [1, 0], [0, 1]]: 'dflash'  →  [0, 1];  'dspark'  →  [1, 0, 1]

    Source: DSpark (arXiv 2607.05147): position k predicts x_k and is conditioned on x_{k−1}.
    """
    logits = logit_rows("block_logits", block_logits)  # (rows, V)
    layout = drafter_mode("layout", layout)
    ### BEGIN SOLUTION
    tokens = []
    for k in range(1 if layout == "dflash" else 0, len(logits)):
        best = int(logits[k].argmax())
        check_best(logits[k, best], block_logits=(k, logits[k]))
        tokens.append(best)
    return tokens
    ### END SOLUTION


def draft_in_target_ids(
    token: int,
    draft_probs: ArrayLike,
    d2t: ArrayLike,
    vocabulary: int,
) -> dict[str, Any]:
    """Carry a drafted token, and the row it was drawn from, over into the target's vocabulary.

    A drafter with a small vocabulary keeps a table d2t of offsets: its token i is the target's
    token i + d2t[i].

    Args:
        token: the drafted token, an id of the drafter.
        draft_probs: (V_d,) the row that it was drawn from, by the drafter's ids.
        d2t: (V_d,) offsets, from 0 on.
        vocabulary: V, the size of the target's vocabulary.

    Returns:
        A dict: token, the target's id; row, array (V,), the probabilities by the target's ids.

    Raises:
        ValueError: no probability row, another number of offsets, a token outside the drafter's
            vocabulary, or an offset that leads out of the target's.

    Example:
        token 1, draft_probs [.75, .25], d2t [0, 2], vocabulary 4  →  token 3, row [.75, 0, 0, .25]

    Source: EAGLE-3 (arXiv 2503.01840): reduced draft vocabulary; acceptance needs q(x) for p(x).
    """
    probs = probability_row("draft_probs", draft_probs)  # (V_d,)
    token = token_in("token", token, probs.size)
    check_same_length("draft_probs", draft_probs, "d2t", d2t)
    offsets = whole_numbers("d2t", d2t, low=0)
    target_ids = tokens_in("d2t", [i + offset for i, offset in enumerate(offsets)], vocabulary)
    ### BEGIN SOLUTION
    row = np.zeros(vocabulary)
    row[target_ids] = probs
    return {"token": target_ids[token], "row": row}
    ### END SOLUTION


def greedy_proposal(draft_probs: ArrayLike) -> dict[str, Any]:
    """Draft greedily, and hand the verifier the rows q that the tokens were really drawn from.

    A greedy draft is certain: its row is 1 at the token and 0 elsewhere. Ties: lowest id.

    Args:
        draft_probs: (γ, V) the drafter's softmax rows.

    Returns:
        A dict: tokens, γ plain ints; rows, array (γ, V), the q of the acceptance ratio p / q.

    Raises:
        ValueError: a row that is no probability distribution.

    Example:
        [[.8, .2]]  →  tokens [0], rows [[1, 0]]

    Source: Leviathan et al. 2023: x is accepted with min(1, p(x)/q(x)), where x was drawn from q.
    """
    probs = probability_rows("draft_probs", draft_probs)  # (γ, V)
    ### BEGIN SOLUTION
    tokens = probs.argmax(axis=1)  # (γ,)
    return {"tokens": tokens.tolist(), "rows": np.eye(probs.shape[1])[tokens]}
    ### END SOLUTION


def top_k_proposal(draft_probs: ArrayLike, top_k: int, rng: np.random.Generator) -> dict[str, Any]:
    """Draw a draft token from the drafter's top_k tokens, and hand over the row it was drawn from.

    The kept probabilities are divided by their sum. Of equal ones the lowest ids are kept.

    Args:
        draft_probs: (V,) the drafter's softmax row.
        top_k: number of tokens that are kept, at least 1; from V on, all of them.
        rng: source of chance.

    Returns:
        A dict: token, a plain int; row, array (V,), the q of the acceptance ratio p / q.

    Raises:
        ValueError: no probability row, or a top_k below 1.

    Example:
        [.5, .3, .2], top_k 2  →  token 0 with probability 5/8, else 1;  row [.625, .375, 0]

    Source: Leviathan et al. 2023, section 2.2: q is the adjusted distribution, after top-k.
    """
    probs = probability_row("draft_probs", draft_probs)  # (V,)
    top_k = whole_number("top_k", top_k, low=1)
    ### BEGIN SOLUTION
    kept = np.argsort(-probs, kind="stable")[:top_k]
    row = np.zeros(probs.size)
    row[kept] = probs[kept] / probs[kept].sum()
    return {"token": int(rng.choice(row.size, p=row)), "row": row}
    ### END SOLUTION


def accepted_by_uniforms(
    draft_tokens: ArrayLike, draft_probs: ArrayLike, target_probs: ArrayLike, uniforms: ArrayLike
) -> int:
    """Count the accepted drafts: draft k passes if uniforms[k] < min(1, p_k(x_k) / q_k(x_k)).

    The first draft that fails ends the count.

    Args:
        draft_tokens: (γ,) drafted tokens x_k.
        draft_probs: (γ, V) rows q_k that they were drawn from.
        target_probs: (γ, V) rows p_k of the target.
        uniforms: (γ,) numbers drawn uniformly between 0 and 1.

    Returns:
        The number of accepted drafts, a plain int.

    Raises:
        ValueError: a row that is no distribution, a token outside the vocabulary or of q = 0, a
            uniform outside [0, 1], or arguments of different length.

    Example:
        tokens [1, 0], q [[.5, .5], [.5, .5]], p [[.75, .25], [.5, .5]], uniforms [.4, .9]  →  2

    Source: Leviathan et al. 2023, Algorithm 1; DSpark (arXiv 2607.05147): verification.
    """
    q = probability_rows("draft_probs", draft_probs)  # (γ, V)
    p = probability_rows("target_probs", target_probs)  # (γ, V)
    tokens = tokens_in("draft_tokens", draft_tokens, q.shape[1])
    chances = unit_numbers("uniforms", uniforms)
    for name, other in (("draft_probs", q), ("target_probs", p), ("uniforms", chances)):
        check_same_length("draft_tokens", tokens, name, other)
    check_same_length("draft_probs[0]", q[0], "target_probs[0]", p[0])
    for k, token in enumerate(tokens):
        number(f"draft_probs[{k}]", q[k, token], low=0.0, above=True)
    ### BEGIN SOLUTION
    accepted = 0
    for k, token in enumerate(tokens):
        if chances[k] >= p[k, token] / q[k, token]:
            break
        accepted += 1
    return accepted
    ### END SOLUTION


def emit_one_token(token: int, p: ArrayLike, q: ArrayLike, rng: np.random.Generator) -> int:
    """Verify one drafted token: emit it with probability min(1, p/q), else one of the residual.

    The residual is max(p − q, 0) divided by its sum. Both decisions are independent, so that a
    token drawn from q and then sent through here is distributed exactly as p.

    Args:
        token: the draft, drawn from q.
        p: (V,) the target's probabilities.
        q: (V,) the drafter's, with q[token] above 0.
        rng: source of chance.

    Returns:
        The emitted token, a plain int.

    Raises:
        ValueError: no probability rows, rows of different length, or a token of q = 0.

    Example:
        token 0, p [.25, .375, .375], q [.5, .25, .25]  →  0 with probability 1/2, 1 and 2 with 1/4

    Source: Leviathan et al. 2023, Algorithm 1; Chen et al. 2023.
    """
    target, draft = probability_row("p", p), probability_row("q", q)  # (V,) each
    check_same_length("p", target, "q", draft)
    token = token_in("token", token, target.size)
    number(f"q[{token}]", draft[token], low=0.0, above=True)
    ### BEGIN SOLUTION
    if rng.random() < target[token] / draft[token]:
        return token
    residual = np.maximum(target - draft, 0.0)
    return int(rng.choice(residual.size, p=residual / residual.sum()))
    ### END SOLUTION


def commit_until_stop(
    output: ArrayLike,
    round_tokens: ArrayLike,
    stop_tokens: ArrayLike,
) -> dict[str, Any]:
    """Append the tokens of one round to the output, up to and with the first stop token.

    Args:
        output: tokens committed so far, without a stop token.
        round_tokens: what the round brings: accepted drafts, then one token of the target.
        stop_tokens: tokens that end the text.

    Returns:
        A dict: output, a new list of plain ints; finished, whether a stop token was met, a bool.

    Raises:
        ValueError: a token that is no whole number from 0 on.

    Example:
        output [7], round [5, 2, 8], stop [2]  →  output [7, 5, 2], finished True

    Source: DSpark (arXiv 2607.05147): lossless, so the text ends where plain decoding ends it.
    """
    committed = token_ids("output", output)
    tokens = token_ids("round_tokens", round_tokens)
    stops = token_ids("stop_tokens", stop_tokens)
    ### BEGIN SOLUTION
    for token in tokens:
        committed.append(token)
        if token in stops:
            return {"output": committed, "finished": True}
    return {"output": committed, "finished": False}
    ### END SOLUTION


def finish_request(tokens: ArrayLike, stop_tokens: ArrayLike, max_new_tokens: int) -> dict[str, Any]:
    """Cut a request's tokens at the stop token or at the length cap, whichever comes first.

    A round brings several tokens, so one round may hold a stop token and cross the cap as well.
    A stop token that is the last one allowed still counts as a stop.

    Args:
        tokens: all tokens so far, those of the last round included.
        stop_tokens: tokens that end the text.
        max_new_tokens: the cap, at least 0.

    Returns:
        A dict: tokens, a list of plain ints; reason, 'stop', 'length' or 'running'.

    Raises:
        ValueError: a token that is no whole number from 0 on, or a negative cap.

    Example:
        tokens [10, 11, 2, 20, 21, 22], stop [2], cap 5  →  tokens [10, 11, 2], reason 'stop'

    Source: DSpark (arXiv 2607.05147): lossless, so the text ends where plain decoding ends it.
    """
    produced = token_ids("tokens", tokens)
    stops = token_ids("stop_tokens", stop_tokens)
    cap = whole_number("max_new_tokens", max_new_tokens, low=0)
    ### BEGIN SOLUTION
    for count, token in enumerate(produced[:cap], start=1):
        if token in stops:
            return {"tokens": produced[:count], "reason": "stop"}
    reason = "length" if len(produced) >= cap else "running"
    return {"tokens": produced[:cap], "reason": reason}
    ### END SOLUTION


def mean_emitted_length(rounds: list[ArrayLike], stop_tokens: ArrayLike) -> float:
    """Measure τ: the mean number of tokens that a round really emits, the bonus token included.

    A round emits its verified tokens up to and with the first stop token.

    Args:
        rounds: for each round its verified tokens: accepted drafts, then one of the target.
        stop_tokens: tokens that end the text.

    Returns:
        The mean over the rounds, a plain float.

    Raises:
        ValueError: no rounds, or a token that is no whole number from 0 on.

    Example:
        rounds [[4, 5, 6], [7, 2, 8, 9]], stop [2]  →  (3 + 2) / 2 = 2.5

    Source: DSpark (arXiv 2607.05147): accepted length τ, the bonus token included.
    """
    blocks = [token_ids(f"rounds[{i}]", tokens) for i, tokens in enumerate(rounds)]
    if not blocks:
        raise ValueError("rounds is empty: it needs at least one round.")
    stops = token_ids("stop_tokens", stop_tokens)
    ### BEGIN SOLUTION
    emitted = 0
    for block in blocks:
        ends = [k for k, token in enumerate(block, start=1) if token in stops]
        emitted += ends[0] if ends else len(block)
    return emitted / len(blocks)
    ### END SOLUTION


def draft_rows_to_drop(drafted: int, accepted: int) -> dict[str, int]:
    """Bring the cache of an autoregressive drafter back in step with the committed tokens.

    Before a round the cache holds every committed token but the last, the anchor. Drafting
    feeds the anchor and all drafts but the last, one row each. Afterwards the cache must hold
    every committed token but the last again.

    Args:
        drafted: γ, the number of drafted tokens, at least 1.
        accepted: how many of them were accepted, 0 to γ; one token of the target follows.

    Returns:
        A dict of plain ints: drop, rows to drop at the end; missing, rows still to be fed.

    Raises:
        ValueError: drafted below 1, or accepted outside 0 to drafted.

    Example:
        drafted 4: accepted 1  →  drop 2, missing 0;  accepted 4  →  drop 0, missing 1

    Source: cache contract: both caches hold exactly the committed tokens but the last.
    """
    drafted = whole_number("drafted", drafted, low=1)
    accepted = whole_number("accepted", accepted, low=0, high=drafted)
    ### BEGIN SOLUTION
    surplus = drafted - (1 + accepted)  # rows written less rows wanted: the anchor and the accepted
    return {"drop": max(surplus, 0), "missing": max(-surplus, 0)}
    ### END SOLUTION


def gated_round(
    anchor_token: int,
    draft_tokens: ArrayLike,
    confidences: ArrayLike,
    threshold: float,
    target_tokens: ArrayLike,
) -> dict[str, list[int]]:
    """Run one greedy round whose confidence gate saves target rows, not only tokens.

    The first confidence below the threshold ends the prefix that goes to the target. What the
    target is sent is the anchor and that prefix; it accepts drafts while they equal its own.

    Args:
        anchor_token: x_0, the last committed token.
        draft_tokens: (γ,) the drafted block.
        confidences: (γ,) numbers in [0, 1].
        threshold: number in [0, 1]; a confidence that equals it passes.
        target_tokens: (γ + 1,) the target's token after the anchor and k drafts, k = 0 to γ.

    Returns:
        A dict of lists: target_input, the tokens of the target's forward; tokens, the accepted
        drafts and one token of the target.

    Raises:
        ValueError: a token or a number out of its range, or arguments of different length.

    Example:
        anchor 1, drafts [4, 5, 6], confidences [.9, .8, .3], threshold .5, target [4, 5, 6, 7]
        →  target_input [1, 4, 5], tokens [4, 5, 6]

    Source: DSpark (arXiv 2607.05147): the scheduled prefix alone is verified.
    """
    anchor = token_id("anchor_token", anchor_token)
    drafts = token_ids("draft_tokens", draft_tokens)
    chances = unit_numbers("confidences", confidences)
    threshold = unit_number("threshold", threshold)
    target = token_ids("target_tokens", target_tokens)
    check_same_length("draft_tokens", drafts, "confidences", chances)
    check_same_length("draft_tokens and one more", [anchor, *drafts], "target_tokens", target)
    ### BEGIN SOLUTION
    prefix = 0
    while prefix < len(drafts) and chances[prefix] >= threshold:
        prefix += 1
    target_input = [anchor, *drafts[:prefix]]  # all that the target's forward is given
    accepted = 0
    while accepted < prefix and drafts[accepted] == target[accepted]:
        accepted += 1
    return {"target_input": target_input, "tokens": [*drafts[:accepted], target[accepted]]}
    ### END SOLUTION


def profiled_verify_length(confidences: ArrayLike, steps_per_second: ArrayLike) -> int:
    """Choose the verify length ℓ of one request that yields the most tokens a second.

    Θ(ℓ) = (1 + a_1 + … + a_ℓ) · steps_per_second[ℓ], where a_j = c_1 · … · c_j. Only lengths
    that were profiled are tried; of equal ones the smallest wins.

    Args:
        confidences: (γ,) numbers in [0, 1].
        steps_per_second: the profile, above 0: entry ℓ for a step that verifies ℓ drafts.

    Returns:
        ℓ, from 0 to γ, a plain int.

    Raises:
        ValueError: no confidences, one outside [0, 1], no profile, or an entry not above 0.

    Example:
        confidences [.5, .5], profile [8, 6]  →  Θ = 8 and 1.5 · 6 = 9; no entry for 2  →  1

    Source: DSpark (arXiv 2607.05147): Θ = τ · SPS(B), with SPS profiled once into a table.
    """
    chances = unit_numbers("confidences", confidences)  # (γ,)
    profile = numbers("steps_per_second", steps_per_second, low=0.0, above=True)
    if profile.size == 0:
        raise ValueError("steps_per_second is empty: nothing has been profiled.")
    ### BEGIN SOLUTION
    tokens = 1.0 + np.append(0.0, np.cumprod(chances).cumsum())  # (γ + 1,) expected, by length
    tried = min(tokens.size, profile.size)
    return int(np.argmax(tokens[:tried] * profile[:tried]))
    ### END SOLUTION


def net_time_saved(
    accepted_counts: ArrayLike,
    target_time: float,
    draft_time: float,
    verify_time: float,
    replay_time: float,
) -> dict[str, Any]:
    """Tell from the clock whether drafting pays: time that it saved less time that it cost.

    A round that accepts a drafts emits a + 1 tokens, each of which would have cost target_time.
    It costs draft_time, verify_time and, for each accepted draft, replay_time to bring the
    cache back in step.

    Args:
        accepted_counts: accepted drafts of each round, from 0 on.
        target_time: one step of plain decoding, as all times in one unit and not negative.
        draft_time: drafting one block.
        verify_time: verifying one block.
        replay_time: replaying one accepted draft.

    Returns:
        A dict: saved, a float in the same unit; pays, a bool, whether it is above 0.

    Raises:
        ValueError: a count that is no whole number from 0 on, or a negative or infinite time.

    Example:
        counts [3, 1], target 10, draft 2, verify 12, replay 4  →  60 − 28 − 16 = 16, pays

    Source: DSpark (arXiv 2607.05147): speed-up; correction is a cost of the round.
    """
    counts = whole_numbers("accepted_counts", accepted_counts, low=0)
    target_time = number("target_time", target_time, low=0.0)
    draft_time = number("draft_time", draft_time, low=0.0)
    verify_time = number("verify_time", verify_time, low=0.0)
    replay_time = number("replay_time", replay_time, low=0.0)
    ### BEGIN SOLUTION
    emitted = sum(counts) + len(counts)
    costs = len(counts) * (draft_time + verify_time) + sum(counts) * replay_time
    saved = emitted * target_time - costs
    return {"saved": saved, "pays": saved > 0}
    ### END SOLUTION
