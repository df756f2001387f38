"""Verification: what the target keeps of a drafted block, and what it says instead.

One target forward over [x_0, x_1, …, x_γ] gives γ + 1 rows; row k scores the token that follows the first k drafts.
Only these rows decide which drafts are kept: the text is the target's own, however bad the drafter is.
"""

from __future__ import annotations

import numpy as np

from dspark_mini.contracts import generator, integer, logits, probabilities, takes, token, tokens
from dspark_mini.rules import drafts_are_possible, token_is_possible


@takes(target_logits=logits("γ+1", "V"), draft_tokens=tokens("γ", below="V"))
def verify_greedy(draft_tokens, target_logits):
    """Keep the drafts that greedy decoding would have chosen, and add the target's next token.

    Args:
        draft_tokens: list (γ,), drafted tokens x_1..x_γ; there may be none.
        target_logits: (γ+1, V) the target's rows; row k follows the first k drafts, −inf masks a token.

    Returns:
        A dict: accepted, the number of accepted drafts; tokens, the accepted drafts and one more token.

    Example:
        draft_tokens [2], target_logits [[0, 1, 2], [5, 0, 0]]  →  {'accepted': 1, 'tokens': [2, 0]}

    Source: Leviathan et al. (arXiv 2211.17192), Sections 2.2 and 2.3, with one-hot rows.
    """
    ### BEGIN SOLUTION
    best = target_logits.argmax(axis=1).tolist()  # (γ+1,)
    accepted = 0
    while accepted < len(draft_tokens) and draft_tokens[accepted] == best[accepted]:
        accepted += 1
    return {"accepted": accepted, "tokens": best[: accepted + 1]}
    ### END SOLUTION


@takes(token_is_possible, p=probabilities("V"), q=probabilities("V"), token=token(below="V"))
def acceptance_probability(p, q, token):
    """Return the probability with which a drafted token is accepted.

    Args:
        p: (V,) the target's distribution at this position.
        q: (V,) the distribution that the token was drawn from, so q[token] > 0.
        token: the drafted token.

    Returns:
        A probability.

    Example:
        p (.25, .75), q (.5, .5): token 0  →  0.5;  token 1  →  1.0

    Source: Leviathan et al. (arXiv 2211.17192), Section 2.3; Chen et al. (arXiv 2302.01318): min(1, p/q).
    """
    ### BEGIN SOLUTION
    return min(1.0, p[token] / q[token])
    ### END SOLUTION


@takes(p=probabilities("V"), q=probabilities("V"))
def residual_distribution(p, q):
    """Return the residual, the distribution that a rejected draft is replaced from.

    Args:
        p: (V,) the target's distribution at this position.
        q: (V,) the distribution that the rejected token was drawn from.

    Returns:
        A distribution (V,); p itself if nothing is missing, as for p = q.

    Example:
        p (.5, .25, .25), q (.25, .125, .625)  →  (2/3, 1/3, 0)

    Source: Leviathan et al. (arXiv 2211.17192), Section 2.3; Chen et al. (arXiv 2302.01318): norm(max(p − q, 0)).
    """
    ### BEGIN SOLUTION
    excess = np.maximum(p - q, 0.0)  # (V,)
    mass = excess.sum()
    return excess / mass if mass > 0.0 else p.copy()
    ### END SOLUTION


@takes(
    drafts_are_possible,
    target_probs=probabilities("γ+1", "V"),
    draft_probs=probabilities("γ", "V", empty=True),
    draft_tokens=tokens("γ", below="V"),
    rng=generator(),
)
def verify_sampling(draft_tokens, draft_probs, target_probs, rng):
    """Keep a prefix of the drafts and add one token, so that the text follows the target's distribution.

    Args:
        draft_tokens: list (γ,), drafted tokens, each drawn from its row of draft_probs; there may be none.
        draft_probs: (γ, V) the rows q that the drafts were drawn from.
        target_probs: (γ+1, V) the target's rows p; row k follows the first k drafts.
        rng: the only source of chance, a numpy.random.Generator.

    Returns:
        A dict: accepted, the number of accepted drafts; tokens, the accepted drafts and one more token.

    Example:
        draft_tokens [1], draft_probs [[.5, .5]], target_probs [[1, 0], [0, 1]]
        →  {'accepted': 0, 'tokens': [0]}, since the target never says 1

    Source: Leviathan et al. (arXiv 2211.17192), Algorithm 1; Chen et al. (arXiv 2302.01318).
    """
    ### BEGIN SOLUTION
    accepted, row = 0, target_probs[-1]  # (V,) the bonus row, unless a draft is rejected
    for draft, p, q in zip(draft_tokens, target_probs, draft_probs):  # p, q: (V,)
        if rng.random() >= p[draft] / q[draft]:
            row = residual_distribution(p, q)
            break
        accepted += 1
    last = int(rng.choice(len(row), p=row))
    return {"accepted": accepted, "tokens": [*draft_tokens[:accepted], last]}
    ### END SOLUTION


@takes(tokens=tokens("n"), stop_tokens=tokens("S"), max_new_tokens=integer())
def cut_output(tokens, stop_tokens, max_new_tokens):
    """Return the part of the emitted tokens that belongs to the output: up to the first stop token or the cap.

    Args:
        tokens: list (n,), tokens emitted since the prompt, in one round or in many.
        stop_tokens: list (S,), tokens that end the output and belong to it; without any, only the cap ends it.
        max_new_tokens: the cap, in tokens; a stop token counts.

    Returns:
        A prefix of tokens, as a new list.

    Example:
        tokens [8, 8, 4, 3], stop_tokens [3, 4], max_new_tokens 10  →  [8, 8, 4]

    Source: the stopping rule of plain decoding, applied to every token of a round.
    """
    ### BEGIN SOLUTION
    kept = tokens[:max_new_tokens]
    for i, emitted in enumerate(kept):
        if emitted in stop_tokens:
            return kept[: i + 1]
    return kept
    ### END SOLUTION
