"""Answers in other words: with the words of the question, or with an option's in their order.

`QuestionWords` compares a mention with the question: `The capital of Peru is Lima` answers `What is the
capital of Peru?`, `A city is a large town` does not. `answered` finds yes or no in a sentence that repeats
the question: `It is not the maximum` for `no` to `Is it the maximum?`. `paraphrased` finds an option's words:
`plants increase` in `Plants may increase`.
"""

import re
from functools import cached_property, lru_cache
from itertools import pairwise

from vouch.metrics.text.reader import cues
from vouch.metrics.text.reader.context import CHOOSE, LINK, SENTENCE_END, WEAK, AnswerText, Context
from vouch.metrics.text.reader.options import OPTION, Known, Reading
from vouch.metrics.text.reader.spans import TEXT, Group, Span

_WORD = re.compile(r"[^\W_]+(?:'t)?")
_PASSED = frozenset(cues.phrases("small"))
_ASKED = _PASSED.union(cues.phrases("interrogative"))
_COMPARED = frozenset(cues.phrases("comparative"))
_VERB = cues.word("asks")
_ASKS = re.compile(rf"{_VERB}\s", re.IGNORECASE)
_NEGATION = cues.word("negation")
# Where a denial begins (group 1) and ends: at punctuation, a contrast or, in an aside, a verb (group 2).
_BOUNDS = re.compile(rf"({_NEGATION})|[,;:()—–]|{cues.word('contrast')}|({_VERB})")
_ASIDES = frozenset(cues.phrases("aside_negation"))
_RELATIVE = re.compile(cues.word("relative") + r"\s(?:\w{1,8}\s)?$")
# Not in `but not on the right`, nor in `not on the right but on the left`.
_CONTRAST = re.compile(rf"{cues.word('contrast')}(?!\s{_NEGATION})(?!\s(?:(?!{_VERB})[^,;:()]){{0,80}}$)")
_COVERED, ABOUT = 0.8, 0.6
"""Shares of a question's words: that a sentence repeats all of it, and that it is about it."""
_NEAREST = 2  # words before a link
_BRIEF, _FEW = 60, 1  # characters, and words beside the option, of a text that needs no sentence
_STATEMENT = 5  # words of an option that says something by itself
_CLAUSE, _LINKS = re.compile("[,;:]"), " :=\t"
_PLACES = frozenset(cues.phrases("place"))
_SCENE = re.compile(rf"{cues.any_of(_PLACES)}\s(?:{cues.word('article', 'pronoun')}\s)?{cues.word('scene')}")


@lru_cache(maxsize=4096)
def _question(question: str) -> frozenset[str]:
    return frozenset(_words(question.lower()))


class QuestionWords:
    """The words of a question that an answer in a sentence repeats, and how a mention of an option relates to
    them. If the question is not known, every mention is about it."""

    def __init__(self, text: AnswerText, known: Known) -> None:
        self.text, self.known = text, known

    @cached_property
    def words(self) -> frozenset[str]:
        """Of its last sentence that asks, without those of options; empty for scripts without spaces."""
        asked = cues.asked(self.text.question)
        if not asked or max(asked) >= cues.SCRIPT:
            return frozenset()
        return frozenset(_words(asked, _ASKED)).difference(*(_words(one) for one in self.known.texts))

    def repeats(self, it: Context) -> float:
        """The share of the words that the sentence of a mention repeats; 1 if there are none."""
        if not self.words:
            return 1.0
        low = self.text.low
        near = {*_words(low[it.begin : it.group.start]), *_words(low[it.group.end : it.end])}
        return len(self.words & near) / len(self.words)

    def repeated(self, it: Context) -> bool:
        """Whether the sentence repeats the question, which is known."""
        return bool(self.words) and self.repeats(it) >= _COVERED

    def restates(self, it: Context) -> bool:
        """Whether the sentence says what the question asks for, and links it to one option."""
        return it.left == LINK and len(it.group.places) == 1 and self.repeated(it)

    def answers(self, it: Context) -> bool:
        """Whether a mention is about the question: its sentence has most of the question's words, a mark or
        pronoun is linked, a link follows one of these words, the option is a statement, or the text short."""
        low, group = self.text.low, it.group
        linked = it.left in (LINK, WEAK, CHOOSE)
        bracketed = low[max(0, group.start - 1) : group.start] in ("(", "[")
        if group.marked and (linked or it.called or group.span.own or bracketed):
            return True
        if (it.told and it.left == LINK) or self.repeats(it) >= ABOUT:
            return True
        if any(len(_words(self.known.texts[place])) >= _STATEMENT for place in group.places):
            return True
        if len(low) <= _BRIEF and len(_words(low[: group.start]) + _words(low[group.end :])) <= _FEW:
            return True
        clause = _CLAUSE.split(low[it.begin : group.start].rstrip(_LINKS))[-1]
        return linked and not _question(self.text.question).isdisjoint(_words(clause)[-_NEAREST:])

    def stands_out(self, it: Context, pieces: list[Context]) -> bool:
        """Whether a mention answers the question and none of another option, in another sentence, as well."""
        if not self.words:
            return True
        others = [one for one in pieces if one.group.places != it.group.places and one.begin != it.begin]
        return self.answers(it) and all(self.repeats(one) < self.repeats(it) for one in others)


def paraphrased(low: str, known: Known) -> list[Group]:
    """Mentions of options by their words, in their order with only small words between them."""
    options = [_words(text) for text in known.texts]
    sought = {
        words: place
        for place, words in enumerate(options)
        if len(words) > 1 and options.count(words) == 1 and all(len(word) > 1 for word in words)
    }
    if not sought:
        return []
    matches = [(match, _stem(match.group())) for match in _WORD.finditer(low) if match.group() not in _PASSED]
    stems = [stem for _, stem in matches]
    spans = []
    for words, place in sought.items():
        for at in range(len(stems) - len(words) + 1):
            if stems[at] == words[0] and tuple(stems[at : at + len(words)]) == words:
                spans.append(
                    Span((place,), matches[at][0].start(), matches[at + len(words) - 1][0].end(), TEXT)
                )
    return [Group(span) for span in sorted(spans, key=lambda span: span.start)]


def answered(low: str, known: Known, question: str) -> Reading | None:
    """Yes if a sentence repeats the question's words; no if it denies what they affirm, or the reverse."""
    asked = question.strip().splitlines()[-1].lower() if question.strip() else ""
    asked = asked.rpartition(". ")[2] if not _ASKS.match(asked) else asked
    if not known.answers or not _ASKS.match(asked):
        return None
    asked, low = _SCENE.sub(" ", asked), _SCENE.sub(" ", low)
    passed = _PASSED - _PLACES if _PLACES & set(_WORD.findall(asked)) else _PASSED
    affirmed, denied = _polar(asked, passed)
    sought = affirmed | denied
    reading = None
    for sentence in _sentences(low)[:3]:
        words = set(_words(sentence, passed))
        yes, no = _polar(sentence, passed)
        if sentence.endswith("?") or not sought or (sought - words | words - sought - (no - yes)) & _COMPARED:
            continue
        if not words <= sought and any(not _formed(one, words - sought) for one in sought - words):
            continue  # it may say one thing for another: `closed` for `open`, `under` for `on`
        if cues.CONDITION.match(sentence) or _CONTRAST.search(cues.AFFIRMING.sub(" ", sentence)):
            continue
        again = reading is None or cues.CONCLUDES.search(sentence)
        if again and len(sought & (yes | no)) >= _COVERED * len(sought):
            turned = affirmed & (no - yes) or denied & (yes - no)
            place = known.answers[not turned]
            reading = Reading(OPTION, (place,), "statement of the question", " ".join(sentence.split()))
    return reading


def _polar(sentence: str, passed: frozenset[str]) -> tuple[set[str], set[str]]:
    """The words that a sentence affirms, and those that it denies. Some are both: `the left side, not the
    right side`. A negation without words of its own denies those before it: `the cat is not`."""
    sentence = cues.AFFIRMING.sub(" ", sentence)
    words: tuple[set[str], set[str]] = set(), set()
    clause: set[str] = set()
    at, denies, brief = 0, False, False
    for bound in (*_BOUNDS.finditer(sentence), None):
        end = bound.start() if bound else len(sentence)
        own = _words(sentence[at:end], passed)
        if bound and bound[2] and denies and not (brief and own):
            continue  # a verb ends only an aside: `without handles is`, not `does not have`
        if denies and not own and not (bound and bound[1]):
            words[0].difference_update(clause)
            words[1].update(clause)
        words[denies].update(own)
        clause = clause.union(own) if bound and (bound[1] or bound[2]) else set()
        if bound:
            at, denies = bound.end(), bool(bound[1])
            before = sentence[max(0, bound.start() - 24) : bound.start()]
            brief = denies and (bound[1] in _ASIDES or _RELATIVE.search(before) is not None)
    return words


def _sentences(low: str) -> list[str]:
    ends = [0, *(match.end() for match in SENTENCE_END.finditer(low)), len(low)]
    return [one for start, end in pairwise(ends) if (one := low[start:end].strip())]


def _words(text: str, passed: frozenset[str] = _PASSED) -> tuple[str, ...]:
    return tuple(_stem(word) for word in _WORD.findall(text) if word not in passed)


def _formed(word: str, others: set[str]) -> bool:
    """Whether another form of the word is among the others: `busses`, `opened`."""
    stem = word[: max(3, len(word) - 1)]
    return any(other.startswith(stem) for other in others)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
