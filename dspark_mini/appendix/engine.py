"""Adapters that give the torch models the engine's interface: static caches, inference mode, logits on the CPU.

`generate` runs on them as it does on the NumPy models; it decides every round on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dspark_mini.appendix.drafters import AutoregressiveDrafter, BlockDrafter, Drafter
from dspark_mini.appendix.model import KVCache, Target
from dspark_mini.appendix.training import load_drafter, load_target
from dspark_mini.draft_heads import BlockChain, DraftHead, SelfFedChain
from dspark_mini.drafts import Logits, spread
from dspark_mini.kinds import tokens as tokens_of
from dspark_mini.kinds import whole
from dspark_mini.layers import SLOTS
from dspark_mini.lm import DRAFTERS, SmallLM
from dspark_mini.shapes import TargetShape
from dspark_mini.trees import tree_mask

COMPILED = (1, 8)  # tokens of the compiled forwards: a step of plain decoding, and an anchor with seven drafts


class Slots(KVCache):
    """A static cache of one text, with the features of each row."""

    def __init__(self, shape: TargetShape, layers: int, like: Tensor, slots: int, features: int = 0) -> None:
        super().__init__(layers, 1, shape.kv_heads, slots, shape.head_width, like.device, like.dtype)
        self.features = torch.zeros(1, slots, features, device=like.device, dtype=like.dtype)

    def move(self, sources: list[int], slots: slice) -> None:
        """Copy rows to earlier slots."""
        super().move(sources, slots)
        self.features[:, slots] = self.features[:, sources]


class DraftSlots(Slots):
    """A drafter's cache, which is written from the target's features of committed tokens."""

    def __init__(self, model: Drafter, target: Slots, write: Callable[..., None]) -> None:
        super().__init__(model.target, model.shape.layers, target.features, len(target.places))
        self.write_context = write

    def extend(self, tokens: Sequence[int]) -> None:
        """Add one row per committed token."""
        if tokens:
            self.write_context(self.take(len(tokens)), list(tokens))


class TorchTarget:
    """The target with the engine's interface.

    Args:
        model: The target.
        compiled: Whether to compile the forwards of plain steps and of whole blocks, on CUDA as CUDA graphs; the first
            of them take seconds. Others run uncompiled: prompts, trees, and the shorter blocks at the end of a text.
        slots: Most tokens of a text.
    """

    def __init__(self, model: Target, compiled: bool = False, slots: int = SLOTS) -> None:
        self.model, self.shape, weight = model, model.shape, model.embedding.weight
        self.device = weight.device
        features = len(model.shape.feature_layers) * model.shape.width
        self.cache = Slots(model.shape, model.shape.layers, weight, slots, features)
        self.step: Any = model
        if compiled:
            for array in (self.cache.keys, self.cache.values, self.cache.places):
                torch._dynamo.mark_static_address(array)
            graphs = "reduce-overhead" if self.device.type == "cuda" else "default"
            self.step = torch.compile(model, dynamic=False, mode=graphs)

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Return the next-token logits after each token, and add one row per token to the cache. (n, V)"""
        ids = tokens_of("n", below=self.shape.vocabulary)("tokens", tokens, {})
        if not ids:
            return np.zeros((0, self.shape.vocabulary))
        before = self.cache.rows
        slots = self.cache.take(len(ids))
        positions, mask = slots, None
        if parents is not None:
            seen = tree_mask([-1, *(parent + 1 for parent in parents)], before)  # (n, rows)
            positions = torch.as_tensor(seen.sum(axis=1) - 1, device=self.device)
            mask = torch.zeros(len(ids), len(self.cache.places), dtype=torch.bool)
            mask[:, : seen.shape[1]] = torch.from_numpy(seen)
            mask = mask.to(self.device)
        run = self.step if len(ids) in COMPILED and parents is None else self.model
        logits, features = run(torch.tensor([ids], device=self.device), self.cache, slots, positions, mask)
        self.cache.features[:, slots] = features
        return _numbers(logits[0])


def _numbers(rows: Tensor) -> NDArray[np.float64]:
    return rows.cpu().double().numpy()


class _TorchDrafter:
    """What all drafters share: the model, its cache, and the target's head."""

    def __init__(self, model: Drafter, target: TorchTarget) -> None:
        self.model, self.target, self.shape = model, target, model.shape
        self.cache = DraftSlots(model, target.cache, self.write_context)

    def logits(self, hidden: Tensor) -> Logits:
        """Apply the target's head, with −inf at what cannot be drafted. (n, V)"""
        rows = _numbers(self.model.base_logits(hidden, self.target.model))
        return spread(rows, self.shape.draft_vocabulary, self.target.shape.vocabulary)

    def write_context(self, slots: Tensor, tokens: list[int]) -> None:
        """Write the rows of committed tokens into the cache."""
        raise NotImplementedError


class TorchBlockDrafter(BlockChain, _TorchDrafter):
    """DFlash or DSpark with the engine's interface."""

    model: BlockDrafter

    def __init__(self, model: BlockDrafter, target: TorchTarget) -> None:
        super().__init__(model, target)
        head = {} if model.head is None else model.head.state_dict(prefix="head.")
        weights = {name: tensor.float().cpu().numpy() for name, tensor in head.items()}
        self.draft_head = DraftHead(weights, model.shape, target.shape.vocabulary)
        self.bias, self.factors = self.draft_head.bias, self.draft_head.factors

    @torch.inference_mode()
    def write_context(self, slots: Tensor, tokens: list[int]) -> None:
        """Write the keys and values of the tokens' features, layer by layer (KV injection)."""
        rows = self.model.context_rows(self.target.cache.features[:, slots], slots)
        for layer, (keys, values) in enumerate(rows):
            self.cache.write(layer, slots, keys, values)

    @torch.inference_mode()
    def block_logits(self, anchor: int, block_size: int) -> Logits:
        """Compute the base logits of a block in one forward, without changing the cache. (γ, V)"""
        size = whole("block_size", block_size, 1, self.shape.block_size)
        ids = torch.tensor([whole("anchor", anchor, 0, self.target.shape.vocabulary - 1)], device=self.target.device)
        block, rows = self.model.block_inputs(ids, self.target.model), self.cache.rows  # (1, n, d)
        positions = torch.arange(rows, rows + block.shape[1], device=self.target.device)
        context = [(keys[:, :, :rows], values[:, :, :rows]) for keys, values in zip(self.cache.keys, self.cache.values)]
        hidden = self.model(block, positions, context, None)[0, :size]
        self.hidden = hidden.float().cpu().numpy()
        return self.logits(hidden)


class TorchAutoregressiveDrafter(SelfFedChain, _TorchDrafter):
    """The autoregressive drafter with the engine's interface."""

    model: AutoregressiveDrafter

    @torch.inference_mode()
    def write_context(self, slots: Tensor, tokens: list[int]) -> None:
        """Write the rows of committed tokens, over what the drafter had fed itself."""
        x = self.model.inputs(torch.tensor([tokens], device=self.target.device), self._before(slots), self.target.model)
        self.cache.write(0, slots, *self.model.row(x, slots)[1])

    def _before(self, slots: Tensor) -> Tensor:
        """Fuse the features of the rows before each slot; zeros before the first. (1, n, d)"""
        fused = self.model.context(self.target.cache.features[:, (slots - 1).clamp(min=0)])
        return fused * (slots > 0)[:, None]

    @torch.inference_mode()
    def block_logits(self, anchor: int, block_size: int) -> Logits:
        """Compute the first row, the only one that needs no drafted token. (1, V)"""
        whole("block_size", block_size, low=1)
        place = torch.tensor([self.cache.rows], device=self.target.device)
        logits = self.forward(whole("anchor", anchor, 0, self.target.shape.vocabulary - 1), self._before(place))
        self.cache.drop(1)
        return logits

    @torch.inference_mode()
    def forward(self, token: int, before: Tensor) -> Logits:
        """Run one token, given the state before it, and add its row to the cache. (1, V)"""
        slots, layer = self.cache.take(1), self.model.layers[0]
        x = self.model.inputs(
            torch.tensor([[token]], device=self.target.device), before, self.target.model
        )  # (1, 1, d)
        queries, rows = self.model.row(x, slots)
        self.cache.write(0, slots, *rows)
        upto = slice(0, self.cache.rows)
        mixed = layer.attention.attend(queries, self.cache.keys[0][:, :, upto], self.cache.values[0][:, :, upto], None)
        self.last = self.model.norm(layer.finish(x, mixed))
        return self.logits(self.last[0])


def load(
    folder: Path,
    device: str = "cpu",
    drafters: Sequence[str] = DRAFTERS,
    compiled: bool = False,
    dtype: torch.dtype = torch.float32,
) -> SmallLM:
    """Load the small language model into torch, with the same interface as the NumPy one.

    Args:
        folder: Directory with the weight files.
        device: cpu, cuda or mps.
        drafters: Names of the drafters to load.
        compiled: See TorchTarget.
        dtype: Of weights and caches.

    Raises:
        ValueError: Weights are missing or do not fit.
    """
    model, tokenizer = load_target(folder / "target.safetensors", device)
    target = TorchTarget(model.to(dtype), compiled)
    adapters: dict[str, Any] = {}
    for name in drafters:
        drafter = load_drafter(folder / f"{name}.safetensors", model).to(dtype)
        kind = TorchBlockDrafter if isinstance(drafter, BlockDrafter) else TorchAutoregressiveDrafter
        adapters[name] = kind(drafter, target)
    gpu: str | None = "Apple GPU" if target.device.type == "mps" else None
    if target.device.type == "cuda":
        gpu = torch.cuda.get_device_name()
    return SmallLM(target, adapters, tokenizer, gpu)
