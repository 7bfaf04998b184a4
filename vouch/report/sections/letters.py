"""Letters: whether a model prefers some positions, and how accurate it is without that bias."""

from collections.abc import Sequence

from markupsafe import Markup

from vouch.metrics.join import LETTER_MASS, LOW_MASS_RATE
from vouch.report import formatting
from vouch.report.claims import CHOSEN, RIGHT, overused_letters
from vouch.report.evidence import Evidence
from vouch.report.numbers import Number
from vouch.report.section import Block, by_dataset, said
from vouch.report.table import ITEMS, MISSING, Cell, Column, Grid, Measured, cells, figure
from vouch.tables.asked import LETTERS

TITLE = "Letters"
TEXT = Markup("""\
A model without position bias chooses each letter about as often as it is right. <em>Debiased</em> accuracy
is that of the probabilities averaged over the orders in which the options were shown; two orders remove
part of the bias.""")
DEBIASED = "accuracy_debiased"
RATES = (
    Measured("dont_know_rate", label="I don't know %", interval=False),
    Measured("none_rate", label="None of them %", interval=False),
    Measured("tie_rate", interval=False),
    Measured(LETTER_MASS, interval=False),
    Measured(LOW_MASS_RATE, interval=False),
)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where the headlines do not rest on letters."""
    metrics = evidence.metrics(dataset)
    letters = sorted(name.removeprefix(CHOSEN) for name in metrics if name.startswith(CHOSEN))
    if not letters or evidence.outputs(dataset)[0] != LETTERS:
        return []
    told = said(_sentence(evidence, dataset, model, letters) for model in evidence.models(dataset))
    return [*told, _grid(evidence, dataset, letters)]


def _sentence(evidence: Evidence, dataset: str, model: str, letters: Sequence[str]) -> str:
    """Of the letters chosen significantly more often than they are right, the one that is so most."""
    gaps = {
        letter: claim.estimate
        for (where, who, letter), claim in overused_letters(evidence).items()
        if (where, who) == (dataset, model) and letter in letters
    }
    if not gaps:
        return ""
    letter = max(gaps, key=lambda each: gaps[each])
    chosen, right = (evidence.number(dataset, model, name + letter) for name in (CHOSEN, RIGHT))
    assert chosen and right
    return (
        f"{model} chooses {letter} for {formatting.percent(chosen.value)} of the questions; it is "
        f"right for {formatting.percent(right.value)}."
    )


def debiased(evidence: Evidence, dataset: str, model: str) -> tuple[Number | None, Number | None]:
    """Accuracy over the variation that the debiased one belongs to, and the debiased one."""
    for variation in evidence.variations(dataset):
        number = evidence.number(dataset, model, DEBIASED, variation=variation)
        if number:
            return evidence.number(dataset, model, "accuracy", variation=variation), number
    return evidence.number(dataset, model, "accuracy"), None


def _grid(evidence: Evidence, dataset: str, letters: Sequence[str]) -> Grid:
    rates = [rate for rate in RATES if evidence.numbers(dataset, rate.metric)]
    help = "how often {} is chosen, and how often it is right"
    columns = (
        Column("Model"),
        ITEMS,
        Column("Bias %", "half the sum of the differences between chosen and right letters", True),
        Column("Accuracy %", "as asked", True),
        Column("Debiased %", "probabilities of an option averaged over its positions", True),
        *(Column(f"{letter} %", help.format(letter), True) for letter in letters),
        *(rate.column for rate in rates),
    )
    rows = [
        cells(
            model,
            bias.items if (bias := evidence.number(dataset, model, "letter_bias")) else MISSING,
            figure(bias, 1, 100),
            *(figure(number, 1, 100) for number in debiased(evidence, dataset, model)),
            *(_share(evidence, dataset, model, letter) for letter in letters),
            *(rate.cell(evidence, dataset, model) for rate in rates),
        )
        for model in evidence.models(dataset)
    ]
    caption = f"{dataset}: how often each letter is chosen; how often it is right in small print"
    return Grid("letters", caption, columns, rows)


def _share(evidence: Evidence, dataset: str, model: str, letter: str) -> Cell:
    chosen, right = (evidence.number(dataset, model, name + letter) for name in (CHOSEN, RIGHT))
    if chosen is None:
        return MISSING
    note = formatting.number(100 * right.value, 1) if right else ""
    return Cell(formatting.number(100 * chosen.value, 1), note, chosen.value)


build = by_dataset("Does it prefer a letter?", TEXT, _blocks, opened=1)
