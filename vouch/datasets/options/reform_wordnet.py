"""The three answers of the set that are nearest to the right one in WordNet (Li et al. 2023, A.1).

So ReForm-Eval made ImageNet-1K and CIFAR10. Its authors do not say which similarity they took; here it is the
shortest path over hypernyms of the first, most frequent senses. WordNet's files index.noun and data.noun
(Fellbaum 1998) lie in the folder `wordnet` of the source. A synonym of the answer, and what is a kind of it
or what it is a kind of, would be right as well, and is never taken.
"""

from collections.abc import Sequence
from pathlib import Path

from vouch.datasets.options.building import WRONG, Answers, Asked, is_yes_no
from vouch.datasets.options.choice import key
from vouch.datasets.read.wordnet import Nouns
from vouch.pipeline.errors import UserError

_SHOWN = 5


def built(rows: Sequence[Asked], _seed: int, folder: Path) -> list[Sequence[str]]:
    """Wrong options of each question. Raises UserError for answers that are no nouns of WordNet."""
    nouns = Nouns(folder / "wordnet")
    answers = Answers(asked.answer for asked in rows if not is_yes_no(asked))
    places = {text: nouns.place(text) for text in answers.texts}
    unknown = [text for text, place in places.items() if not place]
    if unknown:
        raise UserError(
            f"{folder}: {len(unknown)} answers are no nouns of WordNet ({', '.join(unknown[:_SHOWN])}); "
            "write them as WordNet does, or take the scheme reform_classes"
        )
    nearest: dict[str, Sequence[str]] = {}
    for text, place in places.items():
        away = ((place.away(other), other_text) for other_text, other in places.items())
        nearest[key(text)] = [other for steps, other in sorted(pair for pair in away if pair[0])][:WRONG]
    return [nearest.get(key(asked.answer), ()) for asked in rows]
