"""What items have in common, so that a variation which looks no further is asked once for all of them.

A form is an item of which only this can be read: its kind, its correct answers, how many options and pictures
it has, and what it has none of (a hint, references, turns, ...). Whatever else is read of it is noticed.
"""

from collections.abc import Hashable
from dataclasses import fields
from typing import Any, NoReturn

from vouch.prompts.build.variation import Item

_MAY_BE_ABSENT = ("references", "exchange", "turns", "rewrites", "phrasings")
_FIELDS = frozenset([*[field.name for field in fields(Item)], "marked"])


class NotOfForm(Exception):
    """Something was read that items of one form do not share."""


class Watch:
    """Whether something was read that items of one form do not share; also where the error was caught."""

    def __init__(self) -> None:
        self.noticed = False

    def refuse(self) -> NoReturn:
        """Takes note. Raises NotOfForm."""
        self.noticed = True
        raise NotOfForm


class Unread:
    """Stands for the text of an option, or the digest of a picture. place: which, from 0."""

    def __init__(self, place: int, watch: Watch) -> None:
        self.place, self._watch = place, watch

    def __getattr__(self, _: str) -> NoReturn:
        self._watch.refuse()

    def _refuse(self, *_: object) -> Any:
        self._watch.refuse()

    __bool__ = __str__ = __repr__ = __format__ = __hash__ = _refuse
    __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = _refuse
    __len__ = __iter__ = __getitem__ = __contains__ = __add__ = __radd__ = __mod__ = _refuse


class Form(Item):
    """An item of which only what its form tells can be read."""

    def __getattribute__(self, name: str) -> Any:
        known = object.__getattribute__(self, "__dict__")
        if name in _FIELDS and name not in known:
            known["watch"].refuse()
        return object.__getattribute__(self, name)


def key_of(item: Item) -> Hashable:
    """Equal for items of one form."""
    return (
        *(item.kind, item.answers, len(item.options), len(item.images), item.hint is None),
        *(item.goes_on, not item.references, not item.exchange, not item.turns, not item.rewrites),
        not item.phrasings,
    )


def form_of(item: Item, watch: Watch) -> Form:
    """The form of an item that is asked."""
    form = object.__new__(Form)
    known = form.__dict__
    known.update(
        kind=item.kind,
        answers=item.answers,
        options=tuple([Unread(place, watch) for place in range(len(item.options))]),
        images=tuple([Unread(place, watch) for place in range(len(item.images))]),
        goes_on=item.goes_on,
        kept=item.kept,
        watch=watch,
    )
    known.update({name: value for name in _MAY_BE_ABSENT if not (value := getattr(item, name))})
    if item.hint is None:
        known["hint"] = None
    return form
