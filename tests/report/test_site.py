"""The site: whole, self-contained, readable by machines, safe with hostile names; words with a definition."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from markupsafe import Markup

from tests.report.html_page import Page
from tests.report.project import REGISTRY, Made, Make
from vouch import papers
from vouch.metrics.metric import metrics
from vouch.papers.charts import ON_DEEP, ON_PALE
from vouch.papers.entry import Paper
from vouch.pipeline.errors import UserError
from vouch.report import pages, vegalite
from vouch.report.config import ReportConfig
from vouch.report.evidence import Evidence
from vouch.report.page import FigureSpec, Registry, declared
from vouch.report.site import Drawing, Marker, figures, site, terms, write
from vouch.report.site import build as views_of
from vouch.report.table import Column, Measured
from vouch.report.table_files import PLOTTED, TABLES, csv_text

Site = dict[str, Page]  # by path under reports/
CONFIG = ReportConfig(title="Vouch")
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&"
REPORTS = Path("reports")
ROOT = Path(__file__).parents[2]
FIGURES = [figure.name for figure in REGISTRY.figures]


def written() -> Site:
    """The pages that lie under reports/."""
    paths = [REPORTS / "index.html", *sorted((REPORTS / "pages").iterdir())]
    return {path.relative_to(REPORTS).as_posix(): Page(path.read_text("utf-8")) for path in paths}


def build(evidence: Evidence) -> Site:
    write(CONFIG, evidence, registry=REGISTRY)
    return written()


def sections_of(pages: Site) -> set[str | None]:
    return {a["id"] for page in pages.values() for a in page.all("section") if "id" in a}


@pytest.fixture
def rich(report: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.chdir(report)
    return written()


def digests() -> dict[str, str]:
    files = sorted(path for path in Path("reports").rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_every_file_is_written(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(report)
    assert {p.name for p in Path("reports").iterdir()} == {
        *("assets", "figures", "headline", "pages", "tables", "plots"),
        *("index.html", "headline.json", "metrics.json"),
    }
    written = {p.name for p in Path("reports/tables").iterdir()}
    assert written == {f"{name}.csv" for name in TABLES} | {"shown"}
    drawn = {
        f"{name}-{dataset}.{kind}"
        for name in FIGURES
        for dataset in ("ai2d", "shapes")
        for kind in ("svg", "png", "pdf")
    }
    figured = {p.name for p in Path("reports/figures").iterdir()}
    assert drawn <= figured
    slugs = tuple(paper.slug for paper in declared(papers, Paper))
    assert all(name.startswith(slugs) for name in figured - drawn)
    plotted = {p.name for p in Path("reports/plots").iterdir()}
    assert plotted == {*(f"{name}.csv" for name in PLOTTED), "reliability.csv", "page.html"}


def test_same_inputs_same_bytes_in_another_process(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page, table and chart; of the figures, which are keyed by their charts, some are drawn again."""
    again = (
        "from pathlib import Path; from vouch.report.loading import load; from vouch.report.site import write;"
        "from vouch.report.config import ReportConfig; from tests.report.project import REGISTRY, SCORING;"
        "write(ReportConfig(title='Vouch'), load(Path('data').rglob('*.parquet'), SCORING), registry=REGISTRY)"
    )
    monkeypatch.chdir(tmp_path)
    for name in ("data", ".vouch"):
        shutil.copytree(report / name, name)
    for drawn in sorted(Path(".vouch/drawings").iterdir())[::12]:
        drawn.unlink()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", again], check=True, env=environment)
    second = digests()
    monkeypatch.chdir(report)
    assert digests() == second


def test_figures_use_only_colours_that_have_a_dark_twin(report: Path) -> None:
    for path in (report / "reports/figures").glob("*.svg"):
        # rgb() comes from a continuous scale: cells keep their colour, and the ink of their numbers too
        colours = set(re.findall(r'(?:fill|stroke)="(#[^"]+|[a-z]+)"', path.read_text("utf-8")))
        assert colours - {"none", "transparent", ON_DEEP, ON_PALE} <= set(vegalite.DARK), path


def test_pages_are_well_formed_and_every_figure_and_section_is_there(rich: Site) -> None:
    assert {path: page.crossed for path, page in rich.items() if page.crossed} == {}
    parts = {"protocols", "published", "differences", "variations", "categories", "results", "verdict"}
    parts |= {"data", "method", "provenance", "scores", "calibration", "letters", "shift", "papers"}
    parts |= {"dimensions", "rewrites", "severity", "sweep", "sources", "items", "answering"}
    declared = {section.name for section in REGISTRY.sections}
    assert parts <= sections_of(rich) <= declared | {"sources"}
    shown = [a["class"] for path, page in rich.items() if path != "index.html" for a in page.all("figure")]
    assert {name: shown.count(name) for name in FIGURES} == dict.fromkeys(FIGURES, 2)


def test_names_and_places_are_there_once() -> None:
    every, sections = REGISTRY.pages, REGISTRY.sections
    for names in (
        *(
            FIGURES,
            [section.name for section in sections],
            [(section.page, section.place) for section in sections],
        ),
        *([page.name for page in every], [page.place for page in every]),
    ):
        assert len(set(names)) == len(names)


EXTRA = """
from vouch.report.page import DatasetFigure, Figures, Page, PageSection, by_dataset
from vouch.report.pages.models_figures import COVERAGE_FIGURE

FIGURE = DatasetFigure("extra", "Extra", COVERAGE_FIGURE.draw, lambda evidence, dataset: "what it shows")
build = by_dataset("More", "", lambda _, dataset: [Figures([f"extra-{dataset}"])])
SECTION = PageSection("extra", "Of more", build, page="extra", place=10)
PAGE = Page("extra", "Extra page", "What else?", place=35)
"""


@pytest.fixture
def extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new file among the pages."""
    monkeypatch.setattr(pages, "__path__", [*pages.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "vouch.report.pages.extra", raising=False)
    return tmp_path / "extra.py"


def test_a_section_of_no_page_is_refused(extra: Path) -> None:
    extra.write_text(EXTRA.replace('page="extra"', 'page="calibrations"'))
    with pytest.raises(
        UserError, match="section extra: no page is named calibrations; did you mean calibration"
    ):
        print(Registry(pages).sections)


def test_a_new_page_is_one_new_file(make: Make, extra: Path) -> None:
    extra.write_text(EXTRA)
    evidence, registry = make(Made()), Registry(pages)
    specs = figures(evidence, views := views_of(evidence, registry), registry)
    drawn = {spec.file: Drawing(spec, "<svg></svg>", "{}") for spec in specs}
    found = site(CONFIG, evidence, drawn, views, registry)
    assert [a["class"] for a in Page(found["pages/extra.html"]).all("figure")] == ["extra"]
    links = [str(a["href"]) for a in Page(found["index.html"]).all("a")]
    assert links.index("pages/datasets.html") < links.index("pages/extra.html")
    assert links.index("pages/extra.html") < links.index("pages/calibration.html")


def test_pages_need_nothing_from_anywhere(rich: Site) -> None:
    ids = {(REPORTS / path).resolve(): {a.get("id") for _, a in page.elements} for path, page in rich.items()}
    for path, page in rich.items():
        source = (REPORTS / path).read_text("utf-8")
        assert "://" not in source
        for _, attributes in page.elements:
            for link in (attributes.get("href"), attributes.get("src")):
                file, _, anchor = str(link or "").partition("#")
                target = (REPORTS / path).parent / file if file else REPORTS / path
                assert target.is_file(), (path, link)
                assert not anchor or anchor in ids[target.resolve()]
    for path in (REPORTS / "assets").glob("page.*"):
        source = path.read_text("utf-8")
        assert "://" not in source
        assert "@import" not in source
        assert "url(" not in source


def test_every_page_is_reached_from_every_other(rich: Site) -> None:
    for path, page in rich.items():
        nav = page.elements[page.elements.index(("nav", {"aria-label": "Pages"})) :]
        links = {((REPORTS / path).parent / str(a["href"])).resolve() for tag, a in nav if tag == "a"}
        assert {(REPORTS / other).resolve() for other in rich} - links <= {(REPORTS / "index.html").resolve()}
        current = [a["href"] for a in page.all("a") if a.get("aria-current")]
        assert current == ([] if path == "index.html" else [f"../{path}"])


def test_ids_are_unique(rich: Site) -> None:
    for page in rich.values():
        ids = [a["id"] for _, a in page.elements if "id" in a]
        assert len(ids) == len(set(ids))


def test_tables_and_figures_speak_to_screen_readers(rich: Site) -> None:
    for page in rich.values():
        assert len(page.all("caption")) == len(page.all("table"))
        assert all(a.get("scope") in ("col", "row") for a in page.all("th"))
        pictures = [a for a in page.all("div") if a.get("role") == "img"]
        twice = [a for a in pictures if a.get("class") == "scroll narrow"]
        assert len(pictures) == len(page.all("figure")) + len(twice)
        assert all(len(str(a["aria-label"])) > 30 for a in pictures)
        assert all(a.get("aria-hidden") == "true" for a in page.all("svg"))
        assert {a.get("lang") for a in page.all("html")} == {"en-GB"}
        headings = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h\d", tag)]
        assert headings.count(1) == 1
        assert all(after - before <= 1 for before, after in pairwise(headings))


def test_says_what_the_tables_hold(rich: Site) -> None:
    for name, words in (
        ("models", "80.0 75.0–85.0"),
        ("papers", "3 of 3 cells within 1e-6"),
        ("ranking", "3 of 3 pairs differ significantly"),
        ("ranking", "The median detectable effect of 80 questions is 10.2 points of accuracy (80 % power)"),
        ("models", "The median detectable effect of 80 questions is 10.2 points of accuracy (80 % power)"),
        ("calibration", "50 % of the test rows have a sibling"),
        ("calibration", "leaves out 2 rows"),
        ("datasets", "no image"),
        ("datasets", "duplicate options two options have the same text 3 3.8 q0, q1, q2 dropped"),
        ("datasets", "broken image"),
        ("datasets", "A is the answer of 100.0 %"),
        ("datasets", "shapes: looked for but not found: added option twice, animated, "),
        ("variations", "images blurred vr_b"),
        ("variations", "No variation is shown to lower the accuracy of alpha. No variation"),
        ("models", "overall 2 80 80.0 #1"),
        ("datasets", "negated question ls_n 2 1 1 0 rules/1"),
        ("datasets", "Is it red? Is it rejected? negated it says the same"),
        ("calibration", "Calibrated on 10 % of the questions, alpha covers 90.0 % (80.0–100.0)"),
        ("provenance", "data/scores/shapes.outcomes.parquet score@shapes"),
    ):
        found = rich[f"pages/{name}.html"].text
        assert words in found, (words, re.findall(r"median detectable effect of[^(]*", found))


def test_names_are_text_and_nothing_else(make: Make) -> None:
    name = HOSTILE
    made = Made(
        accuracy={name: 0.8, "beta": 0.7},
        categories=(f"a{name}", "b"),
        rejects=[(f"file {name}", f"broken {name}")],
    )
    found = build(make(made))
    for page in found.values():
        assert page.crossed == []
        assert all("src" in a or a["type"] == "application/json" for a in page.all("script"))
        assert not page.all("img")
        assert not [a for _, a in page.elements for key in a if key.startswith("on")]
    assert f"broken {name}" in found["pages/datasets.html"].text
    assert f"{name} is best on shapes." in found["index.html"].text
    assert any(name in str(a.get("aria-label")) for a in found["index.html"].all("div"))


def test_nothing_in_a_name_acts_on_what_stands_around_it(make: Make) -> None:
    name = "a\x1b[31m\x00_\u202eb"
    made = site(CONFIG, make(Made(categories=(name, "small"), rejects=[("file:1", name)])), {})
    assert sum("a\N{REPLACEMENT CHARACTER}[31m" in text for text in made.values()) > 3
    assert not any(set("\x1b\x00\u202e") & set(text) for text in made.values())


def test_a_hostile_title_is_text(make: Make) -> None:
    made = site(ReportConfig(title=HOSTILE), make(Made()), {})
    for found in (Page(source) for path, source in made.items() if path.endswith(".html")):
        assert found.crossed == []
        assert HOSTILE in found.text
        assert not found.all("img")


def test_pictures_are_shown_where_they_exist(make: Make) -> None:
    spec = FigureSpec("coverage", "coverage-shapes", "A picture", "shapes", "what it shows", None)
    shown = site(CONFIG, make(Made()), {spec.file: Drawing(spec, "<svg></svg>", "{}")})
    assert [a["class"] for a in Page(shown["pages/models.html"]).all("figure")] == ["coverage"]
    assert not Page(shown["index.html"]).all("figure")


def test_one_model_and_nothing_published(make: Make) -> None:
    evidence = make(Made(accuracy={"alpha": 0.8}, published=False))
    views = views_of(evidence, REGISTRY)
    found = {path: Page(text) for path, text in site(CONFIG, evidence, {}, views, REGISTRY).items()}
    assert "alpha is better than guessing on shapes." in found["index.html"].text
    assert not sections_of(found) & {"published", "differences", "variations", "categories", "shift"}
    assert "pages/ranking.html" not in found, "a page with nothing to say"
    assert "pages/ranking.html" not in str(found["index.html"].all("a"))
    assert all(csv_text(TABLES[name](evidence)).count("\n") == 1 for name in ("published", "differences"))
    assert "differences-shapes" not in {spec.file for spec in figures(evidence, views, REGISTRY)}


METHOD = Path("vouch/report/templates/method.html.j2")


def marked(html: str) -> list[str]:
    """The words that have a dotted line."""
    return re.findall(r'class="term"[^>]*>([^<]*)<', html)


def test_every_term_has_its_place_on_the_page_method() -> None:
    places = set(re.findall(r'id="term-([a-z-]+)"', (Path(__file__).parents[2] / METHOD).read_text("utf-8")))
    found = {term.place for term in terms().values()}
    assert found <= places
    assert len(found) > 30


def test_prose_marks_a_term_once_and_leaves_markup_alone() -> None:
    marker = Marker("../")
    first = marker.prose("LAC sets & <b>, LAC again; eclac, LAC-like")
    assert marked(first) == ["LAC", "sets"]
    assert "&lt;b&gt;" in first and 'href="../pages/method.html#term-lac"' in first
    assert marked(marker.prose("LAC")) == []
    code = Markup('<a href="#ece">ECE</a> <code>APS</code> <em>Faithful</em> aps')
    assert marked(marker.prose(code)) == ["Faithful"]
    assert Page(str(marker.prose(code))).crossed == []
    assert marker.prose("`<b>`") == "<code>&lt;b&gt;</code>"


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (
            Column("Set size LAC", "mean number of options"),
            "Mean number of options. Prediction set: the options",
        ),
        (Column("ECE %"), "Expected calibration error"),
        (Column("Better than", 'number of "models"'), "Number of &#34;models&#34;."),
        (Column("Model"), ""),
    ],
)
def test_a_heading_says_what_the_column_holds(column: Column, said: str) -> None:
    html = Marker("").heading(column)
    assert marked(html) == ([column.label] if said else [])
    assert said in html
    assert ("method.html" in html) == (column.label in ("Set size LAC", "ECE %"))


def test_every_metric_that_a_table_may_show_has_a_definition() -> None:
    assert not [name for name in metrics() if not marked(Marker("").heading(Measured(name).column))]
