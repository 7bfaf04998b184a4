"""Checks whether a rewrite may be asked.

Checks cannot tell good wording from bad. They catch errors that a program can see: an answer in place of a
question, two sentences, a lost negation or number. For more, review the table (`vouch review rewrites`).

A check gets the kind, the original and the rewrite, and returns what is wrong, in words that continue `the
rewrite ...`, or an empty string. CHECKS says which kinds of rewrites each of them applies to."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from vouch.prompts.rewrites.content import (
    FUNCTION_WORDS,
    LEAD,
    YES_NO,
    instruction,
    lost,
    lost_question_word,
    new,
    not_opposed,
    share_changed,
    turns_roles,
    words,
)
from vouch.prompts.rewrites.language import is_english
from vouch.tables.asked import IMAGE_MARK, KINDS, NEGATIONS

NEGATION = re.compile(r"\b(?:not|no|never|none|nor|neither|nothing|without|cannot)\b|n['’]t\b", re.IGNORECASE)
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
# Thai, Lao, Burmese, Khmer, Japanese and Chinese put no space between words.
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_BLANK = re.compile(r"\(\s*\)|_{2,}")  # of a cloze
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BEFORE_A_SENTENCE = '.?!:"“‘(¿¡'
_NOT = re.compile(r"\b(?:not|cannot)\b|n['’]t\b", re.IGNORECASE)
_LESS = re.compile(r"\b(?:less|fewer)\b", re.IGNORECASE)
_MORE_WORD = re.compile(r"\bmore\b", re.IGNORECASE)
_QUOTED = re.compile(r"‘[^’]*’(?!\w)|“[^”]*”|\"[^\"]*\"|\s'[^']*'(?!\w)")
# the dot of an initial or an abbreviation ends no sentence
_END = re.compile(r"(?<!\b\w)(?<!\b(?:vs|St|Mr|Dr|No))(?<!\bMrs)[.?!](?=\s+\S)")
_QUESTION_WORD = re.compile(r"\b(?:what|which|who|whom|whose|where|when|why|how)\b", re.IGNORECASE)
_DO_NOT = re.compile(r"(?:please )?(?:do not|don['’]t|never)\b", re.IGNORECASE)
_BEFORE_A_VERB = ("please", "carefully", "and", "then")
_INSTRUCTING = instruction("lr_i").synonyms | {"look", "answer"}
_HIDDEN = ("Cc", "Cf", "Co", "Cn")
_BROKEN = "\ufffd"


def is_question(text: str) -> bool:
    """Whether a text ends as a question does."""
    return text.rstrip("\"'”’ ").endswith("?")


def failures(kind: str, original: str, rewrite: str) -> Mapping[str, str]:
    """Name of each check that the rewrite fails -> what is wrong, in alphabetical order.

    An endless rewrite is not checked further: the patterns of other checks would take hours. The authors' own
    examples pass, even the one of LS-A that repeats its question.
    """
    if (original, rewrite) in [(one.q, one.a) for one in instruction(kind).examples]:
        return {}
    endless = _not_endless(kind, original, rewrite)
    if endless:
        return {"not_endless": endless}
    english = is_english(original)
    problems = {
        name: check(kind, original, rewrite)
        for name, (kinds, check) in sorted(CHECKS.items())
        if kind in kinds and (english or name not in OF_ENGLISH)
    }
    return {name: problem for name, problem in problems.items() if problem}


def unfit(original: str, text: str) -> str:
    """Why a person's words cannot be asked, whatever they mean; empty if they can: they are endless, or hold
    a control character or a line end that the question has none of."""
    added = sorted(char for char in set(text) - set(original) if _controls(char))
    if added:
        return f"has a control character or a line end (U+{ord(added[0]):04X}) that its question has not"
    return _not_endless("", original, text)


def _controls(char: str) -> bool:
    return char == _BROKEN or unicodedata.category(char) in ("Cc", "Zl", "Zp")


def doubt(kind: str, original: str, rewrite: str | None, failed: Sequence[str]) -> float:
    """How doubtful a rewrite is: the number of checks that it fails, plus the share (0 to 1) of content words
    that only it or the question has. 2 if there is no rewrite."""
    return 2.0 if rewrite is None else len(failed) + share_changed(kind, original, rewrite)


def _not_endless(kind: str, original: str, rewrite: str) -> str:
    """The rewrite has at most _TIMES times the characters of the question, plus _MORE."""
    return f"has {len(rewrite)} characters" if len(rewrite) > _TIMES * len(original) + _MORE else ""


def _not_empty(kind: str, original: str, rewrite: str) -> str:
    return "" if words(rewrite) else "is empty"


def _asks(kind: str, original: str, rewrite: str) -> str:
    """A question is still a question. Cleaning quotes a cloze after the question: `What fits? ‘...’`."""
    still = is_question(rewrite) or "? ‘" in rewrite
    return "is no question any more" if is_question(original) and not still else ""


def _instructs(kind: str, original: str, rewrite: str) -> str:
    return "asks where it should instruct" if is_question(rewrite) else ""


def _begins(kind: str, original: str, rewrite: str) -> str:
    """An instruction begins with a verb that instructs; one to decide yes or no says `if` or `whether`."""
    if not is_question(original) or is_question(rewrite):
        return ""
    begins = words(LEAD.sub("", rewrite))
    verb = next((word for word in begins if word not in _BEFORE_A_VERB), "")
    if verb not in _INSTRUCTING:
        return "does not begin with a verb that instructs"
    if YES_NO.match(LEAD.sub("", original)) and not {"if", "whether"} & set(begins):
        return "asks for something else than the question, which wants yes or no"
    return ""


def _asks_once(kind: str, original: str, rewrite: str) -> str:
    """No question word more often than in the question: `which direction in which`."""
    count = len(_QUESTION_WORD.findall(rewrite))
    return f"asks {count} things" if count > max(1, len(_QUESTION_WORD.findall(original))) else ""


def _turns(kind: str, original: str, rewrite: str) -> str:
    """A turned yes-no question may get the same answer as before; `Do not name ...` has none."""
    if is_question(original) and YES_NO.match(LEAD.sub("", original)):
        return "turns a question for yes or no, which may get the same answer"
    return "says what not to do" if _DO_NOT.match(rewrite) else ""


def _keeps(kind: str, original: str, rewrite: str) -> str:
    """The content words, what is asked for, and who does what."""
    missing = lost(kind, original, rewrite) or (lost_question_word(original, rewrite),)
    if missing[0]:
        return f"loses the word {missing[0]}"
    return "turns subject and object around" if turns_roles(original, rewrite) else ""


def _adds(kind: str, original: str, rewrite: str) -> str:
    added = new(kind, original, rewrite)
    return f"brings in the word {added[0]}" if added else ""


def _opposes(kind: str, original: str, rewrite: str) -> str:
    return not_opposed(original, rewrite)


def _bare(kind: str, original: str, rewrite: str) -> str:
    """The rewrite has no answer, options, explanation or comment."""
    match = _BESIDE.search(rewrite)
    return f"says more than it should ({match[0].strip()})" if match and match[0] not in original else ""


def _changed(kind: str, original: str, rewrite: str) -> str:
    return "says the same as the question" if words(original) == words(rewrite) else ""


def _longer(kind: str, original: str, rewrite: str) -> str:
    return "" if len(words(rewrite)) > len(words(original)) else "is no longer"


def _shorter(kind: str, original: str, rewrite: str) -> str:
    """The rewrite has fewer words, or is the question itself: a short question may stay as it is."""
    before, after = words(original), words(rewrite)
    return "" if after == before or len(after) < len(before) else "is no shorter"


def _one_sentence(kind: str, original: str, rewrite: str) -> str:
    """The rewrite is one sentence on one line. Quoted text does not count."""
    if "\n" in rewrite.strip():
        return "has several lines"
    return "has several sentences" if _END.search(_QUOTED.sub("", rewrite).strip()) else ""


def _negated(kind: str, original: str, rewrite: str) -> str:
    """LS-N adds one negation to a question without any: a second one would flip the question back."""
    if NEGATION.search(original):
        return "negates a question that holds a negation already"
    if not _NOT.search(rewrite):
        return "holds no `not`"
    return "negates twice" if len(NEGATION.findall(rewrite)) > 1 else ""


def _unnegated(kind: str, original: str, rewrite: str) -> str:
    before, after = len(NEGATION.findall(original)), len(NEGATION.findall(rewrite))
    return "" if before == after else f"{'loses' if after < before else 'brings in'} a negation"


def _lessened(kind: str, original: str, rewrite: str) -> str:
    """LS-M puts `less` or `fewer` into a comparison that the question makes."""
    if len(_LESS.findall(rewrite)) != len(_LESS.findall(original)) + 1:
        return "does not bring in one `less` or `fewer`"
    if _MORE_WORD.search(original) and len(_MORE_WORD.findall(rewrite)) >= len(_MORE_WORD.findall(original)):
        return "keeps its `more`"
    return ""


def _related(kind: str, original: str, rewrite: str) -> str:
    """At least a third of the question's content words are still there; an answer would have fewer."""
    asked = _pieces(original)
    kept = len(asked & _pieces(rewrite))
    return "" if kept >= _LEAST_KEPT * len(asked) else "keeps too few of the question's words"


def _pieces(text: str) -> set[str]:
    """The beginnings of long words; of a script without spaces between words, its characters."""
    spaceless = set(_SPACELESS.findall(text))
    long = (word for word in words(_SPACELESS.sub(" ", text)) if len(word) >= _STEM)
    return spaceless | {word[:_STEM] for word in long if word not in FUNCTION_WORDS}


def _script(kind: str, original: str, rewrite: str) -> str:
    """The rewrite has no letters of a script that the question lacks: its language seems to be the same."""
    before, after = (
        {unicodedata.name(char, "unknown").split(" ")[0] for char in text if char.isalpha()}
        for text in (original, rewrite)
    )
    added = sorted(after - before)
    return f"is written in another script ({added[0].title()})" if added else ""


def _printable(kind: str, original: str, rewrite: str) -> str:
    """No invisible characters are added: control codes, direction marks, signs of broken encoding."""
    added = sorted(char for char in set(rewrite) - set(original) if _hidden(char))
    return f"holds a character that no text shows (U+{ord(added[0]):04X})" if added else ""


def _hidden(char: str) -> bool:
    return char == _BROKEN or (unicodedata.category(char) in _HIDDEN and not char.isspace())


def _entities(kind: str, original: str, rewrite: str) -> str:
    """Numbers in digits, names, image marks and blanks stay, and no others are added."""
    for what, find in (("mark", IMAGE_MARK.findall), ("number", _NUMBER.findall), ("blank", _BLANK.findall)):
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


_KEPT = tuple(kind for kind in KINDS if kind not in ("clean", "ls_a"))
CHECKS: Mapping[str, tuple[Sequence[str], Callable[[str, str, str], str]]] = {
    "adds": (tuple(kind for kind in KINDS if kind != "ls_a"), _adds),
    "asks": (tuple(kind for kind in KINDS if kind != "lr_i"), _asks),
    "asks_once": (tuple(kind for kind in KINDS if kind != "lr_v"), _asks_once),
    "bare": (KINDS, _bare),
    "begins": (("lr_i",), _begins),
    "changed": (("lr_v", *NEGATIONS), _changed),
    "entities": (KINDS, _entities),
    "instructs": (("lr_i",), _instructs),
    "keeps": (_KEPT, _keeps),
    "lessened": (("ls_m",), _lessened),
    "longer": (("lr_v",), _longer),
    "negated": (("ls_n",), _negated),
    "not_empty": (KINDS, _not_empty),
    "not_endless": (KINDS, _not_endless),
    "one_sentence": (KINDS, _one_sentence),
    "opposes": (("ls_a",), _opposes),
    "printable": (KINDS, _printable),
    "related": (KINDS, _related),
    "script": (KINDS, _script),
    "shorter": (("lr_c",), _shorter),
    "turns": (NEGATIONS, _turns),
    "unnegated": (("clean", "lr_i", "lr_c", "lr_v", "ls_m"), _unnegated),
}
OF_ENGLISH = ("adds", "asks_once", "begins", "keeps", "opposes", "turns")
"""Checks that a question in another language is not held to."""
