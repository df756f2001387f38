"""What to train, in which order: the target, the drafters that ship, and those that the experiments compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from dspark_mini.appendix.model import Target
from dspark_mini.appendix.training import DRAFT_LENGTH, Stage, load_target, train_drafter, train_target
from dspark_mini.appendix.training_data import written_rows
from dspark_mini.files import atomic_write
from dspark_mini.shapes import DrafterShape, TargetShape
from dspark_mini.words import Tokenizer, collect_words

STAGES = (  # math and chat come first; copying the names in a function takes longer, so code gets more of the second
    Stage(steps=1300, learning_rate=3e-3, length=255, domain_weights=(1 / 3, 1 / 3, 1 / 3)),
    Stage(steps=600, learning_rate=2e-3, length=160, domain_weights=(1 / 4, 1 / 2, 1 / 4)),
)
DRAFTER_STEPS, SHORT_STEPS = 1000, 300
ROWS = 3000  # texts written by the target, from which drafters learn
SHIPPED_DRAFTERS = {
    "dflash": DrafterShape(layout="dflash", head="none"),
    "dspark": DrafterShape(),
    "dspark-rnn": DrafterShape(head="rnn"),
    "autoregressive": DrafterShape(kind="autoregressive", head="none", layers=1),
}


@dataclass(frozen=True)
class Job:
    """A drafter to train."""

    name: str
    shape: DrafterShape
    steps: int = DRAFTER_STEPS
    seed: int = 0


def shipped() -> list[Job]:
    """Return the drafters that ship with the package."""
    return [Job(name, shape) for name, shape in SHIPPED_DRAFTERS.items()]


def evidence() -> list[Job]:
    """Return the other drafters of the experiments: two more seeds, γ = 16, and depths 1, 2 and 4 with fewer steps."""
    pair = {name: SHIPPED_DRAFTERS[name] for name in ("dflash", "dspark")}
    return [
        *(
            Job(f"{n}-s{s}", SHIPPED_DRAFTERS[n], seed=s)
            for s in (1, 2)
            for n in ("dflash", "dspark", "autoregressive")
        ),
        *(Job(f"{name}-16", replace(shape, block_size=16), SHORT_STEPS) for name, shape in pair.items()),
        *(
            Job(f"{name}-{layers}", replace(shape, layers=layers), SHORT_STEPS)
            for layers in (1, 2, 4)
            for name, shape in pair.items()
        ),
    ]


def train(
    folder: Path, jobs: list[Job], device: str = "cpu", say: Callable[[str], object] = print, faster: int = 1
) -> None:
    """Train the target and the drafters, continuing where an earlier run stopped.

    Args:
        folder: Directory of checkpoints and weights.
        jobs: Drafters to train.
        device: cpu, cuda or mps.
        say: Receives a line for each step.
        faster: Divides all training steps; the weights of such a try go to a subfolder of their own.
    """
    if faster > 1:
        folder = folder / f"{faster}-times-faster"
    path = folder / "target.safetensors"
    if not path.is_file():
        tokenizer = Tokenizer(collect_words())
        stages = [replace(stage, steps=max(1, stage.steps // faster)) for stage in STAGES]
        say(f"Training the target on the corpus for {sum(stage.steps for stage in stages)} steps.")
        train_target(TargetShape(len(tokenizer.words)), tokenizer, stages, 0, folder, device)
    target, tokenizer = load_target(path, device)  # as it ships, in half precision
    rows = _rows(folder, target, tokenizer, max(1, ROWS // faster), say)
    for job in jobs:
        if not (folder / f"{job.name}.safetensors").is_file():
            train_drafter(job.name, job.shape, target, rows, max(1, job.steps // faster), job.seed, folder)
    say(f"The weights are in {folder}.")


def _rows(folder: Path, target: Target, tokenizer: Tokenizer, count: int, say: Callable[[str], object]) -> Tensor:
    """Return texts written by the target (count, DRAFT_LENGTH), from the file of an earlier run if there is one."""
    path = folder / "rows.pt"
    if not path.is_file():
        say(f"Letting the target write {count} texts of {DRAFT_LENGTH} tokens.")
        with atomic_write(path) as part:
            torch.save(written_rows(target, tokenizer, count, DRAFT_LENGTH, seed=1).cpu(), part)
    rows: Tensor = torch.load(path, map_location="cpu", weights_only=True)
    return rows.to(next(target.parameters()).device)
