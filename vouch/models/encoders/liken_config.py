"""Parameters of `liken`: `liken:` in params.yaml."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

NONE = "vouch/models/encoders/liken_none.py"
PINS = "data/models"


class Config(BaseModel):
    """Who says how like two texts are.

    encoder: `vouch/models/encoders/liken_none.py`, or `data/models/NAME.json`, the pin of a text encoder; a path
    because the stage depends on it. layer: whose tokens are compared, null for the last. batch: texts a pass.
    device, threads: for the model.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: str
    layer: int | None = Field(default=None, ge=0, le=1000)
    batch: int = Field(default=64, ge=1, le=4096)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int = Field(default=1, ge=1, le=1024)

    @field_validator("encoder")
    @classmethod
    def _encoder(cls, value: str) -> str:
        if value != NONE and value != f"{PINS}/{Path(value).stem}.json":
            raise ValueError(f"give {NONE}, or {PINS}/NAME.json with NAME an entry of pin")
        return value

    @property
    def model(self) -> str | None:
        """Name of the encoder, None where there is none."""
        return None if self.encoder == NONE else Path(self.encoder).stem
