"""The models in torch: the numbers of NumPy, one forward in training and in the engine, training that goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import dspark_mini  # noqa: E402
from dspark_mini import drafts  # noqa: E402
from dspark_mini.appendix.blocks import Blocks, block_hidden, chain_hidden, draft_loss, sample_anchors  # noqa: E402
from dspark_mini.appendix.drafters import make_drafter  # noqa: E402
from dspark_mini.appendix.engine import load as load_torch  # noqa: E402
from dspark_mini.appendix.model import KVCache, Target  # noqa: E402
from dspark_mini.appendix.training import fit, load_drafter, load_target, save_model  # noqa: E402
from dspark_mini.corpus import DOMAINS  # noqa: E402
from dspark_mini.engine import Steps, TreeSteps, generate  # noqa: E402
from dspark_mini.layers import SLOTS  # noqa: E402
from dspark_mini.lm import DRAFTERS, load, prompts  # noqa: E402
from dspark_mini.shapes import DrafterShape, TargetShape  # noqa: E402
from dspark_mini.weights import SHIPPED  # noqa: E402

WORDS = [f"w{i}" for i in range(38)] + ["<end>", "."]
SMALL = TargetShape(40, width=24, layers=4, heads=4, kv_heads=4, feed_forward=40, feature_layers=(0, 2))
OTHER = replace(SMALL, kv_heads=2, rope_theta=5e5, tied=False)  # grouped queries, another base, an own head
HALF = tuple(range(1, 40, 2))  # a draft vocabulary smaller than the target's
SHAPES = {
    "dflash": DrafterShape(layout="dflash", head="none", block_size=5),
    "dspark": DrafterShape(block_size=5, rank=8),
    "dspark-gated": DrafterShape(head="gated", block_size=5, rank=8),
    "dspark-rnn": DrafterShape(head="rnn", block_size=5, rank=8),
    "domino": DrafterShape(head="gru", block_size=5, rank=8),
    "autoregressive": DrafterShape(kind="autoregressive", head="none", layers=1, block_size=5),
}


@pytest.fixture(params=[(SMALL, None), (OTHER, HALF)], ids=["as shipped", "another Llama"])
def folder(request: Any, tmp_path: Path) -> Path:
    """Random weights of a target and its drafters."""
    shape, drafted = request.param
    torch.manual_seed(0)
    save_model(tmp_path / "target.safetensors", Target(shape), shape, words=WORDS)
    for name, drafter in SHAPES.items():
        full = replace(drafter, draft_vocabulary=drafted)
        save_model(tmp_path / f"{name}.safetensors", make_drafter(full, shape), full)
    return tmp_path


@torch.inference_mode()
def test_numpy_and_torch_say_the_same(folder: Path) -> None:
    tokens = np.random.default_rng(0).integers(40, size=30).tolist()
    logits, features = load_target(folder / "target.safetensors")[0](torch.tensor([tokens]))
    for model in (load(folder), load_torch(folder)):
        got = np.concatenate([model.target.forward(tokens[:20]), model.target.forward(tokens[20:])])
        assert np.abs(got - logits[0].numpy()).max() < 1e-4
        cached = np.asarray(model.target.cache.features).reshape(-1, features.shape[-1])[:30]
        assert np.abs(cached - features[0].numpy()).max() < 1e-4


@torch.inference_mode()
@pytest.mark.parametrize("name", DRAFTERS)
def test_the_engine_drafts_what_the_training_forward_says(folder: Path, name: str, monkeypatch: Any) -> None:
    """The drafted tokens are forced, so that both walk the same chain."""
    tokens, at = np.random.default_rng(1).integers(20, size=40).tolist(), 23
    tokens = [2 * token + 1 for token in tokens]  # all of them in the smaller draft vocabulary, too
    target, _ = load_target(folder / "target.safetensors")
    trained = load_drafter(folder / f"{name}.safetensors", target)
    logits, features = target(torch.tensor([tokens]))
    blocks = Blocks(torch.tensor([tokens]), features, logits, torch.tensor([[at]]))
    chained = name == "autoregressive"
    hidden = (chain_hidden(trained, target, blocks, 5) if chained else block_hidden(trained, target, blocks))[0, 0]
    scores = trained.base_logits(hidden, target)
    if not chained and trained.head is not None:
        scores = scores + trained.head.biases(hidden[None], blocks.tokens[:, at : at + 5])[0]
    expected = scores.softmax(-1).numpy()
    for model in (load(folder), load_torch(folder)):
        drafter, forced = model.drafters[name], iter(tokens[at + 1 :])
        model.target.forward(tokens[:at])
        drafter.cache.extend(tokens[:9])
        drafter.cache.extend(tokens[9:at])
        base = drafter.block_logits(tokens[at], 5)
        monkeypatch.setattr(drafts, "draw", lambda weights, rng, forced=forced: next(forced))
        _, q = drafter.chain(base, tokens[at], 5, 1.0, None)
        columns = list(trained.shape.draft_vocabulary or range(40))
        assert np.abs(q[:, columns] - expected).max() < 1e-5
        assert q.sum() == pytest.approx(5.0)


@torch.inference_mode()
def test_blocks_see_nothing_at_or_behind_their_anchor_and_nothing_of_each_other() -> None:
    torch.manual_seed(0)
    target = Target(SMALL)
    drafter = make_drafter(SHAPES["dspark"], SMALL)
    tokens = torch.randint(40, (1, 40))
    logits, features = target(tokens)
    anchors = torch.tensor([[10, 12, 30]])
    before = block_hidden(drafter, target, Blocks(tokens, features, logits, anchors))
    changed = features.clone()
    changed[:, 12:] += 1.0
    after = block_hidden(drafter, target, Blocks(tokens, changed, logits, anchors))
    assert torch.allclose(before[:, :2], after[:, :2], atol=1e-6) and not torch.allclose(before[:, 2], after[:, 2])
    alone = block_hidden(drafter, target, Blocks(tokens, features, logits, anchors[:, 1:2]))
    assert torch.allclose(alone[:, 0], before[:, 1], atol=1e-6)


@pytest.mark.parametrize("name", SHAPES)
def test_the_loss_falls_where_a_drafter_learns(name: str) -> None:
    torch.manual_seed(0)
    target = Target(SMALL).requires_grad_(False)
    target.embedding.weight *= 15.0  # rows that are far from uniform, so that there is something to learn
    drafter = make_drafter(SHAPES[name], SMALL)
    generator, tokens = torch.Generator().manual_seed(0), torch.randint(40, (4, 40))
    logits, features = target(tokens)
    optimizer, losses = torch.optim.AdamW(drafter.parameters(), 3e-3), []
    for _ in range(25):
        anchors = sample_anchors(4, 40, 8, 5, generator)
        parts = draft_loss(drafter, target, Blocks(tokens, features, logits, anchors))
        optimizer.zero_grad()
        parts["loss"].backward()
        optimizer.step()
        losses.append(parts["loss"].item())
    assert np.mean(losses[-5:]) < 0.95 * np.mean(losses[:3])
    assert all(0 <= value <= 1 for value in parts["overlap"])
    assert target.embedding.weight.grad is None


WAYS = {name: Steps(block_size=lambda trace: 5) for name in DRAFTERS}
WAYS |= {f"{name} tree": replace(WAYS[name], tree=TreeSteps(widths=(2, 1))) for name in ("dflash", "dspark")}
WAYS |= {
    f"dspark by {step}": replace(WAYS["dspark"], **{step: function})
    for step, function in (
        ("draft_parallel", dspark_mini.dflash_parallel_candidates),
        ("draft_markov", dspark_mini.dspark_markov_candidates),
        ("draft_sampling", dspark_mini.sample_markov_block),
    )
}


def write(model: Any, way: str | None, prompt: Any, cap: int, temperature: float = 0.0) -> list[int]:
    """Continue a prompt with a drafter and its steps; None is plain decoding."""
    model.clear()
    drafter = None if way is None else model.drafters[way.split()[0]]
    steps, rng = WAYS.get(way or "", Steps()), np.random.default_rng(3)
    return generate(model.target, drafter, prompt, cap, (), temperature, rng, steps).output


def test_the_loop_runs_on_torch_as_on_numpy(folder: Path) -> None:
    """Greedy texts are those of plain decoding; drawn ones are equal for equal seeds."""
    models = load(folder), load_torch(folder)
    plain = write(models[0], None, [1, 2, 3], 25)
    assert plain == write(models[1], None, [1, 2, 3], 25)
    for way in WAYS:
        assert plain == write(models[0], way, [1, 2, 3], 25) == write(models[1], way, [1, 2, 3], 25)
        drawn, torch_drawn = (write(model, way, [1, 2, 3], 25, temperature=1.0) for model in models)
        assert drawn == torch_drawn


@pytest.mark.parametrize("folder", [(OTHER, HALF)], ids=["another Llama"], indirect=True)
def test_a_text_may_fill_the_cache_to_its_last_slot(folder: Path) -> None:
    prompt = np.random.default_rng(0).integers(40, size=SLOTS).tolist()
    for model in (load(folder), load_torch(folder)):
        for cap in (1, 2, 5, 8):
            room = prompt[: SLOTS + 1 - cap]  # the last token needs no slot
            plain = write(model, None, room, cap)
            for way in (*DRAFTERS, "dspark tree"):
                assert write(model, way, room, cap) == plain
                assert len(write(model, way, room, cap, temperature=1.0)) == cap
        for way in (None, "dspark", "dspark tree"):
            with pytest.raises(ValueError, match=f"The text has {SLOTS + 1} tokens"):
                write(model, way, prompt[:-3], 5)


def test_the_shipped_weights_write_the_same_greedy_texts_in_torch() -> None:
    numpy_model, torch_model = load(drafters=["dspark"]), load_torch(SHIPPED, drafters=["dspark"])
    for domain in DOMAINS:
        for prompt in prompts(numpy_model.tokenizer, domain, 2, seed=11):
            plain = write(numpy_model, None, prompt, 50)
            assert plain == write(torch_model, None, prompt, 50) == write(torch_model, "dspark", prompt, 50)


def test_rows_of_a_batch_do_not_see_each_other() -> None:
    torch.manual_seed(0)
    target, tokens = Target(OTHER), torch.randint(40, (3, 12))
    cache = KVCache(OTHER.layers, 3, OTHER.kv_heads, 20, OTHER.head_width)
    with torch.inference_mode():
        together = torch.cat((target(tokens[:, :5], cache)[0], target(tokens[:, 5:], cache)[0]), dim=1)
        alone = torch.cat([target(row[None])[0] for row in tokens])
    assert torch.allclose(together, alone, atol=1e-5)
    with pytest.raises(ValueError, match="the cache has 20 slots"):
        target(torch.randint(40, (3, 9)), cache)


def test_a_stopped_training_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    def trained(folder: Path, stops: list[int]) -> Any:
        for stop in stops:
            torch.manual_seed(0)
            model = torch.nn.Linear(3, 1)

            def loss_of(step: int, model: Any = model, stop: int = stop) -> dict[str, Any]:
                if step == stop:
                    raise KeyboardInterrupt
                x = torch.randn(8, 3, generator=torch.Generator().manual_seed(step))
                return {"loss": ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()}

            try:
                fit("line", model, loss_of, 250, 1e-2, folder)
            except KeyboardInterrupt:
                continue
        return model.weight.detach()

    assert torch.equal(trained(tmp_path / "once", [-1]), trained(tmp_path / "twice", [130, 220, -1]))
    with pytest.raises(ValueError, match="of another shape"):
        fit("line", torch.nn.Linear(4, 1), lambda step: {}, 250, 1e-2, tmp_path / "once")
    with pytest.raises(ValueError, match="more than the 100"):
        fit("line", torch.nn.Linear(3, 1), lambda step: {}, 100, 1e-2, tmp_path / "once")


def test_weights_of_another_shape_are_told_in_a_sentence(folder: Path) -> None:
    weights = Target(replace(SMALL, width=48))
    save_model(folder / "target.safetensors", weights, SMALL, words=WORDS)
    with pytest.raises(ValueError, match="do not fit this model"):
        load_target(folder / "target.safetensors")
