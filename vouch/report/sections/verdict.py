"""The verdict in words: which model to trust, how certain that is, and where to be careful."""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.summary_cards import Card, summary_cards
from vouch.report.table import Column, Grid, cells, figure, percent

TITLE = "Verdict"


@dataclass(frozen=True)
class Verdict:
    """headline: one sentence. because: what it rests on. grid: the same per dataset, if there are several."""

    headline: str
    because: str
    cards: tuple[Card, ...]
    grid: Grid | None
    scope: str


def build(evidence: Evidence) -> Verdict:
    """The verdict over all datasets."""
    datasets = evidence.datasets
    answers = sum(len(evidence.plain_outcomes(dataset)) for dataset in datasets)
    scope = [
        formatting.plural(len(evidence.all_models), "model"),
        formatting.plural(len(datasets), "dataset"),
    ]
    if answers:
        scope.append(formatting.plural(answers, "answer"))
    lead, dataset = _spokesman(evidence)
    return Verdict(
        headline=_headline(evidence),
        because=" ".join(
            filter(None, (*(_because(evidence, d) for d in evidence.judged[:1]), _left(evidence)))
        ),
        cards=summary_cards(evidence, lead, dataset),
        grid=_grid(evidence) if len(datasets) > 1 else None,
        scope=" · ".join(scope),
    )


def _common(evidence: Evidence) -> list[str]:
    """Models that lead on every dataset, in the order of the first."""
    first, *rest = evidence.judged
    return [m for m in evidence.leaders(first) if all(m in evidence.leaders(d) for d in rest)]


def _spokesman(evidence: Evidence) -> tuple[str, str]:
    """The model and the dataset that the summary cards speak of."""
    dataset = evidence.datasets[0]
    return (_common(evidence) or evidence.leaders(dataset))[0], dataset


def _able(evidence: Evidence, dataset: str) -> bool:
    """Whether the best model is significantly better than a guess."""
    best = evidence.number(dataset, evidence.models(dataset)[0], "accuracy")
    if best is None:
        return False
    return (best.value if best.low is None else best.low) > evidence.chance(dataset)


def _headline(evidence: Evidence) -> str:
    names = evidence.all_models
    if not any(_able(evidence, dataset) for dataset in evidence.judged):
        who = f"{names[0]} does no" if len(names) == 1 else "No model does"
        return f"{who} better than guessing."
    if len(names) == 1:
        return f"One model was asked: {names[0]}."
    common = _common(evidence)
    where = " on every dataset" if len(evidence.judged) > 1 else ""
    if not common:
        leads = [f"{formatting.listed(evidence.leaders(d), 2)} on {d}" for d in evidence.judged]
        return f"No model leads everywhere: {formatting.listed(leads, 3)}."
    if len(common) > 1:
        return f"No significant difference{where}: {formatting.listed(common, 3)}."
    alone = all(len(evidence.leaders(dataset)) == 1 for dataset in evidence.judged)
    return f"Trust {common[0]} first." if alone else f"Trust {common[0]} first: it is among the best{where}."


def _because(evidence: Evidence, dataset: str) -> str:
    leaders = evidence.leaders(dataset)
    best = evidence.number(dataset, leaders[0], "accuracy")
    if best is None:
        return ""
    said = f"On {dataset}, {leaders[0]} answers {formatting.percent(best.value)} of the questions right"
    if best.low is not None and best.high is not None:
        said += f" (95{formatting.NARROW}% interval {formatting.span(best.low, best.high, 1, 100)})"
    if evidence.chance(dataset):
        said += f"; guessing gives {formatting.percent(evidence.chance(dataset), 0)}"
    return f"{said}{_follower(evidence, dataset)}."


def _left(evidence: Evidence) -> str:
    """Names the datasets that the verdict does not rest on."""
    small = [name for name in evidence.datasets if name not in evidence.judged]
    return f"Too small to judge by: {formatting.listed(small, 3)}." if small else ""


def _follower(evidence: Evidence, dataset: str) -> str:
    """How far behind the best of the significantly worse models is."""
    leaders = evidence.leaders(dataset)
    rest = [model for model in evidence.models(dataset) if model not in leaders]
    if not rest:
        return ""
    which = "the next model" if len(leaders) == 1 else "the best of the significantly worse models"
    pair = evidence.pair(dataset, leaders[0], rest[0])
    if pair is None:
        return f"; {which}, {rest[0]}, is behind"
    gap = f"{formatting.number(100 * pair.difference, 1)} points"
    return f"; {which}, {rest[0]}, is {gap} behind{formatting.bracketed(pair.low, pair.high, 1, 100)}"


def _grid(evidence: Evidence) -> Grid:
    columns = (
        Column("Dataset"),
        Column("Trust", "the most accurate model, and those not significantly worse"),
        Column("Accuracy %", "of the first of them", True),
        Column("Coverage %", "share of its LAC sets that contain the answer", True),
        Column("Set size", "mean number of options in its LAC sets", True),
        Column(
            "Minimum detectable effect",
            f"points of accuracy, median over the pairs of models, 80{formatting.NARROW}% power",
            True,
        ),
    )
    rows = []
    for dataset in evidence.datasets:
        leaders = evidence.leaders(dataset)
        rows.append(
            cells(
                *(dataset, formatting.listed(leaders)),
                figure(evidence.number(dataset, leaders[0], "accuracy"), 1, 100),
                figure(evidence.number(dataset, leaders[0], "coverage", "lac"), 1, 100),
                figure(evidence.number(dataset, leaders[0], "set_size", "lac"), 2),
                percent(evidence.minimum_detectable_effect(dataset)),
            )
        )
    return Grid("verdicts", "The verdict on each dataset", columns, rows)
