"""`vouch review render`: pictures of a variation beside those of the original, as files and a page."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.cli.conftest import Vouch
from tests.cli.review.conftest import prepare_greys


@pytest.fixture
def project(bare: Path) -> Path:
    prepare_greys({"i0": (250, 10), "i1": (20, 240), "i2": (230, 30)}, (40, 20), ["original"])
    return bare


def greys(path: Path) -> list[int]:
    """The first row of a picture without repetitions."""
    row = [int(value) for value in np.asarray(Image.open(path))[0, :, 0]]
    return [value for place, value in enumerate(row) if place == 0 or row[place - 1] != value]


def test_pictures_and_a_page(project: Path, vouch: Vouch) -> None:
    said = vouch("review", "render", "greys", "vs_s+option_order", "--items", "2")
    assert "render: 2 items, 4 images in renders/greys/vs_s+option_order" in said
    folder = project / "renders/greys/vs_s+option_order"
    assert {path.name: greys(path) for path in sorted(folder.glob("*.png"))} == {
        "001.original.1.png": [250, 10],
        "001.vs_s+option_order.1.png": [10, 250],
        "002.original.1.png": [20, 240],
        "002.vs_s+option_order.1.png": [240, 20],
    }
    page = (folder / "index.html").read_text("utf-8")
    assert "Which is &lt;b&gt;lighter&lt;/b&gt;, &quot;left&quot; or right?\nA. Right\nB. Left\n" in page
    assert page.count("Correct (kept): Left") == 1 and page.count("Correct (swapped): Right") == 1
    assert '<img src="001.vs_s+option_order.1.png" alt="side_by_side">' in page and "<script" not in page


def test_prompts_with_one_picture_share_its_file(project: Path, vouch: Vouch) -> None:
    vouch("review", "render", "greys", "circular", "--into", "seen", "--items", "1")
    assert [path.name for path in (project / "seen").glob("*.png")] == ["001.original.1.png"]
    assert "i0/circular/2" in (project / "seen/index.html").read_text("utf-8")
    vouch("review", "render", "greys", "vr_b_5", "--into", "seen")
    assert len(list((project / "seen").glob("*.png"))) == 6, "what it made it may make anew"
    vouch("review", "render", "greys", "original")
    assert len(list((project / "renders/greys/original").glob("*.png"))) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["greyz", "vr_b"], "did you mean greys?"),
        (["greys", "vr_bb"], "unknown variation vr_bb"),
        (["greys", "vr_b+vr_l"], "both change the pictures"),
        (["greys", "ls_n"], "ls_n: no item of greys gets such a prompt"),
        (["greys", "vr_b", "--items", "0"], "--items: give a number of items from 1"),
        (["greys", "vr_b", "--into", "mine"], "mine: exists, and `vouch review render` did not make it"),
    ],
)
def test_what_cannot_be_rendered_is_one_line(
    project: Path, vouch: Vouch, arguments: list[str], said: str
) -> None:
    (project / "mine").mkdir()
    (project / "mine/letter.txt").write_text("keep", "utf-8")
    assert said in vouch("review", "render", *arguments, status=1)
    assert not (project / "renders").exists() and (project / "mine/letter.txt").read_text("utf-8") == "keep"


@pytest.mark.parametrize("place", ["items", "images"])
def test_what_is_missing_is_named(project: Path, vouch: Vouch, place: str) -> None:
    (project / f"data/{place}/greys.parquet").unlink()
    said = vouch("review", "render", "greys", "vr_b", status=1)
    assert f"data/{place}/greys.parquet: no such file" in said
    assert not list(project.glob("renders/greys/*")), "nothing half-written"
