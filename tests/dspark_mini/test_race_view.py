"""The race on the terminal: the marks of the words, the table, the files, and what is refused."""

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

import pytest
from rich.console import Console
from typer.testing import CliRunner

from dspark_mini import appendix, backends, cli, race_view
from dspark_mini.backends import hardware, load_model, model_errors
from dspark_mini.engine import Round
from dspark_mini.lm import SmallLM, load
from dspark_mini.race_options import METHODS, RaceOptions
from dspark_mini.race_table import closing_lines, result_table
from dspark_mini.race_view import legend, list_words, round_text, run_race
from dspark_mini.workspace import UserError

WORDS = ["pack", "the", "suitcase", "\n", "    ", "rice"]
DSPARK = {
    **{"method": "dspark", "domain": "chat", "temperature": 0.0, "tau": 5.25, "tokens_per_second": 1234.4},
    **{"speedup": 1.5, "speedup_error": 0.21, "expected_speedup": 1.6, "prompts": 2, "tokens": 84, "identical": False},
    **{"conditional_acceptance": [0.9, 0.7, None], "mismatches": [{"prompt": 1, "position": 7, "gap": 2e-5}]},
    "shares": {"draft": 0.1, "head": 0.2, "verify": 0.65, "commit": 0.05},
}
PLAIN = DSPARK | {"method": "plain", "tau": 1.0, "speedup": 1.0, "expected_speedup": None, "identical": None}
PLAIN |= {"conditional_acceptance": None, "mismatches": None}
OPTIONS = RaceOptions(("dflash",), max_new_tokens=12, domains=("chat",), prompts=2)


@pytest.fixture(scope="module")
def model() -> SmallLM:
    return load(drafters=["dflash"])


@pytest.fixture
def loaded(model: SmallLM, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the race run on a model that is loaded once, and without slow motion."""
    monkeypatch.setattr(race_view, "load_model", lambda backend, device, drafters, compiled: model)
    monkeypatch.setattr(race_view, "PLAIN_SECONDS", 0.0)


def console(**options: Any) -> Console:
    return Console(file=io.StringIO(), width=80, highlight=False, **options)


def printed(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("round_", "text"),
    [
        (Round([0, 1, 5, 3], accepted=2, path=[0, 1], emitted=[0, 1, 2]), "pack the [~rice~ +1] ^suitcase "),
        (Round([0, 5], accepted=1, path=[0], emitted=[0, 2]), "pack [~rice~] ^suitcase "),
        (Round([0, 1], accepted=2, path=[0, 1], emitted=[0, 1, 2]), "pack the ^suitcase "),
        (Round([5, 0, 1], [-1, -1, 1], accepted=2, path=[1, 2], emitted=[0, 1, 2]), "pack the [~rice~] ^suitcase "),
        (Round([0, 1, 5], accepted=3, path=[0, 1, 2], emitted=[0, 1]), "pack the "),  # the text ended
        (Round(emitted=[3]), "^↵ "),
        (Round(emitted=[4]), "^⇥ "),
    ],
)
def test_a_round_shows_what_was_accepted_rejected_and_added(round_: Round, text: str) -> None:
    assert round_text(round_, WORDS).plain == text
    assert all(mark in legend().plain for mark in ("^word", "[~word~ +5]", "word  "))


def test_the_table_fits_80_columns_and_notes_below_it_give_the_cost_of_verifying_and_each_mismatch() -> None:
    out, shares = console(), ["10", "%", "20", "%", "65", "%"]
    out.print(result_table([PLAIN, DSPARK | {"method": "autoregressive"}]))
    rows = printed(out).splitlines()
    assert len(rows) == 3 and max(map(len, rows)) <= 80
    assert rows[1].split() == ["chat", "plain", "1.00", "—", "1234", "1.00", *shares, "—"]
    assert rows[2].split() == ["autoregressive", "5.25", "0.80", "1234", "1.50", *shares, "no"]
    machine = hardware("numpy", "cpu", None) | {"threads": 1, "cpu": "a CPU"}
    text = "\n".join(closing_lines([PLAIN, DSPARK], 1.43, machine))
    assert "1.43 times as long over 8 tokens" in text and "chat 1.50 ± 0.21 (1.60)" in text
    assert "prompt 1, from token 7" in text and "2.0e-05" in text and "a CPU, one thread" in text


def test_a_race_in_a_pipe_has_no_control_codes_and_writes_all_files(loaded: None, tmp_path: Path) -> None:
    out, data, image, page = console(), tmp_path / "race.json", tmp_path / "race.png", tmp_path / "race.html"
    files = {"json_file": data, "picture_file": image, "html_file": page}
    options = replace(OPTIONS, prompt="<chat> user : what", temperature=0.0, **files)
    run_race(options, out)
    text = printed(out)
    assert "\x1b" not in text and "\r" not in text
    assert text.index("plain: 12 tokens in 12 rounds") < text.index("dflash: ") < text.index("speed-up")
    results = json.loads(data.read_text("utf-8"))
    assert set(results) == {"hardware", "verify_ratio", "runs"} and results["verify_ratio"] > 0.0
    runs = [(run["domain"], run["method"], run["identical"]) for run in results["runs"]]
    assert runs == [("own", "plain", None), ("own", "dflash", True)]
    assert results["hardware"]["backend"] == "numpy" and results["hardware"]["cores"] == os.cpu_count()
    assert image.read_bytes().startswith(b"\x89PNG") and sorted(tmp_path.iterdir()) == [page, data, image]
    lanes = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL)[1])["lanes"]  # type: ignore[index]
    assert [lane["name"] for lane in lanes] == ["plain", "dflash"]
    assert all(draft["chance"] in (0.0, 1.0) for turn in lanes[1]["rounds"] for draft in turn["drafts"])


def test_a_terminal_is_redrawn_round_by_round_at_the_pace_of_the_rounds(
    loaded: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, now = console(force_terminal=True, no_color=True), [0.0]
    run_race(OPTIONS, out)
    assert "plain\x1b[0m: 1 token in 1 round," in printed(out) and "slower than it ran" in printed(out)
    monkeypatch.setattr(race_view.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(race_view.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    rounds = [Round(seconds={"draft": 0.01, "verify": 0.02}), Round(seconds={"verify": 0.04})]
    assert [(count, round(now[0], 6)) for count in race_view._paced(rounds, 10.0)] == [(1, 0.3), (2, 0.7)]


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("quantum", "text[0] is 'quantum', which is not one of the model's 297 words. `dspark-mini race --words`"),
        ("the " * 384, "the cache has 384 slots"),
    ],
)
def test_a_prompt_that_cannot_be_continued_is_refused_before_anything_is_printed(
    loaded: None, prompt: str, words: str
) -> None:
    out = console()
    with pytest.raises(UserError, match=re.escape(words)):
        run_race(replace(OPTIONS, prompt=prompt), out)
    assert printed(out) == ""


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"methods": ("eagle",)}, "method is 'eagle'"),
        ({"methods": ("policy",), "temperature": 0.5}, "needs 0, greedy decoding"),
        ({"domains": ("poetry",)}, "domain is 'poetry'"),
        ({"temperature": -1.0}, "temperature"),
        ({"max_new_tokens": 0}, "max_new_tokens"),
        ({"json_file": Path("/nowhere/race.json")}, "no directory"),
        ({"json_file": Path("/")}, "it is a directory"),
        ({"picture_file": Path("race.gif")}, "must end in .png or .svg"),
        ({"picture_file": Path("race.png"), "methods": ("plain",)}, "other than plain"),
    ],
)
def test_impossible_options_are_refused_before_anything_runs(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RaceOptions(**wrong)


@pytest.mark.parametrize(
    ("backend", "device", "words"),
    [
        ("jax", "cpu", "backend is 'jax'"),
        ("torch", "tpu", "device is 'tpu'"),
        ("numpy", "cuda", "runs on the CPU only"),
        ("torch", "cpu", "pip install"),  # torch is hidden below
    ],
)
def test_an_unavailable_backend_is_refused(
    backend: str, device: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match=words):
        load_model(backend, device, ())


def test_torchs_errors_become_sentences_and_bugs_stay_bugs(monkeypatch: pytest.MonkeyPatch) -> None:
    def load_weights(*arguments: Any) -> None:
        raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")

    engine = SimpleNamespace(load=load_weights)
    monkeypatch.setattr(backends, "require_torch", lambda device: None)
    monkeypatch.setattr(appendix, "engine", engine, raising=False)
    monkeypatch.setitem(sys.modules, "dspark_mini.appendix.engine", engine)
    with pytest.raises(UserError, match=r"^The device 'cuda' ran out of memory\.$"):
        load_model("torch", "cuda", ())
    with pytest.raises(UserError, match="There are no weights"), model_errors("cpu"):
        raise ValueError("There are no weights here.")
    with pytest.raises(RuntimeError, match="a bug"), model_errors("cpu"):
        raise RuntimeError("a bug")


def test_the_words_of_a_prompt_are_listed_and_can_be_used(model: SmallLM) -> None:
    list_words(out := console())
    words = printed(out).split()
    assert len(model.tokenizer.encode(" ".join(words))) == len(words) == len(model.tokenizer.words) - 2


def test_a_bundle_without_solutions_says_why_it_cannot_race(monkeypatch: pytest.MonkeyPatch) -> None:
    def stub(*arguments: Any) -> None:
        raise NotImplementedError("This is what the lesson asks you to write.")

    monkeypatch.setattr(backends, "restart_on_one_thread", lambda: None)
    monkeypatch.setattr(race_view, "run_race", stub)
    done = CliRunner().invoke(cli.app, ["race"])
    assert isinstance(done.exception, UserError) and "race --mine" in str(done.exception)


def test_the_command_runs_on_one_thread_and_refuses_in_one_sentence(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in backends.THREAD_VARIABLES}
    environment["PYTHONPATH"] = str(Path(cli.__file__).parents[1])

    def python(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)

    done = python("-m", "dspark_mini", "race", "--method", "eagle")
    assert done.returncode == 2 and not done.stdout
    assert done.stderr == f"method is 'eagle'; it must be one of {', '.join(METHODS)}.\n"
    code = "from dspark_mini.backends import *; restart_on_one_thread(); print(on_one_thread())"
    assert python("-c", code).stdout == "True\n"
