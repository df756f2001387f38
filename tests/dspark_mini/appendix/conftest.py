"""One torch thread per test process: with more, parallel test processes wait for each other. A tiny Llama model."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

with contextlib.suppress(ImportError):  # without torch these tests are skipped
    import torch

    torch.set_num_threads(1)

CONFIG = {"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 30, "num_attention_heads": 4}
CONFIG |= {"num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 300, "rms_norm_eps": 1e-5}


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model as deep as SmolLM2, in a Hugging Face folder without a tokenizer."""
    from safetensors.torch import save_file

    from dspark_mini.appendix.huggingface import empty_target, read_config

    path, generator = tmp_path_factory.mktemp("model"), torch.Generator().manual_seed(0)
    (path / "config.json").write_text(json.dumps({**CONFIG, "tie_word_embeddings": True}))
    weights = {
        name: torch.randn(shape, generator=generator) * 0.15 if len(shape) > 1 else torch.ones(shape)
        for name, shape in empty_target(read_config(path).shape())[2].items()
    }
    save_file(weights, path / "model.safetensors")
    return path
