"""The table of defects, on made and on real data."""

import io

import pyarrow as pa
import pytest
from PIL import Image

from vouch.datasets.cleaning.defects import Findings
from vouch.tables.defects import DROPPED, EXAMPLES, KNOWN, TREATMENTS
from vouch.tables.items import ITEMS


def row(name, flags=(), options=4, answer=0):
    return {"id": name, "flags": list(flags), "options": ["x"] * options, "answers": [answer]}


def counted(*rows):
    findings = Findings()
    findings.items(pa.Table.from_pylist(list(rows), schema=ITEMS.schema))
    return findings


def test_counts_shares_and_examples():
    tally = counted(
        *(row(f"q{n}", ["non_rgb"] if n else ["own", "empty_hint"], answer=n % 4) for n in range(8))
    )
    tally.reject("q8", broken=True)
    tally.reject("file line 9", broken=False)
    rows = {found["defect"]: found for found in tally.rows()}
    assert list(rows) == [*KNOWN, "own"]
    assert rows["non_rgb"]["items"] == 7 and rows["non_rgb"]["share"] == 0.875
    assert rows["non_rgb"]["examples"] == [f"q{n}" for n in range(1, 1 + EXAMPLES)]
    assert rows["non_rgb"]["treatment"] == "repaired"
    assert (rows["broken_image"]["items"], rows["broken_image"]["share"]) == (1, 0.1)
    assert rows["unusable_entry"]["examples"] == ["file line 9"]
    assert rows["own"]["treatment"] == "kept" and "source" in rows["own"]["detail"]
    assert rows["tiny_image"]["items"] == 0 and rows["tiny_image"]["examples"] == []
    assert rows["answer_position_skew"]["detail"] == "too few items to tell"


def test_skew_has_its_own_row():
    tally = counted(*(row(str(n), answer=0 if n < 70 else n % 4) for n in range(100)))
    (skew,) = (found for found in tally.rows() if found["defect"] == "answer_position_skew")
    assert skew["items"] == 52 and skew["share"] == 0.52 and skew["p_value"] < 1e-10
    assert skew["detail"].startswith("A is the answer of 77.0 %, by chance 25.0 %; chi-square ")


def test_the_contract_is_whole():
    assert {defect.treatment for defect in KNOWN.values()} == set(TREATMENTS)
    assert set(DROPPED) == {"duplicate_options", "empty_option", "missing_option", "repeated_answer_text"}
    assert list(KNOWN) == sorted(KNOWN)


def test_the_stage_tells_what_was_left_out_and_what_was_found(project, item):
    project.image("one.png")
    (project.source / "page.png").write_bytes(b"<html>")
    photo = Image.effect_noise((60, 60), 90).resize((200, 200), Image.Resampling.BICUBIC).convert("RGB")
    for name, options in (("a.png", {}), ("b.jpg", {"quality": 80})):
        photo.save(project.source / name, **options)
    project.lines(
        item(id="bad picture", image="page.png"),
        item(id="no picture", image="nowhere.png"),
        item(id="bad answer", answer=9),
        item(id="tiny"),
        item(id="first", image="a.png"),
        item(id="turned", image="a.png", options=["a hat", "a kite", "a cat"], answer=0),
        item(id="again", image="b.jpg", answer=2),
        item(id="garbled", question="Whose cafÃ©?"),
        item(id="leak", question="Who built the Eiffel Tower?", options=["a mason", "Eiffel Tower"]),
    )
    tables = project.prepare(on_error="skip")
    found = {row["defect"]: row["examples"] for row in tables["defects"].to_pylist() if row["items"]}
    assert found == {
        "answer_in_question": ["leak"],
        "blank_image": ["tiny", "garbled", "leak"],
        "broken_image": ["bad picture", "no picture"],
        "circular_copy": ["first", "turned"],
        "conflicting_answer": ["first", "turned", "again"],
        "damaged_text": ["garbled"],
        "near_duplicate_image": ["first", "turned", "again"],
        "shared_image": ["tiny", "garbled", "leak"],
        "tiny_image": ["tiny", "garbled", "leak"],
        "unusable_entry": ["bad answer"],
    }
    flags = {row["id"]: row["flags"] for row in tables["items"].to_pylist()}
    assert flags["again"] == ["conflicting_answer", "near_duplicate_image"]
    known = {flag for row in flags.values() for flag in row}
    assert known <= set(KNOWN) - {name for name, defect in KNOWN.items() if defect.whole}


REAL = {
    "mmbench": {
        "circular_copy": 4377,
        "duplicate_options": 16,
        "missing_option": 17,
        "repeated_answer_text": 8,
        "answer_position_skew": 70,
    },
    "scienceqa_test": {
        "answer_in_question": 1,
        "near_duplicate_image": 47,
        "shared_image": 30,
        "empty_hint": 81,
    },
    "puzzlevqa": {"circular_copy": 4, "empty_hint": 104, "non_rgb": 4},
    "mmbench_samples": {"empty_hint": 38, "shared_image": 38},
    "ai2d_mini": {"empty_hint": 10},
    "ccbench_samples": {"empty_hint": 12},
}


@pytest.mark.parametrize("name", REAL)
def test_known_defects_of_real_data(project, shared, name):
    if name == "mmbench":
        tables = project.prepare("released", str(shared("vlm-uncertainty-bench")), dataset="mmbench")
        dropped = [row for row in tables["items"].to_pylist() if set(row["flags"]) & set(DROPPED)]
        assert len(dropped) == 33
    else:
        tables = project.prepare("jsonl", str(shared(f"realdata/{name}")))
    found = {row["defect"]: row["items"] for row in tables["defects"].to_pylist() if row["items"]}
    assert found == REAL[name]


def test_looking_does_not_change_what_is_stored(project, item):
    data = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.effect_noise((40, 30), 90).save(data, "JPEG", exif=exif)
    (project.source / "one.png").write_bytes(data.getvalue())
    project.lines(item())
    (picture,) = project.prepare()["images"].to_pylist()
    assert picture["bytes"] == data.getvalue() and (picture["width"], picture["height"]) == (40, 30)
