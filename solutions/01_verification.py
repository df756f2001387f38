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
# | **You build** | the greedy and the lossless sampling verifier, the mask of the verification forward, the cut at stop tokens and caps |
# | **Difficulty** | ●●○○ — six tasks of one to ten lines |
# | **Time** | about 45 minutes |
# | **You need** | Python, NumPy indexing, and what a probability distribution is; no earlier lesson has to be solved |
#
# Run the cells from top to bottom (Shift+Enter). Each task has a cell with a `TODO` and, below it, a cell that
# checks your function: it names the first property that fails, on a small input, with a hint. Stuck? Open a terminal
# and type `dspark-mini hint 1.1`.

# %% role="setup"
import numpy as np

from grader import check

# %% [markdown]
# ## Who has the last word
#
# A **drafter** proposes a block of γ tokens x₁, x₂, … to follow the anchor x₀, the last committed token. The **target** then
# runs *once* over the anchor and the block and returns γ + 1 rows: row 0 says what should follow x₀, row 1 what should follow x₀ x₁, and so
# on. Each row scores the next draft; the last row has no draft to score and gives a free extra token.
#
# The names of this lesson: **p** is the target's distribution at one position, **q** the drafter's, **V** the number of tokens.
# A verifier is **lossless** if the text it emits is distributed exactly as if the target had sampled every token itself.
# Then a poor drafter costs time and never quality.

# %% [markdown]
# ## A rule that looks right and is not
#
# Take one position and three tokens. A natural rule: accept the draft x with probability min(1, p(x)/q(x)), and if it is
# rejected, ask the target, that is, draw from p. To judge this rule we need no sampling: we can add up every case (bars: what is
# emitted; grey marks: what the target says).

# %% role="show"
from dspark_mini import viz

p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])


def emitted(drafted, accept, replacement):
    """The distribution of the emitted token: drafted and accepted, or rejected and then replaced."""
    rejected = (drafted * (1 - accept)).sum()
    return drafted * accept + rejected * replacement


def total_variation(law):
    return 0.5 * np.abs(law - p).sum()


naive = emitted(q, np.minimum(1, p / q), replacement=p)
print("target :", p)
print("emitted:", naive.round(4), " total variation", total_variation(naive).round(4))
viz.emitted_laws(p, {"the target alone": p, "accept by p/q, else draw from p": naive})

# %% [markdown]
# The emitted token is 2 in 28 % of all rounds; the target says 20 %. The **total variation**, half the sum of the absolute
# differences, is 0.10: a tenth of the probability lies on the wrong tokens. No single text
# shows it. This lesson finds the rule whose total variation is 0, and proves it in the same way.
#
# The rule is also **causal**: what happens to a draft depends on that draft, on the drafts before it and on chance, never on what
# comes later. After the first rejected draft nothing counts any more, because every later row was computed on top of a token
# that is not in the text.

# %% [markdown]
# ## Task 1.1 · Greedy verification
#
# Begin without chance. In greedy decoding the target always takes the token with the highest logit, of equal ones the
# **lowest id**. Draft k is right if it is that token:
#
# 1. accept drafts while the argmax of row k equals `draft_tokens[k]` (row 0 judges the first draft);
# 2. then emit the argmax of row `accepted`: a **correction** in place of the first wrong draft, or the **bonus** from the last
#    row if all were right.
#
# By hand: drafts `[1, 0]` with rows `[[.1, .9], [.3, .7], [.8, .2]]`. Row 0 says 1, as drafted. Row 1 says 1, but 0 was drafted:
# stop. One draft is accepted, the tokens are `[1, 1]`, and row 2 does not count, because it follows the wrong token 0.
#
# A round emits at least one token and at most γ + 1. A logit may be −∞, which masks a token.
#
# The line above `def` is given, here and in every task. `@takes(…)` declares the arguments: it turns logits and probabilities into arrays,
# leaves tokens as lists of plain ints, and raises an error if they do not fit. So your function gets clean input: an array of γ + 1 rows and γ plain ints.

# %% task="1.1"
from dspark_mini.contracts import logits, takes, tokens

@takes(target_logits=logits("γ+1", "V"), draft_tokens=tokens("γ", below="V"))
def verify_greedy(draft_tokens, target_logits):
    """Keep the drafts that greedy decoding would have chosen, and add the target's next token.

    Args:
        draft_tokens: list (γ,), drafted tokens x_1..x_γ; there may be none.
        target_logits: (γ+1, V) the target's rows; row k follows the first k drafts, −inf masks a token.
    Returns: A dict: accepted, the number of accepted drafts; tokens, the accepted drafts and one more token.
    Example: draft_tokens [1, 0], target_logits [[.1, .9], [.3, .7], [.8, .2]]
        →  {'accepted': 1, 'tokens': [1, 1]}
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
# **Your verifier at work.** A toy target always continues in the same way: the → cat → sat → on → a → mat → . → the. The picture
# shows three rounds: accepted drafts are filled, the first wrong one is hatched, the ones after it are dropped. The orange token is
# the target's own.

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
# Now the target samples. The drafter draws x from q, so x is proposed with probability q(x). If we accept it with probability
# a(x), then x comes through with probability q(x)·a(x). Two limits: that must not exceed p(x), or there would be too
# much of x, and a(x) is at most 1. The largest a that obeys both is
#
# $$a(x) = \min\bigl(1,\; p(x)/q(x)\bigr), \qquad\text{and then}\qquad q(x)\,a(x) = \min\bigl(p(x), q(x)\bigr).$$
#
# By hand, p = (.5, .3, .2) and q = (.2, .2, .6): token 2 was proposed too often, so a(2) = .2/.6 = 1/3. Token 0 was proposed too
# seldom: .5/.2 = 2.5, so a(0) = 1. In all, .2 + .2 + .2 = .60 of the drafts come through.
#
# q must be **the very distribution that x was drawn from**. Then q(x) cannot be 0; the contract refuses a token for which it is.

# %% task="1.2"
from dspark_mini.contracts import probabilities, takes, token
from dspark_mini.rules import token_is_possible

@takes(token_is_possible, p=probabilities("V"), q=probabilities("V"), token=token(below="V"))
def acceptance_probability(p, q, token):
    """Return the probability with which a drafted token is accepted: min(1, p/q) of that token.

    Args:
        p: (V,) the target's distribution at this position.
        q: (V,) the distribution that the token was drawn from, so q[token] > 0.
        token: the drafted token.
    Returns: A probability.
    Example: p (.5, .3, .2), q (.2, .2, .6): token 2  →  .2 / .6 = 1/3;  token 0  →  1.0
    """
    ### BEGIN SOLUTION
    return min(1.0, p[token] / q[token])
    ### END SOLUTION

# %% check="1.2"
check("1.2", acceptance_probability)

# %% [markdown]
# **Your acceptance, drawn.** On the left, what is drafted; on the right, what comes through. The marks show what it should reach.

# %% role="picture"
viz.accepted_mass(p, q, [acceptance_probability(p, q, token) for token in range(3)])

# %% [markdown]
# ## Task 1.3 · What replaces a rejected draft
#
# The picture shows what is missing: token 0 lacks .3 and token 1 lacks .1. These gaps are max(p − q, 0), and they are what the
# rejected rounds have to fill. So a rejected draft is replaced by a token from the **residual**
#
# $$r = \operatorname{norm}\bigl(\max(p - q,\, 0)\bigr) = \frac{\max(p - q, 0)}{\sum_x \max(p(x) - q(x), 0)}.$$
#
# By hand: max(p − q, 0) = (.3, .1, 0), its sum is .4, so r = (.75, .25, 0). Token 2 was rejected for being drafted too often, and it
# cannot come back. That is exactly what went wrong with the naive rule.
#
# Why it fits: the rejected mass is 1 − Σ min(p, q), the gaps add up to Σ (p − min(p, q)) = 1 − Σ min(p, q), which is the same
# number. So accepted + replaced = min(p, q) + max(p − q, 0) = p, token by token. If p = q there is no gap and the sum is 0: return
# p, as a new array. (A draft is never rejected there, but rounding may lead to it.)

# %% task="1.3"
from dspark_mini.contracts import probabilities, takes

@takes(p=probabilities("V"), q=probabilities("V"))
def residual_distribution(p, q):
    """Return the distribution that replaces a rejected draft: the excess of p over q, normalised.

    Args:
        p: (V,) the target's distribution at this position.
        q: (V,) the distribution that the rejected token was drawn from.
    Returns: norm(max(p − q, 0)), a new array (V,); a copy of p where nothing is in excess, as for p = q.
    Example: p (.5, .3, .2), q (.2, .2, .6): excess (.3, .1, 0), sum .4  →  (.75, .25, 0)
    """
    ### BEGIN SOLUTION
    excess = np.maximum(p - q, 0.0)  # (V,)
    mass = excess.sum()
    return excess / mass if mass > 0.0 else p.copy()
    ### END SOLUTION

# %% check="1.3"
check("1.3", residual_distribution)

# %% [markdown]
# **Your residual, drawn.** What was rejected comes back as the orange parts, and every bar now reaches its mark.

# %% role="picture"
accept = [acceptance_probability(p, q, token) for token in range(3)]
viz.accepted_mass(p, q, accept, residual_distribution(p, q))

# %% [markdown]
# ## Six rules, exactly
#
# Here are six rules on the same p and q, with your two functions in them. Nothing is sampled: `emitted` adds up all cases.
# A **one-hot** row is 1 for one token and 0 for the others: it is the true q of a drafter that takes its argmax.

# %% role="picture"
a = np.array([acceptance_probability(p, q, token) for token in range(3)])
r = residual_distribution(p, q)
best = np.eye(3)[q.argmax()]                # a drafter that always takes its argmax, token 2
best_a = best * acceptance_probability(p, best, 2)
best_r = residual_distribution(p, best)
pairs = q[:, None] * p                      # (V, V) draft from q, sample from p
likely = pairs * (p[:, None] >= p)          # those where the draft is at least as likely

rules = {  # label: (law of the emitted token, share of drafts accepted)
    "p/q, residual": (emitted(q, a, r), q @ a),
    "p/q, then p": (emitted(q, a, p), q @ a),
    "argmax draft, softmax q": (emitted(best, a, r), best @ a),
    "argmax draft, one-hot q": (emitted(best, best_a, best_r), best @ best_a),
    "p(draft) ≥ p(sample)": (likely.sum(1) + (pairs - likely).sum(0), likely.sum()),
    "draft = sample": (pairs.sum(0), np.trace(pairs)),
}
for label, (law, accepted) in rules.items():
    print(f"{label:24} emits {np.round(law, 3)}", end="")
    print(f"  total variation {total_variation(law):.4f}  accepts {accepted:.2f}")

# %% [markdown]
# * **p/q, then p** is the naive rule: 0.10.
# * **Argmax draft, softmax q**: the drafter takes its best token, but the ratio uses its softmax, q, which is not what x was drawn from:
#   2/15 = 0.1333. With the **one-hot q** the same drafter is lossless; its token x is accepted with probability p(x).
# * **p(draft) ≥ p(sample)**: draw a sample from the target, keep the draft if the target finds it at least as likely. This favours
#   likely tokens: 0.10.
# * **Draft = sample**: draw from the target and accept the draft only if it is the same token. Lossless, since the emitted token is
#   always the target's sample. But it accepts .28 of these drafts, and min(1, p/q) accepts .60. Slower, not wrong.

# %% [markdown]
# ## Task 1.4 · The lossless verifier
#
# A block has γ positions. Walk along them, and draw a **fresh** uniform number for every decision:
#
# 1. Accept draft k if `rng.random()` is *below* min(1, p/q), with row k of both. `random()` can return 0 but not 1, so `<` accepts with
#    exactly that probability: a token with p = 0 never, one with p ≥ q always.
# 2. At the first rejection, draw one token from the residual of that position. The drafts after it are dropped.
# 3. If all γ are accepted (or none was drafted), draw the bonus from the last target row.
#
# By hand: drafts `[1]`, draft row (.5, .5), target rows (.75, .25) and (0, 1). With probability .25/.5 = ½ the draft is accepted, and the
# bonus row gives 1: accepted 1, tokens `[1, 1]`. Otherwise the residual (1, 0) gives 0: accepted 0, tokens `[0]`. Does token 1 come
# with p(1) = ¼? It is drafted in half of the rounds, half of these drafts survive, and no other round begins with a 1: ¼.
#
# You may call `acceptance_probability` and `residual_distribution`, once they are solved. `rng.choice(V, p=row)` draws a token. The
# contract makes every row sum to 1, and it refuses a draft with q = 0 **before** anything is drawn.

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
        →  {'accepted': 0, 'tokens': [0]}, since p/q = 0 and the residual is (1, 0)
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
# **Counted, not proven.** The check compared the distribution of your (accepted, tokens) with the exact one. Here are 4,000 rounds with
# drafts from q; shares counted in 4,000 draws are off by about 0.01.

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
# All this rests on one promise: row k of the one forward is the row that the target would have computed in plain decoding,
# after x₀ … xₖ. What a row may look at is set by the **mask**:
#
# * a context token sees the context up to and including itself (the anchor x₀ is the last context token);
# * draft xₖ sees the whole context, the drafts before it, **and itself**: its row predicts what follows xₖ, so xₖ must be read;
# * no token sees a later draft.
#
# By hand, one context token and two drafts: `[[1, 0, 0], [1, 1, 0], [1, 1, 1]]`, as booleans; True means *may attend*.

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
    Example: context_length 1, draft_length 2  →  [[1, 0, 0], [1, 1, 0], [1, 1, 1]] as booleans
    """
    ### BEGIN SOLUTION
    position = np.arange(context_length + draft_length)  # (n,)
    return position <= position[:, None]
    ### END SOLUTION

# %% check="1.5"
check("1.5", verification_mask)

# %% [markdown]
# **Your mask, drawn.** Rows look at columns. On the right, what the output of each row is for.

# %% role="picture"
viz.verification_picture(verification_mask(5, 4), context_length=5)

# %% [markdown]
# **Does it keep the promise?** A small attention layer with random weights runs once token by token and once in one forward. The rows
# must be equal; two wrong masks show what happens otherwise.

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
# A wrong mask gives rows of the right shape, and nothing fails: the verifier then accepts and corrects by a distribution that is not
# the target's. Only a comparison with plain decoding shows it.

# %% [markdown]
# ## Task 1.6 · Where the output ends
#
# A round commits several tokens at once; plain decoding looks at every token. So must we:
#
# * the **first stop token** ends the output, and belongs to it, wherever in a block it stands;
# * the output never has more than `max_new_tokens` tokens, a stop token included. A stop token beyond the cap was never emitted.
#
# By hand, with stop token 2: `[5, 2, 7]` and a cap of 10 gives `[5, 2]`; with a cap of 1 it gives `[5]`. There may be no tokens, no stop
# tokens (then only the cap ends it), or a cap of 0.

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
    Example: tokens [5, 2, 7], stop_tokens [2], max_new_tokens 10  →  [5, 2];  with a cap of 1  →  [5]
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
# The target keeps the keys and values of the tokens it has read in a **cache**, one row per token, and so does a drafter with a cache of its own.
# One rule keeps both in order: **after every round a cache holds exactly the committed tokens except the last.** The last is the
# next anchor x₀, and the next forward writes its row. A verification forward writes 1 + γ rows (the anchor's and the drafts'), of which
# 1 + accepted stay; γ − accepted are rolled back. With one row too many, the next round attends to a token that is not in the
# text; with one too few, it has forgotten a token that is.
#
# Your functions, in a loop. The drafter is the toy target itself, wrong in about one of five tokens; "." is the stop token.

# %% role="picture"
rng = np.random.default_rng(40)
stop_tokens, max_new_tokens, gamma = [6], 20, 4


def draft_block(token):
    block = []
    for _ in range(gamma):
        token = follows[token] if rng.random() < 0.75 else int(rng.integers(len(words)))
        block.append(token)
    return block


text, cache, rounds = [0], [], []                    # the prompt is "the"
for _ in range(max_new_tokens):                      # a round emits at least one token
    drafts = draft_block(text[-1])
    cache += [text[-1], *drafts]                     # what the forward writes: 1 + γ rows
    result = verify_greedy(drafts, target_logits(text[-1], drafts))
    del cache[len(text) + result["accepted"]:]       # the rollback: γ − accepted rows
    text += result["tokens"]
    assert cache == text[:-1]                        # the contract
    rounds.append((drafts, result))
    output = cut_output(text[1:], stop_tokens, max_new_tokens)
    if len(output) == max_new_tokens or output[-1] in stop_tokens:
        break

plain = [0]
while plain[-1] != 6:
    plain.append(follows[plain[-1]])
counts = [len(result["tokens"]) for _, result in rounds]
print("emitted in each round:", counts, " kept:", len(output))
print("output:", " ".join(words[token] for token in output))
print("same as plain decoding:", output == plain[1:])
viz.verified_rounds(rounds, words, kept=len(output))

# %% [markdown]
# What is drawn with dots was emitted after the stop token, and is cut. Count the output, not the rounds: whatever you report
# (tokens, accepted drafts, τ) has to add up to what the user got.

# %% [markdown]
# ## Looking back
#
# * **What you saw.** One rule is lossless and fast: accept with min(1, p/q), replace from the residual. Its neighbours look as good but
#   are off by 0.10 to 0.13, or they are right and accept less than half as much. Total variation over all cases tells them apart; a text does not.
# * **What the papers report.** The accepted length τ counts the tokens of a round, the bonus or correction included, so γ = 7 allows at
#   most 8. At temperature 1 with Qwen3-4B, DSpark reaches τ = 6.11 on GSM8K and 3.64 on MT-Bench, EAGLE-3 5.14 and 2.39 (DSpark, results at γ = 7).
# * **What published code got wrong here**, in a tutorial and in engines:
#     * *Accept and replace.* An argmax draft with a softmax q
#       ([speculative-sampling issue 3](https://github.com/jaymody/speculative-sampling/issues/3)); a q that is not what was sampled from, because top-k was
#       applied to one and not to the other ([Transformers issue 47932](https://github.com/huggingface/transformers/issues/47932)); one uniform number for the
#       rejection and for the residual ([vLLM Ascend pull request 16370](https://github.com/vllm-project/vllm-ascend/pull/16370)); `<=` where `<` belongs, which
#       accepts an impossible token when the number drawn is 0 ([SGLang issue 35771](https://github.com/sgl-project/sglang/issues/35771)).
#     * *The end of the output.* Text after a stop token that was accepted in the middle of a block
#       ([Transformers issue 47912](https://github.com/huggingface/transformers/issues/47912)); counts that include what was cut, so that answers fall short of
#       their cap ([ik_llama.cpp pull request 2358](https://github.com/ikawrakow/ik_llama.cpp/pull/2358)).
#     * *The cache.* A draft cache trimmed by two rows too many in every rejecting round, so that the drafter knew less and less
#       ([mlxcel issue 994](https://github.com/lablup/mlxcel/issues/994)).
# * **Not a bug.** Exact matching (“draft = sample”) accepts less and is lossless; a pull request that adds the residual rule says so carefully
#   ([mlx-lm pull request 1709](https://github.com/ml-explore/mlx-lm/pull/1709)).
#
# ## Further reading
#
# * Leviathan et al., *Fast Inference from Transformers via Speculative Decoding*, [arXiv 2211.17192](https://arxiv.org/abs/2211.17192): Section 2.3 has the rule; you know its proof from task 1.3
# * Chen et al., *Accelerating Large Language Model Decoding with Speculative Sampling*, [arXiv 2302.01318](https://arxiv.org/abs/2302.01318): the same rule, published at about the same time
# * DSpark: [arXiv 2607.05147](https://arxiv.org/abs/2607.05147); DFlash: [arXiv 2602.06036](https://arxiv.org/abs/2602.06036): the drafters of the next lessons, verified by this rule
