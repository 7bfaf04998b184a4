"""MMBench: circular copies, missing cells in three spellings, images of the first copy, counts."""

import base64
import json
from hashlib import sha256
from itertools import zip_longest

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.datasets.loaders.built import IMAGE, cell, coded, parquet, png, schema, tsv
from tests.datasets.test_fetch import serving_files
from tests.metrics.released import native_options
from tests.models.pins.loopback_hub import Repo, serving
from vouch.datasets.fetch.origin import REMOTE
from vouch.pipeline.errors import UserError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TYPES = schema(
    "question hint answer A B C D category source l2-category comment split", index=pa.int32(), image=IMAGE
)


def row(**changes):
    base = {"index": 241, "question": "Which?", "hint": "", "A": "x", "B": "y", "C": "z", "D": ""}
    return {**base, "answer": "B", "category": "ocr", "image": coded(), **changes}


def test_tsv_with_copies_and_missing_cells(project):
    tsv(
        project.source / "mmbench_dev_20230712.tsv",
        row(hint="Look."),
        row(index=1_000_241, A="y", B="z", C="x", answer="A"),
        row(index=7, C="nan", D="None", answer="A"),
    )
    items = project.prepare("mmbench", expect=None)["items"].to_pylist()
    assert [item["group"] for item in items] == ["241", "241", "7"]
    assert [item["options"] for item in items] == [["x", "y", "z"], ["y", "z", "x"], ["x", "y"]]
    assert [item["answers"] for item in items] == [[1], [0], [0]]
    assert [item["hint"] for item in items] == ["Look.", None, None]
    assert items[0]["images"] == [sha256(png()).hexdigest()] and items[0]["category"] == "ocr"


PAPERS, OTHER = "mmbench_dev_20230712.tsv", "MMBench_DEV_EN_V11.tsv"


@pytest.mark.parametrize(
    ("file", "changes", "options"),
    [
        (PAPERS, {"C": "None", "D": "NA"}, ["x", "y"]),
        (PAPERS, {"C": "w", "D": "nan"}, ["x", "y", "w"]),
        (OTHER, {"C": "None", "D": "NA"}, ["x", "y", "None", "NA"]),
        (OTHER, {"C": "None", "D": ""}, ["x", "y", "None"]),
        (OTHER, {"A": "nan", "B": "pita", "C": "null", "D": "N/A"}, ["nan", "pita", "null", "N/A"]),
        (OTHER, {"C": "", "D": ""}, ["x", "y"]),
        ("mmbench_dev_en_20231003.tsv", {"C": "NaN", "D": "#N/A"}, ["x", "y", "NaN", "#N/A"]),
        ("dev.parquet", {"C": "None", "D": "nan"}, ["x", "y", "None"]),
        ("dev.parquet", {"A": "nan", "D": "pita"}, ["nan", "y", "z", "pita"]),
        ("dev.parquet", {"C": "nan", "D": "nan", "answer": "C"}, ["x", "y", "nan"]),
        ("dev.parquet", {"C": None, "D": "nan"}, ["x", "y"]),
    ],
)
def test_words_that_pandas_reads_as_missing_are_options_but_of_the_papers_edition(
    project, file, changes, options
):
    path, values = project.source / file, row(**changes)
    if file.endswith("parquet"):
        parquet(path, TYPES, {**values, "image": cell(3)})
    else:
        tsv(path, values)
    (item,) = project.prepare("mmbench", expect=None)["items"].to_pylist()
    assert item["options"] == options


def test_a_gap_among_the_options_stays(project):
    tsv(project.source / "a.tsv", row(B="", C="z", D="w", answer="A"), row(index=2))
    with pytest.raises(UserError, match="has 1 that are not missing"):
        project.prepare("mmbench", expect=None)


def test_copies_that_name_the_row_with_the_image(project):
    path = project.source / "MMBench_DEV_EN.tsv"
    tsv(path, row(index=1, image=coded(5)), row(index=1_000_001, image="1"), row(index=2, image=coded(6)))
    items = project.prepare("mmbench", expect=None)["items"].to_pylist()
    assert items[0]["images"] == items[1]["images"] == [sha256(png(5)).hexdigest()]
    tsv(path, row(image="99"))
    with pytest.raises(UserError, match="its image is that of row '99', which has none"):
        project.prepare("mmbench", expect=None)
    tsv(path, row(index=1, image="?" * 20), row(index=1_000_001, image="1"), row(index=2, image=coded(6)))
    tables = project.prepare("mmbench", expect=None, on_error="skip")
    assert tables["items"].num_rows == 1
    reasons = [reason[:25] for reason in tables["rejects"]["reason"].to_pylist()]
    assert reasons == ["image is not base64 (Only", "its image is that of row "]


def test_parquet_of_the_hub(project, monkeypatch, tmp_path):
    """The whole way: the real client, real parquet, the stage."""
    path = parquet(
        tmp_path / "dev.parquet",
        TYPES,
        {**row(hint=None, D=None, image=cell(3)), "split": "dev"},
        {**row(index=1_000_241, D="nan", hint="nan", image=cell(3)), "split": "dev"},
    )
    files = {"data/dev-00000-of-00001.parquet": path.read_bytes()}
    project.entry = {"origin": {"hub": "lmms-lab/MMBench_EN", "revision": COMMIT, "split": "dev"}}
    with serving({"lmms-lab-encoder/MMBench_EN": Repo({COMMIT: files})}, tmp_path / "hf", monkeypatch):
        items = project.prepare("mmbench", REMOTE, expect={"items": 2, "groups": 1})["items"].to_pylist()
    assert [(item["options"], item["hint"]) for item in items] == [(["x", "y", "z"], None)] * 2
    assert project.notes["revision"] == COMMIT
    assert project.prepare("mmbench", REMOTE, expect=None)["items"].to_pylist() == items  # without the hub
    with pytest.raises(
        UserError, match=r"datasets\.toy: items: 4,377 expected, 2 found \(and 10 more counts"
    ):
        project.prepare("mmbench", REMOTE)


def test_the_later_edition_of_the_hub(project):
    """`lmms-lab/MMBench`, config en: indices are texts, and what is missing is `nan`."""
    types = {**TYPES, "index": pa.string(), "L2-category": pa.string()}
    del types["l2-category"]
    missing = {"image": cell(3), "hint": "nan", "D": "nan", "comment": "nan"}
    rows = [row(index="241", **missing), row(index="1000241", C="nan", **{**missing, "hint": "Look."})]
    parquet(project.source / "en/dev-00000-of-00001.parquet", types, *rows)
    project.entry = {"origin": {"hub": "lmms-lab/MMBench", "config": "en", "split": "dev"}}
    items = project.prepare("mmbench", expect={"items": 2, "groups": 1})["items"].to_pylist()
    assert [(item["id"], item["hint"], item["options"]) for item in items] == [
        ("241", None, ["x", "y", "z"]),
        ("1000241", "Look.", ["x", "y"]),
    ]
    with pytest.raises(UserError, match=r"items: 4,329 expected, 2 found"):
        project.prepare("mmbench")


def test_tsv_of_an_address(project, monkeypatch, tmp_path):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    data = tsv(tmp_path / "x.tsv", row(), row(index=2)).read_bytes()
    with serving_files({"/mmbench_dev_20230712.tsv": data}) as address:
        url = f"{address}/mmbench_dev_20230712.tsv"
        project.entry = {"origin": {"url": url, "sha256": sha256(data).hexdigest()}}
        assert project.prepare("mmbench", REMOTE, expect=None)["items"].num_rows == 2


def test_nobody_said_how_many(project):
    tsv(project.source / "own.tsv", row())
    with pytest.raises(UserError, match=r"write settings\.expect: \{items: N\}, or settings\.expect: null"):
        project.prepare("mmbench")
    assert project.prepare("mmbench", expect={"items": 1, "answer B": 1})["items"].num_rows == 1


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"answer": "D"}, "answer 'D' is not one of the letters of its 3 options"),
        ({"answer": ""}, "answer ''"),
        ({"image": "!" * 40}, "image is not base64"),
        ({"index": "x"}, "index 'x' is not an integer"),
    ],
)
def test_a_bad_row_is_one_line(project, changes, words):
    tsv(project.source / "own.tsv", row(index=1), row(**changes))
    with pytest.raises(UserError, match=rf"own\.tsv row 2.*{words}"):
        project.prepare("mmbench", expect=None)
    assert project.prepare("mmbench", expect=None, on_error="skip")["rejects"].num_rows == 1


def test_the_papers_edition_has_382_question_texts(project, shared):
    """All 4,377 real rows in the form of the source, without the options that Kostumov et al. filled in.

    The loader's own counts of this file hold too: of copies, hints, letters and options.
    """
    released = pq.read_table(shared("vlm-uncertainty-bench") / "items-mmbench.parquet").to_pylist()
    rows = [
        row(
            index=one["id"],
            question=one["question"],
            hint=one["hint"] or "",
            **dict(zip_longest("ABCD", native, fillvalue="")),
            answer=one["answer"],
            category=one["category"],
        )
        for one, native in zip(released, native_options(released), strict=True)
    ]
    tsv(project.source / PAPERS, *rows)
    items = project.prepare("mmbench")["items"].to_pylist()
    assert len(items) == 4377 and len({item["question"] for item in items}) == 382, "as PARC counts them"
    assert [item["question"] for item in items] == [one["question"] for one in released]


def test_real_rows(project, shared):
    folder = shared("realdata/mmbench_samples")
    lines = [json.loads(line) for line in (folder / "items.jsonl").read_text("utf-8").splitlines()]
    rows = [
        row(
            index=number,
            question=line["question"],
            **dict(zip_longest("ABCD", line["options"], fillvalue="")),
            answer="ABCD"[line["answer"]],
            image=base64.b64encode((folder / line["images"][0]).read_bytes()).decode(),
        )
        for number, line in enumerate(lines)
    ]
    tsv(project.source / "real.tsv", *rows)
    items = project.prepare("mmbench", expect={"items": 38})["items"].to_pylist()
    assert [item["options"] for item in items] == [line["options"] for line in lines]
    assert [item["images"] for item in items] == [[line["image_info"][0]["sha256"]] for line in lines]
