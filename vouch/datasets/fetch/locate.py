"""From a dataset's `source` and `origin` to the files that its loader reads."""

from pathlib import Path

from vouch.datasets.fetch.address import fetch_address
from vouch.datasets.fetch.card import CARD, choose, match
from vouch.datasets.fetch.hub import fetch_hub
from vouch.datasets.fetch.origin import REMOTE, Origin
from vouch.datasets.fetch.store import Found, check_room, is_whole, recall, remember
from vouch.datasets.read.files import UNSEEN, File, Source, walk
from vouch.pipeline.dag import left_out
from vouch.pipeline.errors import UserError


def locate(name: str, source: str, origin: Origin | None, place: str = "") -> Source:
    """What a loader reads; fetched where it is not here yet. Raises UserError.

    place: what to get from where, for a dataset that no program can fetch.
    """
    if source != REMOTE and (part := left_out(source)):
        raise UserError(f"datasets.{name}.source: {source}: {UNSEEN.format(part)}")
    if origin is None:
        if source == REMOTE:
            how = place or "add `origin`, or name a folder that holds its files as `source`"
            raise UserError(f"datasets.{name}: nothing to fetch: {how}")
        return Source(Path(source))
    if source != REMOTE:
        return Source(Path(source), tuple(_mirrored(name, Path(source), origin)), origin)
    found = recall(origin)
    if found is None or not is_whole(found):
        found = fetch(name, origin)
    return Source(Path(source), found.listed(), origin, found.revision)


def is_here(source: str, origin: Origin | None) -> bool:
    """Whether it can be read without fetching."""
    return source != REMOTE or origin is None or recall(origin) is not None


def promised(origin: Origin) -> Source:
    """What is known of a source before it is fetched: its parts and the names of its downloads."""
    names = [download.filename for download in origin.downloads]
    return Source(Path(REMOTE), tuple(File(name, Path(name)) for name in names), origin)


def fetch(name: str, origin: Origin) -> Found:
    """Brings an origin's files into the store, what is there already included. Raises UserError."""
    if origin.hub is not None:
        found = fetch_hub(name, origin)
    else:
        check_room(0, f"datasets.{name}")
        found = Found(None, tuple(fetch_address(name, download) for download in origin.downloads))
    remember(origin, found)
    return found


def _mirrored(name: str, folder: Path, origin: Origin) -> list[File]:
    """What the origin chooses among the files of a folder. Raises UserError."""
    there = {file.name: file for file in walk(folder)}
    names = list(there)
    if origin.split is not None:
        card = there[CARD].checked().read_text(encoding="utf-8", errors="replace") if CARD in there else ""
        return [there[one] for one in choose(names, card, origin.config, origin.split, str(folder))]
    patterns = origin.files or [download.filename for download in origin.downloads]
    missing = [pattern for pattern in patterns if not match(names, [pattern])]
    if missing:
        raise UserError(
            f"{folder}: no file {missing[0]}, which datasets.{name}.origin names; put it there, or write "
            f"`source: {REMOTE}` to have it fetched"
        )
    return [there[one] for one in match(names, patterns)]
