"""ReForm-Eval's sets: the table of all of them, and files of every shape that theirs have."""

import base64
import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.models.pins.loopback_hub import Handler, Repo, serving
from tests.prompts.rows import template_of
from vouch.datasets.fetch.origin import REMOTE
from vouch.datasets.loaders.reform import sets
from vouch.datasets.raw import Unusable
from vouch.datasets.read.images import with_boxes
from vouch.pipeline.errors import UserError

ROOT = Path(__file__).parents[3]
DATA = "huggingface_data"


def picture(shade: int = 0, size: tuple[int, int] = (30, 20)) -> str:
    """An image as the files hold it."""
    data = io.BytesIO()
    Image.new("RGB", size, (shade, shade, shade)).save(data, "PNG")
    return base64.b64encode(data.getvalue()).decode()


def put(project, name: str, content: Any) -> None:
    path = project.source / DATA / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def items(project, chosen: str, **settings: Any) -> list[dict[str, Any]]:
    """What `prepare` makes of a set, however few rows it has."""
    tables = project.prepare("reform", set=chosen, **{"expect": None, **settings})
    return tables["items"].to_pylist()


# ---- the table ---------------------------------------------------------------------------------------


def test_all_61_sets_are_there() -> None:
    table = sets()
    assert len(table) == 61 and len({(one.file, one.shape) for one in table.values()}) == 61
    assert all(name.isidentifier() and name == name.lower() for name in table)
    assert all(count <= max(one.full) for one in table.values() for count in one.sample)


# Tables 5 and 6 of the paper, in the order of our table; COCO counting is their last set of fine perception.
SIZES = {
    "coarse_perception": (818, 10000, 50000, 3669, 4049, 2167, 8696, 21320, 15688),
    "fine_perception": (3600, 3600, 2479, 38267, 171, 9247, 29122, 41991, 513, 34540),
    "scene_text": (288, 1811, 3000, 9896, 1511, 3000, 849, 3000, 3000, 588, 6321, 1388, 4508, 5312, 3944),
    "spatial": (6900, 1811, 4735),
    "visual_reasoning": (21441, 12578, 3362, 5045, 2017, 4319, 1257, 1245, 1145, 1145, 1145, 4076),
    "cross_modal": (25014, 25014, 32194, 800, 17901, 3385),
    "description": (5000, 3166, 4500, 1000),
    "dialogue": (1073, 2064),
}


def test_sizes_are_those_of_tables_5_and_6() -> None:
    found: dict[str, list[int]] = {}
    for one in sets().values():
        found.setdefault(one.dimension, []).append(max(one.full))
    assert {name: tuple(counts) for name, counts in found.items()} == SIZES


def test_parts_are_tenths_that_the_printed_accuracies_fit() -> None:
    """Five tests of n questions: an accuracy is a multiple of 1 / 5n. At most four of 32 printed ones are not."""
    with (ROOT / "docs/published/reform_tables.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    checked = 0
    for one in sets().values():
        printed = [float(row["accuracy"]) for row in rows if row["dataset"] == one.name and row["accuracy"]]
        for count in one.sample if one.metric == "choice" and "tdiuc" not in one.name else ():
            if 5 * count > 4000:  # every second of two decimals is a multiple
                continue
            steps = [value * 5 * count / 100 for value in printed]
            off = sum(abs(step - round(step)) > 0.00025 * count + 1e-6 for step in steps)
            assert off <= len(printed) / 7, (one.name, off)
            checked += 1
    assert checked >= 25
    tenths = [one.name for one in sets().values() if {each // 10 for each in one.full} & {*one.sample}]
    assert len(tenths) == 37 and sum(bool(one.sample) for one in sets().values()) == 53


def test_counts_add_up() -> None:
    """Of the paper's tables of data statistics; VSR with the 1,811 printed there, not the probable 1,181."""
    sums, number = Counter[str](), Counter(one.dimension for one in sets().values())
    for one in sets().values():
        sums[one.dimension] += max(one.full)
    assert {name: (number[name], sums[name]) for name in sums} == {
        "coarse_perception": (9, 116_407),
        "fine_perception": (10, 163_530),
        "scene_text": (15, 48_416),
        "spatial": (3, 13_446),
        "visual_reasoning": (12, 58_775),
        "cross_modal": (6, 104_308),
        "description": (4, 13_666),
        "dialogue": (2, 3_137),
    }


def test_every_family_has_its_template(monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    for one in sets().values():
        assert template_of(f"reform_{one.family}").response in ("The answer is", None)


def test_every_set_is_found_by_its_name(project) -> None:
    """An empty folder: the message names the file that is missing."""
    for name in sets():
        with pytest.raises(UserError, match=r"toy: no file .*\.json in it; correct datasets\.toy\.source"):
            items(project, name)
    with pytest.raises(UserError, match=r"unknown set science_qa; did you mean scienceqa\?"):
        items(project, "science_qa")


def test_every_set_is_listed() -> None:
    page = (ROOT / "docs/reform-eval.md").read_text("utf-8")
    for one in sets().values():
        full = " or ".join(f"{count:,}" for count in one.full)
        part = " or ".join(f"{count:,}" for count in one.sample) or "?"
        dimension = one.dimension.replace("_", " ")
        assert f"| `{one.name}` | {dimension} | `{one.family}` | {full} | {part} | {one.metric} |" in page


# ---- shapes ------------------------------------------------------------------------------------------


def record(rows: list[Any], version: str = "1.0", split: str = "val", **more: Any) -> dict[str, Any]:
    return {"version": version, "split": split, "data": rows, **more}


def shown(name: str, **row: Any) -> dict[str, Any]:
    """A file of the cross-modal sets."""
    return {"dataset_name": name, "data": [{"img": picture(), **row}]}


FLOWER = {"id": 7, "image": picture(), "question": "What?", "options": ["rose", "lily"], "answer": 1}
RECORD = {
    "question_id": 1,
    "image": picture(),
    "question": "How many?",
    "answer_options": ["1", "2"],
    "answer": 0,
}
SIDES = {**RECORD, "answer_options": ["It is left", "It is right."], "answer": 1}
VQA = {
    "question_id": "q9",
    "image_id": picture(),
    "question": "Why?",
    "answer_options": ["a", "b"],
    "answer": "b",
}
RATIONALES = {**VQA, "answer": "a kite", "rationale": "y", "rationale_options": ["x", "y", "z"]}
MOCHEG = {**VQA, "claim": " It is. ", "text_evidence": "t\n", "instance_id": 3}
CLAIM = "What is the truthfulness of this claim? Claim: It is."
REGION = {"id": "r1", "img": picture(), "region": [[1, 2, 9, 9]], "options": ["a cup", "a cat"], "gt": 1}
TEXT = {"question_id": 1, "image": picture(), "question": ["a?", "b?"], "answer_txt": "STOP"}
DATES = {**TEXT, "question": "Date?", "answer_txt": ["1 May", "5/1"]}
PAGE = {"question_id": 1, "image_id": picture(), "question": "Which?", "answer": ["a b", "c"]}
GT_INFO = {"gt_info": {"0": "entailment", "1": "neutral", "2": "contradiction"}}
CLEVR = record([RECORD] * 2, "2.0", "val", instructs=[f"Do {number}." for number in range(7)])
COCO = "MSCOCO/image-text-"
BARE = "COCO_Text/cocotext_core_open_ended"  # without its ending
AOKVQA, WIKIHOW = "A-OKVQA/aokvqa_val_10p.json", "WikiHow/wikihow-image-text-selection-in-method-sampled.json"

# set, its file, what it holds, further settings, and fields of each item
READ: list[tuple[str, str, Any, dict[str, Any], list[dict[str, Any]]]] = [
    ("flowers102", "Flowers102/flower102_val_1p.json", [FLOWER, {**FLOWER, "answer": "0"}], {}, [
        {"id": "toy-000000", "question": "What?", "options": ["rose", "lily"], "answers": [1], "source_id": "7"},
        {"id": "toy-000001", "answers": [0], "category": "coarse_perception"},
    ]),
    ("a_okvqa", AOKVQA, record([VQA]), {}, [
        {"question": "Why?", "options": ["a", "b"], "answers": [1], "hint": None, "source_id": "q9"}
    ]),
    ("vsr", "VSR/vsr_core_multiple_choice.json", record([{**SIDES, "question": ["a?", "b?"]}] * 3, "2.0", "test"), {}, [
        {"question": "a?", "phrasings": ["a?", "b?"], "options": ["It is left.", "It is right."], "answers": [1]},
        {"question": "b?"},
        {"question": "a?"},
    ]),
    ("mp3d", "MP3D/mp3d_core_multiple_choice.json", record([{**SIDES, "questions": ["c?"]}], "2.0", "test"), {}, [
        {"question": "c?", "phrasings": [], "options": ["It is left", "It is right."]}
    ]),
    ("clevr", "CLEVR/clevr_core_multiple_choice.json", CLEVR, {}, [
        {"question": "Do 0. How many?", "phrasings": [f"Do {number}. How many?" for number in range(5)]},
        {"question": "Do 1. How many?", "answers": [0]},
    ]),
    ("k_viquae", "K-ViQuAE/kviquae_test_10p.json", record([{**VQA, "context": " c \n"}], "2.0", "test"), {}, [
        {"question": "Why?", "hint": "c", "answers": [1]}
    ]),
    ("a_okvqra", "A-OKVQRA/aokvqra_val_10p.json", record([{**VQA, "rationale": "r"}]), {}, [
        {"question": "Why?", "hint": "r", "answers": [1]}
    ]),
    ("a_okvqar", "A-OKVQAR/aokvqar_val_10p.json", record([RATIONALES]), {}, [
        {"question": "Why?", "hint": "a kite", "options": ["x", "y", "z"], "answers": [1]}
    ]),
    ("mocheg", "MOCHEG/mocheg_test_10p.json", record([MOCHEG], "1.0", "test"), {}, [
        {"question": CLAIM, "hint": "t", "options": ["a", "b"], "answers": [1]}
    ]),
    ("coco_itm", f"{COCO}matching-object-sampled.json", shown("MSCOCO", anno="a cat", gt=1), {}, [
        {"hint": "a cat", "options": ["no", "yes"], "answers": [1]}
    ]),
    ("coco_its", f"{COCO}selection-object-sampled.json", shown("MSCOCO", anno=["a", "b", "c"], gt=2), {}, [
        {"hint": None, "options": ["a", "b", "c"], "answers": [2]}
    ]),
    ("wikihow", WIKIHOW, shown("WikiHow", method="Fly", title="t", options=["a", "b"], gt="0"), {}, [
        {"hint": "Fly", "options": ["a", "b"], "answers": [0]}
    ]),
    ("snli_ve", "SNLI_VE/visual-entailment-matching-sampled.json",
     shown("SNLI_VE", anno="It rains.", gt=2) | GT_INFO, {}, [
        {"hint": "It rains.", "options": ["yes", "not sure", "no"], "answers": [2]}
    ]),
    ("medic", "MEDIC/disaster-type-selection-sampled.json", shown("MEDIC", options=["fire", "flood"], gt=1), {}, [
        {"hint": None, "options": ["fire", "flood"], "answers": [1]}
    ]),
    ("refcoco", "RefCOCO/referring-expression-selection-sampled.json", shown("RefCOCO", **REGION), {}, [
        {"hint": None, "options": ["a cup", "a cat"], "answers": [1], "source_id": "r1"}
    ]),
    ("nocaps", "NoCaps/captions-sampled.json", shown("nocaps", annos=["x", "y"]), {}, [
        {"hint": None, "options": [], "answers": [], "references": ["x", "y"], "kind": "text"}
    ]),
    ("cute80", "CUTE80/cute80_core_open_ended.json", record([TEXT, TEXT], "2.0", "test"), {}, [
        {"question": "a?", "references": ["STOP"], "kind": "text"}, {"question": "b?"},
    ]),
    ("cute80", "mine.json", record([TEXT], "2.0", "test"), {"file": "mine.json"}, [{"question": "a?"}]),
    ("coco_text", BARE, record([TEXT], "2.0", "test"), {"file": BARE}, [{"question": "a?"}]),
    ("funsd", "FUNSD/funsd_core_open_ended.json", record([DATES], "2.0", "test"), {}, [
        {"question": "Date?", "references": ["1 May", "5/1"]}
    ]),
    ("docvqa", "DocVQA/docvqa_val_10p.json", record([PAGE, {**PAGE, "answer": "d"}]), {}, [
        {"references": ["a b c"]}, {"references": ["d"]},
    ]),
    ("docvqa", "DocVQA/docvqa_val_10p.json", record([PAGE]), {"join_answers": False}, [{"references": ["a b", "c"]}]),
]  # fmt: skip


@pytest.mark.parametrize(("chosen", "file", "content", "settings", "expected"), READ)
def test_rows_become_items(project, chosen, file, content, settings, expected) -> None:
    put(project, file, content)
    found = items(project, chosen, **settings)
    named = [{key: one[key] for key in fields} for one, fields in zip(found, expected, strict=True)]
    assert named == expected
    assert all(one["question"] and len(one["images"]) == 1 for one in found)


BOXES = {**RECORD, "bbox": [[2, 3, 10.9, 8], [15, 5, 8, 6]]}
BOXED = "MSCOCO/mos_core_multiple_choice.json"
VISDIAL = "VisDial/Visdial_1.0_val_v1.2.json"
LISTS = {"questions": ["q"], "answers": ["a", "b"], "dialogs": [{"image": picture(), "dialog": 5}]}


@pytest.mark.parametrize(
    ("chosen", "file", "content", "reason"),
    [
        ("a_okvqa", AOKVQA, record([VQA], "2.0"), r"version is '2\.0', expected '1\.0'; fetch the right file"),
        ("a_okvqa", AOKVQA, record([VQA], split="test"), "split is 'test', expected 'val'"),
        ("a_okvqa", AOKVQA, record([{**VQA, "image_id": 12}]), "image_id is a int, not an image"),
        ("a_okvqa", AOKVQA, record([{**VQA, "image_id": "?"}]), "image_id is not base64"),
        ("a_okvqa", AOKVQA, record([{**VQA, "image_id": None}]), "image_id has 0 images, not one"),
        ("a_okvqa", AOKVQA, record([{**VQA, "question": None}]), "question is missing"),
        ("a_okvqa", AOKVQA, record(["x"]), "row 0: question is missing"),
        ("a_okvqa", AOKVQA, record([{**VQA, "answer_options": "a"}]), "answer_options"),
        ("a_okvqa", AOKVQA, record([{**VQA, "answer": "c"}]), "answer 'c' is not one of its options"),
        ("coco_mos", BOXED, record([{**BOXES, "bbox": BOXES["bbox"] * 3}], "2.0", "val2017"),
         "has 6 boxes, but at most 4 can be drawn"),
        ("visdial", VISDIAL, record(LISTS, "lvlm_1.2", "val2018"), "dialog is not a list of rounds"),
        ("visdial", VISDIAL, record({**LISTS, "answers": ["a", None]}, "lvlm_1.2", "val2018"), "not every question and answer is a text"),
    ],
)  # fmt: skip
def test_wrong_files(project, chosen: str, file: str, content: Any, reason: str) -> None:
    put(project, file, content)
    with pytest.raises(UserError, match=reason):
        items(project, chosen)
    assert not project.written()


def test_boxes_are_drawn(project) -> None:
    put(project, BOXED, record([BOXES], "2.0", "val2017"))
    (stored,) = project.prepare("reform", set="coco_mos", expect=None)["images"].to_pylist()
    with Image.open(io.BytesIO(stored["bytes"])) as image:
        assert set(image.convert("RGB").get_flattened_data()) == {(0, 0, 0), (255, 0, 0), (0, 128, 0)}


# The authors' code of each set: the column of its boxes, the thickness, and what the last two numbers are.
DRAWN = {
    "coco_goi": ("bbox", 3, "size"),
    "coco_mos": ("bbox", 3, "size"),
    "refcoco": ("region", 2, "corners"),
    "grounded_ic15": ("bbox", 2, "corners"),
    "grounded_coco_text": ("bbox", 5, "size"),
    "grounded_textocr": ("bbox", 2, "size"),
}


def test_boxes_of_every_set_stand_where_its_file_says(project) -> None:
    assert {one.name for one in sets().values() if one.box} == set(DRAWN)
    for name, (column, thickness, form) in DRAWN.items():
        one = sets()[name]
        row = {
            **(REGION if column == "region" else TEXT if one.metric == "ocr" else RECORD),
            column: [5, 4, 12, 9],
        }
        put(project, one.file, record([row], one.version, one.split, dataset_name=one.dataset_name))
        (stored,) = project.prepare("reform", set=name, expect=None)["images"].to_pylist()
        with Image.open(io.BytesIO(stored["bytes"])) as image:
            pixels = image.convert("RGB")
        red = [(x, y) for y in range(20) for x in range(30) if pixels.getpixel((x, y)) == (255, 0, 0)]
        far, out = ((12, 9) if form == "corners" else (17, 13)), thickness // 2
        assert (min(red), max(red)) == ((5 - out, 4 - out), (far[0] + out, far[1] + out)), name
        assert sum(y == 8 for _, y in red) == 2 * thickness, name


NO_PLACES = [
    *([0, 0, float("nan"), 1], [float("inf")] * 4, [0, 0, 10**400, 1], [0, 0, "1", 1], [0, 0]),
    *([1e30, 1e30, 1e31, 1e31], [0, 0, 2**31, 2**31], [True, 0, True, 1], b"abcd"),
]


def test_where_a_box_is() -> None:
    data = base64.b64decode(picture())
    with Image.open(io.BytesIO(with_boxes(data, [[5, 4, 8, 6]], 3, "size"))) as image:
        red = [point for point in ((x, y) for y in range(20) for x in range(30)) if image.getpixel(point)[0]]
    assert (min(red), max(red)) == ((4, 3), (14, 11)) and (5, 4) in red and (13, 10) in red
    assert (9, 7) not in red  # its middle
    assert with_boxes(data, [[5, 4, 13, 10]], 3, "corners") == with_boxes(data, [[5, 4, 8, 6]], 3, "size")
    with_boxes(data, [[-100_000, 0, 100_000, 9]], 3, "corners")  # beyond the edges
    for box in NO_PLACES:
        with pytest.raises(Unusable, match="is not four numbers of pixels"):
            with_boxes(data, [box], 3, "corners")


def test_no_box_is_drawn_into_what_is_no_image_of_ours() -> None:
    """Pillow would run Ghostscript on PostScript."""
    with pytest.raises(Unusable, match="not an image in any of the formats"):
        with_boxes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", [[1, 2, 3, 4]], 2, "corners")


def dialogue(project, **round_: Any) -> None:
    first = {"question": 0, "answer": 3, "answer_options": [1, 3]}
    second = {"question": 1, "answer": 0, "answer_options": [0, 2, 1], **round_}
    data = {
        "questions": ["is it a Cat", "what colour?"],
        "answers": ["red", "no", "blue", "yes it is"],
        "dialogs": [{"image_id": 5, "image": picture(), "dialog": [first, second]}] * 2,
    }
    put(project, "VisDial/Visdial_1.0_val_v1.2.json", record(data, "lvlm_1.2", "val2018"))


def test_dialogues(project) -> None:
    dialogue(project)
    found = items(project, "visdial")
    assert [(one["id"], one["turns"]) for one in found[:3]] == [
        ("toy-00000-00", []),
        ("toy-00000-01", ["toy-00000-00"]),
        ("toy-00001-00", []),
    ]
    assert [one["question"] for one in found[:2]] == ["Is it a cat?", "What colour?"]
    assert [(one["options"], one["answers"]) for one in found[:2]] == [
        (["No", "Yes it is"], [1]),
        (["Red", "Blue", "No"], [0]),
    ]
    assert len({one["group"] for one in found}) == 2
    plain = items(project, "visdial", capitalize=False)
    assert (plain[0]["question"], plain[0]["options"]) == ("is it a Cat?", ["no", "yes it is"])


@pytest.mark.parametrize("round_", [
    {"question": 9}, {"answer": 3}, {"answer_options": [0, -1]}, {"answer": None}, {"answer": 1.7}, {"answer": True},
    {"answer_options": 5},
])  # fmt: skip
def test_rounds_that_point_nowhere(project, round_: dict[str, Any]) -> None:
    dialogue(project, **round_)
    with pytest.raises(UserError, match=r"dialog 0 round 1: question"):
        items(project, "visdial")
    assert len(items(project, "visdial", on_error="skip")) == 2


# ---- wrong options that are drawn --------------------------------------------------------------------


def tdiuc(project, numbers: range, kind: str = "utility_affordance") -> None:
    questions = [{"question_id": n, "image_id": picture(n % 9), "question": f"What {n}?"} for n in numbers]
    answers = [
        {"question_id": n, "question_type": kind, "ans_source": "x", "answers": [{"answer": f"a{n % 7}"}]}
        for n in numbers
    ]
    other = [{"question_id": 9999, "question_type": "absurd", "answers": []}]
    put(project, "TDIUC/TDIUC_val_ques.json", {"questions": questions[::-1]})
    put(project, "TDIUC/TDIUC_val_anns.json", {"annotations": answers + other})
    put(project, f"TDIUC/choice_list/{kind}.json", [{"choice": f"a{n}"} for n in range(7)])


def test_tdiuc(project) -> None:
    tdiuc(project, range(20))
    found = items(project, "tdiuc_utility")
    assert [one["question"] for one in found] == [f"What {n}?" for n in range(20)]
    for one in found:
        assert one["answers"] == [3] and len(set(one["options"])) == 4
        assert one["options"][3] == f"a{int(one['source_id']) % 7}"
    assert len({tuple(one["options"][:3]) for one in found}) > 10
    assert items(project, "tdiuc_utility") == found
    again = items(project, "tdiuc_utility", seed=1)
    assert again != found and [one["options"][3] for one in again] == [one["options"][3] for one in found]


def test_a_full_set_of_tdiuc_is_thinned_out_for_the_sample(project, monkeypatch) -> None:
    tdiuc(project, range(171))  # of utility the authors take all
    assert len(items(project, "tdiuc_utility", expect={})) == 171
    tdiuc(project, range(90), "positional_reasoning")
    with pytest.raises(UserError, match=r"items: 232 expected, 90 found"):
        items(project, "tdiuc_position", expect={})


def test_yes_and_no(project) -> None:
    tdiuc(project, range(3))
    put(project, "TDIUC/TDIUC_val_anns.json", [
        {"question_id": 0, "question_type": "utility_affordance", "answers": [{"answer": "no"}]}
    ])  # fmt: skip
    (item,) = items(project, "tdiuc_utility")
    assert (item["options"], item["answers"]) == (["yes", "no"], [1])


def test_coco_counting(project) -> None:
    rows = [{"Image_ID": 3, "image": picture(), "Question": "How many?", "Answer": 2}]
    put(project, "MSCOCO/object-counting-all.json", rows)
    put(project, "MSCOCO/objectCounting_answer_list/answer_list.json", {"choice": [1, 2, 3, 4, 5]})
    (item,) = items(project, "coco_counting")
    assert item["options"][3] == "2" and set(item["options"]) <= {"1", "2", "3", "4", "5"}
    put(project, "MSCOCO/objectCounting_answer_list/answer_list.json", [1, 2, 3])
    with pytest.raises(UserError, match="its pool has 2 other answers, fewer than the 3 to draw"):
        items(project, "coco_counting")


# ---- counts and sources -------------------------------------------------------------------------------


def test_counts_that_are_known_are_checked(project) -> None:
    row = {**VQA, "question": "Which description matches this image?"}
    file = "Winoground/winoground_all_10p.json"
    put(project, file, record([row] * 80, "1.0", "test"))
    assert len(items(project, "winoground", expect={})) == 80
    with pytest.raises(UserError, match="items: 800 expected, 80 found"):
        items(project, "winoground", expect={}, sample="full")
    put(project, file, record([row] * 79, "1.0", "test"))
    with pytest.raises(UserError, match="items: 80 expected, 79 found"):
        items(project, "winoground", expect={})
    put(project, "VQA_v2/vqa_val_10p.json", record([], "2.0", "COCO_val2014"))
    with pytest.raises(UserError, match=r"is not known here; write settings\.expect"):
        items(project, "vqa_v2", expect={})


def test_from_the_hub(project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real client and a small hub on the loopback address."""
    commit, repo = "0" * 40, "Aweminus/ReForm-Eval-Data"
    files = {
        f"{DATA}/A-OKVQA/aokvqa_val_10p.json": json.dumps(record([VQA])).encode(),
        f"{DATA}/VQA_v2/vqa_val_10p.json": b"not asked for",
    }
    with serving({repo: Repo({commit: files}, {"main": commit})}, tmp_path / "cache", monkeypatch):
        project.entry = {"origin": {"hub": repo, "revision": commit, "files": [f"{DATA}/A-OKVQA/*"]}}
        tables = project.prepare("reform", REMOTE, set="a_okvqa", expect=None)
    assert tables["items"].column("question").to_pylist() == ["Why?"]
    assert f"{DATA}/VQA_v2/vqa_val_10p.json" not in Handler.served
