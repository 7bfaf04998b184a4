"""Letters: whether a model prefers some positions, and how accurate it is without that bias."""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.numbers import Number
from vouch.report.section import Section, folding, said
from vouch.report.table import MISSING, Cell, Column, Grid, Measured, cells, figure
from vouch.tables.prompts import LETTERS

TITLE = "Letters"
HEADING = "Does it prefer a letter?"
TEXT = Markup("""\
A model without position bias chooses each letter about as often as it is right. <em>Debiased</em> accuracy
is that of the probabilities averaged over the orders in which the options were shown; two orders remove
part of the bias.""")
CHOSEN, RIGHT = "chosen_share_", "right_share_"
DEBIASED = "accuracy_debiased"
RATES = (
    Measured("dont_know_rate", label="I don't know %", interval=False),
    Measured("none_rate", label="None of them %", interval=False),
    Measured("tie_rate", interval=False),
)


def build(evidence: Evidence) -> Section | None:
    """One part per dataset whose headlines rest on letters."""
    parts = []
    for dataset in evidence.datasets:
        letters = _letters(evidence, dataset)
        if letters and evidence.outputs(dataset)[0] == LETTERS:
            told = said(_sentence(evidence, dataset, m, letters) for m in evidence.models(dataset))
            parts.append((dataset, [*told, _grid(evidence, dataset, letters)]))
    return Section(HEADING, TEXT, folding(parts, 1)) if parts else None


def _letters(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    metrics = evidence.metrics(dataset)
    return tuple(sorted(name.removeprefix(CHOSEN) for name in metrics if name.startswith(CHOSEN)))


def _sentence(evidence: Evidence, dataset: str, model: str, letters: tuple[str, ...]) -> str:
    """Of the letters that are ever right, the one chosen most above its share, if the intervals are apart."""
    excess = {}
    for letter in letters:
        chosen = evidence.number(dataset, model, CHOSEN + letter)
        right = evidence.number(dataset, model, RIGHT + letter)
        if not chosen or not right or not right.value:
            continue
        if chosen.low is not None and right.high is not None and chosen.low > right.high:
            excess[letter] = (chosen.value - right.value, chosen, right)
    if not excess:
        return ""
    letter = max(excess, key=lambda name: excess[name][0])
    _, chosen, right = excess[letter]
    return (
        f"{model} chooses {letter} for {formatting.percent(chosen.value)} of the questions; it is right for "
        f"{formatting.percent(right.value)}."
    )


def debiased(evidence: Evidence, dataset: str, model: str) -> tuple[Number | None, Number | None]:
    """Accuracy over the variation that the debiased one belongs to, and the debiased one."""
    for variation in evidence.variations(dataset):
        number = evidence.number(dataset, model, DEBIASED, variation=variation)
        if number:
            return evidence.number(dataset, model, "accuracy", variation=variation), number
    return evidence.number(dataset, model, "accuracy"), None


def _grid(evidence: Evidence, dataset: str, letters: tuple[str, ...]) -> Grid:
    models = evidence.models(dataset)
    rates = [rate for rate in RATES if any(rate.number(evidence, dataset, m) for m in models)]
    help = "how often {} is chosen, and how often it is right"
    columns = (
        Column("Model"),
        Column("Bias %", "half the sum of the differences between chosen and right letters", True),
        Column("Accuracy %", "as asked", True),
        Column("Debiased %", "probabilities of an option averaged over its positions", True),
        *(Column(f"{letter} %", help.format(letter), True) for letter in letters),
        *(rate.column for rate in rates),
    )
    rows = [
        cells(
            model,
            figure(evidence.number(dataset, model, "letter_bias"), 1, 100),
            *(figure(number, 1, 100) for number in debiased(evidence, dataset, model)),
            *(_share(evidence, dataset, model, letter) for letter in letters),
            *(rate.cell(evidence, dataset, model) for rate in rates),
        )
        for model in models
    ]
    caption = f"{dataset}: how often each letter is chosen; how often it is right in small print"
    return Grid("letters", caption, columns, rows)


def _share(evidence: Evidence, dataset: str, model: str, letter: str) -> Cell:
    chosen, right = (evidence.number(dataset, model, name + letter) for name in (CHOSEN, RIGHT))
    if chosen is None:
        return MISSING
    note = formatting.number(100 * right.value, 1) if right else ""
    return Cell(formatting.number(100 * chosen.value, 1), note, chosen.value)
