import hashlib
import io
import json
import random
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError

from tests.fuzz.mutate import mutated
from tests.fuzz.pictures import PNG
from tests.fuzz.targets.jsonl import CORPUS, WORDS
from tests.prompts.rows import laid_out
from vouch.datasets.loaders.jsonl import FieldKeys, Settings, count, read
from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import SourceFiles
from vouch.pipeline.errors import UserError
from vouch.prompts.template import read_template

ROOT = Path(__file__).parents[3]


ANSWERS = [
    (0, ["x", "y"], [0]), (1, ["1", "0"], [1]), ("B", ["x", "y"], [1]), ("y", ["x", "y"], [1]),
    ("1", ["1", "0"], [0]), (["x", 1, "A"], ["x", "y"], [0, 1, 0]), ("C", ["A", "B", "C", "D", "E"], [2]),
    ("C", ["x", None, "y"], [2]), ("C", ["B", "A", "x"], [2]),
    ("B", ["B", "A"], "can mean option A or B"), ("x", ["x", "y", "x"], "can mean option A or C"),
    ("b", ["x", "y"], "neither"), ("D", ["x", "y", "z"], "neither"), ("X", ["x", "y"], "neither"),
    ("", ["x", "y"], "neither"), ("0", ["x", "y"], "neither"), ([["A"]], ["x", "y"], "answer is a list"),
    ({"A": 1}, ["x", "y"], "answer is a dict"), ([True], ["x", "y"], "answer is a bool"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "options", "expected"), ANSWERS)
def test_forms_of_an_answer(project, item, answer, options, expected):
    """The indices that it is read as, or the reason why it is refused."""
    project.lines(item(answer=answer, options=options))
    (entry,) = read(SourceFiles(project.source), "toy", Settings())
    if isinstance(expected, list):
        assert list(entry.answers) == expected
    else:
        assert expected in entry.reason


def test_ids_are_line_numbers_where_there_are_none(project, item):
    project.lines(item(id=...), b"", item(id=7), item(id=None))
    assert [entry.id for entry in read(SourceFiles(project.source), "toy", Settings())] == ["1", "7", "4"]
    assert count(SourceFiles(project.source), "toy", Settings()) == 3
    line = json.dumps(item()).encode()  # a byte order mark, and line ends of Windows
    (project.source / "items.jsonl").write_bytes(b"\xef\xbb\xbf" + line + b"\r\n" + line)
    assert all(isinstance(entry, RawItem) for entry in read(SourceFiles(project.source), "toy", Settings()))


def test_keys_and_groups(project):
    project.image("one.png")
    line = {"frage": "Was?", "wahl": ["x", "y"], "richtig": "y", "bild": "one.png", "nr": 3, "thema": "t"}
    named = ("question", "options", "answer", "image", "id", "category")
    project.lines({**line, "serie": 12})
    keys = dict(zip(named, line, strict=True))
    (row,) = project.prepare(keys=keys, group="serie")["items"].to_pylist()
    found = [row[key] for key in ("id", "question", "answers", "category", "group")]
    assert found == ["3", "Was?", [1], "t", "12"]
    assert len(row["images"]) == 1 and row["hint"] is None


def test_named_keys_must_be_there(project, item):
    """A mistyped key would otherwise leave every item without its image."""
    project.lines(item())
    with pytest.raises(UserError, match=r"line 1.*has no shown; it has answer, id, image, options, question"):
        project.prepare(keys={"image": "shown"})
    with pytest.raises(UserError, match="has no series"):
        project.prepare(group="series")
    project.lines(item(series=1.5))
    with pytest.raises(UserError, match="series is a float"):
        project.prepare(group="series")


def test_no_image_is_no_error(project, item):
    project.lines(item(image=...), item(id="b", image=None, images=None), item(id="c", image=..., images=[]))
    tables = project.prepare()
    assert tables["items"].column("images").to_pylist() == [[], [], []] and tables["images"].num_rows == 0


def test_source_problems(project, item):
    outside = project.root / "outside.jsonl"
    outside.write_text(json.dumps(item()))
    links = {"link.jsonl": outside, "round.jsonl": "round.jsonl", "now": "."}
    for name, target in links.items():
        (project.source / name).symlink_to(target)
    unseen = ["__pycache__/items.jsonl", "items.pyc", ".venv/items.jsonl"]
    for file in unseen:
        (project.source / file).parent.mkdir(exist_ok=True)
        project.lines(item(), name=file)
    for words, source, files in (
        (r"toy/items.jsonl: no such file; .*datasets.toy.settings.file", "toy", ["items.jsonl"]),
        (r"nowhere: no such file or folder; correct datasets.toy.source", "nowhere", ["items.jsonl"]),
        (r"is a file; .*settings.file", "outside.jsonl", ["items.jsonl"]),
        (r"leads out of toy; correct datasets.toy.settings.file", "toy",
         ["../outside.jsonl", str(outside), "link.jsonl"]),
        (r"toy/round.jsonl: no such file; add it", "toy", ["round.jsonl"]),
        (r"toy/now/outside.jsonl: behind a link to a folder", "toy", ["now/outside.jsonl"]),
        (r"\.dvcignore excludes .*, so changes would not be noticed; rename it", "toy", unseen),
    ):  # fmt: skip
        for file in files:
            with pytest.raises(UserError, match=words):
                project.prepare(source=source, file=file)
    project.image("one.png")
    project.lines(item(), name="mine.jsonl")
    assert project.prepare(file="mine.jsonl")["items"].num_rows == 1


@pytest.mark.parametrize(
    "settings", [{"file": ""}, {"file": "a\0"}, {"filename": "a"}, {"keys": {"hnit": "h"}}]
)
def test_settings_are_checked(settings):
    with pytest.raises(ValidationError):
        Settings.model_validate(settings)


# items, images, empty hints, and the defects that are known of it, beside those that a template brings
REAL = {
    "ai2d_mini": (10, 10, 10, {}),
    "ccbench_samples": (12, 12, 12, {}),
    "mathvision_test": (
        355,
        355,
        355,
        {"duplicate_options": 1, "unmatched_mark": 89, "lettered_options": 7, "option_names_options": 4},
    ),
    "mmbench_samples": (38, 19, 38, {"line_break_in_option": 2}),
    "puzzlevqa": (104, 102, 104, {"circular_copy": 4, "non_rgb": 4}),
    "scienceqa_test": (272, 253, 81, {"answer_in_question": 1, "near_duplicate_image": 47}),
}
# of mathvision_test by what the template does with marks and options, in questions that mark one image or more
TEMPLATE = {
    ("plain", None): {"mark_dropped": 354, "mark_in_words": 9},
    ("plain", "interleaved"): {"mark_in_words": 89},
    ("kostumov", None): {"added_option_twice": 8, "mark_dropped": 354, "mark_in_words": 9},
}


@pytest.mark.parametrize("name", REAL)
def test_real_sets_whose_600_empty_hints_of_791_items_are_none(project, shared, name):
    folder = shared(f"realdata/{name}")
    lines = [json.loads(line) for line in (folder / "items.jsonl").open(encoding="utf-8")]
    tables = project.prepare(source=str(folder))
    items = tables["items"].to_pylist()
    expected, pictures, empty_hints, defects = REAL[name]
    assert len(items) == len(lines) == expected and tables["rejects"].num_rows == 0
    known = {row["digest"]: row for row in tables["images"].to_pylist()}
    assert len(known) == len({info["sha256"] for line in lines for info in line["image_info"]}) == pictures
    assert len({item["group"] for item in items}) == pictures, "questions about one picture are one group"
    assert not [item["id"] for item in items if "shared_image" in item["flags"]]
    template = read_template("kostumov")
    for item, line in zip(items, lines, strict=True):
        assert all(item[key] == line[key] for key in ("id", "question", "options", "category"))
        assert item["hint"] == (line["hint"] or None)
        assert not laid_out(template, item["hint"], item["question"], ("A", "x")).startswith("\n")
        assert item["answers"] == [line["answer"]]
        assert item["images"] == [info["sha256"] for info in line["image_info"]]
        for info in line["image_info"]:
            assert all(known[info["sha256"]][key] == info[key] for key in ("mode", "width", "height"))
        assert ("non_rgb" in item["flags"]) == (line["image_info"][0]["mode"] != "RGB")
        assert ("unmatched_mark" in item["flags"]) == ("<image2>" in line["question"])
    assert sum(line["hint"] == "" for line in lines) == empty_hints
    own = TEMPLATE["plain", None] if name == "mathvision_test" else {}
    assert defects_of(tables) == {**defects, **own}


@pytest.mark.parametrize(("template", "variant"), TEMPLATE)
def test_marks_of_355_mathvision_items_by_template(project, shared, template, variant):
    project.entry = {"template": template, "variant": variant}
    tables = project.prepare(source=str(shared("realdata/mathvision_test")))
    assert defects_of(tables) == {**REAL["mathvision_test"][3], **TEMPLATE[template, variant]}


def defects_of(tables):
    return {row["defect"]: row["items"] for row in tables["defects"].to_pylist() if row["items"]}


def test_groups_by_image_a_group_of_the_line_wins(project, item):
    for shade, name in enumerate(("one.png", "two.png", "three.png")):
        project.image(name, shade=shade)
    project.image("copy.png", shade=0)
    two = {"image": ..., "images": ["two.png", "one.png"]}
    project.lines(
        item(id="a"),
        item(id="b", question="Where?", image="copy.png"),
        item(id="c", question="Why?", image="two.png"),
        item(id="d", question="Who?", **two),
        item(id="e", question="How?", group="mine"),
        item(id="f", question="When?", image="three.png", group=7),
        item(id="g", question="What for?", image="three.png"),
        item(id="h", image=...),
        item(id="i", image=..., question="Where?"),
        item(id="j", image="one.png", group=None),
    )
    rows = {row["id"]: row for row in project.prepare()["items"].to_pylist()}
    group = {name: row["group"] for name, row in rows.items()}
    assert group["a"] == group["b"] == group["j"] != group["c"] == group["d"], "copies have the same bytes"
    assert (group["e"], group["f"], group["g"]) == ("mine", "7", "7")
    assert len({group["h"], group["i"], group["a"], group["c"]}) == 4
    assert "shared_image" in rows["d"]["flags"] and "shared_image" in rows["e"]["flags"], (
        "what is parted is flagged"
    )
    project.lines(item(group=1.5))
    with pytest.raises(UserError, match="group is a float, not a text or an integer that names a group"):
        project.prepare()


def test_25_options_and_unequal_heights_are_told_by_prepare_with_the_item(project, item):
    project.image("one.png", size=(4, 3))
    project.image("two.png", size=(4, 5))
    project.image("four.png", size=(8, 3))
    texts = [f"number {n}" for n in range(25)]
    many, pair = item(id="many", options=texts, answer=0), {"image": ..., "images": ["one.png", "two.png"]}
    project.lines(many)
    assert project.prepare()["items"].num_rows == 1
    project.entry = {"template": "kostumov"}
    with pytest.raises(
        UserError, match=r"line 1 \(id 'many'\): 27 options with the 2 that template kostumov"
    ):
        project.prepare()
    project.entry = {"template": "kostumov", "variant": "joined"}
    equal = {"image": ..., "images": ["one.png", "four.png"]}
    project.lines(item(id="pair", **pair))
    with pytest.raises(
        UserError, match=r"line 1 \(id 'pair'\): its images have heights of 3 and 5 pixels, and "
    ):
        project.prepare()
    exchanged = item(id="x", **equal, exchange=["two.png", None])
    project.lines(many, item(id="pair", **pair), item(id="good", **equal), exchanged)
    tables = project.prepare(on_error="skip")
    assert tables["rejects"]["id"].to_pylist() == ["many", "pair", "x"]
    assert tables["items"]["id"].to_pylist() == ["good"]
    project.entry = {"template": "parc"}
    assert project.prepare()["items"].num_rows == 4, "merged pictures get one height"


def test_no_line_does_worse_than_to_be_refused(project):
    """Damaged lines, as tests/fuzz makes them, through the whole stage."""
    (project.source / "1.png").write_bytes(PNG)
    path = project.source / "items.jsonl"
    for seed in range(60):
        path.write_bytes(mutated(random.Random(seed), CORPUS(), WORDS))
        there = sum(1 for line in path.read_bytes().split(b"\n") if line.strip())
        try:
            project.prepare()
        except UserError as error:
            assert "\n" not in str(error)
        try:
            tables = project.prepare(on_error="skip")
        except UserError as error:
            assert "is empty" in str(error) or f"no usable item, {there} rejected" in str(error)
        else:
            assert tables["items"].num_rows + tables["rejects"].num_rows == there


def test_open_questions(project, item):
    project.image("one.png")
    project.lines(
        item(),
        {"id": "o1", "question": "What does it say?", "references": ["stop", "STOP"], "image": "one.png"},
        {"id": "o2", "question": "How many?", "references": "3", "options": None, "image": "one.png"},
    )
    items = project.prepare(expect={"items": 3, "open": 2})["items"].to_pylist()
    assert [(one["kind"], one["references"], one["options"]) for one in items[1:]] == [
        ("text", ["stop", "STOP"], []),
        ("text", ["3"], []),
    ]
    assert items[0]["kind"] == "choice" and items[0]["references"] == []


def talk(project, item, *lines, **settings):
    """The items of lines that share one image."""
    project.image("one.png")
    project.lines(*(item(**line) for line in lines))
    return project.prepare(**settings)


def test_a_conversation_is_one_group(project, item):
    lines = [
        {"id": "x"},
        {"id": 1},
        {"id": "b", "question": "Where?", "turns": [1]},
        {"id": "c", "question": "Why?", "turns": ["1", "b"]},
        {"id": "y", "question": "Else?", "turns": []},
        {"id": "z", "question": "More?", "turns": None},
    ]
    rows = talk(project, item, *lines)["items"].to_pylist()
    assert [row["turns"] for row in rows] == [[], [], ["1"], ["1", "b"], [], []]
    assert len({row["group"] for row in rows}) == 1, "all about one picture"
    named = [
        {**line, "talk": n, "turns": line.get("turns", [])} for n, line in zip("abbbcc", lines, strict=True)
    ]
    rows = talk(project, item, *named, group="talk", keys={"turns": "turns"})["items"].to_pylist()
    assert [row["group"] for row in rows] == list("abbbcc")


def test_a_sample_holds_conversations_as_a_whole(project, item):
    project.entry = {"sample": {"share": 0.5, "seed": 1}}
    lines = [
        line
        for n in range(20)
        for line in (
            {"id": f"{n}a", "question": f"What {n}?"},
            {"id": f"{n}b", "turns": [f"{n}a"]},
            {"id": f"{n}c", "turns": [f"{n}b"]},
        )
    ]
    tables = talk(project, item, *lines)
    ids = tables["items"].column("id").to_pylist()
    assert tables["rejects"].num_rows == 0 and 0 < len(ids) < 60
    assert ids == [f"{name[:-1]}{turn}" for name in ids[::3] for turn in "abc"]


@pytest.mark.parametrize(
    ("turns", "reason"),
    [
        (["b"], "turn 'b' is not an earlier entry of its dialogue"),
        (["none"], "turn 'none' is not an earlier entry"),
        (["c"], "turn 'c' is not an earlier entry"),
        ("a", "turns is not a list of ids"),
        ([1.5], "turns is not a list of ids"),
        ([True], "turns is not a list of ids"),
    ],
)
def test_turns_that_are_refused(project, item, turns, reason):
    lines = [{"id": "b"}, {"id": "a", "question": "Where?"}, {"id": "c", "question": "Why?", "turns": turns}]
    with pytest.raises(UserError, match=f"line 3 .id 'c'.: {reason}"):
        talk(project, item, *lines)
    tables = talk(project, item, *lines, {"id": "d", "turns": ["c"]}, on_error="skip")
    assert tables["items"].column("id").to_pylist() == ["b", "a"]
    assert tables["rejects"].column("id").to_pylist() == ["c", "d"], "what follows a refused line is refused"


def test_the_groups_of_a_conversation_must_be_the_same(project, item):
    lines = [{"id": "a", "talk": 1}, {"id": "b", "talk": 2, "turns": ["a"]}]
    with pytest.raises(UserError, match="is in another group than its turn 'a'"):
        talk(project, item, *lines, group="talk")


def test_images_to_exchange(project, item):
    digests = [hashlib.sha256(project.image(f"{n}.png", shade=n)).hexdigest() for n in range(3)]
    images = {"image": ..., "images": ["0.png", "1.png"]}
    project.lines(item(**images, exchange=["2.png", None]), item(id="b", **images, exchange=None))
    tables = project.prepare()
    assert tables["items"].column("exchange").to_pylist() == [[digests[2], None], []]
    assert sorted(tables["images"].column("digest").to_pylist()) == sorted(digests)


def test_the_examples_of_the_documentation(project):
    page = (ROOT / "docs/add-a-dataset.md").read_text("utf-8")
    lines = [json.loads(line) for line in page.splitlines() if line.startswith('    {"id": ')]
    cells = [line.get(key) or [] for line in lines for key in ("image", "images", "exchange")]
    paths = {path for cell in cells for path in ([cell] if isinstance(cell, str) else cell) if path}
    for shade, path in enumerate(sorted(paths)):
        project.image(path, shade=shade)
    project.lines(*lines)
    items = {row["id"]: row for row in project.prepare()["items"].to_pylist()}
    assert list(items) == ["kite-1", "kite-2", "sign-1", "sign-2", "sign-3", "sign-4", "sky-1", "box-1"]
    assert items["sign-4"]["turns"] == ["sign-2", "sign-3"]
    assert items["sign-3"]["group"] == items["sign-1"]["group"]
    assert [digest is None for digest in items["sky-1"]["exchange"]] == [False, True]
    for key in FieldKeys.model_fields:
        assert f"| `{key}`" in page or f"`{key}` |" in page, key


def test_boxes_are_drawn_or_told(project, item):
    project.image("one.png", size=(60, 40))
    line = item(
        question="What is in <box 1>?", options=["a cup", "<box 2>"], boxes=[[4, 5, 20, 30], [9, 9, 50, 39.6]]
    )
    project.lines(line)
    drawn = project.prepare()
    (told,) = drawn["items"].to_pylist()
    assert (told["question"], told["options"]) == ("What is in the red box?", ["a cup", "the green box"])
    with Image.open(io.BytesIO(drawn["images"]["bytes"][0].as_py())) as picture:
        assert picture.getpixel((4, 12)) == (255, 0, 0) and picture.getpixel((50, 20)) == (0, 128, 0)
        assert picture.getpixel((12, 15)) == (0, 0, 0)
    text = project.prepare(boxes="text")
    (told,) = text["items"].to_pylist()
    assert (told["question"], told["options"]) == ("What is in [4, 5, 20, 30]?", ["a cup", "[9, 9, 50, 39]"])
    assert text["images"]["bytes"][0].as_py() == (project.source / "one.png").read_bytes()


def test_boxes_are_drawn_on_the_image_that_a_model_would_get(project, item):
    """Its 16 bits, what is clear in it and its rotation are as without boxes."""
    values = np.full((40, 60), 257 * 77, dtype=np.uint16)
    values[0] = 5
    Image.fromarray(values).save(project.source / "one.png", transparency=5)
    project.lines(item(question="What is in <box 1>?", boxes=[[4, 5, 20, 30]]))
    with Image.open(io.BytesIO(project.prepare()["images"]["bytes"][0].as_py())) as picture:
        assert picture.getpixel((40, 20)) == (77, 77, 77) and picture.getpixel((40, 0)) == (255, 255, 255)


@pytest.mark.parametrize("boxes", ["drawn", "text"])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"boxes": [[1, 2, 3]]}, "which is not four numbers of pixels"),
        ({"boxes": [[9, 2, 3, 4]]}, "whose second corner is left of or above its first"),
        ({"boxes": "1 2 3 4"}, "boxes is not a list of boxes"),
        ({"boxes": []}, "boxes is not a list of boxes"),
        ({"boxes": [[1, 2, 3, 4]], "image": ...}, "there is not one image for them"),
        ({"boxes": [[1, 2, 3, 4]], "question": "What is <box 2>?"}, "refers to <box 2>, but has 1 boxes"),
        ({"boxes": [[1, 2, 3, 4]], "image": "gone.png"}, "'gone.png': no such file"),
    ],
)
def test_boxes_that_are_refused(project, item, changes, reason, boxes):
    project.image("one.png")
    project.lines(item(**changes))
    with pytest.raises(UserError, match=rf"items\.jsonl line 1 \(id 'q1'\): .*{reason}"):
        project.prepare(boxes=boxes)
