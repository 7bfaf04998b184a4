"""The page Models: for each dataset the headline table, and what must be said beside it.

Its two figures are in models_figures.py, its other sections in models_detail.py.
"""

from dataclasses import replace

from markupsafe import Markup

from vouch.report import formatting
from vouch.report.blind import NOTE as BLIND_NOTE
from vouch.report.blind import answered, beaten
from vouch.report.caveats import NOTE, by_letters_elsewhere, left_out, undecided
from vouch.report.claims import above_chance, baselines
from vouch.report.evidence import Evidence
from vouch.report.gates import MINIMUM, ONLY_SHARES
from vouch.report.leaders import leaders, why_no_leader
from vouch.report.numbers import Number
from vouch.report.page import (
    Beside,
    Block,
    Figures,
    Page,
    PageSection,
    Part,
    Section,
    Text,
    by_dataset,
)
from vouch.report.pages.ranking import detectable_in_words
from vouch.report.table import (
    MISSING,
    Cell,
    Column,
    Grid,
    Row,
    TableSpec,
    Tone,
    cells,
    figure,
    model_cell,
    ranges,
    rank_cell,
    rounded,
)
from vouch.report.table_files import HEADLINES, OPTIONAL
from vouch.tables.asked import TEXT as OUTPUT

RESULTS_HEADING = "Results"
RESULTS_TEXT = Markup("""\
Clean protocol: copies of a question stay on one side of every split, and numbers have intervals. A rank of
<em>1–3</em> means that the intervals allow any of the three; a single model has no rank, and if no model
beats guessing, none has one.{paired} Models in bold are best or tied for best: they beat guessing, use the
image as far as that was tested, and none is shown to be better. Click a heading to sort. All numbers of whole
datasets are in
<a href="../tables/metrics.csv">tables/metrics.csv</a>; numbers by category or with separate thresholds are in
<code>data/compare/leaderboard.parquet</code>.""")
PAIRED_TEXT = Markup("""\
 Paired comparisons on the same questions (page <em>Ranking</em>) separate more models.""")
RESULTS_TABLE = TableSpec(
    "headline",
    f"clean protocol, 95{formatting.NARROW}% intervals in small print",
    (Column("Model"), Column("Rank", "by accuracy: the ranks that the intervals allow", True)),
    HEADLINES,
)
RESULTS_FIGURES = ("accuracy_and_set_size", "coverage")


def _results_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    why = why_no_leader(evidence, dataset)
    detectable = f"{why[:1].upper()}{why[1:]}." if why else detectable_in_words(evidence, dataset)
    return [
        *(Text(w, "warning") for w in left_out(evidence, [dataset])),
        *(Text(w, "warning") for w in _warnings(evidence, dataset)),
        *map(Text, by_letters_elsewhere(evidence, dataset)),
        *([Text(detectable)] if detectable else []),
        *([Text(f"{ONLY_SHARES}.")] if evidence.is_small(dataset) else []),
        *_beside_the_blind(evidence, dataset),
        _headline(evidence, dataset),
        Beside([Figures([f"{name}-{dataset}"]) for name in RESULTS_FIGURES]),
    ]


def _beside_the_blind(evidence: Evidence, dataset: str) -> list[Block]:
    """What the blind baseline answers, and who beats it; nothing without one."""
    baseline = baselines(evidence).get(dataset)
    if baseline is None:
        return []
    sentences = [answered(baseline), *beaten(baseline, evidence.candidates(dataset))]
    return [Text(" ".join(sentences))]


def _headline(evidence: Evidence, dataset: str) -> Grid:
    leading, away = leaders(evidence, dataset), evidence.left_out(dataset)
    note = NOTE.get(evidence.outputs(dataset)[0], "")
    small = evidence.is_small(dataset)
    candidates = evidence.candidates(dataset)
    unranked = small or len(candidates) < 2 or not above_chance(evidence, dataset)
    blind = [model for model in evidence.blind(dataset) if model not in away]
    models = (*(sorted(candidates) if small else candidates), *away, *blind)
    accuracies = [evidence.number(dataset, model, "accuracy") for model in models]
    rows: list[Row] = []
    for model, accuracy in zip(models, accuracies, strict=True):
        tone: Tone = "strong" if model in leading else ""
        name = model_cell(evidence, dataset, model, tone)
        if model in away and note:
            name = Cell(model, note, tone="quiet")
        rows.append(((name, MISSING if unranked else rank_cell(accuracy)), {"model": model}))
    known = [
        each for each in HEADLINES if each.metric not in OPTIONAL or evidence.numbers(dataset, each.metric)
    ]
    grid = replace(RESULTS_TABLE, measures=known).grid(evidence, dataset, rows)
    body = [
        [*row[:3], replace(row[3], range=drawing), *row[4:]]
        for row, drawing in zip(grid.rows, ranges(accuracies), strict=True)
    ]
    return replace(grid, rows=body)


def _warnings(evidence: Evidence, dataset: str) -> list[str]:
    outcomes = evidence.plain_outcomes(dataset)
    unread = outcomes["predicted"].isna() & outcomes["parser"].isna()
    lost = outcomes[unread].groupby("model").size()
    warnings = undecided(evidence, dataset) if evidence.outputs(dataset)[0] == OUTPUT else []
    warnings += [
        f"{model} gave no readable answer to {formatting.plural(int(number), 'prompt')}."
        for model, number in lost.items()
    ]
    for model, number in evidence.numbers(dataset, "infinite_threshold_rate").items():
        if number.value > 0:
            warnings.append(
                f"In {formatting.percent(number.value, 0)} of the splits {model} has too few calibration "
                "rows: every set then contains every option."
            )
    return warnings


def _overview(evidence: Evidence) -> Grid:
    """Accuracy on every dataset, and for models that answered all large datasets its mean over these."""
    datasets, large, models = evidence.datasets, evidence.large, evidence.all_models
    accuracy, uacc = (
        {m: [_claimed(evidence, dataset, m, metric, score) for dataset in large] for m in models}
        for metric, score in (("accuracy", ""), ("uacc", "mean"))
    )
    complete = bool(large) and any(all(numbers) for numbers in uacc.values())
    columns = [
        Column("Model"),
        *(
            Column(
                name, f"accuracy in per cent on {formatting.plural(evidence.questions(name), 'item')}", True
            )
            for name in datasets
        ),
        Column(
            "Mean",
            f"over the datasets with at least {MINIMUM} questions, each counted once whatever its size; only "
            "for models that answered all of them",
            True,
        ),
        *([Column("Mean UAcc", "over the same datasets", True)] if complete else []),
    ]
    blind = {m for m in models if any(evidence.is_blind(name, m) for name in datasets)}
    rows = [
        cells(
            Cell(model, BLIND_NOTE if model in blind else ""),
            *(figure(_claimed(evidence, name, model, "accuracy", ""), 1, 100) for name in datasets),
            _results_mean(accuracy[model], 1, 100),
            *([_results_mean(uacc[model], 2)] if complete else []),
        )
        for model in models
    ]
    mean = len(datasets) + 1
    rows.sort(key=lambda row: (row[0].text in blind, -(row[mean].key or 0)))
    caption = "Accuracy on every dataset"
    if any(cell is MISSING for row in rows for cell in row):
        caption += "; a dash if the model was not asked, or is left out of comparisons there"
    return Grid("overview", caption, columns, rows)


def _claimed(evidence: Evidence, dataset: str, model: str, metric: str, score: str) -> Number | None:
    """A number of a model, unless claims leave the model out."""
    found = evidence.number(dataset, model, metric, score)
    return None if model in evidence.left_out(dataset) else found


def _results_mean(numbers: list[Number | None], digits: int, scale: float = 1.0) -> Cell:
    known = [n.value for n in numbers if n is not None]
    return rounded(sum(known) / len(known), digits, scale) if len(known) == len(numbers) > 0 else MISSING


_results_parts = by_dataset(RESULTS_HEADING, RESULTS_TEXT, _results_blocks, opened=1)


def build_results(evidence: Evidence) -> Section | None:
    """All results of the clean protocol: an overview if there are several datasets, then one by one."""
    section = _results_parts(evidence)
    if section is None:
        return None
    paired = Markup("") if evidence.comparisons.frame.empty else PAIRED_TEXT
    section = replace(section, text=RESULTS_TEXT.replace("{paired}", paired))
    if len(evidence.datasets) < 2:
        return section
    return replace(section, parts=[Part("", [_overview(evidence)]), *section.parts])


RESULTS_SECTION = PageSection("results", RESULTS_HEADING, build_results, page="models", place=10)

PAGE = Page(
    "models",
    "Models",
    "How accurate each model is, how large its prediction sets are, and how its answers were read.",
    place=20,
)
