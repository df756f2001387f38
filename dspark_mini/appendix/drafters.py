"""The drafters in torch: DFlash and DSpark, which draft a block in one forward, and an autoregressive one.

All read the target's fused features, H_ctx = RMSNorm(W_c [h; h; h]), and use its embedding and its head, frozen.
In a block, features are injected as keys and values ahead of the block's own (KV injection).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dspark_mini.appendix.model import Layer, Rotary, Target
from dspark_mini.shapes import DrafterShape, TargetShape


class SequentialHead(nn.Module):
    """W1 and W2 of the Markov head, the joint projection of the RNN head, and the confidence head.

    Args:
        shape, target: sizes.
    """

    def __init__(self, shape: DrafterShape, target: TargetShape) -> None:
        super().__init__()
        drafted = target.vocabulary if shape.draft_vocabulary is None else len(shape.draft_vocabulary)
        self.rank = shape.rank
        self.previous = nn.Embedding(target.vocabulary, shape.rank)  # W1
        self.next = nn.Linear(shape.rank, drafted, bias=False)  # W2, transposed
        self.joint = (
            nn.Linear(2 * shape.rank + target.width, 3 * shape.rank, bias=False) if shape.head == "rnn" else None
        )
        self.confidence = nn.Linear(target.width + shape.rank, 1)
        nn.init.normal_(self.previous.weight, std=0.1)
        nn.init.normal_(self.next.weight, std=0.02)

    def biases(self, hidden: Tensor, previous: Tensor) -> Tensor:
        """Return the bias of each position behind known tokens, as training does. (…, γ, V)

        Args:
            hidden: (…, γ, d) h_1..h_γ.
            previous: (…, γ) the token in front of each position.
        """
        seen = self.previous(previous)  # (…, γ, r)
        if self.joint is None:
            out: Tensor = self.next(seen)
            return out
        state, rows = torch.zeros_like(seen[..., 0, :]), []
        for k in range(seen.shape[-2]):
            state, row = self.step(state, seen[..., k, :], hidden[..., k, :])
            rows.append(row)
        return torch.stack(rows, dim=-2)

    def step(self, state: Tensor, seen: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Take one step of the RNN head: a new state (…, r) and a bias (…, V)."""
        assert self.joint is not None
        gate, candidate, output = self.joint(torch.cat((state, seen, hidden), dim=-1)).chunk(3, dim=-1)
        keep = gate.sigmoid()
        return keep * state + (1 - keep) * candidate.tanh(), self.next(output.tanh())

    def confidence_logits(self, hidden: Tensor, previous: Tensor) -> Tensor:
        """Return the logit of each c_k, from h_k and the token in front of position k. (…, γ)"""
        out: Tensor = self.confidence(torch.cat((hidden, self.previous(previous)), dim=-1))[..., 0]
        return out


class Drafter(nn.Module):
    """What both kinds share: the fusion of features, the layers, and the logits.

    Args:
        shape, target: sizes.
    """

    def __init__(self, shape: DrafterShape, target: TargetShape) -> None:
        super().__init__()
        self.shape, self.target = shape, target
        width = target.width
        self.fuse = nn.Linear(len(target.feature_layers) * width, width, bias=False)
        self.fuse_norm = nn.RMSNorm(width, eps=target.eps)
        sizes = (width, target.heads, target.kv_heads, target.head_width, target.feed_forward, target.eps)
        self.layers = nn.ModuleList(Layer(*sizes) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(width, eps=target.eps)
        self.rotary = Rotary(target.head_width, target.rope_theta)

    def context(self, features: Tensor) -> Tensor:
        """Fuse the hidden states of the chosen layers: H_ctx. (…, d)"""
        out: Tensor = self.fuse_norm(self.fuse(features))
        return out

    def base_logits(self, hidden: Tensor, model: Target) -> Tensor:
        """Return U over the tokens that can be drafted, by the target's own head. (…, V)"""
        rows = model.head_weight.detach()
        if self.shape.draft_vocabulary is not None:
            rows = rows[list(self.shape.draft_vocabulary)]
        return F.linear(hidden, rows)


class BlockDrafter(Drafter):
    """DFlash, or DSpark where the shape has a head: γ positions in one forward."""

    def __init__(self, shape: DrafterShape, target: TargetShape) -> None:
        super().__init__(shape, target)
        self.mask = nn.Parameter(torch.randn(target.width) * 0.02)
        self.head = None if shape.head == "none" else SequentialHead(shape, target)

    def block_inputs(self, anchors: Tensor, model: Target) -> Tensor:
        """Embed the anchor and the masks behind it, as the layout says. (…, n, d)"""
        masks = self.shape.block_size - (self.shape.layout == "dspark")
        anchor = model.embedding(anchors).detach()[..., None, :]  # (…, 1, d)
        return torch.cat((anchor, self.mask.expand(*anchors.shape, masks, -1)), dim=-2)

    def forward(
        self, block: Tensor, positions: Tensor, context: list[tuple[Tensor, Tensor]], mask: Tensor | None
    ) -> Tensor:
        """Return h_1..h_γ of every block, one behind the other.

        Args:
            block: (B, n, d) inputs of one block, or of several that the mask keeps apart.
            positions: (n,) or (B, n) their places in the text.
            context: of each layer, the keys and values of the features, see context_rows.
            mask: (…, n, T + n) who sees whom: features before the own anchor, and the own block. Without it, all.
        """
        turns, x = self.rotary(positions), block
        for layer, (old_keys, old_values) in zip(self.layers, context):
            normed = layer.attention_norm(x)
            keys, values = layer.attention.keys_values(normed, turns)
            keys, values = torch.cat((old_keys, keys), dim=2), torch.cat((old_values, values), dim=2)
            queries = layer.attention.queries(normed, turns)
            x = layer.finish(x, layer.attention.attend(queries, keys, values, mask))
        out: Tensor = self.norm(x)
        if self.shape.layout == "dflash":  # the anchor's row predicts nothing
            size = self.shape.block_size + 1
            out = out.unflatten(1, (-1, size))[:, :, 1:].flatten(1, 2)
        return out

    def context_rows(self, features: Tensor, positions: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Compute the keys and values that features add to every layer. (B, H_kv, n, d_h) each"""
        fused, turns = self.context(features), self.rotary(positions)
        return [layer.attention.keys_values(fused, turns) for layer in self.layers]


class AutoregressiveDrafter(Drafter):
    """A drafter after EAGLE: one token a forward, from a token and the feature in front of it.

    Behind the first drafted token there is no feature yet; its own hidden state takes the place.
    """

    def __init__(self, shape: DrafterShape, target: TargetShape) -> None:
        super().__init__(shape, target)
        self.join = nn.Linear(2 * target.width, target.width, bias=False)
        if shape.layers != 1:
            raise ValueError(f"layers is {shape.layers}; the autoregressive drafter has one.")

    def inputs(self, tokens: Tensor, before: Tensor, model: Target) -> Tensor:
        """Join the embeddings of tokens with what stands in front of them. (…, d)"""
        out: Tensor = self.join(torch.cat((model.embedding(tokens).detach(), before), dim=-1))
        return out

    def row(self, x: Tensor, positions: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Compute queries, and the keys and values, of inputs."""
        layer, turns = self.layers[0], self.rotary(positions)
        normed = layer.attention_norm(x)
        return layer.attention.queries(normed, turns), layer.attention.keys_values(normed, turns)


def make_drafter(shape: DrafterShape, target: TargetShape) -> BlockDrafter | AutoregressiveDrafter:
    """Build the drafter that a shape describes."""
    return (BlockDrafter if shape.kind == "block" else AutoregressiveDrafter)(shape, target)
