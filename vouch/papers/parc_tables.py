"""PARC's datasets, models and prompts, its numbers by dataset, and tables 2, 3 and A4 to A10."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from vouch.papers.entry import MEAN, Absent, Built, Lookup, Measure, listing, named, names_in, with_mean
from vouch.papers.pivot import Key, Layout, pivot
from vouch.report import formatting
from vouch.report.table import MISSING, Cell, Column, cells
from vouch.tables.asked import FAMILIES, INITIAL, LETTERS, ORIGINAL, TEXT

DATASETS = names_in("parc", "datasets")
# It is unclear which of the paper's columns is State and which is Attribute: these four are never compared.
CERTAIN = {name: label for name, label in DATASETS.items() if label in ("NYU", "Fas", "MMB")}
MODELS = names_in("parc", "models")
ORDER = ("lr_i", "lr_c", "lr_v", "ls_n", "ls_a", "ls_m", "vr_b", "vr_r", "vr_l", "vs_s", "vs_e")
KINDS = {ORIGINAL: "O"} | {name: name.upper().replace("_", "-") for name in ORDER}
EVERY = "every_prompt"
NAMES = {
    "reliability": "rel",
    "accuracy_calibrated": "acc",
    "certainty": "cert",
    "consistency_calibrated": "cons",
}
UNCHANGED = "no variation of PARC was asked"
LOWEST = "lowest of all"
MARKED = (
    "In bold is the lowest number of each class of changes (LR, LS, VR, VS), that of the most perturbing "
    f"one; the {LOWEST} changes, which the paper underlines, is named as well."
)
EXACT = 1e-9
"""Rounding errors of the guarantees."""
ONE_SIDED = (
    "Certainty is always at least the absolute reliability (equation 6). The bound on calibrated accuracy "
    "holds for every reliability if a guess is right half of the time, only for negative ones if it is right "
    "less often, and only for positive ones if more often."
)


def four(variation: str, score: str = "") -> tuple[Measure, ...]:
    """PARC's four measures of a variation or, with `score`, of a family of variations."""
    return tuple(
        Measure(label, metric, score, scale=1, variation=variation) for metric, label in NAMES.items()
    )


def _answers(lookup: Lookup, logits: bool) -> dict[str, str]:
    """Dataset -> the output that counts: texts if there are any, unless the largest logit is wanted."""
    outputs = {name: lookup.evidence.outputs(name) for name in lookup.evidence.datasets}
    wanted = (LETTERS,) if logits else (TEXT, LETTERS)
    return {
        name: next(output for output in wanted if output in has)
        for name, has in outputs.items()
        if set(wanted) & set(has)
    }


def long(lookup: Lookup, measures: Sequence[Measure], logits: bool = False) -> pd.DataFrame:
    """`Lookup.long` with the output that counts on each dataset. logits: letters on all datasets."""
    answers = _answers(lookup, logits)
    parts = [
        lookup.long(
            [replace(measure, output=output) for measure in measures],
            [n for n, has in answers.items() if has == output],
        )
        for output in sorted(set(answers.values()))
    ]
    if not parts:
        raise Absent("no model was asked for letters or texts")
    return pd.concat(parts, ignore_index=True)


def of_own(lookup: Lookup, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the datasets that means are over (`Lookup.own`)."""
    return frame[frame["dataset"].isin(lookup.own(DATASETS))]


def over_sets(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """by and value: means over the datasets, only of models with a number on as many as any other has.

    by: columns, `model` among them.
    """
    means = frame.groupby(by, as_index=False)["value"].agg(value="mean", count="count")
    most = means.groupby([name for name in by if name != "model"])["count"].transform("max")
    return means[means["count"] == most].drop(columns="count")


def notes(lookup: Lookup, logits: bool) -> dict[str, str]:
    """Dataset -> the kind of its answers."""
    description = {TEXT: "answers are generated texts", LETTERS: "answers are the largest logits"}
    return {name: description[output] for name, output in _answers(lookup, logits).items()}


def _label(variation: str) -> str | None:
    """`vr_b_5` -> `VR-B 5`, `lr_i+vr_l` -> `LR-I/VR-L`; None for variations that are not PARC's."""
    labels = []
    for part in variation.split("+"):
        base, _, level = part.rpartition("_")
        known = KINDS.get(part) or (f"{KINDS[base]} {level}" if level.isdigit() and base in KINDS else None)
        if known is None:
            return None
        labels.append(known)
    return "/".join(labels)


def asked_kinds(lookup: Lookup) -> dict[str, str]:
    """All of PARC's variations that were asked, with their labels, in the order of the paper."""
    asked = sorted(lookup.rows("reliability")["variation"].unique())
    labels = {name: label for name in asked if (label := _label(name))}
    if set(labels) <= {ORIGINAL}:
        raise Absent(UNCHANGED)
    order = [*KINDS.values()].index
    return dict(sorted(labels.items(), key=lambda each: (order(each[1].split("/")[0].split()[0]), each[1])))


PRINTED = ("reliability", "accuracy", "certainty", "consistency")


def _short(frame: pd.DataFrame) -> pd.DataFrame:
    """Only the mean of accuracy and certainty, as in tables 2 and 3; everything if there is no mean."""
    means = frame["dataset"] == MEAN
    return frame[frame["measure"].isin((0, 3)) | means] if means.any() else frame


def models_table(logits: bool, short: bool, lookup: Lookup) -> Built:
    """Tables 3, A8 and A10, by model. short: see `_short`."""
    measures = four("", EVERY)
    frame = long(lookup, measures, logits)
    if frame.empty:
        raise Absent(UNCHANGED)
    frame = with_mean(frame, lookup.own(DATASETS))
    ours = {label: name for name, label in MODELS.items()}
    layout = Layout(
        f"{'largest logits' if logits else 'responses'}, mean over the prompts",
        measures,
        lookup.models(MODELS),
        lookup.datasets(DATASETS) | {MEAN: MEAN},
        prints={
            (PRINTED.index(row["score"]), ours[row["model"]], dataset): row[label]
            for row in lookup.printed("parc_a10" if logits else "parc_a8")
            for dataset, label in CERTAIN.items()
            if label in row
        },
        help=notes(lookup, logits),
    )
    return pivot(_short(frame) if short else frame, layout)


PROPERTIES = (
    ("Parameters", "total_parameters", "model_parameters_billions", 1e9),
    ("Of the language model", "language_model_parameters", "language_model_parameters_billions", 1e9),
    ("Resolution", "resolution", "resolution", 1),
    ("Training samples", "training_data_size", "training_samples_millions", 1e6),
    ("Curation", "curation", "curation", 1),
)
"""Column of table A4, its key among the facts, its column in the published file, and the unit there."""


def properties(lookup: Lookup) -> Built:
    """Table A4: the facts on record about the models, with the paper's numbers if these differ."""
    printed = {row["model"]: row for row in lookup.printed("parc_a4")}
    body = []
    for name, label in lookup.models(MODELS).items():
        known, theirs = lookup.evidence.facts.get(name, {}), printed.get(label, {})
        row = [_property(_repository(lookup, name), theirs.get("repository", ""), 1)]
        row += [
            _property(known.get(key), theirs.get(column, ""), unit) for _, key, column, unit in PROPERTIES
        ]
        if any(cell is not MISSING for cell in row):
            body.append([named(name, label), *row])
    heads = (
        Column("Model"),
        Column("Repository", "on the hub"),
        *(Column(head, "", unit > 1) for head, _, _, unit in PROPERTIES),
    )
    reason = "models.lock has no such facts about these models"
    return listing("the models and their properties", heads, body, reason)


def _repository(lookup: Lookup, model: str) -> str | None:
    """Where models.lock has the weights of a model from, if that is the hub."""
    source = lookup.evidence.setup.get("locked", {}).get(model, {}).get("source") or {}
    return source.get("repo") if source.get("kind") == "hub" else None


def _property(ours: int | str | None, theirs: str, unit: float) -> Cell:
    if ours is None:
        return replace(MISSING, note=f"published {theirs}") if theirs else MISSING
    if isinstance(ours, str):
        return Cell(ours, "" if theirs in ("", ours) else f"published {theirs}")
    same = not theirs or abs(float(theirs) * unit - ours) <= 1e-6 * ours
    return Cell(formatting.count(ours), "" if same else f"published {theirs}", float(ours))


def _kinds(lookup: Lookup, variations: Iterable[str]) -> pd.DataFrame:
    """Means over the models, by variation and dataset; the variations are the rows of a table."""
    parts = []
    for variation in variations:
        mean = long(lookup, four(variation)).groupby(["measure", "dataset"], as_index=False)
        parts.append(mean[["value", "clean"]].mean().assign(model=variation))
    return pd.concat(parts, ignore_index=True)


def _complete(lookup: Lookup) -> set[str]:
    """The datasets on which all of the paper's models and no others have numbers; the mean if all do."""
    asked = long(lookup, four(ORIGINAL)).groupby("dataset")["model"].agg(set)
    whole = {name for name in DATASETS if asked.get(name) == set(MODELS)}
    return whole | ({MEAN} if whole == set(DATASETS) else set())


def _by_prompt(
    caption: str, rows: Mapping[str, str], frame: pd.DataFrame, lookup: Lookup, prints: Mapping[Key, str]
) -> Built:
    columns = lookup.datasets(DATASETS) | {MEAN: MEAN}
    layout = Layout(
        caption, four(ORIGINAL), rows, columns, row="Prompt", prints=prints, help=notes(lookup, False)
    )
    return pivot(frame, layout)


def _of_kinds(lookup: Lookup, kinds: Mapping[str, str]) -> dict[Key, str]:
    """The published numbers of table A6, on the datasets on which all of the paper's models were asked."""
    heads = {name: label for name, label in (CERTAIN | {MEAN: "AVG"}).items() if name in _complete(lookup)}
    ours = {label: name for name, label in kinds.items()}
    return {
        (PRINTED.index(row["score"]), ours[row["kind"]], name): row[label]
        for row in lookup.printed("parc_a6")
        if row["kind"] in ours
        for name, label in heads.items()
    }


def _of_pairs(lookup: Lookup, kinds: Mapping[str, str]) -> dict[Key, str]:
    """The published numbers of table A9, if all of the paper's models were asked on all of its datasets."""
    ours = {label.replace("/", "+"): name for name, label in kinds.items()}
    return {
        (place, ours[row["prompt"]], MEAN): row[score]
        for row in (lookup.printed("parc_a9") if MEAN in _complete(lookup) else ())
        if row["prompt"] in ours
        for place, score in enumerate(PRINTED)
    }


def varied(short: bool, lookup: Lookup) -> Built:
    """Tables 2 and A6, by kind of prompt."""
    tried = {name: label for name, label in asked_kinds(lookup).items() if "+" not in name}
    frame = with_mean(_kinds(lookup, tried), lookup.own(DATASETS), complete=False)
    caption = "mean over the models, by kind of prompt"
    frame = _short(frame) if short else frame
    made = _by_prompt(caption, tried, frame, lookup, _of_kinds(lookup, tried))
    (grid,) = made.grids
    classes = [tried[name].split("-")[0] for name in tried if name in set(frame["model"])]
    columns = [_marked(column, classes) for column in list(zip(*grid.rows, strict=True))[1:]]
    rows = [[row[0], *cells] for row, cells in zip(grid.rows, zip(*columns, strict=True), strict=True)]
    return replace(made, grids=(replace(grid, rows=rows),), sentences=(*made.sentences, MARKED))


def _marked(column: Sequence[Cell], classes: Sequence[str]) -> list[Cell]:
    """A column with the lowest number of each class of changes in bold; that of all changes is named, too."""
    values = {
        row: cell.key
        for row, (cell, kind) in enumerate(zip(column, classes, strict=True))
        if kind in FAMILIES and cell.text != MISSING.text and cell.key is not None
    }
    marked = list(column)
    for row, value in values.items():
        alike = [values[other] for other in values if classes[other] == classes[row]]
        if value == min(alike):
            last = value == min(values.values())
            notes = (column[row].note, LOWEST if last else "")
            marked[row] = replace(column[row], tone="strong", note="; ".join(filter(None, notes)))
    return marked


def _bounds(lookup: Lookup) -> pd.DataFrame:
    """A row for each dataset, prompt kind and model: the numbers of equation 6; certain and accurate, whether
    its two guarantees hold; gap, by how much a reliability goes beyond the calibrated accuracy."""
    names = ("reliability", "certainty", "accuracy_calibrated", "random_accuracy")
    measures = [
        Measure(name, name, scale=1, variation=variation)
        for variation in asked_kinds(lookup)
        for name in names
    ]
    frame = long(lookup, measures)
    frame = frame.assign(
        kind=[measures[index].variation for index in frame["measure"]],
        metric=[measures[index].metric for index in frame["measure"]],
    )
    wide = frame.pivot(index=["dataset", "kind", "model"], columns="metric", values="value")
    wide = wide.reindex(columns=list(names)).dropna().reset_index()
    gap = np.sign(wide["reliability"]) * (wide["reliability"] - wide["accuracy_calibrated"])
    return wide.assign(
        certain=wide["certainty"] >= wide["reliability"].abs() - EXACT, accurate=gap <= EXACT, gap=gap
    )


def guarantees(lookup: Lookup) -> Built:
    """Equation 6 on every prompt kind of every model: certainty is at least |reliability|, and calibrated
    accuracy at least a positive reliability and at most a negative one.

    The second guarantee follows from the calibration only if a guess is right half of the time.
    """
    wide = _bounds(lookup)
    body = []
    for dataset, label in lookup.datasets(DATASETS).items():
        of_dataset = wide[wide["dataset"] == dataset]
        for guess, part in of_dataset.groupby(of_dataset["random_accuracy"].round(2)):
            worst = max(0.0, float(part["gap"].max()))
            body.append(
                cells(
                    named(dataset, label),
                    formatting.number(guess, 2),
                    len(part),
                    int(part["certain"].sum()),
                    int(part["accurate"].sum()),
                    Cell(formatting.number(worst, 2), key=worst),
                )
            )
    heads = (
        Column("Dataset"),
        Column("Guess", "accuracy of a guess", True),
        Column("Reliabilities", "of each model and kind of prompt", True),
        Column("Certainty", "how many have a certainty of at least |reliability|", True),
        Column("Accuracy", "how many bound the calibrated accuracy as equation 6 says", True),
        Column("Largest gap", "by which a reliability goes beyond the calibrated accuracy", True),
    )
    built = listing("guarantees of equation 6", heads, body, UNCHANGED)
    return replace(built, sentences=(ONE_SIDED,))


def combined(lookup: Lookup) -> Built:
    """Table A9: pairs of changes, and each of their changes by itself."""
    tried = asked_kinds(lookup)
    both = {name: label for name, label in tried.items() if "+" in name}
    if not both:
        raise Absent("needs combined variations such as lr_i+vr_l")
    parts = {part for name in both for part in name.split("+")}
    shown = {name: label for name, label in tried.items() if name in parts} | both
    frame = of_own(lookup, _kinds(lookup, shown))
    mean = frame.groupby(["measure", "model"], as_index=False)[["value", "clean"]].mean()
    caption = "two changes at once, mean over models and datasets"
    return _by_prompt(caption, shown, mean.assign(dataset=MEAN), lookup, _of_pairs(lookup, shown))


def same(lookup: Lookup) -> Built:
    """Table A7, which repeats A8. Raises Absent if A8 is absent."""
    models_table(False, False, lookup)
    return Built(sentences=("Tables A7 and A8 are the same table in the paper; see Table A8.",))


LLAVA = "llava_v1_6_34b"
"""The model whose accuracies table A5 prints."""
SWAPPED_COUNTS = (
    "The paper's initial counts of State and Attribute (197, 597; 940, 470) are those of the other set in "
    "CompBench's annotations, so only NYU and Fas are compared."
)


def counts(lookup: Lookup) -> Built:
    """Table A5: the number of questions that replacing an image can flip, and one model's accuracy before and
    after the others are left out: the paper's model, or else the best."""
    printed = {row["dataset"]: row for row in lookup.printed("parc_a5")}
    body = []
    for dataset, label in lookup.datasets(DATASETS).items():
        row = _filtered(lookup, dataset, printed.get(label, {}) if label in CERTAIN.values() else {})
        if row:
            body.append([named(dataset, label), *row])
    heads = (
        Column("Dataset"),
        Column("Initial", "questions of the source, rejected ones included", True),
        Column("Kept", "questions with an image to exchange", True),
        Column("Share", "", True),
        Column("Accuracy, initial", "of all these questions, original prompts", True),
        Column("Accuracy, kept", "of the same model, original prompts", True),
    )
    built = listing("questions before and after the filter of VS-E", heads, body, "needs the variation vs_e")
    return replace(built, sentences=(SWAPPED_COUNTS,))


def _filtered(lookup: Lookup, dataset: str, theirs: Mapping[str, str]) -> list[Cell]:
    """The cells of a dataset, none if no image was exchanged. theirs: its row of the published table."""
    evidence = lookup.evidence
    frame = evidence.outcomes
    frame = frame[(frame["dataset"] == dataset) & (frame["output"] == _answers(lookup, False).get(dataset))]
    kept = set(frame.loc[frame["variation"] == "vs_e", "item"])
    if not kept:
        return []
    models = evidence.models(dataset)
    model = LLAVA if LLAVA in models else models[0]
    items = int((evidence.items["dataset"] == dataset).sum())
    total = items + int((evidence.rejects["dataset"] == dataset).sum())
    own = frame[frame["model"] == model]
    plain = own[own["variation"] == ORIGINAL]
    only_kept = evidence.setup.get("datasets", {}).get(dataset, {}).get("rows") == "exchangeable"
    everything = own[own["variation"] == INITIAL] if only_kept else plain
    accuracies = theirs if model == LLAVA else {}
    return [
        _counted(total, theirs.get("initial", "")),
        _counted(len(kept), theirs.get("kept", "")),
        _share(len(kept) / total, "", theirs.get("share", "")),
        _share(everything["clean_correct"].mean(), model, accuracies.get("accuracy_initial", "")),
        _share(
            plain.loc[plain["item"].isin(kept), "clean_correct"].mean(), model, accuracies.get("accuracy", "")
        ),
    ]


def _counted(value: int, theirs: str) -> Cell:
    """theirs: the published number, or empty."""
    return Cell(formatting.count(value), "" if theirs in ("", str(value)) else f"published {theirs}", value)


def _share(value: float, model: str, theirs: str) -> Cell:
    """theirs: the published number in per cent, or empty."""
    printed = theirs if theirs and (pd.isna(value) or f"{100 * value:.1f}" != theirs) else ""
    note = "; ".join(part for part in (model, printed and f"published {printed}") if part)
    if pd.isna(value):
        return replace(MISSING, note="needs the variation initial")
    return Cell(formatting.percent(value), note, float(value))
