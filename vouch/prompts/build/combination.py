"""A name of params.yaml as a variation: a file, a level of one (`vr_b_5`), or several joined with `+`."""

import importlib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.prompts.build.template import Template
from vouch.prompts.build.variation import TURNS, Draft, Item, changed, start
from vouch.tables.prompts import COMPLEMENT, KEPT, SWAPPED

FILES = Path(__file__).parents[1] / "variations"
_LEVEL = re.compile(r"(.+)_([0-9]+)")

Vary = Callable[[Draft], Draft | Sequence[Draft] | None]


@dataclass(frozen=True)
class Part:
    """One variation of a combination. level: None where its file has no levels."""

    file: str
    level: int | None
    vary: Vary
    changes: tuple[str, ...]
    effect: str
    family: str


@dataclass(frozen=True)
class Variation:
    """A variation as params.yaml names it: its parts, done one after the other."""

    name: str
    parts: tuple[Part, ...]

    @property
    def same_as(self) -> frozenset[tuple[str, int | None]]:
        """Equal for two names of one variation: another order of its parts, or the level that goes unsaid."""
        return frozenset((part.file, part.level) for part in self.parts)

    @cached_property
    def effect(self) -> str:
        """What becomes of the correct answers."""
        return combined(part.effect for part in self.parts)

    @cached_property
    def family(self) -> str:
        """Families of the parts, joined with `+`."""
        return "+".join(part.family for part in self.parts if part.family)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """Those of the prompts table that tell which variation a prompt is of."""
        return {"variation": self.name, "family": self.family, "effect": self.effect}

    @cached_property
    def _in_order(self) -> tuple[Part, ...]:
        """The parts in one order whatever the name's: where two make several drafts, it decides which is
        number 2."""
        return tuple(sorted(self.parts, key=lambda part: part.file))

    def drafts(self, item: Item, template: Template) -> tuple[list[Draft], bool]:
        """Drafts of an item, none where it does not apply; whether they are numbered."""
        return self.of(start(item, template, self.name))

    def of(self, first: Draft) -> tuple[list[Draft], bool]:
        """The same for an item's first draft."""
        drafts, numbered = [changed(first, variation=self.name)], False
        for part in self._in_order:
            made: list[Draft] = []
            for draft in drafts:
                found = part.vary(draft)
                if isinstance(found, Draft):
                    made.append(found)
                elif found is not None:
                    numbered = True
                    made.extend(found)
            drafts = made
        return drafts, numbered and bool(drafts)

    def answers(self, item: Item) -> tuple[int, ...] | None:
        """Indices of the correct options afterwards; None where they cannot be turned.

        Each part must be able to turn them, also where two turn them back.
        """
        answers = item.answers
        for part in self.parts:
            if part.effect == KEPT:
                continue
            others = tuple(index for index in range(len(item.options)) if index not in answers)
            if not answers or not others or (part.effect == SWAPPED and len(item.options) != 2):
                return None
            answers = others
        return answers


def combined(effects: Iterable[str]) -> str:
    """One effect of several, whatever their order: an even number of turns keeps the answer."""
    turning = [effect for effect in effects if effect != KEPT]
    if len(turning) % 2 == 0:
        return KEPT
    return SWAPPED if SWAPPED in turning else COMPLEMENT


def load_variation(name: str) -> Variation:
    """The variation of that name. Raises UserError with the valid names."""
    parts = tuple(_part(one) for one in name.split("+"))
    changed: dict[str, str] = {}
    for part in parts:
        if len(parts) > 1 and not part.changes:
            raise UserError(f"variation {name}: {part.file} changes nothing; leave it out")
        for what in part.changes:
            if what in changed:
                raise UserError(
                    f"variation {name}: {changed[what]} and {part.file} both change the {what}; combine "
                    "variations that change different things"
                )
            changed[what] = part.file
    turning = next((part for part in parts if part.effect != KEPT), None)
    if TURNS in changed and turning is not None:
        raise UserError(
            f"variation {name}: {changed[TURNS]} shows answers to earlier turns, which {turning.file} would "
            "turn; combine it with variations that keep the answer"
        )
    return Variation(name, parts)


def _part(name: str) -> Part:
    known = sorted(path.stem for path in FILES.glob("[!_]*.py"))
    match = None if name in known else _LEVEL.fullmatch(name)
    file = match[1] if match and match[1] in known else name
    if file not in known:
        raise UserError(f"unknown variation {name}; {did_you_mean(name, known)}")
    module = importlib.import_module(f"vouch.prompts.variations.{file}")
    levels = getattr(module, "LEVELS", 0)
    if match and match[2] not in map(str, range(1, levels + 1)):
        valid = f"{file}_1 to {file}_{levels}" if levels else f"{file}, which has no levels"
        raise UserError(f"unknown variation {name}; valid: {valid}")
    level = (int(match[2]) if match else module.DEFAULT_LEVEL) if levels else None
    vary = partial(module.vary, level=level) if levels else module.vary
    return Part(file, level, vary, tuple(module.CHANGES), module.EFFECT, module.FAMILY)
