"""Letters: whether a model prefers some places to others, and how right it is without that."""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.grid import MISSING, Cell, Column, Grid, figure
from vouch.report.numbers import Number
from vouch.tables.prompts import LETTERS

TITLE = "Letters"

CHOSEN, RIGHT = "chosen_share_", "right_share_"
DEBIASED = "accuracy_debiased"
# label, help, metric
RATES = (
    ("I don't know %", "how often it is chosen; never right", "dont_know_rate"),
    ("None of them %", "how often it is chosen; never right", "none_rate"),
    ("Ties %", "questions with equal largest logits", "tie_rate"),
)


@dataclass(frozen=True)
class DatasetLetters:
    """sentences: the letters that are chosen too often."""

    dataset: str
    sentences: tuple[str, ...]
    grid: Grid


def build(evidence: Evidence) -> tuple[DatasetLetters, ...]:
    """One part per dataset whose headlines rest on letters."""
    parts = []
    for dataset in evidence.datasets:
        letters = _letters(evidence, dataset)
        if letters and evidence.outputs(dataset)[0] == LETTERS:
            said = [_sentence(evidence, dataset, model, letters) for model in evidence.models(dataset)]
            grid = _grid(evidence, dataset, letters)
            parts.append(DatasetLetters(dataset, tuple(filter(None, said)), grid))
    return tuple(parts)


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
        f"{model} chooses {letter} for {formatting.percent(chosen.value)} of the questions; the answer stands "
        f"there in {formatting.percent(right.value)}."
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
    rates = [rate for rate in RATES if any(evidence.number(dataset, m, rate[2]) for m in models)]
    columns = [
        Column("Model"),
        Column("Bias %", "half the sum of the differences between chosen and right letters", True),
        Column("Accuracy %", "as asked", True),
        Column("Debiased %", "probabilities of an option averaged over the places it stood at", True),
    ]
    said = "how often {} is chosen, and how often it is right"
    columns += [Column(f"{letter} %", said.format(letter), True) for letter in letters]
    columns += [Column(label, note, True) for label, note, _ in rates]
    rows = []
    for model in models:
        accuracy, without = debiased(evidence, dataset, model)
        row = [Cell(model), figure(evidence.number(dataset, model, "letter_bias"), 1, 100)]
        row += [figure(accuracy, 1, 100), figure(without, 1, 100)]
        row += [_share(evidence, dataset, model, letter) for letter in letters]
        numbers = [evidence.number(dataset, model, metric) for *_, metric in rates]
        row += [figure(number, 1, 100, interval=False) for number in numbers]
        rows.append(row)
    caption = f"{dataset}: how often each letter is chosen; how often it is right in small print"
    return Grid("letters", caption, columns, rows)


def _share(evidence: Evidence, dataset: str, model: str, letter: str) -> Cell:
    chosen, right = (evidence.number(dataset, model, name + letter) for name in (CHOSEN, RIGHT))
    if chosen is None:
        return MISSING
    note = formatting.number(100 * right.value, 1) if right else ""
    return Cell(formatting.number(100 * chosen.value, 1), note, chosen.value)
