"""Everything under reports/ but the page: complete, exact, the same each time."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.report.project import SCORING, Made, Make, write_tables
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load
from vouch.report.config import Config
from vouch.report.drawing import RenderCache
from vouch.report.evidence import Evidence
from vouch.report.loading import load as read
from vouch.report.pages.models import ACCURACY_AND_SET_SIZE_FIGURE
from vouch.report.pages.protocols import PROTOCOLS_FIGURE
from vouch.report.site import PLOTS_PAGE, site, write_plots, write_site
from vouch.report.table_files import TABLES, csv_text, metrics_json

ROOT = Path(__file__).parents[2]
CONFIG = Config(title="Vouch")
DRAWN = (ACCURACY_AND_SET_SIZE_FIGURE, PROTOCOLS_FIGURE)

COLUMNS = {
    "defects": ["dataset", "defect", "items", "share", "examples", "treatment", "p_value", "detail"],
    "differences": [
        *["dataset", "output", "first", "second"],
        *["difference", "low", "high", "p", "p_holm", "items"],
    ],
    "published": ["dataset", "model", "metric", "published", "ours", "difference"],
    "rejects": ["dataset", "where", "id", "reason"],
    "variations": [
        *["dataset", "model", "output", "variation", "metric", "score"],
        *["value", "original", "difference", "low", "high", "items"],
    ],
    "metrics": [
        *["dataset", "model", "variation", "output", "protocol", "category"],
        *["calibration", "alpha", "score", "metric"],
        *["value", "low", "high", "items", "rank", "rank_low", "rank_high"],
    ],
}


def test_a_changed_number_changes_the_report(make: Make) -> None:
    def texts(made: Made) -> dict[str, str]:
        evidence = make(made)
        tables = {f"tables/{name}.csv": csv_text(table(evidence)) for name, table in TABLES.items()}
        drawn = {each.name: json.dumps(each.draw(evidence, "shapes").to_dict()) for each in DRAWN}
        return tables | drawn | site(CONFIG, evidence, {}) | {"metrics": json.dumps(metrics_json(evidence))}

    first = texts(Made())
    other = texts(Made(accuracy={"alpha": 0.81, "beta": 0.6, "gamma": 0.5}))
    same = {name for name in first if first[name] == other[name]}
    assert {"tables/rejects.csv", "pages/method.html"} <= same
    assert not same & {"index.html", "metrics", "tables/headline.csv", "accuracy_and_set_size", "protocols"}


def rows(evidence: Evidence, name: str) -> list[dict[str, str]]:
    text = csv_text(TABLES[name](evidence))
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.mark.parametrize("name", sorted(COLUMNS))
def test_columns_of_tables(make: Make, name: str) -> None:
    made = Made(rejects=[("file:1", "no image")], variations=("original", "vr_b"))
    assert list(rows(make(made), name)[0]) == COLUMNS[name]


def test_tables_hold_full_precision_in_a_fixed_order(make: Make) -> None:
    evidence = make(Made(accuracy={"beta": 1 / 3, "alpha": 2 / 3}))
    headline = rows(evidence, "headline")
    assert [(row["model"], row["protocol"]) for row in headline] == [
        ("alpha", "clean"),
        ("alpha", "faithful"),
        ("beta", "clean"),
        ("beta", "faithful"),
    ]
    assert float(headline[0]["accuracy"]) == 2 / 3
    assert headline[1]["accuracy_low"] == ""
    assert headline[0]["items"] == "80"
    assert [row["rank"] for row in headline] == ["2", "2", "1", "1"]  # as compare ranked them
    assert float(rows(evidence, "differences")[0]["difference"]) == 2 / 3 - 1 / 3


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_is_no_formula(make: Make, start: str) -> None:
    reason = f'{start}cmd|" /C calc"!A0'
    evidence = make(Made(rejects=[("file:1", reason)]))
    assert rows(evidence, "rejects")[0]["reason"] == f"'{reason}"


def test_text_moves_no_cursor(make: Make) -> None:
    evidence = make(Made(rejects=[("file:1", "a\x1b[2J\x00\x9b\u202eb\tc\nd")]))
    assert rows(evidence, "rejects")[0]["reason"] == "a\ufffd[2J\ufffd\ufffd\ufffdb\tc\nd"


def test_negative_numbers_stay_numbers(make: Make) -> None:
    evidence = make(Made(accuracy={"alpha": 0.5, "beta": 0.75}))
    assert rows(evidence, "differences")[0]["difference"] == "-0.25"


def test_metrics_for_dvc(make: Make) -> None:
    found = metrics_json(make(Made()))
    alpha = found["shapes"]["alpha"]
    assert alpha["accuracy"] == 0.8
    assert alpha["faithful"]["accuracy"] == 0.8 + 0.01
    numbers = {"accuracy", "coverage_lac", "coverage_aps", "set_size_lac", "set_size_aps", "uacc", "ece"}
    assert set(alpha) == numbers | {"faithful"}
    assert set(alpha["faithful"]) == numbers
    assert set(found["shapes"]) == {"alpha", "beta", "gamma"}


def test_data_for_dvc_plots_fits_dvc_yaml(make: Make) -> None:
    evidence = make(Made())
    write_plots(evidence)
    for plot in load(ROOT / "dvc.yaml").get("plots", []):
        for name, settings in plot.items():
            for path, column in settings["y"].items():
                header = Path(path).read_text("utf-8").splitlines()[0].split(",")
                assert {column, settings["x"]} <= set(header), name


def test_what_a_model_lacks_is_no_row_of_a_plot(make: Make) -> None:
    """An empty cell would be drawn as 0."""
    write_plots(make(Made(outputs=("text",))))
    texts = {path.stem: path.read_text("utf-8").splitlines() for path in Path("reports/plots").glob("*.csv")}
    assert texts["set_size_lac"] == ["run,accuracy,set_size_lac"] and len(texts["accuracy"]) == 4
    assert not [line for lines in texts.values() for line in lines if "" in line.split(",")]


def test_dvc_plots_show_without_a_network(make: Make) -> None:
    evidence = make(Made())
    write_plots(evidence)
    shape = "plots:\n  - accuracy:\n      template: bar_horizontal\n      x: accuracy\n"
    none = "  - nothing:\n      x: set_size_lac\n      y: {reports/plots/set_size_lac.csv: run}\n"
    Path("reports/plots/set_size_lac.csv").write_text("run,accuracy,set_size_lac\n", "utf-8")
    Path("dvc.yaml").write_text(shape + "      y: {reports/plots/accuracy.csv: run}\n" + none, "utf-8")
    dvc = [sys.executable, "-m", "dvc"]
    subprocess.run([*dvc, "init", "-q", "--no-scm"], check=True)
    settings = "[core]\n    analytics = false\n[plots]\n    html_template = ../reports/plots/page.html\n"
    Path(".dvc/config").write_text(settings, "utf-8")
    subprocess.run([*dvc, "plots", "show", "-o", "shown"], check=True, capture_output=True)
    shown = Path("shown/index.html").read_text("utf-8")
    assert "vegaEmbed('#accuracy'" in shown
    assert '"run": "alpha"' in shown
    assert re.findall(r'<script[^>]+src="([^"]+)|(<link)', shown)[0][0] == "../reports/assets/vega.js"
    write_site({"index.html": ""}, {}, RenderCache())
    assert Path("reports/assets/vega.js").is_file()
    assert "{plot_divs}" not in shown and "://" not in PLOTS_PAGE.read_text("utf-8")


def test_an_undeclared_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = write_tables(Made())
    with pytest.raises(UserError, match=r"data/compare/leaderboard\.parquet: not among the inputs"):
        read(paths[1:], SCORING)


def test_no_scores_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = write_tables(Made(accuracy={}))
    with pytest.raises(UserError, match="no scores; name a model"):
        read(paths, SCORING)
