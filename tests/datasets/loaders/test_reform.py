"""ReForm-Eval's sets: the table of all of them, and files of every shape that theirs have."""

import base64
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
from vouch.datasets.raw import Unusable
from vouch.datasets.read.boxes import with_boxes
from vouch.datasets.read.reform import sets
from vouch.pipeline.errors import UserError

ROOT = Path(__file__).parents[3]
DATA = "huggingface_data"


def picture(shade: int = 0, size: tuple[int, int] = (30, 20)) -> str:
    """A picture as the files hold it."""
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
    assert Counter(one.dimension for one in table.values()) == {
        "coarse_perception": 9,
        "fine_perception": 10,
        "scene_text": 15,
        "spatial": 3,
        "visual_reasoning": 12,
        "cross_modal": 6,
        "description": 4,
        "dialogue": 2,
    }
    assert all(name.isidentifier() and name == name.lower() for name in table)


def test_counts_add_up() -> None:
    """Of the paper's tables of data statistics; VSR with the 1,811 printed there, not the probable 1,181."""
    sums = Counter[str]()
    for one in sets().values():
        sums[one.dimension] += max(one.full)
    assert sums == {
        "coarse_perception": 116_407,
        "fine_perception": 163_530,
        "scene_text": 48_416,
        "spatial": 13_446,
        "visual_reasoning": 58_775,
        "cross_modal": 104_308,
        "description": 13_666,
        "dialogue": 3_137,
    }
    for one in sets().values():
        assert all(count <= max(one.full) for count in one.sample)
    assert sets()["scienceqa"].sample == (201,) and sets()["vsr"].full == (1811, 1181)


def test_every_family_has_its_template(monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    for one in sets().values():
        assert template_of(f"reform_{one.family}").response in ("The answer is", None)


@pytest.mark.parametrize("name", list(sets()))
def test_every_set_is_found_by_its_name(project, name: str) -> None:
    """An empty folder: the message names the file that is missing."""
    with pytest.raises(UserError, match=r"toy: no file .*\.json in it; correct datasets\.toy\.source"):
        items(project, name)


def test_unknown_names(project) -> None:
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


def test_plain_rows(project) -> None:
    row = {"id": 7, "image": picture(), "question": "What flower?", "options": ["rose", "lily"], "answer": 1}
    put(project, "Flowers102/flower102_val_1p.json", [row, {**row, "answer": "0"}])
    first, second = items(project, "flowers102")
    assert (first["question"], first["options"], first["answers"]) == ("What flower?", ["rose", "lily"], [1])
    assert (second["answers"], first["source_id"], first["category"]) == ([0], "7", "coarse_perception")
    assert [one["id"] for one in (first, second)] == ["toy-000000", "toy-000001"]


def record(rows: list[Any], version: str = "1.0", split: str = "val", **more: Any) -> dict[str, Any]:
    return {"version": version, "split": split, "data": rows, **more}


VQA = {
    "question_id": "q9",
    "image_id": picture(),
    "question": "Why?",
    "answer_options": ["a", "b"],
    "answer": "b",
}


def test_answers_that_are_texts(project) -> None:
    put(project, "A-OKVQA/aokvqa_val_10p.json", record([VQA]))
    (item,) = items(project, "a_okvqa")
    assert (item["answers"], item["hint"], item["source_id"]) == ([1], None, "q9")
    put(project, "A-OKVQA/aokvqa_val_10p.json", record([{**VQA, "answer": "c"}]))
    with pytest.raises(UserError, match="answer 'c' is none of its options"):
        items(project, "a_okvqa")


def test_lists_of_wordings(project) -> None:
    row = {
        "question_id": 1,
        "image": picture(),
        "answer_options": ["It is left", "It is right."],
        "answer": 1,
    }
    put(project, "VSR/vsr_core_multiple_choice.json",
        record([{**row, "question": ["a?", "b?"]}] * 3, "2.0", "test"))  # fmt: skip
    found = items(project, "vsr")
    assert [one["question"] for one in found] == ["a?", "b?", "a?"]
    assert found[0]["phrasings"] == ["a?", "b?"] and found[0]["options"] == ["It is left.", "It is right."]
    put(project, "MP3D/mp3d_core_multiple_choice.json", record([{**row, "questions": ["c?"]}], "2.0", "test"))
    (item,) = items(project, "mp3d")
    assert (item["question"], item["phrasings"], item["options"][0]) == ("c?", [], "It is left")


def test_instructions_of_clevr_stand_in_its_file(project) -> None:
    row = {
        "question_id": 1,
        "image": picture(),
        "question": "How many?",
        "answer_options": ["1", "2"],
        "answer": 0,
    }
    instructions = [f"Do {number}." for number in range(7)]
    put(
        project,
        "CLEVR/clevr_core_multiple_choice.json",
        record([row] * 2, "2.0", "val", instructs=instructions),
    )
    found = items(project, "clevr")
    assert [one["question"] for one in found] == ["Do 0. How many?", "Do 1. How many?"]
    assert found[0]["phrasings"] == [f"Do {number}. How many?" for number in range(5)]


def colours(data: bytes) -> dict[tuple[int, ...], int]:
    with Image.open(io.BytesIO(data)) as image:
        return dict(Counter(image.convert("RGB").get_flattened_data()))


def test_boxes_are_drawn(project) -> None:
    row = {"question_id": 1, "image": picture(), "question": "?", "answer_options": ["a", "b"], "answer": 0}
    boxes = [[2, 3, 10.9, 8], [15, 5, 8, 6]]
    put(project, "MSCOCO/mos_core_multiple_choice.json", record([{**row, "bbox": boxes}], "2.0", "val2017"))
    tables = project.prepare("reform", set="coco_mos", expect=None)
    found = colours(tables["images"].to_pylist()[0]["bytes"])
    assert set(found) == {(0, 0, 0), (255, 0, 0), (0, 128, 0)}
    put(
        project,
        "MSCOCO/mos_core_multiple_choice.json",
        record([{**row, "bbox": boxes * 3}], "2.0", "val2017"),
    )
    with pytest.raises(UserError, match="has 6 boxes, of which only 4 have colours"):
        items(project, "coco_mos")


def test_where_a_box_is() -> None:
    data = base64.b64decode(picture())
    with Image.open(io.BytesIO(with_boxes(data, [[5, 4, 8, 6]], 3, "size"))) as image:
        red = [point for point in ((x, y) for y in range(20) for x in range(30)) if image.getpixel(point)[0]]
    assert (min(red), max(red)) == ((4, 3), (14, 11)) and (5, 4) in red and (13, 10) in red
    assert (9, 7) not in red  # its middle
    assert with_boxes(data, [[5, 4, 13, 10]], 3, "corners") == with_boxes(data, [[5, 4, 8, 6]], 3, "size")
    with_boxes(data, [[-100_000, 0, 100_000, 9]], 3, "corners")  # beyond the edges
    for box in ([0, 0, float("nan"), 1], [0, 0, float("inf"), 1], [0, 0, 10**400, 1], [0, 0, "1", 1], [0, 0]):
        with pytest.raises(Unusable, match="is not four numbers of pixels"):
            with_boxes(data, [box], 3, "corners")


REGION = {"id": "r1", "img": picture(), "region": [[1, 2, 9, 9]], "options": ["a cup", "a cat"], "gt": 1}
COCO = "MSCOCO/image-text-"
RATIONALES = {**VQA, "answer": "a kite", "rationale": "y", "rationale_options": ["x", "y", "z"]}
MOCHEG = {**VQA, "claim": " It is. ", "text_evidence": "t\n", "instance_id": 3}
CLAIM = "What is the truthfulness of this claim? Claim: It is."
GT_INFO = {"gt_info": {"0": "entailment", "1": "neutral", "2": "contradiction"}}


def shown(name: str, **row: Any) -> dict[str, Any]:
    """A file of the cross-modal sets."""
    return {"dataset_name": name, "data": [{"img": picture(), **row}]}


@pytest.mark.parametrize(
    ("chosen", "file", "content", "question", "hint", "options", "answer"),
    [
        ("k_viquae", "K-ViQuAE/kviquae_test_10p.json", record([{**VQA, "context": " c \n"}], "2.0", "test"),
         "Why?", "c", ["a", "b"], 1),
        ("a_okvqra", "A-OKVQRA/aokvqra_val_10p.json", record([{**VQA, "rationale": "r"}]),
         "Why?", "r", ["a", "b"], 1),
        ("a_okvqar", "A-OKVQAR/aokvqar_val_10p.json", record([RATIONALES]), "Why?", "a kite", ["x", "y", "z"], 1),
        ("mocheg", "MOCHEG/mocheg_test_10p.json", record([MOCHEG], "1.0", "test"), CLAIM, "t", ["a", "b"], 1),
        ("coco_itm", f"{COCO}matching-object-sampled.json", shown("MSCOCO", anno="a cat", gt=1),
         ..., "a cat", ["no", "yes"], 1),
        ("coco_its", f"{COCO}selection-object-sampled.json", shown("MSCOCO", anno=["a", "b", "c"], gt=2),
         ..., None, ["a", "b", "c"], 2),
        ("wikihow", "WikiHow/wikihow-image-text-selection-in-method-sampled.json",
         shown("WikiHow", method="Fly", title="t", options=["a", "b"], gt="0"), ..., "Fly", ["a", "b"], 0),
        ("snli_ve", "SNLI_VE/visual-entailment-matching-sampled.json",
         shown("SNLI_VE", anno="It rains.", gt=2) | GT_INFO, ..., "It rains.", ["yes", "not sure", "no"], 2),
        ("medic", "MEDIC/disaster-type-selection-sampled.json",
         shown("MEDIC", options=["fire", "flood"], gt=1), ..., None, ["fire", "flood"], 1),
        ("refcoco", "RefCOCO/referring-expression-selection-sampled.json", shown("RefCOCO", **REGION),
         ..., None, ["a cup", "a cat"], 1),
        ("nocaps", "NoCaps/captions-sampled.json", shown("nocaps", annos=["x", "y"]), ..., None, [], None),
    ],
)  # fmt: skip
def test_one_row(project, chosen, file, content, question, hint, options, answer) -> None:
    """question: ... for sets with one question for all."""
    put(project, file, content)
    (item,) = items(project, chosen)
    assert item["question"] == question or (question is ... and item["question"])
    assert (item["hint"], item["options"]) == (hint, options)
    assert item["answers"] == ([] if answer is None else [answer])
    assert item["references"] == (["x", "y"] if chosen == "nocaps" else [])


def test_open_questions(project) -> None:
    row = {"question_id": 1, "image": picture(), "question": ["a?", "b?"], "answer_txt": "STOP"}
    put(project, "CUTE80/cute80_core_open_ended.json", record([row, row], "2.0", "test"))
    found = items(project, "cute80")
    assert [(one["question"], one["references"], one["kind"]) for one in found] == [
        ("a?", ["STOP"], "text"),
        ("b?", ["STOP"], "text"),
    ]
    put(project, "FUNSD/funsd_core_open_ended.json",
        record([{**row, "question": "Date?", "answer_txt": ["1 May", "5/1"]}], "2.0", "test"))  # fmt: skip
    assert items(project, "funsd")[0]["references"] == ["1 May", "5/1"]


def test_several_answers_are_joined_as_the_authors_do(project) -> None:
    row = {"question_id": 1, "image_id": picture(), "question": "Which?", "answer": ["a b", "c"]}
    put(project, "DocVQA/docvqa_val_10p.json", record([row, {**row, "answer": "d"}]))
    assert [one["references"] for one in items(project, "docvqa")] == [["a b c"], ["d"]]
    assert [one["references"] for one in items(project, "docvqa", join_answers=False)] == [
        ["a b", "c"],
        ["d"],
    ]


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


@pytest.mark.parametrize(
    "round_",
    [
        {"question": 9},
        {"answer": 3},
        {"answer_options": [0, -1]},
        {"answer": None},
        {"answer": 1.7},
        {"answer": True},
        {"answer_options": 5},
    ],
)
def test_rounds_that_point_nowhere(project, round_: dict[str, Any]) -> None:
    dialogue(project, **round_)
    with pytest.raises(UserError, match=r"dialog 0 round 1: question"):
        items(project, "visdial")
    assert len(items(project, "visdial", on_error="skip")) == 2


def test_dialogues_that_are_none(project) -> None:
    file = "VisDial/Visdial_1.0_val_v1.2.json"
    lists = {"questions": ["q"], "answers": ["a", "b"], "dialogs": [{"image": picture(), "dialog": 5}]}
    put(project, file, record(lists, "lvlm_1.2", "val2018"))
    with pytest.raises(UserError, match="dialog is not a list of rounds"):
        items(project, "visdial")
    put(project, file, record({**lists, "answers": ["a", None]}, "lvlm_1.2", "val2018"))
    with pytest.raises(UserError, match="hold more than texts"):
        items(project, "visdial")


@pytest.mark.parametrize(
    "box",
    [
        [float("nan"), 1, 2, 3], [float("inf")] * 4, [1e30, 1e30, 1e31, 1e31], [0, 0, 2**31, 2**31],
        [True, 0, True, 1], b"abcd",
    ],
)  # fmt: skip
def test_boxes_that_are_no_places(box) -> None:
    with pytest.raises(Unusable, match="not four numbers of pixels"):
        with_boxes(base64.b64decode(picture()), [box], 2, "corners")


def test_no_box_is_drawn_into_what_is_no_picture_of_ours() -> None:
    """Pillow would run Ghostscript on PostScript."""
    with pytest.raises(Unusable, match="not an image in any of the formats"):
        with_boxes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", [[1, 2, 3, 4]], 2, "corners")


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


# ---- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (record([VQA], "2.0"), r"version is '2\.0', expected '1\.0'; fetch the right file"),
        (record([VQA], split="test"), "split is 'test', expected 'val'"),
        (record([{**VQA, "image_id": 12}]), "image_id is a int, not an image"),
        (record([{**VQA, "image_id": "?"}]), "image_id is not base64"),
        (record([{**VQA, "image_id": None}]), "image_id holds 0 pictures, not one"),
        (record([{**VQA, "question": None}]), "question is missing"),
        (record(["x"]), r"row 0: answer_options is a NoneType"),
        (record([{**VQA, "answer_options": "a"}]), "answer_options"),
    ],
)
def test_wrong_files(project, content: Any, reason: str) -> None:
    put(project, "A-OKVQA/aokvqa_val_10p.json", content)
    with pytest.raises(UserError, match=reason):
        items(project, "a_okvqa")
    assert not project.written()


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
    put(project, "CLEVR/clevr_core_multiple_choice.json", record([], "2.0", "val"))
    with pytest.raises(UserError, match=r"is not known here; write settings\.expect"):
        items(project, "clevr", expect={})


def test_a_file_of_another_name_and_one_without_its_ending(project) -> None:
    put(project, "mine.json", record([VQA]))
    assert len(items(project, "a_okvqa", file="mine.json")) == 1
    row = {"question_id": 1, "image": picture(), "question": "a?", "answer_txt": "STOP"}
    put(project, "COCO_Text/cocotext_core_open_ended", record([row], "2.0", "test"))
    assert len(items(project, "coco_text", file="COCO_Text/cocotext_core_open_ended")) == 1


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
