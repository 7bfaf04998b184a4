"""Parameters of `prepare`: `datasets.NAME` of params.yaml."""

import hashlib
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vouch.datasets.fetch.origin import REMOTE, Origin
from vouch.pipeline.errors import did_you_mean
from vouch.pipeline.validation import PLACE
from vouch.tables.asked import Output


class OptionScheme(BaseModel):
    """Which scheme gives items their options (docs/cleaning.md). seed: for its random draws.

    protocol: `faithful` repeats the authors' draws with their defects; `clean` has the same aim but not the
    defects.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    scheme: str
    protocol: Literal["faithful", "clean"] = "clean"
    seed: int = Field(default=42, ge=0, lt=2**32)

    @field_validator("scheme")
    @classmethod
    def _known(cls, name: str) -> str:
        from vouch.datasets.built_choices import BUILT_SCHEMES  # loaded only if a dataset names a scheme
        from vouch.datasets.options import DRAWN_SCHEMES

        schemes = sorted([*BUILT_SCHEMES, *DRAWN_SCHEMES])
        if name not in schemes:
            raise ValueError(f"unknown name {name:.60}; {did_you_mean(name, schemes)}")
        return name

    @property
    def builds(self) -> bool:
        """Whether it builds the options of open questions, which are then questions with options."""
        from vouch.datasets.built_choices import BUILT_SCHEMES

        return self.scheme in BUILT_SCHEMES


class Subset(BaseModel):
    """A sample of a dataset. share: of the groups, which stay whole, or of the items if there are no groups.

    Each group is drawn by itself, so the share is met only on average, and a larger sample includes a smaller
    one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    share: float = Field(gt=0, lt=1)
    seed: int = Field(default=0, ge=0, lt=2**32)

    def holds(self, name: str) -> bool:
        """Whether a group, or an item, is in the sample."""
        digest = hashlib.sha256(f"{self.seed}/{name}".encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8]) < self.share * 2**64


class DatasetEntry(BaseModel):
    """One dataset.

    loader: a file of vouch/datasets/loaders. source: file or folder, or vouch/datasets/fetch to download from
    `origin`. settings: the loader's own. sample: use only a part. options: null keeps those of the
    source. For `vary` (vouch/prompts/config.py says more): template, a file of
    vouch/prompts/templates; variant, one of its variants; variants, those of single models; outputs, what
    questions with options are asked for, in place of what the profile or the template says; variations, in
    place of the profile's; rows. For `browse`: images, whether item pages may show the dataset's images.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    loader: str = "jsonl"
    source: str = Field(pattern=PLACE)
    origin: Origin | None = None
    template: str = Field(
        description='`plain` asks with the options as they are, `kostumov` adds "I don\'t know" and "None of '
        'the above"'
    )
    variant: str | None = None
    variants: dict[str, str | None] = Field(
        default={}, description="variants of the template for single models; null asks a model without one"
    )
    outputs: list[Output] | None = Field(default=None, min_length=1)
    settings: dict[str, Any] = {}
    sample: Subset | None = None
    options: OptionScheme | None = None
    variations: list[str] | None = Field(default=None, min_length=1)
    rows: Literal["all", "exchangeable"] = "all"
    images: bool = True

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.source.startswith("hub:"):  # as a model's source is written
            name = self.source.removeprefix("hub:")
            raise ValueError(f"give source: {REMOTE}, and origin: {{hub: {name:.80}, split: test}}")
        if self.sample and self.options and self.options.protocol == "faithful":
            raise ValueError(
                "a faithful protocol draws over all items; remove `sample`, or set protocol: clean"
            )
        return self
