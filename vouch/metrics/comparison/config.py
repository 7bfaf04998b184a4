"""Parameters of the comparison, `compare` in params.yaml."""

from pydantic import BaseModel, ConfigDict, Field


class CompareConfig(BaseModel):
    """seed: for the bootstrap and the draws. resamples: how many the bootstrap draws.

    labels, draws: for rankings from a few labels: how many items are labelled, and how often they are drawn.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(default=42, ge=0, lt=2**32)
    resamples: int = Field(default=1000, ge=1, le=1_000_000)
    labels: int = Field(default=50, ge=2)
    draws: int = Field(default=200, ge=1, le=1_000_000)
