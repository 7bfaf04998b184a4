"""Parameters of `ingest`: one entry `ingest.MODEL-DATASET` of params.yaml."""

from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    """file: released logits of `model` on `dataset`, in a form of stages/ingest/forms."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str
    dataset: str
    file: str = Field(pattern=r"^[^\x00-\x1f\x7f]+$")
