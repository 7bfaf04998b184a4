"""params.yaml and models.lock, checked before anything runs.

Every stage starts with this check. vouch/params/project.py says what each key may be; here keys are checked
against each other, and against the plugins and models that exist.
"""

import importlib
import json
import os
from collections.abc import Collection, Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from vouch.datasets.config import DatasetEntry
from vouch.datasets.fetch.origin import REMOTE
from vouch.models.lock_entry import LOCAL_ENGINE
from vouch.params.project import MODELS, NAMED, PARAMS, Models, Project, left_out
from vouch.pipeline.dag import read_dag
from vouch.pipeline.errors import UserError, did_you_mean, refusal, rename_key, renamed_keys
from vouch.pipeline.validation import parsed, validated
from vouch.pipeline.yaml12 import load
from vouch.prompts.combination import load_variation
from vouch.prompts.config import config_of, template_name
from vouch.prompts.template import read_template
from vouch.tables.asked import LETTERS, ORIGINAL, OUTPUTS, P_TRUE, read_as

TRAINED = Path("data/trained")
PINS = "data/models/NAME.json"
Problems = Iterator[str]
"""Problems of a file; each becomes a line after the file's name."""


def check_project() -> Project:
    """params.yaml and models.lock of the current folder, validated. Raises UserError."""
    return check_params(load(PARAMS), str(PARAMS))


def check_params(values: Any, where: str) -> Project:
    """The content of a params file, validated against the plugins and models that exist.

    Raises UserError with all problems of its keys or, if there are none, of the things that they name.
    """
    values, renamed = _with_new_keys(values)
    project, problems = parsed(Project, values)
    problems = [*renamed, *problems]
    problems += [f"key {key} is missing; add `{_written(key, value)}`" for key, value in left_out(values)]
    if project is None or problems:
        raise refusal(where, problems)
    locked = validated(Models, load(MODELS), str(MODELS))
    problems = [
        *_check_places(project, values),
        *_check_plugins(project),
        *_check_paper(project, locked),
        *_check_models(project, locked),
        *_check_origins(project),
        *_check_helpers(project, locked),
    ]
    if problems:
        raise refusal(where, problems)
    return project


def _with_new_keys(values: Any) -> tuple[Any, list[str]]:
    """The content with renamed keys under their new names, and a problem for each of these keys."""
    pairs = list(renamed_keys(values))
    values, problems = deepcopy(values) if pairs else values, []
    for old, new in pairs:
        done = rename_key(values, old, new)
        problems.append(f"key {old} is now {new}; {'rename it' if done else f'remove it, as {new} is there'}")
    return values, problems


def _written(key: str, value: Any) -> str:
    """A key with its default, as a line of YAML; a section has the keys that dvc.yaml names."""
    last = key.rpartition(".")[2]
    if isinstance(value, dict):
        named = [name.removeprefix(f"{key}.") for name in NAMED if name.startswith(f"{key}.")]
        inner = [_written(f"{key}.{name}", value[name]) for name in named if "." not in name]
        return f"{last}: {{{', '.join(inner)}}}"
    return f"{last}: {json.dumps(value)}".replace('"', "")


def plugins(folder: str) -> list[str]:
    """Names of the plugin files in a folder."""
    return sorted(
        p.stem for p in Path(folder).glob("*.*") if p.suffix in (".py", ".yaml") and p.stem != "__init__"
    )


def _known(names: Iterable[str], known: Collection[str], key: str) -> Problems:
    names = list(names)
    for name in dict.fromkeys(names):
        if name not in known:
            yield f"{key}: unknown name {name:.60}; {did_you_mean(name, list(known))}"
        elif names.count(name) > 1:
            yield f"{key}: {name:.60} is a duplicate; name it once"


def _check_plugins(project: Project) -> Problems:
    loaders, templates = plugins("vouch/datasets/loaders"), plugins("vouch/prompts/templates")
    for name, entry in project.datasets.items():
        unknown = [
            *_known([entry.loader], loaders, f"datasets.{name}.loader"),
            *_known([entry.template], templates, f"datasets.{name}.template"),
        ]
        yield from unknown or _check_entry(name, entry, project)
        yield from _known(entry.outputs or (), OUTPUTS, f"datasets.{name}.outputs")
        yield from _check_variations(entry.variations or [], f"datasets.{name}.variations")
    yield from _check_variations(project.variations, "variations")
    yield from _known(project.outputs or (), OUTPUTS, "outputs")  # once, not for each dataset
    yield from _known(project.score.answers, project.datasets, "score.answers")
    yield from _known(project.extract.max_tokens_of, project.models, "extract.max_tokens_of")
    yield from _known(project.extract.beam_search, project.models, "extract.beam_search")
    yield from _known(project.extract.datasets_of, project.models, "extract.datasets_of")
    for name, datasets in project.extract.datasets_of.items():
        yield from _known(datasets, project.datasets, f"extract.datasets_of.{name}")
    yield from _check_sampling(project)


def _check_sampling(project: Project) -> Problems:
    names = {name: entry.variations or project.variations for name, entry in project.datasets.items()}
    for position, one in enumerate(project.extract.sampling):
        key = f"extract.sampling.{position}"
        unknown = [
            *_known(one.models, project.models, f"{key}.models"),
            *_known(one.datasets, project.datasets, f"{key}.datasets"),
            *_known(
                one.variations,
                sorted({each for variations in names.values() for each in variations}),
                f"{key}.variations",
            ),
        ]
        yield from unknown
        drawn = any(
            project.extract.asks(model, dataset) and one in project.extract.sampled(model, dataset)
            for dataset, variations in names.items()
            if any(map(one.of_variation, variations))
            for model in project.models
        )
        if not unknown and not drawn and project.models:
            yield f"{key}: no model is asked such a prompt; name models, datasets and variations that meet"


def _check_entry(name: str, entry: DatasetEntry, project: Project) -> Problems:
    try:
        template = read_template(entry.template, entry.variant)
        key = f"datasets.{name}.outputs" if entry.outputs else f"outputs (for datasets.{name})"
        asked = config_of(entry.model_dump(), project.variations, project.outputs).outputs or ()
        if LETTERS in asked and not template.shows_options:
            yield f"{key}: names {LETTERS}, but template {entry.template} shows no options; leave it out"
    except UserError as error:
        yield f"datasets.{name}.variant: {error}"
    yield from _check_variants(entry, project, f"datasets.{name}.variants")
    loader = importlib.import_module(f"vouch.datasets.loaders.{entry.loader}")
    _, problems = parsed(loader.Settings, entry.settings)
    yield from (f"datasets.{name}.settings: {problem}" for problem in problems)
    if not problems and name in project.score.answers:
        try:
            unused = project.score.unused_answers(name, kinds_of_questions(entry))
            yield from [unused] if unused else []
        except UserError as error:
            yield f"datasets.{name}.{error}"


def kinds_of_questions(entry: DatasetEntry) -> Collection[str]:
    """Kinds of a dataset's questions, as far as its entry tells; a scheme of ReForm-Eval turns open ones into
    choices. Raises UserError."""
    loader = importlib.import_module(f"vouch.datasets.loaders.{entry.loader}")
    if not hasattr(loader, "kinds") or (entry.options is not None and entry.options.builds):
        return ("choice",)
    kinds: Collection[str] = loader.kinds(loader.Settings.model_validate(entry.settings))
    return kinds


def _check_variants(entry: DatasetEntry, project: Project, key: str) -> Problems:
    """The stage vary checks what such a variant changes of each prompt."""
    yield from _known(entry.variants, project.models, key)
    for model, variant in entry.variants.items():
        try:
            read_template(entry.template, variant)
        except UserError as error:
            yield f"{key}.{model}: {error}"
            continue
        read = {read_as(template_name(entry.template, one)) for one in (entry.variant, variant)}
        if len(read) > 1:
            yield f"{key}.{model}: all models are asked with `{max(read)}`, or none; write it in `variant`"


def written(params: Any) -> list[str]:
    """The folders that this project writes, except for the demo models.

    A source in one of them would change with every run.
    """
    outputs = (out for out in read_dag(params=params).maker if not Path(out).is_relative_to(TRAINED))
    return sorted({".dvc", ".git", ".vouch", "reports", *("/".join(Path(out).parts[:2]) for out in outputs)})


def _check_places(project: Project, params: Any) -> Problems:
    """Refuses sources that are the project or a folder it writes: DVC and the pins would watch them."""
    outputs = {name: Path(os.path.realpath(name)) for name in written(params)}
    sources = {f"datasets.{name}.source": entry.source for name, entry in project.datasets.items()}
    sources |= {f"models.{name}": source for name, source in project.models.items()}
    sources |= {f"helpers.{name}": source for name, source in project.helpers.items()}
    for key, source in sources.items():
        path = Path(os.path.realpath(source))
        taken = (name for name, at in outputs.items() if path.is_relative_to(at) or at.is_relative_to(path))
        if Path.cwd().resolve().is_relative_to(path):
            yield f"{key}: holds this project; name a folder of its own"
        elif name := next(taken, None):
            yield f"{key}: {name} is written by this project; name a folder of its own"


def _check_paper(project: Project, locked: Models) -> Problems:
    if project.paper:
        for model, entry in project.paper.entries.items():
            yield from _known([entry], locked.models, f"paper.entries.{model} (entries of {MODELS})")
        for position, group in enumerate(project.paper.others):
            yield from _known(group.datasets, project.datasets, f"paper.others.{position}.datasets")


def _check_variations(names: list[str], key: str) -> Problems:
    if P_TRUE in names and ORIGINAL not in names[: names.index(P_TRUE)]:
        yield f"{key}: {P_TRUE} asks about the answers to {ORIGINAL}; name {ORIGINAL} before it"
    same: dict[frozenset[tuple[str, int | None]], str] = {}
    for name in dict.fromkeys(names):
        try:
            variation = load_variation(name)
        except UserError as error:
            yield f"{key}: {error}"
            continue
        first = same.setdefault(variation.same_as, name)
        if first != name:
            yield f"{key}: {name:.60} is the same as {first}; name it once"
        elif names.count(name) > 1:
            yield f"{key}: {name:.60} is a duplicate; name it once"


def _check_models(project: Project, locked: Models) -> Problems:
    if not project.models:
        # else compare and report would have nothing to read, and DVC would only name a missing folder
        yield "models: needs at least one; name it, and where it comes from"
    for name in sorted(project.models.keys() & project.helpers.keys()):
        yield f"{name} is under both models and helpers; name it under models alone"
    for name, source in project.sources.items():
        key = f"models.{name}" if name in project.models else f"helpers.{name}"
        if Path(os.path.normpath(source)).parent == TRAINED:
            yield from _known([Path(source).name], project.train, f"{key} (entries of train)")
        entry = locked.models.get(name)
        if source == str(MODELS):
            yield from _known([name], locked.models, f"{key} (entries of {MODELS})")
        if entry is not None:
            expected = entry.source.path if entry.source.kind == "folder" else str(MODELS)
            # released answers of a model that models.lock knows are fine
            if source != expected and (entry.source.kind == "folder" or _is_model(Path(source))):
                yield f"{key}: is {source!r:.60}, but {MODELS} says {expected}; write that here"
    made = [Path(source).name for source in project.sources.values() if Path(source).parent == TRAINED]
    yield from _known(project.train, made, f"train (models from {TRAINED})")


def _is_model(source: Path) -> bool:
    from vouch.models.model_folder import is_model  # not at the top: it takes as long to load as all the rest

    return is_model(source)


def _check_origins(project: Project) -> Problems:
    for name, entry in project.datasets.items():
        origin = entry.origin
        if origin and entry.source == REMOTE and not origin.pinned and not origin.unpinned:
            missing = "revision" if origin.hub else "sha256"
            yield (
                f"datasets.{name}.origin: has no {missing}; run `vouch lock {name}`, which writes it, or "
                "write `unpinned: true` there"
            )


def _check_helpers(project: Project, locked: Models) -> Problems:
    """Checks the models that rewrite, judge or encode, and those that `score` names."""
    rewrite, embed = project.rewrite, project.embed
    yield from _known(rewrite.clean, project.datasets, "rewrite.clean")
    for key, name in (
        (f"rewrite.rewriter ({PINS}; models and helpers)", rewrite.model),
        ("score.judge.model (models and helpers)", project.score.judge.model),
    ):
        if name is not None:
            yield from _known([name], project.sources, key)
            engine = locked.models[name].engine if name in locked.models else LOCAL_ENGINE
            yield from _known(
                [engine], plugins("vouch/prompts/asking"), f"{MODELS}: models.{name}.engine, to write"
            )
    known = sorted({*project.sources, *locked.models})  # a profile may name a model that it is run without
    yield from _known(
        project.score.other_spelling, known, "score.other_spelling (models, helpers, models.lock)"
    )
    for key, name in (("images", embed.images.model), ("texts", embed.texts.model)):
        if name is not None:
            yield from _known([name], project.sources, f"embed.{key}.encoder ({PINS}; models and helpers)")
            if name in locked.models and locked.models[name].engine != LOCAL_ENGINE:
                what = "server" if locked.models[name].source.kind == "server" else "program"
                yield f"embed.{key}.encoder: {name} is a {what}; give a model with weights"
