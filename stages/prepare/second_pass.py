"""What needs all items of a dataset at once: options drawn from other items, copies, like pictures."""

import importlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from stages.prepare.building import Asked, choices
from stages.prepare.choice import Choice
from stages.prepare.cleaning import Picture, digest_of, known_options
from stages.prepare.config import Options
from stages.prepare.flags import copies, encoding, leaks, options, pictures, similar
from stages.prepare.kept import NATIVE, Kept
from stages.runtime.errors import UserError

_OF_COPIES = ("question", "hint", "images", "group", "options", "answers", "references")


def normalised(kept: Kept, chosen: Options | None, rejected: int, name: str, folder: Path) -> Kept:
    """The same items with the options of a scheme; without one, the same. folder: the source.

    Raises UserError where `rejected` entries would shift every draw of a faithful reading.
    """
    if chosen is None:
        return kept
    if chosen.reading == "faithful" and rejected:
        raise UserError(
            f"datasets.{name}.options: {rejected} entries of the source are no items, so the draws "
            "would not be the authors'; correct these entries, or take reading: clean"
        )
    scheme = importlib.import_module(f"stages.prepare.normalise.{chosen.scheme}")
    if hasattr(scheme, "built"):
        return _built(kept, scheme, chosen, name, folder)
    rows = [
        Choice(row["id"], row["group"], tuple(row[NATIVE]), tuple(row["answers"]))
        for row in kept.rows(["id", "group", "kind", "answers", NATIVE])
        if row["kind"] == "choice"
    ]
    found = iter((scheme.faithful if chosen.reading == "faithful" else scheme.clean)(rows, chosen.seed))
    after = Kept()
    for row in kept.rows():
        choice = next(found) if row["kind"] == "choice" else Choice("", "", tuple(row[NATIVE]), ())
        shown = {"options": list(choice.native), "answers": sorted(choice.answers)}
        after.add({**_without_native(row), **shown}, choice.options)
    return after


def _built(kept: Kept, scheme: ModuleType, chosen: Options, name: str, folder: Path) -> Kept:
    """Open questions as choices; the others stay. Raises UserError."""
    if chosen.reading == "faithful":
        raise UserError(
            f"datasets.{name}.options: {chosen.scheme} has no faithful reading, for its authors drew without "
            "a seed; take reading: clean"
        )
    rows = [
        Asked(row["id"], row["group"], row["category"], row["question"], row["references"][0])
        for row in kept.rows(["id", "group", "kind", "category", "question", "references"])
        if row["kind"] == "text"
    ]
    found = choices(rows, scheme.built(rows, chosen.seed, folder), chosen.seed)
    after = Kept()
    for row in kept.rows():
        if row["kind"] == "text":
            choice = next(found)
            shown = list(choice.options)
            row |= {"kind": "choice", "options": shown, "answers": list(choice.answers), NATIVE: shown}
        after.add(_without_native(row), row[NATIVE])
    return after


def flagged(kept: Kept, known: Mapping[str, Picture]) -> Iterator[dict[str, Any]]:
    """Rows of the items table with all flags. known: facts of pictures by digest."""
    of_set: list[Mapping[int, set[str]]] = [
        copies.flags(kept.rows(_OF_COPIES)),
        _similar(kept, known),
    ]
    for number, row in enumerate(kept.rows()):
        own = _item_flags(row, [known[digest] for digest in row["images"]])
        found = {*row["flags"], *own, *(flag for flags in of_set for flag in flags.get(number, ()))}
        yield {**_without_native(row), "flags": sorted(found)}


def _without_native(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != NATIVE}


def _item_flags(row: Mapping[str, Any], shown: Sequence[Picture]) -> set[str]:
    texts = [row["hint"] or "", row["question"], *row["options"]]
    missing = len(known_options(row[NATIVE])) < len(row[NATIVE])
    found = {
        "answer_in_question": leaks.leaks(row["question"], row["options"], row["answers"]),
        "damaged_text": any(map(encoding.damaged, (*texts, *row["references"]))),
        "empty_hint": row["hint"] is not None and not row["hint"].strip(),
    }
    return {
        *(flag for flag, holds in found.items() if holds),
        *options.flags(row["options"], row["answers"], missing),
        *pictures.flags(texts, shown),
    }


def _similar(kept: Kept, known: Mapping[str, Picture]) -> dict[int, set[str]]:
    uses: dict[str, list[similar.Use]] = defaultdict(list)
    for number, row in enumerate(kept.rows(["group", "question", "hint", "images", "options", "answers"])):
        about = right = ""
        if len(row["images"]) == 1 and row["options"]:
            texts = [options.respelling(option) for option in row["options"]]
            about = digest_of("\n".join((row["question"], row["hint"] or "", *sorted(texts))).encode())
            right = "\n".join(sorted(texts[index] for index in row["answers"]))
        for digest in dict.fromkeys(row["images"]):
            uses[digest].append(similar.Use(number, row["group"], about, right))
    seen = {
        digest: similar.Seen(known[digest].look, known[digest].width / known[digest].height)
        for digest in uses
    }
    return similar.flags(seen, uses)
