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
# # Lesson 02 · Parallel drafting
#
# *How can a drafter propose a whole block in one go, and what does it lose by that?*
#
# | | |
# |---|---|
# | **You build** | the DFlash and DSpark candidates, the confident prefix, the training mask, the acceptance curve |
# | **Difficulty** | ●●○○ — five tasks of one to five lines, and one that is given |
# | **Time** | about 30 minutes |
# | **You need** | Python, NumPy indexing and `argmax`; no earlier lesson has to be solved |
#
# Run the cells from top to bottom (Shift+Enter). Each task has a cell with a `TODO` and, below it, a cell that
# checks your function: it names the first property that fails, on a small input, with a hint. Stuck? Open a terminal
# and type `dspark-mini hint 2.1`. `dspark-mini check` looks at all tasks of the **saved** notebook (Ctrl+S).

# %% role="setup"
import math

import numpy as np

from grader import check, hint

# %% [markdown]
# ## Why draft in parallel?
#
# Speculative decoding lets a small **drafter** guess the next γ tokens, and the large **target** check all of them
# in one forward. A round costs `T_draft + T_verify` and yields τ tokens, so a token costs `(T_draft + T_verify) / τ`.
# An autoregressive drafter such as EAGLE-3 runs once per token: its `T_draft` grows with γ, and long blocks use up what they gain.
#
# DFlash runs **once** for the whole block. It reads the anchor x₀ (the last committed token) and γ masks, and each mask
# position returns its own logits. DSpark reads the anchor and γ − 1 masks, all γ positions return logits, and a very
# cheap chain follows: the logits of position k are corrected by a bias that depends on the token chosen just before it.

# %% role="show"
from dspark_mini import viz

viz.who_depends_on_what(block_size=4)

# %% [markdown]
# ## What goes wrong: modes collide
#
# Suppose the target would go on with either “of course” or “no problem”, with equal probability. The logits of position 1
# rightly say *of or no*, those of position 2 rightly say *course or problem*. Each position is right, and yet a drafter
# that draws them independently says “of problem” or “no course” in half of all rounds. Run it:

# %% role="show"
words = ["of", "course", "no", "problem"]
first, second = np.array([0.5, 0, 0.5, 0]), np.array([0, 0.5, 0, 0.5])
for i, j in np.argwhere(np.outer(first, second) > 0):
    print(f"P({words[i]} {words[j]}) = {first[i] * second[j]:.2f}")

# %% [markdown]
# | | autoregressive | DFlash | DSpark |
# |---|---|---|---|
# | position k depends on | everything before it | the context and x₀ only | the context, x₀, and token k − 1 |
# | cost of drafting | γ forwards, one after the other | one forward | one forward, then γ small steps |
# | size of a small step | – | – | one row of W₁ (a lookup) times W₂ (r × V) |
# | risk | slow: `T_draft` ∝ γ | modes collide; acceptance decays along the block | a bias that looks one token back only |
#
# The DSpark paper measured that the sequential head adds 0.2–1.3 % to the time of a round (draft lengths 4–16, batch 128).

# %% [markdown]
# ## Task 2.1 · DFlash: every position for itself
#
# `block_logits` is a matrix of shape (γ, V): one row per position, one column per token. DFlash takes the best token of
# every row, and no row knows of another. A logit of −∞ is legal, it masks a token; of equal logits the **lowest token id**
# wins, so that two machines never draft differently.
#
# By hand: `[[.1, .8, .1], [.6, .2, .2], [.1, .2, .7]]` gives `[1, 0, 2]`, plain Python ints.
#
# The line above `def` is given, here and in every task. It says what the function takes, turns logits and
# confidences into NumPy arrays (tokens and counts stay lists of plain ints), and refuses bad input (NaN, +∞, a row of nothing but −∞, a wrong shape) with a sentence that says where it is. Your
# lines hold the idea and nothing else.

# %% task="2.1"
from dspark_mini.contracts import logits, takes

@takes(block_logits=logits("γ", "V"))
def dflash_parallel_candidates(block_logits):
    """Draft a block as DFlash does: every position takes its own best token, the lowest id of equal ones.

    Args:
        block_logits: (γ, V) base logits; −inf marks a token that cannot be drafted.
    Returns: γ token ids.
    Example: [[.1, .8, .1], [.6, .2, .2], [.1, .2, .7]]  →  [1, 0, 2]
    """
    ### BEGIN SOLUTION
    return block_logits.argmax(axis=1).tolist()
    ### END SOLUTION

# %% check="2.1"
check("2.1", dflash_parallel_candidates)

# %% [markdown]
# **Your function, drawn.** The drafter's logits lean a little towards “of” in the first position and a little towards
# “problem” in the second. See what your DFlash makes of them.

# %% role="picture"
anchor = 9                                       # x₀; it need not be one of the four words
block_logits = np.array([[2.1, 0.0, 2.0, 0.0],   # position 1: of, or no
                         [0.0, 2.0, 0.0, 2.1]])  # position 2: course, or problem
viz.candidate_grid(block_logits, {"DFlash": dflash_parallel_candidates(block_logits)}, words=words)

# %% [markdown]
# ## Task 2.2 · DSpark: one link to the token before
#
# DSpark keeps the base logits U and adds a **transition bias**, one row of V numbers for each possible predecessor:
#
# $$x_k = \operatorname{argmax}\,\bigl(U_k + B[x_{k-1}]\bigr), \qquad x_0 = \text{anchor}.$$
#
# The chain runs over the tokens that were really chosen, *after* correction. `markov_bias[token]` is the row of a token,
# an array of zeros for a token without one; the anchor may be a token that the block cannot even draft.
#
# By hand, with U = [[.4, .6], [.7, .3], [.6, .4]], anchor 9 and B = {9: [.4, 0], 0: [0, .6], 1: [.5, 0]}:
# position 1 has [.4, .6] + [.4, 0] = [.8, .6], so token 0; position 2 has [.7, .3] + [0, .6] = [.7, .9], so token 1;
# position 3 has [.6, .4] + [.5, 0] = [1.1, .4], so token 0.

# %% task="2.2"
from dspark_mini.contracts import bias_rows, logits, takes, token

@takes(block_logits=logits("γ", "V"), anchor_token=token(), markov_bias=bias_rows("V"))
def dspark_markov_candidates(block_logits, anchor_token, markov_bias):
    """Draft left to right: add the bias of the token just chosen, then take the argmax.

    Args:
        block_logits: (γ, V) base logits U; −inf marks a token that cannot be drafted.
        anchor_token: x_0, the last committed token; it may lie outside the block's vocabulary.
        markov_bias: markov_bias[token] is the bias B[token] (V,), zeros for a token without one.
    Returns: γ token ids; of equal sums the lowest id wins.
    Example: U = [[.4, .6], [.7, .3], [.6, .4]], anchor 9, B = {9: [.4, 0], 0: [0, .6], 1: [.5, 0]}
        →  [0, 1, 0]
    """
    ### BEGIN SOLUTION
    tokens = [anchor_token]
    for row in block_logits:  # (V,)
        tokens.append(int((row + markov_bias[tokens[-1]]).argmax()))
    return tokens[1:]
    ### END SOLUTION

# %% check="2.2"
check("2.2", dspark_markov_candidates)

# %% [markdown]
# **Your two drafters side by side.** The bias says that “course” follows “of”, and “problem” follows “no”.

# %% role="picture"
bias = {0: [0.0, 1.0, 0.0, -1.0], 2: [0.0, -1.0, 0.0, 1.0]}
chains = {"DFlash": dflash_parallel_candidates(block_logits),
          "DSpark": dspark_markov_candidates(block_logits, anchor, bias)}
previous = [anchor, *chains["DSpark"][:-1]]
corrected = block_logits + np.array([bias.get(token, np.zeros(4)) for token in previous])
viz.candidate_grid({"DFlash": block_logits, "DSpark": corrected}, chains, words=words)

# %% [markdown]
# ## Task 2.3 · How much of the block is worth verifying?
#
# DSpark's drafter also returns a **confidence** for each position: the chance that token k survives, *given* that those
# before it did. A verified token costs time even if it is rejected, so a low confidence ends the part that is sent to the
# target: the first one **below** the threshold stops (equal passes), and later high values do not count, since a token
# after a rejected one is thrown away anyway.
#
# Then clamp the count, in this order: up to `min_tokens`, down to `max_tokens`, and never more than there are. By hand:
# `[.9, .8, .3, .95]` with threshold .5 gives 2; `[.1, .9]` gives 0, raised to `min_tokens` = 1.

# %% task="2.3"
from dspark_mini.contracts import chance, chances, integer, takes

@takes(confidences=chances("γ"), threshold=chance(), min_tokens=integer(low=1), max_tokens=integer(low="min_tokens"))
def choose_confident_prefix(confidences, threshold, min_tokens=1, max_tokens=8):
    """Choose the verify length: how many draft tokens, from the first on, go to the target.

    Args:
        confidences: (γ,) chance that token k is accepted, given that those before it were.
        threshold: from 0 to 1; the first confidence below it ends the prefix.
        min_tokens: the least verify length, in tokens; no more than there are confidences are verified.
        max_tokens: the greatest verify length, in tokens.
    Returns: The verify length.
    Example: confidences [.9, .8, .3, .95], threshold .5, from 1 to 4 tokens  →  2
    """
    ### BEGIN SOLUTION
    prefix = 0
    while prefix < len(confidences) and confidences[prefix] >= threshold:
        prefix += 1
    return min(max(prefix, min_tokens), max_tokens, len(confidences))
    ### END SOLUTION

# %% check="2.3"
check("2.3", choose_confident_prefix)

# %% role="picture"
confidences = [0.95, 0.9, 0.7, 0.45, 0.8, 0.3, 0.6]
viz.confidence_budget(confidences, threshold=0.5, budget=choose_confident_prefix(confidences, 0.5))

# %% [markdown]
# ## Given · The draft record, and who decides what
#
# Whatever the drafter, the target verifier needs the same five things: the **mode**, the whole **block**, the **tokens
# to verify**, how many were **proposed**, and the **budget**. This function is given. It calls *your*
# `choose_confident_prefix`, so it earns its points as soon as task 2.3 is right.
#
# Three decisions are made in three places. **Confidence trims**: it says how many tokens are worth verifying, and accepts
# none. **The target accepts**: only its own forward decides which drafts are kept (lesson 01), so a wrong confidence costs
# time and never changes the text. **The clock says accept, tune or reject**: whether drafting pays at this length, pays
# at another, or not at all, is decided by measured times (lesson 00).

# %% given="record"
from dspark_mini.contracts import chance, chances, integer, one_of, takes, tokens

@takes(
    mode=one_of("dflash", "dspark"),
    candidates=tokens("γ", empty=False),
    confidences=chances("γ"),
    threshold=chance(),
    max_tokens=integer(low=1),
)
def build_draft_record(mode, candidates, confidences, threshold, max_tokens=8):
    """Describe one drafted block for the verifier: confidence trims it, and only the target accepts.

    Args:
        mode: 'dflash' or 'dspark'.
        candidates: γ draft tokens.
        confidences: (γ,) chance that token k is accepted, given that those before it were.
        threshold: from 0 to 1; the first confidence below it ends the prefix.
        max_tokens: the greatest verify length, in tokens.
    Returns: A dict: mode, block_tokens (all γ), verify_tokens (the confident prefix), proposed (γ) and
        verify_budget (ℓ, the number of verify_tokens).
    Example: 'dspark', [4, 5, 6], [.9, .7, .2], .5, 3  →  verify_tokens [4, 5], proposed 3, verify_budget 2
    """
    budget = choose_confident_prefix(confidences, threshold, 1, max_tokens)
    return {
        "mode": mode,
        "block_tokens": candidates,
        "verify_tokens": candidates[:budget],
        "proposed": len(candidates),
        "verify_budget": budget,
    }

# %% check="record"
check("record", build_draft_record)

# %% role="picture"
build_draft_record("dspark", candidates=[0, 1], confidences=[0.9, 0.7], threshold=0.8)

# %% [markdown]
# ## Task 2.4 · What each position may attend to in training
#
# In training, many blocks are cut from one sequence and packed into a single forward. Each block has an anchor position,
# and its γ rows see (a) the context strictly **before** their own anchor, since the features at the anchor are not known
# yet when the block is drafted, (b) their own block in **both** directions, since it is drafted at once, and
# (c) nothing of any other block.
#
# Columns: first the context, then the blocks in the order given; anchors may come in any order and may repeat, and one at
# `context_length` sees the whole context. By hand, for a context of 2 and one block of 2 anchored at 1: both rows are
# `[True, False | True, True]`.

# %% task="2.4"
from dspark_mini.contracts import integer, integers, takes

@takes(context_length=integer(), anchor_positions=integers("A", high="context_length"), block_length=integer(low=1))
def block_mask(context_length, anchor_positions, block_length):
    """Build the training mask of DFlash for several blocks packed into one forward.

    Args:
        context_length: number of context positions.
        anchor_positions: A anchors, one per block, from 0 to context_length, in any order.
        block_length: γ, positions per block.
    Returns: Boolean array (A·γ, context_length + A·γ), True where the row may attend to the column.
    Example: context_length 2, anchor_positions [1], block_length 2  →  [[1, 0, 1, 1], [1, 0, 1, 1]] as booleans
    """
    ### BEGIN SOLUTION
    anchor = np.repeat(anchor_positions, block_length)  # (A·γ,) the anchor of each row's block
    block = np.repeat(np.arange(len(anchor_positions)), block_length)  # (A·γ,) which block a row belongs to
    context = np.arange(context_length) < anchor[:, None]  # (A·γ, context_length)
    own_block = block[:, None] == block  # (A·γ, A·γ)
    return np.hstack([context, own_block])
    ### END SOLUTION

# %% check="2.4"
check("2.4", block_mask)

# %% role="picture"
anchors = [2, 5, 4]
viz.mask_picture(block_mask(6, anchors, 3), context_length=6, anchors=anchors, block_length=3)

# %% [markdown]
# ## Task 2.5 · Where in the block do drafts die?
#
# A mean accepted length hides where the losses are. The **conditional acceptance** of position k is the share of rounds
# that accepted it, among the rounds that got that far: rounds with at least k accepted tokens, divided by rounds with at
# least k − 1. Where no round got that far, the rate is unknown: `math.nan`, not 0.
#
# By hand: four rounds accepted 0, 1, 2 and 2 tokens of γ = 3. At least 0: four rounds; at least 1: three; at least 2: two;
# at least 3: none. The rates are 3/4, 2/3 and 0/2.

# %% task="2.5"
from dspark_mini.contracts import integer, integers, takes

@takes(block_size=integer(low=1), accepted_counts=integers("rounds", high="block_size", empty=True))
def conditional_acceptance(accepted_counts, block_size):
    """Measure how often each position of the block is accepted once the positions before it were.

    Args:
        accepted_counts: accepted draft tokens of each round, without the bonus token, from 0 to block_size.
        block_size: γ, the number of draft tokens per round.
    Returns: γ rates; nan where no round came that far.
    Example: accepted_counts [0, 1, 2, 2], block_size 3  →  [3/4, 2/3, 0.0]
    """
    ### BEGIN SOLUTION
    reached = [sum(count >= k for count in accepted_counts) for k in range(block_size + 1)]  # rounds with ≥ k
    return [kept / tried if tried else math.nan for tried, kept in zip(reached, reached[1:])]
    ### END SOLUTION

# %% check="2.5"
check("2.5", conditional_acceptance)

# %% [markdown]
# **The decay, from your own functions.** In a toy target each of 16 words is followed by one of two words, with
# probabilities .65 and .35. DFlash's base logits are the exact log-probabilities of x_k given the anchor alone: no drafter
# that ignores its own choices can know more. DSpark gets, as its bias, the log-ratio of “x_k after x_{k−1}” to that base.
# A draft token counts as accepted as long as the target draws the same words. Twenty such targets are pooled.

# %% role="picture"
rng = np.random.default_rng(0)
vocabulary, block_size, rounds = 16, 7, 12


def toy_target():
    table = np.full((vocabulary, vocabulary), 1e-9)          # (V, V): row = word, column = next word
    for row in table:
        row[rng.choice(vocabulary, size=2, replace=False)] += 0.65, 0.35
    return table / table.sum(axis=1, keepdims=True)


def draft(mode, table, anchor):
    base = np.log([np.linalg.matrix_power(table, k)[anchor] for k in range(1, block_size + 1)])  # (γ, V)
    if mode == "DFlash":
        return dflash_parallel_candidates(base)
    tokens = [anchor]
    for row in base:                                         # one by one: this bias depends on k
        bias = {tokens[-1]: np.log(table[tokens[-1]]) - row}
        tokens += dspark_markov_candidates([row], tokens[-1], bias)
    return tokens[1:]


def accepted(drafts, table, anchor):
    token, count = anchor, 0
    for guess in drafts:
        token = rng.choice(vocabulary, p=table[token])       # what the target says
        if token != guess:
            break
        count += 1
    return count


targets, curves = [toy_target() for _ in range(20)], {}
for mode in ("DFlash", "DSpark"):
    counts = []
    for table in targets:
        for anchor_word in range(vocabulary):
            drafts = draft(mode, table, anchor_word)
            counts += [accepted(drafts, table, anchor_word) for _ in range(rounds)]
    curves[mode] = conditional_acceptance(counts, block_size)
viz.acceptance_decay(curves, title="Toy targets: acceptance of position k, given those before it")

# %% [markdown]
# ## Looking back
#
# * **What you saw.** Both drafters start alike: at position 1 both know everything there is to know, the anchor. After it
#   DFlash guesses without knowing what it guessed before, and its curve falls; DSpark's stays. In the toy the next word depends
#   on one word only, so one link back is all there is to know. Where it depends on more, one link is not enough either.
# * **What the papers report.** Conditional acceptance of DFlash falls from .87 to .78 on code and from .72 to .63 on chat
#   along the block; an autoregressive drafter starts low and rises (.53 to .74 on chat); DSpark starts high and stays
#   (DSpark, Figure 2). Its gain over DFlash grows with the block.
# * **What production engines got wrong here.** A training mask that compared *block numbers* where it had to compare positions with the
#   anchor let overlapping blocks see future features: training looked excellent, evaluation did not
#   ([SpecForge issue 470](https://github.com/sgl-project/SpecForge/issues/470)). A block size of 8 was saved as 8 speculated tokens,
#   though position 0 only repeats the anchor and 7 are left
#   ([Speculators pull request 456](https://github.com/vllm-project/speculators/pull/456)). Neither changes the text, since the
#   target corrects everything; only the acceptance drops. That is why it is measured by position.
#
# ## Further reading
#
# * DSpark: *Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation*, [arXiv 2607.05147](https://arxiv.org/abs/2607.05147)
# * DFlash: *Block Diffusion for Flash Speculative Decoding*, [arXiv 2602.06036](https://arxiv.org/abs/2602.06036), where the parallel
#   block and its training mask come from
# * [DeepSpec](https://github.com/deepseek-ai/DeepSpec): training and evaluation of these drafters; read its Markov head next to your task 2.2
# * [Speculators](https://github.com/vllm-project/speculators): how a trained drafter reaches a serving engine
