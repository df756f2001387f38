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
# # Lesson 06 · Draft trees
#
# *A chain ends at its first wrong token. What does it buy to let the target look at several continuations at once?*
#
# | | |
# |---|---|
# | **You build** | a draft tree with the Markov bias in it, its attention mask, the greedy walk, and lossless sampling over a tree |
# | **Difficulty** | ●●●○ — four tasks of five to thirteen lines |
# | **Time** | about 55 minutes |
# | **You need** | softmax, `argmax`, a heap (`heapq`); the ideas of lessons 01 and 02 |
#
# Run the cells in order (Shift+Enter). Stuck? Type `hint("6.1")` in a new cell.

# %% role="setup"
import heapq

import numpy as np

from dspark_mini import viz
from grader import check, hint

# %% [markdown]
# ## Why a tree?
#
# After “Thanks!” the target may say “of course” or “no problem”. A chain must bet on one of them. A **draft tree**
# holds both; the target scores all nodes in one forward, and the round keeps the path that agrees with it. Node i holds
# `tokens[i]` and is a child of node `parents[i]`, which comes earlier; −1 is the root, the last committed token, which
# is not a node itself.

# %% role="show"
words = ["of", "course", "no", "problem", "worries", "."]
tree = {
    "tokens":    [0, 1, 2, 5, 3, 5, 4, 5],
    "parents":   [-1, 0, -1, 1, 2, 4, 2, 6],
    "log_probs": np.log([0.500, 0.484, 0.420, 0.363, 0.235, 0.176, 0.156, 0.117]).tolist(),
}
viz.draft_tree(tree, words, root="Thanks!", title="Index of a node, and probability of its path")

# %% [markdown]
# ## What is a tree worth?
#
# A node is accepted exactly if the target's text runs along its path. So the **expected number of accepted tokens is
# the sum of all path probabilities**. The drafter can only guess them:

# %% role="show"
probability = np.exp(tree["log_probs"])
chain = [0, 1, 3]  # “of”, “course”, “.”: the likeliest path
print("tokens per round, if the drafter is right")
print(f"chain, 3 nodes:             1 + {probability[chain].sum():.3f}")
print(f"the 3 likeliest nodes:      1 + {probability[:3].sum():.3f}")
print(f"the whole tree of 8 nodes:  1 + {probability.sum():.3f}")

# %% [markdown]
# With N nodes to spend, take the N likeliest paths. Why are they always a tree?
#
# ## Task 6.1 · Grow the tree
#
# A parallel drafter gives one row of logits per depth, U, whatever was chosen before, so that “of” and “no” have the
# same children. DSpark's Markov bias makes the tree **conditional**: the children of a node at depth d come from
# softmax(U[d] + B[its token]). The root has depth 0 and the anchor as its token; nodes have depths 1 to γ.
#
# Grow it **best first**: of all possible children so far, at most `width` per node, the one with the likeliest *path*
# enters next, up to `max_nodes`. Ties: the lower token, then the older parent. A score of −∞ is never a child.
#
# By hand: U = [[log 6, log 4], [0, 0]], B = {0: [log 3, 0]}, width 2, three nodes. The root's children have .6 and .4.
# Token 0 enters; its children have .6·3/4 = .45 and .6·1/4 = .15. So .45 is next, then .4: tokens `[0, 0, 1]`, parents
# `[-1, 0, -1]`.
#
# `markov_bias[token]` is a row of zeros for a token without a bias.

# %% task="6.1"
from dspark_mini.contracts import bias_rows, integer, logits, takes, token

@takes(
    block_logits=logits("γ", "V"),
    anchor_token=token(),
    markov_bias=bias_rows("V"),
    width=integer(low=1),
    max_nodes=integer(),
)
def build_conditional_tree(block_logits, anchor_token, markov_bias, width, max_nodes):
    """Grow a draft tree best first, the children of each node conditioned on its own token.

    Args:
        block_logits: (γ, V) base logits U; −inf marks a token that cannot be drafted.
        anchor_token: x_0, the root's token; it may lie outside the block's vocabulary.
        markov_bias: markov_bias[token] is the bias B[token] (V,), zeros for a token without one.
        width: most children per node.
        max_nodes: most nodes of the tree; the root does not count.
    Returns: A dict of four lists, with the nodes in their order of entry: tokens, parents, depths, and log_probs of
        the paths.
    Example: U = [[log 6, log 4], [0, 0]], anchor 9, B = {0: [log 3, 0]}, width 2, max_nodes 3
        →  tokens [0, 0, 1], parents [-1, 0, -1], depths [1, 2, 1], log_probs log of [.6, .45, .4]
    """
    ### BEGIN SOLUTION
    heap, nodes = [(0.0, anchor_token, -1, 0)], []  # (−log-probability, token, parent, depth), the root first
    while heap and len(nodes) <= max_nodes:
        cost, token, parent, depth = heapq.heappop(heap)
        nodes.append((token, parent, depth, -cost))
        if depth < len(block_logits):
            scores = block_logits[depth] + markov_bias[token]  # (V,)
            log_probs = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
            best = np.partition(scores, max(len(scores) - width, 0))[-width:]  # the scores of the children
            ids = np.flatnonzero((scores > -np.inf) & (scores >= best[0]))
            for child in ids[np.argsort(-scores[ids], kind="stable")][:width].tolist():
                heapq.heappush(heap, (cost - float(log_probs[child]), child, len(nodes) - 2, depth + 1))
    # Column by column, without the root.
    return {name: list(column[1:]) for name, column in zip(("tokens", "parents", "depths", "log_probs"), zip(*nodes))}
    ### END SOLUTION

# %% check="6.1"
check("6.1", build_conditional_tree)

# %% [markdown]
# **Your tree.** The base logits know which words come first and second; the bias knows what goes with what.

# %% role="picture"
anchor = 9  # “Thanks!”
block_logits = np.log([[0.50, 0.02, 0.42, 0.02, 0.02, 0.02],
                       [0.02, 0.42, 0.02, 0.30, 0.20, 0.04],
                       [0.05, 0.05, 0.05, 0.05, 0.05, 0.75]])
bias = {0: [0, 2, 0, -3, -3, 0], 2: [0, -3, 0, 1, 1, 0]}  # after “of”; after “no”
grown = build_conditional_tree(block_logits, anchor, bias, width=3, max_nodes=8)
viz.draft_tree(grown, words, root="Thanks!", title="With the Markov bias")

# %% [markdown]
# Without the bias nodes go to “no course” and “of problem”:

# %% role="picture"
block_logits = np.log([[0.50, 0.02, 0.42, 0.02, 0.02, 0.02],
                       [0.02, 0.42, 0.02, 0.30, 0.20, 0.04],
                       [0.05, 0.05, 0.05, 0.05, 0.05, 0.75]])
grown = build_conditional_tree(block_logits, 9, {}, width=3, max_nodes=8)
viz.draft_tree(grown, words, root="Thanks!", title="Without it: siblings share their children")

# %% [markdown]
# ## Task 6.2 · One forward for all paths
#
# The nodes go to the target in one row. Each must see what it would see if its path were the only one: the **context**,
# its **ancestors** and **itself**. Columns: the context first, then the nodes.
#
# By hand: parents `[-1, 0, -1]` and a context of 1 (the root alone) give `[[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]]`.

# %% task="6.2"
from dspark_mini.contracts import integer, parent_nodes, takes

@takes(parents=parent_nodes("n"), context_length=integer())
def tree_mask(parents, context_length):
    """Build the mask with which one target forward scores every node of a tree.

    Args:
        parents: n earlier nodes, or −1 for a child of the root.
        context_length: number of context positions, the root included.
    Returns: Boolean array (n, context_length + n), True where the row may attend to the column; the context comes first.
    Example: parents [-1, 0, -1], context_length 1  →  [[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]] as booleans
    """
    ### BEGIN SOLUTION
    own = np.eye(len(parents), dtype=bool)  # (n, n)
    for node, parent in enumerate(parents):
        if parent >= 0:
            own[node] |= own[parent]
    return np.hstack([np.ones((len(parents), context_length), dtype=bool), own])
    ### END SOLUTION

# %% check="6.2"
check("6.2", tree_mask)

# %% role="picture"
mask = tree_mask(tree["parents"], context_length=4)
viz.tree_mask_picture(mask, tree["parents"], [words[token] for token in tree["tokens"]])

# %% [markdown]
# **The proof is in the outputs.** One attention layer sees all nodes at once through your mask, then each path alone
# with a causal mask:

# %% role="picture"
context, nodes = 4, len(tree["tokens"])
vectors = np.random.default_rng(0).normal(size=(context + nodes, 6))  # one vector per position


def attend(vectors, mask):
    """The last rows of vectors look at all of them, as far as the mask lets them."""
    scores = np.where(mask, vectors[-len(mask):] @ vectors.T, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ vectors


together = attend(vectors, tree_mask(tree["parents"], context))
for node in range(nodes):
    path = [node]
    while tree["parents"][path[0]] >= 0:
        path.insert(0, tree["parents"][path[0]])
    alone = vectors[[*range(context), *(context + i for i in path)]]
    causal = np.tri(len(path), context + len(path), context, dtype=bool)
    difference = np.abs(attend(alone, causal)[-1] - together[node]).max()
    print(f"{' '.join(words[tree['tokens'][i]] for i in path):14} differs by {difference:.0e}")

# %% [markdown]
# The mask says *whom* a node sees. *Where* it stands, its position, is the context plus its **depth**, not its index in
# the list.
#
# ## Task 6.3 · The greedy walk
#
# `target_tokens[0]` is what the target says after the context, `target_tokens[i + 1]` what it says after node i. The
# text must be what plain greedy decoding writes. Which path is that, and which token comes with it for free?
#
# By hand: tokens `[5, 7, 6]`, parents `[-1, 0, -1]`, target tokens `[6, 7, 1, 8]`: path `[2]`, tokens `[6, 8]`.

# %% task="6.3"
from dspark_mini.contracts import parent_nodes, takes, tokens
from dspark_mini.rules import siblings_differ

@takes(siblings_differ, tokens=tokens("n"), parents=parent_nodes("n"), target_tokens=tokens("n+1"))
def verify_tree_greedy(tokens, parents, target_tokens):
    """Walk down from the root while some child is the token that the target wants, then emit one more.

    Args:
        tokens: n token ids, one per node.
        parents: n earlier nodes, or −1 for a child of the root.
        target_tokens: n + 1 token ids: [0] follows the context, [i + 1] follows node i.
    Returns: A dict of two lists: path, the accepted nodes from the root down, and tokens, theirs and one more.
    Example: tokens [5, 7, 6], parents [-1, 0, -1], target_tokens [6, 7, 1, 8]  →  path [2], tokens [6, 8]
    """
    ### BEGIN SOLUTION
    path, last = [], -1
    for node, (x, parent) in enumerate(zip(tokens, parents)):  # parents come first
        if parent == last and x == target_tokens[last + 1]:
            path.append(node)
            last = node
    return {"path": path, "tokens": [*(tokens[node] for node in path), target_tokens[last + 1]]}
    ### END SOLUTION

# %% check="6.3"
check("6.3", verify_tree_greedy)

# %% [markdown]
# **Your walk.** The target says “no worries.” and then “of”, the bonus token. The chain “of course.” would have earned
# one token.

# %% role="picture"
says = [2, 1, 5, 4, 0, 5, 0, 5, 0]  # after the context: “no”; after node 2, “no”: “worries”; …
walk = verify_tree_greedy(tree["tokens"], tree["parents"], says)
print("emitted:", " ".join(words[token] for token in walk["tokens"]))
viz.draft_tree(tree, words, walk["path"], root="Thanks!")

# %% [markdown]
# ## Sampling: what does *not* verify
#
# Above temperature 0 the output must follow the target's p **exactly**. Two rules that look reasonable: a **softmax
# over the one logit** of a draft, and a **mean of the probabilities along a path**.

# %% role="show"
for logit in (12.0, -7.0):
    one = np.array([logit])
    print(f"softmax of the one logit {logit:5}: {(np.exp(one) / np.exp(one).sum())[0]}")

for path, along_it in {"impossible": [0.9, 0.9, 0.0], "quite usual": [0.5, 0.6, 0.5]}.items():
    print(f"{path:11} path {along_it}: mean {np.mean(along_it):.2f}, product {np.prod(along_it):.2f}")

p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])  # target and drafter
kept = p >= 0.3                        # the mean of a path of one token, against a threshold
emits = q * kept + q[~kept].sum() * p  # a draft that is kept, or else a draw from p
print(f"emitted under a threshold: {emits}, wanted: {p}, off by {np.abs(emits - p).sum() / 2:.2f}")

# %% [markdown]
# ## Task 6.4 · Sampling that is lossless
#
# Lesson 01's rule for a draft x ~ q: accept with probability min(1, p(x)/q(x)), otherwise draw from the **residual**
# norm(max(p − q, 0)). A node of a tree has several children, drawn from q one after the other **without replacement**.
# After a rejection the next child stands where the first one stood: what is still missing of p, and from which q was it
# drawn?
#
# By hand: q = (.6, .3, .1), p = (.1, .4, .5), children 0 and 1. Child 0 is accepted with .1/.6 = 1/6. Otherwise p
# becomes (0, .2, .8), q becomes (0, .75, .25), and child 1 is accepted with .2/.75 = 4/15. Otherwise only token 2 is
# missing.
#
# Rows `[0]` belong to the root, rows `[i + 1]` to node i. All chance comes from `rng`: `rng.random()`, which may be
# exactly 0, and `rng.choice(V, p=p)`, which draws a token. Change copies, never the caller's rows.

# %% task="6.4"
from dspark_mini.contracts import generator, parent_nodes, probabilities, takes, tokens
from dspark_mini.rules import children_are_possible, siblings_differ

@takes(
    siblings_differ,
    children_are_possible,
    draft_probs=probabilities("n+1", "V"),
    target_probs=probabilities("n+1", "V"),
    tokens=tokens("n", below="V"),
    parents=parent_nodes("n"),
    rng=generator(),
)
def verify_tree_sampling(tokens, parents, draft_probs, target_probs, rng):
    """Accept a path of the tree, and one token more, so that the text follows the target exactly.

    Args:
        tokens: n token ids; siblings were drawn from their parent's row, in this order, without replacement.
        parents: n earlier nodes, or −1 for a child of the root.
        draft_probs: (n + 1, V) the drafter's next-token rows q: [0] at the root, [i + 1] at node i.
        target_probs: (n + 1, V) the target's next-token rows p, in the same order.
        rng: the only source of chance.
    Returns: A dict of two lists: path, the accepted nodes from the root down, and tokens, theirs and one more.
    Example: tokens [0, 1], parents [-1, -1], q = 3 × [.5, .5], p = [0, 1], [1, 0], [1, 0]
        →  path [1], tokens [1, 0] for every rng
    """
    ### BEGIN SOLUTION
    path, last, p, q = [], -1, target_probs[0], draft_probs[0].copy()
    for node, (x, parent) in enumerate(zip(tokens, parents)):  # parents come first
        if parent == last and rng.random() * q[x] < p[x]:
            path.append(node)
            last, p, q = node, target_probs[node + 1], draft_probs[node + 1].copy()
        elif parent == last:
            rest = np.maximum(p - q, 0.0)
            p = rest / rest.sum() if rest.any() else p
            q[x] = 0.0
            q /= q.sum() or 1.0  # 0 where q was sure of this token
    final = int(rng.choice(len(p), p=p))
    return {"path": path, "tokens": [*(tokens[node] for node in path), final]}
    ### END SOLUTION

# %% check="6.4"
check("6.4", verify_tree_sampling)

# %% [markdown]
# **Proof by enumeration.** `law` follows every coin that your function tosses both ways. The children are drawn from q,
# in every order, or are always the two best of q:

# %% role="picture"
from itertools import permutations

from dspark_mini.laws import law

p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])


def outcomes(children):
    """The exact law of the first token (3 entries), and of being accepted (the last entry)."""
    n = len(children)

    def run(rng):
        walk = verify_tree_sampling(children, [-1] * n, [q] * (n + 1), [p] * (n + 1), rng)
        return walk["tokens"][0], len(walk["path"])

    found = law(run)
    shares = [sum(v for (token, _), v in found.items() if token == t) for t in range(3)]
    return np.array([*shares, sum(v for (_, depth), v in found.items() if depth == 1)])


drawn = np.zeros(4)
for one, two in permutations(range(3), 2):
    drawn += q[one] * q[two] / (1 - q[one]) * outcomes([one, two])
best = outcomes([2, 0])
print(f"a child is accepted: {drawn[3]:.3f} if drawn, {best[3]:.3f} if the best two")
laws = {"two children drawn from q": drawn[:3], "the two best of q": best[:3]}
viz.emitted_laws(p, laws, words=["A", "B", "C"])

# %% [markdown]
# The rule is lossless **if the children were drawn as it assumes**; with the best two, B is never said. So draw the
# children; or keep the tree of task 6.1, draw a token from the target's row at every node, and follow these draws with
# your walk of **task 6.3**:

# %% role="picture"
from dspark_mini.laws import law

p = np.array([0.5, 0.3, 0.2])


def walk_with_draws(rng):
    """Draw what the target says after the context, and walk over a tree with the children C and A."""
    said = int(rng.choice(3, p=p))
    walk = verify_tree_greedy([2, 0], [-1, -1], [said, 0, 0])
    return walk["tokens"][0], len(walk["path"])


found = law(walk_with_draws)
emitted = [sum(v for (token, _), v in found.items() if token == t) for t in range(3)]
print("emitted:", emitted, " wanted:", p.tolist())
print("a child is accepted:", sum(v for (_, depth), v in found.items() if depth == 1))

# %% [markdown]
# ## Chain against tree, at equal cost
#
# The toy of lesson 02: a target with a table of transitions, base logits that know the anchor alone, a bias that knows
# what follows what. Your walk follows the target's draws.

# %% role="picture"
rng = np.random.default_rng(7)
vocabulary, block_size, budgets = 12, 16, [1, 2, 3, 4, 6, 8, 12, 16]
table = rng.dirichlet(np.full(vocabulary, 0.12), size=vocabulary) + 1e-9  # (V, V) transitions
table /= table.sum(axis=1, keepdims=True)
share = np.linalg.matrix_power(table, 500)[0]  # how often each token occurs
follows = {token: np.log(table[token] / share) for token in range(vocabulary)}
base = np.log([np.linalg.matrix_power(table, k) for k in range(1, block_size + 1)])  # (γ, V, V): [k, anchor]


def tokens_in_a_round(bias, width, nodes):
    """1 + the expected number of accepted nodes, over all anchors."""
    total = 1.0
    for x0 in range(vocabulary):
        # The base logits know the anchor already; as vocabulary + x0 it has no bias row.
        grown = build_conditional_tree(base[:, x0], vocabulary + x0, bias, width, nodes)
        reached = []
        for token, parent in zip(grown["tokens"], grown["parents"]):
            before, chance = (x0, share[x0]) if parent < 0 else (grown["tokens"][parent], reached[parent])
            reached.append(chance * table[before, token])
        total += sum(reached)
    return total


curves = {}
for name, bias, width in (("DFlash chain", {}, 1), ("DSpark chain", follows, 1),
                          ("tree without bias", {}, 4), ("conditional tree", follows, 4)):
    curves[name] = budgets, [tokens_in_a_round(bias, width, nodes) for nodes in budgets]
viz.tokens_per_round(curves, title="Toy target: yield at equal numbers of verified tokens")

# %% [markdown]
# A chain stops earning after its first doubtful position; a tree spends tokens beside the doubt. (The picture counts
# tokens, not time.)
#
# ## Open problem
#
# On the shipped model at temperature 1, with the walk on the target's draws, the 7 likeliest paths beat the chain of 7.
# But does every round deserve 7? `keep` sees a tree of 24 nodes and says how many to verify: yield more, with 7 nodes
# per round **on average**. It may look at the draft, not at the target's answer.

# %% role="picture"
from dspark_mini.engine import Steps, TreeSteps, generate
from dspark_mini.lm import load, prompts

CHAIN, SEVEN_LIKELIEST = 4.68, 4.94
BEST_KNOWN = 5.32                        # path probabilities times exp(−0.1 · depth), against a threshold of 0.156


def keep(grown):
    """How many of the nodes, in the order in which they entered, are verified."""
    return 7


def sample(base, anchor, bias, widths, temperature, rng):
    grown = build_conditional_tree(base, anchor, bias, 5, 24)
    sizes.append(keep(grown))
    return grown["tokens"][: sizes[-1]], grown["parents"][: sizes[-1]], None


def verify(tokens, parents, q, p, rng):
    """Note the exact yield, but go on with one token of the target's, so that all trees meet the same contexts."""
    reach = []
    for token, parent in zip(tokens, parents):
        reach.append((reach[parent] if parent >= 0 else 1.0) * p[parent + 1, token])
    yields.append(1.0 + sum(reach))
    return {"path": [], "tokens": [int(rng.choice(len(p[0]), p=p[0]))]}


sizes, yields, lm = [], [], load(drafters=["dspark"])
steps = Steps(block_size=lambda trace: 7, tree=TreeSteps(sample=sample, verify_sampling=verify))
for prompt in [prompt for domain in ("math", "code", "chat") for prompt in prompts(lm.tokenizer, domain, 2, seed=3)]:
    lm.clear()
    generate(lm.target, lm.drafters["dspark"], prompt, 45, [lm.tokenizer.end], 1.0, np.random.default_rng(len(sizes)), steps)
print(f"yours: {np.mean(yields):.2f} tokens per round with {np.mean(sizes):.2f} nodes on average")
print(f"chain {CHAIN}, seven likeliest {SEVEN_LIKELIEST}, best known {BEST_KNOWN}")

# %% [markdown]
# ## Looking back
#
# * **What the papers report.** Verifying a token tree in one forward is SpecInfer's, and so is trying a node's children
#   in turn (Algorithm 2, which draws at random which is next; we keep the order of the draws). Recursive Speculative
#   Decoding draws them without replacement. {paper:figure_8} Look at the left end of your picture.
# * **What production engines got wrong.** Nodes got their index as position ([mlxcel
#   1214](https://github.com/lablup/mlxcel/pull/1214)). The bonus came from the wrong row, so words were repeated
#   ([EAGLE 47](https://github.com/SafeAILab/EAGLE/pull/47)). Nobody had filled q ([SGLang
#   12561](https://github.com/sgl-project/sglang/pull/12561)); with q = 0 no more is accepted than by exact matching
#   ([SGLang 9877](https://github.com/sgl-project/sglang/issues/9877)). `coin <= probability` accepted impossible tokens
#   ([SGLang 35771](https://github.com/sgl-project/sglang/issues/35771)). Without a bias, the token after an accepted
#   sibling was right in 22 %, on the main path in 65–84 % ([vLLM
#   42910](https://github.com/vllm-project/vllm/pull/42910)).
#
# ## Further reading
#
# * *SpecInfer*, [arXiv 2305.09781](https://arxiv.org/abs/2305.09781); *Recursive Speculative Decoding*, [arXiv
#   2402.14160](https://arxiv.org/abs/2402.14160); DSpark, [arXiv 2607.05147](https://arxiv.org/abs/2607.05147)
# * Can a tree that is not drawn be verified with q? [EAGLE issue 221](https://github.com/SafeAILab/EAGLE/issues/221)
