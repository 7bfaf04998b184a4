"""Parameters of `vary`: `datasets.NAME.style` and `variations` of params.yaml."""

from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    """style: a file of stages/styles. variations: names (combination.py), in the prompts' order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    style: str
    variations: tuple[str, ...] = Field(min_length=1)
