"""`vouch released`: the authors' pickles become tables; what a pickle would run never runs."""

import csv
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Vouch
from tests.cli.test_convert import Runs
from tests.models.project import ROOT
from tests.release import DATASETS, MODELS, lay_out, lay_out_real, put, put_table, rows_of
from vouch.cli.main import main
from vouch.cli.use import profile_text
from vouch.datasets.loaders.released import Settings, published, read
from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import SourceFiles
from vouch.models.released.files import answer_files
from vouch.models.released.logits import parse_parquet
from vouch.pipeline.yaml12 import loads
from vouch.tables.results import model_slug

REFERENCE = ROOT.parent / "shared/reference/vlm-uncertainty-bench"


@pytest.fixture
def release(bare: Path) -> Path:
    """A small release of three models and all five datasets, in the authors' layout."""
    (bare / "profiles").symlink_to(ROOT / "profiles")
    lay_out(bare / "bench")
    return bare / "bench"


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_cell_comes_out(release: Path, vouch: Vouch) -> None:
    last = vouch("released", "bench", "new").splitlines()[-1]
    assert last == "released: new: 15 of 15 cells (model x dataset)"
    params = loads(profile_text("released", ["released.path=new"]), "params.yaml")
    assert set(params["datasets"]) == set(DATASETS)
    assert set(params["models"]) == {model_slug(model) for model in MODELS}
    for dataset, entry in params["datasets"].items():
        source, settings = SourceFiles(Path(entry["source"])), Settings(**entry["settings"])
        items = [item for item in read(source, dataset, settings) if isinstance(item, RawItem)]
        assert len(items) == 4 and len(list(published(source, dataset, settings))) == 6
        for model in MODELS:
            answers = answer_files(Path("new"), model_slug(model))[dataset].path
            logits = parse_parquet(answers.read_bytes(), "x")
            rows = rows_of(dataset, model)
            assert [item.id for item in items] == list(logits.ids) == [str(row["id"]) for row in rows]
            assert logits.logits.dtype == rows[0]["logits"].dtype
            assert logits.logits.tobytes() == np.stack([row["logits"] for row in rows]).tobytes()
    categories = {
        path.stem[6:]: pq.read_table(path)["category"][0].as_py() for path in Path("new").glob("*.parquet")
    }
    assert categories == {
        "mmbench": "ocr", "oodcv": "pose", "scienceqa": "natural science", "seedbench": "Instances Counting",
        "ai2d": None,
    }  # fmt: skip


def test_the_same_release_gives_the_same_bytes(release: Path, vouch: Vouch) -> None:
    vouch("released", "bench", "new")
    before = content(Path("new"))
    assert len(before) == 5 * (1 + 1 + 3)
    assert "new: exists already" in vouch("released", "bench", "new", status=1)
    vouch("released", "bench", "again")
    assert content(Path("again")) == before == content(Path("new"))


def test_some_datasets_and_models(release: Path, vouch: Vouch) -> None:
    said = vouch(
        "released", "bench", "new", "--dataset", "oodcv", "--model", "Yi-VL-6B", "--model", "Monkey-Chat"
    )
    assert said.splitlines() == [
        "released: oodcv: 4 questions, 2 models, 4 published numbers",
        "released: new: 2 of 2 cells (model x dataset)",
    ]
    assert set(content(Path("new"))) == {
        "items-oodcv.parquet", "published-oodcv.csv",
        *(f"logits-oodcv/{model}.parquet" for model in ("Monkey-Chat", "Yi-VL-6B")),
    }  # fmt: skip
    for words, claims in ((("--dataset", "oodc"), "did you mean oodcv?"), (("--model", "Yi-VL"), "Yi-VL-6B")):
        assert claims in vouch("released", "bench", "other", *words, status=1)


def test_what_is_missing_or_other_is_named_and_the_rest_is_written(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for model in MODELS:
        (release / f"output/{model}/ai2d.pkl").unlink()
    (release / "output/Yi-VL-6B/oodcv.pkl").unlink()
    others = rows_of("seedbench", "Monkey-Chat")
    others[2]["C"] = "other"
    put(release, "seedbench", "Monkey-Chat", others)
    put(release, "scienceqa", "Yi-VL-6B", rows_of("scienceqa", "Yi-VL-6B")[:3])
    assert main(["released", "bench", "new"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "released: ai2d: no pickle of any of 3 models",
        "released: mmbench: 4 questions, 3 models, 6 published numbers",
        "released: oodcv: 4 questions, 2 models, 4 published numbers",
        "released: oodcv: no pickle of Yi-VL-6B",
        "released: left out bench/output/Yi-VL-6B/scienceqa.pkl: 3 rows, not 4 as in 2 other models; "
        "take it by itself with --dataset scienceqa --model Yi-VL-6B",
        "released: scienceqa: 4 questions, 2 models, 4 published numbers",
        "released: left out bench/output/Monkey-Chat/seedbench.pkl: row 3: id 101671: C is 'other', not 'three' as "
        "in 2 other models; take it by itself with --dataset seedbench --model Monkey-Chat",
        "released: seedbench: 4 questions, 2 models, 4 published numbers",
        "released: new: 9 of 15 cells (model x dataset)",
    ]
    assert {path.name for path in Path("new").glob("items-*")} == {
        f"items-{name}.parquet" for name in DATASETS if name != "ai2d"
    }


def _changed(key: str, value: object) -> Callable[[list[Any]], object]:
    """A change of the third row; None takes the key away."""

    def change(rows: list[Any]) -> object:
        rows[2] = {name: cell for name, cell in rows[2].items() if name != key}
        rows[2] |= {} if value is None else {key: value}
        return rows

    return change


BAD: dict[str, tuple[Callable[[list[Any]], object], str]] = {
    "code": (
        lambda rows: [*rows, Runs(Path("ran"))],
        r"byte \d+: it asks for \w+\.mkdir, .* nothing of it was run",
    ),
    "code in a question": (_changed("question", Runs(Path("ran"))), "it asks for .*.mkdir"),
    "an object": (_changed("hint", Path("a")), "it asks for pathlib"),
    "a set": (_changed("hint", {1}), "a step that is not among those"),
    "no list": (lambda rows: {"rows": 1}, "does not hold a list of rows"),
    "no rows": (lambda rows: [], "does not hold a list of rows"),
    "a row that is a text": (lambda rows: [*rows, "x"], "row 5: needs the keys id and logits"),
    "no id": (_changed("id", None), "row 3: needs the keys id and logits"),
    "id twice": (_changed("id", 1), "row 3: id 1 stands already in row 2"),
    "no question": (_changed("question", None), "row 3: id 2: no key question, it has index, hint"),
    "no answer": (_changed("answer", None), "row 3: id 2: no key answer"),
    "a question that is a number": (_changed("question", 7), "row 3: id 2: question is a int, not a text"),
    "an option that is a list": (_changed("C", ["c"]), "row 3: id 2: C is a list, not a text"),
    "an option that is an array": (_changed("C", np.zeros(2)), "row 3: id 2: C is a Array, not a text"),
    "a category that is a number": (_changed("category", 3.5), "row 3: id 2: category is a float"),
    "half a pair": (_changed("hint", "\ud83d"), "row 3: id 2: hint: its text holds half a surrogate pair"),
    "a logit that is none": (_changed("logits", np.array([1, np.nan], "f8")), "row 3: id 2: 2 logits"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_pickle_is_one_line_and_nothing_is_written(release: Path, vouch: Vouch, case: str) -> None:
    change, message = BAD[case]
    put(release, "mmbench", "Monkey-Chat", change(rows_of("mmbench", "Monkey-Chat")))
    said = vouch("released", "bench", "new", "--dataset", "mmbench", status=1)
    assert said.startswith("vouch: bench/output/Monkey-Chat/mmbench.pkl")
    assert re.search(message, said), said
    assert not Path("ran").exists() and not [path for path in Path().iterdir() if path.name.startswith("new")]


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda bench: put_table(bench, "acc", {"M": ["high"]}, ["mmbench"]), "acc.csv line 2: mmbench of M: 'high'"),
        (lambda bench: put_table(bench, "acc", {"M": ["nan"]}, ["mmbench"]), "acc.csv line 2: mmbench of M: 'nan'"),
        (lambda bench: put_table(bench, "acc", {"M": []}, ["mmbench", "a"]), "acc.csv line 2: a of M: None"),
        (lambda bench: put_table(bench, "acc", {"": ["1"]}, ["mmbench"]), "acc.csv line 2: mmbench of no model"),
        (lambda bench: (bench / "tables/acc.csv").write_bytes(b"model_name,a\nM,\xe9\n"), "not readable as CSV"),
        (lambda bench: (bench / "tables/acc.csv").write_text("a,b\n1,2\n"), "acc.csv: no column model_name"),
        (lambda bench: (bench / "output").rename(bench / "outputs"), "output/MODEL/DATASET.pkl: no such file"),
        (lambda bench: bench.rename("elsewhere"), "bench: no such folder"),
        (lambda bench: os.mkfifo(bench / "output/Yi-VL-6B/a.pkl"), "a.pkl: a named pipe"),
    ],
)  # fmt: skip
def test_a_bad_release_is_one_line(
    release: Path, vouch: Vouch, break_it: Callable[[Path], object], message: str
) -> None:
    break_it(release)
    assert message in vouch("released", "bench", "new", status=1)
    assert not Path("new").exists()


@pytest.mark.skipif(
    not REFERENCE.exists(), reason="needs two of the files that VLM-Uncertainty-Bench released"
)
def test_real_pickles_give_the_reference_to_the_bit(bare: Path, vouch: Vouch) -> None:
    lay_out_real(bare / "bench", REFERENCE)
    words = [word for model in MODELS[:2] for word in ("--model", model)]
    assert vouch("released", "bench", "new", *words).splitlines() == [
        "released: mmbench: 4,377 questions, 2 models, 28 published numbers",
        "released: new: 2 of 2 cells (model x dataset)",
    ]
    items = pq.read_table("new/items-mmbench.parquet")
    assert items.to_pylist() == pq.read_table(
        REFERENCE / "items-mmbench.parquet", columns=items.column_names
    ).to_pylist()  # fmt: skip
    for model in MODELS[:2]:
        ours, theirs = (
            parse_parquet((folder / f"logits-mmbench/{model}.parquet").read_bytes(), model)
            for folder in (Path("new"), REFERENCE)
        )
        assert ours.ids == theirs.ids and ours.logits.dtype == theirs.logits.dtype
        assert ours.logits.tobytes() == theirs.logits.tobytes()
    numbers = [
        set(map(tuple, csv.reader((folder / "published-mmbench.csv").read_text("utf-8").splitlines())))
        for folder in (Path("new"), REFERENCE)
    ]
    assert numbers[0] == {row for row in numbers[1] if row[1] in ("model", *MODELS[:2])}
