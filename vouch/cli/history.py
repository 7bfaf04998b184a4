"""How every model changed over the commits A..B."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from vouch.cli import printing
from vouch.cli.leaderboard import Cells, Column, Line, Row, cells, label, over_all
from vouch.cli.printing import number, paragraphs, table
from vouch.cli.revision import FETCH, Revision, git, is_shallow, problem
from vouch.pipeline.errors import UserError
from vouch.pipeline.records import LOCK
from vouch.report.formatting import plural
from vouch.report.gates import headline_columns
from vouch.tables.asked import LETTERS, ORIGINAL
from vouch.tables.results import LEADERBOARD, LEADERBOARD_PATH

MOST = 20
"""The most commits to look at, since each takes seconds."""
COLUMNS = (*headline_columns(2), ("answered_alone_5", ""))
BARS = "▁▂▃▄▅▆▇█"


class Version(NamedTuple):
    """A commit with results. title: its short name, day and subject. pins: digest of each model's pin."""

    title: str
    pins: Mapping[str, str]
    numbers: Cells


def history(span: str, protocol: str, variations: bool) -> str:
    """The text: a list of the versions, then a line for each model and metric. Raises UserError if empty."""
    versions, skipped = _versions(span, protocol, variations)
    if not versions:
        raise UserError(f"{span}: no commit has results that can be read; name commits with results")
    lines = [f"{plural(len(versions), 'version')} of the results in {span}, * where the model's pin changed"]
    lines += [f" {number}  {version.title}" for number, version in enumerate(versions, start=1)]
    lines += [f"left out: {reason}" for reason in skipped]
    rows, group = [], None
    for key in dict.fromkeys(key for version in versions for key in version.numbers):
        dataset, variation, output, model = key
        where = ", ".join(part for part in (dataset, variation, output) if part not in (ORIGINAL, LETTERS))
        for column in COLUMNS:
            if row := _row(versions, key, column):
                rows.append([where if where != group else "", model, *row])
                group = where
    last = len(versions)
    columns = [
        printing.Column("dataset", cut=True),
        printing.Column("model", cut=True),
        printing.Column("metric"),
        printing.Column("trend", rank=1),
        *(printing.Column(str(number), right=True, rank=last - number) for number in range(1, last + 1)),
        printing.Column("change", right=True),
    ]
    return paragraphs(lines) + table(columns, rows)


def _row(versions: Sequence[Version], key: Line, column: Column) -> list[str] | None:
    """The metric's label, a drawing, its values by version, and how it changed; None if no version has it."""
    values = [version.numbers.get(key, {}).get(column, {}).get("value") for version in versions]
    known = [value for value in values if value is not None]
    if not known:
        return None
    pins = [version.pins.get(key[3]) for version in versions]
    changed = ["", *("*" if one and other and one != other else "" for one, other in pairwise(pins))]
    texts = [
        "" if value is None else f"{number(value)}{star}" for value, star in zip(values, changed, strict=True)
    ]
    metric, _, percent = column[0].rpartition("_") if column[0][-1].isdigit() else (column[0], "", "")
    name = f"{label(metric, column[1])}{f', {percent} % wrong' if percent else ''}"
    return [name, _drawn(values), *texts, _change(values)]


def _change(values: Sequence[float | None]) -> str:
    """From the first version to the last: a difference, `new` or `gone`; empty for a single version.

    What came later than the first version is compared with the version in which it came.
    """
    if len(values) == 1:
        return ""
    if values[-1] is None:
        return "gone"
    came = next(number for number, value in enumerate(values) if value is not None)
    first = values[came]
    assert first is not None
    if came == len(values) - 1:
        return "new"
    return f"{values[-1] - first:+.3f}{f' since {came + 1}' if came else ''}"


def _drawn(values: Sequence[float | None]) -> str:
    """A bar for each value, scaled from the least to the greatest; a blank for a missing value."""
    known = [value for value in values if value is not None]
    low, width = min(known), max(known) - min(known)
    return "".join(
        " " if value is None else BARS[round((value - low) / width * (len(BARS) - 1)) if width else 0]
        for value in values
    )


def _versions(span: str, protocol: str, variations: bool) -> tuple[list[Version], list[str]]:
    """The commits of A..B that changed the results, A itself first; then reasons why others are left out."""
    first, _, last = span.partition("..")
    if not first:
        raise UserError(f"--rev: {span} names no first commit; write A..B, such as v1.0..HEAD")
    last = last.lstrip(".") or "HEAD"
    start, end = Revision(first).commit, Revision(last).commit
    if start != end and not git("rev-list", "-1", f"{start}..{end}"):
        raise UserError(f"{span}: {last} comes before {first}; write {last}..{first}")
    between = git("rev-list", "--reverse", f"{start}..{end}", "--", str(LOCK)).split()
    versions: list[Version] = []
    skipped = [f"{len(between) - MOST} commits, the oldest after {first}"] if len(between) > MOST else []
    if is_shallow() and start not in git("rev-list", end).split():
        skipped.append(f"the commits that this shallow clone lacks; {FETCH}")
    for commit in [start, *between[-MOST:]]:
        revision = Revision(commit)
        try:
            numbers = cells(leaderboard_at(revision), protocol, variations)
        except UserError as error:
            skipped.append(f"{revision.title}: {problem(error)}")
            continue
        if not versions or numbers != versions[-1].numbers:
            versions.append(Version(revision.title, pins(revision), numbers))
    return versions, skipped


def pins(revision: Revision) -> dict[str, str]:
    """The digest of each model's pin at a commit."""
    return {
        name.partition("@")[2]: next((str(digest) for digest in record.outs.values()), "")
        for name, record in revision.records.items()
        if name.startswith("pin@")
    }


def leaderboard_at(revision: Revision, metrics: Collection[str] = ()) -> list[Row]:
    """Rows of the leaderboard at a revision, as `over_all` chooses them. Raises UserError."""
    return over_all(revision.read(LEADERBOARD, LEADERBOARD_PATH), metrics)
