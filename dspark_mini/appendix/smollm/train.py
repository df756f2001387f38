"""Train a DSpark drafter of a pretrained target on the target's own texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dspark_mini.appendix.blocks import DSPARK_LOSS, Blocks, block_hidden, decay
from dspark_mini.appendix.drafters import BlockDrafter
from dspark_mini.appendix.huggingface import file_names, read_config, read_weights
from dspark_mini.appendix.pretrained import save_drafter
from dspark_mini.appendix.smollm.samples import FEATURE_LAYERS, Samples
from dspark_mini.appendix.training import fit
from dspark_mini.files import atomic_write
from dspark_mini.shapes import DrafterShape, TargetShape

BLOCK_SIZE, LAYERS, RANK, DRAFT_VOCABULARY = 4, 2, 64, 8192
ROWS, ANCHORS, LEARNING_RATE = 8, 16, 1e-3  # per step
MASK_TOKEN = 0  # <|endoftext|>, which no conversation has; its row of the embedding is the mask
SAVE_EVERY = 500  # steps between drafters that can be used
TRAINING = "training.json"  # beside a drafter: its steps, of how many, and the number of texts


@dataclass
class Ends:
    """What a drafter borrows from its target."""

    shape: TargetShape
    embedding: nn.Embedding
    head_weight: Tensor  # (V, d)


def read_ends(
    folder: Path, dtype: torch.dtype = torch.float32, feature_layers: tuple[int, ...] = FEATURE_LAYERS
) -> tuple[Ends, dict[str, Tensor]]:
    """Read what a drafter borrows from the target of a Hugging Face folder, and all its weights by their names."""
    config = read_config(folder, ("llama",))
    weights = read_weights(folder, config, dtype)
    embedding = weights["model.embed_tokens.weight"]
    head = weights.get("lm_head.weight", embedding)
    return Ends(config.shape(feature_layers), nn.Embedding.from_pretrained(embedding), head), weights


@torch.no_grad()
def new_drafter(ends: Ends, weights: Mapping[str, Tensor], draft_vocabulary: list[int], seed: int = 0) -> BlockDrafter:
    """Build a drafter that starts from the target's last layers and reads, at first, its last feature layer only."""
    torch.manual_seed(seed)
    shape = DrafterShape(layers=LAYERS, block_size=BLOCK_SIZE, rank=RANK, draft_vocabulary=tuple(draft_vocabulary))
    drafter, first = BlockDrafter(shape, replace(ends.shape, qk_norm=True)), ends.shape.layers - LAYERS
    state = drafter.state_dict()
    for name, source in file_names(drafter, {}, "model.").items():
        index = name.split(".")[1]
        source = source.replace(f"layers.{index}.", f"layers.{int(index) + first}.")
        if source in weights:
            state[name].copy_(weights[source])
    for layer in drafter.layers:  # DeepSpec's q/k norms, which the target lacks, start at the size that it gives both
        scale, attention = layer.attention_norm.weight, layer.attention
        for norm, linear in ((attention.query_norm, attention.query), (attention.key_norm, attention.key)):
            norm.weight.fill_(float((linear.weight * scale).square().sum(1).mean().sqrt()))
    drafter.norm.weight.copy_(weights["model.norm.weight"])
    nn.init.normal_(drafter.fuse.weight, std=0.002)
    drafter.fuse.weight[:, -ends.shape.width :] += torch.eye(ends.shape.width)
    drafter.fuse_norm.weight.copy_(drafter.layers[0].attention_norm.weight)
    drafter.mask.copy_(ends.embedding.weight[MASK_TOKEN])
    drafter.mask.requires_grad_(False)
    return drafter


@dataclass
class Scores:
    """What drafter and target say about the same blocks, over the draft vocabulary."""

    log_q: Tensor  # (B, A, γ, V_draft)
    p: Tensor  # (B, A, γ, V_draft)
    labels: Tensor  # (B, A, γ) place of the text's token in the draft vocabulary, or −1
    confidence: Tensor  # (B, A, γ) logits

    @property
    def distance(self) -> Tensor:
        """Return ‖q − p‖₁, to which tokens that cannot be drafted add what p has there. (B, A, γ)"""
        return (self.log_q.exp() - self.p).abs().sum(-1) + (1 - self.p.sum(-1)).clamp(min=0)


def score(drafter: BlockDrafter, ends: Any, blocks: Blocks, logsumexp: Tensor) -> Scores:
    """Draft from every anchor, the earlier drafts being the text itself.

    Args:
        drafter, ends: The drafter, and what it borrows from its target.
        blocks: Texts, whose logits are the target's last hidden states instead. (B, T, d)
        logsumexp: (B, T) of the target's logits.
    """
    size, head, vocabulary = drafter.shape.block_size, drafter.head, drafter.shape.draft_vocabulary
    if head is None or vocabulary is None:
        raise ValueError("The drafter needs a sequential head and a draft vocabulary, to be trained or measured here.")
    ids, place = torch.tensor(vocabulary), torch.full((len(ends.head_weight),), -1)
    place[ids] = torch.arange(len(ids))
    hidden, places = block_hidden(drafter, ends, blocks), blocks.positions(size)  # (B, A, γ, d)
    previous = blocks.take(blocks.tokens, places)
    with torch.no_grad():
        p = F.linear(blocks.take(blocks.logits, places), ends.head_weight[ids])
        p = (p - blocks.take(logsumexp, places)[..., None]).exp()
    log_q = (drafter.base_logits(hidden, ends) + head.biases(hidden, previous)).log_softmax(-1)
    labels = place[blocks.take(blocks.tokens, blocks.positions(size, shift=1))]
    return Scores(log_q, p, labels, head.confidence_logits(hidden, previous))


def draft_loss(scores: Scores) -> dict[str, Tensor]:
    """Compute the loss of `blocks.draft_loss` over the draft vocabulary alone; other labels add no cross-entropy."""
    size, distance, labels = scores.labels.shape[-1], scores.distance, scores.labels
    entropy = -scores.log_q.gather(-1, labels.clamp(min=0)[..., None])[..., 0] * (labels >= 0)
    overlap = (1 - distance / 2).detach().clamp(0, 1)  # c*_k
    confidence = F.binary_cross_entropy_with_logits(scores.confidence, overlap, reduction="none")
    weights = torch.softmax(-torch.arange(size) / decay(size), dim=0) * size  # 1 on average
    parts = {"cross_entropy": entropy, "distance": distance, "confidence": confidence}
    means = {name: (part * weights).mean() for name, part in parts.items()}
    loss = DSPARK_LOSS.cross_entropy * means["cross_entropy"] + DSPARK_LOSS.distance * means["distance"]
    return {**means, "loss": loss + means["confidence"], "overlap": overlap.mean((0, 1))}


def train(model_folder: Path, texts: Path, folder: Path, steps: int) -> BlockDrafter:
    """Train up to a number of steps; run it again to continue after a stop.

    Args:
        model_folder: Hugging Face folder of the target.
        texts: Directory of shards; new ones are taken in as they come.
        folder: Directory of the checkpoint and of the drafter, in DeepSpec's format; earlier ones are in step-500/, …
        steps: Number of steps.
    """
    ends, weights = read_ends(model_folder)
    samples, path = Samples(texts), folder / "draft_vocabulary.json"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            part.write_text(json.dumps(samples.frequent_tokens(DRAFT_VOCABULARY, ends.head_weight)), encoding="utf-8")
    drafter = new_drafter(ends, weights, json.loads(path.read_text(encoding="utf-8")))
    del weights

    def save(name: str, step: int) -> None:
        save_drafter(folder / name, drafter, ends, MASK_TOKEN, int8=True)  # type: ignore[arg-type]
        with atomic_write(folder / name / TRAINING) as part:
            part.write_text(json.dumps({"steps": step, "of": steps, "texts": len(samples)}), encoding="utf-8")

    def loss_of(step: int) -> dict[str, Tensor]:
        if step % SAVE_EVERY == 0:
            samples.refresh()
            if step:
                save(f"step-{step}", step)
        generator = torch.Generator().manual_seed(step)
        return draft_loss(score(drafter, ends, *samples.draw(ROWS, ANCHORS, BLOCK_SIZE, generator)))

    fit("drafter", drafter, loss_of, steps, LEARNING_RATE, folder)
    save("drafter", steps)
    return drafter
