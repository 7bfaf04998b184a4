"""Parameters of the scoring, `score` in params.yaml."""

from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    """alpha: target miscoverage. calibration: share of the items that calibrate. seed: of every split.

    splits: repeated splits of the clean reading. bins: of ECE and MCE.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    alpha: float = Field(gt=0, lt=1)
    calibration: float = Field(gt=0, lt=1)
    seed: int = Field(ge=0, lt=2**32)
    splits: int = Field(ge=1, le=100_000)
    bins: int = Field(ge=1, le=10_000)
