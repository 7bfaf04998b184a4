"""`vouch render`: pictures of a variation beside those of the original, as files and a page."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from stages.prepare import main as prepare
from vouch.cli.main import main
from vouch.pipeline.dag import read_dag
from vouch.pipeline.stage import Run
from vouch.tables.rewrites import REWRITES, rewrites_path

ROOT = Path(__file__).parents[2]
QUESTION = 'Which is <b>lighter</b>, "left" or right?'
SHADES = ((250, 10), (20, 240), (230, 30))  # left and right


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose dataset `greys` compares pictures, prepared."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stages").symlink_to(ROOT / "stages")
    (tmp_path / "vouch").symlink_to(ROOT / "vouch")
    (tmp_path / "dvc.yaml").write_bytes((ROOT / "dvc.yaml").read_bytes())
    (tmp_path / "models.lock").write_text("models: {}\n", "utf-8")
    params: dict[str, Any] = yaml.safe_load((ROOT / "profiles/small.yaml").read_text("utf-8"))
    params["datasets"] = {"greys": {"loader": "jsonl", "source": "greys", "template": "kostumov", "variant": "joined"}}
    (tmp_path / "params.yaml").write_text(json.dumps(params), "utf-8")
    (tmp_path / "greys").mkdir()
    lines = []
    for number, shades in enumerate(SHADES):
        for shade in shades:
            Image.new("L", (40, 20), shade).save(tmp_path / f"greys/{shade}.png")
        line = {"id": f"i{number}", "question": QUESTION, "options": ["Left", "Right"]}
        lines.append(line | {"answer": int(shades[1] > shades[0]), "images": [f"{s}.png" for s in shades]})
    (tmp_path / "greys/items.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    dag = read_dag()
    prepare(Run(dag, dag["prepare@greys"], ["greys"]))
    REWRITES.write(rewrites_path("greys"), [])
    return tmp_path


def greys(path: Path) -> list[int]:
    """The first row of a picture without repetitions."""
    row = [int(value) for value in np.asarray(Image.open(path))[0, :, 0]]
    return [value for place, value in enumerate(row) if place == 0 or row[place - 1] != value]


def test_pictures_and_a_page(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "greys", "vs_s+option_order", "--items", "2"]) == 0
    assert "render: 2 items, 4 pictures in renders/greys/vs_s+option_order" in capsys.readouterr().out
    folder = project / "renders/greys/vs_s+option_order"
    assert [path.name for path in sorted(folder.glob("*.png"))] == [
        "001.original.1.png",
        "001.vs_s+option_order.1.png",
        "002.original.1.png",
        "002.vs_s+option_order.1.png",
    ]
    assert greys(folder / "001.original.1.png") == [250, 10]
    assert greys(folder / "001.vs_s+option_order.1.png") == [10, 250]
    assert greys(folder / "002.vs_s+option_order.1.png") == [240, 20]
    page = (folder / "index.html").read_text("utf-8")
    assert "Which is &lt;b&gt;lighter&lt;/b&gt;, &quot;left&quot; or right?\nA. Right\nB. Left\n" in page
    assert page.count("Correct (kept): Left") == 1 and page.count("Correct (swapped): Right") == 1
    assert '<img src="001.vs_s+option_order.1.png" alt="side_by_side">' in page and "<script" not in page


def test_prompts_with_one_picture_share_its_file(project: Path) -> None:
    assert main(["render", "greys", "circular", "--into", "seen", "--items", "1"]) == 0
    assert [path.name for path in (project / "seen").glob("*.png")] == ["001.original.1.png"]
    assert "i0/circular/2" in (project / "seen/index.html").read_text("utf-8")
    assert main(["render", "greys", "vr_b_5", "--into", "seen"]) == 0, "what it made it may make anew"
    assert len(list((project / "seen").glob("*.png"))) == 6
    assert main(["render", "greys", "original"]) == 0
    assert len(list((project / "renders/greys/original").glob("*.png"))) == 3


def _taken(project: Path) -> None:
    (project / "mine").mkdir()
    (project / "mine/letter.txt").write_text("keep", "utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["greyz", "vr_b"], "no dataset greyz; valid: greys (did you mean greys?)"),
        (["greys", "vr_bb"], "unknown variation vr_bb"),
        (["greys", "vr_b+vr_l"], "both change the pictures"),
        (["greys", "ls_n"], "ls_n: no item of greys gets such a prompt"),
        (["greys", "vr_b", "--items", "0"], "--items: give a number of items from 1"),
        (["greys", "vr_b", "--into", "mine"], "mine: is there and was not made by `vouch render`"),
    ],
)
def test_what_cannot_be_rendered_is_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    _taken(project)
    assert main(["render", *arguments]) == 1
    problem = capsys.readouterr().err
    assert said in problem and problem.count("\n") == 1
    assert not (project / "renders").exists() and (project / "mine/letter.txt").read_text("utf-8") == "keep"


@pytest.mark.parametrize("place", ["items", "images"])
def test_what_is_missing_is_named(project: Path, capsys: pytest.CaptureFixture[str], place: str) -> None:
    (project / f"data/{place}/greys.parquet").unlink()
    assert main(["render", "greys", "vr_b"]) == 1
    assert f"data/{place}/greys.parquet: no such file" in capsys.readouterr().err
    assert not list(project.glob("renders/greys/*")), "nothing half-written"
