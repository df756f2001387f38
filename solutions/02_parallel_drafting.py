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
# | **You build** | DFlash and DSpark candidates, a confident prefix, a training mask, an acceptance curve, a drafter's attention |
# | **Difficulty** | ●●○○ |
# | **Time** | about 45 minutes |
# | **You need** | Python, NumPy indexing and `argmax`; no earlier lesson |
#
# Run the cells in order (Shift+Enter). Stuck? Type `hint("2.1")` in a new cell.

# %% role="setup"
import math

import numpy as np

from grader import check, hint

# %% [markdown]
# ## Why draft in parallel?
#
# A small **drafter** guesses γ tokens, the large **target** checks them in one forward. An autoregressive drafter
# such as EAGLE-3 runs once per token, which uses up what long blocks gain.
#
# DFlash runs **once**: the anchor x₀ (the last committed token) and γ masks go in, and each mask returns logits.
# DSpark needs γ − 1 masks, since its anchor predicts too, and a cheap chain corrects each position by the token
# before.

# %% role="show"
from dspark_mini import viz

viz.who_depends_on_what(block_size=4)

# %% [markdown]
# ## What goes wrong: modes collide
#
# Suppose the target goes on with “of course” or “no problem”, equally likely. Position 1 rightly says *of or no*,
# position 2 *course or problem*. Drawn independently, half of all blocks are “of problem” or “no course”:

# %% role="show"
words = ["of", "course", "no", "problem"]
first, second = np.array([0.5, 0, 0.5, 0]), np.array([0, 0.5, 0, 0.5])
for i, j in np.argwhere(np.outer(first, second) > 0):
    print(f"P({words[i]} {words[j]}) = {first[i] * second[j]:.2f}")

# %% [markdown]
# So acceptance decays along a DFlash block. DSpark's chain looks one token back. It costs 0.2–1.3 % of a round
# (DSpark paper, draft lengths 4–16, batch 128).
#
# ## Task 2.1 · DFlash: every position for itself
#
# `block_logits` (γ, V) has one row per position, one column per token: to DFlash, γ separate questions. A logit of −∞
# masks a token. Of equal logits the **lowest token id** wins, so that two machines never draft differently.
#
# The line above `def` is given in every task. It turns logits and confidences into NumPy arrays (tokens and counts
# stay lists of plain ints) and refuses bad input.

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
# **Your function, drawn.** Position 1 leans a little towards “of”, position 2 a little towards “problem”.

# %% role="picture"
anchor = 9                                       # x₀; it need not be one of the four words
block_logits = np.array([[2.1, 0.0, 2.0, 0.0],   # position 1: of, or no
                         [0.0, 2.0, 0.0, 2.1]])  # position 2: course, or problem
viz.candidate_grid(block_logits, {"DFlash": dflash_parallel_candidates(block_logits)}, words=words)

# %% [markdown]
# ## Task 2.2 · DSpark: one link to the token before
#
# DSpark adds to the base logits U a **transition bias**, a row of V numbers per predecessor:
#
# $$x_k = \operatorname{argmax}\,\bigl(U_k + B[x_{k-1}]\bigr), \qquad x_0 = \text{anchor}.$$
#
# `markov_bias[token]` is the row of any token, zeros if it has none. The anchor may be a token that the block cannot
# draft.
#
# For U = [[.4, .6], [.7, .3], [.6, .4]], anchor 9 and B = {9: [.4, 0], 0: [0, .6], 1: [.5, 0]} the sums that decide
# are [.8, .6], [.7, .9] and [1.1, .4], so the block is 0, 1, 0. Which row of B is in which sum?

# %% task="2.2"
from dspark_mini.contracts import bias_rows, logits, takes, token

@takes(block_logits=logits("γ", "V"), anchor_token=token(), markov_bias=bias_rows("V"))
def dspark_markov_candidates(block_logits, anchor_token, markov_bias):
    """Draft a block as DSpark does: parallel logits, each position corrected by the token before it.

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
# DSpark also returns **confidences**: c_k is the chance that token k survives, *given* that those before it did.
# Verifying costs time, and what follows a rejected token is thrown away. So the target gets the **confident prefix**,
# which ends before the first confidence *below* the threshold.
#
# Engines add limits, `min_tokens` and `max_tokens`. `[.9, .8, .3, .95]` with threshold .5 gives 2; `[.1, .9]` gives 1
# if `min_tokens` is 1; `[.75, .25, .25]` gives 3 for limits of 4 and 6.

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
# This given function calls *your* `choose_confident_prefix`: its check fails until task 2.3 is right.
#
# **Confidence trims**, and accepts nothing. **The target accepts** (lesson 01), so a wrong confidence costs time and
# never changes the text. **The clock says accept, tune or reject**: measured times decide whether drafting pays
# (lesson 00).

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
# Training packs many blocks of one sequence into a single forward. Their γ rows must see what they will see in real
# drafting: the context strictly **before** their anchor, which has no features yet; their own block in **both**
# directions; and no other block. A row that sees more learns to cheat: training looks excellent, drafting does not.
#
# Columns are the context, then the blocks as given. Anchors come in any order and may repeat; one at `context_length`
# sees the whole context. For a context of 3 and one-row blocks anchored at 2 and 0 the rows are `1 1 0 | 1 0` and `0
# 0 0 | 0 1`.

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
# A mean hides where drafts are lost. The **conditional acceptance** of position k is the share of rounds that
# accepted it, among those that had accepted everything before it. Without any such round the rate is unknown:
# `math.nan`, not 0.
#
# Four rounds accepted 0, 1, 2 and 2 tokens of γ = 3. The rates are 3/4, 2/3 and 0/2.

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
# **The decay, from your own functions.** In a toy target each of 16 words is followed by one of two (.65 and .35). DFlash
# gets the exact log-probabilities of the k-th word given the anchor: a drafter that ignores its own choices cannot know
# more. DSpark's bias is the log-ratio of “next word given the last one” to them.

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
# ## Task 2.6 · DFlash as it is: what the drafter reads
#
# *Block Diffusion for Flash Speculative Decoding*: a diffusion language model turns masks into tokens over many
# denoising steps, block diffusion does so block by block. DFlash is trained to denoise a block in **one** step: fast,
# and no position knows another's choice.
#
# Its few layers read what the target has understood: hidden states after m chosen layers, concatenated at each
# position, projected and normalized,
#
# $$H = \operatorname{RMSNorm}\bigl(W_c\,[H^{(l_1)}; \dots; H^{(l_m)}]\bigr).$$
#
# **Every** draft layer puts keys and values of H before the block's own (*KV injection*). Embedding and output head
# are the target's, frozen. H ends **before the anchor**, which the target has emitted and not read yet.

# %% role="show"
viz.kv_injection(anchor_position=5, block_size=3, layers=8, feature_layers=[1, 4, 6])

# %% [markdown]
# One head of a draft layer computes, with context H and block B,
#
# $$O = \operatorname{softmax}\Bigl(\tfrac{1}{\sqrt{d}}\; Q\,[K_H; K_B]^{\mathsf T}\Bigr)\,[V_H; V_B].$$
#
# The cache may hold more context rows than count, left over from rejected drafts. If all scores are equal, a query
# reads a mean: context values 2 and 9, block value 4 and an anchor at position 1 give 3. Scores may be in the
# thousands.

# %% task="2.6"
from dspark_mini.contracts import integer, numbers, takes

@takes(
    queries=numbers("n", "d"),
    block_keys=numbers("n", "d"),
    block_values=numbers("n", "d"),
    context_keys=numbers("C", "d", empty=True),
    context_values=numbers("C", "d", empty=True),
    anchor_position=integer(high="C"),
)
def block_attention(queries, block_keys, block_values, context_keys, context_values, anchor_position):
    """Attend as a DFlash drafter does: a block reads the target's features before its anchor, and itself.

    Args:
        queries: (n, d), one row per position of the block.
        block_keys, block_values: (n, d), of the block's own rows.
        context_keys, context_values: (C, d), of the target's fused features at positions 0..C − 1.
        anchor_position: Position of the anchor in the text, 0 to C; its features are not known yet.
    Returns: Array (n, d): one mix of values per query.
    Example: queries [[0]], block_keys [[0]], block_values [[4]], context_keys [[0], [0]],
        context_values [[2], [9]], anchor_position 1  →  [[3.0]]
    """
    ### BEGIN SOLUTION
    # "...": the small model stacks its attention heads in front of (n, d)
    keys = np.concatenate([context_keys[..., :anchor_position, :], block_keys], axis=-2)  # (anchor_position + n, d)
    values = np.concatenate([context_values[..., :anchor_position, :], block_values], axis=-2)
    scores = queries @ keys.swapaxes(-1, -2) / queries.shape[-1] ** 0.5  # (n, anchor_position + n)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ values
    ### END SOLUTION

# %% check="2.6"
check("2.6", block_attention)

# %% [markdown]
# **Your attention in a real drafter.** The shipped DFlash has two layers of three heads. They run on your function
# now:

# %% role="picture"
from dspark_mini.lm import load, prompts, write_and_draft

lm = load(drafters=["dflash"], attention=block_attention)
text, blocks = write_and_draft(lm, prompts(lm.tokenizer, "chat", 1, seed=11)[0], 40, "dflash")
for i in range(0, 30, 10):
    print("after ", lm.tokenizer.decode(text[i:i + 1]))
    print("DFlash", lm.tokenizer.decode(dflash_parallel_candidates(blocks[i])))
    print("target", lm.tokenizer.decode(text[i + 1:i + 8]), end="\n\n")

# %% [markdown]
# ## Open problem · DSpark without training
#
# Improve `draft`: it gets DFlash's logits, the text up to the anchor, and `spare`, other texts of the same target; it
# must not run a model. The score is the mean accepted length over all recorded blocks, the target's own token
# included.

# %% role="picture"
from dspark_mini.replay import load_recordings

TRAINED = 6.24     # DSpark with its trained head
BEST_KNOWN = 6.93  # counts of what follows the last 1 to 6 tokens, smoothed; their logarithm, times 0.4, as a bias


def draft(block_logits, text, spare):
    return dflash_parallel_candidates(block_logits)


spare = [text.tokens for text in load_recordings().texts]
asked = [prompt for domain in ("math", "code", "chat") for prompt in prompts(lm.tokenizer, domain, 3, seed=11)]
recorded = [write_and_draft(lm, prompt, 48, "dflash") for prompt in asked]
cases = [(blocks[i], text[:i + 1], text[i + 1:i + 8])
         for text, blocks in recorded for i in range(len(text) - 7)]
baseline = lambda block_logits, text, spare: dflash_parallel_candidates(block_logits)
for name, function in {"DFlash": baseline, "yours": draft}.items():
    wrong = [np.not_equal(function(block, text, spare), follows) for block, text, follows in cases]
    print(f"{name:7}{np.mean([1 + np.append(row, True).argmax() for row in wrong]):.2f}")
print(f"best known {BEST_KNOWN:.2f}, DSpark with its trained head {TRAINED:.2f}")

# %% [markdown]
# ## Looking back
#
# * **What the paper reports.** {paper:figure_2} DSpark's gain over DFlash grows with γ.
# * **What production engines got wrong here.** A training mask compared *block numbers*, not positions, and
#   overlapping blocks saw future features ([SpecForge issue
#   470](https://github.com/sgl-project/SpecForge/issues/470)). A block of 8 was saved as 8 speculated tokens, though
#   position 0 repeats the anchor ([Speculators pull request
#   456](https://github.com/vllm-project/speculators/pull/456)). The text stays right, acceptance drops.
#
# ## Further reading
#
# * DSpark: *Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation*, [arXiv
#   2607.05147](https://arxiv.org/abs/2607.05147)
# * DFlash: *Block Diffusion for Flash Speculative Decoding*, [arXiv 2602.06036](https://arxiv.org/abs/2602.06036)
# * [DeepSpec](https://github.com/deepseek-ai/DeepSpec) trains and evaluates these drafters; its Markov head is your
#   task 2.2
