"""The drafters in torch: DFlash and DSpark, which draft a block in one forward, and an autoregressive drafter.

All of them read the target's fused features, H_ctx = RMSNorm(W_c [H^(l1); …; H^(lm)]), and share its embedding and LM
head, frozen. Block drafters inject the features as keys and values ahead of the block's own (KV injection).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dspark_mini.appendix.model import Layer, Rotary, Target
from dspark_mini.shapes import DrafterShape, TargetShape


class SequentialHead(nn.Module):
    """The Markov or RNN head, together with the confidence head.

    Args:
        shape, target: Shapes of the drafter and of its target.

    Source: DSpark (arXiv 2607.05147).
    """

    def __init__(self, shape: DrafterShape, target: TargetShape) -> None:
        super().__init__()
        shape.check_fits(target)
        drafted = target.vocabulary if shape.draft_vocabulary is None else len(shape.draft_vocabulary)
        self.rank = shape.rank
        self.previous = nn.Embedding(target.vocabulary, shape.rank)  # W1 (V, r)
        self.next = nn.Linear(shape.rank, drafted, bias=False)  # W2 (r, V)
        self.joint = (
            nn.Linear(2 * shape.rank + target.width, 3 * shape.rank, bias=False) if shape.head == "rnn" else None
        )
        self.confidence = nn.Linear(target.width + shape.rank, 1)
        nn.init.normal_(self.previous.weight, std=0.1)
        nn.init.normal_(self.next.weight, std=0.02)

    def biases(self, hidden: Tensor, previous: Tensor) -> Tensor:
        """Return the bias B_k of each position when all tokens are known, as in training. (…, γ, V)

        Args:
            hidden: (…, γ, d) h_1..h_γ.
            previous: (…, γ) x_0..x_{γ−1}, the token before each position.
        """
        embedded = self.previous(previous)  # (…, γ, r)
        if self.joint is None:
            return self.next(embedded)
        state, rows = torch.zeros_like(embedded[..., 0, :]), []
        for k in range(embedded.shape[-2]):
            state, row = self.step(state, embedded[..., k, :], hidden[..., k, :])
            rows.append(row)
        return torch.stack(rows, dim=-2)

    def step(self, state: Tensor, embedded: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Advance the RNN head: return s_k (…, r) and B_k (…, V)."""
        assert self.joint is not None
        gate, candidate, output = self.joint(torch.cat((state, embedded, hidden), dim=-1)).chunk(3, dim=-1)
        keep = gate.sigmoid()
        return keep * state + (1 - keep) * candidate.tanh(), self.next(output.tanh())

    def confidence_logits(self, hidden: Tensor, previous: Tensor) -> Tensor:
        """Return the logit of each c_k, from h_k and x_{k−1}. (…, γ)"""
        return self.confidence(torch.cat((hidden, self.previous(previous)), dim=-1))[..., 0]


class Drafter(nn.Module):
    """Base of both kinds: feature fusion, layers and logits.

    Args:
        shape, target: Shapes of the drafter and of its target.
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
        """Fuse features (…, m · d) into H_ctx. (…, d)"""
        return self.fuse_norm(self.fuse(features))

    def base_logits(self, hidden: Tensor, model: Target) -> Tensor:
        """Return the base logits U over the draft vocabulary, by the target's frozen LM head. (…, V)"""
        rows = model.head_weight.detach()
        if self.shape.draft_vocabulary is not None:
            rows = rows[list(self.shape.draft_vocabulary)]
        return F.linear(hidden, rows)


class BlockDrafter(Drafter):
    """DFlash, or DSpark if the shape has a sequential head: γ positions in one forward."""

    def __init__(self, shape: DrafterShape, target: TargetShape) -> None:
        super().__init__(shape, target)
        self.mask = nn.Parameter(torch.randn(target.width) * 0.02)
        self.head = None if shape.head == "none" else SequentialHead(shape, target)

    def block_inputs(self, anchors: Tensor, model: Target) -> Tensor:
        """Embed the anchor and its masks: γ in the DFlash layout, γ − 1 in DSpark's. (…, n, d)"""
        masks = self.shape.block_size - (self.shape.layout == "dspark")
        anchor = model.embedding(anchors).detach()[..., None, :]  # (…, 1, d)
        return torch.cat((anchor, self.mask.expand(*anchors.shape, masks, -1)), dim=-2)

    def forward(
        self, block: Tensor, positions: Tensor, context: list[tuple[Tensor, Tensor]], mask: Tensor | None
    ) -> Tensor:
        """Return h_1..h_γ of each block, concatenated. (B, γ, d) for one block per row

        Args:
            block: (B, n, d) inputs of one block, or of several that the mask keeps apart.
            positions: (n,) or (B, n) positions in the text.
            context: Keys and values of the features for each layer, from context_rows.
            mask: (…, n, T + n) True where a block position sees a feature or a block position; None if it sees all.
        """
        rope, x = self.rotary(positions), block
        for layer, (context_keys, context_values) in zip(self.layers, context):
            normed = layer.attention_norm(x)
            keys, values = layer.attention.keys_values(normed, rope)
            keys, values = torch.cat((context_keys, keys), dim=2), torch.cat((context_values, values), dim=2)
            queries = layer.attention.queries(normed, rope)
            x = layer.finish(x, layer.attention.attend(queries, keys, values, mask))
        out: Tensor = self.norm(x)
        if self.shape.layout == "dflash":  # the anchor's row predicts nothing
            size = self.shape.block_size + 1
            out = out.unflatten(1, (-1, size))[:, :, 1:].flatten(1, 2)
        return out

    def context_rows(self, features: Tensor, positions: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Project features (B, n, m · d) to the keys and values of every layer. (B, H_kv, n, d_h) each"""
        fused, rope = self.context(features), self.rotary(positions)
        return [layer.attention.keys_values(fused, rope) for layer in self.layers]


class AutoregressiveDrafter(Drafter):
    """EAGLE-style drafter: one token per forward, from a token and the feature before it.

    Drafted tokens have no features yet; the drafter's own hidden state stands in for them. Source: EAGLE-3 (arXiv
    2503.01840).
    """

    def __init__(self, shape: DrafterShape, target: TargetShape) -> None:
        super().__init__(shape, target)
        self.join = nn.Linear(2 * target.width, target.width, bias=False)
        if shape.layers != 1:
            raise ValueError(f"layers is {shape.layers}; the autoregressive drafter has exactly 1.")

    def inputs(self, tokens: Tensor, before: Tensor, model: Target) -> Tensor:
        """Project token embeddings together with the feature before each token (…, d). (…, d)"""
        return self.join(torch.cat((model.embedding(tokens).detach(), before), dim=-1))

    def row(self, x: Tensor, positions: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return queries, and keys and values, of inputs."""
        layer, rope = self.layers[0], self.rotary(positions)
        normed = layer.attention_norm(x)
        return layer.attention.queries(normed, rope), layer.attention.keys_values(normed, rope)


def make_drafter(shape: DrafterShape, target: TargetShape) -> BlockDrafter | AutoregressiveDrafter:
    """Build the drafter described by a shape."""
    return (BlockDrafter if shape.kind == "block" else AutoregressiveDrafter)(shape, target)
