"""Small random checkpoints of drafters and targets, and a drafter written with layers of transformers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from transformers.models.qwen3.modeling_qwen3 import (
    Qwen3DecoderLayer,
    Qwen3RMSNorm,
    Qwen3RotaryEmbedding,
    apply_rotary_pos_emb,
)

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
        "transformer_layer_config": {
            **LAYERS,
            **WINDOW,
            "rope_theta": 7.0,  # rope_parameters win
            "rope_parameters": {"rope_type": "default", "rope_theta": 300.0},
        },
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
