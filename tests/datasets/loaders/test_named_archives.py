"""Published sets of JSON files and images, in archives and in folders: never unpacked."""

import json
import zipfile
from hashlib import sha256

import pyarrow as pa
import pytest

from tests.datasets.loaders.built import IMAGE, TEXTS, archive, cell, parquet, png, schema
from vouch.datasets.fetch.origin import REMOTE
from vouch.pipeline.errors import UserError

AI2D = schema("question answer", options=TEXTS, image=IMAGE)
SEED = schema(
    "answer choice_a choice_b choice_c choice_d data_id data_type question question_id",
    question_type_id=pa.int16(),
    image=pa.list_(IMAGE),
    segment=pa.list_(pa.int64()),
)


def seed(**changes):
    base = {f"choice_{letter}": letter.upper() * 2 for letter in "abcd"}
    base |= {"answer": "C", "data_id": "1454426_2591111986", "data_type": "image", "question": "How many?"}
    return {**base, "question_id": "101669", "question_type_id": 5, "segment": [], **changes}


def of_authors(project, *questions):
    content = json.dumps({"questions": questions, "question_type": {}})
    (project.source / "SEED-Bench.json").write_text(content)
    archive(project.source / "SEED-Bench-image.zip", {"SEED-Bench-image/1454426_2591111986": png()})
    return project.prepare("seedbench", expect=None, on_error="skip")


def test_seedbench_of_its_authors(project):
    video = seed(question_id="2", question_type_id=11, data_id="v.mp4", data_type="video")
    tables = of_authors(project, seed(), video)
    (item,) = tables["items"].to_pylist()
    assert tables["rejects"].num_rows == 0, "a video is left out, not rejected"
    assert (item["id"], item["category"], item["answers"]) == ("101669", "Instances Counting", [2])
    assert item["options"] == ["AA", "BB", "CC", "DD"] and len(item["images"]) == 1
    for changes, words in (
        ({"question_type_id": "five"}, "question_type_id 'five' is not an integer"),
        ({"data_id": ["a", "b"]}, "data_id is a list, not a text"),
    ):
        tables = of_authors(project, seed(), seed(question_id="2", **changes))
        assert tables["items"].num_rows == 1 and words in tables["rejects"]["reason"].to_pylist()[0]


def test_seedbench_keeps_its_dimensions_of_images(project):
    """Of all twelve; 10 to 12 are about videos. Named by what is asked, as in the corrected list of the authors."""
    questions = [seed(question_id=str(kind), question_type_id=kind) for kind in range(1, 13)]
    items = of_authors(project, *questions)["items"].to_pylist()
    assert {int(item["id"]): item["category"] for item in items} == {
        1: "Scene Understanding",
        2: "Instance Identity",
        3: "Instance Attributes",
        4: "Instance Location",
        5: "Instances Counting",
        6: "Spatial Relation",
        7: "Instance Interaction",
        8: "Visual Reasoning",
        9: "Text Understanding",
    }


def test_seedbench_in_parquet(project):
    video = seed(question_id="2", question_type_id=10, data_type="video", image=[cell(1), cell(2)])
    parquet(project.source / "data/test-00000-of-00001.parquet", SEED, seed(image=[cell()]), video)
    (item,) = project.prepare("seedbench", expect=None)["items"].to_pylist()
    assert item["id"] == "101669" and len(item["images"]) == 1


def diagram(question, label=False):
    return {"answerTexts": [*"abcd"], "correctAnswer": 2, "questionId": question, "abcLabel": label}


def test_ai2d_of_the_archive(project):
    members = {
        "ai2d/questions/1.png.json": {
            "imageName": "1.png",
            "questions": {"What?": diagram("1.png-0"), "Which?": diagram("1.png-1", label=True)},
        },
        "ai2d/questions/10.png.json": {"questions": {}},
        "ai2d/images/1.png": png(1),
        "ai2d/abcImages/1.png": png(2),
        "__MACOSX/ai2d/._1.png": b"noise",
    }
    archive(project.source / "ai2d-all.zip", members)
    plain = project.prepare("ai2d", expect=None)["items"].to_pylist()
    assert [(item["id"], item["question"], item["answers"]) for item in plain] == [
        ("1.png-0", "What?", [2]),
        ("1.png-1", "Which?", [2]),
    ]
    assert plain[0]["images"] == plain[1]["images"]
    painted = project.prepare("ai2d", expect=None, painted=True)["items"].to_pylist()
    assert painted[0]["images"] == plain[0]["images"] != painted[1]["images"]


def test_ai2d_in_parquet(project):
    row = {"question": "What?", "options": ["a", "b", "c", "d"], "answer": "3", "image": cell()}
    other = row | {"question": "Which?", "answer": "0", "image": cell(1)}
    parquet(project.source / "data/test-00000-of-00001.parquet", AI2D, row, other)
    items = project.prepare("ai2d", expect=None)["items"].to_pylist()
    assert [(item["question"], item["answers"]) for item in items] == [("What?", [3]), ("Which?", [0])]
    assert all(item["options"] == [*"abcd"] and item["category"] == "diagram" for item in items)
    assert [item["images"] for item in items] == [[sha256(png(n)).hexdigest()] for n in (0, 1)]


def ood(**changes):
    """A question in the form that the programs of the source's authors and of Kostumov et al. read: the first
    shows the options and asks for A or B, both take the digit from `text_answer`."""
    base = {
        "image": "phase-1/images/a_+_b.jpg",
        "question": "How many cars?",
        "answer": "A",
        "answer_type": "number",
    }
    more = {"text_answer": "2", "options": ["There are 2", "There are 4"], "situation": "weather"}
    return {**base, **more, "phase": "phase-1", **changes}


def test_oodcv(project):
    questions = [
        ood(answer_type="yes/no", text_answer="Yes"), ood(), ood(answer="B", text_answer="4", situation="iid")
    ]  # fmt: skip
    archive(
        project.source / "safety_evaluation_benchmark_datasets.zip",
        {"safety_evaluation_benchmark_datasets/ood/oodcv-vqa/oodcv-vqa.json": questions},
    )
    picture = project.source / "images/phase-1/images/a_+_b.jpg"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(png())
    items = project.prepare("oodcv_vqa", expect=None)["items"].to_pylist()
    assert [(item["id"], item["answers"], item["category"]) for item in items] == [
        ("0", [0], "weather"),
        ("1", [1], "iid"),
    ]
    assert items[0]["options"] == ["There are 2", "There are 4"]
    picture.unlink()
    with pytest.raises(UserError, match=r"question 2: no file 'phase-1/images/a_\+_b\.jpg' in toy"):
        project.prepare("oodcv_vqa", expect=None)


@pytest.mark.parametrize("loader", ["oodcv_vqa", "compbench"])
def test_what_no_program_can_fetch_says_what_to_put_where(project, loader):
    with pytest.raises(UserError, match=r"nothing to fetch: .*into one folder.* name that as `source`"):
        project.prepare(loader, REMOTE, **({"set": "depth"} if loader == "compbench" else {}))


def pair(**changes):
    base = {f"image_{number}": f"release_dataset/images/ripe fig/{number}.jpg" for number in (1, 2)}
    return {**base, "question": "Which fruit is riper?", "answer": "Right", "type": "State", **changes}


def test_compbench(project):
    annotations = [pair(), None, {}, pair(answer=None), pair(type="Color", answer="Left"), pair(type="None")]
    path = project.source / "st_label/State_Transform_merged0_0_1000.json"
    path.parent.mkdir()
    path.write_text(json.dumps(annotations))
    archive(
        project.source / "images.zip",
        {f"transformed_states/release_dataset/images/ripe fig/{n}.jpg": png(n) for n in (1, 2)},
    )
    (state,) = project.prepare("compbench", expect=None, set="mit_state")["items"].to_pylist()
    (attribute,) = project.prepare("compbench", expect=None, set="mit_attribute")["items"].to_pylist()
    assert (state["id"], state["answers"], state["category"]) == ("0", [1], "State")
    assert (attribute["id"], attribute["answers"], attribute["category"]) == ("4", [0], "Color")
    assert state["options"] == ["Left", "Right"] and len(set(state["images"])) == 2
    every = {"expect": None, "annotations": "all", "on_error": "skip"}
    made = project.prepare("compbench", set="mit_state", **every)
    assert [made[name].num_rows for name in ("items", "rejects")] == [1, 1]
    assert "has no answer" in made["rejects"]["reason"][0].as_py()
    made = project.prepare("compbench", set="mit_attribute", **every)
    kept = made["items"].to_pylist()
    assert [(row["id"], row["category"]) for row in kept] == [("4", "Color"), ("5", "None")]
    assert made["rejects"].num_rows == 0, "a row without an answer or a type is in no set"
    path.write_text(json.dumps([pair(image_1="other/folder/a.jpg")]))
    with pytest.raises(
        UserError, match=r"no file 'other/folder/a\.jpg' .* processed ones: docs/datasets\.md"
    ):
        project.prepare("compbench", expect=None, set="mit_state")


# set of PARC -> the folder and file of CompBench's annotations, the type of a row, and where its images are: the
# dataset's folder, which rows do not name, and the folder below it, which they do
COMPBENCH = {
    "mit_attribute": ("st_label/State_Transform_merged0_0_1000.json", "Color", "transformed_states",
                      "release_dataset/images/verdant bush"),
    "mit_state": ("st_label/State_Transform_merged0_0_1000.json", "State", "transformed_states",
                  "release_dataset/images/coiled snake"),
    "vaw_attribute": ("vaw_label/VAW_0_3133.json", "Size", "vaw", "att_obj_images/val/white_lamp"),
    "vaw_state": ("vaw_label/VAW_0_3133.json", "State", "vaw", "att_obj_images/val/wet_hair"),
    "depth": ("depth_label/depth_0_529_rebalanced.json", None, "nyu_depth_v2", "obj_images/test/lamp"),
    "fashion": ("fashion_label/fashion_0_179.json", None, "fashionpedia",
                "adj_obj_folder_pairs_images/val/frayed_jacket-quilted_jacket/frayed_jacket"),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPBENCH)
def test_each_set_of_compbench_has_its_own_rows(project, name):
    """A row of each of the six beside one another in one folder: a set takes its own alone, and none of the rows
    that CompBench left without an answer and a type."""
    written = {}
    for number, (label, (file, kind, dataset, folder)) in enumerate(COMPBENCH.items()):
        row = pair(image_1=f"{folder}/85.jpg", image_2=f"{folder}/1079.jpg", question=f"Of {label}?")
        row |= {"adj": "large", "object": "lamp"} if label.startswith("vaw") else {}
        row |= {"type": kind, "answer": ("Left", "Right")[number % 2]}
        written.setdefault(file, []).append(row if kind else {k: row[k] for k in row if k != "type"})
        for side in (0, 1):
            path = project.source / f"images/{dataset}/{folder}/{(85, 1079)[side]}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(png(2 * number + side))
    for file, rows in written.items():
        path = project.source / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps([*rows, {**rows[0], "answer": None, "type": None}]))
    for annotations in ("released", "all"):
        tables = project.prepare("compbench", expect=None, set=name, annotations=annotations)
        (item,) = tables["items"].to_pylist()
        place = list(COMPBENCH).index(name)
        assert (item["question"], item["options"]) == (f"Of {name}?", ["Left", "Right"])
        assert (item["answers"], item["category"]) == ([place % 2], COMPBENCH[name][1] or name)
        shown = dict(zip(*(tables["images"][key].to_pylist() for key in ("digest", "bytes")), strict=True))
        assert [shown[one] for one in item["images"]] == [png(2 * place), png(2 * place + 1)], "left, right"


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"../outside.json": b"[]"}, "not a file name inside a folder"),
        ({"/etc/passwd": b"x"}, "not a file name inside a folder"),
        ({"a/model.pkl": b"x"}, "may be a pickle, which can run code"),
    ],
)
def test_an_archive_that_leads_out_or_holds_pickles_is_refused(project, members, words):
    archive(project.source / "ai2d-all.zip", members)
    with pytest.raises(UserError, match=words):
        project.prepare("ai2d", expect=None)


def test_damaged_archives_are_one_line(project):
    (project.source / "ai2d-all.zip").write_bytes(b"not a zip")
    with pytest.raises(UserError, match="not readable as a zip archive"):
        project.prepare("ai2d", expect=None)
    path = archive(
        project.source / "ai2d-all.zip", {"ai2d/questions/1.json": b'{"questions": {}}', "x": b"y" * 99}
    )
    data = bytearray(path.read_bytes())
    data[data.index(b'questions": {}')] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(UserError, match="Bad CRC-32"):
        project.prepare("ai2d", expect=None)


def test_links_in_archives_and_names_twice(project):
    with zipfile.ZipFile(project.source / "a.zip", "w") as file:
        link = zipfile.ZipInfo("ai2d/questions/1.png.json")
        link.external_attr = 0o120777 << 16
        file.writestr(link, "/etc/passwd")
    with pytest.raises(UserError, match="a link or encrypted in its archive"):
        project.prepare("ai2d", expect=None)
    for name, folder in (("a.zip", "q"), ("b.zip", "p")):
        archive(project.source / name, {f"{folder}/oodcv-vqa.json": []})
    with pytest.raises(UserError, match=r"duplicate file oodcv-vqa\.json: q/.* and p/.*; keep one"):
        project.prepare("oodcv_vqa", expect=None)
