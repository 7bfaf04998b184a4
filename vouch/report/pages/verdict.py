"""The first page: which model is best on one dataset, its most important news, and what holds elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.cards import Card, summary_cards
from vouch.report.caveats import left_out
from vouch.report.claims import (
    above_chance,
    added_options,
    added_shares,
    baselines,
    doubts,
    without_image,
)
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM, headline_columns
from vouch.report.leaders import (
    is_sole_leader,
    lead_dataset,
    lead_in_words,
    leaders,
    only_blind,
    preferred,
    significantly_worse,
    why_no_leader,
)
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
    """dataset: the one that the headline names, and that the cards and the figure are about. because: the
    reason of the headline. others: why this dataset was chosen, and the verdict on the others. added: about
    options that templates add. warnings: about models that are left out. grid: a row per dataset. scope: what
    was counted."""

    dataset: str
    headline: str
    because: str
    others: str
    added: str
    warnings: Sequence[str]
    cards: tuple[Card, ...]
    grid: Grid
    scope: str


def build_verdict(evidence: Evidence) -> Verdict:
    """The verdict over all datasets."""
    model, lead = preferred(evidence), lead_dataset(evidence)
    return Verdict(
        dataset=lead,
        headline=_sentence(_clauses(evidence, model, [lead])),
        because=_because(evidence, model, lead),
        others=_others(evidence, model, lead),
        added=added(evidence),
        warnings=left_out(evidence, evidence.datasets),
        cards=summary_cards(evidence, model, lead),
        grid=_grid(evidence),
        scope=_scope(evidence),
    )


VERDICT_SECTION = PageSection("verdict", "Verdict", build_verdict, page="index", place=10)


def _scope(evidence: Evidence) -> str:
    """`6 models · 5 datasets · 8,679 answers to the original prompts, one per model and question`."""
    seeing = _seeing(evidence)
    language_models = len(evidence.all_models) - len(seeing)
    parts = [formatting.plural(len(seeing), "model")] if seeing else []
    if language_models:
        parts.append(formatting.plural(language_models, "language model"))
    parts.append(formatting.plural(len(evidence.datasets), "dataset"))
    answers = sum(len(evidence.plain_outcomes(dataset)) for dataset in evidence.datasets)
    if answers:
        counted = formatting.plural(answers, "answer")
        parts.append(f"{counted} to the original prompts, one per model and question")
    return " · ".join(parts)


def _others(evidence: Evidence, model: str | None, lead: str) -> str:
    """Why the headline is about this dataset, and the verdict on the others; nothing if there is only one."""
    others = [name for name in evidence.datasets if name != lead]
    if not others:
        return ""
    led = [name for name in evidence.datasets if model in leaders(evidence, name)]
    rivals = any(len(evidence.candidates(name)) > 1 for name in led)
    does = "is best or tied for best" if rivals else "beats guessing"
    among = led or evidence.datasets
    which = f"the {len(among)} datasets{f' on which {model} {does}' if led else ''}"
    sizes = [evidence.questions(name) for name in among]
    if len(led) == 1:
        why = f"This is the only one of {len(evidence.datasets)} datasets on which {model} {does}"
    elif sizes.count(max(sizes)) == 1:
        why = f"This is the largest of {which}"
    else:
        why = f"None of {which} is larger than this one"
    elsewhere = _sentence(_clauses(evidence, model, others), capital=False)
    return f"{why}; what follows is about it, unless another is named. Elsewhere: {elsewhere}"


def _sentence(clauses: Sequence[str], capital: bool = True) -> str:
    """One sentence; names of models and datasets keep their first letter."""
    text = f"{'; '.join(clauses)}."
    return f"{text[0].upper()}{text[1:]}" if capital and text.startswith(("no model ", "only ")) else text


def _clauses(evidence: Evidence, model: str | None, datasets: Sequence[str]) -> list[str]:
    """On which of these datasets the preferred model is best, alone or tied, and on which no model is."""
    unasked = [name for name in datasets if only_blind(evidence, name)]
    without_models = [name for name in datasets if not evidence.candidates(name) and name not in unasked]
    small = [name for name in datasets if evidence.is_small(name) and name not in unasked]
    large = [name for name in datasets if name in evidence.large]
    led = [name for name in large if leaders(evidence, name)]
    unseeing = [name for name in large if name not in led and above_chance(evidence, name)]
    guessing = [name for name in large if name not in (*led, *unseeing)]
    names = _seeing(evidence)
    who = names[0] if len(names) == 1 else "no model"
    others = []
    if without_models:
        by_letters = evidence.outputs(without_models[0])[0] == LETTERS
        does = "answers with letters" if by_letters else "gives readable answers"
        does_not = "does not answer with letters" if by_letters else "does not give readable answers"
        others.append(f"{who} {does if who == 'no model' else does_not}{_on(without_models)}")
    is_shown = "is shown" if who == "no model" else "is not shown"
    if unseeing:
        others.append(f"{who} {is_shown} to use the image{_on(unseeing)}")
    if guessing:
        others.append(f"{who} {is_shown} to beat guessing{_on(guessing)}")
    if unasked:
        others.append(f"only language models were asked{_on(unasked)}")
    if small:
        why = f": {lead_in_words(evidence, small[0])}" if len(small) == 1 else ""
        others.append(
            f"{formatting.listed(small, 3)} {'is' if len(small) == 1 else 'are'} too small to tell{why}"
        )
    return [*(_praise(evidence, model, led) if led else []), *others]


def _seeing(evidence: Evidence) -> list[str]:
    """The models that are no blind baseline on some dataset."""
    return [
        model
        for model in evidence.all_models
        if any(model in evidence.models(d) and not evidence.is_blind(d, model) for d in evidence.datasets)
    ]


def _praise(evidence: Evidence, model: str | None, led: Sequence[str]) -> list[str]:
    """Where the preferred model is best, and where others lead. led: datasets on which a model leads."""
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
        return [f"no model stands out{_on(led)}: {formatting.listed(common)} are tied"]
    others = [name for name in led if name not in mine]
    parts = [f"{what}{_on(names)}" for what, names in where.items() if names]
    praise = [f"{model} is {', '.join(parts)}"] if parts else []
    return [*praise, *(_leading(evidence, name) for name in others)]


def _leading(evidence: Evidence, dataset: str) -> str:
    """Which models lead on a dataset."""
    names = leaders(evidence, dataset)
    if len(names) > 1:
        return f"{formatting.listed(names)} are tied for best on {dataset}"
    tied = "" if is_sole_leader(evidence, names[0], dataset) else "tied for "
    return f"{names[0]} is {tied}best on {dataset}"


def added(evidence: Evidence) -> str:
    """The datasets with options added by the prompt template, and how often these are chosen; or nothing."""
    with_them = [name for name in evidence.datasets if added_options(evidence, name)]
    if not with_them:
        return ""
    shares = []
    for name in with_them:
        plain, without = (
            [100 * sum(each) for each in added_shares(evidence, name, variation).values()]
            for variation in (evidence.variations(name)[0], without_image(evidence, name))
        )
        text = f"{_extremes(plain)} on {name}" if plain else f"on {name}"
        text += f" ({_extremes(without)} without the image)" if without else ""
        shares.append((-max([*plain, *without]), text))
    options = list(dict.fromkeys(o for name in with_them for o in added_options(evidence, name)))
    rest = len(shares) - 3
    more = f"; less often on {formatting.plural(rest, 'more dataset')}" if rest > 0 else ""
    chosen = "it" if len(options) == 1 else "one of them"
    return (
        f"The prompt template adds {formatting.listed(options)} to the options of "
        f"{formatting.listed(with_them, 3)}. The share of questions for which a model chooses {chosen} is "
        f"{', '.join(text for _, text in sorted(shares)[:3])}{more}."
    )


def _extremes(percents: Sequence[float]) -> str:
    low, high = (formatting.number(end, 1) for end in (min(percents), max(percents)))
    return f"{low if low == high else f'{low}–{high}'}{formatting.NARROW}%"


def _on(datasets: Sequence[str]) -> str:
    return f" on {formatting.listed(datasets, 3)}"


def _because(evidence: Evidence, leader: str | None, dataset: str) -> str:
    """The accuracy of the preferred model on a dataset and of guessing; without a name if no model leads, but
    for why the most accurate one does not."""
    every = evidence.numbers(dataset, "accuracy")
    known = {model: every[model] for model in evidence.candidates(dataset) if model in every}
    if not known:
        return ""
    tied = leaders(evidence, dataset)
    best = leader if leader in tied else ""
    bare = evidence.without_image(dataset)
    questions = formatting.plural(evidence.questions(dataset), "question") + (f" ({bare})" if bare else "")
    if best or len(known) == 1:
        model, number = (best, known[best]) if best else next(iter(known.items()))
        text = f"{model} answers {formatting.percent(number.value)} of {questions} correctly"
        if number.low is not None and number.high is not None:
            ends = formatting.span(number.low, number.high, 1, 100)
            text += f" (95{formatting.NARROW}% interval {ends})"
    else:
        values = [number.value for number in known.values()]
        least, most = (formatting.percent(end) for end in (min(values), max(values)))
        between = f"{formatting.span(min(values), max(values), 1, 100)}{formatting.NARROW}%"
        share = least if least == most else between
        text = f"{len(known)} models answer {share} of {questions} correctly"
    if evidence.chance(dataset):
        text += f"; guessing gives {formatting.percent(evidence.chance(dataset), 0)}"
    if best:
        text = f"{text}{_follower(evidence, dataset, best)}."
        if len(tied) == 1:
            return text
        why = "the most accurate of these" if best == tied[0] else "which leads on most datasets"
        return f"{text} The cards are about {best}, {why}."
    first = next(iter(above_chance(evidence, dataset)), "")
    why = doubts(evidence, dataset, first) if first else ""
    return f"{text}. {first} {why}." if why else f"{text}."


def _follower(evidence: Evidence, dataset: str, first: str) -> str:
    """How far behind the next worse model is; if none is worse, the difference that half of the pairs would
    show."""
    worse = significantly_worse(evidence, dataset)
    pair = evidence.comparisons.pair(dataset, first, worse[0]) if worse else None
    if pair is not None and pair.difference > 0:
        gap = f"{formatting.number(100 * pair.difference, 1)} points"
        return f"; {worse[0]} is {gap} behind{formatting.bracketed(pair.low, pair.high, 1, 100)}"
    effect = evidence.comparisons.median_detectable_effect(dataset)
    if effect is None:
        return ""
    return f"; it takes about {formatting.number(100 * effect, 0)} points to tell two models apart"


def _grid(evidence: Evidence) -> Grid:
    by_text, paired = bool(baselines(evidence)), not evidence.comparisons.frame.empty
    rows = [_row(evidence, dataset, by_text, paired) for dataset in evidence.datasets]
    return Grid("verdicts", "The verdict on each dataset", _columns(by_text, paired), rows)


def _columns(by_text: bool, paired: bool) -> tuple[Column, ...]:
    """by_text: whether a dataset has a blind baseline. paired: whether models were compared."""
    return (
        Column("Dataset"),
        Column("Best, with ties", "the most accurate model, and ties, of those that pass the image tests"),
        *(each.column for each in MEASURES[:1]),
        Column("Guess %", "accuracy of a guess among the options", True),
        *([BY_TEXT] if by_text else []),
        *(each.column for each in MEASURES[1:]),
        Column("Questions", f"with fewer than {MINIMUM} independent ones, no model is named", True),
        *([Column("Median detectable effect", "points of accuracy between two models", True)] * paired),
    )


def _row(evidence: Evidence, dataset: str, by_text: bool, paired: bool) -> Sequence[Cell]:
    """The cells of `_columns`."""
    first = leaders(evidence, dataset)[:1]
    accuracy, *of_sets = (each.cell(evidence, dataset, *first) if first else MISSING for each in MEASURES)
    effect = evidence.comparisons.median_detectable_effect(dataset)
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
        *([MISSING if evidence.is_small(dataset) else percent(effect)] * paired),
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
