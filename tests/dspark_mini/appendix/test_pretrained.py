"""Checkpoints of DeepSpec and Speculators, and targets from Hugging Face folders, against layers of transformers."""

from __future__ import annotations

import json
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
from transformers.models.qwen3.modeling_qwen3 import (  # noqa: E402
    Qwen3DecoderLayer,
    Qwen3RMSNorm,
    Qwen3RotaryEmbedding,
    apply_rotary_pos_emb,
)
from typer.testing import CliRunner  # noqa: E402

from dspark_mini.appendix.checkpoints import read_checkpoint  # noqa: E402
from dspark_mini.appendix.commands import app  # noqa: E402
from dspark_mini.appendix.engine import TorchBlockDrafter, TorchTarget  # noqa: E402
from dspark_mini.appendix.huggingface import load_target  # noqa: E402
from dspark_mini.appendix.inspection import drafter_cost  # noqa: E402
from dspark_mini.appendix.pretrained import load, load_drafter, save_drafter  # noqa: E402
from dspark_mini.engine import Steps, generate  # noqa: E402

V, D, R, MASK = 12, 32, 6, 11
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
SIZES = {"vocab_size": V, "hidden_size": D, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40}
TARGETS = {
    "qwen3": {
        **SIZES,
        "num_key_value_heads": 2,
        "head_dim": 10,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4},
    },
    "llama": {
        **SIZES,
        "num_key_value_heads": 4,
        "rope_parameters": {**LLAMA3, "original_max_position_embeddings": 16},
        "tie_word_embeddings": True,
    },
}
LAYERS = {
    "model_type": "qwen3",
    **SIZES,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "num_key_value_heads": 3,
    "head_dim": 8,
    "intermediate_size": 24,
    "rms_norm_eps": 1e-5,
    "rope_theta": 300.0,
}
DEEPSPEC = {
    "architectures": ["Qwen3DSparkModel"],
    **LAYERS,
    "num_target_layers": 3,
    "target_layer_ids": [0, 2],
    "block_size": 5,
    "mask_token_id": MASK,
    "markov_rank": R,
    "markov_head_type": "vanilla",
    "enable_confidence_head": True,
    "confidence_head_with_markov": True,
}
WINDOW = {"sliding_window": 4, "use_sliding_window": True, "layer_types": ["sliding_attention", "full_attention"]}
SPECULATORS = {
    "speculators_model_type": "dspark",
    "transformer_layer_config": LAYERS,
    "aux_hidden_state_layer_ids": [0, 2],
    "block_size": 5,
    "mask_token_id": MASK,
    "draft_vocab_size": V,
    "markov_rank": R,
}
KINDS: dict[str, dict[str, Any]] = {
    "vanilla": DEEPSPEC,
    "gated": {**DEEPSPEC, "markov_head_type": "gated", "confidence_head_with_markov": False},
    "rnn": {**DEEPSPEC, "markov_head_type": "rnn", "enable_confidence_head": False},
    "no head": {**DEEPSPEC, "markov_rank": 0, "enable_confidence_head": False, "target_layer_ids": [-1, 1]},
    "speculators dspark": {**SPECULATORS, "transformer_layer_config": {**LAYERS, **WINDOW}, "draft_vocab_size": 7},
    "speculators dflash": {
        **SPECULATORS,
        "speculators_model_type": "dflash",
        "transformer_layer_config": {**LAYERS, **WINDOW},
        "sliding_window_non_causal": True,
        "markov_rank": 0,
    },
}
D2T = [0, 0, 1, 1, 3, 4, 4]  # draft tokens 0..6 are 0, 1, 3, 4, 7, 9, 10
RARE = [token for token in range(V) if token not in (1, 4)]  # so that target and drafter agree now and then


def write_target(folder: Path, kind: str) -> Any:
    """Write a random model in several shards, and return it."""
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, **TARGETS[kind], rms_norm_eps=1e-6, initializer_range=0.3)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    model.lm_head.weight.data[RARE] *= 0.1
    model.save_pretrained(folder, max_shard_size="20KB")
    return model


@pytest.fixture(scope="module")
def qwen3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random Qwen3-type target."""
    folder = tmp_path_factory.mktemp("target")
    write_target(folder, "qwen3")
    return folder


def shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the tensors of a checkpoint of either kind."""
    sizes = config.get("transformer_layer_config", config)
    inner, queries, keys, dim = sizes["intermediate_size"], 6 * 8, 3 * 8, 8
    rank, drafted = config["markov_rank"], config.get("draft_vocab_size", V)
    out: dict[str, tuple[int, ...]] = {"fc": (D, 2 * D), "hidden_norm": (D,), "norm": (D,), "lm_head": (drafted, D)}
    for i in range(2):
        layer = {"input_layernorm": (D,), "post_attention_layernorm": (D,), "self_attn.q_proj": (queries, D)}
        layer |= {"self_attn.k_proj": (keys, D), "self_attn.v_proj": (keys, D), "self_attn.o_proj": (D, queries)}
        layer |= {"self_attn.q_norm": (dim,), "self_attn.k_norm": (dim,)}
        layer |= {"mlp.gate_proj": (inner, D), "mlp.up_proj": (inner, D), "mlp.down_proj": (D, inner)}
        out |= {f"layers.{i}.{name}": shape for name, shape in layer.items()}
    if "speculators_model_type" not in config:
        out["embed_tokens"] = (V, D)
    if rank:
        out |= {"markov_head.markov_w1": (V, rank), "markov_head.markov_w2": (drafted, rank)}
    head = config.get("markov_head_type") if rank else None
    if head in ("gated", "rnn"):
        name, rows, columns = ("gate", rank, D + rank) if head == "gated" else ("joint", 3 * rank, 2 * rank + D)
        out |= {f"markov_head.{name}_proj": (rows, columns), f"markov_head.{name}_proj.bias": (rows,)}
    if config.get("enable_confidence_head", rank > 0):
        reads = D + rank * config.get("confidence_head_with_markov", True)
        out |= {"confidence_head.proj": (1, reads), "confidence_head.proj.bias": (1,)}
    return {name if name.endswith("bias") else f"{name}.weight": shape for name, shape in out.items()}


def write_drafter(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """Write a random checkpoint, and return its tensors."""
    folder.mkdir(exist_ok=True)
    generator = torch.Generator().manual_seed(1)
    tensors = {
        name: torch.randn(shape, generator=generator) * (0.3 if len(shape) > 1 else 0.2) + (len(shape) == 1)
        for name, shape in shapes(config).items()
    }
    if config.get("draft_vocab_size", V) != V:
        tensors["d2t"] = torch.tensor(D2T)
    drafted = [i + offset for i, offset in enumerate(tensors.get("d2t", torch.zeros(V, dtype=int)).tolist())]
    if config["markov_rank"] and config.get("markov_head_type") != "rnn":  # a token is likely to follow itself
        tensors["markov_head.markov_w2.weight"] = 4 * tensors["markov_head.markov_w1.weight"][drafted]
    tensors["lm_head.weight"][[i for i, token in enumerate(drafted) if token in RARE]] *= 0.1
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return tensors


class Plain:
    """A drafter written from the formats' definition with layers of transformers, and the loop around it.

    Nothing is cached: every round runs the target and the drafter over the whole text.
    """

    def __init__(self, target: Any, config: dict[str, Any], tensors: dict[str, Any]) -> None:
        self.target, self.config, self.tensors = target, config, tensors
        sizes = config.get("transformer_layer_config", config)
        layers = transformers.Qwen3Config(**sizes, attn_implementation="eager")
        self.layers = [Qwen3DecoderLayer(layers, i) for i in range(2)]
        for i, layer in enumerate(self.layers):
            prefix = f"layers.{i}."
            layer.load_state_dict({n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)})
        self.rotary, self.norms = Qwen3RotaryEmbedding(layers), {}
        for name in ("hidden_norm", "norm"):
            self.norms[name] = Qwen3RMSNorm(D, eps=1e-5)
            self.norms[name].weight.data = tensors[f"{name}.weight"]
        self.speculators = "speculators_model_type" in config
        ids = config["aux_hidden_state_layer_ids" if self.speculators else "target_layer_ids"]
        self.states = [i + (not self.speculators) for i in ids]  # of hidden_states, where 0 is the embedding
        self.outputs: dict[int, Any] = {}  # by layer, before the final norm; hidden_states has the last one after it
        for i, layer in enumerate((target.get_input_embeddings(), *target.model.layers)):
            layer.register_forward_hook(lambda module, given, out, i=i: self.outputs.update({i: out}))
        self.skip = int(config.get("speculators_model_type") == "dflash")
        self.drafted = [i + offset for i, offset in enumerate(tensors.get("d2t", torch.zeros(V, dtype=int)).tolist())]

    def hidden(self, text: list[int]) -> Any:
        """Return h_1..h_γ of the block whose anchor is the last token."""
        before = len(text) - 1
        embedding = self.tensors.get("embed_tokens.weight", self.target.get_input_embeddings().weight)
        x = embedding[torch.tensor([text[-1]] + [MASK] * (self.config["block_size"] - 1))][None]
        self.target(torch.tensor([text]))
        features = torch.cat([self.outputs[i] for i in self.states], dim=-1)[:, :before]
        fused = self.norms["hidden_norm"](features @ self.tensors["fc.weight"].T)
        cos, sin = self.rotary(x, torch.arange(before + x.shape[1])[None])
        cache = transformers.DynamicCache()
        for i, layer in enumerate(self.layers):
            attention = layer.self_attn
            keys = attention.k_norm(attention.k_proj(fused).unflatten(-1, (3, 8))).transpose(1, 2)
            values = attention.v_proj(fused).unflatten(-1, (3, 8)).transpose(1, 2)
            cache.update(*apply_rotary_pos_emb(values, keys, cos[:, :before], sin[:, :before])[1:], values, i)
            block = cos[:, before:], sin[:, before:]
            x = layer(x, attention_mask=self.mask(i, before), cache=cache, position_embeddings=block)
        return self.norms["norm"](x)[0, self.skip :]

    def mask(self, layer: int, before: int) -> Any:
        """Return what is added to the scores."""
        size, kinds = self.config["block_size"], self.config.get("transformer_layer_config", {}).get("layer_types")
        added = torch.zeros(1, 1, size, before + size)
        if kinds and kinds[layer] == "sliding_attention":
            added[..., : max(before - 4, 0)] = -torch.inf
            if not self.config.get("sliding_window_non_causal"):
                added[..., before:] += torch.full((size, size), -torch.inf).triu(1)
        return added

    def block(self, text: list[int]) -> tuple[Any, list[int], list[float] | None]:
        """Return the corrected logits over the draft vocabulary, the greedy drafts, and the confidences."""
        hidden, tensors, tokens, rows = self.hidden(text), self.tensors, text[-1:], []
        kind = self.config.get("markov_head_type", "vanilla") if self.config["markov_rank"] else None
        state, read = torch.zeros(R), []
        for h in hidden:
            row = tensors["lm_head.weight"] @ h
            if kind:
                e = tensors["markov_head.markov_w1.weight"][tokens[-1]]
                read.append(torch.cat((h, e)) if self.config.get("confidence_head_with_markov", True) else h)
                if kind == "gated":
                    gate = tensors["markov_head.gate_proj.weight"] @ torch.cat((h, e))
                    e = e * torch.sigmoid(gate + tensors["markov_head.gate_proj.bias"])
                if kind == "rnn":
                    joint = tensors["markov_head.joint_proj.weight"] @ torch.cat((state, e, h))
                    g, c, o = (joint + tensors["markov_head.joint_proj.bias"]).split(R)
                    state, e = g.sigmoid() * state + (1 - g.sigmoid()) * c.tanh(), o.tanh()
                row = row + tensors["markov_head.markov_w2.weight"] @ e
            rows.append(row)
            tokens.append(self.drafted[int(row.argmax())])
        confidences = None
        if "confidence_head.proj.weight" in tensors:
            weight, bias = tensors["confidence_head.proj.weight"], tensors["confidence_head.proj.bias"]
            confidences = (torch.stack(read) @ weight[0] + bias).sigmoid().tolist()
        return torch.stack(rows), tokens[1:], confidences

    def generate(self, prompt: list[int], count: int) -> tuple[list[int], list[list[int]]]:
        """Return the text and the tokens of each round."""
        text, rounds = list(prompt), list[list[int]]()
        while len(text) < len(prompt) + count:
            left = len(prompt) + count - len(text)
            drafts = self.block(text)[1][: left - 1]
            best = self.target(torch.tensor([text + drafts])).logits[0].argmax(-1).tolist()[len(text) - 1 :]
            accepted = next((k for k, token in enumerate(drafts) if token != best[k]), len(drafts))
            rounds.append(best[: accepted + 1])
            text += rounds[-1]
        return text[len(prompt) :], rounds


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
        ("vanilla", {"target_layer_ids": [0, 3]}, {}, "feature_layers is .0, 3.; it must name some of the 3 layers"),
        ("vanilla", {"num_target_layers": 36}, {}, "its number of layers is 36, here 3"),
        ("vanilla", {"vocab_size": 13}, {}, "has the shape .12, 6.; it must be .13, 6."),
        ("vanilla", {"markov_head_type": "lstm"}, {}, "markov_head_type 'lstm'; it must be one of vanilla, gated, rnn"),
        ("vanilla", {"markov_rank": 0}, {}, "a confidence head but no Markov head"),
        ("vanilla", {"model_type": "gemma4"}, {}, "model_type 'gemma4'; only 'llama' and 'qwen3'"),
        ("vanilla", {"rope_scaling": {"rope_type": "yarn"}}, {}, "scales RoPE by {'rope_type': 'yarn'}"),
        ("vanilla", {"attention_bias": True}, {}, "sets attention_bias to True"),
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
