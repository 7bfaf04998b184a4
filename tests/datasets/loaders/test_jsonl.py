import hashlib
import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from pydantic import ValidationError

from vouch.datasets.loaders.jsonl import Keys, Settings, count, read
from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import Source
from vouch.pipeline.errors import UserError

ROOT = Path(__file__).parents[3]


def answers(project, item, answer, options=("a kite", "a hat", "a cat")):
    """The indices that an answer is read as, or the reason why it is refused."""
    project.lines(item(answer=answer, options=list(options)))
    (entry,) = read(Source(project.source), "toy", Settings())
    return list(entry.answers) if isinstance(entry, RawItem) else entry.reason


@pytest.mark.parametrize(
    ("answer", "options", "expected"),
    [
        (0, ["x", "y"], [0]),
        (1, ["1", "0"], [1]),
        ("B", ["x", "y"], [1]),
        ("y", ["x", "y"], [1]),
        ("1", ["1", "0"], [0]),
        (["x", 1, "A"], ["x", "y"], [0, 1, 0]),
        ("C", ["A", "B", "C", "D", "E"], [2]),
        ("C", ["x", None, "y"], [2]),
        ("C", ["B", "A", "x"], [2]),
    ],
)
def test_answer_forms(project, item, answer, options, expected):
    assert answers(project, item, answer, options) == expected


@pytest.mark.parametrize(
    ("answer", "options", "reason"),
    [
        ("B", ["B", "A"], "can mean option A or B"),
        ("x", ["x", "y", "x"], "can mean option A or C"),
        ("b", ["x", "y"], "neither"),
        ("D", ["x", "y", "z"], "neither"),
        ("X", ["x", "y"], "neither"),
        ("", ["x", "y"], "neither"),
        ("0", ["x", "y"], "neither"),
        ([["A"]], ["x", "y"], "answer is a list"),
        ({"A": 1}, ["x", "y"], "answer is a dict"),
        ([True], ["x", "y"], "answer is a bool"),
    ],
)
def test_answers_that_are_refused(project, item, answer, options, reason):
    assert reason in answers(project, item, answer, options)


def test_ids_default_to_line_numbers(project, item):
    project.lines(item(id=...), b"", item(id=7), item(id=None))
    assert [entry.id for entry in read(Source(project.source), "toy", Settings())] == ["1", "7", "4"]
    assert count(Source(project.source), "toy", Settings()) == 3


def test_byte_order_mark_and_windows_line_ends(project, item):
    line = json.dumps(item()).encode()
    (project.source / "items.jsonl").write_bytes(b"\xef\xbb\xbf" + line + b"\r\n" + line)
    assert all(isinstance(entry, RawItem) for entry in read(Source(project.source), "toy", Settings()))


def test_source_may_be_the_file(project, item):
    project.image("one.png")
    project.lines(item(), name="mine.jsonl")
    with pytest.raises(UserError, match=r"toy/mine.jsonl: is a file; .*settings.file"):
        project.prepare(source="toy/mine.jsonl")
    assert project.prepare(file="mine.jsonl")["items"].num_rows == 1


def test_keys_and_groups(project):
    project.image("one.png")
    line = {
        "frage": "Was?",
        "wahl": ["x", "y"],
        "richtig": "y",
        "bild": "one.png",
        "nr": 3,
        "thema": "t",
        "serie": 12,
    }
    keys = {
        "question": "frage",
        "options": "wahl",
        "answer": "richtig",
        "image": "bild",
        "id": "nr",
        "category": "thema",
    }
    project.lines(line)
    (row,) = project.prepare(keys=keys, group="serie")["items"].to_pylist()
    assert (row["id"], row["question"], row["answers"], row["category"], row["group"]) == (
        "3",
        "Was?",
        [1],
        "t",
        "12",
    )
    assert len(row["images"]) == 1 and row["hint"] is None


def test_named_keys_must_be_there(project, item):
    """A mistyped key would otherwise leave every item without its image."""
    project.lines(item())
    with pytest.raises(
        UserError, match=r"line 1.*has no picture; it has answer, id, image, options, question"
    ):
        project.prepare(keys={"image": "picture"})
    with pytest.raises(UserError, match="has no series"):
        project.prepare(group="series")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"images": ["one.png"]}, "both image and images"),
        ({"references": ["a kite"]}, "both options and references"),
        ({"image": ..., "images": "one.png"}, "not a list of paths"),
        ({"image": ..., "images": [1]}, "not a list of paths"),
        ({"image": ["one.png"]}, "image is a list"),
        ({"category": 4}, "category is a int"),
        ({"image": ..., "group": 1.5}, "group is a float"),
    ],
)
def test_wrong_types(project, item, changes, reason):
    project.image("one.png")
    project.lines(item(**changes))
    with pytest.raises(UserError, match=reason):
        project.prepare(**({"group": "group"} if "group" in changes else {}))


def test_no_image_is_no_error(project, item):
    project.lines(item(image=...), item(id="b", image=None, images=None), item(id="c", image=..., images=[]))
    tables = project.prepare()
    assert tables["items"].column("images").to_pylist() == [[], [], []] and tables["images"].num_rows == 0


def test_source_problems(project, item):
    with pytest.raises(UserError, match=r"toy/items.jsonl: no such file; .*datasets.toy.settings.file"):
        project.prepare()
    with pytest.raises(UserError, match=r"nowhere: no such file or folder; correct datasets.toy.source"):
        project.prepare(source="nowhere")
    outside = project.root / "outside.jsonl"
    outside.write_text(json.dumps(item()))
    (project.source / "link.jsonl").symlink_to(outside)
    for file in ("../outside.jsonl", str(outside), "link.jsonl"):
        with pytest.raises(UserError, match=r"leads out of toy; correct datasets.toy.settings.file"):
            project.prepare(file=file)
    (project.source / "round.jsonl").symlink_to("round.jsonl")
    with pytest.raises(UserError, match=r"toy/round.jsonl: no such file; add it"):
        project.prepare(file="round.jsonl")
    (project.source / "now").symlink_to(".")
    project.lines(item())
    with pytest.raises(UserError, match=r"toy/now/items.jsonl: behind a link to a folder"):
        project.prepare(file="now/items.jsonl")


@pytest.mark.parametrize(
    "settings", [{"file": ""}, {"file": "a\0"}, {"filename": "a"}, {"keys": {"hnit": "h"}}]
)
def test_settings_are_checked(settings):
    with pytest.raises(ValidationError):
        Settings.model_validate(settings)


REAL = {
    "ai2d_mini": (10, 10),
    "ccbench_samples": (12, 12),
    "mathvision_test": (355, 355),
    "mmbench_samples": (38, 19),
    "puzzlevqa": (104, None),
    "scienceqa_test": (272, None),
}


@pytest.mark.parametrize("name", REAL)
def test_real_sets(project, shared, name):
    folder = shared(f"realdata/{name}")
    lines = [json.loads(line) for line in (folder / "items.jsonl").open(encoding="utf-8")]
    tables = project.prepare(source=str(folder))
    items = tables["items"].to_pylist()
    expected, distinct = REAL[name]
    assert len(items) == len(lines) == expected and tables["rejects"].num_rows == 0
    known = {row["digest"]: row for row in tables["images"].to_pylist()}
    assert len(known) == len({info["sha256"] for line in lines for info in line["image_info"]})
    assert distinct is None or len(known) == distinct
    for item, line in zip(items, lines, strict=True):
        assert (item["id"], item["question"], item["options"]) == (
            line["id"],
            line["question"],
            line["options"],
        )
        assert (item["answers"], item["hint"], item["category"]) == (
            [line["answer"]],
            line["hint"],
            line["category"],
        )
        assert item["images"] == [info["sha256"] for info in line["image_info"]]
        for digest, info in zip(item["images"], line["image_info"], strict=True):
            row = known[digest]
            assert (row["mode"], row["width"], row["height"]) == (info["mode"], info["width"], info["height"])
        assert ("empty_hint" in item["flags"]) == (line["hint"] == "")
        assert ("non_rgb" in item["flags"]) == (line["image_info"][0]["mode"] != "RGB")
    flags = [flag for item in items for flag in item["flags"]]
    assert flags.count("duplicate_options") == (1 if name == "mathvision_test" else 0)
    assert flags.count("unmatched_mark") == sum("<image2>" in line["question"] for line in lines)
    assert ("unmatched_mark" in flags) == (name == "mathvision_test")
    assert flags.count("non_rgb") == (4 if name == "puzzlevqa" else 0)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["A", "x", "one.png"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["id", "question", "options", "answer", "image", "images", "hint", "category", "boxes"]
)
LINES = (
    st.dictionaries(KEYS, VALUES).map(lambda value: json.dumps(value).encode())
    | VALUES.map(lambda value: json.dumps(value).encode())
    | st.binary(max_size=40)
    | st.tuples(
        st.integers(0, 90), st.binary(min_size=1, max_size=2), st.dictionaries(KEYS, VALUES, max_size=2)
    ).map(lambda change: _spliced(*change))
)
WHOLE = {"id": "q", "question": "What?", "options": ["x", "y", None], "answer": "x", "image": "one.png"}


def _spliced(place: int, insert: bytes, changes: dict) -> bytes:
    line = json.dumps({**WHOLE, **changes}).encode()
    return line[:place] + insert + line[place + 1 :]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=st.lists(LINES, max_size=4))
def test_no_line_does_worse_than_to_be_refused(project, lines):
    project.image("one.png")
    path = Path(project.source / "items.jsonl")
    path.write_bytes(b"\n".join(lines))
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


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"references": [3]}, "references is not a text or a list of texts"),
        ({"references": []}, "an open question needs at least one reference answer"),
        ({"references": ["", " "]}, "no reference answer holds a text"),
        ({"references": None}, "has no answer, options"),
    ],
)
def test_open_questions_that_are_refused(project, changes, words):
    project.lines({"question": "What does it say?", **changes})
    with pytest.raises(UserError, match=words):
        project.prepare()


def talk(project, item, *lines, **settings):
    """The items of lines that share one picture."""
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
    assert [row["group"] for row in rows[1:4]] == ["1"] * 3
    assert len({row["group"] for row in rows}) == 4
    named = [
        {**line, "talk": n, "turns": line.get("turns", [])} for n, line in zip("abbbcc", lines, strict=True)
    ]
    rows = talk(project, item, *named, group="talk", keys={"turns": "turns"})["items"].to_pylist()
    assert [row["group"] for row in rows] == list("abbbcc")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"turns": ["b"]}, "turn 'b' is no entry of a conversation right before"),
        ({"turns": ["none"]}, "turn 'none' is no entry"),
        ({"turns": ["c"]}, "turn 'c' is no entry"),
        ({"turns": "a"}, "turns is not a list of ids"),
        ({"turns": [1.5]}, "turns is not a list of ids"),
        ({"turns": [True]}, "turns is not a list of ids"),
    ],
)
def test_turns_that_are_refused(project, item, line, reason):
    lines = [{"id": "b"}, {"id": "a", "question": "Where?"}, {"id": "c", "question": "Why?", **line}]
    with pytest.raises(UserError, match=f"line 3 .id 'c'.: {reason}"):
        talk(project, item, *lines)
    tables = talk(project, item, *lines, {"id": "d", "turns": ["c"]}, on_error="skip")
    assert tables["items"].column("id").to_pylist() == ["b", "a"]
    assert tables["rejects"].column("id").to_pylist() == ["c", "d"], "what follows a refused line is refused"


def test_the_groups_of_a_conversation_must_be_the_same(project, item):
    lines = [{"id": "a", "talk": 1}, {"id": "b", "talk": 2, "turns": ["a"]}]
    with pytest.raises(UserError, match="is in another group than its turn 'a'"):
        talk(project, item, *lines, group="talk")


def test_pictures_to_exchange(project, item):
    digests = [hashlib.sha256(project.image(f"{n}.png", shade=n)).hexdigest() for n in range(3)]
    images = {"image": ..., "images": ["0.png", "1.png"]}
    project.lines(item(**images, exchange=["2.png", None]), item(id="b", **images, exchange=None))
    tables = project.prepare()
    assert tables["items"].column("exchange").to_pylist() == [[digests[2], None], []]
    assert sorted(tables["images"].column("digest").to_pylist()) == sorted(digests)


@pytest.mark.parametrize(
    ("exchange", "reason"),
    [
        (["one.png", None], "has 1 images, but 2 entries"),
        ("one.png", "exchange is not a list of paths and nulls"),
        ([3], "exchange is not a list of paths and nulls"),
        (["../one.png"], "not a path inside"),
        (["gone.png"], "gone.png.*no such file"),
    ],
)
def test_exchanges_that_are_refused(project, item, exchange, reason):
    project.image("one.png")
    project.lines(item(exchange=exchange))
    with pytest.raises(UserError, match=reason):
        project.prepare()


def test_the_examples_of_the_documentation(project):
    page = (ROOT / "docs/add-a-dataset.md").read_text("utf-8")
    lines = [json.loads(line) for line in page.splitlines() if line.startswith('    {"id": ')]
    named = {
        path for line in lines for key in ("image", "images", "exchange") for path in paths(line.get(key))
    }
    for shade, path in enumerate(sorted(named)):
        project.image(path, shade=shade)
    project.lines(*lines)
    items = {row["id"]: row for row in project.prepare()["items"].to_pylist()}
    assert list(items) == ["kite-1", "sign-1", "sign-2", "sign-3", "sign-4", "sky-1", "box-1"]
    assert items["sign-4"]["turns"] == ["sign-2", "sign-3"] and items["sign-3"]["group"] == "sign-2"
    assert [digest is None for digest in items["sky-1"]["exchange"]] == [False, True]
    for key in Keys.model_fields:
        assert f"| `{key}`" in page or f"`{key}` |" in page, key


def paths(value):
    return [path for path in (value if isinstance(value, list) else [value]) if path]


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


@pytest.mark.parametrize("boxes", ["drawn", "text"])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"boxes": [[1, 2, 3]]}, "which is not four numbers of pixels"),
        ({"boxes": [[9, 2, 3, 4]]}, "whose corners stand the other way round"),
        ({"boxes": "1 2 3 4"}, "boxes is not a list of boxes"),
        ({"boxes": []}, "boxes is not a list of boxes"),
        ({"boxes": [[1, 2, 3, 4]], "image": ...}, "there is not one image for them"),
        ({"boxes": [[1, 2, 3, 4]], "question": "What is <box 2>?"}, "speaks of <box 2>, but has 1 boxes"),
        ({"boxes": [[1, 2, 3, 4]], "image": "gone.png"}, "'gone.png': no such file"),
    ],
)
def test_boxes_that_are_refused(project, item, changes, reason, boxes):
    project.image("one.png")
    project.lines(item(**changes))
    with pytest.raises(UserError, match=rf"items\.jsonl line 1 \(id 'q1'\): .*{reason}"):
        project.prepare(boxes=boxes)


@pytest.mark.parametrize("answer", [10**30, -1000])
def test_an_index_far_outside_is_refused_like_any_other(project, answer):
    project.image("one.png")
    project.lines({"question": "What?", "options": ["a", "b"], "answer": answer, "image": "one.png"})
    with pytest.raises(UserError, match="lies outside the options, 0 to 1"):
        project.prepare()
