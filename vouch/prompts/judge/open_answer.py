"""What a judge is told of an answer to an open question, and what its reply comes to."""

import re

from vouch.metrics.text.judge import OpenAnswer
from vouch.metrics.text.wording import wide
from vouch.prompts.judge.quoting import LONGEST_OPTION, filled, line, without_thought
from vouch.tables.answered import CORRECT, INCORRECT, NONE

WORDS = "open_answer"
MOST_REFERENCES = 20
_WORDS = dict.fromkeys(("a", "correct", "right", "true", "yes"), CORRECT) | dict.fromkeys(
    ("b", "incorrect", "wrong", "false", "no", "not correct", "not right", "not true"), INCORRECT
)
_LEAD = re.compile(
    r"(?:(?:so|therefore|the|this|my|final|it|it's|is|that|answer|verdict|option|choice) )*", re.IGNORECASE
)

_ASKED = re.compile(
    r"[^.!?\n]{0,400}\?|^\W{0,8}is (?:the|this|that|it)\b[^.!?:\n]{0,400}", re.IGNORECASE | re.MULTILINE
)
_NEGATION = re.compile(r"\b(?:not|never|cannot|nor|neither|hardly|far from)\b", re.IGNORECASE)


def prompt(answer: OpenAnswer) -> str:
    """The whole text that the judge gets. Of equal references one is shown."""
    different = dict.fromkeys(line(one, LONGEST_OPTION) for one in answer.references)
    listed = "\n".join(f"- {one}" for one in list(different)[:MOST_REFERENCES])
    return filled(WORDS, answer.question, answer.text, references=listed)


def verdict(reply: str | None) -> str:
    """CORRECT, INCORRECT, or NONE for a reply that says neither, or both.

    A letter or a word counts between marks or line ends: `B. incorrect`, `The answer is A`, not `A cat`. A
    question is none: `Is the answer correct?`. A reply that says no somewhere is never CORRECT.
    """
    said = wide(without_thought(reply)).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").replace("n't", " not")
    text = _ASKED.sub("\n", said)
    parts = re.split(r"[^\w' -]+", text.replace("_", " ").replace("*", ""))
    found = {_WORDS.get(_LEAD.sub("", f"{part.strip(' -')} ", 1).strip().casefold()) for part in parts}
    found.discard(None)
    if len(found) != 1 or (CORRECT in found and _NEGATION.search(text)):
        return NONE
    return found.pop() or NONE
