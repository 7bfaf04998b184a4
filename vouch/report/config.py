"""Parameters of the report."""

from pydantic import BaseModel, ConfigDict, Field


class ReportConfig(BaseModel):
    """params.yaml, `report`. title: the name of the site."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(default="Vouch", min_length=1, max_length=200)


class Scoring(BaseModel):
    """The values of params.yaml, `score`, that the pages state.

    alpha: target miscoverage, the first of several. calibration: share of the items that calibrate.
    splits: repeated splits of the clean protocol. bins: of the calibration error. seed: of every draw.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    alpha: float = Field(gt=0, lt=1)
    calibration: float = Field(gt=0, lt=1)
    splits: int = Field(ge=1)
    bins: int = Field(ge=1)
    seed: int = Field(default=42, ge=0)
