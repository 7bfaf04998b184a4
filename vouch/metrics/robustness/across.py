"""Metrics that compare variations of the same questions, as rows of the metrics table."""

from collections.abc import Sequence
from typing import Any

from vouch.metrics.calibration.debias import debiased
from vouch.metrics.calibration.prior import without_prior
from vouch.metrics.config import Config
from vouch.metrics.conformal.shift import shift_figures
from vouch.metrics.join import Block
from vouch.metrics.protocols import Figure
from vouch.tables.prompts import ORIGINAL


def across_variations(
    model: str, dataset: str, blocks: Sequence[Block], config: Config
) -> list[dict[str, Any]]:
    """Rows of the clean protocol from all blocks of one model, dataset and output."""
    named = {block.variation: block for block in blocks if len(block.responses)}
    found: list[tuple[str, Figure]] = []
    if ORIGINAL in named:
        for variation, block in named.items():
            if variation != ORIGINAL:
                found += [(variation, figure) for figure in shift_figures(named[ORIGINAL], block, config)]
    found += [figure for figure in (debiased(named), without_prior(named, config)) if figure]
    place = {"model": model, "dataset": dataset, "protocol": "clean", "category": "all"}
    outputs = {block.variation: block.output for block in blocks}
    return [
        place | {"variation": variation, "output": outputs[variation]} | vars(figure)
        for variation, figure in found
    ]
