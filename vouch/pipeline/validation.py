"""The problems that pydantic finds in a file's content, in lines that a person can act on."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import AfterValidator, BaseModel, ValidationError

from vouch.pipeline.errors import did_you_mean, refusal

T = TypeVar("T", bound=BaseModel)
Values = TypeVar("Values", bound=Sequence[Any] | None)
NAME = r"^[a-z][a-z0-9_]*$"
"""The pattern of the names of datasets, models and the like."""
JOINED = r"^[a-z][a-z0-9_]*(\+[a-z][a-z0-9_]*)*$"
"""The pattern of names joined with `+`."""
PLACE = r"^[^\x00-\x1f\x7f]+$"
"""The pattern of a path or an address."""
_PATTERNS = {
    NAME: "a name is a lower-case letter, then lower-case letters, digits and _",
    JOINED: "a name is a lower-case letter, then lower-case letters, digits and _; `+` joins several",
    PLACE: "Input should have at least one character, and none that cannot be printed",
}
_MAPPING = "Input should be a mapping, such as `key: value`"
_WORDS = {
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), _MAPPING),
    **dict.fromkeys(("list_type", "tuple_type"), "Input should be a list, such as `[one, two]`"),
    "string_type": "Input should be text (a number needs quotes)",
    "int_type": "Input should be a whole number, without quotes",
    "float_type": "Input should be a number, without quotes",
    "bool_type": "Input should be true or false, without quotes",
    "too_short": "Input should have {min_length} or more entries",
    "union_tag_not_found": "Input should have the key {discriminator}",
    "union_tag_invalid": "{discriminator} should be one of {expected_tags}",
}
"""By the type of a problem, what pydantic says in words of Python."""
_NO_KEYS = ("[key]", "[one]", "[several]")  # parts of a path that pydantic and tags of alternatives add


def each_once(values: Values, *, advice: str = "name it once") -> Values:
    """The values of a list. Raises ValueError, with the advice, for the first that it names twice."""
    listed = [] if values is None else list(values)
    for position, value in enumerate(listed):
        if value in listed[:position]:
            raise ValueError(f"{value!s:.60} is a duplicate; {advice}")
    return values


EACH_ONCE = AfterValidator(each_once)
"""For the type of a list that may name nothing twice."""


def validated(model: type[T], values: Any, where: str) -> T:
    """The content of a file as its model. where: the file's name. Raises UserError with all problems."""
    found, problems = parsed(model, values)
    if found is None:
        raise refusal(where, problems)
    return found


def parsed(model: type[T], values: Any) -> tuple[T | None, list[str]]:
    """The content of a file as its model, or a line for each problem in it."""
    # YAML has infinity and NaN, and no model here has a use for them
    endless = [f"{key}: Input should be a finite number, found {value}" for key, value in _not_finite(values)]
    if endless:
        return None, endless
    try:
        return model.model_validate(values, strict=True), []  # `true` is no seed, "0.1" no share
    except ValidationError as error:
        # a misspelt key is two problems, unknown and missing; the unknown one says more
        found = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        return None, [_explained(one, model) for one in found]


def _not_finite(values: Any, key: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(values, float) and not math.isfinite(values):
        yield key or "the whole file", values
    elif isinstance(values, dict | list):
        for name, value in values.items() if isinstance(values, dict) else enumerate(values):
            yield from _not_finite(value, f"{key}.{name}" if key else str(name))


def _explained(problem: Mapping[str, Any], model: type[BaseModel]) -> str:
    """One problem of a validation: key, what is wrong, valid keys."""
    key = ".".join(f"{part!s:.60}" for part in problem["loc"] if part not in _NO_KEYS) or "the whole file"
    if problem["type"] == "extra_forbidden":
        known = _keys_at(model, problem["loc"][:-1])
        return f"unknown key {key}; {did_you_mean(str(problem['loc'][-1]), known)}"
    if problem["type"] == "missing":
        said = _field_at(model, problem["loc"])
        return f"key {key} is missing; add it{said and f': {said}'}"
    found = problem.get("ctx", {}).get("tag", problem["input"])
    return f"{key}: {worded(problem)}, found {_as_written(found)}"


def worded(problem: Mapping[str, Any]) -> str:
    """What is wrong with a value, in the words of a person who writes YAML."""
    about = problem.get("ctx", {})
    if words := _WORDS.get(problem["type"]) or _PATTERNS.get(about.get("pattern")):
        return words.format(**about)
    return str(problem["msg"]).removeprefix("Value error, ")


def _as_written(value: Any) -> str:
    """A value as YAML has it, cut."""
    if isinstance(value, str):
        return repr(value[:60])
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)[:60]


def _field_at(model: type[BaseModel], path: Sequence[Any]) -> str:
    """The description of the field at a path of a nested model."""
    level = _level_at(model, path[:-1])
    field = getattr(level, "model_fields", {}).get(path[-1])
    return (field and field.description) or ""


def _keys_at(model: type[BaseModel], path: Iterable[Any]) -> list[str]:
    """Valid keys at a path of a nested model, empty if the path leads out of the models."""
    level = _level_at(model, path)
    return sorted(level.model_fields) if isinstance(level, type) and issubclass(level, BaseModel) else []


def _level_at(model: type[BaseModel], path: Iterable[Any]) -> Any:
    level: Any = model
    for part in path:
        fields: dict[str, Any] = getattr(level, "model_fields", {})
        field = fields.get(str(part))
        annotation = field.annotation if field else level
        arguments = getattr(annotation, "__args__", ())
        level = next((kind for kind in reversed(arguments) if kind is not type(None)), annotation)
    return level
