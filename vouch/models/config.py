"""Parameters of extract: `extract:` in params.yaml."""

from itertools import combinations
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from vouch.tables.answered import Device
from vouch.tables.asked import TEXT_TOKENS

LONGEST_BUCKET = 4096  # tokens
Cap = Annotated[int, Field(ge=1, le=4096)]


class Sampling(BaseModel):
    """Samples drawn of prompts that ask for text. samples: how many at this temperature.

    models, datasets, variations: those whose prompts are sampled; all if none are named.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: float = Field(ge=1e-4, le=10, allow_inf_nan=False)
    samples: int = Field(ge=1, le=1000)
    models: list[str] = []
    datasets: list[str] = []
    variations: list[str] = []

    @field_validator("temperature")
    @classmethod
    def _apart(cls, temperature: float) -> float:
        # float32 in tables and six digits in names of scores must tell two temperatures apart
        if temperature != round(temperature, 4):
            raise ValueError("has more than 4 decimals; round it, to 0.7 or 1.25")
        return temperature

    def of_variation(self, name: str) -> bool:
        """Whether prompts of a variation are sampled."""
        return not self.variations or name in self.variations

    def meets(self, other: "Sampling") -> bool:
        """Whether both draw samples of the same prompts."""
        limits = ((one.models, one.datasets, one.variations) for one in (self, other))
        return all(
            not mine or not others or set(mine) & set(others) for mine, others in zip(*limits, strict=True)
        )


class BeamSearch(BaseModel):
    """Beam search in place of the greedy text, as `generate` of transformers has it.

    repetition_penalty: factor on the log-probability of tokens that a beam already has.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    beams: int = Field(ge=2, le=64)
    repetition_penalty: float = Field(default=1.0, ge=1, le=10, allow_inf_nan=False)
    length_penalty: float = Field(default=1.0, ge=-10, le=10, allow_inf_nan=False)


class ExtractConfig(BaseModel):
    """How prompts are packed into forward passes, and what texts are generated.

    batch: rows of a forward pass. bucket: lengths are padded to a multiple of this many tokens; `geometric`:
    to the next of 16, 24, 32, 48, ..., so that passes are full although prompts vary in length.
    threads: of torch. Each engine says which settings can change its answers.
    device: `split` spreads a model over all GPUs. reproducible: `off` lets torch choose faster kernels by the
    processor, docs/reproducibility.md.
    workers: threads that decode and prepare images while the model computes.
    max_tokens: of a generated text whose prompt sets no cap; max_tokens_of: caps of individual models. Beside
    the greedy text, `sampling` draws samples; `seed` decides which. beam_search: of individual models, whose
    greedy text is then the best of several beams.
    datasets_of: datasets of models that are not asked all; their tables of the others have no rows.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    batch: int = Field(default=32, ge=1, le=4096)
    bucket: Annotated[int, Field(ge=1, le=LONGEST_BUCKET)] | Literal["geometric"] = 32
    threads: int = Field(default=1, ge=1, le=1024)
    device: Device = "auto"
    reproducible: Literal["auto", "off"] = "auto"
    workers: int = Field(default=2, ge=1, le=64)
    max_tokens: Cap = TEXT_TOKENS
    max_tokens_of: dict[str, Cap] = {}
    sampling: list[Sampling] = []
    beam_search: dict[str, BeamSearch] = {}
    seed: int = Field(default=42, ge=0, lt=2**32)
    datasets_of: dict[str, list[str]] = {}

    def asks(self, model: str, dataset: str) -> bool:
        """Whether a model is asked the questions of a dataset."""
        return dataset in self.datasets_of.get(model, [dataset])

    def sampled(self, model: str, dataset: str) -> list[Sampling]:
        """The samples to draw of a model's answers to a dataset."""
        return [
            one
            for one in self.sampling
            if (not one.models or model in one.models) and (not one.datasets or dataset in one.datasets)
        ]

    @field_validator("bucket", mode="before")
    @classmethod
    def _known(cls, bucket: object) -> object:
        fits = isinstance(bucket, int) and not isinstance(bucket, bool) and 1 <= bucket <= LONGEST_BUCKET
        if bucket != "geometric" and not fits:
            raise ValueError(f"is neither a whole number from 1 to {LONGEST_BUCKET} nor `geometric`")
        return bucket

    @field_validator("sampling")
    @classmethod
    def _each_once(cls, sampling: list[Sampling]) -> list[Sampling]:
        for one, other in combinations(sampling, 2):
            if one.temperature == other.temperature and one.meets(other):
                raise ValueError(
                    f"samples the same prompts twice at temperature {one.temperature:g}; "
                    "let one entry draw all of them"
                )
        return sampling
