"""Dialogues of ReForm-Eval (VisDial, VQA in turns): rounds that point into lists of questions and answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vouch.datasets.raw import RawItem, Rejected, Unusable
from vouch.datasets.read.files import File
from vouch.datasets.read.reform import Set
from vouch.datasets.read.reform_rows import picture
from vouch.datasets.read.row import Row
from vouch.pipeline.errors import UserError


def dialogues(
    file: File, head: Mapping[str, Any], name: str, wanted: Set, capitalize: bool
) -> Iterator[RawItem | Rejected]:
    """Rounds of dialogues; a dialogue is one group, and each round names those before it.

    capitalize: whether texts begin with a capital letter and go on in small ones. Raises UserError.
    """
    data = head.get("data")
    lists = [data.get(key) if isinstance(data, dict) else None for key in ("dialogs", "questions", "answers")]
    found, questions, answers = (one if isinstance(one, list) else None for one in lists)
    if found is None or questions is None or answers is None:
        raise UserError(f"{file.path}: data holds no lists dialogs, questions and answers; fetch it again")
    if any(isinstance(text, bool) or not isinstance(text, str | int) for text in (*questions, *answers)):
        raise UserError(f"{file.path}: questions or answers hold more than texts; fetch it again")
    asked = [_cased(str(text), capitalize) for text in questions]
    asked = [text if text.endswith("?") else f"{text}?" for text in asked]
    said = [_cased(str(text), capitalize) for text in answers]
    for number, dialog in enumerate(found):
        values = dialog if isinstance(dialog, dict) else {}
        row = Row(values, f"{file.path} dialog {number}", number, file)
        try:
            shown = picture(row, "image" if values.get("image") else "image_id", wanted)
        except Unusable as error:
            yield Rejected(row.where, "", str(error))
        else:
            yield from _rounds(row, name, wanted, shown, asked, said)


def _cased(text: str, capitalize: bool) -> str:
    return text.capitalize() if capitalize else text


def _rounds(
    row: Row, name: str, wanted: Set, shown: bytes, questions: Sequence[str], answers: Sequence[str]
) -> Iterator[RawItem | Rejected]:
    group = f"{name}-{row.number:05d}"
    before: list[str] = []
    rounds = row.values.get("dialog")
    if not isinstance(rounds, list):
        yield Rejected(row.where, "", "dialog is not a list of rounds")
        return
    for place, turn in enumerate(rounds):
        where = f"{row.where} round {place}"
        try:
            asked = _round(turn, questions, answers)
        except Unusable as error:
            yield Rejected(where, "", str(error))
            return  # what follows would lack a round
        yield RawItem(
            id=f"{group}-{place:02d}",
            where=where,
            images=(shown,),
            category=wanted.dimension,
            source_id=f"{row.number}_{place}",
            group=group,
            turns=tuple(before),
            **asked,
        )
        before.append(f"{group}-{place:02d}")


def _round(turn: Any, questions: Sequence[str], answers: Sequence[str]) -> dict[str, Any]:
    """The question and the options of a round, which names them by their places in the lists."""
    try:
        chosen = [_place(index) for index in turn["answer_options"]]
        places = (_place(turn["question"]), *chosen)
        found = {
            "question": questions[places[0]],
            "options": [answers[index] for index in chosen],
            "answers": (chosen.index(_place(turn["answer"])),),
        }
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise Unusable(
            f"question, answer or answer_options are not places in their lists ({error!s:.60})"
        ) from None
    if min(places) < 0:
        raise Unusable("question or answer_options count from the end of their lists")
    return found


def _place(value: Any) -> int:
    """A place in a list, also one written as text. Raises ValueError where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"{value!r:.40} is no whole number")
    return int(value)
