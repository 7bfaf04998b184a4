"""Each stage's needs on a cluster, the `resources:` of its rule: GPUs, memory, processors, time.

They follow from dvc.yaml, params.yaml, models.lock and the cluster's own limits. They are rough on purpose
and on the high side: a job that runs out of memory or time is tried again with twice as much, and one that
reaches its time limit keeps its finished answers and continues after them. Standard library and PyYAML only,
because cluster jobs read the Snakefile again.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from vouch.pipeline.dag import PARAMS, Stage
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.yaml12 import load

MODELS = Path("models.lock")

_USUAL = {"gigabytes": 8, "minutes": 120, "processors": 1}
"""The needs of a stage unless dvc.yaml says otherwise (`meta.resources`)."""
_SPLIT = ("extract", "rewrite", "judge")  # may spread a model over several GPUs
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
_BILLION = 10**9
_ON_CPU = _BILLION // 20  # parameters below which no GPU is asked for
_GPU_SHARE, _GPU_GB = 1.25, 6.0  # room for the weights and for keys and values, activations, CUDA itself
_HOST_SHARE = 1.2  # weights pass through the host's memory
_LOAD_GB_A_MINUTE = 6.0
_SECONDS_A_PROMPT = 0.02  # of the smallest model
_GPU_SECONDS, _CPU_SECONDS = 0.05, 10.0  # in addition, for each billion parameters
_SERVER_SECONDS = 1.0
_SIZE = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)b(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True)
class Model:
    """The facts of a model that decide what a stage needs. parameters: None if unknown.

    A server's answers are computed elsewhere.
    """

    parameters: int | None
    dtype: str = "float32"
    server: bool = False

    @property
    def gigabytes(self) -> float:
        """The size of the weights."""
        return self.billions * _BYTES[self.dtype]

    @property
    def billions(self) -> float:
        """Billions of parameters; seven if their number is unknown."""
        return 7.0 if self.parameters is None else self.parameters / _BILLION

    def seconds(self, prompts: int, gpu: bool) -> float:
        """A rough time for all prompts of a dataset."""
        if self.server:
            return prompts * _SERVER_SECONDS
        return prompts * (_SECONDS_A_PROMPT + self.billions * (_GPU_SECONDS if gpu else _CPU_SECONDS))


@dataclass(frozen=True)
class Needs:
    """What a stage needs. gigabytes: of host memory. minutes: besides the time in which `model` answers."""

    gigabytes: float
    minutes: float
    processors: int
    gpus: int = 0
    model: Model | None = None

    def memory(self, attempt: int = 1) -> int:
        """Megabytes at an attempt: the second gets twice as much."""
        return math.ceil(self.gigabytes * attempt) * 1000

    def runtime(self, prompts: int, longest: int, attempt: int = 1) -> int:
        """Minutes at an attempt, never more than `longest`."""
        answers = self.model.seconds(prompts, self.gpus > 0) / 60 if self.model else 0.0
        return min(longest, math.ceil((self.minutes + answers) * attempt))


def read_models(params: Mapping[str, Any]) -> dict[str, Model]:
    """The models that a profile makes or pins."""
    sources = {**params["models"], **params["helpers"]}
    locked = load(MODELS)["models"] if str(MODELS) in sources.values() else {}
    found = {name: _folder(Path(source)) for name, source in sources.items() if source != str(MODELS)}
    found |= {name: _model(locked[name]) for name in sources if name in locked}
    found |= {name: Model(parameters=0) for name in sources if name in params["train"]}
    return {name: model for name, model in found.items() if model is not None}


def _folder(folder: Path) -> Model | None:
    """A model by the size of its weights, as if they were float32; None for answers that others released."""
    size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    return Model(size // _BYTES["float32"]) if size else None


def _model(entry: Mapping[str, Any]) -> Model:
    facts, source = entry.get("facts") or {}, entry["source"]
    size = _SIZE.search(source.get("repo") or source.get("path") or "")
    count = (
        entry.get("parameters")
        or facts.get("total_parameters")
        or facts.get("language_model_parameters")
        or (round(float(size[1]) * _BILLION) if size else None)
    )
    return Model(count, entry.get("dtype", "float32"), source["kind"] == "server")


def needs(
    stage: Stage, params: Mapping[str, Any], models: Mapping[str, Model], gpu_gb: float | None
) -> Needs:
    """What a stage needs. gpu_gb: memory of one GPU, None if unknown.

    Raises UserError if its model does not fit on one GPU and is not split.
    """
    package, *keys = stage.cmd.removeprefix("python -m stages.").split()
    usual: dict[str, Any] = {**_USUAL, **stage.resources}
    name, settings = _loaded(package, keys, params)
    if name is None or name not in models:
        return Needs(**usual)
    model = models[name]
    # A judge reads the texts of all models that no rule decides: about as many as one model has prompts.
    asked = model if package in ("extract", "judge") else None
    usual["processors"] += settings.get("threads", 1) - 1
    usual["processors"] += settings.get("workers", 2) if package == "extract" else 0
    if model.server:
        return Needs(**usual, model=asked)
    usual["minutes"] += math.ceil(model.gigabytes / _LOAD_GB_A_MINUTE)
    usual["gigabytes"] += model.gigabytes * _HOST_SHARE
    return Needs(
        **usual, gpus=_gpus(name, model, package, settings.get("device", "auto"), gpu_gb), model=asked
    )


def _loaded(package: str, keys: list[str], params: Mapping[str, Any]) -> tuple[str | None, Mapping[str, Any]]:
    """The model that a stage loads, and the parameters that say how."""
    settings: Mapping[str, Any]
    if package == "extract":
        return keys[0], params["extract"]
    if package == "judge":
        settings = params["score"].get("judge") or {}
        return settings.get("model"), settings
    if package == "rewrite":
        settings, key = params["rewrite"], "rewriter"
    elif package == "embed":
        settings, key = params["embed"]["images" if keys else "texts"], "encoder"
    else:
        return None, {}
    pin = Path(settings[key])
    return (pin.stem if pin.suffix == ".json" else None), settings


def _gpus(name: str, model: Model, package: str, device: str, gpu_gb: float | None) -> int:
    small = model.parameters is not None and model.parameters < _ON_CPU
    if device == "cpu" or (small and device != "cuda"):
        return 0
    wanted = model.gigabytes * _GPU_SHARE + _GPU_GB
    if gpu_gb is None or wanted <= gpu_gb or model.parameters is None:
        return 1
    if device != "split":
        remedy = (
            "set {}.device to split, which spreads it over several"
            if package in _SPLIT
            else "take a smaller model for {}"
        )
        raise UserError(
            f"{PARAMS}: {name} needs about {wanted:.0f} GB of GPU memory and a GPU has {gpu_gb:g} "
            f"(gpu_gb of the profile); {remedy.format('score.judge' if package == 'judge' else package)}"
        )
    return math.ceil(wanted / gpu_gb)


_NAME = re.compile(r"[\w.+@-]+(,[\w.+@-]+)*")  # or several partitions, of which Slurm takes one

_Wanted = tuple[Callable[[Any], bool], str]
_SLURM_NAME: _Wanted = (
    lambda value: isinstance(value, str) and _NAME.fullmatch(value) is not None,
    "the name that Slurm has, without spaces, in quotes where it is a number",
)
_WANTED: dict[str, _Wanted] = {
    "gpu_gb": (
        lambda value: isinstance(value, int | float) and value is not True and 0 < value < math.inf,
        "the memory of one GPU in GB, such as 80",
    ),
    "longest": (
        lambda value: isinstance(value, int) and value is not True and value > 0,
        "whole minutes, such as 1440",
    ),
}


@dataclass(frozen=True)
class Site:
    """What a cluster has, from `config` of a Snakemake profile; on a machine of your own that is empty.

    gpu_gb: memory of one GPU. longest: minutes that a job may run. account and partitions: Slurm's names.
    """

    gpu_gb: float | None = None
    longest: int = 24 * 60
    account: str | None = None
    cpu_partition: str | None = None
    gpu_partition: str | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Site":
        """Takes Snakemake's config. Raises UserError for an unknown key or an impossible value."""
        known = [field.name for field in fields(cls)]
        for key, value in config.items():
            if key not in known:
                raise UserError(f"config: unknown key {key}; {did_you_mean(str(key), known)}")
            fits, wanted = _WANTED.get(key, _SLURM_NAME)
            if not (fits(value) or (value is None and key != "longest")):
                raise UserError(f"config: {key}: {value!r:.60} does not fit; give {wanted}")
        return cls(**config)


def resources(stage: Stage, needed: Needs, site: Site) -> dict[str, Any]:
    """The resources of a rule; the time of extract and judge is computed once their prompts exist."""
    partition = site.gpu_partition if needed.gpus else site.cpu_partition
    prompts = next((dep for dep in stage.deps if needed.model and dep.startswith("data/prompts/")), None)

    def memory(wildcards: Any, attempt: int) -> int:  # the names are Snakemake's
        return needed.memory(attempt)

    def runtime(wildcards: Any, input: Any, attempt: int) -> int:
        return needed.runtime(count_prompts(prompts) if prompts else 0, site.longest, attempt)

    found: dict[str, Any] = {
        "mem_mb": memory,
        "runtime": runtime,
        "cpus_per_task": needed.processors,
        "gpu": needed.gpus,
        "nodes": 1 if needed.gpus else 0,  # otherwise Slurm may take several GPUs from several nodes
        "slurm_partition": partition,
        "slurm_account": site.account,
    }
    return {name: value for name, value in found.items() if value}


def count_prompts(table: str) -> int:
    """The number of prompts in a table of `vary`, from its run record.

    Raises FileNotFoundError if there is no table yet; this tells Snakemake that it will exist later.
    """
    path = Path(table)
    path.stat()
    try:
        record = json.loads(Path(f"data/runs/vary-{path.stem}.json").read_text(encoding="utf-8"))
        return int(record["notes"]["prompts"])
    except (OSError, ValueError, KeyError, TypeError):
        return path.stat().st_size // 100  # never fewer than there are: a row has more bytes than that


def planner(config: Mapping[str, Any]) -> Callable[[Stage], dict[str, Any]]:
    """Stage -> its `resources:`, for the present profile and Snakemake's config. Raises UserError."""
    params, site = load(Path(PARAMS)), Site.of(config)
    models = read_models(params)
    return lambda stage: resources(stage, needs(stage, params, models, site.gpu_gb), site)
