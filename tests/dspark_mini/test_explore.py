"""The page on which rounds can be opened: what became of each draft, and how it behaves in a browser."""

import io
import json
import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dspark_mini.engine import Steps, TreeSteps, generate
from dspark_mini.lm import load, prompts
from dspark_mini.odds import recording
from dspark_mini.trace import Round, Trace
from dspark_mini.viz import explore

PARTS = dict.fromkeys(("draft", "head", "verify", "commit"), 0.001)


def data_of(page: str) -> Any:
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]


@pytest.mark.parametrize(
    ("round_", "fates"),
    [
        (Round([5, 6, 7], None, [], 3, 1, [0], [5, 9], PARTS), ["accepted", "rejected", "unread"]),
        (Round([5, 6, 7], None, [], 1, 1, [0], [5, 9], PARTS), ["accepted", "trimmed", "trimmed"]),
        (Round([5, 6, 7], None, [], 3, 2, [0, 1], [5], PARTS), ["accepted", "cut", "unread"]),
        (
            Round([5, 6, 7, 8], [-1, -1, 1, 0], [], 4, 1, [1], [6, 9], PARTS),
            ["rejected", "accepted", "rejected", "unread"],
        ),
    ],
    ids=["rejection", "trim", "end of the text", "tree"],
)
def test_each_draft_has_its_fate(round_: Round, fates: list[str]) -> None:
    (lane,) = data_of(explore(Trace(round_.emitted, [round_])).html)["lanes"]
    assert [draft["fate"] for draft in lane["rounds"][0]["drafts"]] == fates


@pytest.mark.parametrize("steps", [Steps(), Steps(tree=TreeSteps(widths=(2, 1)))], ids=["chain", "tree"])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_recording_leaves_the_text_and_knows_what_was_accepted(steps: Steps, temperature: float) -> None:
    model = load(drafters=("dspark",))
    prompt, drafter = prompts(model.tokenizer, "chat", 1)[0], model.drafters["dspark"]
    watched, odds = recording(steps)
    traces = []
    for chosen in (steps, watched):
        model.clear()
        rng = np.random.default_rng(3)
        traces.append(generate(model.target, drafter, prompt, 24, (), temperature, rng, chosen))
    assert traces[0].output == traces[1].output
    assert len(odds) == len(traces[1].rounds)
    for round_, seen in zip(traces[1].rounds, odds):
        assert len(seen.chance) == round_.verified
        assert all(seen.chance[node] > 0 for node in round_.path)


def test_the_page_plays_and_opens_rounds_by_keyboard_alone(open_page: Callable[[Path], Any], tmp_path: Path) -> None:
    rounds = [Round([1, 2, 3], None, [0.9, 0.8, 0.1], 3, 1, [0], [1, 4], PARTS) for _ in range(3)]
    page_file = tmp_path / "race.html"
    page_file.write_text(explore(Trace([1, 4] * 3, rounds), words=list("abcde")).html, encoding="utf-8")
    page = open_page(page_file)
    assert page.locator(".round.done").count() == 0
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator(".round.done").count() == 2
    page.keyboard.press(" ")  # plays to the end
    page.wait_for_function("document.querySelectorAll('.round.done').length === 3", timeout=10_000)
    page.locator(".round.done").last.focus()
    page.keyboard.press("Enter")
    assert "round 3 of 3: 1 of 3 drafts accepted" in page.locator(".detail h2").inner_text()
    page.keyboard.press("Escape")
    assert page.locator(".detail").is_hidden()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowLeft")
    assert "round 2 of 3" in page.locator(".detail h2").inner_text()


def test_a_screenshot_shows_every_lane_on_one_clock(open_page: Callable[[Path], Any], tmp_path: Path) -> None:
    slow, fast = ({"draft": 0.001 * k, "head": 0.001 * k, "verify": 0.004 * k, "commit": 0.002 * k} for k in (2, 1))
    traces = {
        name: Trace([1, 4] * 2, [Round([1, 2, 3], None, [0.9, 0.8, 0.1], 3, 1, [0], [1, 4], parts)] * 2)
        for name, parts in (("slow", slow), ("fast", fast))
    }
    page_file = tmp_path / "race.html"
    page_file.write_text(explore(traces, words=["the", "quick", "brown", "fox", "jumps"]).html, encoding="utf-8")
    page = open_page(page_file)
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.locator(".lane").last.locator(".round").last.click()
    picture = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"), int)
    seen = []
    for track, parts in zip(page.locator(".track").all(), (slow, fast)):
        box, total = track.bounding_box(), 2 * sum(slow.values())
        row = picture[round(box["y"] + box["height"] / 2), round(box["x"]) : round(box["x"] + box["width"])]
        runs = [(color, len(list(pixels))) for color, pixels in groupby(map(tuple, row))]
        runs = [run for run in runs if run[1] > 3]  # without the line that marks the moment, and blended edges
        widths = [box["width"] * seconds / total for seconds in parts.values()] * 2
        assert [width for _, width in runs][:8] == pytest.approx(widths, abs=3.0)
        seen.append([color for color, _ in runs])
    assert seen[0] == seen[1][:8] and seen[0][:4] == seen[0][4:] and len(seen[1]) == 9  # then the empty track
    for one, other in zip(seen[1], seen[1][1:]):
        assert np.abs(np.subtract(one, other)).sum() > 60  # neighbours can be told apart
    chosen, detail = (page.locator(name).bounding_box() for name in (".round.chosen", ".detail"))
    assert chosen["x"] + chosen["width"] <= detail["x"] or chosen["y"] + chosen["height"] <= detail["y"]
