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
# # Lesson 01 · Verification
#
# *A drafter guesses, the target decides. How can it keep many guesses and still say only what it would have said alone?*
#
# | | |
# |---|---|
# | **You build** | the greedy and the lossless verifier, the mask of their forward, the cut at stop tokens and caps |
# | **Difficulty** | ●●○○ — six tasks of one to ten lines |
# | **Time** | about 45 minutes |
# | **You need** | Python, NumPy indexing, and what a probability distribution is |
#
# Run the cells in order (Shift+Enter). Stuck? Type `hint("1.1")` in a new cell.

# %% role="setup"
import numpy as np

from grader import check, hint

# %% [markdown]
# ## Who has the last word
#
# A **drafter** proposes a block of γ tokens x₁, x₂, … after the anchor x₀, the last committed token. The **target** then runs *once* over anchor and block and returns
# γ + 1 rows: row k says what should follow x₀ … xₖ. **p** is the target's distribution at one position, **q** the drafter's, **V** the number of tokens.
#
# A verifier is **lossless** if its text is distributed as if the target had sampled every token itself. Is this rule? Draw a sample from the target; keep the draft if
# the target finds it at least as likely, else take the sample. All pairs added up:

# %% role="show"
from dspark_mini import viz

p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
pairs = q[:, None] * p                      # (V, V) chance of each draft (row) with each sample
likely = pairs * (p[:, None] >= p)          # those where the draft is kept
by_likelihood = likely.sum(axis=1) + (pairs - likely).sum(axis=0)


def total_variation(law):
    return 0.5 * np.abs(law - p).sum()


print("target :", p)
print("emitted:", by_likelihood.round(4), " total variation", total_variation(by_likelihood).round(4))
viz.emitted_laws(p, {"the target alone": p, "keep if p(draft) ≥ p(sample)": by_likelihood})

# %% [markdown]
# The **total variation**, half the sum of the absolute differences, is 0.10: a tenth of the probability is misplaced, and no single text shows it. This lesson finds a
# rule with 0.

# %% [markdown]
# ## Task 1.1 · Greedy verification
#
# Begin without chance. In greedy decoding the target always says the token with the highest logit, of equal ones the **lowest id**. Keep as much of the block as it
# would have said itself, and add the one token that it says next: a **correction** in place of the first wrong draft, or the **bonus** if there was none. Rows after a
# wrong draft follow a token that is not in the text.
#
# By hand: drafts `[1, 0]` with rows `[[.1, .9], [.3, .7], [.8, .2]]` give accepted 1 and tokens `[1, 1]`.
#
# The line `@takes(…)`, given in every task, makes arrays of logits and probabilities; tokens stay lists of ints.

# %% task="1.1"
from dspark_mini.contracts import logits, takes, tokens

@takes(target_logits=logits("γ+1", "V"), draft_tokens=tokens("γ", below="V"))
def verify_greedy(draft_tokens, target_logits):
    """Keep the drafts that greedy decoding would have chosen, and add the target's next token.

    Args:
        draft_tokens: list (γ,), drafted tokens x_1..x_γ; there may be none.
        target_logits: (γ+1, V) the target's rows; row k follows the first k drafts, −inf masks a token.
    Returns: A dict: accepted, the number of accepted drafts; tokens, the accepted drafts and one more token.
    Example: draft_tokens [2], target_logits [[0, 1, 2], [5, 0, 0]]  →  {'accepted': 1, 'tokens': [2, 0]}
    """
    ### BEGIN SOLUTION
    best = target_logits.argmax(axis=1).tolist()  # (γ+1,)
    accepted = 0
    while accepted < len(draft_tokens) and draft_tokens[accepted] == best[accepted]:
        accepted += 1
    return {"accepted": accepted, "tokens": best[: accepted + 1]}
    ### END SOLUTION

# %% check="1.1"
check("1.1", verify_greedy)

# %% [markdown]
# **Your verifier at work.** A toy target always says “the cat sat on a mat .” Its own tokens are orange.

# %% role="show"
words = ["the", "cat", "sat", "on", "a", "mat", ".", "ran"]
follows = [1, 2, 3, 4, 5, 6, 0, 3]  # the one token that the toy target puts after each token


def target_logits(anchor, drafts):
    """One forward over the anchor and the drafts: (γ+1, V), row k follows the first k drafts."""
    return np.eye(len(words))[[follows[token] for token in [anchor, *drafts]]]

# %% role="picture"
blocks = [(0, [1, 7, 3]), (2, [3, 4, 5]), (6, [7, 1, 2])]  # anchor, drafts
results = [verify_greedy(drafts, target_logits(x0, drafts)) for x0, drafts in blocks]
viz.verified_rounds([(drafts, result) for (_, drafts), result in zip(blocks, results)], words)

# %% [markdown]
# ## Task 1.2 · How often may a draft be accepted?
#
# Now the target samples. The drafter proposes x with probability q(x); accepted with probability a(x), it comes through with q(x)·a(x). More than p(x) would be too
# much. What is the largest a(x)?
#
# By hand, p = (.5, .3, .2) and q = (.2, .2, .6): token 2 is proposed too often, a(2) = 1/3, and token 0 too seldom, a(0) = 1. q must be **the very distribution that x
# was drawn from**, so q(x) is never 0.

# %% task="1.2"
from dspark_mini.contracts import probabilities, takes, token
from dspark_mini.rules import token_is_possible

@takes(token_is_possible, p=probabilities("V"), q=probabilities("V"), token=token(below="V"))
def acceptance_probability(p, q, token):
    """Return the probability with which a drafted token is accepted.

    Args:
        p: (V,) the target's distribution at this position.
        q: (V,) the distribution that the token was drawn from, so q[token] > 0.
        token: the drafted token.
    Returns: A probability.
    Example: p (.25, .75), q (.5, .5): token 0  →  0.5;  token 1  →  1.0
    """
    ### BEGIN SOLUTION
    return min(1.0, p[token] / q[token])
    ### END SOLUTION

# %% check="1.2"
check("1.2", acceptance_probability)

# %% [markdown]
# **Your acceptance, drawn**: a(x) = min(1, p(x)/q(x)) lets min(p, q) through, .60 in all. Marks: p.

# %% role="picture"
viz.accepted_mass(p, q, [acceptance_probability(p, q, token) for token in range(3)])

# %% [markdown]
# ## Task 1.3 · What replaces a rejected draft
#
# Token 0 lacks .3 and token 1 lacks .1. Only the rejected rounds can fill these gaps, each with one token, drawn from the **residual**: the distribution that lets
# every bar reach its mark.
#
# By hand: here it is (.75, .25, 0). Token 2 was drafted too often, and cannot come back. If there is no gap, p = q, return p: rounding may lead there.

# %% task="1.3"
from dspark_mini.contracts import probabilities, takes

@takes(p=probabilities("V"), q=probabilities("V"))
def residual_distribution(p, q):
    """Return the residual, the distribution that a rejected draft is replaced from.

    Args:
        p: (V,) the target's distribution at this position.
        q: (V,) the distribution that the rejected token was drawn from.
    Returns: A distribution (V,); p itself if nothing is missing, as for p = q.
    Example: p (.5, .25, .25), q (.25, .125, .625)  →  (2/3, 1/3, 0)
    """
    ### BEGIN SOLUTION
    excess = np.maximum(p - q, 0.0)  # (V,)
    mass = excess.sum()
    return excess / mass if mass > 0.0 else p.copy()
    ### END SOLUTION

# %% check="1.3"
check("1.3", residual_distribution)

# %% [markdown]
# **Your residual, drawn**:
#
# $$r = \operatorname{norm}\bigl(\max(p - q,\, 0)\bigr).$$
#
# It fits: the rejected mass equals the sum of the gaps, 1 − Σ min(p, q). So accepted + replaced = min(p, q) + max(p − q, 0) = p.

# %% role="picture"
accept = [acceptance_probability(p, q, token) for token in range(3)]
viz.accepted_mass(p, q, accept, residual_distribution(p, q))

# %% [markdown]
# **Six rules, exactly.** A **one-hot** row has a single 1: the true q of an argmax drafter.

# %% role="picture"
a = np.array([acceptance_probability(p, q, token) for token in range(3)])
r = residual_distribution(p, q)
best = np.eye(3)[q.argmax()]                # a drafter that always takes its argmax, token 2
best_a = best * acceptance_probability(p, best, 2)
best_r = residual_distribution(p, best)


def emitted(drafted, accept, replacement):
    """The distribution of the emitted token: drafted and accepted, or rejected and then replaced."""
    rejected = (drafted * (1 - accept)).sum()
    return drafted * accept + rejected * replacement


naive = emitted(q, a, p)
rules = {  # label: (law of the emitted token, share of drafts accepted)
    "p/q, residual": (emitted(q, a, r), q @ a),
    "p/q, then p": (naive, q @ a),
    "argmax draft, softmax q": (emitted(best, a, r), best @ a),
    "argmax draft, one-hot q": (emitted(best, best_a, best_r), best @ best_a),
    "p(draft) ≥ p(sample)": (by_likelihood, likely.sum()),
    "draft = sample": (pairs.sum(axis=0), np.trace(pairs)),
}
for label, (law, accepted) in rules.items():
    print(f"{label:24} emits {np.round(law, 3)}", end="")
    print(f"  total variation {total_variation(law):.4f}  accepts {accepted:.2f}")

# %% [markdown]
# * **Argmax draft**: it is lossless with the **one-hot q** in the ratio, and not with the softmax, which it was not drawn from.
# * **Draft = sample**: accept the draft only if a sample from the target is the same token. Lossless, since that sample is emitted anyway, but it accepts .28 only.

# %% [markdown]
# ## Task 1.4 · The lossless verifier
#
# Now a whole block. Each draft is judged as in 1.2, by its own rows and a **fresh** uniform number; the first rejected one is replaced as in 1.3, and if all pass, a
# bonus is drawn. `rng.random()` can return 0.0 but never 1.0, and even then a token with p = 0 is never accepted, and one with p ≥ q always.
#
# By hand: drafts `[1]`, draft row (.5, .5), target rows (.75, .25) and (0, 1). Half of these rounds accept 1 and emit `[1, 1]`, the others emit `[0]`. So token 1
# comes with ½ · ½ = p(1).
#
# You may call your functions of 1.2 and 1.3. `rng.choice(V, p=row)` draws a token.

# %% task="1.4"
from dspark_mini.contracts import generator, probabilities, takes, tokens
from dspark_mini.rules import drafts_are_possible

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
    Returns: A dict: accepted, the number of accepted drafts; tokens, the accepted drafts and one more token.
    Example: draft_tokens [1], draft_probs [[.5, .5]], target_probs [[1, 0], [0, 1]]
        →  {'accepted': 0, 'tokens': [0]}, since the target never says 1
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

# %% check="1.4"
check("1.4", verify_sampling)

# %% [markdown]
# **Counted, not proven.** Shares of 4,000 rounds are off by about 0.01.

# %% role="picture"
rng = np.random.default_rng(0)
drafted = rng.choice(3, p=q, size=4000).tolist()
results = [verify_sampling([draft], [q], [p, p], rng) for draft in drafted]
counted = np.bincount([result["tokens"][0] for result in results], minlength=3) / len(results)
print("accepted:", np.mean([result["accepted"] for result in results]), " exact: 0.60")
laws = {"your verifier, counted": counted, "accept by p/q, else draw from p": naive}
viz.emitted_laws(p, laws, tolerance=0.03)

# %% [markdown]
# ## Task 1.5 · One forward that equals γ + 1
#
# All this rests on one promise: row k of the one forward is the row that the target would have computed in plain decoding, after x₀ … xₖ. What a row may look at is
# set by the **mask**, True where it may attend to a column. What had plain decoding read at that moment? Ask it of context tokens (the anchor is the last), and of
# drafts.

# %% task="1.5"
from dspark_mini.contracts import integer, takes

@takes(context_length=integer(), draft_length=integer())
def verification_mask(context_length, draft_length):
    """Build the mask of the target's verification forward: every row sees the tokens up to its own, as in decoding.

    Args:
        context_length: number of context tokens, the anchor x_0 the last of them.
        draft_length: γ, the number of drafted tokens.
    Returns: Boolean array (n, n), n = context_length + draft_length, the context first; True where the row may attend
        to the column.
    Example: context_length 1, draft_length 1  →  [[True, False], [True, True]]
    """
    ### BEGIN SOLUTION
    position = np.arange(context_length + draft_length)  # (n,)
    return position <= position[:, None]
    ### END SOLUTION

# %% check="1.5"
check("1.5", verification_mask)

# %% [markdown]
# **Your mask, drawn.**

# %% role="picture"
viz.verification_picture(verification_mask(5, 4), context_length=5)

# %% [markdown]
# **Does it keep the promise?** A random attention layer runs token by token, and in one forward. A wrong mask raises no error.

# %% role="picture"
rng = np.random.default_rng(1)
context, drafted, width = 5, 4, 8
n = context + drafted
embedded, (wq, wk, wv) = rng.normal(size=(n, width)), rng.normal(size=(3, width, width))


def attention(x, mask):
    scores = np.where(mask, (x @ wq) @ (x @ wk).T / np.sqrt(width), -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ (x @ wv)


# Plain decoding: in each step the newest token sees all tokens so far.
plain = [attention(embedded[:k], np.ones((k, k), dtype=bool))[-1] for k in range(1, n + 1)]
mask = verification_mask(context, drafted)
blind, both_ways = mask.copy(), mask.copy()
blind[range(context, n), range(context, n)] = False  # a draft does not see itself
both_ways[context:, context:] = True                 # drafts see each other in both directions
masks = {"your mask": mask, "drafts blind to themselves": blind, "drafts both ways": both_ways}
for label, tried in masks.items():
    difference = np.abs(attention(embedded, tried) - plain).max()
    print(f"{label:28} largest difference from plain decoding: {difference:.1e}")

# %% [markdown]
# ## Task 1.6 · Where the output ends
#
# Plain decoding looks at each token. So must a round: the **first stop token** ends the output, and belongs to it; at most `max_new_tokens` are kept, stop tokens
# included. By hand, with stop token 2: `[5, 2, 7]` gives `[5, 2]`, and with a cap of 1 `[5]`.

# %% task="1.6"
from dspark_mini.contracts import integer, takes, tokens

@takes(tokens=tokens("n"), stop_tokens=tokens("S"), max_new_tokens=integer())
def cut_output(tokens, stop_tokens, max_new_tokens):
    """Return the part of the emitted tokens that belongs to the output: up to the first stop token or the cap.

    Args:
        tokens: list (n,), tokens emitted since the prompt, in one round or in many.
        stop_tokens: list (S,), tokens that end the output and belong to it; without any, only the cap ends it.
        max_new_tokens: the cap, in tokens; a stop token counts.
    Returns: A prefix of tokens, as a new list.
    Example: tokens [8, 8, 4, 3], stop_tokens [3, 4], max_new_tokens 10  →  [8, 8, 4]
    """
    ### BEGIN SOLUTION
    kept = tokens[:max_new_tokens]
    for i, emitted in enumerate(kept):
        if emitted in stop_tokens:
            return kept[: i + 1]
    return kept
    ### END SOLUTION

# %% check="1.6"
check("1.6", cut_output)

# %% [markdown]
# ## The cache contract, and a whole text
#
# The target keeps keys and values of the tokens it has read in a **cache**, one row per token; so does a drafter. **After every round a cache holds the committed
# tokens except the last**, the next anchor. The target's forward writes 1 + γ rows, of which γ − accepted are rolled back.
#
# An autoregressive drafter reads x₀ … xᵧ₋₁, but never xᵧ, its own last draft. If all are accepted, its cache is **one row short**: the next round must feed it xᵧ as
# well.
#
# Your functions, in a loop; "." is the stop token.

# %% role="picture"
rng = np.random.default_rng(40)
stop_tokens, max_new_tokens, gamma = [6], 20, 4


def draft_block(token):
    block = []
    for _ in range(gamma):
        token = follows[token] if rng.random() < 0.75 else int(rng.integers(len(words)))
        block.append(token)
    return block


text, cache, draft_cache, rounds, short = [0], [], [], [], []  # the prompt is "the"
for _ in range(max_new_tokens):                      # a round emits at least one token
    drafts = draft_block(text[-1])
    cache += [text[-1], *drafts]                     # what the target reads: 1 + γ rows
    draft_cache += text[len(draft_cache):] + drafts[:-1]  # what the drafter lacks, then γ − 1 drafts
    result = verify_greedy(drafts, target_logits(text[-1], drafts))
    kept = len(text) + result["accepted"]
    del cache[kept:], draft_cache[kept:]             # the rollback
    text += result["tokens"]
    assert cache == text[:-1] and draft_cache == cache[:len(draft_cache)]  # the contract
    short.append(len(cache) - len(draft_cache))
    rounds.append((drafts, result))
    output = cut_output(text[1:], stop_tokens, max_new_tokens)
    if len(output) == max_new_tokens or output[-1] in stop_tokens:
        break

plain = [0]
while plain[-1] != 6:
    plain.append(follows[plain[-1]])
counts = [len(result["tokens"]) for _, result in rounds]
print("emitted in each round:", counts, " kept:", len(output))
print("rows that the drafter's cache is short of:", short)
print("output:", " ".join(words[token] for token in output))
print("same as plain decoding:", output == plain[1:])
viz.verified_rounds(rounds, words, kept=len(output))

# %% [markdown]
# Dots mark what is cut. Whatever you report must add up to what the user got.

# %% [markdown]
# ## Looking back
#
# * **What you saw.** The neighbours of the lossless rule are off by 0.10 to 0.13, or accept less than half as much.
# * **What the paper reports.** At γ = 7 τ is at most 8. {paper:rounds}
# * **What published code got wrong here.** An argmax draft with a softmax q ([speculative-sampling 3](https://github.com/jaymody/speculative-sampling/issues/3)); a q
#   that was not sampled from ([Transformers 47932](https://github.com/huggingface/transformers/issues/47932)); one uniform number for rejection and residual ([vLLM
#   Ascend 16370](https://github.com/vllm-project/vllm-ascend/pull/16370)); an impossible token accepted at 0.0 ([SGLang
#   35771](https://github.com/sgl-project/sglang/issues/35771)); text after a stop token in mid-block ([Transformers
#   47912](https://github.com/huggingface/transformers/issues/47912)); answers short of their cap, as what was cut counted ([ik_llama.cpp
#   2358](https://github.com/ikawrakow/ik_llama.cpp/pull/2358)); a drafter's cache cut by two rows too many in every rejecting round ([mlxcel
#   1002](https://github.com/lablup/mlxcel/pull/1002)).
# * **Not a bug.** Exact matching loses drafts, not quality ([mlx-lm 1709](https://github.com/ml-explore/mlx-lm/pull/1709)).
#
# ## Further reading
#
# * Leviathan et al., [*Fast Inference from Transformers via Speculative Decoding*](https://arxiv.org/abs/2211.17192), Section 2.3
# * Chen et al., [*Accelerating Large Language Model Decoding with Speculative Sampling*](https://arxiv.org/abs/2302.01318)
# * [DSpark](https://arxiv.org/abs/2607.05147) and [DFlash](https://arxiv.org/abs/2602.06036), the drafters of the next lessons
