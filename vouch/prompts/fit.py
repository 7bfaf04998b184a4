"""Checks whether questions fit the prompt template of their dataset: `prepare` refuses or flags the others.

Some options refer to others (`Both A and B`, `neither of the above`), so their letters and positions must
stay as they are. Some say the same as an option that a template adds, such as `None of the above`."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from vouch.prompts.template import ADDED, ImageMarks, Template, changed_marks
from vouch.tables import DONT_KNOW, NONE_OF_ABOVE
from vouch.tables.marks import marked

# Matches `None of these numbers is possible` and `none of them` as well as `None of the above`.
_NONE = re.compile(
    r"none(?: of (?:them|these|those|(?:the|these|those) (?:above|others?|options|answers|choices|numbers))"
    r"(?: (?:is|are|was|were) .*)?)?",
    re.IGNORECASE,
)
_DONT_KNOW = re.compile(r"(?:i )?(?:don['’]t|do not) know", re.IGNORECASE)
_UNDETERMINED = re.compile(r"(?:it )?can(?:not|['’]t) be determined", re.IGNORECASE)
_SAYS = {"none_of_above": _NONE, "dont_know": _DONT_KNOW, "undetermined": _UNDETERMINED}
_LATEX = re.compile(r"\$\s*\\text\s*\{(.*)\}\s*\$")
# None of the options: `None` alone may be a number, and `none of them` none of the things in the question.
_NOUNS = r"(?:options?|answers?|choices?|alternatives?|statements?)"
_NONE_OF_OPTIONS = re.compile(
    rf"(?:none|not any)(?: of)?(?=.* (?:above|others?|these|those|given|listed|{_NOUNS})\b)"
    rf"(?: (?:the|these|those|given|listed|mentioned|above|here|others?|{_NOUNS}))*"
    r"(?: (?:is|are) (?:correct|right|true|possible|suitable))?"
)

# Words beside the letters of an option that refers to others: `Both A and B are right`, `A、B都对`
_BESIDE_LETTERS_TEXT = """and or nor but not only just both either neither none all any of the same as except
without with is are true false correct right wrong incorrect option options answer answers choice choices
alternative alternatives statement statements letter letters also together one two three & + / , ;
y et ou und oder sowie en и или solo sólo seulement seul seule nur só apenas somente ambos ambas beide les
deux ni weder noch sowohl als auch tanto como"""
_BESIDE_LETTERS = frozenset(_BESIDE_LETTERS_TEXT.split())
_SEVERAL = frozenset({"both", "all", "none", "neither", "either", "any"})
_BESIDE_ARTICLES = _BESIDE_LETTERS & {"the", "and", "or", "nor", "not", "both", "neither", "either", "&", "/"}
_CHINESE = str.maketrans(
    {
        **dict.fromkeys("和与及跟或、也", " and "),
        **dict.fromkeys("都均皆全是对错有只仅项不非既选正确", " only "),
    }
)
_BY_OPTION = re.compile(
    r"\b(?:[Oo]ption|[Cc]hoice|[Aa]lternative|选项)s?\s*(?:\(\s*)?(?:([A-Z])|([0-9]{1,2}))\b"
)
_QUANTITY = r"all|none|neither|both|either"
_COUNT = r"(?:two|three|four)"
_POSITION = r"(?:above|below|preceding|previous|following|foregoing|aforementioned)"
_NTH = r"(?:first|second|third|fourth|fifth|last|previous|preceding|next)"
_SOME_OF = rf"(?:not all|not any|any|each|some|most|one|{_COUNT}|several|more than one|{_QUANTITY}) of"
_ROMANCE = r"anterior(?:es)?|acima|precedent\w*|ci dessus"
_BY_POSITION = re.compile(
    rf"(?:(?:only|just) )?(?:{_SOME_OF}|{_QUANTITY})"
    rf"(?: (?:of|the|these|those|given|listed|{_COUNT}|{_NOUNS}))*"
    rf" {_POSITION}(?: (?:{_COUNT}|{_NOUNS}))*"
    r"(?: (?:is|are|was|were|apply|applies|can|could|may|but|except)\b.*)?"
    rf"|(?:(?:only|just|not) )?(?:the )?{_POSITION}(?: (?:{_COUNT}|{_NOUNS}))+(?: (?:is|are)\b.*)?"
    rf"|.*\b{_NTH}(?: {_COUNT})? (?!statement){_NOUNS}\b.*"
    # Spanish, Portuguese, Italian, French, German, Russian; Chinese, Japanese, Korean
    r"|(?:tod[oa]s?|ningun[oa]|ningún|nenhuma?|amb[oa]s|tutt[ei]|nessun[oa]|toutes?|tous|aucune?|alle|beide"
    rf"|kein\w*|все|ничего|ни)\b.*\b(?:{_ROMANCE}|oben|obige[nrs]?|вышеперечисленн\w*)\b.*"
    r"|(?:以上|上述|前[两二三][项个者]|上記|위의? ).*"
)
_TOKENS = re.compile(r"""[^\W_]+|[^\w\s().:'"“”]""")


@lru_cache(maxsize=4096)
def names_letters(options: tuple[str, ...]) -> bool:
    """Whether an option refers to others by their letters: `Both A and B`, `A and C only`, `option D`.

    An option that names its own letter means something else, such as points in an image, unless it says
    `both` or `all` of several. `a and the` are articles."""
    return any(_names_letters(text, index, len(options)) for index, text in enumerate(options))


def _names_letters(text: str, index: int, options: int) -> bool:
    letters = ascii_lowercase[:options]
    words = _TOKENS.findall(_folded(text).translate(_CHINESE))
    named = {word for word in words if word in letters}
    beside = [word for word in words if word not in named]
    if not (_BESIDE_LETTERS.issuperset(beside) and len(named) + len(beside) - beside.count("+") > 1):
        matches = _BY_OPTION.finditer(text)
        uppercase = (match[1] or ascii_uppercase[int(match[2]) - 1 :][:1] for match in matches)
        named, beside = {letter.lower() for letter in uppercase} & set(letters), []
    articles = "the" in beside and named == {"a"} and "A" not in text and _BESIDE_ARTICLES.issuperset(beside)
    several = len(named) > 1 and not _SEVERAL.isdisjoint(beside)
    return bool(named) and not articles and (several or letters[index] not in named)


@lru_cache(maxsize=4096)
def names_others(options: tuple[str, ...]) -> bool:
    """Whether an option refers to others by letter or by position: `neither of the above two`."""
    return names_letters(options) or any(map(_by_position, options))


def _by_position(text: str) -> bool:
    return _BY_POSITION.fullmatch(" ".join(re.findall(r"[^\W_]+", _folded(text)))) is not None


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", _LATEX.sub(r"\1", text)).casefold()


@lru_cache(maxsize=4096)
def as_added(text: str) -> int | None:
    """DONT_KNOW or NONE_OF_ABOVE, if an option says the same as this option, which a template may add;
    else None."""
    words = _folded(text).strip().rstrip(".")
    if _DONT_KNOW.fullmatch(words):
        return DONT_KNOW
    return NONE_OF_ABOVE if _NONE_OF_OPTIONS.fullmatch(words) else None


@dataclass(frozen=True)
class Fit:
    """Checks questions against a template.

    template, name: the dataset's template. counted: whether items keep the number of options of their source.
    """

    template: Template
    name: str
    counted: bool = True

    def problem(self, options: int, images: int, heights: Sequence[int]) -> str:
        """Why no prompt can be made of a question; empty if one can.

        options, images: how many it has; an open question has no options. heights: of these images as shown,
        and of those that may replace them, in pixels."""
        if self.counted and (crowded := self.template.crowded(options, self.name)):
            return crowded
        if self.template.images == "joined" and images == 2 and len(set(heights)) > 1:
            different = " and ".join(map(str, sorted(set(heights))))
            return (
                f"its images have heights of {different} pixels, and template {self.name} joins them side by "
                "side, which needs one height; use a template with `images: merged`, or leave the item out"
            )
        return ""

    def flags(self, row: Mapping[str, Any]) -> set[str]:
        """Flags of a row of the items table that say how its prompts differ from it."""
        template, options, flags = self.template, row["options"], set()
        body = template.body if options else template.open_body
        passages = [text for text in (row["hint"] if "{hint}" in body else None, row["question"]) if text]
        if any(map(marked, (*passages, *options))):
            marks = ImageMarks(len(row["images"]), template.images)
            shown = [*map(marks.passage, passages), *map(marks.option, options)]
            pairs = zip((*passages, *options), shown, strict=True)
            dropped, worded = zip(*(changed_marks(*pair) for pair in pairs), strict=True)
            flags |= {flag for flag, of in (("mark_dropped", dropped), ("mark_in_words", worded)) if any(of)}
        added = template.added_to(len(options)) if options else {}
        texts = [_LATEX.sub(r"\1", text).strip().rstrip(".") for text in options]
        meant = {as_added(text) for text in options}
        if any(ADDED[key] in meant or any(map(_SAYS[key].fullmatch, texts)) for key in added):
            flags.add("added_option_twice")
        if names_others(tuple(options)):
            flags.add("option_names_options")
        return flags
