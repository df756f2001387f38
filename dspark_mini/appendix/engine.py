"""The models of the appendix behind the engine's protocol: static caches, inference mode, and one loop for all.

`generate` runs on them as on the NumPy models; the logits of a round cross over to the CPU, where it is decided.
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
from dspark_mini.draft_heads import DraftHead
from dspark_mini.drafts import Logits, Probabilities, self_fed_chain, spread
from dspark_mini.inputs import token_in, tokens_in, whole_number
from dspark_mini.layers import SLOTS
from dspark_mini.lm import DRAFTERS, SmallLM
from dspark_mini.shapes import TargetShape
from dspark_mini.trees import tree_mask

MOST_COMPILED = 8  # tokens of a forward: an anchor and seven drafts


class Slots(KVCache):
    """A static cache with the methods that the engine asks for; features of each row lie beside it."""

    def __init__(self, shape: TargetShape, layers: int, device: torch.device, slots: int = SLOTS) -> None:
        super().__init__(layers, 1, shape.kv_heads, slots, shape.head_width, device)
        self.features = torch.zeros(1, slots, len(shape.feature_layers) * shape.width, device=device)

    def drop(self, rows: int) -> None:
        """Drop rows from the end.

        Raises:
            ValueError: fewer than 0 rows, or more than there are.
        """
        self.rows -= whole_number("rows", rows, low=0, high=self.rows)

    def keep_last(self, count: int, chosen: Sequence[int]) -> None:
        """Of the last rows keep those at the chosen offsets, in rising order, and drop the others."""
        start, offsets = self.rows - whole_number("count", count, low=0, high=self.rows), list(chosen)
        if offsets != sorted(set(offsets)) or any(not 0 <= offset < count for offset in offsets):
            raise ValueError(f"chosen is {offsets}; it must rise within 0..{count - 1}.")
        sources = self.places[[start + offset for offset in offsets]]
        slots = self.places[start : start + len(offsets)]
        for array in (self.keys, self.values):
            array[:, :, :, slots] = array[:, :, :, sources]
        self.features[:, slots] = self.features[:, sources]
        self.rows = start + len(offsets)


class DraftSlots(Slots):
    """A drafter's cache, which grows by the features of what was committed."""

    def __init__(self, shape: TargetShape, layers: int, device: torch.device, write: Callable[..., None]) -> None:
        super().__init__(shape, layers, device)
        self.write_context = write

    def extend(self, tokens: Sequence[int]) -> None:
        """Add a row for each committed token."""
        if tokens:
            self.write_context(self.take(len(tokens)), list(tokens))


class TorchTarget:
    """The target behind the engine's protocol.

    Args:
        model: the target.
        compiled: whether torch.compile makes a graph of the forward for each number of tokens that a round can have,
            on CUDA a CUDA graph; longer ones, of prompts, run as they are. The first forwards then take seconds.
    """

    def __init__(self, model: Target, compiled: bool = False) -> None:
        self.model, self.shape = model, model.shape
        self.device = model.embedding.weight.device
        self.cache = Slots(model.shape, model.shape.layers, self.device)
        self.step: Any = model
        if compiled:
            for array in (self.cache.keys, self.cache.values, self.cache.places):
                torch._dynamo.mark_static_address(array)
            graphs = "reduce-overhead" if self.device.type == "cuda" else "default"
            self.step = torch.compile(model, dynamic=False, mode=graphs)

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> NDArray[np.float64]:
        """Compute the logits behind each token, and add a row a token to the cache, as LanguageModel does. (n, V)"""
        ids = tokens_in("tokens", tokens, self.shape.vocabulary)
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
        run = self.step if len(ids) <= MOST_COMPILED else self.model
        logits, features = run(torch.tensor([ids], device=self.device), self.cache, slots, positions, mask)
        self.cache.features[:, slots] = features
        return _numbers(logits[0])


def _numbers(rows: Tensor) -> NDArray[np.float64]:
    out: NDArray[np.float64] = rows.cpu().double().numpy()
    return out


class _TorchDrafter:
    """What both kinds share: the model, its cache, and the features that it reads."""

    def __init__(self, model: Drafter, target: TorchTarget) -> None:
        self.model, self.target, self.shape = model, target, model.shape
        self.cache = DraftSlots(target.shape, model.shape.layers, target.device, self.write_context)

    def logits(self, hidden: Tensor) -> Logits:
        """Apply the target's head, with −inf at what cannot be drafted. (n, V)"""
        rows = _numbers(self.model.base_logits(hidden, self.target.model))
        return spread(rows, self.shape.draft_vocabulary, self.target.shape.vocabulary)

    def write_context(self, slots: Tensor, tokens: list[int]) -> None:
        """Write the rows of committed tokens into the cache."""
        raise NotImplementedError


class TorchBlockDrafter(_TorchDrafter):
    """DFlash or DSpark behind the engine's protocol."""

    model: BlockDrafter

    def __init__(self, model: BlockDrafter, target: TorchTarget) -> None:
        super().__init__(model, target)
        weights = {name: tensor.cpu().numpy() for name, tensor in model.state_dict().items()}
        w2 = None
        if model.head is not None:
            drafted, vocabulary = model.shape.draft_vocabulary, target.shape.vocabulary
            w2 = spread(weights["head.next.weight"].T, drafted, vocabulary, missing=0.0).astype(np.float32)  # (r, V)
        self.head = DraftHead(weights, model.shape.head, w2)
        self.bias = self.head.bias
        self.hidden = np.zeros((0, target.shape.width), np.float32)

    @torch.inference_mode()
    def write_context(self, slots: Tensor, tokens: list[int]) -> None:
        """Write the keys and values of the tokens' features, layer by layer (KV injection)."""
        rows = self.model.context_rows(self.target.cache.features[:, slots], slots)
        for layer, (keys, values) in enumerate(rows):
            self.cache.write(layer, slots, keys, values)

    @torch.inference_mode()
    def block_logits(self, anchor: int, block_size: int) -> Logits:
        """Compute the base logits of a block in one forward, without changing the cache. (γ, V)"""
        size = whole_number("block_size", block_size, low=1, high=self.shape.block_size)
        ids = torch.tensor([token_in("anchor", anchor, self.target.shape.vocabulary)], device=self.target.device)
        block, rows = self.model.block_inputs(ids, self.target.model), self.cache.rows  # (1, n, d)
        positions = torch.arange(rows, rows + block.shape[1], device=self.target.device)
        context = [(keys[:, :, :rows], values[:, :, :rows]) for keys, values in zip(self.cache.keys, self.cache.values)]
        hidden = self.model(block, positions, context, None)[0, :size]
        self.hidden = hidden.float().cpu().numpy()
        return self.logits(hidden)

    def chain(
        self, base: Logits, anchor: int, size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Choose the tokens of a block one after the other: γ tokens, and the rows q (γ, V) they were drawn from."""
        return self.head.chain(base, self.hidden, anchor, temperature, rng)

    def confidences(self, anchor: int, tokens: Sequence[int], q: Probabilities) -> list[float]:
        """Return the chance of each draft to survive, given that those before it do. (γ,)"""
        return self.head.confidences(self.hidden, anchor, tokens, q)


class TorchAutoregressiveDrafter(_TorchDrafter):
    """The autoregressive drafter behind the engine's protocol."""

    model: AutoregressiveDrafter
    bias = None

    @torch.inference_mode()
    def write_context(self, slots: Tensor, tokens: list[int]) -> None:
        """Write the rows of committed tokens, over what the drafter had fed itself."""
        x = self.model.inputs(torch.tensor([tokens], device=self.target.device), self._before(slots), self.target.model)
        self.cache.write(0, slots, *self.model.row(x, slots)[1])

    def _before(self, slots: Tensor) -> Tensor:
        """Fuse the features in front of rows; nothing stands in front of the first. (1, n, d)"""
        fused = self.model.context(self.target.cache.features[:, (slots - 1).clamp(min=0)])
        return fused * (slots > 0)[:, None]

    @torch.inference_mode()
    def block_logits(self, anchor: int, block_size: int) -> Logits:
        """Compute the first row, all that does not wait for a drafted token. (1, V)"""
        whole_number("block_size", block_size, low=1)
        place = torch.tensor([self.cache.rows], device=self.target.device)
        logits = self._forward(token_in("anchor", anchor, self.target.shape.vocabulary), self._before(place))
        self.cache.drop(1)
        return logits

    @torch.inference_mode()
    def chain(
        self, base: Logits, anchor: int, size: int, temperature: float, rng: np.random.Generator | None
    ) -> tuple[list[int], Probabilities]:
        """Draft a block, a forward a token: γ tokens, and the rows q (γ, V) they were drawn from."""
        self.cache.take(1)  # the anchor's row
        drawn = self_fed_chain(base, size, temperature, rng, lambda token: self._forward(token, self.last))
        self.cache.drop(size)
        return drawn

    def confidences(self, anchor: int, tokens: Sequence[int], q: Probabilities) -> list[float]:
        """Return the best probability of each row, in place of a trained confidence. (γ,)"""
        best: list[float] = q.max(axis=1).tolist()
        return best

    def _forward(self, token: int, before: Tensor) -> Logits:
        """Run one token behind what stands in front of it, and add its row to the cache. (1, V)"""
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


def load(folder: Path, device: str = "cpu", drafters: Sequence[str] = DRAFTERS, compiled: bool = False) -> SmallLM:
    """Load the small language model into torch, behind the same protocol as the NumPy one.

    Args:
        folder: of the weight files.
        device: cpu, cuda or mps.
        drafters: which drafters.
        compiled: see TorchTarget.

    Raises:
        ValueError: weights that are missing, or do not fit.
    """
    model, tokenizer = load_target(folder / "target.safetensors", device)
    target = TorchTarget(model, compiled)
    made: dict[str, Any] = {}
    for name in drafters:
        drafter = load_drafter(folder / f"{name}.safetensors", model)
        kind = TorchBlockDrafter if isinstance(drafter, BlockDrafter) else TorchAutoregressiveDrafter
        made[name] = kind(drafter, target)
    gpu: str | None = "Apple GPU" if target.device.type == "mps" else None
    if target.device.type == "cuda":
        gpu = torch.cuda.get_device_name()
    return SmallLM(target, made, tokenizer, gpu)
