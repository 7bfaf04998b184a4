"""Sends packs with rendered images to an engine, and finds the key of each answer.

`Executor` is lazy at both ends: it renders as many images ahead as the engine will soon show, and yields
answers as they come.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from vouch.images import opening
from vouch.images.opening import LruCache, prefetch
from vouch.models.engine import Answered, Decoding, Engine, Pack, Question, Refusal
from vouch.models.packs import KeyedPack, Member
from vouch.tables.asked import LETTERS, LIKELIHOOD

if TYPE_CHECKING:
    from PIL.Image import Image

AHEAD = 16  # packs whose images are rendered in advance
HELD = 8  # images kept for the packs that follow, which often show the same
_NO_MEMORY = Refusal("no memory left to decode its images", transient=True)
_NOTHING_CAME = Refusal("the engine gave no answer", transient=True)


@dataclass(frozen=True)
class Slot:
    """Where an answer is kept. pixels: digest of the images shown."""

    output: str
    key: bytes
    pixels: str


_Slots = dict[Decoding | None, Slot]  # of one question, by decoding


@dataclass(frozen=True)
class _Work:
    """A pack with unknown answers, the keys of these, and the bytes of its images by digest."""

    pack: KeyedPack
    unknown: set[bytes]
    images: dict[str, bytes]


@dataclass
class _Rendered:
    """A pack ready for an engine, the slots of each question, and answers for images that cannot be shown."""

    pack: Pack
    slots: dict[str, _Slots]
    refused: list[tuple[Answered, list[Slot]]]


class Executor:
    """Requests the answers that are not known yet from an engine.

    unknown: whether the answer to a key of a request type is wanted. read: encoded bytes of an image's
    digest. decoded_bytes: the memory that its pixels will take.
    """

    def __init__(
        self,
        unknown: Callable[[str, bytes], bool],
        read: Callable[[str], bytes],
        workers: int,
        decoded_bytes: Callable[[str], int] = lambda _: 0,
    ) -> None:
        self._is_unknown, self._read, self._workers = unknown, read, workers
        self._decoded_bytes = decoded_bytes
        self._waiting: dict[str, _Slots] = {}
        self._asked: set[bytes] = set()
        self._refused: list[tuple[Answered, list[Slot]]] = []  # of images that cannot be shown
        self._rendered: LruCache[Image] = LruCache(HELD, opening.weight)
        self._digests: LruCache[str] = LruCache(HELD)

    def ask(self, engine: Engine, wanted: Iterable[KeyedPack]) -> Iterator[tuple[Answered, list[Slot]]]:
        """Every answer with its slots: several for a text that is refused as a whole.

        A pack with any unknown answer is passed on whole; answers that are already known are dropped.
        Duplicate contents are asked once.
        """
        for answered in engine.answer(self._packs(wanted)):
            yield from self._refused
            self._refused.clear()
            if slots := self._slots(answered):
                yield answered, slots
        yield from self._refused
        for name, slots_of in self._waiting.items():
            yield Answered(name, _NOTHING_CAME), list(slots_of.values())

    def _packs(self, wanted: Iterable[KeyedPack]) -> Iterator[Pack]:
        for ready in prefetch(self._render, self._unknown(wanted), self._workers, AHEAD, weigh=self._weigh):
            self._refused += ready.refused
            self._waiting |= ready.slots
            if ready.pack.questions:
                yield ready.pack

    def _weigh(self, work: _Work) -> int:
        return sum(len(data) + self._decoded_bytes(digest) for digest, data in work.images.items())

    def _unknown(self, wanted: Iterable[KeyedPack]) -> Iterator[_Work]:
        for pack in wanted:
            keys = {key for member in pack.members for key in member.keys} - self._asked
            unknown = {key for key in keys if self._is_unknown(pack.output, key)}
            if unknown:
                self._asked |= unknown
                recipes = [recipe for member in pack.members for recipe in member.prompt["images"] or ()]
                digests = {digest for recipe in recipes for digest in recipe["images"]}
                yield _Work(pack, unknown, {digest: self._read(digest) for digest in sorted(digests)})

    def _render(self, work: _Work) -> _Rendered:
        """Renders images; runs in a worker thread."""
        output, questions = work.pack.output, list[Question]()
        ready = _Rendered(Pack(output, questions), {}, [])
        for member in work.pack.members:
            keys = {
                decoding: key
                for decoding, key in zip(member.decodings or (None,), member.keys, strict=True)
                if key in work.unknown
            }
            try:
                shown, pixels = self._render_images(member.prompt["images"] or (), work.images)
            except (opening.Undecodable, MemoryError) as error:
                refusal = _NO_MEMORY if isinstance(error, MemoryError) else Refusal(str(error))
                slots = [Slot(output, key, "") for key in keys.values()]
                ready.refused.append((Answered(member.prompt["id"], refusal), slots))
                continue
            decodings = [decoding for decoding in keys if decoding is not None]
            question = _question(output, member, shown, decodings, known=not keys)
            if keys:
                ready.slots[question.id] = {one: Slot(output, key, pixels) for one, key in keys.items()}
            questions.append(question)
        return ready

    def _render_images(
        self, recipes: Sequence[Any], images: Mapping[str, bytes]
    ) -> tuple[list["Image"], str]:
        """Images and the digest of their pixels, each made once for the packs that show it."""
        names = tuple(map(str, recipes))

        def rendered(index: int) -> "Image":
            return opening.render(recipes[index], images.__getitem__)

        shown = [self._rendered.get(name, partial(rendered, index)) for index, name in enumerate(names)]
        return shown, self._digests.get(names, lambda: opening.pixel_digest(shown))

    def _slots(self, answered: Answered) -> list[Slot]:
        slots = self._waiting.get(answered.question, {})
        whole = isinstance(answered.answer, Refusal) and answered.decoding is None
        decodings = list(slots) if whole else [answered.decoding]
        taken = [slots.pop(decoding) for decoding in decodings if decoding in slots]
        if not slots:
            self._waiting.pop(answered.question, None)
        return taken


def _question(
    output: str, member: Member, shown: Sequence["Image"], decodings: Sequence[Decoding], known: bool
) -> Question:
    prompt = member.prompt
    return Question(
        id=f"{output} of {prompt['id']}",
        system=prompt["system"],
        text=prompt["text"],
        turns=tuple((turn["question"], turn["answer"]) for turn in prompt["turns"] or ()),
        response=prompt["response"],
        labels=tuple(prompt["labels"]) if output == LETTERS else (),
        options=tuple(prompt["options"]) if output == LIKELIHOOD else (),
        images=tuple(shown),
        max_tokens=prompt["max_tokens"],
        decodings=tuple(decodings),
        known=known,
    )
