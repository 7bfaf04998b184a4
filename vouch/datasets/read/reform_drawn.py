"""Sets of ReForm-Eval whose wrong options are drawn from a pool: seven of TDIUC, and COCO counting.

The authors draw them anew, without a seed, whenever a question is asked; here an item has its own for good.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from vouch.datasets.raw import Unusable
from vouch.datasets.read import records
from vouch.datasets.read.files import File
from vouch.datasets.read.reform import Set
from vouch.datasets.read.row import Row
from vouch.pipeline.errors import UserError

_YES_NO = ("yes", "no")
_DISTRACTORS = 3


def options_of(answer: str, pool: Sequence[str], seed: str) -> list[str]:
    """Three wrong options and the answer, which stands last; yes and no where it is one of them.

    Raises Unusable where the pool is too small.
    """
    if answer in _YES_NO:
        return list(_YES_NO)
    wrong = [text for text in pool if text != answer]
    if len(wrong) < _DISTRACTORS:
        raise Unusable(f"its pool has {len(wrong)} other answers, fewer than the {_DISTRACTORS} to draw")
    return [*random.Random(seed).sample(wrong, _DISTRACTORS), answer]


def pool_file(wanted: Set) -> str:
    """Name of the file that holds a set's answers."""
    if wanted.shape[0] == "counting":
        return "objectCounting_answer_list/answer_list.json"
    return f"choice_list/{wanted.shape[1]}.json"


def read_pool(path: Path) -> list[str]:
    """All different answers of a set, in the order of their file: texts, or objects with `choice`."""
    listed = list(records.rows(path)) or records.header(path).get("choice")
    found = listed if isinstance(listed, list) else ()
    values = [one.get("choice") if isinstance(one, dict) else one for one in found]
    if not values or any(isinstance(value, bool) or not isinstance(value, str | int) for value in values):
        raise UserError(f"{path}: holds no list of answers; fetch it again")
    return list(dict.fromkeys(map(str, values)))


def tdiuc(questions: File, answers: Path, wanted: Set, tenth: bool) -> Iterator[Row]:
    """Rows of one type of question with their answers, by id.

    tenth: of a file with the full set take every 40th or 100th only, as the authors do.
    """
    _, kind, stride = wanted.shape
    by_id = _answers(answers, kind)
    ids = sorted(by_id)
    if tenth and len(ids) in wanted.full:
        ids = ids[:: int(stride)]
    kept = set(ids)
    path = questions.checked()
    found = {
        value["question_id"]: value
        for value in records.rows(path)
        if isinstance(value, dict)
        and isinstance(value.get("question_id"), int)
        and value["question_id"] in kept
    }
    for number, key in enumerate(ids):
        values = {**found.get(key, {"question_id": key}), "answer": by_id[key]}
        yield Row(values, f"{path} question {key}", number, questions)


def _answers(path: Path, kind: str) -> dict[int, str]:
    """The first answer to each question of a kind."""
    answers = {}
    for number, value in enumerate(records.rows(path)):
        if isinstance(value, dict) and value.get("question_type") == kind:
            try:
                answers[int(value["question_id"])] = str(value["answers"][0]["answer"])
            except (KeyError, IndexError, TypeError, ValueError):
                raise UserError(
                    f"{path} row {number}: has no question_id or no answers; fetch it again"
                ) from None
    return answers
