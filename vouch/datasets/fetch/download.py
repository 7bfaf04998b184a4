"""Finds the files that a loader reads, from its dataset's `source` and `origin` (`locate`), and stores them.

Files at web addresses are fetched here: resumed, verified, stored whole. hub.py fetches those of the hub.

The store is .vouch/sources, outside every stage's outputs, and names files by their contents:

hub/              the cache of huggingface_hub: files by their digests, and a folder for each commit
files/SHA256/     a file that came from an address, under its own name
found/KEY.json    the files of an origin, written when all of them are there and verified
"""

import hashlib
import http.client
import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from http.client import HTTPMessage
from pathlib import Path
from typing import IO, Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from vouch.datasets.fetch.origin import REMOTE, Download, Origin
from vouch.datasets.read.files import UNSEEN, File, SourceFiles, walk
from vouch.pipeline.dag import left_out
from vouch.pipeline.errors import UserError
from vouch.pipeline.files import canonical_json, file_digest, replacing_folder, write_json
from vouch.pipeline.locks import PATIENCE_SECONDS, locked

STORE = Path(".vouch/sources")
MAX_BYTES = 256 * 2**30  # of one dataset
_SHA1 = 40  # hexadecimal digits


@dataclass(frozen=True)
class StoredFile:
    """path: below the store. size: bytes. digest: SHA-256, or a git blob's SHA-1."""

    name: str
    path: str
    size: int
    digest: str


@dataclass(frozen=True)
class Fetched:
    """The fetched files of an origin. revision: the commit, None for addresses."""

    revision: str | None
    files: tuple[StoredFile, ...]

    @property
    def size(self) -> int:
        """Bytes, all files together."""
        return sum(kept.size for kept in self.files)


def recall(origin: Origin) -> Fetched | None:
    """The files of an origin, or None if any of them is no longer complete."""
    try:
        values: Any = json.loads(_record(origin).read_text(encoding="utf-8"))
        files = tuple(StoredFile(**kept) for kept in values["files"])
        whole = all((STORE / kept.path).stat().st_size == kept.size for kept in files)
        return Fetched(values["revision"], files) if whole and files else None
    except (OSError, ValueError, TypeError, KeyError):
        return None  # missing or damaged: files are fetched again, except that whole ones are only checked


def is_whole(fetched: Fetched) -> bool:
    """Whether every file still has the digest that it was fetched with; reads every byte."""
    return all(digest_of(STORE / kept.path, kept.digest) == kept.digest for kept in fetched.files)


def remember(origin: Origin, fetched: Fetched) -> None:
    """Records the files of an origin for `recall`."""
    write_json(_record(origin), asdict(fetched))


def _record(origin: Origin) -> Path:
    key = hashlib.sha256(canonical_json(origin.model_dump()).encode()).hexdigest()[:32]
    return STORE / "found" / f"{key}.json"


def check_room(needed: int, where: str) -> None:
    """Raises UserError if `needed` bytes exceed the limit of a dataset or the free space of the disk."""
    if needed > MAX_BYTES:
        raise UserError(f"{where}: {needed:,} bytes, more than the {MAX_BYTES:,} of one dataset; mirror it")
    STORE.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(STORE).free
    if needed > free:
        raise UserError(f"{where}: needs {needed:,} bytes, {STORE} has room for {free:,}; make room")


def digest_of(path: Path, like: str = "") -> str:
    """SHA-256 of a file, hexadecimal; or, if `like` is a SHA-1, that of the file as a git blob."""
    if len(like) != _SHA1:
        return file_digest(path)
    with path.open("rb") as file:
        blob = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
        return hashlib.file_digest(file, lambda: blob).hexdigest()


TRIES = 5
_TIMEOUT = 60.0  # seconds without a byte
_CHUNK = 1 << 20
_PAGE = re.compile(rb"\s*<(?:!doctype\s+html|html)", re.IGNORECASE)


class _Elsewhere(HTTPRedirectHandler):
    """Follows redirects to other web addresses, but never from https to http."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        if not newurl.startswith(("https://", "http://") if req.type == "http" else "https://"):
            raise UserError(
                f"{req.full_url}: redirects to {newurl[:80]}, from which nothing is fetched; correct origin"
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


_OPENER = build_opener(_Elsewhere)


def fetch_address(name: str, download: Download) -> StoredFile:
    """Brings one file into the store. name: the dataset's. Raises UserError."""
    known = download.sha256
    unknown = re.sub(r"\W", "_", download.url)[-120:]
    partial = STORE / "files" / f".{known or unknown}.partial"
    lock = partial.with_name(f".{partial.name}.lock")
    with locked(lock, PATIENCE_SECONDS, str(partial), "fetching it"):
        stored = STORE / "files" / (known or "") / download.filename
        if known is None or not stored.is_file() or digest_of(stored) != known:
            resumed = partial.exists()
            digest = _complete(name, download, partial)
            if resumed and known not in (None, digest):
                partial.unlink()  # this part may be of another version, or damaged
                digest = _complete(name, download, partial)
            _check_digest(name, download, partial, digest)
            with replacing_folder(STORE / "files" / digest) as folder:
                os.replace(partial, folder / download.filename)
            known = digest
    path = Path("files") / known / download.filename
    return StoredFile(download.filename, str(path), (STORE / path).stat().st_size, known)


def _check_digest(name: str, download: Download, partial: Path, digest: str) -> None:
    """Removes a file that cannot be the right one and raises UserError."""
    known, where = download.sha256, f"datasets.{name}: {download.url}"
    if known == digest:
        return
    with partial.open("rb") as file:
        start = file.read(512)
    if not start or _PAGE.match(start):
        partial.unlink()
        what = "a web page" if start else "nothing"
        raise UserError(f"{where}: the server sent {what} instead of the file; correct origin, or try later")
    if known is not None:
        partial.unlink()
        raise UserError(
            f"{where}: its SHA-256 is {digest}, not {known}; it has changed or is another file: "
            "look at it before you correct origin.sha256"
        )


def _complete(name: str, download: Download, partial: Path) -> str:
    """Completes the partial file, resuming after lost connections, and gives its digest. Raises UserError."""
    if download.sha256 is None:
        partial.unlink(missing_ok=True)  # it may be an older version
    where = f"datasets.{name}: {download.url}"
    before, problem = -1, ""
    for _ in range(TRIES):
        have = partial.stat().st_size if partial.exists() else 0
        if problem and have == before:
            break
        before = have
        try:
            _transfer(where, download, partial, have)
            return digest_of(partial)
        except HTTPError as error:
            raise UserError(
                f"{where}: the server answered {error.code}; correct origin, or try later"
            ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            problem = str(getattr(reason, "strerror", None) or reason or type(error).__name__)
        except ValueError as error:  # the standard library raises it for invalid headers
            unread = f"the server's answer cannot be read ({error!s:.120})"
            raise UserError(f"{where}: {unread}; correct origin, or try later") from None
    raise UserError(
        f"{where} is not on this machine ({problem[:160]}); run `vouch fetch {name}` on a machine with the "
        "network"
    )


def _transfer(where: str, download: Download, partial: Path, have: int) -> None:
    headers = {"User-Agent": "vouch", **({"Range": f"bytes={have}-"} if have else {})}
    try:
        answer = _OPENER.open(Request(download.url, headers=headers), timeout=_TIMEOUT)
    except HTTPError as error:
        if error.code != 416 or not have:  # the range begins at the file's end, or the file has changed
            raise
        partial.unlink()
        return _transfer(where, download, partial, 0)
    with answer:
        begins = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
        resumed = answer.status == 206 and begins is not None and int(begins[1]) == have
        length = answer.headers.get("Content-Length")
        promised = int(length) if length and re.fullmatch(r"[0-9]{1,18}", length) else None
        check_room(promised or 0, where)
        got = 0
        with partial.open("ab" if resumed else "wb") as handle:
            while chunk := answer.read(_CHUNK):
                got += len(chunk)
                if got + (have if resumed else 0) > MAX_BYTES:
                    raise UserError(f"{where}: more than {MAX_BYTES:,} bytes; mirror it")
                handle.write(chunk)
        if promised is not None and got < promised:
            raise http.client.IncompleteRead(b"", promised - got)


def locate(name: str, source: str, origin: Origin | None, place: str = "") -> SourceFiles:
    """The files that a loader reads, fetched if they are not on this machine. Raises UserError.

    place: what to get and where, for a dataset that no program can fetch.
    """
    if source != REMOTE and (part := left_out(source)):
        raise UserError(f"datasets.{name}.source: {source}: {UNSEEN.format(part)}")
    if origin is None:
        if source == REMOTE:
            how = place or "add `origin`, or name a folder that holds its files as `source`"
            raise UserError(f"datasets.{name}: nothing to fetch: {how}")
        return SourceFiles(Path(source))
    if source != REMOTE:
        return SourceFiles(Path(source), tuple(_mirrored(name, Path(source), origin)), origin)
    fetched = recall(origin)
    if fetched is None or not is_whole(fetched):
        fetched = fetch(name, origin)
    files = tuple(File(kept.name, STORE / kept.path) for kept in fetched.files)
    return SourceFiles(Path(source), files, origin, fetched.revision)


def is_here(source: str, origin: Origin | None) -> bool:
    """Whether the source can be read without fetching."""
    return source != REMOTE or origin is None or recall(origin) is not None


def promised(origin: Origin) -> SourceFiles:
    """The source as far as it is known before it is fetched: its parts and the names of its downloads."""
    names = [download.filename for download in origin.downloads]
    return SourceFiles(Path(REMOTE), tuple(File(name, Path(name)) for name in names), origin)


def fetch(name: str, origin: Origin) -> Fetched:
    """Fetches the files of an origin that are not in the store, and returns all of them. Raises UserError."""
    if origin.hub is not None:
        from vouch.datasets.fetch.hub import fetch_hub

        fetched = fetch_hub(name, origin)
    else:
        check_room(0, f"datasets.{name}")
        fetched = Fetched(None, tuple(fetch_address(name, download) for download in origin.downloads))
    remember(origin, fetched)
    return fetched


def _mirrored(name: str, folder: Path, origin: Origin) -> Iterator[File]:
    """The files of a folder that the origin chooses."""
    from vouch.datasets.fetch.hub import CARD, choose, match

    there = {file.name: file for file in walk(folder)}
    if origin.split is not None:
        card = there[CARD].checked().read_text("utf-8", "replace") if CARD in there else ""
        chosen = choose(list(there), card, origin.config, origin.split, str(folder))
    else:
        patterns = origin.files or [download.filename for download in origin.downloads]
        chosen = match(list(there), patterns)
        missing = next((pattern for pattern in patterns if not match(chosen, [pattern])), None)
        if missing:
            raise UserError(
                f"{folder}: no file {missing}, which datasets.{name}.origin names; put it there, or write "
                f"`source: {REMOTE}` to have it fetched"
            )
    return map(there.__getitem__, chosen)
