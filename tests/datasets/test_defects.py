"""The table of defects; for real data see tests/datasets/loaders/test_jsonl.py and test_released.py."""

import io

import pyarrow as pa
import pytest
from PIL import Image
from scipy import stats

from vouch.datasets.second_pass import Findings
from vouch.tables.asked import DROPPED, EXAMPLES, ITEMS, KNOWN, TREATMENTS


def row(name, flags=(), options=4, answer=0):
    return {"id": name, "flags": list(flags), "options": ["x"] * options, "answers": [answer]}


def counted(*rows):
    findings = Findings()
    findings.items(pa.Table.from_pylist(list(rows), schema=ITEMS.schema))
    return findings


def test_counts_shares_and_examples():
    tally = counted(*(row(f"q{n}", ["non_rgb"] if n else ["empty_hint"], answer=n % 4) for n in range(8)))
    tally.reject("q8", broken=True)
    tally.reject("file line 9", broken=False)
    rows = {found["defect"]: found for found in tally.rows()}
    assert list(rows) == [*KNOWN]
    assert rows["non_rgb"]["items"] == 7 and rows["non_rgb"]["share"] == 0.875
    assert rows["non_rgb"]["examples"] == [f"q{n}" for n in range(1, 1 + EXAMPLES)]
    assert rows["non_rgb"]["treatment"] == "repaired"
    assert (rows["broken_image"]["items"], rows["broken_image"]["share"]) == (1, 0.1)
    assert rows["unusable_entry"]["examples"] == ["file line 9"]
    assert rows["tiny_image"]["items"] == 0 and rows["tiny_image"]["examples"] == []


def skew(*pairs):
    """The row of the test for (number of options, answer) of every item."""
    tally = counted(*(row(str(n), options=size, answer=place) for n, (size, place) in enumerate(pairs)))
    (found,) = (found for found in tally.rows() if found["defect"] == "answer_position_skew")
    return found


def test_skew_of_one_size_is_the_plain_test():
    counts = [70, 30, 30, 30]
    found = skew(*((4, place) for place, count in enumerate(counts) for _ in range(count)))
    plain = stats.chisquare(counts)
    assert found["p_value"] == pytest.approx(plain.pvalue)
    assert (found["items"], found["share"]) == (30, 30 / 160)
    assert found["detail"] == (
        "A is the answer of 43.8 %, by chance 25.0 %; "
        f"chi-square {plain.statistic:.1f} on 3 degrees of freedom"
    )


def test_fewer_options_alone_are_no_skew():
    """Many items with two options put more answers at A and B than at C and D; that is no preference."""
    found = skew(*((2, n % 2) for n in range(200)), *((4, n % 4) for n in range(100)))
    assert found["p_value"] == 1 and found["items"] == 0 and "chi-square 0.0 on 4" in found["detail"]


def test_too_few_to_tell_a_skew():
    for found in (skew(), skew(*[(4, 0)] * 19)):
        assert found["p_value"] is None and found["detail"] == "too few items to tell"
    assert skew(*[(4, 0)] * 20)["items"] == 15


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
        "tiny_image": ["tiny", "garbled", "leak"],
        "unusable_entry": ["bad answer"],
    }
    flags = {row["id"]: row["flags"] for row in tables["items"].to_pylist()}
    assert flags["again"] == ["conflicting_answer", "near_duplicate_image"]
    known = {flag for row in flags.values() for flag in row}
    assert known <= set(KNOWN) - {name for name, defect in KNOWN.items() if defect.whole}


def test_looking_does_not_change_what_is_stored(project, item):
    data = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.effect_noise((40, 30), 90).save(data, "JPEG", exif=exif)
    (project.source / "one.png").write_bytes(data.getvalue())
    project.lines(item())
    (picture,) = project.prepare()["images"].to_pylist()
    assert picture["bytes"] == data.getvalue() and (picture["width"], picture["height"]) == (40, 30)
