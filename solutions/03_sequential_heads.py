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
# # Lesson 03 · Sequential heads
#
# *How can a block that was drafted at once still be a chain, what does that cost, and which rows must be kept?*
#
# | | |
# |---|---|
# | **You build** | the low-rank bias, the sampled chain with its rows, one step of the RNN head, the two input layouts |
# | **Difficulty** | ●●○○ — four tasks of one to ten lines |
# | **Time** | about 40 minutes |
# | **You need** | NumPy products and softmax; lesson 02 helps, but need not be solved |
#
# Run the cells from top to bottom (Shift+Enter). Each task has a cell with a `TODO` and, below it, a cell that
# checks your function. Stuck? Open a terminal and type `dspark-mini hint 3.1`.

# %% role="setup"
import math

import numpy as np

from grader import check, hint

# %% [markdown]
# ## A block as a chain
#
# One forward of the drafter gives base logits U₁ … Uᵧ for the whole block. Drawn independently they mix **modes**, answers that
# only make sense as a whole: “of course” and “no problem” become “of problem”. DSpark keeps the single forward and turns the block
# into a **chain**:
#
# $$P(x_1,\dots,x_\gamma \mid x_0) = \prod_{k=1}^{\gamma} p_k(x_k \mid x_0, x_{<k}), \qquad
# p_k = \operatorname{softmax}(U_k + B_k).$$
#
# Only the bias Bₖ is computed token by token, so it has to be cheap. Three heads compute it, and they differ in what they see:
#
# | head | Bₖ is computed from | sees |
# |---|---|---|
# | Markov | one row of a table | xₖ₋₁ |
# | gated | the same row, each of its r numbers weighed by a gate | xₖ₋₁ and hₖ |
# | RNN | a small state, carried from step to step | x₀ … xₖ₋₁ and h₁ … hₖ |
#
# hₖ is the drafter's hidden state at position k, the one that the base logits are computed from.

# %% [markdown]
# ## What a table of transitions costs
#
# A full table has one bias for each pair of tokens: V² numbers. The Markov head keeps it as a product of two thin matrices,
# W₁ of shape (V, r) and W₂ of shape (r, V): 2·V·r numbers. The DSpark paper uses r = 256. For a vocabulary of 151,936 tokens:

# %% role="show"
from dspark_mini import viz

V, r = 151_936, 256
for name, count in (("full table   V²   ", V * V), ("two matrices 2·V·r", 2 * V * r)):
    print(f"{name} = {count:>14,} numbers = {2 * count / 1e9:5.2f} GB in 16 bits")
print(f"{V / (2 * r):.0f} times fewer; one bias costs a lookup of {r} numbers and {V * r:,} multiplications")

# %% [markdown]
# ## Task 3.1 · One row of a table that does not exist
#
# The table is W₁W₂, but nobody ever computes it. The bias after a token is one row of it:
#
# $$B(x_{k-1}, \cdot) = W_1[x_{k-1}]\; W_2.$$
#
# By hand: W₁ = [[1, 0], [0, 2], [1, 1]] has a row for each of three tokens, W₂ = [[1, 2, 3], [0, 1, 0]]. The row of token 1 is
# [0, 2], so the bias after it is 0·[1, 2, 3] + 2·[0, 1, 0] = [0, 2, 0].
#
# The given line `@takes(…)` says what the arguments are, with sizes that belong together under one letter. It converts and validates
# them, so your lines get float64 arrays and a token below V.

# %% task="3.1"
from dspark_mini.contracts import numbers, takes, token

@takes(w1=numbers("V", "r"), w2=numbers("r", "V"), token=token(below="V"))
def low_rank_bias(w1, w2, token):
    """Look up the transition bias of one token in a table that is kept as two thin matrices.

    Args:
        w1: (V, r), one row per token before.
        w2: (r, V), one column per token that follows.
        token: The token just before, 0 to V − 1.
    Returns: The bias (V,) that is added to the logits of the next position.
    Example: w1 = [[1, 0], [0, 2], [1, 1]], w2 = [[1, 2, 3], [0, 1, 0]], token 1  →  [0, 2, 0]
    """
    ### BEGIN SOLUTION
    return w1[token] @ w2
    ### END SOLUTION

# %% check="3.1"
check("3.1", low_rank_bias)

# %% [markdown]
# **Your function, drawn.** A table over six words holds three habits of different strength: “of course”, “no problem”, “thank you”.
# Its best approximations of rank 1, 2 and 3 (by singular values) are kept as two thin matrices, and your function computes every row.
# Each habit costs one unit of rank here, and the strongest come first: a head of rank r holds r of them.

# %% role="picture"
words = ["of", "course", "no", "problem", "thank", "you"]
table = np.zeros((6, 6))
table[0, 1], table[2, 3], table[4, 5] = 4.0, 3.0, 2.0
left, strength, right = np.linalg.svd(table)
tables = {}
for rank in (1, 2, 3):
    rows = [low_rank_bias(left[:, :rank] * strength[:rank], right[:rank], token) for token in range(6)]
    tables[f"r = {rank}"] = np.array(rows)
viz.bias_tables(tables, before=words, after=words)

# %% [markdown]
# ## Gated: the same row, read in context
#
# The Markov head does not know where in the text it is. The **gated** head lets hₖ open or shut each of the r numbers:
#
# $$B_k = \bigl(\sigma(G\,[h_k; W_1[x_{k-1}]]) \odot W_1[x_{k-1}]\bigr)\, W_2.$$
#
# Here σ(x) = 1/(1 + e⁻ˣ) lies between 0 and 1, ⊙ multiplies entry by entry, and [h; w] is h followed by w in one vector. This head
# is shown, not a task. The row of “of” has two numbers; the first favours “course”, the second “the”. In one context the gate lets the
# first through, in another the second. A Markov head always favours both.

# %% role="show"
of_row = np.array([2.0, 2.0])                                     # W₁["of"], r = 2
to_words = np.array([[2.0, 0.0], [0.0, 2.0]])                     # W₂: columns "course" and "the"
G = np.array([[5.0, -5.0, 0.0, 0.0], [-5.0, 5.0, 0.0, 0.0]])      # (r, d + r), d = 2


def gated_bias(h):
    gate = 1 / (1 + np.exp(-G @ np.concatenate([h, of_row])))     # (r,), between 0 and 1
    return (gate * of_row) @ to_words


print("gated, in an answer:   course {:.2f}, the {:.2f}".format(*gated_bias([1.0, 0.0])))
print("gated, in a sentence:  course {:.2f}, the {:.2f}".format(*gated_bias([0.0, 1.0])))
print("Markov, in either:     course {:.2f}, the {:.2f}".format(*(of_row @ to_words)))

# %% [markdown]
# ## Task 3.2 · Draw the block, and keep the rows
#
# At temperature T > 0 the drafter **draws**: with previous = anchor, position k draws its token from
#
# $$q_k = \operatorname{softmax}\bigl((U_k + W_1[\text{previous}]\,W_2)\,/\,T\bigr),$$
#
# and the token drawn becomes the next *previous*. The function returns the tokens **and the rows qₖ they were drawn from**, because
# the target accepts token x with probability min(1, p(x)/q(x)) (lesson 01), which is lossless only if q is the very row that x was
# drawn from. At T = 0 each position takes its best token (of equal ones the lowest id). That token was certain, so its row is
# **one-hot**: zeros with a single 1 (without `np.eye(V)`, which computes V² numbers for it).
#
# By hand, with U = [[0, 0], [0, 0]], anchor 0, W₁ = [[ln 4], [−ln 4]], W₂ = [[1, 0]], T = 1: after token 0 the sums are [ln 4, 0], so
# the row is [4/5, 1/5]; after token 1 they are [−ln 4, 0] and the row is [1/5, 4/5]. The block 0, 1 comes with probability 4/5 · 1/5.
#
# `rng.choice(V, p=row)` draws a token; make it a plain int. Subtract the maximum before `np.exp`, or a logit of 1000 overflows.

# %% task="3.2"
from dspark_mini.contracts import generator, logits, numbers, takes, temperature, token

@takes(
    base_logits=logits("γ", "V"),
    anchor_token=token(below="V"),
    w1=numbers("V", "r"),
    w2=numbers("r", "V"),
    rng=generator(),
    temperature=temperature(),
)
def sample_markov_block(base_logits, anchor_token, w1, w2, rng, temperature=1.0):
    """Draw a block along the Markov chain, and keep the very rows that its tokens were drawn from.

    Args:
        base_logits: (γ, V) base logits U; −inf marks a token that cannot be drafted.
        anchor_token: x_0, the last committed token, 0 to V − 1.
        w1, w2: (V, r) and (r, V), the low-rank head.
        rng: The only source of chance.
        temperature: At 0 each position takes its best token, the lowest id of equals, and its row is one-hot.
    Returns: γ tokens, and the rows q (γ, V): token k was drawn from row k.
    Example: base_logits [[0, 2], [0, 1]], anchor 0, w1 = [[1], [-1]], w2 = [[3, 0]], temperature 0
        →  [0, 0] and [[1, 0], [1, 0]]
    """
    ### BEGIN SOLUTION
    tokens, rows = [anchor_token], []
    for row in base_logits:  # (V,)
        corrected = row + w1[tokens[-1]] @ w2  # (V,)
        if temperature == 0:
            weights = np.arange(len(row)) == corrected.argmax()
        else:
            weights = np.exp((corrected - corrected.max()) / temperature)
        rows.append(weights / weights.sum())
        tokens.append(int(rng.choice(len(row), p=rows[-1])))
    return tokens[1:], np.array(rows)
    ### END SOLUTION

# %% check="3.2"
check("3.2", sample_markov_block)

# %% [markdown]
# **Your draws, counted.** Position 1 says *of or no*, position 2 *course or problem*, each with probability ½. With W₁ = 0 there is no bias,
# and positions are independent, as in DFlash. With a head of rank 1 the same two positions keep together.

# %% role="picture"
pair = ["of", "course", "no", "problem"]
never = -math.inf
either = [[0.0, never, 0.0, never], [never, 0.0, never, 0.0]]    # of or no; course or problem
w1 = np.array([[2.0], [0.0], [-2.0], [0.0]])                     # "of" and "no" pull apart
w2 = np.array([[0.0, 1.0, 0.0, -1.0]])
blocks = [(0, 1), (2, 3), (0, 3), (2, 1)]
rng, draws = np.random.default_rng(3), 2000
shares = {}
for label, table in (("independent positions", 0 * w1), ("your chain", w1)):
    drawn = [tuple(sample_markov_block(either, 1, table, w2, rng)[0]) for _ in range(draws)]
    shares[label] = [drawn.count(block) / draws for block in blocks]
close = 1 / (1 + np.exp(-4.0))                                   # P(course | of), by hand
shares["exact law of the chain"] = [close / 2, close / 2, (1 - close) / 2, (1 - close) / 2]
viz.block_shares(shares, [f"{pair[i]} {pair[j]}" for i, j in blocks], title=f"{draws:,} drafts of two tokens")

# %% [markdown]
# ## Why the very rows
#
# Suppose the target's distribution is p = (.5, .3, .2), and one token is drafted. It is accepted with probability min(1, p/q), and a
# rejected one is replaced by a draw from the residual norm(max(p − q, 0)). The distribution of the output can be computed exactly:
# draft × acceptance, plus the share of rejections × residual. The next cell does so with the rows that **your** function returns at
# three temperatures: three times with the row of the draw in the ratio, then twice with the row of another temperature.

# %% role="picture"
target = np.array([0.5, 0.3, 0.2])
base = np.log([[0.2, 0.2, 0.6]])          # U: at T = 1 the draft is (.2, .2, .6)
no_bias = np.zeros((3, 1)), np.zeros((1, 3))


def emitted(drawn_from, in_the_ratio):
    with np.errstate(divide="ignore"):
        accept = np.minimum(1.0, target / in_the_ratio)
    residual = np.maximum(target - in_the_ratio, 0.0)
    rejected = 1.0 - (drawn_from * accept).sum()
    return drawn_from * accept + rejected * residual / residual.sum()


q = {t: sample_markov_block(base, 0, *no_bias, np.random.default_rng(0), t)[1][0] for t in (0.0, 0.5, 1.0)}
for drawn, ratio in ((1.0, 1.0), (0.5, 0.5), (0.0, 0.0), (0.5, 1.0), (0.0, 1.0)):
    out = emitted(q[drawn], q[ratio])
    off = np.abs(out - target).sum() / 2
    print(f"drawn at T = {drawn}, ratio by the row of T = {ratio}: {out.round(3)} off by {off:.3f}")

# %% [markdown]
# The first three lines give the target's distribution exactly, however odd the draft: a q that is far from p costs acceptance, never
# correctness. The last two are wrong, by 0.07 and 0.13, and no error is raised anywhere. (“Off by” is the total variation from p,
# half the sum of all absolute differences. The last line is an argmax draft that is judged by its softmax.)
#
# ## Task 3.3 · A head that remembers
#
# The Markov head forgets everything but the last token. The **RNN head** carries a state s of r numbers along the block, s₀ = 0.
# Each step joins all it knows in one vector, and one product gives all three parts of the step:
#
# $$z_k = [s_{k-1};\, W_1[x_{k-1}];\, h_k] \in \mathbb{R}^{2r+d}, \qquad [\text{gate}, \text{candidate}, \text{output}] = z_k W,$$
#
# $$s_k = \sigma(\text{gate}) \odot s_{k-1} + (1 - \sigma(\text{gate})) \odot \tanh(\text{candidate}), \qquad B_k = \tanh(\text{output})\, W_2.$$
#
# W is `w_joint`, of shape (2r + d, 3r): its first r columns give the gate, the next r the candidate, the last r the output. The
# gate says how much of the old state is **kept**. Note that the bias is computed from zₖ, that is from the *old* state.
#
# By hand, r = d = 1: state [2], embedding [0], hidden [1], W = [[0, 0, 0], [0, 0, 0], [ln 3, ½ ln 3, ½ ln 3]], W₂ = [[4, −2]]. Then
# z W = [ln 3, ½ ln 3, ½ ln 3], σ(ln 3) = ¾ and tanh(½ ln 3) = ½. The new state is ¾ · 2 + ¼ · ½ = 1.625, the bias ½ · [4, −2] = [2, −1].
#
# For σ use (1 + tanh(x/2)) / 2: it is the same function and never overflows. `np.split(…, 3)` cuts a vector into thirds.

# %% task="3.3"
from dspark_mini.contracts import numbers, takes

@takes(
    state=numbers("r"),
    prev_embedding=numbers("r"),
    hidden=numbers("d"),
    w_joint=numbers("2r+d", "3r"),
    w2=numbers("r", "V"),
)
def rnn_head_step(state, prev_embedding, hidden, w_joint, w2):
    """Take one step of the RNN head: from the old state to a new one and to a bias.

    Args:
        state: (r,) the state s after the previous position; zeros at the start of a block.
        prev_embedding: (r,) the row of W1 of the token just before.
        hidden: (d,) h_k, the output of the drafter's last layer at this position.
        w_joint: (2r+d, 3r) rows for state, embedding, hidden; columns for gate, candidate, output.
        w2: (r, V), one column per token that follows.
    Returns: The new state (r,) and the bias (V,).
    Example: state [2], prev_embedding [0], hidden [1], w2 = [[4, -2]],
        w_joint = [[0, 0, 0], [0, 0, 0], [ln 3, ln 3 / 2, ln 3 / 2]]  →  [1.625] and [2, -1]
    """
    ### BEGIN SOLUTION
    z = np.concatenate([state, prev_embedding, hidden])  # (2r+d,)
    gate, candidate, output = np.split(z @ w_joint, 3)  # (r,) each
    keep = (1.0 + np.tanh(gate / 2.0)) / 2.0  # σ(gate), in a form that never overflows
    return keep * state + (1.0 - keep) * np.tanh(candidate), np.tanh(output) @ w2
    ### END SOLUTION

# %% check="3.3"
check("3.3", rnn_head_step)

# %% [markdown]
# **What your head remembers.** The weights are set by hand: “of” and “no” are written into the state, a comma leaves it alone, and the
# output reads the state and the last token. Rows show what was drafted so far, columns the bias of the next token. After the comma
# the Markov head has forgotten; your RNN head still knows which of the two words it was.

# %% role="picture"
vectors = {"of": np.array([1.0, 0.0]), "no": np.array([0.0, 1.0]), ",": np.zeros(2)}  # W₁, r = 2
no_gate, eye = np.zeros((2, 2)), 3.0 * np.eye(2)
from_state = np.hstack([no_gate, no_gate, eye])                  # the output reads the state
from_token = np.hstack([np.full((2, 2), -12.0), eye, eye])       # a word shuts the gate and is written
from_hidden = np.array([[6.0, 6.0, 0.0, 0.0, 0.0, 0.0]])         # h is always 1 and opens the gate
w_joint = np.vstack([from_state, from_token, from_hidden])       # (2r + d, 3r) = (5, 6)
to_words = np.array([[4.0, 0.0], [0.0, 4.0]])                    # W₂: columns "course" and "problem"
prefixes = [["of"], ["no"], ["of", ","], ["no", ","], ["of", ",", ","], ["no", ",", ","]]
biases = {"RNN head": [], "Markov head": []}
for prefix in prefixes:
    state = np.zeros(2)
    for word in prefix:
        state, bias_now = rnn_head_step(state, vectors[word], [1.0], w_joint, to_words)
    biases["RNN head"].append(bias_now)
    biases["Markov head"].append(vectors[prefix[-1]] @ to_words)
viz.bias_tables(biases, before=[" ".join(prefix) for prefix in prefixes], after=["course", "problem"])

# %% [markdown]
# ## Task 3.4 · Which row predicts which token?
#
# What goes into the drafter for one block, and where do the γ predictions come out? There are two layouts, and a drafter is trained
# for one of them:
#
# * **DFlash**: the anchor and **γ masks** go in. Each mask position predicts the token that belongs there. The anchor's own row
#   predicts nothing new.
# * **DSpark**: the anchor and **γ − 1 masks** go in, and **all γ** positions predict, each the token that *follows* it: the anchor's
#   row predicts x₁, the first mask's row x₂. The bias of xₖ is conditioned on xₖ₋₁, the token of that very position.
#
# By hand, anchor 7, mask 99, γ = 3: DFlash has the inputs [7, 99, 99, 99] and predictions at [1, 2, 3]; DSpark has [7, 99, 99] and [0, 1, 2].

# %% task="3.4"
from dspark_mini.contracts import integer, one_of, takes

@takes(anchor_token=integer(), mask_token=integer(), block_size=integer(low=1), layout=one_of("dflash", "dspark"))
def draft_inputs(anchor_token, mask_token, block_size, layout):
    """Lay out the drafter's input for one block, and say at which positions predictions come out.

    Args:
        anchor_token: x_0, the last committed token.
        mask_token: The token that stands for a position to be predicted.
        block_size: γ, the number of predictions.
        layout: 'dflash' or 'dspark'.
    Returns: The input ids, and the γ input positions, in order, whose outputs are the base logits U_1..U_γ.
    Example: anchor 7, mask 99, block_size 3:
        'dflash'  →  [7, 99, 99, 99] and [1, 2, 3];   'dspark'  →  [7, 99, 99] and [0, 1, 2]
    """
    ### BEGIN SOLUTION
    first = 1 if layout == "dflash" else 0  # the first input position that predicts
    masks = [mask_token] * (block_size - 1 + first)
    return [anchor_token, *masks], list(range(first, first + block_size))
    ### END SOLUTION

# %% check="3.4"
check("3.4", draft_inputs)

# %% [markdown]
# **Your layouts, drawn.** Above each prediction stands the row that it is read from.

# %% role="picture"
viz.block_layouts({"DFlash": draft_inputs(7, 99, 4, "dflash"), "DSpark": draft_inputs(7, 99, 4, "dspark")})

# %% [markdown]
# ## The oracle test
#
# What if the layouts are mixed up? The text stays right, since the target corrects every token. So nobody notices anything but the
# lost speed. A test for it needs no trained model: an **oracle drafter**, which knows the text and puts the right token into each row
# of its own layout, must reach 100 % acceptance. The next cell runs it with your layouts: drafters of either layout, read in either
# layout. Verification is greedy, and `output` is what the reader gets.

# %% role="picture"
rng, gamma, mask = np.random.default_rng(0), 7, 99
text = rng.integers(50, size=2000).tolist()                      # what the target says, token by token


def oracle(ids, start, trained_for):
    """A perfect drafter: row i holds the token of its own position (DFlash), or the next one (DSpark)."""
    ahead = 0 if trained_for == "dflash" else 1
    return [text[start + i + ahead] for i in range(len(ids))]


def decode(trained_for, read_as):
    output, accepted, rounds = [text[0]], 0, 0
    while len(output) + gamma + 2 < len(text):
        ids, positions = draft_inputs(output[-1], mask, gamma, read_as)
        rows = oracle(ids, len(output) - 1, trained_for)         # the anchor is output's last token
        for draft in [rows[position] for position in positions]:
            if draft != text[len(output)]:                       # the target disagrees
                break
            output.append(draft)
            accepted += 1
        output.append(text[len(output)])                         # the target's own token ends the round
        rounds += 1
    return accepted / (rounds * gamma), output == text[:len(output)]


print("drafter trained for   read as   accepted   output is the target's text")
for trained_for in ("dflash", "dspark"):
    for read_as in ("dflash", "dspark"):
        share, same = decode(trained_for, read_as)
        print(f"{trained_for:>19} {read_as:>9} {share:>9.1%}   {same}")

# %% [markdown]
# A DSpark drafter read as DFlash is read **one row late**. A DFlash drafter read as DSpark is read one row early: its first row only
# repeats the anchor. Acceptance collapses to the chance that two neighbouring tokens of the text are equal, and the text stays right.
#
# ## Looking back
#
# * **What you saw.** A head of rank r holds r habits, and a bias costs one lookup and one small product. Drawing along the chain keeps
#   apart the modes that independent positions mix. The rows must come with the tokens; another row in the ratio shifts the output.
# * **What the papers report.** The DSpark paper uses r = 256, and its sequential head adds 0.2–1.3 % to the latency of a round (draft
#   lengths 4–16, batch 128). A DSpark drafter of two layers beats a DFlash drafter of five, and the gain over DFlash grows with the
#   block, to +22 to +30 % at γ = 15 (DSpark, arXiv 2607.05147).
# * **What production engines got wrong here: layouts.** A healthy drafter of the DFlash layout was served as a DSpark one, with about
#   0.9 % acceptance and no warning ([vLLM issue 56792](https://github.com/vllm-project/vllm/issues/56792)). The other way round, a
#   drafter whose anchor predicts was read from the first mask on: accepted length 1.06, where its card reports 2.76
#   ([SGLang pull request 40203](https://github.com/sgl-project/sglang/pull/40203)). The name of a drafter does not tell: one of
#   DeepSeek's DFlash checkpoints predicts from the anchor, so the layout became an explicit flag
#   ([sglang-jax pull request 1619](https://github.com/sgl-project/sglang-jax/pull/1619)). That is why it is an argument here.
# * **And rows.** Candidate generators of one library drew from processed logits, or took the argmax, and returned the raw logits as q. The
#   report measured how far the output was off on real text: 0.05 in the median, more than 0.20 at one position in twenty
#   ([Transformers issue 47932](https://github.com/huggingface/transformers/issues/47932)). Elsewhere a token was drawn in 16 bits and
#   judged by a row computed in 32 ([DeepSpec issue 31](https://github.com/deepseek-ai/DeepSpec/issues/31)). And a DFlash block drawn
#   position by position at temperature 1 came to 1.16 accepted tokens per step, its argmax with one-hot rows to 2.96, as measured in
#   [DFlash pull request 169](https://github.com/z-lab/dflash/pull/169): modes collide, as in your picture above.
#
# ## Further reading
#
# * DSpark: *Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation*, [arXiv 2607.05147](https://arxiv.org/abs/2607.05147): Markov,
#   gated and RNN head
# * DFlash, [arXiv 2602.06036](https://arxiv.org/abs/2602.06036): the layout with γ masks
# * Leviathan et al. 2023, *Fast Inference from Transformers via Speculative Decoding*, [arXiv 2211.17192](https://arxiv.org/abs/2211.17192): why p/q and the residual
#   give exactly p
# * [DeepSpec](https://github.com/deepseek-ai/DeepSpec): the three heads in torch, next to your tasks 3.1 to 3.3
