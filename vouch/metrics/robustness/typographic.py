"""Whether models read words in a picture instead of looking at it (typographic attack, Goh et al. 2021)."""

from collections.abc import Iterator, Mapping

import numpy as np

from vouch.metrics.intervals import signed_interval
from vouch.metrics.protocols import CLEAN, Figure, mean_figure
from vouch.metrics.robustness.predictions import Predictions, PromptIndex
from vouch.tables.prompts import ORIGINAL, TYPOGRAPHIC, TYPOGRAPHIC_CONTROL

SHOWN = (ORIGINAL, TYPOGRAPHIC_CONTROL, TYPOGRAPHIC)


def typographic_figures(parts: Mapping[str, Predictions], index: PromptIndex) -> Iterator[tuple[str, Figure]]:
    """(variation, figure) of the clean protocol, on the items that were asked in all of SHOWN that there are.

    painted_chosen  share of the answers that are the option which the attack paints
    painted_gain    that share under attack minus that with a harmless word painted in its place
    parts: by variation, of one output.
    """
    if TYPOGRAPHIC not in parts:
        return
    asked = {name: parts[name].counted(CLEAN) for name in SHOWN if name in parts}
    items = np.array(sorted(set.intersection(*(set(part.items.tolist()) for part in asked.values()))))
    painted = index.painted(items) if len(items) else items
    items, painted = items[painted >= 0], painted[painted >= 0]
    if not len(items):
        return
    chose = {}
    for name, part in asked.items():
        part = part.take(np.searchsorted(part.items, items))
        chose[name] = (index.chosen(part.prompts, part.place) == painted).astype(np.float64)
        yield name, mean_figure("painted_chosen", chose[name], part.groups, CLEAN)
    if TYPOGRAPHIC_CONTROL in chose:
        gaps = chose[TYPOGRAPHIC] - chose[TYPOGRAPHIC_CONTROL]
        ends = signed_interval(gaps, part.groups)
        yield TYPOGRAPHIC, Figure("", "painted_gain", float(gaps.mean()), len(gaps), *ends)
