"""Stability, on the page Variations: certainty when correct, repeated answers, option letters.

The page's other sections are in variations.py, shift.py, image_use.py and severity.py.
"""

from collections.abc import Sequence

from markupsafe import Markup

from vouch.metrics.unranked import LETTER_MASS, LOW_MASS_RATE
from vouch.report import formatting, summaries
from vouch.report.claims import CHOSEN, RIGHT, overused_letters
from vouch.report.costs import is_original_to, variation_cell
from vouch.report.evidence import Evidence
from vouch.report.numbers import Number
from vouch.report.page import Block, PageSection, by_dataset, sentence_list
from vouch.report.table import (
    ITEMS,
    MISSING,
    Cell,
    Column,
    Grid,
    Measured,
    TableSpec,
    cells,
    figure,
)
from vouch.tables.asked import LETTERS

ROBUSTNESS_TEXT = Markup("""\
Accuracy and consistency are relative to guessing, so that questions with different numbers of options can be
compared, as can variations that keep the answer and variations that flip it. An answer is <em>consistent</em>
if it is the same as to the original prompt, or another one if the variation flips the correct answer.
<em>Reliability</em> is certainty with a sign: negative if a model is correct less often than guessing.""")
EVERY_PROMPT = ("", "every_prompt")
"""Variation and score of the mean over prompts."""
ROBUSTNESS_TABLE = TableSpec(
    "robustness",
    f"relative to guessing, clean protocol, 95{formatting.NARROW}% intervals in small print",
    (Column("Prompt"), Column("Model")),
    tuple(map(Measured, ("reliability", "accuracy_calibrated", "certainty", "consistency_calibrated"))),
)


def _robustness_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Reliability in each variation; no blocks if none was compared with the original prompts."""
    variations = evidence.variations(dataset)
    if not any(evidence.numbers(dataset, "consistency_calibrated", variation=name) for name in variations):
        return []
    names = {(name, ""): variation_cell(name) for name in variations}
    names[EVERY_PROMPT] = Cell(
        "all", "mean over the original and its language and vision variations, each counted once"
    )
    rows = [
        ((name, model), {"model": model, "variation": variation, "score": score})
        for (variation, score), name in names.items()
        for model in evidence.models(dataset)
        if not (variation and is_original_to(evidence, dataset, model, variation))
        and any(
            each.number(evidence, dataset, model, variation=variation, score=score)
            for each in ROBUSTNESS_TABLE.measures
        )
    ]
    return [ROBUSTNESS_TABLE.grid(evidence, dataset, rows)]


ROBUSTNESS_SECTION = PageSection(
    "robustness",
    "Reliability",
    by_dataset("Is it certain when it is correct?", ROBUSTNESS_TEXT, _robustness_blocks, opened=0),
    page="variations",
    place=60,
    summary=summaries.reliability,
)


INSTABILITY_TEXT = Markup("""\
Entropy of the answers to several tests of one question: 0 if all agree, whatever the order of the options. A
text in which no answer is found counts as a separate answer. Samples of one prompt show how much of the
instability is due to sampling.""")
INSTABILITY = "instability"
FIRST_SAMPLE = "first_"
"""Before a temperature: the first sample of each test. A temperature without it: samples of one prompt."""
INSTABILITY_CAPTION = (
    f"tests of the same questions, clean protocol, 95{formatting.NARROW}% intervals in small print"
)
INSTABILITY_KEYS = (Column("Tests"), Column("Request type"), Column("Model"))


def _instability_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Instability over repeated tests; no blocks if no question has several tests."""
    frame = evidence.headlines
    found = set(frame.loc[(frame["dataset"] == dataset) & (frame["metric"] == INSTABILITY), "score"])
    if "" not in found:
        return []
    scores = sorted(found - {""}, key=lambda score: (not score.startswith(FIRST_SAMPLE), score))
    measures = (
        Measured(INSTABILITY),
        *(Measured(INSTABILITY, score, *_head(score)) for score in scores),
        Measured(
            "accuracy_range",
            label="Accuracy, range",
            help="largest minus smallest accuracy of a test, over the questions that have all tests",
        ),
    )
    rows = [
        (
            (variation_cell(variation), formatting.OUTPUT_NAMES[output], model),
            {"model": model, "variation": variation, "output": output},
        )
        for variation in evidence.variations(dataset)
        for output in evidence.outputs(dataset)
        for model in evidence.numbers(dataset, INSTABILITY, variation=variation, output=output)
    ]
    return [
        TableSpec("instability", INSTABILITY_CAPTION, INSTABILITY_KEYS, measures).grid(
            evidence, dataset, rows
        )
    ]


def _head(score: str) -> tuple[str, str]:
    if score.startswith(FIRST_SAMPLE):
        return (
            f"sampled, {score.removeprefix(FIRST_SAMPLE)}",
            "over one sample of each test, as in ReForm-Eval",
        )
    return f"of samples, {score}", "over samples of one prompt at that temperature"


INSTABILITY_SECTION = PageSection(
    "instability",
    "Instability",
    by_dataset("Does the model repeat its answer?", INSTABILITY_TEXT, _instability_blocks),
    page="variations",
    place=70,
    summary=summaries.instability,
)


LETTERS_TEXT = Markup("""\
A model without position bias chooses each letter about as often as it is correct. <em>Debiased</em> accuracy
uses probabilities averaged over the orders in which the options were shown; two orders remove part of the
bias.""")
DEBIASED = "accuracy_debiased"
RATES = (
    Measured("dont_know_rate", label="I don't know %", interval=False),
    Measured("none_rate", label="None of the above %", interval=False),
    Measured("tie_rate", interval=False),
    Measured(LETTER_MASS, interval=False),
    Measured(LOW_MASS_RATE, interval=False),
)


def _letters_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Preferences for letters; no blocks if the main request type of the dataset is not letters."""
    metrics = evidence.metrics(dataset)
    letters = sorted(name.removeprefix(CHOSEN) for name in metrics if name.startswith(CHOSEN))
    if not letters or evidence.outputs(dataset)[0] != LETTERS:
        return []
    sentences = sentence_list(
        _letters_sentence(evidence, dataset, model, letters) for model in evidence.models(dataset)
    )
    return [*sentences, _letters_grid(evidence, dataset, letters)]


def _letters_sentence(evidence: Evidence, dataset: str, model: str, letters: Sequence[str]) -> str:
    """The letter that is most overused, among those chosen significantly more often than correct."""
    gaps = {
        letter: claim.estimate
        for (where, who, letter), claim in overused_letters(evidence).items()
        if (where, who) == (dataset, model) and letter in letters
    }
    if not gaps:
        return ""
    letter = max(gaps, key=lambda each: gaps[each])
    chosen, correct = (evidence.number(dataset, model, name + letter) for name in (CHOSEN, RIGHT))
    assert chosen and correct
    return (
        f"{model} chooses {letter} for {formatting.percent(chosen.value)} of the questions; {letter} is "
        f"correct for {formatting.percent(correct.value)}."
    )


def debiased(evidence: Evidence, dataset: str, model: str) -> tuple[Number | None, Number | None]:
    """Accuracy in the variation of the debiased accuracy, and the debiased accuracy."""
    for variation in evidence.variations(dataset):
        number = evidence.number(dataset, model, DEBIASED, variation=variation)
        if number:
            return evidence.number(dataset, model, "accuracy", variation=variation), number
    return evidence.number(dataset, model, "accuracy"), None


def _letters_grid(evidence: Evidence, dataset: str, letters: Sequence[str]) -> Grid:
    rates = [rate for rate in RATES if evidence.numbers(dataset, rate.metric)]
    help = "how often {} is chosen, and how often it is correct"
    columns = (
        Column("Model"),
        ITEMS,
        Column("Bias %", "half the sum of the absolute differences between chosen and correct shares", True),
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
    caption = f"{dataset}: how often each letter is chosen; in small print, how often it is correct"
    return Grid("letters", caption, columns, rows)


def _share(evidence: Evidence, dataset: str, model: str, letter: str) -> Cell:
    chosen, correct = (evidence.number(dataset, model, name + letter) for name in (CHOSEN, RIGHT))
    if chosen is None:
        return MISSING
    note = formatting.number(100 * correct.value, 1) if correct else ""
    return Cell(formatting.number(100 * chosen.value, 1), note, chosen.value)


LETTERS_SECTION = PageSection(
    "letters",
    "Letters",
    by_dataset("Does it prefer a letter?", LETTERS_TEXT, _letters_blocks, opened=1),
    page="variations",
    place=80,
    summary=summaries.letters,
)
