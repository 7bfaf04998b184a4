"""`vouch use`: another profile becomes params.yaml."""

import argparse
import hashlib
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from vouch.cli.command import argument, command
from vouch.cli.entries import PROFILES, as_params, copies_of
from vouch.cli.printing import check_name, plain
from vouch.cli.store.dvc import record
from vouch.cli.store.unused import Pruning, prune
from vouch.models.released.files import released_models
from vouch.params.check import check_params
from vouch.params.project import Released
from vouch.pipeline.dag import PARAMS, read_dag
from vouch.pipeline.errors import UserError, did_you_mean, renamed_keys
from vouch.pipeline.files import UNUSED, replacing, write_text
from vouch.pipeline.runners import none_at_work
from vouch.pipeline.state import states
from vouch.pipeline.validation import validated
from vouch.pipeline.yaml12 import dumped, load, loads
from vouch.tables.results import model_slug

BEFORE = Path(".vouch/params")
RESTORE = "`vouch store restore` brings them back"


@command(
    "use",
    "switch to another profile (writes params.yaml)",
    argument("name", names="profiles", help="a file in profiles/, without .yaml"),
    argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change one value, e.g. score.alpha=0.2",
    ),
)
def run(options: argparse.Namespace) -> int:
    """Switch to a profile: check it, write params.yaml, and remove the results that no longer belong.

    A profile is a params.yaml in profiles/. Results are recorded first, so `dvc repro` restores them without
    computing anything when you switch back. If no profile equals your params.yaml, it is kept in
    .vouch/params. A profile may have a section `released` ({path, datasets}) that names a folder of released
    answers, laid out as VLM-Uncertainty-Bench releases its files; the datasets and models found there are
    written out.

    Examples:
      vouch use small
      vouch use demo --set score.alpha=0.2
      vouch use released --set released.path=FOLDER
    """
    text = profile_text(options.name, options.set)
    for old, new in renamed_keys(load(PROFILES / f"{options.name}.yaml")):
        print(f"use: key {old} of the profile is now {new}; params.yaml has the new name")
    check_params(loads(text, PARAMS), f"profiles/{options.name}.yaml")
    if Path(PARAMS).exists():
        _record_results()
    with none_at_work():
        pruning = _switch(options.name, text)
    print(
        f"use: params.yaml is now {options.name}; removed {len(pruning.removed)} files that it does not make"
    )
    if pruning.moved:
        print(f"use: moved {len(pruning.moved)} that DVC's cache does not hold to {UNUSED}; {RESTORE}")
    for path in pruning.left:
        print(f"use: left {plain(path)}: no record says that a stage made it")
    print("use: `vouch plan` says what would run; `dvc repro` runs it, and restores what was computed before")
    return 0


def _switch(name: str, text: str) -> Pruning:
    """Writes params.yaml and prunes. If pruning is refused, params.yaml stays as it was. Raises UserError."""
    before = text.encode()
    if Path(PARAMS).exists():
        before = Path(PARAMS).read_bytes()  # bytes, as it may be damaged
        _keep(before)
    write_text(Path(PARAMS), text)
    try:
        return prune(read_dag())
    except UserError:
        with replacing(Path(PARAMS)) as temporary:
            temporary.write_bytes(before)
        raise
    except OSError as error:  # some files may be removed already, so there is no way back
        raise UserError(
            f"{error.filename}: cannot be removed ({error.strerror}); {PARAMS} is {name} already: "
            "make the folder writable, then `vouch store prune`"
        ) from None


def _keep(content: bytes) -> None:
    """Keeps a params.yaml that no profile equals, under a name of its own, and prints where."""
    if copies_of(content):
        return
    path = BEFORE / f"{hashlib.sha256(content).hexdigest()[:12]}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    print(f"use: the previous params.yaml is kept as {path}")


def _record_results() -> None:
    """Puts results that DVC does not know yet into its cache, so that switching loses none."""
    try:
        dag = read_dag()
    except UserError:
        return  # no stage ran with a params.yaml that cannot be read
    record(states(dag))


def profile_text(name: str, settings: list[str]) -> str:
    """The text of params.yaml for a profile, with `--set` applied. Raises UserError."""
    check_name("profile", name, [file.stem for file in PROFILES.glob("*.yaml")], PROFILES)
    path = PROFILES / f"{name}.yaml"
    text = as_params(path.read_text(encoding="utf-8"), str(path))
    values = loads(text, str(path))
    if not settings and "released" not in values:
        return text
    yaml = YAML()
    yaml.width = 200
    document = yaml.load(text)
    for setting in settings:
        _set(document, setting, str(path))
    if "released" in document:
        _expand_released(document, str(path))
    return dumped(document, yaml)


def _set(document: CommentedMap, setting: str, where: str) -> None:
    key, equals, text = setting.partition("=")
    if not equals:
        raise UserError(f"--set {setting}: no `=`; write KEY=VALUE, e.g. score.alpha=0.2")
    *parents, last = key.split(".")
    level: Any = document
    for parent in parents:
        level = level.get(parent) if isinstance(level, dict) else None
    if not isinstance(level, dict) or last not in level:
        known = map(str, level if isinstance(level, dict) else document)
        check_name("key", last, list(known), f"--set {key}: {where}")
    level[last] = loads(text, f"--set {key}")


def _expand_released(document: dict[str, Any], where: str) -> None:
    """Replaces the section `released` by entries of `datasets` and `models`. Raises UserError."""
    released = validated(Released, document.pop("released"), f"{where}: released")
    folder = Path(released.path)
    here = [path.stem.removeprefix("items-") for path in sorted(folder.glob("items-*.parquet"))]
    if not here:
        raise UserError(
            f"{folder}/items-DATASET.parquet: no such file; point released.path to a folder laid out like "
            "VLM-Uncertainty-Bench's (docs/add-a-model.md): `vouch use released --set released.path=FOLDER`"
        )
    for dataset in released.datasets or here:
        if dataset not in here:
            raise UserError(
                f"{folder}/items-{dataset:.60}.parquet: no such file; {did_you_mean(dataset, here)}"
            )
        models = released_models(folder, dataset)
        if not models:
            raise UserError(
                f"{folder}: no logits-{dataset}/*.parquet and no pickles/*.{dataset}.pkl; nothing to score"
            )
        document["datasets"][model_slug(dataset, f"{folder}: dataset name")] = {
            "loader": "released",
            "source": str(folder),
            "template": "kostumov",
            "settings": {"dataset": dataset},
        }
        document["models"].update(dict.fromkeys(sorted(models), str(folder)))
