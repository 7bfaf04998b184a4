"""pin: which weights exactly a model is, and how its answers are read. One JSON file a model.

model       slug
engine      file in vouch/models/engines, or `released` for answers that others released
source      {"kind": "folder" | "hub" | "server" | "released", "path", "repo" and
            "revision", or "url" and "name"}
template    text of the chat template that stands in for the model's own, null for its own
processor   settings of the image processor over those of the model folder, left out where there are none
answer_prefix  how an answer begins before its letter is read, left out where there is none
template_kwargs  variables of the chat template, left out where there are none
reasoning   how the model thinks before it answers, left out where it does not
files       name -> SHA-256 of every file of the model folder that may be loaded, or of every file of answers
dtype       float32 | bfloat16 | float16
parameters  number of parameters, null where unknown
facts       what analyses group by: family, base or chat, licence, ... (from models.lock)

The pin's digest covers what can change an answer (files, template and its variables, processor, reasoning,
engine, dtype, a server's name for the model) and nothing else: not the path or address, so that moving a
folder repeats no work, and not the prefix, which is part of each prompt whose letter is read.
"""

import hashlib
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from vouch.pipeline.errors import UserError
from vouch.pipeline.files import canonical_json, check_plain, write_json
from vouch.tables.thoughts import without_mark

WEIGHT_SUFFIX = ".safetensors"
INDEX = "model.safetensors.index.json"
# What transformers loads of a model folder; other texts (a licence, a note) change no answer.
LOADED = (f"*{WEIGHT_SUFFIX}", "*.json", "*.model", "*.jinja", "merges.txt", "vocab.txt", "dict.txt")
SECOND = "qformer_tokenizer"  # the folder within InstructBLIP's that holds its second tokenizer
FURTHER_TEMPLATES = "additional_chat_templates"  # a folder from which transformers would take templates
MOST_BYTES = 1 << 28  # of a file that is not weights; the largest vocabularies have some tens of MB
CHUNK = 1 << 20


_CLOSING = re.compile(r"</\w[^<>]*>")
Dtype = Literal["float32", "bfloat16", "float16"]


class Source(BaseModel):
    """Where the model or its answers come from, or which server answers for the model."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["folder", "hub", "server", "released"]
    path: str | None = None
    repo: str | None = None
    revision: str | None = None
    url: str | None = None
    name: str | None = None


class Reasoning(BaseModel):
    """How a model thinks before it answers.

    tokens: most tokens of the thought. closes: what ends the thought, and all that the model writes between
    it and its answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens: int = Field(ge=1, le=1 << 17)
    closes: str = Field(default="</think>", pattern=r"\S")

    @property
    def ends(self) -> str:
        """What ends the thought: the closing tag with which `closes` begins, or all of it."""
        whole = self.closes.strip()
        tag = _CLOSING.match(whole)
        return tag[0] if tag else whole

    def bare(self, thought: str) -> str:
        """A thought without the mark that opens it."""
        return without_mark(thought.strip().removeprefix(self.ends.replace("</", "<", 1)))


class Pin(BaseModel):
    """The contents of a pin file."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    version: Literal[2] = 2
    model: str
    engine: str
    source: Source
    files: dict[str, str]
    template: str | None = None
    # a pin without these has the bytes that it had before there were any
    processor: dict[str, Any] = Field(default={}, exclude_if=lambda value: not value)
    answer_prefix: str | None = Field(default=None, exclude_if=lambda value: value is None)
    template_kwargs: dict[str, Any] = Field(default={}, exclude_if=lambda value: not value)
    reasoning: Reasoning | None = Field(default=None, exclude_if=lambda value: value is None)
    dtype: Dtype = "float32"
    parameters: int | None = None
    facts: dict[str, Any] = {}

    @property
    def digest(self) -> str:
        """SHA-256 over everything that can change an answer, hexadecimal."""
        relevant = {
            "engine": self.engine,
            "files": self.files,
            "template": self.template,
            "dtype": self.dtype,
            "name": self.source.name,
            **({"processor": self.processor} if self.processor else {}),
            **({"template_kwargs": self.template_kwargs} if self.template_kwargs else {}),
            **({"reasoning": self.reasoning.model_dump()} if self.reasoning else {}),
        }
        return hashlib.sha256(canonical_json(relevant).encode()).hexdigest()


def pin_path(model: str) -> Path:
    """Where the pin of a model lies."""
    return Path("data/models") / f"{model}.json"


def read_pin(path: Path) -> Pin:
    """The pin in a file. Raises UserError where it is missing or not a pin."""
    try:
        return Pin.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; run `dvc repro`, or `dvc pull` to fetch it") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a pin of version 2 ({str(error)[:120]}); run `dvc repro`") from None


def write_pin(path: Path, pin: Pin) -> None:
    """Writes a pin as canonical JSON, atomically."""
    write_json(path, pin.model_dump())


def is_loaded(name: str) -> bool:
    """Whether transformers may load a file of that name, directly in a model folder or in SECOND."""
    name = name.removeprefix(f"{SECOND}/")
    plain = "/" not in name and not name.startswith(".")
    return plain and any(fnmatchcase(name, pattern) for pattern in LOADED)


def hub_snapshot(repo: str, revision: str, local: bool) -> Path:
    """The folder in the hub's cache that holds one commit, with the files that are loaded.

    Of subfolders SECOND alone is (or what begins as it does, which nobody reads).

    local: nothing is fetched. Raises what huggingface_hub raises.
    """
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(
            repo,
            revision=revision,
            allow_patterns=list(LOADED),
            ignore_patterns=[f"[!{SECOND[0]}]*/*"],
            local_files_only=local,
        )
    )


def check_small(path: Path) -> None:
    """Raises UserError where a file of a model, other than its weights, is no plain file or far too large."""
    check_plain(path)
    size = path.stat().st_size if path.is_file() else 0
    if size > MOST_BYTES and not path.name.endswith(WEIGHT_SUFFIX):
        raise UserError(
            f"{path}: {size:,} bytes, of which a model needs {MOST_BYTES:,} at most; fetch it anew"
        )


def read_json(path: Path) -> dict[str, Any]:
    """The mapping in a JSON file of a model, empty where it holds something else. Raises UserError."""
    check_small(path)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not readable as JSON ({error}); fetch the model anew") from None
    return value if isinstance(value, dict) else {}


def indexed_files(index: Path) -> list[str]:
    """Names of the weight files that an index lists, sorted; all beside it. Raises UserError."""
    names = read_json(index).get("weight_map")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise UserError(f"{index}: has no weight_map from tensors to file names; fetch the model anew")
    for name in sorted(set(names.values())):
        if Path(name).name != name or not name.endswith(WEIGHT_SUFFIX):
            raise UserError(
                f"{index}: names the weights {name[:80]!r}, which no digest would cover; save the model as "
                f"{WEIGHT_SUFFIX} files in one folder"
            )
    return sorted(set(names.values()))


def check_covered(folder: Path) -> None:
    """Raises UserError where transformers would load a file that `folder_digests` does not cover."""
    if (folder / FURTHER_TEMPLATES).exists():
        raise UserError(
            f"{folder / FURTHER_TEMPLATES}: chat templates that no digest covers; move this folder "
            "away, and name the right one as `template` in models.lock"
        )
    if (folder / INDEX).is_file():
        indexed_files(folder / INDEX)
    config = folder / "config.json"
    if config.is_file() and "transformers_weights" in read_json(config):
        raise UserError(
            f"{config}: names weights of its own (transformers_weights), which no digest would cover; save "
            "the model anew"
        )


def file_digest(path: Path) -> str:
    """SHA-256 of a file, hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as handle:
        while chunk := handle.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def folder_digests(folder: Path) -> dict[str, str]:
    """Name -> SHA-256 of every file in a model folder that transformers may load.

    Notes on the model, weights in other formats and code are left out: they change no answer. Raises
    UserError where the folder is missing or holds no safetensors weights.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such model folder; run `dvc repro`, or `dvc pull` to fetch it")
    paths = [*folder.iterdir(), *((folder / SECOND).iterdir() if (folder / SECOND).is_dir() else ())]
    for path in paths:
        check_plain(path)
    found = [path.relative_to(folder).as_posix() for path in paths if path.is_file()]
    names = sorted(filter(is_loaded, found))
    if not any(name.endswith(WEIGHT_SUFFIX) for name in names):
        raise UserError(f"{folder}: no *{WEIGHT_SUFFIX} weights; save the model with safe serialization")
    for name in names:
        if not name.isprintable():  # half a surrogate pair stands for bytes that are not UTF-8
            raise UserError(f"{folder}: holds a file with the unprintable name {name!a}; rename or remove it")
        check_small(folder / name)
    return {name: file_digest(folder / name) for name in names}
