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
# # Lesson 00 · Why speculate?
#
# *A language model writes one token per forward. When is it faster to guess several tokens and to check the guess?*
#
# | | |
# |---|---|
# | **You build** | the expected length of a round, the speed-up, and the decision to accept, tune or reject a draft |
# | **Difficulty** | ●○○○ — three tasks of two to nine lines |
# | **Time** | about 25 minutes |
# | **You need** | Python and a little NumPy; this is the first lesson |
#
# Run the cells from top to bottom (Shift+Enter). Each task has a cell with a `TODO` and, below it, a cell that checks your
# function: it says what fails, on a small input. Stuck? Type `hint("0.1")` in a new cell.

# %% role="setup"
import numpy as np

from grader import check, hint

# %% [markdown]
# ## Why guess at all?
#
# Plain decoding runs the whole model for each token, and reads all of its weights each time. Several tokens **together** would
# read them once. Your own machine can show what that saves: one weight matrix, times 1 to 64 tokens.

# %% role="show"
import time

weights = np.random.default_rng(0).normal(size=(2048, 4096)).astype(np.float32)
for tokens in (1, 4, 16, 64):
    batch = np.ones((4096, tokens), dtype=np.float32)
    samples = []
    for _ in range(7):
        start = time.perf_counter()
        weights @ batch
        samples.append(1000 * (time.perf_counter() - start))
    print(f"{tokens:3d} tokens: {min(samples):6.2f} ms, that is {min(samples) / tokens:5.2f} ms per token")

# %% [markdown]
# In a batch a token costs a fraction of its usual price. But no token is known before the one in front of it. So let
# somebody **guess**: a small drafter proposes γ tokens, and the large model, the **target**, checks all of them in one
# forward. It keeps the tokens before the first wrong guess, and adds one of its own. That is a *round*:
#
# $$\text{time per token} = \frac{T_\text{draft} + T_\text{verify}}{\tau}, \qquad \tau = \text{tokens that a round yields}.$$
#
# There are **three levers**, and each later lesson pulls one of them: draft faster (one forward for the whole block), draft
# better (so that τ grows), and verify smarter (no time for tokens that die). Here are four ways to produce four tokens, with
# made-up times (a narrow blue box is one forward of the drafter):

# %% role="show"
from dspark_mini import viz

decoders = {
    "plain": [("target", 1.0)] * 4,
    "autoregressive drafter": [("draft", 0.3)] * 7 + [("verify", 1.2)],
    "parallel drafter": [("draft", 0.3), ("verify", 1.2)],
    "… and a repair of caches": [("draft", 0.3), ("verify", 1.2), ("correct", 0.8)],
}
viz.time_line(decoders, tokens=dict.fromkeys(decoders, 4))

# %% [markdown]
# The last row shows what is easily forgotten. After a rejected token the caches hold rows of a text that never happened. Mending
# them may cost nothing (a pointer moves back) or a whole forward (a state is recomputed). This is the **correction**. The DSpark
# paper has no such term; engines pay for it.

# %% [markdown]
# ## Task 0.1 · How many tokens does a round yield?
#
# The drafter says for each token k how likely it is to be accepted, *given that all before it were*: the
# **confidence** cₖ. A draft token counts only if every token before it was accepted as well. The chance of that is its
# **survival**; added up, and with the target's own token, which comes in any case, they are the expected length:
#
# $$\tau(\ell) = 1 + \sum_{j=1}^{\ell} a_j, \qquad a_j = \prod_{i=1}^{j} c_i .$$
#
# ℓ is the **verify length**, how many of the draft tokens the target verifies. By hand: confidences [.5, .5] give
# 1.75, and with ℓ = 1 it is 1.5.
#
# The lines from `@takes` to `def` are given, here and in every task. They turn numbers into NumPy arrays (tokens, counts and
# positions stay lists of plain ints), and refuse bad input, such as a confidence of 1.2. Your lines hold the idea only.

# %% task="0.1"
from dspark_mini.contracts import chances, integer, takes

@takes(confidences=chances("γ", empty=True), verify_length=integer(high="γ"))
def expected_accepted_length(confidences, verify_length=None):
    """Compute how many tokens a round is expected to yield, the target's own token included.

    Args:
        confidences: (γ,) chance that token k is accepted, given that those before it were.
        verify_length: ℓ, how many draft tokens the target verifies; None for all of them.
    Returns: τ(ℓ) in tokens per round.
    Example: confidences [.8, .5], verify_length 1  →  1.8
    """
    ### BEGIN SOLUTION
    survival = np.cumprod(confidences[:verify_length])  # (ℓ,)
    return float(1.0 + survival.sum())
    ### END SOLUTION

# %% check="0.1"
check("0.1", expected_accepted_length)

# %% [markdown]
# **Your function, drawn.** If all confidences are the same number α, the sum is a geometric series (Leviathan et al.,
# Section 3.1):
#
# $$\tau(\gamma) = 1 + \alpha + \dots + \alpha^\gamma = \frac{1 - \alpha^{\gamma+1}}{1 - \alpha} \;<\; \frac{1}{1 - \alpha}.$$
#
# However long the block, a drafter of .6 never gets beyond 2.5 tokens per round.

# %% role="picture"
lengths = range(17)
curves = {f"c = {c}": [expected_accepted_length([c] * 16, k) for k in lengths]
          for c in (0.95, 0.8, 0.6)}
closed = [(1 - 0.8 ** (k + 1)) / (1 - 0.8) for k in lengths]
print("closed form for .8 agrees:", np.allclose(curves["c = 0.8"], closed))
viz.lines({"τ, expected tokens per round": curves}, x=lengths, x_name="verify length ℓ")

# %% [markdown]
# ## Task 0.2 · And is that faster?
#
# A **speed-up** compares two times for the *same* tokens: what plain decoding takes for them, one target step each, and what
# the round takes. A round drafts, verifies and corrects, one after the other.
#
# By hand: a target step takes 1, and a round of τ = 3 tokens takes .5 for the draft, 1.25 for verifying and .25 for the
# correction. It is 1.5 times as fast as plain decoding. Below 1 it is a loss, and must be reported as one.

# %% task="0.2"
from dspark_mini.contracts import number, takes
from dspark_mini.rules import round_takes_time

@takes(
    round_takes_time,
    accepted_length=number(low=1.0),
    draft_time=number(low=0.0),
    verify_time=number(low=0.0),
    target_time=number(above=0.0),
    correction_time=number(low=0.0),
)
def speedup(accepted_length, draft_time, verify_time, target_time, correction_time=0.0):
    """Compute how much faster speculative decoding is than decoding token by token.

    Args:
        accepted_length: τ, tokens per round, the target's own token included.
        draft_time: time to draft the block; any unit, the same for all times.
        verify_time: time of the target's forward over the drafts.
        target_time: time of a plain decoding step, which yields one token.
        correction_time: time to mend the caches after a rejection (rollback, replay).
    Returns: The ratio of the two speeds: 2.0 is twice as fast, below 1.0 is slower.
    Example: accepted_length 4, draft_time 1, verify_time 1, target_time 1  →  2.0
    """
    ### BEGIN SOLUTION
    round_time = draft_time + verify_time + correction_time
    return accepted_length * target_time / round_time
    ### END SOLUTION

# %% check="0.2"
check("0.2", speedup)

# %% [markdown]
# **Your function, as a map**, for blocks of seven. A forward of the drafter costs from 2 % to 60 % of a target step, and verifying
# costs 1.15 steps. On the left the drafter runs seven times, on the right once. The thick line is **break-even**: orange cells are
# slower than no draft.

# %% role="picture"
acceptance, draft_cost = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95], [0.02, 0.05, 0.1, 0.2, 0.4, 0.6]


def speedups(forwards):
    """Speed-ups over draft cost (rows) and acceptance (columns), blocks of seven tokens."""
    return [[speedup((1 - a**8) / (1 - a), forwards * cost, 1.15, 1.0) for a in acceptance]
            for cost in draft_cost]


viz.speedup_map({"autoregressive: 7 forwards": speedups(7), "parallel: 1 forward": speedups(1)},
                acceptance, draft_cost)

# %% [markdown]
# The autoregressive drafter has to be tiny or very good. The parallel one may be larger and still win almost everywhere.
#
# ## Task 0.3 · Accept, tune or reject
#
# Now and then an engine has to decide whether drafting pays *here*: for this text, at this load. (Such a decision is not in the
# DSpark paper.) It decides by measured times, and shows its evidence with the decision: the **gain** of every verify length
# ℓ = 0 … γ, the speed-up minus 1.
#
# * **accept**: the current ℓ (at least 1) gains at least `min_gain`. Keep it, even if another would gain more.
# * **tune**: it does not, but the ℓ ≥ 1 of the highest gain does. Go there; of equal gains take the smallest ℓ.
# * **reject**: no ℓ ≥ 1 gains enough. Decode token by token: ℓ = 0 with a gain of 0.0, since nothing is drafted any more.
#
# `verify_times[ℓ]` is the time of the target's forward with ℓ draft tokens. Every round pays for draft and correction, also
# the one that drafts and then verifies nothing, ℓ = 0.
#
# By hand: confidences [.5, .5], draft .25, verify times [.75, .75, 1], target 1. The rounds take 1, 1 and 1.25, and the gains
# are 0, .5 and .4. With ℓ = 2 and `min_gain` 0: accept, .4. With `min_gain` .45: tune to ℓ = 1, .5. With a correction of 1 the
# gains are −.5, −.25 and −.22: reject.

# %% task="0.3"
from dspark_mini.contracts import chances, integer, number, numbers, takes
from dspark_mini.rules import every_length_takes_time

@takes(
    every_length_takes_time,
    confidences=chances("γ"),
    verify_length=integer(high="γ"),
    draft_time=number(low=0.0),
    verify_times=numbers("γ+1", low=0.0),
    target_time=number(above=0.0),
    correction_time=number(low=0.0),
    min_gain=number(),
)
def net_benefit(confidences, verify_length, draft_time, verify_times, target_time, correction_time=0.0, min_gain=0.0):
    """Decide whether drafting pays: keep the verify length, tune it, or decode token by token.

    Args:
        confidences: (γ,) chance that token k is accepted, given that those before it were.
        verify_length: the current ℓ, from 0 to γ.
        draft_time: time to draft the block; any unit, the same for all times.
        verify_times: (γ+1,) time of the target's forward by number ℓ of drafts, from ℓ = 0 on.
        target_time: time of a plain decoding step.
        correction_time: time to mend the caches in a round (rollback, replay).
        min_gain: the least gain worth having, 0.1 for ten percent.
    Returns: A dict: decision ('accept', 'tune' or 'reject'), verify_length (the ℓ decided on), gain (its
        gain) and gains (those of ℓ = 0..γ; that of ℓ = 0 pays for the draft as well).
    Example: [.5, .5], 1, .25, [.75, .75, 1], 1  →  'accept', 1, .5, [0, .5, .4]
    """
    ### BEGIN SOLUTION
    tau = np.cumprod([1.0, *confidences]).cumsum()  # (γ+1,)
    gains = tau * target_time / (draft_time + verify_times + correction_time) - 1.0  # (γ+1,)
    best = 1 + int(gains[1:].argmax())
    decision, length, gain = "reject", 0, 0.0
    if verify_length >= 1 and gains[verify_length] >= min_gain:
        decision, length, gain = "accept", verify_length, float(gains[verify_length])
    elif gains[best] >= min_gain:
        decision, length, gain = "tune", best, float(gains[best])
    return {"decision": decision, "verify_length": length, "gain": gain, "gains": gains.tolist()}
    ### END SOLUTION

# %% check="0.3"
check("0.3", net_benefit)

# %% [markdown]
# **One drafter, three engines.** On the idle one a further token costs 2 % of a step, on the busy one 20 %. The third is idle, but
# recomputes a state after each round, in 1.6 steps.

# %% role="picture"
confidences = [0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4]
drafts = np.arange(8)
found = {
    "idle": net_benefit(confidences, 7, 0.3, 1.0 + 0.02 * drafts, 1.0, 0.0, 0.1),
    "busy": net_benefit(confidences, 7, 0.3, 1.0 + 0.2 * drafts, 1.0, 0.0, 0.1),
    "state recomputed": net_benefit(confidences, 7, 0.3, 1.0 + 0.02 * drafts, 1.0, 1.6, 0.1),
}
viz.gain_bars(found, current=7, min_gain=0.1)

# %% [markdown]
# **Without the correction the sign is wrong.** A simulated clock runs 20,000 rounds of the third engine. Compare two
# predictions with it.

# %% role="picture"
confidences = [0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4]
rng = np.random.default_rng(0)
accepted = np.cumprod(rng.random((20_000, 7)) < confidences, axis=1).sum(axis=1)
clock = 20_000 * (0.3 + 1.14 + 1.6)                  # draft, verify seven tokens, correct
print(f"the clock says               {(accepted + 1).sum() * 1.0 / clock - 1:+4.0%}")
for name, correction in (("without correction", 0.0), ("with correction", 1.6)):
    times = 1.0 + 0.02 * np.arange(8)
    decided = net_benefit(confidences, 7, 0.3, times, 1.0, correction)
    print(f"predicted {name:18} {decided['gains'][7]:+4.0%}: {decided['decision']}")

# %% [markdown]
# ## Looking back
#
# * **What you saw.** τ soon stops growing. The speed-up weighs it against a sum of costs, and each of them can turn a gain into a loss.
# * **What the paper reports.** {paper:rounds} {paper:head}
# * **What production engines got wrong here.** A break-even without the replay of the state: 70 % of the proposed tokens were
#   accepted, and generation was slower than without drafts ([ds4 issue 695](https://github.com/antirez/ds4/issues/695)). On another
#   machine the replay cost almost exactly what the accepted tokens had saved, and throughput fell by about 35 %
#   ([issue 731](https://github.com/antirez/ds4/issues/731)).
#   The cure is a cheap correction: [rMLX pull request 535](https://github.com/Pushkinist/rMLX/pull/535) rebuilds the state from inputs
#   it has kept, where a second forward had cost 12.7 ms per round.
# * **And the load decides.** In one measurement seven fixed draft tokens were 2.5 times as fast as no draft with 4 users and 12 % slower with 256
#   ([vLLM pull request 52362](https://github.com/vllm-project/vllm/pull/52362)). Lesson 05 builds what helps against that.
#
# ## Further reading
#
# * Leviathan et al.: *Fast Inference from Transformers via Speculative Decoding*, [arXiv 2211.17192](https://arxiv.org/abs/2211.17192), with the
#   expected length and the speed-up for a constant acceptance
# * DFlash: *Block Diffusion for Flash Speculative Decoding*, [arXiv 2602.06036](https://arxiv.org/abs/2602.06036), the parallel
#   drafter
# * DSpark: *Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation*, [arXiv 2607.05147](https://arxiv.org/abs/2607.05147)
