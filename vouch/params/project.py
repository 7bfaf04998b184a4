"""params.yaml and models.lock as a whole: which keys there are, what each may be, and the defaults.

Each stage's own model of its parameters is in that stage's package, so that a new key for one stage does
not change another. DVC reads params.yaml itself: every key that dvc.yaml names must be in it, and
`dvc exp run -S KEY=VALUE` changes only such keys. So `vouch use` writes a profile's defaults into
params.yaml, where people see them as well.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from vouch.browse.config import BrowseConfig
from vouch.datasets.config import DatasetEntry
from vouch.demo.config import Config as TrainConfig
from vouch.metrics.comparison.config import CompareConfig
from vouch.metrics.config import ScoreConfig
from vouch.models.config import ExtractConfig
from vouch.models.encoders.config import EmbedConfig
from vouch.models.lock_entry import LockEntry
from vouch.pipeline.validation import EACH_ONCE, JOINED, NAME, PLACE, each_once
from vouch.pipeline.yaml12 import load
from vouch.prompts.rewrites.config import RewriteConfig
from vouch.report.config import ReportConfig
from vouch.tables.asked import Output

NAMED = (
    *("profile", "helpers", "train", "variations", "outputs", "rewrite", "rewrite.rewriter", "embed"),
    *("embed.images", "embed.images.encoder", "embed.texts", "embed.texts.encoder", "extract", "score"),
    "score.alpha",
    *("compare", "browse", "report"),
)
"""Keys that dvc.yaml names and that have a default."""
OF_ENTRY = ("loader",)
"""The same for a dataset's entry."""


def left_out(values: Any) -> Iterator[tuple[str, Any]]:
    """The keys among these that a params file lacks, with their defaults; a section counts as one key."""
    every = _defaults(Project)
    for key in NAMED:
        *parents, last = key.split(".")
        level = _at(values, parents)
        if isinstance(level, Mapping) and last not in level:
            yield key, _at(every, [*parents, last])
    of_entry, datasets = _defaults(DatasetEntry), _at(values, ["datasets"])
    for name, entry in datasets.items() if isinstance(datasets, Mapping) else ():
        for key in OF_ENTRY:
            if isinstance(entry, Mapping) and key not in entry:
                yield f"datasets.{name}.{key}", of_entry[key]


def _at(values: Any, path: Sequence[str]) -> Any:
    for part in path:
        values = values.get(part) if isinstance(values, Mapping) else None
    return values


def _defaults(model: type[BaseModel]) -> dict[str, Any]:
    fields = model.model_fields.items()
    found = {name: field.get_default(call_default_factory=True) for name, field in fields}
    return {
        name: value.model_dump(mode="json", exclude_none=True) if isinstance(value, BaseModel) else value
        for name, value in found.items()
    }


PARAMS = Path("params.yaml")
MODELS = Path("models.lock")

# Letters, digits and underscores: DVC splits parameter paths at dots and joins loop keys with `-`.
# They become file names, two of them in one: a file name has 255 bytes at most.
LONGEST_SLUG = 100
Slug = Annotated[str, StringConstraints(pattern=NAME, max_length=LONGEST_SLUG)]

# A folder of weights, a folder or file of released answers, or `models.lock`: the source named there.
ModelSource = Annotated[str, StringConstraints(pattern=PLACE)]

# Variations joined with `+`; they become parts of file names as well.
Combination = Annotated[str, StringConstraints(pattern=JOINED, max_length=100)]


VARIATIONS = ("original", "option_order", "lr_i", "ls_n", "vr_b_5", "vr_l", "blank")
"""The variations that apply to any question about an image."""


class OtherModels(BaseModel):
    """Models of a paper that no entry of models.lock loads.

    names: the paper's. A driver says itself which of them it asks (`ABOUT` in drivers/NAME.py). generic: the
    form in which drivers/huggingface.py fits them. server: one that serves them by its documentation. why:
    what stands against asking them without any of these. models: how many each name stands for, if the paper
    names a series. datasets: those that the paper asked them; by default all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    names: list[str] = Field(min_length=1)
    models: int = Field(default=1, ge=1)
    datasets: list[Slug] = []
    generic: Literal["processor", "images", "chat"] | None = None
    server: str | None = Field(default=None, min_length=1)
    why: str = Field(min_length=1)


class PaperOfProfile(BaseModel):
    """The study that a profile repeats, and each of its models once, for `vouch plan`: no stage reads it.

    entries: the paper's name of a model -> its entry of models.lock. others: all other models. released:
    whether the authors released the answers of all models.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    released: bool = False
    entries: dict[str, Slug] = {}
    others: list[OtherModels] = []

    @model_validator(mode="after")
    def _once(self) -> Self:
        names = [*self.entries, *(name for group in self.others for name in group.names)]
        each_once(names, advice="name each model of the paper once")
        return self


class Released(BaseModel):
    """Released answers, from which `vouch use` writes datasets and models.

    path: a folder as `vouch released` makes it. datasets: those to take; by default all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(min_length=1)
    datasets: Annotated[list[str], EACH_ONCE] = Field(default=[], json_schema_extra={"uniqueItems": True})


class Project(BaseModel):
    """params.yaml as a whole. Only data and models have no default.

    train: demo models to train, each into data/trained/NAME. models: those that answer the questions, and
    where each comes from. helpers: further models, which rewrite questions or encode images and texts.
    outputs: what questions with options are asked for, in place of what the prompt templates say.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    profile: str = "mine"
    paper: PaperOfProfile | None = None
    datasets: dict[Slug, DatasetEntry] = Field(min_length=1)
    models: dict[Slug, ModelSource]
    helpers: dict[Slug, ModelSource] = {}
    variations: list[Combination] = Field(default=list(VARIATIONS), min_length=1)
    outputs: list[Output] | None = Field(default=None, min_length=1)
    rewrite: RewriteConfig = RewriteConfig()
    embed: EmbedConfig = EmbedConfig()
    train: dict[Slug, TrainConfig] = {}
    extract: ExtractConfig = ExtractConfig()
    score: ScoreConfig = ScoreConfig()
    compare: CompareConfig = CompareConfig()
    browse: BrowseConfig = BrowseConfig()
    report: ReportConfig = ReportConfig()

    @property
    def sources(self) -> dict[str, str]:
        """Where each model and helper comes from."""
        return {**self.models, **self.helpers}


class Models(BaseModel):
    """models.lock as a whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    models: dict[Slug, LockEntry]


def locked_models() -> dict[str, LockEntry]:
    """The entries of a models.lock that was checked."""
    return Models.model_validate(load(MODELS)).models
