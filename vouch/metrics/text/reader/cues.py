"""The phrases of cues.toml as sets of words and regular expressions."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

SCRIPT = "\u2e80"
"""From here on scripts have no spaces between words: Chinese, Japanese; Korean appends its particles."""
_SCRIPTED = re.compile(f"[{SCRIPT}-\U0010ffff]")
_CUES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("cues.toml").read_text("utf-8"))


def phrases(*kinds: str) -> list[str]:
    """All words and phrases of these kinds, in the order of the file."""
    listed = [line.split(",") for kind in kinds for line in _CUES[kind].values()]
    return [phrase.strip() for line in listed for phrase in line]


def any_of(listed: Iterable[str]) -> str:
    """A regular expression for one of the phrases, the longest first; whole words in scripts with spaces.

    Words are grouped by their first character, so that a search skips to these.
    """
    found = sorted(set(listed), key=lambda one: (-len(one), one))
    spaced: dict[str, list[str]] = {}
    for one in found:
        if one[-1] < SCRIPT:
            spaced.setdefault(re.escape(one[0]), []).append(re.escape(one[1:]).replace(r"\ ", r"\s{1,4}"))
    others = [re.escape(one) for one in found if one[-1] >= SCRIPT]
    words = [rf"{first}(?<!\w{first})(?:{'|'.join(rests)})(?!\w)" for first, rests in spaced.items()]
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
        self._patterns = {word: any_of(own) + then for word, own in first.items()}
        self._rules: dict[str, re.Pattern[str]] = {}
        self.first = frozenset(self._patterns)

    def _rule(self, word: str) -> re.Pattern[str]:
        """Compiled when a text first has the word: compiling all takes a fifth of a second."""
        if word not in self._rules:
            self._rules[word] = re.compile(self._patterns[word])
        return self._rules[word]

    def spans(self, low: str, words: frozenset[str]) -> list[tuple[int, int]]:
        """Start and end of the phrases in a text in lower case. words: those of the text."""
        found = []
        for word in self.first & words:
            rule = self._rule(word)
            found += [match.span() for at in _places(low, word) if (match := rule.match(low, at))]
        if not low.isascii() and _SCRIPTED.search(low):
            others = [one for one in self.others if one in low]
            found += [(at, at + len(one)) for one in others for at in _places(low, one)]
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
    """For text as written; `re.compile` is for text in lower case and faster."""
    return re.compile(pattern, re.IGNORECASE)


def _before() -> tuple[dict[str, str], dict[str, list[tuple[str, str]]]]:
    """The kind of each word or phrase. For scripts without spaces: by their last character, the endings with
    their kinds, the longest first."""
    words: dict[str, str] = {}
    ends: dict[str, list[tuple[str, str]]] = {}
    for kind in ("filler", "weak", "link", "choose", "not"):
        for one in phrases(kind):
            if one[-1] >= SCRIPT:
                ends.setdefault(one[-1], []).append((one, kind))
            else:
                words[one] = kind
    return words, {last: sorted(many, key=lambda end: (-len(end[0]), end)) for last, many in ends.items()}


def _longest(listed: Iterable[str]) -> dict[str, int]:
    """By the last word of a phrase, the most words of one."""
    most: dict[str, int] = {}
    for one in listed:
        last = one.rpartition(" ")[2]
        most[last] = max(most.get(last, 1), one.count(" ") + 1)
    return most


WORDS, ENDS = _before()
LONGEST = _longest(WORDS)
_NOUNS = tuple(one for one in phrases("noun") if not any(two in one for two in phrases("noun") if two != one))
_ASCII_NOUNS = tuple(noun for noun in _NOUNS if noun.isascii())
PUNCTUATION = r"[\s\"')\]」』,*]{0,5}"
_ASIDE = r"(?:,[^,.\n]{1,60},\s?)?"
_VERB = word("verb")
_DEGREE = rf"(?:{word('degree')}\s{{1,4}}){{0,4}}"
_BEST = word("best") + rf"(?!\s(?:\w{{1,20}}\s)?{piece('stranger')})"
_GOOD = word("good")
_COPULA = any_of(link for link in phrases("link") if link[0] not in "=-→")

AFFIRMED = re.compile(
    rf"{PUNCTUATION}(?:{_ASIDE}{_VERB}\s{{1,4}}{_DEGREE}(?:{_BEST}\s)?(?:{piece('likely')}\s)?{_GOOD}|{word('affirms')})"
)
"""Words after an option that make it the answer: `is the correct answer`."""
BEST = re.compile(
    rf"{PUNCTUATION}{_ASIDE}(?:{piece('relative')}\s)?(?:{_VERB}\s{{1,4}})?(?!{piece('indefinite')}\s){_DEGREE}{_BEST}"
)
"""Words that call it better than the others: `is most similar`."""
DENIED = re.compile(
    rf"{PUNCTUATION}{_ASIDE}(?:{piece('optional')}\s)?"
    rf"(?:{_VERB}\s{{1,4}}{_DEGREE}{word('bad')}|{word('denies')})"
)
TRUE = re.compile(
    rf"{PUNCTUATION}(?:{piece('optional')}\s?)?(?:{_VERB}\s{{1,4}}(?!{piece('article')}\s)(?:\w{{1,12}}\s)?)?"
    rf"{word('truth')}(?!\s?{piece('noun')})"
)
"""Words that call it a true statement, which need not be the answer."""
ELLIPTIC = re.compile(rf"\s{_VERB}\s?(?:[.!;\n]|$)")
"""Words after an option that affirm of it what was denied of another: `A is not right, B is.`"""
DENIALS = frozenset(phrases("negation"))
AFFIRMING = re.compile(word("affirming"))
"""Words that contain a negation but deny nothing: `no doubt`."""
JOINS = _rule(word("join") + "|[,、/&]")
CONDITION = re.compile(rf"[\s\"'(-]{{0,4}}(?:{piece('so')},?\s)?{word('if')}")
MID_CONDITION = re.compile(rf"(?<!{piece('this')}){word('midway')}")
BUT = re.compile(word("but"))
OTHERS = re.compile(word("others"))
MUST = re.compile(word("must"))
THEREFORE = re.compile(word("therefore"))
CONCLUDES = re.compile(word("therefore", "given"))
_NUMBER = r"(?:\s?\d{1,3})?[ \t]{0,2}[:：]"
QUESTION = _rule(
    rf"\n[ \t#]{{0,8}}(?:{word('question')}{_NUMBER}|{word('named_question')}{_NUMBER}"
    rf"(?=[^\n?？]{{0,600}}(?:[?？]|\n{{1,2}}[ \t*#]{{0,8}}{word('named_answer')}\s?[:：])))"
    rf"|\n[ \t]{{0,4}}###[ \t]{{1,4}}{word('role')}"
)
RESTATES = _rule(rf"\n[ \t#*]{{0,8}}{word('restates')}[ \t]{{0,2}}[:：]")
LINKED = _rule(rf"{word('result')}(?:(?:\s[\w'’=-]{{1,20}}){{0,12}}?\s?(?:{_COPULA}|:)|\s?=)[ \t*]{{0,3}}:?")
"""Words that lead to the answer: `the answer to this question is`, `答案是`."""
HEADED = re.compile(rf"[\[【][^\[\]【】\n]{{0,12}}{word('result')}[^\[\]【】\n]{{0,4}}[\]】]$")
"""A heading in brackets: `【答案】`, `[Answer]`."""
_CANNOT = Finder(
    phrases("cannot"),
    rf"(?!\s{word('refuses')})(?:\s[\w',-]{{1,16}}){{0,5}}?\s(?:be\s)?{word('do')}",
)
_DECLINES, _LACKS, _NONE_OF = (
    Finder(phrases("declines")),
    Finder(phrases("lacks")),
    Finder(phrases("none_of")),
)
_ASKS_WRONG, _ASKS_DENIAL = re.compile(word("asks_wrong")), re.compile(word("asks_denial"))
_SENTENCES = re.compile(r"(?<=[.!?。？！؟।])\s|(?<=[。？！])|\n")
YES = frozenset(phrases("yes_word"))
NO = frozenset(phrases("no_word"))
POSITIONS: Mapping[str, int] = {
    word.strip(): int(number) - 1 for number, line in _CUES["position"].items() for word in line.split(",")
}
"""Index of the option that is called the first, the second, ..."""
SIGNS = TICK, CROSS, EMPTY = "tick", "cross", "empty"
_ALL_SIGNS = tuple((sign, kind) for kind in SIGNS for sign in phrases(kind))
_ASCII_SIGNS = tuple((sign, kind) for sign, kind in _ALL_SIGNS if sign.isascii())
SIGN = re.compile(piece(*SIGNS) + "\ufe0f?")
_COUNTED = tuple(phrases("counted"))
_ASCII_COUNTED = tuple(noun for noun in _COUNTED if noun.isascii())
EQUAL = (YES, NO, *(frozenset(word.strip() for word in line.split(",")) for line in _CUES["equal"].values()))


def declines(low: str, words: frozenset[str]) -> list[tuple[int, int]]:
    """Start and end of phrases that say that the writer cannot or will not answer."""
    return sorted(_CANNOT.spans(low, words) + _DECLINES.spans(low, words))


def counted(low: str) -> list[tuple[int, int]]:
    """Where a text in lower case has a word for something that is counted: `option`."""
    nouns = [noun for noun in (_ASCII_COUNTED if low.isascii() else _COUNTED) if noun in low]
    return [(at, at + len(noun)) for noun in nouns for at in _places(low, noun)]


def signs(low: str) -> frozenset[str]:
    """The signs that a text in lower case has: of TICK, CROSS and EMPTY."""
    listed = _ASCII_SIGNS if low.isascii() else _ALL_SIGNS
    return frozenset([kind for sign, kind in listed if sign in low])


def lacks(low: str, words: frozenset[str]) -> list[tuple[int, int]]:
    """Start and end of phrases that say that something is missing."""
    return _LACKS.spans(low, words)


def none_of(low: str, words: frozenset[str]) -> list[tuple[int, int]]:
    """Start and end of phrases that say that no option fits."""
    return _NONE_OF.spans(low, words)


@lru_cache(maxsize=4096)
def asked(question: str) -> str:
    """The last sentence of a question that asks, in lower case; else its last sentence."""
    sentences = [one for one in _SENTENCES.split(question.lower()) if one.strip()]
    asking = (one for one in reversed(sentences) if one.rstrip().endswith(("?", "？", "؟")))
    return next(asking, (sentences or [""])[-1])


@lru_cache(maxsize=4096)
def asks_for(question: str) -> tuple[bool, bool]:
    """Whether a question asks for what is not true, and for what is not so."""
    last = asked(question)
    wrong = _ASKS_WRONG.search(last) is not None
    return wrong, wrong or _ASKS_DENIAL.search(last) is not None


def names_answer(low: str) -> bool:
    """Whether an answer or option is mentioned."""
    return any(noun in low for noun in (_ASCII_NOUNS if low.isascii() else _NOUNS))
