"""Reads the name of a variation in params.yaml: `vr_b`, with a level `vr_b_5`, or several joined by `+`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.prompts.draft import TURNS, Draft, Item, start
from vouch.prompts.fit import names_letters, names_others
from vouch.prompts.template import Template
from vouch.prompts.variations import Declaration, at_level, declared
from vouch.tables.asked import COMPLEMENT, KEPT, OWN, SWAPPED


@dataclass(frozen=True)
class VariationPart:
    """One variation of a combination. level: None if it has no levels."""

    declaration: Declaration
    level: int | None

    @property
    def name(self) -> str:
        """The name without the level."""
        return self.declaration.name

    @cached_property
    def vary(self) -> Callable[[Draft], Draft | Sequence[Draft] | None]:
        """The function that makes the drafts of this level."""
        vary = self.declaration.vary
        return vary if self.level is None else partial(vary, level=self.level)


@dataclass(frozen=True)
class Variation:
    """A variation as params.yaml names it: its parts, applied one after the other."""

    name: str
    parts: tuple[VariationPart, ...]

    @property
    def same_as(self) -> frozenset[tuple[str, int | None]]:
        """Equal for two names of the same variation, with its parts in another order or without its default
        level."""
        return frozenset((part.name, part.level) for part in self.parts)

    @cached_property
    def effect(self) -> str:
        """How the correct answers change."""
        return combined(part.declaration.effect for part in self.parts)

    @cached_property
    def family(self) -> str:
        """Families of the parts, joined with `+`."""
        return "+".join(part.declaration.family for part in self.parts if part.declaration.family)

    @cached_property
    def repeats_options(self) -> bool:
        """Whether its prompts repeat which options the model chose before."""
        return any(part.declaration.repeats_options for part in self.parts)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """Columns of the prompts table that describe the variation of a prompt."""
        return {"variation": self.name, "family": self.family, "effect": self.effect}

    @cached_property
    def _in_order(self) -> tuple[VariationPart, ...]:
        """The parts in an order that does not depend on the name. If two of them make several drafts, this
        order decides how the drafts are numbered."""
        return tuple(sorted(self.parts, key=lambda part: part.name))

    def drafts(self, item: Item, template: Template) -> tuple[list[Draft], bool]:
        """The drafts of an item (none if the variation does not apply), and whether they are numbered."""
        return self.of(start(item, template, self.name))

    def of(self, first: Draft) -> tuple[list[Draft], bool]:
        """The same, made from the first draft of an item."""
        drafts, numbered = [Draft(self.name, *first[1:])], False
        for part in self._in_order:
            changed: list[Draft] = []
            for draft in drafts:
                varied = part.vary(draft)
                if isinstance(varied, Draft):
                    changed.append(varied)
                elif varied is not None:
                    numbered = True
                    changed.extend(varied)
            drafts = changed
        if any(_misleads(first, draft) for draft in drafts):
            return [], False
        return drafts, numbered and bool(drafts)

    def answers(self, item: Item) -> tuple[int, ...] | None:
        """Indices of the options that are correct after the variation; None if they cannot be flipped.

        Each part must be able to flip them, even if two of them together keep them.
        """
        answers = item.answers
        for part in self.parts:
            effect = part.declaration.effect
            if effect == OWN:
                return ()
            if effect == KEPT:
                continue
            others = tuple(index for index in range(len(item.options)) if index not in answers)
            if not answers or not others or (effect == SWAPPED and len(item.options) != 2):
                return None
            answers = others
        return answers


def _misleads(first: Draft, draft: Draft) -> bool:
    """Whether an option that refers to others, such as `Both A and B`, would refer to the wrong ones."""
    options = draft.item.options
    if options is not first.item.options or not draft.template.shows_options:  # the options are not shown
        return False
    if draft.earlier_options and any(names_others(turn.options) for turn in draft.item.turns):
        return True  # the tests of that turn would move them, so it has none to repeat
    moved = draft.order != first.order and names_others(options)
    return moved or (draft.template.labels != first.template.labels and names_letters(options))


def combined(effects: Iterable[str]) -> str:
    """The joint effect of several effects: an even number of flips keeps the answer."""
    effects = list(effects)
    if OWN in effects:
        return OWN
    flipping = [effect for effect in effects if effect != KEPT]
    if len(flipping) % 2 == 0:
        return KEPT
    return SWAPPED if SWAPPED in flipping else COMPLEMENT


def load_variation(name: str) -> Variation:
    """The variation that params.yaml calls by this name. Raises UserError with the valid names."""
    parts = tuple(_part(one) for one in name.split("+"))
    changed: dict[str, str] = {}
    for part in parts:
        if len(parts) > 1 and not part.declaration.parts:
            raise UserError(f"variation {name}: {part.name} changes nothing; leave it out")
        for what in part.declaration.parts:
            if what in changed:
                both = {changed[what], part.name}
                joint = next((one for one in declared() if set(one.split("_")) == both), None)
                raise UserError(
                    f"variation {name}: {changed[what]} and {part.name} both change the {what}; "
                    + (f"{joint} does both" if joint else "combine variations that change different things")
                )
            changed[what] = part.name
    flipping = next((part for part in parts if part.declaration.effect not in (KEPT, OWN)), None)
    if TURNS in changed and flipping is not None:
        raise UserError(
            f"variation {name}: {changed[TURNS]} shows answers to earlier turns, which {flipping.name} would "
            "flip; combine it with variations that keep the answer"
        )
    return Variation(name, parts)


def _part(given: str) -> VariationPart:
    named = at_level(given)
    if named is None:
        raise UserError(f"unknown variation {given:.60}; {did_you_mean(given, sorted(declared()))}")
    declaration, level = named
    name, levels = declaration.name, declaration.levels
    if level is not None and given not in {f"{name}_{one}" for one in range(1, levels + 1)}:
        valid = f"{name}_1 to {name}_{levels}" if levels else f"{name}, which has no levels"
        raise UserError(f"unknown variation {given:.60}; valid: {valid}")
    return VariationPart(declaration, (level or declaration.default_level) if levels else None)
