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
# # Lesson 04 · Confidence
#
# *The drafter says “.9”. Does it come true nine times out of ten, and what depends on it?*
#
# | | |
# |---|---|
# | **You build** | the label of the confidence head, prefix survival, the calibration error, sequential temperature scaling |
# | **Difficulty** | ●●○○ — four tasks of one to seven lines |
# | **Time** | about 55 minutes |
# | **You need** | Python, NumPy sums along an axis; no earlier lesson has to be solved |
#
# Run the cells from top to bottom (Shift+Enter). Each task has a cell with a `TODO` and, below it, a cell that
# checks your function: it names the first property that fails, on a small input, with a hint. Stuck? Open a terminal
# and type `dspark-mini hint 4.1`.

# %% role="setup"
import numpy as np

from grader import check

# %% [markdown]
# ## Why must a confidence be true?
#
# Every draft token that the target looks at costs time, accepted or not. DSpark's drafter therefore returns one more
# number for each position: the **confidence** $c_k$, the chance that token $x_k$ is accepted, *given* that all tokens before it
# were. It is a linear layer and a sigmoid σ, on what is known before $x_k$ is drawn: $c_k = \sigma(w^\top [h_k; W_1[x_{k-1}]])$,
# where $h_k$ is the drafter's hidden state at position k and $W_1[x_{k-1}]$ the embedding of the token before (lesson 03).
#
# A confidence accepts nothing. It decides how much is sent to the target, and that decision weighs a chance against a cost. So it is
# not enough that a higher number means a better token: .9 must mean nine out of ten. Small errors grow along the block, because the
# chances of its tokens multiply:

# %% role="show"
from dspark_mini import viz

for c in (0.9, 0.8, 0.7):
    expected = sum(c**k for k in range(1, 8))
    print(f"every token passes with {c}: of 7 drafts {expected:.1f} are accepted on average")

# %% [markdown]
# A head that says .9 where .7 is true promises more than twice as many tokens as it delivers.
#
# ## What should a confidence say?
#
# The target accepts a draft x with probability min(1, p(x)/q(x)) (lesson 01), and x was drawn from q. So the chance that
# a draft is accepted, before it is drawn, is a sum over all tokens:
#
# $$c^* = \sum_x q(x)\,\min\!\Bigl(1, \frac{p(x)}{q(x)}\Bigr) = \sum_x \min\bigl(q(x), p(x)\bigr) = 1 - \tfrac12 \lVert q - p\rVert_1 .$$
#
# The last step is min(a, b) = ½(a + b − |a − b|), and both rows sum to 1. Here is the sum, token by token, and then the
# two ends of the equation for 1,000 random pairs of rows:

# %% role="show"
q, p = np.array([0.2, 0.2, 0.6]), np.array([0.5, 0.3, 0.2])
for x in range(3):
    ratio = min(1.0, p[x] / q[x])
    print(f"token {x}: drawn with {q[x]}, accepted with {ratio:.3f}, together {q[x] * ratio:.1f}")
distance = np.abs(q - p).sum()
print(f"sum {(q * np.minimum(1, p / q)).sum():.1f}, and 1 − ½‖q − p‖₁ = {1 - 0.5 * distance:.1f}")

many_q, many_p = np.random.default_rng(0).dirichlet(np.ones(50), size=(2, 1000))  # (1000, 50) each
accepted_share = (many_q * np.minimum(1, many_p / many_q)).sum(axis=1)
overlap = 1 - 0.5 * np.abs(many_q - many_p).sum(axis=1)
print(f"1,000 random pairs: largest difference {np.abs(accepted_share - overlap).max():.0e}")

# %% [markdown]
# ## Task 4.1 · The label
#
# In training both rows are known at every position, so the head need not learn from single acceptances and rejections: it learns
# from c* itself. Compute it for a whole block: q and p have shape (γ, V), one row per position, and the result has γ numbers. The
# given line `@takes(…)` says what the arguments are; it converts and validates them, so your lines get float64 arrays.
#
# By hand: q = (.2, .2, .6) and p = (.5, .3, .2) differ by .3, .1 and .4, together .8. Half of it is .4, so the label
# is .6. For rows without a common token, half the distance is 1, and rounding can push it a little past that; the
# reference caps it at 1, so that the label stays a chance.

# %% task="4.1"
from dspark_mini.contracts import probabilities, takes

@takes(q=probabilities("γ", "V"), p=probabilities("γ", "V"))
def acceptance_target(q, p):
    """Compute what each confidence should be: the chance that its draft is accepted.

    Args:
        q: (γ, V) draft distributions, one row per position.
        p: (γ, V) target distributions at the same positions.
    Returns: (γ,) chances: 1 − ½‖q_k − p_k‖₁ at position k.
    Example: q = [[.2, .2, .6]], p = [[.5, .3, .2]]  →  [.6], because ½(.3 + .1 + .4) = .4
    """
    ### BEGIN SOLUTION
    distance = 0.5 * np.abs(q - p).sum(axis=1)  # (γ,)
    return 1.0 - distance.clip(max=1.0)  # rounding must not make a chance negative
    ### END SOLUTION

# %% check="4.1"
check("4.1", acceptance_target)

# %% [markdown]
# **Your labels, drawn.** The filled part of the bars is what both distributions have in common. Where the drafter is too sure of a
# token, the part of q that exceeds p is what the target rejects.

# %% role="picture"
draft_rows = [[0.2, 0.2, 0.6], [0.1, 0.7, 0.2], [0.0, 0.1, 0.9]]
target_rows = [[0.5, 0.3, 0.2], [0.15, 0.65, 0.2], [0.6, 0.4, 0.0]]
viz.overlap_picture(draft_rows, target_rows, acceptance_target(draft_rows, target_rows))

# %% [markdown]
# ## Task 4.2 · How far does a prefix survive?
#
# A token after a rejected one is thrown away, however good it is. The chance that the first j tokens *all* survive is
# the product of conditional chances, $a_j = c_1 c_2 \cdots c_j$. This **prefix survival** never rises along the block, even
# where the confidence does. A round has as many accepted drafts as surviving prefixes, so their expected number
# is $a_1 + \dots + a_\gamma$.
#
# A server has many blocks at once, so the function takes both (γ,) and (…, γ): the block runs along the **last** axis.
# By hand: [.5, .5, 1, .5] gives [.5, .25, .25, .125]. No confidences give an empty array.

# %% task="4.2"
from dspark_mini.contracts import chances, takes

@takes(confidences=chances("…", "γ"))
def prefix_survival(confidences):
    """Compute the chance that the first j drafts all survive, for every j.

    Args:
        confidences: (γ,) or (…, γ) chances c_k, each given that the tokens before k survived; may be empty.
    Returns: a_1..a_γ along the last axis, in the shape of the confidences.
    Example: [.5, .5, 1., .5]  →  [.5, .25, .25, .125]
    """
    ### BEGIN SOLUTION
    return np.cumprod(confidences, axis=-1)
    ### END SOLUTION

# %% check="4.2"
check("4.2", prefix_survival)

# %% role="picture"
confidences = [0.95, 0.9, 0.85, 0.9, 0.8, 0.85, 0.9]
viz.survival_bars(confidences, prefix_survival(confidences), "Confident tokens, doubtful prefix")

# %% [markdown]
# ## Why may the gate not look at the token?
#
# $c_k$ sees $x_{k-1}$ and never $x_k$. It would be easy to let it see more: the drafted token is known, and its own
# $q(x_k)$ says a lot about its fate. But then the *gate* selects tokens, and the accept-or-resample rule is lossless only if the
# tokens it gets were drawn from q.
#
# One position is enough to see it, by enumeration. A draft x comes from q. With chance gate[x] it is sent to the target: accepted
# with min(1, p/q), otherwise replaced from the residual. If it is not sent, the target's own next token is emitted, from p.

# %% role="show"
def emitted_law(gate):
    accept, residual = np.minimum(1.0, p / q), np.maximum(p - q, 0.0)
    law = np.zeros(3)
    for x in range(3):                                       # every draft that can come
        verified = accept[x] * np.eye(3)[x] + (1 - accept[x]) * residual / residual.sum()
        law += q[x] * (gate[x] * verified + (1 - gate[x]) * p)
    return law


gates = {"sends every draft": [1, 1, 1],
         "sends three in ten, whatever they are": [0.3, 0.3, 0.3],
         "sends tokens 0 and 1, holds 2 back": [1, 1, 0]}
for name, gate in gates.items():
    law = emitted_law(gate)
    variation = 0.5 * np.abs(law - p).sum()
    print(f"{name:38} emits {law.round(3)}, total variation from p: {variation:.2f}")

# %% [markdown]
# A gate that does not know x may send as many drafts as it likes, and what it knows of the tokens before x only decides how
# many: the law of the output is p = (.5, .3, .2), exactly. The gate that looks at x holds back the very token that is often
# rejected, and so bends the output by .08. Its acceptance rate is perfect, and its text is wrong.
#
# There is a second way into the same trap: $c_{k+1}$ is computed from $x_k$. So whether $x_k$ is sent must not depend on $c_{k+1}$
# either. Read the confidences from the left and stop; lesson 05 enumerates what happens otherwise.
#
# ## A head to put to the test
#
# No model is needed to see what goes wrong; here is a simulated head whose fault is **known**. It served code, and its
# logits were right there. Now it serves chat, where it is too sure of itself: at position k its logit is the true one times
# 1.5 + 0.3·(k − 1). We keep 2,000 rounds for fitting and 2,000 fresh ones for judging.

# %% role="setup"
def sigmoid(x):
    return 0.5 + 0.5 * np.tanh(0.5 * x)            # the same as 1 / (1 + e^−x), without overflow


# %% role="show"
rng = np.random.default_rng(4)
rounds, block_size = 2000, 7
too_sure = 1.5 + 0.3 * np.arange(block_size)       # the known fault, by position


def serve():
    truth = rng.normal(1.4, 1.3, size=(rounds, block_size))  # logit of each token's true chance
    passed = rng.random(truth.shape) < sigmoid(truth)
    return too_sure * truth, np.cumprod(passed, axis=1)      # logits; 1 where all so far passed


(fit_logits, fit_accepted), (new_logits, accepted) = serve(), serve()
promised = np.cumprod(sigmoid(new_logits), axis=1).mean(axis=0)
print("position            ", *(f"{k:5d}" for k in range(1, block_size + 1)))
print("promised survival   ", *(f"{a:5.2f}" for a in promised))
print("what happened       ", *(f"{a:5.2f}" for a in accepted.mean(axis=0)))

# %% [markdown]
# ## Task 4.3 · How far from the truth?
#
# Means can agree while every promise is wrong: .25 was promised and it happened, .75 was promised and it did not, and both
# means are ½. The **expected calibration error** (ECE, Naeini et al. 2015) compares like with like. Sort the samples into n equal bins
# by what was predicted, and take in each bin the distance between the mean prediction and the share that came true. Average
# these gaps, weighted by the share of samples in the bin.
#
# A sample p belongs to bin min(⌊p·n⌋, n − 1): an edge belongs to the upper bin, and p = 1 to the last one. By hand, with
# two bins, predicted [.25, .75, .75, .75] and observed [0, 1, 1, 0]: the first bin has a quarter of the samples and a gap
# of .25; the second has three quarters and a gap of .75 − 2/3 = 1/12. Together 1/16 + 1/16 = .125.
#
# A loop over bins will do, if it skips the empty ones. There is also a short way: share × gap is |Σ predicted − Σ observed| of the
# bin, divided by N, and `np.bincount(bins, weights=…)` adds up by bin.

# %% task="4.3"
from dspark_mini.contracts import chances, integer, takes

@takes(predicted=chances("N"), observed=chances("N"), n_bins=integer(low=1))
def expected_calibration_error(predicted, observed, n_bins=10):
    """Measure how far predicted chances are from what happened, on average over equal bins.

    Args:
        predicted: (N,) chances p; sample p goes to bin min(⌊p·n_bins⌋, n_bins − 1).
        observed: (N,) outcomes, 1 where it happened, 0 where it did not.
        n_bins: Number of bins.
    Returns: The gaps between mean prediction and mean outcome of the bins, weighted by their share of samples.
    Example: predicted [.25, .75, .75, .75], observed [0, 1, 1, 0], n_bins 2  →  .125
    """
    ### BEGIN SOLUTION
    bins = np.minimum((predicted * n_bins).astype(int), n_bins - 1)  # (N,)
    gaps = np.bincount(bins, weights=predicted - observed)  # per bin: its gap, times its samples
    return float(np.abs(gaps).sum() / len(predicted))
    ### END SOLUTION

# %% check="4.3"
check("4.3", expected_calibration_error)

# %% [markdown]
# **The reliability diagram of a prefix of four, with your error above it.** Each disc is a bin, its area the share of samples; on the
# dotted line every promise is kept. The second head knows the true chances: even its error is not 0, since 2,000 rounds are only a
# sample. Do not chase differences smaller than that.

# %% role="picture"
said = {"the head": sigmoid(new_logits), "one that knows": sigmoid(new_logits / too_sure)}
samples = {label: (c[:, :4].prod(axis=1), accepted[:, 3]) for label, c in said.items()}
errors = {label: expected_calibration_error(*sample) for label, sample in samples.items()}
viz.reliability_diagram(samples, errors)

# %% [markdown]
# ## Task 4.4 · Sequential temperature scaling
#
# One number per position repairs a head that is too sure: divide its logit by a **temperature** $T_k > 1$ (or < 1 where it is
# too timid). What must be true is the survival of the *prefix*, and that depends on all the temperatures up to k. So DSpark
# fits them **from left to right**: for k = 1..γ, try every T of a grid, and take the one with the least ECE (10 bins) of
#
# $$\prod_{i \le k} \sigma\!\left(\frac{\text{logit}_i}{T_i}\right) \quad\text{against “the prefix of length } k \text{ was accepted”},$$
#
# with the earlier $T_i$ as they were fitted. Of equal errors the T closest to 1 wins (by |T − 1|), then the smaller one.
#
# By hand: four rounds, all with logits (ln 9, ln 2), grid [1, 2]. Position 1 was accepted in 3 of 4 rounds. T = 1 promises
# σ(ln 9) = .9; T = 2 promises σ(ln 3) = .75, which is right, so T₁ = 2. Position 2 was reached *and* accepted in 2 of 4. Now T = 1
# promises .75 · σ(ln 2) = .75 · 2/3 = .5, which is right, so T₂ = 1. (Had you left position 1 raw, .9 · 2/3 = .6 would have
# misled you to T₂ = 2.)
#
# You may call `sigmoid` from above and your `expected_calibration_error`. For the ties: `min` takes a key, and Python compares tuples
# from left to right.

# %% task="4.4"
from dspark_mini.contracts import chances, logits, numbers, takes

@takes(confidence_logits=logits("N", "γ"), accepted=chances("N", "γ"), grid=numbers("temperatures", above=0.0))
def fit_sequential_temperatures(confidence_logits, accepted, grid):
    """Fit one temperature per position, from left to right, so that prefix survival is calibrated.

    Args:
        confidence_logits: (N, γ) logits of the confidences, one row per round.
        accepted: (N, γ) 1 where token k and all before it were accepted, otherwise 0.
        grid: Temperatures to try; of equal errors the one closest to 1 wins, then the smaller.
    Returns: T_1..T_γ (γ,), each from the grid.
    Example: four rounds with logits [ln 9, ln 2], accepted [[1, 1], [1, 1], [1, 0], [0, 0]], grid [1, 2]
        →  [2., 1.]: .9 becomes .75 = 3/4 at T = 2, and then .75 · 2/3 = 2/4 at T = 1
    """
    ### BEGIN SOLUTION
    survival, fitted = 1.0, []
    for logit, outcome in zip(confidence_logits.T, accepted.T):  # (N,) each
        options = {t: survival * (0.5 + 0.5 * np.tanh(0.5 * logit / t)) for t in grid}  # σ(logit / t), (N,) each
        best = min(grid, key=lambda t: (expected_calibration_error(options[t], outcome), abs(t - 1.0), t))
        survival = options[best]
        fitted.append(best)
    return np.array(fitted)
    ### END SOLUTION

# %% check="4.4"
check("4.4", fit_sequential_temperatures)

# %% [markdown]
# **Before and after, on fresh rounds.** The temperatures come from the first 2,000 rounds, the numbers below from the others.
# A temperature moves all the confidences of a position together and keeps their order, so the AUC (how often a token that
# passed had a higher confidence than one that failed) stays the same: scaling cannot make a head cleverer, only more honest.

# %% role="picture"
def auc(scores, happened):
    return (scores[happened][:, None] > scores[~happened]).mean()


temperatures = fit_sequential_temperatures(fit_logits, fit_accepted, grid=np.arange(2, 41) / 8)
versions = {"before": sigmoid(new_logits), "after": sigmoid(new_logits / temperatures)}
survivals = {label: np.cumprod(c, axis=1) for label, c in versions.items()}
reached = np.hstack([np.ones((rounds, 1)), accepted[:, :-1]]) > 0
print("position            ", *(f"{k:5d}" for k in range(1, block_size + 1)))
print("too sure by         ", *(f"{factor:5.2f}" for factor in too_sure))
print("fitted temperature  ", *(f"{t:5.2f}" for t in temperatures))
for label, version in versions.items():
    errors = [expected_calibration_error(a, y) for a, y in zip(survivals[label].T, accepted.T)]
    aucs = [auc(c[r], y[r] > 0) for c, r, y in zip(version.T, reached.T, accepted.T)]
    print(f"ECE in % {label:11}", *(f"{100 * error:5.1f}" for error in errors))
    print(f"AUC {label:16}", *(f"{value:5.2f}" for value in aucs))
samples = {f"{label}, prefix of 4": (a[:, 3], accepted[:, 3]) for label, a in survivals.items()}
viz.reliability_diagram(samples)

# %% [markdown]
# The first temperatures come close to the known fault. Later ones scatter: an eighth of the rounds gets to the end, so there
# is little to tell one temperature from the next. The survival is right all the same. (A small disc is a bin of few samples.)
#
# ## What does calibration change?
#
# It changes decisions. Let a round cost 0.2 for the draft and 1 + 0.15·ℓ for verifying ℓ tokens, in units of one plain target
# step. Choose one verify length for this traffic from the mean survival of earlier rounds (so it looks at no token of the round it is
# used in): the speed-up of ℓ is $(1 + a_1 + \dots + a_\ell) / (1.2 + 0.15\,\ell)$. The raw head and the calibrated one choose, and the
# fresh rounds say which was right.

# %% role="picture"
def speed(survival):
    drafts = np.concatenate([[0], np.cumsum(survival.mean(axis=0))])  # accepted, for ℓ = 0..γ
    return (1 + drafts) / (1.2 + 0.15 * np.arange(block_size + 1))


temperatures = fit_sequential_temperatures(fit_logits, fit_accepted, grid=np.arange(2, 41) / 8)
curves = {"raw head": speed(np.cumprod(sigmoid(fit_logits), axis=1)),
          "calibrated": speed(np.cumprod(sigmoid(fit_logits / temperatures), axis=1)),
          "fresh rounds": speed(accepted)}
for label in ("raw head", "calibrated"):
    best = int(curves[label].argmax())
    promised, measured = curves[label][best], curves["fresh rounds"][best]
    print(f"{label:10} chooses ℓ = {best}, promises {promised:.2f}, gets {measured:.2f}")
viz.speed_by_length(curves, title="The raw head chooses too long a block")

# %% [markdown]
# The rounds, the drafts and the text are the same; only the belief about them differs. The raw head verifies tokens that do
# not pay, and it promises a speed-up that the clock will not show. On a busy server the useless tokens also take
# the place of other requests' useful ones: that is lesson 05.
#
# ## The threshold sweep
#
# With a true confidence, a threshold is a dial. Here a round verifies all tokens before the first whose confidence is
# *below* the threshold (lesson 02's rule, without its minimum of one: a round may send nothing). The rule reads from
# the left, and $c_k$ does not know $x_k$, so the output stays exactly the target's.

# %% role="picture"
temperatures = fit_sequential_temperatures(fit_logits, fit_accepted, grid=np.arange(2, 41) / 8)
calibrated, prefixes = sigmoid(new_logits / temperatures), accepted.sum(axis=1)  # (rounds, γ), (rounds,)
thresholds, kept, lost = np.arange(0, 20) / 20, [], []
for threshold in thresholds:
    sent = np.cumprod(calibrated >= threshold, axis=1).sum(axis=1)  # (rounds,)
    kept.append(np.minimum(sent, prefixes).mean())
    lost.append(np.maximum(sent - prefixes, 0).mean())
viz.threshold_sweep(thresholds, kept, lost)

# %% [markdown]
# At threshold 0 the whole block is verified, and more than half of it is thrown away. Raising the threshold first removes
# rejected tokens and hardly any accepted ones; towards 1 it removes good ones too, and the acceptance rate looks splendid
# while almost nothing is verified any more. Where to stop depends on the cost: on an idle machine a rejected token
# is almost free, on a full one it is not.
#
# ## Looking back
#
# * **What you saw.** The label is the overlap of two distributions. Survival is a product, so small errors grow along the
#   block. ECE measures honesty, AUC measures cleverness, and a temperature changes the first only. Calibration changed a
#   decision, the verify length, and never the text. A gate that looks at its own token changes the text.
# * **What the paper reports.** DSpark's heads have an ECE of 3–8 % before sequential temperature scaling and about 1 % after, with
#   an AUC of .81–.91. Sweeping the threshold raises the acceptance rate from 45.7 to 95.7 % on chat, from 76.9 to 92.5 % on math
#   and from 67.6 to 92.0 % on code ([DSpark](https://arxiv.org/abs/2607.05147); the scaling is in Section 3.2.1).
# * **What production engines got wrong here.** In one engine the confidence was applied *after* the target had verified the whole
#   block: it could only shrink what was committed, and every threshold above 0 cost about 13 % more rounds
#   ([SGLang pull request 30204](https://github.com/sgl-project/sglang/pull/30204)). In another the head was dead code: its only consumer
#   computed the prefix length with the wrong algorithm
#   ([TensorRT-LLM pull request 17056](https://github.com/NVIDIA/TensorRT-LLM/pull/17056)). A published evaluation measured the calibration of the prefix
#   but had no step to repair it, and its raw confidences were found too sure
#   ([DeepSpec pull request 63](https://github.com/deepseek-ai/DeepSpec/pull/63)). And a metrics library counted a confidence of exactly 1 in a bin of its
#   own, after the last one: your `min(…, n − 1)`
#   ([torchmetrics issue 3510](https://github.com/Lightning-AI/torchmetrics/issues/3510)).
# * **What is open.** Whether it pays to refit the temperatures while serving; a first trial saw little benefit
#   ([vLLM issue 52053](https://github.com/vllm-project/vllm/issues/52053)).
#
# ## Further reading
#
# * DSpark: *Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation*, [arXiv 2607.05147](https://arxiv.org/abs/2607.05147)
# * Naeini, Cooper and Hauskrecht 2015: *Obtaining Well Calibrated Probabilities Using Bayesian Binning* (AAAI), where the expected
#   calibration error comes from
# * Guo et al. 2017: *On Calibration of Modern Neural Networks*, [arXiv 1706.04599](https://arxiv.org/abs/1706.04599), where temperature scaling comes from
# * Leviathan et al. 2023: *Fast Inference from Transformers via Speculative Decoding*, [arXiv 2211.17192](https://arxiv.org/abs/2211.17192), for the acceptance rate as an overlap
