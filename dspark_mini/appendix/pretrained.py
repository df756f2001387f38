"""Pretrained drafters, from checkpoints of DeepSpec and Speculators, beside a target from a Hugging Face folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from dspark_mini.appendix.checkpoints import EMBEDDING, HEADS, LM_HEAD, NAMES, Checkpoint, read_checkpoint
from dspark_mini.appendix.drafters import BlockDrafter
from dspark_mini.appendix.engine import TorchBlockDrafter, TorchTarget
from dspark_mini.appendix.files import as_int8
from dspark_mini.appendix.huggingface import INT8, Text, file_names, load_target
from dspark_mini.appendix.model import MAX_POSITIONS, Rotary, Target
from dspark_mini.files import atomic_write
from dspark_mini.kinds import whole
from dspark_mini.lm import SmallLM
from dspark_mini.shapes import DrafterShape, TargetShape


def load_drafter(folder: Path, target: Target, positions: int = MAX_POSITIONS) -> BlockDrafter:
    """Load a drafter of DeepSpec or Speculators.

    Args:
        folder: Checkpoint with config.json and safetensors.
        target: The target, with the drafter's feature layers; gives device and dtype.
        positions: Most tokens of a text.

    Raises:
        ValueError: A file is missing or damaged, a tensor is missing, unknown or misshapen, or the target is another.
    """
    checkpoint = read_checkpoint(folder)
    for problem in checkpoint.problems():
        raise ValueError(problem)
    _check_target(checkpoint, target.shape)
    model, names, weight = checkpoint.model, checkpoint.names, target.embedding.weight
    read = checkpoint.tensors.read(names.values(), weight.dtype)
    state = {name: read[file_name].to(weight.device) for name, file_name in names.items()}
    for name, own in (("embedding.weight", weight), ("lm_head.weight", target.head_weight)):
        if name in state and torch.equal(state[name], own):
            state[name] = own  # one copy in memory
    state["mask"] = state.get("embedding.weight", weight)[checkpoint.mask_token].clone()
    model.load_state_dict(state, assign=True)
    model.rotary = Rotary(model.target, positions + model.shape.block_size + 1).to(weight.device, weight.dtype)
    return model.eval().requires_grad_(False)


def _check_target(checkpoint: Checkpoint, target: TargetShape) -> None:
    config, layers = checkpoint.config, checkpoint.target_layers
    for what, needed, found in (
        ("width", config.hidden_size, target.width),
        ("vocabulary", config.vocab_size, target.vocabulary),
        ("number of layers", layers or target.layers, target.layers),
        ("feature layers", checkpoint.feature_layers, target.feature_layers),
    ):
        if needed != found:
            raise ValueError(f"{checkpoint.folder} drafts for another target: its {what} is {needed}, here {found}.")


def load(
    folder: Path,
    drafter: Path | None = None,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
    positions: int = MAX_POSITIONS,
) -> SmallLM:
    """Load a target, and a drafter named "drafter" beside it, with the engine's interface.

    Args:
        folder: Hugging Face folder of the target, of Llama or Qwen3 type, with tokenizer.json.
        drafter: Checkpoint of DeepSpec or Speculators.
        device, dtype: Where to put the weights, and as what.
        positions: Most tokens of a text.

    Raises:
        ValueError: A folder does not hold such a model, or not all of it, or the two do not fit together.
    """
    layers = (-1,) if drafter is None else read_checkpoint(drafter).feature_layers
    model = load_target(folder, layers, device, dtype, positions)
    target = TorchTarget(model, slots=positions)
    drafters = {} if drafter is None else {"drafter": load_drafter(drafter, model, positions)}
    adapters = {name: TorchBlockDrafter(drafter, target) for name, drafter in drafters.items()}
    return SmallLM(target, adapters, Text(folder))


def save_drafter(folder: Path, drafter: BlockDrafter, target: Target, mask_token: int, int8: bool = False) -> None:
    """Save a drafter as a checkpoint of DeepSpec.

    Args:
        folder: Directory to write.
        drafter: With q/k norms, in the layout of DSpark. One with a draft vocabulary, which DeepSpec has not, is saved
            with draft_vocab_size and d2t, as Speculators' are, and without embedding and LM head.
        target: Gives the embedding and the LM head where the drafter has none of its own.
        mask_token: A token that is never an anchor: DeepSpec keeps the mask in its row of the embedding.
        int8: Whether to save matrices in int8, with a scale per row, as compressed-tensors does.

    Raises:
        ValueError: DeepSpec has no such drafter.
    """
    shape, sizes = drafter.shape, drafter.target
    for what, found in (
        ("q/k norms", sizes.qk_norm),
        ("the layout of DSpark", shape.layout == "dspark"),
        (f"one of the heads {', '.join(HEADS)}", shape.head in ("none", *HEADS.values())),
        ("full attention", not any(drafter.windows)),
    ):
        if not found:
            raise ValueError(f"DeepSpec's drafters have {what}, but this one does not.")
    whole("mask_token", mask_token, 0, sizes.vocabulary - 1)
    state = drafter.state_dict()
    state = {file_name: state[name] for name, file_name in file_names(drafter, NAMES).items()}
    if shape.draft_vocabulary is not None:
        if not torch.equal(drafter.mask, target.embedding.weight[mask_token].to(drafter.mask)):
            raise ValueError(f"With a draft vocabulary, the mask must be row {mask_token} of the target's embedding.")
        state["d2t"] = torch.tensor(shape.draft_vocabulary) - torch.arange(len(shape.draft_vocabulary))
    else:
        state[EMBEDDING] = state.get(EMBEDDING, target.embedding.weight).clone()
        state[EMBEDDING][mask_token] = drafter.mask
        state.setdefault(LM_HEAD, target.head_weight)
    if shape.head == "rnn":
        state.setdefault("markov_head.joint_proj.bias", drafter.mask.new_zeros(3 * shape.rank))
    config = _deepspec_config(shape, sizes, target.shape, mask_token)
    if int8:
        state, config["quantization_config"] = as_int8(state), INT8
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_write(folder / "model.safetensors") as part:
        save_file({name: tensor.cpu().contiguous() for name, tensor in state.items()}, part, {"format": "pt"})
    with atomic_write(folder / "config.json") as part:
        part.write_text(json.dumps(config, indent=2), encoding="utf-8")


def _deepspec_config(shape: DrafterShape, sizes: TargetShape, target: TargetShape, mask_token: int) -> dict[str, Any]:
    config: dict[str, Any] = {
        "architectures": ["Qwen3DSparkModel"],
        "model_type": "qwen3",
        "vocab_size": sizes.vocabulary,
        "hidden_size": sizes.width,
        "intermediate_size": sizes.feed_forward,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": sizes.heads,
        "num_key_value_heads": sizes.kv_heads,
        "head_dim": sizes.head_width,
        "rms_norm_eps": sizes.eps,
        "rope_theta": sizes.rope_theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": sizes.rope_theta, **(sizes.rope_scaling or {})},
        "layer_types": ["full_attention"] * shape.layers,
        "tie_word_embeddings": False,
        "num_target_layers": target.layers,
        "target_layer_ids": list(target.feature_layers),
        "block_size": shape.block_size,
        "mask_token_id": mask_token,
        "num_anchors": 512,  # of DeepSpec's training; it wants the key
        "markov_rank": 0 if shape.head == "none" else shape.rank,
        "enable_confidence_head": shape.head != "none" and shape.confidence != "none",
    }
    if shape.draft_vocabulary is not None:
        config["draft_vocab_size"] = len(shape.draft_vocabulary)
    if shape.head != "none":
        config["markov_head_type"] = next(name for name, head in HEADS.items() if head == shape.head)
        config["confidence_head_with_markov"] = shape.confidence == "markov"
    return config
