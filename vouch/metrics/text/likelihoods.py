"""Likelihoods of all options that a text states, in place of log-probabilities that a server does not give.

Azad et al. 2025 (third version of the preprint) ask models without log-probabilities for the likelihood of
each option, by an instruction. Texts to prompts of a template or variant called `likelihoods` are read here,
`A: 0.7` or `"A": 70%` for every option, and become letters: their logits are the logarithms of the shares.
From there on they are scored as letters are, and not as texts.
"""

import math
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from vouch.tables.thoughts import apart

LEAST = 1e-4
"""The share that stands for a stated 0, which is below any step in which models state likelihoods."""
UNSTATED = "the text does not state one likelihood for each option"
_PARTS = re.compile(r"[\n;]|,(?=\W{0,9}[A-Za-z]\W{0,3}[:=])|(?<=[\d%])\s(?=[^\w%]{0,9}[A-Za-z]\W{0,3}[:=])")
_STATED = re.compile(
    r"\W*(?P<label>[A-Za-z0-9])(?:\W*|[^\w\s]\s?.*?[\s:=(])"
    r"(?<![\w.,-])(?P<share>\d{1,3}(?:\.\d{1,9})?|\.\d{1,9}|\d(?:\.\d{1,9})?e-\d{1,2})\s?(?P<percent>%|percent)?\W*"
)


def likelihoods(text: str, labels: Sequence[str]) -> list[float] | None:
    """The share of each label, summing to 1; None unless the text states exactly one number for each.

    The numbers of a text are all shares or all per cent, which makes no difference. A thought is ignored.
    """
    stated: dict[str, float] = {}
    percent = set()
    for part in _PARTS.split(apart(text).answer):
        found = _STATED.fullmatch(part)
        if found is None or found["label"] not in labels:
            continue
        if found["label"] in stated:
            return None
        stated[found["label"]] = float(found["share"])
        percent.add(bool(found["percent"]))
    total = math.fsum(stated.values())
    if len(stated) < len(labels) or len(percent) > 1 or total <= 0 or max(stated.values()) > 100:
        return None
    return [stated[label] / total for label in labels]


def with_stated(letters: pa.Table, texts: pa.Table, asking: pa.Table) -> pa.Table:
    """Letters with a row for each greedy text to one of the prompts `asking` for likelihoods.

    A text that cannot be read becomes a row with a problem, so that its prompt counts as unanswered. Prompts
    that have letters of their own keep these.
    """
    known = set(letters["prompt"].to_pylist())
    labels = dict(zip(asking["id"].to_pylist(), asking["labels"].to_pylist(), strict=True))
    greedy = texts.filter(pc.equal(texts["temperature"], 0)).to_pylist()
    rows = [
        _row(row, labels[row["prompt"]])
        for row in greedy
        if row["prompt"] in labels and row["prompt"] not in known
    ]
    return pa.concat_tables([letters, pa.Table.from_pylist(rows, schema=letters.schema)])


def _row(row: dict[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    shares = likelihoods(row["text"], labels) if row["text"] is not None else None
    if shares is None:
        return {"prompt": row["prompt"], "problem": row["problem"] or UNSTATED}
    return {"prompt": row["prompt"], "logits": [math.log(max(share, LEAST)) for share in shares]}
