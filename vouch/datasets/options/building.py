"""Open questions, or pictures with a label, as choices, as ReForm-Eval was made (Li et al. 2023, A.1 to A.8).

A scheme that builds defines, in place of faithful and clean,
    def built(rows: Sequence[Asked], seed: int, folder: Path) -> list[Sequence[str]]   wrong options of each
and `choices` puts the answer among them. Two answers that differ in spelling only are one answer here.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from vouch.datasets.options.choice import Choice, key
from vouch.pipeline.errors import UserError

WRONG = 3  # options beside the answer
YES_NO = ("yes", "no")


@dataclass(frozen=True)
class Asked:
    """An open question and its (first) answer. category: its kind, of which a pool of answers may be."""

    id: str
    group: str
    category: str
    question: str
    answer: str


class Answers:
    """Distinct answers in an order that the source's does not change, to draw wrong options from."""

    def __init__(self, texts: Iterable[str]) -> None:
        found: dict[str, str] = {}
        for text in texts:
            spelt = key(text)
            found[spelt] = min(text, found.get(spelt, text))
        self.texts = [found[spelt] for spelt in sorted(found)]

    def drawn(self, asked: Asked, wanted: int, seed: int, taken: Sequence[str] = ()) -> list[str]:
        """So many others than its answer and `taken`, by lot; fewer where there are no more."""
        known = {key(asked.answer), *map(key, taken)}
        others = [text for text in self.texts if key(text) not in known]
        return _lot(asked, seed, "wrong").sample(others, min(wanted, len(others)))


def is_yes_no(asked: Asked) -> bool:
    """Whether a question is answered by yes or no, so that its other option is known."""
    return key(asked.answer) in YES_NO


def choices(rows: Sequence[Asked], wrong: Sequence[Sequence[str]], seed: int) -> Iterator[Choice]:
    """Each with its answer at a place by lot; yes stands before no. Raises UserError where none is wrong."""
    for asked, others in zip(rows, wrong, strict=True):
        if is_yes_no(asked):
            options = list(YES_NO)
            answer = options.index(key(asked.answer))
        elif not others:
            raise UserError(
                f"item {asked.id:.80}: there is no other answer to be a wrong option; take another scheme"
            )
        else:
            options = [asked.answer, *others]
            _lot(asked, seed, "order").shuffle(options)
            answer = options.index(asked.answer)
        yield Choice(asked.id, asked.group, tuple(options), (answer,))


def _lot(asked: Asked, seed: int, what: str) -> random.Random:
    return random.Random(f"{seed}/{what}/{asked.id}")
