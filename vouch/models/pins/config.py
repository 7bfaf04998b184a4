"""One entry of models.lock."""

import re
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vouch.models.pins.facts import Facts
from vouch.pipeline.hub import REPOSITORY, commit
from vouch.tables.pins import WEIGHT_SUFFIX

SERVER_ENGINE = "openai"

_REPO = re.compile(rf"{REPOSITORY}(/{REPOSITORY})?")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FolderSource(_Entry):
    """A model folder on this machine. path: from the repository's root, or absolute."""

    kind: Literal["folder"]
    path: str = Field(min_length=1)


class HubSource(_Entry):
    """A repository of the Hugging Face hub at one commit, never at a branch or tag: those move.

    revision: null as long as `vouch lock` has not resolved it.
    """

    kind: Literal["hub"]
    repo: str
    revision: str | None

    @field_validator("repo")
    @classmethod
    def _repo(cls, value: str) -> str:
        if not _REPO.fullmatch(value):
            raise ValueError("give a hub repository as OWNER/NAME")
        return value

    @field_validator("revision", mode="before")
    @classmethod
    def _revision(cls, value: object) -> object:
        return commit(value)


class ServerSource(_Entry):
    """A server that speaks the OpenAI protocol. url: up to `/v1`; name: the model's name there."""

    kind: Literal["server"]
    url: str
    name: str = Field(min_length=1)

    @field_validator("url")
    @classmethod
    def _url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("give the server's address, http://HOST/v1 or https://HOST/v1")
        if "@" in parts.netloc:
            raise ValueError("leave the key out of the address; it comes from the environment")
        return value


class LockEntry(_Entry):
    """Where a model comes from and how it is read.

    files: name -> SHA-256 that a file must have; a file that is not named may have any.
    engine: file in vouch/models/engines. template: file in vouch/models/chat/templates, for the model's own where
    it has none. parameters: counted from the weights where not given. facts: what analyses group by.
    unpinned: it may answer without a commit and digests, so that nobody can tell later which model it was.
    """

    source: Annotated[FolderSource | HubSource | ServerSource, Field(discriminator="kind")]
    files: dict[str, str] = {}
    engine: str = Field(default="transformers", pattern=r"^[a-z][a-z0-9_]*$")
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    template: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]*$")
    parameters: int | None = Field(default=None, ge=1)
    facts: Facts = Facts()
    unpinned: bool = False

    @property
    def pinned(self) -> bool:
        """Whether a commit, and a digest of some weights, are named. A server's model has neither."""
        resolved = not isinstance(self.source, HubSource) or self.source.revision is not None
        return self.source.kind == "server" or (
            resolved and any(name.endswith(WEIGHT_SUFFIX) for name in self.files)
        )

    @field_validator("files")
    @classmethod
    def _digests(cls, value: dict[str, str]) -> dict[str, str]:
        for name, digest in value.items():
            if not _DIGEST.fullmatch(digest):
                raise ValueError(f"{name} needs a SHA-256, 64 hexadecimal digits")
        return value

    @model_validator(mode="after")
    def _server(self) -> Self:
        server = self.source.kind == "server"
        if server != (self.engine == SERVER_ENGINE):
            raise ValueError(f"a source of kind server and engine {SERVER_ENGINE} go together; write both")
        if server and (self.files or self.template):
            raise ValueError("a server keeps its model's files and template to itself; leave them out")
        return self
