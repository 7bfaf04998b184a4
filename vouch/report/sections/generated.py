"""Generated answers: open questions and choices answered in words, and how certain the model was of them."""

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.section import Block, Part, Section, Text
from vouch.report.table import Column, Grid, Measured, TableSpec
from vouch.tables.prompts import TEXT as OUTPUT

TITLE = "In words"
HEADING = "Answers in words"
TEXT = Markup("""\
Texts that the models generated, for questions without options and for options answered in words. A text in
which no answer is found counts as wrong, so the rate of such texts stands beside the accuracy.""")
CAPTION = f"generated answers, clean protocol, 95{formatting.NARROW}% intervals in small print"
COLUMNS = (
    Measured("accuracy", help="an answer that is unparsed or refused is not right"),
    Measured("unparsed_rate"),
    Measured("refusal_rate"),
    Measured("nll_avg", help="mean negative log-likelihood per token, nats; lower is more certain"),
    Measured("ent_avg"),
    Measured("ece", help="gap between exp(−NLL) and accuracy"),
)
# Metrics of samples, whose score is the temperature.
SAMPLED = {
    "agreement": ("Agreement %", "share of samples equal to the greedy text"),
    "sample_bleu": ("Sample-BLEU %", "words that samples share with the greedy text"),
}


def build(evidence: Evidence) -> Section | None:
    """One part per dataset on which texts were generated."""
    wanted = [dataset for dataset in evidence.datasets if OUTPUT in evidence.outputs(dataset)]
    parts = [Part(d, [*_warnings(evidence, d), _grid(evidence, d)]) for d in wanted]
    return Section(HEADING, TEXT, parts) if parts else None


def _warnings(evidence: Evidence, dataset: str) -> list[Block]:
    rates = {m: evidence.number(dataset, m, "unparsed_rate", output=OUTPUT) for m in evidence.models(dataset)}
    return [
        Text(f"No answer was found in {formatting.percent(rate.value)} of the texts of {model}.", "warning")
        for model, rate in rates.items()
        if rate and rate.value > 0
    ]


def _grid(evidence: Evidence, dataset: str) -> Grid:
    frame = evidence.headlines
    here = frame[
        (frame["dataset"] == dataset) & (frame["output"] == OUTPUT) & frame["metric"].isin(list(SAMPLED))
    ]
    sampled = [
        Measured(
            metric, score, SAMPLED[metric][0], f"{SAMPLED[metric][1]}, temperature {score.removeprefix('t')}"
        )
        for metric, score in sorted(set(zip(here["metric"], here["score"], strict=True)))
    ]
    spec = TableSpec("generated", CAPTION, (Column("Model"), Column("Texts", "", True)), (*COLUMNS, *sampled))
    rows = [
        ((model, rate.items), {"model": model, "output": OUTPUT})
        for model in evidence.models(dataset)
        if (rate := evidence.number(dataset, model, "unparsed_rate", output=OUTPUT))
    ]
    return spec.grid(evidence, dataset, rows)
