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
# # Lesson 08 · Bug clinic
#
# *What goes wrong in real engines, how does it show, and which small input proves it?*
#
# | | |
# |---|---|
# | **You build** | sixteen repairs: each function below has one bug of a kind that was really shipped |
# | **Difficulty** | ●●●○○ — one to eight lines each; finding the input is the work |
# | **Time** | about 120 minutes; the five parts are independent, so take one per sitting |
# | **You need** | the terms of the earlier lessons (anchor, block, p and q, prefix), but none of their tasks solved |
#
# Here no cell says `NotImplementedError`. Every function runs, and nothing crashes: that is why such bugs are
# shipped. For each one you get the **symptom**, as an engineer saw it, and the **rule**, in the docstring.
#
# 1. Read the symptom and the rule. Do not read the code yet.
# 2. Below the function is a cell with an input. Change it until the answer breaks the rule.
# 3. Now read the code, knowing what it does wrong. Repair it, and run the check.
#
# The check names a failing input too, so you cannot get stuck. Hints: `dspark-mini hint 8.3` in a terminal.

# %% role="setup"
import numpy as np

from dspark_mini import viz
from grader import check

# %% [markdown]
# ## Where the bugs sit, and how they show
#
# A verifier corrects everything that the drafter gets wrong. So most bugs never change the text: they cost acceptance,
# or time, and nobody notices. The ones in the verifier itself do change the text, a little, in a way that only a count
# of many samples shows. The ones at the end of a text are seen by users.

# %% role="show"
slow, law = "text right, acceptance low", "text from the wrong law"
end, cost = "wrong end or wrong count", "text right, time lost"
viz.bug_map({
    "learn": {"8.1": slow, "8.2": slow},
    "draft": {"8.3": slow, "8.4": slow, "8.5": law},
    "verify": {"8.6": law, "8.7": law, "8.8": law, "8.9": law},
    "commit": {"8.10": end, "8.11": end, "8.12": end, "8.13": slow},
    "schedule": {"8.14": cost, "8.15": cost, "8.16": cost},
})

# %% [markdown]
# # Part 1 · What the drafter learns from
#
# ## Bug 8.1 · Training looks wonderful, evaluation does not
#
# **Seen.** The more anchors a training sequence had, the lower the loss and the higher the accuracy in training, and
# the worse every evaluation ([SpecForge issue 470](https://github.com/sgl-project/SpecForge/issues/470)).
#
# **Rule.** In training, many blocks are cut from one sequence, and each brings the target's features of its own
# positions. At inference, when a block is drafted, only the features **before** its anchor exist. So in training it may
# see no others.
#
# By hand: anchors 0 and 2 with γ = 2. The first block brings positions 0 and 1, the second 2 and 3. The first may see
# nothing, the second may see positions 0 and 1: the rows `[0, 0, 0, 0]` and `[1, 1, 0, 0]`.

# %% bug="8.1"
from dspark_mini.contracts import integer, integers, takes

@takes(anchor_positions=integers("A"), block_length=integer(low=1))
def visible_features(anchor_positions, block_length):
    """Mark the features of the target that each training block may see: those strictly before its anchor.

    Args:
        anchor_positions: list (A,), one anchor per block, in any order; blocks may overlap.
        block_length: γ; block i brings the features of positions anchor_i to anchor_i + γ − 1.
    Returns: Boolean array (A, A·γ): row j is True where a feature lies before anchor j.
    Example: anchors [0, 2], block_length 2  →  [[0, 0, 0, 0], [1, 1, 0, 0]] as booleans
    """
    ### BEGIN SOLUTION
    anchors = np.array(anchor_positions)[:, None]  # (A, 1)
    read_at = anchors + np.arange(block_length)  # (A, γ) the position of each feature
    return read_at.ravel() < anchors  # (A, A·γ)
    ### END SOLUTION

# %% [markdown]
# **Find the input.** With anchors 0 and 3 the mask is right. Where must a block begin to see its own future? The
# numbers below the columns are the positions at which the features were read.

# %% role="picture"
anchors, block_length = [0, 3], 3                    # change these
mask = visible_features(anchors, block_length)
read_at = [a + k for a in anchors for k in range(block_length)]
print("anchors:", anchors)
viz.mask_picture(mask, mask.shape[1], block_length=1, positions=read_at, title="which features each block may see")

# %% check="8.1"
check("8.1", visible_features)

# %% [markdown]
# ## Bug 8.2 · Ten per cent at the first position
#
# **Seen.** The drafter's first token was accepted about 10 % of the time where about 45 % were expected, and
# serving was slower with speculation than without ([vLLM pull request
# 43671](https://github.com/vllm-project/vllm/pull/43671)). Another engine made the same mistake ([onnxruntime-genai
# pull request 2538](https://github.com/microsoft/onnxruntime-genai/pull/2538)).
#
# **Rule.** The drafter was trained on what comes **out** of certain layers of the target. An engine keeps a list
# `hidden_states` with one entry more than there are layers: the first is the embedding, which goes **into** layer 0.
#
# By hand: a target of two layers has the states `[0, 1]`, `[2, 3]`, `[4, 5]`. Out of layer 0 comes `[2, 3]`, out of
# layer 1 comes `[4, 5]`.

# %% bug="8.2"
from dspark_mini.contracts import integers, numbers, takes

@takes(hidden_states=numbers("L+1", "d"), layer_ids=integers("m", below="L"))
def tapped_features(hidden_states, layer_ids):
    """Concatenate the outputs of some layers of the target: the features that the drafter reads.

    Args:
        hidden_states: (L + 1, d); entry 0 is the embedding, entry i + 1 the output of layer i.
        layer_ids: list (m,), the layers whose outputs are wanted, in this order.
    Returns: Array (m·d,).
    Example: hidden_states [[0, 1], [2, 3], [4, 5]], layer_ids [1]  →  [4, 5]
    """
    ### BEGIN SOLUTION
    return np.concatenate([hidden_states[layer + 1] for layer in layer_ids])
    ### END SOLUTION

# %% [markdown]
# **Find the input.** These states are all alike, so no mistake can show. Make them differ.

# %% role="picture"
tapped_features([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]], layer_ids=[1])

# %% check="8.2"
check("8.2", tapped_features)

# %% [markdown]
# # Part 2 · Drafting
#
# ## Bug 8.3 · Acceptance that fades with the length of the context
#
# **Seen.** Acceptance was 0.8 with prompts of 1,000 tokens and 0.22 with 12,000. At 12,000, speculation ran at 9.7
# tokens per second and plain decoding at 13.25. Another engine with the same weights kept 0.57 to 0.87 at every length
# ([ik_llama.cpp pull request 2296](https://github.com/ikawrakow/ik_llama.cpp/pull/2296)).
#
# **Rule.** The inputs of a draft block are the anchor and masks, each with its position in the text. The drafter's
# cache holds a row for every committed token **but** the anchor, because the anchor has not been through the target
# yet.
#
# By hand: the cache holds positions 0, 1, 2. The anchor stands at 3, so a block of three inputs has 3, 4, 5.

# %% bug="8.3"
from dspark_mini.contracts import integer, integers, takes

@takes(cached_positions=integers("n", empty=True), block_size=integer(low=1))
def block_input_positions(cached_positions, block_size):
    """Number the inputs of a draft block: the anchor, which follows the cached tokens, then the masks.

    Args:
        cached_positions: positions of the rows in the drafter's cache, rising; it ends with the committed token
            before the anchor, and a window may have dropped the oldest rows. Empty at the start.
        block_size: number of inputs, the anchor included.
    Returns: block_size positions.
    Example: cached_positions [0, 1, 2], block_size 3  →  [3, 4, 5]
    """
    ### BEGIN SOLUTION
    anchor = cached_positions[-1] + 1 if cached_positions else 0
    return [anchor + k for k in range(block_size)]
    ### END SOLUTION

# %% [markdown]
# **Find the input.** With an empty cache the positions are right. Which caches give an input a position that is already
# taken?

# %% role="picture"
cached = []                                          # change this
print("cache:", cached, "  block:", block_input_positions(cached, block_size=3))

# %% check="8.3"
check("8.3", block_input_positions)

# %% [markdown]
# ## Bug 8.4 · One row off
#
# **Seen.** A checkpoint with the anchor-first layout was served as if it had the other one: accepted length 1.065. With
# its own layout, the same weights and the same requests it was 1.631 ([comment in SGLang pull request
# 40203](https://github.com/sgl-project/sglang/pull/40203)). Nothing failed, since the target corrects the text. The
# opposite mix-up exists as well, with an acceptance below 1 % ([vLLM issue
# 56792](https://github.com/vllm-project/vllm/issues/56792)).
#
# **Rule.** DFlash feeds the anchor and γ masks, and the masks predict. DSpark feeds the anchor and γ − 1 masks, and
# **every** position predicts the token after it, the anchor too.
#
# By hand: three rows with their best tokens 1, 0, 1. As 'dflash' that is γ = 2 and the tokens `[0, 1]`; as 'dspark' it
# is γ = 3 and the tokens `[1, 0, 1]`.

# %% bug="8.4"
from dspark_mini.contracts import logits, one_of, takes

@takes(block_logits=logits("rows", "V"), layout=one_of("dflash", "dspark"))
def read_predictions(block_logits, layout):
    """Read the draft tokens off the output rows of one block, in the drafter's own layout.

    Args:
        block_logits: (rows, V) output logits, the anchor's row first.
        layout: 'dflash': the anchor and γ masks are fed, and the masks predict; 'dspark': the anchor and γ − 1 masks
            are fed, and every position predicts.
    Returns: γ token ids; of equal logits the lowest id wins.
    Example: [[0, 1], [1, 0], [0, 1]]: 'dflash'  →  [0, 1];  'dspark'  →  [1, 0, 1]
    """
    ### BEGIN SOLUTION
    first = 1 if layout == "dflash" else 0  # the first row that predicts
    return block_logits[first:].argmax(axis=1).tolist()
    ### END SOLUTION

# %% [markdown]
# **Find the input.** The best test of a layout is an **oracle**: a drafter that knows what the target will say. It must
# always be accepted. This one says tokens 3, 1, 4, 1, 5 in the rows where its layout has them; anything below 1 is a
# bug.

# %% role="picture"
truth = [3, 1, 4, 1, 5]
curves = {}
for layout in ("dflash", "dspark"):
    rows = np.eye(6)[truth if layout == "dspark" else [0, *truth]]   # (γ, 6) or (γ + 1, 6)
    drafts = read_predictions(rows, layout)
    right = [k < len(drafts) and drafts[k] == token for k, token in enumerate(truth)]
    reached = right.index(False) if False in right else len(truth)
    rest = [0.0] + [np.nan] * len(truth)                             # a failure; what follows is not known
    curves[layout] = ([1.0] * reached + rest)[: len(truth)]
viz.acceptance_decay(curves, title="An oracle drafter, read by your function")

# %% check="8.4"
check("8.4", read_predictions)

# %% [markdown]
# ## Bug 8.5 · Half a translation
#
# **Seen.** A drafter with a small vocabulary has token ids of its own. A checkpoint came without the table that
# translates them, and the engine silently took draft ids for target ids: acceptance collapsed ([NeMo Automodel pull
# request 2447](https://github.com/NVIDIA-NeMo/Automodel/pull/2447)). A table with the wrong default is as bad
# ([verl-SpeCo pull request 67](https://github.com/verl-project/verl-SpeCo/pull/67)). The function below makes half of
# that mistake, which is harder to see: the token is translated, its probabilities are not.
#
# **Rule.** The ratio p(x)/q(x) looks both up under the target's id of x. `d2t` holds **offsets**: draft token i is the
# target's token i + d2t[i].
#
# By hand: `draft_probs` [.75, .25] and offsets [0, 2]. Draft token 0 is the target's 0, draft token 1 is the target's
# 3. In a target vocabulary of 4 the row is [.75, 0, 0, .25].

# %% bug="8.5"
from dspark_mini.contracts import integer, integers, probabilities, takes, token
from dspark_mini.rules import target_ids_are_distinct

@takes(
    target_ids_are_distinct,
    draft_probs=probabilities("V_d"),
    token=token(below="V_d"),
    d2t=integers("V_d"),
    vocabulary=integer(low=1),
)
def draft_in_target_ids(token, draft_probs, d2t, vocabulary):
    """Translate a draft token, and the row it was drawn from, into the target's vocabulary.

    Args:
        token: the draft token, an id of the drafter.
        draft_probs: (V_d,) the row that it was drawn from, by the drafter's ids.
        d2t: list (V_d,), offsets: the drafter's token i is the target's token i + d2t[i].
        vocabulary: V, the size of the target's vocabulary.
    Returns: A dict: token, the target's id; row, array (V,), the probabilities by the target's ids.
    Example: token 1, draft_probs [.75, .25], d2t [0, 2], vocabulary 4  →  token 3, row [.75, 0, 0, .25]
    """
    ### BEGIN SOLUTION
    target_ids = np.arange(len(d2t)) + d2t  # (V_d,)
    row = np.zeros(vocabulary)
    row[target_ids] = draft_probs
    return {"token": int(target_ids[token]), "row": row}
    ### END SOLUTION

# %% [markdown]
# **Find the input.** With offsets of 0 the q that the verifier looks up is the right one. Give the drafter other
# tokens; no two may have the same id.

# %% role="picture"
d2t = [0, 0, 0]                                      # change this; the vocabulary ends at 5
carried = draft_in_target_ids(token=2, draft_probs=[0.5, 0.3, 0.2], d2t=d2t, vocabulary=6)
print("target id", carried["token"], "  drawn with q = 0.2")
print("q that is looked up:", carried["row"][carried["token"]])

# %% check="8.5"
check("8.5", draft_in_target_ids)

# %% [markdown]
# # Part 3 · Verifying
#
# Here the text itself is at stake. A draft x is drawn from q, accepted with probability min(1, p(x)/q(x)), and
# otherwise replaced by a token of the residual max(p − q, 0). Then the emitted token is distributed exactly as p. The
# next cell follows every possibility and adds up their probabilities: given p, the row q that the verifier is **told**,
# and the law that drafts are **really** drawn from. When the last two agree, the result is p.

# %% role="show"
def emitted_law(p, q_told, q_drawn):
    """The exact law of the emitted token: every draft, accepted and rejected."""
    p, q_told, q_drawn = map(np.asarray, (p, q_told, q_drawn))
    emitted = np.zeros(p.size)
    for x in np.flatnonzero(q_drawn):
        accept = min(1.0, p[x] / q_told[x]) if q_told[x] > 0 else 1.0
        residual = np.maximum(p - q_told, 0.0)
        emitted[x] += q_drawn[x] * accept
        if accept < 1:
            emitted += q_drawn[x] * (1 - accept) * residual / residual.sum()
    return emitted


p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
print("told what was drawn from:", emitted_law(p, q, q).round(3))
print("p                       :", p)

# %% [markdown]
# ## Bug 8.6 · A greedy drafter that claims to have sampled
#
# **Seen.** The target says [.6, .4], the drafter's softmax [.8, .2], and the drafter is greedy. Out come [.75, .25]
# ([Transformers issue 32867](https://github.com/huggingface/transformers/issues/32867), with just these numbers).
#
# **Rule.** q(x) is the probability with which **this** drafter drafts x. A greedy drafter always drafts its best token.
#
# By hand, with the bug: token 0 is drafted always and accepted with .6/.8 = .75; the residual is [0, .2], so token 1
# follows in the other .25.

# %% bug="8.6"
from dspark_mini.contracts import probabilities, takes

@takes(draft_probs=probabilities("γ", "V"))
def greedy_proposal(draft_probs):
    """Draft greedily, and hand the verifier the rows q that the tokens were really drawn from.

    Args:
        draft_probs: (γ, V) the drafter's softmax rows.
    Returns: A dict: tokens, γ ids, the lowest of equal ones; rows, array (γ, V): 1 at the token, 0 elsewhere.
    Example: [[.8, .2]]  →  tokens [0], rows [[1, 0]]
    """
    ### BEGIN SOLUTION
    tokens = draft_probs.argmax(axis=1)  # (γ,)
    return {"tokens": tokens.tolist(), "rows": np.eye(draft_probs.shape[1])[tokens]}
    ### END SOLUTION

# %% [markdown]
# **Find the input.** For the rows below, what your function hands over is harmless. Put in the softmax [.8, .2].

# %% role="picture"
target, softmax = [0.6, 0.4], [1.0, 0.0]             # change the softmax
told = greedy_proposal([softmax])
drawn = np.eye(len(softmax))[told["tokens"][0]]      # a greedy drafter drafts this token always
law = emitted_law(target, told["rows"][0], drawn)
viz.emitted_laws(target, {"with the row of your function": law})

# %% check="8.6"
check("8.6", greedy_proposal)

# %% [markdown]
# ## Bug 8.7 · Acceptance too good to be true
#
# **Seen.** Drafts were drawn after top-k, but the raw probabilities were handed over as q. On 477 positions of real
# text with top_k = 50, the emitted tokens were off by .05 in total variation at the median and by .31 at worst. And yet
# the acceptance rate looked *better* than it should have been, .78 instead of .73 ([Transformers issue
# 47932](https://github.com/huggingface/transformers/issues/47932)).
#
# **Rule.** Whatever changes the drafter's probabilities before the draw (top-k, top-p, temperature, a cast to another
# dtype) must be in the row that the verifier gets.
#
# By hand: [.5, .3, .2] with top_k = 2 draws token 0 with .5/.8 = .625 and token 1 with .375. That is the row.

# %% bug="8.7"
from dspark_mini.contracts import generator, integer, probabilities, takes

@takes(draft_probs=probabilities("V"), top_k=integer(low=1), rng=generator())
def top_k_proposal(draft_probs, top_k, rng):
    """Draw a draft from the drafter's top_k tokens, and hand over the row q that it was drawn from.

    Args:
        draft_probs: (V,) the drafter's softmax row.
        top_k: number of tokens that are kept, the lowest ids of equal ones; from V on, all of them.
        rng: source of chance.
    Returns: A dict: token, an id; row, array (V,): the kept probabilities divided by their sum, 0 elsewhere.
    Example: [.5, .3, .2], top_k 2  →  token 0 with probability 5/8, else 1;  row [.625, .375, 0]
    """
    ### BEGIN SOLUTION
    kept = np.argsort(-draft_probs, kind="stable")[:top_k]
    row = np.zeros(len(draft_probs))
    row[kept] = draft_probs[kept] / draft_probs[kept].sum()
    return {"token": int(rng.choice(len(row), p=row)), "row": row}
    ### END SOLUTION

# %% [markdown]
# **Find the input.** With top_k = 3 all tokens are kept, and nothing is wrong. Lower it.

# %% role="picture"
target, softmax, top_k = [0.2, 0.5, 0.3], [0.5, 0.3, 0.2], 3      # change top_k
told = top_k_proposal(softmax, top_k, np.random.default_rng(0))["row"]
kept = np.where(np.argsort(np.argsort(-np.array(softmax))) < top_k, softmax, 0.0)
law = emitted_law(target, told, kept / kept.sum())
viz.emitted_laws(target, {"with the row of your function": law})

# %% check="8.7"
check("8.7", top_k_proposal)

# %% [markdown]
# ## Bug 8.8 · A ratio that never asks the drafter
#
# **Seen.** A drafter that returns tokens only has no q to divide by. So an engine divided by the largest probability of
# the **target** ([1bit-MONSTER issue 637](https://github.com/1bit-MONSTER/1bit-MONSTER/issues/637)). Whatever the
# target likes is then accepted, however the drafter came to it.
#
# **Rule.** A draft passes if its uniform lies below p(x)/q(x), with q from the row that it was drawn from.
#
# By hand: p(x) = .25 and q(x) = .25 give the ratio 1, and the draft always passes, even if another token has p = .5.
# And p(x) = .375 with q(x) = .75 gives .5, even if no token has more than .375.

# %% bug="8.8"
from dspark_mini.contracts import chances, probabilities, takes, tokens
from dspark_mini.rules import drafts_are_possible

@takes(
    drafts_are_possible,
    draft_probs=probabilities("γ", "V"),
    target_probs=probabilities("γ", "V"),
    draft_tokens=tokens("γ", below="V"),
    uniforms=chances("γ"),
)
def accepted_by_uniforms(draft_tokens, draft_probs, target_probs, uniforms):
    """Count the drafts up to the first that fails: draft k passes if uniforms[k] < p_k(x_k) / q_k(x_k).

    Args:
        draft_tokens: list (γ,), draft tokens x_k.
        draft_probs: (γ, V) rows q_k that they were drawn from.
        target_probs: (γ, V) rows p_k of the target.
        uniforms: (γ,) numbers drawn uniformly between 0 and 1.
    Returns: The number of accepted drafts.
    Example: tokens [1, 0], q [[.5, .5], [.5, .5]], p [[.75, .25], [.5, .5]], uniforms [.4, .9]  →  2
    """
    ### BEGIN SOLUTION
    accepted = 0
    for x, q, p, uniform in zip(draft_tokens, draft_probs, target_probs, uniforms):
        if uniform >= p[x] / q[x]:
            break
        accepted += 1
    return accepted
    ### END SOLUTION

# %% [markdown]
# **Find the input.** Here the draft is the target's best token, and p and q agree: it passes, as it must. Look for one
# that is accepted wrongly, and for one that is rejected wrongly.

# %% role="picture"
p, q = [0.5, 0.25, 0.25], [0.5, 0.25, 0.25]          # change these, and the draft x
x, uniform = 0, 0.75
accepted = accepted_by_uniforms([x], [q], [p], [uniform])
ratio = p[x] / q[x]
print(f"p/q = {ratio:.3f}, uniform {uniform}: accepted {accepted}, should be {int(uniform < ratio)}")

# %% check="8.8"
check("8.8", accepted_by_uniforms)

# %% [markdown]
# ## Bug 8.9 · One coin for two decisions
#
# **Seen.** A kernel drew one uniform for the acceptance and derived the replacement from the same one. The acceptance
# rate was right; the emitted tokens were biased ([vLLM Ascend pull request
# 16370](https://github.com/vllm-project/vllm-ascend/pull/16370)).
#
# **Rule.** Whether a draft is rejected and which token replaces it are two decisions, and they need two independent
# numbers.
#
# By hand: p = [.25, .375, .375], q = [.5, .25, .25], and token 0 was drafted. It is kept with probability ½. The
# residual is [0, .125, .125], so tokens 1 and 2 must follow with ¼ each.

# %% bug="8.9"
from dspark_mini.contracts import generator, probabilities, takes, token
from dspark_mini.rules import token_is_possible

@takes(token_is_possible, p=probabilities("V"), q=probabilities("V"), token=token(below="V"), rng=generator())
def emit_one_token(token, p, q, rng):
    """Verify one draft: emit it with probability min(1, p/q), else a token of max(p − q, 0) divided by its sum.

    Args:
        token: the draft, drawn from q.
        p: (V,) the target's probabilities.
        q: (V,) the drafter's, with q[token] above 0.
        rng: source of chance.
    Returns: The emitted token; where the draft comes from q, its law is p.
    Example: token 0, p [.25, .375, .375], q [.5, .25, .25]  →  0 with probability 1/2, 1 and 2 with 1/4
    """
    ### BEGIN SOLUTION
    if rng.random() < p[token] / q[token]:
        return token
    residual = np.maximum(p - q, 0.0)  # (V,)
    return int(rng.choice(len(residual), p=residual / residual.sum()))
    ### END SOLUTION

# %% [markdown]
# **Find the input.** With two tokens the residual holds one token only, and there is nothing to choose. Take three: the
# rows of the example above.

# %% role="picture"
p, q = np.array([0.25, 0.75]), np.array([0.5, 0.5])  # change these
rng = np.random.default_rng(8)
emitted = [emit_one_token(int(rng.choice(q.size, p=q)), p, q, rng) for _ in range(4000)]
viz.emitted_laws(p, {"your function, 4,000 draws": np.bincount(emitted, minlength=p.size) / 4000}, tolerance=0.03)

# %% check="8.9"
check("8.9", emit_one_token)

# %% [markdown]
# ## Is it a bug? · Exact match
#
# A verifier ignores q altogether. It draws its own token from p, and accepts the draft if the two are equal. Either way
# the **own** token is emitted. No ratio, no residual: is that lossless? Decide before you run the proof.

# %% role="show"
def exact_match(draft, p, rng):
    own = int(rng.choice(p.size, p=p))
    return own, own == draft     # the emitted token, and whether the draft counts as accepted


# %% [markdown]
# The proof: what is emitted is a draw from p, whatever was drafted. The price is acceptance.

# %% role="show"
p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
emitted = sum(q[x] * p for x in range(3))    # for each draft x the own token has the law p
print("emitted:", emitted, " p:", p)
print(f"accepted: exact match {np.sum(p * q):.2f}, min(1, p/q) {np.minimum(p, q).sum():.2f}")

# %% [markdown]
# **Not a bug.** It has been reported as one and measured to be lossless ([mlxcel pull request
# 992](https://github.com/lablup/mlxcel/pull/992)); it only accepts less, .28 here against .60 ([mlx-lm pull request
# 1709](https://github.com/ml-explore/mlx-lm/pull/1709) says so of its own default).
#
# ## Is it a bug? · q = 1.0, hard-coded
#
# A verifier has the line `qx = 1.0`: a draft x is accepted with p(x)/1. If it is rejected, p(x) is set to 0, and what
# is left of p, divided by its sum, is drawn from. The drafter's probabilities are never looked at. Decide.

# %% role="show"
def accept_as_certain(x, p):
    """The exact law of what is emitted for a draft x under qx = 1.0."""
    rest = np.where(np.arange(p.size) == x, 0.0, p)
    return p[x] * np.eye(p.size)[x] + (1 - p[x]) * rest / rest.sum()


# %% role="show"
p = np.array([0.5, 0.3, 0.2])
for x in range(3):
    print(f"draft {x}: emitted", accept_as_certain(x, p).round(12))
print("            p   ", p)

# %% [markdown]
# **Not a bug** for a draft that was not drawn at all: the best token of a greedy drafter, or a top-k list in its order.
# For these q(x) *is* 1, and the rest of p *is* the residual max(p − q, 0). It has been asked about more than once
# ([EAGLE issue 93](https://github.com/SafeAILab/EAGLE/issues/93), [issue
# 283](https://github.com/SafeAILab/EAGLE/issues/283): “done on purpose”). Your repair of bug 8.6 says the same thing
# with a row. For a draft that *was* drawn the text stays right as well, as the three lines show, but acceptance falls
# to that of exact match.

# %% [markdown]
# # Part 4 · Committing
#
# ## Bug 8.10 · The text goes on after its end
#
# **Seen.** Output ran on past the end-of-text token, but only sometimes: when that token was an accepted draft in the
# middle of a block. When it was the target's own last token, generation stopped as it should ([Transformers issue
# 47912](https://github.com/huggingface/transformers/issues/47912), found with DFlash blocks).
#
# **Rule.** The text ends where plain decoding would end it: at the first stop token, wherever in the round it stands.
#
# By hand: the output is [7], the round brings [5, 2, 8], and 2 is a stop token. The output becomes [7, 5, 2], finished.

# %% bug="8.10"
from dspark_mini.contracts import takes, tokens

@takes(output=tokens("n"), round_tokens=tokens("m"), stop_tokens=tokens("s"))
def commit_until_stop(output, round_tokens, stop_tokens):
    """Append the tokens of one round to the output, up to and including the first stop token.

    Args:
        output: tokens committed so far, without a stop token.
        round_tokens: tokens of the round: accepted drafts, then one token of the target.
        stop_tokens: tokens that end the text.
    Returns: A dict: output, a new list of tokens; finished, whether a stop token was met.
    Example: output [7], round [5, 2, 8], stop [2]  →  output [7, 5, 2], finished True
    """
    ### BEGIN SOLUTION
    committed = list(output)
    for token in round_tokens:
        committed.append(token)
        if token in stop_tokens:
            return {"output": committed, "finished": True}
    return {"output": committed, "finished": False}
    ### END SOLUTION

# %% [markdown]
# **Find the input.** This round ends with the stop token, and all is well. Let the target go on after it.

# %% role="picture"
commit_until_stop(output=[7], round_tokens=[5, 8, 2], stop_tokens=[2])

# %% check="8.10"
check("8.10", commit_until_stop)

# %% [markdown]
# ## Bug 8.11 · Finished by “length”, with junk after the stop
#
# **Seen.** Tokens 10, 11, STOP, 20, 21, 22 and a cap of 5: the request was reported as cut by its length, and the
# tokens 20 and 21 were sent to the user ([SGLang issue 31599](https://github.com/sgl-project/sglang/issues/31599); a
# repair was merged as [pull request 33758](https://github.com/sgl-project/sglang/pull/33758)). Plain decoding cannot
# show this: it adds one token at a time, so it never reaches both ends at once.
#
# **Rule.** Whichever end comes first in the text counts. A stop token that is the last one allowed is still a stop.
#
# By hand: [10, 11, 2, 20, 21, 22] with stop token 2 and cap 5 gives [10, 11, 2], 'stop'. With cap 2 it gives [10, 11],
# 'length'.

# %% bug="8.11"
from dspark_mini.contracts import integer, takes, tokens

@takes(tokens=tokens("n"), stop_tokens=tokens("s"), max_new_tokens=integer())
def finish_request(tokens, stop_tokens, max_new_tokens):
    """Cut a request's tokens at the stop token or at the length cap, whichever comes first in the text.

    Args:
        tokens: all tokens so far; the last round may have brought a stop token and crossed the cap as well.
        stop_tokens: tokens that end the text.
        max_new_tokens: the cap; a stop token that is the last one allowed is still a stop.
    Returns: A dict: tokens, a list; reason, 'stop', 'length' or 'running'.
    Example: tokens [10, 11, 2, 20, 21, 22], stop [2], cap 5  →  tokens [10, 11, 2], reason 'stop'
    """
    ### BEGIN SOLUTION
    for count, token in enumerate(tokens[:max_new_tokens], start=1):
        if token in stop_tokens:
            return {"tokens": tokens[:count], "reason": "stop"}
    reason = "length" if len(tokens) >= max_new_tokens else "running"
    return {"tokens": tokens[:max_new_tokens], "reason": reason}
    ### END SOLUTION

# %% [markdown]
# **Find the input.** The cap is far away here. Bring it closer.

# %% role="picture"
finish_request(tokens=[10, 11, 2, 20, 21, 22], stop_tokens=[2], max_new_tokens=100)

# %% check="8.11"
check("8.11", finish_request)

# %% [markdown]
# ## Bug 8.12 · Counts that do not add up
#
# **Seen.** An engine reported the mean tokens per round, the bonus token included, as 1 + accepted drafts / rounds. In
# a last round [draft, draft, EOS, draft, draft, bonus] that counts 6 tokens; 3 were emitted ([vLLM issue
# 56101](https://github.com/vllm-project/vllm/issues/56101)).
#
# **Rule.** Reported counts sum to the emitted length. A round emits its tokens up to and with the first stop token.
# The rounds come from many requests, so any of them may hold one.
#
# By hand: rounds [4, 5, 6] and [7, 2, 8, 9] with stop token 2 emit 3 and 2 tokens: τ = 2.5.

# %% bug="8.12"
from dspark_mini.contracts import takes, token_lists, tokens

@takes(rounds=token_lists("R"), stop_tokens=tokens("s"))
def mean_emitted_length(rounds, stop_tokens):
    """Measure τ: the mean number of tokens that a round emits, up to and including its first stop token.

    Args:
        rounds: the verified tokens of each round: accepted drafts, then one token of the target.
        stop_tokens: tokens that end the text.
    Returns: The mean over the rounds.
    Example: rounds [[4, 5, 6], [7, 2, 8, 9]], stop [2]  →  (3 + 2) / 2 = 2.5
    """
    ### BEGIN SOLUTION
    emitted = 0
    for block in rounds:
        ends = [k for k, token in enumerate(block, start=1) if token in stop_tokens]
        emitted += ends[0] if ends else len(block)
    return emitted / len(rounds)
    ### END SOLUTION

# %% [markdown]
# **Find the input.** Nothing stops here, and the mean is right. Short answers are where it hurts: let each round stop
# early.

# %% role="picture"
rounds = [[4, 5, 6], [7, 8], [9]]                    # change these; 2 is the stop token
print("reported:", mean_emitted_length(rounds, stop_tokens=[2]), " times", len(rounds), "rounds")

# %% check="8.12"
check("8.12", mean_emitted_length)

# %% [markdown]
# ## Bug 8.13 · A drafter that starves
#
# **Seen.** Acceptance fell and fell within a generation, and never recovered. After each rejection two rows too many
# were cut from the drafter's cache, so its context lagged further and further behind the text ([mlxcel issue
# 994](https://github.com/lablup/mlxcel/issues/994); the repair, [pull request
# 1002](https://github.com/lablup/mlxcel/pull/1002), derives the count).
#
# **Rule.** After every round both caches hold exactly the committed tokens but the last one, the next anchor. An
# autoregressive drafter feeds the anchor and then each draft but the last: the last draft is chosen, and never fed.
#
# By hand: γ = 4, accepted 1. Fed were x₀, x₁, x₂, x₃: four rows. Committed are x₁ and the target's token, which is the
# next anchor. So x₀ and x₁ must stay, and two rows are dropped. Accepted 4: x₀ to x₄ must be there, x₄ was never fed,
# so one row is missing.

# %% bug="8.13"
from dspark_mini.contracts import integer, takes

@takes(drafted=integer(low=1), accepted=integer(high="drafted"))
def draft_rows_to_drop(drafted, accepted):
    """Bring an autoregressive drafter's cache back in step: it holds all committed tokens but the last, the anchor.

    Args:
        drafted: γ; drafting fed the anchor and all drafts but the last, one row each.
        accepted: number of accepted drafts; one token of the target follows them.
    Returns: A dict: drop, rows to drop at the end; missing, rows still to be fed.
    Example: drafted 4: accepted 1  →  drop 2, missing 0;  accepted 4  →  drop 0, missing 1
    """
    ### BEGIN SOLUTION
    surplus = drafted - (1 + accepted)  # rows fed less rows wanted, which are the anchor and the accepted drafts
    return {"drop": max(surplus, 0), "missing": max(-surplus, 0)}
    ### END SOLUTION

# %% [markdown]
# **Find the input.** Here five rounds are played, one after the other: `rows` must equal `committed − 1` after each of
# them. Which is the first round that breaks the contract, and does it ever come right again?

# %% role="picture"
rows, committed = 9, 10                              # the contract holds at the start
for accepted in (4, 2, 0, 4, 3):
    trimmed = draft_rows_to_drop(4, accepted)
    rows += 4 - trimmed["drop"] + trimmed["missing"]
    committed += accepted + 1
    verdict = "" if rows == committed - 1 else "← broken"
    print(f"accepted {accepted}: rows {rows:2d}, committed − 1 = {committed - 1:2d}", verdict)

# %% check="8.13"
check("8.13", draft_rows_to_drop)

# %% [markdown]
# # Part 5 · Scheduling
#
# ## Bug 8.14 · A gate that closes too late
#
# **Seen.** Every threshold of the confidence gate gave the same accuracy, *more* verify rounds and fewer tokens per
# round. The gate was applied as min(accepted, prefix) **after** the target had verified the whole block ([SGLang pull
# request 30204](https://github.com/sgl-project/sglang/pull/30204)).
#
# **Rule.** Confidence decides what the target is **given**. Count the rows of its forward, not the tokens that come
# out: the text is the same with and without this bug.
#
# By hand: anchor 1, drafts [4, 5, 6], confidences [.9, .8, .3], threshold .5. The prefix is two drafts long, so the
# target is given [1, 4, 5]. If it says 4, 5, 6, both are accepted and its own 6 follows.

# %% bug="8.14"
from dspark_mini.contracts import chance, chances, integer, takes, tokens

@takes(
    anchor_token=integer(low=None),
    draft_tokens=tokens("γ"),
    confidences=chances("γ", empty=True),
    threshold=chance(),
    target_tokens=tokens("γ+1"),
)
def gated_round(anchor_token, draft_tokens, confidences, threshold, target_tokens):
    """Run one greedy round whose confidence gate saves rows of the target's forward.

    Args:
        anchor_token: x_0, the last committed token.
        draft_tokens: list (γ,), the drafted block.
        confidences, threshold: (γ,) and a number; the first confidence below it ends the prefix, an equal one passes.
        target_tokens: list (γ + 1,), its token after the anchor and k drafts; a draft that equals it is accepted.
    Returns: A dict: target_input, the anchor and the prefix; tokens, the accepted drafts, then one token of the target.
    Example: 1, [4, 5, 6], [.9, .8, .3], .5, [4, 5, 6, 7]  →  target_input [1, 4, 5], tokens [4, 5, 6]
    """
    ### BEGIN SOLUTION
    prefix = 0
    while prefix < len(draft_tokens) and confidences[prefix] >= threshold:
        prefix += 1
    target_input = [anchor_token, *draft_tokens[:prefix]]  # all that the target's forward is given
    accepted = 0
    while accepted < prefix and draft_tokens[accepted] == target_tokens[accepted]:
        accepted += 1
    return {"target_input": target_input, "tokens": [*draft_tokens[:accepted], target_tokens[accepted]]}
    ### END SOLUTION

# %% [markdown]
# **Find the input.** Here every confidence passes. Lower one, and look at what the target is given.

# %% role="picture"
confidences = [0.9, 0.8, 0.7]                        # change these
gated_round(1, [4, 5, 6], confidences, threshold=0.5, target_tokens=[4, 5, 6, 7])

# %% check="8.14"
check("8.14", gated_round)

# %% [markdown]
# ## Bug 8.15 · A scheduler that cannot say no
#
# **Seen.** The scheduler was there and wired up, and it verified everything, always. Its table of step speeds had never
# been filled in, and on a flat table the best budget is provably the whole block ([SGLang pull request
# 35413](https://github.com/sgl-project/sglang/pull/35413)).
#
# **Rule.** Θ(ℓ) = expected tokens × steps per second. Speeds come from a profile, and what was not profiled is not
# tried. A guess is worse than no answer.
#
# By hand: confidences [.5, .5] and the profile [8, 6]. Θ(0) = 1 · 8, Θ(1) = 1.5 · 6 = 9, and for ℓ = 2 there is no
# entry. So ℓ = 1.

# %% bug="8.15"
from dspark_mini.contracts import chances, numbers, takes

@takes(confidences=chances("γ"), steps_per_second=numbers("B", above=0.0))
def profiled_verify_length(confidences, steps_per_second):
    """Choose the verify length ℓ of one request that yields the most tokens per second, among those profiled.

    Args:
        confidences: (γ,) c_1 … c_γ; a length ℓ yields 1 + a_1 + … + a_ℓ tokens, a_j = c_1 · … · c_j.
        steps_per_second: the profile; entry ℓ is for a step that verifies ℓ drafts. It may end early.
    Returns: ℓ, from 0 to γ; the smallest of equal ones.
    Example: confidences [.5, .5], profile [8, 6]  →  8 and 1.5 · 6 = 9 tokens/s; no entry for 2  →  1
    """
    ### BEGIN SOLUTION
    tokens = 1.0 + np.append(0.0, np.cumprod(confidences).cumsum())  # (γ + 1,) expected, by length
    tried = min(len(tokens), len(steps_per_second))
    return int(np.argmax(tokens[:tried] * steps_per_second[:tried]))
    ### END SOLUTION

# %% [markdown]
# **Find the input.** These profiles are complete, and the decision follows them. For which profile does it stop
# following?

# %% role="picture"
for profile in ([8, 6, 4], [8, 4, 2], [8, 7.9, 7.8]):  # change these
    print(profile, "→ verify", profiled_verify_length([0.5, 0.5], profile))

# %% check="8.15"
check("8.15", profiled_verify_length)

# %% [markdown]
# ## Bug 8.16 · 70 % accepted, and slower than before
#
# **Seen.** A scheduler with a break-even test went on drafting, at an acceptance of 70 %, while the clock showed a loss
# of 1.3 seconds ([ds4 issue 695](https://github.com/antirez/ds4/issues/695)). On another machine the replay of accepted
# tokens cost almost exactly what they had saved ([ds4 issue 731](https://github.com/antirez/ds4/issues/731)).
#
# **Rule.** A round costs drafting, verifying **and** correction. In that engine the correction is a replay of every
# accepted draft, which brings the cache back in step. (The DSpark paper has no such cost.)
#
# By hand: two rounds accept 3 and 1 of their drafts and emit 4 + 2 = 6 tokens, which plain decoding would have paid
# with 6 · 10 = 60 ms. Drafting and verifying cost 2 · (2 + 12) = 28 ms, replaying 4 drafts 4 · 4 = 16 ms. Saved: 16 ms.

# %% bug="8.16"
from dspark_mini.contracts import integers, number, takes

@takes(
    accepted_counts=integers("R", empty=True),
    target_time=number(low=0.0),
    draft_time=number(low=0.0),
    verify_time=number(low=0.0),
    replay_time=number(low=0.0),
)
def net_time_saved(accepted_counts, target_time, draft_time, verify_time, replay_time):
    """Tell from the clock whether drafting pays: the time that it saves less the time that it costs.

    Args:
        accepted_counts: list (R,), accepted drafts per round; a round emits one token more.
        target_time: one step of plain decoding, in the unit of all times.
        draft_time: drafting one block.
        verify_time: verifying one block.
        replay_time: replaying one accepted draft, to bring the cache back in step.
    Returns: A dict: saved, in the same unit; pays, whether it is above 0.
    Example: counts [3, 1], target 10, draft 2, verify 12, replay 4  →  60 − 28 − 16 = 16, pays
    """
    ### BEGIN SOLUTION
    rounds, accepted = len(accepted_counts), sum(accepted_counts)
    saved = (accepted + rounds) * target_time
    saved -= rounds * (draft_time + verify_time) + accepted * replay_time
    return {"saved": saved, "pays": saved > 0}
    ### END SOLUTION

# %% [markdown]
# **Find the input.** Without a replay the sum is right. How slow must the replay be for drafting not to pay?
# Does the function notice?

# %% role="picture"
for replay_time in (0.0, 4.0, 8.0):                  # ms for each accepted draft
    print(f"replay {replay_time:3.0f}:", net_time_saved([3, 1], 10.0, 2.0, 12.0, replay_time))

# %% check="8.16"
check("8.16", net_time_saved)

# %% [markdown]
# ## Is it a bug? · Skip instead of stop
#
# The scheduler of lesson 05 takes all drafts of the batch in falling order of survival and admits them while Θ rises.
# The paper **stops** at the first one that does not raise Θ. This one **skips** it and tries the next. Is that the
# search that the counterexample of lesson 05 forbids? Decide.

# %% role="show"
def admit(survivals, speeds, stop):
    """Admit falling survivals while throughput rises; stop at one that does not, or skip it."""
    tokens, batch, admitted = 1.0, 1, []
    for j, a in enumerate(survivals):
        if batch + 1 < len(speeds) and (tokens + a) * speeds[batch + 1] > tokens * speeds[batch]:
            tokens, batch, admitted = tokens + a, batch + 1, [*admitted, j]
        elif stop:
            break
    return admitted


# %% [markdown]
# The proof: every table of four speeds and every falling row of three survivals, on a grid of exact fractions.

# %% role="show"
from itertools import product

grid = [0.25, 0.5, 0.75, 1.0]
falling = [row for row in product(grid, repeat=3) if row[0] >= row[1] >= row[2]]
tables = [(0.0, *speeds) for speeds in product([2.0, 4.0, 6.0, 8.0], repeat=4)]  # entry 0 is unused
cases = list(product(falling, tables))
different = sum(admit(*case, stop=True) != admit(*case, stop=False) for case in cases)
print(f"{len(cases)} cases, {different} differ")

# %% [markdown]
# **Not a bug.** If a survival a does not raise Θ, then at the same batch no smaller one does, and all that follow are
# smaller or equal: skipping admits nothing. It only takes longer. (What lesson 05 forbids is to admit tokens that
# *lower* Θ now, in the hope of a higher one later.)
#
# ## Is it a bug? · Greedy text that differs by one token
#
# With speculation on, greedy output differs from plain greedy decoding, deterministically, at one place. A verify
# forward adds up the same numbers as a single step, but in another order, since it handles several rows at once. Decide
# what it takes to call that a bug.

# %% role="show"
rng = np.random.default_rng(3)


def flips(gap, dtype, cases=200):
    """Count in how many cases two orders of summation name different winners of two logits."""
    count = 0
    for _ in range(cases):
        products = rng.normal(size=4096).astype(dtype)     # what the dot product of a logit adds up
        both = [products, products[::-1].copy()]           # equal sums, in exact arithmetic ...
        both[0][-1] += dtype(gap)                          # ... but for the gap
        single_step = [np.cumsum(row)[-1] for row in both]                # one after the other
        verify = [row.reshape(64, 64).sum(axis=0).sum() for row in both]  # in strips
        count += int(np.argmax(single_step) != np.argmax(verify))
    return count


for gap in (0.0, 1e-5, 1e-3):
    in_32, in_64 = flips(gap, np.float32), flips(gap, np.float64)
    print(f"gap {gap:7.5f}: {in_32:3d} of 200 winners differ in float32, {in_64:3d} in float64")

# %% [markdown]
# **Not a bug of the logic**, if the two best logits are closer than rounding. An engine's report classified its own
# case so ([llama.cpp issue 27407](https://github.com/ggml-org/llama.cpp/issues/27407)). It takes evidence, though:
# report the gap between the two best logits at the first difference. A gap of .001 is not rounding: then the search
# begins. Against near ties float64 helps, as the lines show. Against an exact tie it does not, and neither does a fixed
# rule such as the lowest id, which `np.argmax` follows: rounding has broken the tie before the rule sees it. There only
# the same order of summation helps.

# %% [markdown]
# ## Looking back
#
# * **What you saw.** Four of the sixteen bugs are a count that is off by one or two: a layer (8.2), a position (8.3), a
#   row (8.4), a cache (8.13). In four the ratio is taken with a q that no draft was drawn from (8.5 to 8.8). Three look
#   at the end of a round, where its middle counts (8.10 to 8.12). Three leave the text as it is and only cost time, so
#   that only a count of rows, or the clock, finds them (8.14 to 8.16). And two let something see what it must not: a
#   block its own future (8.1), a replacement the coin that rejected the draft (8.9).
# * **What finds them.** An oracle drafter, which must reach 100 % (8.4). An enumerated law, which must be p (8.6 to
#   8.9). An invariant that is checked after every round (8.13). Counts that must add up (8.12). A decision that must
#   move when its table moves (8.15). None of these needs a trained model.
# * **What the paper reports.** In DSpark's Figure 8 the verify budget falls from about 5–5.5 tokens per request to
#   about 3.5 as load grows, anchor included. An engine with bug 8.14 or 8.15 would verify as many rows at every load.
# * **Three more, to look for in any engine.** A drafter's own LM head, overwritten by the target's: accepted length
#   1.32 instead of 2.49 ([vLLM pull request 27732](https://github.com/vllm-project/vllm/pull/27732)). Training labels
#   shifted by one against what inference reads ([comment in SpecForge pull request
#   473](https://github.com/sgl-project/SpecForge/pull/473)). A causal mask inside the block, where positions must see
#   each other in both directions ([SpecForge pull request 427](https://github.com/sgl-project/SpecForge/pull/427)).
#
# ## Further reading
#
# * Leviathan et al., *Fast Inference from Transformers via Speculative Decoding*, [arXiv
#   2211.17192](https://arxiv.org/abs/2211.17192): the rule of part 3 and its proof
# * Chen et al., *Accelerating Large Language Model Decoding with Speculative Sampling*, [arXiv
#   2302.01318](https://arxiv.org/abs/2302.01318)
# * DSpark: *Confidence-Scheduled Speculative Decoding with Semi-Autoregressive Generation*, [arXiv
#   2607.05147](https://arxiv.org/abs/2607.05147)
# * The threads linked above: read how each reporter isolated the fault before reading the repair
