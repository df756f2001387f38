"""Late submissions: when each was handed in, and what share of its points then counts."""

from __future__ import annotations

import contextlib
import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from grader.read.choose import CANVAS, MOODLE
from grader.read.submissions import Source, lessons

RULES = re.compile(r"(?:(\d+(?:\.\d+)?)% per day)?(?:(?:^|, ?)0 after (\d+)(?: days?)?)?")
DEADLINE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d)?")
MAX_TIMESTAMP = 200  # bytes
NO_DATE = 1980  # the year of a file in a zip that was packed without dates
DAY = timedelta(days=1)


@dataclass(frozen=True)
class LatePolicy:
    """A deadline, and what is taken off after it."""

    deadline: datetime  # with its time zone; the first moment that is late
    percent_per_day: float = 0.0  # of the submission's own points, for each day begun
    last_day: float = math.inf  # nothing counts after so many days

    def of(self, source: Source) -> dict[str, Any]:
        """Say how late a submission is, as the field `late` of `grade --json`."""
        moment, known_by = handed_in(source)
        days = 0 if moment is None else max(0, (moment - self.deadline) // DAY + 1)
        marked = _marked_by_canvas(source)
        if marked and not days:
            known_by += ", but Canvas marks it late: decide yourself"
        share = 0.0 if days > self.last_day else max(0.0, round(1 - self.percent_per_day * days / 100, 6))
        when = moment.isoformat(timespec="seconds") if moment else None
        return {"handed_in": when, "known_by": known_by, "days": days, "marked_late": marked, "share": share}


def parse_policy(deadline: str, rules: str | None) -> LatePolicy:
    """Read --deadline and --late.

    Args:
        deadline: such as 2026-12-01T23:59, of which all of that minute is in time; this machine's time zone, unless
            one is given: 2026-12-01T23:59+01:00.
        rules: such as "10% per day, 0 after 5", or one half of that; None takes nothing off.

    Raises:
        ValueError: one of them cannot be understood.
    """
    match = DEADLINE.fullmatch(deadline.strip())
    try:
        moment = datetime.fromisoformat(deadline.strip().replace("Z", "+00:00")) if match else None
    except ValueError:
        moment = None
    if match is None or moment is None:
        raise ValueError(f"--deadline takes a date and a time, such as 2026-12-01T23:59, and not {deadline!r}.")
    moment += timedelta(seconds=1) if match[1] else timedelta(minutes=1)
    found = RULES.fullmatch(" ".join((rules or "").split()))
    if found is None or (rules is not None and found[0] == "") or float(found[1] or 0) > 100:
        raise ValueError(f'--late takes a rule such as "10% per day, 0 after 5", and not {rules!r}.')
    return LatePolicy(moment.astimezone(), float(found[1] or 0), float(found[2] or math.inf))


def late_words(late: dict[str, Any]) -> str:
    """Say how late a submission is; nothing for one in time."""
    if not late["days"]:
        unclear = late["marked_late"] or late["handed_in"] is None
        return f"Nothing taken off: {late['known_by']}." if unclear else ""
    count = "1 day" if late["days"] == 1 else f"{late['days']} days"
    share = f"{100 * late['share']:g}% of the points count"
    return f"{count} late (handed in {late['handed_in']}, says {late['known_by']}): {share}."


def handed_in(source: Source) -> tuple[datetime | None, str]:
    """Tell when a submission was handed in, and what says so.

    nbgrader's timestamp.txt counts in an assignment's folder only: in what an LMS lets you download, a student could
    have put one beside the notebook.
    """
    folder, beside = source.path.parent.name, source.path.with_name("timestamp.txt")
    from_lms = source.member or any(MOODLE.fullmatch(part) for part in source.path.parts)
    if not from_lms and folder in (*lessons(), source.path.stem) and (beside.is_symlink() or beside.exists()):
        moment = _timestamp(source)
        return moment, "timestamp.txt" if moment else "timestamp.txt holds no time that can be read"
    known_by = "its time in the zip" if source.member else "the file's time of modification"
    with contextlib.suppress(OSError, OverflowError, ValueError):
        moment = datetime.fromtimestamp(source.path.stat().st_mtime, timezone.utc).astimezone()
        if moment.year > NO_DATE:
            return moment, known_by
    return None, "when it was handed in is not known"


def _timestamp(source: Source) -> datetime | None:
    """Read nbgrader's timestamp: a date, a time and a zone, without which UTC is meant."""
    path = source.path.with_name("timestamp.txt")
    with contextlib.suppress(OSError, ValueError, KeyError, OverflowError):
        if path.is_symlink() or path.stat().st_size > MAX_TIMESTAMP:
            return None
        text = path.read_text(encoding="utf-8").strip().removesuffix("Z")
        day, time, *zone = re.split(r"(?<=\d)[T ]", text, maxsplit=2)
        moment = datetime.fromisoformat(f"{day} {time}")
        utc = not zone or zone[0] in ("UTC", "GMT")
        known = timezone.utc if utc else ZoneInfo(zone[0])
        return (moment if moment.tzinfo else moment.replace(tzinfo=known)).astimezone()
    return None


def _marked_by_canvas(source: Source) -> bool:
    """Tell whether Canvas marks a file as late, in the part of its name that is Canvas's own."""
    names = (source.member or source.path.name).split("/")
    match = next(filter(None, map(CANVAS.fullmatch, names)), None)  # the outermost; names inside are the student's
    return match is not None and match[0][: match.start("id")].endswith("_LATE_")
