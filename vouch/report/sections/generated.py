"""Generated answers: open questions and choices answered in words, and how certain the model was of them."""

from markupsafe import Markup

from vouch.metrics.comparison.leaderboard import READING
from vouch.metrics.text.texts import VERBALISED
from vouch.report import formatting
from vouch.report.asides import undecided
from vouch.report.evidence import Evidence
from vouch.report.section import Block, Text, by_dataset
from vouch.report.table import Column, Measured, TableSpec
from vouch.tables.asked import TEXT as OUTPUT

TITLE = "In words"
TEXT = Markup("""\
Texts that the models generated, for questions without options and for options answered in words. A text in
which no answer is found, or that names several options, counts as wrong, so the rates of such texts stand
beside the accuracy.""")
CAPTION = f"generated answers, clean protocol, 95{formatting.NARROW}% intervals in small print"
COLUMNS = (
    Measured("accuracy", help="what is unparsed, refused or names several options is not right"),
    *map(Measured, READING),
    Measured("nll_avg", help="mean negative log-likelihood per token, nats; lower is more certain"),
    Measured("ent_avg"),
    Measured("ece", help="gap between exp(−NLL) and accuracy"),
)
# Metrics of samples, whose score is the temperature.
SAMPLED = {
    "agreement": ("Agreement %", "share of samples equal to the greedy text"),
    "sample_bleu": ("Sample-BLEU %", "words that samples share with the greedy text"),
}


# Metrics of confidence, whose score says what it rests on.
CONFIDENCE = {"ece": "ECE %", "brier_answer": "Brier", "auroc": "AUROC %"}


def _confidence(metric: str, score: str) -> Measured:
    label = CONFIDENCE[metric]
    if score == VERBALISED:
        return Measured(metric, score, f"{label}, stated", "of the confidence that the text states")
    told = f"of the share of samples that give the same answer, temperature {score.removeprefix('t')}"
    return Measured(metric, score, f"{label}, agreement", told)


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where no texts were generated."""
    if OUTPUT not in evidence.outputs(dataset):
        return []
    rates = evidence.numbers(dataset, "unparsed_rate", output=OUTPUT)
    warnings = [Text(said, "warning") for said in undecided(evidence, dataset)]
    frame = evidence.headlines
    frame = frame[(frame["dataset"] == dataset) & (frame["output"] == OUTPUT)]
    here = frame[frame["metric"].isin(list(SAMPLED))]
    sure = frame[frame["metric"].isin(list(CONFIDENCE)) & (frame["score"] != "")]
    stated = [_confidence(*one) for one in sorted(set(zip(sure["metric"], sure["score"], strict=True)))]
    sampled = [
        Measured(
            metric, score, SAMPLED[metric][0], f"{SAMPLED[metric][1]}, temperature {score.removeprefix('t')}"
        )
        for metric, score in sorted(set(zip(here["metric"], here["score"], strict=True)))
    ]
    spec = TableSpec("generated", CAPTION, (Column("Model"),), (*COLUMNS, *sampled, *stated))
    rows = [((model,), {"model": model, "output": OUTPUT}) for model in rates]
    return [*warnings, spec.grid(evidence, dataset, rows)]


build = by_dataset("Answers in words", TEXT, _blocks, opened=1)
