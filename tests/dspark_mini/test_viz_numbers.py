"""The pictures show the numbers they are given: what was drawn where, without a look at pixels."""

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from dspark_mini import block_mask, flatten_requests, net_benefit, round_totals, tree_mask, verification_mask, viz
from dspark_mini.viz.style import Picture

NAN = float("nan")
P, Q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
LOGITS = [[0.1, 0.8, 0.1], [0.6, 0.2, 0.2], [0.1, 0.2, 0.7]]
TREE = {"tokens": [0, 1, 2, 1], "parents": [-1, 0, -1, 2], "log_probs": np.log([0.5, 0.25, 0.045, 0.04]).tolist()}


def texts(figure: Picture) -> list[str]:
    return [text.get_text() for ax in figure.axes for text in ax.texts if text.get_text()]


def ticks(ax: Axes, axis: str) -> list[str]:
    return [label.get_text() for label in getattr(ax, f"get_{axis}ticklabels")()]


def line(ax: Axes, label: str) -> list[tuple[float, float]]:
    return [tuple(point) for found in ax.lines if found.get_label() == label for point in found.get_xydata()]


def bars(ax: Axes, label: str) -> list[float]:
    found = next(container for container in ax.containers if container.get_label() == label)
    return [round(float(bar.get_height()), 6) for bar in found]


def hatched(ax: Axes) -> list[bool]:
    return [bool(bar.get_hatch()) for bar in ax.patches]


def count(ax: Axes, kind: type) -> int:
    return sum(isinstance(patch, kind) for patch in ax.patches)


def centres(ax: Axes, name: str) -> set[tuple[float, float]]:
    boxes = [path.get_extents() for found in ax.collections if found.get_gid() == name for path in found.get_paths()]
    return {(round((box.x0 + box.x1) / 2, 6), round((box.y0 + box.y1) / 2, 6)) for box in boxes}


def check_mask(ax: Axes, mask: Any) -> list[float]:
    """Assert that the cells are those of the mask, and return the x of its columns."""
    on, off = centres(ax, "may attend"), centres(ax, "masked")
    columns, rows = (sorted({place[i] for place in on | off}) for i in (0, 1))
    assert {(columns.index(x), rows.index(y)) for x, y in on} == {(c, r) for r, c in np.argwhere(mask)}
    assert len(on) + len(off) == np.size(mask) and not on & off
    return columns


def test_candidates_and_the_chain_through_them() -> None:
    figure = viz.candidate_grid(LOGITS, {"DFlash": [1, 0, 2], "DSpark": [2, 0, 1]}, 1, words=["of", "no", "course"])
    first, second = figure.axes
    assert line(first, "DFlash") == [(0, 1), (1, 1), (2, 0), (3, 2)]
    assert line(second, "DSpark") == [(0, 1), (1, 2), (2, 0), (3, 1)]
    assert ticks(first, "y") == ["of", "no", "course"] and ticks(first, "x") == ["x₀", "x₁", "x₂", "x₃"]
    assert first.get_xlabel() == "no of course" and second.get_xlabel() == "course of no"
    own = viz.candidate_grid({"a": [[0.0, 0.0]], "b": [[-np.inf, 0.0]]}, {"a": [0], "b": [1]}, anchor=9)
    assert texts(own).count(".50") == 2 and "1.00" in texts(own) and "9" in texts(own)
    (large,) = viz.candidate_grid(np.arange(200.0)[None, :], {"a": [3]}).axes
    assert ticks(large, "y") == ["3", *(str(token) for token in range(185, 200))] and line(large, "a") == [(1, 0)]


def test_masks_have_every_cell_in_its_group() -> None:
    mask = block_mask(4, [1, 4], 2)
    (ax,) = viz.mask_picture(mask, 4, [1, 4], 2).axes
    columns = check_mask(ax, mask)
    assert columns[4] - columns[3] > 2 and columns[6] - columns[5] == 1.5  # context | block 1 | block 2
    (ax,) = viz.tree_mask_picture(tree_mask(TREE["parents"], 3), TREE["parents"], ["a", "b", "c", "d"]).axes
    check_mask(ax, tree_mask(TREE["parents"], 3))
    assert ticks(ax, "y") == ["a", "b", "c", "d"]
    figure = viz.verification_picture(verification_mask(2, 2), 2)
    check_mask(figure.axes[0], verification_mask(2, 2))
    assert texts(figure) == ["judges x₁", "judges x₂", "bonus token"]
    assert ticks(figure.axes[0], "y")[1:] == ["x₀", "x₁", "x₂"]


def test_acceptance_has_gaps_and_names_at_the_ends() -> None:
    (ax,) = viz.acceptance_decay({"DFlash": [0.75, NAN, 0.5], "none": [NAN, NAN]}).axes
    assert np.isnan(line(ax, "DFlash")[1][1]) and line(ax, "DFlash")[2] == (3, 0.5)
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert heights["DFlash"] == 0.5 and "none (no data)" in heights


def test_confidences_their_survival_and_what_a_threshold_keeps() -> None:
    figure = viz.confidence_budget([0.9, 0.8, 0.3, 0.95], 0.5, 2)
    assert [bar.get_height() for bar in figure.axes[0].patches] == [0.9, 0.8, 0.3, 0.95]
    assert hatched(figure.axes[0]) == [False, False, True, True] and {"verified: 2", "trimmed: 2"} <= set(texts(figure))
    figure = viz.survival_bars([0.5, 1.0, 0.125], [0.5, 0.5, 0.0625], title="t")
    (ax,) = figure.axes
    assert bars(ax, "survival") == [0.5, 0.5, 0.0625] and [y for _, y in line(ax, "confidence")] == [0.5, 1.0, 0.125]
    assert "survival a\n(Σ a = 1.06)" in texts(figure) and ".06" in texts(figure) and ax.get_title() == "t"
    left, right = viz.threshold_sweep([0.0, 0.5, 1.0], [3.0, 2.0, 0.0], [3.0, 0.5, 0.0]).axes
    rate = [y for _, y in line(right, "rate")]
    assert rate[:2] == [0.5, 0.8] and np.isnan(rate[2])
    assert [filled.get_datalim(left.transData).y1 for filled in left.collections] == [3.0, 6.0]


def test_a_reliability_diagram_has_one_disc_per_bin_in_use() -> None:
    samples = {"before": ([0.25, 0.75, 0.75, 1.0], [0, 1, 1, 0]), "after": ([0.5], [True])}
    first, second = viz.reliability_diagram(samples, {"before": 0.125}, n_bins=2).axes
    discs = next(c for c in first.collections if c.get_label() == "bins")
    assert np.asarray(discs.get_offsets()).round(6).tolist() == [[0.25, 0.0], [0.833333, 0.666667]]
    small, large = discs.get_sizes()
    assert large - 12 == pytest.approx(3 * (small - 12))  # three samples against one
    assert first.get_title() == "before, ECE 12.5 %" and second.get_title() == "after"
    (gap,) = next(c for c in second.collections if c.get_label() == "gap").get_segments()
    assert gap.tolist() == [[0.5, 0.5], [0.5, 1.0]]


def test_distributions_their_overlap_and_what_is_emitted() -> None:
    first, second = viz.overlap_picture([[0.2, 0.2, 0.6], [1.0, 0, 0]], [P, [0, 0, 1.0]], [0.6, 0.0]).axes
    assert bars(first, "q, the draft") == [0.2, 0.2, 0.6] and bars(first, "p, the target") == P
    assert bars(first, "min(q, p): accepted") == [0.2, 0.2, 0.2] and bars(second, "min(q, p): accepted") == [0.0] * 3
    assert [ax.get_title() for ax in (first, second)] == ["position 1: accepted .60", "position 2: accepted .00"]
    left, right = viz.accepted_mass(P, Q, [1, 1, 1 / 3], [0.75, 0.25, 0.0]).axes
    assert bars(left, "drafted and rejected") == [0.0, 0.0, 0.4] and bars(right, "drafted and accepted") == [0.2] * 3
    assert bars(right, "drawn from the residual") == [0.3, 0.1, 0.0]
    assert left.get_title() == "drafted from q: 0.60 accepted"
    assert len(viz.accepted_mass(P, Q, [1, 1, 1 / 3]).axes[1].patches) == 3  # the gaps stay open
    laws = {"right": P, "naive": [0.4, 0.32, 0.28], "counted": [0.49, 0.31, 0.2]}
    axes = viz.emitted_laws(P, laws, words="ABC", tolerance=0.02).axes
    assert [ax.get_xlabel() for ax in axes] == [f"total variation {value}" for value in ("0.000", "0.100", "0.010")]
    assert [hatched(ax)[0] for ax in axes] == [False, True, False] and ticks(axes[0], "x") == ["A", "B", "C"]


def test_schedules_and_flat_batches_have_every_token_in_its_group() -> None:
    figure = viz.verify_schedule([[0.5, 0.5], [0.75], []], {"now": [1, 1, 0], "later": np.array([0, 0, 0])})
    now, later = figure.axes
    assert centres(now, "anchor") == {(0, 0), (0, 1), (0, 2)} and centres(now, "verified") == {(1, 0), (1, 1)}
    assert centres(now, "not verified") == {(2, 0)} and not centres(later, "verified")
    assert {".50", ".25", ".75"} <= set(texts(figure)) and now.get_xlabel() == "B = 3 + 2 = 5"
    flat: Any = flatten_requests([2, 0, 4], [5, 3, 8])
    figure = viz.flat_batch(**flat)
    (ax,) = figure.axes
    assert [len(centres(ax, name)) for name in ("padding", "anchor", "draft")] == [3 * 5 - 9, 2 * 3, 2 * (9 - 3)]
    assert ax.get_title() == "15 rows padded, 9 rows flat"
    assert texts(figure) == [str(place) for place in flat["positions"]] * 2 + ["0", "3", "4", "9"]


def test_times_speedups_and_gains() -> None:
    rows = {"plain": [("target", 1.0)] * 2, "drafted": [("draft", 0.5), ("verify", 1.5), ("correct", 1.0)]}
    figure = viz.time_line(rows, {"plain": 2, "drafted": 4})
    widths = [round(patch.get_width() + 0.04, 6) for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    assert widths == [1.0, 1.0, 0.5, 1.5, 1.0] and [text.get_text() for text in figure.legends[0].texts] == ["draft"]
    assert {"2 tokens in 2: 1.00 per token", "4 tokens in 3: 0.75 per token"} <= set(texts(figure))
    figure = viz.speedup_map({"map": [[0.5, 1.0], [2.0, 4.0]]}, acceptance=[0.3, 0.9], draft_cost=[0.4, 0.1])
    assert texts(figure) == ["0.50", "1.00", "2.00", "4.00"]
    break_even = {tuple(map(tuple, found.get_xydata())) for found in figure.axes[0].lines}
    assert break_even == {((0.5, -0.5), (0.5, 0.5)), ((-0.5, 0.5), (0.5, 0.5))}
    arguments = ([0.5, 0.5], 2, 0.25, [0.75, 0.75, 1.0], 1.0)
    results = {"tune": net_benefit(*arguments, 0.0, 0.45), "reject": net_benefit(*arguments, 1.0)}
    figure = viz.gain_bars(results, current=2, min_gain=0.45)
    tuned = figure.axes[0]
    assert [round(bar.get_height()) for bar in tuned.patches] == [0, 50, 40] and hatched(tuned) == [True, False, True]
    assert {"tune: ℓ = 1, +50 %", "reject: decode plainly"} <= set(texts(figure))


def test_rounds_show_the_fate_of_each_draft() -> None:
    rounds = [
        {"drafted": [5, 7, 2, 4], "verified": 3, "accepted": 1, "emitted": [5, 6]},
        {"drafted": [1, 0, 9], "verified": 3, "accepted": 3, "emitted": [1, 0]},
        {"drafted": [], "verified": 0, "accepted": 0, "emitted": [3]},
    ]
    figure = viz.round_rows(rounds)
    fates = [text.get_text() for text in figure.legends[0].get_texts()]
    assert fates == ["accepted", "rejected", "trimmed", "the target's own", "cut"]
    assert texts(figure) == ["round 1", "5", "4", "6", "round 2", "1", "0", "9", "round 3", "3"]
    words = ["the", "cat", "sat", "ran"]
    verified = viz.verified_rounds([([1, 3, 0], {"accepted": 1, "tokens": [1, 2]})], words, kept=1)
    assert texts(verified) == ["round 1: drafted", "emitted", "cat", "ran", "the", "cat", "sat"]
    assert [patch.get_facecolor()[3] > 0 for patch in verified.axes[0].patches] == [True, False, False, True, False]
    cache = viz.cache_rows({"three of four": (5, 1)})
    assert texts(cache) == ["three of four", "x₀", "x₁", "x₂", "x₃", "x₄"]
    assert [patch.get_facecolor()[3] > 0 for patch in cache.axes[0].patches] == [True] * 4 + [False]
    figure = viz.draft_fates({"a run": round_totals([4, 4], [3, 4], [2, 4], [3, 5])})
    assert [bar.get_width() for bar in figure.axes[0].patches] == [6, 1, 1]


def test_a_tree_has_its_nodes_by_depth_and_a_thick_path() -> None:
    figure = viz.draft_tree(TREE, ["of", "course", "no\n"], path=[2, 3], root="Thanks!", title="A tree")
    assert texts(figure)[:2] == ["A tree", "Thanks!"]
    assert texts(figure)[2:] == ["of", "0:  .50", "course", "1:  .25", "no↵", "2:  .045", "course", "3:  .040"]
    assert [found.get_linewidth() > 2 for found in figure.axes[0].lines] == [False, False, True, True]
    (ax,) = viz.draft_tree({"tokens": [0, 1, 2, 3], "parents": [-1, 0, 0, 2]}).axes
    root, first, a, b, below = (ax.texts[i].get_position() for i in (0, 1, 3, 5, 7))
    assert root[0] < first[0] < a[0] == b[0] < below[0]
    assert first[1] == (a[1] + b[1]) / 2 and b[1] == below[1] and root[1] == first[1]
    assert texts(viz.draft_tree({"tokens": [], "parents": [], "log_probs": []})) == ["x₀"]
