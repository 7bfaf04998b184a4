"""Which vocabulary entries are the option letters, and after which tokens they stand.

A letter is read where the model would write it: prompt and letter are tokenised as one text, in the spelling
in which the model's own chat template writes answers. What these texts have in common is the prompt that the
model gets, the one token after it is the letter's. So the prompt may become longer (after `ASSISTANT:` most
byte-pair encoders write a digit as a space and a digit: the space is read first) or shorter (`Answer: ` and
`A` become `Answer:` and ` A`; `(` and `A` may become `(A`). Letters that are not one token each at one place
cannot be read, and are refused: at another place, or in another spelling, the model does not write them.

One spelling is read: the sum over spellings would mix two sets of logits, as released logits do not, and
their maximum would favour letters by chance. The other spelling's logits are kept beside where it has them
at the same place, the mass counts both, and an answer whose model prefers the other one is flagged.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from vouch.pipeline.errors import UserError

SPELLINGS = ("", " ")
BRACKET = "("
_SHOWN = 12  # characters of a prompt's end in a message

Encode = Callable[[Sequence[str]], list[list[int]]]


@dataclass(frozen=True)
class LetterIds:
    """read: one token per mark, in `spelling`. other: the same marks in the other spelling, if it has them.

    dropped, added: at the end of the prompt so many tokens go, and these come, before the letter is read.
    bracket: tokens of an opening bracket in either spelling.
    """

    spelling: str
    read: tuple[int, ...]
    other: tuple[int, ...]
    bracket: tuple[int, ...]
    dropped: int = 0
    added: tuple[int, ...] = ()


def letter_ids(
    encode: Encode, prompt: str, natural: str, marks: Sequence[str], unknown: int | None
) -> LetterIds:
    """The tokens of some marks after a prompt, `natural` between them.

    encode: tokens of texts. unknown: the token of what the vocabulary lacks. Raises UserError where marks
    are not one token each.
    """
    other = SPELLINGS[natural == SPELLINGS[0]]
    texts = [natural + mark for mark in marks] + [other + mark for mark in marks]
    texts += [spelling + BRACKET for spelling in SPELLINGS]
    known, *whole = encode([prompt, *(prompt + text for text in texts)])
    count = len(marks)
    before = common_start(tokens[:-1] for tokens in whole[:count])
    read = [tokens[len(before) :] for tokens in whole[:count]]
    for mark, tokens in zip(marks, read, strict=True):
        if len(tokens) != 1 or read.count(tokens) > 1 or unknown in (*before[len(known) :], *tokens):
            found = "has none of its own" if len(tokens) == 1 else f"takes {len(tokens)}"
            raise UserError(
                f"the model's tokenizer has no distinct single token for each of {', '.join(marks):.100} in "
                f"one place after {prompt[-_SHOWN:]!r} ({mark} {found} there); ask this model with another "
                "template or answer_prefix"
            )
    kept = len(common_start([known, before]))

    def after(tokens: Sequence[Sequence[int]]) -> tuple[int, ...]:
        """The tokens right after `before`, of those that are one token there."""
        single = [one[-1] for one in tokens if [*one[:-1]] == before and one[-1] != unknown]
        return tuple(dict.fromkeys(single))

    others = after(whole[count : 2 * count])
    chosen = tuple(tokens[0] for tokens in read)
    return LetterIds(
        natural,
        chosen,
        others if len(others) == count and not set(others) & set(chosen) else (),
        tuple(sorted(after(whole[2 * count :]))),
        len(known) - kept,
        tuple(before[kept:]),
    )


def common_start(texts: Iterable[Sequence[int]]) -> list[int]:
    """The tokens with which all begin."""
    alike = takewhile(lambda tokens: len(set(tokens)) == 1, zip(*texts, strict=False))
    return [tokens[0] for tokens in alike]
