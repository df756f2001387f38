"""What is trained, in which order: the target, the drafters of the package, and those that the evidence compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from dspark_mini.appendix.model import Target
from dspark_mini.appendix.rows import written_rows
from dspark_mini.appendix.training import DRAFT_ROW, Stage, load_target, train_drafter, train_target
from dspark_mini.files import whole
from dspark_mini.shapes import DrafterShape, TargetShape
from dspark_mini.words import Tokenizer, collect_words

STAGES = (  # sums and small talk come first; to copy the names of a function takes longer, so code comes again
    Stage(steps=1300, rate=3e-3, length=255, shares=(1 / 3, 1 / 3, 1 / 3)),
    Stage(steps=600, rate=2e-3, length=160, shares=(1 / 4, 1 / 2, 1 / 4)),
)
DRAFTER_STEPS, SHORT_STEPS = 1000, 300
ROWS = 3000  # texts of the target that drafters learn from
SHIPPED_DRAFTERS = {
    "dflash": DrafterShape(layout="dflash", head="none"),
    "dspark": DrafterShape(),
    "dspark-rnn": DrafterShape(head="rnn"),
    "autoregressive": DrafterShape(kind="autoregressive", head="none", layers=1),
}


@dataclass(frozen=True)
class Job:
    """A drafter to be trained."""

    name: str
    shape: DrafterShape
    steps: int = DRAFTER_STEPS
    seed: int = 0


def shipped() -> list[Job]:
    """The drafters of the package."""
    return [Job(name, shape) for name, shape in SHIPPED_DRAFTERS.items()]


def evidence() -> list[Job]:
    """The other drafters of the evidence: two more seeds, blocks of 16, and other depths with fewer steps."""
    jobs = [
        Job(f"{name}-s{seed}", SHIPPED_DRAFTERS[name], seed=seed)
        for seed in (1, 2)
        for name in ("dflash", "dspark", "autoregressive")
    ]
    pair = {name: SHIPPED_DRAFTERS[name] for name in ("dflash", "dspark")}
    jobs += [Job(f"{name}-16", replace(shape, block_size=16), SHORT_STEPS) for name, shape in pair.items()]
    return jobs + [
        Job(f"{name}-{layers}", replace(shape, layers=layers), SHORT_STEPS)
        for layers in (1, 2, 4)
        for name, shape in pair.items()
    ]


def train(
    folder: Path, jobs: list[Job], device: str = "cpu", say: Callable[[str], None] = print, faster: int = 1
) -> None:
    """Train the target and drafters, and go on where an earlier run was stopped.

    Args:
        folder: of checkpoints and weights.
        jobs: the drafters.
        device: cpu, cuda or mps.
        say: is told what happens.
        faster: divides all steps, for a quick try, whose weights go into a folder of their own.
    """
    if faster > 1:
        folder = folder / f"{faster}-times-faster"
    tokenizer = Tokenizer(collect_words())
    path = folder / "target.safetensors"
    if not path.is_file():
        shape = TargetShape(len(tokenizer.words))
        stages = [replace(stage, steps=max(1, stage.steps // faster)) for stage in STAGES]
        say(f"The target learns from the corpus in {sum(stage.steps for stage in stages)} steps.")
        train_target(shape, tokenizer, stages, 0, folder, device)
    target, tokenizer = load_target(path, device)  # as it ships, in half precision
    rows = _rows(folder, target, tokenizer, max(1, ROWS // faster), say)
    for job in jobs:
        if not (folder / f"{job.name}.safetensors").is_file():
            train_drafter(job.name, job.shape, target, rows, max(1, job.steps // faster), job.seed, folder)
    say(f"The weights are in {folder}.")


def _rows(folder: Path, target: Target, tokenizer: Tokenizer, count: int, say: Callable[[str], None]) -> Tensor:
    """Return the texts that the target wrote, and keep them for the next time."""
    path = folder / "rows.pt"
    if not path.is_file():
        say(f"The target writes {count} texts of {DRAFT_ROW} tokens.")
        with whole(path) as part:
            torch.save(written_rows(target, tokenizer, count, DRAFT_ROW, seed=1).cpu(), part)
    rows: Tensor = torch.load(path, map_location="cpu", weights_only=True)
    return rows.to(next(target.parameters()).device)
