"""Charts: a model has one look in all of them, every line is in a legend, and colours can be told apart."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from tests.report.project import Made, Make
from vouch.report import drawing, pages
from vouch.report import vegalite as alt
from vouch.report.evidence import Evidence
from vouch.report.page import DatasetFigure, declared
from vouch.report.pages.calibration import reliability_chart
from vouch.report.pages.models_figures import BEST, accuracy_and_set_size_chart, coverage_chart

# Machado, Oliveira and Fernandes 2009, table 1, severity 1: linear RGB as a person without one kind of cone
# sees it.
VISIONS = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
XYZ = np.array(
    [[0.412456, 0.357576, 0.180438], [0.212673, 0.715152, 0.072175], [0.019334, 0.119192, 0.950304]]
)
WHITE = XYZ.sum(axis=1)


def linear(colour: str) -> np.ndarray:
    """Linear RGB of `#rrggbb`."""
    values = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    dark, light = sorted(float(XYZ[1] @ linear(each)) for each in (one, other))
    return (light + 0.05) / (dark + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIELAB of linear RGB, in which distances are about as large as people see them."""
    scaled = XYZ @ np.clip(rgb, 0, 1) / WHITE
    root = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_colours_of_models_can_be_seen_and_told_apart(theme: str) -> None:
    colours = alt.MODEL_COLOURS if theme == "light" else [alt.DARK[each] for each in alt.MODEL_COLOURS]
    paper = alt.PAPER if theme == "light" else alt.DARK[alt.PAPER]
    assert min(contrast(each, paper) for each in colours) > 3.5  # WCAG 2.2 asks for 3 in graphics
    for vision, matrix in VISIONS.items():
        least = 9 if vision == "tritanopia" else 25  # of 100 between black and white
        for one, other in combinations(colours, 2):
            distance = np.linalg.norm(lab(matrix @ linear(one)) - lab(matrix @ linear(other)))
            assert distance > least, (vision, one, other)


def test_no_two_models_look_alike_and_a_further_one_changes_none() -> None:
    models = [f"m{number:02}" for number in range(36)]
    looks = alt.model_looks(models)
    assert len(set(looks.values())) == 36
    assert len({colour for colour, _ in list(looks.values())[:6]}) == 6
    assert alt.model_looks(models[:4]).items() <= looks.items()


def layers(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every part of a chart that has a mark."""
    if "mark" in spec:
        yield spec
    for kind in ("layer", "concat", "hconcat", "vconcat"):
        for inner in spec.get(kind, ()):
            yield from layers(inner)


@pytest.fixture
def evidence(make: Make) -> Evidence:
    return make(Made(variations=("original", "lr_i", "ls_n", "blank", "vr_b", "vr_b_5")))


def every_chart(evidence: Evidence) -> Iterator[tuple[str, alt.Chart]]:
    (dataset,) = evidence.datasets
    for each in declared(pages, DatasetFigure):
        for how in ({}, *([each.narrow] if each.narrow else [])):
            if (chart := each.draw(evidence, dataset, **how)) is not None:
                yield each.name, chart


def test_a_model_has_the_same_colour_and_shape_in_every_chart(evidence: Evidence) -> None:
    looks, charts = alt.model_looks(evidence.all_models), set()
    for name, chart in every_chart(evidence):
        for layer in layers(chart.spec):
            for at, channel in enumerate(("color", "shape")):
                how = layer.get("encoding", {}).get(channel, {})
                if how.get("field") == "model":
                    shown = dict(zip(how["scale"]["domain"], how["scale"]["range"], strict=True))
                    assert shown == {model: looks[model][at] for model in shown}, name
                    charts.add(name)
    assert charts >= {"accuracy_and_set_size", "coverage", "severity"}


def test_every_line_is_in_the_legend(evidence: Evidence) -> None:
    for name, chart in every_chart(evidence):
        drawn = drawing.svg(chart)
        texts = set(re.findall(r">([^<>]+)</text>", drawn))
        rules = [layer for layer in layers(chart.spec) if layer["mark"]["type"] == "rule"]
        links = [layer for layer in rules if layer["mark"].get("color") == alt.FAINT]  # of labels to points
        for layer in rules:
            assert layer in links or json.loads(layer["transform"][-1]["calculate"]) in texts, name


def test_the_better_corner_is_marked_and_no_name_covers_it(evidence: Evidence) -> None:
    (dataset,) = evidence.datasets
    for size in ((520.0, 430.0), (270.0, 270.0)):
        drawn = drawing.svg(accuracy_and_set_size_chart(evidence, dataset, size))
        assert {"better", BEST, alt.INTERVAL} <= set(re.findall(r">([^<>]+)</text>", drawn))


def test_a_model_whose_name_fits_nowhere_is_in_a_legend(make: Make) -> None:
    names = [f"a_model_with_a_name_as_long_as_half_of_the_chart_{number:02}" for number in range(10)]
    evidence = make(Made(accuracy={name: 0.9 - 0.05 * at for at, name in enumerate(names)}))
    (dataset,) = evidence.datasets
    texts = re.findall(r">([^<>]+)</text>", drawing.svg(accuracy_and_set_size_chart(evidence, dataset)))
    assert set(names) <= set(texts)


def test_coverage_of_the_scores_is_side_by_side(evidence: Evidence) -> None:
    (dataset,) = evidence.datasets
    chart = coverage_chart(evidence, dataset)
    assert [panel["title"] for panel in chart.spec["hconcat"]] == ["LAC", "APS"]
    assert "hconcat" not in coverage_chart(evidence, dataset, beside=False).spec


def test_reliability_says_how_many_answers_each_bin_holds(evidence: Evidence) -> None:
    (dataset,) = evidence.datasets
    chart = reliability_chart(evidence, dataset)
    rows = [row for rows in chart.datasets.values() for row in rows if "answers" in row]
    texts = re.findall(r">([^<>]+)</text>", drawing.svg(chart))
    assert rows and all(row["count"] in texts for row in rows)
    assert "count:N" not in json.dumps(reliability_chart(evidence, dataset, side=90).spec)
    fitting = reliability_chart(evidence, dataset, side=90)
    assert not [layer for layer in layers(fitting.spec) if layer["mark"]["type"] == "text"]
