"""`dspark-mini appendix`: training that resumes, and refusals in one sentence."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from dspark_mini.appendix.commands import app
from dspark_mini.appendix.devices import require_torch
from dspark_mini.engine import Steps, generate
from dspark_mini.lm import DRAFTERS, load, prompts
from dspark_mini.workspace import UserError


def test_without_torch_the_error_says_how_to_install_it(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match="This needs torch"):
        require_torch("cpu")


def test_unknown_and_unavailable_devices_are_refused(monkeypatch: Any) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(UserError, match="The device is 'tpu'; it must be one of cpu, cuda, mps"):
        require_torch("tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="no cuda device"):
        require_torch("cuda")


def test_a_short_training_gives_models_that_run_and_is_not_repeated(tmp_path: Path, monkeypatch: Any) -> None:
    pytest.importorskip("torch")
    from dspark_mini.appendix import plan

    monkeypatch.setattr(plan, "STAGES", tuple(replace(stage, steps=2, length=40) for stage in plan.STAGES))
    monkeypatch.setattr(plan, "ROWS", 8)
    monkeypatch.setattr(plan, "DRAFTER_STEPS", 2)
    first = CliRunner().invoke(app, ["train", "--folder", str(tmp_path)])
    assert first.exit_code == 0, first.output
    written = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert CliRunner().invoke(app, ["train", "--folder", str(tmp_path)]).exit_code == 0
    assert written == {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    model = load(tmp_path)
    prompt = prompts(model.tokenizer, "math", 1)[0]
    for name in DRAFTERS:
        model.clear()
        rng, steps = np.random.default_rng(0), Steps(block_size=lambda trace: 7)
        assert len(generate(model.target, model.drafters[name], prompt, 12, (), 1.0, rng, steps).output) == 12


@pytest.mark.parametrize(
    ("command", "message"),
    [(["train", "--only", "eagle"], "no drafter 'eagle'"), (["reproduce"], "`dspark-mini appendix train` makes it")],
)
def test_an_unknown_drafter_and_missing_weights_are_refused(
    command: list[str], message: str, tmp_path: Path, monkeypatch: Any
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("dspark_mini.backends.restart_on_one_thread", lambda: None)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, [*command, "--folder", str(tmp_path)])
    assert isinstance(result.exception, UserError) and message in str(result.exception)
