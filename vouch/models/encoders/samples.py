"""A model's samples beside its greedy texts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

_LETTER = re.compile(r"\W*(\w)\W*")


@dataclass(frozen=True)
class Sampled:
    """One prompt at one temperature: the greedy text and the samples in the order of their numbers."""

    prompt: str
    temperature: float
    text: str
    samples: tuple[str, ...]
    marks: tuple[str, ...]
    options: tuple[str, ...]

    def expanded(self) -> "Sampled":
        """The same with the option's text after an answer that is its letter alone."""
        texts = [_expanded(text, self.marks, self.options) for text in (self.text, *self.samples)]
        return Sampled(self.prompt, self.temperature, texts[0], tuple(texts[1:]), self.marks, self.options)


def sampled(texts: pa.Table, prompts: pa.Table) -> list[Sampled]:
    """What was sampled for the prompts, in their order; those without a greedy text are left out.

    texts: columns prompt, temperature, sample, text of TEXT. prompts: id, marks, options of PROMPTS.
    """
    greedy: dict[str, str] = {}
    drawn: dict[tuple[str, float], list[tuple[int, str]]] = {}
    columns = (texts[name].to_pylist() for name in ("prompt", "temperature", "sample", "text"))
    for prompt, temperature, number, text in zip(*columns, strict=True):
        if text is None:
            continue
        if temperature == 0:
            greedy[prompt] = text
        else:
            drawn.setdefault((prompt, temperature), []).append((number, text))
    temperatures = sorted({temperature for _, temperature in drawn})
    return [
        Sampled(
            row["id"],
            temperature,
            greedy[row["id"]],
            tuple(text for _, text in sorted(drawn[row["id"], temperature])),
            tuple(row["marks"] or ()),
            tuple(row["options"] or ()),
        )
        for row in prompts.to_pylist()
        for temperature in temperatures
        if row["id"] in greedy and (row["id"], temperature) in drawn
    ]


def _expanded(text: str, marks: Sequence[str], options: Sequence[str]) -> str:
    found = _LETTER.fullmatch(text)
    for mark, option in zip(marks, options, strict=False):
        if found and mark.casefold() == found[1].casefold():
            return f"{mark}. {option}"
    return text
