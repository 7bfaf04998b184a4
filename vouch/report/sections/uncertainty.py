"""Which uncertainty estimate tells right answers from wrong ones."""

import re

from markupsafe import Markup

from vouch.metrics.calibration.certainty import CONFIDENCE
from vouch.metrics.text.texts import VERBALISED
from vouch.report import formatting
from vouch.report.evidence import Evidence
from vouch.report.section import Block, by_dataset
from vouch.report.table import MISSING, Cell, Column, Grid, cells, whole
from vouch.tables.asked import P_TRUE

TITLE = "Uncertainty estimates"
TEXT = Markup("""\
AUROC of every uncertainty estimate on the same answers to the original prompts, and in small print
how much that is over plain confidence, in points, with a paired 95&#8239;% interval; in bold where it leaves
out 0.""")
ESTIMATES = {
    CONFIDENCE: ("Confidence", "probability of the option; of a text exp(−NLL) of its tokens"),
    "entropy": ("Entropy", "of the options; of a text the mean before its tokens"),
    "corrected": ("Without words", "confidence after what the words alone say is divided out"),
    "vauq": ("VAUQ", "entropy minus half the image information"),
    "variations": ("Variations", "semantic entropy of the answers to reworded and disturbed prompts"),
    "agreement": ("Agreement", "share of the samples that give the same answer"),
    "semantic_entropy": ("Semantic entropy", "of the answers of the samples"),
    "vase": ("VASE", "semantic entropy with what samples for a blurred picture say taken off"),
    P_TRUE: ("P(true)", "probability that the model gives to its answer being true when asked"),
    VERBALISED: ("Stated", "confidence that the text states"),
}
_SAMPLED = re.compile(r"(.+)_t([0-9.e-]+)")


def _column(estimate: str) -> Column:
    sampled = _SAMPLED.fullmatch(estimate)
    label, help = ESTIMATES[sampled[1] if sampled else estimate]
    at = f", temperature {sampled[2]}" if sampled else ""
    return Column(f"{label} AUROC %", help + at, True)


def _cell(evidence: Evidence, dataset: str, model: str, output: str, estimate: str) -> Cell:
    number = evidence.number(dataset, model, "uncertainty_auroc", estimate, output=output)
    gain = evidence.number(dataset, model, "uncertainty_gain", estimate, output=output)
    if number is None:
        return MISSING
    text = formatting.number(100 * number.value, 1)
    if gain is None:
        return Cell(text, key=number.value)
    ends = formatting.bracketed(gain.low, gain.high, 1, 100)
    note = f"{formatting.number(100 * gain.value, 1)}{ends}"
    return Cell(text, note, number.value, tone="strong" if gain.excludes_zero else "")


def _blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing where there is but one sign."""
    frame = evidence.headlines
    frame = frame[(frame["dataset"] == dataset) & (frame["metric"] == "uncertainty_auroc")]
    blocks: list[Block] = []
    for output in evidence.outputs(dataset):
        known = set(frame.loc[frame["output"] == output, "score"])
        order = list(ESTIMATES)
        estimates = sorted(
            known, key=lambda name: (order.index(m[1] if (m := _SAMPLED.fullmatch(name)) else name), name)
        )
        rows = []
        for model in evidence.models(dataset):
            plain = evidence.number(dataset, model, "uncertainty_auroc", CONFIDENCE, output=output)
            if plain is not None:
                values = (_cell(evidence, dataset, model, output, estimate) for estimate in estimates)
                rows.append(cells(model, whole(plain.items), *values))
        if rows:
            columns = [Column("Model"), Column("Items", "of which all estimates are known", True)]
            caption = f"{dataset}: uncertainty estimates, {output}"
            blocks.append(Grid(f"uncertainty-{output}", caption, [*columns, *map(_column, estimates)], rows))
    return blocks


build = by_dataset("Which uncertainty estimate tells right from wrong?", TEXT, _blocks, opened=1)
