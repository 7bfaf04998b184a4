"""The prompts that ask a judge about an answer, and how its replies are read.

There are two prompts, whose words are the YAML files of this folder: which option an answer chooses
(`choice`), and whether the answer to an open question is correct (`open_answer`).

An answer may hold anything, including instructions to the judge. So it is cut to a bounded length, its markup
is replaced by characters that no tokenizer takes for a control token, and the lines that fence it in hold
digits derived from all of it.
"""

import hashlib
import re
import string
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from vouch.metrics.text.judge import OpenAnswer
from vouch.metrics.text.numbers import number
from vouch.metrics.text.reader.options import (
    NONE,
    OPTION,
    SEVERAL,
    Choices,
    Reading,
    compared,
    known,
    opening,
    without_article,
)
from vouch.metrics.text.reader.reader import read, shortened
from vouch.metrics.text.wording import EDGES, wide
from vouch.pipeline.yaml12 import load
from vouch.tables.answered import CORRECT, INCORRECT
from vouch.tables.answered import NONE as UNREAD

CHOICE, OPEN_ANSWER = "choice", "open_answer"
LONGEST_QUESTION, LONGEST_OPTION = 2_000, 500
MOST_REFERENCES = 20


class JudgePrompt(BaseModel):
    """A YAML file of this folder. version: raised with every change of the text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: int
    text: str


@cache
def judge_prompt(kind: str) -> JudgePrompt:
    """The prompt of a kind, CHOICE or OPEN_ANSWER, before it is filled in."""
    return JudgePrompt.model_validate(load(Path(__file__).parent / f"{kind}.yaml"))


def _filled(kind: str, question: str, text: str, **fields: str) -> str:
    """The whole prompt. text: the answer to judge. fields: its other fields, inserted as they are."""
    answer = bounded(text)
    asked = one_line(question, LONGEST_QUESTION) or "(not given)"
    prompt = judge_prompt(kind).text.format(fence=_fence(answer), question=asked, answer=answer, **fields)
    return prompt.strip()


# Quoting

FIRST, LAST = 1_500, 4_500
"""Characters of a long answer that are shown: this many from its beginning and from its end."""
_MARKUP = str.maketrans("<>|", "‹›¦")
_BRACKETED = re.compile(  # tokens of Mistral, BERT and GLM; [B], [1, 2] and [YES] are words of an answer
    r"\[(/[A-Z_]+|[A-Z]+(?:_[A-Z]+)+|control_\d+|[gs]?MASK|CLS|SEP|PAD|UNK|BOS|EOS"
    r"|ARGS|AUDIO|IMG|INST|MIDDLE|PREFIX|SUFFIX|THINK|TRANSCRIBE)\]"
)


def bounded(text: str) -> str:
    """An answer without control tokens; if it is long, only its beginning and its end."""
    text = _without_markup(shortened(text))
    return text if len(text) <= FIRST + LAST else f"{text[:FIRST]}\n[...]\n{text[-LAST:]}"


def one_line(text: str, longest: int) -> str:
    return " ".join(_without_markup(text).split())[:longest]


def _without_markup(text: str) -> str:
    return _BRACKETED.sub(r"‹\1›", text.translate(_MARKUP))


def _fence(answer: str) -> str:
    """A line that the answer does not contain."""
    digest = hashlib.sha256(answer.encode("utf-8", "replace")).hexdigest()
    while digest[:12] in answer:
        digest = hashlib.sha256(digest.encode()).hexdigest()
    return f"ANSWER {digest[:12]}"


def _without_thought(reply: str | None) -> str:
    """A reply without its thought and tokens; empty if there is none, or its thought has no end."""
    return shortened(reply or "")


# Questions with options

_LABEL = re.compile(r"[\s\"'`*_(\[]{0,8}(\w{1,4})(?!\w)")
_WORD = re.compile(r"\w")
_UNDECIDED = {"several": SEVERAL, "none": NONE}


def choice_prompt(text: str, choices: Choices) -> str:
    """Asks which option an answer chooses."""
    options = zip(_labels(choices), choices.texts, strict=True)
    listed = "\n".join(f"{label}. {one_line(option, LONGEST_OPTION)}" for label, option in options)
    return _filled(CHOICE, choices.question, text, options=listed)


def choice_verdict(reply: str | None, choices: Choices) -> Reading:
    """The option that a reply names, or several, or none; any other reply counts as none.

    Beside its label a reply may repeat the option's own text, but not that of another option, and no other
    line may begin with another label, as it does if the reply only repeats the options.
    """
    lines = [line for line in _without_thought(reply).splitlines() if _WORD.search(line)] or [""]
    undecided = _UNDECIDED.get(lines[0].strip(EDGES).casefold())
    labelled = Choices(_labels(choices), choices.texts)
    chosen = _labelled_option(lines[0], labelled)
    label = _LABEL.match(lines[0])
    rest = "\n".join((lines[0][label.end() :] if label else "", *lines[1:]))
    by_text = read(rest, Choices((), choices.texts)) if chosen is not None else Reading(NONE)
    if by_text.verdict == OPTION and by_text.places != (chosen,):
        return Reading(NONE)
    if undecided or chosen is None:
        return Reading(undecided or NONE)
    if any(_labelled_option(line, labelled) not in (chosen, None) for line in lines[1:]):
        return Reading(NONE)
    return Reading(OPTION, (chosen,))


def _labelled_option(line: str, choices: Choices) -> int | None:
    """Index of the option whose label opens a line: `B`, `(b)`, `B. It barks`, `B (a dog)`."""
    options, match = known(choices), _LABEL.match(line)
    label = match[1].lower() if match else ""
    text = compared(line[match.end() :].lstrip(" -\N{EN DASH}\N{EM DASH}")) if match else ""
    value = number(text) if options.values else None
    named = (
        options.unique.get(without_article(text), options.unique.get(text))
        if value is None
        else options.valued(value)
    )
    if named is not None:  # the text after the label is that of an option: it must be the label's own
        return named if options.places.get(label) == named else None
    index = opening(line, choices)
    return index if read(line, choices).places in ((), (index,)) else None


def _labels(choices: Choices) -> tuple[str, ...]:
    """The labels that the prompt showed, if they tell the options apart; otherwise letters."""
    shown = [label.strip().casefold() for label in choices.labels]
    if len(set(filter(None, shown))) == len(choices.texts):
        return choices.labels
    return tuple(string.ascii_uppercase[: len(choices.texts)])


# Open questions

_VERDICTS = dict.fromkeys(("a", "correct", "right", "true", "yes"), CORRECT) | dict.fromkeys(
    ("b", "incorrect", "wrong", "false", "no", "not correct", "not right", "not true"), INCORRECT
)
_LEAD = re.compile(
    r"(?:(?:so|therefore|the|this|my|final|it|it's|is|that|answer|verdict|option|choice) )*", re.IGNORECASE
)
_QUESTION = re.compile(
    r"[^.!?\n]{0,400}\?|^\W{0,8}is (?:the|this|that|it)\b[^.!?:\n]{0,400}", re.IGNORECASE | re.MULTILINE
)
_NEGATION = re.compile(
    r"\b(?:not|never|cannot|nor|neither|hardly|far from|unless|otherwise|(?:only|correct|right|true) if)\b",
    re.IGNORECASE,
)


def open_prompt(answer: OpenAnswer) -> str:
    """Asks whether the answer to an open question is correct. Equal references are shown once."""
    different = dict.fromkeys(one_line(reference, LONGEST_OPTION) for reference in answer.references)
    listed = "\n".join(f"- {reference}" for reference in list(different)[:MOST_REFERENCES])
    return _filled(OPEN_ANSWER, answer.question, answer.text, references=listed)


def open_verdict(reply: str | None) -> str:
    """CORRECT, INCORRECT, or UNREAD for a reply that says neither, or both.

    A letter or word counts if it is between punctuation or line ends: `B. incorrect`, `The answer is
    A`, but not `A cat`. A question (`Is the answer correct?`) is no verdict, and a reply that negates
    anything, or makes a condition, is never CORRECT.
    """
    plain = wide(_without_thought(reply)).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    text = _QUESTION.sub("\n", plain.replace("n't", " not"))
    parts = re.split(r"[^\w' -]+|\s-\s", text.replace("_", " ").replace("*", ""))
    verdicts = {_VERDICTS.get(_LEAD.sub("", f"{part.strip(' -')} ", 1).strip().casefold()) for part in parts}
    verdicts.discard(None)
    if len(verdicts) != 1 or (CORRECT in verdicts and _NEGATION.search(text)):
        return UNREAD
    return verdicts.pop() or UNREAD
