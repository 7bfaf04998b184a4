"""What the sections of a long page say in a sentence or two, for the summary at its top.

Each function is the `summary` of a `PageSection`. Its claims pass the gates (gates.py); numbers that are no
claims come from datasets with enough questions only.
"""

from collections.abc import Iterator

from vouch.metrics.conformal.selective import TOLERATED
from vouch.metrics.uncertainty import CONFIDENCE
from vouch.prompts.variations import meaning
from vouch.report import formatting
from vouch.report.claims import (
    CHOSEN,
    RIGHT,
    above_chance,
    answers_alone,
    baselines,
    effects,
    image_claims,
    losses,
    miscalibrated,
    overused_letters,
    without_image,
)
from vouch.report.costs import ACCURACY, costs, is_control, is_original_to
from vouch.report.coverage import TRANSFER_KEY, coverage_verdict, transfer_coverages
from vouch.report.evidence import Evidence
from vouch.report.numbers import Number
from vouch.tables.asked import ORIGINAL, TYPOGRAPHIC
from vouch.tables.results import NONE


def _pairs(evidence: Evidence, metric: str, score: str = "") -> dict[tuple[str, str], Number]:
    """A metric by dataset and model, on datasets with enough questions."""
    return {
        (name, model): number
        for name in evidence.large
        for model, number in evidence.numbers(name, metric, score).items()
    }


def _of(count: int, total: int) -> str:
    return f"{formatting.count(count)} of {formatting.plural(total, 'combination')} of model and dataset"


def confidence(evidence: Evidence) -> Iterator[str]:
    """How many models are over- and underconfident, and the largest error."""
    errors, shown = _pairs(evidence, "ece"), miscalibrated(evidence)
    if not errors:
        return
    over = sum(claim.above for claim in shown.values())
    yield (
        f"Shown to be overconfident in {_of(over, len(errors))}, underconfident in "
        f"{formatting.count(len(shown) - over)}."
    )
    dataset, model = max(errors, key=lambda pair: errors[pair].value)
    error = formatting.percent(errors[dataset, model].value)
    yield f"The largest calibration error (ECE) is {error}: {model} on {dataset}."


def uncertainty(evidence: Evidence) -> Iterator[str]:
    """How often another uncertainty estimate is better than plain confidence."""
    frame = evidence.headlines
    rows = frame[(frame["metric"] == "uncertainty_gain") & frame["dataset"].isin(evidence.large)]
    rows = rows[rows["score"] != CONFIDENCE]
    if rows.empty:
        return
    better, worse = int((rows["low"] > 0).sum()), int((rows["high"] < 0).sum())
    yield (
        f"Other estimates separate correct from wrong answers better than plain confidence in "
        f"{formatting.count(better)} of {formatting.plural(len(rows), 'comparison')} and worse in "
        f"{formatting.count(worse)} (95{formatting.NARROW}% intervals, not corrected)."
    )


def answering(evidence: Evidence) -> Iterator[str]:
    """What each model can answer alone, and where nothing is shown."""
    shown = answers_alone(evidence)
    asked = [(name, model) for name in evidence.large for model in evidence.candidates(name)]
    if not asked:
        return
    largest = sorted(shown, key=lambda pair: (-shown[pair].answered, pair))
    shares = [
        f"{model} {formatting.percent(shown[name, model].answered, 0)} of {name}" for name, model in largest
    ]
    if shares:
        yield (
            f"Alone, with at most {formatting.percent(TOLERATED, 0)} wrong answers: "
            f"{formatting.listed(shares, 3)}."
        )
    none = len(asked) - len(shown)
    if none:
        yield f"In {_of(none, len(asked))} no share is shown, so none may be answered alone."


def transfer(evidence: Evidence) -> Iterator[str]:
    """How often thresholds of one dataset give too little coverage on another."""
    shown = transfer_coverages(evidence)
    frame = evidence.transfer
    away = frame[(frame["weighting"] == NONE) & (frame["model"] == frame["from_model"])]
    away = away[(away["dataset"] != away["from_dataset"]) & away["dataset"].isin(evidence.large)]
    away = away[away["from_dataset"].isin(evidence.large)].dropna(subset=["coverage"])
    if away.empty:
        return
    keys = list(zip(*(away[name] for name in TRANSFER_KEY), strict=True))
    below = sum(key in shown and not shown[key].above for key in keys)
    row = away.loc[away["coverage"].idxmin()]
    yield (
        f"With thresholds of another dataset, coverage is shown to be below its target in "
        f"{formatting.count(below)} of {formatting.plural(len(away), 'transfer')}; the lowest is "
        f"{formatting.percent(row['coverage'])}, {row['model']} from {row['from_dataset']} to "
        f"{row['dataset']}."
    )


def shares(evidence: Evidence) -> Iterator[str]:
    """How little the coverage depends on the share of questions used for calibration."""
    tried = [(name, model) for name, model in _pairs(evidence, "coverage", "lac")]
    gaps = {}
    for name, model in tried:
        for metric in evidence.metrics(name):
            if metric.startswith("coverage_calibrated_on_"):
                own, other = (evidence.number(name, model, each, "lac") for each in ("coverage", metric))
                if own and other:
                    share = metric.rpartition("_")[2]
                    gaps[abs(own.value - other.value), model, name, share] = other
    if gaps:
        (gap, model, name, share), number = max(gaps.items())
        yield (
            f"Calibrated on fewer questions, coverage changes by at most {formatting.number(100 * gap, 1)} "
            f"points: {formatting.percent(number.value)} with {share}{formatting.NARROW}% of the questions, "
            f"{model} on {name}."
        )


def protocols(evidence: Evidence) -> Iterator[str]:
    """How much the choice of protocol changes."""
    most = {}
    for metric, score in (("accuracy", ""), ("set_size", "lac")):
        clean = _pairs(evidence, metric, score)
        both = [
            abs(number.value - other.value)
            for (name, model), number in clean.items()
            if (other := evidence.number(name, model, metric, score, "faithful"))
            and (not score or evidence.calibrated_by_both(name, model))
        ]
        if both:
            most[metric] = max(both)
    if "accuracy" in most:
        points = formatting.number(100 * most["accuracy"], 1)
        text = f"The choice of protocol changes accuracy by at most {points} points"
        if "set_size" in most:
            text += f" and LAC set size by at most {formatting.number(most['set_size'], 2)} options"
        yield f"{text}."


def variations(evidence: Evidence) -> Iterator[str]:
    """How often a variation costs accuracy, and the largest loss."""
    tried = lost = 0
    worst: tuple[float, str, str, str] | None = None
    for name in evidence.large:
        measured = costs(evidence, name)
        for model in above_chance(evidence, name):
            tried += sum(
                who == model and tuple(measure) == ACCURACY and not is_control(change)
                for who, change, *measure in measured
            )
            for change in losses(evidence, name, model):
                lost += 1
                loss = (measured[model, change, *ACCURACY].net.difference, change, model, name)
                worst = min(worst or loss, loss)
    if not tried:
        return
    gains = sum(claim.above for claim in effects(evidence).values())
    text = f"Shown to cost accuracy in {formatting.count(lost)} of {formatting.plural(tried, 'case')}"
    yield f"{text} (a model with a variation of a dataset), to raise it in {formatting.count(gains)}."
    if worst:
        points = formatting.number(-100 * worst[0], 1)
        yield f"The largest loss: {points} points for {meaning(worst[1])}, {worst[2]} on {worst[3]}."


def blind(evidence: Evidence) -> Iterator[str]:
    """How many models are shown to beat a language model without the images."""
    every = baselines(evidence)
    models = [(name, model) for name in every for model in evidence.candidates(name)]
    if models:
        beating = sum(model in every[name].beaten_by for name, model in models)
        yield f"Shown to beat the best language model without images: {_of(beating, len(models))}."


def image(evidence: Evidence) -> Iterator[str]:
    """How many models are shown to need the image."""
    tried = [
        (name, model)
        for name in evidence.large
        for model in evidence.candidates(name)
        if (model, without_image(evidence, name), *ACCURACY) in costs(evidence, name)
    ]
    if not tried:
        return
    claims = image_claims(evidence)
    better = sum(kind == "loss" and not claim.above for (*_, kind), claim in claims.items())
    without = sum(kind == "blind" and claim.above for (*_, kind), claim in claims.items())
    yield (
        f"Shown to answer better with the image: {_of(better, len(tried))}. Shown to beat guessing without "
        f"it: {formatting.count(without)}."
    )


def typographic(evidence: Evidence) -> Iterator[str]:
    """The largest effect of painted words."""
    values = {
        (number.value, model, name): number
        for name in evidence.large
        for model, number in evidence.numbers(name, "painted_gain", variation=TYPOGRAPHIC).items()
    }
    if values:
        clear = sum(number.excludes_zero and number.value > 0 for number in values.values())
        (value, model, name), number = max(values.items())
        ends = formatting.bracketed(number.low, number.high, 1, 100)
        yield (
            f"The 95{formatting.NARROW}% interval of the attack's effect, not corrected, is above 0 in "
            f"{_of(clear, len(values))}; the largest effect is {formatting.number(100 * value, 1)} "
            f"points{ends}, {model} on {name}."
        )


def shift(evidence: Evidence) -> Iterator[str]:
    """How often another way of asking gives too little coverage, and the lowest coverage."""
    values = {
        (number.value, change, model, name): coverage_verdict(evidence, name, model, change)
        for name in evidence.large
        for change in evidence.variations(name)
        if not is_control(change) and change != ORIGINAL
        for model, number in evidence.numbers(name, "shift_coverage", "lac", variation=change).items()
        if not is_original_to(evidence, name, model, change)
    }
    if values:
        below = sum(each == "below" for each in values.values())
        value, change, model, name = min(values)
        yield (
            f"Coverage is shown to be below its target in {formatting.count(below)} of "
            f"{formatting.plural(len(values), 'case')}; the lowest coverage is {formatting.percent(value)}, "
            f"for {meaning(change)}, {model} on {name}."
        )


def reliability(evidence: Evidence) -> Iterator[str]:
    """The highest and the lowest reliability over all prompts."""
    values = {
        (number.value, model, name)
        for name in evidence.large
        for model, number in evidence.numbers(name, "reliability", "every_prompt", variation="").items()
    }
    if values:
        highest, lowest = max(values), min(values)
        yield (
            f"Reliability over all prompts goes from {formatting.number(lowest[0], 2)} "
            f"({lowest[1]} on {lowest[2]}) to {formatting.number(highest[0], 2)} "
            f"({highest[1]} on {highest[2]})."
        )


def instability(evidence: Evidence) -> Iterator[str]:
    """The model that repeats its answers least."""
    values = {
        (number.value, model, name, change)
        for name in evidence.large
        for change in evidence.variations(name)
        for model, number in evidence.numbers(name, "instability", variation=change).items()
    }
    if values:
        value, model, name, _ = max(values)
        yield f"The highest instability is {formatting.number(value, 2)}: {model} on {name}."


def letters(evidence: Evidence) -> Iterator[str]:
    """How many models overuse a letter, and the letter that is overused most."""
    claims = overused_letters(evidence)
    tried = _pairs(evidence, "letter_bias")
    if not tried:
        return
    models = {(name, model) for name, model, _ in claims}
    yield f"Shown to choose a letter more often than it is correct: {_of(len(models), len(tried))}."
    if claims:
        name, model, letter = max(claims, key=lambda key: (claims[key].estimate, key))
        chosen, correct = (evidence.number(name, model, each + letter) for each in (CHOSEN, RIGHT))
        if chosen and correct:
            yield (
                f"On {name}, {model} chooses {letter} for {formatting.percent(chosen.value)} of the "
                f"questions; {letter} is correct for {formatting.percent(correct.value)}."
            )
