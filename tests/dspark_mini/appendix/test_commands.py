"""`dspark-mini appendix`: trains, goes on, and refuses in one sentence what cannot be."""

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


def test_without_torch_it_says_how_to_get_it(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UserError, match="This needs torch"):
        require_torch("cpu")


def test_a_device_that_is_not_here_is_told() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(UserError, match="The device is 'tpu'; it must be one of cpu, cuda, mps"):
        require_torch("tpu")
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match="no cuda device"):
            require_torch("cuda")


def test_an_unknown_drafter_is_told(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = CliRunner().invoke(app, ["train", "--folder", str(tmp_path), "--only", "eagle"])
    assert isinstance(done.exception, UserError) and "no drafter 'eagle'" in str(done.exception)


def test_a_short_training_makes_a_model_that_runs_and_is_not_repeated(tmp_path: Path, monkeypatch: Any) -> None:
    """Few steps of tiny stages: the texts are nonsense, and still drafts do not change them."""
    pytest.importorskip("torch")
    from dspark_mini.appendix import plan

    monkeypatch.setattr(plan, "STAGES", tuple(replace(stage, steps=2, length=40) for stage in plan.STAGES))
    monkeypatch.setattr(plan, "ROWS", 8)
    monkeypatch.setattr(plan, "DRAFTER_STEPS", 2)
    monkeypatch.setattr(plan, "shipped", lambda: [plan.Job(n, s, 2) for n, s in plan.SHIPPED_DRAFTERS.items()])
    first = CliRunner().invoke(app, ["train", "--folder", str(tmp_path)])
    assert first.exit_code == 0, first.output
    stamps = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert CliRunner().invoke(app, ["train", "--folder", str(tmp_path)]).exit_code == 0
    assert stamps == {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    model = load(tmp_path)
    prompt = prompts(model.tokenizer, "math", 1)[0]
    for name in DRAFTERS:
        model.clear()
        rng = np.random.default_rng(0)
        steps = Steps(block_size=lambda trace: 7)
        assert len(generate(model.target, model.drafters[name], prompt, 12, (), 1.0, rng, steps).output) == 12


def test_evidence_without_weights_says_how_to_make_them(tmp_path: Path, monkeypatch: Any) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("dspark_mini.backends.restart_on_one_thread", lambda: None)
    arguments = ["reproduce", "--folder", str(tmp_path), "--into", str(tmp_path)]
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, UserError) and "appendix train" in str(done.exception)
