"""realworldqa: RealWorldQA (xAI 2024), photographs taken from vehicles and elsewhere.

    origin: {hub: xai-org/RealworldQA, revision: "...", split: test}

A question's text includes its options, one per line (`A. ...`), and a last line that says how to answer. Both
are removed: a question with options becomes a choice, any other an open question.
"""

import re

from vouch.datasets.raw import Expected, LoaderSettings, RawItem, both_kinds
from vouch.datasets.read.files import Row, SourceFiles
from vouch.datasets.read.forms import count_each, row_reader

_OPTION = re.compile(r"\(?([A-Z])[.):]\s*(.*\S)\s*")
_INSTRUCTION = "please answer"

Settings = LoaderSettings
kinds = both_kinds
count = count_each


def expected(source: SourceFiles, settings: Settings) -> Expected | None:
    return {"items": {765}}


def _item(row: Row, settings: Settings) -> RawItem:
    question, options = split_question(row.text("question"))
    answer = row.text("answer").strip()
    return RawItem(
        id=str(row.number),
        where=row.where,
        question=question,
        options=options,
        answers=[row.letter("answer", len(options))] if options else [],
        references=[] if options else [answer],
        images=row.images("image"),
        kind="choice" if options else "text",
    )


read = row_reader(("image", "question", "answer"), _item)


def split_question(text: str) -> tuple[str, list[str]]:
    """The question without its options, and these: at least two lines that begin with A, B, ... in turn."""
    lines = [line.strip() for line in text.strip().splitlines()]
    while lines and (not lines[-1] or lines[-1].lower().startswith(_INSTRUCTION)):
        lines.pop()
    options: list[str] = []
    first = len(lines)
    for number, line in enumerate(lines):
        match = _OPTION.fullmatch(line)
        if match and match[1] == chr(ord("A") + len(options)):
            options.append(match[2])
            first = min(first, number)
    if len(options) < 2:
        return "\n".join(lines).strip(), []
    return "\n".join(lines[:first]).strip(), options
