"""Separates the thought that a model writes before its answer from the answer.

For a family of models with other delimiters, add a line to TAGS or PAIRS.
"""

import re
from typing import NamedTuple

TAGS = (
    "think", "thinking", "thought", "thoughts", "thought_process", "reasoning", "reason", "analysis",
    "scratchpad", "reflection", "rationale", "cot", "inner_monologue", "caption",
)  # fmt: skip
"""Names of tags around a thought, in any case: `<think>`, `<seed:think>`, `◁think▷`, `<|end_of_thought|>`."""
BRACKETED = ("think", "thinking", "thought", "reasoning")
"""Of these, the tags that are also written in square brackets: `[THINK]`."""
PAIRS = (
    (  # gpt-oss
        r"<\|channel\|>(?:analysis|commentary)(?:<\|message\|>)?",
        r"(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>final(?:<\|message\|>)?",
    ),
    (r"<\|channel>thought", r"<channel\|>"),  # Gemma 4
    (r"<(?:unused|ctrl)94>(?:thought)?", r"<(?:unused|ctrl)95>"),  # MedGemma, Gemini
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),  # Apertus
    (r"<\|im_start\|>think", r"<\|im_start\|>answer"),  # s1
    (r"<details type=\W{0,6}reasoning\b[^<>\n]{0,200}>", r"</details>"),  # Open WebUI
    (r"&lt;think(?:ing)?&gt;", r"&lt;/think(?:ing)?&gt;"),  # escaped for HTML
)
"""Regular expressions for the mark that opens a thought and for the one that ends it."""
ENDS_OTHERS = ("</details>",)
"""Ends from these pairs that count only if a thought was opened."""
WORDED = (
    (r"\A\s*analysis(?=[a-z\"'(])", r"assistantfinal"),  # gpt-oss without its control tokens
    (r"\A\s*thought\n", r"<channel\|>"),  # Gemma's without theirs
    (r"\A\W*here(?: is|'s) my thought process:", r"here(?: is|'s) my response:"),  # Granite 3.2
    (r"\A\s*thinking\.\.\.[ \t]*\n", r"\.\.\.done thinking\."),  # Ollama's terminal
)
"""The same for marks without brackets; each counts only at the beginning of a text."""
ANSWERS = ("answer", "final_answer", "final", "conclusion", "response", "solution", "output")
"""Names of tags around the answer."""

_EDGE = r"(?:\s[^<>\n=]{1,20}=[^<>\n]{1,40})?\s?"
_TOKENS = re.compile(r"(?:\s|<[^<>\n]{1,40}>){0,99}")


def _tags(names: tuple[str, ...], bracketed: tuple[str, ...]) -> tuple[str, str]:
    """Regular expressions for the opening and for the closing tags with these names."""
    name, few = (f"(?:{'|'.join(sorted(each, key=len, reverse=True))})" for each in (names, bracketed))
    full = rf"(?:[a-z]{{1,16}}[:_])?{name}"
    opens = rf"<\s?{full}{_EDGE}>|◁{name}▷|<\|(?:begin_of_|start_)?{name}(?:_start)?\|>|\[{few}\]"
    closes = rf"<\s?/\s?{full}\s?>|◁/{name}▷|<\|(?:/|end_of_|end_){name}\|>|<\|{name}_end\|>|\[/{few}\]"
    return opens, closes


_THOUGHT, _ANSWER = _tags(TAGS, BRACKETED), _tags(ANSWERS, ("answer", "response"))


def _marks(pairs: tuple[tuple[str, str], ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for marks that open a thought, and for all marks, with groups that name their kinds."""
    opens = "|".join((_THOUGHT[0], *(begin for begin, _ in pairs)))
    closes = "|".join((_THOUGHT[1], *(end for _, end in pairs)))
    rule = rf"(?P<opens>{opens})|(?P<closes>{closes})|(?P<begins>{_ANSWER[0]})|(?P<ends>{_ANSWER[1]})"
    # If every mark begins with a bracket, they are found fast.
    fast = "" if pairs is not PAIRS else r"(?=[<\[◁&])"
    return re.compile(opens, re.IGNORECASE), re.compile(rf"{fast}(?:{rule})", re.IGNORECASE)


_OPENS, _MARK = _marks(PAIRS)
_ANY = _marks((*PAIRS, *WORDED))[1]
_WORDED = re.compile("|".join(begin for begin, _ in WORDED), re.IGNORECASE)
_QUOTES = "`\"'“‘"
_BEGINNINGS = "aAhHtT*#\n "


class Parts(NamedTuple):
    """The parts of a text. thought: None if it has none. answer: the rest; empty if the thought has no end
    and nothing precedes it."""

    thought: str | None
    answer: str


def apart(text: str) -> Parts:
    """The thought and the answer of a text.

    The answer is the text after the last thought, or before it if nothing follows; of this, only the part
    between answer tags, if there are any. In a thought without an end, an answer counts only between tags at
    the end of the text.
    """
    worded = text[:1] in _BEGINNINGS and _WORDED.match(text) is not None
    if not worded and not any(mark in text for mark in ("<", "[", "◁", "&lt;")):
        return Parts(None, text)
    replies, thoughts, at, thinking, tags = [""], list[str](), 0, False, list[tuple[str, int, int]]()
    for mark in (_ANY if worded else _MARK).finditer(text):
        start, end, kind = mark.start(), mark.end(), str(mark.lastgroup)
        if start and text[start - 1] in _QUOTES and text[end : end + 1] in _QUOTES:
            continue  # only mentioned
        if kind in ("begins", "ends"):
            tags.append((kind, start, end))
        elif kind == "closes" and (thinking or mark.group() not in ENDS_OTHERS):
            thoughts.append(text[at:start])
            replies = replies if thinking else [""]  # the mark that opened it is in the prompt
            at, thinking, tags = end, False, []
        elif kind == "opens" and not thinking:
            replies.append(_within(text, at, start, tags))
            at, thinking, tags = end, True, []
    rest = _within(text, at, len(text), tags, to_the_end=thinking)
    if thinking:
        thoughts.append(text[at:])
    if not thoughts:
        return Parts(None, rest)
    spoken = [one for one in (*replies, rest) if one.strip()]
    return Parts("\n".join(map(str.strip, thoughts)), spoken[-1] if spoken else "")


def _within(text: str, at: int, end: int, tags: list[tuple[str, int, int]], to_the_end: bool = False) -> str:
    """The text between the last answer tags in a part of a text; if there is none, all of the part.

    to_the_end: tags count only if nothing follows them; without such tags the result is empty.
    """
    for number in range(len(tags) - 1, -1, -1):
        kind, _, begin = tags[number]
        if kind == "begins":
            closed = number + 1 < len(tags)
            close, after = tags[number + 1][1:] if closed else (end, end)
            if text[begin:close].strip() and not (to_the_end and not _TOKENS.fullmatch(text, after, end)):
                return text[begin:close]
            if to_the_end:
                break
    return "" if to_the_end else text[at:end]


def without_mark(thought: str) -> str:
    """A thought without the mark that opens it."""
    thought = thought.strip()
    mark = _OPENS.match(thought)
    return thought[mark.end() :].strip() if mark else thought
