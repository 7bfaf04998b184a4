"""Sends packs with rendered pictures to an engine, and finds the key of each answer."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from vouch.images import pictures
from vouch.images.lru_cache import LruCache
from vouch.images.prefetch import prefetch
from vouch.models.requests.engine import Answered, Decoding, Engine, Pack, Question, Refusal
from vouch.models.requests.keys import KeyedPack, Member
from vouch.tables.prompts import LETTERS, LIKELIHOOD

if TYPE_CHECKING:
    from PIL.Image import Image

AHEAD = 16  # packs whose pictures are rendered before they are used
HELD = 8  # pictures kept for the packs that follow, which often show the same
_NO_MEMORY = Refusal("no memory left to decode its pictures", transient=True)
_NOTHING_CAME = Refusal("the engine gave no answer", transient=True)


@dataclass(frozen=True)
class Slot:
    """Where an answer is kept. pixels: digest of what was shown."""

    output: str
    key: bytes
    pixels: str


_Slots = dict[Decoding | None, Slot]  # of one question, by decoding


class Questions:
    """Requests what is not known yet from an engine.

    caches: keys of known answers, by output. read: encoded bytes of a picture's digest. decoded_bytes: what
    its pixels will take in memory.
    """

    def __init__(
        self,
        caches: Mapping[str, Container[bytes]],
        read: Callable[[str], bytes],
        workers: int,
        decoded_bytes: Callable[[str], int] = lambda _: 0,
    ) -> None:
        self._caches, self._read, self._workers = caches, read, workers
        self._decoded_bytes = decoded_bytes
        self._waiting: dict[str, _Slots] = {}
        self._asked: set[bytes] = set()
        self._refused: list[tuple[Answered, list[Slot]]] = []  # of pictures that cannot be shown
        self._rendered: LruCache[Image] = LruCache(HELD, pictures.weight)
        self._digests: LruCache[str] = LruCache(HELD)

    def ask(self, engine: Engine, wanted: Iterable[KeyedPack]) -> Iterator[tuple[Answered, list[Slot]]]:
        """Every answer with where it is to be kept: in several places for a text refused as a whole.

        A pack with any unknown answer is passed on whole; answers that are known already go nowhere. Contents
        that stand several times are asked once.
        """
        for answered in engine.answer(self._packs(wanted)):
            yield from self._refused
            self._refused.clear()
            slots = self._slots(answered)
            if slots:
                yield answered, slots
        yield from self._refused
        for name, slots_of in self._waiting.items():
            yield Answered(name, _NOTHING_CAME), list(slots_of.values())

    def _packs(self, wanted: Iterable[KeyedPack]) -> Iterator[Pack]:
        unknown = self._unknown(wanted)
        for pack, slots, refused in prefetch(self._render, unknown, self._workers, AHEAD, weigh=self._weigh):
            self._refused += refused
            self._waiting |= slots
            if pack.questions:
                yield pack

    def _weigh(self, work: tuple[KeyedPack, set[bytes], dict[str, bytes]]) -> int:
        return sum(len(data) + self._decoded_bytes(digest) for digest, data in work[2].items())

    def _unknown(
        self, wanted: Iterable[KeyedPack]
    ) -> Iterator[tuple[KeyedPack, set[bytes], dict[str, bytes]]]:
        """Packs with unknown answers, the keys of these, and the bytes of the pictures by digest."""
        for pack in wanted:
            cache = self._caches[pack.output]
            keys = {key for member in pack.members for key in member.keys}
            unknown = {key for key in keys - self._asked if key not in cache}
            if unknown:
                self._asked |= unknown
                recipes = [recipe for member in pack.members for recipe in member.prompt["pictures"] or ()]
                digests = {digest for recipe in recipes for digest in recipe["images"]}
                yield pack, unknown, {digest: self._read(digest) for digest in sorted(digests)}

    def _render(
        self, work: tuple[KeyedPack, set[bytes], dict[str, bytes]]
    ) -> tuple[Pack, dict[str, _Slots], list[tuple[Answered, list[Slot]]]]:
        """The pack ready for an engine, the slots of each question, and what cannot be shown.

        Renders pictures; runs in a worker thread.
        """
        pack, unknown, images = work
        questions: list[Question] = []
        slots: dict[str, _Slots] = {}
        refused: list[tuple[Answered, list[Slot]]] = []
        for member in pack.members:
            keys = {
                decoding: key
                for decoding, key in zip(member.decodings or (None,), member.keys, strict=True)
                if key in unknown
            }
            try:
                shown, pixels = self._pictures(member.prompt["pictures"] or (), images)
            except (pictures.Undecodable, MemoryError) as error:
                refusal = _NO_MEMORY if isinstance(error, MemoryError) else Refusal(str(error))
                answered = Answered(member.prompt["id"], refusal)
                refused.append((answered, [Slot(pack.output, key, "") for key in keys.values()]))
                continue
            decodings = tuple(one for one in keys if one is not None)
            question = _question(pack.output, member, shown, decodings, known=not keys)
            if keys:
                slots[question.id] = {
                    decoding: Slot(pack.output, key, pixels) for decoding, key in keys.items()
                }
            questions.append(question)
        return Pack(pack.output, questions), slots, refused

    def _pictures(self, recipes: Sequence[Any], images: Mapping[str, bytes]) -> tuple[list["Image"], str]:
        """Pictures and the digest of their pixels, each made once for the packs that show it."""
        names = tuple(map(str, recipes))

        def rendered(place: int) -> "Image":
            return pictures.render(recipes[place], images.__getitem__)

        shown = [self._rendered.get(name, partial(rendered, place)) for place, name in enumerate(names)]
        return shown, self._digests.get(names, lambda: pictures.pixel_digest(shown))

    def _slots(self, answered: Answered) -> list[Slot]:
        slots = self._waiting.get(answered.question, {})
        if isinstance(answered.answer, Refusal) and answered.decoding is None:
            found = list(slots.values())
            slots.clear()
        else:
            slot = slots.pop(answered.decoding, None)
            found = [slot] if slot else []
        if not slots:
            self._waiting.pop(answered.question, None)
        return found


def _question(
    output: str, member: Member, shown: list["Image"], decodings: tuple[Decoding, ...], known: bool
) -> Question:
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
        known=known,
    )
