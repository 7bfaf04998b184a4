"""Every prompt of an item as rows of the prompts table: a loop over variations and the drafts of each.

Promise: `vary` takes at most three times as long as writing its rows with pyarrow (benchmarks/vary.py). So
drafts of an item that show the same words or pictures, as those of several severities do, share them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from vouch.pipeline.errors import UserError
from vouch.prompts.build.combination import Variation
from vouch.prompts.build.prompt import Frames, Words, words
from vouch.prompts.build.template import JOINING, Template
from vouch.prompts.build.variation import TURNS, Draft, Item, Step, prompt_id, start
from vouch.tables.prompts import TEXT

Before = dict[str, Sequence[str]]
"""Outputs of the earlier prompts of a group, by their id."""


@dataclass(frozen=True)
class Prompts:
    """Makes the prompts of items, in the order of the variations.

    name: of the template. cap: most tokens of a generated text, or None; 0 where a template caps texts by
    references and there are none.
    """

    variations: Sequence[Variation]
    template: Template
    name: str
    cap: int | None

    def rows(self, item: Item, before: Before) -> Iterator[dict[str, Any]]:
        """Rows of an item. Raises UserError.

        before: prompts of the same group so far; grows. `earlier` of a draft may name only these.
        """
        first = start(item, self.template, "")
        frames: Frames = {}
        said: dict[object, Words] = {}
        unchanged = recipes(first)
        for variation in self.variations:
            answers = variation.answers(item)
            if answers is None:
                continue
            drafts, numbered = variation.of(first)
            for number, draft in enumerate(drafts, start=1):
                look, pictures = draft.template, draft.pictures
                name = prompt_id(item.id, variation.name, number if numbered else None)
                outputs: Sequence[str] = ()
                if draft.asked:
                    outputs = look.outputs if draft.item.kind == "choice" else (TEXT,)
                if draft.earlier or self.cap == 0:
                    self._check(draft, name, outputs, before)
                before[name] = outputs
                own = draft.item is item and not draft.turns and not draft.earlier
                same = (look, draft.order, answers, not pictures) if own else None
                columns = said.get(same) or words(draft, answers, self.name, frames)
                if own:
                    said[same] = columns
                alike = pictures is first.pictures and look.pictures == self.template.pictures
                yield {
                    **columns,  # first: the largest part is copied as a whole
                    **variation.columns,
                    "id": name,
                    "pictures": unchanged if alike else recipes(draft),
                    "outputs": outputs,
                    "max_tokens": self.cap if TEXT in outputs else None,
                }

    def _check(self, draft: Draft, name: str, outputs: Sequence[str], before: Before) -> None:
        """Raises UserError where a prompt must not stand in the table."""
        for source in (source for sources in draft.earlier for source in sources or [""]):
            if source not in before:
                raise UserError(
                    f"prompt {name}: an answer comes from {source!r}, no earlier prompt of this group; "
                    f"correct variation {draft.variation} in vouch/prompts/variations, which must have "
                    f"{TURNS} in CHANGES"
                )
            if TEXT not in before[source]:
                raise UserError(
                    f"prompt {name}: repeats the answer to {source}, which asks for no {TEXT}; add it to "
                    f"`outputs` of template {self.name}"
                )
        if self.cap == 0 and TEXT in outputs:
            raise UserError(
                f"prompt {name}: no item has a reference to cap its text by; give template {self.name} a "
                "max_tokens"
            )


def recipes(draft: Draft) -> list[dict[str, Any]]:
    """How each picture that is shown is made: `pictures` of the prompts table. Raises UserError.

    Two pictures become one in a template that joins them, each with its own steps done before.
    """
    pictures = draft.pictures
    join = JOINING.get(draft.template.pictures)
    if join is None or len(pictures) != 2:
        return [{"images": [image], "steps": _steps(steps)} for image, steps in pictures]
    first, second = pictures
    if first.steps != second.steps:
        raise UserError(
            f"item {draft.item.id}: variation {draft.variation} disturbs two pictures differently, which "
            "cannot be joined; use a template with `pictures: first`"
        )
    return [{"images": [first.image, second.image], "steps": _steps((*first.steps, Step(join)))}]


@lru_cache(maxsize=1024)
def _steps(steps: tuple[Step, ...]) -> list[dict[str, Any]]:
    return [step._asdict() for step in steps]
