"""Li et al. 2023, ReForm-Eval: 61 datasets as choices and short answers, generated or by likelihood.

This file has the figures and the paper; reform_sets.py has the names and the numbers by dataset,
reform_general.py tables 1 and 2 and figure 3, reform_tables.py the others.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from string import ascii_uppercase
from typing import Any

import numpy as np
import pandas as pd

from vouch.papers import charts
from vouch.papers import reform_general as general
from vouch.papers import reform_sets as sets
from vouch.papers import reform_tables as tables
from vouch.papers.entry import Absent, Built, Entry, Lookup, Measure, Paper, figure, joined, series, size
from vouch.report import formatting
from vouch.report.table import Cell, Column, Grid, cells
from vouch.tables.asked import LETTERS, LIKELIHOOD, ORIGINAL, TEXT

NOUNS = dict(enumerate(sets.OUTPUT_NAMES.values()))
CORRECT = "correct answers"
LONGEST = 300
"""Characters of a question or a text in figure 11."""
Grouped = Callable[[float], str]
TRAINED = ((0, "0"), (1e7, "up to 10M"), (1e8, "10M to 100M"), (1e9, "100M to 1B"))
UNITS = ((1e9, "B"), (1e6, "M"), (1e3, "K"), (1, ""))


def training(lookup: Lookup) -> Built:
    """Figure 4: with and without COCO, by the size and quality of the pre-training data, and by the number of
    instruction datasets, for models where these are known."""
    pretraining = partial(by_count, "accuracy and pre-training data", "Samples of pre-training data")
    instructions = partial(by_count, "accuracy and instruction tuning", "Data sets of instruction tuning")
    builders: dict[str, Callable[[Lookup], Built]] = {
        "(a)": _with_coco,
        "(b)": partial(pretraining, "pretraining_data_size", "(b)", group="pretraining_data"),
        "(c)": partial(instructions, "instruction_datasets", "(c)"),
    }
    parts, missing = [], []
    for part, build in builders.items():
        try:
            parts.append(build(lookup))
        except Absent as error:
            missing.append(f"{part}: {error}")
    description = "; ".join(missing)
    if not parts:
        raise Absent(f"none of its parts: {description}")
    made = joined(parts)
    return replace(made, sentences=(f"Not built: {description}.",)) if missing else made


def _with_coco(lookup: Lookup) -> Built:
    frame = tables.coco_ranks(lookup)
    domain = frame["dataset"].isin(tables.OUT_OF_DOMAIN).map({True: "out of domain", False: "in domain"})
    mean = frame.assign(group=domain).groupby(["model", "group"], as_index=False)["value"].mean()
    description = "; ".join(
        f"{row.model}, {row.group} {formatting.number(row.value, 2)}" for row in mean.itertuples()
    )
    chart = charts.bars(mean.rename(columns={"model": "series"}).assign(panel=""), format=".1f")
    return figure(
        "mean rank with and without COCO", f"Bars of mean ranks, 1 is best: {description}.", chart, "(a)"
    )


def spread(quantities: Mapping[str, tuple[str, Grouped]], lookup: Lookup) -> Built:
    """Figures 8 and 9: the spread of accuracies on single datasets for each group of a quantity, by output.

    quantities: noun -> the key among the facts (a model's size may also follow from its name), and how counts
    are grouped.
    """
    facts = sets.facts(lookup)
    frame = sets.long(lookup, [sets.accuracy(output) for output in sets.OUTPUT_NAMES])
    if frame.empty:
        raise Absent("no model was asked for texts or likelihoods")
    frame, parts = frame.dropna(subset=["value"]), []
    for noun, (key, grouped) in quantities.items():
        counts = {name: facts.get(name, {}).get(key) if key else size(name, facts) for name in lookup.order}
        known = frame.assign(count=frame["model"].map(counts)).dropna(subset=["count"]).sort_values("count")
        known = known.assign(group=known["count"].map(grouped), value=100 * known["value"])
        for place, output in NOUNS.items():
            shown = known[known["measure"] == place]
            if shown["group"].nunique() > 1:
                middle = shown.groupby("group", sort=False)["value"].median()
                medians = "; ".join(f"{one} {formatting.number(value, 1)}" for one, value in middle.items())
                description = f"Boxes over pairs of a dataset and a model; medians: {medians}."
                chart = charts.boxes(shown, "Accuracy (%)")
                parts.append(figure(f"accuracy by {noun}, {output}", description, chart))
    return joined(parts, f"{formatting.listed(list(quantities), 3)} of fewer than two models are known")


def rounded(count: float) -> str:
    """3,940,000,000 -> `4B`, 106,700,000 -> `107M`."""
    unit, letter = next((unit for unit in UNITS if round(count / unit[0])), UNITS[-1])
    return f"{count / unit:.0f}{letter}"


def trained(count: float) -> str:
    """The paper's groups of numbers of trainable parameters (appendix C.3)."""
    return next((name for most, name in TRAINED if count <= most), "over 1B")


def tokens(count: float) -> str:
    """A number of visual tokens; the paper counts the 65 of mPLUG-Owl with 64."""
    return "64" if count == 65 else f"{count:.0f}"


SIZES = {
    "parameters": ("", rounded),
    "trainable parameters": ("trainable_parameters", trained),
    "trainable parameters of the language model": ("trainable_language_model_parameters", trained),
}


def by_count(title: str, label: str, key: str, part: str, lookup: Lookup, group: str = "") -> Built:
    """Figure 4: mean accuracy against a number on record for each model, by output.

    group: the fact that colours models, of those that have it; the series by default.
    """
    facts = sets.facts(lookup)
    wide = sets.means(lookup).rename(columns=NOUNS)
    counts = {name: facts.get(name, {}).get(key) for name in wide.index}
    known = {name: float(count) for name, count in counts.items() if count is not None}
    if group:
        known = {name: count for name, count in known.items() if facts.get(name, {}).get(group)}
    if len(set(known.values())) < 2:
        raise Absent(f"{label.lower()} of fewer than two models are known")
    kinds = {name: str(facts[name][group]) if group else series(name, facts) for name in known}
    description = f"Mean accuracy over the datasets of {formatting.plural(len(known), 'model')}."
    chart = charts.by_number(100 * wide, known, kinds, label, "Accuracy (%)", line=False)
    return figure(title, description, chart, part)


def gap(lookup: Lookup) -> Built:
    """Figure 5: likelihood minus generation by dimension and language model, where these are known; then both
    accuracies by dataset and model. Only of datasets that a model was asked for both."""
    frame = sets.long(lookup, [sets.accuracy(output) for output in sets.OUTPUT_NAMES])
    if frame.empty:
        raise Absent("no model was asked for texts or likelihoods")
    frame = frame.dropna(subset=["value"])
    pairs = frame[frame.groupby(["dataset", "model"])["measure"].transform("nunique") == 2]
    if pairs.empty:
        raise Absent("no model was asked for both texts and likelihoods of a dataset")
    pairs = lookup.in_order(pairs, ["dataset", "measure", "model"])
    dots = pairs.rename(columns={"dataset": "panel"})
    dots = dots.assign(row=dots["model"], series=dots["measure"].map(NOUNS))
    wide = pairs.pivot(index=["dataset", "model"], columns="measure", values="value")
    points = 100 * (wide[1] - wide[0])
    low, high = formatting.number(points.min(), 1), formatting.number(points.max(), 1)
    description = f"Likelihood minus generation: {low} to {high} points."
    by_dataset = figure("generation and likelihood", description, charts.dots(dots, "Accuracy"))
    return joined([*_gap_by_language_model(lookup, points), by_dataset])


def _gap_by_language_model(lookup: Lookup, points: pd.Series) -> Iterator[Built]:
    """A figure, if there is a dataset of the benchmark and a model whose language model is on record.

    The mean over the datasets of a dimension for each model, then over the models of a language model.
    points: by dataset and model.
    """
    facts, order = sets.facts(lookup), list(sets.SETS)
    frame = points.rename("value").reset_index()
    backbones = {name: _language_model(facts.get(name, {})) for name in lookup.order}
    frame = frame.assign(panel=frame["dataset"].map(sets.DIMENSION), row=frame["model"].map(backbones))
    of_models = frame.groupby(["panel", "row", "model"])["value"].mean()
    mean = of_models.groupby(["panel", "row"]).mean().reset_index()
    if mean.empty:
        return
    mean = mean.sort_values("panel", key=lambda names: names.map(order.index), kind="stable")
    shown = mean.assign(panel=mean["panel"].str.replace("_", " "), series="likelihood minus generation")
    description = "; ".join(
        f"{row.panel}, {row.row} {formatting.number(row.value, 1)}" for row in shown.itertuples()
    )
    title = "likelihood minus generation by language model"
    chart = charts.dots(shown, "Points", rule=("no difference", 0))
    yield figure(title, f"Mean points: {description}.", chart)


def _language_model(known: Mapping[str, Any]) -> str | None:
    """As table 3 names it: `Vicuna-7B`, `Vicuna-7B+` if its own weights were tuned, `Vicuna-7B+LoRA`."""
    name, tuning = known.get("language_model"), known.get("language_model_tuning", "")
    if not name:
        return None
    return f"{name}+{tuning}" if tuning or known.get("trainable_language_model_parameters") else str(name)


def preference(lookup: Lookup) -> Built:
    """Figure 10: how often each option's position is chosen, on the largest dataset with options.

    Of the texts of the main evaluation, or else of the original prompts, or else of letters.
    """
    places = [(letter, kind) for letter in ascii_uppercase for kind in ("chosen", "correct")]
    for output, variation in ((TEXT, sets.TESTS), (TEXT, ORIGINAL), (LETTERS, ORIGINAL)):
        one = partial(Measure, output=output, variation=variation, only="clean")
        frame = lookup.long([one(letter, f"{kind}_share_{letter}") for letter, kind in places])
        if len(frame):
            break
    else:
        raise Absent("no model chose among options")
    dataset = next(name for name in lookup.evidence.datasets if name in set(frame["dataset"]))
    frame = frame[frame["dataset"] == dataset]
    frame = frame.assign(
        column=[places[place][0] for place in frame["measure"]],
        row=np.where(frame["measure"] % 2, CORRECT, frame["model"]),
    ).drop_duplicates(["row", "column"])
    frame = lookup.in_order(frame, ["row", "column"], "row")
    models = frame[frame["row"] != CORRECT]
    most = models.loc[models["value"].idxmax()]
    description = (
        f"Shares of the positions chosen on {dataset}. The strongest preference: {most['row']} chooses "
        f"{most['column']} {formatting.percent(most['value'])} of the time."
    )
    return figure(
        f"which option is preferred, {dataset}",
        description,
        charts.heat(frame[["row", "column", "value"]].assign(panel="")),
    )


def answers(lookup: Lookup) -> Built:
    """Figure 11: what models say without and with the sample in the prompt. The paper shows chosen questions;
    here they are the first, by id, at which a model's two texts differ."""
    frame = lookup.in_order(lookup.evidence.examples, ["model", "item"])
    items = lookup.evidence.items.set_index(["dataset", "id"])[["options", "answers"]]
    columns = (
        Column("Question"),
        Column("Model"),
        Column("Without sample", "the text for a prompt without the sample"),
        Column("With sample", "the text for the original prompt"),
    )
    parts = []
    for dataset, own in frame.groupby("dataset", sort=True):
        rows = []
        for row in own.itertuples():
            options, correct = items.loc[(dataset, row.item)]
            note = f"{row.item}; correct: {formatting.listed([options[index] for index in correct])}"
            texts = (_shown(row.no_sample), _shown(row.original))
            rows.append([Cell(_shown(row.question), note), *cells(row.model, *texts)])
        caption = f"answers without and with a sample in the prompt, {dataset}"
        parts.append(Built((Grid(f"-{dataset}", caption, columns, rows),)))
    return joined(parts, "needs the variation no_sample, and texts that differ from those of original")


def _shown(text: str) -> str:
    text = text.strip() or "(empty)"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


BOTH = (TEXT, LIKELIHOOD)
# Number, description, caption of its table, datasets, outputs for which it has a table.
DIMENSIONS = (
    (9, "Coarse-grained perception, generated.", "coarse-grained perception", sets.COARSE, (TEXT,)),
    (
        10,
        "Coarse-grained perception, by likelihood.",
        "coarse-grained perception",
        sets.COARSE,
        (LIKELIHOOD,),
    ),
    (11, "Fine-grained perception, generated.", "fine-grained perception", sets.FINE, (TEXT,)),
    (12, "Fine-grained perception, by likelihood.", "fine-grained perception", sets.FINE, (LIKELIHOOD,)),
    (13, "Scene text: recognition.", "scene text, recognition", sets.OCR, (TEXT,)),
    (14, "Scene text: finding and using it.", "scene text, key facts and questions", sets.KIE, (TEXT,)),
    (15, "Visually grounded reasoning: questions.", "visual reasoning, VQA", sets.VQA, BOTH),
    (16, "Visually grounded reasoning with knowledge.", "visual reasoning, knowledge", sets.KVQA, BOTH),
    (17, "Spatial understanding.", "spatial understanding", sets.SPATIAL, BOTH),
    (18, "Cross-modal inference.", "cross-modal inference", sets.CROSS, BOTH),
)
PARTS = {
    "vision_encoder": "Vision encoder",
    "connector": "Connector",
    "language_model": "Language model",
    "language_model_tuning": "Its tuning",
    "total_parameters": "Parameters",
    "trainable_parameters": "Trainable",
    "visual_tokens": "Visual tokens",
}
TRAINING = {
    "training_data": "Data",
    "training_data_size": "Samples",
    "pretraining_data": "Pre-training data",
    "pretraining_data_size": "Samples of pre-training",
    "instruction_datasets": "Data sets of instruction tuning",
    "curation": "Curation",
}
PAPER = Paper(
    "reform",
    "ReForm-Eval: evaluating large vision language models via unified re-formulation",
    "Li et al. 2023 (ReForm-Eval)",
    "Accuracy in per cent and instability in nats of the main evaluation (the variation tests), of the "
    "original prompts where it was not asked. Columns named sampled are of the first text drawn for each "
    "test at temperature 0.2, as in the paper: published numbers are compared with these, except for BLIP-2, "
    "InstructBLIP, BLIVA, Lynx and Shikra, from which its authors draw nothing. The ranks of table 1 and the "
    "means of table 2 and figure 3 take each model in the same way. The other columns of generation and the "
    "other figures are of greedy texts.",
    (
        Entry("Table 1", "Accuracy and rank by dimension.", general.general),
        Entry("Table 2", "Accuracy by vision encoder and connector.", general.modules),
        Entry(
            "Table 3",
            "How often a text names an option, without and with a sample in the prompt.",
            partial(tables.hit_rate, "3"),
        ),
        Entry("Table 4", "Instability by what changes, mean over the models.", tables.shaken_mean),
        Entry(
            "Table 5",
            "The datasets of perception, and those outside of the benchmark.",
            partial(tables.statistics, sets.PERCEPTION, True),
        ),
        Entry("Table 6", "The datasets of cognition.", partial(tables.statistics, sets.COGNITION, False)),
        Entry(
            "Table 7", "Components of the models.", partial(tables.known, "components of the models", PARTS)
        ),
        Entry(
            "Table 8",
            "Training data of the models.",
            partial(tables.known, "training data of the models", TRAINING),
        ),
        *(
            Entry(f"Table {number}", shows, partial(tables.dimension, caption, names, outputs))
            for number, shows, caption, names, outputs in DIMENSIONS
        ),
        Entry("Table 19", "Captions, CIDEr.", tables.captions),
        Entry(
            "Table 20",
            "Dialogues with the model's own answers: accuracy by turn, instability.",
            tables.dialogue,
        ),
        Entry("Table 21", "Table 3 for all models and datasets.", partial(tables.hit_rate, "21")),
        Entry("Table 22", "Ranks of models with and without COCO in training.", tables.coco),
        Entry(
            "Table 23",
            "Instability by what changes.",
            partial(tables.shaken, "instability by what changes", tables.INSTABILITY),
        ),
        Entry(
            "Table 24",
            "Range of accuracy over the instructions, points.",
            partial(tables.shaken, "range of accuracy over the instructions", tables.RANGES),
        ),
        Entry("Figure 3", "Accuracy by language model and vision encoder.", general.by_backbone),
        Entry("Figure 4", "Accuracy and what models were trained on.", training),
        Entry("Figure 5", "Generation against likelihood, by language model and by dataset.", gap),
        Entry("Figure 8", "Accuracy by number of parameters.", partial(spread, SIZES)),
        Entry(
            "Figure 9",
            "Accuracy by number of visual tokens.",
            partial(spread, {"visual tokens": ("visual_tokens", tokens)}),
        ),
        Entry("Figure 10", "Which option position a model prefers, whatever its text.", preference),
        Entry("Figure 11", "What models say without and with a sample in the prompt.", answers),
    ),
)
