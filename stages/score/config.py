"""Parameters of the scoring, `score` in params.yaml."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from stages.runtime.errors import did_you_mean
from stages.score.plugins import load

PARSERS = ("tail", "letter", "option_text", "refusal", "first_mark")
DEFAULT_ANSWER = "exact_match"


def _known(package: str) -> AfterValidator:
    """Checks that a list names files of stages/score/PACKAGE, each once and at least one."""

    def check(names: list[str]) -> list[str]:
        valid = list(load(package))
        for name in names:
            if name not in valid:
                raise ValueError(f"unknown name {name}; {did_you_mean(name, valid)}")
        if not names or len(set(names)) < len(names):
            raise ValueError(f"must name one or several of {', '.join(valid)}, each once")
        return names

    return AfterValidator(check)


class Config(BaseModel):
    """alpha: target miscoverage. calibration: share of the items that calibrate. seed: of every split.

    splits: repeated splits of the clean reading. bins: of ECE and MCE. parsers: rules that read an option out
    of a generated text, in the order in which they are tried. answers: by dataset, the metrics of its open
    questions, `exact_match` where none are named; the first is its accuracy.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    alpha: float = Field(gt=0, lt=1)
    calibration: float = Field(gt=0, lt=1)
    seed: int = Field(ge=0, lt=2**32)
    splits: int = Field(ge=1, le=100_000)
    bins: int = Field(ge=1, le=10_000)
    parsers: Annotated[list[str], _known("parsers")] = list(PARSERS)
    answers: dict[str, Annotated[list[str], _known("answers")]] = {}
