"""The columns of Moodle's grading worksheet: by their headings in English, otherwise by order and numbers."""

from __future__ import annotations

import re

HEADINGS: tuple[str, ...] = ("Identifier", "Full name", "Email address", "ID number", "Username")
HEADINGS += ("Grade", "Maximum Grade", "Grade can be changed", "Last modified (grade)", "Feedback comments")
NUMBER = re.compile(r"\d+([.,]\d+)?")
MOMENT = re.compile(r"(?=.*\d{4})(?=.*\d[:.]\d\d)", re.S)  # a date as Moodle writes it: a year, and a time of day


def moodle_columns(rows: list[list[str]]) -> dict[str, int]:
    """Find the columns of a worksheet.

    Args:
        rows: the rows of the file, the headings first.

    Returns:
        The place of each column that was found, by its English heading; nothing where it is not a worksheet, or its
        columns cannot be told apart.
    """
    if not rows:
        return {}
    english = {heading.casefold(): heading for heading in HEADINGS}  # later versions write "Maximum grade"
    places = {english.get(heading.casefold(), heading): place for place, heading in enumerate(rows[0])}
    return places if {"Identifier", "Grade", "Last modified (grade)"} <= set(places) else _by_content(rows[1:])


def _by_content(rows: list[list[str]]) -> dict[str, int]:
    """Find the columns in any language; nothing where there is a doubt.

    The order is: identifier, name, …, grade, maximum grade, …, time of grading, feedback. An identifier ends with the
    participant's number; the maximum is the same positive number in all rows; where no time is known, a dash stands.
    """
    columns = list(zip(*rows))
    if len(columns) < 4 or len(set(columns[0])) < len(rows):
        return {}
    if not all(re.search(r"\d$", cell.strip()) for cell in columns[0]):
        return {}
    maxima = [place for place in range(2, len(columns)) if _is_maximum(columns[place])]
    if len(maxima) != 1 or not all(cell in ("", "-") or NUMBER.fullmatch(cell) for cell in columns[maxima[0] - 1]):
        return {}
    most, last = maxima[0], len(columns) - 1
    times = [all(cell == "-" or MOMENT.search(cell) for cell in column) for column in columns]
    if not any(times[most + 1 :]):
        return {}
    found = {"Identifier": 0, "Grade": most - 1, "Maximum Grade": most}
    if most > 2:
        found["Full name"] = 1
    addresses = [place for place in range(1, most - 1) if any("@" in cell for cell in columns[place])]
    if addresses:
        found["Email address"] = addresses[0]
    if times[last - 1] and not times[last]:
        found["Feedback comments"] = last
    return found


def _is_maximum(column: tuple[str, ...]) -> bool:
    return len(set(column)) == 1 and NUMBER.fullmatch(column[0]) is not None and float(column[0].replace(",", ".")) > 0
