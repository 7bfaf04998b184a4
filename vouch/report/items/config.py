"""Parameters of `browse`: `browse` of params.yaml, and `images` of the dataset's entry."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    """What the item pages show of pictures.

    images: whether they hold pictures at all. thumbnail: longest side, pixels. budget: most bytes of all
    pictures of one dataset; what goes beyond is left out, variations before originals.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    images: bool = True
    thumbnail: int = Field(default=160, ge=16, le=1024)
    budget: int = Field(default=20_000_000, ge=0)


def config_of(browse: Mapping[str, Any], entry: Mapping[str, Any]) -> Config:
    """The parameters of a dataset; entry: its `datasets.NAME`, whose `images: false` wins."""
    config = Config.model_validate(browse)
    return config.model_copy(update={"images": config.images and entry.get("images", True)})
