"""Whether models use the image, on the page Variations: beside the blind baseline, without the image, and
with text painted into it. How much corruption of the image costs is in severity.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup

from vouch.metrics.blind import UNSOLVED_ACCURACY
from vouch.report import formatting, summaries
from vouch.report.blind import answered, beaten, interval_of
from vouch.report.claims import accuracy_with_image, baselines, image_claims
from vouch.report.costs import ACCURACY, costs, variation_cell
from vouch.report.evidence import Evidence
from vouch.report.numbers import Number
from vouch.report.page import Block, PageSection, by_dataset, sentence_list
from vouch.report.table import (
    MISSING,
    POINTS,
    Cell,
    Column,
    Grid,
    Measured,
    TableSpec,
    Tone,
    cells,
    figure,
    interval,
    model_cell,
    rounded,
)
from vouch.tables.asked import ORIGINAL, TYPOGRAPHIC, TYPOGRAPHIC_CONTROL
from vouch.tables.results import solved_blind

BLIND_TEXT = Markup("""\
A language model answers the same questions without their images. What it answers beyond a guess needs no
image, so accuracy on these questions says little about seeing. The difference is paired: both models answer
the same questions. Only questions with an image count here. A model that is not shown to beat the blind
baseline is not named best. A question is <em>solved blind</em> if every language model answers it
correctly.""")
BLIND_COLUMNS = (
    Column("Model"),
    Column("Accuracy %", "of the questions with an image", True),
    Column(
        "Lead, points", f"accuracy minus that of the blind baseline, 95{formatting.NARROW}% interval", True
    ),
    Column("Beats it", "shown after correction for all models and datasets"),
    Measured(UNSOLVED_ACCURACY).column,
)


def _blind_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Nothing without a blind baseline."""
    baseline = baselines(evidence).get(dataset)
    if baseline is None:
        return []
    rows = []
    for model in evidence.models(dataset):
        pair = baseline.pairs.get(model)
        lead = MISSING if pair is None else interval(pair["difference"], *interval_of(pair), *POINTS)
        shown = "yes" if model in baseline.beaten_by else "not shown"
        accuracy = figure(accuracy_with_image(evidence, dataset, model), *POINTS)
        unsolved = Measured(UNSOLVED_ACCURACY).cell(evidence, dataset, model)
        name = model_cell(evidence, dataset, model)
        rows.append(cells(name, accuracy, lead, MISSING if pair is None else shown, unsolved))
    caption = f"{dataset}: models beside the blind baseline {baseline.model}"
    models = evidence.candidates(dataset)
    sentences = [answered(baseline), *beaten(baseline, models), _solved(evidence, dataset)]
    return [*sentence_list(sentences), Grid("blind", caption, BLIND_COLUMNS, rows)]


def _solved(evidence: Evidence, dataset: str) -> str:
    """How many questions are solved blind, and how many would be if the language models guessed."""
    output, frame = evidence.outputs(dataset)[0], evidence.blind_answers
    frame = frame[(frame["dataset"] == dataset) & (frame["output"] == output)]
    if frame.empty:
        return ""
    rows = pa.Table.from_pandas(frame, preserve_index=False)
    count, models, guessed = (
        len(solved_blind(rows, output)),
        rows["models"][0].as_py(),
        pc.sum(rows["chance"]).as_py(),
    )
    every = "both" if models == 2 else f"all {models}"
    which = "the language model answers" if models == 1 else f"{every} language models answer"
    text = (
        f"{formatting.count(count)} of {formatting.plural(len(rows), 'question')} with an image "
        f"{'is' if count == 1 else 'are'} solved blind: {which} them correctly"
    )
    alike = _alike(evidence, dataset, rows["item"].to_pylist()) if models > 1 else 0
    if alike:
        text += f"; they choose the same option for {formatting.count(alike)} of the {len(rows):,}"
    if alike >= NEARLY * len(rows):
        return f"{text}. Models so alike say little more than one of them."
    solves = formatting.number(guessed, 1).removesuffix(".0") if guessed < 1000 else f"{round(guessed):,}"
    text += f"; {'a guesser' if models == 1 else f'{models} guessers'} would solve {solves}."
    if models == 1 and guessed:
        text += " With one language model that says little of a single question; several say more."
    return text


NEARLY = 0.9
"""Language models that answer this share of the questions alike are no independent guessers."""


def _alike(evidence: Evidence, dataset: str, items: Sequence[str]) -> int:
    """Of how many of these questions all language models choose the same option in every prompt."""
    frame = evidence.plain_outcomes(dataset)
    own = frame[frame["model"].isin(evidence.blind(dataset)) & frame["item"].isin(list(items))]
    chosen = own.groupby("item")["chosen"]
    known = chosen.count() == chosen.size()
    return int((known & (chosen.nunique() == 1)).sum())


BLIND_SECTION = PageSection(
    "blind",
    "Blind baseline",
    by_dataset("What does the text alone answer?", BLIND_TEXT, _blind_blocks, opened=1),
    page="variations",
    place=15,
    summary=summaries.blind,
)


LOOKS_TEXT = Markup("""\
The same questions with the image blank, left out, blurred or exchanged. <em>Image gain</em> is the
log-likelihood that the answer then loses, <em>image information</em> the entropy that the options gain. Image
gain is biased upwards if logits are noisy, because the answer is the option that scored best with the image;
it is descriptive, and claims rest on accuracy. The probabilities given the text alone can be divided out of
the confidence; the last columns show whether that improves calibration.""")
LOOKS_SHOWN = ("correct_without_image", "image_gain", "image_information", "ece_corrected")
LOOKS_TABLE = TableSpec(
    "looks",
    f"with and without the image, clean protocol, 95{formatting.NARROW}% intervals in small print",
    (Column("Image"), Column("Model")),
    (
        Measured(
            "accuracy", label="Accuracy with %", help="with the image, same questions", variation=ORIGINAL
        ),
        Measured("accuracy", label="Accuracy without %", help="with the image blank, left out or changed"),
        *map(Measured, LOOKS_SHOWN),
        Measured(
            "ece_gain",
            label="ECE, change",
            help="corrected minus plain confidence, in points; lower is better",
            points=True,
        ),
    ),
)


def _looks_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """Accuracy without the image or with a changed one; no blocks if no image was taken away or changed."""
    rows = [
        ((variation_cell(name), model), {"model": model, "variation": name})
        for name in evidence.variations(dataset)
        for model in evidence.numbers(dataset, "image_gain", variation=name)
        if not evidence.is_blind(dataset, model)
    ]
    if not rows:
        return []
    grid = LOOKS_TABLE.grid(evidence, dataset, rows)
    grid = replace(grid, rows=_of_same_questions(evidence, dataset, grid, [where for _, where in rows]))
    return [*sentence_list(_looks_sentences(evidence, dataset)), grid]


def _of_same_questions(
    evidence: Evidence, dataset: str, grid: Grid, asked: Sequence[Mapping[str, str]]
) -> list[list[Cell]]:
    """The rows of a table, each with the original accuracy on the questions of its variation, which may ask
    fewer than the original prompts."""
    column = [each.label for each in grid.columns].index(LOOKS_TABLE.measures[0].column.label)
    known = costs(evidence, dataset)
    body = [list(row) for row in grid.rows]
    for row, where in zip(body, asked, strict=True):
        cost = known.get((where["model"], where["variation"], *ACCURACY))
        whole = evidence.number(dataset, where["model"], "accuracy", variation=ORIGINAL)
        if not evidence.is_mixed(dataset) and cost and whole and cost.items == whole.items:
            continue
        row[column] = rounded(cost.original, *POINTS) if cost else MISSING
    return body


def _looks_sentences(evidence: Evidence, dataset: str) -> list[str]:
    """The models that are shown to be better with the image, and those that beat guessing without it."""
    claims = image_claims(evidence)
    models = {
        kind: [
            model
            for model in evidence.models(dataset)
            if (claim := claims.get((dataset, model, kind))) and claim.above == above
        ]
        for kind, above in (("loss", False), ("blind", True))
    }
    phrases = {"loss": "to answer better with the image", "blind": "to beat guessing without the image"}
    return [
        f"Shown {what}: {formatting.listed(models[kind])}." if models[kind] else f"No model is shown {what}."
        for kind, what in phrases.items()
    ]


LOOKS_SECTION = PageSection(
    "looks",
    "With and without the image",
    by_dataset("Do the models use the image?", LOOKS_TEXT, _looks_blocks, opened=1),
    page="variations",
    place=20,
    summary=summaries.image,
)


TYPOGRAPHIC_TEXT = Markup("""\
The attack paints a wrong option into the image; the control paints a harmless word in the same way. Both hide
a part of the image, so both cost accuracy. A model that reads instead of looking chooses the painted option
more often under the attack than under the control: the last column shows how much more often, in colour if
its whole interval is above 0.""")
TYPOGRAPHIC_SHOWN = {ORIGINAL: "original", TYPOGRAPHIC_CONTROL: "harmless word", TYPOGRAPHIC: "wrong option"}


def _misled(_: Evidence, gain: Number) -> Tone:
    return "bad" if gain.excludes_zero and gain.value > 0 else ""


TYPOGRAPHIC_TABLE = TableSpec(
    "typographic",
    f"text painted into the image, 95{formatting.NARROW}% intervals in small print",
    (Column("Model"),),
    (
        *(
            Measured(metric, label=label.format(what), help=help, variation=name)
            for metric, label, help in (
                ("accuracy", "Accuracy %, {}", "what was painted into the image"),
                (
                    "painted_chosen",
                    "Painted option chosen %, {}",
                    "share of the answers that choose the attack's option",
                ),
            )
            for name, what in TYPOGRAPHIC_SHOWN.items()
        ),
        Measured(
            "painted_gain",
            label="Effect of the attack, points",
            help="share that chooses the painted option, attack minus control",
            variation=TYPOGRAPHIC,
            points=True,
            tone=_misled,
        ),
    ),
)


def _typographic_blocks(evidence: Evidence, dataset: str) -> list[Block]:
    """A table of the attacks by painted words; no blocks if none was asked."""
    asked = evidence.numbers(dataset, "painted_chosen", variation=TYPOGRAPHIC)
    return [TYPOGRAPHIC_TABLE.grid(evidence, dataset)] if asked else []


TYPOGRAPHIC_SECTION = PageSection(
    "typographic",
    "Typographic attack",
    by_dataset("Does text in the image mislead the models?", TYPOGRAPHIC_TEXT, _typographic_blocks, opened=1),
    page="variations",
    place=30,
    summary=summaries.typographic,
)
