"""What is reproduced, from which weights, and under which names they lie."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dspark_mini.inputs import number, whole_number

EXPERIMENTS = ("table_1", "figure_2", "figure_3", "figure_4", "figure_5", "figure_6", "figure_7_8")

COMPARED = ("autoregressive", "dflash", "dspark")
DEPTHS = (1, 2, 4)
NEEDS = {
    "figure_2": (*COMPARED, "dspark-rnn"),
    "figure_3": tuple(f"{kind}-{layers}" for kind in ("dflash", "dspark") for layers in DEPTHS),
    "figure_4": ("dflash-16", "dspark-16"),
    "figure_5": ("dspark",),
    "figure_6": ("dspark",),
    "figure_7_8": ("dspark",),
}

Progress = Callable[[str, int, int], None]  # what runs now, how many parts of it are done, of how many


def silent(what: str, done: int, of: int) -> None:
    """Show no progress."""


@dataclass(frozen=True)
class Settings:
    """What is reproduced."""

    weights: Path  # the folder of target.safetensors and the drafters
    prompts: int = 100  # of each domain
    seeds: tuple[int, ...] = (0, 1, 2)  # of the training
    only: tuple[str, ...] = EXPERIMENTS
    max_new_tokens: int = 128  # of a text
    concurrency: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)  # R, requests at a time
    served_seconds: float = 6.0  # so long each way of choosing verify lengths is measured for each R

    def __post_init__(self) -> None:
        whole_number("prompts", self.prompts, low=2)  # a half to fit temperatures on, a half to test them
        whole_number("max_new_tokens", self.max_new_tokens, low=1)
        number("served_seconds", self.served_seconds, low=0.0)
        for index, count in enumerate(self.concurrency):
            whole_number(f"concurrency[{index}]", count, low=1)
        if not self.seeds:
            raise ValueError("seeds is empty: it needs at least one.")
        for index, name in enumerate(self.only):
            if name not in EXPERIMENTS:
                raise ValueError(f"only[{index}] is {name!r}; it must be one of {', '.join(EXPERIMENTS)}.")

    def needs(self, experiment: str) -> list[str]:
        """Return the names of the drafters that an experiment compares."""
        if experiment == "table_1":
            return [seeded(name, seed) for name in COMPARED for seed in self.seeds]
        return list(NEEDS[experiment])

    def file(self, name: str) -> Path:
        """Return the weight file of a name."""
        return self.weights / f"{name}.safetensors"

    def has(self, name: str) -> bool:
        """Say whether there are weights of a name."""
        return self.file(name).is_file()

    def fingerprint(self, name: str) -> str | None:
        """Return what tells these weights from others of the same name; None where there are none."""
        return hashlib.sha256(self.file(name).read_bytes()).hexdigest()[:12] if self.has(name) else None


def seeded(name: str, seed: int) -> str:
    """Return the name of a drafter that was trained from a seed."""
    return name if seed == 0 else f"{name}-s{seed}"
