"""Convert the GGUF file of a Llama-type model to a Hugging Face folder: config.json, safetensors, tokenizer.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from dspark_mini.files import atomic_write

LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OTHER_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def convert_gguf(path: Path, folder: Path) -> None:
    """Write the model of a GGUF file to a folder, with weights in bfloat16.

    Args:
        path: The GGUF file.
        folder: Directory to write; it exists afterwards.
    """
    from gguf import GGUFReader

    reader = GGUFReader(path)
    fields: dict[str, Any] = {name: field.contents() for name, field in reader.fields.items()}
    config = _config(fields)
    weights = dict(_weight(tensor, config) for tensor in reader.tensors)
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / "model.safetensors") as part:
        save_file(weights, part)
    for name, data in (("tokenizer.json", _tokenizer(fields)), ("config.json", config)):
        with atomic_write(folder / name) as part:
            part.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")


def _config(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "model_type": "llama",
        "hidden_size": fields["llama.embedding_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": fields["llama.attention.head_count"],
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        "intermediate_size": fields["llama.feed_forward_length"],
        "vocab_size": fields["llama.vocab_size"],
        "rope_theta": fields["llama.rope.freq_base"],
        "rms_norm_eps": fields["llama.attention.layer_norm_rms_epsilon"],
        "max_position_embeddings": fields["llama.context_length"],
        "eos_token_id": fields["tokenizer.ggml.eos_token_id"],
        "tie_word_embeddings": True,
    }


def _weight(tensor: Any, config: dict[str, Any]) -> tuple[str, Tensor]:
    """Return the Hugging Face name of a tensor and its values in bfloat16."""
    from gguf.quants import dequantize

    values = torch.tensor(dequantize(tensor.data, tensor.tensor_type))  # (out, in)
    parts = tensor.name.split(".")
    if parts[0] != "blk":
        return f"{OTHER_NAMES[parts[0]]}.weight", values.bfloat16()
    if parts[2] in ("attn_q", "attn_k"):
        values = _halves(values, config["num_attention_heads" if parts[2] == "attn_q" else "num_key_value_heads"])
    return f"model.layers.{parts[1]}.{LAYER_NAMES[parts[2]]}.weight", values.bfloat16().contiguous()


def _halves(weight: Tensor, heads: int) -> Tensor:
    """Reorder the rows of each head from GGUF's rotary pairs (2i, 2i + 1) to Hugging Face's (i, i + d_h / 2)."""
    return weight.unflatten(0, (heads, -1, 2)).transpose(1, 2).flatten(0, 2)


def _tokenizer(fields: dict[str, Any]) -> Any:
    """Return the content of tokenizer.json: byte-level BPE whose digits stand alone, as SmolLM's."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens = fields["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({token: index for index, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, fields["tokenizer.ggml.token_type"]) if kind == 3]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return json.loads(tokenizer.to_str())
