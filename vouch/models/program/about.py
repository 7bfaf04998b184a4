"""What a driver says of the authors' code that it runs: the constant ABOUT at its head.

It is read without running the driver, which needs the packages of its environment.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vouch.models.program.identity import DRIVERS
from vouch.pipeline.errors import UserError, reason
from vouch.pipeline.validation import worded


class About(BaseModel):
    """A driver of authors' code.

    repository: OWNER/NAME on GitHub. commit: the one that the driver ran with. licence: of that code, by its
    SPDX name. folder: what `program.code` names, within a clone; empty for the clone itself. environment:
    drivers/NAME.txt. models: profile -> the paper's models that it asks, by the names of `paper.others`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    repository: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    commit: str = Field(pattern="^[0-9a-f]{40}$")
    licence: str = Field(min_length=1)
    folder: str = ""
    environment: str = Field(pattern="^[a-z][a-z0-9_]*$")
    models: dict[str, list[str]] = {}


def constant(path: Path, name: str) -> Any:
    """The literal under a name at the top of a Python file; None if it has no such name. Raises UserError."""
    try:
        for one in ast.parse(path.read_bytes()).body:
            targets = one.targets if isinstance(one, ast.Assign) else [getattr(one, "target", None)]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                return ast.literal_eval(one.value)  # type: ignore[attr-defined]
    except (OSError, SyntaxError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{path}: {name} is no literal ({reason(error):.100}); correct the driver") from None
    return None


def about(driver: Path) -> About | None:
    """What a driver says of the authors' code; None if it says nothing. Raises UserError."""
    literal = constant(driver, "ABOUT")
    try:
        return None if literal is None else About.model_validate(literal)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "ABOUT"
        raise UserError(f"{driver}: ABOUT: {where}: {worded(first)}; correct the driver") from None


def drivers(folder: Path = DRIVERS) -> Iterator[tuple[str, About]]:
    """Name and ABOUT of every driver that has one, sorted by name. Raises UserError."""
    for path in sorted(folder.glob("*.py")):
        known = about(path)
        if known is not None:
            yield path.stem, known
