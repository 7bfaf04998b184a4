"""Published sets in parquet and TSV: real column types, filters, hidden answers, and what cannot be an item."""

import json
from hashlib import sha256

import pyarrow as pa
import pytest

from tests.datasets.loaders.built import IMAGE, TEXTS, cell, coded, parquet, png, schema, tsv
from tests.models.project import ROOT
from vouch.datasets.loaders.realworldqa import split_question
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load

MAPPED = {
    name: entry["settings"]
    for name, entry in load(ROOT / "profiles/tu.yaml")["datasets"].items()
    if entry["loader"] == "table"
}
"""Datasets that are maps of the loader `table`."""

IMAGES = {f"image_{number}": IMAGE for number in range(1, 8)}
TYPES = {
    "chartqa": schema("type question answer", image=IMAGE),
    "docvqa": schema("questionId question data_split", question_types=TEXTS, image=IMAGE, answers=TEXTS),
    "mathvision": schema(
        "id question image answer solution subject", options=TEXTS, decoded_image=IMAGE, level=pa.int64()
    ),
    "mmmu": schema(
        "id question options explanation img_type answer topic_difficulty question_type subfield", **IMAGES
    ),
    "mmmu_pro": schema("id question options explanation img_type answer subject", **IMAGES),
    "ocrvqa": schema("image_id title genre", image=IMAGE, questions=TEXTS, answers=TEXTS),
    "realworldqa": schema("question answer", image=IMAGE),
    "scienceqa": schema("question hint task subject topic", image=IMAGE, choices=TEXTS, answer=pa.int8()),
    "textvqa": schema(
        "image_id question", question_id=pa.int32(), image=IMAGE, answers=TEXTS, question_tokens=TEXTS
    ),
}
VISION = schema("id options answer subject", image=IMAGE)


def read(project, loader, *rows, types=None, split="test", **settings):
    """The items of one table."""
    path = project.source / f"data/{split}-00000-of-00001.parquet"
    parquet(path, types or TYPES[loader], *rows)
    settings = {**MAPPED.get(loader, {}), "expect": None, **settings}
    loader = "table" if loader in MAPPED else loader
    return project.prepare(loader, **settings)["items"].to_pylist()


def science(**changes):
    base = {"question": "Which?", "choices": ["a", "b"], "answer": 1, "hint": "", "task": "closed choice"}
    return {**base, "subject": "natural science", "image": cell(), **changes}


def exam(name="validation_Art_Theory_3", **changes):
    base = {"id": name, "question": "<image 1> Which?", "options": "['a', \"b's\", 'c']", "answer": "B"}
    return {**base, "question_type": "multiple-choice", "image_1": cell(1), **changes}


def pro(name, **changes):
    return {key: value for key, value in exam(name, **changes).items() if key != "question_type"}


def problem(name, options, answer):
    return {"id": name, "question": "Which?", "options": options, "answer": answer, "decoded_image": cell()}


SCIENCE = (science(), science(image=None), science(task="yes or no", hint="Read."))
EXAMS = (
    exam(),
    exam("validation_Music_1", options="[]", answer="5.5", question_type="open"),
    exam("validation_Music_2", options="[]", answer="['5', 'five']", question_type="open"),
    exam("validation_Art_4", options=repr(list("abcdefg")), answer="G"),
    exam("validation_Art_5", options="['<image 1>', '<image 2>']", image_2=cell(2)),
    exam("validation_Law_6", options="['<image 1>', '<image 1>', 'c', 'd', 'e']", answer="E"),
)
LAW = {"category": "Law", "answers": [4]}  # five options, one image that is named twice
TEN = pro("test_Art_1", options=repr(list("abcdefghij")), answer="J")
SEVERAL = pro("test_Art_3", options=repr(["<image 2>", *"bcdefghij"]), image_2=cell(2))
PROBLEMS = (problem("1", [], "12"), problem("2", list("ABCDE"), "E"))
BRANDS = ["nokia"] * 7 + ["Nokia", "toshiba", "nokia"]
BRAND = {"question_id": 34602, "question": "What brand?", "answers": BRANDS, "image": cell()}
PAGE = {"questionId": "49153", "question": "What year?", "question_types": ["table/list", "form"]}
PAGE |= {"image": cell(), "answers": ["1988", "in 1988"]}
COVER = {"image": cell(), "image_id": "0735", "questions": ["Who?", "Kind?"], "answers": ["X", "Y"]}
COVER |= {"genre": "Travel"}
ASK = "In which direction?\n\nA. Left.\nB. Right.\nC. Straight.\nPlease answer directly with only the letter."
SIGN = {"image": cell(), "question": ASK, "answer": "B"}
NUMBER = {
    "image": cell(),
    "question": "How many?\nPlease answer directly with a single number.",
    "answer": "3",
}
CHART = {"type": "human_test", "question": "How many?", "image": cell()}

# loader, its rows, further settings, and fields of each item
READ = [
    ("scienceqa", SCIENCE, {}, [{"id": "0", "hint": ""}, {"id": "2", "hint": "Read.", "answers": [1]}]),
    ("scienceqa", SCIENCE, {"images": False}, [{"id": "0"}, {"id": "1", "images": []}, {"id": "2"}]),
    (
        "scienceqa", SCIENCE, {"tasks": ["closed choice"]},
        [{"category": "natural science", "options": ["a", "b"], "answers": [1]}],
    ),
    (
        "mmmu", EXAMS, {},
        [
            {"category": "Art_Theory", "options": ["a", "b's", "c"], "answers": [1]},
            {"category": "Music", "references": ["5.5"], "kind": "text", "options": []},
            {"category": "Music", "references": ["5", "five"], "kind": "text"},
            {"category": "Art", "answers": [6], "kind": "choice"},
            {"options": ["<image 1>", "<image 2>"], "images": [sha256(png(n)).hexdigest() for n in (1, 2)]},
            LAW,
        ],
    ),
    (
        "mmmu", EXAMS, {"open": "other"},
        [{}, {"options": ["5.5", "Other Answers"], "answers": [0], "kind": "choice"}, {"kind": "choice"}, {}, {}, {}],
    ),
    ("mmmu", EXAMS, {"open": "leave_out"}, [{"answers": [1]}, {"answers": [6]}, {"answers": [1]}, {"answers": [4]}]),
    ("mmmu", EXAMS, {"open": "leave_out", "max_options": 5}, [{"answers": [1]}, {"category": "Art"}, LAW]),
    ("mmmu", EXAMS, {"open": "leave_out", "max_options": 5, "images": "one"}, [{"category": "Art_Theory"}, LAW]),
    ("mmmu_pro", (TEN, pro("test_Art_2")), {}, [{"answers": [9]}, {"id": "test_Art_2", "answers": [1]}]),
    ("mmmu_pro", (TEN, pro("test_Art_2")), {"options": 10}, [{"id": "test_Art_1", "answers": [9]}]),
    ("mmmu_pro", (TEN, SEVERAL), {"options": 10}, [{"id": "test_Art_1"}, {"id": "test_Art_3"}]),
    ("mmmu_pro", (TEN, SEVERAL), {"options": 10, "images": "one"}, [{"id": "test_Art_1"}]),
    (
        "mmmu_pro", ({"id": "v1", "options": "['a', 'b']", "answer": "A", "image": cell()},), {"types": VISION},
        [{"question": "Answer the question in the picture.", "answers": [0]}],
    ),
    (
        "mathvision", PROBLEMS, {},
        [{"kind": "text", "references": ["12"], "answers": []}, {"kind": "choice", "references": [], "answers": [4]}],
    ),
    ("mathvision", PROBLEMS, {"open": "leave_out"}, [{"id": "2"}]),
    (
        "realworldqa", (SIGN, NUMBER), {},
        [
            {"question": "In which direction?", "options": ["Left.", "Right.", "Straight."], "answers": [1]},
            {"kind": "text", "question": "How many?", "references": ["3"]},
        ],
    ),
    (
        "chartqa", ({**CHART, "answer": "14"},), {},
        [{"references": ["14"], "category": "human_test", "kind": "text"}],
    ),
    (
        "chartqa", ({**CHART, "answer": ["14"]},), {"types": {**TYPES["chartqa"], "answer": TEXTS}},
        [{"references": ["14"]}],
    ),
    ("textvqa", (BRAND,), {}, [{"id": "34602", "references": BRANDS, "options": [], "kind": "text"}]),
    (
        "docvqa", (PAGE,), {},
        [{"id": "49153", "references": ["1988", "in 1988"], "category": "form, table/list", "kind": "text"}],
    ),
    (
        "ocrvqa", (COVER, {**COVER, "image_id": "9", "image": cell(4)}), {},
        [
            {"id": "0735-1", "group": "0735", "references": ["X"], "category": "Travel"},
            {"id": "0735-2", "group": "0735", "references": ["Y"], "kind": "text"},
            {"id": "9-1", "group": "9"},
            {"id": "9-2", "group": "9"},
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("loader", "rows", "settings", "expected"), READ)
def test_rows_become_items(project, loader, rows, settings, expected):
    items = read(project, loader, *rows, **settings)
    assert [
        {key: item[key] for key in fields} for item, fields in zip(items, expected, strict=True)
    ] == expected
    assert all(item["images"] or settings.get("images") is False for item in items)


@pytest.mark.parametrize(
    ("loader", "row", "words"),
    [
        ("mmmu", exam(answer="?"), "its answer is hidden; take another split"),
        ("mmmu", exam(answer="D"), "answer 'D' is not one of the letters"),
        ("mmmu", exam(options="__import__('os').getcwd()"), "is not a list written as text"),
        ("mmmu", exam(options="['a', 1]"), "options has a int among its texts"),
        ("mmmu", exam(image_1=None, image_2=cell()), "image_1 is missing, but a later one has an image"),
        ("mmmu", exam(image_1={"bytes": None, "path": "a.png"}), "file 'a.png', which is not in the table"),
        (
            "textvqa",
            {**BRAND, "answers": [""] * 10},
            "answers is empty; if its answers are hidden, take another",
        ),
        ("docvqa", {**PAGE, "answers": None}, "its answers are hidden"),
        ("ocrvqa", {**COVER, "answers": ["X"]}, "has 2 questions, but 1 answers"),
    ],
)
def test_rows_that_are_refused(project, loader, row, words):
    with pytest.raises(UserError, match=words):
        read(project, loader, row)


def test_scienceqa_in_the_order_of_the_splits(project):
    for split in ("test", "validation"):
        path = project.source / f"data/{split}-00000-of-00001.parquet"
        parquet(path, TYPES["scienceqa"], science(question=split))
    project.entry = {"origin": {"hub": "derek-thomas/ScienceQA", "split": "validation+test"}}
    tables = project.prepare("scienceqa", expect={"items": 2}, tasks=["closed choice"])
    assert tables["items"].column("question").to_pylist() == ["validation", "test"]


def test_scienceqa_of_kostumov_et_al_is_closed_choice_with_an_image(project):
    """As their profile asks for it, which nothing else of a split belongs to."""
    profile = load(ROOT / "profiles/kostumov.yaml")["datasets"]["scienceqa"]
    project.entry = {"origin": {"hub": "derek-thomas/ScienceQA", "split": profile["origin"]["split"]}}
    kinds = ("closed choice", "yes or no", "true-or false")
    for split in ("test", "validation"):
        rows = [science(question=f"{split}, {task}", task=task) for task in kinds]
        rows.append(science(question="no image", image=None))
        parquet(project.source / f"data/{split}-00000-of-00001.parquet", TYPES["scienceqa"], *rows)
    tables = project.prepare("scienceqa", expect=None, **profile["settings"])
    assert tables["items"].column("question").to_pylist() == [
        "validation, closed choice",
        "test, closed choice",
    ]
    assert tables["rejects"].num_rows == 0


def science_row(line, picture):
    values = {key: line[key] for key in ("question", "answer", "hint")}
    return science(**values, choices=line["options"], image={"bytes": picture, "path": "image.png"})


def problem_row(line, picture):
    made = problem(line["orig_id"], line["options"], "ABCDE"[line["answer"]])
    more = {key: line[key] for key in ("question", "level")}
    return {**made, **more, "subject": line["category"], "decoded_image": {"bytes": picture, "path": None}}


@pytest.mark.parametrize(("loader", "make"), [("scienceqa", science_row), ("mathvision", problem_row)])
def test_real_rows(project, shared, loader, make):
    folder = shared(f"realdata/{loader}_test")
    lines = [json.loads(line) for line in (folder / "items.jsonl").read_text("utf-8").splitlines()][:60]
    items = read(project, loader, *(make(line, (folder / line["images"][0]).read_bytes()) for line in lines))
    for item, line in zip(items, lines, strict=True):
        assert all(item[key] == line[key] for key in ("question", "options"))
        assert item["answers"] == [line["answer"]]
        assert item["images"] == [line["image_info"][0]["sha256"]]
        assert item["hint"] == line["hint"] if loader == "scienceqa" else item["category"] == line["category"]


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


def test_worldmedqa_v(project):
    def row(**changes):
        base = {"index": 1, "image": coded(), "question": "Q", "A": "a", "B": "b", "C": "c", "D": "d"}
        return {**base, "answer": "", "correct_option": "C", "split": "test", **changes}

    tsv(project.source / "israel_local_processed.tsv", row(question="שאלה"), row(image=coded(9)))
    tsv(project.source / "israel_english_processed.tsv", row())
    items = project.prepare("worldmedqa_v", expect={"items": 3, "groups": 2})["items"].to_pylist()
    assert [item["id"] for item in items] == ["israel-english-1", "israel-local-1", "israel-local-2"]
    assert items[0]["group"] == items[1]["group"] != items[2]["group"] and items[1]["question"] == "שאלה"
    assert items[0]["category"] == "israel english" and items[0]["answers"] == [2]


def test_ocrvqa_of_the_core(project):
    """VLMEvalKit's file: a question a row, an answer that may be a list as text, images that rows share."""
    rows = [
        {"index": 7, "image": coded(1), "question": "Who?", "answer": "X", "category": "who"},
        {"index": 8, "image": "7", "question": "Kind?", "answer": "['Travel', 'Trips']", "category": "genre"},
        {"index": 9, "image": coded(2), "question": "Title?", "answer": "[Sic] Transit", "category": "title"},
    ]
    tsv(project.source / "OCRVQA_TESTCORE.tsv", *rows)
    items = project.prepare("ocrvqa", expect=None)["items"].to_pylist()
    assert [item["id"] for item in items] == ["7", "8", "9"]
    assert [item["references"] for item in items] == [["X"], ["Travel", "Trips"], ["[Sic] Transit"]]
    assert items[0]["group"] == items[1]["group"] != items[2]["group"]
    assert items[0]["images"] == items[1]["images"]
    with pytest.raises(UserError, match="items: 3,072 expected, 3 found"):
        project.prepare("ocrvqa")
    (project.source / "OCRVQA_TESTCORE.tsv").rename(project.source / "OCRVQA_TEST.tsv")
    with pytest.raises(UserError, match="the number of items of this source is not known"):
        project.prepare("ocrvqa")
