"""Samples meet the prompts that they answer, and become rows of likelihood and text.

Without a key the doc_id of a sample is the place of its item in the dataset, so the log must hold all of
them: a dataset from which items were left out no longer counts as its source does. With a key the sample
names its item, by the item's id or by its source_id, whichever fits every sample. Only the variation
`original` was asked.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vouch.models.released.join import CONSTANT, asked_prompts
from vouch.models.released.samples import Sample
from vouch.pipeline.errors import UserError

NAMES = ("id", "source_id")
Prompt = Mapping[str, Any]


def join_samples(
    samples: Sequence[Sample],
    prompts: Sequence[Prompt],
    items: Sequence[Mapping[str, str]],
    keyed: bool,
    where: str,
    dataset: str,
) -> list[tuple[Prompt, Sample]]:
    """Every prompt with its sample, in the order of the prompts.

    prompts: id, item, variation, options. items: id and source_id. keyed: samples name their items.
    Raises UserError where samples and items do not match one to one, or where choices and options differ.
    """
    asked = asked_prompts(prompts, where, dataset)
    order = [prompt["item"] for prompt in asked]
    found = _by_name(samples, items, where, dataset) if keyed else _by_place(samples, order, where, dataset)
    answered = dict(zip(found, samples, strict=True))
    missing = [item for item in order if item not in answered]
    if missing:
        raise UserError(
            f"{where}: no sample for item {missing[0]} of {dataset}, like {len(missing)} of its {len(order)} "
            "items; the log must answer exactly the items"
        )
    pairs = [(prompt, answered[prompt["item"]]) for prompt in asked]
    for prompt, sample in pairs:
        if sample.text is None and len(sample.choices) != len(prompt["options"]):
            raise UserError(
                f"{where} line {sample.line}: doc_id {sample.doc_id}: {len(sample.choices)} choices, "
                f"prompt {prompt['id']} shows {len(prompt['options'])} options; give {dataset} a template "
                "that adds none, or a log of the same options"
            )
    return pairs


def _by_place(samples: Sequence[Sample], order: Sequence[str], where: str, dataset: str) -> list[str]:
    if sorted(sample.doc_id for sample in samples) != list(range(len(order))):
        last = max(sample.doc_id for sample in samples)
        raise UserError(
            f"{where}: {len(samples)} samples up to doc_id {last}, {dataset} has {len(order)} items: their "
            "places cannot be told; give the log's field that names the item as key, e.g. `key: doc.id`"
        )
    return [order[sample.doc_id] for sample in samples]


def _by_name(
    samples: Sequence[Sample], items: Sequence[Mapping[str, str]], where: str, dataset: str
) -> list[str]:
    """The item of each sample: by the one column of names in which every sample finds one item of its own."""
    fitting: list[list[str]] = []
    for column in NAMES:
        found = _look_up(samples, items, column)
        if found is not None and found not in fitting:
            fitting.append(found)
    if len(fitting) > 1:
        sample = samples[[a == b for a, b in zip(*fitting, strict=True)].index(False)]
        raise UserError(
            f"{where} line {sample.line}: {sample.name!r} is the id of one item of {dataset} and the "
            "source_id of another; use a key that names items in one way only"
        )
    if not fitting:
        raise UserError(_unmatched(samples, items, where, dataset))
    return fitting[0]


def _look_up(samples: Sequence[Sample], items: Sequence[Mapping[str, str]], column: str) -> list[str] | None:
    places: dict[str, list[str]] = {}
    for item in items:
        places.setdefault(item[column], []).append(item["id"])
    found = [places.get(sample.name, []) for sample in samples]
    if any(len(names) != 1 for names in found) or len({sample.name for sample in samples}) < len(samples):
        return None
    return [names[0] for names in found]


def _unmatched(
    samples: Sequence[Sample], items: Sequence[Mapping[str, str]], where: str, dataset: str
) -> str:
    """Why no column of names fits: the first sample that names no item, several, or one named before."""
    known: dict[str, int] = {}
    for item in items:
        for name in {item[column] for column in NAMES}:
            known[name] = known.get(name, 0) + 1
    first: dict[str, int] = {}
    for sample in samples:
        place = f"{where} line {sample.line}: doc_id {sample.doc_id}: names {sample.name!r}"
        if known.get(sample.name, 0) != 1:
            what = f"{known[sample.name]} items" if sample.name in known else "no item"
            return f"{place}, which is {what} of {dataset}; use a key that names one item each"
        if first.setdefault(sample.name, sample.line) != sample.line:
            return f"{place}, which line {first[sample.name]} names already; keep one, or use another key"
    return f"{where}: names items of {dataset} now by id, now by source_id; use a key of one kind"


def likelihood_rows(pairs: Sequence[tuple[Prompt, Sample]]) -> Iterator[dict[str, Any]]:
    """Rows of LIKELIHOOD; what the choices were made of is unknown, so tokens and bytes are null."""
    for prompt, sample in pairs:
        for option, value in enumerate(sample.choices):
            yield {"prompt": prompt["id"], "option": option, "nll": 0.0 - value, **CONSTANT}


def text_rows(pairs: Sequence[tuple[Prompt, Sample]]) -> Iterator[dict[str, Any]]:
    """Rows of TEXT, one greedy text for each prompt."""
    for prompt, sample in pairs:
        if sample.text is not None:
            yield {"prompt": prompt["id"], "temperature": 0, "sample": 0, "text": sample.text, **CONSTANT}
