"""How steady answers are: over all prompts, over several tests of one question, and over letters."""

from collections.abc import Sequence

from markupsafe import Markup

from vouch.metrics.join import LETTER_MASS, LOW_MASS_RATE
from vouch.report import formatting
from vouch.report.claims import CHOSEN, RIGHT, overused_letters
from vouch.report.costs import variation_cell
from vouch.report.evidence import Evidence, Number
from vouch.report.page import Block, PageSection, by_dataset, said
from vouch.report.table import ITEMS, MISSING, Cell, Column, Grid, Measured, TableSpec, cells, figure
from vouch.tables.asked import LETTERS

ROBUSTNESS_TEXT = Markup("""\
Accuracy and consistency are relative to guessing, so that questions with two and with five options can be
compared, and variations that keep the answer with those that flip it. A <em>consistent</em> answer follows
the one to the original prompt: the same where the variation keeps the correct answer, another one where it
flips it. <em>Reliability</em> is certainty, negative where a model is right less often than a guess.""")
EVERY_PROMPT = ("", "every_prompt")
"""Variation and score of the mean over prompts."""
ROBUSTNESS_TABLE = TableSpec(
    "robustness",
    f"relative to guessing, clean protocol, 95{formatting.NARROW}% intervals in small print",
    (Column("Prompt"), Column("Model")),
    tuple(map(Measured, ("reliability", "accuracy_calibrated", "certainty", "consistency_calibrated"))),
)


def _robustness_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no prompts were compared with the original ones."""
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
        if any(
            each.number(evidence, dataset, model, variation=variation, score=score)
            for each in ROBUSTNESS_TABLE.measures
        )
    ]
    return [ROBUSTNESS_TABLE.grid(evidence, dataset, rows)]


ROBUSTNESS_SECTION = PageSection(
    "robustness",
    "Reliability",
    by_dataset("Is it certain where it is right?", ROBUSTNESS_TEXT, _robustness_blocks, opened=0),
)


INSTABILITY_TEXT = Markup("""\
Entropy of the answers to several tests of one question: 0 where all agree, wherever the options stand. A
text in which no answer is found counts as an answer of its own. Samples of one prompt show how much of the
instability is due to sampling.""")
INSTABILITY = "instability"
FIRST_SAMPLE = "first_"
"""Before a temperature: of the first sample of each test. A temperature alone: of samples of one prompt."""
INSTABILITY_CAPTION = (
    f"tests of the same questions, clean protocol, 95{formatting.NARROW}% intervals in small print"
)
INSTABILITY_KEYS = (Column("Tests"), Column("Output"), Column("Model"))


def _instability_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no question has several tests."""
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
            help="largest minus smallest accuracy of a test, over the questions that have all of them",
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
        return f"sampled, {score.removeprefix(FIRST_SAMPLE)}", "of one sample of each test, as in ReForm-Eval"
    return f"of samples, {score}", "the same over samples of one prompt, at that temperature"


INSTABILITY_SECTION = PageSection(
    "instability",
    "Instability",
    by_dataset("Does the model repeat its answer?", INSTABILITY_TEXT, _instability_blocks),
)


LETTERS_TEXT = Markup("""\
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


def _letters_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where the headlines do not rest on letters."""
    metrics = evidence.metrics(dataset)
    letters = sorted(name.removeprefix(CHOSEN) for name in metrics if name.startswith(CHOSEN))
    if not letters or evidence.outputs(dataset)[0] != LETTERS:
        return []
    told = said(_letters_sentence(evidence, dataset, model, letters) for model in evidence.models(dataset))
    return [*told, _letters_grid(evidence, dataset, letters)]


def _letters_sentence(evidence: Evidence, dataset: str, model: str, letters: Sequence[str]) -> str:
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


def _letters_grid(evidence: Evidence, dataset: str, letters: Sequence[str]) -> Grid:
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


LETTERS_SECTION = PageSection(
    "letters", "Letters", by_dataset("Does it prefer a letter?", LETTERS_TEXT, _letters_blocks, opened=1)
)
