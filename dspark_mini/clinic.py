"""The bug clinic, before the commit: features, positions, ids and verification that production engines got wrong.

Here they are repaired. What stood in their place is in clinic_bugs; rounds, caches and schedules are in clinic_rounds.
"""

from __future__ import annotations

import numpy as np

from dspark_mini.contracts import (
    chances,
    generator,
    integer,
    integers,
    logits,
    numbers,
    one_of,
    probabilities,
    takes,
    token,
    tokens,
)
from dspark_mini.rules import drafts_are_possible, target_ids_are_distinct, token_is_possible

# --- What the drafter learns from -------------------------------------------------------------------------------------


@takes(anchor_positions=integers("A"), block_length=integer(low=1))
def visible_features(anchor_positions, block_length):
    """Mark the features of the target that each training block may see: those strictly before its anchor.

    Args:
        anchor_positions: list (A,), one anchor per block, in any order; blocks may overlap.
        block_length: γ; block i brings the features of positions anchor_i to anchor_i + γ − 1.

    Returns:
        Boolean array (A, A·γ): row j is True where a feature lies before anchor j.

    Example:
        anchors [0, 2], block_length 2  →  [[0, 0, 0, 0], [1, 1, 0, 0]] as booleans

    Source: DFlash (arXiv 2602.06036): a block never sees features at or after its own anchor.
    """
    ### BEGIN SOLUTION
    anchors = np.array(anchor_positions)[:, None]  # (A, 1)
    read_at = anchors + np.arange(block_length)  # (A, γ) the position of each feature
    return read_at.ravel() < anchors  # (A, A·γ)
    ### END SOLUTION


@takes(hidden_states=numbers("L+1", "d"), layer_ids=integers("m", below="L"))
def tapped_features(hidden_states, layer_ids):
    """Concatenate the outputs of some layers of the target: the features that the drafter reads.

    Args:
        hidden_states: (L + 1, d); entry 0 is the embedding, entry i + 1 the output of layer i.
        layer_ids: list (m,), the layers whose outputs are wanted, in this order.

    Returns:
        Array (m·d,).

    Example:
        hidden_states [[0, 1], [4, 5], [4, 5]], layer_ids [1]  →  [4, 5]

    Source: DFlash (arXiv 2602.06036): features of chosen target layers, H^(l1) to H^(lm).
    """
    ### BEGIN SOLUTION
    return np.concatenate([hidden_states[layer + 1] for layer in layer_ids])
    ### END SOLUTION


# --- Drafting ---------------------------------------------------------------------------------------------------------


@takes(cached_positions=integers("n", empty=True), block_size=integer(low=1))
def block_input_positions(cached_positions, block_size):
    """Number the inputs of a draft block: the anchor, which follows the cached tokens, then the masks.

    Args:
        cached_positions: positions of the rows in the drafter's cache, rising; it ends with the committed token
            before the anchor, and a window may have dropped the oldest rows. Empty at the start.
        block_size: number of inputs, the anchor included.

    Returns:
        block_size positions.

    Example:
        cached_positions [], block_size 3  →  [0, 1, 2]

    Source: DSpark (arXiv 2607.05147): the block starts with the anchor, the last committed token.
    """
    ### BEGIN SOLUTION
    anchor = cached_positions[-1] + 1 if cached_positions else 0
    return [anchor + k for k in range(block_size)]
    ### END SOLUTION


@takes(block_logits=logits("rows", "V"), layout=one_of("dflash", "dspark"))
def read_predictions(block_logits, layout):
    """Read the draft tokens off the output rows of one block, in the drafter's own layout.

    Args:
        block_logits: (rows, V) output logits, the anchor's row first.
        layout: 'dflash': the anchor and γ masks are fed, and the masks predict; 'dspark': the anchor and γ − 1 masks
            are fed, and every position predicts.

    Returns:
        γ token ids; of equal logits the lowest id wins.

    Example:
        [[0, 1], [1, 0], [0, 1]], 'dflash'  →  [0, 1]

    Source: DSpark (arXiv 2607.05147): position k predicts x_k and is conditioned on x_{k−1}.
    """
    ### BEGIN SOLUTION
    first = 1 if layout == "dflash" else 0  # the first row that predicts
    return block_logits[first:].argmax(axis=1).tolist()
    ### END SOLUTION


@takes(
    target_ids_are_distinct,
    draft_probs=probabilities("V_d"),
    token=token(below="V_d"),
    d2t=integers("V_d"),
    vocabulary=integer(low=1),
)
def draft_in_target_ids(token, draft_probs, d2t, vocabulary):
    """Translate a draft token, and the row it was drawn from, into the target's vocabulary.

    Args:
        token: the draft token, an id of the drafter.
        draft_probs: (V_d,) the row that it was drawn from, by the drafter's ids.
        d2t: list (V_d,), offsets: the drafter's token i is the target's token i + d2t[i].
        vocabulary: V, the size of the target's vocabulary.

    Returns:
        A dict: token, the target's id; row, array (V,), the probabilities by the target's ids.

    Example:
        token 1, draft_probs [.75, .25], d2t [0, 0], vocabulary 3  →  token 1, row [.75, .25, 0]

    Source: EAGLE-3 (arXiv 2503.01840): reduced draft vocabulary; acceptance needs q(x) for p(x).
    """
    ### BEGIN SOLUTION
    target_ids = np.arange(len(d2t)) + d2t  # (V_d,)
    row = np.zeros(vocabulary)
    row[target_ids] = draft_probs
    return {"token": int(target_ids[token]), "row": row}
    ### END SOLUTION


# --- Verifying --------------------------------------------------------------------------------------------------------


@takes(draft_probs=probabilities("γ", "V"))
def greedy_proposal(draft_probs):
    """Draft greedily, and hand the verifier the rows q that the tokens were really drawn from.

    Args:
        draft_probs: (γ, V) the drafter's softmax rows.

    Returns:
        A dict: tokens, γ ids, the lowest of equal ones; rows, array (γ, V): 1 at the token, 0 elsewhere.

    Example:
        [[0, 1]]  →  tokens [1], rows [[0, 1]]

    Source: Leviathan et al. 2023: x is accepted with min(1, p(x)/q(x)), where x was drawn from q.
    """
    ### BEGIN SOLUTION
    tokens = draft_probs.argmax(axis=1)  # (γ,)
    return {"tokens": tokens.tolist(), "rows": np.eye(draft_probs.shape[1])[tokens]}
    ### END SOLUTION


@takes(draft_probs=probabilities("V"), top_k=integer(low=1), rng=generator())
def top_k_proposal(draft_probs, top_k, rng):
    """Draw a draft from the drafter's top_k tokens, and hand over the row q that it was drawn from.

    Args:
        draft_probs: (V,) the drafter's softmax row.
        top_k: number of tokens that are kept, the lowest ids of equal ones; from V on, all of them.
        rng: source of chance.

    Returns:
        A dict: token, an id; row, array (V,): the kept probabilities divided by their sum, 0 elsewhere.

    Example:
        [.5, .3, .2], top_k 3  →  tokens 0, 1, 2 with these probabilities;  row [.5, .3, .2]

    Source: Leviathan et al. 2023, section 2.2: q is the adjusted distribution, after top-k.
    """
    ### BEGIN SOLUTION
    kept = np.argsort(-draft_probs, kind="stable")[:top_k]
    row = np.zeros(len(draft_probs))
    row[kept] = draft_probs[kept] / draft_probs[kept].sum()
    return {"token": int(rng.choice(len(row), p=row)), "row": row}
    ### END SOLUTION


@takes(
    drafts_are_possible,
    draft_probs=probabilities("γ", "V"),
    target_probs=probabilities("γ", "V"),
    draft_tokens=tokens("γ", below="V"),
    uniforms=chances("γ"),
)
def accepted_by_uniforms(draft_tokens, draft_probs, target_probs, uniforms):
    """Count the drafts up to the first that fails: draft k passes if uniforms[k] < p_k(x_k) / q_k(x_k).

    Args:
        draft_tokens: list (γ,), draft tokens x_k.
        draft_probs: (γ, V) rows q_k that they were drawn from.
        target_probs: (γ, V) rows p_k of the target.
        uniforms: (γ,) numbers drawn uniformly between 0 and 1.

    Returns:
        The number of accepted drafts.

    Example:
        tokens [0, 1], q [[.5, .5], [.5, .5]], p [[.5, .5], [.5, .5]], uniforms [.4, .9]  →  2

    Source: Leviathan et al. 2023, Algorithm 1; DSpark (arXiv 2607.05147): verification.
    """
    ### BEGIN SOLUTION
    accepted = 0
    for x, q, p, uniform in zip(draft_tokens, draft_probs, target_probs, uniforms):
        if uniform >= p[x] / q[x]:
            break
        accepted += 1
    return accepted
    ### END SOLUTION


@takes(token_is_possible, p=probabilities("V"), q=probabilities("V"), token=token(below="V"), rng=generator())
def emit_one_token(token, p, q, rng):
    """Verify one draft: emit it with probability min(1, p/q), else a token of max(p − q, 0) divided by its sum.

    Args:
        token: the draft, drawn from q.
        p: (V,) the target's probabilities.
        q: (V,) the drafter's, with q[token] above 0.
        rng: source of chance.

    Returns:
        The emitted token; where the draft comes from q, its law is p.

    Example:
        token 0, p [.25, .75], q [.5, .5]  →  0 with probability 1/2, 1 with 1/2

    Source: Leviathan et al. 2023, Algorithm 1; Chen et al. 2023.
    """
    ### BEGIN SOLUTION
    if rng.random() < p[token] / q[token]:
        return token
    residual = np.maximum(p - q, 0.0)  # (V,)
    return int(rng.choice(len(residual), p=residual / residual.sum()))
    ### END SOLUTION
