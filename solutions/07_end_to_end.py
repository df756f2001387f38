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
# # Lesson 07 · End to end
# *What must the loop around the pieces decide, so that the text stays right and the clock agrees?*
#
# | | |
# |---|---|
# | **You build** | the cache rollback, a greedy round, the next block size, the fallback, and a monitor that adds up |
# | **Difficulty** | ●●○○ — five tasks of one to ten lines |
# | **Time** | 45 minutes |
# | **You need** | lessons 01 and 02; your 1.1, 1.4, 1.6, 2.2, 2.3, 2.6, 3.2 drive the engine |

# %% role="setup"
import math

import numpy as np

from grader import check, hint

# %% [markdown]
# ## One loop
#
# | step | who | what |
# |---|---|---|
# | **draft** | drafter | γ tokens after the anchor x₀ |
# | **trim** | confidence, scheduler | only the first ℓ are verified |
# | **verify** | target | one forward over x₀ and ℓ drafts: 1 + ℓ rows |
# | **commit** | engine | appends accepted drafts and one token more, brings the caches into line |
#
# The text is decided in *verify*. Bugs in the other three leave it as it is and cost the speed-up: the loop needs
# assertions, identities and a clock. Stuck? Type `hint("7.1")` in a new cell.

# %% [markdown]
# ## Task 7.1 · Roll the cache back
# The forward of *verify* writes one cache row per token it is fed, and some must go. The **cache contract**:
#
# > After every round the cache holds exactly the committed tokens but the last.
#
# That last one, correction or bonus, was never fed to the target: it is the next anchor.
#
# By hand: of 5 rows, with three drafts accepted, 1 goes. *Which?*

# %% task="7.1"
from dspark_mini.contracts import integer, takes

@takes(verified_rows=integer(low=1), accepted=integer(below="verified_rows"))
def rollback_rows(verified_rows, accepted):
    """Count the rows that the cache has to drop after a round of verification.

    Args:
        verified_rows: 1 + ℓ, all rows that the forward wrote.
        accepted: Number of accepted drafts, 0 to ℓ.
    Returns: The number of rows to drop from the end of the cache.
    Example: verified_rows 5 (the anchor and four drafts), accepted 3  →  1
    """
    ### BEGIN SOLUTION
    return verified_rows - 1 - accepted
    ### END SOLUTION

# %% check="7.1"
check("7.1", rollback_rows)

# %% role="picture"
from dspark_mini import viz

viz.cache_rows({
    f"rollback_rows({rows}, {accepted})": (rows, rollback_rows(rows, accepted))
    for rows, accepted in ((5, 3), (5, 4), (5, 0), (3, 1), (1, 0))
})

# %% [markdown]
# The second line drops nothing: an engine that drops a row there, "because the bonus token is new", is one row short
# after each of its best rounds.
#
# ## Task 7.2 · A whole round
# Trim, verify and commit in one function, greedily. `target_tokens[k]` is what the target says after the first k
# drafts. Trimming comes **first**: what was computed has been paid for. So entries past ℓ belong to rows that never
# exist, and may be −1. Here ℓ may be 0.
#
# By hand: drafts [5, 7, 2], confidences [.9, .8, .3], threshold .5, so ℓ = 2. The target says [5, 6, 1, −1]. Emitted:
# [5, 6]. The row of draft 7 is dropped.

# %% task="7.2"
from dspark_mini.contracts import chance, chances, integers, takes, tokens

@takes(
    draft_tokens=tokens("γ"),
    confidences=chances("γ", empty=True),
    target_tokens=integers("γ+1", low=-1),
    threshold=chance(),
)
def decode_round(draft_tokens, confidences, target_tokens, threshold):
    """Play one greedy round: trim the block, verify what is left, and say what the cache drops.

    Args:
        draft_tokens: list (γ,), drafted tokens x_1..x_γ; there may be none.
        confidences: (γ,) confidences of the drafts; the first one below the threshold ends the block, at length ℓ ≥ 0.
        target_tokens: (γ+1,) the target's choice after the anchor and the first k drafts; −1 in rows past ℓ, which are
            never computed.
        threshold: From 0 to 1; an equal confidence passes.
    Returns: A dict: verified_rows and dropped_rows, rows of the cache; accepted, drafts; tokens, the accepted drafts and one
        token of the target's.
    Example: draft_tokens [5, 7, 2], confidences [.9, .8, .3], target_tokens [5, 6, 1, −1], threshold .5
        →  {'verified_rows': 3, 'accepted': 1, 'tokens': [5, 6], 'dropped_rows': 1}
    """
    ### BEGIN SOLUTION
    length = 0
    while length < len(draft_tokens) and confidences[length] >= threshold:
        length += 1
    accepted = 0
    while accepted < length and draft_tokens[accepted] == target_tokens[accepted]:
        accepted += 1
    emitted = [*draft_tokens[:accepted], target_tokens[accepted]]
    rows = {"verified_rows": 1 + length, "dropped_rows": length - accepted}
    return {"accepted": accepted, "tokens": emitted, **rows}
    ### END SOLUTION

# %% check="7.2"
check("7.2", decode_round)

# %% role="picture"
block, target_says = [5, 7, 2, 4, 6], [5, 7, 2, 1, 6, 3]
rounds = []
for confidences in ([0.9] * 5, [0.9, 0.9, 0.9, 0.3, 0.9], [0.9, 0.3, 0.9, 0.9, 0.9]):
    result = decode_round(block, confidences, target_says, threshold=0.5)
    print(result)
    rounds.append({"drafted": block, "verified": result["verified_rows"] - 1, "accepted": result["accepted"],
                   "emitted": result["tokens"]})
viz.round_rows(rounds)

# %% [markdown]
# The same block three times. Round 1 verifies two drafts for nothing, round 2 trims just those, round 3 trims too
# much. **Confidence changes cost and speed; it cannot change the text.**
#
# ## Task 7.3 · The next block size
# Let α be the chance that a draft is accepted, given that those before it were. Then γ drafts yield
#
# $$1 + \alpha + \alpha^2 + \dots + \alpha^\gamma$$
#
# tokens per round on average, and the best γ has the most tokens per time. The engine knows the time of a round for
# each γ, and estimates α from the last rounds, as accepted over **tested** drafts.
#
# *How many drafts did a round test* that verified twelve and accepted three? And one that verified two and accepted
# both?
#
# By hand: accepted [1, 2] of verified [2, 2] says α = 3/4. With round times [4, 5, 6] for γ = 0, 1, 2: 1/4 = .25,
# 1.75/5 = .35, 2.3125/6 = .385. The answer is 2.

# %% task="7.3"
from dspark_mini.contracts import integers, numbers, takes
from dspark_mini.rules import accepted_of_verified, some_draft_was_verified

@takes(
    accepted_of_verified,
    some_draft_was_verified,
    accepted_counts=integers("n"),
    verified_counts=integers("n"),
    round_times=numbers("sizes", above=0.0),
)
def best_block_size(accepted_counts, verified_counts, round_times):
    """Choose how many tokens to draft next, from what the last rounds accepted.

    Args:
        accepted_counts: list (n,), accepted drafts of each recent round.
        verified_counts: list (n,), verified drafts of the same rounds.
        round_times: (γ_max + 1,) the time of a round with γ drafts, in any unit; entry 0 is a step of plain decoding.
    Returns: The γ whose 1 + α + … + α^γ tokens per round cost the least time each; of equal ones the smallest.
    Example: accepted_counts [1, 2], verified_counts [2, 2], round_times [4, 5, 6]
        α = 3 / 4; 1 / 4 = .25, 1.75 / 5 = .35, 2.3125 / 6 = .385  →  2
    """
    ### BEGIN SOLUTION
    tested = sum(min(accepted + 1, verified) for accepted, verified in zip(accepted_counts, verified_counts))
    alpha = sum(accepted_counts) / tested
    tokens_per_round = np.cumsum(alpha ** np.arange(round_times.size))  # (γ_max + 1,)
    return int(np.argmax(tokens_per_round / round_times))
    ### END SOLUTION

# %% check="7.3"
check("7.3", best_block_size)

# %% [markdown]
# Three histories of forty rounds of 10 ms and .8 ms more per draft. Dotted: your answers.

# %% role="picture"
rng = np.random.default_rng(1)
times = 10.0 + 0.8 * np.arange(17)                   # ms, for γ = 0..16
curves, marks = {}, {}
for alpha in (0.9, 0.7, 0.4):
    accepted = np.cumprod(rng.random((40, 7)) < alpha, axis=1).sum(axis=1)
    curves[f"α = {alpha}"] = np.cumsum(alpha ** np.arange(17)) / times * 1000
    size = best_block_size(accepted, [7] * 40, times)
    marks[f"γ = {size}"] = size
viz.lines({"tokens per second": curves}, x=range(17), x_name="block size γ", marks=marks)

# %% [markdown]
# The rounds of α = .7 say .68; accepted over *verified* drafts would say .29. One rate for all positions is a model:
# DFlash's decays along the block.
#
# ## Task 7.4 · Give up, and try again
# Some stretches of text cannot be guessed, and drafting is a loss. A rule of the kit's, not of the paper's:
#
# * **while drafting**, give up if the last `patience` rounds emitted fewer than `break_even` tokens on average; before
#   there are that many since drafting began, it is too early to judge;
# * **in a pause**, try again after `retry_after` plain rounds.
#
# `break_even` is the yield at which drafting is as fast as plain decoding.
#
# By hand, with break_even 1.5, patience 2, retry_after 3: drafted [4, 4, 4] and emitted [3, 1, 1] gives up. [4, 4, 4,
# 0, 0] stays plain; after one plain round more it tries again.

# %% task="7.4"
from dspark_mini.contracts import integer, integers, number, takes
from dspark_mini.rules import emitted_of_drafted

@takes(
    emitted_of_drafted,
    drafted=integers("n", empty=True),
    emitted=integers("n", low=1, empty=True),
    break_even=number(),
    patience=integer(low=1),
    retry_after=integer(low=1),
)
def keep_drafting(drafted, emitted, break_even, patience, retry_after):
    """Decide whether the next round drafts, or falls back to one step of plain decoding.

    Args:
        drafted: list (n,), drafts of each round so far, 0 for a plain one.
        emitted: list (n,), tokens that each of these rounds emitted.
        break_even: Tokens per round at which drafting is as fast as plain decoding.
        patience: Number of rounds to judge by.
        retry_after: Number of plain rounds in a pause.
    Returns: Whether to draft.
    Example: drafted [4, 4, 4], emitted [3, 1, 1], break_even 1.5, patience 2, retry_after 8
        the last two emitted 1 on average  →  False
    """
    ### BEGIN SOLUTION
    if drafted and drafted[-1] == 0:
        pause = drafted[-retry_after:]
        return len(pause) == retry_after and not any(pause)
    if len(drafted) < patience or 0 in drafted[-patience:]:
        return True  # too early to judge
    return sum(emitted[-patience:]) >= break_even * patience
    ### END SOLUTION

# %% check="7.4"
check("7.4", keep_drafting)

# %% [markdown]
# In the middle of this text α falls from .8 to .05; a round with six drafts takes as long as two plain ones.

# %% role="picture"
def serve(decide, tokens=400, seed=3):
    """Play a request to its end: the time and the tokens after every round."""
    rng = np.random.default_rng(seed)
    drafted, emitted, clock = [], [], []
    while sum(emitted) < tokens:
        alpha = 0.05 if 100 <= sum(emitted) < 250 else 0.8
        drafts = 6 if decide(drafted, emitted) else 0
        drafted.append(drafts)
        emitted.append(1 + int(np.cumprod(rng.random(drafts) < alpha).sum()))
        clock.append(2.0 if drafts else 1.0)
    return np.cumsum([0.0, *clock]), np.cumsum([0, *emitted])


policies = {
    "never draft": lambda drafted, emitted: False,
    "always draft": lambda drafted, emitted: True,
    "with fallback": lambda drafted, emitted: keep_drafting(drafted, emitted, 2.0, 4, 20),
}
served = {name: serve(decide) for name, decide in policies.items()}
print({name: f"{times[-1]:.0f} steps" for name, (times, tokens) in served.items()})
clock = np.arange(0, 401, 5)
viz.lines({"tokens so far": {name: np.interp(clock, *line, right=np.nan) for name, line in served.items()}},
          x=clock, x_name="time, in steps of plain decoding")

# %% [markdown]
# In the hard stretch drafting is half as fast as plain decoding, with the fallback six sevenths as fast.
#
# ## Task 7.5 · Counts that add up
# Every token is counted once. A draft is **trimmed** before the forward, **rejected** by it, or **accepted**. A token
# of the output is an accepted draft, or the one that the target adds per round. The last round may be **cut** by a
# stop token or the cap:
#
# $$\text{drafted} = \text{trimmed} + \text{rejected} + \text{accepted}, \qquad \text{accepted} + \text{rounds} = \text{emitted} + \text{cut}.$$
#
# **τ** counts what reached the output; before the first round it is nan.
#
# By hand: drafted [4, 4], verified [3, 4], accepted [2, 4], emitted [3, 2]. The rounds made 3 + 5 tokens, the output
# ended after 5: cut 3, τ = 5/2.

# %% task="7.5"
from dspark_mini.contracts import integers, takes
from dspark_mini.rules import rounds_add_up

@takes(
    rounds_add_up,
    drafted=integers("n", empty=True),
    verified=integers("n", empty=True),
    accepted=integers("n", empty=True),
    emitted=integers("n", low=1, empty=True),
)
def round_totals(drafted, verified, accepted, emitted):
    """Sum up a request's rounds, so that every drafted and every emitted token is counted once.

    Args:
        drafted: list (n,), drafted tokens per round.
        verified: list (n,), drafts that the target's forward saw.
        accepted: list (n,), drafts that it accepted.
        emitted: list (n,), tokens that the round added to the output.
    Returns: A dict: rounds, drafted, trimmed, rejected, accepted, emitted, cut; and tau, tokens emitted per round (nan
        without rounds).
    Example: drafted [4, 4], verified [3, 4], accepted [2, 4], emitted [3, 2]: the last round is cut after 2 of its 5 tokens
        →  rounds 2, drafted 8, trimmed 1, rejected 1, accepted 6, emitted 5, cut 3, tau 2.5
    """
    ### BEGIN SOLUTION
    rounds = len(drafted)
    return {
        "rounds": rounds,
        "drafted": sum(drafted),
        "trimmed": sum(drafted) - sum(verified),
        "rejected": sum(verified) - sum(accepted),
        "accepted": sum(accepted),
        "emitted": sum(emitted),
        "cut": sum(accepted) + rounds - sum(emitted),
        "tau": sum(emitted) / rounds if rounds else math.nan,
    }
    ### END SOLUTION

# %% check="7.5"
check("7.5", round_totals)

# %% [markdown]
# ## Your engine
# `dspark_mini.engine.generate` is this loop: every step can be swapped. `own("2.2")` takes your function from the
# notebook of lesson 02 beside this one, if it passes its check; else the kit's stands in. The target is a toy over
# twelve tokens; the drafters have seen its table through noise. The cache contract is asserted after every round.

# %% role="picture"
from dspark_mini.engine import Steps, generate
from dspark_mini.toy import ToyDrafter, ToyTarget
from grader import own

choose_prefix = own("2.3")
steps = Steps(
    draft_markov=own("2.2"),
    draft_sampling=own("3.2"),
    trim=lambda confidences: choose_prefix(confidences, 0.3) if confidences else 0,
    verify_greedy=own("1.1"),
    verify_sampling=own("1.4"),
    cut=own("1.6"),
    rollback=rollback_rows,
    block_size=lambda trace: 6,
)


def run(steps, markov=True, seed=2, prompt=(3, 1), **settings):
    """Generate 40 tokens with a fresh toy; token 0 ends the text."""
    target = ToyTarget.random(12, seed)
    drafter = ToyDrafter(target.table, noise=0.3, seed=seed + 100, markov=markov)
    return generate(target, drafter, prompt, 40, stop_tokens=[0], steps=steps, **settings)


trace = run(steps)
print("output", trace.output)
viz.round_rows([vars(round_) for round_ in trace.rounds])

# %% [markdown]
# **The same text?** Plain decoding is the same loop without drafts. The output must be equal:

# %% role="picture"
from dataclasses import replace

plain = replace(steps, keep_drafting=lambda trace: False)
prompts = [(a, b) for a in range(1, 12) for b in range(1, 12)]
for name, markov in (("DSpark", True), ("DFlash", False)):
    same = sum(run(steps, markov, prompt=p).output == run(plain, prompt=p).output for p in prompts)
    print(f"{name}: {same} of {len(prompts)} outputs equal plain decoding")

# %% [markdown]
# **At a temperature** there is a right *law*: the cell follows both outcomes of every random decision. The two columns
# must agree.

# %% role="picture"
from dspark_mini.laws import law


def two_tokens(rng, steps):
    target = ToyTarget.random(3, seed=4, sharpness=1.0)
    drafter = ToyDrafter(target.table, noise=1.0, seed=5)
    return tuple(generate(target, drafter, [1], 3, temperature=1.0, rng=rng, steps=steps).output[:2])


small = replace(steps, block_size=lambda trace: 2, trim=len)
speculative = law(lambda rng: two_tokens(rng, small))
directly = law(lambda rng: two_tokens(rng, plain))
for pair, chance in sorted(directly.items()):
    print(pair, f"plain {chance:.6f}   speculative {speculative.get(pair, 0.0):.6f}")

# %% [markdown]
# **What the monitor sees**, over sixty requests:

# %% role="picture"
def total(steps, markov):
    """Sum up the rounds of many requests, as if they were one."""
    sums = []
    for seed in range(6):
        for prompt in ((3, 1), (5, 2), (7, 4), (1, 9), (2, 6), (8, 8), (4, 10), (6, 3), (9, 5), (10, 7)):
            sums.append(round_totals(**run(steps, markov, seed, prompt).counts))
    added = {name: sum(one[name] for one in sums) for name in sums[0]}
    return added | {"tau": added["emitted"] / added["rounds"]}


viz.draft_fates({
    "DFlash, no trim": total(replace(steps, trim=len), markov=False),
    "DSpark, no trim": total(replace(steps, trim=len), markov=True),
    "DSpark, trimmed": total(steps, markov=True),
})

# %% [markdown]
# All three emit the same texts. The bias raises acceptance; the trim gives up a little of τ and spares rejected rows.
#
# **Your adaptive parts**, with drafters from good to useless, against blocks of four:

# %% role="picture"
ROUND_MS = 10.0 + 1.5 * np.arange(9)                 # a round with γ drafts, γ = 0..8


def next_size(trace):
    """Return what the last ten rounds suggest, or four where none of them verified a draft."""
    counts = {name: values[-10:] for name, values in trace.counts.items()}
    if sum(counts["verified"]) == 0:
        return 4
    return best_block_size(counts["accepted"], counts["verified"], ROUND_MS)


def go_on(trace):
    counts = trace.counts
    return keep_drafting(counts["drafted"], counts["emitted"], ROUND_MS[4] / ROUND_MS[0], 4, 6)


def serve_toy(steps, noise):
    """Generate 200 tokens: the block size of every round, and the speed in times of plain decoding."""
    target = ToyTarget.random(12, seed=2)
    drafter = ToyDrafter(target.table, noise, seed=7)
    rng = np.random.default_rng(0)
    sizes = generate(target, drafter, [3, 1], 200, temperature=1.0, rng=rng, steps=steps).counts["drafted"]
    return sizes, 200 * ROUND_MS[0] / ROUND_MS[sizes].sum()


fours = replace(steps, trim=len, block_size=lambda trace: 4)
adaptive = replace(steps, trim=len, block_size=next_size, keep_drafting=go_on)
for noise in (0.1, 1.0, 4.0):
    sizes, speed = serve_toy(adaptive, noise)
    _, speed_of_fours = serve_toy(fours, noise)
    print(f"noise {noise}: {speed:.2f} times plain decoding, {speed_of_fours:.2f} in blocks of four", end="; ")
    print(f"{sizes[:14]} …")

# %% [markdown]
# The better the drafter, the longer the blocks. At noise 4 the first block was rejected, so α and the best size are 0
# until that round has left the window. Adapting buys a floor: with a useless drafter, blocks of four lose.
#
# ## On a real model
# `dspark_mini.lm` holds a language model of 0.9 million parameters that writes sums, small functions and small talk,
# and its drafters. Your functions drive it now.

# %% role="picture"
import time

from dspark_mini.lm import load, prompts as lm_prompts

lm = load(attention=own("2.6"))
blocks = replace(steps, trim=len, block_size=lambda trace: 7)


def write(prompt, drafter, steps, **settings):
    """Let the small model continue a prompt: the trace and the seconds it took."""
    lm.clear()
    start = time.perf_counter()
    trace = generate(lm.target, lm.drafters[drafter], prompt, 90, [lm.tokenizer.end], steps=steps, **settings)
    return trace, time.perf_counter() - start


prompt = lm_prompts(lm.tokenizer, "math", 1)[0]
trace, _ = write(prompt, "dspark", blocks)
print(lm.tokenizer.decode([*prompt, *trace.output]))
viz.round_rows([vars(round_) for round_ in trace.rounds[:6]], lm.tokenizer.words)

# %% [markdown]
# Each row is one forward of the target. Against the clock, greedily:

# %% role="picture"
for domain in ("math", "code", "chat"):
    for name, drafter, how in (("plain", "dspark", plain), ("DFlash", "dflash", blocks), ("DSpark", "dspark", blocks)):
        runs = [write(prompt, drafter, how) for prompt in lm_prompts(lm.tokenizer, domain, 2, seed=7)]
        texts = [trace.output for trace, _ in runs]
        speed = sum(map(len, texts)) / sum(seconds for _, seconds in runs)
        if name == "plain":
            expected, slow = texts, speed
        rounds = sum(len(trace.rounds) for trace, _ in runs)
        same = "same texts" if texts == expected else "OTHER TEXTS"
        print(f"{domain}  {name:6}  {same}  tau {sum(map(len, texts)) / rounds:4.2f}  {speed / slow:4.2f} times as fast")

# %% [markdown]
# Drafting takes time, so the speed-up is less than τ (`dspark-mini race`).
#
# ## Open problem · Where to cut
# Say a round takes 12 ms and 4 ms per verified draft. Greedy texts do not depend on the trim. Which trim makes the
# most tokens per second? An oracle verifies just what is accepted.

# %% role="show"
BEST_KNOWN, ORACLE = 165.7, 185.3                    # a threshold for the survival, tuned on these texts; ℓ = accepted


def trim(confidences):
    """Return how many drafts to verify."""
    return len(confidences)                          # change this


tokens, ms = 0, 0.0
for domain in ("math", "code", "chat"):
    for prompt in lm_prompts(lm.tokenizer, domain, 3, seed=11):
        trace, _ = write(prompt, "dspark", replace(blocks, trim=trim))
        tokens += len(trace.output)
        ms += sum(12 + 4 * round_.verified for round_ in trace.rounds)
print(f"{1000 * tokens / ms:.1f} tokens per second; all seven: 152.7, best known: {BEST_KNOWN}, oracle: {ORACLE}")

# %% [markdown]
# ## Looking back
# * **What the paper reports.** {paper:table_1} {paper:figure_2} ([arXiv
#   2607.05147](https://arxiv.org/abs/2607.05147))
# * **What engines got wrong.** *Rows rolled back for the batch, not per request*: acceptance fell from about 1.5 to
#   0.47 tokens, with looping text ([mlx-vlm pull request
#   1155](https://github.com/Blaizzy/mlx-vlm/pull/1155)). *τ counted as accepted + 1*: too high where a stop token was
#   accepted ([vLLM issue 56101](https://github.com/vllm-project/vllm/issues/56101)). *No fallback*: blocks of 16 were
#   verified through stretches that yielded next to nothing ([dflash-mlx pull request
#   15](https://github.com/bstnxbt/dflash-mlx/pull/15)).
#
# On α and γ: [Leviathan et al.](https://arxiv.org/abs/2211.17192), Section 3.
