"""Where a published dataset comes from: `datasets.NAME.origin` of params.yaml.

    origin: {hub: OWNER/NAME, revision: "40 hexadecimal digits", config: default, split: validation+test}
    origin: {hub: OWNER/NAME, revision: "...", files: [questions.json, images.zip]}
    origin: {url: "https://...", sha256: "64 hexadecimal digits"}
    origin: {parts: [{url: "https://...", sha256: "..."}, {url: "https://...", sha256: "..."}]}

Files are fetched if `source` is vouch/datasets/fetch. Any other `source` is a folder that already has the
files, laid out like the repository (or, for addresses, under the files' own names); nothing is fetched then.
"""

import re
from pathlib import PurePosixPath
from typing import Annotated, Self
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vouch.pipeline.hub import REPOSITORY, commit
from vouch.pipeline.validation import EACH_ONCE

REMOTE = "vouch/datasets/fetch"  # the `source` of a dataset that is fetched: the code that fetches it
PICKLED = (".pkl", ".pickle", ".pt", ".pth", ".bin", ".ckpt", ".joblib", ".npy", ".npz")

_LONGEST_NAME = 200  # bytes; file systems allow 255, and names may get a prefix and an ending
_ADDRESS = re.compile(r"[!-~]+")
_REPO = re.compile(rf"{REPOSITORY}/{REPOSITORY}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def check_name(name: str) -> str:
    """The name, unchanged. Raises ValueError if it leads out of its folder or the file may contain code."""
    path = PurePosixPath(name)
    if len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        raise ValueError(f"{name!r:.80} is longer than {_LONGEST_NAME} bytes")
    if not path.name or path.is_absolute() or ".." in path.parts or "\\" in name or not name.isprintable():
        raise ValueError(f"{name!r:.80} is not a file name inside a folder")
    if path.suffix.lower() in PICKLED:
        raise ValueError(f"{name!r:.80} may be a pickle, which can run code; take the data in another form")
    return name


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Download(_Entry):
    """A file at an address. sha256: null while unknown. name: by default the end of the address."""

    url: str
    sha256: str | None = None
    name: str = ""

    @field_validator("url")
    @classmethod
    def _url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise ValueError("give an address, https://HOST/FILE, without user and password")
        try:
            parts.hostname.encode("idna")
            valid = parts.port != 0
        except ValueError:  # part of the host name too long, port not a number or too large
            valid = False
        if not valid or not _ADDRESS.fullmatch(value):
            raise ValueError("not a valid address; write blanks and letters beyond ASCII as %XX")
        return value

    @field_validator("sha256")
    @classmethod
    def _sha256(cls, value: str | None) -> str | None:
        if value is not None and not _DIGEST.fullmatch(value):
            raise ValueError("give a SHA-256, all 64 hexadecimal digits in quotes, or null")
        return value

    @model_validator(mode="after")
    def _named(self) -> Self:
        if "/" in check_name(self.filename):
            raise ValueError(f"{self.filename!r:.80} names a folder; give `name`, a plain file name")
        return self

    @property
    def filename(self) -> str:
        """The name under which loaders find the file."""
        return self.name or unquote(PurePosixPath(urlsplit(self.url).path).name)


class Origin(_Entry):
    """Exactly one of hub, url and parts is set, as the module's docstring shows.

    revision: a commit, or null while unknown. config: a configuration of the repository's card, `*` for all
    of them, null for its only or default one. split: `a+b` reads a, then b. files: names or patterns
    (`data/*.json`), if the data are not tables in splits. unpinned: allow reading without a commit or
    digest, after which nobody can tell which data were read.
    """

    hub: str | None = None
    revision: str | None = None
    config: str | None = None
    split: str | None = Field(default=None, pattern=r"^[\w.-]+(\+[\w.-]+)*$")
    files: Annotated[list[str], EACH_ONCE] = []
    url: str | None = None
    sha256: str | None = None
    parts: list[Download] = []
    unpinned: bool = False

    @field_validator("hub")
    @classmethod
    def _hub(cls, value: str | None) -> str | None:
        if value is not None and not _REPO.fullmatch(value):
            raise ValueError("give a dataset of the hub as OWNER/NAME")
        return value

    @field_validator("revision", mode="before")
    @classmethod
    def _revision(cls, value: object) -> object:
        return commit(value)

    @field_validator("files")
    @classmethod
    def _files(cls, value: list[str]) -> list[str]:
        return [check_name(name) for name in value]

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if sum((self.hub is not None, self.url is not None, bool(self.parts))) != 1:
            raise ValueError("give one of hub, url and parts")
        if self.hub is None and (self.revision or self.config or self.split or self.files):
            raise ValueError("revision, config, split and files belong to hub")
        if self.hub is not None and (self.split is None) == (not self.files):
            raise ValueError("a dataset of the hub needs split (tables) or files (anything else), not both")
        if self.url is None and self.sha256 is not None:
            raise ValueError("sha256 belongs to url")
        names = [download.filename for download in self.downloads]
        if len(set(names)) < len(names):
            raise ValueError("two of its parts have the same name; give `name` to one of them")
        return self

    @property
    def downloads(self) -> list[Download]:
        """The files at addresses; none for a dataset of the hub."""
        return [Download(url=self.url, sha256=self.sha256)] if self.url is not None else self.parts

    @property
    def pinned(self) -> bool:
        """Whether it names a commit, or the digest of every file."""
        if self.hub is not None:
            return self.revision is not None
        return all(download.sha256 for download in self.downloads)

    def __str__(self) -> str:
        if self.hub is None:
            return self.downloads[0].url
        return f"{self.hub} at {(self.revision or 'main')[:12]}"
