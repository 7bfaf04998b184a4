"""Tables of models and their answers: pins, letters, likelihoods, texts, and a judge's verdicts.

A pin says exactly which weights a model is, and how its answers are read. `letters`, `likelihood` and `text`
are tables per model and dataset. Those of a model that thinks before it answers have one more column,
`reasoning`: the thought before this answer, without its end mark; null if there was none. Numbers are
those of the answer alone.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from vouch.pipeline.errors import UserError
from vouch.pipeline.files import canonical_json, check_plain, file_digest, write_json
from vouch.tables.asked import Output
from vouch.tables.table import Table, columns, per_dataset
from vouch.tables.thoughts import without_mark

WEIGHT_SUFFIX = ".safetensors"
INDEX = "model.safetensors.index.json"
# The files that transformers loads from a model folder; other texts (a licence, a note) change no answer.
LOADED = (f"*{WEIGHT_SUFFIX}", "*.json", "*.model", "*.jinja", "merges.txt", "vocab.txt", "dict.txt")
NOT_FETCHED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5", "*.msgpack", "*.onnx", "*.gguf", "*.ot")
SECOND = "qformer_tokenizer"  # the folder within InstructBLIP's that holds its second tokenizer
FURTHER_TEMPLATES = "additional_chat_templates"  # a folder from which transformers would take templates
MOST_BYTES = 1 << 28  # of a file that is not weights; the largest vocabularies have some tens of MB


_CLOSING = re.compile(r"</\w[^<>]*>")
Dtype = Literal["float32", "bfloat16", "float16"]
Device = Literal["auto", "cpu", "cuda", "split"]  # split: the model is spread over all GPUs


class Source(BaseModel):
    """The place that the model or its answers come from, or the server that answers for the model."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["folder", "hub", "server", "released"]
    path: str | None = None
    repo: str | None = None
    revision: str | None = None
    url: str | None = None
    name: str | None = None


class Reasoning(BaseModel):
    """How a model thinks before it answers.

    tokens: the most tokens of the thought. closes: the end of the thought, and all that the model writes
    between it and its answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens: int = Field(ge=1, le=1 << 17)
    closes: str = Field(default="</think>", pattern=r"\S")

    @property
    def ends(self) -> str:
        """The mark that ends the thought: the closing tag with which `closes` begins, or all of `closes`."""
        whole = self.closes.strip()
        tag = _CLOSING.match(whole)
        return tag[0] if tag else whole

    def bare(self, thought: str) -> str:
        """A thought without the mark that opens it."""
        return without_mark(thought.strip().removeprefix(self.ends.replace("</", "<", 1)))


class ProgramPin(BaseModel):
    """The program of a model whose code is its own: all that can change an answer, and where it is.

    driver, environment, code, parts: as in models.lock; the program is started by them. settings: given to
    the driver. driver_files: SHA-256 of the driver and of its own modules, by name. code_digest: one SHA-256
    of the code folder; commit: its commit if it is a clone. part_files: SHA-256 of each file of the parts,
    PART/FILE. packages: the environment's, NAME==VERSION. probe: the text that the model reads for a fixed
    question, and the tokens of its labels.
    """

    model_config = ConfigDict(extra="forbid")

    driver: str
    environment: str
    code: str | None = None
    parts: dict[str, Source] = {}
    settings: dict[str, Any] = {}
    driver_files: dict[str, str]
    code_digest: str | None = None
    commit: str | None = None
    part_files: dict[str, str] = {}
    packages: list[str]
    probe: dict[str, Any] | None = None

    @property
    def relevant(self) -> dict[str, Any]:
        """What can change an answer: no path, no name of an environment."""
        names = {"settings", "driver_files", "code_digest", "part_files", "packages"}
        return self.model_dump(include=names)


class Pin(BaseModel):
    """The contents of a pin, one JSON file a model.

    model       slug
    engine      one of ENGINES in vouch/models/engine.py, or `released` for answers that others released
    source      {"kind": "folder" | "hub" | "server" | "released", "path", "repo" and
                "revision", or "url" and "name"}
    template    text of the chat template that replaces the model's own, null if its own is used
    processor   settings of the image processor that override the model folder's, left out if there are none
    answer_prefix  how an answer begins before its letter is read, left out if there is no such text
    template_kwargs  variables of the chat template, left out if there are none
    reasoning how the model thinks before it answers, left out if it does not
    sees        whether it takes images; left out if it does. A language model does not: it is asked the same
                prompts without their images
    outputs     what a server or program can be asked for, left out if that is not known to be less than all
    program     the program of a model whose code is its own, left out for all others
    files       name -> SHA-256 of every file of the model folder that may be loaded, or of every answer file
    dtype       see Dtype
    parameters  number of parameters, null if unknown
    facts       what analyses can group by: family, base or chat, licence, ... (from models.lock)

    The digest covers all that can change an answer (files, template and its variables, processor, reasoning,
    engine, dtype, a server's name for the model) and nothing else: not the path or address, so that moving a
    folder repeats no work, and neither the prefix nor `sees` nor `outputs`: each prompt has the first, lacks
    its images without the second, and is not asked without the third.
    """

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    version: Literal[2] = 2
    model: str
    engine: str
    source: Source
    files: dict[str, str]
    template: str | None = None
    # empty ones are not written, so that pins without them keep their bytes
    processor: dict[str, Any] = Field(default={}, exclude_if=lambda value: not value)
    answer_prefix: str | None = Field(default=None, exclude_if=lambda value: value is None)
    template_kwargs: dict[str, Any] = Field(default={}, exclude_if=lambda value: not value)
    reasoning: Reasoning | None = Field(default=None, exclude_if=lambda value: value is None)
    sees: bool = Field(default=True, exclude_if=lambda value: value)
    outputs: list[Output] | None = Field(default=None, exclude_if=lambda value: value is None)
    program: ProgramPin | None = Field(default=None, exclude_if=lambda value: value is None)
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
            **({"program": self.program.relevant} if self.program else {}),
        }
        return hashlib.sha256(canonical_json(relevant).encode()).hexdigest()


def pin_path(model: str) -> Path:
    """The path of a model's pin."""
    return Path("data/models") / f"{model}.json"


def read_pin(path: Path) -> Pin:
    """The pin in a file. Raises UserError if it is missing or not a pin."""
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


def hub_snapshot(
    repo: str, revision: str, local: bool, everything: bool = False, weights: bool = True
) -> Path:
    """The folder in the hub's cache that holds one commit, with the files that are loaded.

    Of the subfolders, only SECOND is there (or others that begin like it, which nothing reads).

    local: whether to fetch nothing. everything: all files but pickles and other formats of weights, for a
    model with code of its own, which may read any; of these, `weights` may be left out. Raises the errors of
    huggingface_hub.
    """
    left_out = [*NOT_FETCHED, *([] if weights else [f"*{WEIGHT_SUFFIX}"])]
    from huggingface_hub import snapshot_download

    return Path(
        snapshot_download(
            repo,
            revision=revision,
            allow_patterns=None if everything else list(LOADED),
            ignore_patterns=left_out if everything else [f"[!{SECOND[0]}]*/*"],
            local_files_only=local,
        )
    )


def check_small(path: Path) -> None:
    """Raises UserError if a file of a model, other than its weights, is no plain file or far too large."""
    check_plain(path)
    size = path.stat().st_size if path.is_file() else 0
    if size > MOST_BYTES and not path.name.endswith(WEIGHT_SUFFIX):
        raise UserError(
            f"{path}: {size:,} bytes, of which a model needs {MOST_BYTES:,} at most; fetch it anew"
        )


def read_json(path: Path) -> dict[str, Any]:
    """The mapping in a JSON file of a model, empty if the file holds something else. Raises UserError."""
    check_small(path)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: not readable as JSON ({error}); fetch the model anew") from None
    return value if isinstance(value, dict) else {}


def indexed_files(index: Path) -> list[str]:
    """Sorted names of the weight files in an index. Raises UserError, also if one is in another folder."""
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
    """Raises UserError if transformers would load a file that `folder_digests` does not cover."""
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


def folder_digests(folder: Path) -> dict[str, str]:
    """Name -> SHA-256 of every file in a model folder that transformers may load.

    Notes on the model, weights in other formats and code are left out: they change no answer. Raises
    UserError if the folder is missing or holds no safetensors weights.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such model folder; run `dvc repro`, or `dvc pull` to fetch it")
    paths = [*folder.iterdir(), *((folder / SECOND).iterdir() if (folder / SECOND).is_dir() else ())]
    for path in paths:
        check_plain(path)
    relative = [path.relative_to(folder).as_posix() for path in paths if path.is_file()]
    names = sorted(filter(is_loaded, relative))
    if not any(name.endswith(WEIGHT_SUFFIX) for name in names):
        raise UserError(f"{folder}: no *{WEIGHT_SUFFIX} weights; save the model with safe serialization")
    for name in names:
        if not name.isprintable():  # half a surrogate pair stands for bytes that are not UTF-8
            raise UserError(f"{folder}: holds a file with the unprintable name {name!a}; rename or remove it")
        check_small(folder / name)
    return {name: file_digest(folder / name) for name in names}


LOW_MASS = 0.5
"""Letter mass below which an answer is more likely to begin with something other than a letter."""
OTHER_MODEL = "other_model"
"""The flag of an answer whose server gave another model name than the pinned one."""
ANSWER = """
pixels   string    SHA-256 over the decoded images that were shown, or empty
engine   string    name of the engine, its revision and that of how images are decoded, `transformers/2.1`
mode     string    how the engine computed it, trie | batch | plain | ...; null where unknown
rows     int32     rows of the forward pass; smaller than `extract.batch` where memory ran out; null where
                   unknown
device   string    cpu-x86-64-v3 (kernels that vouch/pipeline/processor.py fixes) | cpu (others) | cuda |
                   ... | released | server
flags    string[]  low_mass (letter mass < 0.5, LOW_MASS), other_spelling (the model prefers `A` where ` A`
                   is read, or the reverse), control_tokens (the text holds a token with a meaning of its
                   own), close (the two best letters are less than 0.25 apart), censored, other_model (a
                   server answered for another model)
problem  string    why there is no answer, one line; null where there is one
"""
"""Columns that every answer has, whatever was asked."""
REASONING = pa.field("reasoning", pa.string())

LETTERS = Table(  # the model's score for each option letter (`labels` of prompts) at the start of its answer
    "letters",
    2,
    columns(
        """
prompt        string     id of the prompt
logits        float32[]  one per option letter, in their order, in the dtype in which the source gave them;
                         released files may hold more letters than the prompt has options, never fewer. An API
                         model gives log-probabilities; a letter that its server left out is -inf. Null
                         without an answer
upper         float32[]  where letters were left out (flag censored): the largest values `logits` can have;
                         null elsewhere. The truth lies between, so a score is taken at both ends
spelling      string     what stood before each letter of `logits`: nothing or a space, as the model's chat
                         template or the answer's beginning has it; null where unknown
other_logits  float32[]  the same letters in the other spelling, null where it has no tokens at this place
letter_mass   float32    share of the full vocabulary's probability on the letters of both spellings, at the
                         place where they are read: that of digits is often after a space; null where unknown
bracket_mass  float32    the same on `(`, with which some models begin; null where unknown
nll           float32    of the most likely first token, nats; null where unknown
entropy       float32    of the full vocabulary at that position, nats; null where unknown
"""
        + ANSWER
    ),
    alternatives={"logits": (pa.list_(pa.float64()),)},
    measured=True,
)
LIKELIHOOD = Table(  # how likely a model finds each option's text as its answer; a row per option
    "likelihood",
    2,
    columns(
        """
prompt  string   id of the prompt
option  int32    0-based index of the option as shown
nll     float64  summed negative log-likelihood of the option's tokens, nats; null without an answer. With the
                 end-of-sequence token for encoder-decoder models, without for the others (as in ReForm-Eval,
                 Li et al. 2023)
tokens  int32    number of tokens in that sum
bytes   int32    UTF-8 bytes of the option; so every reduction comes from one pass
"""
        + ANSWER
    ),
    measured=True,
)
TEXT = Table(  # texts that a model generates; a row for the greedy text and one per sample
    "text",
    2,
    columns(
        """
prompt       string     id of the prompt
temperature  float32    of sampling; 0 for greedy decoding
sample       int32      0 for greedy decoding, 1 ... T for the samples at a temperature
text         string     the generated text without the end-of-sequence token; null without an answer
logprobs     float32[]  log-probability (at temperature 1) of each generated token, nats; with the
                        end-of-sequence token
entropies    float32[]  of the full vocabulary (at temperature 1) at each of these steps, divided by the
                        logarithm of the number of tokens; null where a server does not tell
eos          int32      0-based position of the end-of-sequence token, null where `max_tokens` cut the text
"""
        + ANSWER
    ),
)


class Response(NamedTuple):
    """A table of answers. path: gives the path of its file for a model and a dataset."""

    table: Table
    path: Callable[[str, str], Path]


def _response(table: Table) -> Response:
    return Response(
        table, lambda model, dataset: Path(f"data/responses/{dataset}/{model}.{table.name}.parquet")
    )


RESPONSES: Mapping[str, Response] = {table.name: _response(table) for table in (LETTERS, LIKELIHOOD, TEXT)}
"""Request type -> the table for its answers."""
letters_path, likelihood_path, text_path = (found.path for found in RESPONSES.values())


def first_problem(model: str, dataset: str, output: str) -> str:
    """Why the first prompt without an answer has none; empty if all have one, or the answers are not here."""
    table, path = RESPONSES[output].table, RESPONSES[output].path(model, dataset)
    problems = table.read(path, ["problem"])["problem"].drop_null() if path.exists() else []
    return str(problems[0]) if len(problems) else ""


def schema(output: str, reasoning: bool) -> pa.Schema:
    """Columns of a table of answers. reasoning: whether the model thinks before it answers."""
    whole = RESPONSES[output].table.schema
    return whole.append(REASONING) if reasoning else whole


CORRECT, INCORRECT, NONE = "correct", "incorrect", "none"

JUDGED = Table(  # a row per distinct judged answer: undecided by rules or, with `score.judge.open`, open
    "judged",
    2,
    columns("""
key      string   SHA-256 of what was judged: the question, its options as shown or its references,
                  and the answer
verdict  string   option | several | none, of an open question correct | incorrect | none
index    int32    0-based index of the option as shown; null for the other verdicts
reply    string   the judge's own words, or why there are none, at most 120 characters
judge    string   `ENGINE/REVISION MODEL PIN` with the first digits of the pin's digest, and `prompt VERSION`
"""),
)
judged_path = per_dataset("data/judged/{}.parquet")
