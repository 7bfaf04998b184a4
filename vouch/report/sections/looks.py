"""Whether models use the picture: what happens to their answers without it."""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.claims import picture_claims
from vouch.report.costs import variation_cell
from vouch.report.evidence import Evidence
from vouch.report.section import Block, by_dataset, said
from vouch.report.table import Column, Measured, TableSpec
from vouch.tables.asked import ORIGINAL

TITLE = "With and without the picture"
TEXT = Markup("""\
The same questions with the picture blank, left out, blurred or exchanged. <em>Image gain</em> is how much
log-likelihood the answer loses then, <em>image information</em> how much entropy the options gain. Image gain
is biased upwards where logits are noisy, since the answer is the option that scored best with the picture: it
describes, and the sentences rest on accuracy. What words alone say can be divided out of the confidence: the
last columns show whether that calibrates it better.""")
SHOWN = ("right_without_picture", "image_gain", "image_information", "ece_corrected")
TABLE = TableSpec(
    "looks",
    f"with and without the picture, clean protocol, 95{formatting.NARROW}% intervals in small print",
    (Column("Picture"), Column("Model")),
    (
        Measured("accuracy", label="Accuracy with %", help="with the picture", variation=ORIGINAL),
        Measured("accuracy", label="Accuracy without %", help="with the picture blank, left out or changed"),
        *map(Measured, SHOWN),
        Measured(
            "ece_gain",
            label="ECE, change",
            help="corrected minus plain confidence, in points; lower is better",
            points=True,
        ),
    ),
)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no picture was taken away or changed."""
    rows = [
        ((variation_cell(name), model), {"model": model, "variation": name})
        for name in evidence.variations(dataset)
        for model in evidence.numbers(dataset, "image_gain", variation=name)
    ]
    if not rows:
        return []
    return [*said(_sentences(evidence, dataset)), TABLE.grid(evidence, dataset, rows)]


def _sentences(evidence: Evidence, dataset: str) -> list[str]:
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


build = by_dataset("Do the models look at the picture?", TEXT, _blocks, opened=1)
