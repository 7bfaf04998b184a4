"""Lengths of prompts in tokens, estimated from their characters: no model and no tokenizer is needed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vouch.models.batching import PlannedRow, TokenCounts, planned_rows
from vouch.tables.asked import LIKELIHOOD

TEXT_TOKENS = 80  # of a prompt that is not made yet
ASCII_CHARACTERS = 4.7  # of a token; with SmolLM2's tokenizer over 178 real questions
BEFORE_TOKENS, BETWEEN_TOKENS = 23, 9  # of a chat template: before a prompt, and between it and the answer


def rows_of_pack(output: str, pack: Sequence[Mapping[str, Any]], sees: bool) -> Iterator[PlannedRow]:
    """The rows of a pack, by the lengths of its texts. sees: whether the model takes their images."""
    after_image = sees and bool(pack[0]["images"])
    added = BETWEEN_TOKENS + (0 if after_image else BEFORE_TOKENS)
    lengths, before = [], ""
    for row in pack:
        turns = (turn[name] for turn in row["turns"] or () for name in ("question", "answer"))
        system = "" if after_image else row["system"] or ""
        text = "\n".join(filter(None, (system, *turns, row["text"], row["response"])))
        pairs = enumerate(zip(before, text, strict=False))
        shared = next((index for index, (one, other) in pairs if one != other), min(len(before), len(text)))
        options = tuple(map(estimated_tokens, row["options"] or ())) if output == LIKELIHOOD else ()
        lengths.append(
            TokenCounts(
                estimated_tokens(text) + added, estimated_tokens(text[shared:]) + BETWEEN_TOKENS, options
            )
        )
        before = text
    return planned_rows(output, lengths, after_image)


def estimated_tokens(text: str) -> int:
    """About as many as a text has: line breaks and characters beyond ASCII are one each."""
    others = sum(not one.isascii() for one in text) + text.count("\n")
    return max(1, round((len(text) - others) / ASCII_CHARACTERS) + others)
