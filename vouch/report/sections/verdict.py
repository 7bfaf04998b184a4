"""The verdict in words: which model to trust, how certain that is, and where to be careful."""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.left_out import left_out
from vouch.report.summary_cards import Card, summary_cards
from vouch.report.table import MISSING, Column, Grid, Measured, cells, percent
from vouch.tables.prompts import LETTERS

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
    # The summary cards speak of the model that leads everywhere, else of the best on the first dataset.
    first = evidence.judged[0]
    lead = next(iter(_common(evidence)), evidence.shown(first))
    because = [_because(evidence, first)]
    small = [name for name in datasets if name not in evidence.judged and evidence.candidates(name)]
    if small:
        because.append(f"Too small to judge by: {formatting.listed(small, 3)}.")
    because += left_out(evidence, datasets)
    return Verdict(
        headline=_headline(evidence),
        because=" ".join(filter(None, because)),
        cards=summary_cards(evidence, lead, first) if evidence.leaders(first) else (),
        grid=_grid(evidence) if len(datasets) > 1 else None,
        scope=" · ".join(scope),
    )


def _common(evidence: Evidence) -> list[str]:
    """Models that lead on every dataset, in the order of the first."""
    first, *rest = evidence.judged
    return [m for m in evidence.leaders(first) if all(m in evidence.leaders(d) for d in rest)]


def _able(evidence: Evidence, dataset: str) -> bool:
    """Whether the best model is significantly better than a guess."""
    best = evidence.number(dataset, evidence.shown(dataset), "accuracy")
    return best is not None and best.ends[0] > evidence.chance(dataset)


def _headline(evidence: Evidence) -> str:
    names = evidence.all_models
    if not any(evidence.leaders(dataset) for dataset in evidence.judged):
        if any(evidence.outputs(dataset)[0] != LETTERS for dataset in evidence.judged):
            return "No verdict: too many answers could not be read."
        who = f"{names[0]} does not answer" if len(names) == 1 else "no model answers"
        return f"No verdict: {who} by letters."
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
    best = evidence.number(dataset, leaders[0], "accuracy") if leaders else None
    if best is None:
        return ""
    said = f"On {dataset}, {leaders[0]} answers {formatting.percent(best.value)} of the questions right"
    if best.low is not None and best.high is not None:
        said += f" (95{formatting.NARROW}% interval {formatting.span(best.low, best.high, 1, 100)})"
    if evidence.chance(dataset):
        said += f"; guessing gives {formatting.percent(evidence.chance(dataset), 0)}"
    return f"{said}{_follower(evidence, dataset)}."


def _follower(evidence: Evidence, dataset: str) -> str:
    """How far behind the best of the significantly worse models is."""
    leaders = evidence.leaders(dataset)
    rest = [model for model in evidence.candidates(dataset) if model not in leaders]
    if not rest:
        return ""
    which = "the next model" if len(leaders) == 1 else "the best of the significantly worse models"
    pair = evidence.pair(dataset, leaders[0], rest[0])
    if pair is None:
        return f"; {which}, {rest[0]}, is behind"
    gap = f"{formatting.number(100 * pair.difference, 1)} points"
    return f"; {which}, {rest[0]}, is {gap} behind{formatting.bracketed(pair.low, pair.high, 1, 100)}"


def _grid(evidence: Evidence) -> Grid:
    measures = (
        Measured("accuracy", help="of the first of them"),
        Measured("coverage", "lac", "Coverage %", "share of its LAC sets that contain the answer"),
        Measured("set_size", "lac", "Set size", "mean number of options in its LAC sets"),
    )
    columns = (
        Column("Dataset"),
        Column("Trust", "the most accurate model, and those not significantly worse"),
        *(each.column for each in measures),
        Column(
            "Minimum detectable effect",
            f"points of accuracy, median over the pairs of models, 80{formatting.NARROW}% power",
            True,
        ),
    )
    rows = []
    for dataset in evidence.datasets:
        leaders = evidence.leaders(dataset)
        numbers = (each.cell(evidence, dataset, leaders[0]) if leaders else MISSING for each in measures)
        effect = percent(evidence.minimum_detectable_effect(dataset))
        rows.append(cells(dataset, formatting.listed(leaders) if leaders else MISSING, *numbers, effect))
    return Grid("verdicts", "The verdict on each dataset", columns, rows)
