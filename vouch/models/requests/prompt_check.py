"""What keeps a row of the prompts table from being asked at all: a table that some other program wrote."""

from collections.abc import Mapping, Sequence
from typing import Any

from vouch.tables.prompts import LIKELIHOOD, OUTPUTS

_TEXTS = ("id", "item", "variation", "text")
_ELEMENTS = ("options", "marks")


def problem(prompt: Mapping[str, Any]) -> str | None:
    """The first thing wrong with a row, naming its column, else None."""
    for name in _TEXTS:
        if prompt[name] is None:
            return f"{name} is null"
    for name in _ELEMENTS:
        if None in (prompt[name] or ()):
            return f"{name} holds a null"
    if None in _flat(prompt["turns"], ("question", "answer")):
        return "turns holds a null"
    outputs = prompt["outputs"] or ()
    unknown = [output for output in outputs if output not in OUTPUTS]
    if unknown:
        return f"asks for {unknown[0]!a:.40}, which is none of {', '.join(OUTPUTS)}"
    if LIKELIHOOD in outputs and prompt["options"] is None:
        return "options is null"
    if prompt["max_tokens"] is not None and prompt["max_tokens"] < 1:
        return f"max_tokens is {prompt['max_tokens']}"
    if _null_in_pictures(prompt["pictures"] or ()):
        return "pictures holds a null"
    return None


def _null_in_pictures(recipes: Sequence[Mapping[str, Any] | None]) -> bool:
    if None in _flat(recipes, ("images", "steps")):
        return True
    return any(
        None in recipe["images"] or None in _flat(recipe["steps"], ("operation", "severity", "revision"))
        for recipe in recipes
        if recipe is not None
    )


def _flat(structs: Sequence[Mapping[str, Any] | None] | None, names: Sequence[str]) -> list[Any]:
    """All fields of all structs; one None for a struct that is null."""
    return [value for one in structs or () for value in ([one[name] for name in names] if one else [None])]
