"""A page on which the rounds of texts can be played and opened: one file, without a library or a network."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dspark_mini.language import _, current
from dspark_mini.odds import RoundOdds
from dspark_mini.trace import PARTS, Round, Trace

ASSETS = Path(__file__).parent / "assets"
HEIGHT = 640  # pixels in a notebook


@dataclass(frozen=True)
class Page:
    """A complete HTML page, which a notebook shows in a frame."""

    html: str

    def _repr_html_(self) -> str:
        source, title = html.escape(self.html, quote=True), _("Rounds")
        return f'<iframe srcdoc="{source}" style="width:100%;height:{HEIGHT}px;border:0" title="{title}"></iframe>'


def explore(
    traces: Trace | Mapping[str, Trace],
    words: Sequence[str] = (),
    prompt: Sequence[int] = (),
    odds: Mapping[str, Sequence[RoundOdds]] | None = None,
    title: str = "",
) -> Page:
    """Show texts round by round, on one clock: to be played, scrubbed, and opened round by round.

    Args:
        traces: One trace, or several by name: a lane each.
        words: Word of each token id; without it the ids are shown.
        prompt: Token ids of the prompt.
        odds: By name, what `odds.recording` noted in each round; without it the rounds show no p and q.
        title: Heading.
    """
    named = {_("text"): traces} if isinstance(traces, Trace) else traces
    data = {
        "title": title or _("Speculative decoding, round by round"),
        "labels": _labels(),
        "words": list(words),
        "prompt": list(prompt),
        "lanes": [_lane(name, trace, (odds or {}).get(name, ())) for name, trace in named.items()],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    files = (ASSETS / name for name in ("page.css", "explore.css", "explore.js"))
    shared, style, script = (path.read_text(encoding="utf-8") for path in files)
    return Page(
        f'<!doctype html>\n<html lang="{current()}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>{html.escape(str(data['title']))}</title>\n<style>\n{shared}{style}</style>\n</head>\n<body>\n<main></main>\n"
        f'<script type="application/json" id="data">{text}</script>\n<script>\n{script}</script>\n</body>\n</html>\n'
    )


def _lane(name: str, trace: Trace, odds: Sequence[RoundOdds]) -> dict[str, Any]:
    rounds, start = [], 0.0
    for number, round_ in enumerate(trace.rounds):
        rounds.append(_round(round_, start, odds[number] if number < len(odds) else RoundOdds()))
        start += sum(rounds[-1]["ms"].values())
    return {"name": name, "rounds": rounds, "end": start}


def _round(round_: Round, start: float, odds: RoundOdds) -> dict[str, Any]:
    accepted = [node for node in round_.path if node < len(round_.drafted)]
    own = round_.emitted[round_.accepted :]
    written, kept = 1 + round_.verified, len(round_.emitted)
    return {
        "start": start,
        "ms": {part: 1000 * round_.seconds.get(part, 0.0) for part in PARTS},
        "count": len(round_.emitted),
        "drafts": [
            {
                "token": token,
                "parent": -1 if round_.parents is None else round_.parents[node],
                "confidence": _at(round_.confidences, node),
                "q": _at(odds.q, node),
                "p": _at(odds.p, node),
                "chance": _at(odds.chance, node),
                "fate": _fate(round_, node, accepted),
            }
            for node, token in enumerate(round_.drafted)
        ],
        "tree": round_.parents is not None,
        "own": own,
        "residual": odds.residual,
        "cache": {"written": written, "kept": kept, "dropped": written - kept},
    }


def _fate(round_: Round, node: int, accepted: Sequence[int]) -> str:
    """Say what became of a draft: accepted, rejected, beyond a rejection or off the path, trimmed, or past the end."""
    if node in accepted:
        return "accepted" if accepted.index(node) < len(round_.emitted) else "cut"
    if node >= round_.verified:
        return "trimmed"
    if round_.parents is None:
        return "rejected" if node == round_.accepted and len(round_.emitted) > round_.accepted else "unread"
    reached = round_.parents[node] in (-1, *accepted)
    return "rejected" if reached else "unread"


def _at(values: Sequence[Any], place: int) -> Any:
    return values[place] if place < len(values) else None


def _labels() -> dict[str, Any]:
    """Return what the page says, in the language in use."""
    return {
        "explain": _(
            "Words appear when they are committed. Grey: drafted, not verified yet. Struck through: rejected, with the "
            "number of further drafts that were dropped. ^Bold: the target's own token. Space plays and pauses, ← and "
            "→ go from round to round; Enter or a click opens a round, Escape closes it."
        ),
        "stats": _("{tokens} tokens, {rounds} rounds, τ {tau}, {ms} ms"),
        "round": _("{name}, round {round} of {all}: {accepted} of {drafts} drafts accepted"),
        "play": _("Play"),
        "pause": _("Pause"),
        "back": _("Previous round"),
        "forth": _("Next round"),
        "close": _("Close"),
        "speed": _("Speed"),
        "time_slider": _("Time"),
        "real_time": _("real time"),
        "slower": _("{factor} × slower"),
        "tree": _("The tree; the accepted path is bold"),
        "residual": _("After the rejection: the residual, max(p − q, 0) normalised"),
        "own": _("The target's own token: {word}"),
        "time": _("Where the time went"),
        "cache": _("The target's cache"),
        "rows": _("{written} rows written, {kept} kept, {dropped} dropped"),
        "columns": {
            "token": _("draft"),
            "confidence": _("confidence"),
            "q": "q",
            "p": "p",
            "chance": "min(1, p/q)",
            "fate": "",
        },
        "fates": {
            "accepted": _("accepted"),
            "rejected": _("rejected"),
            "unread": _("not reached"),
            "trimmed": _("trimmed"),
            "cut": _("past the end"),
        },
        "parts": {"draft": _("draft"), "head": _("head"), "verify": _("verify"), "commit": _("commit")},
    }
