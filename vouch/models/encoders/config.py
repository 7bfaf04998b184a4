"""Parameters of `embed`: `embed.images` and `embed.texts` in params.yaml."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from vouch.tables.answered import pin_path

NONE, COLOURS = "vouch/models/encoders/none.py", "vouch/models/encoders/colours.py"


class _Encoder(BaseModel):
    """encoder: a path, because a stage depends on it. batch: images or texts a pass.

    device, threads: for models. FILES: those that need no weights.
    """

    FILES: ClassVar[tuple[str, ...]] = (NONE,)
    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: str
    batch: int = Field(default=32, ge=1, le=4096)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int = Field(default=1, ge=1, le=1024)

    @field_validator("encoder")
    @classmethod
    def _path(cls, value: str) -> str:
        if value not in cls.FILES and value != str(pin_path(Path(value).stem)):
            raise ValueError(
                f"give {' or '.join(cls.FILES)}, or {pin_path('NAME')} with NAME of models or helpers"
            )
        return value

    @property
    def model(self) -> str | None:
        """Name of the model that encodes, None if a file of vouch/models/encoders does."""
        return None if self.encoder in self.FILES else Path(self.encoder).stem


class ImageEncoderConfig(_Encoder):
    """What turns images and questions into vectors, to compare datasets: a file, or a model like CLIP."""

    FILES: ClassVar[tuple[str, ...]] = (COLOURS, NONE)

    encoder: str = COLOURS


class TextEncoderConfig(_Encoder):
    """What tells how similar sampled texts are to the greedy one: none.py, or a model like BERT.

    layer: whose tokens are compared, null for the last.
    """

    encoder: str = NONE
    layer: int | None = Field(default=None, ge=0, le=1000)
    batch: int = Field(default=64, ge=1, le=4096)


class EmbedConfig(BaseModel):
    """Parameters of `embed`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    images: ImageEncoderConfig = ImageEncoderConfig()
    texts: TextEncoderConfig = TextEncoderConfig()
