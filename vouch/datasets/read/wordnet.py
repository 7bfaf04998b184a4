"""Nouns of WordNet (Fellbaum 1998), from its files index.noun and data.noun, and the distance of two."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vouch.pipeline.errors import UserError

_UP = ("@", "@i")  # pointers to what a noun is a kind or an instance of
_HEX = 16


@dataclass(frozen=True)
class Noun:
    """A noun in WordNet's tree. own: its synsets. above: synset -> fewest steps up to it, 0 for its own."""

    own: frozenset[str]
    above: Mapping[str, int]

    def __bool__(self) -> bool:
        return bool(self.own)

    def away(self, other: "Noun") -> int:
        """Steps of the shortest path; 0 where there is none, or one is a synonym or a kind of the other."""
        if self.own & other.above.keys() or other.own & self.above.keys():
            return 0
        shared = self.above.keys() & other.above.keys()
        return min((self.above[synset] + other.above[synset] for synset in shared), default=0)


class Nouns:
    """All nouns of the two files in a folder. Raises UserError where they are not WordNet's."""

    def __init__(self, folder: Path) -> None:
        try:
            self._senses = dict(map(_sense, _lines(folder / "index.noun")))
            self._up = dict(map(_synset, _lines(folder / "data.noun")))
        except (ValueError, IndexError):
            raise UserError(f"{folder}: not WordNet's index.noun and data.noun; get them again") from None

    def noun(self, text: str) -> Noun:
        """A noun in its first, most frequent sense, or an empty one for what WordNet lacks.

        Of `tench, Tinca tinca` the first name counts.
        """
        name = "_".join(text.split(",")[0].lower().split())
        own = frozenset(self._senses.get(name, [])[:1])
        above = dict.fromkeys(own, 0)
        steps, level = 0, sorted(own)
        while level:
            steps += 1
            level = sorted({up for one in level for up in self._up.get(one, ()) if up not in above})
            above |= dict.fromkeys(level, steps)
        return Noun(own, above)


def _lines(path: Path) -> list[list[str]]:
    """Fields of each line but the licence, whose lines begin with blanks."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"{path}: cannot be read ({error.strerror}); put WordNet's index.noun and data.noun there"
        ) from None
    return [line.split() for line in text.splitlines() if line and not line.startswith(" ")]


def _sense(fields: list[str]) -> tuple[str, list[str]]:
    """lemma pos synsets pointers [kinds of pointers] senses tagged [offsets]"""
    return fields[0], fields[-int(fields[2]) :]


def _synset(fields: list[str]) -> tuple[str, list[str]]:
    """offset file type words (hexadecimal) [word number] pointers [kind offset pos places]"""
    start = 4 + 2 * int(fields[3], _HEX)
    pointers = fields[start + 1 : start + 1 + 4 * int(fields[start])]
    return fields[0], [pointers[n + 1] for n in range(0, len(pointers), 4) if pointers[n] in _UP]
