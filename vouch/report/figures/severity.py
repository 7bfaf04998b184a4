"""Accuracy by the severity of what is done to pictures (Hendrycks and Dietterich 2019)."""

import re
from collections import Counter
from typing import Any

import pandas as pd

from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.claims import chosen
from vouch.report.costs import MEANING
from vouch.report.evidence import Evidence
from vouch.tables.asked import ORIGINAL

TITLE = "Accuracy by severity"
CORRUPTIONS = ("vr_b", "vr_l", "jpeg", "noise", "motion", "contrast", "pixelate", "fog")
EVERYWHERE = ("vr_b", "vr_l")  # of PARC: one level of them alone is no study of severity
UNSAID = 3  # the level of a name without one
_NAMED = re.compile(rf"({'|'.join(CORRUPTIONS)})(?:_([1-5]))?")
TIPS = [
    *alt.tips(model_n="Model", level="Severity"),
    *alt.tips(".3f", value="Accuracy", low="from", high="to"),
]


def frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model, corruption and level, of the original as level 0; `at` keeps the models beside each
    other. Nothing where all that was asked is one level of what PARC asks anyway."""
    found = {name: match for name in evidence.variations(dataset) if (match := _NAMED.fullmatch(name))}
    asked = Counter(match[1] for match in found.values())
    studied = any(times > 1 or kind not in EVERYWHERE for kind, times in asked.items())
    kinds = [kind for kind in CORRUPTIONS if asked[kind] and studied]
    models, rows = chosen(evidence, dataset), []
    for kind in kinds:
        levels = {int(m[2] or UNSAID): name for name, m in found.items() if m[1] == kind}
        for place, model in enumerate(models):
            for level, name in sorted({0: ORIGINAL, **levels}.items()):
                number = evidence.number(dataset, model, "accuracy", variation=name)
                if number is not None:
                    at = level + 0.06 * (place - (len(models) - 1) / 2)
                    row = {"model": model, "kind": MEANING[kind], "level": level, "at": at}
                    rows.append(row | {"value": number.value, "low": number.low, "high": number.high})
    return pd.DataFrame(rows, columns=["model", "kind", "level", "at", "value", "low", "high"])


def draw(evidence: Evidence, dataset: str) -> Any:
    """A panel per corruption, a line per model; None without."""
    data = frame(evidence, dataset)
    if data.empty:
        return None
    models = list(dict.fromkeys(data["model"]))
    edges = data[["value", "low", "high"]].astype(float)
    domain = [max(0.0, float(edges.min().min()) - 0.02), min(1.0, float(edges.max().max()) + 0.02)]
    x = {
        "title": "Severity",
        "scale": alt.Scale(domain=[-0.2, 5.2], nice=False),
        "axis": alt.Axis(values=list(range(6)), format="d", grid=False),
    }
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    y = {"title": "Accuracy", "scale": scale, "axis": alt.Axis(format=".0%")}
    panels = [
        alt.layer(*alt.model_lines(own, models, x, y, y, TIPS)).properties(width=250, height=170, title=kind)
        for kind, own in data.groupby("kind", sort=False)
    ]
    return alt.concat(*panels, columns=2, spacing=alt.SPACING)


def describe(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    data, said = frame(evidence, dataset), []
    for (kind, model), own in data.groupby(["kind", "model"], sort=False):
        first, last = own.iloc[0], own.iloc[-1]
        shares = formatting.percent(first["value"], 0), formatting.percent(last["value"], 0)
        said.append(f"{kind}: {model} falls from {shares[0]} to {shares[1]} at level {last['level']}")
    return f"Accuracy by severity on {dataset}: {'; '.join(said)}."
