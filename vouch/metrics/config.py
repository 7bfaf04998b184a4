"""Parameters of the scoring, `score` in params.yaml."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    create_model,
    field_validator,
)

from vouch.metrics.conformal.scores import SCORES, Settings
from vouch.metrics.conformal.sets import STRATA
from vouch.metrics.metric import MARGINAL
from vouch.metrics.text.answers import ANSWERS
from vouch.metrics.text.corpus import OF_CORPUS
from vouch.metrics.text.parsers import DEFAULT_PARSERS, PARSERS
from vouch.pipeline.errors import did_you_mean
from vouch.pipeline.validation import each_once
from vouch.tables import HEADLINE
from vouch.tables.answered import Device

Share = Annotated[float, Field(gt=0, lt=1)]
# The value's type selects one of the two, so that a wrong value is one problem, not two.
Alpha = Annotated[
    Annotated[Share, Tag("[one]")] | Annotated[list[Share], Field(min_length=1), Tag("[several]")],
    Discriminator(lambda given: "[several]" if isinstance(given, list) else "[one]"),
]
DEFAULT_ANSWER = "exact_match"


class Judge(BaseModel):
    """A model that reads the generated answers to questions with options that no parser can decide.

    model: NAME of models or helpers, with weights or a server; none by default. open: whether it also judges
    every answer to an open question by the references. sample: for how many questions of a model and dataset
    people decide as well (`vouch review judge`). device, threads, max_tokens (most tokens of a reply): for
    the model.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    where: ClassVar[str] = "score.judge"
    model: str | None = None
    open: bool = False
    sample: int = Field(default=100, ge=1, le=100_000)
    device: Device = "auto"
    threads: int = Field(default=1, ge=1, le=1024)
    max_tokens: int = Field(default=16, ge=1, le=4096)


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def settings_model() -> type[BaseModel]:
    """Parameters of the scores that have some, as the scores declare them."""
    of_scores: dict[str, Any] = {}
    for name, score in SCORES.items():
        if not score.parameters:
            continue
        fields: dict[str, Any] = {
            key: (type(each.default), Field(default=each.default, ge=each.least, le=each.most))
            for key, each in score.parameters.items()
        }
        meaning = "; ".join(f"{key}: {each.meaning}" for key, each in score.parameters.items())
        model = create_model(name.capitalize(), __base__=_Closed, __doc__=f"{meaning}.", **fields)
        of_scores[name] = (model, model())
    doc = "Parameters of the scores that have some."
    return create_model("Settings", __base__=_Closed, __doc__=doc, **of_scores)


if TYPE_CHECKING:
    SettingsModel = BaseModel
else:
    SettingsModel = settings_model()


def _known(table: Mapping[str, object]) -> AfterValidator:
    """Checks that a list names entries of a table, each once and at least one."""

    def check(names: list[str]) -> list[str]:
        valid = sorted(table)
        for name in names:
            if name not in valid:
                raise ValueError(f"unknown name {name:.60}; {did_you_mean(name, valid)}")
        if not names:
            raise ValueError(f"must name one or several of {', '.join(valid)}")
        return each_once(names)

    return AfterValidator(check)


def _grading(names: list[str]) -> list[str]:
    """Checks that the first metric gives each text a grade."""
    if names[0] in OF_CORPUS:
        of_texts = ", ".join(ANSWERS)
        raise ValueError(f"{names[0]} is of all texts together; name one of single texts first: {of_texts}")
    return names


class ScoreConfig(BaseModel):
    """alpha: target miscoverage, or several, the first of which is the main one. seed: of every split.

    calibration: share of the items that calibrate. splits: repeated splits of the clean protocol. bins: of
    ECE and MCE. scores, from vouch/metrics/conformal/scores.py, and settings of some of them; the faithful
    protocol has those of vouch/metrics/protocols.py. strata, of the clean protocol only: what has a threshold
    of its own (vouch/metrics/conformal/sets.py). shares: further calibration shares, for which coverage and
    set size are given beside those of the main one. other_spelling: models whose letters are scored in the
    spelling that is stored as `other_logits`, ` A` for `A` or the reverse. parsers: rules
    that read an option out of a generated text, in the order in which they are tried. judge: what reads
    the answers that they leave undecided. answers: by dataset,
    the metrics of its open questions, `exact_match` where none are named; the first, of single texts, is its
    accuracy.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    alpha: Alpha = 0.1
    calibration: Share = 0.5
    seed: int = Field(default=42, ge=0, lt=2**32)
    splits: int = Field(default=100, ge=1, le=100_000)
    bins: int = Field(default=15, ge=1, le=10_000)
    scores: Annotated[list[str], _known(SCORES)] = list(HEADLINE)
    settings: SettingsModel = SettingsModel()
    strata: Annotated[list[str], _known(STRATA)] = [MARGINAL]
    shares: list[Share] = []
    other_spelling: list[str] = []
    parsers: Annotated[list[str], _known(PARSERS)] = list(DEFAULT_PARSERS)
    judge: Judge = Judge()
    answers: dict[str, Annotated[list[str], _known({**ANSWERS, **OF_CORPUS}), AfterValidator(_grading)]] = {}

    @property
    def alphas(self) -> tuple[float, ...]:
        """All targets, the main one first."""
        return tuple(self.alpha) if isinstance(self.alpha, list) else (self.alpha,)

    @property
    def main_alpha(self) -> float:
        """The target of all headlines."""
        return self.alphas[0]

    @property
    def parameters(self) -> Settings:
        """The scores' parameters, as their formulas take them."""
        return self.settings.model_dump()

    def unused_answers(self, dataset: str, kinds: Collection[str]) -> str:
        """Why the metrics named for a dataset's answers would grade nothing, by the kinds of its questions
        (ITEMS); empty if they grade something."""
        if dataset not in self.answers or "text" in kinds:
            return ""
        names = ", ".join(self.answers[dataset])
        return (
            f"score.answers.{dataset}: all questions of {dataset} have options, so {names} would grade "
            f"nothing; remove {dataset} from score.answers"
        )

    def with_one_threshold(self) -> "ScoreConfig":
        """The same without strata and without the sweep over shares: for categories and variations."""
        return self.model_copy(update={"strata": [MARGINAL], "shares": []})

    @field_validator("alpha", "shares")
    @classmethod
    def _each_once(cls, value: list[object] | float) -> list[object] | float:
        return each_once(value) if isinstance(value, list) else value

    @field_validator("scores", "strata")
    @classmethod
    def _headlines(cls, value: list[str], info: ValidationInfo) -> list[str]:
        needed = HEADLINE if info.field_name == "scores" else (MARGINAL,)
        missing = [name for name in needed if name not in value]
        if missing:
            raise ValueError(f"{missing[0]} is missing; the headlines rest on {' and '.join(needed)}")
        return value
