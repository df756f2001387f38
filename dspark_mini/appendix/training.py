"""Training: one loop for target and drafters, with checkpoints from which it goes on where it was stopped."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
import torch.nn.functional as F
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from dspark_mini.appendix.blocks import Blocks, draft_loss, sample_anchors
from dspark_mini.appendix.drafters import AutoregressiveDrafter, BlockDrafter, make_drafter
from dspark_mini.appendix.model import Target
from dspark_mini.appendix.rows import corpus_rows
from dspark_mini.files import whole
from dspark_mini.shapes import DrafterShape, TargetShape, to_json
from dspark_mini.weights import drafter_header, load_weights, save_weights, target_header
from dspark_mini.words import Tokenizer

SAVE_EVERY = 100  # steps
TARGET_BATCH = 16  # rows a step
DRAFT_ROW = 160  # tokens of a row that drafters are trained on: a whole document


@dataclass(frozen=True)
class Stage:
    """A stretch of the target's training."""

    steps: int
    rate: float  # the highest learning rate
    length: int  # tokens of a row
    shares: tuple[float, ...]  # of the domains


def fit(
    name: str,
    model: nn.Module,
    loss_of: Callable[[int], dict[str, Tensor]],
    steps: int,
    rate: float,
    folder: Path,
) -> None:
    """Train a model, or go on with it.

    Args:
        name: of the checkpoint, and of the bar.
        model: what is trained, in place.
        loss_of: makes the parts of a step's loss, "loss" among them; the same for the same step.
        steps: how many.
        rate: the highest learning rate; it rises for 50 steps and falls along a cosine.
        folder: where the checkpoint lies.

    Raises:
        ValueError: a checkpoint of another shape, or of more steps.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.01)
    checkpoint = folder / f"{name}.checkpoint"
    done = _resume(checkpoint, model, optimizer, steps)
    columns = (TextColumn(f"{name:>24}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, TextColumn("{task.description}"), TimeRemainingColumn()) as progress:
        bar = progress.add_task("", total=steps, completed=done)
        for step in range(done, steps):
            for group in optimizer.param_groups:
                group["lr"] = rate * min(1.0, (step + 1) / 50) * (0.515 + 0.485 * math.cos(math.pi * step / steps))
            parts = loss_of(step)
            optimizer.zero_grad()
            parts["loss"].backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if (step + 1) % SAVE_EVERY == 0 or step + 1 == steps:
                _save(checkpoint, {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1})
                progress.update(bar, description=f"loss {parts['loss'].item():.3f}")
            progress.advance(bar)


def _save(path: Path, state: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as part:
        torch.save(state, part)


def _resume(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> int:
    """Load a checkpoint, where there is one, and return how many steps it has behind it."""
    if not path.is_file():
        return 0
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    except (RuntimeError, ValueError, KeyError, EOFError, UnpicklingError) as error:
        raise ValueError(f"{path} belongs to a model of another shape; move it away, or train elsewhere.") from error
    if state["step"] > steps:
        raise ValueError(f"{path} has {state['step']} steps behind it, more than the {steps} that are asked for.")
    return int(state["step"])


def train_target(
    shape: TargetShape, tokenizer: Tokenizer, stages: Sequence[Stage], seed: int, folder: Path, device: str = "cpu"
) -> Target:
    """Train a target on the corpus, stage after stage, and keep its weights in the folder."""
    torch.manual_seed(seed)
    model = Target(shape).to(device)
    for number, stage in enumerate(stages):
        rows = _skipping(corpus_rows(tokenizer, seed + 1 + number, stage.length + 1, stage.shares))

        def loss_of(step: int, rows: Any = rows) -> dict[str, Tensor]:
            tokens = torch.tensor([rows(step * TARGET_BATCH + i) for i in range(TARGET_BATCH)], device=device)  # (B, T)
            logits, _ = model(tokens[:, :-1])
            return {"loss": F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())}

        fit(f"target-{number + 1}", model, loss_of, stage.steps, stage.rate, folder)
    save_model(folder / "target.safetensors", model, shape, words=tokenizer.words)
    return model.eval()


def _skipping(rows: Iterator[list[int]]) -> Callable[[int], list[int]]:
    """Answer with the row of a number, numbers rising; those left out are drawn and thrown away."""
    drawn = 0

    def row(number: int) -> list[int]:
        nonlocal drawn
        while drawn < number:
            next(rows)
            drawn += 1
        drawn += 1
        return next(rows)

    return row


def train_drafter(
    name: str, shape: DrafterShape, target: Target, rows: Tensor, steps: int, seed: int, folder: Path, batch: int = 8
) -> BlockDrafter | AutoregressiveDrafter:
    """Train a drafter on rows that the target wrote, and keep its weights in the folder.

    Args:
        name: of its files.
        shape: its sizes.
        target: the frozen target.
        rows: (N, T) token ids; the first DRAFT_ROW of each row are used.
        steps, seed: how long, and what it draws from.
        folder: where the files go.
        batch: rows a step; each gets 16 anchors.
    """
    device = rows.device
    torch.manual_seed(seed)
    drafter = make_drafter(shape, target.shape).to(device)
    target.requires_grad_(False)

    def loss_of(step: int) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
        chosen = torch.randint(len(rows), (batch,), generator=generator)
        tokens = rows[chosen.to(device), :DRAFT_ROW]
        with torch.no_grad():
            logits, features = target(tokens)
        anchors = sample_anchors(batch, tokens.shape[1], 16, shape.block_size, generator).to(device)
        return draft_loss(drafter, target, Blocks(tokens, features, logits, anchors))

    fit(name, drafter, loss_of, steps, 2e-3, folder)
    save_model(folder / f"{name}.safetensors", drafter, shape)
    return drafter.eval()


def save_model(path: Path, model: nn.Module, shape: TargetShape | DrafterShape, **header: Any) -> None:
    """Write a model's weights, as the NumPy model reads them."""
    weights = {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
    save_weights(path, weights, {"shape": to_json(shape), **header})


def load_target(path: Path, device: str = "cpu") -> tuple[Target, Tokenizer]:
    """Read a target and its tokenizer.

    Raises:
        ValueError: no weights, or weights that do not fit their shape.
    """
    weights, header = load_weights(path)
    shape, tokenizer = target_header(path, header)
    model = Target(shape)
    _fill(path, model, weights)
    return model.to(device).eval().requires_grad_(False), tokenizer


def load_drafter(path: Path, target: Target) -> BlockDrafter | AutoregressiveDrafter:
    """Read a drafter for a target.

    Raises:
        ValueError: no weights, or weights that do not fit their shape or the target's.
    """
    weights, header = load_weights(path)
    drafter = make_drafter(drafter_header(path, header), target.shape)
    _fill(path, drafter, weights)
    return drafter.to(next(target.parameters()).device).eval().requires_grad_(False)


def _fill(path: Path, model: nn.Module, weights: dict[str, Any]) -> None:
    try:
        model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    except RuntimeError as error:
        raise ValueError(
            f"The weights in {path} do not fit this model: {str(error).splitlines()[-1].strip()}"
        ) from error
