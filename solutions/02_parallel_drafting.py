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
# | **Difficulty** | ●●○○ — five tasks of one to nine lines, and one that is given |
# | **Time** | about 30 minutes |
# | **You need** | Python, NumPy indexing and `argmax`; no earlier lesson has to be solved |
#
# Run the cells from top to bottom (Shift+Enter). Each task has a cell with a `TODO` and, below it, a cell that
# checks your function: it names the first property that fails, on a small input, with a hint. Stuck? Open a terminal
# and type `dspark-mini hint 2.1`. `dspark-mini check` looks at all tasks of the **saved** notebook (Ctrl+S).

# %% role="setup"
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dspark_mini.inputs import (
    bias_mapping, bias_row, check_best, check_same_length, drafter_mode, logit_rows, token_id, token_ids,
    unit_number, unit_numbers, whole_number, whole_numbers,
)
from grader import check

# %% [markdown]
# ## Why draft in parallel?
#
# Speculative decoding lets a small **drafter** guess the next γ tokens, and the large **target** check all of them
# in one forward. A round costs `T_draft + T_verify` and yields τ tokens, so a token costs `(T_draft + T_verify) / τ`.
# An autoregressive drafter (EAGLE-3, say) runs once a token: its `T_draft` grows with γ, and long blocks eat up what they gain.
#
# DFlash runs **once** for the whole block. It reads the anchor x₀ (the last committed token) and γ masks, and each mask
# position returns its own logits. DSpark reads the anchor and γ − 1 masks, all γ positions return logits, and a very
# light chain follows: the logits of position k are corrected by a bias that depends on the one token chosen before it.

# %% role="show"
from dspark_mini import viz

viz.who_depends_on_what(block_size=4)

# %% [markdown]
# ## What goes wrong: modes collide
#
# Suppose the target would go on with either “of course” or “no problem”, with equal probability. The position-1 logits
# rightly say *of or no*, the position-2 logits rightly say *course or problem*. Each position is right, and yet a drafter
# that draws them independently puts together “of problem” or “no course” in half of all rounds. Run it:

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
# `block_logits` is a matrix of shape (γ, V): one row a position, one column a token. DFlash takes the best token of
# every row, and no row knows of another. A logit of −∞ is legal, it masks a token; of equal logits the **lowest token id**
# wins, so that two machines never draft differently.
#
# By hand: `[[.1, .8, .1], [.6, .2, .2], [.1, .2, .7]]` gives `[1, 0, 2]`, plain Python ints. The first line is given: it
# turns lists into an array and refuses a wrong shape. A **bad number** (NaN, +∞, or a row of only −∞) is to be refused too,
# and there is a neat way that needs no second pass over the data: NaN and +∞ win every `argmax`, and −∞ wins only where
# nothing else is left. So look at the winner alone; `check_best(row[best], block_logits=(k, row))` does it for row k.

# %% task="2.1"
def dflash_parallel_candidates(block_logits: ArrayLike) -> list[int]:
    """Draft a block as DFlash does: every position takes its own best token.

    No position sees what another one chose. Of equal logits the lowest token id wins.

    Args:
        block_logits: (γ, V) base logits, list or array; −inf marks a token that cannot be drafted.

    Returns:
        γ token ids, plain ints.

    Raises:
        ValueError: an empty block or vocabulary, ragged rows, or a row with NaN, +inf or only −inf; the
            message names block_logits and the row.

    Example:
        [[.1, .8, .1], [.6, .2, .2], [.1, .2, .7]]  →  [1, 0, 2]

    Source: DFlash (arXiv 2602.06036): one forward predicts the whole block.
    """
    logits = logit_rows("block_logits", block_logits)  # (γ, V)
    ### BEGIN SOLUTION
    tokens = []
    for k, row in enumerate(logits):  # (V,)
        best = int(row.argmax())
        check_best(row[best], block_logits=(k, row))
        tokens.append(best)
    return tokens
    ### END SOLUTION

# %% check="2.1"
check("2.1", dflash_parallel_candidates)

# %% [markdown]
# **Your function, drawn.** The drafter's logits lean a little towards “of” in the first position and a little towards
# “problem” in the second. Look what your DFlash makes of it.

# %% role="picture"
anchor = 9                                       # x₀; it need not be one of the four words
block_logits = np.array([[2.1, 0.0, 2.0, 0.0],   # position 1: of, or no
                         [0.0, 2.0, 0.0, 2.1]])  # position 2: course, or problem
viz.candidate_grid(block_logits, {"DFlash": dflash_parallel_candidates(block_logits)}, words=words)

# %% [markdown]
# ## Task 2.2 · DSpark: one light link to the token before
#
# DSpark keeps the base logits U and adds a **transition bias**, one row of V numbers for each possible predecessor:
#
# $$x_k = \operatorname{argmax}\,\bigl(U_k + B[x_{k-1}]\bigr), \qquad x_0 = \text{anchor}.$$
#
# The chain runs over the tokens that were really chosen, *after* correction. `markov_bias` maps a token to its row; a
# token without a row adds nothing; the anchor may be a token that the block cannot even draft.
#
# By hand, with U = [[.4, .6], [.7, .3], [.6, .4]], anchor 9 and B = {9: [.4, 0], 0: [0, .6], 1: [.5, 0]}:
# position 1 has [.4, .6] + [.4, 0] = [.8, .6], so token 0; position 2 has [.7, .3] + [0, .6] = [.7, .9], so token 1;
# position 3 has [.6, .4] + [.5, 0] = [1.1, .4], so token 0. Two helpers are given: `bias_row("markov_bias", previous,
# biases.get(previous), V)` returns a bias as an array, or None where there is none, and refuses a wrong length; and
# `check_best(corrected[best], block_logits=(k, row), markov_bias=(previous, bias))` looks at the winner, as in task 2.1.

# %% task="2.2"
def dspark_markov_candidates(
    block_logits: ArrayLike, anchor_token: int, markov_bias: Mapping[int, ArrayLike]
) -> list[int]:
    """Draft a block as DSpark does: correct each position by the token chosen just before it.

    With previous = anchor_token, position k takes the argmax of U_k + B[previous], and that token is the
    next previous. A token without a row in markov_bias adds nothing. Of equal sums the lowest id wins.

    Args:
        block_logits: (γ, V) base logits U, list or array; −inf marks a token that cannot be drafted.
        anchor_token: x_0, the last committed token; it may lie outside the block's vocabulary.
        markov_bias: token → (V,) bias B[token]; only the rows that the chain meets are looked at.

    Returns:
        γ token ids, plain ints.

    Raises:
        ValueError: block_logits as in task 2.1, or a bias row in use that has another length than V or
            holds NaN, +inf or only −inf; the message names markov_bias and the token of that row.

    Example:
        U = [[.4, .6], [.7, .3], [.6, .4]], anchor 9, B = {9: [.4, 0], 0: [0, .6], 1: [.5, 0]}
        →  [0, 1, 0]

    Source: DSpark (arXiv 2607.05147): semi-autoregressive generation, the Markov head.
    """
    logits = logit_rows("block_logits", block_logits)  # (γ, V)
    previous = token_id("anchor_token", anchor_token)
    biases = bias_mapping("markov_bias", markov_bias)
    ### BEGIN SOLUTION
    tokens = []
    for k, row in enumerate(logits):  # (V,)
        bias = bias_row("markov_bias", previous, biases.get(previous), row.size)
        corrected = row if bias is None else row + bias
        best = int(corrected.argmax())
        check_best(corrected[best], block_logits=(k, row), markov_bias=(previous, bias))
        tokens.append(best)
        previous = best
    return tokens
    ### END SOLUTION

# %% check="2.2"
check("2.2", dspark_markov_candidates)

# %% [markdown]
# **Your two drafters side by side.** The bias says: after “of” comes “course”, after “no” comes “problem”.

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
# behind a rejected one is thrown away anyway.
#
# Then clamp the count, in this order: up to `min_tokens`, down to `max_tokens`, and never more than there are. By hand:
# `[.9, .8, .3, .95]` with threshold .5 gives 2; `[.1, .9]` gives 0, raised to `min_tokens` = 1.

# %% task="2.3"
def choose_confident_prefix(
    confidences: ArrayLike,
    threshold: float,
    min_tokens: int = 1,
    max_tokens: int = 8,
) -> int:
    """Choose the verify length: how many draft tokens, from the first on, go to the target.

    The first confidence below the threshold ends the prefix. One that equals the threshold passes, and what
    comes behind the stop does not count, however high. The length is then clamped:
    min(max(prefix, min_tokens), max_tokens, number of confidences).

    Args:
        confidences: (γ,) chances in [0, 1] that token k survives, given that those before it did.
        threshold: number in [0, 1].
        min_tokens: least verify length, in tokens, at least 1.
        max_tokens: greatest verify length, in tokens, at least min_tokens.

    Returns:
        The verify length, a plain int.

    Raises:
        ValueError: no confidences, one of them outside [0, 1] or NaN (also behind the stop), a threshold
            outside [0, 1], or counts that break 1 ≤ min_tokens ≤ max_tokens.

    Example:
        confidences [.9, .8, .3, .95], threshold .5, from 1 to 4 tokens  →  2

    Source: DSpark (arXiv 2607.05147): confidence head and threshold.
    """
    values = unit_numbers("confidences", confidences)  # (γ,)
    threshold = unit_number("threshold", threshold)
    min_tokens = whole_number("min_tokens", min_tokens, low=1)
    max_tokens = whole_number("max_tokens", max_tokens, low=min_tokens)
    ### BEGIN SOLUTION
    prefix = 0
    while prefix < len(values) and values[prefix] >= threshold:
        prefix += 1
    return min(max(prefix, min_tokens), max_tokens, len(values))
    ### END SOLUTION

# %% check="2.3"
check("2.3", choose_confident_prefix)

# %% role="picture"
confidences = [0.95, 0.9, 0.7, 0.45, 0.8, 0.3, 0.6]
viz.confidence_budget(confidences, threshold=0.5, budget=choose_confident_prefix(confidences, 0.5))

# %% [markdown]
# ## Given · The draft record, and who decides what
#
# Whatever the drafter, the target verifier wants the same five things: the **mode**, the whole **block**, the **tokens
# to verify**, how many were **proposed**, and the **budget**. This function is given. It calls *your*
# `choose_confident_prefix`, so it earns its points as soon as task 2.3 is right.
#
# Three decisions, three deciders. **Confidence trims**: it says how many tokens are worth a look, and accepts none.
# **The target accepts**: only its own forward decides which drafts are kept (lesson 01), so a wrong confidence costs
# time and never changes the text. **The clock says accept, tune or reject**: whether drafting pays at this length, pays
# at another, or not at all, is decided by measured times (lesson 00).

# %% given="record"
def build_draft_record(
    mode: str, candidates: ArrayLike, confidences: ArrayLike, threshold: float, max_tokens: int = 8
) -> dict[str, Any]:
    """Put one drafted block into the form that the target verifier consumes, in either mode.

    Confidence trims the budget: verify_tokens are the first choose_confident_prefix(confidences, threshold,
    1, max_tokens) candidates. It accepts nothing; only the target does that.

    Args:
        mode: 'dflash' or 'dspark'.
        candidates: (γ,) draft tokens, token ids from 0.
        confidences: (γ,) numbers in [0, 1], one a candidate.
        threshold: number in [0, 1].
        max_tokens: greatest verify length, in tokens, at least 1.

    Returns:
        A dict of plain ints and lists: mode; block_tokens, all γ candidates; verify_tokens, the prefix that
        the target will check; proposed, γ; verify_budget, the number ℓ of verify_tokens.

    Raises:
        ValueError: another mode, a candidate that is no token id, another number of confidences than of
            candidates, or what choose_confident_prefix refuses.

    Example:
        'dspark', candidates [4, 5, 6], confidences [.9, .7, .2], threshold .5, max_tokens 3
        →  verify_tokens [4, 5], proposed 3, verify_budget 2

    Source: DSpark (arXiv 2607.05147): the target verifies the scheduled prefix of the block.
    """
    mode = drafter_mode("mode", mode)
    block = token_ids("candidates", candidates)
    check_same_length("candidates", candidates, "confidences", confidences)
    budget = choose_confident_prefix(confidences, threshold, 1, max_tokens)
    return {
        "mode": mode,
        "block_tokens": block,
        "verify_tokens": block[:budget],
        "proposed": len(block),
        "verify_budget": budget,
    }

# %% check="record"
check("record", build_draft_record)

# %% role="picture"
build_draft_record("dspark", candidates=[0, 1], confidences=[0.9, 0.7], threshold=0.8)

# %% [markdown]
# ## Task 2.4 · Who may look at whom in training
#
# In training, many blocks are cut from one sequence and packed into a single forward. Each block has an anchor position,
# and its γ rows see (a) the context strictly **before** their own anchor, since the features at the anchor are not known
# yet when the block is drafted, (b) their own block in **both** directions, since it is drafted at once, and
# (c) nothing of any other block.
#
# Columns: first the context, then the blocks in the order given; anchors may come in any order and may repeat, and one at
# `context_length` sees the whole context. By hand:
# context of 2, one block of 2 anchored at 1: both rows are `[True, False | True, True]`.

# %% task="2.4"
def block_mask(context_length: int, anchor_positions: ArrayLike, block_length: int) -> NDArray[np.bool_]:
    """Build the training mask of DFlash for several blocks packed into one forward.

    A row of block j sees the context strictly before its own anchor position, every position of its own
    block in both directions, and no other block. Columns: the context, then the blocks in the order given.

    Args:
        context_length: number of context positions, at least 0.
        anchor_positions: (A,) one anchor a block, from 0 to context_length, any order, repeats allowed.
        block_length: γ, positions a block, at least 1.

    Returns:
        Boolean array (A·γ, context_length + A·γ), True where the row may attend to the column.

    Raises:
        ValueError: no anchors, an anchor outside 0..context_length, a negative context_length, or
            a block_length below 1.

    Example:
        context_length 2, anchor_positions [1], block_length 2  →  [[1, 0, 1, 1], [1, 0, 1, 1]] as booleans

    Source: DFlash (arXiv 2602.06036): block-diagonal training mask over packed blocks.
    """
    context_length = whole_number("context_length", context_length, low=0)
    positions = whole_numbers("anchor_positions", anchor_positions, low=0, high=context_length)
    anchors = np.array(positions, dtype=int)  # (A,)
    if anchors.size == 0:
        raise ValueError("anchor_positions is empty: it needs at least one anchor.")
    block_length = whole_number("block_length", block_length, low=1)
    ### BEGIN SOLUTION
    block = np.repeat(np.arange(anchors.size), block_length)  # (A·γ,) which block a row belongs to
    context = np.arange(context_length) < anchors[block][:, None]  # (A·γ, context_length)
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
# least k − 1. Where no round got so far, nobody knows: the rate is `nan`, not 0.
#
# By hand: four rounds accepted 0, 1, 2 and 2 tokens of γ = 3. At least 0: four rounds; at least 1: three; at least 2: two;
# at least 3: none. The rates are 3/4, 2/3 and 0/2.

# %% task="2.5"
def conditional_acceptance(accepted_counts: ArrayLike, block_size: int) -> list[float]:
    """Measure how often each position of the block survives once the positions before it did.

    Position k (k = 1..γ) gets the number of rounds with at least k accepted tokens, divided by the number
    with at least k − 1. Where no round came that far, the rate is unknown: nan.

    Args:
        accepted_counts: accepted draft tokens of each round, without the bonus token, 0 to block_size.
        block_size: γ, the number of drafted tokens a round, at least 1.

    Returns:
        γ rates, plain floats; all of them nan when there are no rounds.

    Raises:
        ValueError: a count that is no whole number from 0 to block_size, or a block_size below 1.

    Example:
        accepted_counts [0, 1, 2, 2], block_size 3  →  [3/4, 2/3, 0.0]

    Source: DSpark (arXiv 2607.05147): conditional acceptance by position, Figure 2.
    """
    block_size = whole_number("block_size", block_size, low=1)
    rounds = whole_numbers("accepted_counts", accepted_counts, low=0, high=block_size)
    counts = np.array(rounds, dtype=int)  # (rounds,)
    ### BEGIN SOLUTION
    reached = [int((counts >= k).sum()) for k in range(block_size + 1)]  # rounds with ≥ k accepted
    return [kept / tried if tried else math.nan for tried, kept in zip(reached, reached[1:])]
    ### END SOLUTION

# %% check="2.5"
check("2.5", conditional_acceptance)

# %% [markdown]
# **The decay, from your own functions.** In a toy target each of 16 words goes on with one of two words, with
# probability .65 and .35. DFlash's base logits are the exact log-probabilities of x_k given the anchor alone: no drafter
# that ignores its own choices can know more. DSpark gets, as its bias, the log-ratio of “x_k after x_{k−1}” to that base.
# A draft counts as accepted while it equals the words that the target really draws. Twenty such targets are pooled.

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
        token = rng.choice(vocabulary, p=table[token])       # what the target really says
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
# * **What you saw.** Both drafters start alike: at position 1 both know everything there is to know, the anchor. Behind it
#   DFlash guesses without knowing what it guessed before, and its curve falls; DSpark's stays. The toy is first-order, so one
#   link back is all there is to know. Where the next token depends on more than that, one link is not enough either.
# * **What the papers report.** Conditional acceptance of DFlash falls from .87 to .78 on code and from .72 to .63 on chat
#   along the block; an autoregressive drafter starts low and rises (.53 to .74 on chat); DSpark starts high and stays
#   (DSpark, Figure 2). Its gain over DFlash grows with the block.
# * **What production engines got wrong here.** A training mask that compared *block numbers* where it had to compare positions with the
#   anchor let overlapping blocks see future features: training looked wonderful, evaluation did not
#   ([SpecForge issue 470](https://github.com/sgl-project/SpecForge/issues/470)). A block size of 8 was saved as 8 speculated tokens,
#   though position 0 only repeats the anchor and 7 are left
#   ([Speculators pull request 456](https://github.com/vllm-project/speculators/pull/456)). Neither changes the text that comes out, since the
#   target corrects everything; only the acceptance drops. That is why you measure it by position.
#
# ## Further reading
#
# * DSpark: *Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation*, [arXiv 2607.05147](https://arxiv.org/abs/2607.05147)
# * DFlash: [arXiv 2602.06036](https://arxiv.org/abs/2602.06036), where the parallel block and its training mask come from
# * [DeepSpec](https://github.com/deepseek-ai/DeepSpec): training and evaluation of these drafters; read its Markov head next to your task 2.2
# * [Speculators](https://github.com/vllm-project/speculators): how a trained drafter reaches a serving engine
