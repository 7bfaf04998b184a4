"""Which prompts items of one form get: as far as their form tells, found once for all of them."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from vouch.prompts.build.columns import Numbered, Shown
from vouch.prompts.build.combination import Variation
from vouch.prompts.build.item_template import Unread, Watch, form_of
from vouch.prompts.build.recipes import recipes
from vouch.prompts.build.template import Template
from vouch.prompts.build.variation import Draft, Item, Step, start

Answers = tuple[int, ...]
Key = tuple[Template, tuple[int, ...], Answers, bool]
"""On what the words of an item depend: style, order, correct options, whether pictures are shown."""


@dataclass(frozen=True)
class Asked:
    """A variation and the correct options after it. drafts: of the form; None where each item has its own."""

    variation: Variation
    answers: Answers
    drafts: Sequence[Draft] | None
    numbered: bool


@dataclass
class Run:
    """Prompts that items of a form have one after the other: numbers of what their rows show.

    Words and pictures count from the first of an item.
    """

    heads: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    pictures: list[int] = field(default_factory=list)


@dataclass
class Plan:
    """What all items of one form get, and the variations of which each has its own.

    drafts: those whose words differ, with the correct options; `known` says which words are whose.
    shown: their pictures.
    """

    parts: list[Run | Asked] = field(default_factory=list)
    drafts: list[tuple[Draft, Answers]] = field(default_factory=list)
    known: dict[Key, int] = field(default_factory=dict)
    shown: Shown = field(default_factory=Shown)
    _seen: dict[Hashable, int] = field(default_factory=dict)

    def run(self) -> Run:
        """Where the next prompt goes that all items share."""
        if not self.parts or not isinstance(self.parts[-1], Run):
            self.parts.append(Run())
        last = self.parts[-1]
        assert isinstance(last, Run)
        return last

    def words(self, draft: Draft, answers: Answers) -> int:
        """The number of a draft's words."""
        key = words_key(draft, answers)
        if key not in self.known:
            self.known[key] = len(self.drafts)
            self.drafts.append((draft, answers))
        return self.known[key]

    def pictures(self, draft: Draft, item: str, done: Numbered[tuple[Step, ...]]) -> int:
        """The number of a draft's pictures. item: its id. Raises UserError."""
        found = [(tuple(image.place for image in images), steps) for images, steps in recipes(draft, item)]
        key = tuple(found)
        if key not in self._seen:
            self._seen[key] = len(self.shown.recipes)
            self.shown.add(found, done)
        return self._seen[key]


def words_key(draft: Draft, answers: Answers) -> Key:
    """Equal for drafts of one item, none of them in a conversation, that have the same words."""
    return draft.template, draft.order, answers, not draft.pictures


def asked(item: Item, variations: Iterable[Variation], template: Template) -> list[Asked]:
    """What the variations make of items that have the form of this one; without those that do not apply."""
    found = []
    for variation in variations:
        answers = variation.answers(item)
        if answers is not None:
            found.append(Asked(variation, answers, *_of_form(item, variation, template)))
    return found


def _of_form(item: Item, variation: Variation, template: Template) -> tuple[Sequence[Draft] | None, bool]:
    watch = Watch()
    form = form_of(item, watch)
    try:
        drafts, numbered = variation.of(start(form, template, ""))
    except Exception:  # whatever it did with what it read: if it is wrong, it will be of the item as well
        return None, False
    shared = all(
        draft.item is form
        and not draft.turns
        and not draft.earlier
        and all(isinstance(picture.image, Unread) for picture in draft.pictures)
        for draft in drafts
    )
    return (drafts, numbered) if shared and not watch.noticed else (None, False)
