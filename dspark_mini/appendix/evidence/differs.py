"""Where the small models differ from the paper, and why: one text an experiment, written after looking at it."""

from __future__ import annotations

DIFFERS = {
    "table_1": "",
    "figure_2": "",
    "figure_3": "",
    "figure_4": "",
    "figure_5": "",
    "figure_6": "",
    "figure_7_8": "",
}
