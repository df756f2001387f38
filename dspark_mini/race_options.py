"""The options of the race, and the methods that there are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dspark_mini.corpus import DOMAINS
from dspark_mini.kinds import GREEDY_BELOW, temperature, whole
from dspark_mini.lm import DRAFTERS
from dspark_mini.race_own import POLICY, Functions

PLAIN_NAME = "plain"
TREE = "dspark-tree"  # DSpark with a tree instead of a chain
METHODS = (PLAIN_NAME, *DRAFTERS, TREE, POLICY)  # policy: DSpark, with chain or tree as lesson 10 decides
SMOLLM = "smollm2"
SMOLLM_DRAFTERS = ("lookup", "dspark", "lookup+dspark")
MODELS = {"small": METHODS, SMOLLM: (PLAIN_NAME, *SMOLLM_DRAFTERS)}  # and the methods of each
DEFAULT_METHODS = ("autoregressive", "dflash", "dspark")
PICTURES = (".png", ".svg")


def defaults(methods: list[str] | None, temperature: float | None, mine: bool) -> tuple[tuple[str, ...], float]:
    """Choose methods and temperature where none are given: the learner's own race is greedy, with the policy."""
    temperature = (0.0 if mine else 1.0) if temperature is None else temperature
    return tuple(methods or [*DEFAULT_METHODS, *([POLICY] if mine and not temperature else [])]), temperature


@dataclass(frozen=True)
class RaceOptions:
    """What to race, where to run it, and which files to write.

    Raises:
        ValueError: A method or domain is unknown, a number is out of range, or a file cannot be written.
    """

    methods: tuple[str, ...] = DEFAULT_METHODS
    temperature: float = 1.0
    max_new_tokens: int = 160
    seed: int = 0
    domains: tuple[str, ...] = DOMAINS
    prompts: int | None = None  # per domain; None: as many as RACE_SECONDS allow
    prompt: str | None = None  # the user's own, instead of the domains'
    backend: str = "numpy"
    device: str = "cpu"
    compiled: bool = False
    functions: Functions | None = None  # the learner's own, by name, in place of the kit's
    json_file: Path | None = None
    picture_file: Path | None = None
    html_file: Path | None = None
    model: str = "small"

    def __post_init__(self) -> None:
        models, methods = tuple(MODELS), MODELS.get(self.model, METHODS)
        chosen = (
            ("model", (self.model,), models),
            ("method", self.methods, methods),
            ("domain", self.domains, DOMAINS),
        )
        for name, values, known in chosen:
            for value in values:
                if value not in known:
                    raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(known)}.")
        temperature()("temperature", self.temperature, {})
        if POLICY in self.methods and not self.greedy:
            raise ValueError(f"temperature is {self.temperature:g}; the method {POLICY!r} needs 0, greedy decoding.")
        whole("max_new_tokens", self.max_new_tokens, low=1)
        for path in filter(None, (self.json_file, self.picture_file, self.html_file)):
            if not path.parent.is_dir():
                raise ValueError(f"{path} cannot be written, because there is no directory {path.parent}.")
            if path.is_dir():
                raise ValueError(f"{path} cannot be written, because it is a directory.")
        if self.picture_file is not None and self.picture_file.suffix.lower() not in PICTURES:
            raise ValueError(f"{self.picture_file} must end in {' or '.join(PICTURES)}.")
        if self.picture_file is not None and len(self.order) == 1:
            raise ValueError("picture shows drafters; name at least one method other than plain.")

    @property
    def greedy(self) -> bool:
        """Whether texts are decoded greedily."""
        return self.temperature < GREEDY_BELOW

    @property
    def order(self) -> tuple[str, ...]:
        """The methods in the order in which they run; plain decoding always runs, as the baseline."""
        return tuple(name for name in MODELS[self.model] if name == PLAIN_NAME or name in self.methods)
