"""The paper's experiments: on synthetic rounds with known rates, and end to end on tiny models."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dspark_mini.appendix import bench  # noqa: E402
from dspark_mini.appendix.drafters import make_drafter  # noqa: E402
from dspark_mini.appendix.evidence import acceptance, confidence, serving  # noqa: E402
from dspark_mini.appendix.evidence.documents import RESULTS, SECTIONS, updated_text, write_report  # noqa: E402
from dspark_mini.appendix.evidence.experiments import reproduce  # noqa: E402
from dspark_mini.appendix.evidence.recordings import Recorder, Recording  # noqa: E402
from dspark_mini.appendix.evidence.replayed import _oracle, possible_gains  # noqa: E402
from dspark_mini.appendix.evidence.settings import EXPERIMENTS, Settings  # noqa: E402
from dspark_mini.appendix.evidence.statistics import area_under_curve, over_repeats, ratio  # noqa: E402
from dspark_mini.appendix.evidence.step_times import StepTimes, random_lengths  # noqa: E402
from dspark_mini.appendix.evidence.tree_search import best_shapes, rank_chances, widths  # noqa: E402
from dspark_mini.appendix.model import Target  # noqa: E402
from dspark_mini.appendix.training import save_model  # noqa: E402
from dspark_mini.drafts import draw_distinct  # noqa: E402
from dspark_mini.paper import PAPER, percent  # noqa: E402
from dspark_mini.shapes import DrafterShape, TargetShape  # noqa: E402
from dspark_mini.trees import verify_tree_sampling  # noqa: E402
from dspark_mini.viz.evidence import PICTURES  # noqa: E402
from dspark_mini.words import Tokenizer, collect_words  # noqa: E402


def synthetic_rounds(rate: float, block_size: int, sharpness: float, prompts: int = 30, rounds: int = 20) -> Recording:
    """Accept drafts at about a rate that their confidence knows; with sharpness > 1 the confidence is overconfident."""
    rng, size = np.random.default_rng(0), prompts * rounds
    chances = rng.beta(6 * rate, 6 * (1 - rate), (size, block_size))
    accepted = (rng.random((size, block_size)) < chances).cumprod(axis=1).sum(axis=1)
    return Recording(
        prompt=np.repeat(np.arange(prompts), rounds),
        drafted=np.full(size, block_size),
        confidences=1 / (1 + (1 / chances - 1) ** sharpness),
        accepted=accepted,
        emitted=accepted + 1,
        seconds=np.tile([1e-3, 2e-3 if rate > 0.7 else 1e-3, 4e-3, 1e-3], (size, 1)),  # a head costs 1 ms of 8
    )


class SyntheticRecorder(Recorder):
    """Knows the acceptance rate of each drafter; the others have no weights."""

    def __init__(self, rates: dict[str, float], sharpness: float = 1.0) -> None:
        super().__init__(Settings(Path("nowhere")), Path("nowhere"), print)
        self.rates, self.sharpness = rates, sharpness

    def by_domain(self, drafter: str, headless: bool = False, block_size: int = 7, **options: Any) -> Any:
        name = drafter + " headless" * headless
        if name not in self.rates:
            return None
        return {
            domain: synthetic_rounds(self.rates[name] + more, block_size, self.sharpness)
            for domain, more in (("math", 0.0), ("code", 0.03), ("chat", -0.05))
        }


def test_the_bootstrap_interval_covers_the_truth_as_often_as_it_claims() -> None:
    rng = np.random.default_rng(0)
    estimates = [ratio(rng.normal(2.0, 1.0, 50), np.ones(50), resamples=200) for _ in range(200)]
    assert 0.88 < np.mean([estimate["low"] <= 2.0 <= estimate["high"] for estimate in estimates]) < 0.99


def test_a_ratio_weighs_prompts_by_their_rounds() -> None:
    rounds = np.array([10.0, 20.0, 30.0])
    assert ratio(rounds * [3.0, 4.0, 5.0], rounds)["mean"] == pytest.approx((30 + 80 + 150) / 60)
    assert ratio([0.0], [0.0])["mean"] is None


def test_repeats_get_a_student_interval_and_a_single_one_gets_none() -> None:
    estimate = over_repeats([1.0, 2.0, 3.0], "training seeds")
    assert estimate["high"] - estimate["mean"] == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    single = over_repeats([2.5], "training seeds")
    assert single["mean"] == 2.5 and single["low"] is None


def test_the_area_under_the_curve_counts_pairs_and_weights_count_as_copies() -> None:
    scores, happened = [0.1, 0.4, 0.4, 0.8], [0, 0, 1, 1]
    assert area_under_curve(scores, happened, [1, 1, 1, 1]) == pytest.approx(3.5 / 4)
    copied = area_under_curve([0.1, 0.4, 0.4, 0.4, 0.8], [0, 0, 0, 1, 1], np.ones(5))
    assert area_under_curve(scores, happened, [1, 2, 1, 1]) == pytest.approx(copied)
    assert np.isnan(area_under_curve([0.5], [1], [1]))


def test_positions_after_the_end_of_a_text_or_beyond_its_cap_do_not_count() -> None:
    run = Recording(
        prompt=np.array([0, 0, 0]),
        drafted=np.array([3, 3, 1]),  # one token was left under the cap
        confidences=np.array([[0.5, 0.5, 0.5], [0.5, 0.5, 0.5], [0.5, 0.0, 0.0]]),
        accepted=np.array([3, 1, 1]),
        emitted=np.array([2, 2, 2]),  # the first text ends with its second draft
        seconds=np.ones((3, 4)),
    )
    assert run.usable.tolist() == [2, 3, 1]
    assert acceptance.tau(run, np.ones(1)) == 2.0
    rates = acceptance.acceptance_by_position(run)
    assert [(rate["rounds"], rate["mean"]) for rate in rates] == [(3, 1.0), (2, 0.5), (0, None)]
    untrimmed = confidence.trim(run, 0.0)
    assert untrimmed["drafts_accepted"]["mean"] == 4 / 6 and untrimmed["acceptance_rate"]["mean"] == 6 / 10
    assert untrimmed["rejected"]["mean"] == pytest.approx(2 / 3)


def test_table_1_compares_drafters_of_the_same_seed_and_leaves_gaps() -> None:
    rates = {"dflash": 0.6, "dflash-seed-1": 0.62, "dspark": 0.8, "dspark headless": 0.61, "domino": 0.85}
    ours = acceptance.table_1(SyntheticRecorder(rates))
    assert ours["tau"]["autoregressive"] == {"math": None, "code": None, "chat": None}
    assert ours["tau"]["dflash"]["math"]["over_seeds"]["n"] == 2
    assert list(ours["gain"]["dspark over dflash"]["seeds"]) == ["0"]
    assert ours["gain"]["dspark over dflash"]["over_seeds"]["mean"] > 0.3
    assert abs(ours["gain"]["dspark without its head over dflash"]["over_seeds"]["mean"]) < 0.1
    assert ours["gain"]["dspark over autoregressive"] is ours["gain"]["dspark over dflash-ce"] is None
    assert ours["gain"]["domino over dspark"]["seeds"]["0"]["mean"] > 0.03
    times = {"dspark": 1e-3, "dspark-gated": None, "dspark-rnn": None, "domino": 1e-3}
    assert ours["seconds_of_the_head"] == pytest.approx(times)


def test_figure_2_finds_the_rate_of_every_position() -> None:
    rows = acceptance.figure_2(SyntheticRecorder({"dspark": 0.8}))["conditional_acceptance"]
    assert rows["dflash"] is None
    assert all(abs(rate["mean"] - 0.8) < 0.09 and rate["low"] < rate["mean"] for rate in rows["dspark"]["math"])


def test_figure_4_charges_the_head_what_it_takes_beyond_sampling() -> None:
    ours = acceptance.figure_4(SyntheticRecorder({"dflash-block-15": 0.6, "dspark-block-15": 0.8}))
    assert ours["share_of_the_head"] == pytest.approx([1 / 8] * 4)
    assert ours["block_size"] == [3, 7, 11, 15] and ours["gain"][-1]["mean"] > ours["gain"][0]["mean"]


def test_figure_5_trades_accepted_drafts_for_a_higher_acceptance_rate() -> None:
    rows = confidence.figure_5(SyntheticRecorder({"dspark": 0.8}))["by_domain"]["chat"]
    rates, accepted = ([row[key]["mean"] for row in rows] for key in ("acceptance_rate", "accepted"))
    assert rates[0] == pytest.approx((accepted[0] + 1) / 8)  # the bonus counts
    assert rates[-1] > rates[0] + 0.2 and accepted == sorted(accepted, reverse=True)


def test_figure_6_corrects_an_overconfident_head_and_leaves_a_calibrated_one() -> None:
    bold = confidence.figure_6(SyntheticRecorder({"dspark": 0.8}, sharpness=3.0))["greedy, a shift"]
    assert bold["before"]["all"]["ece"]["mean"] > 3 * bold["after"]["all"]["ece"]["mean"]
    calibrated = confidence.figure_6(SyntheticRecorder({"dspark": 0.8}))["temperature 1, no shift"]["before"]["all"]
    assert calibrated["ece"]["mean"] < 0.04
    assert 0.6 < calibrated["auc"]["low"] < calibrated["auc"]["high"] < 1.0
    assert sum(calibrated["bins"]["samples"]) == calibrated["samples"] == 3 * 15 * 20 * 7  # every second prompt


def test_the_table_of_steps_per_second_follows_a_line_that_never_falls() -> None:
    table = StepTimes(draft=0.01, batch=(2, 6, 10), verify=(0.02, 0.05, 0.05), rest=0.002).steps_per_second()
    assert 1 / table[[2, 4, 6, 10]] == pytest.approx([0.037, 0.0445, 0.052, 0.067]) and table.size == 11
    falling = StepTimes(draft=0.01, batch=(2, 6), verify=(0.03, 0.02)).steps_per_second()
    assert np.ptp(falling) < 1e-9
    lengths = random_lengths(17, 4, 5, np.random.default_rng(0))
    assert lengths.sum() == 17 and lengths.max() <= 5 and lengths.shape == (4,)


def test_no_way_to_choose_verify_lengths_gains_more_than_the_oracle() -> None:
    runs = [synthetic_rounds(rate, 7, 1.0) for rate in (0.5, 0.9)]
    free, steep = StepTimes(0.01, (4, 32), (0.02, 0.02)), StepTimes(0.0, (4, 32), (0.03, 0.08))
    late = StepTimes(0.0, (1, 4, 8), (1.0, 1.0, 2.2))  # by itself a round is fastest with 4 rows; both rounds, with all
    assert _oracle(np.array([8, 1]), 1, late) == pytest.approx((9.0, 3.2))
    assert possible_gains(runs, free, 4, (1, 7))["oracle"]["mean"] == pytest.approx(1.0)  # nothing to save
    gains = possible_gains(runs, steep, 4, (1, 3, 5, 7))
    assert gains["oracle"]["mean"] > gains["scheduled"]["mean"] + 0.02 and gains["scheduled"]["low"] > 1.02


def test_the_best_tree_is_found_and_siblings_are_accepted_as_often_as_the_verifier_accepts_them() -> None:
    shapes = best_shapes(np.array([[0.6, 0.2], [0.5, 0.1]]), 4)
    assert [value for value, _ in shapes] == pytest.approx([0.0, 0.6, 0.9, 1.1, 1.2])
    assert [widths(shape) for _, shape in shapes] == [[], [1], [1, 1], [2, 1], [2, 2]]
    p, q, rng = np.array([0.1, 0.2, 0.7]), np.array([0.5, 0.3, 0.2]), np.random.default_rng(0)
    chances = np.mean([rank_chances(p, q, 2, rng) for _ in range(2000)], axis=0)
    q_rows, p_rows, accepted = np.tile(q, (3, 1)), np.tile(p, (3, 1)), np.zeros(2)
    for _ in range(2000):
        path = verify_tree_sampling(draw_distinct(q, 2, rng), [-1, -1], q_rows, p_rows, rng)["path"]
        accepted[path] += 1 / 2000
    assert chances == pytest.approx(accepted, abs=0.05)


def test_the_lagged_budget_uses_confidences_two_rounds_old() -> None:
    trim = serving.ways_to_trim(np.array([0.0, 9.0, 8.9, 8.8]))["lagged budget"]
    assert trim is not None
    high, low = np.array([[0.9, 0.9]]), np.array([[0.001, 0.001]])
    assert [trim(confidences) for confidences in (high, low, low, low)] == [[2], [2], [2], [0]]


def test_the_claims_about_serving_name_the_best_fixed_length() -> None:
    def row(speeds: dict[str, float]) -> dict[str, Any]:
        return {"ways": {n: {"tokens_per_second": {"mean": s, "passes": [s] * 2}} for n, s in speeds.items()}}

    few = {"fixed 1": 1.0, "fixed 3": 2.0, "fixed 5": 3.0, "fixed 7": 4.0, "scheduled": 4.0}
    many = {"fixed 1": 3.0, "fixed 3": 5.0, "fixed 5": 3.0, "fixed 7": 4.0, "scheduled": 6.0}
    claims = serving.check_claims([row(few), row(many)])
    assert claims["best fixed length"] == ["fixed 7", "fixed 3"] and claims["no fixed length is best everywhere"]
    speedups = claims["scheduled over the better of fixed 1 and fixed 7"]
    assert [(speedup["mean"], speedup["n"]) for speedup in speedups] == [(1.0, 2), (1.5, 2)]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny random models: a target and one DSpark."""
    folder, words = tmp_path_factory.mktemp("weights"), collect_words(documents=400)
    shape = TargetShape(len(words), width=16, layers=2, heads=2, kv_heads=1, feed_forward=16, feature_layers=(0, 1))
    torch.manual_seed(0)
    save_model(folder / "target.safetensors", Target(shape), shape, words=Tokenizer(words).words)
    drafter_shape = DrafterShape(layers=1, rank=4)
    drafter = make_drafter(drafter_shape, shape)
    torch.nn.init.normal_(drafter.head.next.weight)  # a head strong enough to change the drafts
    save_model(folder / "dspark.safetensors", drafter, drafter_shape)
    record = {
        "started": 0.0,
        "finished": 120.0,
        "cpu_seconds": 60.0,
        "steps_per_point": 50,
        "loss": [2.0] * 20,
        "overlap": [0.5] * 18 + [0.6, 0.7],
    }
    (folder / "dspark.training.json").write_text(json.dumps(record))
    return folder


def test_every_experiment_runs_once_and_names_missing_weights(weights: Path, tmp_path: Path) -> None:
    settings = Settings(weights, prompts=2, max_new_tokens=8, concurrency=(2,), served_seconds=0.1)
    results = reproduce(tmp_path, settings, print)
    assert list(results) == list(EXPERIMENTS) and results == json.loads((tmp_path / "evidence.json").read_text())
    assert any("dflash" in sentence for sentence in results["table_1"]["missing"])
    assert results["figure_3"]["ours"]["tau"]["dspark"][0] is None and results["figure_6"]["missing"] == []
    docs = tmp_path / "results.md"
    docs.write_text("\n".join(f"before\n<!-- {s}: begin -->\nold\n<!-- {s}: end -->\nafter" for s in SECTIONS))
    write_report(tmp_path, docs)
    text = docs.read_text(encoding="utf-8")
    assert text.count("before\n") == text.count("\nafter") == len(SECTIONS) and "None" not in text
    assert text.count("\nold\n") == 3 and "No GPU was measured" in text  # no races, no SmolLM2
    assert updated_text(tmp_path, docs) == text and "no shape can gain more than" in text
    titles = ("Table 1", "Figure 4", "Figures 7 and 8")
    assert all(f"| **{title}" in text and f"- **{title}" in text for title in titles)
    cut = results["figure_5"]["ours"]["by_domain"]["math"]
    assert (
        f"math {percent(cut[0]['acceptance_rate']['mean'])} → {percent(cut[-1]['acceptance_rate']['mean'])} %" in text
    )
    assert (
        "1 minutes of processor time" in text
        and "2 minutes by the clock" in text
        and "1000 steps" in text
        and "at most 0.150 (dspark)" in text
    )
    drawn = {path.stem for path in tmp_path.glob("*.svg")}
    assert drawn == set(EXPERIMENTS) - {"figure_4", "step"}  # no weights at all; no picture
    (tmp_path / "recordings").rename(tmp_path / "moved")
    said: list[str] = []
    again = reproduce(tmp_path, replace(settings, only=("figure_5", "figure_7_8")), said.append)
    assert again == results and said == ["figure_5", "figure_7_8"]  # nothing ran again
    other = reproduce(tmp_path, replace(settings, prompts=3, only=("figure_5",)))["figure_5"]
    assert other["ours"]["by_domain"]["math"][0]["accepted"]["n"] == 3  # other settings, another run


def test_the_bench_measures_all_of_it_and_the_figures_in_the_docs_are_those_of_the_results(
    weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = {"SHIPPED": weights, "DRAFTERS": ("dspark",), "METHODS": ("dspark",), "LONGEST": 8, "LOADS": (1,)}
    small |= {"REQUESTS": (2,), "REPEATS": 1, "SAMPLES": 20, "LAW_TEXTS": 300}
    for name, value in small.items():
        monkeypatch.setattr(bench, name, value)
    monkeypatch.setattr("dspark_mini.race.FEWEST_PROMPTS", 1)
    results = bench.measure(tmp_path, "cpu", 0.0, print)
    assert json.loads((tmp_path / "bench.json").read_text()) == results
    assert list(results["variants"]) == ["float32", "bfloat16"] and results["law"]["p"] > 0.04
    assert all(run["identical"] for run in results["variants"]["float32"]["greedy"] if run["method"] == "dspark")
    assert len(results["batched"]["bfloat16"]["2"]) == 16 and {"1", "16", "256"} <= set(
        results["variants"]["float32"]["forward_seconds"]
    )
    assert {path.stem.rpartition("-")[2] for path in tmp_path.glob("*.svg")} == {"light", "dark"}
    results["hardware"]["accelerator"] = "a GPU"
    (tmp_path / "bench.json").write_text(json.dumps(results))
    docs = Path(__file__).parents[3] / "docs" / "results.md"
    assert "a GPU, torch" in updated_text(tmp_path, docs) and "**No GPU" not in updated_text(tmp_path, docs)
    assert updated_text(RESULTS, docs) == docs.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"only": ("table_2",)}, r"only\[0\] is 'table_2'"),
        ({"prompts": 0}, "prompts"),
        ({"seeds": ()}, "seeds is empty"),
    ],
)
def test_bad_settings_are_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(Path("."), **wrong)


def test_without_its_head_a_drafter_writes_other_rounds(weights: Path, tmp_path: Path) -> None:
    recorder = Recorder(Settings(weights, prompts=2, max_new_tokens=12), tmp_path, print)
    run, headless = (recorder.recording("dspark", "chat", headless=headless) for headless in (False, True))
    assert run.per_prompt(run.emitted).max() <= 12 and run.confidences.shape[1] == 7
    assert np.abs(run.confidences[0] - headless.confidences[0]).max() > 0.0  # c_k reads x_{k−1}, which differs


def test_a_damaged_results_file_is_refused(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "evidence.json").write_text("not json")
    with pytest.raises(ValueError, match="is not valid JSON"):
        reproduce(tmp_path, Settings(weights, only=("figure_5",)))


def test_pictures_show_the_drafters_that_were_measured() -> None:
    rates = {"dspark": 0.8, "dspark-seed-1": 0.8, "dflash": 0.6}
    figure = PICTURES["figure_2"]({"ours": acceptance.figure_2(SyntheticRecorder(rates))})
    assert figure is not None and len(figure.axes) == 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["dflash", "dspark"]
    assert PICTURES["figure_2"]({"ours": acceptance.figure_2(SyntheticRecorder({}))}) is None


def test_the_picture_of_table_1_averages_the_papers_sets_by_domain() -> None:
    entry = {"paper": PAPER["table_1"], "ours": acceptance.table_1(SyntheticRecorder({"dspark": 0.8, "dflash": 0.6}))}
    figure = PICTURES["table_1"](entry)
    assert figure is not None
    bars = {container.get_label(): container.lines[0].get_ydata() for container in figure.axes[1].containers}
    assert bars["dspark"] == pytest.approx([5.57, 5.12, 3.49], abs=0.005)
