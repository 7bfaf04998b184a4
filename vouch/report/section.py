"""What sections of a page are made of; templates/section.html.j2 shows them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from vouch.report.table import Grid


@dataclass(frozen=True)
class Text:
    """A paragraph. tone: `warning`, `good summary` or `bad summary`. bold: words that go before the text."""

    text: str
    tone: str = ""
    bold: str = ""
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Sentences:
    """Sentences one below the other."""

    sentences: Sequence[str]
    kind: ClassVar[str] = "sentences"


@dataclass(frozen=True)
class Figures:
    """Figures by the names of their files, side by side where there is room; a missing one is left out."""

    files: Sequence[str]
    beside: bool = False
    kind: ClassVar[str] = "figures"


@dataclass(frozen=True)
class Folded:
    """Blocks that a reader opens by clicking on the summary."""

    summary: str
    blocks: Sequence["Block"]
    kind: ClassVar[str] = "folded"


Block = Text | Sentences | Figures | Folded | Grid


def said(sentences: Iterable[str]) -> list[Block]:
    """A list of the sentences that are not empty; nothing without any."""
    found = tuple(filter(None, sentences))
    return [Sentences(found)] if found else []


@dataclass(frozen=True)
class Part:
    """Blocks under a heading of their own. folds: whether they can be folded away; opens: and are shown."""

    title: str
    blocks: Sequence[Block]
    folds: bool = False
    opens: bool = False

    @property
    def grids(self) -> list[Grid]:
        """All its tables, those that are folded away included."""
        return [block for block in _flat(self.blocks) if isinstance(block, Grid)]

    @property
    def sentences(self) -> tuple[str, ...]:
        """All its sentences and paragraphs."""
        return tuple(
            line
            for block in _flat(self.blocks)
            for line in (
                block.sentences
                if isinstance(block, Sentences)
                else [block.text]
                if isinstance(block, Text)
                else []
            )
        )


def _flat(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Folded):
            yield from _flat(block.blocks)


@dataclass(frozen=True)
class Section:
    """heading: its title on the page. text: what it is about, in HTML of ours. parts: what it shows."""

    heading: str
    text: Markup
    parts: Sequence[Part]


def folding(parts: Iterable[tuple[str, Sequence[Block]]], opened: int) -> list[Part]:
    """Parts of which the first few are open."""
    return [
        Part(title, blocks, folds=True, opens=place < opened) for place, (title, blocks) in enumerate(parts)
    ]
