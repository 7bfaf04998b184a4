"""The first page: which model is best and on which datasets, its most important news, and open questions."""

from collections.abc import Sequence
from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.cards import Card, summary_cards, worst_first
from vouch.report.caveats import left_out
from vouch.report.claims import (
    above_chance,
    added_options,
    added_shares,
    baselines,
    detectable_effect,
    doubts,
    is_sole_leader,
    leaders,
    only_blind,
    preferred,
    significantly_worse,
    why_no_leader,
    without_image,
)
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM, headline_columns
from vouch.report.page import Page, PageSection
from vouch.report.table import MISSING, Cell, Column, Grid, Measured, cells, percent
from vouch.tables.asked import LETTERS

_WORDS = {
    "accuracy": ("", "of the first of these models"),
    "coverage": ("Coverage %", "share of its LAC sets that contain the correct answer"),
    "set_size": ("Set size", "mean number of options in its LAC sets"),
}
MEASURES = tuple(Measured(metric, score, *_WORDS[metric]) for metric, score in headline_columns(1))


BY_TEXT = Column(
    "Blind %",
    "accuracy of the best language model, which takes no images, on the questions with an image",
    True,
)


@dataclass(frozen=True)
class Verdict:
    """headline: one sentence. because: the reason. added: about options that templates add. warnings: about
    models that are left out. grid: a row per dataset. dataset: that of the figure."""

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
    seeing = _seeing(evidence)
    language_models = len(evidence.all_models) - len(seeing)
    scope = [
        *([formatting.plural(len(seeing), "model")] if seeing else []),
        *([formatting.plural(language_models, "language model")] if language_models else []),
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


VERDICT_SECTION = PageSection("verdict", "Verdict", build_verdict, page="index", place=10)


def _headline(evidence: Evidence, model: str | None) -> str:
    """The datasets on which the preferred model is best, alone or tied, and those on which no model is."""
    unasked = [name for name in evidence.datasets if only_blind(evidence, name)]
    mute = [name for name in evidence.datasets if not evidence.candidates(name) and name not in unasked]
    small = [name for name in evidence.datasets if evidence.is_small(name) and name not in (*mute, *unasked)]
    led = [name for name in evidence.large if leaders(evidence, name)]
    unseeing = [name for name in evidence.large if name not in led and above_chance(evidence, name)]
    guessing = [name for name in evidence.large if name not in (*led, *unseeing)]
    names = _seeing(evidence)
    who = names[0] if len(names) == 1 else "no model"
    others = []
    if mute:
        by_letters = evidence.outputs(mute[0])[0] == LETTERS
        does = "answers with letters" if by_letters else "gives readable answers"
        does_not = "does not answer with letters" if by_letters else "does not give readable answers"
        others.append(f"{who} {does if who == 'no model' else does_not}{_on(mute)}")
    is_shown = "is shown" if who == "no model" else "is not shown"
    if unseeing:
        others.append(f"{who} {is_shown} to use the image{_on(unseeing)}")
    if guessing:
        others.append(f"{who} {is_shown} to beat guessing{_on(guessing)}")
    if unasked:
        others.append(f"only language models were asked{_on(unasked)}")
    if small:
        why = f": {detectable_effect(evidence, small[0])}" if len(small) == 1 else ""
        others.append(
            f"{formatting.listed(small, 3)} {'is' if len(small) == 1 else 'are'} too small to tell{why}"
        )
    text = "; ".join([*_praise(evidence, model, led), *others]) + "."
    return f"{text[0].upper()}{text[1:]}" if text.startswith(("no model ", "only ")) else text


def _seeing(evidence: Evidence) -> list[str]:
    """The models that are no blind baseline on some dataset."""
    return [
        model
        for model in evidence.all_models
        if any(model in evidence.models(d) and not evidence.is_blind(d, model) for d in evidence.datasets)
    ]


def _praise(evidence: Evidence, model: str | None, led: list[str]) -> list[str]:
    """Where the preferred model is best, and where others lead; nothing if no model is preferred."""
    if model is None:
        return []
    mine = [name for name in led if model in leaders(evidence, name)]
    lone = [name for name in mine if len(evidence.candidates(name)) == 1]
    best = [name for name in mine if is_sole_leader(evidence, model, name)]
    where = {
        "best": [name for name in best if name not in lone],
        "tied for best": [name for name in mine if name not in best],
        "better than guessing": lone,
    }
    common = [each for each in leaders(evidence, led[0]) if all(each in leaders(evidence, d) for d in led)]
    if not best and len(common) > 1:
        return [f"No model stands out{_on(led)}: {formatting.listed(common)} are tied"]
    others = [name for name in led if name not in mine]
    praise = f"{model} is {', '.join(f'{what}{_on(names)}' for what, names in where.items() if names)}"
    return [praise, f"others lead{_on(others)}"] if others else [praise]


def added(evidence: Evidence) -> str:
    """The datasets with options added by the prompt template, and how often these are chosen; or nothing."""
    with_them = [name for name in evidence.datasets if added_options(evidence, name)]
    if not with_them:
        return ""
    shares = []
    for name in with_them:
        asked = [("", evidence.variations(name)[0]), (" without the image", without_image(evidence, name))]
        found = [(words, added_shares(evidence, name, variation)) for words, variation in asked]
        percents = [([100 * sum(each) for each in of.values()], words) for words, of in found if of]
        text = " and ".join(f"{_extremes(each)}{words}" for each, words in percents)
        shares.append((-max(max(each) for each, _ in percents), f"{text} on {name}"))
    what = formatting.listed(
        list(dict.fromkeys(o for name in with_them for o in added_options(evidence, name)))
    )
    rest = len(shares) - 3
    more = f"; less on {formatting.plural(rest, 'more dataset')}" if rest > 0 else ""
    return (
        f"The prompt template adds {what} to the options of {formatting.listed(with_them, 3)}. Models choose "
        f"them for {'; '.join(text for _, text in sorted(shares)[:3])}{more}."
    )


def _extremes(percents: Sequence[float]) -> str:
    low, high = (formatting.number(end, 1) for end in (min(percents), max(percents)))
    return f"{low if low == high else f'{low}–{high}'}{formatting.NARROW}%"


def _on(datasets: list[str]) -> str:
    return f" on {formatting.listed(datasets, 3)}"


def _because(evidence: Evidence, dataset: str) -> str:
    """The accuracy of the best model of a dataset and of guessing; without a name if no model leads, but for
    why the most accurate one does not."""
    every = evidence.numbers(dataset, "accuracy")
    known = {model: every[model] for model in evidence.candidates(dataset) if model in every}
    if not known:
        return ""
    best = next(iter(leaders(evidence, dataset)), "")
    if best or len(known) == 1:
        model, number = (best, known[best]) if best else next(iter(known.items()))
        who, share = f"{model} answers", formatting.percent(number.value)
        if number.low is not None and number.high is not None:
            share += f" (95{formatting.NARROW}% interval {formatting.span(number.low, number.high, 1, 100)})"
    else:
        values = [number.value for number in known.values()]
        who = f"{len(known)} models answer"
        least, most = (formatting.percent(end) for end in (min(values), max(values)))
        between = f"{formatting.span(min(values), max(values), 1, 100)}{formatting.NARROW}%"
        share = least if least == most else between
    bare = evidence.without_image(dataset)
    total = formatting.count(int((evidence.items["dataset"] == dataset).sum()))
    which = f"the {total} questions ({bare})" if bare else "the questions"
    text = f"On {dataset}, {who} {share} of {which} correctly"
    if evidence.chance(dataset):
        text += f"; guessing gives {formatting.percent(evidence.chance(dataset), 0)}"
    if best:
        return f"{text}{_follower(evidence, dataset)}."
    first = next(iter(above_chance(evidence, dataset)), "")
    why = doubts(evidence, dataset, first) if first else ""
    return f"{text}. {first} {why}." if why else f"{text}."


def _follower(evidence: Evidence, dataset: str) -> str:
    """How far behind the next worse model is; if none is worse, the smallest difference that could show."""
    first, worse = leaders(evidence, dataset)[0], significantly_worse(evidence, dataset)
    pair = evidence.comparisons.pair(dataset, first, worse[0]) if worse else None
    if pair is not None and pair.difference > 0:
        gap = f"{formatting.number(100 * pair.difference, 1)} points"
        return f"; {worse[0]} is {gap} behind{formatting.bracketed(pair.low, pair.high, 1, 100)}"
    effect = evidence.comparisons.minimum_detectable_effect(dataset)
    return (
        f"; it takes {formatting.number(100 * effect, 0)} points to tell two models apart" if effect else ""
    )


def _grid(evidence: Evidence) -> Grid:
    by_text = bool(baselines(evidence))
    rows = [_row(evidence, dataset, by_text) for dataset in evidence.datasets]
    return Grid("verdicts", "The verdict on each dataset", _columns(by_text), rows)


def _columns(by_text: bool) -> tuple[Column, ...]:
    """by_text: whether a dataset has a blind baseline."""
    return (
        Column("Dataset"),
        Column("Best, with ties", "the most accurate model, and ties, of those that pass the image tests"),
        *(each.column for each in MEASURES[:1]),
        Column("Guess %", "accuracy of a guess among the options", True),
        *([BY_TEXT] if by_text else []),
        *(each.column for each in MEASURES[1:]),
        Column("Questions", f"with fewer than {MINIMUM} independent ones, no model is named", True),
        Column(
            "Minimum detectable effect",
            f"points of accuracy, median over the pairs of models, 80{formatting.NARROW}% power, corrected "
            "for the number of pairs",
            True,
        ),
    )


def _row(evidence: Evidence, dataset: str, by_text: bool) -> Sequence[Cell]:
    """The cells of `_columns`."""
    first = leaders(evidence, dataset)[:1]
    accuracy, *of_sets = (each.cell(evidence, dataset, *first) if first else MISSING for each in MEASURES)
    effect = evidence.comparisons.minimum_detectable_effect(dataset)
    return cells(
        dataset,
        _best(evidence, dataset),
        accuracy,
        percent(evidence.chance(dataset) or None),
        *([_of_text(evidence, dataset)] if by_text else []),
        *of_sets,
        Cell(
            formatting.count(evidence.questions(dataset)),
            evidence.without_image(dataset),
            evidence.questions(dataset),
        ),
        MISSING if evidence.is_small(dataset) else percent(effect),
    )


def _of_text(evidence: Evidence, dataset: str) -> Cell:
    """The accuracy of the best language model."""
    baseline = baselines(evidence).get(dataset)
    if baseline is None:
        return MISSING
    accuracy = baseline.accuracy["value"]
    return Cell(formatting.number(100 * accuracy, 1), baseline.model, accuracy)


def _best(evidence: Evidence, dataset: str) -> Cell:
    """The leaders, and how many others are not shown to be worse; if there are none, why."""
    names = leaders(evidence, dataset)
    if not names:
        return Cell(why_no_leader(evidence, dataset), tone="quiet")
    rest = len(evidence.candidates(dataset)) - len(names) - len(significantly_worse(evidence, dataset))
    return Cell(formatting.listed(names), f"and {rest} that may be as good" if rest else "")


PAGE = Page(
    "index",
    "Verdict",
    "Which model is best and where, where it is unclear, and what to know about the model first.",
    place=10,
)
