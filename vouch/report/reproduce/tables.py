"""The table that most papers have most of: models by datasets, for one or several measures."""

from collections.abc import Mapping, Sequence

from vouch.report import formatting
from vouch.report.reproduce.entry import Absent, Built
from vouch.report.reproduce.lookup import MEAN, Lookup, Measure, columns, own, with_mean
from vouch.report.reproduce.pivot import Key, Layout, Print, pivot


def rows(lookup: Lookup, models: Mapping[str, str]) -> dict[str, str]:
    """The paper's models that are here, by its names and in its order, then all others, best first."""
    first = {name: label for name, label in models.items() if name in lookup.order}
    return first | {name: name for name in lookup.order if name not in first}


def by_dataset(
    lookup: Lookup,
    name: str,
    caption: str,
    measures: Sequence[Measure],
    names: Mapping[str, str],
    models: Mapping[str, str] | None = None,
    prints: Mapping[Key, Print] | None = None,
    ranked: bool = False,
) -> Built:
    """Measures by dataset, with the mean over the paper's own datasets, or over all where there is none.

    names: the paper's datasets to its labels. models: its models to its names. prints: published cells;
    those of the mean count where all of the paper's datasets are here.
    """
    datasets = lookup.evidence.datasets
    frame = lookup.long(measures, datasets)
    asked = set(frame["dataset"])
    over = tuple(dataset for dataset in own(datasets, names) if dataset in asked)
    whole = {names.get(dataset) for dataset in over} == set(names.values())
    cells = {key: found for key, found in (prints or {}).items() if whole or key[2] != MEAN}
    layout = Layout(
        name,
        caption,
        measures,
        rows(lookup, models or {}),
        columns(datasets, names) | {MEAN: MEAN},
        peers=tuple(models or ()),
        prints=cells,
        help={MEAN: f"mean over {formatting.listed(over, 9)}"},
        ranked=ranked,
    )
    return pivot(with_mean(frame, over), layout)


def joined(*parts: Built) -> Built:
    """Several results as one. Raises Absent where there is none."""
    if not parts:
        raise Absent("nothing of it was measured")
    return Built(
        [grid for part in parts for grid in part.grids],
        [drawing for part in parts for drawing in part.drawings],
        [said for part in parts for said in part.sentences],
    )
