"""Checkpoints of DeepSpec and Speculators, and targets from Hugging Face folders, against layers of transformers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

from safetensors.torch import load_file, save_file  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from dspark_mini.appendix.checkpoints import read_checkpoint  # noqa: E402
from dspark_mini.appendix.commands import app  # noqa: E402
from dspark_mini.appendix.engine import TorchBlockDrafter, TorchTarget  # noqa: E402
from dspark_mini.appendix.huggingface import load_target  # noqa: E402
from dspark_mini.appendix.inspection import drafter_cost  # noqa: E402
from dspark_mini.appendix.pretrained import load, load_drafter, save_drafter  # noqa: E402
from dspark_mini.engine import Steps, generate  # noqa: E402
from tests.dspark_mini.appendix.plain import (  # noqa: E402
    KINDS,
    LAYERS,
    MASK,
    TARGETS,
    WINDOW,
    D,
    Plain,
    V,
    write_drafter,
    write_target,
)


@pytest.fixture(scope="module")
def qwen3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Qwen3-type target."""
    folder = tmp_path_factory.mktemp("target")
    write_target(folder, "qwen3")
    return folder


@torch.inference_mode()
@pytest.mark.parametrize(("kind", "target"), list(zip(KINDS, ("qwen3", "llama") * 3)))
def test_a_checkpoint_drafts_as_layers_of_transformers_do(tmp_path: Path, kind: str, target: str) -> None:
    config, reference = KINDS[kind], write_target(tmp_path / "target", target)
    plain = Plain(reference, config, write_drafter(tmp_path / "drafter", config))
    model = load_target(tmp_path / "target", read_checkpoint(tmp_path / "drafter").feature_layers)
    adapter = TorchTarget(model, slots=100)
    drafter = TorchBlockDrafter(load_drafter(tmp_path / "drafter", model), adapter)
    prompt = np.random.default_rng(0).integers(V, size=9).tolist()
    logits = adapter.forward(prompt[:-1])
    assert np.abs(logits - reference(torch.tensor([prompt[:-1]])).logits[0].numpy()).max() < 1e-5
    drafter.cache.extend(prompt[:-1])
    size = drafter.shape.block_size
    base = drafter.block_logits(prompt[-1], size)
    tokens, q = drafter.chain(base, prompt[-1], size, 0.0, None)
    rows, expected, confidences = plain.block(prompt)
    assert tokens == expected and len(tokens) == size == config["block_size"] - plain.skip
    difference = np.log(q[:, plain.drafted]) - rows.log_softmax(-1).numpy()
    assert np.abs(difference).max() < 1e-5
    if confidences is not None:
        assert drafter.confidences(prompt[-1], tokens, base) == pytest.approx(confidences, abs=1e-5)
    for cache in (adapter.cache, drafter.cache):
        cache.drop(cache.rows)
    trace = generate(adapter, drafter, prompt, 20, steps=Steps(block_size=lambda trace: size))
    text, rounds = plain.generate(prompt, 20)
    assert trace.output == text and [round_.emitted for round_ in trace.rounds] == rounds
    assert len(rounds) < 20  # some drafts were accepted


@torch.inference_mode()
@pytest.mark.parametrize("kind", TARGETS)
def test_positions_may_exceed_4096(tmp_path: Path, kind: str) -> None:
    reference, places = write_target(tmp_path, kind), 450 * torch.arange(12)[None]
    expected = reference(torch.arange(12)[None], position_ids=places).logits
    got, _ = load_target(tmp_path, positions=5000)(torch.arange(12)[None], positions=places[0])
    assert (got - expected).abs().max() < 1e-5


@pytest.mark.parametrize("kind", ["vanilla", "gated", "rnn", "no head"])
def test_a_saved_drafter_is_the_checkpoint_it_was_loaded_from(qwen3: Path, tmp_path: Path, kind: str) -> None:
    tensors = write_drafter(tmp_path / "drafter", KINDS[kind])
    target = load_target(qwen3, read_checkpoint(tmp_path / "drafter").feature_layers)
    save_drafter(tmp_path / "saved", load_drafter(tmp_path / "drafter", target), target, MASK)
    saved, config = (
        load_file(tmp_path / "saved/model.safetensors"),
        json.loads((tmp_path / "saved/config.json").read_text()),
    )
    assert saved.keys() == tensors.keys() and all(torch.equal(saved[name], tensors[name]) for name in saved)
    gone = {name for name, value in KINDS[kind].items() if config.get(name) != value}
    assert gone <= {"markov_head_type", "confidence_head_with_markov"}  # which DeepSpec leaves out without these heads
    assert transformers.Qwen3Config(**config).rope_parameters["rope_theta"] == 300.0


def test_int8_keeps_each_weight_within_half_a_step_of_its_row(qwen3: Path, tmp_path: Path) -> None:
    write_drafter(tmp_path / "drafter", KINDS["vanilla"])
    target = load_target(qwen3, read_checkpoint(tmp_path / "drafter").feature_layers)
    drafter = load_drafter(tmp_path / "drafter", target)
    save_drafter(tmp_path / "saved", drafter, target, MASK, int8=True)
    weights, found = drafter.state_dict(), load_drafter(tmp_path / "saved", target).state_dict()
    weights["mask"] = found["mask"]  # a row of the embedding
    assert found.keys() == weights.keys() and not read_checkpoint(tmp_path / "saved").problems()
    for name, weight in weights.items():
        steps = weight.abs().amax(-1, keepdim=True) / 127 if weight.ndim == 2 else torch.zeros(1)
        assert ((found[name] - weight).abs() <= 0.501 * steps).all(), name


@torch.inference_mode()
@pytest.mark.parametrize("kind", KINDS)
def test_the_cost_is_that_of_the_products_of_a_round(tmp_path: Path, kind: str) -> None:
    write_drafter(tmp_path, KINDS[kind])
    checkpoint = read_checkpoint(tmp_path)
    model, shape = checkpoint.model, checkpoint.shape
    model.embedding = torch.nn.Embedding(V, D, device="meta")
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        features = torch.zeros(1, 1, 2 * D, device="meta")
        model.context_rows(features, torch.zeros(1, dtype=int, device="meta"))
        block = model.block_inputs(torch.zeros(1, dtype=int, device="meta"), None)
        cached = [(torch.zeros(1, 3, 20, 8, device="meta"),) * 2] * 2
        hidden = model(block, torch.zeros(block.shape[1], dtype=int, device="meta"), cached, None)
        model.lm_head(hidden)
        if model.head is not None:
            tokens = torch.zeros(1, shape.block_size, dtype=int, device="meta")
            model.head.biases(hidden, tokens)
            if model.head.confidence is not None:
                model.head.confidence_logits(hidden, tokens)
    assert drafter_cost(checkpoint, 20)["round"][1] == counter.get_total_flops() / 2


GATE = "markov_head.gate_proj.bias"


@pytest.mark.parametrize(
    ("kind", "changes", "tensors", "message"),
    [
        ("gated", {}, {GATE: None}, f"lack the tensor {GATE}"),
        ("gated", {}, {GATE: torch.zeros(3)}, rf"{GATE} in .* has the shape \(3,\); it must be \(6,\)"),
        ("vanilla", {}, {GATE: torch.zeros(6)}, f"hold {GATE}, which such a model does not have"),
        ("speculators dspark", {}, {"d2t": None}, "lack the tensor d2t"),
        (
            "speculators dspark",
            {},
            {"d2t": torch.arange(7)},
            r"6 \+ d2t\[6\] must be a whole number from 0 to 11",
        ),
        (
            "speculators dspark",
            {},
            {"d2t": -torch.arange(7)},
            r"draft_vocabulary\[1\] is 0, which stands at",
        ),
        ("vanilla", {"block_size": None}, {}, "does not say block_size"),
        ("vanilla", {"mask_token_id": 12}, {}, "mask_token_id must be a whole number from 0 to 11, not 12"),
        ("vanilla", {"target_layer_ids": None}, {}, "neither target_layer_ids nor speculators_model_type"),
        ("vanilla", {"target_layer_ids": [0, "2"]}, {}, r"target_layer_ids\[1\]"),
        (
            "vanilla",
            {"target_layer_ids": [0, 3]},
            {},
            r"target_layer_ids\[1\] must be a whole number from -1 to 2, not 3",
        ),
        ("vanilla", {"num_target_layers": 36}, {}, "its number of layers is 36, here 3"),
        ("vanilla", {"vocab_size": 13}, {}, "has the shape .12, 6.; it must be .13, 6."),
        ("vanilla", {"markov_head_type": "lstm"}, {}, "markov_head_type 'lstm'; it must be one of vanilla, gated, rnn"),
        ("vanilla", {"markov_rank": 0}, {}, "a confidence head but no Markov head"),
        ("vanilla", {"model_type": "gemma4"}, {}, "model_type 'gemma4'; only 'llama' and 'qwen3'"),
        ("vanilla", {"rope_scaling": {"rope_type": "yarn"}}, {}, "scales RoPE by {'rope_type': 'yarn'}"),
        ("vanilla", {"rope_scaling": "yarn"}, {}, "scales RoPE by 'yarn'"),
        ("vanilla", {"rope_theta": "1e6"}, {}, "rope_theta must be a finite number above 0, not '1e6'"),
        ("vanilla", {"num_hidden_layers": 10**7}, {}, "num_hidden_layers must be a whole number from 1 to 1000"),
        ("vanilla", {"num_attention_heads": 7}, {}, "not a multiple of num_key_value_heads"),
        ("vanilla", {"head_dim": 9}, {}, "head_dim = 9; RoPE needs an even one"),
        ("vanilla", {"attention_bias": True}, {}, "sets attention_bias to True"),
        (
            "speculators dspark",
            {"transformer_layer_config": {**LAYERS, **WINDOW, "layer_types": ["sliding_attention"]}},
            {},
            "each of 2 must be full_attention or sliding_attention",
        ),
        ("speculators dspark", {"aux_hidden_state_layer_ids": 2}, {}, "does not say .* aux_hidden_state_layer_ids"),
        ("speculators dspark", {"speculators_model_type": "eagle3"}, {}, "only 'dflash' and 'dspark' can be loaded"),
        ("speculators dspark", {"transformer_layer_config": None}, {}, "does not say transformer_layer_config"),
        ("speculators dspark", {"sample_from_anchor": False, "markov_head_type": "rnn"}, {}, "joins an RNN head with"),
    ],
)
def test_what_cannot_be_loaded_is_one_sentence(
    qwen3: Path, tmp_path: Path, kind: str, changes: dict[str, Any], tensors: dict[str, Any], message: str
) -> None:
    stored = write_drafter(tmp_path, KINDS[kind]) | tensors
    save_file({name: value for name, value in stored.items() if value is not None}, tmp_path / "model.safetensors")
    config = {name: value for name, value in (KINDS[kind] | changes).items() if value is not None}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=message) as error:
        load_drafter(tmp_path, load_target(qwen3, read_checkpoint(tmp_path).feature_layers))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tokenizer.json", "{}", "is damaged or not a tokenizer"),
        ("config.json", "[" * 100_000, "cannot be read as JSON"),
        ("model.safetensors.index.json", '{"weight_map": {"fc": 1}}', "does not say weight_map"),
        ("model.safetensors.index.json", '{"weight_map": {}}', "hold no numbers"),
    ],
)
def test_a_damaged_file_is_one_sentence(qwen3: Path, tmp_path: Path, name: str, content: str, message: str) -> None:
    shutil.copytree(qwen3, tmp_path, dirs_exist_ok=True)
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message) as error:
        load(tmp_path)
    assert "\n" not in str(error.value)


def test_from_two_folders_to_a_text(tmp_path: Path) -> None:
    write_target(tmp_path / "target", "llama")
    vocabulary = {"<end>": 0, **{word: i + 1 for i, word in enumerate("abcdefghijk")}}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, "<end>"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "target/tokenizer.json"))
    (tmp_path / "target/generation_config.json").write_text('{"eos_token_id": [0]}')
    write_drafter(tmp_path / "drafter", KINDS["gated"])
    texts = []
    for drafter in (None, tmp_path / "drafter"):
        model = load(tmp_path / "target", drafter)
        text, stops = model.tokenizer, model.tokenizer.stops
        trace = generate(model.target, model.drafters.get("drafter"), text.encode("b a d g e"), 12, stops)
        texts.append(text.decode(trace.output))
    assert texts[0] == texts[1] and stops == [0]
    half = load(tmp_path / "target", tmp_path / "drafter", dtype=torch.bfloat16, positions=40)
    assert generate(half.target, half.drafters["drafter"], [1, 2, 3], 12).output
    half.clear()
    with pytest.raises(ValueError, match="The text has 41 tokens, but the cache has 40 slots"):
        generate(half.target, None, list(range(12)) * 3 + [0] * 5, 2)


def test_inspect_lists_all_that_is_wrong(qwen3: Path, tmp_path: Path) -> None:
    stored = write_drafter(tmp_path, KINDS["rnn"]) | {"extra": torch.zeros(1)}
    del stored["fc.weight"], stored["norm.weight"]
    save_file(stored, tmp_path / "model.safetensors")
    result = CliRunner().invoke(app, ["inspect", str(tmp_path)])
    assert result.exit_code == 0 and "DSpark with a rnn head of rank 6, in the format of DeepSpec" in result.output
    for problem in ("lack the tensor fc.weight", "lack the tensor norm.weight", "hold extra"):
        assert problem in result.output
    result = CliRunner().invoke(app, ["inspect", str(qwen3), "--context", "10"])
    assert "a target of type qwen3" in result.output and "has no tokenizer.json" in result.output
