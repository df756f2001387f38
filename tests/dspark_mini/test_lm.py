"""The small language model in NumPy: its caches, its texts with and without drafts, and what it refuses."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dspark_mini.corpus import DOMAINS, WRITERS
from dspark_mini.drafting import block_attention
from dspark_mini.drafts import Logits, softmax
from dspark_mini.engine import Steps, TreeSteps, generate
from dspark_mini.laws import exact_law
from dspark_mini.lm import DRAFTERS, SmallLM, load, prompts, write_and_draft
from dspark_mini.shapes import DrafterShape, TargetShape, from_json, to_json
from dspark_mini.weights import SHIPPED, load_weights, save_weights
from dspark_mini.words import collect_words, join, split

BLOCKS = Steps(block_size=lambda trace: 7)
TREES = replace(BLOCKS, tree=TreeSteps(width=2, max_nodes=10, widths=(2, 2, 1)))


@pytest.fixture(scope="module")
def lm() -> SmallLM:
    return load()


def write(lm: SmallLM, prompt: list[int], drafter: Any, steps: Steps, cap: int = 40, **chance: Any) -> Any:
    lm.clear()
    return generate(lm.target, drafter, prompt, cap, (lm.tokenizer.end,), steps=steps, **chance)


@pytest.mark.parametrize("domain", DOMAINS)
def test_greedy_text_is_that_of_plain_decoding_with_every_drafter_and_with_trees(lm: SmallLM, domain: str) -> None:
    (prompt,) = prompts(lm.tokenizer, domain, 1, seed=5)
    plain = write(lm, prompt, None, Steps()).output
    assert len(plain) > 20
    for name, steps in (*((name, BLOCKS) for name in DRAFTERS), ("dflash", TREES), ("dspark", TREES)):
        assert write(lm, prompt, lm.drafters[name], steps).output == plain, name


def test_the_head_raises_tau(lm: SmallLM) -> None:
    tau = {}
    for name in ("dspark", "dflash", "ablated"):
        drafter: Any = lm.drafters["dspark" if name == "ablated" else name]
        bias, drafter.draft_head.bias = drafter.draft_head.bias, {} if name == "ablated" else drafter.draft_head.bias
        traces = [
            write(lm, prompt, drafter, BLOCKS, 60, temperature=1.0, rng=np.random.default_rng(2))
            for prompt in prompts(lm.tokenizer, "chat", 5, seed=1)
        ]
        drafter.draft_head.bias = bias
        tau[name] = sum(len(t.output) for t in traces) / sum(len(t.rounds) for t in traces)
    assert tau["dspark"] > tau["dflash"]  # by about a sixth; a few prompts vary
    assert tau["ablated"] < 0.8 * tau["dspark"]


class FewWords:
    """A model restricted to a few words, so that the distribution of its texts can be enumerated."""

    def __init__(self, model: Any, words: list[int]) -> None:
        self.model, self.words = model, words

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def restricted(self, rows: Logits) -> Logits:
        kept = np.full_like(rows, -np.inf)
        kept[:, self.words] = rows[:, self.words]
        return kept

    def forward(self, tokens: Any, parents: Any = None) -> Logits:
        return self.restricted(self.model.forward(tokens, parents))

    def block_logits(self, anchor: int, size: int) -> Logits:
        return self.restricted(self.model.block_logits(anchor, size))


class Enough(Exception):
    """The first two tokens of a text."""


def test_sampled_texts_have_exactly_the_targets_distribution(lm: SmallLM) -> None:
    prompt = prompts(lm.tokenizer, "chat", 1)[0]
    words = lm.tokenizer.encode(["of", "course"])
    target: Any = FewWords(lm.target, words)
    drafter: Any = FewWords(lm.drafters["dspark"], words)
    drafter.chain = lm.drafters["dspark"].chain

    def block_size(trace: Any) -> int:
        if len(trace.output) > 1:
            raise Enough(*trace.output[:2])
        return 0 if trace.rounds else 2

    def text(rng: Any) -> tuple[int, ...]:
        lm.clear()
        with pytest.raises(Enough) as enough:
            generate(target, drafter, prompt, 5, (), 4.0, rng, Steps(block_size=block_size))
        return enough.value.args

    law = exact_law(text)
    lm.clear()
    first = softmax(target.forward(prompt)[-1] / 4.0)
    for a in words:
        second = softmax(target.forward([a])[-1] / 4.0)
        lm.target.cache.drop(1)
        for b in words:
            assert law[a, b] == pytest.approx(first[a] * second[b], rel=1e-4)


def test_a_tree_forward_equals_single_steps_along_its_paths_and_its_rows_can_be_kept(lm: SmallLM) -> None:
    context, (dot, *nodes) = prompts(lm.tokenizer, "math", 1)[0], lm.tokenizer.encode(". we start first come")
    lm.clear()
    together = lm.target.forward(context)
    tree = lm.target.forward([dot, *nodes], [-1, 0, -1, 2])
    lm.target.cache.keep_last(5, [0, 3, 4])
    after_tree = lm.target.forward([dot])
    for path in ([0, 1], [2, 3]):
        lm.clear()
        steps = np.concatenate([lm.target.forward([token]) for token in [*context, dot, *(nodes[i] for i in path)]])
        assert np.abs(steps - [*together, *tree[[0, *(i + 1 for i in path)]]]).max() < 1e-4
    assert np.abs(after_tree - lm.target.forward([dot])).max() < 1e-4


def test_drafts_depend_on_the_committed_text_alone(lm: SmallLM) -> None:
    prompt = prompts(lm.tokenizer, "chat", 1)[0]
    for name, drafter in lm.drafters.items():
        lm.clear()
        lm.target.forward(prompt)
        drafter.cache.extend(prompt[:-1])
        first = drafter.block_logits(prompt[-1], 7)
        drafter.chain(first, prompt[-1], 7, 1.0, np.random.default_rng(0))
        assert drafter.cache.rows == len(prompt) - 1, name
        assert np.array_equal(drafter.block_logits(prompt[-1], 7), first), name


def test_loading_is_fast_and_the_weights_are_small() -> None:
    load()
    seconds = []
    for _ in range(5):
        start = time.process_time()
        load()
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.1
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 8_000_000


def test_the_vocabulary_is_that_of_the_corpus_and_texts_split_into_the_words_they_were_joined_from(lm: SmallLM) -> None:
    assert lm.tokenizer.words == tuple(collect_words())
    rng = np.random.default_rng(0)
    for writer in WRITERS.values():
        for _ in range(20):
            prompt, body = writer(rng)
            assert split(join([*prompt, *body])) == [*prompt, *body]
    with pytest.raises(ValueError, match=r"text\[1\] is 'xyzzy'"):
        lm.tokenizer.encode("add xyzzy")
    assert prompts(lm.tokenizer, "math", 5) == prompts(lm.tokenizer, "math", 5)
    assert prompts(lm.tokenizer, "math", 5) != prompts(lm.tokenizer, "math", 5, seed=1)
    with pytest.raises(ValueError, match="domain is 'law'"):
        prompts(lm.tokenizer, "law", 1)


IMPOSSIBLE: list[tuple[Any, str]] = [
    (lambda: TargetShape(10, heads=5), "heads is 5"),
    (lambda: TargetShape(10, layers=2), "feature_layers"),
    (lambda: DrafterShape(head="lstm"), "head is 'lstm'"),
    (lambda: DrafterShape(draft_vocabulary=(3, 1, 3)), r"vocabulary\[2\] is 3, which stands at position 0 already\."),
    (lambda: DrafterShape(draft_vocabulary=(3, -1)), r"vocabulary\[1\] must be a whole number of at least 0, not -1\."),
    (
        lambda: DrafterShape(draft_vocabulary=(3, 40)).check_fits(TargetShape(40, feature_layers=(0, 2))),
        r"draft_vocabulary\[1\] must be a whole number from 0 to 39, not 40\.",
    ),
]


def test_a_shape_survives_json_and_an_impossible_one_is_refused() -> None:
    for shape in (TargetShape(40, feature_layers=(0, 2)), DrafterShape(draft_vocabulary=(3, 1))):
        kind: Any = type(shape)
        assert from_json(kind, json.loads(json.dumps(to_json(shape)))) == shape
        with pytest.raises(ValueError, match="depth is not a field"):
            from_json(kind, to_json(shape) | {"depth": 3})
    for make, sentence in IMPOSSIBLE:
        with pytest.raises(ValueError, match=sentence):
            make()


def test_a_bad_weight_file_is_refused_by_name(tmp_path: Path) -> None:
    target, dspark = tmp_path / "target.safetensors", tmp_path / "dspark.safetensors"
    with pytest.raises(ValueError, match="There are no weights at"):
        load(tmp_path)
    target.write_bytes(b"not weights")
    with pytest.raises(ValueError, match="is not a dspark_mini weight file"):
        load(tmp_path)
    weights, header = load_weights(SHIPPED / "target.safetensors")
    incomplete = {name: array for name, array in weights.items() if name != "layers.3.attention.key.weight"}
    for bad_weights, bad_header in (
        (incomplete, header),
        ({**weights, "embedding.weight": weights["embedding.weight"][:5]}, header),
        (weights, {"words": header["words"]}),
        (weights, header | {"words": header["words"][:-1]}),
        load_weights(SHIPPED / "dspark.safetensors"),
    ):
        save_weights(target, bad_weights, bad_header)
        with pytest.raises(ValueError, match=r"target\.safetensors cannot be used"):
            load(tmp_path, drafters=())
    save_weights(target, weights, header)
    good, drafter_header = load_weights(SHIPPED / "dspark.safetensors")
    narrow = [{**good, name: good[name][:5]} for name in ("fuse.weight", "head.previous.weight")]
    for bad_weights, bad_header in (*((bad, drafter_header) for bad in narrow), (weights, header)):
        save_weights(dspark, bad_weights, bad_header)
        with pytest.raises(ValueError, match=r"dspark\.safetensors cannot be used"):
            load(tmp_path, drafters=["dspark"])


def test_impossible_requests_are_refused(lm: SmallLM) -> None:
    lm.clear()
    with pytest.raises(ValueError, match="the cache has 384 slots"):
        lm.target.forward([0] * 385)
    with pytest.raises(ValueError, match="block_size"):
        lm.drafters["dspark"].block_logits(0, 8)
    with pytest.raises(ValueError, match=r"tokens\[1\]"):
        lm.target.forward([0, 100_000])
    for rows in (-1, 1):
        with pytest.raises(ValueError, match="rows"):
            lm.target.cache.drop(rows)
    lm.target.forward([0, 1, 2])
    for count, chosen in ((4, [0]), (2, [2]), (2, [1, 0]), (2, [-1])):
        with pytest.raises(ValueError, match=r"count|chosen"):
            lm.target.cache.keep_last(count, chosen)


def test_the_block_drafters_run_on_block_attention_which_may_be_your_own(lm: SmallLM) -> None:
    calls: list[tuple[int, ...]] = []

    def own_attention(*arguments: Any) -> Any:
        calls.append((*arguments[0].shape, arguments[-1]))
        return block_attention(*arguments)

    own = load(drafters=("dflash", "dspark"), attention=own_attention)
    prompt = prompts(lm.tokenizer, "code", 1)[0]
    for name, rows in (("dflash", 8), ("dspark", 7)):
        lm.clear()
        text, blocks = write_and_draft(lm, prompt, 4, name)
        calls.clear()
        again, own_blocks = write_and_draft(own, prompt, 4, name)
        assert again == text and np.abs(np.array(blocks) - own_blocks).max() < 1e-3
        # every block asks 3 heads in each of 2 layers, and sees the text before its anchor
        assert calls == [(rows, 32, len(prompt) - 1 + i) for i in range(4) for _ in range(2 * 3)]
