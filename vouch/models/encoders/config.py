"""Parameters of `embed`: `embed:` in params.yaml."""

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

ENCODERS = Path("vouch/models/encoders")
PINS = Path("data/models")


class Config(BaseModel):
    """What turns pictures and questions into numbers.

    encoder: a file of vouch/models/encoders, or `data/models/NAME.json`, the pin of a model such as CLIP; a
    path because the stage depends on it. batch: pictures or texts a pass. device, threads: for models.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: str
    batch: int = Field(default=32, ge=1, le=4096)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int = Field(default=1, ge=1, le=1024)

    @field_validator("encoder")
    @classmethod
    def _encoder(cls, value: str) -> str:
        path = Path(value)
        own = value == str(ENCODERS / f"{path.stem}.py") and os.path.isfile(path)  # False for any name
        if not own and value != str(PINS / f"{path.stem}.json"):
            raise ValueError(f"give a file of {ENCODERS}, or {PINS}/NAME.json with NAME an entry of pin")
        return value

    @property
    def model(self) -> str | None:
        """Name of the model that encodes, None where a file of this stage does."""
        path = Path(self.encoder)
        return path.stem if path.parent == PINS else None
