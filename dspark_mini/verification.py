"""Verification, or causal correction: what the target keeps of a drafted block, and what it says instead.

One target forward over [x_0, x_1, …, x_γ] gives γ + 1 rows; row k scores the token behind the first k drafts.
Only these rows decide which drafts are kept: the text is the target's own, however bad the drafter is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import (
    check_best,
    check_same_length,
    check_shape,
    logit_rows,
    probability_row,
    probability_rows,
    token_ids,
    token_in,
    tokens_in,
    whole_number,
)


def verify_greedy(draft_tokens: ArrayLike, target_logits: ArrayLike) -> dict[str, Any]:
    """Keep the drafts that greedy decoding would have chosen, and add the target's next token.

    Draft k is accepted while it equals the argmax of row k; of equal logits the lowest id wins.
    The first draft that differs ends the round. The argmax of row `accepted` follows: a correction
    in place of the refused draft, or a bonus behind the last one.

    Args:
        draft_tokens: (γ,) drafted tokens x_1..x_γ; γ = 0 is legal.
        target_logits: (γ+1, V) the target's rows; row k follows the first k drafts. −inf is legal.

    Returns:
        A dict: accepted, the number of accepted drafts, a plain int; tokens, a list of plain ints:
        the accepted drafts and one more.

    Raises:
        ValueError: a draft outside the vocabulary, another number of rows than γ + 1, ragged rows,
            or a row in use that holds NaN, +inf or only −inf.

    Example:
        draft_tokens [1, 0], target_logits [[.1, .9], [.3, .7], [.8, .2]]
        →  {'accepted': 1, 'tokens': [1, 1]}

    Source: Leviathan et al. (arXiv 2211.17192), Sections 2.2 and 2.3, with one-hot rows.
    """
    logits = logit_rows("target_logits", target_logits)  # (γ+1, V)
    drafts = tokens_in("draft_tokens", draft_tokens, logits.shape[1])  # (γ,)
    check_shape("target_logits", logits, (len(drafts) + 1, logits.shape[1]))
    ### BEGIN SOLUTION
    tokens = []
    for k, row in enumerate(logits):  # (V,)
        best = int(row.argmax())
        check_best(row[best], (k, row), name="target_logits")
        tokens.append(best)
        if k == len(drafts) or best != drafts[k]:
            break
    return {"accepted": len(tokens) - 1, "tokens": tokens}
    ### END SOLUTION


def acceptance_probability(p: ArrayLike, q: ArrayLike, token: int) -> float:
    """Return the probability with which one drafted token is accepted: min(1, p[token] / q[token]).

    Args:
        p: (V,) the target's distribution at this position.
        q: (V,) the very distribution that the token was drawn from.
        token: the drafted token; q[token] must be positive, or it could not have been drafted.

    Returns:
        A probability, a plain float.

    Raises:
        ValueError: p or q is no distribution, they differ in length, the token lies outside the
            vocabulary, or q[token] is 0.

    Example:
        p (.5, .3, .2), q (.2, .2, .6), token 2  →  .2 / .6 = 1/3;  token 0  →  1.0

    Source: Leviathan et al. (arXiv 2211.17192), Section 2.3; Chen et al. (arXiv 2302.01318).
    """
    target = probability_row("p", p)  # (V,)
    draft = probability_row("q", q)  # (V,)
    check_same_length("p", p, "q", q)
    token = token_in("token", token, target.size)
    if draft[token] == 0.0:
        raise ValueError(f"q[{token}] is 0, so token {token} cannot have been drafted.")
    ### BEGIN SOLUTION
    return min(1.0, float(target[token]) / float(draft[token]))
    ### END SOLUTION


def residual_distribution(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """Return what replaces a rejected draft: the excess of p over q, normalised.

    Args:
        p: (V,) the target's distribution at this position.
        q: (V,) the distribution that the rejected token was drawn from.

    Returns:
        norm(max(p − q, 0)), a new array (V,). Where nothing is in excess, as for p = q, it is p.

    Raises:
        ValueError: p or q is no distribution, or they differ in length.

    Example:
        p (.5, .3, .2), q (.2, .2, .6): excess (.3, .1, 0), sum .4  →  (.75, .25, 0)

    Source: Leviathan et al. (arXiv 2211.17192), Section 2.3; Chen et al. (arXiv 2302.01318).
    """
    target = probability_row("p", p)  # (V,)
    draft = probability_row("q", q)  # (V,)
    check_same_length("p", p, "q", q)
    ### BEGIN SOLUTION
    excess = np.maximum(target - draft, 0.0)  # (V,)
    mass = excess.sum()
    return excess / mass if mass > 0.0 else target.copy()
    ### END SOLUTION


def verify_sampling(
    draft_tokens: ArrayLike,
    draft_probs: ArrayLike,
    target_probs: ArrayLike,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Keep a prefix of the drafts and add one token, so that the text follows the target's law.

    Draft k is accepted with probability min(1, p/q), on its own draw. The first rejection ends the
    round with a token from the residual norm(max(p − q, 0)) of that position. If all are accepted,
    a bonus token is drawn from the last target row.

    Args:
        draft_tokens: (γ,) drafted tokens, each drawn from its row of draft_probs; γ = 0 is legal.
        draft_probs: (γ, V) the very rows that the drafts were drawn from.
        target_probs: (γ+1, V) the target's rows; row k follows the first k drafts.
        rng: the only source of chance.

    Returns:
        A dict: accepted, the number of accepted drafts, a plain int; tokens, a list of plain ints:
        the accepted drafts and one more.

    Raises:
        ValueError: before any draw: a row that is no distribution, shapes that do not fit, a draft
            outside the vocabulary, or one that its row of draft_probs gives probability 0.

    Example:
        draft_tokens [1], draft_probs [[.5, .5]], target_probs [[1, 0], [0, 1]]
        →  {'accepted': 0, 'tokens': [0]}, since p/q = 0 and the residual is (1, 0)

    Source: Leviathan et al. (arXiv 2211.17192), Algorithm 1; Chen et al. (arXiv 2302.01318).
    """
    p = probability_rows("target_probs", target_probs)  # (γ+1, V)
    q = probability_rows("draft_probs", draft_probs)  # (γ, V)
    drafts = tokens_in("draft_tokens", draft_tokens, p.shape[1])  # (γ,)
    check_shape("target_probs", p, (len(drafts) + 1, p.shape[1]))
    check_shape("draft_probs", q, (len(drafts), p.shape[1]))
    for k, token in enumerate(drafts):
        if q[k, token] == 0.0:
            raise ValueError(f"draft_probs row {k} gives 0 to token {token}, its own draft.")
    ### BEGIN SOLUTION
    accepted, row = 0, p[-1]  # (V,) the bonus row, unless a draft is rejected
    for token, p_row, q_row in zip(drafts, p, q):  # (V,) each
        if rng.random() >= acceptance_probability(p_row, q_row, token):
            row = residual_distribution(p_row, q_row)
            break
        accepted += 1
    last = int(rng.choice(row.size, p=row / row.sum()))
    return {"accepted": accepted, "tokens": [*drafts[:accepted], last]}
    ### END SOLUTION


def cut_output(tokens: ArrayLike, stop_tokens: ArrayLike, max_new_tokens: int) -> list[int]:
    """Return the part of the emitted tokens that belongs to the output.

    The output ends with the first stop token, which belongs to it, and never holds more than
    max_new_tokens tokens, a stop token included. What a block holds behind that is thrown away.

    Args:
        tokens: the tokens emitted since the prompt, of one block or of many; none is legal.
        stop_tokens: tokens that end the output, in any order; none means that only the cap ends it.
        max_new_tokens: the cap, in tokens, at least 0.

    Returns:
        A new list of plain ints, a prefix of tokens.

    Raises:
        ValueError: tokens or stop_tokens hold what is no token id, or the cap is negative.

    Example:
        tokens [5, 2, 7], stop_tokens [2], max_new_tokens 10  →  [5, 2];  with a cap of 1  →  [5]

    Source: the stopping rule of plain decoding, applied to every token of a round.
    """
    emitted = token_ids("tokens", tokens)
    stops = set(token_ids("stop_tokens", stop_tokens))
    max_new_tokens = whole_number("max_new_tokens", max_new_tokens, low=0)
    ### BEGIN SOLUTION
    kept = emitted[:max_new_tokens]
    for i, token in enumerate(kept):
        if token in stops:
            return kept[: i + 1]
    return kept
    ### END SOLUTION
