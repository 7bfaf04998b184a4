"""Every variation on items of the demo and on real ones: the words, the correct options and the pictures that
it must give, as the tables of tests/prompts/every have them. A variation without a line there fails.
"""

import csv
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.prompts.every.asked import Asked
from tests.prompts.every.demo_items import DEMO
from tests.prompts.every.made import Made, checkout, correct
from tests.prompts.every.real_items import REAL
from vouch.images.pictures import pixel_digest
from vouch.prompts.build.combination import variation_names
from vouch.prompts.rewrites.decisions import COLUMNS, decisions_path

NAMES = set(variation_names()) - {"typographic", "typographic_control", "p_true"}  # tests of their own
SETS = Path(__file__).resolve().parents[3] / "shared" / "reference" / "realdata"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Made]:
    """A dataset of the demo, made when it is first asked for."""
    folder = checkout(tmp_path_factory.mktemp("demo"))

    @cache
    def made(name: str) -> Made:
        entry, _, table = DEMO[name]
        return Made(folder, name, entry, table)

    return made


def check(made: Made, item: str, variation: str, expected: Sequence[Asked]) -> None:
    rows = made.prompts(item, variation)
    assert [row["text"] for row in rows] == [one.text for one in expected]
    sources = made.sources(item)
    for row, one in zip(rows, expected, strict=True):
        assert correct(row) == one.right
        assert [(turn["question"], turn["answer"]) for turn in row["turns"]] == list(one.turns)
        assert row["response"] == one.response
        assert [tuple(ids) for ids in row["earlier"]] == list(one.earlier)
        wanted = one.look([sources[place] for place in one.images])
        assert pixel_digest(made.pictures(row)) == pixel_digest(wanted)
        assert row["outputs"], "a model is asked"


@pytest.mark.parametrize(
    ("dataset", "variation"),
    [pytest.param(name, variation, id=f"{name}-{variation}") for name in DEMO for variation in DEMO[name][2]],
)
def test_items_of_the_demo(demo: Callable[[str], Made], dataset: str, variation: str) -> None:
    _, item, table = DEMO[dataset]
    check(demo(dataset), item, variation, table[variation])


@pytest.mark.parametrize(("dataset", "item"), REAL)
def test_real_items(tmp_path: Path, dataset: str, item: str) -> None:
    if not SETS.exists():
        pytest.skip("needs the real images of the reference folder")
    lines = map(json.loads, (SETS / dataset / "items.jsonl").read_text("utf-8").splitlines())
    line = next(one for one in lines if one["id"] == item)
    real = REAL[dataset, item]
    table, folder = real.table(line), checkout(tmp_path)
    copy(dataset, line, folder / "own")
    write_down(folder / decisions_path(dataset), line["question"], real.words(line["question"]), real.by_hand)
    made = Made(folder, dataset, {"loader": "jsonl", "source": "own", "template": real.template}, table)
    for variation, expected in table.items():
        check(made, item, variation, expected)
    assert not NAMES - set(table), "add what these must give, or an empty list"


def copy(dataset: str, line: Mapping[str, Any], folder: Path) -> None:
    """One line of a set with its pictures, as a source of its own."""
    for image in line["images"]:
        (folder / image).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SETS / dataset / image, folder / image)
    (folder / "items.jsonl").write_text(json.dumps(line), "utf-8")


def write_down(path: Path, question: str, words: Mapping[str, str], kinds: Sequence[str]) -> None:
    """Decisions of a person, for kinds that the rules do not write."""
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(COLUMNS)
        rows.writerows([question, kind, "use", words[kind], "", ""] for kind in kinds)


def test_every_variation_has_a_line_for_every_item() -> None:
    for name, (_, _, table) in DEMO.items():
        assert not NAMES - set(table), f"{name}: add what these must give, or an empty list"
    shown = {name for _, _, table in DEMO.values() for name, asked in table.items() if asked}
    assert shown >= NAMES, "each is shown where it applies"
