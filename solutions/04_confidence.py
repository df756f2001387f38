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
# | **Time** | about 40 minutes |
# | **You need** | Python, NumPy sums along an axis; no earlier lesson has to be solved |
#
# Run the cells in order (Shift+Enter). Stuck? Type `hint("4.1")` in a new cell.

# %% role="setup"
import numpy as np

from grader import check, hint

# %% [markdown]
# ## Why must a confidence be true?
#
# Every draft that the target verifies costs time. DSpark's drafter therefore returns a **confidence** per position, the
# chance $c_k$ that token $x_k$ is accepted *given* that all before it were. It is computed before $x_k$ is drawn:
# $c_k=\sigma(w^\top[h_k;W_1[x_{k-1}]])$, from the drafter's hidden state $h_k$ and an embedding of the previous token
# (lesson 03).
#
# A confidence accepts nothing; it decides how much is verified, and weighs a chance against a cost. So .9 must mean
# nine out of ten. Errors grow along the block:

# %% role="show"
from dspark_mini import viz

for c in (0.9, 0.8, 0.7):
    expected = sum(c**k for k in range(1, 8))
    print(f"every token passes with {c}: of 7 drafts {expected:.1f} are accepted on average")

# %% [markdown]
# ## What should a confidence say?
#
# The drafter draws x from q, and the target accepts it with probability min(1, p(x)/q(x)) (lesson 01). How likely is
# that *before* x is drawn? Here are 100,000 draws:

# %% role="show"
q, p = np.array([0.2, 0.2, 0.6]), np.array([0.5, 0.3, 0.2])
rng = np.random.default_rng(0)
drafts = rng.choice(3, size=100_000, p=q)
passed = rng.random(drafts.size) < p[drafts] / q[drafts]
print(f"accepted: {passed.mean():.3f}; of those that drew token 2: {passed[drafts == 2].mean():.3f}")

# %% [markdown]
# ## Task 4.1 · The label
#
# Training knows both rows, so the head learns from the exact chance. Compute it for a whole block, one row of q and p
# per position. (`@takes(…)` is given; it converts and validates the arguments.)
#
# By hand: tokens 0 and 1 are drawn with .2 each and always accepted, token 2 is drawn with .6 and accepted with 1/3:
# together .2 + .2 + .2 = .6. The paper writes $c^* = 1 - \tfrac12\lVert q-p\rVert_1$. Why is that the same?

# %% task="4.1"
from dspark_mini.contracts import probabilities, takes

@takes(q=probabilities("γ", "V"), p=probabilities("γ", "V"))
def acceptance_target(q, p):
    """Compute what each confidence should be: the chance that its draft is accepted.

    Args:
        q: (γ, V) draft distributions, one row per position.
        p: (γ, V) target distributions at the same positions.
    Returns: (γ,) chances, one per position.
    Example: q = [[.2, .2, .6]], p = [[.5, .3, .2]]  →  [.6]
    """
    ### BEGIN SOLUTION
    distance = 0.5 * np.abs(q - p).sum(axis=1)  # (γ,)
    return 1.0 - distance.clip(max=1.0)  # rounding must not make a chance negative
    ### END SOLUTION

# %% check="4.1"
check("4.1", acceptance_target)

# %% [markdown]
# **Your labels, drawn.** Filled is what both distributions share; where q exceeds p, the target rejects.

# %% role="picture"
draft_rows = [[0.2, 0.2, 0.6], [0.1, 0.7, 0.2], [0.0, 0.1, 0.9]]
target_rows = [[0.5, 0.3, 0.2], [0.15, 0.65, 0.2], [0.6, 0.4, 0.0]]
viz.overlap_picture(draft_rows, target_rows, acceptance_target(draft_rows, target_rows))

# %% [markdown]
# ## Task 4.2 · How far does a prefix survive?
#
# A token after a rejected one is thrown away, however good it is. So what counts is the **prefix survival**
# $a_j=c_1c_2\cdots c_j$, the chance that the first j drafts *all* pass. It never rises along the block, even where the
# confidence does, and its sum is the expected number of accepted drafts.
#
# A server has many blocks at once, (…, γ): a block runs along the **last** axis. By hand: [.5, .5, 1, .5] gives [.5,
# .25, .25, .125].

# %% task="4.2"
from dspark_mini.contracts import chances, takes

@takes(confidences=chances("…", "γ"))
def prefix_survival(confidences):
    """Compute the chance that the first j drafts all survive, for every j.

    Args:
        confidences: (γ,) or (…, γ) chances c_k, each given that the tokens before k passed; may be empty.
    Returns: a_1..a_γ, in the shape of the confidences.
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
# $c_k$ never sees $x_k$, although $q(x_k)$ says a lot about its fate. But a gate that knows the token *selects* tokens,
# and accept-or-resample is lossless only for tokens drawn from q. One position shows it: a draft x is verified with
# chance gate[x]; otherwise the target emits a token of its own, from p.

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
# The third gate has a perfect acceptance rate and emits the wrong text. And since $c_{k+1}$ is computed from $x_k$, it
# may not decide about $x_k$ either: read from the left and stop (lesson 05).
#
# ## A head to put to the test
#
# A simulated head whose fault is **known**: at position k its logit is the true one times 1.5 + 0.3·(k − 1), so it is
# too sure. 2,000 rounds are for fitting, 2,000 fresh ones for judging.

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
# Means can agree while every promise is wrong: .25 was promised and it happened, .75 was promised and it did not. The
# **expected calibration error** (ECE, Naeini et al. 2015) compares like with like. It sorts the N samples by prediction
# into n equal bins of [0, 1]; bin b gets $N_b$ of them:
#
# $$\mathrm{ECE}=\sum_b\frac{N_b}{N}\,\bigl|\text{mean predicted}_b-\text{mean observed}_b\bigr|$$
#
# On the edge of two bins a sample belongs to the upper one; 1 belongs to the last bin. By hand, two bins, predicted
# [.25, .75, .75, .75], observed [0, 1, 1, 0]: the gaps are .25 and .75 − 2/3, the error is 1/4·1/4 + 3/4·1/12 = .125.

# %% task="4.3"
from dspark_mini.contracts import chances, integer, takes

@takes(predicted=chances("N"), observed=chances("N"), n_bins=integer(low=1))
def expected_calibration_error(predicted, observed, n_bins=10):
    """Measure how far predicted chances are from what happened, bin by bin.

    Args:
        predicted: (N,) chances.
        observed: (N,) outcomes, 1 where it happened, 0 where it did not.
        n_bins: Number of equal bins of [0, 1].
    Returns: The expected calibration error.
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
# **The reliability diagram of a prefix of four.** A disc's area is its bin's share of the samples. Even the true
# chances have an error in 2,000 rounds: do not chase smaller differences.

# %% role="picture"
said = {"the head": sigmoid(new_logits), "one that knows": sigmoid(new_logits / too_sure)}
samples = {label: (c[:, :4].prod(axis=1), accepted[:, 3]) for label, c in said.items()}
errors = {label: expected_calibration_error(*sample) for label, sample in samples.items()}
viz.reliability_diagram(samples, errors)

# %% [markdown]
# ## Task 4.4 · Sequential temperature scaling
#
# Dividing its logits by a **temperature** T > 1 makes a head less sure (Guo et al. 2017). DSpark fits one per position,
# **from left to right**, since what must be true is the survival of the *prefix*, and that depends on all temperatures
# up to k. $T_k$ is the value of a grid with the least ECE (10 bins) of
#
# $$\prod_{i \le k} \sigma\!\left(\frac{\text{logit}_i}{T_i}\right) \quad\text{against “the prefix of length } k \text{ was accepted”},$$
#
# the earlier temperatures being fixed by then. Of equal errors the T closest to 1 wins (by |T − 1|), then the smaller.
#
# By hand: four rounds with logits (ln 9, ln 2), grid [1, 2]. Position 1 passed in 3 of 4: T = 1 promises .9, T = 2
# promises σ(ln 3) = .75, so T₁ = 2. Both passed in 2 of 4: T = 1 promises .75·2/3 = .5, so T₂ = 1. (And if position 1
# had stayed raw?) You may call `sigmoid` and your `expected_calibration_error`.

# %% task="4.4"
from dspark_mini.contracts import chances, logits, numbers, takes

@takes(confidence_logits=logits("N", "γ"), accepted=chances("N", "γ"), grid=numbers("temperatures", above=0.0))
def fit_sequential_temperatures(confidence_logits, accepted, grid):
    """Fit one temperature per position, from left to right, so that prefix survival is calibrated.

    Args:
        confidence_logits: (N, γ) logits of the confidences, one row per round.
        accepted: (N, γ) 1 where token k and all before it were accepted, otherwise 0.
        grid: Temperatures to try.
    Returns: T_1..T_γ (γ,), each from the grid.
    Example: four rounds with logits [ln 9, ln 2], accepted [[1, 1], [1, 1], [1, 0], [0, 0]], grid [1, 2]
        →  [2., 1.]
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
# **Before and after, on fresh rounds.** A temperature keeps the order of the confidences, so the AUC (how often a token
# that passed had the higher one) stays: scaling makes a head more honest, not cleverer.

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
named = {"before, prefix of 4": survivals["before"], "after, prefix of 4": survivals["after"]}
viz.reliability_diagram({label: (a[:, 3], accepted[:, 3]) for label, a in named.items()})

# %% [markdown]
# The first temperatures come close to the known fault; few rounds reach the later ones.
#
# ## What does calibration change?
#
# Decisions. Let a round with ℓ drafts cost 1.2 + 0.15·ℓ plain target steps. Each head chooses the ℓ with the highest
# speed-up $(1+a_1+\dots+a_\ell)/(1.2+0.15\,\ell)$ from the mean survival of earlier rounds; fresh rounds say which was
# right.

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
# The text is the same; only the belief differs. The raw head verifies tokens that do not pay, and on a busy server
# these take the place of other requests' useful ones (lesson 05). With a true confidence a **threshold** is a dial:
# verify all tokens before the first below it.

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
# Near 1 the acceptance rate looks splendid, and hardly anything is verified.
#
# ## Open problem
#
# DFlash has no confidence head; the highest probability of each row stands in for it. The rows say more. Write a
# `confidence` that is **sharper** (AUC) and no less honest (ECE), on prompts that you have not looked at; position k
# may use rows 1 to k. The best known is a logistic regression on the entropy, the two best probabilities,
# the rows before and the position.

# %% role="picture"
from dspark_mini.engine import Steps, generate
from dspark_mini.lm import load, prompts

BASELINE = "AUC 0.929, ECE 0.064"    # the probability of the best token, as below
BEST_KNOWN = "AUC 0.946, ECE 0.017"  # the logistic regression, fitted on 120 other prompts


def confidence(rows):
    """From the logits (γ, V) of one block to its γ confidences."""
    return 1.0 / np.exp(rows - rows.max(axis=1, keepdims=True)).sum(axis=1)


lm, blocks, kept = load(drafters=["dflash"]), [], []
steps = Steps(lambda rows: blocks.append(rows) or rows.argmax(axis=1).tolist(), block_size=lambda trace: 7)
for prompt in [prompt for domain in ("math", "code", "chat") for prompt in prompts(lm.tokenizer, domain, 4, seed=2)]:
    lm.clear()
    trace = generate(lm.target, lm.drafters["dflash"], prompt, 90, [lm.tokenizer.end], steps=steps)
    kept += [round_.accepted for round_ in trace.rounds if round_.drafted]
tested = [min(k + 1, len(rows)) for k, rows in zip(kept, blocks)]  # those after a rejection tell nothing
said = np.concatenate([confidence(rows)[:n] for rows, n in zip(blocks, tested)])
passed = np.concatenate([np.arange(n) < k for k, n in zip(kept, tested)])
print(f"yours       AUC {auc(said, passed):.3f}, ECE {expected_calibration_error(said, passed):.3f}")
print(f"baseline    {BASELINE}\nbest known  {BEST_KNOWN}")

# %% [markdown]
# ## Looking back
#
# * **What the paper reports.** {paper:figure_6} {paper:figure_5}
# * **What production engines got wrong.** Confidence was applied *after* the whole block was verified, and cost 13 %
#   more rounds ([SGLang 30204](https://github.com/sgl-project/sglang/pull/30204)). A head was dead code: its only
#   consumer computed the prefix wrongly ([TensorRT-LLM 17056](https://github.com/NVIDIA/TensorRT-LLM/pull/17056)).
#   Calibration was measured and not repaired ([DeepSpec 63](https://github.com/deepseek-ai/DeepSpec/pull/63)). A
#   confidence of exactly 1 got a bin of its own ([torchmetrics
#   3510](https://github.com/Lightning-AI/torchmetrics/issues/3510)).
# * **What is open.** Whether refitting temperatures while serving pays ([vLLM
#   52053](https://github.com/vllm-project/vllm/issues/52053)).
#
# ## Further reading
#
# * *DSpark: Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation*, [arXiv
#   2607.05147](https://arxiv.org/abs/2607.05147)
# * Naeini, Cooper and Hauskrecht 2015: *Obtaining Well Calibrated Probabilities Using Bayesian Binning* (AAAI)
# * Guo et al. 2017: *On Calibration of Modern Neural Networks*, [arXiv 1706.04599](https://arxiv.org/abs/1706.04599)
