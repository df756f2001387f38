"""The acceptance of drafters on held-out texts, without decoding: one forward of the drafter at every token."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dspark_mini.appendix.blocks import Blocks
from dspark_mini.appendix.drafters import BlockDrafter
from dspark_mini.appendix.pretrained import load_drafter
from dspark_mini.appendix.smollm.samples import Samples, Shard, shard_rows
from dspark_mini.appendix.smollm.train import TRAINING, Ends, Scores, read_ends, score


def measure(model_folder: Path, drafters: Sequence[Path], texts: Path) -> Iterator[dict[str, Any]]:
    """Measure drafters of the same target.

    Args:
        model_folder: Hugging Face folder of the target.
        drafters: Checkpoints.
        texts: Directory of held-out shards.

    Yields:
        For each drafter its name, what its training.json says, and for each kind of prompt: texts; overlap (γ,), the
        chance of acceptance by position in sampled texts; and the accepted length in greedy ones.
    """
    ends, _ = read_ends(model_folder)
    for folder in drafters:
        drafter, about = load_drafter(folder, ends), folder / TRAINING  # type: ignore[arg-type]
        training = json.loads(about.read_text(encoding="utf-8")) if about.is_file() else {}
        yield {"drafter": folder.name, **training, "kinds": _by_kind(drafter, ends, texts)}


@torch.inference_mode()
def _by_kind(drafter: BlockDrafter, ends: Ends, texts: Path) -> dict[str, dict[str, Any]]:
    found = dict[str, dict[str, list[Any]]]()
    for name, shard in Samples(texts).shards.items():
        for index, about in enumerate(shard_rows(texts / "shards" / name)):
            scores = _scores(drafter, ends, shard, index)
            if scores is None:
                continue
            kind = found.setdefault(about.get("kind", "training"), {"texts": [], "overlap": [], "rounds": []})
            kind["texts"].append(index)
            if about["temperature"]:
                kind["overlap"].append(1 - scores.distance[0] / 2)
            else:
                kind["rounds"] += greedy_rounds((scores.log_q.argmax(-1) == scores.labels)[0])
    return {kind: _means(**lists) for kind, lists in found.items()}


def _scores(drafter: BlockDrafter, ends: Ends, shard: Shard, index: int) -> Scores | None:
    """Draft from every token of an answer; None if it is shorter than a block."""
    row, anchors = shard.row(index), range(shard.prompt_lengths[index], shard.lengths[index] - drafter.shape.block_size)
    if not anchors:
        return None
    blocks = Blocks(row["tokens"][None], row["features"][None], row["hidden"][None], torch.tensor([anchors]))
    return score(drafter, ends, blocks, row["logsumexp"][None])


def _means(texts: list[int], overlap: list[Tensor], rounds: list[int]) -> dict[str, Any]:
    by_position = torch.cat(overlap).mean(0).tolist() if overlap else []
    return {
        "texts": len(texts),
        "overlap": [round(value, 3) for value in by_position],
        "accepted_length": round(sum(rounds) / len(rounds), 3) if rounds else None,
    }


def greedy_rounds(agreed: Tensor) -> list[int]:
    """Return the accepted length of each round of greedy decoding over one answer, bonus tokens included. (A, γ)"""
    rounds, place = list[int](), 0
    while place < len(agreed):
        rounds.append(int(agreed[place].long().cumprod(0).sum()) + 1)
        place += rounds[-1]
    return rounds
