"""The datasets and measures of Azad et al. 2025; tables 1 to 4 and 7."""

from collections.abc import Sequence
from dataclasses import replace

from vouch.report import formatting
from vouch.report.reproduce.entry import Better, Built, Lookup, Measure, listing, named
from vouch.report.reproduce.pivot import Layout, by_dataset
from vouch.report.table import Cell, Column, cells

DATASETS = {
    "ai2d": "AI2D",
    "scienceqa": "ScienceQA",
    "mathvision": "MathVision",
    "worldmedqa_v": "WorldMedQA-V",
    "mmmu": "MMMU",
    "mmmu_pro": "MMMU-Pro",
}


def _of_scores(metric: str, scale: float, better: Better) -> tuple[Measure, ...]:
    """The metric of each score; the margin score is no part of the faithful protocol."""
    return (
        Measure("LAC", metric, "lac", scale=scale, better=better),
        Measure("MS", metric, "margin", scale=scale, better=better, only="clean"),
        Measure("APS", metric, "aps", scale=scale, better=better),
    )


ACCURACY = Measure("Acc", "accuracy", better="high")
SIZES = _of_scores("set_size", 1, "low")
COVERAGES = _of_scores("coverage", 100, "")
ENTROPY = Measure("Entropy", "entropy", digits=3, scale=1, better="low", only="clean")


def table(caption: str, measures: Sequence[Measure], lookup: Lookup) -> Built:
    """Tables 1 to 4; says which scores were not computed."""
    layout = Layout(caption, measures, lookup.models({}), {})
    built = by_dataset(lookup, lookup.long(measures), DATASETS, layout)
    lacking = [measure.label for measure in measures if lookup.of(measure).empty]
    said = []
    if lacking:
        said.append(f"{formatting.listed(lacking)} was not computed (score.scores).")
    clean = [measure.label for measure in measures if measure.only and measure.label not in lacking]
    if clean and len(clean) + len(lacking) < len(measures):
        said.append(
            f"{formatting.listed(clean)} is of the clean protocol: compare it with the small print of the "
            "others, which is, too."
        )
    return replace(built, sentences=said)


def counts(lookup: Lookup) -> Built:
    """Table 7, with the options of a question and how they are spread."""
    items = lookup.evidence.items
    printed = {row["dataset"]: int(row["questions"]) for row in lookup.printed("azad_7")}
    body = []
    for name, label in lookup.datasets(DATASETS).items():
        here = items[items["dataset"] == name]
        if len(here):
            options = sorted({here["options"].map(len).min(), here["options"].map(len).max()})
            flagged = int((here["flags"].map(len) > 0).sum())
            known = printed.get(name)
            theirs = Cell(formatting.count(known), key=float(known)) if known else Cell("–", tone="quiet")
            body.append(cells(named(name, label), len(here), theirs, "–".join(map(str, options)), flagged))
    heads = (
        Column("Dataset"),
        Column("Questions", "", True),
        Column("Published", "in the paper, rounded to tens", True),
        Column("Options", "of a question, without those that the template adds"),
        Column("Flagged", "by cleaning, left out of the clean protocol where defective", True),
    )
    return listing("questions by dataset", heads, body, "no items of the datasets are known")
