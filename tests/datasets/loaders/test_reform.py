"""ReForm-Eval's sets: the table of all of them, and files of every shape that theirs have."""

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.models.pins.loopback_hub import Handler, Repo, serving
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
CLEVR_ROWS = [RECORD, {**RECORD, "image": "CLEVR_val_000001.png", "img": picture()}]  # some name their image
CLEVR = record(CLEVR_ROWS, "2.0", "val", instructs=[f"Do {number}." for number in range(7)])
MP3D = {key: value for key, value in SIDES.items() if key != "question"} | {"questions": ["c?"]}
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
    ("mp3d", "MP3D/mp3d_core_multiple_choice.json", record([MP3D], "2.0", "test"), {}, [
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
    ("flickr30k", "Flickr30K/captions-sampled.json", shown("flickr30k", annos=["x"]), {}, [{"references": ["x"]}]),
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
LISTS = {"questions": ["q"], "answers": ["a", "b"], "dialogs": [{"image_base64": picture(), "dialog": 5}]}


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
        ("flickr30k", "Flickr30K/captions-sampled.json", shown("mscoco", annos=["x"]), "expected 'flickr30k'"),
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


def test_textocr_shows_the_text_alone(project) -> None:
    """The source has whole images with a box; its authors cut it out, and draw the box for the grounded task."""
    whole = Image.new("RGB", (30, 20))
    whole.putpixel((6, 5), (9, 9, 9))
    data = io.BytesIO()
    whole.save(data, "PNG")
    row = {**TEXT, "image": base64.b64encode(data.getvalue()).decode(), "bbox": [4.6, 3.2, 10.9, 8]}
    file = "TextOCR/textocr_core_open_ended.json"
    put(project, file, record([row], "2.0", "test"))
    (stored,) = project.prepare("reform", set="textocr", expect=None)["images"].to_pylist()
    with Image.open(io.BytesIO(stored["bytes"])) as image:
        assert (image.size, image.getpixel((2, 2))) == ((11, 8), (9, 9, 9))
    for box, reason in (([40, 3, 5, 5], "has no pixel of its image"), (None, "has no boxes")):
        put(project, file, record([{**row, "bbox": box}], "2.0", "test"))
        with pytest.raises(UserError, match=reason):
            items(project, "textocr")
    put(project, file, record([{**row, "bbox": [-3, 15, 100, 100]}], "2.0", "test"))
    (stored,) = project.prepare("reform", set="textocr", expect=None)["images"].to_pylist()
    with Image.open(io.BytesIO(stored["bytes"])) as image:
        assert image.size == (30, 5), "no further than the image"


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
    assert {one.name for one in sets().values() if one.box and one.box[0] != "crop"} == set(DRAWN)
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
        far, out = ((12, 9) if form == "corners" else (17, 13)), {2: 1, 3: 2, 5: 3}[thickness]
        assert (min(red), max(red)) == ((5 - out, 4), (far[0] + out, far[1])), name
        assert sum(y == (4 + far[1]) // 2 for _, y in red) == 2 * (2 * out + 1), name


# Above and left of a box from (5, 4) to (15, 14), as `rectangle` of OpenCV 4.5.5, 4.8.0 and 5.0.0 draws it.
OPENCV = {
    2: "........... ........... ........... .....###### ....####### ....####### ....###.... ....###....",
    3: "........... ........... .....###### ....####### ...######## ...######## ...######## ...#####...",
    5: "........... .....###### ...######## ...######## ..######### ..######### ..######### ..#########",
}


@pytest.mark.parametrize("thickness", OPENCV)
def test_lines_of_boxes_have_the_pixels_of_opencv(thickness: int) -> None:
    drawn = with_boxes(base64.b64decode(picture(size=(21, 19))), [[5, 4, 15, 14]], thickness, "corners")
    with Image.open(io.BytesIO(drawn)) as image:
        rows = ["".join(".#"[image.getpixel((x, y)) == (255, 0, 0)] for x in range(21)) for y in range(19)]
    assert [row[:11] for row in rows[:8]] == OPENCV[thickness].split()
    assert rows == rows[::-1] == [row[::-1] for row in rows], "alike on all sides"


NO_PLACES = [
    *([0, 0, float("nan"), 1], [float("inf")] * 4, [0, 0, 10**400, 1], [0, 0, "1", 1], [0, 0]),
    *([1e30, 1e30, 1e31, 1e31], [0, 0, 2**31, 2**31], [True, 0, True, 1], b"abcd"),
]


def test_where_a_box_is() -> None:
    data = base64.b64decode(picture())
    with Image.open(io.BytesIO(with_boxes(data, [[5, 4, 8, 6]], 3, "size"))) as image:
        red = [point for point in ((x, y) for y in range(20) for x in range(30)) if image.getpixel(point)[0]]
    assert (min(red), max(red)) == ((3, 4), (15, 10)) and (5, 4) in red and (13, 10) in red
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
        "dialogs": [{"image_id": 5, "image_base64": picture(), "dialog": [first, second]}] * 2,
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


def test_a_dialogue_is_read_at_a_time(project, monkeypatch) -> None:
    """VisDial's file is longer than any one value may be, and is one object under `data`."""
    dialogue(project)
    path = project.source / DATA / "VisDial/Visdial_1.0_val_v1.2.json"
    content = json.loads(path.read_text("utf-8"))
    data = content["data"]
    content["data"] = {
        "dialogs": data["dialogs"] * 20,
        **{key: data[key] for key in ("questions", "answers")},
    }
    path.write_text(json.dumps(content), "utf-8")
    monkeypatch.setattr("vouch.datasets.read.json_rows._CHUNK", 256)
    monkeypatch.setattr("vouch.datasets.read.json_rows._LONGEST", 1024)
    assert path.stat().st_size > 9 * 1024 and len(items(project, "visdial")) == 80
    for broken in ({**data, "dialogs": 5}, {**data, "answers": 5}, 5):
        path.write_text(json.dumps({**content, "data": broken}), "utf-8")
        with pytest.raises(UserError, match="has no lists dialogs, questions and answers"):
            items(project, "visdial")
    path.write_text(json.dumps({**content, "annotations": []}), "utf-8")
    with pytest.raises(UserError, match="has lists of rows under data and annotations"):
        items(project, "visdial")


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
    put(project, "TDIUC/TDIUC_val_ques.json", questions[::-1])
    put(project, "TDIUC/TDIUC_val_anns.json", answers + other)
    put(project, f"TDIUC/choice_list/{kind}.json", {"choice": [f"a{n}" for n in range(7)]})


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
    tdiuc(project, range(9247), "positional_reasoning")
    found = items(project, "tdiuc_position", expect={})
    assert [int(one["source_id"]) for one in found] == list(range(0, 9247, 40))


def test_yes_and_no(project) -> None:
    tdiuc(project, range(3))
    put(project, "TDIUC/TDIUC_val_anns.json", [
        {"question_id": 0, "question_type": "utility_affordance", "answers": [{"answer": "no"}]}
    ])  # fmt: skip
    (item,) = items(project, "tdiuc_utility")
    assert (item["options"], item["answers"]) == (["yes", "no"], [1])


def test_coco_counting(project) -> None:
    row = {"Image_ID": picture(), "Question": "How many cups?", "Answer": 2, "Resolved_COCO_category": "cup"}
    put(project, "MSCOCO/object-counting-all.json", [row])
    put(project, "MSCOCO/objectCounting_answer_list/answer_list.json", {"choice": [1, 2, 3, 4, 5]})
    (item,) = items(project, "coco_counting")
    assert item["options"][3] == "2" and set(item["options"]) <= {"1", "2", "3", "4", "5"}
    put(project, "MSCOCO/objectCounting_answer_list/answer_list.json", {"choice": [1, 2, 3]})
    with pytest.raises(UserError, match="its pool has 2 other answers, fewer than the 3 to draw"):
        items(project, "coco_counting")
    put(project, "MSCOCO/objectCounting_answer_list/answer_list.json", [{"choice": [1, 2, 3, 4]}])
    assert items(project, "coco_counting")[0]["options"][3] == "2", "the same to the authors' reader"
    for other in ([1, 2, 3, 4], [{"choice": 1}], {"choice": []}, {"choice": [None] * 4}):
        put(project, "MSCOCO/objectCounting_answer_list/answer_list.json", other)
        with pytest.raises(UserError, match=r"answer_list\.json: no list `choice` of answers"):
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
