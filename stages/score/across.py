"""Metrics that compare variations of the same questions, as rows of the metrics table."""

from collections.abc import Sequence
from typing import Any

from stages.contracts.prompts import ORIGINAL
from stages.score.config import Config
from stages.score.debias import debiased
from stages.score.join import Block
from stages.score.prior import without_prior
from stages.score.readings import Figure
from stages.score.shift import shift_figures


def across_variations(
    model: str, dataset: str, blocks: Sequence[Block], config: Config
) -> list[dict[str, Any]]:
    """Rows of the clean reading from all blocks of one model, dataset and read-out."""
    named = {block.variation: block for block in blocks if len(block.responses)}
    found: list[tuple[str, Figure]] = []
    if ORIGINAL in named:
        for variation, block in named.items():
            if variation != ORIGINAL:
                found += [(variation, figure) for figure in shift_figures(named[ORIGINAL], block, config)]
    found += [figure for figure in (debiased(named), without_prior(named, config)) if figure]
    place = {"model": model, "dataset": dataset, "reading": "clean", "category": "all"}
    asks = {block.variation: block.ask for block in blocks}
    return [
        place | {"variation": variation, "ask": asks[variation]} | vars(figure) for variation, figure in found
    ]
