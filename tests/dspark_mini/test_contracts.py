"""Contracts: what they convert, and that bad input to any graded function raises a sentence and changes nothing."""

import copy
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dspark_mini as kit
from dspark_mini.clinic import draft_in_target_ids
from dspark_mini.contracts import (
    bias_rows,
    integer,
    integers,
    logits,
    numbers,
    probabilities,
    takes,
    temperature,
    token,
    tokens,
)
from grader.check.policies import sample_views
from grader.lessons.checks import TASKS
from grader.lessons.tasks import Task
from grader.run.child.calling import Call, copied, live

WITH_ARGUMENTS = {name: task for name, task in TASKS.items() if task.contract.kinds}


def visible_call(task: Task) -> Call:
    """A good call of a task: its longest visible example."""
    judge: Any = next(p.judge for p in task.properties if p.name == "input_unchanged")
    calls = [example.call for example in judge.examples] if hasattr(judge, "examples") else sample_views()
    call = max(calls, key=lambda call: len(repr(call)))
    return Call(tuple(live(argument) for argument in copied(call.args)), call.kwargs)


@pytest.mark.parametrize("task", WITH_ARGUMENTS.values(), ids=WITH_ARGUMENTS)
def test_bad_input_gets_a_sentence_with_the_argument_and_is_left_alone(task: Task) -> None:
    assert task.reference.__doc__ and task.reference.__wrapped__.__name__ == task.function  # type: ignore[attr-defined]
    assert set(task.contract.kinds) == set(task.contract.signature.parameters)
    good, tried = visible_call(task), 0
    for name, arguments in task.contract.violations(*good.args, **good.kwargs):
        before = {key: copy.deepcopy(value) for key, value in arguments.items() if key != "rng"}
        with pytest.raises(ValueError, match=rf"(?s)^{name}\b.*\.$"):
            task.reference(**arguments)
        assert repr(before) == repr({key: value for key, value in arguments.items() if key != "rng"})
        tried += 1
    assert tried >= len(good.args)


RNG = np.random.default_rng(0)
HALVES = [0.5, 0.5]
TOGETHER: list[tuple[Callable[[], Any], str]] = [  # what arguments must obey together
    (lambda: kit.speedup(1.0, 0.0, 0.0, 1.0), "draft_time, verify_time and correction_time are all 0"),
    (lambda: kit.net_benefit([0.5], 1, 0.0, [1.0, 0.0], 1.0), "verify_times[1] must be above 0"),
    (lambda: kit.acceptance_probability(HALVES, [1.0, 0.0], 1), "q[1] is 0, so token 1 cannot have been drafted."),
    (
        lambda: kit.verify_sampling([0, 1], [HALVES, [1.0, 0.0]], [HALVES] * 3, RNG),
        "draft_probs[1] gives 0 to token 1, which was drafted there.",
    ),
    (lambda: kit.choose_confident_prefix([0.5], 0.5, 3, 2), "max_tokens must be a whole number of at least 3, not 2"),
    (lambda: kit.build_draft_record("dspark", [4, 5], [0.5], 0.5), "confidences has 1 entry, but axis 0 must be γ = 2"),
    (
        lambda: kit.schedule_prefixes([[0.5], [0.5]], [0.0, 1.0]),
        "steps_per_second has 2 entries, but needs one for a batch of 2.",
    ),
    (
        lambda: kit.verify_tree_greedy([5, 6, 7, 6], [-1, 0, 0, 0], [1] * 5),
        "tokens[3] is 6, the same as that of its sibling, node 1.",
    ),
    (
        lambda: kit.verify_tree_sampling([0], [-1], [[0, 1], [1, 0]], [HALVES] * 2, RNG),
        "tokens[0] is 0, which draft_probs[0] gives probability 0.",
    ),
    (lambda: kit.best_block_size([1, 3], [2, 2], [4.0, 5.0]), "accepted_counts[1] must be a whole number from 0 to 2"),
    (lambda: kit.best_block_size([0], [0], [4.0]), "verified_counts holds no draft"),
    (lambda: kit.keep_drafting([4, 4], [3, 6], 1.5, 2, 8), "emitted[1] must be a whole number from 1 to 5, not 6."),
    (lambda: kit.round_totals([4, 4], [3, 4], [2, 3], [2, 4]), "emitted[0] must be a whole number from 3 to 3, not 2."),
    (lambda: kit.round_totals([4], [5], [2], [3]), "verified[0] must be a whole number from 0 to 4, not 5."),
    (lambda: draft_in_target_ids(0, HALVES, [0, 3], 4), "d2t[1] must lead to a token below 4, not to 1 + 3 = 4."),
    (
        lambda: draft_in_target_ids(0, HALVES, [1, 0], 4),
        "d2t[1] must lead to a token of its own, not to 1 as d2t[0] does.",
    ),
    (lambda: kit.cache_mask(5, 2, 6), "slots must be a whole number of at least 7, not 6"),
    (lambda: kit.speeds_from_times([2, 4], [0.25, 0.5], 4), "batch_sizes[0] must be 1, the smallest batch, not 2"),
    (lambda: kit.speeds_from_times([1, 4, 4], [0.25, 0.5, 0.5], 4), "batch_sizes[2] must be above 4"),
    (lambda: kit.speeds_from_times([1, 2], [0.25, 0.5], 5), "largest must be at most 2, the last size that was"),
    (lambda: kit.speedup_with_interval([10], [1.0], [10], [0.5]), "plain_tokens has 1 entry, but an interval takes"),
]


@pytest.mark.parametrize(("wrong", "sentence"), TOGETHER)
def test_arguments_that_do_not_fit_together_get_a_sentence(wrong: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        wrong()


def test_sizes_bind_across_arguments_low_temperatures_are_greedy_and_iterators_are_read_once() -> None:
    @takes(heat=temperature(), stops=integers("n", empty=True), least=integer(low=1), most=integer(low="least"))
    def g(heat: Any, stops: Any, least: Any = 1, most: Any = 8) -> Any:
        return heat, stops, stops

    assert g(9e-6, iter([3, 4])) == (0.0, [3, 4], [3, 4])
    with pytest.raises(ValueError, match="most must be a whole number of at least 9, not 8"):
        g(1.0, [], 9)

    @takes(rows=logits("γ+1", "V"), drafts=tokens("γ", below="V"), state=numbers("r"), weights=numbers("2r+d", "3r"))
    def f(drafts: Any, rows: Any, state: Any, weights: Any) -> Any:
        return drafts, rows.shape

    with pytest.raises(ValueError, match=r"drafts has 2 entries, but axis 0 must be γ = 1\."):
        f([0, 1], [[0.0, 1.0]] * 2, [0.0], [[0.0] * 3] * 3)
    with pytest.raises(ValueError, match=r"drafts\[0\] must be a whole number from 0 to 1, not 2\."):
        f([2], [[0.0, 1.0]] * 2, [0.0], [[0.0] * 3] * 3)
    assert f([], [[0.0, 1.0]], [0.0], [[0.0] * 3] * 3) == ([], (1, 2))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("vocabulary", [3, 391, 151_936])
def test_a_softmax_passes_in_the_precision_it_was_computed_in(dtype: str, vocabulary: int) -> None:
    torch = pytest.importorskip("torch", reason="bfloat16 rows come from torch, which is an extra")
    rows = torch.softmax(torch.randn(4, vocabulary, generator=torch.manual_seed(0)).to(getattr(torch, dtype)) * 3, -1)

    @takes(p=probabilities("γ", "V"))
    def f(p: Any) -> Any:
        return p

    exact = f(rows)
    assert exact.dtype == np.float64 and np.abs(exact.sum(axis=1) - 1.0).max() < 1e-9
    with pytest.raises(ValueError, match=r"p\[1\] must sum to 1"):
        f([[0.5, 0.5], [0.5, 0.500002]])


def test_bias_rows_are_zero_where_there_is_none_and_checked_when_read() -> None:
    @takes(rows=logits("γ", "V"), anchor=token(), bias=bias_rows("V"))
    def f(rows: Any, anchor: Any, bias: Any) -> Any:
        return bias[anchor] + bias.get(7)

    assert f([[0.0, 1.0]], 9, {9: [1, 2]}).tolist() == [1.0, 2.0]
    assert f([[0.0, 1.0]], 1, {9: [np.nan]}).tolist() == [0.0, 0.0]
    for bad in ([1.0], [1.0, np.inf], [-np.inf, -np.inf], "text"):
        with pytest.raises(ValueError, match=r"bias\[9\]"):
            f([[0.0, 1.0]], 9, {9: bad})
