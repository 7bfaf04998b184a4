"""Parameters of `prepare`: `datasets.NAME` of params.yaml."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from stages.sources.fetching.origin import Origin


class DatasetEntry(BaseModel):
    """One dataset.

    loader: a file of stages/prepare/datasets. source: file or folder; stages/sources for what is fetched
    from `origin`. settings: the loader's own. style: a file of stages/styles, for `vary`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    loader: str
    source: str = Field(pattern=r"^[^\x00-\x1f\x7f]+$")
    origin: Origin | None = None
    style: str
    settings: dict[str, Any] = {}
