"""Parameters of extract: `extract:` in params.yaml."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Config(BaseModel):
    """How prompts are packed into forward passes.

    batch: rows of a forward pass. bucket: lengths are padded to a multiple of this many tokens.
    threads: of torch. All three move the last bits of the logits, so they belong to what an answer
    is remembered by; the device does not, it is written beside each answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    batch: int = Field(ge=1, le=4096)
    bucket: int = Field(ge=1, le=4096)
    threads: int = Field(ge=1, le=1024)
    device: Literal["auto", "cpu", "cuda"] = "auto"

    @property
    def settings(self) -> dict[str, int]:
        """What moves the bits of an answer."""
        return {"batch": self.batch, "bucket": self.bucket, "threads": self.threads}
