"""What a model is told: an instruction, worked examples and the question, one YAML file per kind.

The files of prompts/ hold the words of PARC (Schmalfuss et al. 2025, A7.2 and A7.4).
"""

from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from vouch.pipeline.yaml12 import load
from vouch.prompts.rewrites.engine import Task

VERBATIM, VERDICT = "verbatim", "verdict"
"""Kinds of tasks that rewrite nothing: their text is the whole prompt. Of a verdict the start is enough."""
PROMPTS = Path(__file__).parent / "instructions"


class Example(BaseModel):
    """A worked example."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    q: str
    a: str


class Instruction(BaseModel):
    """A file of prompts/."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    head: str
    examples: tuple[Example, ...]


@cache
def instruction(kind: str) -> Instruction:
    """The instruction for a kind."""
    return Instruction.model_validate(load(PROMPTS / f"{kind}.yaml"))


def prompt(task: Task) -> str:
    """The whole text that a model gets; of a task that is VERBATIM or VERDICT, its text as it stands."""
    if task.kind in (VERBATIM, VERDICT):
        return task.question
    told = instruction(task.kind)
    lines = [told.head.strip()]
    for example in told.examples:
        lines += [f'Q: "{example.q}"', f'A: "{example.a}"']
    return "\n".join([*lines, f'Q: "{task.question}"', "A:"])


_MARKS = (('"', '"'), ("“", "”"), ("'", "'"), ("‘", "’"))


def reply(text: str, kind: str) -> str:
    """What a model wrote, without the form of the examples: their `A:`, their quotation marks, and
    further examples that a model without a sense of an end makes up; of a VERDICT as it stands."""
    if kind == VERDICT:
        return text.strip()
    said = text.strip().removeprefix("A:").strip().split("\nQ:")[0].strip()
    for first, last in _MARKS:
        inner = said[1:-1]
        if len(said) > 2 and said[0] == first and said[-1] == last and not {first, last} & set(inner):
            return inner.strip()
    return said
