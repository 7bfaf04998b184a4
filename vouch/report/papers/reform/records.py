"""Tables 2 and 5 to 8: what is on record of datasets and models."""

from collections.abc import Mapping, Sequence

from vouch.report import formatting
from vouch.report.papers.reform.answers import means
from vouch.report.papers.reform.names import COGNITION, MODELS, NO_SETS, OUTPUT_NAMES, PERCEPTION, SUFFIX
from vouch.report.reproduce.entry import Absent, Built
from vouch.report.reproduce.lookup import MEAN, Lookup, Measure
from vouch.report.reproduce.pivot import Layout, pivot
from vouch.report.reproduce.tables import rows
from vouch.report.table import MISSING, Cell, Column, Grid, whole


def statistics(number: str, sets: Sequence[str], others: bool, lookup: Lookup) -> Built:
    """How many questions, pictures and options a dataset has; that of table 5 takes what is in neither."""
    items = lookup.evidence.items
    body = []
    for dataset in lookup.evidence.datasets:
        name = dataset.removesuffix(SUFFIX)
        known = name in PERCEPTION or name in COGNITION
        here = items[items["dataset"] == dataset]
        if here.empty or not (name in sets or (others and not known)):
            continue
        options = here["options"].map(len)
        groups = here["category"].nunique()
        body.append(
            (
                Cell(dataset),
                Cell(
                    here["category"].iloc[0]
                    if groups == 1
                    else formatting.plural(groups, "category", "categories")
                ),
                whole(len(here)),
                whole(here["images"].explode().nunique()),
                Cell(formatting.number(options[options > 0].mean(), 2), key=float(options.mean()))
                if (options > 0).any()
                else MISSING,
            )
        )
    if not body:
        raise Absent(NO_SETS)
    heads = (
        Column("Dataset"),
        Column("Dimension"),
        Column("Questions", "", True),
        Column("Pictures", "different ones", True),
        Column("Options", "mean number, of questions that have them", True),
    )
    return Built((Grid(f"reform-table-{number}", f"Table {number}: the datasets", heads, body),))


def known(number: str, title: str, keys: Mapping[str, str], lookup: Lookup) -> Built:
    """What is on record of the models: a row for each of which any of the keys is known."""
    facts = lookup.evidence.facts
    body = []
    for name, label in rows(lookup, MODELS).items():
        values = [facts.get(name, {}).get(key) for key in keys]
        if any(value is not None for value in values):
            body.append((Cell(label, "" if label == name else name), *(_fact(value) for value in values)))
    if not body:
        raise Absent("nothing of it is on record in models.lock for the models here")
    heads = (Column("Model"), *(Column(label) for label in keys.values()))
    return Built((Grid(f"reform-table-{number}", f"Table {number}: {title}", heads, body),))


def _fact(value: object) -> Cell:
    if value is None:
        return MISSING
    if isinstance(value, list):
        return Cell(", ".join(map(str, value)))
    return Cell(formatting.count(value), key=float(value)) if isinstance(value, int) else Cell(str(value))


def modules(lookup: Lookup) -> Built:
    """Table 2: models that share encoder and connector together."""
    facts = lookup.evidence.facts
    frame = means(lookup)
    parts = frame["model"].map(
        lambda name: " + ".join(
            str(facts.get(name, {}).get(key) or "?") for key in ("vision_encoder", "connector")
        )
    )
    frame = frame.assign(row=parts)[~parts.str.contains("?", regex=False)]
    if frame["row"].nunique() < 2:
        raise Absent("vision encoder and connector of fewer than two kinds of models are on record")
    mean = frame.groupby(["measure", "row"], as_index=False)["value"].mean().assign(dataset=MEAN)
    measures = [Measure(noun.capitalize(), "accuracy") for noun in OUTPUT_NAMES.values()]
    layout = Layout(
        "reform-table-2",
        "Table 2: mean accuracy by vision encoder and connector",
        measures,
        {name: name for name in sorted(set(mean["row"]))},
        {MEAN: MEAN},
        row="Encoder + connector",
        ranked=False,
    )
    return pivot(mean, layout, row="row")
