"""Generated answers: open questions and choices answered in words, and how sure the model was of them."""

from dataclasses import dataclass

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.grid import Cell, Column, Grid, figure, whole
from vouch.tables.prompts import TEXT

TITLE = "In words"

# label, help, metric, decimals, scale
SHOWN = (
    ("Accuracy %", "an answer that is unparsed or refused is not right", "accuracy", 1, 100.0),
    ("Unparsed %", "texts in which no answer is found", "unparsed_rate", 1, 100.0),
    ("Refused %", "texts that decline to answer", "refusal_rate", 1, 100.0),
    ("NLL", "mean negative log-likelihood of a text's tokens, nats: less is surer", "nll_avg", 3, 1.0),
    ("Entropy %", "mean entropy before a token, of the largest possible: less is surer", "ent_avg", 1, 100.0),
    ("ECE %", "gap between exp(−NLL) and accuracy", "ece", 1, 100.0),
)
# Metrics of samples, whose score is the temperature.
SAMPLED = {
    "agreement": ("Agreement %", "share of samples that are the greedy text"),
    "sample_bleu": ("Sample-BLEU %", "words that samples share with the greedy text"),
}


@dataclass(frozen=True)
class DatasetGenerated:
    """warnings: sentences a reader must see before the table."""

    dataset: str
    warnings: tuple[str, ...]
    grid: Grid


def build(evidence: Evidence) -> tuple[DatasetGenerated, ...]:
    """One part per dataset on which texts were generated."""
    wanted = [dataset for dataset in evidence.datasets if TEXT in evidence.outputs(dataset)]
    return tuple(DatasetGenerated(d, _warnings(evidence, d), _grid(evidence, d)) for d in wanted)


def _warnings(evidence: Evidence, dataset: str) -> tuple[str, ...]:
    said = []
    for model in evidence.models(dataset):
        number = evidence.number(dataset, model, "unparsed_rate", output=TEXT)
        if number and number.value > 0:
            said.append(f"No answer was found in {formatting.percent(number.value)} of the texts of {model}.")
    return tuple(said)


def _grid(evidence: Evidence, dataset: str) -> Grid:
    frame = evidence.headlines
    here = frame[
        (frame["dataset"] == dataset) & (frame["output"] == TEXT) & frame["metric"].isin(list(SAMPLED))
    ]
    sampled = sorted(set(zip(here["metric"], here["score"], strict=True)))
    columns = [Column("Model"), Column("Texts", "", True)]
    columns += [Column(label, note, True) for label, note, *_ in SHOWN]
    columns += [
        Column(SAMPLED[metric][0], f"{SAMPLED[metric][1]}, temperature {score.removeprefix('t')}", True)
        for metric, score in sampled
    ]
    rows = []
    for model in evidence.models(dataset):
        rate = evidence.number(dataset, model, "unparsed_rate", output=TEXT)
        if rate is None:
            continue
        cells = [
            figure(evidence.number(dataset, model, metric, output=TEXT), digits, scale)
            for _, _, metric, digits, scale in SHOWN
        ]
        cells += [figure(evidence.number(dataset, model, *pair, output=TEXT), 1, 100) for pair in sampled]
        rows.append([Cell(model), whole(rate.items), *cells])
    caption = f"{dataset}: generated answers, clean protocol, 95{formatting.NARROW}% intervals in small print"
    return Grid("generated", caption, columns, rows)
