import json
import random
from collections import Counter, defaultdict

import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from vouch.datasets import options
from vouch.datasets.cleaning.config import SCHEMES, DatasetEntry, Options
from vouch.datasets.options import Choice, key
from vouch.pipeline.errors import UserError

ROWS = [
    Choice("0", "0", ("a", "b"), (1,)),
    Choice("1", "1", ("c", "d", "e", "f"), (0,)),
    Choice("2", "2", ("g", "h", "i"), (2,)),
    Choice("3", "3", ("j", "k", None, None), (0,)),
]
GOLDEN = [["a", "b", "b", "i"], ["c", "d", "e", "f"], ["g", "h", "i", "a"], ["j", "k", "g", "g"]]


def test_mmbench_by_hand():
    """The same draws, spelt out with a generator of their own."""
    rng = random.Random(42)
    cells = [["a", "b", None, None], list("cdef"), ["g", "h", "i", None], ["j", "k", None, None]]
    for row, missing in ((0, (3, 2)), (2, (3,)), (3, (3, 2))):
        drawn = [int(rng.random() * 4) for _ in missing]
        for place, other in zip(missing, drawn, strict=True):
            cells[row][place] = rng.choice(cells[other])
    found = options.mmbench(ROWS, 42)
    assert [list(row.options) for row in found] == cells
    assert [row.answers for row in found] == [row.answers for row in ROWS]
    assert cells == GOLDEN


def test_mmbench_as_released(shared):
    """All 466 rows that the authors filled up come out as they released them (Kostumov et al. 2024)."""
    path = shared("vlm-uncertainty-bench") / "items-mmbench.parquet"
    released = pq.read_table(path, columns=["id", *"ABCD", "answer"]).to_pylist()
    copies = defaultdict(list)
    for row in released:
        copies[row["id"] % 1_000_000].append(row)
    rows = []
    for row in released:
        same = copies[row["id"] % 1_000_000]
        size = len(same)  # a question has as many copies as options, and more where one stays in its place
        while size < 4 and None not in (texts := {copy["ABCD"[size]] for copy in same}) and len(texts) == 1:
            size += 1
        native = tuple(row[letter] for letter in "ABCD"[:size])
        rows.append(
            Choice(str(row["id"]), str(row["id"] % 1_000_000), native, ("ABCD".index(row["answer"]),))
        )
    assert sum(len(row.options) < 4 for row in rows) == 466
    found = options.mmbench(rows, 42)
    assert [row.options for row in found] == [tuple(row[letter] for letter in "ABCD") for row in released]
    assert sum(None in row.options for row in found) == 17
    shown = [[text for text in row.options if text is not None] for row in found]
    assert sum(len(set(texts)) < len(texts) for texts in shown) == 16

    clean = options.to_four(rows, 42)
    assert all(len(row.options) == 4 and None not in row.options for row in clean)
    repeated = [row.id for row in clean if len(set(row.options)) < 4]
    assert len(repeated) == 15, "those that the source itself has"
    assert [row.answers for row in clean] == [row.answers for row in rows]


@pytest.mark.parametrize(
    "name",
    ["ai2d_mini", "ccbench_samples", "mathvision_test", "mmbench_samples", "puzzlevqa", "scienceqa_test"],
)
def test_real_sets_in_the_clean_reading(project, shared, name):
    """Four options each; the source's own order, answers and pictures, byte by byte, are still there."""
    folder = shared(f"realdata/{name}")
    lines = [json.loads(line) for line in (folder / "items.jsonl").open(encoding="utf-8")]
    project.entry["options"] = {"scheme": "kostumov_mmbench", "protocol": "clean"}
    tables = project.prepare(source=str(folder))
    pictures = dict(zip(*(tables["images"][key].to_pylist() for key in ("digest", "bytes")), strict=True))
    for item, line in zip(tables["items"].to_pylist(), lines, strict=True):
        options, native = item["options"], line["options"]
        assert len(options) == 4
        assert [options[answer] for answer in item["answers"]] == [native[line["answer"]]]
        kept = [text for text in native if text in options]
        assert len(kept) >= min(4, len(native)) and options[: min(4, len(native))] == kept[:4]
        assert len(set(map(key, options))) == 4 or len(set(map(key, native))) < len(native)
        assert [pictures[digest] for digest in item["images"]] == [
            (folder / path).read_bytes() for path in line["images"]
        ]
    defects = {row["defect"]: row["items"] for row in tables["defects"].to_pylist()}
    assert defects["missing_option"] == defects["broken_image"] == defects["unusable_entry"] == 0
    assert defects["duplicate_options"] <= (1 if name == "mathvision_test" else 0)


def test_mmbench_refuses_five():
    with pytest.raises(UserError, match="item 9: has 5 options"):
        options.mmbench([Choice("9", "9", tuple("vwxyz"), (0,))], 42)


def test_scienceqa_by_hand():
    rows = [Choice("0", "0", ("a", "b"), (1,)), Choice("1", "1", tuple("vwxyz"), (3,)), ROWS[2]]
    rng = random.Random(42)
    drawn = [int(rng.random() * 3) for _ in range(2)]
    expected = [("a", "b", *(rng.choice(rows[n].options) for n in drawn))]
    expected.append(("y", *("vwxz"[int(rng.random() * 4)] for _ in range(3))))
    expected.append(("g", "h", "i", rng.choice(rows[int(rng.random() * 3)].options)))
    found = options.scienceqa(rows, 42)
    assert [row.options for row in found] == expected
    assert [row.answers for row in found] == [(1,), (0,), (2,)]


def test_scienceqa_of_five_answers_a_only_when_faithful():
    rows = [Choice(str(n), str(n), tuple(f"{c}{n}" for c in "vwxyz"), (n % 5,)) for n in range(200)]
    assert {row.answers for row in options.scienceqa(rows, 42)} == {(0,)}
    clean = options.to_four(rows, 42)
    assert len({row.answers for row in clean}) == 4
    assert all(len(set(row.options)) == 4 for row in clean)
    with pytest.raises(UserError, match="has 6 options"):
        options.scienceqa([Choice("9", "9", tuple("uvwxyz"), (0,))], 42)


def digits(count=2000):
    rng = random.Random(7)
    pairs = [rng.sample(range(6), 2) for _ in range(count)]
    return [
        Choice(str(n), str(n), (f"There are {a}", f"There are {b}"), (n % 2,))
        for n, (a, b) in enumerate(pairs)
    ]


@pytest.mark.parametrize("protocol", ["faithful", "clean"])
def test_oodcv(protocol):
    rows = digits()
    found = getattr(options.DRAWN_SCHEMES["kostumov_oodcv"], protocol)(rows, 42)
    for before, after in zip(rows, found, strict=True):
        native = [options.DIGITS[int(option[-1])] for option in before.options]
        assert set(native) <= set(after.options) <= set(options.DIGITS) and len(after.options) == 4
        assert after.options[after.answers[0]] == native[before.answers[0]]
    twice = sum(len(set(row.options)) < 4 for row in found)
    assert 420 < twice < 580 if protocol == "faithful" else twice == 0  # a quarter by chance
    places = Counter(row.answers[0] for row in found)
    assert all(400 < places[n] < 600 for n in range(4))


def test_oodcv_refuses_other_options():
    for texts in (("a 1", "b 1"), ("a 1", "b 6"), ("1", "2", "3"), ("cat", "dog"), ("", "a 1")):
        with pytest.raises(UserError, match="two that end in different digits"):
            options.oodcv_clean([Choice("9", "9", texts, (0,))], 42)


def test_settings_name_the_schemes():
    assert len(SCHEMES) == 8 and Options(scheme="reform_pool").protocol == "clean"
    with pytest.raises(ValidationError, match="kostumov_mmbench"):
        Options(scheme="kostumov_mmbnch")
    assert DatasetEntry(loader="jsonl", source="x", template="plain").options is None


def test_the_stage_applies_a_scheme(project, item):
    for n in range(9):
        project.image(f"{n}.png", shade=n)  # of one picture all would be one group, which shares no options
    asked = [
        {"id": f"q{n}", "question": f"Which {n}?", "options": [f"a{n}", f"b{n}"], "image": f"{n}.png"}
        for n in range(9)
    ]
    project.lines(*(item(**values, answer=1) for values in asked))
    plain = project.prepare()["items"]
    options = {"scheme": "kostumov_mmbench", "protocol": "clean", "seed": 1}
    project.entry["options"] = options
    clean = project.prepare()["items"]
    assert {len(texts) for texts in clean.column("options").to_pylist()} == {4}
    assert clean.drop_columns(["options"]).equals(plain.drop_columns(["options"]))
    project.entry["options"] = {**options, "protocol": "faithful"}
    faithful = project.prepare()
    for row in faithful["items"].to_pylist():
        assert ("missing_option" in row["flags"]) == (len(row["options"]) < 4)
        assert row["options"][1] == f"b{row['id'][1:]}" and row["answers"] == [1]


def test_a_faithful_draw_needs_every_entry(project, item):
    project.image("one.png")
    project.lines(item(), item(id="bad", answer=9))
    project.entry["options"] = {"scheme": "kostumov_mmbench", "protocol": "faithful"}
    with pytest.raises(UserError, match="1 entries of the source were rejected"):
        project.prepare(on_error="skip")
    assert project.written() == []
