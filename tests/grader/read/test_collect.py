"""Finding submissions: layouts of nbgrader, Canvas and Moodle, in folders and in zips that nobody vouches for."""

import io
import json
import os
import stat
import zipfile
from datetime import datetime
from pathlib import Path

import pytest

import grader.read.archive as archive
import grader.read.submissions as submissions
from grader.lessons.paths import NOTEBOOKS
from grader.read.collect import NOTHING, BadRequest, find_submissions
from grader.read.submissions import Source, Unreadable, read_submission

L2, L3 = "02_parallel_drafting", "03_sequential_heads"
BOB = f"bob/{L2}/{L2}.ipynb"
CANVAS_FILES = [f"smithbob_12_90_{L2}.ipynb", f"wuann_LATE_34_91_{L2}-1.ipynb", "wuann_LATE_34_92_help.py"]
MOODLE_FILES = [f"Bob A. Smith_12_assignsubmission_file_/{L2}.ipynb", "Ann_Wu_34_assignsubmission_file/my work.ipynb"]

LAYOUTS: dict[str, tuple[list[str], list[str]]] = {
    "nbgrader": ([f"bob/{L2}/{L2}.ipynb", f"ann/{L2}/{L2}.ipynb"], ["ann", "bob"]),
    "several assignments of a student": ([f"ann/{L2}/{L2}.ipynb", f"ann/{L3}/{L3}.ipynb"], ["ann", "ann"]),
    "an assignment of several notebooks": ([f"ann/week1/{L2}.ipynb", f"ann/week1/{L3}.ipynb"], ["ann", "ann"]),
    "help beside a notebook": ([f"ann/{L2}/{L2}.ipynb", f"ann/{L2}/a.py", f"ann/{L2}/scratch.ipynb"], ["ann"]),
    "a renamed notebook": ([f"ann/{L2}/mine.ipynb"], ["ann"]),
    "an assignment without a notebook": ([f"ann/{L2}/essay.pdf", f"bob/{L2}/{L2}.ipynb"], ["ann", "bob"]),
    "a student's folder": ([f"ann/{L2}.ipynb", "bob/work.ipynb", "bob/help.py"], ["ann", "bob"]),
    "flat": (["bob.ipynb", "ann.ipynb", "cat.py"], ["ann", "bob", "cat.py"]),
    "only .py files": (["ann/a.py", "ann/b.py", "bob.py"], ["ann/a.py", "ann/b.py", "bob.py"]),
    "one lesson of a class": ([f"{L2}/ann.ipynb", f"{L2}/bob.ipynb"], ["ann", "bob"]),
    "one lesson, then students": ([f"{L2}/ann/{L2}.ipynb", f"{L2}/bob/{L2}.ipynb"], ["ann", "bob"]),
    "Canvas": (CANVAS_FILES, ["smithbob_12", "wuann_34"]),
    "Moodle": (MOODLE_FILES, ["Ann_Wu_34", "Bob A. Smith_12"]),
    "Moodle without a notebook": (["Ann Wu_34_assignsubmission_file_/essay.pdf", "bob.py"], ["Ann Wu_34", "bob.py"]),
    "not quite Canvas": (["ann_2024_01_work.ipynb", "bob.ipynb"], ["ann_2024_01_work", "bob"]),
    "two notebooks without a lesson's name": (["ann/a.ipynb", "ann/b.ipynb", "c.py"], ["ann/a", "ann/b", "c.py"]),
    "a dot in front": ([f".ann/{L2}/{L2}.ipynb", f"..bob/{L2}/{L2}.ipynb", ".c/a.py"], ["..bob", ".ann", ".c/a.py"]),
    "capitals": (["A.IPYNB", f"bob/{L2}/{L2}.IPYNB", "c.PY"], ["A", "bob", "c.PY"]),
    "lessons, then students": (
        [f"{L2}/ann/{L2}.ipynb", f"{L3}/ann/{L3}/{L3}.ipynb", "bob/bob.ipynb", BOB],
        ["all", "ann", "ann", "bob"],
    ),
    "hidden": (["ann/.ipynb_checkpoints/a.ipynb", "__pycache__/a.py", "__MACOSX/._b.py", "b.py"], ["b.py"]),
}


def write(folder: Path, files: list[str]) -> Path:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(file)
    return folder


def zipped(files: dict[str, bytes], saved: dict[str, int] | None = None) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(
                zipfile.ZipInfo(name, (2026, 1, (saved or {}).get(name, 1), 0, 0, 0)), content, zipfile.ZIP_DEFLATED
            )
    return data.getvalue()


def packed(path: Path, files: list[str]) -> Path:
    path.write_bytes(zipped({file: file.encode() for file in files}))
    return path


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    (tmp_path / "unpacked").mkdir()
    return tmp_path / "unpacked"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_folder_and_zip_of_a_layout_give_the_same_names(tmp_path: Path, unpacked: Path, layout: str) -> None:
    files, names = LAYOUTS[layout]
    in_folder = find_submissions([write(tmp_path / "all", files)], unpacked)
    in_zip = find_submissions([packed(tmp_path / "all.zip", files)], unpacked)
    assert sorted(s.name for s in in_folder) == sorted(s.name for s in in_zip) == names
    for found in (in_folder, in_zip):
        contents = [s.path.read_text() for s in found if not s.unreadable]
        assert len(set(contents)) == len(contents) and set(contents) <= set(files)
    assert [s.unreadable for s in in_folder] == [s.unreadable for s in in_zip]


def test_links_are_not_followed_and_who_handed_in_nothing_is_listed(tmp_path: Path, unpacked: Path) -> None:
    write(tmp_path / "all", [f"bob/{L2}/{L2}.ipynb"])
    for name in (f"ann/{L2}", "eve", "none"):
        (tmp_path / "all" / name).mkdir(parents=True)
    (tmp_path / "all" / "eve" / L2).symlink_to(tmp_path / "all" / "bob" / L2)
    (tmp_path / "secret.zip").write_bytes(zipped({"a.ipynb": LESSONS[L2]}))
    (tmp_path / "all" / "zoe.zip").symlink_to(tmp_path / "secret.zip")
    passed_over: dict[str, str] = {}
    found = {s.name: s for s in find_submissions([tmp_path / "all"], unpacked, passed_over.__setitem__)}
    assert found["ann"].unreadable == NOTHING and found["eve"].unreadable and not found["bob"].unreadable
    assert "link" in found["zoe"].unreadable and passed_over == {"none": "an empty folder, or a link"}
    with pytest.raises(Unreadable, match="no notebook"):
        read_submission(found["ann"])


BOB_OF_MOODLE = "Bob B_77_assignsubmission_file_"
IMPOSTORS = [  # whose work it is, and what lies with another student and looks like it
    (BOB, f"aaron/{L2}/{BOB}"),
    (BOB, f"aaron/x/{BOB}"),
    (BOB, f"aaron/x/bob/{L3}/{L3}.ipynb"),
    (f"bob_2024/{L2}/{L2}.ipynb", f"aaron/{L2}/x/bob_2024_1_{L2}.ipynb"),
    (f"bob_2024/{L2}/{L2}.ipynb", f"aaron/bob_2024_1_{L2}.ipynb"),
    (f"{BOB_OF_MOODLE}/{L2}.ipynb", f"Aaron/{L2}/{BOB_OF_MOODLE}/{L2}.ipynb"),
    (f"{BOB_OF_MOODLE}/{L2}.ipynb", f"Aaron/{BOB_OF_MOODLE}/{BOB_OF_MOODLE}.ipynb"),
    (f"{L2}/bob.ipynb", f"{L2}/aaron/{BOB}"),
    (f"bob/my/own/{L2}.ipynb", f"aaron/bob/{L2}/{L2}.ipynb"),
]


@pytest.mark.parametrize(("real", "false"), IMPOSTORS)
def test_no_student_takes_the_place_of_another(tmp_path: Path, unpacked: Path, real: str, false: str) -> None:
    name = Path(real).stem if real.count("/") == 1 and real.startswith(L2) else real.split("/")[0]
    folder = write(tmp_path / "all", [real, false, f"cat/{L2}/{L2}.ipynb"])
    for given in (folder, packed(tmp_path / "all.zip", [real, false, f"cat/{L2}/{L2}.ipynb"])):
        found = {s.path.read_text(): s.name for s in find_submissions([given], unpacked)}
        assert found[real] == name.replace("_assignsubmission_file_", "") != found.get(false)


def test_a_name_is_kept_by_who_stands_highest_and_by_neither_of_two_equals(tmp_path: Path, unpacked: Path) -> None:
    folder = write(tmp_path / "all", [f"first/{BOB}", f"second/{BOB}"])
    assert [s.name for s in find_submissions([folder], unpacked)] == ["bob (2)", "bob (3)"]
    aaron, bob = write(tmp_path / "aaron", [BOB]), write(tmp_path / "bob", [f"{L2}/{L2}.ipynb"])
    found = {s.path: s.name for s in find_submissions([aaron, bob], unpacked)}
    assert found == {aaron / BOB: "bob (2)", bob / L2 / f"{L2}.ipynb": "bob"}
    roots = [write(tmp_path / name, ["ann.ipynb", "ann (2).ipynb"]) for name in ("one", "two")]
    names = [source.name for source in find_submissions(roots, unpacked)]
    assert len(set(names)) == 4 and {"ann", "ann (2)"} < set(names)


def test_work_of_one_student_goes_by_the_folder_given_and_what_lies_below_is_its_own(
    tmp_path: Path, unpacked: Path
) -> None:
    write(tmp_path / "ann", [f"{L2}/{L2}.ipynb", f"{L3}/{L3}.ipynb", f"{L3}/a.py", f"{L2}/{BOB}"])
    assert [s.name for s in find_submissions([tmp_path / "ann"], unpacked)] == ["ann", "ann"]
    mine = f"aaron/{L2}/{L2}.ipynb"
    inside = [f"aaron/{L2}/x/{name}" for name in (BOB, f"bob_1_2_{L2}.ipynb", f"B_7_assignsubmission_file_/{L2}.ipynb")]
    found = find_submissions([write(tmp_path / "all", [mine, *inside])], unpacked)
    assert [(s.name, s.path.read_text()) for s in found] == [("aaron", mine)]
    files = packed(tmp_path / "all.zip", ["class/ann.ipynb", "class/bob.ipynb", "__MACOSX/class/._x.ipynb"])
    assert [s.name for s in find_submissions([files], unpacked)] == ["ann", "bob"]  # a zip of one folder


def test_names_that_are_not_text_become_text_and_long_ones_stay_apart(tmp_path: Path, unpacked: Path) -> None:
    (tmp_path / "odd").mkdir()
    with open(os.fsencode(tmp_path) + b"/odd/ann\xff.py", "w") as file:
        file.write("")
    (source,) = find_submissions([tmp_path / "odd"], unpacked)
    assert source.name.encode() == b"ann\\udcff.py" and source.path.exists()
    names = ["a" * 3000 + end for end in "xy"]
    files = packed(tmp_path / "all.zip", [f"{name}/{L2}.ipynb" for name in names])
    assert [source.name for source in find_submissions([files], unpacked)] == names


def test_missing_paths_empty_folders_and_odd_zips_are_bad_requests(
    tmp_path: Path, unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "broken.zip").write_text("PK")
    packed(tmp_path / "notes.zip", ["notes.txt"])
    large = packed(tmp_path / "large.zip", [f"{number}.py" for number in range(50)])
    for name in ("absent.ipynb", "empty", "notes.txt", "broken.zip", "notes.zip"):
        with pytest.raises(BadRequest, match=name):
            find_submissions([tmp_path / name], unpacked)
    for limit, value, why in (("MAX_MEMBERS", 49, "more than 49 files"), ("MAX_DIRECTORY", 1000, "damaged")):
        monkeypatch.setattr(archive, limit, value)
        with pytest.raises(BadRequest, match=why):
            find_submissions([large], unpacked)


LESSONS = {lesson: (NOTEBOOKS / f"{lesson}.ipynb").read_bytes() for lesson in (L2, L3)}


@pytest.mark.parametrize("as_folder", [False, True])
def test_everything_given_is_graded_or_named_with_a_reason(tmp_path: Path, unpacked: Path, as_folder: bool) -> None:
    moodle = "Ann Wu_34_assignsubmission_file_"
    files = {
        f"{moodle}/old.ipynb": LESSONS[L2],
        f"{moodle}/mine.ipynb": LESSONS[L2],
        f"{moodle}/scratch.ipynb": b"{}",
        f"{moodle}/help.py": b"",
        f"{moodle}/.ipynb_checkpoints/a.ipynb": b"",
        "Bob_35_assignsubmission_file_/work.zip": zipped({"x/hw.ipynb": LESSONS[L2], "notes.txt": b""}),
        "Cat_36_assignsubmission_file_/work.zip": b"PK",
        "Dan_37_assignsubmission_file_/a.ipynb": LESSONS[L2],
        "Dan_37_assignsubmission_file_/b.ipynb": LESSONS[L2],
        "eve/essay.pdf": b"",
        ".DS_Store": b"",
    }
    (tmp_path / "all.zip").write_bytes(zipped(files, {f"{moodle}/mine.ipynb": 2}))
    given, passed_over = tmp_path / "all.zip", dict[str, str]()
    if as_folder:
        with zipfile.ZipFile(given) as file:
            for member in file.infolist():
                path = Path(file.extract(member, tmp_path / "all"))
                os.utime(path, (at := datetime(*member.date_time).timestamp(), at))
        given = tmp_path / "all"
    found = {source.name: source for source in find_submissions([given], unpacked, passed_over.__setitem__)}
    unreadable = {name for name, source in found.items() if source.unreadable}
    assert set(found) == {"Ann Wu_34", "Bob_35", "Cat_36", "Dan_37/a", "Dan_37/b"} and unreadable == {"Cat_36"}
    assert "zip cannot be opened" in found["Cat_36"].unreadable
    notes = {name: source.note for name, source in found.items() if source.note}
    assert list(notes) == ["Ann Wu_34"] and "mine.ipynb is graded" in notes["Ann Wu_34"]
    assert passed_over == {
        f"{moodle}/old.ipynb": "mine.ipynb is the lesson, or was saved later",
        f"{moodle}/scratch.ipynb": "mine.ipynb is the lesson, or was saved later",
        f"{moodle}/help.py": "a notebook is graded: mine.ipynb",
        f"{moodle}/.ipynb_checkpoints": "made by a program for itself",
        "Bob_35_assignsubmission_file_/work.zip/notes.txt": "neither a notebook nor a .py file",
        "eve/essay.pdf": "neither a notebook nor a .py file",
        ".DS_Store": "made by a program for itself",
    }


def test_zip_in_the_zip_of_canvas_is_its_students_whatever_stands_in_it(tmp_path: Path, unpacked: Path) -> None:
    inner = zipped({f"bob_77/{L2}/{L2}.ipynb": LESSONS[L2], "deep.zip": b""})
    files = {"wuann_LATE_34_92_work.zip": inner, f"bob_77_93_{L2}.ipynb": b"bob", "bare.zip": zipped({})}
    (tmp_path / "all.zip").write_bytes(zipped(files))
    passed_over: dict[str, str] = {}
    found = {s.name: s for s in find_submissions([tmp_path / "all.zip"], unpacked, passed_over.__setitem__)}
    contents = {name: source.path.read_bytes() for name, source in found.items() if not source.unreadable}
    assert contents == {"wuann_34": LESSONS[L2], "bob_77": b"bob"}
    assert set(passed_over) == {"wuann_LATE_34_92_work.zip/deep.zip"} and found["bare"].unreadable


def test_outputs_do_not_count_towards_the_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "MAX_BYTES", 1 << 20)
    document = json.loads(LESSONS[L2])
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    code[0]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ['\\"]outputs": [' * (1 << 17)]}]
    (tmp_path / "a.ipynb").write_text(json.dumps(document))
    submission = read_submission(Source("a", tmp_path / "a.ipynb"))
    (tmp_path / "b.ipynb").write_bytes(LESSONS[L2])
    assert submission.pieces == read_submission(Source("b", tmp_path / "b.ipynb")).pieces
    code[0]["source"] = "#" * (2 << 20)
    (tmp_path / "a.ipynb").write_text(json.dumps(document))
    with pytest.raises(Unreadable, match="larger than 1 MiB, its outputs left out"):
        read_submission(Source("a", tmp_path / "a.ipynb"))


@pytest.mark.parametrize("name", ["../out.py", "a/../../out.py", "/tmp/out.py", "..\\out.py", "C:\\out.py"])
def test_paths_and_links_that_lead_out_of_a_zip_write_nothing(tmp_path: Path, unpacked: Path, name: str) -> None:
    assert "leads out" in find_submissions([packed(tmp_path / "all.zip", [name])], unpacked)[0].unreadable
    link = zipfile.ZipInfo("ann.ipynb")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as target:
        target.writestr(link, "/etc/passwd")
    (source,) = find_submissions([tmp_path / "all.zip"], unpacked)
    assert "link" in source.unreadable and not source.path.exists()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "all.zip"]


def test_bombs_and_lies_about_the_size_cost_their_own_student_only(
    tmp_path: Path, unpacked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_FILE", 1 << 20)
    monkeypatch.setattr(archive, "MAX_PER_STUDENT", 2 << 20)
    files = {"ann.ipynb": b"x", "eve.ipynb": bytes(30 << 20)} | {f"mal/{n}.ipynb": bytes(1 << 20) for n in range(10)}
    (tmp_path / "all.zip").write_bytes(zipped(files))
    found = {source.name: source for source in find_submissions([tmp_path / "all.zip"], unpacked)}
    assert "larger than 1 MiB" in found["eve"].unreadable and not found["ann"].unreadable
    assert [bool(found[f"mal/{number}"].unreadable) for number in range(10)] == [False] * 2 + [True] * 8
    assert sum(path.stat().st_size for path in unpacked.rglob("*") if path.is_file()) <= (2 << 20) + 1
    data = zipped({"ann.ipynb": b"\0" * (1 << 20)})
    lying = data.replace((1 << 20).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    assert lying != data
    (tmp_path / "all.zip").write_bytes(lying)
    assert find_submissions([tmp_path / "all.zip"], unpacked)[0].unreadable


def test_encrypted_and_damaged_members_are_unreadable_and_all_others_read(tmp_path: Path, unpacked: Path) -> None:
    data = bytearray(packed(tmp_path / "all.zip", ["ann.py", "bob.py", "cat.py"]).read_bytes())
    with zipfile.ZipFile(tmp_path / "all.zip") as source:
        ann, bob = source.getinfo("ann.py"), source.getinfo("bob.py")
    data[ann.header_offset + 30 + len("ann.py")] ^= 0xFF  # its first byte
    directory = data.index(b"PK\x01\x02", bob.header_offset)
    entry = data.index(b"bob.py", directory) - 46
    data[entry + 8] |= 1  # "encrypted"
    (tmp_path / "all.zip").write_bytes(data)
    found = {source.name: bool(source.unreadable) for source in find_submissions([tmp_path / "all.zip"], unpacked)}
    assert found == {"ann.py": True, "bob.py": True, "cat.py": False}
    with zipfile.ZipFile(tmp_path / "rare.zip", "w", zipfile.ZIP_LZMA) as target:
        target.writestr("ann.ipynb", "x")
    assert find_submissions([tmp_path / "rare.zip"], unpacked)[0].unreadable
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(tmp_path / "all.zip", "w") as target:
        for text in ("first", "second"):
            target.writestr("ann.py", text)
    twice = {source.name: source.path.read_text() for source in find_submissions([tmp_path / "all.zip"], unpacked)}
    assert twice == {"ann.py": "first", "ann.py (2)": "second"}
