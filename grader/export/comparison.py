"""Two gradings of one class: whose score changed, and in which tasks and properties."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.check.text import as_number

Result = dict[str, Any]
Pair = tuple[Result | None, Result | None]  # before, now; one of them may be missing


def pairs(old: Sequence[Result], new: Sequence[Result]) -> list[Pair]:
    """Match two lists of results by submission and lesson; where a lesson is unknown, by the submission alone.

    Args:
        old: the earlier results.
        new: the results now.

    Returns:
        A pair for each of the new results, in their order, then one for each earlier one that is left.
    """
    waiting: dict[tuple[str, str | None], list[Result]] = defaultdict(list)
    for result in old:
        waiting[_key(result)].append(result)
    same = [waiting[_key(now)].pop(0) if waiting[_key(now)] else None for now in new]
    left = [result for results in waiting.values() for result in results]
    names = Counter(result["submission"] for result in left)
    missing = Counter(now["submission"] for before, now in zip(same, new) if before is None)
    found: list[Pair] = []
    for before, now in zip(same, new):
        name = now["submission"]
        if before is None and names[name] == missing[name] == 1:
            other = next(result for result in left if result["submission"] == name)
            if other["lesson"] is None or now["lesson"] is None:
                before = other
                left = [result for result in left if result is not other]
        found.append((before, now))
    return found + [(result, None) for result in left]


def compared(matched: Sequence[Pair], name: str) -> list[str]:
    """Say who changed and why, who is new, gone or without a score, and how many are as before.

    Args:
        matched: what pairs() returns.
        name: the file of the earlier results.
    """
    changed = [(before, now) for before, now in matched if before and now and _differ(before, now)]
    new = [now for before, now in matched if now and not before]
    gone = [before for before, now in matched if before and not now]
    same = len(matched) - len(changed) - len(new) - len(gone)
    lines = [f"Compared with {name}: {len(changed)} changed, {same} as before, {len(new)} new, {len(gone)} gone."]
    for before, now in changed:
        lines.append(f"{_who(now)}: {_score(before)} → {_score(now)}{_why(now)}")
        lines += [f"  {line}" for line in _tasks(before, now)] if now["tasks"] and before["tasks"] else []
    still = [now for before, now in matched if before and now and now["score"] is None and not _differ(before, now)]
    lines += [f"{_who(now)}: still {_score(now)}{_why(now)}" for now in still]
    lines += [f"{_who(now)}: new, {_score(now)}{_why(now)}" for now in new]
    return lines + [f"{_who(before)}: gone, had {_score(before)}" for before in gone]


def _key(result: Result) -> tuple[str, str | None]:
    return result["submission"], result["lesson"]


def _differ(before: Result, now: Result) -> bool:
    return _score(before) != _score(now) or any(_tasks(before, now))


def _tasks(before: Result, now: Result) -> Iterator[str]:
    """Say what changed in each task."""
    was, is_ = ({task["task"]: task for task in result["tasks"]} for result in (before, now))
    for task in {**was, **is_}:
        if task not in is_ or task not in was:
            yield f"{task}: {'new' if task in is_ else 'gone'}"
        elif found := list(_properties(was[task], is_[task])):
            status = [f"{one['status']} {_points(one)}" for one in (was[task], is_[task])]
            yield f"{task} {is_[task]['function']}: {' → '.join(status)}; {'; '.join(found)}"
        elif any(was[task][key] != is_[task][key] for key in ("points", "max_points", "status")):
            yield f"{task}: {was[task]['status']} {_points(was[task])} → {is_[task]['status']} {_points(is_[task])}"


def _properties(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    was, is_ = ({found["name"]: bool(found["passed"]) for found in task["properties"]} for task in (before, now))
    skipped = {found["name"] for found in now["properties"] if found.get("skipped")}
    kinds = {
        "now holds": [name for name in is_ if is_[name] and was.get(name) is False],
        "no longer holds": [name for name in is_ if not is_[name] and was.get(name) is True and name not in skipped],
        "not looked at any more": [name for name in is_ if name in skipped and was.get(name) is True],
        "new property": [name for name in is_ if was and name not in was],
        "property gone": [name for name in was if is_ and name not in is_],
    }
    yield from (f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names)


def _who(result: Result) -> str:
    return f"{result['submission']} ({result['lesson']})" if result["lesson"] else str(result["submission"])


def _score(result: Result) -> str:
    if result["score"] is None:
        return str(result["status"])
    return f"{as_number(result['score'])}/{as_number(result['max_score'])}"


def _points(task: Mapping[str, Any]) -> str:
    return f"{as_number(task['points'])}/{as_number(task['max_points'])}"


def _why(result: Result) -> str:
    return f". {result['reason']}" if "reason" in result else ""
