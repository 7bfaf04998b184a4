"""The stage as a whole: every bad input stops it with one line, or lands among the rejects."""

import hashlib
import json
import os
import tracemalloc

import pytest

from stages.prepare import main
from vouch.datasets.flags import default_group
from vouch.pipeline.errors import UserError
from vouch.tables.asked import DROPPED

GOOD = {"id": "good", "question": "Fine?", "options": ["yes", "no"], "answer": 0, "image": "one.png"}


def test_one_item(project, item):
    data = project.image("one.png", "RGBA")
    tables = project.prepare() if project.lines(item(hint="", category="animals")) else {}
    digest = hashlib.sha256(data).hexdigest()
    assert tables["items"].to_pylist() == [
        {
            "id": "q1",
            "group": default_group("What is shown?", [digest]),
            "question": "What is shown?",
            "phrasings": [],
            "hint": None,
            "options": ["a kite", "a hat", "a cat"],
            "answers": [1],
            "references": [],
            "images": [digest],
            "category": "animals",
            "kind": "choice",
            "turns": [],
            "exchange": [],
            "source_id": "q1",
            "flags": ["blank_image", "non_rgb", "tiny_image"],
        }
    ]
    picture = {"digest": digest, "bytes": data, "format": "PNG", "mode": "RGBA", "width": 4, "height": 3}
    assert tables["images"].to_pylist() == [picture]
    assert tables["rejects"].num_rows == tables["published"].num_rows == 0
    assert project.notes == {"items": 1, "images": 1, "rejects": 0, "items_without_image": 0}


def test_an_image_is_stored_once(project, item):
    project.image("one.png")
    project.image("sub/copy.png")
    project.image("two.png", shade=9)
    (project.source / "link.png").symlink_to("one.png")
    project.lines(
        item(id="a", image="link.png"),
        item(id="b", image="sub/copy.png"),
        item(id="c", image=..., images=["two.png", "one.png", "two.png"]),
    )
    tables = project.prepare()
    assert tables["images"].num_rows == 2
    assert [len(images) for images in tables["items"].column("images").to_pylist()] == [1, 1, 3]
    assert tables["items"].column("group")[0] == tables["items"].column("group")[1]


def test_same_inputs_same_bytes(project, item):
    project.image("one.png")
    project.lines(*(item(id=f"q{n}") for n in range(30)))
    project.prepare()
    first = project.contents()
    project.prepare()
    assert project.contents() == first
    assert len(first) == 5


def _outside(project):
    secret = project.root / "secret.png"
    secret.write_bytes((project.source / "one.png").read_bytes())
    (project.source / "link.png").symlink_to(secret)
    (project.source / "away").symlink_to(project.root)
    (project.source / "round.png").symlink_to("round.png")
    (project.source / "now").symlink_to(".")


def _damaged(project):
    whole = project.image("noise.png", size=(90, 90))
    (project.source / "cut.png").write_bytes(whole[:60])
    (project.source / "page.png").write_bytes(b"<html><body>404 Not Found</body></html>")
    (project.source / "text.png").write_bytes(b"hello")
    (project.source / "none.png").write_bytes(b"")
    os.mkfifo(project.source / "pipe.png")


OPEN = {"options": ..., "answer": ...}
BAD = {
    "image is missing": ({"image": "nowhere.png"}, "'nowhere.png': no such file"),
    "image is a folder": ({"image": "."}, "no such file"),
    "image is a pipe": ({"image": "pipe.png"}, "no such file"),
    "image is cut off": ({"image": "cut.png"}, "cannot be decoded"),
    "image is a web page": ({"image": "page.png"}, "web page"),
    "image is text": ({"image": "text.png"}, "not an image"),
    "image is empty": ({"image": "none.png"}, "empty file"),
    "image path is absolute": ({"image": "/etc/passwd"}, "inside the dataset's folder"),
    "image path goes up": ({"image": "../secret.png"}, "inside the dataset's folder"),
    "image path goes up later": ({"image": "sub/../../secret.png"}, "inside the dataset's folder"),
    "image is a link out": ({"image": "link.png"}, "leads out"),
    "image is behind a link out": ({"image": "away/secret.png"}, "leads out"),
    "image is behind a link to a folder": ({"image": "now/one.png"}, "name the folder itself"),
    "image is a link to itself": ({"image": "round.png"}, "'round.png': no such file in toy"),
    "image path has a NUL": ({"image": "a\0b"}, "no such file"),
    "image path is too long": ({"image": "x" * 5000}, "cannot be read"),
    "image path is empty": ({"image": ""}, "inside the dataset's folder"),
    "second image is bad": ({"image": ..., "images": ["two.png", "page.png"]}, "'page.png': is a web page"),
    "id stands twice": ({"id": "good"}, "duplicate id, first used at"),
    "answer is outside": ({"answer": 3}, "is not an index of its options"),
    "answer is negative": ({"answer": -1}, "is not an index of its options"),
    "answer falls to a missing option": (
        {"options": ["a", "b", None], "answer": 2},
        "is not an index of its options",
    ),
    "one option": ({"options": ["a"], "answer": 0}, "at least 2"),
    "no option": ({"options": [], "answer": 0}, "at least 2"),
    "27 options": ({"options": [f"o{n}" for n in range(27)]}, "more than the 26"),
    "question is empty": ({"question": "  "}, "question is empty"),
    "options are a text": ({"options": "a, b"}, "options is a str"),
    "an option is a number": ({"options": ["a", 2]}, r"options\[1\] is a int"),
    "answer is a float": ({"answer": 1.0}, "answer is a float"),
    "answer is a bool": ({"answer": True}, "answer is a bool"),
    "answer is null": ({"answer": None}, "answer is a NoneType"),
    "answers are none": ({"answer": []}, "no correct option"),
    "question is a list": ({"question": ["a"]}, "question is a list"),
    "hint is a number": ({"hint": 4}, "hint is a int"),
    "id is a float": ({"id": 1.5}, "id is a float"),
    "no question": ({"question": ...}, "has no question"),
    "no options": ({"options": ...}, "has no options"),
    "no answer": ({"answer": ...}, "has no answer"),
    "half a surrogate": ({"question": "\ud800"}, "surrogate"),
    "answer far outside": ({"answer": 10**30}, "is not an index of its options, 0 to 2"),
    "image and images": ({"images": ["one.png"]}, "both image and images"),
    "image is a list": ({"image": ["one.png"]}, "image is a list"),
    "images are a text": ({"image": ..., "images": "one.png"}, "not a list of paths"),
    "images hold a number": ({"image": ..., "images": [1]}, "not a list of paths"),
    "category is a number": ({"category": 4}, "category is a int"),
    "options and references": ({"references": ["a kite"]}, "both options and references"),
    "a reference is a number": ({**OPEN, "references": [3]}, "references is not a text or a list of texts"),
    "no reference": ({**OPEN, "references": []}, "an open question needs at least one reference answer"),
    "references are blank": ({**OPEN, "references": ["", " "]}, "every reference answer is blank"),
    "references are null": ({**OPEN, "references": None}, "has no answer, options"),
    "exchange is too long": ({"exchange": ["one.png", None]}, "has 1 images, but 2 entries"),
    "exchange is a text": ({"exchange": "one.png"}, "exchange is not a list of paths and nulls"),
    "exchange holds a number": ({"exchange": [3]}, "exchange is not a list of paths and nulls"),
    "exchange goes up": ({"exchange": ["../one.png"]}, "not a path inside"),
    "exchange is missing": ({"exchange": ["gone.png"]}, "gone.png.*no such file"),
}
BAD_LINES = {
    "not JSON": (b'{"id": 1,', "not JSON"),
    "not an object": (b"[1, 2]", "not an object"),
    "a bare text": (b'"hello"', "not an object"),
    "NaN": (b'{"question": "q", "answer": NaN}', "NaN, which is not JSON"),
    "infinity": (b'{"question": "q", "answer": -Infinity}', "not JSON"),
    "not UTF-8": (b'{"question": "caf\xe9"}', "UTF-8"),
    "a key twice": (b'{"answer": 1, "answer": 2}', "duplicate key 'answer'"),
    "too deep": (b"[" * 100_000, "brackets are too deep"),
    "too long a number": (b'{"answer": ' + b"9" * 5000 + b"}", "number is too long"),
}


@pytest.mark.parametrize("case", [*BAD, *BAD_LINES])
def test_bad_line(project, item, case):
    project.image("one.png")
    project.image("two.png", shade=5)
    _outside(project)
    _damaged(project)
    changes, reason = BAD.get(case) or BAD_LINES[case]
    project.lines(GOOD, changes if isinstance(changes, bytes) else item(**changes), {**GOOD, "id": "last"})
    with pytest.raises(UserError, match=reason) as caught:
        project.prepare()
    assert str(caught.value).startswith("toy/items.jsonl line 2")
    assert "on_error" in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600
    assert project.written() == []

    tables = project.prepare(on_error="skip")
    assert tables["items"].column("id").to_pylist() == ["good", "last"]
    assert tables["images"].num_rows == 1, "no image of a rejected item is kept"
    (reject,) = tables["rejects"].to_pylist()
    assert reject["dataset"] == "toy" and reject["where"] == "toy/items.jsonl line 2"
    assert "\n" not in reject["reason"]


def test_no_item_left(project, item):
    for content, words in (
        (b"", r"toy/items\.jsonl: is empty"),
        (b"\n \n", r"toy/items\.jsonl: is empty"),
        (json.dumps(item(answer=7)).encode(), "no usable item, 1 rejected"),
    ):
        (project.source / "items.jsonl").write_bytes(content)
        with pytest.raises(UserError, match=words):
            project.prepare(on_error="skip")
    assert project.written() == []


def test_an_old_output_survives_a_failure(project, item):
    project.image("one.png")
    project.lines(item())
    project.prepare()
    before = project.contents()
    project.lines(item(), item(answer=9))
    with pytest.raises(UserError):
        project.prepare()
    assert project.contents() == before


def test_memory_stays_flat(project, item):
    """Of 200 images of 1 MB: 16 of a row group, its column, 13 looked at ahead, and what decoding takes."""
    count, size = 100, 1_000_000
    for number in range(count):
        head = project.image("head.bmp", form="BMP", shade=number)
        (project.source / f"{number}.bmp").write_bytes(head + b"\0" * size)
    project.lines(item(image="0.bmp"))
    main(project.run())  # what is imported only then is no image's
    project.lines(*(item(id=f"q{n}", image=f"{n}.bmp") for n in range(count)))
    tracemalloc.start()
    main(project.run())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 60 * size


def test_options_without_texts_and_questions_without_images(project):
    """As released answers leave SEED and POPE: letters alone, and few questions about many images."""
    seed = [
        {"id": f"s{n}", "question": "Where?", "options": blank, "answer": "ABCD"[n]}
        for n, blank in enumerate([[""] * 4, [None] * 4, [" "] * 4, ["", "a", "b", "c"]])
    ]
    pope = [
        {"id": f"p{n}", "question": "Is there a dog?", "options": ["Yes", "No"], "answer": n % 2}
        for n in range(6)
    ]
    pope[4]["group"] = pope[5]["group"] = "g"
    project.lines(*seed, *pope)
    items = project.prepare()["items"].to_pylist()
    assert [row["flags"] for row in items[:3]] == [["letters_only"]] * 3
    assert [len(row["options"]) for row in items[:3]] == [4, 4, 4] and "empty_option" in items[3]["flags"]
    assert not any(DROPPED.count(flag) for row in items[4:] for flag in row["flags"])
    assert len({row["group"] for row in items}) == 9 and items[8]["group"] == items[9]["group"] == "g"
