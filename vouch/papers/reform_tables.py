"""ReForm-Eval's datasets by dimension, its models, and its tables.

First the names; then accuracy and instability of the main evaluation by dataset, with the published numbers;
then the tables: by dimension, by kind of change, and the facts on record about datasets and models.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from vouch.papers.entry import (
    CLEAN,
    FAITHFUL,
    MEAN,
    Absent,
    Built,
    Lookup,
    Measure,
    joined,
    listing,
    named,
    names_in,
    with_mean,
)
from vouch.papers.pivot import Key, Layout, pivot
from vouch.report import formatting
from vouch.report.evidence import NO_SAMPLE
from vouch.report.table import MISSING, Cell, Column, cells
from vouch.tables.asked import LIKELIHOOD, ORIGINAL, TEXT
from vouch.tables.results import OVERALL

COARSE, FINE, OCR, KIE, SPATIAL, VQA, KVQA, CROSS, CAPTIONS, DIALOGUE = (
    tuple(names_in("reform", group))
    for group in (
        *("coarse", "fine", "ocr", "kie", "spatial", "vqa", "kvqa", "cross"),
        *("captions", "dialogue"),
    )
)
SETS = {
    "coarse_perception": len(COARSE),
    "fine_perception": len(FINE),
    "scene_text": len(OCR) + len(KIE),
    "spatial": len(SPATIAL),
    "visual_reasoning": len(VQA) + len(KVQA),
    "cross_modal": len(CROSS),
    "dialogue": len(DIALOGUE),
    "description": len(CAPTIONS),
}
"""The number of datasets in each dimension."""
PERCEPTION = (*COARSE, *FINE, *OCR, *KIE)
COGNITION = (*SPATIAL, *VQA, *KVQA, *CROSS, *CAPTIONS, *DIALOGUE)
MODELS = names_in("reform", "models")
COCO = {
    "Pre-training with COCO": ("blip2_flan_t5_xl", "mplug_owl", "lynx"),
    "Pre-training without COCO": ("llava_vicuna_7b", "minigpt4"),
}
"""The two groups of models of table 22 (appendix C.4)."""
_COUNTS = ("parameters", "tokens", "size")
"""Ends of the names of facts that are counts."""


@cache
def _printed_facts() -> dict[str, dict[str, Any]]:
    """What the paper says of its models: tables 7 and 8, and the groups of appendix C.4.

    In the text of the PDF one name of the group `filtered` is lost.
    """
    with files(__package__).joinpath("reform_models.csv").open(encoding="utf-8") as file:
        return {
            row.pop("model"): {
                key: int(value) if key.endswith(_COUNTS) else value for key, value in row.items() if value
            }
            for row in csv.DictReader(file)
        }


def facts(lookup: Lookup) -> dict[str, dict[str, Any]]:
    """The facts on record about the models here; the paper's where models.lock has none."""
    return {
        name: {**_printed_facts().get(name, {}), **lookup.evidence.facts.get(name, {})}
        for name in lookup.order
    }


IN_DOMAIN = (
    *("coco_mci", "coco_goi", "coco_mos", "coco_counting", "refcoco", "coco_text", "vqa_v2", "ok_vqa"),
    *("a_okvqa", "a_okvqra", "a_okvqar", "vsr", "coco_itm", "coco_its", "coco_caption", "flickr30k"),
)
"""Datasets of COCO images, and Flickr30K, which the paper groups with them. The paper uses six; the text of
its PDF names two."""
OUT_OF_DOMAIN = ("pets37", "flowers102", "textcaps", "nocaps", "wikihow", "winoground")
BY_LABEL = {label: name for name, label in MODELS.items()}
OUTPUT_NAMES = {TEXT: "generation", LIKELIHOOD: "likelihood"}
TESTS = "tests"
AVERAGED = ("Acc", "Instability")
"""Measures of table 20 of which the paper prints means over the datasets."""
ONLINE = ("dialogue_tests", "dialogue")
"""Variations that show the model's own earlier answers. The paper asks the first: five tests of each
question."""
# If the likelihood needs other prompts, it is asked in a separate entry of the dataset.
SUFFIX = "_likelihood"
NO_SETS = "no dataset of that dimension of ReForm-Eval"


SAMPLED = "first_t0.2"
"""The score of the first sample of each test at the authors' temperature."""
SEARCHED = (
    *("blip2_flan_t5_xl", "instructblip_flan_t5_xl", "instructblip_vicuna_7b", "bliva", "lynx"),
    "shikra",
)
"""Models without sampling in the authors' code: it uses beam search, with a single beam for Shikra."""


def _datasets(lookup: Lookup, wanted: Sequence[str] | None, output: str) -> dict[str, str]:
    """Datasets with an output -> their names in the benchmark; all of them if `wanted` is None.

    If the likelihood was asked both in a dataset's entry and in its separate entry, the separate one counts.
    """
    asked = [name for name in lookup.evidence.datasets if output in lookup.evidence.outputs(name)]
    if output == LIKELIHOOD:
        asked = [name for name in asked if f"{name}{SUFFIX}" not in asked]
    names = {name: name.removesuffix(SUFFIX) if output == LIKELIHOOD else name for name in asked}
    return {key: name for key, name in names.items() if wanted is None or name in wanted}


def long(
    lookup: Lookup, measures: Sequence[Measure], wanted: Sequence[str] | None = None, online: bool = False
) -> pd.DataFrame:
    """The measures by dataset of the benchmark, from the main evaluation or else the original prompts.

    Of the benchmark's dialogues only prompts that show the model's own earlier answers count. online: of all
    datasets only such prompts.
    """
    parts = [pd.DataFrame(columns=["model", "dataset", "measure"])]
    for index, measure in enumerate(measures):
        for dataset, name in _datasets(lookup, wanted, measure.output).items():
            asked = lookup.evidence.variations(dataset)
            candidates = ONLINE if online or name in DIALOGUE else (TESTS, ORIGINAL)
            variation = next((one for one in candidates if one in asked), None)
            if variation is not None:
                frame = lookup.of(replace(measure, variation=variation))
                parts.append(frame[frame["dataset"] == dataset].assign(dataset=name, measure=index))
    return pd.concat(parts[1:] or parts, ignore_index=True)


def accuracy(output: str) -> Measure:
    """The measure of accuracy for an output."""
    return Measure("Acc", "accuracy", output=output, better="high")


def means(lookup: Lookup) -> pd.DataFrame:
    """Mean accuracy over the datasets: a row per model that has all of them, a column per output."""
    frame = long(lookup, [accuracy(output) for output in OUTPUT_NAMES])
    if frame.empty:
        raise Absent("no model was asked for texts or likelihoods")
    frame = frame.dropna(subset=["value"])
    most = frame.groupby("measure")["dataset"].nunique()
    found = frame.groupby(["model", "measure"])["value"].agg(["mean", "count"]).unstack()
    return found["mean"].where(found["count"] == most).dropna(how="all").dropna(axis=1, how="all")


def _cider(lookup: Lookup) -> Measure:
    """CIDEr as the authors compute it, or else of tokenized captions."""
    known = set(lookup.evidence.leaderboard["metric"])
    return Measure("CIDEr", "cider" if "cider" in known else "cider_d", output=TEXT, better="high")


def coco_ranks(lookup: Lookup) -> pd.DataFrame:
    """model (a group of `COCO`), dataset, value: the mean rank of the group's models among all models here.

    Texts rank by accuracy, captions by CIDEr; the datasets are those of table 22 that all models here have.
    """
    sets = (*IN_DOMAIN, *OUT_OF_DOMAIN)
    frame = pd.concat([long(lookup, [accuracy(TEXT)], sets), long(lookup, [_cider(lookup)], sets)])
    if frame.empty:
        raise Absent("no dataset of table 22 was asked for texts")
    frame = frame.dropna(subset=["value"]).drop_duplicates(["model", "dataset"])
    models = frame.groupby("dataset")["model"].transform("nunique")
    frame = frame[models == models.max()]
    ranks = frame.groupby("dataset")["value"].rank(ascending=False, method="min")
    group = frame["model"].map({name: group for group, names in COCO.items() for name in names})
    found = frame.assign(value=ranks, model=group).dropna(subset=["model"])
    if found["model"].nunique() < len(COCO):
        raise Absent("needs models of both groups: BLIP-2, mPLUG-Owl or Lynx, and LLaVA or MiniGPT4")
    return found.groupby(["model", "dataset"], as_index=False)["value"].mean()


def with_sampled(*measures: Measure) -> tuple[Measure, ...]:
    """The measures, followed by those of generated texts once more, computed from the first samples."""
    return (*measures, *(_twin(measure) for measure in measures if measure.output == TEXT))


def _twin(measure: Measure) -> Measure:
    return replace(measure, label=f"{measure.label}, sampled", score=SAMPLED)


def printed(
    lookup: Lookup, file: str, columns: Sequence[str], dataset: str = "", **chosen: str
) -> dict[Key, str]:
    """Published cells. columns: the file's, one for each measure. dataset: used if the file names none."""
    return {
        (index, BY_LABEL[row["model"]], dataset or row["dataset"]): row[column]
        for row in lookup.printed(file, **chosen)
        for index, column in enumerate(columns)
    }


def beside(prints: Mapping[Key, str], frame: pd.DataFrame, measures: Sequence[Measure]) -> dict[Key, str]:
    """Moves published cells to the measure that was made in the same way: for models that sample, samples.

    prints: by position among the measures of greedy texts. frame: the rows that are shown; if it has no
    number from samples, the cell stays. measures: as `with_sampled` gives them.
    """
    places = {measure: index for index, measure in enumerate(measures)}
    held = set(zip(frame["measure"], frame["model"], frame["dataset"], strict=True))
    found = {}
    for (index, model, dataset), cell in prints.items():
        there = (places.get(_twin(measures[index]), index), model, dataset)
        found[there if there in held and model not in SEARCHED else (index, model, dataset)] = cell
    return found


DIMENSIONS = {"generation": 8, "likelihood": 6}
"""The number of dimensions by output: two of them have no options. Published means are over all."""
INSTABILITY = {
    column: Measure(label, "instability", output=output, variation=variation, scale=1, digits=3, better="low")
    for column, label, variation, output in (
        ("instruction", "Instruction", "instruction", TEXT),
        ("order", "Order", "shuffled", TEXT),
        ("mark", "Option label", "labels_drawn", TEXT),
        ("likelihood_instruction", "Likelihood, instruction", "instruction", LIKELIHOOD),
    )
}
"""Measures of table 23 by column of the published file; those of table 24 are next."""
RANGES = {
    f"range_{noun}": Measure(
        noun.capitalize(), "accuracy_range", output=output, variation="instruction", better="low"
    )
    for output, noun in OUTPUT_NAMES.items()
}


def _table(
    lookup: Lookup,
    caption: str,
    frame: pd.DataFrame,
    measures: Sequence[Measure],
    columns: Iterable[str],
    prints: Mapping[Key, str],
    name: str = "",
    help: Mapping[str, str] | None = None,
) -> Built:
    """A table with a row for each model. prints: see `beside`."""
    heads = {column: column for column in columns}
    cells = beside(prints, frame, measures)
    layout = Layout(caption, measures, lookup.models(MODELS), heads, name, prints=cells, help=help or {})
    return pivot(frame, layout)


def dimension(title: str, sets: Sequence[str], outputs: Sequence[str], lookup: Lookup) -> Built:
    """Tables 9 to 18. sets: the datasets of a dimension. outputs: each gets a table."""
    parts = []
    for output in outputs:
        instability = Measure("Instability", "instability", output=output, scale=1, better="low")
        measures = with_sampled(accuracy(output), instability)
        frame = long(lookup, measures, sets)
        over = [name for name in sets if name in set(frame["dataset"])]
        if over:
            noun = OUTPUT_NAMES[output]
            prints = printed(lookup, "reform_tables", ("accuracy", "instability"), output=noun)
            shown, help = with_mean(frame, over), {MEAN: f"mean over {formatting.listed(over, 9)}"}
            caption, columns = f"{title}, {noun}", (*over, MEAN)
            parts.append(_table(lookup, caption, shown, measures, columns, prints, f"-{noun}", help))
    return joined(parts, NO_SETS)


def captions(lookup: Lookup) -> Built:
    """Table 19."""
    measures = with_sampled(_cider(lookup))
    frame = long(lookup, measures)
    over = dict.fromkeys(name for name in (*CAPTIONS, *frame["dataset"]) if name in set(frame["dataset"]))
    if not over:
        raise Absent("no dataset of captions")
    prints = printed(lookup, "reform_tables", ("accuracy",), output=OUTPUT_NAMES[TEXT])
    return _table(lookup, "captions", with_mean(frame, tuple(over)), measures, (*over, MEAN), prints)


def dialogue(lookup: Lookup) -> Built:
    """Table 20: conversations that show the model's own earlier answers."""
    parts = []
    for output, noun in OUTPUT_NAMES.items():
        measures = with_sampled(
            accuracy(output),
            Measure("Instability", "instability", output=output, scale=1, better="low"),
            Measure("Correlation", "turn_correlation", output=output, scale=1),
            Measure("Slope", "turn_slope", output=output, scale=1, digits=3),
        )
        frame = long(lookup, measures, online=True)
        with_turns = set(frame.loc[frame["measure"] == 2, "dataset"])
        if with_turns:
            averaged = [index for index, one in enumerate(measures) if one.label.startswith(AVERAGED)]
            both = frame[frame["measure"].isin(averaged) & frame["dataset"].isin(DIALOGUE)]
            mean = with_mean(both, DIALOGUE)
            frame = pd.concat([frame[frame["dataset"].isin(with_turns)], mean[mean["dataset"] == MEAN]])
            caption = f"dialogues, {noun}; accuracy against the number of the turn"
            prints = printed(lookup, "reform_tables", ("accuracy", "instability", "correlation"), output=noun)
            prints |= {
                (index, model, MEAN): cell
                for (index, model, name), cell in prints.items()
                if name == "dialogue"
            }
            heads = (*sorted(with_turns), MEAN)
            parts.append(_table(lookup, caption, frame, measures, heads, prints, f"-{noun}"))
    return joined(parts, "needs the variation dialogue_tests, or dialogue, and questions with turns")


def general(lookup: Lookup) -> Built:
    """Table 1: accuracy and rank by dimension, and their means over the dimensions.

    Published numbers are shown for dimensions whose datasets are all here, the means if all dimensions are;
    the mean ranks need, in addition, exactly the paper's models.
    """
    frame = lookup.evidence.dimensions
    measures = (Measure("Acc", "accuracy"), Measure("Rank", "rank", scale=1, digits=1))
    parts = []
    for output, noun in OUTPUT_NAMES.items():
        own = _main_evaluation(frame[frame["output"] == output]).rename(columns={"dimension": "dataset"})
        if own.empty:
            continue
        whole = set(own.loc[own["parts"] == own["dataset"].map(SETS), "dataset"])
        prints = printed(lookup, "reform_tables", ("accuracy",), output=noun)
        prints = {key: cell for key, cell in prints.items() if key[2] in whole}
        if len(whole) == DIMENSIONS[noun]:
            columns = ("score", "rank") if set(lookup.order) == set(MODELS) else ("score",)
            prints |= printed(lookup, "reform_ranks", [f"{noun}_{column}" for column in columns], OVERALL)
        both = own.melt(["protocol", "model", "dataset"], ["value", "rank"], "measure", "number")
        both = both.pivot(index=["measure", "model", "dataset"], columns="protocol", values="number")
        both = both.reindex(columns=[FAITHFUL, CLEAN]).set_axis(["value", "clean"], axis=1).reset_index()
        both["measure"] = both["measure"].map({"value": 0, "rank": 1})
        names = sorted(set(both["dataset"]), key=lambda name: (name == OVERALL, name))
        parts.append(_table(lookup, f"by dimension, {noun}", both, measures, names, prints, f"-{noun}"))
    return joined(parts, "no model was asked for texts or likelihoods")


def _main_evaluation(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of one output that table 1 shows: of the main evaluation, dialogues with earlier answers."""
    asked = set(frame["variation"])
    main = frame[frame["variation"] == (TESTS if TESTS in asked else ORIGINAL)]
    dialogues = frame["dimension"] == "dialogue"
    if not dialogues.any():
        return main
    asked = set(frame.loc[dialogues, "variation"])
    online = frame[dialogues & (frame["variation"] == next((one for one in ONLINE if one in asked), None))]
    parts = pd.concat([main[~main["dimension"].isin(["dialogue", OVERALL])], online])
    groups = parts.groupby(["protocol", "model"])
    overall = groups[["value", "rank"]].mean().assign(parts=groups.size()).reset_index()
    whole = overall["protocol"].map(parts.groupby("protocol")["dimension"].nunique())
    return pd.concat([parts, overall[(overall["parts"] == whole) & (whole > 1)].assign(dimension=OVERALL)])


def hit_rate(number: str, lookup: Lookup) -> Built:
    """Table 3 for the first dataset that was asked without a sample, and table 21 for all of these."""
    measures = (
        Measure("Without sample", "format_hit_rate", output=TEXT, variation=NO_SAMPLE),
        Measure("With sample", "format_hit_rate", output=TEXT),
    )
    frame = lookup.long(measures)
    over = list(dict.fromkeys(frame.loc[frame["measure"] == 0, "dataset"]))
    if not over:
        raise Absent(f"needs the variation {NO_SAMPLE}")
    over = over[:1] if number == "3" else over
    prints = printed(lookup, "reform_hits", ("without", "with"), "vqa_v2", table=number)
    caption, shown = "share of texts with an option label (%)", frame[frame["dataset"].isin(over)]
    return _table(lookup, caption, shown, measures, over, prints)


def _shaken(lookup: Lookup, measures: Sequence[Measure]) -> pd.DataFrame:
    frame = lookup.long(measures)
    if frame.empty:
        raise Absent("needs the variations instruction, shuffled and labels_drawn")
    return frame.assign(dataset=frame["dataset"].str.removesuffix(SUFFIX))


def shaken(title: str, measures: Mapping[str, Measure], lookup: Lookup) -> Built:
    """Tables 23 and 24: how a change of the prompt affects answers."""
    every = with_sampled(*measures.values())
    frame = _shaken(lookup, every)
    prints = printed(lookup, "reform_23_24", tuple(measures), "scienceqa")
    return _table(lookup, title, frame, every, dict.fromkeys(frame["dataset"]), prints)


def shaken_mean(lookup: Lookup) -> Built:
    """Table 4: instability as means over the models."""
    measures = with_sampled(*INSTABILITY.values())
    frame = _shaken(lookup, measures)
    heads = {name: name for name in frame["dataset"]}
    mean = frame.groupby(["measure", "dataset"], as_index=False)[["value", "clean"]].mean()
    caption, rows = "instability by what changes, mean over the models", {"mean": "Mean over the models"}
    return pivot(mean.assign(model="mean"), Layout(caption, measures, rows, heads))


def coco(lookup: Lookup) -> Built:
    """Table 22: ranks are among the models here; the paper ranks sixteen."""
    frame = coco_ranks(lookup).assign(measure=0)
    heads = {name: name for name in (*IN_DOMAIN, *OUT_OF_DOMAIN) if name in set(frame["dataset"])}
    measure = Measure("Rank", "accuracy", output=TEXT, scale=1, better="low", only="clean")
    rows = {name: name for name in COCO}
    help = dict.fromkeys(IN_DOMAIN, "images of COCO, or similar")
    layout = Layout("mean rank by dataset", (measure,), rows, heads, row="Models", help=help)
    return pivot(frame.assign(clean=frame["value"]), layout)


HALVES = {
    "perception": ("coarse_perception", "fine_perception", "scene_text"),
    "cognition": ("spatial", "visual_reasoning", "cross_modal", "dialogue", "description"),
}
HALF = {dimension: half for half, dimensions in HALVES.items() for dimension in dimensions}
OPEN = ("scene_text", "description")
"""Dimensions without options, and so without likelihoods."""
ARCHITECTURES = ("Q-Former", "Perceiver", "Adapter")
"""Parts of a connector after which table 2 names it, whatever comes with them."""


def _modules(known: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Vision encoder and connector of each model that has both on record, as table 2 groups them:
    `ViT-G/14` and `Q-Former+Linear` -> `ViT-G + Q-Former`."""
    kinds = {}
    for name, own in known.items():
        encoder, connector = (str(own.get(key, "")) for key in ("vision_encoder", "connector"))
        if encoder and connector:
            part = next((one for one in ARCHITECTURES if one in connector), connector)
            kinds[name] = f"{encoder.partition('/')[0]} + {part}"
    return kinds


def modules(lookup: Lookup) -> Built:
    """Table 2: each model's mean over the dimensions of a half of the benchmark, then the mean over models.

    A published number is shown if all datasets of the half are here and exactly the paper's models.
    """
    kinds = _modules(facts(lookup))
    if len(set(kinds.values())) < 2:
        raise Absent("vision encoder and connector of fewer than two kinds of models are on record")
    parts: list[pd.Series] = []
    prints: dict[Key, str] = {}
    for index, (output, noun) in enumerate(OUTPUT_NAMES.items()):
        frame = lookup.evidence.dimensions
        own = _main_evaluation(frame[frame["output"] == output])
        own = own.assign(dataset=own["dimension"].map(HALF)).dropna(subset=["dataset"])
        most = own.groupby(["protocol", "dataset"])["dimension"].transform("nunique")
        places = own.groupby(["protocol", "dataset", "model"])
        own = own[places["dimension"].transform("nunique") == most]
        means = own.groupby(["protocol", "dataset", "model"], as_index=False)["value"].mean()
        means = means.assign(model=means["model"].map(kinds), measure=index)
        parts.append(means.groupby(["measure", "model", "dataset", "protocol"])["value"].mean())
        prints |= _printed_modules(lookup, index, noun, own, kinds)
    mean = pd.concat(parts).unstack("protocol").reindex(columns=[FAITHFUL, CLEAN])
    if mean.empty:
        raise Absent("no dimension of ReForm-Eval was asked for texts or likelihoods")
    long = mean.set_axis(["value", "clean"], axis=1).reset_index()
    measures = [Measure(noun.capitalize(), "accuracy", digits=1) for noun in OUTPUT_NAMES.values()]
    caption, rows = (
        "accuracy by vision encoder and connector",
        {name: name for name in sorted(set(long["model"]))},
    )
    heads = {half: half for half in HALVES if half in set(long["dataset"])}
    return pivot(long, Layout(caption, measures, rows, heads, row="Encoder + connector", prints=prints))


def _printed_modules(
    lookup: Lookup, index: int, noun: str, own: pd.DataFrame, kinds: Mapping[str, str]
) -> dict[Key, str]:
    """Cells of table 2 that our numbers may stand beside. own: rows of DIMENSIONS, `dataset` the half."""
    papers, here = _modules(_printed_facts()), set(own["model"])
    whole = own.loc[own["parts"] == own["dimension"].map(SETS)].groupby("dataset")["dimension"].nunique()
    found = {}
    for row in lookup.printed("reform_modules", output=noun):
        kind = f"{row['encoder']} + {row['connector']}"
        ours = {name for name in here if kinds.get(name) == kind}
        if ours == {name for name, each in papers.items() if each == kind}:
            for half, dimensions in HALVES.items():
                wanted = len([one for one in dimensions if noun == "generation" or one not in OPEN])
                if whole.get(half, 0) == wanted:
                    found[index, kind, half] = row[half]
    return found


def statistics(sets: Sequence[str], others: bool, lookup: Lookup) -> Built:
    """Numbers of questions, images and options by dataset. others: adds the datasets that no table has."""
    items = lookup.evidence.items
    body = []
    for dataset in lookup.evidence.datasets:
        name = dataset.removesuffix(SUFFIX)
        here = items[items["dataset"] == dataset]
        if here.empty or not (name in sets or (others and name not in (*PERCEPTION, *COGNITION))):
            continue
        options = here["options"].map(len)
        asked = options[options > 0].mean()
        groups = here["category"].unique()
        body.append(
            cells(
                dataset,
                groups[0] if len(groups) == 1 else formatting.plural(len(groups), "category", "categories"),
                len(here),
                int(here["images"].explode().nunique()),
                Cell(formatting.number(asked, 2), key=float(options.mean())) if asked > 0 else MISSING,
            )
        )
    heads = (
        Column("Dataset"),
        Column("Dimension"),
        Column("Questions", "", True),
        Column("Images", "distinct images", True),
        Column("Options", "mean number, of questions that have them", True),
    )
    return listing("the datasets", heads, body, NO_SETS)


def known(title: str, keys: Mapping[str, str], lookup: Lookup) -> Built:
    """The facts on record about the models: a row for each model for which any of the keys is known."""
    body = []
    for name, label in lookup.models(MODELS).items():
        values = [facts(lookup).get(name, {}).get(key) for key in keys]
        if any(value is not None for value in values):
            body.append([named(name, label), *map(_fact, values)])
    heads = (Column("Model"), *map(Column, keys.values()))
    return listing(title, heads, body, "models.lock has no such facts about these models")


def _fact(value: object) -> Cell:
    if value is None:
        return MISSING
    if isinstance(value, int):
        return Cell(formatting.count(value), key=float(value))
    return Cell(", ".join(map(str, value)) if isinstance(value, list) else str(value))
