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
# | **Difficulty** | ●●●○ — four tasks of five to twelve lines |
# | **Time** | about 75 minutes |
# | **You need** | softmax, `argmax`, a heap (`heapq`); the ideas of lessons 01 and 02, but none of their solutions |
#
# Run the cells from top to bottom (Shift+Enter). Each task has a cell with a `TODO` and, below it, a cell that
# checks your function: it names a property that fails, on a small input, with a hint. Stuck? Open a terminal
# and type `dspark-mini hint 6.1`.

# %% role="setup"
import heapq

import numpy as np

from dspark_mini import viz
from grader import check, hint

# %% [markdown]
# ## Why a tree?
#
# After “Thanks!” the target may go on with “of course” or with “no problem”. A chain must bet on one of them. If it bets
# on “of” and the target says “no”, everything after “of” is lost, however good it was.
#
# A **draft tree** holds both. The target scores all of its nodes in one forward, and the round keeps the one path that
# agrees with the target. We write a tree as two lists: node i holds `tokens[i]` and is a child of node `parents[i]`, which
# comes earlier in the list; −1 is the root. The root is the last committed token x₀; it is not a node itself.

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
# Take the text that the target will really say. A node is accepted exactly if that text runs along the node's path.
# So a node is worth the probability of its path, and the **expected number of accepted tokens is the sum of all path
# probabilities**. The drafter does not know the target's probabilities, but it has its own:

# %% role="show"
probability = np.exp(tree["log_probs"])
chain = [0, 1, 3]  # “of”, “course”, “.”: the likeliest path
print("tokens per round, if the drafter is right")
print(f"chain, 3 nodes:             1 + {probability[chain].sum():.3f}")
print(f"the 3 likeliest nodes:      1 + {probability[:3].sum():.3f}")
print(f"the whole tree of 8 nodes:  1 + {probability.sum():.3f}")

# %% [markdown]
# So with N nodes to spend, take the N likeliest paths. A path is never likelier than the path to its parent, so these N
# always form a tree, and there is a simple way to find them: **best first**. Keep all children of the nodes that are in
# the tree as candidates, take the likeliest one into the tree, make *its* children candidates, and so on.
#
# | | chain | tree |
# |---|---|---|
# | one wrong token costs | everything after it | its branch only |
# | a position of the block is verified | once | as often as there are nodes at its depth |
# | the target's forward gets | γ draft tokens | N nodes: the compute is paid for all, and one path is kept |
#
# Because of the last line a fair comparison keeps the number of *verified* tokens equal. You will make one at the end.

# %% [markdown]
# ## Task 6.1 · Grow the tree
#
# A parallel drafter gives one row of logits per depth, U, whatever was chosen before. Used as they are, they give “of” and
# “no” the same children, and the tree fills up with “of problem”. DSpark's Markov bias makes the tree **conditional**: the
# children of a node at depth d come from `block_logits[d]` + B[its own token]. The root has depth 0 and the anchor as its
# token; nodes have depths 1 to γ, and a node at depth γ has no children.
#
# * The children of a node are its `width` best tokens. Their log-probabilities come from a log-softmax over the whole
#   vocabulary: subtract the maximum, then log(sum(exp(…))). A node's `log_probs` entry is the sum along its path.
# * The candidate with the highest sum becomes the next node. Ties: the lower token id, then the older parent.
# * Stop at `max_nodes` (the root does not count), or when no candidate is left. A token of probability 0, that is
#   with a score of −∞, is never a candidate.
#
# By hand, with U = [[log 6, log 4], [0, 0]], B = {0: [log 3, 0]}, width 2 and three nodes: the root's children are token 0
# with .6 and token 1 with .4. Token 0 enters; its children have weights 3 and 1, so .6 · .75 = .45 and .6 · .25 = .15. Now .45
# is the best candidate, it enters, then .4. The result: tokens `[0, 0, 1]`, parents `[-1, 0, -1]`, depths `[1, 2, 1]`.
#
# `markov_bias[token]` is a row of zeros for a token without a bias. `heapq.heappush(heap, item)` and `heapq.heappop(heap)`
# keep the smallest item in front, and tuples `(-log_probability, token, parent, depth)` are ordered just as the ties want it.
# The `width` best of a row, ties to the lower id: `np.argsort(-scores, kind="stable")[:width]`. (With V = 150,000 one would
# not sort the whole vocabulary for eight children: `np.partition` finds the last score that enters in a tenth of the time.)

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
    Returns: A dict of four lists, one entry per node in the order in which they entered: tokens, parents, depths (from 1)
        and log_probs, summed along the path. Ties: the lower token, then the older parent.
    Example: U = [[log 6, log 4], [0, 0]], anchor 9, B = {0: [log 3, 0]}, width 2, max_nodes 3
        →  tokens [0, 0, 1], parents [-1, 0, -1], depths [1, 2, 1], log_probs log of [.6, .45, .4]
    """
    width = min(width, block_logits.shape[1])  # V tokens have at most V children
    ### BEGIN SOLUTION
    heap, nodes = [(0.0, anchor_token, -1, 0)], []  # (−log-probability, token, parent, depth), the root first
    while heap and len(nodes) <= max_nodes:
        cost, token, parent, depth = heapq.heappop(heap)
        nodes.append((token, parent, depth, -cost))
        if depth < len(block_logits):
            scores = block_logits[depth] + markov_bias[token]  # (V,)
            log_probs = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
            ids = np.flatnonzero((scores > -np.inf) & (scores >= np.partition(scores, -width)[-width]))
            for child in ids[np.argsort(-scores[ids], kind="stable")][:width].tolist():
                heapq.heappush(heap, (cost - float(log_probs[child]), child, len(nodes) - 2, depth + 1))
    tokens, parents, depths, log_probs = (list(column[1:]) for column in zip(*nodes))  # without the root
    return {"tokens": tokens, "parents": parents, "depths": depths, "log_probs": log_probs}
    ### END SOLUTION

# %% check="6.1"
check("6.1", build_conditional_tree)

# %% [markdown]
# **Your tree.** The base logits know that the first token is “of” or “no” and the second “course”, “problem” or “worries”.
# The bias knows what goes with what.

# %% role="picture"
anchor = 9  # “Thanks!”
block_logits = np.log([[0.50, 0.02, 0.42, 0.02, 0.02, 0.02],
                       [0.02, 0.42, 0.02, 0.30, 0.20, 0.04],
                       [0.05, 0.05, 0.05, 0.05, 0.05, 0.75]])
bias = {0: [0, 2, 0, -3, -3, 0], 2: [0, -3, 0, 1, 1, 0]}  # after “of”; after “no”
grown = build_conditional_tree(block_logits, anchor, bias, width=3, max_nodes=8)
viz.draft_tree(grown, words, root="Thanks!", title="With the Markov bias")

# %% [markdown]
# Without the bias the same eight nodes go to “no course” and “of problem” as well, which nobody says:

# %% role="picture"
block_logits = np.log([[0.50, 0.02, 0.42, 0.02, 0.02, 0.02],
                       [0.02, 0.42, 0.02, 0.30, 0.20, 0.04],
                       [0.05, 0.05, 0.05, 0.05, 0.05, 0.75]])
grown = build_conditional_tree(block_logits, 9, {}, width=3, max_nodes=8)
viz.draft_tree(grown, words, root="Thanks!", title="Without it: siblings share their children")

# %% [markdown]
# ## Task 6.2 · One forward for all paths
#
# The nodes go to the target as one row of tokens after the context. Each node must see what it would see if its own path
# were the only one: the whole **context**, its **ancestors** and **itself**. A causal mask is wrong here: an earlier node
# is not always an ancestor.
#
# By hand: parents `[-1, 0, -1]` and a context of 1 (the root alone) give
# `[[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]]`: node 1 sees its parent 0, node 2 sees neither of the two. Columns: the
# context, then the nodes. Parents come before their children, so when you come to a node its parent's row is finished.

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
# **The proof is in the outputs.** A small attention layer looks at all eight nodes at once through your mask. Then each
# path goes through the same layer alone, as a chain with a causal mask. If the mask is right, the outputs are the same.

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
# The mask says *whom* a node sees. The target must also know *where* a node stands: a node's position in the text is the
# context plus its **depth**, not its index in the list, and siblings share one position. A chain cannot tell the two apart.

# %% [markdown]
# ## Task 6.3 · The greedy walk
#
# Now the target has spoken: `target_tokens[0]` is what it says after the context, `target_tokens[i + 1]` what it says
# after node i. Stand at the root. If some child of the node where you stand holds the token that the target wants, go there;
# otherwise stop. Then emit the accepted tokens **and one more**, the token that the target wants where you stopped: a
# correction, or at a leaf the bonus. So the text is what plain greedy decoding would have written.
#
# By hand: tokens `[5, 7, 6]`, parents `[-1, 0, -1]`, target tokens `[6, 7, 1, 8]`. The target wants 6: that is node 2. After
# node 2 it wants 8, and node 2 has no children. Path `[2]`, tokens `[6, 8]`. Siblings never hold the same token.

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
# **Your walk.** The target says “no worries.” and would begin the next sentence with “of”: that is the bonus token. The
# chain “of course.” would have earned one token, the correction “no”.

# %% role="picture"
says = [2, 1, 5, 4, 0, 5, 0, 5, 0]  # after the context: “no”; after node 2, “no”: “worries”; …
walk = verify_tree_greedy(tree["tokens"], tree["parents"], says)
emitted = " ".join(words[token] for token in walk["tokens"])
viz.draft_tree(tree, words, walk["path"], root="Thanks!", title=f"Emitted: {emitted}")

# %% [markdown]
# ## Sampling: what does *not* verify
#
# At a temperature above 0 the target has no single token that it wants, but a distribution p. What is emitted must follow
# p **exactly**, whatever the drafter proposed. Two rules that look reasonable and are not:
#
# * **A softmax over a single logit.** To score one drafted token, someone takes its logit and applies softmax. A softmax
#   needs all V logits; over one it is always 1, and every draft is “verified”.
# * **Averaging probabilities along a path.** A mean is not the probability of anything. It forgives a token that the
#   target never says, if the others are good, and a threshold on it is a fixed decision, so the text does not follow the
#   target's distribution.

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
# Lesson 01's rule for one draft x ~ q: accept with probability min(1, p(x) / q(x)); otherwise draw from the **residual**
# norm(max(p − q, 0)). A node of a tree has several children, drawn from q one after the other **without replacement**. Try them
# in that order:
#
# 1. Accept child x with probability min(1, p(x) / q(x)). If accepted, go there and start again with the rows that follow x.
# 2. If rejected, what is still missing of p is the residual: it becomes the new **p**. And the next child was drawn from q
#    without x: set q(x) = 0 and normalise, that is the new **q**. Then the next child stands exactly where the first one stood.
# 3. If no child is left, draw one token from what p has become.
#
# By hand: q = (.6, .3, .1), p = (.1, .4, .5), children 0 and 1. Child 0 is accepted with .1 / .6 = 1/6. Otherwise
# max(p − q, 0) = (0, .1, .4), so p = (0, .2, .8), and q = (0, .75, .25). Child 1 is accepted with .2 / .75 = 4/15. Otherwise
# max(p − q, 0) = (0, 0, .55), and token 2 is drawn for sure.
#
# Parents come before their children, so one pass over the nodes is enough, as in task 6.3. Row `[0]` of `draft_probs` and
# `target_probs` belongs to the root, row `[i + 1]` to node i. All chance comes from `rng`: `rng.random()` is a uniform number,
# `rng.choice(V, p=p)` draws a token. Change copies, never the caller's rows. Beware of two divisions by 0: there may be no
# residual if p and q are equal (then p stays), and nothing is left of a q that was sure of x (then no other child can follow).

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
        tokens: n token ids; a node's children were drawn from its draft row, in this order, without replacement.
        parents: n earlier nodes, or −1 for a child of the root.
        draft_probs: (n + 1, V) the drafter's next-token rows q: [0] at the root, [i + 1] at node i.
        target_probs: (n + 1, V) the target's next-token rows p, in the same order.
        rng: the only source of chance.
    Returns: A dict of two lists: path, the accepted nodes from the root down, and tokens, theirs and one more.
    Example: tokens [0, 1], parents [-1, -1], q = 3 × [.5, .5], p = [0, 1], [1, 0], [1, 0]
        →  path [1], tokens [1, 0] for every rng: 0 is rejected, 1 is accepted, row [2] says 0
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
# **Proof by enumeration.** `law` calls your function again and again and follows every coin that it tosses both ways, so
# that the probabilities below are exact. (Where it cannot follow your way of drawing, it samples.) Two children are drawn from
# q in every possible order; each order has its probability, and the emitted token its law. Next to it: what happens if the
# children are not drawn, but are always the two best of q, and are verified by the same rule.

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
# So the rule is lossless **if the children were drawn as it assumes**, and badly off if they were not: it then accepts too
# much, and B, which the target says in three rounds out of ten, is never said. The tree of task 6.1 is not drawn: its children are
# the best ones. There are two ways out.
#
# * Draw the children (sampling without replacement), and use task 6.4.
# * Keep the best-first tree, draw a token from the target's row at every node, and use your walk of **task 6.3** with these
#   as `target_tokens`. Every emitted token is then a draw from the target, whatever the tree: lossless at every temperature.

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
# The toy of lesson 02: a target that draws each token from a table of transitions, base logits that are the exact
# log-probabilities of each position given the anchor alone, and a bias that says how much more (or less) often a token follows
# another one than it occurs at all. A chain is a tree of width 1. All four drafters below let the target verify the same
# number of tokens; the target draws its tokens and your walk follows them. The yield needs no sampling: it is 1 plus the sum,
# over all nodes, of the probability that the *target* gives to the node's path.

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
# ## Looking back
#
# * **What you saw.** A chain stops earning: after its first doubtful position, further tokens are hardly ever reached. A tree
#   spends the same tokens beside the doubt instead of after it. The gap between the two trees grows with the budget: the more
#   branches there are, the more it counts that each has children of its own. Two warnings: in this toy the drafter nearly knows
#   the target, and the picture counts tokens, not time.
# * **What the papers report.** Tree attention and verification of a token tree in one forward are SpecInfer's, and so is the
#   rule that tries a node's children in turn (its Algorithm 2); SpecInfer draws at random which child is next, we take them in
#   the order in which they were drawn. Recursive Speculative Decoding draws the children without replacement, and it compares
#   methods at a fixed budget of the target, as you did. In the serving runs of the DSpark paper the verify budget of a request
#   falls from about 5–5.5 tokens, the anchor included, to about 3.5 as load grows (its Figure 8); look at the left end of your
#   picture to see what a tree is worth then.
# * **What production engines got wrong here.** Each of these stands next to a line that you wrote today.
#   - The mask was right and the positions were not: nodes got their index as a position instead of their depth, which only a
#     branching tree can show ([mlxcel pull request 1214](https://github.com/lablup/mlxcel/pull/1214)).
#   - After the whole path was accepted, the bonus token came from the row that had accepted the last node, instead of the last node's
#     own row, so words were repeated ([EAGLE pull request 47](https://github.com/SafeAILab/EAGLE/pull/47)).
#   - The sampler's q was an array that nobody had filled, and words were repeated again
#     ([SGLang pull request 12561](https://github.com/sgl-project/sglang/pull/12561)). With q = 0 the same sampler is right, but it accepts
#     no more than exact matching does ([SGLang issue 9877](https://github.com/sgl-project/sglang/issues/9877)).
#   - `coin <= probability` accepts a token of probability 0 when the coin shows exactly 0; it must be `<`
#     ([SGLang issue 35771](https://github.com/sgl-project/sglang/issues/35771)).
#   - A tree over a parallel drafter, without a bias, paid little: after an accepted sibling the next token was right in 22 % of all
#     cases, against 65–84 % on the main path, as one engineer measured ([vLLM pull request 42910](https://github.com/vllm-project/vllm/pull/42910)).
#
# ## Further reading
#
# * SpecInfer: *Accelerating Generative LLM Serving with Speculative Inference and Token Tree Verification*, [arXiv 2305.09781](https://arxiv.org/abs/2305.09781)
# * *Recursive Speculative Decoding: Accelerating LLM Inference via Sampling Without Replacement*, [arXiv 2402.14160](https://arxiv.org/abs/2402.14160)
# * DSpark: [arXiv 2607.05147](https://arxiv.org/abs/2607.05147), where the Markov head comes from
# * Whether a tree whose children are not drawn can be verified with q, and what q would then be: a discussion among its authors and users,
#   [EAGLE issue 221](https://github.com/SafeAILab/EAGLE/issues/221)
