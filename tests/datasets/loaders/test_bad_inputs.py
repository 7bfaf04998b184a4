"""Every bad input in every form of table and archive: one line that says where, nothing half-written, a way on.

A form writes the same three entries in its own schema; the second one is spoilt. `stop` names it and
writes nothing, `skip` lists it and keeps the others whole, and once it is mended the next run has all three.
"""

import base64
import json
import struct
import zlib
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.datasets.loaders.built import IMAGE, archive, parquet, png, schema, tsv
from tests.models.pins.loopback_hub import Repo, serving
from vouch.datasets.fetch.origin import REMOTE
from vouch.pipeline.errors import UserError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MMMU = schema("id question options answer question_type", **{f"image_{n}": IMAGE for n in range(1, 8)})


def entry(number: int, **changes: Any) -> dict[str, Any]:
    """What every form can write. answer: 0-based. image: its bytes, None for one that is missing."""
    base = {"id": f"q{number}", "question": f"Which of {number}?", "options": ["red", "blue"], "answer": 1}
    return {**base, "image": png(number), **changes}


def letter(index: int) -> str:
    return chr(ord("A") + index)


def as_tsv(project: Any, entries: list[dict[str, Any]]) -> None:
    rows = []
    for number, one in enumerate(entries):
        options = dict(zip_longest("ABCD", one["options"][:4], fillvalue=""))
        index = one["id"].removeprefix("q")
        image = base64.b64encode(one["image"]).decode() if one["image"] is not None else "77"
        row = {"index": index or number, "question": one["question"], **options}
        rows.append({**row, "answer": letter(one["answer"]), "image": image})
    tsv(project.source / "mmbench.tsv", *rows)


def table(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            **{key: one[key] for key in ("id", "question")},
            "options": repr(one["options"]),
            "answer": letter(one["answer"]),
            "question_type": "multiple-choice",
            "image_1": {"bytes": one["image"], "path": "one.png"},
        }
        for one in entries
    ]


def as_parquet(project: Any, entries: list[dict[str, Any]]) -> None:
    parquet(project.source / "data/validation-00000-of-00001.parquet", MMMU, *table(entries))


def as_json(project: Any, entries: list[dict[str, Any]]) -> None:
    rows = [
        {
            **{key: one[key] for key in ("id", "question", "options", "answer")},
            "image": None if one["image"] is None else base64.b64encode(one["image"]).decode(),
        }
        for one in entries
    ]
    path = project.source / "Flowers102/flower102_val_1p.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(rows))


def as_zip(project: Any, entries: list[dict[str, Any]]) -> None:
    members: dict[str, Any] = {}
    for number, one in enumerate(entries):
        values = {"answerTexts": one["options"], "correctAnswer": one["answer"], "questionId": one["id"]}
        members[f"ai2d/questions/{number}.png.json"] = {"questions": {one["question"]: values}}
        if one["image"] is not None:
            members[f"ai2d/images/{number}.png"] = one["image"]
    archive(project.source / "ai2d-all.zip", members)


def as_released(project: Any, entries: list[dict[str, Any]]) -> None:
    rows = []
    for one in entries:
        options = dict(zip_longest("ABC", one["options"][:3]))
        name = int(one["id"].removeprefix("q"))
        rows.append({"id": name, "question": one["question"], **options, "answer": letter(one["answer"])})
    pq.write_table(pa.Table.from_pylist(rows), project.source / "items-toy.parquet")


def as_lines(project: Any, entries: list[dict[str, Any]]) -> None:
    rows = []
    for one in entries:
        image = "gone.png" if one["image"] is None else base64.b64encode(one["image"]).decode()
        rows.append(json.dumps({**one, "answer": letter(one["answer"]), "image": image}))
    (project.source / "questions.jsonl").write_text("\n".join(rows))


# form -> how it is written, its loader, further settings, and where the second entry stands
FORMS: dict[str, tuple[Callable[[Any, list[dict[str, Any]]], None], str, dict[str, Any], str]] = {
    "tsv": (as_tsv, "mmbench", {}, "toy/mmbench.tsv row 2"),
    "parquet": (as_parquet, "mmmu", {}, "toy/data/validation-00000-of-00001.parquet row 2"),
    "json": (as_json, "reform", {"set": "flowers102"}, "toy/Flowers102/flower102_val_1p.json row 1"),
    "lines": (
        as_lines,
        "table",
        {"columns": {name: name for name in ("id", "question", "options", "answer", "image")}},
        "toy/questions.jsonl row 2",
    ),
    "zip": (as_zip, "ai2d", {}, "ai2d/questions/1.png.json"),
    "released": (as_released, "released", {}, "toy/items-toy.parquet row 2"),
}
FORM = pytest.mark.parametrize("form", FORMS)


def bomb() -> bytes:
    """A PNG that says it has ten thousand million pixels."""
    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(99))), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


MANY = [f"option {n}" for n in range(27)]
# what is wrong -> changes of the second entry, what is said, and the forms that cannot have it
DEFECTS: dict[str, tuple[dict[str, Any], str, set[str]]] = {
    "missing image": (
        {"image": None},
        "no such file|no file|names the file|no image|not one|77",
        {"released"},
    ),
    "text in place of an image": ({"image": b"a text and no picture"}, "not an image", {"released"}),
    "web page in place of an image": ({"image": b"<!DOCTYPE html><p>404"}, "a web page", {"released"}),
    "image cut off": ({"image": png(9)[:50]}, "cannot be decoded", {"released"}),
    "empty image": ({"image": b""}, "empty file|not one|no image", {"released", "tsv", "json", "lines"}),
    "image bomb": ({"image": bomb()}, "more than 89,478,485 pixels", {"released"}),
    "id twice": ({"id": "q0"}, "duplicate id", {"json"}),
    "answer outside": ({"answer": 7}, "not an index|not one of the letters|neither a letter", set()),
    "one option": ({"options": ["red"], "answer": 0}, "at least 2", set()),
    "27 options": ({"options": MANY}, "more than the 26", {"tsv", "released"}),
    "empty question": ({"question": ""}, "question is empty", set()),
}


def prepare(project: Any, form: str, **more: Any) -> dict[str, pa.Table]:
    _, loader, settings, _ = FORMS[form]
    expect = {} if loader == "released" else None
    return dict(project.prepare(loader, **{"expect": expect, **settings, **more}))


def refusal(project: Any, form: str, **more: Any) -> str:
    """The one line that the stage stops with, having written nothing."""
    with pytest.raises(UserError) as caught:
        prepare(project, form, **more)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 600 and project.written() == [], message
    return message


CASES = [(form, defect) for form in FORMS for defect, (*_, never) in DEFECTS.items() if form not in never]


@pytest.mark.parametrize(("form", "defect"), CASES)
def test_one_bad_entry(project, form, defect):
    write, _, _, place = FORMS[form]
    changes, words, _ = DEFECTS[defect]
    write(project, [entry(0), entry(1, **changes), entry(2)])
    message = refusal(project, form)
    assert place in message and any(word in message for word in words.split("|")), message
    tables = prepare(project, form, on_error="skip")
    assert tables["items"].num_rows == 2 and tables["items"]["question"][1].as_py() == "Which of 2?"
    assert tables["images"].num_rows == (0 if form == "released" else 2), "no picture of the bad one"
    (reject,) = tables["rejects"].to_pylist()
    assert place in reject["where"] and any(word in reject["reason"] for word in words.split("|"))
    write(project, [entry(0), entry(1), entry(2)])
    assert prepare(project, form)["items"].num_rows == 3


@FORM
def test_a_file_that_was_cut(project, form):
    FORMS[form][0](project, [entry(n) for n in range(3)])
    path = max(project.source.rglob("*"), key=lambda file: (file.suffix != ".png", file.is_file()))
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * 0.7)])
    assert path.name in refusal(project, form)
    path.write_bytes(whole)
    assert prepare(project, form)["items"].num_rows == 3


def other_columns(project: Any, form: str) -> str:
    """Renames a column, or a key, and gives its old name."""
    if form in ("parquet", "released"):
        (path,) = project.source.rglob("*.parquet")
        found = pq.read_table(path)
        pq.write_table(found.rename_columns({"answer": "reply"}), path)
        return "answer"
    path = next(path for path in project.source.rglob("*.*") if path.suffix != ".png")
    if form == "zip":
        archive(path, {"ai2d/questions/1.png.json": {"questions": {"Which?": {"answers": ["a", "b"]}}}})
        return "questionId"
    text = path.read_text()
    path.write_text(text.replace('"answer"' if form != "tsv" else "answer", '"reply"', 1))
    return "answer"


@FORM
def test_wrong_column_names(project, form):
    FORMS[form][0](project, [entry(n) for n in range(3)])
    missing = other_columns(project, form)
    assert missing in refusal(project, form)


def test_what_a_hub_gives_is_checked_the_same_way(project, tmp_path, monkeypatch):
    """A table of the hub with a bad row: the stage stops with its place; another commit, mended, is read."""
    path = project.source / "data/validation-00000-of-00001.parquet"
    commits = {}
    for commit, changes in ((COMMIT, {"image": b"<html>404</html>"}), ("f" * 40, {})):
        as_parquet(project, [entry(0), entry(1, **changes)])
        commits[commit] = {"data/validation-00000-of-00001.parquet": path.read_bytes()}
    with serving({"owner/exams": Repo(commits, {"main": COMMIT})}, tmp_path / "hf", monkeypatch):
        project.entry = {"origin": {"hub": "owner/exams", "revision": COMMIT, "split": "validation"}}
        with pytest.raises(UserError, match=r"validation-00000-of-00001\.parquet row 2 .*a web page"):
            project.prepare("mmmu", REMOTE, expect=None)
        assert project.written() == []
        tables = project.prepare("mmmu", REMOTE, expect=None, on_error="skip")
        assert (tables["items"].num_rows, tables["rejects"].num_rows) == (1, 1)
        project.entry["origin"]["revision"] = "f" * 40
        assert project.prepare("mmmu", REMOTE, expect=None)["items"].num_rows == 2
        project.entry["origin"]["split"] = "train"
        with pytest.raises(UserError, match=r"owner/exams: no split train; valid: validation"):
            project.prepare("mmmu", REMOTE, expect=None)
        assert Path("data/items/toy.parquet").is_file(), "what was whole stays"
