"""Parameters of the comparison, `compare` in params.yaml."""

from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    """seed: of the bootstrap. resamples: how many it draws."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(ge=0, lt=2**32)
    resamples: int = Field(ge=1, le=1_000_000)
