"""The page Models, in detail: conformal scores, categories, dimensions, outputs and generated texts."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd
from markupsafe import Markup

from vouch.metrics.conformal.scores import SCORES
from vouch.metrics.unranked import READING
from vouch.report import formatting
from vouch.report.caveats import undecided
from vouch.report.claims import chosen, differing_outputs
from vouch.report.evidence import MARGINAL, Evidence
from vouch.report.gates import MINIMUM
from vouch.report.leaders import representative
from vouch.report.numbers import Number, Numbers
from vouch.report.page import Block, Folded, PageSection, Part, Section, Text, by_dataset, sentence_list
from vouch.report.table import (
    MISSING,
    Cell,
    Column,
    Grid,
    Measured,
    TableSpec,
    Tone,
    cells,
    figure,
    percent,
    rounded,
)
from vouch.tables.asked import ORIGINAL, OUTPUTS, VERBALISED
from vouch.tables.asked import TEXT as OUTPUT
from vouch.tables.results import OVERALL

SCORES_TEXT = Markup("""\
A score ranks the options of a question, and a threshold from the calibration questions turns the ranking into
a set. All scores have the same coverage guarantee. A better score has smaller sets and keeps its coverage at
every set size.""")
SCORE_NAMES = {name: score.label for name, score in SCORES.items()}
THRESHOLD_KINDS = {
    MARGINAL: "all questions",
    "class": "each letter",
    "category": "each category",
    "options": "each number of options",
}


def _below(evidence: Evidence, coverage: Number) -> Tone:
    """Marks coverage whose interval is below the target."""
    return "bad" if coverage.high is not None and coverage.high < evidence.target else ""


SCORES_TABLE = TableSpec(
    "scores",
    "every score on the same splits, intervals over the splits in small print",
    (Column("Model"), Column("Score")),
    (
        Measured("set_size"),
        Measured(
            "coverage",
            help="share of sets that contain the correct answer; coloured if the interval is below target",
            tone=_below,
        ),
        Measured("worst_size_coverage"),
        Measured("singleton_rate"),
        Measured("empty_rate"),
    ),
)
UNCALIBRATED = Measured(
    "infinite_threshold_rate",
    label="No threshold %",
    help="splits and strata with too few questions to calibrate",
)


def _scores_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Prediction sets by nonconformity score; no blocks if there are no sets."""
    here = evidence.headlines_of(dataset)
    found = set(here.loc[(here["metric"] == "set_size") & (here["protocol"] == "clean"), "score"])
    known = [name for name in SCORE_NAMES if name in found]
    scores = [*known, *sorted(found - {*known, "mean", ""})]
    if not scores:
        return []
    sentences = sentence_list(
        _smallest(evidence, dataset, model, scores) for model in chosen(evidence, dataset)
    )
    kinds = _kinds(evidence, dataset)
    folded = [Folded("Separate thresholds for groups of questions", [kinds])] if kinds else []
    return [*sentences, Folded("Every score", [_scores_grid(evidence, dataset, scores)]), *folded]


def _smallest(evidence: Evidence, dataset: str, model: str, scores: Sequence[str]) -> str:
    """The score with the smallest sets, if its interval over the splits is below that of the largest."""
    sizes = {s: n for s in scores if (n := evidence.number(dataset, model, "set_size", s))}
    if len(sizes) < 2 or evidence.is_small(dataset) or not evidence.calibrated(dataset, model):
        return ""
    best, worst = min(sizes, key=lambda s: sizes[s].value), max(sizes, key=lambda s: sizes[s].value)
    if sizes[best].ends[1] >= sizes[worst].ends[0]:
        return ""
    return (
        f"{model}: the smallest sets are those of {SCORE_NAMES.get(best, best)}, with "
        f"{formatting.number(sizes[best].value, 2)} options on average; the largest those of "
        f"{SCORE_NAMES.get(worst, worst)}, with {formatting.number(sizes[worst].value, 2)}."
    )


def _scores_grid(evidence: Evidence, dataset: str, scores: Sequence[str]) -> Grid:
    rows = [
        ((model, SCORE_NAMES.get(score, score)), {"model": model, "score": score})
        for model in evidence.models(dataset)
        for score in scores
        if evidence.number(dataset, model, "set_size", score)
    ]
    return SCORES_TABLE.grid(evidence, dataset, rows)


def _kinds(evidence: Evidence, dataset: str) -> Grid | None:
    """LAC sets with one threshold for all questions or for each group; None if all always share one."""
    frame = evidence.leaderboard
    frame = frame[
        (frame["dataset"] == dataset)
        & (frame["output"] == evidence.outputs(dataset)[0])
        & (frame["variation"] == evidence.variations(dataset)[0])
        & (frame["protocol"] == "clean")
        & (frame["category"] == "all")
        & ((frame["alpha"] - evidence.scoring.alpha).abs() < 1e-9)
        & frame["score"].isin(("lac", ""))
        & frame["value"].notna()
    ]
    found = Numbers(frame, ("model", "calibration", "metric"))
    kinds = [kind for kind in THRESHOLD_KINDS if (frame["calibration"] == kind).any()]
    if len(kinds) < 2:
        return None
    shown = (*SCORES_TABLE.measures[:3], UNCALIBRATED)
    columns = [Column("Model"), Column("One threshold for"), *(each.column for each in shown)]
    rows = [
        cells(
            *(model, THRESHOLD_KINDS[kind]),
            *(figure(found.get((model, kind, each.metric)), *each.unit) for each in shown),
        )
        for model in evidence.models(dataset)
        for kind in kinds
        if found.get((model, kind, "set_size"))
    ]
    return Grid("kinds", f"{dataset}: LAC sets by which questions share a threshold", columns, rows)


SCORES_SECTION = PageSection(
    "scores",
    "Scores",
    by_dataset("Which score gives the most informative sets?", SCORES_TEXT, _scores_blocks, opened=1),
    page="models",
    place=20,
)


CATEGORIES_MEASURES = (("accuracy", ""), ("set_size", "lac"), ("coverage", "lac"))
CATEGORIES_OF_ALL = (
    Column(
        "Accuracy %, all models",
        f"mean over the models with at least {MINIMUM} questions, each counted once, without language models "
        "if there are images",
        True,
    ),
    Column("Set size LAC, all models", "the same, over models that can be calibrated", True),
)


def _categories_mean(
    evidence: Evidence, dataset: str, category: str, metric: str, score: str = ""
) -> float | None:
    """The mean over the models; blind baselines and models with fewer than MINIMUM questions are left out."""
    blind = evidence.blind(dataset)
    known = [
        number.value
        for model, number in evidence.numbers(dataset, metric, score, category=category).items()
        if (number.items >= MINIMUM and model not in blind)
        and (not score or evidence.calibrated(dataset, model, category=category))
    ]
    return sum(known) / len(known) if known else None


def _categories_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """The categories with the largest prediction sets first; nothing if there are fewer than two."""
    categories = evidence.categories(dataset)
    if len(categories) < 2:
        return []
    model = representative(evidence, dataset)
    text = (
        f"Numbers of {model}, and the mean over all models. Each category is split and calibrated "
        "separately, so numbers of small categories are imprecise, and a category with too few questions "
        "has no sets."
    )
    measures = [Measured(metric, score, help=f"of {model}") for metric, score in CATEGORIES_MEASURES]
    columns = (
        Column("Category", "as the source names it"),
        Column("Items", "", True),
        *(each.column for each in measures),
        *CATEGORIES_OF_ALL,
    )
    rows = [_row(evidence, dataset, category, model, measures) for category in categories]
    rows.sort(key=lambda row: (-(row[3].key or 0), row[0].text))
    return [Text(text), Grid("categories", f"{dataset}: categories, largest sets first", columns, rows)]


def _row(
    evidence: Evidence, dataset: str, category: str, model: str, measures: Sequence[Measured]
) -> list[Cell]:
    accuracy = evidence.number(dataset, model, "accuracy", category=category)
    return cells(
        category,
        accuracy.items if accuracy else MISSING,
        *(each.cell(evidence, dataset, model, category=category) for each in measures),
        percent(_categories_mean(evidence, dataset, category, "accuracy")),
        rounded(_categories_mean(evidence, dataset, category, "set_size", "lac"), 2),
    )


CATEGORIES_SECTION = PageSection(
    "categories",
    "Categories",
    by_dataset("Where are the models uncertain?", Markup(""), _categories_blocks, opened=1),
    page="models",
    place=30,
)


DIMENSIONS_HEADING = "Dimensions"
DIMENSIONS_TEXT = Markup(
    """\
Accuracy in each category over all datasets that have it, every dataset counted once, with the models' ranks,
as in the summary of ReForm-Eval (Li et al. 2023). The last row is the mean over the dimensions. Ranks compare
the values alone, without intervals, and only if there are at least {MINIMUM} independent groups of
questions; the best value is in bold.""".replace("{MINIMUM}", str(MINIMUM))
)


def build_dimensions(evidence: Evidence) -> Section | None:
    """A part for each request type with at least two dimensions: original prompts, clean protocol."""
    frame = evidence.dimensions
    frame = frame[(frame["variation"] == ORIGINAL) & (frame["protocol"] == "clean") & (frame["score"] == "")]
    found: list[Part] = []
    for output in OUTPUTS:
        here = frame[frame["output"] == output]
        if here.loc[here["dimension"] != OVERALL, "dimension"].nunique() > 1:
            name = formatting.OUTPUT_NAMES[output]
            grid = _dimensions_grid(name, here, _questions(evidence, output))
            found.append(Part(f"By {name}", [grid], folds=True, opens=not found))
    return Section(DIMENSIONS_HEADING, DIMENSIONS_TEXT, found) if found else None


DIMENSIONS_SECTION = PageSection("dimensions", "Dimensions", build_dimensions, page="models", place=40)


def _questions(evidence: Evidence, output: str) -> dict[str, int]:
    """Independent groups of questions by dimension and overall, on the datasets with this request type."""
    having = [name for name in evidence.datasets if output in evidence.outputs(name)]
    items = evidence.items[evidence.items["dataset"].isin(having)]
    counts = items.drop_duplicates(["category", "dataset", "group"])["category"].value_counts()
    every = len(items[items["category"] != ""].drop_duplicates(["dataset", "group"]))
    return {OVERALL: every, **{str(category): int(count) for category, count in counts.items()}}


def _dimensions_grid(name: str, frame: pd.DataFrame, questions: Mapping[str, int]) -> Grid:
    models = sorted(frame["model"].unique())
    fewest = min(questions.get(each, 0) for each in frame["dimension"].unique() if each != OVERALL)
    counted = {**questions, OVERALL: fewest}
    few = questions[OVERALL] < MINIMUM
    found = {
        (dimension, model): _dimensions_cell(
            math.nan if few and dimension == OVERALL else value,
            rank if counted.get(dimension, 0) >= MINIMUM else math.nan,
        )
        for dimension, model, value, rank in zip(
            *(frame[column].tolist() for column in ("dimension", "model", "value", "rank")), strict=True
        )
    }
    parts = frame.groupby("dimension")["parts"].max()
    dimensions = sorted(map(str, parts.index), key=lambda dimension: (dimension == OVERALL, dimension))
    rows = [
        cells(
            dimension,
            int(parts[dimension]),
            questions.get(dimension, MISSING),
            *(found.get((dimension, model), MISSING) for model in models),
        )
        for dimension in dimensions
    ]
    columns = (
        Column("Dimension", "a category; the last row is the mean over all of them"),
        Column("Datasets", "that have it; in the last row, the number of dimensions", True),
        Column("Groups", "independent groups of questions, each counted once overall", True),
        *(Column(f"{model} %", "accuracy, and the model's rank in small print", True) for model in models),
    )
    caption = f"By {name}: mean accuracy over the datasets of each dimension"
    if few:
        caption += f"; no mean over the dimensions with fewer than {MINIMUM} groups"
    every = [each for each in dimensions if not (few and each == OVERALL)]
    if any(found.get((dimension, model), MISSING) is MISSING for dimension in every for model in models):
        caption += "; a dash if the model has not answered all of them"
    return Grid("dimensions", caption, columns, rows)


def _dimensions_cell(value: float, rank: float) -> Cell:
    if pd.isna(value):
        return MISSING
    note = "" if pd.isna(rank) else f"#{rank:.2g}"
    return Cell(formatting.number(100 * value, 1), note, float(value), tone="strong" if rank == 1 else "")


OUTPUTS_TEXT = Markup("""\
A model can be asked for the letter of an option, for the likelihood of each option's text, or for an answer
in its own words. A likelihood is a sum over the tokens of an option, which favours short options; accuracies
by the mean per token and per byte are shown as well. A generated text has no prediction set.""")
OUTPUTS_TABLE = TableSpec(
    "outputs",
    "the same questions by request type, clean protocol",
    (Column("Model"), Column("Request type")),
    (
        Measured("accuracy", help="a text in which no answer is found counts as wrong"),
        Measured("accuracy_per_token"),
        Measured("accuracy_per_byte"),
        Measured("set_size", "lac"),
        Measured("coverage", "lac", help="share of LAC sets that contain the correct answer"),
        Measured("ece"),
        *(Measured(metric, interval=False) for metric in READING),
    ),
)


def _outputs_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """The request types compared; no blocks if there is only one."""
    asked = evidence.outputs(dataset)
    if len(asked) < 2:
        return []
    accuracy = {output: evidence.numbers(dataset, "accuracy", output=output) for output in asked}
    models = evidence.models(dataset)
    found = {m: {output: of[m] for output, of in accuracy.items() if m in of} for m in models}
    rows = [
        ((model, formatting.OUTPUT_NAMES[output]), {"model": model, "output": output})
        for model in models
        for output in found[model]
    ]
    sentences = sentence_list(
        _outputs_sentence(evidence, dataset, model, numbers) for model, numbers in found.items()
    )
    return [*sentences, OUTPUTS_TABLE.grid(evidence, dataset, rows)]


def _outputs_sentence(evidence: Evidence, dataset: str, model: str, numbers: Mapping[str, Number]) -> str:
    """The best and the worst request type of a model, if they differ significantly."""
    if (dataset, model) not in differing_outputs(evidence):
        return ""
    ordered = sorted(numbers, key=lambda output: -numbers[output].value)
    best, worst = (
        (formatting.percent(numbers[output].value), formatting.OUTPUT_NAMES[output])
        for output in (ordered[0], ordered[-1])
    )
    return f"{model} answers {best[0]} of the questions correctly by {best[1]}, but {worst[0]} by {worst[1]}."


OUTPUTS_SECTION = PageSection(
    "outputs",
    "Request types",
    by_dataset("Does it matter how the answer is requested?", OUTPUTS_TEXT, _outputs_blocks, opened=1),
    page="models",
    place=50,
)


GENERATED_TEXT = Markup("""\
Texts that the models generated, for questions without options and for questions with options answered in
words. A text in which no answer is found, or that names several options, counts as wrong; the rates of such
texts are shown next to the accuracy.""")
GENERATED_CAPTION = f"generated answers, clean protocol, 95{formatting.NARROW}% intervals in small print"
GENERATED_COLUMNS = (
    Measured("accuracy", help="unparsed texts, refusals and texts that name several options count as wrong"),
    *map(Measured, READING),
    Measured("nll_avg", help="mean negative log-likelihood per token, nats; lower is more certain"),
    Measured("ent_avg"),
    Measured("ece", help="gap between exp(−NLL) and accuracy"),
)
# The score of these metrics is the temperature of the samples.
SAMPLED_LABELS = {
    "agreement": ("Agreement %", "share of samples equal to the greedy text"),
    "sample_bleu": ("Sample-BLEU %", "share of words that samples have in common with the greedy text"),
}


# The score of these metrics is the source of the confidence.
CONFIDENCE_LABELS = {"ece": "ECE %", "brier_answer": "Brier", "auroc": "AUROC %"}


def _confidence(metric: str, score: str) -> Measured:
    label = CONFIDENCE_LABELS[metric]
    if score == VERBALISED:
        return Measured(metric, score, f"{label}, stated", "of the confidence that the text states")
    help = f"of the share of samples that give the same answer, temperature {score.removeprefix('t')}"
    return Measured(metric, score, f"{label}, agreement", help)


def _generated_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Numbers of generated texts; no blocks if no texts were generated."""
    if OUTPUT not in evidence.outputs(dataset):
        return []
    rates = evidence.numbers(dataset, "unparsed_rate", output=OUTPUT)
    warnings = [Text(warning, "warning") for warning in undecided(evidence, dataset)]
    frame = evidence.headlines
    frame = frame[(frame["dataset"] == dataset) & (frame["output"] == OUTPUT)]
    here = frame[frame["metric"].isin(list(SAMPLED_LABELS))]
    sure = frame[frame["metric"].isin(list(CONFIDENCE_LABELS)) & (frame["score"] != "")]
    stated = [_confidence(*one) for one in sorted(set(zip(sure["metric"], sure["score"], strict=True)))]
    sampled = [
        Measured(
            metric,
            score,
            SAMPLED_LABELS[metric][0],
            f"{SAMPLED_LABELS[metric][1]}, temperature {score.removeprefix('t')}",
        )
        for metric, score in sorted(set(zip(here["metric"], here["score"], strict=True)))
    ]
    spec = TableSpec(
        "generated", GENERATED_CAPTION, (Column("Model"),), (*GENERATED_COLUMNS, *sampled, *stated)
    )
    rows = [((model,), {"model": model, "output": OUTPUT}) for model in rates]
    return [*warnings, spec.grid(evidence, dataset, rows)]


GENERATED_SECTION = PageSection(
    "generated",
    "Generated texts",
    by_dataset("Generated answers", GENERATED_TEXT, _generated_blocks, opened=1),
    page="models",
    place=60,
)
