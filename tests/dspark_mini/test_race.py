"""What the race measures: methods, acceptance, speed-ups, mismatches."""

import json
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dspark_mini.drafts import Logits
from dspark_mini.engine import Round, generate
from dspark_mini.live_policy import LivePolicy
from dspark_mini.lm import load
from dspark_mini.race import (
    BLOCK_SIZE,
    FEWEST_PROMPTS,
    MOST_PROMPTS,
    TREES,
    Run,
    acceptance_by_position,
    enough,
    summarise,
    time_methods,
    verify_ratio,
)
from dspark_mini.race_options import RaceOptions
from dspark_mini.replay import COSTS, Replay, fixed, load_recordings, replay_all
from dspark_mini.toy import ToyAutoregressiveDrafter, ToyDrafter, ToyTarget
from dspark_mini.trace import PARTS

PROMPTS = [[1, 2], [3, 4], [5, 1]]


class WobblyTarget(ToyTarget):
    """A target whose logits depend on the number of tokens in a forward, as a faulty kernel's do."""

    def forward(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> Logits:
        rows = super().forward(tokens, parents)
        return rows if len(tokens) == 1 else -rows


def toy_model(target_class: type[ToyTarget] = ToyTarget) -> Any:
    target = target_class.random(8, seed=3)
    drafters = {
        "autoregressive": ToyAutoregressiveDrafter(target.table, 0.5, 1),
        "dflash": ToyDrafter(target.table, 0.5, 1, markov=False),
        "dspark": ToyDrafter(target.table, 0.5, 1),
    }

    def clear() -> None:
        for cache in (target.cache, *(drafter.cache for drafter in drafters.values())):
            cache.drop(cache.rows)

    return SimpleNamespace(target=target, drafters=drafters, tokenizer=SimpleNamespace(end=0), clear=clear)


def race(options: RaceOptions, target_class: type[ToyTarget] = ToyTarget) -> list[Run]:
    model = toy_model(target_class)
    texts = [time_methods(model, prompt, options, [i]) for i, prompt in enumerate(PROMPTS)]
    return summarise(model, "toy", PROMPTS, texts, options)


def three_drafts(accepted: int, emitted: int) -> Round:
    return Round(drafted=[1, 2, 3], verified=3, accepted=accepted, emitted=[1] * emitted)


def test_acceptance_by_position_ignores_what_follows_the_end_of_a_text() -> None:
    ends_after_two = [three_drafts(2, 3), three_drafts(3, 4), three_drafts(3, 2)]
    assert acceptance_by_position(ends_after_two, 3) == [1.0, 1.0, 0.5]
    ends_with_the_targets_token = [three_drafts(1, 2), three_drafts(3, 4)]
    assert acceptance_by_position(ends_with_the_targets_token, 3) == [1.0, 0.5, 1.0]
    first, *unreached = acceptance_by_position([three_drafts(0, 1), Round(emitted=[4])], 3)
    assert first == 0.0 and all(math.isnan(rate) for rate in unreached)
    accepted = Round(drafted=[1], verified=1, accepted=1, emitted=[1, 1])  # a shorter block decides nothing after it
    rejected = Round(drafted=[1, 2], verified=2, accepted=1, emitted=[1, 1])
    assert acceptance_by_position([accepted, rejected, three_drafts(3, 4)], 3) == [1.0, 0.5, 1.0]


@pytest.mark.parametrize(("target", "identical"), [(ToyTarget, True), (WobblyTarget, False)])
def test_greedy_texts_are_compared_with_plain_decoding(target: type[ToyTarget], identical: bool) -> None:
    methods = ("autoregressive", "dflash", "dspark", "dspark-tree")
    plain, *others = race(RaceOptions(methods, temperature=0.0, max_new_tokens=30), target)
    assert plain["identical"] is None and plain["tau"] == 1.0
    for run in others:
        assert run["identical"] is identical is not bool(run["mismatches"])
        for mismatch in run["mismatches"]:
            assert mismatch["prompt"] in range(3) and mismatch["position"] == 0 and mismatch["gap"] > 0.0
    assert not identical or others[2]["tau"] > 1.0


def test_speed_ups_are_relative_to_plain_decoding_and_all_figures_are_json() -> None:
    plain, *others = runs = race(RaceOptions(max_new_tokens=40))
    assert json.loads(json.dumps(runs, allow_nan=False)) == runs
    assert plain["speedup"] == 1.0 and plain["conditional_acceptance"] is None
    for run in others:
        assert run["identical"] is None and run["prompts"] == len(PROMPTS)  # texts differ above temperature 0
        assert run["speedup"] == pytest.approx(run["tokens_per_second"] / plain["tokens_per_second"])
        assert 0.0 < run["speedup_error"] < math.inf
        seconds = run["round_seconds"]
        expected = run["tau"] * plain["round_seconds"]["verify"] / sum(seconds[part] for part in PARTS[:3])
        assert run["expected_speedup"] == pytest.approx(expected)
        assert len(run["conditional_acceptance"]) == BLOCK_SIZE
        assert sum(run["shares"].values()) == pytest.approx(1.0) and set(run["shares"]) == set(PARTS)


def test_a_single_prompt_has_no_interval_and_without_a_number_prompts_run_as_long_as_time_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [time_methods(toy_model(), [1, 2], RaceOptions(max_new_tokens=9), [0])]
    assert {run["speedup_error"] for run in summarise(toy_model(), "toy", [[1, 2]], texts, RaceOptions())} == {None}
    monkeypatch.setattr("dspark_mini.race.time.monotonic", lambda: 5.0)
    asked, open_ = RaceOptions(prompts=2), RaceOptions()
    assert [enough(count, asked, deadline) for count, deadline in ((1, 0.0), (2, 9.0))] == [False, True]
    assert [enough(count, open_, 4.0) for count in (1, FEWEST_PROMPTS - 1, FEWEST_PROMPTS)] == [False, False, True]
    assert [enough(count, open_, 6.0) for count in (FEWEST_PROMPTS, MOST_PROMPTS)] == [False, True]


def test_equal_seeds_give_equal_texts_and_a_text_takes_as_long_as_its_rounds() -> None:
    def outputs(seed: int) -> list[list[int]]:
        texts = time_methods(toy_model(), [1, 2], RaceOptions(max_new_tokens=40, seed=seed), [0]).values()
        for text in texts:
            assert text.duration == sum(sum(round_.seconds.values()) for round_ in text.rounds) > 0.0
        return [text.output for text in texts]

    assert outputs(1) == outputs(1) != outputs(2)


def test_the_verify_ratio_compares_medians_and_leaves_the_cache_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model, now = toy_model(), [0.0]
    forward = model.target.forward

    def slow_forward(tokens: Sequence[int], parents: Sequence[int] | None = None) -> Logits:
        now[0] += 1.0 + 0.25 * (len(tokens) - 1)
        rows: Logits = forward(tokens, parents)
        return rows

    model.target.forward = slow_forward
    monkeypatch.setattr("dspark_mini.race.time.process_time", lambda: now[0])
    assert verify_ratio(model, [1, 2, 3]) == pytest.approx(1.0 + 0.25 * BLOCK_SIZE)
    assert model.target.cache.rows == 3 and np.array_equal(model.target.cache.tokens, [1, 2, 3])


@pytest.mark.parametrize("block_size, width", [(5, 1), (9, 2), (0, 1)])
def test_a_policy_runs_live_as_it_is_replayed(block_size: int, width: int) -> None:
    model, text, policy = load(drafters=("dspark",)), load_recordings().texts[0], fixed(block_size, width)
    drafter = model.drafters["dspark"]
    live = LivePolicy(policy, drafter, COSTS["laptop"])
    trace = generate(model.target, drafter, text.prompt, len(text.tokens), steps=live.steps(TREES))
    replay = Replay(text, COSTS["laptop"])
    assert not list(replay_all(lambda views: [policy(*view.values()) for view in views], [replay]))
    assert trace.output == text.tokens
    inside = slice(10)  # rounds; at the end of the text the engine drafts no further than that
    assert trace.counts["accepted"][inside] == replay.accepted[inside]
    assert live.drafted[inside] == replay.drafted[inside] and live.verified[inside] == replay.verified[inside]
