"""Where others' answers are in the folder that `models.NAME` of params.yaml names, one file per dataset.

Three layouts; the first that is there is used:

    answers.yaml                   DATASET: {file: logs/mm.jsonl, form: lm_eval, key: doc.id, filter: none}
                                   DATASET: {file: mm.xlsx, form: table, key: index, text: prediction}
    logits-DATASET/MODEL.parquet   as VLM-Uncertainty-Bench releases its results, or pickles/MODEL.DATASET.pkl
    DATASET.parquet                the dataset's name and a suffix that a form reads

Others' names are compared as slugs: `Yi-VL-6B` is yi_vl_6b.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

from vouch.pipeline.dag import left_out
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.validation import PLACE, validated
from vouch.pipeline.yaml12 import load
from vouch.tables.results import model_slug

INDEX = "answers.yaml"
MAX_BYTES = 256 * 2**20


@dataclass(frozen=True)
class ReleasedForm:
    """What a file of released answers contains, and the suffixes that indicate it."""

    holds: Literal["logits", "samples", "table"]
    suffixes: tuple[str, ...]


FORMS = {
    "lm_eval": ReleasedForm("samples", (".jsonl", ".gz")),
    "lmms_eval": ReleasedForm("samples", (".jsonl", ".gz")),
    "parquet": ReleasedForm("logits", (".parquet",)),
    "pickle": ReleasedForm("logits", (".pkl", ".pickle")),
    "table": ReleasedForm("table", (".csv", ".tsv", ".xlsx")),
}
"""Forms by name. logits.py, samples.py and tables.py read files of these forms."""


class AnswerFile(BaseModel):
    """One file of answers. file: its path, in answers.yaml from that folder on.

    form: one of FORMS if the suffix does not tell it. For logs of samples, key: the field that names the item
    (`doc.id`); by default doc_id is its index; filter: which of several filters. For tables, key and text:
    the columns of ids and answers, `id` and `text` by default.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str = Field(pattern=PLACE)
    form: str | None = None
    key: str | None = Field(default=None, min_length=1)
    filter: str | None = None
    text: str | None = Field(default=None, min_length=1)

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.file)


class _Index(RootModel[dict[str, AnswerFile]]):
    """answers.yaml: dataset -> its file."""


def answer_files(folder: Path, model: str) -> dict[str, AnswerFile]:
    """Dataset -> the file that answers it for a model. Raises UserError if there is none."""
    if not folder.exists():
        raise UserError(f"{folder}: no such folder; restore it, or correct models.{model} in params.yaml")
    index = folder / INDEX
    if index.is_file():
        entries = validated(_Index, load(index), str(index)).root
        answers = {
            name: one.model_copy(update={"file": str(folder / one.file)}) for name, one in entries.items()
        }
        outside = [
            one.path for one in answers.values() if not one.path.resolve().is_relative_to(folder.resolve())
        ]
        if outside:
            raise UserError(f"{index}: {outside[0]}: leads out of the folder; move the file into it")
    else:
        answers = dict(_published(folder, model)) or dict(_plain(folder))
    if not answers:
        raise UserError(
            f"{folder}: neither a model (no config.json) nor answers of {model}: no {INDEX}, no "
            f"logits-DATASET/*.parquet or pickles/*.DATASET.pkl of that name, no DATASET.SUFFIX with "
            f"{', '.join(_suffixes())}; name another folder as models.{model}"
        )
    for one in answers.values():
        form_of(one.path, one.form)
        if part := left_out(one.path):
            raise UserError(
                f"{one.path}: .dvcignore leaves out {part}, so changes would go unseen; give it another name"
            )
        if not one.path.is_file():
            raise UserError(f"{one.path}: no such file; restore it, or correct {INDEX}")
        if one.path.stat().st_size > MAX_BYTES:
            raise UserError(f"{one.path}: larger than {MAX_BYTES:,} bytes; leave out what is not needed")
    return answers


def released_models(folder: Path, dataset: str) -> dict[str, Path]:
    """Model -> file of a folder laid out as VLM-Uncertainty-Bench's; a parquet file goes before a pickle."""
    paths: dict[str, Path] = {}
    for path in sorted(folder.glob(f"logits-{dataset}/*.parquet")):
        paths.setdefault(model_slug(path.stem, f"{path}: model name"), path)
    for path in sorted(folder.glob(f"pickles/*.{dataset}.pkl")):
        name = path.name.removesuffix(f".{dataset}.pkl")
        paths.setdefault(model_slug(name, f"{path}: model name"), path)
    return paths


def relative(path: Path, folder: Path) -> str:
    """A file's name in a pin."""
    return path.relative_to(folder).as_posix() if path != folder else path.name


def form_of(path: Path, name: str | None = None) -> tuple[str, ReleasedForm]:
    """The name and form of that name, or those that the suffix indicates. Raises UserError."""
    if name is not None:
        if name not in FORMS:
            raise UserError(f"{path}: unknown form {name:.60}; {did_you_mean(name, list(FORMS))}")
        return name, FORMS[name]
    fitting = [form for form, known in FORMS.items() if path.suffix in known.suffixes]
    if len(fitting) > 1:
        raise UserError(
            f"{path}: {' and '.join(fitting)} write such files; say which in {INDEX} beside it, e.g. "
            f"`DATASET: {{file: {path.name}, form: {fitting[0]}}}`"
        )
    if not fitting:
        suffix = path.suffix or "nothing"
        raise UserError(f"{path}: files ending in {suffix} are not read; valid: {', '.join(_suffixes())}")
    return fitting[0], FORMS[fitting[0]]


def _suffixes() -> list[str]:
    return sorted({suffix for form in FORMS.values() for suffix in form.suffixes})


def _published(folder: Path, model: str) -> Iterator[tuple[str, AnswerFile]]:
    """Dataset and answers, from a folder laid out as VLM-Uncertainty-Bench's."""
    names = {path.name.removeprefix("logits-") for path in folder.glob("logits-*/")}
    names |= {path.suffixes[-2][1:] for path in folder.glob("pickles/*.*.pkl")}
    for name in sorted(names):
        path = released_models(folder, name).get(model)
        if path is not None:
            yield model_slug(name, f"{path}: dataset name"), AnswerFile(file=str(path))


def _plain(folder: Path) -> Iterator[tuple[str, AnswerFile]]:
    """Dataset and answers: one file per dataset, or the source itself if it is a file."""
    suffixes = _suffixes()
    paths = [folder] if folder.is_file() else sorted(folder.iterdir())
    seen: dict[str, Any] = {}
    for path in paths:
        if path.is_file() and path.suffix in suffixes:
            name = model_slug(path.name.split(".")[0], f"{path}: dataset name")
            if name in seen:
                raise UserError(f"{path}: {seen[name]} answers {name} as well; keep one")
            seen[name] = path.name
            yield name, AnswerFile(file=str(path))
