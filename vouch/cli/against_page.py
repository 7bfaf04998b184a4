"""The page of `vouch report --against`: a comparison as sections of the report, in one file."""

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from markupsafe import Markup, escape

from vouch.cli.against import CHANGED, GAINED, LOST, MOVED, SAME, Answers, NumberPair, RunComparison
from vouch.cli.leaderboard import Line, long_name
from vouch.report import formatting
from vouch.report.config import ReportConfig
from vouch.report.formatting import plural
from vouch.report.page import Block, Folded, Page, Part, Section, Sentences, Text
from vouch.report.site import single_page
from vouch.report.table import MISSING, Cell, Column, Grid, Measured, Tone, whole
from vouch.tables.asked import LETTERS, ORIGINAL

LISTED = 100  # questions with another content, or on one side only, that are named
_LONGEST = 200  # characters of a parameter's value
_NONE = MISSING
_EXPLAINED = (
    "Moved: the 95 % interval of the difference excludes 0. Changed: the number differs, but the interval "
    "holds 0, or there is none. The difference is paired, over the questions that are the same in both runs; "
    "its interval resamples groups of questions. Intervals of prediction sets keep the thresholds of each "
    "run, so they are too narrow. None is corrected for the number of rows."
)
_TONES: dict[str, Tone] = {MOVED: "strong", SAME: "quiet", LOST: "bad", GAINED: "good"}


def page(comparison: RunComparison, title: str, items: str) -> str:
    """The text of the page. title: of the commit. items: the path from the page to the page Items, empty if
    there is none."""
    heading = "Nothing moved" if comparison.unchanged else "What moved"
    sections = {
        "in-both": Section("Both runs", Markup(), [Part("", [Sentences(list(_sentences(comparison)))])]),
        "numbers": _numbers(comparison),
        "answers": _answers(comparison, quote(items)),
        "questions": _questions(comparison),
        "settings": _settings(comparison),
        "outputs": _outputs(comparison),
    }
    return single_page(
        ReportConfig().title,
        Page("against", heading, f"This checkout, against {title}.", 0),
        {name: section for name, section in sections.items() if section.text or section.parts},
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


def _numbers(comparison: RunComparison) -> Section:
    columns = (
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
        differ, same = (
            Grid(
                "numbers",
                f"{name}: {kind}",
                columns,
                [_number(one) for one in own if (one.state == SAME) == equal],
            )
            for kind, equal in (
                ("headline numbers that differ", False),
                ("headline numbers that are the same", True),
            )
        )
        blocks: list[Block] = [differ] if differ.rows else [same]
        if differ.rows and same.rows:
            blocks.append(Folded(f"{len(same.rows)} stayed the same", [same]))
        parts.append(Part(f"{name}: {', '.join(counts)}", blocks, folds=True, opens=bool(differ.rows)))
    return Section("Numbers", escape(_EXPLAINED if parts else ""), parts)


def _number(one: NumberPair) -> list[Cell]:
    measured = Measured(*one.column)
    digits, scale = measured.unit

    def shown(value: float | None, sign: bool = False) -> Cell:
        if value is None:
            return _NONE
        text = formatting.number(scale * value, digits)
        return Cell(f"+{text}" if sign and value > 0 else text, key=value)

    span = "" if one.low is None or one.high is None else formatting.span(one.low, one.high, digits, scale)
    items = f"{one.items:,}" if one.items == one.of or not one.items else f"{one.items:,} of {one.of:,}"
    return [
        *(Cell(one.line[3]), Cell(measured.column.label), shown(one.then), shown(one.now)),
        *(shown(one.difference, sign=True), Cell(span) if span else _NONE),
        Cell(one.state, tone=_TONES.get(one.state, "")),
        Cell(items, key=one.items) if one.items else _NONE,
    ]


def _answers(comparison: RunComparison, items: str) -> Section:
    """items: the address of the page Items; empty if there is none."""
    changed = [one for one in comparison.answers if one.changed or one.then_only or one.now_only]
    parts = [_changes(one, items, one is changed[0]) for one in changed]
    text = (
        "Answers to the original prompts that became wrong come first, then those that became correct, "
        "then other answers that are as correct as before."
    )
    columns = (Column("Dataset"), Column("Variation"), Column("Answers in both", numeric=True))
    rows = [
        [Cell(dataset), Cell(long_name(name)), whole(count), whole(other)]
        for (dataset, name), (count, other) in comparison.variations.items()
        if other
    ]
    text = text if parts else ""
    if rows:
        caption = "Changed answers of all models, by variation"
        grid = Grid("by-variation", caption, (*columns, Column("Changed", numeric=True)), rows)
        parts.append(Part("", [grid]))
    return Section("Answers", escape(text), parts)


def _changes(one: Answers, items: str, opens: bool) -> Part:
    columns = (Column("Question"), Column("Change"), Column("Answer then"), Column("Answer now"))
    rows = [
        [
            Cell(each.item, link=items and f"{items}#{quote(one.line[0], '')}/{quote(each.item, '')}"),
            Cell(each.kind, tone=_TONES.get(each.kind, "")),
            Cell(each.then),
            Cell(each.now),
        ]
        for each in one.listed
    ]
    counts = ", ".join(f"{count:,} {kind}" for kind, count in one.kinds.items() if count)
    title = f"{where(one.line)}: {one.changed:,} of {one.prompts:,} changed, {counts}"
    left = one.changed - len(one.listed)
    single = ((one.now_only, "only this checkout"), (one.then_only, "only the commit"))
    blocks: list[Block] = [Grid("changes", f"{where(one.line)}: changed answers", columns, rows)]
    blocks += [Text(f"{left:,} more changed answers are left out.")] if left else []
    blocks += [Text(f"{plural(count, 'prompt')} that {who} has.") for count, who in single if count]
    return Part(title, blocks, folds=True, opens=opens)


def _questions(comparison: RunComparison) -> Section:
    columns = (Column("Dataset"), Column("Difference"), Column("Questions", numeric=True), Column("Which"))
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
    return Section(
        "Questions", Markup(), [Part("", [Grid("questions", caption, columns, rows)])] if rows else []
    )


def _ids(ids: Sequence[str]) -> str:
    left = len(ids) - LISTED
    return ", ".join(ids[:LISTED]) + (f" and {left:,} more" if left > 0 else "")


def _settings(comparison: RunComparison) -> Section:
    columns = (Column("Key"), Column("File"), Column("Then"), Column("Now"))
    rows = [
        [Cell(one.key), Cell(one.file), *(_value(value) for value in (one.then, one.now))]
        for one in comparison.settings
    ]
    grid = Grid("settings", "Keys of params.yaml and models.lock that differ", columns, rows)
    text = "" if rows else "params.yaml and models.lock say the same in both runs."
    return Section("Settings", escape(text), [Part("", [grid])] if rows else [])


def _value(value: str | None) -> Cell:
    if value is None:
        return Cell(_NONE.text)
    return Cell(value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…")


def _outputs(comparison: RunComparison) -> Section:
    columns = (
        Column("Stage"),
        *(Column(name, numeric=True) for name in ("Same bytes", "Other bytes", "One run only")),
    )
    rows = [
        [Cell(each.kind), *(whole(count) for count in (each.same, each.other, each.single))]
        for each in comparison.outputs
    ]
    text = (
        "Outputs of the stages, by their digests in dvc.lock. Run records and pages differ with the code and "
        "the versions of libraries, even if no number does."
    )
    return Section(
        "Outputs",
        escape(text),
        [Part("", [Grid("outputs", "Files and folders of both runs", columns, rows)])],
    )
