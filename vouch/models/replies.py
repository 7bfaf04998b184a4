"""What a model answered, and the prompts of conversations that repeat it in place of `{answer k}`.

A prompt repeats an answer word by word or, if it has `earlier_options`, as the option that the model chose.
The option is read by the rule of ReForm-Eval (Li et al. 2023): the first label in brackets, else the option
whose text is the whole answer; an answer that names no option is repeated word by word.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from vouch.tables.asked import LETTERS, LIKELIHOOD, PLACEHOLDER, TEXT

Prompt = dict[str, Any]  # columns of the prompts table, and `row`, its index there
REPEATED = (TEXT, LIKELIHOOD, LETTERS)
"""Outputs in the order in which they are preferred: of a prompt asked for several, the first is repeated."""
_LABEL = r"([1-9A-Za-z])"
_BRACKETED = re.compile(rf"\({_LABEL}\)")
_BARE = re.compile(rf"\s*{_LABEL}(?:[.):,]|\s*$)")


class OwnReply(NamedTuple):
    """An answer. option: the index of the chosen option among the item's own, None if it chose none."""

    text: str
    option: int | None = None


Replies = Mapping[str, OwnReply | None]  # id of a prompt -> the reply; None if it has no answer


def repeated_output(prompt: Prompt) -> str | None:
    """The output whose answer other prompts repeat; None if the prompt asks for none."""
    return next((output for output in REPEATED if output in (prompt["outputs"] or ())), None)


def reply(prompt: Prompt, output: str, answer: Mapping[str, Any]) -> OwnReply | None:
    """The reply in an answer: the greedy text, or the option of the highest score. None without an answer.

    answer: columns of the output's table; of likelihood `nll` is a list, one for each option as shown.
    """
    if output == TEXT:
        text = answer["text"]
        return None if text is None else OwnReply(text, _own(prompt, _named(text, prompt)))
    scores = answer["nll" if output == LIKELIHOOD else "logits"]
    if scores is None or any(score is None for score in scores):
        return None
    best = (min if output == LIKELIHOOD else max)(range(len(scores)), key=scores.__getitem__)
    return OwnReply(prompt["options"][best], _own(prompt, best))


def _named(text: str, prompt: Prompt) -> int | None:
    """The position of the option that a text names, as shown; it may lie beyond the options.

    A bare label, such as `B` or `B.`, counts if the prompt shows its labels without brackets.
    """
    labels: Sequence[str] = prompt["labels"] or ()
    match = _BRACKETED.search(text)
    if match is None and labels and f"({labels[0]})" not in prompt["text"]:
        match = _BARE.match(text)
    if match is not None:
        label = match[1]
        return int(label) - 1 if label.isdigit() else ord(label.upper()) - ord("A")
    options = prompt["options"] or ()
    return options.index(text) if text in options else None


def _own(prompt: Prompt, position: int | None) -> int | None:
    """The index among the item's own options of one as shown, of equal texts the first; None for others."""
    options = prompt["options"] or ()
    if position is None or position >= len(options):
        return None
    equal = (own for own, text in zip(prompt["order"], options, strict=True) if text == options[position])
    return min((own for own in equal if own >= 0), default=None)


class Pending(Exception):
    """A placeholder's answer is not known yet."""


def fill(prompt: Prompt, replies: Replies) -> tuple[Prompt, str | None]:
    """The prompt with its placeholders filled, and a problem if an answer that it repeats was refused.

    If a placeholder has several answers, the most common is used, of equally common ones the first. Braces
    inside an answer, and placeholders beyond those that `earlier` lists, are plain text. Raises Pending if
    an answer is missing.
    """
    if not prompt["earlier"]:
        return prompt, None
    chosen: list[str] = []
    shown = prompt.get("earlier_options") or [()] * len(prompt["earlier"])
    for names, options in zip(prompt["earlier"], shown, strict=True):
        given: list[str] = []
        for name in names:
            if name not in replies:
                raise Pending(name)
            one = replies[name]
            if one is None:
                return prompt, f"repeats the answer to prompt {name}, which has none"
            given.append(options[one.option] if options and one.option is not None else one.text.strip())
        chosen.append(Counter(given).most_common(1)[0][0])

    def answer(placeholder: re.Match[str]) -> str:
        number = placeholder[1]
        return chosen[int(number) - 1] if len(number) < 9 and int(number) <= len(chosen) else placeholder[0]

    turns = [
        {name: PLACEHOLDER.sub(answer, text) for name, text in turn.items()} for turn in prompt["turns"] or ()
    ]
    return {**prompt, "turns": turns, "text": PLACEHOLDER.sub(answer, prompt["text"])}, None
