"""Heat maps: one number of each model in each variation, coloured where it is not chance."""

from collections.abc import Callable, Sequence

from vouch.report.costs import variation_cell
from vouch.report.table import MISSING, Cell, Column, Grid, cells

STEPS = (0.03, 0.1, 0.2)
"""Where a colour becomes deeper: a difference of shares."""


def shade(difference: float) -> str:
    """The colour of a loss or a gain that is not chance."""
    return f"{'loss' if difference < 0 else 'gain'}-{1 + sum(abs(difference) >= step for step in STEPS)}"


def heat_map(
    name: str,
    caption: str,
    variations: Sequence[str],
    models: Sequence[str],
    cell: Callable[[str, str], tuple[Cell, int] | None],
) -> Grid | None:
    """A row for each variation, a column for each model.

    cell: of a model and a variation the number and how many questions it rests on; None where it was not
    measured. None where nothing was.
    """
    rows = []
    for variation in variations:
        found = [cell(model, variation) for model in models]
        counts = sorted({each[1] for each in found if each})
        if counts:
            items = Cell("–".join(f"{count:,}" for count in (*counts[:1], *counts[1:][-1:])), key=counts[-1])
            rows.append(
                cells(variation_cell(variation), items, *(each[0] if each else MISSING for each in found))
            )
    columns = (Column("Variation"), Column("Items", "", True), *(Column(model, "", True) for model in models))
    return Grid(name, caption, columns, rows, heat=True) if rows else None
