"""Parameters of one demo model: `train.NAME` in params.yaml."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Config(BaseModel):
    """Size of a model, and how long and on how much it is trained.

    family: one of vouch/demo/families.py.
    width, layers, heads: of the language model; the vision tower is one layer of the same width.
    pictures: distinct training scenes and pairs. batch: images per step.
    read_steps, name_steps, choose_steps: the three phases of lessons.py, at most.
    target: share of held-out questions about scenes answered correctly at which training stops. How fast
    a model learns differs between machines and seeds; a target below its limit gives a known strength.
    learning_rate: of the weight matrices, see learning.py.
    thinks: the model writes a thought in tags before each answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    family: Literal["llava", "idefics3"] = "llava"
    seed: int = Field(ge=0, lt=2**32)
    width: int = Field(ge=8, le=65_536)
    layers: int = Field(ge=2, le=1000)
    heads: int = Field(ge=1, le=1000)
    pictures: int = Field(ge=1, le=10_000_000)
    batch: int = Field(ge=1, le=4096)
    read_steps: int = Field(ge=0, le=10_000_000)
    name_steps: int = Field(ge=0, le=10_000_000)
    choose_steps: int = Field(ge=1, le=10_000_000)
    target: float = Field(gt=0, le=1)
    learning_rate: float = Field(gt=0, le=100)
    thinks: bool = False

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if self.width % (2 * self.heads):
            raise ValueError(
                f"width {self.width} is not a multiple of twice the {self.heads} heads; change one"
            )
        return self
