"""Parameters of `embed`: `embed.pictures` and `embed.texts` in params.yaml."""

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

ENCODERS = Path("vouch/models/encoders")
PINS = Path("data/models")
NONE, COLOURS = str(ENCODERS / "none.py"), str(ENCODERS / "colours.py")


class _Encoder(BaseModel):
    """encoder: a path, because a stage depends on it. batch: pictures or texts a pass.

    device, threads: for models.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: str
    batch: int = Field(default=32, ge=1, le=4096)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int = Field(default=1, ge=1, le=1024)

    @field_validator("encoder")
    @classmethod
    def _path(cls, value: str) -> str:
        known = cls.known()
        if value not in known and value != str(PINS / f"{Path(value).stem}.json"):
            raise ValueError(f"give {' or '.join(known)}, or {PINS}/NAME.json with NAME of models or helpers")
        return value

    @classmethod
    def known(cls) -> list[str]:
        """Encoders without weights."""
        return [NONE]

    @property
    def model(self) -> str | None:
        """Name of the model that encodes, None where a file of vouch/models/encoders does."""
        path = Path(self.encoder)
        return path.stem if path.parent == PINS else None


class Pictures(_Encoder):
    """What turns pictures and questions into vectors, to compare datasets: a file, or a model like CLIP."""

    encoder: str = COLOURS

    @classmethod
    def known(cls) -> list[str]:
        """Files that define `load`."""
        names = sorted(os.listdir(Path(__file__).parent))
        files = [Path(__file__).parent / name for name in names if name.endswith(".py")]
        return [
            str(ENCODERS / file.name)
            for file in files
            if "\ndef load() -> Encoder" in file.read_text("utf-8")
        ]


class Texts(_Encoder):
    """What tells how similar sampled texts are to the greedy one: none.py, or a model like BERT.

    layer: whose tokens are compared, null for the last.
    """

    encoder: str = NONE
    layer: int | None = Field(default=None, ge=0, le=1000)
    batch: int = Field(default=64, ge=1, le=4096)


class Config(BaseModel):
    """Both."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pictures: Pictures = Pictures()
    texts: Texts = Texts()
