"""Variants of task 9.2: what learners write for flatten_requests, wrong and right."""

from __future__ import annotations

from itertools import accumulate, chain
from typing import Any

import numpy as np

from dspark_mini.inputs import check_same_length, whole_numbers
from grader.lessons.mutants import right, wrong

TASK = "9.2"


def read(verify_lengths: Any, cache_rows: Any) -> tuple[list[int], list[int]]:
    """Check the arguments as the top of the stub does."""
    lengths = whole_numbers("verify_lengths", verify_lengths, low=0)
    rows = whole_numbers("cache_rows", cache_rows, low=0)
    check_same_length("verify_lengths", lengths, "cache_rows", rows)
    return lengths, rows


def laid(sizes: list[int], firsts: list[int]) -> dict[str, list[int]]:
    """Lay so many rows of each request end to end, from these positions on."""
    return {
        "requests": [r for r, size in enumerate(sizes) for _ in range(size)],
        "positions": [first + k for size, first in zip(sizes, firsts) for k in range(size)],
        "starts": [0, *accumulate(sizes)],
    }


def done(verify_lengths: Any, cache_rows: Any) -> dict[str, list[int]]:
    lengths, rows = read(verify_lengths, cache_rows)
    return laid([1 + length for length in lengths], rows)


# --- Wrong ------------------------------------------------------------------------------------------------


@wrong(TASK, "anchor_and_drafts", "Only drafts are verified.")
def anchor_forgotten(verify_lengths: Any, cache_rows: Any) -> Any:
    lengths, rows = read(verify_lengths, cache_rows)
    return laid(lengths, rows)


@wrong(TASK, "anchor_and_drafts", "The anchor is the last row of the cache.")
def one_position_early(verify_lengths: Any, cache_rows: Any) -> Any:
    lengths, rows = read(verify_lengths, cache_rows)
    return laid([1 + length for length in lengths], [before - 1 for before in rows])


@wrong(TASK, "anchor_and_drafts", "Positions are counted from the anchor.")
def positions_in_the_block(verify_lengths: Any, cache_rows: Any) -> Any:
    lengths, rows = read(verify_lengths, cache_rows)
    return laid([1 + length for length in lengths], [0] * len(rows))


@wrong(TASK, "anchor_and_drafts", "The last request ends where the batch ends, so its end need not be said.")
def no_end(verify_lengths: Any, cache_rows: Any) -> Any:
    found = done(verify_lengths, cache_rows)
    return found | {"starts": found["starts"][:-1] or [0]}


@wrong(TASK, "requests_end_to_end", "A batch is a rectangle: all requests are as long as the longest.")
def padded(verify_lengths: Any, cache_rows: Any) -> Any:
    lengths, rows = read(verify_lengths, cache_rows)
    return laid([1 + max(lengths)] * len(lengths) if lengths else [], rows)


@wrong(TASK, "requests_end_to_end", "Positions go on counting along the batch.")
def positions_go_on(verify_lengths: Any, cache_rows: Any) -> Any:
    found, (_, rows) = done(verify_lengths, cache_rows), read(verify_lengths, cache_rows)
    return found | {"positions": [sum(rows[:1]) + i for i in range(len(found["requests"]))]}


@wrong(TASK, "requests_end_to_end", "The caches lie end to end, too, so a position counts the rows of those in front.")
def caches_end_to_end(verify_lengths: Any, cache_rows: Any) -> Any:
    lengths, rows = read(verify_lengths, cache_rows)
    return laid([1 + length for length in lengths], [*accumulate(rows)])


@wrong(TASK, "requests_end_to_end", "The first rows of all requests come first, then their second ones.")
def column_by_column(verify_lengths: Any, cache_rows: Any) -> Any:
    found, (_, rows) = done(verify_lengths, cache_rows), read(verify_lengths, cache_rows)
    places = list(zip(found["requests"], found["positions"]))
    order = sorted(range(len(places)), key=lambda i: (places[i][1] - rows[places[i][0]], places[i][0]))
    return found | {name: [found[name][i] for i in order] for name in ("requests", "positions")}


@wrong(TASK, "requests_end_to_end", "starts holds the lengths of the requests.")
def lengths_for_starts(verify_lengths: Any, cache_rows: Any) -> Any:
    lengths, _ = read(verify_lengths, cache_rows)
    return done(verify_lengths, cache_rows) | {"starts": [0, *(1 + length for length in lengths)]}


@wrong(TASK, "plain_requests_have_one_row", "A request without drafts has nothing to verify.")
def plain_ones_left_out(verify_lengths: Any, cache_rows: Any) -> Any:
    lengths, rows = read(verify_lengths, cache_rows)
    return laid([1 + length if length else 0 for length in lengths], rows)


@wrong(TASK, "no_requests_no_rows", "Without requests there is no start either.")
def no_start(verify_lengths: Any, cache_rows: Any) -> Any:
    found = done(verify_lengths, cache_rows)
    return found if found["requests"] else found | {"starts": []}


@wrong(TASK, "plain_types", "NumPy integers are ints.")
def numpy_integers(verify_lengths: Any, cache_rows: Any) -> Any:
    return {name: list(np.array(values, dtype=int)) for name, values in done(verify_lengths, cache_rows).items()}


@wrong(TASK, "plain_types", "Arrays pass for lists.")
def arrays(verify_lengths: Any, cache_rows: Any) -> Any:
    return {name: np.array(values, dtype=int) for name, values in done(verify_lengths, cache_rows).items()}


@wrong(TASK, "lists_and_arrays", "A list can be tested for being empty as it is.")
def truth_of_an_array(verify_lengths: Any, cache_rows: Any) -> Any:
    if not verify_lengths:
        return laid([], [])
    return done(verify_lengths, cache_rows)


@wrong(TASK, "input_unchanged", "The lengths may be counted up where they are.")
def counted_up(verify_lengths: Any, cache_rows: Any) -> Any:
    found = done(verify_lengths, cache_rows)
    for r in range(len(verify_lengths)):
        verify_lengths[r] += 1
    return found


@wrong(TASK, "bad_input_raises", "Requests without a partner are left out.")
def zipped(verify_lengths: Any, cache_rows: Any) -> Any:
    pairs = [(int(length), int(rows)) for length, rows in zip(verify_lengths, cache_rows)]
    return laid([1 + length for length, _ in pairs], [rows for _, rows in pairs])


STARTS = [0]


@wrong(TASK, "no_memory", "starts can be kept from call to call.")
def kept_starts(verify_lengths: Any, cache_rows: Any) -> Any:
    found = done(verify_lengths, cache_rows)
    STARTS.extend(found["starts"][1:])
    return found | {"starts": STARTS[:1] + STARTS[1:]}


# --- Right ------------------------------------------------------------------------------------------------


@right(TASK, "np.repeat and a cumulative sum.")
def repeated(verify_lengths: Any, cache_rows: Any) -> Any:
    lengths, rows = read(verify_lengths, cache_rows)
    sizes = np.array(lengths, dtype=int) + 1
    starts = np.concatenate([[0], np.cumsum(sizes)])
    requests = np.repeat(np.arange(sizes.size), sizes)
    positions = np.array(rows, dtype=int)[requests] + np.arange(starts[-1]) - starts[requests]
    return {"requests": requests.tolist(), "positions": positions.tolist(), "starts": starts.tolist()}


@right(TASK, "Comprehensions over ranges.")
def comprehensions(verify_lengths: Any, cache_rows: Any) -> Any:
    lengths, rows = read(verify_lengths, cache_rows)
    spans = [range(before, before + length + 1) for length, before in zip(lengths, rows)]
    requests = [r for r, span in enumerate(spans) for _ in span]
    starts = [sum(map(len, spans[:r])) for r in range(len(spans) + 1)]
    return {"starts": starts, "positions": list(chain(*spans)), "requests": requests}


@right(TASK, "Row by row, with a print on the way.")
def row_by_row(verify_lengths: Any, cache_rows: Any) -> Any:
    lengths, rows = read(verify_lengths, cache_rows)
    found: dict[str, list[int]] = {"requests": [], "positions": [], "starts": []}
    for r in range(len(lengths)):
        found["starts"].append(len(found["requests"]))
        for k in range(lengths[r] + 1):
            found["requests"].append(r)
            found["positions"].append(rows[r] + k)
    print(found)
    found["starts"].append(len(found["requests"]))
    return found
