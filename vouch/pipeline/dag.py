"""The DAG of a checkout: which stage makes and reads which files, for Snakemake and for the stages alike.

dvc.yaml is expanded into plain stages in which nothing is left to fill in. This reads only the part of its
language that this project uses: `foreach` over lists of names and over mappings, `matrix` over lists and over
the keys of mappings, `${...}` with `item`, `key` and params.yaml. The tests compare the result with DVC's own
index of stages. Standard library and PyYAML only, because cluster jobs read the Snakefile again.
"""

import fnmatch
import itertools
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vouch.pipeline.errors import UserError, did_you_mean
from vouch.pipeline.files import check_plain
from vouch.pipeline.yaml12 import load

DEFINITION = Path("dvc.yaml")
PARAMS = "params.yaml"
_REFERENCE = re.compile(r"\$\{\s*([^}\s]+)\s*\}")


@dataclass(frozen=True)
class Stage:
    """One stage as DVC sees it. params: file -> dotted key -> value.

    reports: output -> how Snakemake's reports show it (`meta.report` of the output). reads: dep or parameter
    -> the parts that the stage reads, if it does not read the whole. without: parameter -> the deps that the
    stage still reads if that parameter is empty. resources: needed on a cluster (resources.py).
    """

    name: str
    cmd: str
    deps: tuple[str, ...]
    outs: tuple[str, ...]
    params: Mapping[str, Mapping[str, Any]]
    reports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reads: Mapping[str, Sequence[str]] = field(default_factory=dict)
    without: Mapping[str, Sequence[str]] = field(default_factory=dict)
    resources: Mapping[str, int] = field(default_factory=dict)

    @property
    def read_params(self) -> dict[str, dict[str, Any]]:
        """The parameters; those that the stage reads only in part have only these keys."""
        return {
            file: {key: _part(value, self.reads.get(key)) for key, value in values.items()}
            for file, values in self.params.items()
        }

    @property
    def slug(self) -> str:
        """The name as a file name and rule name: `extract@a-b` -> `extract-a-b`.

        No two stages have the same slug: the names in a stage's name may hold `_`, but never `-` or `@`.
        """
        return self.name.replace("@", "-")


def _part(value: Any, keys: Sequence[str] | None) -> Any:
    """A mapping with some of its keys, or the whole value."""
    return value if keys is None else {key: value[key] for key in keys if key in value}


def _instances(group: str, spec: Mapping[str, Any], params: Mapping[str, Any]) -> Iterator[Any]:
    """(name, body, loop variables) for each stage that one entry of dvc.yaml declares."""
    where = f"{DEFINITION}: {group}"
    if "foreach" in spec:
        data = _resolve(spec["foreach"], params, where)
        if isinstance(data, Mapping):
            for key, item in data.items():
                yield f"{group}@{key}", spec["do"], {"key": key, "item": item}
        else:
            for item in _names(data, where):
                yield f"{group}@{item}", spec["do"], {"item": item}
    elif "matrix" in spec:
        axes = {
            axis: _names(_resolve(values, params, where), where) for axis, values in spec["matrix"].items()
        }
        for combination in itertools.product(*axes.values()):
            yield (
                f"{group}@{'-'.join(combination)}",
                spec,
                {"item": dict(zip(axes, combination, strict=True))},
            )
    else:
        yield group, spec, {}


def _stage(
    name: str, body: Mapping[str, Any], context: Mapping[str, Any], files: dict[str, Any], root: Path
) -> Stage:
    where = f"{DEFINITION}: {name}"
    params: dict[str, dict[str, Any]] = {}
    for entry in body.get("params", ()):
        named = {PARAMS: [entry]} if isinstance(entry, str) else entry
        for file, keys in named.items():
            if file not in files:
                files[file] = load(root / file)
            for key in (_fill(key, context, where) for key in keys):
                params.setdefault(file, {})[key] = _lookup(key, files[file], f"{file}, for {name}")
    entries = [entry for kind in ("outs", "metrics") for entry in body.get(kind) or ()]
    outs = list(_paths(entries, context, where))
    meta = body.get("meta") or {}
    return Stage(
        name=name,
        cmd=_fill(body["cmd"], context, where),
        deps=tuple(_paths(body.get("deps"), context, where)),
        outs=tuple(outs),
        params=params,
        reports={
            out: entry[next(iter(entry))]["meta"]["report"]
            for out, entry in zip(outs, entries, strict=True)
            if not isinstance(entry, str) and "report" in entry[next(iter(entry))].get("meta", {})
        },
        reads={
            dep: [_fill(part, context, where) for part in parts]
            for dep, parts in meta.get("reads", {}).items()
        },
        without=meta.get("without", {}),
        resources=meta.get("resources", {}),
    )


def _lookup(path: str, context: Mapping[str, Any], where: str) -> Any:
    value: Any = context
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise UserError(
                f"{where}: ${{{path}}} has no value; define it in {PARAMS}, or run `vouch use PROFILE`, "
                "which writes all keys"
            )
        value = value[part]
    return value


def _text(value: Any, path: str, where: str) -> str:
    if isinstance(value, Mapping | list) or value is None:
        raise UserError(f"{where}: ${{{path}}} is not a plain value; give a name, number or path in {PARAMS}")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _fill(template: str, context: Mapping[str, Any], where: str) -> str:
    return _REFERENCE.sub(lambda m: _text(_lookup(m[1], context, where), m[1], where), template)


def _resolve(value: Any, context: Mapping[str, Any], where: str) -> Any:
    """A loop's data: a literal, or one `${reference}` to a list or mapping."""
    match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return _lookup(match[1], context, where) if match else value


def _names(data: Any, where: str) -> list[str]:
    if not isinstance(data, list | Mapping) or not all(isinstance(name, str) for name in data):
        raise UserError(f"{where}: loops over {data!r:.60}; give a list of names or a mapping in {PARAMS}")
    return list(data)


def _paths(entries: Sequence[Any] | None, context: Mapping[str, Any], where: str) -> Iterator[str]:
    for entry in entries or ():
        yield _fill(entry if isinstance(entry, str) else next(iter(entry)), context, where)


CODE = ("stages/", "vouch/")  # deps that are code
ITEM_PAGES = "reports/items"  # has a folder for each dataset

# Names that .dvcignore, or DVC itself, leaves out of folders in the repository; the tests compare the two.
IGNORED = (
    "__pycache__",
    "*.pyc",
    ".*.part",
    ".*.tmp",
    ".snakemake_timestamp",
    ".snakemake",
    ".venv",
    ".vouch",
    ".git",
    ".hg",
    ".dvc",
)
_IGNORED = re.compile("|".join(fnmatch.translate(pattern) for pattern in IGNORED))


def is_folder(out: str) -> bool:
    """Whether an output is a folder: the rule of this repository is that folders have no suffix."""
    return "." not in Path(out).name


class Dag:
    """All stages, in the order of dvc.yaml, with what each reads and writes."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.stages = {stage.name: stage for stage in stages}
        self.maker = {out: stage.name for stage in stages for out in stage.outs}
        self._below: dict[str, list[str]] = {}
        for out in self.maker:
            for parent in Path(out).parents:
                self._below.setdefault(str(parent), []).append(out)

    def __getitem__(self, name: str) -> Stage:
        if name not in self.stages:
            raise UserError(
                f"{DEFINITION}: no stage {name} in this profile; {did_you_mean(name, list(self.stages))}"
            )
        return self.stages[name]

    def by_command(self, cmd: str) -> Stage:
        """The stage with this command line. Raises UserError if no stage of this profile has it."""
        for stage in self.stages.values():
            if stage.cmd == cmd:
                return stage
        package = cmd.split()[2].removeprefix("stages.")
        known = [s.cmd.split(" ", 3)[-1] for s in self.stages.values() if f"stages.{package} " in s.cmd]
        raise UserError(
            f"{PARAMS}: this profile has no stage `{cmd}`; {did_you_mean(cmd.split(' ', 3)[-1], known)}"
        )

    def expand_dep(self, dep: str) -> list[str]:
        """The files of one dep: the dep itself, the outputs below it, or the files of a source folder."""
        if dep in self.maker:
            return [dep]
        if dep in self._below:
            return sorted(self._below[dep])
        return source_files(dep) if Path(dep).is_dir() else [dep]

    def inputs(self, stage: Stage) -> list[str]:
        """Every file that a stage reads; folders are replaced by their files."""
        return [path for dep in stage.deps for path in self.expand_dep(dep)]

    def sources(self, stage: Stage) -> list[str]:
        """The stage's deps that no stage makes and that are not code."""
        made = self.maker.keys() | self._below.keys()
        return [dep for dep in stage.deps if dep not in made and not dep.startswith(CODE)]

    def watched(self, stage: Stage) -> list[str]:
        """The inputs that Snakemake is told of: those that decide the order of the stages.

        The stamps cover the others: code and sources, whose times mean nothing. Of a folder that other stages
        fill, one output of each is enough. Snakemake is slow over inputs, and 489 stages read 80,000 files.
        """
        paths: list[str] = []
        for dep in stage.deps:
            if dep in self.maker:
                paths.append(dep)
            elif dep in self._below:
                paths += {self.maker[out]: out for out in self.expand_dep(dep)}.values()
        return list(dict.fromkeys(paths))

    def fan_ins(self, stage: Stage) -> list[str]:
        """The stage's deps that are folders of other stages' outputs."""
        return [dep for dep in stage.deps if dep not in self.maker and dep in self._below]

    def groups(self) -> dict[str, list[str]]:
        """By entry of dvc.yaml, the outputs of all its stages; only entries that are loops."""
        groups: dict[str, list[str]] = {}
        for stage in self.stages.values():
            if "@" in stage.name:
                groups.setdefault(stage.name.partition("@")[0], []).extend(stage.outs)
        return groups

    def strays(self) -> list[str]:
        """Files that no stage of this profile makes, in folders that some stage reads as a whole, or among
        the pages of items, where they would be published with the report."""
        folders = {folder for stage in self.stages.values() for folder in self.fan_ins(stage)}
        folders |= {ITEM_PAGES} & self._below.keys()
        found = (
            path
            for folder in sorted(folders)
            for path in source_files(folder)
            if not any(path == out or path.startswith(out + "/") for out in self._below[folder])
        )
        return list(dict.fromkeys(found))  # some of these folders lie inside others

    def upstream(self, stage: Stage) -> list[str]:
        """Names of the stages whose outputs a stage reads."""
        made = (
            path for dep in stage.deps for path in ([dep] if dep in self.maker else self._below.get(dep, ()))
        )
        return sorted({self.maker[path] for path in made})

    def downstream(self, names: Collection[str]) -> list[str]:
        """Names of the stages that read what these make, directly or through other stages; without these."""
        reached: dict[str, None] = {}
        for stage in self.ordered():
            before = self.upstream(stage)
            if stage.name not in names and any(name in names or name in reached for name in before):
                reached[stage.name] = None
        return list(reached)

    def ordered(self) -> list[Stage]:
        """All stages, each after the stages whose outputs it reads. Raises UserError on a cycle."""
        done: dict[str, None] = {}
        chain: dict[str, None] = {}

        def visit(name: str) -> None:
            if name in chain:
                raise UserError(f"{DEFINITION}: stages depend on each other: {' -> '.join([*chain, name])}")
            chain[name] = None
            for before in self.upstream(self.stages[name]):
                if before not in done:
                    visit(before)
            del chain[name]
            done[name] = None

        for name in self.stages:
            if name not in done:
                visit(name)
        return [self.stages[name] for name in done]


def _is_inside(path: str | Path) -> bool:
    """Whether a path leads into the repository, where .dvcignore counts."""
    return os.path.relpath(path).split(os.sep, 1)[0] != os.pardir


def left_out(path: str | Path) -> str | None:
    """The part of a path because of which .dvcignore hides the file from all digests, or None."""
    if not any(map(_IGNORED.fullmatch, Path(path).parts)) or not _is_inside(path):
        return None
    return next(filter(_IGNORED.fullmatch, Path(os.path.relpath(path)).parts), None)


def source_files(folder: str) -> list[str]:
    """Sorted files below a folder, without those that .dvcignore leaves out inside the repository.

    Raises UserError for a pipe, socket or device, and for a folder that DVC would leave out or refuse: one
    with a .dvcignore in it, or with a DVC repository below it.
    """
    path = Path(folder)
    if left_out(path):
        return []
    inside = _is_inside(path)
    return sorted(_files_below(os.path.join(path, "") if path.parts else "", inside))


def _files_below(start: str, inside: bool) -> Iterator[str]:
    """start: empty, or a folder with a slash at its end. Links to folders are skipped. Raises UserError."""
    with (
        suppress(FileNotFoundError, NotADirectoryError, PermissionError),
        os.scandir(start or ".") as entries,
    ):
        for entry in entries:
            name = start + entry.name
            if entry.name == ".dvcignore" and start:
                raise UserError(
                    f"{name}: DVC reads no folder that holds one; delete it, or move the data out of there"
                )
            if inside and _IGNORED.fullmatch(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                if inside and os.path.isdir(os.path.join(name, ".dvc")):
                    raise UserError(
                        f"{name}: is a DVC repository of its own, which DVC leaves out; remove its .dvc"
                    )
                yield from _files_below(name + os.sep, inside)
            elif entry.is_file(follow_symlinks=False) or (entry.is_symlink() and os.path.isfile(name)):
                yield name
            else:  # a special file, or a link to a folder or to nothing
                check_plain(name)


def read_dag(root: Path = Path(), params: Any = None) -> Dag:
    """The DAG of a checkout, with the values of its params.yaml or of `params`. Raises UserError."""
    files: dict[str, Any] = {PARAMS: load(root / PARAMS) if params is None else params}
    definition = load(root / DEFINITION)
    if not isinstance(definition, dict) or not isinstance(definition.get("stages"), dict):
        raise UserError(f"{DEFINITION}: has no `stages`; restore it from version control")
    return Dag(
        [
            _stage(name, body, {**files[PARAMS], **context}, files, root)
            for group, spec in definition["stages"].items()
            for name, body, context in _instances(group, spec, files[PARAMS])
        ]
    )
