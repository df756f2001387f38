"""A pretrained model's drafters in the engine, the comparison and the race, on a tiny random model."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

torch = pytest.importorskip("torch")

from dspark_mini.appendix.engine import TorchBlockDrafter, TorchTarget  # noqa: E402
from dspark_mini.appendix.huggingface import load_target  # noqa: E402
from dspark_mini.appendix.pretrained import load_drafter, save_drafter  # noqa: E402
from dspark_mini.appendix.smollm import compare, engine, methods, products, train  # noqa: E402
from dspark_mini.appendix.smollm.llama import FORMS  # noqa: E402
from dspark_mini.cli import app  # noqa: E402
from dspark_mini.engine import Steps, generate  # noqa: E402
from dspark_mini.lm import SmallLM  # noqa: E402
from dspark_mini.race_options import SMOLLM_DRAFTERS, RaceOptions  # noqa: E402
from dspark_mini.race_view import run_race  # noqa: E402

PROMPT, STEPS = [5, 9, 7, 5, 9, 7, 30, 5, 9], Steps(block_size=lambda trace: engine.LONGEST)


class Words:
    """A tokenizer whose words are numbers."""

    end, words = 299, [str(i) for i in range(300)]

    def question(self, prompt: str) -> list[int]:
        return [ord(letter) for letter in prompt[:9]]


@pytest.fixture(scope="module")
def drafter(tiny_llama: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path, (ends, weights) = tmp_path_factory.mktemp("drafter"), train.read_ends(tiny_llama)
    model = train.new_drafter(ends, weights, [*range(50), *range(90, 250)])
    save_drafter(path, model, ends, train.MASK_TOKEN)  # type: ignore[arg-type]
    return path


@pytest.fixture
def model(tiny_llama: Path, drafter: Path) -> SmallLM:
    return load(tiny_llama, drafter)


def load(folder: Path, drafter: Path | None = None, form: str = "float32") -> SmallLM:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "Text", lambda path: Words())
        return engine.load(folder, drafter, form, slots=200)


@pytest.mark.parametrize(("product", "error"), [(products.Linear, 1e-5), (products.eight_bits, 0.02)])
def test_dspark_drafts_what_the_appendix_drafts_over_the_whole_vocabulary(
    tiny_llama: Path, drafter: Path, monkeypatch: Any, product: Any, error: float
) -> None:
    monkeypatch.setattr(engine, "eight_bits", product)
    model = load(tiny_llama, drafter)
    target = load_target(tiny_llama, train.FEATURE_LAYERS)
    reference = TorchTarget(target), TorchBlockDrafter(load_drafter(drafter, target), TorchTarget(target))
    reference[1].target, reference[1].cache = reference[0], type(reference[1].cache)(
        reference[1].model, reference[0].cache, reference[1].write_context
    )  # fmt: skip
    ours = model.drafters["dspark"].dspark
    for one in (model.target, reference[0]):
        one.forward(PROMPT)
    reference[1].cache.extend(PROMPT)
    for temperature in (0.0, 1.0):
        rngs = [np.random.default_rng(3) for _ in range(2)]
        got = ours.chain(ours.start([*PROMPT, 7], 4), 7, 4, temperature, rngs[0])
        base = reference[1].block_logits(7, 4)
        expected = reference[1].chain(base, 7, 4, temperature, rngs[1])
        if temperature:
            np.testing.assert_allclose(got[1][0], expected[1][0], atol=error)
        confidences = [one.confidences(7, got[0], base) for one in (ours, reference[1])]
        np.testing.assert_allclose(*confidences, atol=error)
        assert got[0] == expected[0] or error > 0.01


@pytest.mark.parametrize("name", SMOLLM_DRAFTERS)
def test_greedy_texts_are_those_of_plain_decoding_whoever_drafts(model: SmallLM, name: str) -> None:
    plain = generate(model.target, None, PROMPT, 60).output
    for _ in range(2):  # the second text finds all caches empty again
        model.clear()
        trace = generate(model.target, model.drafters[name], PROMPT, 60, steps=STEPS)
        assert trace.output == plain and any(round_.drafted for round_ in trace.rounds)
    if name != "dspark":  # the text repeats itself
        assert any(round_.accepted for round_ in trace.rounds)
    model.clear()
    generate(model.target, model.drafters[name], PROMPT, 30, (), 1.0, np.random.default_rng(0), STEPS)


@pytest.mark.parametrize("form", FORMS)
def test_dspark_drafts_beside_a_target_in_every_form(tiny_llama: Path, drafter: Path, form: str) -> None:
    model = load(tiny_llama, drafter, form)
    trace = generate(model.target, model.drafters["dspark"], PROMPT, 12, steps=STEPS)
    assert len(trace.output) == 12 and any(round_.drafted for round_ in trace.rounds)


def test_a_drafter_that_does_not_pay_is_paused_and_tried_again(model: SmallLM) -> None:
    drafters = model.drafters["dspark"]
    drafters.costs.verify, drafters.costs.draft = [1.0] * 8, 0.5
    drafters.dspark.confidences = lambda anchor, tokens, base: [0.9] * len(tokens)
    drafters.dspark.chain = lambda base, *_: ([299] * len(base), np.zeros((len(base), 300)))
    trace = generate(model.target, drafters, PROMPT, 70, steps=STEPS)
    pattern = [bool(round_.drafted) for round_ in trace.rounds]
    cycle = [True, *[False] * engine.RETRY_AFTER]  # one round costs more than the credit
    assert pattern == [False, *(cycle[i % len(cycle)] for i in range(69))]  # the first round has no answer to read


def test_prompt_lookup_takes_the_latest_of_the_longest_matches() -> None:
    lookup = engine.PromptLookup(10, engine.History())
    assert lookup.start([1, 2, 3, 4, 2, 3, 5, 1, 2, 3], 4) == [4, 2, 3, 5]
    assert lookup.start([1, 2, 3, 4, 2, 3, 5, 8, 2, 3], 2) == [5, 8]
    assert lookup.start([1, 2, 3, 4], 4) == []


def test_a_draft_is_verified_if_its_survival_is_worth_its_cost() -> None:
    costs = engine.Costs([1.0, 1.1, 1.3, 1.6, 1.6])
    assert costs.worthwhile([0.5, 0.5, 0.5, 0.9]) == 2  # .5 ≥ .1, .25 ≥ .2, .125 < .3
    assert costs.worthwhile([0.05, 1.0]) == 0 and costs.worthwhile([]) == 0


def test_a_comparison_goes_on_after_a_stop_and_refuses_other_settings(
    tiny_llama: Path, drafter: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    for module in (compare, methods):
        monkeypatch.setattr(module, "load", load)
    monkeypatch.setattr(compare, "fastest_form", lambda: "int4")
    monkeypatch.setattr(engine, "CONTEXT", 8)
    monkeypatch.setattr("dspark_mini.appendix.smollm.speed.CONTEXT", 8)
    monkeypatch.setattr(methods.importlib.util, "find_spec", lambda name: None)
    settings = {"tokens": 6, "threads": (1,)}
    console = Console(file=io.StringIO(), width=200)
    compare.compare(methods.Options(tiny_llama, drafter, 2, **settings), tmp_path, console)
    first = (tmp_path / "compare.jsonl").read_text()
    compare.compare(methods.Options(tiny_llama, drafter, 3, **settings), tmp_path, console)
    lines = (tmp_path / "compare.jsonl").read_text()
    assert lines.startswith(first) and first.count("\n") == 3 and lines.count("\n") == 4
    results = json.loads((tmp_path / "compare.json").read_text())
    assert {(row["family"], row["kind"]) for row in compare.chosen_prompts(14)} == {
        (row["family"], row["kind"]) for row in compare.chosen_prompts(280)
    }
    assert {group["method"] for group in results["groups"]} >= {"plain", *SMOLLM_DRAFTERS}
    assert "lookup: 0 of 3 greedy texts differ from plain decoding." in console.file.getvalue()  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="has results of other settings"):
        compare.compare(methods.Options(tiny_llama, drafter, 2, tokens=7), tmp_path, console)


def test_speed_ups_are_those_over_the_same_prompts() -> None:
    def run(method: str, tokens: int, seconds: float, **more: Any) -> Any:
        return {"method": method, "threads": 1, "temperature": 1.0, "tokens": tokens, "seconds": seconds, **more}

    rounds = {"rounds": [[4, 4, 5], [4, 0, 1]], "parts": {"verify": 1.0}}
    fast = [run("plain", 6, 2.0), run("dspark", 6, 1.0, **rounds)]
    slow = [run("plain", 6, 4.0), run("dspark", 6, 1.0, **rounds), run("transformers", 6, 8.0)]
    about = {"kind": "unseen", "family": "code"}
    rows = [{**about, "prompt": f"{i}", "runs": runs} for i, runs in enumerate((fast, fast, slow))]
    groups = {(group["prompts"], group["method"]): group for group in compare.summarise(rows)}
    dspark = groups["code", "dspark"]
    assert dspark["speedup"]["mean"] == pytest.approx(8 / 3) and dspark["speedup"]["n"] == 3
    assert (dspark["over"]["transformers"]["mean"], dspark["over"]["transformers"]["n"]) == (8, 1)
    assert groups["trained families", "transformers"]["speedup"]["mean"] == 0.5
    assert dspark["tau"] == 3 and dspark["acceptance"][:4] == [0.5, 1.0, 1.0, 1.0]


def test_the_race_runs_on_it_and_says_in_a_sentence_what_is_missing(
    model: SmallLM, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("dspark_mini.backends.on_one_thread", lambda: True)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    missing = CliRunner().invoke(app, ["race", "--model", "smollm2"])
    assert "`dspark-mini appendix smollm` installs it." in str(missing.exception or missing.output)
    monkeypatch.setattr("dspark_mini.race_view.load_smollm", lambda drafters, temperature: model)
    console = Console(file=io.StringIO(), width=100)
    options = {"model": "smollm2", "methods": SMOLLM_DRAFTERS, "prompts": 2, "max_new_tokens": 8, "domains": ("code",)}
    run_race(RaceOptions(**options, temperature=0.0), console)  # type: ignore[arg-type]
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert all(name in shown for name in SMOLLM_DRAFTERS) and shown.count("yes") == 3
    with pytest.raises(ValueError, match="method is 'dflash'; it must be one of plain, lookup, dspark"):
        RaceOptions(model="smollm2", methods=("dflash",))
