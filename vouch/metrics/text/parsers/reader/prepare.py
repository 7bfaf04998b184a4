"""Texts before they are read: without tokens, thoughts, LaTeX, and questions that they make up."""

import re

from vouch.metrics.text.numbers import undressed
from vouch.metrics.text.parsers.reader.cues import QUESTION, RESTATES
from vouch.tables.thoughts import apart

FIRST, LAST = 4_000, 16_000
ANSWERED = 1_000
"""A further question begins after an answer: what is longer and names none only in passing goes on."""
_TOKENS = re.compile(
    r"<\|[^|<>\n]{1,40}\|>|</?s>|<(?:pad|unk|bos|eos|end_of_turn|start_of_turn|end_of_utterance)>|\[/?INST\]"
)


def shortened(text: str) -> str:
    """No thought, no tokens; of what is longer than FIRST + LAST characters its beginning and its end."""
    text = apart(text).answer
    if len(text) > FIRST + LAST:
        text = f"{text[:FIRST]}\n{text[-LAST:]}"
    if "<" in text or "[" in text:
        text = _TOKENS.sub("\n", text)
    return text.strip()


def prepared(text: str) -> str:
    """Shortened and bare."""
    return bare(shortened(text))


def bare(text: str) -> str:
    """Undressed, with single asterisks for bold."""
    return undressed(text).replace("**", "*").replace("`", "").replace("__", "")


def lowered(said: str) -> tuple[str, str]:
    """The text and the same in lower case, of the same length."""
    low = said.lower()
    if len(low) != len(said):
        low = "".join(char.lower() if len(char.lower()) == 1 else char for char in said)
    return said, low


def cut(said: str) -> str | None:
    """What stands before a question that the text makes up; None where it makes up none."""
    question = QUESTION.search(said, 1)
    return None if question is None else said[: question.start()]


def restated(said: str, head: str) -> str:
    """What follows the head where the model says its question again, up to a further one; else nothing."""
    if not RESTATES.match(said, len(head)):
        return ""
    further = (found.start() for found in QUESTION.finditer(said, len(head) + 1))
    return said[len(head) : next((at for at in further if not RESTATES.match(said, at)), len(said))]
