"""The papers' tables and figures: names, ranks as printed, published figures beside ours, reasons."""

from collections.abc import Sequence
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.metrics.simulated import ROOT
from tests.report.project import SCORING, Made, Make, write_tables
from vouch import papers
from vouch.metrics.robustness import calibrated, reliability
from vouch.papers.entry import Absent, Built, Lookup, Measure, Paper, facts, family, series, size, with_mean
from vouch.papers.page import Review, build_papers, papers_figures, review
from vouch.papers.pivot import Layout, pivot, ranks
from vouch.papers.reform_tables import BY_LABEL, MODELS, SETS
from vouch.pipeline.yaml12 import load
from vouch.report.evidence import Evidence
from vouch.report.formatting import percent
from vouch.report.loading import load as load_evidence
from vouch.report.loading import read_printed
from vouch.report.page import declared
from vouch.report.table import Grid
from vouch.tables.answered import TEXT as TEXT_TABLE
from vouch.tables.answered import text_path
from vouch.tables.results import LEADERBOARD

PAPERS = {paper.slug: paper for paper in declared(papers, Paper)}
TABLE, FIGURE = "Table {}", "Figure {}"
REFORM = [ROOT / f"docs/published/reform_{name}.csv" for name in ("ranks", "tables", "23_24", "modules")]
NAMED = {
    "kostumov": (("I", "II", "III", "IV", "V", "VI", "VII"), range(3, 9)),
    "azad": ((1, 2, 3, 4, 7), range(1, 10)),
    "reform": (range(1, 25), (3, 4, 5, 8, 9, 10, 11)),
    "tu": ((1, 2, 3), (2, 4)),
    "parc": ((2, 3, "A4", "A5", "A6", "A7", "A8", "A9", "A10"), (2, 3, 4, 5, "A6", "A7", "A8", "A9")),
}


SECTIONS = {"kostumov": ("VI-D", "VI-E")}
"""Results that a paper states in words alone."""


def text(grid: Grid) -> list[list[str]]:
    return [[f"{cell.text}{' | ' + cell.note if cell.note else ''}" for cell in row] for row in grid.rows]


def standing(model: str, metric: str, value: float, **other: Any) -> dict[str, Any]:
    row = {"model": model, "metric": metric, "value": value, "dataset": "shapes", "variation": "original"}
    row |= {"output": "letters", "protocol": "faithful", "category": "all", "calibration": "", "score": ""}
    return row | {"items": 10} | other


def asked(evidence: Evidence, rows: Sequence[dict[str, Any]]) -> Evidence:
    """The same project with other leaderboard and nothing of what rests on them."""
    frame = pd.DataFrame(rows).reindex(columns=LEADERBOARD.schema.names)
    return replace(evidence, leaderboard=frame)


def reviewed(evidence: Evidence, slug: str) -> Review:
    return review(PAPERS[slug], Lookup(evidence))


def built(evidence: Evidence, slug: str) -> dict[str, Built]:
    return {entry.name: made for entry, made in reviewed(evidence, slug).shown}


def beside(made: Built, cells: slice) -> list[list[str]]:
    """Some cells of every published figure that stands beside ours."""
    (grid,) = made.beside
    return [[cell.text for cell in row[cells]] for row in grid.rows]


def test_every_table_and_figure_is_named_as_in_its_paper() -> None:
    assert set(PAPERS) == set(NAMED)
    for slug, (tables, figures) in NAMED.items():
        wanted = [TABLE.format(name) for name in tables] + [FIGURE.format(name) for name in figures]
        wanted += [f"Section {name}" for name in SECTIONS.get(slug, ())]
        assert [entry.name for entry in PAPERS[slug].entries] == wanted


def test_all_that_is_not_here_says_why(make: Make) -> None:
    evidence = make(Made(datasets=("cubes", "shapes"), variations=("original", "blank")))
    found = [reviewed(evidence, slug) for slug in NAMED]
    counts = {r.paper.slug: (len(r.shown), len(r.absent)) for r in found}
    assert {slug: sum(both) for slug, both in counts.items()} == {
        "kostumov": 15, "azad": 14, "reform": 31, "tu": 5, "parc": 17
    }  # fmt: skip
    assert counts["kostumov"][0] == 4, "tables I to IV"
    assert ("Table V", "no SEED-Bench among the datasets") in found[0].reasons
    assert found[0].count == "4 of 15 tables and figures"
    assert all(len(reason) > 10 and reason[0].islower() for r in found for _, reason in r.absent)
    assert build_papers(evidence) == (), "no dataset of any paper"
    reviews = build_papers(make(Made(datasets=("ai2d", "shapes"))))
    assert {r.paper.slug for r in reviews} == {"kostumov", "azad"}
    every = [made for r in reviews for _, made in r.shown]
    anchors = [f"{r.paper.slug}-{entry.anchor}" for r in reviews for entry, _ in r.shown]
    names = [grid.name for made in every for grid in (*made.grids, *made.beside)]
    files = [spec.file for spec in papers_figures(evidence, reviews)]
    assert all(len(set(each)) == len(each) for each in (anchors, names, files))
    assert "azad-figure-2-1" in files and all("-figure-" in name for name in files)


def test_ranks_are_those_of_the_printed_figures() -> None:
    sizes = {"a": 2.696, "b": 2.704, "c": 2.72, "d": 2.3}
    measure = Measure("SS", "set_size", scale=1, better="low")
    assert ranks(sizes, measure) == {"a": 2, "b": 2, "c": 4, "d": 1}
    assert ranks(sizes, replace(measure, better="high")) == {"a": 2, "b": 2, "c": 1, "d": 4}
    assert ranks(sizes, replace(measure, better="")) == {}


def test_a_table_ranks_the_papers_models_and_holds_published_figures_against_ours() -> None:
    rows = [
        ("ours", 0.9, 0.9, 0.88, 0.92, 1, 1),
        ("one", 0.76749, 0.77, 0.75, 0.79, 2, 3),
        ("two", 0.75, 0.75, 0.73, 0.77, 2, 3),
    ]
    names = ["model", "value", "clean", "low", "high", "rank_low", "rank_high"]
    frame = pd.DataFrame(rows, columns=names).assign(dataset="mmbench", measure=0)
    layout = Layout(
        "Table",
        (Measure("Acc", "accuracy", better="high"),),
        {"one": "One", "two": "Two", "ours": "ours"},
        {"mmbench": "MMB", "ai2d": "AI2D"},
        peers=("one", "two", "three"),
        prints={(0, "one", "mmbench"): "76.7 (2)", (0, "two", "mmbench"): "75 (2)"},
        ranked=True,
    )
    made = pivot(frame, layout)
    (table,) = made.grids
    assert [column.label for column in table.columns] == ["Model", "Acc MMB"]
    assert text(table) == [
        ["One | one", "76.75 (1) | clean 77.00 (75.00–79.00), rank 2–3; published 76.7"],
        ["Two | two", "75.00 (2) | clean 75.00 (73.00–77.00), rank 2–3"],
        ["ours", "90.00 | clean 90.00 (88.00–92.00), rank 1"],
    ]
    assert [row[1].tone for row in table.rows] == ["", "good", ""]
    assert text(made.beside[0]) == [
        ["One | one", "MMB", "Acc", "76.7", "76.75", "0.049", "2", "1"],
        ["Two | two", "MMB", "Acc", "75", "75.00", "0", "2", "2"],
    ]
    said = "1 of 2 published numbers agree to the printed digit, 1 of 2 published ranks."
    assert made.sentences == (said,)
    with pytest.raises(Absent):
        pivot(frame[frame["dataset"] == "ai2d"], layout)


def test_means_are_over_the_datasets_that_were_asked(make: Make) -> None:
    rows = [
        standing(model, "accuracy", value, dataset=dataset)
        for model, dataset, value in (("a", "x", 0.5), ("a", "y", 0.7), ("b", "x", 0.9))
    ]
    rows += [standing(row["model"], "coverage", 0.9, score="mean", dataset="x") for row in rows[:1]]
    evidence = asked(make(Made(datasets=("x", "y"))), rows)
    table = built(evidence, "azad")["Table 1"].grids[0]
    assert [column.label for column in table.columns] == ["Model", "Acc x", "Acc y", "Acc Avg."]
    assert {row[0]: row[1:] for row in text(table)} == {
        "a": ["50.00", "70.00", "60.00"],
        "b": ["90.00", "–", "–"],
        "Mean over models": ["70.00", "70.00", "70.00"],
    }


def test_a_dataset_without_the_measure_is_no_part_of_the_mean() -> None:
    rows = [("a", "x", 0, 0.5), ("a", "y", 0, 0.7), ("b", "x", 0, 0.9)]
    frame = pd.DataFrame(rows, columns=["model", "dataset", "measure", "value"]).assign(clean=0.25)
    mean = with_mean(frame, ("x", "y", "z"))[3:].set_index("model")["value"]
    assert mean.to_dict() == {"a": pytest.approx(0.6)}
    assert len(with_mean(frame, ("x", "z"))) == len(frame)


@pytest.mark.parametrize(
    "project",
    [
        Made(accuracy={"</script>\"'": 0.5}, outputs=("text",), published=False),
        Made(
            datasets=("x", "x_likelihood"), outputs=("text", "likelihood"), variations=("original", "tests")
        ),
        Made(accuracy={"llava_7b": 0.5, "llava_13b": 0.5}, variations=("original", "vs_e", "ls_n")),
    ],
    ids=["one model, texts", "likelihoods", "two sizes"],
)
def test_whatever_is_here_can_be_shown(make: Make, project: Made) -> None:
    evidence = make(project)
    for slug in NAMED:
        for made in built(evidence, slug).values():
            assert all(len(drawn.description) > 20 for drawn in made.figures)
            assert all(len(row) == len(grid.columns) for grid in made.grids for row in grid.rows)


def parc_rows() -> list[dict[str, Any]]:
    names = ("reliability", "accuracy_calibrated", "certainty", "consistency_calibrated")
    rows = []
    for model, level in (("llava_v1_5_7b", 0.2), ("other", 0.4)):
        rows.append(standing(model, "accuracy", level, dataset="nyu_depth"))
        rows.append(standing(model, "accuracy", level / 2, dataset="nyu_depth", variation="ls_n"))
        for place, name in enumerate(names):
            where = {"dataset": "nyu_depth"}
            for variation, score, less in (
                ("original", "", 0), ("ls_n", "", 0.1), ("vr_b_5", "", 0.05), ("ls_n+vr_b_5", "", 0.2),
                ("", "every_prompt", 0.05), ("", "LS", 0.1), ("", "VR", 0.05), ("", "language", 0.1),
                ("", "vision", 0.05), ("", "reformulation", 0.05), ("", "semantic", 0.1),
            ):  # fmt: skip
                if name != "consistency_calibrated" or variation != "original":
                    more = where | {"variation": variation, "score": score}
                    rows.append(standing(model, name, level + 0.1 * place - less, **more))
    return rows


def test_parc_by_prompt_by_model_and_beside_the_paper(make: Make) -> None:
    evidence = asked(make(Made(datasets=("nyu_depth",))), parc_rows())
    printed = pd.DataFrame(
        {"model": ["LLaVA-1.5 7B"] * 2, "score": ["reliability", "accuracy"], "NYU": ["0.15", "0.26"]}
    )
    found = reviewed(replace(evidence, printed={"parc_a8": printed}), "parc")
    shown = {entry.name: made for entry, made in found.shown}
    assert [entry.name for entry, _ in found.absent] == ["Table A4", "Table A5", "Figure 5", "Figure A9"]
    assert not shown["Figure 2"].grids, "the guess is not known"
    assert text(shown["Table A6"].grids[0]) == [
        ["O | original", "0.30", "0.40", "0.50", "–"],
        ["LS-N | ls_n", "0.20", "0.30", "0.40", "0.50"],
        ["VR-B 5 | vr_b_5", "0.25", "0.35", "0.45", "0.55"],
    ]
    both = ["LS-N/VR-B 5 | ls_n+vr_b_5", "0.10", "0.20", "0.30", "0.40"]
    assert text(shown["Table A9"].grids[0])[-1] == both
    assert text(shown["Table A8"].grids[0])[0][1:] == ["0.15", "0.25 | published 0.26", "0.35", "0.45"]
    assert shown["Table A8"].sentences == ("1 of 2 published numbers agree to the printed digit.",)
    assert "Mean over the models: nyu_depth" not in shown["Figure 3"].figures[0].description
    assert "NYU, before O 0.30; NYU, before LS-N 0.15" in shown["Figure 3"].figures[0].description


def test_parc_counts_and_grades_the_questions_that_the_filter_leaves_out_too(make: Make) -> None:
    """Table A5 of questions of which 12 have an image to exchange, and one was rejected."""
    evidence = make(Made(accuracy={"llava_v1_6_34b": 0.75, "other": 0.8}, datasets=("nyu_depth",)))
    items = list(evidence.items["id"])
    kept = items[:12]
    made = [
        {"model": model, "dataset": "nyu_depth", "item": item, "group": item, "variation": variation}
        | {"prompt": f"{item}/{variation}", "output": "letters", "clean_correct": float(place % 4 != grade)}
        for grade, model in enumerate(("llava_v1_6_34b", "other"))
        for variation, asked_of in (("original", kept), ("vs_e", kept), ("initial", items))
        for place, item in enumerate(asked_of)
    ]
    rejects = pd.DataFrame([{"dataset": "nyu_depth", "where": "x", "id": "", "reason": "has no answer"}])
    printed = read_printed([ROOT / "docs/published/parc_a5.csv"])
    outcomes = pd.DataFrame(made).reindex(columns=evidence.outcomes.columns)
    setup = {"datasets": {"nyu_depth": {"rows": "exchangeable"}}}
    evidence = replace(evidence, outcomes=outcomes, rejects=rejects, printed=printed, setup=setup)
    (row,) = text(built(evidence, "parc")["Table A5"].grids[0])
    total = len(items) + 1
    assert len(items) > 12 and row[1:3] == [f"{total} | published 1858", "12 | published 385"]
    right = sum(place % 4 != 0 for place in range(len(items))) / len(items)
    assert row[4:] == [
        f"{percent(right)} | llava_v1_6_34b; published 67.2",
        f"{percent(0.75)} | llava_v1_6_34b; published 70.4",
    ]
    outcomes = outcomes[outcomes["variation"] != "initial"]
    (row,) = text(built(replace(evidence, outcomes=outcomes), "parc")["Table A5"].grids[0])
    assert row[4] == "– | needs the variation initial", "not the accuracy of the kept ones again"


def axis(chart: Any) -> dict[str, float]:
    """The places of the models on the axis across."""
    return {point["name"]: point["x"] for each in chart.to_dict()["datasets"].values() for point in each}


def test_parc_by_size_and_by_the_training_data_of_models_alike_in_size(make: Make) -> None:
    evidence = asked(make(Made(datasets=("nyu_depth",))), parc_rows())
    names = ("language_model_parameters", "total_parameters", "training_data_size")
    known: dict[str, dict[str, Any]] = {
        "llava_v1_5_7b": dict(zip(names, (6_700_000_000, 7_400_000_000, 1_200_000), strict=True)),
        "other": dict(zip(names, (7_000_000_000, 7_100_000_000, 50_000_000), strict=True)),
    }
    shown = built(replace(evidence, facts=known), "parc")
    left, right = shown["Figure 5"].figures
    language = {name: each["language_model_parameters"] for name, each in known.items()}
    whole = {name: each["total_parameters"] for name, each in known.items()}
    assert axis(left.chart) == language, "the paper's left half is by the language model's size"
    assert "2 models with language models of 7 or 8 billion parameters" in right.description
    assert [axis(drawn.chart) for drawn in shown["Figure A9"].figures] == [whole, language]
    known["other"]["language_model_parameters"] = 13_000_000_000
    del known["other"]["total_parameters"]
    shown = built(replace(evidence, facts=known), "parc")
    assert len(shown["Figure 5"].figures) == len(shown["Figure A9"].figures) == 1
    assert "right half needs two models" in shown["Figure 5"].sentences[0]
    assert shown["Figure A9"].sentences[0].startswith("Not by size of the model: fewer than two sizes")


def test_parc_guarantees_and_planes(make: Make) -> None:
    """Equation 6 on reliabilities by hand: with a guess of .27, .6 and 1 give .526 > .452; UAcc reaches 2, 4."""
    cells = {  # accuracy, guess, certainty
        ("llava_v1_5_7b", "original"): (0.6, 0.27, 1.0),
        ("llava_v1_5_7b", "vr_b"): (0.1, 0.27, 1.0),
        ("other", "original"): (0.9, 0.5, 0.8),
        ("other", "vr_b"): (0.2, 0.5, 0.8),
        ("third", "original"): (0.9, 0.73, 1.0),
        ("third", "vr_b"): (0.4, 0.73, 1.0),
    }
    rows = []
    for (model, variation), each in cells.items():
        accuracy, guess, certainty = map(np.array, each)
        values = {
            "reliability": reliability(accuracy, guess, certainty),
            "accuracy_calibrated": calibrated(accuracy, guess),
            "certainty": certainty,
            "random_accuracy": guess,
        }
        of = {"dataset": "nyu_depth", "variation": variation}
        rows += [standing(model, name, float(value), **of) for name, value in values.items()]
    shown = built(asked(make(Made(datasets=("nyu_depth",))), rows), "parc")
    (grid,) = shown["Figure 2"].grids
    assert [row[1:] for row in text(grid)] == [
        ["0.27", "2", "2", "1", "0.07"], ["0.50", "2", "2", "2", "0.00"], ["0.73", "2", "2", "1", "0.28"]
    ]  # fmt: skip
    (drawn,) = shown["Figure A6"].figures
    points = pd.concat(pd.DataFrame(each) for each in drawn.chart.to_dict()["datasets"].values())
    half = points[(points["x"] == 0.6) & (points["y"] == 0.5)]
    by_hand = {4: 0.6 / (1 + 0.5 * 3) * 2, 16: 0.6 / (1 + 0.5 * 15) * 4}  # equation 8
    assert half["value"].tolist() == [0.1, *(round(value, 3) for value in by_hand.values())]
    extremes = points.groupby("panel")["value"].agg(["min", "max"])
    assert extremes.to_dict("index") == {
        "Reliability, guess 0.50": {"min": -1, "max": 1},
        "UAcc, 4 options: 0 to 2": {"min": 0, "max": 2},
        "UAcc, 16 options: 0 to 4": {"min": 0, "max": 4},
    }


def test_what_reform_eval_says_of_parts_and_training_of_models(make: Make) -> None:
    """Figures 3, 4 and 8 and table 22, of accuracies by hand."""
    facts_of = {
        "blip2_flan_t5_xl": ("FlanT5-XL", "ViT-G/14", 3_940_000_000, 106_700_000),
        "llava_vicuna_7b": ("Vicuna-7B", "ViT-L/14", 7_050_000_000, 6_740_000_000),
        "instructblip_vicuna_7b": ("Vicuna-7B", "ViT-G/14", 7_920_000_000, 188_800_000),
    }
    keys = ("language_model", "vision_encoder", "total_parameters", "trainable_parameters")
    known: dict[str, Any] = {name: dict(zip(keys, each, strict=True)) for name, each in facts_of.items()}
    right = {"refcoco": (0.6, 0.2, 0.4), "pets37": (0.9, 0.5, 0.7)}
    rows = [
        standing(name, "accuracy", value, dataset=dataset, output="text")
        for dataset, values in right.items()
        for name, value in zip(known, values, strict=True)
    ]
    evidence = replace(asked(make(Made(datasets=("refcoco", "pets37"))), rows), facts=known)
    shown = built(evidence, "reform")
    (drawn,) = shown["Figure 3"].figures
    assert (
        "Vicuna-7B generation 45.0" in drawn.description and "ViT-G/14 generation 65.0" in drawn.description
    )
    (ranks,) = shown["Table 22"].grids
    assert text(ranks) == [
        ["Pre-training with COCO", "1.00", "1.00"], ["Pre-training without COCO", "3.00", "3.00"]
    ]  # fmt: skip
    drawn = shown["Figure 4"].figures[0]
    assert (
        drawn.title.startswith("Fig. 4 (a): mean rank")
        and "with COCO, out of domain 1.00" in drawn.description
    )
    assert shown["Figure 4"].sentences == (
        "Not built: (b): samples of pre-training data of fewer than two models are known; "
        "(c): data sets of instruction tuning of fewer than two models are known.",
    )
    total, trainable, language = shown["Figure 8"].figures
    assert "medians: 4B 75.0; 7B 35.0; 8B 55.0" in total.description
    assert "medians: 100M to 1B 65.0; over 1B 35.0" in trainable.description
    assert "medians: 0 65.0; over 1B 35.0" in language.description
    apart = replace(evidence, leaderboard=evidence.leaderboard.query("model != 'llava_vicuna_7b'"))
    assert "needs models of both groups" in dict(reviewed(apart, "reform").reasons)["Table 22"]


def test_figures_of_the_papers_own_numbers_say_what_its_text_says(make: Make) -> None:
    """Appendix C.3 and C.4, from the printed accuracies of all 16 models and the paper's facts about them."""
    tables = read_printed(REFORM)["reform_tables"]
    rows = [
        standing(
            BY_LABEL[row["model"]],
            "accuracy",
            float(row["accuracy"]) / 100,
            dataset=row["dataset"],
            output="text",
        )
        for row in tables.to_dict("records")
        if row["output"] == "generation"
        and row["accuracy"]
        and row["dataset"] in ("flowers102", "pets37", "refcoco", "scienceqa", "clevr")
    ]
    made = make(Made(accuracy=dict.fromkeys(MODELS, 0.5), datasets=("scienceqa",)))
    shown = built(asked(made, rows), "reform")
    (drawn,) = shown["Figure 9"].figures
    medians = {
        group: float(value)
        for group, value in (
            part.rsplit(" ", 1) for part in drawn.description[:-1].split("medians: ")[1].split("; ")
        )
    }
    assert list(medians) == ["1", "10", "32", "64", "256"] and max(medians, key=medians.__getitem__) == "32"
    assert max(medians["1"], medians["10"]) < min(medians["64"], medians["256"])
    total, trainable, language = shown["Figure 8"].figures
    assert total.description.split("medians: ")[1].startswith("4B ")
    assert [part.rsplit(" ", 1)[0] for part in trainable.description.split("medians: ")[1].split("; ")] == [
        "up to 10M", "10M to 100M", "100M to 1B", "over 1B",
    ]  # fmt: skip
    assert "medians: 0 " in language.description
    titles = [one.title for one in shown["Figure 4"].figures]
    assert titles[1].startswith("Fig. 4 (b): accuracy and pre-training data")
    assert "5 models" in shown["Figure 4"].figures[1].description


def test_properties_of_the_models_of_parc_are_those_of_table_a4(make: Make) -> None:
    """models.lock against the printed table; a model of ours beside them."""
    locked = load(ROOT / "models.lock")["models"]
    models = list(load(ROOT / "profiles/parc.yaml")["models"])
    evidence = make(Made(accuracy=dict.fromkeys([*models, "other"], 0.5)))
    printed = read_printed([ROOT / "docs/published/parc_a4.csv"])
    known = facts({name: locked[name] for name in models}, {}) | {"other": {"resolution": 336}}
    shown = built(replace(evidence, facts=known, printed=printed), "parc")
    rows = {row[0]: row[1:] for row in text(shown["Table A4"].grids[0])}
    assert len(rows) == 7 and not any("published" in cell for row in rows.values() for cell in row)
    assert rows["LLaVA-1.6 34B | llava_v1_6_34b"] == [
        "34,700,000,000",
        "34,400,000,000",
        "336",
        "1,600,000",
        "high",
    ]
    assert rows["other"] == ["–", "–", "336", "–", "–"]
    known["llava_v1_6_34b"] = known["llava_v1_6_34b"] | {"resolution": 672, "curation": "low"}
    shown = built(replace(evidence, facts=known, printed=printed), "parc")
    rows = {row[0]: row[1:] for row in text(shown["Table A4"].grids[0])}
    assert rows["LLaVA-1.6 34B | llava_v1_6_34b"][2::2] == ["672 | published 336", "low | published high"]


def test_the_plane_of_table_3_has_a_point_a_model_by_size(make: Make) -> None:
    evidence = asked(make(Made(datasets=("nyu_depth",))), parc_rows())
    evidence = replace(evidence, facts={"llava_v1_5_7b": {"total_parameters": 7_400_000_000}})
    (drawn,) = built(evidence, "parc")["Table 3"].figures
    assert drawn.title == "Table 3 (right): reliability against consistency"
    assert (
        drawn.description.startswith("Scatter plot of 2 models")
        and "The most reliable, other" in drawn.description
    )
    (points,) = drawn.chart.datasets.values()
    found = {row["name"]: (round(row["x"], 2), round(row["y"], 2), row["size"]) for row in points}
    assert found == {"llava_v1_5_7b": (0.45, 0.15, 7.4e9), "other": (0.65, 0.35, None)}


def test_means_of_likelihood_are_published_over_six_dimensions(make: Make) -> None:
    """Ranks are among the paper's sixteen models, so they stand beside ours only where those are here."""
    six = ("coarse_perception", "fine_perception", "spatial", "visual_reasoning", "cross_modal", "dialogue")
    model, other = "blip2_flan_t5_xl", "bliva"
    evidence = make(Made(accuracy={model: 0.63, other: 0.5}, categories=six, outputs=("likelihood",)))
    frame = evidence.dimensions
    online = frame["variation"].mask(frame["dimension"] == "dialogue", "dialogue_tests")
    frame = frame.assign(parts=frame["dimension"].map(SETS).fillna(6), variation=online)
    faithful = frame.assign(protocol="faithful", value=frame["value"] - 0.0008)
    evidence = replace(evidence, dimensions=pd.concat([frame, faithful]), printed=read_printed(REFORM))
    shown = built(evidence, "reform")
    rows = beside(shown["Table 1"], slice(1, 4))
    assert len(rows) == 7 * 2
    assert [row[2] for row in rows if row[0] == "overall"] == ["62.92", "64.92"]
    assert list(shown["Table 1"].sentences) == ["1 of 14 published numbers agree to the printed digit."]
    less = evidence.dimensions["parts"].where(frame["dimension"] != "spatial", 2)
    few = built(replace(evidence, dimensions=evidence.dimensions.assign(parts=less)), "reform")
    assert {name for (name,) in beside(few["Table 1"], slice(1, 2))} == set(six) - {"spatial"}


def test_table_2_of_reform_eval_follows_from_the_printed_accuracies_by_dimension(make: Make) -> None:
    """Of texts the paper's own numbers and its facts of 16 models give table 2; 29.55 is printed as 29.5. Of
    likelihoods they do not: its numbers are lower throughout."""
    files = read_printed(REFORM)
    rows = [
        {"dimension": row["dataset"], "model": BY_LABEL[row["model"]], "output": output}
        | {"value": float(row["accuracy"]) / 100, "rank": 1.0, "parts": SETS[row["dataset"]]}
        | {"protocol": protocol, "variation": "dialogue_tests" if row["dataset"] == "dialogue" else "tests"}
        for row in files["reform_tables"].to_dict("records")
        for output, noun in (("text", "generation"), ("likelihood", "likelihood"))
        for protocol in ("faithful", "clean")
        if row["dataset"] in SETS and row["accuracy"] and row["output"] == noun
    ]
    made = make(Made(accuracy=dict.fromkeys(MODELS, 0.5), datasets=("scienceqa",)))
    evidence = replace(made, dimensions=pd.DataFrame(rows), printed=files)
    shown = built(evidence, "reform")["Table 2"]
    cells = beside(shown, slice(5))
    texts = [row for row in cells if row[2] == "Generation"]
    assert len(texts) == 14 and len(cells) == 28
    assert [row for row in texts if row[3] != row[4]] == [
        ["ImageBind + Linear", "cognition", "Generation", "29.5", "29.6"]
    ]
    assert all(float(row[3]) < float(row[4]) for row in cells if row[2] == "Likelihood")
    one = evidence.dimensions.query("model != 'bliva'")
    fewer = built(replace(evidence, dimensions=one), "reform")["Table 2"]
    assert "ViT-G + Q-Former" not in {name for (name,) in beside(fewer, slice(1))}, "needs all of its models"
    part = evidence.dimensions.assign(parts=1)
    assert not built(replace(evidence, dimensions=part), "reform")["Table 2"].beside


def test_dialogues_count_if_they_show_the_models_own_earlier_answers(make: Make) -> None:
    """Prompts without a history measure something else than the paper's online dialogues."""
    rows = [
        standing("blip2_flan_t5_xl", metric, value, output="text", dataset=dataset, variation=variation)
        for dataset, off in (("vqa_mt", 0.0), ("visdial", 0.1))
        for variation, value in (("tests", 0.9), ("dialogue_tests", 0.6797 - off), ("original", 0.8))
        for metric in ("accuracy", "turn_correlation", "instability")
    ]
    two = Made(datasets=("vqa_mt", "visdial"))
    evidence = replace(asked(make(two), rows), printed=read_printed(REFORM))
    shown = built(evidence, "reform")["Table 20"]
    assert beside(shown, slice(1, 5)) == [
        ["visdial", "Acc", "55.53", "57.97"], ["vqa_mt", "Acc", "67.97", "67.97"], ["Avg.", "Acc", "61.75", "62.97"],
        ["visdial", "Instability", "0.24", "0.58"], ["vqa_mt", "Instability", "0.20", "0.68"],
        ["Avg.", "Instability", "0.22", "0.63"],
        ["visdial", "Correlation", "-0.93", "0.58"], ["vqa_mt", "Correlation", "-0.26", "0.68"],
    ]  # fmt: skip
    without = [row for row in rows if row["variation"] != "dialogue_tests"]
    reasons = dict(reviewed(asked(make(two), without), "reform").reasons)
    assert reasons["Table 20"] == "needs the variation dialogue_tests, or dialogue, and questions with turns"
    evidence = make(Made(categories=("dialogue", "spatial"), outputs=("likelihood",)))
    dimensions = evidence.dimensions
    general = built(evidence, "reform")["Table 1"].grids[0]
    assert not any("dialogue" in column.label for column in general.columns)
    talked = dimensions[dimensions["dimension"] == "dialogue"]
    talked = talked.assign(variation="dialogue_tests", protocol="faithful", value=0.125)
    evidence = replace(evidence, dimensions=pd.concat([dimensions, talked]))
    general = built(evidence, "reform")["Table 1"].grids[0]
    column = next(place for place, one in enumerate(general.columns) if one.label == "Acc dialogue")
    assert {row[column].text.split()[0] for row in general.rows} == {"12.50"}


def test_reform_stands_beside_the_paper_on_every_set(make: Make) -> None:
    evidence = make(Made(accuracy={"blip2_flan_t5_xl": 0.6266}, datasets=("gqa",), outputs=("likelihood",)))
    evidence = replace(evidence, printed=read_printed(REFORM))
    shown = built(evidence, "reform")["Table 15"]
    assert beside(shown, slice(1, 5)) == [["gqa", "Acc", "62.70", "63.66"]]


def test_published_figures_of_models_that_sample_stand_beside_samples(make: Make) -> None:
    """The authors draw nothing from BLIP-2: theirs stands beside the greedy text even where samples are here."""
    rows = [
        standing(model, metric, value, output="text", dataset=dataset, variation=variation, score=score)
        for model in ("llava_vicuna_7b", "blip2_flan_t5_xl", "mmgpt")
        for dataset, variation in (("scienceqa", "tests"), ("scienceqa", "instruction"), ("gqa", "tests"))
        for score, value in (("", 0.25), ("t0.2", 0.125), ("first_t0.2", 0.5))
        for metric in ("accuracy", "instability")
        if (model, score) != ("mmgpt", "first_t0.2")
    ]
    evidence = replace(asked(make(Made(datasets=("gqa", "scienceqa"))), rows), printed=read_printed(REFORM))
    shown = built(evidence, "reform")
    heads = [column.label for column in shown["Table 15"].grids[0].columns]
    assert {"Acc scienceqa", "Acc, sampled scienceqa", "Instability, sampled gqa"} <= set(heads)
    found = {tuple(row) for row in beside(shown["Table 15"], slice(5))}
    assert len(found) == 3 * 2 * 2, "each published number once"
    assert {row[2:] for row in found if row[:2] == ("LLaVA_V", "scienceqa")} == {
        ("Acc, sampled", "46.57", "50.00"), ("Instability, sampled", "0.63", "0.50"),
    }  # fmt: skip
    for model in ("BLIP-2_F", "mmGPT"):
        assert {row[2] for row in found if row[0] == model} == {"Acc", "Instability"}
    assert all(row[4] in ("25.00", "0.25") for row in found if row[0] != "LLaVA_V")
    assert sorted(beside(shown["Table 23"], slice(5))) == [
        ["BLIP-2_F", "scienceqa", "Instruction", "0.029", "0.250"],
        ["LLaVA_V", "scienceqa", "Instruction, sampled", "0.197", "0.500"],
        ["mmGPT", "scienceqa", "Instruction", "0.578", "0.250"],
    ]


def test_answers_without_and_with_the_sample_are_read_from_the_tables_of_answers(tmp_path: Path) -> None:
    """Figure 11 of ReForm-Eval: the first three questions, by id, at which the texts of a model differ."""
    said = {  # by item: the text for the original prompt and without its sample; a model may have no answer
        "q1": ("(A) a", " (A) a\n"), "q10": ("(B) b", "b"), "q2": ("(A) a", None), "q3": ("(A)", ""),
        "q4": ("(C) c", "<b>It's c" + "c" * 400), "q5": ("(A) a", "never shown"),
    }  # fmt: skip
    rows = [
        {"prompt": f"{item}/{variation}", "temperature": temperature, "sample": sample, "logprobs": []}
        | {"text": text if sample == 0 else "of a sample", "problem": None if text is not None else "refused"}
        for item, texts in said.items()
        for variation, text in zip(("original", "no_sample"), texts, strict=True)
        for temperature, sample in ((0.0, 0), (0.2, 1))
    ]
    rows.append(rows[0] | {"prompt": "q10/tests_1", "text": "another variation"})
    made = Made(datasets=("vqa_v2",), variations=("original", "no_sample"), outputs=("text",))
    with chdir(tmp_path):
        path = text_path("alpha", "vqa_v2")
        table = pa.Table.from_pylist(rows, schema=TEXT_TABLE.schema)
        inputs = [*write_tables(made), path]
        TEXT_TABLE.write(path, table)
        evidence = load_evidence(inputs, SCORING)
        one = load_evidence(inputs[:-1], SCORING)
    (grid,) = built(evidence, "reform")["Figure 11"].grids
    assert (grid.name, grid.caption.split(":")[0]) == ("reform-figure-11-vqa_v2", "Fig. 11")
    assert [[cell.text for cell in row[1:]] for row in grid.rows] == [
        ["alpha", "b", "(B) b"], ["alpha", "(empty)", "(A)"], ["alpha", f"<b>It's {'c' * 291}…", "(C) c"],
    ]  # fmt: skip
    assert (grid.rows[0][0].text, grid.rows[0][0].note) == ("What is it?", "q10; correct: a")
    reasons = dict(reviewed(one, "reform").reasons)
    assert reasons["Figure 11"].startswith("needs the variation no_sample")


def test_hit_rates_stand_beside_the_papers(make: Make) -> None:
    model = "mplug_owl"
    rows = [
        standing(model, "format_hit_rate", value, output="text", dataset="vqa_v2", variation=variation)
        for value, variation in ((0.6286, "no_sample"), (0.99, "original"))
    ]
    rows.append(standing(model, "accuracy", 0.5, dataset="vqa_v2"))
    evidence = asked(make(Made(datasets=("vqa_v2",))), rows)
    evidence = replace(evidence, printed=read_printed([ROOT / "docs/published/reform_hits.csv"]))
    shown = built(evidence, "reform")
    for name in ("Table 3", "Table 21"):
        assert beside(shown[name], slice(2, 5)) == [
            ["Without sample", "62.86", "62.86"],
            ["With sample", "100", "99.00"],
        ]


def test_azads_scores_of_one_split_means_over_models_and_distributions(make: Make) -> None:
    """A row of means over the models beside those that the paper states; scores that were not computed."""
    rows = []
    for model, level in (("a_1b", 0.2), ("b_3b", 0.4), ("c", 0.9)):
        for dataset, less in (("scienceqa", 0.0), ("mmmu_pro", 0.1)):
            rows.append(standing(model, "accuracy", level - less, dataset=dataset))
            for score, more in (("lac", 0.0), ("aps", 0.5), ("margin", 0.25)):
                sets = {"dataset": dataset, "score": score, "alpha": 0.1}
                rows.append(standing(model, "set_size", 4 - 2 * level + more, **sets))
                rows.append(standing(model, "coverage", 0.9 + level / 20 - less / 10, **sets))
    evidence = asked(make(Made(datasets=("scienceqa", "mmmu_pro"))), rows)
    evidence = replace(evidence, printed=read_printed([ROOT / "docs/published/azad_means.csv"]))
    shown = built(evidence, "azad")
    assert text(shown["Table 1"].grids[0])[-1] == ["Mean over models", "50.00", "40.00", "45.00"]
    (sentence,) = shown["Table 1"].sentences
    assert "ScienceQA 73.78 (section 6.2) and ScienceQA 75.2 (section 6.5)" in sentence
    assert "MMMU-Pro 20.85" in sentence and "MathVision" not in sentence
    sizes = shown["Table 2"]
    assert sizes.sentences[0] == "MS, eq. 6 was not computed (score.scores)."
    assert text(sizes.grids[0])[-1][1:] == [
        "3.00",
        "3.00",
        "3.00",
        "3.25",
        "3.25",
        "3.25",
        "3.50",
        "3.50",
        "3.50",
    ]
    (drawn,) = shown["Figure 4"].figures
    assert "3 models. The lowest is 2.20: c, LAC" in drawn.description
    (drawn,) = shown["Figure 8"].figures
    assert "over 4 pairs" in drawn.description, "the size of c is unknown"
    assert "Parameters, billions and Set size \u22121.00" in drawn.description
    charts = drawn.chart.to_dict()["concat"]
    assert len(charts) == 16 and [chart["mark"]["type"] for chart in charts[::5]] == ["bar"] * 4
    counts = [sum(row["count"] for row in rows if "count" in row) for rows in drawn.chart.datasets.values()]
    assert counts.count(4) == len([each for each in counts if each]), "every pair is counted once"


def test_sizes_and_families_from_records_names_and_recipes() -> None:
    locked = {"family": "LLaVA", "series": "LLaVA-1.5", "total_parameters": 7_400_000_000}
    trained = {"family": "llava", "width": 48, "layers": 4}
    known = facts({"llava_v1_5_7b": {"facts": locked}}, {"vouch_s": trained})
    assert size("llava_v1_5_7b", known) == 7.4e9
    assert size("vouch_s", known) == 12 * 4 * 48**2
    assert size("moe_llava_qwen_1_8b_4e", {}) == 1.8e9
    assert size("monkey_chat", {}) is None
    assert (family("llava_v1_5_7b", known), series("llava_v1_5_7b", known)) == ("LLaVA", "LLaVA-1.5")
    assert family("mobilevlm_v2_1_7b", {}) == "mobilevlm"


def test_models_that_all_do_equally_well_have_no_correlations(make: Make) -> None:
    same = dict.fromkeys(("alpha", "beta", "gamma"), 0.5)
    evidence = make(Made(accuracy=same, datasets=("cubes", "shapes")))
    rows = [
        {"dataset": dataset, "output": "letters", "model": model, "performance": value}
        for dataset in ("cubes", "shapes")
        for model, value in same.items()
    ]
    evidence = replace(evidence, ranked=pd.DataFrame(rows))
    for slug, name, words in (
        ("azad", "Figure 8", "nothing that differs"),
        ("tu", "Figure 2", "equally well"),
    ):
        reasons = {entry.name: reason for entry, reason in reviewed(evidence, slug).absent}
        assert words in reasons[name]
