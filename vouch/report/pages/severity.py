"""Accuracy by the severity of image corruption, on the page Variations (variations.py, image_use.py,
robustness.py)."""

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.prompts.variations import Declaration, at_level, declared
from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.claims import chosen
from vouch.report.evidence import Evidence
from vouch.report.page import Block, DatasetFigure, Figures, PageSection, by_dataset
from vouch.tables.asked import ORIGINAL

SEVERITY_TIPS = [
    *alt.tips(model_n="Model", level="Severity"),
    *alt.tips(".3f", value="Accuracy", low="from", high="to"),
]


def asked_levels(names: Iterable[str]) -> dict[Declaration, dict[int, str]]:
    """Variation that comes in several strengths -> level -> the name that asks for it."""
    asked: dict[Declaration, dict[int, str]] = {one: {} for one in declared().values() if one.has_strengths}
    for name in names:
        one, level = at_level(name) or (None, None)
        if one in asked:
            asked[one][level or one.default_level] = name
    return {one: levels for one, levels in asked.items() if levels}


def severity_frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model, variation with levels, and level; the original is level 0, and `at` keeps the models
    apart.

    Empty if only a single level of PARC's corruptions was asked.
    """
    levels = asked_levels(evidence.variations(dataset))
    if not any(len(names) > 1 or not one.family for one, names in levels.items()):
        levels = {}
    models, rows = chosen(evidence, dataset), []
    for variation, names in levels.items():
        for index, model in enumerate(models):
            for level, name in sorted({0: ORIGINAL, **names}.items()):
                number = evidence.number(dataset, model, "accuracy", variation=name)
                if number is not None:
                    at = level + 0.06 * (index - (len(models) - 1) / 2)
                    row = {"model": model, "kind": variation.label, "level": level, "at": at}
                    rows.append(row | {"value": number.value, "low": number.low, "high": number.high})
    return pd.DataFrame(rows, columns=["model", "kind", "level", "at", "value", "low", "high"])


def severity_chart(evidence: Evidence, dataset: str, columns: int = 3, width: int = 230) -> Any:
    """A panel per corruption, a line per model; None if there is none."""
    data = severity_frame(evidence, dataset)
    if data.empty:
        return None
    edges = data[["value", "low", "high"]].astype(float)
    domain = [max(0.0, float(edges.min().min()) - 0.02), min(1.0, float(edges.max().max()) + 0.02)]
    highest = max(one.levels for one in asked_levels(evidence.variations(dataset)))
    x = {
        "title": "Severity",
        "scale": alt.Scale(domain=[-0.2, highest + 0.2], nice=False),
        "axis": alt.Axis(values=list(range(highest + 1)), format="d", grid=False),
    }
    names = {alt.INTERVAL: alt.SOLID}
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    y = {"title": "Accuracy", "scale": scale, "axis": alt.Axis(format=".0%", tickCount=5)}
    panels = [
        alt.layer(
            *alt.model_lines(own, evidence.all_models, x, y, SEVERITY_TIPS, names, columns * width)
        ).properties(width=width, height=200, title=kind)
        for kind, own in data.groupby("kind", sort=False)
    ]
    return alt.concat(*panels, columns=columns, spacing=alt.SPACING)


def severity_in_words(evidence: Evidence, dataset: str) -> str:
    """The figure in words."""
    data, parts = severity_frame(evidence, dataset), []
    for (kind, model), own in data.groupby(["kind", "model"], sort=False):
        first, last = own.iloc[0], own.iloc[-1]
        shares = formatting.percent(first["value"], 0), formatting.percent(last["value"], 0)
        parts.append(f"{kind}: {model} goes from {shares[0]} to {shares[1]} at level {last['level']}")
    return f"Accuracy by severity on {dataset}: {'; '.join(parts)}."


SEVERITY_FIGURE = DatasetFigure(
    "severity",
    "Accuracy by severity",
    severity_chart,
    severity_in_words,
    narrow={"columns": 1, "width": 270},
)


SEVERITY_TEXT = Markup("""\
Accuracy by severity, 1 to 5 as in ImageNet-C: the image is blurred, brightened, compressed or otherwise
degraded; level 0 is the original. The numbers are in the table of all variations.""")


def _severity_summary(evidence: Evidence) -> Iterator[str]:
    """The largest loss from the original image to the highest level asked; nothing if there is no loss."""
    losses = []
    for dataset in evidence.large:
        for (kind, model), own in severity_frame(evidence, dataset).groupby(["kind", "model"], sort=False):
            first, last = own.iloc[0], own.iloc[-1]
            if last["value"] < first["value"]:
                losses.append((last["value"] - first["value"], kind, model, dataset, first, last))
    if losses:
        _, kind, model, dataset, first, last = min(losses, key=lambda loss: loss[:4])
        yield (
            f"The largest loss, not tested: {model} on {dataset} goes from "
            f"{formatting.percent(first['value'], 0)} to {formatting.percent(last['value'], 0)} "
            f"at level {last['level']} of {kind}."
        )


def _severity_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    return [] if severity_frame(evidence, dataset).empty else [Figures([f"severity-{dataset}"])]


SEVERITY_SECTION = PageSection(
    "severity",
    "Severity",
    by_dataset("How much accuracy does image corruption cost?", SEVERITY_TEXT, _severity_blocks, opened=1),
    page="variations",
    place=40,
    summary=_severity_summary,
)
