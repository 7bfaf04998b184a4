"""Published sets of open questions: lists and texts as answers, hidden answers, exploded rows."""

import pyarrow as pa
import pytest

from tests.datasets.loaders.built import IMAGE, TEXTS, cell, coded, parquet, tsv
from vouch.pipeline.errors import UserError

S = pa.string()
CHARTQA = {"type": S, "question": S, "answer": S, "image": IMAGE}
TEXTVQA = {
    "image_id": S,
    "question_id": pa.int32(),
    "question": S,
    "question_tokens": TEXTS,
    "image": IMAGE,
    "answers": TEXTS,
    "ocr_tokens": TEXTS,
}
DOCVQA = {
    "questionId": S,
    "question": S,
    "question_types": TEXTS,
    "image": IMAGE,
    "docId": pa.int64(),
    "answers": TEXTS,
    "data_split": S,
}
OCRVQA = {"image": IMAGE, "image_id": S, "questions": TEXTS, "answers": TEXTS, "title": S, "genre": S}


def only(project, loader, types, *rows, **settings):
    parquet(project.source / "data/validation-00000-of-00001.parquet", types, *rows)
    return project.prepare(loader, **{"expect": None, **settings})["items"].to_pylist()


@pytest.mark.parametrize(("kind", "answer"), [(S, "14"), (TEXTS, ["14"])])
def test_chartqa_in_both_editions(project, kind, answer):
    row = {"type": "human_test", "question": "How many?", "answer": answer, "image": cell()}
    (item,) = only(project, "chartqa", {**CHARTQA, "answer": kind}, row)
    assert (item["references"], item["category"], item["kind"]) == (["14"], "human_test", "text")


def test_textvqa_keeps_all_ten_answers(project):
    answers = ["nokia"] * 7 + ["Nokia", "toshiba", "nokia"]
    row = {"question_id": 34602, "question": "What brand?", "answers": answers, "image": cell()}
    (item,) = only(project, "textvqa", TEXTVQA, row)
    assert (item["id"], item["references"], item["options"]) == ("34602", answers, [])
    with pytest.raises(UserError, match="its answers are hidden; take another split"):
        only(project, "textvqa", TEXTVQA, {**row, "answers": [""] * 10})


def test_docvqa(project):
    row = {"questionId": "49153", "question": "What year?", "question_types": ["table/list", "form"]}
    row |= {"image": cell(), "docId": 14465, "answers": ["1988", "in 1988"]}
    (item,) = only(project, "docvqa", DOCVQA, row)
    assert (item["id"], item["references"], item["category"]) == (
        "49153",
        ["1988", "in 1988"],
        "form, table/list",
    )
    with pytest.raises(UserError, match="its answers are hidden"):
        only(project, "docvqa", DOCVQA, {**row, "answers": None})


def test_ocrvqa_explodes_a_cover(project):
    row = {"image": cell(), "image_id": "0735", "questions": ["Who?", "Kind?"], "answers": ["X", "Y"]}
    items = only(
        project, "ocrvqa", OCRVQA, {**row, "genre": "Travel"}, {**row, "image_id": "9", "image": cell(4)}
    )
    assert [item["id"] for item in items] == ["0735-1", "0735-2", "9-1", "9-2"]
    assert [item["group"] for item in items] == ["0735", "0735", "9", "9"]
    assert items[1]["references"] == ["Y"] and items[1]["category"] == "Travel"
    with pytest.raises(UserError, match="has 2 questions, but 1 answers"):
        only(project, "ocrvqa", OCRVQA, {**row, "answers": ["X"]})


def test_ocrvqa_of_the_core(project):
    """VLMEvalKit's file: a question a row, an answer that may be a list as text, images that rows share."""
    rows = [
        {"index": 7, "image": coded(1), "question": "Who?", "answer": "X", "category": "who"},
        {"index": 8, "image": "7", "question": "Kind?", "answer": "['Travel', 'Trips']", "category": "genre"},
        {"index": 9, "image": coded(2), "question": "Title?", "answer": "[Sic] Transit", "category": "title"},
    ]
    tsv(project.source / "OCRVQA_TESTCORE.tsv", *rows)
    items = project.prepare("ocrvqa", expect=None)["items"].to_pylist()
    assert [(item["id"], item["references"]) for item in items] == [
        ("7", ["X"]),
        ("8", ["Travel", "Trips"]),
        ("9", ["[Sic] Transit"]),
    ]
    assert items[0]["group"] == items[1]["group"] != items[2]["group"]
    assert items[0]["images"] == items[1]["images"]
    with pytest.raises(UserError, match="items: 3,072 expected, 3 found"):
        project.prepare("ocrvqa")
    (project.source / "OCRVQA_TESTCORE.tsv").rename(project.source / "OCRVQA_TEST.tsv")
    with pytest.raises(UserError, match="how many items this source should hold is not known"):
        project.prepare("ocrvqa")


@pytest.mark.parametrize(
    ("loader", "types", "hub", "words"),
    [
        ("textvqa", TEXTVQA, "lmms-lab/textvqa", "items: 5,000 expected, 0 found"),
        ("docvqa", DOCVQA, "lmms-lab/DocVQA", "items: 5,349 expected, 0 found"),
        ("ocrvqa", OCRVQA, "howard-hou/OCR-VQA", "groups: 20,731 expected, 0 found"),
        ("chartqa", CHARTQA, "lmms-lab/ChartQA", "how many items validation should hold"),
    ],
)
def test_the_known_counts(project, loader, types, hub, words):
    project.entry = {"origin": {"hub": hub, "split": "validation"}}
    with pytest.raises(UserError, match=words):
        only(project, loader, types, expect={})
