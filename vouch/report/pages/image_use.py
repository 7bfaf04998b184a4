"""Whether models use the image: without it, with words painted into it, and disturbed more and more."""

from collections.abc import Iterable
from typing import Any

import pandas as pd
from markupsafe import Markup

from vouch.prompts.variations import Declaration, at_level, declared
from vouch.report import formatting
from vouch.report import vegalite as alt
from vouch.report.claims import chosen, picture_claims
from vouch.report.costs import variation_cell
from vouch.report.evidence import Evidence, Number
from vouch.report.page import Block, DatasetFigure, Figures, PageSection, by_dataset, said
from vouch.report.table import Column, Measured, TableSpec, Tone
from vouch.tables.asked import ORIGINAL, TYPOGRAPHIC, TYPOGRAPHIC_CONTROL

LOOKS_TEXT = Markup("""\
The same questions with the picture blank, left out, blurred or exchanged. <em>Image gain</em> is how much
log-likelihood the answer loses then, <em>image information</em> how much entropy the options gain. Image gain
is biased upwards where logits are noisy, since the answer is the option that scored best with the picture: it
describes, and the sentences rest on accuracy. What words alone say can be divided out of the confidence: the
last columns show whether that calibrates it better.""")
LOOKS_SHOWN = ("right_without_picture", "image_gain", "image_information", "ece_corrected")
LOOKS_TABLE = TableSpec(
    "looks",
    f"with and without the picture, clean protocol, 95{formatting.NARROW}% intervals in small print",
    (Column("Picture"), Column("Model")),
    (
        Measured("accuracy", label="Accuracy with %", help="with the picture", variation=ORIGINAL),
        Measured("accuracy", label="Accuracy without %", help="with the picture blank, left out or changed"),
        *map(Measured, LOOKS_SHOWN),
        Measured(
            "ece_gain",
            label="ECE, change",
            help="corrected minus plain confidence, in points; lower is better",
            points=True,
        ),
    ),
)


def _looks_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no picture was taken away or changed."""
    rows = [
        ((variation_cell(name), model), {"model": model, "variation": name})
        for name in evidence.variations(dataset)
        for model in evidence.numbers(dataset, "image_gain", variation=name)
    ]
    if not rows:
        return []
    return [*said(_looks_sentences(evidence, dataset)), LOOKS_TABLE.grid(evidence, dataset, rows)]


def _looks_sentences(evidence: Evidence, dataset: str) -> list[str]:
    """Who is shown to be right more often with the picture, and who to do without."""
    claims = picture_claims(evidence)
    found = {
        kind: [
            model
            for model in evidence.models(dataset)
            if (claim := claims.get((dataset, model, kind))) and claim.above == above
        ]
        for kind, above in (("loss", False), ("blind", True))
    }
    said = {"loss": "to answer better with the picture", "blind": "to be better than a guess without it"}
    return [
        f"Shown {what}: {formatting.listed(found[kind])}." if found[kind] else f"No model is shown {what}."
        for kind, what in said.items()
    ]


LOOKS_SECTION = PageSection(
    "looks",
    "With and without the picture",
    by_dataset("Do the models look at the picture?", LOOKS_TEXT, _looks_blocks, opened=1),
)


TYPOGRAPHIC_TEXT = Markup("""\
A wrong option is painted into the picture; as a control, a harmless word on the same sheet. Both hide a part
of the picture, so both cost accuracy. A model that reads instead of looking chooses the painted option more
often under attack than with the control: the last column, in bold where its interval leaves out 0.""")
TYPOGRAPHIC_SHOWN = {
    ORIGINAL: "as it is",
    TYPOGRAPHIC_CONTROL: "a harmless word",
    TYPOGRAPHIC: "the wrong option",
}


def _apart(_: Evidence, gain: Number) -> Tone:
    return "strong" if gain.excludes_zero else ""


TYPOGRAPHIC_TABLE = TableSpec(
    "typographic",
    f"words painted into the picture, 95{formatting.NARROW}% intervals in small print",
    (Column("Model"),),
    (
        *(
            Measured(metric, label=label.format(what), help=help, variation=name)
            for metric, label, help in (
                ("accuracy", "Accuracy %, {}", "painted into the picture"),
                (
                    "painted_chosen",
                    "Painted option chosen %, {}",
                    "share of the answers that are the attack's option",
                ),
            )
            for name, what in TYPOGRAPHIC_SHOWN.items()
        ),
        Measured(
            "painted_gain",
            label="Effect of the attack, points",
            help="chosen under attack minus with the control",
            variation=TYPOGRAPHIC,
            points=True,
            tone=_apart,
        ),
    ),
)


def _typographic_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no attack was asked."""
    asked = evidence.numbers(dataset, "painted_chosen", variation=TYPOGRAPHIC)
    return [TYPOGRAPHIC_TABLE.grid(evidence, dataset)] if asked else []


TYPOGRAPHIC_SECTION = PageSection(
    "typographic",
    "Typographic attack",
    by_dataset(
        "Do the models read a wrong answer out of the picture?",
        TYPOGRAPHIC_TEXT,
        _typographic_blocks,
        opened=1,
    ),
)


SEVERITY_TIPS = [
    *alt.tips(model_n="Model", level="Severity"),
    *alt.tips(".3f", value="Accuracy", low="from", high="to"),
]


def asked_levels(names: Iterable[str]) -> dict[Declaration, dict[int, str]]:
    """Of each variation that comes in several strengths: which name asks for which level."""
    asked: dict[Declaration, dict[int, str]] = {one: {} for one in declared().values() if one.has_strengths}
    for name in names:
        one, level = at_level(name) or (None, None)
        if one in asked:
            asked[one][level or one.default_level] = name
    return {one: levels for one, levels in asked.items() if levels}


def severity_frame(evidence: Evidence, dataset: str) -> pd.DataFrame:
    """One row per model, variation with strengths, and level; the original is level 0. `at` keeps the models
    beside each other. Nothing where all that was asked is one level of what PARC asks anyway."""
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


def severity_chart(evidence: Evidence, dataset: str) -> Any:
    """A panel per corruption, a line per model; None without."""
    data = severity_frame(evidence, dataset)
    if data.empty:
        return None
    models = list(dict.fromkeys(data["model"]))
    edges = data[["value", "low", "high"]].astype(float)
    domain = [max(0.0, float(edges.min().min()) - 0.02), min(1.0, float(edges.max().max()) + 0.02)]
    highest = max(one.levels for one in asked_levels(evidence.variations(dataset)))
    x = {
        "title": "Severity",
        "scale": alt.Scale(domain=[-0.2, highest + 0.2], nice=False),
        "axis": alt.Axis(values=list(range(highest + 1)), format="d", grid=False),
    }
    scale = alt.Scale(domain=domain, nice=False, zero=False)
    y = {"title": "Accuracy", "scale": scale, "axis": alt.Axis(format=".0%")}
    panels = [
        alt.layer(*alt.model_lines(own, models, x, y, y, SEVERITY_TIPS)).properties(
            width=250, height=170, title=kind
        )
        for kind, own in data.groupby("kind", sort=False)
    ]
    return alt.concat(*panels, columns=2, spacing=alt.SPACING)


def severity_in_words(evidence: Evidence, dataset: str) -> str:
    """The picture in words."""
    data, said = severity_frame(evidence, dataset), []
    for (kind, model), own in data.groupby(["kind", "model"], sort=False):
        first, last = own.iloc[0], own.iloc[-1]
        shares = formatting.percent(first["value"], 0), formatting.percent(last["value"], 0)
        said.append(f"{kind}: {model} falls from {shares[0]} to {shares[1]} at level {last['level']}")
    return f"Accuracy by severity on {dataset}: {'; '.join(said)}."


SEVERITY_FIGURE = DatasetFigure("severity", "Accuracy by severity", severity_chart, severity_in_words)


SEVERITY_TEXT = Markup("""\
Accuracy by the five severity levels of ImageNet-C, whose corruptions blur, brighten, compress or otherwise
disturb the picture; level 0 is the original. The numbers are in the table of all variations.""")


def _severity_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    return [] if severity_frame(evidence, dataset).empty else [Figures([f"severity-{dataset}"])]


SEVERITY_SECTION = PageSection(
    "severity",
    "Severity",
    by_dataset("How much does corruption of the picture cost?", SEVERITY_TEXT, _severity_blocks, opened=1),
)
