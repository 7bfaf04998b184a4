"""Checks whether a rewrite may be asked.

Checks cannot tell good wording from bad. They catch errors that a program can see: an answer in place of a
question, two sentences, a lost negation or number. For more, review the table (`vouch review rewrites`).

A check gets the original and the rewrite, and returns what is wrong, in words that continue `the rewrite
...`, or an empty string. CHECKS says which kinds of rewrites each of them applies to."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from vouch.pipeline.yaml12 import load
from vouch.tables.asked import IMAGE_MARK, KINDS, NEGATIONS

NEGATION = re.compile(r"\b(?:not|no|never|none|nor|neither|nothing|without|cannot)\b|n['’]t\b", re.IGNORECASE)
_FUNCTION = frozenset(load(Path(__file__).parent / "function_words.yaml")["words"])
_TIMES, _MORE = 4, 400  # a wordy question has at most this many times the characters, plus this many
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
# the dot of an initial or an abbreviation ends no sentence
_END = re.compile(r"(?<!\b\w)(?<!\b(?:vs|St|Mr|Dr|No))(?<!\bMrs)[.?!]+(?=\s+\S)")
_HIDDEN = ("Cc", "Cf", "Co", "Cn")
_BROKEN = "\ufffd"


def is_question(text: str) -> bool:
    """Whether a text ends as a question does."""
    return text.rstrip("\"'”’ ").endswith("?")


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", text.lower())


def failures(kind: str, original: str, rewrite: str) -> Mapping[str, str]:
    """Name of each check that the rewrite fails -> what is wrong, in alphabetical order.

    An endless rewrite is not checked further: the patterns of other checks would take hours.
    """
    endless = _not_endless(original, rewrite)
    if endless:
        return {"not_endless": endless}
    problems = {
        name: check(original, rewrite) for name, (kinds, check) in sorted(CHECKS.items()) if kind in kinds
    }
    return {name: problem for name, problem in problems.items() if problem}


def _not_endless(original: str, rewrite: str) -> str:
    """The rewrite has at most _TIMES times the characters of the question, plus _MORE."""
    return f"has {len(rewrite)} characters" if len(rewrite) > _TIMES * len(original) + _MORE else ""


def _not_empty(original: str, rewrite: str) -> str:
    return "" if words(rewrite) else "is empty"


def _asks(original: str, rewrite: str) -> str:
    """A question is still a question. Cleaning quotes a cloze after the question: `What fits? ‘...’`."""
    still = is_question(rewrite) or "? ‘" in rewrite
    return "is no question any more" if is_question(original) and not still else ""


def _instructs(original: str, rewrite: str) -> str:
    return "asks where it should instruct" if is_question(rewrite) else ""


def _bare(original: str, rewrite: str) -> str:
    """The rewrite has no answer, options, explanation or comment."""
    match = _BESIDE.search(rewrite)
    return f"says more than it should ({match[0].strip()})" if match and match[0] not in original else ""


def _changed(original: str, rewrite: str) -> str:
    return "says the same as the question" if words(original) == words(rewrite) else ""


def _longer(original: str, rewrite: str) -> str:
    return "" if len(words(rewrite)) > len(words(original)) else "is no longer"


def _shorter(original: str, rewrite: str) -> str:
    """The rewrite has fewer words, or is the question itself: a short question may stay as it is."""
    before, after = words(original), words(rewrite)
    return "" if after == before or len(after) < len(before) else "is no shorter"


def _one_sentence(original: str, rewrite: str) -> str:
    """The rewrite is one sentence on one line. Quoted text does not count."""
    if "\n" in rewrite.strip():
        return "has several lines"
    return "has several sentences" if _END.search(_QUOTED.sub("", rewrite).strip()) else ""


def _negated(original: str, rewrite: str) -> str:
    """LS-N adds one negation to a question without any: a second one would flip the question back."""
    if NEGATION.search(original):
        return "negates a question that holds a negation already"
    if not _NOT.search(rewrite):
        return "holds no `not`"
    return "negates twice" if len(NEGATION.findall(rewrite)) > 1 else ""


def _unnegated(original: str, rewrite: str) -> str:
    before, after = len(NEGATION.findall(original)), len(NEGATION.findall(rewrite))
    return "" if before == after else f"{'loses' if after < before else 'brings in'} a negation"


def _lessened(original: str, rewrite: str) -> str:
    """LS-M puts `less` or `fewer` into a comparison that the question makes."""
    if len(_LESS.findall(rewrite)) != len(_LESS.findall(original)) + 1:
        return "does not bring in one `less` or `fewer`"
    if _MORE_WORD.search(original) and len(_MORE_WORD.findall(rewrite)) >= len(_MORE_WORD.findall(original)):
        return "keeps its `more`"
    return ""


def _related(original: str, rewrite: str) -> str:
    """At least a third of the question's content words are still there; an answer would have fewer."""
    content = {word for word in words(original) if len(word) >= _STEM and word not in _FUNCTION}
    stems = {word[:_STEM] for word in words(rewrite)}
    kept = sum(word[:_STEM] in stems for word in content)
    return "" if kept >= _LEAST_KEPT * len(content) else "keeps too few of the question's words"


def _script(original: str, rewrite: str) -> str:
    """The rewrite has no letters of a script that the question lacks: its language seems to be the same."""
    before, after = (
        {unicodedata.name(char, "unknown").split(" ")[0] for char in text if char.isalpha()}
        for text in (original, rewrite)
    )
    new = sorted(after - before)
    return f"is written in another script ({new[0].title()})" if new else ""


def _printable(original: str, rewrite: str) -> str:
    """No invisible characters are added: control codes, direction marks, signs of broken encoding."""
    new = sorted(char for char in set(rewrite) - set(original) if _hidden(char))
    return f"holds a character that no text shows (U+{ord(new[0]):04X})" if new else ""


def _hidden(char: str) -> bool:
    return char == _BROKEN or (unicodedata.category(char) in _HIDDEN and not char.isspace())


def _entities(original: str, rewrite: str) -> str:
    """Numbers in digits, names and image marks stay, and no others are added."""
    for what, find in (("mark", IMAGE_MARK.findall), ("number", _NUMBER.findall)):
        differing = set(find(original)) ^ set(find(rewrite))
        if differing:
            return f"changes a {what} ({min(differing)})"
    for one, other, verb in ((original, rewrite, "loses"), (rewrite, original, "brings in")):
        others = {word.lower().removesuffix("'s").removesuffix("’s") for word in _WORD.findall(other)}
        missing = [name for name in _names(one) if name.lower() not in others]
        if missing:
            return f"{verb} the name {missing[0]}"
    return ""


def _names(text: str) -> list[str]:
    """Words with a capital that do not begin a sentence."""
    capitals = (word for word in _WORD.finditer(text) if word[0][0].isupper())
    inner = (word[0] for word in capitals if not _begins_sentence(text, word.start()))
    names = [word.removesuffix("'s").removesuffix("’s") for word in inner]
    return [name for name in names if name != "I" and not name.startswith(("I'", "I’"))]


def _begins_sentence(text: str, index: int) -> bool:
    """Whether a sentence or a line begins at an index."""
    while index and text[index - 1].isspace() and text[index - 1] != "\n":
        index -= 1
    return not index or text[index - 1] == "\n" or text[index - 1] in _BEFORE_A_SENTENCE


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
