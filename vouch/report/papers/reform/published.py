"""What the paper printed, in the cells of our tables."""

from collections.abc import Sequence

import pandas as pd

from vouch.report.papers.reform.names import BY_LABEL, MODELS, OUTPUT_NAMES, SETS
from vouch.report.reproduce import printed
from vouch.report.reproduce.lookup import Lookup
from vouch.report.reproduce.pivot import Key, Print
from vouch.tables.compared import OVERALL

DIMENSIONS = {"generation": 8, "likelihood": 6}
"""Of the benchmark, by output: scene text and captions have no options. Published means are over all."""


def cells(
    lookup: Lookup, output: str, columns: Sequence[str] = ("accuracy", "instability")
) -> dict[Key, Print]:
    """Published cells of tables 9 to 20. columns: of the file, one for each measure."""
    frame = lookup.evidence.printed.get("reform_tables")
    if frame is None:
        return {}
    found = {}
    for row in frame[frame["output"] == OUTPUT_NAMES[output]].to_dict("records"):
        for place, column in enumerate(columns):
            value = printed.cell(row[column])
            if value is not None:
                found[place, BY_LABEL[row["model"]], row["dataset"]] = value
    return found


def dimensions(lookup: Lookup, output: str, frame: pd.DataFrame) -> dict[Key, Print]:
    """Of the dimensions whose sets are all here, and of the means where all dimensions are."""
    whole = {
        row["dimension"] for row in frame.to_dict("records") if row["parts"] == SETS.get(row["dimension"])
    }
    found = {key: cell for key, cell in cells(lookup, output, ("accuracy",)).items() if key[2] in whole}
    noun = OUTPUT_NAMES[output]
    return found | (_ranks(lookup, noun) if len(whole) == DIMENSIONS[noun] else {})


def _ranks(lookup: Lookup, noun: str) -> dict[Key, Print]:
    """Means over all dimensions, and the mean ranks where just the paper's models are ranked."""
    table = lookup.evidence.printed.get("reform_ranks")
    if table is None:
        return {}
    columns = ("score", "rank") if set(lookup.order) == set(MODELS) else ("score",)
    return {
        (place, BY_LABEL[row["model"]], OVERALL): Print(row[f"{noun}_{column}"])
        for row in table.to_dict("records")
        for place, column in enumerate(columns)
    }


def hits(lookup: Lookup, number: str) -> dict[Key, Print]:
    """Of the one set that tables 3 and 21 have."""
    frame = lookup.evidence.printed.get("reform_hits")
    rows = () if frame is None else frame[frame["table"] == number].to_dict("records")
    return {
        (place, BY_LABEL[row["model"]], "vqa_v2"): Print(row[column])
        for row in rows
        for place, column in enumerate(("without", "with"))
    }
