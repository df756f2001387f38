"""Replays recorded greedy texts under a policy: exact and repeatable, since costs come from a table and no model runs.

A recording holds, for every position of a text, the drafts of a chain and of a tree: the chance of each to survive, and
which of them the target accepts. The text is the target's own, whatever a policy decides; only the time differs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from dspark_mini.kinds import whole
from dspark_mini.language import N_

Floats = NDArray[np.float64]
View = dict[str, Any]  # the arguments of plan_round, in their order
Plan = dict[str, int]
PolicyBatch = Callable[[list[View]], Sequence[Any]]  # answers many calls at once

PRACTICE = Path(__file__).parent / "recordings" / "practice.safetensors"
LONGEST = {1: 7, 2: 14}  # the most drafts of a block, by width: a chain, or a tree of two children per node
PLAIN: Plan = {"verify_length": 0, "block_size": 0, "width": 1}


@dataclass(frozen=True)
class Costs:
    """What a round costs on one machine, in times of a plain decoding step."""

    draft_times: Floats  # (15,) by the number of drafted tokens; nothing is free but 0
    verify_times: Floats  # (15,) by the number ℓ of verified drafts; entry 0 is a plain step


def _costs(forward: float, token: float, row: float) -> Costs:
    drafts = np.arange(max(LONGEST.values()) + 1)
    draft_times = np.where(drafts > 0, forward + token * drafts, 0.0)
    return Costs(np.asarray(draft_times, np.float64), np.asarray(1.0 + row * drafts, np.float64))


COSTS = {
    N_("laptop"): _costs(forward=0.4, token=0.025, row=0.08),
    N_("idle GPU"): _costs(forward=0.15, token=0.01, row=0.01),  # the weights must be read anyway: rows are almost free
    N_("busy GPU"): _costs(forward=0.3, token=0.02, row=0.5),  # every row takes the place of another request's
}


@dataclass(frozen=True)
class Drafts:
    """The drafts after every position of a text, in the order in which a verify length takes them."""

    survivals: Floats  # (n, γ) the drafter's own estimate, falling along each row
    accepted: NDArray[np.int64]  # (n, γ + 1) accepted drafts by verify length

    @staticmethod
    def read(survivals: NDArray[Any], path_bits: NDArray[Any]) -> Drafts:
        """Decode a recording: survivals in thousandths, and one bit per draft that lies on the accepted path."""
        on_path = path_bits[:, None] >> np.arange(survivals.shape[1]) & 1  # (n, γ)
        return Drafts(survivals / 1000.0, np.pad(on_path.cumsum(axis=1), ((0, 0), (1, 0))))


@dataclass(frozen=True)
class Recording:
    """One greedy text, and what can be drafted at each of its positions."""

    domain: str
    prompt: list[int]
    tokens: list[int]  # the text
    drafts: dict[int, Drafts]  # by width


@dataclass(frozen=True)
class Recordings:
    """Some texts, and the speed of the reference policy on them by cost table."""

    texts: list[Recording]
    reference: dict[str, float]


@cache
def load_recordings(path: Path = PRACTICE) -> Recordings:
    """Read a file of recordings; by default the practice texts."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["dspark_mini"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    texts, start = [], 0
    for domain, prompt, size in zip(header["domains"], header["prompts"], header["sizes"], strict=True):
        rows = slice(start, start := start + size)
        chain = Drafts.read(arrays["chain_survivals"][rows], arrays["chain_paths"][rows].astype(np.int64))
        tree = Drafts.read(arrays["tree_survivals"][rows], arrays["tree_paths"][rows].astype(np.int64))
        texts.append(Recording(domain, prompt, arrays["tokens"][rows].tolist(), {1: chain, 2: tree}))
    return Recordings(texts, header["reference"])


@dataclass
class Replay:
    """One text under a policy, on one machine: what has happened so far."""

    text: Recording
    costs: Costs
    plan: Plan = field(default_factory=lambda: dict(PLAIN))  # what the round before ordered
    position: int = 0  # tokens committed
    time: float = 0.0
    drafted: list[int] = field(default_factory=list)
    verified: list[int] = field(default_factory=list)
    accepted: list[int] = field(default_factory=list)
    expected: list[float] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        """Whether the whole text is there."""
        return self.position == len(self.text.tokens)

    @property
    def survivals(self) -> Floats:
        """The survivals of the drafts that wait for this round's decision."""
        return self.text.drafts[self.plan["width"]].survivals[self.position, : self.plan["block_size"]]

    def view(self) -> View:
        """What a policy sees, in plain data that is safe to change."""
        return {
            "survivals": self.survivals.copy(),
            "drafted": list(self.drafted),
            "verified": list(self.verified),
            "accepted": list(self.accepted),
            "expected": np.array(self.expected),
            "draft_times": self.costs.draft_times.copy(),
            "verify_times": self.costs.verify_times.copy(),
        }

    def play(self, plan: Plan) -> None:
        """Play one round: pay for its drafts, verify as many as the plan says, and commit what the target says."""
        length, drafted = plan["verify_length"], self.plan["block_size"]
        accepted = int(self.text.drafts[self.plan["width"]].accepted[self.position, length])
        self.time += float(self.costs.draft_times[drafted] + self.costs.verify_times[length])
        self.drafted.append(drafted)
        self.verified.append(length)
        self.accepted.append(accepted)
        self.expected.append(float(self.survivals[:length].sum()))
        self.position = min(self.position + accepted + 1, len(self.text.tokens))
        self.plan = plan


def checked_plan(result: Any, drafts: int) -> Plan:
    """Return a policy's plan in plain ints.

    Args:
        result: What the policy returned.
        drafts: How many drafts wait to be verified.

    Raises:
        ValueError: The plan is not allowed; the message says why.
    """
    if not isinstance(result, dict) or set(result) != set(PLAIN):
        raise ValueError(f"A plan is a dict with the keys {', '.join(PLAIN)}.")
    width = whole("width", result["width"], 1, 2)
    length = whole("verify_length", result["verify_length"], 0, drafts)
    return {
        "verify_length": length,
        "block_size": whole("block_size", result["block_size"], 0, LONGEST[width]),
        "width": width,
    }


class Refused(NamedTuple):
    """A plan that is not allowed: what the policy saw and returned, and why it was refused."""

    view: View
    result: Any
    why: str


def replay_all(policy: PolicyBatch, replays: Sequence[Replay]) -> Iterator[Refused]:
    """Play texts to their ends, all of them one round at a time.

    Args:
        policy: Answers a list of views, one per text that goes on.
        replays: Fresh ones; they are played in place.

    Yields:
        Every plan that is not allowed; plain decoding takes its place.
    """
    while going := [replay for replay in replays if not replay.ended]:
        views = [replay.view() for replay in going]
        for replay, view, result in zip(going, views, policy(views)):
            try:
                plan = checked_plan(result, len(replay.survivals))
            except ValueError as error:
                yield Refused(view, result, str(error))
                plan = dict(PLAIN)
            replay.play(plan)


def speeds(policy: Callable[..., Any], recordings: Recordings) -> dict[str, float]:
    """Measure a policy in this process: its speed on each machine, in times of plain decoding.

    Args:
        policy: A function with the arguments of `plan_round`.
        recordings: The texts.

    Raises:
        ValueError: A plan was not allowed.
    """
    replays = all_replays(recordings)
    for refused in replay_all(lambda views: [policy(*view.values()) for view in views], replays):
        raise ValueError(refused.why)
    return speeds_of(replays)


def all_replays(recordings: Recordings) -> list[Replay]:
    """Return a fresh replay of every text on every machine."""
    return [Replay(text, costs) for costs in COSTS.values() for text in recordings.texts]


def speeds_of(replays: Sequence[Replay]) -> dict[str, float]:
    """Return the speed of finished replays by machine, in times of plain decoding: tokens per plain step."""
    by_machine = {name: [r for r in replays if r.costs is costs] for name, costs in COSTS.items()}
    return {
        name: sum(len(r.text.tokens) for r in some) / sum(r.time for r in some) for name, some in by_machine.items()
    }


def scores(speeds: Mapping[str, float], reference: Mapping[str, float]) -> dict[str, float]:
    """Score speeds by machine: 0 is plain decoding, 100 the reference; what is slower than plain counts below 0."""
    return {name: 100.0 * (speeds[name] - 1.0) / (reference[name] - 1.0) for name in reference}


def total_score(by_machine: Mapping[str, float]) -> float:
    """Return the mean of the scores by machine, at least 0."""
    return max(0.0, sum(by_machine.values()) / len(by_machine))


# --- Policies to compare with -----------------------------------------------------------------------------------------


def fixed(block_size: int, width: int = 1) -> Callable[..., Plan]:
    """The policy that drafts and verifies the same number of tokens in every round."""
    return lambda survivals, *_: {"verify_length": len(survivals), "block_size": block_size, "width": width}


def threshold(lowest: float) -> Callable[..., Plan]:
    """The policy that drafts a chain of seven, and verifies the drafts whose survival is high enough."""
    return lambda survivals, *_: {"verify_length": int((survivals >= lowest).sum()), "block_size": 7, "width": 1}


def scheduler(survivals: Floats, *others: Any) -> Plan:
    """DSpark's scheduler for a single request: verify one draft more while that raises the tokens per time."""
    verify_times = others[-1]
    theta = np.cumsum([1.0, *survivals]) / verify_times[: len(survivals) + 1]
    falls = np.append(theta[1:] <= theta[:-1], True)
    return {"verify_length": int(falls.argmax()), "block_size": 7, "width": 1}


def oracle_speeds(recordings: Recordings) -> dict[str, float]:
    """Return the best speeds that any policy can have, which knows what will be accepted."""
    tokens = sum(len(text.tokens) for text in recordings.texts)
    return {name: tokens / sum(_least_time(text, costs) for text in recordings.texts) for name, costs in COSTS.items()}


def _least_time(text: Recording, costs: Costs) -> float:
    """Find the shortest time for a text, from its end backwards; drafts that are not accepted are never verified."""
    left = np.zeros(len(text.tokens) + 1)  # the least time from each position on
    for t in reversed(range(len(text.tokens))):
        options = [costs.verify_times[0] + left[t + 1]]
        for drafts in text.drafts.values() if t else ():  # nothing has been drafted for the first round
            for size in range(1, drafts.survivals.shape[1] + 1):
                after = min(t + int(drafts.accepted[t, size]) + 1, len(text.tokens))
                options.append(costs.draft_times[size] + costs.verify_times[size] + left[after])
        left[t] = min(options)
    return float(left[0])


BASELINES: dict[str, Callable[..., Plan]] = {
    "plain": fixed(0),
    N_("fixed 1"): fixed(1),
    N_("fixed 4"): fixed(4),
    N_("fixed 7"): fixed(7),
    N_("threshold"): threshold(0.3),
    N_("scheduler"): scheduler,
}
