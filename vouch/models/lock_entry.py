"""One entry of models.lock."""

import math
import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from vouch.pipeline.hub import REPOSITORY, commit
from vouch.pipeline.validation import EACH_ONCE
from vouch.tables.answered import WEIGHT_SUFFIX, Dtype, Reasoning
from vouch.tables.asked import Output

LOCK = "models.lock"
_Count = Field(default=None, ge=1)


class _LockEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Facts(_LockEntry):
    """Facts from the papers that measured a model, and from its model card (licence).

    papers                      short names of the papers: Kostumov et al. 2024, Azad et al. 2025 (The Art
                                of Saying "Maybe"), Li et al. 2023 (ReForm-Eval), Tu et al. 2024 (Ranked
                                from Within), Schmalfuss et al. 2025 (PARC)
    family, series              LLaVA and LLaVA-1.5
    base_or_chat                whether the model was tuned to follow instructions
    language_model, vision_encoder, connector   names; parts of the model
    language_model_parameters, total_parameters, trainable_parameters   counts
    trainable_language_model_parameters   of these, the language model's own and those added to it
    visual_tokens               tokens that one image becomes
    resolution                  side of the square that the vision encoder sees, pixels
    training_data               names of data sets
    training_data_size          samples, pre-training and instruction tuning together
    pretraining_data, pretraining_data_size   `high quality`, or `filtered` by rules or by CLIP; samples
    instruction_datasets        how many data sets of instruction tuning
    curation                    high: established data sets in balance; low: crawled, annotated by machine
    licence                     as the model card writes it
    """

    papers: list[Literal["kostumov", "azad", "reform", "tu", "parc"]] = []
    family: str | None = None
    series: str | None = None
    base_or_chat: Literal["base", "chat"] | None = None
    language_model: str | None = None
    language_model_parameters: int | None = _Count
    vision_encoder: str | None = None
    connector: str | None = None
    total_parameters: int | None = _Count
    trainable_parameters: int | None = _Count
    trainable_language_model_parameters: int | None = Field(default=None, ge=0)
    visual_tokens: int | None = _Count
    resolution: int | None = _Count
    training_data: list[str] | None = None
    training_data_size: int | None = _Count
    pretraining_data: Literal["high quality", "filtered"] | None = None
    pretraining_data_size: int | None = _Count
    instruction_datasets: int | None = _Count
    curation: Literal["high", "low"] | None = None
    licence: str | None = None


# of weights on this machine, of a server, of a model's own code in an environment of its own
LOCAL_ENGINE, SERVER_ENGINE, PROGRAM_ENGINE = "transformers", "openai", "program"
OPENAI = "https://api.openai.com/v1"

_REPO = re.compile(rf"{REPOSITORY}(/{REPOSITORY})?")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_ADDRESS = re.compile(r"[!-~]{1,2000}")


class FolderSource(_LockEntry):
    """A model folder on this machine. path: from the repository's root, or absolute."""

    kind: Literal["folder"]
    path: str = Field(min_length=1)


class HubSource(_LockEntry):
    """A repository of the Hugging Face hub at one commit, never at a branch or tag: those move.

    revision: null as long as `vouch lock` has not resolved it.
    """

    kind: Literal["hub"]
    repo: str
    revision: str | None

    @field_validator("repo")
    @classmethod
    def _repo(cls, value: str) -> str:
        if not _REPO.fullmatch(value):
            raise ValueError("give a hub repository as OWNER/NAME")
        return value

    @field_validator("revision", mode="before")
    @classmethod
    def _revision(cls, value: object) -> object:
        return commit(value)


class ServerSource(_LockEntry):
    """A server that speaks the OpenAI protocol. url: up to `/v1`; name: the model's name there."""

    kind: Literal["server"]
    url: str
    name: str = Field(min_length=1)

    @field_validator("url")
    @classmethod
    def _url(cls, value: str) -> str:
        advice = "give the server's address, http://HOST:PORT/v1 or https://HOST/v1"
        try:
            parts = urlsplit(value)
            whole = _ADDRESS.fullmatch(value) and parts.hostname and parts.port != 0
            (parts.hostname or "").encode("idna")
        except ValueError:  # a port that is none, a host's brackets or labels
            raise ValueError(advice) from None
        if parts.scheme not in ("http", "https") or not whole or parts.query or parts.fragment:
            raise ValueError(advice)
        if "@" in parts.netloc:
            raise ValueError("leave the key out of the address; it comes from the environment")
        return value

    @field_validator("name")
    @classmethod
    def _name(cls, value: str) -> str:
        if not value.isprintable() or value != value.strip():
            raise ValueError("a model's name has no control characters, and no blanks at its ends")
        return value


class ProbeAnswer(_LockEntry):
    """What a driver says of a fixed question: the text that its model reads, and the tokens of the labels."""

    prompt: str = Field(max_length=1 << 16)
    letters: dict[str, list[Annotated[int, Field(ge=0)]]] = {}


class Locked(_LockEntry):
    """What `vouch lock` found of a model's program; part of the pin.

    driver: SHA-256 of the driver and of the Python files beside it that it imports, by name. code: one
    SHA-256 over the files of the authors' code, `commit` the commit of that folder if it is a clone.
    packages: those of the environment and Python itself, as NAME==VERSION, sorted.
    """

    driver: dict[str, str]
    code: str | None = None
    commit: str | None = None
    packages: list[str] = Field(max_length=5000)
    probe: ProbeAnswer | None = None


class Program(_LockEntry):
    """The program that asks a model with code of its own: docs/add-a-model.md.

    driver: a Python file, from the repository's root or absolute. environment: the environment that it runs
    in; `vouch env NAME` builds it from drivers/NAME.txt. trust_code: must be true, because the code of the
    driver, of the model's folder and of `code` runs on this machine with all rights of whoever starts it.
    code: a folder of the authors' code. parts: further models that it is built of. settings: given to the
    driver.
    """

    driver: str = Field(min_length=1)
    environment: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    trust_code: bool = Field(default=False, validate_default=True)
    code: str | None = Field(default=None, min_length=1)
    parts: dict[
        Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")],
        Annotated[FolderSource | HubSource, Field(discriminator="kind")],
    ] = {}
    settings: dict[str, Any] = {}
    locked: Locked | None = None

    @field_validator("driver")
    @classmethod
    def _driver(cls, value: str) -> str:
        if not value.endswith(".py"):
            raise ValueError("give the driver's Python file, such as drivers/huggingface.py")
        return value

    @field_validator("trust_code")
    @classmethod
    def _trusted(cls, value: bool) -> bool:
        if not value:
            raise ValueError(
                "a program runs its model's code on this machine with all your rights; write `trust_code: "
                "true` if you trust it"
            )
        return value


class Prices(_LockEntry):
    """What a server's host charges for a million tokens, and how many an image counts as.

    image: tokens of any image. tile: further tokens for each 512 x 512 tile of it, after it was fitted
    into 2048 x 2048 and its shorter side into 768 (OpenAI's rule for GPT-4o).
    """

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    image: int = Field(default=0, ge=0)
    tile: int = Field(default=0, ge=0)

    def image_tokens(self, width: int, height: int) -> int:
        """Tokens of an image of so many pixels."""
        fitted = min(1.0, 2048 / max(width, height))
        fitted *= min(1.0, 768 / (fitted * min(width, height)))
        tiles = math.prod(math.ceil(round(fitted * side, 6) / 512) for side in (width, height))
        return self.image + self.tile * tiles


class LockEntry(_LockEntry):
    """Where a model comes from and how it is read.

    files: name -> SHA-256 that a file must have; files that are not named may have any.
    engine: one of ENGINES in vouch/models/engine.py. template: file in vouch/models/chat/templates, where
    the model has none of its own. processor: settings of the image processor, by transformers' names, over
    those of the model: `image_processor_type` and what that class knows. answer_prefix: begins an answer
    whose letter is read, for a model that says something else first, if the prompt gives no beginning.
    template_kwargs: variables of the chat template, by its own names. reasoning: how a model thinks before it
    answers, or `off`, which sets the template's `enable_thinking` to false. sees: whether a server's model,
    or the one that gave released answers, takes images; files of weights say it themselves. outputs: what a
    server can be asked for, all if none are named; it gets no prompts that ask for others.
    program: of a model whose code is its own, and which therefore runs in an environment of its own.
    dtype, parameters: the model's own where not given. facts: what analyses group by.
    prices: of a server, for `vouch plan`; they change no answer.
    unpinned: it may answer without a commit, so that nobody can tell later which model it was.
    """

    source: Annotated[FolderSource | HubSource | ServerSource, Field(discriminator="kind")]
    files: dict[str, str] = {}
    engine: str = Field(default=LOCAL_ENGINE, pattern=r"^[a-z][a-z0-9_]*$")
    dtype: Dtype | None = None
    template: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]*$")
    processor: dict[str, Any] = {}
    answer_prefix: str | None = Field(default=None, min_length=1)
    template_kwargs: dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], bool | int | str] = {}
    reasoning: Reasoning | Literal["off"] | None = None
    sees: bool | None = None
    outputs: Annotated[list[Output] | None, EACH_ONCE] = Field(default=None, min_length=1)
    program: Program | None = None
    parameters: int | None = Field(default=None, ge=1)
    facts: Facts = Facts()
    prices: Prices | None = None
    unpinned: bool = False

    @property
    def pinned(self) -> bool:
        """Whether the entry says which weights they are: by a commit, which fixes every file of a repository,
        or by the digests of a folder's. A server's cannot be known."""
        if isinstance(self.source, HubSource):
            return self.source.revision is not None
        return self.source.kind == "server" or self.digested

    @property
    def size(self) -> int | None:
        """Parameters: counted, or as the papers give them."""
        facts = self.facts
        return self.parameters or facts.total_parameters or facts.language_model_parameters

    @property
    def template_variables(self) -> dict[str, bool | int | str]:
        """What its chat template gets beside the messages."""
        return ({"enable_thinking": False} if self.reasoning == "off" else {}) | self.template_kwargs

    @property
    def thought_tokens(self) -> int:
        """Most tokens of a thought, 0 for a model that does not think."""
        return self.reasoning.tokens if isinstance(self.reasoning, Reasoning) else 0

    @property
    def digested(self) -> bool:
        """Whether digests of some weights are named."""
        return any(name.endswith(WEIGHT_SUFFIX) for name in self.files)

    @field_validator("files")
    @classmethod
    def _digests(cls, value: dict[str, str]) -> dict[str, str]:
        for name, digest in value.items():
            if not _DIGEST.fullmatch(digest):
                raise ValueError(f"{name} needs a SHA-256, 64 hexadecimal digits")
        return value

    @model_validator(mode="after")
    def _server(self) -> Self:
        server = self.source.kind == "server"
        if server != (self.engine == SERVER_ENGINE):
            raise ValueError(f"a source of kind server and engine {SERVER_ENGINE} go together; write both")
        if self.outputs and not server and self.program is None:
            raise ValueError("outputs are those of a server or a program; other models give all of them")
        if self.prices and not server:
            raise ValueError("prices are those of a server; leave them out")
        if server and (self.files or self.template or self.processor):
            raise ValueError(
                "a server keeps its model's files, template and processor to itself; leave them out"
            )
        return self

    @model_validator(mode="after")
    def _own_program(self) -> Self:
        if (self.program is not None) != (self.engine == PROGRAM_ENGINE):
            raise ValueError(
                f"engine {PROGRAM_ENGINE} and `program: {{driver, environment, trust_code: true}}` go "
                "together; write both"
            )
        if self.program and (self.template or self.processor or self.template_kwargs):
            raise ValueError(
                "a driver writes its prompts itself; leave template, processor and template_kwargs out, and "
                "use program.settings"
            )
        return self
