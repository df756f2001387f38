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
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import (
    check_best, check_same_length, check_shape, logit_rows, probability_row, probability_rows,
    token_ids, token_in, tokens_in, whole_number,
)
from grader import check

# %% [markdown]
# ## Who has the last word
#
# A **drafter** proposes a block of γ tokens x₁, x₂, … behind the anchor x₀, the last committed token. The **target** then
# runs *once* over the anchor and the block and returns γ + 1 rows: row 0 says what should follow x₀, row 1 what should follow x₀ x₁, and so
# on. Each row scores the next draft; the last one scores nothing and is a free extra token.
#
# The names of this lesson: **p** is the target's distribution at one position, **q** the drafter's, **V** the number of tokens.
# A verifier is **lossless** if the text it emits is distributed exactly as if the target had sampled every token itself.
# Then a poor drafter costs time and never quality.

# %% [markdown]
# ## A rule that looks right and is not
#
# Take one position and three tokens. A natural rule: accept the draft x with probability min(1, p(x)/q(x)), and if it is
# rejected, ask the target, that is, draw from p. No sampling is needed to judge it. We can add up every case (bars: what is
# emitted; grey marks: what the target says):

# %% role="show"
from dspark_mini import viz

p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])


def emitted(drafted, accept, replacement):
    """The law of the emitted token: drafted and accepted, or rejected and then replaced."""
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
# differences, is 0.10: a tenth of the probability lies on the wrong tokens. A single text does not
# show it. This lesson finds the rule whose total variation is 0, and proves it in the same way.
#
# The rule is also **causal**: what happens to a draft depends on itself, on the drafts before it and on chance, never on what
# comes later. Behind the first rejected draft nothing counts any more, because every later row was computed on top of a token
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
# stop. One draft is accepted, the tokens are `[1, 1]`, and row 2 is not looked at, for it follows the wrong token 0.
#
# A round emits at least one token and at most γ + 1. The first lines are given: they turn lists into arrays and check shapes
# and ids. For every row that you look at, with its number `k` and its argmax `best`, call
# `check_best(row[best], (k, row), name="target_logits")`: NaN and +∞ win every argmax, so the winner shows whether the row was
# legal (−∞ is; it masks a token).

# %% task="1.1"
def verify_greedy(draft_tokens: ArrayLike, target_logits: ArrayLike) -> dict[str, Any]:
    """Keep the drafts that greedy decoding would have chosen, and add the target's next token.

    Draft k is accepted while it equals the argmax of row k; of equal logits the lowest id wins.
    The first draft that differs ends the round. The argmax of row `accepted` follows: a correction
    in place of the refused draft, or a bonus behind the last one.

    Args:
        draft_tokens: (γ,) drafted tokens x_1..x_γ; γ = 0 is legal.
        target_logits: (γ+1, V) the target's rows; row k follows the first k drafts. −inf is legal.

    Returns:
        A dict: accepted, the number of accepted drafts, a plain int; tokens, a list of plain ints:
        the accepted drafts and one more.

    Raises:
        ValueError: a draft outside the vocabulary, another number of rows than γ + 1, ragged rows,
            or a row in use that holds NaN, +inf or only −inf.

    Example:
        draft_tokens [1, 0], target_logits [[.1, .9], [.3, .7], [.8, .2]]
        →  {'accepted': 1, 'tokens': [1, 1]}

    Source: Leviathan et al. (arXiv 2211.17192), Sections 2.2 and 2.3, with one-hot rows.
    """
    logits = logit_rows("target_logits", target_logits)  # (γ+1, V)
    drafts = tokens_in("draft_tokens", draft_tokens, logits.shape[1])  # (γ,)
    check_shape("target_logits", logits, (len(drafts) + 1, logits.shape[1]))
    ### BEGIN SOLUTION
    tokens = []
    for k, row in enumerate(logits):  # (V,)
        best = int(row.argmax())
        check_best(row[best], (k, row), name="target_logits")
        tokens.append(best)
        if k == len(drafts) or best != drafts[k]:
            break
    return {"accepted": len(tokens) - 1, "tokens": tokens}
    ### END SOLUTION

# %% check="1.1"
check("1.1", verify_greedy)

# %% [markdown]
# **Your verifier at work.** A toy target always goes on in the same way: the → cat → sat → on → a → mat → . → the. The picture
# shows three rounds: accepted drafts are filled, the first wrong one is hatched, what stands behind it is dropped. The orange token is
# the target's own.

# %% role="show"
words = ["the", "cat", "sat", "on", "a", "mat", ".", "ran"]
follows = [1, 2, 3, 4, 5, 6, 0, 3]  # the one token that the toy target puts behind each token


def target_logits(anchor, drafts):
    """One forward over the anchor and the drafts: (γ+1, V), one row behind each of them."""
    return np.eye(len(words))[[follows[token] for token in [anchor, *drafts]]]

# %% role="picture"
blocks = [(0, [1, 7, 3]), (2, [3, 4, 5]), (6, [7, 1, 2])]  # anchor, drafts
results = [verify_greedy(drafts, target_logits(x0, drafts)) for x0, drafts in blocks]
viz.verified_rounds([(drafts, result) for (_, drafts), result in zip(blocks, results)], words)

# %% [markdown]
# ## Task 1.2 · How often may a draft be believed?
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
# q must be **the very distribution that x was drawn from**. Then q(x) cannot be 0, and the given lines refuse a token for which it is.

# %% task="1.2"
def acceptance_probability(p: ArrayLike, q: ArrayLike, token: int) -> float:
    """Return the probability with which one drafted token is accepted: min(1, p[token] / q[token]).

    Args:
        p: (V,) the target's distribution at this position.
        q: (V,) the very distribution that the token was drawn from.
        token: the drafted token; q[token] must be positive, or it could not have been drafted.

    Returns:
        A probability, a plain float.

    Raises:
        ValueError: p or q is no distribution, they differ in length, the token lies outside the
            vocabulary, or q[token] is 0.

    Example:
        p (.5, .3, .2), q (.2, .2, .6), token 2  →  .2 / .6 = 1/3;  token 0  →  1.0

    Source: Leviathan et al. (arXiv 2211.17192), Section 2.3; Chen et al. (arXiv 2302.01318).
    """
    target = probability_row("p", p)  # (V,)
    draft = probability_row("q", q)  # (V,)
    check_same_length("p", p, "q", q)
    token = token_in("token", token, target.size)
    if draft[token] == 0.0:
        raise ValueError(f"q[{token}] is 0, so token {token} cannot have been drafted.")
    ### BEGIN SOLUTION
    return min(1.0, float(target[token]) / float(draft[token]))
    ### END SOLUTION

# %% check="1.2"
check("1.2", acceptance_probability)

# %% [markdown]
# **Your acceptance, drawn.** On the left what is drafted. On the right what comes through, under the marks that it should reach.

# %% role="picture"
viz.accepted_mass(p, q, [acceptance_probability(p, q, token) for token in range(3)])

# %% [markdown]
# ## Task 1.3 · What stands in place of a rejected draft
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
# p, as a new array. (Such a round is never rejected, but rounding may lead there.)

# %% task="1.3"
def residual_distribution(p: ArrayLike, q: ArrayLike) -> NDArray[np.float64]:
    """Return what replaces a rejected draft: the excess of p over q, normalised.

    Args:
        p: (V,) the target's distribution at this position.
        q: (V,) the distribution that the rejected token was drawn from.

    Returns:
        norm(max(p − q, 0)), a new array (V,). Where nothing is in excess, as for p = q, it is p.

    Raises:
        ValueError: p or q is no distribution, or they differ in length.

    Example:
        p (.5, .3, .2), q (.2, .2, .6): excess (.3, .1, 0), sum .4  →  (.75, .25, 0)

    Source: Leviathan et al. (arXiv 2211.17192), Section 2.3; Chen et al. (arXiv 2302.01318).
    """
    target = probability_row("p", p)  # (V,)
    draft = probability_row("q", q)  # (V,)
    check_same_length("p", p, "q", q)
    ### BEGIN SOLUTION
    excess = np.maximum(target - draft, 0.0)  # (V,)
    mass = excess.sum()
    return excess / mass if mass > 0.0 else target.copy()
    ### END SOLUTION

# %% check="1.3"
check("1.3", residual_distribution)

# %% [markdown]
# **Your residual, drawn.** What was rejected comes back as the orange parts, and every bar now reaches its mark.

# %% role="picture"
chances = [acceptance_probability(p, q, token) for token in range(3)]
viz.accepted_mass(p, q, chances, residual_distribution(p, q))

# %% [markdown]
# ## Six rules, counted to the end
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
#   2/15 = 0.1333. With the **one-hot q** the same drafter is lossless; it accepts with probability p(x).
# * **p(draft) ≥ p(sample)**: draw a sample from the target, keep the draft if the target finds it at least as likely. It favours what is
#   likely: 0.10.
# * **Draft = sample**: draw from the target and accept the draft only if it is the same token. Lossless, since the emitted token is
#   always the target's sample. But it accepts .28 of these drafts, where min(1, p/q) accepts .60. Slower, not wrong.

# %% [markdown]
# ## Task 1.4 · The lossless verifier
#
# A block has γ positions. Walk along them, and draw a **fresh** uniform number for every decision:
#
# 1. Accept draft k if `rng.random()` is *below* min(1, p/q), with row k of both. `random()` can return 0 but not 1, so `<` accepts with
#    exactly that probability, and a token with p = 0 never.
# 2. At the first rejection, draw one token from the residual of that position. Everything behind it is dropped.
# 3. If all γ are accepted (or none was drafted), draw the bonus from the last target row.
#
# By hand: drafts `[1]`, draft row (.5, .5), target rows (.75, .25) and (0, 1). With probability .25/.5 = ½ the draft is accepted, and the
# bonus row gives 1: accepted 1, tokens `[1, 1]`. Otherwise the residual (1, 0) gives 0: accepted 0, tokens `[0]`. Does token 1 come
# with p(1) = ¼? It is drafted in half of the rounds, half of these drafts survive, and no other round begins with a 1: ¼.
#
# You may call `acceptance_probability` and `residual_distribution`, once they are solved. `rng.choice(V, p=row)` draws a token, but
# insists that the row sums to 1 to about eight digits, while six are legal here: pass `row / row.sum()`. A draft with q = 0 is refused by the given lines,
# **before** anything is drawn.

# %% task="1.4"
def verify_sampling(
    draft_tokens: ArrayLike,
    draft_probs: ArrayLike,
    target_probs: ArrayLike,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Keep a prefix of the drafts and add one token, so that the text follows the target's law.

    Draft k is accepted with probability min(1, p/q), on its own draw. The first rejection ends the
    round with a token from the residual norm(max(p − q, 0)) of that position. If all are accepted,
    a bonus token is drawn from the last target row.

    Args:
        draft_tokens: (γ,) drafted tokens, each drawn from its row of draft_probs; γ = 0 is legal.
        draft_probs: (γ, V) the very rows that the drafts were drawn from.
        target_probs: (γ+1, V) the target's rows; row k follows the first k drafts.
        rng: the only source of chance.

    Returns:
        A dict: accepted, the number of accepted drafts, a plain int; tokens, a list of plain ints:
        the accepted drafts and one more.

    Raises:
        ValueError: before any draw: a row that is no distribution, shapes that do not fit, a draft
            outside the vocabulary, or one that its row of draft_probs gives probability 0.

    Example:
        draft_tokens [1], draft_probs [[.5, .5]], target_probs [[1, 0], [0, 1]]
        →  {'accepted': 0, 'tokens': [0]}, since p/q = 0 and the residual is (1, 0)

    Source: Leviathan et al. (arXiv 2211.17192), Algorithm 1; Chen et al. (arXiv 2302.01318).
    """
    p = probability_rows("target_probs", target_probs)  # (γ+1, V)
    q = probability_rows("draft_probs", draft_probs)  # (γ, V)
    drafts = tokens_in("draft_tokens", draft_tokens, p.shape[1])  # (γ,)
    check_shape("target_probs", p, (len(drafts) + 1, p.shape[1]))
    check_shape("draft_probs", q, (len(drafts), p.shape[1]))
    for k, token in enumerate(drafts):
        if q[k, token] == 0.0:
            raise ValueError(f"draft_probs row {k} gives 0 to token {token}, its own draft.")
    ### BEGIN SOLUTION
    accepted, row = 0, p[-1]  # (V,) the bonus row, unless a draft is rejected
    for token, p_row, q_row in zip(drafts, p, q):  # (V,) each
        if rng.random() >= acceptance_probability(p_row, q_row, token):
            row = residual_distribution(p_row, q_row)
            break
        accepted += 1
    last = int(rng.choice(row.size, p=row / row.sum()))
    return {"accepted": accepted, "tokens": [*drafts[:accepted], last]}
    ### END SOLUTION

# %% check="1.4"
check("1.4", verify_sampling)

# %% [markdown]
# **Counted, not proven.** The check compared the law of your (accepted, tokens) with the exact one. Here are 4,000 rounds with drafts
# from q; counts of 4,000 draws are off by about 0.01.

# %% role="picture"
rng = np.random.default_rng(0)
drafts = rng.choice(3, p=q, size=4000).tolist()
results = [verify_sampling([draft], [q], [p, p], rng) for draft in drafts]
counted = np.bincount([result["tokens"][0] for result in results], minlength=3) / len(results)
print("accepted:", np.mean([result["accepted"] for result in results]), " exact: 0.60")
laws = {"your verifier, counted": counted, "accept by p/q, else draw from p": naive}
viz.emitted_laws(p, laws, tolerance=0.03)

# %% [markdown]
# ## Task 1.5 · One forward that equals γ + 1
#
# All this rests on one promise: row k of the big forward is the row that the target would have computed in plain decoding,
# after x₀ … xₖ. What a row may look at is set by the **mask**:
#
# * a context token sees the context up to and with itself (the anchor x₀ is the last context token);
# * draft xₖ sees the whole context, the drafts before it, **and itself**: its row predicts what follows xₖ, so xₖ must be read;
# * nobody sees a draft that comes later.
#
# By hand, one context token and two drafts: `[[1, 0, 0], [1, 1, 0], [1, 1, 1]]`, as booleans; True means *may attend*.

# %% task="1.5"
def verification_mask(context_length: int, draft_length: int) -> NDArray[np.bool_]:
    """Build the mask of the target's verification forward over the context and the drafted tokens.

    Context token i sees the context up to and with itself. A draft sees the whole context, the
    drafts before it and itself. So every row knows just what it would know in plain decoding.

    Args:
        context_length: number of context tokens, the anchor x_0 as the last of them; at least 0.
        draft_length: γ, the number of drafted tokens, at least 0.

    Returns:
        Boolean array (n, n), n = context_length + draft_length, the context first; True where the
        row may attend to the column.

    Raises:
        ValueError: a negative length.

    Example:
        context_length 1, draft_length 2  →  [[1, 0, 0], [1, 1, 0], [1, 1, 1]] as booleans

    Source: Leviathan et al. (arXiv 2211.17192), Section 2: one forward scores all prefixes.
    """
    context_length = whole_number("context_length", context_length, low=0)
    draft_length = whole_number("draft_length", draft_length, low=0)
    ### BEGIN SOLUTION
    position = np.arange(context_length + draft_length)  # (n,)
    return position <= position[:, None]
    ### END SOLUTION

# %% check="1.5"
check("1.5", verification_mask)

# %% [markdown]
# **Your mask, drawn.** A row looks, a column is looked at. On the right, what the output of the row is for.

# %% role="picture"
viz.verification_picture(verification_mask(5, 4), context_length=5)

# %% [markdown]
# **Does it keep the promise?** A small attention layer with random weights, once token by token and once in one forward. The rows
# must be equal, and they show what a wrong mask does.

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
masks = {"your mask": mask, "drafts blind for themselves": blind, "drafts both ways": both_ways}
for label, tried in masks.items():
    difference = np.abs(attention(embedded, tried) - plain).max()
    print(f"{label:28} largest difference to plain decoding: {difference:.1e}")

# %% [markdown]
# A wrong mask gives rows of the right shape, and nothing fails: the verifier then accepts and corrects by a distribution that is not
# the target's. Only a comparison with plain decoding shows it.

# %% [markdown]
# ## Task 1.6 · Where the output ends
#
# A round commits several tokens at once, and plain decoding looks at every one of them. So must we:
#
# * the **first stop token** ends the output, and belongs to it, wherever in a block it stands;
# * the output never has more than `max_new_tokens` tokens, a stop token included. A stop token behind the cap was never emitted.
#
# By hand, with stop token 2: `[5, 2, 7]` and a cap of 10 gives `[5, 2]`; with a cap of 1 it gives `[5]`. There may be no tokens, no stop
# tokens (then only the cap ends it), or a cap of 0.

# %% task="1.6"
def cut_output(tokens: ArrayLike, stop_tokens: ArrayLike, max_new_tokens: int) -> list[int]:
    """Return the part of the emitted tokens that belongs to the output.

    The output ends with the first stop token, which belongs to it, and never holds more than
    max_new_tokens tokens, a stop token included. What a block holds behind that is thrown away.

    Args:
        tokens: the tokens emitted since the prompt, of one block or of many; none is legal.
        stop_tokens: tokens that end the output, in any order; none means that only the cap ends it.
        max_new_tokens: the cap, in tokens, at least 0.

    Returns:
        A new list of plain ints, a prefix of tokens.

    Raises:
        ValueError: tokens or stop_tokens hold what is no token id, or the cap is negative.

    Example:
        tokens [5, 2, 7], stop_tokens [2], max_new_tokens 10  →  [5, 2];  with a cap of 1  →  [5]

    Source: the stopping rule of plain decoding, applied to every token of a round.
    """
    emitted = token_ids("tokens", tokens)
    stops = set(token_ids("stop_tokens", stop_tokens))
    max_new_tokens = whole_number("max_new_tokens", max_new_tokens, low=0)
    ### BEGIN SOLUTION
    kept = emitted[:max_new_tokens]
    for i, token in enumerate(kept):
        if token in stops:
            return kept[: i + 1]
    return kept
    ### END SOLUTION

# %% check="1.6"
check("1.6", cut_output)

# %% [markdown]
# ## The cache contract, and a whole text
#
# The target keeps the keys and values of the tokens it has read in a **cache**, one row a token, and so does a drafter with a cache of its own.
# One rule keeps both in order: **after every round a cache holds exactly the committed tokens but the last.** The last is the
# next anchor x₀, and the next forward writes its row. A verification forward writes 1 + γ rows (the anchor's and the drafts'), of which
# 1 + accepted stay; γ − accepted are rolled back. One row too many, and the next round attends to a token that is not in the
# text; one too few, and it has forgotten one that is.
#
# Your functions, in a loop. The drafter is the toy target itself, wrong in about one of five tokens; "." stops.

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
# What is drawn with dots was emitted behind the stop token, and is cut. Count the output, not the rounds: whatever you report
# (tokens, accepted drafts, τ) has to add up to what the user got.

# %% [markdown]
# ## Looking back
#
# * **What you saw.** One rule is lossless and fast: accept with min(1, p/q), replace from the residual. Its neighbours look as good and
#   are off by 0.10 to 0.13, or are right and accept less than half as much. Total variation over all cases tells them apart; a text does not.
# * **What the papers report.** The accepted length τ counts the tokens of a round with the bonus or correction, so γ = 7 allows at
#   most 8. At temperature 1 with Qwen3-4B, DSpark reaches τ = 6.11 on GSM8K and 3.64 on MT-Bench, EAGLE-3 5.14 and 2.39 (DSpark, results at γ = 7).
# * **What published code got wrong here**, a tutorial's and engines':
#     * *Accept and replace.* An argmax draft with a softmax q
#       ([speculative-sampling issue 3](https://github.com/jaymody/speculative-sampling/issues/3)); a q that is not what was sampled from, because top-k was
#       applied to one and not to the other ([Transformers issue 47932](https://github.com/huggingface/transformers/issues/47932)); one uniform number for the
#       rejection and for the residual ([vLLM Ascend pull request 16370](https://github.com/vllm-project/vllm-ascend/pull/16370)); `<=` where `<` belongs, which
#       accepts an impossible token when the number drawn is 0 ([SGLang issue 35771](https://github.com/sgl-project/sglang/issues/35771)).
#     * *The end of the output.* Text behind a stop token that was accepted in mid-block
#       ([Transformers issue 47912](https://github.com/huggingface/transformers/issues/47912)); counts that include what was cut, so that answers fall short of
#       their cap ([ik_llama.cpp pull request 2358](https://github.com/ikawrakow/ik_llama.cpp/pull/2358)).
#     * *The cache.* A draft cache trimmed by two rows too many in every rejecting round, so that the drafter knew less and less
#       ([mlxcel issue 994](https://github.com/lablup/mlxcel/issues/994)).
# * **Not a bug.** Exact matching (“draft = sample”) accepts less and is lossless; a pull request that adds the residual rule says so with care
#   ([mlx-lm pull request 1709](https://github.com/ml-explore/mlx-lm/pull/1709)).
#
# ## Further reading
#
# * Leviathan et al., *Fast Inference from Transformers via Speculative Decoding*, [arXiv 2211.17192](https://arxiv.org/abs/2211.17192): Section 2.3 has the rule, and its proof is yours from task 1.3
# * Chen et al., *Accelerating Large Language Model Decoding with Speculative Sampling*, [arXiv 2302.01318](https://arxiv.org/abs/2302.01318): the same rule, published at about the same time
# * DSpark: [arXiv 2607.05147](https://arxiv.org/abs/2607.05147); DFlash: [arXiv 2602.06036](https://arxiv.org/abs/2602.06036): the drafters of the next lessons, verified by this rule
