"""Texts for a pretrained model's drafter, and its training, on a tiny random model that the tests write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")

from dspark_mini.appendix import blocks as kit  # noqa: E402
from dspark_mini.appendix.pretrained import load_drafter  # noqa: E402
from dspark_mini.appendix.smollm import generate, measure, prompts, train  # noqa: E402
from dspark_mini.appendix.smollm.llama import Llama  # noqa: E402
from dspark_mini.appendix.smollm.samples import Samples, shard_rows  # noqa: E402


class Words:
    """A text of small numbers stands for a prompt; prompts of different lengths have a beginning in common."""

    end = -1

    def question(self, prompt: str) -> list[int]:
        return [9, 8, 7, *(3 + ord(letter) for letter in prompt[: 3 + len(prompt) % 5])]


@pytest.fixture(scope="module")
def texts(tiny_llama: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    tmp_path, patch = tmp_path_factory.mktemp("texts"), pytest.MonkeyPatch()
    patch.setattr(generate, "LONGEST_ANSWER", 40)
    patch.setattr(train, "DRAFT_VOCABULARY", 200)
    rows = [{**row, "temperature": float(index % 2)} for index, row in enumerate(prompts.held_out()[:40])]
    words, model = Words(), Llama(tiny_llama, "float32", 1, generate.FEATURE_LAYERS)
    generate.write_answers(model, words, tmp_path / "endless", 0, rows)  # type: ignore[arg-type]
    words.end = int(Samples(tmp_path / "endless").shards["00000.safetensors"].tokens[100:].bincount().argmax())
    for number in (0, 1):
        generate.write_answers(model, words, tmp_path, number, rows)  # type: ignore[arg-type]
    yield tmp_path
    patch.undo()


def test_batched_texts_and_features_are_those_of_one_forward_each(tiny_llama: Path, texts: Path) -> None:
    name, shard = next(iter(Samples(texts).shards.items()))
    model = Llama(tiny_llama, "float32", 99, generate.FEATURE_LAYERS)
    lengths, ends = set[int](), set[int | None]()
    for index, about in list(enumerate(shard_rows(texts / "shards" / name)))[::3]:
        row, prompt, model.rows = shard.row(index), shard.prompt_lengths[index], 0
        tokens = row["tokens"]
        hidden, answer = model.forward(tokens), slice(prompt - 1, -1)
        logits, features = model.logits(hidden), model.features[: len(tokens)].flatten(1)
        assert tokens[:prompt].tolist() == Words().question(about["prompt"])
        torch.testing.assert_close(row["features"][:-1], features[:-1], atol=0.05, rtol=0.01)
        torch.testing.assert_close(row["hidden"][:-1], hidden[:-1], atol=0.05, rtol=0.01)
        torch.testing.assert_close(row["logsumexp"][answer], logits.logsumexp(-1)[answer], atol=1e-3, rtol=0)
        assert about["temperature"] or logits.argmax(-1)[answer].tolist() == tokens[prompt:].tolist()
        lengths.add(len(tokens) - prompt)
        ends.add(int(tokens[-1]) if len(tokens) < prompt + 40 else None)
    assert len(lengths) > 1 and len(ends - {None}) == 1  # some texts have ended before others, all with one token
    (end,) = ends - {None}
    assert all(end not in shard.row(index)["tokens"][shard.prompt_lengths[index] : -1] for index in range(40))


def test_samples_follow_the_probabilities() -> None:
    logits = torch.tensor([0.5, 0.2, 0.3]).log().expand(40_000, 3)
    drawn = generate.sample(logits, torch.ones(40_000), torch.Generator().manual_seed(0))
    assert torch.allclose(drawn.bincount() / 40_000, torch.tensor([0.5, 0.2, 0.3]), atol=0.01)
    assert set(generate.sample(logits, torch.zeros(40_000), torch.Generator()).tolist()) == {0}


def test_held_out_prompts_stay_out_of_training_and_none_repeats(monkeypatch: Any) -> None:
    monkeypatch.setattr(generate, "own_prompts", lambda model, text, rng, families: [
        (family, f"{family} {rng.random()}") for family in families
    ])  # fmt: skip
    monkeypatch.setattr(generate, "PER_SHARD", 96)
    rows, taken = [], {row["prompt"] for row in prompts.held_out()}
    kept_out = set(taken)
    for seed in range(3):
        rows += generate.shard_prompts(None, Words(), seed, taken)  # type: ignore[arg-type]
    found = [row["prompt"] for row in rows]
    assert len(found) == len(set(found)) == 3 * 96 and not kept_out & set(found)
    families = {row["family"] for row in prompts.held_out() if row["kind"] == "unseen"}
    assert families == {row["family"] for row in rows} and len(families) == 6
    slots = prompts.data()["slots"]
    reserved = [value for name in ("topic", "city") for value in slots[name] if prompts.reserved(value)]
    templates = [row["prompt"] for row in rows if row["source"] == "template"]
    assert reserved and not any(f" {value}." in prompt for value in reserved for prompt in templates)


def test_the_loss_over_the_draft_vocabulary_is_the_kits_over_all_tokens(tiny_llama: Path, texts: Path) -> None:
    ends, weights = train.read_ends(tiny_llama)
    samples = Samples(texts)
    drafter = train.new_drafter(ends, weights, samples.frequent_tokens(200, ends.head_weight))
    blocks, logsumexp = samples.draw(4, 3, train.BLOCK_SIZE, torch.Generator().manual_seed(5))
    got = train.draft_loss(train.score(drafter, ends, blocks, logsumexp))
    whole = kit.Blocks(blocks.tokens, blocks.features, blocks.logits @ ends.head_weight.T, blocks.anchors)
    expected = kit.draft_loss(drafter, SimpleNamespace(**vars(ends)), whole)  # type: ignore[arg-type]
    for name in ("distance", "confidence", "overlap"):  # the kit also charges labels that cannot be drafted
        torch.testing.assert_close(got[name], expected[name], atol=2e-3, rtol=0)


def test_training_learns_goes_on_after_a_stop_and_writes_a_drafter_that_loads(tiny_llama: Path, texts: Path) -> None:
    straight = train.train(tiny_llama, texts, texts / "straight", 12)
    drafts, stop = train.Samples.draw, texts / "stopped"

    def interrupted(samples: Samples, *arguments: Any) -> Any:
        if (stop / "drafter.checkpoint").is_file():
            raise KeyboardInterrupt
        return drafts(samples, *arguments)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("dspark_mini.appendix.training.SAVE_EVERY", 5)
        patch.setattr(train.Samples, "draw", interrupted)
        train.train(tiny_llama, texts, stop, 12)
    resumed = train.train(tiny_llama, texts, stop, 12).state_dict()
    assert all(torch.equal(value, resumed[name]) for name, value in straight.state_dict().items())
    curve = json.loads((stop / "drafter.training.json").read_text())["loss"]
    assert len(curve) == 1 and curve[0] < train.draft_loss(train.score(
        train.new_drafter(*train.read_ends(tiny_llama), json.loads((stop / "draft_vocabulary.json").read_text())),
        train.read_ends(tiny_llama)[0], *Samples(texts).draw(8, 16, train.BLOCK_SIZE, torch.Generator().manual_seed(0)),
    ))["loss"]  # fmt: skip
    loaded = load_drafter(stop / "drafter", train.read_ends(tiny_llama)[0])  # type: ignore[arg-type]
    for name, value in loaded.state_dict().items():
        torch.testing.assert_close(value, straight.state_dict()[name], atol=float(value.abs().max()) / 250, rtol=0)
    (row,) = measure.measure(tiny_llama, [stop / "drafter"], texts)
    table = row["kinds"]
    assert (
        (row["steps"], row["texts"]) == (12, len(Samples(texts)))
        and table["combination"]["texts"]
        and 1 <= table["combination"]["accepted_length"] <= 1 + train.BLOCK_SIZE
    )


def test_greedy_rounds_are_those_of_a_walk_over_the_text() -> None:
    agreed = torch.tensor([[1, 1], [0, 1], [0, 0], [1, 0], [1, 1], [1, 1]]).bool()  # one row per anchor
    assert measure.greedy_rounds(agreed) == [3, 2, 3]
