"""The page: whole, self-contained, readable by machines, and safe with hostile names."""

import re
from collections.abc import Callable
from contextlib import chdir
from itertools import pairwise
from pathlib import Path

import pytest

from stages.report import figures
from stages.report.__main__ import read, write
from stages.report.config import Config
from stages.report.evidence import Evidence
from stages.report.page import Picture, page
from stages.report.plugins import plugins
from stages.report.reading import sources
from tests.report.html_page import Page
from tests.report.project import SCORING, Made, write_tables

Make = Callable[[Made], Evidence]
CONFIG = Config(title="Vouch")
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&"


def build(evidence: Evidence) -> Page:
    write(CONFIG, evidence)
    return Page(Path("reports/index.html").read_text("utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a report that has every section."""
    made = Made(
        datasets=("cubes", "shapes"),
        categories=("big", "small"),
        variations=("original", "blank", "rotated", "vr_b"),
        rejects=[("file:3", "no image")],
    )
    path = tmp_path_factory.mktemp("rich")
    with chdir(path):
        build(read(sources(write_tables(made)), SCORING))
    return path


@pytest.fixture
def rich(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Page:
    monkeypatch.chdir(folder)
    return Page(Path("reports/index.html").read_text("utf-8"))


def test_is_well_formed_and_every_figure_and_section_is_there(rich: Page) -> None:
    assert rich.crossed == []
    sections = {a["id"] for a in rich.all("section") if "id" in a}
    parts = {"readings", "published", "differences", "variations", "categories"}
    parts |= {"data", "method", "provenance"}
    assert sections == {"verdict", "results"} | parts
    shown = [a["class"] for a in rich.all("figure")]
    assert {name: shown.count(name) for name in plugins(figures)} == dict.fromkeys(plugins(figures), 2)


def test_needs_nothing_from_anywhere(rich: Page) -> None:
    source = Path("reports/index.html").read_text("utf-8")
    assert "://" not in source
    assert "@import" not in source
    assert not re.search(r"url\((?!#)", source)
    for _, attributes in rich.elements:
        assert "src" not in attributes
        link = attributes.get("href") or "#"
        assert link.startswith("#") or Path("reports", link).is_file()
    assert not rich.all("link")


def test_internal_links_and_ids_fit(rich: Page) -> None:
    ids = [a["id"] for _, a in rich.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for attributes in rich.all("a"):
        link = str(attributes["href"])
        assert not link.startswith("#") or link[1:] in ids


def test_tables_and_figures_speak_to_screen_readers(rich: Page) -> None:
    assert len(rich.all("caption")) == len(rich.all("table"))
    assert all(a.get("scope") in ("col", "row") for a in rich.all("th"))
    pictures = [a for a in rich.all("div") if a.get("role") == "img"]
    assert len(pictures) == len(rich.all("figure"))
    assert all(len(str(a["aria-label"])) > 30 for a in pictures)
    assert all(a.get("aria-hidden") == "true" for a in rich.all("svg"))
    assert {a.get("lang") for a in rich.all("html")} == {"en-GB"}
    headings = [int(tag[1]) for tag, _ in rich.elements if re.fullmatch(r"h\d", tag)]
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))


def test_says_what_the_tables_hold(rich: Page) -> None:
    for words in (
        "80.0 75.0–85.0",
        "3 of 3 cells within 1e-6",
        "3 of 3 pairs can be told apart",
        "50 % of the test rows have a sibling",
        "leaves 2 rows out",
        "no image",
        "duplicate options two options have the same text 3 7.5 q0, q1, q2 dropped",
        "broken image",
        "A is the answer of 100.0 %",
        "shapes: looked for and not found: animated, ",
        "pictures blurred",
        "rotated costs alpha most: 20.0 points of accuracy (15.0–25.0)",
    ):
        assert words in rich.text, words


def test_names_are_text_and_nothing_else(make: Make) -> None:
    name = HOSTILE
    made = Made(
        accuracy={name: 0.8, "beta": 0.7},
        categories=(f"a{name}", "b"),
        rejects=[(f"file {name}", f"broken {name}")],
    )
    found = build(make(made))
    assert found.crossed == []
    assert len(found.all("script")) == 2
    assert not found.all("img")
    assert not [a for _, a in found.elements for key in a if key.startswith("on")]
    assert f"broken {name}" in found.text
    assert f"Trust {name} first." in found.text
    assert any(name in str(a.get("aria-label")) for a in found.all("div"))


def test_a_hostile_title_is_text(make: Make) -> None:
    found = Page(page(Config(title=HOSTILE), make(Made()), {}))
    assert found.crossed == []
    assert HOSTILE in found.text
    assert not found.all("img")


def test_pictures_are_shown_where_they_exist(make: Make) -> None:
    evidence = make(Made())
    picture = Picture("<svg></svg>", "A picture", "what it shows")
    shown = Page(page(CONFIG, evidence, {("coverage", "shapes"): picture}))
    assert [a["class"] for a in shown.all("figure")] == ["coverage"]


def test_one_model_and_nothing_published(make: Make) -> None:
    found = build(make(Made(accuracy={"alpha": 0.8}, published=False)))
    assert found.crossed == []
    assert "One model was asked: alpha." in found.text
    ids = {a.get("id") for a in found.all("section")}
    assert not ids & {"published", "differences", "variations", "categories"}
    assert Path("reports/tables/published.csv").read_text("utf-8").count("\n") == 1
    assert Path("reports/tables/differences.csv").read_text("utf-8").count("\n") == 1
    assert "differences-shapes.svg" not in {path.name for path in Path("reports/figures").iterdir()}
