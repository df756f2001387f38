"""Every picture renders on a light and on a dark page, its labels do not overlap, and bad input is refused."""

import subprocess
import sys
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.text import Text

from dspark_mini import block_mask, flatten_requests, net_benefit, round_totals, tree_mask, verification_mask, viz
from dspark_mini.language import speaking
from dspark_mini.viz import labels
from dspark_mini.viz.colors import BLUE, GREEN, INK, ORANGE, PURPLE
from dspark_mini.viz.style import Picture

NAN = float("nan")
HALF, P, Q = [[0.5, 0.5]], [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]
LOGITS = [[0.1, 0.8, 0.1], [0.6, 0.2, 0.2], [0.1, 0.2, 0.7]]
ROUND = {"drafted": [5, 7, 2, 4], "verified": 3, "accepted": 1, "emitted": [5, 6]}
RESULT = {"accepted": 1, "tokens": [1, 2]}
TREE = {"tokens": [0, 1, 2, 1], "parents": [-1, 0, -1, 2], "log_probs": np.log([0.5, 0.25, 0.045, 0.04]).tolist()}
RUN = {"method": "dspark", "domain": "math", "speedup": 1.5, "tau": 5.2, "conditional_acceptance": [0.9, None, 0.8]}
FLAT = flatten_requests([2, 0, 4], [5, 3, 8])
GAINS = {"busy": net_benefit([0.5, 0.5], 2, 0.25, [0.75, 0.75, 1.0], 1.0, 0.0, 0.45)}

EXAMPLES: dict[str, Callable[[], Picture]] = {
    "acceptance_decay": lambda: viz.acceptance_decay({"a": [0.7, NAN, 0.5], "b": [0.7, 0.6, 0.5], "c": [NAN]}, "$"),
    "accepted_mass": lambda: viz.accepted_mass(P, Q, [1, 1, 1 / 3], [0.75, 0.25, 0.0], words=["a", "b", "$"]),
    "bias_tables": lambda: viz.bias_tables({"r = 1": np.eye(12), "r = 2": -np.eye(12)}, after=["problem"] * 12),
    "block_layouts": lambda: viz.block_layouts({"DFlash": ([7, 99, 99], [1, 2]), "late": ([7, 151_935], [1, 2])}),
    "block_shares": lambda: viz.block_shares({"a": [0.25, 0.75], "b": [0.5, 0.5]}, ["of course", "no\nproblem"], "$"),
    "bug_map": lambda: viz.bug_map({"draft": {"8.1": "text right, time lost", "8.2": "text wrong"}, "verify": {}}),
    "cache_rows": lambda: viz.cache_rows({"ℓ = 4, 3 accepted": (5, 1), "ℓ = 0": (1, 0)}),
    "candidate_grid": lambda: viz.candidate_grid(LOGITS, {"DFlash": [1, 0, 2], "DSpark": [2, 0, 1]}, 1, ["_{\n$"] * 3),
    "confidence_budget": lambda: viz.confidence_budget([0.9, 0.45, 0.52], 0.5, 1, tokens=["be", "or", "$"]),
    "draft_fates": lambda: viz.draft_fates({"a run": round_totals([4, 4], [3, 4], [2, 4], [3, 5])}),
    "draft_tree": lambda: viz.draft_tree(TREE, ["of", "course", "no\n"], path=[2, 3], root="Thanks!", title="A tree"),
    "emitted_laws": lambda: viz.emitted_laws(P, {"the target alone": P, "accept by p/q, else from p": [0.4, 0.3, 0.3]}),
    "flat_batch": lambda: viz.flat_batch(FLAT["requests"], FLAT["positions"], FLAT["starts"]),
    "gain_bars": lambda: viz.gain_bars(GAINS, current=2, min_gain=0.45),
    "kv_injection": lambda: viz.kv_injection(8, 5, 12, [0, 5, 11]),
    "lines": lambda: viz.lines(
        {"a": {"a": [1.0, 2.0], "b": [2.0, NAN]}, "$": {"b": [1, 1]}}, [1, 2], "x", {"x = 1": 1}, log_x=True
    ),
    "mask_picture": lambda: viz.mask_picture(block_mask(4, [1, 4], 2), 4, [1, 4], 2, title="mask"),
    "overlap_picture": lambda: viz.overlap_picture([P, Q], [Q, P], [0.6, 0.6], words=["of", "course", "$no"]),
    "policy_speeds": lambda: viz.policy_speeds(
        {"plain": {"a": 1.0, "$": 1.0}, "yours": {"a": 2.0, "$": 0.5}, "oracle": {"a": 2.5, "$": 1.5}},
        "yours",
        "oracle",
    ),
    "race_picture": lambda: viz.race_picture([RUN, RUN | {"method": "dflash"}, RUN | {"domain": "code"}]),
    "reliability_diagram": lambda: viz.reliability_diagram({"raw": ([0.2, 0.8], [0, 1])}, {"raw": 0.2}),
    "round_rows": lambda: viz.round_rows([ROUND, ROUND | {"accepted": 3}], words=["to\n"] * 8),
    "speed_by_length": lambda: viz.speed_by_length({str(n): [0.8, 1 + n, 1.5] for n in range(5)}, title="$"),
    "speedup_map": lambda: viz.speedup_map({"map": [[0.0, 1.0], [2.0, 4.0]]}, [0.3, 0.95], [0.4, 0.05]),
    "survival_bars": lambda: viz.survival_bars([0.5, 0.1], [0.5, 0.05], title="$"),
    "threshold_sweep": lambda: viz.threshold_sweep([0.0, 0.5, 1.0], [3.0, 2.0, 0.0], [3.0, 0.5, 0.0], title="$"),
    "time_line": lambda: viz.time_line(
        {"plain": [("target", 1.0)] * 2, "DSpark": [("draft", 0.1)]}, {"plain": 2, "DSpark": 1}
    ),
    "tokens_per_round": lambda: viz.tokens_per_round({"chain": ([1, 2], [1.5, 1.8]), "tree": ([1, 2], [1.5, 1.8])}),
    "tree_mask_picture": lambda: viz.tree_mask_picture(tree_mask(TREE["parents"], 3), TREE["parents"], title="mask"),
    "verification_picture": lambda: viz.verification_picture(verification_mask(2, 2), 2),
    "verified_rounds": lambda: viz.verified_rounds([([1, 0, 0], RESULT)], ["the", "cat", "sat"], kept=1),
    "verify_schedule": lambda: viz.verify_schedule([[0.5, 0.5], [0.75], []], {"now": [1, 1, 0], "$": [0, 0, 0]}),
    "who_depends_on_what": lambda: viz.who_depends_on_what(5),
}

ONE_DICT = [viz.acceptance_decay, viz.bias_tables, viz.block_layouts, viz.bug_map, viz.cache_rows, viz.draft_fates]
ONE_DICT += [viz.reliability_diagram, viz.speed_by_length, viz.tokens_per_round]


def luminance(color: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2 defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_every_function_has_an_example() -> None:
    assert set(EXAMPLES) == set(viz.__all__) - {"explore", "readme_picture"}  # a page and a file


@pytest.mark.parametrize("page", ["white", "#111111"])
@pytest.mark.parametrize("color", [INK, BLUE, ORANGE, GREEN, PURPLE])
def test_colours_stand_out_from_a_light_and_a_dark_page(color: str, page: str) -> None:
    low, high = sorted((luminance(color), luminance(page)))
    assert (high + 0.05) / (low + 0.05) > 4.1


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_picture_is_legible_on_any_page_and_draws_without_a_warning(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = EXAMPLES[name]()
        png, size = figure._repr_png_()
    assert png.startswith(b"\x89PNG") and 0 < size["width"] < 1000
    assert figure.get_facecolor()[3] == 0 and all(ax.get_facecolor()[3] == 0 for ax in figure.axes)

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    alpha = np.asarray(canvas.buffer_rgba())[::-1, :, 3]  # row 0 at the bottom
    boxes = {}
    for text in (found for found in figure.findobj(Text) if found.get_visible() and found.get_text().strip()):
        boxes[text] = text.get_window_extent()
        x, y = np.rint(boxes[text].get_points().mean(axis=0)).astype(int)
        if to_hex(text.get_color()) in ("#ffffff", "#000000"):
            assert alpha[y - 2 : y + 3, x - 2 : x + 3].min() > 200, f"{text.get_text()!r} needs a filled box below it"
    for (one, a), (other, b) in combinations(boxes.items(), 2):
        width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert width < 2 or height < 2, f"{one.get_text()!r} overlaps {other.get_text()!r}"


@pytest.mark.parametrize("font", [None, "DejaVu Sans"])
def test_a_picture_is_in_the_language_in_use_if_a_font_has_its_letters(
    font: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "_font", {"zh": font}.get)
    with speaking("zh"):
        figure = viz.lines({"tokens per second": {"idle": [1], "mine": [2]}}, [1], "verify length ℓ")
    texts = {text.get_text() for text in figure.findobj(Text)}
    chinese, english = {"每秒词元数", "空闲", "验证长度 ℓ"}, {"tokens per second", "idle", "verify length ℓ"}
    assert {"mine", *(chinese if font else english)} <= texts


def test_a_font_installed_after_matplotlib_first_ran_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    path = font_manager.findfont("DejaVu Sans")
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [])
    monkeypatch.setattr(labels, "findSystemFonts", lambda: ["no such file", path])
    monkeypatch.setattr(labels, "FONTS", {"zh": ("DejaVu Sans",)})
    assert labels._font.__wrapped__("zh") == "DejaVu Sans"


def test_the_readme_pictures_are_the_same_each_time(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "dspark_mini.viz", str(tmp_path / "assets")], check=True)
    viz.readme_picture(tmp_path / "again.svg", dark=True)
    light, dark = ((tmp_path / "assets" / f"overview-{page}.svg").read_bytes() for page in ("light", "dark"))
    assert light != dark == (tmp_path / "again.svg").read_bytes()
    assert ElementTree.fromstring(dark).get("viewBox") == "0 0 675 196.5"  # points: 900 by 262 pixels
    race = ElementTree.parse(tmp_path / "assets" / "race-dark.svg").getroot()
    starts = [float(found.get("keyTimes", "").split(";")[1]) for found in race.iter() if found.tag.endswith("animate")]
    assert len(starts) > 150 and max(starts) == 0.75  # three texts; the slowest ends 9 s into 12 s


@pytest.mark.parametrize("draw", ONE_DICT)
def test_an_empty_dict_is_refused(draw: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises(ValueError, match=r"must be a dict from label to .*, with at least one entry\.$"):
        draw({})


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: viz.acceptance_decay({"a": [0.5, 1.5]}), r"curves\['a'\]\[1\]"),
        (lambda: viz.accepted_mass([0.5, 0.25], [0.5, 0.5], [1, 1]), "p must sum to 1"),
        (lambda: viz.bias_tables({"a": [[1.0]], "b": [[1.0, 2.0]]}), r"tables\['b'\] has shape"),
        (lambda: viz.bias_tables({"a": [[NAN]]}), r"tables\['a'\]\[0\]\[0\]"),
        (lambda: viz.block_layouts({"a": ([7], [0.5])}), r"layouts\['a'\]\[1\]\[0\]"),
        (lambda: viz.block_shares({"a": [0.5]}, ["x", "y"]), r"shares\['a'\] has 1"),
        (lambda: viz.bug_map({"a": {str(n): str(n) for n in range(5)}}), "5 different symptoms"),
        (lambda: viz.cache_rows({"too many": (2, 3)}), "too many"),
        (lambda: viz.candidate_grid(LOGITS, {"a": [1, 0]}), r"chains\['a'\] has 2 entries"),
        (lambda: viz.candidate_grid(LOGITS, {"a": [1, 0, 3]}), r"chains\['a'\]\[2\]"),
        (lambda: viz.candidate_grid([[0.0, NAN]], {"a": [1]}), r"block_logits\[0\]\[1\]"),
        (lambda: viz.candidate_grid({"a": HALF, "b": [P]}, {"a": [1], "b": [1]}), r"block_logits\['b'\] has shape"),
        (lambda: viz.confidence_budget([0.5], 0.5, 2), "budget"),
        (lambda: viz.draft_tree({"tokens": [1, 1], "parents": [-1, -1]}), r"tokens\[1\]"),
        (lambda: viz.draft_tree(TREE, ["of"]), "token 1 has no word"),
        (lambda: viz.draft_tree(TREE, path=[4]), r"path\[0\]"),
        (lambda: viz.kv_injection(layers=6), r"feature_layers\[2\]"),
        (lambda: viz.lines({"a": {}}, [1], "x"), r"panels\['a'\] must be a dict"),
        (lambda: viz.lines({"a": {"b": [1, 2]}}, [1], "x"), r"panels\['a'\]\['b'\] has 2"),
        (lambda: viz.lines({"a": {"b": [np.inf]}}, [1], "x"), "finite"),
        (lambda: viz.mask_picture([[0.5]], 0), "True and False"),
        (lambda: viz.mask_picture([[1], [1, 0]], 0), r"mask\[1\] has shape"),
        (lambda: viz.mask_picture(np.eye(3), 0, [0, 0]), "3 rows"),
        (lambda: viz.overlap_picture(HALF * 5, HALF * 5, [1.0] * 5), "number of positions"),
        (lambda: viz.race_picture([RUN | {"conditional_acceptance": None}]), "no drafter's run"),
        (lambda: viz.reliability_diagram({"a": ([0.5], [0, 1])}), r"samples\['a'\]\[1\] has 2"),
        (lambda: viz.round_rows([]), "rounds is empty"),
        (lambda: viz.round_rows([ROUND | {"verified": 5}]), "verified"),
        (lambda: viz.round_rows([ROUND | {"accepted": 4}]), "accepted"),
        (lambda: viz.speed_by_length({"a": [1.0, -1.0]}), r"curves\['a'\]\[1\]"),
        (lambda: viz.speedup_map({"a": [[1.0, 2.0]]}, [0.5], [0.1]), "shape"),
        (lambda: viz.time_line({"a": [("rest", 1.0)]}, {"a": 1}), "'rest'"),
        (lambda: viz.time_line({"a": [("draft", -1.0)]}, {"a": 1}), "at least 0"),
        (lambda: viz.tokens_per_round({"a": ([1, 2], [1.0])}), r"curves\['a'\]\[1\] has 1"),
        (lambda: viz.tokens_per_round({"a": [1, 2, 3]}), r"curves\['a'\] must be a pair"),
        (lambda: viz.tree_mask_picture([[True]] * 2, [-1, 0]), "a column per node"),
        (lambda: viz.tree_mask_picture([[True, False]], [-1, 0]), r"mask has shape \(1, 2\)"),
        (lambda: viz.verification_picture([[True, False]], 1), r"mask has shape \(1, 2\)"),
        (lambda: viz.verified_rounds([]), "rounds is empty"),
        (lambda: viz.verify_schedule([], {"a": []}), "at least one request"),
        (lambda: viz.verify_schedule([[0.5]], {"a": [2]}), r"lengths\['a'\]\[0\]"),
        (lambda: viz.verify_schedule([[0.5]], {"a": [0, 0]}), r"lengths\['a'\] has 2"),
        (lambda: viz.who_depends_on_what(1), "block_size"),
    ],
)
def test_bad_input_gets_a_sentence(draw: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw()
