"""Figures of sampled texts beside those of greedy ones, and which of them a published one stands beside."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from vouch.report.reproduce.lookup import Measure
from vouch.report.reproduce.pivot import Key, Print
from vouch.tables.prompts import TEXT

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
