"""One entry of models.lock."""

import json
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

_REPO = re.compile(r"[\w.-]+(/[\w.-]+)?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class FolderSource(_Entry):
    """A model folder on this machine. path: from the repository's root, or absolute."""

    kind: Literal["folder"]
    path: str = Field(min_length=1)


class HubSource(_Entry):
    """A repository of the Hugging Face hub at one commit, never at a branch or tag: those move."""

    kind: Literal["hub"]
    repo: str
    revision: str

    @field_validator("repo")
    @classmethod
    def _repo(cls, value: str) -> str:
        if not _REPO.fullmatch(value):
            raise ValueError("give a hub repository as OWNER/NAME")
        return value

    @field_validator("revision", mode="before")
    @classmethod
    def _revision(cls, value: object) -> object:
        # Unquoted, a commit of digits alone (or with one e) is a number to YAML.
        if not isinstance(value, str) or not _COMMIT.fullmatch(value):
            raise ValueError("give a commit, all 40 hexadecimal digits in quotes (branches and tags move)")
        return value


class LockEntry(_Entry):
    """Where a model comes from and how it is read.

    files: name -> SHA-256 that a file must have; a file that is not named may have any.
    engine: file in stages/extract/engines. parameters: counted from the weights where not given.
    facts: what analyses group by.
    """

    source: Annotated[FolderSource | HubSource, Field(discriminator="kind")]
    files: dict[str, str] = {}
    engine: str = Field(default="transformers", pattern=r"^[a-z][a-z0-9_]*$")
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    parameters: int | None = Field(default=None, ge=1)
    facts: dict[str, Any] = {}

    @field_validator("files")
    @classmethod
    def _digests(cls, value: dict[str, str]) -> dict[str, str]:
        for name, digest in value.items():
            if not _DIGEST.fullmatch(digest):
                raise ValueError(f"{name} needs a SHA-256, 64 hexadecimal digits")
        return value

    @field_validator("facts")
    @classmethod
    def _json(cls, value: dict[str, Any]) -> dict[str, Any]:
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError("facts go into a JSON file: texts, finite numbers, lists and mappings") from None
        return value
