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
# # Lesson 05 · The scheduler
#
# *Many requests share one GPU. How many draft tokens of each are worth verifying, and how can that be decided without
# changing what comes out?*
#
# | | |
# |---|---|
# | **You build** | the prefix scheduler of DSpark (Algorithm 1), the allocation of a fixed budget, the budget from two rounds ago |
# | **Difficulty** | ●●●○ — three tasks of four to seven lines in NumPy, up to a dozen with loops |
# | **Time** | about 55 minutes |
# | **You need** | Python, NumPy sorting and running sums; no earlier lesson has to be solved |
#
# Run the cells from top to bottom (Shift+Enter). Each task has a cell with a `TODO` and, below it, a cell that
# checks your function. Stuck? Open a terminal and type `dspark-mini hint 5.1`.

# %% role="setup"
import numpy as np

from dspark_mini import viz
from grader import check

# %% [markdown]
# ## Why a scheduler?
#
# With one request on the GPU, a verified token costs next to nothing: the forward has to read all the weights anyway, and
# one more row adds hardly any time. With many requests the rows add up, computing takes longer than reading, and **every row
# makes the step longer for everybody**. A draft token that is rejected then has cost time and yielded nothing.
#
# So the engine profiles itself once: how many **steps per second** does it make at a batch of B tokens? That table,
# SPS(B), is all that the scheduler knows about the hardware. Here is the table of a simulated engine. Its step takes 4 ms for
# whatever does not depend on the batch, plus 8 ms to read the weights or 0.1 ms per token to compute, whichever is longer.

# %% role="show"
GAMMA = 7                                            # draft tokens per request
BATCHES = np.arange(1, 256 * (1 + GAMMA) + 1)        # B = 1, 2, …
STEP_MS = 4.0 + np.maximum(8.0, 0.1 * BATCHES)
SPS = np.append(0.0, 1000.0 / STEP_MS)               # SPS[B]; entry 0 is not used

shown = 2 ** np.arange(12)
panels = {"time of a step, ms": {"step": STEP_MS[shown - 1]},
          "SPS(B), steps per second": {"SPS": SPS[shown]}}
viz.lines(panels, x=shown, x_name="B, tokens in one forward", log_x=True)

# %% [markdown]
# ## What is to be maximised
#
# Request r has drafted tokens with confidences c₁, c₂, … Token j is useful only if all tokens before it survive, too. Its
# **prefix survival** is the product
#
# $$a_{r,j} = c_{r,1}\,c_{r,2}\cdots c_{r,j}.$$
#
# If ℓ_r tokens of request r are verified, the forward holds B tokens and is expected to yield τ of them:
#
# $$B = \sum_r (1 + \ell_r), \qquad \tau = \sum_r \Bigl(1 + \sum_{j \le \ell_r} a_{r,j}\Bigr), \qquad
# \Theta = \tau \cdot \mathrm{SPS}(B).$$
#
# The 1 in both sums is the request's own token: it is in the forward with or without drafts, and the target always emits one
# token. **Θ is the throughput**, in tokens per second. Verify more, and τ rises while SPS falls.

# %% [markdown]
# ## Task 5.1 · Algorithm 1: admit while Θ rises
#
# Put all draft tokens of all requests into one order, the highest survival first. Start with none, so with B = R and
# τ = R. Admit them one by one, and **stop at the first token that does not raise Θ**. Survivals never rise along a request,
# and equal ones stay in order, so what is admitted of a request is always a prefix of its draft.
#
# By hand: c = [[.5, .5], [.75]] and SPS = [–, 9, 8, 7, 6, 5]. Survivals: .5 and .25 for request 0, .75 for request 1.
#
# | admitted | B | τ | SPS(B) | Θ |
# |---|---|---|---|---|
# | nothing | 2 | 2 | 8 | 16 |
# | .75 of request 1 | 3 | 2.75 | 7 | 19.25 |
# | .5 of request 0 | 4 | 3.25 | 6 | 19.5 |
# | .25 of request 0 | 5 | 3.5 | 5 | 17.5: stop |
#
# One token of each request is verified: `[1, 1]`. The rules at the edges:
#
# * of equal survivals the lower request comes first, then the lower position; an *equal* Θ is not a rise and stops the search;
# * a token with a survival of 0 is never admitted, and a batch beyond the end of the table is never tried.
#
# `confidences` reaches your function as a matrix (R, γ), in which short requests are padded with zeros, and
# `steps_per_second` as an array.

# %% task="5.1"
from dspark_mini.contracts import chance_rows, speeds, takes

@takes(confidences=chance_rows("R"), steps_per_second=speeds("R"))
def schedule_prefixes(confidences, steps_per_second):
    """Admit draft tokens, the likeliest survivor first, up to the first that does not raise Θ = τ · SPS(B).

    Args:
        confidences: (R, γ) chances, one row per request; short rows are padded with 0.
        steps_per_second: entry B is the engine's speed at a batch of B tokens; entry 0 is not used.
    Returns: R verify lengths.
    Example: confidences [[.5, .5], [.75]], steps_per_second [0, 9, 8, 7, 6, 5]
        Θ = 2 · 8 = 16, then 2.75 · 7 = 19.25, 3.25 · 6 = 19.5; 3.5 · 5 = 17.5 stops  →  [1, 1]
    """
    ### BEGIN SOLUTION
    requests, survival = len(confidences), np.cumprod(confidences, axis=1)  # (R, γ), falls along each row
    order = np.argsort(-survival, axis=None, kind="stable")[: np.count_nonzero(survival)]  # ties in the batch's order
    tau = np.cumsum(np.append(requests, survival.ravel()[order]))  # with 0, 1, 2, … draft tokens
    steps = steps_per_second[requests : requests + len(tau)]  # no batch beyond the table
    theta = tau[: len(steps)] * steps
    admitted = int(np.append(theta[1:] > theta[:-1], False).argmin())  # while Θ rises
    return np.bincount(order[:admitted] // confidences.shape[1], minlength=len(confidences)).tolist()
    ### END SOLUTION

# %% check="5.1"
check("5.1", schedule_prefixes)

# %% [markdown]
# **A decision that does not move when the table moves is a bug.** Your function, with the same confidences on three
# engines: one where tokens are free, one where each adds 8 % to a step, one where each adds 20 %.

# %% role="picture"
confidences = [[0.95, 0.9, 0.9, 0.8, 0.8], [0.8, 0.7, 0.6, 0.5, 0.5],
               [0.6, 0.9, 0.9], [0.3, 0.2, 0.9, 0.9, 0.9]]
drafts = np.maximum(np.arange(23) - 4, 0)            # draft tokens in a batch of B
viz.verify_schedule(confidences, {
    title: schedule_prefixes(confidences, 100.0 / (1.0 + cost * drafts))
    for title, cost in {"free": 0.0, "8 % per token": 0.08, "20 % per token": 0.2}.items()
})

# %% [markdown]
# Look at request 3: it ends with three confidences of .9, and they are worth nothing after a .3 and a .2.
#
# **From one user to 256.** The next cell is a whole simulated engine. In every round each of R requests drafts seven tokens,
# easy requests with high confidences and hard ones with low; a policy chooses the verify lengths; a token is accepted with the
# probability that its confidence states; and the clock advances by one step of the table. Drafting takes 1 ms more (not
# charged in a round that verifies no draft).

# %% role="show"
def simulate(policy, requests, sps, rounds=40, seed=5):
    """Return tokens per second and verified draft tokens per request.

    A policy gets the confidences of now and of two rounds ago and returns the verify lengths.
    """
    rng = np.random.default_rng(seed)
    ease = rng.beta(5, 2, size=requests)             # how well each request can be guessed
    past, tokens, seconds, verified = [], 0, 0.0, 0
    for _ in range(rounds):
        fresh = rng.random(requests) < 0.05          # one request in twenty ends and is replaced
        ease = np.where(fresh, rng.beta(5, 2, size=requests), ease)
        now = np.clip(ease[:, None] + rng.normal(0, 0.08, size=(requests, GAMMA)), 0.02, 0.98)
        past = [*past, now][-3:]                     # of this round and of the two before it
        lengths = np.array(policy(now, past[0]))
        accepted = np.cumprod(rng.random(now.shape) < now, axis=1)
        accepted *= np.arange(GAMMA) < lengths[:, None]
        tokens += requests + accepted.sum()
        seconds += 1.0 / sps[requests + lengths.sum()] + (0.001 if lengths.any() else 0.0)
        verified += lengths.sum()
    return tokens / seconds, verified / (rounds * requests)


def sweep(policies, users, sps):
    """Simulate every policy at every number of users, and put the results side by side."""
    results = {name: np.array([simulate(policy, requests, sps) for requests in users])
               for name, policy in policies.items()}
    return {
        "tokens per second": {name: result[:, 0] for name, result in results.items()},
        "verified draft tokens per request": {name: result[:, 1] for name, result in results.items()},
    }


USERS = 2 ** np.arange(9)                            # 1, 2, 4, …, 256 requests at the same time
FIXED = {"no draft": lambda now, old: [0] * len(now),
         "all seven": lambda now, old: [GAMMA] * len(now)}

# %% role="picture"
scheduled = FIXED | {"Algorithm 1": lambda now, old: schedule_prefixes(now, SPS)}
viz.lines(sweep(scheduled, USERS, SPS), x=USERS, x_name="requests at the same time", log_x=True)

# %% [markdown]
# With a few users it is right to verify everything, and your scheduler does so. With 256 users, verifying everything is
# half as fast as no draft at all: most rows go to tokens that are rejected. The scheduler drops them step by step. In the end it
# verifies one token for every three or four requests, and that gains less than the 1 ms that drafting costs: whether to draft at
# all is another decision (lesson 00).
#
# ## Why stop so early?
#
# A search that goes on after the first fall may find a higher Θ. It would also **change the text**. The reason is a
# leak: c₂ is computed from the token x₁ that was drafted. A scheduler that looks at c₂ before it decides whether x₁ is
# verified lets the *value* of x₁ decide whether it is verified.
#
# A small case that can be enumerated: one request, two tokens A and B, target p = (.7, .3), drafter q = (.5, .5), c₁ = .8.
# After A the drafter is sure, c₂ = .9; after B it is lost, c₂ = 0. SPS = [–, 1, .5, .45]. Verifying is lossless, and so is
# not verifying. But the choice between them must not depend on x₁.

# %% role="show"
from itertools import product

p, q = np.array([0.7, 0.3]), np.array([0.5, 0.5])    # of the tokens A and B
second_confidence = [0.9, 0.0]                       # c₂ after A, after B


def first_token(x1, length):
    """The law of the first token that comes out, given the draft x₁ and the verify length."""
    if length == 0:
        return p                                     # not verified: the target's own token
    accept = min(1.0, p[x1] / q[x1])                 # verified: accepted or replaced (lesson 01)
    residual = np.maximum(p - q, 0.0) / np.maximum(p - q, 0.0).sum()
    return accept * np.eye(2)[x1] + (1 - accept) * residual


def emitted(decide, first_confidences=(0.8,)):
    """The exact joint law of the requests' first tokens, summed over all drafts."""
    law = 0.0
    for drafts in product((0, 1), repeat=len(first_confidences)):
        lengths = decide([[c1, second_confidence[x1]] for c1, x1 in zip(first_confidences, drafts)])
        part = 1.0
        for x1, length in zip(drafts, lengths):
            part = np.multiply.outer(part, q[x1] * first_token(x1, length))
        law = law + part
    return law.round(12)


two_token_table = [0.0, 1.0, 0.5, 0.45]


def keep_admitting(rows):
    """Try every verify length and take the best Θ, whatever happens on the way."""
    theta = np.cumsum([1.0, *np.cumprod(rows[0])]) * two_token_table[1:]
    print(f"  c₂ = {rows[0][1]}: Θ = {theta.round(3)}, so ℓ = {theta.argmax()}")
    return [int(theta.argmax())]


print("the target says           ", p)
print("a search that goes on says", emitted(keep_admitting))

# %% [markdown]
# After A, Θ falls to 0.9 and rises to 1.134, so both tokens are verified, and A is accepted. After B nothing rises, so
# nothing is verified, and the target draws anew. A comes out of both branches, B only out of one: (.85, .15). With the stop, the
# decision about x₁ is made from c₁ alone and is the same for A and B:

# %% role="picture"
law = emitted(lambda rows: schedule_prefixes(rows, two_token_table))
print("with your early stop      ", law)

# %% [markdown]
# The same holds for a batch. Tokens are looked at in the order of survival. When a token's turn comes, all that has been
# looked at of its own request, its own survival included, was fixed *before* that token was drawn; the other requests do not
# depend on it. Two requests with c₁ = .8 and .5: the second one's token is verified only if the first one drafted B, and
# still both say AA, AB, BA, BB with the probabilities .49, .21, .21, .09, as two independent targets do:

# %% role="picture"
def decide(rows):
    """Algorithm 1 on a table for two requests; say what it decides."""
    lengths = schedule_prefixes(rows, [0.0, 2.0, 1.0, 0.75, 0.65, 0.5, 0.4])
    print(f"  c = {rows}: ℓ = {lengths}")
    return lengths


print(emitted(decide, first_confidences=(0.8, 0.5)).ravel())

# %% [markdown]
# *Skipping* a token and trying the next one would not be a leak either, and not a gain: the next survival is not higher, so
# it does not raise Θ where this one did not.
#
# ## The price: a staircase
#
# GPUs work in tiles, and captured graphs are padded, so real tables have steps. On a table with steps Θ has many peaks, and
# the first one ends the search. One request, seven confidences of .9, a step of 10 + 4 · ⌈B / 4⌉ ms:

# %% role="picture"
stairs = np.append(0.0, 1000.0 / (10.0 + 4.0 * np.ceil(np.arange(1, 9) / 4)))
theta = np.cumsum([1.0, *np.cumprod([0.9] * 7)]) * stairs[1:]
(stop,) = schedule_prefixes([[0.9] * 7], stairs)
print(f"stops at ℓ = {stop}, best is ℓ = {theta.argmax()}, share {theta[stop] / theta.max():.3f}")
viz.lines({"Θ, tokens per second": {"Θ": theta}}, x=range(8), x_name="verified draft tokens ℓ",
          marks={"Algorithm 1 stops": stop, "best": int(theta.argmax())})

# %% [markdown]
# ## Task 5.2 · Hand out a budget
#
# Suppose somebody else has said how many draft tokens the whole batch may verify: **K**. Who gets them? Those that are most
# likely to survive, over all requests. How many each request gets follows from that.
#
# By hand: c = [[.5, .5], [.75, .5]] has the survivals .5, .25 and .75, .375. With K = 3 the best three are .75, .5 and .375:
# `[1, 2]`. Ties go as in task 5.1, and tokens with a survival of 0 get nothing even if some of the budget is left over.

# %% task="5.2"
from dspark_mini.contracts import chance_rows, integer, takes

@takes(confidences=chance_rows("R"), budget=integer())
def allocate_budget(confidences, budget):
    """Give a fixed number of draft tokens to the likeliest survivors of a batch.

    Args:
        confidences: (R, γ) chances, one row per request; short rows are padded with 0.
        budget: K, the number of draft tokens of the whole batch.
    Returns: R verify lengths, together at most K: no token with a survival of 0 is verified.
    Example: confidences [[.5, .5], [.75, .5]], budget 3
        survivals .5, .25 and .75, .375; the best three are .75, .5 and .375  →  [1, 2]
    """
    ### BEGIN SOLUTION
    survival = np.cumprod(confidences, axis=1)  # (R, γ)
    order = np.argsort(-survival, axis=None, kind="stable")  # ties in the batch's order
    chosen = order[: min(budget, np.count_nonzero(survival))]
    return np.bincount(chosen // confidences.shape[1], minlength=len(confidences)).tolist()
    ### END SOLUTION

# %% check="5.2"
check("5.2", allocate_budget)

# %% role="picture"
viz.verify_schedule(confidences, {f"K = {k}": allocate_budget(confidences, k) for k in (3, 7, 12)})

# %% [markdown]
# ## Task 5.3 · The budget from two rounds ago
#
# In a serving engine the CPU plans ahead while the GPU is busy, and this round's confidences are not there yet when the size of
# the forward has to be known. DSpark in production (Section 5.2 of the paper) therefore splits the decision in two:
#
# * **how many**: K comes from the confidences of *two rounds ago*, with the whole table searched for the highest Θ;
# * **who**: the K tokens go to the highest *current* survivals, your task 5.2.
#
# The old confidences do not depend on the tokens drafted now, so there is no leak and **no need to stop early**. The
# staircase is not an obstacle any more.
#
# By hand: one request, c = [.5, .5], SPS = [–, 8, 4, 6]. K = 0: Θ = 1 · 8 = 8. K = 1: 1.5 · 4 = 6. K = 2: 1.75 · 6 = 10.5. The
# highest is the last, so K = 2. Of equal Θ the smallest K counts; survivals of 0 and batches beyond the table are left out, as
# before. Without requests K is 0.

# %% task="5.3"
from dspark_mini.contracts import chance_rows, speeds, takes

@takes(old_confidences=chance_rows("R"), steps_per_second=speeds("R"))
def lagged_budget(old_confidences, steps_per_second):
    """Find the number of draft tokens with the highest Θ, from confidences that are two rounds old.

    Args:
        old_confidences: (R, γ) chances of two rounds ago, one row per request; short rows are padded with 0.
        steps_per_second: entry B is the engine's speed at a batch of B tokens; entry 0 is not used.
    Returns: The budget K, the smallest of equal ones.
    Example: old_confidences [[.5, .5]], steps_per_second [0, 8, 4, 6]
        Θ = 1 · 8 = 8, 1.5 · 4 = 6, 1.75 · 6 = 10.5; the last is the highest  →  2
    """
    ### BEGIN SOLUTION
    requests, survival = len(old_confidences), np.cumprod(old_confidences, axis=1)  # (R, γ)
    best_first = -np.sort(-survival[survival > 0])
    tau = np.cumsum(np.append(requests, best_first))  # with 0, 1, 2, … draft tokens
    steps = steps_per_second[requests : requests + len(tau)]  # no batch beyond the table
    theta = tau[: len(steps)] * steps
    return int(theta.argmax()) if requests else 0
    ### END SOLUTION

# %% check="5.3"
check("5.3", lagged_budget)

# %% [markdown]
# **Causal again.** The same enumeration as above, with the same search over all K. Only the confidences that it looks at are
# older: whatever they were, the first token now follows the target.

# %% role="picture"
for old in ([[0.8, 0.9]], [[0.8, 0.0]]):
    budget = lagged_budget(old, two_token_table)
    law = emitted(lambda rows: allocate_budget(rows, budget))
    print(f"two rounds ago {old}: K = {budget}, first token", law)

# %% [markdown]
# **The whole engine, on stairs.** The same simulated engine, but its forward computes in tiles of 32 tokens. With 64 users
# and more, the very first draft token begins a new tile, Θ falls at once, and Algorithm 1 verifies nothing. The search on older
# confidences finds that a full tile pays.

# %% role="picture"
tiles = np.append(0.0, 1000.0 / (4.0 + np.maximum(8.0, 3.2 * np.ceil(BATCHES / 32))))
policies = FIXED | {
    "Algorithm 1": lambda now, old: schedule_prefixes(now, tiles),
    "two rounds ago": lambda now, old: allocate_budget(now, lagged_budget(old, tiles)),
}
viz.lines(sweep(policies, USERS, tiles), x=USERS, x_name="requests at the same time", log_x=True)

# %% [markdown]
# ## Looking back
#
# * **What you saw.** One order of the tokens, one table, one rule. With few users nearly all tokens are verified, with many only
#   those that are almost sure, and on a staircase the early stop gives up speed that the older confidences win back.
# * **What the paper reports.** Its serving experiments compare with MTP-1, which always verifies two tokens per request, the
#   anchor included. DSpark verifies about 5–5.5 at low load and about 3.5 at high load (DSpark, arXiv 2607.05147, Figure 8). At the
#   same total throughput each user is served 60–85 % faster with V4-Flash and 57–78 % faster with V4-Pro.
# * **What production engines got wrong here.**
#   *A table that was never measured*: with a flat table every further token looks free, the best K is always all of them, and the
#   scheduler is there but cannot trim ([SGLang pull request 35413](https://github.com/sgl-project/sglang/pull/35413)).
#   *A gate after the forward*: confidence cut the tokens that were committed after the target had already verified the full block, so that
#   it saved nothing and cost about 13 % more rounds ([SGLang pull request 30204](https://github.com/sgl-project/sglang/pull/30204)).
#   Count the rows of the target's forward, not only the tokens.
# * **What they got right.** [TensorRT-LLM pull request 17056](https://github.com/NVIDIA/TensorRT-LLM/pull/17056) searches globally because its
#   cost curve is a staircase, breaks ties without looking at token values, and refuses to trim without a profiled table.
#   [vLLM pull request 47808](https://github.com/vllm-project/vllm/pull/47808) sizes the budget from older confidences and
#   hands it out from current ones, since fixed drafts fell below plain decoding at high concurrency.
#
# ## Further reading
#
# * DSpark: *Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation*, Sections 3.2 (Algorithm 1) and 5.2,
#   [arXiv 2607.05147](https://arxiv.org/abs/2607.05147)
# * Leviathan et al.: *Fast Inference from Transformers via Speculative Decoding*, [arXiv 2211.17192](https://arxiv.org/abs/2211.17192),
#   for the rule that `first_token` uses
