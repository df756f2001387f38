"""The race's measuring: who races, what counts in the statistics, and what the runs say of each other."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dspark_mini.drafts import Logits
from dspark_mini.engine import Round
from dspark_mini.race import BLOCK, Rules, Run, acceptance_by_position, run_laps, summarise, verify_ratio
from dspark_mini.toy import ToyAutoregressiveDrafter, ToyDrafter, ToyTarget
from dspark_mini.trace import PARTS

PROMPTS = [[1, 2], [3, 4], [5, 1]]


class WobblyTarget(ToyTarget):
    """A target whose rows depend on how many tokens a forward has, as a faulty kernel's do."""

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


def race(rules: Rules, target_class: type[ToyTarget] = ToyTarget) -> list[Run]:
    model = toy_model(target_class)
    laps = [run_laps(model, prompt, rules, [i]) for i, prompt in enumerate(PROMPTS)]
    return summarise(model, "toy", PROMPTS, laps, rules)


def cut_round(accepted: int, emitted: int) -> Round:
    return Round(drafted=[1, 2, 3], verified=3, accepted=accepted, emitted=[1] * emitted)


def test_positions_behind_a_cut_say_nothing() -> None:
    rounds = [cut_round(2, 3), cut_round(3, 4), cut_round(3, 2)]  # the last one ends with its second draft
    assert acceptance_by_position(rounds, 3) == [1.0, 1.0, 0.5]


def test_a_text_that_ends_with_the_targets_own_token_counts_its_rejection() -> None:
    assert acceptance_by_position([cut_round(1, 2), cut_round(3, 4)], 3) == [1.0, 0.5, 1.0]


def test_a_position_that_no_round_reached_is_unknown_and_plain_rounds_say_nothing() -> None:
    rates = acceptance_by_position([cut_round(0, 1), Round(emitted=[4])], 3)
    assert rates[0] == 0.0 and all(math.isnan(rate) for rate in rates[1:])


def test_plain_decoding_races_first_whoever_was_named() -> None:
    assert Rules(("dspark-tree", "dspark", "dflash")).order == ("plain", "dflash", "dspark", "dspark-tree")
    assert Rules(("plain",)).order == ("plain",)


@pytest.mark.parametrize("wrong", [{"methods": ("eagle",)}, {"temperature": -1.0}, {"tokens": 0}])
def test_rules_that_cannot_be_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong)).removesuffix("s")):
        Rules(**wrong)


def test_greedy_texts_are_identical_to_plain_decodings() -> None:
    runs = race(Rules(("autoregressive", "dflash", "dspark", "dspark-tree"), temperature=0.0, tokens=30))
    assert [run["identical"] for run in runs] == [None, True, True, True, True]
    assert runs[3]["mismatches"] == [] and runs[3]["tau"] > runs[0]["tau"] == 1.0


def test_a_greedy_mismatch_is_reported_with_the_gap_between_the_two_best_logits() -> None:
    runs = race(Rules(("dspark",), temperature=0.0, tokens=30), WobblyTarget)
    assert runs[1]["identical"] is False
    first = runs[1]["mismatches"][0]
    assert first["prompt"] == 0 and first["position"] == 0 and first["gap"] > 0.0


def test_above_temperature_0_identity_does_not_apply() -> None:
    assert {run["identical"] for run in race(Rules(tokens=30))} == {None}


def test_speed_up_is_against_plain_decoding_of_the_same_run() -> None:
    plain, *others = race(Rules(tokens=40))
    assert plain["speedup"] == 1.0 and plain["conditional_acceptance"] is None
    for run in others:
        assert run["speedup"] == pytest.approx(run["tokens_per_second"] / plain["tokens_per_second"])
        spent = run["round_seconds"]
        expected = run["tau"] * plain["round_seconds"]["verify"] / sum(spent[part] for part in PARTS[:3])
        assert run["expected_speedup"] == pytest.approx(expected)
        assert len(run["conditional_acceptance"]) == BLOCK
        assert sum(run["shares"].values()) == pytest.approx(1.0) and set(run["shares"]) == set(PARTS)


def test_the_runs_are_plain_data_without_nan() -> None:
    runs = race(Rules(tokens=3))
    assert json.loads(json.dumps(runs, allow_nan=False)) == runs
    assert all(run["prompts"] == len(PROMPTS) for run in runs)


def test_equal_seeds_make_equal_texts_and_others_do_not() -> None:
    def texts(seed: int) -> list[list[int]]:
        laps = run_laps(toy_model(), [1, 2], Rules(tokens=40, seed=seed), [0])
        return [lap.trace.output for lap in laps.values()]

    assert texts(1) == texts(1) != texts(2)


def test_the_wall_clock_of_a_lap_holds_that_of_its_rounds() -> None:
    for lap in run_laps(toy_model(), [1, 2], Rules(tokens=40), [0]).values():
        assert lap.seconds >= sum(sum(this.seconds.values()) for this in lap.trace.rounds) > 0.0


def test_the_verify_ratio_compares_medians_and_leaves_the_cache_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model, now = toy_model(), [0.0]
    forward = model.target.forward

    def slow_forward(tokens: Sequence[int], parents: Sequence[int] | None = None) -> Logits:
        now[0] += 1.0 + 0.25 * (len(tokens) - 1)
        rows: Logits = forward(tokens, parents)
        return rows

    model.target.forward = slow_forward
    monkeypatch.setattr("dspark_mini.race.time.perf_counter", lambda: now[0])
    assert verify_ratio(model, [1, 2, 3], repeats=5) == pytest.approx(1.0 + 0.25 * BLOCK)
    assert model.target.cache.rows == 3 and np.array_equal(model.target.cache.tokens, [1, 2, 3])
