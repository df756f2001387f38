"""Let the target answer prompts, shard by shard: the texts, and the features, from which drafters learn.

A shard is one seed: its prompts, half of them from templates and half made by the target itself, and their answers,
half greedy and half sampled at temperature 1. Files appear under their names only when they are complete.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from os.path import commonprefix
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from dspark_mini.appendix.smollm.batched import Cache, forward
from dspark_mini.appendix.smollm.llama import Llama
from dspark_mini.appendix.smollm.prompts import data, held_out, template_prompts
from dspark_mini.appendix.smollm.samples import FEATURE_LAYERS, shard_rows
from dspark_mini.appendix.smollm.text import Text
from dspark_mini.files import atomic_write

PER_SHARD, HELD_OUT_PARTS = 240, 5  # an odd number of parts, so that each has both temperatures
LONGEST_PROMPT, LONGEST_ANSWER, LONGEST_OWN_PROMPT = 110, 128, 56  # tokens
PREFILL_ROWS, COMPACT_BELOW = 24, 0.85
OWN_TEMPERATURE = 0.8


@torch.inference_mode()
def decode(
    model: Llama,
    prompts: Sequence[list[int]],
    temperatures: Sequence[float],
    longest: int,
    end: int,
    generator: torch.Generator,
) -> list[dict[str, Tensor]]:
    """Answer prompts, all at once.

    Args:
        model: The target, in float32.
        prompts: Token ids of each row.
        temperatures: Of each row; 0 for greedy.
        longest: New tokens per row, at most.
        end: Token that ends a row.
        generator: Source of the samples.

    Returns:
        For each row "tokens" (T,), "features" (T, m · d) and "hidden" (T, d) in bfloat16, and "logsumexp" (T,) of the
        logits. The last token was never run, so its features are zero.
    """
    order = sorted(range(len(prompts)), key=lambda row: len(prompts[row]))
    texts = [list(prompts[row]) for row in order]
    slots, width = len(texts[-1]) + longest, (len(model.feature_layers) + 1) * model.config.hidden_size
    cache = Cache(model, len(texts), slots)
    store = torch.zeros(len(texts), slots, width, dtype=torch.bfloat16)
    scale, rows = torch.zeros(len(texts), slots), torch.arange(len(texts))
    chosen, lengths = torch.tensor([temperatures[row] for row in order]), torch.tensor([*map(len, texts)])
    last, going = _prefill(model, texts, cache, store), torch.ones(len(texts), dtype=torch.bool)
    ends = dict[int, int]()  # length of each text that has ended
    for step in range(longest):
        logits = model.logits(last)
        scale[rows, lengths - 1] = logits.logsumexp(-1)
        tokens = sample(logits, chosen, generator)
        for row, token in zip(rows.tolist(), tokens.tolist()):
            texts[row].append(token)
            if token == end:
                ends.setdefault(row, len(texts[row]))
        going &= tokens != end
        if going.sum() < COMPACT_BELOW * len(going):  # texts that have ended are dropped, many at a time
            cache.keep(going)
            rows, chosen, lengths, tokens, going = (part[going] for part in (rows, chosen, lengths, tokens, going))
        if not len(rows) or step + 1 == longest:
            break
        hidden, features = forward(model, tokens[:, None], lengths[:, None], cache)
        store[rows, lengths] = torch.cat((features, hidden), -1)[:, 0].bfloat16()
        last, lengths = hidden[:, 0], lengths + 1
    texts = [text[: ends.get(row, len(text))] for row, text in enumerate(texts)]  # they may have gone on for a while
    back = sorted(range(len(texts)), key=order.__getitem__)  # in the order of the prompts
    return [_answer(texts[row], store[row], scale[row], model.config.hidden_size) for row in back]


def _answer(text: list[int], store: Tensor, scale: Tensor, width: int) -> dict[str, Tensor]:
    kept = store[: len(text)].clone()
    kept[-1] = 0
    tokens = torch.tensor(text, dtype=torch.int32)
    return {
        "tokens": tokens,
        "features": kept[:, :-width],
        "hidden": kept[:, -width:],
        "logsumexp": scale[: len(text)],
    }


def _prefill(model: Llama, texts: list[list[int]], cache: Cache, store: Tensor) -> Tensor:
    """Run prompts, the shortest first, and return their last hidden states. (B, d)

    What all of them have in common runs once; of the rest, few rows of about the same length run at a time.
    """
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)
    shared = min(len(commonprefix(texts)), len(texts[0]) - 1)  # noqa: RUF071 - of lists
    last = torch.zeros(len(texts), model.config.hidden_size)

    def run(rows: slice, places: slice) -> Tensor:
        positions = torch.arange(places.start, places.stop).expand(rows.stop - rows.start, -1)
        hidden, features = forward(model, ids[rows, places], positions, cache, rows)
        store[rows, places] = torch.cat((features, hidden), -1).bfloat16()
        return hidden

    if shared:
        run(slice(0, 1), slice(0, shared))
        cache.share(shared)
        store[1:, :shared] = store[:1, :shared]
    for start in range(0, len(texts), PREFILL_ROWS):
        rows = slice(start, min(start + PREFILL_ROWS, len(texts)))
        ends = torch.tensor([len(text) - 1 - shared for text in texts[rows]])
        last[rows] = run(rows, slice(shared, len(texts[rows.stop - 1])))[torch.arange(len(ends)), ends]
    return last


def sample(logits: Tensor, temperatures: Tensor, generator: torch.Generator) -> Tensor:
    """Return the argmax of rows with temperature 0, and a sample of the others. (B,)"""
    tokens = logits.argmax(-1)
    drawn = temperatures > 0
    if drawn.any():
        totals = (logits[drawn] / temperatures[drawn, None]).softmax(-1).cumsum(-1)  # (b, V)
        uniform = torch.rand(len(totals), 1, generator=generator) * totals[:, -1:]
        tokens[drawn] = torch.searchsorted(totals, uniform, right=True)[:, 0].clamp(max=logits.shape[1] - 1)
    return tokens


def own_prompts(model: Llama, text: Text, rng: random.Random, families: list[str]) -> list[tuple[str, str]]:
    """Let the target go on from the first words of users; return family and prompt of those that came to an end."""
    openers = [rng.choice(data()["openers"][family]) for family in families]
    starts = [text.user_turn(opener) for opener in openers]
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    rows = decode(model, starts, [OWN_TEMPERATURE] * len(starts), LONGEST_OWN_PROMPT, text.end, generator)
    found = []
    for family, opener, start, row in zip(families, openers, starts, rows):
        ids = row["tokens"].tolist()[len(start) :]
        prompt = (opener + text.decode(ids)).strip()
        if ids[-1] == text.end and len(prompt) > len(opener) + 5:
            found.append((family, prompt))
    return found


def shard_prompts(model: Llama, text: Text, seed: int, taken: set[str]) -> list[dict[str, Any]]:
    """Return new prompts for a shard, the same number of each family and source, and add them to `taken`."""
    rows, families, counts = list[dict[str, Any]](), list(data()["templates"]), Counter[tuple[str, str]]()
    rng, each = random.Random(seed), PER_SHARD // (2 * len(families))

    def add(family: str, source: str, prompt: str) -> None:
        count = counts[family, source]
        if count < each and prompt not in taken and len(text.question(prompt)) <= LONGEST_PROMPT:
            taken.add(prompt)
            counts[family, source] += 1
            rows.append({"family": family, "source": source, "prompt": prompt, "temperature": float(count % 2)})

    for family in families:
        for prompt in islice(template_prompts(family, seed), 100 * each):
            add(family, "template", prompt)
    while missing := [family for family in families for _ in range(each - counts[family, "own"])]:
        for family, prompt in own_prompts(model, text, rng, 2 * missing):
            add(family, "own", prompt)
    return rows


def write_answers(model: Llama, text: Text, folder: Path, number: int, rows: list[dict[str, Any]]) -> int:
    """Write a shard with the answers: features/NUMBER.safetensors, then shards/NUMBER.safetensors; count its tokens."""
    prompts, generator = [text.question(row["prompt"]) for row in rows], torch.Generator().manual_seed(number)
    temperatures = [row["temperature"] for row in rows]
    answers = decode(model, prompts, temperatures, LONGEST_ANSWER, text.end, generator)
    lengths = torch.tensor([len(answer["tokens"]) for answer in answers])
    parts = {name: torch.cat([answer[name] for answer in answers]) for name in answers[0]}
    shard = {"tokens": parts.pop("tokens"), "lengths": lengths, "temperatures": torch.tensor(temperatures)}
    shard["prompt_lengths"] = torch.tensor([len(prompt) for prompt in prompts])
    _save(folder / "features" / f"{number:05d}.safetensors", parts, {})
    _save(folder / "shards" / f"{number:05d}.safetensors", shard, {"seed": str(number), "rows": json.dumps(rows)})
    return int(lengths.sum())


def _save(path: Path, tensors: dict[str, Tensor], header: dict[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        save_file(tensors, part, header)


def write_shards(
    model_folder: Path, folder: Path, numbers: Sequence[int], held_out_prompts: bool, say: Callable[[str], object]
) -> None:
    """Write the shards that are missing; run it again to continue after a stop.

    Args:
        model_folder: Hugging Face folder of the target.
        folder: Directory of shards and features.
        numbers: Seeds of the shards; of held-out prompts the parts, 0 to 4, each with prompts of every kind.
        held_out_prompts: Whether to answer the held-out prompts, at both temperatures, instead of training prompts.
        say: Receives a line per shard.
    """
    model, text = Llama(model_folder, "float32", 1, FEATURE_LAYERS), Text(model_folder)
    kept = [{**row, "temperature": float(temperature)} for row in held_out() for temperature in (0, 1)]
    taken = {row["prompt"] for row in held_out()}
    for path in sorted((folder / "shards").glob("*.safetensors")):
        taken.update(row["prompt"] for row in shard_rows(path))
    for number in numbers:
        if not (folder / "shards" / f"{number:05d}.safetensors").is_file():
            rows = kept[number::HELD_OUT_PARTS] if held_out_prompts else shard_prompts(model, text, number, taken)
            say(f"{folder.name} {number}: {write_answers(model, text, folder, number, rows)} tokens")
