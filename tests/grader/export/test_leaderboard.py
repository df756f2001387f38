"""The leaderboard: who is ranked and how, what is shown, and that pseudonyms stay and tell nothing."""

import csv
from pathlib import Path
from typing import Any

import pytest

from grader.export.leaderboard import kept_pseudonyms, write_leaderboard
from grader.export.rosters import ExportError

EVIL = "=1+1<script>alert(1)</script>"


def result(name: str, score: float | None) -> dict[str, Any]:
    task: dict[str, Any] = {"task": "10.1", "function": "plan_round"}
    scored = {} if score is None else {"score": score, "scores": {"laptop": score, "busy GPU": -score}}
    return {"submission": name, "lesson": "10_your_policy", "tasks": [task | scored]}


def rows(page: Path) -> list[dict[str, str]]:
    with page.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_scores_are_ranked_and_equal_ones_share_a_rank(tmp_path: Path) -> None:
    page = tmp_path / "board.html"
    scores = {"ada l.": 88.5, "bob m.": 103.2, "cy": None, "dan k.": 88.5, EVIL: 0.0}
    results = [result(name, score) for name, score in scores.items()]
    assert "4 entries" in write_leaderboard(results, page)
    board = rows(page)
    ranks = [("1", "bob m."), ("2", "ada l."), ("2", "dan k."), ("4", f"'{EVIL}")]
    assert [(row["rank"], row["name"]) for row in board] == ranks
    assert board[0]["score"] == "103.2" and board[0]["busy GPU"] == "-103.2"
    text = page.read_text(encoding="utf-8")
    assert text.index("bob m.") < text.index("ada l.") < text.index("dan k.") and "<script" not in text


def test_pseudonyms_hide_names_and_stay_the_same(tmp_path: Path) -> None:
    page, who = tmp_path / "board.html", tmp_path / "who.csv"
    write_leaderboard([result("ada l.", 50.0), result("bob m.", 60.0)], page, who)
    first = {row["score"]: row["name"] for row in rows(page)}
    write_leaderboard([result("bob m.", 70.0), result("cy", 1.0), result("ada l.", 50.0)], page, who)
    second = {row["score"]: row["name"] for row in rows(page)}
    assert second["50"] == first["50"] and second["70"] == first["60"] and len(set(second.values())) == 3
    shown = page.read_text(encoding="utf-8") + page.with_suffix(".csv").read_text(encoding="utf-8")
    assert not any(name in shown for name in ("ada l.", "bob m."))
    assert kept_pseudonyms(who, ["ada l."])["ada l."] == first["50"]
    names = kept_pseudonyms(tmp_path / "many.csv", [f"s{n}" for n in range(300)])  # more than pairs of words
    assert len(set(names.values())) == 300


def test_what_is_no_file_of_pseudonyms_and_a_board_without_scores_are_refused(
    tmp_path: Path,
) -> None:
    who = tmp_path / "grades.csv"
    who.write_text("name,grade\nada l.,1\n", encoding="utf-8")
    with pytest.raises(ExportError, match="does not hold pseudonyms"):
        write_leaderboard([result("ada l.", 50.0)], tmp_path / "board.html", who)
    assert who.read_text(encoding="utf-8") == "name,grade\nada l.,1\n"
    with pytest.raises(ExportError, match="lesson 10 is the one"):
        write_leaderboard([result("ada l.", None)], tmp_path / "board.html")
