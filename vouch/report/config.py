"""Parameters of the report."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator


class Config(BaseModel):
    """params.yaml, `report`. title: what the page is called."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(min_length=1, max_length=200)


class Scoring(BaseModel):
    """What the page says about params.yaml, `score`; the other keys there are none of its business.

    alpha: target miscoverage, the first of several. calibration: share of the items that calibrate.
    splits: repeated splits of the clean protocol. bins: of the calibration error.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    alpha: float = Field(gt=0, lt=1)
    calibration: float = Field(gt=0, lt=1)
    splits: int = Field(ge=1)
    bins: int = Field(ge=1)

    @field_validator("alpha", mode="before")
    @classmethod
    def _main(cls, value: Any) -> Any:
        return value[0] if isinstance(value, list) and value else value
