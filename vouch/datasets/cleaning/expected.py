"""Whether a source holds what it should: counts of what its loader yields, against those that are known.

items              entries, those that are rejected included
choice, open       questions with options, and without
groups             different groups, where the source gives them
hints              entries with a hint
images N           entries with N pictures
options N          entries with N options
answer A           entries whose (first) answer has that letter
category NAME      entries of that category
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from string import ascii_uppercase
from types import ModuleType

from vouch.datasets.cleaning.cleaning import known_options
from vouch.datasets.raw import Expected, LoaderSettings, RawItem, Rejected
from vouch.datasets.read.files import Source
from vouch.pipeline.errors import UserError


def expectation(loader: ModuleType, source: Source, name: str, settings: LoaderSettings) -> Expected:
    """The counts that must come out; empty where anything may. Raises UserError where nobody said."""
    if settings.expect is None:
        return {}
    if settings.expect or not hasattr(loader, "expected"):
        return {key: (value,) for key, value in settings.expect.items()}
    known: Expected | None = loader.expected(source, settings)
    if known is None:
        which = source.split or "this source"
        raise UserError(
            f"datasets.{name}: how many items {which} should hold is not known here; write "
            "settings.expect: {items: N}, or settings.expect: null for any number"
        )
    return known


class Tally:
    """Counts entries as they pass."""

    def __init__(self, expected: Expected) -> None:
        self._expected = expected
        self._counts = Counter[str]()
        self._groups: set[str] = set()

    def counting(self, entries: Iterable[RawItem | Rejected]) -> Iterator[RawItem | Rejected]:
        """Passes the entries on."""
        for entry in entries:
            self._counts["items"] += 1
            if isinstance(entry, RawItem):
                self._count(entry)
            yield entry

    def _count(self, item: RawItem) -> None:
        options = len(known_options(item.options))
        names = ["open" if item.kind == "text" else "choice", f"images {len(item.images)}"]
        names += [f"category {item.category}"] if item.category else []
        names += ["hints"] if item.hint else []
        if item.kind == "choice":
            letters = dict(enumerate(ascii_uppercase[:options]))
            names += [f"options {options}"]
            names += [f"answer {letters[answer]}" for answer in item.answers[:1] if answer in letters]
        self._counts.update(names)
        if item.group is not None:
            self._groups.add(item.group)

    def check(self, where: str) -> None:
        """Raises UserError where a count is not what it should be."""
        self._counts["groups"] = len(self._groups)
        wrong = [
            f"{key}: {' or '.join(f'{value:,}' for value in sorted(values))} expected, "
            f"{self._counts[key]:,} found"
            for key, values in self._expected.items()
            if self._counts[key] not in values
        ]
        if wrong:
            more = f" (and {len(wrong) - 1} more counts)" if len(wrong) > 1 else ""
            raise UserError(
                f"{where}: {wrong[0]}{more}; it is not the dataset that was meant, or a part of it: correct "
                "origin, or say in settings.expect what to expect (null: anything)"
            )
