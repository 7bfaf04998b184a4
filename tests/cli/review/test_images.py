"""`vouch review render` and `vouch review exchange`."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from stages.prepare import main as prepare
from stages.vary import main as vary
from tests.cli.conftest import Vouch, set_params
from tests.cli.csv_rows import load, save
from tests.cli.review.conftest import QUESTION, prepare_greys, stage
from vouch.cli.main import main
from vouch.tables.asked import ITEMS, PROMPTS, items_path, prompts_path


@pytest.fixture
def greys(bare: Path) -> Path:
    prepare_greys({"i0": (250, 10), "i1": (20, 240), "i2": (230, 30)}, (40, 20), ["original"])
    return bare


def first_row(path: Path) -> list[int]:
    """The first row of a picture without repetitions."""
    row = [int(value) for value in np.asarray(Image.open(path))[0, :, 0]]
    return [value for place, value in enumerate(row) if place == 0 or row[place - 1] != value]


def test_pictures_and_a_page(greys: Path, vouch: Vouch) -> None:
    said = vouch("review", "render", "greys", "vs_s+option_order", "--items", "2")
    assert "render: 2 items, 4 images in renders/greys/vs_s+option_order" in said
    folder = greys / "renders/greys/vs_s+option_order"
    assert {path.name: first_row(path) for path in sorted(folder.glob("*.png"))} == {
        "001.original.1.png": [250, 10],
        "001.vs_s+option_order.1.png": [10, 250],
        "002.original.1.png": [20, 240],
        "002.vs_s+option_order.1.png": [240, 20],
    }
    page = (folder / "index.html").read_text("utf-8")
    assert "Which is &lt;b&gt;lighter&lt;/b&gt;, &quot;left&quot; or right?\nA. Right\nB. Left\n" in page
    assert page.count("Correct (kept): Left") == 1 and page.count("Correct (swapped): Right") == 1
    assert '<img src="001.vs_s+option_order.1.png" alt="side_by_side">' in page and "<script" not in page


def test_prompts_with_one_picture_share_its_file(greys: Path, vouch: Vouch) -> None:
    vouch("review", "render", "greys", "circular", "--into", "seen", "--items", "1")
    assert [path.name for path in (greys / "seen").glob("*.png")] == ["001.original.1.png"]
    assert "i0/circular/2" in (greys / "seen/index.html").read_text("utf-8")
    vouch("review", "render", "greys", "vr_b_5", "--into", "seen")
    assert len(list((greys / "seen").glob("*.png"))) == 6, "what it made it may make anew"
    vouch("review", "render", "greys", "original")
    assert len(list((greys / "renders/greys/original").glob("*.png"))) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["greyz", "vr_b"], "did you mean greys?"),
        (["greys", "vr_bb"], "unknown variation vr_bb"),
        (["greys", "vr_b+vr_l"], "both change the images"),
        (["greys", "ls_n"], "ls_n: no item of greys gets such a prompt"),
        (["greys", "vr_b", "--items", "0"], "--items: give a number of items from 1"),
        (["greys", "vr_b", "--into", "mine"], "mine: exists, and `vouch review render` did not make it"),
    ],
)
def test_what_cannot_be_rendered_is_one_line(
    greys: Path, vouch: Vouch, arguments: list[str], said: str
) -> None:
    (greys / "mine").mkdir()
    (greys / "mine/letter.txt").write_text("keep", "utf-8")
    assert said in vouch("review", "render", *arguments, status=1)
    assert not (greys / "renders").exists() and (greys / "mine/letter.txt").read_text("utf-8") == "keep"


@pytest.mark.parametrize("place", ["items", "images"])
def test_what_is_missing_is_named(greys: Path, vouch: Vouch, place: str) -> None:
    (greys / f"data/{place}/greys.parquet").unlink()
    said = vouch("review", "render", "greys", "vr_b", status=1)
    assert f"data/{place}/greys.parquet: no such file" in said
    assert not list(greys.glob("renders/greys/*")), "nothing half-written"


DECISIONS = Path("decisions/exchange/greys.csv")
SHADES = {"a": (250, 10), "b": (20, 240), "c": (230, 30)}  # left and right; the lighter one wins


@pytest.fixture
def project(bare: Path) -> None:
    """A checkout whose dataset `greys` compares pictures, prepared."""
    prepare_greys(SHADES, (400, 40), ["original", "vs_e"], rows="exchangeable")


def exchange(*words: object) -> None:
    assert main(["review", "exchange", "greys", *map(str, words)]) == 0


def exchanged() -> list[dict[str, Any]]:
    """Runs `vary`; the prompts whose picture was exchanged."""
    stage(vary, "vary", "greys")
    return [row for row in PROMPTS.read(prompts_path("greys")).to_pylist() if row["variation"] == "vs_e"]


def exported(path: Path, *more: str) -> list[dict[str, str]]:
    exchange("--export", path, *more)
    return load(path)


def shade_of(digest: str) -> int:
    """The shade of a picture, by the item that shows it."""
    for row in ITEMS.read(items_path("greys")).to_pylist():
        if digest in row["images"]:
            return SHADES[row["id"]][row["images"].index(digest)]
    raise AssertionError(digest)


def lighter(row: dict[str, str]) -> str:
    """What a person would say."""
    return "first" if shade_of(row["first"]) > shade_of(row["second"]) else "second"


def test_out_decided_and_back_into_prompts(
    project: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exchange()
    said = capsys.readouterr().out
    assert "3 of 3 items compare two images" in said and "3 pairs, 0 decided" in said
    file = tmp_path / "review.csv"
    rows = exported(file)
    assert [(row["of_first"], row["of_second"]) for row in rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert {row["question"] for row in rows} == {f"'{QUESTION}"}, "no spreadsheet runs it"
    assert {row["winner"] for row in rows} == {""}
    assert {shade_of(row["first"]) for row in rows} == {10, 20}, "pictures that lost"
    save(file, [{**row, "winner": lighter(row), "by": "me"} for row in rows])
    exchange("--import", file)
    assert "3 decisions taken over, 3 in decisions/exchange/greys.csv" in capsys.readouterr().out
    assert DECISIONS.read_text("utf-8").startswith("question,replaced,first,second,winner,by,why\n")

    stage(vary, "vary", "greys")
    prompts = PROMPTS.read(prompts_path("greys")).to_pylist()
    assert [row["id"] for row in prompts] == ["b/original", "b/vs_e", "c/original", "c/vs_e"], (
        "the darkest picture beats none, and only rows that can be exchanged are asked"
    )
    for row in prompts:
        (recipe,) = row["images"]
        shades = [shade_of(digest) for digest in recipe["images"]]
        assert row["answers"] == [shades.index(max(shades))], "the lighter picture is the answer"
    exchange()
    assert "3 decided\nexchange: 2 items get an image by decisions, 0 have" in capsys.readouterr().out

    first = DECISIONS.read_bytes()
    assert [row["winner"] for row in exported(file)] == [lighter(row) for row in rows]
    exchange("--import", file)
    assert DECISIONS.read_bytes() == first


def test_decisions_shown_the_other_way_round(project: None, tmp_path: Path) -> None:
    file = tmp_path / "review.csv"
    row = exported(file)[0]
    turned = {
        **row,
        "first": row["second"],
        "second": row["first"],
        "winner": "first",
        "why": "it is lighter",
    }
    save(file, [turned])
    exchange("--import", file)
    again = exported(file)[0]
    assert (again["winner"], again["why"]) == ("second", "it is lighter") and again["first"] == row["first"]


def test_mirrored_pairs_are_pictures_that_won_and_leave_the_others_alone(
    project: None, tmp_path: Path
) -> None:
    file = tmp_path / "review.csv"
    rows = exported(file)
    save(file, [{**rows[0], "winner": "neither"}])
    exchange("--import", file)
    mirrored = exported(file, "--mirrored")
    assert {shade_of(row["first"]) for row in mirrored} == {250, 240}
    assert {row["replaced"] for row in mirrored} == {"loser"} and len(mirrored) == 3
    save(file, [{**row, "winner": lighter(row)} for row in mirrored])
    exchange("--import", file)
    assert len(DECISIONS.read_text("utf-8").splitlines()) == 5
    found = exchanged()
    assert [row["item"] for row in found] == ["b", "c"], "no picture beats the lightest one"
    for row in found:
        (recipe,) = row["images"]
        shades = [shade_of(digest) for digest in recipe["images"]]
        assert min(shades) > 200 and row["answers"] == [shades.index(max(shades))]


def test_pages_to_judge_by(project: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = tmp_path / "pages"
    rows = exported(tmp_path / "review.csv", "--images", str(pages))
    index = (pages / "index.html").read_text("utf-8")
    assert "question-1.html" in index and "(3 pairs)" in index and "<b>lighter" not in index
    page = (pages / "question-1.html").read_text("utf-8")
    assert re.findall(r"row (\d)", page) == ["2", "3", "4"]
    shown = re.findall(r'src="([0-9a-f]{64})\.jpg"', page)
    assert shown == [row[side] for row in rows for side in ("first", "second")]
    for digest in shown:
        with Image.open(pages / f"{digest}.jpg") as thumbnail:
            assert thumbnail.size == (320, 32)
            assert abs(thumbnail.convert("L").getpixel((5, 5)) - shade_of(digest)) < 3
    exported(tmp_path / "review.csv", "--images", str(pages))
    (pages / "exchange.txt").unlink()
    before = (tmp_path / "review.csv").read_bytes()
    capsys.readouterr()
    assert main(["review", "exchange", "greys", "--export", "review.csv", "--images", str(pages)]) == 1
    assert "`vouch review exchange` did not make it" in capsys.readouterr().err
    assert (tmp_path / "review.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"winner": "left"}, "winner: unknown name left; valid: first, neither, second"),
        ({"replaced": "winners"}, "did you mean winner?"),
        ({"question": "Else?"}, "no question 'Else?' that items of greys ask"),
        ({"first": "0" * 64}, "first: no image '0000000000000000' lost in that question"),
    ],
)
def test_bad_files_are_one_line_and_change_nothing(
    project: None, tmp_path: Path, vouch: Vouch, change: dict[str, str], said: str
) -> None:
    file = tmp_path / "review.csv"
    save(file, [{**exported(file)[0], "winner": "first", **change}])
    assert said in vouch("review", "exchange", "greys", "--import", file, status=1)
    assert not DECISIONS.exists()


def test_names_and_options_that_do_not_fit(project: None, vouch: Vouch) -> None:
    ITEMS.write(items_path("greys"), ITEMS.read(items_path("greys")).to_pylist()[:1])
    for words, said in (
        (["grays"], "did you mean greys?"),
        (["greys", "--import", "nowhere.csv"], "no such file; write it with --export"),
        (["greys", "--images", "pages"], "give --export FILE as well"),
        (["greys", "--export", "review.csv"], "nothing to compare"),
    ):
        assert said in vouch("review", "exchange", *words, status=1)
    assert not Path("review.csv").exists()


def ordered(text: str, *more: str, name: str = "shades.csv") -> int:
    Path(name).write_bytes(text.encode())
    return main(["review", "exchange", "greys", "--order", name, *more])


def test_depths_turn_comparisons_of_compbench(project: None, tmp_path: Path) -> None:
    """Its annotations say which object is closer, not how far away either is; who has depths gives them."""
    depths = [(2.5, 1.0), (1.5, 4.0), (3.0, 6.0)]
    rows = []
    for number, (left, right) in enumerate(depths):
        paths = [f"obj_images/test/chair/{number}{side}.jpg" for side in "ab"]
        for shade, path in zip((left, right), paths, strict=True):
            (tmp_path / "nyu" / path).parent.mkdir(parents=True, exist_ok=True)
            Image.new("L", (40, 40), int(40 * shade)).save(tmp_path / "nyu" / path)
        row = {"image_1": paths[0], "image_2": paths[1], "question": "Which chair is closer to the camera?"}
        rows.append(row | {"answer": "Left" if left < right else "Right", "object": "chair"})
    (tmp_path / "nyu/depth_0_529_rebalanced.json").write_text(json.dumps(rows), "utf-8")
    entry = {"loader": "compbench", "source": "nyu", "template": "kostumov", "variant": "joined"}
    entry["rows"] = "exchangeable"
    set_params(datasets={"greys": {**entry, "settings": {"set": "depth", "expect": None}}})
    stage(prepare, "prepare", "greys")
    lines = "".join(f"{number},{left},{right}\n" for number, (left, right) in enumerate(depths))
    assert ordered(f"id,first,second\n{lines}", name="depths.csv") == 0
    known = {
        digest: depth
        for row, pair in zip(ITEMS.read(items_path("greys")).to_pylist(), depths, strict=True)
        for digest, depth in zip(row["images"], pair, strict=True)
    }
    found = exchanged()
    assert [row["item"] for row in found] == ["0", "1"], "6 m is closer than no other chair that lost"
    for row in found:
        shown = [known[digest] for digest in row["images"][0]["images"]]
        assert row["answers"] == [shown.index(min(shown))], "the closer chair is the answer"
        assert row["answers"] != [depths[int(row["item"])].index(min(depths[int(row["item"])]))], "turned"


AS_NUMBERS = "".join(f"{name},{left},{right}\r\n" for name, (left, right) in SHADES.items())


def test_a_known_order_decides_as_a_person_would(
    project: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = exported(tmp_path / "review.csv")
    save(tmp_path / "review.csv", [{**rows[0], "winner": "neither", "by": "me"}])
    exchange("--import", tmp_path / "review.csv")
    capsys.readouterr()
    assert ordered(f"\ufeffid,first,second\r\n{AS_NUMBERS}") == 0, "as a spreadsheet saves it"
    assert "2 of 3 pairs decided by shades.csv, 1 stay as they were" in capsys.readouterr().out
    decided = exported(tmp_path / "review.csv")
    assert [row["winner"] for row in decided] == ["neither", *map(lighter, rows[1:])], "people come first"
    assert {row["by"] for row in decided} == {"me", "shades.csv"}

    DECISIONS.unlink()
    lines = [json.dumps({"id": name, "order": [-a, -b]}) for name, (a, b) in SHADES.items()]
    assert ordered("\n".join([*lines, '{"id": "more"}']), "--mirrored", name="items.jsonl") == 0
    mirrored = exported(tmp_path / "review.csv", "--mirrored")
    assert [row["winner"] for row in mirrored] == list(map(lighter, mirrored)), "the answers say: less wins"
    found = exchanged()
    assert [row["item"] for row in found] == ["b", "c"]
    before = DECISIONS.read_bytes()
    assert ordered("\n".join(lines), "--mirrored", name="items.jsonl") == 0
    assert DECISIONS.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,first,second\na,250,10\nb,240,20\n", "line 3: item b: 20 wins against 240, but by shades.csv"),
        ("id,first,second\na,7,7\n", "line 2: item a: both images have 7, but one is the answer"),
        ("id,first,second\nz,7,8\n", "line 2: no item 'z' in greys"),
        ("id,first,second\na,7,8\na,7,9\n", "line 3: item a is a duplicate of "),
        ("id,first,second\na,7,nan\n", "line 2: 'nan' is not a number"),
        ("id,first,second\na,=1+1,2\n", "line 2: '=1+1' is not a number"),
        ("id,first,third\na,1,2\n", "unknown column third; valid: "),
        ("id,first,second\n", "has no item"),
        ('{"id": "a", "order": [1]}', "line 1: order is not a list of two numbers"),
        ('{"id": "a", "order": [true, 2]}', "line 1: True is not a number"),
        ('{"id": "a", "order": [NaN, 2]}', "line 1: has NaN, which is not JSON"),
    ],
)
def test_an_order_that_cannot_be_is_one_line_and_changes_nothing(
    project: None, vouch: Vouch, text: str, said: str
) -> None:
    file = Path("shades.jsonl" if text.startswith("{") else "shades.csv")
    file.write_text(text, "utf-8")
    problem = vouch("review", "exchange", "greys", "--order", file, status=1)
    assert said.replace("shades.csv", str(file.absolute())) in problem and not DECISIONS.exists()
