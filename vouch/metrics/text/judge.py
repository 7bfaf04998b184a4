"""A model as judge: which answers it reads, and what its verdicts are to the scores. `score.judge` names it.

The judge reads what the rules leave undecided, so no explicit answer ever gets to it. What is decided here is
made of columns that do not know the right answer.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from vouch.metrics.text.parsers import read
from vouch.metrics.text.parsers.marks import NONE, OPTION, SEVERAL, Choices, Reading
from vouch.metrics.text.parsers.reader.prepare import shortened
from vouch.metrics.text.stated import asks_confidence, stated
from vouch.metrics.text.texts import choices_of
from vouch.pipeline.files import canonical_json
from vouch.tables.outcomes import JUDGE

OF_TEXTS = ("prompt", "temperature", "text")
OF_PROMPTS = ("id", "item", "options", "marks", "effect", "template")
OF_ITEMS = ("id", "kind", "question")
UNDECIDED = (NONE, SEVERAL)

Verdicts = Mapping[str, int | None]
"""By `key`, the place of the one option that an answer chooses, as the judge says; None where it says none or
several."""


def key(text: str, choices: Choices) -> str:
    """The digest under which the verdict on an answer is found."""
    asked = [choices.question, choices.marks, choices.texts, text]
    return hashlib.sha256(canonical_json(asked).encode()).hexdigest()


def answers(texts: pa.Table, prompts: pa.Table, items: pa.Table) -> Iterator[tuple[str, Choices]]:
    """The greedy texts that answer questions with options, each as the parsers read it."""
    rows = {row["id"]: row for row in items.to_pylist() if row["kind"] == "choice"}
    asked = {row["id"]: row for row in prompts.to_pylist() if row["item"] in rows and row["options"]}
    for answer in texts.to_pylist():
        prompt = asked.get(answer["prompt"])
        if prompt is not None and answer["temperature"] == 0 and answer["text"] is not None:
            text = answer["text"]
            text = stated(text)[0] if asks_confidence(prompt["template"]) else text
            question = rows[prompt["item"]]["question"]
            yield text, choices_of(prompt["marks"], prompt["options"], prompt["effect"], question)


def undecided(text: str, choices: Choices, parsers: Sequence[str]) -> bool:
    """Whether rules leave an answer unread or contradictory, and there is something to read."""
    return read(text, choices, parsers)[1].verdict in UNDECIDED and bool(shortened(text))


def decided(text: str, choices: Choices, parsers: Sequence[str], verdicts: Verdicts) -> tuple[str, Reading]:
    """What the parsers find, or the judge where they cannot decide; and the name of who found it."""
    name, reading = read(text, choices, parsers)
    if verdicts and reading.verdict in UNDECIDED:
        place = verdicts.get(key(text, choices))
        if place is not None:
            return JUDGE, Reading(OPTION, (place,), JUDGE, choices.texts[place])
    return name, reading
