"""Parameters of one demo model: `zoo.NAME` in params.yaml."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Config(BaseModel):
    """Size of a model, and how long and on how much it is trained.

    width, layers, heads: of the language model; the vision tower is one layer of the same width.
    pictures: distinct training scenes. Steps come in three phases (see lessons.py): `read_steps`
    without pictures, `name_steps` mostly of open questions, `choose_steps` mostly of multiple choice.
    batch: pictures per step. target: share of held-out questions answered right at which the learning
    rate starts to fall, so that a model of a chosen strength comes out; 1 trains to the end.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(ge=0)
    width: int = Field(ge=8)
    layers: int = Field(ge=2)
    heads: int = Field(ge=1)
    pictures: int = Field(ge=1)
    read_steps: int = Field(ge=0)
    name_steps: int = Field(ge=0)
    choose_steps: int = Field(ge=1)
    batch: int = Field(ge=1)
    learning_rate: float = Field(gt=0)

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} is no multiple of twice {self.heads} heads; change one of them")
        return self
