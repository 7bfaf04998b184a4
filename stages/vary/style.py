"""A prompt style: how an item becomes text. Styles are data, files of stages/styles.

body          the whole text; {hint} {question} {options} are put in
open_body     the same for open questions, without {options}
hint          what stands for {hint} where the item has a hint, itself with {hint} in it
no_hint       what stands there where it has none
absent_hints  texts that count as no hint, whatever their case; a null always does
option        one option's line, with {mark} (its letter) and {text}
added         options that the style adds after the item's own, in this order: dont_know, none_of_above
system        the system message, or null
pictures      first: all pictures stand before the text, and the text loses its marks
              marks: each picture stands where the text marks it
              joined: two pictures are shown side by side as one, and marks become words
              merged: the same, scaled to one height and with a line between them, as CompBench (Kil et
              al. 2024) merges them
asks          what is read out of a prompt with options: letters, likelihood, text, or several of them
open_asks     the same for open questions: text
response      how the assistant's answer begins, or null
max_tokens    most tokens of a generated text; `references`: the 75th percentile, rounded up, of the number
              of words of the dataset's references (as ReForm-Eval caps captions, Li et al. 2023); or null
"""

from collections.abc import Sequence
from string import Formatter
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator, ValidationError

from stages.contracts.prompts import ASKS, DONT_KNOW, LETTERS, NONE_OF_ABOVE, TEXT
from stages.runtime.errors import UserError, did_you_mean

ADDED = {"dont_know": DONT_KNOW, "none_of_above": NONE_OF_ABOVE}
JOINING = {"joined": "side_by_side", "merged": "merged"}  # `pictures` -> the operation that joins two
REFERENCES = "references"
MAX_TOKENS = 4096


def _template(*fields: str) -> AfterValidator:
    """Checks that a text holds each of these fields in braces exactly once and no other braces."""

    def check(text: str) -> str:
        try:
            found = [(name, spec, how) for _, name, spec, how in Formatter().parse(text) if name is not None]
        except ValueError as error:
            raise ValueError(f"not a template: {error}") from None
        if sorted(found, key=str) != sorted(((field, "", None) for field in fields), key=str):
            wanted = " and ".join(f"{{{field}}}" for field in fields)
            raise ValueError(f"must hold {wanted} once each and no other braces")
        return text

    return AfterValidator(check)


def _asks(known: Sequence[str]) -> AfterValidator:
    """Checks that a list names some of `known`, each once."""

    def check(names: tuple[str, ...]) -> tuple[str, ...]:
        if not names or len(set(names)) < len(names):
            raise ValueError(f"must name one or several of {', '.join(known)}, each once")
        for name in names:
            if name not in known:
                raise ValueError(f"unknown name {name}; {did_you_mean(name, list(known))}")
        return names

    return AfterValidator(check)


def _max_tokens(value: Any) -> Any:
    number = isinstance(value, int) and not isinstance(value, bool)
    if value in (None, REFERENCES) or (number and 1 <= value <= MAX_TOKENS):
        return value
    raise ValueError(f"must be a whole number of 1 to {MAX_TOKENS}, or {REFERENCES}, or null")


class Style(BaseModel):
    """A style; the module's docstring explains the keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    body: Annotated[str, _template("hint", "question", "options")]
    open_body: Annotated[str, _template("hint", "question")] = "{hint}{question}"
    hint: Annotated[str, _template("hint")]
    no_hint: str = ""
    absent_hints: tuple[str, ...] = ()
    option: Annotated[str, _template("mark", "text")]
    added: dict[Literal["dont_know", "none_of_above"], str] = {}
    system: str | None = None
    pictures: Literal["first", "marks", "joined", "merged"] = "first"
    asks: Annotated[tuple[str, ...], _asks(ASKS)] = (LETTERS,)
    open_asks: Annotated[tuple[str, ...], _asks((TEXT,))] = (TEXT,)  # no options, so nothing else to read
    response: str | None = None
    max_tokens: Annotated[int | Literal["references"] | None, PlainValidator(_max_tokens)] = None

    def render(self, hint: str | None, question: str, options: Sequence[tuple[str, str]]) -> str:
        """The text for a hint, a question and (mark, text) of each option; without options the open body."""
        absent = hint is None or hint.lower() in (text.lower() for text in self.absent_hints)
        before = self.no_hint if absent else self.hint.format(hint=hint)
        if not options:
            return self.open_body.format(hint=before, question=question)
        lines = "\n".join(self.option.format(mark=mark, text=text) for mark, text in options)
        return self.body.format(hint=before, question=question, options=lines)


def parse_style(value: Any, where: str) -> Style:
    """The style that a YAML file holds; `where` names the file. Raises UserError for the first wrong key."""
    if not isinstance(value, dict):
        raise UserError(f"{where}: holds no keys; a style needs body, hint and option")
    try:
        return Style.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        valid = did_you_mean(key, list(Style.model_fields))
        raise UserError(f"{where}: {key}: {first['msg']}; keys: {valid}") from None
