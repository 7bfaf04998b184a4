"""Which vocabulary entries are the option letters, right where an answer begins.

After `ASSISTANT:` both `A` and ` A` can be the first token of an answer, and byte-pair encoders may
merge a letter with the colon before it. A spelling (nothing or a space before the letter) counts for
a letter only if it leaves the tokens of the prompt unchanged and adds exactly one.

One spelling is read per prompt: the one in which the model's own chat template writes an assistant's
answer, which is the one it was trained on. Released logits hold one entry per letter as well; the
sum over spellings would mix two sets of logits, their maximum would favour letters by chance. The
choice depends on tokenizer, template and the answer's given beginning alone, so no question can change
the reading of another. The other spelling's logits are kept beside, the mass counts both, and an
answer whose model prefers the other one is flagged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

SPELLINGS = ("", " ")
BRACKET = "("

Encode = Callable[[str], list[int]]


@dataclass(frozen=True)
class LetterIds:
    """read: one token per mark, in `spelling`. other: the same marks in the other spelling, if it has them.

    bracket: tokens of an opening bracket in either spelling.
    """

    spelling: str
    read: tuple[int, ...]
    other: tuple[int, ...]
    bracket: tuple[int, ...]


class LetterTokens:
    """Token ids of letters after one beginning of an answer.

    prompt: a conversation up to there. natural: the spelling that its template writes there.
    """

    def __init__(self, encode: Encode, prompt: str, natural: str, unknown: int | None) -> None:
        self._encode, self._prompt, self._unknown = encode, prompt, unknown
        self._before = encode(prompt)
        self.order = (natural, *(spelling for spelling in SPELLINGS if spelling != natural))
        self._known: dict[tuple[str, str], int | None] = {}

    def _id(self, spelling: str, mark: str) -> int | None:
        key = (spelling, mark)
        if key not in self._known:
            after = self._encode(self._prompt + spelling + mark)
            single = after[:-1] == self._before and after[-1] != self._unknown
            self._known[key] = after[-1] if single else None
        return self._known[key]

    def ids(self, marks: Sequence[str]) -> LetterIds | None:
        """The tokens of some marks, None where no spelling has a distinct single token for each."""
        found: list[tuple[str, tuple[int, ...]]] = []
        for spelling in self.order:
            ids = tuple(token for mark in marks if (token := self._id(spelling, mark)) is not None)
            if len(ids) == len(marks) == len(set(ids)):
                found.append((spelling, ids))
        if not found:
            return None
        (spelling, read), (_, other) = found[0], found[-1]
        brackets = [self._id(one, BRACKET) for one in SPELLINGS]
        bracket = tuple(sorted({token for token in brackets if token is not None}))
        return LetterIds(spelling, read, () if other == read else other, bracket)
