"""Making recordings: the engine runs over many prompts, and notes what the target says of every draft."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dspark_mini.appendix.evidence.recording import Recording
from dspark_mini.appendix.evidence.settings import Settings
from dspark_mini.corpus import DOMAINS
from dspark_mini.drafters import AutoregressiveDrafter, BlockDrafter
from dspark_mini.engine import Steps, generate
from dspark_mini.files import whole
from dspark_mini.lm import SmallLM, load, prompts
from dspark_mini.trace import PARTS, Round, Trace
from dspark_mini.verification import verify_greedy, verify_sampling


@dataclass
class Judge:
    """The verification steps of the engine, noting what the target says of every draft."""

    chances: list[NDArray[np.float64]] = field(default_factory=list)  # (γ,) each

    def sampling(self, drafts: Sequence[int], q: Any, p: Any, rng: np.random.Generator) -> dict[str, Any]:
        """Verify by sampling; a chance is Σ min(q, p)."""
        self.chances.append(np.minimum(q, p[: len(q)]).sum(axis=1))
        return verify_sampling(drafts, q, p, rng)

    def greedy(self, drafts: Sequence[int], logits: Any) -> dict[str, Any]:
        """Verify greedily; a chance is 1 or 0."""
        self.chances.append((logits[:-1].argmax(axis=1) == drafts).astype(np.float64))
        return verify_greedy(drafts, logits)


def record(
    model: SmallLM, drafter: str, texts: Sequence[Sequence[int]], temperature: float, block_size: int, cap: int
) -> Recording:
    """Generate a text behind each prompt, whole blocks verified.

    Args:
        model: target and drafters.
        drafter: the name of the drafter.
        texts: the prompts' token ids.
        temperature: of target and drafter.
        block_size: γ.
        cap: the most tokens of a text.

    Returns:
        All rounds.
    """
    judge, traces = Judge(), list[Trace]()
    steps = replace(
        Steps(),
        verify_sampling=judge.sampling,
        verify_greedy=judge.greedy,
        block_size=lambda trace: block_size,
    )
    for number, prompt in enumerate(texts):
        model.clear()
        rng = np.random.default_rng([number, 5147])
        traces.append(
            generate(model.target, model.drafters[drafter], prompt, cap, [model.tokenizer.end], temperature, rng, steps)
        )
    rounds = [(number, one) for number, trace in enumerate(traces) for one in trace.rounds]
    return _joined(rounds, np.array(judge.chances))


def _joined(rounds: list[tuple[int, Round]], chances: NDArray[np.float64]) -> Recording:
    return Recording(
        prompt=np.array([number for number, _ in rounds]),
        confidences=np.array([one.confidences for _, one in rounds]),
        chances=chances,
        accepted=np.array([one.accepted for _, one in rounds]),
        emitted=np.array([len(one.emitted) for _, one in rounds]),
        seconds=np.array([[one.seconds[part] for part in PARTS] for _, one in rounds]),
    )


class Recorder:
    """Makes recordings, each once; they are kept under names that tell weights and settings apart.

    Args:
        settings: of all experiments.
        folder: where recordings are kept.
        progress: is told what an experiment is at.
    """

    def __init__(self, settings: Settings, folder: Path, progress: Callable[[str], object]) -> None:
        self.settings, self.folder, self.progress = settings, folder, progress

    def by_domain(self, drafter: str, **how: Any) -> dict[str, Recording] | None:
        """Return one recording a domain, or None where there are no weights of the drafter."""
        if not self.settings.has(drafter):
            return None
        return {domain: self.recording(drafter, domain, **how) for domain in DOMAINS}

    def recording(
        self, drafter: str, domain: str, temperature: float = 1.0, block_size: int = 7, headless: bool = False
    ) -> Recording:
        """Return the recording of a drafter on the prompts of a domain.

        Args:
            drafter: the name of its weights.
            domain: math, code or chat.
            temperature: of target and drafter.
            block_size: γ; a drafter that was trained for more drafts the first γ of its block.
            headless: whether the bias of a Markov head is left out.

        Raises:
            ValueError: no such weights, or weights that do not fit.
        """
        settings = self.settings
        marks = [drafter, *["headless"] * headless, domain, f"t{temperature:g}", f"g{block_size}"]
        sizes = [f"p{settings.prompts}", f"m{settings.max_new_tokens}"]
        prints = [settings.fingerprint(name) or "none" for name in ("target", drafter)]
        path = self.folder / ("-".join(marks + sizes + prints) + ".npz")
        if not path.is_file():
            self.progress(f"{' '.join(marks[:-2])}, temperature {temperature:g}, γ = {block_size}")
            model = load(settings.weights, [drafter])
            if headless:
                _take_head(model.drafters[drafter])
            texts = prompts(model.tokenizer, domain, settings.prompts)
            made = record(model, drafter, texts, temperature, block_size, settings.max_new_tokens)
            _keep(path, made)
        with np.load(path) as arrays:
            return Recording(**{name: arrays[name] for name in arrays.files})


def _take_head(drafter: BlockDrafter | AutoregressiveDrafter) -> None:
    """Leave the bias of a block drafter's Markov head out of its chains."""
    if not isinstance(drafter, BlockDrafter) or drafter.draft_head.joint is not None:
        raise ValueError("drafter has no Markov head that can be left out.")
    drafter.bias = drafter.draft_head.bias = {}


def _keep(path: Path, made: Recording) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **{one.name: getattr(made, one.name) for one in fields(made)})
