"""The training forward of drafters and its loss: many blocks per row at once, each as the engine would draft it.

A block whose anchor is at position a sees features of positions before a only, since the anchor's own features do not
exist yet when a block is drafted. Blocks of the same row never see each other.
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
    """Rows of text, the target's outputs for them, and the anchors of the blocks to draft."""

    tokens: Tensor  # (B, T)
    features: Tensor  # (B, T, m · d)
    logits: Tensor  # (B, T, V) the target's
    anchors: Tensor  # (B, A) positions

    def positions(self, count: int, shift: int = 0) -> Tensor:
        """Return `count` positions per block, starting `shift` after its anchor. (B, A, count)"""
        return self.anchors[..., None] + shift + torch.arange(count, device=self.anchors.device)

    def take(self, rows: Tensor, positions: Tensor) -> Tensor:
        """Pick entries of rows (B, T, …) at positions (B, A, n). (B, A, n, …)"""
        batch = torch.arange(rows.shape[0], device=rows.device)[:, None, None]
        return rows[batch, positions]


def sample_anchors(rows: int, length: int, count: int, block_size: int, generator: torch.Generator) -> Tensor:
    """Sample anchor positions that leave room for a whole block. (B, A)"""
    return torch.randint(1, length - block_size, (rows, count), generator=generator, device=generator.device)


def block_hidden(drafter: BlockDrafter, model: Target, blocks: Blocks) -> Tensor:
    """Return h_1..h_γ of every block. (B, A, γ, d)"""
    inputs = drafter.block_inputs(blocks.take(blocks.tokens, blocks.positions(1))[..., 0], model)  # (B, A, n, d)
    batch, count, size, _ = inputs.shape
    positions = torch.arange(blocks.tokens.shape[1], device=inputs.device)  # (T,)
    context = drafter.context_rows(blocks.features, positions)
    before = positions < blocks.anchors[..., None]  # (B, A, T)
    before = before.repeat_interleave(size, dim=1)[:, None]  # (B, 1, A · n, T)
    own = torch.block_diag(*[torch.ones(size, size)] * count).bool().to(inputs.device)  # (A · n, A · n)
    mask = torch.cat((before, own.expand(batch, 1, -1, -1)), dim=-1)  # (B, 1, A · n, T + A · n)
    hidden = drafter(inputs.flatten(1, 2), blocks.positions(size).flatten(1, 2), context, mask)
    return hidden.unflatten(1, (count, -1))


def chain_hidden(drafter: AutoregressiveDrafter, model: Target, blocks: Blocks, block_size: int) -> Tensor:
    """Unroll the autoregressive drafter from every anchor, fed with its own hidden states. (B, A, γ, d)"""
    length, layer = blocks.tokens.shape[1], drafter.layers[0]
    positions = torch.arange(length, device=blocks.tokens.device)
    fused = F.pad(drafter.context(blocks.features), (0, 0, 1, 0))[:, :length]  # the feature before each token
    x = drafter.inputs(blocks.tokens, fused, model)  # (B, T, d)
    queries, (keys, values) = drafter.row(x, positions)
    anchors = blocks.anchors[:, None, :, None].expand(-1, queries.shape[1], -1, queries.shape[-1])
    query, current = queries.gather(2, anchors), blocks.take(x, blocks.positions(1))[:, :, 0]  # (B, A, d)
    seen = (positions <= blocks.anchors[..., None])[:, None]  # (B, 1, A, T)
    groups = queries.shape[1] // keys.shape[1]
    keys, values = keys.repeat_interleave(groups, dim=1), values.repeat_interleave(groups, dim=1)
    own: list[tuple[Tensor, Tensor]] = []  # keys and values of the block's own steps, (B, H, A, d_h) each
    rows = []
    for k in range(block_size):
        mixed = _attend(query, keys, values, seen, own)  # (B, H, A, d_h)
        hidden = drafter.norm(layer.finish(current, layer.attention.out(mixed.transpose(1, 2).flatten(2))))
        rows.append(hidden)  # (B, A, d)
        token = blocks.take(blocks.tokens, blocks.positions(1, shift=k + 1))[..., 0]
        current = drafter.inputs(token, hidden, model)
        query, (key, value) = drafter.row(current, blocks.anchors + k + 1)
        own.append((key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)))
    return torch.stack(rows, dim=2)


def _attend(query: Tensor, keys: Tensor, values: Tensor, seen: Tensor, own: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Attend, with one query per block, to the text up to the anchor and to the block's own steps. (B, H, A, d_h)"""
    scores = (query @ keys.transpose(2, 3)).masked_fill(~seen, float("-inf"))  # (B, H, A, T)
    steps = [(query * key).sum(-1, keepdim=True) for key, _ in own]
    weights = (torch.cat([scores, *steps], dim=-1) * query.shape[-1] ** -0.5).softmax(-1)
    mixed = weights[..., : keys.shape[2]] @ values
    for k, (_, value) in enumerate(own):
        mixed = mixed + weights[..., keys.shape[2] + k, None] * value
    return mixed


@dataclass(frozen=True)
class LossWeights:
    """Weights of the parts of the loss; the confidence head's has weight 1."""

    cross_entropy: float = 0.1  # to the tokens that follow
    distance: float = 0.9  # ‖q_k − p_k‖₁


DSPARK_LOSS, DFLASH_LOSS = LossWeights(), LossWeights(cross_entropy=1.0, distance=0.0)  # as in DeepSpec's configs


def decay(block_size: int) -> float:
    """Return the constant c of the weights exp(−(k − 1) / c) of positions: 4.0 at γ = 7, as in DeepSpec's configs."""
    return (block_size + 1) / 2


def draft_loss(
    drafter: BlockDrafter | AutoregressiveDrafter, model: Target, blocks: Blocks, parts_of: LossWeights = DSPARK_LOSS
) -> dict[str, Tensor]:
    """Compute the parts of the loss of a batch, averaged over blocks and positions; early positions weigh more.

    Returns:
        loss, cross_entropy, distance, for a drafter with a head also confidence, and overlap (γ,): the chance of
        acceptance by position.

    Source: DSpark (arXiv 2607.05147), training of the drafter.
    """
    size = drafter.shape.block_size
    chained = isinstance(drafter, AutoregressiveDrafter)
    hidden = chain_hidden(drafter, model, blocks, size) if chained else block_hidden(drafter, model, blocks)
    head = None if chained else drafter.head
    previous = blocks.take(blocks.tokens, blocks.positions(size))  # (B, A, γ)
    labels = blocks.take(blocks.tokens, blocks.positions(size, shift=1))  # (B, A, γ)
    p = blocks.take(blocks.logits, blocks.positions(size)).softmax(-1)  # (B, A, γ, V)
    logits = drafter.base_logits(hidden, model)
    if head is not None:
        logits = logits + head.biases(hidden, previous)
    if drafter.shape.draft_vocabulary is not None:
        logits = to_target_vocabulary(logits, drafter.shape.draft_vocabulary, p.shape[-1])
    log_q = logits.log_softmax(-1)
    entropy = -log_q.gather(-1, labels[..., None])[..., 0].clamp(min=-30.0)  # finite where a label cannot be drafted
    distance = (log_q.exp() - p).abs().sum(-1)  # (B, A, γ)
    weights = torch.softmax(-torch.arange(size, device=logits.device) / decay(size), dim=0) * size  # 1 on average
    parts = {"cross_entropy": (entropy * weights).mean(), "distance": (distance * weights).mean()}
    parts["loss"] = parts_of.cross_entropy * parts["cross_entropy"] + parts_of.distance * parts["distance"]
    if head is not None and head.confidence is not None:
        label = (1 - distance / 2).detach().clamp(0, 1)  # c*_k
        error = F.binary_cross_entropy_with_logits(head.confidence_logits(hidden, previous), label, reduction="none")
        parts["confidence"] = (error * weights).mean()
        parts["loss"] = parts["loss"] + parts["confidence"]
    parts["overlap"] = (1 - distance.detach() / 2).mean((0, 1))
    return parts


def to_target_vocabulary(logits: Tensor, ids: tuple[int, ...], vocabulary: int) -> Tensor:
    """Spread logits over the draft vocabulary to their ids in the target's, with −inf elsewhere. (…, V)"""
    full = logits.new_full((*logits.shape[:-1], vocabulary), float("-inf"))
    full[..., list(ids)] = logits
    return full
