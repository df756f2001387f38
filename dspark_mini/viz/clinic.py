"""The map of the bug clinic: the stage of a round that each bug sits in, and its symptom."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes

from dspark_mini.contracts import takes
from dspark_mini.viz.arguments import labelled
from dspark_mini.viz.colors import BLUE, GREEN, INK, ORANGE, PURPLE, SMALL, Look, solid
from dspark_mini.viz.draw import arrow, box, write
from dspark_mini.viz.labels import _
from dspark_mini.viz.style import Picture, canvas

LOOKS: list[Look] = [  # of a symptom
    solid(BLUE),
    {"edge": ORANGE, "ink": ORANGE},
    {"edge": GREEN, "ink": GREEN, "line": "--"},
    {"edge": PURPLE, "ink": PURPLE, "line": ":"},
]
WIDTH, HEIGHT, STEP = 1.5, 0.42, 0.62  # of a bug's box, and from one box to the next
TOP = 0.9  # from a stage to its first bug


@takes(stages=labelled("bugs"))
def bug_map(stages: Mapping[str, Mapping[str, str]]) -> Picture:
    """Draw the stages of a round, and below each its bugs, marked by their symptoms.

    Args:
        stages: Stage → {bug: symptom}; at most four different symptoms, in the order of the legend.

    Returns:
        The picture: stages from left to right, the legend of symptoms below.
    """
    symptoms = list(dict.fromkeys(symptom for bugs in stages.values() for symptom in bugs.values()))
    if len(symptoms) > len(LOOKS):
        raise ValueError(f"stages has {len(symptoms)} different symptoms, but at most {len(LOOKS)} can be told apart.")
    right, bottom = 2.0 * len(stages), TOP + STEP * max(len(bugs) for bugs in stages.values())
    figure, ax = canvas(0.86, 0.0, right, -bottom - 0.6, 0.7)
    for number, (stage, bugs) in enumerate(stages.items()):
        x = 2.0 * number + 1.0
        box(ax, x, 0.0, WIDTH, 0.62, _(stage), fill=INK, ink="white")
        if number:
            arrow(ax, (x - 2.0 + WIDTH / 2, 0.0), (x - WIDTH / 2 - 0.02, 0.0))
        for place, (bug, symptom) in enumerate(bugs.items()):
            _draw_bug(ax, x, -TOP - STEP * place, WIDTH, bug, LOOKS[symptoms.index(symptom)])
    step = right / max(1, len(symptoms))
    for number, symptom in enumerate(symptoms):
        _draw_bug(ax, step * number + 0.4, -bottom - 0.25, 0.36, "", LOOKS[number])
        write(ax, step * number + 0.68, -bottom - 0.25, _(symptom), size=SMALL, ha="left")
    return figure


def _draw_bug(ax: Axes, x: float, y: float, width: float, text: str, look: Look) -> None:
    box(ax, x, y, width, HEIGHT if text else 0.36, **look)
    write(ax, x, y, text, color=look["ink"], bold=True, va="center_baseline")
