"""PARC: its tables and figures, of reliabilities worked out by hand and beside the printed ones."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np
import pandas as pd
import pytest
import vl_convert

from tests.metrics.simulated import ROOT
from tests.papers.shown import asked, beside, built, reviewed, standing, text
from tests.report.project import Made, Make
from vouch.metrics.robustness import calibrated, reliability
from vouch.papers.entry import facts, names_in
from vouch.pipeline.yaml12 import load
from vouch.report.formatting import percent
from vouch.report.loading import read_printed
from vouch.tables.asked import FAMILIES

NAMES = ("reliability", "accuracy_calibrated", "certainty", "consistency_calibrated")


def test_the_profile_has_the_papers_settings() -> None:
    """Section 2.3: LAC as Kostumov et al. have it, error rate .1, one half calibrates. 2.1: an answer contains it."""
    profile = load(ROOT / "profiles/parc.yaml")
    wanted = {"alpha": 0.1, "calibration": 0.5, "seed": 42, "parsers": ["contains"]}
    assert wanted.items() <= profile["score"].items()
    pairs = {name: each for name, each in profile["datasets"].items() if name != "mmbench"}
    assert len(pairs) == 6 and {"initial", "vs_e"} <= set(profile["variations"]), "Table A5"
    for each in pairs.values():
        assert (each["rows"], each["settings"]["annotations"]) == ("exchangeable", "all")
        assert "variations" not in each


def parc_rows() -> list[dict[str, Any]]:
    rows = []
    for model, level in (("llava_v1_5_7b", 0.2), ("other", 0.4)):
        rows.append(standing(model, "accuracy", level, dataset="nyu_depth"))
        rows.append(standing(model, "accuracy", level / 2, dataset="nyu_depth", variation="ls_n"))
        for place, name in enumerate(NAMES):
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
        ["LS-N | ls_n", *(f"{each} | lowest of all" for each in ("0.20", "0.30", "0.40", "0.50"))],
        ["VR-B 5 | vr_b_5", "0.25", "0.35", "0.45", "0.55"],
    ]
    both = ["LS-N/VR-B 5 | ls_n+vr_b_5", "0.10", "0.20", "0.30", "0.40"]
    assert text(shown["Table A9"].grids[0])[-1] == both
    assert text(shown["Table A8"].grids[0])[0][1:] == ["0.15", "0.25 | published 0.26", "0.35", "0.45"]
    assert shown["Table A8"].sentences == ("1 of 2 published numbers agree to the printed digit.",)
    assert "Mean over the models: nyu_depth" not in shown["Figure 3"].figures[0].description
    assert "NYU, before O 0.30; NYU, before LS-N 0.15" in shown["Figure 3"].figures[0].description


def test_numbers_of_texts_stand_beside_table_a8_and_those_of_letters_beside_a10(make: Make) -> None:
    """Those printed for LLaVA-1.6 34B. State and Attribute are not compared; means are over PARC's own sets."""
    printed = {"parc_a8": (0.15, 0.35, 0.40, 0.41), "parc_a10": (0.15, 0.37, 0.40, 0.50)}  # NYU
    rows = [
        standing(model, name, value, dataset=dataset, output=output, variation="", score="every_prompt")
        for output, numbers in zip(("text", "letters"), printed.values(), strict=True)
        for model in ("llava_v1_6_34b", "other")
        for dataset, values in (("nyu_depth", numbers), ("mit_state", [0.05] * 4), ("shapes", [0.95] * 4))
        for name, value in zip(NAMES, values, strict=True)
        if (model, dataset) != ("other", "mit_state")
    ]
    made = Made(dict.fromkeys(("llava_v1_6_34b", "other"), 0.5), ("nyu_depth", "mit_state", "shapes"))
    files = [ROOT / f"docs/published/{name}.csv" for name in printed]
    evidence = replace(asked(make(made), rows), printed=read_printed(files))
    shown = built(evidence, "parc")
    for table, numbers in zip(("Table A8", "Table A10"), printed.values(), strict=True):
        assert beside(shown[table], slice(0, 5)) == [
            ["LLaVA-1.6 34B", "NYU", label, f"{value:.2f}", f"{value:.2f}"]
            for label, value in zip(("rel", "acc", "cert", "cons"), numbers, strict=True)
        ]
        theirs, ours = (row[4::4] for row in shown[table].grids[0].rows)
        assert [cell.key for cell in theirs] == [pytest.approx((value + 0.05) / 2) for value in numbers]
        assert [cell.text for cell in ours] == ["–"] * 4, "no mean of fewer sets"
    assert "same table" in shown["Table A7"].sentences[0]
    unvaried = reviewed(asked(evidence, [row | {"score": ""} for row in rows]), "parc")
    absent = {entry.name for entry, _ in unvaried.absent}
    assert {"Table 3", "Table A7", "Table A8", "Table A10"} <= absent


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
    wrong = outcomes["item"].isin(items[12:])
    every = outcomes.assign(clean_correct=outcomes["clean_correct"].mask(wrong, 0.0))
    every = every[every["variation"] != "original"].replace({"variation": {"initial": "original"}})
    (row,) = text(built(replace(evidence, outcomes=every, setup={}), "parc")["Table A5"].grids[0])
    assert [cell.split(" | ")[0] for cell in row[4:]] == [percent(9 / len(items)), percent(9 / 12)]
    outcomes = outcomes[outcomes["variation"] != "initial"]
    (row,) = text(built(replace(evidence, outcomes=outcomes), "parc")["Table A5"].grids[0])
    assert row[4] == "– | needs the variation initial", "not the accuracy of the kept ones again"


def axis(chart: Any) -> dict[str, float]:
    """The places of the models on the axis across."""
    return {point["name"]: point["x"] for each in chart.to_dict()["datasets"].values() for point in each}


def column(chart: Any, name: str) -> set[Any]:
    """The values of a column of a chart's points; None for one without it."""
    return {point.get(name) for each in chart.to_dict()["datasets"].values() for point in each}


def joining(chart: Any) -> list[list[str]]:
    """For each panel, the columns whose values have a line each."""
    return [
        [layer["encoding"]["detail"]["field"] for layer in panel["layer"] if layer["mark"]["type"] == "line"]
        for panel in chart.to_dict()["concat"]
    ]


def heights(chart: Any) -> dict[tuple[str, str], float]:
    """By panel and model, of a chart without lines of fit."""
    rows = [point for each in chart.to_dict()["datasets"].values() for point in each]
    return {(point["panel"], point["name"]): round(point["y"], 9) for point in rows}


def test_parc_by_size_and_by_the_training_data_of_models_alike_in_size(make: Make) -> None:
    evidence = asked(make(Made(datasets=("nyu_depth",))), parc_rows())
    names = ("language_model_parameters", "total_parameters", "training_data_size", "series", "curation")
    known: dict[str, dict[str, Any]] = {
        "llava_v1_5_7b": dict(
            zip(names, (6_700_000_000, 7_400_000_000, 1_200_000, "LLaVA", "high"), strict=True)
        ),
        "other": dict(zip(names, (7_000_000_000, 7_100_000_000, 50_000_000, "LLaVA", "low"), strict=True)),
    }
    shown = built(replace(evidence, facts=known), "parc")
    left, right = shown["Figure 5"].figures
    language = {name: each["language_model_parameters"] for name, each in known.items()}
    whole = {name: each["total_parameters"] for name, each in known.items()}
    assert axis(left.chart) == language, "the paper's left half is by the language model's size"
    assert "2 models with language models of 7 or 8 billion parameters" in right.description
    assert axis(right.chart) == {name: each["training_data_size"] for name, each in known.items()}
    assert heights(left.chart) == heights(right.chart) == {  # means over all prompts: 0.05 below those of parc_rows
        ("reliability", "llava_v1_5_7b"): 0.15, ("consistency", "llava_v1_5_7b"): 0.45,
        ("reliability", "other"): 0.35, ("consistency", "other"): 0.65,
    }  # fmt: skip
    assert column(left.chart, "series") == column(left.chart, "line") == {"LLaVA"}, "a line for each series"
    assert column(right.chart, "series") == {"curation high", "curation low"}
    assert column(right.chart, "line") == {None}
    assert joining(left.chart) == [["line"], ["line"]] and joining(right.chart) == [[], []]
    charts = [drawn.chart for name in ("Figure 5", "Figure A9") for drawn in shown[name].figures]
    assert len(charts) == 4 and all('"type": "log"' in json.dumps(chart.to_dict()) for chart in charts)
    assert [axis(drawn.chart) for drawn in shown["Figure A9"].figures] == [whole, language]
    assert all(joining(drawn.chart) == [["line"]] * 6 for drawn in shown["Figure A9"].figures)
    del known["other"]["total_parameters"]
    for count in (13_000_000_000, 2_000_000_000):
        known["other"]["language_model_parameters"] = count
        shown = built(replace(evidence, facts=known), "parc")
        assert len(shown["Figure 5"].figures) == len(shown["Figure A9"].figures) == 1
        assert "right half needs two models" in shown["Figure 5"].sentences[0]
        assert shown["Figure A9"].sentences[0].startswith("Not by size of the model: fewer than two sizes")


def test_one_model_of_each_family_of_the_paper_stands_for_its_training_data(make: Make) -> None:
    """Those that the caption of figure 5 names, of all models of table A4 with that size and known data."""
    printed = read_printed([ROOT / "docs/published/parc_a4.csv"])["parc_a4"]
    names = names_in("parc", "models")
    known = {
        name: {
            "language_model_parameters": float(row["language_model_parameters_billions"]) * 1e9,
            "training_data_size": float(row["training_samples_millions"] or 0) * 1e6,
        }
        for name, label in names.items()
        for row in printed[printed["model"] == label].to_dict("records")
    }
    rows = [
        standing(name, metric, 0.5, dataset="nyu_depth", variation="", score="every_prompt")
        for name in known
        for metric in ("reliability", "consistency_calibrated")
    ]
    evidence = asked(make(Made(accuracy=dict.fromkeys(known, 0.5), datasets=("nyu_depth",))), rows)
    _, right = built(replace(evidence, facts=known), "parc")["Figure 5"].figures
    assert {names[name] for name in axis(right.chart)} == {
        "LLaVA-1.5 7B", "LLaVA-1.6 7B vic", "Qwen-VL", "CogVLM Chat", "InternVL2 8B", "Cambrian 8B"
    }  # fmt: skip


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
    low = [row | {"value": 0.1} if row["metric"] == "certainty" else row for row in rows]
    (grid,) = built(asked(make(Made(datasets=("nyu_depth",))), low), "parc")["Figure 2"].grids
    assert [row[3].text for row in grid.rows] == ["0", "0", "0"], (
        "certainties below |reliability| are not counted"
    )
    (drawn,) = shown["Figure A6"].figures
    points = pd.concat(pd.DataFrame(each) for each in drawn.chart.to_dict()["datasets"].values())
    half = points[(points["x"] == 0.6) & (points["y"] == 0.5)]
    by_hand = {4: 0.6 / (1 + 0.5 * 3) * 2, 16: 0.6 / (1 + 0.5 * 15) * 4}  # equation 8
    assert half["value"].tolist() == [0.1, *(round(value, 3) for value in by_hand.values())]
    sure = points[(points["x"] == 0.6) & (points["y"] == 0.8)]
    by_hand = {4: 0.6 / (1 + 0.2 * 3) * 2, 16: 0.6 / (1 + 0.2 * 15) * 4}
    assert sure["value"].tolist() == [0.16, *(round(value, 3) for value in by_hand.values())]
    assert "its maximum is 2 for 4 options and 4 for 16" in drawn.description
    extremes = points.groupby("panel")["value"].agg(["min", "max"])
    assert extremes.to_dict("index") == {
        "Reliability, guess 0.50": {"min": -1, "max": 1},
        "UAcc, 4 options: 0 to 2": {"min": 0, "max": 2},
        "UAcc, 16 options: 0 to 4": {"min": 0, "max": 4},
    }


def test_properties_of_the_models_of_parc_are_those_of_table_a4(make: Make) -> None:
    """models.lock against the printed table; a model of ours beside them."""
    locked = load(ROOT / "models.lock")["models"]
    models = list(load(ROOT / "profiles/parc.yaml")["models"])
    evidence = make(Made(accuracy=dict.fromkeys([*models, "other"], 0.5)))
    printed = read_printed([ROOT / "docs/published/parc_a4.csv"])
    known = facts({name: locked[name] for name in models}, {}) | {"other": {"resolution": 336}}
    evidence = replace(evidence, setup={"locked": {name: locked[name] for name in models}})
    shown = built(replace(evidence, facts=known, printed=printed), "parc")
    rows = {row[0]: row[1:] for row in text(shown["Table A4"].grids[0])}
    assert len(rows) == 7 and not any("published" in cell for row in rows.values() for cell in row[1:])
    assert all(
        row[0].split(" | ")[0] == locked[name]["source"]["repo"]
        for name, row in zip(models, rows.values(), strict=False)
    )
    assert rows["LLaVA-1.6 34B | llava_v1_6_34b"] == [
        "llava-hf/llava-v1.6-34b-hf | published liuhaotian/llava-v1.6-34b",
        "34,700,000,000",
        "34,400,000,000",
        "336",
        "1,600,000",
        "high",
    ]
    assert rows["other"] == ["–", "–", "–", "336", "–", "–"]
    known["llava_v1_6_34b"] = known["llava_v1_6_34b"] | {"resolution": 672, "curation": "low"}
    shown = built(replace(evidence, facts=known, printed=printed), "parc")
    rows = {row[0]: row[1:] for row in text(shown["Table A4"].grids[0])}
    assert rows["LLaVA-1.6 34B | llava_v1_6_34b"][3::2] == ["672 | published 336", "low | published high"]


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
    (data,) = vl_convert.vegalite_to_vega(drawn.chart.to_dict())["data"][1:]
    filters = [step["expr"] for step in data.get("transform", ()) if step["type"] == "filter"]
    assert not any("size" in test for test in filters), "a model of unknown size is drawn too"


PAIRS, WHOLE = ("nyu_depth", "fashion"), ("nyu_depth", "fashion", "mmbench")
LABELS = {"nyu_depth": "NYU", "fashion": "Fas", "mmbench": "MMB"}
TWO = ("llava_v1_5_7b", "llava_v1_5_13b")
KINDS = {
    "original": "O",
    "lr_i": "LR-I",
    "ls_n": "LS-N",
    "vr_l": "VR-L",
    "vs_s": "VS-S",
    "lr_i+vs_s": "LR-I/VS-S",
}
OVER = ("every_prompt", *FAMILIES, "reformulation", "semantic", "language", "vision")
Key = tuple[str, str, str, str, str]
"""Output, dataset, model, metric, and the variation or the score of a mean over variations."""


def measured() -> dict[Key, float]:
    """A number of its own for everything that is measured of two models on two sets of pairs and on MMBench."""
    draw, found = np.random.default_rng(5), dict[Key, float]()
    for output, dataset, model in product(("letters", "text"), WHOLE, TWO):
        for metric, name in product((*NAMES, "accuracy", "random_accuracy"), (*KINDS, *OVER)):
            if (metric, name) == ("consistency_calibrated", "original"):
                continue
            if dataset in PAIRS or not {"vs_s", "lr_i+vs_s", "VS"} & {name}:
                value = round(float(draw.uniform(0.1, 0.9)), 3)
                if metric == "random_accuracy":
                    value = 0.7 if (dataset, name) == ("mmbench", "ls_n") else 0.3
                found[output, dataset, model, metric, name] = value
    return found


def mean(found: dict[Key, float], output: str, metric: str, name: str, *where: str) -> float:
    """Over all datasets and models but for those named."""
    return fmean(
        value
        for (of, dataset, model, *last), value in found.items()
        if of == output and last == [metric, name] and {dataset, model} >= set(where)
    )


def test_every_table_and_figure_has_the_number_of_its_place(make: Make) -> None:
    found = measured()
    rows = [
        standing(model, metric, value, dataset=dataset, output=output)
        | ({"variation": name} if name in KINDS else {"variation": "", "score": name})
        for (output, dataset, model, metric, name), value in found.items()
    ]
    evidence = asked(make(Made(accuracy=dict.fromkeys(TWO, 0.5), datasets=WHOLE)), rows)
    count = {"nyu_depth": 2, "fashion": 3, "mmbench": 4}
    options = [["a", "b", "c", "d"][: count[name]] for name in evidence.items["dataset"]]
    known = {
        name: {"total_parameters": 7e9 + place, "language_model_parameters": 6e9 + place}
        for place, name in enumerate(TWO)
    }
    evidence = replace(evidence, items=evidence.items.assign(options=options), facts=known)
    shown = built(evidence, "parc")

    def row(table: str, model: str) -> list[Any]:
        (grid,) = shown[table].grids
        return next([cell.key for cell in row[1:]] for row in grid.rows if row[0].note == model)

    def cells(output: str, metrics: Sequence[str], name: str, *model: str) -> list[Any]:
        """Each set and the mean over the sets of each metric."""
        return [
            pytest.approx(mean(found, output, metric, name, *where, *model))
            for metric in metrics
            for where in (*[(one,) for one in WHOLE], ())
        ]

    whole = cells("text", NAMES, "every_prompt", TWO[0])
    assert row("Table A8", TWO[0]) == whole
    assert row("Table 3", TWO[0]) == [*whole[:4], whole[7], whole[11], *whole[12:]]
    assert row("Table A10", TWO[0]) == cells("letters", NAMES, "every_prompt", TWO[0])
    whole = cells("text", NAMES, "lr_i")
    assert row("Table A6", "lr_i") == whole
    assert row("Table 2", "lr_i") == [*whole[:4], whole[7], whole[11], *whole[12:]]
    swapped = mean(found, "text", "reliability", "vs_s")
    assert row("Table 2", "vs_s")[3] == pytest.approx(swapped), "of the sets of pairs, as the paper has it"
    both = [pytest.approx(mean(found, "text", metric, "lr_i+vs_s")) for metric in NAMES]
    assert row("Table A9", "lr_i+vs_s") == both
    assert [line[0].note for line in shown["Table A9"].grids[0].rows] == ["lr_i", "vs_s", "lr_i+vs_s"]
    drawn = {name: shown[f"Figure {name}"].figures[0] for name in ("2", "3", "4", "A7", "A8")}
    points = {
        name: [row for part in one.chart.to_dict()["datasets"].values() for row in part]
        for name, one in drawn.items()
    }
    planes = {(p["panel"], p["x"], p["y"]): p["value"] for p in points["2"]}
    assert planes["guess 0.50", 0.6, 0.5] == 0.1
    assert planes["guess 0.30", 0.6, 0.5] == round(0.6 ** (1 / math.log2(1 / 0.3)) - 0.5, 3)
    three = {(p["panel"], p["series"], p["row"]): p["value"] for p in points["3"]}
    assert three == {  # not of the set whose guess is neither the best nor the worst
        (f"{LABELS[dataset]}, {when}", KINDS[name], model): found["text", dataset, model, metric, name]
        for dataset in ("mmbench", "nyu_depth")
        for when, metric in (("before", "accuracy"), ("after", "accuracy_calibrated"))
        for name in ("original", "ls_n")
        for model in TWO
    }
    averaged = {(p["panel"], p["series"], p["row"]): p["value"] for p in points["A7"]}
    assert (
        averaged
        == three
        | {  # not of MMBench, where a guess is right more often if the question is negated
            (f"mean of the balanced datasets, {when}", KINDS[name], model): pytest.approx(
                fmean(found["text", one, model, metric, name] for one in PAIRS)
            )
            for when, metric in (("before", "accuracy"), ("after", "accuracy_calibrated"))
            for name in ("original", "ls_n")
            for model in TWO
        }
    )
    four = {(p["panel"], p["series"], p["row"]): p["value"] for p in points["4"] if "row" in p}
    cons = "consistency_calibrated"
    assert four == {
        ("pairs of images", name, model): pytest.approx(
            fmean(found["text", one, model, cons, name] for one in PAIRS)
        )
        for name in FAMILIES
        for model in TWO
    } | {
        ("one image", name, model): found["text", "mmbench", model, cons, name]
        for name in FAMILIES[:3]
        for model in TWO
    }
    eight = {(p["panel"], p["name"]): (p["x"], p["y"]) for p in points["A8"]}
    assert {(p["name"], p["size"]) for p in points["A8"]} == {(name, 7e9 + n) for n, name in enumerate(TWO)}
    assert eight == {
        (name, model): pytest.approx(
            [mean(found, "text", metric, name, model) for metric in (cons, "reliability")]
        )
        for name in ("language", "vision", "reformulation", "semantic")
        for model in TWO
    }
    nine = {
        (p["panel"], p["name"], p["x"]): p["y"]
        for one in shown["Figure A9"].figures
        for part in one.chart.to_dict()["datasets"].values()
        for p in part
    }
    assert nine == {
        (f"{group}: {label}", model, known[model][size]): pytest.approx(
            mean(found, "text", metric, name, model)
        )
        for size in ("total_parameters", "language_model_parameters")
        for group, name in (("all", "every_prompt"), ("language", "language"), ("vision", "vision"))
        for label, metric in (("reliability", "reliability"), ("consistency", cons))
        for model in TWO
    }
