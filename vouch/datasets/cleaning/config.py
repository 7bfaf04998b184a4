"""Parameters of `prepare`: `datasets.NAME` of params.yaml."""

import hashlib
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vouch.datasets.fetch.origin import Origin
from vouch.datasets.options import kostumov, reform
from vouch.pipeline.errors import did_you_mean

SCHEMES = sorted([*kostumov.SCHEMES, *reform.SCHEMES])


class Options(BaseModel):
    """How many options items get. scheme: one of SCHEMES. seed: of its draws.

    protocol: `faithful` repeats the authors' draws, defects included; `clean` has the same aim without them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scheme: str
    protocol: Literal["faithful", "clean"] = "clean"
    seed: int = Field(default=42, ge=0, lt=2**32)

    @field_validator("scheme")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in SCHEMES:
            raise ValueError(f"unknown name {name:.60}; {did_you_mean(name, SCHEMES)}")
        return name


class Sample(BaseModel):
    """A part of a dataset. share: of its groups, which stay whole, or of its items where it names no groups.

    Each is in or out by a lot of its own: the share is met within chance, and a larger one holds a smaller.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    share: float = Field(gt=0, lt=1)
    seed: int = Field(default=0, ge=0, lt=2**32)

    def holds(self, name: str) -> bool:
        """Whether a group, or an item, is in."""
        lot = hashlib.sha256(f"{self.seed}/{name}".encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(lot[:8]) < self.share * 2**64


class DatasetEntry(BaseModel):
    """One dataset.

    loader: a file of vouch/datasets/loaders. source: file or folder; vouch/datasets/fetch for what is fetched
    from `origin`. settings: the loader's own. sample: a part of it. options: null leaves them as the source
    has them. For `vary` (vouch/prompts/config.py says more): template, a file of
    vouch/prompts/templates; variant, one of its variants; variations, in place of the profile's;
    rows. For `browse`: images, whether item pages may show the dataset's pictures.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    loader: str = "jsonl"
    source: str = Field(pattern=r"^[^\x00-\x1f\x7f]+$")
    origin: Origin | None = None
    template: str = Field(
        description='`plain` asks with the options as they are, `kostumov` adds "I don\'t know" and "None of '
        'the above"'
    )
    variant: str | None = None
    settings: dict[str, Any] = {}
    sample: Sample | None = None
    options: Options | None = None
    variations: list[str] | None = Field(default=None, min_length=1)
    rows: Literal["all", "exchangeable"] = "all"
    images: bool = True

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.sample and self.options and self.options.protocol == "faithful":
            raise ValueError(
                "a faithful protocol draws over all items; take out `sample`, or set protocol: clean"
            )
        return self
