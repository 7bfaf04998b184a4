"""Whether a rewrite may be asked.

Checks cannot tell good words from bad ones; they catch what programs can: answers in place of questions,
two sentences, a lost negation or number. Whoever wants more reviews the table (`vouch review rewrites`).

A check gets the original and the rewrite and says what is wrong, in words that fit behind `the rewrite`, or
nothing. CHECKS says which kinds of rewrites each looks at.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from vouch.pipeline.yaml12 import load
from vouch.tables.asked import IMAGE_MARK, KINDS, NEGATIONS

NEGATION = re.compile(r"\b(?:not|no|never|none|nor|neither|nothing|without|cannot)\b|n['’]t\b", re.IGNORECASE)
_FUNCTION = frozenset(load(Path(__file__).parent / "function_words.yaml")["words"])
_TIMES, _MORE = 4, 400  # a wordy question has at most so many times the characters, and so many more
_LEAST_KEPT = 1 / 3
_STEM = 4  # first letters that two forms of a word share
_BESIDE = re.compile(
    r"(?:^|\s)(?:A|Q|Answer|Question|Note|Explanation|Rewritten|Rephrased|Instruction|Output)\s*:|"
    r"^(?:Sure|Certainly|Of course|Okay|As an AI|"
    r"Here(?: is|'s|’s| are)|I (?:cannot|can't|can’t|am|would|think)|"
    r"The (?:answer|question|opposite|rewritten|negated)\b[^?]*\b(?:is|would be)\b)|"
    r"\*\*|```|<\|?/?(?:s|im_end|eot_id|end)\|?>|\((?:A|B)\) \S|(?:^|\s)A\. \S.{0,200}\sB\. \S",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BEFORE_A_SENTENCE = '.?!:"“‘('
_NOT = re.compile(r"\b(?:not|cannot)\b|n['’]t\b", re.IGNORECASE)
_LESS = re.compile(r"\b(?:less|fewer)\b", re.IGNORECASE)
_MORE_WORD = re.compile(r"\bmore\b", re.IGNORECASE)
_QUOTED = re.compile(r"‘[^’]*’(?!\w)|“[^”]*”|\"[^\"]*\"|\s'[^']*'(?!\w)")
# an initial or an abbreviation is no end
_END = re.compile(r"(?<!\b\w)(?<!\b(?:vs|St|Mr|Dr|No))(?<!\bMrs)[.?!]+(?=\s+\S)")
_HIDDEN = ("Cc", "Cf", "Co", "Cn")
_BROKEN = "\ufffd"


def is_question(text: str) -> bool:
    """Whether a text ends like a question."""
    return text.rstrip("\"'”’ ").endswith("?")


def words(text: str) -> list[str]:
    """The words of a text, small letters."""
    return re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text.lower())


def failures(kind: str, original: str, rewrite: str) -> Mapping[str, str]:
    """Name of each check that the rewrite fails -> what is wrong; checks by name.

    An endless rewrite is looked at no further: the patterns of other checks would take hours over it.
    """
    endless = _not_endless(original, rewrite)
    if endless:
        return {"not_endless": endless}
    found = {
        name: check(original, rewrite) for name, (kinds, check) in sorted(CHECKS.items()) if kind in kinds
    }
    return {name: problem for name, problem in found.items() if problem}


def _not_endless(original: str, rewrite: str) -> str:
    """The rewrite is as long as a sentence is, whatever the server sent."""
    return f"has {len(rewrite)} characters" if len(rewrite) > _TIMES * len(original) + _MORE else ""


def _not_empty(original: str, rewrite: str) -> str:
    return "" if words(rewrite) else "is empty"


def _asks(original: str, rewrite: str) -> str:
    """What asked still asks. A cloze that cleaning puts into a question stands behind it, quoted."""
    still = is_question(rewrite) or "? ‘" in rewrite
    return "is no question any more" if is_question(original) and not still else ""


def _instructs(original: str, rewrite: str) -> str:
    return "asks where it should instruct" if is_question(rewrite) else ""


def _bare(original: str, rewrite: str) -> str:
    """No answer, options, explanation or word to whoever asked for the rewrite."""
    found = _BESIDE.search(rewrite)
    return f"says more than it should ({found[0].strip()})" if found and found[0] not in original else ""


def _changed(original: str, rewrite: str) -> str:
    return "says the same as the question" if words(original) == words(rewrite) else ""


def _longer(original: str, rewrite: str) -> str:
    return "" if len(words(rewrite)) > len(words(original)) else "is no longer"


def _shorter(original: str, rewrite: str) -> str:
    """Fewer words, or the question itself: a short question may stay short."""
    before, after = words(original), words(rewrite)
    return "" if after == before or len(after) < len(before) else "is no shorter"


def _one_sentence(original: str, rewrite: str) -> str:
    """One sentence on one line. What stands in quotation marks does not count."""
    if "\n" in rewrite.strip():
        return "has several lines"
    return "has several sentences" if _END.search(_QUOTED.sub("", rewrite).strip()) else ""


def _negated(original: str, rewrite: str) -> str:
    """LS-N brings one negation in, where none was: a second one would flip the question back."""
    if NEGATION.search(original):
        return "negates a question that holds a negation already"
    if not _NOT.search(rewrite):
        return "holds no `not`"
    return "negates twice" if len(NEGATION.findall(rewrite)) > 1 else ""


def _unnegated(original: str, rewrite: str) -> str:
    before, after = len(NEGATION.findall(original)), len(NEGATION.findall(rewrite))
    return "" if before == after else f"{'loses' if after < before else 'brings in'} a negation"


def _lessened(original: str, rewrite: str) -> str:
    """LS-M brings `less` or `fewer` in, for a comparison that the question makes."""
    if len(_LESS.findall(rewrite)) != len(_LESS.findall(original)) + 1:
        return "does not bring in one `less` or `fewer`"
    if _MORE_WORD.search(original) and len(_MORE_WORD.findall(rewrite)) >= len(_MORE_WORD.findall(original)):
        return "keeps its `more`"
    return ""


def _related(original: str, rewrite: str) -> str:
    """A third of the question's content words are still there; an answer has fewer."""
    asked = {word for word in words(original) if len(word) >= _STEM and word not in _FUNCTION}
    stems = {word[:_STEM] for word in words(rewrite)}
    kept = sum(word[:_STEM] in stems for word in asked)
    return "" if kept >= _LEAST_KEPT * len(asked) else "keeps too few of the question's words"


def _script(original: str, rewrite: str) -> str:
    """The language stays, as far as letters tell: no script comes in that the question does not use."""
    before, after = (
        {unicodedata.name(char, "unknown").split(" ")[0] for char in text if char.isalpha()}
        for text in (original, rewrite)
    )
    new = sorted(after - before)
    return f"is written in another script ({new[0].title()})" if new else ""


def _printable(original: str, rewrite: str) -> str:
    """No character comes in that no text shows: control codes, marks of direction, a broken text."""
    new = sorted(char for char in set(rewrite) - set(original) if _hidden(char))
    return f"holds a character that no text shows (U+{ord(new[0]):04X})" if new else ""


def _hidden(char: str) -> bool:
    return char == _BROKEN or (unicodedata.category(char) in _HIDDEN and not char.isspace())


def _entities(original: str, rewrite: str) -> str:
    """Numbers in digits, names and marks of pictures stay, and no other ones come in."""
    for what, found in (("mark", IMAGE_MARK.findall), ("number", _NUMBER.findall)):
        differing = set(found(original)) ^ set(found(rewrite))
        if differing:
            return f"changes a {what} ({min(differing)})"
    for one, other, verb in ((original, rewrite, "loses"), (rewrite, original, "brings in")):
        there = {word.lower().removesuffix("'s").removesuffix("’s") for word in _WORD.findall(other)}
        gone = [name for name in _names(one) if name.lower() not in there]
        if gone:
            return f"{verb} the name {gone[0]}"
    return ""


def _names(text: str) -> list[str]:
    """Words with a capital that do not begin a sentence."""
    found = [
        word for word in _WORD.finditer(text) if word[0][0].isupper() and not _begins(text, word.start())
    ]
    names = [word[0].removesuffix("'s").removesuffix("’s") for word in found]
    return [name for name in names if name != "I" and not name.startswith(("I'", "I’"))]


def _begins(text: str, place: int) -> bool:
    """Whether a sentence or a line begins there."""
    while place and text[place - 1].isspace() and text[place - 1] != "\n":
        place -= 1
    return not place or text[place - 1] == "\n" or text[place - 1] in _BEFORE_A_SENTENCE


CHECKS: Mapping[str, tuple[Sequence[str], Callable[[str, str], str]]] = {
    "asks": (tuple(kind for kind in KINDS if kind != "lr_i"), _asks),
    "bare": (KINDS, _bare),
    "changed": (("lr_v", *NEGATIONS), _changed),
    "entities": (KINDS, _entities),
    "instructs": (("lr_i",), _instructs),
    "lessened": (("ls_m",), _lessened),
    "longer": (("lr_v",), _longer),
    "negated": (("ls_n",), _negated),
    "not_empty": (KINDS, _not_empty),
    "not_endless": (KINDS, _not_endless),
    "one_sentence": (KINDS, _one_sentence),
    "printable": (KINDS, _printable),
    "related": (KINDS, _related),
    "script": (KINDS, _script),
    "shorter": (("lr_c",), _shorter),
    "unnegated": (("clean", "lr_i", "lr_c", "lr_v", "ls_m"), _unnegated),
}
