"""Which option a generated text names."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from vouch.library.arrays import text_of, texts_of
from vouch.library.figure import Result
from vouch.metrics.text.parsers.marks import NONE, OPTION, Choices
from vouch.metrics.text.parsers.reader import read


@dataclass(frozen=True, repr=False)
class ReadAnswer(Result):
    """option: index of the one option that the text names, None for none or several. verdict: `option`,
    `several`, `declined` or `unread`. rule: the kind of evidence that decided; said: its words.
    """

    option: int | None
    verdict: str
    rule: str
    said: str


def read_answer(
    text: str, options: Sequence[str], marks: Sequence[str] | None = None, question: str = ""
) -> ReadAnswer:
    """Reads an option out of a generated text.

    options: their texts as shown, empty where a question has none. marks: what stood before them; A, B, ...
    by default. question: lets a text be read that answers yes or no in the words of the question.

    >>> read_answer("I think the answer is (B).", ["a cat", "a dog"])
    ReadAnswer(option=1, verdict='option', rule='statement', said='I think the answer is (B)')
    """
    texts = texts_of(options, "options", least=1)
    shown = texts_of(marks, "marks") if marks is not None else list(ascii_uppercase[: len(texts)])
    if len(shown) != len(texts):
        raise ValueError(f"marks: {len(shown)} of them for {len(texts)} options; give as many of each")
    twice = [mark for place, mark in enumerate(shown) if mark.strip() and mark in shown[:place]]
    if twice:
        raise ValueError(f"marks: {twice[0]!r} stands twice; give each option its own")
    said, asked = text_of(text, "text"), text_of(question, "question")
    found = read(said, Choices(tuple(shown), tuple(texts), asked))
    option = found.places[0] if found.verdict == OPTION else None
    return ReadAnswer(option, "unread" if found.verdict == NONE else found.verdict, found.kind, found.span)
