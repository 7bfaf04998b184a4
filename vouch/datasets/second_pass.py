"""The second pass, over all items of a dataset: options drawn from other items, flags, counts of defects."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from vouch.datasets.config import OptionScheme
from vouch.datasets.flags import Copies, Use, item_flags, respelling, similar_flags, visible
from vouch.datasets.read.images import ImageFacts, digest_of
from vouch.pipeline.errors import UserError
from vouch.tables.asked import EXAMPLES, ITEMS, KNOWN

if TYPE_CHECKING:
    from vouch.datasets.options import Choice

NATIVE = "native"


class ItemBuffer:
    """Rows of the items table in arrow's compact form; NATIVE has the options as the source has them."""

    def __init__(self) -> None:
        self._schema = ITEMS.schema.append(pa.field(NATIVE, pa.list_(pa.string())))
        self._chunks: list[pa.Table] = []
        self._rows: list[Mapping[str, Any]] = []
        self.count = 0

    def add(self, row: Mapping[str, Any], native: Sequence[str | None]) -> None:
        """Adds a row."""
        self._rows.append({**row, NATIVE: native})
        self.count += 1
        if len(self._rows) >= ITEMS.rows_per_group:
            self._pack()

    def _pack(self) -> None:
        if self._rows:
            self._chunks.append(pa.Table.from_pylist(self._rows, schema=self._schema))
            self._rows = []

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows in order, with their native options."""
        for table in self.tables():
            yield from table.to_pylist()

    def tables(self) -> list[pa.Table]:
        """The rows in order, a row group of the items table at a time."""
        self._pack()
        return self._chunks


def normalised(kept: ItemBuffer, chosen: OptionScheme, rejected: int, name: str, folder: Path) -> ItemBuffer:
    """The items with the options of a scheme. rejected: number of rejected entries. folder: the source.

    Raises UserError if rejected entries would shift the draws of a faithful protocol.
    """
    from vouch.datasets.options import DRAWN_SCHEMES  # loaded only if a dataset names a scheme

    drawn = chosen.scheme in DRAWN_SCHEMES  # for choices; the other schemes make choices of open questions
    where = f"datasets.{name}.options"
    if chosen.protocol == "faithful" and rejected:
        raise UserError(
            f"{where}: {rejected} entries of the source were rejected, so the draws would differ from the "
            "authors'; correct these entries, or set protocol: clean"
        )
    if chosen.protocol == "faithful" and not drawn:
        raise UserError(
            f"{where}: {chosen.scheme} has no faithful protocol, because its authors drew without a seed; "
            "set protocol: clean"
        )
    kind = "choice" if drawn else "text"
    choices = _choices([row for row in kept.rows() if row["kind"] == kind], chosen, folder)
    changed = ItemBuffer()
    for row in kept.rows():
        options = row.pop(NATIVE)
        if row["kind"] == kind:
            choice = next(choices)
            options = choice.options
            row |= {"kind": "choice", "options": list(choice.native), "answers": sorted(choice.answers)}
        changed.add(row, options)
    return changed


def _choices(rows: Sequence[Mapping[str, Any]], chosen: OptionScheme, folder: Path) -> "Iterator[Choice]":
    from vouch.datasets.built_choices import BUILT_SCHEMES, OpenQuestion, built_choices
    from vouch.datasets.options import DRAWN_SCHEMES, Choice

    if chosen.scheme in DRAWN_SCHEMES:
        native = [Choice(row["id"], row["group"], tuple(row[NATIVE]), tuple(row["answers"])) for row in rows]
        return iter(DRAWN_SCHEMES[chosen.scheme][chosen.protocol](native, chosen.seed))
    asked = [
        OpenQuestion(row["id"], row["group"], row["category"], row["question"], row["references"][0])
        for row in rows
    ]
    return built_choices(asked, BUILT_SCHEMES[chosen.scheme](asked, chosen.seed, folder), chosen.seed)


def flagged(
    kept: ItemBuffer, known: Mapping[str, ImageFacts], prompt_flags: Callable[[Mapping[str, Any]], set[str]]
) -> Iterator[pa.Table]:
    """Tables of items with all their flags, including those that compare items.

    known: facts about images by digest. prompt_flags: gives the flags of a row that its template causes.
    """
    flags: list[set[str]] = []
    copies = Copies()
    uses: dict[str, list[Use]] = defaultdict(list)
    for number, row in enumerate(kept.rows()):
        shown = [known[digest] for digest in row["images"]]
        flags.append(item_flags(row, row[NATIVE], shown) | prompt_flags(row))
        copies.add(row)
        use = _use(number, row)
        for digest in dict.fromkeys(row["images"]):
            uses[digest].append(use)
    for number, more in (*copies.flags().items(), *similar_flags(known, uses).items()):
        flags[number] |= more
    position, field = ITEMS.schema.get_field_index("flags"), ITEMS.schema.field("flags")
    sorted_flags = map(sorted, flags)
    for table in kept.tables():
        column = pa.array(islice(sorted_flags, table.num_rows), field.type)
        yield table.set_column(position, field, column).drop_columns([NATIVE])


def _use(number: int, row: Mapping[str, Any]) -> Use:
    asks = answer = ""
    if len(row["images"]) == 1 and row["options"]:
        texts = [respelling(option) for option in row["options"]]
        asked = map(visible, (row["question"], row["hint"] or ""))
        asks = digest_of("\n".join((*asked, *sorted(texts))).encode())
        answer = "\n".join(sorted(texts[index] for index in row["answers"]))
    return Use(number, row["group"], asks, answer)


BROKEN, UNUSABLE, SKEW = "broken_image", "unusable_entry", "answer_position_skew"
LEVEL = 0.001  # p-value; a small one, because in large datasets any difference is significant
LEAST = 5  # least expected number in a cell for which the statistic follows its distribution


class Findings:
    """The defects table: counts of flags and of rejected entries, with examples."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = defaultdict(int)
        self._examples: dict[str, list[str]] = defaultdict(list)
        self._answers: dict[int, Counter[int]] = defaultdict(Counter)
        self._items = self._rejected = 0

    def items(self, table: pa.Table) -> None:
        """Counts the flags and the positions of the answers in rows of the items table."""
        self._items += table.num_rows
        columns = (table[name].to_pylist() for name in ("id", "flags", "answers"))
        options = pc.list_value_length(table["options"]).to_pylist()
        for name, flags, answers, count in zip(*columns, options, strict=True):
            for flag in flags:
                self._count(flag, name)
            if len(answers) == 1:
                self._answers[count][answers[0]] += 1

    def reject(self, name: str, broken: bool) -> None:
        """Counts a rejected entry. name: its id, or its row. broken: whether an image is the reason."""
        self._rejected += 1
        self._count(BROKEN if broken else UNUSABLE, name)

    def _count(self, defect: str, name: str) -> None:
        self._counts[defect] += 1
        if len(self._examples[defect]) < EXAMPLES:
            self._examples[defect].append(name)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of the defects table, in the order of KNOWN."""
        for name, defect in KNOWN.items():
            total = self._items + (self._rejected if name in (BROKEN, UNUSABLE) else 0)
            count = self._counts.get(name, 0)
            row = {"defect": name, "items": count, "share": count / total if total else 0.0}
            row |= {"examples": self._examples.get(name, []), "treatment": defect.treatment}
            yield {**row, "p_value": None, "detail": "", **(self._skew() if name == SKEW else {})}

    def _skew(self) -> dict[str, Any]:
        """Whether one letter is the correct answer more often than by chance: columns of the row.

        The k-option items are one multinomial; Pearson's statistics and degrees of freedom add up over k.
        Every item counts, so rotated copies, which balance the letters by design, can only hide a skew.
        """
        seen, expected = Counter[int](), defaultdict[int, float](float)
        statistic, freedom = 0.0, 0
        for options, counts in sorted(self._answers.items()):
            even = counts.total() / options
            for index in range(options):
                seen[index] += counts[index]
                expected[index] += even
            if even >= LEAST and options > 1:
                statistic += sum((counts[index] - even) ** 2 / even for index in range(options))
                freedom += options - 1
        if not freedom:
            return {"detail": "too few items to tell"}
        from scipy.special import chdtrc  # loading it takes as long as a small dataset

        n = seen.total()
        top = max(sorted(seen), key=lambda index: seen[index] - expected[index])
        share, even = seen[top] / n, expected[top] / n
        p_value = float(chdtrc(freedom, statistic))
        beyond = max(0, round(n * (share - even))) if p_value < LEVEL else 0
        detail = (
            f"{ascii_uppercase[top]} is the answer of {100 * share:.1f} %, by chance {100 * even:.1f} %; "
            f"chi-square {statistic:.1f} on {freedom} degrees of freedom"
        )
        return {"items": beyond, "share": beyond / self._items, "p_value": p_value, "detail": detail}
