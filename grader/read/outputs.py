"""A large notebook without its outputs, which are not graded and should not cost a student the grade."""

from __future__ import annotations

import re
from json.decoder import scanstring  # type: ignore[attr-defined]

MAX_STRINGS = 5_000_000  # more would take longer than grading does
OUTPUTS = re.compile(r"\s*:\s*\[")
BRACKET = re.compile(r'["\[\]{}]')


def without_outputs(text: str) -> str:
    """Empty the lists of outputs in the JSON of a notebook, without building them in memory.

    Args:
        text: the JSON; what is damaged or has too many strings is returned as it is.
    """
    kept: list[str] = []
    start = at = 0
    try:
        for _ in range(MAX_STRINGS):
            if (quote := text.find('"', at)) < 0:
                return "".join([*kept, text[start:]])
            at = scanstring(text, quote + 1, False)[1]
            opening = OUTPUTS.match(text, at) if text.startswith('"outputs"', quote) else None
            if opening:
                kept.append(text[start : opening.end()])
                start = at = _end_of_list(text, opening.end())
    except ValueError:
        pass
    return text


def _end_of_list(text: str, at: int) -> int:
    """Find the bracket that closes a list.

    Args:
        text: JSON.
        at: where the first entry of the list begins.

    Raises:
        ValueError: There is none.
    """
    depth = 1
    for _ in range(MAX_STRINGS):
        found = BRACKET.search(text, at)
        if found is None:
            break
        at = found.end()
        if found[0] == '"':
            at = scanstring(text, at, False)[1]
            continue
        depth += 1 if found[0] in "[{" else -1
        if depth == 0:
            return found.start()
    raise ValueError("a list without an end")
