"""dvc.yaml expanded into plain stages: commands, inputs, outputs and parameters with nothing left to fill in.

Understands what dvc.yaml of this project uses: `foreach` over lists of names and over mappings,
`matrix` over lists and over the keys of mappings, `${...}` with `item`, `key` and params.yaml.
Standard library and PyYAML only, because cluster jobs read the Snakefile again. The tests compare
the result with DVC's own index of stages.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load

DEFINITION = Path("dvc.yaml")
PARAMS = "params.yaml"
_REFERENCE = re.compile(r"\$\{\s*([^}\s]+)\s*\}")


@dataclass(frozen=True)
class Stage:
    """One stage as DVC sees it. params: file -> dotted key -> value. reports: out -> what Snakemake's reports
    show of it, `meta.report` of the out."""

    name: str
    cmd: str
    deps: tuple[str, ...]
    outs: tuple[str, ...]
    params: Mapping[str, Mapping[str, Any]]
    reports: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """The name as a file name and rule name: `extract@a-b` -> `extract-a-b`.

        No two stages share one: the names that stages are made of hold `_` but never `-` or `@`.
        """
        return self.name.replace("@", "-")


def read_stages(root: Path, params: Any = None) -> list[Stage]:
    """The stages of a checkout's dvc.yaml in its order; see `read_dag`. Raises UserError."""
    files: dict[str, Any] = {PARAMS: load(root / PARAMS) if params is None else params}
    definition = load(root / DEFINITION)
    if not isinstance(definition, dict) or not isinstance(definition.get("stages"), dict):
        raise UserError(f"{DEFINITION}: has no `stages`; restore it from version control")
    return [
        _stage(name, body, {**files[PARAMS], **context}, files, root)
        for group, spec in definition["stages"].items()
        for name, body, context in _instances(group, spec, files[PARAMS])
    ]


def _instances(group: str, spec: Mapping[str, Any], params: Mapping[str, Any]) -> Iterator[Any]:
    """(name, body, loop variables) for each stage that one entry of dvc.yaml stands for."""
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
    )


def _lookup(path: str, context: Mapping[str, Any], where: str) -> Any:
    value: Any = context
    for part in path.split("."):
        if not isinstance(value, Mapping) or part not in value:
            raise UserError(f"{where}: ${{{path}}} has no value; define it in {PARAMS}")
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
