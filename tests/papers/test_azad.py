"""The Art of Saying "Maybe": its tables and figures, of numbers worked out by hand."""

import cmath
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.metrics.simulated import ROOT
from tests.papers.shown import asked, built, reviewed, standing, text
from tests.report.project import Made, Make
from vouch.papers.entry import facts
from vouch.pipeline.yaml12 import load
from vouch.report.evidence import Evidence
from vouch.report.formatting import number, percent
from vouch.report.loading import read_printed
from vouch.report.page import FigureSpec
from vouch.report.table import Grid


def test_azads_scores_of_one_split_means_over_models_and_distributions(make: Make) -> None:
    """A row of means over the models beside those that the paper states; scores that were not computed."""
    rows = []
    for model, level in (("a_1b", 0.2), ("b_3b", 0.4), ("c", 0.9)):
        for dataset, less in (("scienceqa", 0.0), ("mathvision", 0.2), ("mmmu_pro", 0.1)):
            rows.append(standing(model, "accuracy", level - less, dataset=dataset))
            for score, more in (("lac", 0.0), ("aps", 0.5), ("margin", 0.25)):
                sets = {"dataset": dataset, "score": score, "alpha": 0.1}
                rows.append(standing(model, "set_size", 4 - 2 * level + more, **sets))
                rows.append(standing(model, "coverage", 0.9 + level / 20 - less / 10, **sets))
    evidence = asked(make(Made(datasets=("scienceqa", "mathvision", "mmmu_pro"))), rows)
    evidence = replace(evidence, printed=read_printed([ROOT / "docs/published/azad_means.csv"]))
    shown = built(evidence, "azad")
    assert text(shown["Table 1"].grids[0])[-1] == ["Mean over models", "50.00", "30.00", "40.00", "40.00"]
    assert shown["Table 1"].sentences == [
        "Over the paper's 16 models: MMMU-Pro 20.85 (section 6.2), ScienceQA 73.78 (section 6.2) and "
        "ScienceQA 75.2 (section 6.5)."
    ]
    not_computed = "MS, eq. 6 was not computed (score.scores)."
    sizes = shown["Table 2"]
    assert sizes.sentences == [
        not_computed,
        "Over the paper's 16 models: ScienceQA 2.1 (section 6.5) and MathVision 4.5 (section 6.5).",
    ]
    assert shown["Table 3"].sentences == [not_computed], "the paper states no mean coverage"
    assert text(sizes.grids[0])[-1][1:] == [*["3.00"] * 4, *["3.25"] * 4, *["3.50"] * 4]
    literal = [row | {"score": "margin_literal"} for row in rows if row.get("score") == "lac"]
    both = built(asked(evidence, [*rows, *literal]), "azad")
    assert text(both["Table 2"].grids[0])[-1][1:] == [
        *["3.00"] * 4,
        *["3.25"] * 4,
        *["3.50"] * 4,
        *["3.00"] * 4,
    ]
    assert both["Table 2"].grids[0].columns[-1].label == "MS, eq. 6 Avg." and not both["Table 3"].sentences
    alone = built(asked(evidence, [row for row in rows if row["model"] == "c"]), "azad")
    assert [row[0] for row in text(alone["Table 1"].grids[0])] == ["c"], "one model has no mean over models"
    (drawn,) = shown["Figure 4"].figures
    assert "3 models. The lowest is 2.20: c, LAC" in drawn.description
    (drawn,) = shown["Figure 8"].figures
    assert "over 6 pairs" in drawn.description, "the size of c is unknown"
    assert "Parameters, billions and Set size \u22121.00" in drawn.description
    charts = drawn.chart.to_dict()["concat"]
    assert len(charts) == 16 and [chart["mark"]["type"] for chart in charts[::5]] == ["bar"] * 4
    counts = [sum(row["count"] for row in rows if "count" in row) for rows in drawn.chart.datasets.values()]
    assert counts.count(6) == len([each for each in counts if each]), "every pair is counted once"


SIZES = {
    "ai2d": 3088,
    "scienceqa": 2017,
    "mathvision": 1532,
    "worldmedqa_v": 1136,
    "mmmu": 794,
    "mmmu_pro": 1213,
}
"""Questions of the datasets, as tests/datasets counts them."""


def with_items(evidence: Evidence, rows: Sequence[dict[str, Any]]) -> Evidence:
    plain = {"group": "", "options": ["a", "b"], "answers": [0], "images": [], "category": "", "flags": []}
    frame = pd.DataFrame([plain | {"id": str(place)} | row for place, row in enumerate(rows)])
    return replace(evidence, items=frame)


def test_the_counts_of_table_7_are_the_papers_to_three_digits(make: Make) -> None:
    rows = [
        {"dataset": name, "options": ["a", "b", "c"]} for name, count in SIZES.items() for _ in range(count)
    ]
    rows[0] |= {"options": ["a", "b"], "flags": ["duplicate_options", "no_image"]}
    rows += [{"dataset": "shapes", "flags": ["no_image"]}, {"dataset": "shapes"}, {"dataset": "not asked"}]
    evidence = with_items(make(Made(datasets=(*SIZES, "shapes"))), rows)
    evidence = replace(evidence, printed=read_printed([ROOT / "docs/published/azad_7.csv"]))
    (grid,) = built(evidence, "azad")["Table 7"].grids
    assert [column.label for column in grid.columns] == [
        "Dataset", "Questions", "Published", "Options", "Flagged"
    ]  # fmt: skip
    assert text(grid) == [
        ["AI2D | ai2d", "3,088", "3,090", "2–3 | published A–F", "1"],
        ["ScienceQA | scienceqa", "2,017", "2,020", "3 | published A–E", "0"],
        ["MathVision | mathvision", "1,532", "1,530", "3 | published A–F", "0"],
        ["WorldMedQA-V | worldmedqa_v", "1,136", "1,140", "3 | published A–F", "0"],
        ["MMMU | mmmu", "794", "794", "3 | published A–E", "0"],
        ["MMMU-Pro | mmmu_pro", "1,213", "1,210", "3 | published A–J", "0"],
        ["shapes", "2", "–", "2", "1"],
    ]
    for row in grid.rows[:6]:
        assert float(f"{row[1].key:.3g}") == row[2].key


def test_correct_letters_are_counted_over_all_questions_of_a_dataset(make: Make) -> None:
    """Figure 9: defective questions count, open ones do not, several correct options share a question, an option
    without a letter has no bar."""
    answers: dict[str, list[list[int]]] = {
        "scienceqa": [[0, 2], [1]],
        "ai2d": [[0], [0], [1], [3]],
        "mmmu": [[], [26]],
        "other": [[4]],
    }
    rows = [
        {"dataset": name, "answers": each, "flags": ["duplicate_options"] * (each == [0])}
        for name, every in answers.items()
        for each in every
    ]
    evidence = with_items(make(Made(datasets=("ai2d", "scienceqa", "mmmu"))), rows)
    (drawn,) = built(evidence, "azad")["Figure 9"].figures
    half = percent(0.5, 0)
    assert drawn.description == f"Bars: AI2D most often A, {half}; ScienceQA most often B, {half}."
    bars = [row for part in drawn.chart.to_dict()["datasets"].values() for row in part]
    assert [(row["panel"], row["group"], row["value"]) for row in bars] == [
        ("AI2D", "A", 0.5), ("AI2D", "B", 0.25), ("AI2D", "D", 0.25),
        ("ScienceQA", "A", 0.25), ("ScienceQA", "B", 0.5), ("ScienceQA", "C", 0.25),
    ]  # fmt: skip
    assert '"format": ".0%"' in json.dumps(drawn.chart.to_dict())
    none = with_items(evidence, [{"dataset": "ai2d", "answers": []}])
    assert dict(reviewed(none, "azad").reasons)["Figure 9"] == "no dataset has questions with options"


PROFILES = {  # accuracy, coverages and set sizes by LAC, MS and APS, on each of two datasets
    "gemma_3_27b": ((0.8, 0.91, 0.92, 0.93, 1.25, 2.0, 2.5), (0.6, 0.89, 0.9, 0.95, 2.5, 2.0, 5.0)),
    "gemma_3_4b": ((0.5, 0.9, 0.9, 0.9, 4.0, 4.0, 5.0), (0.3, 0.9, 0.92, 0.94, 4.0, 5.0, 4.0)),
    "gemma_3_12b": ((0.7, 0.9, 0.9, 0.9, 2.0, 2.5, 4.0), (0.7, 0.9, 0.9, 0.9, 2.0, 2.5, 4.0)),
    "qwen2_5_vl_72b": ((0.9, 0.95, 0.96, 0.97, 1.0, 1.25, 2.0), (0.7, 0.95, 0.96, 0.97, 1.0, 1.25, 2.0)),
    "qwen2_5_vl_3b": ((0.4, 0.9, 0.9, 0.9, 2.0, 2.5, 4.0), (0.4, 0.9, 0.9, 0.9, 2.0, 2.5, 4.0)),
    "pixtral_12b": ((0.6, 0.9, 0.9, 0.9, 2.0, 2.5, 4.0), (0.6, 0.9, 0.9, 0.9, 2.0, 2.5, 4.0)),
    "gpt_4_1_nano": ((0.2, 0.9, 0.9, 0.9, 2.0, 2.5, 4.0), (0.4, 0.9, 0.9, 0.9, 2.0, 2.5, 4.0)),
    "gpt_4o_mini": ((1.0, 0.9, 0.9, 0.9, 2.0, 2.5, 4.0), (0.8, 0.9, 0.9, 0.9, 2.0, 2.5, 4.0)),
}
BY_HAND = {  # means over both: of set sizes, of one over them
    "gemma_3_27b": (0.7, 0.9, 0.91, 0.94, 0.6, 0.5, 0.3),
    "gemma_3_4b": (0.4, 0.9, 0.91, 0.92, 0.25, 0.225, 0.225),
    "gemma_3_12b": (0.7, 0.9, 0.9, 0.9, 0.5, 0.4, 0.25),
    "qwen2_5_vl_72b": (0.8, 0.95, 0.96, 0.97, 1.0, 0.8, 0.5),
    "qwen2_5_vl_3b": (0.4, 0.9, 0.9, 0.9, 0.5, 0.4, 0.25),
    "pixtral_12b": (0.6, 0.9, 0.9, 0.9, 0.5, 0.4, 0.25),
    "gpt_4_1_nano": (0.3, 0.9, 0.9, 0.9, 0.5, 0.4, 0.25),
    "gpt_4o_mini": (0.9, 0.9, 0.9, 0.9, 0.5, 0.4, 0.25),
}
AXES = ("Acc", "CR LAC", "CR MS", "CR APS", "1/SS LAC", "1/SS MS", "1/SS APS")


ALIKE = {"internvl3_8b": "gpt_4o_mini", "internvl3_1b": "gpt_4_1_nano", "internvl3_2b": "pixtral_12b"}
"""Models of the third family of figure 6, and those whose numbers they have here."""
Profile = tuple[float, ...]


def profile_rows(profiles: Mapping[str, tuple[Profile, Profile]] = PROFILES) -> list[dict[str, Any]]:
    """PROFILES, as the leaderboard has them."""
    rows = []
    for model, datasets in profiles.items():
        for dataset, (accuracy, *rest) in zip(("ai2d", "mmmu"), datasets, strict=True):
            rows.append(standing(model, "accuracy", accuracy, dataset=dataset))
            for score, covered, size in zip(("lac", "margin", "aps"), rest[:3], rest[3:], strict=True):
                sets = {"dataset": dataset, "score": score, "alpha": 0.1}
                rows += [
                    standing(model, "coverage", covered, **sets),
                    standing(model, "set_size", size, **sets),
                ]
    return rows


def outlines(drawn: FigureSpec) -> dict[tuple[str, str], list[tuple[str, complex]]]:
    """Panel and series -> the axis and place of each point of the closed line, in the order of the line."""
    lines: dict[tuple[str, str], list[tuple[int, str, complex]]] = {}
    for part in drawn.chart.to_dict()["datasets"].values():
        for row in part:
            if "axis" in row:
                point = (row["place"], row["axis"], complex(row["x"], row["y"]))
                lines.setdefault((row["panel"], row["series"]), []).append(point)
    return {key: [point[1:] for point in sorted(line, key=lambda p: p[0])] for key, line in lines.items()}


def test_radars_have_a_corner_a_metric_clockwise_from_the_top(make: Make) -> None:
    """Figures 6 and 7: the families of the paper from models.lock, the smallest model first."""
    locked = load(ROOT / "models.lock")["models"]
    profiles = PROFILES | {name: PROFILES[like] for name, like in ALIKE.items()}
    known = facts({name: locked[name] for name in profiles}, {})
    rows = profile_rows(profiles)
    evidence = replace(asked(make(Made(datasets=("ai2d", "mmmu"))), rows), facts=known)
    shown = built(evidence, "azad")
    (families,), (everyone,) = shown["Figure 6"].figures, shown["Figure 7"].figures
    assert families.title == "Fig. 6: profiles of families, smallest first"
    named = {  # GPT has models of unknown size, Pixtral has one model
        ("Gemma", "size 1"): "gemma_3_4b", ("Gemma", "size 2"): "gemma_3_12b", ("Gemma", "size 3"): "gemma_3_27b",
        ("Qwen", "size 1"): "qwen2_5_vl_3b", ("Qwen", "size 2"): "qwen2_5_vl_72b",
        **{("InternVL", f"size {turn}"): f"internvl3_{of}b" for turn, of in ((1, 1), (2, 2), (3, 8))},
    }  # fmt: skip
    for drawn, models in ((families, named), (everyone, {(name, "model"): name for name in profiles})):
        lines = outlines(drawn)
        assert lines.keys() == models.keys()
        for key, model in models.items():
            corners = BY_HAND[ALIKE.get(model, model)]
            line = [value * 1j * cmath.exp(-2j * cmath.pi * at / 7) for at, value in enumerate(corners)]
            assert [axis for axis, _ in lines[key]] == [*AXES, "Acc"], "the line is closed"
            assert [point for _, point in lines[key]] == pytest.approx([*line, line[0]], abs=1e-4)
            assert f"{model} accuracy {percent(corners[0])}" in drawn.description
    panels = dict.fromkeys(point["panel"] for point in points(everyone) if "axis" in point)
    assert list(panels) == sorted(profiles), "in the order of the models"
    without = replace(evidence, facts={"gpt_4o_mini": {"family": "GPT"}, "gpt_4_1_nano": {"family": "GPT"}})
    alone = asked(without, [row for row in rows if row["model"].startswith("gpt")])
    reasons = dict(reviewed(alone, "azad").reasons)
    assert reasons["Figure 6"] == "no two models of one family whose sizes are known"


def looks(grid: Grid, which: str) -> dict[str, list[str]]:
    """By model, the tone or shade of every number."""
    return {row[0].text: [getattr(cell, which) for cell in row[1:]] for row in grid.rows}


def points(drawn: FigureSpec) -> list[dict[str, Any]]:
    """The rows of all data of a figure."""
    return [row for part in drawn.chart.to_dict()["datasets"].values() for row in part]


def test_tables_1_to_4_and_figures_1_to_5_hold_every_number_of_each_score(make: Make) -> None:
    entropies = {"gemma_3_27b": (0.125, 0.625), "gemma_3_4b": (1.0, 1.5)}
    rows = profile_rows() + [
        standing(model, "entropy", value, dataset=dataset, protocol="clean")
        for model, both in entropies.items()
        for dataset, value in zip(("ai2d", "mmmu"), both, strict=True)
    ]
    locked = load(ROOT / "models.lock")["models"]
    known = facts({name: locked[name] for name in PROFILES}, {})
    evidence = replace(asked(make(Made(datasets=("ai2d", "mmmu"))), rows), facts=known)
    shown = built(evidence, "azad")
    names = [f"Table {number}" for number in range(1, 5)]
    tables = {name: {row[0]: row[1:] for row in text(shown[name].grids[0])} for name in names}
    assert [column.label for column in shown["Table 2"].grids[0].columns[1:]] == [
        f"{score} {dataset}" for score in ("LAC", "MS", "APS") for dataset in ("AI2D", "MMMU", "Avg.")
    ]
    large, mean = "gemma_3_27b", "Mean over models"
    assert {name: rows[large] for name, rows in tables.items()} == {
        "Table 1": ["80.00", "60.00", "70.00"],
        "Table 2": ["1.25", "2.50", "1.88", "2.00", "2.00", "2.00", "2.50", "5.00", "3.75"],
        "Table 3": ["91.00", "89.00", "90.00", "92.00", "90.00", "91.00", "93.00", "95.00", "94.00"],
        "Table 4": ["0.125", "0.625", "0.375"],
    }
    coverages = (shown["Table 3"].grids[0], "tone")
    assert looks(*coverages)[large] == ["good", "", "", "good", "", "good", "good", "good", "good"]
    assert looks(*coverages)["gemma_3_12b"] == [""] * 9, "90 % does not exceed the target"
    darkness = looks(shown["Table 1"].grids[0], "shade")
    assert darkness[large] == ["gain-4", "gain-3", "gain-3"], "four steps from .2 to 1"
    assert darkness["gemma_3_4b"] == ["gain-2", "gain-1", "gain-2"]
    assert not any(any(row) for row in looks(shown["Table 2"].grids[0], "tone").values())
    assert tables["Table 1"][mean] == ["63.75", "56.25", "60.00"]
    assert tables["Table 3"][mean][::3] == ["90.75", "91.00", "91.25"]
    assert tables["Table 4"][mean] == ["0.562", "1.062", "0.812"]
    drawn = {number: shown[f"Figure {number}"].figures[0] for number in range(1, 6)}
    labels, count = ("AI2D", "MMMU"), len(PROFILES)
    assert {(p["name"], p["panel"]): (p["x"], p["y"]) for p in points(drawn[1]) if "name" in p} == {
        (model, label): pytest.approx((100 * each[0], each[4]))
        for model, both in PROFILES.items()
        for label, each in zip(labels, both, strict=True)
    }
    correlations = [
        np.corrcoef([(each[which][0], each[which][4]) for each in PROFILES.values()], rowvar=False)[0, 1]
        for which in (0, 1)
    ]
    for label, correlation in zip(labels, correlations, strict=True):
        assert f"{label}: correlation {number(correlation, 2)}" in drawn[1].description
    assert sum("name" not in p for p in points(drawn[1])) == 4, "the ends of a line through each panel"
    scores = ("LAC", "MS", "APS")
    boxes = [(p["group"], p["value"]) for p in points(drawn[2])]
    sizes = {s: [each[4 + k] for both in PROFILES.values() for each in both] for k, s in enumerate(scores)}
    assert {s: sorted(value for group, value in boxes if group == s) for s in scores} == {
        s: sorted(values) for s, values in sizes.items()
    }
    assert "LAC 1.00–4.00, median 2.00; MS 1.25–5.00, median 2.50; APS 2.00–5.00" in drawn[2].description
    third = {(p["name"], p["panel"]): (p["x"], p["y"], p["line"]) for p in points(drawn[3])}
    assert len(third) == 2 * 6, "the sizes of both GPT are unknown"
    assert third[large, "Accuracy (%)"] == (27e9, 70, "Gemma-3")
    assert third[large, "Set size (LAC)"] == (27e9, 1.875, "Gemma-3")
    fourth = {(p["row"], p["series"]): p["value"] for p in points(drawn[4])}
    assert len(fourth) == 3 * count and [fourth[large, score] for score in scores] == [1.875, 2, 3.75]
    assert {(p["row"], p["panel"], p["series"]): p["value"] for p in points(drawn[5]) if "row" in p} == {
        (model, label, score): each[1 + k]
        for model, both in PROFILES.items()
        for label, each in zip(labels, both, strict=True)
        for k, score in enumerate(scores)
    }
    assert "The lowest is 0.89: gemma_3_27b, LAC on MMMU." in drawn[5].description
    assert '"x": {"datum": 0.9}' in json.dumps(drawn[5].chart.to_dict()), "the target"


def test_the_matrix_of_figure_8_has_signed_correlations_above_its_diagonal(make: Make) -> None:
    locked = load(ROOT / "models.lock")["models"]
    known = facts({name: locked[name] for name in PROFILES}, {})
    evidence = replace(asked(make(Made(datasets=("ai2d", "mmmu"))), profile_rows()), facts=known)
    (drawn,) = built(evidence, "azad")["Figure 8"].figures
    pairs = [
        (known[model]["total_parameters"], each[0], each[4], each[1])
        for model, both in PROFILES.items()
        if "total_parameters" in known[model]
        for each in both
    ]
    matrix = np.corrcoef(np.array(pairs, dtype=float).T)
    above = [matrix[row, column] for row in range(4) for column in range(row + 1, 4)]
    assert min(above) < 0 < max(above)
    assert [row["value"] for row in points(drawn) if "at" in row] == pytest.approx(above)
    marks = [chart["mark"]["type"] for chart in drawn.chart.to_dict()["concat"]]
    below = [
        ("bar", "text", "point")[(column > row) + 2 * (column < row)]
        for row in range(4)
        for column in range(4)
    ]
    assert marks == below
    columns = np.array(pairs, dtype=float).T / np.array([[1e9], [1], [1], [1]])
    parts = drawn.chart.to_dict()
    for place, chart in enumerate(parts["concat"]):
        row, column = divmod(place, 4)
        data = parts["datasets"][chart["data"]["name"]]
        if row == column:
            counts, edges = np.histogram(columns[row], len(data))
            assert [bar["count"] for bar in data] == counts.tolist(), "the distribution of its own row"
            assert [bar["low"] for bar in data] == pytest.approx(edges[:-1])
        elif row > column:
            drawn_points = sorted((point["x"], point["y"]) for point in data)
            wanted = sorted(zip(columns[column], columns[row], strict=True))
            assert np.array(drawn_points) == pytest.approx(np.array(wanted)), "its column across, its row up"


def test_figures_3_and_4_show_means_over_three_datasets(make: Make) -> None:
    """Of uneven numbers, so that no median is a mean."""
    numbers = {"ai2d": (0.9, 1.0, 1.5, 2.0), "mmmu": (0.5, 2.0, 2.5, 3.0), "scienceqa": (0.4, 6.0, 5.0, 8.5)}
    models, rows = ("gemma_3_4b", "gemma_3_12b"), []
    for model in models:
        for dataset, (accuracy, *sizes) in numbers.items():
            rows.append(standing(model, "accuracy", accuracy, dataset=dataset))
            for score, size in zip(("lac", "margin", "aps"), sizes, strict=True):
                rows.append(standing(model, "set_size", size, dataset=dataset, score=score, alpha=0.1))
    locked = load(ROOT / "models.lock")["models"]
    known = facts({name: locked[name] for name in models}, {})
    evidence = replace(asked(make(Made(datasets=tuple(numbers))), rows), facts=known)
    shown = built(evidence, "azad")
    third, fourth = (points(shown[f"Figure {number}"].figures[0]) for number in (3, 4))
    assert {(p["name"], p["panel"]): p["y"] for p in third if "name" in p} == pytest.approx(
        {(model, panel): y for model in models for panel, y in (("Accuracy (%)", 60), ("Set size (LAC)", 3))}
    )
    means = {"LAC": 3, "MS": 3, "APS": 4.5}
    assert {(p["row"], p["series"]): p["value"] for p in fourth} == {
        (model, score): mean for model in models for score, mean in means.items()
    }
