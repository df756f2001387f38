"""The bug clinic, from the commit on: ends of texts, counts, caches, gates and clocks that engines got wrong.

Here they are repaired; what stood in their place is in clinic_bugs.
"""

from __future__ import annotations

import numpy as np

from dspark_mini.contracts import chance, chances, integer, integers, number, numbers, takes, token_lists, tokens

# --- Committing -------------------------------------------------------------------------------------------------------


@takes(output=tokens("n"), round_tokens=tokens("m"), stop_tokens=tokens("s"))
def commit_until_stop(output, round_tokens, stop_tokens):
    """Append the tokens of one round to the output, up to and including the first stop token.

    Args:
        output: tokens committed so far, without a stop token.
        round_tokens: tokens of the round: accepted drafts, then one token of the target.
        stop_tokens: tokens that end the text.

    Returns:
        A dict: output, a new list of tokens; finished, whether a stop token was met.

    Example:
        output [7], round [5, 8, 2], stop [2]  →  output [7, 5, 8, 2], finished True

    Source: DSpark (arXiv 2607.05147): lossless, so the text ends where plain decoding ends it.
    """
    ### BEGIN SOLUTION
    committed = list(output)
    for token in round_tokens:
        committed.append(token)
        if token in stop_tokens:
            return {"output": committed, "finished": True}
    return {"output": committed, "finished": False}
    ### END SOLUTION


@takes(tokens=tokens("n"), stop_tokens=tokens("s"), max_new_tokens=integer())
def finish_request(tokens, stop_tokens, max_new_tokens):
    """Cut a request's tokens at the stop token or at the length cap, whichever comes first in the text.

    Args:
        tokens: all tokens so far; the last round may have brought a stop token and crossed the cap as well.
        stop_tokens: tokens that end the text.
        max_new_tokens: the cap; a stop token that is the last one allowed is still a stop.

    Returns:
        A dict: tokens, a list; reason, 'stop', 'length' or 'running'.

    Example:
        tokens [10, 11, 2, 20], stop [2], cap 5  →  tokens [10, 11, 2], reason 'stop'

    Source: DSpark (arXiv 2607.05147): lossless, so the text ends where plain decoding ends it.
    """
    ### BEGIN SOLUTION
    for count, token in enumerate(tokens[:max_new_tokens], start=1):
        if token in stop_tokens:
            return {"tokens": tokens[:count], "reason": "stop"}
    reason = "length" if len(tokens) >= max_new_tokens else "running"
    return {"tokens": tokens[:max_new_tokens], "reason": reason}
    ### END SOLUTION


@takes(rounds=token_lists("R"), stop_tokens=tokens("s"))
def mean_emitted_length(rounds, stop_tokens):
    """Measure τ: the mean number of tokens that a round emits, up to and including its first stop token.

    Args:
        rounds: the verified tokens of each round: accepted drafts, then one token of the target.
        stop_tokens: tokens that end the text.

    Returns:
        The mean over the rounds.

    Example:
        rounds [[4, 5, 6], [7, 2]], stop [2]  →  (3 + 2) / 2 = 2.5

    Source: DSpark (arXiv 2607.05147): accepted length τ, the bonus token included.
    """
    ### BEGIN SOLUTION
    emitted = 0
    for block in rounds:
        ends = [k for k, token in enumerate(block, start=1) if token in stop_tokens]
        emitted += ends[0] if ends else len(block)
    return emitted / len(rounds)
    ### END SOLUTION


@takes(drafted=integer(low=1), accepted=integer(high="drafted"))
def draft_rows_to_drop(drafted, accepted):
    """Bring an autoregressive drafter's cache back in step: it holds all committed tokens but the last, the anchor.

    Args:
        drafted: γ; drafting fed the anchor and all drafts but the last, one row each.
        accepted: number of accepted drafts; one token of the target follows them.

    Returns:
        A dict: drop, rows to drop at the end; missing, rows still to be fed.

    Example:
        drafted 4, accepted 1: of 4 rows the anchor's and one draft's stay  →  drop 2, missing 0

    Source: cache contract: both caches hold exactly the committed tokens but the last.
    """
    ### BEGIN SOLUTION
    surplus = drafted - (1 + accepted)  # rows fed less rows wanted, which are the anchor and the accepted drafts
    return {"drop": max(surplus, 0), "missing": max(-surplus, 0)}
    ### END SOLUTION


# --- Scheduling -------------------------------------------------------------------------------------------------------


@takes(
    anchor_token=integer(low=None),
    draft_tokens=tokens("γ"),
    confidences=chances("γ", empty=True),
    threshold=chance(),
    target_tokens=tokens("γ+1"),
)
def gated_round(anchor_token, draft_tokens, confidences, threshold, target_tokens):
    """Run one greedy round whose confidence gate saves rows of the target's forward.

    Args:
        anchor_token: x_0, the last committed token.
        draft_tokens: list (γ,), the drafted block.
        confidences, threshold: (γ,) and a number; the first confidence below it ends the prefix, an equal one passes.
        target_tokens: list (γ + 1,), its token after the anchor and k drafts; a draft that equals it is accepted.

    Returns:
        A dict: target_input, the anchor and the prefix; tokens, the accepted drafts, then one token of the target.

    Example:
        1, [4, 5], [.9, .8], .5, [4, 5, 6]  →  target_input [1, 4, 5], tokens [4, 5, 6]

    Source: DSpark (arXiv 2607.05147): the scheduled prefix alone is verified.
    """
    ### BEGIN SOLUTION
    prefix = 0
    while prefix < len(draft_tokens) and confidences[prefix] >= threshold:
        prefix += 1
    target_input = [anchor_token, *draft_tokens[:prefix]]  # all that the target's forward is given
    accepted = 0
    while accepted < prefix and draft_tokens[accepted] == target_tokens[accepted]:
        accepted += 1
    return {"target_input": target_input, "tokens": [*draft_tokens[:accepted], target_tokens[accepted]]}
    ### END SOLUTION


@takes(confidences=chances("γ"), steps_per_second=numbers("B", above=0.0))
def profiled_verify_length(confidences, steps_per_second):
    """Choose the verify length ℓ of one request that yields the most tokens per second, among those profiled.

    Args:
        confidences: (γ,) c_1 … c_γ; a length ℓ yields 1 + a_1 + … + a_ℓ tokens, a_j = c_1 · … · c_j.
        steps_per_second: the profile; entry ℓ is for a step that verifies ℓ drafts. It may end early.

    Returns:
        ℓ, from 0 to γ; the smallest of equal ones.

    Example:
        confidences [.5, .5], profile [8, 6, 4]  →  8, 1.5 · 6 = 9 and 1.75 · 4 = 7 tokens/s  →  1

    Source: DSpark (arXiv 2607.05147): Θ = τ · SPS(B), with SPS profiled once into a table.
    """
    ### BEGIN SOLUTION
    tokens = 1.0 + np.append(0.0, np.cumprod(confidences).cumsum())  # (γ + 1,) expected, by length
    tried = min(len(tokens), len(steps_per_second))
    return int(np.argmax(tokens[:tried] * steps_per_second[:tried]))
    ### END SOLUTION


@takes(
    accepted_counts=integers("R", empty=True),
    target_time=number(low=0.0),
    draft_time=number(low=0.0),
    verify_time=number(low=0.0),
    replay_time=number(low=0.0),
)
def net_time_saved(accepted_counts, target_time, draft_time, verify_time, replay_time):
    """Tell from the clock whether drafting pays: the time that it saves less the time that it costs.

    Args:
        accepted_counts: list (R,), accepted drafts per round; a round emits one token more.
        target_time: one step of plain decoding, in the unit of all times.
        draft_time: drafting one block.
        verify_time: verifying one block.
        replay_time: replaying one accepted draft, to bring the cache back in step.

    Returns:
        A dict: saved, in the same unit; pays, whether it is above 0.

    Example:
        counts [3, 1], target 10, draft 2, verify 12, replay 0  →  60 − 28 = 32, pays

    Source: the kit's sum, after the replay of ds4 (issues 695 and 731); the DSpark paper has no cost of correction.
    """
    ### BEGIN SOLUTION
    rounds, accepted = len(accepted_counts), sum(accepted_counts)
    saved = (accepted + rounds) * target_time
    saved -= rounds * (draft_time + verify_time) + accepted * replay_time
    return {"saved": saved, "pays": saved > 0}
    ### END SOLUTION
