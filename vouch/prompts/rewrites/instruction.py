"""What a model is told: an instruction, worked examples and the question, one YAML file per kind.

The files of instructions/ hold the words of PARC (Schmalfuss et al. 2025, A7.2 and A7.4).
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from vouch.pipeline.yaml12 import load
from vouch.tables.thoughts import apart

PROMPTS = Path(__file__).parent / "instructions"


class Example(BaseModel):
    """A worked example."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    q: str
    a: str


class Instruction(BaseModel):
    """A file of instructions/."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    head: str
    examples: tuple[Example, ...]


@cache
def instruction(kind: str) -> Instruction:
    """The instruction for a kind."""
    return Instruction.model_validate(load(PROMPTS / f"{kind}.yaml"))


@dataclass(frozen=True)
class Task:
    """A question to be rewritten, as a model is asked for it. kind: one of vouch.tables.asked.KINDS."""

    question: str
    kind: str
    start_is_enough = False

    def __str__(self) -> str:
        return f"{self.kind} of {self.question[:80]!a}"

    @property
    def prompt(self) -> str:
        """The whole text that a model gets."""
        told = instruction(self.kind)
        lines = [told.head.strip()]
        for example in told.examples:
            lines += [f'Q: "{example.q}"', f'A: "{example.a}"']
        return "\n".join([*lines, f'Q: "{self.question}"', "A:"])

    def read(self, said: str) -> str:
        """What a model wrote, without its thought and the form of the examples: their `A:`, their quotation
        marks, and further examples that a model without a sense of an end makes up."""
        said = apart(said).answer.strip().removeprefix("A:").strip().split("\nQ:")[0].strip()
        for first, last in _MARKS:
            inner = said[1:-1]
            if len(said) > 2 and said[0] == first and said[-1] == last and not {first, last} & set(inner):
                return inner.strip()
        return said


_MARKS = (('"', '"'), ("“", "”"), ("'", "'"), ("‘", "’"))
