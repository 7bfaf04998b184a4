"""Warnings about models whose scored answers may not be those that they would really give.

They say which models claims leave out, which rate is too high and what to do (vouch/metrics/unranked.py has
the limits); which models have no answers of a request type, and why; which were asked with their own prompts;
how far undecided texts may move an accuracy; what a judge and people decided and how well they agree.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vouch.metrics.unranked import (
    ACCURACY_RULES,
    JUDGED_RATE,
    LIMITS,
    OF_JUDGE,
    OPTIONS,
    SENSITIVITY,
    SPECIFICITY,
    UNDECIDED_RATE,
    WORTH_SAYING,
    Place,
    away_rate,
)
from vouch.report import formatting
from vouch.report.formatting import bracketed, number, percent
from vouch.tables.asked import LETTERS, OUTPUTS, TEXT

if TYPE_CHECKING:
    from vouch.report.evidence import Evidence

NOTE = {
    LETTERS: "answers in another form; its sets mean little",
    TEXT: "leaves too many texts undecided; not ranked",
}
REMEDY = {
    LETTERS: "Ask for text as well: write `outputs: [letters, text]` into params.yaml, then `dvc repro`.",
    TEXT: "Look at such texts on the page Items. Then name parsers that fit them in score.parsers, or a "
    "judge in score.judge that agrees with people's decisions (`vouch review judge`).",
}
OF_READING = ("accuracy", UNDECIDED_RATE, JUDGED_RATE, ACCURACY_RULES)
NAMED = "models.lock names only "
"""How a reason begins if the entry of a server does not name a request type (vouch/models/unsupported.py)."""
ASKED = "Text was asked for as well: see that request type."
_LEFT_OUT = "Left out of the verdict, ranks and comparisons: {}. In brackets is the share of its "
_WHY = {
    LETTERS: f"{_LEFT_OUT}prompts for which most of the first token's probability is not on option letters: "
    "its letters and prediction sets mean little there. {}",
    TEXT: f"{_LEFT_OUT}texts that are unparsed, name several options or may be misread by the judge. {{}}",
}


def remedy(output: str, asked: Collection[str]) -> str:
    """What to do about a model that is left out of claims by a request type. asked: all request types."""
    return ASKED if output == LETTERS and TEXT in asked else REMEDY[output]


def left_out(evidence: "Evidence", datasets: Sequence[str]) -> list[str]:
    """A warning for each reason to leave models out of claims, with the models, their rates, and advice."""
    warnings = [text for output in (LETTERS, TEXT) if (text := _left_out(evidence, datasets, output))]
    problems = {place: evidence.problems.get(place, "") for place in evidence.unanswered}
    asked = {name: evidence.asked(name) for name in datasets}
    setup = evidence.setup
    limits = (setup.get("extract") or {}).get("datasets_of") or {}
    return [
        *warnings,
        *without_answers(problems, asked),
        *never_asked(asked, limits, setup.get("models") or ()),
        *own_prompts(asked, setup.get("datasets") or {}),
    ]


def never_asked(
    asked: Mapping[str, Collection[Place]],
    limits: Mapping[str, Collection[str]],
    models: Collection[str] = (),
) -> list[str]:
    """Which models have no rows at all on a dataset, though nothing kept them from it.

    asked: by dataset, all places. limits: model -> its only datasets (extract.datasets_of). models: further
    ones.
    """
    names = {*models, *(model for places in asked.values() for model, *_ in places)}
    of_models: dict[str, list[str]] = {}
    for dataset, places in asked.items():
        for model in sorted(names - {model for model, *_ in places}):
            if dataset in limits.get(model, (dataset,)):
                of_models.setdefault(model, []).append(dataset)
    return [f"{who} no answers to {where}: its files have none." for who, where in _who_and_where(of_models)]


def own_prompts(
    asked: Mapping[str, Collection[Place]], entries: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Which models were asked with prompts of their own, on datasets where not all models have the same.

    asked: by dataset, all places. entries: of params.yaml, by dataset.
    """
    if not any(entry.get("variants") for entry in entries.values()):
        return []
    # loads pydantic, for which `vouch show` would wait
    from vouch.prompts.config import models_of_variants, template_name

    of_models: dict[tuple[str, ...], list[str]] = {}
    for dataset, places in asked.items():
        entry, models = entries.get(dataset) or {}, {model for model, *_ in places}
        variants = models_of_variants(entry)
        own = {model: one for one, named in variants.items() for model in named if model in models}
        if len({own.get(model, entry.get("variant")) for model in models}) > 1:
            names = (f"{model} (template {template_name(entry['template'], own[model])})" for model in own)
            of_models.setdefault(tuple(names), []).append(dataset)
    return [
        f"On {formatting.listed(where, 3)}, {formatting.listed(names)} "
        f"{'was asked with its own prompt' if len(names) == 1 else 'were asked with their own prompts'}: a "
        "difference to another model is one of model and prompt together."
        for names, where in of_models.items()
    ]


def without_answers(problems: Mapping[Place, str], asked: Mapping[str, Collection[Place]]) -> list[str]:
    """Which models have no answers of a request type, and why; what to do if they have none at all.

    problems: the reason of each such place. asked: by dataset, all places.
    """
    reasons: dict[tuple[str, str], dict[str, list[str]]] = {}  # output and reason -> model -> datasets
    of_none: dict[str, list[str]] = {}
    for dataset, places in asked.items():
        for place in sorted(places):
            if place in problems:
                of_models = reasons.setdefault((place[2], problems[place]), {})
                of_models.setdefault(place[0], []).append(dataset)
        for model in sorted({model for model, *_ in places}):
            own = {place for place in places if place[0] == model}
            if own <= problems.keys() and (model, dataset, TEXT) not in own:
                of_none.setdefault(model, []).append(dataset)
    ordered = sorted(reasons.items(), key=lambda pair: (OUTPUTS.index(pair[0][0]), pair[0][1]))
    return [
        f"{who} no {formatting.OUTPUT_NAMES[output]} on {where}{why and f': {why}'}."
        + _why_named(output, why, of_models)
        for (output, why), of_models in ordered
        for who, where in _who_and_where(of_models)
    ] + [f"{who} no answers to {where} at all. {REMEDY[LETTERS]}" for who, where in _who_and_where(of_none)]


def _why_named(output: str, why: str, models: Collection[str]) -> str:
    """Why models.lock may not name a request type, and how to find out; nothing for other reasons."""
    if output == TEXT or not why.startswith(NAMED):
        return ""
    (name,) = models if len(models) == 1 else ("NAME",)
    return (
        " These need log-probabilities: `vouch new` and `vouch lock` leave them out if a server gives none; "
        f"`vouch lock {name}` asks it again."
    )


def apart(evidence: "Evidence", dataset: str) -> list[str]:
    """In short, which models of a dataset claims leave out, and why; then `by_letters_elsewhere`."""
    note = NOTE.get(evidence.outputs(dataset)[0], "")
    left = [f"{model} {note}." for model in evidence.left_out(dataset)]
    return [*left, *by_letters_elsewhere(evidence, dataset)]


def by_letters_elsewhere(evidence: "Evidence", dataset: str) -> list[str]:
    """Where the results by letters are, if a dataset has some but is compared by another request type."""
    main, *others = evidence.outputs(dataset)
    having = list(evidence.numbers(dataset, "accuracy", output=LETTERS))
    if main == LETTERS or LETTERS not in others or not having:
        return []
    return [
        f"{dataset} is compared by {formatting.OUTPUT_NAMES[main]}, because only {formatting.listed(having)} "
        "has letters. Its results by letters are in the table under Request types on the page Models, and "
        "all of them in `tables/metrics.csv` and `tables/variations.csv`."
    ]


def _who_and_where(of_models: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """`a and b have` for models that share their datasets, and these datasets."""
    shared: dict[tuple[str, ...], list[str]] = {}
    for model, datasets in of_models.items():
        shared.setdefault(tuple(datasets), []).append(model)
    for where, models in shared.items():
        has = "has" if len(models) == 1 else "have"
        yield f"{formatting.listed(models)} {has}", formatting.listed(where, 3)


def _left_out(evidence: "Evidence", datasets: Sequence[str], output: str) -> str:
    away = {name: evidence.left_out(name) for name in datasets if evidence.outputs(name)[0] == output}
    away = {name: models for name, models in away.items() if models}
    if not away:
        return ""
    left = []
    for name, models in away.items():
        rates = [
            f"{model} ({formatting.percent(_rate(evidence, name, model, output), 0)})" for model in models
        ]
        left.append(f"{formatting.listed(rates)} on {name}")
    asked = set.intersection(*(set(evidence.outputs(name)) for name in away))
    advice = remedy(output, asked)
    if advice == ASKED and {(model, name, TEXT) for name, of in away.items() for model in of} & evidence.away:
        advice = f"Text was asked for as well, but too many texts are undecided. {REMEDY[TEXT]}"
    return _WHY[output].format(formatting.listed(left, 3), advice)


def _rate(evidence: "Evidence", dataset: str, model: str, output: str) -> float:
    needed = [(LIMITS[output][0], ""), *(OF_JUDGE if output == TEXT else ())]
    found = _rows(evidence, dataset, model, output, needed)
    return away_rate({metric: row for (metric, _), row in found.items()}, output)


def _rows(
    evidence: "Evidence", dataset: str, model: str, output: str, needed: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], dict[str, Any]]:
    """The numbers that exist, by metric and score."""
    found = {each: evidence.number(dataset, model, *each, output=output) for each in needed}
    return {each: number._asdict() for each, number in found.items() if number is not None}


def undecided(evidence: "Evidence", dataset: str) -> list[str]:
    """How far undecided texts, or the judge, may move the accuracy of each model."""
    known = {metric: evidence.numbers(dataset, metric, output=TEXT) for metric in OF_READING}
    return [
        f"{model}: {sentence}."
        for model in evidence.models(dataset)
        for sentence in (
            *bounds({metric: of[model].value for metric, of in known.items() if model in of}),
            *of_judge(_rows(evidence, dataset, model, TEXT, METRICS)),
        )
    ]


def bounds(values: Mapping[str, float | None]) -> Iterator[str]:
    """The bounds of an accuracy of texts: undecided texts count as wrong, but all may be correct; and a judge
    may err. values: the known metrics of OF_READING."""
    accuracy, rate, judged, alone = (values.get(metric) for metric in OF_READING)
    if accuracy is not None and rate is not None and rate > WORTH_SAYING:
        yield (
            f"{formatting.percent(rate)} of its texts are unparsed or name several options, so its accuracy "
            f"is {_between(accuracy, rate, 'of these are')}"
        )
    if rate is not None and alone is not None and judged:
        yield (
            f"{formatting.percent(judged)} of its texts were read by the judge; without the judge, its "
            f"accuracy is {_between(alone, rate + judged, 'of these and of the unread texts are')}"
        )


def _between(accuracy: float, rate: float, which: str) -> str:
    most = formatting.percent(min(1.0, accuracy + rate))
    return f"between {formatting.percent(accuracy)} (if all {which} wrong) and {most} (if all are correct)"


FEW = 30
"""If people made fewer decisions, a sentence says that they are too few."""
_ACCURACIES = ("accuracy_judge", "accuracy_people", "accuracy_ppi", "judge_unread_rate")
_OF_PEOPLE = ("annotated_rate", "judge_kappa", SENSITIVITY, SPECIFICITY)
METRICS = (*((name, "") for name in (*_ACCURACIES, *_OF_PEOPLE)), *((name, OPTIONS) for name in _OF_PEOPLE))
"""The metrics, each with its score, that the sentences need."""
Row = Mapping[str, Any]
"""value, low, high and items of a metric."""


def of_judge(rows: Mapping[tuple[str, str], Row]) -> Iterator[str]:
    """Sentences on one model and dataset; none if no judge read its answers. rows: by metric and score."""
    judge, people, corrected, unread = (rows.get((name, "")) for name in _ACCURACIES)
    if judge is not None:
        sentence = f"The judge accepts {_share(judge)} of its open answers"
        if unread is not None and unread["value"]:
            sentence += f" ({percent(unread['value'])} got no clear verdict and count as wrong)"
        if people is None or corrected is None:
            sentence += (
                "; its bias is not corrected, because no decisions of people count yet (`vouch review judge`)"
            )
        else:
            sentence += (
                f"; corrected by people's decisions (prediction-powered inference), {_share(corrected)}; "
                f"by the decisions alone, {_share(people)}"
            )
        yield sentence
    for score, what in (("", "open answers"), (OPTIONS, "answers that no rule decides")):
        yield from _agreement(rows, score, what)


def _agreement(rows: Mapping[tuple[str, str], Row], score: str, what: str) -> Iterator[str]:
    rate, kappa, *shares = (rows.get((name, score)) for name in _OF_PEOPLE)
    if rate is None or not rate["value"]:
        return
    count = round(rate["value"] * rate["items"])
    sentence = f"People decided on {count} of {rate['items']:.0f} different {what} in the sample"
    parts = []
    if kappa is not None:
        parts.append(f"kappa {number(kappa['value'], 2)}{bracketed(kappa['low'], kappa['high'], 2)}")
    for found, label in zip(shares, ("sensitivity", "specificity"), strict=True):
        if found is not None:
            parts.append(f"{label} {_share(found)}")
    few = ", too few to say how good the judge is" if count < FEW else ""
    yield sentence + few + (f"; the judge's {', '.join(parts)}" if parts else "")


def _share(row: Row) -> str:
    return percent(row["value"]) + bracketed(row["low"], row["high"], 1, 100)
