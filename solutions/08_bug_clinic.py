# %% [markdown]
# # Lesson 08 · Bug clinic
# *What goes wrong in real engines, how does it show, and which small input proves it?*
#
# | | |
# |---|---|
# | **You build** | repairs of sixteen bugs that were really shipped, and failing cases for fourteen |
# | **Difficulty** | ●●●○ — one to eight lines each |
# | **Time** | 120 minutes; the parts are independent |
# | **You need** | the terms of lessons 00 to 06 |
#
# Every function below runs, and the example in its docstring works: its author tried that one. Above it stands a
# report; the docstring is the rule.
#
# 1. Find a small input on which it breaks its rule, in the cell below it.
# 2. Write that call down with the right result, worked out by hand: a **failing case**, which is checked.
# 3. Only then read the code, repair it, and run its check.
#
# Hints: `hint("8.3.case")`, `hint("8.3")`.

# %% role="setup"
import numpy as np

from dspark_mini import viz
from grader import check, hint

# %% [markdown]
# ## Where the bugs sit, and how they show
# Most bugs cost acceptance or time and leave the text as it is. Those in the verifier change it, slightly.

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
# The more anchors per training sequence, the lower the loss, the higher the accuracy, and the worse every evaluation.
# [SpecForge issue 470](https://github.com/sgl-project/SpecForge/issues/470), from DFlash training. Numbers that were
# too good raised suspicion.

# %% bug="8.1"

# %% role="picture"
anchors, block_length = [0, 2], 2                    # change these
mask = visible_features(anchors, block_length)
read_at = [a + k for a in anchors for k in range(block_length)]
viz.mask_picture(mask, mask.shape[1], block_length=1, positions=read_at, title="which features each block may see")

# %% task="8.1.case"

# %% check="8.1.case"

# %% check="8.1"

# %% [markdown]
# ## Bug 8.2 · Good weights, poor drafts
# A drafter with good training metrics drafts poorly in another project. Nothing fails, and the text is right.
# [onnxruntime-genai pull request 2538](https://github.com/microsoft/onnxruntime-genai/pull/2538).

# %% bug="8.2"

# %% role="picture"
tapped_features([[0.0, 1.0], [4.0, 5.0], [4.0, 5.0]], layer_ids=[1])  # change these

# %% task="8.2.case"

# %% check="8.2.case"

# %% check="8.2"

# %% [markdown]
# # Part 2 · Drafting
#
# ## Bug 8.3 · Acceptance fades with the context
# Acceptance is .8 with prompts of 1,000 tokens and .22 with 12,000, where speculation runs at 9.7 tokens/s and plain
# decoding at 13.25. [ik_llama.cpp pull request 2296](https://github.com/ikawrakow/ik_llama.cpp/pull/2296). With the
# same weights another engine kept .57 to .87 at every length.

# %% bug="8.3"

# %% role="picture"
block_input_positions([], block_size=3)              # change this

# %% task="8.3.case"

# %% check="8.3.case"

# %% check="8.3"

# %% [markdown]
# ## Bug 8.4 · One line of a config
# Same weights, same 300 requests: with one more line in the checkpoint's config the accepted length is 1.631, without
# it 1.065. [A comment in SGLang pull request 40203](https://github.com/sgl-project/sglang/pull/40203). The opposite
# mix-up, in [vLLM issue 56792](https://github.com/vllm-project/vllm/issues/56792), left less than 1 % accepted. Below,
# an **oracle drafter** knows what the target will say: read right, it stays at 1.

# %% bug="8.4"

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

# %% task="8.4.case"

# %% check="8.4.case"

# %% check="8.4"

# %% [markdown]
# ## Bug 8.5 · Half a translation
# Since the drafter's vocabulary was pruned, next to nothing is accepted. [NeMo Automodel pull request
# 2447](https://github.com/NVIDIA-NeMo/Automodel/pull/2447): the checkpoint lacked its table of ids. This function makes
# a subtler half of the mistake.

# %% bug="8.5"

# %% role="picture"
carried = draft_in_target_ids(token=2, draft_probs=[0.5, 0.3, 0.2], d2t=[0, 0, 0], vocabulary=6)
print(carried, "q that the verifier looks up:", carried["row"][carried["token"]])

# %% task="8.5.case"

# %% check="8.5.case"

# %% check="8.5"

# %% [markdown]
# # Part 3 · Verifying
# The next cell adds up what is emitted, given p, the row q that the verifier is **told**, and the law that drafts are
# **really** drawn from.

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
# ## Bug 8.6 · Seventy-five per cent
# The target says [.6, .4]; with a greedy drafter [.75, .25] comes out. [Transformers issue
# 32867](https://github.com/huggingface/transformers/issues/32867), with just these numbers.

# %% bug="8.6"

# %% role="picture"
target, softmax = [0.6, 0.4], [0.0, 1.0]             # change the softmax
told = greedy_proposal([softmax])
drawn = np.eye(len(softmax))[told["tokens"][0]]      # a greedy drafter drafts this token always
law = emitted_law(target, told["rows"][0], drawn)
viz.emitted_laws(target, {"with the row of your function": law})

# %% task="8.6.case"

# %% check="8.6.case"

# %% check="8.6"

# %% [markdown]
# ## Bug 8.7 · Acceptance too good to be true
# Over 477 positions acceptance is .78, where theory allows .73; the emitted tokens are off by .05 in total variation,
# by .31 at worst. [Transformers issue 47932](https://github.com/huggingface/transformers/issues/47932), top_k = 50. A
# law is broken, here and in 8.9, which no single call shows: there is no case to write.

# %% bug="8.7"

# %% role="picture"
target, softmax, top_k = [0.2, 0.5, 0.3], [0.5, 0.3, 0.2], 3      # change top_k
told = top_k_proposal(softmax, top_k, np.random.default_rng(0))["row"]
kept = np.where(np.argsort(np.argsort(-np.array(softmax))) < top_k, softmax, 0.0)
law = emitted_law(target, told, kept / kept.sum())
viz.emitted_laws(target, {"with the row of your function": law})

# %% check="8.7"

# %% [markdown]
# ## Bug 8.8 · A drafter that nobody asks
# Whatever the target finds likely is accepted, even where the drafter came upon it by chance. [1bit-MONSTER issue
# 637](https://github.com/1bit-MONSTER/1bit-MONSTER/issues/637), in an engine whose drafter returns tokens only.

# %% bug="8.8"

# %% role="picture"
p, q = [0.5, 0.25, 0.25], [0.5, 0.25, 0.25]          # change these, and the draft x
x, uniform = 0, 0.75
print("accepted", accepted_by_uniforms([x], [q], [p], [uniform]), " p/q =", p[x] / q[x], " uniform", uniform)

# %% task="8.8.case"

# %% check="8.8.case"

# %% check="8.8"

# %% [markdown]
# ## Bug 8.9 · The right rate, the wrong tokens
# The acceptance rate is right. The emitted tokens are biased. [vLLM Ascend pull request
# 16370](https://github.com/vllm-project/vllm-ascend/pull/16370). With two tokens nothing shows; take three.

# %% bug="8.9"

# %% role="picture"
p, q = np.array([0.25, 0.75]), np.array([0.5, 0.5])  # change these
rng = np.random.default_rng(8)
emitted = [emit_one_token(int(rng.choice(q.size, p=q)), p, q, rng) for _ in range(4000)]
viz.emitted_laws(p, {"your function, 4,000 draws": np.bincount(emitted, minlength=p.size) / 4000}, tolerance=0.03)

# %% check="8.9"

# %% [markdown]
# ## Is it a bug? · Exact match
# A verifier draws a token from p, emits it, and counts the draft as accepted if they are equal. Lossless? Decide
# first.

# %% role="show"
p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
emitted = sum(q[x] * p for x in range(3))            # for each draft x the own token has the law p
print("emitted:", emitted, " p:", p)
print(f"accepted: exact match {np.sum(p * q):.2f}, min(1, p/q) {np.minimum(p, q).sum():.2f}")

# %% [markdown]
# **Not a bug**: it only accepts less. It was reported, and measured to be lossless ([mlxcel pull request
# 992](https://github.com/lablup/mlxcel/pull/992)).
#
# ## Is it a bug? · q = 1.0, hard-coded
# A draft x is accepted with probability p(x); else the rest of p, divided by its sum, is drawn from.

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
# **Not a bug** for a draft that was not drawn: for a greedy drafter's best token q *is* 1 ([EAGLE issue
# 283](https://github.com/SafeAILab/EAGLE/issues/283): “done on purpose”). If it was drawn, the text stays right and
# acceptance falls.

# %% [markdown]
# # Part 4 · Committing
#
# ## Bug 8.10 · The text goes on after its end
# Sometimes output runs on past the end-of-text token; mostly it stops as it should. [Transformers issue
# 47912](https://github.com/huggingface/transformers/issues/47912), found with DFlash.

# %% bug="8.10"

# %% role="picture"
commit_until_stop(output=[7], round_tokens=[5, 8, 2], stop_tokens=[2])  # change this

# %% task="8.10.case"

# %% check="8.10.case"

# %% check="8.10"

# %% [markdown]
# ## Bug 8.11 · Finished by “length”
# A request is reported as cut by its length though its text holds a stop token, and users see what follows it. Never
# without speculation. [SGLang issue 31599](https://github.com/sgl-project/sglang/issues/31599); the tests
# had a cap of 1,000.

# %% bug="8.11"

# %% role="picture"
finish_request(tokens=[10, 11, 2, 20, 21], stop_tokens=[2], max_new_tokens=100)  # change this

# %% task="8.11.case"

# %% check="8.11.case"

# %% check="8.11"

# %% [markdown]
# ## Bug 8.12 · Counts that do not add up
# Rounds times the reported tokens per round is more than our users got. Short answers are worst. [vLLM issue
# 56101](https://github.com/vllm-project/vllm/issues/56101): a last round of 3 emitted tokens counted as 6.

# %% bug="8.12"

# %% role="picture"
rounds = [[4, 5, 6], [7, 2]]                         # change these; 2 is the stop token
print("reported:", mean_emitted_length(rounds, stop_tokens=[2]) * len(rounds), "tokens")

# %% task="8.12.case"

# %% check="8.12.case"

# %% check="8.12"

# %% [markdown]
# ## Bug 8.13 · A drafter that starves
# Acceptance falls within each generation and never recovers. [mlxcel issue
# 994](https://github.com/lablup/mlxcel/issues/994). Five rounds are played; after each, `rows` must be
# `committed − 1`.

# %% bug="8.13"

# %% role="picture"
rows, committed = 9, 10                              # the contract holds at the start
for accepted in (4, 2, 0, 4, 3):
    trimmed = draft_rows_to_drop(4, accepted)
    rows += 4 - trimmed["drop"] + trimmed["missing"]
    committed += accepted + 1
    verdict = "" if rows == committed - 1 else "← broken"
    print(f"accepted {accepted}: rows {rows:2d}, committed − 1 = {committed - 1:2d}", verdict)

# %% task="8.13.case"

# %% check="8.13.case"

# %% check="8.13"

# %% [markdown]
# # Part 5 · Scheduling
#
# ## Bug 8.14 · A gate without effect
# Every threshold of the gate gives the same accuracy, 13 % *more* rounds and fewer tokens per round. [SGLang pull
# request 30204](https://github.com/sgl-project/sglang/pull/30204). Text does not show it: look at what the target is
# *given*.

# %% bug="8.14"

# %% role="picture"
gated_round(1, [4, 5, 6], [0.9, 0.8, 0.7], threshold=0.5, target_tokens=[4, 5, 6, 7])  # change this

# %% task="8.14.case"

# %% check="8.14.case"

# %% check="8.14"

# %% [markdown]
# ## Bug 8.15 · A scheduler that cannot say no
# The scheduler runs, and verifies everything, at every load. [SGLang pull request
# 35413](https://github.com/sgl-project/sglang/pull/35413), where no table of speeds was loaded.

# %% bug="8.15"

# %% role="picture"
for profile in ([8, 6, 4], [8, 4, 2], [8, 7.9, 7.8]):  # change these
    print(profile, "→ verify", profiled_verify_length([0.5, 0.5], profile))

# %% task="8.15.case"

# %% check="8.15.case"

# %% check="8.15"

# %% [markdown]
# ## Bug 8.16 · 70 % accepted, and slower than before
# At 70 % acceptance the break-even test says: go on. The clock shows a loss of 1.3 seconds. [ds4 issue
# 695](https://github.com/antirez/ds4/issues/695) and [731](https://github.com/antirez/ds4/issues/731): that engine
# replays accepted drafts to repair its cache. The paper has no such cost; this sum is the kit's.

# %% bug="8.16"

# %% role="picture"
net_time_saved([3, 1], target_time=10.0, draft_time=2.0, verify_time=12.0, replay_time=0.0)  # change this

# %% task="8.16.case"

# %% check="8.16.case"

# %% check="8.16"

# %% [markdown]
# ## Is it a bug? · Skip instead of stop
# The paper's scheduler **stops** at the first draft that does not raise Θ. This one **skips** it and tries the next.

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

# %% role="show"
from itertools import product

grid = [0.25, 0.5, 0.75, 1.0]
falling = [row for row in product(grid, repeat=3) if row[0] >= row[1] >= row[2]]
tables = [(0.0, *speeds) for speeds in product([2.0, 4.0, 6.0, 8.0], repeat=4)]  # entry 0 is unused
cases = list(product(falling, tables))
different = sum(admit(*case, stop=True) != admit(*case, stop=False) for case in cases)
print(f"{len(cases)} cases, {different} differ")

# %% [markdown]
# **Not a bug.** Where a survival does not raise Θ, no smaller one does.
#
# ## Is it a bug? · Greedy text that differs by one token
# Greedy output differs from plain decoding, always at the same place. A verify forward adds up the same numbers in
# another order.

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
# **Not a bug of the logic**, if the two best logits are closer than rounding ([llama.cpp issue
# 27407](https://github.com/ggml-org/llama.cpp/issues/27407) is such a report). Report that gap; .001 is not rounding.
# Float64 helps against near ties; against exact ones only the same order of summation does.
#
# ## Open problem · The price of a lie
# Told a false q, a verifier accepts more and emits a wrong law, as in 8.7. How much acceptance do .02 of total
# variation buy? At most .02: what is accepted beyond min(p, q) is emitted beyond p. That takes a `lie` that knows p;
# find one that only knows q.

# %% role="show"
pairs = np.random.default_rng(0).dirichlet(np.ones(5), size=(300, 2))  # 300 times p and q
BEST_KNOWN = 0.0081                                  # of some twenty families of lies that were tried


def lie(q, size):
    return q ** (1 - size)                           # change this; size 0 is the truth, the sum need not be 1


def traded(size):
    rows = [(p, q, told / told.sum()) for p, q in pairs for told in [lie(q, size)]]
    bought = [(q * np.minimum(1, p / told)).sum() - np.minimum(p, q).sum() for p, q, told in rows]
    spent = [np.abs(emitted_law(p, told, q) - p).sum() / 2 for p, q, told in rows]
    return np.mean(bought), np.mean(spent)


trades = [traded(size) for size in np.linspace(0.0, 0.3, 61)]
print(f"bought: {max(bought for bought, spent in trades if spent <= 0.02):.4f}, a higher temperature: 0.0065, "
      f"best known: {BEST_KNOWN}")

# %% [markdown]
# ## Looking back
# * Such bugs are found by an oracle drafter, an enumerated law, an invariant after every round, counts that add up.
# * One more: a drafter's own LM head, overwritten by the target's, cut the accepted length from 2.49 to 1.32 ([vLLM
#   pull request 27732](https://github.com/vllm-project/vllm/pull/27732)).
#
# ## Further reading
# Part 3: [arXiv 2211.17192](https://arxiv.org/abs/2211.17192), [2302.01318](https://arxiv.org/abs/2302.01318).
# DSpark: [2607.05147](https://arxiv.org/abs/2607.05147).
