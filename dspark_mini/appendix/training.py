"""Training of target and drafters in one loop that resumes from checkpoints; loading and saving of weights."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
import torch.nn.functional as F
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from dspark_mini.appendix.blocks import DSPARK_LOSS, Blocks, LossWeights, draft_loss, sample_anchors
from dspark_mini.appendix.drafters import AutoregressiveDrafter, BlockDrafter, make_drafter
from dspark_mini.appendix.model import Target
from dspark_mini.appendix.training_data import corpus_rows
from dspark_mini.files import atomic_write
from dspark_mini.shapes import DrafterShape, TargetShape, to_json
from dspark_mini.weights import drafter_header, load_weights, save_weights, target_header
from dspark_mini.words import Tokenizer

SAVE_EVERY, CURVE_EVERY = 100, 50  # steps
TARGET_BATCH = 16  # rows per step
DRAFT_LENGTH = 160  # tokens per row for drafters: a whole document


@dataclass(frozen=True)
class Stage:
    """A stage of the target's training."""

    steps: int
    learning_rate: float  # its maximum
    length: int  # tokens per row
    domain_weights: tuple[float, ...]  # probability of each domain


class Record:
    """Times and learning curve of a training, kept in its checkpoint and written beside the weights.

    Args:
        data: Those of an earlier run.
    """

    def __init__(self, data: dict[str, Any] | None = None) -> None:
        self.data: dict[str, Any] = data or {"started": time.time(), "cpu_seconds": 0.0, "loss": [], "overlap": []}
        self.data["steps_per_point"] = CURVE_EVERY
        self.recent: list[tuple[float, float | None]] = []
        self.measured_to = time.process_time()

    def add(self, parts: dict[str, Tensor], last: bool) -> None:
        """Add a step; every CURVE_EVERY of them, and the last, end a point of the curve."""
        overlap = parts.get("overlap")
        self.recent.append((parts["loss"].item(), None if overlap is None else overlap.mean().item()))
        if len(self.recent) == CURVE_EVERY or last:
            for curve, values in zip(("loss", "overlap"), zip(*self.recent)):
                if None not in values:
                    self.data[curve].append(round(sum(values) / len(values), 4))
            self.recent.clear()

    def state(self) -> dict[str, Any]:
        """Return the record up to now."""
        now = time.process_time()
        self.data["cpu_seconds"] += now - self.measured_to
        self.measured_to = now
        return self.data

    def write(self, folder: Path, name: str) -> None:
        """Write the record as NAME.training.json."""
        record = self.state() | {"finished": time.time()}
        with atomic_write(folder / f"{name}.training.json") as part:
            part.write_text(json.dumps(record) + "\n", encoding="utf-8")


def fit(
    name: str,
    model: nn.Module,
    loss_of: Callable[[int], dict[str, Tensor]],
    steps: int,
    learning_rate: float,
    folder: Path,
) -> None:
    """Train a model in place, continuing from its checkpoint if there is one.

    Args:
        name: Name of the checkpoint, shown in the progress bar.
        model: Model to train.
        loss_of: Maps a step to the parts of its loss, "loss" among them; must not depend on earlier calls.
        steps: Number of steps.
        learning_rate: Its maximum, reached after 50 steps; a cosine brings it down to 3 %.
        folder: Directory of the checkpoint.

    Raises:
        ValueError: The checkpoint belongs to a model of another shape, or to a longer training.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    checkpoint = folder / f"{name}.checkpoint"
    done, record = _resume(checkpoint, model, optimizer, steps)
    columns = (TextColumn(f"{name:>24}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
    with Progress(*columns, TextColumn("{task.description}"), TimeRemainingColumn()) as progress:
        bar = progress.add_task("", total=steps, completed=done)
        for step in range(done, steps):
            factor = min(1.0, (step + 1) / 50) * (0.515 + 0.485 * math.cos(math.pi * step / steps))
            for group in optimizer.param_groups:
                group["lr"] = learning_rate * factor
            parts, last = loss_of(step), step + 1 == steps
            optimizer.zero_grad()
            parts["loss"].backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            record.add(parts, last)
            if (step + 1) % SAVE_EVERY == 0 or last:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "record": record.state()}
                _save(checkpoint, state | {"step": step + 1})
                progress.update(bar, description=f"loss {parts['loss'].item():.3f}")
            progress.advance(bar)
    record.write(folder, name)


def _save(path: Path, state: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        torch.save(state, part)


def _resume(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> tuple[int, Record]:
    """Load a checkpoint if there is one, and return the number of steps it has completed, and its record."""
    if not path.is_file():
        return 0, Record()
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    except (RuntimeError, ValueError, KeyError, EOFError, UnpicklingError) as error:
        raise ValueError(f"{path} is damaged or of another shape; move it away, or choose another folder.") from error
    if state["step"] > steps:
        raise ValueError(f"{path} has completed {state['step']} steps, more than the {steps} asked for; move it away.")
    return int(state["step"]), Record(state.get("record"))


def train_target(
    shape: TargetShape, tokenizer: Tokenizer, stages: Sequence[Stage], seed: int, folder: Path, device: str = "cpu"
) -> Target:
    """Train a target on the corpus, stage by stage, and save its weights in the folder."""
    torch.manual_seed(seed)
    model = Target(shape).to(device)
    for number, stage in enumerate(stages, start=1):
        batch_at = _batches(corpus_rows(tokenizer, seed + number, stage.length + 1, stage.domain_weights))

        def loss_of(step: int, batch_at: Any = batch_at) -> dict[str, Tensor]:
            tokens = torch.tensor(batch_at(step), device=device)  # (B, T + 1)
            logits, _ = model(tokens[:, :-1])
            return {"loss": F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())}

        fit(f"target-{number}", model, loss_of, stage.steps, stage.learning_rate, folder)
    save_model(folder / "target.safetensors", model, shape, words=tokenizer.words)
    return model.eval()


def _batches(rows: Iterator[list[int]]) -> Callable[[int], list[list[int]]]:
    """Return a function from rising steps to batches; it draws and drops the batches of steps that were skipped."""
    following = 0

    def batch_at(step: int) -> list[list[int]]:
        nonlocal following
        skipped, following = (step - following) * TARGET_BATCH, step + 1
        return list(islice(rows, skipped, skipped + TARGET_BATCH))

    return batch_at


@dataclass(frozen=True)
class Job:
    """A drafter to train."""

    name: str  # of its files
    shape: DrafterShape
    loss: LossWeights = DSPARK_LOSS
    seed: int = 0  # of weights, batches and anchors


@torch.no_grad()
def read_rows(target: Target, tokens: Tensor, batch: int = 100) -> tuple[Tensor, Tensor, Tensor]:
    """Run the target once over all rows (N, T), so that no step of a drafter has to: tokens, features and logits."""
    logits, features = zip(*(target(rows) for rows in tokens.split(batch)))
    return tokens, torch.cat(features), torch.cat(logits)


def train_drafter(
    job: Job, target: Target, rows: tuple[Tensor, Tensor, Tensor], steps: int, folder: Path, batch: int = 8
) -> BlockDrafter | AutoregressiveDrafter:
    """Train a drafter on rows that the target wrote, and save its weights in the folder.

    Args:
        job: What to train.
        target: Frozen target.
        rows: (N, T) token ids, with the target's features and logits, from read_rows.
        steps: Number of steps.
        folder: Directory of checkpoint and weights.
        batch: Rows per step, with 16 anchors each.
    """
    torch.manual_seed(job.seed)
    count, length = rows[0].shape
    device = rows[0].device
    drafter = make_drafter(job.shape, target.shape).to(device)
    target.requires_grad_(False)

    def loss_of(step: int) -> dict[str, Tensor]:
        generator = torch.Generator().manual_seed(job.seed * 1_000_003 + step)
        chosen = torch.randint(count, (batch,), generator=generator).to(device)
        anchors = sample_anchors(batch, length, 16, job.shape.block_size, generator).to(device)
        tokens, features, logits = (part[chosen] for part in rows)
        return draft_loss(drafter, target, Blocks(tokens, features, logits, anchors), job.loss)

    fit(job.name, drafter, loss_of, steps, 2e-3, folder)
    save_model(folder / f"{job.name}.safetensors", drafter, job.shape)
    return drafter.eval()


def save_model(path: Path, model: nn.Module, shape: TargetShape | DrafterShape, **header: Any) -> None:
    """Save a model's weights under the names that the NumPy model reads."""
    weights = {name: tensor.detach().cpu().numpy() for name, tensor in model.state_dict().items()}
    save_weights(path, weights, {"shape": to_json(shape), **header})


def load_target(path: Path, device: str = "cpu") -> tuple[Target, Tokenizer]:
    """Load a target and its tokenizer.

    Raises:
        ValueError: The weights are missing or do not fit their shape.
    """
    weights, header = load_weights(path)
    shape, tokenizer = target_header(path, header)
    model = Target(shape)
    _load_weights(path, model, weights)
    return model.to(device).eval().requires_grad_(False), tokenizer


def load_drafter(path: Path, target: Target) -> BlockDrafter | AutoregressiveDrafter:
    """Load a drafter of a target.

    Raises:
        ValueError: The weights are missing, or do not fit their shape or the target.
    """
    weights, header = load_weights(path)
    drafter = make_drafter(drafter_header(path, header), target.shape)
    _load_weights(path, drafter, weights)
    return drafter.to(next(target.parameters()).device).eval().requires_grad_(False)


def _load_weights(path: Path, model: nn.Module, weights: dict[str, Any]) -> None:
    try:
        model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    except RuntimeError as error:
        raise ValueError(
            f"The weights in {path} do not fit this model: {str(error).splitlines()[-1].strip()}"
        ) from error
