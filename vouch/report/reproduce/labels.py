"""What the papers call datasets, and in which order."""

from collections.abc import Iterable, Mapping


def columns(datasets: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """Datasets with the label of a column: those of the paper first and in its order, others as they are."""
    here = list(datasets)
    first = {name: label for name, label in names.items() if name in here}
    return first | {name: name for name in here if name not in first}


def own(datasets: Iterable[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """The paper's own datasets that are here; all that are here where there is none of them."""
    here = tuple(datasets)
    return tuple(name for name in names if name in here) or here
