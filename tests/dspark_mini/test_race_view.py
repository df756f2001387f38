"""The race on the terminal: the marks of the words, the table, the files, and what is refused."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from dspark_mini import appendix, backends, cli, race_view, viz
from dspark_mini.backends import hardware, load_model, model_errors
from dspark_mini.engine import Round
from dspark_mini.lm import SmallLM, load
from dspark_mini.race import METHODS, Rules
from dspark_mini.race_table import closing_lines, result_table
from dspark_mini.race_view import Wishes, hold_race, legend, round_text
from dspark_mini.weights import save_weights
from dspark_mini.words import collect_words
from dspark_mini.workspace import UserError

WORDS = ["pack", "the", "suitcase", "\n", "    ", "rice"]
LAYER = {"query": (12, 12), "key": (12, 12), "value": (12, 12), "out": (12, 12)}
RUN = {
    **{"method": "dspark", "domain": "chat", "temperature": 0.0, "tau": 5.25, "tokens_per_second": 1234.4},
    **{"speedup": 1.5, "expected_speedup": 1.6, "prompts": 2, "tokens": 84, "identical": False},
    **{"conditional_acceptance": [0.9, 0.7, None], "mismatches": [{"prompt": 1, "position": 7, "gap": 2e-5}]},
    "shares": {"draft": 0.1, "head": 0.2, "verify": 0.65, "commit": 0.05},
}
PLAIN = {
    **RUN,
    **{"method": "plain", "tau": 1.0, "speedup": 1.0, "expected_speedup": None, "identical": None},
    **{"conditional_acceptance": None, "mismatches": None},
}
MACHINE = hardware("numpy", "cpu", None) | {"threads": 1, "cpu": "a CPU"}


def layer_weights(prefix: str, rng: np.random.Generator) -> dict[str, Any]:
    shapes = {f"attention.{name}": shape for name, shape in LAYER.items()}
    shapes |= {"feed_forward.gate": (16, 12), "feed_forward.up": (16, 12), "feed_forward.down": (12, 16)}
    found = {f"{prefix}{name}.weight": rng.normal(size=shape) for name, shape in shapes.items()}
    return found | {f"{prefix}{name}_norm.weight": np.ones(12) for name in ("attention", "feed_forward")}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SmallLM:
    """A model of random weights that knows the words of the corpus."""
    folder, rng, words = tmp_path_factory.mktemp("weights"), np.random.default_rng(0), collect_words()
    shape = {"vocabulary": len(words), "width": 12, "layers": 2, "heads": 3, "kv_heads": 3, "feed_forward": 16}
    shape["feature_layers"] = [0, 1]  # type: ignore[assignment]
    target = layer_weights("layers.0.", rng) | layer_weights("layers.1.", rng)
    target |= {"embedding.weight": rng.normal(size=(len(words), 12)), "norm.weight": np.ones(12)}
    save_weights(folder / "target.safetensors", target, {"shape": shape, "words": words})
    drafter = layer_weights("layers.0.", rng) | {"fuse.weight": rng.normal(size=(12, 24)), "mask": rng.normal(size=12)}
    drafter |= {"fuse_norm.weight": np.ones(12), "norm.weight": np.ones(12)}
    header = {"shape": {"layers": 1, "layout": "dflash", "head": "none"}}
    save_weights(folder / "dflash.safetensors", drafter, header)
    return load(folder, ["dflash"])


def piped() -> Console:
    return Console(file=io.StringIO(), force_terminal=False, width=80, highlight=False)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def wishes(**others: Any) -> Wishes:
    return replace(Wishes(Rules(("dflash",), tokens=12), ("chat",), 2), **others)


@pytest.fixture
def stubbed(model: SmallLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race_view, "load_model", lambda backend, device, drafters, compiled: model)
    monkeypatch.setattr(race_view, "SHOWN_SECONDS", 0.0)


def test_the_fates_of_tokens_differ_without_colour() -> None:
    this = Round(drafted=[0, 1, 5, 3], verified=4, accepted=2, path=[0, 1], emitted=[0, 1, 2])
    assert round_text(this, WORDS).plain == "pack the [~rice~ +1] ^suitcase "
    assert {style.style for style in round_text(this, WORDS).spans} == {"green underline", "red strike", "bold"}
    assert all(mark in legend().plain for mark in ("^word", "[~word~ +5]", "word  "))


def test_a_lone_rejection_has_nothing_behind_it_and_a_full_block_nothing_rejected() -> None:
    one = Round([0, 5], verified=2, accepted=1, path=[0], emitted=[0, 2])
    assert round_text(one, WORDS).plain == "pack [~rice~] ^suitcase "
    whole = Round([0, 1], verified=2, accepted=2, path=[0, 1], emitted=[0, 1, 2])
    assert round_text(whole, WORDS).plain == "pack the ^suitcase "


def test_of_a_tree_what_is_off_the_path_was_rejected() -> None:
    tree = Round([5, 0, 1], parents=[-1, -1, 1], verified=3, accepted=2, path=[1, 2], emitted=[0, 1, 2])
    assert round_text(tree, WORDS).plain == "pack the [~rice~] ^suitcase "


def test_a_cut_round_shows_what_it_emitted_and_nothing_behind() -> None:
    cut = Round([0, 1, 5], verified=3, accepted=3, path=[0, 1, 2], emitted=[0, 1])
    assert round_text(cut, WORDS).plain == "pack the "


def test_line_breaks_and_indentation_stay_on_the_line() -> None:
    assert round_text(Round(emitted=[3]), WORDS).plain + round_text(Round(emitted=[4]), WORDS).plain == "^↵ ^⇥ "


def test_the_table_fits_80_columns_and_shows_what_does_not_apply_as_a_dash() -> None:
    console = piped()
    console.print(result_table([PLAIN, RUN | {"method": "autoregressive"}]))
    rows, shares = written(console).splitlines(), ["10", "%", "20", "%", "65", "%"]
    assert len(rows) == 3 and max(map(len, rows)) <= 80
    assert rows[1].split() == ["chat", "plain", "1.00", "—", "1234", "1.00", *shares, "—"]
    assert rows[2].split() == [
        "autoregressive",
        "5.25",
        "0.80",
        *["1234", "1.50", "10", "%", "20", "%", "65", "%"],
        "no",
    ]


def test_below_the_table_stand_the_cost_of_verifying_the_expectation_and_each_mismatch() -> None:
    text = "\n".join(closing_lines([PLAIN, RUN], 1.43, MACHINE))
    assert "1.43 times as long over 8 tokens" in text and "dspark: chat 1.50 (1.60)" in text
    assert "prompt 1, at token 7" in text and "2.0e-05" in text and "a CPU, one thread" in text


def test_a_race_in_a_pipe_has_no_control_codes_and_writes_both_files_whole(stubbed: None, tmp_path: Path) -> None:
    console, data, image = piped(), tmp_path / "race.json", tmp_path / "race.png"
    hold_race(wishes(json_file=data, picture_file=image), console)
    text = written(console)
    assert "\x1b" not in text and "\r" not in text
    assert text.index("plain: 12 tokens in 12 rounds") < text.index("dflash: ") < text.index("speed-up")
    found = json.loads(data.read_text("utf-8"))
    assert set(found) == {"hardware", "verify_ratio", "runs"} and found["verify_ratio"] > 0.0
    assert [run["method"] for run in found["runs"]] == ["plain", "dflash"]
    assert found["hardware"]["backend"] == "numpy" and found["hardware"]["cores"] == os.cpu_count()
    assert image.read_bytes().startswith(b"\x89PNG") and sorted(tmp_path.iterdir()) == [data, image]


def test_a_terminal_is_drawn_round_by_round(stubbed: None) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, highlight=False, no_color=True)
    hold_race(wishes(), console)
    assert "plain\x1b[0m: 1 tokens in 1 rounds" in written(console) and "slower than it ran" in written(console)


def test_a_greedy_race_on_words_of_ones_own_is_identical(stubbed: None, tmp_path: Path) -> None:
    asked = wishes(prompt="<chat> user : what", json_file=tmp_path / "own.json")
    hold_race(replace(asked, rules=Rules(("dflash",), 0.0, 20)), piped())
    runs = json.loads((tmp_path / "own.json").read_text("utf-8"))["runs"]
    assert [(run["domain"], run["identical"]) for run in runs] == [("own", None), ("own", True)]


def test_slow_motion_keeps_the_pace_of_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(race_view.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(race_view.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    rounds = [Round(seconds={"draft": 0.01, "verify": 0.02}), Round(seconds={"verify": 0.04})]
    assert [(count, round(now[0], 6)) for count in race_view._paced(rounds, 10.0)] == [(1, 0.3), (2, 0.7)]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ({"prompt": "quantum"}, "text[0] is 'quantum'"),
        ({"prompt": " ".join(["the"] * 384)}, "the cache has 384 slots"),
    ],
)
def test_a_prompt_that_cannot_be_continued_is_one_sentence(stubbed: None, ask: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)):
        hold_race(wishes(**ask), piped())


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ({"domains": ("poetry",)}, "domain is 'poetry'"),
        ({"json_file": Path("/nowhere/race.json")}, "no folder"),
        ({"picture_file": Path("race.gif")}, "must end in .png or .svg"),
    ],
)
def test_wishes_that_cannot_come_true_are_refused_before_anything_runs(ask: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        wishes(**ask)


@pytest.mark.parametrize(
    ("backend", "device", "words"),
    [
        ("jax", "cpu", "backend is 'jax'"),
        ("torch", "tpu", "device is 'tpu'"),
        ("numpy", "cuda", "runs on the CPU only"),
    ],
)
def test_a_place_that_does_not_exist_is_refused(backend: str, device: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        load_model(backend, device, ())


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "ran out of memory"),
        (ValueError("There are no weights at w; so it is."), "There are no weights at w; so it is."),
    ],
)
def test_what_torch_refuses_is_one_sentence(monkeypatch: pytest.MonkeyPatch, error: Exception, words: str) -> None:
    def failing(*arguments: Any) -> None:
        raise error

    engine = SimpleNamespace(load=failing)
    monkeypatch.setattr(backends, "require_torch", lambda device: None)
    monkeypatch.setattr(appendix, "engine", engine, raising=False)
    monkeypatch.setitem(sys.modules, "dspark_mini.appendix.engine", engine)
    with pytest.raises(UserError) as refused:
        load_model("torch", "cuda", ())
    sentence = str(refused.value)
    assert words in sentence and sentence.endswith(".") and "\n" not in sentence


def test_without_torch_the_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match="pip install"):
        load_model("torch", "cpu", ())


def test_memory_that_runs_out_in_the_middle_is_one_sentence_and_other_errors_stay() -> None:
    with pytest.raises(UserError, match="'mps' ran out of memory"), model_errors("mps"):
        raise RuntimeError("MPS backend out of memory (allocated 9 GB)")
    with pytest.raises(RuntimeError, match="a bug"), model_errors("cpu"):
        raise RuntimeError("a bug")


def test_the_picture_has_a_bar_a_method_with_its_tau_and_a_curve_with_a_gap() -> None:
    figure = viz.race_picture([PLAIN, RUN, RUN | {"method": "dflash", "speedup": 0.9, "tau": 3.2}])
    upper, lower = figure.axes
    assert [bar.get_width() for bar in upper.patches] == [1.5, 0.9]
    assert [text.get_text() for text in upper.texts] == ["1.50  τ 5.2", "0.90  τ 3.2"]
    curves = {line.get_label(): line for line in lower.lines}
    assert np.isnan(np.asarray(curves["dspark"].get_ydata())[2])
    assert len({(line.get_linestyle(), line.get_marker()) for line in curves.values()}) == 2
    with pytest.raises(ValueError, match="no drafter"):
        viz.race_picture([PLAIN])


def test_a_kit_without_solutions_says_why_nobody_races(monkeypatch: pytest.MonkeyPatch) -> None:
    def stub(*arguments: Any) -> None:
        raise NotImplementedError("This is what the lesson asks you to write.")

    monkeypatch.setattr(backends, "restart_on_one_thread", lambda: None)
    monkeypatch.setattr(race_view, "hold_race", stub)
    done = CliRunner().invoke(cli.app, ["race"])
    assert isinstance(done.exception, UserError) and "lesson 07" in str(done.exception)


def test_the_command_runs_on_one_thread_and_refuses_in_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dspark_mini.cli", "race", "--method", "eagle"]
    outside = {name: value for name, value in os.environ.items() if name not in backends.THREADS}
    done = subprocess.run(command, cwd=tmp_path, env=outside, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr == f"method is 'eagle'; it must be one of {', '.join(METHODS)}.\n"
    code = (
        "from dspark_mini.backends import *; restart_on_one_thread(); print(hardware('numpy', 'cpu', None)['threads'])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=outside, capture_output=True, text=True, timeout=60)
    assert done.stdout == "1\n"


def test_a_folder_where_a_file_belongs_is_refused_before_anybody_races(tmp_path: Path) -> None:
    for name in ("json_file", "picture_file"):
        with pytest.raises(ValueError, match="because it is a folder"):
            Wishes(**{name: tmp_path})  # type: ignore[arg-type]
