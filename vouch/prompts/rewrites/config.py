"""Parameters of `rewrite`: `rewrite:` in params.yaml."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from vouch.tables.answered import Device

RULES = "vouch/prompts/rewrites/engines/rules.py"
PINS = "data/models"


class RewriteConfig(BaseModel):
    """Who rewrites questions, and which datasets get proposals for cleaning.

    rewriter: `vouch/prompts/rewrites/engines/rules.py`, or `data/models/NAME.json`, the pin of a model that
    writes; a path because the stage depends on it. clean: names of datasets. For models: device, threads,
    max_tokens (most tokens of a rewrite), and examples: `text` shows the paper's examples in the text of the
    prompt, as it does; `turns` as earlier turns of the conversation, from which small models copy less.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    where: ClassVar[str] = "rewrite"
    rewriter: str = RULES
    clean: list[str] = []
    device: Device = "auto"
    threads: int = Field(default=1, ge=1, le=1024)
    max_tokens: int = Field(default=256, ge=1, le=4096)
    examples: Literal["text", "turns"] = "text"

    @field_validator("rewriter")
    @classmethod
    def _rewriter(cls, value: str) -> str:
        path = Path(value)
        if value != RULES and value != f"{PINS}/{path.stem}.json":
            raise ValueError(f"give {RULES}, or {PINS}/NAME.json with NAME of models or helpers")
        return value

    @property
    def model(self) -> str | None:
        """Name of the model that rewrites, None if the rules do."""
        return None if self.rewriter == RULES else Path(self.rewriter).stem

    @property
    def in_turns(self) -> bool:
        """Whether a model gets the examples as earlier turns."""
        return self.model is not None and self.examples == "turns"
