"""PARC's figures with all seven sets beside one that is not the paper's, and all seven families of models."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any

import pytest

from tests.metrics.simulated import ROOT
from tests.papers.shown import asked, beside, built, standing
from tests.report.project import Made, Make
from vouch.papers.entry import Built, names_in
from vouch.report.loading import read_printed
from vouch.tables.asked import FAMILIES

SETS = names_in("parc", "datasets")
PAIRS = [name for name in SETS if name != "mmbench"]
EVERY = (*SETS, "shapes")
TWO = ("llava_v1_5_7b", "llava_v1_5_13b")
CALIBRATED = ("accuracy_calibrated", "certainty", "consistency_calibrated", "reliability")
KINDS = {"original": "O", "ls_n": "LS-N", "lr_i": "LR-I", "ls_n+lr_i": "LS-N/LR-I"}
OVER = ("every_prompt", *FAMILIES, "reformulation", "semantic", "language", "vision")


def numbers() -> dict[tuple[str, str, str, str], float]:
    """Dataset, model, metric and the variation or score of a mean -> a value of its own."""
    found: dict[tuple[str, str, str, str], float] = {}
    for place, key in enumerate(product(EVERY, TWO, (*CALIBRATED, "accuracy"), (*KINDS, *OVER))):
        found[key] = 0.95 if key[0] == "shapes" else round(0.1 + (37 * place % 701) / 1000, 3)
        if key[0] == "mmbench" and key[3] == "VS":
            del found[key]
    for dataset, model, name in product(EVERY, TWO, ("original", "ls_n")):
        guess = 0.27 if name == "original" else 0.73
        found[dataset, model, "random_accuracy", name] = guess if dataset == "mmbench" else 0.5
    return found


def rows(found: dict[tuple[str, str, str, str], float]) -> list[dict[str, Any]]:
    return [
        standing(model, metric, value, dataset=dataset)
        | ({"variation": name} if name in KINDS else {"variation": "", "score": name})
        for (dataset, model, metric, name), value in found.items()
    ]


def shown(
    make: Make, found: dict[tuple[str, str, str, str], float], models: Sequence[str]
) -> dict[str, Built]:
    evidence = asked(make(Made(accuracy=dict.fromkeys(models, 0.5), datasets=EVERY)), rows(found))
    options = [["a", "b", "c", "d"][: 4 if name == "mmbench" else 2] for name in evidence.items["dataset"]]
    return built(replace(evidence, items=evidence.items.assign(options=options)), "parc")


def points(made: Built, place: int = 0) -> Iterator[dict[str, Any]]:
    for part in made.figures[place].chart.to_dict()["datasets"].values():
        yield from part


def test_figure_3_is_of_mmbench_and_nyu_and_a7_of_the_six_balanced_sets_too(make: Make) -> None:
    found = numbers()
    drawn = shown(make, found, TWO)
    single = {
        (f"{label}, {when}", KINDS[name], model): found[dataset, model, metric, name]
        for dataset, label in (("mmbench", "MMB"), ("nyu_depth", "NYU"))
        for when, metric in (("before", "accuracy"), ("after", "accuracy_calibrated"))
        for name, model in product(("original", "ls_n"), TWO)
    }
    balanced = {
        (f"mean of the balanced datasets, {when}", KINDS[name], model): pytest.approx(
            fmean(found[dataset, model, metric, name] for dataset in PAIRS)
        )
        for when, metric in (("before", "accuracy"), ("after", "accuracy_calibrated"))
        for name, model in product(("original", "ls_n"), TWO)
    }
    for figure, wanted in (("Figure 3", single), ("Figure A7", single | balanced)):
        found_there = {(p["panel"], p["series"], p["row"]): p["value"] for p in points(drawn[figure])}
        assert found_there == wanted
        assert "on MMB and NYU" in drawn[figure].figures[0].title
    unread = {key: value for key, value in found.items() if key[2:] != ("accuracy", "ls_n")}
    assert "Figure 3" not in shown(make, unread, TWO), "no accuracy on negated questions"


def test_means_are_over_the_papers_sets_and_of_models_that_have_them_all(make: Make) -> None:
    found = numbers()
    partial = {("nyu_depth", "other", *key[2:]): 0.9 for key in found if key[:2] == ("nyu_depth", TWO[0])}
    drawn = shown(make, found | partial, (*TWO, "other"))

    def mean(model: str, metric: str, name: str, sets: Sequence[str] = tuple(SETS)) -> Any:
        return pytest.approx(fmean(found[dataset, model, metric, name] for dataset in sets))

    def both(model: str, name: str) -> tuple[Any, Any]:
        return mean(model, "consistency_calibrated", name), mean(model, "reliability", name)

    plane = {p["name"]: (p["x"], p["y"]) for p in points(drawn["Table 3"])}
    assert plane == {model: both(model, "every_prompt") for model in TWO}
    four = {(p["panel"], p["series"], p["row"]): p["value"] for p in points(drawn["Figure 4"]) if "row" in p}
    assert four == {
        ("pairs of images", name, model): mean(model, "consistency_calibrated", name, PAIRS)
        for name, model in product(FAMILIES, TWO)
    } | {
        ("one image", name, model): found["mmbench", model, "consistency_calibrated", name]
        for name, model in product(FAMILIES[:3], TWO)
    }
    groups = ("language", "vision", "reformulation", "semantic")
    for place in range(2):
        eight = {(p["panel"], p["name"]): (p["x"], p["y"]) for p in points(drawn["Figure A8"], place)}
        assert eight == {(name, model): both(model, name) for name, model in product(groups, TWO)}


def test_figure_a8_has_the_whole_ranges_above_and_the_detail_below(make: Make) -> None:
    above, below = shown(make, numbers(), TWO)["Figure A8"].figures
    assert (above.title, below.title) == (
        "Fig. A8 (top): consistency and reliability by families of changes, whole ranges",
        "Fig. A8 (bottom): consistency and reliability by families of changes, in detail",
    )
    for drawn, domain in ((above, [-1.0, 1.0]), (below, None)):
        panels = drawn.chart.to_dict()["concat"]
        scales = [
            layer["encoding"][axis]["scale"]
            for panel in panels
            for layer in panel["layer"]
            for axis in ("x", "y")
        ]
        assert len(panels) == 4 and all(scale.get("domain") == domain for scale in scales)


def test_the_seven_families_of_models_are_told_apart(make: Make) -> None:
    series = {
        name: next(one for one in ("LLaVA-1.5", "LLaVA-1.6", "Qwen-VL", "CogVLM2", "InternVL2", "Cambrian", "Cog")
                   if label.startswith(one))
        for name, label in names_in("parc", "models").items()
    }  # fmt: skip
    measured = product(series, ("reliability", "consistency_calibrated"), OVER)
    made = [
        standing(name, metric, 0.5, dataset="nyu_depth", variation="", score=score)
        for name, metric, score in measured
    ]
    evidence = asked(make(Made(accuracy=dict.fromkeys(series, 0.5), datasets=("nyu_depth",))), made)
    facts = {
        name: {"series": one, "language_model_parameters": 7e9 + n, "total_parameters": 8e9 + n}
        for n, (name, one) in enumerate(series.items())
    }
    drawn = built(replace(evidence, facts=facts), "parc")
    assert len(series) == 22
    for name in ("Table 3", "Figure 5", "Figure A8", "Figure A9"):
        for figure in drawn[name].figures:
            whole = figure.chart.to_dict()
            marks = [layer for panel in whole.get("concat", [whole]) for layer in panel["layer"]]
            for channel in ("color", "shape"):
                for layer in (each for each in marks if each["mark"]["type"] == "point"):
                    scale = layer["encoding"][channel]["scale"]
                    assert set(scale["domain"]) == set(series.values()), name
                    assert len(set(scale["range"])) == 7, "one look for each family"


def test_table_a9_is_over_the_papers_sets_and_has_each_change_by_itself(make: Make) -> None:
    found = numbers()
    (grid,) = shown(make, found, TWO)["Table A9"].grids
    metrics = ("reliability", "accuracy_calibrated", "certainty", "consistency_calibrated")
    assert [column.label for column in grid.columns] == [
        "Prompt",
        *(f"{n} Avg." for n in ("rel", "acc", "cert", "cons")),
    ]
    assert {row[0].text: [cell.key for cell in row[1:]] for row in grid.rows} == {
        KINDS[name]: [
            pytest.approx(fmean(found[each, model, metric, name] for each, model in product(SETS, TWO)))
            for metric in metrics
        ]
        for name in ("lr_i", "ls_n", "ls_n+lr_i")
    }


def test_the_most_perturbing_change_of_each_class_is_marked_as_in_table_2(make: Make) -> None:
    """Mean accuracies (Table A6, AVG) with those that the paper has in bold, and underlined."""
    means = {
        "original": 0.1, "lr_i": 0.46, "lr_c": 0.45, "lr_v": 0.42, "ls_n": 0.39, "ls_a": 0.24, "ls_m": 0.36,
        "vr_b": 0.46, "vr_l": 0.39, "vr_r": 0.44, "vs_s": 0.53, "vs_e": 0.33,
    }  # fmt: skip
    made = [
        standing(TWO[0], metric, value, dataset=dataset, variation=name)
        for metric, dataset, (name, value) in product((*CALIBRATED, "accuracy"), PAIRS, means.items())
    ]
    evidence = asked(make(Made(accuracy={TWO[0]: 0.5}, datasets=PAIRS)), made)
    for table in ("Table 2", "Table A6"):
        drawn = built(evidence, "parc")[table]
        (grid,) = drawn.grids
        for place in range(1, len(grid.columns)):
            bold = {row[0].text for row in grid.rows if row[place].tone == "strong"}
            assert bold == {"LR-V", "LS-A", "VR-L", "VS-E"}, grid.columns[place].label
            assert {row[0].text for row in grid.rows if "lowest of all" in row[place].note} == {"LS-A"}
        assert "the paper underlines" in drawn.sentences[-1]


@pytest.mark.parametrize("others", [(), ("other",)])
def test_means_over_the_papers_models_stand_beside_tables_a6_and_a9(
    make: Make, others: tuple[str, ...]
) -> None:
    """If all 22 have the printed means, and no further model was asked."""
    printed = read_printed([ROOT / f"docs/published/parc_{name}.csv" for name in ("a6", "a9")])
    scores = dict(zip(CALIBRATED, ("accuracy", "certainty", "consistency", "reliability"), strict=True))
    pairs = {row["prompt"]: row for row in printed["parc_a9"].to_dict("records")}
    kinds = {(row["kind"], row["score"]): row for row in printed["parc_a6"].to_dict("records")}
    models = (*names_in("parc", "models"), *others)
    made = [
        standing(model, metric, float(value), dataset=dataset, variation=name)
        for model, metric, (dataset, label), name in product(
            models, CALIBRATED, SETS.items(), ("original", "lr_i", "vs_s", "lr_i+vs_s")
        )
        if (kind := "O" if name == "original" else name.upper().replace("_", "-"))
        and (
            value := pairs[kind][scores[metric]]
            if "+" in kind
            else kinds.get((kind, scores[metric]), {}).get(label)
        )
    ]
    made += [row | {"metric": "accuracy"} for row in made if row["metric"] == "reliability"]
    evidence = asked(make(Made(accuracy=dict.fromkeys(models, 0.5), datasets=tuple(SETS))), made)
    drawn = built(replace(evidence, printed=printed), "parc")
    if others:
        assert not any(drawn[table].beside for table in ("Table 2", "Table A6", "Table A9"))
        return
    a6 = {tuple(row[:3]): row[3] for row in beside(drawn["Table A6"], slice(0, 4))}
    assert {row[1] for row in a6} == {"NYU", "Fas", "MMB", "Avg."}, (
        "which is State and which Attribute is open"
    )
    assert a6["VS-S", "Fas", "cert"] == "0.65" and a6["LR-I", "Avg.", "rel"] == "0.26"
    assert len(a6) == 3 * 4 + 4 * 4 + 4 * 3
    a9 = {tuple(row[:3]): row[3] for row in beside(drawn["Table A9"], slice(0, 4))}
    assert len(a9) == 3 * 4 and a9["LR-I/VS-S", "Avg.", "cons"] == "0.42"
    assert all(row[5] == "0" for row in beside(drawn["Table A9"], slice(0, 6)) if "/" in row[0])


def test_every_point_of_figure_2_is_that_of_equation_4(make: Make) -> None:
    drawn = shown(make, numbers(), TWO)["Figure 2"]
    found = {(p["panel"], p["x"], p["y"]): p["value"] for p in points(drawn)}
    steps = [place / 10 for place in range(11)]
    assert found == {
        (f"guess {guess:.2f}", accuracy, certainty): pytest.approx(
            (2 * accuracy ** (math.log(2) / math.log(1 / guess)) - 1) * certainty, abs=0.0005001
        )
        for guess, accuracy, certainty in product((0.5, 0.27), steps, steps)
    }
