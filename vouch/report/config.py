"""Parameters of the report."""

from pydantic import BaseModel, ConfigDict, Field


class ReportConfig(BaseModel):
    """params.yaml, `report`. title: what the page is called."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(default="Vouch", min_length=1, max_length=200)


class Scoring(BaseModel):
    """What the pages say of params.yaml, `score`.

    alpha: target miscoverage, the first of several. calibration: share of the items that calibrate.
    splits: repeated splits of the clean protocol. bins: of the calibration error. seed: of every draw.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    alpha: float = Field(gt=0, lt=1)
    calibration: float = Field(gt=0, lt=1)
    splits: int = Field(ge=1)
    bins: int = Field(ge=1)
    seed: int = Field(default=42, ge=0)
