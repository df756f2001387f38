"""The paper's evidence: measured on made-up rounds whose numbers are known, and run end to end on tiny models."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dspark_mini.appendix.drafters import make_drafter  # noqa: E402
from dspark_mini.appendix.evidence import EXPERIMENTS, Settings, acceptance, confidence, reproduce, serving, sizes  # noqa: E402
from dspark_mini.appendix.evidence.recorder import Recorder  # noqa: E402
from dspark_mini.appendix.evidence.recording import Recording  # noqa: E402
from dspark_mini.appendix.evidence.speeds import Costs, spread_unevenly  # noqa: E402
from dspark_mini.appendix.evidence.statistics import area_under_curve, over_seeds, ratio  # noqa: E402
from dspark_mini.appendix.model import Target  # noqa: E402
from dspark_mini.appendix.training import save_model  # noqa: E402
from dspark_mini.shapes import DrafterShape, TargetShape  # noqa: E402
from dspark_mini.viz.evidence import PICTURES  # noqa: E402
from dspark_mini.words import Tokenizer, collect_words  # noqa: E402


def made_up(rate: float, gamma: int = 7, prompts: int = 30, rounds: int = 20, sharp: float = 1.0) -> Recording:
    """Rounds in which every draft is accepted at about that rate, which its confidence tells (not so if sharp ≠ 1)."""
    rng, size = np.random.default_rng(0), prompts * rounds
    chances = rng.beta(6 * rate, 6 * (1 - rate), (size, gamma))
    accepted = (rng.random((size, gamma)) < chances).cumprod(axis=1).sum(axis=1)
    logits = sharp * np.log(chances / (1 - chances))
    return Recording(
        prompt=np.repeat(np.arange(prompts), rounds),
        confidences=1 / (1 + np.exp(-logits)),
        chances=chances,
        accepted=accepted,
        emitted=accepted + 1,
        seconds=np.tile([1e-3, 2e-3 if rate > 0.75 else 1e-3, 4e-3, 1e-3], (size, 1)),
    )


class MadeUp(Recorder):
    """A recorder that knows the rate of each drafter, and has none of those that are not named."""

    def __init__(self, rates: dict[str, float], sharp: float = 1.0) -> None:
        super().__init__(Settings(Path("nowhere")), Path("nowhere"), print)
        self.rates, self.sharp = rates, sharp

    def by_domain(self, drafter: str, headless: bool = False, block_size: int = 7, **how: Any) -> Any:
        name = drafter + " headless" * headless
        if name not in self.rates:
            return None
        rate = self.rates[name]
        return {
            domain: made_up(rate + more, block_size, sharp=self.sharp)
            for domain, more in (("math", 0.0), ("code", 0.03), ("chat", -0.05))
        }


def test_a_ratio_weighs_prompts_by_their_rounds_and_its_interval_holds_it() -> None:
    rounds = np.array([10.0, 20.0, 30.0] * 20)
    found = ratio(rounds * np.tile([3.0, 4.0, 5.0], 20), rounds)
    assert found["n"] == 60 and found["mean"] == pytest.approx((30 + 80 + 150) / 60)
    assert found["low"] < found["mean"] < found["high"] < found["low"] + 1.0


def test_the_bootstrap_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        found = ratio(rng.normal(2.0, 1.0, 50), np.ones(50), resamples=200)
        hits += found["low"] <= 2.0 <= found["high"]
    assert 0.88 < hits / 200 <= 1.0


def test_three_seeds_have_a_wide_interval_and_one_has_none() -> None:
    found = over_seeds([1.0, 2.0, 3.0])
    assert found["high"] - found["mean"] == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert over_seeds([2.5])["low"] is None and over_seeds([2.5])["mean"] == 2.5


def test_the_area_under_the_curve_counts_pairs_and_weights_count_as_copies() -> None:
    scores, happened = [0.1, 0.4, 0.4, 0.8], [0, 0, 1, 1]
    assert area_under_curve(scores, happened) == pytest.approx(3.5 / 4)
    copied = area_under_curve([0.1, 0.4, 0.4, 0.4, 0.8], [0, 0, 0, 1, 1])
    assert area_under_curve(scores, happened, [1, 2, 1, 1]) == pytest.approx(copied)
    assert np.isnan(area_under_curve([0.5], [1]))


def test_positions_behind_the_end_of_a_text_do_not_count() -> None:
    run = Recording(
        prompt=np.array([0, 0]),
        confidences=np.full((2, 3), 0.5),
        chances=np.ones((2, 3)),
        accepted=np.array([3, 1]),
        emitted=np.array([2, 2]),  # the text ends with the second draft; a correction follows the only accepted one
        seconds=np.ones((2, 4)),
    )
    assert run.usable.tolist() == [2, 3]
    assert acceptance.tau(run) == 2.0
    rates = acceptance.by_position(run)
    assert [one["rounds"] for one in rates] == [2, 2, 0]
    assert [one["mean"] for one in rates] == [1.0, 0.5, None]
    everything = confidence.cut(run, 0.0)
    assert everything["acceptance_rate"]["mean"] == 3 / 5 and everything["rejected"]["mean"] == 1.0


def test_table_1_compares_drafters_of_the_same_seed_and_leaves_missing_ones_out() -> None:
    rates = {"dflash": 0.6, "dflash-s1": 0.62, "dspark": 0.8, "dspark headless": 0.61}
    ours = acceptance.table_1(MadeUp(rates))["ours"]
    assert ours["tau"]["autoregressive"] == {"math": None, "code": None, "chat": None}
    assert ours["tau"]["dflash"]["math"]["over_seeds"]["n"] == 2
    assert list(ours["gain"]["dspark over dflash"]["seeds"]) == ["0"]
    assert ours["gain"]["dspark over dflash"]["over_seeds"]["mean"] > 0.3
    assert abs(ours["gain"]["dspark without its head over dflash"]["over_seeds"]["mean"]) < 0.1
    assert ours["gain"]["dspark over autoregressive"] is None


def test_figure_2_finds_the_rate_of_every_position() -> None:
    rows = acceptance.figure_2(MadeUp({"dspark": 0.8}))["ours"]["conditional_acceptance"]
    assert rows["dflash"] is None
    assert all(abs(one["mean"] - 0.8) < 0.09 and one["low"] < one["mean"] for one in rows["dspark"]["math"])


def test_the_share_of_the_head_is_what_it_takes_beyond_drawing() -> None:
    ours = sizes.figure_4(MadeUp({"dflash-16": 0.6, "dspark-16": 0.8}))["ours"]
    assert ours["share_of_the_head"] == pytest.approx([1 / 8] * len(sizes.LENGTHS))
    assert len(ours["gain"]) == len(ours["block_length"]) and ours["gain"][-1]["mean"] > ours["gain"][0]["mean"]


def test_a_threshold_raises_the_acceptance_rate_and_costs_accepted_tokens() -> None:
    rows = confidence.figure_5(MadeUp({"dspark": 0.8}))["ours"]["by_domain"]["chat"]
    rates, kept = ([one[key]["mean"] for one in rows] for key in ("acceptance_rate", "accepted"))
    assert rates[-1] > rates[0] + 0.2 and kept == sorted(kept, reverse=True)


def test_temperatures_mend_an_overconfident_head_and_leave_an_honest_one() -> None:
    bold = confidence.figure_6(MadeUp({"dspark": 0.8}, sharp=3.0))["ours"]["greedy, a shift"]
    assert bold["before"]["all"]["ece"]["mean"] > 3 * bold["after"]["all"]["ece"]["mean"]
    honest = confidence.figure_6(MadeUp({"dspark": 0.8}))["ours"]["temperature 1, no shift"]
    assert honest["before"]["all"]["ece"]["mean"] < 0.04
    assert 0.6 < honest["before"]["all"]["auc"]["low"] < honest["before"]["all"]["auc"]["high"] < 1.0
    bins = honest["before"]["all"]["bins"]
    assert sum(bins["samples"]) == honest["before"]["all"]["samples"] >= sum(bins["happened"])


def test_the_table_of_speeds_counts_whole_rounds_along_a_line() -> None:
    costs = Costs(2, draft=0.01, batch=(2, 6, 10), verify=(0.02, 0.05, 0.05), rest=0.002)
    table = costs.steps_per_second()
    assert table.size == 11 and np.all(np.diff(table) <= 0)
    assert 1 / table[[2, 4, 6, 10]] == pytest.approx([0.037, 0.0445, 0.052, 0.067])
    falling = Costs(2, draft=0.01, batch=(2, 6), verify=(0.03, 0.02)).steps_per_second()
    assert 1 / falling == pytest.approx(np.full(7, falling[0] ** -1))  # a larger batch is never faster


def test_drafts_are_spread_to_the_last_and_nobody_gets_too_many() -> None:
    lengths = spread_unevenly(17, 4, 5, np.random.default_rng(0))
    assert lengths.sum() == 17 and lengths.max() <= 5 and lengths.shape == (4,)


def test_the_lagged_budget_looks_at_confidences_of_two_rounds_ago() -> None:
    trim = serving.ways_to_trim(1, np.array([0.0, 9.0, 8.9, 8.8]))["lagged budget"]
    assert trim is not None
    hopeful, hopeless = np.array([[0.9, 0.9]]), np.array([[0.001, 0.001]])
    assert [trim(now) for now in (hopeful, hopeless, hopeless, hopeless)] == [[2], [2], [2], [0]]


def test_what_holds_names_the_best_lengths() -> None:
    def row(speeds: dict[str, float]) -> dict[str, Any]:
        return {
            "ways": {
                name: {"tokens_per_second": {"mean": speed, "passes": [speed] * 2}} for name, speed in speeds.items()
            }
        }

    few = {"fixed 1": 1.0, "fixed 3": 2.0, "fixed 5": 3.0, "fixed 7": 4.0, "scheduled": 4.0}
    many = {"fixed 1": 3.0, "fixed 3": 5.0, "fixed 5": 3.0, "fixed 7": 4.0, "scheduled": 6.0}
    found = serving.what_holds([row(few), row(many)])
    assert found["best fixed length"] == ["fixed 7", "fixed 3"] and found["no fixed length is best everywhere"]
    ratios = found["scheduled over the better of fixed 1 and fixed 7"]
    assert [one["mean"] for one in ratios] == [1.0, 1.5] and ratios[0]["n"] == 2


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny random models: a target and one DSpark."""
    folder = tmp_path_factory.mktemp("weights")
    words = collect_words(documents=400)
    shape = TargetShape(len(words), width=16, layers=2, heads=2, kv_heads=1, feed_forward=16, feature_layers=(0, 1))
    torch.manual_seed(0)
    save_model(folder / "target.safetensors", Target(shape), shape, words=Tokenizer(words).words)
    drafted = DrafterShape(layers=1, rank=4)
    save_model(folder / "dspark.safetensors", make_drafter(drafted, shape), drafted)
    return folder


def test_everything_runs_once_and_what_is_missing_is_said(weights: Path, tmp_path: Path) -> None:
    settings = Settings(weights, prompts=2, max_new_tokens=8, concurrency=(2,), served_seconds=0.1)
    told: list[str] = []
    results = reproduce(tmp_path, settings, lambda what, done, of: told.append(what))
    assert list(results) == list(EXPERIMENTS) == list(json.loads((tmp_path / "evidence.json").read_text()))
    assert any("dflash" in sentence for sentence in results["table_1"]["missing"])
    assert results["figure_3"]["ours"]["tau"]["dspark-2"] is None and results["figure_5"]["missing"] == []
    assert {path.stem for path in tmp_path.glob("*.svg")} == {
        "table_1",
        "figure_2",
        "figure_5",
        "figure_6",
        "figure_7_8",
    }
    (tmp_path / "recordings").rename(tmp_path / "elsewhere")
    told.clear()
    some = replace(settings, only=("figure_5", "figure_7_8"))
    again = reproduce(tmp_path, some, lambda what, done, of: told.append(what))
    assert again == results and told == [*some.only, "done"]  # nothing was recorded or served anew


def test_without_its_head_a_drafter_draws_from_other_rows(weights: Path, tmp_path: Path) -> None:
    recorder = Recorder(Settings(weights, prompts=2, max_new_tokens=4), tmp_path, print)
    with_head, without = (recorder.recording("dspark", "chat", headless=headless) for headless in (False, True))
    assert np.abs(with_head.chances[0] - without.chances[0]).min() > 0.0  # the same prompt, the same anchor


def test_a_recording_holds_what_the_target_says_of_every_draft(weights: Path, tmp_path: Path) -> None:
    recorder = Recorder(Settings(weights, prompts=2, max_new_tokens=12), tmp_path, print)
    greedy = recorder.recording("dspark", "math", temperature=0.0, block_size=5)
    assert greedy.block_size == 5 and greedy.chances.shape == greedy.confidences.shape
    assert np.array_equal(greedy.chances.cumprod(axis=1).sum(axis=1), greedy.accepted)
    drawn = recorder.recording("dspark", "math")
    assert np.all((drawn.chances > 0) & (drawn.chances <= 1)) and drawn.by_prompt(drawn.emitted).max() <= 12


def test_other_settings_or_weights_mean_another_run(weights: Path, tmp_path: Path) -> None:
    settings = Settings(weights, prompts=2, max_new_tokens=4, only=("figure_5",))
    first = reproduce(tmp_path, settings)["figure_5"]["settings"]
    more = Settings(weights, prompts=3, max_new_tokens=4, only=("figure_5",))
    found = reproduce(tmp_path, more)["figure_5"]
    assert found["settings"] != first and found["ours"]["by_domain"]["math"][0]["accepted"]["n"] == 3


def test_without_a_target_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="There is no target"):
        reproduce(tmp_path, Settings(tmp_path))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"only": ("table_2",)}, r"only\[0\]"), ({"prompts": 0}, "prompts"), ({"seeds": ()}, "seeds is empty")],
)
def test_bad_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(Path("."), **wrong)


def test_a_results_file_that_is_none_is_refused(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "evidence.json").write_text("not json")
    with pytest.raises(ValueError, match="is no JSON"):
        reproduce(tmp_path, Settings(weights, only=("figure_5",)))


def test_pictures_show_intervals_and_leave_gaps() -> None:
    entry = acceptance.figure_2(MadeUp({"dspark": 0.8, "dflash": 0.6}))
    figure = PICTURES["figure_2"](entry)
    assert figure is not None and len(figure.axes) == 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["dflash", "dspark"]
    assert PICTURES["figure_2"](acceptance.figure_2(MadeUp({}))) is None


def test_table_1_stands_beside_the_papers_means_over_three_sets() -> None:
    figure = PICTURES["table_1"](acceptance.table_1(MadeUp({"dspark": 0.8, "dspark-s1": 0.8, "dflash": 0.6})))
    assert figure is not None
    here, paper = figure.axes
    found = {bars.get_label(): bars.lines[0].get_ydata() for bars in paper.containers}
    assert found["dspark"] == pytest.approx([5.57, 5.12, 3.49], abs=0.005)
    assert [bars.get_label() for bars in here.containers] == ["dflash", "dspark"]


def test_the_server_is_drawn_against_the_scheduler() -> None:
    def way(speed: float) -> dict[str, Any]:
        return {"tokens_per_second": {"mean": speed, "low": speed, "high": speed}, "verified_a_request": {"mean": 2.0}}

    names = [*(f"fixed {length}" for length in serving.FIXED), "scheduled", "lagged budget", "plain"]
    rows = [
        {"requests": count, "ways": {name: way(count * (k + 1)) for k, name in enumerate(names)}} for count in (1, 4)
    ]
    figure = PICTURES["figure_7_8"]({"ours": {"all domains": {"concurrency": rows}}})
    assert figure is not None
    parts = {bars.get_label(): bars.lines[0].get_ydata().tolist() for bars in figure.axes[1].containers}
    assert parts["scheduled"] == [1.0, 1.0] and parts["fixed 1"] == [0.2, 0.2]
    styles = {(bars.lines[0].get_marker(), bars.lines[0].get_linestyle()) for bars in figure.axes[0].containers}
    assert len(styles) == len(names)
