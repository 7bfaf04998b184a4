"""What pydantic finds wrong with a file's content, as one line that a person can act on."""

import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from vouch.pipeline.errors import UserError, did_you_mean

T = TypeVar("T", bound=BaseModel)
NAME = r"^[a-z][a-z0-9_]*$"
"""What names of datasets, models and the like are made of."""
_NO_KEYS = ("[key]", "[one]", "[several]")  # parts of a path that pydantic and tags of alternatives add


def validated(model: type[T], values: Any, where: str) -> T:
    """The content of a file as its model has it; `where` names the file. Raises UserError, one line."""
    for key, value in _not_finite(values):  # no model here has a use for them, and YAML can say them
        raise UserError(f"{where}: {key}: Input should be a finite number, found {value}")
    try:
        return model.model_validate(values, strict=True)  # `true` is no seed, "0.1" no share
    except ValidationError as error:
        raise UserError(_explain(error, model, where)) from None


def _not_finite(values: Any, key: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(values, float) and not math.isfinite(values):
        yield key or "the whole file", values
    elif isinstance(values, dict | list):
        for name, value in values.items() if isinstance(values, dict) else enumerate(values):
            yield from _not_finite(value, f"{key}.{name}" if key else str(name))


def _explain(error: ValidationError, model: type[BaseModel], where: str) -> str:
    """The first problem of a validation as one line: file, key, what is wrong, valid keys."""
    # a misspelt key is two problems, unknown and missing; the unknown one says more
    first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
    others = error.error_count() - 1
    more = f" (and {others} more problem{'s' * (others > 1)})" if others else ""
    key = ".".join(f"{part!s:.60}" for part in first["loc"] if part not in _NO_KEYS) or "the whole file"
    if first["type"] == "extra_forbidden":
        known = _keys_at(model, first["loc"][:-1])
        return f"{where}: unknown key {key}; {did_you_mean(str(first['loc'][-1]), known)}{more}"
    if first["type"] == "missing":
        return f"{where}: key {key} is missing; add it{more}"
    message = first["msg"].removeprefix("Value error, ")
    if tag := str(first.get("ctx", {}).get("tag", "")):
        message = message.replace(tag, tag[:60])
    if first.get("ctx", {}).get("pattern") == NAME:
        message = "a name is a lower-case letter, then lower-case letters, digits and _"
    return f"{where}: {key}: {message}, found {str(first['input'])[:60]!r}{more}"


def _keys_at(model: type[BaseModel], path: Iterable[Any]) -> list[str]:
    """Valid keys at a path of a nested model, empty where the path leaves the models."""
    level: Any = model
    for part in path:
        fields: dict[str, Any] = getattr(level, "model_fields", {})
        field = fields.get(str(part))
        annotation = field.annotation if field else level
        arguments = getattr(annotation, "__args__", ())
        level = next((kind for kind in reversed(arguments) if kind is not type(None)), annotation)
    return sorted(level.model_fields) if isinstance(level, type) and issubclass(level, BaseModel) else []
