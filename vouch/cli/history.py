"""Results of earlier commits: the leaderboard at a revision, and how every model changed over A..B."""

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from vouch.cli.leaderboard import Cells, Column, Line, cells, label
from vouch.cli.printing import number, plain, plain_lines, table
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import loads
from vouch.report.gates import headline_columns
from vouch.tables.asked import LETTERS, ORIGINAL
from vouch.tables.results import LEADERBOARD, LEADERBOARD_PATH

MOST = 20
"""The most commits to look at, since each takes seconds."""
COLUMNS = (*headline_columns(2), ("answered_alone_5", ""))
BARS = "▁▂▃▄▅▆▇█"
LOCK = "dvc.lock"
FETCH = "`git fetch --unshallow` gets them"
_MISSING = "No storage files available"  # words of DVC's message


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
    count = f"{len(versions)} version{'' if len(versions) == 1 else 's'}"
    lines = [f"{count} of the results in {span}, * where the model's pin changed"]
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
    head = ["dataset", "model", "metric", "", *(str(number + 1) for number in range(len(versions))), "change"]
    return plain_lines(lines) + table(head, rows, right=range(4, len(head)))


def _row(versions: Sequence[Version], key: Line, column: Column) -> list[str] | None:
    """The metric's label, a drawing, its values by version, and its change; None if no version has it."""
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
    return [name, _drawn(values), *texts, f"{known[-1] - known[0]:+.3f}"]


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
    start, end = map(_commit, (first, last))
    if start != end and not _git("rev-list", "-1", f"{start}..{end}"):
        raise UserError(f"{span}: {last} comes before {first}; write {last}..{first}")
    between = _git("rev-list", "--reverse", f"{start}..{end}", "--", LOCK).split()
    versions: list[Version] = []
    skipped = [f"{len(between) - MOST} commits, the oldest after {first}"] if len(between) > MOST else []
    if _shallow() and start not in _git("rev-list", end).split():
        skipped.append(f"the commits that this shallow clone lacks; {FETCH}")
    for commit in [start, *between[-MOST:]]:
        title = _git("log", "-1", "--format=%h %cs %s", commit).strip()
        try:
            numbers = cells(leaderboard_at(commit), protocol, variations)
        except UserError as error:
            skipped.append(f"{title}: {_problem(error)}")
            continue
        if not versions or numbers != versions[-1].numbers:
            versions.append(Version(title, _pins(commit), numbers))
    return versions, skipped


def _pins(commit: str) -> dict[str, str]:
    """The digest of each model's pin at a commit."""
    stages: Mapping[str, Any] = loads(_git("show", f"{commit}:{LOCK}"), LOCK).get("stages") or {}
    return {
        name.partition("@")[2]: next((str(out.get("md5")) for out in stage.get("outs") or []), "")
        for name, stage in stages.items()
        if name.startswith("pin@")
    }


def leaderboard_at(revision: str) -> list[dict[str, Any]]:
    """Rows of the leaderboard at a revision, from DVC's cache or remote. Raises UserError."""
    if not revision:
        raise UserError("--rev: is empty; name a commit, tag or branch, or two as A..B")
    where = f"{LEADERBOARD_PATH} at {revision}"
    apart = (
        f"look at them in a checkout of it: `git worktree add ../then {revision}`, there `dvc pull` and "
        "`python -m vouch.cli.main show`"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / LEADERBOARD_PATH.name
        done = _run("dvc", "get", ".", str(LEADERBOARD_PATH), f"--rev={revision}", "--out", str(path))
        if _MISSING in done.stderr and done.returncode:
            raise UserError(f"{where}: neither here nor in the remote; {apart}")
        if done.returncode:
            _commit(revision)
            reason = _first_line(done, "no reason given").removeprefix("ERROR: ")
            raise UserError(f"{where}: {reason}; name a commit whose results were recorded")
        try:
            rows: list[dict[str, Any]] = LEADERBOARD.read(path).to_pylist()
        except UserError as error:
            raise UserError(f"{where}: {_problem(error)}, so they cannot be compared; {apart}") from None
        return rows


def _problem(error: UserError) -> str:
    """The part of an error that says what is wrong, without the file and without what to do."""
    return str(error).split(": ", 1)[-1].split(";")[0]


def _commit(revision: str) -> str:
    """The digest of the commit that a revision names. Raises UserError."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    done = _run("git", *words)
    if done.returncode:
        advice = "name a commit, tag or branch, or two as A..B"
        if _shallow():
            advice = f"this clone is shallow: it lacks earlier commits, perhaps tags and branches; {FETCH}"
        raise UserError(f"--rev: {plain(revision)}: {_first_line(done, 'no such commit')}; {advice}")
    return done.stdout.strip()


def _shallow() -> bool:
    return _git("rev-parse", "--is-shallow-repository").strip() == "true"


def _git(*words: str) -> str:
    done = _run("git", *words)
    if done.returncode:
        raise UserError(
            f"git {words[0]}: {_first_line(done, 'no reason given')}; name commits, tags or branches"
        )
    return done.stdout


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)


def _first_line(done: subprocess.CompletedProcess[str], otherwise: str) -> str:
    """The first line on stderr of a command that failed."""
    return plain((done.stderr.strip().splitlines() or [otherwise])[0])
