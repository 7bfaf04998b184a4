"""The first page: which model is best and where, what to know of it first, and what nobody can tell."""

from collections.abc import Sequence
from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.cards import Card, summary_cards, worst_first
from vouch.report.caveats import left_out
from vouch.report.claims import (
    added_options,
    added_shares,
    detectable_effect,
    is_sole_leader,
    leaders,
    preferred,
    significantly_worse,
    why_no_leader,
    without_picture,
)
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM
from vouch.report.page import Page, PageSection
from vouch.report.table import MISSING, Cell, Column, Grid, Measured, cells, percent
from vouch.tables.asked import LETTERS

MEASURES = (
    Measured("accuracy", help="of the first of them"),
    Measured("coverage", "lac", "Coverage %", "share of its LAC sets that contain the answer"),
    Measured("set_size", "lac", "Set size", "mean number of options in its LAC sets"),
)


@dataclass(frozen=True)
class Verdict:
    """headline: one sentence. because: its grounds. added: options that templates add. warnings: models
    that it leaves out. grid: the same per dataset. dataset: of the figure."""

    headline: str
    because: str
    added: str
    warnings: Sequence[str]
    cards: tuple[Card, ...]
    grid: Grid
    scope: str
    dataset: str


def build_verdict(evidence: Evidence) -> Verdict:
    """The verdict over all datasets."""
    datasets = evidence.datasets
    answers = sum(len(evidence.plain_outcomes(dataset)) for dataset in datasets)
    scope = [
        formatting.plural(len(evidence.all_models), "model"),
        formatting.plural(len(datasets), "dataset"),
    ]
    if answers:
        scope.append(formatting.plural(answers, "answer"))
    model = preferred(evidence)
    where = next((name for name in datasets if model in leaders(evidence, name)), datasets[0])
    return Verdict(
        headline=_headline(evidence, model),
        because=_because(evidence, where),
        added=added(evidence),
        warnings=left_out(evidence, datasets),
        cards=summary_cards(evidence, model, where),
        grid=_grid(evidence),
        scope=" · ".join(scope),
        dataset=worst_first(evidence)[0],
    )


VERDICT_SECTION = PageSection("verdict", "Verdict", build_verdict)


def _headline(evidence: Evidence, model: str | None) -> str:
    """Where the preferred model is best, alone or tied, and the datasets of which that cannot be said."""
    names = evidence.all_models
    mute = [name for name in evidence.datasets if not evidence.candidates(name)]
    small = [name for name in evidence.datasets if evidence.is_small(name) and name not in mute]
    led = [name for name in evidence.large if leaders(evidence, name)]
    guessing = [name for name in evidence.large if name not in led]
    who = "no model" if len(names) > 1 else names[0]
    said = []
    if mute:
        by_letters = evidence.outputs(mute[0])[0] == LETTERS
        does = "answers by letters" if by_letters else "gives answers that can be read"
        does_not = "does not answer by letters" if by_letters else "gives answers that cannot be read"
        said.append(f"{who} {does if len(names) > 1 else does_not}{_on(mute)}")
    if guessing:
        is_shown = "is shown" if len(names) > 1 else "is not shown"
        said.append(f"{who} {is_shown} to be better than a guess{_on(guessing)}")
    if small:
        why = f": {detectable_effect(evidence, small[0])}" if len(small) == 1 else ""
        said.append(
            f"{formatting.listed(small, 3)} {'is' if len(small) == 1 else 'are'} too small to tell{why}"
        )
    text = "; ".join([*_praise(evidence, model, led), *said]) + "."
    return f"N{text[1:]}" if text.startswith("no model ") else text


def _praise(evidence: Evidence, model: str | None, led: list[str]) -> list[str]:
    """What is good about the preferred model, and where others are; nothing without one."""
    if model is None:
        return []
    mine = [name for name in led if model in leaders(evidence, name)]
    lone = [name for name in mine if len(evidence.candidates(name)) == 1]
    best = [name for name in mine if is_sole_leader(evidence, model, name)]
    found = {
        "best": [name for name in best if name not in lone],
        "tied for best": [name for name in mine if name not in best],
        "better than a guess": lone,
    }
    common = [each for each in leaders(evidence, led[0]) if all(each in leaders(evidence, d) for d in led)]
    if not best and len(common) > 1:
        return [f"No model stands out{_on(led)}: {formatting.listed(common)} are tied"]
    others = [name for name in led if name not in mine]
    said = f"{model} is {', '.join(f'{what}{_on(names)}' for what, names in found.items() if names)}"
    return [said, f"others lead{_on(others)}"] if others else [said]


def added(evidence: Evidence) -> str:
    """Which datasets the prompt template gave further options, and how often these are chosen; or nothing."""
    with_them = [name for name in evidence.datasets if added_options(evidence, name)]
    if not with_them:
        return ""
    said = []
    for name in with_them:
        asked = [
            ("", evidence.variations(name)[0]),
            (" without the picture", without_picture(evidence, name)),
        ]
        found = [(words, added_shares(evidence, name, variation)) for words, variation in asked]
        percents = [([100 * sum(each) for each in of.values()], words) for words, of in found if of]
        told = " and ".join(f"{_extremes(each)}{words}" for each, words in percents)
        said.append((-max(max(each) for each, _ in percents), f"{told} on {name}"))
    what = formatting.listed(
        list(dict.fromkeys(o for name in with_them for o in added_options(evidence, name)))
    )
    more = f"; less on {len(said) - 3} more" if len(said) > 3 else ""
    return (
        f"The prompt template adds {what} to the options of {formatting.listed(with_them, 3)}. By model, "
        f"they are chosen in {'; '.join(text for _, text in sorted(said)[:3])}{more}."
    )


def _extremes(percents: Sequence[float]) -> str:
    low, high = (formatting.number(end, 1) for end in (min(percents), max(percents)))
    return f"{low if low == high else f'{low}–{high}'}{formatting.NARROW}%"


def _on(datasets: list[str]) -> str:
    return f" on {formatting.listed(datasets, 3)}"


def _because(evidence: Evidence, dataset: str) -> str:
    """What the best model of a dataset does beside a guess; of no model by name where none leads."""
    every = evidence.numbers(dataset, "accuracy")
    found = {model: every[model] for model in evidence.candidates(dataset) if model in every}
    if not found:
        return ""
    best = next(iter(leaders(evidence, dataset)), "")
    if best or len(found) == 1:
        model, number = (best, found[best]) if best else next(iter(found.items()))
        who, share = f"{model} answers", formatting.percent(number.value)
        if number.low is not None and number.high is not None:
            share += f" (95{formatting.NARROW}% interval {formatting.span(number.low, number.high, 1, 100)})"
    else:
        values = [number.value for number in found.values()]
        who = f"{len(found)} models answer"
        share = f"{formatting.span(min(values), max(values), 1, 100)}{formatting.NARROW}%"
    said = f"On {dataset}, {who} {share} of the questions right"
    if evidence.chance(dataset):
        said += f"; guessing gives {formatting.percent(evidence.chance(dataset), 0)}"
    return f"{said}{_follower(evidence, dataset) if best else ''}."


def _follower(evidence: Evidence, dataset: str) -> str:
    """How far behind the best of the worse models is; what two models must differ by where all are alike."""
    first, worse = leaders(evidence, dataset)[0], significantly_worse(evidence, dataset)
    pair = evidence.comparisons.pair(dataset, first, worse[0]) if worse else None
    if pair is not None:
        gap = f"{formatting.number(100 * pair.difference, 1)} points"
        return f"; {worse[0]} is {gap} behind{formatting.bracketed(pair.low, pair.high, 1, 100)}"
    effect = evidence.comparisons.minimum_detectable_effect(dataset)
    return (
        f"; two models are told apart from {formatting.number(100 * effect, 0)} points on" if effect else ""
    )


def _grid(evidence: Evidence) -> Grid:
    columns = (
        Column("Dataset"),
        Column("Best, with ties", "the most accurate model, and those that cannot be told from it"),
        *(each.column for each in MEASURES[:1]),
        Column("Guess %", "accuracy of a guess among the options", True),
        *(each.column for each in MEASURES[1:]),
        Column("Questions", f"with fewer than {MINIMUM} independent ones nothing is named", True),
        Column(
            "Minimum detectable effect",
            f"points of accuracy, median over the pairs of models, 80{formatting.NARROW}% power, corrected "
            "for the number of pairs",
            True,
        ),
    )
    rows = []
    for dataset in evidence.datasets:
        first = leaders(evidence, dataset)[:1]
        accuracy, *of_sets = (each.cell(evidence, dataset, *first) if first else MISSING for each in MEASURES)
        chance = percent(evidence.chance(dataset) or None)
        effect = (
            MISSING
            if evidence.is_small(dataset)
            else percent(evidence.comparisons.minimum_detectable_effect(dataset))
        )
        rows.append(
            cells(
                dataset,
                _best(evidence, dataset),
                accuracy,
                chance,
                *of_sets,
                evidence.questions(dataset),
                effect,
            )
        )
    return Grid("verdicts", "The verdict on each dataset", columns, rows)


def _best(evidence: Evidence, dataset: str) -> Cell:
    """The leaders, and how many others are not shown to be worse; else why there are none."""
    names = leaders(evidence, dataset)
    if not names:
        return Cell(why_no_leader(evidence, dataset), tone="quiet")
    rest = len(evidence.candidates(dataset)) - len(names) - len(significantly_worse(evidence, dataset))
    return Cell(formatting.listed(names), f"and {rest} that may be no worse" if rest else "")


PAGE = Page(
    "index",
    "Verdict",
    "Which model is best, where that holds and where nobody can tell, and what to know of it first.",
    place=10,
    sections=(VERDICT_SECTION,),
)
