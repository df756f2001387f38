# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lesson 10 · Your own policy
#
# *How much should be drafted and verified, on this machine, in this text, right now?*
#
# | | |
# |---|---|
# | **You build** | a policy: from what an engine sees in a round, it decides what to verify and what to draft next |
# | **Difficulty** | ●●●○ — one task, a few lines, and no single right answer |
# | **Time** | 15 minutes to pass, an evening to win |
# | **You need** | the ideas of lessons 00, 04, 05; 06 helps |
#
# Run the cells from top to bottom. Stuck? `hint("10.1")` in a cell helps.

# %% role="setup"
import numpy as np

from grader import check, hint

# %% [markdown]
# ## One plan per round
#
# The text of greedy decoding is the target's, whatever you decide. The time is not. In every round your policy is asked once:
#
# | it sees | |
# |---|---|
# | `survivals` | the drafts that wait: the chance, as the drafter estimates it, that each is accepted |
# | `drafted`, `verified`, `accepted`, `expected` | the rounds of this text so far; `expected` sums the survivals of what was verified |
# | `draft_times`, `verify_times` | what drafting and verifying cost on this machine |
#
# | it answers | |
# |---|---|
# | `verify_length` | how many of the waiting drafts the target verifies, from the first on |
# | `block_size`, `width` | what to draft for the *next* round: a chain (width 1, up to 7 drafts), a tree (width 2, up to 14), or nothing: block size 0 |
#
# The next block is ordered before this one is verified, as in engines that keep their accelerator busy: DSpark decides from confidences that are
# two steps old (Section 5.2, lesson 05).
#
# In a **chain**, a survival is the product of the confidence head's outputs (lesson 04). In a **tree** it is the drafter's own probability of the
# path. A tree grows best first (lesson 06), so its first ℓ nodes are always a tree, too.
#
# ## Recorded texts, fixed costs
#
# No model runs here. Sixteen texts of the small language model were decoded once; at every position a chain and a tree were drafted and compared with
# what the target says. So a replay is exact: equal plans take equal time on every computer.
#
# Time is counted in steps of plain decoding: a round that drafts n tokens and verifies ℓ costs `draft_times[n] + verify_times[ℓ]`. There are three tables.

# %% role="show"
from dspark_mini.replay import COSTS, load_recordings

texts = load_recordings().texts
for machine, costs in COSTS.items():
    print(f"{machine:8}  draft 7: {costs.draft_times[7]:.2f}   verify 7: {costs.verify_times[7]:.2f}   "
          f"draft 14: {costs.draft_times[14]:.2f}   verify 14: {costs.verify_times[14]:.2f}")
for domain in dict.fromkeys(text.domain for text in texts):
    print(f"{domain:8}  {sum(len(text.tokens) for text in texts if text.domain == domain)} tokens in 4 texts")

# %% [markdown]
# *Stray* prompts are random words, nothing that the drafter was trained on. Are its estimates worth anything there? The lines: mean estimate
# for each draft of a chain, and how often it was accepted.

# %% role="picture"
from dspark_mini import viz

panels = {}
for domain in ("math", "chat", "stray"):
    chains = [text.drafts[1] for text in texts if text.domain == domain]
    promised = np.concatenate([chain.survivals[:-7] for chain in chains]).mean(axis=0)  # the last blocks end early
    kept = np.concatenate([np.diff(chain.accepted, axis=1)[:-7] for chain in chains]).mean(axis=0)
    panels[domain] = {"estimated": promised, "accepted": kept}
viz.lines(panels, x=range(1, 8), x_name="draft of the chain")

# %% [markdown]
# On math the estimates are right. In stray texts they promise too much: the drafter does not know that it is lost. No argument names the domain, but
# `accepted` and `expected` soon tell.
#
# ## Task 10.1 · The policy
#
# What is a good verify length? Take the busy GPU, where verifying ℓ drafts costs 1 + ℓ/2, and a tree of three with survivals [.9, .5, .1] that took .36 to draft.
#
# | ℓ | expected tokens | per time of the verification | per time of the round |
# |---|---|---|---|
# | 0 | 1 | 1 | .74 |
# | 1 | 1.9 | **1.27** | **1.02** |
# | 2 | 2.4 | 1.2 | 1.017 |
# | 3 | 2.5 | 1 | .87 |
#
# The scheduler of lesson 05 looks at the third column. But neither column decides: what counts is the time of the whole text, and time spent here is
# missing in another round. If other rounds earn two tokens per step, is the second draft worth its half step?
#
# And the next block? A long one costs time even where it is trimmed, a short one ends too early, and a tree of the same size hedges instead of reaching
# far.
#
# **Score.** On each machine 0 is plain decoding, 100 is the reference's gain in speed over it, and what is slower counts below 0. Your score is the mean
# over the machines; more than 100 is possible. Where a plan is not allowed, the round is decoded plainly. Grading takes other texts, of the same four
# kinds.

# %% task="10.1"
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
    Returns: A dict: verify_length, 0 to n; block_size, drafts for the next round, 0 for none; and their width: 1 for a
        chain, up to 7 drafts, or 2 for a tree, up to 14.
    Example: survivals [.9, .5, .1]  →  for instance {'verify_length': 2, 'block_size': 7, 'width': 1}
    """
    ### BEGIN SOLUTION
    spent = draft_times[drafted].sum() + verify_times[verified].sum()
    rate = (sum(accepted) + len(accepted) + 6.0) / (spent + 3.0)  # tokens per time so far, from a guess of 2
    worth = np.cumsum([0.0, *survivals]) - rate * verify_times[: len(survivals) + 1]
    return {"verify_length": int(worth.argmax()), "block_size": 8, "width": 2}
    ### END SOLUTION

# %% check="10.1"
check("10.1", plan_round)

# %% [markdown]
# ## Where you stand
#
# The oracle knows what will be accepted.

# %% role="picture"
from dspark_mini.replay import BASELINES, oracle_speeds, scores, speeds, total_score

recordings = load_recordings()
by_policy = {name: speeds(policy, recordings) for name, policy in BASELINES.items()}
by_policy |= {"yours": speeds(plan_round, recordings), "oracle": oracle_speeds(recordings)}
for name, measured in by_policy.items():
    print(f"{name:10} {total_score(scores(measured, recordings.reference)):6.1f}")
viz.policy_speeds(by_policy, own="yours", bound="oracle")

# %% [markdown]
# Seven drafts beat four on the idle GPU, and four beat seven on the busy one. A threshold knows no costs; the scheduler does.
#
# ## Open problem
#
# The gap to the oracle. Trust the estimates as far as `accepted` and `expected` allow; order the next block by how this one looks; choose chain or tree from
# the trace; decode plainly while a stray text lasts. The cell tries another length of the tree: replace it by an idea of yours.

# %% role="show"
BEST_KNOWN = 107.6                                   # a random search over 250 policies with all of these levers


def longer_where_cheap(*view):
    plan = plan_round(*view)
    return plan | {"block_size": 11 if view[-1][1] < 1.05 else 7, "width": 2}


for name, policy in {"yours": plan_round, "with another length": longer_where_cheap}.items():
    print(f"{name:20} {total_score(scores(speeds(policy, recordings), recordings.reference)):6.1f}")
print(f"{'best known':20} {BEST_KNOWN:6.1f}")

# %% [markdown]
# **Live:** `dspark-mini race --mine` runs your policy and your other functions on the model itself.
#
# ## Further reading
#
# * DSpark, Sections 3.2 and 5.2: [arXiv 2607.05147](https://arxiv.org/abs/2607.05147)
# * Leviathan et al., Section 3: [arXiv 2211.17192](https://arxiv.org/abs/2211.17192)
