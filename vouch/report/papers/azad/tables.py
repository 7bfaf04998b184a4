"""Tables 1 to 4 and 7."""

from collections.abc import Sequence
from dataclasses import replace

from vouch.report import formatting
from vouch.report.papers.azad.measures import DATASETS
from vouch.report.reproduce.entry import Absent, Built
from vouch.report.reproduce.lookup import Lookup, Measure, columns
from vouch.report.reproduce.tables import by_dataset
from vouch.report.table import Cell, Column, Grid, whole


def table(number: str, caption: str, measures: Sequence[Measure], lookup: Lookup) -> Built:
    """Tables 1 to 4; says which scores were not computed."""
    built = by_dataset(lookup, f"azad-table-{number}", f"Table {number}: {caption}", measures, DATASETS)
    lacking = [measure.label for measure in measures if lookup.of(measure).empty]
    said = []
    if lacking:
        said.append(f"{formatting.listed(lacking)} was not computed (score.scores).")
    clean = [measure.label for measure in measures if measure.only and measure.label not in lacking]
    if clean and len(clean) + len(lacking) < len(measures):
        said.append(
            f"{formatting.listed(clean)} is of the clean protocol: compare it with the small print of the "
            "others, which is, too."
        )
    return replace(built, sentences=said) if said else built


def counts(lookup: Lookup) -> Built:
    """Table 7, with the options of a question and how they are spread."""
    items = lookup.evidence.items
    printed = lookup.evidence.printed.get("azad_7")
    theirs = {} if printed is None else dict(zip(printed["dataset"], printed["questions"], strict=True))
    body = []
    for name, label in columns(lookup.evidence.datasets, DATASETS).items():
        here = items[items["dataset"] == name]
        if here.empty:
            continue
        options = here["options"].map(len)
        flagged = int((here["flags"].map(len) > 0).sum())
        many = str(options.min()) if options.min() == options.max() else f"{options.min()}–{options.max()}"
        said = (
            Cell(f"{int(theirs[name]):,}", key=float(theirs[name]))
            if name in theirs
            else Cell("–", tone="quiet")
        )
        body.append(
            (Cell(label, "" if label == name else name), whole(len(here)), said, Cell(many), whole(flagged))
        )
    if not body:
        raise Absent("no items of the datasets are known")
    heads = (
        Column("Dataset"),
        Column("Questions", "", True),
        Column("Published", "in the paper, rounded to tens", True),
        Column("Options", "of a question, without those that the style adds"),
        Column("Flagged", "by cleaning, left out of the clean protocol where broken", True),
    )
    return Built((Grid("azad-table-7", "Table 7: questions by dataset", heads, body),))
