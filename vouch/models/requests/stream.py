"""Packs with their pictures rendered, put to an engine; and which key each answer belongs to."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from vouch.images import pictures
from vouch.images.lru_cache import LruCache
from vouch.images.prefetch import prefetch
from vouch.models.requests.engine import Answered, Decoding, Engine, Pack, Question, Refusal
from vouch.models.requests.keys import Member, Wanted
from vouch.models.requests.work_cache import WorkCache
from vouch.tables.prompts import LETTERS, LIKELIHOOD

if TYPE_CHECKING:
    from PIL.Image import Image

AHEAD = 16  # packs whose pictures are rendered before they are used
HELD = 8  # pictures kept for the packs that follow, which often show the same
_NO_MEMORY = Refusal("no memory left to decode its pictures", passing=True)
_NOTHING_CAME = Refusal("the engine gave no answer", passing=True)


@dataclass(frozen=True)
class Slot:
    """Where an answer is kept. pixels: digest of what was shown."""

    output: str
    key: bytes
    pixels: str


@dataclass(frozen=True)
class _Work:
    """A pack with unknown answers, before its pictures are rendered. images: bytes of each digest."""

    pack: Wanted
    unknown: frozenset[bytes]
    images: Mapping[str, bytes]


@dataclass(frozen=True)
class _Shown:
    """A pack ready for an engine. slots: of each question, by decoding. refused: cannot be shown."""

    pack: Pack
    slots: Mapping[str, dict[Decoding | None, Slot]]
    refused: tuple[tuple[Answered, list[Slot]], ...]


class Questions:
    """What the work cache does not know, put to an engine. read: encoded bytes of a picture's digest."""

    def __init__(self, caches: Mapping[str, WorkCache], read: Callable[[str], bytes], workers: int) -> None:
        self._caches, self._read, self._workers = caches, read, workers
        self._open: dict[str, dict[Decoding | None, Slot]] = {}
        self._flying: set[bytes] = set()
        self._refused: list[tuple[Answered, list[Slot]]] = []
        self._rendered: LruCache[Image] = LruCache(HELD)
        self._digests: LruCache[str] = LruCache(HELD)

    def ask(self, engine: Engine, wanted: Iterable[Wanted]) -> Iterator[tuple[Answered, list[Slot]]]:
        """Every answer with where it is to be kept: in several places for a text refused as a whole.

        A pack with any unknown answer is asked whole; what is known already goes nowhere. Contents that
        stand several times are asked once.
        """
        for answered in engine.answer(self._packs(wanted)):
            yield from self._drained()
            slots = self._slots(answered)
            if slots:
                yield answered, slots
                self._landed(slots)
        yield from self._drained()
        for name, slots_of in self._open.items():
            yield Answered(name, _NOTHING_CAME), list(slots_of.values())

    def _drained(self) -> Iterator[tuple[Answered, list[Slot]]]:
        while self._refused:
            answered, slots = self._refused.pop()
            yield answered, slots
            self._landed(slots)

    def _landed(self, slots: Iterable[Slot]) -> None:
        """By now the work cache knows these answers."""
        self._flying.difference_update(slot.key for slot in slots)

    def _packs(self, wanted: Iterable[Wanted]) -> Iterator[Pack]:
        for shown in prefetch(self._shown, self._unknown(wanted), self._workers, AHEAD):
            self._refused += shown.refused
            self._open.update(shown.slots)
            if shown.pack.questions:
                yield shown.pack

    def _unknown(self, wanted: Iterable[Wanted]) -> Iterator[_Work]:
        for pack in wanted:
            cache = self._caches[pack.output]
            keys = {key for member in pack.members for key in member.keys}
            unknown = frozenset(key for key in keys - self._flying if key not in cache)
            if unknown:
                self._flying |= unknown
                recipes = [recipe for member in pack.members for recipe in member.prompt["pictures"] or ()]
                digests = {digest for recipe in recipes for digest in recipe["images"]}
                yield _Work(pack, unknown, {digest: self._read(digest) for digest in sorted(digests)})

    def _shown(self, work: _Work) -> _Shown:
        """Renders the pictures of a pack; runs in a worker thread."""
        output = work.pack.output
        questions: list[Question] = []
        slots: dict[str, dict[Decoding | None, Slot]] = {}
        refused: list[tuple[Answered, list[Slot]]] = []
        for member in work.pack.members:
            wanted = {
                decoding: key
                for decoding, key in zip(member.decodings or (None,), member.keys, strict=True)
                if key in work.unknown
            }
            try:
                shown, pixels = self._pictures(member.prompt["pictures"] or (), work.images)
            except (pictures.Undecodable, MemoryError) as error:
                refusal = _NO_MEMORY if isinstance(error, MemoryError) else Refusal(str(error))
                answered = Answered(member.prompt["id"], refusal)
                refused.append((answered, [Slot(output, key, "") for key in wanted.values()]))
                continue
            question = _question(output, member, shown, tuple(one for one in wanted if one is not None))
            if wanted:
                slots[question.id] = {decoding: Slot(output, key, pixels) for decoding, key in wanted.items()}
            questions.append(question)
        return _Shown(Pack(output, questions), slots, tuple(refused))

    def _pictures(self, recipes: Sequence[Any], images: Mapping[str, bytes]) -> tuple[list["Image"], str]:
        """Pictures and the digest of their pixels, each made once for the packs that show it."""
        names = tuple(map(str, recipes))

        def rendered(place: int) -> "Image":
            return pictures.render(recipes[place], images.__getitem__)

        shown = [self._rendered.get(name, partial(rendered, place)) for place, name in enumerate(names)]
        return shown, self._digests.get(names, lambda: pictures.pixel_digest(shown))

    def _slots(self, answered: Answered) -> list[Slot]:
        slots = self._open.get(answered.question, {})
        if isinstance(answered.answer, Refusal) and answered.decoding is None:
            found = list(slots.values())
            slots.clear()
        else:
            slot = slots.pop(answered.decoding, None)
            found = [slot] if slot else []
        if not slots:
            self._open.pop(answered.question, None)
        return found


def _question(output: str, member: Member, shown: list["Image"], decodings: tuple[Decoding, ...]) -> Question:
    prompt = member.prompt
    return Question(
        id=f"{output} of {prompt['id']}",
        system=prompt["system"],
        text=prompt["text"],
        turns=tuple((turn["question"], turn["answer"]) for turn in prompt["turns"] or ()),
        response=prompt["response"],
        marks=tuple(prompt["marks"]) if output == LETTERS else (),
        options=tuple(prompt["options"]) if output == LIKELIHOOD else (),
        pictures=tuple(shown),
        max_tokens=prompt["max_tokens"],
        decodings=decodings,
    )
