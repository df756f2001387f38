"""What to train, in which order: the target, the drafters that ship, and those that the experiments compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from dspark_mini.appendix.blocks import DFLASH_LOSS
from dspark_mini.appendix.model import Target
from dspark_mini.appendix.training import (
    DRAFT_LENGTH,
    Job,
    Record,
    Stage,
    load_target,
    read_rows,
    train_drafter,
    train_target,
)
from dspark_mini.appendix.training_data import written_rows
from dspark_mini.files import atomic_write
from dspark_mini.shapes import DrafterShape, TargetShape
from dspark_mini.words import Tokenizer, collect_words

try:
    import fcntl
except ImportError:  # Windows: one process at a time
    fcntl = None  # type: ignore[assignment]

STAGES = (  # math and chat come first; copying the names in a function takes longer, so code gets more of the second
    Stage(steps=1300, learning_rate=3e-3, length=255, domain_weights=(1 / 3, 1 / 3, 1 / 3)),
    Stage(steps=600, learning_rate=2e-3, length=160, domain_weights=(1 / 4, 1 / 2, 1 / 4)),
)
DRAFTER_STEPS = 2000  # of every drafter
ROWS = 3000  # texts written by the target, from which drafters learn
SHIPPED_DRAFTERS = {
    "dflash": DrafterShape(layout="dflash", head="none"),
    "dspark": DrafterShape(),
    "dspark-gated": DrafterShape(head="gated"),
    "dspark-rnn": DrafterShape(head="rnn"),
    "domino": DrafterShape(head="gru"),
    "autoregressive": DrafterShape(kind="autoregressive", head="none", layers=1),
}
SEEDS, DEPTHS, LONG_BLOCK = (0, 1, 2), (1, 2, 5), 15


def shipped() -> list[Job]:
    """Return the drafters that ship with the package."""
    return [Job(name, shape) for name, shape in SHIPPED_DRAFTERS.items()]


def evidence() -> list[Job]:
    """Return the other drafters of the experiments: DFlash as in DeepSpec, depths, long blocks, two more seeds."""
    pair = {name: SHIPPED_DRAFTERS[name] for name in ("dflash", "dspark")}
    as_in_deepspec = Job("dflash-ce", DrafterShape(head="none"), DFLASH_LOSS)
    depths = [
        Job(layers_name(name, depth), replace(shape, layers=depth)) for name, shape in pair.items() for depth in DEPTHS
    ]
    return [
        as_in_deepspec,
        *(job for job in depths if job.name not in pair),
        *(Job(block_name(name), replace(shape, block_size=LONG_BLOCK)) for name, shape in pair.items()),
        *(
            replace(job, name=seed_name(job.name, seed), seed=seed)
            for seed in SEEDS[1:]
            for job in (*shipped(), as_in_deepspec)
        ),
    ]


def seed_name(name: str, seed: int) -> str:
    """Return the name of a drafter trained with a seed; seed 0 is the one that ships."""
    return name if seed == 0 else f"{name}-seed-{seed}"


def layers_name(name: str, layers: int) -> str:
    """Return the name of a drafter with so many layers; the ones that ship have two."""
    return name if layers == SHIPPED_DRAFTERS[name].layers else f"{name}-layers-{layers}"


def block_name(name: str) -> str:
    """Return the name of a drafter trained for long blocks."""
    return f"{name}-block-{LONG_BLOCK}"


def train(
    folder: Path, jobs: list[Job], device: str = "cpu", say: Callable[[str], object] = print, faster: int = 1
) -> None:
    """Train the target and the drafters, continuing where an earlier run stopped.

    Several processes may train in one folder: one of them trains the target while the others wait for it, and each
    drafter is trained by one of them.

    Args:
        folder: Directory of checkpoints and weights.
        jobs: Drafters to train.
        device: cpu, cuda or mps.
        say: Receives a line for each step.
        faster: Divides all training steps; the weights of such a try go to a subfolder of their own.
    """
    if faster > 1:
        folder = folder / f"{faster}-times-faster"
    target, tokenizer = _target(folder, device, say, faster)
    torch.set_num_threads(1)  # a second one gains little here, and the other core can train another drafter
    rows: tuple[Tensor, Tensor, Tensor] | None = None
    for job in jobs:
        with locked(folder / f"{job.name}.lock") as ours:
            if not ours:
                say(f"{job.name} is being trained by another process.")
            elif not (folder / f"{job.name}.safetensors").is_file():
                rows = rows or read_rows(target, _rows(folder, target, tokenizer, max(1, ROWS // faster), say))
                train_drafter(job, target, rows, max(1, DRAFTER_STEPS // faster), folder)
    say(f"The weights are in {folder}.")


@contextmanager
def locked(path: Path, wait: bool = False) -> Iterator[bool]:
    """Hold a lock that ends with the process, and yield whether this process has it.

    Args:
        path: Lock file; it is removed when the work is done.
        wait: Whether to wait for another process that has it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
        path.unlink(missing_ok=True)  # whoever waits for this very file finds the work done


def _target(folder: Path, device: str, say: Callable[[str], object], faster: int) -> tuple[Target, Tokenizer]:
    """Return the target as it ships, in half precision, training it first if need be."""
    path = folder / "target.safetensors"
    with locked(folder / "target.lock", wait=True):
        if not path.is_file():
            tokenizer = Tokenizer(collect_words())
            stages = [replace(stage, steps=max(1, stage.steps // faster)) for stage in STAGES]
            say(f"Training the target on the corpus for {sum(stage.steps for stage in stages)} steps.")
            train_target(TargetShape(len(tokenizer.words)), tokenizer, stages, 0, folder, device)
    return load_target(path, device)


def _rows(folder: Path, target: Target, tokenizer: Tokenizer, count: int, say: Callable[[str], object]) -> Tensor:
    """Return texts written by the target (count, DRAFT_LENGTH), from the file of an earlier run if there is one."""
    path, record = folder / "rows.pt", Record()
    with locked(folder / "rows.lock", wait=True):
        if not path.is_file():
            say(f"Letting the target write {count} texts of {DRAFT_LENGTH} tokens.")
            with atomic_write(path) as part:
                torch.save(written_rows(target, tokenizer, count, DRAFT_LENGTH, seed=1).cpu(), part)
            record.write(folder, "rows")
    rows: Tensor = torch.load(path, map_location="cpu", weights_only=True)
    return rows.to(next(target.parameters()).device)
