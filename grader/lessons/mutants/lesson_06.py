"""Lesson 06, draft trees: wrong solutions under the property that must catch them, and right ones."""

from grader.lessons.mutants import Patch

# 6.1
GROW = "heap, nodes ="  # the first line
POP = "heapq.heappop(heap)"
BIAS = "markov_bias[token]"
SCORES = "block_logits[depth] + markov_bias[token]"
KEPT = 'ids[np.argsort(-scores[ids], kind="stable")][:width].tolist()'
COLUMN = '"log_probs": log_probs'


def pop_by(key: str) -> str:
    """Take the candidate c = (cost, token, parent, depth) whose key is smallest."""
    return f"heap.pop(heap.index(min(heap, key=lambda c: {key})))"


# 6.2
OWN = "own[node] |= own[parent]"
CONTEXT = "np.ones((len(parents), context_length), dtype=bool)"
MASK = f"np.hstack([{CONTEXT}, own])"

# 6.3 and 6.4
WALK = "path, last"  # the first line
WANTED = "target_tokens[last + 1]"
MORE = f", {WANTED}]"
MATCHES = f"parent == last and x == {WANTED}"
CHILD = "parent == last and "
ACCEPT = "rng.random() * q[x] < p[x]"
REST = "np.maximum(p - q, 0.0)"
LOSE = "q /= q.sum() or 1.0"  # and be normalised
DRAW = "p=p)"
FRESH = "target_probs[node + 1], draft_probs[node + 1].copy()"

WRONG: dict[str, dict[str, list[Patch]]] = {
    "6.1": {
        "best_candidate_enters_next": [
            ("level_by_level", POP, pop_by("(c[3], c[2], c[0])"), "A tree grows level by level."),
            ("depth_first", POP, pop_by("(-c[3], c[0])"), "The likeliest path is followed to its end first."),
            (
                "own_probability_decides",
                POP,
                pop_by("c[0] + nodes[c[2] + 1][3] if nodes else 0.0"),
                "Candidates are compared by their own probability, not by their path's.",
            ),
            ("average_per_token", POP, pop_by("c[0] / max(c[3], 1)"), "Paths are compared by their average per token."),
            (
                "children_enter_at_once",
                "",
                """
                heap, nodes = [(0.0, anchor_token, -1, 0)], []
                while heap and len(nodes) < max_nodes:
                    cost, token, node, depth = heapq.heappop(heap)
                    if depth < len(block_logits):
                        scores = block_logits[depth] + markov_bias[token]
                        log_probs = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
                        for child in np.argsort(-scores, kind="stable")[:width].tolist():
                            heapq.heappush(heap, (cost - log_probs[child], child, len(nodes), depth + 1))
                            nodes.append((child, node, depth + 1, log_probs[child] - cost))
                nodes = nodes[:max_nodes]
                names = ("tokens", "parents", "depths", "log_probs")
                return {name: [node[i] for node in nodes] for i, name in enumerate(names)}
                """,
                "All children enter with their parent; best first is the order of expansion.",
            ),
            ("likeliest_last", POP, pop_by("(-c[0], c[1:])"), "The heap gives the largest item first."),
            (
                "beam_search",
                "",
                """
                nodes, beam = [], [(0.0, anchor_token, -1)]
                for depth, row in enumerate(block_logits):
                    level = []
                    for cost, token, node in beam:
                        scores = row + markov_bias[token]
                        log_probs = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
                        best = np.argsort(-scores, kind="stable")[:width].tolist()
                        level += [(cost - log_probs[child], child, node) for child in best]
                    beam = []
                    for cost, token, parent in sorted(level)[: min(width, max_nodes - len(nodes))]:
                        beam.append((cost, token, len(nodes)))
                        nodes.append((token, parent, depth + 1, -cost))
                names = ("tokens", "parents", "depths", "log_probs")
                return {name: [node[i] for node in nodes] for i, name in enumerate(names)}
                """,
                "A beam of `width` paths per level is a tree of the best nodes.",
            ),
        ],
        "children_follow_own_parent": [
            (
                "bias_ignored_below_the_root",
                BIAS,
                f"({BIAS} if depth == 0 else 0.0)",
                "All nodes of one depth have the same children.",
            ),
            ("anchor_at_every_depth", BIAS, "markov_bias[anchor_token]", "The anchor's bias corrects the whole tree."),
            (
                "best_token_of_the_depth",
                f"scores = {SCORES}",
                "best = anchor_token\n"
                "            for row in block_logits[:depth]:\n"
                "                best = int((row + markov_bias[best]).argmax())\n"
                "            scores = block_logits[depth] + markov_bias[best]",
                "The bias comes from the best token of the depth before, for all its nodes.",
            ),
            (
                "row_one_too_early",
                "block_logits[depth]",
                "block_logits[max(depth - 1, 0)]",
                "A node's children stand in its own row.",
            ),
            ("bias_subtracted", f"+ {BIAS}", f"- {BIAS}", "The bias is a penalty and is subtracted."),
        ],
        "log_probs_of_whole_paths": [
            ("logits_added", "float(log_probs[child])", "float(scores[child])", "Logits add up like log-probs."),
            (
                "softmax_over_the_width",
                "np.exp(scores - scores.max()).sum()",
                "np.sort(np.exp(scores - scores.max()))[-width:].sum()",
                "Only the tokens kept count, so the softmax runs over them.",
            ),
            (
                "softmax_of_one_logit",
                COLUMN,
                '"log_probs": [0.0] * len(tokens)',
                "A softmax of one logit is its probability.",
            ),
            (
                "softmax_that_overflows",
                "scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())",
                "scores - np.log(np.exp(scores).sum())",
                "exp of the logits fits into a float.",
            ),
            (
                "own_log_probs",
                COLUMN,
                '"log_probs": [x - [0.0, *log_probs][p + 1] for x, p in zip(log_probs, parents)]',
                "log_probs hold each node's own probability.",
            ),
            (
                "probabilities_not_logs",
                COLUMN,
                '"log_probs": np.exp(log_probs).tolist()',
                "The tree keeps probabilities.",
            ),
            ("single_precision", SCORES, f"({SCORES}).astype(np.float32)", "Single precision is enough."),
        ],
        "bounds_hold": [
            ("root_counts", "len(nodes) <= max_nodes", "len(nodes) < max(max_nodes, 1)", "The root counts as a node."),
            ("at_least_one_node", "<= max_nodes", "<= max(max_nodes, 1)", "A tree has a node at least."),
            (
                "deeper_than_the_block",
                GROW,
                f"block_logits = [*block_logits, block_logits[-1]]\n    {GROW}",
                "After the last position its row goes on being used.",
            ),
            (
                "one_child_too_many",
                GROW,
                f"width = min(width + 1, len(block_logits[0]))\n    {GROW}",
                "The width bounds a level of the tree, and a node may have one child more.",
            ),
            (
                "wide_is_refused",
                "width = min(width, block_logits.shape[1])",
                "assert width <= block_logits.shape[1]",
                "A width beyond the vocabulary is bad input.",
            ),
        ],
        "ties_lower_token_then_older": [
            (
                "reversed_argsort",
                KEPT,
                'ids[np.argsort(scores[ids], kind="stable")[::-1]][:width].tolist()',
                "np.argsort, read from its end, gives the best first.",
            ),
            (
                "plain_argpartition",
                KEPT,
                "[c for c in np.argpartition(scores, -width)[-width:].tolist() if scores[c] > -np.inf]",
                "np.argpartition keeps the lower of equal tokens.",
            ),
            ("first_found_first", POP, pop_by("(c[0], c[2], c[1])"), "Of equal candidates the first found enters."),
            (
                "younger_parent_first",
                POP,
                pop_by("(c[0], c[1], -c[2])"),
                "Of equal candidates the newer branch enters.",
            ),
        ],
        "impossible_children_left_out": [
            ("impossible_children_kept", "(scores > -np.inf) & ", "", "Every node has `width` children."),
            ("masked_becomes_zero", SCORES, f"np.nan_to_num({SCORES}, neginf=0.0)", "A masked token has the logit 0."),
            ("masked_becomes_unlikely", SCORES, f"np.maximum({SCORES}, -30.0)", "Impossible tokens are unlikely ones."),
        ],
        "anchor_and_missing_rows": [
            ("anchor_ignored", BIAS, f"({BIAS} if depth else 0.0)", "Nothing stands before the first position."),
            (
                "missing_row_ends_the_branch",
                "if depth < len(block_logits):",
                "if depth < len(block_logits) and token in markov_bias:",
                "A token without a bias row has no children.",
            ),
            (
                "unused_rows_checked",
                GROW,
                f"markov_bias = {{t: row for t, row in markov_bias.items()}} and markov_bias\n    {GROW}",
                "All rows of markov_bias are looked at before the first one is used.",
            ),
        ],
    },
    "6.2": {
        "ancestors_and_itself": [
            ("parent_only", OWN, "own[node, parent] = True", "A node sees its parent, and that is enough."),
            ("diagonal_left_out", ", own]", ", own & ~np.eye(len(own), dtype=bool)]", "A token need not see itself."),
            ("true_means_masked", MASK, f"~{MASK}", "True marks what is masked."),
            ("transposed", ", own]", ", own.T]", "Rows are those that are looked at, columns those who look."),
            (
                "two_generations",
                OWN,
                "own[node, [p for p in (parent, parents[parent]) if p >= 0]] = True",
                "Parent and grandparent are all the ancestors there are.",
            ),
            ("root_is_the_last_node", "if parent >= 0:", "if True:", "−1 is the last node, as it is in NumPy."),
            ("both_ways", ", own]", ", own | own.T]", "Attention runs both ways along a path."),
        ],
        "other_branches_hidden": [
            ("causal", ", own]", ", np.tri(len(own), dtype=bool)]", "Verification is causal for a tree, too."),
            (
                "siblings_see_each_other",
                ", own]",
                ", own | np.equal.outer(parents, parents)]",
                "Siblings see each other.",
            ),
            (
                "everything_above",
                ", own]",
                ", own | np.greater.outer(own.sum(axis=1), own.sum(axis=1))]",
                "A node sees everything that is less deep, whatever the branch.",
            ),
            (
                "uncles_too",
                OWN,
                f"{OWN} | np.isin(parents, np.flatnonzero(own[parent]))",
                "Children of all ancestors are seen.",
            ),
        ],
        "whole_context_first": [
            ("context_behind", f"[{CONTEXT}, own]", f"[own, {CONTEXT}]", "The nodes come first."),
            ("context_left_out", MASK, "own", "The context is in the cache, and the mask need not speak of it."),
            (
                "context_for_the_first_level",
                CONTEXT,
                "np.repeat(np.array(parents, dtype=int)[:, None] < 0, context_length, axis=1)",
                "Only children of the root see the context; deeper nodes see it through them.",
            ),
            (
                "root_hidden",
                CONTEXT,
                "np.tile(np.arange(context_length) < context_length - 1, (len(parents), 1))",
                "The last position of the context is the root, which is a node's parent, not context.",
            ),
            (
                "context_rows_too",
                f"return {MASK}",
                f"mask = {MASK}\n    return np.vstack([np.tri(context_length, mask.shape[1], dtype=bool), mask])",
                "An attention mask is square, so the context has rows too.",
            ),
        ],
        "empty_tree_and_no_context": [
            (
                "empty_loses_columns",
                MASK,
                f"{MASK} if parents else np.array([], dtype=bool)",
                "An empty mask has no columns.",
            ),
            ("empty_is_refused", MASK, f"{MASK}[max(parents) < -1 :]", "A tree has at least one node."),
            (
                "context_is_at_least_one",
                CONTEXT,
                "np.ones((len(parents), max(context_length, 1)), dtype=bool)",
                "There is always a context.",
            ),
        ],
    },
    "6.3": {
        "follows_the_target": [
            (
                "target_in_place_of_the_node",
                MATCHES,
                "parent == last and x == target_tokens[node]",
                "target_tokens[i] belongs to node i: what the target says in its place.",
            ),
            ("target_by_depth", WANTED, "target_tokens[len(path)]", "target_tokens[k] is the k-th token of the text."),
            ("first_level_only", CHILD, "parent == last == -1 and ", "One token of the tree is enough."),
            (
                "longest_agreeing_tail",
                "",
                """
                best = []
                for leaf in range(len(tokens)):
                    path, at = [], leaf
                    while at >= 0 and target_tokens[parents[at] + 1] == tokens[at]:
                        path, at = [at, *path], parents[at]
                    best = max(best, path, key=len)
                last = best[-1] if best else -1
                return {"path": best, "tokens": [*(tokens[i] for i in best), target_tokens[last + 1]]}
                """,
                "The walk goes from a leaf up to the root, over nodes that the target agrees with.",
            ),
            (
                "most_agreeing_path",
                "",
                """
                best, most = [], 0
                for leaf in range(len(tokens)):
                    path, at = [], leaf
                    while at >= 0:
                        path, at = [at, *path], parents[at]
                    agreeing = sum(target_tokens[parents[i] + 1] == tokens[i] for i in path)
                    best, most = (path, agreeing) if agreeing > most else (best, most)
                last = best[-1] if best else -1
                return {"path": best, "tokens": [*(tokens[i] for i in best), target_tokens[last + 1]]}
                """,
                "The accepted path is the one that agrees in most of its nodes.",
            ),
        ],
        "one_token_more": [
            ("no_token_more", MORE, "]", "Only what was accepted is emitted."),
            (
                "no_bonus_at_a_leaf",
                MORE,
                f", *[{WANTED}] * (last < 0 or last in parents)]",
                "At a leaf there is nothing to correct.",
            ),
            ("correction_from_the_root", MORE, ", target_tokens[0]]", "The correction comes from the root's row."),
            ("correction_one_too_early", MORE, ", target_tokens[max(last, 0)]]", "target_tokens[i] follows node i."),
            (
                "draft_token_as_correction",
                MORE,
                f", ([t for t, p in zip(tokens, parents) if p == last] or [{WANTED}])[0]]",
                "After a mismatch the tree's own next token is emitted.",
            ),
        ],
        "only_own_children_count": [
            (
                "first_child_only",
                CHILD,
                f"{CHILD}node == parents.index(last) and ",
                "Only a node's first child counts.",
            ),
            ("any_later_node", CHILD, "", "The next node with the wanted token is the one."),
            (
                "any_node_of_the_depth",
                "",
                """
                depths, path = [], []
                for parent in parents:
                    depths.append(depths[parent] + 1 if parent >= 0 else 0)
                while True:
                    wanted = target_tokens[path[-1] + 1 if path else 0]
                    found = [i for i, x in enumerate(tokens) if depths[i] == len(path) and x == wanted]
                    if not found:
                        return {"path": path, "tokens": [*(tokens[i] for i in path), wanted]}
                    path.append(found[0])
                """,
                "A node at the right depth with the wanted token is the one.",
            ),
            (
                "last_child_only",
                CHILD,
                f"{CHILD}last not in parents[node + 1 :] and ",
                "Only a node's last child counts.",
            ),
            (
                "stops_at_the_first_sibling",
                "            last = node\n",
                "            last = node\n        elif parent == last:\n            break\n",
                "The first wrong child ends the walk.",
            ),
        ],
        "no_nodes_no_path": [
            ("nothing_without_nodes", MORE, f", *[{WANTED}][: len(tokens)]]", "Without nodes nothing is emitted."),
            ("empty_is_refused", WALK, f"assert tokens\n    {WALK}", "A tree has nodes."),
        ],
    },
    "6.4": {
        "accepts_with_min_one_p_over_q": [
            (
                "exact_match",
                "",
                """
                path, last, said = [], -1, int(rng.choice(len(target_probs[0]), p=target_probs[0]))
                for node, (x, parent) in enumerate(zip(tokens, parents)):
                    if parent == last and x == said:
                        path.append(node)
                        last, said = node, int(rng.choice(len(target_probs[0]), p=target_probs[node + 1]))
                return {"path": path, "tokens": [*(tokens[node] for node in path), said]}
                """,
                "A child is accepted if a token drawn from the target equals it.",
            ),
            ("ratio_upside_down", ACCEPT, "rng.random() * p[x] < q[x]", "The ratio is q over p."),
            ("target_probability_alone", ACCEPT, "rng.random() < p[x]", "The target accepts with its own probability."),
            ("accepted_by_comparison", ACCEPT, "p[x] >= q[x]", "A child is accepted if p(x) ≥ q(x)."),
            (
                "softmax_of_one_logit",
                ACCEPT,
                "rng.random() < (np.exp(p[[x]]) / np.exp(p[[x]]).sum())[0]",
                "A softmax over the child's one logit is its probability: it is always 1.",
            ),
            (
                "divided_by_the_targets_best",
                ACCEPT,
                "rng.random() * p.max() < p[x]",
                "p is measured by its best token.",
            ),
            (
                "rows_of_the_child",
                ACCEPT,
                "rng.random() * draft_probs[node + 1][x] < target_probs[node + 1][x]",
                "The rows of node i are those that judge node i.",
            ),
            ("greedy_acceptance", ACCEPT, "p.argmax() == x", "The target's argmax decides at any temperature."),
        ],
        "residual_after_rejection": [
            ("drawn_from_the_target", DRAW, "p=target_probs[last + 1])", "The correction is drawn from p."),
            (
                "target_without_the_token",
                REST,
                "np.where(np.arange(len(p)) == x, 0.0, p)",
                "p only loses the rejected token.",
            ),
            ("absolute_difference", REST, "np.abs(p - q)", "The residual is the distance |p − q|."),
            (
                "best_of_the_residual",
                "rng.choice(len(p), p=p)",
                "p.argmax()",
                "A rejection emits the residual's best token.",
            ),
            (
                "drawn_from_the_draft",
                DRAW,
                "p=(draft_probs if last in parents else target_probs)[last + 1])",
                "The drafter proposes again after a rejection.",
            ),
        ],
        "siblings_in_turn": [
            ("q_with_replacement", "q[x] = 0.0", "pass", "q stays as it was: all children are drawn from it."),
            ("q_not_renormalised", LOSE, "pass", "q only loses the token that was tried."),
            (
                "p_stays_until_the_end",
                "< p[x]",
                "< target_probs[last + 1][x]",
                "Every sibling is tried against the target's own row; the residual is for the end.",
            ),
            (
                "q_before_p",
                f"rest = {REST}",
                f"q[x] = 0.0\n            q /= q.sum() or 1.0\n            rest = {REST}",
                "First q loses the token, then the residual is taken.",
            ),
            ("one_try_per_node", LOSE, "break", "A rejected node has no other children to try."),
            (
                "likeliest_child_first",
                "enumerate(zip(tokens, parents))",
                "sorted(enumerate(zip(tokens, parents)), key=lambda n: (n[1][1], -draft_probs[n[1][1] + 1][n[1][0]]))",
                "The drafter's favourite child is tried first.",
            ),
            (
                "one_number_for_all",
                f"{ACCEPT}:",
                "(u := rng.random() if parent not in parents[:node] else u) * q[x] < p[x]:",
                "One random number is enough for all the children of a node.",
            ),
            (
                "one_hot_siblings",
                f"if {CHILD}rng",
                f"q = np.eye(len(p))[x]\n        if {CHILD}rng",
                "A rejected child came from a one-hot q, so that p only loses its token.",
            ),
            (
                "averaged_siblings",
                "",
                """
                path, last = [], -1
                while last in parents:
                    children = [i for i, parent in enumerate(parents) if parent == last]
                    p = target_probs[last + 1]
                    mean = sum(p[tokens[i]] for i in children) / len(children)
                    if rng.random() >= mean:
                        break
                    last = next(i for i in children if p[tokens[i]] >= mean)
                    path.append(last)
                final = int(rng.choice(len(target_probs[0]), p=target_probs[last + 1]))
                return {"path": path, "tokens": [*(tokens[i] for i in path), final]}
                """,
                "Path probabilities are averaged over the siblings, and the better half is tried.",
            ),
            ("fixed_seed", WALK, f"rng = np.random.default_rng(0)\n    {WALK}", "A fixed seed is still chance."),
        ],
        "fresh_rows_after_acceptance": [
            ("old_draft_row", FRESH, "target_probs[node + 1], q", "The drafter's row serves the whole path."),
            ("old_target_row", FRESH, "p, draft_probs[node + 1].copy()", "The parent's p serves the whole path."),
            (
                "bonus_from_the_parents_row",
                DRAW,
                "p=p if last < 0 or last in parents else target_probs[parents[last] + 1])",
                "The bonus token comes from the row that accepted the last child.",
            ),
            (
                "product_of_ratios",
                "< p[x]",
                "< p[x] * math.prod(\n"
                "            target_probs[parents[n] + 1, tokens[n]] / draft_probs[parents[n] + 1, tokens[n]]\n"
                "            for n in path)",
                "Acceptance goes by whole paths: the product of p over the product of q.",
            ),
        ],
        "sure_target_is_followed": [
            ("any_later_node", "parent == last", "True", "A node without a parent in the path may follow too."),
            ("impossible_child_accepted", "< p[x]", "<= p[x]", "A random number of 0 accepts every child."),
            ("rows_one_too_early", FRESH, "target_probs[node], draft_probs[node].copy()", "Row i follows node i."),
        ],
        "one_token_more": [
            ("no_token_more", ", final]", "]", "Only accepted tokens are emitted."),
            (
                "no_bonus_at_a_leaf",
                ", final]",
                ", *[final] * (last < 0 or last in parents)]",
                "At a leaf nothing is drawn.",
            ),
        ],
        "same_seed_same_result": [
            ("global_numbers", "rng.random()", "np.random.random()", "NumPy's own numbers are as random as rng's."),
            (
                "fresh_generator",
                WALK,
                f"rng = np.random.default_rng()\n    {WALK}",
                "A new generator per call is as good.",
            ),
        ],
    },
}

RIGHT: dict[str, list[Patch]] = {
    "6.1": [
        (
            "list_and_min",
            "",
            """
            nodes, candidates, at = [], [], (anchor_token, -1, 0, 0.0)
            while len(nodes) < max_nodes:
                if at[2] < len(block_logits):
                    scores = block_logits[at[2]] + markov_bias.get(at[0])
                    own = (scores - np.logaddexp.reduce(scores)).tolist()
                    for child in sorted(range(len(own)), key=own.__getitem__, reverse=True)[:width]:
                        if own[child] > -math.inf:
                            candidates.append((child, len(nodes) - 1, at[2] + 1, at[3] + own[child]))
                if not candidates:
                    break
                at = min(candidates, key=lambda c: (-c[3], c[0], c[1]))
                candidates.remove(at)
                nodes.append(at)
            names = ("tokens", "parents", "depths", "log_probs")
            return {name: [node[i] for node in nodes] for i, name in enumerate(names)}
            """,
            "All candidates lie in a plain list, and min finds the next one with a key.",
        ),
        (
            "plain_python",
            "",
            """
            print("growing a tree")
            tree = {"log_probs": [], "depths": [], "parents": [], "tokens": []}
            frontier, node, token, depth, log_prob = [], -1, anchor_token, 0, 0.0
            while len(tree["tokens"]) < max_nodes:
                if depth < len(block_logits):
                    scores = [u + b for u, b in zip(block_logits[depth].tolist(), markov_bias[token].tolist())]
                    top = max(scores)
                    norm = top + math.log(math.fsum(math.exp(s - top) for s in scores))
                    order = sorted(range(len(scores)), key=lambda t: -scores[t])[:width]
                    possible = [t for t in order if scores[t] > -math.inf]
                    frontier += [(log_prob + scores[t] - norm, t, node, depth + 1) for t in possible]
                if not frontier:
                    return tree
                frontier.sort(key=lambda c: (-c[0], c[1], c[2]))
                log_prob, token, parent, depth = frontier.pop(0)
                node = len(tree["tokens"])
                for name, value in (("tokens", token), ("parents", parent), ("depths", depth), ("log_probs", log_prob)):
                    tree[name].append(value)
            return tree
            """,
            "Plain Python, the tree as a dict that grows, and a frontier that is sorted anew for each node.",
        ),
        (
            "cursors",
            "",
            """
            nodes, cursor, children = [], {}, {}

            def open_node(node, token, depth, total):
                cursor[node], children[node] = 0, []
                if depth < len(block_logits):
                    scores = block_logits[depth] + markov_bias[token]
                    own = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
                    order = np.lexsort((np.arange(own.size), -own))[:width]
                    children[node] = [(-total - own[t], int(t)) for t in order if np.isfinite(own[t])]

            open_node(-1, anchor_token, 0, 0.0)
            while len(nodes) < max_nodes:
                ready = [n for n in cursor if cursor[n] < len(children[n])]
                if not ready:
                    break
                parent = min(ready, key=lambda n: (*children[n][cursor[n]], n))
                cost, token = children[parent][cursor[parent]]
                cursor[parent] += 1
                nodes.append((token, parent, 1 if parent < 0 else nodes[parent][2] + 1, -cost))
                open_node(len(nodes) - 1, token, *nodes[-1][2:])
            names = ("tokens", "parents", "depths", "log_probs")
            return {name: [node[i] for node in nodes] for i, name in enumerate(names)}
            """,
            "Each node holds a cursor into its sorted children, and the node whose next child is best goes on.",
        ),
        (
            "partition_put_right",
            KEPT,
            "(\n"
            "                *np.flatnonzero(scores > scores[np.argpartition(scores, -width)[-width]]).tolist(),\n"
            "                *np.flatnonzero(scores == scores[np.argpartition(scores, -width)[-width]]).tolist()[\n"
            "                    : width - (scores > scores[np.argpartition(scores, -width)[-width]]).sum()\n"
            "                ],\n"
            "            ) if len(ids) >= width else ids.tolist()",
            "argpartition finds the width, and what ties at its edge is put right.",
        ),
        (
            "sorted_vocabulary",
            KEPT,
            '[t for t in np.argsort(-scores, kind="stable")[:width].tolist() if scores[t] > -np.inf]',
            "The whole vocabulary is sorted.",
        ),
    ],
    "6.2": [
        (
            "climbing",
            "",
            """
            mask = np.full((len(parents), context_length + len(parents)), False)
            mask[:, :context_length] = True
            for node in range(len(parents)):
                at = node
                while at != -1:
                    mask[node, context_length + at] = True
                    at = parents[at]
            return mask
            """,
            "Every node climbs to the root and marks what it passes.",
        ),
        (
            "matrix_power",
            "",
            """
            step = np.eye(len(parents))
            for node, parent in enumerate(parents):
                if parent >= 0:
                    step[node, parent] = 1
            reach = np.linalg.matrix_power(step, len(parents)) > 0 if parents else step.astype(bool)
            return np.concatenate((np.ones((len(parents), context_length), bool), reach), axis=1)
            """,
            "Reachability is a power of the matrix of parents.",
        ),
        (
            "sets_of_ancestors",
            "",
            """
            paths = []
            for node, parent in enumerate(parents):
                paths.append((paths[parent] if parent >= 0 else set()) | {node})
            rows = [[True] * context_length + [column in path for column in range(len(parents))] for path in paths]
            return np.array(rows, dtype=bool).reshape(len(parents), context_length + len(parents))
            """,
            "Paths are sets, and a cell asks whether its column is in the row's set.",
        ),
        (
            "rows_of_bits",
            "",
            """
            rows, columns = [], context_length + len(parents)
            for node, parent in enumerate(parents):
                rows.append((rows[parent] if parent >= 0 else (1 << context_length) - 1) | 1 << (context_length + node))
            return np.array([[row >> c & 1 for c in range(columns)] for row in rows], bool).reshape(len(rows), columns)
            """,
            "Rows are integers whose bits are the columns.",
        ),
    ],
    "6.3": [
        (
            "dict_of_children",
            "",
            """
            child = {pair: node for node, pair in enumerate(zip(parents, tokens))}
            path, said, at = [], [target_tokens[0]], -1
            while (at, said[-1]) in child:
                at = child[at, said[-1]]
                path += [at]
                said += [target_tokens[at + 1]]
            return dict(tokens=said, path=path)
            """,
            "A dict leads from a node and a token to the child.",
        ),
        (
            "recursive",
            "",
            """
            def below(node):
                for i in range(len(tokens)):
                    if parents[i] == node and tokens[i] == target_tokens[node + 1]:
                        return [i, *below(i)]
                return []

            path = below(-1)
            return {"path": path, "tokens": [target_tokens[i + 1] for i in (-1, *path)]}
            """,
            "A recursion takes one step and asks for the rest.",
        ),
        (
            "marked_by_arrays",
            "",
            """
            nodes, above, wanted = (np.array(column, dtype=int) for column in (tokens, parents, target_tokens))
            alive = nodes == wanted[above + 1]
            for node in np.flatnonzero(above >= 0):
                alive[node] &= alive[above[node]]
            path = np.flatnonzero(alive)
            last = path[-1] + 1 if path.size else 0
            return {"path": path.tolist(), "tokens": [*nodes[path].tolist(), int(wanted[last])]}
            """,
            "All nodes that agree with the target are marked by arrays first; the path is then read off.",
        ),
    ],
    "6.4": [
        (
            "for_and_else",
            "",
            """
            path, at = [], -1
            while True:
                p, q = target_probs[at + 1], draft_probs[at + 1].copy()
                for child in [i for i in range(len(tokens)) if parents[i] == at]:
                    x = tokens[child]
                    if rng.uniform() <= min(1.0, p[x] / q[x]) and p[x] > 0:
                        path.append(child)
                        at = child
                        break
                    p = np.clip(p - q, 0.0, None)
                    q[x] = 0.0
                    p, q = p / p.sum(), q / max(q.sum(), 1e-300)
                else:
                    return {"path": path, "tokens": [tokens[i] for i in path] + [int(rng.choice(len(p), p=p))]}
            """,
            "The children of a node are listed first, and for … else notices that none was accepted.",
        ),
        (
            "numbers_drawn_first",
            "",
            """
            numbers = rng.random(len(tokens) + 1)
            path, last, p, q = [], -1, target_probs[0], draft_probs[0].copy()
            for node, (x, parent) in enumerate(zip(tokens, parents)):
                if parent == last and numbers[node] < p[x] / q[x]:
                    path.append(node)
                    last, p, q = node, target_probs[node + 1], draft_probs[node + 1].copy()
                elif parent == last:
                    p = np.maximum(p - q, 0.0) / np.maximum(p - q, 0.0).sum()
                    q[x] = 0.0
                    q /= q.sum() or 1.0
            ends = np.cumsum(p)
            token = int(np.searchsorted(ends, numbers[-1] * ends[-1], side="right"))
            return {"path": path, "tokens": [*(tokens[i] for i in path), token]}
            """,
            "All random numbers are drawn before the walk, and the last token by the inverse of the cumulative sum.",
        ),
        (
            "mass_kept_apart",
            "",
            """
            path, last, p, q, mass = [], -1, target_probs[0], draft_probs[0].copy(), 1.0
            for node, (x, parent) in enumerate(zip(tokens, parents)):
                if parent != last:
                    continue
                if rng.random() * q[x] < p[x] * mass:
                    path.append(node)
                    last, p, q, mass = node, target_probs[node + 1], draft_probs[node + 1].copy(), 1.0
                    continue
                rest = np.clip(p * mass - q, 0.0, None)
                p, mass, q[x] = rest / rest.sum(), mass - q[x], 0.0
            return {"tokens": [tokens[i] for i in path] + [int(rng.choice(len(p), p=p))], "path": path}
            """,
            "q is never normalised: the mass that is left of it stands in the formulas instead.",
        ),
        (
            "recursive_lists",
            "",
            """
            def below(node):
                p, q = target_probs[node + 1].tolist(), draft_probs[node + 1].tolist()
                for child, x in ((i, tokens[i]) for i, parent in enumerate(parents) if parent == node):
                    if rng.random() < p[x] / q[x]:
                        path, end = below(child)
                        return [child, *path], end
                    rest = [max(a - b, 0.0) for a, b in zip(p, q)]
                    p = [r / sum(rest) for r in rest]
                    q[x] = 0.0
                    q = [b / (sum(q) or 1.0) for b in q]
                return [], int(rng.choice(len(p), p=p))

            path, end = below(-1)
            return {"path": path, "tokens": [*(tokens[i] for i in path), end]}
            """,
            "A recursion walks down in plain Python lists.",
        ),
    ],
}
