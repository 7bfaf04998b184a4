"""`vouch show --rev`: the numbers at a commit, and how those of every model moved over the commits A..B."""

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from vouch.cli.printing import plain, table
from vouch.cli.show import Cells, Line, cells, label
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import loads
from vouch.tables.asked import LETTERS, ORIGINAL
from vouch.tables.results import LEADERBOARD, LEADERBOARD_PATH

MOST = 20
"""Commits that are looked at: each takes seconds."""
COLUMNS = (("accuracy", ""), ("coverage", "lac"), ("set_size", "lac"), ("ece", ""), ("answered_alone_5", ""))
BARS = "▁▂▃▄▅▆▇█"
LOCK = "dvc.lock"
FETCH = "`git fetch --unshallow` gets them"
_MISSING = "No storage files available"  # as DVC says it


class Version(NamedTuple):
    """A commit with results: its short name, day and subject, the digest of each model's pin, the numbers."""

    commit: str
    told: str
    pins: Mapping[str, str]
    numbers: Cells


def history(span: str, protocol: str, variations: bool) -> str:
    """A list of the versions, and a line for each model and metric. Raises UserError for what is no span."""
    found, skipped = _versions(span, protocol, variations)
    if not found:
        raise UserError(f"{span}: no commit of it has results that can be read; name commits with results")
    count = f"{len(found)} version{'' if len(found) == 1 else 's'}"
    text = f"{count} of the results in {span}, * where the model's pin changed\n"
    text += "".join(f" {place}  {version.told}\n" for place, version in enumerate(found, start=1))
    text += "".join(f"left out: {reason}\n" for reason in skipped)
    rows, group = [], None
    for key in dict.fromkeys(key for version in found for key in version.numbers):
        dataset, variation, output, model = key
        where = ", ".join(part for part in (dataset, variation, output) if part not in (ORIGINAL, LETTERS))
        for column in COLUMNS:
            if row := _moved(found, key, column):
                rows.append([where if where != group else "", model, *row])
                group = where
    head = ["dataset", "model", "metric", "", *(str(place + 1) for place in range(len(found))), "change"]
    return plain_lines(text) + table(head, rows, right=range(4, len(head)))


def plain_lines(text: str) -> str:
    """Every line as a terminal may have it."""
    return "".join(f"{plain(line)}\n" for line in text.splitlines())


def _moved(found: Sequence[Version], key: Line, column: tuple[str, str]) -> list[str] | None:
    """The metric's name, a drawing, its value in each version, and the change; None where none has it."""
    rows = [version.numbers.get(key, {}).get(column) for version in found]
    values = [None if row is None else row["value"] for row in rows]
    known = [value for value in values if value is not None]
    if not known:
        return None
    pins = [version.pins.get(key[3]) for version in found]
    marks = ["*" if one and other and one != other else "" for one, other in pairwise(pins)]
    said = [
        "" if value is None else f"{value:.3f}{mark}"
        for value, mark in zip(values, ["", *marks], strict=True)
    ]
    metric, _, percent = column[0].rpartition("_") if column[0][-1].isdigit() else (column[0], "", "")
    name = f"{label(metric, column[1])}{f', {percent} % wrong' if percent else ''}"
    return [name, _drawn(values), *said, f"{known[-1] - known[0]:+.3f}"]


def _drawn(values: Sequence[float | None]) -> str:
    """A bar for each value, from the least to the greatest of them; a blank where there is none."""
    known = [value for value in values if value is not None]
    low, width = min(known), max(known) - min(known)
    return "".join(
        " " if value is None else BARS[round((value - low) / width * (len(BARS) - 1)) if width else 0]
        for value in values
    )


def _versions(span: str, protocol: str, variations: bool) -> tuple[list[Version], list[str]]:
    """The commits of A..B that changed the results, A itself first, and why others are left out."""
    first, _, last = span.partition("..")
    if not first:
        raise UserError(f"--rev: {span} names no commit to begin with; write A..B, as v1.0..HEAD")
    last = last.lstrip(".") or "HEAD"
    start, end = map(_commit, (first, last))
    if start != end and not _git("rev-list", "-1", f"{start}..{end}"):
        raise UserError(f"{span}: {last} comes before {first}; write {last}..{first}")
    between = _git("rev-list", "--reverse", f"{start}..{end}", "--", LOCK).split()
    found: list[Version] = []
    skipped = [f"{len(between) - MOST} commits, the oldest after {first}"] if len(between) > MOST else []
    if _shallow() and start not in _git("rev-list", end).split():
        skipped.append(f"the commits that this shallow clone lacks; {FETCH}")
    for commit in [start, *between[-MOST:]]:
        told = _git("log", "-1", "--format=%h %cs %s", commit).strip()
        try:
            numbers = cells(leaderboard_at(commit), protocol, variations)
        except UserError as error:
            skipped.append(f"{told}: {str(error).split(': ', 1)[-1].split(';')[0]}")
            continue
        if not found or numbers != found[-1].numbers:
            found.append(Version(commit, told, _pins(commit), numbers))
    return found, skipped


def _pins(commit: str) -> dict[str, str]:
    """By model, the digest of its pin."""
    stages: Mapping[str, Any] = loads(_git("show", f"{commit}:{LOCK}"), LOCK).get("stages") or {}
    return {
        name.partition("@")[2]: next((str(out.get("md5")) for out in stage.get("outs") or []), "")
        for name, stage in stages.items()
        if name.startswith("pin@")
    }


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        raise UserError(f"git {words[0]}: {plain(said)}; name commits, tags or branches")
    return done.stdout


def _commit(revision: str) -> str:
    """Its digest. Raises UserError."""
    words = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no such commit"])[0]
        advice = "name a commit, tag or branch, or two as A..B"
        if _shallow():
            advice = f"this clone is shallow: it lacks earlier commits, perhaps tags and branches; {FETCH}"
        raise UserError(f"--rev: {plain(revision)}: {plain(said)}; {advice}")
    return done.stdout.strip()


def _shallow() -> bool:
    return _git("rev-parse", "--is-shallow-repository").strip() == "true"


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
        command = ["dvc", "get", ".", str(LEADERBOARD_PATH), f"--rev={revision}", "--out", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if _MISSING in done.stderr and done.returncode:
            raise UserError(f"{where}: neither here nor in the remote; {apart}")
        if done.returncode:
            _commit(revision)
            said = (done.stderr.strip().splitlines() or ["no reason given"])[0].removeprefix("ERROR: ")
            raise UserError(f"{where}: {said}; name a commit whose results were recorded")
        try:
            rows: list[dict[str, Any]] = LEADERBOARD.read(path).to_pylist()
        except UserError as error:
            what = str(error).split(": ", 1)[-1].split(";")[0]
            raise UserError(f"{where}: {what}, so they cannot be compared; {apart}") from None
        return rows
