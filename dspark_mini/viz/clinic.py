"""The map of the bug clinic: where in a round each bug sits, and how it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes

from dspark_mini.viz.style import BLUE, GREEN, INK, ORANGE, PURPLE, SMALL, Picture, arrow, box, canvas, picture, write

LOOKS = [  # of a symptom: colour of the edge, fill, colour of the text, line
    (BLUE, BLUE, "white", "-"),
    (ORANGE, "none", ORANGE, "-"),
    (GREEN, "none", GREEN, "--"),
    (PURPLE, "none", PURPLE, ":"),
]
WIDTH, HEIGHT, STEP = 1.5, 0.42, 0.62  # of a bug's box, and from one to the next
TOP = 0.9  # the first bug, below its stage


def bug_map(stages: Mapping[str, Mapping[str, str]]) -> Picture:
    """Draw the stages of a round, and below each the bugs that sit there, marked by their symptom.

    Args:
        stages: name of a stage → {bug: symptom}; at most four different symptoms, in the order of the legend.

    Returns:
        The picture: stages from left to right, the legend of symptoms below.
    """
    if not isinstance(stages, Mapping) or not stages:
        raise ValueError("stages must be a dict from stage to bugs, with at least one entry.")
    symptoms = list(dict.fromkeys(symptom for bugs in stages.values() for symptom in bugs.values()))
    if len(symptoms) > len(LOOKS):
        raise ValueError(f"stages has {len(symptoms)} different symptoms, but at most {len(LOOKS)} can be told apart.")
    most = max(len(bugs) for bugs in stages.values())
    right, bottom = 2.0 * len(stages), TOP + STEP * most
    figure = picture(0.86 * right, 0.86 * (bottom + 1.3))
    ax = canvas(figure, 0.0, right, -bottom - 0.6, 0.7)
    for number, (stage, bugs) in enumerate(stages.items()):
        x = 2.0 * number + 1.0
        box(ax, x, 0.0, WIDTH, 0.62, stage, fill=INK, ink="white")
        if number:
            arrow(ax, (x - 2.0 + WIDTH / 2, 0.0), (x - WIDTH / 2 - 0.02, 0.0))
        for place, (bug, symptom) in enumerate(bugs.items()):
            _draw_bug(ax, x, -TOP - STEP * place, bug, symptoms.index(symptom), WIDTH)
    _explain(ax, symptoms, -bottom - 0.25, right)
    return figure


def _draw_bug(ax: Axes, x: float, y: float, text: str, look: int, width: float) -> None:
    edge, fill, ink, line = LOOKS[look]
    box(ax, x, y, width, HEIGHT, fill=fill, edge=edge, line=line)
    write(ax, x, y, text, color=ink, bold=True, va="center_baseline")


def _explain(ax: Axes, symptoms: Sequence[str], y: float, right: float) -> None:
    """Write the symptoms below, each beside a small box in its look."""
    step = right / max(1, len(symptoms))
    for number, symptom in enumerate(symptoms):
        _draw_bug(ax, step * number + 0.45, y, "", number, 0.5)
        write(ax, step * number + 0.8, y, symptom, size=SMALL, ha="left")
