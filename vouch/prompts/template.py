"""A prompt template, a YAML file that says how an item becomes text (docs/prompt-templates.md).

The second half of this file puts images among the words, as `pictures` of the template says.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from string import Formatter, ascii_lowercase, ascii_uppercase
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    model_validator,
)

from vouch.pipeline.errors import VARIANTS, UserError, did_you_mean
from vouch.pipeline.validation import each_once, worded
from vouch.pipeline.yaml12 import load
from vouch.tables import DONT_KNOW, NONE_OF_ABOVE
from vouch.tables.asked import IMAGE_MARK, LETTERS, OUTPUTS
from vouch.tables.marks import in_words, marked, without_figure

TEMPLATES = Path("vouch/prompts/templates")
ADDED = {"dont_know": DONT_KNOW, "none_of_above": NONE_OF_ABOVE, "undetermined": DONT_KNOW}
"""Options that a template may add, by key, with their roles; to choose either of two alike is to abstain."""
Added = Literal["dont_know", "none_of_above", "undetermined"]
Labels = Literal["upper", "lower", "digits"]
LABELS: dict[Labels, str] = {"upper": ascii_uppercase, "lower": ascii_lowercase, "digits": "123456789"}
JOINING = {  # `pictures` -> the operation that joins two images
    "joined": "side_by_side",
    "merged": "merged",  # scaled to one height, a line between them: CompBench (Kil et al. 2024)
}
REFERENCES = "references"
MAX_TOKENS = 4096
INSTRUCTION = "{instruction}"
OPTIONS = "{options}"


def _pattern(needed: Sequence[str] = (), possible: Sequence[str] = ()) -> AfterValidator:
    """Checks that a text holds each needed field in braces once, a possible one at most once, no others."""

    def check(text: str) -> str:
        try:
            fields = [(name, spec, how) for _, name, spec, how in Formatter().parse(text) if name is not None]
        except ValueError as error:
            raise ValueError(f"not a template: {error}") from None
        names = [name for name, _, _ in fields]
        if any(names.count(name) != 1 for name in needed):
            raise ValueError(f"must hold {_listed(needed)} once")
        known = (*needed, *possible)
        if any(spec or how or name not in known or names.count(name) > 1 for name, spec, how in fields):
            raise ValueError(f"must hold no braces but {_listed(known)}, each at most once")
        return text

    return AfterValidator(check)


def _listed(fields: Sequence[str]) -> str:
    return " and ".join(f"{{{field}}}" for field in fields)


def _outputs(names: tuple[str, ...]) -> tuple[str, ...]:
    """Checks that a list names some of OUTPUTS, each once."""
    if not names:
        raise ValueError(f"must name one or several of {', '.join(OUTPUTS)}")
    for name in names:
        if name not in OUTPUTS:
            raise ValueError(f"unknown name {name:.60}; {did_you_mean(name, list(OUTPUTS))}")
    return each_once(names)


def _max_tokens(value: Any) -> Any:
    number = isinstance(value, int) and not isinstance(value, bool)
    if value in (None, REFERENCES) or (number and 1 <= value <= MAX_TOKENS):
        return value
    raise ValueError(f"must be a whole number of 1 to {MAX_TOKENS}, or {REFERENCES}, or null")


class SampleExchange(BaseModel):
    """An exchange that shows how to answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1)
    answer: Annotated[str, Field(min_length=1), _pattern(possible=["response"])]


class Template(BaseModel):
    """A prompt template; docs/prompt-templates.md explains the keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    body: Annotated[str, _pattern(possible=["question", "hint", "options", "instruction"])]
    open_body: Annotated[str, _pattern(possible=["question", "hint", "instruction"])] = "{hint}{question}"
    hint: Annotated[str, _pattern(["hint"])] = "{hint}\n"
    no_hint: str = ""
    absent_hints: tuple[str, ...] = ()
    option: Annotated[str, _pattern(["label", "text"])] = "{label}. {text}"
    separator: str = "\n"
    labels: Labels = "upper"
    added: dict[Added, str] = {}
    pad_to: Annotated[int, Field(ge=2, le=26)] | None = None
    instructions: tuple[Annotated[str, _pattern(possible=["hint", "question"])], ...] = ()
    opening: Annotated[str, _pattern(possible=["instruction"])] = ""
    sample: SampleExchange | None = None
    system: Annotated[str, _pattern(possible=["instruction"])] | None = None
    images: Literal["first", "interleaved", "joined", "merged"] = "first"
    outputs: Annotated[tuple[str, ...], AfterValidator(_outputs)] = (LETTERS,)
    response: str | None = None
    max_tokens: Annotated[int | Literal["references"] | None, PlainValidator(_max_tokens)] = None
    equal_options: Literal["keep", "drop"] = "keep"

    @model_validator(mode="after")
    def _fits(self) -> "Template":
        if LETTERS in self.outputs and not self.shows_options:
            raise ValueError("body must hold {options}, because outputs names letters")
        holders = [text for text in (self.opening, self.system or "", self.body) if INSTRUCTION in text]
        if len(holders) != bool(self.instructions):
            raise ValueError(
                "{instruction} must stand in one of opening, system and body, and only with instructions"
            )
        if any(IMAGE_MARK.search(text) for text in self._words()):
            raise ValueError("a template holds no `<image 1>`; items mark where their images stand")
        if (INSTRUCTION in self.open_body) > (INSTRUCTION in self.body):
            raise ValueError("open_body may hold {instruction} only where body does")
        return self

    def _words(self) -> Iterator[str]:
        """Every text of the template that a model reads."""
        yield from (self.body, self.open_body, self.hint, self.no_hint, self.option, self.separator)
        yield from (self.opening, self.system or "", self.response or "", *self.instructions)
        yield from self.added.values()
        yield from () if self.sample is None else (self.sample.question, self.sample.answer)

    # By identity, which is quick: `changed` gives one object for the same values.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def changed(self, **values: Any) -> "Template":
        """The template with other values, which are not checked: the same object for the same values."""
        return _changed(self, tuple(values.items()))

    @property
    def shows_options(self) -> bool:
        """Whether the text shows the options."""
        return OPTIONS in self.body

    def added_to(self, options: int) -> dict[Added, str]:
        """The options that the template adds to an item's own. options: how many the item has."""
        if not self.added:
            return {}
        room = len(self.added) if self.pad_to is None else max(self.pad_to - options, 0)
        return dict(list(self.added.items())[:room])

    def crowded(self, options: int, name: str) -> str:
        """Why a question cannot have this many options; empty if it can. name: of the template's file."""
        added, most = len(self.added_to(options)), len(LABELS[self.labels])
        if options + added <= most:
            return ""
        kind = "digits" if self.labels == "digits" else "letters"
        return (
            f"{options + added} options with the {added} that template {name} adds, more than the "
            f"{most} {kind}; use a template that adds none, or leave the item out"
        )

    def instruction(self, index: int, hint: str | None, question: str) -> str:
        """The instruction for the question at an index of the dataset; empty if the template has none.

        Raises UserError if it needs a hint that is missing.
        """
        if not self.instructions:
            return ""
        wording = self.instructions[index % len(self.instructions)]
        if hint is None and "{hint}" in wording:
            raise UserError("has no hint, which the template's instruction needs; use another template")
        return wording.format(hint=hint, question=question)

    def around(
        self, hint: str | None, question: str, options: bool, instruction: str = ""
    ) -> tuple[str, str]:
        """The text before and after the options; all of it is before them if none are shown."""
        absent = hint is None or hint.lower() in [text.lower() for text in self.absent_hints]
        before = self.no_hint if absent else self.hint.format(hint=hint)
        fields = {"hint": before, "question": question, "instruction": instruction}
        head, _, tail = (self.body if options else self.open_body).partition(OPTIONS)
        return head.format(**fields), tail.format(**fields)

    def listed(self, labels: Sequence[str]) -> str:
        """The options as the text shows them, each after its label, with `%s` for its text; empty if the
        template shows none."""
        if not self.shows_options:
            return ""
        line, gap = self.option.replace("%", "%%"), self.separator.replace("%", "%%")
        return gap.join(line.format(label=label, text="%s") for label in labels)

    def sample_turn(self) -> tuple[str, str] | None:
        """The sample as an exchange, None if there is none."""
        if self.sample is None:
            return None
        before = "" if self.response is None else f"{self.response} "
        return self.sample.question, self.sample.answer.format(response=before)


@lru_cache(maxsize=1024)
def _changed(template: Template, values: tuple[tuple[str, Any], ...]) -> Template:
    copy = template.model_copy(update=dict(values))
    return template if copy.__dict__ == template.__dict__ else copy


def read_template(name: str, variant: str | None = None, outputs: Sequence[str] | None = None) -> Template:
    """The template of that name. outputs: replace its own. Raises UserError."""
    path = TEMPLATES / f"{name}.yaml"
    return parse_template(load(path), str(path), variant, outputs)


def parse_template(
    value: Any, where: str, variant: str | None = None, outputs: Sequence[str] | None = None
) -> Template:
    """The template that a YAML file holds. where: names it. Raises UserError for the first wrong key."""
    if not isinstance(value, dict):
        raise UserError(f"{where}: holds no keys; a template needs a body")
    own = {key: kept for key, kept in value.items() if key != "variants"}
    variants = value.get("variants", {})
    if not isinstance(variants, dict) or not all(isinstance(keys, dict) for keys in variants.values()):
        raise UserError(f"{where}: variants: must map each name to the keys that differ")
    replaced = {} if outputs is None else {"outputs": tuple(outputs)}
    if variant is None:
        return _checked({**own, **replaced}, where)
    if variant not in variants and variant in VARIANTS:
        raise UserError(f"{where}: has no variant {variant} any more; {VARIANTS[variant]}")
    if variant not in variants:
        raise UserError(f"{where}: no variant {variant:.60}; {did_you_mean(variant, list(variants))}")
    return _checked({**own, **variants[variant], **replaced}, f"{where}: variants.{variant}")


def _checked(value: Any, where: str) -> Template:
    try:
        return Template.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        valid = did_you_mean(key, [*Template.model_fields, "variants"])
        raise UserError(f"{where}: {key or 'the template'}: {worded(first)}; keys: {valid}") from None


# Marks of images in the words of an item: `<image 1>`

_IN_WORDS = re.compile(r"(?<!<)\bimage [1-9][0-9]{0,3}\b")


def changed_marks(before: str, after: str) -> tuple[bool, bool]:
    """Whether a shown text lacks marks that it had before, and whether some became words."""
    marks, words = (
        len(pattern.findall(before)) - len(pattern.findall(after)) for pattern in (IMAGE_MARK, _IN_WORDS)
    )
    return marks + words > 0, words < 0


class ImageMarks:
    """Decides the positions of a prompt's images. Give it the texts in the order in which they are read.

    images: how many. mode: `pictures` of the template.
    """

    def __init__(self, images: int, mode: str) -> None:
        self._images, self._mode = images, mode
        self._placed: set[int] = set()

    def passage(self, text: str) -> str:
        """A hint or a question, as it is shown."""
        if self._mode == "first" and self._images == 1:
            return without_figure(text)
        return self.option(text)

    def option(self, text: str) -> str:
        """An option's text, as it is shown. It may consist of nothing but a mark, so no mark is dropped."""
        if not marked(text):
            return text
        return in_words(text) if self._mode != "interleaved" else IMAGE_MARK.sub(self._place, text)

    def _place(self, mark: re.Match[str]) -> str:
        number = int(mark[1])
        if number > self._images or number in self._placed:
            return f"image {number}"
        self._placed.add(number)
        return f"<image {number}>"

    def front(self) -> str:
        """The marks to put before the text: of all images without a mark in it, if some have one."""
        if not self._placed:
            return ""
        left = (number for number in range(1, self._images + 1) if number not in self._placed)
        return "".join(f"<image {number}>\n" for number in left)
