"""Ragged batches and the server: every request gets what it gets alone, and the texts follow the target."""

from __future__ import annotations

from itertools import cycle, repeat

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from dspark_mini.appendix.drafters import make_drafter  # noqa: E402
from dspark_mini.appendix.evidence.batched import RaggedCache, Rows, block_hidden, ragged_forward, write_context  # noqa: E402
from dspark_mini.appendix.evidence.server import Server  # noqa: E402
from dspark_mini.appendix.model import KVCache, Target  # noqa: E402
from dspark_mini.shapes import DrafterShape, TargetShape  # noqa: E402

TINY = TargetShape(vocabulary=5, width=16, layers=3, heads=4, kv_heads=2, feed_forward=24, feature_layers=(0, 1))


def models(shape: TargetShape = TINY, scale: float = 8.0, **drafter_shape: object):  # type: ignore[no-untyped-def]
    torch.manual_seed(3)
    model = Target(shape).eval().requires_grad_(False)
    drafter = (
        make_drafter(DrafterShape(layers=2, block_size=3, rank=4, **drafter_shape), shape).eval().requires_grad_(False)
    )
    model.embedding.weight.mul_(scale / 0.16)  # peaked rows, so that drafts are rejected
    return model, drafter


def test_a_ragged_batch_gives_each_request_what_it_gets_alone() -> None:
    model, _ = models()
    texts = [[1, 2, 3, 4, 0, 1], [2, 2], [4, 3, 1, 0]]
    lengths = torch.tensor([3, 1, 2])  # rows of the second batch
    starts = torch.tensor([len(text) for text in texts]) - lengths
    cache = RaggedCache(TINY, TINY.layers, 3, 12)
    for begin, count in ((torch.zeros_like(starts), starts), (starts, lengths)):
        rows = Rows.after(begin, count)
        tokens = torch.tensor([texts[r][k] for r, k in zip(rows.owner.tolist(), rows.positions.tolist())])
        logits, features = ragged_forward(model, cache, tokens, rows)
    for request, text in enumerate(texts):
        alone = KVCache(TINY.layers, 1, TINY.kv_heads, 12, TINY.head_width)
        alone_logits, alone_features = model(torch.tensor([text]), alone)
        count, own = int(lengths[request]), rows.owner == request
        torch.testing.assert_close(logits[own], alone_logits[0, -count:], rtol=0, atol=1e-5)
        torch.testing.assert_close(features[own], alone_features[0, -count:], rtol=0, atol=1e-5)


@pytest.mark.parametrize("layout", ["dspark", "dflash"])
def test_blocks_drafted_together_are_those_drafted_alone(layout: str) -> None:
    model, drafter = models(layout=layout, head="none")
    texts = [[1, 2, 3, 4, 0, 1], [2, 2], [4, 3, 1, 0]]
    features = [torch.randn(len(text) - 1, 2 * TINY.width) for text in texts]
    starts, anchors = torch.tensor([len(f) for f in features]), torch.tensor([text[-1] for text in texts])
    cache = RaggedCache(TINY, 2, 3, 12)
    write_context(drafter, cache, torch.cat(features), Rows.after(torch.zeros_like(starts), starts))
    together = block_hidden(drafter, model, cache, anchors, starts)
    for request, rows in enumerate(features):
        context = drafter.context_rows(rows[None], torch.arange(len(rows)))
        block = drafter.block_inputs(anchors[request : request + 1], model)
        alone = drafter(block, len(rows) + torch.arange(block.shape[1]), context, None)
        torch.testing.assert_close(together[request], alone[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("draft_vocabulary", [None, (0, 1, 3)])
def test_the_server_samples_from_the_target(draft_vocabulary: tuple[int, ...] | None) -> None:
    """The first two tokens of many equal requests, through accepted drafts, residuals and bonus tokens alike."""
    model, drafter = models(draft_vocabulary=draft_vocabulary)
    server = Server(model, drafter, repeat([1, 2, 3]), 8_000, end=99, max_new_tokens=100, slots=16)
    server.serve(lambda confidences: (np.arange(len(confidences)) % 4).tolist(), tokens=1, rounds=2)
    first = model(torch.tensor([[1, 2, 3]]))[0][0, -1].softmax(-1)
    texts = torch.tensor([[1, 2, 3, token] for token in range(5)])
    expected = (first[:, None] * model(texts)[0][:, -1].softmax(-1)).flatten().double().numpy()  # (25,)
    pairs = [5 * output[0] + output[1] for output in server.outputs]
    seen = np.bincount(pairs, minlength=25) / len(pairs)
    assert np.all(np.abs(seen - expected) < 6 * np.sqrt(expected * (1 - expected) / len(pairs)) + 1e-6)


def test_a_text_ends_at_its_end_token_or_its_cap_and_the_next_prompt_takes_its_place() -> None:
    model, drafter = models(scale=0.1)
    server = Server(model, drafter, cycle([[1, 2, 3], [4, 1]]), 8, end=0, max_new_tokens=6)
    totals = server.serve(lambda confidences: [3] * len(confidences), tokens=300)
    assert totals.tokens >= 300 and totals.verified == 3 * 8 * totals.rounds
    assert all(0 not in output[:-1] and len(output) <= 6 for output in server.outputs)
    assert int(server.starts.max()) < 3 + 6 + 4


def test_plain_decoding_emits_one_token_per_request_and_round() -> None:
    model, drafter = models()
    totals = Server(model, drafter, repeat([1, 2]), 5, end=99, max_new_tokens=50).serve(None, tokens=20)
    assert totals.tokens == 5 * totals.rounds == 20 and totals.verified == 0


def test_each_part_of_a_round_waits_for_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    model, drafter = models()
    server, waits = Server(model, drafter, repeat([1, 2]), 5, end=99, max_new_tokens=50), []
    server.device = torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: waits.append(1))
    server.serve(lambda confidences: [3] * len(confidences))
    assert len(waits) == 5  # before the first part, and after each


def test_the_server_needs_a_markov_head() -> None:
    model, drafter = models(head="none")
    with pytest.raises(ValueError, match="no Markov head"):
        Server(model, drafter, repeat([1]), 1, end=0, max_new_tokens=4)


def test_a_new_request_leaves_the_others_alone() -> None:
    model, drafter = models()
    server = Server(model, drafter, iter([[1, 2, 3, 4], [2, 0], [4, 3, 1]]), 2, end=99, max_new_tokens=9, slots=32)
    before = server.cache.keys[:, 0].clone()
    server.admit(torch.tensor([False, True]))
    alone = Server(model, drafter, iter([[4, 3, 1]]), 1, end=99, max_new_tokens=9, slots=32)
    assert server.starts.tolist() == [3, 2] and server.anchors.tolist() == [4, 1]
    assert torch.equal(server.cache.keys[:, 0], before)
    for cache, expected in ((server.cache, alone.cache), (server.draft_cache, alone.draft_cache)):
        torch.testing.assert_close(cache.keys[:, 1, :, :2], expected.keys[:, 0, :, :2])
        torch.testing.assert_close(cache.values[:, 1, :, :2], expected.values[:, 0, :, :2])
