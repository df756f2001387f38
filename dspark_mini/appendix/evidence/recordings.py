"""Recordings: the rounds of many generated texts, kept on disk so that experiments share them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini import engine
from dspark_mini.appendix.evidence.settings import Settings
from dspark_mini.corpus import DOMAINS
from dspark_mini.drafters import BlockDrafter
from dspark_mini.engine import Steps, generate
from dspark_mini.files import atomic_write
from dspark_mini.lm import SmallLM, load, prompts
from dspark_mini.trace import PARTS


@dataclass(frozen=True)
class Recording:
    """N rounds of decoding, in each of which the whole block was verified."""

    prompt: NDArray[np.int64]  # (N,) index of the prompt
    drafted: NDArray[np.int64]  # (N,) drafts in the block: γ, or fewer near the cap of a text
    confidences: NDArray[np.float64]  # (N, γ) c_k, 0 where nothing was drafted
    accepted: NDArray[np.int64]  # (N,) accepted drafts
    emitted: NDArray[np.int64]  # (N,) tokens added to the text; at most `accepted` if it ended among the drafts
    seconds: NDArray[np.float64]  # (N, 4) processor time of each of PARTS

    @property
    def block_size(self) -> int:
        """The block size γ."""
        return int(self.confidences.shape[1])

    @property
    def prompts(self) -> int:
        """The number of prompts."""
        return int(self.prompt.max()) + 1

    @property
    def usable(self) -> NDArray[np.int64]:
        """Drafts of each block that belong to the text; those after its end do not count. (N,)"""
        return np.where(self.emitted <= self.accepted, self.emitted, self.drafted)

    @property
    def rounds(self) -> NDArray[np.float64]:
        """Rounds per prompt. (prompts,)"""
        return self.per_prompt(np.ones(len(self.prompt)))

    def per_prompt(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Sum one value per round over the rounds of each prompt. (prompts,)"""
        return np.bincount(self.prompt, values, self.prompts).astype(np.float64)

    def first(self, counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Mask the first `counts` positions of each block. (N, γ)"""
        return np.arange(self.block_size) < counts[:, None]


Runs = dict[str, Recording]  # one recording per domain


def per_domain(runs: Mapping[str, Recording] | None, measure: Callable[[Recording], Any]) -> dict[str, Any] | None:
    """Measure the recording of each domain; None where the drafter has no weights."""
    return None if runs is None else {domain: measure(run) for domain, run in runs.items()}


def record(
    model: SmallLM,
    drafter: str,
    texts: Sequence[Sequence[int]],
    temperature: float,
    block_size: int,
    max_new_tokens: int,
    **steps: Any,
) -> Recording:
    """Generate a text for each prompt and record its rounds.

    Args:
        model: Target and drafters.
        drafter: Name of the drafter.
        texts: Token ids of each prompt.
        temperature: Temperature of target and drafter.
        block_size: γ.
        max_new_tokens: Most tokens per text.
        steps: Other steps of a round, by name.
    """
    rounds, all_steps = [], Steps(block_size=lambda trace: block_size, **steps)
    for index, prompt in enumerate(texts):
        model.clear()
        rng, end = np.random.default_rng([index, 5147]), [model.tokenizer.end]
        with _processor_time():
            trace = generate(
                model.target, model.drafters[drafter], prompt, max_new_tokens, end, temperature, rng, all_steps
            )
        rounds += [(index, round_) for round_ in trace.rounds]
    confidences = np.zeros((len(rounds), block_size))
    for row, (_, round_) in zip(confidences, rounds):
        row[: len(round_.confidences)] = round_.confidences
    return Recording(
        prompt=np.array([index for index, _ in rounds]),
        drafted=np.array([len(round_.drafted) for _, round_ in rounds]),
        confidences=confidences,
        accepted=np.array([round_.accepted for _, round_ in rounds]),
        emitted=np.array([len(round_.emitted) for _, round_ in rounds]),
        seconds=np.array([[round_.seconds.get(part, 0.0) for part in PARTS] for _, round_ in rounds]),
    )


@contextmanager
def _processor_time() -> Iterator[None]:
    """Time rounds by the processor's clock, which stands still while another program runs."""
    engine.clock, wall = time.process_time, engine.clock
    try:
        yield
    finally:
        engine.clock = wall


class Recorder:
    """Makes each recording once, and keeps it in a file named after weights and settings.

    Args:
        settings: Settings of the experiments.
        folder: Directory for the recordings.
        say: Receives a line before each recording.
    """

    def __init__(self, settings: Settings, folder: Path, say: Callable[[str], object]) -> None:
        self.settings, self.folder, self.say = settings, folder, say

    def by_domain(self, drafter: str, **options: Any) -> Runs | None:
        """Return a recording per domain, or None if the drafter has no weights."""
        if not self.settings.has(drafter):
            return None
        return {domain: self.recording(drafter, domain, **options) for domain in DOMAINS}

    def recording(
        self, drafter: str, domain: str, temperature: float = 1.0, block_size: int = 7, headless: bool = False
    ) -> Recording:
        """Return the recording of a drafter on the prompts of a domain.

        Args:
            drafter: Name of its weight file.
            domain: math, code or chat.
            temperature: Temperature of target and drafter.
            block_size: γ; a drafter trained for longer blocks uses its first γ drafts.
            headless: Whether to draft without the Markov head.

        Raises:
            ValueError: Weights are missing or do not fit.
        """
        settings = self.settings
        name = [drafter, *["headless"] * headless, domain, f"temperature{temperature:g}", f"gamma{block_size}"]
        sizes = [f"{settings.prompts}prompts", f"{settings.max_new_tokens}tokens"]
        hashes = [settings.weights_hash(model) or "none" for model in ("target", drafter)]
        path = self.folder / ("-".join([*name, *sizes, *hashes]) + ".npz")
        if not path.is_file():
            self.say(f"  {' '.join(name)}")
            model = load(settings.weights, [drafter])
            if headless:
                _remove_head(model.drafters[drafter])
            texts = prompts(model.tokenizer, domain, settings.prompts)
            _save(path, record(model, drafter, texts, temperature, block_size, settings.max_new_tokens))
        with np.load(path) as arrays:
            return Recording(**{name: arrays[name] for name in arrays.files})


def _remove_head(drafter: Any) -> None:
    """Let a block drafter choose its tokens without the bias of its Markov head."""
    if not isinstance(drafter, BlockDrafter) or drafter.bias is None:
        raise ValueError("The drafter has no Markov head to remove.")
    drafter.bias = drafter.draft_head.bias = {}


def _save(path: Path, recording: Recording) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **{field.name: getattr(recording, field.name) for field in fields(recording)})
