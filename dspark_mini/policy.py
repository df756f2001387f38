"""The policy: how many drafts a round verifies, and what the next round drafts."""

from __future__ import annotations

import numpy as np

from dspark_mini.contracts import chances, integers, numbers, takes
from dspark_mini.rules import verified_of_drafted


@takes(
    verified_of_drafted,
    survivals=chances("n", empty=True),
    drafted=integers("R", empty=True),
    verified=integers("R", empty=True),
    accepted=integers("R", empty=True),
    expected=numbers("R", low=0.0, empty=True),
    draft_times=numbers("N", low=0.0),
    verify_times=numbers("N", above=0.0),
)
def plan_round(survivals, drafted, verified, accepted, expected, draft_times, verify_times):
    """Plan a round: how many of the waiting drafts to verify, and what to draft for the next round.

    Args:
        survivals: (n,) the drafter's estimates that each waiting draft is accepted, falling; empty if none wait.
        drafted, verified, accepted: lists (R,), counts of the rounds so far.
        expected: (R,) sums of the survivals of the drafts that each of these rounds verified.
        draft_times: (15,) time to draft 0 to 14 tokens, in steps of plain decoding.
        verify_times: (15,) time to verify 0 to 14 drafts; entry 0 is the step of plain decoding.

    Returns:
        A dict: verify_length, 0 to n; block_size, drafts for the next round, 0 for none; and their width: 1 for a
        chain, up to 7 drafts, or 2 for a tree, up to 14.

    Example:
        survivals [.9, .5, .1]  →  for instance {'verify_length': 2, 'block_size': 7, 'width': 1}

    Source: this kit's; DSpark (arXiv 2607.05147), Section 3.2, for verify lengths that follow load.
    """
    ### BEGIN SOLUTION
    spent = draft_times[drafted].sum() + verify_times[verified].sum()
    rate = (sum(accepted) + len(accepted) + 6.0) / (spent + 3.0)  # tokens per time so far, from a guess of 2
    worth = np.cumsum([0.0, *survivals]) - rate * verify_times[: len(survivals) + 1]
    return {"verify_length": int(worth.argmax()), "block_size": 8, "width": 2}
    ### END SOLUTION
