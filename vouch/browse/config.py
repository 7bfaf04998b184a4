"""Parameters of `browse`: `browse` of params.yaml, and `images` of the dataset's entry."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class BrowseConfig(BaseModel):
    """How the item pages show images.

    images: whether they contain images at all. thumbnail: longest side, pixels. budget: most bytes of all
    images of a dataset; further images are left out, variations before originals.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    images: bool = True
    thumbnail: int = Field(default=160, ge=16, le=1024)
    budget: int = Field(default=20_000_000, ge=0)


def config_of(browse: Mapping[str, Any], entry: Mapping[str, Any]) -> BrowseConfig:
    """The parameters of a dataset. entry: its `datasets.NAME`, whose `images: false` takes precedence."""
    config = BrowseConfig.model_validate(browse)
    return config.model_copy(update={"images": config.images and entry.get("images", True)})
