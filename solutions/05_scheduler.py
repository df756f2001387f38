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
# | **You build** | DSpark's prefix scheduler, the allocation of a budget, the budget from two rounds ago |
# | **Difficulty** | ●●●○ — three tasks of four to twelve lines |
# | **Time** | about 35 minutes |
# | **You need** | Python, NumPy sorting and running sums; no earlier lesson has to be solved |
#
# Run the cells in order (Shift+Enter). Stuck? Type `hint("5.1")` in a new cell.

# %% role="setup"
import numpy as np

from dspark_mini import viz
from grader import check, hint

# %% [markdown]
# ## Why a scheduler?
#
# With one request, a verified token costs next to nothing: the forward reads all the weights anyway. With many requests
# computing takes longer than reading, and **every row makes the step longer for everybody**.
#
# So the engine profiles itself once. How many **steps per second** it makes at a batch of B tokens, SPS(B), is all that
# the scheduler knows of the hardware. Here a simulated step takes 4 ms plus the longer of 8 ms (reading) and 0.1 ms per
# token (computing).

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
# Token j of request r is useful only if all before it survive, too: its **prefix survival** is
# $a_{r,j}=c_{r,1}c_{r,2}\cdots c_{r,j}$. If $\ell_r$ tokens are verified, a forward holds B tokens and yields τ on
# average:
#
# $$B = \sum_r (1 + \ell_r), \qquad \tau = \sum_r \Bigl(1 + \sum_{j \le \ell_r} a_{r,j}\Bigr), \qquad
# \Theta = \tau \cdot \mathrm{SPS}(B).$$
#
# The 1 is the request's own token, there with or without drafts. **Θ is the throughput**, in tokens per second. Verify
# more, and τ rises while SPS falls.
#
# ## Task 5.1 · Algorithm 1
#
# Which draft token of the batch is worth its row most? The one that survives most often. Algorithm 1 admits tokens in
# that order and **stops at the first that does not raise Θ**. (Why does it admit only prefixes?)
#
# By hand: c = [[.5, .5], [.75]] and SPS = [–, 9, 8, 7, 6, 5].
#
# | admitted | B | τ | SPS(B) | Θ |
# |---|---|---|---|---|
# | nothing | 2 | 2 | 8 | 16 |
# | .75 of request 1 | 3 | 2.75 | 7 | 19.25 |
# | .5 of request 0 | 4 | 3.25 | 6 | 19.5 |
# | .25 of request 0 | 5 | 3.5 | 5 | 17.5: stop |
#
# The result is `[1, 1]`. Of equal survivals the lower request comes first, then the lower position; an *equal* Θ is not
# a rise; a survival of 0 is never admitted; no batch beyond the table is tried. `confidences` arrives as a matrix (R,
# γ), short rows padded with 0.

# %% task="5.1"
from dspark_mini.contracts import chance_rows, speeds, takes

@takes(confidences=chance_rows("R"), steps_per_second=speeds("R"))
def schedule_prefixes(confidences, steps_per_second):
    """Choose how many draft tokens of each request to verify, by Algorithm 1 of DSpark.

    Args:
        confidences: (R, γ) chances, one row per request; short rows are padded with 0.
        steps_per_second: entry B is the engine's speed at a batch of B tokens; entry 0 is not used.
    Returns: R verify lengths.
    Example: confidences [[.5, .5], [.75]], steps_per_second [0, 9, 8, 7, 6, 5]  →  [1, 1]
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
# **A decision that does not move when the table moves is a bug.** Your function on three engines: tokens are free, or
# each adds 8 % or 20 % to a step. What are the three .9 at the end of request 3 worth?

# %% role="picture"
confidences = [[0.95, 0.9, 0.9, 0.8, 0.8], [0.8, 0.7, 0.6, 0.5, 0.5],
               [0.6, 0.9, 0.9], [0.3, 0.2, 0.9, 0.9, 0.9]]
drafts = np.maximum(np.arange(23) - 4, 0)            # draft tokens in a batch of B
viz.verify_schedule(confidences, {
    title: schedule_prefixes(confidences, 100.0 / (1.0 + cost * drafts))
    for title, cost in {"free": 0.0, "8 % per token": 0.08, "20 % per token": 0.2}.items()
})

# %% [markdown]
# **From one user to 256.** A simulated engine: each request drafts seven tokens per round, easy requests with high
# confidences; a policy chooses the lengths; a token is accepted with the probability that its confidence states; the
# clock advances by one step of the table, and by 1 ms for drafting.

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

# %% role="picture"
FIXED = {"no draft": lambda now, old: [0] * len(now),
         "all seven": lambda now, old: [GAMMA] * len(now)}
scheduled = FIXED | {"Algorithm 1": lambda now, old: schedule_prefixes(now, SPS)}
viz.lines(sweep(scheduled, USERS, SPS), x=USERS, x_name="requests at the same time", log_x=True)

# %% [markdown]
# With 256 users, verifying everything is half as fast as no draft at all. (The 1 ms of drafting is not in Θ.)
#
# ## Why stop so early?
#
# A search that goes on may find a higher Θ. It would also **change the text**: c₂ is computed from x₁, so whoever looks
# at c₂ before deciding about x₁ lets the *value* of x₁ decide whether it is verified.
#
# A case to enumerate: tokens A and B, target p = (.7, .3), drafter q = (.5, .5), c₁ = .8. After A the drafter is sure,
# c₂ = .9; after B it is lost, c₂ = 0. Verifying is lossless, and so is not verifying; the choice between them must not
# depend on x₁.

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
# After A both tokens are verified, and A is accepted. After B nothing is, and the target draws anew: A comes out of
# both branches. With the stop, c₁ alone decides about x₁:

# %% role="picture"
law = emitted(lambda rows: schedule_prefixes(rows, two_token_table))
print("with your early stop      ", law)

# %% [markdown]
# So it is in a batch: when a token's turn comes, all that has been looked at of its request was fixed before it was
# drawn. Here the second request is verified only if the first drafted B, and still AA, AB, BA, BB come with .49, .21,
# .21, .09:

# %% role="picture"
def decide(rows):
    """Algorithm 1 on a table for two requests; say what it decides."""
    lengths = schedule_prefixes(rows, [0.0, 2.0, 1.0, 0.75, 0.65, 0.5, 0.4])
    print(f"  c = {rows}: ℓ = {lengths}")
    return lengths


print(emitted(decide, first_confidences=(0.8, 0.5)).ravel())

# %% [markdown]
# ## The price: a staircase
#
# GPUs work in tiles, so real tables have steps, Θ has many peaks, and the first ends the search. Seven confidences of
# .9, a step of 10 + 4·⌈B/4⌉ ms:

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
# Suppose somebody else has said how many draft tokens the whole batch may verify: **K**. They should go where they
# survive most often.
#
# By hand: c = [[.5, .5], [.75, .5]] has the survivals .5, .25 and .75, .375. With K = 3 the lengths are `[1, 2]`. Ties
# go as in task 5.1, and a survival of 0 gets nothing, even if some of the budget is left over.

# %% task="5.2"
from dspark_mini.contracts import chance_rows, integer, takes

@takes(confidences=chance_rows("R"), budget=integer())
def allocate_budget(confidences, budget):
    """Give a fixed number of draft tokens to the likeliest survivors of a batch.

    Args:
        confidences: (R, γ) chances, one row per request; short rows are padded with 0.
        budget: K, the number of draft tokens of the whole batch.
    Returns: R verify lengths, together at most K.
    Example: confidences [[.5, .5], [.75, .5]], budget 3  →  [1, 2]
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
# The size of a forward has to be known before this round's confidences are. DSpark in production (Section 5.2) splits
# the decision. **How many**: K comes from the confidences of *two rounds ago*. **Who**: the highest *current*
# survivals, your task 5.2. The old confidences know nothing of today's tokens, so there is **no need to stop early**: K
# is the number of draft tokens with the highest Θ of all, the smallest of equal ones.
#
# By hand: one request, c = [.5, .5], SPS = [–, 8, 4, 6]: Θ is 8, 6 and 10.5, so K = 2. The edges are those of task 5.1.

# %% task="5.3"
from dspark_mini.contracts import chance_rows, speeds, takes

@takes(old_confidences=chance_rows("R"), steps_per_second=speeds("R"))
def lagged_budget(old_confidences, steps_per_second):
    """Find the number of draft tokens with the highest Θ, from confidences that are two rounds old.

    Args:
        old_confidences: (R, γ) chances of two rounds ago, one row per request; short rows are padded with 0.
        steps_per_second: entry B is the engine's speed at a batch of B tokens; entry 0 is not used.
    Returns: The budget K.
    Example: old_confidences [[.5, .5]], steps_per_second [0, 8, 4, 6]  →  2
    """
    ### BEGIN SOLUTION
    requests, survival = len(old_confidences), np.cumprod(old_confidences, axis=1)  # (R, γ)
    best_first = -np.sort(-survival[survival > 0])
    tau = np.cumsum(np.append(requests, best_first))  # with 0, 1, 2, … draft tokens
    steps = steps_per_second[requests : requests + len(tau)]  # no batch beyond the table
    theta = tau[: len(steps)] * steps
    return int(theta.argmax())
    ### END SOLUTION

# %% check="5.3"
check("5.3", lagged_budget)

# %% [markdown]
# **Causal again.** The enumeration from above, with the search over all K on older confidences:

# %% role="picture"
for old in ([[0.8, 0.9]], [[0.8, 0.0]]):
    budget = lagged_budget(old, two_token_table)
    law = emitted(lambda rows: allocate_budget(rows, budget))
    print(f"two rounds ago {old}: K = {budget}, first token", law)

# %% [markdown]
# **The whole engine, on stairs.** Its forward now computes in tiles of 32 tokens. With 64 users and more the first
# draft token begins a new tile, and Algorithm 1 verifies nothing.

# %% role="picture"
tiles = np.append(0.0, 1000.0 / (4.0 + np.maximum(8.0, 3.2 * np.ceil(BATCHES / 32))))
policies = FIXED | {
    "Algorithm 1": lambda now, old: schedule_prefixes(now, tiles),
    "two rounds ago": lambda now, old: allocate_budget(now, lagged_budget(old, tiles)),
}
viz.lines(sweep(policies, USERS, tiles), x=USERS, x_name="requests at the same time", log_x=True)

# %% [markdown]
# ## Open problem
#
# Older confidences need a history, and a new request has none. Can a rule without history cross the valleys of the
# staircase? `go_on` sees the survivals in their order, up to the token in question and no further, so whatever it
# returns is lossless. Make it faster than Algorithm 1. The best known guesses how the survivals go on, up to the end of
# the tile after this one, and counts the 1 ms of drafting.

# %% role="picture"
ALGORITHM_1, BEST_KNOWN = 0.917, 1.004    # the rule below; survivals that fall by exp(−0.3 / R) per token


def go_on(seen, requests):
    """Whether the last of the survivals seen so far, the highest first, is verified."""
    batch, tau = requests + len(seen), requests + seen.sum()
    return tau * tiles[batch] > (tau - seen[-1]) * tiles[batch - 1]


def by_rule(now, old):
    ranked = np.sort(np.cumprod(now, axis=1), axis=None)[::-1]
    stops = (k for k in range(len(ranked)) if not go_on(ranked[: k + 1], len(now)))
    return allocate_budget(now, next(stops, len(ranked)))


def with_a_leak(now, old):
    """The highest Θ of all, from the current confidences: fast, and not lossless."""
    return allocate_budget(now, lagged_budget(now, tiles))


shares = [simulate(by_rule, users, tiles)[0] / simulate(with_a_leak, users, tiles)[0] for users in USERS[4:]]
print(f"speed, as a share of the search that leaks: yours {np.mean(shares):.3f}", np.round(shares, 3))
print(f"Algorithm 1 {ALGORITHM_1}, best known {BEST_KNOWN}")

# %% [markdown]
# ## Looking back
#
# * **What the paper reports.** {paper:figure_8} {paper:figure_7}
# * **What production engines got wrong.** A flat table, never measured, made every token look free ([SGLang
#   35413](https://github.com/sgl-project/sglang/pull/35413)). A gate after the forward saved nothing and cost 13 % more
#   rounds ([SGLang 30204](https://github.com/sgl-project/sglang/pull/30204)): count the rows of the forward.
# * **What they got right.** [TensorRT-LLM 17056](https://github.com/NVIDIA/TensorRT-LLM/pull/17056) searches globally
#   because of its staircase, and refuses to trim without a profile. [vLLM
#   47808](https://github.com/vllm-project/vllm/pull/47808) sizes the budget from older confidences and hands it out by
#   current ones.
#
# ## Further reading
#
# * *DSpark: Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation*, Sections 3.2 (Algorithm 1)
#   and 5.2, [arXiv 2607.05147](https://arxiv.org/abs/2607.05147)
