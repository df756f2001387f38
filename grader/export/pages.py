"""HTML reports: one per submission and one for the class, each a single file without scripts.

The pictures are drawn from the results; a learner's own pictures are not, since that would run their code again.
"""

from __future__ import annotations

import base64
import hashlib
import re
import unicodedata
from collections import Counter
from datetime import datetime
from functools import cache
from pathlib import Path
from statistics import mean, median
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import dspark_mini
from dspark_mini.language import ENGLISH, _, current, speaking
from grader.check.text import STATUS_WORDS, as_number, evidence, failures
from grader.export.rosters import ExportError, Result, write_whole

TEMPLATES = Path(__file__).parent / "templates"
STYLES = (Path(dspark_mini.__file__).parent / "viz" / "assets" / "page.css", TEMPLATES / "style.css")
BINS = 10
ANSWERED = ("pass", "partial", "fail")  # statuses of tasks that tell something about their properties
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
MOST_FAILED = 12  # properties in the class's table


def write_pages(results: list[Result], folder: Path) -> Path:
    """Write a report for each submission, and one for the class that links to them.

    Args:
        results: the results of a batch, of one lesson or several.
        folder: where to write; it is made where it is missing.

    Returns:
        The class's page.

    Raises:
        ExportError: a file cannot be written.
    """
    try:
        (folder / "reports").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExportError(f"The folder {folder} cannot be made: {error.strerror}.") from None
    names = file_names(results)
    for result, name in zip(results, names, strict=True):
        write_whole(folder / "reports" / name, student_page(result))
    target = folder / "index.html"
    write_whole(target, class_page(results, [f"reports/{name}" for name in names]))
    return target


def student_page(result: Result) -> str:
    """Return one submission's report as HTML; nothing in it is of another submission."""
    tasks = [_task(task) for task in result["tasks"]]
    open_tasks = [task for task in tasks if task["status"] != "pass"]
    started = (task for task in open_tasks if task["status"] != "missing")
    upcoming = next(started, open_tasks[0] if open_tasks else None)
    page = {"name": result["submission"], "lesson": lesson_words(result), "tasks": tasks, "next": upcoming}
    with speaking(result.get("language") or ENGLISH):
        return render("student.html", page | {"result": result, "language": current()})


def class_page(results: list[Result], links: list[str]) -> str:
    """Return the class's report as HTML.

    Args:
        results: the results.
        links: the address of each one's report.
    """
    lessons: dict[str, list[tuple[Result, str]]] = {}
    for result, link in zip(results, links, strict=True):
        lessons.setdefault(lesson_words(result), []).append((result, link))
    return render("class.html", {"lessons": {name: _lesson(pairs) for name, pairs in lessons.items()}})


def file_names(results: list[Result]) -> list[str]:
    """Name the reports: letters that every system accepts, and a hash that tells equal names apart."""
    names: dict[str, None] = {}  # in their order, and quickly asked for
    for result in results:
        ascii_name = unicodedata.normalize("NFKD", result["submission"]).encode("ascii", "ignore").decode()
        slug = re.sub(r"[^a-z0-9]+", "-", ascii_name.lower()).strip("-")[:40] or "submission"
        whole = f"{result['submission']}\0{result['lesson']}\0".encode("utf-8", "surrogatepass")
        tries = (hashlib.sha256(whole + str(n).encode()).hexdigest()[:8] for n in range(len(results) + 1))
        names[next(name for digest in tries if (name := f"{slug}-{digest}.html") not in names)] = None
    return list(names)


def lesson_words(result: Result) -> str:
    """Write a lesson's name in words."""
    if result["lesson"] is None:
        return "unknown lesson" if "reason" in result else "all lessons"  # a .py file may solve any task
    return str(result["lesson"]).replace("_", " ")


def render(template: str, values: dict[str, Any]) -> str:
    """Fill in a template."""
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _environment().get_template(template).render(values, style=style, style_digest=digest)


@cache
def _style() -> Markup:
    return Markup("".join(path.read_text(encoding="utf-8") for path in STYLES))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = as_number
    environment.filters["percent"] = lambda share: f"{int(100 * share)}%"  # 99.5% is not full marks
    environment.globals["words"] = STATUS_WORDS
    environment.globals["_"] = _
    return environment


def _printable(value: Any) -> Any:
    """Replace control characters, which no text of a page needs, and what UTF-8 cannot encode."""
    return UNPRINTABLE.sub("�", value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _task(task: dict[str, Any]) -> dict[str, Any]:
    """A task as its section shows it: properties that fail, with their evidence, are not looked at, or hold."""
    open_mark = "skipped" if task["reason"] else "failed"
    return task | {
        "share": _share(task["points"], task["max_points"]),
        "held": [p["name"] for p in task["properties"] if p["passed"]],
        "skipped": [p["name"] for p in task["properties"] if p["skipped"]],
        "failed": [{**found, "evidence": evidence(found)} for found in failures(task)],
        "marks": ["held" if p["passed"] else "skipped" if p["skipped"] else open_mark for p in task["properties"]],
    }


def _lesson(pairs: list[tuple[Result, str]]) -> dict[str, Any]:
    """What the class's page says of one lesson."""
    results = [result for result, _ in pairs]
    shares = [_share(result["score"], result["max_score"]) for result in results if result["score"] is not None]
    return {
        "count": len(results),
        "mean": mean(shares) if shares else 0.0,
        "median": median(shares) if shares else 0.0,
        "full": sum(share == 1 for share in shares),
        "unreadable": sum(result["status"] == "unreadable" for result in results),
        "ungraded": sum(result["status"] == "ungraded" for result in results),
        "bins": [sum(min(int(share * BINS), BINS - 1) == n for share in shares) for n in range(BINS)],
        "moments": _moments(results),
        "tasks": _class_tasks(results),
        "mistakes": _most_frequent_mistakes(results),
        "properties": _most_failed_properties(results),
        "students": [{"result": r, "link": link, "share": _share(r["score"], r["max_score"])} for r, link in pairs],
    }


def _moments(results: list[Result]) -> dict[str, Any] | None:
    """When the submissions were handed in, each as a share of the time from the first to the last, with its score."""
    known = [
        (datetime.fromisoformat(result["late"]["handed_in"]), result)
        for result in results
        if result["score"] is not None and (result.get("late") or {}).get("handed_in")
    ]
    first, last = (choose((moment for moment, _ in known), default=None) for choose in (min, max))
    if first is None or last is None or first == last:
        return None
    dots = [
        {
            "at": (moment - first) / (last - first),
            "share": _share(result["score"], result["max_score"]),
            "kind": "late" if result["late"]["days"] else "in time",
            "name": result["submission"],
        }
        for moment, result in known
    ]
    return {"dots": dots, "first": f"{first:%Y-%m-%d %H:%M}", "last": f"{last:%Y-%m-%d %H:%M}"}


def _class_tasks(results: list[Result]) -> list[dict[str, Any]]:
    """How a lesson's tasks went: how many passed, got a part of the points, got none, or did not start."""
    kinds: dict[tuple[str, str, bool], Counter[str]] = {}
    for task in (task for result in results for task in result["tasks"]):
        known = task["status"] if task["status"] in ("pass", "missing") else "none"
        kind = "partial" if known == "none" and task["points"] else known  # what took too long may have points too
        kinds.setdefault((task["task"], task["function"], task.get("given", False)), Counter())[kind] += 1
    return [
        {"task": task, "function": function, "given": given, "kinds": counts, "count": counts.total()}
        for (task, function, given), counts in kinds.items()
    ]


def _most_frequent_mistakes(results: list[Result]) -> list[dict[str, Any]]:
    """The mistakes that most students make, as far as the diagnosis knows them."""
    tasks = [task for result in results for task in result["tasks"] if task["status"] != "missing"]
    tried = Counter(task["task"] for task in tasks)
    made = Counter((task["task"], task.get("mistake", task["diagnosis"])) for task in tasks if task["diagnosis"])
    order = sorted(made, key=lambda key: (-made[key], *key))[:MOST_FAILED]
    return [{"task": key[0], "says": key[1], "made": made[key], "tried": tried[key[0]]} for key in order]


def _most_failed_properties(results: list[Result]) -> list[dict[str, Any]]:
    """The properties that fail most often, where the function gave an answer and the property was looked at."""
    failed: Counter[tuple[str, str]] = Counter()
    tried: Counter[tuple[str, str]] = Counter()
    says: dict[tuple[str, str], str] = {}
    for task in (task for result in results for task in result["tasks"] if task["status"] in ANSWERED):
        for found in (p for p in task["properties"] if not p["skipped"]):
            key = (task["task"], found["name"])
            tried[key] += 1
            if not found["passed"]:
                failed[key] += 1
                says[key] = found["says"]
    order = sorted(failed, key=lambda key: (-failed[key], tried[key]))[:MOST_FAILED]
    return [
        {"task": key[0], "name": key[1], "says": says[key], "failed": failed[key], "tried": tried[key]} for key in order
    ]


def _share(points: float | None, most: float) -> float:
    return points / most if points and most else 0.0
