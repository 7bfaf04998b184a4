"""Tables 4, 23 and 24: what a change of the prompt does to answers."""

from collections.abc import Sequence

from vouch.report.papers.reform.names import BY_LABEL, MODELS, SUFFIX
from vouch.report.papers.reform.published import beside, with_sampled
from vouch.report.reproduce.entry import Absent, Built
from vouch.report.reproduce.lookup import Lookup, Measure
from vouch.report.reproduce.pivot import Key, Layout, Print, pivot
from vouch.report.reproduce.tables import rows
from vouch.tables.prompts import LIKELIHOOD, TEXT

SHAKEN = (
    Measure(
        "Instruction", "instability", output=TEXT, variation="instruction", scale=1, digits=3, better="low"
    ),
    Measure("Order", "instability", output=TEXT, variation="shuffled", scale=1, digits=3, better="low"),
    Measure("Mark", "instability", output=TEXT, variation="marks", scale=1, digits=3, better="low"),
    Measure(
        "Likelihood, instruction",
        "instability",
        output=LIKELIHOOD,
        variation="instruction",
        scale=1,
        digits=3,
        better="low",
    ),
)
RANGES = (
    Measure("Generation", "accuracy_range", output=TEXT, variation="instruction", better="low"),
    Measure("Likelihood", "accuracy_range", output=LIKELIHOOD, variation="instruction", better="low"),
)


def shaken(
    number: str,
    title: str,
    measures: Sequence[Measure],
    columns: Sequence[str],
    average: bool,
    lookup: Lookup,
) -> Built:
    """Tables 4, 23 and 24. columns: the measures' names in the published file. average: over the models."""
    measures = with_sampled(measures)
    frame = lookup.long(measures)
    if frame.empty:
        raise Absent("needs the variations instruction, shuffled and marks")
    frame = frame.assign(dataset=frame["dataset"].str.removesuffix(SUFFIX))
    over = tuple(dict.fromkeys(frame["dataset"]))
    if average:
        frame = (
            frame.groupby(["measure", "dataset"], as_index=False)[["value", "clean"]]
            .mean()
            .assign(model="mean")
        )
    table = lookup.evidence.printed.get("reform_23_24")
    cells: dict[Key, Print] = {}
    if table is not None and not average:
        for row in table.to_dict("records"):
            for place, column in enumerate(columns):
                cells[place, BY_LABEL[row["model"]], "scienceqa"] = Print(row[column])
    layout = Layout(
        f"reform-table-{number}",
        f"Table {number}: {title}",
        measures,
        {"mean": "Mean over the models"} if average else rows(lookup, MODELS),
        {name: name for name in over},
        prints=beside(cells, frame, measures),
        ranked=False,
    )
    return pivot(frame, layout)
