"""Parameters of `vary`: some keys of `datasets.NAME`, and `variations`, of params.yaml."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    """How one dataset is asked.

    template: a file of vouch/prompts/templates. variations: names (combination.py), in the prompts' order. rows: `all`
    items, or the `exchangeable` ones: those that the variation vs_e can turn, as PARC (Schmalfuss et al.
    2025) scores all variations of a comparative set on the same rows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    template: str
    variations: tuple[str, ...] = Field(min_length=1)
    rows: Literal["all", "exchangeable"] = "all"


def config_of(entry: Mapping[str, Any], variations: list[str]) -> Config:
    """The parameters of a dataset's entry; variations: the profile's, for entries that name none."""
    own = {key: entry[key] for key in Config.model_fields if entry.get(key) is not None}
    return Config.model_validate({"variations": variations, **own})
