"""The page of `vouch report --against`: one HTML file that needs no other file, server or network."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from vouch.cli.against import CHANGED, GAINED, LOST, MOVED, SAME, Answers, NumberPair, RunComparison
from vouch.cli.leaderboard import Line, long_name
from vouch.report import formatting
from vouch.report.config import ReportConfig
from vouch.report.formatting import plural
from vouch.report.site import STATIC, environment
from vouch.report.table import MISSING, Cell, Column, Measured, Tone, whole
from vouch.tables.asked import LETTERS, ORIGINAL

TEMPLATES = Path(__file__).parent / "templates"
LISTED = 100  # questions with another content, or on one side only, that are named
_LONGEST = 200  # characters of a parameter's value
_NONE = MISSING.text
_EXPLAINED = (
    "Moved: the 95 % interval of the difference excludes 0. Changed: the number differs, but the interval "
    "holds 0, or there is none. The difference is paired, over the questions that are the same in both runs; "
    "its interval resamples groups of questions. Intervals of prediction sets keep the thresholds of each "
    "run, so they are too narrow. None is corrected for the number of rows."
)


class FoldedGrid(NamedTuple):
    """A table. summary: the line that unfolds it; empty if it is always there."""

    caption: str
    heads: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    summary: str = ""
    opens: bool = False
    texts: Sequence[str] = ()

    @property
    def folds(self) -> bool:
        """Whether it can be folded away."""
        return bool(self.summary)


class AgainstSection(NamedTuple):
    """A section of the page: paragraphs, then tables."""

    anchor: str
    title: str
    texts: Sequence[str]
    parts: Sequence[FoldedGrid]


def page(comparison: RunComparison, title: str, items: str) -> str:
    """The text of the page. title: of the commit. items: the path from the page to the page Items, empty if
    there is none."""
    items = quote(items)
    made = (
        _numbers(comparison),
        _answers(comparison, items),
        _questions(comparison),
        _settings(comparison),
        _outputs(comparison),
    )
    return (
        environment([TEMPLATES])
        .get_template("against.html.j2")
        .render(
            site=ReportConfig().title,
            title=title,
            heading="Nothing moved" if comparison.unchanged else "What moved",
            sentences=list(_sentences(comparison)),
            sections=[section for section in made if section.texts or section.parts],
            css=Markup((STATIC / "page.css").read_text("utf-8")),
            theme=Markup((STATIC / "theme.js").read_text("utf-8")),
            script=Markup((STATIC / "page.js").read_text("utf-8")),
        )
    )


def where(line: Line, model: bool = True) -> str:
    """A model on a dataset, with variation and request type if they are not the usual ones."""
    dataset, variation, output, name = line
    parts = [dataset, "" if variation == ORIGINAL else long_name(variation)]
    text = ", ".join(filter(None, [*parts, "" if output == LETTERS else formatting.OUTPUT_NAMES[output]]))
    return f"{name} on {text}" if model else text


def _sentences(comparison: RunComparison) -> Iterator[str]:
    states = comparison.states
    if comparison.unchanged:
        yield "Every number and every answer is the same in both runs."
    yield (
        f"{plural(states[MOVED], 'number')} moved, {states[CHANGED]:,} changed otherwise, "
        f"{states[SAME]:,} stayed the same to the last digit."
    )
    changed = sum(one.changed for one in comparison.answers)
    prompts = sum(one.prompts for one in comparison.answers)
    if prompts:
        kinds = {kind: sum(one.kinds[kind] for one in comparison.answers) for kind in (LOST, GAINED)}
        yield (
            f"{changed:,} of {plural(prompts, 'answer')} to the original prompts changed: {kinds[LOST]:,} "
            f"became wrong, {kinds[GAINED]:,} became correct."
        )
    for when, names in (("here", comparison.now_only), ("there", comparison.then_only)):
        if names:
            yield f"Only {when}: {', '.join(names)}."
    yield from (f"{note}." for note in comparison.notes)


def _numbers(comparison: RunComparison) -> AgainstSection:
    heads = (
        *(Column("Model"), Column("Number"), Column("Then", numeric=True), Column("Now", numeric=True)),
        *(Column("Difference", numeric=True), Column("95 % interval", numeric=True), Column("Verdict")),
        Column("Questions in both", numeric=True),
    )
    groups: dict[str, list[NumberPair]] = {}
    for one in comparison.numbers:
        groups.setdefault(where(one.line, model=False), []).append(one)
    parts = []
    for name, own in groups.items():
        states = [one.state for one in own]
        counts = [f"{states.count(state)} {state}" for state in (MOVED, CHANGED, SAME) if state in states]
        rows = [_number(one) for one in sorted(own, key=lambda one: one.state == SAME)]
        opens = MOVED in states or CHANGED in states
        parts.append(
            FoldedGrid(
                f"{name}: headline numbers of both runs", heads, rows, f"{name}: {', '.join(counts)}", opens
            )
        )
    return AgainstSection("numbers", "Numbers", [_EXPLAINED] if parts else [], parts)


def _number(one: NumberPair) -> list[Cell]:
    measured = Measured(*one.column)
    digits, scale = measured.unit

    def shown(value: float | None, sign: bool = False) -> Cell:
        if value is None:
            return MISSING
        text = formatting.number(scale * value, digits)
        return Cell(f"+{text}" if sign and value > 0 else text, key=value)

    span = "" if one.low is None or one.high is None else formatting.span(one.low, one.high, digits, scale)
    items = f"{one.items:,}" if one.items == one.of or not one.items else f"{one.items:,} of {one.of:,}"
    return [
        *(Cell(one.line[3]), Cell(measured.column.label), shown(one.then), shown(one.now)),
        *(shown(one.difference, sign=True), Cell(span or _NONE)),
        Cell(one.state, tone="strong" if one.state == MOVED else "quiet" if one.state == SAME else ""),
        Cell(items if one.items else _NONE, key=one.items),
    ]


def _answers(comparison: RunComparison, items: str) -> AgainstSection:
    """items: the address of the page Items; empty if there is none."""
    changed = [one for one in comparison.answers if one.changed or one.then_only or one.now_only]
    parts = [_changes(one, items, one is changed[0]) for one in changed]
    texts = []
    if parts:
        texts.append(
            "Answers to the original prompts that became wrong come first, then those that became correct, "
            "then other answers that are as correct as before."
        )
    heads = (Column("Dataset"), Column("Variation"), Column("Answers in both", numeric=True))
    rows = [
        [Cell(dataset), Cell(long_name(name)), whole(count), whole(other)]
        for (dataset, name), (count, other) in comparison.variations.items()
        if other
    ]
    if rows:
        caption = "Changed answers of all models, by variation"
        parts.append(FoldedGrid(caption, (*heads, Column("Changed", numeric=True)), rows))
    return AgainstSection("answers", "Answers", texts, parts)


def _changes(one: Answers, items: str, opens: bool) -> FoldedGrid:
    heads = (Column("Question"), Column("Change"), Column("Answer then"), Column("Answer now"))
    tones: dict[str, Tone] = {LOST: "bad", GAINED: "good"}
    rows = [
        [
            Cell(each.item, link=items and f"{items}#{quote(one.line[0], '')}/{quote(each.item, '')}"),
            Cell(each.kind, tone=tones.get(each.kind, "")),
            Cell(each.then),
            Cell(each.now),
        ]
        for each in one.listed
    ]
    counts = ", ".join(f"{count:,} {kind}" for kind, count in one.kinds.items() if count)
    summary = f"{where(one.line)}: {one.changed:,} of {one.prompts:,} changed, {counts}"
    left = one.changed - len(one.listed)
    texts = [f"{left:,} more changed answers are left out."] if left else []
    single = ((one.now_only, "only this checkout"), (one.then_only, "only the commit"))
    texts += [f"{plural(count, 'prompt')} that {who} has." for count, who in single if count]
    return FoldedGrid(f"{where(one.line)}: changed answers", heads, rows, summary, opens, texts)


def _questions(comparison: RunComparison) -> AgainstSection:
    heads = (Column("Dataset"), Column("Difference"), Column("Questions", numeric=True), Column("Which"))
    rows = [
        [Cell(each.dataset), Cell(name), whole(len(ids)), Cell(_ids(ids))]
        for each in comparison.questions
        for name, ids in (
            ("other content", each.other),
            ("only here", each.now_only),
            ("only there", each.then_only),
        )
        if ids
    ]
    caption = "Questions that are not the same; their answers are not compared"
    return AgainstSection("questions", "Questions", [], [FoldedGrid(caption, heads, rows)] if rows else [])


def _ids(ids: Sequence[str]) -> str:
    left = len(ids) - LISTED
    return ", ".join(ids[:LISTED]) + (f" and {left:,} more" if left > 0 else "")


def _settings(comparison: RunComparison) -> AgainstSection:
    heads = (Column("Key"), Column("File"), Column("Then"), Column("Now"))
    rows = [
        [Cell(one.key), Cell(one.file), *(Cell(_value(value)) for value in (one.then, one.now))]
        for one in comparison.settings
    ]
    texts = [] if rows else ["params.yaml and models.lock say the same in both runs."]
    parts = [FoldedGrid("Keys of params.yaml and models.lock that differ", heads, rows)] if rows else []
    return AgainstSection("settings", "Settings", texts, parts)


def _value(value: str | None) -> str:
    if value is None:
        return _NONE
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"


def _outputs(comparison: RunComparison) -> AgainstSection:
    heads = (
        Column("Stage"),
        *(Column(name, numeric=True) for name in ("Same bytes", "Other bytes", "One run only")),
    )
    rows = [
        [Cell(each.kind), *map(whole, (each.same, each.other, each.single))] for each in comparison.outputs
    ]
    text = (
        "Outputs of the stages, by their digests in dvc.lock. Run records and pages differ with the code and "
        "the versions of libraries, even if no number does."
    )
    return AgainstSection(
        "outputs", "Outputs", [text], [FoldedGrid("Files and folders of both runs", heads, rows)]
    )
