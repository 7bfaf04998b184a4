"""The content words of a question and of its rewrite: which are lost, which are new, which are opposites.

A small model copies from the examples of its instruction: `What is the capital of Kansas?` becomes `Determine
which direction is the capital of Kansas.` So a rewrite keeps the question's content words, and brings in only
words that its instruction asks for (`synonyms` of instructions/KIND.yaml). Forms of one word count as one.
Stems and lists are English, and so are these checks: a question in another language is not held to them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from vouch.pipeline.yaml12 import load

PROMPTS = Path(__file__).parent / "instructions"
_LISTS: Mapping[str, Any] = load(Path(__file__).parent / "function_words.yaml")
_ANTONYMS: Mapping[str, Mapping[str, str]] = load(Path(__file__).parent / "engines/antonyms.yaml")


class WorkedExample(BaseModel):
    """A worked example."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    q: str
    a: str


class Instruction(BaseModel):
    """A file of instructions/. head, examples: PARC's. synonyms: words that a rewrite may bring in."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    head: str
    examples: tuple[WorkedExample, ...]
    synonyms: frozenset[str] = frozenset()


@cache
def instruction(kind: str) -> Instruction:
    """The instruction for a kind of rewrite."""
    return Instruction.model_validate(load(PROMPTS / f"{kind}.yaml"))


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text.lower())


LEAD = re.compile(
    r"^(?:and |(?:based on|according to|judging from) [^,]+, |"
    r"(?:in|from|on) (?:the|this|that|these) (?:given |above |following )?"
    r"(?:picture|image|photo|figure|diagram|chart|map)s?(?: below| above| shown)?, )",
    re.IGNORECASE,
)
"""Before the question itself: `Based on the image, `."""
YES_NO = re.compile(
    r"^(?:is|are|was|were|am|do|does|did|has|have|had|can|could|will|would|shall|should|may|might|must)\b",
    re.IGNORECASE,
)
"""How a question begins, behind its lead, that asks for yes or no, or to choose between what it names."""
FUNCTION_WORDS = frozenset(_LISTS["words"])
_ENDINGS = (("ing", "ies", "ied", "ed", "ly", "es", "s"), ("est", "en", "er", "e"))  # outer, inner
_LEAST_STEM = 3
_SPARE = 4  # one content word of this many may go from a shorter question
_OWNER = re.compile("['’]s?$")
_NEGATED = re.compile("n['’]t$")


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """What the forms of an English word share: `closer`, `closest` and `close` are `clos`."""
    word = _OWNER.sub("", word)
    word = _LISTS["irregular"].get(word, word).replace("our", "or")
    for endings in _ENDINGS:
        word = _without(word, endings)
    if len(word) > _LEAST_STEM and word[-1] == word[-2]:
        word = word[:-1]
    return re.sub("y$", "i", word)


def _without(word: str, endings: Sequence[str]) -> str:
    """The word without the first of these endings that it has."""
    for ending in endings:
        base = word.removesuffix(ending)
        if base != word and len(base) >= _LEAST_STEM and not (ending == "s" and base.endswith("s")):
            return base + "i" * ending.startswith("ie")
    return word


_FUNCTION_STEMS = frozenset(map(stem, FUNCTION_WORDS))


def content(text: str) -> list[str]:
    """The content words of a text, in their order, without contractions such as `isn't` and `what's`."""
    return [word for word in words(text) if stem(word) not in _FUNCTION_STEMS and not _NEGATED.search(word)]


@dataclass(frozen=True)
class Difference:
    """Content words, as written. lost: of the question. new: of the rewrite, or written more often there."""

    lost: tuple[str, ...]
    new: tuple[str, ...]


def difference(original: str, rewrite: str) -> Difference:
    """The content words that a rewrite loses and brings in."""
    before, after = content(original), content(rewrite)
    kept = _stems(after)
    left = Counter(map(stem, before))
    added = []
    for word in after:
        left[stem(word)] -= 1
        if left[stem(word)] < 0:
            added.append(word)
    return Difference(tuple(word for word in before if stem(word) not in kept), tuple(added))


_ASKING = {"what", "which", *_LISTS["nouns"]}


def lost(kind: str, original: str, rewrite: str) -> tuple[str, ...]:
    """The content words that a rewrite of this kind loses and should not.

    An instruction may lose its verb. Shorter questions and instructions may lose their lead, and a shorter
    question a quarter of its words, if it keeps a question word and offers no alternatives (`a solid or a
    liquid`).
    """
    allowed = _stems(instruction("lr_i").synonyms)
    if kind == "ls_m":
        allowed.add(stem("more"))
    if kind in ("lr_c", "lr_i"):
        original = LEAD.sub("", original)
    if kind == "lr_c":
        allowed |= _stems(_LISTS["droppable"])
    missing = tuple(word for word in difference(original, rewrite).lost if stem(word) not in allowed)
    spared = kind == "lr_c" and "or" not in words(original) and _ASKING & set(words(rewrite))
    spare = len(_stems(content(original))) // _SPARE if spared else 0
    return missing if len(_stems(missing)) > spare else ()


def new(kind: str, original: str, rewrite: str) -> tuple[str, ...]:
    """The content words that a rewrite of this kind brings in and should not."""
    asked = words(original)
    allowed = _stems(instruction(kind).synonyms)
    allowed |= _stems(noun for word, nouns in _LISTS["nouns"].items() if word in asked for noun in nouns)
    if any(stem(word) != word and word.endswith("er") for word in asked):
        allowed.add(stem("more"))  # `burnter` is `more burnt`
    return tuple(word for word in difference(original, rewrite).new if stem(word) not in allowed)


def share_changed(kind: str, original: str, rewrite: str) -> float:
    """The share of content words, 0 to 1, that only one of the two has; the instruction's do not count."""
    before, after = _stems(content(original)), _stems(content(rewrite))
    after -= _stems(instruction(kind).synonyms) - before
    both = len(before | after)
    return len(before ^ after) / both if both else 0.0


def lost_question_word(original: str, rewrite: str) -> str:
    """`why`, `how`, `where`, `when` or `who`, if the rewrite has neither the word nor a noun for it, else
    nothing. `What` and `which` may go."""
    after = set(words(rewrite))
    asked = (word for word in words(original) if word in _LISTS["nouns"])
    return next((word for word in asked if not after & {word, *_LISTS["nouns"][word]}), "")


_DOES = re.compile(r"\b(?:what|which|who|whom)\b.*\b(?:do|does|did)\b(.*)", re.IGNORECASE | re.DOTALL)


def turns_roles(original: str, rewrite: str) -> bool:
    """Whether the subject becomes the object: of `which areas did the empire control`, `which area controlled
    the empire`."""
    match = _DOES.search(original)
    if match is None or "by" in words(rewrite):
        return False
    after = list(map(stem, content(rewrite)))
    order = [after.index(word) for word in map(stem, content(match[1])) if word in after]
    return order != sorted(order)


def not_opposed(original: str, rewrite: str) -> str:
    """Why a rewrite is not the question with a word replaced by its opposite; empty if it is.

    Known opposites are the rules' antonyms, those of the instruction's examples, and words that differ in a
    negative prefix. An unknown word may replace one word of the question if no example holds it.
    """
    change = difference(original, rewrite)
    removed, added = _stems(change.lost) - _stems(instruction("lr_i").synonyms), _stems(change.new)
    if not added and not removed:
        same = words(original) == words(rewrite)  # which another check reports
        return "" if same or _swapped(original, rewrite) else "replaces no word by its opposite"
    if not added:
        return f"loses the word {change.lost[0]}, and brings in no opposite"
    if _is_known(_stems(content(original)), removed, added):
        return ""
    if copied := [word for word in change.new if word in _of_examples()]:
        return f"brings in the word {copied[0]} of an example, which is no opposite here"
    return "changes more than one word" if len(change.new) > 1 or len(removed) != 1 else ""


def _is_known(before: set[str], removed: set[str], added: set[str]) -> bool:
    """Whether these are known opposites; the question may hold further words of the pair."""
    if len(added) == len(removed) == 1 and (_prefixed(*removed, *added) or _prefixed(*added, *removed)):
        return True
    return any(removed <= gone <= before and added == come for gone, come in _opposites())


def _swapped(original: str, rewrite: str) -> bool:
    """Whether two words change places, and nothing else: `Chile from Peru`, `Peru from Chile`."""
    before, after = words(original), words(rewrite)
    moved = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
    return len(before) == len(after) and len(moved) == 2 and moved[0] == moved[1][::-1]


_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "non-", "a")


def _prefixed(word: str, other: str) -> bool:
    return any(f"{prefix}{word}" == other for prefix in _PREFIXES)


@cache
def _opposites() -> list[tuple[frozenset[str], frozenset[str]]]:
    """(stems lost, stems brought in) of every antonym known, in both directions."""
    pairs = [pair for table in _ANTONYMS.values() for pair in table.items()]
    pairs.append(("in the picture", "missing from the picture"))
    pairs += [(example.q, example.a) for example in instruction("ls_a").examples]
    changes = [difference(one, other) for one, other in pairs]
    one_way = [(frozenset(_stems(one.lost)), frozenset(_stems(one.new))) for one in changes if one.new]
    return one_way + [(come, gone) for gone, come in one_way if gone]


@cache
def _of_examples() -> set[str]:
    return {word for one in instruction("ls_a").examples for word in content(f"{one.q} {one.a}")}


def _stems(words: Iterable[str]) -> set[str]:
    return set(map(stem, words))
