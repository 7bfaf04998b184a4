"""Coverage and set size by the share of the questions that calibrate."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd

from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.claims import chosen
from vouch.report.evidence import Evidence
from vouch.report.numbers import Number

TITLE = "Coverage and set size by calibration share"
NARROW = {"join": alt.vconcat, "width": 270}
PANELS = {"coverage": ("Coverage, LAC", ".0%"), "size": ("Options in a set, LAC", ".1f")}
TIPS = [
    *alt.tips(model_n="Model", share="Share %"),
    *alt.tips(".3f", value="Value", low="from", high="to"),
]


_TRIED = re.compile(r"coverage_calibrated_on_(\d+)")


class Point(NamedTuple):
    """share: per cent of the questions that calibrate. coverage, size: of LAC sets on the others."""

    share: int
    coverage: Number
    size: Number


def points(evidence: Evidence, dataset: str) -> dict[str, list[Point]]:
    """What each share gives a model, small shares first; nothing where only the main one was tried."""
    tried = {int(match[1]) for name in evidence.metrics(dataset) if (match := _TRIED.fullmatch(name))}
    main = round(100 * evidence.scoring.calibration)
    found: dict[str, list[Point]] = {model: [] for model in evidence.models(dataset) if tried}
    for share in sorted(tried | {main}):
        end = "" if share == main else f"_calibrated_on_{share}"
        for model, of_model in found.items():
            coverage, size = (
                evidence.number(dataset, model, f"{metric}{end}", "lac")
                for metric in ("coverage", "set_size")
            )
            if coverage and size:
                of_model.append(Point(share, coverage, size))
    return found


def frame(evidence: Evidence, dataset: str, panel: str) -> pd.DataFrame:
    """One row per model and share: value and its interval; `at` keeps the models beside each other."""
    models, found = chosen(evidence, dataset), points(evidence, dataset)
    rows = []
    for place, model in enumerate(models):
        for point in found.get(model, ()):
            number = getattr(point, panel)
            at = point.share + 0.8 * (place - (len(models) - 1) / 2)
            row = {"model": model, "share": point.share, "at": at, "value": number.value}
            rows.append(row | {"low": number.low, "high": number.high})
    return pd.DataFrame(rows, columns=["model", "share", "at", "value", "low", "high"])


def draw(evidence: Evidence, dataset: str, join: Callable[..., Any] = alt.hconcat, width: int = 440) -> Any:
    """Two panels, a line per model; None where but one share was tried."""
    data = {panel: frame(evidence, dataset, panel) for panel in PANELS}
    if data["size"].empty:
        return None
    panels = []
    for panel, (title, form) in PANELS.items():
        x = {
            "title": "Questions that calibrate, %",
            "scale": alt.Scale(nice=False, padding=12, zero=False),
            "axis": alt.Axis(values=sorted(set(data[panel]["share"])), grid=False),
        }
        y = {"title": title, "scale": alt.Scale(zero=False), "axis": alt.Axis(format=form)}
        models = list(dict.fromkeys(data[panel]["model"]))
        layers = alt.model_lines(data[panel], models, x, y, {"title": title}, TIPS)
        if panel == "coverage":
            layers.insert(0, alt.target(evidence.target).encode(y=alt.Y("value:Q", **y)))
        panels.append(alt.layer(*layers).properties(width=width, height=190))
    return join(*panels, spacing=alt.SPACING)


def describe(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    found = points(evidence, dataset)
    said = [
        f"{model} covers {formatting.percent(own[0].coverage.value)} if {own[0].share} % calibrate, "
        f"{formatting.percent(own[-1].coverage.value)} if {own[-1].share} % do"
        for model in chosen(evidence, dataset)
        if (own := found.get(model))
    ]
    return f"Coverage and set size by calibration share on {dataset}: {'; '.join(said)}."
