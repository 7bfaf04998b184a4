"""What the paper printed in the cells of our tables, of sampled texts where its authors sampled."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from vouch.report.papers.reform.names import BY_LABEL, MODELS, OUTPUT_NAMES, SETS
from vouch.report.reproduce import printed
from vouch.report.reproduce.lookup import Lookup, Measure
from vouch.report.reproduce.pivot import Key, Print
from vouch.tables.compared import OVERALL
from vouch.tables.prompts import TEXT

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


SCORE = "first_t0.2"
"""Of the first sample of each test at the authors' temperature."""
SEARCHED = (
    *("blip2_flan_t5_xl", "instructblip_flan_t5_xl", "instructblip_vicuna_7b", "bliva", "lynx"),
    "shikra",
)
"""Models from which the authors' code draws nothing: it takes the best of several beams, of Shikra of one."""


def with_sampled(measures: Sequence[Measure]) -> tuple[Measure, ...]:
    """The measures, and behind them those of generated texts once more, of the first samples."""
    return (*measures, *(_twin(measure) for measure in measures if measure.output == TEXT))


def _twin(measure: Measure) -> Measure:
    return replace(measure, label=f"{measure.label}, sampled", score=SCORE)


def beside(prints: Mapping[Key, Print], frame: pd.DataFrame, measures: Sequence[Measure]) -> dict[Key, Print]:
    """Published cells at the measure that is made as they were: that of samples, for models that sample.

    prints: by the place among the measures of greedy texts. frame: rows that are shown; where it has no
    figure of samples, the cell stays. measures: as `with_sampled` gives them.
    """
    places = {measure: place for place, measure in enumerate(measures)}
    held = set(zip(frame["measure"], frame["model"], frame["dataset"], strict=True))
    found = {}
    for (place, model, dataset), cell in prints.items():
        there = (places.get(_twin(measures[place]), place), model, dataset)
        found[there if there in held and model not in SEARCHED else (place, model, dataset)] = cell
    return found
