"""Ranked from Within (Tu et al. 2024): its tables from answers, its robust lines, its signs."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import spearmanr, weightedtau

from tests.metrics.simulated import ROOT
from tests.papers.shown import beside, built, reviewed, text
from tests.report.project import Made, Make
from vouch.metrics.comparison.config import CompareConfig
from vouch.metrics.comparison.rankers import RANKERS
from vouch.metrics.comparison.ranking import rankings
from vouch.papers.charts import STAR, huber
from vouch.papers.entry import Lookup, names_in
from vouch.papers.tu import METHODS, NEAREST
from vouch.pipeline.yaml12 import load
from vouch.report.evidence import Evidence
from vouch.report.loading import read_printed
from vouch.tables import SAMPLES, TOKENS
from vouch.tables.results import LABEL_FREE, RANKED, RANKINGS

# stack loss by air flow, water temperature and acid concentration (Brownlee 1965)
STACKLOSS = """
80 27 89 42 80 27 88 37 75 25 90 37 62 24 87 28 62 22 87 18 62 23 87 18 62 24 93 19 62 24 93 20 58 23 87 15
58 18 80 14 58 18 89 14 58 17 88 13 58 18 82 11 58 19 93 12 50 18 89 8 50 18 86 7 50 19 72 8 50 19 79 8
50 20 80 9 56 20 82 15 70 20 91 15
"""


def test_robust_regression_is_that_of_statsmodels_and_mass() -> None:
    """The coefficients that statsmodels documents for RLM, and R's help for MASS::rlm rounds."""
    rows = np.array(STACKLOSS.split(), dtype=float).reshape(-1, 4)
    design = np.column_stack([np.ones(len(rows)), rows[:, :3]])
    known = [-41.02649835, 0.82938433, 0.92606597, -0.12784672]
    assert huber(design, rows[:, 3]) == pytest.approx(known, abs=1e-7)
    line, x = np.array([2.0, 0.5]), np.arange(9.0)
    design = np.column_stack([np.ones(9), x])
    assert huber(design, design @ line) == pytest.approx(line), "no residuals, no scale"
    outlier = np.where(x == 8, 90.0, design @ line)
    assert huber(design, outlier) == pytest.approx(line, abs=1e-6)
    assert huber(design[:2], np.array([1.0, 1.0])) == pytest.approx([1.0, 0.0])


def made_answers(models: Sequence[str], datasets: Sequence[str]) -> pa.Table:
    """Rows of LABEL_FREE: 40 texts of each model to each dataset, and five samples of each."""
    draw = np.random.default_rng(7)
    rows: list[dict[str, Any]] = []
    for dataset in datasets:
        for model in models:
            level, blur = draw.uniform(0.3, 0.9), draw.uniform(0, 0.3)
            for item in range(40):
                row = {"model": model, "dataset": dataset, "prompt": f"{item}/original", "group": str(item)}
                tokens = {name: 1 - level + blur * draw.normal() for name in TOKENS}
                grade = float(draw.random() < level)
                rows.append(row | {"output": "text", "performance": grade, **tokens})
                samples = dict.fromkeys(SAMPLES, draw.random())
                rows.append(row | {"output": "text", "temperature": 0.7, "performance": grade, **samples})
    return pa.Table.from_pylist(rows, schema=LABEL_FREE.schema)


def ranked_by(evidence: Evidence, answers: pa.Table) -> Evidence:
    """The same project with rankings by the answers."""
    found = rankings(answers, CompareConfig(seed=1, resamples=50), alpha=0.1)
    frames = [
        pd.DataFrame(rows).reindex(columns=table.schema.names)
        for table, rows in zip((RANKINGS, RANKED), found, strict=True)
    ]
    return replace(evidence, rankings=frames[0], ranked=frames[1])


def test_table_2_ranks_the_models_of_one_recipe_among_themselves(make: Make) -> None:
    """From made answers: as if the others were not there, which table 1 ranks without them."""
    recipe, others = [f"prism_{place}" for place in range(5)], [f"other_{place}" for place in range(4)]
    datasets = ("ai2d", "mmmu", "textvqa", "chartqa", "docvqa")
    every = make(Made(accuracy=dict.fromkeys([*recipe, *others], 0.5), datasets=datasets, outputs=("text",)))
    facts = {name: {"family": "LLaVA-prismatic", "papers": ["tu"]} for name in recipe}
    every = replace(every, facts=facts, printed=read_printed([ROOT / "docs/published/tu_tables.csv"]))
    shown = built(ranked_by(every, made_answers([*recipe, *others], datasets)), "tu")
    apart = {}
    for models, held in ((recipe, datasets[:4]), (others, datasets)):
        answers = made_answers([*recipe, *others], datasets).to_pandas()
        own = answers[answers["model"].isin(models) & answers["dataset"].isin(held)]
        made = ranked_by(every, pa.Table.from_pandas(own, schema=LABEL_FREE.schema, preserve_index=False))
        frame = made.rankings[made.rankings["proxy"].isin(("", "mean"))]
        apart[models[0]] = {(row.ranker, row.dataset): row.rho for row in frame.itertuples()}
    for table, known in (("Table 2", recipe[0]), ("Table 1", others[0])):
        (grid, *_) = shown[table].grids
        heads = [column.label.removeprefix("rho ") for column in grid.columns[1:]]
        labels = names_in("tu", "datasets")
        for row in grid.rows:
            for head, cell in zip(heads, row[1:], strict=True):
                name = next((slug for slug, label in labels.items() if label == head), None)
                if name is not None:
                    rho = apart[known][row[0].note, name]
                    assert cell.key == pytest.approx(abs(rho) if row[0].text[:3] in ("NLL", "Ent") else rho)
        assert len(grid.rows) >= 7
    assert "absolute for NLL and Ent, as the authors take them) of 4 models" in " ".join(
        shown["Table 1"].sentences
    )
    assert [row[0].text for row in shown["Table 2"].grids[0].rows] == [
        "AoL", "NLL_min", "NLL_avg", "Ent_max", "Ent_avg", "Sample_BLEU", "ATC"
    ]  # fmt: skip
    assert len(shown["Table 2"].beside[0].rows) == 35, "every printed number of the table"
    assert "Spearman's rho of 5 LLaVA-prismatic models; the paper has 15" in " ".join(
        shown["Table 2"].sentences
    )
    answers = made_answers([*recipe, *others], datasets).to_pandas()
    answers = answers[answers["model"].isin(recipe) & answers["temperature"].isna()]
    means = answers.groupby(["dataset", "model"])["performance"].mean().groupby("dataset")
    gaps = {name: f"{100 * gap:.1f}" for name, gap in (means.max() - means.min()).items()}
    (said,) = (one for one in shown["Table 2"].sentences if one.startswith("Performance, the best"))
    assert re.findall(
        r"(\w+) ([\d.]+)\N{NARROW NO-BREAK SPACE}%(?=[, ]| and)", said.partition(" (the paper")[0] + " "
    ) == [(labels[name], gaps[name]) for name in ("ai2d", "mmmu", "chartqa", "textvqa")]
    few = replace(every, facts={name: facts[name] for name in recipe[:2]})
    assert "needs three LLaVA-prismatic models" in dict(reviewed(few, "tu").reasons)["Table 2"]


def test_table_1_has_no_sign_of_nll_and_entropy_and_says_which_are_negative(make: Make) -> None:
    def row(ranker: str, rho: float, low: float, high: float) -> dict[str, Any]:
        place = {"dataset": "docvqa", "output": "text", "ranker": ranker, "score": "", "proxy": ""}
        return place | {"models": 3, "rho": rho, "rho_low": low, "rho_high": high, "tau_paper": 0.5}

    rows = [
        row("nll_avg", -0.4, -0.7, 0.1),
        row("ent_max", 0.6, 0.2, 0.9),
        row("sample_bleu", -0.3, -0.5, -0.1),
    ]
    shown = built(make(Made(rankings=rows, datasets=("docvqa",))), "tu")["Table 1"]
    assert {line[0].split(" | ")[0]: line[1] for line in text(shown.grids[0])} == {
        "NLL_avg": "0.40 | −0.10 to 0.70", "Ent_max": "0.60 | 0.20–0.90", "Sample_BLEU": "−0.30 | −0.50 to −0.10"
    }  # fmt: skip
    assert "rather the reverse, for NLL_avg on DocVQA (−0.40)." in " ".join(shown.sentences)


def test_table_1_has_the_sign_of_every_uncertainty_that_the_paper_lacks(make: Make) -> None:
    """In rho and in tau, among all models and without those of table 2; of NLL and Ent in neither."""
    recipe, others = [f"prism_{place}" for place in range(3)], [f"other_{place}" for place in range(4)]
    given = {"dataset": "docvqa", "output": "text", "score": "", "proxy": ""}
    values = dict.fromkeys(("nll_avg", "variation_entropy"), (0.1, 0.4, 0.2, 0.7))
    right = (0.9, 0.3, 0.8, 0.5)
    ranked = [
        given | {"ranker": ranker, "model": model, "value": value, "performance": performance}
        for ranker, own in values.items()
        for model, value, performance in zip(others, own, right, strict=True)
    ]
    numbers = {"models": 4, "rho": -0.8, "tau": -0.7, "tau_paper": 0.6}
    every = make(Made(accuracy=dict.fromkeys([*recipe, *others], 0.5), datasets=("docvqa",)))
    rankings = every.rankings.reindex(columns=RANKINGS.schema.names)
    rankings = pd.concat(
        [rankings.iloc[:0], pd.DataFrame([given | numbers | {"ranker": one} for one in values])]
    )
    every = replace(every, rankings=rankings, ranked=pd.DataFrame(ranked))
    shown = built(every, "tu")["Table 1"]
    assert {line[0].split(" | ")[-1]: line[1:3] for line in text(shown.grids[0])} == {
        "nll_avg": ["0.80", "0.60"], "variation_entropy": ["−0.80", "−0.70"]
    }  # fmt: skip
    facts = {name: {"family": "LLaVA-prismatic"} for name in recipe}
    shown = built(replace(every, facts=facts), "tu")["Table 1"]
    rho, tau = spearmanr(values["nll_avg"], right).statistic, weightedtau(values["nll_avg"], right).statistic
    turned = weightedtau([-value for value in values["nll_avg"]], right).statistic
    assert rho < 0 and tau < 0
    found = {row[0].note: [cell.key for cell in row[1:3]] for row in shown.grids[0].rows}
    assert found["nll_avg"] == pytest.approx([-rho, turned])
    assert found["variation_entropy"] == pytest.approx([rho, tau])


def test_every_printed_method_has_its_row() -> None:
    """Of table 1: thirteen methods, as the paper spells them, each with the numbers of its ranker."""
    printed = read_printed([ROOT / "docs/published/tu_tables.csv"])["tu_tables"]
    assert list(METHODS.values()) == list(dict.fromkeys(printed.loc[printed["table"] == "1", "method"]))
    assert {method: RANKERS[name].label for name, method in METHODS.items()} == {
        "AoL": "Other datasets",
        "NLL_F": "NLL, first token",
        "NLL_P": "NLL, last token",
        "NLL_min": "NLL, worst token",
        "NLL_avg": "NLL, mean",
        "Ent_F": "Entropy, first token",
        "Ent_P": "Entropy, last token",
        "Ent_max": "Entropy, largest",
        "Ent_avg": "Entropy, mean",
        "Sample_BLEU": "Samples, BLEU-1",
        "Sample_BERT": "Samples, BERTScore",
        "Sample*_BERT": "Samples, BERTScore, spelled out",
        "ATC": "Thresholded confidence",
    }


def test_rankings_of_three_models_and_no_fewer(make: Make) -> None:
    def row(models: int, **other: Any) -> dict[str, Any]:
        place = {"dataset": "docvqa", "output": "text", "ranker": "nll_avg", "score": "", "proxy": ""}
        return (
            place | {"models": models, "rho": 0.93, "rho_low": 0.8, "rho_high": 1.0, "tau_paper": 0.8} | other
        )

    few = row(3, ranker="few_labels", rho=0.7, labels=50)
    evidence = make(Made(rankings=[row(3), few], datasets=("docvqa",)))
    theirs = {"table": "1", "method": "NLL_avg", "dataset": "docvqa", "rho": "0.93", "tau": "0.83"}
    evidence = replace(evidence, printed={"tu_tables": pd.DataFrame([theirs])})
    shown = built(evidence, "tu")
    assert text(shown["Table 1"].grids[0]) == [["NLL_avg | nll_avg", "0.93 | 0.80–1.00", "0.80"]]
    assert "Texts have 30 tokens at most, unless" in shown["Table 1"].sentences[-1]
    names = list(Lookup(evidence).order)
    extract = {"max_tokens": 512, "max_tokens_of": {names[0]: 1024, "absent": 9}}
    evidence = replace(
        evidence, facts={name: {"papers": ["tu"]} for name in names}, setup={"extract": extract}
    )
    shown = built(evidence, "tu")
    assert text(shown["Table 1"].grids[0]) == [
        ["NLL_avg | nll_avg", "0.93 | 0.80–1.00", "0.80 | published 0.83"]
    ]
    assert "1 of 2 published numbers" in shown["Table 1"].sentences[0]
    assert f"Texts have 512 tokens at most, of {names[0]} 1024, unless" in shown["Table 1"].sentences[-1]
    fewer = replace(evidence, rankings=evidence.rankings.assign(models=2))
    assert not {"Table 1", "Table 3"} & {entry.name for entry, _ in reviewed(fewer, "tu").shown}


def test_table_1_takes_means_over_proxies_the_first_temperature_and_an_average(make: Make) -> None:
    """AoL of the other datasets together, not of one; of texts, not of letters; the average of a whole row alone.
    Published numbers stand beside texts, and their average only beside that of all eight datasets."""

    def row(dataset: str, ranker: str, rho: float, **other: Any) -> dict[str, Any]:
        place = {"dataset": dataset, "output": "text", "ranker": ranker, "score": "", "proxy": ""}
        return place | {"models": 3, "rho": rho, "tau_paper": rho / 2} | other

    rows = [
        row("ai2d", "accuracy_on_the_line", 0.9, proxy="docvqa"),
        row("ai2d", "accuracy_on_the_line", 0.5, proxy="mean"),
        row("docvqa", "accuracy_on_the_line", 0.25, proxy="mean"),
        row("ai2d", "nll_avg", 0.1, output="letters"),
        row("ai2d", "confidence", 0.75, output="letters", models=4),
        row("ai2d", "nll_avg", -0.75),
        row("docvqa", "nll_avg", 0.25),
        row("ai2d", "sample_bleu", 0.1, score="t1.5"),
        row("ai2d", "sample_bleu", 0.5, score="t0.7"),
    ]
    evidence = make(Made(rankings=rows, datasets=("ai2d", "docvqa")))
    shown = built(evidence, "tu")["Table 1"]
    (grid, of_letters) = shown.grids
    assert [column.label for column in grid.columns] == [
        "Method", *(f"{name} {end}" for name in ("rho", "tau") for end in ("AI2D", "DocVQA", "Avg."))
    ]  # fmt: skip
    assert {line[0].split(" | ")[0]: line[1:] for line in text(grid)} == {
        "AoL": ["0.50", "0.25", "0.38", "0.25", "0.12", "0.19"],
        "NLL_avg": ["0.75", "0.25", "0.50", "−0.38", "0.12", "−0.12"],
        "Sample_BLEU": ["0.50", "–", "–", "0.25", "–", "–"],
    }
    other = ["Confidence | confidence", "0.75", "0.38"]
    assert text(of_letters) == [["NLL_avg | nll_avg", "0.10", "0.05"], other]
    assert "absolute for NLL and Ent, as the authors take them) of 4 models" in " ".join(shown.sentences)
    facts = {name: {"papers": ["tu"]} for name in evidence.all_models}
    printed = read_printed([ROOT / "docs/published/tu_tables.csv"])
    shown = built(replace(evidence, facts=facts, printed=printed), "tu")["Table 1"]
    assert text(shown.grids[1]) == text(of_letters)
    (found,) = (line[1:4] for line in text(shown.grids[0]) if line[0].startswith("NLL_avg"))
    assert found == ["0.75 | published 0.88", "0.25 | published 0.93", "0.50"]


def test_distances_of_datasets_against_how_alike_they_order_the_models(make: Make) -> None:
    """Stars: the nearest pair of each dataset, of pictures and of questions by itself."""
    ranked = [
        {"dataset": dataset, "output": "letters", "model": model, "performance": sign * value**power}
        for dataset, sign, power in (("ai2d", 1, 1), ("mmmu", 1, 6), ("docvqa", -1, 6))
        for model, value in (("a", 0.2), ("b", 0.5), ("c", 0.7))
    ]
    pairs = [("ai2d", "docvqa"), ("ai2d", "mmmu"), ("docvqa", "mmmu")]
    apart = [
        {"of": kind, "dataset": a, "other": b, "distance": far}
        for kind, distances in (("images", (8.0, 2.0, 9.0)), ("questions", (1.0, 20.0, 30.0)))
        for (a, b), far in zip(pairs, distances, strict=True)
    ]
    # Pictures have distances whether any model answered or not.
    apart.append({"of": "images", "dataset": "ai2d", "other": "realworldqa", "distance": 5.0})
    evidence = make(Made(datasets=("ai2d", "docvqa", "mmmu")))
    trends = [{"of": "images", "output": "letters", "pairs": 3, "rho": -0.5, "p": 0.25}]
    frames = {"ranked": ranked, "distances": apart, "trends": [*trends, {"of": "images", "output": "text"}]}
    evidence = replace(evidence, **{name: pd.DataFrame(rows) for name, rows in frames.items()})
    shown = built(evidence, "tu")
    said, _ = shown["Figure 4"].sentences
    assert "rankings by letters: Spearman's rho \u22120.50 over 3 pairs of datasets" in said
    assert "p is 0.2500" in said
    (drawn,) = shown["Figure 4"].figures
    assert drawn.description == (
        "Scatter plot. images: 3 pairs of datasets at distances from 2.0 to 9.0, starred AI2D and MMMU (2.0) and "
        "AI2D and DocVQA (8.0); questions: 3 pairs of datasets at distances from 1.0 to 30.0, starred AI2D and "
        "DocVQA (1.0) and AI2D and MMMU (20.0)."
    )
    parts = list(drawn.chart.datasets.values())
    points = [
        (row["panel"], row["name"], round(row["y"], 9), row["series"] == NEAREST)
        for rows in parts
        if "name" in rows[0]
        for row in rows
    ]
    assert sorted(points) == [
        (kind, *point)
        for kind in ("images", "questions")
        for point in (
            ("AI2D and DocVQA", -1, True), ("AI2D and MMMU", 1, True), ("DocVQA and MMMU", -1, False)
        )
    ]  # fmt: skip
    assert json.dumps(STAR) in json.dumps(drawn.chart.to_dict())
    lines = [[row["x"] for row in rows] for rows in parts if "name" not in rows[0]]
    assert lines == [[2.0, 9.0], [1.0, 30.0]], "the lines of robust regression"


def test_figure_2_shows_how_performance_on_one_dataset_orders_the_models_of_another(make: Make) -> None:
    """(a) a point a model and Huber's line for the most, least and second most alike dataset; (b) all pairs."""
    of_dataset = {
        "scienceqa": (0.1, 0.2, 0.3, 0.4, 0.5),
        "ai2d": (0.2, 0.3, 0.4, 0.5, 0.9),  # the same order; the last is far off the line of the others
        "mmmu": (0.2, 0.1, 0.3, 0.4, 0.5),
        "chartqa": (0.3, 0.5, 0.1, 0.2, 0.4),
        "docvqa": (0.9, 0.8, 0.7, 0.6, 0.5),
    }
    models = [f"m{number}" for number in range(5)]
    ranked = [
        {"dataset": dataset, "output": "letters", "model": model, "performance": value}
        for dataset, values in of_dataset.items()
        for model, value in zip(models, values, strict=True)
    ]
    evidence = make(Made(accuracy=dict.fromkeys(models, 0.5), datasets=tuple(of_dataset)))
    scatter, heat = built(replace(evidence, ranked=pd.DataFrame(ranked)), "tu")["Figure 2"].figures
    assert scatter.title.startswith("Fig. 2 (a): ") and heat.title.startswith("Fig. 2 (b): ")
    labels = {"scienceqa": "SQA-I", "ai2d": "AI2D", "mmmu": "MMMU", "chartqa": "ChartQA", "docvqa": "DocVQA"}
    (cells,) = heat.chart.datasets.values()
    assert {(row["row"], row["column"]): row["value"] for row in cells} == {
        (labels[one], labels[other]): pytest.approx(spearmanr(of_dataset[one], of_dataset[other]).statistic)
        for one in of_dataset
        for other in of_dataset
    }
    parts = list(scatter.chart.datasets.values())
    points = [row for part in parts if "name" in part[0] for row in part]
    assert {(row["panel"], row["name"]): (row["x"], row["y"]) for row in points} == {
        (f"{labels[other]}, rho = {rho}", model): pytest.approx((100 * x, 100 * y))
        for other, rho in (("ai2d", "1.00"), ("docvqa", "−1.00"), ("mmmu", "0.90"))
        for model, x, y in zip(models, of_dataset["scienceqa"], of_dataset[other], strict=True)
    }
    lines = [[(row["x"], row["y"]) for row in part] for part in parts if "name" not in part[0]]
    design = np.column_stack([np.ones(5), 100 * np.array(of_dataset["scienceqa"])])
    for other, line in zip(("ai2d", "docvqa", "mmmu"), lines, strict=True):
        ends = design[[0, -1]] @ huber(design, 100 * np.array(of_dataset[other]))
        assert np.allclose(line, list(zip((10, 50), ends, strict=True))), "not that of least squares"
    assert heat.description.endswith("on 5 datasets: −1.00 to 1.00.")


def test_figures_2_and_4_are_about_the_models_of_different_series(make: Make) -> None:
    """Models of Table 2, whose order is the reverse, count only if there are no others."""
    recipe, others = [f"prism_{place}" for place in range(3)], [f"other_{place}" for place in range(4)]
    no_ranker = {"ranker": "none", "score": "", "proxy": "", "value": 0.5}
    ranked = [
        {"dataset": dataset, "output": "letters", "model": model, "performance": value} | no_ranker
        for models, power in ((recipe, -1), (others, 2))
        for place, model in enumerate(models, 1)
        for dataset, value in (("ai2d", place / 9), ("mmmu", (place / 9) ** power / 100))
    ]
    apart = [{"of": "images", "dataset": "ai2d", "other": "mmmu", "distance": 8.0}]
    trends = [{"of": "images", "output": "letters", "pairs": 3, "rho": -0.5, "p": 0.25}]
    evidence = make(Made(accuracy=dict.fromkeys([*recipe, *others], 0.5), datasets=("ai2d", "mmmu")))
    frames = {"ranked": ranked, "distances": apart, "trends": trends}
    evidence = replace(evidence, **{name: pd.DataFrame(rows) for name, rows in frames.items()})
    facts = {name: {"family": "LLaVA-prismatic"} for name in recipe}
    counted = "These correlations count LLaVA-prismatic models; the points, as in Figure 2, do not."
    for own, names in ((facts, others), ({}, [*recipe, *others])):
        shown = built(replace(evidence, facts=own), "tu")
        scatter, heat = shown["Figure 2"].figures
        points = next(part for part in scatter.chart.datasets.values() if "name" in part[0])
        assert sorted(row["name"] for row in points) == sorted(names)
        assert ("to 1.00." in heat.description) == (names == others)
        (place,) = (
            row
            for part in shown["Figure 4"].figures[0].chart.datasets.values()
            for row in part
            if "name" in row
        )
        assert (place["y"] == pytest.approx(1)) == (names == others)
        assert (counted in shown["Figure 4"].sentences) == (names == others)
    alone = evidence.ranked[evidence.ranked["model"].isin(recipe)]
    only = make(Made(accuracy=dict.fromkeys(recipe, 0.5), datasets=("ai2d", "mmmu")))
    shown = built(replace(only, facts=facts, ranked=alone), "tu")
    assert "3 models" in shown["Figure 2"].figures[0].description


def test_table_3_holds_fifty_labels_against_a_method_without_any(make: Make) -> None:
    place = {"dataset": "ai2d", "output": "text", "score": "", "proxy": "", "models": 3, "tau_paper": 0.5}
    few = place | {"ranker": "few_labels", "rho": 0.75, "labels": 50}
    rows = [place | {"ranker": "nll_min", "rho": -0.5}, few, place | {"ranker": "nll_avg", "rho": 0.25}]
    evidence = make(Made(rankings=rows, datasets=("ai2d",)))
    printed = read_printed([ROOT / "docs/published/tu_tables.csv"])
    facts = {name: {"papers": ["tu"]} for name in evidence.all_models}
    shown = built(replace(evidence, printed=printed, facts=facts), "tu")["Table 3"]
    found = {line[0].split(" | ")[0]: line[1] for line in text(shown.grids[0])}
    assert found == {"NLL_min": "0.50 | published 0.91", "50 labels": "0.75 | published 0.88"}
    assert beside(shown, slice(0, 5)) == [
        ["NLL_min", "AI2D", "rho", "0.91", "0.50"],
        ["50 labels", "AI2D", "rho", "0.88", "0.75"],
    ]
    twenty = evidence.rankings.assign(labels=evidence.rankings["labels"].map({50: 20}))
    shown = built(replace(evidence, rankings=twenty, printed=printed, facts=facts), "tu")["Table 3"]
    assert {line[0].split(" | ")[0]: line[1] for line in text(shown.grids[0])} == {
        "NLL_min": "0.50 | published 0.91",
        "20 labels": "0.75",
    }, "not held against 50 labels"
    unlabelled = replace(evidence, rankings=evidence.rankings[evidence.rankings["ranker"] != "few_labels"])
    assert "Table 3" not in built(unlabelled, "tu")
    settings = CompareConfig(**load(ROOT / "profiles/tu.yaml")["compare"])
    assert (settings.labels, settings.draws) == (50, 200)
