"""Published multiple-choice sets in parquet: real column types, filters, and the counts that are known."""

import json

import pyarrow as pa
import pytest

from tests.datasets.loaders.built import IMAGE, TEXTS, cell, coded, parquet, tsv
from vouch.datasets.loaders.realworldqa import split_question
from vouch.pipeline.errors import UserError

SCIENCEQA = {
    "image": IMAGE,
    "question": pa.string(),
    "choices": TEXTS,
    "answer": pa.int8(),
    **dict.fromkeys(("hint", "task", "grade", "subject", "topic", "category", "skill"), pa.string()),
    **dict.fromkeys(("lecture", "solution"), pa.string()),
}
MMMU = {
    **dict.fromkeys(("id", "question", "options", "explanation"), pa.string()),
    **dict.fromkeys((f"image_{k}" for k in range(1, 8)), IMAGE),
    **dict.fromkeys(("img_type", "answer", "topic_difficulty", "question_type", "subfield"), pa.string()),
}
MMMU_PRO = {
    **{k: v for k, v in MMMU.items() if k not in ("question_type", "subfield")},
    "subject": pa.string(),
}
VISION = {**dict.fromkeys(("id", "options", "answer", "subject"), pa.string()), "image": IMAGE}
MATHVISION = {
    **dict.fromkeys(("id", "question", "image", "answer", "solution", "subject"), pa.string()),
    "options": TEXTS,
    "decoded_image": IMAGE,
    "level": pa.int64(),
}


def only(project, loader, types, *rows, split="test", **settings):
    """The items of one table."""
    parquet(project.source / f"data/{split}-00000-of-00001.parquet", types, *rows)
    return project.prepare(loader, **{"expect": None, **settings})["items"].to_pylist()


def science(**changes):
    base = {"question": "Which?", "choices": ["a", "b"], "answer": 1, "hint": "", "task": "closed choice"}
    return {**base, "subject": "natural science", "image": cell(), **changes}


def test_scienceqa(project):
    items = only(
        project,
        "scienceqa",
        SCIENCEQA,
        science(),
        science(image=None),
        science(task="yes or no", hint="Read."),
        tasks=["closed choice", "yes or no"],
    )
    assert [(item["id"], item["answers"], item["hint"]) for item in items] == [
        ("0", [1], ""),
        ("2", [1], "Read."),
    ]
    assert items[0]["category"] == "natural science" and items[0]["options"] == ["a", "b"]
    assert len(only(project, "scienceqa", SCIENCEQA, science(), science(image=None), pictures=False)) == 2
    assert len(only(project, "scienceqa", SCIENCEQA, science(), science(task="x"), tasks=["x"])) == 1


def test_scienceqa_in_the_order_of_the_splits(project):
    parquet(project.source / "data/test-00000-of-00001.parquet", SCIENCEQA, science(question="t"))
    parquet(project.source / "data/validation-00000-of-00001.parquet", SCIENCEQA, science(question="v"))
    project.entry = {"origin": {"hub": "derek-thomas/ScienceQA", "split": "validation+test"}}
    tables = project.prepare("scienceqa", expect={"items": 2}, tasks=["closed choice"])
    assert tables["items"].column("question").to_pylist() == ["v", "t"]
    with pytest.raises(UserError, match="items: 3,953 or 3,954 expected, 2 found"):
        project.prepare("scienceqa", tasks=["closed choice"])
    with pytest.raises(UserError, match="items: 4,114 expected"):
        project.prepare("scienceqa")


def test_scienceqa_of_real_rows(project, shared):
    folder = shared("realdata/scienceqa_test")
    lines = [json.loads(line) for line in (folder / "items.jsonl").read_text("utf-8").splitlines()][:60]
    rows = [
        science(
            question=line["question"],
            choices=line["options"],
            answer=line["answer"],
            hint=line["hint"],
            image={"bytes": (folder / line["images"][0]).read_bytes(), "path": "image.png"},
        )
        for line in lines
    ]
    items = only(project, "scienceqa", SCIENCEQA, *rows)
    assert [(item["question"], item["options"], item["hint"]) for item in items] == [
        (line["question"], line["options"], line["hint"]) for line in lines
    ]
    assert [item["images"] for item in items] == [[line["image_info"][0]["sha256"]] for line in lines]


def exam(name="validation_Art_Theory_3", **changes):
    base = {"id": name, "question": "<image 1> Which?", "options": "['a', \"b's\", 'c']", "answer": "B"}
    return {**base, "question_type": "multiple-choice", "image_1": cell(1), **changes}


EXAMS = (
    exam(),
    exam("validation_Music_1", options="[]", answer="5.5", question_type="open"),
    exam("validation_Music_2", options="[]", answer="['5', 'five']", question_type="open"),
    exam("validation_Art_4", options=repr(list("abcdefg")), answer="G"),
    exam("validation_Art_5", options="['<image 1>', '<image 2>']", image_2=cell(2)),
)


def test_mmmu(project):
    items = only(project, "mmmu", MMMU, *EXAMS)
    assert [item["category"] for item in items] == ["Art_Theory", "Music", "Music", "Art", "Art"]
    assert items[0]["options"] == ["a", "b's", "c"] and items[0]["answers"] == [1]
    assert [item["references"] for item in items[1:3]] == [["5.5"], ["5", "five"]]
    assert items[1]["kind"] == "text" and items[3]["answers"] == [6] and len(items[4]["images"]) == 2


def test_mmmu_filters(project):
    def names(**settings):
        return [item["id"][11:] for item in only(project, "mmmu", MMMU, *EXAMS, **settings)]

    assert names(open="leave_out") == ["Art_Theory_3", "Art_4", "Art_5"]
    assert names(open="leave_out", max_options=5) == ["Art_Theory_3", "Art_5"]
    assert names(open="leave_out", max_options=5, images="one") == ["Art_Theory_3"]
    other = only(project, "mmmu", MMMU, *EXAMS, open="other")
    assert other[1]["options"] == ["5.5", "Other Answers"] and other[1]["answers"] == [0]
    assert {item["kind"] for item in other} == {"choice"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"answer": "?"}, "its answer is hidden; take another split"),
        ({"answer": "D"}, "answer 'D' is not one of the letters"),
        ({"options": "__import__('os').getcwd()"}, "is no list written as text"),
        ({"options": "['a', 1]"}, "options holds a int"),
        ({"image_1": None, "image_2": cell()}, "image_1 is missing, but a later one is there"),
        ({"image_1": {"bytes": None, "path": "a.png"}}, "names the file 'a.png', which is not in the table"),
    ],
)
def test_mmmu_refuses(project, changes, words):
    with pytest.raises(UserError, match=words):
        only(project, "mmmu", MMMU, exam(**changes))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, r"items: 900 expected, 5 found \(and 16 more counts"),
        ({"open": "leave_out", "max_options": 5}, "items: 836 expected, 2 found"),
        ({"open": "leave_out", "max_options": 5, "images": "one"}, "items: 794 expected, 1 found"),
        ({"max_options": 3}, "how many items validation should hold is not known here"),
    ],
)
def test_mmmu_counts(project, settings, words):
    project.entry = {"origin": {"hub": "lmms-lab/MMMU", "split": "validation"}}
    with pytest.raises(UserError, match=words):
        only(project, "mmmu", MMMU, *EXAMS, split="validation", **{"expect": {}, **settings})


def test_mmmu_pro(project):
    ten = exam("test_Art_1", options=repr(list("abcdefghij")), answer="J")
    rows = [{k: v for k, v in row.items() if k in MMMU_PRO} for row in (ten, exam("test_Art_2"))]
    assert len(only(project, "mmmu_pro", MMMU_PRO, *rows)) == 2
    (item,) = only(project, "mmmu_pro", MMMU_PRO, *rows, options=10)
    assert item["answers"] == [9] and item["id"] == "test_Art_1"
    (item,) = only(
        project, "mmmu_pro", VISION, {"id": "v1", "options": "['a', 'b']", "answer": "A", "image": cell()}
    )
    assert item["question"] == "Answer the question in the picture." and len(item["images"]) == 1


def test_mmmu_pro_counts(project):
    name = "standard (10 options)/test-00000-of-00001.parquet"
    parquet(project.source / name, MMMU_PRO, {k: v for k, v in exam().items() if k in MMMU_PRO})
    project.entry = {
        "origin": {"hub": "MMMU/MMMU_Pro", "config": "standard (10 options)", "split": "test"},
    }
    with pytest.raises(UserError, match="items: 1,730 expected"):
        project.prepare("mmmu_pro")
    with pytest.raises(UserError, match="items: 1,213 or 1,214 expected, 0 found"):
        project.prepare("mmmu_pro", options=10)


def test_mathvision(project, shared):
    folder = shared("realdata/mathvision_test")
    lines = [json.loads(line) for line in (folder / "items.jsonl").read_text("utf-8").splitlines()][:40]
    rows = [
        {
            "id": line["orig_id"],
            "question": line["question"],
            "options": line["options"],
            "answer": "ABCDE"[line["answer"]],
            "image": line["images"][0],
            "decoded_image": {"bytes": (folder / line["images"][0]).read_bytes(), "path": None},
            "subject": line["category"],
            "level": line["level"],
        }
        for line in lines
    ]
    items = only(project, "mathvision", MATHVISION, *rows)
    assert [item["answers"] for item in items] == [[line["answer"]] for line in lines]
    assert [item["images"] for item in items] == [[line["image_info"][0]["sha256"]] for line in lines]
    assert {item["category"] for item in items} == {line["category"] for line in lines}


def test_mathvision_open(project):
    rows = (
        {"id": "1", "question": "How many?<image1>", "options": [], "answer": "12", "decoded_image": cell()},
        {"id": "2", "question": "Which?", "options": list("ABCDE"), "answer": "E", "decoded_image": cell()},
    )
    items = only(project, "mathvision", MATHVISION, *rows)
    assert [(item["kind"], item["references"], item["answers"]) for item in items] == [
        ("text", ["12"], []),
        ("choice", [], [4]),
    ]
    assert len(only(project, "mathvision", MATHVISION, *rows, open="leave_out")) == 1


def test_worldmedqa_v(project):
    def row(**changes):
        base = {"index": 1, "image": coded(), "question": "Q", "A": "a", "B": "b", "C": "c", "D": "d"}
        return {**base, "correct_option": "C", **changes}

    tsv(project.source / "israel_local_processed.tsv", row(question="שאלה"), row(image=coded(9)))
    tsv(project.source / "israel_english_processed.tsv", row())
    items = project.prepare("worldmedqa_v", expect={"items": 3, "groups": 2})["items"].to_pylist()
    assert [item["id"] for item in items] == ["israel-english-1", "israel-local-1", "israel-local-2"]
    assert items[0]["group"] == items[1]["group"] != items[2]["group"] and items[1]["question"] == "שאלה"
    assert items[0]["category"] == "israel english" and items[0]["answers"] == [2]
    with pytest.raises(UserError, match=r"items: 372 expected, 3 found \(and 2 more"):
        project.prepare("worldmedqa_v")


REALWORLD = {"image": IMAGE, "question": pa.string(), "answer": pa.string()}
ASK = "In which direction?\n\nA. Left.\nB. Right.\nC. Straight.\nPlease answer directly with only the letter."


def test_realworldqa(project):
    items = only(
        project,
        "realworldqa",
        REALWORLD,
        {"image": cell(), "question": ASK, "answer": "B"},
        {
            "image": cell(),
            "question": "How many?\nPlease answer directly with a single number.",
            "answer": "3",
        },
    )
    assert items[0]["question"] == "In which direction?" and items[0]["answers"] == [1]
    assert items[0]["options"] == ["Left.", "Right.", "Straight."]
    assert (items[1]["kind"], items[1]["question"], items[1]["references"]) == ("text", "How many?", ["3"])


@pytest.mark.parametrize(
    ("text", "question", "options"),
    [
        ("Is A. Smith here?", "Is A. Smith here?", []),
        ("A. one is not enough", "A. one is not enough", []),
        ("Which?\n(A) x\n(B) y", "Which?", ["x", "y"]),
        ("Which?\nB. x\nC. y", "Which?\nB. x\nC. y", []),
    ],
)
def test_what_is_an_option(text, question, options):
    assert split_question(text) == (question, options)
