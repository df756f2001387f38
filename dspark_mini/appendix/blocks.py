"""The training forward of drafters: many blocks of a row at once, each as the engine would meet it.

A block at anchor position a sees features at positions before a only: those of the anchor do not exist yet when a
block is drafted. Blocks of the same row never see each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from dspark_mini.appendix.drafters import AutoregressiveDrafter, BlockDrafter
from dspark_mini.appendix.model import Target


@dataclass
class Blocks:
    """Rows of text, what the target says of them, and the anchors of their blocks."""

    tokens: Tensor  # (B, T)
    features: Tensor  # (B, T, m · d)
    logits: Tensor  # (B, T, V) the target's
    anchors: Tensor  # (B, A) positions

    def behind(self, size: int, shift: int = 0) -> Tensor:
        """Return the positions shift, shift + 1, … behind each anchor. (B, A, size)"""
        return self.anchors[..., None] + shift + torch.arange(size, device=self.anchors.device)

    def take(self, rows: Tensor, positions: Tensor) -> Tensor:
        """Pick entries of rows (B, T, …) at positions (B, A, n). (B, A, n, …)"""
        batch = torch.arange(rows.shape[0], device=rows.device)[:, None, None]
        return rows[batch, positions]


def sample_anchors(rows: int, length: int, count: int, block_size: int, generator: torch.Generator) -> Tensor:
    """Draw anchor positions, each with a whole block behind it. (B, A)"""
    return torch.randint(1, length - block_size, (rows, count), generator=generator, device=generator.device)


def block_hidden(drafter: BlockDrafter, model: Target, blocks: Blocks) -> Tensor:
    """Return h_1..h_γ of every block. (B, A, γ, d)"""
    inputs = drafter.block_inputs(blocks.take(blocks.tokens, blocks.anchors[..., None])[..., 0], model)  # (B, A, n, d)
    batch, count, size, _ = inputs.shape
    context = drafter.context_rows(blocks.features, torch.arange(blocks.tokens.shape[1], device=inputs.device))
    before = torch.arange(blocks.tokens.shape[1], device=inputs.device) < blocks.anchors[..., None]  # (B, A, T)
    before = before.repeat_interleave(size, dim=1)[:, None]  # (B, 1, A · n, T)
    own = torch.block_diag(*[torch.ones(size, size)] * count).bool().to(inputs.device)  # (A · n, A · n)
    mask = torch.cat((before, own.expand(batch, 1, -1, -1)), dim=-1)
    hidden = drafter(inputs.flatten(1, 2), blocks.behind(size).flatten(1, 2), context, mask)
    return hidden.unflatten(1, (count, -1))


def chain_hidden(drafter: AutoregressiveDrafter, model: Target, blocks: Blocks, block_size: int) -> Tensor:
    """Unroll the autoregressive drafter over its own hidden states behind every anchor. (B, A, γ, d)"""
    length = blocks.tokens.shape[1]
    places = torch.arange(length, device=blocks.tokens.device)
    fused = F.pad(drafter.context(blocks.features), (0, 0, 1, 0))[:, :length]  # the feature in front of each token
    x = drafter.inputs(blocks.tokens, fused, model)  # (B, T, d)
    queries, (keys, values) = drafter.row(x, places)
    at = blocks.anchors[:, None, :, None].expand(-1, queries.shape[1], -1, queries.shape[-1])
    query, current = queries.gather(2, at), blocks.take(x, blocks.anchors[..., None])[:, :, 0]  # (B, A, d)
    before = (places <= blocks.anchors[..., None])[:, None]  # (B, 1, A, T)
    groups = queries.shape[1] // keys.shape[1]
    keys, values = keys.repeat_interleave(groups, dim=1), values.repeat_interleave(groups, dim=1)
    own: list[tuple[Tensor, Tensor]] = []  # keys and values of the block's own steps, (B, H, A, d_h) each
    rows = []
    for k in range(block_size):
        mixed = _attend(query, keys, values, before, own)  # (B, H, A, d_h)
        layer = drafter.layers[0]
        hidden = drafter.norm(layer.finish(current, layer.attention.out(mixed.transpose(1, 2).flatten(2))))
        rows.append(hidden)  # (B, A, d)
        positions = blocks.anchors + k + 1
        token = blocks.take(blocks.tokens, positions[..., None])[..., 0]
        current = drafter.inputs(token, hidden, model)
        query, (key, value) = drafter.row(current, positions)
        own.append((key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)))
    return torch.stack(rows, dim=2)


def _attend(query: Tensor, keys: Tensor, values: Tensor, before: Tensor, own: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Let one query a block see the features up to its anchor and its own steps. (B, H, A, d_h)"""
    scale = query.shape[-1] ** -0.5
    scores = (query @ keys.transpose(2, 3)).masked_fill(~before, float("-inf"))  # (B, H, A, T)
    steps = [(query * key).sum(-1, keepdim=True) for key, _ in own]
    weights = (torch.cat([scores, *steps], dim=-1) * scale).softmax(-1)
    mixed = weights[..., : keys.shape[2]] @ values
    for k, (_, value) in enumerate(own):
        mixed = mixed + weights[..., keys.shape[2] + k, None] * value
    return mixed


def draft_loss(drafter: BlockDrafter | AutoregressiveDrafter, model: Target, blocks: Blocks) -> dict[str, Tensor]:
    """Return the parts of the loss of a batch, averaged over blocks and weighted along them.

    L = 0.1 · CE + 0.9 · TV + 1.0 · confidence, each weighted by exp(−(k − 1) / γ). Source: DSpark
    (arXiv 2607.05147), the training of the drafter.
    """
    size = drafter.shape.block_size
    chained = isinstance(drafter, AutoregressiveDrafter)
    hidden = chain_hidden(drafter, model, blocks, size) if chained else block_hidden(drafter, model, blocks)
    logits, previous = drafter.base_logits(hidden, model), blocks.take(blocks.tokens, blocks.behind(size))
    head = None if chained else drafter.head
    if head is not None:
        logits = logits + head.biases(hidden, previous)
    target = blocks.take(blocks.logits, blocks.behind(size)).softmax(-1)  # (B, A, γ, V) p
    labels = blocks.take(blocks.tokens, blocks.behind(size, shift=1))
    if drafter.shape.draft_vocabulary is not None:
        logits = spread(logits, drafter.shape.draft_vocabulary, target.shape[-1])
    log_q = logits.log_softmax(-1)
    weights = torch.exp(-torch.arange(size, device=logits.device) / size)
    distance = (log_q.exp() - target).abs().sum(-1)  # (B, A, γ)
    entropy = -log_q.gather(-1, labels[..., None])[..., 0].clamp(min=-30.0)  # a label that cannot be drafted
    parts = {"cross_entropy": (entropy * weights).mean(), "distance": (distance * weights).mean()}
    parts["loss"] = 0.1 * parts["cross_entropy"] + 0.9 * parts["distance"]
    if head is not None:
        wanted = (1 - distance / 2).detach().clamp(0, 1)
        error = F.binary_cross_entropy_with_logits(head.confidence_logits(hidden, previous), wanted, reduction="none")
        parts["confidence"] = (error * weights).mean()
        parts["loss"] = parts["loss"] + parts["confidence"]
    parts["overlap"] = (1 - distance.detach() / 2).mean((0, 1))  # (γ,) the chance of acceptance
    return parts


def spread(logits: Tensor, ids: tuple[int, ...], vocabulary: int) -> Tensor:
    """Put logits over the draft vocabulary at their ids in the target's; the rest cannot be drafted. (…, V)"""
    full = logits.new_full((*logits.shape[:-1], vocabulary), float("-inf"))
    full[..., list(ids)] = logits
    return full
