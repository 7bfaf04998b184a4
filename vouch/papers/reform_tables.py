"""ReForm-Eval's tables 3 to 24: by dataset, by kind of change, and the facts about datasets and models."""

from collections.abc import Mapping, Sequence

import pandas as pd

from vouch.papers.entry import MEAN, Absent, Built, Lookup, Measure, joined, listing, named, with_mean
from vouch.papers.pivot import Layout, pivot
from vouch.papers.reform_sets import (
    CAPTIONS,
    COGNITION,
    DIALOGUE,
    MODELS,
    NO_SETS,
    OUTPUT_NAMES,
    PERCEPTION,
    SUFFIX,
    accuracy,
    cider,
    facts,
    long,
    printed,
    table,
    with_sampled,
)
from vouch.report import formatting
from vouch.report.evidence import NO_SAMPLE
from vouch.report.table import MISSING, Cell, Column, cells
from vouch.tables.asked import LIKELIHOOD, TEXT

AVERAGED = ("Acc", "Instability")
"""Measures of table 20 of which the paper prints means over the datasets."""
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
            parts.append(table(lookup, caption, shown, measures, columns, prints, f"-{noun}", help))
    return joined(parts, NO_SETS)


WHOLE = "description"
"""The dimension of which table 19 has all datasets, and so its average."""


def captions(lookup: Lookup) -> Built:
    """Table 19."""
    measures = with_sampled(cider(lookup))
    frame = long(lookup, measures)
    over = dict.fromkeys(name for name in (*CAPTIONS, *frame["dataset"]) if name in set(frame["dataset"]))
    if not over:
        raise Absent("no dataset of captions")
    prints = printed(lookup, "reform_tables", ("accuracy",), output=OUTPUT_NAMES[TEXT])
    if set(over) == set(CAPTIONS):
        prints |= {
            (index, model, MEAN): cell for (index, model, name), cell in prints.items() if name == WHOLE
        }
    return table(lookup, "captions", with_mean(frame, tuple(over)), measures, (*over, MEAN), prints)


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
            parts.append(table(lookup, caption, frame, measures, heads, prints, f"-{noun}"))
    return joined(parts, "needs the variation dialogue_tests, or dialogue, and questions with turns")


HIT_RATES_OF = "vqa_v2"
"""The dataset of tables 3 and 21."""


def hit_rate(number: str, lookup: Lookup) -> Built:
    """Table 3 for the paper's dataset, else the first asked without a sample; table 21 for all of these."""
    measures = (
        Measure("Without sample", "format_hit_rate", output=TEXT, variation=NO_SAMPLE),
        Measure("With sample", "format_hit_rate", output=TEXT),
    )
    frame = lookup.long(measures)
    over = list(dict.fromkeys(frame.loc[frame["measure"] == 0, "dataset"]))
    if not over:
        raise Absent(f"needs the variation {NO_SAMPLE}")
    if number == "3":
        over = [HIT_RATES_OF] if HIT_RATES_OF in over else over[:1]
    prints = printed(lookup, "reform_hits", ("without", "with"), HIT_RATES_OF, table=number)
    caption, shown = "share of texts with an option label (%)", frame[frame["dataset"].isin(over)]
    return table(lookup, caption, shown, measures, over, prints)


def _shaken(lookup: Lookup, measures: Sequence[Measure]) -> pd.DataFrame:
    frame = lookup.long(measures)
    if frame.empty:
        raise Absent("needs the variations instruction, shuffled and labels_drawn")
    return frame.assign(dataset=frame["dataset"].str.removesuffix(SUFFIX))


AVERAGE = "average"
"""The last row of tables 23 and 24, which table 4 has alone."""


def _averaged(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over the models that have the number."""
    mean = frame.groupby(["measure", "dataset"], as_index=False)[["value", "clean"]].mean()
    return mean.assign(model=AVERAGE)


def shaken(title: str, measures: Mapping[str, Measure], lookup: Lookup) -> Built:
    """Tables 23 and 24: how a change of the prompt affects answers."""
    every = with_sampled(*measures.values())
    frame = _shaken(lookup, every)
    prints = printed(lookup, "reform_23_24", tuple(measures), "scienceqa")
    heads, rows = dict.fromkeys(frame["dataset"]), {AVERAGE: "Average"}
    if frame["model"].nunique() > 1:
        frame = pd.concat([frame, _averaged(frame)], ignore_index=True)
    return table(lookup, title, frame, every, heads, prints, last=rows)


def shaken_mean(lookup: Lookup) -> Built:
    """Table 4: instability as means over the models."""
    measures = with_sampled(*INSTABILITY.values())
    frame = _shaken(lookup, measures)
    heads = {name: name for name in frame["dataset"]}
    caption, rows = "instability by what changes, mean over the models", {AVERAGE: "Mean over the models"}
    return pivot(_averaged(frame), Layout(caption, measures, rows, heads))


COCO = {
    "Pre-training with COCO": ("blip2_flan_t5_xl", "mplug_owl", "lynx"),
    "Pre-training without COCO": ("llava_vicuna_7b", "minigpt4"),
}
"""The two groups of models of table 22 (appendix C.4)."""
IN_DOMAIN = (
    *("coco_mci", "coco_goi", "coco_mos", "coco_counting", "refcoco", "coco_text", "vqa_v2", "ok_vqa"),
    *("a_okvqa", "a_okvqra", "a_okvqar", "vsr", "coco_itm", "coco_its", "coco_caption", "flickr30k"),
)
"""Datasets of COCO images, and Flickr30K, which the paper groups with them. The paper uses six; the text of
its PDF names two."""
OUT_OF_DOMAIN = ("pets37", "flowers102", "textcaps", "nocaps", "wikihow", "winoground")


def coco_ranks(lookup: Lookup) -> pd.DataFrame:
    """model (a group of `COCO`), dataset, value: the mean rank of the group's models among all models here.

    Texts rank by accuracy, captions by CIDEr; the datasets are those of table 22 that all models here have.
    """
    sets = (*IN_DOMAIN, *OUT_OF_DOMAIN)
    frame = pd.concat([long(lookup, [accuracy(TEXT)], sets), long(lookup, [cider(lookup)], sets)])
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


def coco(lookup: Lookup) -> Built:
    """Table 22: ranks are among the models here; the paper ranks sixteen."""
    frame = coco_ranks(lookup).assign(measure=0)
    heads = {name: name for name in (*IN_DOMAIN, *OUT_OF_DOMAIN) if name in set(frame["dataset"])}
    measure = Measure("Rank", "accuracy", output=TEXT, scale=1, better="low", only="clean")
    rows = {name: name for name in COCO}
    help = dict.fromkeys(IN_DOMAIN, "images of COCO, or similar")
    layout = Layout("mean rank by dataset", (measure,), rows, heads, row="Models", help=help)
    return pivot(frame.assign(clean=frame["value"]), layout)


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
