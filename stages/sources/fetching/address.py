"""Fetching a file from an address: resumed where it stopped, verified, whole or not there."""

import http.client
import os
import re
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from stages.contracts.files import replacing_folder
from stages.runtime.errors import UserError
from stages.sources.fetching.origin import Download
from stages.sources.fetching.store import MAX_BYTES, STORE, Kept, alone, check_room, digest_of

TRIES = 5
_TIMEOUT = 60.0  # seconds without a byte
_CHUNK = 1 << 20


def fetch_address(name: str, download: Download) -> Kept:
    """Brings one file into the store. name: the dataset's. Raises UserError."""
    known = download.sha256
    partial = STORE / "files" / f".{known or _unknown(download)}.partial"
    with alone(partial):
        if known is None or not _is_whole(STORE / "files" / known / download.filename, known):
            _complete(name, download, partial)
            digest = digest_of(partial)
            if known not in (None, digest):
                partial.unlink()
                raise UserError(
                    f"datasets.{name}: {download.url}: its SHA-256 is {digest}, not {known}; the file has "
                    "changed or is not the one you mean: look at it before you correct origin.sha256"
                )
            with replacing_folder(STORE / "files" / digest) as folder:
                os.replace(partial, folder / download.filename)
            known = digest
    path = Path("files") / known / download.filename
    return Kept(download.filename, str(path), (STORE / path).stat().st_size, known)


def _is_whole(path: Path, digest: str) -> bool:
    return path.is_file() and digest_of(path) == digest


def _unknown(download: Download) -> str:
    return re.sub(r"\W", "_", download.url)[-120:]


def _complete(name: str, download: Download, partial: Path) -> None:
    """Fills the partial file, trying again from where a connection was lost. Raises UserError."""
    if download.sha256 is None:
        partial.unlink(missing_ok=True)  # what stands there may be an older edition
    before, problem = -1, ""
    for _ in range(TRIES):
        have = partial.stat().st_size if partial.exists() else 0
        if problem and have == before:
            break
        before = have
        try:
            _transfer(name, download, partial, have)
            return
        except HTTPError as error:
            raise UserError(
                f"datasets.{name}: {download.url}: the server answered {error.code}; correct origin, or try "
                "later"
            ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            problem = str(getattr(reason, "strerror", None) or reason or type(error).__name__)
    raise UserError(
        f"datasets.{name}: {download.url} is not on this machine ({problem[:160]}); run `vouch fetch {name}` "
        "on a machine with the network"
    )


def _transfer(name: str, download: Download, partial: Path, have: int) -> None:
    headers = {"User-Agent": "vouch", **({"Range": f"bytes={have}-"} if have else {})}
    try:
        answer = urlopen(Request(download.url, headers=headers), timeout=_TIMEOUT)
    except HTTPError as error:
        if error.code != 416 or not have:  # the range begins at the file's end, or the file changed
            raise
        partial.unlink()
        return _transfer(name, download, partial, 0)
    with answer:
        resumed = answer.status == 206 and _start(answer.headers.get("Content-Range", "")) == have
        length = answer.headers.get("Content-Length")
        promised = int(length) if length and length.isdigit() else None
        where = f"datasets.{name}: {download.url}"
        check_room(promised or 0, where)
        with partial.open("ab" if resumed else "wb") as handle:
            size = have if resumed else 0
            got = 0
            while chunk := answer.read(_CHUNK):
                size, got = size + len(chunk), got + len(chunk)
                if size > MAX_BYTES:
                    raise UserError(f"{where}: more than {MAX_BYTES:,} bytes; mirror it")
                handle.write(chunk)
        if promised is not None and got < promised:
            raise http.client.IncompleteRead(b"", promised - got)


def _start(content_range: str) -> int:
    match = re.match(r"bytes (\d+)-", content_range)
    return int(match[1]) if match else -1
