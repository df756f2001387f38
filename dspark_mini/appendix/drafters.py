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
    """A sequential head (Markov, gated, RNN, or Domino's GRU), together with the confidence head.

    Args:
        shape, target: Shapes of the drafter and of its target.

    Source: DSpark (arXiv 2607.05147) and DeepSpec for the gated head; Domino (arXiv 2605.29707).
    """

    def __init__(self, shape: DrafterShape, target: TargetShape) -> None:
        super().__init__()
        shape.check_fits(target)
        drafted = target.vocabulary if shape.draft_vocabulary is None else len(shape.draft_vocabulary)
        self.kind, rank, width = shape.head, shape.rank, target.width
        self.previous = nn.Embedding(target.vocabulary, rank)  # W1 (V, r)
        self.next = nn.Linear(rank, drafted, bias=False)  # W2 (r, V)
        if self.kind == "gated":
            self.gate = nn.Linear(width + rank, rank)
        elif self.kind == "rnn":
            self.joint = nn.Linear(2 * rank + width, 3 * rank, bias=False)
        elif self.kind == "gru":
            self.gru = nn.GRU(rank, rank, bias=False, batch_first=True)
            self.reduce = nn.Linear(width + rank, rank, bias=False)
        self.reads_previous = shape.confidence == "markov"
        inputs = width + rank * self.reads_previous
        self.confidence = None if shape.confidence == "none" else nn.Linear(inputs, 1)
        nn.init.normal_(self.previous.weight, std=0.1)
        nn.init.normal_(self.next.weight, std=0.02)

    def biases(self, hidden: Tensor, previous: Tensor) -> Tensor:
        """Return the bias B_k of each position when all tokens are known, as in training. (…, γ, V)

        Args:
            hidden: (…, γ, d) h_1..h_γ.
            previous: (…, γ) x_0..x_{γ−1}, the token before each position.
        """
        latent = self.previous(previous)  # (…, γ, r)
        if self.kind == "gated":
            latent = self.gate(torch.cat((hidden, latent), dim=-1)).sigmoid() * latent
        elif self.kind == "rnn":
            latent = self._rnn(hidden, latent)
        elif self.kind == "gru":
            states = self.gru(latent.flatten(0, -3))[0].view_as(latent)
            latent = F.silu(self.reduce(torch.cat((hidden, states), dim=-1)))
        return self.next(latent)

    def _rnn(self, hidden: Tensor, embedded: Tensor) -> Tensor:
        """Walk the RNN head along the block. (…, γ, r)"""
        state, rows = torch.zeros_like(embedded[..., 0, :]), []
        for before, h in zip(embedded.unbind(-2), hidden.unbind(-2)):
            gate, candidate, output = self.joint(torch.cat((state, before, h), dim=-1)).chunk(3, dim=-1)
            keep = gate.sigmoid()
            state = keep * state + (1 - keep) * candidate.tanh()  # s_k
            rows.append(output.tanh())
        return torch.stack(rows, dim=-2)

    def confidence_logits(self, hidden: Tensor, previous: Tensor) -> Tensor:
        """Return the logit of each c_k, from h_k and x_{k−1}. (…, γ)"""
        assert self.confidence is not None
        inputs = torch.cat((hidden, self.previous(previous)), dim=-1) if self.reads_previous else hidden
        return self.confidence(inputs)[..., 0]


class Drafter(nn.Module):
    """Base of both kinds: feature fusion, layers and logits.

    Args:
        shape: Shape of the drafter.
        target: Shape of its target; heads, feed-forward, norms and RoPE may differ where the drafter's do.

    Attributes:
        embedding, lm_head: The drafter's own, where a checkpoint has them; None: the target's.
    """

    def __init__(self, shape: DrafterShape, target: TargetShape) -> None:
        super().__init__()
        self.shape, self.target = shape, target
        width = target.width
        self.fuse = nn.Linear(len(target.feature_layers) * width, width, bias=False)
        self.fuse_norm = nn.RMSNorm(width, eps=target.eps)
        self.layers = nn.ModuleList(Layer(target) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(width, eps=target.eps)
        self.rotary = Rotary(target)
        self.embedding: nn.Embedding | None = None
        self.lm_head: nn.Linear | None = None

    def context(self, features: Tensor) -> Tensor:
        """Fuse features (…, m · d) into H_ctx. (…, d)"""
        return self.fuse_norm(self.fuse(features))

    def base_logits(self, hidden: Tensor, model: Target) -> Tensor:
        """Return the base logits U over the draft vocabulary, by the frozen LM head. (…, V)"""
        if self.lm_head is not None:
            return F.linear(hidden, self.lm_head.weight.detach())
        rows = model.head_weight.detach()
        if self.shape.draft_vocabulary is not None:
            rows = rows[list(self.shape.draft_vocabulary)]
        return F.linear(hidden, rows)


class BlockDrafter(Drafter):
    """DFlash, or DSpark if the shape has a sequential head: γ positions in one forward.

    Attributes:
        windows: For each layer how many of the last features it sees; 0 means all.
        causal_windows: Whether a position of the block sees, in layers with a window, only those up to its own.
    """

    def __init__(self, shape: DrafterShape, target: TargetShape) -> None:
        super().__init__(shape, target)
        self.windows, self.causal_windows = [0] * shape.layers, False
        self.mask = nn.Parameter(torch.randn(target.width) * 0.02)
        self.head = None if shape.head == "none" else SequentialHead(shape, target)

    def block_inputs(self, anchors: Tensor, model: Target) -> Tensor:
        """Embed the anchor and its masks: γ in the DFlash layout, γ − 1 in DSpark's. (…, n, d)"""
        masks = self.shape.block_size - (self.shape.layout == "dspark")
        embedding = model.embedding if self.embedding is None else self.embedding
        anchor = embedding(anchors).detach()[..., None, :]  # (…, 1, d)
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
        for layer, window, (context_keys, context_values) in zip(self.layers, self.windows, context):
            normed, seen = layer.attention_norm(x), mask
            keys, values = layer.attention.keys_values(normed, rope)
            keys = torch.cat((context_keys[:, :, -window:], keys), dim=2)  # −0 keeps all
            values = torch.cat((context_values[:, :, -window:], values), dim=2)
            assert mask is None or not window  # with windows, one block per row
            if window and self.causal_windows:
                seen = torch.ones(x.shape[1], keys.shape[2], dtype=torch.bool, device=x.device)
                seen = seen.tril(keys.shape[2] - x.shape[1])
            queries = layer.attention.queries(normed, rope)
            x = layer.finish(x, layer.attention.attend(queries, keys, values, seen))
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
