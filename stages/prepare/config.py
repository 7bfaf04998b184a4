"""Parameters of `prepare`: `datasets.NAME.{loader, source, settings}` of params.yaml."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class Config(BaseModel):
    """One dataset. loader: a file of stages/prepare/datasets; source: file or folder; settings: its own."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    loader: str
    source: str
    settings: dict[str, Any]


class DatasetEntry(Config):
    """The whole entry of a dataset. style: a file of stages/styles, for `vary`."""

    style: str
