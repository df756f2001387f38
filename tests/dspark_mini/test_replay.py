"""Recorded texts: they are what the model does today, and a replay counts and pays as the engine would."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dspark_mini.engine import Steps, generate
from dspark_mini.lm import SmallLM, load
from dspark_mini.policy import plan_round
from dspark_mini.replay import (
    BASELINES,
    COSTS,
    PRACTICE,
    Replay,
    all_replays,
    checked_plan,
    fixed,
    load_recordings,
    oracle_speeds,
    replay_all,
    scores,
    speeds,
    total_score,
)
from grader.lessons.paths import HIDDEN_TEXTS
from grader.lessons.record_texts import record

FILES = (PRACTICE, HIDDEN_TEXTS)


@pytest.fixture(scope="module")
def model() -> SmallLM:
    return load(drafters=("dspark",))


@pytest.mark.parametrize("path", FILES)
def test_recordings_are_those_of_the_shipped_weights(path: Path, model: SmallLM) -> None:
    for text in load_recordings(path).texts[::10]:
        arrays = record(model, text.prompt)
        assert arrays["tokens"].tolist() == text.tokens
        for width, name in ((1, "chain"), (2, "tree")):
            survivals = arrays[f"{name}_survivals"] / 1000.0
            assert np.abs(survivals - text.drafts[width].survivals).max() < 0.005  # rounding differs between machines


def test_a_replay_accepts_what_the_engine_accepts(model: SmallLM) -> None:
    text = load_recordings().texts[0]
    steps = Steps(block_size=lambda trace: 7 if trace.rounds else 0)  # for its first round a replay has no drafts
    model.clear()
    trace = generate(model.target, model.drafters["dspark"], text.prompt, len(text.tokens), steps=steps)
    replay = Replay(text, COSTS["laptop"])
    assert not list(replay_all(lambda views: [fixed(7)(*view.values()) for view in views], [replay]))
    assert trace.output == text.tokens
    assert replay.accepted[:-1] == trace.counts["accepted"][:-1]  # the engine drafts no further than the text's end


def test_a_round_costs_its_draft_and_its_verification() -> None:
    replay, costs = Replay(load_recordings().texts[0], COSTS["busy GPU"]), COSTS["busy GPU"]
    replay.play({"verify_length": 0, "block_size": 5, "width": 2})
    replay.play({"verify_length": 3, "block_size": 0, "width": 1})
    assert replay.drafted == [0, 5] and replay.verified == [0, 3]
    assert replay.time == costs.verify_times[0] + costs.draft_times[5] + costs.verify_times[3]
    assert replay.position == 1 + replay.accepted[1] + 1


@pytest.mark.parametrize("path", FILES)
def test_policies_rank_as_the_lesson_says(path: Path) -> None:
    recordings = load_recordings(path)
    assert speeds(plan_round, recordings) == pytest.approx(recordings.reference, abs=1e-4)
    policies = {name: scores(speeds(policy, recordings), recordings.reference) for name, policy in BASELINES.items()}
    total = {name: total_score(by_machine) for name, by_machine in policies.items()}
    assert total["plain"] == 0.0 < max(total["fixed 1"], total["fixed 4"], total["fixed 7"]) < total["threshold"]
    assert total["threshold"] < total["scheduler"] < 100.0
    assert policies["fixed 7"]["idle GPU"] > policies["fixed 4"]["idle GPU"]
    assert policies["fixed 7"]["busy GPU"] < policies["fixed 4"]["busy GPU"]
    oracle = scores(oracle_speeds(recordings), recordings.reference)
    assert all(oracle[machine] > max(100.0, *(p[machine] for p in policies.values())) for machine in COSTS)


@pytest.mark.parametrize(
    "plan, why",
    [
        ((1, 2, 3), "dict with the keys"),
        ({"verify_length": 1, "block_size": 2}, "dict with the keys"),
        ({"verify_length": 4, "block_size": 7, "width": 1}, "verify_length .* from 0 to 3, not 4"),
        ({"verify_length": True, "block_size": 7, "width": 1}, "verify_length .* not True"),
        ({"verify_length": 1, "block_size": 8, "width": 1}, "block_size .* from 0 to 7, not 8"),
        ({"verify_length": 1, "block_size": 15, "width": 2}, "block_size .* from 0 to 14, not 15"),
        ({"verify_length": 1, "block_size": 7, "width": 0}, "width .* from 1 to 2, not 0"),
    ],
)
def test_a_plan_that_is_not_allowed_is_refused_in_a_sentence(plan: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        checked_plan(plan, drafts=3)


def test_a_refused_plan_decodes_plainly_and_the_text_comes_to_its_end() -> None:
    replays = all_replays(load_recordings())
    refused = list(replay_all(lambda views: [None] * len(views), replays))
    assert len(refused) == sum(len(replay.text.tokens) for replay in replays)
    assert all(replay.ended and not any(replay.drafted) for replay in replays)
