"""Parameters of `prepare`: `datasets.NAME.{loader, source, settings}` of params.yaml."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    """One dataset. loader: a file of stages/prepare/datasets; source: file or folder; settings: its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    loader: str
    source: str = Field(pattern=r"^[^\x00-\x1f\x7f]+$")
    settings: dict[str, Any]


class DatasetEntry(Config):
    """The whole entry of a dataset. style: a file of stages/styles, for `vary`."""

    style: str
