"""What sections of a page are made of; templates/section.html.j2 shows them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from vouch.report.cards import worst_first
from vouch.report.evidence import Evidence
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
    """Figures by the names of their files; a missing one is left out."""

    files: Sequence[str]
    kind: ClassVar[str] = "figures"


@dataclass(frozen=True)
class Beside:
    """Blocks side by side where there is room."""

    blocks: Sequence["Block"]
    kind: ClassVar[str] = "beside"


@dataclass(frozen=True)
class Folded:
    """Blocks that a reader opens by clicking on the summary."""

    summary: str
    blocks: Sequence["Block"]
    kind: ClassVar[str] = "folded"


Block = Text | Sentences | Figures | Beside | Folded | Grid


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


@dataclass(frozen=True)
class Section:
    """heading: its title on the page. text: what it is about, in HTML of ours. parts: what it shows."""

    heading: str
    text: Markup
    parts: Sequence[Part]


def by_dataset(
    heading: str,
    text: Markup,
    blocks: Callable[[Evidence, str], Sequence[Block]],
    opened: int | None = None,
    above: Callable[[Evidence, str], Grid | None] | None = None,
) -> Callable[[Evidence], Section | None]:
    """The `build` of a section with a part for each dataset that has blocks; without any there is no section.

    That of the worst news is the first. opened: how many of them are open at first; None where they cannot be
    folded away. above: a small table of each dataset, all of them side by side before the parts.
    """

    def build(evidence: Evidence) -> Section | None:
        found = [(dataset, each) for dataset in worst_first(evidence) if (each := blocks(evidence, dataset))]
        parts = [
            Part(title, each, folds=opened is not None, opens=place < (opened or 0))
            for place, (title, each) in enumerate(found)
        ]
        small = [grid for dataset, _ in found if above and (grid := above(evidence, dataset))]
        return (
            Section(heading, text, [*([Part("", [Beside(small)])] if small else []), *parts])
            if parts
            else None
        )

    return build
