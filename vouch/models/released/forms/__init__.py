"""One file per file form; none runs what it reads. Each has SUFFIXES, and

for logits             parse(data, where) -> Rows
for logs of samples    responses(sample) -> Any      from the object of a line, see samples.py beside this
                       sample(record) -> dict        object that `vouch publish export` writes for a Record
for tables of texts    samples(data, where, model, key, column) -> list[Sample]
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vouch.pipeline.errors import UserError

MAX_ROWS = 2_000_000
MAX_LETTERS = 26
MAX_ID = 1000


@dataclass(frozen=True)
class Rows:
    """ids: as texts, distinct. logits: [row, letter], A first, finite, float32 or float64 as stored."""

    ids: tuple[str, ...]
    logits: npt.NDArray[Any]


def id_text(value: Any, where: str) -> str:
    """An id as text. Raises UserError where it is neither an integer nor a text of sensible length."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise UserError(
            f"{where}: id is a {type(value).__name__}, neither an integer nor a text; correct the file"
        )
    text = str(value)
    if not 0 < len(text) <= MAX_ID:
        raise UserError(f"{where}: id has {len(text)} characters, not 1 to {MAX_ID}; correct the file")
    return text


def checked(ids: Sequence[str], logits: npt.NDArray[Any], where: str) -> Rows:
    """Rows out of columns. Raises UserError naming file, row and id of the first problem."""
    if not ids:
        raise UserError(f"{where}: holds no rows; fetch it again")
    if logits.shape[1] > MAX_LETTERS:
        raise UserError(
            f"{where}: {logits.shape[1]} logits per row, more than the {MAX_LETTERS} letters; drop the others"
        )
    first: dict[str, int] = {}
    for number, name in enumerate(ids, start=1):
        if first.setdefault(name, number) != number:
            raise UserError(f"{where} row {number}: id {name} stands already in row {first[name]}; keep one")
    bad = np.argwhere(~np.isfinite(logits))
    if len(bad):
        row, letter = bad[0]
        raise UserError(
            f"{where} row {row + 1}: id {ids[row]}: logit {letter + 1} is {logits[row, letter]}; "
            "a row needs finite numbers, remove it here and among the items"
        )
    return Rows(tuple(ids), logits)


@dataclass(frozen=True)
class Record:
    """doc: what is known of the question. context: the prompt's text.

    Either `continuations` holds what was scored and `answers` a log-likelihood in nats for each, or
    `continuations` is empty and `answers` holds the one generated text.
    """

    doc_id: int
    doc: Mapping[str, Any]
    target: str
    context: str
    continuations: tuple[str, ...]
    answers: tuple[float | str, ...]
    metrics: Mapping[str, float]

    @property
    def requests(self) -> list[tuple[Any, ...]]:
        """The arguments of each request: context and continuation, or context and how to generate."""
        if not self.continuations:
            return [(self.context, {"do_sample": False, "temperature": 0, "until": []})]
        return [(self.context, continuation) for continuation in self.continuations]

    @property
    def responses(self) -> list[Any]:
        """Each request's first response: [log-likelihood, is greedy] in texts, or the text itself.

        Greedy is unknown and reads False.
        """
        return [answer if isinstance(answer, str) else [repr(answer), "False"] for answer in self.answers]

    @property
    def hashes(self) -> dict[str, str]:
        """SHA-256 of the doc as JSON, of the context and of the target, as both harnesses write them."""
        doc = json.dumps(self.doc, indent=2, ensure_ascii=False)
        texts = {"doc_hash": doc, "prompt_hash": self.context, "target_hash": self.target}
        return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
