"""The whole of params.yaml and models.lock checked before anything runs.

Every stage starts with this. It can only refuse. What each key may be says vouch/params/project.py; here
is what one must fit of another, of the plugins and of the models there are.
"""

import importlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vouch.datasets.fetch.origin import REMOTE
from vouch.params.moved import check_moved
from vouch.params.project import MODELS, PARAMS, Models, Project
from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.validation import validated
from vouch.pipeline.yaml12 import load
from vouch.prompts.build.combination import load_variation
from vouch.prompts.build.template import read_template

TRAINED = Path("data/trained")
# What this project writes, but for the demo models: a source there would change with every run.
WRITTEN = (
    *(".dvc", ".git", ".vouch", "reports", "data/compare", "data/defects", "data/embeddings", "data/images"),
    *("data/items", "data/models", "data/prompts", "data/published", "data/rejects", "data/responses"),
    *("data/rewrites", "data/runs", "data/scores", "data/text_similarity.parquet"),
)
PINS = "data/models/NAME.json"


def check_project() -> Project:
    """params.yaml and models.lock of the current folder, validated. Raises UserError, one line."""
    return check_params(load(PARAMS), str(PARAMS))


def check_params(values: Any, where: str) -> Project:
    """The content of a params file, validated against the plugins and models there are."""
    check_moved(values, where)
    project = validated(Project, values, where)
    locked = validated(Models, load(MODELS), str(MODELS))
    _check_plugins(project, where)
    _check_paper(project, where)
    _check_models(project, locked, where)
    _check_origins(project, where)
    _check_rewriter(project, locked, where)
    _check_encoders(project, locked, where)
    return project


def plugins(folder: str) -> list[str]:
    """Names of the plugin files in a folder."""
    return sorted(
        p.stem for p in Path(folder).glob("*.*") if p.suffix in (".py", ".yaml") and p.stem != "__init__"
    )


def _known(names: Iterable[str], known: list[str], where: str, key: str) -> None:
    for name in names:
        if name not in known:
            raise UserError(f"{where}: {key}: unknown name {name:.60}; {did_you_mean(name, known)}")


def _once(names: list[str], where: str, key: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UserError(f"{where}: {key}: {twice:.60} stands twice; name it once")


def _check_plugins(project: Project, where: str) -> None:
    loaders, templates = plugins("vouch/datasets/loaders"), plugins("vouch/prompts/templates")
    for name, entry in project.datasets.items():
        _check_place(entry.source, where, f"datasets.{name}.source")
        _known([entry.loader], loaders, where, f"datasets.{name}.loader")
        _known([entry.template], templates, where, f"datasets.{name}.template")
        try:
            read_template(entry.template, entry.variant)
        except UserError as error:
            raise UserError(f"{where}: datasets.{name}.variant: {error}") from None
        loader = importlib.import_module(f"vouch.datasets.loaders.{entry.loader}")
        validated(loader.Settings, entry.settings, f"{where}: datasets.{name}.settings")
        _check_variations(entry.variations or [], where, f"datasets.{name}.variations")
    _check_variations(project.variations, where, "variations")
    _known(project.score.answers, list(project.datasets), where, "score.answers")
    _known(project.extract.max_tokens_of, list(project.models), where, "extract.max_tokens_of")


def _check_place(source: str, where: str, key: str) -> None:
    """DVC and the pins would watch what the stages write, and the way up to `/`."""
    path = Path(os.path.realpath(source))
    if Path.cwd().resolve().is_relative_to(path):
        raise UserError(f"{where}: {key}: holds this project; name a folder of its own")
    for name in WRITTEN:
        written = Path(os.path.realpath(name))
        if path.is_relative_to(written) or written.is_relative_to(path):
            raise UserError(f"{where}: {key}: {name} is what this project writes; name a folder of its own")


def _check_paper(project: Project, where: str) -> None:
    for place, absent in enumerate(project.paper.absent if project.paper else ()):
        _known(absent.datasets, list(project.datasets), where, f"paper.absent.{place}.datasets")


def _check_variations(names: list[str], where: str, key: str) -> None:
    same: dict[frozenset[tuple[str, int | None]], str] = {}
    for name in names:
        try:
            variation = load_variation(name)
        except UserError as error:
            raise UserError(f"{where}: {key}: {error}") from None
        first = same.setdefault(variation.same_as, name)
        if first != name:
            raise UserError(f"{where}: {key}: {name:.60} is the same as {first}; name it once")
    _once(names, where, key)


def _check_models(project: Project, locked: Models, where: str) -> None:
    if not project.models:
        # nothing would be left for compare and report to read, and DVC would only name a missing folder
        raise UserError(f"{where}: models: needs one at least; name it and where it comes from")
    both = project.models.keys() & project.helpers.keys()
    if both:
        raise UserError(f"{where}: {min(both)} stands under models and helpers; name it under models alone")
    sources = project.models | project.helpers
    for name, source in sources.items():
        key = f"models.{name}" if name in project.models else f"helpers.{name}"
        _check_place(source, where, key)
        if Path(source).parent == TRAINED:
            _known([Path(source).name], list(project.train), where, f"{key} (entries of train)")
        entry = locked.models.get(name)
        if source == str(MODELS):
            _known([name], list(locked.models), where, f"{key} (entries of {MODELS})")
        if entry is not None:
            expected = entry.source.path if entry.source.kind == "folder" else str(MODELS)
            # answers that others released may be of a model that models.lock knows
            if source != expected and (entry.source.kind == "folder" or _is_model(Path(source))):
                raise UserError(
                    f"{where}: {key}: is {source!r:.60}, but {MODELS} says {expected}; write that here"
                )
    made = [Path(source).name for source in sources.values() if Path(source).parent == TRAINED]
    _known(project.train, made, where, f"train (models from {TRAINED})")


def _is_model(source: Path) -> bool:
    from vouch.models.pins.pinning import is_model  # only here: it takes as long to load as all the rest

    return is_model(source)


def _check_origins(project: Project, where: str) -> None:
    for name, entry in project.datasets.items():
        origin = entry.origin
        if origin and entry.source == REMOTE and not origin.pinned and not origin.unpinned:
            missing = "revision" if origin.hub else "sha256"
            raise UserError(
                f"{where}: datasets.{name}.origin: has no {missing}; run `vouch lock {name}`, which writes "
                "it, or write `unpinned: true` there"
            )


def _check_rewriter(project: Project, locked: Models, where: str) -> None:
    _known(project.rewrite.clean, list(project.datasets), where, "rewrite.clean")
    name = project.rewrite.model
    if name is None:
        return
    _known([name], _pinned(project), where, f"rewrite.rewriter ({PINS}; models and helpers)")
    engines = [engine for engine in plugins("vouch/prompts/rewrites/engines") if engine != "rules"]
    entry = locked.models.get(name)
    _known(
        [entry.engine if entry else "transformers"], engines, str(MODELS), f"models.{name}.engine, to rewrite"
    )


def _check_encoders(project: Project, locked: Models, where: str) -> None:
    for key, name in (("pictures", project.embed.pictures.model), ("texts", project.embed.texts.model)):
        if name is not None:
            _known([name], _pinned(project), where, f"embed.{key}.encoder ({PINS}; models and helpers)")
            entry = locked.models.get(name)
            if entry is not None and entry.source.kind == "server":
                raise UserError(
                    f"{where}: embed.{key}.encoder: {name} is a server; give a model with weights"
                )


def _pinned(project: Project) -> list[str]:
    return [*project.models, *project.helpers]
