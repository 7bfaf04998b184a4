"""`vouch review render` and `vouch review exchange`: images that a person looks at."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from stages.prepare import main as prepare
from stages.vary import main as vary
from tests.cli.conftest import Vouch, lay_out, set_params
from tests.cli.reviewed import QUESTION, load, prepare_greys, save, stage
from vouch.cli.main import main
from vouch.tables.asked import ITEMS, PROMPTS, REWRITES, items_path, prompts_path, rewrites_path

DECISIONS = Path("decisions/exchange/greys.csv")
SHADES = {"a": (250, 10), "b": (20, 240), "c": (230, 30)}  # left and right; the lighter one wins
FILE = Path("review.csv")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose dataset `greys` compares images, prepared; each test gets a copy."""
    folder = tmp_path_factory.mktemp("greys")
    lay_out(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        prepare_greys(SHADES, (400, 40), ["original", "vs_e"], rows="exchangeable")
    return folder


@pytest.fixture
def greys(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The checkout, which is the present folder."""
    copy = tmp_path / "checkout"
    shutil.copytree(prepared, copy, symlinks=True)
    monkeypatch.chdir(copy)
    return copy


def shades_in(path: Path) -> list[int]:
    """The shades of the first row of an image, from left to right."""
    row = [int(value) for value in np.asarray(Image.open(path))[0, :, 0]]
    return [shade for index, shade in enumerate(row) if index == 0 or row[index - 1] != shade]


def test_images_and_a_page(greys: Path, vouch: Vouch) -> None:
    text = vouch("review", "render", "greys", "vs_s+option_order", "--items", "2")
    assert "render: 2 items, 4 images in renders/greys/vs_s+option_order" in text
    folder = greys / "renders/greys/vs_s+option_order"
    assert {path.name: shades_in(path) for path in sorted(folder.glob("*.png"))} == {
        "001.original.1.png": [250, 10],
        "001.vs_s+option_order.1.png": [10, 250],
        "002.original.1.png": [20, 240],
        "002.vs_s+option_order.1.png": [240, 20],
    }
    page = (folder / "index.html").read_text("utf-8")
    assert "Which is &lt;b&gt;lighter&lt;/b&gt;, &quot;left&quot; or right?\nA. Right\nB. Left\n" in page
    assert page.count("Correct (kept): Left") == 1 and page.count("Correct (swapped): Right") == 1
    assert '<img src="001.vs_s+option_order.1.png" alt="side_by_side">' in page and "<script" not in page


def test_prompts_with_one_image_share_its_file(greys: Path, vouch: Vouch) -> None:
    vouch("review", "render", "greys", "circular", "--into", "seen", "--items", "1")
    assert [path.name for path in (greys / "seen").glob("*.png")] == ["001.original.1.png"]
    assert "a/circular/2" in (greys / "seen/index.html").read_text("utf-8")
    vouch("review", "render", "greys", "vr_b_5", "--into", "seen")
    assert len(list((greys / "seen").glob("*.png"))) == 6, "what it made it may make anew"
    vouch("review", "render", "greys", "original")
    assert len(list((greys / "renders/greys/original").glob("*.png"))) == 3


def test_what_cannot_be_rendered_is_one_line(greys: Path, vouch: Vouch) -> None:
    (greys / "mine").mkdir()
    (greys / "mine/letter.txt").write_text("keep", "utf-8")
    for words, claim in (
        ("greyz vr_b", "did you mean greys?"),
        ("greys vr_bb", "unknown variation vr_bb"),
        ("greys vr_b+vr_l", "both change the images"),
        ("greys ls_n", "ls_n: no item of greys gets such a prompt"),
        ("greys vr_b --items 0", "--items: give a number of items from 1"),
        ("greys vr_b --into mine", "mine: exists, and `vouch review render` did not make it"),
    ):
        assert claim in vouch("review", "render", *words.split(), status=1)
    for table in ("images", "items"):
        (greys / f"data/{table}/greys.parquet").unlink()
        text = vouch("review", "render", "greys", "vr_b", status=1)
        assert f"data/{table}/greys.parquet: nothing was run here yet; run `dvc repro`" in text
    assert not list(greys.glob("renders/greys/*")), "nothing half-written"
    assert (greys / "mine/letter.txt").read_text("utf-8") == "keep"


def exchange(*words: object) -> None:
    assert main(["review", "exchange", "greys", *map(str, words)]) == 0


def exchanged() -> list[dict[str, Any]]:
    """Runs `vary`; the prompts whose image was exchanged."""
    stage(vary, "vary", "greys")
    return [row for row in PROMPTS.read(prompts_path("greys")).to_pylist() if row["variation"] == "vs_e"]


def exported(*more: str) -> list[dict[str, str]]:
    exchange("--export", FILE, *more)
    return load(FILE)


def shade_of(digest: str) -> int:
    """The shade of an image, by the item that shows it."""
    for row in ITEMS.read(items_path("greys")).to_pylist():
        if digest in row["images"]:
            return SHADES[row["id"]][row["images"].index(digest)]
    raise AssertionError(digest)


def lighter(row: dict[str, str]) -> str:
    """What a person would say."""
    return "first" if shade_of(row["first"]) > shade_of(row["second"]) else "second"


def test_out_decided_and_back_into_prompts(greys: Path, vouch: Vouch) -> None:
    text = vouch("review", "exchange", "greys")
    assert "3 of 3 items compare two images" in text and "3 pairs, 0 decided" in text
    rows = exported()
    assert [(row["of_first"], row["of_second"]) for row in rows] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert {row["question"] for row in rows} == {f"'{QUESTION}"}, "no spreadsheet runs it"
    assert {row["winner"] for row in rows} == {""}
    assert {shade_of(row["first"]) for row in rows} == {10, 20}, "images that lost"
    save(FILE, [{**row, "winner": lighter(row), "by": "me"} for row in rows])
    text = vouch("review", "exchange", "greys", "--import", FILE)
    assert "3 decisions taken over, 3 in decisions/exchange/greys.csv" in text
    assert DECISIONS.read_text("utf-8").startswith("question,replaced,first,second,winner,by,why\n")

    exchanged()
    prompts = PROMPTS.read(prompts_path("greys")).to_pylist()
    assert [row["id"] for row in prompts] == ["b/original", "b/vs_e", "c/original", "c/vs_e"], (
        "the darkest image beats none, and only rows that can be exchanged are asked"
    )
    for row in prompts:
        shades = [shade_of(digest) for recipe in row["images"] for digest in recipe["images"]]
        assert row["answers"] == [shades.index(max(shades))], "the lighter image is the answer"
    text = vouch("review", "exchange", "greys")
    assert "3 decided\nexchange: 2 items get an image by decisions, 0 have" in text
    first = DECISIONS.read_bytes()
    assert [row["winner"] for row in exported()] == [lighter(row) for row in rows]
    exchange("--import", FILE)
    assert DECISIONS.read_bytes() == first


def test_decisions_shown_the_other_way_round(greys: Path) -> None:
    row = exported()[0]
    turned = {"first": row["second"], "second": row["first"], "winner": "first", "why": "it is lighter"}
    save(FILE, [{**row, **turned}])
    exchange("--import", FILE)
    again = exported()[0]
    assert (again["winner"], again["why"]) == ("second", "it is lighter") and again["first"] == row["first"]


def test_mirrored_pairs_are_images_that_won_and_leave_the_others_alone(greys: Path) -> None:
    save(FILE, [{**exported()[0], "winner": "neither"}])
    exchange("--import", FILE)
    mirrored = exported("--mirrored")
    assert {shade_of(row["first"]) for row in mirrored} == {250, 240}
    assert {row["replaced"] for row in mirrored} == {"loser"} and len(mirrored) == 3
    save(FILE, [{**row, "winner": lighter(row)} for row in mirrored])
    exchange("--import", FILE)
    assert len(DECISIONS.read_text("utf-8").splitlines()) == 5
    found = exchanged()
    assert [row["item"] for row in found] == ["b", "c"], "no image beats the lightest one"
    for row in found:
        shades = [shade_of(digest) for recipe in row["images"] for digest in recipe["images"]]
        assert min(shades) > 200 and row["answers"] == [shades.index(max(shades))]


def test_pages_to_judge_by(greys: Path, vouch: Vouch) -> None:
    pages = greys / "pages"
    rows = exported("--images", "pages")
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
    exported("--images", "pages")
    (pages / "exchange.txt").unlink()
    before = FILE.read_bytes()
    text = vouch("review", "exchange", "greys", "--export", FILE, "--images", pages, status=1)
    assert "`vouch review exchange` did not make it" in text and FILE.read_bytes() == before


def test_bad_files_and_options_are_one_line_and_change_nothing(greys: Path, vouch: Vouch) -> None:
    (row, *_) = exported()
    for change, claim in (
        ({"winner": "left"}, "winner: unknown name left; valid: first, neither, second"),
        ({"replaced": "winners"}, "did you mean winner?"),
        ({"question": "Else?"}, "no question 'Else?' that items of greys ask"),
        ({"first": "0" * 64}, "first: no image '0000000000000000' lost in that question"),
    ):
        save(FILE, [{**row, "winner": "first", **change}])
        assert claim in vouch("review", "exchange", "greys", "--import", FILE, status=1)
    FILE.unlink()
    ITEMS.write(items_path("greys"), ITEMS.read(items_path("greys")).to_pylist()[:1])
    for words, claim in (
        ("grays", "did you mean greys?"),
        ("greys --import nowhere.csv", "no such file; write it with --export"),
        ("greys --images pages", "give --export FILE as well"),
        ("greys --export review.csv", "nothing to compare"),
    ):
        assert claim in vouch("review", "exchange", *words.split(), status=1)
    assert not FILE.exists() and not DECISIONS.exists()


def ordered(text: str, *more: str, name: str = "shades.csv") -> None:
    Path(name).write_bytes(text.encode())
    exchange("--order", name, *more)


def test_depths_turn_comparisons_of_compbench(bare: Path) -> None:
    """Its annotations say which object is closer, not how far away either is; who has depths gives them."""
    depths = [(2.5, 1.0), (1.5, 4.0), (3.0, 6.0)]
    rows = []
    for number, (left, right) in enumerate(depths):
        paths = [f"obj_images/test/chair/{number}{side}.jpg" for side in "ab"]
        for shade, path in zip((left, right), paths, strict=True):
            (bare / "nyu" / path).parent.mkdir(parents=True, exist_ok=True)
            Image.new("L", (40, 40), int(40 * shade)).save(bare / "nyu" / path)
        row = {"image_1": paths[0], "image_2": paths[1], "question": "Which chair is closer to the camera?"}
        rows.append(row | {"answer": "Left" if left < right else "Right", "object": "chair"})
    (bare / "nyu/depth_0_529_rebalanced.json").write_text(json.dumps(rows), "utf-8")
    entry = {"loader": "compbench", "source": "nyu", "template": "kostumov", "variant": "joined"}
    settings = {"set": "depth", "expect": None}
    greys = {**entry, "rows": "exchangeable", "settings": settings, "variations": ["original", "vs_e"]}
    set_params(datasets={"greys": greys})
    stage(prepare, "prepare", "greys")
    REWRITES.write(rewrites_path("greys"), [])
    lines = "".join(f"{number},{left},{right}\n" for number, (left, right) in enumerate(depths))
    ordered(f"id,first,second\n{lines}", name="depths.csv")
    items = ITEMS.read(items_path("greys")).to_pylist()
    known = {
        digest: depth
        for row, pair in zip(items, depths, strict=True)
        for digest, depth in zip(row["images"], pair, strict=True)
    }
    found = exchanged()
    assert [row["item"] for row in found] == ["0", "1"], "6 m is closer than no other chair that lost"
    for row in found:
        shown = [known[digest] for digest in row["images"][0]["images"]]
        assert row["answers"] == [shown.index(min(shown))], "the closer chair is the answer"
        before = depths[int(row["item"])]
        assert row["answers"] != [before.index(min(before))], "turned"

    DECISIONS.unlink()
    pairs = exported()
    assert {row["of_first"] for row in pairs} | {row["of_second"] for row in pairs} == {"0", "1", "2"}
    for row in pairs:
        row["winner"] = "first" if known[row["first"]] < known[row["second"]] else "second"
    save(FILE, pairs)
    exchange("--import", FILE)
    assert exchanged() == found, "and so does a person who decides by eye"


AS_NUMBERS = "".join(f"{name},{left},{right}\r\n" for name, (left, right) in SHADES.items())


def test_a_known_order_decides_as_a_person_would(greys: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = exported()
    save(FILE, [{**rows[0], "winner": "neither", "by": "me"}])
    exchange("--import", FILE)
    ordered(f"\ufeffid,first,second\r\n{AS_NUMBERS}")  # as a spreadsheet saves it
    assert "2 of 3 pairs decided by shades.csv, 1 stay as they were" in capsys.readouterr().out
    decided = exported()
    assert [row["winner"] for row in decided] == ["neither", *map(lighter, rows[1:])], "people come first"
    assert {row["by"] for row in decided} == {"me", "shades.csv"}

    DECISIONS.unlink()
    lines = [json.dumps({"id": name, "order": [-a, -b]}) for name, (a, b) in SHADES.items()]
    ordered("\n".join([*lines, '{"id": "more"}']), "--mirrored", name="items.jsonl")
    mirrored = exported("--mirrored")
    assert [row["winner"] for row in mirrored] == list(map(lighter, mirrored)), "the answers say: less wins"
    assert [row["item"] for row in exchanged()] == ["b", "c"]
    before = DECISIONS.read_bytes()
    ordered("\n".join(lines), "--mirrored", name="items.jsonl")
    assert DECISIONS.read_bytes() == before


def test_an_order_that_cannot_be_is_one_line_and_changes_nothing(greys: Path, vouch: Vouch) -> None:
    csv = Path("shades.csv").absolute()
    for text, claim in (
        ("id,first,second\na,250,10\nb,240,20\n", f"line 3: item b: 20 wins against 240, but by {csv}"),
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
    ):
        file = csv.with_suffix(".jsonl") if text.startswith("{") else csv
        file.write_text(text, "utf-8")
        assert claim in vouch("review", "exchange", "greys", "--order", file, status=1)
        assert not DECISIONS.exists()
