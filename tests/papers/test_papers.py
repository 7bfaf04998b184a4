"""The papers' tables and figures: names, ranks as printed, published figures beside ours, reasons."""

from dataclasses import replace

import pandas as pd
import pytest

from tests.metrics.simulated import ROOT
from tests.papers.shown import PAPERS, asked, built, reviewed, standing, text
from tests.report.project import Made, Make
from vouch.papers.entry import Absent, Measure, facts, family, series, size, with_mean
from vouch.papers.page import build_papers, papers_figures
from vouch.papers.pivot import Layout, pivot, ranks

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
