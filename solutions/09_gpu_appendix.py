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
# # Lesson 09 · The GPU appendix
# *Does it hold on real hardware, and how would you know?*
#
# | | |
# |---|---|
# | **You build** | a static cache's mask, a batch without padding, a table of measured speeds, a speed-up that says how sure it is |
# | **Difficulty** | ●●○○ — four tasks of two to six lines, NumPy only |
# | **Time** | about 40 minutes |
# | **You need** | lessons 05 and 07; PyTorch is optional |
#
# ## The same model twice
# The kit's small language model exists in NumPy (`dspark_mini/lm.py`) and in torch (`dspark_mini/appendix/`, also for
# larger models and a GPU). Stuck? Type `hint("9.1")` in a new cell.

# %% role="setup"
import math

import numpy as np

from grader import check, hint

# %% role="show"
import importlib.util
import time

from dspark_mini import viz
from dspark_mini.lm import load, prompts as lm_prompts
from dspark_mini.weights import SHIPPED

lm = load()
models = {"NumPy": lm}
if importlib.util.find_spec("torch"):
    import torch

    from dspark_mini.appendix import engine

    torch.set_num_threads(1)                         # so small a model gains nothing from more
    device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    models["torch"] = engine.load(SHIPPED, device)
    print(f"NumPy {np.__version__} and torch {torch.__version__} on {device}")
else:
    print('torch is not installed; `pip install -e ".[torch]"` adds it. The cells below go on with NumPy.')

# %% [markdown]
# **Answers first**: a fast model that computes something else proves nothing.

# %% role="show"
prompt = lm_prompts(lm.tokenizer, "code", 1)[0]


def all_logits(model):
    """Run the target over the prompt. (n, V)"""
    model.clear()
    return model.target.forward(prompt)


expected = all_logits(lm)
print(lm.tokenizer.decode(prompt))
for name, model in models.items():
    found = all_logits(model)
    same = (found.argmax(axis=1) == expected.argmax(axis=1)).sum()
    print(f"{name}: largest difference {np.abs(found - expected).max():.1e} in {found.size} logits, "
          f"the same best token in {same} of {len(prompt)} rows")

# %% [markdown]
# What differs is rounding: sums are added up in another order.
#
# ## Task 9.1 · The mask of a static cache
# *Launching* kernels takes time: one engine counted 1,800 launches and 8 ms per round, before it captured the
# verification as a graph to replay ([imp pull request 856](https://github.com/kekzl/imp/pull/856)). A graph has fixed
# shapes. So the cache gets a fixed number of **slots**, and every forward attends to all: filled ones, those being
# written now, rows of rejected drafts, empty ones. Only the **mask** tells them apart. New tokens go into the slots
# after the filled ones.
#
# Rolling back is then free: the engine lowers `rows`. *Why does that suffice?*
#
# By hand: 2 rows, 2 new tokens, 6 slots. The first new token sees 3 slots, the second 4.

# %% task="9.1"
from dspark_mini.contracts import integer, takes

@takes(rows=integer(), count=integer(low=1), slots=integer(low="rows+count"))
def cache_mask(rows, count, slots):
    """Mark the slots of a static cache that each new token may attend to.

    Args:
        rows: filled slots; they hold the earlier tokens.
        count: new tokens; they are written into the next slots.
        slots: all slots of the cache.
    Returns: Boolean array (count, slots): a token sees the earlier tokens, the new ones before it, and itself.
    Example: rows 2, count 2, slots 6
        →  [[True, True, True, False, False, False],
            [True, True, True, True, False, False]]
    """
    ### BEGIN SOLUTION
    own = rows + np.arange(count)[:, None]  # (count, 1) the slot of each new token
    return np.arange(slots) <= own
    ### END SOLUTION

# %% check="9.1"
check("9.1", cache_mask)

# %% role="picture"
viz.mask_picture(cache_mask(6, 4, 16), context_length=6, block_length=10, title="6 rows, 4 new tokens, 16 slots")

# %% [markdown]
# **On the model.** The torch cache gets a prompt but for its last four tokens, then nine wrong ones. The pointer moves
# back, the last four run under your mask, and the logits must be NumPy's.

# %% role="picture"
from dspark_mini.layers import SLOTS

mask = cache_mask(len(prompt) - 4, 4, SLOTS)
if "torch" in models:
    target = models["torch"].target
    models["torch"].clear()
    target.forward(prompt[:-4])
    target.forward([prompt[0]] * 9)                  # nine drafts that are rejected:
    target.cache.drop(9)                             # their rows stay in the slots, the pointer moves back
    slots = target.cache.take(4)
    with torch.inference_mode():
        last_four = torch.tensor([prompt[-4:]], device=device)
        found, _ = target.model(last_four, target.cache, slots, slots, torch.from_numpy(mask).to(device))
    print(f"largest difference {np.abs(found[0].cpu().numpy() - expected[-4:]).max():.1e}, {mask.shape[1]} slots")
else:
    print(f"torch is not installed, so the mask of shape {mask.shape} is not tried on the model.")

# %% [markdown]
# ## What does a wide forward cost?
# A large model that decodes one request on a GPU is bound by memory: each step reads all weights once, so that scoring
# a few tokens takes about as long as sampling one ([Chen et al.](https://arxiv.org/abs/2302.01318)). On a CPU, with a
# model that fits into its caches, arithmetic takes the time. So measure it. The sizes take turns, so that a slow
# moment affects all; the **median** is kept, and the first turn is not counted.

# %% role="show"
SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256]


def step_seconds(model, repeats=5):
    """Measure the target's forward: the median seconds for each number of tokens."""
    model.clear()
    model.target.forward(prompt)
    spans = {size: [] for size in SIZES}
    for turn in range(repeats + 1):
        for size, found in spans.items():
            start = time.perf_counter()
            model.target.forward([prompt[0]] * size)
            found.append(time.perf_counter() - start)
            model.target.cache.drop(size)
    return [float(np.median(found[1:])) for found in spans.values()]


measured = {name: step_seconds(model) for name, model in models.items()}
for name, seconds in measured.items():
    print(f"{name}: one token {1000 * seconds[0]:.2f} ms, eight {1000 * seconds[3]:.2f} ms, "
          f"ratio {seconds[3] / seconds[0]:.2f}")
viz.lines(
    {"milliseconds per step": {name: 1000 * np.array(seconds) for name, seconds in measured.items()}},
    x=SIZES, x_name="tokens per forward", log_x=True,
)

# %% [markdown]
# T(8) / T(1) is the price of a block. If it is r, a round that drafts for free is at most τ / r times as fast as plain
# decoding.
#
# ## A pretrained model, in three forms
# SmolLM2-135M in float32, in bfloat16, and in the 4-bit codes of its file. A step of plain decoding reads all weights
# once, so bytes set a floor under T(1). The rows of a block share that reading, so arithmetic decides what they add.
# *A form may have the smallest T(4) / T(1) and still be the wrong choice. When?*

# %% role="show"
from dspark_mini.appendix.smollm.install import cache_folder

COUNTS = [1, 2, 3, 4, 6, 8]
figure = None
if "torch" in models and cache_folder().is_dir():
    from dspark_mini.appendix.smollm.llama import FORMS, Llama
    from dspark_mini.appendix.smollm.speed import forward_times
    from dspark_mini.appendix.smollm.text import Text

    tokens = Text(cache_folder()).question("Explain how a rainbow forms.")
    length, logits, spans = len(tokens) + 40, {}, {}
    for form in FORMS:
        model = Llama(cache_folder(), form)
        while len(tokens) < length:                  # float32 comes first, and answers greedily
            hidden = model.forward(torch.tensor(tokens[model.rows:]))
            tokens.append(int(model.logits(hidden[-1:]).argmax()))
        model.rows = 0                               # then each form reads the whole text
        logits[form] = model.logits(model.forward(torch.tensor(tokens))).float()
        spans[form] = 1000 * np.array(forward_times(model, COUNTS, repeats=2))
        print(f"{form:8} {model.weight_bytes / 1e6:4.0f} MB per token; {COUNTS} tokens: "
              f"{spans[form].round(1)} ms; break-even with 3 drafts: τ = {spans[form][3] / spans[form][0]:.2f}")
        del model                                    # one at a time in memory
    best, second = logits["float32"].topk(2).values.T
    for form in list(FORMS)[1:]:
        parted = logits[form].argmax(1) != logits["float32"].argmax(1)
        gaps = (best - second)[parted].numpy().round(2)
        error = (logits[form] - logits["float32"]).abs().max()
        print(f"{form}: logits up to {error:.2f} from float32's; another best token in {len(gaps)} of {length} rows; "
              f"gaps between float32's two best there: {gaps}")
    figure = viz.lines({"milliseconds per step": spans}, x=COUNTS, x_name="tokens per forward")
else:
    print("SmolLM2 or torch is not installed; `dspark-mini appendix smollm` gets the model, once.")
figure

# %% [markdown]
# With bfloat16 instructions a block costs little more than one token, and float32, with twice the bytes, loses. Without
# them (AVX2), bfloat16 is converted anew for every row, and float32 or int4 verifies for less. Two forms write the same
# text until two logits nearly tie and rounding decides: lossless means up to rounding.
#
# ## Task 9.2 · Many requests, no padding
# Requests have their own verify lengths ℓ. A rectangular batch would pad all to the longest and pay for what was
# trimmed. So rows are laid **end to end**: each request's anchor, then its ℓ drafts. Linear layers do not care whose
# row it is. Attention does, and is told so (`requests`), with its place in that request's text (`positions`), and
# where each request begins (`starts`).
#
# By hand: ℓ = [2, 0] and cache rows [5, 3]. `requests` = [0, 0, 0, 1], `positions` = [5, 6, 7, 3], `starts` = [0, 3,
# 4].

# %% task="9.2"
from dspark_mini.contracts import integers, takes

@takes(verify_lengths=integers("R", empty=True), cache_rows=integers("R", empty=True))
def flatten_requests(verify_lengths, cache_rows):
    """Lay the tokens of many requests end to end, so that one forward verifies all of them without padding.

    Args:
        verify_lengths: list (R,), draft tokens ℓ of each request; with its anchor a request has 1 + ℓ rows.
        cache_rows: list (R,), tokens before each request's anchor; they are in its cache.
    Returns: A dict of three lists: `requests` and `positions` give the request of each flat row, and its position in that
        request's text; `starts` holds the first flat row of each request, then the number of all rows: R + 1 entries.
    Example: verify_lengths [2, 0], cache_rows [5, 3]
        →  {'requests': [0, 0, 0, 1], 'positions': [5, 6, 7, 3], 'starts': [0, 3, 4]}
    """
    ### BEGIN SOLUTION
    requests, positions, starts = [], [], [0]
    for request, (length, anchor) in enumerate(zip(verify_lengths, cache_rows)):
        requests += [request] * (1 + length)
        positions += [anchor + k for k in range(1 + length)]
        starts.append(len(requests))
    return {"requests": requests, "positions": positions, "starts": starts}
    ### END SOLUTION

# %% check="9.2"
check("9.2", flatten_requests)

# %% role="picture"
viz.flat_batch(**flatten_requests([2, 0, 6, 1, 3], [5, 3, 8, 12, 4]))

# %% [markdown]
# The bold numbers are `starts`. **One forward for three texts**: with torch, three prompts lose their last tokens, and
# one ragged forward, laid out by your function, verifies them. The logits must be those of three forwards.

# %% role="picture"
texts = [lm_prompts(lm.tokenizer, domain, 1, seed=3)[0] for domain in ("math", "code", "chat")]
lengths = [min(size, len(text) - 2) for size, text in zip((3, 1, 5), texts)]
flat = flatten_requests(lengths, [len(text) - 1 - length for text, length in zip(texts, lengths)])
print(flat)
if "torch" in models:
    from dspark_mini.appendix.evidence.batched import RaggedCache, Rows, ragged_forward

    cpu = models["torch"] if device == "cpu" else engine.load(SHIPPED, drafters=())  # the evidence runs on the CPU
    cache = RaggedCache(cpu.target.shape, cpu.target.shape.layers, requests=3, slots=64)
    before = flatten_requests([len(text) - 2 - length for text, length in zip(texts, lengths)], [0, 0, 0])
    for part in (before, flat):                      # first the texts up to the anchors, then the flat batch
        owner, positions, starts = (torch.tensor(part[name]) for name in ("requests", "positions", "starts"))
        rows = Rows(owner, torch.arange(len(owner)) - starts[owner], positions, int(starts.diff().max()))
        flat_tokens = torch.tensor([texts[r][place] for r, place in zip(part["requests"], part["positions"])])
        flat_logits, _ = ragged_forward(cpu.target.model, cache, flat_tokens, rows)
    for r, (text, length) in enumerate(zip(texts, lengths)):
        lm.clear()
        alone = lm.target.forward(text)[-1 - length:]
        together = flat_logits[flat["starts"][r]:flat["starts"][r + 1]].numpy()
        print(f"request {r}: {1 + length} rows, largest difference {np.abs(alone - together).max():.1e}")
else:
    print("torch is not installed, so the ragged forward is not run.")

# %% [markdown]
# ## Task 9.3 · The table, measured
# The scheduler of lesson 05 reads SPS(B), steps per second, for every batch size B. The table is made from the times
# at a few:
#
# * **Times never fall.** A larger batch that was measured as faster is noise, and its time is raised.
# * **Straight lines.** Between two measured sizes the *time* lies on a straight line. *Why not the speed?*
# * **No guess** beyond the largest size: the contract refuses it.
#
# By hand: sizes [1, 2, 4] took [.25, .125, .75] seconds. The second is raised to .25; at size 3 the time is .5. The
# table up to 4 is [0, 4, 4, 2, 1.333…].

# %% task="9.3"
from dspark_mini.contracts import integer, integers, numbers, takes
from dspark_mini.rules import sizes_rise_from_1, table_is_measured

@takes(
    sizes_rise_from_1,
    table_is_measured,
    batch_sizes=integers("n", low=1),
    seconds=numbers("n", above=0.0),
    largest=integer(low=1),
)
def speeds_from_times(batch_sizes, seconds, largest):
    """Turn measured step times, with straight lines between them, into the scheduler's table of steps per second.

    Args:
        batch_sizes: list (n,), measured batch sizes in tokens, rising from 1.
        seconds: (n,) median time of a step at each size; one below that of a smaller batch is noise, and raised to it.
        largest: last batch size of the table, at most the last measured one.
    Returns: largest + 1 floats: 0.0, then the steps per second for a batch of 1, 2, … tokens.
    Example: batch_sizes [1, 2, 4], seconds [.25, .125, .75], largest 4
        the times at 1 to 4 are .25, .25, .5, .75  →  [0, 4, 4, 2, 1.333…]
    """
    ### BEGIN SOLUTION
    rising = np.maximum.accumulate(seconds)  # (n,) no batch is faster than a smaller one
    times = np.interp(np.arange(1, largest + 1), batch_sizes, rising)  # (largest,)
    return [0.0, *(1.0 / times).tolist()]
    ### END SOLUTION

# %% check="9.3"
check("9.3", speeds_from_times)

# %% [markdown]
# The times measured above become tables, and 1 to 32 requests with seven drafts each and random confidences are
# scheduled.

# %% role="picture"
from grader import own

tables = {name: speeds_from_times(SIZES, seconds, 256) for name, seconds in measured.items()}
schedule = own("5.1")
rng = np.random.default_rng(0)
USERS = [1, 2, 4, 8, 16, 32]
confidences = {users: rng.beta(6, 1, size=(users, 7)) for users in USERS}
viz.lines(
    {"verified draft tokens per request": {
        name: [float(np.mean(schedule(confidences[users], table))) for users in USERS]
        for name, table in tables.items()
    }},
    x=USERS, x_name="requests at the same time", log_x=True,
)

# %% [markdown]
# The more requests share the machine, the fewer drafts are worth it, in the paper as well: {paper:figure_8}
#
# ## Task 9.4 · How sure is a speed-up?
# "Twice as fast" is a claim about prompts that were not run.
#
# **A mean of ratios.** Ten short prompts at 3 × and a long one at 1 × have a mean of 2.8 ×; a user who waits for all
# gains next to nothing. A speed is all tokens over all seconds.
#
# **No interval.** If the answer moves when one prompt is left out, it depends on that prompt. The **jackknife** leaves
# each out in turn. With the n speed-ups $s_i$, each without prompt i, and their mean $m$:
#
# $$\text{variance} = \frac{n-1}{n}\sum_i (s_i - m)^2, \qquad \text{low}, \text{high} = \text{speedup} \mp 1.96\,\sqrt{\text{variance}}$$
#
# Any two $s_i$ share all prompts but two, so they are very much alike; the factor makes up for that.
#
# By hand: two prompts, 10 tokens each both ways; plainly 1 s each, with speculation .5 s and .25 s. The speed-up is
# 2.667; without the first prompt it is 4, without the second 2, and the interval reaches from 0.707 to 4.627.

# %% task="9.4"
from dspark_mini.contracts import integers, numbers, takes
from dspark_mini.rules import two_prompts_or_more

@takes(
    two_prompts_or_more,
    plain_tokens=integers("n", low=1),
    plain_seconds=numbers("n", above=0.0),
    tokens=integers("n", low=1),
    seconds=numbers("n", above=0.0),
)
def speedup_with_interval(plain_tokens, plain_seconds, tokens, seconds):
    """Compare two ways of decoding the same n prompts: a ratio of two speeds, with the jackknife's 95 % interval.

    Args:
        plain_tokens, plain_seconds: (n,) tokens of each prompt under plain decoding, and the time they took.
        tokens, seconds: (n,) the same for the other way.
    Returns: A dict of floats: `speedup` of all prompts, `low` and `high`, 1.96 errors below and above it.
    Example: 10 tokens per prompt; plain_seconds [1, 1], seconds [.5, .25]
        speed-up 2.667; without the first prompt 4, without the second 2: error 1  →  from 0.707 to 4.627
    """
    ### BEGIN SOLUTION
    measured = np.array([tokens, seconds, plain_tokens, plain_seconds])  # (4, n)
    total = measured.sum(axis=1, keepdims=True)  # (4, 1)
    made, took, plain_made, plain_took = np.hstack([total, total - measured])  # (1 + n,): of all, then without one
    speedup, *without_one = ((made / took) / (plain_made / plain_took)).tolist()
    error = math.sqrt((len(without_one) - 1) * np.var(without_one))
    return {"speedup": speedup, "low": speedup - 1.96 * error, "high": speedup + 1.96 * error}
    ### END SOLUTION

# %% check="9.4"
check("9.4", speedup_with_interval)

# %% [markdown]
# **On this machine's clock**: four prompts per domain, plainly and by DSpark. The two draw different texts, so tokens
# differ as well as seconds.

# %% role="picture"
from dspark_mini.engine import Steps, generate

print("by hand:", speedup_with_interval([10, 10], [1.0, 1.0], [10, 10], [0.5, 0.25]))

steps = Steps(verify_sampling=own("1.4"), cut=own("1.6"), rollback=own("7.1"), block_size=lambda trace: 7)


def decode(model, drafter, text, seed):
    """Let a model continue a prompt, plainly where the drafter is None: the tokens and the seconds it took."""
    model.clear()
    rng, end = np.random.default_rng(seed), [model.tokenizer.end]
    start = time.perf_counter()
    trace = generate(model.target, drafter, text, 32, end, temperature=1.0, rng=rng, steps=steps)
    return len(trace.output), time.perf_counter() - start


for name, model in models.items():
    drafter = model.drafters["dspark"]
    decode(model, drafter, prompt, 0)                # to warm up; not counted
    for domain in ("math", "code", "chat"):
        texts = lm_prompts(lm.tokenizer, domain, 4, seed=9)
        pairs = [                                    # in turns, so that a slow moment of the machine affects both
            (*decode(model, None, text, i), *decode(model, drafter, text, i)) for i, text in enumerate(texts)
        ]
        clock = list(zip(*pairs))                    # four lists: tokens and seconds, plainly and with DSpark
        found = speedup_with_interval(*clock)
        print(f"{name:6} {domain}  {sum(clock[0]) / sum(clock[1]):5.0f} tokens/s plain, "
              f"{found['speedup']:.2f} times as fast with DSpark, 95 % from {found['low']:.2f} to {found['high']:.2f}")

# %% [markdown]
# Read the interval first: one that contains 1 proves no gain. A text that had to wait for the processor can turn a
# speed-up of two into ten, and only the interval tells. Four times as many prompts halve it. It cannot know what all
# prompts have in common: domain, temperature, machine.
#
# ## How the models were trained
# The target learns from a seeded corpus, is then **frozen**, and writes rows at temperature 1. Drafters learn from
# those: they are to guess *this* target. Each block sees features before its anchor only (task 2.4), and pays
#
# $$L = 0.1 \cdot \text{CE} + 0.9 \cdot \text{TV} + 1.0 \cdot \text{conf}$$
#
# with weights $e^{-(k-1)/\gamma}$ along the block: the cross-entropy of the target's tokens, ‖q − p‖₁, and the binary
# cross-entropy of the confidence to 1 − ½‖q − p‖₁, which DFlash lacks.

# %% role="show"
if "torch" in models:
    from dspark_mini.appendix.blocks import Blocks, draft_loss, sample_anchors
    from dspark_mini.appendix.training_data import written_rows
    from dspark_mini.appendix.training import load_drafter

    target = models["torch"].target.model
    rows = written_rows(target, lm.tokenizer, rows=12, length=120, seed=5)
    anchors = sample_anchors(12, 120, 16, 7, torch.Generator().manual_seed(0)).to(device)
    overlaps = {}
    with torch.inference_mode():
        target_logits, features = target(rows)
        for label, file in (("DFlash", "dflash"), ("DSpark", "dspark")):
            drafter = load_drafter(SHIPPED / f"{file}.safetensors", target)
            parts = draft_loss(drafter, target, Blocks(rows, features, target_logits, anchors))
            overlaps[label] = parts.pop("overlap").cpu().numpy()
            print(label, {part: round(float(value), 3) for part, value in parts.items()})
    figure = viz.acceptance_decay(overlaps, title="1 − ½ ‖q − p‖₁ by position, on the target's own text")
else:
    figure = None
    print("torch is not installed, so the loss is not computed.")
figure

# %% [markdown]
# DFlash guesses positions independently of each other and pays for it towards the end of the block; DSpark's head
# knows the token before.
#
# ## Open problem · Five measurements
# Step times have a floor and stairs. With five measured sizes, 1 and 256 among them, how close can your table come?
# Powers of four are off by 16 % at worst.

# %% role="show"
batch = np.arange(1, 257)
truth = np.maximum(6.0, 0.06 * batch) + 1.5 * np.ceil(batch / 64)  # ms: memory, then arithmetic; tiles of 64 rows
BEST_KNOWN = 0.067                                   # a search over a coarse grid, then step by step


def worst_error(sizes):
    """Compare the table made from measurements at some sizes with the truth: the largest relative error."""
    table = speeds_from_times(sizes, truth[np.array(sizes) - 1], 256)
    return np.abs(1.0 / np.array(table[1:]) / truth - 1.0).max()


sizes = [1, 4, 16, 64, 256]                          # change the three in the middle
print(f"{sizes}: off by {worst_error(sizes):.3f} at worst; best known: {BEST_KNOWN}")

# %% [markdown]
# ## Looking back
# * **What the paper reports.** {paper:head} {paper:figure_7} ([arXiv
#   2607.05147](https://arxiv.org/abs/2607.05147))
# * **What engines got wrong.** *A static cache without its mask*: a kernel inferred the mask from the length of the
#   whole cache ([Transformers pull request 30437](https://github.com/huggingface/transformers/pull/30437)). *`starts`
#   one entry short* ([vLLM pull request 39120](https://github.com/vllm-project/vllm/pull/39120)). *Positions frozen
#   into a graph*: accepted tokens per step stayed at 1.32, GSM8K fell from 96 to 88 ([TensorRT-LLM pull request
#   17110](https://github.com/NVIDIA/TensorRT-LLM/pull/17110)). *Acceptance without a gain*: 3.3 accepted in blocks of
#   8, and slower ([mlxcel issue 1782](https://github.com/lablup/mlxcel/issues/1782)).
#
# ## Further
# `dspark-mini race --backend torch --device cuda` races on a GPU, `dspark-mini appendix train` trains, and `appendix
# reproduce` writes the paper's tables at this scale. Shipped results (`dspark_mini/appendix/results/`) name their
# hardware; nothing is claimed of others. The jackknife: Efron and Stein, Annals of Statistics 9 (1981).
