"""Shapes of the small models, as stored in the headers of weight files; NumPy and torch models are built from them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from dspark_mini.kinds import whole

HEADS = ("none", "markov", "gated", "rnn", "gru")  # gru is Domino's
CONFIDENCES = ("markov", "hidden", "none")
LAYOUTS = ("dflash", "dspark")


@dataclass(frozen=True)
class TargetShape:
    """A Llama-style transformer: RMSNorm, rotary positions, SwiGLU, grouped-query attention."""

    vocabulary: int  # V
    width: int = 96  # d
    layers: int = 8
    heads: int = 3
    kv_heads: int = 3
    feed_forward: int = 256
    rope_theta: float = 10_000.0
    eps: float = 1e-5
    tied: bool = True  # the output head shares the embedding's weights
    feature_layers: tuple[int, ...] = (1, 4, 6)  # drafters read the hidden states after these layers; −1: the embedding
    head_dim: int | None = None  # d_h; None: width / heads
    qk_norm: bool = False  # an RMSNorm of each query and key, as in Qwen3; torch only
    rope_scaling: dict[str, Any] | None = None  # as in a config.json; torch only

    @property
    def head_width(self) -> int:
        """Width of one head, d_h."""
        return self.head_dim or self.width // self.heads

    def __post_init__(self) -> None:
        if (self.head_dim is None and self.width % self.heads) or self.heads % self.kv_heads:
            raise ValueError(
                f"heads is {self.heads}; it must divide the width {self.width} and be a multiple of kv_heads = "
                f"{self.kv_heads}."
            )
        if not self.feature_layers or not all(-1 <= layer < self.layers for layer in self.feature_layers):
            raise ValueError(f"feature_layers is {self.feature_layers}; it must name some of the {self.layers} layers.")


@dataclass(frozen=True)
class DrafterShape:
    """A drafter as wide as its target; it drafts a block in one forward (DFlash, DSpark) or token by token."""

    kind: str = "block"  # or autoregressive
    layout: str = "dspark"  # which rows of the block make predictions, see heads.draft_inputs
    head: str = "markov"  # or another of HEADS
    layers: int = 2
    block_size: int = 7  # γ
    rank: int = 64  # r
    draft_vocabulary: tuple[int, ...] | None = None  # target ids that can be drafted; None means all
    confidence: str = "markov"  # reads h_k and W1 of the token before; hidden: h_k only; none: no confidence head

    def __post_init__(self) -> None:
        for name, value, known in (
            ("kind", self.kind, ("block", "autoregressive")),
            ("layout", self.layout, LAYOUTS),
            ("head", self.head, HEADS),
            ("confidence", self.confidence, CONFIDENCES),
        ):
            if value not in known:
                raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(known)}.")
        seen: dict[int, int] = {}
        for i, token in enumerate(self.draft_vocabulary or ()):
            if seen.setdefault(whole(f"draft_vocabulary[{i}]", token, low=0), i) != i:
                raise ValueError(f"draft_vocabulary[{i}] is {token}, which stands at position {seen[token]} already.")

    def check_fits(self, target: TargetShape) -> None:
        """Raise a ValueError where a token of the draft vocabulary is not one of the target's."""
        for i, token in enumerate(self.draft_vocabulary or ()):
            whole(f"draft_vocabulary[{i}]", token, 0, target.vocabulary - 1)


Shape = TypeVar("Shape", TargetShape, DrafterShape)


def to_json(shape: TargetShape | DrafterShape) -> dict[str, Any]:
    """Return a shape as JSON data."""
    return asdict(shape)


def from_json(kind: type[Shape], data: dict[str, Any]) -> Shape:
    """Rebuild a shape from JSON data.

    Raises:
        ValueError: A field is unknown or has an impossible value.
    """
    known = {field.name for field in fields(kind)}
    for name in data:
        if name not in known:
            raise ValueError(f"{name} is not a field of {kind.__name__}.")
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    return kind(**values)
