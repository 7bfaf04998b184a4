"""A draft becomes a row of the prompts table, in parts that rows of one item share."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from stages.contracts.prompts import TEXT
from stages.runtime.errors import UserError
from stages.vary.columns import Row
from stages.vary.combination import Variation
from stages.vary.prompt import Frames, words
from stages.vary.style import JOINING, STYLES
from stages.vary.variation import Draft, Picture, Step

Part = dict[str, Any]


class ItemRows:
    """Rows of one item's prompts; a part that several share is made once, and none is ever changed.

    style: name of its file. cap: most tokens of a generated text, or None.
    """

    def __init__(self, style: str, cap: int | None) -> None:
        self._style, self._cap = style, cap
        # By the identity of what a part is made of, which is kept so that nothing else comes to bear it.
        self._asked: dict[Hashable, tuple[Part, object]] = {}
        self._words: dict[Hashable, tuple[Part, object]] = {}
        self._pictures: dict[Hashable, tuple[Part, object]] = {}
        self._frames: Frames = {}

    def row(
        self, prompt: str, asked: Part, draft: Draft, variation: Variation, answers: Sequence[int]
    ) -> Row:
        """The row of a draft. Raises UserError where the marks run out.

        prompt: its id. asked: what `asked` gives for it. answers: indices of the correct options.
        """
        return Row(
            {"id": prompt}, variation.columns, asked, self._known_words(draft, answers), self._shown(draft)
        )

    def asked(self, draft: Draft) -> Part:
        """The part of the row that says what is read out, and of which item and style it is."""
        key = (draft.asked, id(draft.style))
        if key not in self._asked:
            asks = _asks(draft)
            cap = self._cap if TEXT in asks else None
            part = {"item": draft.item.id, "style": self._style, "asks": asks, "max_tokens": cap}
            self._asked[key] = part, draft.style
        return self._asked[key][0]

    def _known_words(self, draft: Draft, answers: Sequence[int]) -> Part:
        item, style = draft.item, draft.style
        # in a conversation more is said, and where a mark goes depends on the pictures as well
        if draft.turns or draft.earlier or item.marked:
            return self._said(draft, answers)
        key = (id(item), id(style), draft.order, id(answers))
        if key not in self._words:
            self._words[key] = self._said(draft, answers), (item, style, answers)
        return self._words[key][0]

    def _said(self, draft: Draft, answers: Sequence[int]) -> Part:
        said = words(draft, self._style, self._frames)
        return {**said, "answers": [place for place, index in enumerate(said["order"]) if index in answers]}

    def _shown(self, draft: Draft) -> Part:
        key = (id(draft.pictures), draft.style.pictures, draft.earlier)
        if key not in self._pictures:
            part = {"pictures": _recipes(draft), "earlier": [list(ids) for ids in draft.earlier]}
            self._pictures[key] = part, draft.pictures
        return self._pictures[key][0]


def _recipes(draft: Draft) -> list[dict[str, Any]]:
    """Two pictures become one in a style that joins them, each with its own steps done before."""
    pictures = draft.pictures
    join = JOINING.get(draft.style.pictures)
    if join is None or len(pictures) != 2:
        return [_recipe([picture], picture.steps) for picture in pictures]
    first, second = pictures
    if first.steps != second.steps:
        raise UserError(
            f"item {draft.item.id}: variation {draft.variation} disturbs two pictures differently, which "
            "cannot be joined; use a style with `pictures: first`"
        )
    return [_recipe(pictures, (*first.steps, Step(join)))]


def _recipe(pictures: Sequence[Picture], steps: Sequence[Step]) -> dict[str, Any]:
    return {"images": [image for image, _ in pictures], "steps": [step._asdict() for step in steps]}


def _asks(draft: Draft) -> list[str]:
    if not draft.asked:
        return []
    return list(draft.style.asks if draft.item.kind == "choice" else draft.style.open_asks)


def check(prompt: str, draft: Draft, asked: Part, before: Mapping[str, Sequence[str]]) -> None:
    """Raises UserError for a prompt that must not stand in the table.

    prompt: its id. asked: its part of that name. before: what each earlier prompt of its group asks for.
    """
    problem = _problem(prompt, draft, asked, before)
    if problem:
        raise UserError(f"prompt {prompt}: {problem}")


def _problem(prompt: str, draft: Draft, asked: Mapping[str, Any], before: Mapping[str, Sequence[str]]) -> str:
    """What keeps a row out of the table, or nothing."""
    if prompt in before:
        return f"stands twice; {_code(draft)}"
    for source in (source for sources in draft.earlier for source in sources or [""]):
        if source not in before:
            return f"an answer comes from {source!r}, no earlier prompt of this group; {_code(draft)}"
        if TEXT not in before[source]:
            file = STYLES / f"{asked['style']}.yaml"
            return f"repeats the answer to {source}, which asks for no {TEXT}; add it to `asks` of {file}"
    if asked["max_tokens"] == 0:
        file = STYLES / f"{asked['style']}.yaml"
        return f"no item has a reference to cap its text by; give {file} a number for max_tokens"
    return ""


def _code(draft: Draft) -> str:
    return f"correct variation {draft.variation} in stages/vary/variations"
