"""Which experiments run, on which weights, and with which settings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dspark_mini.appendix.plan import DEPTHS, SEEDS, block_name, layers_name, seed_name
from dspark_mini.kinds import number, whole

EXPERIMENTS = (
    *("table_1", "figure_2", "figure_3", "figure_4", "figure_5", "figure_6", "figure_7_8"),
    *("trees", "training", "step"),
)
FORMAT = 3  # of the results; those of another one are measured again
HEADS = ("dspark", "dspark-gated", "dspark-rnn", "domino")
COMPARED = ("autoregressive", "dflash", "dflash-ce", *HEADS)  # the drafters of Table 1
PAIR = ("dflash", "dspark")  # those of Figures 3 and 4
DRAFTERS = {  # those of the figures
    "figure_2": ("autoregressive", *PAIR, "dspark-rnn", "domino"),
    "figure_3": tuple(layers_name(kind, layers) for kind in PAIR for layers in DEPTHS),
    "figure_4": tuple(map(block_name, PAIR)),
    "figure_5": ("dspark", block_name("dspark")),
    "figure_6": ("dspark",),
    "figure_7_8": ("dspark",),
    "trees": ("dspark",),
    "training": (),
    "step": (),
}


@dataclass(frozen=True)
class Settings:
    """Settings of the experiments."""

    weights: Path  # directory with target.safetensors and the drafters
    prompts: int = 100  # per domain
    seeds: tuple[int, ...] = SEEDS  # training seeds
    only: tuple[str, ...] = EXPERIMENTS
    max_new_tokens: int = 128  # per text
    concurrency: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64)  # requests decoded together, R
    served_seconds: float = 6.0  # spent on each way to choose verify lengths, for each R
    device: str = "cpu"  # that serves; recordings are made in NumPy

    def __post_init__(self) -> None:
        whole("prompts", self.prompts, low=2)  # one half fits temperatures, the other tests them
        whole("max_new_tokens", self.max_new_tokens, low=1)
        number(low=0.0)("served_seconds", self.served_seconds, {})
        for index, count in enumerate(self.concurrency):
            whole(f"concurrency[{index}]", count, low=1)
        if not self.seeds:
            raise ValueError("seeds is empty; it needs at least one.")
        for index, name in enumerate(self.only):
            if name not in EXPERIMENTS:
                raise ValueError(f"only[{index}] is {name!r}; it must be one of {', '.join(EXPERIMENTS)}.")

    def drafters(self, experiment: str) -> list[str]:
        """Return the names of the drafters that an experiment compares."""
        if experiment == "table_1":
            return [seed_name(name, seed) for name in COMPARED for seed in self.seeds]
        return list(DRAFTERS[experiment])

    def file(self, name: str) -> Path:
        """Return the weight file of a model."""
        return self.weights / f"{name}.safetensors"

    def has(self, name: str) -> bool:
        """Tell whether a model has a weight file."""
        return self.file(name).is_file()

    def weights_hash(self, name: str) -> str | None:
        """Return a short hash of a model's weight file, or None if there is no such file."""
        return hashlib.sha256(self.file(name).read_bytes()).hexdigest()[:12] if self.has(name) else None

    def provenance(self, experiment: str) -> dict[str, Any]:
        """Return everything an experiment's results depend on; if any of it changes, it runs again."""
        out: dict[str, Any] = {
            "format": FORMAT,
            "prompts_of_a_domain": self.prompts,
            "max_new_tokens": self.max_new_tokens,
            "weights": {name: self.weights_hash(name) for name in ("target", *self.drafters(experiment))},
        }
        if experiment == "table_1":
            out["training_seeds"] = list(self.seeds)
        if experiment == "figure_7_8":
            out |= {"concurrency": list(self.concurrency), "served_seconds": self.served_seconds, "device": self.device}
        if experiment == "training":
            out["records"] = sorted(path.name for path in self.weights.glob("*.training.json"))
        return out
