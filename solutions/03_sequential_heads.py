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
# | **You need** | NumPy products and softmax; lesson 02 helps |
#
# Run the cells in order (Shift+Enter). Stuck? Type `hint("3.1")` in a new cell.

# %% role="setup"
import math

import numpy as np

from grader import check, hint

# %% [markdown]
# ## A block as a chain
#
# One forward of the drafter gives base logits U₁ … Uᵧ for the whole block. Drawn independently they mix **modes**: “of course” and “no problem” become “of problem”.
# DSpark turns the block into a **chain**:
#
# $$P(x_1,\dots,x_\gamma \mid x_0) = \prod_{k=1}^{\gamma} p_k(x_k \mid x_0, x_{<k}), \qquad p_k = \operatorname{softmax}(U_k + B_k).$$
#
# Only the bias Bₖ is computed token by token, so it has to be cheap. The **Markov head** reads it from a table with a row for every token that may stand before: Bₖ =
# B(xₖ₋₁, ·). Two other heads also see hₖ, the drafter's hidden state at position k.

# %% [markdown]
# ## What a table of transitions costs
#
# A full table has V² numbers. The head keeps it as a product of two thin matrices, **W₁** of shape (V, r) and **W₂** of shape (r, V), of **rank** r = 256 in the
# DSpark paper:

# %% role="show"
from dspark_mini import viz

V, r = 151_936, 256
for name, count in (("full table   V²   ", V * V), ("two matrices 2·V·r", 2 * V * r)):
    print(f"{name} = {count:>14,} numbers = {2 * count / 1e9:5.2f} GB in 16 bits")
print(f"{V / (2 * r):.0f} times fewer; one bias costs a lookup of {r} numbers and {V * r:,} multiplications")

# %% [markdown]
# ## Task 3.1 · One row of a table that does not exist
#
# The table is W₁W₂, but nobody ever computes it: a bias is a single row of it.
#
# By hand: with W₁ = [[1, 0], [0, 2], [1, 1]] and W₂ = [[1, 2, 3], [0, 1, 0]] the bias after token 1 is [0, 2, 0]. Which numbers did it need?

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
    Example: w1 = [[2], [3]], w2 = [[1, 10]], token 1  →  [3, 30]
    """
    ### BEGIN SOLUTION
    return w1[token] @ w2
    ### END SOLUTION

# %% check="3.1"
check("3.1", low_rank_bias)

# %% [markdown]
# **Your function, drawn.** A table holds three habits: “of course”, “no problem”, “thank you”. It is cut down to ranks 1, 2 and 3 by singular values. Each habit costs
# one unit of rank.

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
# σ(x) = 1/(1 + e⁻ˣ), ⊙ multiplies entry by entry, and [h; w] is h followed by w. The row of “of” has two numbers here, for “course” and for “the”; the context decides
# which passes.

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
# At temperature T > 0 the drafter **draws** xₖ from
#
# $$q_k = \operatorname{softmax}\bigl((U_k + B(x_{k-1}, \cdot))\,/\,T\bigr).$$
#
# Return the tokens **and the rows qₖ they were drawn from**: min(1, p(x)/q(x)) (lesson 01) is lossless only if q is the very row of the draw. At T = 0 each position
# takes its best token, of equal ones the lowest id; it was certain, so its row is **one-hot**, zeros with a single 1.
#
# By hand, with U = [[0, 0], [0, 0]], anchor 0, W₁ = [[ln 4], [−ln 4]], W₂ = [[1, 0]], T = 1: after token 0 the row is [4/5, 1/5], after token 1 it is [1/5, 4/5]. The
# block 0, 1 comes with 4/5 · 1/5.
#
# `rng.choice(V, p=row)` draws. Logits may be 1000 or −∞; e¹⁰⁰⁰ overflows.

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
# **Your draws, counted.** Position 1 says *of or no*, position 2 *course or problem*, each with probability ½. With W₁ = 0 they are independent; a head of rank 1
# keeps them together.

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
shares |= {"exact law of the chain": [close / 2, close / 2, (1 - close) / 2, (1 - close) / 2]}
viz.block_shares(shares, [f"{pair[i]} {pair[j]}" for i, j in blocks], title="Drafts of two tokens")

# %% [markdown]
# ## Why the very rows
#
# One token is drafted, accepted with min(1, p/q), or replaced from norm(max(p − q, 0)). The cell adds up the distribution of the output, first with **your** row of
# the draw in the ratio, then with that of another temperature.

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
# However odd the draft, its own row gives the target's distribution. The last two are off by 0.07 and 0.13 (total variation), and no error is raised.
#
# ## Task 3.3 · A head that remembers
#
# The **RNN head** carries a state s of r numbers along the block, s₀ = 0. Each step joins all it knows in one vector; one product gives three parts:
#
# $$z_k = [s_{k-1};\, W_1[x_{k-1}];\, h_k] \in \mathbb{R}^{2r+d}, \qquad [\text{gate}, \text{candidate}, \text{output}] = z_k W,$$
#
# $$s_k = \sigma(\text{gate}) \odot s_{k-1} + (1 - \sigma(\text{gate})) \odot \tanh(\text{candidate}), \qquad B_k = \tanh(\text{output})\, W_2.$$
#
# W is `w_joint`, of shape (2r + d, 3r). By hand, r = d = 1: state [2], embedding [0], hidden [1], W = [[0, 0, 0], [0, 0, 0], [ln 3, ½ ln 3, ½ ln 3]], W₂ = [[4, −2]].
# With σ(ln 3) = ¾ and tanh(½ ln 3) = ½ the new state is ¾ · 2 + ¼ · ½ = 1.625, the bias [2, −1].
#
# σ(x) = (1 + tanh(x/2)) / 2 never overflows.

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
    Example: state [8], prev_embedding [0], hidden [0], w_joint all zeros, w2 = [[4, -2]]  →  [4] and [0, 0]
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
# **What your head remembers.** By hand-set weights “of” and “no” are written into the state, and a comma leaves it alone. Rows: drafted so far; columns: bias of the
# next token.

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
# ## Two more heads, and what heads trade
#
# DeepSpec's **gated head** lets hₖ close parts of the Markov bias, σ(gate [hₖ; W₁[xₖ₋₁]]) ⊙ W₁[xₖ₋₁], and still knows only the token before. **Domino**'s head
# remembers like the RNN head: a GRU reads the chosen tokens one by one, and its state gₖ and hₖ together make the bias, W [hₖ; gₖ]. So heads trade what they know of the
# block against the time of their γ steps, which wait for each other: `dspark-mini race --method dspark-gated --method domino` measures both.

# %% [markdown]
# ## Task 3.4 · Which row predicts which token?
#
# Each input position has one output. A drafter is trained for one of two layouts; both begin with the anchor, go on with masks, and make γ predictions:
#
# * **DFlash**: a mask predicts the token that belongs *in its own place*. The anchor's output says nothing new.
# * **DSpark**: every position predicts the token that *follows* it, the anchor's x₁. So xₖ comes out at the position of xₖ₋₁, whose bias it gets.
#
# By hand, anchor 7, mask 99, γ = 3: DFlash has the inputs [7, 99, 99, 99] and predictions at [1, 2, 3]. And DSpark?

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
    Example: anchor 7, mask 99, block_size 2, 'dflash'  →  [7, 99, 99] and [1, 2]
    """
    ### BEGIN SOLUTION
    first = 1 if layout == "dflash" else 0  # the first input position that predicts
    masks = [mask_token] * (block_size - 1 + first)
    return [anchor_token, *masks], list(range(first, first + block_size))
    ### END SOLUTION

# %% check="3.4"
check("3.4", draft_inputs)

# %% [markdown]
# **Your layouts, drawn.**

# %% role="picture"
viz.block_layouts({"DFlash": draft_inputs(7, 99, 4, "dflash"), "DSpark": draft_inputs(7, 99, 4, "dspark")})

# %% [markdown]
# ## The oracle test
#
# If layouts are mixed up, the target still corrects the text; only speed is lost. An **oracle drafter**, with the right token in each row of its own layout, must
# reach 100 % acceptance.

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
# DSpark read as DFlash is read **one row late**, the reverse one row early. What is left is the chance that two neighbouring tokens are equal.
#
# ## Looking back
#
# * **What the paper reports.** {paper:head} {paper:figure_3} {paper:figure_4}
# * **What production engines got wrong: layouts.** A healthy drafter served in the wrong layout: about 0.9 % acceptance, no warning ([vLLM
#   56792](https://github.com/vllm-project/vllm/issues/56792)). The reverse: accepted length 1.06 instead of 2.76 ([SGLang
#   40203](https://github.com/sgl-project/sglang/pull/40203)). Names do not tell: a DFlash checkpoint of DeepSeek predicts from the anchor ([sglang-jax
#   1619](https://github.com/sgl-project/sglang-jax/pull/1619)).
# * **And rows.** Drawn from processed logits, returned as raw ones ([Transformers 47932](https://github.com/huggingface/transformers/issues/47932)); drawn in 16 bits,
#   judged in 32 ([DeepSpec 31](https://github.com/deepseek-ai/DeepSpec/issues/31)). A DFlash block drawn position by position had 1.16 tokens accepted per step, its
#   argmax with one-hot rows 2.96 ([DFlash 169](https://github.com/z-lab/dflash/pull/169)): modes collide.
#
# ## Open problem
#
# The small language model has a head of rank 64. Squeeze it to **rank 4**: change `squeezed`, which keeps four columns, so that τ falls least, without a look at the
# twelve prompts. What does a softmax not see? Which tokens are frequent? And must the small table resemble the large one?

# %% role="show"
from dspark_mini.lm import load, prompts
from grader import own

lm = load(drafters=["dspark"], attention=own("2.6"))  # the drafter runs on your attention of lesson 02
drafter = lm.drafters["dspark"]
w1, w2 = (np.array(matrix, dtype=float) for matrix in drafter.factors)  # (297, 64) and (64, 297)
measured = [prompt for domain in ("math", "code", "chat")
            for prompt in prompts(lm.tokenizer, domain, 4, seed=7)]


def tau(w1, w2):
    """Decode greedily with this head: tokens per round of seven drafts."""
    rounds = emitted = 0
    for prompt in measured:
        lm.clear()
        lm.target.forward(prompt[:-1])
        drafter.cache.extend(prompt[:-1])
        text = list(prompt)
        while len(text) < len(prompt) + 60:
            block = [text[-1]]
            for row in drafter.block_logits(text[-1], 7):
                block.append(int((row + low_rank_bias(w1, w2, block[-1])).argmax()))
            says = lm.target.forward(block).argmax(axis=1).tolist()  # one row more than drafts
            kept = next((k for k in range(7) if block[k + 1] != says[k]), 7)
            lm.target.cache.drop(7 - kept)
            drafter.cache.extend(block[:kept + 1])
            text += says[:kept + 1]
            rounds, emitted = rounds + 1, emitted + kept + 1
    return emitted / rounds

# %% role="picture"
def squeezed(w1, w2):
    """Two matrices of rank 4: yours to improve."""
    return w1[:, :4], w2[:4]


FOUR_COLUMNS, ALL_64 = 3.56, 5.37  # tau() of the first four columns, and of the head as it was trained
FOUND = 5.84  # best known: fitted to texts that the target wrote for 36 other prompts (600 steps of Adam)
head = squeezed(w1, w2)
print(f"yours {tau(*head):.2f} with rank {head[0].shape[1]}")
print(f"four columns {FOUR_COLUMNS}, all 64 {ALL_64}, best known with rank 4 {FOUND}")

# %% [markdown]
# ## Further reading
#
# * [DSpark](https://arxiv.org/abs/2607.05147): *Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation*: Markov, gated and RNN head
# * [DFlash](https://arxiv.org/abs/2602.06036): the layout with γ masks
# * [Domino](https://arxiv.org/abs/2605.29707): a GRU as the sequential head
# * Leviathan et al., [*Fast Inference from Transformers via Speculative Decoding*](https://arxiv.org/abs/2211.17192): why p/q and the residual give p
# * [DeepSpec](https://github.com/deepseek-ai/DeepSpec): the three heads in torch
