"""The phrases of cues.toml as sets of words and regular expressions."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

SCRIPT = "\u2e80"
"""From here on scripts have no spaces between words: Chinese, Japanese; Korean appends its particles."""
_CUES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("cues.toml").read_text("utf-8"))


def phrases(*kinds: str) -> list[str]:
    """All words and phrases of these kinds, in the order of the file."""
    listed = [line.split(",") for kind in kinds for line in _CUES[kind].values()]
    return [phrase.strip() for line in listed for phrase in line]


def any_of(listed: Iterable[str]) -> str:
    """A regular expression for one of the phrases, the longest first; whole words in scripts with spaces."""
    found = sorted(set(listed), key=lambda one: (-len(one), one))
    spaced = [re.escape(one).replace(r"\ ", r"\s{1,4}") for one in found if one[-1] < SCRIPT]
    others = [re.escape(one) for one in found if one[-1] >= SCRIPT]
    words = [rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)"] if spaced else []
    return "(?:" + "|".join(words + others) + ")"


def either(listed: Iterable[str]) -> str:
    """A regular expression for one of the phrases, even inside a word."""
    return f"(?:{'|'.join(re.escape(one) for one in sorted(set(listed), key=lambda one: (-len(one), one)))})"


def word(*kinds: str) -> str:
    """A regular expression for one of the phrases of these kinds, as whole words."""
    return any_of(phrases(*kinds))


def piece(*kinds: str) -> str:
    """A regular expression for one of the phrases of these kinds, even inside a word."""
    return either(phrases(*kinds))


class Finder:
    """Looks for phrases in lower case; in scripts with spaces by the text's words, which is fast."""

    def __init__(self, listed: Iterable[str], then: str = "") -> None:
        """then: a regular expression that must match after the phrase."""
        first: dict[str, list[str]] = {}
        self.others = []
        for one in listed:
            if one[-1] < SCRIPT:
                first.setdefault(one.split()[0], []).append(one)
            else:
                self.others.append(one)
        self.rules = {word: _rule(any_of(found) + then) for word, found in first.items()}

    def spans(self, low: str, words: frozenset[str]) -> list[tuple[int, int]]:
        """Start and end of the phrases in a text in lower case. words: those of the text."""
        found = []
        for word in self.rules.keys() & words:
            rule = self.rules[word]
            found += [match.span() for at in _places(low, word) if (match := rule.match(low, at))]
        if not low.isascii():
            found += [(at, at + len(one)) for one in self.others for at in _places(low, one)]
        return sorted(found)


def _places(low: str, sought: str) -> Iterator[int]:
    at = low.find(sought)
    while at >= 0:
        yield at
        at = low.find(sought, at + len(sought))


_BLANKS = str.maketrans(dict.fromkeys('.,;:!?"()[]*_“”¿¡', " "))


def words_of(low: str) -> frozenset[str]:
    """The words of a text in lower case, without punctuation."""
    return frozenset(low.translate(_BLANKS).split())


def _rule(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _before() -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """The kind of each word or phrase; and, for scripts without spaces, the endings with their kinds."""
    words: dict[str, str] = {}
    ends = []
    for kind in ("filler", "weak", "link", "choose", "not"):
        for one in phrases(kind):
            if one[-1] >= SCRIPT:
                ends.append((one, kind))
            else:
                words[one] = kind
    return words, tuple(sorted(ends, key=lambda end: (-len(end[0]), end)))


WORDS, ENDS = _before()
LONGEST = max(word.count(" ") + 1 for word in WORDS)
_NOUNS = tuple(phrases("noun"))
_ASCII_NOUNS = tuple(noun for noun in _NOUNS if noun.isascii())
PUNCTUATION = r"[\s\"')\]」』,*]{0,5}"
_ASIDE = r"(?:,[^,.\n]{1,60},\s?)?"
_VERB = word("verb")
_DEGREE = rf"(?:{word('degree')}\s{{1,4}}){{0,4}}"
_BEST = word("best") + rf"(?!\s(?:\w{{1,20}}\s)?{piece('stranger')})"
_GOOD = word("good")
_COPULA = any_of(link for link in phrases("link") if link[0] not in "=-→")

AFFIRMED = _rule(
    rf"{PUNCTUATION}(?:{_ASIDE}{_VERB}\s{{1,4}}{_DEGREE}(?:{_BEST}\s)?(?:{piece('likely')}\s)?{_GOOD}|{word('affirms')})"
)
"""Words after an option that make it the answer: `is the correct answer`."""
BEST = _rule(
    rf"{PUNCTUATION}{_ASIDE}(?:{piece('relative')}\s)?(?:{_VERB}\s{{1,4}})?(?!{piece('indefinite')}\s){_DEGREE}{_BEST}"
)
"""Words that call it better than the others: `is most similar`."""
DENIED = _rule(
    rf"{PUNCTUATION}{_ASIDE}(?:{piece('optional')}\s)?"
    rf"(?:{_VERB}\s{{1,4}}{_DEGREE}{word('bad')}|{word('denies')})"
)
TRUE = _rule(
    rf"{PUNCTUATION}(?:{piece('optional')}\s?)?(?:{_VERB}\s{{1,4}}(?!{piece('article')}\s)(?:\w{{1,12}}\s)?)?"
    rf"{word('truth')}(?!\s?{piece('noun')})"
)
"""Words that call it a true statement, which need not be the answer."""
ELLIPTIC = _rule(rf"\s{_VERB}\s?(?:[.!;\n]|$)")
"""Words after an option that affirm of it what was denied of another: `A is not right, B is.`"""
DENIALS = frozenset(phrases("negation"))
AFFIRMING = _rule(word("affirming"))
"""Words that contain a negation but deny nothing: `no doubt`."""
JOINS = _rule(word("join") + "|[,、/&]")
CONDITION = _rule(rf"[\s\"'(-]{{0,4}}(?:{piece('so')},?\s)?{word('if')}")
MID_CONDITION = _rule(rf"(?<!{piece('this')}){word('midway')}")
BUT = _rule(word("but"))
OTHERS = _rule(word("others"))
MUST = _rule(word("must"))
THEREFORE = _rule(word("therefore"))
CONCLUDES = _rule(word("therefore", "given"))
_NUMBER = r"(?:\s?\d{1,3})?[ \t]{0,2}[:：]"
QUESTION = _rule(
    rf"\n[ \t#]{{0,8}}(?:{word('question')}{_NUMBER}|{word('named_question')}{_NUMBER}"
    rf"(?=[^\n?？]{{0,600}}(?:[?？]|\n{{1,2}}[ \t*#]{{0,8}}{word('named_answer')}\s?[:：])))"
    rf"|\n[ \t]{{0,4}}###[ \t]{{1,4}}{word('role')}"
)
RESTATES = _rule(rf"\n[ \t#*]{{0,8}}{word('restates')}[ \t]{{0,2}}[:：]")
LINKED = _rule(rf"{word('result')}(?:(?:\s[\w'’=-]{{1,20}}){{0,12}}?\s?(?:{_COPULA}|:)|\s?=)[ \t*]{{0,3}}:?")
"""Words that lead to the answer: `the answer to this question is`, `答案是`."""
_CANNOT = Finder(
    phrases("cannot"),
    rf"(?!\s{word('refuses')})(?:\s[\w',-]{{1,16}}){{0,5}}?\s(?:be\s)?{word('do')}",
)
_DECLINES, _LACKS, _NONE_OF = (
    Finder(phrases("declines")),
    Finder(phrases("lacks")),
    Finder(phrases("none_of")),
)
_ASKS_WRONG, _ASKS_DENIAL = _rule(word("asks_wrong")), _rule(word("asks_denial"))
_SENTENCES = re.compile(r"(?<=[.!?。？！])\s|(?<=[。？！])|\n")
YES = frozenset(phrases("yes_word"))
NO = frozenset(phrases("no_word"))
EQUAL = (YES, NO, *(frozenset(word.strip() for word in line.split(",")) for line in _CUES["equal"].values()))


def declines(low: str, words: frozenset[str]) -> list[tuple[int, int]]:
    """Start and end of phrases that say that the writer cannot or will not answer."""
    return sorted(_CANNOT.spans(low, words) + _DECLINES.spans(low, words))


def lacks(low: str, words: frozenset[str]) -> list[tuple[int, int]]:
    """Start and end of phrases that say that something is missing."""
    return _LACKS.spans(low, words)


def none_of(low: str, words: frozenset[str]) -> list[tuple[int, int]]:
    """Start and end of phrases that say that no option fits."""
    return _NONE_OF.spans(low, words)


@lru_cache(maxsize=4096)
def asks_for(question: str) -> tuple[bool, bool]:
    """Whether a question asks what is wrong, and whether it asks what is not so."""
    asked = [one for one in _SENTENCES.split(question.lower()) if one.strip()]
    last = next((one for one in reversed(asked) if one.rstrip().endswith(("?", "？"))), (asked or [""])[-1])
    wrong = _ASKS_WRONG.search(last) is not None
    return wrong, wrong or _ASKS_DENIAL.search(last) is not None


def names_answer(low: str) -> bool:
    """Whether an answer or option is mentioned."""
    return any(noun in low for noun in (_ASCII_NOUNS if low.isascii() else _NOUNS))
