"""Figures 2 and A6: what follows from accuracy and certainty alone."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from vouch.report import formatting
from vouch.report.reproduce import charts
from vouch.report.reproduce.entry import Built, figure
from vouch.report.reproduce.lookup import Lookup
from vouch.tables.prompts import ORIGINAL


def _reliability(accuracy: np.ndarray, certainty: np.ndarray, random: float) -> np.ndarray:
    """(2 a^m - 1) c with m = log 2 / log(1 / random), equation 3 and its calibration."""
    return np.asarray((2 * accuracy ** (np.log(2) / np.log(1 / random)) - 1) * certainty)


def _plane() -> tuple[np.ndarray, np.ndarray]:
    steps = np.round(np.linspace(0, 1, 11), 1)
    accuracy, certainty = np.meshgrid(steps, steps)
    return accuracy.ravel(), certainty.ravel()


def _surface(number: str, title: str, said: str, planes: Mapping[str, np.ndarray]) -> Built:
    accuracy, certainty = _plane()
    parts = [
        pd.DataFrame({"x": accuracy, "y": certainty, "value": np.round(value, 3), "panel": panel})
        for panel, value in planes.items()
    ]
    chart = charts.surface(pd.concat(parts, ignore_index=True), "Accuracy", "Certainty")
    return figure(number, title, said, chart)


def mapping(lookup: Lookup) -> Built:
    """Figure 2: for a guess among two options, and for the least likely guess of the datasets here."""
    guess = lookup.rows("random_accuracy")
    known = guess.loc[(guess["variation"] == ORIGINAL) & (guess["value"] > 0), "value"]
    least = round(float(known.min()), 2) if len(known) else 0.27
    accuracy, certainty = _plane()
    planes = {
        f"guess {formatting.number(random, 2)}": _reliability(accuracy, certainty, random)
        for random in dict.fromkeys((0.5, least if least < 0.5 else 0.27))
    }
    said = "Reliability is 1 for certain and right, −1 for certain and wrong, 0 for uncertain or guessing."
    return _surface("2", "from accuracy and certainty to reliability", said, planes)


def against_uacc(_: Lookup) -> Built:
    """Figure A6: beside UAcc over its greatest value, of 4 and of 16 options."""
    accuracy, certainty = _plane()
    planes = {"Reliability, guess 0.50": _reliability(accuracy, certainty, 0.5)}
    for options in (4, 16):
        size = 1 + (1 - certainty) * (options - 1)
        planes[f"UAcc / {formatting.number(options**0.5, 0)}, {options} options"] = accuracy / size
    said = "UAcc, a share of the most it can be, is never negative and depends on the number of options."
    return _surface("A6", "reliability and UAcc", said, planes)
