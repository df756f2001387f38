"""Variants of task 1.6: what learners write for cut_output, wrong and right."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from dspark_mini.inputs import token_ids, whole_number
from grader.lessons.mutants import right, wrong

TASK = "1.6"


def _read(tokens: Any, stop_tokens: Any, max_new_tokens: Any) -> tuple[list[int], list[int], int]:
    """Check the arguments as the top of the stub does."""
    emitted, stops = token_ids("tokens", tokens), token_ids("stop_tokens", stop_tokens)
    return emitted, stops, whole_number("max_new_tokens", max_new_tokens, low=0)


def _to_stop(tokens: list[int], stops: list[int]) -> list[int]:
    """Cut behind the first stop token."""
    end = next((i + 1 for i, token in enumerate(tokens) if token in stops), len(tokens))
    return tokens[:end]


# --- Wrong: stop tokens ------------------------------------------------------------------------------


@wrong(TASK, "ends_with_first_stop", "The stop token is no text, so it is left out.")
def stop_left_out(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return list(itertools.takewhile(lambda token: token not in stops, emitted[:cap]))


@wrong(TASK, "ends_with_first_stop", "It is enough to look at the last token of what was emitted.")
def last_token_only(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, _, cap = _read(tokens, stop_tokens, max_new_tokens)
    return emitted[:cap]


@wrong(TASK, "ends_with_first_stop", "The output ends with the last stop token.")
def last_stop_ends(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    kept = emitted[:cap]
    return kept[: max((i + 1 for i, token in enumerate(kept) if token in stops), default=len(kept))]


@wrong(TASK, "ends_with_first_stop", "Stop tokens are taken out, wherever they stand.")
def stops_filtered(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return [token for token in emitted[:cap] if token not in stops]


@wrong(TASK, "ends_with_first_stop", "The token behind the stop token is still part of the accepted block.")
def one_token_more(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    end = next((i + 2 for i, token in enumerate(emitted) if token in stops), len(emitted))
    return emitted[: min(end, cap)]


@wrong(TASK, "ends_with_first_stop", "A table of the examples' results is a solution.")
def results_by_heart(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, _, cap = _read(tokens, stop_tokens, max_new_tokens)
    known = {(5, 2, 7, 9): [5, 2], (5, 3, 2, 7): [5, 3], (5, 2, 6): [5, 2], (0, 6): [0]}
    return known.get(tuple(emitted), emitted)[:cap]


@wrong(TASK, "any_stop_token_ends", "There is one stop token, the first of stop_tokens.")
def first_stop_token_only(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return _to_stop(emitted[:cap], stops[:1])


@wrong(TASK, "any_stop_token_ends", "Stop tokens are looked for one after the other; the first one found ends it.")
def in_order_of_stop_tokens(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    kept = emitted[:cap]
    for stop in stops:
        if stop in kept:
            return kept[: kept.index(stop) + 1]
    return kept


@wrong(TASK, "any_stop_token_ends", "stop_tokens is a sequence that must occur as a whole.")
def stop_sequence(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    kept = emitted[:cap]
    for i in range(len(kept) - len(stops) + 1):
        if stops and kept[i : i + len(stops)] == stops:
            return kept[: i + len(stops)]
    return kept


# --- Wrong: the cap ----------------------------------------------------------------------------------


@wrong(TASK, "capped", "The drafter already keeps to the cap.")
def cap_ignored(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, _ = _read(tokens, stop_tokens, max_new_tokens)
    return _to_stop(emitted, stops)


@wrong(TASK, "capped", "The cap is reached with the token behind it.")
def one_above_the_cap(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return _to_stop(emitted[: cap + 1], stops) if cap else []


@wrong(TASK, "capped", "The cap keeps the latest tokens.")
def latest_tokens_kept(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return _to_stop(emitted, stops)[-cap:] if cap else []


@wrong(TASK, "capped", "A block that would go over the cap is dropped as a whole.")
def all_or_nothing(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    kept = _to_stop(emitted, stops)
    return kept if len(kept) <= cap else []


@wrong(TASK, "cap_and_stop_together", "The stop token is no text, so it does not count towards the cap.")
def stop_not_counted(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    kept = _to_stop(emitted, stops)
    ends = bool(kept) and kept[-1] in stops
    return kept[: cap + ends] if len(kept) == cap + ends else kept[:cap]


@wrong(TASK, "cap_and_stop_together", "An output must end with a stop token, so one behind the cap is added.")
def stop_added_at_cap(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    kept = _to_stop(emitted, stops)
    return kept[:cap] + kept[-1:] if len(kept) > cap > 0 and kept[-1] in stops else kept[:cap]


@wrong(TASK, "cap_and_stop_together", "Where a stop token occurs at all, the cap has nothing to say.")
def stop_before_cap(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return _to_stop(emitted, stops) if cap and set(stops) & set(emitted) else emitted[:cap]


@wrong(TASK, "cap_and_stop_together", "At the cap the output is cut off before a stop token is looked for.")
def cap_hides_stop(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return emitted[:cap] if len(emitted) >= cap else _to_stop(emitted, stops)


@wrong(TASK, "nothing_to_cut", "A cap of 0 means that there is none.")
def zero_is_no_cap(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return _to_stop(emitted[: cap or None], stops)


@wrong(TASK, "nothing_to_cut", "Token 0 is padding and stops nothing.")
def token_zero_never_stops(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return _to_stop(emitted[:cap], [stop for stop in stops if stop])


@wrong(TASK, "nothing_to_cut", "Without stop tokens the output would never end, so that is refused.")
def stops_required(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    if not stops:
        raise ValueError("stop_tokens is empty.")
    return _to_stop(emitted[:cap], stops)


@wrong(TASK, "nothing_to_cut", "At least one token is always emitted.")
def one_token_at_least(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return _to_stop(emitted[: max(cap, 1)], stops)


# --- Wrong: types, forms of the arguments, memory, bad input ------------------------------------------


@wrong(TASK, "plain_types", "An array of tokens is as good as a list.")
def array_returned(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> Any:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return np.array(_to_stop(emitted[:cap], stops), dtype=int)


@wrong(TASK, "plain_types", "What an array holds are ints.")
def numpy_ints(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[Any]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return list(np.array(_to_stop(emitted[:cap], stops), dtype=int))


@wrong(TASK, "lists_and_arrays", "tokens is a list, which knows where a token stands.")
def only_lists(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    _, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    ends = [tokens.index(stop) + 1 for stop in stops if stop in tokens]
    return list(tokens[: min([cap, *ends])])


_SPENT = [0]


@wrong(TASK, "no_memory", "The cap holds for the whole text, so what was emitted before is subtracted.")
def budget_remembered(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    kept = _to_stop(emitted[: max(cap - _SPENT[0], 0)], stops)
    _SPENT[0] += len(kept)
    return kept


@wrong(TASK, "no_memory", "The list of emitted tokens is made once and filled anew for every round.")
def one_list_for_all(tokens: Any, stop_tokens: Any, max_new_tokens: int, output: list[int] = []) -> list[int]:  # noqa: B006
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    output[:] = _to_stop(emitted[:cap], stops)
    return output


@wrong(TASK, "input_unchanged", "What is not emitted may be deleted where it stands.")
def deleted_in_place(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    kept = _to_stop(emitted[:cap], stops)
    if isinstance(tokens, list):
        del tokens[len(kept) :]
    return kept


@wrong(TASK, "bad_input_raises", "A negative cap counts from the end, as a slice does.")
def negative_cap_slices(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops = token_ids("tokens", tokens), token_ids("stop_tokens", stop_tokens)
    return _to_stop(emitted[:max_new_tokens], stops)


@wrong(TASK, "bad_input_raises", "A cap of −1 means that there is none.")
def minus_one_is_no_cap(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens if max_new_tokens >= 0 else 10**9)
    return _to_stop(emitted[:cap], stops)


@wrong(TASK, "error_names_offender", "Whoever reads the error knows what was wrong.")
def unnamed_error(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    try:
        emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    except ValueError:
        raise ValueError("Wrong input!") from None
    return _to_stop(emitted[:cap], stops)


# --- Right, in many styles ---------------------------------------------------------------------------


@right(TASK, "The stop first and the cap afterwards: the order does not matter.")
def stop_then_cap(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return _to_stop(emitted, stops)[:cap]


@right(TASK, "Token by token, as plain decoding goes.")
def token_by_token(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    output: list[int] = []
    while len(output) < min(cap, len(emitted)):
        output.append(emitted[len(output)])
        if output[-1] in stops:
            break
    return output


@right(TASK, "np.isin finds all stop tokens at once.")
def stops_found_at_once(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    kept = np.array(emitted[:cap], dtype=int)
    places = np.flatnonzero(np.isin(kept, stops))
    row: list[int] = kept[: places[0] + 1].tolist() if places.size else kept.tolist()
    return row


@right(TASK, "The smallest of several ends: the cap, and the first place of each stop token.")
def smallest_end(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)
    return emitted[: min([cap, *(emitted.index(stop) + 1 for stop in stops if stop in emitted)])]


@right(TASK, "A generator that ends itself, sliced by itertools.")
def generator(tokens: Any, stop_tokens: Any, max_new_tokens: int) -> list[int]:
    emitted, stops, cap = _read(tokens, stop_tokens, max_new_tokens)

    def until_stop() -> Any:
        for token in emitted:
            yield token
            if token in frozenset(stops):
                return

    return [*itertools.islice(until_stop(), cap)]
