"""Placeholders `{answer k}` of dialogues: filled with what the model itself answered to earlier prompts."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vouch.pipeline.errors import UserError
from vouch.tables.prompts import PLACEHOLDER, TEXT

_NOBODY = ("nobody",)  # repeated by a placeholder without prompts, and never there

Prompt = dict[str, Any]  # columns of the prompts table and `row`, its place in it
KnownTexts = Mapping[str, str | None]  # id of a prompt -> its greedy text, None where it has no answer


class Pending(Exception):
    """A placeholder's answer is not known yet."""


def fill(prompt: Prompt, known_texts: KnownTexts) -> tuple[Prompt, str | None]:
    """The prompt with its placeholders filled, and a problem where an answer that it repeats was refused.

    Of several answers to one placeholder the most common one counts, of equally common ones the first. Braces
    inside an answer, and placeholders beyond those that `earlier` lists, are plain text. Raises Pending where
    an answer is missing.
    """
    if not prompt["earlier"]:
        return prompt, None
    chosen: list[str] = []
    for names in prompt["earlier"]:
        texts: list[str] = []
        for name in names:
            if name not in known_texts:
                raise Pending(name)
            text = known_texts[name]
            if text is None:
                return prompt, f"repeats the answer to prompt {name}, which has none"
            texts.append(text.strip())
        chosen.append(Counter(texts).most_common(1)[0][0])

    def answer(placeholder: re.Match[str]) -> str:
        number = placeholder[1]
        return chosen[int(number) - 1] if len(number) < 9 and int(number) <= len(chosen) else placeholder[0]

    turns = [
        {name: text if text is None else PLACEHOLDER.sub(answer, text) for name, text in turn.items()}
        for turn in prompt["turns"] or ()
    ]
    return {**prompt, "turns": turns, "text": PLACEHOLDER.sub(answer, prompt["text"])}, None


def repeated(prompts: Callable[[], Iterable[Prompt]]) -> frozenset[str]:
    """Ids of the prompts whose answers other prompts repeat.

    Raises UserError, without naming the table, where such a prompt does not stand before the one that
    repeats it, or is not asked for a text.
    """
    names = frozenset(
        name for row in prompts() for placeholder in row["earlier"] or () for name in placeholder or _NOBODY
    )
    before: set[str] = set()
    for row in prompts() if names else ():
        for number, placeholder in enumerate(row["earlier"] or (), start=1):
            for name in placeholder or _NOBODY:
                if name not in before:
                    raise UserError(
                        f"prompt {row['id']} repeats as answer {number} that of {name}, which is no prompt "
                        f"before it that asks for a text; correct its variation, {row['variation']}"
                    )
        if row["id"] in names and TEXT in (row["outputs"] or ()):
            before.add(row["id"])
    return names
