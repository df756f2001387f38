"""The race as an animated SVG for the README: words appear when their round was committed, slowed down."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from dspark_mini.trace import Trace
from dspark_mini.viz.colors import BLUE, GREEN

WIDTH, LEFT, LINE = 900, 108, 19  # pixels: of the picture, of the names' column, from one line to the next
LETTER = 7.25  # pixels: of a letter in 12 px monospace
PLAY, HOLD = 9.0, 3.0  # seconds: for the slowest text, and for all of them to be read
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def race_animation(
    traces: Mapping[str, Trace], words: Sequence[str], path: str | os.PathLike[str], dark: bool = False
) -> None:
    """Write an animated SVG in which several texts race on one clock; it repeats itself.

    Args:
        traces: By name of the method, the slowest of all included; each round has its seconds.
        words: Word of each token id.
        path: File to write.
        dark: Whether the page is dark.
    """
    longest = max(trace.duration for trace in traces.values())
    body, y = list[str](), 16
    for name, trace in traces.items():
        lines, height = _lane(trace, words, y, longest)
        factor = longest / trace.duration
        body.append(f'<text class="n" x="8" y="{y}">{escape(name)}</text>')
        note = f"{1000 * trace.duration:.0f} ms" + (f", {factor:.1f} ×" if factor > 1.005 else "")
        body.append(_timed(f'<text class="t" x="8" y="{y + LINE - 3}">{note}', "</text>", trace.duration / longest))
        body += lines
        y += height + 14
    ink, soft = ("#e6edf3", "#9198a1") if dark else ("#1f2328", "#59636e")
    style = (
        f"text{{font:12px {FONT};fill:{ink}}}.n{{font-weight:700}}.t{{fill:{soft}}}"
        f".o{{font-weight:700;fill:{GREEN}}}.b{{fill:{BLUE}}}@media(prefers-reduced-motion:reduce){{*{{opacity:1!important}}}}"
    )
    Path(path).write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y - 8}" viewBox="0 0 {WIDTH} {y - 8}">'
        f"<style>{style}</style>\n" + "\n".join(body) + "\n</svg>\n",
        "utf-8",
    )


def _lane(trace: Trace, words: Sequence[str], top: int, longest: float) -> tuple[list[str], int]:
    """Return the words of a text, each with the time at which it appears, and the height that they take."""
    lines, x, y = list[str](), float(LEFT), top
    for moment, word, is_own in _committed(trace, words):
        width = LETTER * (len(word) + 1)
        if x + width > WIDTH - 8:
            x, y = float(LEFT), y + LINE
        kind = "o" if is_own else "b"
        lines.append(_timed(f'<text class="{kind}" x="{x:.1f}" y="{y}">{escape(word)}', "</text>", moment / longest))
        x += width
    return lines, y - top + LINE


def _committed(trace: Trace, words: Sequence[str]) -> Iterator[tuple[float, str, bool]]:
    """Yield each word with the second of its commit, and whether it is the target's own."""
    now = 0.0
    for round_ in trace.rounds:
        now += round_.duration
        for place, token in enumerate(round_.emitted):
            yield now, {"\n": "↵", "    ": "⇥"}.get(words[token], words[token]), place >= round_.accepted


def _timed(start: str, end: str, share: float) -> str:
    """Let an element appear after a share of the playing time, and stay until the picture begins again."""
    at = share * PLAY / (PLAY + HOLD)
    timing = f'values="0;0;1;1" keyTimes="0;{at:.4f};{at:.4f};1" dur="{PLAY + HOLD:g}s" repeatCount="indefinite"'
    return f'{start}<animate attributeName="opacity" calcMode="discrete" {timing}/>{end}'
